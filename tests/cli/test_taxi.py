"""`condgof paper taxi`; the experiment itself is tested in tests/study/test_taxi.py."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from condgof.cli import _taxi, main

NAMES = ("2009_2015", "2015_01", "2016h1", "2012_11_post_sandy")


def simulate(path, n, seed, north=0.0):
    """Trips of January 2015 that end around where they began."""
    rng = np.random.default_rng(seed)
    pickup = np.array([-73.98, 40.75]) + rng.uniform(-1, 1, (n, 2)) * [0.012, 0.02]
    dropoff = pickup + [0.0, north] + 0.01 * rng.standard_normal((n, 2))
    time = np.datetime64("2015-01-01T00:00:00") + rng.integers(0, 31 * 86400, n)
    columns = {"pickup_datetime": time.astype("datetime64[s]")}
    for name, values in (("pickup", pickup), ("dropoff", dropoff)):
        columns |= {f"{name}_longitude": values[:, 0], f"{name}_latitude": values[:, 1]}
    pq.write_table(pa.table(columns), path)


def test_the_command_runs_the_experiment(tmp_path, capsys, monkeypatch):
    small = _taxi.TaxiPlan(
        components=2, epochs=3, batch_size=200, test_rows=1000, columns=12, candidates=30
    )
    whole = _taxi.run_taxi_files
    monkeypatch.setattr(
        _taxi, "run_taxi_files", lambda files, out, say: whole(files, out, say, plan=small)
    )
    for seed, name in enumerate(NAMES):
        north = 0.01 if "sandy" in name else 0.0
        simulate(tmp_path / f"nyc_taxi_{name}.parquet", 1500, seed, north)
    assert main(["paper", "taxi", "--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 0
    assert "1 to 3 November 2012" in capsys.readouterr().out
    assert (tmp_path / "out" / "taxi.json").is_file()
    assert (tmp_path / "out" / "maps.png").is_file()


def test_missing_files_are_named(tmp_path, capsys):
    assert main(["paper", "taxi", "--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "nyc_taxi_2009_2015.parquet" in capsys.readouterr().err


def test_the_data_must_be_given(capsys):
    assert main(["paper", "taxi"]) == 2
    assert "--data" in capsys.readouterr().err
