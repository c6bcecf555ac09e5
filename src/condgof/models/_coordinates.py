"""In which coordinates y is compared: as it is, or standardised by the model, given x.

For any smooth invertible u = T_x(y) that is chosen without looking at y, testing p(y|x) and testing the
density that it induces on u are the same hypothesis. Scores carry over by the chain rule,

    ∇_u log p(u|x) = (∂y/∂u)ᵀ ∇_y log p(y|x) + ∇_u log |det ∂y/∂u|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, NumericalError, ShapeError, UnsupportedModelError
from condgof.models._base import ConditionalModel, check_rows, scores_of
from condgof.sample import Sample

#: What a user may ask for.
STANDARDIZE = ("auto", "cdf", "marginals", "mean_std", "none")
#: What results say of it.
STANDARDIZED_BY = {
    "cdf": "normal scores of the model's CDF",
    "marginals": "normal scores of the model's marginal CDFs",
    "mean_std": "location and scale of the model",
    "none": "it is",
}
BLIND = (
    "y was not standardised by a CDF of the model: modes of y that lie far apart are compared by shape "
    "and place but not by weight"
)


@dataclass(frozen=True, eq=False)
class Coordinates:
    """A sample in the coordinates that kernels compare.

    Parameters
    ----------
    u : ndarray of shape (n, d_y)
        y, or what it was turned into.
    scores : ndarray of shape (n, d_y)
        ∇_u log p(u|x).
    error : float, optional
        Largest estimated error of scores that were differentiated numerically.
    """

    u: FloatArray
    scores: FloatArray
    error: float | None = None


def choose_coordinates(model: ConditionalModel, d_y: int, standardize: Any) -> str:
    """Check what a user asked for, and return the best that the model offers for "auto".

    Parameters
    ----------
    model : ConditionalModel
        The model.
    d_y : int
        Number of columns of y.
    standardize : str
        One of `STANDARDIZE`.
    """
    if not isinstance(standardize, str) or standardize not in STANDARDIZE:
        names = ", ".join(map(repr, STANDARDIZE))
        raise InputError(f"standardize must be one of {names}, got {standardize!r}.")
    able = {
        "cdf": model.can("normal_scores") or (model.can("cdf") and d_y == 1),
        "marginals": model.can("marginals") and model.can("score"),
        "mean_std": (model.can("location_scale") or model.can("mean_std")) and model.can("score"),
        "none": True,
    }
    if standardize == "auto":
        return next(name for name, can in able.items() if can)
    if not able[standardize]:
        offered = ", ".join(repr(name) for name, can in able.items() if can)
        raise UnsupportedModelError(
            f"standardize={standardize!r} needs more than {type(model).__name__} offers for "
            f"d_y = {d_y}. It can take: {offered}."
        )
    return standardize


def coordinates_of(model: ConditionalModel, sample: Sample, by: str) -> Coordinates:
    """Turn a sample into the coordinates of `choose_coordinates`, with scores."""
    if by == "none":
        scores, error = scores_of(model, sample)
        return Coordinates(sample.y, scores, error)
    check_rows(model, sample)
    if by == "cdf":
        u = _checked(model.normal_scores(sample.y_given, sample.x_given), sample)
        return Coordinates(u, -u)  # a standard normal u has the score −u
    scores, error = scores_of(model, sample)
    if by == "marginals":
        u, slope, own = model.marginals(sample.y_given, sample.x_given)
        return Coordinates(_checked(u, sample), _checked((scores - own) / slope - u, sample), error)
    location, scale = map(np.asarray, model.location_scale(sample.x_given, sample.n))
    _check_location_scale(location, scale, sample)
    return Coordinates(*_affine(sample.y, scores, location, scale, sample), error)


def _check_location_scale(location: FloatArray, scale: FloatArray, sample: Sample) -> None:
    """Refuse shapes that would be broadcast to something else, such as (n,) against (n, 1)."""
    n, d_y = sample.y.shape
    # One column for all: what closed forms return that have numbers as parameters.
    columns = [(n, d_y), (n, 1)]
    if location.shape not in columns or scale.shape not in [*columns, (n, d_y, d_y)]:
        raise ShapeError(
            f"The model's location and scale must have shapes {(n, d_y)} and {(n, d_y)} or "
            f"{(n, d_y, d_y)}, got {location.shape} and {scale.shape}. Check mean_std of the model."
        )


def _affine(
    y: FloatArray, scores: FloatArray, location: FloatArray, scale: FloatArray, sample: Sample
) -> tuple[FloatArray, FloatArray]:
    """U = L⁻¹(y − location) with scores Lᵀs, for a scale L that is diagonal or triangular."""
    centred = y - location
    if scale.ndim == 2:
        return _checked(centred / scale, sample), scale * scores
    u = np.linalg.solve(scale, centred[:, :, None])[:, :, 0]
    return _checked(u, sample), np.einsum("nij,ni->nj", scale, scores)


def _checked(values: AnyArray, sample: Sample) -> FloatArray:
    u = np.asarray(values, dtype=np.float64)
    if u.shape != sample.y.shape:
        raise NumericalError(
            f"Standardising y gave shape {u.shape} in place of {sample.y.shape}. Check the model."
        )
    bad = np.flatnonzero(~np.isfinite(u).all(axis=1))
    if len(bad):
        raise NumericalError(
            f"Standardising y by the model failed in {len(bad)} of {len(u)} rows, the first in row "
            f"{bad[0]} (counted from 0). Check the model there, or pass standardize='none'."
        )
    return u
