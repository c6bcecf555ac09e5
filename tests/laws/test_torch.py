"""torch models: distributions, flows, modules with a log-density."""

import functools
import gc
import pickle
import threading
import types
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
from torch import distributions as td
from torch import nn
from torch.nn.functional import softplus

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


def network(out, dtype=torch.float64):
    """A net with layers that differ between training and evaluation."""
    generator = torch.Generator().manual_seed(1)
    net = nn.Sequential(
        nn.Linear(2, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Dropout(0.5), nn.Linear(6, out)
    ).to(dtype)
    for parameter in net.parameters():
        parameter.data = (
            torch.randn(parameter.shape, generator=generator, dtype=dtype) * 0.5
        )
    return net.train()


NET = network(12)


def scale(raw):
    return 0.2 + softplus(raw)


def mixture(out, part):
    return td.MixtureSameFamily(td.Categorical(logits=out[:, :2]), part)


def independent(dist):
    return td.Independent(dist, 1)


class Family(NamedTuple):
    """A family of distributions on all of the line, or the plane."""

    make: Callable[[torch.Tensor], object]  #: Returns the distribution given x.
    d_y: int
    abilities: set[str]  #: What its law must have beyond the log-density.


class Bounded(NamedTuple):
    """A family of distributions on an interval."""

    make: Callable[[torch.Tensor], object]  #: Returns the distribution given x.
    low: float
    high: float


#: The abilities of a family with one column of y and a closed form of everything.
ALL = {"cdf", "sf", "normal_scores", "sample", "mean_std", "location_scale"}
FAMILIES = {
    "normal": Family(
        make=lambda x: td.Normal(NET(x)[:, 0], scale(NET(x)[:, 1])),
        d_y=1,
        abilities=ALL | {"marginals"},
    ),
    "normal-column": Family(
        make=lambda x: td.Normal(NET(x)[:, :1], 1.0),
        d_y=1,
        abilities=ALL | {"marginals"},
    ),
    "normal-2": Family(
        make=lambda x: td.Normal(NET(x)[:, :2], 1.0),
        d_y=2,
        abilities={"normal_scores", "marginals"},
    ),
    "independent": Family(
        make=lambda x: independent(td.Normal(NET(x)[:, :2], 1.0)),
        d_y=2,
        abilities={"normal_scores"},
    ),
    "multivariate": Family(
        make=lambda x: td.MultivariateNormal(
            NET(x)[:, :2], torch.tensor([[2, 0.6], [0.6, 1]]).double()
        ),
        d_y=2,
        abilities={"normal_scores", "marginals", "location_scale"},
    ),
    "mixture": Family(
        make=lambda x: mixture(NET(x), td.Normal(NET(x)[:, 2:4], scale(NET(x)[:, 4:6]))),
        d_y=1,
        abilities=ALL | {"marginals"},
    ),
    "mixture-2": Family(
        make=lambda x: mixture(
            NET(x), independent(td.Normal(NET(x)[:, 2:6].reshape(-1, 2, 2), 0.5))
        ),
        d_y=2,
        abilities={"normal_scores", "marginals", "location_scale"},
    ),
    "mixture-laplace": Family(
        make=lambda x: mixture(NET(x), td.Laplace(NET(x)[:, 2:4], 1.0)),
        d_y=1,
        abilities=ALL,
    ),
    "student": Family(
        make=lambda x: td.StudentT(5.0, NET(x)[:, 0], scale(NET(x)[:, 1])),
        d_y=1,
        abilities=ALL,
    ),
    "laplace-2": Family(
        make=lambda x: independent(td.Laplace(NET(x)[:, :2], 1.0)),
        d_y=2,
        abilities={"normal_scores"},
    ),
    "gumbel": Family(
        make=lambda x: td.Gumbel(NET(x)[:, 0], 1.0),
        d_y=1,
        abilities=ALL,
    ),
    "affine": Family(
        make=lambda x: td.TransformedDistribution(
            td.Normal(NET(x)[:, 0], 1.0), [td.AffineTransform(1.0, -2.0)]
        ),
        d_y=1,
        abilities={"cdf", "normal_scores", "sample"},
    ),
    "low-rank": Family(
        make=lambda x: td.LowRankMultivariateNormal(
            NET(x)[:, :2], NET(x)[:, 2:4, None], scale(NET(x)[:, 4:6])
        ),
        d_y=2,
        abilities={"normal_scores", "location_scale"},
    ),
    "mixture-multivariate": Family(
        make=lambda x: mixture(
            NET(x),
            td.MultivariateNormal(NET(x)[:, 2:6].reshape(-1, 2, 2), torch.eye(2).double()),
        ),
        d_y=2,
        abilities={"sample", "mean_std", "location_scale"},
    ),
}
BOUNDED = {
    "weibull": Bounded(
        make=lambda x: td.Weibull(1.0, scale(NET(x)[:, 0])),
        low=0.0,
        high=np.inf,
    ),
    "gamma": Bounded(
        make=lambda x: td.Gamma(scale(NET(x)[:, 0]), 1.0),
        low=0.0,
        high=np.inf,
    ),
    "lognormal": Bounded(
        make=lambda x: td.LogNormal(NET(x)[:, 0], 0.5),
        low=0.0,
        high=np.inf,
    ),
    "exponential": Bounded(
        make=lambda x: td.Exponential(scale(NET(x)[:, 0])),
        low=0.0,
        high=np.inf,
    ),
    "beta": Bounded(
        make=lambda x: td.Beta(scale(NET(x)[:, 0]), 2.0),
        low=0.0,
        high=1.0,
    ),
    "half": Bounded(
        make=lambda x: td.HalfNormal(scale(NET(x)[:, 0])),
        low=0.0,
        high=np.inf,
    ),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_conformance(name):
    family = FAMILIES[name]
    model = cg.from_torch(family.make)
    check_law(model, X, draws=400, needs=family.abilities, snapshot=lambda: state(NET))


@pytest.mark.parametrize("name", BOUNDED)
def test_conformance_of_bounded_families(name):
    family = BOUNDED[name]
    model = cg.from_torch(family.make)
    check_law(model, X, draws=400, snapshot=lambda: state(NET))
    ends = [float(np.max(end)) for end in model(X).support]
    assert ends == [family.low, family.high]


def test_a_support_that_depends_on_x():
    model = cg.from_torch(
        lambda x: td.Uniform(x[:, 0], x[:, 0] + scale(x[:, 1])), batch_size=7
    )
    low, high = model(X).support
    np.testing.assert_array_equal(low, X[:, :1])
    np.testing.assert_allclose(high, X[:, :1] + 0.2 + np.logaddexp(0, X[:, 1:]))
    y = model(X).sample(np.random.default_rng(0))
    assert not model(X).score(y).any()  # the density is flat inside its support
    check_law(model, X, draws=400)


@pytest.mark.parametrize("name", [*FAMILIES, *BOUNDED])
def test_values_are_those_of_the_library(name):
    make = (FAMILIES.get(name) or BOUNDED[name]).make
    model = cg.from_torch(make, batch_size=10)
    y = model(X).sample(np.random.default_rng(0))
    mode = NET.training
    NET.eval()
    dist = make(torch.tensor(X))
    leaf = torch.tensor(y, requires_grad=True)
    values = dist.log_prob(leaf.reshape(dist.batch_shape + dist.event_shape))
    (gradient,) = torch.autograd.grad(values.sum(), leaf)
    NET.train(mode)
    np.testing.assert_allclose(
        model(X).log_prob(y),
        values.detach().numpy().reshape(N, -1).sum(axis=1),
        rtol=1e-8,
        atol=1e-8,
    )
    np.testing.assert_allclose(model(X).score(y), gradient.numpy(), rtol=1e-7, atol=1e-7)


def state(module):
    """All that a caller could find changed."""
    return (
        [m.training for m in module.modules()],
        [None if p.grad is None else p.grad.tolist() for p in module.parameters()],
        [p.requires_grad for p in module.parameters()],
        {key: value.tolist() for key, value in module.state_dict().items()},
        torch.get_rng_state().tolist(),
        str(torch.get_default_dtype()),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
    )


class TestNothingIsLeftBehind:
    def mixed(self):
        net = network(2)
        net[1].eval()  # a frozen batch normalisation, inside a net in training mode
        net[4].bias.requires_grad_(False)
        net[0].weight.grad = torch.ones_like(net[0].weight)
        return net

    @pytest.mark.parametrize("family", [td.Normal, td.Gumbel])  # closed form, autograd
    def test_after_everything(self, family):
        net = self.mixed()
        model = cg.from_torch(lambda x: family(net(x)[:, 0], scale(net(x)[:, 1])))
        before = state(net)
        y = X[:, 0].copy()
        x = X.copy()
        cg.kcsd(model, x, y, n_boot=5, rng=0)
        cg.adaptive(model, x, y, n_boot=5, rng=0)
        law = model(x)
        law.cdf(y), law.log_prob(y), law.mean_std(), law.support, law.can("marginals")
        law.sample(np.random.default_rng(0))
        assert state(net) == before
        np.testing.assert_array_equal(x, X)

    def test_after_an_error(self):
        net = self.mixed()

        def make(x):
            net(x), torch.rand(3)
            raise RuntimeError("no")

        before = state(net)
        with pytest.raises(cg.errors.ModelError, match="RuntimeError: no"):
            cg.from_torch(make)(X).score(X[:, 0])
        assert state(net) == before

    @pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
    def test_in_the_callers_mode(self, mode):
        net = network(1)
        model = cg.from_torch(lambda x: td.Gumbel(net(x)[:, 0], 1.0))
        wanted = model(X).score(X[:, 0])
        with mode():
            before = state(net)
            np.testing.assert_array_equal(model(X).score(X[:, 0]), wanted)
            assert state(net) == before

    def test_autocast_of_the_caller_is_off_inside(self):
        net = network(1, torch.float32)
        model = cg.from_torch(lambda x: td.Gumbel(net(x)[:, 0], 1.0))
        wanted = model(X).log_prob(X[:, 0])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            np.testing.assert_array_equal(model(X).log_prob(X[:, 0]), wanted)

    def test_no_graph_reaches_the_parameters_of_a_distribution(self):
        loc = torch.zeros(N, requires_grad=True)
        dist = td.Gumbel(loc * 2, 1.0)
        cg.as_model(dist).score(X[:, 0])
        assert loc.grad is None
        dist.log_prob(torch.ones(N)).sum().backward()  # its graph is still there
        assert loc.grad is not None

    def test_threads_do_not_mix_up_modes(self):
        net = network(1)
        model = cg.from_torch(lambda x: td.Gumbel(net(x)[:, 0], 1.0), batch_size=3)
        wanted = model(X).score(X[:, 0])
        got = []
        before = state(net)
        threads = [
            threading.Thread(target=lambda: got.append(model(X).score(X[:, 0])))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(got) == 4
        assert all((scores == wanted).all() for scores in got)
        assert state(net) == before

    def test_the_callers_tensors(self):
        x = torch.tensor(X, requires_grad=True)
        y = torch.tensor(X[:, 0]) * 2
        model = cg.from_torch(lambda x: td.Normal(x[:, 0], 1.0))
        wanted = cg.scores(model, X, 2 * X[:, 0])
        np.testing.assert_array_equal(cg.scores(model, x, y), wanted)
        assert x.grad is None
        assert x.requires_grad
        assert not y.requires_grad
        assert cg.kcsd(cg.from_scores(wanted), x, y, n_boot=5, rng=0).n == N
        # Scores may be a tensor too.
        np.testing.assert_array_equal(cg.scores(cg.from_scores(x), X, X), X)
        leaf = torch.ones(N, requires_grad=True)
        assert cg.as_model((leaf, leaf)).rows == N

    def test_a_model_that_works_in_place(self):
        def log_prob(y, x):
            x *= 0
            return -0.5 * (y - x[:, 0]) ** 2

        x = X.copy()
        cg.from_log_prob(log_prob, backend="torch")(x).score(X[:, 0].copy())
        np.testing.assert_array_equal(x, X)


class Holder:
    def __init__(self, net):
        self.parts = {"net": [net]}

    def __call__(self, x):
        return td.Normal(self.parts["net"][0](x)[:, 0], 1.0)

    def predict(self, x):
        return self(x)


def through(net, x):
    return td.Normal(net(x)[:, 0], 1.0)


def through_global(x):
    return td.Normal(NET(x)[:, 0], 1.0)


def test_networks_are_found_wherever_they_are():
    def closure(x):
        return through(NET, x)

    for make in (
        closure,
        lambda x: (lambda z: through(NET, z))(x),
        functools.partial(through, NET),
        Holder(NET),
        Holder(NET).predict,
        through_global,
        lambda x, net=NET: through(net, x),
    ):
        model = cg.from_torch(make)
        assert model.make.modules == (NET,), make
        assert model.make.dtype == torch.float64


def test_a_network_that_cannot_be_found_is_asked_for():
    elsewhere = types.ModuleType("elsewhere")
    elsewhere.net = network(1)
    hidden = cg.from_torch(lambda x: through(elsewhere.net, x))
    assert hidden.make.modules == ()
    with pytest.raises(
        InputError, match=r"changes with the rows beside it.*modules=\[net\]"
    ):
        hidden(X).score(X[:, 0])
    with pytest.raises(InputError, match="changes with the rows beside it"):
        cg.adaptive(hidden, X, X[:, 0], n_boot=5)  # a test that needs no scores
    with pytest.raises(InputError, match="changes with the rows beside it"):
        hidden(X).marginals(X[:, 0])
    named = cg.from_torch(lambda x: through(elsewhere.net, x), modules=[elsewhere.net])
    wanted = cg.from_torch(functools.partial(through, elsewhere.net))(X).score(X[:, 0])
    np.testing.assert_array_equal(named(X).score(X[:, 0]), wanted)


def test_rows_that_depend_on_each_other_are_refused():
    model = cg.from_log_prob(lambda y, x: -((y - y.mean()) ** 2), backend="torch")
    with pytest.raises(InputError, match="changes with the rows beside it"):
        model(X).score(X[:, 0])


@pytest.mark.parametrize("n", [1, 2, 3, N])
@pytest.mark.parametrize("name", ["mixture-2", "laplace-2", "gumbel", "affine"])
def test_any_batch_size_gives_the_same(name, n):
    family = FAMILIES[name]
    y = np.random.default_rng(2).normal(size=(n, family.d_y))
    wanted = cg.from_torch(family.make)(X[:n]).score(y)
    for size in (1, 2, 5, 1000):
        got = cg.from_torch(family.make, batch_size=size)(X[:n]).score(y)
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


def test_single_precision():
    """Parameters differ by 1e-6 from double precision, scores by 1e-5 of their size."""
    single = network(12, torch.float32)
    double = network(12).eval()
    double.load_state_dict({k: v.double() if v.is_floating_point() else v
                            for k, v in single.state_dict().items()})  # fmt: skip

    def normals(net):
        return lambda x: mixture(net(x), td.Normal(net(x)[:, 2:4], scale(net(x)[:, 4:6])))

    def laplace(net):
        return lambda x: mixture(
            net(x), td.StudentT(3.0, net(x)[:, 2:4], scale(net(x)[:, 4:6]))
        )

    y = np.random.default_rng(3).normal(size=N)
    for make in (normals, laplace):
        model = cg.from_torch(make(single))
        got = model(X).score(y)
        wanted = cg.from_torch(make(double))(X).score(y)
        assert got.dtype == np.float64
        assert model.make.dtype == torch.float32
        assert np.abs(got - wanted).max() <= 1e-5 * np.abs(wanted).max()
    far = cg.from_torch(normals(single))(X).normal_scores(np.full(N, 40.0))
    assert np.isfinite(far).all()
    assert (far > 8).all()  # tails are computed in double precision
    check_law(cg.from_torch(normals(single)), X, same=1e-4, draws=400)


class TestShapes:
    def test_columns_and_flat_vectors(self):
        """(n,) against (n, 1) must never become n × n."""
        x = X[:, :1]
        y = X[:, 1]
        truth = (x[:, 0] - y)[:, None]
        for make in (
            lambda x: td.Laplace(x[:, 0], 1.0),
            lambda x: td.Laplace(x, 1.0),
            lambda x: independent(td.Laplace(x, 1.0)),
            lambda x: td.Normal(x[:, 0], 1.0),
            lambda x: independent(td.Normal(x, 1.0)),
            lambda x: td.Normal(x, torch.ones(1)),
        ):
            model = cg.from_torch(make)
            for given in (y, y[:, None]):
                scores = model(x).score(given)
                wanted = (
                    truth if "Normal" in repr(make(torch.zeros(1, 1))) else np.sign(truth)
                )
                np.testing.assert_allclose(scores, wanted)
                assert model(x).log_prob(given).shape == (N,)

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda x: td.Normal(x[:, 0, None] - x[:, 0], 1.0), r"batch shape \(24, 24\)"),
            (lambda x: td.Normal(x[:1, 0], 1.0), r"batch shape \(1,\)"),
            (
                lambda x: td.Normal(x, 1.0),
                r"loc of Normal .* must have shape \(24, 1\) or \(24,\), got",
            ),
            (lambda x: td.Gumbel(x, 1.0), r"batch shape \(24, 2\) .* must be \(24, 1\)"),
            (
                lambda x: independent(td.Normal(x[:, 0], 1.0)),
                r"event shape \(24,\) must have",
            ),
            (
                lambda x: independent(td.Gumbel(x[:, 0], 1.0)),
                r"event shape \(24,\) .* rows are not",
            ),
            (lambda x: x[:, 0], r"returned Tensor of shape \(2,\), and a distribution"),
            (lambda x: (x, x), "returned tuple, and a distribution"),
        ],
    )
    def test_wrong_shapes(self, make, message):
        with pytest.raises((ShapeError, UnsupportedModelError), match=message):
            cg.from_torch(make)(X).score(X[:, 0])

    def test_the_same_for_every_row(self):
        model = cg.from_torch(lambda x: td.Laplace(0.0, 1.0))
        np.testing.assert_array_equal(model(X).score(X[:, 0])[:, 0], -np.sign(X[:, 0]))
        assert cg.ksd(model, X[:, 0], n_boot=5, rng=0).n == N
        check_law(cg.from_torch(lambda x: td.Normal(0.0, 1.0)), X, draws=400)
        with pytest.raises(ShapeError, match=r"are wrapped in Independent"):
            cg.from_torch(lambda x: td.Normal(torch.zeros(2), 1.0))(X).score(X)

    def test_a_log_density_of_the_wrong_shape(self):
        model = cg.from_log_prob(lambda y, x: -((y - x) ** 2), backend="torch")
        with pytest.raises(
            ShapeError, match=r"shape \(24,\), got shape \(24, 24\)\. Is one of x and y"
        ):
            model(X[:, 1:]).score(X[:, 0])

    def test_frames(self):
        frame = pd.DataFrame(X, columns=["a", "b"])
        model = cg.from_torch(FAMILIES["normal"].make)
        np.testing.assert_array_equal(model(frame).score(X[:, 0]), model(X).score(X[:, 0]))
        frame["b"] = "text"
        with pytest.raises(InputTypeError, match="encode text columns first"):
            model(frame).score(X[:, 0])


