"""Power on misfits of rivals and practitioners that are parts of x or of y's dependence.

    PYTHONPATH=src python benchmarks/families.py [samples] [chosen]

`REPORTED` are the problems of the table of power in docs/dev/adaptive.md. Those of
`CHOSEN_ON`, which ``chosen`` runs, are those by which the weights and features of the
families were chosen. They are in no table of power.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri
from scipy.stats import t as student

import condgof as cg

Rng = np.random.Generator
#: Rows by which the mean and variance of a shift are known.
POPULATION = 200_000
#: Draws of the null distribution.
DRAWS = 199


def standard(n: int) -> Any:
    """Return the law N(0, 1) of n rows."""
    return np.zeros(n), np.ones(n)


def independent(n: int) -> Any:
    """Return the law N(0, I) of two columns of y."""
    return cg.normal(mean=np.zeros((n, 2)), std=np.ones((n, 2)))


def shifted(rng: Rng, n: int, d: int, shift: Callable[[Any], Any]) -> Any:
    """A shift of N(0, 1) along d normal columns; z keeps mean 0 and variance 1."""
    many = shift(np.random.default_rng(12345).normal(size=(POPULATION, d)))
    x = rng.normal(size=(n, d))
    noise = np.sqrt(1.0 - many.var()) * rng.normal(size=n)
    return standard(n), x, shift(x) - many.mean() + noise


def table(rng: Rng, n: int, categories: int, levels: int, numbers: int) -> pd.DataFrame:
    """Categories c0, c1, … with levels 0, 1, …, and normal columns u0, u1, …"""
    columns: dict[str, Any] = {
        f"c{j}": pd.Categorical(rng.integers(0, levels, n)) for j in range(categories)
    }
    return pd.DataFrame(columns | {f"u{j}": rng.normal(size=n) for j in range(numbers)})


def codes(x: pd.DataFrame, name: str) -> Any:
    return x[name].to_numpy().astype(int)


def cell(rng: Rng, n: int, size: float, x: pd.DataFrame, levels: int) -> Any:
    """A shift in a cell of two categories."""
    inside = (codes(x, "c0") == 1) & (codes(x, "c1") == 2)
    share = levels**-2
    noise = np.sqrt(1.0 - size**2 * share * (1.0 - share)) * rng.normal(size=n)
    return standard(n), x, size * (inside - share) + noise


def spread_by_category(rng: Rng, x: pd.DataFrame, size: float, levels: int) -> Any:
    spread = np.exp(size * rng.normal(size=levels))
    return standard(len(x)), x, spread[codes(x, "c0")] * rng.normal(size=len(x))


def student_copula(rng: Rng, n: int, df: float) -> Any:
    """Right marginals, and the copula of Student's t without correlation."""
    root = np.sqrt(rng.chisquare(df, n) / df)
    y = ndtri(student.cdf(rng.normal(size=(n, 2)) / root[:, None], df))
    return independent(n), rng.normal(size=(n, 2)), y


def dependent_sizes(rng: Rng, n: int, rho: float) -> Any:
    """|y₁| and |y₂| with a normal copula, and free signs."""
    first = rng.normal(size=n)
    second = rho * first + np.sqrt(1.0 - rho**2) * rng.normal(size=n)
    sizes = ndtri(0.5 + ndtr(np.column_stack([first, second])) / 2.0)
    return independent(n), rng.normal(size=(n, 2)), rng.choice([-1, 1], (n, 2)) * sizes


def correlated(rng: Rng, n: int, d: int, correlation: Callable[[Any], Any]) -> Any:
    x = rng.normal(size=(n, d))
    rho = correlation(x)
    first = rng.normal(size=n)
    second = rho * first + np.sqrt(1.0 - rho**2) * rng.normal(size=n)
    return independent(n), x, np.column_stack([first, second])


def two_modes(rng: Rng, n: int, d: int, gap: float, least: float) -> Any:
    """Two modes with the same mean and variance, where x₁ > least."""
    x = rng.normal(size=(n, d))
    modes = rng.choice([-gap, gap], n) + np.sqrt(1.0 - gap**2) * rng.normal(size=n)
    return standard(n), x, np.where(x[:, 0] > least, modes, rng.normal(size=n))


def regression(rng: Rng, n: int, size: float) -> Any:
    """ECMMD's regression: a line with one spread is fitted to 200 other rows."""

    def draw(count: int) -> Any:
        x = rng.uniform(-1, 1, count)
        noise = np.abs(1 + x) * 0.15 * rng.normal(size=count)
        return x, size * np.sin(np.pi * x) + noise

    x, y = draw(200)
    line = np.polyfit(x, y, 1)
    spread = np.sqrt(np.square(y - np.polyval(line, x)).sum() / 198)
    x, y = draw(n)
    return (np.polyval(line, x), np.full(n, spread)), x[:, None], y


def tree(x: Any) -> Any:
    right = (x[:, 1] > 0) * np.where(x[:, 2] > 0, 0.6, -0.6)
    left = np.where(x[:, 3] > 0.3, -0.4, 0.5 * (x[:, 4] > 0))
    return np.where(x[:, 0] > 0, right, left)


