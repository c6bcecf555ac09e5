"""The command line.

Exit codes: 0 ran; 1 ``check --fail-on-reject`` and the model is rejected, and nothing else;
2 bad input or usage, with a message and no traceback; 3 an internal error; 130 stopped by
Ctrl-C, 143 by SIGTERM; 141 nobody reads the output any more.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence

from condgof.errors import CondgofError, CondgofWarning, require

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, whose words are those of this process unless given, and return its exit code."""
    if arguments is None:
        # A terminal that lacks a letter shows a question mark, instead of failing over it.
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")
        signal.signal(signal.SIGTERM, _stop)
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        for package in ("typer", "rich"):
            require(package, "cli", "The command line")
        from condgof.cli._app import program

        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", CondgofWarning
            )  # what they say is a note of the result
            program()(args=words, prog_name="condgof", obj=tuple(words))
    except SystemExit as stop:  # how Typer ends, well or not
        return stop.code if isinstance(stop.code, int) else 2 if stop.code else 0
    except BrokenPipeError:
        # What is still in the buffer would fail again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (CondgofError, OSError) as error:
        tell(str(error))
        return 2
    except KeyboardInterrupt:
        return 130
    except _Stopped:
        return 143
    except Exception as error:
        if os.environ.get("CONDGOF_DEBUG"):
            traceback.print_exc()
        what = f"{type(error).__name__}: {error} (CONDGOF_DEBUG=1 shows where)"
        tell(f"internal error, please report it: {what}")
        return 3
    return 0


class _Stopped(BaseException):
    """SIGTERM: temporary files go, as they do after Ctrl-C."""


def _stop(*signal_and_frame: object) -> None:
    raise _Stopped


def tell(message: str) -> None:
    """Say something that is not a result; names from users' data in it cannot steer the terminal."""
    from condgof.report import terminal

    lines = "\n".join(terminal(line) for line in message.split("\n"))
    print(f"condgof: {lines}", file=sys.stderr, flush=True)
