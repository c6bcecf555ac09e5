"""Counts: numbers that one row does not turn, and laws that cells do not see."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri

import condgof as cg
from condgof.laws import row_uniforms
from condgof.residuals import V_SEED


def wide_model_with_one_wild_row():
    """y of dispersion 0.04 where the model has 0.1, and one count of 700."""
    rng = np.random.default_rng(0)
    n = 600
    y = rng.poisson(rng.gamma(1 / 0.04, 50 * 0.04, n))
    y[450] = 700
    x = pd.DataFrame({"month": np.repeat(["April", "May"], 300), "a": rng.normal(size=n)})
    return cg.models.NegativeBinomial(mean=50.0, dispersion=0.1), x, y


def test_one_row_does_not_turn_the_direction_of_a_spread():
    model, x, y = wide_model_with_one_wild_row()
    report = cg.check(model, x, y, by="month", n_boot=99, rng=1)
    for group in report.groups:
        spread = next(one for one in group.findings if one.kind == "spread")
        assert group.direction == "too wide"
        assert 0.5 < spread.estimate < 0.85
        assert spread.interval[1] < 1.0
    assert "too narrow" not in str(report)
    outlier = next(one for one in report.overall if one.kind == "wild")
    assert outlier.numbers["rows"] == [450]


def test_numbers_of_counts_are_lines_of_pandas():
    model, x, y = wide_model_with_one_wild_row()
    report = cg.check(model, x, y, by="month", n_boot=99, rng=1)
    frame = report.frame()
    for group in report.groups:
        rows = frame[frame["month"] == group.conditions[0].words.split(" = ")[1]]
        # The outlier counts as much as the largest other residual.
        counted = (50.0 + rows["residual"] * np.sqrt(50.0 + 0.1 * 50.0**2)).sum()
        expected = {"mean": counted / (50.0 * len(rows)), "spread": rows["z"].std()}
        if 450 in rows.index:
            # With the outlier where it is, the spread would be above 1, in the other
            # direction than the rest. It is moved to where outliers begin.
            assert expected["spread"] > 1.0
            reach = -ndtri(0.0005 / len(frame))
            expected["spread"] = rows["z"].clip(upper=rows["z"].median() + reach).std()
        assert {finding.kind for finding in group.findings} == set(expected)
        for finding in group.findings:
            assert finding.estimate == pytest.approx(expected[finding.kind])


def test_the_normal_score_of_a_row_is_that_of_its_number():
    rng = np.random.default_rng(3)
    x = rng.normal(size=300)
    y = rng.poisson(2.0, 300)
    model = cg.models.Poisson(mean=2.0)
    frame = cg.check(model, x, y, n_boot=19, rng=0).frame()
    law = model(n=300)
    lower = law.cdf(y - 1.0)
    u = lower + row_uniforms(V_SEED, np.arange(300)) * (law.cdf(y) - lower)
    np.testing.assert_allclose(frame["z"], ndtri(u), atol=1e-9)
    again = cg.check(model, x, y, n_boot=19, rng=5).frame()
    np.testing.assert_array_equal(frame["z"], again["z"])


@pytest.mark.parametrize("seed", range(3))
def test_a_size_given_as_dispersion_is_rejected(seed):
    """0.2 had p = 0.25 to 0.61: a cell of the model's sd held all counts."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=300)
    y = rng.poisson(3.0, 300)
    model = cg.models.NegativeBinomial(mean=3.0, dispersion=1000.0)
    assert cg.adaptive(model, x, y, n_boot=199, rng=seed).pvalue == 1 / 200


@pytest.mark.parametrize("mean", [2.0, 0.05])
def test_a_stream_of_counts_has_the_result_of_the_same_rows_in_memory(tmp_path, mean):
    """By the Gaussian limit, and, of rare counts, by resampling in strata."""
    rng = np.random.default_rng(0)
    n = 4_000  # of more rows, a stream chooses what it compares by their numbers
    table = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    table["m"] = mean * np.exp(0.3 * table["a"])
    table["y"] = rng.poisson(table["m"])
    table.to_parquet(tmp_path / "rows.parquet")
    source = cg.scan(tmp_path / "rows.parquet", x=["a", "b"], y="y")
    by_name = cg.columns(family="poisson", param={"mean": "m"})
    streamed = cg.adaptive(by_name, source, n_boot=49, rng=1, solver="lowrank")
    model = cg.models.Poisson(mean=table["m"].to_numpy())
    held = cg.adaptive(
        model, table[["a", "b"]], table["y"], n_boot=49, rng=1, solver="lowrank"
    )
    assert held.null == ("Gaussian limit" if mean > 1 else "model")
    assert streamed.pvalue == held.pvalue
    families = held.details["families"]
    assert streamed.details["families"] == pytest.approx(families)
    assert "surprises" in families
