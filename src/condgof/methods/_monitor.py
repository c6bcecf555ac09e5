"""Bets against a law, row after row: an e-process for each kind of misfit.

A *bet* on a row pays q(y)/p(y), where p is the law and q was chosen before y was observed.
Under p its mean is 1, so that wealth, a weighted average of products of such ratios over
rows, is a nonnegative martingale that begins at 1. Under a correct law, wealth reaches
1/alpha with probability at most alpha (Ville).

Here q is predicted from earlier rows of the same bin of a column. Of normal scores it is
N(m̂, v̂), shrunk by conjugate priors; of cells of a discrete y it is the law's own
probabilities, tilted. The logarithm of the wealth then depends on the rows of a bin only
through sums of a few statistics, which are all that is kept.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, ndtri, zeta

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import UnsupportedModelError
from condgof.laws import (
    PLAIN,
    Law,
    class_names_of,
    class_probabilities,
    normal_parameters,
    normalised,
    predictions,
    row_uniforms,
)
from condgof.methods._scores import prediction_name
from condgof.residuals import (
    CellResiduals,
    ClassResiduals,
    IntervalResiduals,
    MarginalResiduals,
    NormalScoreResiduals,
    RankResiduals,
    Residuals,
    residual_class,
)
from condgof.sample import Sample

#: Bins that each column is cut into.
BINS = 8
#: Each column is bet on at two resolutions: bin by bin, and by halves of the bins.
RESOLUTIONS = 2
#: Bins are joined into this many halves.
HALVES = 2
#: Numbers of rows whose evidence is kept for a picture of it.
MOST_KEPT = 200
#: Rows between two starts of a bet.
ROWS_BETWEEN_STARTS = 64
#: Starts that are kept; older ones are joined.
MOST_STARTS = 12
#: Share of the wealth on the start at row 0.
FIRST_SHARE = 0.6
#: The k-th later start has a share proportional to k^(−DECAY).
DECAY = 1.25

#: Rows that the prior of the mean, around 0, counts for.
MEAN_ROWS = 8.0
#: Rows that the prior of the variance, around 1, counts for.
SPREAD_ROWS = 16.0
#: Rows that the prior of the shares of PITs in cells counts for.
SHAPE_ROWS = 24.0
#: Upper ends of the cells of the PIT, except for the last, which ends at 1.
PIT_ENDS = np.array([0.001, 0.01, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95, 0.99, 0.999])
#: Probabilities of the cells of the PIT under a correct law, (12,).
PIT_SHARES = np.diff(PIT_ENDS, prepend=0.0, append=1.0)
#: Upper ends of the cells of the PIT as normal scores, (11,).
PIT_SCORES = ndtri(PIT_ENDS)

#: Four tilts of the log-odds of an event of a discrete y.
ODDS = np.array([-1.0, -0.3, 0.3, 1.0])
#: Four tilts to p^(1 + power) of all probabilities: negative powers flatten them.
POWERS = np.array([-0.6, -0.25, 0.25, 0.6])
#: Four weights of a uniform law that is mixed with the probabilities.
UNIFORM = np.array([0.005, 0.02, 0.1, 0.4])
#: `ODDS` are multiplied by this for ordered cells, whose direction lies in [−1, 1].
ODDS_OF_ORDER = 1.7
#: Classes that are bet on one by one; more are joined into this many sets.
MOST_CLASSES = 4
#: A probability below this counts as this, so that its logarithm is finite.
LEAST_PROBABILITY = 1e-300

#: Wealth is computed again after a sixteenth of the rows so far.
PART_OF_ROWS = 16
#: Wealth is computed again after at most this many rows.
LONGEST_STEP = 32
#: (i, j) is true where row j of a step is before row i.
EARLIER = np.tri(LONGEST_STEP, k=-1, dtype=bool)
#: Columns are first cut into bins after this many rows, then after twice as many each time.
FIRST_BINS = 16
#: Numbers that all sums may take; columns of x and predictions beyond are not bet on.
MOST_SUMS = 20_000
#: Normal scores are clipped to this.
FARTHEST = 1e6
#: Log of the wealth up to which an alarm is described again as evidence grows.
CLEAR_ALARM = 50.0
#: Changes that are remembered.
MOST_CHANGES = 100
#: Rows of a discrete y whose cells are in memory at the same time.
ROWS_AT_ONCE = 4096

#: Normal scores are ranked by this many cells of arsinh(z).
RANK_CELLS = 1_000
#: The cells of arsinh(z) reach from −RANK_REACH to RANK_REACH.
RANK_REACH = 4.4

#: Shares of the wealth on all rows together, on the predictions, and on the columns of x.
GROUPING_SHARES = (0.5, 0.2, 0.3)
#: Shares of the wealth on shift, on spread, and on both at once.
NORMAL_SHARES = (0.5, 0.3, 0.2)
#: Share of the wealth on the shape of the PIT, where bets are on normal scores.
SHAPE_SHARE = 0.06
#: Share of the wealth on rows beyond all others, where bets are on ranks.
EXTREME_SHARE = 0.5
#: Extreme rows, on either side, that the prior of their share counts for,
EXTREME_EVENTS = 0.5
#: and other rows that it counts for.
EXTREME_ROWS = 50.0
#: A rank is never extreme with a larger probability than this, on either side.
MOST_EXTREME = 0.25

#: Added to the seed for ties of ranks: other random numbers than those of the law's draws.
RANK_SEED = 2**40
#: Added to the seed for randomised PITs.
PIT_SEED = 2**41


# Bets: what is summed over rows, and what the sums have earned.


class Bet(ABC):
    """A bet against a law, from sums over rows.

    The log wealth of rows is a function of sums over these rows, so that it does not depend
    on the order in which rows are added up.
    """

    #: The kinds of misfit that are bet on.
    kinds: tuple[str, ...]
    #: How many numbers of a row are summed.
    width: int

    @abstractmethod
    def statistics(self, z: FloatArray, tilts: FloatArray) -> FloatArray:
        """Return what is summed, (n, C, width), of normal scores (n, C) or tilts (n, L)."""

    @abstractmethod
    def log_wealth(self, sums: FloatArray) -> FloatArray:
        """Return the log wealth, (…, kinds), of rows with these sums, (…, width)."""

    @abstractmethod
    def kind_shares(self) -> FloatArray:
        """Return the share of the wealth on each kind, (kinds,), which sum to 1."""

    def coordinates(self, z: FloatArray) -> int:
        """Return C, the number of columns of y that are bet on."""
        return int(z.shape[1])


class NormalBet(Bet):
    """That normal scores have another mean, another variance, or both.

    With sums n = Σ1, S = Σz, Q = Σz² and priors m ~ N(0, v/a), v ~ inverse gamma(b/2, b/2)
    with a = MEAN_ROWS, b = SPREAD_ROWS, the log wealth is

        shift    S²/(2(n + a)) − ½ log(1 + n/a)
        spread   log Γ((b+n)/2) − log Γ(b/2) + b/2·log(b/2) + Q/2 − (b+n)/2·log((b + Q)/2)
        both     as spread, with Q − S²/(n + a) in the last term, and − ½ log(1 + n/a).
    """

    kinds = ("shift", "spread", "shift and spread")
    width = 3

    def statistics(self, z: FloatArray, tilts: FloatArray) -> FloatArray:
        # For one row, filling an array is faster than np.stack.
        rows = np.ones((*z.shape, 3))
        rows[..., 1] = z
        rows[..., 2] = np.square(z)
        return rows

    def log_wealth(self, sums: FloatArray) -> FloatArray:
        n = sums[..., 0]
        total = sums[..., 1]
        square = sums[..., 2]
        half = 0.5 * SPREAD_ROWS
        rows = 0.5 * (SPREAD_ROWS + n)
        explained = np.square(total) / (n + MEAN_ROWS)
        mean_prior = -0.5 * np.log1p(n / MEAN_ROWS)
        start = gammaln(rows) - gammaln(half) + half * math.log(half) + 0.5 * square
        wealth = np.empty(sums.shape)
        wealth[..., 0] = 0.5 * explained + mean_prior
        wealth[..., 1] = start - rows * np.log(half + 0.5 * square)
        residual = 0.5 * (square - explained)
        wealth[..., 2] = start - rows * np.log(half + residual) + mean_prior
        return wealth

    def kind_shares(self) -> FloatArray:
        return np.array(NORMAL_SHARES)


class ShapeBet(Bet):
    """That PITs have other shares in cells: skew, tails, several modes.

    With counts n_c of the cells, whose probabilities are p_c, and a Dirichlet prior with
    parameters a·p_c, a = SHAPE_ROWS, the log wealth is

        Σ_c [log Γ(a·p_c + n_c) − log Γ(a·p_c) − n_c log p_c] + log Γ(a) − log Γ(a + n).
    """

    kinds = ("shape",)
    width = len(PIT_ENDS) + 1

    def statistics(self, z: FloatArray, tilts: FloatArray) -> FloatArray:
        return np.asarray(np.eye(self.width)[np.searchsorted(PIT_SCORES, z)])

    def log_wealth(self, sums: FloatArray) -> FloatArray:
        n = sums.sum(axis=-1)
        prior = SHAPE_ROWS * PIT_SHARES
        cells = gammaln(prior + sums) - gammaln(prior) - sums * np.log(PIT_SHARES)
        value = cells.sum(axis=-1) + gammaln(SHAPE_ROWS) - gammaln(SHAPE_ROWS + n)
        return np.asarray(value[..., None])

    def kind_shares(self) -> FloatArray:
        return np.ones(1)


class TiltBet(Bet):
    """That a discrete y has the law's probabilities, tilted in one of several ways.

    Tilts are log q(y)/p(y), four (as many as `ODDS`) of each kind, and the wealth on a kind
    is the mean of exp(Σ_i tilt_i) over its four tilts.
    """

    def __init__(self, kinds: tuple[str, ...]) -> None:
        self.kinds = kinds
        self.width = len(kinds) * len(ODDS)

    def statistics(self, z: FloatArray, tilts: FloatArray) -> FloatArray:
        return tilts[:, None]

    def log_wealth(self, sums: FloatArray) -> FloatArray:
        tilts = sums.reshape(*sums.shape[:-1], len(self.kinds), len(ODDS))
        most = tilts.max(axis=-1, keepdims=True)
        return np.asarray(np.log(np.exp(tilts - most).mean(axis=-1)) + most[..., 0])

    def kind_shares(self) -> FloatArray:
        return np.full(len(self.kinds), 1.0 / len(self.kinds))

    def coordinates(self, z: FloatArray) -> int:
        """Return 1: tilts are of the whole y."""
        return 1


class ExtremeBet(Bet):
    """That a few rows rank beyond all rows before, at the lower or the upper end.

    A rank keeps no magnitude: of 2,500 rows, the first that lies far beyond the others has
    a rank below 1/2,500, and so it wins at most a factor of 2,500; the k-th has one below
    k/2,500. The bet is on just these ranks. A rank u is *extreme* if u ≤ c or u ≥ 1 − c
    with c = (k + 1)/N, N being the number of rows that are ranked, this one included, and k
    the number of extreme ranks since the start on that side: c is known before the row is.

    Shares of rows that are extreme, at the lower and the upper end, have a Dirichlet prior
    with parameters a, a and b, a = EXTREME_EVENTS and b = EXTREME_ROWS. With k₁ and k₂
    extreme ranks in n rows the log wealth is

        log Γ(a + k₁) + log Γ(a + k₂) + log Γ(b + n − k₁ − k₂) − log Γ(2a + b + n)

    less the same of k₁ = k₂ = n = 0, and less Σ log p, p being the probability of what
    happened in each row if nothing changes: c₁, c₂ or 1 − c₁ − c₂.
    """

    kinds = ("extreme rows",)
    #: k₁, k₂, n and Σ log p.
    width = 4

    def statistics(self, z: FloatArray, tilts: FloatArray) -> FloatArray:
        raise NotImplementedError("What is extreme depends on the start: `ExtremeRanks`.")

    def log_wealth(self, sums: FloatArray) -> FloatArray:
        low = sums[..., 0]
        high = sums[..., 1]
        rows = sums[..., 2]
        prior = 2.0 * EXTREME_EVENTS + EXTREME_ROWS
        value = gammaln(EXTREME_EVENTS + low) + gammaln(EXTREME_EVENTS + high)
        value += gammaln(EXTREME_ROWS + rows - low - high) - gammaln(prior + rows)
        value -= 2.0 * gammaln(EXTREME_EVENTS) + gammaln(EXTREME_ROWS) - gammaln(prior)
        return np.asarray((value - sums[..., 3])[..., None])

    def kind_shares(self) -> FloatArray:
        return np.ones(1)


def choose_bet(tilt_kinds: tuple[str, ...]) -> Bet:
    """Bet on tilts where there are any, which is where y is discrete."""
    return TiltBet(tilt_kinds) if tilt_kinds else NormalBet()


# Tilts and randomised PITs of a discrete y.


def ordered_tilts(p: FloatArray, observed: IntArray) -> dict[str, FloatArray]:
    """Return log q(y)/p(y) of four tilts of ordered cells, (n, 4), by kind.

    Parameters
    ----------
    p
        Probabilities of the cells, (n, K).
    observed
        The cell that was observed, (n,).
    """
    upper = np.cumsum(p, axis=1)
    # The middle of the PITs of each cell, from −1 to 1.
    middle = np.clip(2.0 * upper - p - 1.0, -1.0, 1.0)
    row = np.arange(len(p))
    lowest = np.argmax(p > 0, axis=1)
    return {
        "shift": _tilt_along(middle, p, observed),
        "spread": _tilt_along(1.5 * np.square(middle) - 0.5, p, observed),
        "lowest values": _tilt_event(p[row, lowest], observed == lowest),
        "surprise": _mix_uniform(p, observed),
    }


def class_tilts(
    p: FloatArray, observed: IntArray, names: Sequence[str]
) -> dict[str, FloatArray]:
    """Return log q(y)/p(y) of four tilts of classes without an order, (n, 4), by kind.

    Of more than `MOST_CLASSES` classes, every fourth belongs to one of four sets. The
    parameters are those of `ordered_tilts`, and the names of the classes, (K,).
    """
    count = p.shape[1]
    sets = min(count, MOST_CLASSES)
    ending = " …" if count > sets else ""
    # Of two classes the second says all.
    first = 1 if sets == 2 else 0
    tilts = {}
    for k in range(first, sets):
        held = p[:, k::sets].sum(axis=1)
        tilts[f"class {names[k]}{ending}"] = _tilt_event(held, observed % sets == k)
    log_p = np.log(_observed_probability(p, observed))
    totals = np.stack([np.power(p, 1.0 + power).sum(axis=1) for power in POWERS], axis=1)
    tilts["confidence"] = POWERS * log_p[:, None] - np.log(totals)
    tilts["surprise"] = _mix_uniform(p, observed)
    return tilts


def _observed_probability(p: FloatArray, observed: IntArray) -> FloatArray:
    """Return the probability of what was observed, (n,), at least `LEAST_PROBABILITY`."""
    return np.asarray(np.maximum(p[np.arange(len(p)), observed], LEAST_PROBABILITY))


def _tilt_along(psi: FloatArray, p: FloatArray, observed: IntArray) -> FloatArray:
    """Tilt p by exp(odds·psi) for a function psi of the cells, (n, K): (n, 4)."""
    totals = [(p * np.exp(ODDS_OF_ORDER * odds * psi)).sum(axis=1) for odds in ODDS]
    at_observed = psi[np.arange(len(p)), observed][:, None]
    log_totals = np.log(np.stack(totals, axis=1))
    return np.asarray(ODDS_OF_ORDER * ODDS * at_observed - log_totals)


def _tilt_event(p: FloatArray, happened: object) -> FloatArray:
    """Tilt the odds of an event of probability p, (n,), that happened or not: (n, 4)."""
    total = 1.0 + p[:, None] * np.expm1(ODDS)
    return np.asarray(ODDS * np.asarray(happened)[:, None] - np.log(total))


def _mix_uniform(p: FloatArray, observed: IntArray) -> FloatArray:
    """Mix p with a uniform law of the cells: (n, 4).

    An observation of probability 0 refutes the law at once.
    """
    likelihood = _observed_probability(p, observed)[:, None]
    return np.asarray(np.log1p(UNIFORM * (1.0 / (p.shape[1] * likelihood) - 1.0)))


def cell_scores(p: FloatArray, observed: IntArray, uniform: FloatArray) -> FloatArray:
    """Return normal scores of two randomised PITs, (n, 2), with uniform numbers (n,).

    The first orders the cells as they are, the second by their probability.
    """
    p_observed = p[np.arange(len(p)), observed]
    before = np.arange(p.shape[1]) < observed[:, None]
    below = np.where(before, p, 0.0).sum(axis=1)
    less_likely = (p * (p < p_observed[:, None])).sum(axis=1)
    as_likely = (p * (p == p_observed[:, None])).sum(axis=1)
    by_order = below + uniform * p_observed
    by_probability = less_likely + uniform * as_likely
    return normal_scores(np.stack([by_order, by_probability], axis=1))


def normal_scores(u: FloatArray) -> FloatArray:
    """Return Φ⁻¹(u), finite also where u is rounded to 0 or 1."""
    return np.asarray(ndtri(np.clip(u, 1e-300, 1.0 - 2.0**-53)))


# What bets need of rows.


class MonitoredRows(NamedTuple):
    """Rows of y compared with their law, and what the law predicts."""

    #: The kinds of the tilts of a discrete y; none for another y.
    kinds: tuple[str, ...]
    #: Names of the predictions, (P,).
    names: tuple[str, ...]
    #: Normal scores, (n, C); for a discrete y those of randomised PITs.
    z: FloatArray
    #: Log q(y)/p(y) of the tilts of a discrete y, (n, L); (n, 0) for another y.
    tilts: FloatArray
    #: What the model predicts, (n, P).
    predicted: FloatArray


class Predictions(NamedTuple):
    """What a law predicts of n rows, (n, P), and its names."""

    names: tuple[str, ...]
    values: FloatArray

    @classmethod
    def from_law(cls, law: Law, sample: Sample) -> Predictions:
        values = predictions(law)
        if values is None:
            values = np.empty((sample.n, 0))
        count = values.shape[1]
        return cls(
            tuple(prediction_name(i, count, sample.d_y) for i in range(count)), values
        )


#: What the predictions of a normal model of one y are called.
NORMAL_NAMES = (prediction_name(0, 2, 1), prediction_name(1, 2, 1))


def monitored_rows(law: Law, sample: Sample, rows: IntArray, seed: int) -> MonitoredRows:
    """Compare a sample with its law; `rows` are the numbers of its rows in the stream."""
    kind = residual_class(law, sample.d_y, "auto")
    return _rows_of_kind.dispatch(kind)(kind, law, sample, rows, seed)


@singledispatch
def _rows_of_kind(
    kind: Any, law: Law, sample: Sample, rows: IntArray, seed: int
) -> MonitoredRows:
    """Compare a sample with its law; registered for the class of its residuals."""
    raise UnsupportedModelError(
        f"{law.name} cannot be monitored: that takes a CDF, draws, probabilities,"
        " quantiles or intervals, and scores or an unnormalised density tell none"
        " of them."
    )


@_rows_of_kind.register(NormalScoreResiduals)
@_rows_of_kind.register(MarginalResiduals)
@_rows_of_kind.register(RankResiduals)
def _normal_rows(
    kind: type[Residuals], law: Law, sample: Sample, rows: IntArray, seed: int
) -> MonitoredRows:
    residuals: Any = kind.from_law(law, sample)
    return _continuous_rows(law, sample, residuals.u)


def _continuous_rows(law: Law, sample: Sample, z: FloatArray) -> MonitoredRows:
    names, predicted = Predictions.from_law(law, sample)
    clipped = np.minimum(np.maximum(z, -FARTHEST), FARTHEST)
    return MonitoredRows((), names, clipped, np.empty((sample.n, 0)), predicted)


@_rows_of_kind.register(CellResiduals)
def _discrete_rows(
    kind: type[Residuals], law: Law, sample: Sample, rows: IntArray, seed: int
) -> MonitoredRows:
    """Compare some rows at a time, since their cells may be many."""
    uniform = row_uniforms(seed + PIT_SEED, rows)
    names, predicted = _cell_predictions(law, sample)
    kinds: tuple[str, ...] = ()
    scores = []
    tilts = []
    for start in range(0, sample.n, ROWS_AT_ONCE):
        some = np.arange(start, min(start + ROWS_AT_ONCE, sample.n))
        part: Any = law.take(some)
        outcomes = part.residuals(sample.y_given[some], PLAIN).outcomes
        if outcomes is None:
            raise UnsupportedModelError(
                f"{law.name} cannot be monitored: it has no probabilities."
            )
        p = normalised(outcomes.probabilities)
        observed = np.asarray(outcomes.observed)
        by_kind = _tilts_of.dispatch(kind)(law, p, observed)
        kinds = tuple(by_kind)
        tilts.append(np.concatenate(list(by_kind.values()), axis=1))
        scores.append(cell_scores(p, observed, uniform[some]))
    return MonitoredRows(
        kinds, names, np.concatenate(scores), np.concatenate(tilts), predicted
    )


@singledispatch
def _tilts_of(law: Any, p: FloatArray, observed: IntArray) -> dict[str, FloatArray]:
    """Return the tilts of a discrete law, by kind; for the class of its residuals."""
    return ordered_tilts(p, observed)


@_tilts_of.register(ClassResiduals)
def _class_tilts(law: Any, p: FloatArray, observed: IntArray) -> dict[str, FloatArray]:
    is_ordered = law.cells(PLAIN).blocks[0].positions is not None
    if is_ordered and p.shape[1] > 2:
        return ordered_tilts(p, observed)
    return class_tilts(p, observed, class_names_of(law))


@_tilts_of.register(IntervalResiduals)
def _interval_tilts(law: Any, p: FloatArray, observed: IntArray) -> dict[str, FloatArray]:
    tilts = ordered_tilts(p, observed)
    return {("coverage" if kind == "shift" else kind): tilts[kind] for kind in tilts}


def _cell_predictions(law: Law, sample: Sample) -> Predictions:
    """Return the predictions; of three classes or more the likeliest one and its p."""
    values = class_probabilities(law)
    if values is None or values.shape[1] <= 2:
        return Predictions.from_law(law, sample)
    p = np.asarray(values, dtype=np.float64)
    return Predictions(
        ("predicted class", "confidence"),
        np.column_stack([p.argmax(axis=1), p.max(axis=1)]),
    )


def one_normal_row(model: object, sample: Sample) -> MonitoredRows | None:
    """Compare one row of one y with a normal model, quickly.

    None where only `monitored_rows` can tell: for another model, or a row that it refuses
    or rounds.
    """
    parameters = normal_parameters(model)
    if parameters is None:
        return None
    mean = _one_number(parameters.mean, sample)
    std = _one_number(parameters.std, sample)
    if mean is None or std is None:
        return None
    z = (sample.y.item() - mean) / std if std > 0 else math.nan
    if not (abs(z) <= FARTHEST and std < math.inf):
        return None
    return MonitoredRows(
        kinds=(),
        names=NORMAL_NAMES,
        z=np.array([[z]]),
        tilts=np.empty((1, 0)),
        predicted=np.array([[mean, std]]),
    )


def _one_number(parameter: Any, sample: Sample) -> float | None:
    """Return a parameter of one row, a number or a function of x; None if it is neither."""
    try:
        value = parameter(sample.x_given.copy()) if callable(parameter) else parameter
    except Exception:  # `monitored_rows` calls the function again and reports the error
        return None
    if type(value) is not np.ndarray or value.dtype != np.float64:
        return None
    return value.item() if value.shape in ((), (1,), (1, 1)) else None


class KeptRows(NamedTuple):
    """Consecutive rows, those in memory and new ones after them."""

    #: The number of the first of them in the stream.
    first: int
    #: Normal scores, (n, C), and tilts, (n, L).
    z: FloatArray
    tilts: FloatArray
    #: What rows are grouped by, (n,) each: numbers, or text as objects.
    columns: list[AnyArray]

    def part(self, start: int, stop: int) -> KeptRows:
        """Return the rows with the numbers from `start` to `stop`."""
        rows = slice(start - self.first, stop - self.first)
        columns = [column[rows] for column in self.columns]
        return KeptRows(start, self.z[rows], self.tilts[rows], columns)


# E-processes: wealth over time.


class EProcess:
    """Wealth of one bet on all bins of all groupings, begun at several rows.

    The part that starts at row s bets on rows from s on: the later it starts, the sooner it
    wins against a law that has gone wrong. The k-th start has the share `start_share(k)` of
    a wealth of 1. Under a correct law, wealth reaches 1/alpha with probability at most
    alpha.

    With S starts, C columns of y, G groupings, two resolutions and K kinds of misfit, the
    log wealth of each part, (S, C, G, 2, K), is `offsets` plus what the bet has earned with
    its `sums`, (S, C, G, BINS, width).

    Parameters
    ----------
    bet
        What is bet on.
    log_shares
        Logarithms of the shares of the parts that start at one row, (C, G, 2, K).
    last
        The row from which on the next start is counted.
    """

    def __init__(self, bet: Bet, log_shares: FloatArray, last: int) -> None:
        self.bet = bet
        self.log_shares = log_shares
        #: How many starts there have been, and the row of the last one.
        self.begun = 0
        self.last = last
        #: The rows of the starts that are kept.
        self.starts: list[int] = []
        self.sums = np.zeros((0, *log_shares.shape[:2], BINS, bet.width))
        self.offsets = np.zeros((0, *log_shares.shape))

    def log_stake(self) -> float:
        """Return the logarithm of the wealth that the next start gets."""
        return log_start_share(self.begun)

    def begin(self, row: int) -> None:
        """Start to bet at this row."""
        self.starts.append(row)
        self.last = row
        self.sums = np.concatenate([self.sums, np.zeros((1, *self.sums.shape[1:]))])
        stakes = (self.log_shares + self.log_stake())[None]
        self.offsets = np.concatenate([self.offsets, stakes])
        self.begun += 1

    def add(self, codes: IntArray, rows: KeptRows) -> FloatArray:
        """Add rows with their bins (n, G); return the log wealth, (S, C, G, 2, K)."""
        groupings = self.log_shares.shape[1]
        statistics = self.bet.statistics(rows.z, rows.tilts)
        self.sums += sums_by_bin(codes[:, :groupings], statistics)
        return self.offsets + self._earned()

    def _earned(self) -> FloatArray:
        """Return the log of what rows since each start have earned, (S, C, G, 2, K)."""
        by_half = (*self.sums.shape[:3], HALVES, BINS // HALVES, self.bet.width)
        halves = self.sums.reshape(by_half).sum(axis=4)
        each = self.bet.log_wealth(np.concatenate([self.sums, halves], axis=3))
        earned = np.empty(self.offsets.shape)
        earned[:, :, :, 0] = each[:, :, :, :BINS].sum(axis=3)
        earned[:, :, :, 1] = each[:, :, :, BINS:].sum(axis=3)
        return earned

    def rebin(self, codes: IntArray, rows: KeptRows, groupings: IntArray) -> None:
        """Go on with other bins of some groupings, by the rows that are kept.

        The wealth stays what it is, whatever the new sums would have earned.
        """
        groupings = groupings[groupings < self.log_shares.shape[1]]
        wealth = self.offsets + self._earned()
        statistics = self.bet.statistics(rows.z, rows.tilts)
        for i, start in enumerate(self.starts):
            since = max(start - rows.first, 0)
            sums = sums_by_bin(codes[since:, groupings], statistics[since:])
            self.sums[i][:, groupings] = sums
        self.offsets = wealth - self._earned()

    def renew(self, row: int, wealth: FloatArray) -> None:
        """Start again if the last start is long ago; join two starts if there are many.

        `wealth` is the log wealth that `add` returned.
        """
        if row - self.last < ROWS_BETWEEN_STARTS:
            return
        self.begin(row)
        if len(self.starts) > MOST_STARTS:
            self._join_starts(row, wealth)

    def _join_starts(self, row: int, wealth: FloatArray) -> None:
        """Join the two neighbours with the most similar ages, never the first or the last.

        The ages of those that stay then about double from one to the next. The richer of
        the two goes on with the wealth of both.
        """
        ages = np.log(row + ROWS_BETWEEN_STARTS - np.array(self.starts[1:-1]))
        i = 1 + int(np.argmax(ages[1:] - ages[:-1]))
        stays, goes = sorted((i, i + 1), key=lambda k: -log_sum(wealth[k]))
        self.offsets[stays] += np.logaddexp(wealth[stays], wealth[goes]) - wealth[stays]
        kept = [k for k in range(len(self.starts)) if k != goes]
        self.starts = [self.starts[k] for k in kept]
        self.sums = self.sums[kept]
        self.offsets = self.offsets[kept]

    def to_state(self) -> dict[str, Any]:
        """Return all that changes over time as numbers and lists."""
        return {
            "begun": self.begun,
            "last": self.last,
            "starts": list(self.starts),
            "sums": self.sums.ravel().tolist(),
            "offsets": self.offsets.ravel().tolist(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        self.begun = state["begun"]
        self.last = state["last"]
        self.starts = list(state["starts"])
        self.sums = self._restored(state["sums"], like=self.sums)
        self.offsets = self._restored(state["offsets"], like=self.offsets)

    def _restored(self, values: Sequence[float], like: FloatArray) -> FloatArray:
        shape = (len(self.starts), *like.shape[1:])
        return np.array(values, dtype=np.float64).reshape(shape)


class ShiryaevRoberts(EProcess):
    """An e-process to which each row adds a wealth of 1, for a change at whatever row.

    As long as nothing changes, its wealth reaches A after A rows on average, or later.
    """

    def log_stake(self) -> float:
        return math.log(ROWS_BETWEEN_STARTS)


class ExtremeRanks(ShiryaevRoberts):
    """Wealth of `ExtremeBet` on ranks: one bin of one grouping."""

    def add_ranks(self, ranks: FloatArray, before: int) -> FloatArray:
        """Add ranks (n, C) of rows, with `before` rows ranked before them.

        Returns the log wealth, (S, C, 1, 2, 1).
        """
        sums = self.sums[:, :, 0, 0]
        for number, row in enumerate(ranks, start=before + 1):
            ends = np.minimum((sums[..., :2] + 1.0) / number, MOST_EXTREME)
            is_low = row <= ends[..., 0]
            is_high = row >= 1.0 - ends[..., 1]
            usual = 1.0 - ends[..., 0] - ends[..., 1]
            chance = np.where(is_low, ends[..., 0], np.where(is_high, ends[..., 1], usual))
            sums[..., 0] += is_low
            sums[..., 1] += is_high
            sums[..., 2] += 1.0
            sums[..., 3] += np.log(chance)
        return self.offsets + self._earned()


def make_processes(
    kind: type[EProcess], bet: Bet, shares: FloatArray, last: int
) -> list[EProcess]:
    """Return e-processes with shares (C, G, 2, K) that sum to 1.

    Where the bet is on normal scores, some of the wealth is on the shape of the PIT.
    """
    if isinstance(bet, TiltBet):
        return [kind(bet, np.log(shares), last)]
    coordinates = len(shares)
    share_of_each = SHAPE_SHARE / (RESOLUTIONS * coordinates)
    shape = np.full((coordinates, 1, RESOLUTIONS, 1), share_of_each)
    return [
        kind(bet, np.log(shares * (1.0 - SHAPE_SHARE)), last),
        kind(ShapeBet(), np.log(shape), last),
    ]


def sums_by_bin(codes: IntArray, statistics: FloatArray) -> FloatArray:
    """Sum statistics (n, C, width) by the bins (n, G) of rows: (C, G, BINS, width).

    Rows are added one after the other, so that batches change no bit of a sum.
    """
    groupings = codes.shape[1]
    _, coordinates, width = statistics.shape
    shape = (coordinates, groupings, BINS, width)
    first = np.arange(coordinates * groupings).reshape(coordinates, groupings) * BINS
    places = (codes[:, None] + first)[..., None] * width + np.arange(width)
    each = np.broadcast_to(statistics[:, :, None], places.shape)
    sums: AnyArray = np.bincount(places.ravel(), each.ravel(), math.prod(shape))
    return sums.reshape(shape)


def log_sum(logs: FloatArray) -> float:
    """Return log Σ exp(logs); SciPy's function is slow for few numbers."""
    most = float(logs.max())
    return most + math.log(float(np.exp(logs - most).sum()))


