"""y in units of the law's location and scale, where it has no CDF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import ShapeError
from condgof.laws import Law
from condgof.residuals._residuals import named_columns
from condgof.residuals._stein import (
    BLIND_TO_WEIGHTS,
    OnTheLine,
    SteinResiduals,
    check_coordinates,
    on_the_line,
)
from condgof.sample import Sample


@dataclass(frozen=True, eq=False)
class MomentResiduals(SteinResiduals):
    """u = L⁻¹(y − location), of mean 0 and covariance I under the law, with its scores."""

    standardized_by = "location and scale of the model"
    remark = BLIND_TO_WEIGHTS

    @classmethod
    def from_law(cls, law: Law, sample: Sample) -> MomentResiduals:
        on_line = on_the_line(law, sample)
        standardized = _standardized(law, sample, on_line)
        return cls(
            u=standardized.u,
            scores=standardized.scores,
            score_error=on_line.score_error,
            reparametrized=on_line.reparametrized,
        )

    def columns(self, y_names: Sequence[str]) -> dict[str, AnyArray]:
        return named_columns("z", y_names, self.u)


class _Standardized(NamedTuple):
    u: FloatArray  #: L⁻¹(u − location), (n, d_y).
    scores: FloatArray  #: Lᵀs, (n, d_y).


def _standardized(law: Law, sample: Sample, on_line: OnTheLine) -> _Standardized:
    """Standardise by a location and a scale L that is diagonal or triangular."""
    location, scale = map(np.asarray, law.location_scale())
    n, d_y = sample.y.shape
    # One column for all: closed forms that have numbers as parameters.
    columns = [(n, d_y), (n, 1)]
    if location.shape not in columns or scale.shape not in [*columns, (n, d_y, d_y)]:
        raise ShapeError(
            f"The model's location and scale must have shapes {(n, d_y)} and {(n, d_y)} or "
            f"{(n, d_y, d_y)}, got {location.shape} and {scale.shape}. Check mean_std of"
            " the model."
        )
    if on_line.line is not None:
        location, scale = on_line.line.place(location, scale)
    centred = on_line.u - location
    if scale.ndim == 2:
        return _Standardized(
            u=check_coordinates(centred / scale, sample), scores=scale * on_line.scores
        )
    turned = np.linalg.solve(scale, centred[:, :, None])[:, :, 0]
    return _Standardized(
        u=check_coordinates(turned, sample),
        scores=np.einsum("nij,ni->nj", scale, on_line.scores),
    )
