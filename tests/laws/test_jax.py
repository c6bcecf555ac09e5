"""JAX models: NumPyro, FlowJAX, log-densities of one row or of many."""

import pickle
from functools import partial

import flowjax.bijections
import flowjax.distributions
import flowjax.flows
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import condgof as cg
from condgof.errors import (
    DerivativeError,
    InputError,
    InputTypeError,
    ShapeError,
    UnsupportedModelError,
)
from laws.conformance import check_law

N = 24
X = np.random.default_rng(0).normal(size=(N, 2))
SINGLE = {"rtol": 2e-2, "atol": 1e-3, "step": 5e-2, "same": 1e-4, "draws": 200}


def state():
    return jax.config.jax_enable_x64, str(jnp.result_type(float))


def width(x, i=0):
    return 0.3 + jax.nn.softplus(x[..., i])


#: name → (x → distribution, of all rows or of one; d_y; abilities that it must have)
FAMILIES = {
    "normal": (
        lambda x: dist.Normal(x[..., 0], width(x)),
        1,
        {"cdf", "marginals", "mean_std"},
    ),
    "normal-2": (
        lambda x: dist.Normal(x, 1.0).to_event(1),
        2,
        {"normal_scores", "marginals"},
    ),
    "multivariate": (
        lambda x: dist.MultivariateNormal(x, jnp.array([[2.0, 0.6], [0.6, 1.0]])),
        2,
        {"normal_scores", "location_scale"},
    ),
    "mixture": (
        lambda x: dist.MixtureSameFamily(dist.Categorical(logits=x), dist.Normal(x, 0.5)),
        1,
        {"cdf", "normal_scores", "marginals"},
    ),
    "student": (
        lambda x: dist.StudentT(5.0, x[..., 0], width(x, 1)),
        1,
        {"cdf", "normal_scores"},
    ),
    "logistic": (
        lambda x: dist.Logistic(x[..., 0], width(x)),
        1,
        {"cdf", "sample", "mean_std"},
    ),
    "affine": (
        lambda x: dist.TransformedDistribution(
            dist.Normal(x[..., 0], 1.0), dist.transforms.AffineTransform(1.0, -2.0)
        ),
        1,
        {"sample"},
    ),
}


@pytest.mark.parametrize(
    ("name", "per_row"),
    [
        ("normal-2", False),
        ("logistic", True),
    ],
)
def test_conformance(name, per_row):
    make, _, abilities = FAMILIES[name]
    model = cg.from_jax(make, per_row=per_row)
    # Every other number of rows is compiled anew: few of them, and the tests on one family
    # only.
    check_law(
        model, X[:12], needs=abilities, snapshot=state, tests=name == "logistic", **SINGLE
    )


@pytest.mark.parametrize("name", ["mixture"])
def test_values_are_those_of_the_library(name):
    make = FAMILIES[name][0]
    model = cg.from_jax(make)
    y = model(X).sample(np.random.default_rng(0))
    made = make(jnp.asarray(X))
    shape = made.batch_shape + made.event_shape

    def log_prob(y):
        return made.log_prob(y.reshape(shape)).sum()

    wanted = jax.jit(jax.grad(log_prob))(jnp.asarray(y))
    np.testing.assert_allclose(model(X).score(y), wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        model(X).log_prob(y),
        jax.jit(made.log_prob)(jnp.asarray(y.reshape(shape))),
        rtol=1e-4,
        atol=1e-5,
    )


def test_bounded_supports():
    gamma = cg.from_jax(lambda x: dist.Gamma(width(x), 1.0))
    assert [float(np.max(end)) for end in gamma(X).support] == [0.0, np.inf]
    uniform = cg.from_jax(lambda x: dist.Uniform(x[:, 0], x[:, 0] + 1.0))
    low, high = uniform(X).support
    np.testing.assert_allclose(low, X[:, :1], atol=1e-6)
    np.testing.assert_allclose(high, X[:, :1] + 1, atol=1e-6)
    assert not uniform(X).score(X[:, 0] + 0.5).any()
    check_law(gamma, X[:12], snapshot=state, tests=False, **SINGLE)


