"""Drawing times anew where some are censored: the times at which rows would have been censored.

Of a row whose event came at T, the time C of censoring is known only to be later. Drawn from its law
given that and x, it has with T the joint law that C has: they are independent given x. So T drawn anew
from the model, and seen as far as C allows, is a draw of the data under the model. The law of C given x
is estimated by Kaplan and Meier's product with weights for rows that are near in x (Beran's estimate).
"""

from __future__ import annotations

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.kernels import CovariateKernel
from condgof.laws._censored import hazard
from condgof.null._draws import Redraw
from condgof.stein import CensoredEvidence

#: Numbers of a matrix of weights that are held at a time.
HELD = 2**22


def censoring_times(
    watched: FloatArray, x: FloatArray, near: CovariateKernel, rng: np.random.Generator
) -> FloatArray:
    """Return when rows are censored, (n,): as they were, or drawn after the event where that came.

    Times are Λ(y) − Λ(entry), the number of events that a row expected while it was watched. `watched`
    (n, 3) has the residuals, the events and the entries of rows, and `near` says how much rows of x
    count for each other. Infinite where nothing says that a row would have been censored.
    """
    event, times = watched[:, 1] > 0, watched[:, 1] - watched[:, 0]
    if event.all():
        return np.full(len(times), np.inf)
    found, drawn = times.copy(), rng.random(len(times))
    order, rows = np.argsort(times, kind="stable"), np.flatnonzero(event)
    for some in np.array_split(rows, -(-len(rows) * len(times) // HELD)):
        found[some] = _later(
            times[order], event[order], near(x[some], x)[:, order], times[some], drawn[some]
        )
    return found


def _later(
    times: FloatArray, event: AnyArray, weight: FloatArray, after: FloatArray, drawn: FloatArray
) -> FloatArray:
    """Draw times of censoring after those of m rows, which weigh rows in order by `weight` (m, n)."""
    weight = np.maximum(weight, 1e-12)  # a row far from all others takes them as they come
    at_risk = np.cumsum(weight[:, ::-1], axis=1)[:, ::-1]
    share = np.clip(np.where(event, 0.0, weight) / at_risk, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log1p(-share)
        first = np.searchsorted(times, after, side="right")
        log[np.arange(len(times)) < first[:, None]] = 0.0
        passed = (np.cumsum(log, axis=1) > np.log(drawn)[:, None]).sum(axis=1)
    return np.asarray(np.append(times, np.inf)[passed])


def redraw_censored(evidence: CensoredEvidence, watched: FloatArray, until: FloatArray) -> Redraw:
    """Return what draws times of n rows anew, of which those after `until` (n,) are censored."""
    from scipy.special import ndtri

    n, start = len(until), hazard(watched[:, 2])[:, None]

    def draw(rng: np.random.Generator, m: int) -> tuple[AnyArray, FloatArray]:
        times = rng.standard_exponential((n, m))
        event = times <= until[:, None]
        seen = start + np.minimum(times, until[:, None])
        z = np.where(seen < 0.5, ndtri(-np.expm1(-seen)), -ndtri(np.exp(-seen)))
        beside = np.stack([event, event, np.broadcast_to(watched[:, 2:], (n, m))], axis=2)
        xi = evidence.of(z.reshape(-1, 1), beside.reshape(n * m, 3))
        return xi.reshape(n, m, -1), np.zeros(m)

    return draw
