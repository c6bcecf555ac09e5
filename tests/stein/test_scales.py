"""Several bandwidths at once: each must be what one bandwidth by itself gives."""

import numpy as np
import pytest

import condgof as cg
import oracle
from condgof.engine import Threads
from condgof.errors import NumericalError
from condgof.kernels import Categorical, CovariateKernel, Gaussian, OnColumns
from condgof.null import multinomial_weights, sign_weights
from condgof.sample import Seed
from condgof.stein import (
    ArrayRows,
    Piece,
    ScaleKernel,
    SteinOperator,
    choose_scale_landmarks,
    scale_forms,
    scale_sweep,
    scale_totals,
)

ONE = Threads(1)
HALVES = ((1.0, 0.5, 0.25), (4.0, 2.0, 1.0, 0.5))
OTHERS = ((3.0, 1.0, 0.3), (2.5, 0.7))
KERNELS = {
    "numeric": (OnColumns(Gaussian(1.7), (0, 1)),),
    "mixed": (OnColumns(Gaussian(1.7), (1,)), OnColumns(Categorical(0.5), (2,))),
    "levels": (OnColumns(Categorical(0.3), (2,)),),
}


def draw(n, d_y, seed=0):
    rng = np.random.default_rng([seed, d_y])
    x = np.column_stack([rng.normal(3.0, 2.0, (n, 2)), rng.integers(0, 3, n)])
    return x, rng.normal(-1.0, 1.5, (n, d_y)), rng.normal(size=(n, d_y))


def make(x, y, s, kernel_x, scales):
    kernel = ScaleKernel.amid(x, y, kernel_x, *scales)
    return kernel, kernel.rows(x, y, s)


def narrowed(kernel_x, multiple):
    return CovariateKernel(
        tuple(
            OnColumns(Gaussian(multiple * f.kernel.sigma), f.columns)
            if isinstance(f.kernel, Gaussian)
            else f
            for f in kernel_x.factors
        )
    )


def matrices(x, y, s, kernel_x, kernel):
    """Each scale by itself, as `kcsd` computes it."""
    for multiple, sigma in kernel.scales:
        operator = SteinOperator.of(x, y, s, narrowed(kernel_x, multiple), Gaussian(sigma))
        yield operator.block(slice(0, len(y)), slice(0, len(y)))


@pytest.mark.parametrize("d_y", [1, 2, 3])
@pytest.mark.parametrize("scales", [HALVES, OTHERS], ids=["halves", "others"])
@pytest.mark.parametrize("name", KERNELS)
def test_each_scale_is_the_kernel_of_its_bandwidths(name, scales, d_y):
    x, y, s = draw(40, d_y)
    kernel_x = CovariateKernel(KERNELS[name])
    kernel, rows = make(x, y, s, kernel_x, scales)
    expected = 1 if name == "levels" else len(scales[0])
    assert len(kernel.scales) == expected * len(scales[1])
    for k, (block, wanted) in enumerate(
        zip(kernel.blocks(rows, rows), matrices(x, y, s, kernel_x, kernel), strict=True)
    ):
        np.testing.assert_allclose(block, wanted, rtol=1e-11, atol=1e-12 * np.abs(wanted).max())
        np.testing.assert_allclose(np.diag(block), kernel.diag(rows)[k], rtol=1e-10)


