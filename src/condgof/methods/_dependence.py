"""Rows that are not independent: what a user says of them, and a look at whether they seem to be.

The look is at the scores s_i in the order of the rows. Where the model is right and rows are
independent they are independent with mean zero, whatever x is and in whatever order. For each lag k,

    t_k = Σ_i c_i c_{i+k} / √(Σ_i c_i² c_{i+k}²),    c = s − mean(s),

is then nearly standard normal, also when the spread of the scores changes with x. Being centred, rows
in random order do not show in it either, however wrong the model. Where scores have few values, or a
long tail on one side, it leans on large numbers too soon; √n·r_k, with the correlation r_k, then errs on
other samples, and the smaller of the two is taken.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray, IntArray
from condgof.engine import Engine
from condgof.errors import DependenceWarning, InputError, warn
from condgof.methods._prepare import Scored, split, train_size
from condgof.methods._stream import Stream
from condgof.null import Dependence
from condgof.sample import read_groups

#: Lags that are looked at, and how unlikely their correlations must be to be spoken of.
LAGS, UNLIKELY = 5, 1e-5
#: Fewer rows tell nothing.
FEW_ROWS = 60
#: Of a source, so many stretches of so many rows are looked at.
STRETCHES, STRETCH = 4, 1024
#: Of residuals of many classes, so many columns.
COLUMNS = 16
#: Scores beyond this many median absolute deviations count as so many.
CLIP = 6.0
#: With fewer groups, or blocks, the level is approximate.
FEW = 10


#: Nothing was said.
INDEPENDENT = Dependence()


@dataclass(frozen=True, eq=False)
class Asked:
    """What a user said of how rows depend on each other, checked.

    Parameters
    ----------
    dependence : int, "auto" or None
        Block length.
    groups : array_like, str or None
        Group of each row.
    """

    dependence: int | str | None = None
    groups: Any = None

    @classmethod
    def of(cls, dependence: Any, groups: Any, null: str) -> Asked:
        """Check what can be checked before the sample is read."""
        if dependence is None and groups is None:
            return cls()
        if dependence is not None and groups is not None:
            raise InputError(
                "dependence= and groups= were both given. Rows are ordered in time, or they come in "
                "groups that are independent of each other: pass one of the two. For time series of "
                "several subjects, pass the subjects as groups=."
            )
        if null != "wild":
            raise InputError(
                f"dependence= and groups= need null='wild', got {null!r}: the other nulls take rows "
                "as independent."
            )
        if dependence is None:
            return cls(None, groups)
        if isinstance(dependence, str) and dependence == "auto":
            return cls("auto", None)
        return cls(_length(dependence), None)


def _length(dependence: Any) -> int:
    try:
        length = operator.index(dependence)
    except TypeError:
        length = -1
    if length < 1 or isinstance(dependence, bool):
        raise InputError(
            f"dependence must be a block length (an integer of at least 1) or 'auto', got "
            f"{dependence!r}. Choose some multiple of the time over which errors are correlated."
        )
    return length


def dependence_of(
    asked: Asked, scored: Scored | Stream, data: Any, engine: Engine, n_boot: int
) -> Dependence:
    """Find how rows depend on each other; warn where they seem to, and nothing was said.

    Parameters
    ----------
    asked : Asked
        What the user said.
    scored : Scored or Stream
        The sample.
    data : array, frame or Source
        What the user passed as x, in which a column may name the groups.
    engine : Engine
        Where the work runs.
    n_boot : int
        Number of draws.
    """
    n = scored.n if isinstance(scored, Scored) else scored.source.n
    if asked.dependence == "auto":
        length = auto_length(_stretches(scored, engine), n)
        return Dependence(length, notes=(f"block length {length} chosen by dependence='auto'",))
    if asked.dependence is None and asked.groups is None:
        return Dependence(notes=look(_stretches(scored, engine)))
    return given_dependence(asked, n, data, n_boot)


def given_dependence(asked: Asked, n: int, data: Any, n_boot: int) -> Dependence:
    """Return what the user said of n rows, where no scores are needed to know it."""
    if asked.groups is not None:
        codes = read_groups(asked.groups, data, n)
        return Dependence(codes=codes, notes=_group_notes(int(codes.max()) + 1, n_boot))
    if asked.dependence is None:
        return Dependence()
    if isinstance(asked.dependence, str):
        raise InputError("dependence='auto' is for tests that use scores. Pass a block length.")
    length = asked.dependence
    if length >= n:
        raise InputError(
            f"dependence = {length} is a block length of the whole sample (n = {n}). Pass a shorter one."
        )
    if n < FEW * length:
        few = f"n = {n:,} rows are fewer than {FEW} blocks of {length}: the level is approximate"
        return Dependence(length, notes=(few,))
    return Dependence(length)


def _group_notes(count: int, n_boot: int) -> tuple[str, ...]:
    if count == 1:
        raise InputError(
            "groups has one group only, and rows of a group may depend on each other. At least two "
            "groups are needed, and 20 or more for a test worth having."
        )
    notes = []
    if count < FEW:
        notes.append(f"there are {count} groups only: the level is approximate, and power is low")
    if 2 ** (count - 1) < n_boot + 1:
        notes.append(
            f"{count} groups have {2 ** (count - 1)} patterns of signs: no p-value can be much below "
            f"{2.0 ** (1 - count):.3g}"
        )
    return tuple(notes)


def _stretches(scored: Scored | Stream, engine: Engine) -> list[FloatArray]:
    """Return scores of rows that follow each other: all of them, or some stretches of a source."""
    if isinstance(scored, Scored) and isinstance(scored.scores, np.ndarray):
        return [scored.scores]
    if isinstance(scored, Scored):  # residuals of many classes, which are made when they are asked for
        starts = np.unique(np.linspace(0, max(scored.n - STRETCH, 0), STRETCHES).astype(np.int64))
        ends = np.append(starts[1:], scored.n)  # so that stretches do not overlap
        cuts = [slice(a, min(a + STRETCH, b)) for a, b in zip(starts, ends, strict=True)]
        return [np.asarray(scored.scores[cut])[:, :COLUMNS] for cut in cuts]
    n = scored.source.n
    if n <= STRETCHES * STRETCH:
        return [scored.at(np.arange(n), engine).scores]
    starts = np.linspace(0, n - STRETCH, STRETCHES).astype(np.int64)
    rows = np.concatenate([np.arange(start, start + STRETCH) for start in starts])
    return list(np.split(scored.at(np.unique(rows), engine).scores, STRETCHES))


@dataclass(frozen=True)
class Autocorrelation:
    """Correlations r_k of one column of scores with those k rows later, and t_k (or √n·r_k)."""

    r: FloatArray
    t: FloatArray


def autocorrelations(stretches: list[FloatArray]) -> list[Autocorrelation]:
    """Correlate the scores of rows 1 to `LAGS` apart, column by column.

    Scores far out are pulled in (to 6 median absolute deviations), so that a few outliers that happen to
    stand side by side are no evidence.

    Examples
    --------
    >>> waves = np.sin(np.arange(200) / 3)[:, None]
    >>> found = autocorrelations([waves])[0]
    >>> bool(found.r[0] > 0.9), bool(found.t[0] > 8)
    (True, True)
    """
    found = []
    for column in range(stretches[0].shape[1]):
        largest = max(float(np.abs(part[:, column]).max(initial=0.0)) for part in stretches) or 1.0
        parts = [part[:, column] / largest for part in stretches]  # so that no square overflows
        whole = np.concatenate(parts)
        middle = np.median(whole)
        reach = CLIP * (float(np.median(np.abs(whole - middle))) or 1.0)
        mean = np.clip(whole, middle - reach, middle + reach).mean()
        centred = [np.clip(part, middle - reach, middle + reach) - mean for part in parts]
        variance = sum(float(c @ c) for c in centred)
        r, t = np.zeros(LAGS), np.zeros(LAGS)
        if variance <= 1e-20 * float(whole @ whole):  # constant up to rounding
            found.append(Autocorrelation(r, t))
            continue
        for k in range(1, LAGS + 1):
            products = np.concatenate([c[k:] * c[:-k] for c in centred])
            size = float(np.sqrt(products @ products))
            r[k - 1] = products.sum() / variance
            own = products.sum() / size if size else 0.0
            plain = np.sqrt(len(whole)) * r[k - 1]
            t[k - 1] = own if abs(own) < abs(plain) else plain
        found.append(Autocorrelation(r, t))
    return found


def look(stretches: list[FloatArray]) -> tuple[str, ...]:
    """Warn where scores are correlated with those of the rows before them, and return it as a note."""
    from scipy.special import gammaincc

    if sum(map(len, stretches)) < FEW_ROWS:
        return ()
    found = autocorrelations(stretches)
    # Σ t_k² is nearly χ² with as many degrees of freedom as lags.
    tails = [float(gammaincc(LAGS / 2, float(one.t @ one.t) / 2)) * len(found) for one in found]
    worst = int(np.argmin(tails))
    if tails[worst] >= UNLIKELY:
        return ()
    lag = int(np.argmax(np.abs(found[worst].t)))
    warn(
        f"The scores of rows {lag + 1} apart are correlated ({found[worst].r[lag]:.2f}; chance alone "
        f"gives the like with probability {max(tails[worst], 1e-99):.1g}). If rows are ordered in time, "
        "or come in groups, they depend on each other and the p-value is too small: pass dependence=, a "
        "block length, or groups=. If they are independent but sorted, by y or by a column in which the "
        "model is wrong, the p-value is right, and rows in random order do not give this warning.",
        DependenceWarning,
    )
    return (
        "scores of neighbouring rows are correlated: if rows are ordered in time or come in groups, the "
        "p-value is too small unless the test is told so (dependence, groups)",
    )


def auto_length(stretches: list[FloatArray], n: int) -> int:
    """Choose a block length: (2r/(1 − r²))^⅔ · n^⅓, as if scores were an AR(1) process.

    It is the length at which the long-run variance of such a process is estimated best (Patton, Politis
    and White, 2009). r is the largest |r_k|^(1/k) over columns and lags, of the lags above the first
    only where it cannot be chance.

    Examples
    --------
    >>> noise = np.random.default_rng(0).standard_normal((500, 1))
    >>> auto_length([noise], 500) <= 3, auto_length([np.cumsum(noise, axis=0)], 500)
    (True, 50)
    """
    largest = 0.0
    for one in autocorrelations(stretches):
        sure = np.abs(one.t) > 3.0
        sure[0] = True
        roots = np.abs(one.r) ** (1.0 / np.arange(1, LAGS + 1))
        largest = max(largest, float(roots[sure].max()))
    r = min(largest, 0.99)
    length = float((2 * r / (1 - r**2)) ** (2 / 3) * n ** (1 / 3))
    return max(1, min(round(length), n // FEW))


def split_rows(
    rows: Dependence, n: int, train_fraction: float, most: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Split n rows into a training part and a test part: at random, or as dependent rows allow."""
    if rows.independent:
        return split(n, train_fraction, most, rng)
    train, left_out = split_dependent(rows, n, train_fraction, most, rng)
    return train, np.setdiff1d(np.arange(n), left_out)


