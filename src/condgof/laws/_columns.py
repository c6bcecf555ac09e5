"""Predictions in columns of a table: `columns`, and how each kind of them becomes a law."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeAlias

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.errors import InputError, InputTypeError
from condgof.laws import _counts as counts
from condgof.laws import _families as families
from condgof.laws._draws import from_draws
from condgof.laws._families import normal
from condgof.laws._functions import from_scores
from condgof.laws._known import from_intervals, from_pit, from_quantiles
from condgof.laws._law import Declared, Law, check_levels
from condgof.laws._line import Bounds
from condgof.laws._parameters import Parametric
from condgof.sample import RngLike, Seed

#: One name of a column, or several.
Names: TypeAlias = str | Sequence[str]
#: The columns of each role ("mean", "draws", a family's parameter), side by side, (n, k).
Predictions: TypeAlias = Mapping[str, FloatArray]

#: Closed forms by the name that `columns` and the command line know them by.
FAMILIES: dict[str, type[Parametric]] = {
    "normal": families.Normal,
    "student-t": families.StudentT,
    "laplace": families.Laplace,
    "lognormal": families.LogNormal,
    "gamma": families.Gamma,
    "exponential": families.Exponential,
    "weibull": families.Weibull,
    "inverse-gaussian": families.InverseGaussian,
    "beta": families.Beta,
    "uniform": families.Uniform,
    "poisson": counts.Poisson,
    "negative-binomial": counts.NegativeBinomial,
    "binomial": counts.Binomial,
    "zero-inflated-poisson": counts.ZeroInflatedPoisson,
    "zero-inflated-negative-binomial": counts.ZeroInflatedNegativeBinomial,
    "hurdle-poisson": counts.HurdlePoisson,
    "hurdle-negative-binomial": counts.HurdleNegativeBinomial,
}

CROSSING = "predicted quantiles cross in some rows; they were sorted there"


@dataclass(frozen=True, eq=False)
class Columns:
    """Predictions in named columns of a table; see `columns`."""

    #: The names of the columns of each role.
    roles: Mapping[str, tuple[str, ...]]
    #: Predictions of some rows, and the numbers of these rows in the table → their law.
    make: Callable[[Predictions, IntArray], Law]
    name: str = "The model in columns"
    #: Where y lives, for Stein scores, which do not tell.
    support: Bounds | None = None
    rows: None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, each once."""
        listed: dict[str, None] = {}
        for names in self.roles.values():
            listed |= dict.fromkeys(names)
        return tuple(listed)

    def take(self, rows: IntArray) -> Columns:
        return self

    def __call__(self, x: TableLike | None = None, n: int | None = None) -> NoReturn:
        advice = "Pass condgof.scan(...) as x, or arrays as the model."
        raise InputTypeError(f"condgof.columns(...) names columns of a table. {advice}")

    def bind(self, table: Mapping[str, AnyArray], rows: IntArray, x: Any = None) -> Law:
        """Return the law of some rows of a table; `rows` are their numbers in the whole."""
        predictions = {
            role: _side_by_side(table, names) for role, names in self.roles.items()
        }
        law = self.make(predictions, rows)
        if self.support is None:
            return law
        assert isinstance(law, Declared)
        return law.within(*self.support.at(x, len(rows)))


def _side_by_side(table: Mapping[str, AnyArray], names: Sequence[str]) -> FloatArray:
    return np.column_stack([np.asarray(table[name], dtype=np.float64) for name in names])


def _normals(predictions: Predictions, rows: IntArray) -> Law:
    return normal(mean=predictions["mean"], std=predictions["std"])


def _scores(predictions: Predictions, rows: IntArray) -> Law:
    return from_scores(predictions["score"])


def _pits(predictions: Predictions, rows: IntArray) -> Law:
    return from_pit(predictions["pit"])


@dataclass(frozen=True)
class _Draws:
    """Draws of y; the seed is that of ties."""

    seed: int

    def __call__(self, predictions: Predictions, rows: IntArray) -> Law:
        return replace(from_draws(predictions["draws"], rng=self.seed), ids=rows)


@dataclass(frozen=True)
class _Quantiles:
    """Quantiles at levels; the seed is that of ties."""

    levels: tuple[float, ...]
    seed: int

    def __call__(self, predictions: Predictions, rows: IntArray) -> Law:
        law = from_quantiles(predictions["quantiles"], self.levels, rng=self.seed)
        # The note of `from_quantiles` counts rows, and these are not all rows of the table.
        notes = (CROSSING,) if law.notes else ()
        return replace(law, ids=rows).noted(*notes)


@dataclass(frozen=True)
class _Intervals:
    """Ends of intervals, in the order low, high, low, high, …, and their coverages."""

    coverage: tuple[float, ...]

    def __call__(self, predictions: Predictions, rows: IntArray) -> Law:
        ends = predictions["interval"]
        law = from_intervals(ends[:, ::2], ends[:, 1::2], self.coverage)
        return replace(law, ids=rows)


@dataclass(frozen=True)
class _Family:
    """A closed form: some of its parameters are columns, the others are numbers."""

    form: type[Parametric]
    numbers: Mapping[str, float]

    def __call__(self, predictions: Predictions, rows: IntArray) -> Law:
        arrays = {name: values[:, 0] for name, values in predictions.items()}
        return self.form(**arrays, **self.numbers)(n=len(rows))


