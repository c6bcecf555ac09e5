"""A continuous y of one column with a CDF: normal scores z = Φ⁻¹(F(y|x))."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import ndtr

from condgof._typing import AnyArray, FloatArray
from condgof.laws import Law, draws_per_row
from condgof.residuals._normal import NormalResampler, NormalTestFunctions
from condgof.residuals._residuals import (
    Neighbours,
    Resampler,
    TestFunctions,
    named_columns,
)
from condgof.residuals._stein import BANDWIDTHS, SteinResiduals, check_coordinates, line_of
from condgof.sample import Sample, Seed


@dataclass(frozen=True, eq=False)
class NormalScoreResiduals(SteinResiduals):
    """Normal scores u = z, N(0, I) and independent of x under the law; s = −z."""

    standardized_by = "normal scores of the model's CDF"
    tests_locations = True
    #: How many draws of each row the law is known by; 0 where it is known as it is.
    draws: int = 0

    @classmethod
    def from_law(cls, law: Law, sample: Sample) -> Self:
        line_of(law, sample)  # refuses y outside the support
        z = check_coordinates(law.normal_scores(sample.y_given), sample)
        return cls(u=z, scores=-z, draws=draws_per_row(law))

    @property
    def pit(self) -> FloatArray:
        """Φ(z), uniform under the law, (n, d_y)."""
        return np.asarray(ndtr(self.u))

    def resolves(self, tail: float) -> bool:
        """Whether the law can tell a tail of this probability: a few draws cannot."""
        return not self.draws or tail * (self.draws + 1) >= 1.0

    @property
    def can_resample(self) -> bool:
        return True

    def test_functions(self, seed: Seed) -> TestFunctions:
        return NormalTestFunctions.at_bandwidths(BANDWIDTHS, self.u.shape[1])

    def resampler(
        self, test_functions: TestFunctions, neighbours: Neighbours
    ) -> Resampler | None:
        if not isinstance(test_functions, NormalTestFunctions):
            return None
        return NormalResampler(test_functions=test_functions, z=self.u)

    def columns(self, y_names: Sequence[str]) -> dict[str, AnyArray]:
        return {
            **named_columns("pit", y_names, self.pit),
            **named_columns("z", y_names, self.u),
        }


@dataclass(frozen=True, eq=False)
class ContinuousResiduals(NormalScoreResiduals):
    """Normal scores of one column of y."""
