"""Level and power studies: many trials, on all cores, that can be stopped and gone on with."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import math
import operator
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from condgof.engine import as_workers, with_progress
from condgof.errors import InputError, InputTypeError, MissingPackageError, SupportError
from condgof.result import check_alpha
from condgof.sample import RngLike, Seed
from condgof.study import _problems
from condgof.study._names import OWN, Reference, as_methods, definition, unknown
from condgof.study._problems import PROBLEMS, Problem
from condgof.study._store import open_store
from condgof.study._study import Outcome, Study, Topic, Trial


def stream(seed: int, *coordinates: str | int) -> np.random.Generator:
    """Return the random stream that belongs to some coordinates and to no others."""
    # A hash rather than a sum or a list of numbers: names may be anything, and streams must not meet.
    digest = hashlib.sha256(json.dumps([seed, *coordinates]).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def draw_trial(problem: str | Problem, n: int, trial: int, *, rng: RngLike = 0) -> tuple[Any, Any, Any]:
    """Return the model and the sample that a study tests in one trial, whatever the method.

    Parameters
    ----------
    problem : str or Problem
        The problem, or its name.
    n, trial : int
        The size and the number of the trial.
    rng : int, numpy.random.Generator or None
        The `rng` of the study.

    Returns
    -------
    model, x, y

    Examples
    --------
    >>> model, x, y = draw_trial("qgm", 5, 0)
    >>> x.shape, y.shape
    ((5, 1), (5, 1))
    """
    case = _problems.problem(problem) if isinstance(problem, str) else problem
    return case.trial(n, stream(Seed.of(rng).value, "sample", case.name, n, trial))


@dataclass(frozen=True)
class Runner:
    """Runs trials of a study, of problems and methods that are objects or references; it travels."""

    seed: int
    problems: Mapping[str, Any]
    methods: Mapping[str, Any]

    def __call__(self, at: Trial) -> Outcome:
        """Run one trial; what goes wrong in it is its outcome."""
        case, method = self.problems[at.problem], self.methods[at.method]
        start = time.perf_counter()
        try:
            case = _load(case)
            method = method.load() if isinstance(method, Reference) else method
            model, x, y = draw_trial(case, at.n, at.trial, rng=self.seed)
            rng = int(stream(self.seed, "method", *at[:2], at.trial, at.method).integers(2**63))
            start = time.perf_counter()
            result = method(model, x, y, rng=rng, engine=1)
            seconds = time.perf_counter() - start
            pvalue, statistic = _numbers(result)
        except (MissingPackageError, MemoryError):
            raise  # the machine's fault: the study can go on when that is mended
        except SupportError as error:
            seconds = time.perf_counter() - start
            return Outcome(at, smallest_pvalue(method), None, seconds, note=str(error))
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            return Outcome(at, None, None, time.perf_counter() - start, message)
        return Outcome(at, pvalue, statistic, seconds)


def smallest_pvalue(method: Any) -> float:
    """Return the smallest p-value that a test can give, 1 / (draws + 1): that of a refuted model."""
    try:
        draws = inspect.signature(method).parameters["n_boot"].default
    except (KeyError, TypeError, ValueError):
        draws = None
    return 1.0 / ((draws if isinstance(draws, int) else 1000) + 1)


def _numbers(result: Any) -> tuple[float, float | None]:
    """Read p-value and statistic of a result, which a user's method may have made."""
    if not hasattr(result, "pvalue"):
        raise InputTypeError(f"A method must return a GofResult, this one gave {type(result).__name__}.")
    pvalue = float(result.pvalue)
    if not 0.0 <= pvalue <= 1.0:
        raise InputError(f"A p-value must be between 0 and 1, this method gave {pvalue}.")
    statistic = float(getattr(result, "statistic", math.nan))
    return pvalue, statistic if math.isfinite(statistic) else None


#: Called with (trials that are done, trials of the study).
Progress = Callable[[int, int], None]


