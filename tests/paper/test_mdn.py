"""The mixture density network: layers, training, closed forms against autograd, files."""

import doctest
import json
import os
import pickle
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

import condgof as cg
import mdn
from condgof.errors import InputError, NumericalError, ShapeError, UnsupportedModelError
from condgof.models import NormalMixture
from laws.conformance import check_law
from mdn import MDN, Sizes, build_networks, fit_mdn, mean_nll

#: Where a fresh interpreter finds the module `mdn`.
PAPER = Path(mdn.__file__).parent


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def folded(n, rng):
    """Two branches that cross: y is x or −x."""
    x = rng.uniform(-1, 1, n)
    return x, np.where(rng.random(n) < 0.5, x, -x) + 0.1 * rng.standard_normal(n)


def planar(n, rng):
    """Two columns of x and of y, in units far from 1."""
    x = rng.normal([100.0, -5.0], [20.0, 0.1], (n, 2))
    angle = 2 * np.pi * rng.random(n)
    y = np.column_stack([x[:, 0] + 10 * np.cos(angle), 1e-3 * np.sin(angle)])
    return x, y + rng.normal(0, [1.0, 1e-4], (n, 2))


@pytest.fixture(scope="module")
def one():
    x, y = folded(400, np.random.default_rng(0))
    return fit_mdn(x, y, components=3, epochs=4, batch_size=100, rng=0), x, y


@pytest.fixture(scope="module")
def two():
    x, y = planar(400, np.random.default_rng(1))
    return fit_mdn(x, y, components=5, epochs=4, batch_size=100, rng=0), x, y


@pytest.fixture(params=["one", "two"])
def fitted(request):
    return request.getfixturevalue(request.param)


def to_torch(model):
    """Return the networks of a fitted model in torch, in eval mode and double precision."""
    networks = build_networks(model.sizes, np.random.default_rng(0)).double()
    state = {name: torch.from_numpy(np.array(array)) for name, array in model.state.items()}
    networks.load_state_dict(state, strict=False)  # how many batches there were is not kept
    return networks.eval()


def standardised(model, x, y):
    rows = [np.reshape(a, (len(a), -1)) for a in (x, y)]
    z_x = (rows[0] - model.x_shift) / model.x_scale
    return torch.tensor(z_x), torch.tensor((rows[1] - model.y_shift) / model.y_scale)


def test_docstrings():
    assert doctest.testmod(mdn).failed == 0


class TestArchitecture:
    def test_layers_are_those_of_the_papers_tables(self):
        networks = build_networks(Sizes(2, 2, 20), np.random.default_rng(0))
        norm = ["Linear", "BatchNorm1d", "ReLU"]
        kinds = {
            name: [type(layer).__name__ for layer in net] for name, net in networks.items()
        }
        assert kinds == {
            "weights": [*norm, *norm, "Linear"],
            "means": [*norm, "Linear", "BatchNorm1d", "Linear"],
            "variances": [*norm, "Linear", "BatchNorm1d", "Linear"],
        }
        for name, last in (("weights", 20), ("means", 40), ("variances", 40)):
            linear = [a for a in networks[name] if isinstance(a, torch.nn.Linear)]
            sizes = [(a.in_features, a.out_features) for a in linear]
            assert sizes == [(2, 128), (128, 64), (64, last)]

    def test_number_of_parameters(self):
        networks = build_networks(Sizes(2, 2, 20), np.random.default_rng(0))
        body = (2 * 128 + 128) + 2 * 128 + (128 * 64 + 64) + 2 * 64
        heads = [64 * out + out for out in (20, 40, 40)]
        assert sum(p.numel() for p in networks.parameters()) == 3 * body + sum(heads)

    def test_numpy_evaluates_what_torch_in_eval_mode_does(self, fitted):
        model, x, y = fitted
        networks = to_torch(model)
        (z, _) = standardised(model, x, y)
        assert not networks.training
        with torch.no_grad():
            for name in networks:
                np.testing.assert_allclose(
                    model.network(name, z.numpy()), networks[name](z), atol=1e-10
                )


