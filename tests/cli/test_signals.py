"""Ctrl-C while packages are imported: exit codes, and no traceback."""

import signal
import subprocess
import sys

import pytest

import condgof.cli as command_line
from condgof.errors import MissingPackageError

#: Runs the program as the script `condgof` does; what comes first is put in the middle.
PROGRAM = (
    "import sys, condgof_command; {}sys.argv[:] = ['condgof', *sys.argv[1:]];"
    " sys.exit(condgof_command.main())"
)


def start(words, before="", **options):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(before), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


#: A finder of modules that says when the library begins to be imported, and takes its time.
SLOW_IMPORT = """
import sys, time
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == 'condgof':
            print('importing', flush=True)
            time.sleep(60)
sys.meta_path.insert(0, Slow())
"""


def test_ctrl_c_while_the_library_is_imported_leaves_no_traceback():
    run = start(["check", "t.csv"], before=f"exec({SLOW_IMPORT!r}); ")
    assert run.stdout.readline() == "importing\n"
    run.send_signal(signal.SIGINT)
    _, error = run.communicate(timeout=30)
    assert run.returncode in (130, -signal.SIGINT)
    assert error == ""


@pytest.mark.parametrize("raised", [MissingPackageError("no pandas"), AttributeError("x")])
def test_ctrl_c_that_a_library_turns_into_another_error(raised, monkeypatch, capsys):
    """As where an import is stopped, and what is left of the module lacks a name."""

    def program():
        def call(**_):
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                raise raised from None

        return call

    before = {kind: signal.getsignal(kind) for kind in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.setattr("condgof.cli._app.program", program)
    monkeypatch.setattr(sys, "argv", ["condgof", "check"])
    try:
        assert command_line.main() == 130
    finally:
        command_line.forget_interrupt()
        for kind, handler in before.items():
            signal.signal(kind, handler)
    assert capsys.readouterr().err == ""
