"""`composite`: against a slow loop, on any workers, with failing fits, in containers."""

import inspect
import sys
import threading
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import norm

import condgof as cg
from condgof.check import OPTIONS_OF_COMPOSITE, TESTS, AdaptiveStatistics
from condgof.engine import as_engine
from condgof.errors import (
    InputError,
    InputTypeError,
    ModelError,
    RefitError,
    UnsupportedModelError,
)
from condgof.laws import law_of
from condgof.methods import LOCAL_BANDWIDTH, families_of, make_design, narrowed
from condgof.null import NullDraws, Resample, RowWeights, pvalue
from condgof.residuals import OUTLIERS, NormalResampler
from condgof.sample import Sample, Seed, Use
from condgof.stein import RowsInMemory, Units
from own_fits import FailsOnSome
from own_laws import OfX, model_of

N_BOOT = 19


@pytest.fixture
def curve():
    """A line with some curvature, 60 rows."""
    rng = np.random.default_rng(5)
    x = rng.uniform(-2, 2, 60)
    return x, 1.0 + x + 0.3 * x**2 + rng.standard_normal(60)


def line_fit(x, y):
    """Least squares by a formula; a tuple (mean, std)."""
    slope, intercept = np.polyfit(x, y, 1)
    mean = intercept + slope * x
    return mean, np.full(len(x), np.sqrt(np.square(y - mean).sum() / (len(x) - 2)))


def slow_draws(x, y, statistic, seed, n_boot=N_BOOT):
    """The definition: draw, refit, evaluate, one after the other."""
    mean, std = line_fit(x, y)
    found = []
    for b in range(1, n_boot + 1):
        rng = Seed.of(seed).stream(Use.REPLICATE, b, 0)
        drawn = mean + std * rng.standard_normal((len(x), 1))[:, 0]
        found.append(statistic(line_fit(x, drawn), x, drawn))
    return np.array(found)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("kcsd", {}),
        ("kcsd", {"standardize": "cdf", "scale_x": "std", "kernel_y": cg.IMQ(1.0)}),
        ("kcsd", {"solver": "lowrank"}),
        ("kcsd", {"precision": 0.05, "standardize": "cdf"}),
        ("zheng", {}),
        ("mmd", {}),
        ("fscd", {"locations": "random"}),
        ("fscd", {"locations": "optimize", "n_locations": 1}),
    ],
)
def test_a_slow_loop_gives_the_same(curve, name, options):
    x, y = curve

    def statistic(model, x, y):
        return getattr(cg, name)(model, x, y, rng=3, **options).statistic

    result = cg.composite(
        line_fit, x, y, statistic=name, n_boot=N_BOOT, rng=3, engine=1, **options
    )
    expected = slow_draws(x, y, statistic, 3)
    observed = statistic(line_fit(x, y), x, y)
    assert result.statistic == pytest.approx(observed, rel=1e-9)
    np.testing.assert_allclose(result.null_distribution, expected, rtol=1e-8, atol=1e-12)
    assert result.pvalue == (1 + np.sum(expected >= observed)) / (N_BOOT + 1)
    assert result.method == f"composite({name})"
    assert result.null == "parametric bootstrap"


def run_and_record(fit, x, y, **options):
    """Run `composite`; return its result, its `AdaptiveStatistics` and their values."""
    statistics = []
    rows = []

    def spy(self, model, y):
        statistics.append(self)
        rows.append(values(self, model, y))
        return rows[-1]

    values = AdaptiveStatistics.values
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AdaptiveStatistics, "values", spy)
        result = cg.composite(fit, x, y, statistic="adaptive", rng=3, engine=1, **options)
    return result, statistics[0], np.array(rows)


