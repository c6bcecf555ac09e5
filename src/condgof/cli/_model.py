"""The model that `--model` names: importing it, and giving it x in the form it expects."""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from condgof.errors import CondgofError, InputError, InputTypeError, ModelError, require
from condgof.laws._as_model import Columns, as_model
from condgof.laws._law import Law, Model, ModelLike
from condgof.sample import Frame, as_days
from condgof.study._names import Reference

FORMS = ("auto", "frame", "array")


def load_model(address: str, form: str, x_names: tuple[str, ...]) -> ModelLike:
    """Import a model from ``package.module:name`` or ``path/to/file.py:name``; functions are called.

    It gets x in the `form` asked for, one of `FORMS`: as a pandas frame with the columns' names, or as
    an array (n, d_x); "auto" is a frame where pandas is installed.
    """
    modules_from_here()
    reference = Reference(address)
    with running(address):
        value = reference.load()
        if inspect.isfunction(value) and not _required(value):
            value = reference.made()
        model = as_model(value)
    if isinstance(model, Columns):
        raise InputTypeError(
            f"{address!r} names columns of a table, and --model takes a model. Name the columns by "
            "--mean and --std, --draws, --quantiles, ..., in place of --model."
        )
    asked = partial(_in_form, XForm(_form(form), x_names))
    if isinstance(model, Model):
        return replace(model, make=partial(asked, model.make))
    # A closed form of functions of x is a law still to be called; one of arrays asks for x no more.
    return model if model.rows is not None else Model(partial(asked, model), model.name)


def modules_from_here() -> None:
    """Have users' modules found where they are: in the folder that the command is run in."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)


def model_file(address: str) -> str | None:
    """Return the file that a model was imported from."""
    module = address.rpartition(":")[0]
    return module if module.endswith(".py") else getattr(sys.modules.get(module), "__file__", None)


def _required(function: Callable[..., Any]) -> bool:
    """Whether a function must be given something."""
    kinds = inspect.Parameter
    return any(
        p.default is p.empty and p.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
        for p in inspect.signature(function).parameters.values()
    )


def _form(asked: str) -> str:
    if asked == "auto":
        try:
            import pandas  # noqa: F401
        except ImportError:
            return "array"
        return "frame"
    if asked == "frame":
        require("pandas", "frames", "--model-x frame")
    return asked


@dataclass(frozen=True)
class XForm:
    """Turns x into what the model expects; a stream of numbers has it as an array."""

    form: str
    names: tuple[str, ...]

    def __call__(self, x: Any) -> Any:
        if isinstance(x, np.ndarray):
            data = dict(zip(self.names, x.T, strict=True))
        elif isinstance(x, Frame):
            data = dict(x.data)
        else:
            data = {name: x[name].to_numpy() for name in self.names}
        if self.form == "frame":
            import pandas as pd

            return pd.DataFrame({name: np.array(values) for name, values in data.items()})
        text = [name for name, values in data.items() if values.dtype.kind == "O"]
        if text:
            raise InputTypeError(
                f"Column {text[0]!r} of x holds text, and the model gets x as an array of numbers. "
                "Install pandas (pip install 'condgof[frames]') for --model-x frame, or leave it out."
            )
        dates = (name for name, values in data.items() if values.dtype.kind == "M")
        return np.column_stack(
            list((data | {name: as_days(data[name], name) for name in dates}).values())
        )


def _in_form(form: XForm, make: Callable[..., Law], x: Any, /, *rest: Any, **beside: Any) -> Law:
    """Call a model with x in the form that it expects."""
    x_given = form(x)
    law = make(x_given, *rest, **beside)
    # What is no law is refused where it was asked for.
    return law(x_given) if isinstance(law, Law) and law.rows is None else law


#: Packages whose failures are not the model's.
OURS = ("condgof", "numpy", "scipy", "pyarrow", "typer", "click", "rich", "threadpoolctl")


@contextmanager
def running(*addresses: str | None) -> Iterator[None]:
    """Turn what goes wrong in users' models, and their leaving the program, into errors of theirs."""
    try:
        yield
    except (Exception, SystemExit) as caught:
        error = (caught.__cause__ or caught) if isinstance(caught, ModelError) else caught
        if isinstance(error, CondgofError):
            raise
        given = [each for each in addresses if each is not None]
        seen = {Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)}
        passed = [each for each in given if Path(model_file(each) or "").resolve() in seen]
        blamed = _blamed(error, (passed or given)[0]) if given else None
        if blamed is None:
            raise
        raise blamed from error


def users_line(error: BaseException) -> str:
    """Say where in users' code an error passed, as in " (mine.py, line 3)"; "" where it did not."""
    files = (getattr(sys.modules.get(name), "__file__", None) for name in OURS)
    ours = {Path(file).parent for file in files if file}
    library = Path(os.__file__).parent
    for frame in traceback.extract_tb(error.__traceback__):
        path = Path(frame.filename)
        standard = library in path.parents and not {"site-packages", "dist-packages"} & set(path.parts)
        if path.exists() and not standard and not ours & set(path.parents):
            return f" ({path.name}, line {frame.lineno})"
    return ""


def _blamed(error: BaseException, address: str) -> InputError | None:
    """Return the error of a user's model that failed, or None where the model had no part in it."""
    where = users_line(error)
    if isinstance(error, SystemExit):
        return InputError(
            f"The model {address!r} tried to end the program{where}: SystemExit: {error}. A model has "
            "to return, or to raise another error."
        )
    if not where:
        return None
    return InputError(
        f"The model {address!r} failed{where}: {type(error).__name__}: {error}. (--model-x says in what "
        "form it gets x.)"
    )
