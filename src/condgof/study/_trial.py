"""One trial: seeded by its own coordinates, run anywhere, the same everywhere."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from condgof.errors import InputError, InputTypeError, MissingPackageError, SupportError
from condgof.study._names import Reference
from condgof.study._problems import problem as named_problem


class Trial(NamedTuple):
    """The coordinates of a trial."""

    problem: str
    n: int
    method: str
    trial: int

    def __str__(self) -> str:
        return f"{self.problem}, n = {self.n}, {self.method}, trial {self.trial}"


@dataclass(frozen=True)
class Outcome:
    """What a trial gave: a p-value, or the error that it ended in.

    Parameters
    ----------
    at : Trial
        Its coordinates.
    pvalue, statistic : float or None
        None when it failed.
    seconds : float
        How long the test took.
    error : str or None
        The message, when it failed.
    note : str or None
        What is special: observations outside the model's support, which refute it without a test.
    """

    at: Trial
    pvalue: float | None
    statistic: float | None
    seconds: float
    error: str | None = None
    note: str | None = None


def stream(seed: int, *coordinates: str | int) -> np.random.Generator:
    """Return the random stream that belongs to some coordinates and to no others.

    A hash rather than a sum or a list of numbers: names may be anything, and streams must not meet.
    """
    digest = hashlib.sha256(json.dumps([seed, *coordinates]).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))


def draw_trial(problem: Any, n: int, trial: int, *, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return the model and the sample that a study tests in one trial, whatever the method.

    Parameters
    ----------
    problem : str or Problem
        The problem, or its name.
    n, trial, seed : int
        The size, the number of the trial and the seed of the study.

    Returns
    -------
    model, x, y

    Examples
    --------
    >>> model, x, y = draw_trial("qgm", 5, 0)
    >>> x.shape, y.shape
    ((5, 1), (5, 1))
    """
    case = named_problem(problem) if isinstance(problem, str) else problem
    return case.trial(n, stream(seed, "sample", case.name, n, trial))


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
            case = case.made() if isinstance(case, Reference) else case
            method = method.load() if isinstance(method, Reference) else method
            model, x, y = draw_trial(case, at.n, at.trial, seed=self.seed)
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
    """Return the smallest p-value that a test can give, 1 / (draws + 1): that of a refuted model.

    Examples
    --------
    >>> import condgof as cg
    >>> from functools import partial
    >>> smallest_pvalue(partial(cg.kcsd, n_boot=99))
    0.01
    """
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
