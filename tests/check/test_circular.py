"""The check of angles: bias, concentration, arcs, outliers, effect size, words, page."""

import json
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import circmean

import condgof as cg
from condgof.check import direction_of
from condgof.check.curves import curves_of
from condgof.check.kinds import CircularRows, CircularScoreRows, unit_of
from condgof.errors import UnsupportedModelError
from read_page import Page
from seeds import examples

TURN = 2 * np.pi
N = 300


def wind(
    period=360.0, *, turn=0.0, bias=0.0, sharper=1.0, above=-9.0, kind="closed", seed=0
):
    """A sample with a bias in radians where x > above; all angles are turned by `turn`."""
    rng = np.random.default_rng(seed)
    unit = period / TURN
    frame = pd.DataFrame({"x": rng.uniform(-2, 2, N), "w": rng.normal(size=N)})
    x = frame["x"].to_numpy()
    kappa = np.exp(1.0 + 0.4 * x)
    off = np.where(x > above, bias, 0.0)
    y = (2.0 * x + off + rng.vonmises(0, kappa * sharper)) * unit + turn
    mean = 2.0 * x * unit + turn
    if kind == "draws":
        noise = rng.vonmises(0, kappa[:, None], (N, 59)) * unit
        model = cg.from_draws(mean[:, None] + noise, period=period)
    elif kind == "scores":

        def log_density(y, frame):
            x = frame["x"].to_numpy()
            apart = (np.ravel(y) - turn) / unit - 2.0 * x
            return np.exp(1.0 + 0.4 * x) * np.cos(apart)

        model = cg.from_log_prob(log_density, period=period)
    else:
        model = cg.models.VonMises(mean, kappa, period=period)
    return model, frame, pd.Series(y, name="wind")


def checked(*, n_boot=99, whole_turns=0, **more):
    model, x, y = wind(**more)
    standardize = "none" if more.get("kind") == "scores" else "auto"
    return cg.check(
        model,
        x,
        y + whole_turns,
        rng=1,
        n_boot=n_boot,
        engine=1,
        standardize=standardize,
    )


@pytest.fixture(scope="module")
def partly_biased():
    return checked(bias=0.9, above=0.8)


def by_kind(report):
    return {one.kind + one.label: one for one in report.overall}


# Numbers


def test_numbers_are_plain_computations():
    report = checked(bias=0.3)
    assert isinstance(report.checked, CircularRows)
    found = by_kind(report)
    frame = report.frame()
    residual = np.deg2rad(frame["residual"])
    mean = np.exp(1j * residual).mean()
    assert found["direction"].estimate == pytest.approx(np.rad2deg(np.angle(mean)))
    assert found["concentration"].estimate == pytest.approx(abs(mean))
    predicted = frame["predicted_resultant"].mean()
    assert found["concentration"].expected == pytest.approx(predicted)
    for level in (50, 90):
        inside = (frame["pit"] - 0.5).abs() <= level / 200
        assert found[f"coverage{level}%"].estimate == pytest.approx(inside.mean())
    assert found["direction"].telling
    assert found["direction"].interval[0] < np.rad2deg(0.3) < found["direction"].interval[1]
    apart = np.deg2rad(frame["wind"] - frame["predicted"] - frame["residual"])
    np.testing.assert_allclose(np.cos(apart), 1.0)
    assert frame["predicted"].between(0, 360).all()


def test_slices_are_found_by_their_bias(partly_biased):
    report = partly_biased
    first = report.slices[0]
    assert first.kind == "direction"
    assert first.direction == "predicted direction too small"
    rows = report.frame().query(first.query)
    mean = np.rad2deg(circmean(np.deg2rad(rows["residual"]), high=np.pi, low=-np.pi))
    assert first.findings[0].estimate == pytest.approx(mean)
    assert first.words == "x ≥ 0.8"
    assert set(first.rows) >= set(report.frame().query("x > 0.85").index)
    effect = next(one for one in report.effects if one.columns and one.kind == first.kind)
    assert effect.columns == ("x",)
    assert effect.words.startswith(
        "The predicted direction is too small, depending on x: 50.8° too small where"
    )


def test_a_wrong_concentration_is_called_so():
    report = checked(sharper=0.4)
    assert report.rejected
    assert report.words.startswith("The concentration is too high everywhere: ")
    finding = next(one for one in report.overall if one.kind == "concentration")
    assert finding.telling
    assert direction_of(finding) == "too concentrated"
    found = by_kind(report)["concentration"]
    assert found.estimate < found.expected
    sharp = checked(sharper=4.0)
    frame = sharp.frame()
    length = abs(np.exp(1j * np.deg2rad(frame["residual"])).mean())
    assert sharp.words == (
        "The concentration is too low everywhere: the mean resultant length of the"
        f" residuals is {length:.2f} ({frame['predicted_resultant'].mean():.2f} predicted)."
    )
    assert direction_of(by_kind(sharp)["concentration"]) == "not concentrated enough"


def test_outliers_are_named():
    _, x, y = wind()
    y = y.copy()
    row = int(np.argmax(x["x"]))
    y[row] += 180
    sharp = cg.models.VonMises(y.where(y.index != row, y - 180), 60.0, period=360)
    report = cg.check(sharp, x, y, rng=0, n_boot=99)
    outlier = next(one for one in report.overall if one.kind == "wild")
    assert outlier.numbers["rows"] == [row]


# Units and words