def columns(
    *,
    mean: Names | None = None,
    std: Names | None = None,
    score: Names | None = None,
    family: str | None = None,
    param: Mapping[str, str | float] | None = None,
    draws: Names | None = None,
    quantiles: Mapping[str, float] | None = None,
    interval: Names | None = None,
    coverage: float | Sequence[float] = 0.9,
    pit: Names | None = None,
    support: object = None,
    rng: RngLike = 0,
) -> Columns:
    """Model whose predictions are columns of a scanned table; one of these kinds.

    Parameters
    ----------
    mean, std : str or list of str
        Columns with predicted means and standard deviations, one for each column of y.
    family, param : str, and mapping of str to str or float
        A closed form by name, such as "lognormal", and a column or number for each
        parameter of it.
    draws, pit, score : str or list of str
        Columns with draws of y, as in `from_draws`; PITs, as in `from_pit`; scores ∇_y log
        p(y|x).
    quantiles : mapping of str to float
        Columns with quantiles, and their levels, as in `from_quantiles`.
    interval, coverage : pair of str (or low, high, low, high, … of nested ones), and float
        Columns with the ends of intervals, and their coverage, as in `from_intervals`.
    support, rng : pair of float, optional; int, numpy.random.Generator or None
        The open interval (low, high) of y, for scores; for breaking ties of draws and
        quantiles.

    Examples
    --------
    >>> columns(mean="mu", std="sd").names
    ('mu', 'sd')
    >>> columns(family="lognormal", param={"mu": "m", "sigma": 0.5}).names
    ('m',)
    """
    if quantiles is not None and not isinstance(quantiles, Mapping):
        raise InputTypeError(
            f"quantiles must map columns to their levels, got {quantiles!r}."
        )
    roles = _read_roles(
        mean=mean,
        std=std,
        score=score,
        draws=draws,
        interval=interval,
        pit=pit,
        quantiles=None if quantiles is None else list(quantiles),
    )
    _check_one_kind(roles, family)
    seed = Seed.of(rng).value
    if support is not None and score is None:
        raise InputError(
            "support= goes with score=: other predictions have a support of their own."
        )
    if param is not None and not family:
        raise InputError("param= goes with family=, the name of a closed form.")
    if family:
        return _family_columns(family, {} if param is None else param)
    if len(roles.get("mean", ())) != len(roles.get("std", ())):
        raise InputError("columns needs mean= and std= with as many columns each.")
    if interval is not None and len(roles["interval"]) != 2 * np.size(coverage):
        got = f"{len(roles['interval'])} columns and {np.size(coverage)} coverages"
        raise InputError(
            f"interval= needs a low and a high column for each coverage: got {got}."
        )
    if quantiles is not None:
        levels = tuple(check_levels(list(quantiles.values())))
        return Columns(roles, _Quantiles(levels, seed))
    coverages = tuple(check_levels(coverage, "coverage"))
    if interval is not None:
        return Columns(roles, _Intervals(coverages))
    if draws is not None:
        return Columns(roles, _Draws(seed))
    if pit is not None:
        return Columns(roles, _pits)
    if score is not None:
        bounds = None if support is None else Bounds.from_pair(support)
        return Columns(roles, _scores, support=bounds)
    return Columns(roles, _normals)


def _read_roles(**names_by_role: Names | None) -> dict[str, tuple[str, ...]]:
    """Return the names of the columns of each role that has any."""
    roles = {}
    for role, names in names_by_role.items():
        if names is None:
            continue
        listed = (names,) if isinstance(names, str) else names
        if not isinstance(listed, Sequence) or not all(
            isinstance(name, str) for name in listed
        ):
            raise InputTypeError(
                f"{role} must be the name of a column or a list of names, got {names!r}."
            )
        roles[role] = tuple(listed)
    return roles


def _check_one_kind(roles: Mapping[str, tuple[str, ...]], family: str | None) -> None:
    """Refuse no prediction, and predictions of several kinds."""
    kinds = {"mean" if role == "std" else role for role in roles}
    if family:
        kinds.add("family")
    if len(kinds) != 1:
        options = (
            "mean= and std=, family= and param=, draws=, quantiles=, interval=, pit= or"
            " score="
        )
        got = ", ".join(sorted(kinds)) or "none"
        raise InputError(f"columns needs one kind of prediction, {options}; got {got}.")


def find_family(name: str) -> type[Parametric] | None:
    """Return a closed form by its name, in any case, with or without hyphens, or None."""
    plain = name.strip().lower().replace("-", "").replace("_", "")
    for key, form in FAMILIES.items():
        if key.replace("-", "") == plain:
            return form
    return None


def _family_columns(family: str, param: object) -> Columns:
    if not isinstance(param, Mapping):
        raise InputTypeError(
            f"param must map parameters to columns or numbers, got {param!r}."
        )
    form = find_family(family)
    if form is None:
        raise InputError(
            f"There is no family {family!r}. Those that there are: {', '.join(FAMILIES)}."
        )
    roles: dict[str, tuple[str, ...]] = {}
    numbers: dict[str, float] = {}
    for name, value in param.items():
        if isinstance(value, str):
            roles[name] = (value,)
        else:
            numbers[name] = float(value)
    # A parameter that the family does not have is refused here, before a table is read.
    form(**dict.fromkeys(roles, 0.5), **numbers)
    return Columns(roles, _Family(form, numbers), form.__name__)
