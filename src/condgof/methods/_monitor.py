"""Bets against a law, row after row, which win if the law is wrong and cannot be won if it is right.

An e-value of a row is q(y)/p(y), with q chosen before the row is seen: under p its mean is
1. Averages of products of them are wealth that begins at 1 and ever reaches 1/α with
probability at most α (Ville). Here q is predicted from the past of the same bin of a
column: of normal scores N(m̂, v̂), shrunk by conjugate priors; of cells of probability the
law's own, tilted. Sums over the rows of a bin are all that has to be kept.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import gammaln, ndtri, zeta

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import UnsupportedModelError
from condgof.laws._discrete import PLAIN, Discrete, Probabilities, normalised
from condgof.laws._draws import VectorDraws, row_uniforms
from condgof.laws._families import Normal
from condgof.laws._known import Intervals
from condgof.laws._law import Law
from condgof.methods._scored import (
    choose_coordinates,
    coordinates_of,
    prediction_name,
    predictions,
)
from condgof.sample import Sample

#: Bins of a column, bet on together and in halves; rows between two starts, and most
#: starts.
BINS, HALVES, APART, MOST_STARTS = 8, 2, 64, 12
#: Rows that the prior counts for: of a mean of 0, of a variance of 1, of shares of cells.
MEAN_ROWS, SPREAD_ROWS, SHAPE_ROWS = 8.0, 16.0, 24.0
#: How much of the wealth is put on row 0; and how slowly the rest is put on later starts.
FIRST, DECAY = 0.6, 1.25
#: Cells of the PIT: their upper ends but the last.
PIT_ENDS = np.array([0.001, 0.01, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95, 0.99, 0.999])
PIT_SHARES, PIT_SCORES = np.diff(PIT_ENDS, prepend=0.0, append=1.0), ndtri(PIT_ENDS)
#: Tilts of each direction of a discrete y: of log-odds, of powers of p, of shares of a
#: uniform law.
ODDS = np.array([-1.0, -0.3, 0.3, 1.0])
POWERS = np.array([-0.6, -0.25, 0.25, 0.6])
UNIFORM = np.array([0.005, 0.02, 0.1, 0.4])
#: So many classes are looked at by themselves; a probability below this counts as this.
MOST_CLASSES, LEAST = 4, 1e-300


class NormalBet:
    """That normal scores have another mean, another variance, or both (with conjugate priors).

    As all bets it has `kinds` of misfit; `rows`, what is summed up, (n, C, width), from
    normal scores (n, C) or tilts (n, L); and `log_wealth`, what rows with such sums (…,
    width) have made, (…, kinds).
    """

    kinds: tuple[str, ...] = ("shift", "spread", "shift and spread")
    width = 3

    def rows(self, z: FloatArray, tilts: FloatArray) -> FloatArray:
        rows = np.ones((*z.shape, 3))  # and not np.stack, which is slow for a row
        rows[..., 1], rows[..., 2] = z, np.square(z)
        return rows

    def log_wealth(self, sums: FloatArray) -> FloatArray:
        n, total, square = sums[..., 0], sums[..., 1], sums[..., 2]
        half, rows = 0.5 * SPREAD_ROWS, 0.5 * (SPREAD_ROWS + n)
        explained, known = (
            np.square(total) / (n + MEAN_ROWS),
            -0.5 * np.log1p(n / MEAN_ROWS),
        )
        start = gammaln(rows) - gammaln(half) + half * math.log(half) + 0.5 * square
        wealth = np.empty(sums.shape)
        wealth[..., 0] = 0.5 * explained + known
        wealth[..., 1] = start - rows * np.log(half + 0.5 * square)
        wealth[..., 2] = start - rows * np.log(half + 0.5 * (square - explained)) + known
        return wealth


class ShapeBet:
    """That PITs have other shares in cells (with a Dirichlet prior): skew, tails, several modes."""

    kinds: tuple[str, ...] = ("shape",)
    width = len(PIT_ENDS) + 1

    def rows(self, z: FloatArray, tilts: FloatArray) -> FloatArray:
        return np.asarray(np.eye(self.width)[np.searchsorted(PIT_SCORES, z)])

    def log_wealth(self, sums: FloatArray) -> FloatArray:
        n, prior = sums.sum(axis=-1), SHAPE_ROWS * PIT_SHARES
        cells = gammaln(prior + sums) - gammaln(prior) - sums * np.log(PIT_SHARES)
        value = cells.sum(axis=-1) + gammaln(SHAPE_ROWS) - gammaln(SHAPE_ROWS + n)
        return np.asarray(value[..., None])


class TiltBet:
    """That cells of a discrete y have the law's probabilities tilted, on average over some tilts."""

    def __init__(self, kinds: tuple[str, ...]) -> None:
        self.kinds, self.width = kinds, len(kinds) * len(ODDS)

    def rows(self, z: FloatArray, tilts: FloatArray) -> FloatArray:
        return tilts[:, None]

    def log_wealth(self, sums: FloatArray) -> FloatArray:
        tilts = sums.reshape(*sums.shape[:-1], len(self.kinds), len(ODDS))
        most = tilts.max(axis=-1, keepdims=True)
        return np.asarray(np.log(np.exp(tilts - most).mean(axis=-1)) + most[..., 0])


