"""Nothing but Stein scores ∇ log p(y|x): y itself, or on the whole line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condgof import kernels
from condgof._typing import FloatArray
from condgof.kernels import Gaussian, Radial
from condgof.laws import Law
from condgof.residuals._stein import (
    BANDWIDTHS,
    BLIND_TO_WEIGHTS,
    SteinResiduals,
    on_the_line,
)
from condgof.sample import Sample, Seed


@dataclass(frozen=True, eq=False)
class ScoreResiduals(SteinResiduals):
    """y as it is, with its Stein scores: what the paper's tests compare."""

    remark = BLIND_TO_WEIGHTS

    @classmethod
    def from_law(cls, law: Law, sample: Sample) -> ScoreResiduals:
        on_line = on_the_line(law, sample)
        return cls(
            u=on_line.u,
            scores=on_line.scores,
            score_error=on_line.score_error,
            reparametrized=on_line.reparametrized,
        )

    def bandwidths(self, seed: Seed) -> list[float]:
        """Return multiples of the median distance: y has no unit of the model's."""
        kernel = kernels.resolve_y(Gaussian("median"), self.u, seed)
        assert isinstance(kernel, Radial)
        return [kernel.sigma * scale for scale in BANDWIDTHS]


@dataclass(frozen=True, eq=False)
class JointScoreResiduals(SteinResiduals):
    """y in one affine map for K models: u (n, d_y), with the scores of all (n, K·d_y)."""

    standardized_by = "one affine map for all models"

    @classmethod
    def from_law(cls, law: Law, sample: Sample) -> JointScoreResiduals:
        raise NotImplementedError("scores of several models come from several laws")

    @property
    def landmark_scores(self) -> FloatArray:
        """Zeros: scores of no single model choose the landmarks, which serve all."""
        return np.zeros(self.u.shape)

    def by_model(self) -> list[ScoreResiduals]:
        """Return residuals with the scores of each model, (n, d_y), by themselves."""
        count = self.scores.shape[1] // self.u.shape[1]
        each = np.split(self.scores, count, axis=1)
        return [ScoreResiduals(self.u, np.ascontiguousarray(one)) for one in each]
