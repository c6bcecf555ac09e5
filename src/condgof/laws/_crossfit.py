"""Out-of-fold predictions: the law of every row, by a fit that has not seen it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.errors import InputError, InputTypeError, check_count, users_code
from condgof.kernels import Cells
from condgof.laws import fits
from condgof.laws._as_model import Columns, as_model
from condgof.laws._discrete import (
    FULL,
    CellOutcomes,
    Classes,
    Discrete,
    Probabilities,
    Residuals,
)
from condgof.laws._draws import RowDraws
from condgof.laws._functions import arguments, signature_of
from condgof.laws._known import CellsOfY, Histograms
from condgof.laws._law import Joined, Law, Model, taken
from condgof.laws._parameters import Parametric
from condgof.sample import RngLike, Seed, Use, check_rows, read_groups, take_rows

#: Laws of arrays with a row for each observation that can be put together.
ROWWISE = (RowDraws, CellsOfY, Histograms)
#: What laws of one form may differ in, beside their parameters and arrays.
UNLIKE = ("_rows", "notes", "index")
#: Laws of some rows each, with the numbers of these rows: each row once.
Parts = Sequence[tuple[IntArray, Law]]


def as_fit(fit: object) -> Callable[..., Any]:
    """Return (x, y, rng) → what a user's `fit` returns, once it is sure that it takes x and y."""
    if isinstance(fit, type) or not callable(fit) or isinstance(fit, (Law, Model, Columns)):
        what = f"the class {fit.__name__}" if isinstance(fit, type) else type(fit).__name__
        like = "such as condgof.fits.ols() or condgof.fits.sklearn(estimator)"
        raise InputTypeError(f"fit must be a function (x, y) → model, {like}, got {what}.")
    try:
        arguments(fit, x=None, y=None, rng=None)
    except TypeError as error:
        name = getattr(fit, "__name__", type(fit).__name__)
        told = f"{name}{signature_of(fit)} cannot be called with x and y ({error})"
        call = f"If it makes a function (x, y) → model, call it first: {name}(...)."
        raise InputTypeError(
            f"fit must be a function (x, y) → model, and {told}. {call}"
        ) from error
    return partial(_fitted, fit)


def _fitted(fit: Any, x: TableLike, y: TableLike, rng: Any) -> Any:
    args, named = arguments(fit, x=x, y=y, rng=rng)
    return fit(*args, **named)


@dataclass(frozen=True, eq=False)
class Folds(Joined):
    """Laws of some rows each, put together where no closed form holds them all."""

    laws: Parts

    @property
    def rows(self) -> int | None:
        return sum(len(rows) for rows, _ in self.laws)

    def parts(self) -> Iterator[tuple[Any, Law]]:
        yield from self.laws

    def take(self, rows: IntArray) -> Folds:
        fold, place = np.empty((2, self.n), np.int64)
        for k, (fold_rows, _) in enumerate(self.laws):
            fold[fold_rows], place[fold_rows] = k, np.arange(len(fold_rows))
        rows = np.arange(self.n)[rows]
        chosen = ((k, np.flatnonzero(fold[rows] == k)) for k in range(len(self.laws)))
        parts = [(at, self.laws[k][1].take(place[rows[at]])) for k, at in chosen if len(at)]
        return taken(self, rows, laws=parts)

    def can(self, ability: str) -> bool:
        return all(law.can(ability) for _, law in self.laws)

    def lacks(self, ability: str) -> NoReturn:
        next((law for _, law in self.laws if not law.can(ability)), self.first).lacks(
            ability
        )

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        ends = [law.support for _, law in self.laws]
        width = max(np.atleast_2d(end).shape[1] for pair in ends for end in pair)
        low, high = np.empty((2, self.n, width))
        for (rows, _), pair in zip(self.laws, ends, strict=True):
            low[rows], high[rows] = pair
        return low, high


class DiscreteFolds(Folds, Discrete):
    """The same where y is discrete, and all laws have the same cells."""

    def numbers(self, y: AnyArray) -> FloatArray:
        return np.asarray(self._at("numbers", y))

    def cells(self, by: str) -> Cells:
        return self.first.cells(by)  # type: ignore[attr-defined, no-any-return]

    def residuals(self, y: AnyArray, by: str) -> Residuals:
        y = self._checked(y)
        parts = [law.residuals(y[rows], by) for rows, law in self.laws]
        u, values = (
            _placed(self.laws, [getattr(r, k) for r in parts]) for k in ("u", "values")
        )
        cells = [r.outcomes for r in parts if isinstance(r.outcomes, CellOutcomes)]
        if len(cells) < len(parts):  # y cannot be drawn anew from what is known
            return Residuals(u, values)
        p = _placed(self.laws, [c.probabilities for c in cells])
        observed = _placed(self.laws, [c.observed for c in cells])
        return Residuals(
            u, values, replace(cells[0], whole=p, observed=observed, index=None)
        )

    def remarks(self, y: AnyArray) -> tuple[str, ...]:
        y = np.asarray(y)
        remarks_by_fold = (law.remarks(y[rows]) for rows, law in self.laws)  # type: ignore[attr-defined]
        return tuple(
            dict.fromkeys(remark for remarks in remarks_by_fold for remark in remarks)
        )