Bet: TypeAlias = NormalBet | ShapeBet | TiltBet


def ordered_tilts(p: FloatArray, observed: IntArray) -> dict[str, FloatArray]:
    """Return log q(y)/p(y) of tilts of cells in an order, by kind, (n, 4) each; p is (n, K)."""
    upper = np.cumsum(p, axis=1)
    middle = np.clip(2.0 * upper - p - 1.0, -1.0, 1.0)  # of each cell's PITs, from −1 to 1
    each, lowest = np.arange(len(p)), np.argmax(p > 0, axis=1)
    found = {}
    for kind, psi in (("shift", middle), ("spread", 1.5 * np.square(middle) - 0.5)):
        weighed = np.stack(
            [(p * np.exp(1.7 * odds * psi)).sum(axis=1) for odds in ODDS], axis=1
        )
        found[kind] = 1.7 * ODDS * psi[each, observed][:, None] - np.log(weighed)
    found["lowest values"] = _indicator(p[each, lowest], observed == lowest)
    found["surprise"] = _surprise(p, observed)
    return found


def class_tilts(
    p: FloatArray, observed: IntArray, names: Sequence[str]
) -> dict[str, FloatArray]:
    """Return the same of classes without an order; of very many, every fourth makes one of four sets."""
    step = min(p.shape[1], MOST_CLASSES)
    found = {}
    for k in range(1 if step == 2 else 0, step):
        held = p[:, k::step].sum(axis=1)
        found[f"class {names[k]}" + " …" * (p.shape[1] > step)] = _indicator(
            held, observed % step == k
        )
    said = np.log(np.maximum(p[np.arange(len(p)), observed], LEAST))
    powers = np.stack([np.power(p, 1.0 + power).sum(axis=1) for power in POWERS], axis=1)
    found["confidence"] = POWERS * said[:, None] - np.log(powers)
    found["surprise"] = _surprise(p, observed)
    return found


def _indicator(p: FloatArray, happened: object) -> FloatArray:
    """Tilt the odds of something of probability p that happened or not, (n,)."""
    scaled = 1.0 + p[:, None] * np.expm1(ODDS)
    return np.asarray(ODDS * np.asarray(happened)[:, None] - np.log(scaled))


def _surprise(p: FloatArray, observed: IntArray) -> FloatArray:
    """Mix with a uniform law of the cells: what has probability 0 and happens refutes at once."""
    said = np.maximum(p[np.arange(len(p)), observed], LEAST)
    return np.asarray(np.log1p(UNIFORM * (1.0 / (p.shape[1] * said[:, None]) - 1.0)))


def cell_scores(p: FloatArray, observed: IntArray, uniform: FloatArray) -> FloatArray:
    """Return normal scores of randomised PITs, (n, 2): of cells in their order, and by probability."""
    own = p[np.arange(len(p)), observed]
    below = np.where(np.arange(p.shape[1]) < observed[:, None], p, 0.0).sum(axis=1)
    less, equal = ((p * kind).sum(axis=1) for kind in (p < own[:, None], p == own[:, None]))
    return normal_scores(np.stack([below + uniform * own, less + uniform * equal], axis=1))


