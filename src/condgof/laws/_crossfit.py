"""Out-of-fold predictions: the law of every row, by a fit to the other rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, singledispatch
from typing import Any, NoReturn, TypeAlias

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray, TableLike
from condgof.engine import with_progress
from condgof.errors import (
    InputError,
    InputTypeError,
    MissingPackageError,
    RefitError,
    ShapeError,
    UnsupportedModelError,
    check_count,
    option,
    users_code,
)
from condgof.kernels import Cells
from condgof.laws import fits
from condgof.laws._about import class_names_of
from condgof.laws._as_model import as_model, drawn
from condgof.laws._columns import Columns
from condgof.laws._discrete import (
    FULL,
    CellOutcomes,
    Classes,
    Discrete,
    Probabilities,
    Residuals,
)
from condgof.laws._draws import RowDraws
from condgof.laws._fold_error import fold_error_of
from condgof.laws._functions import match_arguments, read_signature
from condgof.laws._known import CellsOfY, Histograms
from condgof.laws._law import (
    ByRow,
    Joined,
    Law,
    Model,
    ModelLike,
    Refit,
    replace_rows,
)
from condgof.laws._parameters import Parametric
from condgof.laws._survival import Events, read_events
from condgof.sample import (
    FrameOrigin,
    RngLike,
    Seed,
    Use,
    check_rows,
    fresh,
    read_groups,
    read_weights,
    refill,
    take_rows,
)

#: Laws of some rows each, with the numbers of these rows; each row of the whole is in one.
Parts: TypeAlias = Sequence[tuple[IntArray, Law]]
#: Attributes in which laws may differ and still be put together, beside their parameters
#: and arrays.
MAY_DIFFER = ("_rows", "notes", "index", "fold_error", "refits")
#: More refits than this are refused.
MOST_REFITS = 100_000
#: More failed refits than this share are an error: the others are no fair sample. One
#: failure is always allowed.
MOST_FAILURES = 0.1


def as_fit(
    fit: object, events: Events | None = None, weights: FloatArray | None = None
) -> Callable[..., Any]:
    """Return (x, y, rng) → model for a user's `fit`, once it is sure to take x and y.

    Of censored times the result takes `event`, and `entry` where there is one, by name,
    and so must the fit. Where there are weights it takes `weights` by name, which the fit
    gets if it has a parameter of that name (`takes_weights`).
    """
    others = {} if events is None else events.arguments()
    names = ("x", "y", *others)
    arguments = ", ".join(names)
    if isinstance(fit, type) or not callable(fit) or isinstance(fit, (Law, Model, Columns)):
        got = f"the class {fit.__name__}" if isinstance(fit, type) else type(fit).__name__
        raise InputTypeError(
            f"fit must be a function ({arguments}) → model, such as condgof.fits.ols() or"
            f" condgof.fits.sklearn(estimator), got {got}."
        )
    try:
        asked = {"x": None, "y": None, **dict.fromkeys(others), "rng": None}
        if weights is not None:
            asked["weights"] = None
        match_arguments(fit, **asked)
    except TypeError as error:
        name = getattr(fit, "__name__", type(fit).__name__)
        raise InputTypeError(
            f"fit must be a function ({arguments}) → model, and {name}"
            f"{read_signature(fit)} cannot be called with {' and '.join(names)}"
            f" ({error}). If it makes such a function, call it first: {name}(...)."
        ) from error
    return partial(_call_fit, fit)


def _call_fit(fit: Any, x: TableLike, y: TableLike, rng: Any, **others: Any) -> Any:
    positional, named = match_arguments(fit, x=x, y=y, **others, rng=rng)
    return fit(*positional, **named)


def takes_weights(fit: object) -> bool:
    """Whether a user's fit has a parameter named weights."""
    signature = read_signature(fit) if callable(fit) else None
    return signature is not None and "weights" in signature.parameters


