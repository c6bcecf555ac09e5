"""Stein scores of a sample, and what results call predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from condgof import errors
from condgof._typing import FloatArray
from condgof.laws import Model, as_model, law_of
from condgof.residuals import line_of, raw_scores
from condgof.sample import Sample

#: Rows that `scores` gives to a network at a time.
NETWORK_ROWS = 8192


def scores(model: object, x: Any, y: Any) -> FloatArray:
    """Scores ∇_y log p(y|x) of a sample, which are all that the Stein tests see of a model.

    They are those of y itself, which the tests turn into those of log(y − low) and its like
    where the model's support is bounded. An observation outside the support is an error.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample.

    Returns
    -------
    ndarray of shape (n, d_y)

    Examples
    --------
    >>> import condgof as cg
    >>> x, y = np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, 0.0])
    >>> cg.scores(cg.models.Normal(mean=lambda x: x, std=1.0), x, y)[:, 0]
    array([-1., -0.,  2.])
    """
    model = as_model(model)

    def scores_of(x: Any, y: Any) -> FloatArray:
        sample = Sample.from_data(x, y, to_test=False)
        law = law_of(model, sample)
        line_of(law, sample)  # refuses y outside the support
        return raw_scores(law, sample).values

    arrays = isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and len(x) == len(y)
    if arrays and isinstance(model, Model) and model.batched and len(y) > NETWORK_ROWS:
        # In blocks: a sample copies its x and y, which would outweigh a network's batches.
        cuts = [
            slice(start, start + NETWORK_ROWS) for start in range(0, len(y), NETWORK_ROWS)
        ]
        try:
            return np.concatenate([scores_of(x[rows], y[rows]) for rows in cuts])
        except errors.InputError:
            pass  # raised below, for all rows together
    return scores_of(x, y)


def prediction_name(number: int, count: int, d_y: int) -> str:
    """Return what a result calls one of `count` predictions of d_y columns of y."""
    if count != 2 * d_y:
        return (
            f"predicted probability {number + 1}" if count > 1 else "predicted probability"
        )
    quantity = "location" if number < d_y else "scale"
    if d_y == 1:
        return f"predicted {quantity}"
    return f"predicted {quantity} of y{number % d_y + 1}"
