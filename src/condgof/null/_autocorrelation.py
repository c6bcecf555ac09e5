"""Autocorrelation of rows, and the block length that it asks for.

A row i is told by numbers c_i with mean 0 given x under the law: one number, or a vector
where y is one of several classes. Where the law is true and rows are independent,

    t_k = Σ_i c_i·c_{i+k} / √(Σ_i (c_i·c_{i+k})²)

is nearly standard normal for each lag k, also where the variance of c changes with x. The
approximation is poor for numbers with few distinct values or a long tail. √(nd)·r_k is poor
for other samples, where r_k = Σ_i c_i·c_{i+k} / Σ_i |c_i|² is the correlation and
d = (tr C)² / tr C² the dimension of a vector of covariance C. So the smaller of the two in
absolute value is taken. See docs/theory/dependence.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.residuals import Stretch

#: Lags at which the warning tests the correlation of rows.
LAGS = 5
#: Rows that are enough to estimate correlations and medians from.
ENOUGH_ROWS = 100_000
#: Numbers are clipped to this many median absolute deviations from their median.
CLIP = 6.0
#: Correlations are clipped to this, so that 1 − r² stays positive.
LARGEST_CORRELATION = 0.99

#: dependence="auto" estimates correlations at lags up to this share of the rows.
SHARE_OF_LAGS = 4
#: It averages correlations over this many multiples of a lag, to find seasons.
SEASONS = 8
#: It takes independent rows for dependent ones with this probability.
FALSE_DEPENDENCE = 0.01
#: A correlation of neighbouring rows counts already at this two-sided level: blocks of two
#: or three rows cost little power.
NEIGHBOUR_LEVEL = 0.05
#: Sums over m rows are correlated with the next ones while at least this many of them fit
#: into the sample.
FEWEST_SUMS = 8
#: The correlation of such sums has weight 0 up to this many standard errors, where rows
#: are known to depend on each other,
UNCERTAIN = 1.5
#: and weight 1 from this many standard errors on. With a sharp border, one outlier would
#: change the block length threefold.
CERTAIN = 3.0
#: Absolute values are skewed, and draws by random signs are not: longer blocks make up for
#: the difference.
LONGER_FOR_SIZES = 1.5
#: It leaves at least this many blocks; with fewer the test would never reject.
FEWEST_BLOCKS = 5

#: Chunks of consecutive rows in which the misfit along x is predicted from the others.
CHUNKS = 20
#: With fewer rows no misfit is taken out.
FEWEST_ROWS_TO_PREDICT = 100
#: A column with more distinct values than this is cut at quantiles.
MOST_VALUES = 24
#: The number of bins between these quantiles, if there are enough rows.
BINS = 12
#: Rows of a bin on average; with fewer rows there are fewer bins.
ROWS_PER_BIN = 10
#: The sum over a bin is divided by its number of rows plus this: means are shrunk to 0.
SHRINKAGE = 4.0
#: A column is taken out where it predicts this share of the variance. A weaker misfit
#: hardly lengthens blocks.
LEAST_GAIN = 0.05
#: Columns that are taken out, one after the other, at most.
MOST_STAGES = 6
#: Columns of x that are tried: the first ones.
MOST_COLUMNS = 100


def series_of(stretches: list[Stretch]) -> list[list[FloatArray]]:
    """Return the series that stretches hold, centred, and clipped unless bounded.

    Returns
    -------
    list of list of ndarray
        For each series its stretches, (rows, v) each; v is 1 but for vectors.
    """
    each = [stretch.rows for stretch in stretches]
    if each[0].is_vector:
        return [_centred([part.values for part in each])]
    series = []
    for column in range(each[0].values.shape[1]):
        parts = [part.values[:, [column]] for part in each]
        series.append(_centred(parts) if each[0].is_bounded else _clipped(parts))
    return series


def sizes_of(
    stretches: list[Stretch], series: list[list[FloatArray]]
) -> list[list[FloatArray]]:
    """Return how far rows are from what was expected, whatever the direction, centred.

    Numbers of mean 0 given x where the kind of y has such (`DependenceValues.sizes`), else
    absolute values of the series. The length of a vector says nothing that its class does
    not.
    """
    each = [stretch.rows for stretch in stretches]
    if each[0].is_vector:
        return []
    sizes = [part.sizes for part in each if part.sizes is not None]
    if not sizes:
        return [_centred([np.abs(part) for part in parts]) for parts in series]
    columns = range(sizes[0].shape[1])
    return [_centred([part[:, [column]] for part in sizes]) for column in columns]


def _clipped(parts: list[FloatArray]) -> list[FloatArray]:
    """Clip and centre numbers, (rows, 1) in each stretch: outliers are no evidence."""
    # No square overflows after division by the largest number.
    largest = _largest(parts)
    parts = [part / largest for part in parts]
    whole = np.concatenate(parts)
    some = whole[:: max(1, len(whole) // ENOUGH_ROWS)]
    middle = np.median(some)
    reach = CLIP * (float(np.median(np.abs(some - middle))) or 1.0)
    return _centred([np.clip(part, middle - reach, middle + reach) for part in parts])


def _largest(parts: list[FloatArray]) -> float:
    """Return the largest absolute value, or 1 if all values are 0."""
    return max(float(np.abs(part).max(initial=0.0)) for part in parts) or 1.0


def _centred(parts: list[FloatArray]) -> list[FloatArray]:
    """Subtract the mean and divide by the largest absolute value; constants become 0."""
    whole = np.concatenate(parts)
    varies = whole.std(axis=0) > 1e-10 * np.abs(whole).max(axis=0, initial=0.0)
    mean = whole.mean(axis=0)
    moved = [(part - mean) * varies for part in parts]
    # No square underflows after division by the largest value.
    largest = _largest(moved)
    return [part / largest for part in moved]


class SumCorrelations(NamedTuple):
    """Correlations of sums over m rows with those over the next m rows."""

    m: IntArray  #: (s,)
    rho: FloatArray  #: The correlations, (s,).
    t: FloatArray  #: The same in standard errors for independent rows, (s,).

    def reach(self) -> float:
        """Return the largest reach of an AR(1) process with one of these correlations.

        Each is weighted by how certain it is, from 0 at `UNCERTAIN` to 1 at `CERTAIN`.
        """
        weight = np.clip((self.t - UNCERTAIN) / (CERTAIN - UNCERTAIN), 0.0, 1.0)
        return float(np.max(weight * self.m * _reaches_at_scale(self.rho), initial=0.0))


class Autocorrelation(NamedTuple):
    """Correlations of n numbers, or vectors, with those 1, …, L rows later."""

    n: int
    #: One over the variance of r_k for independent rows: n times the dimension of vectors.
    information: float
    #: The correlations r_k, (L,).
    r: FloatArray
    #: t_k of the module's docstring or √(nd)·r_k, whichever is smaller in size, (L,).
    t: FloatArray

    @classmethod
    def from_parts(cls, parts: list[FloatArray], lags: int = LAGS) -> Autocorrelation:
        """Correlate centred numbers, (rows, v) in each stretch, at lags 1, …, `lags`."""
        n = sum(map(len, parts))
        products = _lagged_products(parts, lags)
        if products[0] == 0:
            return cls(n, float(n), np.zeros(lags), np.zeros(lags))
        squares = _lagged_squares(parts, lags)
        robust = products[1:] / np.sqrt(np.maximum(squares[1:], 1e-12 * squares[0]))
        information = n * _dimension(parts)
        plain = np.sqrt(information) * products[1:] / products[0]
        k = np.arange(1, lags + 1)
        pairs = np.sum([np.maximum(len(part) - k, 0) for part in parts], axis=0)
        r = np.clip(
            products[1:] / products[0] * n / np.maximum(pairs, 1),
            -LARGEST_CORRELATION,
            LARGEST_CORRELATION,
        )
        t = np.where(np.abs(robust) < np.abs(plain), robust, plain)
        return cls(n, information, r, t)

    def reach(self, chance: float, *, by_sums: bool = True) -> float:
        """Return how many rows dependence reaches; 0 where it may be chance.

        The reach is Σ k·r_k / (½ + Σ r_k), which is 2r/(1 − r²) for an AR(1) process of
        correlation r. Four estimates of it are computed, and the largest is returned:

        - 2k·r_k/(1 − r_k²) for each lag k that is significant;
        - k times as much for a season of k rows, from the mean correlation over the
          multiples of k, if this mean is significant;
        - the sum over the first lags, with a taper, if anything is significant;
        - that of sums over 2, 4, 8, … rows (unless `by_sums` is false), which tell what is
          weak and slow.

        `chance` is the probability that anything is significant for independent rows.
        """
        lags = len(self.r)
        k = np.arange(1, lags + 1)
        r = np.abs(self.r)
        noise = self._bartlett_noise()
        # Σ_k 1/(k(k + 1)) < 1 shares `chance` among the lags: a third of it for t, a third
        # for the means over multiples, both of which are two-sided, and a third for sums.
        bound = -ndtri(chance / 6 / (k * (k + 1.0))) * noise

        multiples = np.minimum(lags // k, SEASONS)
        sums = self._sums_over_multiples()
        seasonal = np.abs(sums) / np.sqrt(multiples) > bound
        significant = seasonal | (np.abs(self.t) > bound)
        summed = self.correlations_of_sums()
        is_slow = bool((summed.t > -ndtri(chance / 3 / max(len(summed.m), 1))).any())
        if not (by_sums and is_slow) and not significant.any():
            return 0.0

        single = significant * 2 * k * r / (1 - r**2)
        mean_r = np.minimum(
            np.abs(sums) / (multiples * np.sqrt(self.information)), LARGEST_CORRELATION
        )
        season = seasonal * multiples * k * mean_r / (1 - mean_r**2)
        tapered = self._taper(noise) * self.r
        together = max(k @ tapered, 0.0) / (0.5 + max(tapered.sum(), 0.0))
        slow = summed.reach() if by_sums else 0.0
        return float(max(single.max(), season.max(), together, slow))

    def correlations_of_sums(self) -> SumCorrelations:
        """Return the correlations of neighbouring sums over m = 2, 4, 8, … rows.

        The sums over two neighbouring stretches of m rows have the correlation

            ρ_m = Σ_{|j|<m} (m − |j|) r_{m+j} / Σ_{|j|<m} (m − |j|) r_j,

        whose standard error for independent rows is √(2m/3n), and its bias about
        −(1 + 3ρ)m/n (Kendall, 1954), which is corrected. At least `FEWEST_SUMS` fit into
        the sample.
        """
        longest = min((len(self.r) + 1) // 2, self.n // FEWEST_SUMS)
        count = max(longest, 1).bit_length() - 1
        scales = 2 ** np.arange(1, count + 1)
        rho = np.zeros(count)
        t = np.zeros(count)
        for i, m in enumerate(scales):
            k = np.arange(1, 2 * m)
            weights = 1 - np.abs(k - m) / m
            own = max(1 + 2 * float((1 - k[: m - 1] / m) @ self.r[: m - 1]), 1 / m)
            share = m / self.n  # one over the number of sums
            error = np.sqrt(float(weights @ weights) / self.information)
            by_t = float(weights @ self.t[: 2 * m - 1]) / np.sqrt(self.information) / own
            by_r = float(weights @ self.r[: 2 * m - 1]) / own
            t[i] = (by_t + share) / (1 - 3 * share) / error
            rho[i] = (by_r + share) / (1 - 3 * share)
        return SumCorrelations(scales, rho, t)

    def _sums_over_multiples(self) -> FloatArray:
        """Return Σ_j t_{jk} over the first `SEASONS` multiples of each lag k, (L,)."""
        lags = len(self.t)
        sums = np.zeros(lags)
        for j in range(1, SEASONS + 1):
            sums[: lags // j] += self.t[j - 1 :: j]
        return sums

    def _bartlett_noise(self) -> FloatArray:
        """Return √(1 + 2 Σ_{j<k} r_j²), the standard deviation of t_k by Bartlett, (L,)."""
        excess = np.abs(self.r) ** 2 - 1 / self.information
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


def _scale_table() -> tuple[FloatArray, FloatArray]:
    """Return τ, and ρ of sums over 1 unit of time of a process of correlation e^(−t/τ)."""
    a = np.geomspace(60.0, 1e-3, 400)  # 1/τ
    rho = np.expm1(-a) ** 2 / (2 * (a + np.expm1(-a)))
    return 1 / a, rho


_SCALE_REACHES, _SCALE_CORRELATIONS = _scale_table()


def _reaches_at_scale(rho: FloatArray) -> FloatArray:
    """Return the reach in units of m, from correlations ρ of sums over m rows.

    Of a process with correlation e^(−t/τ), whose reach is τ,
    ρ = (1 − e^(−a))² / (2(a − 1 + e^(−a))) with a = m/τ.
    """
    known = np.clip(rho, 0.0, 1 - 1 / FEWEST_SUMS**2)
    return np.exp(np.interp(known, _SCALE_CORRELATIONS, np.log(_SCALE_REACHES)))


def _dimension(parts: list[FloatArray]) -> float:
    """Return (tr C)² / tr C² for C = Σ_i c_i c_iᵀ: 1 of numbers, at most v of vectors."""
    if parts[0].shape[1] == 1:
        return 1.0
    covariance = np.sum([part.T @ part for part in parts], axis=0)
    return float(np.trace(covariance) ** 2 / np.sum(covariance**2))


def _lagged_products(parts: list[FloatArray], lags: int) -> FloatArray:
    """Return Σ_i c_i·c_{i+k} for k = 0, …, `lags`, (lags + 1,)."""
    total = np.zeros(lags + 1)
    for part in parts:
        for c in part.T:
            total += _lagged(c, lags)
    return total


def _lagged_squares(parts: list[FloatArray], lags: int) -> FloatArray:
    """Return Σ_i (c_i·c_{i+k})² for k = 0, …, `lags`, (lags + 1,).

    It is Σ_ab Σ_i (c_a c_b)_i (c_a c_b)_{i+k}.
    """
    total = np.zeros(lags + 1)
    for part in parts:
        for a in range(part.shape[1]):
            for b in range(a, part.shape[1]):
                times = 1 if a == b else 2
                total += times * _lagged(part[:, a] * part[:, b], lags)
    return total


def _lagged(c: FloatArray, lags: int) -> FloatArray:
    """Return Σ_i c_i c_{i+k} of numbers (rows,) for k = 0, …, `lags`, (lags + 1,)."""
    if lags <= LAGS:
        return np.array([c[k:] @ c[: max(len(c) - k, 0)] for k in range(lags + 1)])
    from scipy.fft import irfft, next_fast_len, rfft

    size = next_fast_len(len(c) + lags, real=True)
    return np.asarray(irfft(np.abs(rfft(c, size)) ** 2, size)[: lags + 1])


# The block length.


def auto_length(stretches: list[Stretch], n: int) -> int:
    """Choose a block length: reach^⅔ · n^⅓, and at most a fifth of the rows.

    It is best for the long-run variance (Patton, Politis and White, 2009), and twice the
    reach or more. The reach is the largest over the series and their sizes: volatility
    leaves no trace in the numbers themselves. Independent rows have blocks of 1 row. A
    misfit along x is no dependence: of both lengths, with and without what columns of x
    predict, the shorter one is taken.

    No length is right for long memory, whose correlations have no finite sum: see
    docs/dev/dependence.md for the level that is reached.

    Parameters
    ----------
    stretches
        Consecutive rows.
    n
        Number of rows of the sample.
    """
    signed = series_of(stretches)
    sizes = sizes_of(stretches, signed)
    length = _length(signed, sizes, n)
    if length == 1 or stretches[0].x is None:
        return length
    x = np.concatenate([np.asarray(part.x) for part in stretches])
    cuts = np.cumsum([len(part.rows.values) for part in stretches])[:-1]
    bins = _bins_of_columns(x)

    def left_of(series: list[list[FloatArray]]) -> list[list[FloatArray]]:
        left = [without_misfit(np.concatenate(parts), bins) for parts in series]
        return [_centred(np.split(values, cuts)) for values in left]

    # Sizes are those of what is left: a misfit of the mean is part of absolute values.
    left = left_of(signed)
    return min(length, _length(left, left_of(sizes_of(stretches, left)), n))


def _length(signed: list[list[FloatArray]], sizes: list[list[FloatArray]], n: int) -> int:
    """Return the block length for series of numbers and for their sizes."""
    longest = max(map(len, signed[0]))
    lags = max(longest // SHARE_OF_LAGS, 1)
    chance = FALSE_DEPENDENCE / (len(signed) + len(sizes))
    plausible = -float(ndtri(NEIGHBOUR_LEVEL / 2 / len(signed)))
    reach = 0.0
    for parts in signed:
        found = Autocorrelation.from_parts(parts, lags)
        neighbours = float(abs(found.r[0]) * (abs(found.t[0]) > plausible))
        reach = max(reach, 2 * neighbours / (1 - neighbours**2), found.reach(chance))
    for parts in sizes:
        found = Autocorrelation.from_parts(parts, lags)
        reach = max(reach, LONGER_FOR_SIZES * found.reach(chance, by_sums=False))
    length = round(float(np.cbrt(reach**2 * n)))
    return max(1, min(length, n // FEWEST_BLOCKS))


# The misfit along x.


def without_misfit(values: FloatArray, bins: list[IntArray]) -> FloatArray:
    """Subtract what single columns of x predict of centred values (n, v) at other times.

    Rows are cut into `CHUNKS` of consecutive rows. The mean of each bin of a column is
    taken over all rows but those of a row's own chunk and of its two neighbours, so that
    rows that are correlated with a row have no part in its prediction: correlation that
    lasts for less than a chunk is left as it is (h-block cross-validation; Burman, Chow and
    Nolan, 1994). Column after column is taken out while it predicts `LEAST_GAIN` of the
    variance.

    Parameters
    ----------
    values : ndarray of shape (n, v)
        Centred.
    bins : list of ndarray of int, shape (n,)
        The bin of each row in each column of x.
    """
    n = len(values)
    if n < FEWEST_ROWS_TO_PREDICT:
        return values
    chunk = np.arange(n) * CHUNKS // n
    left = values
    for _ in range(MOST_STAGES):
        total = float(np.sum(left**2))
        best = None
        for codes in bins:
            means = _means_elsewhere(left, chunk, codes)
            if best is None or means.gain > best.gain:
                best = means
                best_codes = codes
        if best is None or best.gain < LEAST_GAIN * total:
            break
        left = left - best.means[chunk, best_codes]
    return left


class MeansElsewhere(NamedTuple):
    """Means of bins over the rows that are not near a chunk."""

    means: FloatArray  #: For each chunk and bin, (CHUNKS, bins, v).
    gain: float  #: By how much the sum of squares falls if they are subtracted.


def _means_elsewhere(
    values: FloatArray, chunk: IntArray, codes: IntArray
) -> MeansElsewhere:
    """Return the means of bins for each chunk, by rows outside of it and its neighbours."""
    count = int(codes.max()) + 1
    cell = chunk * count + codes
    size = CHUNKS * count
    rows = np.bincount(cell, minlength=size).reshape(CHUNKS, count)
    sums = np.stack(
        [np.bincount(cell, column, size).reshape(CHUNKS, count) for column in values.T],
        axis=-1,
    )
    other_rows = _sums_elsewhere(rows[:, :, None])
    means = _sums_elsewhere(sums) / (other_rows + SHRINKAGE)
    gain = float(np.sum(2 * means * sums - means**2 * rows[:, :, None]))
    return MeansElsewhere(means=means, gain=gain)


def _sums_elsewhere(sums: AnyArray) -> AnyArray:
    """Return sums over all chunks but each one and its neighbours, (CHUNKS, …)."""
    near = sums.copy()
    near[1:] += sums[:-1]
    near[:-1] += sums[1:]
    return np.asarray(sums.sum(axis=0) - near)


def _bins_of_columns(x: FloatArray) -> list[IntArray]:
    """Return the bin of each row in each column of x (n, d) that has more than one."""
    bins = []
    most = max(len(x) // ROWS_PER_BIN, 2)
    for column in x.T[:MOST_COLUMNS]:
        values, codes = np.unique(column, return_inverse=True)
        if len(values) > min(MOST_VALUES, most):
            levels = np.linspace(0, 1, min(BINS, most) + 1)[1:-1]
            codes = np.searchsorted(np.quantile(column, levels), column, side="right")
        if codes.max() > 0:
            bins.append(np.asarray(codes.ravel(), dtype=np.int64))
    return bins
