"""The taxi experiment on simulated trips."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from condgof import laws
from condgof.cli._taxi import TaxiFiles, TaxiPlan, run_taxi
from condgof.errors import InputError
from condgof.kernels import Gaussian
from condgof.methods import kcsd
from condgof.study import (
    Kernels,
    Trips,
    choose_kernels,
    examine_trips,
    examine_zones,
    find_spots,
    join,
    local_effects,
    local_means,
    match_hours,
    normal_map,
    null_deviations,
    paper_map,
    pickup_grid,
    read_trips,
)
from condgof.study._taxi import effect_of, share_south
from condgof.study._taxi_maps import LOCAL, CellCounts

CENTRE = np.array([-73.98, 40.75])
WIDE = np.array([0.012, 0.02])


class Model(laws.Model):
    """Half of the trips end around the pick-up, half around the centre."""

    def __init__(self, north=0.0):
        def law(x):
            means = np.stack([x + np.array([0.0, north]), np.broadcast_to(CENTRE, x.shape)], axis=1)
            return laws.NormalMixture([0.5, 0.5], means, 0.01)

        super().__init__(law)

    def parts(self, x):
        return self(x).parts()


def simulate(n, seed, north=0.0):
    """Trips of January 2015, near Manhattan (but a few)."""
    rng = np.random.default_rng(seed)
    pickup = CENTRE + rng.uniform(-1, 1, (n, 2)) * WIDE
    dropoff = Model(north)(pickup).sample(rng)
    time = np.datetime64("2015-01-01T00:00:00") + rng.integers(0, 31 * 86400, n)
    return Trips(pickup, dropoff, time.astype("datetime64[s]"))


def table(trips, names=None):
    names = names or [
        "pickup_datetime",
        "pickup_longitude",
        "pickup_latitude",
        "dropoff_longitude",
        "dropoff_latitude",
    ]
    columns = [trips.time, *trips.pickup.T, *trips.dropoff.T]
    return pa.table(dict(zip(names, columns, strict=True)))


class TestTrips:
    def test_files_of_any_year(self, tmp_path):
        trips = simulate(50, 0)
        pq.write_table(table(trips), tmp_path / "a.parquet")
        years = {
            "2009": ["Trip_Pickup_DateTime", "Start_Lon", "Start_Lat", "End_Lon", "End_Lat"],
            "2012": [
                "pickup_datetime",
                " pickup_longitude",
                " pickup_latitude",
                " dropoff_longitude",
                " dropoff_latitude",
            ],
            "2015": [
                "tpep_pickup_datetime",
                "pickup_longitude",
                "pickup_latitude",
                "dropoff_longitude",
                "dropoff_latitude",
            ],
        }
        paths = [tmp_path / "a.parquet"]
        for year, names in years.items():
            paths.append(tmp_path / f"{year}.csv")
            pyarrow.csv.write_csv(table(trips, names), paths[-1])
            text = paths[-1].read_text().replace('"', "")
            first, rest = text.split("\n", 1)
            # as in the city's own files: a blank second line, and a row with a comma too many
            paths[-1].write_text(f"{first}\n\n{rest}2015-01-01 00:00:00,1,2,3,4,\n")
        for path in paths:
            again = read_trips(path)
            np.testing.assert_allclose(again.pickup, trips.pickup, rtol=1e-9)
            np.testing.assert_allclose(again.dropoff, trips.dropoff, rtol=1e-9)
            np.testing.assert_array_equal(again.time, trips.time)
        assert len(read_trips(paths)) == 200

    def test_without_a_time(self, tmp_path):
        trips = simulate(5, 0)
        pq.write_table(table(trips).drop_columns(["pickup_datetime"]), tmp_path / "a.parquet")
        again = read_trips(tmp_path / "a.parquet")
        assert np.isnat(again.time).all()
        assert (again.hour_of_week() == -1).all()
        assert len(again.between("2000-01-01", "2100-01-01")) == 0
        assert len(again.between("2000-01-01", "2100-01-01", outside=True)) == 5

    def test_bad_files(self, tmp_path):
        (tmp_path / "a.parquet").write_text("no")
        with pytest.raises(InputError, match="not a Parquet file"):
            read_trips(tmp_path / "a.parquet")
        (tmp_path / "a.csv").write_text("PULocationID,DOLocationID\n1,2\n")
        with pytest.raises(InputError, match=r"no column 'pickup_longitude'.* until June 2016"):
            read_trips(tmp_path / "a.csv")
        with pytest.raises(InputError, match="no file"):
            read_trips([])

    def test_near_manhattan(self):
        inside = [-73.98, 40.75]
        pickup = np.array([inside, inside, [-73.5, 40.75], inside, [np.nan, 40.75]])
        dropoff = np.array([[-73.97, 40.76], inside, inside, [-73.98, 41.2], inside])
        trips = Trips(pickup, dropoff, np.full(5, "NaT", dtype="datetime64[s]"))
        np.testing.assert_array_equal(trips.near_manhattan().dropoff, [[-73.97, 40.76]])

    def test_shared_trips_are_dropped_to_six_decimals(self):
        trips = simulate(20, 0)
        shared = trips.take(np.arange(5))
        shared = Trips(shared.pickup + 1e-8, shared.dropoff.round(6), shared.time)
        left = Trips(trips.pickup.round(6), trips.dropoff.round(6), trips.time).without(
            Trips(shared.pickup.round(6), shared.dropoff, shared.time)
        )
        np.testing.assert_array_equal(left.time, trips.time[5:])

    def test_hours_of_the_week(self):
        times = np.array(["2012-11-02T21:30:00", "2012-11-05T00:00:00", "NaT"], dtype="datetime64[s]")
        trips = Trips(np.zeros((3, 2)), np.ones((3, 2)), times)  # a Friday and a Monday
        np.testing.assert_array_equal(trips.hour_of_week(), [4 * 24 + 21, 0, -1])
        assert len(trips.at_hours(np.array([117]))) == 1

    def test_matched_hours(self):
        a, b = simulate(2000, 0), simulate(300, 1)
        first, second = match_hours(a, b)
        assert len(first) == len(second) > 250
        np.testing.assert_array_equal(np.sort(first.hour_of_week()), np.sort(second.hour_of_week()))

    def test_drawing(self):
        trips = simulate(30, 0)
        np.testing.assert_array_equal(trips.draw(9, 1).time, trips.draw(9, 1).time)
        assert len(trips.draw(100, 1)) == 30
        assert len(join([trips, trips])) == 60


class TestEffects:
    def test_it_is_the_statistic_over_n(self):
        trips, model = simulate(300, 0), Model(0.002)
        kernels = choose_kernels(model, trips)
        u = model(trips.pickup).normal_scores(trips.dropoff)
        effect = effect_of(trips.pickup, u, kernels)
        result = kcsd(
            laws.from_scores(-u),
            trips.pickup,
            u,
            kernel_x=Gaussian(kernels.x),
            kernel_y=Gaussian(kernels.u),
            n_boot=10,
            rng=0,
        )
        assert effect.value == pytest.approx(result.statistic / 300)
        assert effect.low < effect.value < effect.high

    def test_the_interval_covers(self):
        """The effect in 12,000 trips is in nine of ten intervals of 400 trips, or more."""
        model, kernels = Model(0.004), Kernels(0.015, 0.02, 1.65)

        def one(n, seed):
            trips = simulate(n, seed)
            u = model(trips.pickup).normal_scores(trips.dropoff)
            return effect_of(trips.pickup, u, kernels)

        truth = one(8000, 99).value
        intervals = [one(400, seed) for seed in range(40)]
        assert sum(e.low < truth < e.high for e in intervals) >= 33

    def test_an_occasion(self):
        trips, model = simulate(600, 0), Model()
        kernels = choose_kernels(model, trips)
        right = examine_trips("right", model, trips, kernels)
        wrong = examine_trips("wrong", model, simulate(600, 1, north=0.006), kernels)
        assert right.normal.pvalue > 0.01
        assert wrong.normal.pvalue < 0.01
        assert wrong.effect.low > right.effect.high
        assert null_deviations(wrong.normal) > 5 > abs(null_deviations(right.normal))
        zones = examine_zones(wrong, model, kernels)
        assert sum(zone.n for zone in zones) > 600  # one zone is part of another
        for zone in zones:
            assert zone.shift[1] > 0.05
            assert zone.south < zone.expected

    def test_the_share_that_a_true_model_expects(self):
        trips, model = simulate(20_000, 0), Model()
        observed, expected = share_south(model, trips, 40.745)
        assert observed == pytest.approx(expected, abs=4 * 0.5 / np.sqrt(20_000))


class TestMaps:
    def test_the_criterion_and_the_counts_find_the_wrong_half(self):
        """Pick-ups east of the centre go further north than the model says."""
        rng, model = np.random.default_rng(0), Model()
        trips = simulate(3000, 0)
        east = trips.pickup[:, 0] > CENTRE[0]
        dropoff = np.where(east[:, None], Model(0.01)(trips.pickup).sample(rng), trips.dropoff)
        kernels = choose_kernels(model, trips)
        occasion = examine_trips("half", model, Trips(trips.pickup, dropoff, trips.time), kernels)
        at = CENTRE + np.array([[-0.01, 0.0], [0.01, 0.0]])
        for values in (
            normal_map(occasion, at, kernels),
            local_effects(occasion, at, kernels),
            paper_map(occasion.trips, model, at, Kernels(0.005, kernels.y, kernels.u)),
            local_means(occasion, at)[:, 1],
        ):
            assert values[1] > values[0]
        counts = CellCounts.of(occasion.trips, model)
        good, bad = (counts.residuals(point)[1] for point in at)
        assert bad > good
        spots = find_spots(occasion, model, kernels, candidates=100)
        criteria = [spot.criterion for spot in spots]
        assert criteria == sorted(criteria)
        assert spots[-1].at[0] > CENTRE[0]
        assert min(len(spot.dropoffs) for spot in spots) >= 40

    def test_a_local_effect_is_a_weighted_mean_over_pairs(self):
        trips, model = simulate(80, 0), Model(0.01)
        kernels = choose_kernels(model, trips)
        occasion = examine_trips("few", model, trips, kernels)
        u, near = occasion.u, np.exp(-0.5 * ((trips.pickup - CENTRE) ** 2).sum(axis=1) / LOCAL**2)
        h = np.zeros((80, 80))
        for i in range(80):
            d = u[i] - u
            r = (d**2).sum(axis=1)
            k = np.exp(-r / (2 * kernels.u**2))
            cross = ((-u + u[i]) * d).sum(axis=1)
            h[i] = k * (u @ u[i] - cross / kernels.u**2 + 2 / kernels.u**2 - r / kernels.u**4)
        weight = np.outer(near, near)
        np.fill_diagonal(weight, 0.0)
        value = local_effects(occasion, CENTRE[None, :], kernels)
        assert value[0] == pytest.approx((weight * h).sum() / weight.sum())

    def test_residuals_of_a_true_model_are_of_size_one(self):
        counts = CellCounts.of(simulate(5000, 3), Model())
        misfit = [counts.residuals(CENTRE + np.array([0.0, d]))[1] for d in (-0.015, 0.0, 0.015)]
        assert 0.6 < np.mean(misfit) < 1.5

    def test_the_grid_covers_the_pickups(self):
        trips = simulate(5000, 0)
        grid = pickup_grid(trips, columns=30)
        assert grid.inside.shape == (len(grid.latitudes), 30)
        assert len(grid.points) == grid.inside.sum() > 20
        assert (np.abs(grid.points - CENTRE) < WIDE + 0.006).all()
        assert find_spots(examine_trips("few", Model(), trips.draw(50, 0), Kernels(1, 1, 1)), Model(),
                          Kernels(1, 1, 1)) == []  # fmt: skip


def test_the_whole_experiment(tmp_path):
    """From files to figures: unusual days go further north, and the report says so."""
    shared = simulate(100, 9)
    files = TaxiFiles(
        (tmp_path / "train.parquet",), *(tmp_path / f"{n}.parquet" for n in ("test", "more", "unusual"))
    )
    pq.write_table(table(join([simulate(2000, 0), shared])), files.train[0])
    pq.write_table(table(join([simulate(2400, 1), shared])), files.test)
    pq.write_table(table(simulate(1000, 2)), files.more)
    pq.write_table(table(simulate(1000, 3, north=0.012)), files.unusual)
    said = []
    plan = TaxiPlan(components=3, epochs=15, batch_size=200, test_rows=1000, columns=8, candidates=20)
    run_taxi(files, tmp_path / "out", said.append, plan)
    numbers = json.loads((tmp_path / "out" / "taxi.json").read_text())
    assert 1900 < numbers["trips"]["train"] <= 2000  # the shared trips are out
    found = numbers["Against the model of all hours"]
    ordinary, unusual = found["January 2015"], found["January 2015 (unusual)"]
    assert unusual["effect"]["low"] > ordinary["effect"]["high"]
    assert ordinary["n"] == unusual["n"]
    assert "The same hours, model of these hours" in numbers
    for name in (
        "maps",
        "pair",
        "gallery",
        "gallery_residuals",
        "change_criterion",
        "change_same_hours_effect",
    ):
        assert (tmp_path / "out" / f"{name}.png").stat().st_size > 10_000
    assert "drop-offs south of 40.75" in "".join(said)
    again = []
    run_taxi(TaxiFiles(files.train, files.test), tmp_path / "out", again.append, plan)
    assert again[0].startswith("Took the model of an earlier run")
    assert json.loads((tmp_path / "out" / "taxi.json").read_text())["criterion"] == numbers["criterion"]


def test_what_cannot_be_run(tmp_path):
    with pytest.raises(InputError, match=r"There is no file .*b.parquet"):
        run_taxi(TaxiFiles((tmp_path / "b.parquet",), tmp_path / "b.parquet"), tmp_path / "out")
    pq.write_table(table(simulate(50, 0)), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="Only 0 trips near Manhattan are left to train on"):
        run_taxi(TaxiFiles((tmp_path / "a.parquet",), tmp_path / "a.parquet"), tmp_path / "out")
