"""What "how" is measured on: residuals whose law under the model is known, or else scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import CondgofError
from condgof.laws import Draws, Law
from condgof.locate._bench import Bench
from condgof.locate._how import (
    Estimate,
    correlations,
    of_ranks,
    stein_correlations,
    stein_estimates,
    weighted_estimates,
)
from condgof.locate._scatter import Scatter
from condgof.locate._where import Place
from condgof.stein import choose_coordinates, coordinates_of

SD = "model standard deviations"
ON_SCORES = f"{SD} (on its normal-score scale)"
BY_SCORES = f"{SD} (as its scores suggest)"
#: Fewer effective rows than this tell nothing about how, nor do fewer groups or blocks.
LEAST_HOW, LEAST_GROUPS = 8.0, 4.0


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals of the rows that test."""

    #: Of mean 0 and variance 1 under the model, column by column; None where only scores are known, (n,
    #: d_y) or None.
    values: FloatArray | None
    #: Whether they are standard normal under the model, so that skew and tails can be told.
    normal: bool
    #: Residuals that are uncorrelated under the model, (n, d_y) or None.
    independent: FloatArray | None
    #: y and scores in the coordinates of the test, (n, d_y).
    u: FloatArray
    scores: FloatArray
    #: What the columns are called.
    columns: tuple[str, ...]
    #: The unit of a shift.
    unit: str
    #: Whether they are ranks among draws.
    ranks: bool = False

    @classmethod
    def of(cls, bench: Bench) -> Residuals:
        """Ask the model for the best that it has."""
        some = bench.testing
        sample, law = bench.rows.sample.take(some), bench.law.take(some)
        names = tuple(column.name for column in sample.y_columns)
        by, u, scores = bench.rows.by, bench.rows.y[some], bench.rows.scores[some]
        best = choose_coordinates(law, sample.d_y, "auto")
        own = u if best == by else coordinates_of(law, sample, best).u
        plain = _plain_residuals(law, sample.y)
        if sample.d_y == 1:
            if best in ("cdf", "marginals"):
                same = plain is not None and np.allclose(plain, own, rtol=1e-6, atol=1e-6)
                unit, ranks = SD if same else ON_SCORES, isinstance(law, Draws)
                return cls(own, True, None, u, scores, names, unit, ranks)
            unit = BY_SCORES if plain is None else SD
            return cls(plain, False, None, u, scores, names, unit)
        independent = own if best == "cdf" else None
        if law.can("marginals"):
            marginal = np.asarray(law.marginals(sample.y_given)[0])
            same = plain is not None and np.allclose(plain, marginal, rtol=1e-6, atol=1e-6)
            return cls(marginal, True, independent, u, scores, names, SD if same else ON_SCORES)
        if plain is not None:
            return cls(plain, False, independent, u, scores, names, SD)
        if best == "cdf":  # each column given those before it
            given = tuple(name if i == 0 else f"{name} given {names[0]}{'…' * (i > 1)}"
                          for i, name in enumerate(names))  # fmt: skip
            return cls(own, True, independent, u, scores, given, ON_SCORES)
        return cls(None, False, None, u, scores, names, BY_SCORES)

    def estimates(self, near: AnyArray, w: FloatArray, scatter: Scatter) -> tuple[list[Estimate], int]:
        """Estimate what is wrong with some rows of weights (m,); and count what was looked at."""
        if self.values is None:
            found = stein_estimates(self.u[near], self.scores[near], w, self.columns, scatter)
        else:
            found = weighted_estimates(self.values[near], w, self.columns, scatter, shape=self.normal)
        if len(self.columns) > 1:
            if self.independent is not None:
                found += correlations(self.independent[near], w, self.columns, scatter)
            else:
                found += stein_correlations(self.u[near], self.scores[near], w, self.columns, scatter)
        return of_ranks(found) if self.ranks else found, len(found)


class How(Protocol):
    """What tells how y differs from the model, from the rows that test."""

    @property
    def unit(self) -> str:
        """The unit of a shift."""
        ...

    def estimates(self, near: AnyArray, w: FloatArray, scatter: Scatter) -> tuple[list[Estimate], int]:
        """Estimate what is wrong with some rows of weights (m,); and count what was looked at."""
        ...


def estimates_at(how: How, place: Place, scatter: Scatter) -> tuple[list[Estimate], int]:
    """Estimate what is wrong near a place; `scatter` is that of all rows that test.

    The number is that of all estimates that were looked at, also where only some are told of.
    """
    near = place.weights > 0
    w, own = place.weights[near], scatter.take(near)
    if place.rows < LEAST_HOW or own.effective(w / w.sum()) < LEAST_GROUPS:
        return [], 0
    return how.estimates(near, w, own)


def _plain_residuals(law: Law, y: FloatArray) -> FloatArray | None:
    """Return (y − mean)/std, or None where the model has no finite standard deviation."""
    if not law.can("mean_std"):
        return None
    try:
        mean, std = (_columns(part, y.shape) for part in law.mean_std())
    except CondgofError:  # some have one in name only, such as a mixture in several dimensions
        return None
    if not (np.isfinite(mean).all() and np.isfinite(std).all() and (std > 0).all()):
        return None
    values: FloatArray = (y - mean) / std
    return values


def _columns(part: AnyArray, shape: tuple[int, ...]) -> FloatArray:
    values = np.asarray(part, dtype=np.float64)
    return np.broadcast_to(values[:, None] if values.ndim == 1 else values, shape)
