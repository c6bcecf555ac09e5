"""What can go wrong, as types.

Every message says what was wrong, what was got and what to do. All errors are
`CondgofError`s, and each is also the built-in error a Python user would expect
(`ValueError`, `TypeError`, `ImportError`).
"""

from __future__ import annotations

import importlib
import operator
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from numbers import Real
from typing import Any

import numpy as np

from condgof._typing import AnyArray


class CondgofError(Exception):
    """Base of every error that condgof raises on purpose."""


class InputError(CondgofError, ValueError):
    """A value that was passed in cannot be used."""


class InputTypeError(CondgofError, TypeError):
    """Something of the wrong kind was passed in."""


class NonFiniteError(InputError):
    """NaN or infinite values in x, y or the scores.

    Attributes
    ----------
    count, first_row : int
        How many rows are affected, and the number of the first, counted from 0.
    """

    def __init__(self, message: str, count: int = 0, first_row: int = -1) -> None:
        super().__init__(message)
        self.count, self.first_row = count, first_row


class SupportError(InputError):
    """Observations where the model says that there can be none: it is refuted, without any test.

    Parameters
    ----------
    model : str
        What to call the model.
    count, n, first_row : int
        How many rows are outside the support, of how many, and the first of them, counted
        from 0.
    """

    def __init__(self, model: str, count: int, n: int, first_row: int) -> None:
        super().__init__(
            f"y is outside the support of {model}, or on its boundary, in {count} of {n}"
            f" rows, the first in row {first_row} (counted from 0). If those observations"
            " are right, the model is refuted: it gives them no probability. If not,"
            " correct or drop them, or the support."
        )
        self.model, self.count, self.n, self.first_row = model, count, n, first_row

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model, self.count, self.n, self.first_row)


class ShapeError(InputError):
    """An array of the wrong shape; nothing is ever broadcast to make it fit."""


class UnsupportedModelError(InputTypeError):
    """The model lacks what the test needs."""


class DerivativeError(InputError):
    """A numerical derivative of the log-density is not accurate enough to use."""


class NumericalError(InputError):
    """The numbers overflow; the data or the scores need another scale."""


class RefitError(CondgofError, RuntimeError):
    """Too many refits of a parametric bootstrap failed to trust the rest."""


class StudyError(CondgofError, ValueError):
    """A folder holds a study that this one cannot go on with."""


class ModelError(InputError):
    """A user's own function, or a law of one's own, failed; its error is the cause of this one."""


class MissingPackageError(CondgofError, ImportError):
    """An optional package is not installed."""


class CondgofWarning(UserWarning):
    """Base of every warning that condgof gives."""


class DependenceWarning(CondgofWarning):
    """Rows that follow each other look dependent, and the test takes them as independent."""


def warn(message: str, category: type[CondgofWarning]) -> None:
    """Warn, naming the line outside this package from which it was called."""
    frame, level = sys._getframe(1), 2
    while (
        frame.f_back is not None
        and frame.f_globals.get("__name__", "").split(".")[0] == "condgof"
    ):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def require(module: str, extra: str, purpose: str) -> Any:
    """Import an optional package for a `purpose`, or say which extra of condgof brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackageError(
            f"{purpose} needs {module.split('.')[0]}, which is not installed (or does not"
            f" import: {error}). Install it with: pip install 'condgof[{extra}]'"
        ) from error


@contextmanager
def retold(change: str | Callable[[str], str]) -> Iterator[None]:
    """Change what our own errors say; a text is put before it."""
    try:
        yield
    except CondgofError as error:
        told = f"{change}: {error}" if isinstance(change, str) else change(str(error))
        error.args = (told, *error.args[1:])
        raise


@contextmanager
def users_code(what: str) -> Iterator[None]:
    """Turn whatever a user's own code raises into one `ModelError` that names it."""
    try:
        yield
    except (
        CondgofError,
        Warning,
    ):  # a warning is an error only where the user asked for that
        raise
    except Exception as error:
        told = " ".join(
            [f"{type(error).__name__}: {error}.", *getattr(error, "__notes__", ())]
        )
        raise ModelError(f"{what} failed: {told} The line is in its own error.") from error


def check_object(obj: object, what: str) -> None:
    """Refuse an object that fails when it is asked what it can do, which is how kinds are told apart."""
    try:
        hasattr(obj, "shape")
    except Exception as error:
        told = f"{what}, of type {type(obj).__name__}, cannot be asked what it is"
        raise InputTypeError(
            f"{told}: its __getattr__ raised {type(error).__name__}: {error}."
        ) from error


def refuse_rows(
    bad: AnyArray, what: str, advice: str, kind: type[InputError] = InputError
) -> None:
    """Raise an error that counts the rows of a mask (n, …) where anything is wrong, if there are any."""
    if not bad.any():
        return
    rows = np.flatnonzero(bad.reshape(len(bad), -1).any(axis=1))
    where = (
        f"in {len(rows)} of {len(bad)} rows, the first in row {rows[0]} (counted from 0)"
    )
    error = kind(f"{what} {where}. {advice}")
    if isinstance(error, NonFiniteError):
        error.count, error.first_row = len(rows), int(rows[0])
    raise error


def check_finite(values: AnyArray, what: str, advice: str) -> None:
    """Raise `NonFiniteError` when any row of `values` (n,) or (n, d) is not finite."""
    finite = np.isfinite(values)
    if not finite.all():
        refuse_rows(~finite, f"{what} has NaN or infinite values", advice, NonFiniteError)


def check_choice(value: object, name: str, choices: Collection[str]) -> str:
    """Check an option that is one of some words."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(
            f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}."
        )
    return value


def check_count(
    value: Any,
    name: str,
    most: int = sys.maxsize,
    hint: str = "",
    kind: type[CondgofError] = InputError,
) -> int:
    """Check an option that is a whole number of at least 1."""
    wrong = f"{name} must be an integer, got {value!r}.{hint}"
    if isinstance(value, (bool, np.bool_)):
        raise InputError(wrong)
    try:
        number = operator.index(value)
    except TypeError as error:
        raise kind(wrong) from error
    if number < 1:
        raise InputError(f"{name} must be at least 1, got {number}.{hint}")
    if number > most:
        raise InputError(
            f"{name} must be an integer of at most {most:,}, got {value!r}.{hint}"
        )
    return number


def check_number(
    value: object, name: str, wanted: str, fits: Callable[[float], bool]
) -> float:
    """Check an option that is a number; `wanted` says in words which ones fit."""
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):  # of a huge integer
            if fits(number := float(value)):
                return number
    raise InputError(f"{name} must be {wanted}, got {value!r}.")


def check_overflow(*arrays: AnyArray) -> None:
    """Raise `NumericalError` when sums over the Stein matrix are not finite."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise NumericalError(
            "The Stein matrix overflows: scores or data are too large for double precision."
            " Check the scores (a density close to 0 at the data?) or rescale x and y."
        )
