"""Checks within groups of rows."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condgof._typing import IntArray
from condgof.errors import InputError, InputTypeError, ShapeError
from condgof.laws import Columns, Law, ModelLike, as_model, law_of
from condgof.locate._grouped import GroupedChecks, group_words, holm
from condgof.locate._inspect import Aims, inspect
from condgof.locate._record import Check
from condgof.locate._verdict import corrected
from condgof.methods._adaptive import run_adaptive
from condgof.methods._draw import draw, milder
from condgof.methods._options import Options, check_count
from condgof.methods._rows import Scored, Units, check_source_call, lay_out, score_rows
from condgof.null import Combination, Drawn
from condgof.sample import (
    ArraySource,
    RngLike,
    Sample,
    Seed,
    Source,
    Use,
    is_frame,
    labels_of,
    read_groups,
    take_rows,
)
from condgof.stein import DEFAULT_MEMORY

#: More rows of one group than this are not read from a source at once, but drawn at random.
MOST_ROWS = 1_000_000
#: More groups than this are a mistake: a column of numbers, or of names.
MOST_GROUPS = 1000
#: Where the correction needs smaller p-values than `n_boot` draws can give: draws at most, at a time,
#: and how many above the statistic are enough to know.
MOST_DRAWS, BATCH, ENOUGH = 100_000, 2048, 10


def check_groups(
    model: Any,
    x: Any,
    y: Any = None,
    *,
    by: Any,
    min_rows: int = 30,
    alpha: float = 0.05,
    n_locations: int = 5,
    standardize: str = "auto",
    scale_x: str = "ranks",
    solver: str = "auto",
    n_boot: int = 1000,
    dependence: Any = None,
    groups: Any = None,
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> GroupedChecks:
    """Check a model within each group of rows, corrected for there being several.

    Each group is a `check` of its own. The p-values of the verdicts are corrected by Holm's method, and
    a location is named only in groups that are rejected after correction: for a true model, the
    probability that any group is rejected or any location named is at most alpha. Where there are so
    many groups that the smallest p-value of `n_boot` draws would not do, groups that reach it get more.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x, city = rng.uniform(0, 1, 400), np.repeat(["Oslo", "Rome"], 200)
    >>> y = x + (city == "Rome") + rng.standard_normal(400)
    >>> print(cg.check_groups((x, np.ones(400)), x, y, by=city, rng=0).words)
    Evidence against the model in 1 of 2 groups: Rome.
    """
    aims = Aims.of(alpha, n_locations)
    options = Options.of(
        solver=solver,
        null="auto",
        n_boot=n_boot,
        engine=engine,
        memory=memory,
        dependence=dependence,
        groups=groups,
        missing=missing,
    )
    least, seed, units = (
        check_count(min_rows, "min_rows"),
        Seed.of(rng),
        Units(scale_x, standardize, True),
    )
    model, x, y = lay_out(model, x, y)
    table = _Table.of(as_model(model), x, y, by, missing)
    together = None if groups is None else table.of_kept(read_groups(groups, x, table.given))
    checks: dict[str, Check] = {}
    asked: dict[str, tuple[IntArray, Options, Seed]] = {}
    left_out: dict[str, str] = {}
    for name, rows in table.groups():
        if len(rows) < least:
            left_out[name] = f"{len(rows)} rows, and min_rows is {least}"
            continue
        own = Seed(int(seed.stream(Use.GROUP, *name.encode()).integers(2**63)))
        rows = table.some(rows, own)
        found = table.scored(rows, units)
        if isinstance(found, str):
            left_out[name] = found
            continue
        how = options if together is None else options.with_groups(together[rows])
        try:
            how = how.for_rows(found[1], None)
        except InputError as error:  # rows that depend on each other all
            left_out[name] = str(error).split(". ")[0]
            continue
        checks[name], asked[name] = inspect(*found, aims, how, own), (rows, how, own)
    pvalues = np.array([check.result.pvalue for check in checks.values()])
    floors = np.full(len(checks), 1.0 / (options.n_boot + 1))
    need = 2.0 * len(checks) / aims.alpha
    for i, name in enumerate(checks):
        if pvalues[i] > floors[i] or need <= options.n_boot:
            continue
        rows, how, own = asked[name]
        found = table.scored(rows, units)
        assert not isinstance(found, str)
        pvalues[i], floors[i] = _with_more_draws(
            found[1], how, own, min(int(need), MOST_DRAWS), pvalues[i]
        )
    corrections = holm(pvalues)
    graded = {
        name: corrected(checks[name], float(p), name, float(p) if at else 0.0)
        for name, p, at in zip(checks, corrections, pvalues <= floors, strict=True)
    }
    details = {"correction": "Holm", "min_rows": least, "seed": seed.value}
    return GroupedChecks(table.by, graded, left_out, aims.alpha, group_words(graded, left_out), details)


def _with_more_draws(
    scored: Scored, options: Options, seed: Seed, count: int, before: float
) -> tuple[float, float]:
    """Return the p-value of the verdict from other and more draws, and the smallest that they can give.

    How statistics are combined is fixed by the first draws; then data and new draws are treated alike.
    """
    first = run_adaptive(scored, options, seed)
    if milder(options, scored, first.design.plan) is not None:  # of two p-values the larger one counts
        return before, before
    drawn = first.ran.drawn
    others = Drawn(drawn.draws[:, -1], drawn.draws[:, :-1], drawn.sizes)
    fixed = Combination.of(others, first.combination.families)
    made = above = 0
    while made < count and above < ENOUGH:
        size = min(BATCH, count - made)
        own = Seed(int(seed.stream(Use.GROUP, made).integers(2**63)))
        found = draw(first.design.plan, scored, replace(options, n_boot=size), own).drawn
        values = fixed.of_others(np.column_stack([found.statistics, found.draws]))
        made, above = made + size, above + int(np.count_nonzero(values[1:] >= values[0]))
    return (1 + above) / (made + 1), 1.0 / (made + 1)


@dataclass(frozen=True, eq=False)
class _Table:
    """A sample, in memory or in files, with a label for each row."""

    #: The law of all rows in memory, or the model of a source.
    model: ModelLike
    #: The rows.
    data: Sample | Source | ArraySource
    #: What the labels are.
    by: str
    #: The different labels, in order.
    labels: tuple[str, ...]
    #: For each row the position of its label.
    codes: IntArray
    #: What to do about missing values.
    missing: str

    @classmethod
    def of(cls, model: ModelLike, x: Any, y: Any, by: Any, missing: str) -> _Table:
        """Check the sample as a whole, and read the labels."""
        data: Sample | Source | ArraySource
        if check_source_call(x, y, "auto", missing):
            data = x.with_extra(model.names) if isinstance(model, Columns) else x
            if model.rows is not None and model.rows != data.n:
                raise ShapeError(f"The model is bound to {model.rows} rows and the source has {data.n}.")
        else:
            data = Sample.of(x, y, to_test=False, missing=missing).ready(discrete=True)
            model = law_of(model, data)
            data = data.ready(discrete=model.discrete)
        if isinstance(by, str):
            labels, codes = _named_column(data, by)
            name = by
        else:
            labels, codes = _given(by, data)
            name = str(getattr(by, "name", None) or "group")
        if len(labels) > MOST_GROUPS:
            raise InputError(
                f"by has {len(labels):,} different values, and at most {MOST_GROUPS:,} groups are "
                "checked. Group by a column with fewer values, or by ranges of it."
            )
        order = sorted(range(len(labels)), key=lambda i: _natural(labels[i]))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        return cls(model, data, name, tuple(labels[i] for i in order), place[codes], missing)

    @property
    def given(self) -> int:
        """Number of rows that the user passed."""
        return self.data.n + (self.data.left_out if isinstance(self.data, Sample) else 0)

    def of_kept(self, codes: IntArray) -> IntArray:
        """Return what was given for all rows for those that were kept."""
        data = self.data
        if isinstance(data, Sample) and data.left_out and data.kept is not None:
            return codes[data.kept]
        return codes

    def groups(self) -> Iterator[tuple[str, IntArray]]:
        """Yield each label with the numbers of its rows."""
        order = np.argsort(self.codes, kind="stable")
        cuts = np.searchsorted(self.codes[order], np.arange(len(self.labels) + 1))
        for i, label in enumerate(self.labels):
            yield label, order[cuts[i] : cuts[i + 1]]

    def some(self, rows: IntArray, seed: Seed) -> IntArray:
        """Return the rows of a group, or as many of a source as may be read at once."""
        if isinstance(self.data, Sample) or len(rows) <= MOST_ROWS:
            return rows
        return rows[np.sort(seed.stream(Use.GROUP).choice(len(rows), MOST_ROWS, replace=False))]

    def scored(self, rows: IntArray, units: Units) -> tuple[Law, Scored] | str:
        """Score rows of a group, or say why that cannot be done."""
        whole = self.data
        if not isinstance(whole, Sample):
            block = whole.take(rows)
            reason = self._read(block.x, block.y, False)
            try:
                return score_rows(self.model, whole, block, rows, units)
            except InputError:
                if isinstance(reason, str):  # which a discrete y may not mind
                    return reason
                raise
        assert isinstance(self.model, Law)
        law = self.model.take(rows)
        sample = self._read(take_rows(whole.x_given, rows), whole.y_given[rows], law.discrete)
        if isinstance(sample, str):
            return sample
        # Of x its own: with missing="level" a group may have fewer columns than the whole.
        x_names, y_names = (tuple(c.name for c in part) for part in (sample.x_columns, whole.y_columns))
        sample = sample.renamed(x_names, y_names)
        return law, Scored.of(law, sample, units)

    def _read(self, x: Any, y: Any, discrete: bool) -> Sample | str:
        """Read the rows of a group, or say why they cannot be tested."""
        try:
            return Sample.of(x, y, discrete=discrete, missing=self.missing)
        except InputError as error:
            return str(error).split(". ")[0]


def _named_column(data: Sample | Source | ArraySource, by: str) -> tuple[tuple[str, ...], IntArray]:
    if isinstance(data, Source):
        return labels_of(data, by)
    frame = isinstance(data, Sample) and is_frame(data.x_given)
    names = [column.name for column in data.x_columns] if isinstance(data, Sample) else []
    if not frame:
        raise InputTypeError(
            f"by={by!r} names a column, and x has no names. Pass by= with a value for each row."
        )
    if by not in names:
        near = difflib.get_close_matches(by, names, 3) or names
        raise InputError(
            f"x has no column {by!r} to group by. The nearest names are: {', '.join(near)}."
        )
    assert isinstance(data, Sample)
    i = names.index(by)
    values, column = data.x[:, i], data.x_columns[i]
    found, codes = np.unique(values, return_inverse=True)
    labels = [f"{v:.12g}" if column.kind == "numbers" else column.text(v) for v in found]
    return tuple(labels), codes.ravel()


def _given(by: Any, data: Sample | Source | ArraySource) -> tuple[tuple[str, ...], IntArray]:
    values, n = np.asarray(by), data.n
    if values.ndim != 1:
        raise ShapeError(f"by must be a name, or hold one value for each row, got shape {values.shape}.")
    if isinstance(data, Sample) and data.left_out and len(values) == n + data.left_out:
        values = values[data.kept]
    if len(values) != n:
        raise ShapeError(f"by has {len(values)} values and the sample has {n} rows.")
    missing = np.array([v is None or v != v for v in values.tolist()], dtype=bool)
    if missing.any():
        raise InputError(
            f"by is missing in {int(missing.sum())} of {n} rows, the first in row "
            f"{int(np.argmax(missing))} (counted from 0). Drop or fill those rows first."
        )
    if values.dtype.kind == "f":
        texts = np.array([f"{v:.12g}" for v in values.tolist()])
    else:
        texts = np.array([str(v) for v in values.tolist()])
    found, codes = np.unique(texts, return_inverse=True)
    return tuple(map(str, found)), codes.ravel()


def _natural(label: str) -> tuple[int, float, str]:
    """Order numbers as numbers, before text."""
    try:
        return 0, float(label), label
    except ValueError:
        return 1, 0.0, label
