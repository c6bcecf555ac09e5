"""A discrete y: labels, ordered categories, counts, and cells of y of known probability.

A continuous y has a Stein score ∇_y log p(y|x); a discrete y has none. In its place a law
offers *residuals* r(y, x), one column for each cell of a fixed set, whose mean given x is
exactly 0 under the law. For K classes of probabilities p they are e_y − p, where e_y is the
unit vector of the observed class. Kernels (`condgof.kernels`) make features of residuals.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, cast

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import (
    InputError,
    InputTypeError,
    NonFiniteError,
    ShapeError,
    UnsupportedModelError,
    by_asker,
    check_finite,
    option_name,
    refuse_rows,
)
from condgof.kernels import Block, Cells
from condgof.laws._law import ByRow, Law, same_as, with_index
from condgof.sample import as_numbers, column_names, is_frame, native_column

# The most numbers of residuals (64 MB) that are held as an array; of larger ones, rows are
# computed when they are taken.
HELD = 2**23

# How far from 1 the probabilities of a row may sum: half precision and rounded tables are
# welcome, since probabilities are normalised before use.
SUM_TOLERANCE = 1e-3

# How far below 0 rounding may leave a probability.
NEGATIVE_TOLERANCE = 1e-6

# Rows whose probabilities are normalised together; it bounds the memory of the copy.
BLOCK_ROWS = 4096

# Ranks t = 1, 2, … for which 1{y is among the t most probable classes} has a residual.
MAX_RANKS = 16

# Up to this many classes, all of them are sorted by probability. Of more, the most probable
# ones are picked first, which is cheaper.
MAX_SORTED_CLASSES = 4 * MAX_RANKS

# A smaller probability counts as this where its logarithm is taken, so that a single row of
# a very improbable class does not decide a test.
LEAST_PROBABILITY = 1e-3

# The name of a column that ends in a whole number: what is before it, and the number.
NUMBERED_NAME = re.compile(r"(|.*[^-\d])(-?\d+)", re.DOTALL)

# Labels that a message lists before it breaks off.
MAX_LISTED_LABELS = 8

NAME_THE_CLASSES = (
    "Name them as y does, condgof.probabilities(P, classes=[...]), or correct y."
)


class ResidualSet(StrEnum):
    """Which residuals of a discrete y a test asks for: the argument `by` of a law."""

    #: Those of y itself.
    PLAIN = "plain"
    #: These, and all others that the model can be held to: of class probabilities, also
    #: those of the rank and of the log-probability of y.
    FULL = "full"


PLAIN = ResidualSet.PLAIN
FULL = ResidualSet.FULL


class Outcomes(Protocol):
    """What each row could have been: enough to resample a discrete y from its law.

    Each of n rows has K possible outcomes: classes, counts, cells between quantiles, or y
    and its draws in each other's place. An outcome is given by its *code*, from 0 to K − 1.
    The parametric bootstrap draws a code for each row with `probabilities`, and asks
    `residuals` for the residuals of these codes.
    """

    @property
    def probabilities(self) -> AnyArray:
        """Of the outcomes under the law, (n, K); rows sum to 1 up to `SUM_TOLERANCE`."""
        ...

    @property
    def observed(self) -> IntArray:
        """The codes of the observed outcomes, (n,)."""
        ...

    @property
    def linear(self) -> bool:
        """Whether the residuals are e_code − p, (n, K), and nothing else."""
        ...

    @property
    def plain(self) -> int:
        """How many of the first columns of the residuals are e_code − p: K or 0."""
        ...

    def take(self, rows: IntArray) -> Outcomes:
        """Return the outcomes of some rows, given by their numbers (r,)."""
        ...

    def residuals(self, codes: IntArray) -> FloatArray:
        """Return the residuals of codes (n,), one for each row: (n, width).

        Their mean over the codes, with `probabilities` as weights, is 0 in each row and
        column.
        """
        ...


@dataclass(frozen=True, eq=False)
class CellOutcomes:
    """`Outcomes` with a table of probabilities and the residuals e_code − p.

    As an array it is the residuals of the observed codes, (n, width), computed when it is
    turned into one or when rows of it are taken. So it can stand for an array of residuals
    that is too large to be held.

    Parameters
    ----------
    whole : ndarray of shape (m, K)
        Probabilities of all m rows of the law. It is the caller's own array.
    observed : ndarray of int, shape (n,)
        The observed codes.
    index : ndarray of int, shape (n,), optional
        Which rows of `whole` these n rows are; None if they are all of them, in order.
        Probabilities of rows are copied only when they are asked for.
    """

    whole: AnyArray
    observed: IntArray
    index: IntArray | None = None

    @property
    def probabilities(self) -> AnyArray:
        """Of the outcomes under the law, (n, K)."""
        return np.asarray(self.whole if self.index is None else self.whole[self.index])

    @property
    def linear(self) -> bool:
        """Whether the residuals are e_code − p and nothing else."""
        return True

    @property
    def plain(self) -> int:
        """How many of the first columns of the residuals are e_code − p: all K."""
        return int(self.whole.shape[1])

    @property
    def width(self) -> int:
        """The number of columns of the residuals."""
        return self.plain

    def take(self, rows: Any) -> CellOutcomes:
        """Return the outcomes of some rows: numbers (r,), a mask (n,) or a slice."""
        observed = self.observed[rows]
        if self.index is None and isinstance(rows, slice):
            return replace(self, whole=self.whole[rows], observed=observed)
        index = rows if self.index is None else self.index[rows]
        return replace(self, index=index, observed=observed)

    __getitem__ = take

    def residuals(self, codes: IntArray) -> FloatArray:
        """Return the residuals of codes (n,), (n, width)."""
        outcomes = replace(self, observed=codes)
        if len(codes) * self.width <= HELD:
            return np.asarray(outcomes)
        # Users of large residuals take rows of them and turn these into an array, which
        # outcomes can do as well as an array.
        return cast(FloatArray, outcomes)

    def _compute(self, probabilities: FloatArray, codes: IntArray) -> FloatArray:
        """Return residuals (n, width) from normalised p (n, K), which it may overwrite."""
        return label_residuals(probabilities, codes)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.observed), self.width

    def __len__(self) -> int:
        return len(self.observed)

    def __array__(self, dtype: Any = None, copy: Any = None) -> FloatArray:
        values = self._compute(normalised(self.probabilities), self.observed)
        return values if dtype is None else values.astype(dtype, copy=False)


@dataclass(frozen=True, eq=False)
class FullClassOutcomes(CellOutcomes):
    """Outcomes that are classes, with residuals of labels, ranks and log-probability.

    See `ClassTable`.
    """

    @property
    def linear(self) -> bool:
        """Whether the residuals are e_code − p and nothing else."""
        return False

    @property
    def width(self) -> int:
        """The number of columns of the residuals."""
        count = self.plain
        return count + rank_count(count) + 1

    def _compute(self, probabilities: FloatArray, codes: IntArray) -> FloatArray:
        return ClassTable.from_probabilities(probabilities).residuals(codes)


def normalised(probabilities: AnyArray) -> FloatArray:
    """Return probabilities (n, K) as doubles that sum to 1 in each row, in a new array."""
    values: FloatArray = np.array(probabilities, dtype=np.float64)
    values /= values.sum(axis=1, keepdims=True)
    return values


def label_residuals(probabilities: FloatArray, codes: IntArray) -> FloatArray:
    """Return e_y − p, (n, K), for codes (n,); the array of probabilities is overwritten."""
    np.negative(probabilities, out=probabilities)
    probabilities[np.arange(len(codes)), codes] += 1.0
    return probabilities


def rank_count(classes: int) -> int:
    """Return for how many ranks t there is a residual; t = K would be 0 always."""
    return min(classes - 1, MAX_RANKS)


@dataclass(frozen=True, eq=False)
class ClassTable:
    """What residuals of classes take from the law alone, whichever classes are observed.

    Each residual is a function of y less its mean under p, so that its mean given x is 0.
    In the first K columns it is e_y − p; in the next T = `rank_count(K)`, that of 1{y is
    among the t most probable classes}, t = 1, …, T; in the last one, that of
    log max(p_y, `LEAST_PROBABILITY`).
    """

    probabilities: FloatArray  #: p, which sum to 1 in each row, (n, K).
    top: IntArray  #: The T most probable classes, the most probable one first, (n, T).
    is_among: FloatArray  #: P(y is among the t most probable classes), (n, T).
    log: FloatArray  #: E[log max(p_y, `LEAST_PROBABILITY`)], (n,).

    @classmethod
    def from_probabilities(cls, probabilities: FloatArray) -> ClassTable:
        """Rank the classes of normalised probabilities (n, K)."""
        top = most_probable(probabilities, rank_count(probabilities.shape[1]))
        logs = np.log(np.maximum(probabilities, LEAST_PROBABILITY))
        return cls(
            probabilities=probabilities,
            top=top,
            is_among=np.cumsum(np.take_along_axis(probabilities, top, axis=1), axis=1),
            log=np.einsum("ij,ij->i", probabilities, logs),
        )

    @property
    def width(self) -> int:
        """The number of columns of the residuals."""
        return int(self.probabilities.shape[1] + self.top.shape[1] + 1)

    def take(self, rows: slice | IntArray) -> ClassTable:
        """Return the table of some rows."""
        return ClassTable(
            probabilities=self.probabilities[rows],
            top=self.top[rows],
            is_among=self.is_among[rows],
            log=self.log[rows],
        )

    def means(self) -> FloatArray:
        """Return the mean of each function of y under the law, (n, width)."""
        return np.column_stack([self.probabilities, self.is_among, self.log])

    def logs_at(self, rows: IntArray, codes: IntArray) -> FloatArray:
        """Return log max(p, `LEAST_PROBABILITY`) of classes at rows, of one shape."""
        p = self.probabilities[rows, codes]
        return np.asarray(np.log(np.maximum(p, LEAST_PROBABILITY)))

    def residuals(self, codes: IntArray) -> FloatArray:
        """Return the residuals of classes y (n,), (n, width)."""
        n, count = self.probabilities.shape
        rows = np.arange(n)
        out = np.empty((n, self.width))
        np.negative(self.probabilities, out=out[:, :count])
        out[rows, codes] += 1.0
        has_come = np.cumsum(self.top == codes[:, None], axis=1)
        np.subtract(has_come, self.is_among, out=out[:, count:-1])
        out[:, -1] = self.logs_at(rows, codes) - self.log
        return out


def most_probable(probabilities: FloatArray, ranks: int) -> IntArray:
    """Return the most probable classes of each row, the most probable first, (n, ranks).

    Equally probable classes keep their order.
    """
    count = probabilities.shape[1]
    candidates = np.broadcast_to(np.arange(count), probabilities.shape)
    if count > MAX_SORTED_CLASSES:
        picked = np.argpartition(-probabilities, ranks, axis=1)[:, :ranks]
        candidates = np.sort(picked, axis=1)  # for the order of equally probable classes
    among_candidates = np.take_along_axis(probabilities, candidates, axis=1)
    order = np.argsort(-among_candidates, axis=1, kind="stable")
    return np.take_along_axis(candidates, order[:, :ranks], axis=1)


def check_probabilities(p: AnyArray, what: str, advice: str) -> AnyArray:
    """Check that the rows of p (n, K) are probabilities, and return it.

    Entries that rounding left below 0 are 0 in what is returned, a copy if there are any.
    Messages call the array `what` and end with `advice`.
    """
    with np.errstate(invalid="ignore"):
        sums = p.sum(axis=1, dtype=np.float64)
        least = p.min(axis=1)
    refuse_rows(
        ~np.isfinite(sums),
        f"{what} has NaN or infinite values",
        "Check the model there.",
        NonFiniteError,
    )
    bad = np.flatnonzero(
        (least < -NEGATIVE_TOLERANCE) | (np.abs(sums - 1.0) > SUM_TOLERANCE)
    )
    if len(bad):
        first = bad[0]
        got = f"has the sum {sums[first]:.6g} and the smallest entry {least[first]:.3g}"
        rule = (
            "must hold probabilities, which must not be negative and sum to 1 in each row"
        )
        if abs(sums[first] - 100.0) < 100.0 * SUM_TOLERANCE:
            hundredth = by_asker(
                python=f"pass {what} / 100", command_line="divide those columns by 100"
            )
            advice = f"They look like percentages: {hundredth}."
        raise InputError(
            f"{option_name(what)} {rule}; row {first} (counted from 0) {got}. {advice}"
        )
    return np.maximum(p, 0) if least.min() < 0 else p


@dataclass(frozen=True, eq=False)
class Residuals:
    """A discrete y, compared with its law.

    Parameters
    ----------
    u : ndarray of shape (n, d_y)
        y as kernels on y compare it: codes of cells, standardised counts, normal scores.
    values : ndarray of shape (n, width)
        The residuals, of mean 0 given x under the law. Large ones may be a `CellOutcomes`,
        which becomes an array when rows of it are taken.
    outcomes : Outcomes, optional
        From which y can be resampled for the null distribution; None where the law does
        not tell enough for that.
    """

    u: FloatArray
    values: FloatArray
    outcomes: Outcomes | None = None

    @classmethod
    def from_outcomes(
        cls, outcomes: CellOutcomes, u: FloatArray | None = None
    ) -> Residuals:
        """Return the residuals of the observed codes; u is the codes unless given."""
        if u is None:
            u = outcomes.observed[:, None].astype(np.float64)
        return cls(u, outcomes.residuals(outcomes.observed), outcomes)

    @classmethod
    def from_cells(
        cls, probabilities: AnyArray, codes: IntArray, u: FloatArray | None = None
    ) -> Residuals:
        """Return e_y − p of observed cells (n,) of probabilities (n, K)."""
        return cls.from_outcomes(CellOutcomes(probabilities, codes), u)


class Discrete(Law):
    """A law of a discrete y.

    A subclass writes `numbers`, `cells` and ``residuals(y, by)``, which returns
    `Residuals`; `by` is a `ResidualSet`.
    """

    discrete = True
    WHY_NOT = "it is of a discrete y, of which tests see residuals"
    #: What y calls the classes, in the order of their probabilities; None for counts.
    class_names: tuple[str, ...] | None = None

    #: ``numbers(y)`` checks y and returns it as numbers, (n,) or (n, d_y).
    numbers: Callable[..., FloatArray]
    #: ``cells(by)`` says what the columns of ``residuals(y, by).values`` are.
    cells: Callable[[str], Cells]

    def remarks(self, y: AnyArray) -> tuple[str, ...]:
        """Return what a reader of a result should know about this y, a sentence each."""
        return ()


def flat(y: AnyArray) -> AnyArray:
    """Return a y of one column, (n,) or (n, 1), as (n,)."""
    y = np.asarray(y)
    if y.ndim != 1 and y.shape[1:] != (1,):
        advice = "Pass one label or count for each row."
        raise ShapeError(
            f"A discrete y must be one column of y, got shape {y.shape}. {advice}"
        )
    return y.reshape(-1)


@dataclass(frozen=True, eq=False)
class Classes:
    """The K classes, all different, in the order of the columns of probabilities.

    Parameters
    ----------
    labels : ndarray of shape (K,)
        What y calls them: numbers or strings.
    """

    labels: AnyArray

    @classmethod
    def from_labels(cls, labels: Any, count: int) -> Classes:
        """Read a user's labels of `count` classes; None stands for 0, …, count − 1."""
        if labels is None:
            return cls(np.arange(count))
        if isinstance(labels, (str, bytes)) or np.ndim(labels) != 1:
            raise ShapeError("classes must be a list of labels, one for each column of P.")
        missing = [_is_missing(label) for label in labels]
        if any(missing):
            where = f"at position {missing.index(True)}"
            raise InputError(f"classes has a missing value (None or NaN) {where}.")

        array = np.asarray(labels)
        if array.dtype.kind == "b":
            array = array.astype(np.int64)
        if array.dtype.kind not in "iufU":  # numbers mixed with text, or objects
            array = np.array([str(label) for label in array])
        if len(array) != count:
            raise ShapeError(
                f"There are {len(array)} classes for {count} columns of probabilities."
            )
        if len(np.unique(array)) < count:
            raise InputError(f"classes must all be different, got {_listed(array)}.")
        classes = cls(array)
        if len(np.unique(classes.values)) < count:  # integers beyond 2**53
            two = _listed(array[:2])
            raise InputError(
                f"Classes such as {two} are too large to be told apart. Pass them as text."
            )
        return classes

    @property
    def numeric(self) -> bool:
        """Whether the labels are numbers."""
        return self.labels.dtype.kind in "iuf"

    @property
    def values(self) -> FloatArray:
        """The classes as numbers, (K,): labels, or their positions where they are text."""
        numbers = self.labels if self.numeric else np.arange(len(self.labels))
        return numbers.astype(np.float64)

    @property
    def names(self) -> tuple[str, ...]:
        """The classes as text."""
        return tuple(str(label) for label in self.labels)

    def find(self, y: AnyArray) -> IntArray:
        """Return the position of each label of y (n,) or (n, 1) among the classes, (n,)."""
        y = flat(y)
        shown = _listed(self.labels)
        if self.numeric:
            if y.dtype.kind not in "biuf":
                raise InputTypeError(
                    f"y holds text, and the classes are the numbers {shown}."
                    f" {NAME_THE_CLASSES}"
                )
            labels: AnyArray = self.values
            wanted = y.astype(np.float64)
            check_finite(wanted, "y", "Drop or fill those rows first.")
        else:
            if y.dtype.kind not in "OUS":
                raise InputTypeError(
                    f"y holds numbers, and the classes are called {shown}."
                    f" {NAME_THE_CLASSES}"
                )
            labels = self.labels
            wanted = np.array([str(label) for label in y])
        positions = _positions(labels, wanted)
        unknown = labels[positions] != wanted
        example = _listed(y[unknown][:1])
        advice = f"That is {example}, and the classes are {shown}. {NAME_THE_CLASSES}"
        refuse_rows(unknown, "y has labels that are not among the classes", advice)
        return np.asarray(positions, dtype=np.int64)


