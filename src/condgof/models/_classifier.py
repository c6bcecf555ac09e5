"""Fitted classifiers: anything that predicts class probabilities at x."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray
from condgof.errors import InputError, ShapeError
from condgof.models._delegate import DiscreteDelegate
from condgof.models._library import Fitted, as_table, predicting
from condgof.models._probabilities import Probabilities, probabilities


class DiscreteFitted(Fitted, DiscreteDelegate):
    """A fitted object of another library whose y is discrete; a subclass writes `at`."""

    #: What such models lack.
    LACKING: tuple[str, ...] = ("score", "normal_scores", "marginals")

    def can(self, ability: str) -> bool:
        """Whether the model has an ability; a prediction tells more."""
        return ability not in self.LACKING


@dataclass(frozen=True, eq=False)
class Classifier(DiscreteFitted):
    """The class probabilities that a fitted classifier predicts at x.

    Parameters
    ----------
    predict : callable
        x → probabilities (n, K).
    classes : array of shape (K,), optional
        What y calls the classes.
    library : str
        What messages call it.
    """

    predict: Callable[[Any], Any]
    classes: AnyArray | None
    library: str = "The classifier"

    def __repr__(self) -> str:
        return f"Classifier({getattr(self.predict, '__self__', self.predict)!r})"

    def at(self, x: Any, n: int) -> Probabilities:
        """Return the probabilities at the n rows of x."""
        x = as_table(x)
        with predicting(self.library, n):
            predicted = self.predict(x)
        if isinstance(predicted, list):
            raise ShapeError(
                f"{self.library} predicts {len(predicted)} outputs. Pass a classifier of a single y."
            )
        values = np.asarray(predicted)
        if values.ndim != 2 or len(values) != n:
            raise ShapeError(f"{self.library} predicted a shape of {values.shape}, and x has {n} rows.")
        if values.shape[1] < 2:
            raise InputError(
                f"{self.library} was fitted on a single class, so that there is nothing to test."
            )
        return probabilities(values, self.classes)


def classifier(obj: Any, library: str) -> Classifier:
    """Make a model of an object with `predict_proba` and `classes_`."""
    return Classifier(obj.predict_proba, np.asarray(obj.classes_), library)