def test_adaptive_is_the_same_combination_of_all_replicates(curve):
    """The statistics of each sample are those of `adaptive`, combined by the definition."""
    x, y = curve
    result, inside, values = run_and_record(line_fit, x, y, n_boot=N_BOOT)
    engine = as_engine(1)

    def statistics(model, x, y):
        sample = Sample.from_data(x, y)
        law = law_of(cg.as_model(model), sample)
        rows = RowsInMemory.from_law(law, sample, Units("ranks", "auto"))
        plan = make_design(rows).plan
        return Resample().draw(plan, rows, 1, Seed.of(3), engine).statistics

    expected = np.vstack(
        [statistics(line_fit(x, y), x, y), slow_draws(x, y, statistics, 3)]
    )
    np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-3)

    both = values.T
    scaled = (both - both.mean(axis=1, keepdims=True)) / both.std(axis=1, keepdims=True)
    drawn = NullDraws(
        statistics=both[:, 0],
        draws=both[:, 1:],
        sizes=np.zeros(len(both)),
        additional={OUTLIERS: len(both) - 1},
    )
    families = [
        family
        for family in families_of(inside.design.plan, drawn)
        if len(family.which) and family.name != "level"
    ]
    parts = [np.log(np.exp(scaled[family.which]).mean(axis=0)) for family in families]
    shares = np.array([family.share for family in families])
    tails = np.array([[np.mean(part >= v) for v in part] for part in parts])
    logs = -np.log(tails)
    for part, log in zip(parts, logs, strict=True):
        order = np.sort(part)
        # The upper twentieth of the 19 other values is the largest of them alone, so that
        # the slope beyond it is 1.
        log[np.argmax(part)] += order[-1] - order[-2]
    combined = np.log(shares / shares.sum() @ np.exp(logs))
    assert result.statistic == pytest.approx(combined[0], rel=1e-9)
    np.testing.assert_allclose(result.null_distribution, combined[1:], rtol=1e-9)
    assert result.pvalue == pvalue(combined[0], combined[1:])
    assert list(result.details["families"]) == [family.name for family in families]


def test_the_statistics_are_sums_over_all_pairs(curve):
    """Each by a double loop over F and ξ, and those at single locations by hand."""
    x, y = curve
    _, inside, values = run_and_record(line_fit, x, y, n_boot=1)
    mean, std = line_fit(x, y)
    z = (y - mean) / std
    plan = inside.design.plan
    kernel_x = inside.design.kernel_x
    units = Sample.from_data(x, y).units("ranks").apply(x[:, None])
    features = plan.features.evaluate(units).astype(float)
    xi = plan.test_functions.look_up(z[:, None]).astype(float)
    for k, (on_x, on_y) in enumerate(plan.statistics):
        f = features[:, on_x.columns]
        e = xi[:, on_y.columns]
        pairs = (f @ f.T) * (e @ e.T)
        expected = pairs.sum() - np.trace(pairs)
        assert values[0, k] == pytest.approx(expected, rel=1e-4, abs=1e-5 * np.trace(pairs))
        if on_x.family == "locations" and on_y.name == "z":
            near = narrowed(kernel_x, LOCAL_BANDWIDTH)(
                units, inside.design.locations[[on_x.label]]
            )[:, 0]
            by_hand = np.sum(near * z) ** 2 - np.sum((near * z) ** 2)
            assert values[0, k] == pytest.approx(by_hand, rel=0.02, abs=0.02)
    surprises = -np.log(2.0 * norm.sf(np.sort(np.abs(z))[::-1][:15]))
    over = np.cumsum(surprises - np.log(60 / (np.arange(15) + 0.5))) / np.sqrt(
        np.arange(15) + 1
    )
    assert values[0, -1] == pytest.approx(over.max(), rel=1e-6)


@pytest.mark.parametrize(
    "how", [{"solver": "lowrank"}, {"precision": 0.1}, {"memory": 10**7}]
)
def test_how_draws_are_made_is_of_no_matter_to_adaptive(curve, how):
    x, y = curve
    options = {"statistic": "adaptive", "n_boot": N_BOOT, "rng": 3, "engine": 1}
    plain = cg.composite(line_fit, x, y, **options)
    other = cg.composite(line_fit, x, y, **options, **how)
    np.testing.assert_array_equal(plain.null_distribution, other.null_distribution)