@pytest.mark.parametrize(
    ("period", "kind", "text", "advice"),
    [
        (
            TURN,
            "direction",
            "The predicted direction is too small everywhere: 25.1° too small.",
            "turn the predicted direction by +25.1°",
        ),
        (
            360,
            "direction",
            "The predicted direction is too small everywhere: 25.1° too small.",
            "turn the predicted direction by +25.1°",
        ),
        (
            24,
            "time",
            "The predicted time is too early everywhere: 1 h 40 min too early.",
            "move the predicted time by +1.7 h",
        ),
        (
            7,
            "angle",
            "The prediction is too small everywhere: 0.49 too small.",
            "move the prediction by +0.49",
        ),
    ],
)
def test_units_of_words(period, kind, text, advice):
    report = checked(period=period, bias=0.4)
    assert by_kind(report)[kind].telling
    assert report.words.startswith(text)
    first = report.effects[0]
    assert (first.kind, first.columns) == (kind, ())
    assert first.cells[0].finding.estimate == by_kind(report)[kind].estimate
    assert first.advice.words == advice
    assert " SD" not in str(report)
    assert report.effect.interval.estimate == pytest.approx(
        0.4 * unit_of(period).per_turn / TURN, rel=0.35
    )


def test_differences_are_written_in_their_unit():
    assert unit_of(360).text(-12.34) == "−12.3°"
    assert unit_of(TURN).text(-0.01) == "0.0°"
    assert unit_of(24).text(1.5) == "1 h 30 min"
    assert unit_of(24).text(-0.25) == "−15 min"
    assert unit_of(24).text(1.9999) == "2 h 00 min"
    assert unit_of(7).text(-0.5) == "−0.50"


def test_sentences():
    found = by_kind(checked(period=24, bias=0.4))
    assert found["time"].words.startswith("the observed time less the predicted one is on")
    assert " h " in found["concentration"].words
    assert found["coverage90%"].words.startswith("the central 90% arc around the predicted")
    scores = checked(kind="scores", bias=0.4)
    assert isinstance(scores.checked, CircularScoreRows)
    assert scores.overall[0].words.startswith("the mean score is that of a bias of")
    assert scores.rejected
    few = cg.models.VonMises(np.zeros(30), 0.0, period=360)
    angle = np.random.default_rng(1).uniform(0, 360, 30)
    uniform = cg.check(few, np.arange(30.0), angle, rng=0, n_boot=49)
    assert "any angle" in uniform.overall[0].words
    assert math.isfinite(uniform.effect.interval.high)


# Invariance


def assert_same_check(one, other):
    # Of 99 draws one may change sides by rounding.
    assert other.pvalue == pytest.approx(one.pvalue, abs=0.011)
    for a, b in zip(one.overall, other.overall, strict=True):
        assert a.about == b.about
        assert b.estimate == pytest.approx(a.estimate, abs=1e-6)
        assert b.interval == pytest.approx(a.interval, abs=1e-5)
        assert b.expected == pytest.approx(a.expected, abs=1e-8)
    sizes = (one.effect.interval, other.effect.interval)
    assert sizes[1].estimate == pytest.approx(sizes[0].estimate, abs=1e-4)
    assert sizes[1].high == pytest.approx(sizes[0].high, rel=1e-3, abs=1e-3)
    assert [part.query for part in one.slices] == [part.query for part in other.slices]


@pytest.mark.parametrize("kind", ["closed", "draws", "scores"])
@settings(max_examples=examples(3), deadline=None)
@given(turn=st.floats(-1000, 1000), seed=st.integers(0, 2**16))
def test_turning_all_angles_and_whole_turns_of_rows_change_nothing(kind, turn, seed):
    whole = 360.0 * np.random.default_rng(seed).integers(-4, 5, N)
    one = checked(kind=kind, seed=seed, bias=0.5, above=1.0)
    other = checked(kind=kind, seed=seed, bias=0.5, above=1.0, turn=turn, whole_turns=whole)
    assert_same_check(one, other)


# What a check is made into


@pytest.mark.parametrize("kind", ["closed", "draws", "scores"])
def test_a_report_can_be_stored_and_drawn(kind):
    report = checked(kind=kind, bias=0.6, above=0.5)
    json.dumps(report.to_dict())
    assert pickle.loads(pickle.dumps(report)).words == report.words
    assert Page(report.to_html()).words
    with pytest.raises(UnsupportedModelError, match="cannot be repaired"):
        report.repair()


def test_the_picture_of_angles_is_in_the_curves():
    report = checked(bias=0.6)
    bars = curves_of(report)["angles"]
    assert sum(bars["rows"]) == N
    assert sum(bars["expected"]) == pytest.approx(N)
    assert bars["unit"] == "degrees"
    frame = report.frame()
    counted, _ = np.histogram(frame["residual"], bars["edges"])
    assert counted.tolist() == bars["rows"]
    inside = np.array(bars["low"]) <= np.array(bars["rows"])
    assert not inside.all()
    right = curves_of(checked(seed=5))["angles"]
    assert (np.array(right["low"]) <= right["rows"]).all()
    assert (np.array(right["rows"]) <= right["high"]).all()


@pytest.mark.parametrize("picture", ["angles", "slice", "column", "map", "slices", None])
def test_pictures(partly_biased, picture):
    pytest.importorskip("matplotlib")
    which = {"column": {"column": "x"}, "map": {"columns": ("x", "w")}}.get(picture, {})
    assert partly_biased.plot(picture, **which) is not None


def test_a_picture_that_angles_do_not_have(partly_biased):
    pytest.importorskip("matplotlib")
    with pytest.raises(cg.errors.InputError, match="no picture 'pit'"):
        partly_biased.plot("pit")
