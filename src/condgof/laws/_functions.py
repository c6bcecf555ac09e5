"""Laws from what a user computes: an array of scores, a score function, a log-density."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

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
    indexed,
    one_each,
)
from condgof.laws._line import Bounds, Line, with_support
from condgof.sample import as_numbers, fresh, is_lazy

#: How often the step of a numerical derivative shrinks, and by what.
LEVELS, SHRINK = 14, 2.0


@dataclass(frozen=True, eq=False)
class Scores(ByRow, Declared):
    """A law known through an array of scores, one row for each observation; see `from_scores`."""

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
        # Fresh copies: a function that works in place must not move the rows for the next
        # call.
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
        return self.score_and_error(y)[0]

    def score_and_error(self, y: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return the scores and an estimate of their absolute errors, (n, d_y) each, or refuse them."""
        y = np.asarray(y)
        check_finite(
            self.log_prob(y),
            "log p(y|x)",
            "Is the density 0 at those rows? Check the model.",
        )
        rows = as_rows(y)
        # On the whole line no step can leave the support, and near a bound the score is a
        # few units.
        line = Line.of(self.support, *rows.shape)

        def moved_log_prob(at: FloatArray) -> FloatArray:
            return self.log_prob(
                (at if line is None else line.backward(at)).reshape(y.shape)
            )

        scores, errors = differentiate(
            moved_log_prob, rows if line is None else line.forward(rows)
        )
        if not scores.any() and not self._is_uniform(y, line):
            refuse_flat("is flat at every row")
        # The median, because an outlier's score must not excuse errors of the other rows.
        size = np.abs(scores) + np.median(np.abs(scores), axis=0)
        if line is not None:
            size += 1.0  # the size of d log(dy/du)/du, to which they are added
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
        slope = 1.0 if line is None else line.slope(rows)
        return scores / slope, errors / slope

    def _is_uniform(self, y: AnyArray, line: Line | None) -> bool:
        """Whether a density that is flat at all observations is so everywhere on its support."""
        if line is None or not np.isfinite(line.high - line.low).all():
            return False
        places = (
            line.backward(np.full(line.low.shape, t)) for t in (-5.0, -1.0, 0.0, 1.0, 5.0)
        )
        return all(
            np.allclose(self.log_prob(at.reshape(y.shape)), self.log_prob(y))
            for at in places
        )


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
    normalised = False  # nobody said so

    def log_prob(self, y: AnyArray) -> FloatArray:
        return one_each(self._called(y), len(y), "log_prob")


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
    if is_lazy(scores):  # a Dask array, which a test lays out beside x and y
        return Scores(values=scores)
    array = np.array(as_numbers(scores, "An array of scores"))
    if array.ndim not in (1, 2) or not array.size:
        raise ShapeError(f"Scores must have shape (n,) or (n, d_y), got {array.shape}.")
    array.flags.writeable = False  # it is what the law answers with
    ends = None if support is None else Bounds.of(support).at(None, len(array))
    return indexed(Scores(values=array, ends=ends), scores)


def _law(
    kind: Callable[..., Law], function: object, bounds: Bounds | None, x: TableLike, n: int
) -> Law:
    return kind(function, x, n, None if bounds is None else bounds.at(x, n))


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
    bounds = None if support is None else Bounds.of(support)
    checked = check_callable(function, "from_score")
    return Model(
        partial(_law, ScoreFunction, checked, bounds), "ScoreFunction", conditional=False
    )