def test_blocks_of_different_rows():
    x, y, s = draw(30, 2)
    kernel_x = CovariateKernel(KERNELS["mixed"])
    kernel, rows = make(x, y, s, kernel_x, HALVES)
    some, others = rows.take(slice(3, 11)), rows.take(np.array([20, 1, 29]))
    wholes = [block.copy() for block in kernel.blocks(rows, rows)]
    for block, whole in zip(kernel.blocks(some, others), wholes, strict=True):
        np.testing.assert_allclose(block, whole[3:11][:, [20, 1, 29]], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("far", ["x", "y", "both"])
def test_rows_far_away_are_compared_by_differences(far):
    """Two clusters 10⁵ bandwidths apart, on both sides of the centre: products would lose 6 digits."""
    x, y, s = draw(24, 2)
    x = x[:, :2]
    side = np.where(np.arange(24) % 2, 1e5, -1e5)[:, None]
    x, y = (x + side if far != "y" else x), (y + side if far != "x" else y)
    kernel_x = CovariateKernel(KERNELS["numeric"])
    kernel, rows = make(x, y, s, kernel_x, OTHERS)
    wanted = oracle.scale_matrices(x, y, s, 1.7, *OTHERS)
    for block, matrix in zip(kernel.blocks(rows, rows), wanted, strict=True):
        np.testing.assert_allclose(block, matrix, rtol=1e-8, atol=1e-9 * np.abs(matrix).max())


@pytest.mark.parametrize("make_weights", [sign_weights, multinomial_weights])
@pytest.mark.parametrize("n", [3, 64, 65, 400])
def test_a_sweep_is_the_sum_over_dense_matrices(n, make_weights):
    x, y, s = draw(n, 2)
    kernel_x = CovariateKernel(KERNELS["mixed"])
    kernel, rows = make(x, y, s, kernel_x, HALVES)
    weights = make_weights(n, 11, Seed.of(1))
    got = scale_sweep(kernel, rows, weights, engine=ONE, memory=10**8)
    w = weights.block(0, n)
    for k, matrix in enumerate(matrices(x, y, s, kernel_x, kernel)):
        size = np.abs(matrix).sum()
        total = matrix.sum() - np.trace(matrix)
        assert got.totals[k] == pytest.approx(total, rel=1e-9, abs=1e-12 * size)
        forms = oracle.off_diagonal_forms(matrix, w)
        np.testing.assert_allclose(got.forms[k], forms, rtol=0, atol=1e-5 * forms.std())


def test_a_sweep_does_not_depend_on_threads_or_memory():
    x, y, s = draw(300, 1)
    kernel, rows = make(x, y, s, CovariateKernel(KERNELS["numeric"]), HALVES)
    weights = sign_weights(300, 20, Seed.of(0))
    one = scale_sweep(kernel, rows, weights, engine=ONE, memory=10**8)
    for threads, memory in ((3, 10**8), (3, 50_000)):
        many = scale_sweep(kernel, rows, weights, engine=Threads(threads), memory=memory)
        np.testing.assert_array_equal(many.totals, one.totals)
        np.testing.assert_array_equal(many.forms, one.forms)


@pytest.mark.parametrize("size", [1e-20, 1e20, 1e70])
def test_a_sweep_in_any_unit(size):
    """Draws are in single precision, which ends at 1e38: they are made in units of the diagonal."""
    x, y, s = draw(100, 1)
    kernel_x = CovariateKernel(KERNELS["numeric"])
    weights = sign_weights(100, 10, Seed.of(0))
    kernel, rows = make(x, y, s, kernel_x, HALVES)
    plain = scale_sweep(kernel, rows, weights, engine=ONE, memory=10**8)
    scales = (HALVES[0], tuple(size * sigma for sigma in HALVES[1]))
    kernel, rows = make(x, y * size, s / size, kernel_x, scales)
    other = scale_sweep(kernel, rows, weights, engine=ONE, memory=10**8)
    np.testing.assert_allclose(other.totals * size * size, plain.totals, rtol=1e-9)
    spread = plain.forms.std(axis=1, keepdims=True)
    np.testing.assert_allclose(other.forms * size * size / spread, plain.forms / spread, atol=1e-5)


def test_an_overflow_is_an_error():
    x, y, s = draw(20, 1)
    kernel, rows = make(x, y, s * 1e200, CovariateKernel(KERNELS["numeric"]), HALVES)
    with pytest.raises(NumericalError, match="overflows"):
        scale_sweep(kernel, rows, sign_weights(20, 3, Seed.of(0)), engine=ONE, memory=10**8)


class TestLandmarks:
    def exact_and_low(self, n=120, d_y=2, name="mixed", scale=1.0, **options):
        x, y, s = draw(n, d_y)
        y, s = y * scale, s / scale
        scales = (HALVES[0], tuple(scale * sigma for sigma in HALVES[1]))
        kernel, rows = make(x, y, s, CovariateKernel(KERNELS[name]), scales)
        weights = sign_weights(n, 15, Seed.of(1))
        landmarks = choose_scale_landmarks(kernel, rows, np.random.default_rng(0), **options)
        exact = scale_sweep(kernel, rows, weights, engine=ONE, memory=10**8)
        low, held = scale_forms(landmarks, ArrayRows(x, y, s), weights, ONE)
        return exact, low, landmarks, ArrayRows(x, y, s), held

    @pytest.mark.parametrize("scale", [1e-25, 1.0, 1e25])
    @pytest.mark.parametrize("name", KERNELS)
    def test_a_full_rank_is_exact(self, name, scale):
        exact, low, *_ = self.exact_and_low(name=name, scale=scale, tolerance=1e-12, cap=120)
        spread = exact.forms.std(axis=1, keepdims=True)
        assert (np.abs(low.forms - exact.forms) <= 2e-4 * spread).all()  # factors stop at 1e-8
        assert (np.abs(low.totals - exact.totals) <= 2e-4 * spread[:, 0]).all()

    def test_the_tolerance_bounds_the_error(self):
        """|Σ_{i≠j} w_i w_j R_ij| ≤ n‖R‖_F off the diagonal; the residual is of the summed scales."""
        n, tolerance = 120, 1e-3
        exact, low, landmarks, rows, _ = self.exact_and_low(n=n, tolerance=tolerance, cap=n)
        assert landmarks.residual <= tolerance
        assert not landmarks.capped
        kernel, whole = landmarks.kernel, landmarks.kernel.rows(rows.x, rows.y, rows.scores)
        units = kernel.diag(whole).mean(axis=1)
        total = sum(block / unit for block, unit in zip(kernel.blocks(whole, whole), units, strict=True))
        np.fill_diagonal(total, 0.0)
        bound = 2 * n * tolerance * np.linalg.norm(total) * units
        assert (np.abs(low.forms - exact.forms).max(axis=1) <= bound).all()
        assert (np.abs(low.totals - exact.totals) <= bound).all()

    def test_a_cap_is_told_and_wide_scales_need_less(self):
        _, _, landmarks, _, _ = self.exact_and_low(n=120, tolerance=1e-9, cap=30)
        assert landmarks.capped
        assert max(landmarks.ranks) <= 30
        _, _, landmarks, _, _ = self.exact_and_low(n=120, d_y=1, tolerance=1e-9, cap=120)
        widest = landmarks.kernel.scales.index((1.0, 4.0))
        narrowest = landmarks.kernel.scales.index((0.25, 0.5))
        assert landmarks.ranks[widest] < landmarks.ranks[narrowest]

    def test_totals_alone(self):
        """With the share of exactly the rows that are no landmarks, nothing is estimated."""
        _, low, landmarks, rows, _ = self.exact_and_low(n=120, tolerance=1e-4, cap=80)
        others = np.setdiff1d(np.arange(120), landmarks.index)
        rest = ArrayRows(rows.x[others], rows.y[others], rows.scores[others])
        held = scale_forms(landmarks, rest, sign_weights(len(others), 2, Seed.of(0)), ONE)[1]
        np.testing.assert_allclose(scale_totals(landmarks, rows, ONE, held), low.totals, rtol=1e-6)

    def test_rows_left_out_count_for_nothing(self):
        _, _, landmarks, rows, held = self.exact_and_low(n=120, tolerance=1e-4, cap=80)
        keep = np.arange(120) % 3 > 0

        class Some(ArrayRows):
            def pieces(self):
                yield Piece(0, self.x, self.y, self.scores, keep)

        some = ArrayRows(rows.x[keep], rows.y[keep], rows.scores[keep])
        masked = Some(rows.x, rows.y, rows.scores)
        np.testing.assert_allclose(
            scale_totals(landmarks, masked, ONE, held),
            scale_totals(landmarks, some, ONE, held),
            rtol=1e-10,
        )

    def test_an_outlier_beyond_the_null_rows_costs_nothing(self):
        """The share of the diagonal is not for a row that outweighs all others."""
        n, m = 600, 50
        x, y, s = draw(n, 1)
        y[-1], s[-1] = 1e6, -1e6
        kernel, rows = make(x, y, s, CovariateKernel(KERNELS["numeric"]), HALVES)
        some = slice(200, 599)  # none of the landmarks, as in the test itself, nor the outlier
        landmarks = choose_scale_landmarks(
            kernel, rows.take(slice(0, 200)), np.random.default_rng(0), tolerance=1e-3, cap=100
        )
        null = ArrayRows(x[some], y[some], s[some])
        forms, held = scale_forms(landmarks, null, sign_weights(399, m, Seed.of(1)), ONE)
        whole = scale_forms(landmarks, ArrayRows(x, y, s), sign_weights(n, m, Seed.of(1)), ONE)[0]
        totals = scale_totals(landmarks, ArrayRows(x, y, s), ONE, held)
        spread = forms.forms.std(axis=1) * (n - 1) / 398
        assert (np.abs(totals - whole.totals) <= 0.25 * spread).all()

    @pytest.mark.parametrize("size", [1e3, 1e5, 1e6])
    def test_one_outlier_does_not_hide_the_other_rows(self, size):
        """Its score is so large that beside its diagonal all others are nothing."""
        x, y, s = draw(120, 1)
        y[5], s[5] = size, -size
        kernel, rows = make(x, y, s, CovariateKernel(KERNELS["numeric"]), HALVES)
        weights = sign_weights(120, 15, Seed.of(1))
        exact = scale_sweep(kernel, rows, weights, engine=ONE, memory=10**8)
        landmarks = choose_scale_landmarks(
            kernel, rows, np.random.default_rng(0), tolerance=1e-9, cap=120
        )
        assert min(landmarks.ranks) > 10
        low, _ = scale_forms(landmarks, ArrayRows(x, y, s), weights, ONE)
        spread = exact.forms.std(axis=1, keepdims=True)
        assert (np.abs(low.forms - exact.forms) <= 5e-3 * spread).all()
        assert (np.abs(low.totals - exact.totals) <= 5e-3 * spread[:, 0]).all()


def test_kcsd_by_low_rank_beside_an_outlier():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = x + 1.2 * rng.normal(size=400)
    y[7] = 1e8
    model = cg.from_scores(x - y)
    exact, low = (cg.kcsd(model, x, y, rng=0, n_boot=100, solver=s) for s in ("exact", "lowrank"))
    assert low.details["rank"] > 20
    assert low.pvalue == pytest.approx(exact.pvalue, abs=0.011)
