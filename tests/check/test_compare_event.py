"""compare and rank of censored times."""

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter, KaplanMeierFitter
from scipy.stats import binom, expon
from sksurv.metrics import brier_score
from sksurv.util import Surv

import condgof as cg
from condgof.cli import main
from condgof.errors import CensoringWarning, InputError, UnsupportedModelError
from condgof.laws._survival import KaplanMeier

MODELS = (
    cg.models.Exponential(scale=lambda x: np.exp(0.4 * np.asarray(x)[:, 0])),
    cg.models.Exponential(scale=lambda x: np.exp(0.4 * np.asarray(x)[:, 1])),
)


def trial(n=300, seed=0, slopes=(0.4, 0.4)):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 2))
    times = rng.exponential(np.exp(x @ slopes))
    until = rng.exponential(2.0, n)
    return x, np.minimum(times, until), (times <= until).astype(float)


def test_the_censored_log_score_is_the_likelihood():
    x, y, event = trial()
    found = cg.compare(*MODELS, x, y, event=event, rng=0)
    assert [one.key for one in found.measures] == ["log", "ibs"]
    for k in (0, 1):
        law = expon(scale=np.exp(0.4 * x[:, k]))
        logs = np.where(event > 0, law.logpdf(y), law.logsf(y))
        assert found.measures[0].means[k] == pytest.approx(logs.mean(), abs=1e-10)


def test_entries_condition_both_scores():
    """An exponential law forgets the entry: only the time since then counts."""
    x, y, event = trial()
    shift = np.full(300, 0.7)
    plain = cg.compare(*MODELS, x, y, event=event, rng=0)
    late = cg.compare(*MODELS, x, y + shift, event=event, entry=shift, rng=0)
    np.testing.assert_allclose(plain.measures[0].means, late.measures[0].means, atol=1e-9)
    # The integral ends 0.7 later, and is over that much more: up to the cuts the same.
    end = np.quantile(y, 0.9)
    np.testing.assert_allclose(
        np.array(plain.measures[1].means) * end,
        np.array(late.measures[1].means) * (end + 0.7),
        rtol=0.02,
    )


def test_the_censoring_distribution_is_that_of_lifelines():
    _, y, event = trial()
    y = np.round(y, 1) + 0.1  # with ties
    own = KaplanMeier.from_times(y, np.full(len(y), -np.inf), event == 1)
    # Without ties of events and censorings both conventions are one.
    y_apart = np.where(event > 0, y, y + 0.03)
    own = KaplanMeier.from_times(y_apart, np.full(len(y), -np.inf), event == 0)
    theirs = KaplanMeierFitter().fit(y_apart, event == 0)
    t = np.linspace(0.05, 2.0, 57)
    np.testing.assert_allclose(own.at(t), theirs.predict(t), atol=1e-10)
    late = KaplanMeier.from_times(y_apart, y_apart / 3, event == 0)
    theirs = KaplanMeierFitter().fit(y_apart, event == 0, entry=y_apart / 3)
    np.testing.assert_allclose(late.at(t), theirs.predict(t), atol=1e-10)


def test_the_brier_score_is_that_of_scikit_survival():
    x, y, event = trial()
    law = cg.models.censored(MODELS[0], event)(x)
    end = np.quantile(y, 0.9)
    edges = np.unique(np.quantile(y[y <= end], np.linspace(0, 1, 101)))
    edges = np.concatenate([[0.0], edges])
    t = 0.5 * (edges[1:] + edges[:-1])
    inside = (t > y.min()) & (t < y.max())
    outcome = Surv.from_arrays(event > 0, y)
    curves = np.exp(-t / np.exp(0.4 * x[:, [0]]))
    _, theirs = brier_score(outcome, outcome, curves[:, inside], t[inside])
    # Before the first time, where scikit-survival has no value, nothing has come.
    before = np.square(1 - curves[:, ~inside]).mean(axis=0)
    total = np.concatenate([before, theirs]) @ np.diff(edges) / end
    assert law.ibs(y).mean() == pytest.approx(total, abs=1e-10)


def test_models_without_density_are_compared_by_the_brier_score():
    x, y, event = trial(400, slopes=(1.0, 0.0))
    frame = pd.DataFrame(x, columns=["a", "b"])
    train = frame.assign(y=y, event=event)[:200]
    good = CoxPHFitter().fit(train[["a", "y", "event"]], "y", "event")
    poor = CoxPHFitter().fit(train[["b", "y", "event"]], "y", "event")
    test = frame[200:].reset_index(drop=True)
    models = {"good": good, "poor": poor, "closed": MODELS[0]}
    found = cg.rank(models, test, y[200:], event=event[200:], rng=0)
    assert found.measure == "ibs"
    assert "poor" not in found.best()
    report = cg.check(good, test, y[200:], event=event[200:], rng=0, n_boot=39)
    assert [one.key for one in report.scores.scores] == ["ibs"]


def test_level_of_the_censored_comparison():
    """benchmarks/censored_comparison.py has more samples, entries, and power."""
    samples = 80
    rejected = 0
    for seed in range(samples):
        x, y, event = trial(90, seed=seed)
        found = cg.compare(*MODELS, x, y, event=event, measure="log", rng=0)
        rejected += found.reject()
    assert rejected <= binom.ppf(0.999, samples, 0.05)


def test_a_survival_model_without_event_warns():
    x, y, event = trial()
    frame = pd.DataFrame(x, columns=["a", "b"])
    cox = CoxPHFitter().fit(frame.assign(y=y, event=event), "y", "event")
    with pytest.warns(CensoringWarning, match="CoxPHFitter models times"):
        cg.adaptive(cox, frame, y, rng=0, n_boot=19)
    cg.adaptive(cox, frame, y, event=np.ones(300), rng=0, n_boot=19)


def test_refusals():
    x, y, event = trial()
    with pytest.raises(InputError, match="entry= goes with event="):
        cg.compare(*MODELS, x, y, entry=y / 2)
    with pytest.raises(InputError, match="event must be 0 or 1"):
        cg.compare(*MODELS, x, y, event=2 * event)
    for measure in ("stein", "crps"):
        with pytest.raises(UnsupportedModelError):
            cg.compare(*MODELS, x, y, event=event, measure=measure)
    with pytest.raises(UnsupportedModelError, match=r"event= needs P\(Y > y"):
        cg.compare((x[:, 0], np.ones(300)), cg.from_draws(x), x, y, event=event)


def test_the_command_line(tmp_path, capsys):
    x, y, event = trial(slopes=(1.0, 0.0))
    table = pd.DataFrame({"a": x[:, 0], "week": y, "died": event, "start": 0.0})
    table["s1"], table["s2"] = np.exp(x[:, 0]), np.exp(x[:, 1])
    path = tmp_path / "trial.csv"
    table.to_csv(path, index=False)
    words = ["compare", str(path), "--x", "a", "--y", "week", "--event", "died"]
    for model, scale in (("a", "s1"), ("b", "s2")):
        words += [f"--{model}-family", "exponential", f"--{model}-param", f"scale={scale}"]
    assert main([*words, "--entry", "start"]) == 0
    out = capsys.readouterr().out
    assert "a predicts better than b: log score" in out
    assert "integrated Brier score" in out
