"""Ensembles of qp: a univariate distribution for each row, in one of many forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import UnsupportedModelError
from condgof.laws._families import NormalMixture
from condgof.laws._known import from_bins
from condgof.laws._law import ByRow, Law, as_rows, check_levels
from condgof.laws._scipy import call_quietly, finite_moments, from_frozen

#: Interquartile range of a normal distribution, in standard deviations.
NORMAL_IQR = 1.35


def adapt(ensemble: Any) -> Law | None:
    """Make a law of an ensemble: a closed form, or what qp computes; None for the rest."""
    if not (hasattr(ensemble, "npdf") and hasattr(ensemble, "gen_class")):
        return None
    n = int(ensemble.npdf)
    kind = ensemble.gen_class.__name__
    data = {**ensemble.metadata, **ensemble.objdata}
    if kind == "mixmod_gen":
        return NormalMixture(
            weights=np.atleast_2d(data["weights"]),
            means=np.atleast_2d(data["means"]),
            stds=np.atleast_2d(data["stds"]),
        )(n=n)
    if kind == "hist_gen":
        edges = np.atleast_2d(data["bins"])
        density = np.atleast_2d(data["pdfs"])
        return from_bins(edges, density * np.diff(edges, axis=1))
    from scipy import stats

    family = getattr(stats, kind, None)
    if family is None or not isinstance(ensemble.frozen.dist, type(family)):
        return Interpolated(ensemble, np.arange(n))
    law = from_frozen(family(**ensemble.frozen.kwds))
    return None if law is None else law(n=n)


@dataclass(frozen=True, eq=False)
class Interpolated(ByRow):
    """Distributions that qp interpolates: those of an ensemble with the numbers `ids`."""

    WHY_NOT = "its density is interpolated, with corners where the score jumps"
    EACH = ("ids",)

    ensemble: Any
    ids: IntArray

    @property
    def name(self) -> str:
        return f"{self.ensemble.gen_class.__name__.removesuffix('_gen')} of qp"

    def _ask(self, method: str, *values: AnyArray) -> FloatArray:
        """Call a method of the rows' distributions, with values (m,) or, by row, (n, m)."""
        # For a single distribution qp answers in other shapes, so it gets at least two.
        ids = np.resize(self.ids, max(2, self.n))
        try:
            arguments = [np.broadcast_to(v, (len(ids), v.shape[-1])) for v in values]
            return call_quietly(self.ensemble[ids], method, *arguments)[: self.n]
        except Exception as error:  # parametrisations lack methods, each in its own way
            raise UnsupportedModelError(
                f"qp could not compute {method} of {self.name} ({error})."
            ) from error

    def log_prob(self, y: AnyArray) -> FloatArray:
        return self._ask("logpdf", as_rows(y))[:, 0]

    def cdf(self, y: AnyArray) -> FloatArray:
        return self._ask("cdf", as_rows(y))[:, 0]

    def quantile(self, levels: object) -> FloatArray:
        return self._ask("ppf", check_levels(levels))

    def sample(self, rng: np.random.Generator) -> FloatArray:
        return self._ask("ppf", rng.random((self.n, 1)))

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        mean = self._ask("mean")
        std = self._ask("std")
        return finite_moments(self.name, mean, std, mean.shape)

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        low, middle, high = self.quantile([0.25, 0.5, 0.75]).T[:, :, None]
        return middle, (high - low) / NORMAL_IQR
