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
from condgof.residuals import (
    Y_LANDMARKS_STREAM,
    SteinResiduals,
    SteinTestFunctions,
)
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
    #: The residual in y is `residual` divided by this. A finer factor of y costs little for
    #: few rows, and the error that is reached is then that of x alone.
    finer_in_y: float
    single: bool  #: Whether F and ξ are computed in single precision.
    #: Whether F and ξ of a wide plan (`WIDEST_PLAN`) are projected on main directions.
    reduces: bool = True


SMALL_SAMPLE = LandmarkLimits(
    residual=2e-4, in_x=400, in_y=120, finer_in_y=10, single=False
)
LARGE_SAMPLE = LandmarkLimits(residual=1e-3, in_x=250, in_y=80, finer_in_y=1, single=True)
#: Above this many rows the cheaper limits apply. The statistic of a million rows is then
#: 6e-4 null standard deviations from that with many more landmarks (docs/dev/numerics.md).
LARGE_SAMPLE_ROWS = 50_000
#: Limits where several models are compared. The sums of two similar models may differ by
#: less than the error of each, so kernels are factored more finely, in double precision.
SEVERAL_MODELS = LandmarkLimits(
    residual=1e-4, in_x=400, in_y=120, finer_in_y=10, single=False, reduces=False
)
SEVERAL_MODELS_LARGE = replace(SEVERAL_MODELS, in_x=250, in_y=80)
#: A kernel on y that is a finite number of test functions (cells of a discrete y, angles)
#: is summed exactly for up to this many rows: k(x, x') then has as many landmarks as rows.
EXACT_ROWS = 2500
#: The residual of k(x, x') at which an exact sum stops: rounding error.
EXACT_RESIDUAL = 1e-12
#: A plan with more products F_r·ξ_q of columns than this is projected on main directions:
#: the sums over units of rows (`UnitSums`) hold that many numbers for each unit.
WIDEST_PLAN = 8192
#: Directions are left out while they hold at most this share of ‖FᵀF‖_F, or of ‖ξᵀξ‖_F.
REDUCED_SHARE = 1e-3
#: The residual that was reached is estimated from all pairs of this many rows.
RESIDUAL_ROWS = 400
#: A result notes that power may be lost if the residual is above both limits: this many
#: times the one that was asked for, and `COARSE_RESIDUAL`.
COARSE_FACTOR = 10
#: Residuals up to this are not worth a note, whatever was asked for.
COARSE_RESIDUAL = 5e-3


class KernelPlan(NamedTuple):
    """A plan of one statistic, and what a result says of it."""

    plan: Plan
    precision: float  #: The relative residual that was reached (`estimate_residual`).
    #: (R, q): how many features of x and test functions of y there are. It is a plain tuple
    #: because users read it as ``details["landmarks"]``.
    landmarks: tuple[int, int]
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
    """Factor both kernels, each on its own: k ≈ FFᵀ and h ≈ ξξᵀ.

    Landmarks are chosen among the rows of the subsample, whatever the number n of rows.

    Parameters
    ----------
    rows : PreparedRows
        The n rows, in the units of the kernels.
    kernel_x, kernel_y
        Kernels whose bandwidths are known. Finite locations are features already.
    options : Options
        Its `precision` replaces that of the limits.
    limits : LandmarkLimits, optional
        `SMALL_SAMPLE` or `LARGE_SAMPLE`, by the number of rows, unless given.
    """
    subsample = rows.subsample
    n = rows.n
    if limits is None:
        limits = LARGE_SAMPLE if n > LARGE_SAMPLE_ROWS else SMALL_SAMPLE
    precision = options.precision or limits.residual
    # Any kernel but a radial one is a finite number of test functions, with no landmarks.
    is_finite = not isinstance(kernel_y, Radial)
    is_exact = is_finite and n <= EXACT_ROWS and options.precision is None
    # One BLAS thread: the last bits decide which landmarks are drawn, and must not depend
    # on the number of cores.
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        if isinstance(kernel_x, FiniteLocations):
            feature_map = finite_locations(kernel_x)
        else:
            feature_map = nystrom(
                kernel_x,
                subsample.x,
                seed.stream(Use.LANDMARKS),
                precision=EXACT_RESIDUAL if is_exact else precision,
                cap=n if is_exact else limits.in_x,
                single=limits.single,
            )
        test_functions = subsample.residuals.kernel_test_functions(
            kernel_y,
            seed.stream(Use.LANDMARKS, Y_LANDMARKS_STREAM),
            precision=precision / limits.finer_in_y,
            cap=limits.in_y,
            single=limits.single,
        )
        plan = Plan(Features((feature_map,)), test_functions)
        is_wide = plan.features.width * test_functions.width > WIDEST_PLAN
        if is_wide and limits.reduces and not is_exact:
            plan = _project_on_main_directions(plan, feature_map, subsample)
        reached = estimate_residual(plan, subsample, kernel_x, kernel_y)
    landmarks = (plan.features.width, plan.test_functions.width)
    notes: tuple[str, ...] = ()
    if not is_exact and reached > max(COARSE_FACTOR * precision, COARSE_RESIDUAL):
        notes = (
            f"the kernels were seen through {landmarks[0]} functions of x, to a residual of"
            f" {reached:.1g} (asked: {precision:g}): the level holds, power may be lost",
        )
    return KernelPlan(plan=plan, precision=reached, landmarks=landmarks, notes=notes)


