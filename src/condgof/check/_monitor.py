"""A model in use, watched row after row: is it wrong, has it changed, since when, where?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from condgof import sample as reading
from condgof._typing import AnyArray, IntArray, TableLike
from condgof.check._front import check
from condgof.check._record import Check
from condgof.errors import (
    InputError,
    InputTypeError,
    ShapeError,
    check_number,
    require,
    shown,
)
from condgof.laws import Columns, Law, as_model, law_of
from condgof.methods import (
    LONGEST_STEP,
    Alarm,
    KeptRows,
    MonitoredRows,
    RunningEvidence,
    monitored_rows,
    one_normal_row,
)
from condgof.result import Shown, check_alpha
from condgof.sample import Column, RngLike, Sample, Seed, is_frame

#: What an alarm is followed by as long as no change was noticed.
WRONG_NOT_CHANGED = (
    "An alarm says that the model is wrong, perhaps from the start. Whether it has changed"
    " is another question (`changed`): no change was noticed."
)
#: The version of saved states.
VERSION = 2
#: Numbers that the rows in memory may take.
MOST_NUMBERS = 20_000
#: Rows that are in memory at most, however few numbers they have.
MOST_ROWS = 2_000
#: When a monitor is restored, its model is asked again for this many of the latest rows.
ROWS_ASKED_AGAIN = 8
#: Its answers may differ from those before by this much, absolutely or relatively.
TOLERANCE = 1e-3
#: Microseconds of a day: dates are numbers of days.
DAY = 86_400e6
#: Larger logarithms of the evidence count as this, so that the evidence is finite.
LARGEST_LOG = 690.0


class ColumnSchema(NamedTuple):
    """The name of a column, and what it holds: numbers, booleans, text, dates, …"""

    name: str
    kind: str

    @classmethod
    def from_column(cls, column: Column) -> ColumnSchema:
        return cls(column.name, "booleans" if column.boolean else column.kind)


@dataclass(frozen=True)
class Schema:
    """What all batches of a stream have in common."""

    x: list[ColumnSchema]
    y: list[ColumnSchema]
    #: The library of the frame x, or "array".
    form: str
    #: Whether x, and y, are arrays of one dimension.
    flat_x: bool
    flat_y: bool
    #: The kinds of bets on a discrete y, and the names of the predictions; known from the
    #: law.
    kinds: tuple[str, ...] = ()
    predicted: tuple[str, ...] = ()

    @classmethod
    def from_sample(cls, sample: Sample) -> Schema:
        frame = is_frame(sample.x_given) or hasattr(sample.x_given, "to_frame")
        library = type(sample.x_given).__module__.partition(".")[0]
        return cls(
            x=[ColumnSchema.from_column(column) for column in sample.x_columns],
            y=[ColumnSchema.from_column(column) for column in sample.y_columns],
            form=library if frame else "array",
            flat_x=not frame and sample.x_given.ndim == 1,
            flat_y=sample.y_given.ndim == 1,
        )

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Schema:
        return cls(
            x=[ColumnSchema(*column) for column in state["x"]],
            y=[ColumnSchema(*column) for column in state["y"]],
            form=state["form"],
            flat_x=state["flat_x"],
            flat_y=state["flat_y"],
            kinds=tuple(state["kinds"]),
            predicted=tuple(state["predicted"]),
        )

    def to_state(self) -> dict[str, Any]:
        return {
            "x": [list(column) for column in self.x],
            "y": [list(column) for column in self.y],
            "form": self.form,
            "flat_x": self.flat_x,
            "flat_y": self.flat_y,
            "kinds": list(self.kinds),
            "predicted": list(self.predicted),
        }

    def check_same(self, before: Schema) -> None:
        """Refuse a batch that has other columns than those before."""
        _check_same_columns("x", self.x, before.x)
        _check_same_columns("y", self.y, before.y)


def _check_same_columns(
    what: str, columns: list[ColumnSchema], before: list[ColumnSchema]
) -> None:
    names = ", ".join(repr(column.name) for column in columns)
    names_before = ", ".join(repr(column.name) for column in before)
    if names != names_before:
        raise InputError(f"{what} has the columns {names}, and before {names_before}.")
    for (name, kind), (_, kind_before) in zip(columns, before, strict=True):
        numeric = {kind, kind_before} == {"numbers", "booleans"}
        if kind != kind_before and not numeric:
            raise InputError(
                f"{what} column {name!r} holds {kind}, and before {kind_before}."
            )


class EvidenceAt(NamedTuple):
    """What the evidence was after some rows."""

    rows: int
    evidence: float


class RowMemory:
    """The latest rows of a stream, by column.

    The columns are what bets need (``z``, ``tilts``, ``predicted``), ``y``, and the columns
    of x by number, ``x0``, ``x1``, …
    """

    def __init__(self, empty: dict[str, AnyArray]) -> None:
        self._columns = empty
        #: Batches that have not been joined with the columns: joining each would be slow.
        self._batches: list[dict[str, AnyArray]] = []
        width = sum(math.prod(array.shape[1:]) for array in empty.values())
        #: How many rows are kept.
        self.capacity = int(np.clip(MOST_NUMBERS // width, 2 * LONGEST_STEP, MOST_ROWS))

    @classmethod
    def for_rows(cls, schema: Schema, rows: MonitoredRows) -> RowMemory:
        """Make a memory for rows like these, without any."""
        columns: dict[str, AnyArray] = {
            "z": rows.z[:0],
            "tilts": rows.tilts[:0],
            "predicted": rows.predicted[:0],
            "y": np.empty((0, len(schema.y)), dtype=_dtype_of(schema.y[0])),
        }
        for i, column in enumerate(schema.x):
            columns[f"x{i}"] = np.empty(0, dtype=_dtype_of(column))
        return cls(columns)

    def append(self, sample: Sample, rows: MonitoredRows) -> None:
        """Add a batch."""
        batch: dict[str, AnyArray] = {
            "z": rows.z,
            "tilts": rows.tilts,
            "predicted": rows.predicted,
            "y": sample.y,
        }
        if self._columns["y"].dtype == object:
            batch["y"] = np.array(sample.y_given, dtype=object).reshape(-1, 1)
        for i, column in enumerate(sample.x_columns):
            values = sample.x[:, i]
            if column.levels is not None:
                values = np.array(column.levels, dtype=object)[values.astype(int)]
            batch[f"x{i}"] = values
        self._batches.append(batch)

    @property
    def columns(self) -> dict[str, AnyArray]:
        """All rows that are held, also those beyond the capacity that came last."""
        if self._batches:
            for name, column in self._columns.items():
                new = [batch[name] for batch in self._batches]
                self._columns[name] = np.concatenate([column, *new])
            self._batches = []
        return self._columns

    def forget_old_rows(self) -> None:
        self._columns = self.latest()

    def latest(self) -> dict[str, AnyArray]:
        """Return the latest rows, as many as the capacity."""
        return {name: column[-self.capacity :] for name, column in self.columns.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take the rows of a state."""
        for name, column in self._columns.items():
            self._columns[name] = np.array(state[name], dtype=column.dtype)


