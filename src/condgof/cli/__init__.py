"""The command line.

Exit codes: 0 ran; 2 bad input or usage, with a message and no traceback; 3 an internal error; 130
stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

from condgof.errors import CondgofError, require

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after the program's name; those of this process unless given.
    """
    try:
        for package in ("typer", "rich"):
            require(package, "cli", "The command line")
        from condgof.cli._app import command

        command()(args=sys.argv[1:] if arguments is None else list(arguments), prog_name="condgof")
    except SystemExit as stop:  # how Typer ends, well or not
        return stop.code if isinstance(stop.code, int) else 2 if stop.code else 0
    except (CondgofError, OSError) as error:
        print(f"condgof: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if os.environ.get("CONDGOF_DEBUG"):
            traceback.print_exc()
        print(
            f"condgof: internal error, please report it: {type(error).__name__}: {error} "
            "(CONDGOF_DEBUG=1 shows where)",
            file=sys.stderr,
        )
        return 3
    return 0
