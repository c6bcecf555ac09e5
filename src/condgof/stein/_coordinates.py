"""In which coordinates y is compared: as it is, or standardised by the model, given x.

For any smooth invertible u = T_x(y) that is chosen without looking at y, testing p(y|x) and testing the
density that it induces on u are the same hypothesis. Scores carry over by the chain rule,

    ∇_u log p(u|x) = (∂y/∂u)ᵀ ∇_y log p(y|x) + ∇_u log |det ∂y/∂u|.

Several laws of one y are compared in coordinates that they share, so that none has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, NumericalError, ShapeError, UnsupportedModelError, check_finite
from condgof.kernels import Cells
from condgof.laws import Censored, Discrete, Law, Model, Outcomes, as_model, law_of
from condgof.laws._discrete import FULL, PLAIN, refuse_standardizing
from condgof.laws._law import check_shape
from condgof.laws._line import Line
from condgof.sample import Sample, as_numbers

#: Rows that `scores` gives to a model that works in batches.
BLOCK = 8_192
#: What a user may ask for.
STANDARDIZE = ("auto", "cdf", "marginals", "mean_std", "none")
#: What y is standardised by where some of it is censored.
CENSORED = "censored"
#: What results say of it.
STANDARDIZED_BY = {
    "cdf": "normal scores of the model's CDF",
    "marginals": "normal scores of the model's marginal CDFs",
    "mean_std": "location and scale of the model",
    CENSORED: "normal scores of the model's CDF, some of them censored",
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
    """A sample in the coordinates that kernels compare."""

    #: y, or what it was turned into, (n, d_y).
    u: FloatArray
    #: ∇_u log p(u|x), (n, d_y).
    scores: FloatArray
    #: Largest estimated error of scores that were differentiated numerically.
    error: float | None = None
    #: How y was brought from a bounded support to the whole line.
    reparametrized: str | None = None
    #: Where y is discrete: `scores` are residuals, and these say what of.
    cells: Cells | None = None
    #: What a reader should know of the observations.
    notes: tuple[str, ...] = ()
    #: From which a discrete y can be drawn anew.
    outcomes: Outcomes | None = None


def choose_coordinates(law: Law, d_y: int, standardize: Any) -> str:
    """Check what a user asked for, and return the best that the model offers for "auto"."""
    if isinstance(law, Censored):
        if standardize not in ("auto", "cdf", CENSORED):
            raise InputError(
                f"With event= y is compared by the model's CDF; standardize={standardize!r} "
                "has no meaning. Leave it out."
            )
        return CENSORED
    if law.discrete and standardize in (PLAIN, FULL):  # chosen before, for other rows
        return str(standardize)
    if not isinstance(standardize, str) or standardize not in STANDARDIZE:
        names = ", ".join(map(repr, STANDARDIZE))
        raise InputError(f"standardize must be one of {names}, got {standardize!r}.")
    if law.discrete:
        if standardize not in ("auto", "none"):
            refuse_standardizing(standardize)
        return FULL if standardize == "auto" else PLAIN
    if standardize == "none" and law.can("score"):
        return "none"  # before a density is integrated to a CDF that is not asked for
    able = {
        "cdf": law.can("normal_scores") or (law.can("cdf") and d_y == 1),
        "marginals": law.can("marginals") and law.can("score"),
        "mean_std": (law.can("location_scale") or law.can("mean_std")) and law.can("score"),
        "none": law.can("score"),
    }
    if not any(able.values()) and law.can("cdf"):
        raise UnsupportedModelError(f"{law.name} has a CDF for one column of y, and y has {d_y}.")
    # A law without a score (draws, PITs, a histogram) is compared by what it has.
    if standardize == "auto" or (standardize == "none" and not able["none"]):
        return next((name for name, can in able.items() if can), "none")
    if not able[standardize]:
        offered = ", ".join(repr(name) for name, can in able.items() if can)
        raise UnsupportedModelError(
            f"standardize={standardize!r} needs more than {law.name} offers for "
            f"d_y = {d_y}. It can take: {offered}."
        )
    return standardize


def coordinates_of(law: Law, sample: Sample, by: str) -> Coordinates:
    """Turn a sample into the coordinates of `choose_coordinates`, with scores.

    This is the one place where a Stein test touches the law. A bounded support is brought to the
    whole line first; normal scores are there by themselves.
    """
    if by in (PLAIN, FULL):
        return _discrete(law, sample, by)
    line = line_of(law, sample)
    if isinstance(law, Censored):
        u = checked(law.normal_scores(sample.y_given), sample)
        return Coordinates(u, law.watched(u))
    if by == "cdf":
        u = checked(law.normal_scores(sample.y_given), sample)
        return Coordinates(u, -u)  # a standard normal u has the score −u
    scores, errors = raw_scores(law, sample)
    if by == "marginals":
        u, slope, own = law.marginals(sample.y_given)
        u = checked(u, sample)
        return Coordinates(u, checked((scores - own) / slope - u, sample), largest(errors))
    u, words = sample.y, None
    if line is not None:
        u, words = checked(line.forward(u), sample), line.words()
        scores = checked(line.scores(sample.y, scores), sample)
        errors = None if errors is None else errors * line.slope(sample.y)
    if by == "mean_std":
        location, scale = map(np.asarray, law.location_scale())
        _check_location_scale(location, scale, sample)
        if line is not None:
            location, scale = line.place(location, scale)
        u, scores = _affine(u, scores, location, scale, sample)
    return Coordinates(u, scores, largest(errors), words)


def _discrete(law: Law, sample: Sample, by: str) -> Coordinates:
    """Return the residuals of a discrete y."""
    assert isinstance(law, Discrete)
    seen = law.residuals(sample.y_given, by)
    notes = law.remarks(sample.y_given)
    return Coordinates(seen.u, seen.values, cells=law.cells(by), notes=notes, outcomes=seen.outcomes)


def numbered(law: Law, sample: Sample) -> Sample:
    """Return the sample with a discrete y as the numbers that its law has for it."""
    return sample.with_numbers(law.numbers(sample.y_given)) if isinstance(law, Discrete) else sample


def scores_of(law: Law, sample: Sample) -> FloatArray:
    """Return the scores of y itself, checked, (n, d_y)."""
    line_of(law, sample)
    return raw_scores(law, sample)[0]


def line_of(law: Law, sample: Sample) -> Line | None:
    """Return the way from the law's support to the whole line; refuse what lies outside."""
    line = Line.of(law.support, sample.n, sample.d_y)
    if line is not None:
        line.check(sample.y, law.name)
    return line


