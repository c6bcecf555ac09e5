"""Times of which some are known only to be later: right censoring, and left truncation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, ShapeError, UnsupportedModelError, refuse_rows
from condgof.laws._law import (
    TINY,
    Law,
    ModelLike,
    check_bound,
    checked_cdf,
    row_count,
    same_as,
    tail_scores,
)
from condgof.sample import as_numbers


@dataclass(frozen=True, eq=False)
class Censored(Law):
    """A model of times, bound to rows that say of each y whether the event came then, or later.

    Censoring is independent of the time given x. A row that was watched only from `entry` on is in the
    data because its y is above that.
    """

    #: The law of y, or a model that is still to be called with x.
    of: ModelLike
    #: Whether y is the time of the event (1) or the time until which there was none (0), (n,).
    event: FloatArray
    #: The time from which on each row was watched, (n,); None where all were from the beginning.
    entry: FloatArray | None = None

    name, of_x, support = same_as("of.name"), same_as("law.of_x"), same_as("law.support")
    can, quantile = same_as("law.can"), same_as("law.quantile")
    mean_std, location_scale = same_as("law.mean_std"), same_as("law.location_scale")

    @property
    def law(self) -> Law:
        """The law of y, once x is given."""
        assert isinstance(self.of, Law)
        return self.of

    @property
    def rows(self) -> int | None:
        return len(self.event)

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(getattr(self.of, "notes", ()))

    def noted(self, *notes: str) -> Censored:
        return replace(self, of=self.law.noted(*notes)) if notes else self

    @property
    def index(self) -> Any:
        return getattr(self.of, "index", None)

    def take(self, rows: IntArray) -> Censored:
        of = self.of if self.of.rows is None else self.of.take(rows)
        return Censored(of, self.event[rows], None if self.entry is None else self.entry[rows])

    def __call__(self, x: Any = None, n: int | None = None) -> Censored:
        n = row_count(x, n if n is not None or x is not None else self.rows)
        check_bound(self.rows, n, "event")
        return replace(self, of=self.of(x, n))

    def facing(self, y: AnyArray) -> Censored:
        """Refuse a law that does not say P(Y > y | x), and check entries against y."""
        law = self.law.facing(y)
        able = law.can("normal_scores") or law.can("cdf") or law.can("sf")
        if law.discrete or not law.of_x or not able:
            raise UnsupportedModelError(
                f"event= needs P(Y > y | x) of a continuous y, which {law.name} does not say. Pass a "
                "closed form (condgof.models.Weibull, LogNormal, …), a fitted model of lifelines or "
                "scikit-survival, or a law with sf(y)."
            )
        if np.ndim(y) == 2 and np.shape(y)[1] != 1:
            raise ShapeError(f"event= is for one column of y, and y has {np.shape(y)[1]}.")
        if self.entry is not None:
            late = self.entry >= np.asarray(y, dtype=np.float64).reshape(-1)
            refuse_rows(late, "entry is not before y", "A row is watched from entry until y.")
        return replace(self, of=law)

    def normal_scores(self, y: AnyArray) -> FloatArray:
        """Return Φ⁻¹(F(y|x)), (n, 1), of times of events and of censoring alike."""
        if self.law.can("normal_scores") or self.law.can("cdf"):
            return self.law.normal_scores(y)
        upper = checked_cdf(self.law.sf(y), len(y), "sf")
        return tail_scores(1.0 - upper, upper, TINY)[:, None]

    def watched(self, z: FloatArray) -> FloatArray:
        """Return what is known of rows of normal scores z (n, 1), (n, 3).

        The residual d − Λ(y) + Λ(entry), of mean 0 given x; the event d; and Φ⁻¹(F) at the entry.
        """
        start = np.full(len(self.event), -np.inf)
        if self.entry is not None:
            low = np.broadcast_to(self.support[0], (len(start), 1))[:, 0]
            inside = np.flatnonzero(self.entry > low)
            if len(inside):
                start[inside] = self.take(inside).normal_scores(self.entry[inside])[:, 0]
        residual = self.event - hazard(z[:, 0]) + hazard(start)
        return np.column_stack([residual, self.event, start])


def hazard(z: AnyArray) -> FloatArray:
    """Return the cumulative hazard Λ = −log(1 − Φ(z)) of normal scores, exponential under the law."""
    return np.asarray(-log_ndtr(-np.asarray(z, dtype=np.float64)))


def censored(model: ModelLike, event: Any, entry: Any = None, x: Any = None) -> ModelLike:
    """Bind a model to what a user says of censoring; the model itself where that is nothing.

    Examples
    --------
    >>> from condgof.laws import Exponential
    >>> law = censored(Exponential(scale=2.0), [True, False])(n=2)
    >>> law.watched(law.normal_scores(np.array([1.0, 3.0]))).round(3)
    array([[ 0.5,  1. , -inf],
           [-1.5,  0. , -inf]])
    """
    if event is None:
        if entry is not None:
            raise InputError("entry= goes with event=: pass event, 1 for all rows if none is censored.")
        return model
    for name, given in (("event", event), ("entry", entry)):
        both = hasattr(given, "iloc") and hasattr(x, "iloc")
        if both and len(given) == len(x) and not given.index.equals(x.index):
            raise InputError(f"{name} and x have different indices. Align them, or pass arrays.")
    values = _column(event, "event")
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        got = ", ".join(f"{v:g}" for v in np.unique(values[wrong])[:3])
        raise InputError(
            f"event must be 0 or 1 in each row (1: the event came at y; 0: it had not come by y), and "
            f"is {got} in {int(wrong.sum())} of {len(values)} rows, the first in row "
            f"{np.flatnonzero(wrong)[0]} (counted from 0)."
        )
    if not values.any():
        raise InputError("event is 0 in all rows: without a single event there is nothing to compare.")
    start = None if entry is None else _column(entry, "entry")
    if start is not None and len(start) != len(values):
        raise ShapeError(f"entry has {len(start)} rows, and event {len(values)}.")
    return Censored(model, values, start)


def _column(given: Any, name: str) -> FloatArray:
    values = as_numbers(given, name)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ShapeError(f"{name} must have shape (n,), one number for each row, got {values.shape}.")
    values = values.astype(np.float64)
    refuse_rows(np.isnan(values), f"{name} is missing", "Say of each row what it is, or drop the row.")
    return values