def run_study(
    problems: Any,
    methods: Any,
    n: Any,
    *,
    trials: int = 300,
    out: Any = None,
    alpha: float = 0.05,
    rng: RngLike = 0,
    engine: Any = None,
    retry_failed: bool = False,
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
) -> Study:
    """Measure how often tests reject models: their level where the model is true, their power elsewhere.

    All tests see the same samples: trial i of a problem at a size is one sample, whatever else is in the
    study. Adding problems, sizes, methods or trials never changes a number that was there before.

    Parameters
    ----------
    problems : str, Problem, or sequence of them
        Names as for `problem`, addresses ``module:attr`` of your own `Problem` (or of a function that
        returns one), or objects: a `Problem`, or a model's misfit from `misfit_of`.
    methods : str, callable, sequence of them, or mapping of str to callable
        ``adaptive``, ``kcsd``, ``fscd-opt`` and ``fscd-rand`` (5 locations), ``fscd-opt-1`` and
        ``fscd-rand-1`` (one), ``mmd``, ``zheng``, ``zheng-wild``, addresses ``module:attr``, or
        callables ``(model, x, y, *, rng, engine) → GofResult``.
    n : int, sequence of int, or mapping of a problem's name to them
        Sample sizes.
    trials : int
        Samples of each problem and size.
    out : path, optional
        A folder. Each trial is written there when it is finished, and a study that was stopped (or
        killed) goes on where it was. The tables are written there too.
    alpha : float
        Level at which p-values count as rejections.
    rng : int, numpy.random.Generator or None
        Another integer gives other samples; `Study.seed` is the one that was used.
    engine : None, int or dask.distributed.Client
        All cores of this machine (as processes), a number of processes, or a Dask cluster.
    retry_failed : bool
        Try again the trials in `out` that ended in an error; otherwise they are left as they are.
    progress : callable, optional
        Called with the number of trials done and of all trials, at the start and after each trial.
        Otherwise a bar is shown on a terminal when tqdm is installed.
    say : callable, optional
        Gets a sentence about each thing in `out` that had to be mended; printed to standard error
        otherwise.

    Returns
    -------
    Study

    Examples
    --------
    >>> study = run_study("lgm", "kcsd", 50, trials=4, engine=1)
    >>> study.table()[0].trials
    4
    """
    import condgof

    workers = as_workers(engine)
    tests = as_methods(methods)
    cases = as_problems(problems)
    loaded = {name: _load(source) for name, source in cases.items()}
    topics = tuple(Topic(name, str(case.title), bool(case.h0)) for name, case in loaded.items())
    sizes = _sizes(n, [t.name for t in topics])
    trials, seed, alpha = _whole("trials", trials, 1), Seed.of(rng).value, check_alpha(alpha)
    folder = None if out is None else Path(out)
    say = say or (lambda text: print(f"condgof: {text}", file=sys.stderr))
    # What results depend on, as the folder of a study remembers it.
    options = {
        "condgof": condgof.__version__,
        "seed": seed,
        "problems": {name: fingerprint(case) for name, case in loaded.items()},
        "methods": {name: definition(test) for name, test in tests.items()},
    }
    with open_store(folder, options, say) as store:
        # Trial by trial and not cell by cell: the time left can be told, and what is there when a
        # study is stopped is a smaller study.
        wanted = [
            Trial(t.name, size, method, trial)
            for trial in range(trials)
            for t in topics
            for size in sizes[t.name]
            for method in tests
        ]
        there = {at for at, one in store.outcomes.items() if one.error is None or not retry_failed}
        missing = [at for at in wanted if at not in there]
        runner = Runner(seed, cases, tests)
        done = len(wanted) - len(missing)
        results: Iterable[tuple[Trial, Outcome]] = workers.completed(runner, missing) if missing else ()
        if progress is None:
            results, progress = with_progress(results, len(missing), "trials"), lambda done, total: None
        progress(done, len(wanted))
        for count, (_, outcome) in enumerate(results, done + 1):
            store.add(outcome)
            progress(count, len(wanted))
        outcomes = {at: store.outcomes[at] for at in wanted}
        study = Study(topics, sizes, tuple(tests), trials, alpha, seed, outcomes)
        if folder is not None:
            study.write(folder)
    return study


def as_problems(problems: Any) -> dict[str, Any]:
    """Read the `problems` argument of a study: problems, or references to them, by name."""
    single = not isinstance(problems, Iterable) or isinstance(problems, str)
    cases: dict[str, Any] = {}
    for given in [problems] if single else list(problems):
        source: Any = given
        if isinstance(given, str) and ":" in given:
            source = Reference(given)
        elif isinstance(given, str):
            if given not in PROBLEMS:
                raise unknown("problem", given, PROBLEMS, OWN)
            source = PROBLEMS[given]
        case = _load(source)
        if not all(hasattr(case, name) for name in ("name", "title", "h0", "trial")):
            raise InputTypeError(
                f"A problem must be a name, module:attr, Problem or misfit, got {type(case).__name__}"
                + (f" at {given!r}." if isinstance(given, str) else ".")
            )
        if case.name in cases:
            raise InputError(f"Two problems are named {case.name!r}. Give each a name of its own.")
        cases[case.name] = source
    if not cases:
        raise InputError(f"No problem was given. There are: {', '.join(PROBLEMS)}{OWN}.")
    return cases


def _load(source: Any) -> Any:
    return source.made() if isinstance(source, Reference) else source


def fingerprint(case: Any) -> str:
    """Return a short text that changes when a problem does: a digest of a small sample and scores."""
    try:
        model, x, y = draw_trial(case, 16, 0)
    except Exception as error:
        raise InputError(
            f"No sample can be drawn from the problem {case.name!r}: {type(error).__name__}: {error}"
        ) from error
    digest = hashlib.sha256()
    parts = [x, y]
    with contextlib.suppress(Exception):  # not all models have scores, and not all tests need them
        parts.append(model(x).score(y))
    for part in parts:  # eight digits of each number: they are the same on any machine
        values = np.asarray(part).ravel().tolist()
        digest.update(repr([f"{v:.8g}" if isinstance(v, float) else str(v) for v in values]).encode())
    return digest.hexdigest()[:16]


def _sizes(n: Any, names: list[str]) -> dict[str, tuple[int, ...]]:
    if isinstance(n, Mapping):
        lacking = [name for name in names if name not in n]
        if lacking:
            raise InputError(f"n has no sizes for {', '.join(lacking)}.")
        return {name: _size_list(n[name]) for name in names}
    return dict.fromkeys(names, _size_list(n))


def _size_list(n: Any) -> tuple[int, ...]:
    values = list(n) if np.ndim(n) else [n]
    if not values:
        raise InputError("No sample size was given.")
    return tuple(sorted({_whole("n", value, 2) for value in values}))


def _whole(name: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError as error:
        raise InputTypeError(f"{name} must be a whole number, got {value!r}.") from error
    if isinstance(value, bool) or number < least:
        raise InputError(f"{name} must be at least {least}, got {value!r}.")
    return number