class Flow(nn.Module):
    """y | x ~ N(net(x), 1), with a log-density under whatever names."""

    def __init__(self):
        super().__init__()
        self.net = network(1)

    def log_prob(self, inputs, context=None):
        return td.Normal(self.net(context), 1.0).log_prob(inputs.reshape(-1, 1)).sum(-1)

    def by_name(self, x, y):
        return self.log_prob(y, x)

    def half_named(self, y, condition):
        return self.log_prob(y, condition)

    def swapped(self, x, context):  # as some flows call y
        return self.log_prob(x, context)


class NamedFlow(Flow):
    def log_prob(self, x, y):
        return super().log_prob(y, x)


class TestMethods:
    y = X[:, :1]

    def test_named_explicitly(self):
        flow = Flow()
        wanted = cg.from_torch(lambda x: td.Normal(flow.net(x), 1.0))(X).score(self.y)
        before = state(flow)
        for options in (
            {"method": "log_prob", "y": "inputs", "x": "context"},
            {"y": "inputs", "x": "context"},
            {"method": "by_name"},
            {"method": "half_named"},
            {"method": "swapped", "y": "x", "x": "context"},
        ):
            model = cg.from_torch(flow, **options)
            np.testing.assert_allclose(model(X).score(self.y), wanted, err_msg=str(options))
            assert model.make.modules == (flow,)
        assert state(flow) == before
        check_law(model, X, self.y)
        named = NamedFlow()
        got = cg.from_torch(named)(X).score(self.y)
        np.testing.assert_allclose(got, cg.from_torch(named, y="y", x="x")(X).score(self.y))

    def test_never_guessed(self):
        for options in ({}, {"method": "log_prob"}, {"method": "swapped"}, {"y": "inputs"}):
            with pytest.raises(
                InputError, match=r"which parameter is y .* y='\w+', x='\w+'\)"
            ):
                cg.from_torch(Flow(), **options)
        with pytest.raises(InputError, match=r"no parameter 'target'"):
            cg.from_torch(Flow(), y="target", x="context")
        with pytest.raises(InputError, match=r"no method 'logp'\. Name the one"):
            cg.from_torch(Flow(), method="logp")

    def test_what_else_cannot_be_a_model(self):
        with pytest.raises(InputTypeError, match="what it returns must be named"):
            cg.as_model(nn.Linear(1, 1))
        with pytest.raises(InputTypeError, match="from_torch takes a function"):
            cg.from_torch(3)
        with pytest.raises(InputError, match="batch_size"):
            cg.from_torch(lambda x: x, batch_size=0)