@dataclass(frozen=True, eq=False)
class Folds(Joined):
    """Laws of some rows each, put together where no closed form holds them all."""

    laws: Parts

    @property
    def rows(self) -> int | None:
        return _count_rows(self.laws)

    def parts(self) -> Iterator[tuple[Any, Law]]:
        yield from self.laws

    def take(self, rows: IntArray) -> Folds:
        fold_number = np.empty(self.n, np.int64)
        place_in_fold = np.empty(self.n, np.int64)
        for k, (fold_rows, _) in enumerate(self.laws):
            fold_number[fold_rows] = k
            place_in_fold[fold_rows] = np.arange(len(fold_rows))
        rows = np.arange(self.n)[rows]
        parts = []
        for k, (_, law) in enumerate(self.laws):
            at = np.flatnonzero(fold_number[rows] == k)
            if len(at):
                parts.append((at, law.take(place_in_fold[rows[at]])))
        return replace_rows(self, rows, laws=parts)

    def can(self, ability: str) -> bool:
        return all(law.can(ability) for _, law in self.laws)

    def lacks(self, ability: str) -> NoReturn:
        for _, law in self.laws:
            if not law.can(ability):
                law.lacks(ability)
        self.first.lacks(ability)

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        ends = [law.support for _, law in self.laws]
        width = max(np.atleast_2d(end).shape[1] for pair in ends for end in pair)
        low = np.empty((self.n, width))
        high = np.empty((self.n, width))
        for (rows, _), (law_low, law_high) in zip(self.laws, ends, strict=True):
            low[rows] = law_low
            high[rows] = law_high
        return low, high


class DiscreteFolds(Folds, Discrete):
    """Laws of a discrete y, of some rows each, which all have the same cells."""

    def numbers(self, y: AnyArray) -> FloatArray:
        return np.asarray(self._at("numbers", y))

    def cells(self, by: str) -> Cells:
        return self.first.cells(by)  # type: ignore[attr-defined, no-any-return]

    def residuals(self, y: AnyArray, by: str) -> Residuals:
        y = self._checked(y)
        parts = [law.residuals(y[rows], by) for rows, law in self.laws]
        u = _in_row_order(self.laws, [part.u for part in parts])
        values = _in_row_order(self.laws, [part.values for part in parts])
        outcomes = [
            part.outcomes for part in parts if isinstance(part.outcomes, CellOutcomes)
        ]
        if len(outcomes) < len(parts):  # the laws do not tell how to resample y
            return Residuals(u, values)
        whole = replace(
            outcomes[0],
            whole=_in_row_order(self.laws, [part.probabilities for part in outcomes]),
            observed=_in_row_order(self.laws, [part.observed for part in outcomes]),
            index=None,
        )
        return Residuals(u, values, whole)

    def remarks(self, y: AnyArray) -> tuple[str, ...]:
        y = np.asarray(y)
        remarks: dict[str, None] = {}  # each once, in the order of the folds
        for rows, law in self.laws:
            remarks |= dict.fromkeys(law.remarks(y[rows]))  # type: ignore[attr-defined]
        return tuple(remarks)


def join(laws: Parts) -> Law:
    """Put laws together, in the order of their rows.

    Laws of one family become one law of that family where their parameters allow it.
    """
    first = laws[0][1]
    whole: Law | None = None
    if all(type(law) is type(first) for _, law in laws):
        whole = _merge(first, laws)
    if whole is None:
        _check_same_kind_of_y(laws)
        whole = DiscreteFolds(laws) if first.discrete else Folds(laws)
    notes: dict[str, None] = {}
    for _, law in laws:
        notes |= dict.fromkeys(law.notes)
    return whole.noted(*(note for note in notes if note not in whole.notes))


def _check_same_kind_of_y(laws: Parts) -> None:
    kinds = [_kind_of_y(law) for _, law in laws]
    for k, kind in enumerate(kinds):
        if kind != kinds[0]:
            raise InputError(
                f"Fold 1 gives a law of {kinds[0]}, and fold {k + 1} of {kind}, which"
                " cannot be put together. Let fit return one kind of model."
            )


