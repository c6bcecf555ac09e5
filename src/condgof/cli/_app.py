"""The program: options as rows of a table, commands made of them, and all commands together."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

import typer

Many: TypeAlias = list[str] | None
One: TypeAlias = str | None
SETTINGS = {"help_option_names": ["-h", "--help"]}
DATA_HELP = (
    "Parquet, CSV or Feather file, by its ending; a pattern or a folder of such files; or -"
    " for CSV on standard input. Large tables are streamed."
)


class Option(NamedTuple):
    """An option: name, type, what it takes, panel, default (... for none), help, least number."""

    name: str
    kind: Any
    takes: str
    panel: str | None
    default: Any
    help: str
    least: int | None = None

    def parameter(self) -> inspect.Parameter:
        short = ("-q",) if self.name == "quiet" else ()
        # A flag takes nothing: some versions of Typer would show <bool>.
        option = typer.Option(
            f"--{self.name}",
            *short,
            metavar=self.takes,
            help=self.help,
            rich_help_panel=self.panel,
        )
        option.min = self.least
        return inspect.Parameter(
            self.name.replace("-", "_"),
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if self.default is ... else self.default,
            annotation=Annotated[self.kind, option],
        )


def out_option(folder: str) -> Option:
    text = "Folder for what is written; made when it is not there."
    return Option("out", Path, "FOLDER", None, Path(folder), text)


Command: TypeAlias = Callable[[typer.Typer], object]


def command(
    name: str,
    options: Iterable[Option],
    help: str,
    examples: str,
    data: tuple[str, str] | None = ("DATA", DATA_HELP),
    fails: str = "",
) -> Callable[[Callable[[Mapping[str, Any]], int]], Command]:
    """Make a command of a function from all that was given to the exit code: 1 where it `fails`."""
    codes = "2: bad input or usage, with a message. 3: an internal error."
    help += f"\n\nExit code 0: it ran. 1: {fails}. {codes}" if fails else ""
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("context", keyword, annotation=typer.Context)]
    if data is not None:
        table = typer.Argument(metavar=data[0], show_default=False, help=data[1])
        parameters.append(
            inspect.Parameter("data", keyword, annotation=Annotated[str, table])
        )
    parameters += [option.parameter() for option in options]

    def decorate(run: Callable[[Mapping[str, Any]], int]) -> Command:
        def call(**given: Any) -> None:
            raise typer.Exit(run(given))

        call.__name__ = name
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {p.name: p.annotation for p in parameters}
        return lambda group: group.command(help=help, epilog=examples)(call)

    return decorate


def program() -> Callable[..., Any]:
    """Return the command line as a function of ``args``; it ends in SystemExit."""
    from condgof.cli import _check, _compare, _demo, _study, _watch

    app = typer.Typer(
        help=(
            "Does a model of y given x, with its uncertainty, fit the data? If not: where,"
            " and how?"
        ),
        context_settings=SETTINGS,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    paper = typer.Typer(
        help="Reproduce the paper's figures and tables.",
        context_settings=SETTINGS,
        no_args_is_help=True,
    )
    app.add_typer(paper, name="paper")
    # Every command has its own options; the program itself has none.
    app.callback()(lambda: None)
    commands = (
        _check.check,
        _compare.compare,
        _compare.rank,
        _watch.watch,
        _demo.demo,
        _study.study,
    )
    for group, members in ((app, commands), (paper, (_study.power, _study.criterion))):
        for each in members:
            each(group)
    return typer.main.get_command(app)
