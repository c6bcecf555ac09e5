"""The model that `--model` names: importing it, and giving it x in the form it expects."""

from __future__ import annotations

import inspect
import os
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from condgof.errors import CondgofError, InputError, InputTypeError, ModelError
from condgof.laws._as_model import Columns, as_model
from condgof.laws._law import ModelLike
from condgof.study._names import Reference

VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def load_model(address: str) -> ModelLike:
    """Import a model; a function without arguments is called for it."""
    modules_from_here()
    reference = Reference(address)
    with running(address):
        value = reference.load()
        asks = (
            inspect.signature(value).parameters.values()
            if inspect.isfunction(value)
            else ()
        )
        if all(each.default is not each.empty or each.kind in VARIADIC for each in asks):
            value = reference.made()
        model = as_model(value)
    if isinstance(model, Columns):
        raise InputTypeError(
            f"{address!r} names columns of a table, and --model takes a model. Name the"
            " columns by --mean and --std, --draws, --quantiles, ..., in place of --model."
        )
    return model


def modules_from_here() -> None:
    """Have users' modules found where they are: in the folder that the command is run in."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)


def model_file(address: str | None) -> str | None:
    module = (address or "").rpartition(":")[0]
    return (
        module
        if module.endswith(".py")
        else getattr(sys.modules.get(module), "__file__", None)
    )


@contextmanager
def running(*addresses: str | None, what: str = "") -> Iterator[None]:
    """Turn what goes wrong in models at some addresses, or in `what`, into errors of the users."""
    try:
        yield
    except (Exception, SystemExit) as caught:
        error = (caught.__cause__ or caught) if isinstance(caught, ModelError) else caught
        left, where = isinstance(error, SystemExit), users_line(error)
        given = " or ".join(repr(each) for each in addresses if each is not None)
        what = f"The model {given}" if given else what
        if isinstance(error, CondgofError) or not what or not (left or where):
            raise
        failed = "tried to end the program" if left else "failed"
        raise InputError(
            f"{what} {failed}{where}: {type(error).__name__}: {error}."
        ) from error


def users_line(error: BaseException) -> str:
    """Say where in users' code an error passed, as in " (mine.py, line 3)"; "" where it did not."""
    known = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib"))
    ours = (str(Path(__file__).parents[1]), *known)
    for frame in traceback.extract_tb(error.__traceback__):
        if not frame.filename.startswith((*ours, "<")):
            return f" ({Path(frame.filename).name}, line {frame.lineno})"
    return ""
