"""The law of y at some rows, which takes no x, and the model: a function from x to such a law.

Every law is also the model that says the same whatever x is, as long as there are as many
rows.
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
from typing import Any, ClassVar, NoReturn, Protocol, Self, TypeVar

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

#: What each test asks of a law: one of these.
NEEDS = {
    **dict.fromkeys(
        ("adaptive", "kcsd", "fscd", "ksd"), ("score", "cdf", "normal_scores", "residuals")
    ),
    "fssd": ("score",),
    "mmd": ("sample",),
    "zheng": ("cdf",),
}
#: The smallest tail that a double can hold, and what an sf that is 1 − cdf resolves.
TINY, RESOLVED = float(np.finfo(np.float64).tiny), 2.0**-54
#: How far beyond [0, 1] rounding may put a CDF; single precision is welcome.
CDF_ROUNDING = 1e-6

L = TypeVar("L", bound="Law")


def same_as(path: str) -> Any:
    """Return a property of a law that is one, or a method, of what it holds, such as "base.name"."""
    return property(attrgetter(path))


def taken(law: L, rows: IntArray, **fields: Any) -> L:
    """Return the law of some rows, a dataclass: these fields, its `ends` there, and the same `of_x`."""
    if ends := getattr(law, "ends", None):
        fields["ends"] = tuple(
            end[rows] if np.ndim(end) and len(end) > 1 else end for end in ends
        )
    made = replace(law, **fields)  # type: ignore[type-var]
    if "of_x" in vars(law):
        object.__setattr__(made, "of_x", law.of_x)
    return made


class Law:
    """What a model says of y at n rows: a subset of density, score, CDF, draws and moments.

    Subclasses have `rows` and `take`, and override what else they have; the rest raises
    `UnsupportedModelError`, which says which tests can take the law. y has shape (n,) or
    (n, d_y).

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
    >>> cg.adaptive(cg.models.Model(Logistic), x, x + rng.logistic(size=200), rng=1).reject()
    False
    """

    #: What a message adds when the law lacks what a test needs.
    WHY_NOT: ClassVar[str] = ""
    #: Whether y is held against cells of probability, by `residuals`, in place of a
    #: `score`.
    discrete: bool = False
    #: Whether what it predicts is a function of x alone. Draws are not, nor are fits to
    #: other rows of the same sample: where they happen to be high, y ranks low among them,
    #: which is no misfit.
    of_x: bool = True
    #: What a reader of a result should know, a sentence each.
    notes: tuple[str, ...] = ()
    #: Whether densities and probabilities are known to sum to 1.
    normalised: bool = True
    #: The index of the pandas objects that it was made of.
    index: Any = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Guard the methods of a law of one's own: what they raise becomes one error that names them."""
        super().__init_subclass__(**options)
        if cls.__module__.partition(".")[0] != "condgof":
            for name, method in list(vars(cls).items()):
                if isfunction(method) and not name.startswith("_"):
                    setattr(cls, name, users_code(f"{cls.__name__}.{name}")(method))

    @property
    def rows(self) -> int | None:
        """Number of rows; None where any number will do, or x is still to be given."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """What messages call it."""
        return type(self).__name__

    def take(self, rows: IntArray) -> Law:
        """Return the law of some rows."""
        why = "has no take(rows), the law of some of its rows. Write it."
        raise UnsupportedModelError(f"{self.name} {why}")

    def __call__(self, x: Any = None, n: int | None = None) -> Law:
        """Return the law itself, once x has as many rows."""
        n = row_count(x, n if n is not None or x is not None else self.rows)
        check_bound(
            self.rows, n, "predictions (means and deviations, scores, probabilities, draws)"
        )
        return self

    def facing(self, y: AnyArray) -> Law:
        """Return the law, told which y it will be asked about.

        One with a density of a single y and no CDF then offers normal scores if the density
        can be integrated to one (`condgof.laws._quadrature`). Any other is returned as it
        is.
        """
        if (
            self.discrete
            or self.can("normal_scores")
            or self.can("cdf")
            or not self.can("log_prob")
        ):
            return self
        from condgof.laws._quadrature import Integrated

        y = np.asarray(y)
        return Integrated(self, y) if y.shape[1:] in ((), (1,)) else self

    def noted(self, *notes: str) -> Self:
        """Return the same law with more notes for the reader of a result."""
        same = copy.copy(self)
        object.__setattr__(same, "notes", (*self.notes, *notes))
        return same

    def score(self, y: AnyArray) -> AnyArray:
        """Return ∇_y log p(y|x), (n, d_y) or (n,)."""
        self.lacks("score")

    def score_and_error(self, y: AnyArray) -> tuple[AnyArray, AnyArray | None]:
        """Return the scores and, where they are approximate, their estimated absolute errors."""
        return self.score(y), None

    def log_prob(self, y: AnyArray) -> FloatArray:
        """Return log p(y|x), (n,)."""
        self.lacks("log_prob")

    def cdf(self, y: AnyArray) -> FloatArray:
        """Return P(Y ≤ y | x) for d_y = 1, (n,)."""
        self.lacks("cdf")

    def sf(self, y: AnyArray) -> FloatArray:
        """Return P(Y > y | x) for d_y = 1, (n,); override it where 1 − cdf loses the upper tail."""
        return np.asarray(1.0 - self.cdf(y))

    def crps(self, y: AnyArray) -> FloatArray:
        """Return the CRPS ∫ (F(t|x) − 1{y ≤ t})² dt for d_y = 1, (n,), to 1e-8 of the law's scale."""
        from condgof.laws._scores import integrated

        return integrated(self, as_rows(y))

    def normal_scores(self, y: AnyArray) -> FloatArray:
        """Return u = Φ⁻¹(F(y|x)), (n, d_y): standard normal and independent of x under the law.

        With d_y > 1 F is the CDF of a coordinate given x *and the coordinates before it*
        (Rosenblatt's sequence). Here it comes from `cdf` and `sf`, or from a density that
        is integrated (`facing`).
        """
        y = np.asarray(y)
        self._columns(y)
        law = self if self.can("cdf") or self.can("sf") else self.facing(y)
        if law is not self:
            return law.normal_scores(y)
        lower = checked_cdf(self.cdf(y), len(y)) if self.can("cdf") else None
        upper = checked_cdf(self.sf(y), len(y), "sf")
        least = TINY if self.can("sf") else RESOLVED
        return tail_scores(1.0 - upper if lower is None else lower, upper, least)[:, None]

    def marginals(self, y: AnyArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return u_k = Φ⁻¹(F_k(y_k|x)) of the marginal CDFs, du_k/dy_k and ∂ log f_k, (n, d_y) each."""
        self.lacks("marginals")

    def cdf_grid(self, values: AnyArray) -> FloatArray:
        """Return P(Y ≤ v | x) at m values, (n, m); `cdf` gets them as they are, (m,) or (m, 1)."""
        law = self.take(np.repeat(np.arange(self.n), len(values)))
        tiled = np.tile(values, (self.n, *(1 for _ in values.shape[1:])))
        return one_each(law.cdf(tiled), len(tiled), "cdf").reshape(self.n, len(values))

    def quantile(self, levels: object) -> FloatArray:
        """Return the quantiles of y at m levels for d_y = 1, (n, m), here by halving an interval."""
        wanted = np.tile(check_levels(levels), (self.n, 1))
        return inverted(self, lambda law, y: law.cdf(y), wanted)

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        """The open interval of y: ends that broadcast to (n, d_y), ∓∞ where there is no bound."""
        return np.array(-math.inf), np.array(math.inf)

    def sample(self, rng: np.random.Generator) -> FloatArray:
        """Draw one y for each row, (n, d_y)."""
        self.lacks("sample")

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of y given x, (n, d_y) each."""
        self.lacks("mean_std")

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        """Return where y lies, (n, d_y), and how wide: that, or Cholesky factors (n, d_y, d_y)."""
        return self.mean_std()

    def residuals(self, y: AnyArray, by: str) -> Any:
        """Return a discrete y as kernels compare it, with its residuals, of mean 0 given x."""
        self.lacks("residuals")

    def can(self, ability: str) -> bool:
        """Whether the law has an ability, such as ``"score"`` or ``"cdf"``."""
        return getattr(type(self), ability) is not getattr(Law, ability)

    def lacks(self, ability: str) -> NoReturn:
        """Refuse what the law cannot do, and say what it can."""
        tests = sorted(test for test, needs in NEEDS.items() if any(map(self.can, needs)))
        able = (
            f"Tests that can take it: {', '.join(tests)}."
            if tests
            else "No test can take it."
        )
        why = f" ({self.WHY_NOT})" if self.WHY_NOT else ""
        raise UnsupportedModelError(f"{self.name} has no {ability}{why}. {able}")

    def _checked(self, y: AnyArray) -> AnyArray:
        """Refuse a y of another number of rows."""
        y = np.asarray(y)
        if len(y) != self.n:
            raise ShapeError(
                f"y has {len(y)} rows, and the law of {self.name} has {self.n}."
            )
        return y

    def _columns(self, y: AnyArray, d_y: int = 1) -> FloatArray:
        """Return y as (n, d_y), which it must have."""
        y = as_rows(y)
        if y.shape[1] != d_y:
            told = f"{self.name} says this for d_y = {d_y} only"
            raise UnsupportedModelError(f"{told}, and here d_y = {y.shape[1]}.")
        return y if self.rows is None else self._checked(y)

    @property
    def n(self) -> int:
        """Number of rows, which must be known."""
        if self.rows is None:
            raise InputTypeError(
                f"{self.name} is a model: call it with x, as in model(x).mean_std()."
            )
        return self.rows


class Around(Law):
    """A law that is another, `law`, but for what it overrides."""

    law: Law

    rows, name, index = same_as("law.rows"), same_as("law.name"), same_as("law.index")
    of_x, notes, normalised = (
        same_as("law.of_x"),
        same_as("law.notes"),
        same_as("law.normalised"),
    )
    support, can, lacks = same_as("law.support"), same_as("law.can"), same_as("law.lacks")
    mean_std, location_scale = same_as("law.mean_std"), same_as("law.location_scale")


class Declared(Law):
    """A law that lives where its maker says: a dataclass with a field `ends`, None for the line."""

    ends: tuple[AnyArray, AnyArray] | None = None

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        return super().support if self.ends is None else self.ends

    def within(self, low: AnyArray, high: AnyArray) -> Self:
        return replace(self, ends=(low, high))  # type: ignore[type-var]


class AtRows(Declared):
    """A law that keeps rows of x, `count` of them: a dataclass with these fields, x None without any."""

    x: Any
    count: int

    rows = same_as("count")

    def take(self, rows: IntArray) -> Self:
        x = None if self.x is None else take_rows(self.x, rows)
        return taken(self, rows, x=x, count=len(rows))


class ByRow(Law):
    """A law made of arrays with a row for each observation: a dataclass whose fields `EACH` names."""

    EACH: ClassVar[tuple[str, ...]] = ("values",)

    @property
    def rows(self) -> int | None:
        return len(getattr(self, self.EACH[0]))

    def take(self, rows: IntArray) -> Self:
        return taken(self, rows, **{name: getattr(self, name)[rows] for name in self.EACH})


class ModelLike(Protocol):
    """What functions that take a model work with: a law, or a function x → law, which has no rows."""

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

    def __post_init__(self) -> None:
        if not callable(self.make):
            raise InputTypeError(
                f"A model is a function x → law, got {type(self.make).__name__}."
            )

    @property
    def rows(self) -> int | None:
        return next((len(array) for array in self.beside.values()), None)

    def take(self, rows: IntArray) -> Model:
        return replace(
            self, beside={name: array[rows] for name, array in self.beside.items()}
        )

    def __call__(self, x: Any = None, n: int | None = None) -> Law:
        """Return the law at the rows of x; n where there is no x."""
        if x is None and self.conditional:
            advice = "Use a test of a conditional model: condgof.adaptive, kcsd or fscd."
            raise InputError(f"{self.name} predicts y from x, and there is no x. {advice}")
        n = row_count(x, n)
        check_bound(self.rows, n, ", ".join(self.beside))
        given = x if self.batched else fresh(x)
        with users_code(self.name):
            law = (
                self.make(given, **self.beside) if self.conditional else self.make(given, n)
            )
        if not isinstance(law, Law):
            got = (
                f"A model is a function x → law, and {self.name} returned"
                f" {type(law).__name__}"
            )
            raise InputTypeError(
                f"{got}. Return what condgof.normal, condgof.from_draws, … make."
            )
        if law.rows not in (None, n):
            raise ShapeError(f"{self.name} has {law.rows} rows for {n} rows of x.")
        return law(x, n) if law.rows is None else law


def _asked(name: str) -> Any:
    """Return the method of a joined law that asks all its parts."""
    return lambda self, *given: self._gather(lambda law, rows: getattr(law, name)(*given))


def _asked_of_y(name: str) -> Any:
    return lambda self, y: self._at(name, y)


class Joined(Law):
    """A law put together of the laws of some of its rows, which are asked one after the other."""

    #: Which rows they are, and the laws.
    parts: Callable[..., Iterator[tuple[Any, Law]]]

    @cached_property
    def first(self) -> Law:
        return next(iter(self.parts()))[1]

    name, normalised = same_as("first.name"), same_as("first.normalised")
    can, lacks = same_as("first.can"), same_as("first.lacks")

    def _gather(self, ask: Callable[[Law, Any], Any]) -> Any:
        """Ask all parts, and put arrays, or tuples of them, together in the order of the rows."""
        out: list[FloatArray | None] | None = None
        single = True
        for rows, law in self.parts():
            value = ask(law, rows)
            del law  # nothing of a batch is alive when the next one is made
            single = not isinstance(value, tuple)
            values = (value,) if single else value
            if out is None:
                out = [
                    None if v is None else np.empty((self.n, *np.shape(v)[1:]))
                    for v in values
                ]
            for whole, part in zip(out, values, strict=True):
                if whole is not None and part is not None:
                    whole[rows] = part
        assert out is not None
        return out[0] if single else tuple(out)

    #: The same, of what depends on the rows alone and is not random.
    _about_rows = _gather

    def _at(self, name: str, y: AnyArray) -> Any:
        y = self._checked(y)
        return self._about_rows(lambda law, rows: getattr(law, name)(y[rows]))

    def score(self, y: AnyArray) -> AnyArray:
        return self.score_and_error(y)[0]

    def score_and_error(self, y: AnyArray) -> tuple[AnyArray, AnyArray | None]:
        y = self._checked(y)

        def ask(law: Law, rows: Any) -> tuple[AnyArray, AnyArray | None]:
            score, error = law.score_and_error(y[rows])
            shape = as_rows(y[rows]).shape
            return np.reshape(score, shape), (
                None if error is None else np.reshape(error, shape)
            )

        return self._about_rows(ask)  # type: ignore[no-any-return]

    log_prob, cdf, sf, crps = map(_asked_of_y, ("log_prob", "cdf", "sf", "crps"))
    normal_scores, marginals = _asked_of_y("normal_scores"), _asked_of_y("marginals")
    sample, quantile = _asked("sample"), _asked("quantile")
    mean_std, location_scale = _asked("mean_std"), _asked("location_scale")

    def cdf_grid(self, values: AnyArray) -> FloatArray:
        return np.asarray(self._gather(lambda law, rows: grid_of(law, values)))

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        if all(np.ndim(end) == 0 for end in self.first.support):
            return self.first.support  # what the family has, whatever the row

        def ask(law: Law, rows: object) -> tuple[AnyArray, ...]:
            return tuple(
                np.broadcast_to(e, (law.n, *(np.shape(e)[1:] or (1,)))) for e in law.support
            )

        return self._gather(ask)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Batched(AtRows, Joined):
    """The law of a network: `count` rows of x, evaluated `size` of them at a time, whatever is asked."""

    #: (rows of x, their number) → law.
    make: Callable[[Any, int], Law]
    x: Any
    count: int
    size: int
    #: A context in which batches are made and asked, and which leaves everything as it was.
    session: Callable[[], AbstractContextManager[Any]] = nullcontext
    advice: str = "Each row's density must be a function of that row alone."
    ends: tuple[AnyArray, AnyArray] | None = None

    @cached_property
    def first(self) -> Law:
        with self.session():
            return self._made(slice(0, min(2, self.count)))

    def _made(self, rows: slice) -> Law:
        x = None if self.x is None else take_rows(self.x, rows)  # type: ignore[arg-type]
        return self.make(x, rows.stop - rows.start)

    def parts(self) -> Iterator[tuple[Any, Law]]:
        for start in range(0, self.count, self.size):
            rows = slice(start, min(start + self.size, self.count))
            yield rows, self._made(rows)

    def _gather(self, ask: Callable[[Law, Any], Any]) -> Any:
        with self.session():
            return super()._gather(ask)

    def _about_rows(self, ask: Callable[[Law, Any], Any]) -> Any:
        """Refuse a model whose rows depend on the rows beside them, or that is random."""
        values = self._gather(ask)
        few = slice(0, min(4, max(1, self.count - 1)))
        with self.session():
            alone = ask(self._made(few), few)
        alone, together = (v[0] if isinstance(v, tuple) else v for v in (alone, values))
        together = together[few]
        with np.errstate(invalid="ignore"):
            apart = np.abs(alone - together) / (1.0 + np.abs(together))
        # Single precision may differ in the sixth digit from batch to batch.
        if (apart > 1e-3).any():
            worst = np.unravel_index(np.nanargmax(apart), apart.shape)
            raise InputError(
                "What the model says of a row changes with the rows beside it, or from"
                f" call to call (here from {together[worst]:.6g} to {alone[worst]:.6g})."
                f" {self.advice}"
            )
        return values


def grid_of(law: Law, values: AnyArray) -> FloatArray:
    """Return `cdf_grid`, unless a subclass overrides `cdf` alone and inherits a grid of another one."""
    first = next(cls for cls in type(law).__mro__ if {"cdf", "cdf_grid"} & vars(cls).keys())
    return law.cdf_grid(values) if "cdf_grid" in vars(first) else Law.cdf_grid(law, values)


def inverted(
    law: Law, ask: Callable[[Law, FloatArray], AnyArray], wanted: FloatArray
) -> FloatArray:
    """Return the smallest y at which something increasing, asked of the law, is `wanted`, (n, m)."""
    (n, m), goal = wanted.shape, wanted.ravel()
    each, start, step = (
        law.take(np.repeat(np.arange(n), m)),
        np.zeros(n * m),
        np.ones(n * m),
    )
    if law.can("location_scale") or law.can("mean_std"):
        start, step = (np.repeat(part[:, 0], m) for part in law.location_scale())
    ends = (np.repeat(np.broadcast_to(end, (n, 1)), m) for end in law.support)
    low, high = (np.clip(end, -1e300, 1e300) for end in ends)

    def reached(y: FloatArray) -> AnyArray:  # nobody is asked outside the support
        with np.errstate(all="ignore"):
            return ask(each, np.clip(y, low, high)) >= goal

    return np.clip(first_place(reached, start, step), low, high).reshape(n, m)


def first_place(
    holds: Callable[[FloatArray], AnyArray],
    start: FloatArray,
    step: Any,
    *,
    whole: bool = False,
) -> FloatArray:
    """Return the smallest places, perhaps whole numbers, at which and beyond which something holds."""
    low, high = start - step, start
    for k in range(60):
        over, under = holds(low), ~holds(high)
        if not (over | under).any():
            break
        low = np.where(over, low - step * 2.0**k, low)
        high = np.where(under, high + step * 2.0**k, high)
    for _ in range(120):
        middle = np.floor(0.5 * (low + high)) if whole else 0.5 * (low + high)
        there = holds(middle)
        if np.array_equal(middle, np.where(there, high, low)):  # nothing moves any more
            break
        low, high = np.where(there, low, middle), np.where(there, middle, high)
    return high


def tail_scores(
    lower: FloatArray, upper: FloatArray, least: float = RESOLVED
) -> FloatArray:
    """Return Φ⁻¹(F) from the lower tail F and the upper tail 1 − F, each accurate where it is small.

    Tails of 0 (y is impossible, or a CDF rounds to 1) count as the smallest number, and as
    `least`.
    """
    low = ndtri(np.clip(lower, TINY, 0.5))
    high = -ndtri(np.clip(upper, np.where(upper > 0, TINY, least), 0.5))
    return np.where(lower < 0.5, low, high)


def log_tail_scores(log_lower: FloatArray, log_upper: FloatArray) -> FloatArray:
    """Return Φ⁻¹(F) from log F and log(1 − F): no tail is too far."""
    return np.where(log_lower < log_upper, ndtri_exp(log_lower), -ndtri_exp(log_upper))


def one_each(raw: object, n: int, what: str) -> FloatArray:
    """Check that a function of the model, `what`, returned one number for each row, (n,)."""
    return check_shape(raw, n, 1, f"What {what} returns")[:, 0]


def checked_cdf(raw: object, n: int, what: str = "cdf") -> FloatArray:
    """Check that a CDF has one number for each row, between 0 and 1 up to rounding, (n,)."""
    values = one_each(raw, n, what)
    # NaN passes: what is done with the values says where and why.
    bad = (values < -CDF_ROUNDING) | (values > 1.0 + CDF_ROUNDING)
    got = f"The first is {values[bad.argmax()]:.6g}. Check the model there." if n else ""
    refuse_rows(bad, f"The model's {what} must lie between 0 and 1, and does not", got)
    return np.asarray(np.clip(values, 0.0, 1.0))


def check_levels(levels: object, what: str = "levels") -> FloatArray:
    """Check levels of quantiles, or coverages: numbers between 0 and 1, (m,)."""
    array = np.atleast_1d(as_numbers(levels, what)).astype(np.float64)
    if array.ndim != 1 or not ((array > 0) & (array < 1)).all():
        raise InputError(
            f"{what} must lie between 0 and 1 (both left out), got {levels!r}."
        )
    return array


def indexed(law: L, *given: Any) -> L:
    """Return a law that knows the index of the pandas objects it was made of, which must be one."""
    indices = [part.index for part in given if hasattr(part, "iloc")]
    if any(not indices[0].equals(other) for other in indices):
        raise InputError(
            "The predictions have different indices. Align them first, or pass arrays."
        )
    if indices:
        object.__setattr__(law, "index", indices[0])
    return law


def refuse_outside(bad: AnyArray, model: str) -> None:
    """Refuse observations outside the support, or on its boundary: those of a mask (n, …)."""
    if bad.any():
        rows = np.flatnonzero(bad.reshape(len(bad), -1).any(axis=1))
        raise SupportError(model, len(rows), len(bad), int(rows[0]))


def row_count(x: Any, n: int | None) -> int:
    """Return the number of rows of x, or `n` when there is no x."""
    if x is not None:
        return int(x.shape[0]) if hasattr(x, "shape") else len(x)
    if n is None:
        raise ShapeError("Without x a model needs the number of rows, model(n=...).")
    return n


def check_bound(rows: int | None, n: int, what: str) -> None:
    if rows not in (None, n):
        advice = f"Pass one row of {what} for each row of y."
        raise ShapeError(
            f"The model is bound to {rows} rows and the sample has {n}. {advice}"
        )


def as_rows(y: AnyArray) -> FloatArray:
    y = np.asarray(y, dtype=np.float64)
    return y[:, None] if y.ndim == 1 else y


def check_shape(raw: object, n: int, d_y: int, what: str) -> FloatArray:
    """Check the shape of what a law returns: (n, d_y), or (n,) when d_y = 1; nothing is broadcast."""
    array = as_numbers(raw, what, advice="Check what the model returns.")
    if array.shape != (n, d_y) and not (d_y == 1 and array.shape == (n,)):
        wanted = (
            f"({n}, 1) or ({n},), one number"
            if d_y == 1
            else f"({n}, {d_y}), {d_y} numbers"
        )
        raise ShapeError(
            f"{what} must have shape {wanted} for each row, got {array.shape}."
        )
    return array.reshape(n, d_y).astype(np.float64)
