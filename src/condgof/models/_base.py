"""What a conditional density model can do."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NoReturn

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputTypeError, ShapeError, UnsupportedModelError
from condgof.sample import Sample, as_numbers, take_rows

#: What each test asks of a model: one of these.
NEEDS = {
    "adaptive": ("score", "cdf", "normal_scores", "residuals"),
    "kcsd": ("score", "residuals"),
    "fscd": ("score", "residuals"),
    "ksd": ("score", "residuals"),
    "fssd": ("score",),
    "mmd": ("sample",),
    "zheng": ("cdf",),
}


class ConditionalModel:
    """A conditional density p(y|x), through what can be computed of it.

    Subclasses override what they have; the rest raises `UnsupportedModelError`, which says which tests
    the model can take. Every method works on all rows at once. `y` has shape (n,) or (n, d_y) and `x`
    is whatever the user passed (an array, a frame, or None for an unconditional model).

    A model is *functional* (it can score any rows) or *bound to rows* (made of arrays, one row for
    each observation). `rows` tells: None, or the number of rows that it is bound to.
    """

    #: What a message adds when the model lacks what a test needs.
    WHY_NOT: ClassVar[str] = ""
    #: Whether it evaluates rows in batches anyway, so that it may be asked for some at a time.
    BATCHED: ClassVar[bool] = False

    @property
    def rows(self) -> int | None:
        """Number of rows the model is bound to, or None for a functional model."""
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of a result should know of the model, a sentence each."""
        return ()

    @property
    def discrete(self) -> bool:
        """Whether y is discrete: the model then has `residuals` in place of a `score`."""
        return False

    def take(self, rows: IntArray) -> ConditionalModel:
        """Return the model of some rows; a functional model is the same for any."""
        return self

    def score(self, y: AnyArray, x: Any) -> AnyArray:
        """Return ∇_y log p(y|x), (n, d_y) or (n,)."""
        self._lacks("score")

    def residuals(self, y: AnyArray, x: Any, by: str) -> Any:
        """Return a discrete y as kernels compare it, with its residuals, of mean 0 given x."""
        self._lacks("residuals")

    def score_and_error(self, y: AnyArray, x: Any) -> tuple[AnyArray, AnyArray | None]:
        """Return the scores and, where they are approximate, their estimated absolute errors."""
        return self.score(y, x), None

    def log_prob(self, y: AnyArray, x: Any) -> FloatArray:
        """Return log p(y|x), (n,)."""
        self._lacks("log_prob")

    def cdf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y ≤ y | x) for d_y = 1, (n,)."""
        self._lacks("cdf")

    def sf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y > y | x) for d_y = 1, (n,); override it where 1 − cdf loses the upper tail."""
        values: FloatArray = 1.0 - self.cdf(y, x)
        return values

    def normal_scores(self, y: AnyArray, x: Any) -> FloatArray:
        """Return u = Φ⁻¹(F(y|x)), (n, d_y): standard normal and independent of x under the model.

        With d_y > 1 this is Rosenblatt's sequence: F is the CDF of a coordinate given x *and the
        coordinates before it*. Here it comes from `cdf` and `sf`, for d_y = 1.
        """
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] != 1:
            raise UnsupportedModelError(f"{self._name} has no conditional CDFs for d_y = {y.shape[1]}.")
        least = TINY if self.can("sf") else RESOLVED
        return tail_scores(self.cdf(y, x), self.sf(y, x), least)[:, None]

    def marginals(self, y: AnyArray, x: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return u_k = Φ⁻¹(F_k(y_k|x)) of the marginal CDFs, du_k/dy_k and ∂ log f_k, (n, d_y) each."""
        self._lacks("marginals")

    def location_scale(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return where y lies and how wide: (n, d_y), and (n, d_y) or Cholesky factors (n, d_y, d_y).

        Mean and standard deviation, or whatever serves where there are none.
        """
        return self.mean_std(x, n)

    def cdf_grid(self, values: AnyArray, x: Any, n: int | None = None) -> FloatArray:
        """Return P(Y ≤ v | x) for each row of x and each of m values, (n, m).

        The default repeats every row of x m times and asks `cdf`; models whose parameters can be
        computed once a row override it.

        Parameters
        ----------
        values : ndarray of shape (m,) or (m, 1)
            Where; `cdf` gets them in that shape, (n·m,) or (n·m, 1).
        x : array or frame
            Any number of rows, or as many as the model is bound to.
        n : int, optional
            The number of rows when x is None.
        """
        n = self.rows or row_count(x, n)
        rows = np.repeat(np.arange(n), len(values))
        tiled = np.tile(values, (n, *(1 for _ in values.shape[1:])))
        raw = self.take(rows).cdf(tiled, None if x is None else take_rows(x, rows))
        flat = as_numbers(raw, "What cdf returns", advice="Check the model.")
        if flat.shape not in ((len(rows),), (len(rows), 1)):
            raise ShapeError(
                f"cdf must return one number for each row, shape ({len(rows)},), got {flat.shape}."
            )
        return flat.reshape(n, len(values)).astype(np.float64, copy=False)

    def support(self, x: Any, n: int, d_y: int) -> tuple[AnyArray, AnyArray]:
        """Return the open interval that each coordinate of each row lives in.

        Returns
        -------
        low, high : ndarrays that broadcast to (n, d_y)
            −∞ and ∞ where there is no bound, which is everywhere unless a model says otherwise.
        """
        return np.array(-math.inf), np.array(math.inf)

    def sample(self, x: Any, rng: np.random.Generator, n: int | None = None) -> FloatArray:
        """Draw one y for each row of x, (n, d_y); `n` is needed when x is None."""
        self._lacks("sample")

    def mean_std(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of y given x, (n, d_y) each."""
        self._lacks("mean_std")

    def probe(self, y: AnyArray, x: Any) -> ConditionalModel:
        """Return the model knowing what it `can` do at such rows; most know it from the start."""
        return self

    def can(self, ability: str) -> bool:
        """Whether the model has an ability, such as ``"score"`` or ``"cdf"``."""
        return getattr(type(self), ability) is not getattr(ConditionalModel, ability)

    def _lacks(self, ability: str) -> NoReturn:
        tests = sorted(test for test, needs in NEEDS.items() if any(map(self.can, needs)))
        able = f"It can take: {', '.join(tests)}." if tests else "No test can take it."
        why = f" ({self.WHY_NOT})" if self.WHY_NOT else ""
        raise UnsupportedModelError(f"{self._name} has no {ability}{why}. {able}")

    @property
    def _name(self) -> str:
        """What messages call the model."""
        return type(self).__name__

    def given(self, x: Any) -> ConditionalModel:
        """Return the model of these rows of x, where that saves predicting again and again."""
        return self


#: The smallest tail that a double can hold, and what an sf that is 1 − cdf resolves: it is 0 or a
#: multiple of 2⁻⁵³.
TINY, RESOLVED = float(np.finfo(np.float64).tiny), 2.0**-54


def tail_scores(lower: FloatArray, upper: FloatArray, least: float = RESOLVED) -> FloatArray:
    """Return Φ⁻¹(F) from the lower tail F and the upper tail 1 − F, each accurate where it is small.

    A tail of 0 is an observation that the model holds to be impossible, or a CDF that rounds to 1. A
    lower tail is then taken as the smallest number there is, and an upper tail as `least`.

    Examples
    --------
    >>> tail_scores(np.array([0.1, 1.0]), np.array([0.9, 1e-20])).round(3)
    array([-1.282,  9.262])
    """
    from scipy.special import ndtri

    low = ndtri(np.clip(lower, TINY, 0.5))
    high = -ndtri(np.clip(upper, np.where(upper > 0, TINY, least), 0.5))
    values: FloatArray = np.where(lower < 0.5, low, high)
    return values


def log_tail_scores(log_lower: FloatArray, log_upper: FloatArray) -> FloatArray:
    """Return Φ⁻¹(F) from log F and log(1 − F): no tail is too far."""
    from scipy.special import ndtri_exp

    values: FloatArray = np.where(log_lower < log_upper, ndtri_exp(log_lower), -ndtri_exp(log_upper))
    return values


def row_count(x: Any, n: int | None) -> int:
    """Return the number of rows of x, or `n` when the model is unconditional."""
    if x is not None:
        return len(x)
    if n is None:
        raise ShapeError("An unconditional model needs the number of rows, n.")
    return n


def as_rows(y: AnyArray) -> FloatArray:
    """Return y as (n, d_y) of doubles."""
    y = np.asarray(y, dtype=np.float64)
    return y[:, None] if y.ndim == 1 else y


def check_rows(model: ConditionalModel, sample: Sample) -> None:
    """Check that a model that is bound to rows has those of the sample, and that its y can be text."""
    text = [column.name for column in sample.y_columns if column.categorical]
    if text and not model.discrete:
        raise InputTypeError(
            f"y column {text[0]!r} holds text or categories, and y must be numeric for this model. "
            "Pass numbers, or a model of classes (condgof.probabilities, a classifier)."
        )
    if model.rows is not None and model.rows != sample.n:
        raise ShapeError(
            f"The model is bound to {model.rows} rows and the sample has {sample.n}. "
            "Pass one row of scores (or means and standard deviations, or probabilities) for each "
            "row of y."
        )


def check_scores(raw: Any, n: int, d_y: int) -> FloatArray:
    """Check the shape of scores: (n, d_y), or (n,) when d_y = 1; nothing is broadcast."""
    return check_shape(raw, n, d_y, "The scores")


def check_shape(raw: Any, n: int, d_y: int, what: str) -> FloatArray:
    """Check the shape of what a model returns, one row for each observation, as in `check_scores`."""
    array = as_numbers(raw, what, advice="Check what the model returns.")
    if array.shape != (n, d_y) and not (d_y == 1 and array.shape == (n,)):
        allowed = f"({n}, {d_y})" + (f" or ({n},)" if d_y == 1 else "")
        raise ShapeError(
            f"{what} must have shape {allowed}, one row for each observation, got {array.shape}."
        )
    return array.reshape(n, d_y).astype(np.float64)
