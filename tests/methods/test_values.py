"""Every public number against the direct evaluation of the design's formulas."""

import numpy as np
import pytest
from scipy.stats import norm

import condgof as cg
import oracle

SIZES = [(d_x, d_y) for d_x in (1, 2, 3, 4) for d_y in (1, 2, 3, 4)]
KERNELS = ["Gaussian", "IMQ", "Matern52"]


def draw(d_x, d_y, n=25):
    rng = np.random.default_rng([d_x, d_y])
    x = rng.normal(3.0, 2.0, (n, d_x))
    y = rng.normal(-1.0, 1.5, (n, d_y))
    return x, y, rng.normal(0.0, 1.0, (n, d_y))


def close(got, wanted):
    np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("d_x", "d_y"), SIZES)
@pytest.mark.parametrize("name", KERNELS)
def test_kcsd_with_the_median_heuristic(name, d_x, d_y):
    x, y, s = draw(d_x, d_y)
    kernel = oracle.KERNELS[name]
    sigma_x = oracle.median_distance(x)
    sigma_y = oracle.median_distance(y)
    matrix = oracle.gram(x, x, kernel, sigma_x) * oracle.stein_h(y, s, kernel, sigma_y)
    make = getattr(cg, name)
    result = cg.kcsd(
        cg.from_scores(s),
        x,
        y,
        kernel_x=make("median"),
        kernel_y=make("median"),
        n_boot=1,
        rng=0,
    )
    close(result.statistic, len(x) * oracle.u_statistic(matrix))
    close([result.kernel_x.bandwidth, result.kernel_y.bandwidth], [sigma_x, sigma_y])


@pytest.mark.parametrize(("d_x", "d_y"), SIZES)
@pytest.mark.parametrize("name", KERNELS)
def test_fscd_witness_and_criterion(name, d_x, d_y):
    x, y, s = draw(d_x, d_y)
    kernel = oracle.KERNELS[name]
    make = getattr(cg, name)
    sets = np.random.default_rng(7).normal(3.0, 2.0, (4, 3, d_x))
    kernels = {"kernel_x": make(2.5), "kernel_y": make(1.2)}
    h = oracle.stein_h(y, s, kernel, 1.2)

    def matrix(locations):
        return oracle.finite_matrix(x, h, locations, kernel, 2.5, d_y)

    result = cg.fscd(cg.from_scores(s), x, y, locations=sets[0], n_boot=1, rng=0, **kernels)
    close(result.statistic, len(x) * oracle.u_statistic(matrix(sets[0])))
    close(
        cg.witness(cg.from_scores(s), x, y, at=sets[0], **kernels),
        [oracle.witness(x, h, v, kernel, 2.5, d_y) for v in sets[0]],
    )
    close(
        cg.power_criterion(cg.from_scores(s), x, y, at=sets[0], **kernels),
        [oracle.criterion(matrix(v[None])) for v in sets[0]],
    )
    close(
        cg.power_criterion(cg.from_scores(s), x, y, at=sets, **kernels),
        [oracle.criterion(matrix(v)) for v in sets],
    )


@pytest.mark.parametrize("null", ["wild", "multinomial"])
def test_null_draws(null):
    from condgof.null import bootstrap_weights
    from condgof.sample import Seed

    x, y, s = draw(2, 2)
    n = len(x)
    h = oracle.stein_h(y, s, oracle.gaussian, 1.2)
    matrix = oracle.gram(x, x, oracle.gaussian, 2.5) * h
    result = cg.kcsd(
        cg.from_scores(s),
        x,
        y,
        kernel_x=cg.Gaussian(2.5),
        kernel_y=cg.Gaussian(1.2),
        null=null,
        n_boot=7,
        rng=5,
    )
    weights = bootstrap_weights(null, n, 7, Seed.of(5)).block(0, n)
    if null == "wild":
        wanted = [oracle.wild_draw(matrix, w) for w in weights.T]
    else:
        wanted = [oracle.multinomial_draw(matrix, w + 1) for w in weights.T]
    close(result.null_distribution, wanted)
    above = sum(draw >= result.statistic for draw in result.null_distribution)
    assert result.pvalue == (1 + above) / 8