class Shift:
    """y → z, with what zuko's transforms have."""

    def __init__(self, out):
        self.out = out

    def __call__(self, y):
        return torch.stack(
            [y[:, 0] - self.out[:, 0], torch.sinh(y[:, 1] - y[:, 0] * self.out[:, 1])], -1
        )

    def inv(self, z):
        first = z[:, 0] + self.out[:, 0]
        return torch.stack([first, torch.asinh(z[:, 1]) + first * self.out[:, 1]], -1)

    def ladj(self, y):
        return torch.log(torch.cosh(y[:, 1] - y[:, 0] * self.out[:, 1]))


class FlowDistribution:
    """The interface of a zuko flow's distribution; not a subclass of torch's."""

    def __init__(self, transform, base, n):
        self.transform = transform
        self.base = base
        self.batch_shape = (n,)
        self.event_shape = (2,)

    def log_prob(self, y):
        return self.base.log_prob(self.transform(y)) + self.transform.ladj(y)

    def sample(self):
        return self.transform.inv(self.base.sample(self.batch_shape))


class LikeZuko(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = network(2)

    def forward(self, x):
        base = independent(td.Normal(torch.zeros(2).double(), 1.0))
        return FlowDistribution(Shift(self.net(x)), base, len(x))


class TestFlows:
    def test_a_small_flow(self):
        flow = LikeZuko()
        model = cg.from_torch(flow)
        y = model(X).sample(np.random.default_rng(0))
        assert model(X).first.abilities == {"normal_scores", "sample"}
        check_law(model, X, draws=400, snapshot=lambda: state(flow))
        result = cg.adaptive(model, X, y, n_boot=5, rng=0)
        assert result.details["standardized_by"] == "normal scores of the model's CDF"

    @pytest.mark.parametrize("d_y", [1, 2])
    def test_zuko(self, d_y):
        import zuko

        torch.manual_seed(0)
        flow = zuko.flows.MAF(d_y, 2, transforms=2, hidden_features=(8,)).double()
        model = cg.from_torch(flow)
        y = model(X).sample(np.random.default_rng(0))
        check_law(
            model,
            X,
            draws=400,
            needs={"normal_scores", "sample"},
            snapshot=lambda: state(flow),
        )
        np.testing.assert_allclose(
            model(X).log_prob(y),
            flow(torch.tensor(X)).log_prob(torch.tensor(y)).detach().numpy(),
            rtol=1e-10,
        )

    def test_an_object_with_nothing_but_log_prob(self):
        class Bare:
            def __init__(self, x):
                self.x = x

            def log_prob(self, y):
                return -torch.cosh(y.reshape(-1) - self.x[:, 0])

        model = cg.from_torch(lambda x: Bare(x))
        y = X[:, 1]
        assert model(X).first.abilities == set()
        np.testing.assert_allclose(model(X).score(y)[:, 0], -np.sinh(y - X[:, 0]))
        check_law(model, X, y, normalised=False)
        with pytest.raises(UnsupportedModelError, match="Bare has no cdf"):
            model(X).cdf(y)


class TestBound:
    @pytest.mark.parametrize("name", [*FAMILIES, *BOUNDED])
    def test_a_distribution_with_a_part_for_each_row(self, name):
        make = (FAMILIES.get(name) or BOUNDED[name]).make
        mode = NET.training
        NET.eval()
        dist = make(torch.tensor(X))
        NET.train(mode)
        model = cg.as_model(dist)
        assert model.rows == N
        y = model.sample(np.random.default_rng(0))
        check_law(model, X, y, draws=400, pickles=True)
        np.testing.assert_allclose(
            model(X).score(y), cg.from_torch(make)(X).score(y), rtol=1e-9
        )

    def test_the_wrong_number_of_rows(self):
        with pytest.raises(ShapeError, match="bound to 5 rows and the sample has 24"):
            cg.kcsd(td.Normal(torch.zeros(5), 1.0), X, X[:, 0])

    def test_rows_of_a_users_own_distribution(self):
        class Own(td.Normal):
            def log_prob(self, value):
                return super().log_prob(value) * 2

        model = cg.as_model(Own(torch.zeros(N), 1.0))
        with pytest.raises(UnsupportedModelError, match="Rows of Own cannot be taken"):
            model(X).score(X[:, 0])
        scores = cg.from_torch(lambda x: Own(torch.zeros(len(x)), 1.0))(X).score(X[:, 0])
        # The density of the subclass itself, not that of the normal distribution.
        np.testing.assert_allclose(scores[:, 0], -2 * X[:, 0])


class TestRefused:
    def test_discrete_families_that_are_not_known(self):
        make = lambda x: mixture(x, td.Poisson(torch.exp(x)))  # noqa: E731
        with pytest.raises(
            UnsupportedModelError, match="a discrete distribution that is not known here"
        ):
            cg.kcsd(cg.from_torch(make), X, np.arange(N))
        with pytest.raises(ShapeError, match=r"must be \(2, 1\)"):
            cg.kcsd(
                cg.from_torch(lambda x: independent(td.Bernoulli(logits=x[:, :2]))),
                X,
                np.arange(N),
            )

    def test_piecewise_constant(self):
        edges = torch.linspace(-4, 4, 9).double()

        def log_prob(y, x):
            return torch.log_softmax(x.sum(1, keepdim=True) * edges, 1).gather(
                1, torch.bucketize(y, edges[1:-1])[:, None]
            )[:, 0]

        with pytest.raises(
            DerivativeError, match=r"piecewise constant .* standardize='cdf'"
        ):
            cg.from_log_prob(log_prob, backend="torch")(X).score(X[:, 0])
        flat = cg.from_log_prob(lambda y, x: log_prob(y, x) + 0 * y, backend="torch")
        with pytest.raises(DerivativeError, match="flat at every row"):
            flat(X).score(X[:, 0])

    def test_a_gradient_that_is_cut(self):
        @torch.no_grad()
        def log_prob(y, x):
            return -0.5 * (y - x[:, 0]) ** 2

        with pytest.raises(DerivativeError, match="no_grad, detach or NumPy"):
            cg.from_log_prob(log_prob, backend="torch")(X).score(X[:, 0])

    def test_a_simplex(self):
        make = cg.from_torch(lambda x: td.Dirichlet(torch.exp(x)))
        with pytest.raises(UnsupportedModelError, match="not an interval"):
            assert make(X).support

    def test_a_mode_is_not_flat(self):
        model = cg.from_torch(lambda x: td.Laplace(x[:, 0], 1.0))
        assert model(X[:1]).score(X[:1, 0]) == 0


def test_a_log_density_by_name():
    wanted = (X[:, 0] - X[:, 1])[:, None]
    for function in (
        lambda y, x: -0.5 * (y.reshape(-1) - x[:, 0]) ** 2,
        lambda x, y: -0.5 * (y.reshape(-1) - x[:, 0]) ** 2,
        lambda target, x: -0.5 * (target.reshape(-1) - x[:, 0]) ** 2,
    ):
        model = cg.from_log_prob(function, backend="torch")
        np.testing.assert_allclose(model(X).score(X[:, 1]), wanted)
        assert not model(X).can("cdf")
        check_law(model, X, X[:, 1], normalised=False)
    assert (
        cg.ksd(cg.from_log_prob(lambda y: -(y**2), backend="torch"), X[:, 0], n_boot=5).n
        == N
    )


def test_models_can_be_sent_to_workers():
    model = cg.from_torch(LikeZuko())
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again(X).score(X), model(X).score(X))


