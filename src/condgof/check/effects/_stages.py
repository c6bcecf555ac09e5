"""A misfit taken apart stage by stage.

The candidate that gains most is taken off, and the search goes on with what is left. Each
stage has a p-value: y is drawn from the law corrected by the effects before, these are
fitted again to the draw, and the largest worth of the draw is compared with that of the
data. After the first stage, an effect that depends on columns is compared with residuals
that were shuffled over the rows instead: these have the shape that is left, whatever it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check.effects._forms import Location, Scale
from condgof.check.effects._partitions import Cells
from condgof.check.effects._search import REMOVAL_SHRINKAGE, Candidate, Fit, Space, Worths
from condgof.check.effects._tilts import SignalTilt, Tilt
from condgof.sample import Seed, Use

#: Where a correction that is the same everywhere has this share of the gain of the best
#: candidate of its kind, it is taken first: a place is not named for what holds everywhere.
SHARE_OF_CONSTANT = 0.7
#: A pair of columns is taken only if it gains this many times as much as one of them and
#: then the other,
PAIR_OVER_SINGLES = 1.25
#: and so many nats more.
PAIR_PRICE = 3.0
#: A bias is taken before a spread, although that gains more, if it explains half of the
#: mean square of the residuals: the log of their SD falls by ½ log 2.
CAUSE_OF_SPREAD = 0.5 * math.log(2.0)
#: The stream of random numbers (`Seed.stream`) that draws y for effects. Numbers 20 to 27
#: have other uses in a check.
EFFECTS_STREAM = 28
#: That which shuffles residuals. Numbers 29 to 31 have other uses.
SHUFFLES_STREAM = 32
#: Draws of a chunk.
CHUNK = 40
#: Draws that decide whether columns are named at the first stage, times the level: with
#: 40 at the level 0.05, at most one of them may be larger.
DECIDING_DRAWS = 2.0
# What p-values of effects come from, in words.
RESAMPLED = "y resampled from the model"
SIGNS_OF_ROWS = "random signs of rows"
SIGNS_OF_UNITS = "random signs of groups or blocks of rows"
WHOLE_SAMPLES = "whole samples in place of y"
REFITS = "refits on resampled y"


@dataclass(frozen=True, eq=False)
class Units:
    """Rows that depend on each other: those of the same unit."""

    codes: IntArray  #: The unit of each row, (n,), counted from 0 without gaps.

    @classmethod
    def from_labels(cls, labels: IntArray) -> Units:
        """Number units by their labels, (n,)."""
        _, codes = np.unique(labels, return_inverse=True)
        return cls(codes)

    @property
    def count(self) -> int:
        return int(self.codes.max()) + 1

    def take(self, rows: IntArray) -> Units:
        """Return some rows."""
        return Units.from_labels(self.codes[rows])


class PValue(NamedTuple):
    """A p-value, and the number of draws that it comes from."""

    value: float
    draws: int


@dataclass(frozen=True, eq=False)
class Stage:
    """One effect: the candidate, its parameters, and what it gains."""

    candidate: Candidate
    fit: Fit
    gain: float  #: On rows left out, in nats over all rows.
    worth: float  #: The same less what the candidate costs.
    #: What it is worth more than the same error everywhere alike; 0 of a constant.
    beyond_constant: float = 0.0
    pvalue: float = math.nan
    draws: int = 0  #: Of the p-value.
    #: The p-value of its dependence on columns; NaN of a constant, and where residuals
    #: cannot be shuffled.
    pvalue_of_columns: float = math.nan

    def with_pvalue(self, pvalue: PValue) -> Stage:
        return replace(self, pvalue=pvalue.value, draws=pvalue.draws)


class Sums(NamedTuple):
    """What samples have in each cell."""

    sums: AnyArray  #: Of the test functions, (cells, m, K).
    noise: FloatArray  #: How much more these vary than predicted, (m, K).


@dataclass(frozen=True, eq=False)
class State:
    """Rows beside the law as it is after some stages."""

    cells: Cells
    tilt: Tilt
    units: Units | None

    def space(self) -> Space:
        """Return all candidates, with what the law as it is now predicts in each cell."""
        return Space.from_tilt(self.cells, self.tilt, self._design_effect())

    def sums(self) -> Sums:
        """Return the sums of all test functions over all cells, and their noise."""
        values = self.tilt.values
        return Sums(self.cells.sums(values), self.tilt.noise(values, self.cells.weights))

    def _design_effect(self) -> FloatArray:
        """Return Σ_u (Σ_{i in u} ψ_i)²/Σ_i ψ_i² of each cell and kind, (cells, K)."""
        kinds = len(self.tilt.kinds)
        if self.units is None:
            return np.ones((len(self.cells.rows), kinds))
        from scipy.sparse import csr_array  # takes long to import

        values = np.asarray(self.tilt.values[:, 0], dtype=np.float64)
        at = (np.arange(len(values)), self.units.codes)
        shape = (len(values), self.units.count)
        effects = np.empty((len(self.cells.rows), kinds))
        for k in range(kinds):
            own = self.cells.weighted(values[:, k])
            by_unit = self.cells.members @ csr_array((own, at), shape)
            together = np.asarray(by_unit.multiply(by_unit).sum(axis=1)).ravel()
            squares = self.cells.weighted(values[:, [k]] ** 2)
            apart = self.cells.sums(squares)[:, 0]
            effects[:, k] = together / np.maximum(apart, 1e-300)
        return np.maximum(effects, 1.0)

    @property
    def largest_worth(self) -> float:
        """What the best candidate is worth, in nats over all rows."""
        return float(self.space().worths(*self.sums()).largest[0])

    def take(self, rows: IntArray) -> State:
        """Return some rows."""
        units = None if self.units is None else self.units.take(rows)
        return State(self.cells.take(rows), self.tilt.take(rows), units)

    def only(self, partitions: Sequence[int]) -> State:
        """Return the same rows in the cells of some partitions."""
        return replace(self, cells=self.cells.only(partitions))

    def without(self, candidate: Candidate, space: Space) -> State:
        """Take an effect off, fitted to these very rows."""
        return replace(self, tilt=take_off(self.cells, self.tilt, candidate, space))


def take_off(cells: Cells, tilt: Tilt, candidate: Candidate, space: Space) -> Tilt:
    """Correct each of m samples by an effect that is fitted to it.

    `space` has what the law predicts in the cells of all rows, of which those of `cells`
    and `tilt` may be some.
    """
    number = candidate.partition
    codes = cells.codes[:, number]
    sums = cells.within(number, tilt.values_of(candidate.kind))
    rows = cells.rows[cells.of_partition(number)][:, None]
    all_rows = space.cells.rows[space.cells.of_partition(number)][:, None]
    theta = space.removal(candidate, sums * (all_rows / np.maximum(rows, 1.0)))
    single = tilt.log_ratio.dtype
    corrected = tilt.corrected(candidate.kind, theta[codes].astype(single))
    if candidate.trend:
        return corrected
    # The variance that N residuals have left after S/(N + λ) was subtracted from each.
    left = 1.0 - 2.0 / (rows + REMOVAL_SHRINKAGE) + rows / (rows + REMOVAL_SHRINKAGE) ** 2
    return corrected.standardised(candidate.kind, left[codes].astype(single))


class FoundStages(NamedTuple):
    """The effects that count, and the next one, which does not."""

    stages: list[Stage]
    left: Stage | None


class StageNull(Protocol):
    """What the worth of a stage is compared with."""

    @property
    def label(self) -> str:
        """What it is, in words."""

    def tested(
        self,
        stage: Stage,
        state: State,
        space: Space,
        before: Sequence[Candidate],
        alpha: float,
    ) -> Stage:
        """Return a stage with its p-value; the effects `before` were taken off."""


@dataclass(frozen=True, eq=False)
class KnownNull:
    """Draws of the largest worth that were made before, such as those of refits."""

    draws: FloatArray  #: (m,).
    label = REFITS

    def tested(
        self,
        stage: Stage,
        state: State,
        space: Space,
        before: Sequence[Candidate],
        alpha: float,
    ) -> Stage:
        exceeded = int(np.count_nonzero(self.draws >= stage.worth))
        made = len(self.draws)
        return stage.with_pvalue(PValue((1 + exceeded) / (1 + made), made))


def find_stages(
    state: State, *, most: int, null: StageNull | None, alpha: float
) -> FoundStages:
    """Return the effects, the one that gains most first.

    With `null`, an effect counts while its p-value is at most `alpha`; without, `most`
    effects are returned as long as they are worth anything.
    """
    stages: list[Stage] = []
    for _ in range(most):
        space = state.space()
        sums = state.sums()
        worths = space.worths(*sums)
        stage = _stage(choose(state, space, sums, worths), space, sums, worths)
        if stage.worth <= 0.0:
            break
        if null is not None:
            before = [one.candidate for one in stages]
            test = partial(
                null.tested, state=state, space=space, before=before, alpha=alpha
            )
            stage = test(stage)
            if stage.pvalue > alpha or stage.pvalue_of_columns > alpha:
                # A place is not named for what may be the same everywhere.
                constant = test(_stage(space.best_constant(worths), space, sums, worths))
                if constant.pvalue <= alpha:
                    stage = constant
            if stage.pvalue > alpha:
                return FoundStages(stages, left=stage)
        stages.append(stage)
        state = state.without(stage.candidate, space)
    return FoundStages(stages, left=None)


def _stage(candidate: Candidate, space: Space, sums: Sums, worths: Worths) -> Stage:
    """Return a stage without its p-value."""
    return Stage(
        candidate=candidate,
        fit=space.fit(candidate, *sums),
        gain=space.gain(candidate, *sums),
        worth=space.worth_of(worths, candidate),
        beyond_constant=space.beyond_constant(worths, candidate),
    )


def choose(state: State, space: Space, sums: Sums, worths: Worths) -> Candidate:
    """Return the candidate that is worth most; of two that gain alike, the simpler one."""
    best = _simplest(state, space, space.best(worths), sums, worths)
    if isinstance(space.forms[best.kind], Scale):
        bias = _bias_that_spreads(state, space, best, sums, worths)
        return best if bias is None else bias
    return best


def _simplest(
    state: State, space: Space, best: Candidate, sums: Sums, worths: Worths
) -> Candidate:
    """Return a candidate of the same kind that gains about as much with fewer columns."""
    if len(space.partition(best).axes) == 2:
        best = _rather_single(state, space, best, sums, worths)
    if space.partition(best).axes:
        constant = Candidate(best.kind, 0, trend=False)
        if space.gain(constant, *sums) >= SHARE_OF_CONSTANT * space.gain(best, *sums):
            return constant
    return best


def _bias_that_spreads(
    state: State, space: Space, spread: Candidate, sums: Sums, worths: Worths
) -> Candidate | None:
    """Return the bias that most of a spread comes from; None if there is none.

    Means that differ widen the residuals. For large misfits one wider spread gains more
    than all these means do, as a log score punishes squares of residuals. But the means
    are the cause where the residuals spread much less once they are corrected. That is
    measured by the log of the SD over all rows, less a nat for each cell of the bias.
    """
    kinds = state.tilt.kinds
    column = kinds[spread.kind].column
    biases = [
        k
        for k, one in enumerate(kinds)
        if isinstance(one.form, Location) and one.column == column
    ]
    if not biases:
        return None
    best = space.best(worths, kind=biases[0])
    bias = _simplest(state, space, best, sums, worths)
    overall = Candidate(spread.kind, 0, trend=False)
    everywhere = state.without(bias, space).only([0])
    log_sd = float(space.fit(overall, *sums).theta[0])
    log_sd_after = float(everywhere.space().fit(overall, *everywhere.sums()).theta[0])
    cost = space.partition(bias).count / state.cells.all_rows
    return bias if log_sd - log_sd_after - cost >= CAUSE_OF_SPREAD else None


def _rather_single(
    state: State, space: Space, pair: Candidate, sums: Sums, worths: Worths
) -> Candidate:
    """Return one column of a pair, if it and then the other gain as much as the pair.

    The pair is returned where it gains clearly more: the two columns interact.
    """
    partitions = space.cells.partitions
    numbers = [
        p
        for p, one in enumerate(partitions)
        if len(one.axes) == 1 and one.axes[0] in partitions[pair.partition].axes
    ]
    if not numbers:
        return pair
    singles = []
    for p in numbers:
        singles.append(Candidate(pair.kind, p, trend=False))
        if partitions[p].positions is not None:
            singles.append(Candidate(pair.kind, p, trend=True))
    # A column of the user's is preferred to a prediction here, too.
    first = max(singles, key=lambda one: space.worth_of(worths, one))
    after = state.without(first, space).only(numbers)
    space_after = after.space()
    sums_after = after.sums()
    gains = [
        space_after.gain(replace(one, partition=numbers.index(one.partition)), *sums_after)
        for one in singles
        if one.partition != first.partition
    ]
    both = space.gain(first, *sums) + max([*gains, 0.0])
    interact = space.gain(pair, *sums) > PAIR_OVER_SINGLES * both + PAIR_PRICE
    return pair if interact else first


class SampleDraws(Protocol):
    """What draws samples in place of y."""

    @property
    def label(self) -> str:
        """What is drawn, in words."""

    def draw(self, tilt: Tilt, start: int, m: int) -> Tilt:
        """Return draws `start` to `start` + m beside the law of `tilt`."""

    def shuffle(self, tilt: Tilt, start: int, m: int) -> Tilt | None:
        """Return m samples with the residuals of `tilt` in another order of the rows.

        None where they must keep their order, as rows depend on each other, or where the
        residual of one row means nothing at another.
        """


@dataclass(frozen=True)
class ModelDraws:
    """Draws y from the law: exact."""

    seed: Seed
    label = RESAMPLED

    def draw(self, tilt: Tilt, start: int, m: int) -> Tilt:
        drawn = tilt.draw(self.seed.stream(Use.CHECK, EFFECTS_STREAM, start), m)
        assert drawn is not None
        return drawn

    def shuffle(self, tilt: Tilt, start: int, m: int) -> Tilt | None:
        rng = self.seed.stream(Use.CHECK, SHUFFLES_STREAM, start)
        rows = np.broadcast_to(np.arange(tilt.n)[:, None], (tilt.n, m))
        return tilt.shuffled(rng.permuted(rows, axis=0))


@dataclass(frozen=True, eq=False)
class SignDraws:
    """Gives the test functions of the data random signs, one a unit."""

    seed: Seed
    units: IntArray  #: The unit of each row, (r,).
    label: str = SIGNS_OF_ROWS

    def draw(self, tilt: Tilt, start: int, m: int) -> Tilt:
        rng = self.seed.stream(Use.CHECK, EFFECTS_STREAM, start)
        signs = 2.0 * rng.integers(0, 2, (int(self.units.max()) + 1, m)) - 1.0
        return tilt.signed(signs[self.units])

    def shuffle(self, tilt: Tilt, start: int, m: int) -> Tilt | None:
        return None


@dataclass(frozen=True, eq=False)
class ReplicateDraws:
    """Puts whole samples in the place of y, whose rows share an error."""

    count: int
    signals: Callable[[int], FloatArray]  #: Test functions of a sample, (r, K).
    label = WHOLE_SAMPLES

    def draw(self, tilt: Tilt, start: int, m: int) -> Tilt:
        assert isinstance(tilt, SignalTilt)
        numbers = [number % self.count for number in range(start, start + m)]
        psi = np.stack([self.signals(number) for number in numbers], axis=1)
        return replace(tilt, psi=psi, log_ratio=np.zeros(psi.shape[:2], dtype=np.float32))

    def shuffle(self, tilt: Tilt, start: int, m: int) -> Tilt | None:
        return None


@dataclass(frozen=True, eq=False)
class NullOfStages:
    """Draws of the largest worth of a stage, with the effects before it fitted again."""

    rows: IntArray  #: The rows that are drawn, all or some, (r,).
    n: int  #: The number of all rows.
    count: int  #: The number of draws.
    draws: SampleDraws

    @property
    def label(self) -> str:
        return self.draws.label

    def tested(
        self,
        stage: Stage,
        state: State,
        space: Space,
        before: Sequence[Candidate],
        alpha: float,
    ) -> Stage:
        """Return a stage with its p-value.

        The first effect is compared with y drawn from the law, and so is one that is the
        same everywhere: the null is that nothing is left. A later effect of columns is
        compared with shuffled residuals: the null is that what is left, of whatever shape,
        does not depend on x.
        """
        some = Part(state.cells.take(self.rows), state.tilt.take(self.rows), space)
        from_model = partial(self._model_draws, some, before)
        if not space.partition(stage.candidate).axes:
            return stage.with_pvalue(
                self._pvalue(stage.worth, from_model, alpha, self.count)
            )
        shuffled = partial(self._shuffles, some, before)
        # At the first stage shuffles only decide whether columns are named.
        most = self.count if before else math.ceil(DECIDING_DRAWS / alpha)
        of_columns = self._pvalue(stage.beyond_constant, shuffled, alpha, most)
        stage = replace(stage, pvalue_of_columns=of_columns.value)
        if before and of_columns.draws:
            return stage.with_pvalue(of_columns)
        return stage.with_pvalue(self._pvalue(stage.worth, from_model, alpha, self.count))

    def _pvalue(
        self,
        observed: float,
        draw: Callable[[int, int], FloatArray | None],
        alpha: float,
        most: int,
    ) -> PValue:
        """Compare a statistic with at most so many draws of it.

        `draw` returns draws `start` to `start` + m, (m,), or None where there are none.
        """
        exceeded = 0
        made = 0
        count = min(self.count, most)
        while made < count:
            m = min(CHUNK, count - made)
            drawn = draw(made, m)
            if drawn is None:
                return PValue(math.nan, 0)
            # What is not a number is no evidence: it counts as exceeding.
            exceeded += int(np.count_nonzero(~(drawn < observed)))
            made += m
            # With this many draws above it, no further ones make it significant.
            if exceeded > alpha * (1 + count):
                break
        return PValue((1 + exceeded) / (1 + made), made)

    def _model_draws(
        self, some: Part, before: Sequence[Candidate], start: int, m: int
    ) -> FloatArray:
        """Return the largest worths of m samples of the law, (m,)."""
        drawn = some.take_off(self.draws.draw(some.tilt, start, m), before)
        values = drawn.values
        sums = some.cells.sums(values) * self._scale(some)
        return some.worths(drawn, values, sums).largest

    def _shuffles(
        self, some: Part, before: Sequence[Candidate], start: int, m: int
    ) -> FloatArray | None:
        """Return the largest worths beyond the constant of m shuffled samples, (m,)."""
        drawn = self.draws.shuffle(some.tilt, start, m)
        if drawn is None:
            return None
        # What is the same everywhere is in the residuals as it is in those of the data: it
        # is not fitted a second time.
        by_columns = [one for one in before if some.space.partition(one).axes]
        drawn = some.take_off(drawn, by_columns)
        values = drawn.values
        # Deviations from the mean of all rows are noise, and vary as those over all rows do
        # if they are scaled. The mean is no noise: it is that of the data.
        mean = values.mean(axis=0, dtype=np.float64)
        rows = some.cells.rows[:, None, None]
        all_rows = some.space.cells.rows[:, None, None]
        sums = some.cells.sums(values) * self._scale(some)
        sums += ((all_rows - self._scale(some) * rows) * mean).astype(sums.dtype)
        return some.worths(drawn, values, sums).largest_beyond_constant

    def _scale(self, some: Part) -> float:
        """What sums over some rows are multiplied by, to vary as those over all rows."""
        weights = some.space.cells.weights
        own = some.cells.weights
        if weights is None or own is None:
            return math.sqrt(self.n / len(self.rows))
        return math.sqrt(float(np.square(weights).sum() / np.square(own).sum()))


@dataclass(frozen=True, eq=False)
class Part:
    """The rows that are drawn, beside all candidates of all rows."""

    cells: Cells
    tilt: Tilt
    space: Space  #: Of all rows.

    def take_off(self, drawn: Tilt, candidates: Sequence[Candidate]) -> Tilt:
        """Take effects off m samples, fitted to each of them."""
        for candidate in candidates:
            space = self.space.for_samples(self.cells, drawn)
            drawn = take_off(self.cells, drawn, candidate, space)
        return drawn

    def worths(self, drawn: Tilt, values: AnyArray, sums: AnyArray) -> Worths:
        """Return what all candidates are worth in m samples.

        `values` (r, m, K) are their test functions, `sums` (cells, m, K) those of all rows.
        """
        space = self.space.for_samples(self.cells, drawn)
        return space.worths(sums, drawn.noise(values, self.cells.weights))
