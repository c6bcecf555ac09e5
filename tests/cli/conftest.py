"""Tables of predictions, and a check that takes no time."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

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
        data = pa.table({**columns, **changes})
        if name.endswith(".csv"):
            csv.write_csv(data, name)
        elif name.endswith(".parquet"):
            parquet.write_table(data, name)
        else:
            feather.write_feather(data, name)
        return name

    return write


@pytest.fixture(scope="session")
def ready():
    """Return two checks: of a model that is too narrow where x > 0, and of a right one."""
    x, noise = np.random.default_rng(1).standard_normal((2, 200))
    widths = {True: np.where(x > 0, 0.4, 1.0), False: np.ones(200)}
    return {
        bad: real_check((x, width), x, x + noise, rng=0) for bad, width in widths.items()
    }


@pytest.fixture
def replace_check(monkeypatch):
    """Have `condgof check` call another function in place of `condgof.check`."""

    def replace(function):
        monkeypatch.setattr("condgof.cli._check.run_check", function)

    return replace


class QuickCheck:
    """Gives a ready check at once, and remembers what it was called with."""

    def __init__(self, ready):
        self.ready = ready
        self.calls = []
        #: Which of the ready checks: the one of the bad model, unless it is changed.
        self.bad = True

    def __call__(self, model, x, y=None, **options):
        self.calls.append({"model": model, "x": x, "y": y, **options})
        return self.ready[self.bad]


@pytest.fixture
def quick(replace_check, ready):
    """Have checks give a ready one at once; returns what they were called with."""
    check = QuickCheck(ready)
    replace_check(check)
    return check


@pytest.fixture
def stream(monkeypatch):
    """Have tables above a number of bytes streamed; above 0, which is all, unless given."""

    def set_limit(limit=0):
        monkeypatch.setattr("condgof.cli._load.STREAM_BYTES", limit)

    return set_limit
