"""Whether the first effect is the cause, where a model is wrong in a known way.

Samples have as many rows as a test of this effect alone needs to have power 0.99 at
0.05 divided by the number of candidates. Run as

    PYTHONPATH=src python benchmarks/causes.py [samples] [chosen] [names…]

The rules of the search were chosen on the design that ``chosen`` runs; docs/dev/effects.md
reports the other one, which has other columns, shapes, sizes and random numbers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2

from condgof.check import axes_of
from condgof.check.effects import (
    ModelDraws,
    NormalTilt,
    NullOfStages,
    State,
    find_stages,
    make_state,
)
from condgof.sample import Sample, Seed

#: The level, and the power of a test of the effect alone.
ALPHA = 0.05
POWER = 0.99
#: Draws of the null, as in a check.
DRAWS = 199
#: Most effects that are looked for, as in a check.
MOST_EFFECTS = 8
#: Where one row is moved to, in standard deviations.
FAR = 30.0
#: Rows by which the mean square of a pattern is computed.
MANY_ROWS = 200_000
#: Wide cells of a column of numbers, and of a pair of these: so many less one are the
#: degrees of freedom of a test that knows the columns, but not the shape.
CELLS = 8
CELLS_OF_PAIR = 16
#: Categories of the column with many.
CATEGORIES = 30

Rng = np.random.Generator
Pattern = Callable[[pd.DataFrame], np.ndarray]


class Shape(NamedTuple):
    """How an error depends on columns."""

    columns: tuple[str, ...]
    pattern: Pattern  #: Errors of rows (n,), with mean square 1 and mean 0 unless alone.
    df: int  #: Degrees of freedom of a test of this effect alone.


@dataclass(frozen=True)
class Design:
    """Columns, shapes and sizes."""

    seed: int
    frame: Callable[[int, Rng], pd.DataFrame]
    shapes: dict[str, Shape]
    bias: float  #: Root mean square of a bias, in predicted SDs.
    spread: float  #: Root mean square of the logarithm of a spread.


def by_number(number: np.ndarray | pd.Series, salt: int) -> np.ndarray:
    """Return an error for each code 0, 1, …, the same in all samples."""
    errors = np.random.default_rng(salt).normal(size=CATEGORIES)
    errors = errors - errors.mean()
    return np.asarray(errors / errors.std())[np.asarray(number, dtype=int)]


def chosen_frame(n: int, rng: Rng) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "other": rng.uniform(size=n),
            "kind": pd.Categorical(rng.integers(0, CATEGORIES, n).astype(str)),
            "day": rng.integers(0, 365, n),
            "letter": rng.choice(list("ABCDE"), n),
        }
    )


CHOSEN_SHAPES = {
    "everywhere": Shape((), lambda x: np.ones(len(x)), 1),
    "one column": Shape(
        ("number",), lambda x: np.where(np.abs(x["number"]) < 0.6745, 1.0, -1.0), CELLS - 1
    ),
    "pair": Shape(
        ("number", "other"),
        lambda x: np.sign(x["number"].to_numpy() * (x["other"].to_numpy() - 0.5)),
        CELLS_OF_PAIR - 1,
    ),
    "category of 30": Shape(("kind",), lambda x: by_number(x["kind"], 1), CATEGORIES - 1),
    "trend": Shape(("other",), lambda x: math.sqrt(12.0) * (x["other"] - 0.5), 1),
    "season": Shape(
        ("day",),
        lambda x: math.sqrt(2.0) * np.sin(2.0 * np.pi * x["day"] / 365.0),
        CELLS - 1,
    ),
}


def reported_frame(n: int, rng: Rng) -> pd.DataFrame:
    income = rng.lognormal(sigma=0.7, size=n)
    return pd.DataFrame(
        {
            "income": income,
            "age": rng.integers(18, 80, n),
            "score": np.clip(0.5 * np.log(income) + rng.normal(size=n), -3.0, 3.0),
            "shop": pd.Categorical(rng.integers(0, CATEGORIES, n).astype(str)),
            "date": rng.integers(0, 730, n),
            "female": rng.integers(0, 2, n),
            "region": rng.choice(list("NESW"), n, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )


def _old_or_young(x: pd.DataFrame) -> np.ndarray:
    """Return one error from 60 to 79 years, and one from 18 to 59, of mean 0."""
    values = np.where(x["age"].to_numpy() >= 60, 1.0, -20.0 / 42.0)
    return np.asarray(values / math.sqrt(20.0 / 42.0))


def _checks(x: pd.DataFrame) -> np.ndarray:
    """Return how women above and below the age of 49 differ from men of that age."""
    old = np.where(x["age"].to_numpy() >= 49, 1.0, -1.0)
    return np.asarray(old * np.where(x["female"].to_numpy() == 1, 1.0, -1.0))


REPORTED_SHAPES = {
    "everywhere": Shape((), lambda x: np.ones(len(x)), 1),
    "one column": Shape(("age",), _old_or_young, CELLS - 1),
    "pair": Shape(("age", "female"), _checks, 2 * CELLS_OF_PAIR // 4 - 1),
    "category of 30": Shape(("shop",), lambda x: by_number(x["shop"], 2), CATEGORIES - 1),
    "trend": Shape(
        ("date",), lambda x: (x["date"] - 364.5) / math.sqrt((730.0**2 - 1.0) / 12.0), 1
    ),
    "season": Shape(
        ("date",),
        lambda x: math.sqrt(2.0) * np.cos(2.0 * np.pi * x["date"] / 365.0),
        CELLS - 1,
    ),
}

CHOSEN_ON = Design(1, chosen_frame, CHOSEN_SHAPES, bias=0.3, spread=0.22)
REPORTED = Design(2, reported_frame, REPORTED_SHAPES, bias=0.25, spread=0.2)


class Part(NamedTuple):
    """One error of a model."""

    error: str  #: "bias" or "spread".
    shape: Shape
    size: float  #: The root mean square of θ.

    def theta(self, x: pd.DataFrame) -> np.ndarray:
        """Return θ of each row, (n,)."""
        return np.asarray(self.size * np.asarray(self.shape.pattern(x), dtype=float))

    @property
    def name(self) -> tuple[str, tuple[str, ...]]:
        return self.error, self.shape.columns


def scores(parts: Sequence[Part], x: pd.DataFrame, rng: Rng) -> np.ndarray:
    """Draw normal scores that have all errors, (n,)."""
    z = rng.normal(size=len(x))
    for part in sorted(parts, key=lambda one: one.error, reverse=True):  # spread first
        theta = part.theta(x)
        z = z * np.exp(theta) if part.error == "spread" else z + theta
    return z


def noncentrality(df: int, candidates: int) -> float:
    """Return that at which χ² has the power at the level of one of all candidates."""
    limit = chi2.isf(ALPHA / candidates, df)
    return float(brentq(lambda nc: ncx2.sf(limit, df, nc) - POWER, 1.0, 1000.0))


def rows_needed(part: Part, candidates: int) -> int:
    """Return n at which a test of one error alone has the power."""
    information = 1.0 if part.error == "bias" else 2.0
    return math.ceil(
        noncentrality(part.shape.df, candidates) / (information * part.size**2)
    )


def state_of(x: pd.DataFrame, z: np.ndarray) -> State:
    sample = Sample.from_data(x, np.arange(float(len(x))))
    axes = axes_of(sample.x_columns, sample.x, ())
    return make_state(axes, NormalTilt.from_scores(z, "y"), None)


def count_candidates(design: Design) -> int:
    """Return how many candidates the tables of a design have, at 1,000 rows."""
    x = design.frame(1000, np.random.default_rng(0))
    partitions = state_of(x, np.zeros(1000)).cells.partitions
    lines = sum(one.positions is not None for one in partitions)
    kinds = len(NormalTilt.from_scores(np.zeros(1), "y").kinds)
    return kinds * (len(partitions) + lines)


class Found(NamedTuple):
    """One effect: its kind and columns, and its gain in nats over all rows."""

    name: tuple[str, tuple[str, ...]]
    gain: float


def effects_of(x: pd.DataFrame, z: np.ndarray, seed: int, most: int) -> list[Found]:
    """Return the effects in the order found, those of the same name together."""
    state = state_of(x, z)
    n = len(z)
    null = NullOfStages(
        rows=np.arange(n), n=n, count=DRAWS, draws=ModelDraws(Seed.of(seed))
    )
    gains: dict[tuple[str, tuple[str, ...]], float] = {}
    for stage in find_stages(state, most=most, null=null, alpha=ALPHA).stages:
        partition = state.cells.partitions[stage.candidate.partition]
        columns = tuple(x.columns[a] for a in partition.axes)
        name = state.tilt.kinds[stage.candidate.kind].name, columns
        gains[name] = gains.get(name, 0.0) + stage.gain
    return [Found(name, gain) for name, gain in gains.items()]


def report_single(design: Design, samples: int, names: Sequence[str]) -> None:
    candidates = count_candidates(design)
    print(f"{samples} samples each; {candidates} candidates")
    print(f"{'wrong in':26s} {'n':>6s} {'first':>6s} {'same with a far row':>20s}  instead")
    for number, (error, shape_name) in enumerate(
        (error, shape) for error in ("bias", "spread") for shape in design.shapes
    ):
        name = f"{error}, {shape_name}"
        if names and not any(one in name for one in names):
            continue
        size = design.bias if error == "bias" else design.spread
        part = Part(error, design.shapes[shape_name], size)
        n = rows_needed(part, candidates)
        first = 0
        same = 0
        instead: dict[str, int] = {}
        for k in range(samples):
            rng = np.random.default_rng([design.seed, number, k])
            x = design.frame(n, rng)
            z = scores([part], x, rng)
            found = effects_of(x, z, k, most=1)
            right = bool(found) and found[0].name == part.name
            first += right
            if not right:
                text = str(found[0].name) if found else "nothing"
                instead[text] = instead.get(text, 0) + 1
            z[int(rng.integers(n))] = FAR
            far = effects_of(x, z, k, most=1)
            same += [one.name for one in far] == [one.name for one in found]
        most = sorted(instead.items(), key=lambda one: -one[1])[:4]
        print(f"{name:26s} {n:6d} {first:6d} {same:20d}  {most}", flush=True)


def mixtures(design: Design) -> dict[str, tuple[Part, Part]]:
    """Return pairs of errors; sizes make shares of about a third and two thirds."""
    shapes = design.shapes
    bias = design.bias
    spread = design.spread
    return {
        "bias by category, spread trend": (
            Part("bias", shapes["category of 30"], 1.6 * bias),
            Part("spread", shapes["trend"], 1.1 * spread),
        ),
        "bias season, bias by category": (
            Part("bias", shapes["season"], 1.2 * bias),
            Part("bias", shapes["category of 30"], 1.6 * bias),
        ),
        "spread overall, bias season": (
            Part("spread", shapes["everywhere"], 1.5 * spread),
            Part("bias", shapes["season"], 1.5 * bias),
        ),
    }


def population_shares(
    parts: Sequence[Part], order: Sequence[int], x: pd.DataFrame
) -> np.ndarray:
    """Return the shares of the gains of both corrections, made in this order, (2,).

    A bias that is left adds its mean square to what a spread sees; a spread that was
    corrected has divided the bias. Columns of the two are independent.
    """
    gains = np.zeros(2)
    thetas = [part.theta(x) for part in parts]
    squares = np.ones(len(x))
    for part, theta in zip(parts, thetas, strict=True):
        if part.error == "spread":
            squares = squares * np.exp(2.0 * theta)
    left = sum(
        float(np.square(theta).mean())
        for part, theta in zip(parts, thetas, strict=True)
        if part.error == "bias"
    )
    divided = 1.0
    for k in order:
        if parts[k].error == "bias":
            gains[k] = 0.5 * np.square(thetas[k] * divided).mean()
            left -= float(np.square(thetas[k]).mean())
        else:
            seen = squares + left
            gains[k] = (0.5 * (seen - 1.0) - 0.5 * np.log(seen)).mean()
            divided = float((1.0 / np.sqrt(seen)).mean())
    return np.asarray(gains / gains.sum())


def report_mixtures(design: Design, samples: int, names: Sequence[str]) -> None:
    candidates = count_candidates(design)
    many = design.frame(MANY_ROWS, np.random.default_rng(design.seed))
    print(f"{'wrong in':32s} {'n':>6s} {'both':>5s} {'bias of share':>14s} {'|error|':>8s}")
    for number, (name, parts) in enumerate(mixtures(design).items()):
        if names and not any(one in name for one in names):
            continue
        n = max(rows_needed(part, candidates) for part in parts)
        both = 0
        differences = []
        for k in range(samples):
            rng = np.random.default_rng([design.seed, 100 + number, k])
            x = design.frame(n, rng)
            found = effects_of(x, scores(parts, x, rng), k, most=MOST_EFFECTS)
            by_name = {one.name: one.gain for one in found}
            order = [
                [part.name for part in parts].index(one.name)
                for one in found
                if one.name in [part.name for part in parts]
            ]
            if sorted(order) != [0, 1]:
                continue
            both += 1
            share = by_name[parts[0].name] / sum(by_name.values())
            differences.append(share - population_shares(parts, order, many)[0])
        mean = float(np.mean(differences)) if differences else math.nan
        size = float(np.mean(np.abs(differences))) if differences else math.nan
        print(f"{name:32s} {n:6d} {both:5d} {mean:+14.3f} {size:8.3f}", flush=True)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    numbers = [int(one) for one in arguments if one.isdigit()]
    words = [one for one in arguments if not one.isdigit() and one != "chosen"]
    chosen = CHOSEN_ON if "chosen" in arguments else REPORTED
    report_single(chosen, numbers[0] if numbers else 100, words)
    report_mixtures(chosen, numbers[0] if numbers else 100, words)
