"""Distributions of skpro without a closed form: what the library computes exactly, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import SupportError, UnsupportedModelError
from condgof.models._base import ConditionalModel, as_rows
from condgof.models._counts import CountModel
from condgof.models._discrete import whole_numbers
from condgof.models._numerical import NumericalScore


@dataclass(frozen=True, eq=False)
class _Rows(ConditionalModel):
    """What any continuous distribution of skpro offers for d_y = 1, without its density.

    Values are passed as arrays, by position: skpro matches frames by their index.

    Parameters
    ----------
    distribution : BaseDistribution
        Of shape (n, 1).
    """

    distribution: Any

    @property
    def rows(self) -> int | None:
        """Number of rows the model is bound to."""
        return len(self.distribution)

    @property
    def _name(self) -> str:
        """What messages call the model."""
        return f"{type(self.distribution).__name__} of skpro"

    def support(self, x: Any, n: int, d_y: int) -> tuple[AnyArray, AnyArray]:
        """Return the ends of the support, where the quantile function tells them."""
        if "ppf" not in self._exact():
            return super().support(x, n, d_y)
        with np.errstate(all="ignore"):
            low, high = self._ask("ppf", np.zeros((n, 1))), self._ask("ppf", np.ones((n, 1)))
        ends = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
        return ends[0][:, None], ends[1][:, None]

    def take(self, rows: IntArray) -> ConditionalModel:
        """Return the model of some rows."""
        return type(self)(self.distribution.iloc[list(rows)])

    def cdf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y ≤ y | x), (n,)."""
        return self._ask("cdf", as_rows(y))

    def sample(self, x: Any, rng: np.random.Generator, n: int | None = None) -> FloatArray:
        """Draw one y for each row by inverting the CDF, (n, 1); skpro's own sampler takes no seed."""
        if "ppf" not in self._exact():
            raise UnsupportedModelError(f"skpro has no exact quantiles of {self._name} to draw with.")
        return self._ask("ppf", rng.random((len(self.distribution), 1)))[:, None]

    def mean_std(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation, (n, 1) each."""
        if not {"mean", "var"} <= self._exact():
            raise UnsupportedModelError(f"skpro has no exact mean and variance of {self._name}.")
        mean, var = (
            np.asarray(f(), dtype=float) for f in (self.distribution.mean, self.distribution.var)
        )
        return mean, np.sqrt(var)

    def _exact(self) -> set[str]:
        """Return what skpro computes without approximation by draws or differences."""
        return set(self.distribution.get_tag("capabilities:exact", None, raise_error=False) or ())

    def _ask(self, method: str, values: FloatArray) -> FloatArray:
        if method == "cdf" and "cdf" not in self._exact():
            raise UnsupportedModelError(
                f"skpro only approximates the CDF of {self._name} by draws, which no test can use."
            )
        return np.asarray(getattr(self.distribution, method)(values), dtype=np.float64)[:, 0]


class SkproRows(_Rows, NumericalScore):
    """A continuous distribution: its log-density is differentiated numerically."""

    def log_prob(self, y: AnyArray, x: Any) -> FloatArray:
        """Return log p(y|x), (n,)."""
        exact = self._exact()
        if "log_pdf" in exact:
            return self._ask("log_pdf", as_rows(y))
        if "pdf" not in exact:
            raise UnsupportedModelError(
                f"skpro has no exact density of {self._name}. condgof.adaptive, which compares normal "
                "scores of its CDF, can take it if that is exact."
            )
        with np.errstate(divide="ignore"):
            return np.log(self._ask("pdf", as_rows(y)))


class FlatRows(_Rows):
    """A density that is constant between jumps: its score is 0 wherever there is one."""

    WHY_NOT = "its density is piecewise constant, so that the score is 0 almost everywhere"

    def log_prob(self, y: AnyArray, x: Any) -> FloatArray:
        """Return log p(y|x), (n,)."""
        with np.errstate(divide="ignore"):
            return np.log(self._ask("pdf", as_rows(y)))


class SkproCounts(_Rows, CountModel):
    """A distribution of counts without a closed form here."""

    def numbers(self, y: AnyArray, x: Any) -> FloatArray:
        """Return y as numbers, checked, (n,)."""
        values = whole_numbers(y, np.array(-np.inf), np.array(np.inf), self._name)
        bad = np.flatnonzero(~(self._ask("pmf", values[:, None]) > 0))
        if len(bad):
            raise SupportError(self._name, len(bad), len(values), int(bad[0]))
        return values

    def _cdf(self, y: FloatArray, x: Any) -> FloatArray:
        return np.column_stack([self._ask("cdf", column[:, None]) for column in y.T])

    def cdf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y ≤ y | x), (n,)."""
        return self._ask("cdf", as_rows(y))

    def log_prob(self, y: AnyArray, x: Any) -> FloatArray:
        """Return log p(y|x), (n,)."""
        return self._ask("log_pmf", as_rows(y))

    def support(self, x: Any, n: int, d_y: int) -> tuple[AnyArray, AnyArray]:
        """Return the whole line: only the probabilities tell where the counts are."""
        return np.array(-np.inf), np.array(np.inf)
