"""Every example in the documentation runs: docstrings, and code blocks of README.md and
docs/.

Cells of notebook pages are run by the build of the site (`make docs`).
"""

import contextlib
import doctest
import importlib
import inspect
import io
import os
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


#: Pages that people write: what the build makes is left out.
PAGES = [
    str(path.relative_to(ROOT))
    for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    if not {"auto_gallery", "generated"} & set(path.parts)
]


def blocks(page):
    """Return (language, code) of each fenced block, in order."""
    return re.findall(
        r"^```(\w+)\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL
    )


def cells(page):
    """Return how many cells of a page the build of the site runs: those of pages with a
    kernel.
    """
    text = (ROOT / page).read_text()
    has_kernel = re.match(r"---\n(?:(?!---$).*\n)*?kernelspec:", text, re.MULTILINE)
    return len(re.findall(r"^```\{code-cell\}", text, re.MULTILINE)) if has_kernel else 0


@pytest.mark.parametrize("page", PAGES)
def test_python_is_run_by_this_file_or_by_the_build(page):
    """A block of Python in any other way of writing one would be shown and never run."""
    text = (ROOT / page).read_text()
    listed = [language for language, _ in blocks(page)]
    fences = (
        r"^[ \t>]*(?:`{3,}|~{3,}|:{3,})["
        r" \t]*\{?(?:code|sourcecode|code-block|code-cell)?\}?[ \t]*"
    )
    written = re.findall(fences + r"i?py\w*", text, re.MULTILINE)
    assert len(written) == listed.count("python") + cells(page)
    assert not (cells(page) and "python" in listed), "one way a page"


#: The README in `make test`; the pages of the site are run by `make docs`, as all of it is.
RUN = PAGES if "CONDGOF_SITE" in os.environ else ["README.md"]


@pytest.mark.parametrize(
    "page",
    [
        page
        for page in RUN
        if {"python", "console"} & {language for language, _ in blocks(page)}
    ],
)
def test_code_blocks_run_and_print_what_the_page_shows(page, tmp_path, monkeypatch):
    """Blocks share a namespace, as a reader would type them; a text block is the output
    before it.
    """
    monkeypatch.chdir(tmp_path)
    namespace = {}
    printed = ""
    ran = 0
    for language, code in blocks(page):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(code, page, "exec"), namespace)
            printed = out.getvalue()
            ran = ran + 1
        elif language == "text":
            assert printed.strip() == code.strip()
        elif language == "console":
            run_session(code)
            ran += 1
    assert ran >= 1


def run_session(session):
    """Run each command of a session (a line with a dollar sign); compare its output."""
    for command, shown in re.findall(
        r"^\$ condgof (.*)\n((?:(?!\$ ).*\n)*)", session, re.MULTILINE
    ):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            assert main(shlex.split(command)) == 0
        printed = [line.rstrip() for line in out.getvalue().strip().splitlines()]
        assert printed == [line.rstrip() for line in shown.strip().splitlines()]


def test_the_first_example_is_short():
    first = next(code for language, code in blocks("README.md") if language == "python")
    assert len([line for line in first.splitlines() if line.strip()]) <= 8


def test_the_readme_is_short_and_shows_the_report_of_its_example():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 120
    assert text.index("```python") < text.index("docs/images/report-top-light.png")


def test_make_targets_in_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"make (\w+)", (ROOT / "README.md").read_text())):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for target in re.findall(r"(?:\]\(|src=\")([^)#\"]+)", (ROOT / page).read_text()):
        if "://" not in target and "auto_gallery" not in target:
            assert (ROOT / page).parent.joinpath(target).exists(), target


PUBLIC = [name for name in condgof.__all__ if callable(getattr(condgof, name))]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_documented_with_an_example(name):
    thing = getattr(condgof, name)
    text = inspect.getdoc(thing) or ""
    assert len(text) > 60
    if name not in ("Kernel", "Radial"):  # bases, whose subclasses have the examples
        assert ">>>" in text
