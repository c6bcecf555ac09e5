"""The taxi experiment (docs/paper/taxi) on simulated trips."""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import misfit
import taxi
import trips
from condgof import Gaussian, from_scores, kcsd, models
from condgof.errors import InputError

CENTRE = np.array([-73.98, 40.75])
WIDE = np.array([0.012, 0.02])
NAMES = [
    "pickup_datetime",
    "pickup_longitude",
    "pickup_latitude",
    "dropoff_longitude",
    "dropoff_latitude",
]


class Model(models.Model):
    """Half of the trips end around the pick-up, half around the centre."""

    def __init__(self, north=0.0):
        def law(x):
            means = np.stack(
                [x + np.array([0.0, north]), np.broadcast_to(CENTRE, x.shape)], axis=1
            )
            return models.NormalMixture([0.5, 0.5], means, 0.01)

        super().__init__(law)

    def parts(self, x):
        return self(x).parts()


def simulate(n, seed, north=0.0):
    """Pick-up, drop-off and time of trips of January 2015."""
    rng = np.random.default_rng(seed)
    pickup = CENTRE + rng.uniform(-1, 1, (n, 2)) * WIDE
    dropoff = Model(north)(pickup).sample(rng)
    time = np.datetime64("2015-01-01T00:00:00") + rng.integers(0, 31 * 86400, n)
    return pickup, dropoff, time.astype("datetime64[s]")


def table(pickup, dropoff, time, names=NAMES):
    return pa.table(dict(zip(names, [time, *pickup.T, *dropoff.T], strict=True)))


def test_files_of_any_year(tmp_path):
    made = simulate(50, 0)
    pq.write_table(table(*made), tmp_path / "a.parquet")
    years = {
        "2009": ["Trip_Pickup_DateTime", "Start_Lon", "Start_Lat", "End_Lon", "End_Lat"],
        "2012": [NAMES[0], *(f" {name}" for name in NAMES[1:])],
        "2015": ["tpep_pickup_datetime", *NAMES[1:]],
    }
    paths = [tmp_path / "a.parquet"]
    for year, names in years.items():
        paths.append(tmp_path / f"{year}.csv")
        pyarrow.csv.write_csv(table(*made, names), paths[-1])
        first, rest = paths[-1].read_text().replace('"', "").split("\n", 1)
        # as in the city's own files: a blank second line, and a row with a comma too many
        paths[-1].write_text(f"{first}\n\n{rest}2015-01-01 00:00:00,1,2,3,4,\n")
    for path in paths:
        again = trips.read_trips(path)
        np.testing.assert_allclose(again.pickup, made[0], rtol=1e-9)
        np.testing.assert_allclose(again.dropoff, made[1], rtol=1e-9)
        np.testing.assert_array_equal(again.time, made[2])
        assert again.span() == "January 2015"
    pq.write_table(table(*made).drop_columns([NAMES[0]]), tmp_path / "a.parquet")
    again = trips.read_trips(tmp_path / "a.parquet")
    assert (again.hour_of_week() == -1).all()
    assert len(again.outside("2000-01-01", "2100-01-01")) == 50
    assert again.span() is None
    (tmp_path / "a.csv").write_text("PULocationID,DOLocationID\n1,2\n")
    with pytest.raises(InputError, match=r"no column 'pickup_longitude'.* until June 2016"):
        trips.read_trips(tmp_path / "a.csv")
    with pytest.raises(InputError, match="There is no file"):
        trips.read_trips(tmp_path / "b.csv")


def test_trips():
    inside = [-73.98, 40.75]
    never = np.full(5, "NaT", dtype="datetime64[s]")
    pickup = np.array([inside, inside, [-73.5, 40.75], inside, [np.nan, 40.75]])
    dropoff = np.array([[-73.97, 40.76], inside, inside, [-73.98, 41.2], inside])
    near = trips.Trips(pickup, dropoff, never).near_manhattan()
    np.testing.assert_array_equal(near.dropoff, [[-73.97, 40.76]])
    times = np.array(
        ["2012-11-02T21:30:00", "2012-11-05T00:00:00", "NaT"], dtype="datetime64[s]"
    )
    few = trips.Trips(np.zeros((3, 2)), np.ones((3, 2)), times)  # a Friday and a Monday
    np.testing.assert_array_equal(few.hour_of_week(), [4 * 24 + 21, 0, -1])
    assert few.span() == "2 to 5 November 2012"
    all_of = trips.Trips(*simulate(2000, 0))
    some = trips.Trips(*simulate(300, 1))
    first, second = trips.match_hours(all_of, some)
    assert len(first) == len(second) > 250
    np.testing.assert_array_equal(
        np.sort(first.hour_of_week()), np.sort(second.hour_of_week())
    )
    shared = all_of.take(np.arange(5))
    moved = trips.Trips(shared.pickup + 1e-9, shared.dropoff, shared.time)
    assert len(all_of.without(moved)) >= 1995


