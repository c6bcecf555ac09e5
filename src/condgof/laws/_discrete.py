"""A discrete y: labels, ordered categories, counts, and cells of any y that have known probabilities.

In place of a score ∇_y log p there are residuals r(y, x) over a fixed set of cells, which
have mean 0 given any x under the model, exactly; kernels (`condgof.kernels`) make features
of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import (
    InputError,
    InputTypeError,
    NonFiniteError,
    ShapeError,
    UnsupportedModelError,
    check_finite,
    refuse_rows,
)
from condgof.kernels import Block, Cells
from condgof.laws._law import ByRow, Law, indexed, same_as
from condgof.sample import as_numbers

#: Which residuals a test may ask for: those of y itself, or with them all that the model
#: can be held to.
PLAIN, FULL = "plain", "full"
#: Above this many numbers residuals are made only when rows are taken.
HELD = 2**23
#: How far from 1 the probabilities of a row may sum up, and how far below 0 rounding may
#: leave one.
TOLERANCE, ROUNDED = 1e-3, 1e-6
NAMED = "Name them as y does, condgof.probabilities(P, classes=[...]), or correct y."
#: Rows that are looked at together; how many of the largest probabilities are looked at by
#: rank; the least that a probability counts as where its logarithm is taken.
ROWS, RANKS, LEAST = 4096, 16, 1e-3


class Outcomes(Protocol):
    """What a model says of the cells of each row: enough to draw them anew, with their residuals."""

    @property
    def probabilities(self) -> AnyArray: ...  # (n, K)
    @property
    def observed(self) -> IntArray: ...  # the cells, (n,)
    @property
    def linear(self) -> bool: ...  # whether residuals are e_y − p and nothing else
    @property
    def plain(self) -> int: ...  # how many of the first columns of residuals are e_y − p
    def take(self, rows: IntArray) -> Outcomes: ...
    def of(
        self, codes: IntArray
    ) -> FloatArray: ...  # the residuals of cells (n,), (n, width)


@dataclass(frozen=True, eq=False)
class CellOutcomes:
    """Outcomes with known probabilities; as an array, the residuals of the cells that were observed."""

    #: Those of all rows, (m, K), and which of these rows it is of: copied only when they
    #: are looked at.
    whole: AnyArray
    #: The residuals, of `width` columns, of rows with probabilities (b, K) and observed
    #: cells (b,).
    make: Callable[[FloatArray, IntArray], FloatArray]
    width: int
    observed: IntArray
    index: IntArray | None = None

    @property
    def probabilities(self) -> AnyArray:
        return np.asarray(self.whole if self.index is None else self.whole[self.index])

    @property
    def linear(self) -> bool:
        return self.make is one_hot_less

    @property
    def plain(self) -> int:
        return int(self.whole.shape[1])

    def take(self, rows: Any) -> CellOutcomes:
        observed = self.observed[rows]
        if self.index is None and isinstance(rows, slice):
            return replace(self, whole=self.whole[rows], observed=observed)
        return replace(
            self, index=rows if self.index is None else self.index[rows], observed=observed
        )

    __getitem__ = take

    def of(self, codes: IntArray) -> FloatArray:
        made = replace(self, observed=codes)
        # A large one is taken by rows and turned into an array like any other, and so
        # passes for one.
        return (
            np.asarray(made) if len(codes) * self.width <= HELD else cast(FloatArray, made)
        )

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.observed), self.width

    def __len__(self) -> int:
        return len(self.observed)

    def __array__(self, dtype: Any = None, copy: Any = None) -> FloatArray:
        made = self.make(normalised(self.probabilities), self.observed)
        return made if dtype is None else made.astype(dtype, copy=False)


def normalised(probabilities: AnyArray) -> FloatArray:
    """Return probabilities as doubles that sum to 1 in each row, as a new array."""
    values: FloatArray = np.array(probabilities, dtype=np.float64)
    values /= values.sum(axis=1, keepdims=True)
    return values


def one_hot_less(probabilities: FloatArray, codes: IntArray) -> FloatArray:
    """Return e_y − p, (n, K); the probabilities are written over."""
    np.negative(probabilities, out=probabilities)
    probabilities[np.arange(len(codes)), codes] += 1.0
    return probabilities


def check_probabilities(p: AnyArray, what: str, advice: str) -> AnyArray:
    """Check that the rows of an array (n, K) are probabilities; what rounding left below 0 becomes 0."""
    with np.errstate(invalid="ignore"):
        sums, least = p.sum(axis=1, dtype=np.float64), p.min(axis=1)
    broken = ~np.isfinite(sums)
    refuse_rows(
        broken,
        f"{what} has NaN or infinite values",
        "Check the model there.",
        NonFiniteError,
    )
    bad = np.flatnonzero((least < -ROUNDED) | (np.abs(sums - 1.0) > TOLERANCE))
    if len(bad):
        got = f"has the sum {sums[bad[0]]:.6g} and the smallest entry {least[bad[0]]:.3g}"
        rule = (
            "must hold probabilities, which must not be negative and sum to 1 in each row"
        )
        raise InputError(f"{what} {rule}; row {bad[0]} (counted from 0) {got}. {advice}")
    return np.maximum(p, 0) if least.min() < 0 else p


@dataclass(frozen=True, eq=False)
class Residuals:
    """What kernels see of a discrete y."""

    #: y as they compare it, (n, 1).
    u: FloatArray
    #: The residuals, of mean 0 given x under the model, (n, cells).
    values: FloatArray
    #: From which y can be drawn anew, for the null distribution.
    outcomes: Outcomes | None = None

    @classmethod
    def of_cells(
        cls, p: AnyArray, codes: IntArray, u: FloatArray | None = None, ranked: int = 0
    ) -> Residuals:
        """Return e_y − p of cells (n,) of probabilities p (n, K), or the `ranked` columns of `full`."""
        outcomes = CellOutcomes(
            p, full if ranked else one_hot_less, ranked or p.shape[1], codes
        )
        return cls(
            codes[:, None].astype(np.float64) if u is None else u,
            outcomes.of(codes),
            outcomes,
        )


class Discrete(Law):
    """A law of a discrete y in one column; a subclass writes `numbers`, `cells` and `residuals`."""

    discrete = True
    WHY_NOT = "it is of a discrete y, of which tests see residuals"
    #: What y calls the classes, in the order of their probabilities; None for counts.
    class_names: tuple[str, ...] | None = None

    #: From y to numbers, checked, (n,); and what the columns of residuals `by` are of.
    numbers: Callable[..., FloatArray]
    cells: Callable[[str], Cells]

    def remarks(self, y: AnyArray) -> tuple[str, ...]:
        """What a reader of a result should know of these observations, a sentence each."""
        return ()


def flat(y: AnyArray) -> AnyArray:
    """Return a y of one column as (n,)."""
    y = np.asarray(y)
    if y.ndim != 1 and y.shape[1:] != (1,):
        advice = "Pass one label or count for each row."
        raise ShapeError(
            f"A discrete y must be one column of y, got shape {y.shape}. {advice}"
        )
    return y.reshape(-1)


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes, all different, in the order of the columns of probabilities."""

    #: Numbers or strings, (K,).
    labels: AnyArray

    @classmethod
    def of(cls, classes: Any, count: int) -> Classes:
        """Read what a user passed, for so many columns; None is 0, 1, …, K − 1."""
        if classes is None:
            return cls(np.arange(count))
        if isinstance(classes, (str, bytes)) or np.ndim(classes) != 1:
            raise ShapeError("classes must be a list of labels, one for each column of P.")
        lost = [v is None or (isinstance(v, float) and v != v) for v in classes]
        if any(lost):
            where = f"at position {lost.index(True)}"
            raise InputError(f"classes has a missing value (None or NaN) {where}.")
        labels = np.asarray(classes)
        if labels.dtype.kind == "b":
            labels = labels.astype(np.int64)
        if labels.dtype.kind not in "iufU":  # a mixture, or objects
            labels = np.array([str(label) for label in labels])
        if len(labels) != count:
            raise ShapeError(
                f"There are {len(labels)} classes for {count} columns of probabilities."
            )
        if len(np.unique(labels)) < count:
            raise InputError(f"classes must all be different, got {_listed(labels)}.")
        made = cls(labels)
        if len(np.unique(made.values)) < count:
            few = _listed(labels[:2])
            raise InputError(
                f"Classes such as {few} are too large to be told apart. Pass them as text."
            )
        return made

    @property
    def numeric(self) -> bool:
        return self.labels.dtype.kind in "iuf"

    @property
    def values(self) -> FloatArray:
        """The classes as numbers, (K,): their labels, or their positions where those are text."""
        return (self.labels if self.numeric else np.arange(len(self.labels))).astype(
            np.float64
        )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(str(label) for label in self.labels)

    def find(self, y: AnyArray) -> IntArray:
        """Return the position of each label of y among the classes, (n,)."""
        y, shown = flat(y), _listed(self.labels)
        if y.dtype.kind not in ("biuf" if self.numeric else "OUS"):
            held, are = ("text", "the numbers") if self.numeric else ("numbers", "called")
            raise InputTypeError(
                f"y holds {held}, and the classes are {are} {shown}. {NAMED}"
            )
        if self.numeric:
            known, given = self.values, y.astype(np.float64)
            check_finite(given, "y", "Drop or fill those rows first.")
        else:
            known, given = self.labels, np.array([str(label) for label in y])
        order = np.argsort(known, kind="stable")
        place = np.minimum(np.searchsorted(known, given, sorter=order), len(known) - 1)
        positions = order[place]
        bad = known[positions] != given
        advice = f"That is {_listed(y[bad][:1])}, and the classes are {shown}. {NAMED}"
        refuse_rows(bad, "y has labels that are not among the classes", advice)
        return np.asarray(positions, dtype=np.int64)


