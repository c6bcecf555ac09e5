"""The program ``condgof``, which Ctrl-C ends without a traceback, also while it loads."""

from __future__ import annotations

import signal


def main() -> int:
    """Load the command line, run it, and return its exit code."""
    # An import that is interrupted would raise KeyboardInterrupt here, or another error of
    # the library that is just being imported. The system's own handler ends the process.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from condgof.cli import main as run_command_line

    signal.signal(signal.SIGINT, before)
    return run_command_line()