class TestOneRowOrMany:
    def test_a_distribution_that_cannot_be_mapped_has_its_density(self):
        model = cg.from_jax(FAMILIES["affine"][0], per_row=True)
        y = X[:, 1]
        assert model(X).first.abilities == set()
        wanted = cg.from_jax(FAMILIES["affine"][0])(X).score(y)
        np.testing.assert_allclose(model(X).score(y), wanted, rtol=1e-5)

    def check(self, function, backend="jax"):
        model = cg.from_log_prob(function, backend=backend)
        np.testing.assert_allclose(
            model(X).score(X[:, 1])[:, 0], X[:, 0] - X[:, 1], rtol=1e-4, atol=1e-6
        )
        return model.make.takes_one_row(X[:, 1], X)

    def test_told_by_trying(self):
        assert self.check(lambda y, x: -0.5 * (y - x[:, 0]) ** 2) is False
        assert self.check(lambda y, x: -0.5 * (y - x @ jnp.array([1.0, 0.0])) ** 2) is False
        assert self.check(lambda y, x: -0.5 * ((y - x[:1]) ** 2).sum()) is True
        assert self.check(lambda x, y: -0.5 * jnp.dot(y - x[0], y - x[0])) is True

    def test_where_both_work_and_disagree(self):
        """With one column of x, x[0] is the number of a row, and the first row of many."""

        def log_prob(y, x):
            return (-0.5 * (y - x[0]) ** 2).reshape(jnp.shape(y))

        x = X[:, :1]
        with pytest.raises(InputError, match=r"the two disagree.*per_row=True.*jax.vmap"):
            cg.from_log_prob(log_prob, backend="jax")(x).score(X[:, 1])
        mapped = cg.from_log_prob(jax.vmap(log_prob), backend="jax")
        np.testing.assert_allclose(
            mapped(x).score(X[:, 1])[:, 0], X[:, 0] - X[:, 1], rtol=1e-4
        )
        for per_row, wanted in ((True, x[:, 0]), (False, x[0, 0])):
            model = cg.from_jax(lambda x: dist.Laplace(x[0], 1.0), per_row=per_row)
            if per_row:
                got = model(x).score(X[:, 1])[:, 0]
                np.testing.assert_array_equal(got, np.sign(wanted - X[:, 1]))
            else:
                with pytest.raises(ShapeError, match=r"batch shape \(1,\)"):
                    model(x).score(X[:, 1])

    def test_several_columns(self):
        for function in (
            lambda y, x: -0.5 * ((y - x) ** 2).sum(-1),
            lambda y, x: -0.5 * jnp.dot(y - x, y - x),
        ):
            model = cg.from_log_prob(function, backend="jax")
            y = X[:, ::-1].copy()
            np.testing.assert_allclose(model(X).score(y), X - y, rtol=1e-4, atol=1e-6)

    def test_neither(self):
        with pytest.raises(ShapeError, match=r"one number for each row"):
            cg.from_log_prob(lambda y, x: jnp.zeros((7, 7)), backend="jax")(X).score(
                X[:, 0]
            )

    def test_an_unconditional_density(self):
        model = cg.from_log_prob(lambda y: -0.5 * y**2, backend="jax")
        assert cg.ksd(model, X[:, 0], n_boot=5, rng=0).n == N
        assert cg.ksd(dist.Laplace(0.0, 1.0), X[:, 0], n_boot=5, rng=0).n == N


def flow(d_y, conditional=True):
    return flowjax.flows.masked_autoregressive_flow(
        jax.random.key(0),
        base_dist=flowjax.distributions.Normal(jnp.zeros(d_y)),
        cond_dim=2 if conditional else None,
        flow_layers=1,
        nn_width=8,
    )


