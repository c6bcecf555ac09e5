"""What comparisons of models give back: plain, frozen, picklable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

import numpy as np

from condgof.null import Difference
from condgof.result import GofResult, _plain


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(GofResult):
    """Which of two models fits worse, from `compare`.

    The fields of a `GofResult`, and:

    Parameters
    ----------
    statistic : float
        The difference in standard errors, its skewness taken out: standard normal where both models
        fit equally well. Positive: the first model fits worse.
    names : pair of str
        What the models are called.
    alternative : str
        "two-sided", "greater" (the first fits worse) or "less".
    difference : float
        D of the first model less D of the second.
    interval : pair of float
        95% confidence interval of the difference.
    discrepancies : pair of float
        D, the squared KCSD, of each model in the common coordinates; estimates may be below 0.

    Examples
    --------
    >>> result = Comparison(2.1, 0.036, "compare", 200, difference=0.2, interval=(0.01, 0.4))
    >>> result.reject(), result.worse
    (True, 'p')
    """

    names: tuple[str, str] = ("p", "q")
    alternative: str = "two-sided"
    difference: float = 0.0
    interval: tuple[float, float] = (0.0, 0.0)
    discrepancies: tuple[float, float] = (0.0, 0.0)

    @property
    def worse(self) -> str | None:
        """The model with the larger discrepancy, significant or not; None where they are equal."""
        if self.difference == 0 or np.isnan(self.difference):
            return None
        return self.names[0] if self.difference > 0 else self.names[1]

    def words(self, alpha: float = 0.05) -> str:
        """Say in a sentence, without a full stop, what came out at level `alpha`."""
        p, q = self.names
        level = f"at the {100 * alpha:g}% level"
        if self.reject(alpha):
            return f"{self.worse} fits worse than {q if self.worse == p else p} {level}"
        if self.alternative == "two-sided":
            return f"no evidence {level} that one fits worse than the other"
        first, second = (p, q) if self.alternative == "greater" else (q, p)
        return f"no evidence {level} that {first} fits worse than {second}"

    def confidence_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the interval of the difference at another level."""
        error = self.details.get("standard_error")
        if error is None:  # a refuted model: the difference is not a matter of estimation
            return self.interval
        return Difference(self.difference, error, *self.details["skewness"]).interval(level)

    def __repr__(self) -> str:
        return (
            f"Comparison(names={self.names!r}, n={self.n}, difference={self.difference:.6g}, "
            f"statistic={self.statistic:.6g}, pvalue={self.pvalue:.4g})"
        )

    def __str__(self) -> str:
        p, q = self.names
        low, high = self.interval
        wide = max(len(p) + 5, len(q) + 5, 10)
        lines = [
            f"comparison of {p} and {q}, n = {self.n:,}",
            f"  {'verdict':{wide}} {self.words()}",
            f"  {'p-value':{wide}} {self.pvalue:.4g} ({self.alternative})",
            f"  {'difference':{wide}} {self.difference:.4g} (95% interval {low:.4g} to {high:.4g})",
            *(
                f"  {'D of ' + name:{wide}} {value:.4g}"
                for name, value in zip(self.names, self.discrepancies, strict=True)
            ),
        ]
        if self.kernel_x is not None:
            lines.append(f"  {'kernel x':{wide}} {self.kernel_x}")
            lines.append(f"  {'kernel y':{wide}} {self.kernel_y}")
        lines += [f"  {'note':{wide}} {note}" for note in self.details.get("notes", ())]
        return "\n".join(lines)


@dataclass(frozen=True)
class Pair:
    """Two models of a ranking."""

    #: Their names; `worse` has the larger discrepancy.
    better: str
    worse: str
    #: D of the worse less D of the better.
    difference: float
    #: Its standard error.
    standard_error: float
    #: Two-sided p-value of this pair by itself.
    pvalue: float
    #: The same, corrected for all pairs.
    adjusted: float

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON."""
        return dict(_plain(vars(self)))


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    """Several models in the order of their fit, from `rank`.

    Parameters
    ----------
    names : tuple of str
        The models, the best first.
    discrepancies : tuple of float
        D of each, in that order; infinite for a model that the data refute.
    pairs : tuple of Pair
        All pairs, the most significant first.
    n : int
        Number of rows.
    kernel_x, kernel_y : Kernel, optional
        The kernels that were used.
    solver : str, optional
        Which solver ran.
    seed : int, optional
        Passing it as ``rng=`` gives this very result.
    details : mapping
        Notes, and what is special to the solver.
    method : str
        "rank".

    Examples
    --------
    >>> found = Ranking(("a", "b"), (0.0, 0.3), (Pair("a", "b", 0.3, 0.1, 0.003, 0.003),), n=100)
    >>> found.best(), found.best(alpha=0.001)
    (('a',), ('a', 'b'))
    """

    names: tuple[str, ...]
    discrepancies: tuple[float, ...]
    pairs: tuple[Pair, ...]
    n: int
    kernel_x: Any = None
    kernel_y: Any = None
    solver: str | None = None
    seed: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    method: str = "rank"

    def __post_init__(self) -> None:
        object.__setattr__(self, "details", MappingProxyType(dict(self.details)))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "details": dict(self.details)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({**state, "details": MappingProxyType(state["details"])})

    def different(self, alpha: float = 0.05) -> tuple[Pair, ...]:
        """Return the pairs that differ; all of these statements hold together with 1 − alpha."""
        each = (GofResult(0.0, pair.adjusted, "rank", self.n) for pair in self.pairs)
        return tuple(pair for pair, one in zip(self.pairs, each, strict=True) if one.reject(alpha))

    def best(self, alpha: float = 0.05) -> tuple[str, ...]:
        """Return the models than which none fits significantly better.

        The best model is among them with probability 1 − alpha (or more).
        """
        worse = {pair.worse for pair in self.different(alpha)}
        return tuple(name for name in self.names if name not in worse)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON."""
        plain = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}
        return {**plain, "best": list(self.best())}

    def __repr__(self) -> str:
        return f"Ranking(n={self.n}, names={self.names!r}, best={self.best()!r})"

    def __str__(self) -> str:
        best, lost = self.best(), self.different()
        wide = max(5, *map(len, self.names))
        lines = [
            f"rank of {len(self.names)} models by fit, n = {self.n:,}",
            f"     {'model':{wide}}  {'D':>10}  best?  fits worse than (5% level, all pairs together)",
        ]
        for k, (name, value) in enumerate(zip(self.names, self.discrepancies, strict=True), 1):
            than = [
                other for other in self.names if any((p.better, p.worse) == (other, name) for p in lost)
            ]
            mark = "yes" if name in best else "no"
            lines.append(f"{k:3}  {name:{wide}}  {value:10.4g}  {mark:5}  {', '.join(than) or '-'}")
        lines += [f"  note  {note}" for note in self.details.get("notes", ())]
        return "\n".join(lines)