def _kind_of_y(law: Law) -> str:
    """Describe what y is to a law, the same for laws that can be put together."""
    if not isinstance(law, Discrete):
        return "a continuous y"
    cells = law.cells(FULL)
    return f"a discrete y ({cells.words}: {cells.width})"


@singledispatch
def _merge(first: Law, laws: Parts) -> Law | None:
    """Return laws of one class as one law of that class; None where that cannot be.

    Registered for the classes that have arrays with a row for each observation.
    """
    return None


@_merge.register(Parametric)
def _merge_parameters(first: Parametric, laws: Parts) -> Law | None:
    parameters = first._parameters()
    attributes = [vars(law) for _, law in laws]
    if not _agree_beside(attributes, tuple(parameters)):
        return None  # such as std in one law and cov in another
    merged: dict[str, Any] = {"index": None}
    for name, parameter in parameters.items():
        values = [mine[name].value for mine in attributes]
        # An array of more dimensions than `plain` has a row for each observation.
        by_row = [value.ndim > parameter.plain for value in values]
        if not any(by_row) and all(np.array_equal(value, values[0]) for value in values):
            continue  # the same for all rows
        if parameter.plain and any(value.ndim == 0 for value in values):
            return None  # a number, which serves for all components of a mixture
        arrays = [
            value if has_rows else value[None]
            for value, has_rows in zip(values, by_row, strict=True)
        ]
        if len({array.shape[1:] for array in arrays}) > 1:
            return None
        merged[name] = replace(parameter, value=_in_row_order(laws, arrays))
    return first._with(merged, _count_rows(laws))


@_merge.register(RowDraws)
@_merge.register(CellsOfY)
@_merge.register(Histograms)
def _merge_arrays(first: ByRow, laws: Parts) -> Law | None:
    attributes = [vars(law) for _, law in laws]
    if not _agree_beside(attributes, first.EACH):
        return None  # such as other levels of quantiles
    merged: dict[str, AnyArray] = {}
    for name in first.EACH:
        arrays = [mine[name] for mine in attributes]
        if len({array.shape[1:] for array in arrays}) > 1:
            return None
        merged[name] = _in_row_order(laws, arrays)
    if "ids" in merged:  # the rows' numbers, which are those of the whole now
        merged["ids"] = np.arange(_count_rows(laws))
    return replace(first, **merged)  # type: ignore[type-var]


@_merge.register(Probabilities)
def _merge_probabilities(first: Probabilities, laws: Parts) -> Law:
    """Merge over the classes of all laws; one that a law lacks has probability 0 there."""
    tables = [law for _, law in laws if isinstance(law, Probabilities)]
    labels = [law.classes.labels for law in tables]
    if len({law.classes.numeric for law in tables}) > 1:
        raise InputError("Some folds call the classes by numbers, and some by names.")
    union = np.unique(np.concatenate(labels))
    complete = next((names for names in labels if len(names) == len(union)), None)
    if first.ordered and complete is None and not first.classes.numeric:
        raise InputError(
            "No fold has all of the ordered classes, so that their order is not known."
        )
    classes = Classes(union if complete is None else complete)
    values = np.zeros((_count_rows(laws), len(classes.labels)))
    for (rows, _), law in zip(laws, tables, strict=True):
        values[np.ix_(rows, classes.find(law.classes.labels))] = law.values
    return Probabilities(values, classes, first.ordered)


def _agree_beside(attributes: Sequence[dict[str, Any]], merged: Sequence[str]) -> bool:
    """Whether laws agree in all attributes but the merged ones and `MAY_DIFFER`."""
    for name, value in attributes[0].items():
        if name in merged or name in MAY_DIFFER:
            continue
        for mine in attributes:
            if name not in mine or not np.array_equal(mine[name], value):
                return False
    return True


def _count_rows(laws: Parts) -> int:
    return sum(len(rows) for rows, _ in laws)


