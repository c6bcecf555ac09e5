"""How to test: what a user asked for, checked; and the sample, made ready."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict, TypeVar

import numpy as np

from condgof.engine import Engine, as_engine
from condgof.errors import InputTypeError, check_choice, check_number
from condgof.laws._as_model import as_model
from condgof.laws._law import Law, ModelLike
from condgof.laws._survival import censored
from condgof.methods._dependence import Asked, dependence_of
from condgof.methods._scored import SUBSAMPLE, Scored, Units, check_y, read_sample, rows_named
from condgof.methods._sources import Stream, check_source, elsewhere, lay_out, read_source, refuse_source
from condgof.null._bootstrap import Dependence, check_null
from condgof.sample import RngLike, Seed
from condgof.stein._matrix import DEFAULT_MEMORY, check_memory

SOLVERS = ("auto", "exact", "lowrank")
#: "auto" is exact up to this many multiplications, n²·m: half a second on two cores.
EXACT_WORK = 2.5e10


class HowToTest(TypedDict, total=False):
    """The options that the Stein tests share; `kcsd` says what they mean."""

    solver: str
    null: str
    n_boot: int
    precision: float | None
    dependence: Any
    groups: Any
    missing: str
    rng: RngLike
    engine: Any
    memory: int


DEFAULTS: HowToTest = {
    "solver": "auto",
    "null": "auto",
    "n_boot": 1000,
    "precision": None,
    "dependence": None,
    "groups": None,
    "missing": "refuse",
    "rng": None,
    "engine": None,
    "memory": DEFAULT_MEMORY,
}
Verb = TypeVar("Verb", bound=Callable[..., Any])


def spelled_out(verb: Verb) -> Verb:
    """Let the signature of a function of ``**how`` name these options and their defaults."""
    signature, kinds = inspect.signature(verb), HowToTest.__annotations__
    *own, _ = signature.parameters.values()
    shared = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=kinds[name].__forward_arg__
        )
        for name, value in DEFAULTS.items()
    ]
    verb.__signature__ = signature.replace(parameters=own + shared)  # type: ignore[attr-defined]
    return verb


def read_options(how: HowToTest) -> tuple[Options, Seed]:
    """Check the options that a user passed to a test."""
    unknown = [name for name in how if name not in DEFAULTS]
    if unknown:
        raise InputTypeError(
            f"There is no option {unknown[0]!r}. The tests share {', '.join(DEFAULTS)}."
        )
    asked: Any = {**DEFAULTS, **how}
    rng = asked.pop("rng")
    return Options.of(**asked), Seed.of(rng)


@dataclass(frozen=True, eq=False)
class Options:
    """How to solve, checked."""

    solver: str
    null: str
    n_boot: int
    #: Relative residual that features of x and of y should reach; None for the default.
    precision: float | None
    engine: Engine
    #: Budget of the exact solver, in bytes.
    memory: int
    #: What was said of how rows depend on each other.
    asked: Asked
    missing: str
    #: How rows depend on each other; known once the sample is (`for_rows`).
    rows: Dependence = field(default_factory=Dependence)

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
        check_choice(solver, "solver", SOLVERS)
        check_null(null, n_boot)
        if precision is not None:
            wanted = "a number between 0 and 1, a residual to reach"
            precision = check_number(precision, "precision", wanted, lambda share: 0 < share < 1)
        asked = Asked.of(dependence, groups, null)
        runs, memory = as_engine(engine), check_memory(memory)
        return cls(solver, null, int(n_boot), precision, runs, memory, asked, missing)

    def for_rows(self, scored: Scored | Stream, data: Any) -> Options:
        """Find out how the rows of a sample depend on each other; `data` may have a column of groups."""
        return replace(self, rows=dependence_of(self.asked, scored, data, self.engine, self.n_boot))

    def chosen(self, n: int) -> str:
        """Return the solver that runs: a fixed rule in n and the number of draws."""
        if self.solver != "auto":
            return self.solver
        if self.precision is not None:
            return "lowrank"
        return "exact" if float(n) * n * self.n_boot <= EXACT_WORK else "lowrank"


def check_reg(reg: Any) -> float:
    """Check the constant that is added to σ̂_V."""
    return check_number(reg, "reg", "finite and not negative", lambda value: 0 <= value < np.inf)


def censored_model(model: Any, x: Any, y: Any, event: Any, entry: Any) -> Any:
    """Bind a model to what was said of censoring; return it as it is where nothing was."""
    if event is None and entry is None:
        return model
    refuse_source("event=", x, y)
    return censored(as_model(model), event, entry, x)


def prepare(
    model: Any, x: Any, y: Any, units: Units, options: Options, seed: Seed
) -> tuple[Law, Scored] | tuple[ModelLike, Stream]:
    """Check and score a sample; also return the law of rows in memory, or the model of a stream."""
    arrays = isinstance(x, np.ndarray) and isinstance(y, np.ndarray)
    if not arrays and elsewhere(x, y):
        return _prepare_source(model, x, y, units, options, seed)
    check_y(y)
    law, sample = read_sample(as_model(model), x, y, options.missing)
    many = units.predictions or options.chosen(sample.n) == "lowrank"
    with rows_named(sample.kept if sample.left_out else None):
        return law, Scored.of(law, sample, units, seed if many else None)


def _prepare_source(
    model: Any, x: Any, y: Any, units: Units, options: Options, seed: Seed
) -> tuple[Law, Scored] | tuple[ModelLike, Stream]:
    """Score a small source in memory, and a large one, or Dask arrays, as a stream."""
    (model,), source, y = lay_out([model], x, y)
    check_source(source, y, options.solver, options.missing)
    if source.n <= SUBSAMPLE or (options.chosen(source.n) == "exact" and not units.predictions):
        return read_source(model, source, units)
    stream = Stream.of(model, source, seed, options.engine, units)
    return stream.model, stream
