"""check(event=): observed and expected events of slices and all rows, told and drawn."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, chi2

import condgof as cg

RNG = np.random.default_rng(0)
N = 800
X = pd.DataFrame({"age": RNG.integers(20, 80, N), "female": RNG.integers(0, 2, N)})
SCALE = 10 * np.exp(-0.02 * (X.age.to_numpy() - 50))
NOISE = RNG.exponential(size=N)
UNTIL = RNG.exponential(15, N)


def times(factor):
    true = SCALE * NOISE * factor
    return np.minimum(true, UNTIL), true <= UNTIL


@pytest.fixture(scope="module")
def old():
    """From 65 on, the hazard is twice what the model says."""
    y, event = times(np.where(X.age >= 65, 0.5, 1.0))
    return cg.check(
        cg.models.Exponential(scale=SCALE), X, y, event=event, by="female", rng=1, n_boot=99
    )


def test_the_slice_is_found_and_its_numbers_are_those_of_its_rows(old):
    first = old.slices[0]
    assert old.rejected
    assert (first.kind, first.direction) == ("events", "hazard too low")
    assert first.conditions[0].column == "age"
    rows = old.frame().query(first.query)
    assert (rows.index == first.rows).all()
    lead = first.findings[0]
    observed = rows.event.sum()
    expected = rows.cumulative_hazard.sum()
    assert lead.estimate == pytest.approx(observed / expected, rel=1e-12)
    assert lead.words.startswith(
        f"{observed} events observed, {expected:,.1f} expected (ratio "
    )
    assert lead.interval[0] < 2.0 < lead.interval[1]
    (effect,) = old.effects
    assert (effect.kind, effect.columns) == ("hazard", ("age",))
    worst = old.frame().query("age >= 73")
    observed = worst.event.sum()
    expected = worst.cumulative_hazard.sum()
    assert old.words == (
        "The hazard is too low, depending on age:"
        f" {observed / expected:.1f} times the expected events ({observed} observed,"
        f" {expected:.1f} expected) where age ≥ 73 ({len(worst)} rows)."
    )


def test_all_rows_are_told_by_thirds_with_poisson_intervals(old):
    frame = old.frame()
    whole, early, middle, late = old.overall[:4]
    assert [f.label for f in old.overall[:4]] == [
        "",
        "early third",
        "middle third",
        "late third",
    ]
    cuts = old.checked.cuts
    end = cuts[0]
    assert f"in the early third (y ≤ {end:g})" in early.words
    seen = int((frame.event.astype(bool) & (frame.y <= end)).sum())
    expected = (frame.y.clip(upper=end) / SCALE).sum()
    assert early.estimate == pytest.approx(seen / expected, rel=1e-12)
    assert f"events, y ≤ {end:g} ({seen} of {expected:.1f} expected)" in str(old)
    thirds = np.array(_expected(frame, cuts)) / frame.cumulative_hazard.sum()
    assert (abs(thirds - 1 / 3) < 0.06).all()
    parts = sum(
        f.estimate * e
        for f, e in zip((early, middle, late), _expected(frame, cuts), strict=True)
    )
    assert parts == pytest.approx(frame.event.sum())
    # All intervals of a check hold together: Bonferroni's share of the 5% in each tail.
    tail = 0.025 / sum(f.kind != "wild" for f in old.overall)
    total = frame.cumulative_hazard.sum()
    count = frame.event.sum()
    low = chi2.ppf(tail, 2 * count) / 2
    high = chi2.ppf(1 - tail, 2 * count + 2) / 2
    assert whole.interval == pytest.approx((low / total, high / total), rel=1e-3)


def _expected(frame, cuts):
    ends = (0.0, *cuts, np.inf)
    return [((frame.y.clip(a, b) - a) / SCALE).sum() for a, b in pairwise(ends)]


def test_a_constant_excess_is_its_own_size():
    y, event = times(1 / 1.5)
    report = cg.check(
        cg.models.Exponential(scale=SCALE),
        X,
        y,
        event=event,
        tolerance="0.1 size",
        rng=1,
        n_boot=99,
    )
    assert report.effect.unit == "relative error of the hazard"
    assert report.effect.interval.low < 0.5 < report.effect.interval.high
    assert report.effect.interval.estimate == pytest.approx(0.5, abs=0.15)
    assert report.tolerance.verdict == "worse than you allow"
    assert report.overall[0].interval[0] < 1.5 < report.overall[0].interval[1]


def test_true_models_pass_and_what_would_have_been_found_is_said():
    """6 samples, at a tail of 1e-4."""
    model = cg.models.Exponential(scale=SCALE)
    rejected = 0
    for seed in range(6):
        rng = np.random.default_rng([seed, 3])
        true = rng.exponential(SCALE)
        until = rng.exponential(15, N)
        y = np.minimum(true, until)
        report = cg.check(model, X, y, event=true <= until, rng=seed, n_boot=99)
        rejected += report.rejected
        assert report.power.words.startswith(
            "Minimum detectable (power 0.8): a hazard that is off by 0."
        )
        if not report.rejected:
            assert report.words == f"No misfit found. {report.power.words}"
    assert rejected <= binom.isf(1e-4, 6, 0.05)
    again = 0
    for seed in range(6):  # of the size that is found with probability 0.8
        rng = np.random.default_rng(seed)
        true = rng.exponential(SCALE / (1 + report.power.size))
        until = rng.exponential(15, N)
        found = cg.adaptive(
            cg.models.Exponential(scale=SCALE),
            X,
            np.minimum(true, until),
            event=true <= until,
            rng=seed,
            n_boot=99,
        )
        again += found.reject()
    assert again >= 2  # 0.2% at 0.8


def test_the_report_is_written_and_every_picture_drawn(old):
    page = old.to_html()
    lead = old.overall[0].numbers
    events = f"{lead['count']:,} events observed, {lead['mean']:,.1f} expected"
    assert events in page
    assert "events up to then" in page
    assert "events / expected" in page
    pytest.importorskip("matplotlib")
    assert old.plot("survival").get_title(loc="left") == events
    for what, which in (("survival", {}), ("column", {"column": "age"}), ("slice", {})):
        assert (
            old.plot(what, **which).get_title(loc="left")
            or old.plot(what, **which).get_title()
        )
    with pytest.raises(cg.errors.InputError, match="no picture 'pit'"):
        old.plot("pit")
    assert old.to_dict()["overall"][0]["kind"] == "events"
    assert f"events ({lead['count']} of {lead['mean']:.1f} expected)" in str(old)
    assert len(old.groups) == 2


def test_an_event_that_the_model_holds_to_be_impossible_is_named():
    model = cg.models.Exponential(scale=SCALE)
    y, event = times(1.0)
    y[7] = 1e-12
    event[7] = True
    report = cg.check(model, X, y, event=event, rng=1, n_boot=99)
    wild = [f for f in report.overall if f.kind == "wild"]
    assert "row 7 (z = −" in wild[0].words
    event[7] = False  # that a row left at once says nothing
    report = cg.check(model, X, y, event=event, rng=1, n_boot=99)
    assert not [f for f in report.overall if f.kind == "wild"]


def test_the_estimate_of_the_picture_is_that_of_kaplan_and_meier(old):
    lifelines = pytest.importorskip("lifelines")
    from condgof.check.curves import kaplan_meier

    frame = old.frame()
    estimate = kaplan_meier(old.checked, np.arange(N))
    fitted = lifelines.KaplanMeierFitter().fit(frame.cumulative_hazard, frame.event)
    expected = fitted.predict(estimate.hazard).to_numpy()
    np.testing.assert_allclose(estimate.survival, expected, atol=1e-10)


def test_the_picture_of_a_slice_is_of_its_rows(old):
    from condgof.report.kinds import survival

    part = old.groups[0]
    chart = survival(old.checked, part)
    assert f"estimate of {part.n:,} rows" in chart.legend[0].words
    band, *_ = chart.marks  # as wide as so few rows are uncertain
    whole, *_ = survival(old.checked).marks
    assert (band.high - band.low)[0] > 1.2 * (whole.high - whole.low)[0]


def test_a_hazard_that_crosses_in_time_is_named_by_its_time():
    """Men die early, women late: a Weibull law of one shape for both, in weeks."""
    rng = np.random.default_rng(5)
    x = pd.DataFrame({"female": np.repeat([0, 1], 300), "age": rng.uniform(20, 80, 600)})
    # One scale for each row: thirds of Λ would be other times for other rows.
    scale = 20.0 * np.exp(rng.normal(size=600))
    true = rng.exponential(scale)
    late = np.where(x.female == 1, 3.0, 1.0)
    true = np.where(true > 30.0, 30.0 + (true - 30.0) / late, true)
    until = rng.uniform(10.0, 120.0, 600)
    y = pd.Series(np.minimum(true, until), name="week")
    report = cg.check(cg.models.Exponential(scale=scale), x, y, event=true <= until, rng=0)
    first = report.effects[0]
    assert first.name == "late hazard by female"
    start = report.checked.cuts[1]
    assert f"The late hazard (week > {start:g}) is too low" in report.words
    rows = np.flatnonzero(x.female == 1)
    cell = first.cells[-1].finding
    observed = int(((y > start) & (true <= until))[rows].sum())
    expected = ((y.clip(lower=start) - start) / scale)[rows].sum()
    assert cell.estimate == pytest.approx(observed / expected, rel=1e-12)
