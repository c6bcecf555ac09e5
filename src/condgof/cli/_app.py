"""The program: commands made of functions and dataclasses of options, and all together.

A command is a function of one frozen dataclass, whose fields are its options:

    @dataclass(frozen=True, kw_only=True)
    class DemoOptions:
        out: Annotated[Path, Option(metavar="FOLDER", help="Where to write.")] = Path("out")

    @command(DemoOptions, help="Show how it works.", examples="Example: condgof demo")
    def demo(options: DemoOptions, command_line: str) -> int: ...

Fields that are dataclasses of options themselves (`Group`) are shared between commands.
"""

from __future__ import annotations

import inspect
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar, get_args, get_type_hints

import typer

from condgof.cli._help import ScreenCommand, print_all_help

Options = TypeVar("Options")
#: Adds one command to a group of commands.
Command: TypeAlias = Callable[[typer.Typer], object]

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"]}
#: An option of every command; `print_all_help` ends the command where it is given.
HELP_ALL = inspect.Parameter(
    "help_all",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool,
        typer.Option(
            "--help-all",
            callback=print_all_help,
            is_eager=True,
            metavar="",
            help="Show all options, each described, and exit.",
        ),
    ],
)


class Place(NamedTuple):
    """Where options stand: what their names begin with, and the panel of the help."""

    prefix: str = ""
    #: None for the panels that the options name themselves.
    panel: str | None = None

    def name(self, field: Field[Any]) -> str:
        """Return the name of an option, with underscores."""
        return f"{self.prefix}{field.name}".replace("-", "_")


class Declaration(ABC):
    """What a field of a dataclass of options is on the command line."""

    @abstractmethod
    def parameters(
        self, field: Field[Any], annotation: Any, place: Place
    ) -> Iterator[inspect.Parameter]:
        """Yield parameters of the function that Typer calls."""

    @abstractmethod
    def read(
        self, field: Field[Any], annotation: Any, place: Place, values: Mapping[str, Any]
    ) -> Any:
        """Return the value of the field, from what Typer called the function with."""


@dataclass(frozen=True, kw_only=True)
class Option(Declaration):
    """An option, such as ``--drop-nulls`` for the field ``drop_nulls``.

    A field without a default is required. A flag, which is a field of type bool, takes
    nothing: its metavar is "", since some versions of Typer would show <bool>.
    """

    metavar: str
    help: str
    panel: str | None = None
    #: The smallest number that is accepted.
    minimum: int | None = None
    #: Other ways to write the option, such as -q.
    short: tuple[str, ...] = ()

    def parameters(
        self, field: Field[Any], annotation: Any, place: Place
    ) -> Iterator[inspect.Parameter]:
        name = place.name(field)
        option = typer.Option(
            f"--{name.replace('_', '-')}",
            *self.short,
            metavar=self.metavar,
            help=self.help,
            rich_help_panel=place.panel or self.panel,
            min=self.minimum,
        )
        required = field.default is MISSING
        yield inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if required else field.default,
            annotation=Annotated[annotation, option],
        )

    def read(
        self, field: Field[Any], annotation: Any, place: Place, values: Mapping[str, Any]
    ) -> Any:
        return values[place.name(field)]


@dataclass(frozen=True, kw_only=True)
class Argument(Declaration):
    """A word without a flag, such as the file in ``condgof check FILE``."""

    metavar: str
    help: str

    def parameters(
        self, field: Field[Any], annotation: Any, place: Place
    ) -> Iterator[inspect.Parameter]:
        argument = typer.Argument(metavar=self.metavar, show_default=False, help=self.help)
        yield inspect.Parameter(
            place.name(field),
            inspect.Parameter.KEYWORD_ONLY,
            annotation=Annotated[annotation, argument],
        )

    def read(
        self, field: Field[Any], annotation: Any, place: Place, values: Mapping[str, Any]
    ) -> Any:
        return values[place.name(field)]


