"""From what a user has to a model: the front door, and predictions in columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, NoReturn, TypeAlias

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.errors import (
    InputError,
    InputTypeError,
    NonFiniteError,
    check_finite,
    check_object,
)
from condgof.laws import _counts as counts
from condgof.laws import _families as families
from condgof.laws import _law as laws
from condgof.laws._draws import from_draws
from condgof.laws._families import Normal, normal
from condgof.laws._functions import from_scores
from condgof.laws._known import from_intervals, from_pit, from_quantiles
from condgof.laws._law import Declared, Law, Model, ModelLike
from condgof.laws._library import class_law, comes_from
from condgof.laws._line import Bounds
from condgof.laws._parameters import Parametric
from condgof.sample import RngLike, Sample, Seed, is_frame

#: Which function makes a law or a model, or None, of an object of a library, asked in this
#: order: those of NGBoost and scikit-survival are also scikit-learn's.
ADAPTERS = {
    "ngboost": "_scipy.of_ngboost", "qp": "_scipy.of_qp", "scipy": "_scipy.from_frozen",
    "torch": "_torch.adapt", "flowjax": "_jax.adapt", "numpyro": "_jax.adapt", "arviz": "_draws.adapt",
    "arviz_base": "_draws.adapt", "xarray": "_draws.adapt", "skpro": "_skpro.adapt",
    "statsmodels": "_statsmodels.from_statsmodels", "lifelines": "_survival.of_lifelines",
    "sksurv": "_survival.of_sksurv", "sklearn": "_sklearn.adapt",
}  # fmt: skip
PREDICTIONS = """\
  a tuple (mean, std) of arrays, or condgof.normal(mean=..., std=...)
  condgof.models.Normal, Gamma, Poisson, …, of arrays or functions of x
  condgof.from_draws(Y), from_quantiles(Q, levels), from_intervals(low, high, coverage),
  from_pit(u), from_bins(edges, P), from_scores(S), probabilities(P) for predictions
  condgof.from_score(f), from_log_prob(f), from_ratio(f) for a function f(y, x)"""
OBJECTS = """
  a frozen scipy.stats distribution, or one of torch, NumPyro, FlowJAX, skpro, NGBoost or qp
  condgof.from_scipy(f), from_torch(f) or from_jax(f) for a function f(x) → distribution
  fitted models of scikit-learn, skpro, NGBoost, statsmodels, lifelines or scikit-survival that
  predict a distribution, whatever has predict_proba; ArviZ data with a posterior_predictive
  condgof.models.with_residual_scale(regressor, std=...) for any other regressor"""
Names: TypeAlias = str | Sequence[str]
#: Predictions by role, (n, k) each.
Parts: TypeAlias = Mapping[str, FloatArray]
FAMILIES: dict[str, type[Parametric]] = {
    "normal": Normal, "student-t": families.StudentT, "laplace": families.Laplace,
    "lognormal": families.LogNormal, "gamma": families.Gamma, "exponential": families.Exponential,
    "weibull": families.Weibull, "inverse-gaussian": families.InverseGaussian, "beta": families.Beta,
    "uniform": families.Uniform, "poisson": counts.Poisson,
    "negative-binomial": counts.NegativeBinomial, "binomial": counts.Binomial,
    "zero-inflated-poisson": counts.ZeroInflatedPoisson,
    "zero-inflated-negative-binomial": counts.ZeroInflatedNegativeBinomial,
    "hurdle-poisson": counts.HurdlePoisson, "hurdle-negative-binomial": counts.HurdleNegativeBinomial,
}  # fmt: skip


def as_model(obj: Any) -> ModelLike:
    """Make a model of what a user has.

    Parameters
    ----------
    obj : law, model, tuple, or fitted object of a library
        A *tuple* (mean, std) holds predictions, arrays with one row for each observation or
        functions of x. Fitted regressors and distributions of other libraries are taken as
        they are; what is not known is answered with the list of what works. A bare array is
        refused: predictions, or scores?

    Examples
    --------
    >>> as_model((np.zeros(3), np.ones(3))).score(np.array([1.0, 2.0, 3.0]))[:, 0]
    array([-1., -2., -3.])
    """
    if isinstance(obj, (Law, Model, Columns)):
        return obj
    check_object(obj, "The model")
    if isinstance(obj, tuple):
        if len(obj) != 2:
            told = f"A tuple stands for (mean, std), and this one has {len(obj)} parts"
            raise InputTypeError(f"{told}. What works:\n{PREDICTIONS}")
        return Normal(mean=obj[0], std=obj[1])
    for path in (path for library, path in ADAPTERS.items() if comes_from(obj, library)):
        module, function = path.split(".")
        adapted: ModelLike | None = getattr(
            import_module(f"condgof.laws.{module}"), function
        )(obj)
        if adapted is not None:
            return adapted
    if hasattr(obj, "predict_proba") and not isinstance(obj, type):
        classes = getattr(obj, "classes_", None)
        return Model(partial(class_law, obj.predict_proba, classes), type(obj).__name__)
    if isinstance(obj, type):
        raise InputTypeError(f"{obj.__name__} is a class. Pass an object of it, fitted.")
    if callable(obj):
        raise InputTypeError(
            "A bare function is ambiguous. Name what it computes: condgof.from_score(f) or"
            " from_log_prob(f) for f(y, x), from_scipy(f) or condgof.models.Model(f) for"
            " f(x)."
        )
    if isinstance(obj, (np.ndarray, list)) or is_frame(obj) or hasattr(obj, "__array__"):
        got = f"shape {np.shape(obj)}" if np.ndim(obj) else f"a single {type(obj).__name__}"
        what = (
            f"An array alone does not say what it is: {got} could be predictions, scores,"
            " draws, …"
        )
        raise InputTypeError(f"{what}. Name it. What works:\n{PREDICTIONS}")
    what = f"Cannot make a model of {type(obj).__name__}"
    raise InputTypeError(f"{what}. What works:\n{PREDICTIONS}{OBJECTS}")


def law_of(model: ModelLike, sample: Sample) -> Law:
    """Call a model with x of a sample, without predictions for rows that the sample left out."""
    index, x_index = getattr(model, "index", None), getattr(sample.x_given, "index", None)
    if index is not None and hasattr(sample.x_given, "iloc"):
        predicted = (
            index[sample.kept] if sample.left_out and len(index) != sample.n else index
        )
        if len(predicted) == sample.n and not predicted.equals(x_index):
            advice = "Align them first, such as mean.loc[x.index], or pass arrays."
            raise InputError(f"The predictions and x have different indices. {advice}")
    if (
        sample.kept is not None
        and sample.left_out
        and model.rows == sample.n + sample.left_out
    ):
        notes, model = getattr(model, "notes", ()), model.take(sample.kept)
        if notes and isinstance(model, Law) and not model.notes:
            model = model.noted(*notes)
    law = model(sample.x_given, sample.n)
    text = [column.name for column in sample.y_columns if column.categorical]
    if text and not law.discrete:
        told = (
            f"y column {text[0]!r} holds text or categories, and y must be numeric for this"
            " model"
        )
        raise InputTypeError(
            f"{told}. Pass numbers, or a model of classes (condgof.probabilities)."
        )
    return law.facing(sample.y_given)


def drawn(law: Law, d_y: int, rng: np.random.Generator) -> FloatArray:
    """Draw y from a law, checked, (n, d_y)."""
    if not law.can("sample"):
        law.lacks("sample")
    values = laws.check_shape(law.sample(rng), law.n, d_y, "What sample returns")
    check_finite(values, "What the model samples", "Check its sampler at those rows of x.")
    return values


def cdf_rows(law: Law, sample: Sample, rows: IntArray) -> FloatArray:
    """Return F(y_k | x_i) for some rows i and all k of a sample with d_y = 1, (len(rows), n)."""
    values = laws.grid_of(law.take(rows), sample.y_given)
    values = laws.check_shape(values, len(rows), sample.n, "What cdf_grid returns")
    bad = ~((values >= -laws.CDF_ROUNDING) & (values <= 1.0 + laws.CDF_ROUNDING))
    if bad.any():
        i, k = np.argwhere(bad)[0]
        place = f"given row {rows[i]} of x (counted from 0), at y = {sample.y[k, 0]:.6g}"
        told = (
            f"The model's cdf is {values[i, k]:.6g} {place}, and a cdf lies between 0 and 1"
        )
        raise (InputError if np.isfinite(values[i, k]) else NonFiniteError)(
            f"{told}. Check the model."
        )
    return np.clip(values, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Columns:
    """Predictions in named columns of a table; see `columns`."""

    #: The columns of each prediction; what makes a law of them and the rows' numbers in the
    #: table.
    roles: Mapping[str, tuple[str, ...]]
    make: Callable[[Parts, IntArray], Law]
    name: str = "The model in columns"
    #: Where y lives, for scores, which do not say.
    support: Bounds | None = None
    rows: None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for names in self.roles.values() for name in names))

    def take(self, rows: IntArray) -> Columns:
        return self

    def __call__(self, x: TableLike | None = None, n: int | None = None) -> NoReturn:
        advice = "Pass condgof.scan(...) as x, or arrays as the model."
        raise InputTypeError(f"condgof.columns(...) names columns of a table. {advice}")

    def bind(self, table: Mapping[str, AnyArray], rows: IntArray, x: Any = None) -> Law:
        """Return the law of some rows, by their numbers in the whole table."""
        parts = {
            role: np.column_stack(
                [np.asarray(table[name], dtype=np.float64) for name in names]
            )
            for role, names in self.roles.items()
        }
        law = self.make(parts, rows)
        if self.support is None:
            return law
        assert isinstance(law, Declared)
        return law.within(*self.support.at(x, len(rows)))


def _made(kind: str, options: Any, seed: int, parts: Parts, rows: IntArray) -> Law:
    """Make the law of some rows of a table from predictions of one kind; see `columns`."""
    if kind == "family":
        form, numbers = options
        return form(**{name: p[:, 0] for name, p in parts.items()}, **numbers)(n=len(rows))  # type: ignore[no-any-return]
    (first, *_), makers = (
        parts.values(),
        {"mean": normal, "score": from_scores, "pit": from_pit},
    )
    if kind in makers:
        return makers[kind](*parts.values())  # type: ignore[operator, no-any-return]
    if kind == "draws":
        return replace(from_draws(first, rng=seed), ids=rows)
    if kind == "interval":
        return from_intervals(first[:, ::2], first[:, 1::2], options)
    law = from_quantiles(first, options, rng=seed)
    # Rows are read some at a time, so that no count of them is that of the table.
    notes = (
        ("predicted quantiles cross in some rows; they were sorted there",)
        if law.notes
        else ()
    )
    return replace(law, ids=rows).noted(*notes)


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
    roles = {
        "mean": mean, "std": std, "score": score, "draws": draws, "interval": interval, "pit": pit,
        "quantiles": None if quantiles is None else list(quantiles),
    }  # fmt: skip
    if quantiles is not None and not isinstance(quantiles, Mapping):
        raise InputTypeError(
            f"quantiles must map columns to their levels, got {quantiles!r}."
        )
    given = {
        role: _names(names, role) for role, names in roles.items() if names is not None
    }
    kinds = {"mean" if role == "std" else role for role in given} | (
        {"family"} if family else set()
    )
    if len(kinds) != 1:
        one = (
            "mean= and std=, family= and param=, draws=, quantiles=, interval=, pit= or"
            " score="
        )
        got = ", ".join(sorted(kinds)) or "none"
        raise InputError(f"columns needs one kind of prediction, {one}; got {got}.")
    (kind,), seed = kinds, Seed.of(rng).value
    if support is not None and kind != "score":
        raise InputError(
            "support= goes with score=: other predictions have a support of their own."
        )
    if kind == "family":
        return _family_columns(str(family), {} if param is None else param, seed)
    if kind == "mean" and len(given.get("mean", ())) != len(given.get("std", ())):
        raise InputError("columns needs mean= and std= with as many columns each.")
    if kind == "interval" and len(given["interval"]) != 2 * np.size(coverage):
        got = f"{len(given['interval'])} columns and {np.size(coverage)} coverages"
        raise InputError(
            f"interval= needs a low and a high column for each coverage: got {got}."
        )
    asked = (list(quantiles.values()), "levels") if quantiles else (coverage, "coverage")
    levels = laws.check_levels(*asked)
    bounds = None if support is None else Bounds.of(support)
    return Columns(given, partial(_made, kind, tuple(levels), seed), support=bounds)


def find_family(name: str) -> type[Parametric] | None:
    """Return a closed form by its name, in whatever case and with or without hyphens, or None."""
    plain = name.strip().lower().replace("-", "").replace("_", "")
    return next(
        (form for key, form in FAMILIES.items() if key.replace("-", "") == plain), None
    )


def _family_columns(family: str, param: object, seed: int) -> Columns:
    if not isinstance(param, Mapping):
        raise InputTypeError(
            f"param must map parameters to columns or numbers, got {param!r}."
        )
    form = find_family(family)
    if form is None:
        raise InputError(
            f"There is no family {family!r}. Those that there are: {', '.join(FAMILIES)}."
        )
    roles = {name: (value,) for name, value in param.items() if isinstance(value, str)}
    numbers = {
        name: float(value) for name, value in param.items() if not isinstance(value, str)
    }
    form(
        **dict.fromkeys(roles, 0.5), **numbers
    )  # an unknown parameter is answered with the list
    return Columns(roles, partial(_made, "family", (form, numbers), seed), form.__name__)


def _names(names: Names, what: str) -> tuple[str, ...]:
    listed = (names,) if isinstance(names, str) else names
    if not isinstance(listed, Sequence) or not all(
        isinstance(name, str) for name in listed
    ):
        raise InputTypeError(
            f"{what} must be the name of a column or a list of names, got {names!r}."
        )
    return tuple(listed)
