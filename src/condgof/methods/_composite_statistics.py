"""The statistics that `composite` evaluates again and again: each sample once, without draws.

What belongs to x alone (the checked sample, its kernel and bandwidth, locations) is made once, since
no replicate changes x. What looks at y (a median distance on y, say) is made anew for each sample, so
that the observed statistic and those of the replicates are the same function of the data.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.engine import Threads
from condgof.errors import InputError, InputTypeError
from condgof.kernels import CovariateKernel, Gaussian, Kernel
from condgof.laws import ModelLike, accepts
from condgof.methods._adaptive import adaptive
from condgof.methods._composite_adaptive import ADAPTIVE_OPTIONS, AdaptiveStatistic
from condgof.methods._composite_base import Combined, Statistic
from condgof.methods._fscd import fscd
from condgof.methods._kcsd import kcsd
from condgof.methods._mmd import mmd
from condgof.methods._prepare import Scored, Units
from condgof.methods._solve import Options
from condgof.methods._zheng import zheng
from condgof.result import GofResult
from condgof.sample import Sample, Seed
from condgof.stein import DEFAULT_MEMORY, ArrayWeights, sweep

TESTS: dict[str, Callable[..., GofResult]] = {
    "kcsd": kcsd,
    "adaptive": adaptive,
    "fscd": fscd,
    "mmd": mmd,
    "zheng": zheng,
}
#: What `composite` decides itself, and what is of no use where the rows of a replicate are independent.
OWN = ("rng", "engine", "n_boot", "null", "dependence", "groups", "missing")
#: Options that `KcsdStatistic` knows; with any other the test itself is called.
KNOWN = {"kernel_x", "kernel_y", "scale_x", "standardize", "solver", "memory"}
#: "auto" is exact up to as many rows as with this many draws: 5,000.
DRAWS = 1000
#: Rows of a tile.
TILE = 256


class Single:
    """A statistic that is one number."""

    def combined(self, values: FloatArray, draws: FloatArray) -> Combined:
        """Return it as it is."""
        return Combined(float(values[0]), np.array(draws[0]), {})


@dataclass(frozen=True, eq=False)
class Called(Single):
    """A test of the library, called with a single draw, or a user's function.

    Parameters
    ----------
    name : str
        What results call it.
    test : callable
        (model, x, y, ...) → a number, or a result with a ``statistic``.
    x : array or frame
        The covariates, as the user passed them.
    options : mapping
        Given to every call; where they hold an rng, it is the same number each time.
    """

    name: str
    test: Callable[..., Any]
    x: Any
    options: Mapping[str, Any]

    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        """Call it."""
        return _number(self.test(model, self.x, y, **self.options), self.name)


@dataclass(frozen=True, eq=False)
class KcsdStatistic(Single):
    """n·D̂ of `kcsd`, exact, with the kernel on x made once."""

    sample: Sample
    kernel_x: CovariateKernel
    kernel_y: Kernel
    units: Units
    seed: Seed
    name: str = "kcsd"

    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        """Sum over the Stein matrix."""
        scored = Scored.of(model, self.sample.with_y(y), self.units)
        operator = scored.operator(self.kernel_x, scored.kernel_on_y(self.kernel_y, self.seed))
        none = ArrayWeights(np.empty((scored.n, 0)))
        sums = sweep(operator, none, engine=Threads(1), tile=TILE)
        return np.array([sums.total / (scored.n - 1)])


def check_statistic(statistic: Any, options: Mapping[str, Any]) -> str | None:
    """Return the name of a test of the library, or None for a user's own function; check options."""
    name = next((name for name, test in TESTS.items() if statistic in (name, test)), None)
    if name is None:
        if not callable(statistic):
            raise InputError(
                f"statistic must be one of {', '.join(map(repr, TESTS))}, or a function "
                f"(model, x, y) → number, got {statistic!r}."
            )
        return None
    parameters = inspect.signature(TESTS[name]).parameters.values()
    known = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} - set(OWN)
    known &= ADAPTIVE_OPTIONS if name == "adaptive" else known
    if "null" in options:
        raise InputTypeError(
            "composite has a null distribution of its own, from refits, and takes no null=."
        )
    wrong = [option for option in options if option not in known]
    if wrong:
        raise InputTypeError(
            f"{name} has no option {wrong[0]!r}. Its options here: {', '.join(sorted(known))}."
        )
    return name


def make_statistic(
    statistic: Any,
    options: Mapping[str, Any],
    sample: Sample,
    model: ModelLike,
    reference: AnyArray,
    seed: Seed,
    missing: str = "refuse",
) -> tuple[Statistic, GofResult | None]:
    """Make ready a statistic for one x; also return what the test itself says of the observed sample.

    Parameters
    ----------
    statistic : str or callable
        As the user passed it.
    options : mapping
        Options of the test.
    sample : Sample
        The observed sample.
    model : ModelLike
        The model fitted on it.
    reference : ndarray of shape (n, d_y)
        Responses drawn from that model.
    seed : Seed
        The seed of the call. Every evaluation starts from it, so that splits, locations and the like
        are the same in all of them.
    missing : str
        What to do about missing values of x.
    """
    name, x = check_statistic(statistic, options), sample.x_given
    if name is None:
        given = {**options, **({"rng": seed.value} if accepts(statistic, "rng") else {})}
        label = getattr(statistic, "__name__", type(statistic).__name__)
        return Called(label.strip("<>"), statistic, x, given), None
    options = _solved(name, dict(options), sample.n)
    given = {**options, "rng": seed.value, "engine": 1, "missing": missing}
    given |= {"n_boot": 1} if name != "zheng" else {}
    described = TESTS[name](model, x, sample.y_given, **given)
    if name == "adaptive":
        return AdaptiveStatistic.of(sample.with_y(reference), model, options, seed), described
    if name == "kcsd" and options["solver"] == "exact" and set(options) <= KNOWN:
        units = Units(options.get("scale_x", "none"), options.get("standardize", "none"))
        asked_x, asked_y = (options.get(k, Gaussian("median")) for k in ("kernel_x", "kernel_y"))
        ready, _ = Scored.of(model, sample, units).kernels(asked_x, asked_y, seed)
        return KcsdStatistic(sample, ready, asked_y, units, seed), described
    return Called(name, TESTS[name], x, given), described


def _solved(name: str, options: dict[str, Any], n: int) -> dict[str, Any]:
    """Settle the solver by the number of rows, where the test has solvers."""
    if "solver" in inspect.signature(TESTS[name]).parameters:
        asked = Options.of(
            solver=options.get("solver", "auto"),
            null="wild",
            n_boot=DRAWS,
            rank=options.get("rank"),
            tolerance=options.get("tolerance"),
            memory=options.get("memory", DEFAULT_MEMORY),
        )
        options["solver"] = asked.chosen(n)
    return options


def _number(found: Any, name: str) -> FloatArray:
    """Read a statistic: a number, or the one of a result."""
    value = getattr(found, "statistic", found)
    try:
        return np.array([float(value)])
    except (TypeError, ValueError) as error:
        raise InputTypeError(
            f"The statistic {name} must return a number or a GofResult, got {type(found).__name__}."
        ) from error
