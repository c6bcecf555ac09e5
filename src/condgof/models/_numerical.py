"""Scores by numerical differentiation of the log-density: the last resort."""

from __future__ import annotations

from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import DerivativeError, check_finite
from condgof.models._base import ConditionalModel, as_rows
from condgof.models._derivative import differentiate
from condgof.models._support import Line


class NumericalScore(ConditionalModel):
    """A model that has `log_prob` (and perhaps `support`) but no closed-form score."""

    #: The largest relative error of the derivative that is accepted.
    tolerance: float = 1e-4

    def score(self, y: AnyArray, x: Any) -> FloatArray:
        """Return ∇_y log p(y|x) by a numerical derivative, (n, d_y)."""
        return self.score_and_error(y, x)[0]

    def score_and_error(self, y: AnyArray, x: Any) -> tuple[FloatArray, FloatArray]:
        """Return the scores and an estimate of their absolute errors, (n, d_y) each.

        Raises
        ------
        DerivativeError
            When the error of some row is above `tolerance` times the size of the scores, or when
            the density is flat wherever it was tried.
        """
        y = np.asarray(y)
        check_finite(
            self.log_prob(y, x), "log p(y|x)", "Is the density 0 at those rows? Check the model."
        )
        rows = as_rows(y)
        # On the whole line no step can leave the support, and near a bound the score is a few units.
        line = Line.of(self.support(x, *rows.shape), *rows.shape)
        scores, errors = differentiate(
            lambda moved: self.log_prob(_to_y(moved, line).reshape(y.shape), x),
            rows if line is None else line.forward(rows),
        )
        if not scores.any() and not self._uniform(y, x, line):
            raise DerivativeError(
                "The log-density is flat at every row, so its score says nothing: a piecewise "
                "constant density (a histogram) cannot be tested through its score. Use a test "
                "that works on the CDF or on samples."
            )
        # The median, because an outlier's score must not excuse errors of the other rows.
        size = np.abs(scores) + np.median(np.abs(scores), axis=0)
        if line is not None:
            size += 1.0  # the size of d log(dy/du)/du, to which they are added
        bad = np.flatnonzero((errors > self.tolerance * size).any(axis=1))
        if len(bad):
            worst = float((errors[bad] / size[bad]).max())
            raise DerivativeError(
                f"The numerical derivative of the log-density is not accurate in {len(bad)} of "
                f"{len(rows)} rows, the first in row {bad[0]} (counted from 0): estimated relative "
                f"error {worst:.1e}, allowed {self.tolerance:.1e}. Give the score itself "
                "(condgof.from_score), or compute log_prob in double precision."
            )
        slope = 1.0 if line is None else line.slope(rows)
        return scores / slope, errors / slope

    def _uniform(self, y: AnyArray, x: Any, line: Line | None) -> bool:
        """Whether a density that is flat at all observations is so everywhere on its support."""
        if line is None or not (np.isfinite(line.low) & np.isfinite(line.high)).all():
            return False
        here = self.log_prob(y, x)
        places = (line.backward(np.full(line.low.shape, t)) for t in (-5.0, -1.0, 0.0, 1.0, 5.0))
        return all(np.allclose(self.log_prob(at.reshape(y.shape), x), here) for at in places)


def _to_y(moved: FloatArray, line: Line | None) -> FloatArray:
    return moved if line is None else line.backward(moved)
