"""Draws as a law: posterior predictive samples, simulators, bootstraps, ensembles.

Given x, y and its m draws are exchangeable if the model is true, so that with W uniform on
(0, 1)

    z = Φ⁻¹((#{draws < y} + W·(1 + #{draws = y})) / (m + 1))

is exactly standard normal and independent of x, for any m. For several columns of y the
evidence is functions of the ranks of each column and of fixed projections, less their mean
over the m + 1 candidates of the row; its null distribution, y and one of its draws changing
places, is exact again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtri

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, ShapeError, refuse_rows
from condgof.kernels import Block, Cells
from condgof.laws._discrete import Discrete, Residuals
from condgof.laws._law import ByRow, Law, as_rows, check_levels, indexed
from condgof.laws._library import comes_from
from condgof.sample import RngLike, Seed, Use, as_numbers

#: Rows whose random numbers are made together.
BLOCK = 4096
#: Cosines of a rank, and of two of them, that serve as evidence.
WAVES, CROSSED = 6, 2
#: What ArviZ calls the dimensions that are not of y.
DRAWS = ("chain", "draw")
GROUP = "posterior_predictive"


def row_uniforms(seed: int, numbers: IntArray) -> FloatArray:
    """Return one uniform number for each row, which belongs to the row's number alone, (n,)."""
    out = np.empty(len(numbers))
    blocks = numbers // BLOCK
    for block in np.unique(blocks):
        here = blocks == block
        out[here] = _block(seed, int(block))[numbers[here] % BLOCK]
    return out


@lru_cache(maxsize=8)  # a row after the other, as in `monitor`, asks for the same block
def _block(seed: int, block: int) -> FloatArray:
    return Seed(seed).stream(Use.RANKS, block).random(BLOCK)


def alike(values: AnyArray, y: AnyArray) -> tuple[FloatArray, FloatArray]:
    """Return predictions (n, m) and y (n, 1) in the coarser precision that either has, row by row.

    0.1 in single precision is not 0.1 in double: ties of draws with a table would fall to
    one side.
    """
    values, y = np.asarray(values, dtype=np.float64), np.asarray(y, dtype=np.float64)
    with np.errstate(over="ignore"):
        coarse, coarse_y = values.astype(np.float32), y.astype(np.float32)
    single = (coarse == values).all(axis=1, keepdims=True) | (coarse_y == y)
    return np.where(single, coarse, values), np.where(single, coarse_y, y)


@dataclass(frozen=True, eq=False)
class RowDraws(ByRow):
    """Draws of y, (n, m) or (n, m, d_y), in the caller's own array."""

    EACH = ("values", "ids")
    of_x = False
    WHY_NOT = "draws have no density"
    name = "The law of draws"

    values: AnyArray
    #: Of the random numbers that break ties, which belong to the rows' own numbers, `ids`
    #: (n,).
    seed: int
    ids: IntArray

    def sample(self, rng: np.random.Generator) -> FloatArray:
        chosen = rng.integers(self.values.shape[1], size=self.n)
        return as_rows(self.values[np.arange(self.n), chosen])