def test_what_it_lacks_is_said():
    model = cg.from_torch(FAMILIES["mixture-multivariate"].make)
    y = model(X).sample(np.random.default_rng(0))
    with pytest.raises(UnsupportedModelError, match="d_y = 1 only"):
        model(X).cdf(y)
    with pytest.raises(
        UnsupportedModelError, match="MixtureSameFamily has no normal_scores"
    ):
        model(X).normal_scores(y)
    with pytest.raises(UnsupportedModelError, match="no marginals"):
        model(X).marginals(y)


def test_bounded_models_are_compared_on_the_whole_line():
    gamma = cg.from_torch(lambda x: td.Gamma(scale(x[:, 0]), 1.0))
    y = gamma(X).sample(np.random.default_rng(0))
    assert cg.kcsd(gamma, X, y, n_boot=5, rng=0).details["reparametrized"] == "log(y - low)"
    y[3] = -1
    with pytest.raises(InputError, match="row 3"):
        cg.kcsd(gamma, X, y, n_boot=5, rng=0)
    own = cg.from_log_prob(lambda y, x: -y, backend="torch", support=(0, None))
    assert cg.kcsd(own, X, X[:, 0] ** 2, n_boot=5, rng=0).details["reparametrized"]


def test_many_rows_are_scored_block_by_block(monkeypatch):
    """The scores are the same, and errors count over all rows."""
    monkeypatch.setattr("condgof.methods._scores.NETWORK_ROWS", 7)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 40, 2))
    model = cg.from_torch(lambda x: torch.distributions.Laplace(x, 2.0))
    wanted = model(x).score(y)
    np.testing.assert_array_equal(cg.scores(model, x, y), wanted)
    np.testing.assert_array_equal(cg.scores(model, x.tolist(), y.tolist()), wanted)
    y[[20, 30]] = np.nan
    with pytest.raises(InputError, match=r"2 of 40 rows, the first in row 20"):
        cg.scores(model, x, y)


