"""A look at whether rows depend on each other, from their scores s_i in the order of the rows.

Where the model is right and rows are independent, scores are independent with mean zero, whatever x is
and in whatever order. For each lag k,

    t_k = Σ_i c_i c_{i+k} / √(Σ_i c_i² c_{i+k}²),    c = s − mean(s),

is then nearly standard normal, also when the spread of the scores changes with x. Being centred, rows
in random order do not show in it either, however wrong the model. Where scores have few values, or a
long tail on one side, it leans on large numbers too soon; √n·r_k, with the correlation r_k, then errs on
other samples, and the smaller of the two is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine
from condgof.errors import DependenceWarning, warn
from condgof.methods._prepare import Scored
from condgof.methods._stream import Stream

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


def stretches_of(scored: Scored | Stream, engine: Engine) -> list[FloatArray]:
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