def corner(x: Any) -> Any:
    inside = (x[:, 0] > 0) & (x[:, 1] > 0) & (x[:, 2] > -0.5)
    return 1.0 * (inside & (x[:, 3] < 0.5) & (x[:, 4] < 0.8))


def box(x: Any) -> Any:
    return 0.9 * ((x[:, 0] > 0) & (x[:, 1] > 0) & (x[:, 2] < 0.3) & (x[:, 3] < 0.6))


#: (law, x, y) of the table of power.
REPORTED: dict[str, Callable[[Rng], Any]] = {
    "tree, 30 columns, n = 500": lambda r: shifted(r, 500, 30, tree),
    "corner, 30 columns, n = 1,000": lambda r: shifted(r, 1000, 30, corner),
    "0.4 sin(8x₁), 3 columns, n = 500": lambda r: shifted(
        r, 500, 3, lambda x: 0.4 * np.sin(8 * x[:, 0])
    ),
    "spread by one of 30 categories, n = 600": lambda r: spread_by_category(
        r, table(r, 600, 1, 30, 1), 0.22, 30
    ),
    "cell of two of six categories, n = 1,000": lambda r: cell(
        r, 1000, 1.0, table(r, 1000, 6, 6, 6), 6
    ),
    "cell of two of six categories, n = 2,000": lambda r: cell(
        r, 2000, 1.0, table(r, 2000, 6, 6, 6), 6
    ),
    "t4 copula, n = 500": lambda r: student_copula(r, 500, 4),
    "|y₁| and |y₂| dependent, n = 500": lambda r: dependent_sizes(r, 500, 0.5),
    "correlation 0.35 sign(x₁x₂), n = 500": lambda r: correlated(
        r, 500, 3, lambda x: 0.35 * np.sign(x[:, 0] * x[:, 1])
    ),
    "0.4 x₁x₂x₃, 8 columns, n = 500": lambda r: shifted(
        r, 500, 8, lambda x: 0.4 * x[:, 0] * x[:, 1] * x[:, 2]
    ),
    "two modes where x₁ > 0, n = 300": lambda r: two_modes(r, 300, 2, 0.8, 0.0),
    "ECMMD's regression, s = 0.2, n = 50": lambda r: regression(r, 50, 0.2),
}
#: (law, x, y) of the problems by which weights and features were chosen.
CHOSEN_ON: dict[str, Callable[[Rng], Any]] = {
    "0.4 sin(6x₂), 5 columns, n = 500": lambda r: shifted(
        r, 500, 5, lambda x: 0.4 * np.sin(6 * x[:, 1])
    ),
    "spread by one of 20 categories, n = 500": lambda r: spread_by_category(
        r, table(r, 500, 1, 20, 2), 0.25, 20
    ),
    "cell of two of five categories, n = 800": lambda r: cell(
        r, 800, 0.9, table(r, 800, 5, 5, 3), 5
    ),
    "t6 copula, n = 400": lambda r: student_copula(r, 400, 6),
    "|y₁| and |y₂| dependent, n = 400": lambda r: dependent_sizes(r, 400, 0.45),
    "correlation 0.4 tanh(2x₁x₂), n = 400": lambda r: correlated(
        r, 400, 4, lambda x: 0.4 * np.tanh(2 * x[:, 0] * x[:, 1])
    ),
    "0.35 x₁x₂x₃, 6 columns, n = 400": lambda r: shifted(
        r, 400, 6, lambda x: 0.35 * x[:, 0] * x[:, 1] * x[:, 2]
    ),
    "0.45 sign(x₁x₂x₃), 5 columns, n = 500": lambda r: shifted(
        r, 500, 5, lambda x: 0.45 * np.sign(x[:, 0] * x[:, 1] * x[:, 2])
    ),
    "two modes where x₁ > 0.5, n = 400": lambda r: two_modes(r, 400, 3, 0.85, 0.5),
    "box of 4 of 20 columns, n = 800": lambda r: shifted(r, 800, 20, box),
}


def pvalue(name: str, draw: Callable[[Rng], Any], number: int) -> float:
    """Check one sample of a problem."""
    law, x, y = draw(np.random.default_rng([number, *name.encode()]))
    return float(cg.check(law, x, y, rng=number, n_boot=DRAWS, engine=1).pvalue)


def main(samples: int, problems: dict[str, Callable[[Rng], Any]]) -> None:
    print(f"| misfit | rejected of {samples} at 0.05 |")
    print("|---|---|")
    for name, draw in problems.items():
        rejected = sum(pvalue(name, draw, number) <= 0.05 for number in range(samples))
        print(f"| {name} | {rejected} |", flush=True)


if __name__ == "__main__":
    chosen = "chosen" in sys.argv[1:]
    counts = [int(word) for word in sys.argv[1:] if word.isdigit()]
    main(counts[0] if counts else 300, CHOSEN_ON if chosen else REPORTED)
