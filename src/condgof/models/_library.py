"""What adapters of libraries share: asking for a prediction at x, and checking it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import CondgofError, InputError, ShapeError
from condgof.models._base import ConditionalModel
from condgof.models._delegate import Delegate
from condgof.sample import is_frame


class Fitted(Delegate):
    """A fitted object of another library: its prediction at x says which closed form y has there.

    A subclass writes one method, `at`. Every question is handed on to the model that it returns, and
    nothing is kept between questions.
    """

    def at(self, x: Any, n: int) -> ConditionalModel:
        """Return the model of y at the n rows of x, bound to those rows."""
        raise NotImplementedError

    def given(self, x: Any) -> ConditionalModel:
        """Predict once, for all that is asked about these rows."""
        return self._model(x)

    def can(self, ability: str) -> bool:
        """Whether the model has an ability; a prediction tells more."""
        return ability != "marginals"

    def _model(self, x: Any) -> ConditionalModel:
        if x is None:
            raise InputError(
                "A fitted regressor predicts y from x, and there is no x. Use a test of a conditional "
                "model: condgof.adaptive, kcsd or fscd."
            )
        return self.at(x, len(x))


def as_table(x: Any) -> Any:
    """Return x with columns, as libraries want it: frames as they are, (n,) as (n, 1).

    Examples
    --------
    >>> as_table(np.zeros(3)).shape
    (3, 1)
    """
    if is_frame(x):
        return x
    if hasattr(x, "to_frame"):  # a Series
        return x.to_frame()
    array = np.asarray(x)
    return array[:, None] if array.ndim == 1 else array


def as_pandas(x: Any) -> Any:
    """Return a table whose frames are pandas frames, for libraries that know no others."""
    x = as_table(x)
    if not hasattr(x, "get_column"):
        return x
    import pandas as pd

    return pd.DataFrame({name: x.get_column(name).to_numpy() for name in x.columns})


@contextmanager
def predicting(library: str, n: int) -> Iterator[None]:
    """Turn whatever a library raises while it predicts into an error that says so."""
    try:
        yield
    except CondgofError:
        raise
    except Exception as error:  # libraries raise anything
        raise InputError(
            f"{library} could not predict at the {n} rows of x ({type(error).__name__}: {error}). "
            "Pass x with the columns, in number and name, that the model was fitted on."
        ) from error


def prediction(values: Any, n: int, what: str) -> FloatArray:
    """Check a prediction: an array of shape (n,) or (n, d), rows matched by position."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim not in (1, 2) or len(array) != n:
        raise ShapeError(f"{what} has shape {array.shape}, and x has {n} rows.")
    return array