def test_flowjax():
    made = flow(2)
    model = cg.as_model(made)
    y = model(X).sample(np.random.default_rng(0))

    @partial(jax.grad, has_aux=True)
    def theirs(y):
        log_prob = made.log_prob(y, X)
        return log_prob.sum(), log_prob

    wanted, log_prob = jax.jit(theirs)(jnp.asarray(y))
    np.testing.assert_allclose(model(X).log_prob(y), log_prob, rtol=1e-4, atol=1e-5)
    assert model(X).first.abilities == {"normal_scores", "sample"}
    np.testing.assert_allclose(model(X).score(y), wanted, rtol=1e-3, atol=1e-4)
    result = cg.adaptive(made, X, y, n_boot=5, rng=0)
    assert result.details["standardized_by"] == "normal scores of the model's CDF"


def test_flowjax_other_than_flows():
    x = X[:, :1]
    y = X[:, 1]
    plain = cg.as_model(flowjax.distributions.Normal(jnp.zeros(1), 2.0))
    np.testing.assert_allclose(plain(x).score(y)[:, 0], -y / 4, rtol=1e-5)
    np.testing.assert_allclose(plain(x).normal_scores(y)[:, 0], y / 2, rtol=1e-5)
    laplace = cg.as_model(flowjax.distributions.Laplace(jnp.zeros(())))
    np.testing.assert_allclose(laplace(x).score(y)[:, 0], -np.sign(y))
    assert not laplace(x).can("normal_scores")
    with pytest.raises(ShapeError, match=r"conditional on \(2,\)"):
        cg.as_model(flow(1))(x).score(y)


def test_single_precision_against_a_closed_form():
    """Scores in single precision are within 1e-5 of their size."""
    y = X[:, 1]
    loc = X[:, 0]
    scale = 0.3 + np.logaddexp(0, X[:, 0])
    truth = cg.models.StudentT(df=4.0, loc=lambda x: loc, scale=lambda x: scale)(X).score(y)
    for model in (
        cg.from_jax(lambda x: dist.StudentT(4.0, x[:, 0], width(x))),
        cg.from_log_prob(
            lambda y, x: -2.5 * jnp.log1p(((y - x[:, 0]) / width(x)) ** 2 / 4),
            backend="jax",
        ),
    ):
        assert np.abs(model(X).score(y) - truth).max() <= 1e-5 * np.abs(truth).max()


def test_double_precision_is_the_users_choice():
    model = cg.from_log_prob(lambda y, x: -jnp.cosh(y - x[:, 0]), backend="jax")
    y = X[:, 1]
    with jax.enable_x64(True):
        got = model(X).score(y)
    np.testing.assert_allclose(got[:, 0], -np.sinh(y - X[:, 0]), rtol=1e-12)
    assert not jax.config.jax_enable_x64


@pytest.mark.parametrize("n", [1, N])
def test_any_batch_size_gives_the_same(n):
    make = FAMILIES["logistic"][0]
    y = np.random.default_rng(1).normal(size=n)
    wanted = cg.from_jax(make)(X[:n]).score(y)
    for size in (1, 5):
        got = cg.from_jax(make, batch_size=size)(X[:n]).score(y)
        np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_what_cannot_be_a_model():
    with pytest.raises(InputTypeError, match=r"from_jax takes .* got int.*from_log_prob"):
        cg.from_jax(3)
    with pytest.raises(UnsupportedModelError, match="Pass the function that makes it"):
        cg.as_model(dist.TruncatedNormal(jnp.zeros(5), 1.0, low=-1.0)).score(np.ones(5))


LOC = jnp.asarray(X[:, 0])


@pytest.mark.parametrize(
    "made",
    [
        dist.Normal(LOC, 2.0),  # which has a closed form here
        dist.Logistic(LOC[:, None], 1.0).to_event(1),
        dist.LogNormal(LOC, 0.5),
        dist.MixtureSameFamily(
            dist.Categorical(logits=jnp.zeros((N, 2))), dist.Logistic(X, 1.0)
        ),
        dist.Poisson(jnp.exp(LOC)),
    ],
    ids=lambda made: type(made).__name__,
)
def test_a_batch_is_the_law_of_its_rows(made):
    y = np.asarray(made.sample(jax.random.key(0))).astype(float)
    law = cg.as_model(made)
    wanted = np.asarray(jax.jit(made.log_prob)(y)).reshape(N)
    assert law.rows == N
    np.testing.assert_allclose(law.log_prob(y), wanted, atol=1e-5)
    rows = np.array([5, 2])
    np.testing.assert_allclose(law.take(rows).log_prob(y[rows]), wanted[rows], atol=1e-5)
    assert cg.kcsd(made, X, y, n_boot=5, rng=0).n == N
    with pytest.raises(ShapeError, match=f"bound to {N} rows"):
        cg.kcsd(made, X[:9], y[:9], n_boot=5, rng=0)