def test_an_effect_is_the_statistic_over_n():
    made = trips.Trips(*simulate(300, 0))
    model = Model(0.002)
    kernels = misfit.Kernels.from_medians(model, made)
    u = model(made.pickup).normal_scores(made.dropoff)
    effect = misfit.Effect.from_rows(made.pickup, u, kernels)
    result = kcsd(
        from_scores(-u),
        made.pickup,
        u,
        kernel_x=Gaussian(kernels.x),
        kernel_y=Gaussian(kernels.u),
        n_boot=10,
        rng=0,
    )
    assert effect.value == pytest.approx(result.statistic / 300)
    assert effect.low < effect.value < effect.high


def test_maps_and_counts_find_the_wrong_half():
    """Pick-ups east of the centre go further north than the model says."""
    pickup, dropoff, time = simulate(1500, 0)
    east = pickup[:, 0] > CENTRE[0]
    wrong = Model(0.01)(pickup).sample(np.random.default_rng(0))
    made = trips.Trips(pickup, np.where(east[:, None], wrong, dropoff), time)
    model = Model()
    kernels = misfit.Kernels.from_medians(model, made)
    occasion = misfit.Occasion.from_trips("half", model, made, kernels)
    at = CENTRE + np.array([[-0.01, 0.0], [0.01, 0.0]])
    narrow = misfit.Kernels(0.005, kernels.y, kernels.u)
    counts = misfit.CellCounts(made, model)
    for low, high in (
        misfit.normal_map(occasion, at, kernels),
        misfit.local_effects(occasion, at, kernels),
        misfit.paper_map(made, model, at, narrow),
        misfit.local_means(occasion, at)[:, 1],
        [np.nanmean(counts.residuals(point) ** 2) for point in at],
    ):
        assert high > low
    spots = misfit.find_spots(occasion, model, kernels, candidates=60)
    criteria = [spot.criterion for spot in spots]
    assert criteria == sorted(criteria)
    assert min(len(spot.dropoffs) for spot in spots) >= 40


def test_the_whole_experiment(tmp_path, monkeypatch, capsys):
    """From files to figures: unusual days go further north, and the text says so."""
    shared = simulate(100, 9)
    for name, own in (("train", simulate(1500, 0)), ("test", simulate(1400, 1))):
        both = [np.concatenate(pair) for pair in zip(own, shared, strict=True)]
        pq.write_table(table(*both), tmp_path / f"{name}.parquet")
    pq.write_table(table(*simulate(1000, 3, north=0.012)), tmp_path / "unusual.parquet")
    monkeypatch.chdir(tmp_path)
    words = ["taxi.py", "--train", "tra*.parquet", "--test", "test.parquet", "--out", "out"]
    sizes = [
        f"--{k}={v}"
        for k, v in {"components": 2, "epochs": 6, "rows": 1000, "columns": 8}.items()
    ]
    monkeypatch.setattr(
        sys, "argv", [*words, "--unusual", "unusual.parquet", "--candidates=9", *sizes]
    )
    taxi.main(taxi.read_options())
    numbers = json.loads(Path("out/taxi.json").read_text())
    assert 1400 < numbers["trips"]["train"] <= 1500  # the shared trips are out
    found = numbers["Against the model of all hours"]
    ordinary = found["January 2015"]
    unusual = found["January 2015 (unusual)"]
    assert ordinary["n"] == unusual["n"]
    assert unusual["effect"]["low"] > ordinary["effect"]["high"]
    assert "The same hours, model of these hours" in numbers
    for name in (
        "maps",
        "pair",
        "gallery",
        "gallery_residuals",
        "change_criterion",
        "change_same_hours_effect",
    ):
        assert Path(f"out/{name}.png").stat().st_size > 10_000
    assert "drop-offs south of 40.75" in capsys.readouterr().out
    few = tmp_path / "few.parquet"
    pq.write_table(table(*simulate(50, 0)), few)
    monkeypatch.setattr(sys, "argv", ["taxi.py", "--train", str(few), "--test", str(few)])
    with pytest.raises(
        InputError, match="Only 0 trips near Manhattan are left to train on"
    ):
        taxi.main(taxi.read_options())