class TestClosedForms:
    def test_score_against_autograd(self, fitted):
        model, x, y = fitted
        z_x, z_y = standardised(model, x, y)
        z_y.requires_grad_()
        loss = mean_nll(to_torch(model), z_x, z_y) * len(x)
        (slope,) = torch.autograd.grad(loss, z_y)
        np.testing.assert_allclose(
            model(x).score(y), -slope.numpy() / model.y_scale, rtol=1e-8
        )
        total = -loss.item() - len(x) * np.log(model.y_scale).sum()
        assert model(x).log_prob(y).sum() == pytest.approx(total, rel=1e-10)

    def test_score_against_differences(self, fitted):
        model, x, y = fitted
        rows = y.reshape(len(y), -1)
        for c in range(rows.shape[1]):
            step = np.eye(rows.shape[1])[c] * 1e-5 * model.y_scale
            up, down = (model(x).log_prob(rows + s) for s in (step, -step))
            np.testing.assert_allclose(
                model(x).score(y)[:, c],
                (up - down) / (2 * step[c]),
                rtol=1e-5,
                atol=1e-6 / model.y_scale[c],
            )

    def test_it_is_the_mixture_of_its_parts(self, fitted):
        model, x, y = fitted
        parts = model.parts(x)
        rng = np.random.default_rng
        assert parts.weights.shape == (400, model.sizes.components)
        np.testing.assert_allclose(parts.weights.sum(axis=1), 1.0)
        law = model(x)
        same = NormalMixture(*parts)
        for ability in ("score", "log_prob", "normal_scores"):
            np.testing.assert_allclose(getattr(law, ability)(y), getattr(same, ability)(y))
        for mine, other in zip(law.marginals(y), same.marginals(y), strict=True):
            np.testing.assert_allclose(mine, other)
        for ability in ("mean_std", "location_scale"):
            for a, b in zip(getattr(law, ability)(), getattr(same, ability)(), strict=True):
                np.testing.assert_allclose(a, b)
        np.testing.assert_allclose(law.sample(rng(2)), same.sample(rng(2)))

    def test_covariance(self, two):
        model, x, _ = two
        mean, cov = model.mixture(x).mean_cov()
        _, std = model(x).mean_std()
        chol = model(x).location_scale()[1]
        np.testing.assert_allclose(np.sqrt(np.diagonal(cov, axis1=1, axis2=2)), std)
        squared = chol @ chol.transpose(0, 2, 1)
        np.testing.assert_allclose(squared, cov, rtol=1e-9, atol=1e-12)
        draws = model(np.repeat(x[:1], 20_000, axis=0)).sample(np.random.default_rng(0))
        scale = np.outer(std[0], std[0])
        np.testing.assert_allclose((np.cov(draws.T) - cov[0]) / scale, 0.0, atol=0.05)
        np.testing.assert_allclose((draws.mean(axis=0) - mean[0]) / std[0], 0.0, atol=0.04)

    def test_sampler_cdf_and_normal_scores_agree(self, fitted):
        model, x, _ = fitted
        x = np.repeat(x, 10, axis=0)
        y = model(x).sample(np.random.default_rng(3))
        for u in model(x).normal_scores(y).T:
            assert stats.kstest(u, "norm").pvalue > 1e-4
        if model.sizes.d_y == 1:
            assert stats.kstest(model(x).cdf(y), "uniform").pvalue > 1e-4
            np.testing.assert_allclose(model(x).cdf(y) + model(x).sf(y), 1.0)
            assert model(x[:1]).sf(np.full(1, 1e3)) >= 0
        else:
            with pytest.raises(UnsupportedModelError, match="d_y = 1"):
                model(x).cdf(y)

    @pytest.mark.parametrize("n", [1, 2, 400])
    def test_shapes(self, fitted, n):
        model, x, y = fitted
        x = x[:n]
        y = y[:n]
        d_y = model.sizes.d_y
        assert model(x).score(y).shape == model(x).normal_scores(y).shape == (n, d_y)
        assert model(x).log_prob(y).shape == (n,)
        assert model(x).sample(np.random.default_rng(0)).shape == (n, d_y)
        assert model.mixture(x).mean_cov()[1].shape == (n, d_y, d_y)
        assert [a.shape for a in model(x).marginals(y)] == [(n, d_y)] * 3
        assert model.rows is None
        if d_y == 1:
            np.testing.assert_array_equal(
                model(x[:, None]).score(y[:, None]), model(x).score(y)
            )
            assert model(x).cdf(y).shape == (n,)

    def test_far_from_the_data_it_stays_finite(self, fitted):
        model, x, y = fitted
        far = model.x_shift + 1e6 * model.x_scale * np.ones((3, 1))
        assert np.isfinite(model(far).log_prob(y[:3])).all()
        assert np.isfinite(
            model(x[:3]).score(y[:3] + 1e6 * np.ravel(model.y_scale)[-1])
        ).all()