RNG = np.random.default_rng(0)
NEW = RNG.normal(size=(24, 2))
CLASSES = np.minimum(RNG.poisson(np.exp(0.5 + NEW @ [0.6, -0.4])), 2)


def eta(x):
    return (x.double() @ torch.tensor([[0.6, -0.4]], dtype=torch.float64).T)[:, 0]


DISCRETE = {
    "categorical": lambda x: td.Categorical(
        logits=torch.stack([eta(x), -eta(x), 0 * eta(x)], -1)
    ),
    "bernoulli": lambda x: td.Bernoulli(logits=eta(x)),
    "bernoulli-column": lambda x: td.Bernoulli(probs=torch.sigmoid(eta(x))[:, None]),
    "poisson": lambda x: td.Poisson(torch.exp(eta(x))),
    "negative-binomial": lambda x: td.NegativeBinomial(3.0, logits=eta(x)),
    "binomial": lambda x: td.Binomial(7, logits=eta(x)),
}


class TestDiscrete:
    @pytest.mark.parametrize("name", DISCRETE)
    def test_families(self, name):
        make = DISCRETE[name]
        dist = make(torch.tensor(NEW))
        y = dist.sample().numpy().reshape(-1)
        theirs = (
            dist.log_prob(torch.tensor(y).reshape(dist.batch_shape)).numpy().reshape(-1)
        )
        for model in (
            cg.from_torch(make, batch_size=10),
            cg.from_torch(make),
            cg.as_model(dist),
        ):
            np.testing.assert_allclose(model(NEW).log_prob(y), theirs, atol=1e-5)
        check_law(cg.from_torch(make, batch_size=10), NEW, y, most=400)
        check_law(cg.as_model(dist), NEW, y, most=400, pickles=True, tests=False)

    def test_a_head_of_logits(self):
        net = nn.Sequential(nn.Linear(2, 8), nn.Dropout(0.5), nn.Linear(8, 3))
        model = cg.from_torch(lambda x: td.Categorical(logits=net(x)))
        check_law(model, NEW, CLASSES)
        assert net.training
        with pytest.raises(UnsupportedModelError, match=r"Categorical\(logits=\.\.\.\)"):
            cg.kcsd(cg.from_torch(net), NEW, CLASSES)

    def test_a_head_whose_network_cannot_be_found(self):
        elsewhere = types.ModuleType("elsewhere")
        elsewhere.net = network(3)
        hidden = cg.from_torch(lambda x: td.Categorical(logits=elsewhere.net(x)))
        with pytest.raises(
            InputError, match=r"changes with the rows beside it.*modules=\[net\]"
        ):
            cg.kcsd(hidden, NEW, CLASSES)


