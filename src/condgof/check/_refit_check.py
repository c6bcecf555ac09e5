"""The whole check as a statistic of `composite`: verdict, effects, and numbers of all rows.

Every null, and every interval, comes from refits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._check import assemble_report, refuse_weights_of_kind
from condgof.check._findings import REACH, Reader
from condgof.check._look import compare_rows
from condgof.check._quantities import LARGEST, QUANTITIES
from condgof.check._record import Check, Finding, Power
from condgof.check._refit_statistics import AdaptiveStatistics
from condgof.check._refits import FirstFit
from condgof.check._size import POWER, UNKNOWN, Bench
from condgof.check._staged_gains import StagedGains
from condgof.check.effects import (
    FEWEST_ROWS,
    Analysis,
    KnownNull,
    State,
    analyse_state,
    make_state,
)
from condgof.check.kinds import CheckedRows, Signals
from condgof.laws import Law, ModelLike, class_probabilities, moments_of
from condgof.methods import STAGED_GAINS
from condgof.null import Dependence, OwnDraws
from condgof.residuals import ClassResiduals
from condgof.result import GofResult
from condgof.sample import CONTENT_SEED, Seed
from condgof.stein import RowsInMemory

#: A fit with more effective parameters than this share of the rows follows the noise.
FLEXIBLE = 0.25
#: All refits one after the other are slow if they take more seconds than this.
SLOW_SECONDS = 60.0
#: A number that varies over refits by less than this share of its interval is set by the
#: fit.
SET_BY_FIT = 0.05
#: The tail on either side of an interval from refits: each of six numbers gets a sixth of
#: 5%, so that all intervals hold together 95% of the time.
TAIL = 0.05 / 12.0

BETTER = (
    "`cg.check(cg.crossfit(fit, x, y), x, y)`, where every row meets a fit that has not"
    " seen it,"
)
OF_FITTED = (
    "numbers are of rows that the model was fitted on: they tell what its family misses,"
    " and the error of its estimates is not in them"
)
NO_POWER = f"{UNKNOWN}: a shift or a spread that is the same at every x is fitted away."


class CheckValues(NamedTuple):
    """The numbers of a check, side by side for the sample or for m refits.

    Each has a row for each number; refits add a last axis, (…, m).
    """

    #: The statistics of `adaptive`, (K,).
    statistics: FloatArray
    #: The staged gains of steps in single columns, or (0,) for few rows.
    gains: FloatArray
    #: What the best effect is worth, (1,), or (0,) where no effects are searched for.
    largest_effect: FloatArray
    #: The distance of each number of all rows from what its model predicts, (F,).
    distances: FloatArray
    #: Σ (m* − m)(y* − m)/v, (1,); its mean over refits is the effective number of
    #: parameters.
    followed: FloatArray

    def pack(self) -> FloatArray:
        return np.concatenate(self)

    @classmethod
    def unpack(
        cls, values: FloatArray, *, gains: int, effects: int, findings: int
    ) -> CheckValues:
        """Divide values (K, …) that were packed, with so many numbers of each kind."""
        statistics = len(values) - gains - effects - findings - 1
        sizes = (statistics, gains, effects, findings)
        return cls(*np.split(values, np.cumsum(sizes)))


def _state_of_effects(
    checked: CheckedRows, law: Law, rows: RowsInMemory, seed: Seed
) -> State | None:
    """Return rows in the cells of all effects; None where there are too few rows."""
    if checked.n < FEWEST_ROWS:
        return None
    return make_state(checked.axes, checked.tilt(law, rows, seed), None, checked.weights)


@dataclass(frozen=True, eq=False)
class CheckStatistics(AdaptiveStatistics):
    """What a check computes, as numbers: the same of the sample and of replicates."""

    #: The rows and their law, of the observed sample.
    checked: CheckedRows
    law: Law
    signals: Signals
    #: What makes staged gains; None where there are too few rows.
    staged: StagedGains | None
    #: The rows in the cells of all effects; None where there are too few rows.
    state: State | None
    #: What is reported of all rows.
    overall: tuple[Finding, ...]
    name = "check"

    @classmethod
    def from_fit(cls, options: Mapping[str, Any], first: FirstFit) -> CheckStatistics:
        base = AdaptiveStatistics.from_fit(options, first)
        rows = base.first
        checked = compare_rows(
            first.law, rows, numbers=_row_numbers(rows), whole=rows.n
        ).with_bands(first.law, first.seed)
        refuse_weights_of_kind(checked)
        signals = checked.signals(first.law, rows, first.seed)
        return cls(
            first=base.first,
            design=base.design,
            features=base.features,
            units=base.units,
            seed=base.seed,
            sizes=base.sizes,
            checked=checked,
            law=first.law,
            # Replicates are the null of the search: nothing is resampled by it.
            signals=replace(signals, redraw=None),
            staged=StagedGains.from_signals(
                checked.axes,
                signals,
                rows.sample.content_keys,
                units=None,
                weights=checked.weights,
            ),
            state=_state_of_effects(checked, first.law, rows, first.seed),
            overall=Reader(checked, REACH).findings(),
        )

    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        law, rows = self.compare(model, y)
        # x and its columns are those of the first sample, in the user's units.
        checked = self.checked.again(law, rows)
        signals = checked.signals(law, rows, self.seed)
        packed = CheckValues(
            statistics=self.statistics(rows),
            gains=np.empty(0) if self.staged is None else self.staged.of_rows(signals),
            largest_effect=self._largest_effect(checked, law, rows),
            distances=self._distances(checked),
            followed=np.array([followed_noise(self.law, law, rows)]),
        )
        return packed.pack()

    def _largest_effect(
        self, checked: CheckedRows, law: Law, rows: RowsInMemory
    ) -> FloatArray:
        """Return what the best of all effects is worth, (1,), or (0,) of few rows."""
        if self.state is None:
            return np.array([])
        state = replace(self.state, tilt=checked.tilt(law, rows, self.seed))
        return np.array([state.largest_worth])

    def _distances(self, checked: CheckedRows) -> FloatArray:
        """Return how far each number of all rows is from what the model predicts, (F,).

        A number that a replicate does not have is 0 away.
        """
        findings = Reader(checked, REACH).findings()
        distances = {f.about: f.estimate - f.expected for f in findings}
        return np.array([distances.get(f.about, 0.0) for f in self.overall])

    def _unpack(self, values: FloatArray) -> CheckValues:
        return CheckValues.unpack(
            values,
            gains=0 if self.staged is None else len(STAGED_GAINS),
            effects=0 if self.state is None else 1,
            findings=len(self.overall),
        )

    def result(self, observed: FloatArray, draws: FloatArray) -> GofResult:
        refits = self._unpack(draws)
        own = self._unpack(observed)
        gains = None
        if self.staged is not None:
            gains = OwnDraws(observed=own.gains, draws=refits.gains)
        return self._combine(own.statistics, refits.statistics, gains)

    def _analysis(
        self, result: GofResult, largest: FloatArray, alpha: float
    ) -> Analysis | None:
        """Take the misfit apart; `largest` (1, m) are the worths of refits."""
        if self.state is None or result.pvalue > alpha:
            return None
        return analyse_state(
            self.checked.axes,
            self.state,
            KnownNull(largest.ravel()),
            keys=self.first.sample.content_keys,
            alpha=alpha,
        )

    def answer(self, result: GofResult, draws: FloatArray, alpha: float) -> Check:
        """Return the report of a check."""
        refits = self._unpack(draws)
        details = result.details
        bench = Bench.from_rows(
            self.law, self.first, self.design, Dependence(), CONTENT_SEED
        )
        report = assemble_report(
            result=result,
            alpha=alpha,
            reader=Reader(self.checked, REACH),
            overall=with_refit_intervals(self.overall, refits.distances),
            analysis=self._analysis(result, refits.largest_effect, alpha),
            bench=bench,
            effect=bench.size.effect(result.pvalue <= alpha),
            power=Power(None, None, POWER, alpha, NO_POWER),
        )
        effective = None
        if pearson_moments(self.law) is not None:
            # Samples may have less noise than the fit: what refits follow is a share of it.
            noise_variance = details.get("noise_factor", 1.0) ** 2
            effective = float(refits.followed[0].mean()) / noise_variance
        advice = crossfit_advice(
            effective,
            self.checked.n,
            refits=details["refits"],
            seconds_per_refit=details["seconds_per_refit"],
        )
        return replace(
            report,
            words=report.words if report.rejected else no_evidence_words(result, report),
            details={
                **details,
                **report.details,
                "effective_parameters": effective,
                "notes": (*report.notes, OF_FITTED, *advice),
            },
        )


def _row_numbers(rows: RowsInMemory) -> IntArray:
    """Return the number of each row in the data."""
    kept = rows.sample.kept
    return np.arange(rows.n) if kept is None else kept


def no_evidence_words(result: GofResult, report: Check) -> str:
    """Say how many refits look at least as wrong as the data."""
    draws = result.null_distribution
    if draws is None:
        return report.words
    worse = int((draws >= result.statistic).sum())
    return (
        f"Nothing speaks against the family: of {len(draws):,} samples that were drawn from"
        f" the fitted model and fitted again, {worse:,} look at least as wrong."
    )


class PearsonMoments(NamedTuple):
    """Mean and variance of y, (n, d_y) each.

    Of classes both are probabilities (n, K), which makes Σ (y − mean)²/variance Pearson's
    statistic.
    """

    mean: FloatArray
    variance: FloatArray


def pearson_moments(law: Law) -> PearsonMoments | None:
    """Return mean and variance of y; None where they are infinite, or y is censored."""
    values = class_probabilities(law)
    if values is not None:
        p = np.asarray(values, dtype=np.float64)
        return PearsonMoments(p, np.maximum(p, 1e-12))
    mean_std = None if law.is_censored else moments_of(law, "mean_std")
    if mean_std is None:
        return None
    mean, std = mean_std
    return PearsonMoments(mean, np.square(std)) if (std > 0).all() else None


def followed_noise(first: Law, refit: Law, rows: RowsInMemory) -> float:
    """Return Σ (m* − m)(y* − m)/v: how far a refit follows the noise of its responses.

    m and v are the mean and variance of y under the first law, m* the mean under the refit.
    """
    before = pearson_moments(first)
    after = pearson_moments(refit)
    if before is None or after is None:
        return 0.0
    observed = rows.sample.y
    if class_probabilities(refit) is not None:
        assert isinstance(rows.residuals, ClassResiduals)
        observed = np.eye(before.mean.shape[1])[rows.residuals.observed]
    noise = observed - before.mean
    return float(((after.mean - before.mean) * noise / before.variance).sum())


def crossfit_advice(
    effective: float | None, n: int, *, refits: int, seconds_per_refit: float
) -> tuple[str, ...]:
    """Say when out-of-fold laws are the better question."""
    if effective is not None and effective > FLEXIBLE * n:
        return (
            f"the fit follows the noise: refits say that it has about {effective:,.0f}"
            f" effective parameters for {n:,} rows. {BETTER} is the better question",
        )
    if seconds_per_refit * refits > SLOW_SECONDS:
        return (
            f"{refits:,} refits took {seconds_per_refit:.2g} seconds each. {BETTER} takes 5"
            " fits, and is the better question where the model will be used as it is"
            " fitted",
        )
    return ()


# Intervals of the numbers of all rows.


def with_refit_intervals(
    overall: Sequence[Finding], distances: FloatArray
) -> tuple[Finding, ...]:
    """Give findings the intervals that refits tell.

    Parameters
    ----------
    overall
        F findings of all rows.
    distances
        Their distances from what the model predicts, in each refit, (F, m).
    """
    pairs = zip(overall, distances, strict=True)
    return tuple(_with_refit_interval(finding, d) for finding, d in pairs)


def _with_refit_interval(finding: Finding, distances: FloatArray) -> Finding:
    # The number of outliers goes in steps, and what the model predicts of it is a bound.
    if finding.kind == "wild" or finding.label == LARGEST:
        return finding
    sd = float(distances.std(ddof=min(1, len(distances) - 1)))
    low, high = finding.interval
    if REACH * sd > SET_BY_FIT * (high - low) / 2.0:
        return replace(finding, interval=_refit_interval(finding, distances, sd))
    # A fit makes some numbers what they are, such as the share of a class.
    ends = sorted([finding.estimate, finding.expected])
    return replace(finding, interval=(ends[0], ends[1]), set_by_fit=True)


def _refit_interval(
    finding: Finding, distances: FloatArray, sd: float
) -> tuple[float, float]:
    """Return estimate − distance at both tails, or a normal interval if that is wider."""
    mean = float(distances.mean())
    lower, upper = np.quantile(distances, [TAIL, 1.0 - TAIL]).tolist()
    low = finding.estimate - max(upper, mean + REACH * sd)
    high = finding.estimate - min(lower, mean - REACH * sd)
    if QUANTITIES[finding.kind].is_share:
        return max(low, 0.0), min(high, 1.0)
    if finding.kind == "spread":
        return max(low, 0.0), high
    return low, high