class TestBatches:
    def test_any_batch_size_gives_the_same(self, fitted):
        model, x, y = fitted
        small = replace(model, batch_size=7)
        np.testing.assert_allclose(small(x).score(y), model(x).score(y), rtol=1e-10)
        draws = [m(x).sample(np.random.default_rng(1)) for m in (small, model)]
        np.testing.assert_allclose(*draws, rtol=1e-10)
        np.testing.assert_allclose(small.parts(x).means, model.parts(x).means, rtol=1e-10)

    def test_single_precision_and_frames(self, two):
        import pandas as pd
        import polars as pl

        _, x, y = two
        frame = pd.DataFrame(x, columns=["a", "b"], index=np.arange(400) * 0.5)
        model = fit_mdn(frame, y, components=2, epochs=2, rng=0)
        scores = model(frame).score(y)
        np.testing.assert_array_equal(model(x).score(y), scores)
        np.testing.assert_array_equal(model(frame[["b", "a"]]).score(y), scores)
        batched = replace(model, batch_size=99)(pl.from_pandas(frame)).score(y)
        np.testing.assert_allclose(batched, scores, rtol=1e-9)
        assert np.isfinite(model(x.astype(np.float32)).score(y.astype(np.float32))).all()
        with pytest.raises(InputError, match=r"lacks the column 'b'.* 'a', 'b'"):
            model(frame[["a"]]).score(y)

    def test_memory_is_that_of_the_arrays_and_one_batch(self):
        """Peak memory beyond that of a batch is at most 1.1 times x, y and the scores."""
        code = """
import resource, sys, numpy as np
from mdn import MDN, Sizes
sizes, rng = Sizes(2, 2, 20), np.random.default_rng(0)
state = {k: np.abs(0.1 * rng.standard_normal(s)) for k, s in sizes.shapes().items()}
shift, scale = np.zeros(2), np.ones(2)
units = {"x_shift": shift, "x_scale": scale, "y_shift": shift, "y_scale": scale}
model = MDN(sizes=sizes, state=state, **units)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
def score(n):
    x, y = rng.standard_normal((2, n, 2))
    return x.nbytes + y.nbytes + model(x).score(y).nbytes
score(model.batch_size)
before = peak()
arrays = score(200_000)
print((peak() - before) / arrays)
"""
        env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        run = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=PAPER,
            env=env,
        )
        assert float(run.stdout) < 1.1

    def test_it_conforms(self, fitted):
        model, x, y = fitted
        check_law(model, x, needs=("score", "log_prob", "normal_scores", "sample"))
        check_law(model, x, y, draws=500)


