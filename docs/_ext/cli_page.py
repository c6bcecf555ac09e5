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

<!-- Made by `make docs` from the commands, and checked by a test: edit src/condgof/cli instead. -->

`pip install '.[cli]'` in a clone of the repository brings it.
`condgof COMMAND --help` shows the same on a terminal.
"""


def help_page() -> str:
    """Return the page, as Markdown."""
    return "\n".join(
        [HEAD, *(_section(words, each) for words, each in _commands("condgof", program()))]
    )


def _commands(words: str, each: Any) -> Iterator[tuple[str, Any]]:
    """Yield all commands that do something, with the words that call them."""
    if not hasattr(each, "commands"):
        yield words, each
        return
    for name, inner in each.commands.items():
        yield from _commands(f"{words} {name}", inner)


def _section(words: str, each: Any) -> str:
    arguments = [p for p in each.params if p.param_type_name == "argument"]
    options = [p for p in each.params if p.param_type_name == "option"]
    usage = " ".join([words, "[OPTIONS]", *(p.metavar for p in arguments)])
    panels: dict[str, list[str]] = {}
    for param in (*arguments, *options):
        panels.setdefault(getattr(param, "rich_help_panel", None) or "", []).append(
            _row(param)
        )
    tables = [
        f"| {panel or 'option'} | |\n|---|---|\n" + "\n".join(rows)
        for panel, rows in panels.items()
    ]
    parts = [
        f"## {words}",
        "\n\n".join(" ".join(part.split()) for part in (each.help or "").split("\n\n")),
        f"```text\n{usage}\n```",
        *tables,
        "For example:",
        "```bash\n" + "\n".join(examples(each)) + "\n```",
    ]
    return "\n\n".join(parts) + "\n"


def examples(each: Any) -> list[str]:
    """Return the examples in a command's help, one command line each."""
    lines = [line.strip() for line in (each.epilog or "").split("\n\n")]
    return [line.removeprefix("Example: ") for line in lines if "condgof " in line]


def _row(param: Any) -> str:
    flag = bool(getattr(param, "is_flag", False))
    names = ", ".join([*param.opts, *param.secondary_opts])
    if param.param_type_name == "argument":
        names = param.metavar
    elif not flag:
        names = f"{names} {param.metavar}"
    text = " ".join((param.help or "").split()).replace("|", "\\|")
    if param.required:
        text += " Required."
    elif not flag and param.default not in (None, ()) and not callable(param.default):
        text += f" Default: `{param.default}`."
    return f"| `{names}` | {text} |"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(help_page(), encoding="utf-8")
