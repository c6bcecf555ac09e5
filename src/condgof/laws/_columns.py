"""A model whose predictions are columns of the same table as the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn, TypeAlias

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, InputTypeError
from condgof.laws import _counts as counts
from condgof.laws import _families as families
from condgof.laws._cells import from_intervals, from_quantiles
from condgof.laws._draws import from_draws
from condgof.laws._functions import from_scores
from condgof.laws._known import from_pit
from condgof.laws._law import Declared, Law, check_levels
from condgof.laws._line import Bounds
from condgof.laws._normal import Normal, normal
from condgof.laws._parameters import Parametric
from condgof.sample import RngLike, Seed

Names: TypeAlias = str | Sequence[str]
#: Predictions by role, (n, k) each; with the rows' own numbers they make a law.
Parts: TypeAlias = Mapping[str, FloatArray]
Make: TypeAlias = Callable[[Parts, IntArray], Law]
#: Closed forms by name.
FAMILIES: dict[str, type[Parametric]] = {
    "normal": Normal,
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


@dataclass(frozen=True, eq=False)
class Columns:
    """Predictions in named columns of a table; see `columns`."""

    #: The columns of each prediction, and what makes the law of some rows of them.
    roles: Mapping[str, tuple[str, ...]]
    make: Make
    name: str = "The model in columns"
    #: Where y lives, for scores, which do not say.
    support: Bounds | None = None
    rows: None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that the model needs."""
        return tuple(dict.fromkeys(name for names in self.roles.values() for name in names))

    def take(self, rows: IntArray) -> Columns:
        return self

    def __call__(self, x: Any = None, n: int | None = None) -> NoReturn:
        """Refuse: the columns are in a table that only a source can read."""
        raise InputTypeError(
            "condgof.columns(...) names columns of a table: pass condgof.scan(...) as x, or arrays as "
            "the model."
        )

    def bind(self, table: Mapping[str, AnyArray], rows: IntArray, x: Any = None) -> Law:
        """Return the law of some rows, from their columns, their numbers in the whole table, and x."""
        stacked = {
            role: np.column_stack([np.asarray(table[name], dtype=np.float64) for name in names])
            for role, names in self.roles.items()
        }
        law = self.make(stacked, rows)
        if self.support is None:
            return law
        assert isinstance(law, Declared)
        return law.within(*self.support.at(x, len(rows)))


def _one(law: Callable[..., Law], parts: Parts, rows: IntArray) -> Law:
    """Make a law of its predictions alone."""
    return law(*parts.values())


def _family(form: type[Parametric], numbers: Mapping[str, float], parts: Parts, rows: IntArray) -> Law:
    return form(**{name: p[:, 0] for name, p in parts.items()}, **numbers)(n=len(rows))


def _draws(seed: int, parts: Parts, rows: IntArray) -> Law:
    return replace(from_draws(parts["draws"], rng=seed), ids=rows)


def _quantiles(levels: tuple[float, ...], seed: int, parts: Parts, rows: IntArray) -> Law:
    law = from_quantiles(parts["quantiles"], levels, rng=seed)
    # Rows are read some at a time, so that no count of them is that of the table.
    notes = ("predicted quantiles cross in some rows; they were sorted there",) if law.notes else ()
    return replace(law, ids=rows).noted(*notes)


