"""Test functions of cells of a discrete y, and exceptions of nearly certain rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import condgof as cg
import oracle
from condgof.kernels import Block, Cells, cell_scales
from condgof.residuals import CellTestFunctions, residuals_of
from condgof.sample import Sample, Seed
from seeds import examples

#: The largest probability of an exception of rows that count as nearly certain.
CERTAIN = 0.01


def test_features_of_cells_factor_the_centred_kernel():
    rng = np.random.default_rng(3)
    p = rng.dirichlet([1.0, 2.0, 0.5], size=20)
    codes = np.array([rng.choice(3, p=row) for row in p])
    positions = np.array([0.0, 1.0, 3.0])
    cells = Cells((Block("counts", 0, 3, positions, distances=True),), "counts")
    test_functions = CellTestFunctions(cell_scales(cells, (2.0, 1.0)))
    xi = test_functions.features(np.eye(3)[codes] - p)
    points = positions[:, None]
    for block, sigma in zip(test_functions.blocks, (2.0, 1.0), strict=True):
        gram = oracle.gram(points, points, oracle.gaussian, sigma)
        expected = oracle.centred_h(gram, p, codes)
        some = xi[:, block.columns]
        np.testing.assert_allclose(some @ some.T, expected, atol=1e-9)


def label_residuals(p, seed=0):
    """Residuals by label of classes that are drawn with probabilities p (n, K)."""
    rng = np.random.default_rng(seed)
    codes = (rng.random((len(p), 1)) >= np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
    sample = Sample.from_data(np.arange(len(p)), codes, to_test=False)
    return residuals_of(cg.probabilities(p), sample, "none")


def cell_resampler(residuals):
    test_functions = CellTestFunctions(cell_scales(residuals.cells, (1.0,)))
    return residuals.rare_event_resampler(test_functions)


def two_cells(n, rare):
    """Residuals of n rows whose second cell has the probability `rare`, (n,) or one."""
    rare = np.broadcast_to(rare, n)
    return label_residuals(np.column_stack([1 - rare, rare]))


def exceptions_of(residuals, start, stop, draws):
    """Return where exceptions of rows start to stop are, as pairs of draw and row."""
    resampler = cell_resampler(residuals.take(slice(start, stop)))
    exceptions = resampler.exceptions(start, CERTAIN, draws, Seed.of(3))
    assert (resampler.other_cells(exceptions) != resampler.mode[exceptions.rows]).all()
    rows = start + exceptions.rows
    return set(zip(exceptions.draws.tolist(), rows.tolist(), strict=True))


def test_exceptions_have_the_probability_of_the_law():
    rare = np.array([0.0, 1e-3, 0.01, 0.3])[np.arange(4000) % 4]
    exceptions = exceptions_of(two_cells(4000, rare), 0, 4000, range(400))
    # Rows that are not nearly certain are resampled otherwise: they have no exceptions.
    for k, p in enumerate((0.0, 1e-3, 0.01, 0.0)):
        count = sum(row % 4 == k for _, row in exceptions)
        assert binom.ppf(1e-4, 400_000, p) <= count <= binom.isf(1e-4, 400_000, p)


def test_exceptions_of_three_cells_are_the_other_two():
    p = np.tile([0.002, 0.99, 0.008], (3000, 1))
    resampler = cell_resampler(label_residuals(p))
    exceptions = resampler.exceptions(0, 0.011, range(200), Seed.of(0))
    codes = resampler.other_cells(exceptions)
    assert set(codes.tolist()) == {0, 2}
    first = int((codes == 0).sum())
    assert binom.ppf(1e-4, len(codes), 0.2) <= first <= binom.isf(1e-4, len(codes), 0.2)


@pytest.fixture(scope="module")
def rare_rows():
    return two_cells(9000, 2e-3)


@settings(max_examples=examples(10), deadline=None)
@given(cut=st.integers(1, 8999), first=st.integers(0, 5000))
def test_exceptions_do_not_depend_on_how_rows_are_cut(rare_rows, cut, first):
    draws = range(20, 60)
    whole = exceptions_of(rare_rows, 0, 9000, draws)
    low, high = sorted({first, cut}) if first != cut else (cut, cut + 1)
    spans = [(0, low), (low, high), (high, 9000)]
    parts = [exceptions_of(rare_rows, a, b, draws) for a, b in spans if a < b]
    assert set.union(*parts) == whole
    assert sum(map(len, parts)) == len(whole)


def test_cells_found_by_one_search_are_the_first_whose_running_sum_is_larger():
    """Of more than 16 cells, some of them without any probability."""
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.full(40, 0.2), size=200)
    p[:, [0, 7, 39]] = 0.0
    p /= p.sum(axis=1, keepdims=True)
    y = np.array([rng.choice(40, p=row) for row in p])
    law = cg.probabilities(p)
    sample = Sample.from_data(rng.normal(size=200), y)
    residuals = residuals_of(law, sample, "auto")
    resampler = residuals.resampler(residuals.test_functions(Seed.of(0)), None)
    drawn = resampler.draw(np.random.default_rng(1), 3)
    for uniform, values in zip(drawn.drawn.T, drawn.values.swapaxes(0, 1), strict=True):
        first = [np.flatnonzero(u < np.cumsum(p[i]))[0] for i, u in enumerate(uniform)]
        np.testing.assert_array_equal(values, resampler.evaluate(None, np.array(first)))
        assert (p[np.arange(200), first] > 0).all()