def log_start_share(number: int) -> float:
    """Return the logarithm of the share of a start; all shares sum to 1."""
    if number == 0:
        return math.log(FIRST_SHARE)
    return math.log((1.0 - FIRST_SHARE) / zeta(DECAY)) - DECAY * math.log(number)


def likeliest_start(processes: list[EProcess], wealth: list[FloatArray]) -> int:
    """Return the row of the start that has the most wealth, over all processes."""
    by_start: dict[int, float] = {}
    for process, log_wealth in zip(processes, wealth, strict=True):
        for start, logs in zip(process.starts, log_wealth, strict=True):
            before = by_start.get(start, -np.inf)
            by_start[start] = float(np.logaddexp(before, log_sum(logs)))
    return max(by_start, key=by_start.__getitem__)


# The evidence of a monitor: against the law, and for a change.


class Alarm(NamedTuple):
    """That wealth has reached 1/alpha, and what the most successful bet is about."""

    #: After how many rows wealth reached 1/alpha.
    rows: int
    #: The log wealth when the following was described.
    log: float
    #: The start with the most wealth, a row.
    since: int
    #: The kind of misfit, and the grouping of rows: 0 for all rows together.
    how: str
    group: int


class Change(NamedTuple):
    """That rows differ from those before: noticed after `rows`, `since` about which row."""

    rows: int
    since: int


