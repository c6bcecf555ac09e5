"""Draws as a law: posterior predictive samples, simulators, bootstraps, ensembles.

Given x, y and its m draws are exchangeable if the model is true, so that with W uniform on
(0, 1)

    z = Φ⁻¹((#{draws < y} + W·(1 + #{draws = y})) / (m + 1))

is exactly standard normal and independent of x, for any m. For several columns of y, tests
use functions of the ranks of y in each column and in fixed projections, less their mean
over the m + 1 candidates of the row (y and its draws). Their null distribution, y and one
of its draws changing places, is exact again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, ShapeError, refuse_rows
from condgof.kernels import Block, Cells
from condgof.laws._discrete import Discrete, Residuals
from condgof.laws._law import ByRow, Law, as_rows, check_levels, with_index
from condgof.laws._library import comes_from
from condgof.sample import RngLike, Seed, Use, as_numbers

# Rows whose uniform numbers come from one random stream. Changing it changes results.
STREAM_ROWS = 4096

# Rows whose draws are sorted or counted together; it bounds the memory of the copy.
BLOCK_ROWS = 4096

# Frequencies k = 1, …, of the features cos(πkt)/k of a rank t. With k = 1 they are
# sensitive to a shift, with k = 2 to a spread, with the others to shape.
WAVES = 6

# Frequencies of the features of two ranks, products of their cosines, which are sensitive
# to dependence.
CROSSED_WAVES = 2
# Features of ranks of candidates that are held at a time, 32 MB.
HELD_FEATURES = 2**22

# PITs are kept away from 0 and 1, where Φ⁻¹ is infinite.
SMALLEST_PIT = 1e-300
LARGEST_PIT = 1.0 - 2.0**-53

# A scale is at least this share of the size of the values it is made of: all draws of a
# row, or all its quantiles, may be equal.
LEAST_RELATIVE_SCALE = 1e-9

# What ArviZ calls the dimensions that are not of y, and the group of predictive draws.
DRAW_DIMENSIONS = ("chain", "draw")
PREDICTIVE_GROUP = "posterior_predictive"


def row_uniforms(seed: int, numbers: IntArray) -> FloatArray:
    """Return a uniform number for each row, (n,), from the numbers of the rows, (n,).

    It depends on the seed and on the row's number alone, so that a row has the same one
    whatever other rows it is taken with.
    """
    uniforms = np.empty(len(numbers))
    streams = numbers // STREAM_ROWS
    for stream in np.unique(streams):
        here = streams == stream
        uniforms[here] = _stream(seed, int(stream))[numbers[here] % STREAM_ROWS]
    return uniforms


@lru_cache(maxsize=8)  # `monitor` asks for one row after the other of the same stream
def _stream(seed: int, number: int) -> FloatArray:
    return Seed(seed).stream(Use.RANKS, number).random(STREAM_ROWS)


def common_precision(values: AnyArray, y: AnyArray) -> tuple[FloatArray, FloatArray]:
    """Round predictions (n, m) and y (n, 1) to single precision where either has no more.

    This is decided row by row. 0.1 in single precision is not 0.1 in double precision:
    predictions in one that tie with a y in the other would all fall to one side of it.
    """
    values = np.asarray(values, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    with np.errstate(over="ignore"):
        single_values = values.astype(np.float32)
        single_y = y.astype(np.float32)
    is_single = (single_values == values).all(axis=1, keepdims=True) | (single_y == y)
    return np.where(is_single, single_values, values), np.where(is_single, single_y, y)


def least_scale(values: FloatArray) -> FloatArray:
    """Return the smallest scale that rows of values (n, m) may have, (n, 1)."""
    size = np.abs(values).max(axis=1, keepdims=True)
    return np.asarray(LEAST_RELATIVE_SCALE * (1.0 + size))


@dataclass(frozen=True, eq=False)
class RowDraws(ByRow):
    """Draws of y.

    Parameters
    ----------
    values : ndarray of shape (n, m) or (n, m, d_y)
        m draws for each row, in the caller's own array.
    seed : int
        Of the random numbers that place y among draws that equal it.
    ids : ndarray of int, shape (n,)
        The rows' numbers in the law as it was made, to which these random numbers belong.
    """

    EACH = ("values", "ids")
    of_x = False
    WHY_NOT = "draws have no density"
    name = "The law of draws"

    values: AnyArray
    seed: int
    ids: IntArray

    def sample(self, rng: np.random.Generator) -> FloatArray:
        chosen = rng.integers(self.values.shape[1], size=self.n)
        return as_rows(self.values[np.arange(self.n), chosen])


class DrawCounts(NamedTuple):
    """How many draws of each row are below y, and how many equal it, (n,) each."""

    below: FloatArray
    equal: FloatArray


class Draws(RowDraws):
    """Draws of one column of y, `values` of shape (n, m); see `from_draws`."""

    def _count(self, y: AnyArray) -> DrawCounts:
        y = self._columns(y)
        below = np.empty(self.n)
        equal = np.empty(self.n)
        for rows in self._blocks():
            values, at_y = common_precision(self.values[rows], y[rows])
            below[rows] = (values < at_y).sum(axis=1)
            equal[rows] = (values == at_y).sum(axis=1)
        return DrawCounts(below, equal)

    def _blocks(self) -> Iterator[slice]:
        return (slice(start, start + BLOCK_ROWS) for start in range(0, self.n, BLOCK_ROWS))

    def cdf(self, y: AnyArray) -> FloatArray:
        counts = self._count(y)
        return np.asarray((counts.below + counts.equal) / self.values.shape[1])

    def pit(self, y: AnyArray) -> FloatArray:
        """Return u = (#{draws < y} + W·(1 + #{draws = y})) / (m + 1), W uniform, (n,).

        Under the law it is uniform and independent of x.
        """
        counts = self._count(y)
        uniform = row_uniforms(self.seed, self.ids)
        rank = counts.below + uniform * (counts.equal + 1.0)
        return np.asarray(rank / (self.values.shape[1] + 1.0))

    def crps(self, y: AnyArray) -> FloatArray:
        """Return the fair CRPS, mean |draw − y| − ½ mean |draw − draw'|, (n,).

        Its mean is that of the CRPS of the law which the draws are from.
        """
        y = self._columns(y)
        m = self.values.shape[1]
        # Σ_k weight_k·(k-th smallest draw) is half the mean distance of two draws.
        weights = (2.0 * np.arange(m) - (m - 1.0)) / (m * max(m - 1.0, 1.0))
        scores = np.empty(self.n)
        for rows in self._blocks():
            values = np.sort(np.asarray(self.values[rows], dtype=np.float64), axis=1)
            scores[rows] = np.abs(values - y[rows]).mean(axis=1) - values @ weights
        return scores

    def normal_scores(self, y: AnyArray) -> FloatArray:
        pit = np.clip(self.pit(y), SMALLEST_PIT, LARGEST_PIT)
        return np.asarray(ndtri(pit))[:, None]

    def cdf_grid(self, values: AnyArray) -> FloatArray:
        at = np.ravel(values)
        ordered = np.sort(self.values, axis=1)
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
        mean = values.mean(axis=1, keepdims=True)
        return mean, np.maximum(std, least_scale(values))


@dataclass(frozen=True, eq=False)
class RankOutcomes:
    """`Outcomes` of rows that have draws: y (code 0), or a draw in its place (1, …, m).

    All m + 1 candidates of a row are equally likely. Residuals are functions of the ranks
    of a candidate among the others in P directions, less their mean over the candidates:
    first cos(πkt)/k for k = 1, …, `WAVES` and the rank t in each direction, P columns for
    each k; then, for each pair of columns of y, products of two such cosines with
    frequencies up to `CROSSED_WAVES`.

    Parameters
    ----------
    ranks : ndarray of shape (n, m + 1, P)
        Ranks of all candidates, y first, in all directions, between 0 and 1. The first
        directions are the columns of y; the others, for each pair of columns in units of
        their standard deviations, their sum and their difference.
    columns : int
        The number d_y of columns of y.
    centre : ndarray of shape (n, width)
        The mean over the candidates of their features.
    code : int
        The candidate that counts as observed in all rows: 0, y itself, or a draw.
    """

    ranks: AnyArray
    columns: int
    centre: FloatArray
    code: int = 0

    # The residuals are not e_code − p.
    linear = False
    plain = 0

    @classmethod
    def from_candidates(cls, candidates: FloatArray) -> RankOutcomes:
        """Rank candidates (n, m + 1, d_y), y first, in all directions."""
        n, count, d_y = candidates.shape
        # Without ties, ranks are the numbers from 1 to m + 1 in some order.
        all_ranks = ((np.arange(1.0, count + 1.0) - 0.5) / count).astype(np.float32)
        mean_waves = rank_waves(all_ranks).mean(axis=1)
        ranks = []
        means = []  # of the waves in each direction, (n, WAVES)
        for values in _projections(candidates):
            ranked = row_ranks(values)
            own = ((ranked.ranks - 0.5) / count).astype(np.float32)
            mean = np.tile(mean_waves, (n, 1))
            mean[ranked.has_ties] = rank_waves(own[ranked.has_ties]).mean(axis=2).T
            ranks.append(own)
            means.append(mean)
        of_all = np.stack(ranks, axis=2)
        waves = np.stack(means, axis=2)  # (n, WAVES, P)
        crossed = _mean_products(of_all[:, :, :d_y])
        centre = np.concatenate([waves.reshape(n, -1), crossed], axis=1)
        return cls(of_all, d_y, centre=centre)

    @property
    def probabilities(self) -> AnyArray:
        """Of the candidates, (n, m + 1): all are equally likely."""
        n, count, _ = self.ranks.shape
        return np.broadcast_to(1.0 / count, (n, count))

    @property
    def observed(self) -> IntArray:
        """The codes of the observed candidates, (n,)."""
        return np.full(len(self.ranks), self.code, dtype=np.int64)

    def at(self, code: int) -> RankOutcomes:
        """Return the same with one draw in the place of y in all rows."""
        return replace(self, code=code)

    def take(self, rows: IntArray) -> RankOutcomes:
        """Return the outcomes of some rows, given by their numbers (r,)."""
        return replace(self, ranks=self.ranks[rows], centre=self.centre[rows])

    def residuals(self, codes: IntArray) -> FloatArray:
        """Return the residuals of candidates (n,), one for each row, (n, width)."""
        ranks = self.ranks[np.arange(len(codes)), codes]
        count = self.ranks.shape[1]
        places = np.rint(ranks * (2.0 * count)).astype(np.int64)
        waves = _waves_of_places(count)[:, places]
        return _features_of_waves(waves, self.columns) - self.centre


class RowRanks(NamedTuple):
    """Ranks of values within their rows."""

    ranks: FloatArray  #: From 1 on, (n, m); equal values share the mean of their ranks.
    has_ties: AnyArray  #: Whether any values of a row are equal, (n,).


def row_ranks(values: AnyArray) -> RowRanks:
    """Rank values (n, m) within their rows; as `scipy.stats.rankdata`, but faster."""
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    has_ties = np.asarray((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    ranks = np.argsort(order, axis=1).astype(np.float64)  # the inverse of an order
    ranks += 1.0
    if has_ties.any():
        from scipy.stats import rankdata  # takes long to import

        ranks[has_ties] = rankdata(values[has_ties], axis=1)
    return RowRanks(ranks=ranks, has_ties=has_ties)


def rank_features(ranks: AnyArray, columns: int) -> FloatArray:
    """Return features of ranks t (…, P) in P directions, (…, width); see `RankOutcomes`."""
    return _features_of_waves(rank_waves(ranks), columns)


def rank_waves(ranks: AnyArray) -> FloatArray:
    """Return cos(πkt)/k of ranks t (…) for k = 1, …, `WAVES`, (WAVES, …).

    By cos(πkt) = 2·cos(πt)·cos(π(k − 1)t) − cos(π(k − 2)t).
    """
    cosine = np.cos(np.pi * np.asarray(ranks, dtype=np.float64))
    waves = [np.ones_like(cosine), cosine]
    while len(waves) <= WAVES:
        waves.append(2.0 * cosine * waves[-1] - waves[-2])
    return np.stack([waves[k] / k for k in range(1, WAVES + 1)])


@lru_cache(maxsize=8)
def _waves_of_places(count: int) -> FloatArray:
    """Return the waves of t = 0, 1/(2·count), …, 1: of all ranks, (WAVES, 2·count + 1).

    Ties are at half ranks.
    """
    return rank_waves((np.arange(2 * count + 1) / 2.0 / count).astype(np.float32))


def _features_of_waves(waves: FloatArray, columns: int) -> FloatArray:
    """Put waves (WAVES, …, P) side by side, and products of those of columns."""
    features = list(waves)
    for i, j in _column_pairs(columns):
        for first in waves[:CROSSED_WAVES]:
            for second in waves[:CROSSED_WAVES]:
                features.append((first[..., i] * second[..., j])[..., None])
    return np.concatenate(features, axis=-1)


def _mean_products(ranks: AnyArray) -> FloatArray:
    """Return the means over candidates of products of waves of two columns of y.

    From ranks (n, m + 1, d_y) in the columns; (n, products), in the order of the features.
    """
    n, count, d_y = ranks.shape
    table = _waves_of_places(count)[:CROSSED_WAVES].T
    at_once = max(1, HELD_FEATURES // (count * d_y * CROSSED_WAVES))
    means = np.empty((n, CROSSED_WAVES**2 * (d_y * (d_y - 1) // 2)))
    for start in range(0, n, at_once):
        rows = slice(start, start + at_once)
        places = np.rint(ranks[rows] * (2.0 * count)).astype(np.int64)
        waves = table.take(places, axis=0).reshape(len(places), count, -1)
        products = waves.transpose(0, 2, 1) @ waves / count
        products = products.reshape(-1, d_y, CROSSED_WAVES, d_y, CROSSED_WAVES)
        for number, (i, j) in enumerate(_column_pairs(d_y)):
            own = slice(number * CROSSED_WAVES**2, (number + 1) * CROSSED_WAVES**2)
            means[rows, own] = products[:, i, :, j].reshape(len(places), -1)
    return means


def _column_pairs(d_y: int) -> list[tuple[int, int]]:
    """Return all pairs of columns, in the order of the features."""
    pairs: list[tuple[int, int]] = []
    for i in range(d_y):
        pairs.extend((i, j) for j in range(i))
    return pairs


def _projections(candidates: FloatArray) -> list[FloatArray]:
    """Return the P directions in which candidates (n, m + 1, d_y) are ranked.

    They are the columns and, for each pair of columns, their sum and their difference, in
    units of the standard deviation of the row's candidates, (n, m + 1) each.
    """
    directions = []
    for values in np.moveaxis(candidates, 2, 0):
        std = values.std(axis=1, keepdims=True)
        centred = values - values.mean(axis=1, keepdims=True)
        directions.append(centred / np.where(std > 0, std, 1.0))
    d_y = len(directions)
    for i, j in _column_pairs(d_y):
        directions.append(directions[i] + directions[j])
        directions.append(directions[i] - directions[j])
    return directions


class VectorDraws(RowDraws, Discrete):
    """Draws of several columns of y, `values` of shape (n, m, d_y); see `from_draws`."""

    def numbers(self, y: AnyArray) -> FloatArray:
        return self._columns(as_numbers(y, "y"), self.values.shape[2])

    def energy(self, y: AnyArray) -> FloatArray:
        """Return the fair energy score, mean ‖draw − y‖ − ½ mean ‖draw − draw'‖, (n,)."""
        from scipy.spatial.distance import pdist

        y = self.numbers(y)
        scores = np.empty(self.n)
        for i in range(self.n):
            draws = np.asarray(self.values[i], dtype=np.float64)
            to_y = np.linalg.norm(draws - y[i], axis=1).mean()
            between = pdist(draws).mean() if len(draws) > 1 else 0.0
            scores[i] = to_y - between / 2.0
        return scores

    def column(self, k: int) -> Draws:
        """Return the law of one column of y."""
        return Draws(self.values[:, :, k], self.seed + k, self.ids)

    def scores_by_column(self, y: AnyArray) -> FloatArray:
        """Return the normal scores of each column's own ranks, (n, d_y).

        Each column is standard normal under the law; columns may be dependent.
        """
        columns = enumerate(self.numbers(y).T)
        return np.hstack([self.column(k).normal_scores(column) for k, column in columns])

    def cells(self, by: str) -> Cells:
        d_y = self.values.shape[2]
        pairs = len(_column_pairs(d_y))
        directions = d_y + 2 * pairs
        # Blocks are tests of their own in `adaptive`: evidence of a wrong spread must not
        # drown in the noise of the features that show a shift.
        widths = {
            "ranks, shift": directions,
            "ranks, spread": directions,
            "ranks, shape": (WAVES - 2) * directions,
            "ranks, dependence": CROSSED_WAVES**2 * pairs,
        }
        blocks: list[Block] = []
        start = 0
        for name, width in widths.items():
            blocks.append(Block(name, start=start, stop=start + width))
            start += width
        words = "ranks of its columns and of projections among the draws"
        return Cells(tuple(blocks), words)

    def residuals(self, y: AnyArray, by: str) -> Residuals:
        y = self.numbers(y)
        columns: list[FloatArray] = []
        for k in range(y.shape[1]):
            values, y_column = common_precision(self.values[:, :, k], y[:, [k]])
            columns.append(np.concatenate([y_column, values], axis=1))
        # Each column by itself in memory: candidates are ranked column by column.
        outcomes = RankOutcomes.from_candidates(np.moveaxis(np.stack(columns), 0, 2))
        return Residuals(
            u=self.scores_by_column(y),
            values=outcomes.residuals(outcomes.observed),
            outcomes=outcomes,
        )

    def mean_std(self) -> tuple[FloatArray, FloatArray]:
        moments = [self.column(k).mean_std() for k in range(self.values.shape[2])]
        means = [mean for mean, _ in moments]
        stds = [std for _, std in moments]
        return np.hstack(means), np.hstack(stds)


def from_draws(
    draws: object,
    *,
    rng: RngLike = 0,
    period: float | None = None,
    loo: bool | None = None,
) -> RowDraws:
    """Law from draws of y: posterior predictive samples, simulators, bootstraps, ensembles.

    The rank of y among its m draws is uniform given x if the model is true, exactly and for
    any m. With m = 19 it tells little of tails; a hundred lose hardly any power.

    Column s of the draws is one draw of all rows. Where rows of a draw share something,
    such as the parameters of a posterior draw, residuals of a true model go up and down
    together. The draws show it, and `adaptive` and `check` then compare y with whole draws
    in its place: y and its draws are exchangeable, so that the level is exact whatever rows
    have in common. p-values are multiples of 1/(m + 1) there: take 199 draws or more. If
    rows do not belong together (each was sampled by a run of its own), shuffle the draws
    within each row, or sort them. Other tests, such as `kcsd`, take rows as independent.

    Parameters
    ----------
    draws : array_like of shape (n, m) or (n, m, d_y)
        m draws for each of n rows (ensemble members, predictions of bootstrap fits *with
        noise added*). The array is not copied. An ArviZ ``InferenceData`` or ``DataTree``
        with a group ``posterior_predictive`` that has one variable is read as it is.
    rng : int, numpy.random.Generator or None
        Of the random numbers that place y among draws that equal it, and between its
        neighbours.
    period : float, optional
        y is an angle, a number modulo `period` (2π, 360, 24), and draws have shape (n, m).
        y is then compared with its draws on the circle, with no cut, and needs no rng.
    loo : bool, optional
        Whether rows are those that the posterior was fitted to. Each is then predicted by
        the posterior without it: draws are weighted by 1/p(y|θ), Pareto-smoothed (needs
        ``condgof[bayes]``, arviz-stats), and the null allows for what rows have in common
        because one posterior fits all of them. It takes ArviZ data with the groups
        ``posterior_predictive`` and ``log_likelihood`` of the same rows. Unless given, it
        is so where both are there and y is what the group ``observed_data`` holds. Take
        four times as many draws as rows, or more.

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
    table = draws if from_arviz is None else from_arviz
    array = as_numbers(table, "draws", advice="Pass an array (n, m) of draws.")
    if array.ndim not in (2, 3) or 0 in array.shape:
        hint = ""
        if array.ndim == 1:
            hint = " One prediction for each row is no draw: pass (mean, std)."
        raise ShapeError(
            f"Draws of n rows have shape (n, m) or (n, m, d_y), got {array.shape}.{hint}"
        )
    advice = "Draw again, or leave those rows out."
    refuse_rows(~np.isfinite(array), "The draws have NaN or infinite values", advice)
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    view = array.view()
    view.flags.writeable = False
    seed = Seed.of(rng).value
    ids = np.arange(len(array))
    if period is not None:
        from condgof.laws._circular import circular_draws

        return with_index(circular_draws(view, seed=seed, ids=ids, period=period), draws)
    if array.ndim == 3:
        return with_index(VectorDraws(view, seed=seed, ids=ids), draws)
    law = Draws(view, seed=seed, ids=ids)
    if loo is False or (from_arviz is None and loo is None):
        return with_index(law, draws)
    from condgof.laws._loo import likelihood_of, loo_draws

    likelihood = likelihood_of(draws, array.shape)
    if likelihood is not None:
        return loo_draws(law, likelihood)
    if loo:
        raise InputError(
            "loo=True takes ArviZ data with the groups posterior_predictive and"
            " log_likelihood, one variable each, of the same rows and draws."
        )
    return with_index(law, draws)


def adapt(obj: object) -> Law | None:
    """Make a law of posterior predictive draws, or return None for another object."""
    return None if predictive(obj) is None else from_draws(obj)


def predictive(obj: Any) -> AnyArray | None:
    """Return the draws that an object of ArviZ or xarray holds, (n, m) or (n, m, d_y).

    None if it is no such object, or an array without a dimension of draws.
    """
    if not any(comes_from(obj, library) for library in ("arviz", "arviz_base", "xarray")):
        return None
    is_data_array = hasattr(obj, "dims") and not hasattr(obj, "data_vars")
    if is_data_array:
        has_draws = any(dim in obj.dims for dim in DRAW_DIMENSIONS)
        return _draws_of_array(obj) if has_draws else None
    group = _predictive_group(obj)
    names = [str(name) for name in group.data_vars]
    if len(names) != 1:
        name = names[0] if names else "name"
        choose = f"condgof.from_draws(idata.{PREDICTIVE_GROUP}[{name!r}])"
        has = f"{len(names)} variables ({', '.join(names)})"
        raise InputError(f"The group {PREDICTIVE_GROUP} has {has}. Choose one: {choose}.")
    return _draws_of_array(group[names[0]])


def _predictive_group(obj: Any) -> Any:
    """Return the group of predictive draws, or the object itself where it is a group."""
    if hasattr(obj, PREDICTIVE_GROUP):
        return getattr(obj, PREDICTIVE_GROUP)
    if hasattr(obj, "data_vars") and len(obj.data_vars):
        return obj
    groups: Any = getattr(obj, "children", None) or getattr(obj, "_groups", ())
    has = f" (it has {', '.join(map(str, groups))})" if groups else ""
    advice = "In PyMC use pm.sample_posterior_predictive(idata, extend_inferencedata=True)."
    raise InputError(
        f"This {type(obj).__name__} has no group {PREDICTIVE_GROUP}{has}. {advice}"
    )


def _draws_of_array(array: Any) -> AnyArray:
    """Return the draws of a DataArray, whatever the order of its dimensions.

    They have shape (n, m) or (n, m, d_y).
    """
    of_draws = [dim for dim in DRAW_DIMENSIONS if dim in array.dims]
    of_y = [dim for dim in array.dims if dim not in of_draws]
    if not of_draws or len(of_y) not in (1, 2):
        got = f"and this array has {', '.join(map(str, array.dims)) or 'none'}"
        raise ShapeError(
            f"Draws have the dimensions chain, draw and one or two of y, {got}."
        )
    values = np.asarray(array.transpose(of_y[0], *of_draws, *of_y[1:]).values)
    return values.reshape(len(values), -1, *values.shape[1 + len(of_draws) :])
