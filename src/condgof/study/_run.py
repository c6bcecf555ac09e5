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
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np

from condgof import errors
from condgof.engine import as_workers, with_progress
from condgof.errors import (
    InputError,
    InputTypeError,
    SupportError,
    check_count,
    reworded,
)
from condgof.laws import ModelLike
from condgof.null import check_resolution, default_draws
from condgof.result import check_alpha
from condgof.sample import RngLike, Seed
from condgof.study import _problems
from condgof.study._names import (
    OR_YOUR_OWN,
    Method,
    Reference,
    as_list,
    as_methods,
    definition,
)
from condgof.study._problem import AnyProblem, Problem
from condgof.study._problems import PROBLEMS
from condgof.study._study import Outcome, Study, Topic, Trial, list_cells

#: The file of a study's folder that has a line for each trial.
TRIALS_FILE = "trials.jsonl"
#: The file that has what results depend on.
OPTIONS_FILE = "study.json"
#: The file that is locked while a process works in the folder.
LOCK_FILE = ".lock"
#: Version of these files; a folder of another version is refused.
FORMAT = 2
#: The p-value of a model that observations outside its support refute: the smallest that
#: 1,000 draws can give.
REFUTED_PVALUE = 1.0 / 1001
#: Rows of the sample by which a study notices that a problem has changed.
FINGERPRINT_ROWS = 16

#: A problem, its name, or its address.
ProblemSource: TypeAlias = str | Reference | AnyProblem
#: What results depend on: seed, version, problems and methods, each under a name that a
#: message can show.
Options: TypeAlias = dict[str, str | int]


class Measured(NamedTuple):
    """What a study keeps of a test's result."""

    pvalue: float
    statistic: float | None  #: None where the statistic is not finite.


class Store(NamedTuple):
    """A study's folder while it is open."""

    outcomes: dict[Trial, Outcome]  #: Those that were there, to which new ones are added.
    file: BinaryIO | None  #: Where further outcomes are written; None keeps all in memory.


class InUseError(errors.CondgofError, OSError):
    """Another process holds the lock."""


def stream(seed: int, *coordinates: str | int) -> np.random.Generator:
    """Return the random stream that belongs to some coordinates and to no others."""
    # A hash rather than a sum or a list of numbers: names may be anything, and no two
    # streams may overlap.
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
    return _draw(problem, n, trial, Seed.of(rng).value)


def _draw(
    problem: ProblemSource, n: int, trial: int, seed: int
) -> tuple[ModelLike, Any, Any]:
    case = _load(problem)
    return case.trial(n, stream(seed, "sample", case.name, n, trial))


def run_trial(
    seed: int,
    problems: Mapping[str, ProblemSource],
    methods: Mapping[str, Method | Reference],
    at: Trial,
) -> Outcome:
    """Run one trial; an error is its outcome, so that the study goes on."""
    pvalue: float | None = None
    statistic: float | None = None
    failed: str | None = None
    note: str | None = None
    start = time.perf_counter()
    try:
        source = methods[at.method]
        method = source.load() if isinstance(source, Reference) else source
        model, x, y = _draw(problems[at.problem], at.n, at.trial, seed)
        generator = stream(seed, "method", at.problem, at.n, at.trial, at.method)
        rng = int(generator.integers(2**63))
        start = time.perf_counter()  # the time of the test alone
        pvalue, statistic = _read_result(method(model, x, y, rng=rng, engine=1))
    except (errors.MissingPackageError, MemoryError):
        raise  # the machine's fault: the study can go on when that is repaired
    except SupportError as error:
        pvalue = REFUTED_PVALUE
        note = str(error)
    except Exception as error:
        failed = f"{type(error).__name__}: {error}"
    return Outcome(
        at=at,
        pvalue=pvalue,
        statistic=statistic,
        seconds=time.perf_counter() - start,
        error=failed,
        note=note,
    )


