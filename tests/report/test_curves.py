"""Curves that pictures draw are plain numbers: bounded, and ready for JSON."""

import json

import numpy as np
import pytest

from condgof.check.curves import curves_of, kaplan_meier, survival_curve
from condgof.report import kinds
from report.samples import checks

CHECKS = checks()
#: What there is of each kind of y.
NAMES = {
    "continuous": {"pit"},
    "several": {"pit"},
    "vector draws": {"pit"},
    "classes": {"reliability", "classes"},
    "counts": {"rootogram"},
    "quantiles": {"coverage"},
    "intervals": {"coverage"},
    "censored": {"survival"},
    "moments": set(),
    "scores": set(),
}


def count_numbers(value):
    if isinstance(value, dict):
        return sum(count_numbers(one) for one in value.values())
    if isinstance(value, list):
        return sum(count_numbers(one) for one in value)
    return 1


@pytest.mark.parametrize(("name", "curves"), NAMES.items())
def test_each_kind_of_y_has_its_curves(name, curves):
    assert set(curves_of(CHECKS[name])) == curves


@pytest.mark.parametrize("name", CHECKS)
def test_curves_are_bounded_and_ready_for_json(name):
    curves = curves_of(CHECKS[name])
    assert json.loads(json.dumps(curves, allow_nan=False)) == curves
    assert count_numbers(curves) <= 1300  # 200 steps of six numbers


def test_each_column_of_y_has_its_pits():
    curves = curves_of(CHECKS["several"])
    assert list(curves["pit"]) == ["height", "weight"]
    assert sum(curves["pit"]["weight"]["rows"]) == 500


def test_a_picture_draws_the_numbers_of_its_curve():
    checked = CHECKS["intervals"].checked
    curve = curves_of(CHECKS["intervals"])["coverage"]
    dots = kinds.coverage(checked).marks[1]
    assert dots.estimate.tolist() == curve["observed"]
    assert dots.low.tolist() == curve["low"]


def test_a_survival_curve_is_thinned_to_its_first_and_last_steps():
    checked = CHECKS["censored"].checked
    rows = np.arange(checked.n)
    whole = survival_curve(checked, rows)
    assert len(whole.hazard) > 200
    thin = curves_of(CHECKS["censored"])["survival"]
    assert len(thin["hazard"]) == 200
    assert thin["hazard"][0] == whole.hazard[0]
    assert thin["survival"][-1] == whole.survival[-1]


def test_the_estimate_of_kaplan_and_meier_by_hand():
    """Without censoring before it, each step divides by the rows at risk."""
    checked = CHECKS["censored"].checked
    rows = np.arange(40)
    hazard = checked.hazard[rows]
    event = checked.event[rows]
    estimate = 1.0
    by_hand = []
    for time in np.sort(hazard[event]):
        at_risk = (hazard >= time).sum()
        estimate *= 1.0 - 1.0 / at_risk
        by_hand.append(estimate)
    curve = kaplan_meier(checked, rows)
    np.testing.assert_allclose(curve.survival, by_hand)
