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
from condgof.errors import InputError, NumericalError, ShapeError, UnsupportedModelError, check_finite
from condgof.kernels import Cells
from condgof.models._base import ConditionalModel, check_rows, check_scores
from condgof.models._discrete import FULL, PLAIN, DiscreteModel, refuse_standardizing
from condgof.models._residuals import Law
from condgof.models._support import Line
from condgof.sample import Sample

#: What a user may ask for.
STANDARDIZE = ("auto", "cdf", "marginals", "mean_std", "none")
#: What results say of it.
STANDARDIZED_BY = {
    "cdf": "normal scores of the model's CDF",
    "marginals": "normal scores of the model's marginal CDFs",
    "mean_std": "location and scale of the model",
    "none": "it is",
    PLAIN: "it is",
    FULL: "the model has it",
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
    reparametrized : str, optional
        How y was brought from a bounded support to the whole line.
    cells : Cells, optional
        Where y is discrete: `scores` are residuals, and these say what of.
    notes : tuple of str
        What a reader should know of the observations.
    law : Law, optional
        From which a discrete y can be drawn anew.
    """

    u: FloatArray
    scores: FloatArray
    error: float | None = None
    reparametrized: str | None = None
    cells: Cells | None = None
    notes: tuple[str, ...] = ()
    law: Law | None = None


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
    if model.discrete and standardize in (PLAIN, FULL):  # chosen before, for other rows
        return str(standardize)
    if not isinstance(standardize, str) or standardize not in STANDARDIZE:
        names = ", ".join(map(repr, STANDARDIZE))
        raise InputError(f"standardize must be one of {names}, got {standardize!r}.")
    if model.discrete:
        if standardize not in ("auto", "none"):
            refuse_standardizing(standardize)
        return FULL if standardize == "auto" else PLAIN
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
    """Turn a sample into the coordinates of `choose_coordinates`, with scores.

    This is the one place where a Stein test touches the model. A bounded support is brought to the
    whole line first; normal scores are there by themselves.
    """
    check_rows(model, sample)
    model = model.given(sample.x_given)
    if by in (PLAIN, FULL):
        return _discrete(model, sample, by)
    line = _line(model, sample)
    if by == "cdf":
        u = _checked(model.normal_scores(sample.y_given, sample.x_given), sample)
        return Coordinates(u, -u)  # a standard normal u has the score −u
    scores, errors = _raw_scores(model, sample)
    if by == "marginals":
        u, slope, own = model.marginals(sample.y_given, sample.x_given)
        u = _checked(u, sample)
        return Coordinates(u, _checked((scores - own) / slope - u, sample), _largest(errors))
    u, words = sample.y, None
    if line is not None:
        u, words = _checked(line.forward(u), sample), line.words()
        scores = _checked(line.scores(sample.y, scores), sample)
        errors = None if errors is None else errors * line.slope(sample.y)
    if by == "mean_std":
        location, scale = map(np.asarray, model.location_scale(sample.x_given, sample.n))
        _check_location_scale(location, scale, sample)
        if line is not None:
            location, scale = line.place(location, scale)
        u, scores = _affine(u, scores, location, scale, sample)
    return Coordinates(u, scores, _largest(errors), words)


def _discrete(model: ConditionalModel, sample: Sample, by: str) -> Coordinates:
    """Return the residuals of a discrete y."""
    assert isinstance(model, DiscreteModel)
    seen = model.residuals(sample.y_given, sample.x_given, by)
    notes = model.remarks(sample.y_given, sample.x_given)
    return Coordinates(seen.u, seen.values, cells=model.cells(by), notes=notes, law=seen.law)


def numbered(model: ConditionalModel, sample: Sample) -> Sample:
    """Return the sample with a discrete y as the numbers that its model has for it."""
    if not model.discrete:
        return sample
    check_rows(model, sample)
    own = model.given(sample.x_given)
    assert isinstance(own, DiscreteModel)
    return sample.with_numbers(own.numbers(sample.y_given, sample.x_given))


def scores_of(model: ConditionalModel, sample: Sample) -> FloatArray:
    """Return the scores of y itself, checked, (n, d_y)."""
    check_rows(model, sample)
    model = model.given(sample.x_given)
    _line(model, sample)
    return _raw_scores(model, sample)[0]


def _line(model: ConditionalModel, sample: Sample) -> Line | None:
    """Return the way from the model's support to the whole line; refuse what lies outside."""
    line = Line.of(model.support(sample.x_given, sample.n, sample.d_y), sample.n, sample.d_y)
    if line is not None:
        line.check(sample.y, model._name)
    return line


def _raw_scores(model: ConditionalModel, sample: Sample) -> tuple[FloatArray, AnyArray | None]:
    if not model.can("score"):
        model._lacks("score")
    raw, errors = model.score_and_error(sample.y_given, sample.x_given)
    scores = check_scores(raw, sample.n, sample.d_y)
    check_finite(
        scores,
        "The array of scores ∇_y log p(y|x)",
        "Check that the model's density is positive and smooth at those rows; a model of a bounded "
        "y must say so (support=).",
    )
    return scores, None if errors is None else np.reshape(errors, scores.shape)


def _largest(errors: AnyArray | None) -> float | None:
    return None if errors is None else float(np.max(errors))


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