def split_dependent(
    rows: Dependence, n: int, train_fraction: float, most: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Split off rows to train on, so that they hardly depend on the others.

    Of a time series these are the first, and a block after them is not used at all; of groups, whole
    ones at random, as many as fit.

    Returns
    -------
    train : ndarray of int
        Rows to train on, sorted.
    left_out : ndarray of int
        Those that are not tested: with the rows between, where there are such.
    """
    size = train_size(n, train_fraction, most)
    if rows.codes is None:
        between = min(rows.length or 1, (n - size) // 2)
        return np.arange(size), np.arange(size + between)
    sizes = np.bincount(rows.codes)
    chosen = _fitting(sizes, size, rng)
    if rows.count - len(chosen) < 2:
        raise InputError(
            f"locations='optimize' trains on whole groups, and of {rows.count} groups fewer than 2 are "
            "left to test on. Pass locations='random', or smaller groups."
        )
    left_out = np.flatnonzero(np.isin(rows.codes, chosen))
    if len(left_out) <= most:
        return left_out, left_out
    return np.sort(rng.choice(left_out, most, replace=False)), left_out


def _fitting(sizes: IntArray, room: int, rng: np.random.Generator) -> list[int]:
    """Choose groups at random, as many as there is room for; at least the smallest one."""
    chosen: list[int] = []
    for group in rng.permutation(len(sizes)):
        if sizes[group] <= room:
            chosen.append(int(group))
            room -= int(sizes[group])
    return chosen or [int(np.argmin(sizes))]
