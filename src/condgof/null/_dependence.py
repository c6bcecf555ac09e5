"""Rows that depend on each other: blocks of time, groups, and whether neither was declared.

Users declare dependence by a block length or by groups; then rows of one block or group
share one random sign in the wild bootstrap. If they declare nothing, the scores of
neighbouring rows are tested for correlation, and a warning says what was found.

Where the model is right and rows are independent, for each lag k of scores s

    t_k = Σ_i c_i c_{i+k} / √(Σ_i c_i² c_{i+k}²),    c = s − mean(s),

is nearly standard normal, also where the variance of s changes with x. The approximation
is poor for scores with few distinct values or a long tail. √n·r_k, with the correlation
r_k, is poor for other samples, so the smaller of the two in absolute value is taken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, ndtri

from condgof._typing import FloatArray, IntArray, TableLike
from condgof.errors import DependenceWarning, InputError, check_count, warn
from condgof.null import _bootstrap as bootstrap
from condgof.null._bootstrap import (
    BLOCK,
    NULLS,
    RowWeights,
    SmallInts,
    rows_of,
    sign_bits,
    signs_of,
)
from condgof.residuals import STRETCHES
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

#: Lags at which the warning tests the correlation of scores.
LAGS = 5
#: The warning is given where chance alone exceeds the correlations this rarely.
WARNING_LEVEL = 1e-5
#: With fewer rows no warning is given.
FEWEST_ROWS_TO_WARN = 60
#: Rows of each stretch of a source (`condgof.residuals.STRETCHES`) for the warning.
ROWS_TO_WARN = 1024
#: Rows of each stretch of a source for dependence="auto".
ROWS_FOR_AUTO = 4096
#: Rows that are enough to estimate correlations and medians from.
ENOUGH_ROWS = 100_000
#: Scores are clipped to this many median absolute deviations from their median.
CLIP = 6.0

#: With fewer groups, or fewer blocks, the level is approximate.
FEW_UNITS = 10
#: dependence="auto" estimates correlations at lags up to this share of the rows.
SHARE_OF_LAGS = 4
#: It averages correlations over this many multiples of a lag, to find seasons.
SEASONS = 8
#: It takes independent rows for dependent ones with this probability.
FALSE_DEPENDENCE = 0.01
#: It leaves at least this many blocks; with fewer the test would hardly ever reject.
FEWEST_BLOCKS = 5
#: A correlation of neighbouring rows counts already at this two-sided level: blocks of two
#: or three rows cost little power.
NEIGHBOUR_LEVEL = 0.05
#: Absolute scores are skewed, and draws by random signs are not: longer blocks make up for
#: the difference.
LONGER_FOR_SIZES = 1.5
#: Correlations are clipped to this, so that 1 − r² stays positive.
LARGEST_CORRELATION = 0.99

#: From the number of rows of a stretch to the scores, (rows, d), of some stretches.
ReadStretches: TypeAlias = Callable[[int], list[FloatArray]]


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
            "dependence= and groups= were both given. Rows are ordered in time, or they"
            " come in groups that are independent of each other: pass one of the two. For"
            " time series of several subjects, pass the subjects as groups=."
        )
    if (dependence is not None or groups is not None) and null not in ("auto", "wild"):
        raise InputError(
            f"dependence= and groups= need null='auto' or 'wild', got {null!r}: other nulls"
            " take rows as independent."
        )
    if dependence is None or (isinstance(dependence, str) and dependence == "auto"):
        return dependence
    advice = (
        " Choose some multiple of the time over which errors are correlated, or 'auto'."
    )
    return check_count(dependence, "dependence, a block length,", hint=advice)


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
        return Dependence(notes=warn_if_correlated(stretches(ROWS_TO_WARN)))
    if isinstance(length, str):
        if stretches is None:
            raise InputError(
                "dependence='auto' is for tests that use scores. Pass a block length."
            )
        chosen = max(least, auto_length(stretches(ROWS_FOR_AUTO), n))
        return Dependence(chosen, notes=(_note_on_auto(chosen, n),))
    if length >= n:
        raise InputError(
            f"dependence = {length} is a block length of the whole sample (n = {n}). Pass a"
            " shorter one."
        )
    return Dependence(length, notes=_notes_on_blocks(length, n))


def _dependence_by_groups(
    groups: TableLike, n: int, data: object, n_boot: int, sample: Sample | None
) -> Dependence:
    if sample is None or not sample.left_out:
        codes = read_groups(groups, data, n, None)
    else:
        codes = read_groups(groups, data, n + sample.left_out, sample.kept)
    return Dependence(codes=codes, notes=_notes_on_groups(int(codes.max()) + 1, n_boot))


def _note_on_auto(length: int, n: int) -> str:
    note = f"block length {length} chosen by dependence='auto'"
    if n >= FEW_UNITS * length:
        return note
    return (
        f"{note}: n = {n:,} rows are fewer than {FEW_UNITS} such blocks, and hardly ever"
        " reject"
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
            "groups has one group only, and rows of a group may depend on each other. At"
            " least two groups are needed, and 20 or more for a test worth having."
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


# Correlation of scores with those of later rows.


def clipped_columns(stretches: list[FloatArray]) -> list[list[FloatArray]]:
    """Return the columns of scores, centred and clipped: outliers are no evidence.

    Parameters
    ----------
    stretches
        Scores of consecutive rows, (rows, d) each.

    Returns
    -------
    list of list
        For each of d columns, its stretches, (rows,) each.
    """
    columns = []
    for column in range(stretches[0].shape[1]):
        # No square overflows after division by the largest score.
        largest = _largest([part[:, column] for part in stretches])
        parts = [part[:, column] / largest for part in stretches]
        whole = np.concatenate(parts)
        some = whole[:: max(1, len(whole) // ENOUGH_ROWS)]
        middle = np.median(some)
        reach = CLIP * (float(np.median(np.abs(some - middle))) or 1.0)
        clipped = [np.clip(part, middle - reach, middle + reach) for part in parts]
        columns.append(_centred(clipped))
    return columns


def _largest(parts: list[FloatArray]) -> float:
    """Return the largest absolute value, or 1 if all values are 0."""
    return max(float(np.abs(part).max(initial=0.0)) for part in parts) or 1.0


def _centred(parts: list[FloatArray]) -> list[FloatArray]:
    """Subtract the mean and divide by the largest absolute value; constants become 0."""
    whole = np.concatenate(parts)
    varies = whole.std() > 1e-10 * np.abs(whole).max(initial=0.0)
    moved = [(part - whole.mean()) * varies for part in parts]
    # No square underflows after division by the largest value.
    largest = _largest(moved)
    return [part / largest for part in moved]


class Autocorrelation(NamedTuple):
    """Correlations of n numbers with those 1, …, L rows later."""

    n: int
    #: The correlations r_k, (L,).
    r: FloatArray
    #: t_k of the module's docstring or √n·r_k, whichever is smaller in size, (L,).
    t: FloatArray

    @classmethod
    def from_stretches(cls, parts: list[FloatArray], lags: int = LAGS) -> Autocorrelation:
        """Correlate centred numbers, (rows,) in each stretch, at lags 1, …, `lags`."""
        n = sum(map(len, parts))
        products = _lagged_products(parts, lags)
        if products[0] == 0:
            return cls(n, np.zeros(lags), np.zeros(lags))
        squares = _lagged_products([part**2 for part in parts], lags)
        robust = products[1:] / np.sqrt(np.maximum(squares[1:], 1e-12 * squares[0]))
        plain = np.sqrt(n) * products[1:] / products[0]
        k = np.arange(1, lags + 1)
        pairs = np.sum([np.maximum(len(part) - k, 0) for part in parts], axis=0)
        r = np.clip(
            plain * np.sqrt(n) / np.maximum(pairs, 1),
            -LARGEST_CORRELATION,
            LARGEST_CORRELATION,
        )
        return cls(n, r, np.where(np.abs(robust) < np.abs(plain), robust, plain))

    def reach(self, chance: float) -> float:
        """Return how many rows dependence reaches; 0 where it may be chance.

        The reach is Σ k·r_k / (½ + Σ r_k), which is 2r/(1 − r²) for an AR(1) process of
        correlation r. Three estimates of it are computed, and the largest is returned:

        - 2k·r_k/(1 − r_k²) for each lag k that is significant;
        - k times as much for a season of k rows, from the mean correlation over the
          multiples of k, if this mean is significant;
        - the sum over the first lags, with a taper, if anything is significant.

        `chance` is the probability that anything is significant for independent rows.
        """
        lags = len(self.r)
        k = np.arange(1, lags + 1)
        r = np.abs(self.r)
        noise = self._bartlett_noise()
        # Σ_k 1/(k(k + 1)) < 1 shares `chance` among the lags, half of it for t and half for
        # the means over multiples, both of which are two-sided.
        bound = -ndtri(chance / 4 / (k * (k + 1.0))) * noise

        multiples = np.minimum(lags // k, SEASONS)
        sums = self._sums_over_multiples()
        seasonal = np.abs(sums) / np.sqrt(multiples) > bound
        significant = seasonal | (np.abs(self.t) > bound)
        if not significant.any():
            return 0.0

        single = significant * 2 * k * r / (1 - r**2)
        mean_r = np.minimum(
            np.abs(sums) / (multiples * np.sqrt(self.n)), LARGEST_CORRELATION
        )
        season = seasonal * multiples * k * mean_r / (1 - mean_r**2)
        tapered = self._taper(noise) * self.r
        together = max(k @ tapered, 0.0) / (0.5 + max(tapered.sum(), 0.0))
        return float(max(single.max(), season.max(), together))

    def _sums_over_multiples(self) -> FloatArray:
        """Return Σ_j t_{jk} over the first `SEASONS` multiples of each lag k, (L,)."""
        lags = len(self.t)
        sums = np.zeros(lags)
        for j in range(1, SEASONS + 1):
            sums[: lags // j] += self.t[j - 1 :: j]
        return sums

    def _bartlett_noise(self) -> FloatArray:
        """Return √(1 + 2 Σ_{j<k} r_j²), the standard deviation of t_k by Bartlett, (L,)."""
        excess = np.abs(self.r) ** 2 - 1 / self.n
        return np.asarray(np.sqrt(1 + 2 * np.maximum(np.cumsum(excess) - excess, 0.0)))

    def _taper(self, noise: FloatArray) -> FloatArray:
        """Return weights of lags, (L,): 1 up to a lag K, then falling to 0 at 2K.

        K is the last of the first large correlations: none of the next `LAGS` is large.
        """
        k = np.arange(1, len(self.t) + 1)
        large = np.append(0, k[np.abs(self.t) > 2 * noise])
        followed_by_gap = np.append(np.diff(large) > LAGS, True)
        last = large[followed_by_gap][0]
        return np.asarray(np.clip(2 - k / max(last, 0.5), 0, 1))


def _lagged_products(parts: list[FloatArray], lags: int) -> FloatArray:
    """Return Σ_i c_i c_{i+k} for k = 0, …, `lags`, (lags + 1,)."""
    if lags <= LAGS:
        shifted = [
            [c[k:] @ c[: max(len(c) - k, 0)] for c in parts] for k in range(lags + 1)
        ]
        return np.asarray(np.sum(shifted, axis=1), dtype=np.float64)
    from scipy.fft import irfft, next_fast_len, rfft

    total = np.zeros(lags + 1)
    for c in parts:
        size = next_fast_len(len(c) + lags, real=True)
        total += irfft(np.abs(rfft(c, size)) ** 2, size)[: lags + 1]
    return total


def warn_if_correlated(stretches: list[FloatArray]) -> tuple[str, ...]:
    """Warn where scores are correlated with those of rows before; return it as a note.

    `stretches` are scores of consecutive rows, (rows, d) each. For each of d columns
    Σ_k t_k² is compared with χ² of as many degrees of freedom as lags, with Bonferroni's
    correction for d.
    """
    if sum(map(len, stretches)) < FEWEST_ROWS_TO_WARN:
        return ()
    in_memory = stretches[0]
    if len(in_memory) > ENOUGH_ROWS:
        size = ENOUGH_ROWS // STRETCHES
        starts = np.linspace(0, len(in_memory) - size, STRETCHES).astype(np.int64)
        stretches = [in_memory[start : start + size] for start in starts]
    columns = [
        Autocorrelation.from_stretches(parts) for parts in clipped_columns(stretches)
    ]
    sums = np.array([float(column.t @ column.t) for column in columns])
    pvalues = gammaincc(LAGS / 2, sums / 2) * len(sums)
    worst = int(np.argmin(pvalues))
    if pvalues[worst] >= WARNING_LEVEL:
        return ()
    lag = int(np.argmax(np.abs(columns[worst].t)))
    warn(
        f"The scores of rows {lag + 1} apart are correlated"
        f" ({columns[worst].r[lag]:.2f}; chance alone gives the like with probability"
        f" {max(pvalues[worst], 1e-99):.1g}). If rows are ordered in time, or come in"
        " groups, they depend on each other and the p-value is too small: pass"
        " dependence=, a block length, or groups=. If they are independent but sorted, by"
        " y or by a column in which the model is wrong, the p-value is right, and rows in"
        " random order do not give this warning.",
        DependenceWarning,
    )
    return (
        "scores of neighbouring rows are correlated: if rows are ordered in time or come"
        " in groups, the p-value is too small unless the test is told so (dependence,"
        " groups)",
    )


def auto_length(stretches: list[FloatArray], n: int) -> int:
    """Choose a block length: reach^⅔ · n^⅓, or 4 · reach if that is longer.

    The first is best for the long-run variance (Patton, Politis and White, 2009). The reach
    is the largest over the columns of scores and of absolute scores: volatility leaves no
    trace in the scores themselves. Independent rows have blocks of 1 row.

    Parameters
    ----------
    stretches
        Scores of consecutive rows, (rows, d) each.
    n
        Number of rows of the sample.
    """
    columns = clipped_columns(stretches)
    lags = max(max(map(len, stretches)) // SHARE_OF_LAGS, 1)
    chance = FALSE_DEPENDENCE / (2 * len(columns))
    plausible = -float(ndtri(NEIGHBOUR_LEVEL / 2 / len(columns)))
    reach = 0.0
    for parts in columns:
        scores = Autocorrelation.from_stretches(parts, lags)
        absolute = _centred([np.abs(part) for part in parts])
        sizes = Autocorrelation.from_stretches(absolute, lags)
        neighbours = float(abs(scores.r[0]) * (abs(scores.t[0]) > plausible))
        reach = max(
            reach,
            2 * neighbours / (1 - neighbours**2),
            scores.reach(chance),
            LONGER_FOR_SIZES * sizes.reach(chance),
        )
    length = round(max(float(np.cbrt(reach**2 * n)), 4 * reach))
    return max(1, min(length, n // FEWEST_BLOCKS))
