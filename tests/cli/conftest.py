"""Tables of predictions, and a check that takes no time."""

import numpy as np
import pyarrow as pa
import pytest

from condgof.check import check as real_check


@pytest.fixture
def columns():
    """Columns of a table of predictions, true ones, with text and groups."""
    rng = np.random.default_rng(5)
    n = 90
    income = rng.uniform(0.0, 4.0, n)
    age = rng.uniform(20.0, 60.0, n)
    town = np.where(rng.uniform(size=n) < 0.5, "Oslo", "Bergen")
    mu = 2.0 * income
    return {
        "income": income,
        "age": age,
        "town": town,
        "food": mu + rng.standard_normal(n),
        "drink": -mu + rng.standard_normal(n),
        "mu": mu,
        "sd": np.ones(n),
        "mu2": -mu,
        "sd2": np.ones(n),
        "score": np.zeros(n),
    }


@pytest.fixture
def table(columns, tmp_path, monkeypatch):
    """Write the columns as CSV, after some changes, and go where they are."""
    monkeypatch.chdir(tmp_path)

    def write(name="t.csv", **changes):
        from pyarrow import csv, feather, parquet

        data = pa.table({**columns, **changes})
        {"csv": csv.write_csv, "parquet": parquet.write_table}.get(
            name.rpartition(".")[2], feather.write_feather
        )(data, name)
        return name

    return write


@pytest.fixture(scope="session")
def ready():
    """Two checks: of a model that is too narrow where x is positive, and of one that is right."""
    x, noise = np.random.default_rng(1).standard_normal((2, 200))
    widths = {True: np.where(x > 0, 0.4, 1.0), False: np.ones(200)}
    return {
        bad: real_check((x, width), x, x + noise, rng=0) for bad, width in widths.items()
    }


@pytest.fixture
def quick(monkeypatch, ready):
    """Have checks give a ready one at once; returns what they were called with."""
    calls = []

    def check(model, x, y=None, **options):
        calls.append({"model": model, "x": x, "y": y, **options})
        return ready[quick.bad]

    quick.bad, quick.calls = True, calls
    monkeypatch.setattr("condgof.cli._check.run_check", check)
    return quick
