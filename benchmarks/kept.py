"""Results of parts of `make bench`: one small JSON file a part, and RESULTS.md from these.

A result is kept with the version of the library and that of the part. A part runs again
when either has changed, or when its process was killed before it ended.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import platform
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import condgof

HERE = Path(__file__).parent
FOLDER = HERE / "results" / "bench"
PAGE = HERE / "RESULTS.md"

HASH_DIGITS = 12  # of versions of the library and of parts
NOT_MET = "**not met**"  # what `measuring.claim` prints of a ratio that falls short
#: Files that every part measures with.
SHARED = ("measuring.py", "samples.py", "textbook.py")


@dataclass(frozen=True)
class PartResult:
    """What one part printed, and by what it was measured."""

    part: str
    definition: str  # version of the part
    code: str  # version of the library
    machine: str
    date: str  # UTC, the day
    seconds: float  # that the part took
    printed: str  # Markdown
    measurements: dict[str, list[dict[str, float]]]  # by task and environment


def hash_of(texts: list[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:HASH_DIGITS]


def code_version() -> str:
    """Return the hash of the Python sources of the library that is imported."""
    folder = Path(condgof.__file__).parent
    files = sorted(folder.rglob("*.py"))
    return hash_of(
        [f"{file.relative_to(folder).as_posix()}\n{file.read_text()}" for file in files]
    )


def definition_of(part: Callable[[], None]) -> str:
    """Return the hash of the file that a part stands in and of those that all use."""
    own = Path(inspect.getfile(part))
    return hash_of([file.read_text() for file in (own, *(HERE / name for name in SHARED))])


def machine_kind() -> str:
    """Return the kind of the machine: processor, cores, memory, Python, and NumPy."""
    import numpy as np

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores of {processor_name()}, {memory:.0f} GB,"
        f" {platform.system()}, Python {platform.python_version()}, NumPy {np.__version__}"
    )


def processor_name() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def path_of(part: str, folder: Path = FOLDER) -> Path:
    return folder / f"{part}.json"


def read_result(part: str, folder: Path = FOLDER) -> PartResult | None:
    """Return what is kept of a part, of any version."""
    path = path_of(part, folder)
    return PartResult(**json.loads(path.read_text())) if path.exists() else None


def write_result(result: PartResult, folder: Path = FOLDER) -> None:
    """Keep a result; a kill leaves the file before or the file after."""
    folder.mkdir(parents=True, exist_ok=True)
    path = path_of(result.part, folder)
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(asdict(result), indent=1, ensure_ascii=False) + "\n")
    unfinished.replace(path)


def is_current(result: PartResult | None, definition: str, code: str) -> bool:
    """Whether a result is of this version of the part and of the library."""
    return result is not None and (result.definition, result.code) == (definition, code)


# The page


def page(parts: list[str], folder: Path = FOLDER) -> str:
    """Return RESULTS.md: what is not met, what was run by what, then each part."""
    results = [read_result(part, folder) for part in parts]
    kept = [result for result in results if result is not None]
    missing = [part for part in parts if read_result(part, folder) is None]
    lines = [
        "# Speed and memory",
        "",
        *shortfall_lines(kept),
        *summary_lines(kept, missing),
    ]
    for result in kept:
        lines += [
            result.printed.strip().replace("### ", "## ", 1),
            "",
            f"`make bench ONLY={result.part}`, {result.date}, {result.seconds:.0f} s,"
            f" library `{result.code}`.",
            "",
        ]
    return "\n".join(lines).rstrip() + "\n"


def shortfall_lines(kept: list[PartResult]) -> list[str]:
    """Return the claims that are not met, each with its part."""
    lines = ["## Where it falls short", ""]
    for result in kept:
        for line in result.printed.splitlines():
            if NOT_MET in line:
                what, measured, ratio, asked = (one.strip() for one in line.split("|")[1:5])
                lines.append(
                    f"- {what} (`{result.part}`): {ratio}, asked {asked} ({measured})."
                )
    if len(lines) == 2:
        lines.append("All ratios that are asked for are met in the parts that have run.")
    return [*lines, ""]


def parts_text(count: int) -> str:
    return "1 part" if count == 1 else f"{count} parts"


def summary_lines(kept: list[PartResult], missing: list[str]) -> list[str]:
    """Return what made the numbers, and the parts without any."""
    lines = ["## How it was measured", ""]
    machines = Counter(result.machine for result in kept)
    versions = Counter(result.code for result in kept)
    lines += [
        f"- Machine: {machine} ({parts_text(count)})."
        for machine, count in machines.items()
    ]
    lines += [
        f"- Version of the library, a hash of its sources: `{code}` ({parts_text(count)})."
        for code, count in versions.items()
    ]
    if missing:
        lines.append(f"- Not run since the last change of this page: {', '.join(missing)}.")
    lines += [
        "- Compare ratios, not seconds: those of one line are of the same run on the same"
        " machine.",
        "- Made by `make bench` from `benchmarks/results/bench/` alone. A part that is"
        " there with the version of the library is not run again; `ONLY=name` picks parts.",
        "",
    ]
    return lines
