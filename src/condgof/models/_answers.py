"""What the tests that use no scores ask of a model, checked: samples, and its CDF."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.errors import InputError, NonFiniteError, ShapeError, check_finite
from condgof.models._base import ConditionalModel, check_rows, check_shape
from condgof.sample import Sample, take_rows

#: How far beyond [0, 1] rounding may put a CDF; single precision is welcome.
CDF_ROUNDING = 1e-6


def sample_rows(
    model: ConditionalModel, sample: Sample, rows: IntArray, rng: np.random.Generator
) -> FloatArray:
    """Draw y from the model given x of some rows, (len(rows), d_y)."""
    check_rows(model, sample)
    if not model.can("sample"):
        model._lacks("sample")
    raw = model.take(rows).sample(take_rows(sample.x_given, rows), rng)
    drawn = check_shape(raw, len(rows), sample.d_y, "What sample returns")
    check_finite(drawn, "What the model samples", "Check its sampler at those rows of x.")
    return drawn


def draw_rows(model: ConditionalModel, sample: Sample, rng: np.random.Generator) -> FloatArray:
    """Draw y from the model given x of all rows, (n, d_y)."""
    raw = model.sample(sample.x_given, rng)
    drawn = check_shape(raw, sample.n, sample.d_y, "What sample returns")
    check_finite(drawn, "What the model samples", "Check its sampler at those rows of x.")
    return drawn


def check_cdf(model: ConditionalModel, sample: Sample) -> None:
    """Check that a model can be asked for its CDF at the rows of a sample."""
    check_rows(model, sample)
    if not model.can("cdf"):
        model._lacks("cdf")


def grid_of(model: ConditionalModel) -> Callable[..., FloatArray]:
    """Return the `cdf_grid` that speaks for the model's `cdf`.

    A subclass that overrides `cdf` alone has inherited a fast `cdf_grid` that knows nothing of it.
    """

    def depth(name: str) -> int:
        return next(i for i, cls in enumerate(type(model).__mro__) if name in vars(cls))

    overridden = depth("cdf") < depth("cdf_grid")
    return ConditionalModel.cdf_grid if overridden else type(model).cdf_grid


def cdf_rows(model: ConditionalModel, sample: Sample, rows: IntArray) -> FloatArray:
    """Return F(y_k | x_i) for some rows i and all k of a sample with d_y = 1, (len(rows), n)."""
    x = take_rows(sample.x_given, rows)
    values = grid_of(model)(model.take(rows), sample.y_given, x)
    if values.shape != (len(rows), sample.n):
        raise ShapeError(f"cdf_grid must return {(len(rows), sample.n)}, got {values.shape}.")
    if values.min() >= 0.0 and values.max() <= 1.0:  # false where there is a NaN
        return values
    bad = ~np.isfinite(values)
    if bad.any():
        i, k = np.argwhere(bad)[0]
        raise NonFiniteError(
            f"The model's cdf is {values[i, k]} given row {rows[i]} of x (counted from 0), at "
            f"y = {sample.y[k, 0]:.6g}. Check the model there.",
            count=int(bad.any(axis=1).sum()),
            first_row=int(rows[i]),
        )
    bad = (values < -CDF_ROUNDING) | (values > 1.0 + CDF_ROUNDING)
    if bad.any():
        i, k = np.argwhere(bad)[0]
        raise InputError(
            f"The model's cdf is {values[i, k]:.6g} given row {rows[i]} of x (counted from 0), at "
            f"y = {sample.y[k, 0]:.6g}, and a cdf lies between 0 and 1. Check the model there."
        )
    return np.clip(values, 0.0, 1.0)