class TestTraining:
    def test_a_folded_problem_is_learnt(self):
        rng = np.random.default_rng(4)
        x, y = folded(2000, rng)
        model = fit_mdn(x, y, components=5, epochs=30, batch_size=200, patience=10, rng=0)
        single = fit_mdn(x, y, components=1, epochs=30, batch_size=200, patience=10, rng=0)
        new_x, new_y = folded(2000, rng)
        truth = NormalMixture([0.5, 0.5], lambda x: np.column_stack([x, -x]), 0.1)
        loss = [m(new_x).log_prob(new_y).mean() for m in (single, model, truth)]
        assert loss[1] > loss[0] + 0.3
        assert loss[1] > loss[2] - 0.15
        # The tests distinguish the two models too, on rows that neither was fitted on.
        effect = [
            cg.kcsd(m, new_x, new_y, standardize="cdf", n_boot=50, rng=0)
            for m in (single, model)
        ]
        assert effect[0].statistic > 10 * effect[1].statistic
        assert effect[0].reject()

    def test_the_same_rng_gives_the_same_model(self, one):
        model, x, y = one
        again = fit_mdn(x, y, components=3, epochs=4, batch_size=100, rng=0)
        other = fit_mdn(x, y, components=3, epochs=4, batch_size=100, rng=1)
        np.testing.assert_array_equal(again(x).score(y), model(x).score(y))
        assert again.history == model.history
        assert not np.array_equal(other(x).score(y), model(x).score(y))

    def test_nothing_global_is_touched(self, one):
        _, x, y = one
        torch.set_default_dtype(torch.float64)
        try:
            with torch.no_grad():
                torch_state = torch.get_rng_state()
                numpy_state = np.random.get_state()[1].copy()
                x_before = x.copy()
                y_before = y.copy()
                model = fit_mdn(x, y, components=3, epochs=2, batch_size=100, rng=0)
                to_torch(model)
                assert not torch.is_grad_enabled()
            assert torch.get_default_dtype() is torch.float64
        finally:
            torch.set_default_dtype(torch.float32)
        assert torch.equal(torch.get_rng_state(), torch_state)
        np.testing.assert_array_equal(np.random.get_state()[1], numpy_state)
        np.testing.assert_array_equal(x, x_before)
        np.testing.assert_array_equal(y, y_before)
        single = fit_mdn(x, y, components=3, epochs=2, batch_size=100, rng=0)
        np.testing.assert_array_equal(single(x).score(y), model(x).score(y))

    def test_early_stopping_keeps_the_best_weights(self):
        x, y = folded(120, np.random.default_rng(5))
        model = fit_mdn(
            x,
            y,
            components=10,
            epochs=400,
            batch_size=30,
            learning_rate=0.01,
            patience=5,
            rng=0,
        )
        losses = model.history.validation
        best = int(np.argmin(losses)) + 1
        assert model.history.best_epoch == best < 395
        assert len(losses) == len(model.history.train) == best + 5
        longer = fit_mdn(
            x,
            y,
            components=10,
            epochs=best,
            batch_size=30,
            learning_rate=0.01,
            patience=5,
            rng=0,
        )
        np.testing.assert_array_equal(longer(x).score(y), model(x).score(y))

    def test_the_validation_loss_is_that_of_the_model(self, one):
        model, x, y = one
        order = cg.sample.Seed.of(0).stream(cg.sample.Use.SPLIT).permutation(400)[:40]
        loss = -model(x[order]).log_prob(y[order]).mean()
        assert model.history.validation[model.history.best_epoch - 1] == pytest.approx(
            loss, abs=1e-4
        )

    def test_without_validation_all_epochs_run(self, one):
        _, x, y = one
        model = fit_mdn(x, y, components=2, epochs=3, validation_fraction=0, rng=0)
        assert model.history.validation == ()
        assert model.history.best_epoch == len(model.history.train) == 3

    def test_a_generator_is_advanced(self, one):
        _, x, y = one
        rng = np.random.default_rng(0)
        a, b = (fit_mdn(x, y, components=2, epochs=1, rng=rng) for _ in range(2))
        assert not np.array_equal(a(x).score(y), b(x).score(y))

    def test_minibatches_never_have_a_single_row(self):
        x, y = folded(12, np.random.default_rng(0))
        assert (
            fit_mdn(x, y, components=1, epochs=1, batch_size=10, rng=0).history.best_epoch
            == 1
        )

    def test_a_constant_column_of_x_does_no_harm(self, one):
        _, x, y = one
        x = np.column_stack([x, np.full(400, 7.0)])
        assert np.isfinite(fit_mdn(x, y, components=2, epochs=1, rng=0)(x).score(y)).all()

    def test_the_bar_shows_the_loss(self, one, monkeypatch, capsys):
        _, x, y = one
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        fit_mdn(x, y, components=2, epochs=2, rng=0)
        shown = capsys.readouterr().err
        assert "training" in shown
        assert "validation" in shown
        fit_mdn(x, y, components=2, epochs=2, rng=0, progress=False)
        assert capsys.readouterr().err == ""

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"components": 0}, "components must be at least 1"),
            ({"components": 2.5}, "components must be an integer"),
            ({"epochs": 0}, "epochs"),
            ({"batch_size": 1}, "batch_size must be at least 2"),
            ({"learning_rate": 0.0}, "learning_rate must be positive"),
            ({"validation_fraction": 1.0}, "validation_fraction"),
            ({"patience": 0}, "patience"),
        ],
    )
    def test_bad_options(self, one, options, message):
        _, x, y = one
        with pytest.raises(InputError, match=message):
            fit_mdn(x, y, **options)

    def test_bad_data(self, one):
        import pandas as pd

        _, x, y = one
        with pytest.raises(ShapeError, match="at least 10 rows, got 5"):
            fit_mdn(x[:5], y[:5])
        with pytest.raises(InputError, match="y is constant"):
            fit_mdn(x, np.ones(400))
        with pytest.raises(InputError, match="'town' holds text"):
            fit_mdn(pd.DataFrame({"town": ["a", "b"] * 200}), y)
        with pytest.raises(InputError, match="NaN"):
            fit_mdn(x, np.where(x > 0, np.nan, y))

    def test_a_loss_that_is_not_finite_is_an_error(self, one):
        _, x, y = one
        with pytest.raises(NumericalError, match="Lower learning_rate"):
            fit_mdn(x, y, components=2, epochs=50, learning_rate=1e30, rng=0)

    def test_wrong_columns(self, two):
        model, x, y = two
        with pytest.raises(
            ShapeError, match=r"x must have 2 columns, as in the fit, got shape \(400, 1\)"
        ):
            model(x[:, :1]).score(y)
        with pytest.raises(ShapeError, match=r"must have shape \(\d+, 5, 1\)"):
            model(x).score(y[:, :1])
        with pytest.raises(ShapeError, match=r"y has 400 rows, and the law .* has 9"):
            model(x[:9]).score(y)
        with pytest.raises(InputError, match="there is no x"):
            model(n=400)
        with pytest.raises(InputError, match="batch_size"):
            replace(model, batch_size=0)


