"""Level and power studies: many trials, on all cores, that can be stopped and gone on with."""

from __future__ import annotations

import contextlib
import hashlib
import operator
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from condgof.engine import as_workers, with_progress
from condgof.errors import InputError, InputTypeError
from condgof.study._methods import as_methods, definition
from condgof.study._names import OWN, Reference, unknown
from condgof.study._problems import PROBLEMS, problem
from condgof.study._store import open_store
from condgof.study._study import Study, Topic
from condgof.study._trial import Outcome, Runner, Trial, draw_trial

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
    seed: int = 0,
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
        callables (model, x, y, *, rng, engine) → GofResult.
    n : int, sequence of int, or mapping of a problem's name to them
        Sample sizes.
    trials : int
        Samples of each problem and size.
    out : path, optional
        A folder. Each trial is written there when it is finished, and a study that was stopped (or
        killed) goes on where it was. The tables are written there too.
    alpha : float
        Level at which p-values count as rejections.
    seed : int
        A study with another seed has other samples.
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
    workers = as_workers(engine)
    tests = as_methods(methods)
    cases = as_problems(problems)
    loaded = {name: _load(source) for name, source in cases.items()}
    topics = tuple(Topic(name, str(case.title), bool(case.h0)) for name, case in loaded.items())
    sizes = _sizes(n, [t.name for t in topics])
    trials, seed = _whole("trials", trials, 1), _whole("seed", seed, 0)
    if isinstance(alpha, bool) or not isinstance(alpha, (int, float, np.floating)) or not 0 < alpha < 1:
        raise InputError(f"alpha must be between 0 and 1, got {alpha!r}.")
    folder = None if out is None else Path(out)
    with open_store(folder, _options(seed, loaded, tests), say or _to_stderr) as store:
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
            results = with_progress(results, len(missing), "trials")
        else:
            progress(done, len(wanted))
        for _, outcome in results:
            store.add(outcome)
            done += 1
            if progress is not None:
                progress(done, len(wanted))
        outcomes = {at: store.outcomes[at] for at in wanted}
        study = Study(topics, sizes, tuple(tests), trials, float(alpha), seed, outcomes)
        if folder is not None:
            study.write(folder)
    return study


def as_problems(problems: Any) -> dict[str, Any]:
    """Read the `problems` argument of a study: problems, or references to them, by name."""
    single = not isinstance(problems, Iterable) or isinstance(problems, str)
    found: dict[str, Any] = {}
    for given in [problems] if single else list(problems):
        source: Any = given
        if isinstance(given, str) and ":" in given:
            source = Reference(given)
        elif isinstance(given, str):
            if given not in PROBLEMS:
                raise unknown("problem", given, PROBLEMS, OWN)
            source = problem(given)
        case = _load(source)
        if not all(hasattr(case, name) for name in ("name", "title", "h0", "trial")):
            raise InputTypeError(
                f"A problem must be a name, module:attr, Problem or misfit, got {type(case).__name__}"
                + (f" at {given!r}." if isinstance(given, str) else ".")
            )
        if case.name in found:
            raise InputError(f"Two problems are named {case.name!r}. Give each a name of its own.")
        found[case.name] = source
    if not found:
        raise InputError(f"No problem was given. There are: {', '.join(PROBLEMS)}{OWN}.")
    return found


def _load(source: Any) -> Any:
    return source.made() if isinstance(source, Reference) else source


def _options(seed: int, cases: Mapping[str, Any], tests: Mapping[str, Any]) -> dict[str, Any]:
    """Return what results depend on, as the folder of a study remembers it."""
    import condgof

    return {
        "condgof": condgof.__version__,
        "seed": seed,
        "problems": {name: fingerprint(case) for name, case in cases.items()},
        "methods": {name: definition(test) for name, test in tests.items()},
    }


def fingerprint(case: Any) -> str:
    """Return a short text that changes when a problem does: a digest of a small sample and its scores.

    A user's problem may be any code, so it is known by what it gives. Eight digits of each number: they
    are the same on any machine.
    """
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
    for part in parts:
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


def _to_stderr(text: str) -> None:
    print(f"condgof: {text}", file=sys.stderr)
