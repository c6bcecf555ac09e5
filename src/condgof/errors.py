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
from types import FrameType
from typing import Any

import numpy as np

from condgof._typing import AnyArray

#: Characters of a user's value that a message shows.
SHOWN_CHARACTERS = 60
#: Characters of a message, of which the middle is left out of a longer one: users' own
#: values, of which one may have 100,000 characters, are part of messages.
MESSAGE_CHARACTERS = 3000


def shown(value: object) -> str:
    """Return a user's value as messages show it, cut where it is long.

    Examples
    --------
    >>> shown("a" * 100)[-5:]
    'aaaa…'
    """
    try:
        text = repr(value)
    except Exception as error:  # whatever an object's __repr__ may raise
        text = f"{type(value).__name__} (its repr raised {type(error).__name__})"
    text = " ".join(text.split())
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"


#: Options of functions that the command line has as well, and what it calls them.
FLAGS = {
    "P": "--prob",
    "alpha": "--alpha",
    "by": "--by",
    "categorical": "--categorical",
    "decimal": "--decimal",
    "delimiter": "--delimiter",
    "dependence": "--dependence",
    "engine": "--threads",
    "entry": "--entry",
    "event": "--event",
    "groups": "--groups",
    "measure": "--measure",
    "missing": "--drop-nulls",
    "rng": "--seed",
    "run_length": "--run-length",
    "slices": "--slice",
    "tolerance": "--tolerance",
    "u": "--pit",
    "weights": "--weights",
}
#: Those of them that take no value on the command line.
SWITCHES = ("missing",)


class _Asker:
    """Who asked: a Python program, or a command line."""

    on_command_line = False


@contextmanager
def asked_on_command_line() -> Iterator[None]:
    """Have messages name the options of the command line, not those of functions."""
    before = _Asker.on_command_line
    _Asker.on_command_line = True
    try:
        yield
    finally:
        _Asker.on_command_line = before


def by_asker(*, python: str, command_line: str) -> str:
    """Return the part of a message that depends on who asked."""
    return command_line if _Asker.on_command_line else python


def option_name(name: str) -> str:
    """Return what whoever asked calls an option; names of other things stay as they are.

    Examples
    --------
    >>> option_name("alpha")
    'alpha'
    >>> with asked_on_command_line():
    ...     option_name("alpha")
    '--alpha'
    """
    return by_asker(python=name, command_line=FLAGS.get(name, name))


def option(name: str, value: str = "") -> str:
    """Write an option as whoever asked does, with a value as Python writes it.

    Examples
    --------
    >>> option("groups"), option("by", "'town'")
    ('groups=', "by='town'")
    >>> with asked_on_command_line():
    ...     option("groups"), option("by", "'town'")
    ('--groups', '--by town')
    """
    plain = "" if name in SWITCHES else value.strip("'")
    written = f"{name}={value}"
    flag = FLAGS.get(name)
    typed = written if flag is None else f"{flag} {plain}".rstrip()
    return by_asker(python=written, command_line=typed)


class CondgofError(Exception):
    """Base of every error that condgof raises on purpose."""

    def __init__(self, *args: Any) -> None:
        if args and isinstance(args[0], str) and len(args[0]) > MESSAGE_CHARACTERS:
            half = MESSAGE_CHARACTERS // 2
            args = (f"{args[0][:half]} … {args[0][-half:]}", *args[1:])
        super().__init__(*args)


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
        self.count = count
        self.first_row = first_row


class SupportError(InputError):
    """Observations that the model gives no probability: they refute it without any test.

    Parameters
    ----------
    model : str
        What to call the model.
    count : int
        How many rows are outside the support.
    n : int
        Number of rows.
    first_row : int
        The first row that is outside, counted from 0.
    """

    def __init__(self, model: str, count: int, n: int, first_row: int) -> None:
        super().__init__(
            f"y is outside the support of {model}, or on its boundary, in {count} of {n}"
            f" rows, the first in row {first_row} (counted from 0). If those observations"
            " are right, the model is refuted: it gives them no probability. If not,"
            " correct or drop them, or the support."
        )
        self.model = model
        self.count = count
        self.n = n
        self.first_row = first_row

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
    """A user's own function or law failed; its error is the cause of this one."""


class MissingPackageError(CondgofError, ImportError):
    """An optional package is not installed."""


class CondgofWarning(UserWarning):
    """Base of every warning that condgof gives."""


class DependenceWarning(CondgofWarning):
    """Rows that follow each other look dependent; the test takes them as independent."""


class FitWarning(CondgofWarning):
    """The fit is not one to check like this.

    It has not converged, or the rows are those that it was fitted on, or it is a model of
    survival and nothing says which times are censored.
    """


