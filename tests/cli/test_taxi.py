"""`condgof paper taxi`; the experiment itself is tested in tests/study/test_taxi.py."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from condgof.cli import _taxi, main

NAMES = ("train", "also", "test", "more", "unusual")


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
    whole = _taxi.run_taxi
    monkeypatch.setattr(_taxi, "run_taxi", lambda files, out, plan: whole(files, out, plan=small))
    for seed, name in enumerate(NAMES):
        simulate(tmp_path / f"{name}.parquet", 1500, seed, north=0.01 if name == "unusual" else 0.0)
    files = {name: str(tmp_path / f"{name}.parquet") for name in NAMES}
    command = ["paper", "taxi", "--train", str(tmp_path / "tr?in.parquet"), files["also"]]
    for name in ("test", "more", "unusual"):
        command += [f"--{name}", files[name]]
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "January 2015, same hours" in said
    assert "on 3,000 trips" in said or "on 2,9" in said
    assert (tmp_path / "out" / "taxi.json").is_file()
    assert (tmp_path / "out" / "maps.png").is_file()


def test_missing_files_are_named(tmp_path, capsys):
    missing = str(tmp_path / "missing.parquet")
    assert main(["paper", "taxi", "--train", missing, "--test", missing]) == 2
    assert "There is no file" in capsys.readouterr().err


def test_the_data_must_be_given(capsys):
    assert main(["paper", "taxi"]) == 2
    assert "--train" in capsys.readouterr().err
