"""Laws from what a user computes: an array of scores, a score function, a log-density."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

import numpy as np

from condgof._typing import AnyArray, FloatArray, TableLike
from condgof.errors import (
    DerivativeError,
    InputError,
    InputTypeError,
    ShapeError,
    check_finite,
    refuse_rows,
    users_code,
)
from condgof.laws._law import (
    AtRows,
    ByRow,
    Declared,
    Law,
    Model,
    ModelLike,
    as_rows,
    check_per_row,
    with_index,
)
from condgof.laws._line import Bounds, Line, with_support
from condgof.sample import as_numbers, fresh, is_lazy

#: What goes only to a parameter of this name, never to the next one that is free.
ONLY_BY_NAME = ("rng", "weights")
#: Number of steps of a numerical derivative.
LEVELS = 14
#: Each step is the one before it divided by this.
SHRINK = 2.0
#: The first step, as a share of the standard deviation of y.
FIRST_STEP = 0.1
#: A step counts only where f(y + h) + f(y − h) − 2f(y) is at most this: it is h²/σ² for a
#: normal log-density, and twice the height of a peak that both ends of the step have left.
MOST_BEND = 4.0
#: The distance between the quartiles of a normal distribution, in standard deviations.
QUARTILE_DISTANCE = 1.35
#: Places on the line at which a density that is flat at the data is compared with its
#: values there: a uniform density is equal at all of them.
UNIFORM_PLACES = (-5.0, -1.0, 0.0, 1.0, 5.0)


@dataclass(frozen=True, eq=False)
class Scores(ByRow, Declared):
    """A law known through an array of scores, (n,) or (n, d_y); see `from_scores`."""

    values: AnyArray
    ends: tuple[AnyArray, AnyArray] | None = None

    def score(self, y: AnyArray) -> AnyArray:
        self._checked(y)
        return self.values


@dataclass(frozen=True, eq=False)
class FunctionOfRows(AtRows):
    """A law known through a function of y and x, at rows of x that it keeps."""

    function: Callable[..., Any]
    x: Any
    count: int
    ends: tuple[AnyArray, AnyArray] | None = None

    def _called(self, y: AnyArray) -> Any:
        """Return the function at y and x.

        It gets copies: a function that works in place must not change the rows for the next
        call.
        """
        return call_density(self.function, fresh(self._checked(y)), fresh(self.x))


class ScoreFunction(FunctionOfRows):
    """A law known through its score function; see `from_score`."""

    def score(self, y: AnyArray) -> AnyArray:
        return as_numbers(self._called(y), "The scores")


class NumericalScore(Law):
    """A law that has `log_prob` (and perhaps `support`) but no closed-form score."""

    #: The largest relative error of the derivative that is accepted.
    tolerance: float = 1e-4

    def score(self, y: AnyArray) -> FloatArray:
        scores, _ = self.score_and_error(y)
        return scores

    def score_and_error(self, y: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return the scores and their estimated absolute errors, (n, d_y), or refuse them.

        A bounded y is moved to the whole line first: there no step can leave the support,
        and the score near a bound is a few units.
        """
        y = np.asarray(y)
        check_finite(
            self.log_prob(y),
            "log p(y|x)",
            "Is the density 0 at those rows? Check the model.",
        )
        rows = as_rows(y)
        n, d_y = rows.shape
        line = Line.from_support(self.support, n, d_y)
        if line is None:
            scores, errors = differentiate(
                lambda y_moved: self.log_prob(y_moved.reshape(y.shape)), rows
            )
        else:
            scores, errors = differentiate(
                lambda u: self.log_prob(line.backward(u).reshape(y.shape)),
                line.forward(rows),
            )
        if not scores.any() and not self._is_uniform(y, line):
            refuse_flat("is flat at every row")
        # The typical size is a median, because the score of an outlier must not excuse
        # errors of the other rows.
        size = np.abs(scores) + np.median(np.abs(scores), axis=0)
        if line is None:
            self._check_errors(errors, size)
            return scores, errors
        # On the line, scores are added to d log(dy/du)/du, which is of size 1.
        self._check_errors(errors, size + 1.0)
        slope = line.slope(rows)
        return scores / slope, errors / slope

    def _check_errors(self, errors: FloatArray, size: FloatArray) -> None:
        """Refuse errors of scores, (n, d_y), that are large compared with their size."""
        with np.errstate(divide="ignore", invalid="ignore"):
            worst = float(np.nanmax(errors / size))
        refuse_rows(
            errors > self.tolerance * size,
            "The numerical derivative of the log-density is not accurate",
            f"The estimated relative error is up to {worst:.1e}, allowed"
            f" {self.tolerance:.1e}. Give the score itself (condgof.from_score), or compute"
            " log_prob in double precision.",
            DerivativeError,
        )

    def _is_uniform(self, y: AnyArray, line: Line | None) -> bool:
        """Whether a density that is flat at all observations is flat on its support."""
        if line is None or not np.isfinite(line.high - line.low).all():
            return False
        for u in UNIFORM_PLACES:
            place = line.backward(np.full(line.low.shape, u)).reshape(y.shape)
            if not np.allclose(self.log_prob(place), self.log_prob(y)):
                return False
        return True


