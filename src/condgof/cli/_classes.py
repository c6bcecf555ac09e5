"""What the classes of y are called, where a table has a column of probability for each."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from condgof._typing import AnyArray
from condgof.cli._columns import parse_number
from condgof.errors import InputError
from condgof.sample import list_names

#: Names of all classes, in the order of the columns.
ClassNames: TypeAlias = tuple[str, ...]


def class_labels(
    columns: Sequence[str], classes: str | None, y_name: str, y: AnyArray
) -> list[str] | list[float]:
    """Return the value of y that each class is, in the order of the columns.

    Parameters
    ----------
    columns : sequence of str
        The columns of probabilities; a single one is of the second of two classes.
    classes : str, optional
        The names that the user gave, with commas between.
    y_name : str
        The column of y.
    y : array, (n,)
        Its values, text or numbers.
    """
    if classes is not None:
        source = "--classes"
        candidates = [_split_names(classes)]
    else:
        source = "the columns of --prob"
        candidates = [("0", "1")] if len(columns) == 1 else class_name_candidates(columns)
    count = max(len(columns), 2)
    occurring = np.unique(y).tolist()
    is_text = y.dtype.kind == "O"
    for names in candidates:
        labels = list(names) if is_text else _numbers(names)
        complete = len(names) == len(set(labels)) == count
        if complete and set(occurring) <= set(labels):
            return labels
    shown = list_names([each if is_text else f"{each:.12g}" for each in occurring])
    differ = f"Column {y_name!r} holds {shown}, and the classes of {source} are"
    wanted = f"{count} names as in {y_name!r}, in the order of the columns"
    raise InputError(
        f"{differ} {list_names(candidates[-1])}. Give --classes: {wanted}; one with a comma"
        " in it between double quotes."
    )


def class_name_candidates(columns: Sequence[str]) -> list[ClassNames]:
    """Return what classes may be called: as the columns, or these without a common prefix.

    The prefix ends after its last character that is no letter and no digit, so that the
    classes of ``p_cat`` and ``p_car`` are ``cat`` and ``car``; without such a character it
    is all that the columns begin with.
    """
    prefix = os.path.commonprefix(columns)  # noqa: RUF071 - letter by letter is what is meant
    ends = [sign.end() for sign in re.finditer(r"[^0-9A-Za-z]", prefix)]
    cut = max(ends, default=len(prefix))
    shorter = tuple(name[cut:] for name in columns)
    if cut and all(shorter):
        return [tuple(columns), shorter]
    return [tuple(columns)]


def _split_names(text: str) -> ClassNames:
    """Split at commas, but not between double quotes."""
    names = next(csv.reader([text], skipinitialspace=True), [""])
    return tuple(name.strip() for name in names)


def _numbers(names: ClassNames) -> list[float]:
    """Return those of the names that are numbers."""
    numbers = [parse_number(name) for name in names]
    return [number for number in numbers if number is not None]
