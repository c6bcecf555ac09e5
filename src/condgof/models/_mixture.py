"""Mixtures of Gaussians with diagonal covariances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError
from condgof.models import _mixture_forms as forms
from condgof.models._base import as_rows
from condgof.models._mixture_forms import Parts
from condgof.models._parameters import Parameter, check_positive
from condgof.models._parametric import Parametric


@dataclass(frozen=True, eq=False, init=False)
class NormalMixture(Parametric):
    """Mixture of C Gaussians, p(y|x) = Σ_c π_c(x) N(y; mean_c(x), diag std_c(x)²).

    Parameters
    ----------
    weights : (C,) array or callable
        Mixing weights, summing to 1, or a function x → (n, C).
    means : (C,) or (C, d_y) array, or callable
        Component means, or a function x → (n, C) or (n, C, d_y).
    stds : float, (C,) or (C, d_y) array, or callable
        Component standard deviations, as for `means`: (C,) when d_y = 1, a number for all.

    Examples
    --------
    >>> model = NormalMixture(weights=[0.5, 0.5], means=[-1.0, 1.0], stds=1.0)
    >>> model.score(np.array([0.0]), np.array([0.0]))
    array([[0.]])
    """

    weights: Parameter
    means: Parameter
    stds: Parameter

    def __init__(self, weights: Any, means: Any, stds: Any) -> None:
        self._read(weights=weights, means=means, stds=stds)

    def _parts(self, x: Any, n: int, d_y: int) -> Parts:
        """Return weights (n, C), means and stds (n, C, d_y)."""
        components = self.weights.width(x)
        if components is None:
            raise InputError("weights must have one number for each component.")
        weights = self.weights.at(x, n, (components,))
        sums = weights.sum(axis=1)
        if (weights < 0).any() or not np.allclose(sums, 1.0, rtol=0, atol=1e-6):
            raise InputError("weights must not be negative and must sum to 1 in every row.")
        means = self.means.at(x, n, (components, d_y))
        stds = check_positive(self.stds.at(x, n, (components, d_y)), "stds")
        return Parts(weights / sums[:, None], means, stds)

    def score(self, y: AnyArray, x: Any) -> FloatArray:
        """Return Σ_c r_c(y, x) (mean_c − y)/std_c² with the responsibilities r_c, (n, d_y)."""
        y = as_rows(y)
        return forms.score(y, self._parts(x, *y.shape))

    def log_prob(self, y: AnyArray, x: Any) -> FloatArray:
        """Return log p(y|x), (n,)."""
        y = as_rows(y)
        return forms.log_prob(y, self._parts(x, *y.shape))

    def cdf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y ≤ y | x) for d_y = 1, (n,)."""
        y = as_rows(y)
        return forms.cdf(y, self._parts(x, *y.shape))

    def sf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y > y | x) for d_y = 1, (n,)."""
        y = as_rows(y)
        return forms.sf(y, self._parts(x, *y.shape))

    def normal_scores(self, y: AnyArray, x: Any) -> FloatArray:
        """Return Rosenblatt's sequence of normal scores, (n, d_y)."""
        y = as_rows(y)
        return forms.normal_scores(y, self._parts(x, *y.shape))

    def marginals(self, y: AnyArray, x: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return normal scores of the marginal CDFs, their slopes and marginal scores, (n, d_y) each."""
        y = as_rows(y)
        return forms.marginals(y, self._parts(x, *y.shape))

    def location_scale(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the mean, and standard deviations or Cholesky factors of the covariance."""
        return forms.location_scale(self._parts(x, self._size(x, n), self._d_y(x)))

    def _d_y(self, x: Any) -> int:
        for parameter in (self.means, self.stds):
            value = parameter.value
            per_row = callable(value) or parameter.bound
            value = np.asarray(value(x)) if callable(value) else value
            if value.ndim == (3 if per_row else 2):
                return int(value.shape[-1])
        return 1

    def sample(self, x: Any, rng: np.random.Generator, n: int | None = None) -> FloatArray:
        """Draw one y for each row of x, (n, d_y)."""
        n, d_y = self._size(x, n), self._d_y(x)
        parts = self._parts(x, n, d_y)
        return forms.sample(parts, rng.random((n, 1)), rng.standard_normal((n, d_y)))

    def mean_std(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation, (n, d_y) each."""
        return forms.mean_std(self._parts(x, self._size(x, n), self._d_y(x)))
