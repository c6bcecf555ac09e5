"""Level and power studies: many trials, on all cores, that can be stopped and gone on with.

A study on disk is an append-only file of trials, and the options that they depend on.
"""

from __future__ import annotations

import errno
import hashlib
import importlib
import json
import math
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from condgof import errors
from condgof.engine import as_workers, with_progress
from condgof.errors import InputError, InputTypeError, SupportError, check_count
from condgof.result import check_alpha
from condgof.sample import RngLike, Seed
from condgof.study import _problems
from condgof.study._names import OWN, Reference, as_methods, definition, listed
from condgof.study._problems import PROBLEMS, Problem
from condgof.study._study import Outcome, Study, Topic, Trial

TRIALS, OPTIONS, LOCK = "trials.jsonl", "study.json", ".lock"
FORMAT = 2
#: The p-value of a model that observations outside its support refute: the smallest of
#: 1,000 draws.
REFUTED = 1.0 / 1001


class InUseError(errors.CondgofError, OSError):
    """Another process holds the lock."""


def stream(seed: int, *coordinates: str | int) -> np.random.Generator:
    """Return the random stream that belongs to some coordinates and to no others."""
    # A hash rather than a sum or a list of numbers: names may be anything, and streams must
    # not meet.
    digest = hashlib.sha256(json.dumps([seed, *coordinates]).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def draw_trial(
    problem: str | Problem, n: int, trial: int, *, rng: RngLike = 0
) -> tuple[Any, Any, Any]:
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


def run_trial(
    seed: int, problems: Mapping[str, Any], methods: Mapping[str, Any], at: Trial
) -> Outcome:
    """Run one trial, of problems and methods that may be references; what goes wrong is its outcome."""
    pvalue = statistic = failed = note = None
    start = time.perf_counter()
    try:
        given = methods[at.method]
        method = given.load() if isinstance(given, Reference) else given
        model, x, y = draw_trial(problems[at.problem], at.n, at.trial, rng=seed)
        rng = int(stream(seed, "method", *at[:2], at.trial, at.method).integers(2**63))
        start = time.perf_counter()
        pvalue, statistic = _numbers(method(model, x, y, rng=rng, engine=1))
    except (errors.MissingPackageError, MemoryError):
        raise  # the machine's fault: the study can go on when that is mended
    except SupportError as error:
        pvalue, note = REFUTED, str(error)
    except Exception as error:
        failed = f"{type(error).__name__}: {error}"
    return Outcome(at, pvalue, statistic, time.perf_counter() - start, failed, note)


def _numbers(result: object) -> tuple[float, float | None]:
    """Read p-value and statistic of a result, which a user's method may have made."""
    if not hasattr(result, "pvalue"):
        raise InputTypeError(
            f"A method must return a GofResult, this one gave {type(result).__name__}."
        )
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
) -> Study:
    """Measure how often tests reject models: their level where the model is true, their power elsewhere.

    All tests see the same samples: trial i of a problem at a size is one sample, whatever
    else is in the study. Adding problems, sizes, methods or trials never changes a number
    that was there before.

    Parameters
    ----------
    problems : str, Problem, or sequence of them
        Names as for `problem`, addresses ``module:attr`` of your own `Problem` (or of a
        function that returns one), or objects: a `Problem`, or a model's misfit from
        `misfit_of`.
    methods : str, callable, sequence of them, or mapping of str to callable
        ``adaptive``, ``kcsd``, ``fscd-opt`` and ``fscd-rand`` (5 locations), ``fscd-opt-1``
        and ``fscd-rand-1`` (one), ``mmd``, ``zheng``, ``zheng-wild``, addresses
        ``module:attr``, or callables ``(model, x, y, *, rng, engine) → GofResult``.
    n : int, sequence of int, or mapping of a problem's name to them
        Sample sizes.
    trials : int
        Samples of each problem and size.
    out : path, optional
        A folder for the tables, and for each trial when it is finished: a study that was
        stopped (or killed) goes on where it was. Trials that ended in an error are not
        kept, but tried again.
    alpha : float
        Level at which p-values count as rejections.
    rng : int, numpy.random.Generator or None
        Another integer gives other samples; `Study.seed` is the one that was used.
    engine : None, int or dask.distributed.Client
        All cores of this machine (as processes), a number of processes, or a Dask cluster.

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
    topics = tuple(
        Topic(name, str(case.title), bool(case.h0)) for name, case in loaded.items()
    )
    sizes = _sizes(n, list(cases))
    trials = check_count(trials, "trials", kind=InputTypeError)
    seed, alpha = Seed.of(rng).value, check_alpha(alpha)
    folder = None if out is None else Path(out)
    # What results depend on, as the folder of a study remembers it.
    options = {"seed": seed, "version of condgof": condgof.__version__}
    options |= {f"problem {name!r}": fingerprint(case) for name, case in loaded.items()}
    options |= {f"method {name!r}": definition(test) for name, test in tests.items()}
    with open_store(folder, options) as (outcomes, file):
        # Trial by trial and not cell by cell: the time left can be told, and what is there
        # when a study is stopped is a smaller study.
        cells = [
            (name, size, method)
            for name in cases
            for size in sizes[name]
            for method in tests
        ]
        wanted = [Trial(*cell, trial) for trial in range(trials) for cell in cells]
        missing = [at for at in wanted if at not in outcomes]
        results = (
            workers.completed(partial(run_trial, seed, cases, tests), missing)
            if missing
            else ()
        )
        for _, outcome in with_progress(results, len(missing), "trials"):
            outcomes[outcome.at] = outcome
            if file is not None and outcome.error is None:
                file.write(to_line(outcome))
                # now it is with the operating system, and a kill cannot undo it
                file.flush()
        asked = {at: outcomes[at] for at in wanted}
        study = Study(topics, sizes, tuple(tests), trials, alpha, seed, asked)
        if folder is not None:
            study.write(folder)
    return study


def as_problems(problems: object) -> dict[str, Any]:
    cases: dict[str, Any] = {}
    for given in listed(problems):
        source = Reference(given) if isinstance(given, str) and ":" in given else given
        case = _load(source)
        if not all(hasattr(case, name) for name in ("name", "title", "h0", "trial")):
            raise InputTypeError(
                "A problem must be a name, module:attr, Problem or misfit, got"
                f" {type(case).__name__}"
                + (f" at {given!r}." if isinstance(given, str) else ".")
            )
        if case.name in cases:
            raise InputError(
                f"Two problems are named {case.name!r}. Give each a name of its own."
            )
        cases[case.name] = source
    if not cases:
        raise InputError(f"No problem was given. There are: {', '.join(PROBLEMS)}{OWN}.")
    return cases


def _load(source: object) -> Any:
    if isinstance(source, str):
        return _problems.problem(source)
    return source.made() if isinstance(source, Reference) else source


def fingerprint(case: Any) -> str:
    """Return a text that changes when a problem does: a digest of a small sample and scores."""
    try:
        model, x, y = draw_trial(case, 16, 0)
    except Exception as error:
        raise InputError(
            f"No sample can be drawn from the problem {case.name!r}:"
            f" {type(error).__name__}: {error}"
        ) from error
    digest, parts = hashlib.sha256(), [x, y]
    with suppress(Exception):  # not all models have scores, and not all tests need them
        parts.append(model(x).score(y))
    for part in parts:  # eight digits of each number: they are the same on any machine
        values = np.asarray(part).ravel().tolist()
        digest.update(
            repr([f"{v:.8g}" if isinstance(v, float) else str(v) for v in values]).encode()
        )
    return digest.hexdigest()[:16]


def _sizes(n: object, names: list[str]) -> dict[str, tuple[int, ...]]:
    given = n if isinstance(n, Mapping) else dict.fromkeys(names, n)
    if lacking := [name for name in names if name not in given]:
        raise InputError(f"n has no sizes for {', '.join(lacking)}.")
    sizes = {}
    for name in names:
        counts = {
            check_count(size, "n", kind=InputTypeError) for size in listed(given[name])
        }
        if not counts:
            raise InputError("No sample size was given.")
        sizes[name] = tuple(sorted(counts))
    return sizes


@contextmanager
def open_store(
    folder: Path | None, options: dict[str, Any]
) -> Iterator[tuple[dict[Trial, Outcome], BinaryIO | None]]:
    """Open the study in a folder, made when it is not there and locked; None keeps all in memory.

    Yields the outcomes that are there, and the file for further ones. `options` are what
    results depend on, by name: those that are remembered must agree, and new ones are
    added.
    """
    if folder is None:
        yield {}, None
        return
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        _remember(folder, options)
        path = folder / TRIALS
        outcomes = _recover(path)
        with path.open("ab") as file:
            yield outcomes, file
            os.fsync(file.fileno())


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the system's lock on a file in the folder: it ends with the process, however that ends."""
    with (folder / LOCK).open("ab") as file:
        try:
            _lock(file.fileno())
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
                told = f"{folder} is in use by another process. Wait for it to end"
                raise InUseError(f"{told}, or use another folder.") from error
            raise InputError(
                f"{folder} cannot be locked ({error.strerror}), and two processes must not"
                " write there at once. Use a folder on a disk of this machine."
            ) from error
        yield


