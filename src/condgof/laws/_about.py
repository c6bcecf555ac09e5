"""What later steps may ask of any law without knowing its class."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import CondgofError, UnsupportedModelError
from condgof.laws._discrete import Probabilities, normalised
from condgof.laws._draws import RowDraws
from condgof.laws._families import Normal
from condgof.laws._known import Intervals, Quantiles
from condgof.laws._law import Joined, Law
from condgof.laws._parameters import Parametric
from condgof.sample import names_of

#: Families whose names are not those of their classes in separate words.
FAMILY_NAMES = {
    "LogNormal": "lognormal",
    "ZeroInflatedPoisson": "zero-inflated poisson",
    "ZeroInflatedNegativeBinomial": "zero-inflated negative binomial",
    "HurdlePoisson": "hurdle",
    "HurdleNegativeBinomial": "hurdle",
}
#: Of more classes than this, the largest probability alone is a prediction.
MOST_PREDICTIONS = 12


def draws_per_row(law: Law) -> int:
    """Return how many draws of y each row of a law of draws has; 0 for other laws."""
    first = law.first if isinstance(law, Joined) else law
    return int(first.values.shape[1]) if isinstance(first, RowDraws) else 0


def class_names_of(law: Law) -> tuple[str, ...]:
    """Return what y calls the classes of a discrete law, in order; none for other laws."""
    return tuple(map(str, getattr(law, "class_names", None) or ()))


def predictions(law: Law) -> FloatArray | None:
    """Return what a law predicts, (n, p): probabilities, or location and scale.

    None where it predicts nothing that is a function of x alone.
    """
    if not law.of_x:
        return None
    if isinstance(law, Probabilities):
        values = np.asarray(law.values, dtype=np.float64)
        if values.shape[1] == 2:
            return values[:, 1:]
        if values.shape[1] <= MOST_PREDICTIONS:
            return values
        return np.asarray(values.max(axis=1, keepdims=True))
    ability = next((a for a in ("location_scale", "mean_std") if law.can(a)), None)
    if ability is None:
        return None
    try:
        moments = getattr(law, ability)()
    except UnsupportedModelError:  # a library's law without moments refuses when asked
        return None
    location, scale = (np.asarray(part, dtype=np.float64) for part in moments)
    both = side_by_side(location, scale)
    if np.isfinite(both).all():
        return both
    return np.nan_to_num(both, posinf=1e300, neginf=-1e300)


def side_by_side(location: FloatArray, scale: FloatArray) -> FloatArray:
    """Return locations (n, d) and scales as columns, (n, 2d).

    Scales are (n, d), or factors of covariances (n, d, d).
    """
    if scale.ndim == 3:
        scale = np.sqrt(np.square(scale).sum(axis=2))
    if scale.shape != location.shape:
        scale = np.broadcast_to(scale, location.shape)
    return np.concatenate([location, scale], axis=1)


class Moments(NamedTuple):
    """What a law predicts of y, (n, d_y) each."""

    location: FloatArray
    scale: FloatArray


def moments_of(law: Law, ability: str = "location_scale") -> Moments | None:
    """Return location and scale, or the pair that `ability` names, if both are finite."""
    if not (law.can(ability) or law.can("mean_std")):
        return None
    try:
        moments = getattr(law, ability)()
    except CondgofError:  # a library's law without moments refuses when asked
        return None
    location, scale = (np.asarray(part, dtype=np.float64) for part in moments)
    if scale.ndim == 3:
        scale = np.sqrt(np.square(scale).sum(axis=2))
    scale = np.broadcast_to(scale, location.shape)
    if not (np.isfinite(location).all() and np.isfinite(scale).all()):
        return None
    return Moments(location=location, scale=scale)


class NamedPredictions(NamedTuple):
    """What a law predicts, to compare rows by."""

    values: AnyArray  #: (n, p).
    names: tuple[str, ...]  #: What each column is, (p,).
    are_probabilities: bool  #: Whether the columns are comparable as they are.


def named_predictions(law: Law) -> NamedPredictions:
    """Return the predictions that calibration conditions on; refuse a law without any."""
    if isinstance(law, Probabilities):
        names = tuple(f"P({name})" for name in law.classes.names)
        if len(names) == 2:  # either probability tells the other
            return NamedPredictions(law.values[:, 1:], names[1:], are_probabilities=True)
        return NamedPredictions(law.values, names, are_probabilities=True)
    if isinstance(law, RowDraws):
        raise UnsupportedModelError(
            "calibration compares y among rows of the same prediction, and draws are not"
            " functions of x alone: where they happen to be high y is low among them, and a"
            " right model would be rejected. Use adaptive on x itself."
        )
    if not (law.can("mean_std") or law.can("location_scale")):
        raise UnsupportedModelError(
            "calibration needs the model's mean and standard deviation (mean_std), and this"
            " one has neither them nor class probabilities. Use adaptive with the"
            " predictions of your choice as x."
        )
    location, scale = law.mean_std() if law.can("mean_std") else law.location_scale()
    columns = [*names_of("mean", location.shape[1]), *names_of("std", location.shape[1])]
    return NamedPredictions(
        side_by_side(location, scale), tuple(columns), are_probabilities=False
    )


class NormalParameters(NamedTuple):
    """Parameters of a normal model as a user gave them: numbers, arrays, functions of x."""

    mean: Any
    std: Any


def normal_parameters(model: object) -> NormalParameters | None:
    """Return the parameters of a normal model of independent columns; else None."""
    if type(model) is not Normal or model.std is None:
        return None
    return NormalParameters(mean=model.mean.value, std=model.std.value)


@singledispatch
def predicted_columns(law: Law, levels: Sequence[float]) -> dict[str, AnyArray]:
    """Return predictions as columns by name, (n,) each.

    Quantiles at these levels, and moments if known; of a law that is known by quantiles,
    intervals or probabilities, these.
    """
    columns = _by_level("q", levels, law.quantile(levels))
    if law.can("mean_std"):
        mean, std = law.mean_std()
        columns |= {"mean": mean[:, 0], "std": std[:, 0]}
    return columns


@predicted_columns.register
def _(law: Probabilities, levels: Sequence[float]) -> dict[str, AnyArray]:
    names = [f"p_{name}" for name in law.class_names or ()]
    return dict(zip(names, normalised(law.values).T, strict=True))


@predicted_columns.register
def _(law: Quantiles, levels: Sequence[float]) -> dict[str, AnyArray]:
    return _by_level("q", law.levels, law.values)


@predicted_columns.register
def _(law: Intervals, levels: Sequence[float]) -> dict[str, AnyArray]:
    low = _by_level("low_", law.coverage, law.low)
    high = _by_level("high_", law.coverage, law.high)
    return low | high


def _by_level(
    prefix: str, levels: Iterable[float], values: AnyArray
) -> dict[str, AnyArray]:
    """Return the columns of `values` (n, k), called by a prefix and their levels, (k,)."""
    names = [f"{prefix}{level:g}" for level in levels]
    return dict(zip(names, np.asarray(values).T, strict=True))


def family_name(law: Law) -> str:
    """Return the family of a law in closed form, in lower case: "negative binomial".

    "" for laws that are no closed form: draws, quantiles, densities.
    """
    if not isinstance(law, Parametric):
        return ""
    name = type(law).__name__
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    return FAMILY_NAMES.get(name, words)
