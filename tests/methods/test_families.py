"""The table of families: weights by kind of y."""

import numpy as np
import pytest

import condgof as cg
from condgof.laws import law_of
from condgof.methods import FAMILIES, families_of, make_design
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
    kept = [family for family in families if len(family.which)]
    total = sum(family.share for family in kept)
    return {family.name: family.share / total for family in kept}


def test_columns_weigh_more_where_y_is_a_count():
    """Version 0.2 had no families of the level and of outliers for counts."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    mean = np.exp(0.4 * x[:, 0])
    counted = weights(cg.models.Poisson(mean=mean), x, rng.poisson(mean))
    continuous = weights((x[:, 0], np.ones(60)), x, x[:, 0] + rng.normal(size=60))
    counts = {"level": 0.16, "surprises": 0.05}  # where y is a count
    own = {spec.name: spec.weight for spec in FAMILIES}
    for found, changed in ((continuous, {}), (counted, counts)):
        expected = {name: {**own, **changed}[name] for name in found}
        total = sum(expected.values())
        expected = {name: weight / total for name, weight in expected.items()}
        assert found == pytest.approx(expected)
    assert counted["columns"] > 1.2 * continuous["columns"]