class ChangeDetector:
    """Bets that normal scores of rows have other ranks among the rows before.

    As long as nothing changes, these ranks are uniform, whether the law is correct or not.
    They are counted among the rows from the start of the detector on.
    """

    def __init__(self, coordinates: int, last: int, run_length: float, seed: int) -> None:
        self.run_length = run_length
        self.seed = seed
        bet = NormalBet()
        shares = bet.kind_shares() / (RESOLUTIONS * coordinates)
        shape = (coordinates, 1, RESOLUTIONS, len(shares))
        shares = np.broadcast_to(shares, shape) * (1.0 - EXTREME_SHARE)
        self.by_scores = make_processes(ShiryaevRoberts, bet, shares, last)
        extreme = np.full((*shape[:3], 1), EXTREME_SHARE / (RESOLUTIONS * coordinates))
        self.extreme = ExtremeRanks(ExtremeBet(), np.log(extreme), last)
        #: How many rows there were in each cell of normal scores, (C, RANK_CELLS).
        self.counts = np.zeros((coordinates, RANK_CELLS), dtype=np.int64)

    @property
    def processes(self) -> list[EProcess]:
        """All e-processes of the detector."""
        return [*self.by_scores, self.extreme]

    def add(self, rows: KeptRows, done: int) -> Change | None:
        """Add rows up to the number `done`; return a change if there was one."""
        before = int(self.counts[0].sum())
        ranks = self._ranks(rows)
        ranked = rows._replace(z=normal_scores(ranks))
        one_bin = np.zeros((len(ranks), 1), dtype=np.int64)
        wealth = [process.add(one_bin, ranked) for process in self.by_scores]
        wealth.append(self.extreme.add_ranks(ranks, before))
        if wealth[0].size:
            log_wealth = log_sum(np.array([log_sum(each) for each in wealth]))
            if log_wealth >= math.log(self.run_length):
                return Change(done, likeliest_start(self.processes, wealth))
        for process, each in zip(self.processes, wealth, strict=True):
            process.renew(done, each)
        return None

    def _ranks(self, rows: KeptRows) -> FloatArray:
        """Return ranks among the rows before, in [0, 1], (n, C), with random ties."""
        scale = RANK_CELLS / (2.0 * RANK_REACH)
        cells = np.floor((np.arcsinh(rows.z) + RANK_REACH) * scale)
        cells = np.clip(cells, 0, RANK_CELLS - 1).astype(np.int64)
        n = len(cells)
        uniform = row_uniforms(self.seed + RANK_SEED, rows.first + np.arange(n))
        earlier = EARLIER[:n, :n]
        ranks = np.empty(cells.shape)
        for c, cell in enumerate(cells.T):
            counts = self.counts[c]
            totals = np.cumsum(counts)
            below_now = (earlier & (cell < cell[:, None])).sum(axis=1)
            equal_now = (earlier & (cell == cell[:, None])).sum(axis=1)
            below = totals[cell] - counts[cell] + below_now
            equal = counts[cell] + equal_now
            rows_with_this = totals[-1] + np.arange(n) + 1.0
            ranks[:, c] = (below + uniform * (equal + 1.0)) / rows_with_this
            np.add.at(counts, cell, 1)
        return ranks


