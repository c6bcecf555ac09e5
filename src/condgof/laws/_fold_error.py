"""How far out-of-fold predictions depend on the rows that they were fitted on.

With fits k = 1, …, K to all rows but those of a fold, m_k(x) and s_k(x) their mean and
standard deviation of y at x, and v the mean of s_k², the jackknife over folds estimates

    Var(m(x))/v ≈ (K − 1)/K · Σ_k (m_k − m̄)²/v,     2·Var(log s(x)) likewise,

for a fit to all rows. Their sum, averaged over rows, is the *instability*: about p/n for p
parameters of a family of location and scale.

A new row has E(y − m_k)² = σ² + Var(m_k), and a row that was fitted on about
σ² − Var(m_k): squared residuals of new rows exceed those of fitted ones by 2·Var(m_k).
Predicted variances that are right for new rows are too large for fitted ones by as much.
What they *leave out* is

    max(0, 2·Var(m_k)/v − max(0, 1 − mean over fitted rows of (y − m_k)²/s_k²)):

p/n for least squares with an unbiased σ², 0 for the predictive t distribution of the same
fit, or for a scale that comes from cross-validation. Of classes, squares of e_y − p are
summed over classes and rows before they are divided by what is predicted of their sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import CondgofError
from condgof.laws._about import draws_per_row, moments_of
from condgof.laws._circular import is_circular
from condgof.laws._discrete import Probabilities, normalised
from condgof.laws._law import FoldError, Law, ModelLike, as_rows
from condgof.sample import take_rows

#: Rows at which the fits are compared.
COMPARED_ROWS = 1024


class FoldMoments(NamedTuple):
    """Mean and standard deviation of y by each of K fits, (K, n, d) each."""

    mean: FloatArray
    std: FloatArray


class Comparison(NamedTuple):
    """What K fits say of the same rows, in units of the predicted variance."""

    of_fold: float  #: Variance of the mean of one of these fits.
    of_scale: float  #: Twice the variance of the log of its standard deviation.
    fitted: float  #: Mean square of the residuals of rows that were fitted on.


def fold_error_of(
    models: Sequence[ModelLike], x: Any, y: Any, folds: IntArray
) -> FoldError | None:
    """Compare the fits of K folds at the same rows; None where moments are not known.

    Parameters
    ----------
    models : K models, each fitted to all rows but those of its fold
    x, y : the user's containers, of n rows
    folds : ndarray of int, shape (n,)
        The fold of each row.
    """
    n = len(folds)
    rows = np.unique(np.linspace(0, n - 1, min(n, COMPARED_ROWS)).astype(np.int64))
    some = take_rows(x, rows)
    laws = [model(some, len(rows)) for model in models]
    observed = np.asarray(take_rows(y, rows))
    is_fitted = folds[rows] != np.arange(len(models))[:, None]
    if all(isinstance(law, Probabilities) for law in laws):
        found = _compare_classes(laws, observed, is_fitted)
    else:
        found = _compare_moments(laws, observed, is_fitted)
    if found is None:
        return None
    share = (len(models) - 1) / len(models)
    held = max(0.0, 1.0 - found.fitted)
    return FoldError(
        instability=share * (found.of_fold + found.of_scale),
        left_out=max(0.0, 2.0 * found.of_fold - held),
    )


def _compare_moments(
    laws: Sequence[Law], y: AnyArray, is_fitted: AnyArray
) -> Comparison | None:
    """Compare means and standard deviations of K laws at the same n rows."""
    moments = _moments_of_folds(laws)
    if moments is None or y.dtype.kind not in "biuf":
        return None
    predicted = np.square(moments.std).mean(axis=0)  # v, (n, d)
    # Σ_k (m_k − m̄)² is the variance of one of these fits, to (K − 1)/K of the rows.
    spread = np.square(moments.mean - moments.mean.mean(axis=0)).sum(axis=0) / predicted
    of_scale = 0.0
    if not laws[0].discrete:
        logs = np.log(moments.std)
        squares = np.square(logs - logs.mean(axis=0)).sum(axis=0)
        of_scale = 2.0 * float(squares.mean())
    observed = as_rows(y.astype(np.float64))
    residuals = np.square((observed - moments.mean) / moments.std).mean(axis=2)
    # Means of S draws vary by 1/S of the variance, whatever the fit.
    draws = draws_per_row(laws[0])
    by_chance = (len(laws) - 1) / draws if draws else 0.0
    return Comparison(
        of_fold=max(0.0, float(spread.mean()) - by_chance),
        of_scale=of_scale,
        fitted=float(residuals[is_fitted].mean()),
    )


def _compare_classes(
    laws: Sequence[Law], y: AnyArray, is_fitted: AnyArray
) -> Comparison | None:
    """Compare class probabilities of K laws at the same n rows."""
    tables = [law for law in laws if isinstance(law, Probabilities)]
    first = tables[0].classes
    if any(not np.array_equal(law.classes.labels, first.labels) for law in tables):
        return None  # a fold has not seen a class
    p = np.stack([normalised(law.values) for law in tables])  # (K, n, classes)
    mean = p.mean(axis=0)
    predicted = float((1.0 - np.square(mean).sum(axis=1)).sum())
    try:
        codes = first.find(np.ravel(y))
    except CondgofError:
        return None  # y has a class that no fold knows, which a test refuses
    observed = np.eye(mean.shape[1])[codes]
    residuals = np.square(observed - p).sum(axis=2)[is_fitted].sum()
    expected = (1.0 - np.square(p).sum(axis=2))[is_fitted].sum()
    if min(predicted, float(expected)) <= 0.0:
        return None  # predictions are certain
    return Comparison(
        of_fold=float(np.square(p - mean).sum()) / predicted,
        of_scale=0.0,
        fitted=float(residuals / expected),
    )


def _moments_of_folds(laws: Sequence[Law]) -> FoldMoments | None:
    """Return the moments of y by each law at the same rows; None where one has none."""
    means: list[FloatArray] = []
    stds: list[FloatArray] = []
    for law in laws:
        moments = None if is_circular(law) else moments_of(law, "mean_std")
        if moments is None or not (moments.scale > 0).all():
            return None
        means.append(moments.location)
        stds.append(moments.scale)
    if len({mean.shape for mean in means}) > 1:
        return None
    return FoldMoments(mean=np.stack(means), std=np.stack(stds))
