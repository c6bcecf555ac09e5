"""Help in two lengths: ``--help`` is one screen, ``--help-all`` describes every option."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperCommand

#: Columns and lines where there is no terminal.
WIDTH, LINES = 80, 50
#: Longer lines are hard to read, also on a wide terminal.
MOST_WIDTH = 100
#: Examples that a screen has room for; ``--help-all`` shows all of them.
EXAMPLES_SHOWN = 4
#: A command with at most so many options shows all of its help: that fits on a screen, too.
MOST_DESCRIBED = 10
#: Stands for a space at which lines are not broken: between an option and what it takes.
GLUE = "\u00a0"
#: How a paragraph of the help begins that is an example.
EXAMPLE_MARKS = ("condgof ", "Example:", "Examples:")
#: The heading of options that have no panel of their own.
OTHER_OPTIONS = "Other options"


class ScreenCommand(TyperCommand):
    """A command whose ``--help`` fits on a screen: usage, examples, options by group."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the screen; it is called for ``--help``."""
        if len(self._parameters("option")) <= MOST_DESCRIBED:
            return super().format_help(ctx, formatter)
        columns = shutil.get_terminal_size((WIDTH, LINES)).columns
        lines = self._screen(ctx, min(columns, MOST_WIDTH))
        formatter.write("\n".join(lines) + "\n")
        return None

    def print_all(self, ctx: Any) -> None:
        """Print the whole help, in which every option is described."""
        super().format_help(ctx, ctx.make_formatter())

    def _screen(self, ctx: Any, width: int) -> Iterator[str]:
        summary, *others = (one.strip() for one in (self.help or "").split("\n\n"))
        examples = [
            one.removeprefix("Example:").strip()
            for one in others
            if one.startswith(EXAMPLE_MARKS) and one != "Examples:"
        ]
        arguments = " ".join(one.metavar for one in self._parameters("argument"))
        yield f"Usage: {ctx.command_path} [OPTIONS] {arguments}".rstrip()
        yield ""
        yield from textwrap.wrap(summary, width)
        yield ""
        yield "Examples"
        for example in examples[:EXAMPLES_SHOWN]:
            yield from _wrapped_command(example, width)
        for panel, names in self._names_by_panel().items():
            yield ""
            yield panel
            yield from _wrapped_names(names, width)
        yield ""
        yield f"{ctx.command_path} --help-all describes every option."

    def _names_by_panel(self) -> dict[str, list[str]]:
        """Return the options with what they take, by the heading they stand under."""
        by_panel: dict[str, list[str]] = {}
        for option in self._parameters("option"):
            if option.name == "help_all":  # the last line says what it is
                continue
            flag = max(option.opts, key=len)
            taken = "" if option.is_flag else f" {option.metavar}"
            needed = " (required)" if option.required else ""
            panel = getattr(option, "rich_help_panel", None) or OTHER_OPTIONS
            by_panel.setdefault(panel, []).append(f"{flag}{taken}{needed}")
        # Options without a panel come last, wherever they were declared.
        if OTHER_OPTIONS in by_panel:
            others = by_panel.pop(OTHER_OPTIONS)
            by_panel[OTHER_OPTIONS if by_panel else "Options"] = others
        return by_panel

    def _parameters(self, kind: str) -> list[Any]:
        return [one for one in self.params if one.param_type_name == kind]


def print_all_help(ctx: typer.Context, wanted: bool) -> None:
    """Print the whole help if it is wanted, and end the command."""
    if wanted:
        assert isinstance(ctx.command, ScreenCommand)
        ctx.command.print_all(ctx)
        raise typer.Exit


def _wrapped_command(command: str, width: int) -> list[str]:
    """Break a command line before options, so that a shell still reads it as one."""
    end_of_line = " \\"
    lines = textwrap.wrap(
        re.sub(r"(--\S+) (?!--)", rf"\1{GLUE}", command),
        width - len(end_of_line),
        initial_indent="  ",
        subsequent_indent="      ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    broken = [line + end_of_line for line in lines[:-1]] + lines[-1:]
    return [line.replace(GLUE, " ") for line in broken]


def _wrapped_names(names: list[str], width: int) -> list[str]:
    """Set options side by side, none of them broken between two lines."""
    lines = [""]
    for name in names:
        joined = f"{lines[-1]}   {name}" if lines[-1] else f"  {name}"
        if len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(f"  {name}")
    return lines