def normal_scores(u: FloatArray) -> FloatArray:
    """Return Φ⁻¹(u), finite also where u is rounded to 0 or 1."""
    return np.asarray(ndtri(np.clip(u, 1e-300, 1.0 - 2.0**-53)))


class Bets:
    """Wealth of bets on all bins of all groupings, begun at several rows.

    What starts at row s sees rows from s on: who begins late finds out sooner that a law
    has gone wrong. Starts are `APART`, and older ones are joined, so that their ages about
    double. `sums` since each start are (S, C, G, BINS, width); `offsets`, what the wealth
    is beyond what these have made, are (S, C, G, 2, K), as are the logarithms of shares of
    coordinates of y, groupings, all bins or halves, and kinds in `weights`, but for S. A
    start gets what is `lasting`; if `renewed`, each row adds 1, for a change at whatever
    row (Shiryaev–Roberts).
    """

    def __init__(self, bet: Bet, weights: FloatArray, renewed: bool, last: int) -> None:
        self.bet, self.weights, self.renewed = bet, weights, renewed
        self.begun, self.last = 0, last
        self.starts: list[int] = []
        self.sums = np.zeros((0, *weights.shape[:2], BINS, bet.width))
        self.offsets = np.zeros((0, *weights.shape))

    def begin(self, row: int) -> None:
        self.starts.append(row)
        self.last = row
        self.sums = np.concatenate([self.sums, np.zeros((1, *self.sums.shape[1:]))])
        gets = math.log(APART) if self.renewed else lasting(self.begun)
        self.offsets = np.concatenate([self.offsets, (self.weights + gets)[None]])
        self.begun += 1

    def add(self, codes: IntArray, rows: KeptRows) -> FloatArray:
        """Add rows and their bins (n, G), and return the logarithm of the wealth, (S, C, G, 2, K)."""
        self.sums += binned(
            codes[:, : self.weights.shape[1]], self.bet.rows(rows.z, rows.tilts)
        )
        return self.offsets + self._earned()

    def _earned(self) -> FloatArray:
        """Return the logarithm of what the rows since each start have made."""
        shape = (*self.sums.shape[:3], HALVES, BINS // HALVES, self.bet.width)
        each = self.bet.log_wealth(
            np.concatenate([self.sums, self.sums.reshape(shape).sum(axis=4)], 3)
        )
        earned = np.empty(self.offsets.shape)
        earned[:, :, :, 0], earned[:, :, :, 1] = (
            each[:, :, :, :BINS].sum(3),
            each[:, :, :, BINS:].sum(3),
        )
        return earned

    def rebin(self, codes: IntArray, rows: KeptRows, anew: IntArray) -> None:
        """Go on with other bins of some groupings, by the rows that are kept; wealth stays."""
        anew = anew[anew < self.weights.shape[1]]
        wealth, summed = self.offsets + self._earned(), self.bet.rows(rows.z, rows.tilts)
        for i, start in enumerate(self.starts):
            since = max(start - rows.first, 0)
            self.sums[i][:, anew] = binned(codes[since:, anew], summed[since:])
        self.offsets = wealth - self._earned()

    def renew(self, row: int, wealth: FloatArray) -> None:
        """Start once more if the last start is long ago, and join two older starts if there are many."""
        if row - self.last < APART:
            return
        self.begin(row)
        if len(self.starts) > MOST_STARTS:
            # Of all but the first and last, the two whose ages are most alike; the richer
            # one goes on.
            ages = np.log(row + APART - np.array(self.starts[1:-1]))
            i = 1 + int(np.argmax(ages[1:] - ages[:-1]))
            stays, goes = sorted((i, i + 1), key=lambda k: -log_sum(wealth[k]))
            self.offsets[stays] += np.logaddexp(wealth[stays], wealth[goes]) - wealth[stays]
            left = [k for k in range(len(self.starts)) if k != goes]
            self.starts = [self.starts[k] for k in left]
            self.sums, self.offsets = self.sums[left], self.offsets[left]

    def plain(self) -> dict[str, Any]:
        told = {name: getattr(self, name).ravel().tolist() for name in ("sums", "offsets")}
        return {"begun": self.begun, "last": self.last, "starts": list(self.starts), **told}

    def restore(self, told: Mapping[str, Any]) -> None:
        self.begun, self.last, self.starts = (
            told["begun"],
            told["last"],
            list(told["starts"]),
        )
        for name in ("sums", "offsets"):
            shape = (len(self.starts), *getattr(self, name).shape[1:])
            setattr(self, name, np.array(told[name], dtype=np.float64).reshape(shape))


def binned(codes: IntArray, rows: FloatArray) -> FloatArray:
    """Sum up rows (n, C, L) by their bins (n, G), in the order of the rows: (C, G, BINS, L)."""
    groupings, (_, coordinates, width) = codes.shape[1], rows.shape
    shape = (coordinates, groupings, BINS, width)
    first = np.arange(coordinates * groupings).reshape(coordinates, groupings) * BINS
    places = (codes[:, None] + first)[..., None] * width + np.arange(width)
    each = np.broadcast_to(rows[:, :, None], places.shape)
    sums: AnyArray = np.bincount(places.ravel(), each.ravel(), math.prod(shape))
    return sums.reshape(shape)


def log_sum(logs: FloatArray) -> float:
    """Return the logarithm of the sum of wealth; SciPy's is slow for few numbers."""
    most = float(logs.max())
    return most + math.log(float(np.exp(logs - most).sum()))


def lasting(number: int) -> float:
    """Return the logarithm of what a start gets of a wealth of 1 that is for all times."""
    if number == 0:
        return math.log(FIRST)
    return math.log((1.0 - FIRST) / zeta(DECAY)) - DECAY * math.log(number)


#: Evidence is added up after this part of the rows that were seen, and after at most so
#: many rows.
PART, LONGEST = 16, 32
EARLIER = np.tri(LONGEST, k=-1, dtype=bool)
#: Rows after which columns are first cut into bins, then after twice as many; numbers that
#: sums take.
FIRST_BINS, NUMBERS = 16, 20_000
#: Cells of normal scores (of their arsinh, from −REACH to REACH) in which ranks are
#: counted.
CELLS, REACH = 1_000, 4.4
#: Shares of the wealth: all rows, predictions, columns of x; shift, spread, and both;
#: shape.
SHARES, KIND_SHARES, SHAPE = (0.5, 0.2, 0.3), (0.5, 0.3, 0.2), 0.06
#: Random numbers of ranks and of PITs are not those of the law's own draws.
RANK_SEED, PIT_SEED = 2**40, 2**41
#: Normal scores are clipped to this; the log of the evidence up to which alarms are looked
#: into anew.
FARTHEST, SURE = 1e6, 50.0
#: Rows of a discrete y whose cells are looked at together; how many changes are remembered.
PIECE, MOST_CHANGES = 4096, 100
#: Shapes of a number of one row, and what the predictions of a normal model of one y are
#: called.
ONE = ((), (1,), (1, 1))
NORMAL_NAMES = prediction_name(0, 2, 1), prediction_name(1, 2, 1)
#: What of the evidence is told as it is.
TOLD = ("done", "next_bins", "log", "alarm", "changes", "edges")


class Seen(NamedTuple):
    """What bets need of some rows."""

    #: What tilts are of, where y is discrete, else (); names of the predictions.
    kinds: tuple[str, ...]
    names: tuple[str, ...]
    #: Normal scores, (n, C), of a discrete y those of randomised PITs; of one, logarithms
    #: of q(y)/p(y), (n, L), else (n, 0); what the model predicts, (n, P).
    z: FloatArray
    tilts: FloatArray
    predicted: FloatArray


def look_at(law: Law, sample: Sample, rows: IntArray, seed: int) -> Seen:
    """Look at rows that have these numbers, with their law."""
    shown = predictions(law)
    shown = np.empty((sample.n, 0)) if shown is None else shown
    names = tuple(
        prediction_name(i, shown.shape[1], sample.d_y) for i in range(shown.shape[1])
    )
    if isinstance(law, Discrete) and not isinstance(law, VectorDraws):
        return _look_at_cells(
            law, sample, row_uniforms(seed + PIT_SEED, rows), shown, names
        )
    if isinstance(law, VectorDraws):
        z = law.scores_by_column(sample.y_given)
    else:
        by = choose_coordinates(law, sample.d_y, "auto")
        if by not in ("cdf", "marginals"):
            raise UnsupportedModelError(
                f"{law.name} cannot be monitored: that takes a CDF, draws, probabilities,"
                " quantiles or intervals, and scores or an unnormalised density tell none"
                " of them."
            )
        z = coordinates_of(law, sample, by).y
    z = np.minimum(np.maximum(z, -FARTHEST), FARTHEST)
    return Seen((), names, z, np.empty((sample.n, 0)), shown)


def glance(model: object, sample: Sample) -> Seen | None:
    """Look at one row of one y by a normal model the short way; None where that takes the long one."""
    if type(model) is not Normal or model.std is None:
        return None
    told = []
    for parameter in (model.mean, model.std):
        value = parameter.value
        try:
            value = value(sample.x_given.copy()) if callable(value) else value
        except Exception:  # which the long way tells
            return None
        if not (
            type(value) is np.ndarray and value.dtype == np.float64 and value.shape in ONE
        ):
            return None
        told.append(value.item())
    mean, std = told
    z = (sample.y.item() - mean) / std if std > 0 else math.nan
    if not (abs(z) <= FARTHEST and std < math.inf):  # something to refuse, or to round
        return None
    return Seen((), NORMAL_NAMES, np.array([[z]]), np.empty((1, 0)), np.array([told]))


def _look_at_cells(
    law: Discrete,
    sample: Sample,
    uniform: FloatArray,
    shown: FloatArray,
    names: tuple[str, ...],
) -> Seen:
    """Look at rows of a discrete y, some at a time: their cells may be many."""
    labels = isinstance(law, Probabilities) and not (
        law.ordered and law.values.shape[1] > 2
    )
    kinds, scores, tilts = tuple[str, ...](), [], []
    for start in range(0, sample.n, PIECE):
        some = np.arange(start, min(start + PIECE, sample.n))
        part: Any = law.take(some)
        outcomes = part.residuals(sample.y_given[some], PLAIN).outcomes
        if outcomes is None:
            raise UnsupportedModelError(
                f"{law.name} cannot be monitored: it has no probabilities."
            )
        p, observed = normalised(outcomes.probabilities), np.asarray(outcomes.observed)
        found = (
            class_tilts(p, observed, law.class_names or ())
            if labels
            else ordered_tilts(p, observed)
        )
        kinds = tuple(
            "coverage" if k == "shift" and isinstance(law, Intervals) else k for k in found
        )
        tilts.append(np.concatenate(list(found.values()), axis=1))
        scores.append(cell_scores(p, observed, uniform[some]))
    if isinstance(law, Probabilities) and law.values.shape[1] > 2:
        values = np.asarray(law.values, dtype=np.float64)
        shown = np.column_stack([values.argmax(axis=1), values.max(axis=1)])
        names = ("predicted class", "confidence")
    return Seen(kinds, names, np.concatenate(scores), np.concatenate(tilts), shown)


class KeptRows(NamedTuple):
    """Consecutive rows, from the `first` on: those that are kept, and new ones after them."""

    first: int
    z: FloatArray
    tilts: FloatArray
    columns: list[
        AnyArray
    ]  #: What rows are grouped by, (n,) each: numbers, or text as objects.

    def part(self, start: int, stop: int) -> KeptRows:
        own = slice(start - self.first, stop - self.first)
        return KeptRows(
            start, self.z[own], self.tilts[own], [column[own] for column in self.columns]
        )


class RunningEvidence:
    """The evidence against a law, and that rows have changed, of rows like those `seen`; `add` more."""

    def __init__(
        self, seen: Seen, columns: int, alpha: float, run_length: float, seed: int
    ) -> None:
        self.alpha, self.run_length, self.seed = alpha, run_length, seed
        kinds, coordinates, predicted = seen.kinds, seen.z.shape[1], seen.predicted.shape[1]
        own = 1 if kinds else coordinates
        bet: Bet = TiltBet(kinds) if kinds else NormalBet()
        room = NUMBERS // (MOST_STARTS * own * (BINS * bet.width + 2 * len(bet.kinds))) - 1
        #: How many predictions and columns of x rows are grouped by: the first ones.
        self.predicted = min(predicted, max(room - columns, room // 2, 1))
        self.columns = min(columns, max(room - self.predicted, 1))
        self.edges: list[list[Any]] = [[] for _ in range(self.predicted + self.columns)]
        counts = np.array([1, self.predicted, self.columns])
        shares = np.repeat(np.where(counts, SHARES, 0.0) / np.maximum(counts, 1), counts)
        of_kinds = np.full(len(kinds), 1.0 / len(kinds)) if kinds else np.array(KIND_SHARES)
        weights = np.multiply.outer(shares / shares.sum() / (2 * own), of_kinds)
        weights = np.broadcast_to(
            weights[None, :, None], (own, len(shares), 2, len(of_kinds))
        )
        self.bets = _bets(bet, weights, False, 0)
        for bets in self.bets:
            bets.begin(0)
        self.done, self.next_bins, self.log = 0, FIRST_BINS, 0.0
        self.alarm: dict[str, Any] | None = None
        self.changes: list[dict[str, int]] = []
        self._expect(coordinates)

    def _expect(self, coordinates: int) -> None:
        """Look for the next change: ranks are among the rows from here on, so that none was chosen."""
        shape = (coordinates, 1, 2, len(KIND_SHARES))
        weights = np.broadcast_to(np.array(KIND_SHARES) / (2 * coordinates), shape)
        self.change = _bets(NormalBet(), weights, True, self.done)
        self.counts = np.zeros((coordinates, CELLS), dtype=np.int64)

    @property
    def next_end(self) -> int:
        """After how many rows evidence is added up next."""
        return self.done + min(max(self.done // PART, 1), LONGEST)

    def add(self, held: KeptRows, capacity: int) -> None:
        """Add rows, in steps that no batches decide; bins are cut by the latest `capacity` rows."""
        while (end := self.next_end) <= held.first + len(held.z):
            rows = held.part(self.done, end)
            self.done = end
            self._weigh(rows)
            self._compare(rows)
            if end >= self.next_bins:
                self.next_bins *= 2
                self._cut(held.part(max(end - capacity, held.first), end))

    def _weigh(self, rows: KeptRows) -> None:
        codes = self._codes(rows)
        wealth = [bets.add(codes, rows) for bets in self.bets]
        self.log = log_sum(np.array([log_sum(each) for each in wealth]))
        least = -math.log(self.alpha) if self.alarm is None else self.alarm["log"] + 1.0
        if least <= self.log and (
            self.alarm is None or least <= SURE
        ):  # what it is about gets clearer
            best = max(range(len(wealth)), key=lambda i: float(wealth[i].max()))
            place = np.unravel_index(int(wealth[best].argmax()), wealth[best].shape)
            self.alarm = {
                "rows": self.done if self.alarm is None else self.alarm["rows"],
                "log": self.log,
                "since": _likeliest(self.bets, wealth),
                "how": self.bets[best].bet.kinds[int(place[4])],
                "group": int(place[2]),
            }
        for bets, each in zip(self.bets, wealth, strict=True):
            bets.renew(self.done, each)

    def _compare(self, rows: KeptRows) -> None:
        """Look for a change: ranks among all rows before are uniform as long as there was none."""
        cells = np.floor((np.arcsinh(rows.z) + REACH) * (CELLS / (2.0 * REACH)))
        cells = np.clip(cells, 0, CELLS - 1).astype(np.int64)
        uniform = row_uniforms(self.seed + RANK_SEED, rows.first + np.arange(len(rows.z)))
        ranks, earlier = np.empty(cells.shape), EARLIER[: len(cells), : len(cells)]
        for c, own in enumerate(cells.T):
            sums = np.cumsum(self.counts[c])
            below = (
                sums[own]
                - self.counts[c][own]
                + (earlier & (own < own[:, None])).sum(axis=1)
            )
            equal = self.counts[c][own] + (earlier & (own == own[:, None])).sum(axis=1)
            ranks[:, c] = (below + uniform * (equal + 1.0)) / (
                sums[-1] + np.arange(len(own)) + 1.0
            )
            np.add.at(self.counts[c], own, 1)
        ranked, one = (
            rows._replace(z=normal_scores(ranks)),
            np.zeros((len(ranks), 1), dtype=np.int64),
        )
        wealth = [bets.add(one, ranked) for bets in self.change]
        if wealth[0].size and log_sum(np.array([*map(log_sum, wealth)])) >= math.log(
            self.run_length
        ):
            found = {"rows": self.done, "since": _likeliest(self.change, wealth)}
            self.changes = [*self.changes, found][-MOST_CHANGES:]
            self._expect(cells.shape[1])
        else:
            for bets, each in zip(self.change, wealth, strict=True):
                bets.renew(self.done, each)

    def _codes(self, rows: KeptRows) -> IntArray:
        """Return the bin of each row in each grouping; the first has all rows in one."""
        found = np.zeros((len(rows.z), 1 + len(self.edges)), dtype=np.int64)
        for g, (values, edges) in enumerate(
            zip(rows.columns, self.edges, strict=True), start=1
        ):
            if values.dtype == object:
                places, others = (
                    {level: i for i, level in enumerate(edges)},
                    min(len(edges), BINS - 1),
                )
                found[:, g] = [places.get(level, others) for level in values]
            else:
                found[:, g] = np.searchsorted(
                    np.array(edges, dtype=float), values, side="right"
                )
        return found

    def _cut(self, rows: KeptRows) -> None:
        old, self.edges = self.edges, [_edges(values) for values in rows.columns]
        pairs = zip(old, self.edges, strict=True)
        anew = np.array(
            [g for g, (was, now) in enumerate(pairs, start=1) if was != now], dtype=int
        )
        codes = self._codes(rows)
        for bets in self.bets:
            bets.rebin(codes, rows, anew)

    def plain(self) -> dict[str, Any]:
        bets = [bets.plain() for bets in (*self.bets, *self.change)]
        told = {name: deepcopy(getattr(self, name)) for name in TOLD}
        return {**told, "bets": bets, "counts": self.counts.tolist()}

    def restore(self, told: Mapping[str, Any]) -> None:
        for name in TOLD:
            setattr(self, name, deepcopy(told[name]))
        for bets, each in zip((*self.bets, *self.change), told["bets"], strict=True):
            bets.restore(each)
        self.counts = np.array(told["counts"], dtype=np.int64).reshape(self.counts.shape)


def _bets(bet: Bet, weights: FloatArray, renewed: bool, last: int) -> list[Bets]:
    """Return bets with shares of 1, (C, G, 2, K); of normal scores some of it is on their shape."""
    if isinstance(bet, TiltBet):
        return [Bets(bet, np.log(weights), renewed, last)]
    shape = np.full((len(weights), 1, 2, 1), SHAPE / (2 * len(weights)))
    normal = Bets(bet, np.log(weights * (1.0 - SHAPE)), renewed, last)
    return [normal, Bets(ShapeBet(), np.log(shape), renewed, last)]


def _likeliest(several: list[Bets], wealth: list[FloatArray]) -> int:
    won: dict[int, float] = {}
    for bets, each in zip(several, wealth, strict=True):
        for start, logs in zip(bets.starts, each, strict=True):
            won[start] = float(np.logaddexp(won.get(start, -np.inf), log_sum(logs)))
    return max(won, key=won.__getitem__)


def _edges(values: AnyArray) -> list[Any]:
    """Cut numbers at quantiles, or at each value if there are few; of levels take the most frequent."""
    if values.dtype == object:
        named = [level for level, _ in Counter(values.tolist()).most_common(BINS + 1)]
        return named if len(named) <= BINS else named[: BINS - 1]
    distinct = np.unique(values)
    if len(distinct) > BINS:
        inner = np.quantile(values, np.arange(1, BINS) / BINS, method="higher")
        # What many rows share is kept apart from the rest, however many they are.
        distinct = np.concatenate([distinct[:1], np.unique(np.maximum(inner, distinct[1]))])
    return [float(value) for value in distinct[1:]]
