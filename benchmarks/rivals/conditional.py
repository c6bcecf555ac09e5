"""Problems of ECMMD (arXiv 2407.16550) and of KCCSD (arXiv 2510.14711)."""

from __future__ import annotations

import numpy as np

import condgof as cg
from rivals.design import Rng, Sample

#: ECMMD's bump of the variance: its centre in each of three columns, and its width.
BUMP = 0.8
#: Standard deviation of the noise where 1 + x = 1, and rows that the line is fitted to.
NOISE = 0.15
TRAINING_ROWS = 200
#: KCCSD's bump stands at this value of each column, as that of the paper's HGM.
HGM_CENTRE = 2 / 3


def bump(x: np.ndarray, centre: float, width: float) -> np.ndarray:
    """Return exp(−‖x − centre·1‖² / (2 width²)), (n,)."""
    return np.exp(-np.square(x - centre).sum(axis=1) / (2.0 * width**2))


def heteroscedastic(rng: Rng, *, n: int, rho: float) -> Sample:
    """ECMMD, goodness of fit: the model's variance has a bump that the data have not."""
    x = rng.normal(size=(n, 3))
    mean = x.sum(axis=1)
    std = np.sqrt(1.0 + rho * bump(x, BUMP, BUMP))
    return Sample(cg.normal(mean=mean, std=std), x, mean + rng.normal(size=n))


def regression_rows(rng: Rng, n: int, s: float) -> tuple[np.ndarray, np.ndarray]:
    x = rng.uniform(-1, 1, n)
    noise = np.abs(1.0 + x) * NOISE * rng.normal(size=n)
    return x, s * np.sin(np.pi * x) + noise


def regression(rng: Rng, *, n: int, s: float) -> Sample:
    """ECMMD, regression: a line with one residual SD, fitted to 200 other rows."""
    x, y = regression_rows(rng, TRAINING_ROWS, s)
    line = np.polyfit(x, y, 1)
    residual = y - np.polyval(line, x)
    std = np.sqrt(np.square(residual).sum() / (TRAINING_ROWS - 2))
    x, y = regression_rows(rng, n, s)
    law = cg.normal(mean=np.polyval(line, x), std=np.full(n, std))
    return Sample(law, x[:, None], y)


def binary(rng: Rng, *, n: int, s: float, power: float = 5.0) -> Sample:
    """ECMMD, classes: y = 1 with probability p − p^power, where p is claimed."""
    p = rng.beta(s, 1.0 - s, n)
    p = np.clip(p, 1e-9, 1.0 - 1e-9)
    truth = p - p**power if power else p
    y = (rng.random(n) < truth).astype(float)
    return Sample(cg.probabilities(np.column_stack([1.0 - p, p])), p[:, None], y)


def shifted_means(rng: Rng, *, n: int, delta: float) -> Sample:
    """MGM: the model's mean is off by δ."""
    x = rng.normal(size=(n, 5))
    mean = x.sum(axis=1)
    return Sample(
        cg.normal(mean=mean + delta, std=np.ones(n)), x, mean + rng.normal(size=n)
    )


def sloped(rng: Rng, *, n: int, delta: float) -> Sample:
    """LGM: the slope of each of five columns is off by δ."""
    x = rng.normal(size=(n, 5))
    mean = x.sum(axis=1)
    law = cg.normal(mean=(1.0 + delta) * mean, std=np.ones(n))
    return Sample(law, x, mean + rng.normal(size=n))


def bumped(rng: Rng, *, n: int, delta: float) -> Sample:
    """HGM: the data's variance is 1, the model's has a bump of 10δ."""
    x = rng.normal(size=(n, 3))
    mean = x.sum(axis=1)
    std = np.sqrt(1.0 + 10.0 * delta * bump(x, HGM_CENTRE, BUMP))
    return Sample(cg.normal(mean=mean, std=std), x, mean + rng.normal(size=n))


def curved(rng: Rng, *, n: int, delta: float) -> Sample:
    """QGM: y has 0.1 x², the model 0.1 (1 − δ) x²."""
    x = rng.uniform(-2, 2, (n, 1))
    line = x[:, 0] + 1.0
    square = 0.1 * np.square(x[:, 0])
    law = cg.normal(mean=line + (1.0 - delta) * square, std=np.ones(n))
    return Sample(law, x, line + square + rng.normal(size=n))
