"""How to test: what a user asked for, checked, and the sample made ready for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypedDict, TypeVar

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import Engine, as_engine
from condgof.errors import (
    InputError,
    InputTypeError,
    check_choice,
    check_number,
    check_object,
)
from condgof.laws._as_model import as_model, columns
from condgof.laws._functions import Scores
from condgof.laws._law import ModelLike
from condgof.methods import _scored as scoring
from condgof.methods._scored import CENSORED, SUBSAMPLE, Scored, Units
from condgof.null._bootstrap import NULLS, check_n_boot
from condgof.null._dependence import STRETCHES, Dependence, check_dependence, dependence_of
from condgof.sample import ArraySource, RngLike, Seed, Source, is_lazy, names_of
from condgof.stein._matrix import DEFAULT_MEMORY, LEAST_MEMORY

#: "auto" is exact up to this many multiplications, n²·m: half a second on two cores.
EXACT_WORK = 2.5e10
#: Of residuals of many classes, so many columns are looked at for dependence.
COLUMNS = 16


class HowToRead(TypedDict, total=False):
    """The options of whatever looks at rows; `kcsd` says what they mean."""

    dependence: Any
    groups: Any
    missing: str
    rng: RngLike
    engine: Any
    memory: int


class HowToTest(HowToRead, total=False):
    """The options that the tests share."""

    solver: str
    null: str
    n_boot: int
    precision: float | None


Verb = TypeVar("Verb", bound=Callable[..., Any])


def spelled_out(*names: str) -> Callable[[Verb], Verb]:
    """Let the signature of a function of ``**how`` name these options, or all, and their defaults."""

    def spell(verb: Verb) -> Verb:
        *own, _ = inspect.signature(verb).parameters.values()
        defaults = {
            name: p.default for name, p in inspect.signature(Options).parameters.items()
        }
        for name, kind in HowToTest.__annotations__.items():
            if not names or name in names:
                said: Any = {
                    "default": defaults.get(name),
                    "annotation": kind.__forward_arg__,
                }
                own.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, **said))
        verb.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
        return verb

    return spell


def read_options(verb: Callable[..., Any], how: HowToRead) -> tuple[Options, Seed]:
    known = inspect.signature(verb).parameters
    unknown = [name for name in how if name not in known]
    if unknown:
        options = ", ".join(name for name, p in known.items() if p.kind is p.KEYWORD_ONLY)
        raise InputTypeError(
            f"{verb.__name__} has no option {unknown[0]!r}. It has {options}."
        )
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
        check_choice(asked.null, "null", NULLS)
        precision = asked.precision
        if precision is not None:
            wanted = "a number between 0 and 1, a residual to reach"
            precision = check_number(
                precision, "precision", wanted, lambda share: 0 < share < 1
            )
        dependence = check_dependence(asked.dependence, asked.groups, asked.null)
        least = f"at least {LEAST_MEMORY} bytes"
        memory = check_number(
            asked.memory, "memory", least, lambda size: size >= LEAST_MEMORY
        )
        told: Any = {
            "n_boot": check_n_boot(asked.n_boot),
            "memory": int(min(memory, 2**60)),
        }
        told |= {"dependence": dependence, "engine": as_engine(asked.engine)}
        return replace(asked, precision=precision, **told)

    def for_rows(self, scored: Scored, data: object) -> Options:
        """Find out how the rows of a sample depend on each other; `data` may have a column of groups."""
        sample, n = (
            (scored.sample, scored.n)
            if scored.source is None
            else (None, scored.source.total)
        )
        stretches = partial(stretches_of, scored, self.engine)
        asked = self.dependence, self.groups, n, data, self.n_boot
        return replace(self, rows=dependence_of(*asked, sample, stretches))

    def chosen(self, n: int) -> str:
        """Return the solver that runs: a fixed rule in n and the number of draws."""
        if self.solver != "auto":
            return self.solver
        few = self.precision is None and float(n) * n * self.n_boot <= EXACT_WORK
        return "exact" if few else "lowrank"


def prepare(
    model: object, x: Any, y: Any, units: Units, options: Options, seed: Seed
) -> tuple[ModelLike, Scored]:
    """Check and score a sample; also return the law of rows in memory, or the model of a stream."""
    arrays = isinstance(x, np.ndarray) and isinstance(y, np.ndarray)
    if not arrays and elsewhere(x, y):
        (given,), source = open_source([model], x, y, options.missing, options.solver)
        return scoring.prepare_source(as_model(given), source, units, options, seed)
    law, sample = scoring.read_sample(as_model(model), x, y, options.missing)
    many = units.predictions or options.chosen(sample.n) == "lowrank"
    with scoring.rows_named(sample.kept if sample.left_out else None):
        return law, Scored.of(law, sample, units, seed if many else None)


def elsewhere(x: Any, y: Any) -> bool:
    """Tell whether x or y is a source or a Dask array; refuse x in memory without y."""
    check_object(x, "x")
    check_object(y, "y")
    if any(isinstance(part, (Source, ArraySource)) or is_lazy(part) for part in (x, y)):
        return True
    if y is None:
        raise InputTypeError(
            "y is missing. Pass y, or a source from condgof.scan(...) as x, which brings"
            " its own y."
        )
    return False


def needs_memory(test: str, x: Any, y: Any) -> None:
    """Refuse a source or Dask arrays, for a test that needs the sample in memory."""
    if elsewhere(x, y):
        raise InputTypeError(
            f"{test} needs the sample in memory, and takes no source (condgof.scan) and no"
            " Dask arrays. kcsd, fscd and adaptive take them; or pass NumPy arrays or a"
            " frame."
        )


def open_source(
    models: Sequence[Any], x: Any, y: Any, missing: str, solver: str
) -> tuple[list[Any], Any]:
    """Return what models are of, and the source; of Dask arrays, as columns of it. x may be None."""
    given = list(models)
    if is_lazy(x) or is_lazy(y):
        arrays = {"y": y} if x is None else {"y": y, "x": x}
        for k, model in enumerate(given):
            own = f"model {k} " if len(given) > 1 else ""
            pair = isinstance(model, tuple) and len(model) == 2
            parts = dict(zip(("mean", "std"), model, strict=True)) if pair else {}
            parts = {"score": model.values} if isinstance(model, Scores) else parts
            if any(map(is_lazy, parts.values())):
                arrays |= {own + part: values for part, values in parts.items()}
                wide = {
                    part: 1 if np.ndim(v) < 2 else np.shape(v)[1]
                    for part, v in parts.items()
                }
                named: Any = {
                    part: list(names_of(own + part, width)) for part, width in wide.items()
                }
                given[k] = columns(**named)
        x, y = ArraySource.of(arrays), None
    if not isinstance(x, (Source, ArraySource)):
        raise InputTypeError("y is a source: pass it as x, and leave y out.")
    if y is not None:
        raise InputError("A source brings its own y: leave y out.")
    if missing != "refuse":
        raise InputError(
            f"missing={missing!r} is for rows in memory: leave rows with missing values out"
            " of the source first, or use condgof check --drop-nulls."
        )
    if solver == "exact" and x.n > SUBSAMPLE:
        raise InputError(
            "solver='exact' needs the sample in memory; a source is for 'lowrank'."
        )
    return given, x


def stretches_of(scored: Scored, engine: Engine, size: int) -> list[FloatArray]:
    """Return scores of rows that follow each other: all of them, or some stretches of a source."""
    n = scored.sample.n if scored.source is None else scored.source.total
    if scored.source is None and isinstance(scored.scores, np.ndarray):
        # Of times with censoring the residual; events and entries may well come in an
        # order.
        return [scored.scores[:, :1] if scored.by == CENSORED else scored.scores]
    if scored.source is not None and n <= STRETCHES * size:
        return [scoring.score_rows(scored, np.arange(n), engine)[0].scores]
    starts = np.unique(np.linspace(0, max(n - size, 0), STRETCHES).astype(np.int64))
    ends = np.append(starts[1:], n)  # so that stretches do not overlap
    cuts = [slice(a, min(a + size, b)) for a, b in zip(starts, ends, strict=True)]
    if (
        scored.source is None
    ):  # residuals of many classes, which are made when they are asked for
        return [np.asarray(scored.scores[cut])[:, :COLUMNS] for cut in cuts]
    rows = np.concatenate([np.arange(cut.start, cut.stop) for cut in cuts])
    return list(np.split(scoring.score_rows(scored, rows, engine)[0].scores, STRETCHES))
