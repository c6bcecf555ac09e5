"""The command line.

Exit codes: 0 ran; 1 ``check --fail-on-reject`` and the model is rejected, and nothing else;
2 bad input or usage, a file or standard output that cannot be written, or too little
memory, with a message and no traceback; 3 an internal error; 130 stopped by Ctrl-C, 143 by
SIGTERM; 141 nobody reads the output any more.
"""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

from condgof.errors import (
    CondgofError,
    CondgofWarning,
    asked_on_command_line,
    require,
)

if TYPE_CHECKING:
    from condgof.cli._classes import class_name_candidates
    from condgof.cli._output import write_whole

__all__ = ["class_name_candidates", "main", "write_whole"]

#: The files of names that are loaded only when they are asked for.
_FILES = {"class_name_candidates": "_classes", "write_whole": "_output"}


def __getattr__(name: str) -> Any:
    if name in _FILES:
        return getattr(importlib.import_module(f"condgof.cli.{_FILES[name]}"), name)
    raise AttributeError(f"module 'condgof.cli' has no attribute {name!r}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after ``condgof``; those that this process was started with unless given.

    Examples
    --------
    >>> main(["check", "missing.csv", "--x", "a", "--y", "b", "--pit", "u"])
    2
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        if arguments is None:
            _prepare_process()
        code = _run(words)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        _discard_output()
        return 141
    except OSError as error:  # of a full disk, say
        print_message(str(error))
        try:
            sys.stdout.flush()
        except OSError:
            _discard_output()
        return 2
    except KeyboardInterrupt:
        return 130
    except TerminatedError:
        return 143


def _run(words: list[str]) -> int:
    """Run a command, and return its exit code; what stops the process is raised."""
    try:
        for package in ("typer", "rich"):
            require(package, "cli", "The command line")
        from condgof.cli._app import program

        with asked_on_command_line(), warnings.catch_warnings():
            # Results have what these warnings say as notes.
            warnings.simplefilter("ignore", CondgofWarning)
            program()(args=words, prog_name="condgof", obj=tuple(words))
    except SystemExit as stop:  # how Typer ends, well or not
        if isinstance(stop.code, int):
            return stop.code
        return 2 if stop.code else 0
    except (KeyboardInterrupt, TerminatedError, OSError):
        raise
    except CondgofError as error:
        _raise_if_interrupted()
        print_message(str(error))
        return 2
    except MemoryError as error:
        reason = f" ({error})" if str(error) else ""
        print_message(f"there is too little memory{reason}. Check fewer rows or columns.")
        return 2
    except BaseException as error:
        _raise_if_interrupted()
        if os.environ.get("CONDGOF_DEBUG"):
            traceback.print_exc()
        print_message(
            f"internal error, please report it: {type(error).__name__}: {error}"
            " (CONDGOF_DEBUG=1 shows where)"
        )
        return 3
    return 0


def _prepare_process() -> None:
    """Make streams and signals of this process ready for a command."""
    closed = [stream is None for stream in (sys.stdin, sys.stdout, sys.stderr)]
    if any(closed):
        # Files would get the numbers of closed streams, and what libraries print to these
        # would be written into the files.
        while os.open(os.devnull, os.O_RDWR) < 2:
            pass
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for all that is left
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - for all that is left
        raise OSError(
            errno.EBADF,
            "it is closed; send it to /dev/null if you do not want it",
            "stdout",
        )
    # A terminal that lacks a letter shows a question mark, instead of failing over it.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    signal.signal(signal.SIGTERM, _terminate)
    signal.signal(signal.SIGINT, _interrupt)


def _discard_output() -> None:
    """Send what is still in the buffer nowhere: it would fail again when Python ends."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class TerminatedError(BaseException):
    """SIGTERM: raised so that temporary files are removed, as they are after Ctrl-C."""


class _Interrupt:
    """Whether Ctrl-C came: libraries that are being imported may raise another error."""

    came = False


def _interrupt(signal_number: int, frame: FrameType | None) -> None:
    _Interrupt.came = True
    raise KeyboardInterrupt


def forget_interrupt() -> None:
    """Begin anew, in a process that goes on after a command was stopped."""
    _Interrupt.came = False


def _raise_if_interrupted() -> None:
    if _Interrupt.came:
        raise KeyboardInterrupt


def _terminate(signal_number: int, frame: FrameType | None) -> None:
    raise TerminatedError


def print_message(message: str) -> None:
    """Print on standard error what is not a result, such as an error.

    Names from users' data in the message cannot steer the terminal.
    """
    from condgof.report import terminal

    lines = "\n".join(terminal(line) for line in message.split("\n"))
    with suppress(OSError, ValueError):  # nobody reads standard error any more
        print(f"condgof: {lines}", file=sys.stderr, flush=True)
