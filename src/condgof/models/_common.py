"""Several models of the same y in the same coordinates, so that none is compared on its own ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError, SupportError
from condgof.models._base import ConditionalModel, check_rows
from condgof.models._common_cells import impossible
from condgof.models._coordinates import _checked, _largest, _raw_scores
from condgof.models._support import Line
from condgof.sample import Sample


@dataclass(frozen=True, eq=False)
class Common:
    """A sample with the scores of several models.

    Parameters
    ----------
    u : ndarray of shape (n, d_y)
        y, or where it lies on the whole line.
    scores : ndarray of shape (n, K, d_y)
        ∇_u log p(u|x) of each of K models.
    errors : tuple of (float or None)
        Largest estimated error of scores that were differentiated numerically, for each model.
    reparametrized : str, optional
        How y was brought from a bounded support to the whole line.
    differ : bool
        Whether the supports of the models differ.
    """

    u: FloatArray
    scores: FloatArray
    errors: tuple[float | None, ...]
    reparametrized: str | None = None
    differ: bool = False


def common_coordinates(models: Sequence[ConditionalModel], sample: Sample) -> Common:
    """Score a sample with several models, on one line for all of them.

    Where supports are bounded, y is brought to the line from their intersection: on it every model has
    the scores that it has (a density is known to a Stein test up to a constant). An observation outside
    any of the supports is a `SupportError`.
    """
    n, d_y = sample.n, sample.d_y
    low, high, differ = np.full((n, d_y), -np.inf), np.full((n, d_y), np.inf), False
    ready = []
    for number, model in enumerate(models):
        check_rows(model, sample)
        given = model.given(sample.x_given)
        ends = _ends(given, sample)
        line = Line.of(ends, n, d_y)
        if line is not None:
            line.check(sample.y, model._name)
        differ |= number > 0 and not (np.array_equal(ends[0], low) and np.array_equal(ends[1], high))
        low, high = np.maximum(low, ends[0]), np.minimum(high, ends[1])
        ready.append(given)
    line = Line.of((low, high), n, d_y)
    u, words = sample.y, None
    if line is not None:
        u, words = _checked(line.forward(u), sample), line.words()
    scores, errors = [], []
    for given in ready:
        values, error = _raw_scores(given, sample)
        if line is not None:
            values = _checked(line.scores(sample.y, values), sample)
            error = None if error is None else error * line.slope(sample.y)
        scores.append(values)
        errors.append(_largest(error))
    return Common(u, np.stack(scores, axis=1), tuple(errors), words, differ)


def outside_support(model: ConditionalModel, sample: Sample) -> SupportError | None:
    """Return the error that says which observations a model holds to be impossible, or None."""
    model = model.probe(sample.y_given, sample.x_given)
    if model.discrete:
        return impossible(model, sample)
    check_rows(model, sample)
    line = Line.of(_ends(model.given(sample.x_given), sample), sample.n, sample.d_y)
    try:
        if line is not None:
            line.check(sample.y, model._name)
    except SupportError as error:
        return error
    return None


def _ends(model: ConditionalModel, sample: Sample) -> tuple[FloatArray, FloatArray]:
    """Return the support at all rows, (n, d_y) each."""
    low, high = model.support(sample.x_given, sample.n, sample.d_y)
    shape = (sample.n, sample.d_y)
    try:
        return (
            np.broadcast_to(np.asarray(low, dtype=np.float64), shape),
            np.broadcast_to(np.asarray(high, dtype=np.float64), shape),
        )
    except ValueError as error:
        raise InputError(
            f"The support of the model must broadcast to {shape}, got {np.shape(low)} and "
            f"{np.shape(high)}. Check support of the model."
        ) from error
