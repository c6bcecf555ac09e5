"""The model that `--model` names: importing it, and giving it x in the form it expects."""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from condgof._typing import AnyArray, IntArray
from condgof.cli.check._frame import Frame
from condgof.errors import InputError, InputTypeError, require
from condgof.kernels import Cells
from condgof.models import ConditionalModel, DiscreteModel, Probabilities, as_model
from condgof.study import Reference

FORMS = ("auto", "frame", "array")


def load_model(address: str, form: str, x_names: tuple[str, ...], d_y: int) -> ConditionalModel:
    """Import a model.

    Parameters
    ----------
    address : str
        ``package.module:name`` or ``path/to/file.py:name``. A function without arguments is called.
    form : {"auto", "frame", "array"}
        How the model gets x: as a pandas frame with the columns' names, or as an array (n, d_x); "auto"
        is a frame where pandas is installed.
    x_names : tuple of str
        The columns of x.
    d_y : int
        Number of columns of y; with one, the model gets y as (n,).
    """
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)  # users' modules are where they are
    reference = Reference(address)
    value = reference.load()
    if inspect.isfunction(value) and not _required(value):
        value = reference.made()
    model = as_model(value)
    if model.rows is not None:
        return model
    return given(model, XForm(_form(form), x_names), flat_y=d_y == 1)


def _required(function: Callable[..., Any]) -> bool:
    """Whether a function must be given something."""
    kinds = inspect.Parameter
    return any(
        p.default is p.empty and p.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
        for p in inspect.signature(function).parameters.values()
    )


def _form(asked: str) -> str:
    if asked == "auto":
        try:
            import pandas  # noqa: F401
        except ImportError:
            return "array"
        return "frame"
    if asked == "frame":
        require("pandas", "frames", "--model-x frame")
    return asked


@dataclass(frozen=True)
class XForm:
    """Turns x into what the model expects."""

    form: str
    names: tuple[str, ...]

    def __call__(self, x: Any) -> Any:
        if self.form == "frame":
            import pandas as pd

            if isinstance(x, Frame):
                return pd.DataFrame({name: np.array(values) for name, values in x.data.items()})
            return pd.DataFrame(np.array(x), columns=list(self.names))
        if not isinstance(x, Frame):
            return np.array(x)
        text = [name for name, values in x.data.items() if values.dtype.kind == "O"]
        if text:
            raise InputTypeError(
                f"Column {text[0]!r} of x holds text, and the model gets x as an array of numbers. "
                "Install pandas (pip install 'condgof[frames]') for --model-x frame, or leave it out."
            )
        return x.numbers()


def _of_y_and_x(name: str) -> Any:
    def method(self: Given, y: AnyArray, x: Any) -> Any:
        return getattr(self.model, name)(self._y(y), self.form(x))

    return method


def _discretely(name: str) -> Any:
    def method(self: Given, y: AnyArray, x: Any, *rest: Any) -> Any:
        return getattr(self.model, name)(self._y(y), self.form(x), *rest)

    return method


def _of_x(name: str) -> Any:
    def method(self: Given, x: Any, *rest: Any, **options: Any) -> Any:
        return getattr(self.model, name)(self.form(x), *rest, **options)

    return method


@dataclass(frozen=True, eq=False)
class Given(ConditionalModel):
    """A functional model that gets x and y in the form it expects, read whole or streamed.

    Parameters
    ----------
    model : ConditionalModel
        The model.
    form : XForm
        How it gets x.
    flat_y : bool
        Whether it gets y as (n,).
    """

    model: ConditionalModel
    form: XForm
    flat_y: bool

    score = _of_y_and_x("score")
    score_and_error = _of_y_and_x("score_and_error")
    log_prob = _of_y_and_x("log_prob")
    cdf = _of_y_and_x("cdf")
    sf = _of_y_and_x("sf")
    normal_scores = _of_y_and_x("normal_scores")
    marginals = _of_y_and_x("marginals")
    location_scale = _of_x("location_scale")
    mean_std = _of_x("mean_std")
    sample = _of_x("sample")
    support = _of_x("support")

    @property
    def notes(self) -> tuple[str, ...]:
        """What the model says of itself."""
        return self.model.notes

    @property
    def _name(self) -> str:
        """What messages call the model."""
        return self.model._name

    def can(self, ability: str) -> bool:
        """Whether the model has an ability."""
        return self.model.can(ability)

    def cdf_grid(self, values: AnyArray, x: Any, n: int | None = None) -> Any:
        """Return P(Y ≤ v | x) for each row of x and each of m values."""
        return self.model.cdf_grid(self._y(values), self.form(x), n)

    def given(self, x: Any) -> ConditionalModel:
        """Return the model of these rows of x."""
        own = self.model.given(self.form(x))
        if isinstance(own, Probabilities):  # asks for x no more
            return own
        return given(own, self.form, self.flat_y)

    def probe(self, y: AnyArray, x: Any) -> ConditionalModel:
        """Return the model knowing what it can do."""
        return given(self.model.probe(self._y(y), self.form(x)), self.form, self.flat_y)

    def take(self, rows: IntArray) -> ConditionalModel:
        """Return the model of some rows."""
        return given(self.model.take(rows), self.form, self.flat_y)

    @property
    def rows(self) -> int | None:
        """Number of rows the model is bound to: some, once it is `given` its x."""
        return self.model.rows

    def _y(self, y: AnyArray) -> AnyArray:
        y = np.asarray(y)
        return y[:, 0] if self.flat_y and y.ndim == 2 and y.shape[1] == 1 else y


class DiscreteGiven(Given, DiscreteModel):
    """The same for a discrete y."""

    residuals = _discretely("residuals")
    numbers = _discretely("numbers")
    remarks = _discretely("remarks")

    def cells(self, by: str) -> Cells:
        """Return what the columns of the residuals are of."""
        return self._own.cells(by)

    def class_names(self, x: Any) -> tuple[str, ...] | None:
        """Return what y calls the classes."""
        return self._own.class_names(self.form(x))

    @property
    def _own(self) -> DiscreteModel:
        assert isinstance(self.model, DiscreteModel)
        return self.model


def given(model: ConditionalModel, form: XForm, flat_y: bool) -> Given:
    """Wrap a model, as what it is."""
    return (DiscreteGiven if model.discrete else Given)(model, form, flat_y)


#: Packages whose failures are not the model's.
OURS = ("condgof", "numpy", "scipy", "pyarrow", "typer", "click", "rich", "threadpoolctl")


def blame_model(error: Exception, address: str) -> InputError | None:
    """Return the error of a user's model that failed, or None where the model had no part in it."""
    files = (getattr(sys.modules.get(name), "__file__", None) for name in OURS)
    ours = {Path(file).parent for file in files if file}
    library = Path(os.__file__).parent
    for frame in traceback.extract_tb(error.__traceback__):
        path = Path(frame.filename)
        standard = library in path.parents and not {"site-packages", "dist-packages"} & set(path.parts)
        if path.exists() and not standard and not ours & set(path.parents):
            return InputError(
                f"The model {address!r} failed ({path.name}, line {frame.lineno}): "
                f"{type(error).__name__}: {error}. (--model-x says in what form it gets x.)"
            )
    return None
