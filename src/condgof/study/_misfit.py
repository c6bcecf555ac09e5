"""A user's own model with a misfit of known size: what could a test have seen?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError, InputTypeError, ShapeError, UnsupportedModelError
from condgof.laws._as_model import as_model
from condgof.laws._law import ModelLike
from condgof.sample import take_rows
from condgof.study._names import Reference, unknown

#: Each misfit, with the size at which there is none, and its title.
MISFITS = {
    "shift": (0.0, "shift by {:g} sd"),
    "scale": (1.0, "{:g} times the spread"),
    "tilt": (0.0, "tilt by {:g} sd"),
    "outliers": (0.0, "{:g}% outliers"),
}


@dataclass(frozen=True, eq=False)
class MisfitProblem:
    """A model, the user's own x, and y drawn from the model and then distorted; see `misfit_of`."""

    name: str
    title: str
    model: Any
    x: Any
    misfit: str
    size: float

    @property
    def h0(self) -> bool:
        """Whether the model is true: the misfit has no size."""
        return self.size == MISFITS[self.misfit][0]

    def trial(self, n: int, rng: np.random.Generator) -> tuple[ModelLike, Any, FloatArray]:
        """Return the model and a sample: n rows of x, drawn with replacement, and distorted y."""
        model = _model_of(self.model)
        rows = rng.integers(len(self.x), size=n)
        model, x = model.take(rows), take_rows(self.x, rows)
        if hasattr(x, "reset_index"):
            x = x.reset_index(drop=True)  # rows that were drawn twice would share a label
        law = model(x)
        y = np.asarray(law.sample(rng), dtype=np.float64).reshape(n, -1)
        if self.h0:
            return model, x, y
        mean, std = (np.asarray(part, dtype=np.float64).reshape(n, -1) for part in law.mean_std())
        away = y - mean
        if self.misfit == "shift":
            away += self.size * std
        elif self.misfit == "scale":
            away *= self.size
        elif self.misfit == "tilt":
            column = _first_column(self.x)
            away += self.size * std * ((column[rows] - column.mean()) / (column.std() or 1.0))[:, None]
        else:
            away = np.where(rng.random((n, 1)) < self.size, 5.0 * away, away)
        return model, x, mean + away


def misfit_of(model: Any, x: Any, misfit: str, size: float, *, name: str | None = None) -> MisfitProblem:
    """Make a problem of a fitted model: with n rows, what misfit could I have seen?

    A trial draws n rows of x (with replacement), y from the model, and distorts y.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        It must be able to `sample`, and have `mean_std` for a misfit; ``(mean, std)`` of rows will do.
    x : array_like or frame of shape (n,) or (n, d_x)
        The user's own x.
    misfit : {"shift", "scale", "tilt", "outliers"}
        ``shift``: y is `size` model standard deviations too high. ``scale``: the spread is `size` times
        the model's. ``tilt``: y moves by `size` model standard deviations for each standard deviation of
        the first column of x. ``outliers``: a share `size` of the rows is five times as far from the
        mean.
    size : float
        How large; 0 (or a ratio of 1) leaves the model true, which shows the level of a test.
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
        raise unknown("misfit", misfit, MISFITS)
    if isinstance(size, bool) or not isinstance(size, (int, float, np.number)) or not np.isfinite(size):
        raise InputTypeError(f"The size of a misfit must be a number, got {size!r}.")
    size = float(size)
    if misfit == "scale" and size <= 0:
        raise InputError(f"scale is a ratio of spreads and must be above 0, got {size:g}.")
    if misfit == "outliers" and not 0 <= size <= 1:
        raise InputError(f"outliers is a share of the rows, between 0 and 1, got {size:g}.")
    x = x if hasattr(x, "columns") else np.asarray(x)
    none, words = MISFITS[misfit]
    title = "no misfit" if size == none else words.format(100 * size if misfit == "outliers" else size)
    case = MisfitProblem(name or f"{misfit}={size:g}", title, model, x, misfit, size)
    made = _model_of(model)
    if len(x) == 0:
        raise ShapeError("x has no rows to draw from.")
    if made.rows is not None and made.rows != len(x):
        raise ShapeError(f"The model has predictions for {made.rows} rows and x has {len(x)}.")
    if misfit == "tilt" and not case.h0:
        _first_column(x)
    law = made(x)
    if law.discrete and not case.h0:
        raise UnsupportedModelError(
            f"A misfit moves y by parts of a standard deviation, and y of {law.name} is "
            "discrete. Pass a size without misfit, or a problem of your own."
        )
    needed = ("sample",) if case.h0 else ("sample", "mean_std")
    if lacking := [ability for ability in needed if not law.can(ability)]:
        raise UnsupportedModelError(
            f"{law.name} has no {' and no '.join(lacking)}: y is drawn from the model, and "
            "a misfit is measured in its standard deviations. Give the model a distribution, such as "
            "condgof.models.Normal or the predictions (mean, std)."
        )
    return case


def _model_of(model: Any) -> ModelLike:
    return as_model(model.made() if isinstance(model, Reference) else model)


def _first_column(x: Any) -> FloatArray:
    frame = hasattr(x, "columns")
    first = x[next(iter(x.columns))] if frame else np.asarray(x).reshape(len(x), -1)[:, 0]
    try:
        return np.asarray(first, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputTypeError("tilt needs numbers in the first column of x.") from error