def from_log_prob(
    function: Callable[..., Any],
    *,
    backend: str = "numpy",
    tolerance: float = 1e-4,
    support: object = None,
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

    Notes
    -----
    The tests that standardise a single y integrate the density to a CDF, row by row, and compare normal
    scores. That takes 200 to 500 calls of `function` where it is smooth, each with one y for every row,
    which may lie far from the data but never outside the support. Where a density cannot be integrated
    in every row they use its scores, and the result says so.

    Examples
    --------
    >>> law = from_log_prob(lambda y, x: -0.5 * (y - x) ** 2)(np.array([0.0, 2.5]))
    >>> scores, errors = law.score_and_error(np.array([1.0, 2.0]))    # and their estimated errors
    >>> np.allclose(scores[:, 0], [-1.0, 0.5]), bool(errors.max() < 1e-8)
    (True, True)
    """
    if backend not in ("numpy", "torch", "jax"):
        raise InputError(f"backend must be 'numpy', 'torch' or 'jax', got {backend!r}.")
    if not tolerance > 0:
        raise InputError(f"tolerance must be positive, got {tolerance!r}.")
    checked = check_callable(function, "from_log_prob")
    if isinstance(support, str) and support == "counts":
        from condgof.laws._ratio import FromLogPmf

        model = from_log_prob(function, backend=backend, tolerance=tolerance)
        return Model(
            lambda x, n: FromLogPmf(model(x, n)), FromLogPmf.name, conditional=False
        )
    bounds = None if support is None else Bounds.of(support)
    if backend == "numpy":
        kind = partial(LogDensity, tolerance=tolerance)
        return Model(partial(_law, kind, checked, bounds), "LogDensity", conditional=False)
    model = import_module(f"condgof.laws._{backend}").from_density(checked)
    return (
        model
        if bounds is None
        else with_support(model, bounds.low.value, bounds.high.value)
    )


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _single(signature: inspect.Signature) -> list[inspect.Parameter]:
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p for p in signature.parameters.values() if p.kind not in variable]


def check_callable(function: Any, maker: str) -> Callable[..., Any]:
    """Refuse what is not a function of y and x, or needs more than these."""
    if not callable(function):
        raise InputTypeError(
            f"{maker} takes a function f(y, x), got {type(function).__name__}."
        )
    signature = signature_of(function)
    required = (
        [p.name for p in _single(signature) if p.default is p.empty] if signature else []
    )
    if (signature and not signature.parameters) or len(required) > 2:
        needs = (
            f"{maker} takes a function f(y, x), and this one needs {len(required)}"
            " arguments"
        )
        raise InputTypeError(
            f"{needs}. Bind others first, with functools.partial or a lambda."
        )
    return function  # type: ignore[no-any-return]


def arguments(
    function: Callable[..., Any], **given: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return what to call a user's function with, so that x and y cannot be swapped silently.

    A parameter named x or y (or X, Y) gets what its name says, others get what is left, in
    this order; an rng goes to a parameter of that name only. What cannot be called so is a
    TypeError.
    """
    signature = signature_of(function)
    if signature is None or "rng" not in signature.parameters:
        given.pop("rng", None)
    if signature is None:
        return tuple(given.values()), {}
    left = [
        name for name in given if name not in {p.name.lower() for p in _single(signature)}
    ]
    named = OrderedDict[str, Any]()
    for p in signature.parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            named[p.name], left = tuple(given[name] for name in left), []
        elif p.kind is p.VAR_KEYWORD:
            named[p.name], left = {name: given[name] for name in left}, []
        elif p.name.lower() in given:
            named[p.name] = given[p.name.lower()]
        elif left:  # else it is an option of the function's own
            named[p.name] = given[left.pop(0)]
    if left:
        raise TypeError(f"nothing takes {' and '.join(left)}")
    call = inspect.BoundArguments(signature, named)
    signature.bind(*call.args, **call.kwargs)
    return call.args, call.kwargs


def call_density(function: Callable[..., Any], y: TableLike, x: TableLike) -> Any:
    """Call a user's function of y and x, with y alone where it has a single parameter or x is None."""
    signature, given = signature_of(function), {"y": y, "x": x}
    single = _single(signature) if signature else []
    variable = signature is not None and len(single) < len(signature.parameters)
    required = sum(p.default is p.empty for p in single)
    if required <= 1 and not variable and (x is None or len(single) == 1):
        del given["x"]
    with users_code(f"The function {getattr(function, '__name__', 'of the model')}"):
        args, named = arguments(function, **given)
        return function(*args, **named)


def differentiate(
    function: Callable[[FloatArray], FloatArray], y: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Gradient (n, d) at y of a row-wise function (n, d) → (n,), and its estimated absolute error.

    Differences are extrapolated to step 0 (Richardson), and each row keeps the entry that
    differs least from its neighbours (Ridders): that difference is the error, infinite
    where nothing was finite.
    """
    best, best_error = np.zeros(y.shape), np.full(y.shape, np.inf)
    for c in range(y.shape[1]):
        # The spread by quartiles: a single outlier must not blow up the steps of all other
        # rows.
        low, high = np.quantile(y[:, c], [0.25, 0.75])
        step = 0.1 * (float(high - low) / 1.35 or float(y[:, c].std()) or 1.0)
        previous: list[FloatArray] = []
        for _ in range(LEVELS):
            up, down = y.copy(), y.copy()
            up[:, c] += step
            down[:, c] -= step
            # What was really added, after rounding, is what the difference is divided by.
            apart = up[:, c] - down[:, c]
            with np.errstate(
                invalid="ignore", over="ignore"
            ):  # a step may leave the support
                upper, lower = function(up), function(down)
                rounding = (
                    np.finfo(np.float64).eps * (np.abs(upper) + np.abs(lower)) / apart
                )
                row = [(upper - lower) / apart]
                for k, coarser in enumerate(previous):
                    factor = SHRINK ** (2 * (k + 1))
                    row.append((factor * row[k] - coarser) / (factor - 1.0))
                    error = np.fmax(
                        np.abs(row[k + 1] - row[k]), np.abs(row[k + 1] - coarser)
                    )
                    # entries may agree by chance to more digits than they have
                    error += rounding
                    better = error < best_error[:, c]
                    best[better, c], best_error[better, c] = (
                        row[k + 1][better],
                        error[better],
                    )
            previous, step = row, step / SHRINK
    return best, best_error