class Draws(RowDraws):
    """Draws of one column of y; see `from_draws`."""

    def _counts(self, y: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return how many draws are below y, and how many equal it, (n,)."""
        y = self._columns(y)
        below, equal = np.empty((2, self.n))
        for rows in self._blocks():
            values, at_y = alike(self.values[rows], y[rows])
            below[rows], equal[rows] = (
                (values < at_y).sum(axis=1),
                (values == at_y).sum(axis=1),
            )
        return below, equal

    def _blocks(self) -> Iterator[slice]:
        return (slice(start, start + BLOCK) for start in range(0, self.n, BLOCK))

    def cdf(self, y: AnyArray) -> FloatArray:
        return np.asarray(sum(self._counts(y)) / self.values.shape[1])

    def pit(self, y: AnyArray) -> FloatArray:
        """Return u = (r + V)/(m + 1), uniform and independent of x under the law, (n,)."""
        below, equal = self._counts(y)
        place = row_uniforms(self.seed, self.ids)
        return np.asarray((below + place * (equal + 1.0)) / (self.values.shape[1] + 1.0))

    def crps(self, y: AnyArray) -> FloatArray:
        """Return the fair CRPS: that of the law which the draws are from has the same mean, (n,)."""
        y, m, out = self._columns(y), self.values.shape[1], np.empty(self.n)
        weights = (2.0 * np.arange(m) - (m - 1.0)) / (m * max(m - 1.0, 1.0))
        for rows in self._blocks():
            values = np.sort(np.asarray(self.values[rows], dtype=np.float64), axis=1)
            out[rows] = np.abs(values - y[rows]).mean(axis=1) - values @ weights
        return out

    def normal_scores(self, y: AnyArray) -> FloatArray:
        return np.asarray(ndtri(np.clip(self.pit(y), 1e-300, 1.0 - 2.0**-53)))[:, None]

    def cdf_grid(self, values: AnyArray) -> FloatArray:
        at, ordered = np.ravel(values), np.sort(self.values, axis=1)
        counts = np.stack([np.searchsorted(row, at, side="right") for row in ordered])
        return np.asarray(counts / self.values.shape[1])

    def quantile(self, levels: object) -> FloatArray:
        quantiles = np.quantile(
            self.values, check_levels(levels), axis=1, method="inverted_cdf"
        )
        return np.asarray(quantiles.T, dtype=np.float64)

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        values = np.asarray(self.values, dtype=np.float64)
        std = values.std(axis=1, ddof=min(1, values.shape[1] - 1), keepdims=True)
        least = 1e-9 * (
            1.0 + np.abs(values).max(axis=1, keepdims=True)
        )  # all may be the same
        return values.mean(axis=1, keepdims=True), np.maximum(std, least)


@dataclass(frozen=True, eq=False)
class RankOutcomes:
    """What could have been observed in each row: y, or any of its draws in its place."""

    #: Ranks of all candidates, y first, in P directions, between 0 and 1, (n, m + 1, P).
    ranks: AnyArray
    #: How many of the directions are columns of y; the mean of the features over the
    #: candidates, (n, q).
    columns: int
    centre: FloatArray
    linear, plain = False, 0  # residuals are not e_y − p

    @classmethod
    def ranked(cls, candidates: FloatArray) -> RankOutcomes:
        """Rank candidates (n, m + 1, d_y) in all directions."""
        from scipy.stats import rankdata

        n, count, d_y = candidates.shape
        mean, std = (
            candidates.mean(axis=1, keepdims=True),
            candidates.std(axis=1, keepdims=True),
        )
        unit = (candidates - mean) / np.where(std > 0, std, 1.0)
        pairs = [(i, j) for i in range(d_y) for j in range(i)]
        ways = [unit[:, :, i] for i in range(d_y)]
        ways += [
            unit[:, :, i] + sign * unit[:, :, j] for i, j in pairs for sign in (1.0, -1.0)
        ]
        ranks = [np.float32((rankdata(way, axis=1) - 0.5) / count) for way in ways]
        outcomes = cls(np.stack(ranks, axis=2), d_y, np.zeros((n, 1)))
        centre = sum((outcomes._features(np.full(n, k)) for k in range(count)), np.zeros(1))
        return replace(outcomes, centre=centre / count)

    @property
    def probabilities(self) -> AnyArray:
        n, count, _ = self.ranks.shape
        return np.broadcast_to(1.0 / count, (n, count))  # all candidates are equally likely

    @property
    def observed(self) -> IntArray:
        return np.zeros(len(self.ranks), dtype=np.int64)

    def take(self, rows: IntArray) -> RankOutcomes:
        return RankOutcomes(self.ranks[rows], self.columns, self.centre[rows])

    def _features(self, codes: IntArray) -> FloatArray:
        """Return cosines of the ranks of one candidate a row, and products of them, (n, q)."""
        t = np.asarray(self.ranks[np.arange(len(codes)), codes], dtype=np.float64)
        waves = np.stack([np.cos(np.pi * k * t) / k for k in range(1, WAVES + 1)], axis=1)
        pairs = [(i, j) for i in range(self.columns) for j in range(i)]
        parts = [
            waves,
            *(waves[:, :CROSSED, None, i] * waves[:, None, :CROSSED, j] for i, j in pairs),
        ]
        return np.concatenate([part.reshape(len(t), -1) for part in parts], axis=1)

    def of(self, codes: IntArray) -> FloatArray:
        return self._features(codes) - self.centre


class VectorDraws(RowDraws, Discrete):
    """Draws of several columns of y; see `from_draws`."""

    def numbers(self, y: AnyArray) -> FloatArray:
        return self._columns(as_numbers(y, "y"), self.values.shape[2])

    def energy(self, y: AnyArray) -> FloatArray:
        """Return the fair energy score: mean ‖draw − y‖ less half that of two draws, (n,)."""
        from scipy.spatial.distance import pdist

        y, m, out = self.numbers(y), self.values.shape[1], np.empty(self.n)
        for i, (draws, y_row) in enumerate(zip(self.values, y, strict=True)):
            near = np.linalg.norm(
                np.asarray(draws, dtype=np.float64) - y_row, axis=1
            ).mean()
            out[i] = near - (pdist(draws).mean() / 2.0 if m > 1 else 0.0)
        return out

    def column(self, k: int) -> Draws:
        """Return the law of one column of y."""
        return Draws(self.values[:, :, k], self.seed + k, self.ids)

    def scores_by_column(self, y: AnyArray) -> FloatArray:
        """Return the normal scores of each column's own ranks, (n, d_y); they may be dependent."""
        columns = enumerate(self.numbers(y).T)
        return np.hstack([self.column(k).normal_scores(column) for k, column in columns])

    def cells(self, by: str) -> Cells:
        d_y = self.values.shape[2]
        pairs = d_y * (d_y - 1) // 2
        ways = d_y + 2 * pairs
        # Blocks are tests of their own in `adaptive`: a spread must not drown in the noise
        # of a shift.
        ends = np.cumsum([0, ways, ways, (WAVES - 2) * ways, CROSSED**2 * pairs]).tolist()
        names = ("ranks, shift", "ranks, spread", "ranks, shape", "ranks, dependence")
        blocks = (Block(name, *ends[k : k + 2]) for k, name in enumerate(names))
        return Cells(
            tuple(blocks), "ranks of its columns and of projections among the draws"
        )

    def residuals(self, y: AnyArray, by: str) -> Residuals:
        y = self.numbers(y)
        pairs = (alike(self.values[:, :, k], y[:, [k]]) for k in range(y.shape[1]))
        candidates = [np.concatenate([column, values], axis=1) for values, column in pairs]
        outcomes = RankOutcomes.ranked(np.stack(candidates, axis=2))
        return Residuals(self.scores_by_column(y), outcomes.of(outcomes.observed), outcomes)

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        means, stds = zip(
            *(self.column(k).mean_std() for k in range(self.values.shape[2])), strict=True
        )
        return np.hstack(means), np.hstack(stds)


def from_draws(draws: object, *, rng: RngLike = 0) -> Draws | VectorDraws:
    """Law from draws of y: posterior predictive samples, a simulator, a bootstrap, an ensemble.

    The rank of y among its m draws is uniform given x if the model is true, exactly and for
    any m. With m = 19 it tells little of tails; a hundred lose hardly any power.

    Parameters
    ----------
    draws : array_like of shape (n, m) or (n, m, d_y)
        m draws for each of n rows (ensemble members, predictions of bootstrap fits *with
        noise added*). The array is not copied. An ArviZ ``InferenceData`` or ``DataTree``
        with a group ``posterior_predictive`` that has one variable is read as it is.
    rng : int, numpy.random.Generator or None
        Of the random numbers that place y among draws that equal it, and between its
        neighbours.

    Examples
    --------
    >>> import condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=300)
    >>> y = x + rng.normal(size=300)
    >>> right = x[:, None] + rng.normal(size=(300, 99))
    >>> cg.adaptive(cg.from_draws(right), x, y, rng=1).reject()
    False
    >>> cg.adaptive(cg.from_draws(0.5 * right), x, y, rng=1).reject()
    True
    """
    from_arviz = predictive(draws)
    given = draws if from_arviz is None else from_arviz
    array = as_numbers(given, "draws", advice="Pass an array (n, m) of draws.")
    if array.ndim not in (2, 3) or 0 in array.shape:
        hint = (
            " One prediction for each row is no draw: pass (mean, std)."
            if array.ndim == 1
            else ""
        )
        raise ShapeError(
            f"Draws of n rows have shape (n, m) or (n, m, d_y), got {array.shape}.{hint}"
        )
    advice = "Draw again, or leave those rows out."
    refuse_rows(~np.isfinite(array), "The draws have NaN or infinite values", advice)
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    view = array.view()
    view.flags.writeable = False
    kind = Draws if array.ndim == 2 else VectorDraws
    return indexed(kind(view, Seed.of(rng).value, np.arange(len(array))), draws)


def adapt(obj: object) -> Law | None:
    """Make a law of posterior predictive draws, or return None for another object."""
    draws = predictive(obj)
    return None if draws is None else from_draws(draws)


def predictive(obj: Any) -> AnyArray | None:
    """Return the draws that an object of ArviZ or xarray holds, (n, m) or (n, m, d_y), or None."""
    if not any(comes_from(obj, library) for library in ("arviz", "arviz_base", "xarray")):
        return None
    if hasattr(obj, "dims") and not hasattr(obj, "data_vars"):  # a DataArray
        return _draws(obj) if {*DRAWS} & {*obj.dims} else None
    if hasattr(obj, GROUP):
        obj = getattr(obj, GROUP)
    elif not (hasattr(obj, "data_vars") and len(obj.data_vars)):  # no group of draws either
        groups: Any = getattr(obj, "children", None) or getattr(obj, "_groups", ())
        has = f" (it has {', '.join(map(str, groups))})" if groups else ""
        advice = (
            "In PyMC use pm.sample_posterior_predictive(idata, extend_inferencedata=True)."
        )
        raise InputError(f"This {type(obj).__name__} has no group {GROUP}{has}. {advice}")
    names = [str(name) for name in obj.data_vars]
    if len(names) != 1:
        choose = f"condgof.from_draws(idata.{GROUP}[{names[0] if names else 'name'!r}])"
        has = f"{len(names)} variables ({', '.join(names)})"
        raise InputError(f"The group {GROUP} has {has}. Choose one: {choose}.")
    return _draws(obj[names[0]])


def _draws(array: Any) -> AnyArray:
    """Return the draws of a DataArray, whatever the order of its dimensions."""
    over = [dim for dim in DRAWS if dim in array.dims]
    rest = [dim for dim in array.dims if dim not in over]
    if not over or len(rest) not in (1, 2):
        got = f"and this array has {', '.join(map(str, array.dims)) or 'none'}"
        raise ShapeError(
            f"Draws have the dimensions chain, draw and one or two of y, {got}."
        )
    values = np.asarray(array.transpose(rest[0], *over, *rest[1:]).values)
    return values.reshape(len(values), -1, *values.shape[1 + len(over) :])
