"""Checks within groups."""

import json
import pickle

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import condgof as cg
from condgof.errors import CondgofError, InputError, NonFiniteError
from condgof.locate import _check_groups
from condgof.locate._grouped import holm
from condgof.methods._adaptive import run_adaptive
from condgof.methods._options import Options, prepare_with_model
from condgof.methods._rows import Units
from condgof.sample import Seed

RNG = np.random.default_rng(1)
N = 330
X = RNG.uniform(0, 1, N)
CITY = np.array((["Oslo"] * 150) + (["Rome"] * 150) + (["Lima"] * 20) + (["Bern"] * 10))
Y = X + 1.0 * (CITY == "Rome") + RNG.standard_normal(N)
MODEL = (X, np.ones(N))
FAST = {"rng": 0, "n_boot": 200}


@pytest.fixture(scope="module")
def found():
    return cg.check_groups(MODEL, X, Y, by=CITY, **FAST)


def test_groups_are_checked_and_corrected(found):
    assert list(found) == ["Oslo", "Rome"]
    assert found.rejected == ("Rome",)
    assert found.left_out == {
        "Bern": "10 rows, and min_rows is 30",
        "Lima": "20 rows, and min_rows is 30",
    }
    raw = [found[name].result.pvalue for name in found]
    np.testing.assert_allclose(list(found.pvalues.values()), holm(np.array(raw)))
    assert "corrected for all groups" in found["Rome"].words
    assert found["Rome"].group == "Rome"
    assert found.words == "Evidence against the model in 1 of 2 groups: Rome. 2 left out."


def test_a_group_does_not_depend_on_the_others(found):
    rome = CITY == "Rome"
    alone = cg.check_groups((X[rome], np.ones(150)), X[rome], Y[rome], by=CITY[rome], **FAST)
    assert alone["Rome"].result.pvalue == found["Rome"].result.pvalue


def test_records(found):
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["schema"] == 1
    assert set(plain["checks"]) == {"Oslo", "Rome"}
    again = pickle.loads(pickle.dumps(found))
    assert str(again) == str(found)
    assert repr(found) == "GroupedChecks(by='group', 2 groups, 1 rejected, 2 left out)"
    assert "* Rome (n = 150): Evidence against" in str(found)
    with pytest.raises(TypeError):
        found.checks["x"] = None


def test_no_location_is_named_where_the_correction_takes_the_verdict_back():
    many = np.repeat(np.arange(8), 40)
    rng = np.random.default_rng(11)
    x, seen = rng.uniform(0, 1, 320), 0
    for seed in range(2):
        y = x + 0.35 * (many == 3) + np.random.default_rng(seed).standard_normal(320)
        grouped = cg.check_groups((x, np.ones(320)), x, y, by=many, rng=seed, n_boot=99)
        for check in grouped.checks.values():
            seen += check.result.pvalue <= 0.05 and not check.rejects
            if not check.rejects:
                assert not any(place.named for place in check.locations)
                assert check.words.startswith("No evidence")
    assert seen  # such groups there were


def test_many_groups_get_the_draws_that_their_correction_needs():
    """60 groups: 1/201 times 60 is 0.3, above alpha; the one that is 5 sd off gets more draws."""
    by = np.repeat(np.arange(60), 60)
    rng = np.random.default_rng(3)
    x = rng.standard_normal(3600)
    y = x + 5.0 * (by == 7) + rng.standard_normal(3600)
    found = cg.check_groups((x, np.ones(3600)), x, y, by=by, n_locations=1, rng=0, n_boot=200, engine=1)
    assert found.rejected == ("7",)
    assert found["7"].result.pvalue == 1 / 201
    assert found.pvalues["7"] == pytest.approx(60 / 2401)
    assert "(p ≤ 0.03, corrected for all groups)" in found["7"].words


def test_more_draws_agree_with_those_of_the_verdict(monkeypatch):
    """A p-value from new draws, combined as the first ones fixed it, is the verdict's up to noise."""
    monkeypatch.setattr(_check_groups, "ENOUGH", 10**9)
    x, noise = np.random.default_rng(4).standard_normal((2, 80))
    options, seed = Options.of(solver="auto", null="auto", n_boot=2000, engine=1, memory=2**30), Seed(0)
    units = Units("ranks", "auto", predictions=True)
    _, scored = prepare_with_model((x, np.ones(80)), x, x + 1.2 * noise, units, options, seed)
    first = run_adaptive(scored, options, seed).result.pvalue
    again, floor = _check_groups._with_more_draws(scored, options, seed, 4000, first)
    assert floor == 1 / 4001
    assert 0.01 < first < 0.5
    assert abs(again - first) <= 4 * np.sqrt(first * (1 - first) * (1 / 2000 + 1 / 4000))