def _evidence_of(log: float) -> float:
    """Return the evidence of its logarithm; it is finite."""
    return math.exp(min(log, LARGEST_LOG))


def check_seed(seed: object) -> int:
    """Check a seed that is kept in the state of a monitor, and return it."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InputError(
            f"seed must be a whole number that is not negative, got {shown(seed)}."
        )
    return int(seed)


def _column_names(beside: object) -> tuple[str, ...]:
    """Check the names of columns that only a model reads, and return them."""
    names = list(beside) if isinstance(beside, Sequence) else [None]
    if isinstance(beside, str) or not all(isinstance(name, str) for name in names):
        raise InputTypeError(
            f"beside must be a list of names of columns, got {shown(beside)}."
        )
    return tuple(map(str, names))


def _dtype_of(column: ColumnSchema) -> type:
    return object if column.kind == "text" else float


class Monitor(Shown):
    """A model in use, and the evidence against it so far; `monitor` makes one.

    Under a correct model, the evidence reaches 1/alpha with probability at most alpha.

    `beside` are columns of x that only the model reads, those of its predictions unless
    given; `frame` makes a frame of columns by name, known from the first batch otherwise.

    Examples
    --------
    >>> import condgof as cg
    >>> m = cg.monitor(cg.models.Normal(mean=lambda x: x, std=1.0), rng=0)
    >>> m.update(1.5, 2.5).rows, m.alarm
    (1, False)
    """

    def __init__(
        self,
        model: Any,
        alpha: float = 0.05,
        run_length: float = 100_000,
        seed: int = 0,
        *,
        beside: Sequence[str] | None = None,
        frame: Any = None,
    ) -> None:
        self.model = as_model(model)
        self.alpha = check_alpha(alpha)
        self.run_length = check_number(
            run_length, "run_length", "above 1", lambda rows: rows > 1
        )
        #: How many rows there have been.
        self.rows = 0
        self._seed = check_seed(seed)
        self._frame = frame
        #: Columns of x that rows are not grouped by.
        self._beside: tuple[str, ...] = ()
        if beside is not None:
            self._beside = _column_names(beside)
        elif isinstance(self.model, Columns):
            self._beside = self.model.names
        #: What is known from the first batch on.
        self._schema: Schema | None = None
        self._memory: RowMemory | None = None
        self._evidence: RunningEvidence | None = None
        #: A row of zeros, where x is an array of numbers; other rows are read like it.
        self._zeros: Sample | None = None

    @property
    def _alarm(self) -> Alarm | None:
        return self._evidence.alarm if self._evidence else None

    @property
    def alarm(self) -> bool:
        """Whether the evidence has ever reached 1/alpha: is the model wrong at all?

        A model that was always a little wrong raises an alarm, too; see `changed`.
        """
        return self._alarm is not None

    @property
    def evidence(self) -> float:
        """The evidence, an e-value; up to 31 of the latest rows are not yet in it."""
        return _evidence_of(self._evidence.log) if self._evidence else 1.0

    @property
    def history(self) -> tuple[EvidenceAt, ...]:
        """What the evidence was, after at most 200 numbers of rows."""
        if self._evidence is None:
            return ()
        history = self._evidence.history
        return tuple(
            EvidenceAt(rows, _evidence_of(log))
            for rows, log in zip(history.rows, history.logs, strict=True)
        )

    @property
    def changes(self) -> tuple[dict[str, int], ...]:
        """The changes: noticed after how many ``rows``, and ``since`` about which row.

        Rows are counted from 0.
        """
        changes = self._evidence.changes if self._evidence else []
        return tuple(change._asdict() for change in changes)

    @property
    def changed(self) -> bool:
        """Whether rows were ever seen to differ from those before: has it changed?

        A model that was always wrong in the same way has not.
        """
        return bool(self.changes)

    @property
    def since(self) -> int | None:
        """About which row the misfit of the alarm began, else the last change.

        Rows are counted from 0.
        """
        if self._alarm is not None:
            return int(self._alarm.since)
        return int(self.changes[-1]["since"]) if self.changes else None

    @property
    def words(self) -> str:
        """All this in a few sentences."""
        done = self._evidence.done if self._evidence else 0
        first = "" if done == self.rows else f" from the first {done:,}"
        sentences = [
            f"{self.rows:,} rows, evidence {self.evidence:.3g}{first} (alarm at"
            f" {1 / self.alpha:g})."
        ]
        alarm = self._alarm
        if alarm is not None:
            sentences.append(f"ALARM after {alarm.rows:,} rows: {self.alarm_words}.")
        if self.changes:
            sentences.append(self.change_words)
        elif alarm is not None:
            sentences.append(WRONG_NOT_CHANGED)
        return " ".join(sentences)

    @property
    def alarm_words(self) -> str:
        """Since when the model is wrong, and how; "" without an alarm."""
        alarm = self._alarm
        if alarm is None:
            return ""
        return (
            f"the model is wrong since about row {alarm.since:,}, most of all in"
            f" {alarm.how}{self._grouping_words(alarm.group)}"
        )

    @property
    def change_words(self) -> str:
        """When the last change began, and when it was noticed; "" without a change."""
        if not self.changes:
            return ""
        change = self.changes[-1]
        return (
            f"Changed since about row {change['since']:,}, noticed after"
            f" {change['rows']:,} rows."
        )

    def _grouping_words(self, group: int) -> str:
        """Return the words for a grouping of rows; nothing for all rows together."""
        assert self._schema is not None
        assert self._evidence is not None
        if group == 0:
            return ""
        predicted = self._schema.predicted[: self._evidence.predicted]
        names = [*predicted, *(repr(name) for name in self._grouped_by)]
        return f" along {names[group - 1]}"

    def records(self) -> list[dict[str, Any]]:
        """Return one row an event: the alarm and each change."""
        events: list[dict[str, Any]] = []
        if self._alarm is not None:
            alarm = self._alarm
            events.append({"event": "alarm", "rows": alarm.rows, "since": alarm.since})
        for change in self.changes:
            events.append({"event": "change", **change})
        return events

    def to_html(self, *, title: str | None = None, command: str | None = None) -> str:
        """Return the evidence in time, the alarm and the changes: a page of one file.

        It holds no rows of the data. `m.check().to_html()` has the page of what is wrong.

        Parameters
        ----------
        title : str, optional
            The heading of the page.
        command : str, optional
            The command that gives the page again.

        Examples
        --------
        >>> import condgof as cg
        >>> m = cg.monitor(cg.models.Normal(mean=lambda x: x, std=1.0), rng=0)
        >>> page = m.update([1.5, 2.0], [2.5, 1.0]).to_html(title="Model in use")
        >>> page[:15]
        '<!doctype html>'
        """
        from condgof.report import monitor_page

        return monitor_page(self, title=title, command=command)

    def plot(self, ax: object = None) -> Any:
        """Draw the evidence in time, and when it reached the alarm.

        Needs ``condgof[plot]``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw, and what is returned; a new figure unless given.

        Examples
        --------
        >>> import condgof as cg
        >>> m = cg.monitor(cg.models.Normal(mean=lambda x: x, std=1.0), rng=0)
        >>> m.update([1.5, 2.0], [2.5, 1.0]).plot().get_xlabel()
        'rows'
        """
        from condgof.report import plot_monitor

        return plot_monitor(self, ax)

    def __repr__(self) -> str:
        return f"Monitor({self.words})"

    def update(self, x: Any, y: Any) -> Monitor:
        """Add a batch of rows, or one row with a y that is a number or a label.

        How rows are cut into batches changes nothing. A batch that is refused leaves no
        trace.

        Returns
        -------
        Monitor
            This monitor.
        """
        sample = None if self._zeros is None else _row_like(self._zeros, x, y)
        rows = None if sample is None else one_normal_row(self.model, sample)
        if sample is None:
            sample = self._read_batch(x, y)
        if rows is None:
            rows = self._compare_with_law(sample)
        if is_frame(sample.x_given):
            self._frame = type(sample.x_given)
        self._add(sample, rows)
        return self

    def _read_batch(self, x: Any, y: Any) -> Sample:
        """Read a batch, and refuse one that does not go on with those before."""
        if np.ndim(y) == 0:
            y = [y]
            x = x if is_frame(x) else np.array([x])
        if len(y) == 0:
            raise ShapeError(
                "The batch is empty. Pass a row or more; without new rows do not call."
            )
        sample = _sample(x, y)
        self._check_columns(sample)
        return sample

    def _compare_with_law(self, sample: Sample) -> MonitoredRows:
        """Compare new rows with their law, and begin with the first of all."""
        numbers = np.arange(self.rows, self.rows + sample.n)
        rows = monitored_rows(self._law(sample, numbers), sample, numbers, self._seed)
        if self._schema is None:
            schema = Schema.from_sample(sample)
            self._begin(replace(schema, kinds=rows.kinds, predicted=rows.names), rows)
        elif (rows.kinds, rows.names) != (self._schema.kinds, self._schema.predicted):
            raise InputError(
                "The predictions are of another kind than those of the rows before."
            )
        return rows

    def check(self, **options: Any) -> Check:
        """Check the rows in memory, those since `since` if it is known.

        The options are those of `check`.
        """
        if self._schema is None or self._memory is None:
            raise InputError("There are no rows to check: update(x, y) comes first.")
        in_memory = min(len(self._memory.columns["z"]), self._memory.capacity)
        first = max(self.since or 0, self.rows - in_memory)
        numbers = np.arange(first, self.rows)
        law, sample = self._read_again(numbers)
        names = [column.name for column in self._schema.x]
        shown = [name for name in names if name not in self._beside]
        x = self._x_of(numbers, shown or names)
        return check(law, x, sample.y_given, **{"rng": self._seed, **options})

    @property
    def state(self) -> dict[str, Any]:
        """All that it knows as numbers, texts, lists and dictionaries, ready for JSON.

        ``monitor(model, state=state)`` goes on from there as if nothing had happened.
        """
        state = {
            "condgof_monitor": VERSION,
            "alpha": self.alpha,
            "run_length": self.run_length,
            "seed": self._seed,
            "rows": self.rows,
        }
        if self._schema is None or self._evidence is None or self._memory is None:
            return state
        latest = self._memory.latest()
        return {
            **state,
            "said": self._schema.to_state(),
            "evidence": self._evidence.to_state(),
            "kept": {name: column.tolist() for name, column in latest.items()},
        }

    @property
    def _grouped_by(self) -> dict[str, str]:
        """The columns of x that rows are grouped by, and their names in memory."""
        assert self._schema is not None
        columns = {
            column.name: f"x{i}"
            for i, column in enumerate(self._schema.x)
            if column.name not in self._beside
        }
        if self._evidence is None:
            return columns
        return dict(list(columns.items())[: self._evidence.columns])

    def _check_columns(self, sample: Sample) -> None:
        """Refuse a batch that lacks predictions, or has other columns than those before."""
        schema = Schema.from_sample(sample)
        names = [column.name for column in schema.x]
        lacking = [name for name in self._beside if name not in names]
        if lacking:
            raise InputError(
                f"x has no column {lacking[0]!r}, where the model's predictions should be."
            )
        if self._schema is not None:
            schema.check_same(self._schema)

    def _law(self, sample: Sample, rows: IntArray) -> Law:
        """Return the law of a sample whose rows have these numbers in the stream."""
        if isinstance(self.model, Columns):
            table = {
                column.name: sample.x[:, i] for i, column in enumerate(sample.x_columns)
            }
            law = self.model.bind(table, rows, sample.x_given)
            # All parameters of one row may be numbers, without a number of rows.
            return law(n=sample.n) if law.rows is None else law
        if self.model.rows is not None:
            if rows[-1] >= self.model.rows:
                raise ShapeError(
                    f"The model is bound to {self.model.rows} rows, and this batch goes to"
                    f" row {rows[-1]}, counted from 0. Pass a function of x, or predictions"
                    " of all rows."
                )
            return law_of(self.model.take(rows), sample)
        law = law_of(self.model, sample)
        # Ties are broken by random numbers that belong to the rows, not to the batches.
        return replace(law, ids=rows) if hasattr(law, "ids") else law  # type: ignore[type-var]

    def _begin(self, schema: Schema, rows: MonitoredRows) -> None:
        """Make the evidence and the memory, for rows like these."""
        self._schema = schema
        self._evidence = RunningEvidence(
            rows,
            columns=len(self._grouped_by),
            alpha=self.alpha,
            run_length=self.run_length,
            seed=self._seed,
        )
        self._memory = RowMemory.for_rows(schema, rows)
        with suppress(InputError):
            zeros = _sample(np.zeros((1, len(schema.x))), np.zeros(1))
            self._check_columns(zeros)
            self._zeros = zeros

    def _add(self, sample: Sample, rows: MonitoredRows) -> None:
        """Add rows to the memory, and to the evidence when there are enough."""
        evidence = self._evidence
        memory = self._memory
        assert evidence is not None
        assert memory is not None
        memory.append(sample, rows)
        self.rows += sample.n
        if self.rows < evidence.next_end:
            return
        held = memory.columns
        groupings = [
            *held["predicted"].T[: evidence.predicted],
            *(held[name] for name in self._grouped_by.values()),
        ]
        first = self.rows - len(held["z"])
        kept = KeptRows(first, held["z"], held["tilts"], groupings)
        evidence.add(kept, memory.capacity)
        memory.forget_old_rows()

    def restore(self, state: Any) -> Monitor:
        """Go on from a state, and refuse one that is not of this model.

        The model must predict the latest rows as it did before.
        """
        if not isinstance(state, Mapping) or state.get("condgof_monitor") != VERSION:
            raise InputError(
                "state is not that of a monitor of this version: pass monitor.state."
            )
        self._check_same_option("alpha", self.alpha, state)
        self._check_same_option("run_length", self.run_length, state)
        try:
            rows = int(state["rows"])
            self._seed = int(state["seed"])
            if rows < 0:
                raise ValueError(f"{rows} rows")
            self.rows = rows
            if self.rows == 0:
                return self
            self._restore_rows(state)
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise InputError(
                f"The state is damaged ({type(error).__name__}: {error})."
            ) from error
        self._check_same_model()
        return self

    def _check_same_option(self, name: str, value: float, state: Mapping[str, Any]) -> None:
        before = state.get(name)
        if value != before:
            raise InputError(
                f"The state is of a monitor with {name}={before!r}, and this one has"
                f" {value!r}. Pass the same, or begin anew without a state."
            )

    def _restore_rows(self, state: Mapping[str, Any]) -> None:
        """Take over the evidence and the rows of a state."""
        kept = state["kept"]
        schema = Schema.from_state(state["said"])
        rows = MonitoredRows(
            kinds=schema.kinds,
            names=schema.predicted,
            z=np.array(kept["z"], dtype=float),
            tilts=np.array(kept["tilts"], dtype=float),
            predicted=np.array(kept["predicted"], dtype=float),
        )
        self._begin(schema, rows)
        assert self._evidence is not None
        assert self._memory is not None
        self._evidence.restore(state["evidence"])
        self._memory.restore(kept)

    def _check_same_model(self) -> None:
        """Refuse a state if the model predicts its latest rows otherwise."""
        assert self._memory is not None
        n = len(self._memory.columns["z"])
        numbers = np.arange(max(n - ROWS_ASKED_AGAIN, 0), n) + self.rows - n
        why = "says otherwise of the latest rows"
        try:
            law, sample = self._read_again(numbers)
            rows = monitored_rows(law, sample, numbers, self._seed)
            same = self._is_as_before("z", rows.z) and self._is_as_before(
                "tilts", rows.tilts
            )
        except Exception as error:  # a model that gets unknown columns may raise anything
            same = False
            why = f"cannot be asked of its rows ({type(error).__name__}: {error})"
        if not same:
            raise InputError(
                f"The state is of another model or of other columns: this model {why}."
                " Pass the same, or begin anew without a state."
            )

    def _is_as_before(self, name: str, values: AnyArray) -> bool:
        assert self._memory is not None
        before = self._memory.columns[name][-ROWS_ASKED_AGAIN:]
        return values.shape == before.shape and np.allclose(
            values, before, rtol=TOLERANCE, atol=TOLERANCE
        )

    def _read_again(self, numbers: IntArray) -> tuple[Law, Sample]:
        """Return the law and the sample of rows in memory, by their numbers."""
        assert self._schema is not None
        assert self._memory is not None
        y = self._memory.columns["y"][numbers - self.rows]
        if y.dtype == object:
            y = y.astype(str)
        x = self._x_of(numbers, [column.name for column in self._schema.x])
        sample = _sample(x, y[:, 0] if self._schema.flat_y else y)
        return self._law(sample, numbers), sample

    def _x_of(self, numbers: IntArray, names: Sequence[str]) -> Any:
        """Return x of rows in memory in the form in which it came.

        That is an array, or a frame of the columns `names`.
        """
        assert self._schema is not None
        assert self._memory is not None
        data = {}
        for i, (name, kind) in enumerate(self._schema.x):
            if name not in names:
                continue
            values = self._memory.columns[f"x{i}"][numbers - self.rows]
            if kind == "dates":
                values = np.rint(values * DAY).astype("M8[us]")
            data[name] = values.astype(bool) if kind == "booleans" else values
        if self._schema.form == "array":
            x = np.column_stack(list(data.values()))
            return x[:, 0] if self._schema.flat_x else x
        if self._frame is None:
            library = "polars" if self._schema.form == "polars" else "pandas"
            package = require(library, "frames", "Going on with rows of a frame")
            self._frame = package.DataFrame
        return self._frame(data)


def _sample(x: TableLike, y: TableLike) -> Sample:
    """Read a batch, of as few rows as there are."""
    x_array, values, columns = reading.read(x, "x")
    table = reading.read_y(y)
    reading.check_rows(x, y, len(values), len(table.values))
    table.check_complete(reading.DROP_ADVICE)
    return Sample(values, table.values, x_array, table.plain(), columns, table.columns)


def _row_like(zeros: Sample, x: TableLike, y: TableLike) -> Sample | None:
    """Read one row of finite numbers quickly; None for anything else."""
    if isinstance(y, float) and (isinstance(x, float) or type(x) is np.ndarray):
        x_row = np.array([x])
        y_row = np.array([y])
    elif type(x) is type(y) is np.ndarray and y.shape == (1,):
        x_row = x.copy()
        y_row = y.copy()
    else:
        return None
    if not x_row.dtype == y_row.dtype == np.float64 or len(x_row) != 1 or x_row.ndim > 2:
        return None
    values = x_row.reshape(1, -1).copy()
    if values.shape != zeros.x.shape:
        return None
    if not (math.isfinite(y_row[0]) and np.isfinite(values).all()):
        return None
    return Sample(
        values, y_row[:, None].copy(), x_row, y_row, zeros.x_columns, zeros.y_columns
    )


def monitor(
    model: Any,
    *,
    alpha: float = 0.05,
    run_length: float = 100_000,
    rng: RngLike = None,
    state: Mapping[str, Any] | None = None,
) -> Monitor:
    """Watch a model in use, row by row or in batches; the answer is valid at any time.

    - *Is it wrong?* The evidence is an e-value: wealth of 1 that is bet against the model.
      Under a correct model, it reaches 1/alpha with probability at most alpha, however
      long one watches. Bets are on shift, spread and shape of the normal scores z, or of a
      discrete y on its probabilities: of all rows, and by quantiles or levels of each
      column of x and of the predictions; from the first row on, and once more every 64
      rows.
    - *Has it changed?* As long as nothing changes, ranks of z among all rows before are
      uniform; bets against that (a Shiryaev–Roberts sum) see a change where there is none
      after `run_length` rows on average, or later. Half of the bets are on rows that rank
      beyond all others.

    Memory does not grow: sums, and at most 2,000 of the latest rows. Evidence is added up
    after each of the first 32 rows, then in steps of at most 32. Rows must be independent
    given x and what came before. Do not use it on rows that the model was fitted on. Scores
    alone cannot be monitored.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model, a function of x. Predictions in columns of a frame x are named by
        `columns`; arrays of predictions must have a row for each that is to come.
    alpha : float
        The probability of an alarm if the model is true, over all time.
    run_length : float
        After how many rows, on average and at least, a change is seen where there is none.
    rng : int, numpy.random.Generator or None
        Of the random numbers that break ties among ranks.
    state : mapping, optional
        ``monitor.state`` from before, to go on with the same model, alpha and run_length.

    Returns
    -------
    Monitor

    Examples
    --------
    >>> import json, numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> model = cg.models.Normal(mean=lambda x: 2 * x, std=1.0)
    >>> m = cg.monitor(model, rng=0)
    >>> for day in range(10):
    ...     x = rng.normal(size=200)
    ...     wrong = 0.7 * (x > 0) * (day >= 5)      # from row 1,000 on
    ...     m = m.update(x, 2 * x + wrong + rng.normal(size=200))
    >>> m.alarm, m.changed, 900 < m.since < 1100
    (True, True, True)
    >>> m.check(rng=0).slices[0].kind
    'shift'
    >>> again = cg.monitor(model, state=json.loads(json.dumps(m.state)))
    >>> again.evidence == m.evidence
    True
    """
    alpha = check_alpha(alpha)
    run_length = check_number(
        run_length,
        "run_length",
        "a number between 1 and inf",
        lambda rows: 1 < rows < math.inf,
    )
    started = Monitor(model, alpha, run_length, Seed.of(rng).value)
    return started if state is None else started.restore(state)