def _project_on_main_directions(
    plan: Plan, feature_map: FeatureMap, subsample: RowsInMemory
) -> Plan:
    """Project F and ξ each on the main directions that they have on the subsample.

    FᵀF and ξᵀξ are the same under any signs of rows: choosing directions by them keeps the
    level.
    """
    test_functions = plan.test_functions
    if feature_map.whites:
        main = _main_directions(plan.features.evaluate(subsample.x))
        white = feature_map.whites[0] @ main
        feature_map = replace(feature_map, whites=(white,), sizes=(white.shape[1],))
    if isinstance(test_functions, SteinTestFunctions):
        assert isinstance(subsample.residuals, SteinResiduals)
        main = _main_directions(test_functions.evaluate(subsample.residuals))
        test_functions = replace(test_functions, rotation=main)
    return Plan(Features((feature_map,)), test_functions, plan.panels)


def _main_directions(values: FloatArray) -> FloatArray:
    """Return eigenvectors of vᵀv, (q, q'), largest first, for values v (n, q).

    The smallest ones are left out, as many as together hold a share `REDUCED_SHARE` of the
    Frobenius norm of vᵀv.
    """
    eigenvalues, eigenvectors = np.linalg.eigh(values.T @ values)  # increasing
    share_below = np.sqrt(np.cumsum(eigenvalues**2) / np.square(eigenvalues).sum())
    kept = eigenvectors[:, share_below > REDUCED_SHARE]
    return np.ascontiguousarray(kept[:, ::-1])


def estimate_residual(
    plan: Plan,
    rows: RowsInMemory,
    kernel_x: CovariateKernel | FiniteLocations,
    kernel_y: ResponseKernel,
) -> float:
    """Estimate ‖H − (FFᵀ)∘(ξξᵀ)‖_F / ‖H‖_F off the diagonal, on the first rows.

    The largest residual of all models, where rows have the scores of several.
    """
    first_rows = slice(0, min(rows.n, RESIDUAL_ROWS))
    x = rows.x[first_rows]
    features = plan.features.evaluate(x)
    largest = 0.0
    for residuals in rows.residuals.take(first_rows).by_model():
        values = plan.test_functions.evaluate(residuals)
        h = values @ values.T
        factored = (features @ features.T) * h
        if isinstance(residuals, SteinResiduals) and isinstance(kernel_y, Radial):
            operator = SteinOperator.from_rows(
                x, residuals.u, residuals.scores, kernel_x, kernel_y
            )
            exact = operator.block(slice(None), slice(None))
        elif isinstance(kernel_x, FiniteLocations):
            exact = factored  # neither side has landmarks
        else:
            exact = kernel_x(x, x) * h  # ξ has no landmarks: h is exact
        largest = max(largest, _relative_difference(factored, exact))
    return largest


def _relative_difference(factored: FloatArray, exact: FloatArray) -> float:
    """Return ‖factored − exact‖_F / ‖exact‖_F of (n, n) matrices off their diagonals.

    Both diagonals are set to 0 in place.
    """
    for matrix in (factored, exact):
        np.fill_diagonal(matrix, 0.0)
    size = float(np.linalg.norm(exact))
    return float(np.linalg.norm(factored - exact)) / size if size else 0.0
