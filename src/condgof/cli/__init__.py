"""The command line.

Exit codes: 0 ran; 2 bad input or usage, with a message and no traceback; 3 an internal error.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from condgof.errors import CondgofError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after the program's name; those of this process unless given.
    """
    parser = argparse.ArgumentParser(
        prog="condgof", description="Does a conditional density model p(y|x) fit the data?"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="test two models on the bundled data, with a figure")
    demo.add_argument(
        "--out", type=Path, default=Path("demo-output"), help="folder for the figure (demo-output)"
    )
    options = parser.parse_args(arguments)
    try:
        from condgof.cli._demo import run_demo

        run_demo(options.out)
    except (CondgofError, OSError) as error:
        print(f"condgof: {error}", file=sys.stderr)
        return 2
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
