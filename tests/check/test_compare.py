"""compare and rank by proper scores: numbers, verdicts, slices, bad input."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
import scoringrules as sr
from scipy import stats

import condgof as cg
from condgof.errors import (
    DependenceWarning,
    InputError,
    InputTypeError,
    ShapeError,
    UnsupportedModelError,
)

N = 400
RNG = np.random.default_rng(11)
X = pd.DataFrame(
    {"age": RNG.integers(18, 80, N), "town": RNG.choice(["Oslo", "Bergen"], N)}
)
AGE = X["age"].to_numpy() / 20.0
Y = AGE - 1.2 * (X["age"] > 62).to_numpy() + RNG.normal(size=N)
LINE = (AGE, np.ones(N))
STEP = (AGE - 1.2 * (X["age"] > 62).to_numpy(), np.ones(N))


def test_numbers_are_those_of_the_scores():
    found = cg.compare(LINE, STEP, X, Y, names=("line", "step"), rng=0)
    logs = -sr.logs_normal(Y, *LINE) + sr.logs_normal(Y, *STEP)
    crps = sr.crps_normal(Y, *LINE) - sr.crps_normal(Y, *STEP)
    assert [score.key for score in found.measures] == ["log", "crps"]
    for score, d in zip(found.measures, (logs, crps), strict=True):
        assert score.difference == pytest.approx(d.mean())
        assert score.pvalue >= stats.ttest_1samp(d, 0.0).pvalue * (1 - 1e-9)
        assert score.interval[0] < d.mean() < score.interval[1]
    assert (found.measure, found.better, found.reject()) == ("log", "step", True)
    assert found.difference == found.measures[0].difference < 0
    assert found.words.startswith("step predicts better than line: log score 0.")
    assert " higher a row (" in found.words
    assert "CRPS 0." in found.words
    assert " lower a row (" in found.words


def test_slices_say_where_and_are_checkable():
    bent = (np.where(X["age"] > 62, STEP[0], AGE + 0.8), np.ones(N))
    found = cg.compare(LINE, bent, X, Y, names=("line", "bent"), rng=0)
    ways = {one.direction for one in found.slices}
    assert ways == {"line better", "bent better"}
    d = -sr.logs_normal(Y, *LINE) + sr.logs_normal(Y, *bent)
    for one in found.slices:
        rows = X.query(one.query).index.to_numpy()
        np.testing.assert_array_equal(rows, one.rows)
        assert one.findings[0].estimate == pytest.approx(d[rows].mean())
        assert one.findings[0].telling
        assert one.words in found.words


def test_no_slices_where_the_difference_is_the_same_everywhere():
    named = 0
    for trial in range(20):
        rng = np.random.default_rng(trial)
        y = AGE + rng.normal(size=N)
        high = (AGE + 0.3, np.ones(N))
        low = (AGE - 0.3, np.ones(N))
        named += bool(cg.compare(high, low, X, y, rng=trial).slices)
    assert named <= stats.binom.isf(1e-4, 20, 0.05)


def test_a_model_against_itself():
    found = cg.compare(LINE, LINE, X, Y)
    assert (found.pvalue, found.difference, found.better) == (1.0, 0.0, None)
    assert found.words == "p and q predict alike: their log score is the same."


def test_a_probability_of_zero_is_said():
    y = (RNG.random(N) < 0.5).astype(int)
    sure = np.where(y == 1, 0.9, 0.1)
    sure[3] = 1 - y[3]
    forest = cg.probabilities(sure)
    coin = cg.probabilities(np.full(N, 0.5))
    found = cg.compare(forest, coin, X, y, names=("forest", "coin"), rng=0)
    assert found.measure == "brier"
    assert found.better == "forest"
    assert found.words.startswith(
        "forest gave probability 0 to 1 of 400 observed classes: its log score is −∞; by"
        " Brier score it is better. forest predicts better than coin: Brier score"
    )
    assert "inf" not in str(found.words)
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["measures"][0]["difference"] is None
    ranked = cg.rank({"forest": forest, "coin": coin}, X, y)
    assert ranked.measure == "brier"
    assert ranked.best() == ("forest",)
    assert (
        "its log score is −∞; models are ranked by Brier score"
        in ranked.details["notes"][0]
    )


def test_where_the_log_score_is_all_there_is():
    y = RNG.normal(size=(N, 2))
    y[:, 0] = np.abs(y[:, 0])
    p = cg.models.Normal(mean=[[0.5, 0.0]], std=1.0)
    q = cg.models.Uniform(low=np.array([[0.0, 0.0]]), high=np.array([[9.0, 9.0]]))
    found = cg.compare(p, q, X, y, rng=0)
    assert found.measure == "log"
    assert found.better == "p"
    assert found.reject()
    assert found.words.startswith("q gave density 0 to")
    assert found.words.endswith("p predicts better.")


def log_density(y, x):
    return -0.5 * (y - x["age"].to_numpy() / 20.0) ** 2


@pytest.mark.parametrize(
    ("make", "key"),
    [
        (lambda: (cg.from_draws(AGE[:, None] + RNG.normal(size=(N, 30))), LINE), "crps"),
        (lambda: (cg.from_quantiles(AGE[:, None] + [-1, 1], [0.2, 0.8]), LINE), "pinball"),
        (lambda: (cg.from_intervals(AGE - 1, AGE + 1, 0.7), LINE), "winkler"),
        (lambda: (cg.from_log_prob(log_density), STEP), "log"),
        (lambda: (cg.from_scores(AGE - Y), STEP), "stein"),
    ],
    ids=["draws", "quantiles", "intervals", "log-density", "scores"],
)
def test_laws_of_different_kinds(make, key):
    found = cg.compare(*make(), X, Y, rng=0)
    assert found.measure == key
    assert cg.rank(dict(zip("ab", make(), strict=True)), X, Y, rng=0).measure == key


def test_an_unnormalised_density_is_normalised_or_not_trusted():
    shifted = cg.from_log_prob(lambda y, x: log_density(y, x) + 100.0)
    assert cg.compare(shifted, LINE, X, Y).pvalue == pytest.approx(1.0, abs=0.7)
    assert abs(cg.compare(shifted, LINE, X, Y).difference) < 1e-4
    y = RNG.normal(size=(N, 2))
    density = cg.from_log_prob(lambda y, x: -0.5 * (y**2).sum(axis=1) + 100.0)
    normal = cg.models.Normal(np.zeros((N, 2)), 1.0)
    assert cg.compare(density, normal, X, y, rng=0).measure == "stein"


def test_groups_and_blocks_widen_the_interval():
    code = np.arange(N) // 8
    shared = RNG.normal(size=(2, N // 8))[:, code]
    x = shared[0]
    y = shared[1] + 0.3 * RNG.normal(size=N)
    p = (0.3 * x, np.ones(N))
    q = (-0.3 * x, np.ones(N))
    with pytest.warns(DependenceWarning):
        alone = cg.compare(p, q, x, y, rng=0)
    grouped = cg.compare(p, q, x, y, groups=code, rng=0)
    blocks = cg.compare(p, q, x, y, dependence=16, rng=0)
    auto = cg.compare(p, q, x, y, dependence="auto", rng=0)
    for other in (grouped, blocks, auto):
        assert other.difference == alone.difference
        assert np.ptp(other.interval) > 1.5 * np.ptp(alone.interval)
    assert grouped.details["groups"] == N // 8
    assert blocks.details["block_length"] == 16
    # Few rows do not show how they depend: blocks of two are the least.
    line = (X["age"][:60], np.ones(60))
    few = cg.compare(line, (0.0, 1.0), X[:60], Y[:60], dependence="auto", rng=0)
    assert few.details["block_length"] >= 2


def test_a_source_gives_the_same_as_memory(tmp_path):
    table = pd.DataFrame({"x": AGE, "y": Y, "m": LINE[0], "k": STEP[0], "s": np.ones(N)})
    table.to_parquet(tmp_path / "t.parquet")
    source = cg.scan(tmp_path / "t.parquet", x="x", y="y")
    streamed = cg.compare(cg.columns(mean="m", std="s"), STEP, source, rng=0)
    memory = cg.compare(LINE, STEP, AGE, Y, rng=0)
    assert streamed.difference == pytest.approx(memory.difference, rel=1e-12)
    assert streamed.pvalue == pytest.approx(memory.pvalue, rel=1e-9)


def test_rank_holds_all_pairs():
    models = {
        "line": LINE,
        "step": STEP,
        "wide": (AGE, np.full(N, 3.0)),
        "same": (AGE + 0.0, np.ones(N)),
    }
    found = cg.rank(models, X, Y, rng=0)
    means = {name: -sr.logs_normal(Y, *model).mean() for name, model in models.items()}
    assert found.names[0] == "step"
    assert found.names[-1] == "wide"
    assert dict(zip(found.names, found.means, strict=True)) == pytest.approx(means)
    assert found.best() == ("step",)
    assert len(found.pairs) == 6
    by_names = {frozenset((pair.better, pair.worse)): pair for pair in found.pairs}
    assert by_names[frozenset(("line", "same"))].pvalue == 1.0
    for names, pair in by_names.items():
        first, second = sorted(names)
        one = cg.compare(models[first], models[second], X, Y, rng=0)
        assert pair.single == pytest.approx(one.pvalue)
        assert pair.pvalue >= pair.single
        assert pair.difference == pytest.approx(abs(one.difference))
    assert found.words == "step is the best of 4 models by log score."


def test_records_read_pickle_and_go_to_json(tmp_path):
    found = cg.compare(LINE, STEP, X, Y, names=("a <b>", "c"), rng=0)
    ranked = cg.rank({"a <b>": LINE, "c": STEP}, X, Y, rng=0)
    for one in (found, ranked):
        again = pickle.loads(pickle.dumps(one))
        assert again.words == one.words
        assert str(again) == str(one)
        plain = json.loads(json.dumps(one.to_dict(), allow_nan=False))
        assert plain["words"] == one.words
        assert "a &lt;b&gt;" in one._repr_html_()
        assert "<b>" not in one._repr_html_()
        page = one.to_html(command="condgof compare t.csv")
        assert "a &lt;b&gt;" in page
        assert "condgof compare t.csv" in page
        assert one.plot().figure is not None
    frame = found.to_frame()
    assert list(frame["measure"]) == ["log score", "CRPS"]
    assert list(ranked.to_frame()["may be the best"]) == [True, False]


HALF = cg.probabilities(np.full(N, 0.5))
UP_TO_80 = cg.from_quantiles(AGE[:, None] + [0, 1], [0.1, 0.8])
UP_TO_90 = cg.from_quantiles(AGE[:, None] + [0, 1], [0.1, 0.9])


@pytest.mark.parametrize(
    ("p", "q", "options", "error", "words"),
    [
        (LINE, (AGE[:5], np.ones(5)), {}, ShapeError, "Model 'q': .* 5 rows .* 400"),
        (
            LINE,
            HALF,
            {},
            UnsupportedModelError,
            "no proper score in common.*'p' .Normal. offers log score, CRPS;"
            " 'q'.*Brier score",
        ),
        (cg.from_pit(np.full(N, 0.5)), LINE, {}, UnsupportedModelError, "offers none"),
        (UP_TO_80, UP_TO_90, {}, UnsupportedModelError, "different levels"),
        (LINE, STEP, {"measure": "brier"}, UnsupportedModelError, "no Brier score"),
        (LINE, STEP, {"measure": "rmse"}, InputError, "measure must be"),
        (LINE, STEP, {"names": ("a", "a")}, InputError, "different names"),
        (LINE, STEP, {"alpha": 5}, InputError, "alpha must be"),
        (cg.from_scores(-Y), STEP, {"groups": np.arange(N)}, InputError, "Stein"),
    ],
)
def test_bad_input_of_compare(p, q, options, error, words):
    with pytest.raises(error, match=words):
        cg.compare(p, q, X, Y, **options)


def test_bad_input_of_rank():
    with pytest.raises(InputTypeError, match="mapping"):
        cg.rank([LINE, STEP], X, Y)
    with pytest.raises(InputError, match="two models or more"):
        cg.rank({"a": LINE}, X, Y)
