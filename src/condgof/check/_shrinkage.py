"""Fits that shrink: samples for `composite` that refits agree with.

A parametric bootstrap draws y* from the fitted mean m and fits again. A linear fit m = S·y
that shrinks (ridge, smoothing, boosting) leaves the residual mean (I − S)·f of the true
mean f in the data, and only (I − S)·S·f in the replicates, since m is shrunk already and is
shrunk again: data look worse than replicates, and a true family is rejected.

So y* is drawn around another mean g, such that refits reproduce the fit: E[fit(g + e)] = m,
with noise e of the fitted model (indirect inference; bias correction of the estimate). It
is found by

    g ← g + (m − E[fit(g + e)]),   g = m at first,

which is g = (I − (I − S)^k)·y for a linear fit after k steps: it tends to the projection of
y on the range of S, and (I − S)·g to (I − S)·f and noise that the fit can follow. The
residuals of a fit that shrinks hold its bias beside the noise, so that e is c times the
noise of the fitted model, with c such that refits reproduce its standard deviations, too.
The mean over e is taken over pairs ±e, exactly the mean for a linear fit. If m itself is
reproduced (least squares, maximum likelihood of a mean), nothing is changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from condgof._typing import FloatArray
from condgof.laws import Law, Moments, is_circular, moments_of

#: Pairs ±e of noise that a mean over refits is of.
PAIRS = 4
#: Most steps towards the mean that refits reproduce.
MOST_STEPS = 12
#: Refits may miss the fit by this Σ (m − E m*)²/v over all rows: a misfit as small changes
#: the level of a test of 0.05 by less than 0.01.
NEGLIGIBLE = 0.1
#: A miss is no chance if it is this many times what the refits vary by.
CERTAIN = 3.0

#: Standard deviations of refits agree with those of the fit within this share.
SAME_SCALE = 0.01
#: The least that the noise of the fitted model is multiplied by.
LEAST_FACTOR = 0.05

#: (y of all rows (n, d_y), number of the refit) → mean and standard deviation of y at all
#: rows by the refitted model.
MomentsOfRefit = Callable[[FloatArray, int], Moments]


class Moved(NamedTuple):
    """How samples that are drawn from the fit are moved: m + offset + factor·(y* − m)."""

    mean: FloatArray  #: m, (n, d_y).
    offset: FloatArray  #: g − m, (n, d_y).
    factor: float  #: c.

    def apply(self, response: FloatArray) -> FloatArray:
        """Move responses (n, d_y) that were drawn from the fit."""
        return self.mean + self.offset + self.factor * (response - self.mean)


class Shrinkage(NamedTuple):
    """How far refits miss the fit that their samples were drawn from."""

    #: Σ (m − E m*)²/v over all rows, of samples drawn from the fit as it is,
    before: float
    #: and of those that replicates are drawn from.
    after: float
    #: Slope of m − E m* on m − mean(m): the share by which predictions are shrunk.
    share: float
    moved: Moved | None  #: None where samples are drawn from the fit as it is.

    @property
    def is_undone(self) -> bool:
        return self.after <= NEGLIGIBLE

    def notes(self) -> tuple[str, ...]:
        """Say that the fit shrinks, and what was done about it."""
        if self.before <= NEGLIGIBLE:
            return ()
        shrinks = (
            "the fit does not reproduce itself: refits of samples drawn from it have"
            f" predictions that vary {abs(self.share):.0%}"
            f" {'less' if self.share > 0 else 'more'}, as those of a penalised fit do"
        )
        if self.moved is None:
            return (f"{shrinks}. A true family may be rejected too often",)
        done = (
            f"{shrinks}. Samples were drawn from the fit with this undone, so that refits"
            " agree with it"
        )
        if self.is_undone:
            return (done,)
        return (f"{done} better, not quite: p-values may be too small",)


class Gap(NamedTuple):
    """What refits miss of the fit, on average."""

    values: FloatArray  #: m − E m*, (n, d_y).
    size: float  #: Σ (m − E m*)²/v.
    noise: float  #: What its size is by chance, as pairs of refits vary.
    log_scale: float  #: Mean of log s − log s*, of standard deviations.

    @property
    def certain(self) -> float:
        """The size less what it is by chance."""
        return max(0.0, self.size - self.noise)

    @property
    def is_closed(self) -> bool:
        return self.certain <= NEGLIGIBLE and abs(self.log_scale) <= SAME_SCALE


def shrinkage_of(
    law: Law, draws: Sequence[FloatArray], refit: MomentsOfRefit
) -> Shrinkage | None:
    """Find the samples that refits agree with.

    None where y is no number on the whole line, so that it cannot be moved.

    Parameters
    ----------
    law : Law
        The fit, at all n rows.
    draws : sequence of ndarray of shape (n, d_y)
        Responses drawn from the law.
    refit : callable
        Fits again on responses (n, d_y), and returns the moments of y at all rows.
    """
    moments = movable_moments(law)
    if moments is None:
        return None
    noise = [_standardised_noise(one, moments) for one in draws]
    moved = Moved(moments.location, np.zeros_like(moments.location), factor=1.0)
    first = _gap_at(moved, moments, noise, refit, step=0)
    share = shrunk_share(first.values, moments)
    if first.size <= NEGLIGIBLE + CERTAIN * first.noise:
        return Shrinkage(before=0.0, after=0.0, share=share, moved=None)
    best = gap = first
    best_moved = moved
    for step in range(1, MOST_STEPS + 1):
        factor = max(LEAST_FACTOR, moved.factor * math.exp(gap.log_scale))
        moved = moved._replace(offset=moved.offset + gap.values, factor=factor)
        gap = _gap_at(moved, moments, noise, refit, step=step)
        if gap.certain < best.certain or gap.is_closed:
            best = gap
            best_moved = moved
        if gap.is_closed or gap.certain > first.certain:
            break
    return Shrinkage(
        before=first.certain, after=best.certain, share=share, moved=best_moved
    )


def _standardised_noise(response: FloatArray, moments: Moments) -> FloatArray:
    """Return a response less its mean, with the mean square that the law predicts."""
    noise = response - moments.location
    size = float(np.square(noise / moments.scale).mean())
    return noise / math.sqrt(size) if size > 0.0 else noise


def _gap_at(
    moved: Moved,
    moments: Moments,
    noise: Sequence[FloatArray],
    refit: MomentsOfRefit,
    step: int,
) -> Gap:
    """Refit samples of moved means and noise of both signs, and compare with the fit."""
    gaps = []
    log_scales = []
    for number, one in enumerate(noise):
        first_number = 2 * (step * len(noise) + number)
        above = refit(moved.apply(moments.location + one), first_number)
        below = refit(moved.apply(moments.location - one), first_number + 1)
        gaps.append(moments.location - 0.5 * (above.location + below.location))
        both = 0.5 * (np.log(above.scale) + np.log(below.scale))
        log_scales.append(float((np.log(moments.scale) - both).mean()))
    each = np.stack(gaps)
    variance = np.square(moments.scale)
    mean = each.mean(axis=0)
    spread = each.var(axis=0, ddof=1) / len(noise)
    return Gap(
        values=mean,
        size=float((np.square(mean) / variance).sum()),
        noise=float((spread / variance).sum()),
        log_scale=float(np.mean(log_scales)),
    )


def movable_moments(law: Law) -> Moments | None:
    """Return the moments of a continuous y on the whole line; None for any other."""
    if law.discrete or is_circular(law):
        return None
    low, high = law.support
    if np.isfinite(low).any() or np.isfinite(high).any():
        return None
    moments = moments_of(law, "mean_std")
    return moments if moments is not None and (moments.scale > 0).all() else None


def shrunk_share(gap: FloatArray, moments: Moments) -> float:
    """Return the slope of m − E m* (n, d_y) on m less its mean."""
    centred = moments.location - moments.location.mean(axis=0)
    total = float((np.square(centred) / np.square(moments.scale)).sum())
    if total <= 0.0:
        return 0.0
    return float((gap * centred / np.square(moments.scale)).sum()) / total