def test_refused():
    with pytest.raises(
        UnsupportedModelError, match="a discrete distribution that is not known here"
    ):
        cg.kcsd(
            cg.from_jax(lambda x: dist.ZeroInflatedPoisson(0.2, jnp.exp(x[:, 0]))),
            X,
            X[:, 0],
        )
    steps = cg.from_log_prob(lambda y, x: jnp.floor(y), backend="jax")
    with pytest.raises(DerivativeError, match="flat at every row"):
        steps(X).score(X[:, 0])
    mixing = cg.from_log_prob(
        lambda y, x: -((y - y.mean()) ** 2 + 0 * x[:, 0]), backend="jax"
    )
    with pytest.raises(InputError, match=r"beside it|disagree"):
        mixing(X).score(X[:, 0])


def model_of(x):
    return dist.Laplace(x[:, 0], 1.0)


def test_models_can_be_sent_to_workers():
    model = cg.from_jax(model_of)
    wanted = model(X).score(X[:, 1])
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(model))(X).score(X[:, 1]), wanted
    )


def eta(x):
    return 0.6 * x[..., 0] - 0.4 * x[..., 1]


DISCRETE = {
    "categorical": lambda x: dist.Categorical(
        logits=jnp.stack([eta(x), -eta(x), 0 * eta(x)], -1)
    ),
    "bernoulli": lambda x: dist.Bernoulli(logits=eta(x)),
    "poisson": lambda x: dist.Poisson(jnp.exp(eta(x))),
    "negative-binomial": lambda x: dist.NegativeBinomial2(jnp.exp(eta(x)), 3.0),
    "gamma-poisson": lambda x: dist.GammaPoisson(3.0, jnp.exp(-eta(x))),
    "binomial": lambda x: dist.Binomial(7, logits=eta(x)),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_families(name):
    make = DISCRETE[name]
    theirs = make(X)
    y = np.asarray(theirs.sample(jax.random.key(0))).astype(float)
    if name == "categorical":  # the others are read alike
        check_law(cg.from_jax(make, batch_size=10), X, y, most=400)
    got = cg.from_jax(make)(X).log_prob(y)
    np.testing.assert_allclose(got, jax.jit(theirs.log_prob)(y.astype(int)), atol=1e-4)


class TestCompiled:
    def test_once_for_all_laws_of_a_model(self):
        called = []

        def log_prob(y, x):
            called.append(y.shape)
            return -0.5 * (y - x[:, 0]) ** 2

        model = cg.from_log_prob(log_prob, backend="jax")
        wanted = model(X).score(X[:, 1])
        assert called
        called.clear()
        law = model(X)
        np.testing.assert_array_equal(law.score(X[:, 1]), wanted)
        law.log_prob(X[:, 1]), law.take(np.arange(20)).score(X[:20, 1])
        assert not called
        again = pickle.loads(pickle.dumps(cg.from_jax(model_of)(X)))
        np.testing.assert_array_equal(again.score(X[:, 1]), np.sign(X[:, :1] - X[:, 1:]))

    def test_two_rows_do_not_tell_of_others(self):
        """One row of x[0] is the first of its columns, and of its rows."""
        model = cg.from_log_prob(
            lambda y, x: -0.5 * jnp.sum((y - x[:1]) ** 2), backend="jax"
        )
        assert model(X[:1]).score(X[:1, 1]).shape == (1, 1)
        np.testing.assert_allclose(
            model(X).score(X[:, 1])[:, 0], X[:, 0] - X[:, 1], rtol=1e-4
        )
