"""Whether draws of different rows move together.

Draws (n, S) are *jointly drawn* if one parameter vector, or one noise, serves all rows of
a draw: then rows share an error, and y must be compared with whole draws. Where rows were
drawn independently given x, every order of the S draws within a row is as likely as any
other, independently over rows, which gives the null distribution of what follows.

Let v (n, S) be a function of the draws that has mean 0 and mean square 1 within each row,
and f (n,) a unit vector: a function of x. A_s = Σ_i f_i v_is has mean 0 and variance 1
under the null, Σ_s A_s = 0, and (S − 1)/S · Σ_s A_s² is about χ² with S − 1 degrees of
freedom; with R orthonormal functions, with R(S − 1). A shared error along f makes it
larger. For errors along no function that was asked for, correlations ρ_ij = v_i·v_j/S of
pairs of rows serve: E ρ² = 1/(S − 1) and Var ρ² ≈ 2/(S − 1)² under the null, and ρ² of
different pairs are uncorrelated.

Two functions of the draws are asked, one that shows a shared location and one that shows a
shared spread; y is never asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtr

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.laws import row_ranks
from condgof.sample import Column

#: Draws are taken as moving together where a test of level 0.05 says so.
LEVEL = 0.05
#: Of more draws, this many decide,
MOST_DRAWS = 512
#: and of many rows fewer: this many numbers are ranked in all,
RANKED_NUMBERS = 2**23
#: but these at least.
LEAST_DRAWS = 64
#: Rows that are ranked at a time.
BLOCK_ROWS = 4096
#: Rows whose pairs are compared, and rows that smooth functions of x are centred at.
PAIRED_ROWS = 1024
CENTRES = 10
#: Ranks that vary by less than this are equal.
ROUNDING = 1e-9
#: Most categories of a column that are functions of x.
MOST_CATEGORIES = 8
#: A mean square correlation of rows above this: one noise vector serves all rows.
ONE_NOISE = 0.8


class Together(NamedTuple):
    """How far draws of different rows move together."""

    pvalue: float  #: Of the null hypothesis that rows were drawn independently.
    #: Mean over pairs of rows of the squared correlation of their draws, less its mean
    #: under the null; about 1 where all rows have the same noise.
    shared: float

    @property
    def is_certain(self) -> bool:
        return self.pvalue <= LEVEL

    @property
    def is_one_noise(self) -> bool:
        return self.shared > ONE_NOISE


def draws_together(draws: AnyArray, x: FloatArray, columns: tuple[Column, ...]) -> Together:
    """Test whether rows of draws move together.

    Parameters
    ----------
    draws : ndarray of shape (n, S) or (n, S, d_y)
        Of several columns of y, each is tested.
    x : ndarray of shape (n, d)
        Covariates in the kernels' units, numbers or codes of categories.
    columns : tuple of Column
        What the columns of x are.
    """
    n, count = draws.shape[:2]
    if n < 2 or count < 3:
        return Together(pvalue=1.0, shared=0.0)
    most = min(MOST_DRAWS, max(LEAST_DRAWS, RANKED_NUMBERS // n))
    chosen = np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))
    bases = list(_functions_of_x(x, columns))
    paired = np.unique(np.linspace(0, n - 1, min(n, PAIRED_ROWS)).astype(np.int64))
    pvalues: list[float] = []
    shared = 0.0
    for values in np.moveaxis(draws.reshape(n, count, -1), 2, 0):
        sums = [np.zeros((2, basis.shape[1], len(chosen))) for basis in bases]
        kept: list[FloatArray] = []
        for start in range(0, n, BLOCK_ROWS):
            rows = slice(start, min(start + BLOCK_ROWS, n))
            both = location_and_spread(values[rows][:, chosen])
            for total, basis in zip(sums, bases, strict=True):
                total += basis[rows].T @ both
            inside = paired[(paired >= rows.start) & (paired < rows.stop)]
            kept.append(both[:, inside - rows.start])
        for total in sums:
            pvalues.extend(_variance_pvalue(each) for each in total)
        for each in np.concatenate(kept, axis=1):
            pairs = _pairs(each)
            pvalues.append(pairs.pvalue)
            shared = max(shared, pairs.shared)
    return Together(pvalue=min(1.0, len(pvalues) * min(pvalues)), shared=shared)


def location_and_spread(draws: AnyArray) -> FloatArray:
    """Return two functions of draws (n, S), of mean 0 and mean square 1 in a row.

    Both (2, n, S): the ranks of the draws within their row, and the squares of these.
    """
    first = _unit_rows(row_ranks(draws).ranks)
    return np.stack([first, _unit_rows(np.square(first))])


def _unit_rows(values: FloatArray) -> FloatArray:
    """Return rows of mean 0 and mean square 1; a constant row becomes 0."""
    centred = values - values.mean(axis=1, keepdims=True)
    size = np.sqrt(np.square(centred).mean(axis=1, keepdims=True))
    return np.asarray(np.where(size > ROUNDING, centred / np.maximum(size, ROUNDING), 0.0))


def _functions_of_x(x: FloatArray, columns: tuple[Column, ...]) -> Iterator[FloatArray]:
    """Yield orthonormal functions of x, (n, R) each, by family.

    The constant; all columns of x by themselves; smooth functions of all columns together.
    """
    n = len(x)
    yield np.full((n, 1), n**-0.5)
    single = _column_functions(x, columns)
    if single.shape[1]:
        yield np.linalg.qr(single)[0]
        centres = single[np.unique(np.linspace(0, n - 1, CENTRES).astype(np.int64))]
        squares = np.square(single[:, None] - centres).sum(axis=2)
        smooth = np.exp(-0.5 * squares / max(float(np.median(squares)), 1e-12))
        yield np.linalg.qr(smooth)[0]


def _column_functions(x: FloatArray, columns: tuple[Column, ...]) -> FloatArray:
    """Return numeric columns in standard deviations, and indicators of categories."""
    functions: list[FloatArray] = []
    for values, column in zip(x.T, columns, strict=False):
        if column.categorical:
            codes, counts = np.unique(values, return_counts=True)
            largest: IntArray = np.argsort(-counts, kind="stable")[1 : 1 + MOST_CATEGORIES]
            functions.extend((values == code).astype(np.float64) for code in codes[largest])
        elif np.ptp(values) > 0:
            functions.append((values - values.mean()) / values.std())
    most = max(1, len(x) // 2)
    return np.stack(functions[:most], axis=1) if functions else np.empty((len(x), 0))


def _variance_pvalue(sums: FloatArray) -> float:
    """Return P(χ² ≥ (S − 1)/S · Σ A²) of sums A (R, S)."""
    size, count = sums.shape
    statistic = float(np.square(sums).sum()) * (count - 1) / count
    return float(chdtrc(size * (count - 1), statistic))


class _Pairs(NamedTuple):
    pvalue: float
    shared: float


def _pairs(values: FloatArray) -> _Pairs:
    """Test the mean of ρ² over all pairs of rows of v (n, S)."""
    values = values[np.square(values).sum(axis=1) > 0]
    n, count = values.shape
    if n < 2:
        return _Pairs(pvalue=1.0, shared=0.0)
    # Σ_ij ρ_ij² of all pairs is the same for draws and for rows: take the smaller matrix.
    matrix = values.T @ values if count < n else values @ values.T
    pairs = n * (n - 1)
    mean = (float(np.square(matrix).sum()) / count**2 - n) / pairs
    error = np.sqrt(4.0 / pairs) / (count - 1)  # each pair is counted twice
    excess = mean - 1.0 / (count - 1)
    return _Pairs(pvalue=float(ndtr(-excess / error)), shared=excess)
