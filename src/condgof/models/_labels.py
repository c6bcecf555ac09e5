"""Classes of a classifier, and finding the labels of y among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, InputTypeError, NonFiniteError, ShapeError
from condgof.models._discrete import flat


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes, in the order of the columns of probabilities.

    Parameters
    ----------
    labels : ndarray of shape (K,)
        Numbers or strings, all different.
    """

    labels: AnyArray

    @classmethod
    def of(cls, classes: Any, count: int) -> Classes:
        """Read what a user passed, for so many columns; None is 0, 1, …, K − 1."""
        if classes is None:
            return cls(np.arange(count))
        if isinstance(classes, (str, bytes)) or np.ndim(classes) != 1:
            raise ShapeError("classes must be a list of labels, one for each column of P.")
        missing = [v is None or (isinstance(v, float) and v != v) for v in classes]
        if any(missing):
            raise InputError(
                f"classes has a missing value (None or NaN) at position {missing.index(True)} (counted "
                "from 0). Name every class as y does."
            )
        labels = np.asarray(classes)
        if labels.dtype.kind == "b":
            labels = labels.astype(np.int64)
        if labels.dtype.kind not in "iufU":  # a mixture, or objects
            labels = np.array([str(label) for label in labels])
        if len(labels) != count:
            raise ShapeError(f"There are {len(labels)} classes for {count} columns of probabilities.")
        if len(np.unique(labels)) < count:
            raise InputError(f"classes must all be different, got {_listed(labels)}.")
        found = cls(labels)
        if len(np.unique(found.values)) < count:
            raise InputError(
                f"Classes such as {_listed(labels[:2])} are too large to be told apart as double "
                "precision numbers. Pass classes and y as text."
            )
        return found

    @property
    def numeric(self) -> bool:
        """Whether labels are numbers."""
        return self.labels.dtype.kind in "iuf"

    @property
    def values(self) -> FloatArray:
        """The classes as numbers, (K,): their labels, or their positions where those are text."""
        return (self.labels if self.numeric else np.arange(len(self.labels))).astype(np.float64)

    @property
    def names(self) -> tuple[str, ...]:
        """The classes as text."""
        return tuple(str(label) for label in self.labels)

    def find(self, y: AnyArray) -> IntArray:
        """Return the position of each label of y among the classes, (n,)."""
        y = flat(np.asarray(y))
        if self.numeric:
            if y.dtype.kind not in "biuf":
                raise InputTypeError(
                    f"y holds text, and the classes are the numbers {_listed(self.labels)}. Name them: "
                    "condgof.probabilities(P, classes=[...])."
                )
            given: AnyArray = y.astype(np.float64)
            if not np.isfinite(given).all():
                bad = np.flatnonzero(~np.isfinite(given))
                raise NonFiniteError(
                    f"y has NaN or infinite values in {len(bad)} of {len(y)} rows, the first in row "
                    f"{bad[0]} (counted from 0). Drop or fill those rows first.",
                    len(bad),
                    int(bad[0]),
                )
        else:
            if y.dtype.kind not in "OUS":
                raise InputTypeError(
                    f"y holds numbers, and the classes are called {_listed(self.labels)}. Pass y as "
                    "those names, or the classes as numbers."
                )
            given = np.array([str(label) for label in y])
        known = self.labels.astype(np.float64) if self.numeric else self.labels
        order = np.argsort(known, kind="stable")
        place = np.minimum(np.searchsorted(known, given, sorter=order), len(known) - 1)
        found = order[place]
        bad = np.flatnonzero(known[found] != given)
        if len(bad):
            raise InputError(
                f"y has labels that are not among the classes in {len(bad)} of {len(y)} rows, the "
                f"first in row {bad[0]} (counted from 0): {_listed(y[bad[:1]])}. The classes are "
                f"{_listed(self.labels)}. Name them as y does, condgof.probabilities(P, classes=[...]), "
                "or correct y."
            )
        return np.asarray(found, dtype=np.int64)


def _listed(labels: AnyArray) -> str:
    shown = ", ".join(repr(label.item() if hasattr(label, "item") else label) for label in labels[:8])
    return f"{shown}, ..." if len(labels) > 8 else shown