def _in_row_order(laws: Parts, parts: Iterable[Any]) -> AnyArray:
    """Put arrays with the rows of each law, or one row for all, in the rows' order."""
    arrays = [np.asarray(part) for part in parts]
    shape = (_count_rows(laws), *arrays[0].shape[1:])
    whole = np.empty(shape, np.result_type(*arrays))
    for (rows, _), array in zip(laws, arrays, strict=True):
        whole[rows] = array
    return whole


def crossfit(
    fit: object,
    x: Any,
    y: Any,
    *,
    event: TableLike | None = None,
    entry: TableLike | None = None,
    weights: TableLike | None = None,
    folds: int = 5,
    groups: TableLike | None = None,
    refits: int = 0,
    rng: RngLike = None,
) -> Law:
    """Out-of-fold law of every row, for people who cannot set rows aside for a test.

    Each of K folds is predicted by a model that was fitted on the other ones, so that no
    row is held against a fit that has seen it, and all rows serve in the test:
    ``cg.check(cg.crossfit(fit, x, y), x, y)``. The law has all n rows, in the order of x,
    and is of the family of the fits where that is one for all. What is tested is this *way
    of fitting*, with (K − 1)/K of the rows; whether the *family* holds the truth is what
    `composite` asks.

    Predictions carry the error of their estimates. If predicted standard deviations leave
    it out, as those of least squares do, new rows spread more than predicted whatever the
    family: with p parameters, squared residuals are larger by a share of about p/n. The
    fits of the folds, compared at the same rows, measure this. ``law.fold_error`` has the
    ``instability``, the variance of predictions in units of the predicted variance of y
    (about p/n), and ``left_out``, the share that predicted variances leave out. Tests
    refuse a law that leaves out more than min(0.12, 1.5·√(2/n)), and so most fits with p/n
    above 0.08. Just inside (p/n from 0.06 to 0.08), 45 of 1,173 true families were rejected
    at 0.05, and 19 at 0.01. With fewer parameters a test is conservative, since what a fit
    can follow cancels over the folds: of lines fitted to lines at most 0.006 were rejected.
    Standard deviations that hold the error are not refused, such as those of a predictive t
    distribution, or those from cross-validation (`condgof.fits.sklearn`); there a test is
    conservative for the same reason. Quantiles, intervals and scores have no moments to
    measure it by, nor have censored times, and are never refused.

    With `refits`, p-values come from a parametric bootstrap: y is drawn from a fit to all
    rows, all folds are fitted again, and the same statistics are computed. Then the error
    of the estimates does not count, at any number of parameters.

    Parameters
    ----------
    fit : callable or scikit-learn estimator
        (x, y) → model, or (x, y, rng) → model: those of `condgof.fits`, or any function
        whose result `as_model` takes. An estimator is cloned and fitted as
        `condgof.fits.sklearn` does.
    x, y : array_like or frame of shape (n,) or (n, d)
    event, entry : array_like of shape (n,), optional
        Censoring, as in `check`. The fit gets them of its rows: it is (x, y, event) →
        model, or (x, y, event, entry) → model, with event 1 or 0. The law that is returned
        has them, so that ``cg.check(law, x, y)`` needs no ``event=``.
    weights : array_like or Series of shape (n,), or str, optional
        Weights of rows, functions of x, or the column of x that holds them. The fit gets
        those of its rows, on the scale of mean 1: it needs a parameter named weights, as
        `condgof.fits.ols()` and ``glm(family)`` have. Pass them to `check` as well:
        ``cg.check(law, x, y, weights=w)``.
    folds, rng : int; int, numpy.random.Generator or None
        How many folds; for drawing them, and for fits that take an rng.
    groups : array_like of shape (n,) or str, optional
        The group of each row (patient, station), or a column of x: a group is in one fold.
        Folds of your own are as many groups.
    refits : int
        How many samples are drawn from a fit to all rows, and fitted again fold by fold:
        refits × folds fits in all, of a model that can be sampled. 0 for none; 199 serve
        for a test at 0.05.

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
    events = read_events(event, entry, x, y)
    if events is not None and refits != 0:
        raise InputError(
            "refits= draws whole samples of y, and times with event= are censored. Use"
            " composite(fit, x, y, event=…), which draws them with their censoring, or"
            " leave refits= out."
        )
    seed = Seed.of(rng)
    x = x if hasattr(x, "shape") else np.asarray(x)
    y = y if hasattr(y, "shape") else np.asarray(y)
    for what, part in (("x", x), ("y", y)):
        if not np.ndim(part):
            raise ShapeError(f"{what} must have a row for each observation, got none.")
    n = len(y)
    check_rows(x, y, len(x), n)
    labels = FrameOrigin.from_sample(x, y).labels
    row_weights = None if weights is None else _weights_of_fit(fit, weights, x, n, labels)
    fitter = as_fit(fit, events, row_weights)
    group_numbers = None if groups is None else read_groups(groups, x, n, labels=labels)
    if refits != 0:
        refits = check_count(refits, "refits", MOST_REFITS, " 0 is for none, 199 for 0.05.")
    fold_numbers = _split(folds, n, group_numbers, seed)
    split = FoldFits(fitter, x, fold_numbers, folds, seed, events, row_weights)
    models = split.fit(y)
    note = f"predictions are those of {folds} fits, each of rows that it has not seen"
    law = split.predict(models).noted(note)
    # A prediction depends on y of the other rows too: where their noise was high, it is
    # high, and the held-out y then lies low against it, which is no misfit.
    object.__setattr__(law, "of_x", False)
    if events is not None:
        return events.bind(law)
    with users_code("A fit of crossfit, asked at rows that it was fitted on,"):
        error = fold_error_of(models, x, y, fold_numbers)
    if error is not None:
        object.__setattr__(law, "fold_error", error)
    if refits:
        object.__setattr__(law, "refits", split.refit(y, refits))
    return law


def _weights_of_fit(
    fit: object, weights: TableLike, x: Any, n: int, labels: Any
) -> FloatArray:
    """Return the weights of all n rows for a fit, of mean 1 where they are not 0."""
    if not takes_weights(fit):
        name = getattr(fit, "__name__", type(fit).__name__)
        raise InputTypeError(
            f"{option('weights')} is for fits with a parameter named weights, and {name}"
            " has none. Write a function (x, y, weights) → model, or leave weights to the"
            " check: cg.check(cg.crossfit(fit, x, y), x, y, weights=…)."
        )
    given = read_weights(weights, x, n, labels).of_all(n)
    return np.ones(n) if given is None else given


@dataclass(frozen=True, eq=False)
class FoldFits:
    """Fits to all rows but those of a fold, for each of K folds."""

    fitter: Callable[..., Any]  #: (x, y, rng) → model.
    x: Any  #: In the user's container, n rows.
    fold_numbers: IntArray  #: The fold of each row, (n,).
    folds: int
    seed: Seed
    events: Events | None = None  #: Of times that are censored.
    weights: FloatArray | None = None  #: Those that the fit gets, (n,).

    def fit(self, y: Any, replicate: int = 0) -> list[ModelLike]:
        """Fit all folds on y, in the user's container; refits are numbered from 1 on."""
        models: list[ModelLike] = []
        for k in range(self.folds):
            train = np.flatnonzero(self.fold_numbers != k)
            held_out = len(self.fold_numbers) - len(train)
            sizes = f"{len(train)} rows to fit, {held_out} held out"
            with users_code(f"Fold {k + 1} of {self.folds} ({sizes})"):
                key = (k, 1) if replicate == 0 else (replicate, k, 2)
                fold_rng = self.seed.stream(Use.REPLICATE, *key)
                others = self._arguments(train)
                fitted = self.fitter(
                    take_rows(self.x, train), take_rows(y, train), fold_rng, **others
                )
                models.append(self._as_model(fitted))
        return models

    def _arguments(self, rows: IntArray) -> dict[str, AnyArray]:
        """Return what a fit to some rows gets beside x and y."""
        others = {} if self.events is None else self.events.take(rows).arguments()
        if self.weights is not None:
            others["weights"] = self.weights[rows]
        return others

    def predict(self, models: Sequence[ModelLike]) -> Law:
        """Return the law of all rows, each by the fit that has not seen it."""
        laws = []
        for k, model in enumerate(models):
            test = np.flatnonzero(self.fold_numbers == k)
            with users_code(f"Fold {k + 1} of {self.folds} ({len(test)} held out)"):
                laws.append((test, model(take_rows(self.x, test), len(test))))
        return join(laws)

    def refit(self, y: Any, refits: int) -> tuple[Refit, ...]:
        """Draw y from a fit to all rows and fit all folds again, so many times."""
        n = len(self.fold_numbers)
        with users_code("The fit to all rows"):
            rng = self.seed.stream(Use.REPLICATE, 0, 0, 2)
            others = self._arguments(np.arange(n))
            model = self._as_model(self.fitter(fresh(self.x), fresh(y), rng, **others))
            law = model(self.x, n)
        if not law.can("sample"):
            raise UnsupportedModelError(
                f"refits= draws y from the fitted model, and {law.name} has no sampler."
                " Leave it out, or let fit return a model that can be sampled."
            )
        done: list[Refit] = []
        failed: list[str] = []
        for number in with_progress(range(1, refits + 1), refits, "refits"):
            rng = self.seed.stream(Use.REPLICATE, number, self.folds, 2)
            drawn_y = _draw_like(law, y, rng)
            try:
                models = self.fit(refill(y, drawn_y), number)
                done.append(Refit(self.predict(models), drawn_y))
            except (MissingPackageError, MemoryError):
                raise  # the machine's fault, and not this sample's
            except Exception as error:  # users' fits raise anything
                failed.append(str(error))
                if len(failed) > max(1, int(MOST_FAILURES * refits)):
                    raise RefitError(
                        f"{len(failed)} of {number} refits failed, more than"
                        f" {MOST_FAILURES:.0%} of the {refits} that were asked for. The"
                        f" first: {failed[0]}"
                    ) from error
        return tuple(done)

    def _as_model(self, fitted: object) -> ModelLike:
        model = as_model(fitted)
        if model.rows is not None:
            raise InputTypeError(
                f"fit returned predictions for {model.rows} rows. Return what can be"
                " asked at other x: condgof.models.Model(f), f(x) → law."
            )
        return model


