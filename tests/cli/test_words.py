"""Messages name options as whoever asked does: flags, or arguments of functions."""

import ast
import re
from pathlib import Path

import pytest

import condgof
from condgof.cli import main
from condgof.errors import FLAGS

SOURCES = Path(condgof.__file__).parent
#: Arguments of functions that the command line does not have under any name.
PYTHON_ALONE = ["n_boot", "support", "refits"]
WRITTEN = re.compile(rf"\b({'|'.join([*FLAGS, *PYTHON_ALONE])})=(?!=)")
#: Files whose messages no command line can get: what they speak of is written in Python.
PYTHON_FILES = {
    "laws/_columns.py": "the command line checks its options before",
    "laws/_crossfit.py": "a fit is a function",
    "laws/_functions.py": "a density is a function",
    "laws/_distribution.py": "distributions are objects",
    "check/_record.py": "a repr",
    "check/_composite.py": "fits are functions",
    "check/_refits.py": "fits are functions",
    "check/_comparison.py": "kernels are objects",
    "methods/_adaptive.py": "null= is no option of the command line",
    "methods/_options.py": "crossfit and sources",
    "report/_folds.py": "a page shows the Python that repeats it",
    "report/_results.py": "a page shows the Python that repeats it",
    "sample/_number_text.py": "what frames offer; the command line has words of its own",
    "sample/_rng.py": "the command line takes numbers alone",
    "residuals/_choose.py": "standardize= is no option of the command line",
    "result.py": "a result is an object",
}


def spoken_constants(tree):
    """Yield strings of a module that are no docstrings."""
    docs = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            docs.add(id(body[0].value))
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in docs:
            yield node


def python_parts(tree):
    """Yield the strings that `by_asker` has for programs."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "by_asker":
            for keyword in node.keywords:
                if keyword.arg == "python":
                    yield from map(id, ast.walk(keyword.value))


def test_no_message_of_the_library_names_options_of_one_side_alone():
    """Messages write options by `errors.option`, or say in which language they speak."""
    found = []
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if name.startswith("cli/") or name in PYTHON_FILES:
            continue
        tree = ast.parse(path.read_text("utf-8"))
        of_python = set(python_parts(tree))
        for node in spoken_constants(tree):
            if id(node) not in of_python and WRITTEN.search(node.value):
                found.append(f"{name}:{node.lineno}: {node.value}")
    assert found == []


@pytest.mark.parametrize("command", ["check", "compare", "watch"])
def test_flags_are_those_of_the_command_line(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main([command, "--help"]) == 0
    helped = capsys.readouterr().out
    known = {
        "check": set(FLAGS.values()) - {"--measure", "--run-length"},
        "compare": {"--measure", "--alpha", "--event", "--groups"},
        "watch": {"--run-length", "--alpha", "--seed"},
    }
    assert [flag for flag in known[command] if flag not in helped] == []


ROLES = ["--x", "income", "--y", "food", "--mean", "mu", "--std", "sd"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--alpha", "7"], "--alpha must be between 0 and 1"),
        (["--dependence", "0"], "--dependence, a block length, must be at least 1"),
        (["--dependence", "500"], "--dependence 500 is a block length of the whole"),
        (["--dependence", "2", "--groups", "town"], "--dependence and --groups were both"),
        (["--by", "food2"], "--by is different in each of the 90 rows"),
        (["--tolerance", "20 size"], "--tolerance must be a positive number"),
        (["--entry", "drink"], "--entry goes with --event"),
    ],
)
def test_the_command_line_names_its_own_options(words, message, table, columns, capsys):
    table(food2=columns["food"] + 1.0)
    assert main(["check", "t.csv", *ROLES, *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert not WRITTEN.search(error)


def test_notes_of_results_name_them_too(table, columns, capsys):
    table(food=columns["mu"] + 2.0 * columns["age"].argsort().argsort() / 90)
    assert main(["check", "t.csv", *ROLES, "--dependence", "auto"]) == 0
    assert "chosen by --dependence auto" in " ".join(capsys.readouterr().out.split())
