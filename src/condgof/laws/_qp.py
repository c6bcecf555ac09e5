"""Ensembles of qp: one distribution a row, in any of its parametrisations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import UnsupportedModelError
from condgof.laws import _scipy
from condgof.laws._known import from_bins
from condgof.laws._law import Law, as_rows, check_levels, same_as
from condgof.laws._library import comes_from
from condgof.laws._mixture import NormalMixture

SUPPORTED = "an Ensemble of qp, one distribution an observation"


def adapt(obj: Any) -> Law | None:
    """Make a law of an ensemble, or return None for another object."""
    own = comes_from(obj, "qp") and hasattr(obj, "npdf") and hasattr(obj, "gen_class")
    return _law(obj)(n=int(obj.npdf)) if own else None


def _law(ensemble: Any) -> Law:
    """Return a closed form, or what qp computes."""
    kind, data = ensemble.gen_class.__name__, {**ensemble.metadata, **ensemble.objdata}
    if kind == "mixmod_gen":
        return NormalMixture(*(np.atleast_2d(data[name]) for name in ("weights", "means", "stds")))
    if kind == "hist_gen":
        edges, density = np.atleast_2d(data["bins"]), np.atleast_2d(data["pdfs"])
        return from_bins(edges, density * np.diff(edges, axis=1))
    from scipy import stats

    family = getattr(stats, kind, None)
    if family is not None and isinstance(ensemble.frozen.dist, type(family)):
        law = _scipy.adapt(family(**ensemble.frozen.kwds))
        assert law is not None
        return law
    return Interpolated(ensemble, int(ensemble.npdf))


@dataclass(frozen=True, eq=False)
class Interpolated(Law):
    """What qp interpolates between values: a distribution for each of `count` rows, or one for all."""

    WHY_NOT = "its density is interpolated, with corners where the score jumps"

    ensemble: Any
    count: int

    rows = same_as("count")

    @property
    def name(self) -> str:
        return f"{self.ensemble.gen_class.__name__.removesuffix('_gen')} of qp"

    def take(self, rows: IntArray) -> Interpolated:
        one = self.ensemble.npdf == 1
        return replace(self, ensemble=self.ensemble if one else self.ensemble[rows], count=len(rows))

    def _ask(self, method: str, *values: AnyArray) -> FloatArray:
        """Ask for nothing, for values (m,) in each row, or for values (n, m) of the rows' own."""
        shape, one = (values[0].shape if values else (-1, 1)), self.ensemble.npdf == 1
        try:
            with np.errstate(all="ignore"):  # the log of a density that is 0
                # One distribution for all rows answers in the shape of the question.
                found = getattr(self.ensemble, method)(*(np.ravel(v) if one else v for v in values))
        except Exception as error:  # parametrisations lack this and that, and say so in many ways
            raise UnsupportedModelError(
                f"qp could not compute {method} of {self.name} ({error})."
            ) from error
        found = np.reshape(found, shape) if one else np.asarray(found)
        return np.array(np.broadcast_to(found, (self.n, found.shape[-1])), dtype=np.float64)

    def log_prob(self, y: AnyArray) -> FloatArray:
        return self._ask("logpdf", as_rows(y))[:, 0]

    def cdf(self, y: AnyArray) -> FloatArray:
        return self._ask("cdf", as_rows(y))[:, 0]

    def cdf_grid(self, values: AnyArray) -> FloatArray:
        return self._ask("cdf", np.ravel(values).astype(np.float64))

    def quantile(self, levels: Any) -> FloatArray:
        return self._ask("ppf", check_levels(levels))

    def sample(self, rng: np.random.Generator) -> FloatArray:
        return self._ask("ppf", rng.random((self.n, 1)))

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        mean, std = self._ask("mean"), self._ask("std")
        return _scipy.finite_moments(self.name, mean, std, mean.shape)

    def location_scale(self) -> tuple[FloatArray, FloatArray]:
        low, middle, high = self.quantile([0.25, 0.5, 0.75]).T[:, :, None]
        return middle, (high - low) / 1.35