@pytest.mark.parametrize("d_y", [1, 3])
@pytest.mark.parametrize("name", KERNELS)
def test_the_unconditional_ancestors(name, d_y):
    _, y, s = draw(1, d_y)
    kernel = oracle.KERNELS[name]
    make = getattr(cg, name)
    h = oracle.stein_h(y, s, kernel, 1.2)
    close(
        cg.ksd(cg.from_scores(s), y, kernel_y=make(1.2), n_boot=1).statistic,
        len(y) * oracle.u_statistic(h),
    )
    locations = np.random.default_rng(1).normal(size=(4, d_y))
    result = cg.fssd(
        cg.from_scores(s), y, locations=locations, kernel_y=make(1.2), n_boot=1
    )
    wanted = oracle.finite_set_statistic(y, s, locations, kernel, 1.2)
    close(result.statistic, len(y) * wanted)


def test_matern12_and_products_on_x():
    x, y, s = draw(3, 2)
    h = oracle.stein_h(y, s, oracle.gaussian, 1.2)
    k = oracle.gram(x[:, [2, 0]], x[:, [2, 0]], oracle.matern12, 1.5)
    k *= oracle.gram(x[:, [1]], x[:, [1]], oracle.gaussian, 0.7)
    kernel_x = cg.Matern12(1.5).on(2, 0) * cg.Gaussian(0.7).on(1)
    result = cg.kcsd(
        cg.from_scores(s), x, y, kernel_x=kernel_x, kernel_y=cg.Gaussian(1.2), n_boot=1
    )
    close(result.statistic, len(x) * oracle.u_statistic(k * h))


def test_scale_x_divides_by_standard_deviations():
    x, y, s = draw(3, 1)
    plain = cg.kcsd(cg.from_scores(s), x / x.std(axis=0, ddof=1), y, n_boot=20, rng=0)
    scaled = cg.kcsd(cg.from_scores(s), x, y, scale_x="std", n_boot=20, rng=0)
    close(scaled.statistic, plain.statistic)
    v = x[:3]
    close(
        cg.witness(cg.from_scores(s), x, y, at=v, scale_x="std"),
        cg.witness(
            cg.from_scores(s), x / x.std(axis=0, ddof=1), y, at=v / x.std(axis=0, ddof=1)
        ),
    )
    result = cg.fscd(cg.from_scores(s), x, y, locations=v, scale_x="std", n_boot=1)
    close(result.locations, v)


def test_ranks_are_compared_by_their_normal_scores():
    """Increasing functions of x change nothing; locations are in the user's units."""
    x, y, s = draw(2, 1)
    z = norm.ppf((np.argsort(np.argsort(x, axis=0), axis=0) + 0.5) / len(x))
    bent = np.column_stack([np.exp(x[:, 0]), x[:, 1] ** 3])
    for by, at in ((x, x[:3]), (bent, bent[:3])):
        for function in (cg.witness, cg.power_criterion):
            got = function(cg.from_scores(s), by, y, at=at, scale_x="ranks")
            close(got, function(cg.from_scores(s), z, y, at=z[:3]))
        result = cg.fscd(
            cg.from_scores(s), by, y, locations=at, scale_x="ranks", n_boot=9, rng=0
        )
        close(result.locations, at)
        wanted = cg.fscd(cg.from_scores(s), z, y, locations=z[:3], n_boot=9, rng=0)
        close(result.statistic, wanted.statistic)
        assert result.pvalue == wanted.pvalue
    found = cg.fscd(cg.from_scores(s), bent, y, scale_x="ranks", n_boot=9, rng=0).locations
    assert ((bent.min(axis=0) <= found) & (found <= bent.max(axis=0))).all()


def test_the_criterion_is_zero_where_there_are_no_data():
    x, y, s = draw(1, 1)
    far = cg.power_criterion(cg.from_scores(s), x, y, at=[1e6], kernel_x=cg.Gaussian(1.0))
    assert far[0] == 0.0
    assert (
        cg.witness(cg.from_scores(s), x, y, at=[1e6], kernel_x=cg.Gaussian(1.0))[0] == 0.0
    )
