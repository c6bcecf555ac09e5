"""The table of families: weights by kind of y."""

import numpy as np
import pytest

import condgof as cg
from condgof.laws import law_of
from condgof.methods import families_of, make_design
from condgof.null import NullDraws
from condgof.sample import Sample
from condgof.stein import RowsInMemory, Units


def weights(model, x, y):
    sample = Sample.from_data(x, y)
    law = law_of(cg.as_model(model), sample)
    rows = RowsInMemory.from_law(law, sample, Units("ranks", "auto", predictions=True))
    plan = make_design(rows).plan
    count = len(plan.statistics)
    drawn = NullDraws(np.zeros(count), np.zeros((count, 9)), np.ones(count))
    drawn = drawn.plus("surprises", 0.0, np.zeros(9))
    families = families_of(plan, drawn)
    total = sum(family.share for family in families if len(family.which))
    return {family.name: family.share / total for family in families}


def test_columns_weigh_more_where_y_is_a_count():
    """Version 0.2 had no families of the level and of outliers for counts."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    mean = np.exp(0.4 * x[:, 0])
    counted = weights(cg.models.Poisson(mean=mean), x, rng.poisson(mean))
    continuous = weights((x[:, 0], np.ones(60)), x, x[:, 0] + rng.normal(size=60))
    assert counted["columns"] == pytest.approx(0.25, abs=0.005)
    assert continuous["columns"] == pytest.approx(0.19, abs=0.005)
    assert counted["level"] == pytest.approx(0.16 / 0.36 * 0.25 / 0.19 * 0.36, rel=0.01)