def _draw_like(law: Law, y: Any, rng: np.random.Generator) -> AnyArray:
    """Draw y of all rows as the user has it, numbers (n, d_y) or labels (n, 1)."""
    shape = np.shape(y)
    numbers = drawn(law, shape[1] if len(shape) > 1 else 1, rng)
    names = class_names_of(law)
    if names and np.asarray(y).dtype.kind in "OUS":
        # Models draw the positions of labels that are text.
        return np.array(names)[numbers.astype(np.int64)]
    return numbers


def _split(folds: Any, n: int, groups: IntArray | None, seed: Seed) -> IntArray:
    """Return the number of each row's fold, (n,); folds are random and about equally large.

    With `groups`, the number of each row's group, all rows of a group are in one fold.
    """
    units = n if groups is None else int(groups.max()) + 1
    if not 2 <= check_count(folds, "folds") <= units:
        what = "rows" if groups is None else "groups"
        raise InputError(
            f"folds must be between 2 and the number of {what}, {units}, got {folds}."
        )
    order = seed.stream(Use.SPLIT).permutation(units)
    if groups is None:
        return np.asarray(np.argsort(order) % folds)
    sizes = np.bincount(groups)
    largest_first = order[np.argsort(-sizes[order], kind="stable")]
    fold_of_group = np.empty(units, np.int64)
    rows_in_fold = np.zeros(folds)
    for group in largest_first:
        smallest = int(np.argmin(rows_in_fold))
        fold_of_group[group] = smallest
        rows_in_fold[smallest] += sizes[group]
    return fold_of_group[groups]
