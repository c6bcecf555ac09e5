"""Print the lowest versions that pyproject.toml declares, as constraints for pip."""

import re
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())[
    "project"
]
# Old builds of torch bring GPU packages: the Makefile installs the one that has a CPU
# build.
LEFT_OUT = {"all", "torch"}

if __name__ == "__main__":
    extras = PROJECT["optional-dependencies"]
    declared = {
        *PROJECT["dependencies"],
        *(r for name in extras.keys() - LEFT_OUT for r in extras[name]),
    }
    for requirement in sorted(declared):
        name, version = re.fullmatch(
            r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", requirement
        ).groups()
        print(f"{name}=={version}")
