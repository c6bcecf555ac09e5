"""Results of cells: counts by claim, kept in one small JSON file a cell."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import condgof
from calibration.design import Design, Procedure, hash_of
from calibration.sequential import FAILS, OPEN, Limit

FOLDER = Path(__file__).parent / "results"
REFUSED = "refused"
NOT_RUN = "not run"
UNFINISHED = "not finished"


def code_version() -> str:
    """Return the hash of the Python sources of the library that is imported."""
    folder = Path(condgof.__file__).parent
    files = sorted(folder.rglob("*.py"))
    texts = [f"{file.relative_to(folder).as_posix()}\n{file.read_text()}" for file in files]
    return hash_of("\n".join(texts))


@dataclass
class Count:
    """Rejections of a claim at one α, until its verdict was clear."""

    rejected: int = 0
    samples: int = 0
    verdict: str = OPEN

    def add(self, limit: Limit, pvalue: float) -> None:
        """Count a sample, unless the verdict is clear already."""
        if self.verdict != OPEN:
            return
        self.samples += 1
        self.rejected += pvalue <= limit.alpha
        self.verdict = limit.verdict(self.rejected, self.samples)


class ClaimCount(NamedTuple):
    """A claim with its count."""

    claim: str
    limit: Limit
    count: Count


@dataclass
class Result:
    """What the samples of a design have shown so far."""

    design: str
    definition: str  # version of the cell
    code: str  # version of the library
    samples: int = 0  # drawn so far: the number of the next one
    seconds: float = 0.0  # of processor time
    counts: dict[str, Count] = field(default_factory=dict)  # by claim and α
    refused: dict[str, int] = field(default_factory=dict)  # samples by claim
    errors: list[str] = field(default_factory=list)  # of samples that raised

    @classmethod
    def from_json(cls, text: str) -> Result:
        record: dict[str, Any] = json.loads(text)
        counts = {key: Count(**one) for key, one in record.pop("counts").items()}
        return cls(**record, counts=counts)

    def to_json(self) -> str:
        record = asdict(self)
        record["seconds"] = round(self.seconds, 1)
        return json.dumps(record, indent=1, ensure_ascii=False) + "\n"

    def claims(self, design: Design) -> Iterator[ClaimCount]:
        """Yield all claims of a design."""
        for procedure in design.procedures:
            yield from self.claims_of(procedure)

    def claims_of(self, procedure: Procedure) -> Iterator[ClaimCount]:
        for claim, limits in procedure.claims.items():
            for limit in limits:
                key = f"{claim} @ {limit.alpha:g}"
                yield ClaimCount(claim, limit, self.counts.setdefault(key, Count()))

    def is_open(self, procedure: Procedure) -> bool:
        """Whether a verdict on a procedure is not clear yet."""
        return any(one.count.verdict == OPEN for one in self.claims_of(procedure))

    def is_finished(self, design: Design) -> bool:
        if self.samples >= design.most:
            return True
        return not any(self.is_open(one) for one in design.procedures)

    def failures(self, design: Design) -> list[ClaimCount]:
        return [one for one in self.claims(design) if one.count.verdict == FAILS]


def path_of(design: Design, folder: Path) -> Path:
    """Return the file of a design: its name without what file systems do not like."""
    ascii_name = unicodedata.normalize("NFKD", design.name.replace("×", "x"))
    slug = re.sub(r"[^a-z0-9.]+", "-", ascii_name.lower()).strip("-")
    return folder / f"{slug}.json"


def read_result(design: Design, folder: Path) -> Result | None:
    """Return what is stored of a design, of whatever version."""
    path = path_of(design, folder)
    return Result.from_json(path.read_text()) if path.exists() else None


def write_result(design: Design, result: Result, folder: Path) -> None:
    """Store a result; a kill leaves the file before or the file after."""
    path = path_of(design, folder)
    part = path.with_suffix(".part")
    part.write_text(result.to_json())
    part.replace(path)
