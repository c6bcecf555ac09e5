"""A model in use, watched row after row: is it wrong, has it changed, since when, where and how?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from condgof import sample as reading
from condgof._typing import AnyArray, IntArray, TableLike
from condgof.check._check import check
from condgof.check._record import Check
from condgof.errors import InputError, ShapeError, check_number, require
from condgof.laws._as_model import Columns, as_model, law_of
from condgof.laws._law import Law
from condgof.methods._monitor import (
    LONGEST,
    KeptRows,
    RunningEvidence,
    Seen,
    glance,
    look_at,
)
from condgof.result import Shown, check_alpha
from condgof.sample import RngLike, Sample, Seed, is_frame

#: The version of the state, in which it is told.
VERSION = 1
#: Numbers that the rows in memory may take, and the most rows.
NUMBERS, MOST_ROWS = 20_000, 2_000
#: Rows that a model is asked of again when it goes on, and how far from before it may be.
ASKED, APART = 8, 1e-3
#: What bets need of a row.
BET_ON = ("z", "tilts", "predicted")


class Monitor(Shown):
    """A model in use, and the evidence against it so far; `monitor` makes one.

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
        self.model, self.alpha, self.run_length = as_model(model), alpha, run_length
        #: How many rows were seen.
        self.rows = 0
        self._seed, self._frame = seed, frame
        named = self.model.names if isinstance(self.model, Columns) else ()
        self._beside = named if beside is None else tuple(beside)
        self._schema: dict[str, Any] = {}
        #: Columns of the latest rows, what bets need, y and x by number, at most so many;
        #: batches since.
        self._kept: dict[str, AnyArray] = {}
        self._capacity, self._batches = 0, list[dict[str, AnyArray]]()
        #: A row of an array of zeros, where rows are of such arrays.
        self._zeros: Sample | None = None
        self._evidence: RunningEvidence | None = None

    @property
    def _alarm(self) -> dict[str, Any] | None:
        return self._evidence.alarm if self._evidence else None

    @property
    def alarm(self) -> bool:
        """Whether the evidence has ever reached 1/alpha."""
        return self._alarm is not None

    @property
    def evidence(self) -> float:
        """The evidence against the model, an e-value; up to 31 of the latest rows are not yet in it."""
        return math.exp(min(self._evidence.log, 690.0)) if self._evidence else 1.0

    @property
    def changes(self) -> tuple[dict[str, int], ...]:
        """The changes noticed: after how many ``rows``, and ``since`` about which, counted from 0."""
        return tuple(map(dict, self._evidence.changes)) if self._evidence else ()

    @property
    def changed(self) -> bool:
        """Whether the model was ever seen to fit otherwise than before."""
        return bool(self.changes)

    @property
    def since(self) -> int | None:
        """About which row it began, counted from 0: what the alarm is about, else the last change."""
        latest = self._alarm or (self.changes[-1] if self.changes else None)
        return None if latest is None else int(latest["since"])

    @property
    def words(self) -> str:
        """All this in a few sentences."""
        weighed = self._evidence.done if self._evidence else 0
        of = "" if weighed == self.rows else f" from the first {weighed:,}"
        told = (
            f"{self.rows:,} rows, evidence {self.evidence:.3g}{of} (alarm at"
            f" {1 / self.alpha:g})."
        )
        alarm = self._alarm
        if self._evidence and alarm:
            predicted = self._schema["predicted"][: self._evidence.predicted]
            along = [
                "",
                *(f" along {name}" for name in (*predicted, *map(repr, self._looked))),
            ]
            told += (
                f" ALARM after {alarm['rows']:,} rows: the model is wrong since about row "
                f"{alarm['since']:,}, most of all in {alarm['how']}{along[alarm['group']]}."
            )
        for at in self.changes[-1:]:
            told += (
                f" Changed since about row {at['since']:,}, noticed after {at['rows']:,}"
                " rows."
            )
        return told

    def records(self) -> list[dict[str, Any]]:
        """Return one row an event, the alarm and each change: after how many rows, since about which."""
        events = [("alarm", self._alarm)] if self._alarm else []
        events += [("change", change) for change in self.changes]
        return [
            {"event": name, "rows": at["rows"], "since": at["since"]} for name, at in events
        ]

    def __repr__(self) -> str:
        return f"Monitor({self.words})"

    def update(self, x: Any, y: Any) -> Monitor:
        """Add a batch of rows, or one row with a y that is a number or a label; return the monitor.

        How rows are cut into batches changes nothing. A batch that is refused leaves no
        trace.
        """
        sample = None if self._zeros is None else _row_like(self._zeros, x, y)
        seen = None if sample is None else glance(self.model, sample)
        if sample is None:
            if np.ndim(y) == 0:
                y = [y]
                x = x if is_frame(x) else np.array([x])
            if len(y) == 0:
                raise ShapeError(
                    "The batch is empty. Pass a row or more; without new rows do not call."
                )
            sample = _sample(x, y)
            self._compare(sample)
        if seen is None:
            rows = np.arange(self.rows, self.rows + sample.n)
            seen = look_at(self._law(sample, rows), sample, rows, self._seed)
            said = {"kinds": list(seen.kinds), "predicted": list(seen.names)}
            if not self.rows:
                self._begin({**_schema_of(sample), **said}, seen)
            elif any(now != self._schema[key] for key, now in said.items()):
                raise InputError(
                    "The model says something of another kind than of the rows before."
                )
        if is_frame(sample.x_given):
            self._frame = type(sample.x_given)
        self._add(sample, seen)
        return self

    def check(self, **options: Any) -> Check:
        """Check the latest rows since `since` (or all) that are in memory; options as in `check`."""
        if not self.rows:
            raise InputError("There are no rows to check: update(x, y) comes first.")
        first = self.rows - min(len(self._held()["z"]), self._capacity)
        places = np.arange(max(self.since or 0, first), self.rows)
        law, sample = self._again(places)
        names = [name for name, _ in self._schema["x"]]
        x = self._x_of(
            places, [name for name in names if name not in self._beside] or names
        )
        return check(law, x, sample.y_given, **{"rng": self._seed, **options})

    @property
    def state(self) -> dict[str, Any]:
        """All that it knows as numbers, texts, lists and dictionaries, ready for JSON.

        ``monitor(model, state=state)`` goes on from there as if nothing had happened.
        """
        plain = {
            "condgof_monitor": VERSION,
            "alpha": self.alpha,
            "run_length": self.run_length,
        }
        plain |= {"seed": self._seed, "rows": self.rows}
        if self._evidence is None:
            return plain
        kept = {
            name: values[-self._capacity :].tolist()
            for name, values in self._held().items()
        }
        return {
            **plain,
            "said": dict(self._schema),
            "evidence": self._evidence.plain(),
            "kept": kept,
        }

    @property
    def _looked(self) -> dict[str, str]:
        """The columns of x that rows are grouped by, and their names in memory."""
        all_x = enumerate(name for name, _ in self._schema["x"])
        named = [(name, f"x{i}") for i, name in all_x if name not in self._beside]
        return dict(named if self._evidence is None else named[: self._evidence.columns])

    def _compare(self, sample: Sample) -> None:
        """Refuse a batch that lacks predictions, or has other columns than those before."""
        schema = _schema_of(sample)
        names = [name for name, _ in schema["x"]]
        lacking = [name for name in self._beside if name not in names]
        if lacking:
            raise InputError(
                f"x has no column {lacking[0]!r}, where the model's predictions should be."
            )
        for what in ("x", "y") if self._schema else ():
            now, before = (
                ", ".join(repr(n) for n, _ in s[what]) for s in (schema, self._schema)
            )
            if now != before:
                raise InputError(f"{what} has the columns {now}, and before {before}.")
            for (name, kind), (_, old) in zip(
                schema[what], self._schema[what], strict=True
            ):
                if kind != old and {kind, old} != {"numbers", "booleans"}:
                    raise InputError(
                        f"{what} column {name!r} holds {kind}, and before {old}."
                    )

    def _law(self, sample: Sample, rows: IntArray) -> Law:
        if isinstance(self.model, Columns):
            table = {
                column.name: sample.x[:, i] for i, column in enumerate(sample.x_columns)
            }
            law = self.model.bind(table, rows, sample.x_given)
            return (
                law(n=sample.n) if law.rows is None else law
            )  # of one row all may be numbers
        if self.model.rows is not None:
            if rows[-1] >= self.model.rows:
                raise ShapeError(
                    f"The model is bound to {self.model.rows} rows, and this batch goes to"
                    f" row {rows[-1]}, counted from 0. Pass a function of x, or predictions"
                    " of all rows."
                )
            return law_of(self.model.take(rows), sample)
        law = law_of(self.model, sample)
        # Ties are broken by random numbers that belong to the rows, however they come in
        # batches.
        return replace(law, ids=rows) if hasattr(law, "ids") else law  # type: ignore[type-var]

    def _begin(self, schema: dict[str, Any], seen: Seen) -> RunningEvidence:
        """Make room, now that it is known what rows hold."""
        self._schema = schema
        settings = self.alpha, self.run_length, self._seed
        self._evidence = RunningEvidence(seen, len(self._looked), *settings)
        dtypes = [
            object if kind == "text" else float
            for _, kind in (*schema["x"], schema["y"][0])
        ]
        kept = {name: getattr(seen, name)[:0] for name in BET_ON}
        kept["y"] = np.empty((0, len(schema["y"])), dtype=dtypes[-1])
        self._kept = kept | {
            f"x{i}": np.empty(0, dtype=dtype) for i, dtype in enumerate(dtypes[:-1])
        }
        width = sum(math.prod(array.shape[1:]) for array in self._kept.values())
        self._capacity = int(np.clip(NUMBERS // width, 2 * LONGEST, MOST_ROWS))
        with suppress(InputError):
            zeros = _sample(np.zeros((1, len(schema["x"]))), np.zeros(1))
            self._compare(zeros)
            self._zeros = zeros
        return self._evidence

    def _add(self, sample: Sample, seen: Seen) -> None:
        evidence = self._evidence
        assert evidence is not None
        new = {"z": seen.z, "tilts": seen.tilts, "predicted": seen.predicted, "y": sample.y}
        if self._kept["y"].dtype == object:
            new["y"] = np.array(sample.y_given, dtype=object).reshape(-1, 1)
        for i, column in enumerate(sample.x_columns):
            values = sample.x[:, i]
            if column.levels is not None:
                values = np.array(column.levels, dtype=object)[values.astype(int)]
            new[f"x{i}"] = values
        self._batches.append(new)
        self.rows += sample.n
        if self.rows >= evidence.next_end:
            held = self._held()
            columns = [*held["predicted"].T[: evidence.predicted]]
            columns += [held[name] for name in self._looked.values()]
            rows = KeptRows(self.rows - len(held["z"]), held["z"], held["tilts"], columns)
            evidence.add(rows, self._capacity)
            self._kept = {name: values[-self._capacity :] for name, values in held.items()}

    def _held(self) -> dict[str, AnyArray]:
        """Put the latest rows and the batches since together."""
        if self._batches:
            for name, old in self._kept.items():
                self._kept[name] = np.concatenate(
                    [old, *(new[name] for new in self._batches)]
                )
            self._batches = []
        return self._kept

    def restore(self, state: Any) -> Monitor:
        """Take over a state, and refuse one that is not of this model: it must say the same of rows."""
        if not isinstance(state, Mapping) or state.get("condgof_monitor") != VERSION:
            raise InputError(
                "state is not that of a monitor of this version: pass monitor.state."
            )
        for name in ("alpha", "run_length"):
            new, old = getattr(self, name), state.get(name)
            if new != old:
                told = (
                    f"The state is of a monitor with {name}={old!r}, and this one has"
                    f" {new!r}."
                )
                raise InputError(f"{told} Pass the same, or begin anew without a state.")
        try:
            self.rows, self._seed = int(state["rows"]), int(state["seed"])
            if not self.rows:
                return self
            kept, schema = state["kept"], dict(state["said"])
            arrays = {name: np.array(kept[name], dtype=float) for name in BET_ON}
            self._begin(schema, Seen(tuple(schema["kinds"]), (), **arrays)).restore(
                state["evidence"]
            )
            self._kept = {
                name: np.array(kept[name], dtype=a.dtype) for name, a in self._kept.items()
            }
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise InputError(
                f"The state is damaged ({type(error).__name__}: {error})."
            ) from error
        n = len(self._kept["z"])
        some = np.arange(max(n - ASKED, 0), n) + self.rows - n
        why = "says otherwise of the latest rows"
        try:
            seen = look_at(*self._again(some), some, self._seed)
            both = [
                (getattr(seen, name), self._kept[name][-ASKED:]) for name in ("z", "tilts")
            ]
            same = all(
                a.shape == b.shape and np.allclose(a, b, APART, APART) for a, b in both
            )
        except (
            Exception
        ) as error:  # whatever a model raises that gets columns it does not know
            same, why = (
                False,
                f"cannot be asked of its rows ({type(error).__name__}: {error})",
            )
        if not same:
            told = f"The state is of another model or of other columns: this model {why}."
            raise InputError(f"{told} Pass the same, or begin anew without a state.")
        return self

    def _again(self, rows: IntArray) -> tuple[Law, Sample]:
        """Return the law of rows that are in memory, by their numbers, and them."""
        y = self._held()["y"][rows - self.rows]
        y = y.astype(str) if y.dtype == object else y
        x = self._x_of(rows, [name for name, _ in self._schema["x"]])
        sample = _sample(x, y[:, 0] if self._schema["flat_y"] else y)
        return self._law(sample, rows), sample

    def _x_of(self, rows: IntArray, names: Sequence[str]) -> Any:
        """Return x of such rows in the form in which it came: an array, or a frame of some columns."""
        data = {}
        for i, (name, kind) in enumerate(self._schema["x"]):
            values = self._held()[f"x{i}"][rows - self.rows]
            values = (
                np.rint(values * 86_400e6).astype("M8[us]") if kind == "dates" else values
            )
            if name in names:
                data[name] = values.astype(bool) if kind == "booleans" else values
        if self._schema["form"] == "array":
            x = np.column_stack(list(data.values()))
            return x[:, 0] if self._schema["flat_x"] else x
        if self._frame is None:
            library = "polars" if self._schema["form"] == "polars" else "pandas"
            self._frame = require(
                library, "frames", "Going on with rows of a frame"
            ).DataFrame
        return self._frame(data)


def _schema_of(sample: Sample) -> dict[str, Any]:
    """Return what columns are called and hold, and their form."""
    frame = is_frame(sample.x_given) or hasattr(sample.x_given, "to_frame")
    schema: dict[str, Any] = {
        name: [[c.name, "booleans" if c.boolean else c.kind] for c in columns]
        for name, columns in (("x", sample.x_columns), ("y", sample.y_columns))
    }
    schema["form"] = type(sample.x_given).__module__.partition(".")[0] if frame else "array"
    schema["flat_x"] = not frame and sample.x_given.ndim == 1
    schema["flat_y"] = sample.y_given.ndim == 1
    return schema


def _sample(x: TableLike, y: TableLike) -> Sample:
    """Read a batch, of as few rows as there are."""
    given, values, columns = reading.read(x, "x")
    table = reading.read_y(y)
    reading.check_rows(x, y, len(values), len(table.values))
    table.check_complete(reading.DROP)
    return Sample(values, table.values, given, table.plain(), columns, table.columns)


def _row_like(zeros: Sample, x: TableLike, y: TableLike) -> Sample | None:
    """Read one row of finite numbers, alone or in arrays, the short way; None for anything else."""
    if isinstance(y, float) and (isinstance(x, float) or type(x) is np.ndarray):
        given, observed = np.array([x]), np.array([y])
    elif type(x) is type(y) is np.ndarray and y.shape == (1,):
        given, observed = x.copy(), y.copy()
    else:
        return None
    if not given.dtype == observed.dtype == np.float64 or len(given) != 1 or given.ndim > 2:
        return None
    values = given.reshape(1, -1).copy()
    if values.shape != zeros.x.shape or not (
        math.isfinite(observed[0]) and np.isfinite(values).all()
    ):
        return None
    return Sample(
        values, observed[:, None].copy(), given, observed, zeros.x_columns, zeros.y_columns
    )


def monitor(
    model: Any,
    *,
    alpha: float = 0.05,
    run_length: float = 100_000,
    rng: RngLike = None,
    state: Mapping[str, Any] | None = None,
) -> Monitor:
    """Watch a model in use: rows come one by one or in batches, and the answer is valid at any time.

    - *Is it wrong?* The evidence is an e-value: wealth of 1 that is bet against the model.
      If the model is true, it ever reaches 1/alpha with probability at most alpha, however
      long one watches. Bets are on shift, spread and shape of the normal scores z, or of a
      discrete y on its probabilities: of all rows, and by quantiles or levels of each
      column of x and of the predictions; from the first row on, and once more every 64
      rows.
    - *Has it changed?* As long as nothing changes, ranks of z among all rows before are
      uniform; bets against that (a Shiryaev–Roberts sum) see a change where there is none
      after `run_length` rows on average, or later.

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
    alpha, longest = check_alpha(alpha), "a number between 1 and inf"
    run_length = check_number(
        run_length, "run_length", longest, lambda rows: 1 < rows < math.inf
    )
    made = Monitor(model, alpha, run_length, Seed.of(rng).value)
    return made if state is None else made.restore(state)
