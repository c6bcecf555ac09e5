"""How to test: what a user asked for, checked; and the sample, made ready."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condgof.engine import Engine, as_engine
from condgof.errors import InputError
from condgof.laws import Law, ModelLike, as_model, censored
from condgof.methods._dependence import INDEPENDENT, Asked, dependence_of
from condgof.methods._rows import (
    SUBSAMPLE,
    Scored,
    Stream,
    Units,
    check_source_call,
    in_memory,
    lay_out,
    read_sample,
    refuse_source,
    rows_named,
)
from condgof.null import Dependence, check_null
from condgof.sample import Seed
from condgof.stein import DEFAULT_MEMORY, check_memory

SOLVERS = ("auto", "exact", "lowrank")
#: "auto" is exact up to this many multiplications, n²·m: half a second on two cores.
EXACT_WORK = 2.5e10


@dataclass(frozen=True, eq=False)
class Options:
    """How to solve, checked."""

    #: As asked for.
    solver: str
    null: str
    #: Number of draws.
    n_boot: int
    #: Relative residual that features of x and of y should reach; None for the default.
    precision: float | None
    #: Where the work runs.
    engine: Engine
    #: Budget of the exact solver, in bytes.
    memory: int
    #: What was said of how rows depend on each other.
    asked: Asked
    #: How they do; known once the sample is (`for_rows`).
    rows: Dependence = INDEPENDENT
    #: What to do about missing values.
    missing: str = "refuse"

    @classmethod
    def of(
        cls,
        solver: Any,
        null: Any,
        n_boot: Any,
        precision: Any = None,
        dependence: Any = None,
        groups: Any = None,
        missing: str = "refuse",
        engine: Any = None,
        memory: Any = DEFAULT_MEMORY,
    ) -> Options:
        """Check what a user passed."""
        if not isinstance(solver, str) or solver not in SOLVERS:
            raise InputError(f"solver must be one of {', '.join(map(repr, SOLVERS))}, got {solver!r}.")
        check_null(null, n_boot)
        return cls(
            solver,
            null,
            int(n_boot),
            check_precision(precision),
            as_engine(engine),
            check_memory(memory),
            Asked.of(dependence, groups, null),
            missing=missing,
        )

    def for_rows(self, scored: Scored | Stream, data: Any) -> Options:
        """Find out how the rows of a sample depend on each other; `data` may have a column of groups."""
        found = dependence_of(self.asked, scored, data, self.engine, self.n_boot)
        return replace(self, rows=found)

    def chosen(self, n: int) -> str:
        """Return the solver that runs: a fixed rule in n and the number of draws."""
        if self.solver != "auto":
            return self.solver
        if self.precision is not None:
            return "lowrank"
        return "exact" if float(n) * n * self.n_boot <= EXACT_WORK else "lowrank"


def check_precision(precision: Any) -> float | None:
    """Check the relative residual that a user asked for."""
    if precision is None:
        return None
    number = isinstance(precision, (int, float, np.floating)) and not isinstance(precision, bool)
    if not number or not 0 < precision < 1:
        raise InputError(
            f"precision must be a number between 0 and 1, a residual to reach, got {precision!r}."
        )
    return float(precision)


def censored_model(model: Any, x: Any, y: Any, event: Any, entry: Any) -> Any:
    """Bind a model to what was said of censoring; return it as it is where nothing was."""
    if event is None and entry is None:
        return model
    refuse_source("event=", x, y)
    return censored(as_model(model), event, entry, x)


def prepare(model: Any, x: Any, y: Any, units: Units, options: Options, seed: Seed) -> Scored | Stream:
    """Check and score a sample: arrays or a small source in memory, a large one as a stream."""
    return prepare_with_model(model, x, y, units, options, seed)[1]


def prepare_with_model(
    model: Any, x: Any, y: Any, units: Units, options: Options, seed: Seed
) -> tuple[Law, Scored] | tuple[ModelLike, Stream]:
    """Do the same, and return the law of rows in memory, or the model of a stream."""
    (model,), x, y = lay_out([model], x, y)
    model = as_model(model)
    if not check_source_call(x, y, options.solver, options.missing):
        law, sample = read_sample(model, x, y, options.missing)
        many = units.predictions or options.chosen(sample.n) == "lowrank"
        with rows_named(sample.kept if sample.left_out else None):
            return law, Scored.of(law, sample, units, seed if many else None)
    if x.n <= SUBSAMPLE or (options.chosen(x.n) == "exact" and not units.predictions):
        return in_memory(model, x, units)
    stream = Stream.of(model, x, seed, options.engine, units)
    return stream.model, stream


def check_count(count: Any, name: str) -> int:
    """Check a number of things that must be at least 1."""
    try:
        number = operator.index(count)
    except TypeError as error:
        raise InputError(f"{name} must be an integer, got {count!r}.") from error
    if isinstance(count, (bool, np.bool_)):
        raise InputError(f"{name} must be an integer, got {count!r}.")
    if number < 1:
        raise InputError(f"{name} must be at least 1, got {number}.")
    return number


def check_reg(reg: Any) -> float:
    """Check the constant that is added to σ̂_V."""
    if isinstance(reg, bool) or not isinstance(reg, (int, float, np.floating, np.integer)):
        raise InputError(f"reg must be a number, got {reg!r}.")
    if not 0 <= reg < np.inf:
        raise InputError(f"reg must be finite and not negative, got {reg!r}.")
    return float(reg)
