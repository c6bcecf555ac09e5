"""Misfits that a practitioner would try: parts of x, dependence of y's columns, digits."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

import condgof as cg
import families
from rivals.design import Rng, Sample

#: Pixels whose SD is below this are the same in all pictures.
CONSTANT_PIXEL = 1e-9


def misfit(rng: Rng, *, name: str) -> Sample:
    """Return a sample of a problem of `families.REPORTED`."""
    law, x, y = families.REPORTED[name](rng)
    if isinstance(law, tuple):
        law = cg.normal(mean=law[0], std=law[1])
    return Sample(law, x, y)


def triple_sign(x: np.ndarray) -> np.ndarray:
    return 0.6 * np.sign(x[:, 0] * x[:, 1] * x[:, 2])


def triple_product(x: np.ndarray) -> np.ndarray:
    return 0.4 * x[:, 0] * x[:, 1] * x[:, 2]


def pair_sign(x: np.ndarray) -> np.ndarray:
    return 0.3 * np.sign(x[:, 0] * x[:, 1])


def shift(rng: Rng, *, n: int, d: int, g: object) -> Sample:
    """A shift g(x) of N(0, 1); z keeps mean 0 and variance 1."""
    law, x, y = families.shifted(rng, n, d, g)
    return Sample(cg.normal(mean=law[0], std=law[1]), x, y)


def digit_rows(rng: Rng, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return pixels that vary, (n, d), and digits, (n,), of rows drawn without return."""
    pixels, digits = load_digits(return_X_y=True)
    rows = rng.choice(len(digits), n, replace=False)
    x = pixels[:, pixels.std(axis=0) > CONSTANT_PIXEL]
    return x[rows], digits[rows]


def digits(rng: Rng, *, n: int, odd: float, eight: float, spread: float) -> Sample:
    """N(0, 1) given 8 × 8 pixels, where the misfit depends on the digit that they show.

    Odd digits are shifted by `odd` and even ones by −`odd`; 8 by `eight`; the SD is
    `spread` of odd and 1.95 − `spread` of even digits (1 where `spread` is 0).
    """
    x, digit = digit_rows(rng, n)
    is_odd = digit % 2 == 1
    mean = odd * np.where(is_odd, 1.0, -1.0) + eight * (digit == 8)
    std = np.where(is_odd, spread, 1.95 - spread) if spread else 1.0
    law = cg.normal(mean=np.zeros(n), std=np.ones(n))
    return Sample(law, x, mean + std * rng.normal(size=n))


def paper_problem(rng: Rng, *, name: str, n: int) -> Sample:
    """A problem of the paper that condgof started from."""
    problem = cg.study.problem(name)
    x, y = problem.draw(n, rng)
    return Sample(cg.as_model(problem.p)(x), x, np.ravel(y))


def counts(rng: Rng, *, n: int, fault: str) -> Sample:
    """Poisson(μ), μ = exp(0.5 + 0.4 x₁), with one fault of four or none."""
    x = rng.normal(size=(n, 3))
    mean = np.exp(0.5 + 0.4 * x[:, 0])
    model = mean
    if fault == "zeros":
        y = np.where(rng.random(n) < 0.12, 0, rng.poisson(mean / 0.88))
    elif fault == "dispersion":
        y = rng.poisson(mean * rng.gamma(4.0, 1.0 / 4.0, n))
    elif fault == "slope":
        y = rng.poisson(mean * np.exp(0.12 * x[:, 1]))
    elif fault == "rare":
        model = 0.05 * mean
        y = rng.poisson(model * np.exp(0.5 * (x[:, 1] > 0)))
    else:
        y = rng.poisson(mean)
    return Sample(cg.models.Poisson(model), x, y.astype(float))


# Posteriors: draws of two columns of y given x


def posterior(rng: Rng, *, n: int, shift: float, std: float, correlation: float) -> Sample:
    """The model is N(A x, I) of two columns; y is off in mean, SD or correlation."""
    x = rng.normal(size=(n, 2))
    noise = rng.normal(size=(n, 2))
    noise[:, 1] = correlation * noise[:, 0] + np.sqrt(1 - correlation**2) * noise[:, 1]
    mean = x @ np.array([[1.0, 0.5], [0.0, 1.0]])
    off = shift * np.column_stack([np.sign(x[:, 0]), np.zeros(n)])
    law = cg.normal(mean=mean, std=np.ones((n, 2)))
    return Sample(law, x, mean + off + std * noise)


def coverage_by_column(rng: Rng, *, n: int, growth: float) -> Sample:
    """The SD of y is exp(growth·x₁) up to a factor; the model's 90% interval holds 90%."""
    x = rng.normal(size=(n, 5))
    std = np.exp(growth * x[:, 0])
    reference = np.exp(growth * np.random.default_rng(1).normal(size=100_000))
    noise = np.random.default_rng(2).normal(size=100_000)
    width = np.quantile(np.abs(reference * noise), 0.9) / 1.6448536269514722
    law = cg.normal(mean=np.zeros(n), std=np.full(n, width))
    return Sample(law, x, std * rng.normal(size=n))
