"""Options as rows of a table, and commands made of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, NamedTuple, TypeAlias

import typer

Many: TypeAlias = list[str] | None
One: TypeAlias = str | None
DATA_HELP = (
    "Parquet, CSV or Feather file, by its ending; a pattern or a folder of such files; or - for CSV on "
    "standard input. Large tables are streamed."
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
        """Return what Typer makes the option of."""
        short = ("-q",) if self.name == "quiet" else ()
        # A flag takes nothing: some versions of Typer would show <bool>.
        option = typer.Option(
            f"--{self.name}", *short, metavar=self.takes, help=self.help, rich_help_panel=self.panel
        )
        option.min = self.least
        return inspect.Parameter(
            self.name.replace("-", "_"),
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if self.default is ... else self.default,
            annotation=Annotated[self.kind, option],
        )


def command(
    name: str,
    options: Iterable[Option],
    run: Callable[[Mapping[str, Any]], int],
    data: tuple[str, str] | None = ("DATA", DATA_HELP),
) -> Callable[..., None]:
    """Make a command of options, and of a table to read: its metavar and help, or None.

    `run` gets all that was given, by name ("context" is Typer's), and returns the exit code.
    """

    def command(**given: Any) -> None:
        raise typer.Exit(run(given))

    first: dict[str, Any] = {"context": typer.Context}
    if data is not None:
        table = typer.Argument(metavar=data[0], show_default=False, help=data[1])
        first["data"] = Annotated[str, table]
    own = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, annotation=a) for n, a in first.items()]
    parameters = [*own, *(option.parameter() for option in options)]
    command.__name__ = name
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command
