"""Effects of a stream on all its rows: against the same rows in memory."""

import sys

import numpy as np
import pandas as pd
import pytest

import condgof as cg
from condgof.check import select_rows
from condgof.check._all_rows import bin_of, quantile_of_counts

da = pytest.importorskip("dask.array")
FAST = {"rng": 0, "n_boot": 99, "solver": "lowrank"}
N = 30_000
SEARCHED = 4_000


@pytest.fixture
def few(monkeypatch):
    """Fewer rows of a stream are searched than usual, to save time."""
    monkeypatch.setattr(sys.modules[select_rows.__module__], "STREAMED_ROWS", SEARCHED)


def sample(n=N, spread=1.8):
    """A spread that depends on a number and a bias that depends on a category."""
    rng = np.random.default_rng(4)
    a = rng.standard_normal(n)
    town = np.array(["north", "south", "west"])[rng.integers(0, 3, n)]
    noise = np.where(a > 0.5, spread, 1.0) * rng.standard_normal(n)
    y = a + 0.6 * (town == "south") + noise
    return pd.DataFrame({"a": a, "town": town, "y": y, "mu": a, "sd": 1.0})


def bound(z):
    """How far a quantile of residuals may be from that of all rows."""
    return 0.004 * np.sqrt(1.0 + z**2)


def of_rows(z, quantity):
    """An estimate and how far its value from counts may be off, by NumPy."""
    low, middle, high = np.quantile(z, [0.25, 0.5, 0.75])
    if quantity == "median":
        return middle, bound(middle)
    assert quantity == "middle half"
    return (high - low) / 1.3489795, (bound(low) + bound(high)) / 1.3489795


def assert_cells(report, frame, z):
    """Rows, estimates, means and standard deviations are those of all rows."""
    assert report.effects
    quantities = set()
    for effect in report.effects:
        assert effect.all_rows.rows == len(frame)
        assert sum(cell.n for cell in effect.all_rows.cells) == len(frame)
        for cell, whole in zip(effect.cells, effect.all_rows.cells, strict=True):
            inside = frame.query(cell.query).index if cell.query else frame.index
            assert whole.n == len(inside)
            own = z[inside]
            quantities.add(cell.finding.quantity)
            estimate, off = of_rows(own, cell.finding.quantity)
            assert abs(whole.estimate - estimate) <= off
            assert whole.mean == pytest.approx(own.mean(), abs=1e-9)
            assert whole.sd == pytest.approx(own.std(ddof=1), abs=1e-9)
    return quantities


def test_a_stream_has_the_cells_of_all_rows(tmp_path, few):
    frame = sample()
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=7_000)
    source = cg.scan(tmp_path / "t.parquet", x=["a", "town"], y="y")
    report = cg.check(cg.columns(mean="mu", std="sd"), source, **FAST)
    assert len(report.frame()) == SEARCHED
    z = (frame["y"] - frame["mu"]).to_numpy()
    assert assert_cells(report, frame, z) == {"median", "middle half"}
    assert any("numbers of all rows beside" in note for note in report.notes)
    table = report.effects[0].to_frame()
    assert table["n_all_rows"].sum() == N
    assert table["n"].sum() == SEARCHED


def test_the_gain_is_that_on_rows_that_were_not_searched(tmp_path, few):
    """Log densities of the repaired law at all rows but those in the frame.

    They differ from gains where rows lie further out than 4 sd: these count as if they
    lay there.
    """
    frame = sample(spread=1.0)
    frame.to_parquet(tmp_path / "t.parquet")
    source = cg.scan(tmp_path / "t.parquet", x=["a", "town"], y="y")
    report = cg.check(cg.columns(mean="mu", std="sd"), source, **FAST)
    others = np.setdiff1d(np.arange(N), report.frame().index)
    x = frame[["a", "town"]]
    model = (frame["mu"].to_numpy(), np.ones(N))
    better = report.repair()
    law = better.of(model)(x)
    before = cg.as_model(model)(x)
    y = frame["y"].to_numpy()
    gained = (law.log_prob(y) - before.log_prob(y))[others].mean()
    total = sum(effect.all_rows.gain for effect in report.effects)
    assert total == pytest.approx(gained, abs=1e-3)
    # The promise on held-out rows of those that were searched agrees with it.
    loss = report.avoidable_loss
    assert loss.interval[0] < total < loss.interval[1]
    assert all(0 < effect.all_rows.gain_error < 0.02 for effect in report.effects)


def test_dask_arrays_have_the_cells_of_all_rows(few):
    frame = sample(9_000)
    x = frame[["a"]].assign(south=(frame["town"] == "south") * 1.0).to_numpy()
    parts = (frame["mu"].to_numpy(), np.ones(9_000), x, frame["y"].to_numpy())
    mean, sd, x_lazy, y = (da.from_array(part, chunks=2_500) for part in parts)
    report = cg.check((mean, sd), x_lazy, y, **FAST)
    assert len(report.frame()) == SEARCHED
    for effect in report.effects:
        assert sum(cell.n for cell in effect.all_rows.cells) == 9_000


def test_counts_have_sums_of_all_rows(tmp_path, few):
    rng = np.random.default_rng(0)
    a = rng.uniform(0, 1, 12_000)
    mean = np.exp(0.3 + a)
    y = np.where(rng.random(12_000) < 0.3 * (a > 0.5), 0, rng.poisson(mean))
    frame = pd.DataFrame({"a": a, "y": y, "mu": mean})
    frame.to_parquet(tmp_path / "t.parquet")
    source = cg.scan(tmp_path / "t.parquet", x="a", y="y")
    poisson = cg.columns(family="poisson", param={"mean": "mu"})
    report = cg.check(poisson, source, **FAST)
    found = {effect.kind: effect for effect in report.effects}
    assert "zeros" in found
    for cell, whole in zip(
        found["zeros"].cells, found["zeros"].all_rows.cells, strict=True
    ):
        inside = frame.query(cell.query) if cell.query else frame
        assert whole.n == len(inside)
        assert whole.estimate == pytest.approx((inside["y"] == 0).mean(), abs=1e-12)
        assert whole.expected == pytest.approx(np.exp(-inside["mu"]).mean(), abs=1e-9)


def test_rows_in_memory_have_no_second_table():
    frame = sample(2_000)
    report = cg.check(
        (frame["mu"], np.ones(2_000)), frame[["a", "town"]], frame["y"], **FAST
    )
    assert report.effects
    assert all(effect.all_rows is None for effect in report.effects)
    assert "n_all_rows" not in report.effects[0].to_frame()


@pytest.mark.parametrize("n", [1, 2, 5, 400])
def test_quantiles_of_counts_are_those_of_the_values(n):
    z = 3.0 * np.random.default_rng(n).standard_t(1, n)
    counts = np.bincount(bin_of(z), minlength=2048).astype(float)
    for level in (0.25, 0.5, 0.75):
        ends = np.sort(z)
        exact = np.quantile(z, level)
        rank = level * (n - 1)
        near = np.abs(ends[[int(np.floor(rank)), int(np.ceil(rank))]]).max()
        assert abs(quantile_of_counts(counts, level) - exact) <= bound(near)