@pytest.mark.parametrize(
    "option",
    [
        {"scale_x": "none"},
        {"standardize": "mean_std"},
    ],
)
def test_adaptive_heeds_its_options(curve, option):
    x, y = curve
    x = np.exp(x)
    plain, other = (
        cg.composite(
            cg.fits.ols(),
            x,
            y,
            statistic="adaptive",
            n_boot=N_BOOT,
            rng=3,
            engine=1,
            **options,
        )
        for options in ({}, option)
    )
    assert not np.allclose(plain.null_distribution, other.null_distribution)
    assert ("strongest_location" in other.details) == ("standardize" not in option)


def test_many_rows_are_summed_in_pieces(monkeypatch):
    """With F kept or made anew in each replicate, the same; more rows than a piece has."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(5000)
    y = x + rng.standard_normal(5000)
    options = {"n_boot": 3, "alpha": 0.5, "rng": 0, "engine": 1}
    kept = cg.composite(cg.fits.ols(), x, y, statistic="adaptive", **options)
    # `condgof.check` is the function: its package is found by name alone.
    composite_module = sys.modules["condgof.check._refit_statistics"]
    monkeypatch.setattr(composite_module, "FEATURE_BYTES", 0)
    made = cg.composite(cg.fits.ols(), x, y, statistic="adaptive", **options)
    np.testing.assert_array_equal(kept.null_distribution, made.null_distribution)
    assert kept.statistic == made.statistic


def test_a_refit_with_other_classes_is_a_failure():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(80)
    y = np.repeat([0, 1, 2], [40, 37, 3])
    calls = [0]

    def fit(x, y):
        calls[0] += 1
        classes = [0, 1, 2, 3] if calls[0] == 3 else [0, 1, 2]
        shares = np.bincount(y.astype(int), minlength=len(classes)) / len(y)
        return cg.probabilities(np.tile(shares, (len(y), 1)), classes)

    result = cg.composite(fit, x, y, n_boot=N_BOOT, alpha=0.5, rng=0, engine=1)
    assert result.details["failures"] == 1
    assert "sees y in another way" in result.details["first_failure"]


@pytest.mark.parametrize(
    ("workers", "statistic"),
    [("threads", "kcsd"), ("threads", "adaptive"), ("processes", "adaptive")],
)
def test_workers_change_nothing(curve, workers, statistic):
    x, y = curve
    options = {"statistic": statistic, "n_boot": N_BOOT, "rng": 3}
    alone = cg.composite(cg.fits.ols(), x, y, engine=1, **options)
    many = cg.composite(cg.fits.ols(), x, y, engine=2, workers=workers, **options)
    np.testing.assert_allclose(many.null_distribution, alone.null_distribution, rtol=1e-9)
    assert many.pvalue == alone.pvalue
    assert many.statistic == pytest.approx(alone.statistic, rel=1e-9)
    assert alone.details["workers"] == "this process"
    assert many.details["workers"] == f"2 {workers}"


def test_the_seed_of_a_result_gives_it_again(curve):
    x, y = curve
    one = cg.composite(line_fit, x, y, n_boot=9, alpha=0.5, engine=1).result
    two = cg.composite(line_fit, x, y, n_boot=9, alpha=0.5, engine=1, rng=one.seed).result
    np.testing.assert_array_equal(one.null_distribution, two.null_distribution)
    three = cg.composite(
        line_fit, x, y, n_boot=9, alpha=0.5, engine=1, rng=one.seed + 1
    ).result
    assert not np.array_equal(one.null_distribution, three.null_distribution)


def test_more_replicates_keep_the_first_ones(curve):
    x, y = curve
    options = {"statistic": "kcsd", "rng": 0, "engine": 1}
    few = cg.composite(line_fit, x, y, n_boot=5, alpha=0.5, **options)
    many = cg.composite(line_fit, x, y, n_boot=9, alpha=0.5, **options)
    np.testing.assert_array_equal(few.null_distribution, many.null_distribution[:5])


def test_global_state_is_left_alone(curve):
    x, y = curve
    x_before = x.copy()
    y_before = y.copy()
    np.random.seed(1)
    state = np.random.get_state()[1].copy()
    cg.composite(cg.fits.ols(), x, y, n_boot=3, alpha=0.5, rng=0, engine=1)
    np.testing.assert_array_equal(np.random.get_state()[1], state)
    np.testing.assert_array_equal(x, x_before)
    np.testing.assert_array_equal(y, y_before)


def test_a_fit_that_writes_into_its_data_changes_nothing(curve):
    x, y = curve

    def rough(x, y):
        found = line_fit(x.copy(), y.copy())
        x *= 0.0
        y *= 0.0
        return found

    options = {"statistic": "kcsd", "n_boot": 4, "rng": 0, "engine": 1}
    gentle_result = cg.composite(line_fit, x, y, **options)
    rough_result = cg.composite(rough, x, y, **options)
    np.testing.assert_array_equal(
        gentle_result.null_distribution, rough_result.null_distribution
    )


def failing(at):
    """A fit that fails in some of its calls.

    The first is that of the data, and the next eight measure how far the fit shrinks.
    """
    calls = [0]

    def fit(x, y):
        calls[0] += 1
        if calls[0] - 1 in at:
            raise ValueError(f"no convergence in call {calls[0] - 1}")
        return line_fit(x, y)

    return fit


def test_a_failed_refit_is_reported_and_left_out(curve):
    x, y = curve
    options = {"statistic": "kcsd", "n_boot": N_BOOT, "rng": 3, "engine": 1}
    whole = cg.composite(line_fit, x, y, **options)
    result = cg.composite(failing({15}), x, y, **options)
    np.testing.assert_array_equal(
        result.null_distribution, np.delete(whole.null_distribution, 6)
    )
    assert result.details["failures"] == 1
    assert result.details["first_failure"] == "ValueError: no convergence in call 15"
    assert (
        "1 of 19 refit failed and was left out (ValueError: no convergence in call 15)"
        in str(result)
    )
    above = np.sum(result.null_distribution >= result.statistic)
    assert result.pvalue == (1 + above) / N_BOOT


def test_a_failed_first_fit_is_an_error_that_names_it(curve):
    with pytest.raises(
        ModelError, match="fit failed: ValueError: no convergence in call 0"
    ) as caught:
        cg.composite(failing({0}), *curve, n_boot=N_BOOT, rng=3, engine=1)
    assert isinstance(caught.value.__cause__, ValueError)


def test_many_failed_refits_are_an_error(curve):
    x, y = curve
    with pytest.raises(RefitError, match=r"2 of \d+ refits failed.*call 11"):
        cg.composite(failing({11, 12, 13}), x, y, n_boot=N_BOOT, rng=3, engine=1)
    with pytest.raises(RefitError, match=r"3 of \d+ refits failed"):
        cg.composite(failing(range(1, 99)), x, y, n_boot=20, rng=3, engine=1)


def test_failing_in_processes_is_reported_too(curve):
    x, y = curve
    result = cg.composite(
        FailsOnSome(),
        x,
        y,
        statistic="kcsd",
        n_boot=N_BOOT,
        rng=3,
        engine=2,
        workers="processes",
    )
    alone = cg.composite(
        FailsOnSome(), x, y, statistic="kcsd", n_boot=N_BOOT, rng=3, engine=1
    )
    assert result.details["failures"] == alone.details["failures"] == 1
    assert result.details["first_failure"] == alone.details["first_failure"]


def test_a_statistic_that_is_not_finite_is_a_failure(curve):
    x, y = curve
    calls = [0]

    def statistic(model, x, y):
        calls[0] += 1
        return np.nan if calls[0] == 3 else 1.0

    result = cg.composite(
        line_fit, x, y, statistic=statistic, n_boot=N_BOOT, rng=0, engine=1
    )
    assert result.details["first_failure"] == "NumericalError: The statistic is nan."
    assert result.pvalue == 1.0
    assert result.method == "composite(statistic)"
    with pytest.raises(InputError, match="The statistic of the sample has NaN"):
        cg.composite(line_fit, x, y, statistic=lambda model, x, y: np.nan, rng=0)


def test_a_callable_statistic_gets_the_models_and_its_options(curve):
    x, y = curve

    def largest(model, x, y, *, power=1.0, rng=None):
        assert rng == 3
        mean, std = model(x).mean_std()
        return float(np.abs((y - mean[:, 0]) / std[:, 0]).max() ** power)

    result = cg.composite(
        line_fit, x, y, statistic=largest, n_boot=N_BOOT, rng=3, engine=1, power=2.0
    )
    expected = slow_draws(x, y, lambda m, x, y: (np.abs((y - m[0]) / m[1]).max()) ** 2, 3)
    np.testing.assert_allclose(result.null_distribution, expected)
    assert result.method == "composite(largest)"


def test_a_test_itself_may_be_passed_as_the_statistic(curve):
    x, y = curve
    options = {"n_boot": 3, "alpha": 0.5, "rng": 0, "engine": 1}
    by_name = cg.composite(line_fit, x, y, statistic="kcsd", **options)
    by_function = cg.composite(line_fit, x, y, statistic=cg.kcsd, **options)
    assert by_name.statistic == by_function.statistic
    assert by_function.method == "composite(kcsd)"


CONTAINERS = {
    "(n,)": lambda y: y,
    "(n, 1)": lambda y: y[:, None],
    "single precision": lambda y: y.astype(np.float32),
    "list": list,
    "Series": lambda y: pd.Series(y, index=np.arange(len(y))[::-1], name="fare"),
    "frame": lambda y: pd.DataFrame({"fare": y}, index=[f"r{i}" for i in range(len(y))]),
    "polars Series": lambda y: pl.Series("fare", y),
    "polars frame": lambda y: pl.DataFrame({"fare": y}),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_y_keeps_its_container(curve, name):
    x, y = curve
    given = CONTAINERS[name](y)
    received = []

    def fit(x, y):
        received.append(y)
        return line_fit(x, np.asarray(y, dtype=float).reshape(-1))

    result = cg.composite(fit, x, given, statistic="kcsd", n_boot=3, rng=0, engine=1)
    kind = np.ndarray if name == "list" else type(given)
    for one in received:
        assert type(one) is kind
        assert np.shape(one) == np.shape(given)
        assert np.asarray(one).dtype == np.asarray(given).dtype
        for attribute in ("name", "columns"):
            if hasattr(given, attribute):
                assert list(getattr(one, attribute)) == list(getattr(given, attribute))
        if hasattr(given, "iloc"):
            assert (one.index == given.index).all()
    assert not np.allclose(np.asarray(received[1]), np.asarray(received[2]))
    plain = cg.composite(line_fit, x, y, statistic="kcsd", n_boot=3, rng=0, engine=1)
    np.testing.assert_allclose(result.null_distribution, plain.null_distribution, rtol=1e-4)


def test_x_stays_a_frame_and_levels_get_their_kernel(curve):
    x, y = curve
    frame = pd.DataFrame({"x": x, "kind": np.where(np.arange(60) % 3 == 0, "a", "b")})
    received = []

    def fit(x, y):
        received.append(type(x))
        return cg.fits.ols()(x, y)

    result = cg.composite(fit, frame, y, n_boot=3, alpha=0.5, rng=0, engine=1).result
    assert set(received) == {pd.DataFrame}
    assert "kind=b" in result.details["fitted"]
    assert "label" in result.details["strongest_location"]
    assert "Categorical" in str(result.kernel_x)


COUNT_CONTAINERS = {
    "int": lambda y: y,
    "float": lambda y: y.astype(float),
    "nullable": lambda y: pd.Series(y, dtype="Int64"),
    "polars": lambda y: pl.Series("visits", y),
}


@pytest.mark.parametrize("name", COUNT_CONTAINERS)
def test_counts_stay_counts(curve, name):
    x, _ = curve
    y = np.random.default_rng(0).poisson(np.exp(0.5 * x))
    received = []

    def fit(x, y):
        received.append(np.asarray(y, dtype=float))
        given = COUNT_CONTAINERS[name](np.arange(60))
        assert np.asarray(y).dtype.kind == np.asarray(given).dtype.kind
        return cg.fits.glm("poisson")(x, y)

    options = {"statistic": "kcsd", "n_boot": 9, "alpha": 0.5, "rng": 0, "engine": 1}
    result = cg.composite(fit, x, COUNT_CONTAINERS[name](y), **options)
    assert all((one == np.floor(one)).all() for one in received)
    plain = cg.composite(cg.fits.glm("poisson"), x, y, **options)
    np.testing.assert_allclose(result.null_distribution, plain.null_distribution)
    assert "LinearGlm(Poisson: intercept=" in plain.details["fitted"]


@pytest.mark.parametrize("statistic", ["kcsd", "zheng"])
def test_a_slow_loop_gives_the_same_for_counts(curve, statistic):
    x, _ = curve
    y = np.random.default_rng(0).poisson(np.exp(0.5 * x))
    fit = cg.fits.glm("poisson")
    test = getattr(cg, statistic)
    result = cg.composite(fit, x, y, statistic=statistic, n_boot=5, rng=3, engine=1)
    fitted = fit(x, y)
    expected = []
    for b in range(1, 6):
        drawn = fitted(x).sample(Seed.of(3).stream(Use.REPLICATE, b, 0))[:, 0]
        expected.append(test(fit(x, drawn), x, drawn, rng=3).statistic)
    np.testing.assert_allclose(result.null_distribution, expected, rtol=1e-8, atol=1e-12)


LABELS = {
    "array": lambda y: y,
    "list": list,
    "Series": pd.Series,
    "categories": lambda y: pd.Series(y, dtype="category"),
    "frame": lambda y: pd.DataFrame({"answer": y}),
    "polars": lambda y: pl.Series("answer", y),
    "numbers": lambda y: (y == "yes").astype(int),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_stay_labels(name):
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    x = rng.standard_normal((150, 2))
    y = np.where(rng.random(150) < 1 / (1 + np.exp(-x[:, 0])), "yes", "no")
    given = LABELS[name](y)
    received = []

    def fit(x, y):
        received.append(y)
        return LogisticRegression().fit(x, np.ravel(np.asarray(y)))

    options = {"statistic": "kcsd", "n_boot": 9, "alpha": 0.5, "rng": 0, "engine": 1}
    result = cg.composite(fit, x, given, **options)
    kind = np.ndarray if name == "list" else type(given)
    assert {type(one) for one in received} == {kind}
    assert {str(getattr(one, "dtype", "")) for one in received} == {
        str(getattr(received[0], "dtype", ""))
    }
    assert set(np.ravel(np.asarray(received[3])).tolist()) == set(
        np.ravel(np.asarray(given)).tolist()
    )
    ready = cg.composite(cg.fits.sklearn(LogisticRegression()), x, y, **options)
    np.testing.assert_allclose(result.null_distribution, ready.null_distribution, rtol=1e-7)


def test_several_columns_of_y(rng):
    x = rng.standard_normal((80, 2))
    y = x @ np.array([[1.0, 0.5], [0.0, 1.0]]) + rng.multivariate_normal(
        [0, 0], [[1, 0.7], [0.7, 1]], 80
    )
    result = cg.composite(cg.fits.ols(), x, y, n_boot=9, alpha=0.5, rng=0, engine=1)
    assert 0.1 <= result.pvalue <= 1


def test_fit_is_called_by_name(curve):
    x, y = curve
    swapped = cg.composite(
        lambda y, X: line_fit(X, y), x, y, n_boot=3, alpha=0.5, rng=0, engine=1
    )
    named = cg.composite(line_fit, x, y, n_boot=3, alpha=0.5, rng=0, engine=1)
    positional = cg.composite(
        lambda a, b: line_fit(a, b), x, y, n_boot=3, alpha=0.5, rng=0, engine=1
    )
    assert swapped.result.statistic == named.result.statistic == positional.result.statistic


def test_fit_may_take_an_rng(curve):
    x, y = curve

    def noisy(x, y, rng):
        mean, std = line_fit(x, y)
        return mean + 0.01 * rng.standard_normal(len(x)), std

    options = {"statistic": "kcsd", "n_boot": 5, "rng": 0, "workers": "threads"}
    one = cg.composite(noisy, x, y, engine=1, **options)
    two = cg.composite(noisy, x, y, engine=2, **options)
    np.testing.assert_allclose(one.null_distribution, two.null_distribution)


def test_a_fit_that_returns_one_object_again_and_again_is_refused(curve):
    x, y = curve

    class Shared:
        def __call__(self, x, y):
            self.mean, self.std = line_fit(x, y)
            return model_of(Late)

    class Late(OfX):
        """What it draws depends on the object that is fitted anew."""

        def sample(self, rng):
            return shared.mean + shared.std * rng.standard_normal(len(self.x))

        def score(self, y):
            return (shared.mean - y) / shared.std**2

    shared = Shared()
    with pytest.raises(InputError, match="return a new one"):
        cg.composite(shared, x, y, n_boot=3, alpha=0.5, rng=0, engine=1)


@pytest.mark.parametrize(
    "model",
    [
        lambda x, y: cg.from_scores(x - y),
        lambda x, y: cg.from_score(lambda y, x: x[:, None] - y[:, None]),
        lambda x, y: cg.from_log_prob(lambda y, x: -0.5 * (y - x) ** 2),
    ],
)
def test_a_model_without_a_sampler_is_refused(curve, model):
    with pytest.raises(
        UnsupportedModelError, match=r"no sampler\. Those that have one: closed"
    ):
        cg.composite(model, *curve, rng=0)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"statistic": "ks"}, InputError, "statistic must be one of 'kcsd', 'adaptive'"),
        (
            {"statistic": "kcsd", "null": "wild"},
            InputTypeError,
            "kcsd has no option 'null'. Its options here: ",
        ),
        (
            {"statistic": "kcsd", "locations": 3},
            InputTypeError,
            "kcsd has no option 'locations'",
        ),
        (
            {"workers": "fibres"},
            InputError,
            "workers must be None, 'processes' or 'threads'",
        ),
        ({"n_boot": 0}, InputError, "n_boot must be at least 1"),
        ({"engine": "all"}, InputTypeError, "engine must be None"),
        ({"statistic": "kcsd", "solver": "fast"}, InputError, "solver must be one of"),
    ],
)
def test_wrong_options_are_told(curve, options, error, match):
    with pytest.raises(error, match=match):
        cg.composite(line_fit, *curve, **{"n_boot": 19, "rng": 0, **options})


def test_wrong_fits_are_told(curve):
    from sklearn.linear_model import LinearRegression

    for fit in (LinearRegression, LinearRegression(), "ols"):
        with pytest.raises(InputTypeError, match="fit must be a function"):
            cg.composite(fit, *curve)
    with pytest.raises(InputTypeError, match=r"statistic .* must return a number"):
        cg.composite(line_fit, *curve, statistic=lambda model, x, y: "large", rng=0)


def test_sources_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n0,1\n1,2\n2,4\n")
    with pytest.raises(InputTypeError, match="composite needs the sample in memory"):
        cg.composite(line_fit, cg.scan(tmp_path / "a.csv", x="x", y="y"), None)


def test_progress_is_told(curve):
    x, y = curve
    calls = []

    def progress(done, total):
        calls.append((done, total))

    cg.composite(line_fit, x, y, n_boot=4, alpha=0.5, rng=0, engine=1, progress=progress)
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize("workers", [None, "threads", "processes"])
def test_an_interrupt_stops_everything(curve, workers):
    x, y = curve
    before = threading.active_count()

    def stop(done, total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cg.composite(
            cg.fits.ols(), x, y, n_boot=50, rng=0, progress=stop, workers=workers,
            engine=2 if workers else 1,
        )  # fmt: skip
    assert threading.active_count() == before


def test_what_cannot_be_sent_is_told(curve):
    lock = threading.Lock()  # cannot be pickled

    def fit(x, y):
        with lock:
            return line_fit(x, y)

    with pytest.raises(InputTypeError, match="cannot be sent to another process"):
        cg.composite(fit, *curve, n_boot=3, alpha=0.5, rng=0, engine=2, workers="processes")
    assert (
        cg.composite(
            fit, *curve, n_boot=3, alpha=0.5, rng=0, engine=2, workers="threads"
        ).pvalue
        > 0
    )


def test_the_result_reads_well_and_is_plain(curve):
    import json
    import pickle

    x, y = curve
    result = cg.composite(cg.fits.ols(), x, y, statistic="kcsd", n_boot=9, rng=0, engine=1)
    text = str(result)
    assert text.startswith("composite(kcsd) test of goodness of fit, n = 60")
    assert "(9 parametric bootstrap draws)" in text
    assert "fitted     LinearNormal(mean: intercept=" in text
    details = result.details
    assert details["refits"] == 9
    assert details["failures"] == 0
    assert (
        0
        < details["seconds_per_refit"]
        <= details["seconds_per_replicate"]
        <= details["seconds"]
    )
    json.dumps(result.to_dict())
    assert pickle.loads(pickle.dumps(result)).pvalue == result.pvalue


def test_no_draws_are_made_inside():
    """Cost: neither a replicate nor what is around it draws weights or normal scores."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(50)
    y = x + rng.standard_normal(50)
    calls = []

    def counted(original):
        def call(*args):
            calls.append(args)
            return original(*args)

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RowWeights, "block", counted(RowWeights.block))
        patch.setattr(NormalResampler, "draw", counted(NormalResampler.draw))
        cg.composite(line_fit, x, y, n_boot=9, rng=0, engine=1, statistic="adaptive")
        assert not calls
        cg.adaptive(line_fit(x, y), x, y, n_boot=9, rng=0, engine=1)
        assert calls  # so that the count itself works