def _listed(labels: AnyArray) -> str:
    shown = ", ".join(
        repr(label.item() if hasattr(label, "item") else label) for label in labels[:8]
    )
    return f"{shown}, ..." if len(labels) > 8 else shown


@dataclass(frozen=True, eq=False)
class Probabilities(ByRow, Discrete):
    """Probabilities of K classes; see `condgof.probabilities`.

    As numbers, y and draws are the labels themselves where those are numbers, else their
    positions.
    """

    #: The probabilities, (n, K); the caller's own array.
    values: AnyArray
    classes: Classes
    #: Whether the order of the classes means something.
    ordered: bool = False
    name = "The model of class probabilities"

    def can(self, ability: str) -> bool:
        has_order = self.ordered or len(self.classes.labels) == 2
        if ability in ("mean_std", "location_scale"):
            return has_order
        if ability in ("cdf", "sf"):
            return has_order or self.classes.numeric
        return super().can(ability)

    def numbers(self, y: AnyArray) -> FloatArray:
        return self.classes.values[self._codes(y)]

    def _codes(self, y: AnyArray) -> IntArray:
        return self.classes.find(self._checked(y))

    class_names = same_as("classes.names")

    def cells(self, by: str) -> Cells:
        count = self.values.shape[1]
        labels = Block(
            "labels", 0, count, np.arange(float(count)) if self.ordered else None
        )
        if by != FULL:
            return Cells((labels,), "labels")
        last = count + min(count - 1, RANKS)
        blocks = (labels, Block("ranks", count, last), Block("surprise", last, last + 1))
        return Cells(blocks, "labels, their ranks and their log-probabilities in the model")

    def residuals(self, y: AnyArray, by: str) -> Residuals:
        ranked = self.cells(by).width if by == FULL else 0
        return Residuals.of_cells(self.values, self._codes(y), ranked=ranked)

    def remarks(self, y: AnyArray) -> tuple[str, ...]:
        count = int((self.values[np.arange(self.n), self._codes(y)] <= 0).sum())
        where = (
            f"the model gives the observed class probability 0 in {count}"
            f" row{'s' * (count > 1)}"
        )
        return (
            (f"{where}, which refutes it without any test unless that is rounding",)
            if count
            else ()
        )

    def _each(self, ask: Callable[[FloatArray, slice], AnyArray]) -> AnyArray:
        """Ask something of the normalised probabilities, some rows at a time, and join the answers."""
        parts = [slice(start, start + ROWS) for start in range(0, self.n, ROWS)]
        return np.concatenate([ask(normalised(self.values[part]), part) for part in parts])

    def log_prob(self, y: AnyArray) -> FloatArray:
        codes = self._codes(y)
        with np.errstate(divide="ignore"):
            return self._each(lambda p, part: np.log(p[np.arange(len(p)), codes[part]]))

    def brier(self, y: AnyArray) -> FloatArray:
        """Return Σ_k (p_k − 1{y = k})², halved where there are two classes, (n,)."""
        codes, half = self._codes(y), 0.5 if self.values.shape[1] == 2 else 1.0
        return self._each(
            lambda p, part: half * np.square(one_hot_less(p, codes[part])).sum(axis=1)
        )

    def crps(self, y: AnyArray) -> FloatArray:
        """Return Σ_k (F_k − 1{y ≤ k})² times the distance to the next class, (n,)."""
        self._check("cdf")
        values, at_y = self.classes.values, self.numbers(y)
        order = np.argsort(values)
        apart, at = np.diff(values[order]), values[order][:-1]

        def ask(p: FloatArray, part: slice) -> AnyArray:
            sums = np.cumsum(p[:, order], axis=1)[:, :-1]
            return np.square(sums - (at_y[part, None] <= at)) @ apart

        return self._each(ask)

    def cdf(self, y: AnyArray) -> FloatArray:
        self._check("cdf")
        at, values = self._where(self._checked(y)), self.classes.values
        return self._each(
            lambda p, part: np.minimum((p * (values <= at[part, None])).sum(axis=1), 1.0)
        )

    def cdf_grid(self, values: AnyArray) -> FloatArray:
        self._check("cdf")
        below = (self.classes.values[:, None] <= self._where(values)).astype(np.float64)
        return self._each(lambda p, part: p @ below)

    def _where(self, y: AnyArray) -> FloatArray:
        """Return where to take a CDF, (m,): numbers need not be classes."""
        plain = np.asarray(y).dtype.kind in "biuf"
        return (
            np.ravel(y).astype(np.float64)
            if plain
            else self.classes.values[self.classes.find(y)]
        )

    def sample(self, rng: np.random.Generator) -> FloatArray:
        uniform = rng.random((self.n, 1))
        # Without the last sum, which rounding may leave below 1.
        drawn = self._each(
            lambda p, part: (uniform[part] >= np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
        )
        return self.classes.values[drawn][:, None]

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        self._check("mean_std")
        values = self.classes.values
        mean = self._each(lambda p, part: p @ values)[:, None]
        variance = self._each(
            lambda p, part: (p * np.square(values - mean[part])).sum(axis=1)
        )
        return mean, np.sqrt(variance)[:, None]

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        values = self.classes.values
        return np.array(values.min() - 1.0), np.array(values.max() + 1.0)

    def _check(self, what: str) -> None:
        if not self.can(what):
            advice = (
                "Pass ordered=True to condgof.probabilities if their order means something."
            )
            raise UnsupportedModelError(
                f"Classes without an order have no {what}. {advice}"
            )


def full(probabilities: FloatArray, codes: IntArray) -> FloatArray:
    """Return residuals of labels, of ranks and of the log-probability, side by side, less their means.

    Ranks are 1{y is among the t most probable classes}, t = 1, 2, …; all are of mean 0
    given x.
    """
    n, count = probabilities.shape
    ranks = min(count - 1, RANKS)
    observed = probabilities[np.arange(n), codes]
    out = np.empty((n, count + ranks + 1))
    # The classes by rank; equally probable ones in their order.
    top = np.broadcast_to(np.arange(count), probabilities.shape)
    if count > 4 * RANKS:  # the most probable, in the order of the classes
        top = np.sort(np.argpartition(-probabilities, ranks, axis=1)[:, :ranks], axis=1)
    most = np.argsort(
        -np.take_along_axis(probabilities, top, axis=1), axis=1, kind="stable"
    )
    top = np.take_along_axis(top, most[:, :ranks], axis=1)
    held = np.take_along_axis(probabilities, top, axis=1)
    seen = np.cumsum(top == codes[:, None], axis=1)
    np.subtract(seen, np.cumsum(held, axis=1), out=out[:, count : count + ranks])
    logs = np.log(np.maximum(probabilities, LEAST))
    out[:, -1] = np.log(np.maximum(observed, LEAST)) - np.einsum(
        "ij,ij->i", probabilities, logs
    )
    out[:, :count] = one_hot_less(probabilities, codes)
    return out


def probabilities(P: Any, classes: Any = None, *, ordered: bool = False) -> Probabilities:
    """Law of a discrete y from predicted class probabilities.

    A fitted classifier needs none of this: it goes straight to the tests.

    Parameters
    ----------
    P : array_like of shape (n, K), or (n,) for two classes
        The probabilities of the classes in each row, or of the second of two classes. The
        array is used as it is and not copied: leave it alone while the law is in use.
    classes, ordered : list of K numbers or strings, bool
        What y calls the classes, in the order of the columns, 0, 1, …, K − 1 unless given;
        whether that order means something (grades, stages): y is then compared by how far
        apart classes lie, too.

    Examples
    --------
    >>> import condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> y = np.where(rng.random(500) < 1 / (1 + np.exp(-x)), "yes", "no")
    >>> steep = 1 / (1 + np.exp(-3 * x))          # over-confident
    >>> cg.adaptive(cg.probabilities(steep, ["no", "yes"]), x, y, rng=1).reject()
    True
    """
    array = as_numbers(P, "P", advice="Pass an array (n, K) of class probabilities.")
    if array.ndim == 1:
        array = np.column_stack([1.0 - array, array])
    if array.ndim != 2 or array.shape[1] < 2 or not len(array):
        wanted = "(n, K) with K ≥ 2 columns, or (n,) for the second of two classes"
        raise ShapeError(f"P must have shape {wanted}, got {np.shape(P)}.")
    view = check_probabilities(
        array, "P", "Pass probabilities, not scores or logits."
    ).view()
    view.flags.writeable = False
    law = Probabilities(view, Classes.of(classes, array.shape[1]), bool(ordered))
    return indexed(law, P)


def bernoulli(p: FloatArray) -> Probabilities:
    """Law of the classes 0 and 1 from the probability of 1, (n,)."""
    return probabilities(np.clip(np.asarray(p, dtype=np.float64).reshape(-1), 0.0, 1.0))
