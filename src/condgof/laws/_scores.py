"""Proper scores: which of them a law offers, and what it scores in each row.

A score is proper if the true law has the best mean. All are in the orientation of the field: a log score
is better the higher it is, the others are losses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, UnsupportedModelError, refuse_rows
from condgof.laws._classes import Probabilities
from condgof.laws._law import Law, check_shape


@dataclass(frozen=True)
class Measure:
    """A proper score: its key, what it is called, and which of two values is better."""

    key: str
    name: str
    #: 1 where higher values are better, −1 where lower values are.
    sign: float

    @property
    def better(self) -> str:
        """The better direction in a word."""
        return "higher" if self.sign > 0 else "lower"


#: The measures, the first that two laws offer before the others.
MEASURES = {
    measure.key: measure
    for measure in (
        Measure("log", "log score", 1.0),
        Measure("crps", "CRPS", -1.0),
        Measure("energy", "energy score", -1.0),
        Measure("brier", "Brier score", -1.0),
        Measure("pinball", "pinball loss", -1.0),
        Measure("winkler", "Winkler score", -1.0),
    )
}


def offered(law: Law, d_y: int = 1) -> tuple[str, ...]:
    """Return the keys of the measures that a law offers, in the order of `MEASURES`.

    Densities and probabilities have a log score if they are normalised: one that was given as a function
    is, for one column of y, if the law has been told y (`Law.facing`) and could integrate it. A CDF or
    draws have the CRPS, draws of several columns the energy score, classes the Brier score (and the CRPS
    if there are more than two and they are ordered), quantiles the pinball loss, intervals the Winkler
    score.

    Examples
    --------
    >>> from condgof.laws import normal, probabilities
    >>> offered(normal([0.0, 1.0], 1.0)), offered(probabilities([0.2, 0.7]))
    (('log', 'crps'), ('log', 'brier'))
    """
    classes = isinstance(law, Probabilities)
    ranked = not isinstance(law, Probabilities) or (law.ordered and law.values.shape[1] > 2)
    has = {
        "log": law.can("log_prob") and law.normalised,
        "crps": d_y == 1 and law.can("cdf") and ranked,
        "brier": classes,
    }
    return tuple(key for key in MEASURES if has.get(key, hasattr(law, key)))


def score(law: Law, y: AnyArray, measure: str) -> FloatArray:
    """Return the score of each row, (n,), in the orientation of the field.

    Parameters
    ----------
    law : Law
        It must offer the measure.
    y : ndarray of shape (n,) or (n, d_y)
        The observations, as the law takes them.
    measure : str
        A key of `MEASURES`. A log score is −∞ where the law holds y to be impossible, and a Winkler
        score ∞ where an interval is infinite; NaN is refused.

    Examples
    --------
    >>> from condgof.laws import normal
    >>> score(normal([0.0, 0.0], 1.0), np.array([0.0, 2.0]), "crps").round(3)
    array([0.234, 1.453])
    """
    if measure not in MEASURES:
        raise InputError(f"measure must be one of {', '.join(MEASURES)}, got {measure!r}.")
    y = np.asarray(y)
    if measure not in offered(law, 1 if y.ndim == 1 else y.shape[1]):
        raise UnsupportedModelError(f"{law.name} has no {MEASURES[measure].name}.")
    method = "log_prob" if measure == "log" else measure
    values = check_shape(getattr(law, method)(y), len(y), 1, f"What {method} returns")[:, 0]
    advice = f"{law.name} does not say how likely y is there. Check the model."
    refuse_rows(np.isnan(values), f"The {MEASURES[measure].name} is not a number", advice)
    return values
