"""Weights of rows: read and checked once, without units, and None where all are equal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, InputTypeError, refuse_rows

#: What messages advise about weights that are no weights.
WEIGHTS_ADVICE = (
    "Weights are finite numbers, at least 0 (0 leaves a row out); fill or correct them"
    " first."
)


@dataclass(frozen=True, eq=False)
class RowWeights:
    """Weights w of n rows, functions of x: survey weights, importance, frequencies.

    Nothing depends on their scale: those of the rows that count have the mean 1.
    """

    #: Weights of the rows that count, (m,), of mean 1; None where all are equal.
    values: FloatArray | None
    #: The numbers of the rows whose weight is not 0, (m,); None where these are all rows.
    kept: IntArray | None

    @classmethod
    def from_values(cls, values: FloatArray, what: str = "weights") -> RowWeights:
        """Check weights (n,), and leave out those that are 0."""
        bad = ~np.isfinite(values) | (values < 0)
        refuse_rows(
            bad, f"{what} has negative, NaN or infinite values", WEIGHTS_ADVICE, InputError
        )
        if not values.any():
            raise InputError(
                f"{what} is 0 in all {len(values)} rows, so that no row counts. Pass a"
                " positive weight for each row that should."
            )
        kept = None
        if not values.all():
            kept = np.flatnonzero(values)
            values = values[kept]
        return cls(values=normalized(values), kept=kept)

    def of_all(self, n: int) -> FloatArray | None:
        """Return the weights of all n rows, (n,), 0 in those that do not count."""
        if self.kept is None or self.values is None:
            return self.values
        weights = np.zeros(n)
        weights[self.kept] = self.values
        return weights


def normalized(values: FloatArray) -> FloatArray | None:
    """Return positive weights (n,) of mean 1; None where all are equal.

    Equal weights are no weights: then every digit is that of rows without weights.
    """
    if values.min() == values.max():
        return None
    scaled = values / values.max()  # so that no sum overflows
    return np.asarray(scaled / scaled.mean())


def effective_rows(weights: FloatArray) -> float:
    """Return (Σw)²/Σw²: of equally weighted rows, how many tell a mean as exactly.

    Examples
    --------
    >>> effective_rows(np.array([1.0, 1.0, 0.0, 2.0]))
    2.6666666666666665
    """
    return float(weights.sum() ** 2 / np.square(weights).sum())


def weighted_mean(values: AnyArray, weights: FloatArray | None) -> float:
    """Return Σwv/Σw of values (m,)."""
    if weights is None:
        return float(np.mean(values))
    return float(np.sum(values * weights) / weights.sum())


def mean_terms(values: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Return v̄ + w(v − v̄)/w̄ of values (m,): their mean is v̄ = Σwv/Σw.

    They vary as the terms that v̄ is the mean of do, so that the standard error of their
    mean is that of v̄.
    """
    if weights is None:
        return values
    mean = weighted_mean(values, weights)
    return np.asarray(mean + (values - mean) * (weights / weights.mean()))


def weights_remark(weights: FloatArray) -> str:
    """Return what a reader of a result should know of weights (n,)."""
    return (
        f"weighted: {len(weights):,} rows, which tell as much as"
        f" {effective_rows(weights):,.0f} equally weighted ones"
    )


def zero_weights_remark(count: int, total: int) -> str:
    """Return what a reader should know where rows of weight 0 were left out."""
    return f"{count:,} of {total:,} rows have weight 0 and were left out"


def refuse_weights(weights: object, what: str, advice: str) -> None:
    """Raise where weights are given to what cannot take them."""
    if weights is not None:
        raise InputTypeError(f"{what} takes no weights. {advice}")
