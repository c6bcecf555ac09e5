"""The options that tests share, checked, and the sample in the units of the test."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypedDict, TypeVar

import numpy as np

from condgof._typing import IntArray
from condgof.engine import as_engine
from condgof.errors import (
    InputError,
    InputTypeError,
    UnsupportedModelError,
    check_choice,
    check_number,
    check_object,
)
from condgof.laws import Law, Scores, as_model, columns
from condgof.null import (
    NULLS,
    Dependence,
    Null,
    check_dependence,
    check_n_boot,
    choose_nulls,
    dependence_of,
)
from condgof.sample import (
    CONTENT_SEED,
    LIMITS,
    ArraySource,
    RngLike,
    RowWeights,
    Sample,
    Seed,
    Source,
    is_lazy,
    names_of,
    read_weights,
)
from condgof.stein import (
    DEFAULT_MEMORY,
    LEAST_MEMORY,
    SUBSAMPLE_ROWS,
    Plan,
    Prepared,
    PreparedRows,
    RowsInMemory,
    Units,
    design_rows,
    read_sample,
    row_numbers_in_errors,
    rows_of_source,
    subsample_numbers,
)

#: solver="auto" is exact up to this many multiplications, n²·n_boot: half a second on two
#: cores, and n = 5,000 for 1,000 draws.
EXACT_WORK = 2.5e10
#: Out-of-fold predictions may leave out this much of the predicted variance,
MOST_LEFT_OUT = 0.12
#: and this many standard errors of a mean square of n rows.
MOST_STANDARD_ERRORS = 1.5


class HowToRead(TypedDict, total=False):
    """The options of whatever reads rows; `kcsd` documents what they mean."""

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
    """Let the signature of a function of ``**how`` name these options, or all of them.

    So that ``help`` and editors show the options of `HowToTest` with their defaults, which
    stand once, in `Options`.
    """

    def spell(verb: Verb) -> Verb:
        *parameters, _ = inspect.signature(verb).parameters.values()
        defaults = inspect.signature(Options).parameters
        for name, annotation in HowToTest.__annotations__.items():
            if names and name not in names:
                continue
            default = defaults[name].default if name in defaults else None
            parameters.append(
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=default,
                    annotation=annotation.__forward_arg__,
                )
            )
        verb.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return verb

    return spell


class ReadOptions(NamedTuple):
    """The options of a test, checked."""

    options: Options
    seed: Seed


def read_options(verb: Callable[..., Any], how: HowToRead) -> ReadOptions:
    """Check the options that a user passed; refuse those that the test does not have."""
    known = inspect.signature(verb).parameters
    unknown = [name for name in how if name not in known]
    if unknown:
        listed = ", ".join(name for name, p in known.items() if p.kind is p.KEYWORD_ONLY)
        raise InputTypeError(
            f"{verb.__name__} has no option {unknown[0]!r}. It has {listed}."
        )
    asked: Any = dict(how)
    rng = asked.pop("rng", None)
    return ReadOptions(options=Options(**asked).checked(), seed=Seed.of(rng))


@dataclass(frozen=True, eq=False)
class Options:
    """How to solve, with the defaults of all tests."""

    solver: str = "auto"
    null: str = "auto"
    n_boot: int = 1000
    #: Relative residual that features of x and y should reach; None for the default, which
    #: also lets "auto" choose the exact solver.
    precision: float | None = None
    #: For rows ordered in time: a block length, or "auto".
    dependence: Any = None
    #: For rows in groups: the group of each row, (n,), or the name of a column.
    groups: Any = None
    missing: str = "refuse"
    engine: Any = None
    memory: int = DEFAULT_MEMORY  #: Budget of the exact solver, in bytes.
    #: How rows depend on each other; known once the rows are (`for_rows`).
    row_dependence: Dependence = field(default_factory=Dependence)

    def checked(self) -> Options:
        """Check what a user passed, and return it ready for use."""
        check_choice(self.solver, "solver", ("auto", "exact", "lowrank"))
        check_choice(self.null, "null", NULLS)
        precision = self.precision
        if precision is not None:
            precision = check_number(
                precision,
                "precision",
                "a number between 0 and 1, a residual to reach",
                lambda share: 0 < share < 1,
            )
        dependence = check_dependence(self.dependence, self.groups, self.null)
        memory = check_number(
            self.memory,
            "memory",
            f"at least {LEAST_MEMORY} bytes",
            lambda size: size >= LEAST_MEMORY,
        )
        return replace(
            self,
            precision=precision,
            n_boot=check_n_boot(self.n_boot),
            memory=int(min(memory, 2**60)),  # infinity is allowed, and is no int
            dependence=dependence,
            engine=as_engine(self.engine),
        )

    def for_rows(self, rows: PreparedRows, data: object) -> Options:
        """Return these options with `row_dependence`, how the rows depend on each other.

        `data` is the user's x (or y, or source), where a column may hold the groups.
        """
        row_dependence = dependence_of(
            self.dependence,
            self.groups,
            rows.total if rows.is_stream else rows.n,
            data,
            self.n_boot,
            # The sample of a stream is a subsample, which tells nothing of left-out rows.
            sample=None if rows.is_stream else rows.sample,
            stretches=partial(rows.stretches, engine=self.engine),
        )
        return replace(self, row_dependence=row_dependence)

    def chosen_solver(self, n: int) -> str:
        """Return the solver that runs: a fixed rule in n and the number of draws."""
        if self.solver != "auto":
            return self.solver
        is_small = float(n) * n * self.n_boot <= EXACT_WORK
        return "exact" if self.precision is None and is_small else "lowrank"

    def nulls(self, plan: Plan, rows: PreparedRows) -> list[Null]:
        """Choose the nulls of a test; the larger p-value counts."""
        return choose_nulls(
            plan,
            rows,
            rows.subsample.residuals,
            self.row_dependence,
            null=self.null,
            solver=self.solver,
            n_boot=self.n_boot,
        )


def refuse_unstable_folds(law: Law) -> None:
    """Refuse out-of-fold predictions that leave out too much of their estimates' error.

    Squared residuals of new rows exceed what is predicted by `left_out`, which a test takes
    for a misfit where it is not small beside the standard error √(2/n) of their mean.
    """
    error = law.fold_error
    if error is None or law.refits:
        return
    limit = min(MOST_LEFT_OUT, MOST_STANDARD_ERRORS * (2.0 / law.n) ** 0.5)
    if error.left_out <= limit:
        return
    raise UnsupportedModelError(
        "The predictions of crossfit depend on the rows of their fits: between fits they"
        f" vary by {error.instability:.2g} of the predicted variance, and predicted"
        f" variances leave out {error.left_out:.2g} (limit {limit:.2g} for {law.n:,} rows)."
        " New rows then spread more than predicted whatever the family, and a true family"
        " would be rejected too often. Pass refits=199 to crossfit, so that p-values come"
        " from refits; or use composite(fit, x, y); or let fit return standard deviations"
        " that hold the error of its estimates, as condgof.fits.sklearn does for"
        " regressors; or fit fewer parameters."
    )


def prepare(
    model: object,
    x: Any,
    y: Any,
    units: Units,
    options: Options,
    seed: Seed,
    weights: Any = None,
) -> Prepared:
    """Check a sample and compare it with its law, in memory or as a stream.

    `weights` are a user's weights of rows, (n,), or the name of a column of x.

    Units of x and landmarks come from a subsample wherever the rows are not summed pair by
    pair: with the low-rank solver, and in the adaptive test, where predictions are among
    the columns of x. The exact solver takes the units from all rows.

    The seed draws the subsample of the paper's tests, by the numbers of the rows, so that a
    stream and the same rows in memory give the same result. That of the adaptive test
    depends on no seed: in memory x itself decides (`design_rows`); of a stream, which is
    not read once more for that, the numbers of the rows do.
    """
    are_arrays = isinstance(x, np.ndarray) and isinstance(y, np.ndarray)
    if not are_arrays and comes_from_source(x, y):
        opened = open_source([model], x, y, options.missing, options.solver)
        (streamed,) = opened.models
        if units.predictions:
            LIMITS.searched_columns.check(opened.source.d_x, "x has")
            LIMITS.responses.check(opened.source.d_y, "y has")
        is_exact = options.chosen_solver(opened.source.n) == "exact"
        return rows_of_source(
            as_model(streamed),
            opened.source,
            units,
            CONTENT_SEED if units.predictions else seed,
            options.engine,
            all_rows=is_exact and not units.predictions,
            weights=source_weights(weights, opened.source),
        )
    law, sample = read_sample(as_model(model), x, y, options.missing, weights)
    refuse_unstable_folds(law)
    if units.predictions:
        _check_limits(law, sample)
    is_lowrank = options.chosen_solver(sample.n) == "lowrank"
    with row_numbers_in_errors(sample.kept if sample.left_out else None):
        rows = RowsInMemory.from_law(
            law, sample, units, _subsample(sample, units, seed, is_lowrank=is_lowrank)
        )
    return Prepared(law_or_model=law, rows=rows)


def source_weights(weights: Any, source: Any) -> RowWeights | None:
    """Read the weights of all rows of a source: a column of it, or one number a row."""
    return None if weights is None else read_weights(weights, source, source.n)


def _check_limits(law: Law, sample: Sample) -> None:
    """Refuse what a search through all columns, and all classes, takes too long for."""
    LIMITS.searched_columns.check(sample.d_x, "x has")
    LIMITS.responses.check(sample.d_y, "y has")
    names = getattr(law, "class_names", None)
    if names is not None:
        LIMITS.classes.check(len(names), "The model has")


def _subsample(
    sample: Sample, units: Units, seed: Seed, *, is_lowrank: bool
) -> IntArray | None:
    """Return the rows that units and landmarks come from, (b,); None where all do."""
    if units.predictions:
        return design_rows(sample)
    return subsample_numbers(sample.n, seed) if is_lowrank else None


def comes_from_source(x: Any, y: Any) -> bool:
    """Whether x or y is a source or a Dask array; refuse x in memory without y.

    Only such x and y are read in pieces, by `open_source`. All other x and y are in memory.
    """
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
    if comes_from_source(x, y):
        raise InputTypeError(
            f"{test} needs the sample in memory, and takes no source (condgof.scan) and no"
            " Dask arrays. kcsd, fscd and adaptive take them; or pass NumPy arrays or a"
            " frame."
        )


class OpenedSource(NamedTuple):
    """A source, and the models as they apply to its rows."""

    models: list[Any]  #: Models made of Dask arrays name columns of the source instead.
    source: Any  #: A `Source` or an `ArraySource`.


def open_source(
    models: Sequence[Any], x: Any, y: Any, missing: str, solver: str
) -> OpenedSource:
    """Open the source of a sample, and refuse what a source cannot do.

    x is a source with y = None, or x and y are Dask arrays; x = None with a Dask array y is
    a sample without covariates. Dask arrays become columns of one `ArraySource`, and so do
    those that a model is made of: the model is then `columns` of that source.
    """
    opened = list(models)
    if is_lazy(x) or is_lazy(y):
        arrays = {"y": y} if x is None else {"y": y, "x": x}
        for number, model in enumerate(opened):
            prefix = f"model {number} " if len(opened) > 1 else ""
            parts = _lazy_parts(model)
            if not any(map(is_lazy, parts.values())):
                continue
            named: dict[str, list[str]] = {}
            for part, values in parts.items():
                arrays[prefix + part] = values
                width = 1 if np.ndim(values) < 2 else np.shape(values)[1]
                named[part] = list(names_of(prefix + part, width))
            opened[number] = columns(**named)  # type: ignore[arg-type]
        x = ArraySource.from_arrays(arrays)
        y = None
    if not isinstance(x, (Source, ArraySource)):
        raise InputTypeError("y is a source: pass it as x, and leave y out.")
    if y is not None:
        raise InputError("A source brings its own y: leave y out.")
    if missing != "refuse":
        raise InputError(
            f"missing={missing!r} is for rows in memory: leave rows with missing values out"
            " of the source first, or use condgof check --drop-nulls."
        )
    if solver == "exact" and x.n > SUBSAMPLE_ROWS:
        raise InputError(
            "solver='exact' needs the sample in memory; a source is for 'lowrank'."
        )
    return OpenedSource(models=opened, source=x)


def _lazy_parts(model: Any) -> dict[str, Any]:
    """Return the arrays that a model is made of, by role, where they may be lazy."""
    if isinstance(model, Scores):
        return {"score": model.values}
    if isinstance(model, tuple) and len(model) == 2:
        mean, std = model
        return {"mean": mean, "std": std}
    return {}
