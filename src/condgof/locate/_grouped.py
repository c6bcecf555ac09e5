"""Checks of several groups of rows, corrected for there being several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.locate._frozen import Record
from condgof.locate._record import SCHEMA, Check
from condgof.locate._shown import ShownGroups
from condgof.locate._text import kind_of_model
from condgof.locate._words import listed
from condgof.result import pvalue_words


@dataclass(frozen=True, eq=False, repr=False)
class GroupedChecks(ShownGroups, Record):
    """A check of each group; ``grouped["Oslo"]`` is that of one.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x, city = rng.uniform(0, 1, 400), np.repeat(["Oslo", "Rome"], 200)
    >>> y = x + (city == "Rome") + rng.standard_normal(400)
    >>> grouped = cg.check_groups((x, np.ones(400)), x, y, by=city, rng=0)
    >>> grouped.rejected, len(grouped)
    (('Rome',), 2)
    """

    #: What the groups are of.
    by: str
    #: Of each group that was checked. Their `corrected_pvalue` is Holm's over all groups, and their
    #: verdicts and named locations follow from it.
    checks: Mapping[str, Check]
    #: Groups that could not be checked, with the reason.
    left_out: Mapping[str, str]
    #: The level of all of it: the probability that any group of a true model is rejected, or any
    #: location in it named, is at most this.
    alpha: float
    #: The verdict over all groups.
    words: str
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rejected(self) -> tuple[str, ...]:
        """The groups in which the model is rejected."""
        return tuple(name for name, check in self.checks.items() if check.rejects)

    @property
    def pvalues(self) -> dict[str, float]:
        """The p-value of each group, corrected for all."""
        return {name: check.pvalue for name, check in self.checks.items()}

    def __getitem__(self, group: str) -> Check:
        return self.checks[group]

    def __iter__(self) -> Iterator[str]:
        return iter(self.checks)

    def __len__(self) -> int:
        return len(self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON; ``"schema"`` is its version."""
        return {"schema": SCHEMA, **super().to_dict()}

    def __repr__(self) -> str:
        count = f"{len(self.checks)} groups, {len(self.rejected)} rejected"
        return f"GroupedChecks(by={self.by!r}, {count}, {len(self.left_out)} left out)"

    def __str__(self) -> str:
        kind = next((kind_of_model(check) for check in self.checks.values()), "conditional model")
        lines = [f"Check of a {kind} by {self.by}", f"  {self.words}"]
        for name, check in self.checks.items():
            mark = "*" if check.rejects else " "
            lines.append(f"{mark} {name} (n = {check.result.n:,}): {check.words}")
        lines += [f"  {name}: left out, {reason}" for name, reason in self.left_out.items()]
        return "\n".join(lines)


def holm(pvalues: FloatArray) -> FloatArray:
    """Return p-values corrected by Holm's step-down method.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).round(3)
    array([0.03, 0.06, 0.06])
    """
    count = len(pvalues)
    order = np.argsort(pvalues, kind="stable")
    steps = np.maximum.accumulate(pvalues[order] * (count - np.arange(count)))
    out = np.empty(count)
    out[order] = np.minimum(steps, 1.0)
    return out


def group_words(checks: Mapping[str, Check], left_out: Mapping[str, str]) -> str:
    """Say in how many groups the model is rejected, and in which."""
    rejected = [name for name, check in checks.items() if check.rejects]
    count = f"{len(checks)} group{'s' * (len(checks) != 1)}"
    rest = f" {len(left_out)} left out." if left_out else ""
    if not checks:
        return f"No group could be checked.{rest}"
    if not rejected:
        least = min(checks.values(), key=lambda check: check.pvalue)
        p = pvalue_words(least.pvalue, least.details.get("pvalue_floor", 0.0))
        smallest = f"smallest corrected {p}"
        return f"No evidence against the model in any of {count} ({smallest}).{rest}"
    shown = listed([*rejected[:5], *([f"{len(rejected) - 5} more"] if len(rejected) > 5 else [])])
    return f"Evidence against the model in {len(rejected)} of {count}: {shown}.{rest}"
