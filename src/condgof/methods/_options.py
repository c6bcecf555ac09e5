"""How to test: what a user asked for, checked, and the sample made ready for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict, TypeVar

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine, as_engine
from condgof.errors import InputTypeError, check_choice, check_number
from condgof.laws._as_model import as_model
from condgof.laws._law import ModelLike
from condgof.methods._scored import CENSORED, Scored, Units, read_sample, rows_named
from condgof.methods._sources import elsewhere, prepare_source, score_rows
from condgof.null._bootstrap import check_null
from condgof.null._dependence import STRETCHES, Asked, Dependence, dependence_of
from condgof.sample import RngLike, Seed
from condgof.stein._matrix import DEFAULT_MEMORY, LEAST_MEMORY

#: "auto" is exact up to this many multiplications, n²·m: half a second on two cores.
EXACT_WORK = 2.5e10
#: Of residuals of many classes, so many columns are looked at for dependence.
COLUMNS = 16


class HowToTest(TypedDict, total=False):
    """The options that the tests share; `kcsd` says what they mean."""

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


Verb = TypeVar("Verb", bound=Callable[..., Any])


def spelled_out(*names: str) -> Callable[[Verb], Verb]:
    """Let the signature of a function of ``**how`` name these options, or all, and their defaults."""

    def spell(verb: Verb) -> Verb:
        *own, _ = inspect.signature(verb).parameters.values()
        defaults = {name: p.default for name, p in inspect.signature(Options).parameters.items()}
        for name, kind in HowToTest.__annotations__.items():
            if not names or name in names:
                said: Any = {"default": defaults.get(name), "annotation": kind.__forward_arg__}
                own.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, **said))
        verb.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
        return verb

    return spell


def read_options(verb: Callable[..., Any], how: HowToTest) -> tuple[Options, Seed]:
    known = inspect.signature(verb).parameters
    unknown = [name for name in how if name not in known]
    if unknown:
        options = ", ".join(name for name, p in known.items() if p.kind is p.KEYWORD_ONLY)
        raise InputTypeError(f"{verb.__name__} has no option {unknown[0]!r}. It has {options}.")
    asked: Any = dict(how)
    rng = asked.pop("rng", None)
    return Options.of(**asked), Seed.of(rng)


@dataclass(frozen=True, eq=False)
class Options:
    """How to solve, with defaults; `of` checks what a user passed."""

    solver: str = "auto"
    null: str = "auto"
    n_boot: int = 1000
    #: Relative residual that features of x and of y should reach; None for the default.
    precision: float | None = None
    dependence: Any = None
    groups: Any = None
    missing: str = "refuse"
    engine: Any = None
    memory: int = DEFAULT_MEMORY  #: Budget of the exact solver, in bytes.
    #: How rows depend on each other; known once the sample is (`for_rows`).
    rows: Dependence = field(default_factory=Dependence)

    @classmethod
    def of(cls, *given: Any, **named: Any) -> Options:
        """Check what a user passed, in this order or by name."""
        asked = cls(*given, **named)
        check_choice(asked.solver, "solver", ("auto", "exact", "lowrank"))
        check_null(asked.null, asked.n_boot)
        precision = asked.precision
        if precision is not None:
            wanted = "a number between 0 and 1, a residual to reach"
            precision = check_number(precision, "precision", wanted, lambda share: 0 < share < 1)
        Asked.of(asked.dependence, asked.groups, asked.null)
        engine, memory, count = as_engine(asked.engine), check_memory(asked.memory), int(asked.n_boot)
        return replace(asked, n_boot=count, precision=precision, engine=engine, memory=memory)

    def for_rows(self, scored: Scored, data: Any) -> Options:
        """Find out how the rows of a sample depend on each other; `data` may have a column of groups."""
        sample, n = (scored.sample, scored.n) if scored.source is None else (None, scored.source.total)

        def stretches(size: int) -> list[Any]:
            return stretches_of(scored, self.engine, size)

        asked = Asked.of(self.dependence, self.groups, self.null)
        return replace(self, rows=dependence_of(asked, n, data, self.n_boot, sample, stretches))

    def chosen(self, n: int) -> str:
        """Return the solver that runs: a fixed rule in n and the number of draws."""
        if self.solver != "auto":
            return self.solver
        few = self.precision is None and float(n) * n * self.n_boot <= EXACT_WORK
        return "exact" if few else "lowrank"


def check_reg(reg: Any) -> float:
    return check_number(reg, "reg", "finite and not negative", lambda value: 0 <= value < np.inf)


def check_memory(memory: object) -> int:
    wanted = f"at least {LEAST_MEMORY} bytes"
    return int(min(check_number(memory, "memory", wanted, lambda size: size >= LEAST_MEMORY), 2**60))


def prepare(
    model: Any, x: Any, y: Any, units: Units, options: Options, seed: Seed
) -> tuple[ModelLike, Scored]:
    """Check and score a sample; also return the law of rows in memory, or the model of a stream."""
    arrays = isinstance(x, np.ndarray) and isinstance(y, np.ndarray)
    if not arrays and elsewhere(x, y):
        return prepare_source(model, x, y, units, options, seed)
    law, sample = read_sample(as_model(model), x, y, options.missing)
    many = units.predictions or options.chosen(sample.n) == "lowrank"
    with rows_named(sample.kept if sample.left_out else None):
        return law, Scored.of(law, sample, units, seed if many else None)


def stretches_of(scored: Scored, engine: Engine, size: int) -> list[FloatArray]:
    """Return scores of rows that follow each other: all of them, or some stretches of a source."""
    n = scored.sample.n if scored.source is None else scored.source.total
    if scored.source is None and isinstance(scored.scores, np.ndarray):
        # Of times with censoring the residual; events and entries may well come in an order.
        return [scored.scores[:, :1] if scored.by == CENSORED else scored.scores]
    if scored.source is not None and n <= STRETCHES * size:
        return [score_rows(scored, np.arange(n), engine)[0].scores]
    starts = np.unique(np.linspace(0, max(n - size, 0), STRETCHES).astype(np.int64))
    ends = np.append(starts[1:], n)  # so that stretches do not overlap
    cuts = [slice(a, min(a + size, b)) for a, b in zip(starts, ends, strict=True)]
    if scored.source is None:  # residuals of many classes, which are made when they are asked for
        return [np.asarray(scored.scores[cut])[:, :COLUMNS] for cut in cuts]
    rows = np.concatenate([np.arange(cut.start, cut.stop) for cut in cuts])
    return list(np.split(score_rows(scored, rows, engine)[0].scores, STRETCHES))
