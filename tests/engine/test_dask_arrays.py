"""Dask arrays: used where they are, with results that do not depend on their chunks."""

import dask.array as da
import numpy as np
import pytest

import condgof as cg
from condgof.errors import InputError, InputTypeError, NonFiniteError, ShapeError

N = 20_000
CHUNKS = [20_000, 7_001, (1, 4_095, 4_097, 11_807)]


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 2))
    mean = x[:, 0] - x[:, 1]
    std = np.exp(0.3 * x[:, 1])
    return x, mean + std * rng.normal(size=N), mean, std


def lazy(sample, chunks):
    rows = chunks if isinstance(chunks, tuple) else (chunks,)
    return [
        da.from_array(a, chunks=((rows if len(rows) > 1 else chunks), *a.shape[1:]))
        for a in sample
    ]


@pytest.fixture(scope="module")
def reference(sample):
    """The same sample as one chunk, without a cluster."""
    x, y, mean, std = lazy(sample, N)
    return cg.kcsd((mean, std), x, y, rng=5, n_boot=200)


def assert_same(result, other):
    assert result.pvalue == other.pvalue
    assert result.statistic == pytest.approx(other.statistic, rel=1e-8)


@pytest.mark.parametrize("chunks", CHUNKS)
def test_without_a_cluster(sample, chunks, reference):
    x, y, mean, std = lazy(sample, chunks)
    assert_same(cg.kcsd((mean, std), x, y, rng=5, n_boot=200), reference)


@pytest.mark.parametrize("chunks", CHUNKS)
def test_on_a_cluster(client, sample, chunks, reference):
    x, y, mean, std = lazy(sample, chunks)
    assert_same(cg.kcsd((mean, std), x, y, rng=5, n_boot=200, engine=client), reference)


def test_ways_to_give_the_model(client, sample, reference):
    x, y, mean, std = (client.persist(array) for array in lazy(sample, 7_001))
    functional = cg.models.Normal(
        mean=lambda x: x[:, 0] - x[:, 1], std=lambda x: np.exp(0.3 * x[:, 1])
    )
    for model in (cg.from_scores((mean - y) / std**2), sample[2:], functional):
        assert_same(cg.kcsd(model, x, y, rng=5, n_boot=200, engine=client), reference)


def test_close_to_arrays_in_memory(sample, reference):
    kernels = {"kernel_x": reference.kernel_x, "kernel_y": reference.kernel_y}
    x, y, mean, std = sample
    near = cg.kcsd((mean, std), x, y, rng=5, n_boot=200, solver="lowrank", **kernels)
    sd = near.null_distribution.std()
    assert reference.statistic == pytest.approx(near.statistic, abs=0.02 * sd)
    assert abs(reference.pvalue - near.pvalue) <= 0.02


def test_the_other_tests_and_maps(client, sample):
    x, y, mean, std = lazy(sample, 7_001)
    at = [[2.0, 0.0], [0.0, 0.0]]
    near, far = (
        cg.fscd((mean, std), x, y, locations="random", rng=1, n_boot=100, engine=engine)
        for engine in (None, client)
    )
    assert_same(far, near)
    score = cg.from_scores((mean - y) / std**2)
    near, far = (
        cg.ksd(score, y, rng=1, n_boot=100, engine=engine) for engine in (None, client)
    )
    assert_same(far, near)
    for function in (cg.witness, cg.power_criterion):
        near, far = (
            function(score, x, y, at=at, rng=1, engine=engine) for engine in (None, client)
        )
        np.testing.assert_allclose(far, near, rtol=1e-8)


def test_small_arrays_are_tested_exactly(client, sample):
    x, y, mean, std = (a[:400] for a in sample)
    near = cg.kcsd((mean, std), x, y, rng=2)
    far = cg.kcsd(tuple(lazy((mean, std), 150)), *lazy((x, y), 150), rng=2, engine=client)
    assert far.solver == "exact"
    assert_same(far, near)


class TestErrors:
    def test_a_bad_row_is_named(self, client, sample):
        x, y, mean, std = sample
        y = y.copy()
        y[12_345] = np.nan
        with pytest.raises(NonFiniteError, match="y is NaN or infinite in row 12345"):
            cg.kcsd(
                tuple(lazy((mean, std), 6000)), *lazy((x, y), 6000), rng=0, engine=client
            )

    @pytest.mark.parametrize(
        ("run", "error", "message"),
        [
            (
                lambda x, y, m, s: cg.kcsd((m, s), x, np.ones(N)),
                InputTypeError,
                "throughout",
            ),
            (
                lambda x, y, m, s: cg.kcsd((m[:-1], s), x, y),
                ShapeError,
                "n = 20000 as y has",
            ),
            (
                lambda x, y, m, s: cg.kcsd((m, s), x[:, :, None], y),
                ShapeError,
                "x must hold",
            ),
            (
                lambda x, y, m, s: cg.kcsd((m, s), x, y[y > 0]),
                ShapeError,
                "compute_chunk_sizes",
            ),
            (
                lambda x, y, m, s: cg.kcsd(cg.columns(score="q"), x, y),
                InputError,
                "no column 'q'",
            ),
            (
                lambda x, y, m, s: cg.kcsd((m, s), x, y, solver="exact"),
                InputError,
                "in memory",
            ),
            (lambda x, y, m, s: cg.kcsd((m, s), x * 1j, y), ShapeError, "real numbers"),
        ],
    )
    def test_calls(self, sample, run, error, message):
        with pytest.raises(error, match=message):
            run(*lazy(sample, 6000))


def test_weights_are_an_array_of_the_same_rows(client, sample):
    x, y, mean, std = lazy(sample, 7_001)
    w = np.exp(sample[0][:, 1])
    lazy_weights = da.from_array(w, chunks=7_001)
    results = [
        cg.kcsd((mean, std), x, y, weights=weights, engine=engine, rng=5, n_boot=100)
        for weights, engine in ((w, None), (lazy_weights, None), (lazy_weights, client))
    ]
    assert_same(results[1], results[0])
    assert_same(results[2], results[0])
