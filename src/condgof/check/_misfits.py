"""Misfits of a discrete y that are the same at every x: the yardsticks of size and power alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condgof._typing import FloatArray
from condgof.laws import CellsOfY, Outcomes

#: Halvings in the search for the tilt of a law of counts, and the largest; points of the law of moves.
HALVINGS, STEEPEST, POINTS = 14, 8.0, 6


def first_to_next(p: FloatArray) -> FloatArray:
    """Return what takes probability from the most probable class and gives it to the next, (n, K).

    Examples
    --------
    >>> first_to_next(np.array([[0.5, 0.2, 0.3]]))
    array([[-1.,  0.,  1.]])
    """
    order, rows = np.argsort(-p, axis=1, kind="stable"), np.arange(len(p))
    direction = np.zeros(p.shape)
    direction[rows, order[:, 0]], direction[rows, order[:, 1]] = -1.0, 1.0
    return direction


@dataclass(frozen=True, eq=False)
class Side:
    """The middle one of quantiles, or the widest interval, of which probability is on the wrong side."""

    #: What a probability of 1 that goes to the less likely side adds to each cell, (K,); on either side
    #: cells keep their proportions. How much there is to move.
    move: FloatArray
    room: float
    #: The unit of a size; what a size is like, and what would have been found, with {} in its place.
    unit: str
    like: str
    found: str

    @classmethod
    def of(cls, law: CellsOfY) -> Side:
        """Read what the law says."""
        event, shares = law.events[-1], law.shares
        if event.kind == "quantile":
            event = min(law.events, key=lambda one: abs(one.level - 0.5))
        inside = event.happened(np.arange(len(shares)))
        rare = bool(shares[inside].sum() < 0.5)
        gains = inside if rare else ~inside
        room = float(shares[~gains].sum())
        move = np.where(gains, shares / (1.0 - room), -shares / room)
        if event.kind == "quantile":
            name, often = f"{event.level:g} quantile", "more" if rare else "fewer"
            unit = f"probability on the wrong side of the {name}"
            like = f"a probability of {{}} on the wrong side of the {name} at every x"
            found = f"a {name} that is exceeded by {{}} {often} of the rows than it says at every x"
        else:
            name, often = f"{100 * event.level:g}% interval", "more" if rare else "less"
            unit = f"in the coverage of the {name}"
            like = f"a coverage of the {name} that is off by {{}} at every x"
            found = f"a {name} that covers {{}} {often} than it says at every x"
        return cls(move, room, unit, like, found)


def shifted_law(p: FloatArray, at: FloatArray, size: FloatArray | float) -> FloatArray:
    """Tilt probabilities p (n, K) of counts at (K,) until the mean has moved by so many of their sds.

    q ∝ p·exp(θz) with z in standard deviations: of a Poisson law, another Poisson law. Where no law on
    these cells has such a mean (the counts end), it is as near as can be.
    """
    with np.errstate(divide="ignore"):
        z, logs = _standardised(p, at), np.log(p)
    theta, step = np.zeros(len(p)), STEEPEST / 2.0
    for _ in range(HALVINGS):
        q = logs + theta[:, None] * z
        q -= q.max(axis=1, keepdims=True)
        np.exp(q, out=q)
        q /= q.sum(axis=1, keepdims=True)
        theta += np.where((q * z).sum(axis=1) < size, step, -step)
        step *= 0.5
    return np.asarray(q)


def wider_law(p: FloatArray, at: FloatArray, grown: float) -> FloatArray:
    """Mix laws that are moved up and down, until the variance is larger by this share of its own.

    How far they are moved has a Gamma law, at some points of it, so that a Poisson law becomes about a
    negative binomial one: with z₀ standard deviations from the mean down to where counts begin, its
    shape is z₀²/grown.
    """
    from scipy.special import gammaincinv

    if not grown:
        return p
    down = np.maximum(-np.where(p > 1e-12, _standardised(p, at), np.inf).min(axis=1), 0.1)
    moves = gammaincinv((down**2 / grown)[:, None], (np.arange(POINTS) + 0.5) / POINTS)
    moves -= moves.mean(axis=1, keepdims=True)
    moves *= np.sqrt(grown) / np.maximum(moves.std(axis=1, keepdims=True), 1e-300)
    return np.asarray(sum(shifted_law(p, at, move) for move in moves.T) / POINTS)


def _standardised(p: FloatArray, at: FloatArray) -> FloatArray:
    mean = p @ at
    spread = np.sqrt(np.maximum((p * np.square(at - mean[:, None])).sum(axis=1), 1e-300))
    return np.asarray((at - mean[:, None]) / spread[:, None])


def mean_residuals(outcomes: Outcomes, moved: FloatArray) -> FloatArray:
    """Return Σ_c moved_c·r(c), what the mean of residuals moves by, (n, width)."""
    if outcomes.linear:
        return moved
    if (np.count_nonzero(np.abs(moved) > 1e-12, axis=1) <= 2).all():  # from one cell to another
        ends = [np.argmax(part, axis=1) for part in (moved, -moved)]
    else:
        ends = [np.full(len(moved), k) for k in range(moved.shape[1])]
    rows = np.arange(len(moved))
    return np.asarray(sum(moved[rows, end][:, None] * np.asarray(outcomes.of(end)) for end in ends))
