"""The page docs/reference/cli.md: ``python docs/_ext/cli_page.py FILE``.

It is not laid out by Typer or Rich, so that it does not change with their versions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from condgof.cli._app import program

HEAD = """\
# The command line

<!-- Made by `make docs` from the commands, and checked by a test: edit src/condgof/cli \
instead. -->

`pip install '.[cli]'` in a clone of the repository brings it.
On a terminal, `condgof COMMAND --help` shows a summary, and
`condgof COMMAND --help-all` all of it.
"""


def help_page() -> str:
    """Return the page, as Markdown."""
    sections = [_section(words, command) for words, command in commands().items()]
    return "\n".join([HEAD, *sections])


def commands() -> dict[str, Any]:
    """Return all commands that do something, by the words that call them."""
    return dict(_commands_of("condgof", program()))


def _commands_of(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield words, command
        return
    for name, member in command.commands.items():
        yield from _commands_of(f"{words} {name}", member)


def _section(words: str, command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    usage = " ".join([words, "[OPTIONS]", *(p.metavar for p in arguments)])
    paragraphs = [one for one in _paragraphs(command) if not _is_example(one)]
    parts = [
        f"## {words}",
        "\n\n".join(_one_line(paragraph) for paragraph in paragraphs),
        f"```text\n{usage}\n```",
        *_tables([*arguments, *options]),
        "For example:",
        "```bash\n" + "\n".join(examples(command)) + "\n```",
    ]
    return "\n\n".join(parts) + "\n"


def _tables(parameters: list[Any]) -> list[str]:
    """Return a table for each panel of the help."""
    rows_by_panel: dict[str, list[str]] = {}
    for parameter in parameters:
        panel = getattr(parameter, "rich_help_panel", None) or ""
        rows_by_panel.setdefault(panel, []).append(_row(parameter))
    return [
        f"| {panel or 'option'} | |\n|---|---|\n" + "\n".join(rows)
        for panel, rows in rows_by_panel.items()
    ]


def examples(command: Any) -> list[str]:
    """Return the examples in a command's help, one command line each."""
    found = [
        one.removeprefix("Example: ") for one in filter(_is_example, _paragraphs(command))
    ]
    return [one for one in found if one.startswith("condgof ")]


def _paragraphs(command: Any) -> list[str]:
    return [one.strip() for one in (command.help or "").split("\n\n")]


def _is_example(paragraph: str) -> bool:
    starts = ("condgof ", "Example:", "Examples:")
    return paragraph.startswith(starts)


def _row(parameter: Any) -> str:
    flag = bool(getattr(parameter, "is_flag", False))
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    if parameter.param_type_name == "argument":
        names = parameter.metavar
    elif not flag:
        names = f"{names} {parameter.metavar}"
    text = _one_line(parameter.help or "").replace("|", "\\|")
    default = parameter.default
    if parameter.required:
        text += " Required."
    elif not flag and default not in (None, ()) and not callable(default):
        text += f" Default: `{default}`."
    return f"| `{names}` | {text} |"


def _one_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(help_page(), encoding="utf-8")
