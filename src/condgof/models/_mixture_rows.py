"""Mixtures of any models that are bound to the same rows, for d_y = 1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.models._base import ConditionalModel


@dataclass(frozen=True, eq=False)
class MixtureRows(ConditionalModel):
    """Mixture p(y|x) = Σ_c w_c p_c(y|x) of models bound to rows; its score comes from theirs.

    Parameters
    ----------
    parts : tuple of ConditionalModel
        The components, each bound to n rows, for d_y = 1.
    weights : ndarray of shape (C,)
        Their weights, the same for all rows.
    n : int
        Number of rows.
    """

    parts: tuple[ConditionalModel, ...]
    weights: FloatArray
    n: int

    @property
    def rows(self) -> int | None:
        """Number of rows the model is bound to."""
        return self.n

    @property
    def _name(self) -> str:
        """What messages call the model."""
        return f"the mixture with {self.parts[0]._name}"

    def take(self, rows: IntArray) -> MixtureRows:
        """Return the model of some rows."""
        return replace(self, parts=tuple(part.take(rows) for part in self.parts), n=len(rows))

    def can(self, ability: str) -> bool:
        """Whether the model has an ability: all its components must have it."""
        return super().can(ability) and all(part.can(ability) for part in self.parts)

    def support(self, x: Any, n: int, d_y: int) -> tuple[AnyArray, AnyArray]:
        """Return the interval that holds the supports of all components."""
        ends = [[np.broadcast_to(e, (n, d_y)) for e in part.support(x, n, d_y)] for part in self.parts]
        return np.min([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0)

    def log_prob(self, y: AnyArray, x: Any) -> FloatArray:
        """Return log p(y|x), (n,)."""
        return np.asarray(np.logaddexp.reduce(self._log_joint(y, x), axis=0), dtype=np.float64)

    def score(self, y: AnyArray, x: Any) -> FloatArray:
        """Return Σ_c r_c(y, x) s_c(y, x) with the components' scores and responsibilities, (n, 1)."""
        return self.score_and_error(y, x)[0]

    def score_and_error(self, y: AnyArray, x: Any) -> tuple[FloatArray, FloatArray | None]:
        """Return the scores and, where those of a component are approximate, their errors, (n, 1)."""
        joint = self._log_joint(y, x)
        share = np.exp(joint - np.logaddexp.reduce(joint, axis=0))
        scores, errors = np.zeros(len(y)), np.zeros(len(y))
        exact = True
        for part, weight in zip(self.parts, share, strict=True):
            score, error = part.score_and_error(y, x)
            # Outside its support a component has no score, and no share either.
            scores += np.where(weight > 0, weight * np.nan_to_num(np.ravel(score)), 0.0)
            if error is not None:
                exact, errors = False, errors + weight * np.ravel(error)
        return scores[:, None], None if exact else errors[:, None]

    def cdf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y ≤ y | x), (n,)."""
        return np.asarray(self.weights @ np.array([part.cdf(y, x) for part in self.parts]))

    def sf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y > y | x), (n,)."""
        return np.asarray(self.weights @ np.array([part.sf(y, x) for part in self.parts]))

    def sample(self, x: Any, rng: np.random.Generator, n: int | None = None) -> FloatArray:
        """Draw a component for each row, and y from it, (n, 1)."""
        chosen = rng.choice(len(self.parts), size=self.n, p=self.weights)
        drawn = np.array([part.sample(x, rng, self.n)[:, 0] for part in self.parts])
        return drawn[chosen, np.arange(self.n)][:, None]

    def mean_std(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation, (n, 1) each."""
        means, stds = np.array([part.mean_std(x, self.n) for part in self.parts]).transpose(1, 0, 2, 3)
        mean = np.einsum("c,cni->ni", self.weights, means)
        variance = np.einsum("c,cni->ni", self.weights, stds**2 + (means - mean) ** 2)
        return mean, np.sqrt(variance)

    def _log_joint(self, y: AnyArray, x: Any) -> FloatArray:
        """Return log w_c p_c(y|x), (C, n)."""
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)[:, None]
        values: FloatArray = log_weights + np.array([part.log_prob(y, x) for part in self.parts])
        return values
