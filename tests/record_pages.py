"""Write what the code of a page prints into the page, as `test_docs` compares it.

Record pages, with the sources of the version to record::

    PYTHONPATH=src python tests/record_pages.py README.md docs/start.md
"""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

from condgof.cli import main

#: A fenced block: its language and what is in it.
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: A command of a session, and what is shown of its output.
COMMAND = re.compile(r"^\$ condgof (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


def printed_by(run):
    """Return what a function prints, without spaces at the ends of lines."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        run()
    lines = [line.rstrip() for line in out.getvalue().strip().splitlines()]
    return "\n".join(lines) + "\n"


def recorded(text, page):
    """Return the text of a page with the output of its code as it is now."""
    namespace = {}
    printed = ""

    def block(match):
        nonlocal printed
        language, code = match.groups()
        if language == "python":
            program = compile(code, page, "exec")
            printed = printed_by(lambda: exec(program, namespace))
        elif language == "text":
            code = printed
        elif language == "console":
            code = COMMAND.sub(session, code)
        return f"```{language}\n{code}```"

    def session(match):
        command = match.group(1)
        shown = printed_by(lambda: main(shlex.split(command)))
        return f"$ condgof {command}\n{shown}"

    return BLOCK.sub(block, text)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name).resolve()
        before = Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            text = recorded(path.read_text(encoding="utf-8"), name)
            os.chdir(before)
        path.write_text(text, encoding="utf-8")
