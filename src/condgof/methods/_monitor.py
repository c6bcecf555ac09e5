"""Evidence against a law, row after row; and whether rows have changed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import UnsupportedModelError
from condgof.laws import Discrete, Intervals, Law, Probabilities, VectorDraws, normalised
from condgof.laws._discrete import PLAIN
from condgof.laws._draws import row_uniforms
from condgof.methods._bets import (
    BINS,
    MOST_STARTS,
    Bet,
    Bets,
    NormalBet,
    ShapeBet,
    TiltBet,
    cell_scores,
    class_tilts,
    lasting,
    log_sum,
    normal_scores,
    ordered_tilts,
    renewed,
)
from condgof.methods._rows import prediction_name, predictions
from condgof.sample import Sample
from condgof.stein import choose_coordinates, coordinates_of

#: Evidence is added up after this part of the rows that were seen, and after at most so many rows.
PART, LONGEST = 16, 32
#: Rows after which columns are cut into bins for the first time; then always after twice as many.
FIRST_BINS = 16
#: Numbers that sums may take.
NUMBERS = 20_000
#: Cells of normal scores (of their arsinh, from −REACH to REACH) in which ranks are counted.
CELLS, REACH = 1_000, 4.4
#: Shares of the wealth: all rows, predictions, columns of x; shift, spread, and both; shape.
SHARES, KIND_SHARES, SHAPE = (0.5, 0.2, 0.3), (0.5, 0.3, 0.2), 0.06
#: Random numbers of ranks and of PITs are not those of the law's own draws.
RANK_SEED, PIT_SEED = 2**40, 2**41
#: Normal scores are kept within this, far beyond what ever happens, so that squares stay finite.
FARTHEST = 1e6
#: Rows of a discrete y whose cells are looked at together.
PIECE = 4096
#: Logarithm of the evidence up to which it is asked anew what an alarm is about.
SURE = 50.0
#: So many changes are remembered.
MOST_CHANGES = 100
#: What of the evidence is told as it is.
TOLD = ("done", "next_bins", "log", "alarm", "changes", "edges")


@dataclass(frozen=True, eq=False)
class Seen:
    """What bets need of some rows."""

    #: What tilts are of, where y is discrete; else ().
    kinds: tuple[str, ...]
    #: What predictions are called.
    names: tuple[str, ...]
    #: Normal scores, (n, C): of a discrete y those of randomised PITs.
    z: FloatArray
    #: Of a discrete y, logarithms of q(y)/p(y), (n, L); else (n, 0).
    tilts: FloatArray
    #: What the model predicts, (n, P).
    predicted: FloatArray


def look_at(law: Law, sample: Sample, rows: IntArray, seed: int) -> Seen:
    """Look at rows that have these numbers, with their law."""
    shown = predictions(law)
    shown = np.empty((sample.n, 0)) if shown is None else shown
    names = tuple(prediction_name(i, shown.shape[1], sample.d_y) for i in range(shown.shape[1]))
    if isinstance(law, Discrete) and not isinstance(law, VectorDraws):
        return _look_at_cells(law, sample, row_uniforms(seed + PIT_SEED, rows), shown, names)
    if isinstance(law, VectorDraws):
        z = law.scores_by_column(sample.y_given)
    else:
        by = choose_coordinates(law, sample.d_y, "auto")
        if by not in ("cdf", "marginals"):
            raise UnsupportedModelError(
                f"{law.name} cannot be monitored: that takes a CDF, draws, probabilities, quantiles or "
                "intervals, and scores or an unnormalised density tell none of them."
            )
        z = coordinates_of(law, sample, by).u
    return Seen((), names, np.clip(z, -FARTHEST, FARTHEST), np.empty((sample.n, 0)), shown)


def _look_at_cells(
    law: Discrete, sample: Sample, uniform: FloatArray, shown: FloatArray, names: tuple[str, ...]
) -> Seen:
    """Look at rows of a discrete y, some at a time: their cells may be many."""
    labels = isinstance(law, Probabilities) and not (law.ordered and law.values.shape[1] > 2)
    kinds: tuple[str, ...] = ()
    scores, tilts = [], []
    for start in range(0, sample.n, PIECE):
        some = np.arange(start, min(start + PIECE, sample.n))
        part = law.take(some)
        assert isinstance(part, Discrete)
        outcomes = part.residuals(sample.y_given[some], PLAIN).outcomes
        if outcomes is None:
            raise UnsupportedModelError(f"{law.name} cannot be monitored: it has no probabilities.")
        p, observed = normalised(outcomes.probabilities), np.asarray(outcomes.observed)
        found = class_tilts(p, observed, law.class_names or ()) if labels else ordered_tilts(p, observed)
        kinds = tuple("coverage" if k == "shift" and isinstance(law, Intervals) else k for k in found)
        tilts.append(np.concatenate(list(found.values()), axis=1))
        scores.append(cell_scores(p, observed, uniform[some]))
    if isinstance(law, Probabilities) and law.values.shape[1] > 2:
        values = np.asarray(law.values, dtype=np.float64)
        shown = np.column_stack([values.argmax(axis=1), values.max(axis=1)])
        names = ("predicted class", "confidence")
    return Seen(kinds, names, np.concatenate(scores), np.concatenate(tilts), shown)


class History(NamedTuple):
    """Consecutive rows: those that are kept, and new ones after them."""

    #: The number of the first row.
    first: int
    z: FloatArray
    tilts: FloatArray
    #: What rows are grouped by, (n,) each: numbers, or text as objects.
    columns: list[AnyArray]

    @property
    def stop(self) -> int:
        """The number of the row after the last."""
        return self.first + len(self.z)

    def part(self, start: int, stop: int) -> History:
        """Return the rows with these numbers."""
        own = slice(start - self.first, stop - self.first)
        return History(start, self.z[own], self.tilts[own], [column[own] for column in self.columns])


class Evidence:
    """The evidence against a law, and that rows have changed; it grows with `add`.

    `kinds` are what tilts are of, where y is discrete, else (). Each row has `coordinates` normal
    scores, and so many numbers `predicted` and `columns` of x; the first of them are looked at.
    """

    def __init__(
        self,
        kinds: tuple[str, ...],
        coordinates: int,
        predicted: int,
        columns: int,
        alpha: float,
        run_length: float,
        seed: int,
    ) -> None:
        self.alpha, self.run_length, self.seed = alpha, run_length, seed
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
        weights = np.broadcast_to(weights[None, :, None], (own, len(shares), 2, len(of_kinds)))
        self.bets = _bets(bet, weights, lasting)
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
        self.change = _bets(NormalBet(), weights, renewed, self.done)
        self.counts = np.zeros((coordinates, CELLS), dtype=np.int64)

    def add(self, held: History, capacity: int) -> None:
        """Add rows, in steps that do not depend on how they come in batches.

        Bins are cut by the latest `capacity` rows.
        """
        while (end := self.done + min(max(self.done // PART, 1), LONGEST)) <= held.stop:
            rows = held.part(self.done, end)
            self.done = end
            self._weigh(rows)
            self._compare(rows)
            if end >= self.next_bins:
                self.next_bins *= 2
                self._cut(held.part(max(end - capacity, held.first), end))

    def _weigh(self, rows: History) -> None:
        """Add up the evidence of some rows."""
        codes = self._codes(rows)
        wealth = [bets.add(codes, bets.bet.rows(rows.z, rows.tilts)) for bets in self.bets]
        self.log = log_sum(np.array([log_sum(each) for each in wealth]))
        least = -math.log(self.alpha) if self.alarm is None else self.alarm["log"] + 1.0
        if least <= self.log and (self.alarm is None or least <= SURE):  # what it is about gets clearer
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

    def _compare(self, rows: History) -> None:
        """Look for a change: ranks among all rows before are uniform as long as there was none."""
        cells = _cell(rows.z)
        uniform = row_uniforms(self.seed + RANK_SEED, np.arange(rows.first, rows.stop))
        ranks, earlier = np.empty(cells.shape), np.tri(len(cells), k=-1, dtype=bool)
        for c, own in enumerate(cells.T):
            sums = np.concatenate([[0], np.cumsum(self.counts[c])])
            below = sums[own] + (earlier & (own < own[:, None])).sum(axis=1)
            equal = self.counts[c][own] + (earlier & (own == own[:, None])).sum(axis=1)
            ranks[:, c] = (below + uniform * (equal + 1.0)) / (sums[-1] + np.arange(len(own)) + 1.0)
            np.add.at(self.counts[c], own, 1)
        z, one = normal_scores(ranks), np.zeros((len(ranks), 1), dtype=np.int64)
        wealth = [bets.add(one, bets.bet.rows(z, z)) for bets in self.change]
        if wealth[0].size and log_sum(np.array([*map(log_sum, wealth)])) >= math.log(self.run_length):
            found = {"rows": self.done, "since": _likeliest(self.change, wealth)}
            self.changes = [*self.changes, found][-MOST_CHANGES:]
            self._expect(cells.shape[1])
            return
        for bets, each in zip(self.change, wealth, strict=True):
            bets.renew(self.done, each)

    def _codes(self, rows: History) -> IntArray:
        """Return the bin of each row in each grouping; the first has all rows in one."""
        found = np.zeros((len(rows.z), 1 + len(self.edges)), dtype=np.int64)
        for g, (values, edges) in enumerate(zip(rows.columns, self.edges, strict=True), start=1):
            if values.dtype == object:
                places, others = {level: i for i, level in enumerate(edges)}, min(len(edges), BINS - 1)
                found[:, g] = [places.get(level, others) for level in values]
            else:
                found[:, g] = np.searchsorted(np.array(edges, dtype=float), values, side="right")
        return found

    def _cut(self, rows: History) -> None:
        """Cut columns into bins anew, by some rows."""
        old, self.edges = self.edges, [_edges(values) for values in rows.columns]
        pairs = zip(old, self.edges, strict=True)
        anew = np.array([g for g, (was, now) in enumerate(pairs, start=1) if was != now], dtype=int)
        codes = self._codes(rows)
        for bets in self.bets:
            bets.rebin(codes, bets.bet.rows(rows.z, rows.tilts), rows.first, anew)

    def plain(self) -> dict[str, Any]:
        """Return all that it knows as plain numbers and lists."""
        bets = [bets.plain() for bets in (*self.bets, *self.change)]
        told = {name: deepcopy(getattr(self, name)) for name in TOLD}
        return {**told, "bets": bets, "counts": self.counts.tolist()}

    def restore(self, told: Mapping[str, Any]) -> None:
        """Take over what `plain` told."""
        for name in TOLD:
            setattr(self, name, deepcopy(told[name]))
        for bets, each in zip((*self.bets, *self.change), told["bets"], strict=True):
            bets.restore(each)
        self.counts = np.array(told["counts"], dtype=np.int64).reshape(self.counts.shape)


def _bets(bet: Bet, weights: FloatArray, later: Callable[[int], float], last: int = 0) -> list[Bets]:
    """Return bets with shares of 1, (C, G, 2, K); of normal scores some of it is on their shape."""
    if isinstance(bet, TiltBet):
        return [Bets(bet, np.log(weights), later, last)]
    shape = np.full((len(weights), 1, 2, 1), SHAPE / (2 * len(weights)))
    normal = Bets(bet, np.log(weights * (1.0 - SHAPE)), later, last)
    return [normal, Bets(ShapeBet(), np.log(shape), later, last)]


def _likeliest(several: list[Bets], wealth: list[FloatArray]) -> int:
    """Return the row of the start that has won most."""
    won: dict[int, float] = {}
    for bets, each in zip(several, wealth, strict=True):
        for start, logs in zip(bets.starts, each, strict=True):
            won[start] = float(np.logaddexp(won.get(start, -np.inf), log_sum(logs)))
    return max(won, key=won.__getitem__)


def _cell(z: FloatArray) -> IntArray:
    """Return the cell of each normal score."""
    cells = np.floor((np.arcsinh(z) + REACH) * (CELLS / (2.0 * REACH)))
    return np.clip(cells, 0, CELLS - 1).astype(np.int64)


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
