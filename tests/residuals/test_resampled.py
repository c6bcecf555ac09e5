"""Sums over rows of resampled cells are those of the test functions of each row."""

import numpy as np
import pytest

import condgof as cg
from condgof.residuals import residuals_of
from condgof.sample import Sample, Seed

N = 300
#: The largest probability of an exception of rows that keep their most probable cell.
CERTAIN = 0.01


def resampler_of(classes, standardize, keep=None):
    """Return what resamples classes of which a third of the rows is nearly certain."""
    rng = np.random.default_rng(classes)
    p = rng.dirichlet(np.full(classes, 0.5), size=N)
    p[::3] *= 1e-9
    p[::3, 1] = 1.0
    p /= p.sum(axis=1, keepdims=True)
    y = np.array([rng.choice(classes, p=row) for row in p])
    sample = Sample.from_data(rng.normal(size=N), y, to_test=False)
    residuals = residuals_of(cg.probabilities(p), sample, standardize)
    return residuals.rare_event_resampler(residuals.test_functions(Seed.of(0)), keep)


@pytest.mark.parametrize("counted", ["all rows", "some rows"])
@pytest.mark.parametrize("standardize", ["auto", "none"])
@pytest.mark.parametrize("classes", [3, 16, 40])
def test_sums_and_squares_are_those_of_each_row(classes, standardize, counted):
    rng = np.random.default_rng(0)
    keep = None if counted == "all rows" else rng.random(N) < 0.7
    resampler = resampler_of(classes, standardize, keep)
    uniforms = rng.random((N, 6))
    some = slice(40, 290)
    resampled = resampler.resampled(uniforms, CERTAIN)[some]
    # ξ of every row and resample, (b, c, q), by the cells that were drawn.
    ends = np.cumsum(resampler.p, axis=1)[:, :-1]
    codes = (uniforms[:, :, None] >= ends[:, None]).sum(axis=2)
    is_certain = resampler.rare <= CERTAIN
    codes[is_certain] = resampler.mode[is_certain, None]
    each = [resampler.evaluate(None, own) for own in codes.T]
    xi = np.stack(each, axis=1)[some]
    if isinstance(resampled, np.ndarray):  # many cells, by label alone
        assert (classes, standardize) == (40, "none")
        np.testing.assert_array_equal(resampled, xi)
        return
    features = rng.normal(size=(250, 7))
    sums = resampled.sums(features)
    np.testing.assert_allclose(sums, np.einsum("br,bcq->crq", features, xi), atol=1e-10)
    blocks = [np.square(xi[:, :, b.columns]) for b in resampler.test_functions.blocks]
    squares = np.stack([block.sum(axis=2) for block in blocks], axis=2)
    # Also where a row is nearly certain, and its squares are 1e-17.
    np.testing.assert_allclose(resampled.squares(), squares, rtol=1e-6, atol=1e-24)
    single = resampled.sums(features.astype(np.float32))
    np.testing.assert_allclose(single, sums, atol=3e-5)