def _intervals(coverage: tuple[float, ...], parts: Parts, rows: IntArray) -> Law:
    return from_intervals(parts["interval"][:, ::2], parts["interval"][:, 1::2], coverage)


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
    support: Any = None,
    rng: RngLike = 0,
) -> Columns:
    """Model whose predictions are columns of a scanned table; one of these kinds.

    Parameters
    ----------
    mean, std : str or list of str
        Columns with predicted means and standard deviations, one for each column of y.
    score : str or list of str
        Columns with scores ∇_y log p(y|x).
    family, param : str, and mapping of str to str or float
        A closed form by name, such as "lognormal", and a column or number for each parameter of it.
    draws : list of str
        Columns with draws of y, as in `from_draws`.
    quantiles : mapping of str to float
        Columns with quantiles, and their levels, as in `from_quantiles`.
    interval, coverage : pair of str (or low, high, low, high, … of nested ones), and float
        Columns with the ends of intervals, and their coverage, as in `from_intervals`.
    pit : str or list of str
        Columns with probability integral transforms, as in `from_pit`.
    support : pair of float, optional
        The open interval (low, high) that y lives in, for scores of a model that does not live on
        the whole line; as in `from_score`.
    rng : int, numpy.random.Generator or None
        Of the random numbers that break ties among draws and quantiles.

    Examples
    --------
    >>> columns(mean="mu", std="sd").names
    ('mu', 'sd')
    >>> columns(family="lognormal", param={"mu": "m", "sigma": 0.5}).names
    ('m',)
    """
    roles = {
        "mean": mean, "std": std, "score": score, "draws": draws, "interval": interval, "pit": pit,
        "quantiles": None if quantiles is None else list(quantiles),
    }  # fmt: skip
    if quantiles is not None and not isinstance(quantiles, Mapping):
        raise InputTypeError(f"quantiles must map columns to their levels, got {quantiles!r}.")
    given = {role: _names(names, role) for role, names in roles.items() if names is not None}
    kinds = {"mean" if role == "std" else role for role in given} | ({"family"} if family else set())
    if len(kinds) != 1:
        raise InputError(
            "columns needs one kind of prediction: mean= and std=, family= and param=, draws=, "
            "quantiles=, interval= and coverage=, pit= or score=; got "
            f"{', '.join(sorted(kinds)) or 'none'}."
        )
    (kind,), seed = kinds, Seed.of(rng).value
    if support is not None and kind != "score":
        raise InputError("support= goes with score=: other predictions say by themselves where y lives.")
    if kind == "family":
        return _family_columns(str(family), param or {})
    if kind == "mean" and len(given.get("mean", ())) != len(given.get("std", ())):
        raise InputError("columns needs mean= and std= with as many columns each.")
    if kind == "interval" and len(given["interval"]) != 2 * np.size(coverage):
        raise InputError(
            f"interval= needs a column for low and one for high for each coverage: got "
            f"{len(given['interval'])} columns and {np.size(coverage)} coverages."
        )
    levels = tuple(check_levels(list(quantiles.values()))) if quantiles else ()
    shares = tuple(check_levels(coverage, "coverage"))
    makes: dict[str, Make] = {
        "mean": partial(_one, normal),
        "score": partial(_one, from_scores),
        "draws": partial(_draws, seed),
        "quantiles": partial(_quantiles, levels, seed),
        "interval": partial(_intervals, shares),
        "pit": partial(_one, from_pit),
    }
    return Columns(given, makes[kind], support=None if support is None else Bounds.of(support))


def find_family(name: str) -> type[Parametric] | None:
    """Return a closed form by its name, in whatever case and with or without hyphens, or None."""
    plain = name.strip().lower().replace("-", "").replace("_", "")
    return next((form for key, form in FAMILIES.items() if key.replace("-", "") == plain), None)


def _family_columns(family: str, param: Any) -> Columns:
    if not isinstance(param, Mapping):
        raise InputTypeError(f"param must map parameters to columns or numbers, got {param!r}.")
    form = find_family(family)
    if form is None:
        raise InputError(f"There is no family {family!r}. Those that there are: {', '.join(FAMILIES)}.")
    roles = {name: (value,) for name, value in param.items() if isinstance(value, str)}
    numbers = {name: float(value) for name, value in param.items() if not isinstance(value, str)}
    form(**dict.fromkeys(roles, 0.5), **numbers)  # an unknown parameter is answered with the list
    return Columns(roles, partial(_family, form, numbers), form.__name__)


def _names(names: Names, what: str) -> tuple[str, ...]:
    listed = (names,) if isinstance(names, str) else names
    if not isinstance(listed, Sequence) or not all(isinstance(name, str) for name in listed):
        raise InputTypeError(f"{what} must be the name of a column or a list of names, got {names!r}.")
    return tuple(listed)