def _positions(labels: AnyArray, wanted: AnyArray) -> IntArray:
    """Return the position of wanted labels (n,) among labels (K,); any one if not there."""
    order = np.argsort(labels, kind="stable")
    place = np.searchsorted(labels, wanted, sorter=order)
    return order[np.minimum(place, len(labels) - 1)]


def _is_missing(label: Any) -> bool:
    return label is None or (isinstance(label, float) and label != label)


def _listed(labels: AnyArray) -> str:
    """Return the first labels as Python would write them."""
    shown = ", ".join(
        repr(label.item() if hasattr(label, "item") else label)
        for label in labels[:MAX_LISTED_LABELS]
    )
    return f"{shown}, ..." if len(labels) > MAX_LISTED_LABELS else shown


@dataclass(frozen=True, eq=False)
class Probabilities(ByRow, Discrete):
    """Probabilities of K classes; see `condgof.probabilities`.

    As numbers, y and draws are the labels themselves where those are numbers, else their
    positions.

    Parameters
    ----------
    values : ndarray of shape (n, K)
        The probabilities; the caller's own array.
    classes : Classes
        What the columns are called.
    ordered : bool
        Whether the order of the classes means something.
    """

    values: AnyArray
    classes: Classes
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
        """Return the position of each label of y among the classes, (n,)."""
        return self.classes.find(self._checked(y))

    class_names = same_as("classes.names")

    def cells(self, by: str) -> Cells:
        count = self.values.shape[1]
        steps = np.arange(float(count)) if self.ordered else None
        labels = Block("labels", start=0, stop=count, positions=steps)
        if by != ResidualSet.FULL:
            return Cells((labels,), "labels")
        last = count + rank_count(count)
        ranks = Block("ranks", start=count, stop=last)
        log_probability = Block("surprise", start=last, stop=last + 1)
        return Cells(
            (labels, ranks, log_probability),
            "labels, their ranks and their log-probabilities in the model",
        )

    def residuals(self, y: AnyArray, by: str) -> Residuals:
        kind = FullClassOutcomes if by == ResidualSet.FULL else CellOutcomes
        return Residuals.from_outcomes(kind(self.values, self._codes(y)))

    def remarks(self, y: AnyArray) -> tuple[str, ...]:
        observed = self.values[np.arange(self.n), self._codes(y)]
        impossible = int((observed <= 0).sum())
        if not impossible:
            return ()
        rows = "row" if impossible == 1 else "rows"
        return (
            f"the model gives the observed class probability 0 in {impossible} {rows},"
            " which refutes it without any test unless that is rounding",
        )

    def _by_blocks(self, compute: Callable[[FloatArray, slice], AnyArray]) -> AnyArray:
        """Compute something from the normalised probabilities, some rows at a time.

        `compute` gets the probabilities (b, K) of a block of rows, which it may overwrite,
        and the slice of these rows; what it returns has b rows.
        """
        blocks = [
            slice(start, start + BLOCK_ROWS) for start in range(0, self.n, BLOCK_ROWS)
        ]
        return np.concatenate([compute(normalised(self.values[b]), b) for b in blocks])

    def log_prob(self, y: AnyArray) -> FloatArray:
        codes = self._codes(y)
        with np.errstate(divide="ignore"):
            return self._by_blocks(
                lambda p, rows: np.log(p[np.arange(len(p)), codes[rows]])
            )

    def brier(self, y: AnyArray) -> FloatArray:
        """Return Σ_k (p_k − 1{y = k})², (n,), halved where there are two classes.

        Two classes have the same term twice, and the score of one is what is usual.
        """
        codes = self._codes(y)
        factor = 0.5 if self.values.shape[1] == 2 else 1.0
        return self._by_blocks(
            lambda p, rows: factor * np.square(label_residuals(p, codes[rows])).sum(axis=1)
        )

    def crps(self, y: AnyArray) -> FloatArray:
        """Return Σ_k (F_k − 1{y ≤ k})² times the distance to the next class, (n,)."""
        self._require("cdf")
        y_values = self.numbers(y)
        order = np.argsort(self.classes.values)
        values = self.classes.values[order]
        gaps = np.diff(values)

        def compute(p: FloatArray, rows: slice) -> AnyArray:
            cdf = np.cumsum(p[:, order], axis=1)[:, :-1]
            return np.square(cdf - (y_values[rows, None] <= values[:-1])) @ gaps

        return self._by_blocks(compute)

    def cdf(self, y: AnyArray) -> FloatArray:
        self._require("cdf")
        at = self._as_values(self._checked(y))
        values = self.classes.values
        return self._by_blocks(
            lambda p, rows: np.minimum((p * (values <= at[rows, None])).sum(axis=1), 1.0)
        )

    def cdf_grid(self, values: AnyArray) -> FloatArray:
        self._require("cdf")
        is_below = self.classes.values[:, None] <= self._as_values(values)
        weights = is_below.astype(np.float64)
        return self._by_blocks(lambda p, rows: p @ weights)

    def _as_values(self, y: AnyArray) -> FloatArray:
        """Return where to take a CDF, (m,): labels of text, or numbers of any value."""
        if np.asarray(y).dtype.kind in "biuf":
            return np.ravel(y).astype(np.float64)
        return self.classes.values[self.classes.find(y)]

    def sample(self, rng: np.random.Generator) -> FloatArray:
        uniform = rng.random((self.n, 1))
        # Without the last sum, which rounding may leave below 1.
        codes = self._by_blocks(
            lambda p, rows: (uniform[rows] >= np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
        )
        return self.classes.values[codes][:, None]

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        self._require("mean_std")
        values = self.classes.values
        mean = self._by_blocks(lambda p, rows: p @ values)[:, None]
        variance = self._by_blocks(
            lambda p, rows: (p * np.square(values - mean[rows])).sum(axis=1)
        )
        return mean, np.sqrt(variance)[:, None]

    @property
    def support(self) -> tuple[AnyArray, AnyArray]:
        values = self.classes.values
        return np.array(values.min() - 1.0), np.array(values.max() + 1.0)

    def _require(self, ability: str) -> None:
        """Refuse what takes an order of the classes where there is none."""
        if not self.can(ability):
            advice = (
                "Pass ordered=True to condgof.probabilities if their order means something."
            )
            raise UnsupportedModelError(
                f"Classes without an order have no {ability}. {advice}"
            )


def probabilities(P: Any, classes: Any = None, *, ordered: bool = False) -> Probabilities:
    """Law of a discrete y from predicted class probabilities.

    A fitted classifier needs none of this: it goes straight to the tests.

    Parameters
    ----------
    P : array_like of shape (n, K), or (n,) for two classes
        The probabilities of the classes in each row, or of the second of two classes. The
        array is used as it is and not copied: leave it alone while the law is in use.
    classes : list of K numbers or strings, optional
        What y calls the classes, in the order of the columns of P. Unless given: the names
        of the columns where P is a frame, and 0, 1, …, K − 1 where it is an array. A frame
        whose columns are named like the `classes`, in another order, is put in their order.
    ordered : bool
        Whether that order means something (grades, stages): y is then compared by how far
        apart classes lie, too.

    Examples
    --------
    >>> import condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> y = np.where(rng.random(500) < 1 / (1 + np.exp(-x)), "yes", "no")
    >>> steep = 1 / (1 + np.exp(-3 * x))          # overconfident
    >>> cg.adaptive(cg.probabilities(steep, ["no", "yes"]), x, y, rng=1).reject()
    True
    """
    table = P
    if is_frame(P):
        table, classes = _columns_as_classes(P, classes)
    array = as_numbers(table, "P", advice="Pass an array (n, K) of class probabilities.")
    if array.ndim == 1:
        array = np.column_stack([1.0 - array, array])
    if array.ndim != 2 or array.shape[1] < 2 or not len(array):
        wanted = "(n, K) with K ≥ 2 columns, or (n,) for the second of two classes"
        raise ShapeError(f"P must have shape {wanted}, got {np.shape(P)}.")
    checked = check_probabilities(array, "P", "Pass probabilities, not scores or logits.")
    view = checked.view()
    view.flags.writeable = False
    labels = Classes.from_labels(classes, array.shape[1])
    return with_index(Probabilities(view, labels, bool(ordered)), P)


class _NamedColumns(NamedTuple):
    """A frame of probabilities, and what its columns are called."""

    table: Any
    classes: Any


def _columns_as_classes(frame: Any, classes: Any) -> _NamedColumns:
    """Match the columns of a frame of probabilities to the classes, by their names.

    Names and classes are compared as text, whatever their types, so that a column "1"
    holds the probability of the class 1. Where no name is that of a class (p_cat, p_dog),
    the columns are in the order of the classes.
    """
    names = [_text_of_label(name) for name in column_names(frame)]
    if classes is None:
        return _NamedColumns(frame, _labels_of_columns(names))
    if isinstance(classes, (str, bytes)) or np.ndim(classes) != 1:
        return _NamedColumns(frame, classes)  # which is refused where labels are read
    wanted = [_text_of_label(label) for label in classes]
    if sorted(names) == ["False", "True"] and sorted(wanted) == ["0", "1"]:
        names = [str(int(name == "True")) for name in names]
    if names == wanted or not set(names) & set(wanted):
        return _NamedColumns(frame, classes)
    if sorted(names) != sorted(wanted):
        raise InputError(
            f"The columns of P are {_listed(np.array(names))}, and the classes"
            f" {_listed(np.array(wanted))}. Name the columns as the classes, or pass"
            " P.to_numpy() if they are in the order of the classes."
        )
    order = [names.index(name) for name in wanted]
    columns = [as_numbers(native_column(frame, j), "P") for j in order]
    return _NamedColumns(np.column_stack(columns), classes)


def _labels_of_columns(names: list[str]) -> Any:
    """Return what y calls the classes that columns are named after.

    Names that are whole numbers, as they are or after what all of them begin with (p_0,
    p_1), are numbers; False and True are 0 and 1. None for a single column, which is the
    probability of the second of two classes.
    """
    if len(names) == 1:
        return None
    if sorted(names) == ["False", "True"]:
        return [int(name == "True") for name in names]
    parts = [NUMBERED_NAME.fullmatch(name) for name in names]
    prefixes = {part[1] for part in parts if part is not None}
    if len(prefixes) == 1 and all(parts):
        return [int(part[2]) for part in parts if part is not None]
    return names


def _text_of_label(label: object) -> str:
    """Return a label as text; of a whole number, also as text, without a point."""
    text = str(label)
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() and abs(number) < 2**53 else text


def bernoulli(p: FloatArray) -> Probabilities:
    """Law of the classes 0 and 1 from the probability of 1, (n,) or (n, 1)."""
    return probabilities(np.clip(np.asarray(p, dtype=np.float64).reshape(-1), 0.0, 1.0))
