"""The model that `--model` names: importing it, and giving it x in the form it expects."""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
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
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def load_model(address: str, form: str, x_names: tuple[str, ...]) -> ModelLike:
    """Import a model, which gets x in one of `FORMS`; a function without arguments is called for it."""
    modules_from_here()
    reference = Reference(address)
    with running(address):
        value = reference.load()
        asks = inspect.signature(value).parameters.values() if inspect.isfunction(value) else ()
        if all(each.default is not each.empty or each.kind in VARIADIC for each in asks):
            value = reference.made()
        model = as_model(value)
    if isinstance(model, Columns):
        raise InputTypeError(
            f"{address!r} names columns of a table, and --model takes a model. Name the columns by "
            "--mean and --std, --draws, --quantiles, ..., in place of --model."
        )
    if form == "auto":
        form = "frame" if importlib.util.find_spec("pandas") else "array"
    elif form == "frame":
        require("pandas", "frames", "--model-x frame")
    asked = partial(_in_form, form, x_names)
    if isinstance(model, Model):
        return replace(model, make=partial(asked, model.make))
    # A closed form of functions of x is a law still to be called; one of arrays asks for x no more.
    return model if model.rows is not None else Model(partial(asked, model), model.name)


def modules_from_here() -> None:
    """Have users' modules found where they are: in the folder that the command is run in."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)


def model_file(address: str | None) -> str | None:
    module = (address or "").rpartition(":")[0]
    return module if module.endswith(".py") else getattr(sys.modules.get(module), "__file__", None)


def x_in_form(form: str, names: tuple[str, ...], x: Any) -> Any:
    """Turn x into what the model expects; a stream of numbers has it as an array."""
    if isinstance(x, np.ndarray):
        data = dict(zip(names, x.T, strict=True))
    elif isinstance(x, Frame):
        data = dict(x.data)
    else:
        data = {name: x[name].to_numpy() for name in names}
    if form == "frame":
        import pandas as pd

        return pd.DataFrame({name: np.array(values) for name, values in data.items()})
    for name, values in data.items():
        if values.dtype.kind == "O":
            raise InputTypeError(
                f"Column {name!r} of x holds text, and the model gets x as an array of numbers. "
                "Install pandas (pip install 'condgof[frames]') for --model-x frame, or leave it out."
            )
        data[name] = np.asarray(as_days(values, name)) if values.dtype.kind == "M" else values
    return np.column_stack(list(data.values()))


def _in_form(
    form: str, names: tuple[str, ...], make: Callable[..., Law], x: Any, /, *rest: Any, **beside: Any
) -> Law:
    x_given = x_in_form(form, names, x)
    law = make(x_given, *rest, **beside)
    # What is no law is refused where it was asked for.
    return law(x_given) if isinstance(law, Law) and law.rows is None else law


#: Packages whose failures are not the model's.
OURS = ("condgof", "numpy", "scipy", "pyarrow", "typer", "click", "rich", "threadpoolctl")


@contextmanager
def running(*addresses: str | None, what: str = "") -> Iterator[None]:
    """Turn what goes wrong in users' code, and its leaving the program, into errors of theirs.

    It is the models at some addresses, or `what`.
    """
    try:
        yield
    except (Exception, SystemExit) as caught:
        error = (caught.__cause__ or caught) if isinstance(caught, ModelError) else caught
        given = [each for each in addresses if each is not None]
        left, where = isinstance(error, SystemExit), users_line(error)
        if isinstance(error, CondgofError) or not (given or what) or not (left or where):
            raise
        if given:
            seen = {Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)}
            passed = [each for each in given if Path(model_file(each) or "").resolve() in seen]
            what = f"The model {(passed or given)[0]!r}"
        failed, advice = "failed", " (--model-x says in what form it gets x.)" if given else ""
        if left:
            failed, advice = "tried to end the program", " It has to return, or to raise another error."
        raise InputError(f"{what} {failed}{where}: {type(error).__name__}: {error}.{advice}") from error


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
