"""Level and power studies: many trials, on all cores, that can be stopped and gone on with."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from condgof.engine import as_workers, with_progress
from condgof.errors import InputError, InputTypeError, MissingPackageError, SupportError, check_count
from condgof.result import check_alpha
from condgof.sample import RngLike, Seed
from condgof.study import _problems
from condgof.study._names import OWN, Reference, as_methods, definition, listed
from condgof.study._problems import PROBLEMS, Problem
from condgof.study._store import open_store, to_line
from condgof.study._study import Outcome, Study, Topic, Trial


def stream(seed: int, *coordinates: str | int) -> np.random.Generator:
    """Return the random stream that belongs to some coordinates and to no others."""
    # A hash rather than a sum or a list of numbers: names may be anything, and streams must not meet.
    digest = hashlib.sha256(json.dumps([seed, *coordinates]).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def draw_trial(problem: str | Problem, n: int, trial: int, *, rng: RngLike = 0) -> tuple[Any, Any, Any]:
    """Return model, x and y that a study tests in one trial, whatever the method.

    Parameters
    ----------
    problem : str or Problem
        The problem, or its name.
    n, trial : int
        The size and the number of the trial.
    rng : int, numpy.random.Generator or None
        The `rng` of the study.

    Examples
    --------
    >>> model, x, y = draw_trial("qgm", 5, 0)
    >>> x.shape, y.shape
    ((5, 1), (5, 1))
    """
    case, seed = _load(problem), Seed.of(rng).value
    return case.trial(n, stream(seed, "sample", case.name, n, trial))  # type: ignore[no-any-return]


def run_trial(seed: int, problems: Mapping[str, Any], methods: Mapping[str, Any], at: Trial) -> Outcome:
    """Run one trial, of problems and methods that may be references; what goes wrong is its outcome."""
    method = methods[at.method]
    pvalue = statistic = failed = note = None
    start = time.perf_counter()
    try:
        method = method.load() if isinstance(method, Reference) else method
        model, x, y = draw_trial(problems[at.problem], at.n, at.trial, rng=seed)
        rng = int(stream(seed, "method", *at[:2], at.trial, at.method).integers(2**63))
        start = time.perf_counter()
        pvalue, statistic = _numbers(method(model, x, y, rng=rng, engine=1))
    except (MissingPackageError, MemoryError):
        raise  # the machine's fault: the study can go on when that is mended
    except SupportError as error:
        pvalue, note = smallest_pvalue(method), str(error)
    except Exception as error:
        failed = f"{type(error).__name__}: {error}"
    return Outcome(at, pvalue, statistic, time.perf_counter() - start, failed, note)


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
    progress: Callable[[int, int], None] | None = None,
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
        A folder for the tables, and for each trial when it is finished: a study that was stopped (or
        killed) goes on where it was.
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
        Gets a sentence about each thing in `out` that had to be mended; else they are printed to stderr.

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
    sizes = _sizes(n, list(cases))
    trials = check_count(trials, "trials", kind=InputTypeError)
    seed, alpha = Seed.of(rng).value, check_alpha(alpha)
    folder = None if out is None else Path(out)
    say = say or (lambda text: print(f"condgof: {text}", file=sys.stderr))
    # What results depend on, as the folder of a study remembers it.
    options = {"seed": seed, "version of condgof": condgof.__version__}
    options |= {f"problem {name!r}": fingerprint(case) for name, case in loaded.items()}
    options |= {f"method {name!r}": definition(test) for name, test in tests.items()}
    with open_store(folder, options, say) as (outcomes, file):
        # Trial by trial and not cell by cell: the time left can be told, and what is there when a
        # study is stopped is a smaller study.
        cells = [(name, size, method) for name in cases for size in sizes[name] for method in tests]
        wanted = [Trial(*cell, trial) for trial in range(trials) for cell in cells]
        there = {at for at, one in outcomes.items() if one.error is None or not retry_failed}
        missing = [at for at in wanted if at not in there]
        run, done = partial(run_trial, seed, cases, tests), len(wanted) - len(missing)
        results: Iterable[tuple[Trial, Outcome]] = workers.completed(run, missing) if missing else ()
        if progress is None:
            results, progress = with_progress(results, len(missing), "trials"), lambda done, total: None
        progress(done, len(wanted))
        for count, (_, outcome) in enumerate(results, done + 1):
            outcomes[outcome.at] = outcome
            if file is not None:
                file.write(to_line(outcome))
                file.flush()  # now it is with the operating system, and a kill cannot undo it
            progress(count, len(wanted))
        asked = {at: outcomes[at] for at in wanted}
        study = Study(topics, sizes, tuple(tests), trials, alpha, seed, asked)
        if folder is not None:
            study.write(folder)
    return study


def as_problems(problems: Any) -> dict[str, Any]:
    cases: dict[str, Any] = {}
    for given in listed(problems):
        source = Reference(given) if isinstance(given, str) and ":" in given else given
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
    if isinstance(source, str):
        return _problems.problem(source)
    return source.made() if isinstance(source, Reference) else source


def fingerprint(case: Any) -> str:
    """Return a text that changes when a problem does: a digest of a small sample and scores."""
    try:
        model, x, y = draw_trial(case, 16, 0)
    except Exception as error:
        raise InputError(
            f"No sample can be drawn from the problem {case.name!r}: {type(error).__name__}: {error}"
        ) from error
    digest, parts = hashlib.sha256(), [x, y]
    with contextlib.suppress(Exception):  # not all models have scores, and not all tests need them
        parts.append(model(x).score(y))
    for part in parts:  # eight digits of each number: they are the same on any machine
        values = np.asarray(part).ravel().tolist()
        digest.update(repr([f"{v:.8g}" if isinstance(v, float) else str(v) for v in values]).encode())
    return digest.hexdigest()[:16]


def _sizes(n: Any, names: list[str]) -> dict[str, tuple[int, ...]]:
    given = n if isinstance(n, Mapping) else dict.fromkeys(names, n)
    if lacking := [name for name in names if name not in given]:
        raise InputError(f"n has no sizes for {', '.join(lacking)}.")
    sizes = {}
    for name in names:
        counts = {check_count(size, "n", kind=InputTypeError) for size in listed(given[name])}
        if not counts:
            raise InputError("No sample size was given.")
        if 1 in counts:
            raise InputError("n must be at least 2, got 1.")
        sizes[name] = tuple(sorted(counts))
    return sizes
