"""Classes: how often the most probable one is right, and how often each comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._axes import Axis, digits, quoted
from condgof.check._findings import improbable_classes
from condgof.check._quantities import Signal
from condgof.check._size import (
    MATRIX_ROWS,
    Bench,
    Size,
    features_of_x,
    pair_sums,
    root_of,
    size_of,
)
from condgof.check.effects import ErrorKind, EventTilt, Odds, Tilt
from condgof.check.kinds._rows import CheckedRows, FrameColumn, RowTable, rows_class
from condgof.check.kinds._signals import CellSignals, Signals
from condgof.laws import Law, class_numbers, normalised
from condgof.methods import LOCAL_BANDWIDTH, narrowed
from condgof.residuals import ClassResiduals
from condgof.sample import Column, Seed
from condgof.stein import RowsInMemory

if TYPE_CHECKING:
    from condgof.check._findings import Reader
    from condgof.check._record import Finding

#: At most this many classes, the most probable ones over all rows, have findings and
#: signals of their own. Pictures show more: `condgof.check.MOST_CLASSES`.
MOST_EXAMINED_CLASSES = 12
#: A row is an outlier if the class that came had a smaller probability.
TINY_PROBABILITY = 1e-4
#: The ranks by probability that the effect size tells apart: the most probable class, the
#: next, and all others together.
RANKS = 3
#: The least variance of a class by which another variance is divided.
LEAST_VARIANCE = 1e-12


@dataclass(frozen=True, eq=False)
class ClassRows(CheckedRows):
    """Rows with class probabilities."""

    label = "classes"
    is_discrete = True
    probabilities: AnyArray  #: As the law has them, in its type of numbers, (n, K).
    codes: IntArray  #: The position of the observed class, (n,).
    class_names: tuple[str, ...]
    #: The labels of the classes, (K,), where these are numbers; None where they are text.
    class_numbers: FloatArray | None = None

    @classmethod
    def from_law(cls, table: RowTable, law: Law, residuals: ClassResiduals) -> ClassRows:
        return cls(
            table=table,
            comparison={},
            moments=None,
            probabilities=residuals.probabilities,
            codes=residuals.observed,
            class_names=residuals.class_names,
            class_numbers=class_numbers(law),
        )

    @cached_property
    def largest_classes(self) -> IntArray:
        """The positions of the most probable classes over all rows, (k,), sorted.

        Of two classes it is the second alone, as the first has nothing to add.
        """
        shares = np.asarray(self.probabilities, dtype=np.float64).mean(axis=0)
        largest = np.sort(np.argsort(-shares, kind="stable")[:MOST_EXAMINED_CLASSES])
        return largest if len(shares) > 2 else np.array([1])

    def observed_values(self) -> AnyArray:
        return np.array(self.class_names)[self.codes]

    def y_frame_columns(self) -> Iterator[FrameColumn]:
        yield self._classes_in_frame(self.y_name, self.codes)

    def predicted_columns(self) -> Iterator[FrameColumn]:
        p = np.asarray(self.probabilities, dtype=np.float64)
        if len(self.class_names) == 2:
            yield FrameColumn(Column(f"probability_{self.class_names[1]}"), p[:, 1])
        yield self._classes_in_frame("predicted", p.argmax(axis=1))
        yield FrameColumn(Column("confidence"), p.max(axis=1))

    def _classes_in_frame(self, name: str, codes: IntArray) -> FrameColumn:
        """Return classes at positions `codes` (n,) as a column of the type of y."""
        if self.class_numbers is None:
            return FrameColumn(Column(name, self.class_names), codes)
        column = Column(name, boolean=self._boolean)
        return FrameColumn(column, self.class_numbers[codes])

    @property
    def _boolean(self) -> bool:
        """Whether y holds false and true, which are the classes 0 and 1."""
        if self.class_numbers is None or not self.y_columns[0].boolean:
            return False
        return bool(np.isin(self.class_numbers, (0, 1)).all())

    def searched_predictions(self) -> list[FrameColumn]:
        columns = list(self.predicted_columns())
        # Of two classes the probability tells which is predicted, and how confidently.
        if len(self.class_names) == 2:
            return columns[:1]
        # Subgroups are of one class each, also where labels are numbers.
        p = np.asarray(self.probabilities, dtype=np.float64)
        predicted = FrameColumn(
            Column("predicted", self.class_names), p.argmax(axis=1) * 1.0
        )
        return [predicted, *columns[1:]]

    def query_predictions(self, axis: Axis) -> Axis:
        if axis.levels is None or self.class_numbers is None:
            return axis
        name = quoted(axis.name)
        queries = tuple(f"{name} == {digits(number)}" for number in self.class_numbers)
        return replace(axis, queries=queries)

    def search_notes(self) -> Iterator[str]:
        count = len(self.class_names)
        if count > MOST_EXAMINED_CLASSES:
            yield (
                f"of {count} classes the {MOST_EXAMINED_CLASSES} most probable ones were"
                " looked at by themselves in the search for effects"
            )

    def findings(
        self, reader: Reader, rows: IntArray, *, overall: bool
    ) -> Iterator[Finding]:
        p = normalised(self.probabilities[rows])
        codes = self.codes[rows]
        top = np.argmax(p, axis=1)
        confidence = p[np.arange(len(p)), top]
        about = Signal("confidence", self.y_name)
        yield reader.share_finding(rows, codes == top, confidence, about)
        for k in self.largest_classes:
            about = Signal("class", self.y_name, self.class_names[k])
            yield reader.share_finding(rows, codes == k, p[:, k], about)
        if overall:
            yield from improbable_classes(reader, p, codes, TINY_PROBABILITY, self.y_name)

    def signals(self, law: Law, rows: RowsInMemory, seed: Seed) -> Signals:
        """Return whether the most probable class, and each large one, was observed.

        Less their probabilities, (n, 1 + k) for k large classes.
        """
        unnormalised = np.asarray(self.probabilities)
        largest = self.largest_classes
        p = normalised(unnormalised)
        top = np.argmax(p, axis=1)
        mean = np.column_stack([p[np.arange(len(p)), top], p[:, largest]])

        def at(some: IntArray, codes: IntArray) -> AnyArray:
            """Return the signals of r rows in classes (r, m), (r, m, 1 + k)."""
            is_top = (codes == top[some][:, None])[:, :, None]
            is_class = codes[:, :, None] == largest
            expected = mean[some][:, None].astype(np.float32)
            return np.concatenate([is_top, is_class], axis=2, dtype=np.float32) - expected

        def probabilities(some: IntArray) -> FloatArray:
            return normalised(unnormalised[some])

        cells = CellSignals(probabilities, at)
        classes = [Signal("class", self.y_name, self.class_names[k]) for k in largest]
        values = at(np.arange(self.n), self.codes[:, None])[:, 0]
        return Signals(
            about=(Signal("confidence", self.y_name), *classes),
            values=values.astype(np.float64),
            variance=mean * (1.0 - mean),
            redraw=cells.redraw,
            bound=1.0,
            cells=cells,
            of_resampled=lambda: cells.at_uniforms(np.arange(self.n)),
        )

    def tilt(self, law: Law, rows: RowsInMemory, seed: Seed) -> Tilt:
        """Return the events that effects are about: each large class, and the top class.

        Cells are the large classes, the most probable class where it is none of them, and
        all others together: C = k + 2.
        """
        p = normalised(self.probabilities)
        every = np.arange(self.n)
        largest = np.sort(
            np.argsort(-p.mean(axis=0), kind="stable")[:MOST_EXAMINED_CLASSES]
        )
        k = len(largest)
        cell_of_class = np.full(p.shape[1], k + 1)
        cell_of_class[largest] = np.arange(k)
        top = np.argmax(p, axis=1)
        codes = cell_of_class[self.codes]
        codes = np.where((codes == k + 1) & (self.codes == top), k, codes)
        top_cell = np.where(cell_of_class[top] == k + 1, k, cell_of_class[top])
        cells = np.zeros((self.n, k + 2))
        cells[:, :k] = p[:, largest]
        is_other = top_cell == k
        cells[is_other, k] = p[every, top][is_other]
        cells[:, k + 1] = np.maximum(1.0 - cells.sum(axis=1), 0.0)
        examined = self.largest_classes
        kinds = [
            ErrorKind("class", self.y_name, self.class_names[one], Odds(), "class")
            for one in examined
        ]
        members = cell_of_class[examined][:, None] == np.arange(k + 2)
        members = np.broadcast_to(members, (self.n, *members.shape))
        is_top = top_cell[:, None, None] == np.arange(k + 2)
        kinds.append(ErrorKind("confidence", self.y_name, "", Odds(), "confidence"))
        return EventTilt(
            kinds=tuple(kinds),
            log_ratio=np.zeros((self.n, 1)),
            probabilities=cells[:, None],
            codes=codes[:, None],
            members=np.concatenate([members, is_top], axis=1),
        )


@rows_class.register
def _(residuals: ClassResiduals) -> type[CheckedRows]:
    return ClassRows


@size_of.register
def _(residuals: ClassResiduals, bench: Bench) -> Size:
    """A probability s that goes from the most probable class to the next.

    k is narrow, so that misfits of opposite signs do not cancel.
    """
    p = normalised(residuals.probabilities)
    f = features_of_x(narrowed(bench.kernel, LOCAL_BANDWIDTH), bench)
    one_hot = -p
    one_hot[np.arange(len(p)), residuals.observed] += 1.0
    moved = first_to_next(p)
    sums = pair_sums(
        f,
        by_label_and_rank(p, one_hot),
        by_label_and_rank(p, moved),
        bench.dependence,
        lambda some: squares_by_label_and_rank(p[some]),
    )
    return Size(
        parts=(sums,),
        of=root_of(1.0, 1.0),
        unit="probability on the wrong class",
        like="predicted probabilities that are off by {} at every x",
        wider=wider_by(p, moved),
    )


def most_probable(p: FloatArray, count: int) -> IntArray:
    """Return the positions of the few largest numbers of each row, (n, count).

    The largest one is first; equal ones keep their order.
    """
    left = p.copy()
    found = []
    for _ in range(count):
        largest = left.argmax(axis=1)
        left[np.arange(len(p)), largest] = -1.0
        found.append(largest)
    return np.stack(found, axis=1)


def wider_by(p: FloatArray, moved: FloatArray) -> Callable[[float], float]:
    """Return the variance of y under p + s·moved over that under p, as a function of s.

    It is at least 1. `p` is (n, K), and `moved` is (n, K), or (1, K) where all rows have
    the same probabilities, so that the first row is enough. The variance of a class with
    probabilities q is 1 − Σ q². At most `MATRIX_ROWS` rows are used, evenly spread.
    """
    step = -(-len(moved) // MATRIX_ROWS)
    few = p[: len(moved) : step]
    few_moved = moved[::step]

    def variance(q: FloatArray) -> float:
        return float(np.mean(1.0 - np.square(q).sum(axis=1)))

    def wider(s: float) -> float:
        changed = variance(np.clip(few + s * few_moved, 0.0, 1.0))
        return max(changed / max(variance(few), LEAST_VARIANCE), 1.0)

    return wider


def first_to_next(p: FloatArray) -> FloatArray:
    """Return the move of probability from the most probable class to the next, (n, K)."""
    first, second = most_probable(p, RANKS - 1).T
    rows = np.arange(len(p))
    moved = np.zeros(p.shape)
    moved[rows, first] = -1.0
    moved[rows, second] = 1.0
    return moved


def by_label_and_rank(p: FloatArray, values: FloatArray) -> FloatArray:
    """Return values (n, K) of classes by label, then by rank in p, (n, K + RANKS).

    The value of the last rank is the sum over all other classes.
    """
    top = most_probable(p, RANKS - 1)
    others = values.copy()
    np.put_along_axis(others, top, 0.0, axis=1)
    of_top = np.take_along_axis(values, top, axis=1)
    return np.column_stack([values, of_top, others.sum(axis=1)])


def squares_by_label_and_rank(p: FloatArray) -> FloatArray:
    """Return E[h²] as `squares_of` does, for l = 1{same label} + 1{same rank}, (m, m).

    y and y' are drawn from rows i and j of p (m, K), and h is l less its means over y, over
    y', and plus its mean over both, so that

        E[h²] = E[l²] − E[(E[l|y'])²] − E[(E[l|y])²] + E[l]².

    As l is a sum of two indicators, l² = l + 2·1{same label}·1{same rank}.
    """
    ranks = by_label_and_rank(p, p)[:, p.shape[1] :]
    place = np.full(p.shape, RANKS - 1)
    np.put_along_axis(
        place, most_probable(p, RANKS - 1), np.arange(RANKS - 1)[None], axis=1
    )
    has_rank = place[:, :, None] == np.arange(RANKS)
    # P(label and rank), and P(label)·P(rank), of each row, (m, K·RANKS).
    joint = (p[:, :, None] * has_rank).reshape(len(p), -1)
    apart = (p[:, :, None] * ranks[:, None, :]).reshape(len(p), -1)
    mean = p @ p.T + ranks @ ranks.T  # E[l]
    # E[(E[l|y'])²], whose transpose is E[(E[l|y])²].
    once = np.square(p) @ p.T + np.square(ranks) @ ranks.T + 2.0 * apart @ joint.T
    return np.asarray(mean + 2.0 * joint @ joint.T - once - once.T + np.square(mean))