def refuse_flat(why: str) -> NoReturn:
    """Refuse a density whose score is 0 everywhere, or that y does not enter."""
    raise DerivativeError(
        f"The log-density {why}, so its score says nothing. A piecewise constant one (a"
        " histogram) goes to condgof.from_bins, one with a CDF to condgof.adaptive(...,"
        " standardize='cdf'). (A smooth density gets here when its gradient is cut: by"
        " no_grad, detach or NumPy inside the model.)"
    )


@dataclass(frozen=True, eq=False)
class LogDensity(FunctionOfRows, NumericalScore):
    """A law known through its log-density; see `from_log_prob`."""

    tolerance: float = 1e-4
    normalised = False  # the user need not pass a normalised density

    def log_prob(self, y: AnyArray) -> FloatArray:
        return check_per_row(self._called(y), len(y), "log_prob")


def from_scores(scores: Any, *, support: object = None) -> Scores:
    """Law from an array of scores ∇_y log p(y|x) at the observed y.

    Parameters
    ----------
    scores : array_like of shape (n, d_y), or (n,) when d_y = 1
        The gradients of the log-density, one row for each observation.
    support : pair, optional
        The open interval (low, high) that y lives in, as in `from_score`.

    Examples
    --------
    >>> from_scores([-1.0, 2.0]).score(np.array([1.0, 0.0]))
    array([-1.,  2.])
    """
    if is_lazy(scores):  # a Dask array, which a test aligns with x and y
        return Scores(values=scores)
    array = np.array(as_numbers(scores, "An array of scores"))
    if array.ndim not in (1, 2) or not array.size:
        raise ShapeError(f"Scores must have shape (n,) or (n, d_y), got {array.shape}.")
    array.flags.writeable = False  # `score` returns the array itself
    ends = None if support is None else Bounds.from_pair(support).at(None, len(array))
    return with_index(Scores(values=array, ends=ends), scores)


def from_score(function: Callable[..., Any], *, support: object = None) -> Model:
    """Model from its score function.

    Parameters
    ----------
    function : callable
        f(y, x) → ∇_y log p(y|x) of shape (n, d_y), or (n,) when d_y = 1. Parameters named x
        and y are passed by name. For the unconditional tests it may be a function of y
        alone.
    support : pair, optional
        The open interval (low, high) that y lives in, such as (0, inf): numbers or
        functions of x, None for no bound. The tests then compare y on a scale where it is
        unbounded; `function` stays that of y itself.

    Examples
    --------
    >>> model = from_score(lambda y, x: -(y - x))
    >>> model(np.array([0.0, 2.0])).score(np.array([1.0, 2.0]))
    array([-1., -0.])
    """
    bounds = None if support is None else Bounds.from_pair(support)
    check_callable(function, "from_score")
    law_at_rows = partial(_law_at_rows, ScoreFunction, function, bounds)
    return Model(law_at_rows, "ScoreFunction", conditional=False)


def _law_at_rows(
    law_class: Callable[..., Law],
    function: Callable[..., Any],
    bounds: Bounds | None,
    x: TableLike | None,
    n: int,
) -> Law:
    """Return the law of a function of y and x at the n rows of x."""
    ends = None if bounds is None else bounds.at(x, n)
    return law_class(function=function, x=x, count=n, ends=ends)


