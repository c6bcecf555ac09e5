"""Pairs of models of a discrete y for `compare`: equally wrong by symmetry, the same, or one true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import condgof as cg


def bent(n, rng):
    """x, labels that do not depend on it, and their logits too high on the right and too low.

    Both models turn into each other when x is mirrored, and when the two classes change places.
    """
    x = rng.standard_normal((n, 1))
    logits = np.array([0.0, 1.0, 0.0])
    y = np.searchsorted(np.cumsum(softmax(logits)), rng.random(n)).clip(0, 2)
    return x, y, softmax(logits + np.outer(0.4 * x[:, 0], [1.0, 0.0, -1.0]))


def softmax(logits: np.ndarray) -> np.ndarray:
    p = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def classes(n, rng):
    """Three classes, the first too probable on the right, and the last."""
    x, y, p = bent(n, rng)
    return cg.probabilities(p), cg.probabilities(p[:, ::-1]), x, y


def ordered_classes(n, rng):
    """The same, ordered."""
    x, y, p = bent(n, rng)
    return cg.probabilities(p, ordered=True), cg.probabilities(p[:, ::-1], ordered=True), x, y


def counts(n, rng):
    """Successes of ten trials, where half succeed: too many on the right, and too many on the left."""
    x = rng.standard_normal((n, 1))
    p, q = (
        cg.models.Binomial(trials=10, p=lambda x, s=s: 1 / (1 + np.exp(-s * x[:, 0])))
        for s in (0.25, -0.25)
    )
    return p, q, x, rng.binomial(10, 0.5, n)


def many_counts(n, rng):
    """Poisson counts of a wide range, means too large for one sign of x, or for the other."""
    x = rng.standard_normal((n, 1))
    p, q = (cg.models.Poisson(lambda x, s=s: 300 * np.exp(s * 0.03 * np.sign(x[:, 0]))) for s in (1, -1))
    return p, q, x, rng.poisson(300, n)


def same_classes(n, rng):
    """The same probabilities, with the classes in another order."""
    x, y, p = bent(n, rng)
    return cg.probabilities(p), cg.probabilities(p[:, [2, 0, 1]], [2, 0, 1]), x, y


def confident(n, rng):
    """An over-confident softmax of three classes, logits divided by 0.7, against the truth."""
    x = rng.standard_normal((n, 2))
    logits = x @ rng.standard_normal((2, 3))
    p = softmax(logits)
    y = (rng.random(n)[:, None] > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
    return cg.probabilities(softmax(logits / 0.7)), cg.probabilities(p), x, y


def dispersed(n, rng):
    """A Poisson model of counts whose variance is twice the mean, against the truth."""
    x = rng.standard_normal((n, 1))
    mean = 4 * np.exp(0.3 * x[:, 0])
    y = rng.poisson(rng.gamma(mean, 1.0))
    return cg.models.Poisson(mean), cg.models.NegativeBinomial(mean, 1 / mean), x, y


DISCRETE: dict[str, Callable[..., Any]] = {
    case.__name__.replace("_", "-"): case
    for case in (
        classes, ordered_classes, counts, many_counts, same_classes, confident, dispersed,
    )
}  # fmt: skip
