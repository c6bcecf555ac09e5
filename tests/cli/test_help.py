"""Help: every command has it, the page in docs/ is made from it, all options are tested."""

import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from condgof.cli import main

ROOT = Path(__file__).parent.parent.parent
SCRIPT = str(ROOT / "docs" / "_ext" / "cli_page.py")
PAGE = runpy.run_path(SCRIPT)
examples = PAGE["examples"]
help_page = PAGE["help_page"]
COMMANDS = PAGE["commands"]()


def options(name):
    return [p for p in COMMANDS[name].params if p.param_type_name == "option"]


def test_the_page_is_up_to_date():
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    assert page == help_page(), "run: make docs"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_on_the_terminal_has_every_option_and_example(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main([*name.split()[1:], "--help-all"]) == 0
    text = " ".join(re.sub("[│╭╮╰╯─]", " ", capsys.readouterr().out).split())
    for option in options(name):
        assert option.opts[0] in text
        if option.help:
            assert " ".join(option.help.split())[:30] in text
    for example in examples(COMMANDS[name]):
        assert example in text


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_there_and_parse(name):
    shown = examples(COMMANDS[name])
    assert shown
    for example in shown:
        words = shlex.split(example)
        assert " ".join(words[: len(name.split())]) == name
        known = {flag for option in options(name) for flag in option.opts}
        assert {word for word in words if word.startswith("--")} <= known
        # This raises where the example cannot be parsed.
        COMMANDS[name].make_context("condgof", words[len(name.split()) :])


@pytest.mark.parametrize("name", COMMANDS)
def test_options_say_what_they_take(name):
    for option in options(name):
        assert option.help, option.opts
        assert option.is_flag or option.metavar, option.opts


def test_every_option_of_check_is_tested():
    folder = Path(__file__).parent
    names = ("test_groups.py", "test_help.py")
    files = (*folder.glob("test_check*.py"), *(folder / name for name in names))
    text = "".join(path.read_text() for path in files)
    for option in options("condgof check"):
        for flag in option.opts:
            assert f'"{flag}"' in text, flag


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_one_screen_that_names_every_option(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*name.split()[1:], "--help"]) == 0
    text = capsys.readouterr().out
    lines = text.split("\n")
    assert len(lines) <= 52
    assert max(map(len, lines)) <= 80
    for option in options(name):
        assert option.opts[0] in text
    assert examples(COMMANDS[name])[0] in " ".join(text.replace("\\\n", "").split())


def test_a_broken_example_is_one_command_to_a_shell(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["check", "--help"]) == 0
    shown = capsys.readouterr().out.partition("Examples\n")[2].partition("\n\n")[0]
    # `shlex` does not know that a shell joins a line that ends in a backslash to the next.
    words = shlex.split(shown.replace("\\\n", " "))
    at = [place for place, word in enumerate(words) if word == "condgof"]
    ends = [*at[1:], len(words)]
    said = [words[begin:end] for begin, end in zip(at, ends, strict=True)]
    all_examples = [shlex.split(one) for one in examples(COMMANDS["condgof check"])]
    assert said == all_examples[: len(said)]


def test_model_says_that_it_runs_code(capsys):
    assert main(["check", "--help-all"]) == 0
    text = " ".join(re.sub("[│╭╮╰╯─]", " ", capsys.readouterr().out).split())
    assert "This runs the code in there" in text
    assert "Pickle files are never opened" in text


def test_the_script_writes_the_page(tmp_path):
    path = tmp_path / "cli.md"
    subprocess.run([sys.executable, SCRIPT, str(path)], check=True)
    assert path.read_text(encoding="utf-8") == help_page()


def test_pages_that_the_help_names_exist_and_options_stay_as_typed():
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    named = re.findall(r"docs/[\w/]+\.md", page)
    assert named
    assert all((ROOT / name).exists() for name in named)
    assert "smartquotes = False" in (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