def join(laws: Parts) -> Law:
    """Put laws together, in the order of their rows: one closed form where they are of one family."""
    first = laws[0][1]
    whole: Law | None = None
    if all(type(law) is type(first) for _, law in laws):
        whole = _one_table(laws) if isinstance(first, Probabilities) else _one_law(laws)
    if whole is None:
        kinds = [_kind(law) for _, law in laws]
        odd = next((k for k, kind in enumerate(kinds) if kind != kinds[0]), None)
        if odd is not None:
            two = f"Fold 1 gives a law of {kinds[0]}, and fold {odd + 1} of {kinds[odd]}"
            raise InputError(
                f"{two}, which cannot be put together. Let fit return one kind of model."
            )
        whole = (DiscreteFolds if first.discrete else Folds)(laws)
    notes = dict.fromkeys(note for _, law in laws for note in law.notes)
    return whole.noted(*(note for note in notes if note not in whole.notes))


def _kind(law: Law) -> str:
    """Say what y is to a law, the same for laws that can be put together."""
    if not isinstance(law, Discrete):
        return "a continuous y"
    cells = law.cells(FULL)
    return f"a discrete y ({cells.words}: {cells.width})"


def _one_law(laws: Parts) -> Law | None:
    """Join laws of one class, parameter by parameter or array by array; None where they do not fit."""
    first: Any = laws[0][1]
    if not isinstance(laws[0][1], (Parametric, *ROWWISE)):
        return None
    parametric, joined = isinstance(laws[0][1], Parametric), dict[str, Any]()
    each: dict[str, Any] = first._parameters() if parametric else dict.fromkeys(first.EACH)
    held = [vars(law) for _, law in laws]
    rest = {k: v for k, v in held[0].items() if k not in (*each, *UNLIKE)}
    if not all(
        k in mine and np.array_equal(mine[k], v) for mine in held for k, v in rest.items()
    ):
        return None  # other levels, or not std in one and cov in the other
    for name, one in each.items():
        # Arrays of more dimensions than this have a row for each observation.
        plain = one.plain if parametric else 0
        values = [mine[name].value if parametric else mine[name] for mine in held]
        if all(
            value.ndim <= plain and np.array_equal(value, values[0]) for value in values
        ):
            continue  # it is the same for all rows
        parts = [value if value.ndim > plain else value[None] for value in values]
        mixed = plain and any(
            value.ndim == 0 for value in values
        )  # a number serves all components
        if mixed or len({part.shape[1:] for part in parts}) > 1:
            return None
        joined[name] = (
            replace(one, value=_placed(laws, parts)) if parametric else _placed(laws, parts)
        )
    n = sum(len(rows) for rows, _ in laws)
    if parametric:
        return first._with({**joined, "index": None}, n)  # type: ignore[no-any-return]
    ids = {"ids": np.arange(n)} if "ids" in joined else {}
    return replace(first, **{**joined, **ids})  # type: ignore[no-any-return]


def _placed(laws: Parts, parts: Iterable[Any]) -> AnyArray:
    """Put arrays of the laws' rows, or of one row for them all, together in the order of the rows."""
    arrays = [np.asarray(part) for part in parts]
    whole = np.empty(
        (sum(len(rows) for rows, _ in laws), *arrays[0].shape[1:]), np.result_type(*arrays)
    )
    for (rows, _), part in zip(laws, arrays, strict=True):
        whole[rows] = part
    return whole


def _one_table(laws: Parts) -> Law:
    """Join class probabilities over all classes; those that a fold did not know have probability 0."""
    tables = [law for _, law in laws if isinstance(law, Probabilities)]
    first, labels = tables[0], [law.classes.labels for law in tables]
    if len({law.classes.numeric for law in tables}) > 1:
        raise InputError("Some folds call the classes by numbers, and some by names.")
    union = np.unique(np.concatenate(labels))
    complete = next((names for names in labels if len(names) == len(union)), None)
    if first.ordered and complete is None and not first.classes.numeric:
        raise InputError(
            "No fold has all of the ordered classes, so that their order is not known."
        )
    classes = Classes(union if complete is None else complete)
    values = np.zeros((sum(len(rows) for rows, _ in laws), len(classes.labels)))
    for (rows, _), law in zip(laws, tables, strict=True):
        values[np.ix_(rows, classes.find(law.classes.labels))] = law.values
    return Probabilities(values, classes, first.ordered)