def from_log_prob(
    function: Callable[..., Any],
    *,
    backend: str = "numpy",
    tolerance: float = 1e-4,
    support: object = None,
    period: float | None = None,
) -> ModelLike:
    """Model from its log-density, which need not be normalised.

    Parameters
    ----------
    function : callable
        f(y, x) → log p(y|x) of shape (n,), up to a constant that may depend on x. Called by
        name when its parameters are named x and y.
    backend : {"numpy", "torch", "jax"}
        What it works on and how it is differentiated: "numpy" by differences, extrapolated
        to step 0, "torch" and "jax" automatically (a JAX function may also be that of a
        single row).
    tolerance : float
        The largest relative error of the derivative that is accepted ("numpy" only).
    support : pair or "counts", optional
        The open interval (low, high) that y lives in, as in `from_score`; `function` is
        never called outside it. ``"counts"``: y is one of 0, 1, 2, …, and `function` the
        log of its probability, −inf beyond the largest count if there is one; see
        `from_ratio` for how it is tested.
    period : float, optional
        y is an angle, a number modulo `period` (2π, 360, 24): `function` has y through
        functions of that period alone, such as cos(2πy/period). It gets y from 0 to
        `period`, is integrated over one period, and nothing depends on where the circle is
        cut.

    Notes
    -----
    The tests that standardise a single y integrate the density to a CDF, row by row, and
    compare normal scores. That takes 200 to 500 calls of `function` where it is smooth,
    each with one y for every row, which may lie far from the data but never outside the
    support. Where a density cannot be integrated in every row they use its scores, and the
    result says so.

    Examples
    --------
    >>> law = from_log_prob(lambda y, x: -0.5 * (y - x) ** 2)(np.array([0.0, 2.5]))
    >>> scores, errors = law.score_and_error(np.array([1.0, 2.0]))
    >>> np.allclose(scores[:, 0], [-1.0, 0.5]), bool(errors.max() < 1e-8)
    (True, True)
    """
    if backend not in ("numpy", "torch", "jax"):
        raise InputError(f"backend must be 'numpy', 'torch' or 'jax', got {backend!r}.")
    if not tolerance > 0:
        raise InputError(f"tolerance must be positive, got {tolerance!r}.")
    check_callable(function, "from_log_prob")
    if period is not None:
        from condgof.laws._circular import from_periodic_log_prob

        if support is not None:
            raise InputError("An angle has no bounds: pass period= or support=, not both.")
        density = from_log_prob(function, backend=backend, tolerance=tolerance)
        return from_periodic_log_prob(density, period)
    if isinstance(support, str) and support == "counts":
        from condgof.laws._ratio import FromLogPmf

        log_pmf = from_log_prob(function, backend=backend, tolerance=tolerance)
        return Model(
            lambda x, n: FromLogPmf(log_pmf(x, n)), FromLogPmf.name, conditional=False
        )
    bounds = None if support is None else Bounds.from_pair(support)
    if backend == "numpy":
        law_class = partial(LogDensity, tolerance=tolerance)
        law_at_rows = partial(_law_at_rows, law_class, function, bounds)
        return Model(law_at_rows, "LogDensity", conditional=False)
    model: Model = import_module(f"condgof.laws._{backend}").from_density(function)
    if bounds is None:
        return model
    return with_support(model, bounds.low.value, bounds.high.value)


def read_signature(function: Callable[..., Any]) -> inspect.Signature | None:
    """Return the signature of a function; None for one of C, which may have none."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _single_parameters(signature: inspect.Signature) -> list[inspect.Parameter]:
    """Return the parameters of a function but for ``*args`` and ``**kwargs``."""
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p for p in signature.parameters.values() if p.kind not in variable]


def check_callable(function: Any, maker: str) -> Callable[..., Any]:
    """Return a function of y and x, or refuse it: `maker` is the name of the caller."""
    if not callable(function):
        raise InputTypeError(
            f"{maker} takes a function f(y, x), got {type(function).__name__}."
        )
    signature = read_signature(function)
    if signature is not None:
        single = _single_parameters(signature)
        required = [p for p in single if p.default is p.empty]
        if not signature.parameters or len(required) > 2:
            raise InputTypeError(
                f"{maker} takes a function f(y, x), and this one needs {len(required)}"
                " arguments. Bind others first, with functools.partial or a lambda."
            )
    return function  # type: ignore[no-any-return]


class CallArguments(NamedTuple):
    """The arguments of a call, by position and by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def match_arguments(function: Callable[..., Any], **values: Any) -> CallArguments:
    """Return the arguments to call a user's function with, so that x and y are not swapped.

    A parameter named x or y (or X, Y) gets the value of that name, others get the remaining
    values, in this order; an rng and weights go to parameters of these names only. A
    function that cannot be called so raises TypeError.
    """
    signature = read_signature(function)
    for name in ONLY_BY_NAME:
        if signature is None or name not in signature.parameters:
            values.pop(name, None)
    if signature is None:
        return CallArguments(tuple(values.values()), {})
    taken_by_name = {p.name.lower() for p in _single_parameters(signature)}
    remaining = [name for name in values if name not in taken_by_name]
    bound = OrderedDict[str, Any]()
    for p in signature.parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            bound[p.name] = tuple(values[name] for name in remaining)
            remaining = []
        elif p.kind is p.VAR_KEYWORD:
            bound[p.name] = {name: values[name] for name in remaining}
            remaining = []
        elif p.name.lower() in values:
            bound[p.name] = values[p.name.lower()]
        elif remaining:  # else the parameter is an option of the function, with a default
            bound[p.name] = values[remaining.pop(0)]
    if remaining:
        raise TypeError(f"nothing takes {' and '.join(remaining)}")
    call = inspect.BoundArguments(signature, bound)
    signature.bind(*call.args, **call.kwargs)
    return CallArguments(call.args, call.kwargs)


