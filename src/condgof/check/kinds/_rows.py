"""The rows of a check: what numbers, subgroups and pictures are made of.

One class for each kind of y, each in its own file with all that a check does for the kind:
numbers (`findings`), functions of y that the search of subgroups sums up (`signals`),
columns of the frame. What is registered for its residuals is found by `checked_rows`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._axes import Axis
from condgof.check.effects import Tilt
from condgof.check.kinds._signals import ReplicatedSignals, Signals, tilt_of_signals
from condgof.laws import Law, Moments
from condgof.residuals import Replicate, Residuals
from condgof.sample import CodedColumn, Column, FrameOrigin, Seed
from condgof.stein import RowsInMemory

if TYPE_CHECKING:
    from condgof.check._findings import Reader
    from condgof.check._record import Finding


#: A column of the frame of a check.
FrameColumn: TypeAlias = CodedColumn


@dataclass(frozen=True, eq=False)
class RowTable:
    """x and y of the rows of a check, in the order of the data."""

    rows: IntArray  #: The number of each row in the data, (n,).
    x_columns: tuple[Column, ...]
    x: FloatArray  #: (n, d_x).
    y_columns: tuple[Column, ...]
    y: FloatArray  #: y as numbers, (n, d_y).
    whole: int  #: Number of rows of the data; these n may be some of them, at random.
    #: Columns as subgroups can name them: those of x, then the predictions.
    axes: tuple[Axis, ...] = ()
    #: The frame library that the user's data came in, and the labels of all rows there.
    origin: FrameOrigin = field(default_factory=FrameOrigin)
    weights: FloatArray | None = None  #: Weights of the rows, (n,); all equal if None.


@dataclass(frozen=True, eq=False)
class CheckedRows(ABC):
    """Rows of a check in memory, with what the model predicts of them."""

    #: What messages call the kind of y.
    label: ClassVar[str]
    #: Whether y are counts or classes.
    is_discrete: ClassVar[bool] = False
    #: Whether the numbers of rows can be weighted.
    takes_weights: ClassVar[bool] = True
    #: What the frame calls the predicted scale.
    scale_name: ClassVar[str] = "predicted_sd"
    table: RowTable
    #: Columns of the frame that compare y with its law, by name, (n,) each: PIT and normal
    #: score of a continuous y, whether an interval held, …
    comparison: dict[str, AnyArray]
    #: Predicted location and scale of y; None where the model has none.
    moments: Moments | None

    @classmethod
    @abstractmethod
    def from_law(cls, table: RowTable, law: Law, residuals: Any) -> CheckedRows:
        """Take from a law, and from residuals of its kind, what a check needs."""

    @abstractmethod
    def findings(
        self, reader: Reader, rows: IntArray, *, overall: bool
    ) -> Iterator[Finding]:
        """Yield the findings of some rows, by their positions (m,).

        `overall` says that these are all rows. Then the findings are such that one outlier
        moves none of them, and outliers are reported.
        """

    @abstractmethod
    def signals(self, law: Law, rows: RowsInMemory, seed: Seed) -> Signals:
        """Return the functions of y whose sums over subgroups the search compares.

        `rows` are the same rows as a test statistic takes them, and `law` is their law.
        """

    def all_signals(self, law: Law, rows: RowsInMemory, seed: Seed) -> Signals:
        """Return the signals, with those of whole samples where rows share an error."""
        signals = self.signals(law, rows, seed)
        if not rows.are_drawn_together:
            return signals
        replicates = rows.replicates
        assert replicates is not None

        def replicate_signals(number: int) -> Signals:
            replicate = replicates.replicate(number)
            return self.signals_of_replicate(signals, replicate, rows, seed)

        replicated = ReplicatedSignals(replicates.count, replicate_signals)
        return replace(signals, replicated=replicated)

    def signals_of_replicate(
        self, observed: Signals, replicate: Replicate, rows: RowsInMemory, seed: Seed
    ) -> Signals:
        """Return the signals of a whole sample in place of y.

        `observed` are those of y itself.
        """
        held = replace(
            rows,
            sample=rows.sample if replicate.sample is None else replicate.sample,
            residuals=replicate.residuals,
            replicates=None,
        )
        return self.again(replicate.law, held).signals(replicate.law, held, seed)

    def tilt(self, law: Law, rows: RowsInMemory, seed: Seed) -> Tilt:
        """Return the rows beside their law, as the search for effects takes them.

        Where a kind of y has no class of its own for that, they are its signals.
        """
        return tilt_of_signals(self.signals(law, rows, seed))

    def normal_scores_of(self, y_name: str) -> FloatArray | None:
        """Return the normal scores of a column of y, (n,), where the model has a CDF."""
        return None

    def with_bands(self, law: Law, seed: Seed) -> Self:
        """Return the rows with the model's quantiles of y, where pictures draw them."""
        return self

    def again(self, law: Law, rows: RowsInMemory) -> CheckedRows:
        """Return the same rows of x with another y, that of `rows`, and its law."""
        table = replace(self.table, y=rows.sample.y)
        return checked_rows(rows.residuals, table, law)

    def observed_values(self) -> AnyArray:
        """Return the only column of y, (n,): numbers, or the names of classes."""
        return self.y[:, 0]

    def y_frame_columns(self) -> Iterator[FrameColumn]:
        """Yield the columns of y."""
        for column, values in zip(self.y_columns, self.y.T, strict=True):
            yield FrameColumn(column, values)

    def predicted_columns(self) -> Iterator[FrameColumn]:
        """Yield what the model predicts: location and scale of each column of y."""
        if self.moments is None:
            return
        yield from self._by_column("predicted", self.moments.location)
        yield from self._by_column(self.scale_name, self.moments.scale)

    def searched_predictions(self) -> list[FrameColumn]:
        """Return the predictions along which subgroups are searched."""
        return list(self.predicted_columns())

    def query_predictions(self, axis: Axis) -> Axis:
        """Return a prediction's axis with queries for the type it has in the frame."""
        return axis

    def search_notes(self) -> Iterator[str]:
        """Yield what a reader of the search for subgroups should know."""
        yield from ()

    def comparison_columns(self) -> Iterator[FrameColumn]:
        """Yield what the frame shows of y compared with its law."""
        for name, values in self.comparison.items():
            yield FrameColumn(Column(name, boolean=values.dtype == np.bool_), values)

    def _by_column(self, name: str, values: AnyArray) -> Iterator[FrameColumn]:
        """Yield the columns of values (n, d_y), named after those of y if several."""
        single = len(self.y_columns) == 1
        for j, column in enumerate(self.y_columns):
            full_name = name if single else f"{name}_{column.name}"
            yield FrameColumn(Column(full_name), np.asarray(values)[:, j])

    @property
    def n(self) -> int:
        return len(self.table.rows)

    @property
    def rows(self) -> IntArray:
        """The number of each row in the data, (n,)."""
        return self.table.rows

    @property
    def x_columns(self) -> tuple[Column, ...]:
        return self.table.x_columns

    @property
    def x(self) -> FloatArray:
        return self.table.x

    @property
    def y_columns(self) -> tuple[Column, ...]:
        return self.table.y_columns

    @property
    def y(self) -> FloatArray:
        return self.table.y

    @property
    def y_name(self) -> str:
        """The name of the only, or first, column of y."""
        return self.table.y_columns[0].name

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Columns as subgroups can name them: those of x, then the predictions."""
        return self.table.axes

    @property
    def weights(self) -> FloatArray | None:
        """Weights of the rows, (n,); None where all are equal."""
        return self.table.weights

    @property
    def whole(self) -> int:
        """Number of rows of the data."""
        return self.table.whole

    @property
    def all_rows(self) -> bool:
        """Whether these are all rows of the data."""
        return self.n == self.whole


@singledispatch
def rows_class(residuals: Residuals) -> type[CheckedRows]:
    """Return the class of rows that a check makes of residuals."""
    raise NotImplementedError(f"check knows no rows for {type(residuals).__name__}")


def checked_rows(residuals: Residuals, table: RowTable, law: Law) -> CheckedRows:
    """Make the rows of a check, of the class that is registered for the residuals."""
    return rows_class(residuals).from_law(table, law, residuals)