def test_holm_against_its_definition():
    p = np.array([0.01, 0.04, 0.03, 0.005, 0.5])
    order, expected, running = np.argsort(p), np.empty(5), 0.0
    for k, which in enumerate(order):
        running = max(running, min(1.0, (5 - k) * p[which]))
        expected[which] = running
    np.testing.assert_allclose(holm(p), expected)
    assert holm(np.array([])).shape == (0,)


def test_by_a_column_of_the_frame_in_the_order_of_numbers():
    frame = pd.DataFrame({"x": X, "year": np.repeat([2, 10, 1], 110)})
    found = cg.check_groups(MODEL, frame, pd.Series(Y, name="rent"), by="year", **FAST)
    assert list(found) == ["1", "2", "10"]
    assert found.by == "year"
    assert found["2"].y_columns == ("rent",)
    assert any("constant: 'year'" in note for note in found["2"].details["notes"])
    text = cg.check_groups(MODEL, X, Y, by=pd.Series(CITY, name="city"), **FAST)
    assert text.by == "city"


def test_a_group_that_cannot_be_tested_is_left_out_with_the_reason():
    x = X.copy()
    x[CITY == "Oslo"] = 0.5
    found = cg.check_groups(MODEL, x, Y, by=CITY, **FAST)
    assert "constant" in found.left_out["Oslo"]
    assert list(found) == ["Rome"]
    nothing = cg.check_groups(MODEL, X, Y, by=CITY, min_rows=1000, **FAST)
    assert len(nothing) == 0
    assert nothing.words == "No group could be checked. 4 left out."


@pytest.mark.parametrize("form", ["parquet", "csv", "feather"])
def test_by_a_text_column_of_a_source(tmp_path, form, found):
    table = pd.DataFrame({"x": X, "y": Y, "mu": X, "sd": 1.0, "city": CITY, "n": 3})
    path = tmp_path / f"t.{form}"
    {"parquet": table.to_parquet, "csv": lambda p: table.to_csv(p, index=False),
     "feather": table.to_feather}[form](path)  # fmt: skip
    source = cg.scan(path, x="x", y="y")
    streamed = cg.check_groups(cg.columns(mean="mu", std="sd"), source, by="city", **FAST)
    assert streamed.pvalues == pytest.approx(found.pvalues)
    assert streamed.left_out == found.left_out
    assert streamed["Rome"].x_columns == ("x",)


def test_missing_labels_of_a_source_are_an_error(tmp_path):
    table = pd.DataFrame({"x": X, "y": Y, "mu": X, "sd": 1.0, "city": np.where(X > 0.9, None, CITY)})
    table.to_parquet(tmp_path / "t.parquet")
    source = cg.scan(tmp_path / "t.parquet", x="x", y="y")
    with pytest.raises(NonFiniteError, match=r"'city' .* null in row"):
        cg.check_groups(cg.columns(mean="mu", std="sd"), source, by="city")


def test_dask_arrays_with_labels_in_memory(found):
    lazy = [da.from_array(part, chunks=100) for part in (X, np.ones(N), X, Y)]
    other = cg.check_groups((lazy[0], lazy[1]), lazy[2], lazy[3], by=CITY, **FAST)
    assert other.pvalues == pytest.approx(found.pvalues)


@pytest.mark.parametrize(
    ("by", "match"),
    [
        ("city", "x has no names"),
        (CITY[:5], "by has 5 values"),
        (np.ones((N, 2)), "one value for each row"),
        (np.where(X > 0.5, np.nan, 1.0), "by is missing in"),
    ],
)
def test_errors(by, match):
    with pytest.raises(CondgofError, match=match):
        cg.check_groups(MODEL, X, Y, by=by)


def test_a_misspelt_column_is_guessed_and_numbers_are_no_groups():
    frame = pd.DataFrame({"x": X, "city": CITY})
    with pytest.raises(InputError, match="nearest names are: city"):
        cg.check_groups(MODEL, frame, Y, by="citty")
    big = np.random.default_rng(0).standard_normal(1500)
    with pytest.raises(InputError, match="1,500 different values"):
        cg.check_groups((big, np.ones(1500)), big, big, by=big)
