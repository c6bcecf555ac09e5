"""Models that predict at x and leave the rest to a closed form bound to those predictions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import CondgofError, InputError, ShapeError
from condgof.models._base import ConditionalModel, row_count
from condgof.sample import is_frame


class Delegate(ConditionalModel):
    """A model of another library: its prediction at x says which closed form y has there.

    A subclass writes one method, `at`. Every other method evaluates it once, at the x that it was
    given, and asks the model that comes back. Nothing is kept between calls.
    """

    def at(self, x: Any, n: int) -> ConditionalModel:
        """Return the model of y at the n rows of x, bound to those rows."""
        raise NotImplementedError

    def score(self, y: AnyArray, x: Any) -> AnyArray:
        """Return ∇_y log p(y|x), (n, d_y)."""
        return self.at(x, len(y)).score(y, None)

    def score_and_error(self, y: AnyArray, x: Any) -> tuple[AnyArray, AnyArray | None]:
        """Return the scores and, where they are approximate, their estimated absolute errors."""
        return self.at(x, len(y)).score_and_error(y, None)

    def log_prob(self, y: AnyArray, x: Any) -> FloatArray:
        """Return log p(y|x), (n,)."""
        return self.at(x, len(y)).log_prob(y, None)

    def cdf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y ≤ y | x) for d_y = 1, (n,)."""
        return self.at(x, len(y)).cdf(y, None)

    def sf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y > y | x) for d_y = 1, (n,)."""
        return self.at(x, len(y)).sf(y, None)

    def normal_scores(self, y: AnyArray, x: Any) -> FloatArray:
        """Return Rosenblatt's sequence of normal scores, (n, d_y)."""
        return self.at(x, len(y)).normal_scores(y, None)

    def marginals(self, y: AnyArray, x: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return normal scores of the marginal CDFs, their slopes and marginal scores, (n, d_y) each."""
        return self.at(x, len(y)).marginals(y, None)

    def location_scale(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return where y lies and how wide."""
        n = row_count(x, n)
        return self.at(x, n).location_scale(None, n)

    def support(self, x: Any, n: int, d_y: int) -> tuple[AnyArray, AnyArray]:
        """Return the open interval that each coordinate of each row lives in."""
        return self.at(x, n).support(None, n, d_y)

    def sample(self, x: Any, rng: np.random.Generator, n: int | None = None) -> FloatArray:
        """Draw one y for each row of x, (n, d_y)."""
        n = row_count(x, n)
        return self.at(x, n).sample(None, rng, n)

    def mean_std(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of y given x, (n, d_y) each."""
        n = row_count(x, n)
        return self.at(x, n).mean_std(None, n)


def as_table(x: Any) -> Any:
    """Return x with columns, as libraries want it: frames as they are, (n,) as (n, 1).

    Examples
    --------
    >>> as_table(np.zeros(3)).shape
    (3, 1)
    """
    if x is None:
        raise InputError(
            "A fitted regressor predicts y from x, and there is no x. Use a test of a conditional "
            "model: condgof.adaptive, kcsd or fscd."
        )
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