class TestBatches:
    def test_nothing_of_a_batch_is_alive_when_the_next_is_made(self):
        alive = weakref.WeakSet()

        class Own(td.Gumbel):
            def log_prob(self, value):
                held = super().log_prob(value)
                alive.add(held)
                return held

        def make(x):
            assert not alive
            dist = Own(x[:, 0], 1.0)
            alive.add(dist)
            return dist

        law = cg.from_torch(make, batch_size=5)(X)
        y = X[:, 1]
        gc.disable()  # reference counts alone must do it
        try:
            alive.clear()  # the first two rows stay
            law.score(y), law.log_prob(y), law.normal_scores(y)
        finally:
            gc.enable()

    def test_y_of_other_rows(self):
        law = cg.from_torch(FAMILIES["gumbel"].make, batch_size=5)(X)
        for ability in ("score", "log_prob", "cdf", "normal_scores"):
            with pytest.raises(
                ShapeError, match="y has 23 rows, and the law of Gumbel has 24"
            ):
                getattr(law, ability)(X[1:, 0])

    def test_few_flat_rows_at_the_end(self):
        """A density that is flat around 0: the last batch may have no other rows."""
        model = cg.from_log_prob(
            lambda y, x: -(torch.relu(y.abs() - 1) ** 2), backend="torch"
        )
        model = replace(model, make=replace(model.make, size=10))
        y = np.concatenate([np.full(20, 2.0), np.zeros(4)])
        np.testing.assert_allclose(model(X).score(y)[:, 0], np.where(y > 1, -2.0, 0.0))
        with pytest.raises(DerivativeError, match="flat at every row"):
            model(X).score(0 * y)

    def test_a_sampler_that_is_called_otherwise_is_not_there(self):
        class Own(td.Gumbel):
            def sample(self, how_many):
                return super().sample((how_many,))

        law = cg.from_torch(lambda x: Own(x[:, 0], 1.0))(X)
        assert not law.can("sample")
        assert law.can("normal_scores")  # tried at 0 instead
        with pytest.raises(UnsupportedModelError, match="Own has no sample"):
            cg.mmd(cg.from_torch(lambda x: Own(x[:, 0], 1.0)), X, X[:, 0])

        class Without(FlowDistribution):
            sample = None

        base = independent(td.Normal(torch.zeros(2).double(), 1.0))
        law = cg.from_torch(lambda x: Without(Shift(x), base, len(x)))(X)
        assert law.first.abilities == {"normal_scores"}

    def test_rows_of_a_law(self):
        law = cg.from_torch(FAMILIES["gumbel"].make, batch_size=5)(X)
        rows = np.array([3, 3, 0, 20])
        np.testing.assert_allclose(
            law.take(rows).score(X[rows, 0]), law.score(X[:, 0])[rows]
        )
        copy = pickle.loads(
            pickle.dumps(cg.as_model(td.Gumbel(torch.tensor(X[:, 0]), 1.0)))
        )
        np.testing.assert_allclose(
            copy.take(rows).score(X[rows, 1])[:, 0], copy.score(X[:, 1])[rows, 0]
        )
