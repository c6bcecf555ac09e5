"""Rows that are not independent: what a user says of them, and splitting them."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import IntArray
from condgof.engine import Engine
from condgof.errors import InputError
from condgof.methods._autocorrelation import FEW, LONG, auto_length, look, stretches_of
from condgof.methods._rows import Scored, Stream
from condgof.null import Dependence
from condgof.sample import Sample, read_groups

#: Nothing was said.
INDEPENDENT = Dependence()


@dataclass(frozen=True, eq=False)
class Asked:
    """What a user said of how rows depend on each other, checked."""

    #: Block length.
    dependence: int | str | None = None
    #: Group of each row.
    groups: Any = None

    @classmethod
    def of(cls, dependence: Any, groups: Any, null: str) -> Asked:
        """Check what can be checked before the sample is read."""
        if dependence is None and groups is None:
            return cls()
        if dependence is not None and groups is not None:
            raise InputError(
                "dependence= and groups= were both given. Rows are ordered in time, or they come in "
                "groups that are independent of each other: pass one of the two. For time series of "
                "several subjects, pass the subjects as groups=."
            )
        if null not in ("auto", "wild"):
            raise InputError(
                f"dependence= and groups= need null='auto' or 'wild', got {null!r}: other nulls take "
                "rows as independent."
            )
        if dependence is None:
            return cls(None, groups)
        if isinstance(dependence, str) and dependence == "auto":
            return cls("auto", None)
        return cls(_length(dependence), None)


def _length(dependence: Any) -> int:
    try:
        length = operator.index(dependence)
    except TypeError:
        length = -1
    if length < 1 or isinstance(dependence, bool):
        raise InputError(
            f"dependence must be a block length (an integer of at least 1) or 'auto', got "
            f"{dependence!r}. Choose some multiple of the time over which errors are correlated."
        )
    return length


def dependence_of(
    asked: Asked, scored: Scored | Stream, data: Any, engine: Engine, n_boot: int
) -> Dependence:
    """Find how rows depend on each other; warn where they seem to, and nothing was said."""
    n = scored.n if isinstance(scored, Scored) else scored.source.n
    if asked.dependence == "auto":
        length = auto_length(stretches_of(scored, engine, LONG), n)
        chosen = f"block length {length} chosen by dependence='auto'"
        if n < FEW * length:
            chosen += f": n = {n:,} rows are fewer than {FEW} such blocks, and hardly ever reject"
        return Dependence(length, notes=(chosen,))
    if asked.dependence is None and asked.groups is None:
        return Dependence(notes=look(stretches_of(scored, engine)))
    sample = scored.sample if isinstance(scored, Scored) else None
    return given_dependence(asked, n, data, n_boot, sample)


def given_dependence(
    asked: Asked, n: int, data: Any, n_boot: int, sample: Sample | None = None
) -> Dependence:
    """Return what the user said of n rows, where no scores are needed to know it.

    Of a `sample` from which rows were left out, groups were given for these, too.
    """
    if asked.groups is not None:
        lost, kept = (0, None) if sample is None else (sample.left_out, sample.kept)
        codes = read_groups(asked.groups, data, n + lost, kept if lost else None)
        return Dependence(codes=codes, notes=_group_notes(int(codes.max()) + 1, n_boot))
    if asked.dependence is None:
        return Dependence()
    if isinstance(asked.dependence, str):
        raise InputError("dependence='auto' is for tests that use scores. Pass a block length.")
    length = asked.dependence
    if length >= n:
        raise InputError(
            f"dependence = {length} is a block length of the whole sample (n = {n}). Pass a shorter one."
        )
    if n < FEW * length:
        few = f"n = {n:,} rows are fewer than {FEW} blocks of {length}: the level is approximate"
        return Dependence(length, notes=(few,))
    return Dependence(length)


def _group_notes(count: int, n_boot: int) -> tuple[str, ...]:
    if count == 1:
        raise InputError(
            "groups has one group only, and rows of a group may depend on each other. At least two "
            "groups are needed, and 20 or more for a test worth having."
        )
    notes = []
    if count < FEW:
        notes.append(f"there are {count} groups only: the level is approximate, and power is low")
    if 2 ** (count - 1) < n_boot + 1:
        notes.append(
            f"{count} groups have {2 ** (count - 1)} patterns of signs: no p-value can be much below "
            f"{2.0 ** (1 - count):.3g}"
        )
    return tuple(notes)


def split_rows(
    rows: Dependence, n: int, train_fraction: float, most: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Split n rows into a training part and a test part: at random, or as dependent rows allow."""
    if rows.independent:
        return split(n, train_fraction, most, rng)
    train, left_out = split_dependent(rows, n, train_fraction, most, rng)
    return train, np.setdiff1d(np.arange(n), left_out)


def split_dependent(
    rows: Dependence, n: int, train_fraction: float, most: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Split off rows to train on, so that they hardly depend on the others.

    Of a time series these are the first, and a block after them is not used at all; of groups, whole
    ones at random, as many as fit.
    """
    size = train_size(n, train_fraction, most)
    if rows.codes is None:
        between = min(rows.length or 1, (n - size) // 2)
        return np.arange(size), np.arange(size + between)
    sizes = np.bincount(rows.codes)
    chosen = _fitting(sizes, size, rng)
    if rows.count - len(chosen) < 2:
        raise InputError(
            f"locations='optimize' trains on whole groups, and of {rows.count} groups fewer than 2 are "
            "left to test on. Pass locations='random', or smaller groups."
        )
    left_out = np.flatnonzero(np.isin(rows.codes, chosen))
    if len(left_out) <= most:
        return left_out, left_out
    return np.sort(rng.choice(left_out, most, replace=False)), left_out


def _fitting(sizes: IntArray, room: int, rng: np.random.Generator) -> list[int]:
    """Choose groups at random, as many as there is room for; at least the smallest one."""
    chosen: list[int] = []
    for group in rng.permutation(len(sizes)):
        if sizes[group] <= room:
            chosen.append(int(group))
            room -= int(sizes[group])
    return chosen or [int(np.argmin(sizes))]


def train_size(n: int, train_fraction: float, most: int) -> int:
    """Check the share of rows to train on, and return their number."""
    number = isinstance(train_fraction, (int, float, np.floating))
    if isinstance(train_fraction, bool) or not number or not 0 < train_fraction < 1:
        raise InputError(f"train_fraction must be a number between 0 and 1, got {train_fraction!r}.")
    size = min(round(train_fraction * n), most)
    if size < 5 or n - size < 5:
        raise InputError(
            f"train_fraction = {train_fraction} leaves {size} of {n} rows to train on and {n - size} "
            "to test on; both need at least 5. Change train_fraction, or pass locations='random'."
        )
    return size


def split(
    n: int, train_fraction: float, most: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Split n rows at random into a training part and a test part; see `train_size`."""
    size = train_size(n, train_fraction, most)
    order = rng.permutation(n)
    return np.sort(order[:size]), np.sort(order[size:])
