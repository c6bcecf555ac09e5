"""Rows that depend on each other: blocks of time, groups, and whether neither was declared.

Users declare dependence by a block length or by groups; then rows of one block or group
share one random sign in the wild bootstrap. If they declare nothing, residuals of
neighbouring rows are tested for correlation (`condgof.null._autocorrelation`), and a
warning says what was found.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc

from condgof._typing import IntArray, TableLike
from condgof.errors import (
    DependenceWarning,
    InputError,
    check_count,
    option,
    option_name,
    warn,
)
from condgof.null import _bootstrap as bootstrap
from condgof.null._autocorrelation import (
    ENOUGH_ROWS,
    LAGS,
    Autocorrelation,
    auto_length,
    series_of,
)
from condgof.null._bootstrap import (
    BLOCK,
    NULLS,
    RowWeights,
    SmallInts,
    rows_of,
    sign_bits,
    signs_of,
)
from condgof.null._group_correlation import warn_if_groups_alike
from condgof.residuals import STRETCHES, Stretch, few_stretches
from condgof.sample import Sample, Seed, Use, read_groups

#: Above this many groups, several whole groups share a sign, which is valid as well: the
#: signs of all groups are kept in memory.
MAX_GROUPS = 2**18
#: Longer stretches are drawn on a coarser grid of rows, so that few canonical blocks have
#: to be made again to find where a stretch began.
LONGEST_STRETCH = 64
#: The stream of random numbers, for each canonical block within `Use.BOOTSTRAP`, that draws
#: where stretches begin. Signs have the stream without a number, and normal weights have 2
#: (`condgof.null._bootstrap.normal_weights`).
STRETCH_STREAM = 1

#: The warning is given where chance alone exceeds the correlations this rarely.
WARNING_LEVEL = 1e-5
#: With fewer rows no warning is given.
FEWEST_ROWS_TO_WARN = 60
#: Rows of each stretch of a source (`condgof.residuals.STRETCHES`) for the warning.
ROWS_TO_WARN = 1024
#: Rows of each stretch of a source for dependence="auto".
ROWS_FOR_AUTO = 4096

#: With fewer groups, or fewer blocks, the level is approximate.
FEW_UNITS = 10

#: From the number of rows of a stretch to some stretches of rows.
ReadStretches: TypeAlias = Callable[[int], list[Stretch]]


# Random signs that rows share.


class BegunStretches(NamedTuple):
    """The stretches that begin in one canonical block of rows, for each of m draws."""

    #: The sign of the stretch that began last, (rows of the block, m); without meaning
    #: before the first one.
    signs: SmallInts
    #: The row of the block at which this stretch began, (rows of the block, m); −1 before
    #: the first one.
    starts: NDArray[np.int16]


@dataclass(frozen=True)
class StretchSigns:
    """The signs of a canonical block of rows; one for each stretch of rows.

    A stretch begins at each row with probability 1/length, independently, so that its
    length is geometric. It may have begun in an earlier canonical block: then this block is
    made again for its last row.
    """

    n: int
    m: int
    seed: Seed
    length: float

    def __call__(self, block: int) -> SmallInts:
        signs, starts = self._begun(block)
        if block > 0:
            np.copyto(signs, self._last_row(block - 1), where=starts < 0)
        return signs

    def _begun(self, block: int) -> BegunStretches:
        rows = rows_of(block, self.n)
        stream = self.seed.stream(Use.BOOTSTRAP, block, STRETCH_STREAM)
        uniforms = stream.random((BLOCK, self.m), dtype=np.float32)
        # The uniform numbers are used from the last row to the first. Results with a seed
        # depend on this order.
        begins = (uniforms < np.float32(1.0 / self.length))[::-1][:rows]
        if block == 0:
            begins[0] = True
        number = np.arange(rows, dtype=np.int16)[:, None]
        starts = np.where(begins, number, np.int16(-1))
        np.maximum.accumulate(starts, axis=0, out=starts)
        row_signs = signs_of(sign_bits(block, self.n, self.m, self.seed), self.m)
        signs = np.take_along_axis(row_signs, np.maximum(starts, 0), axis=0)
        return BegunStretches(signs, starts)

    def _last_row(self, block: int) -> SmallInts:
        """Return the signs of the last row of a block, (m,)."""
        signs, starts = self._begun(block)
        inherited = starts[-1] < 0
        last = np.asarray(signs[-1])
        if not inherited.any():
            return last
        return np.where(inherited, self._last_row(block - 1), last)


def stretch_weights(n: int, m: int, seed: Seed, length: float) -> RowWeights:
    """Random signs (n, m) that stretches of rows share, of geometric length with this mean.

    Signs of rows k apart have the correlation (1 − 1/length)^k: the dependent wild
    bootstrap (Leucht and Neumann, 2013; Chwialkowski, Sejdinovic and Gretton, 2014) with
    signs in place of normal numbers.
    """
    if length == 1:
        return bootstrap.sign_weights(n, m, seed)
    if length > LONGEST_STRETCH:
        return _coarse_stretch_weights(n, m, seed, length)
    return RowWeights(n, m, StretchSigns(n, m, seed, length), 1.0 / (n - 1))


def _coarse_stretch_weights(n: int, m: int, seed: Seed, length: float) -> RowWeights:
    """Return signs of long stretches, which begin at multiples of `step` rows only."""
    step = int(length) // (LONGEST_STRETCH // 2)
    steps = stretch_weights(-(-n // step) + 1, m, seed, length / step)

    def make(block: int) -> SmallInts:
        number = (block * BLOCK + np.arange(rows_of(block, n))) // step
        first = int(number[0])
        last = int(number[-1])
        signs = steps.block(first, last + 1).astype(np.int8)
        return np.asarray(signs[number - first])

    return RowWeights(n, m, make, 1.0 / (n - 1))


def group_weights(codes: IntArray, m: int, seed: Seed) -> RowWeights:
    """Random signs (n, m) that groups of rows share: the wild bootstrap of clusters."""
    n = len(codes)
    count = min(int(codes.max()) + 1, MAX_GROUPS)
    blocks = range(-(-count // BLOCK))
    bits = np.concatenate([sign_bits(block, count, m, seed) for block in blocks])

    def make(block: int) -> SmallInts:
        start = block * BLOCK
        group = codes[start : start + rows_of(block, n)] % count
        return signs_of(bits[group], m)

    return RowWeights(n, m, make, 1.0 / (n - 1))


# How rows depend on each other.


class RowUnits(ABC):
    """What depends on what: rows of different units are independent."""

    #: What the name of a null says of its units.
    suffix: str = ""

    @abstractmethod
    def independent(self) -> bool:
        """Return whether every row is a unit by itself."""

    @abstractmethod
    def weights(self, n: int, m: int, seed: Seed) -> RowWeights:
        """Return random signs (n, m), one for each unit."""

    @abstractmethod
    def parcels(self, n: int, most: int) -> Callable[[int, int], IntArray]:
        """Return a function (start, stop) → the parcel of each of these rows.

        There are at most `most` parcels, each of whole units.
        """

    def details(self) -> dict[str, Any]:
        """Return what the details of a result say."""
        return {}


@dataclass(frozen=True)
class Blocks(RowUnits):
    """Rows in the order of time: those of one block depend on each other."""

    length: int
    suffix = " by block"

    def independent(self) -> bool:
        return self.length == 1

    def weights(self, n: int, m: int, seed: Seed) -> RowWeights:
        return stretch_weights(n, m, seed, self.length)

    def parcels(self, n: int, most: int) -> Callable[[int, int], IntArray]:
        length = max(-(-n // most), self.length)
        return lambda start, stop: np.arange(start, stop) // length

    def details(self) -> dict[str, Any]:
        return {"block_length": self.length}


class SingleRows(Blocks):
    """Independent rows, for which no block length was declared."""

    def __init__(self) -> None:
        super().__init__(length=1)

    def details(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True, eq=False)
class Groups(RowUnits):
    """Rows in groups: those of one group depend on each other."""

    codes: IntArray
    suffix = " by group"

    @property
    def count(self) -> int:
        return int(self.codes.max()) + 1

    def independent(self) -> bool:
        return self.count == len(self.codes)

    def weights(self, n: int, m: int, seed: Seed) -> RowWeights:
        return group_weights(self.codes, m, seed)

    def parcels(self, n: int, most: int) -> Callable[[int, int], IntArray]:
        count = min(self.count, most)
        return lambda start, stop: self.codes[start:stop] % count

    def details(self) -> dict[str, Any]:
        return {"groups": self.count}


@dataclass(frozen=True, eq=False)
class Dependence:
    """Which rows depend on each other; of `length` and `codes` at most one is set."""

    #: Mean length of the stretches of rows that share a sign; 1 for independent rows.
    length: int | None = None
    #: The group of each row, numbered from 0 by first appearance, (n,).
    codes: IntArray | None = None
    #: What a reader of the result should know.
    notes: tuple[str, ...] = ()
    #: Whether a test treats rows as independent although they are not. The details of its
    #: result still give the block length or the number of groups.
    ignored: bool = False

    @property
    def units(self) -> RowUnits:
        """Blocks, groups or single rows; the only place that decides which of them."""
        if self.codes is not None:
            return Groups(self.codes)
        return SingleRows() if self.length is None else Blocks(self.length)

    @property
    def independent(self) -> bool:
        """Whether rows are treated as independent, as they are if each is its own group."""
        return self.ignored or self.units.independent()

    @property
    def count(self) -> int:
        """The number of groups; 0 where rows do not come in groups."""
        return 0 if self.codes is None else Groups(self.codes).count

    def weights(
        self, null: str, n: int, n_boot: int, seed: Seed, keep: int = 2**26
    ) -> RowWeights:
        """Return the bootstrap weights of n rows, kept if they fit into `keep` bytes."""
        if self.independent:
            return bootstrap.bootstrap_weights(null, n, n_boot, seed, keep)
        return self.units.weights(n, n_boot, seed).keeping(keep)

    def parcels(self, n: int, most: int) -> Callable[[int, int], IntArray]:
        """Cut n rows into at most `most` parcels, of whole groups or of whole blocks.

        Returns
        -------
        callable
            (start, stop) → the parcel of each row from `start` to `stop`, (stop − start,).
        """
        return self.units.parcels(n, most)

    def take(self, rows: IntArray) -> Dependence:
        """Return the dependence of some rows; of a time series they must be consecutive."""
        if self.codes is None:
            return self
        _, codes = np.unique(self.codes[rows], return_inverse=True)
        return replace(self, codes=codes.ravel())

    def named(self, null: str) -> str:
        """Return what results call a null, such as "wild bootstrap by group"."""
        return NULLS[null] if self.independent else NULLS[null] + self.units.suffix

    def details(self) -> dict[str, Any]:
        """Return what the details of a result say of the dependence."""
        return self.units.details()


# From what a user declares to `Dependence`.


def check_dependence(
    dependence: object, groups: TableLike | None, null: str
) -> int | str | None:
    """Check the options dependence= and groups=, before the sample is read."""
    if dependence is not None and groups is not None:
        raise InputError(
            f"{option('dependence')} and {option('groups')} were both given. Rows are"
            " ordered in time, or they come in groups that are independent of each other:"
            " pass one of the two. For time series of several subjects, pass the subjects"
            f" as {option('groups')}."
        )
    if (dependence is not None or groups is not None) and null not in ("auto", "wild"):
        raise InputError(
            f"{option('dependence')} and {option('groups')} need null='auto' or 'wild', got"
            f" {null!r}: other nulls take rows as independent."
        )
    if dependence is None or (isinstance(dependence, str) and dependence == "auto"):
        return dependence
    advice = (
        " Choose some multiple of the time over which errors are correlated, or 'auto'."
    )
    return check_count(
        dependence, f"{option_name('dependence')}, a block length,", hint=advice
    )


def dependence_of(
    length: int | str | None,
    groups: TableLike | None,
    n: int,
    data: object,
    n_boot: int,
    sample: Sample | None = None,
    stretches: ReadStretches | None = None,
    least: int = 1,
) -> Dependence:
    """Return how n rows depend on each other; warn if nobody declared that they seem to.

    Parameters
    ----------
    length, groups
        The options dependence= and groups=, checked by `check_dependence`.
    data
        The user's rows, which may have a column of groups, also of rows that were left out
        of the `sample`.
    n_boot
        Number of draws: few groups have fewer patterns of signs.
    stretches
        Scores of consecutive rows; None for a test that computes no scores.
    least
        The shortest block that "auto" chooses.
    """
    if groups is not None:
        return _dependence_by_groups(groups, n, data, n_boot, sample)
    if length is None:
        if stretches is None:
            return Dependence()
        rows = stretches(ROWS_TO_WARN)
        notes = warn_if_correlated(rows)
        in_memory = sample is not None and len(rows) == 1
        if sample is not None and in_memory and not notes:
            notes = warn_if_groups_alike([parts[0] for parts in series_of(rows)], sample)
        return Dependence(notes=notes)
    if isinstance(length, str):
        if stretches is None:
            raise InputError(
                f"{option('dependence', repr('auto'))} is for tests that use scores. Pass a"
                " block length."
            )
        chosen = max(least, auto_length(stretches(ROWS_FOR_AUTO), n))
        return Dependence(chosen, notes=(_note_on_auto(chosen, n),))
    if length >= n:
        raise InputError(
            f"{option('dependence', str(length))} is a block length of the whole sample"
            f" (n = {n}). Pass a shorter one."
        )
    return Dependence(length, notes=_notes_on_blocks(length, n))


def _dependence_by_groups(
    groups: TableLike, n: int, data: object, n_boot: int, sample: Sample | None
) -> Dependence:
    left_out = 0 if sample is None else sample.left_out
    codes = read_groups(
        groups,
        data,
        n + left_out,
        sample.kept if sample is not None and left_out else None,
        labels=None if sample is None else sample.origin.labels,
    )
    return Dependence(codes=codes, notes=_notes_on_groups(int(codes.max()) + 1, n_boot))


def _note_on_auto(length: int, n: int) -> str:
    note = f"block length {length} chosen by {option('dependence', repr('auto'))}"
    if length == 1:
        return note
    if n >= FEW_UNITS * length:
        return f"{note}, which is too short for trends and for long memory"
    # All rows have the same sign with this probability, and then a draw is the statistic.
    least = np.exp(-n / (2 * length))
    return (
        f"{note}: n = {n:,} rows are fewer than {FEW_UNITS} such blocks, and no p-value can"
        f" be much below {least:.1g}"
    )


def _notes_on_blocks(length: int, n: int) -> tuple[str, ...]:
    if n >= FEW_UNITS * length:
        return ()
    return (
        f"n = {n:,} rows are fewer than {FEW_UNITS} blocks of {length}: the level is"
        " approximate",
    )


def _notes_on_groups(count: int, n_boot: int) -> tuple[str, ...]:
    if count == 1:
        raise InputError(
            f"{option_name('groups')} has one group only, and rows of a group may"
            " depend on each other. At least two groups are needed, and 20 or more for a"
            " test worth having."
        )
    notes = []
    if count < FEW_UNITS:
        notes.append(
            f"there are {count} groups only: the level is approximate, and power is low"
        )
    # A pattern of signs and its opposite give the same statistic.
    patterns = 2 ** (count - 1)
    if patterns <= n_boot:
        notes.append(
            f"{count} groups have {patterns} patterns of signs: no p-value can be much"
            f" below {2.0 ** (1 - count):.3g}"
        )
    return tuple(notes)


# What a reader is told where nothing was declared.


def warn_if_correlated(stretches: list[Stretch]) -> tuple[str, ...]:
    """Warn where residuals are correlated with those of rows before; return it as a note.

    For each series of residuals Σ_k t_k² is compared with χ² of as many degrees of freedom
    as lags, with Bonferroni's correction for the number of series.
    """
    if sum(len(part.rows.values) for part in stretches) < FEWEST_ROWS_TO_WARN:
        return ()
    in_memory = stretches[0].rows
    n = len(in_memory.values)
    if n > ENOUGH_ROWS:
        some = few_stretches(n, ENOUGH_ROWS // STRETCHES)
        stretches = [Stretch(in_memory.take(rows)) for rows in some]
    series = [Autocorrelation.from_parts(parts) for parts in series_of(stretches)]
    sums = np.array([float(one.t @ one.t) for one in series])
    pvalues = gammaincc(LAGS / 2, sums / 2) * len(sums)
    worst = int(np.argmin(pvalues))
    if pvalues[worst] >= WARNING_LEVEL:
        return ()
    lag = int(np.argmax(np.abs(series[worst].t)))
    warn(
        f"Residuals of rows {lag + 1} apart are correlated ({series[worst].r[lag]:.2f};"
        " independent rows give as much with probability"
        f" {max(pvalues[worst], 1e-99):.1g}). Either rows depend on each other, because"
        " they are ordered in time or come in groups, and the p-value is too small: pass"
        f" {option('dependence')}, a block length or 'auto', or {option('groups')}. Or the"
        " table is sorted, by y"
        " or by a column in which the model is wrong: then the p-value is right, and rows"
        " in random order do not give this warning.",
        DependenceWarning,
    )
    return (
        "residuals of neighbouring rows are correlated: rows that are ordered in time or"
        " come in groups depend on each other, and the p-value is too small unless the test"
        f" is told so ({option_name('dependence')}, {option_name('groups')}); or the table"
        " is sorted",
    )