class SupportWarning(CondgofWarning):
    """y looks bounded, and its Stein scores came without a support."""


class CensoringWarning(CondgofWarning):
    """A model of survival times came without ``event=``: all rows are taken as events."""


def warn(message: str, category: type[CondgofWarning]) -> None:
    """Warn, naming the line outside this package from which it was called."""
    frame = sys._getframe(1)
    level = 2  # the caller of this function
    while frame.f_back is not None and _package(frame) == "condgof":
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def _package(frame: FrameType) -> str:
    """Return the name of the package whose code runs in a frame."""
    module: str = frame.f_globals.get("__name__", "")
    return module.split(".")[0]


def require(module: str, extra: str, purpose: str) -> Any:
    """Import an optional package for a `purpose`, or name the extra that brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackageError(
            f"{purpose} needs {module.split('.')[0]}, which is not installed (or does not"
            f" import: {error}). Install it with: pip install 'condgof[{extra}]'"
        ) from error


@contextmanager
def reworded(change: str | Callable[[str], str]) -> Iterator[None]:
    """Change the message of condgof's own errors: by a function, or by a text before it."""
    try:
        yield
    except CondgofError as error:
        message = f"{change}: {error}" if isinstance(change, str) else change(str(error))
        error.args = (message, *error.args[1:])
        raise


@contextmanager
def users_code(what: str) -> Iterator[None]:
    """Turn whatever a user's own code raises into one `ModelError` that names it."""
    try:
        yield
    except CondgofError:
        raise
    except Warning:  # a warning is an error only where the user asked for that
        raise
    except Exception as error:
        notes = getattr(error, "__notes__", ())
        reason = " ".join([f"{type(error).__name__}: {error}.", *notes])
        raise ModelError(
            f"{what} failed: {reason} The line is in its own error."
        ) from error


def check_object(obj: object, what: str) -> None:
    """Refuse an object whose attributes cannot be asked for.

    What kind of object a user has passed is found out by its attributes.
    """
    try:
        hasattr(obj, "shape")
    except Exception as error:
        raise InputTypeError(
            f"{what}, of type {type(obj).__name__}, cannot be asked what it is: its"
            f" __getattr__ raised {type(error).__name__}: {error}."
        ) from error


def refuse_rows(
    bad: AnyArray, what: str, advice: str, kind: type[InputError] = InputError
) -> None:
    """Raise an error that counts the rows where a mask (n, …) is True, if there are any."""
    if not bad.any():
        return
    rows = np.flatnonzero(bad.reshape(len(bad), -1).any(axis=1))
    error = kind(
        f"{what} in {len(rows)} of {len(bad)} rows, the first in row {rows[0]} (counted"
        f" from 0). {advice}"
    )
    if isinstance(error, NonFiniteError):
        error.count = len(rows)
        error.first_row = int(rows[0])
    raise error


def check_finite(values: AnyArray, what: str, advice: str) -> None:
    """Raise `NonFiniteError` when any row of `values` (n,) or (n, d) is not finite."""
    finite = np.isfinite(values)
    if not finite.all():
        refuse_rows(~finite, f"{what} has NaN or infinite values", advice, NonFiniteError)


def check_choice(value: object, name: str, choices: Collection[str]) -> str:
    """Check an option that is one of some words, and return it."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(
            f"{option_name(name)} must be one of {', '.join(map(repr, choices))}, got"
            f" {shown(value)}."
        )
    return value


def check_count(
    value: Any,
    name: str,
    most: int = sys.maxsize,
    hint: str = "",
    kind: type[CondgofError] = InputError,
) -> int:
    """Check an option that is a whole number from 1 to `most`, and return it.

    A message names the option by `name` and ends with `hint`; `kind` is the error of what
    is no whole number at all.
    """
    name = option_name(name)
    wrong = f"{name} must be an integer, got {shown(value)}.{hint}"
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
            f"{name} must be an integer of at most {most:,}, got {shown(value)}.{hint}"
        )
    return number


def check_number(
    value: object, name: str, wanted: str, fits: Callable[[float], bool]
) -> float:
    """Check an option that is a number, and return it; `wanted` says which ones fit."""
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):  # a huge integer is no float
            number = float(value)
            if fits(number):
                return number
    raise InputError(f"{option_name(name)} must be {wanted}, got {shown(value)}.")


def check_overflow(*arrays: AnyArray) -> None:
    """Raise `NumericalError` when sums over the Stein matrix are not finite."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise NumericalError(
            "The Stein matrix overflows: scores or data are too large for double precision."
            " Check the scores (a density close to 0 at the data?) or rescale x and y."
        )
