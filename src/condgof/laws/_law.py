"""A law, the predictive distribution of y at n given rows, and a model, a function x → law.

`Law` is the base class of every predictive distribution. Its methods are *abilities*: a law
has those that it overrides, says so by `can("cdf")`, and answers a call of any other with
an `UnsupportedModelError`. A law takes no x: it is bound to its rows, and `take(rows)` is
the law of some of them. Every law is also the model that predicts the same whatever x is,
as long as there are as many rows.

The other classes share what several laws have in common: `Around` (another law, but for
some methods), `Declared` (a support that the user states), `AtRows` (rows of x are kept),
`ByRow` (arrays with one row an observation), `Joined` and `Batched` (laws of some rows
each, put together).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import isfunction
from operator import attrgetter
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    NamedTuple,
    NoReturn,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    cast,
)

import numpy as np
from scipy.special import ndtri, ndtri_exp

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.errors import (
    InputError,
    InputTypeError,
    ShapeError,
    SupportError,
    UnsupportedModelError,
    refuse_rows,
    users_code,
)
from condgof.sample import as_numbers, fresh, take_rows

if TYPE_CHECKING:
    from condgof.laws._discrete import Residuals

#: Abilities of which the Stein tests need one: a score, or what takes its place.
STEIN_ABILITIES = ("score", "cdf", "normal_scores", "residuals")
#: For each test, the abilities of which it needs one.
NEEDS: dict[str, tuple[str, ...]] = {
    "adaptive": STEIN_ABILITIES,
    "kcsd": STEIN_ABILITIES,
    "fscd": STEIN_ABILITIES,
    "ksd": STEIN_ABILITIES,
    "fssd": ("score",),
    "mmd": ("sample",),
    "zheng": ("cdf",),
}
#: The smallest tail probability that a double can hold with all its digits.
TINY = float(np.finfo(np.float64).tiny)
#: Half the distance from 1 to the double below it: the smallest upper tail that is left of
#: 1 − cdf when the CDF rounds to 1.
RESOLVED = 2.0**-54
#: How far beyond [0, 1] rounding may put a CDF; wide enough for single precision.
CDF_ROUNDING = 1e-6
#: Ends of an infinite support, where a law can still be evaluated.
FARTHEST = 1e300
#: How often a step outwards is doubled until an interval holds a quantile.
DOUBLINGS = 60
#: How often that interval is halved at most; 60 doublings and 53 binary digits need 113.
HALVINGS = 120

L = TypeVar("L", bound="Law")
T = TypeVar("T")

#: Rows of a law: their numbers, or a slice of them.
Rows: TypeAlias = IntArray | slice


def same_as(path: str) -> Any:
    """Return a property that delegates to an attribute, such as ``"law.name"``."""
    return property(attrgetter(path))


def replace_rows(law: L, rows: IntArray, **fields: Any) -> L:
    """Return a law that is a dataclass, with other `fields`, for some of its rows.

    What is declared beside the fields goes with it: the ends of the support, taken at
    `rows` where they differ by row, `of_x`, and what is known of folds.
    """
    ends = getattr(law, "ends", None)
    if ends:
        fields["ends"] = tuple(_take_end(end, rows) for end in ends)
    part = replace(law, **fields)  # type: ignore[type-var]
    if "of_x" in vars(law):
        object.__setattr__(part, "of_x", law.of_x)
    carry_folds(law, part, rows)
    return part


def carry_folds(law: Law, part: Law, rows: IntArray) -> None:
    """Give the law of some rows what is known of the folds that it comes from."""
    if "fold_error" in vars(law):
        object.__setattr__(part, "fold_error", law.fold_error)
    if "refits" in vars(law):
        refits = tuple(Refit(one.law.take(rows), one.y[rows]) for one in law.refits)
        object.__setattr__(part, "refits", refits)


def _take_end(end: AnyArray, rows: IntArray) -> AnyArray:
    """Return an end of the support at some rows; one that holds for all rows stays."""
    differs_by_row = np.ndim(end) > 0 and len(end) > 1
    return end[rows] if differs_by_row else end


class FoldError(NamedTuple):
    """How far predictions depend on which rows they were fitted on.

    All are means over rows, in units of the predicted variance.
    """

    #: Variance of the predictions of a fit to all rows (a jackknife over folds): about the
    #: number of parameters over n for least squares.
    instability: float
    #: What predicted variances leave out of it: how much larger squared residuals of new
    #: rows are expected than predicted.
    left_out: float


class Refit(NamedTuple):
    """A sample drawn from a fitted model, and the law that was fitted to it."""

    law: Law
    y: AnyArray  #: (n,) or (n, d_y).


class Law:
    """The predictive distribution of y at n rows: what a model predicts there.

    A subclass must have `rows`, their number, and ``take(rows)``, the law of some of them.
    Whatever else it overrides is an *ability*:

    ====================================  ============================================
    `score`, `score_and_error`            the gradient of the log-density, ∇_y log p(y|x)
    `log_prob`                            the log-density, or log-probability
    `cdf`, `sf`, `cdf_grid`, `quantile`   the distribution function of a single y
    `normal_scores`, `marginals`          y as a standard normal variable
    `crps`                                the continuous ranked probability score
    `sample`                              one draw of y for each row
    `mean_std`, `location_scale`          moments, or another location and scale
    `residuals`                           a discrete y, compared with its probabilities
    ====================================  ============================================

    ``law.can("cdf")`` is whether the law has an ability. Calling what it does not have
    raises `UnsupportedModelError`, with the tests that can take the law. y has shape (n,)
    or (n, d_y). One ability is enough for a test, and some follow from others: `sf`,
    `crps`, `quantile`, `cdf_grid` and `normal_scores` from `cdf`.

    Examples
    --------
    >>> import condgof as cg
    >>> class Logistic(cg.Law):
    ...     def __init__(self, centre):
    ...         self.centre = centre
    ...     @property
    ...     def rows(self):
    ...         return len(self.centre)
    ...     def take(self, rows):
    ...         return Logistic(self.centre[rows])
    ...     def cdf(self, y):
    ...         return 1 / (1 + np.exp(self.centre - y))
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=200)
    >>> y = x + rng.logistic(size=200)
    >>> cg.adaptive(cg.models.Model(Logistic), x, y, rng=1).reject()
    False
    >>> law = Logistic(x)
    >>> law.can("cdf"), law.can("score")
    (True, False)
    """

    #: Why the law lacks an ability; error messages add it in parentheses.
    WHY_NOT: ClassVar[str] = ""
    #: Whether y is discrete: tests then compare `residuals`, in place of a `score`.
    discrete: bool = False
    #: Whether the prediction is a function of x alone. Draws are not, and neither are fits
    #: to other rows of the same sample: y ranks low in a row where they happen to be high,
    #: and that is no misfit.
    of_x: bool = True
    #: What a reader of a result should know of the law, a sentence each.
    notes: tuple[str, ...] = ()
    #: Whether densities and probabilities are known to sum to 1.
    normalised: bool = True
    #: Whether y are times of which some say only that the event had not come by then.
    is_censored: bool = False
    #: The index of the pandas objects that the law was constructed from, or None.
    index: Any = None
    #: Of out-of-fold predictions, how much they vary with the rows of the fit.
    fold_error: FoldError | None = None
    #: Of out-of-fold predictions, samples drawn under the model and all folds fitted again.
    refits: tuple[Refit, ...] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Guard the methods of a user's law: errors are raised anew with their names."""
        super().__init_subclass__(**kwargs)
        if cls.__module__.partition(".")[0] == "condgof":
            return
        for name, method in list(vars(cls).items()):
            if isfunction(method) and not name.startswith("_"):
                setattr(cls, name, users_code(f"{cls.__name__}.{name}")(method))

    # ---- Rows: what every law has.

    @property
    def rows(self) -> int | None:
        """Number of rows; None where any number fits, or x is still to be passed."""
        raise UnsupportedModelError(
            f"{self.name} has no property rows, the number of its rows. Write it."
        )

    @property
    def n(self) -> int:
        """Number of rows, which must be known."""
        if self.rows is None:
            raise InputTypeError(
                f"{self.name} is a model: call it with x, as in model(x).mean_std()."
            )
        return self.rows

    @property
    def name(self) -> str:
        """The name of the law in messages."""
        return type(self).__name__

    def take(self, rows: IntArray) -> Law:
        """Return the law of some rows."""
        raise UnsupportedModelError(
            f"{self.name} has no take(rows), the law of some of its rows. Write it."
        )

    def __call__(self, x: TableLike | None = None, n: int | None = None) -> Law:
        """Return the law itself, after a check that x has as many rows."""
        if x is None and n is None:
            n = self.rows
        n = row_count(x, n)
        check_bound(
            self.rows, n, "predictions (means and deviations, scores, probabilities, draws)"
        )
        return self

    def facing(self, y: AnyArray) -> Law:
        """Return the law prepared for the observations y, (n,) or (n, d_y).

        A law of a single y that has a density and no CDF then offers normal scores as well,
        if the density can be integrated in every row (`condgof.laws.quadrature`). Any
        other law is returned as it is.
        """
        has_normal_scores = self.can("normal_scores") or self.can("cdf")
        if self.discrete or has_normal_scores or not self.can("log_prob"):
            return self
        from condgof.laws.quadrature import Integrated

        y = np.asarray(y)
        is_single = y.shape[1:] in ((), (1,))
        return Integrated(self, y) if is_single else self

    def noted(self, *notes: str) -> Self:
        """Return the same law with more notes for the reader of a result."""
        same = copy.copy(self)
        object.__setattr__(same, "notes", (*self.notes, *notes))
        return same

    # ---- Which abilities a law has.

    def can(self, ability: str) -> bool:
        """Whether the law has an ability, such as ``"score"`` or ``"cdf"``."""
        return getattr(type(self), ability) is not getattr(Law, ability)

    def lacks(self, ability: str) -> NoReturn:
        """Raise the error for a missing ability, with the tests that can take the law."""
        tests = sorted(
            test for test, abilities in NEEDS.items() if any(map(self.can, abilities))
        )
        advice = "No test can take it."
        if tests:
            advice = f"Tests that can take it: {', '.join(tests)}."
        why = f" ({self.WHY_NOT})" if self.WHY_NOT else ""
        raise UnsupportedModelError(f"{self.name} has no {ability}{why}. {advice}")

    # ---- Abilities: density and score.

    def score(self, y: AnyArray) -> AnyArray:
        """Return the Stein score ∇_y log p(y|x), (n, d_y) or (n,)."""
        self.lacks("score")

    def score_and_error(self, y: AnyArray) -> tuple[AnyArray, AnyArray | None]:
        """Return the scores, and their estimated absolute errors if they are numerical."""
        return self.score(y), None

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return log p(y|x), (n,)."""
        self.lacks("log_prob")

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        """The open interval of y: ends that broadcast to (n, d_y), ∓∞ without a bound."""
        return np.array(-math.inf), np.array(math.inf)

    # ---- Abilities: distribution function of a single y.

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y ≤ y | x) for d_y = 1, (n,)."""
        self.lacks("cdf")

    def sf(self, y: AnyArray) -> FloatArray:
        """Return P(Y > y | x) for d_y = 1, (n,).

        Override it where 1 − cdf loses the digits of the upper tail.
        """
        return np.asarray(1.0 - self.cdf(y))

    def cdf_grid(self, values: AnyArray) -> FloatArray:
        """Return P(Y ≤ v | x) of every row at m values v, (m,) or (m, 1): (n, m)."""
        m = len(values)
        each_row = self.take(np.repeat(np.arange(self.n), m))
        column_shape = values.shape[1:]
        tiled = np.tile(values, (self.n, *(1 for _ in column_shape)))
        return check_per_row(each_row.cdf(tiled), len(tiled), "cdf").reshape(self.n, m)

    def quantile(self, levels: object) -> FloatArray:
        """Return quantiles of y at m levels for d_y = 1, (n, m): the CDF is bisected."""
        targets = np.tile(check_levels(levels), (self.n, 1))
        return invert(self, lambda law, y: law.cdf(y), targets)

    def crps(self, y: AnyArray) -> FloatArray:
        """Return the CRPS ∫ (F(t|x) − 1{y ≤ t})² dt for d_y = 1, (n,).

        The default integrates `cdf`, to 1e-8 of the scale of the law.
        """
        from condgof.laws._scores import integrate_crps

        return integrate_crps(self, as_rows(y))

    # ---- Abilities: y as a standard normal variable.

    def normal_scores(self, y: AnyArray) -> FloatArray:
        """Return u = Φ⁻¹(F(y|x)), (n, d_y).

        Under the law, u is standard normal and independent of x. With d_y > 1, F is the CDF
        of a coordinate given x *and the coordinates before it* (Rosenblatt's sequence). The
        default computes u from `cdf` and `sf`, or from a density that is integrated
        (`facing`).
        """
        y = np.asarray(y)
        self._columns(y)
        has_cdf = self.can("cdf")
        has_sf = self.can("sf")
        if not has_cdf and not has_sf:
            prepared = self.facing(y)
            if prepared is not self:
                return prepared.normal_scores(y)
        lower = check_cdf(self.cdf(y), len(y)) if has_cdf else None
        upper = check_cdf(self.sf(y), len(y), "sf")
        if lower is None:
            lower = 1.0 - upper
        # The default sf is 1 − cdf, which cannot be smaller than the digits of 1.
        smallest_upper = TINY if has_sf else RESOLVED
        return tail_scores(lower, upper, smallest_upper)[:, None]

    def marginals(self, y: AnyArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what is known of each coordinate y_k alone, (n, d_y) each.

        These are u_k = Φ⁻¹(F_k(y_k|x)) of its marginal CDF F_k, the slope du_k/dy_k, and
        the marginal score ∂ log f_k(y_k|x) / ∂y_k.
        """
        self.lacks("marginals")

    # ---- Abilities: draws and moments.

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw one y for each row, (n, d_y)."""
        self.lacks("sample")

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of y given x, (n, d_y) each."""
        self.lacks("mean_std")

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        """Return a location, (n, d_y), and a scale, (n, d_y).

        A multivariate law may return Cholesky factors as its scale, (n, d_y, d_y).
        """
        return self.mean_std()

    def embed(self, y: FloatArray) -> FloatArray:
        """Return y (m, d_y) as points whose distances mean something, (m, d).

        They are y itself, unless y is not on a line.
        """
        return y

    # ---- Abilities: discrete y.

    def residuals(self, y: AnyArray, by: str) -> Residuals:
        """Return a discrete y as kernels compare it, and residuals of mean 0 given x.

        `by` is "plain" for the residuals of the cells of y alone, or "full" for further
        columns that `adaptive` compares, such as ranks of classes.
        """
        self.lacks("residuals")

    # ---- Checks that subclasses share.

    def _checked(self, y: AnyArray) -> AnyArray:
        """Return y as an array, which must have the rows of the law."""
        y = np.asarray(y)
        if len(y) != self.n:
            raise ShapeError(
                f"y has {len(y)} rows, and the law of {self.name} has {self.n}."
            )
        return y

    def _columns(self, y: AnyArray, d_y: int = 1) -> FloatArray:
        """Return y as (n, d_y), which must be its number of columns."""
        y = as_rows(y)
        if y.shape[1] != d_y:
            raise UnsupportedModelError(
                f"{self.name} says this for d_y = {d_y} only, and here d_y = {y.shape[1]}."
            )
        return y if self.rows is None else self._checked(y)


class Around(Law):
    """A law that delegates to another one, `law`, except for what a subclass overrides."""

    law: Law

    rows = same_as("law.rows")
    name = same_as("law.name")
    index = same_as("law.index")
    of_x = same_as("law.of_x")
    fold_error = same_as("law.fold_error")
    refits = same_as("law.refits")
    notes = same_as("law.notes")
    normalised = same_as("law.normalised")
    support = same_as("law.support")
    can = same_as("law.can")
    lacks = same_as("law.lacks")
    embed = same_as("law.embed")
    mean_std = same_as("law.mean_std")
    location_scale = same_as("law.location_scale")


class Declared(Law):
    """A law whose support the user states: a dataclass with a field `ends`.

    `ends` is (low, high), arrays that broadcast to (n, d_y), or None for the whole line.
    """

    ends: tuple[AnyArray, AnyArray] | None = None

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        return super().support if self.ends is None else self.ends

    def within(self, low: AnyArray, high: AnyArray) -> Self:
        """Return the same law with the support (low, high)."""
        return replace(self, ends=(low, high))  # type: ignore[type-var]


class AtRows(Declared):
    """A law that keeps rows of x: a dataclass with these fields.

    `x` is None for a law without covariates, and `count` is the number of rows.
    """

    x: Any
    count: int

    rows = same_as("count")

    def take(self, rows: IntArray) -> Self:
        x = None if self.x is None else take_rows(self.x, rows)
        return replace_rows(self, rows, x=x, count=len(rows))


class ByRow(Law):
    """A law that consists of arrays with one row an observation.

    It is a dataclass, and `EACH` names the fields that are such arrays.
    """

    EACH: ClassVar[tuple[str, ...]] = ("values",)

    @property
    def rows(self) -> int | None:
        first_array = getattr(self, self.EACH[0])
        return len(first_array)

    def take(self, rows: IntArray) -> Self:
        arrays = {name: getattr(self, name)[rows] for name in self.EACH}
        return replace_rows(self, rows, **arrays)


class ModelLike(Protocol):
    """What is accepted as a model: a law, or a function x → law, which has no rows."""

    @property
    def rows(self) -> int | None: ...
    @property
    def name(self) -> str: ...
    def take(self, rows: IntArray) -> ModelLike: ...
    def __call__(self, x: TableLike | None = None, n: int | None = None) -> Law: ...


@dataclass(frozen=True, eq=False)
class Model:
    """A model p(y|x): a function from x to the law of y there.

    Parameters
    ----------
    make : callable
        x → law with one row for each row of x, a copy of what the user passed; without
        `conditional` it also gets the number of rows, since x may be None.
    name : str
        What messages call it.
    beside : mapping of str to ndarray
        Arrays with one row for each observation that `make` needs beside x, passed by name.
    conditional, batched : bool
        Whether there must be an x; whether rows may be asked for some at a time.

    Examples
    --------
    >>> from condgof.models import Normal
    >>> model = Model(lambda x: Normal(mean=2 * x, std=1.0))
    >>> model(np.array([0.0, 1.0])).score(np.array([1.0, 1.0]))[:, 0]
    array([-1.,  1.])
    """

    make: Callable[..., Law]
    name: str = "the model"
    beside: Mapping[str, AnyArray] = field(default_factory=dict)
    conditional: bool = True
    batched: bool = False
    #: y of the rows that the model was fitted on, (n,), where its library keeps them.
    fitted_y: AnyArray | None = None
    #: x of these rows, (n, d), where its library keeps that and no y of numbers.
    fitted_x: AnyArray | None = None
    #: Whether it comes from a library of survival models, where times may be censored.
    of_survival: bool = False
    #: What a reader should know of the fit, a sentence each.
    fit_notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not callable(self.make):
            raise InputTypeError(
                f"A model is a function x → law, got {type(self.make).__name__}."
            )

    @property
    def rows(self) -> int | None:
        """Number of rows of the arrays in `beside`; None without such arrays."""
        return next((len(array) for array in self.beside.values()), None)

    def take(self, rows: IntArray) -> Model:
        """Return the model bound to some rows of the arrays in `beside`."""
        beside = {name: array[rows] for name, array in self.beside.items()}
        return replace(self, beside=beside)

    def __call__(self, x: TableLike | None = None, n: int | None = None) -> Law:
        """Return the law at the rows of x, or at n rows where there is no x."""
        if x is None and self.conditional:
            raise InputError(
                f"{self.name} predicts y from x, and there is no x. Use a test of a"
                " conditional model: condgof.adaptive, kcsd or fscd."
            )
        n = row_count(x, n)
        check_bound(self.rows, n, ", ".join(self.beside))
        # A batch is a copy already; a function that works in place must not change x.
        x_copy = x if self.batched else fresh(x)
        with users_code(self.name):
            law = self._evaluate(x_copy, n)
        if not isinstance(law, Law):
            raise InputTypeError(
                f"A model is a function x → law, and {self.name} returned"
                f" {type(law).__name__}. Return what condgof.normal, condgof.from_draws, …"
                " make."
            )
        if law.rows not in (None, n):
            raise ShapeError(f"{self.name} has {law.rows} rows for {n} rows of x.")
        return law(x, n) if law.rows is None else law

    def _evaluate(self, x: TableLike | None, n: int) -> Law:
        """Call the user's function with what it takes."""
        if self.conditional:
            return self.make(x, **self.beside)
        return self.make(x, n)


class Joined(Law):
    """A law of n rows that consists of laws of some of the rows each.

    A method asks the parts one after the other, and puts their answers together in the
    order of the rows.
    """

    def parts(self) -> Iterator[tuple[Rows, Law]]:
        """Yield the rows of each part and its law."""
        raise NotImplementedError

    @cached_property
    def first(self) -> Law:
        """The law of one part, which stands for all in what does not differ by row."""
        _, law = next(iter(self.parts()))
        return law

    name = same_as("first.name")
    normalised = same_as("first.normalised")
    can = same_as("first.can")
    lacks = same_as("first.lacks")
    embed = same_as("first.embed")

    def _gather(self, ask: Callable[[Law, Rows], T]) -> T:
        """Return ``ask(law, rows)`` of all parts, in the order of the rows.

        `ask` returns an array with one row for each row of the part, or a tuple of such
        arrays, in which None stands for what the law does not have.
        """
        whole: list[FloatArray | None] = []
        is_tuple = False
        for rows, law in self.parts():
            answer = ask(law, rows)
            # A network's batch must be freed before the next one is computed.
            del law
            is_tuple = isinstance(answer, tuple)
            arrays = cast(tuple[Any, ...], answer if is_tuple else (answer,))
            if not whole:
                whole = [_empty_rows(array, self.n) for array in arrays]
            for target, array in zip(whole, arrays, strict=True):
                if target is not None and array is not None:
                    target[rows] = array
        return cast(T, tuple(whole) if is_tuple else whole[0])

    def _gather_fixed(self, ask: Callable[[Law, Rows], T]) -> T:
        """Return `_gather(ask)` of what depends on the rows alone and is not random."""
        return self._gather(ask)

    def _gather_at(self, y: AnyArray, ask: Callable[[Law, AnyArray], T]) -> T:
        """Return ``ask(law, y of its rows)`` of all parts, in the order of the rows."""
        y = self._checked(y)
        return self._gather_fixed(lambda law, rows: ask(law, y[rows]))

    def _at(self, method: str, y: AnyArray) -> Any:
        """Return what a method of the parts, by its name, answers at y."""
        return self._gather_at(y, lambda law, y: getattr(law, method)(y))

    def score(self, y: AnyArray) -> AnyArray:
        scores, _ = self.score_and_error(y)
        return scores

    def score_and_error(self, y: AnyArray) -> tuple[AnyArray, AnyArray | None]:
        return self._gather_at(y, _score_and_error_columns)

    def log_prob(self, y: AnyArray) -> FloatArray:
        return self._gather_at(y, lambda law, y: law.log_prob(y))

    def cdf(self, y: AnyArray) -> FloatArray:
        return self._gather_at(y, lambda law, y: law.cdf(y))

    def sf(self, y: AnyArray) -> FloatArray:
        return self._gather_at(y, lambda law, y: law.sf(y))

    def crps(self, y: AnyArray) -> FloatArray:
        return self._gather_at(y, lambda law, y: law.crps(y))

    def normal_scores(self, y: AnyArray) -> FloatArray:
        return self._gather_at(y, lambda law, y: law.normal_scores(y))

    def marginals(self, y: AnyArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        return self._gather_at(y, lambda law, y: law.marginals(y))

    def cdf_grid(self, values: AnyArray) -> FloatArray:
        return self._gather(lambda law, rows: evaluate_cdf_grid(law, values))

    def quantile(self, levels: object) -> FloatArray:
        return self._gather(lambda law, rows: law.quantile(levels))

    def sample(self, rng: np.random.Generator) -> FloatArray:
        return self._gather(lambda law, rows: law.sample(rng))

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        return self._gather(lambda law, rows: law.mean_std())

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        return self._gather(lambda law, rows: law.location_scale())

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        low, high = self.first.support
        if np.ndim(low) == 0 and np.ndim(high) == 0:
            return low, high  # the support of the family, whatever the row
        return self._gather(lambda law, rows: _support_by_row(law))


def _empty_rows(array: AnyArray | None, n: int) -> FloatArray | None:
    """Return an empty array of n rows like those of `array`; None for None."""
    return None if array is None else np.empty((n, *np.shape(array)[1:]))


def _score_and_error_columns(law: Law, y: AnyArray) -> tuple[AnyArray, AnyArray | None]:
    """Return scores and errors of a law in the shape (n, d_y), whatever the law returns."""
    score, error = law.score_and_error(y)
    shape = as_rows(y).shape
    return np.reshape(score, shape), None if error is None else np.reshape(error, shape)


def _support_by_row(law: Law) -> tuple[AnyArray, AnyArray]:
    """Return the ends of the support of a law with one row for each of its rows."""
    low, high = law.support
    columns_low = np.shape(low)[1:] or (1,)
    columns_high = np.shape(high)[1:] or (1,)
    return (
        np.broadcast_to(low, (law.n, *columns_low)),
        np.broadcast_to(high, (law.n, *columns_high)),
    )


@dataclass(frozen=True, eq=False)
class Batched(AtRows, Joined):
    """The law of a network at rows of x, evaluated in batches whatever is asked."""

    #: Rows by which `_gather_fixed` compares a small batch with the batches that it used.
    SPOT_CHECK_ROWS: ClassVar[int] = 4
    #: The largest relative difference there: single precision may differ in the sixth digit
    #: from batch to batch.
    SPOT_CHECK_TOLERANCE: ClassVar[float] = 1e-3

    #: (rows of x, their number) → law.
    make: Callable[[Any, int], Law]
    x: Any
    #: Number of rows, and of rows in a batch.
    count: int
    size: int
    #: A context in which batches are made and asked, and which leaves everything as it was.
    session: Callable[[], AbstractContextManager[Any]] = nullcontext
    #: What to do when the prediction of a row depends on other rows; ends the message.
    advice: str = "Each row's density must be a function of that row alone."
    ends: tuple[AnyArray, AnyArray] | None = None

    @cached_property
    def first(self) -> Law:
        with self.session():
            return self._batch(slice(0, min(2, self.count)))

    def _batch(self, rows: slice) -> Law:
        """Return the law of one batch."""
        x = None if self.x is None else take_rows(self.x, rows)  # type: ignore[arg-type]
        return self.make(x, rows.stop - rows.start)

    def parts(self) -> Iterator[tuple[Rows, Law]]:
        for start in range(0, self.count, self.size):
            rows = slice(start, min(start + self.size, self.count))
            yield rows, self._batch(rows)

    def _gather(self, ask: Callable[[Law, Rows], T]) -> T:
        with self.session():
            return super()._gather(ask)

    def _gather_fixed(self, ask: Callable[[Law, Rows], T]) -> T:
        """Refuse a network whose rows depend on the rows beside them, or that is random."""
        answer = self._gather(ask)
        few = slice(0, min(self.SPOT_CHECK_ROWS, max(1, self.count - 1)))
        with self.session():
            answer_alone = ask(self._batch(few), few)
        alone = _first_array(answer_alone)
        together = _first_array(answer)[few]
        with np.errstate(invalid="ignore"):
            difference = np.abs(alone - together) / (1.0 + np.abs(together))
        if (difference > self.SPOT_CHECK_TOLERANCE).any():
            worst = np.unravel_index(np.nanargmax(difference), difference.shape)
            raise InputError(
                "The prediction for a row changes with the rows beside it, or from"
                f" call to call (here from {together[worst]:.6g} to {alone[worst]:.6g})."
                f" {self.advice}"
            )
        return answer


def _first_array(answer: object) -> AnyArray:
    """Return an answer that is an array, or the first array of one that is a tuple."""
    return cast(AnyArray, answer[0] if isinstance(answer, tuple) else answer)


def evaluate_cdf_grid(law: Law, values: AnyArray) -> FloatArray:
    """Return P(Y ≤ v | x) of every row at m values v, (n, m).

    A subclass that overrides `cdf` alone inherits the `cdf_grid` of another CDF. So the
    general `Law.cdf_grid` is used where the class that defines `cdf` has no grid.
    """
    defining = next(
        cls for cls in type(law).__mro__ if "cdf" in vars(cls) or "cdf_grid" in vars(cls)
    )
    if "cdf_grid" in vars(defining):
        return law.cdf_grid(values)
    return Law.cdf_grid(law, values)


def invert(
    law: Law, function: Callable[[Law, FloatArray], AnyArray], targets: FloatArray
) -> FloatArray:
    """Return the smallest y at which an increasing function of y reaches its targets.

    Parameters
    ----------
    law : Law
        n rows of a single y.
    function : callable
        (law of k rows, y (k,)) → values (k,) that increase with y, such as the CDF. It is
        called inside the support only.
    targets : ndarray of shape (n, m)
        The values that are to be reached, m in each row.

    Returns
    -------
    ndarray of shape (n, m)
    """
    n, m = targets.shape
    each = law.take(np.repeat(np.arange(n), m))
    flat_targets = targets.ravel()
    start = np.zeros(n * m)
    step = np.ones(n * m)
    if law.can("location_scale") or law.can("mean_std"):
        location, scale = law.location_scale()
        start = np.repeat(location[:, 0], m)
        step = np.repeat(scale[:, 0], m)
    support_low, support_high = law.support
    low = np.clip(np.repeat(np.broadcast_to(support_low, (n, 1)), m), -FARTHEST, FARTHEST)
    high = np.clip(np.repeat(np.broadcast_to(support_high, (n, 1)), m), -FARTHEST, FARTHEST)

    def reached(y: FloatArray) -> AnyArray:
        with np.errstate(all="ignore"):
            return function(each, np.clip(y, low, high)) >= flat_targets

    return np.clip(first_place(reached, start, step), low, high).reshape(n, m)


def first_place(
    holds: Callable[[FloatArray], AnyArray],
    start: FloatArray,
    step: FloatArray | float,
    *,
    whole: bool = False,
) -> FloatArray:
    """Return the smallest places at which a condition holds, by bisection.

    Parameters
    ----------
    holds : callable
        Places (k,) → whether the condition holds there, (k,), and so at all larger places.
    start, step : ndarray of shape (k,), float
        Where the search begins, and the first step outwards; steps are doubled.
    whole : bool
        Whether places are whole numbers.

    Returns
    -------
    ndarray of shape (k,)
    """
    low = start - step
    high = start
    for k in range(DOUBLINGS):
        low_is_above = holds(low)
        high_is_below = ~holds(high)
        if not (low_is_above | high_is_below).any():
            break
        low = np.where(low_is_above, low - step * 2.0**k, low)
        high = np.where(high_is_below, high + step * 2.0**k, high)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if whole:
            middle = np.floor(middle)
        holds_at_middle = holds(middle)
        if np.array_equal(middle, np.where(holds_at_middle, high, low)):
            break  # low and high are neighbouring numbers everywhere
        low = np.where(holds_at_middle, low, middle)
        high = np.where(holds_at_middle, middle, high)
    return high


def tail_scores(
    lower: FloatArray, upper: FloatArray, least: float = RESOLVED
) -> FloatArray:
    """Return Φ⁻¹(F) from both tails, each accurate where it is small.

    Parameters
    ----------
    lower, upper : ndarray of any shape
        F and 1 − F. A lower tail of 0 (y is impossible) counts as the smallest number.
    least : float
        What an upper tail of 0 counts as: y is impossible, or the CDF has rounded to 1.
    """
    from_lower = ndtri(np.clip(lower, TINY, 0.5))
    smallest_upper = np.where(upper > 0, TINY, least)
    from_upper = -ndtri(np.clip(upper, smallest_upper, 0.5))
    return np.where(lower < 0.5, from_lower, from_upper)


def log_tail_scores(log_lower: FloatArray, log_upper: FloatArray) -> FloatArray:
    """Return Φ⁻¹(F) from log F and log(1 − F): no tail is too far."""
    return np.where(log_lower < log_upper, ndtri_exp(log_lower), -ndtri_exp(log_upper))


def as_rows(y: AnyArray) -> FloatArray:
    """Return y of shape (n,) or (n, d_y) as doubles of shape (n, d_y)."""
    y = np.asarray(y, dtype=np.float64)
    return y[:, None] if y.ndim == 1 else y


def row_count(x: Any, n: int | None) -> int:
    """Return the number of rows of x, or `n` when there is no x."""
    if x is not None:
        return int(x.shape[0]) if hasattr(x, "shape") else len(x)
    if n is None:
        raise ShapeError("Without x a model needs the number of rows, model(n=...).")
    return n


def with_index(law: L, *predictions: Any) -> L:
    """Return the law after it has stored the pandas index that its predictions share."""
    # A single row holds for all rows, and its label for none.
    indices = [
        part.index for part in predictions if hasattr(part, "iloc") and len(part) != 1
    ]
    if any(not indices[0].equals(other) for other in indices):
        raise InputError(
            "The predictions have different indices. Align them first, or pass arrays."
        )
    if indices:
        object.__setattr__(law, "index", indices[0])
    return law


def check_bound(rows: int | None, n: int, what: str) -> None:
    """Refuse a sample of n rows for a model that is bound to another number of rows."""
    if rows not in (None, n):
        raise ShapeError(
            f"The model is bound to {rows} rows and the sample has {n}. Pass one row of"
            f" {what} for each row of y."
        )


def check_shape(raw: object, n: int, d_y: int, what: str) -> FloatArray:
    """Return a law's answer as (n, d_y), or refuse its shape; nothing is broadcast."""
    array = as_numbers(raw, what, advice="Check what the model returns.")
    if array.shape != (n, d_y) and not (d_y == 1 and array.shape == (n,)):
        wanted = f"({n}, {d_y}), {d_y} numbers"
        if d_y == 1:
            wanted = f"({n}, 1) or ({n},), one number"
        raise ShapeError(
            f"{what} must have shape {wanted} for each row, got {array.shape}."
        )
    return array.reshape(n, d_y).astype(np.float64)


def check_per_row(raw: object, n: int, method: str) -> FloatArray:
    """Return the answer of a law's method, which must be one number for each row, (n,)."""
    return check_shape(raw, n, 1, f"What {method} returns")[:, 0]


def check_cdf(raw: object, n: int, method: str = "cdf") -> FloatArray:
    """Return the values of a CDF, (n,), which must lie in [0, 1] up to rounding."""
    values = check_per_row(raw, n, method)
    # NaN passes: where the values are used, the error says in which rows and why.
    bad = (values < -CDF_ROUNDING) | (values > 1.0 + CDF_ROUNDING)
    advice = f"The first is {values[bad.argmax()]:.6g}. Check the model there." if n else ""
    refuse_rows(bad, f"The model's {method} must lie between 0 and 1, and does not", advice)
    return np.asarray(np.clip(values, 0.0, 1.0))


def check_levels(levels: object, what: str = "levels") -> FloatArray:
    """Return levels of quantiles, or coverages, (m,), which must lie between 0 and 1."""
    array = np.atleast_1d(as_numbers(levels, what)).astype(np.float64)
    if array.ndim != 1 or not ((array > 0) & (array < 1)).all():
        raise InputError(
            f"{what} must lie between 0 and 1 (both left out), got {levels!r}."
        )
    return array


def refuse_outside(bad: AnyArray, model: str) -> None:
    """Refuse observations not inside the open support, where a mask (n, …) is true."""
    if bad.any():
        rows = np.flatnonzero(bad.reshape(len(bad), -1).any(axis=1))
        raise SupportError(model, len(rows), len(bad), int(rows[0]))