def test_every_test_has_its_options_here():
    assert list(TESTS) == ["kcsd", "adaptive", "fscd", "mmd", "zheng"]
    for test in TESTS.values():
        names = set(inspect.signature(test).parameters)
        assert {"rng", "engine"} <= names
        assert names & set(OPTIONS_OF_COMPOSITE)


def test_level_and_power_on_a_small_scale():
    """15 samples each; thousands of them are in make calibrate."""
    rejected = {"line": 0, "curve": 0, "naive": 0}
    for trial in range(15):
        rng = np.random.default_rng([11, trial])
        x = rng.uniform(-2, 2, 60)
        noise = rng.standard_normal(60)
        options = {"n_boot": 19, "rng": trial, "engine": 1, "statistic": "kcsd"}
        line = 1.0 + x + noise
        rejected["line"] += cg.composite(cg.fits.ols(), x, line, **options).reject()
        curved = line + 1.0 * x**2
        rejected["curve"] += cg.composite(cg.fits.ols(), x, curved, **options).reject()
        fitted = cg.fits.ols()(x, line)
        rejected["naive"] += cg.kcsd(
            fitted, x, line, n_boot=200, rng=trial, engine=1
        ).reject()
    assert rejected["line"] <= 5  # binomial(15, 0.05): above with probability 1e-4
    assert rejected["curve"] >= 12
    assert rejected["naive"] == 0


def test_warnings_of_a_fit_are_not_swallowed(curve):
    x, y = curve

    def warns(x, y):
        warnings.warn("close to singular", RuntimeWarning, stacklevel=1)
        return line_fit(x, y)

    with pytest.warns(RuntimeWarning, match="close to singular"):
        cg.composite(warns, x, y, statistic="kcsd", n_boot=2, rng=0, engine=1)


@pytest.mark.parametrize(
    "fit", [lambda x: None, lambda x, y, z: None, lambda: None, cg.fits.ols]
)
def test_a_fit_that_does_not_take_x_and_y_is_refused(fit):
    with pytest.raises(InputTypeError, match="cannot be called with x and y"):
        cg.composite(fit, np.arange(9.0), np.arange(9.0), rng=0)


def test_the_fitted_model_in_words_has_no_address():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 30)

    def fit(x, y):
        return cg.models.Normal(mean=lambda x: 0.0 * x, std=float(np.std(y)))

    shown = cg.composite(
        fit, x, rng.standard_normal(30), n_boot=3, alpha=0.5, rng=0
    ).details["fitted"]
    assert shown.startswith("Normal(mean=<function ")
    assert "0x" not in shown
