"""The model that `--model` names: importing it, and saying where in it something failed."""

from __future__ import annotations

import inspect
import os
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from condgof.cli import TerminatedError
from condgof.errors import CondgofError, InputError, ModelError
from condgof.laws import ModelLike, as_model
from condgof.study import Reference

VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def load_model(address: str) -> ModelLike:
    """Import a model; a function that can be called without arguments is called for it."""
    add_current_folder()
    reference = Reference(address)
    with user_errors(models_subject([address])):
        value = reference.load()
        if not _needs_arguments(value):
            value = reference.resolve()
        return as_model(value)


def _needs_arguments(value: object) -> bool:
    """Return whether an object is a function with parameters that have no default."""
    if not inspect.isfunction(value):
        return False
    parameters = inspect.signature(value).parameters.values()
    return any(
        parameter.default is parameter.empty and parameter.kind not in VARIADIC
        for parameter in parameters
    )


def add_current_folder() -> None:
    """Have users' modules found in the folder that the command is run in."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)


def model_file(address: str) -> str | None:
    """Return the file that an address leads to, if its module was imported from one."""
    module = address.rpartition(":")[0]
    if module.endswith(".py"):
        return module
    return getattr(sys.modules.get(module), "__file__", None)


def models_subject(addresses: Iterable[str]) -> str:
    """Name imported models as the subject of a sentence; "" where there is none."""
    names = " or ".join(map(repr, addresses))
    return f"The model {names}" if names else ""


@contextmanager
def user_errors(subject: str) -> Iterator[None]:
    """Turn what goes wrong in users' code into an InputError that says where.

    Errors that did not pass through users' code, and those of our own, are raised as they
    are; so is everything if the subject of the message is "".
    """
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as caught:
        if isinstance(caught, (GeneratorExit, TerminatedError)):
            raise
        error = caught
        if isinstance(caught, ModelError) and caught.__cause__ is not None:
            error = caught.__cause__
        line = users_line(error)
        ended = isinstance(error, SystemExit)
        if isinstance(error, CondgofError) or not subject or not (ended or line):
            raise
        failed = "tried to end the program" if ended else "failed"
        raise InputError(
            f"{subject} {failed}{line}: {type(error).__name__}: {error}."
        ) from error


def users_line(error: BaseException) -> str:
    """Return where in users' code an error passed, as in " (mine.py, line 3)", or ""."""
    paths = sysconfig.get_paths()
    condgof = str(Path(__file__).parents[1])
    not_users = (condgof, paths["stdlib"], paths["purelib"], paths["platlib"], "<")
    for frame in traceback.extract_tb(error.__traceback__):
        if not frame.filename.startswith(not_users):
            return f" ({Path(frame.filename).name}, line {frame.lineno})"
    return ""
