"""Effects at other rows: the rows of a check are in their own cells, others by rule; and a
corrected law is what the effects made of the law.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr, ndtr

import condgof as cg
from condgof.check import axes_of
from condgof.check._repair import (
    AppliedEffect,
    ClassCorrector,
    CountCorrector,
    DrawsCorrector,
    HazardCorrector,
    ScoreCorrector,
    StatementCorrector,
)
from condgof.check.effects._analysis import Analysis, analyse
from condgof.check.effects._forms import Odds, Rate
from condgof.check.effects._held_out import apply_stages
from condgof.check.effects._partitions import (
    Cells,
    choose_paired,
    everything,
    make_partitions,
)
from condgof.check.effects._rules import AxisReader, EffectRule
from condgof.check.effects._search import Candidate, Fit
from condgof.check.effects._stages import Stage, State
from condgof.check.effects._tilts import (
    CountTilt,
    ErrorKind,
    EventTilt,
    HazardTilt,
    NormalTilt,
)
from condgof.errors import InputError
from condgof.laws import censored
from condgof.sample import CodedColumn, Column, Sample, Seed
from seeds import examples


def analysed(x, missing="refuse", predictions=()):
    """Return a sample, and an analysis of one stage for each partition of its columns.

    θ of a cell is its number, from 1 on.
    """
    sample = Sample.from_data(x, np.arange(len(x), dtype=float), missing=missing)
    axes = axes_of(sample.x_columns, sample.x, predictions)
    partitions = [everything(sample.n), *make_partitions(axes, choose_paired(axes))]
    state = State(
        Cells.from_partitions(partitions),
        NormalTilt.from_scores(np.zeros(sample.n), "y"),
        None,
    )
    stages = tuple(
        Stage(Candidate(0, p, trend=False), Fit(1.0 + np.arange(one.count), 0.0), 0.0, 0.0)
        for p, one in enumerate(partitions)
    )
    return sample, Analysis(axes, state, stages, left=None, held_out=None)


def theta_at(sample, analysis, stage, x, predictions=()):
    """Return θ of a stage at rows of x."""
    reader = AxisReader.from_sample(sample)
    rule = EffectRule.from_stage(analysis, stage)
    table = reader.read(x)
    values = [reader.at(axis, table, predictions) for axis in rule.axes]
    return rule.theta_at(values, len(table.values))


def check_own_cells(x, missing="refuse", predictions=()):
    """The rows of a check, in any order, are in the cells that they were learned in."""
    n = len(x)
    sample, analysis = analysed(x, missing, predictions)
    order = np.random.default_rng(0).permutation(n)
    moved = x.iloc[order].reset_index(drop=True)
    there = [
        CodedColumn(column, np.asarray(values)[order]) for column, values in predictions
    ]
    for stage in analysis.stages:
        codes = analysis.state.cells.partitions[stage.candidate.partition].codes
        theta = theta_at(sample, analysis, stage, moved, there)
        np.testing.assert_array_equal(theta, 1.0 + codes[order])


def days(values):
    return pd.Timestamp("2024-02-28") + pd.to_timedelta(values, unit="h")


KINDS = {
    "floats": st.floats(-1e6, 1e6),
    "tiny floats": st.floats(0, 1e-300),
    "huge floats": st.floats(-1e150, 1e150),
    "ties": st.sampled_from([-1.5, 0.1, 0.2, 0.3, 1e9]),
    "integers": st.integers(-1000, 1000),
    "huge integers": st.integers(2**53, 2**60),
    "few integers": st.integers(0, 5),
    "two": st.sampled_from([0.5, 7.0]),
    "booleans": st.booleans(),
    "dates": st.integers(0, 3000).map(days),
    "moments": st.integers(0, 10**6).map(lambda s: days(0) + pd.to_timedelta(s, "us")),
    "categories": st.sampled_from(["Oslo", "Rome", "a b", "", "none"]),
}


@given(st.data())
@settings(deadline=None, max_examples=examples(20))
def test_rows_of_a_check_are_in_their_own_cells(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    n = data.draw(st.integers(30, 300))
    names = data.draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3))
    columns = {"row": np.arange(n)}
    for i, name in enumerate(names):
        pool = data.draw(st.lists(KINDS[name], min_size=1, max_size=40))
        columns[f"c{i}"] = [pool[k] for k in rng.integers(len(pool), size=n)]
    check_own_cells(pd.DataFrame(columns))


def frame(n, seed):
    rng = np.random.default_rng(seed)
    town = rng.choice(["Oslo", "Rome", "Lima"], n)
    return pd.DataFrame(
        {
            "b": rng.uniform(-2.0, 2.0, n),
            "town": town,
            "size": pd.Categorical(
                rng.choice(["s", "m", "l"], n), ["xs", "s", "m", "l"], ordered=True
            ),
            "day": days(rng.integers(0, 3000, n)).tz_localize("UTC"),
            "gap": np.where(rng.random(n) < 0.1, np.nan, rng.standard_normal(n)),
            "word": pd.Series(town).where(rng.random(n) > 0.1, None),
            "c_red": (town == "Oslo").astype(int),
            "c_blue": (town == "Rome").astype(int),
            "c_grey": np.where(town == "Lima", rng.integers(0, 2, n), 0),
        }
    )


def test_own_cells_with_missing_values_dummies_and_predictions():
    x = frame(400, 0)
    predictions = [
        CodedColumn(Column("predicted"), np.sin(9 * x["b"].to_numpy())),
        CodedColumn(Column("class", ("no", "yes")), (x["b"] > 0).to_numpy() * 1.0),
    ]
    check_own_cells(x, missing="level", predictions=predictions)
    sample, _ = analysed(x, "level")
    assert "gap missing" in [column.name for column in sample.x_columns]


def one_stage(analysis, *titles):
    """Return the stage along the axes of some titles."""
    for stage in analysis.stages:
        rule = EffectRule.from_stage(analysis, stage)
        if tuple(axis.title for axis in rule.axes) == titles:
            return stage
    raise LookupError(titles)


def test_new_categories_and_missing_values_are_left_as_they_are():
    sample, analysis = analysed(frame(400, 0).drop(columns=["gap", "word"]))
    new = frame(3, 1).drop(columns=["gap", "word"])
    new["town"] = ["Paris", "Rome", None]
    new["size"] = pd.Categorical(["xs", "l", "huge"], ["huge", "l", "xs"])
    new["c_blue"] = [0, 1, 1]
    new["c_red"] = [0, 0, 1]
    new["c_grey"] = 0
    new["b"] = [-50.0, np.nan, 50.0]

    def theta(*titles):
        return theta_at(sample, analysis, one_stage(analysis, *titles), new).tolist()

    assert theta("town") == [0.0, 3.0, 0.0]
    assert theta("size") == [0.0, 3.0, 0.0]
    assert theta("c") == [4.0, 2.0, 0.0]
    assert theta("b")[0] == 1.0
    assert theta("b")[1] == 0.0
    assert theta("b")[2] > 2.0
    assert theta("b", "town")[0] == 0.0
    assert theta() == [1.0, 1.0, 1.0]


def test_rare_categories_share_a_cell_and_new_ones_do_not():
    names = [f"k{i:04d}" for i in range(1100)]
    x = pd.DataFrame({"key": names + names[:600]})
    sample, analysis = analysed(x)
    stage = one_stage(analysis, "key")
    count = len(stage.fit.theta)
    new = pd.DataFrame({"key": ["k0000", "k1099", "new"]})
    assert theta_at(sample, analysis, stage, new).tolist() == [1.0, float(count), 0.0]


def test_columns_are_read_by_name_and_must_be_there():
    x = frame(200, 0)[["b", "town"]]
    sample, analysis = analysed(x)
    stage = one_stage(analysis, "b")
    turned = x[["town", "b"]].assign(more=1.0)
    assert (theta_at(sample, analysis, stage, turned) > 0).all()
    with pytest.raises(InputError, match="same columns"):
        theta_at(sample, analysis, stage, x[["b"]])
    with pytest.raises(InputError, match="held numbers, and now holds text"):
        theta_at(sample, analysis, stage, x.assign(b="high"))
    with pytest.raises(InputError, match="held numbers, and now holds dates"):
        theta_at(sample, analysis, stage, x.assign(b=pd.Timestamp("2024-01-01")))


# The corrected law is what effects make of the law.


def effects_of(tilt, rng, count=6, size=0.3):
    """Return effects of random kinds and sizes, and the tilt corrected by them.

    And the rows, (n,), whose normal scores were never clipped, as those beyond 4 are.
    """
    effects = []
    farthest = np.zeros(tilt.n)
    for _ in range(count):
        if hasattr(tilt, "z"):
            farthest = np.maximum(farthest, np.abs(tilt.z[:, 0]))
        number = int(rng.integers(len(tilt.kinds)))
        theta = np.clip(size * rng.standard_normal(tilt.n), -0.3, 0.3)
        effects.append(AppliedEffect(tilt.kinds[number], number, theta))
        tilt = tilt.corrected(number, theta[:, None])
    return effects, tilt, farthest < 4.0


@pytest.mark.parametrize("seed", range(5))
def test_normal_scores_are_those_of_the_tilt(seed):
    rng = np.random.default_rng(seed)
    law = cg.models.Gamma(shape=np.full(200, 2.0), scale=rng.uniform(1, 2, 200))
    y = law.sample(rng)[:, 0]
    z = law.normal_scores(y)
    effects, tilt, usual = effects_of(NormalTilt.from_scores(z[:, 0], "y"), rng)
    corrected = ScoreCorrector().correct(law, effects)
    assert corrected.normal_scores(y) == pytest.approx(tilt.z, abs=1e-9)
    gain = corrected.log_prob(y) - law.log_prob(y)
    assert usual.mean() > 0.95
    assert gain[usual] == pytest.approx(tilt.log_ratio[usual, 0], abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_the_tilt(seed):
    rng = np.random.default_rng(seed)
    law = cg.models.Poisson(mean=rng.uniform(0.3, 6, 200))
    y = law.sample(rng)[:, 0]
    lower = law.cdf(y - 1)
    upper = law.cdf(y)
    z = cg.laws.tail_scores(*(lambda u: (u, 1 - u))(0.5 * (lower + upper)))
    tilt = CountTilt.from_steps(z, y == 0, law.cdf(0 * y), lower, upper, "y")
    effects, tilt, usual = effects_of(tilt, rng)
    corrected = CountCorrector().correct(law, effects)
    assert corrected.cdf(y) == pytest.approx(tilt.upper[:, 0], abs=1e-9)
    gain = corrected.log_prob(y) - law.log_prob(y)
    assert usual.mean() > 0.95
    assert gain[usual] == pytest.approx(tilt.log_ratio[usual, 0], abs=1e-6)


@pytest.mark.parametrize("count", [2, 5])
def test_class_probabilities_are_those_of_the_tilt(count):
    rng = np.random.default_rng(count)
    p = rng.dirichlet(np.ones(count), 200)
    names = [f"k{i}" for i in range(count)]
    law = cg.probabilities(p, names)
    is_class = np.broadcast_to(np.eye(count, dtype=bool), (200, count, count))
    is_top = np.eye(count, dtype=bool)[p.argmax(axis=1)][:, None]
    tilt = EventTilt(
        kinds=(
            ErrorKind("confidence", "y", "", Odds(), "confidence"),
            *(ErrorKind("class", "y", name, Odds(), "class") for name in names),
        ),
        log_ratio=np.zeros((200, 1)),
        probabilities=p[:, None],
        codes=rng.integers(count, size=(200, 1)),
        members=np.concatenate([is_top, is_class], axis=1),
    )
    effects, tilt, _ = effects_of(tilt, rng)
    corrected = ClassCorrector().correct(law, effects)
    assert corrected.values == pytest.approx(tilt.probabilities[:, 0], abs=1e-9)
    y = np.array(names)[tilt.codes[:, 0]]
    gain = corrected.log_prob(y) - law.log_prob(y)
    assert gain == pytest.approx(tilt.log_ratio[:, 0], abs=1e-8)


def test_what_was_impossible_has_a_probability():
    law = cg.probabilities(np.array([[1.0, 0.0], [0.3, 0.7]]), ["no", "yes"])
    kind = ErrorKind("class", "y", "yes", Odds(), "class")
    effect = AppliedEffect(kind, 0, np.ones(2))
    corrected = ClassCorrector().correct(law, [effect])
    assert corrected.values.sum(axis=1) == pytest.approx(1.0)
    assert (corrected.values > 0).all()


def test_quantiles_and_draws_are_moved_to_where_the_tilt_has_them():
    """A bias of all normal scores, and the odds that it means for each quantile."""
    levels = np.array([0.1, 0.5, 0.9])
    mean = np.linspace(-1, 1, 50)
    places = cg.models.Normal(mean=0.0, std=1.0)(n=3).quantile(levels)[0]
    quantiles = cg.from_quantiles(mean[:, None] + places, levels)
    cells = np.tri(3, 4, dtype=bool)
    corrector = StatementCorrector(cells, unit=1.0)
    kinds = [ErrorKind("quantile", "y", f"{level}", Odds(), "quantile") for level in levels]
    # Each quantile of N(0.4, 1) is off by these odds, given those that were moved before.
    target = ndtr(places - 0.4)
    p = np.diff(levels, prepend=0.0, append=1.0)
    effects = []
    for _ in range(30):
        for k in range(3):
            now = p[cells[k]].sum()
            theta = np.log(target[k] / (1 - target[k]) * (1 - now) / now)
            effects.append(AppliedEffect(kinds[k], k, np.full(50, theta)))
            p = p * np.where(cells[k], np.exp(theta), 1.0) / (1 + now * np.expm1(theta))
    moved = corrector.correct(quantiles, effects)
    assert moved.values == pytest.approx(quantiles.values + 0.4, abs=1e-6)
    draws = cg.from_draws(mean[:, None] + places[None])
    kind = ErrorKind("bias", "y", "", None, "shift")
    bias = AppliedEffect(kind, 0, np.full(50, 0.4))
    shifted = DrawsCorrector().correct(draws, [bias])
    slope = np.ptp(places) / (2 * 0.9674215661017014)  # scores of three draws: ±0.967
    assert shifted.values == pytest.approx(draws.values + 0.4 * slope, abs=1e-6)


def test_hazards_are_those_of_the_tilt():
    rng = np.random.default_rng(0)
    times = cg.models.Weibull(shape=1.5, scale=rng.uniform(1, 3, 300))
    y = times.sample(rng)[:, 0]
    event = rng.random(300) < 0.7
    entry = np.where(rng.random(300) < 0.5, 0.2 * y, 0.0)
    law = censored(times, event, entry)(n=300)
    z = law.normal_scores(y)
    cuts = np.array([0.9, 1.8])  # times at which periods end, the same for all rows
    at_cuts = np.stack([-np.log(times.sf(np.full(300, cut))) for cut in cuts], axis=1)
    low = np.column_stack([np.zeros(300), at_cuts])
    high = np.column_stack([at_cuts, np.full(300, np.inf)])
    at_end = -log_ndtr(-z)
    at_entry = -np.log(times.sf(np.maximum(entry, 1e-12)))[:, None]
    tilt = HazardTilt(
        kinds=tuple(ErrorKind("hazard", "y", str(k), Rate(), "events") for k in range(4)),
        log_ratio=np.zeros((300, 1)),
        observed=(event[:, None] & (at_end > low) & (at_end <= high))[:, None],
        exposure=(np.clip(at_end, low, high) - np.clip(at_entry, low, high))[:, None],
        lengths=None,
    )
    effects, tilt, _ = effects_of(tilt, rng)
    corrected = HazardCorrector(cuts).correct(law, effects)
    gain = corrected.log_prob(y) - law.log_prob(y)
    assert gain == pytest.approx(tilt.log_ratio[:, 0], abs=1e-8)


def curved(n, seed):
    """A mean that is curved along b, and a spread that is larger in a town."""
    x = frame(n, seed)[["b", "town"]]
    noise = np.random.default_rng([seed, 1]).standard_normal(n)
    spread = np.where(x["town"] == "Oslo", 1.5, 0.8)
    return x, 0.4 * x["b"].to_numpy() ** 2 - 0.5 + spread * noise


def searched(x, y, seed=0):
    """Return a sample, and its effects beside N(0, 1)."""
    sample = Sample.from_data(x, y)
    found = analyse(
        axes_of(sample.x_columns, sample.x),
        NormalTilt.from_scores(y, "y"),
        units=None,
        replicates=None,
        keys=sample.content_keys,
        alpha=0.05,
        seed=Seed.of(seed),
    )
    return sample, found


def corrected_law(sample, found, x):
    """Return N(0, 1) corrected by effects, at rows of x."""
    reader = AxisReader.from_sample(sample)
    table = reader.read(x)
    effects = []
    for stage in found.stages:
        rule = EffectRule.from_stage(found, stage)
        values = [reader.at(axis, table, ()) for axis in rule.axes]
        theta = rule.theta_at(values, len(x))
        effects.append(AppliedEffect(rule.kind, rule.number, theta))
    law = cg.models.Normal(mean=np.zeros(len(x)), std=1.0)
    return ScoreCorrector().correct(law, effects)


def log_normal(y):
    return cg.models.Normal(mean=0.0, std=1.0)(n=len(y)).log_prob(y)


def test_stages_of_a_search_at_the_rows_of_the_check():
    """What a search found, applied as a rule, is what it applied to its own rows."""
    x, y = curved(600, 0)
    sample, found = searched(x, y)
    assert len(found.stages) >= 2
    assert found.held_out.gains.mean() > 0.1
    corrected = corrected_law(sample, found, x)
    applied = apply_stages(found.state.cells, found.state.tilt, found.stages)
    assert corrected.normal_scores(y) == pytest.approx(applied.z, abs=1e-9)
    gain = corrected.log_prob(y) - log_normal(y)
    usual = np.abs(y) < 3.0  # the scores of other rows are clipped
    assert gain[usual] == pytest.approx(applied.log_ratio[usual, 0], abs=1e-9)


def test_promised_gains_are_realised_on_new_rows():
    """Of 20 samples; tests/calibration has cells of repairs."""
    new_x, new_y = curved(2000, 999)
    before = log_normal(new_y)
    promised = 0.0
    realised = 0.0
    for seed in range(20):
        sample, found = searched(*curved(300, seed), seed)
        if not found.stages:
            continue
        after = corrected_law(sample, found, new_x).log_prob(new_y)
        promised += found.held_out.gains.mean()
        realised += (after - before).mean()
    assert 0.85 <= promised / realised <= 1.15
