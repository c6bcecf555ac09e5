"""When a cell has seen enough samples: a confidence sequence of a rate, and its verdict.

Let X₁, X₂, … be independent, 1 with probability p and else 0, and k the number of ones
among the first m. For any p₀ and any prior on rates, here Beta(a, b), the ratio

    M_m(p₀) = ∫ p^k (1 − p)^(m−k) dBeta(p) / (p₀^k (1 − p₀)^(m−k))
            = B(a + k, b + m − k) / (B(a, b) p₀^k (1 − p₀)^(m−k))

is a nonnegative martingale with mean 1 if p = p₀: each factor p^x (1 − p)^(1−x) over
p₀^x (1 − p₀)^(1−x) has expectation 1 for every p of the prior. By Ville's inequality the
chance that M_m(p₀) ever reaches 1/ε is at most ε. So the rates with M_m(p₀) < 1/ε hold the
true one for all m at once with probability at least 1 − ε, and one may look after every
sample and stop whenever one likes. As p₀ moves away from k/m to either side M grows, so
that these rates are an interval. A rate p₀ and all above it are excluded if M_m(p₀) ≥ 1/ε
and k/m < p₀.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from scipy.optimize import brentq
from scipy.special import betaln

PRIOR_SAMPLES = 100.0  # a + b for verdicts; a/(a + b) is the allowed rate
HOLDS_ERROR = 0.05  # largest chance that a rate beyond the tolerance is said to hold
# Largest chance that a cell is said to fail whose rate is as allowed. There are hundreds of
# cells: with 0.05 a whole run would report a dozen failures that are none.
FAILS_ERROR = 0.001
INTERVAL_ERROR = 0.05  # of intervals that are shown, both sides together

HOLDS = "holds"
CONSERVATIVE = "conservative"
FAILS = "fails"
OPEN = "open"


class Prior(NamedTuple):
    """A Beta(a, b) distribution of rates.

    Any prior gives exact bounds. One that lies near the true rate gives narrow ones soon.
    """

    a: float
    b: float

    @classmethod
    def around(cls, rate: float) -> Prior:
        """Return the prior for verdicts: most cells lie near the allowed rate."""
        return cls(PRIOR_SAMPLES * rate, PRIOR_SAMPLES * (1.0 - rate))


UNIFORM = Prior(1.0, 1.0)


def log_evidence(count: int, samples: int, rate: float, prior: Prior) -> float:
    """Return log M of the module's docstring: evidence that a rate is not the true one."""
    others = samples - count
    mixture = betaln(prior.a + count, prior.b + others) - betaln(prior.a, prior.b)
    return float(mixture - count * math.log(rate) - others * math.log1p(-rate))


class Bounds(NamedTuple):
    """Ends of an interval of rates."""

    low: float
    high: float


def confidence_interval(count: int, samples: int, error: float = INTERVAL_ERROR) -> Bounds:
    """Return the rates that are not excluded; they hold the true one at all times."""
    least = 1e-9
    limit = math.log(1.0 / error)
    peak = min(max(count / max(samples, 1), least), 1.0 - least)

    def excess(rate: float) -> float:
        return log_evidence(count, samples, rate, UNIFORM) - limit

    low = 0.0
    high = 1.0
    if excess(least) > 0.0 > excess(peak):
        low = brentq(excess, least, peak)
    if excess(1.0 - least) > 0.0 > excess(peak):
        high = brentq(excess, peak, 1.0 - least)
    return Bounds(low, high)


@dataclass(frozen=True)
class Limit:
    """What is asked of the rate of rejections at α.

    A level is at most `allowed`; a power, whose tolerance is below it, at least.
    """

    alpha: float  # a p-value of at most alpha is a rejection
    allowed: float  # a cell fails if its rate is shown to be worse than this
    tolerance: float  # a cell holds if its rate is shown to be better than this
    floor: float | None = None  # a rate below it is conservative; None: no matter

    def verdict(self, count: int, samples: int) -> str:
        """Return what is clear after some samples, of which `count` were rejected."""
        if samples == 0:
            return OPEN
        if self._is_worse(count, samples, self.allowed, FAILS_ERROR):
            return FAILS
        if not self._is_better(count, samples, self.tolerance, HOLDS_ERROR):
            return OPEN
        if self.floor is None or self._is_worse(count, samples, self.floor, HOLDS_ERROR):
            return HOLDS
        if self._is_better(count, samples, self.allowed, HOLDS_ERROR):
            return CONSERVATIVE
        return OPEN

    def _is_worse(self, count: int, samples: int, rate: float, error: float) -> bool:
        return self._excludes(count, samples, rate, error, above=self._higher_is_worse)

    def _is_better(self, count: int, samples: int, rate: float, error: float) -> bool:
        return self._excludes(count, samples, rate, error, above=not self._higher_is_worse)

    @property
    def _higher_is_worse(self) -> bool:
        return self.tolerance > self.allowed

    def _excludes(
        self, count: int, samples: int, rate: float, error: float, *, above: bool
    ) -> bool:
        """Whether `rate` is excluded, and the observed rate is above (or below) it."""
        on_that_side = count > rate * samples if above else count < rate * samples
        if not on_that_side:
            return False
        evidence = log_evidence(count, samples, rate, Prior.around(self.allowed))
        return evidence >= math.log(1.0 / error)


# Levels. About 450 samples of a right cell decide at 0.05, about as many at 0.01.
LEVEL_05 = Limit(alpha=0.05, allowed=0.05, tolerance=0.08, floor=0.02)
LEVEL_01 = Limit(alpha=0.01, allowed=0.01, tolerance=0.03)
# The same where a docstring says that a test is conservative, and why.
AT_MOST_05 = Limit(alpha=0.05, allowed=0.05, tolerance=0.08)

POWER_TOLERANCE = 0.1  # how far below the asked power a cell may be


def at_least(power: float) -> Limit:
    """Return the limit of a power at α = 0.05."""
    return Limit(alpha=0.05, allowed=power, tolerance=power - POWER_TOLERANCE)
