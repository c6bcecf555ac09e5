"""Files of numbers that users name on the command line."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError, check_finite
from condgof.sample import as_numbers


def read_x(path: Path, columns: list[str]) -> FloatArray:
    """Read x, (n, d): a CSV file whose first line may name the columns, or a .npy array.

    Parameters
    ----------
    path : Path
        The file.
    columns : list of str
        Which columns, by name; all of them when empty.
    """
    x = _read_npy(path, columns) if path.suffix == ".npy" else _read_csv(path, columns)
    if x.size == 0:
        raise InputError(f"{path} has no rows.")
    check_finite(x, str(path), "Leave those rows out.")
    return x


def _read_npy(path: Path, columns: list[str]) -> FloatArray:
    if columns:
        raise InputError(f"{path} is an array: its columns have no names. Leave out --x.")
    try:
        array = np.load(path, allow_pickle=False)
    except ValueError as error:
        raise InputError(f"{path} is not an array of numbers: {error}") from error
    values = as_numbers(array, str(path)).astype(np.float64)
    return values[:, None] if values.ndim == 1 else values


def _read_csv(path: Path, columns: list[str]) -> FloatArray:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [(i, line) for i, line in enumerate(csv.reader(file), 1) if line]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} is not a CSV file: {error}") from error
    if not lines:
        raise InputError(f"{path} is empty.")
    names = [name.strip() for name in lines[0][1]]
    if all(_is_number(name) for name in names):
        if columns:
            raise InputError(f"{path} has no first line with names. Add one, or leave out --x.")
    else:
        lines = lines[1:]
    lacking = [name for name in columns if name not in names]
    if lacking:
        raise InputError(f"{path} has no column {', '.join(lacking)}. It has: {', '.join(names)}.")
    at = [names.index(name) for name in columns] or range(len(names))
    rows = []
    for number, line in lines:
        try:
            if len(line) != len(names):
                raise ValueError
            rows.append([float(line[i]) for i in at])
        except ValueError as error:
            raise InputError(
                f"{path}, line {number}: not {len(names)} numbers. --x picks the columns of x."
            ) from error
    return np.array(rows, dtype=np.float64)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