def _read_result(result: object) -> Measured:
    """Read p-value and statistic of a result, which a user's method may have made."""
    if not hasattr(result, "pvalue"):
        raise InputTypeError(
            f"A method must return a GofResult, this one gave {type(result).__name__}."
        )
    pvalue = float(result.pvalue)
    if not 0.0 <= pvalue <= 1.0:
        raise InputError(f"A p-value must be between 0 and 1, this method gave {pvalue}.")
    statistic = float(getattr(result, "statistic", math.nan))
    return Measured(pvalue, statistic if math.isfinite(statistic) else None)


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
    """Measure how often tests reject models.

    That is the level of a test where the model is true, and its power elsewhere. All tests
    see the same samples: trial i of a problem at a size is one sample, whatever else is in
    the study. Adding problems, sizes, methods or trials never changes a number that was
    there before.

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
    workers = as_workers(engine)
    tests = as_methods(methods)
    cases = as_problems(problems)
    loaded = {name: _load(source) for name, source in cases.items()}
    topics = tuple(
        Topic(name=name, title=str(case.title), h0=bool(case.h0))
        for name, case in loaded.items()
    )
    sizes = _read_sizes(n, list(cases))
    trials = check_count(trials, "trials", kind=InputTypeError)
    seed = Seed.of(rng).value
    alpha = check_alpha(alpha)
    for name, test in tests.items():
        with reworded(f"Method {name!r}"):
            check_resolution(alpha, default_draws(test))
    folder = None if out is None else Path(out)
    # Trial by trial and not cell by cell: the time left can be predicted, and what is there
    # when a study is stopped is a smaller study.
    cells = list_cells(sizes, tests)
    wanted = [Trial(*cell, trial) for trial in range(trials) for cell in cells]
    with open_store(folder, _options(seed, loaded, tests)) as store:
        missing = [at for at in wanted if at not in store.outcomes]
        task = partial(run_trial, seed, cases, tests)
        results = workers.completed(task, missing) if missing else ()
        for _, outcome in with_progress(results, len(missing), "trials"):
            store.outcomes[outcome.at] = outcome
            if store.file is not None and outcome.error is None:
                store.file.write(to_line(outcome))
                # Flushed, the line is with the operating system: a kill cannot undo it.
                store.file.flush()
        study = Study(
            topics=topics,
            sizes=sizes,
            methods=tuple(tests),
            trials=trials,
            alpha=alpha,
            seed=seed,
            outcomes={at: store.outcomes[at] for at in wanted},
        )
        if folder is not None:
            study.write(folder)
    return study


def as_problems(problems: object) -> dict[str, ProblemSource]:
    """Read the `problems` argument of a study: name → problem, as it was given."""
    cases: dict[str, ProblemSource] = {}
    for entry in as_list(problems):
        source = Reference(entry) if isinstance(entry, str) and ":" in entry else entry
        case = _load(source)
        if not all(hasattr(case, name) for name in ("name", "title", "h0", "trial")):
            where = f" at {entry!r}." if isinstance(entry, str) else "."
            raise InputTypeError(
                "A problem must be a name, module:attr, Problem or misfit, got"
                f" {type(case).__name__}{where}"
            )
        if case.name in cases:
            raise InputError(
                f"Two problems are named {case.name!r}. Give each a name of its own."
            )
        cases[case.name] = source
    if not cases:
        known = ", ".join(PROBLEMS)
        raise InputError(f"No problem was given. There are: {known}{OR_YOUR_OWN}.")
    return cases


def _load(source: ProblemSource) -> AnyProblem:
    if isinstance(source, str):
        return _problems.problem(source)
    if isinstance(source, Reference):
        case: AnyProblem = source.resolve()
        return case
    return source


def _options(
    seed: int,
    problems: Mapping[str, AnyProblem],
    methods: Mapping[str, Method | Reference],
) -> Options:
    """Return what results depend on, as the folder of a study remembers it."""
    import condgof

    options: Options = {"seed": seed, "version of condgof": condgof.__version__}
    for name, case in problems.items():
        options[f"problem {name!r}"] = fingerprint(case)
    for name, method in methods.items():
        options[f"method {name!r}"] = definition(method)
    return options


def fingerprint(case: AnyProblem) -> str:
    """Return a text that changes when a problem does: a digest of rows and their scores."""
    try:
        model, x, y = _draw(case, FINGERPRINT_ROWS, trial=0, seed=0)
    except Exception as error:
        raise InputError(
            f"No sample can be drawn from the problem {case.name!r}:"
            f" {type(error).__name__}: {error}"
        ) from error
    parts = [x, y]
    with suppress(Exception):  # not all models have scores, and not all tests need them
        parts.append(model(x).score(y))
    digest = hashlib.sha256()
    for part in parts:
        values = np.asarray(part).ravel().tolist()
        digest.update(repr([_eight_digits(value) for value in values]).encode())
    return digest.hexdigest()[:16]


def _eight_digits(value: object) -> str:
    """Write a value with the digits that are the same on any machine."""
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def _read_sizes(n: object, names: list[str]) -> dict[str, tuple[int, ...]]:
    """Read the `n` argument of a study: the sample sizes of each problem, in order."""
    by_problem = n if isinstance(n, Mapping) else dict.fromkeys(names, n)
    lacking = [name for name in names if name not in by_problem]
    if lacking:
        raise InputError(f"n has no sizes for {', '.join(lacking)}.")
    sizes = {}
    for name in names:
        entries = as_list(by_problem[name])
        counts = {check_count(entry, "n", kind=InputTypeError) for entry in entries}
        if not counts:
            raise InputError("No sample size was given.")
        sizes[name] = tuple(sorted(counts))
    return sizes


@contextmanager
def open_store(folder: Path | None, options: Options) -> Iterator[Store]:
    """Open the study in a folder and lock it; None keeps all in memory.

    The folder is made when it does not exist. `options` must agree with those that the
    folder remembers, and new ones are added to them.
    """
    if folder is None:
        yield Store(outcomes={}, file=None)
        return
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / LOCK_FILE, str(folder), another="another folder"):
        _remember(folder, options)
        path = folder / TRIALS_FILE
        outcomes = _recover(path)
        with path.open("ab") as file:
            yield Store(outcomes, file)
            os.fsync(file.fileno())


@contextmanager
def locked(path: Path, what: str, another: str) -> Iterator[None]:
    """Hold the operating system's lock on a file, which is made when it is not there.

    The lock ends with the process, also where that is killed. Messages say that `what` is
    in use, and to use `another`.
    """
    with path.open("ab") as file:
        try:
            _lock(file.fileno())
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
                raise InUseError(
                    f"{what} is in use by another process. Wait for it to end, or use"
                    f" {another}."
                ) from error
            raise InputError(
                f"{what} cannot be locked ({error.strerror}), and two processes must not"
                " write there at once. Use a place on a disk of this machine."
            ) from error
        yield


def _lock(descriptor: int) -> None:
    """Lock an open file, or raise OSError at once where another process has locked it."""
    if os.name == "nt":
        windows = importlib.import_module("msvcrt")
        windows.locking(descriptor, windows.LK_NBLCK, 1)
    else:
        fcntl = importlib.import_module("fcntl")
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def to_line(outcome: Outcome) -> bytes:
    """Write an outcome as a line of JSON."""
    row: dict[str, object] = {
        **outcome.at._asdict(),
        "pvalue": outcome.pvalue,
        "statistic": outcome.statistic,
    }
    if outcome.note is not None:
        row["note"] = outcome.note
    row["seconds"] = round(outcome.seconds, 6)
    # Unicode stays readable. JSON escapes a line break inside a string, so that an outcome
    # is exactly one line.
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
        at=at,
        pvalue=row["pvalue"],
        statistic=row["statistic"],
        seconds=row["seconds"],
        note=row.get("note"),
    )


def _recover(path: Path) -> dict[Trial, Outcome]:
    """Read the trials of a file, and repair it.

    A last line that a kill has torn is cut off; other lines that cannot be read are left
    out.
    """

    def report(problem: str) -> None:
        print(f"condgof: {path}: {problem}", file=sys.stderr, flush=True)

    data = path.read_bytes() if path.exists() else b""
    whole = (
        data.rfind(b"\n") + 1
    )  # the number of bytes up to the end of the last whole line
    if whole < len(data):
        os.truncate(path, whole)
        torn = f"the last line was torn ({len(data) - whole} bytes, by a kill or a crash)"
        report(f"{torn} and is cut off; its trial is done again.")
    outcomes: dict[Trial, Outcome] = {}
    for number, line in enumerate(data[:whole].split(b"\n")[:-1], 1):
        try:
            outcome = from_line(line)
        except (ValueError, KeyError, TypeError, RecursionError):
            report(
                f"line {number} cannot be read; its trial is done again if it is needed."
            )
        else:
            outcomes[outcome.at] = outcome
    return outcomes


def _remember(folder: Path, options: Options) -> None:
    """Refuse options that would change the results of a folder; write the union of both."""
    path = folder / OPTIONS_FILE
    known = _known_options(folder)
    union = {**known, **options}
    changed = [name for name in known if union[name] != known[name]]
    if changed:
        changes = "; ".join(
            f"its {name} was {known[name]}, and is {union[name]} now" for name in changed
        )
        raise errors.StudyError(
            f"{folder} holds a study whose results would change: {changes}. Go on with its"
            " own options, or use another folder."
        )
    if union.keys() != known.keys() or not path.exists():
        temporary = path.with_suffix(".tmp")
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(union, file, indent=2, ensure_ascii=False)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)  # the old file or the new one, never half of one


def _known_options(folder: Path) -> Options:
    """Read the options that a folder remembers; those of a new folder are the format."""
    path = folder / OPTIONS_FILE
    if not path.exists():
        if (folder / TRIALS_FILE).exists():
            raise errors.StudyError(
                f"{folder} has {TRIALS_FILE} but not the {OPTIONS_FILE} that says what they"
                " are. Use another folder."
            )
        return {"format": FORMAT}
    known = None
    with suppress(ValueError, RecursionError):
        known = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(known, dict) or known.get("format") != FORMAT:
        raise errors.StudyError(
            f"{path} is not the {OPTIONS_FILE} of a study that this version can read. Use"
            " another folder."
        )
    return known
