"""Models that live in another library (torch, JAX): evaluated in batches, with NumPy at the border."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, UnsupportedModelError
from condgof.models._answers import grid_of
from condgof.models._base import ConditionalModel, as_rows, row_count
from condgof.models._discrete import DiscreteModel
from condgof.models._distribution import Rows
from condgof.models._native_discrete import DiscreteNative, joined
from condgof.models._native_input import one_column, or_none, plain, refuse_flat
from condgof.sample import as_numbers

#: Rows scored at a time; what a network keeps of them is a few megabytes.
BATCH_SIZE = 8192
#: Rows of the first batch that are looked at twice.
TWICE = 4
#: What a model known through its log-density alone can do.
DENSITY = frozenset({"score", "log_prob"})
#: Abilities that a distribution may lack.
OPTIONAL = ("cdf", "sf", "normal_scores", "marginals", "location_scale", "mean_std", "sample")

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class NativeModel(ConditionalModel):
    """A model of another library.

    Parameters
    ----------
    batch_size : int
        Rows that are evaluated at a time.
    abilities : frozenset of str, optional
        What it can do; None while that is not known, since a function of x must be called to tell.
    """

    batch_size: int
    abilities: frozenset[str] | None

    @abstractmethod
    def _session(self) -> AbstractContextManager[Any]:
        """Leave everything as it was found, whatever happens inside."""

    @abstractmethod
    def _rows(self, x: Any, part: slice, d_y: int | None) -> Rows | None:
        """Return the distribution of some rows, or None for a model that has only log_prob."""

    @abstractmethod
    def _log_prob(self, rows: Rows | None, y: AnyArray, x: Any, part: slice) -> FloatArray:
        """Return the log-density of some rows as the library computes it, (b,)."""

    @abstractmethod
    def _score(
        self, rows: Rows | None, y: AnyArray, x: Any, part: slice
    ) -> tuple[AnyArray | None, FloatArray]:
        """Return scores in the shape of y (None if y does not enter) and the log-density, (b,)."""

    @abstractmethod
    def _draw(self, rows: Rows, rng: np.random.Generator) -> FloatArray:
        """Draw one y for each row, (b, d_y)."""

    def can(self, ability: str) -> bool:
        """Whether the model has an ability; before `probe`, whether it may have it."""
        if ability == "support" or self.abilities is None:
            return super().can(ability)
        return ability in self.abilities

    def probe(self, y: AnyArray, x: Any) -> ConditionalModel:
        """Return the model with its abilities known, from its distribution at two rows."""
        if self.abilities is not None:
            return self
        y, x = as_numbers(y, "y")[:2], plain(x)
        part = slice(0, len(y))
        with self._session():
            rows = self._rows(x, part, 1 if y.ndim == 1 else y.shape[1])
            if rows is None:
                return replace(self, abilities=DENSITY)
            if rows.discrete:
                return DiscreteNative(self)
            abilities = set(DENSITY)
            try:
                if rows.normal_scores(y) is not None:
                    abilities.add("normal_scores")
                if rows.d_y == 1 and (rows.closed is not None or rows.cdf(y) is not None):
                    abilities |= {"cdf", "sf"}
            except ValueError:  # an observation that the library refuses, which scoring will tell
                pass
            if rows.closed is not None and rows.closed.can("marginals"):
                abilities.add("marginals")
            if rows.closed is not None and rows.closed.can("location_scale"):
                abilities.add("location_scale")
            moments = or_none(rows.mean_std)
            if moments is not None and all(np.isfinite(part).all() for part in moments):
                abilities |= {"mean_std", "location_scale"}
            if hasattr(rows.dist, "sample"):
                abilities.add("sample")
        return replace(self, abilities=frozenset(abilities))

    def discrete_at(self, x: Any, n: int) -> DiscreteModel:
        """Return the model of a discrete y at n rows, one batch after the other."""
        found = self._over(x, n, 1, lambda rows, part: rows.closed, "model")
        return joined([model for model in found if isinstance(model, DiscreteModel)])

    def score(self, y: AnyArray, x: Any) -> FloatArray:
        """Return ∇_y log p(y|x), in closed form or by automatic differentiation, (n, d_y)."""
        y, x = as_numbers(y, "y"), plain(x)
        scores = np.empty((len(y), y.shape[1] if y.ndim == 2 else 1))
        reached = smooth = False
        with self._session():
            for part in self._parts(len(y)):
                enters, closed = self._score_part(y, x, part, scores)
                reached, smooth = reached or enters, smooth or closed
        if not smooth and not scores.any() and (not reached or len(y) > 2):
            refuse_flat(reached)
        return scores

    def _score_part(self, y: AnyArray, x: Any, part: slice, out: FloatArray) -> tuple[bool, bool]:
        """Score one batch into `out`; tell whether y enters the density, and has a closed form.

        A function of its own, so that nothing of a batch is alive when the next one is evaluated.
        """
        rows = self._rows(x, part, out.shape[1])
        closed = None if rows is None else rows.closed
        values, log_prob = None, None
        if closed is not None:
            out[part] = closed.score(y[part], None)
            log_prob = closed.log_prob(y[part], None) if part.start == 0 else None
        else:
            values, log_prob = self._score(rows, y[part], x, part)
            out[part] = 0.0 if values is None else values.reshape(out[part].shape)
        if part.start == 0 and log_prob is not None:
            self._check_alone(self._density(y, x, _few(len(log_prob))), log_prob)
        return closed is not None or values is not None, closed is not None

    def _check_alone(self, alone: FloatArray, together: FloatArray) -> None:
        """Refuse a model whose rows depend on the rows beside them, or that is random."""
        together = together[: len(alone)]
        with np.errstate(invalid="ignore"):
            apart = np.abs(alone - together) / (1.0 + np.abs(together))
        # Single precision may differ in the sixth digit from batch to batch.
        if (apart > 1e-3).any():
            worst = np.unravel_index(np.nanargmax(apart), apart.shape)
            raise InputError(
                "What the model says of a row changes with the rows beside it, or from call to call "
                f"(here from {together[worst]:.6g} to {alone[worst]:.6g}). {self._mixing_advice}"
            )

    @property
    def _mixing_advice(self) -> str:
        return "Each row's density must be a function of that row alone."

    def _density(self, y: AnyArray, x: Any, part: slice) -> FloatArray:
        rows = self._rows(x, part, y.shape[1] if y.ndim == 2 else 1)
        if rows is not None and rows.closed is not None:
            return rows.closed.log_prob(y[part], None)
        return self._log_prob(rows, y[part], x, part)

    def log_prob(self, y: AnyArray, x: Any) -> FloatArray:
        """Return log p(y|x), (n,)."""
        y, x = as_numbers(y, "y"), plain(x)
        with self._session():
            return np.concatenate([self._density(y, x, part) for part in self._parts(len(y))])

    def cdf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y ≤ y | x) for d_y = 1, (n,)."""
        y = one_column(y)

        def of(rows: Rows, part: slice) -> FloatArray | None:
            if rows.closed is not None:
                return rows.closed.cdf(y[part], None)
            values = rows.cdf(y[part])
            return None if values is None else values[:, 0]

        return self._over_rows(x, len(y), 1, of)

    def sf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y > y | x) for d_y = 1, (n,)."""
        y = one_column(y)

        def of(rows: Rows, part: slice) -> FloatArray | None:
            if rows.closed is not None:
                return rows.closed.sf(y[part], None)
            values = rows.cdf(y[part])
            return None if values is None else 1.0 - values[:, 0]

        return self._over_rows(x, len(y), 1, of)

    def cdf_grid(self, values: AnyArray, x: Any, n: int | None = None) -> FloatArray:
        """Return P(Y ≤ v | x) for each row of x and each of m values, d_y = 1, (n, m)."""

        def of(rows: Rows, part: slice) -> FloatArray | None:
            if rows.closed is not None:
                return grid_of(rows.closed)(rows.closed, values, None, rows.rows)
            # A network is evaluated once a row, not once a row and value.
            found = [rows.cdf(np.full((rows.rows, *values.shape[1:]), value)) for value in values]
            columns = [column for column in found if column is not None]
            return np.concatenate(columns, axis=1) if columns else None

        return np.concatenate(self._over(x, self.rows or row_count(x, n), 1, of, "cdf"))

    def normal_scores(self, y: AnyArray, x: Any) -> FloatArray:
        """Return u, standard normal and independent of x under the model, (n, d_y).

        Rosenblatt's sequence for closed forms; what a flow's own inverse gives for flows.
        """
        y = as_rows(y)
        return self._over_rows(x, len(y), y.shape[1], lambda rows, part: rows.normal_scores(y[part]))

    def marginals(self, y: AnyArray, x: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return normal scores of the marginal CDFs, their slopes and marginal scores, (n, d_y) each."""
        y = as_rows(y)

        def of(rows: Rows, part: slice) -> tuple[FloatArray, FloatArray, FloatArray] | None:
            able = rows.closed is not None and rows.closed.can("marginals")
            return rows.closed.marginals(y[part], None) if able and rows.closed else None

        found = self._over(x, len(y), y.shape[1], of, "marginals")
        u, slope, own = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return u, slope, own

    def mean_std(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation, (n, d_y) each."""
        return self._pairs(x, n, lambda rows, part: rows.mean_std(), "mean_std")

    def location_scale(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return location and scale: standard deviations, or Cholesky factors of a covariance."""

        def of(rows: Rows, part: slice) -> tuple[FloatArray, FloatArray] | None:
            if rows.closed is not None:
                return rows.closed.location_scale(None, rows.rows)
            return rows.mean_std()

        return self._pairs(x, n, of, "location_scale")

    def _pairs(
        self,
        x: Any,
        n: int | None,
        of: Callable[[Rows, slice], tuple[FloatArray, FloatArray] | None],
        ability: str,
    ) -> tuple[FloatArray, FloatArray]:
        found = self._over(x, self.rows or row_count(x, n), None, of, ability)
        first, second = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return first, second

    def support(self, x: Any, n: int, d_y: int) -> tuple[AnyArray, AnyArray]:
        """Return the ends of the support, which broadcast to (n, d_y)."""
        if self.abilities == DENSITY:
            return np.array(-math.inf), np.array(math.inf)
        x, found = plain(x), []
        with self._session():
            for part in self._parts(n):
                rows = self._rows(x, part, d_y)
                ends = (np.array(-math.inf), np.array(math.inf)) if rows is None else rows.support()
                if all(end.ndim == 0 for end in ends):  # what the family has, whatever the row
                    return ends
                found.append(ends)
        low, high = (np.concatenate(ends) for ends in zip(*found, strict=True))
        return low, high

    def sample(self, x: Any, rng: np.random.Generator, n: int | None = None) -> FloatArray:
        """Draw one y for each row of x, (n, d_y)."""

        def of(rows: Rows, part: slice) -> FloatArray | None:
            if rows.closed is not None:
                return rows.closed.sample(None, rng, rows.rows)
            return self._draw(rows, rng) if hasattr(rows.dist, "sample") else None

        return np.concatenate(self._over(x, self.rows or row_count(x, n), None, of, "sample"))

    def _over(
        self,
        x: Any,
        n: int,
        d_y: int | None,
        of: Callable[[Rows, slice], T | None],
        ability: str,
    ) -> list[T]:
        """Evaluate something of the distribution batch by batch."""
        x, found = plain(x), []
        with self._session():
            for part in self._parts(n):
                rows = self._rows(x, part, d_y)
                value = None if rows is None else of(rows, part)
                if value is None:
                    what = (
                        "a model known by its log-density" if rows is None else type(rows.dist).__name__
                    )
                    raise UnsupportedModelError(f"There is no {ability} for {what}.")
                found.append(value)
        return found

    def _over_rows(
        self, x: Any, n: int, d_y: int, of: Callable[[Rows, slice], FloatArray | None]
    ) -> FloatArray:
        """Evaluate a CDF or normal scores batch by batch, the first rows twice."""
        x = plain(x)
        found = self._over(x, n, d_y, of, "cdf")
        few = _few(len(found[0]))
        self._check_alone(
            self._over(None if x is None else x[few], few.stop, d_y, of, "cdf")[0], found[0]
        )
        return np.concatenate(found)

    def _parts(self, n: int) -> Iterator[slice]:
        for start in range(0, n, self.batch_size):
            yield slice(start, min(start + self.batch_size, n))


def _few(n: int) -> slice:
    """Return the rows of a batch of n that are looked at twice."""
    return slice(0, min(TWICE, max(1, n - 1)))
