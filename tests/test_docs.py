"""Every example in the documentation runs: docstrings, and the code blocks of README.md."""

import contextlib
import doctest
import importlib
import inspect
import io
import pkgutil
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import condgof
from condgof.cli import main

ROOT = Path(__file__).parent.parent
MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(condgof.__path__, "condgof.")
    if not name.endswith("__main__")
]


@pytest.mark.parametrize("name", ["condgof", *MODULES])
def test_docstrings(name):
    result = doctest.testmod(importlib.import_module(name), extraglobs={"np": np})
    assert result.failed == 0


def blocks(page):
    """Return (language, code) of each fenced block, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/censoring.md",
        "docs/choosing.md",
        "docs/comparing.md",
        "docs/fitting.md",
        "docs/monitoring.md",
        "docs/repairing.md",
    ],
)
def test_code_blocks_run_and_print_what_the_page_shows(page, tmp_path, monkeypatch):
    """Blocks share a namespace, as a reader would type them; a text block is the output before it."""
    monkeypatch.chdir(tmp_path)
    namespace, printed, ran = {}, "", 0
    for language, code in blocks(page):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(code, page, "exec"), namespace)
            printed, ran = out.getvalue(), ran + 1
        elif language == "text":
            assert printed.strip() == code.strip()
        elif language == "console":
            run_session(code)
            ran += 1
    assert ran >= 1


def run_session(session):
    """Run each command of a session (a line with a dollar sign) and compare what it prints."""
    for command, shown in re.findall(r"^\$ condgof (.*)\n((?:(?!\$ ).*\n)*)", session, re.MULTILINE):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            assert main(shlex.split(command)) == 0
        printed = [line.rstrip() for line in out.getvalue().strip().splitlines()]
        assert printed == [line.rstrip() for line in shown.strip().splitlines()]


def test_the_first_example_is_short():
    first = next(code for language, code in blocks("README.md") if language == "python")
    assert len(first.strip().splitlines()) <= 15


def test_make_targets_in_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"make (\w+)", (ROOT / "README.md").read_text())):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.parametrize(
    "page", [p.name for p in ROOT.glob("*.md")] + [f"docs/{p.name}" for p in ROOT.glob("docs/*.md")]
)
def test_links_lead_somewhere(page):
    for target in re.findall(r"(?:\]\(|src=\")([^)#\"]+)", (ROOT / page).read_text()):
        if "://" not in target:
            assert (ROOT / page).parent.joinpath(target).exists(), target


PUBLIC = [name for name in condgof.__all__ if callable(getattr(condgof, name))]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_documented_with_an_example(name):
    thing = getattr(condgof, name)
    text = inspect.getdoc(thing) or ""
    assert len(text) > 60
    if name not in ("Kernel", "Radial"):  # bases, whose subclasses have the examples
        assert ">>>" in text