@dataclass(frozen=True, kw_only=True)
class Group(Declaration):
    """A field that is a dataclass of options itself."""

    #: What the names of the options begin with: "a-" makes ``--a-mean`` of ``mean``.
    prefix: str = ""
    #: The panel of the help for all of the options, in place of their own.
    panel: str | None = None
    #: Fields that are no options here, and keep their defaults.
    without: Collection[str] = ()

    def parameters(
        self, field: Field[Any], annotation: Any, place: Place
    ) -> Iterator[inspect.Parameter]:
        return _parameters(annotation, Place(self.prefix, self.panel), self.without)

    def read(
        self, field: Field[Any], annotation: Any, place: Place, values: Mapping[str, Any]
    ) -> Any:
        return _read(annotation, Place(self.prefix, self.panel), self.without, values)


class Declared(NamedTuple):
    """A field with its type, and what it is on the command line."""

    field: Field[Any]
    annotation: Any
    declaration: Declaration


def _declared(options: type[Any], without: Collection[str]) -> Iterator[Declared]:
    annotations = get_type_hints(options, include_extras=True)
    for field in fields(options):
        if field.name not in without:
            annotation, declaration = get_args(annotations[field.name])
            yield Declared(field, annotation, declaration)


def _parameters(
    options: type[Any], place: Place, without: Collection[str]
) -> Iterator[inspect.Parameter]:
    for field, annotation, declaration in _declared(options, without):
        yield from declaration.parameters(field, annotation, place)


def _read(
    options: type[Options],
    place: Place,
    without: Collection[str],
    values: Mapping[str, Any],
) -> Options:
    arguments = {
        field.name: declaration.read(field, annotation, place, values)
        for field, annotation, declaration in _declared(options, without)
    }
    return options(**arguments)


def command(
    options: type[Options], *, help: str, examples: str, fails: str = ""
) -> Callable[[Callable[[Options, str], int]], Command]:
    """Make a command of a function of its options and the command line.

    Parameters
    ----------
    options : type
        The dataclass of the options.
    help, examples : str
        What ``--help-all`` says: the first paragraph, the examples, then the rest.
        ``--help`` says the first paragraph and the first examples.
    fails : str
        When the function returns the exit code 1; "" where it never does.
    """
    if fails:
        others = "2: bad input or usage, with a message. 3: an internal error."
        help += f"\n\nExit code 0: it ran. 1: {fails}. {others}"
    summary, _, rest = help.partition("\n\n")
    text = "\n\n".join(part for part in (summary, examples, rest) if part)
    context = inspect.Parameter(
        "context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context
    )
    parameters = [context, *_parameters(options, Place(), without=()), HELP_ALL]

    def decorate(run: Callable[[Options, str], int]) -> Command:
        def call(context: typer.Context, help_all: bool, **values: Any) -> None:
            command_line = shlex.join(("condgof", *context.obj))
            read = _read(options, Place(), without=(), values=values)
            raise typer.Exit(run(read, command_line))

        call.__name__ = run.__name__
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {each.name: each.annotation for each in parameters}
        return lambda commands: commands.command(help=text, cls=ScreenCommand)(call)

    return decorate


def _print_version(wanted: bool) -> None:
    if wanted:
        from condgof import __version__

        print(f"condgof {__version__}")
        raise typer.Exit


def _program_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            metavar="",
            help="Print the version.",
        ),
    ] = False,
) -> None:
    """Every command has its own options; the program itself has one."""


def program() -> Callable[..., Any]:
    """Return the command line as a function of ``args``; it ends in SystemExit."""
    from condgof.cli import _check, _compare, _demo, _study, _watch

    app = typer.Typer(
        help=(
            "Does a model of y given x, with its uncertainty, fit the data? If not: where,"
            " and how?"
        ),
        context_settings=CONTEXT_SETTINGS,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    paper = typer.Typer(
        help="Reproduce the paper's figures and tables.",
        context_settings=CONTEXT_SETTINGS,
        no_args_is_help=True,
    )
    app.add_typer(paper, name="paper")
    app.callback()(_program_options)
    _check.check(app)
    _compare.compare(app)
    _compare.rank(app)
    _watch.watch(app)
    _demo.demo(app)
    _study.study(app)
    _study.power(paper)
    _study.criterion(paper)
    return typer.main.get_command(app)