class TestFiles:
    def test_round_trip(self, fitted, tmp_path):
        model, x, y = fitted
        model.save(tmp_path / "model.safetensors")
        again = MDN.load(str(tmp_path / "model.safetensors"))
        np.testing.assert_array_equal(again(x).score(y), model(x).score(y))
        assert (again.sizes, again.history, again.x_names) == (
            model.sizes,
            model.history,
            model.x_names,
        )
        assert os.listdir(tmp_path) == ["model.safetensors"]

    def test_the_file_is_what_the_format_says(self, one, tmp_path):
        model, _, _ = one
        model.save(tmp_path / "m")
        data = (tmp_path / "m").read_bytes()
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + size])
        about = json.loads(header.pop("__metadata__")["model"])
        assert about["sizes"] == {"d_x": 1, "d_y": 1, "components": 3}
        assert size % 8 == 0
        ends = [0]
        for name, entry in header.items():
            assert entry["dtype"] == "F64"
            assert entry["data_offsets"][0] == ends[-1], name
            ends.append(entry["data_offsets"][1])
        assert ends[-1] == len(data) - 8 - size

    def test_a_pickle_is_refused_and_never_run(self, tmp_path):
        class Malicious:
            def __reduce__(self):
                return os.mkdir, (str(tmp_path / "owned"),)

        (tmp_path / "a").write_bytes(pickle.dumps(Malicious()))
        torch.save(Malicious(), tmp_path / "b")
        for name in "ab":
            with pytest.raises(
                InputError, match="not a mixture density network that condgof saved"
            ):
                MDN.load(tmp_path / name)
        assert not (tmp_path / "owned").exists()

    @pytest.mark.parametrize("keep", [0, 5, 8, 100, 0.5, 0.99])
    def test_a_cut_file(self, one, tmp_path, keep):
        one[0].save(tmp_path / "m")
        data = (tmp_path / "m").read_bytes()
        (tmp_path / "m").write_bytes(
            data[: keep if isinstance(keep, int) else int(keep * len(data))]
        )
        with pytest.raises(
            InputError, match="not a mixture density network that condgof saved"
        ):
            MDN.load(tmp_path / "m")

    @pytest.mark.parametrize(
        ("old", "new", "why"),
        [
            (b"condgof.models.mdn/1", b"condgof.models.mdn/9", "its format is"),
            (
                b'\\"components\\": 3',
                b'\\"components\\": 4',
                r"should be .*'shape': \[4, 64\]",
            ),
            (
                b"means.linear1.weight",
                b"means.linear7.weight",
                "means.linear7.weight is .*should be",
            ),
            (b'"F64"', b'"F32"', "'F32'.* should be .*'F64'"),
            (b'"shape": [128]', b'"shape": [129]', r"\[129\].* should be .*\[128\]"),
            (b'\\"d_y\\": 1', b'\\"d_y\\": 0', "d_y must be at least 1, got 0"),
        ],
    )
    def test_a_damaged_file(self, one, tmp_path, old, new, why):
        one[0].save(tmp_path / "m")
        data = (tmp_path / "m").read_bytes()
        assert old in data
        (tmp_path / "m").write_bytes(data.replace(old, new))
        with pytest.raises(InputError, match=why):
            MDN.load(tmp_path / "m")

    def test_a_failed_write_leaves_the_old_file(self, one, tmp_path, monkeypatch):
        model, x, y = one
        model.save(tmp_path / "m")
        monkeypatch.setattr(
            os, "replace", lambda *_: (_ for _ in ()).throw(OSError("full"))
        )
        with pytest.raises(OSError, match="full"):
            model.save(tmp_path / "m")
        assert os.listdir(tmp_path) == ["m"]
        np.testing.assert_array_equal(
            MDN.load(tmp_path / "m")(x).score(y), model(x).score(y)
        )

    def test_a_header_never_makes_more_numbers_than_the_file_holds(self, one, tmp_path):
        """Arrays that share bytes, or claim too many, are refused before any is made."""
        one[0].save(tmp_path / "m")
        data = (tmp_path / "m").read_bytes()
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + size])
        numbers = data[8 + size :]
        claims = {
            "copy0 is .* should be": {
                f"copy{k}": {**header["means.linear2.weight"]} for k in range(3000)
            },
            "big is .* should be": {
                "big": {"dtype": "F64", "shape": [2**40], "data_offsets": [0, 2**43]}
            },
            "odd is .* should be": {
                "odd": {"dtype": "F64", "shape": [-1, -8], "data_offsets": [0, 64]}
            },
        }
        for why, more in claims.items():
            text = json.dumps({**header, **more}).encode()
            (tmp_path / "bad").write_bytes(len(text).to_bytes(8, "little") + text + numbers)
            tracemalloc.start()
            with pytest.raises(InputError, match=f"damaged .*{why}"):
                MDN.load(tmp_path / "bad")
            assert tracemalloc.get_traced_memory()[1] < 20 * len(data)
            tracemalloc.stop()
        (tmp_path / "bad").write_bytes(data + bytes(80))
        with pytest.raises(InputError, match="and no more"):
            MDN.load(tmp_path / "bad")

    def test_numbers_that_are_not_finite(self, one, tmp_path):
        one[0].save(tmp_path / "m")
        data = (tmp_path / "m").read_bytes()
        (tmp_path / "m").write_bytes(data[:-8] + np.array([np.nan]).tobytes())
        with pytest.raises(
            InputError, match=r"damaged .*y_scale has numbers that are not finite"
        ):
            MDN.load(tmp_path / "m")

    def test_a_fitted_model_needs_no_torch(self, one, tmp_path):
        one[0].save(tmp_path / "m")
        code = (
            "import sys, numpy as np; sys.modules['torch'] = None\n"
            "import mdn\n"
            f"model = mdn.MDN.load({str(tmp_path / 'm')!r})\n"
            "print(model(np.zeros(3)).score(np.zeros(3)).shape)\n"
            "try: mdn.fit_mdn(np.arange(20.0), np.arange(20.0))\n"
            "except ImportError as error: print(error)\n"
        )
        run = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=PAPER,
        )
        assert run.stdout.startswith("(3, 1)\n")
        assert "pip install 'condgof[torch]'" in run.stdout
