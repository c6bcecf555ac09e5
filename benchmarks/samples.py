"""The data that benchmarks use: models that are right, and samples of them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

import condgof as cg
from measuring import capped


class Sample(NamedTuple):
    """A model and a sample to test it on."""

    model: Any
    x: np.ndarray  #: (n, d_x)
    y: np.ndarray  #: (n,) or (n, d_y)
    event: np.ndarray | None = None  #: (n,): False where a time is censored.


def paper_sample(name: str, n: int, seed: Any = 0) -> Sample:
    """Draw n rows of one of the paper's problems, with the model under test."""
    from condgof.study import problem  # version 0.1 has it elsewhere

    case = problem(name)
    x, y = case.draw(capped(n), np.random.default_rng(seed))
    return Sample(case.p, x, y)


class Scored(NamedTuple):
    """x and y in two columns each, and the scores of a true model."""

    x: np.ndarray
    y: np.ndarray
    scores: np.ndarray


def scored_pair(n: int, seed: int = 0) -> Scored:
    """Draw n rows of y = (x₁ + x₂, x₁ − x₂) + N(0, I), whose scores are minus the noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    scores = -rng.normal(size=(n, 2))
    return Scored(x, x @ np.array([[1.0, 1.0], [1.0, -1.0]]) - scores, scores)


def normal_pair(n: int) -> Sample:
    """Return the same data with the model as (mean, std)."""
    x, y, scores = scored_pair(capped(n))
    return Sample((y + scores, np.ones(y.shape)), x, y)


def normal_law(n: int, columns: int = 3) -> Sample:
    """Return a true model (mean, std) of one y given columns of x, by the first three."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, columns))
    mean, std = mean_and_std(x)
    return Sample((mean, std), x, mean + std * rng.normal(size=n))


def mean_and_std(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sin(x₁) + x₂/2 and 0.5 + 0.3·|x₃| of three columns, (n,) each."""
    return np.sin(x[:, 0]) + 0.5 * x[:, 1], 0.5 + 0.3 * np.abs(x[:, 2])


def several_columns(n: int, d_y: int = 3) -> Sample:
    """Return a true normal model of columns of y, whose means repeat after three."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    means = [np.sin(x[:, 0]), 0.5 * x[:, 1], x.sum(axis=1)]
    mean = np.column_stack([means[k % 3] for k in range(d_y)])
    std = np.ones(mean.shape)
    return Sample((mean, std), x, mean + rng.normal(size=mean.shape))


def counts(n: int) -> Sample:
    """Return a true Poisson model."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    rate = np.exp(0.5 * mean_and_std(x)[0])
    return Sample(cg.models.Poisson(mean=rate), x, rng.poisson(rate))


def classes(n: int) -> Sample:
    """Return a true softmax classifier of five classes."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    P = softmax(x @ rng.normal(size=(3, 5)))
    return Sample(cg.probabilities(P), x, draw_classes(P, rng))


def quantiles(n: int) -> Sample:
    """Return five true quantiles of the normal law."""
    (mean, std), x, y, _ = normal_law(n)
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    values = mean[:, None] + std[:, None] * ndtri(levels)
    return Sample(cg.from_quantiles(values, levels), x, y)


def intervals(n: int) -> Sample:
    """Return true 90% intervals of the normal law."""
    (mean, std), x, y, _ = normal_law(n)
    half = ndtri(0.95) * std
    return Sample(cg.from_intervals(mean - half, mean + half, 0.9), x, y)


def censored(n: int) -> Sample:
    """Return a true exponential model of times, a third of which are censored."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    scale = np.exp(0.3 * x[:, 0])
    time = scale * rng.exponential(size=n)
    until = 2.0 * rng.exponential(size=n)
    model = cg.models.Exponential(scale=scale)
    return Sample(model, x, np.minimum(time, until), event=time <= until)


def draws(n: int) -> Sample:
    """Return 100 draws a row of the normal law."""
    (mean, std), x, y, _ = normal_law(n)
    noise = np.random.default_rng(1).normal(size=(n, 100))
    return Sample(cg.from_draws(mean[:, None] + std[:, None] * noise), x, y)


def draws_of_columns(n: int) -> Sample:
    """Return 200 draws a row of three columns of y."""
    (mean, std), x, y, _ = several_columns(n)
    noise = np.random.default_rng(1).normal(size=(n, 200, 3))
    return Sample(cg.from_draws(mean[:, None] + std[:, None] * noise), x, y)


def scores(n: int) -> Sample:
    """Return the scores of the normal law."""
    (mean, std), x, y, _ = normal_law(n)
    return Sample(cg.from_scores((mean - y) / std**2), x, y)


def digits() -> Sample:
    """Return a true classifier of the size of a well-known table of handwritten digits."""
    rng = np.random.default_rng(0)
    x = np.rint(16 * rng.random((capped(900), 64)))
    P = np.exp(0.05 * (x - 8) @ rng.normal(size=(64, 10)))
    P /= P.sum(axis=1, keepdims=True)
    y = (rng.random((len(x), 1)) > P.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return Sample(cg.probabilities(P, classes=np.arange(10)), x, y)


def many_classes(n: int, count: int) -> Sample:
    """Return a true softmax classifier of many classes, made by 1,000 rows at a time."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    weights = rng.normal(size=(2, count))
    P = np.empty((n, count))
    y = np.empty(n, dtype=np.int64)
    for start in range(0, n, 1000):
        rows = slice(start, start + 1000)
        np.exp(x[rows] @ weights, out=P[rows])
        P[rows] /= P[rows].sum(axis=1, keepdims=True)
        y[rows] = draw_classes(P[rows], rng)
    return Sample(cg.probabilities(P), x, y)


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return probabilities (n, K) of logits (n, K)."""
    P = np.exp(logits)
    return P / P.sum(axis=1, keepdims=True)


def draw_classes(P: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a class, (n,), from the probabilities (n, K) of each row."""
    sums = np.cumsum(P, axis=1)
    return (rng.random((len(P), 1)) * sums[:, -1:] > sums).sum(axis=1)


#: Rows of a part of a Parquet file.
PARQUET_ROWS = 250_000


def scores_file(n: int) -> Path:
    """Write `scored_pair` as Parquet, a part at a time, and return the path."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(tempfile.gettempdir()) / f"condgof-bench-{n}.parquet"
    if path.exists():
        return path
    names = ["x1", "x2", "y1", "y2", "s1", "s2"]
    writer = None
    for seed, start in enumerate(range(0, n, PARQUET_ROWS)):
        rows = scored_pair(min(PARQUET_ROWS, n - start), seed)
        columns = np.column_stack(rows).T
        table = pa.table(dict(zip(names, columns, strict=True)))
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()
    return path


def predictions_file(n: int) -> Path:
    """Write rows of x, y and a true model's mean and std as Parquet; return the path."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(tempfile.gettempdir()) / f"condgof-predictions-{n}.parquet"
    if not path.exists():
        rng = np.random.default_rng(0)
        x = rng.normal(size=(n, 2))
        mean = x.sum(axis=1)
        std = 0.5 + 0.1 * np.abs(x[:, 0])
        y = mean + std * rng.normal(size=n)
        table = {"x1": x[:, 0], "x2": x[:, 1], "y": y, "mean": mean, "std": std}
        pq.write_table(pa.table(table), path, row_group_size=100_000)
    return path
