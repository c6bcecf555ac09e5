"""How often a second effect is named where there is one, and found where there are two.

Each model is wrong in one known way, or in two. Run as

    PYTHONPATH=src python benchmarks/second_effects.py [samples] [chosen] [names…]

The rules of the search were chosen on the design that ``chosen`` runs: other columns,
other sizes of the misfits and other random numbers than in docs/dev/effects.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import binom, poisson

from condgof.check import axes_of
from condgof.check.effects import Analysis, CountTilt, NormalTilt, Tilt, analyse
from condgof.sample import Sample, Seed

#: The level of each stage.
ALPHA = 0.05
#: Rows of a sample.
ROWS = 600
#: A rate above ALPHA by chance is believed with this probability.
BELIEVED = 0.01


class Named(NamedTuple):
    """A kind of error, and the columns that it depends on."""

    kind: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Design:
    """Columns of x and the sizes of all misfits."""

    seed: int
    size: float  #: By which misfits are larger than those of the other design.
    categories: int
    columns: int  #: Columns that have nothing to do with y.

    def frame(self, rng: np.random.Generator) -> pd.DataFrame:
        """Draw x: a number, an hour, a category, a flag, and unrelated columns."""
        columns = {
            "dose": rng.uniform(size=ROWS),
            "hour": rng.integers(0, 24, ROWS),
            "town": pd.Categorical(rng.integers(0, self.categories, ROWS).astype(str)),
            "flag": rng.integers(0, 2, ROWS),
        }
        for number in range(self.columns):
            columns[f"other{number}"] = rng.normal(size=ROWS)
        return pd.DataFrame(columns)


CHOSEN_ON = Design(seed=1, size=1.0, categories=6, columns=2)
REPORTED = Design(seed=2, size=1.2, categories=11, columns=4)


class Drawn(NamedTuple):
    """A sample beside the law under test."""

    frame: pd.DataFrame
    tilt: Tilt


@dataclass(frozen=True)
class Problem:
    """A model that is wrong in one way, or in two."""

    draw: Callable[[np.random.Generator, Design], Drawn]
    #: Effects that are there. Of a marginal law of another shape these are all kinds of
    #: error that depend on no column: it differs in each of them.
    true: tuple[Named, ...]
    second: Named | None = None  #: The second of two, of which the power is asked for.


MARGINAL = tuple(Named(kind) for kind in ("bias", "spread", "skew", "tails"))


def _scores(z: np.ndarray) -> Tilt:
    return NormalTilt.from_scores(np.asarray(z, dtype=float), "y")


def _alike(law: Callable[[np.random.Generator], np.ndarray]) -> Callable[..., Drawn]:
    """Return a sample whose scores have the same law at every x."""

    def draw(rng: np.random.Generator, design: Design) -> Drawn:
        frame = design.frame(rng)
        return Drawn(frame, _scores(law(rng)))

    return draw


def counts(rng: np.random.Generator, y: np.ndarray, mean: np.ndarray) -> Tilt:
    """Return counts beside a Poisson law."""
    lower = poisson.cdf(y - 1, mean)
    upper = poisson.cdf(y, mean)
    u = lower + rng.random(len(y)) * (upper - lower)
    return CountTilt.from_steps(
        z=ndtri(np.clip(u, 1e-15, 1.0 - 1e-15)),
        is_zero=y == 0,
        p_zero=poisson.pmf(0, mean),
        lower=lower,
        upper=upper,
        column="y",
    )


def bias_by_column(rng: np.random.Generator, design: Design) -> Drawn:
    frame = design.frame(rng)
    wave = np.sin(2.0 * np.pi * frame["hour"] / 24.0)
    return Drawn(frame, _scores(rng.normal(size=ROWS) + 0.6 * design.size * wave))


def spread_by_category(rng: np.random.Generator, design: Design) -> Drawn:
    frame = design.frame(rng)
    factors = np.exp(0.4 * design.size * np.cos(np.arange(design.categories) * 2.0))
    return Drawn(frame, _scores(rng.normal(size=ROWS) * factors[frame["town"].astype(int)]))


def bias_by_pair(rng: np.random.Generator, design: Design) -> Drawn:
    frame = design.frame(rng)
    sign = np.where(frame["flag"] == 1, 1.0, -1.0) * np.sign(frame["dose"] - 0.5)
    return Drawn(frame, _scores(rng.normal(size=ROWS) + 0.5 * design.size * sign))


def overdispersed(rng: np.random.Generator, design: Design) -> Drawn:
    frame = design.frame(rng)
    mean = np.full(ROWS, 6.0 * design.size)
    size = 4.0 / design.size
    y = rng.negative_binomial(size, size / (size + mean))
    return Drawn(frame, counts(rng, y, mean))


def zero_inflated(rng: np.random.Generator, design: Design) -> Drawn:
    frame = design.frame(rng)
    mean = np.full(ROWS, 3.0 * design.size)
    y = np.where(rng.random(ROWS) < 0.15 * design.size, 0, rng.poisson(mean))
    return Drawn(frame, counts(rng, y, mean))


def tails_and_bias(rng: np.random.Generator, design: Design) -> Drawn:
    frame = design.frame(rng)
    z = rng.standard_t(4, ROWS)
    return Drawn(frame, _scores(z + 0.7 * (frame["hour"] >= 12)))


def spread_and_bias(rng: np.random.Generator, design: Design) -> Drawn:
    frame = design.frame(rng)
    z = 1.5 * rng.normal(size=ROWS)
    return Drawn(frame, _scores(z + 0.7 * (frame["hour"] >= 12)))


def bias_and_spread(rng: np.random.Generator, design: Design) -> Drawn:
    frame = design.frame(rng)
    z = rng.normal(size=ROWS) * np.where(frame["flag"] == 1, 1.4, 1.0)
    return Drawn(frame, _scores(z + 0.8 * np.sin(2.0 * np.pi * frame["hour"] / 24.0)))


def two_biases(rng: np.random.Generator, design: Design) -> Drawn:
    frame = design.frame(rng)
    z = rng.normal(size=ROWS) + 0.45 * (frame["flag"] == 1)
    return Drawn(frame, _scores(z + 0.8 * np.sin(2.0 * np.pi * frame["hour"] / 24.0)))


def dispersion_and_bias(rng: np.random.Generator, design: Design) -> Drawn:
    frame = design.frame(rng)
    mean = np.full(ROWS, 5.0)
    size = 4.0
    truth = mean * np.where(frame["flag"] == 1, 1.35, 1.0)
    y = rng.negative_binomial(size, size / (size + truth))
    return Drawn(frame, counts(rng, y, mean))


HOUR = ("hour",)
FLAG = ("flag",)
PROBLEMS = {
    "bias overall": Problem(
        _alike(lambda rng: rng.normal(size=ROWS) + 0.5), (Named("bias"),)
    ),
    "spread overall": Problem(
        _alike(lambda rng: 1.6 * rng.normal(size=ROWS)), (Named("spread"),)
    ),
    "t4 tails": Problem(_alike(lambda rng: rng.standard_t(4, ROWS)), MARGINAL),
    "Laplace tails": Problem(_alike(lambda rng: rng.laplace(size=ROWS)), MARGINAL),
    "t4 tails, IQR of N(0, 1)": Problem(
        _alike(lambda rng: rng.standard_t(4, ROWS) / 1.098), MARGINAL
    ),
    "gamma skew": Problem(
        _alike(lambda rng: (rng.gamma(2.0, size=ROWS) - 2.0) / np.sqrt(2.0)), MARGINAL
    ),
    "bias by column": Problem(bias_by_column, (Named("bias", HOUR),)),
    "spread by category": Problem(spread_by_category, (Named("spread", ("town",)),)),
    "bias by pair": Problem(bias_by_pair, (Named("bias", ("dose", "flag")),)),
    "overdispersion": Problem(
        overdispersed, (Named("dispersion"), Named("zeros"), Named("bias"))
    ),
    "zero inflation": Problem(
        zero_inflated, (Named("zeros"), Named("bias"), Named("dispersion"))
    ),
    "t4 and bias by column": Problem(
        tails_and_bias, (*MARGINAL, Named("bias", HOUR)), Named("bias", HOUR)
    ),
    "spread and bias by column": Problem(
        spread_and_bias,
        (Named("bias"), Named("spread"), Named("bias", HOUR)),
        Named("bias", HOUR),
    ),
    "bias by column and spread by flag": Problem(
        bias_and_spread,
        (Named("bias", HOUR), Named("spread"), Named("spread", FLAG)),
        Named("spread", FLAG),
    ),
    "bias by two columns": Problem(
        two_biases,
        (Named("bias", HOUR), Named("bias"), Named("bias", FLAG)),
        Named("bias", FLAG),
    ),
    "dispersion and bias by flag": Problem(
        dispersion_and_bias,
        (Named("dispersion"), Named("bias"), Named("zeros"), Named("bias", FLAG)),
        Named("bias", FLAG),
    ),
}


def analysed(drawn: Drawn, seed: int) -> Analysis:
    """Return the analysis of a sample."""
    sample = Sample.from_data(drawn.frame, np.arange(float(len(drawn.frame))))
    analysis = analyse(
        axes_of(sample.x_columns, sample.x, ()),
        drawn.tilt,
        units=None,
        replicates=None,
        keys=sample.content_keys,
        alpha=ALPHA,
        seed=Seed.of(seed),
    )
    assert analysis is not None
    return analysis


def named(analysis: Analysis) -> list[Named]:
    """Return the effects of an analysis, each once, in the order found."""
    effects = []
    for stage in analysis.stages:
        partition = analysis.state.cells.partitions[stage.candidate.partition]
        columns = tuple(analysis.axes[a].name for a in partition.axes)
        effects.append(Named(analysis.state.tilt.kinds[stage.candidate.kind].name, columns))
    return list(dict.fromkeys(effects))


def main(samples: int, design: Design, names: list[str]) -> None:
    limit = int(binom.isf(BELIEVED, samples, ALPHA))
    print(f"{samples} samples of {ROWS} rows; above {limit} is more than {ALPHA:.0%}")
    print(f"{'wrong in':34s} {'none':>5s} {'false':>6s} {'second found':>13s}  examples")
    for number, (name, problem) in enumerate(PROBLEMS.items()):
        if names and not any(part in name for part in names):
            continue
        none = 0
        false = 0
        found = 0
        examples: dict[str, int] = {}
        for k in range(samples):
            rng = np.random.default_rng([design.seed, number, k])
            effects = named(analysed(problem.draw(rng, design), k))
            wrong = [one for one in effects if one not in problem.true]
            none += not effects
            false += bool(wrong)
            found += problem.second in effects
            for one in wrong[:1]:
                text = f"{one.kind} by {'×'.join(one.columns) or '-'}"
                examples[text] = examples.get(text, 0) + 1
        power = "" if problem.second is None else f"{found}"
        most = sorted(examples.items(), key=lambda one: -one[1])[:4]
        print(f"{name:34s} {none:5d} {false:6d} {power:>13s}  {most}", flush=True)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    numbers = [int(one) for one in arguments if one.isdigit()]
    main(
        samples=numbers[0] if numbers else 60,
        design=CHOSEN_ON if "chosen" in arguments else REPORTED,
        names=[one for one in arguments if not one.isdigit() and one != "chosen"],
    )
