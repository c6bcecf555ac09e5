"""A user's own model with a misfit of a known size, as a problem for a study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import ShapeError, UnsupportedModelError, check_number
from condgof.laws import ModelLike, as_model
from condgof.models import Law
from condgof.sample import take_rows
from condgof.study._names import Reference, unknown_name
from condgof.study._problem import TrialData


@dataclass(frozen=True)
class Misfit:
    """A way to distort y, whose size says how much."""

    #: The size at which y is not distorted.
    no_misfit: float
    #: Title of a problem, with a place for the size.
    title: str
    #: Sizes must be above this number.
    above: float
    #: Which sizes there are, as a message says it.
    wanted: str
    #: (y − mean, std, size) → the distorted y − mean, all (n, d_y).
    distort: Callable[[FloatArray, FloatArray, float], FloatArray]


def _shift(residuals: FloatArray, std: FloatArray, size: float) -> FloatArray:
    return residuals + size * std


def _scale(residuals: FloatArray, std: FloatArray, size: float) -> FloatArray:
    return residuals * size


#: Name → misfit.
MISFITS = {
    "shift": Misfit(
        no_misfit=0.0,
        title="shift by {:g} sd",
        above=-np.inf,
        wanted="a number",
        distort=_shift,
    ),
    "scale": Misfit(
        no_misfit=1.0,
        title="{:g} times the spread",
        above=0.0,
        wanted="above 0, a ratio of spreads",
        distort=_scale,
    ),
}


@dataclass(frozen=True, eq=False)
class MisfitProblem:
    """A model, the user's own x, and y drawn from the model and then distorted.

    Made by `misfit_of`.
    """

    name: str
    title: str
    #: A model, whatever `as_model` takes, or a `Reference` to one.
    model: Any
    #: The rows of x that trials draw from: an array (n, d_x) or a frame.
    x: Any
    #: One of `MISFITS`.
    misfit: str
    size: float

    @property
    def h0(self) -> bool:
        """Whether the model is true: the misfit has no size."""
        return self.size == MISFITS[self.misfit].no_misfit

    def trial(self, n: int, rng: np.random.Generator) -> TrialData:
        """Return the model and n rows of x, drawn with replacement, with distorted y."""
        rows = rng.integers(len(self.x), size=n)
        model = _load_model(self.model).take(rows)
        x = take_rows(self.x, rows)
        if hasattr(x, "reset_index"):
            x = x.reset_index(drop=True)  # rows that were drawn twice would share a label
        law = model(x)
        y = np.asarray(law.sample(rng), dtype=np.float64).reshape(n, -1)
        return TrialData(model=model, x=x, y=y if self.h0 else self._distorted(y, law))

    def _distorted(self, y: FloatArray, law: Law) -> FloatArray:
        """Distort y (n, d_y), which was drawn from the law."""
        mean, std = law.mean_std()
        mean = np.asarray(mean, dtype=np.float64).reshape(len(y), -1)
        std = np.asarray(std, dtype=np.float64).reshape(len(y), -1)
        return mean + MISFITS[self.misfit].distort(y - mean, std, self.size)


def misfit_of(
    model: object, x: Any, misfit: str, size: float, *, name: str | None = None
) -> MisfitProblem:
    """Make a problem of a fitted model: with n rows, what misfit could I have seen?

    A trial draws n rows of x (with replacement), y from the model, and distorts y.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        It must be able to `sample`, and have `mean_std` for a misfit; ``(mean, std)`` of
        rows will do.
    x : array_like or frame of shape (n,) or (n, d_x)
        The user's own x.
    misfit : {"shift", "scale"}
        ``shift``: y is `size` model standard deviations too high. ``scale``: the spread is
        `size` times the model's.
    size : float
        How large; 0 (or a ratio of 1) leaves the model true, which shows the level of a
        test.
    name : str, optional
        The problem's name, such as ``shift=0.2`` unless given.

    Examples
    --------
    >>> import condgof as cg
    >>> x = np.linspace(-1, 1, 50)
    >>> case = misfit_of(cg.models.Normal(mean=lambda x: x, std=1.0), x, "shift", 0.5)
    >>> case.name, case.h0
    ('shift=0.5', False)
    """
    if misfit not in MISFITS:
        raise unknown_name("misfit", misfit, MISFITS)
    kind = MISFITS[misfit]
    size = check_number(
        size, "size", kind.wanted, lambda value: kind.above < value < np.inf
    )
    x = x if hasattr(x, "columns") else np.asarray(x)
    case = MisfitProblem(
        name=name or f"{misfit}={size:g}",
        title="no misfit" if size == kind.no_misfit else kind.title.format(size),
        model=model,
        x=x,
        misfit=misfit,
        size=size,
    )
    if len(x) == 0:
        raise ShapeError("x has no rows to draw from.")
    _check_law(_load_model(model)(x), distorted=not case.h0)
    return case


def _check_law(law: Law, *, distorted: bool) -> None:
    """Refuse a law that y cannot be drawn from, or cannot be distorted by."""
    needed = ("sample", "mean_std") if distorted else ("sample",)
    lacking = [ability for ability in needed if not law.can(ability)]
    if distorted and law.discrete:
        lacking.append("continuous y")
    if lacking:
        raise UnsupportedModelError(
            f"{law.name} has no {' and no '.join(lacking)}: y is drawn from the model, and"
            " a misfit is measured in its standard deviations. Give the model a"
            " distribution, such as condgof.models.Normal or the predictions (mean, std),"
            " or pass a size without misfit."
        )


def _load_model(model: object) -> ModelLike:
    return as_model(model.resolve() if isinstance(model, Reference) else model)
