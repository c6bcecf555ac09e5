"""Rows that depend on each other: how that is said or found, signs that they share, parcels of them.

Where the model is right and rows are independent, for each lag k of scores s

    t_k = Σ_i c_i c_{i+k} / √(Σ_i c_i² c_{i+k}²),    c = s − mean(s),

is nearly standard normal, also when their spread changes with x, but not soon where they
have few values or a long tail; √n·r_k, with the correlation r_k, errs on other samples: the
smaller of both is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

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
from condgof.sample import Sample, Seed, Use, read_groups

#: More groups than this share signs: whole groups together are groups too, and signs must
#: be kept.
MAX_GROUPS = 2**18
#: Stretches longer than this are cut on a coarser grid of rows, so that a look back is
#: short.
LONGEST = 64
#: Lags that are looked at, and how unlikely their correlations must be; fewer rows tell
#: nothing.
LAGS, UNLIKELY, FEW_ROWS = 5, 1e-5, 60
#: Of a source, so many stretches of so many rows are looked at; by "auto" of more rows.
STRETCHES, STRETCH, LONG = 4, 1024, 4096
#: Scores beyond this many median absolute deviations count as so many; rows that are enough
#: to look at.
CLIP, ENOUGH = 6.0, 100_000
#: With fewer groups, or blocks, the level is approximate.
FEW = 10
#: "auto" looks at lags up to a quarter of the rows, at so many multiples of each together,
#: and takes independent rows for dependent ones with this probability. So few blocks hardly
#: ever reject.
QUARTER, SEASONS, CHANCE, FEWEST = 4, 8, 0.01, 5


def stretch_weights(n: int, m: int, seed: Seed, length: float) -> RowWeights:
    """One sign for each of many stretches of rows, which have geometric lengths of a given mean.

    Signs of rows k apart have the correlation (1 − 1/length)^k: the dependent wild
    bootstrap (Leucht and Neumann, 2013; Chwialkowski, Sejdinovic and Gretton, 2014) with
    signs in place of normal numbers. A stretch may reach over blocks: whoever makes one
    looks back for where its first stretch started.
    """
    if length == 1:
        return bootstrap.sign_weights(n, m, seed)
    if length > LONGEST:
        return _coarse(n, m, seed, length)
    probability = np.float32(1.0 / length)

    def begun(block: int) -> tuple[SmallInts, NDArray[np.int16]]:
        """Return signs of stretches that start in a block, and in which of its rows: −1 before it."""
        rows, stream = rows_of(block, n), seed.stream(Use.BOOTSTRAP, block, 1)
        begins = (stream.random((BLOCK, m), dtype=np.float32) < probability)[::-1][:rows]
        if block == 0:
            begins[0] = True
        first = np.where(begins, np.arange(rows, dtype=np.int16)[:, None], np.int16(-1))
        np.maximum.accumulate(first, axis=0, out=first)
        signs = signs_of(sign_bits(block, n, m, seed), m)
        return np.take_along_axis(signs, np.maximum(first, 0), axis=0), first

    def last_signs(block: int) -> SmallInts:
        signs, first = begun(block)
        inherited = first[-1] < 0
        return (
            np.where(inherited, last_signs(block - 1), signs[-1])
            if inherited.any()
            else signs[-1]
        )

    def make(block: int) -> SmallInts:
        signs, first = begun(block)
        if block:
            np.copyto(signs, last_signs(block - 1), where=first < 0)
        return signs

    return RowWeights(n, m, make, 1.0 / (n - 1))


def _coarse(n: int, m: int, seed: Seed, length: float) -> RowWeights:
    """Return signs of long stretches: `step` rows at a time are as one."""
    step = int(length) // (LONGEST // 2)
    steps = stretch_weights(-(-n // step) + 1, m, seed, length / step)

    def make(block: int) -> SmallInts:
        number = (block * BLOCK + np.arange(rows_of(block, n))) // step
        first, last = int(number[0]), int(number[-1])
        return np.asarray(steps.block(first, last + 1).astype(np.int8)[number - first])

    return RowWeights(n, m, make, 1.0 / (n - 1))


def group_weights(codes: IntArray, m: int, seed: Seed) -> RowWeights:
    """One sign a group: the wild bootstrap of clustered rows."""
    n, count = len(codes), min(int(codes.max()) + 1, MAX_GROUPS)
    bits = np.concatenate([sign_bits(b, count, m, seed) for b in range(-(-count // BLOCK))])

    def make(block: int) -> SmallInts:
        own = codes[block * BLOCK : block * BLOCK + rows_of(block, n)] % count
        return signs_of(bits[own], m)

    return RowWeights(n, m, make, 1.0 / (n - 1))


@dataclass(frozen=True, eq=False)
class Dependence:
    """Which rows depend on each other."""

    #: Mean length of the stretches of rows that get one sign; 1 for independent rows.
    length: int | None = None
    codes: IntArray | None = (
        None  #: The group of each row, numbered from 0 by first appearance.
    )
    notes: tuple[str, ...] = ()  #: What a reader of the result should know.
    aside: bool = False  #: Whether to take rows as independent all the same.

    @property
    def independent(self) -> bool:
        """Whether rows are taken as independent; so they are where each is a group of its own."""
        alone = (
            self.length in (None, 1)
            if self.codes is None
            else self.count == len(self.codes)
        )
        return self.aside or alone

    @property
    def count(self) -> int:
        return 0 if self.codes is None else int(self.codes.max()) + 1

    def weights(
        self, null: str, n: int, n_boot: int, seed: Seed, keep: int = 2**26
    ) -> RowWeights:
        """Return the weights of a bootstrap of n rows, kept if they fit into `keep` bytes."""
        if self.independent:
            return bootstrap.bootstrap_weights(null, n, n_boot, seed, keep)
        if self.codes is not None:
            return group_weights(self.codes, n_boot, seed).keeping(keep)
        return stretch_weights(n, n_boot, seed, self.length or 1).keeping(keep)

    def parcels(self, n: int, most: int) -> Callable[[int, int], IntArray]:
        """Cut n rows into at most `most` parcels: whole groups, or stretches that are long enough.

        What is returned gives the parcels of the rows from one global number to another.
        """
        codes, count, length = (
            self.codes,
            min(self.count, most),
            max(-(-n // most), self.length or 1),
        )
        if codes is not None:
            return lambda start, stop: codes[start:stop] % count
        return lambda start, stop: np.arange(start, stop) // length

    def take(self, rows: IntArray) -> Dependence:
        """Return the same for some rows; those of a time series must follow each other."""
        if self.codes is None:
            return self
        _, codes = np.unique(self.codes[rows], return_inverse=True)
        return replace(self, codes=codes.ravel())

    def named(self, null: str) -> str:
        if self.independent:
            return NULLS[null]
        return f"{NULLS[null]} by {'block' if self.codes is None else 'group'}"

    def details(self) -> dict[str, Any]:
        if self.codes is not None:
            return {"groups": self.count}
        return {} if self.length is None else {"block_length": self.length}


def check_dependence(
    dependence: object, groups: TableLike | None, null: str
) -> int | str | None:
    """Check what a user said of how rows depend on each other, before the sample is read."""
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
    stretches: Callable[[int], list[FloatArray]] | None = None,
    least: int = 1,
) -> Dependence:
    """Find how n rows depend on each other; warn where they seem to, and nothing was said.

    `length` and `groups` are checked. `data` may have a column of groups, also for rows
    that were left out of the `sample`. `stretches` gives scores of rows that follow each
    other; "auto" chooses no block shorter than `least`.
    """
    if groups is not None:
        lost, kept = (0, None) if sample is None else (sample.left_out, sample.kept)
        codes = read_groups(groups, data, n + lost, kept if lost else None)
        return Dependence(codes=codes, notes=_group_notes(int(codes.max()) + 1, n_boot))
    if length is None:
        return Dependence(notes=() if stretches is None else look(stretches(STRETCH)))
    if isinstance(length, str):
        if stretches is None:
            raise InputError(
                "dependence='auto' is for tests that use scores. Pass a block length."
            )
        length = max(least, auto_length(stretches(LONG), n))
        note = f"block length {length} chosen by dependence='auto'"
        if n < FEW * length:
            note += (
                f": n = {n:,} rows are fewer than {FEW} such blocks, and hardly ever reject"
            )
        return Dependence(length, notes=(note,))
    if length >= n:
        raise InputError(
            f"dependence = {length} is a block length of the whole sample (n = {n}). Pass a"
            " shorter one."
        )
    few = (
        f"n = {n:,} rows are fewer than {FEW} blocks of {length}: the level is approximate"
    )
    return Dependence(length, notes=(few,) if n < FEW * length else ())


def _group_notes(count: int, n_boot: int) -> tuple[str, ...]:
    if count == 1:
        raise InputError(
            "groups has one group only, and rows of a group may depend on each other. At"
            " least two groups are needed, and 20 or more for a test worth having."
        )
    few = f"there are {count} groups only: the level is approximate, and power is low"
    notes = [few] if count < FEW else []
    if 2 ** (count - 1) <= n_boot:
        patterns = (
            f"{count} groups have {2 ** (count - 1)} patterns of signs: no p-value can be"
            " much"
        )
        notes.append(f"{patterns} below {2.0 ** (1 - count):.3g}")
    return tuple(notes)


def columns_of(stretches: list[FloatArray]) -> list[list[FloatArray]]:
    """Return each column of the scores, centred, and far ones pulled in: outliers are no evidence."""
    columns = []
    for column in range(stretches[0].shape[1]):
        largest = (
            max(float(np.abs(part[:, column]).max(initial=0.0)) for part in stretches)
            or 1.0
        )
        parts = [
            part[:, column] / largest for part in stretches
        ]  # so that no square overflows
        whole = np.concatenate(parts)
        some = whole[:: max(1, len(whole) // ENOUGH)]
        middle = np.median(some)
        reach = CLIP * (float(np.median(np.abs(some - middle))) or 1.0)
        columns.append(
            _centred([np.clip(part, middle - reach, middle + reach) for part in parts])
        )
    return columns


def _centred(parts: list[FloatArray]) -> list[FloatArray]:
    """Subtract the mean and divide by the largest; what is constant up to rounding becomes zeros."""
    whole = np.concatenate(parts)
    varies = whole.std() > 1e-10 * np.abs(whole).max(initial=0.0)
    moved = [(part - whole.mean()) * varies for part in parts]
    largest = max(float(np.abs(part).max(initial=0.0)) for part in moved) or 1.0
    return [part / largest for part in moved]  # so that no square vanishes


class Autocorrelation(NamedTuple):
    """Correlations r_k of n numbers with those k rows later, and t_k (or √n·r_k)."""

    n: int
    r: FloatArray
    t: FloatArray

    @classmethod
    def of(cls, parts: list[FloatArray], lags: int = LAGS) -> Autocorrelation:
        """Correlate centred numbers, in stretches of rows, with those 1 to `lags` rows later."""
        n, products = sum(map(len, parts)), _products(parts, lags)
        if products[0] == 0:
            return cls(n, np.zeros(lags), np.zeros(lags))
        squares = _products([part**2 for part in parts], lags)
        own = products[1:] / np.sqrt(np.maximum(squares[1:], 1e-12 * squares[0]))
        plain = np.sqrt(n) * products[1:] / products[0]
        k = np.arange(1, lags + 1)
        pairs = np.sum([np.maximum(len(part) - k, 0) for part in parts], axis=0)
        r = np.clip(plain * np.sqrt(n) / np.maximum(pairs, 1), -0.99, 0.99)
        return cls(n, r, np.where(np.abs(own) < np.abs(plain), own, plain))

    def reach(self, chance: float) -> float:
        """Return how far rows depend on each other, Σ k·r_k / (½ + Σ r_k); 0 where it may be chance.

        It is 2r/(1 − r²) of an AR(1) process, and k times as much of a season of k rows.
        The largest of these counts whose t, or mean t of multiples of the lag, is beyond a
        bound, with Bartlett's allowance for correlations at smaller lags. Where any is, so
        does the sum over the first lags.
        """
        r, lags = np.abs(self.r), len(self.r)
        k, sums = np.arange(1, lags + 1), np.zeros(lags)
        for j in range(1, SEASONS + 1):
            sums[: lags // j] += self.t[j - 1 :: j]
        seasons = np.minimum(lags // k, SEASONS)
        lasting = np.minimum(np.abs(sums) / (seasons * np.sqrt(self.n)), 0.99)
        excess = r**2 - 1 / self.n
        noise = np.sqrt(1 + 2 * np.maximum(np.cumsum(excess) - excess, 0.0))
        bound = -ndtri(chance / 4 / (k * (k + 1.0))) * noise
        often = np.abs(sums) / np.sqrt(seasons) > bound
        sure = often | (np.abs(self.t) > bound)
        if not sure.any():
            return 0.0
        large = np.append(0, k[np.abs(self.t) > 2 * noise])
        first = large[np.append(np.diff(large) > LAGS, True)][0]
        fading = np.clip(2 - k / max(first, 0.5), 0, 1) * self.r
        single = sure * 2 * k * r / (1 - r**2)
        season = often * seasons * k * lasting / (1 - lasting**2)
        together = max(k @ fading, 0.0) / (0.5 + max(fading.sum(), 0.0))
        return float(max(single.max(), season.max(), together))


def _products(parts: list[FloatArray], lags: int) -> FloatArray:
    """Return Σ_i c_i c_{i+k} for k = 0 to `lags`."""
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


def look(stretches: list[FloatArray]) -> tuple[str, ...]:
    """Warn where scores are correlated with those of the rows before them, and return it as a note."""
    if sum(map(len, stretches)) < FEW_ROWS:
        return ()
    if len(stretches[0]) > ENOUGH:  # all rows of a sample in memory
        whole, size = stretches[0], ENOUGH // STRETCHES
        starts = np.linspace(0, len(whole) - size, STRETCHES).astype(np.int64)
        stretches = [whole[start : start + size] for start in starts]
    correlations = [Autocorrelation.of(parts) for parts in columns_of(stretches)]
    # Σ t_k² is nearly χ² with as many degrees of freedom as lags.
    sums = np.array([float(one.t @ one.t) for one in correlations])
    tails = gammaincc(LAGS / 2, sums / 2) * len(sums)
    worst = int(np.argmin(tails))
    if tails[worst] >= UNLIKELY:
        return ()
    lag = int(np.argmax(np.abs(correlations[worst].t)))
    warn(
        f"The scores of rows {lag + 1} apart are correlated"
        f" ({correlations[worst].r[lag]:.2f}; chance alone gives the like with probability"
        f" {max(tails[worst], 1e-99):.1g}). If rows are ordered in time, or come in groups,"
        " they depend on each other and the p-value is too small: pass dependence=, a"
        " block length, or groups=. If they are independent but sorted, by y or by a"
        " column in which the model is wrong, the p-value is right, and rows in random"
        " order do not give this warning.",
        DependenceWarning,
    )
    return (
        (
            "scores of neighbouring rows are correlated: if rows are ordered in time or"
            " come in groups, the p-value is too small unless the test is told so"
            " (dependence, groups)"
        ),
    )


def auto_length(stretches: list[FloatArray], n: int) -> int:
    """Choose a block length: reach^⅔ · n^⅓, or 4 · reach if that is longer; 1 for independent rows.

    The first is best for the long-run variance (Patton, Politis and White, 2009). The reach
    is that of the scores or of their sizes |c|: volatility leaves no trace in the scores
    themselves.
    """
    columns = columns_of(stretches)
    lags, chance = max(max(map(len, stretches)) // QUARTER, 1), CHANCE / (2 * len(columns))
    plausible = -float(
        ndtri(0.025 / len(columns))
    )  # of neighbours, less is enough: it costs little
    reach = 0.0
    for parts in columns:
        scores = Autocorrelation.of(parts, lags)
        sizes = Autocorrelation.of(_centred([np.abs(part) for part in parts]), lags)
        first = float(abs(scores.r[0]) * (abs(scores.t[0]) > plausible))
        # Sizes are skewed, and draws by signs are not: longer blocks make up for it.
        reaches = scores.reach(chance), 1.5 * sizes.reach(chance)
        reach = max(reach, 2 * first / (1 - first**2), *reaches)
    length = round(max(float(np.cbrt(reach**2 * n)), 4 * reach))
    return max(1, min(length, n // FEWEST))