class EvidenceHistory:
    """The log evidence after some of the steps, so that it can be drawn.

    It begins with every step. Whenever it is full, every second entry is dropped, and half
    as many steps are kept from there on, so that it does not grow.
    """

    def __init__(self) -> None:
        #: Rows that there had been, and the log evidence then; equally many of both.
        self.rows: list[int] = []
        self.logs: list[float] = []
        #: Every how many steps one is kept, and the number of steps.
        self.every = 1
        self.steps = 0

    def add(self, rows: int, log: float) -> None:
        """Add a step: the log evidence of so many rows."""
        if self.steps % self.every == 0:
            self.rows.append(rows)
            self.logs.append(log)
        self.steps += 1
        if len(self.rows) > MOST_KEPT:
            self.rows = self.rows[::2]
            self.logs = self.logs[::2]
            self.every *= 2

    def to_state(self) -> dict[str, Any]:
        return dict(vars(self))

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        self.rows = [int(rows) for rows in state["rows"]]
        self.logs = [float(log) for log in state["logs"]]
        self.every = int(state["every"])
        self.steps = int(state["steps"])


class RunningEvidence:
    """The evidence against a law, and for changes, of rows that come one after the other.

    Under a correct law, wealth reaches 1/alpha with probability at most alpha.

    Parameters
    ----------
    rows
        Rows of the stream, for the kinds of bets and the number of columns.
    columns
        Number of columns of x.
    alpha, run_length, seed
        As in `monitor`.
    """

    def __init__(
        self,
        rows: MonitoredRows,
        columns: int,
        *,
        alpha: float,
        run_length: float,
        seed: int,
    ) -> None:
        self.alpha = alpha
        self.run_length = run_length
        self.seed = seed
        bet = choose_bet(rows.kinds)
        coordinates = bet.coordinates(rows.z)
        numbers = BINS * bet.width + RESOLUTIONS * len(bet.kinds)
        room = MOST_SUMS // (MOST_STARTS * coordinates * numbers) - 1
        #: How many predictions, and columns of x, rows are grouped by: the first ones.
        self.predicted = min(rows.predicted.shape[1], max(room - columns, room // 2, 1))
        self.columns = min(columns, max(room - self.predicted, 1))
        #: The edges of the bins of each of them, or the categories that have a bin.
        self.edges: list[list[Any]] = [[] for _ in range(self.predicted + self.columns)]
        shares = self._shares(bet, coordinates)
        self.processes = make_processes(EProcess, bet, shares, last=0)
        for process in self.processes:
            process.begin(0)
        #: Rows that the evidence is of, and the number after which bins are cut again.
        self.done = 0
        self.next_bins = FIRST_BINS
        #: The log wealth, and what it was before.
        self.log = 0.0
        self.history = EvidenceHistory()
        self.alarm: Alarm | None = None
        self.changes: list[Change] = []
        self.detector = self._new_detector(rows.z.shape[1])

    def _shares(self, bet: Bet, coordinates: int) -> FloatArray:
        """Return the shares of a wealth of 1, (C, G, 2, K)."""
        counts = np.array([1, self.predicted, self.columns])
        each = np.where(counts, GROUPING_SHARES, 0.0) / np.maximum(counts, 1)
        groupings = np.repeat(each, counts)
        kinds = bet.kind_shares()
        shares = np.multiply.outer(
            groupings / groupings.sum() / (RESOLUTIONS * coordinates), kinds
        )
        return np.broadcast_to(
            shares[None, :, None], (coordinates, len(groupings), RESOLUTIONS, len(kinds))
        )

    def _new_detector(self, coordinates: int) -> ChangeDetector:
        """Look for the next change among the rows from here on."""
        return ChangeDetector(coordinates, self.done, self.run_length, self.seed)

    @property
    def next_end(self) -> int:
        """The number of rows after which the evidence is computed next."""
        return self.done + min(max(self.done // PART_OF_ROWS, 1), LONGEST_STEP)

    def add(self, kept: KeptRows, capacity: int) -> None:
        """Add rows, in steps that do not depend on batches.

        Bins are cut by the latest `capacity` rows.
        """
        while (end := self.next_end) <= kept.first + len(kept.z):
            rows = kept.part(self.done, end)
            self.done = end
            self._add_to_wealth(rows)
            self._look_for_change(rows)
            if end >= self.next_bins:
                self.next_bins *= 2
                self._cut_bins(kept.part(max(end - capacity, kept.first), end))

    def _add_to_wealth(self, rows: KeptRows) -> None:
        codes = self._codes(rows)
        wealth = [process.add(codes, rows) for process in self.processes]
        self.log = log_sum(np.array([log_sum(each) for each in wealth]))
        self.history.add(self.done, self.log)
        if self._alarm_is_due():
            self.alarm = self._describe_alarm(wealth)
        for process, each in zip(self.processes, wealth, strict=True):
            process.renew(self.done, each)

    def _alarm_is_due(self) -> bool:
        """Return whether this is the first alarm, or one that can be described better."""
        if self.alarm is None:
            return -math.log(self.alpha) <= self.log
        return self.alarm.log + 1.0 <= min(self.log, CLEAR_ALARM)

    def _describe_alarm(self, wealth: list[FloatArray]) -> Alarm:
        best = max(range(len(wealth)), key=lambda i: float(wealth[i].max()))
        place = np.unravel_index(int(wealth[best].argmax()), wealth[best].shape)
        _start, _coordinate, grouping, _resolution, kind = place
        return Alarm(
            rows=self.done if self.alarm is None else self.alarm.rows,
            log=self.log,
            since=likeliest_start(self.processes, wealth),
            how=self.processes[best].bet.kinds[int(kind)],
            group=int(grouping),
        )

    def _look_for_change(self, rows: KeptRows) -> None:
        change = self.detector.add(rows, self.done)
        if change is not None:
            self.changes = [*self.changes, change][-MOST_CHANGES:]
            self.detector = self._new_detector(rows.z.shape[1])

    def _codes(self, rows: KeptRows) -> IntArray:
        """Return the bins of rows, (n, G); in the first grouping all have bin 0."""
        codes = np.zeros((len(rows.z), 1 + len(self.edges)), dtype=np.int64)
        groupings = zip(rows.columns, self.edges, strict=True)
        for g, (values, edges) in enumerate(groupings, start=1):
            if values.dtype == object:
                bins = {category: i for i, category in enumerate(edges)}
                others = min(len(edges), BINS - 1)
                codes[:, g] = [bins.get(category, others) for category in values]
            else:
                inner = np.array(edges, dtype=float)
                codes[:, g] = np.searchsorted(inner, values, side="right")
        return codes

    def _cut_bins(self, rows: KeptRows) -> None:
        """Cut columns into bins by these rows, and go on with the bins that are new."""
        before = self.edges
        self.edges = [bin_edges(values) for values in rows.columns]
        pairs = enumerate(zip(before, self.edges, strict=True), start=1)
        changed = np.array([g for g, (old, new) in pairs if old != new], dtype=int)
        codes = self._codes(rows)
        for process in self.processes:
            process.rebin(codes, rows, changed)

    def to_state(self) -> dict[str, Any]:
        """Return all that changes over time as numbers, texts, lists and dictionaries."""
        processes = (*self.processes, *self.detector.processes)
        return {
            "done": self.done,
            "next_bins": self.next_bins,
            "log": self.log,
            "history": self.history.to_state(),
            "alarm": None if self.alarm is None else self.alarm._asdict(),
            "changes": [change._asdict() for change in self.changes],
            "edges": [list(edges) for edges in self.edges],
            "bets": [process.to_state() for process in processes],
            "counts": self.detector.counts.tolist(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state."""
        self.done = state["done"]
        self.next_bins = state["next_bins"]
        self.log = state["log"]
        # States of version 0.2 have none: the history begins where they go on.
        if "history" in state:
            self.history.restore(state["history"])
        self.alarm = None if state["alarm"] is None else Alarm(**state["alarm"])
        self.changes = [Change(**change) for change in state["changes"]]
        self.edges = [list(edges) for edges in state["edges"]]
        processes = (*self.processes, *self.detector.processes)
        for process, process_state in zip(processes, state["bets"], strict=True):
            process.restore(process_state)
        counts = np.array(state["counts"], dtype=np.int64)
        self.detector.counts = counts.reshape(self.detector.counts.shape)


def bin_edges(values: AnyArray) -> list[Any]:
    """Return the inner edges of bins of numbers, or the categories that have a bin.

    Numbers are cut at quantiles, or at each value if there are few of them. Of text the
    most frequent categories have a bin each, and all others share the last.
    """
    if values.dtype == object:
        common = Counter(values.tolist()).most_common(BINS + 1)
        categories = [category for category, _ in common]
        return categories if len(categories) <= BINS else categories[: BINS - 1]
    distinct = np.unique(values)
    if len(distinct) > BINS:
        inner = np.quantile(values, np.arange(1, BINS) / BINS, method="higher")
        # The smallest value, which many rows may share, has a bin of its own.
        distinct = np.concatenate([distinct[:1], np.unique(np.maximum(inner, distinct[1]))])
    return [float(value) for value in distinct[1:]]