def _lock(descriptor: int) -> None:
    if os.name == "nt":
        windows = importlib.import_module("msvcrt")
        windows.locking(descriptor, windows.LK_NBLCK, 1)
    else:
        fcntl = importlib.import_module("fcntl")
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def to_line(outcome: Outcome) -> bytes:
    note = {} if outcome.note is None else {"note": outcome.note}
    row = {
        **outcome.at._asdict(),
        "pvalue": outcome.pvalue,
        "statistic": outcome.statistic,
        **note,
    }
    row["seconds"] = round(outcome.seconds, 6)
    # Unicode stays readable; a line separator inside a string is escaped, so a line is a
    # line.
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def from_line(line: bytes) -> Outcome:
    """Read a line; anything that is not the whole of an outcome is an error."""
    row = json.loads(line.decode("utf-8"))
    at = Trial(*(row[name] for name in Trial._fields))
    if [type(part) for part in at] != [str, int, str, int]:
        raise ValueError("no coordinates")
    if not 0.0 <= row["pvalue"] <= 1.0:
        raise ValueError("not a p-value")
    return Outcome(
        at, row["pvalue"], row["statistic"], row["seconds"], note=row.get("note")
    )


def _recover(path: Path) -> dict[Trial, Outcome]:
    """Read the trials; cut off a last line that a kill has torn, leave out lines that make no sense."""

    def say(what: str) -> None:
        print(f"condgof: {path}: {what}", file=sys.stderr, flush=True)

    data = path.read_bytes() if path.exists() else b""
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.truncate(path, whole)
        torn = f"the last line was torn ({len(data) - whole} bytes, by a kill or a crash)"
        say(f"{torn} and is cut off; its trial is done again.")
    outcomes: dict[Trial, Outcome] = {}
    for number, line in enumerate(data[:whole].split(b"\n")[:-1], 1):
        try:
            outcome = from_line(line)
        except (ValueError, KeyError, TypeError, RecursionError):
            say(f"line {number} cannot be read; its trial is done again if it is needed.")
        else:
            outcomes[outcome.at] = outcome
    return outcomes


def _remember(folder: Path, options: dict[str, Any]) -> None:
    """Refuse options that would change the results of the folder; write the union of both."""
    path, known = folder / OPTIONS, dict[str, Any](format=FORMAT)
    if path.exists():
        known = {}
        with suppress(ValueError, RecursionError):
            known = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(known, dict) or known.get("format") != FORMAT:
            lacking = f"{path} is not the {OPTIONS} of a study that this version can read"
            raise errors.StudyError(f"{lacking}. Use another folder.")
    elif (folder / TRIALS).exists():
        lacking = f"{folder} has {TRIALS} but not the {OPTIONS} that says what they are"
        raise errors.StudyError(f"{lacking}. Use another folder.")
    both = {**known, **options}
    if changed := [name for name in known if both[name] != known[name]]:
        told = "; ".join(f"its {n} was {known[n]}, and is {both[n]} now" for n in changed)
        advice = "Go on with its own options, or use another folder"
        raise errors.StudyError(
            f"{folder} holds a study whose results would change: {told}. {advice}."
        )
    if both.keys() != known.keys() or not path.exists():
        temporary = path.with_suffix(".tmp")
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(both, file, indent=2, ensure_ascii=False)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)  # the old file or the new one, never half of one