def crossfit(
    fit: object,
    x: Any,
    y: Any,
    *,
    folds: int = 5,
    groups: TableLike | None = None,
    rng: RngLike = None,
) -> Law:
    """Out-of-fold law of every row, for people who cannot set rows aside for a test.

    Each of K folds is predicted by a model that was fitted on the other ones, so that no
    row is held against a fit that has seen it, and all rows serve in the test:
    ``cg.check(cg.crossfit(fit, x, y), x, y)``. The law has all n rows, in the order of x,
    and is of the family of the fits where that is one for all. What is tested is this *way
    of fitting*, with (K − 1)/K of the rows, its estimation error included; whether the
    *family* holds the truth is what `composite` asks.

    A row's own y is in the fits of the other folds, and what a fit can follow cancels over
    the folds, so that a test is conservative: `adaptive` rejected lines fitted to lines at
    most 0.006 of the time at α = 0.05. Even so it sees more than half of the rows held
    against a fit of the other half.

    Parameters
    ----------
    fit : callable or scikit-learn estimator
        (x, y) → model, or (x, y, rng) → model: those of `condgof.fits`, or any function
        whose result `as_model` takes. An estimator is cloned and fitted as
        `condgof.fits.sklearn` does.
    x, y : array_like or frame of shape (n,) or (n, d)
    folds, rng : int; int, numpy.random.Generator or None
        How many folds; for drawing them, and for fits that take an rng.
    groups : array_like of shape (n,) or str, optional
        The group of each row (patient, station), or a column of x: a group is in one fold.
        Folds of your own are as many groups.

    Examples
    --------
    >>> import condgof as cg
    >>> rng = np.random.default_rng(2)
    >>> x = rng.uniform(-2, 2, 300)
    >>> y = x + rng.normal(size=300)
    >>> law = cg.crossfit(cg.fits.ols(), x, y, rng=1)
    >>> cg.adaptive(law, x, y, rng=1).reject()
    False
    >>> law = cg.crossfit(cg.fits.ols(), x, x**2 + y, rng=1)    # a line cannot fit a square
    >>> cg.adaptive(law, x, x**2 + y, rng=1).reject()
    True
    """
    if not callable(fit) and hasattr(fit, "fit") and hasattr(fit, "predict"):
        fit = fits.sklearn(fit)
    fitter, seed = as_fit(fit), Seed.of(rng)
    x, y = (data if hasattr(data, "shape") else np.asarray(data) for data in (x, y))
    n = len(y)
    check_rows(x, y, len(x), n)
    numbers = None if groups is None else read_groups(groups, x, n)
    fold, laws = _split(folds, n, numbers, seed), []
    for k in range(folds):
        train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        rows = f"{len(train)} rows to fit, {len(test)} held out"
        with users_code(f"Fold {k + 1} of {folds} ({rows})"):
            fold_rng = seed.stream(Use.REPLICATE, k, 1)
            model = as_model(fitter(take_rows(x, train), take_rows(y, train), fold_rng))
            if model.rows is not None:
                advice = (
                    "Return what can be asked at other x: condgof.models.Model(f), f(x) →"
                    " law."
                )
                raise InputTypeError(
                    f"fit returned predictions for {model.rows} rows. {advice}"
                )
            laws.append((test, model(take_rows(x, test), len(test))))
    note = f"predictions are those of {folds} fits, each of rows that it has not seen"
    law = join(laws).noted(note)
    # A fit to the other rows goes against the noise of those it has not seen.
    object.__setattr__(law, "of_x", False)
    return law


def _split(folds: Any, n: int, groups: IntArray | None, seed: Seed) -> IntArray:
    """Divide rows, or groups of them, at random into folds of about equal size: the number of each."""
    units, what = (n, "rows") if groups is None else (int(groups.max()) + 1, "groups")
    if not 2 <= check_count(folds, "folds") <= units:
        raise InputError(
            f"folds must be between 2 and the number of {what}, {units}, got {folds}."
        )
    order = seed.stream(Use.SPLIT).permutation(units)
    fold: IntArray = np.argsort(order) % folds
    if groups is not None:
        sizes, filled = np.bincount(groups), np.zeros(folds)
        for group in order[np.argsort(-sizes[order], kind="stable")]:  # the largest first
            fold[group] = int(np.argmin(filled))
            filled[fold[group]] += sizes[group]
        fold = fold[groups]
    return fold
