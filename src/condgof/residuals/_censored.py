"""Times of which some are censored: normal scores, events, and entries.

A function h of normal scores with E[h(Z)] = 0 has the value h(z) where the event came at z,
and H(z) = E[h(Z) | Z > z] where it had not come by then; less H(z₀) where a row was
observed only from z₀ on. On the scale of Λ = −log S(y|x), with f = h − H and d = 1 for an
event, that is

    ξ = d·f(Λ) − ∫₀^Λ f,

a martingale in Λ: its mean given x is 0 whenever censoring is independent of the time given
x. Without censoring it is the function h of the plain test. Of a Stein function h = l' − zl
of N(0, 1), H = −l(z)φ(z)/(1 − Φ(z)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import ndtri

from condgof import kernels
from condgof._typing import AnyArray, FloatArray, IntArray, SingleArray
from condgof.errors import UnsupportedModelError, option
from condgof.kernels import CovariateKernel, Gaussian, Kernel, ResponseKernel
from condgof.laws import Censored, Law, hazard
from condgof.residuals._normal import GRID_END, GRID_STEPS, NormalTestFunctions
from condgof.residuals._residuals import (
    DependenceValues,
    Neighbours,
    Resampled,
    Resampler,
    Residuals,
    TestFunctionBlock,
    TestFunctions,
)
from condgof.residuals._stein import BANDWIDTHS, check_coordinates, line_of
from condgof.sample import CONTENT_SEED, Sample, Seed, Use, content_order

#: Up to this many rows, times of censoring can be estimated from rows near in x.
MOST_ROWS = 4096
#: Weights of rows that are held at a time while they are.
HELD_NUMBERS = 2**22
#: A row far from all others weighs them all alike.
LEAST_WEIGHT = 1e-12
#: The use of random numbers for times of censoring in `Use.MODEL_SAMPLE`.
CENSORING_STREAM = 6


@dataclass(frozen=True, eq=False)
class CensoredTestFunctions(TestFunctions):
    """Functions of normal scores, replaced by their mean given what is known of them."""

    plain: NormalTestFunctions  #: h, and where it is looked up.
    later: SingleArray  #: H on the grid of h, (GRID_STEPS + 1, q).
    resampled = True

    @classmethod
    def at_bandwidths(cls, bandwidths: tuple[float, ...]) -> CensoredTestFunctions:
        """Return the functions of `NormalTestFunctions` at some bandwidths."""
        plain = NormalTestFunctions.at_bandwidths(bandwidths, 1)
        grid = np.linspace(-GRID_END, GRID_END, GRID_STEPS + 1)
        weight = np.exp(-0.5 * grid**2)[:, None]
        later = _sum_above(weight * plain.table) / _sum_above(weight)
        later[0] = 0.0
        return cls(plain=plain, later=later.astype(np.float32))

    @property
    def blocks(self) -> tuple[TestFunctionBlock, ...]:
        return self.plain.blocks

    @property
    def blocks_for_columns(self) -> slice:
        return self.plain.blocks_for_columns

    @property
    def blocks_for_pairs(self) -> slice:
        return self.plain.blocks_for_pairs

    @property
    def blocks_for_shapes(self) -> slice:
        return self.plain.blocks_for_shapes

    def evaluate(self, residuals: CensoredResiduals) -> AnyArray:
        return self.at_times(residuals.z, residuals.event, residuals.entry_z)

    def at_times(self, z: AnyArray, event: AnyArray, entry_z: AnyArray) -> AnyArray:
        """Return ξ (n, q) of normal scores of y and of entries, and events, (n,) each."""
        at_event = self.plain.look_up(z[:, None])
        came = event[:, None] > 0
        observed = np.where(came, at_event, self.expected_later(z))
        return observed - self.expected_later(entry_z)

    def expected_later(self, z: AnyArray) -> AnyArray:
        """Return H(z) = E[h(Z) | Z > z] of normal scores (n,), (n, q)."""
        return replace(self.plain, table=self.later).look_up(z[:, None])

    def kernel_of(self, block: TestFunctionBlock) -> Kernel:
        return self.plain.kernel_of(block)


def _sum_above(values: FloatArray) -> FloatArray:
    """Return the sums of values (m, k) from each row on, of the row itself one half."""
    sums: FloatArray = np.cumsum(values[::-1], axis=0)[::-1] - 0.5 * values
    return sums


@dataclass(frozen=True, eq=False)
class CensoredResiduals(Residuals):
    """Times with censoring on the right, and perhaps truncation on the left."""

    standardized_by = "normal scores of the model's CDF, some of them censored"
    z: FloatArray  #: Normal scores of y, (n,).
    residual: FloatArray  #: d − Λ(y) + Λ(entry), of mean 0 given x, (n,).
    event: (
        FloatArray  #: d: 1 where the event came at y, 0 where it had not come by y, (n,).
    )
    entry_z: FloatArray  #: Normal scores of the times of entry, −∞ without one, (n,).

    @classmethod
    def from_law(cls, law: Law, sample: Sample) -> Self:
        assert isinstance(law, Censored)
        line_of(law, sample)  # refuses y outside the support
        z = check_coordinates(law.normal_scores(sample.y_given), sample)
        watched = law.watched(z)
        return cls(
            z=z[:, 0],
            residual=watched[:, 0],
            event=watched[:, 1],
            entry_z=watched[:, 2],
        )

    @property
    def n(self) -> int:
        return len(self.z)

    @property
    def row_width(self) -> int:
        return 4

    def take(self, rows: slice | IntArray) -> Self:
        return replace(
            self,
            z=self.z[rows],
            residual=self.residual[rows],
            event=self.event[rows],
            entry_z=self.entry_z[rows],
        )

    @property
    def hazard(self) -> FloatArray:
        """The cumulative hazard Λ(y) = −log P(Y > y|x), (n,)."""
        return hazard(self.z)

    @property
    def hazard_at_entry(self) -> FloatArray:
        """Λ(entry), 0 without one, (n,)."""
        return hazard(self.entry_z)

    def ready_kernel(self, kernel: object, seed: Seed) -> ResponseKernel:
        raise UnsupportedModelError(
            "Times with censoring have no score that a kernel on y could be applied to. Use"
            " adaptive or check with"
            f" {option('event')}."
        )

    def kernel_test_functions(
        self,
        kernel: ResponseKernel,
        rng: np.random.Generator,
        *,
        precision: float,
        cap: int,
        single: bool,
    ) -> TestFunctions:
        raise UnsupportedModelError("Times with censoring have no kernel on y.")

    def test_functions(self, seed: Seed) -> CensoredTestFunctions:
        return CensoredTestFunctions.at_bandwidths(BANDWIDTHS)

    @property
    def can_resample(self) -> bool:
        return self.n <= MOST_ROWS

    @property
    def can_resample_streams(self) -> bool:
        return False

    def resampler(
        self, test_functions: TestFunctions, neighbours: Neighbours
    ) -> Resampler | None:
        if not self.can_resample:
            return None
        assert isinstance(test_functions, CensoredTestFunctions)
        return CensoredResampler(
            test_functions=test_functions,
            entry_z=self.entry_z,
            until=self.censoring_times(neighbours),
        )

    def censoring_times(self, neighbours: Neighbours) -> FloatArray:
        """Return when rows are censored, or would have been, on the scale of Λ, (n,).

        The event at T and the time C of censoring are independent given x. So C, drawn from
        its law given x and C > T, has with T the joint law that it has, and T drawn again
        and observed as far as C allows is a draw of the data. The law of C is Kaplan and
        Meier's product, weighted for rows near in x (Beran's estimate). Times are
        Λ(y) − Λ(entry), the number of events expected while a row was observed; infinite
        where nothing says that a row would have been censored.
        """
        return censoring_times_near(
            times=self.event - self.residual, event=self.event > 0, neighbours=neighbours
        )

    def columns(self, y_names: Sequence[str]) -> dict[str, AnyArray]:
        columns: dict[str, AnyArray] = {
            "event": (self.event > 0).astype(np.int64),
            "cumulative_hazard": self.hazard,
        }
        if self.hazard_at_entry.any():
            columns["hazard_at_entry"] = self.hazard_at_entry
        return columns

    def dependence_values(self) -> DependenceValues:
        # The residual alone: events and entries may well come in an order.
        return DependenceValues(self.residual[:, None])


def censoring_times_near(
    *, times: FloatArray, event: AnyArray, neighbours: Neighbours
) -> FloatArray:
    """Return times of censoring (n,), drawn after an event from rows near in x.

    `times` (n,) are how long rows were watched, on any scale that increases with time, and
    `event` (n,) is whether the event ended that.
    """
    # The bandwidth is the same whatever the seed and the order of the rows are.
    d_x = len(neighbours.columns)
    in_order = neighbours.x[content_order(neighbours.x[:, :d_x])]
    near = kernels.resolve_x(Gaussian("median"), in_order, neighbours.columns, CONTENT_SEED)
    return draw_censoring_times(
        times=times,
        event=event,
        x=neighbours.x,
        near=near,
        rng=neighbours.seed.stream(Use.MODEL_SAMPLE, CENSORING_STREAM),
    )


def draw_censoring_times(
    *,
    times: FloatArray,
    event: AnyArray,
    x: FloatArray,
    near: CovariateKernel,
    rng: np.random.Generator,
) -> FloatArray:
    """Return times of censoring (n,): as they were, or drawn after the event.

    From times (n,), whether the event came then (n,), and how near rows x (n, d) are.
    """
    if event.all():
        return np.full(len(times), np.inf)
    until = times.copy()
    uniform = rng.random(len(times))
    order = np.argsort(times, kind="stable")
    rows = np.flatnonzero(event)
    parts = -(-len(rows) * len(times) // HELD_NUMBERS)
    for some in np.array_split(rows, parts):
        until[some] = _draw_later(
            times=times[order],
            event=event[order],
            weight=near(x[some], x)[:, order],
            after=times[some],
            uniform=uniform[some],
        )
    return until


def _draw_later(
    *,
    times: FloatArray,
    event: AnyArray,
    weight: FloatArray,
    after: FloatArray,
    uniform: FloatArray,
) -> FloatArray:
    """Draw times of censoring after those of m rows, by uniform numbers (m,).

    From ordered times (n,) with events (n,), which each of the m rows weighs (m, n).
    """
    weight = np.maximum(weight, LEAST_WEIGHT)
    at_risk = np.cumsum(weight[:, ::-1], axis=1)[:, ::-1]
    share = np.clip(np.where(event, 0.0, weight) / at_risk, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log1p(-share)
        first = np.searchsorted(times, after, side="right")
        log[np.arange(len(times)) < first[:, None]] = 0.0
        passed = (np.cumsum(log, axis=1) > np.log(uniform)[:, None]).sum(axis=1)
    return np.asarray(np.append(times, np.inf)[passed])


@dataclass(frozen=True, eq=False)
class CensoredResampler:
    """Draws times of n rows again; those after `until` (n,) are censored."""

    test_functions: CensoredTestFunctions
    entry_z: FloatArray  #: (n,).
    until: FloatArray  #: Times of censoring on the scale of Λ(y) − Λ(entry), (n,).
    names = ()

    @property
    def observed(self) -> FloatArray:
        return np.empty(0)

    def draw(self, rng: np.random.Generator, m: int) -> Resampled:
        n = len(self.until)
        times = rng.standard_exponential((n, m))
        event = times <= self.until[:, None]
        cumulative = hazard(self.entry_z)[:, None] + np.minimum(times, self.until[:, None])
        z = np.where(
            cumulative < 0.5, ndtri(-np.expm1(-cumulative)), -ndtri(np.exp(-cumulative))
        )
        entries = np.broadcast_to(self.entry_z[:, None], (n, m))
        values = self.test_functions.at_times(z.ravel(), event.ravel(), entries.ravel())
        return Resampled(
            values=values.reshape(n, m, -1), additional=np.empty((0, m)), drawn=times
        )