def call_density(function: Callable[..., Any], y: TableLike, x: TableLike | None) -> Any:
    """Call a user's function of y and x; of y alone where it has no parameter for x."""
    values = {"y": y, "x": x}
    if _takes_y_alone(function, has_x=x is not None):
        del values["x"]
    with users_code(f"The function {getattr(function, '__name__', 'of the model')}"):
        args, kwargs = match_arguments(function, **values)
        return function(*args, **kwargs)


def _takes_y_alone(function: Callable[..., Any], *, has_x: bool) -> bool:
    """Whether a function has a single parameter, or needs no more and there is no x."""
    signature = read_signature(function)
    single = [] if signature is None else _single_parameters(signature)
    is_variable = signature is not None and len(single) < len(signature.parameters)
    required = [p for p in single if p.default is p.empty]
    if is_variable or len(required) > 1:
        return False
    return not has_x or len(single) == 1


class Derivative(NamedTuple):
    """A gradient and its estimated absolute error, of the same shape."""

    value: FloatArray
    error: FloatArray


def differentiate(
    function: Callable[[FloatArray], FloatArray], y: FloatArray
) -> Derivative:
    """Return the gradient at y (n, d) of a row-wise function (n, d) → (n,), and its error.

    Differences are extrapolated to step 0 (Richardson), and each row keeps the entry that
    differs least from its neighbours (Ridders): that difference is the error, infinite
    where nothing was finite. Steps that reach over a narrow peak agree with each other on
    the slope of what is beside it: they are told by how far the function falls at both ends
    (`MOST_BEND`), and do not count.
    """
    columns = [_partial_derivative(function, y, c) for c in range(y.shape[1])]
    return Derivative(
        value=np.column_stack([column.value for column in columns]),
        error=np.column_stack([column.error for column in columns]),
    )


def _partial_derivative(
    function: Callable[[FloatArray], FloatArray], y: FloatArray, column: int
) -> Derivative:
    """Return the derivative along one column of y, and its error, (n,) each."""
    best = Derivative(value=np.zeros(len(y)), error=np.full(len(y), np.inf))
    step = _first_step(y[:, column])
    #: Extrapolations from the step before, of rising order.
    coarser: list[FloatArray] = []
    centre = function(y)
    for _ in range(LEVELS):
        up = y.copy()
        down = y.copy()
        up[:, column] += step
        down[:, column] -= step
        # The difference is divided by what the step is after rounding.
        distance = up[:, column] - down[:, column]
        with np.errstate(invalid="ignore", over="ignore"):  # a step may leave the support
            upper = function(up)
            lower = function(down)
            eps = np.finfo(np.float64).eps
            rounding = eps * (np.abs(upper) + np.abs(lower)) / distance
            is_near = np.abs(upper + lower - 2.0 * centre) <= MOST_BEND
            finer = [(upper - lower) / distance]
            for k, previous in enumerate(coarser):
                factor = SHRINK ** (2 * (k + 1))
                extrapolated = (factor * finer[k] - previous) / (factor - 1.0)
                finer.append(extrapolated)
                error = np.fmax(
                    np.abs(extrapolated - finer[k]), np.abs(extrapolated - previous)
                )
                # Entries may agree by chance to more digits than they have.
                error += rounding
                is_better = is_near & (error < best.error)
                best.value[is_better] = extrapolated[is_better]
                best.error[is_better] = error[is_better]
        coarser = finer
        step = step / SHRINK
    return best


def _first_step(y: FloatArray) -> float:
    """Return the first step for a column y (n,).

    Its spread is that of the quartiles: a single outlier must not enlarge the steps of all
    other rows. A column with equal quartiles has its standard deviation, or 1.
    """
    low, high = np.quantile(y, [0.25, 0.75])
    spread = float(high - low) / QUARTILE_DISTANCE or float(y.std()) or 1.0
    return FIRST_STEP * spread