def raw_scores(law: Law, sample: Sample) -> tuple[FloatArray, AnyArray | None]:
    if not law.can("score"):
        law.lacks("score")
    raw, errors = law.score_and_error(sample.y_given)
    scores = check_shape(raw, sample.n, sample.d_y, "The scores")
    check_finite(
        scores,
        "The array of scores ∇_y log p(y|x)",
        "Check that the model's density is positive and smooth at those rows; a model of a bounded "
        "y must say so (support=).",
    )
    return scores, None if errors is None else np.reshape(errors, scores.shape)


def largest(errors: AnyArray | None) -> float | None:
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
        return checked(centred / scale, sample), scale * scores
    u = np.linalg.solve(scale, centred[:, :, None])[:, :, 0]
    return checked(u, sample), np.einsum("nij,ni->nj", scale, scores)


def checked(values: AnyArray, sample: Sample) -> FloatArray:
    u = np.asarray(as_numbers(values, "What standardises y"), dtype=np.float64)
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


def scores(model: Any, x: Any, y: Any) -> FloatArray:
    """Scores ∇_y log p(y|x) of a sample, which are all that the Stein tests see of a model.

    They are those of y itself. Where the model's support is bounded, the tests turn them into the scores
    of log(y − low) and its like; an observation outside the support is an error here as there.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model.
    x : array_like or frame of shape (n,) or (n, d_x)
        Covariates.
    y : array_like or frame of shape (n,) or (n, d_y)
        Responses.

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
    arrays = isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and len(x) == len(y)
    if arrays and isinstance(model, Model) and model.batched and len(y) > BLOCK:
        try:
            return _scores_in_blocks(model, x, y)
        except InputError:
            pass  # said below, for all rows together
    sample = Sample.of(x, y, to_test=False)
    return scores_of(law_of(model, sample), sample)


def _scores_in_blocks(model: Model, x: AnyArray, y: AnyArray) -> FloatArray:
    """Score block by block: a sample copies its x and y, which would outweigh a network's batches."""
    out = np.empty((len(y), 1 if y.ndim == 1 else y.shape[1]))
    for start in range(0, len(y), BLOCK):
        part = slice(start, start + BLOCK)
        sample = Sample.of(x[part], y[part], to_test=False)
        out[part] = scores_of(law_of(model, sample), sample)
    return out


@dataclass(frozen=True, eq=False)
class Common:
    """A sample on the ground that K laws share."""

    #: y, or where it lies on the whole line, (n, d_y).
    u: FloatArray
    #: ∇_u log p(u|x) of each law, (n, d_y).
    scores: tuple[FloatArray, ...]
    #: Largest estimated error of scores that were differentiated numerically, for each law.
    errors: tuple[float | None, ...]
    #: How y was brought from a bounded support to the whole line.
    reparametrized: str | None = None
    #: Whether the supports of the laws differ.
    differ: bool = False


def common_coordinates(laws: Sequence[Law], sample: Sample) -> Common:
    """Score a sample with several laws of a continuous y, on one line for all of them.

    Where supports are bounded, y is brought to the line from their intersection: on it every model has
    the scores that it has (a density is known to a Stein test up to a constant). An observation outside
    any of the supports is a `SupportError`.
    """
    n, d_y = sample.n, sample.d_y
    low, high, differ = np.full((n, d_y), -np.inf), np.full((n, d_y), np.inf), False
    for number, law in enumerate(laws):
        own = line_of(law, sample) or Line(np.full((n, d_y), -np.inf), np.full((n, d_y), np.inf))
        differ |= number > 0 and not (np.array_equal(own.low, low) and np.array_equal(own.high, high))
        low, high = np.maximum(low, own.low), np.minimum(high, own.high)
    line = Line.of((low, high), n, d_y)
    found = [raw_scores(law, sample) for law in laws]
    if line is None:
        errors = tuple(largest(error) for _, error in found)
        return Common(sample.y, tuple(scores for scores, _ in found), errors)
    slope = line.slope(sample.y)
    return Common(
        checked(line.forward(sample.y), sample),
        tuple(checked(line.scores(sample.y, scores), sample) for scores, _ in found),
        tuple(None if error is None else largest(error * slope) for _, error in found),
        line.words(),
        differ,
    )
