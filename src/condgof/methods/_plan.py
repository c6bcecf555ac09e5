"""The plan of one pair of kernels: both are factored, each on its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import single_threaded_blas
from condgof.kernels import (
    CovariateKernel,
    FiniteLocations,
    Radial,
    ResponseKernel,
)
from condgof.methods._options import Options
from condgof.residuals import SteinResiduals, SteinTestFunctions
from condgof.sample import Seed, Use
from condgof.stein import (
    FeatureMap,
    Features,
    Plan,
    PreparedRows,
    RowsInMemory,
    SteinOperator,
    finite_locations,
    nystrom,
)


@dataclass(frozen=True)
class LandmarkLimits:
    """How far kernels are factored, unless a user asks otherwise."""

    residual: float  #: Relative error of the kernel matrices to stop at.
    in_x: int  #: Most landmarks in x.
    in_y: int  #: Most landmarks in y.
    #: How much finer y is factored than x: of few rows it costs little, and the error that
    #: is reached is then that of x alone.
    finer_in_y: float
    single: bool  #: Whether to compute in single precision.
    #: Whether wide plans are turned to the directions that matter.
    reduces: bool = True


SMALL_SAMPLE = LandmarkLimits(
    residual=2e-4, in_x=400, in_y=120, finer_in_y=10, single=False
)
LARGE_SAMPLE = LandmarkLimits(residual=1e-3, in_x=250, in_y=80, finer_in_y=1, single=True)
#: Above this many rows the cheaper limits apply: they err by 6e-4 standard deviations of
#: the null.
LARGE_SAMPLE_ROWS = 50_000
#: Where several models are compared, their sums differ by less than they err: finer.
SEVERAL_MODELS = LandmarkLimits(
    residual=1e-4, in_x=400, in_y=120, finer_in_y=10, single=False, reduces=False
)
SEVERAL_MODELS_LARGE = replace(SEVERAL_MODELS, in_x=250, in_y=80)
#: A kernel that is a finite number of test functions (of a discrete y, of angles) is summed
#: exactly for up to this many rows,
EXACT_ROWS = 2500
#: with a residual that is rounding, and as many landmarks as rows.
EXACT_RESIDUAL = 1e-12
#: Plans with more products than this are turned to the directions that matter,
WIDEST_PLAN = 8192
#: which hold all but this share of the size of FᵀF and ξᵀξ.
REDUCED_SHARE = 1e-3
#: Rows whose pairs tell what residual was reached.
PROBE_ROWS = 400
#: Power may be lost where the residual is this many times what was asked for,
COARSE_FACTOR = 10
#: and above this.
COARSE_RESIDUAL = 5e-3


class KernelPlan(NamedTuple):
    """A plan, and what a result says of it."""

    plan: Plan
    precision: float  #: The residual that was reached.
    landmarks: tuple[int, int]  #: How many functions of x and of y there are.
    notes: tuple[str, ...]

    def details(self) -> dict[str, Any]:
        details: dict[str, Any] = {
            "precision": self.precision,
            "landmarks": self.landmarks,
        }
        if self.notes:
            details["notes"] = self.notes
        return details


def plan_kernels(
    rows: PreparedRows,
    kernel_x: CovariateKernel | FiniteLocations,
    kernel_y: ResponseKernel,
    options: Options,
    seed: Seed,
    limits: LandmarkLimits | None = None,
) -> KernelPlan:
    """Factor both kernels, each on its own."""
    some = rows.subsample
    n = rows.n
    if limits is None:
        limits = LARGE_SAMPLE if n > LARGE_SAMPLE_ROWS else SMALL_SAMPLE
    precision = options.precision or limits.residual
    # Any kernel but a radial one is a finite number of test functions, with no landmarks.
    is_finite = not isinstance(kernel_y, Radial)
    exact = is_finite and n <= EXACT_ROWS and options.precision is None
    # One BLAS thread: the last bits decide which landmarks are drawn, and must not depend
    # on the number of cores.
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        if isinstance(kernel_x, FiniteLocations):
            feature_map = finite_locations(kernel_x)
        else:
            feature_map = nystrom(
                kernel_x,
                some.x,
                seed.stream(Use.LANDMARKS),
                precision=EXACT_RESIDUAL if exact else precision,
                cap=n if exact else limits.in_x,
                single=limits.single,
            )
        test_functions = some.residuals.kernel_test_functions(
            kernel_y,
            seed.stream(Use.LANDMARKS, 2),
            precision=precision / limits.finer_in_y,
            cap=limits.in_y,
            single=limits.single,
        )
        plan = Plan(Features((feature_map,)), test_functions)
        is_wide = plan.features.width * test_functions.width > WIDEST_PLAN
        if is_wide and limits.reduces and not exact:
            plan = _reduced(plan, feature_map, some)
        reached = residual(plan, some, kernel_x, kernel_y)
    landmarks = (plan.features.width, plan.test_functions.width)
    notes: tuple[str, ...] = ()
    if not exact and reached > max(COARSE_FACTOR * precision, COARSE_RESIDUAL):
        notes = (
            f"the kernels were seen through {landmarks[0]} functions of x, to a residual of"
            f" {reached:.1g} (asked: {precision:g}): the level holds, power may be lost",
        )
    return KernelPlan(plan=plan, precision=reached, landmarks=landmarks, notes=notes)


def _reduced(plan: Plan, feature_map: FeatureMap, rows: RowsInMemory) -> Plan:
    """Turn both sides to their main directions on some rows.

    FᵀF and ξᵀξ are the same under any signs of rows: choosing directions by them keeps the
    level.
    """
    test_functions = plan.test_functions
    if feature_map.whites:
        main = _main_directions(plan.features.evaluate(rows.x))
        white = feature_map.whites[0] @ main
        feature_map = replace(feature_map, whites=(white,), sizes=(white.shape[1],))
    if isinstance(test_functions, SteinTestFunctions):
        assert isinstance(rows.residuals, SteinResiduals)
        main = _main_directions(test_functions.evaluate(rows.residuals))
        test_functions = replace(test_functions, rotation=main)
    return Plan(Features((feature_map,)), test_functions, plan.panels)


def _main_directions(values: FloatArray) -> FloatArray:
    """Return the eigenvectors of vᵀv, (q, q'), but for a small share of its size."""
    squares, axes = np.linalg.eigh(values.T @ values)
    left = np.sqrt(np.cumsum(squares**2) / np.square(squares).sum())
    return np.ascontiguousarray(axes[:, left > REDUCED_SHARE][:, ::-1])


def residual(
    plan: Plan,
    rows: RowsInMemory,
    kernel_x: CovariateKernel | FiniteLocations,
    kernel_y: ResponseKernel,
) -> float:
    """Estimate ‖H − (FFᵀ)∘(ξξᵀ)‖_F / ‖H‖_F off the diagonal, on some rows.

    The largest of all models, where rows have the scores of several.
    """
    some = slice(0, min(rows.n, PROBE_ROWS))
    x = rows.x[some]
    features = plan.features.evaluate(x)
    largest = 0.0
    for one in rows.residuals.take(some).by_model():
        values = plan.test_functions.evaluate(one)
        h = values @ values.T
        near = (features @ features.T) * h
        if isinstance(one, SteinResiduals) and isinstance(kernel_y, Radial):
            operator = SteinOperator.from_rows(x, one.u, one.scores, kernel_x, kernel_y)
            exact = operator.block(slice(None), slice(None))
        elif isinstance(kernel_x, FiniteLocations):
            exact = near
        else:
            exact = kernel_x(x, x) * h
        largest = max(largest, _relative_difference(near, exact))
    return largest


def _relative_difference(near: FloatArray, exact: FloatArray) -> float:
    """Return ‖near − exact‖_F / ‖exact‖_F of two matrices without their diagonals."""
    for matrix in (near, exact):
        np.fill_diagonal(matrix, 0.0)
    size = float(np.linalg.norm(exact))
    return float(np.linalg.norm(near - exact)) / size if size else 0.0
