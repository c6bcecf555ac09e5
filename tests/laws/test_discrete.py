"""Models of a discrete y: classes, counts and ratios."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import gammaln

import condgof as cg
from condgof.errors import (
    InputError,
    InputTypeError,
    NonFiniteError,
    NumericalError,
    ShapeError,
    SupportError,
    UnsupportedModelError,
)
from condgof.laws import FULL, PLAIN, cell_of, cell_probabilities, standardised
from condgof.models import Binomial, NegativeBinomial, Poisson
from condgof.study import problem
from laws.conformance import check_law
from seeds import examples

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 2))
P = RNG.dirichlet([0.5, 1.0, 2.0], size=40)
MEAN = np.exp(1.0 + X[:, 0])
MODELS = {
    "probabilities": cg.probabilities(P),
    "two": cg.probabilities(P[:, 0]),
    "named": cg.probabilities(P, ["low", "mid", "high"]),
    "numbers": cg.probabilities(P, [7, -2, 3.5]),
    "ordered": cg.probabilities(P, [1, 2, 3], ordered=True),
    "many": cg.probabilities(RNG.dirichlet(np.full(90, 0.2), size=40)),
    "single": cg.probabilities(P.astype(np.float32)),
    "poisson": Poisson(mean=lambda x: np.exp(1.0 + x[:, 0])),
    "poisson-bound": Poisson(MEAN),
    "negative-binomial": NegativeBinomial(lambda x: np.exp(x[:, 0]), 0.7),
    "negative-binomial-bound": NegativeBinomial(MEAN, 0.2),
    "binomial": Binomial(8, lambda x: 1 / (1 + np.exp(-x[:, 0]))),
    "binomial-bound": Binomial(RNG.integers(0, 12, 40), 0.3),
    "geometric": cg.as_model(stats.geom(1 / (1 + MEAN))),
    "from-scipy": cg.from_scipy(lambda x: stats.betabinom(9, 2.0, np.exp(x[:, 0]))),
    "grades": problem("true-grades").p,
}


@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    x = X[:, :1] if name == "grades" else X
    model = MODELS[name]
    check_law(
        model,
        x,
        needs=("sample", "log_prob"),
        most=600 if name == "geometric" else 250,
        draws=2000,
    )


def test_counts_below_zero():
    """Skellam has a sampler of its own, since SciPy finds no quantiles in far tails."""
    mean = np.full(2000, 3.0)
    model = cg.as_model(stats.skellam(mean, 2.0))
    y = model.sample(np.random.default_rng(0))[:, 0]
    assert y.min() < 0 < y.max()
    assert abs(y.mean() - 1.0) < 5 * np.sqrt(5.0 / 2000)
    x = np.random.default_rng(1).standard_normal(100)
    few = cg.as_model(stats.skellam(mean[:100], 2.0))
    assert cg.kcsd(few, x, y[:100], n_boot=50, rng=0).pvalue > 0.01


class TestCounts:
    @pytest.mark.parametrize(
        ("ours", "theirs"),
        [
            (Poisson(3.7), stats.poisson(3.7)),
            (NegativeBinomial(2.0, 0.5), stats.nbinom(2.0, 0.5)),
            (NegativeBinomial(40.0, 1e-9), stats.poisson(40.0)),
            (Binomial(12, 0.2), stats.binom(12, 0.2)),
            (Binomial(3, 0.0), stats.binom(3, 0.0)),
            (Binomial(3, 1.0), stats.binom(3, 1.0)),
        ],
    )
    def test_against_scipy(self, ours, theirs):
        y = np.arange(-2.0, 60.0)
        x = np.zeros(len(y))
        np.testing.assert_allclose(np.exp(ours(x).log_prob(y)), theirs.pmf(y), atol=1e-9)
        np.testing.assert_allclose(ours(x).cdf(y), theirs.cdf(y), atol=1e-8)
        np.testing.assert_allclose(ours(x).cdf(y + 0.5), theirs.cdf(y), atol=1e-8)
        mean, std = ours(n=1).mean_std()
        np.testing.assert_allclose(
            [mean[0, 0], std[0, 0]], [theirs.mean(), theirs.std()], atol=1e-7
        )
        assert (ours(np.zeros(1)).log_prob(np.array([0.5])) == -np.inf).all()

    def test_closed_forms_of_scipy(self):
        assert isinstance(cg.as_model(stats.poisson(MEAN)), Poisson)
        assert isinstance(cg.as_model(stats.nbinom(3, 0.4)), NegativeBinomial)
        assert isinstance(cg.as_model(stats.binom(3, 0.4)), Binomial)
        moved = cg.as_model(stats.poisson(MEAN, loc=2))  # not at 0: SciPy itself
        assert not isinstance(moved, Poisson)
        assert moved.cdf(np.ones(40)).max() == 0

    @pytest.mark.parametrize("level", [0.02, 0.3, 3.0, 50.0, 1e4, 1e7])
    def test_cells_have_the_probability_of_their_counts(self, level):
        n = 30
        location = level * (1 + np.random.default_rng(0).random(n))
        model = Poisson(location)
        scale = np.sqrt(location)
        p = cell_probabilities(model._cdf, location, scale)
        np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
        y = (
            np.arange(0, 200.0)
            if level < 10
            else np.round(location.mean() + np.arange(-99.0, 99.0))
        )
        for i in range(n):
            cells = cell_of(standardised(y, location[i], scale[i]))
            pmf = stats.poisson.pmf(y, location[i])
            inner = np.unique(cells)[1:-1] if level >= 10 else np.unique(cells)
            for cell in inner:
                assert p[i, cell] == pytest.approx(pmf[cells == cell].sum(), abs=1e-9)

    @pytest.mark.parametrize(
        ("y", "error", "message"),
        [
            (np.full(40, -1), SupportError, "40 of 40 rows"),
            (np.full(40, 0.5), InputError, "not a whole number in 40 of 40"),
            (np.full(40, "a"), InputTypeError, "y must be real numbers"),
        ],
    )
    def test_what_is_no_count(self, y, error, message):
        with pytest.raises(error, match=message):
            cg.kcsd(Poisson(3.0), X, y)

    def test_above_the_trials(self):
        with pytest.raises(SupportError, match="outside the support of Binomial"):
            cg.kcsd(Binomial(3, 0.5), X, np.tile([1, 4], 20))

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: Poisson(-1.0), "mean must be positive"),
            (lambda: NegativeBinomial(1.0, 0.0), "dispersion must be positive"),
            (lambda: Binomial(2.5, 0.5), "trials must be whole numbers"),
            (lambda: Binomial(2, 1.5), "p must lie between 0 and 1"),
        ],
    )
    def test_parameters(self, make, message):
        with pytest.raises(InputError, match=message):
            make()(X).mean_std()

    def test_a_continuous_score_is_refused(self):
        with pytest.raises(
            UnsupportedModelError,
            match=(
                r"has no score .it is of a discrete y, .* Tests that can take it: adaptive"
            ),
        ):
            cg.scores(Poisson(1.0), X, np.ones(40))
        with pytest.raises(InputError, match="standardize='cdf' is for a continuous y"):
            cg.kcsd(Poisson(1.0), X, np.arange(40), standardize="cdf")


class TestProbabilities:
    def test_the_array_is_not_copied(self):
        model = cg.probabilities(P)
        assert np.shares_memory(model.values, P)
        with pytest.raises(ValueError, match="read-only"):
            model.values[0, 0] = 1.0
        P[0, 0] += 0.0  # the caller's stays writeable

    def test_two_classes_from_one_column(self):
        one = cg.probabilities(P[:, 0])
        two = cg.probabilities(np.column_stack([1 - P[:, 0], P[:, 0]]))
        y = RNG.integers(0, 2, 40)
        assert cg.kcsd(one, X, y, rng=0).pvalue == cg.kcsd(two, X, y, rng=0).pvalue

    @pytest.mark.parametrize(
        ("classes", "labels"),
        [
            (["a", "b", "c"], np.array(["a", "b", "c"])),
            (["c", "a", "b"], np.array(["c", "a", "b"], dtype=object)),
            ([10, 20, 30], np.array([10.0, 20.0, 30.0])),
            (pd.Index(["u", "v", "w"]), np.array(["u", "v", "w"])),
        ],
    )
    def test_labels_are_looked_up(self, classes, labels):
        codes = RNG.integers(0, 3, 40)
        wanted = cg.adaptive(cg.probabilities(P), X, codes, rng=0)
        named = cg.adaptive(cg.probabilities(P, classes), X, labels[codes], rng=0)
        assert named.pvalue == wanted.pvalue
        assert named.statistic == wanted.statistic

    @pytest.mark.parametrize(
        "make",
        [
            list,
            lambda y: pd.Series(y),
            lambda y: pd.Series(y, dtype="category"),
            lambda y: pd.Series(y, dtype="string"),
            lambda y: pd.DataFrame({"kind": y}),
            lambda y: __import__("polars").Series("kind", y),
            lambda y: np.array(y)[:, None],
        ],
    )
    def test_kinds_of_text(self, make):
        y = np.array(["no", "yes"])[RNG.integers(0, 2, 40)].tolist()
        model = cg.probabilities(P[:, 0], ["no", "yes"])
        wanted = cg.kcsd(model, X, np.array(y), rng=0).pvalue
        assert cg.kcsd(model, X, make(y), rng=0).pvalue == wanted

    def test_booleans(self):
        y = RNG.random(40) < 0.5
        as_numbers = cg.kcsd(cg.probabilities(P[:, 0]), X, y, rng=0)
        as_booleans = cg.kcsd(cg.probabilities(P[:, 0], [False, True]), X, y, rng=0)
        assert as_numbers.pvalue == as_booleans.pvalue

    def test_missing_text(self):
        y = ["a", "b"] * 20
        y[3] = None
        with pytest.raises(
            NonFiniteError, match="missing values in 1 of 40 rows, the first in row 3"
        ):
            cg.kcsd(cg.probabilities(P[:, 0], ["a", "b"]), X, np.array(y, dtype=object))

    @pytest.mark.parametrize(
        ("classes", "y", "error", "message"),
        [
            (
                None,
                np.full(40, 3),
                InputError,
                "not among the classes in 40 of 40 rows.*That is 3",
            ),
            (
                ["a", "b", "c"],
                np.zeros(40),
                InputTypeError,
                "y holds numbers, and the classes are called",
            ),
            (
                None,
                np.full(40, "a"),
                InputTypeError,
                "y holds text, and the classes are the numbers",
            ),
            (["a", "b", "c"], np.full(40, "d"), InputError, "row 0 .*'d'.*'a', 'b', 'c'"),
            (None, np.zeros((40, 2)), ShapeError, "one column of y"),
        ],
    )
    def test_labels_that_do_not_fit(self, classes, y, error, message):
        with pytest.raises(error, match=message):
            cg.kcsd(cg.probabilities(P, classes), X, y)

    @pytest.mark.parametrize(
        ("values", "classes", "error", "message"),
        [
            (P * 2, None, InputError, "row 0 .* has the sum 2"),
            (-P, None, InputError, "must hold probabilities"),
            (
                np.where(np.arange(40)[:, None] == 7, np.nan, P),
                None,
                NonFiniteError,
                "row 7",
            ),
            (P[:, :1], None, ShapeError, "K ≥ 2"),
            (P[None], None, ShapeError, r"got \(1, 40, 3\)"),
            (P, ["a", "b"], ShapeError, "2 classes for 3 columns"),
            (P, ["a", "a", "b"], InputError, "all be different"),
            (P, "abc", ShapeError, "list of labels"),
            (np.array([["a"]]), None, InputTypeError, "class probabilities"),
        ],
    )
    def test_bad_probabilities(self, values, classes, error, message):
        with pytest.raises(error, match=message):
            cg.probabilities(values, classes)

    def test_rounded_probabilities_are_normalised(self):
        rough = P.astype(np.float16)
        y = RNG.integers(0, 3, 40)
        r = cg.probabilities(rough).residuals(y, FULL).values
        np.testing.assert_allclose(np.asarray(r)[:, :3].sum(axis=1), 0.0, atol=1e-12)

    def test_an_impossible_class_is_noted(self):
        certain = np.tile([1.0, 0.0], (40, 1))
        y = (np.arange(40) == 3).astype(int)
        result = cg.kcsd(cg.probabilities(certain), X, y, rng=0)
        assert "probability 0 in 1 row" in result.details["notes"][0]

    def test_a_model_that_is_certain_and_right(self):
        y = RNG.integers(0, 2, 40)
        for test in (cg.kcsd, cg.adaptive):
            assert test(cg.probabilities(np.eye(2)[y]), X, y, rng=0).pvalue == 1.0

    def test_a_model_that_knows_nothing(self):
        y = RNG.integers(0, 3, 40)
        # The log-probability is constant: its residuals are 0 in all rows.
        even = cg.probabilities(np.full((40, 3), 1 / 3))
        for null in ("wild", "multinomial"):
            assert cg.adaptive(even, X, y, rng=0, null=null).pvalue > 0

    def test_order_brings_moments(self):
        assert not cg.probabilities(P).can("mean_std")
        assert not cg.probabilities(P, ["a", "b", "c"]).can("cdf")
        with pytest.raises(
            UnsupportedModelError, match="without an order have no mean_std"
        ):
            cg.probabilities(P).mean_std()
        mean, std = cg.probabilities(P, [1, 2, 3], ordered=True).mean_std()
        np.testing.assert_allclose(mean[:, 0], P @ [1, 2, 3])
        np.testing.assert_allclose(std[:, 0] ** 2, P @ [1, 4, 9] - (P @ [1, 2, 3]) ** 2)

    def test_residuals_made_row_by_row_are_the_same(self, monkeypatch):
        y = RNG.integers(0, 3, 40)
        dense = cg.probabilities(P).residuals(y, FULL).values
        monkeypatch.setattr("condgof.laws._discrete.HELD", 0)
        lazy = cg.probabilities(P).residuals(y, FULL).values
        assert not isinstance(lazy, np.ndarray)
        rows = np.array([3, 1, 20])
        np.testing.assert_array_equal(np.asarray(lazy), dense)
        np.testing.assert_array_equal(np.asarray(lazy[rows]), dense[rows])
        np.testing.assert_array_equal(np.asarray(lazy[5:9]), dense[5:9])


RATIOS = {
    "poisson": (lambda y, x: np.exp(x) / (y + 1), lambda x: stats.poisson(np.exp(x))),
    "binomial": (
        lambda y, x: np.maximum(9 - y, 0) / (y + 1) * np.exp(x),
        lambda x: stats.binom(9, 1 / (1 + np.exp(-x))),
    ),
    "truncated": (lambda y, x: np.where(y > 0, np.exp(x) / (y + 1), 1e9), lambda x: None),
    "geometric": (lambda y, x: 0.9 / (1 + np.exp(-x)) + 0 * y, lambda x: None),
    "large": (lambda y, x: 3000 * np.exp(0.1 * x) / (y + 1), lambda x: stats.poisson(3000)),
}


class TestRatios:
    """The difference operator: E[A f] = 0 for every f, summed over the support."""

    @pytest.mark.parametrize("name", RATIOS)
    def test_mean_zero(self, name):
        ratio, _ = RATIOS[name]
        x = np.linspace(-1.5, 1.5, 7)
        model = cg.from_ratio(ratio)
        top = 4500 if name == "large" else 400
        y = np.arange(top)
        for value in x:
            at = np.full(len(y), value)
            steps = ratio(y.astype(float), at)
            with np.errstate(divide="ignore"):
                logs = np.concatenate([[0.0], np.cumsum(np.log(steps))[:-1]])
            p = np.exp(logs - logs.max())
            p /= p.sum()
            possible = p > 0
            r = model(at[possible]).residuals(y[possible], PLAIN).values
            size = np.abs(r).sum(axis=1).max()
            assert np.abs(p[possible] @ r).max() < 1e-11 * size
            # Weights of mean-zero functions are of the model's own width, and bounded.
            width = model(at[:1]).location_scale()[1][0, 0]
            assert size <= 2 * max(1.0, 2 * width) + 1e-9

    @settings(max_examples=examples(15), deadline=None)
    @given(st.lists(st.floats(0.01, 30.0), min_size=1, max_size=12))
    def test_any_law_on_a_finite_set(self, steps):
        table = np.append(steps, 0.0)
        model = cg.from_ratio(lambda y, x: table[np.minimum(y.astype(int), len(steps))])
        p = np.concatenate([[1.0], np.cumprod(steps)])
        p /= p.sum()
        y = np.arange(len(p))
        r = model(np.zeros(len(p))).residuals(y, PLAIN).values
        assert np.abs(p @ r).max() < 1e-11 * np.abs(r).max()

    @pytest.mark.parametrize("name", ["poisson", "binomial"])
    def test_the_law_that_y_is_resampled_from(self, name):
        x = np.linspace(-1, 1, 20)
        y = np.arange(20) % 5
        ratio, law = RATIOS[name]
        residuals = cg.from_ratio(ratio)(x).residuals(y, PLAIN)
        outcomes = residuals.outcomes
        assert (outcomes.start == 0).all()
        p = outcomes.probabilities
        k = np.arange(p.shape[1])
        np.testing.assert_allclose(p, law(x[:, None]).pmf(k), atol=1e-8)
        observed = outcomes.residuals(outcomes.observed)
        np.testing.assert_allclose(observed, residuals.values, atol=1e-12)
        total = np.zeros_like(residuals.values)
        for code in k:
            total += p[:, [code]] * outcomes.residuals(np.full(20, code))
        assert np.abs(total).max() < 1e-7

    def test_location_and_scale(self):
        x = np.log(np.array([0.1, 1.0, 10.0, 1e3, 1e6]))
        mode, width = cg.from_ratio(lambda y, x: np.exp(x) / (y + 1))(x).location_scale()
        np.testing.assert_allclose(mode[:, 0], [0, 0, 9, 999, 999_999], atol=1)
        assert (width[2:, 0] / np.sqrt(np.exp(x[2:])) < 1.6).all()
        assert (width[2:, 0] / np.sqrt(np.exp(x[2:])) > 0.8).all()

    def test_a_log_probability_is_the_same_model(self):
        x = RNG.normal(size=60)
        y = RNG.poisson(np.exp(x))
        by_ratio = cg.from_ratio(lambda y, x: np.exp(x) / (y + 1))
        by_log = cg.from_log_prob(
            lambda y, x: y * x - gammaln(y + 1) + 5.0, support="counts"
        )
        a, b = (cg.adaptive(m, x, y, rng=0, engine=1) for m in (by_ratio, by_log))
        assert a.pvalue == b.pvalue
        assert a.statistic == pytest.approx(b.statistic, rel=1e-6)

    @pytest.mark.parametrize("backend", ["torch", "jax"])
    def test_log_probabilities_of_other_libraries(self, backend):
        if backend == "torch":
            import torch

            function = lambda y, x: y * x - torch.lgamma(y + 1)  # noqa: E731
        else:
            from jax.scipy.special import gammaln

            function = lambda y, x: y * x - gammaln(y + 1)  # noqa: E731
        x = RNG.normal(size=40)
        y = RNG.poisson(np.exp(x))
        model = cg.from_log_prob(function, backend=backend, support="counts")
        other = cg.from_ratio(lambda y, x: np.exp(x) / (y + 1))
        a, b = (cg.kcsd(m, x, y, rng=0, engine=1).statistic for m in (model, other))
        assert a == pytest.approx(b, rel=1e-3)

    @pytest.mark.parametrize(
        ("ratio", "y", "error", "message"),
        [
            (lambda y, x: -np.ones(40), np.arange(40), InputError, "not negative"),
            (
                lambda y, x: np.ones((40, 2)),
                np.arange(40),
                ShapeError,
                "one number for each row",
            ),
            (
                lambda y, x: np.full(40, np.nan),
                np.arange(40),
                NonFiniteError,
                "not a number in 40",
            ),
            (
                lambda y, x: 2.0 + 0 * y,
                np.arange(40),
                NumericalError,
                "do not fall below 1",
            ),
            (
                lambda y, x: (y < 3) / (y + 1.0),
                np.arange(40),
                SupportError,
                "36 of 40|39 of 40|35 of 40",
            ),
        ],
    )
    def test_bad_ratios(self, ratio, y, error, message):
        with pytest.raises(error, match=message):
            cg.kcsd(cg.from_ratio(ratio), X, y)

    def test_bad_arguments(self):
        with pytest.raises(InputTypeError, match="takes a function"):
            cg.from_ratio(3)


@pytest.mark.parametrize(("p", "possible"), [(0.0, 0), (1.0, 10)])
def test_a_certain_binomial_model_is_refuted_by_any_other_count(p, possible):
    model = Binomial(trials=10, p=p)
    x = np.arange(5.0)
    np.testing.assert_array_equal(model(x).numbers(np.full(5, possible)), possible)
    with pytest.raises(SupportError, match="1 of 5 rows, the first in row 2"):
        model(x).numbers(np.where(x == 2, 4, possible))


# What users bring as labels and probabilities.

TWO = np.column_stack([1 - np.linspace(0.1, 0.9, 8), np.linspace(0.1, 0.9, 8)])
FLAGS = np.array([0, 1] * 4)


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (FLAGS.astype(object), None),
        (FLAGS.astype(bool).astype(object), None),
        (pd.Categorical(FLAGS), None),
        (pd.Series(FLAGS, dtype="category"), None),
        (pd.Series(FLAGS.astype(bool), dtype="category"), None),
        (pd.Categorical(np.where(FLAGS, "b", "a")), ["a", "b"]),
        (pd.array(np.where(FLAGS, "b", "a"), dtype="string"), ["a", "b"]),
    ],
)
def test_labels_of_any_container(y, classes):
    x = np.arange(8.0)
    wanted = cg.kcsd(cg.probabilities(TWO), x, FLAGS, n_boot=19, rng=0)
    got = cg.kcsd(cg.probabilities(TWO, classes), x, y, n_boot=19, rng=0)
    assert (got.statistic, got.pvalue) == (wanted.statistic, wanted.pvalue)


@pytest.mark.parametrize(
    ("y", "error", "match"),
    [
        (
            np.array([0, 1, None, 0, 1, 0, 1, 1], dtype=object),
            NonFiniteError,
            "1 of 8 rows.*row 2",
        ),
        (
            np.array(["a", 1] * 4, dtype=object),
            InputTypeError,
            r"object \(int and str\), neither",
        ),
        (
            FLAGS + 1,
            InputError,
            r"row 1 \(counted from 0\). That is 2.0, and the classes are 0, 1. Name them",
        ),
        (np.eye(2)[FLAGS], ShapeError, "Pass one label or count for each row"),
    ],
)
def test_labels_that_cannot_be_used(y, error, match):
    with pytest.raises(error, match=match):
        cg.kcsd(cg.probabilities(TWO), np.arange(8.0), y, rng=0)


@pytest.mark.parametrize(
    ("classes", "match"),
    [
        (["a", None], "missing value .* at position 1"),
        ([0.0, np.nan], "missing value .* at position 1"),
        ([2**60, 2**60 + 1], "too large to be told apart"),
    ],
)
def test_classes_that_cannot_be_used(classes, match):
    with pytest.raises(InputError, match=match):
        cg.probabilities(TWO, classes)


def test_a_probability_that_rounding_left_below_0_is_0():
    values = np.array([[1.0, -1e-17], [0.5, 0.5], [1.0 + 1e-7, -1e-7]])
    kept = values.copy()
    np.testing.assert_array_equal(cg.probabilities(values).values, np.maximum(kept, 0))
    np.testing.assert_array_equal(values, kept)
    with pytest.raises(InputError, match="smallest entry -1e-05"):
        cg.probabilities([[1.0 + 1e-5, -1e-5]])
