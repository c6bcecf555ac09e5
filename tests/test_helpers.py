"""Small functions that many packages share, on some numbers, dates and names."""

import numpy as np
import pytest

from condgof.cli import class_name_candidates, write_whole
from condgof.engine import stages
from condgof.errors import ModelError, require, users_code
from condgof.kernels import median_distance
from condgof.result import estimate_text, number, pvalue_number, rounded, short
from condgof.sample import (
    Column,
    Frame,
    Sample,
    Seed,
    Use,
    XUnits,
    as_days,
    read_groups,
    read_y,
    refill,
)


def test_numbers_are_written_as_people_do():
    shown = [pvalue_number(p) for p in (0.000999, 0.0312, 0.4567, 3e-7)]
    assert shown == ["0.001", "0.031", "0.46", "< 0.0001"]
    assert pvalue_number(1 / 301, floor=1 / 301) == "≤ 0.004"
    assert pvalue_number(1e-5, floor=1e-5) == "≤ 1e−5"
    numbers = [number(v) for v in (0.012345, 2149.7, -0.5, 3.2e-9, 12.0)]
    assert numbers == ["0.0123", "2,150", "−0.5", "3.2e−9", "12"]
    near = [rounded(v) for v in (0.294, -1.5, 0.0042, 1234.6, 3e12, 0.9964, 1e-7)]
    assert near == ["0.29", "-1.50", "0.0042", "1,235", "3e+12", "0.996", "0.00"]
    two_figures = [short(v) for v in (0.1234, 0.01234, 12.345, 0.0)]
    assert two_figures == ["0.12", "0.012", "12.35", "0.00"]


def test_an_estimate_and_its_interval_have_the_same_digits():
    assert estimate_text(0.21, 0.1712, 0.25) == ("0.21", "0.17 to 0.25")
    assert estimate_text(0.0147, 0.0058, 0.0236) == ("0.015", "0.006 to 0.024")
    near_one = estimate_text(1.0036, 1.001, 1.006, about=1.0)
    assert near_one == ("1.0036", "1.0010 to 1.0060")


def test_values_of_a_column_are_written_as_people_do():
    day = Column("day", dates=True)
    assert (day.text(18322.0), day.text(18322.6042)) == ("2020-03-01", "2020-03-01 14:30")
    assert Column("town", ("Oslo", "Rome")).text(1.0) == "Rome"


def test_units_of_ranks_go_there_and_back():
    x = np.array([[1.0], [2.0], [1e9]])
    units = XUnits.from_rows(x, [Column("x")], "ranks")
    np.testing.assert_array_equal(np.round(units.apply(x)[:, 0], 3), [-0.967, 0.0, 0.967])
    np.testing.assert_array_equal(units.apply(units.apply(x), back=True), x)


def test_a_stream_belongs_to_its_use():
    seed = Seed.of(7)
    assert seed.stream(Use.SPLIT).integers(100) == seed.stream(Use.SPLIT).integers(100)


def test_rows_with_missing_values_are_dropped():
    sample = Sample.from_data([0.0, 1.0, 2.0, None], [1, 2, 4, 8], missing="drop")
    assert (sample.n, sample.d_x, sample.d_y) == (3, 1, 1)
    assert sample.notes() == ("1 of 4 rows was left out because a value is missing",)


def test_columns_of_a_frame():
    town = np.array(["a", "b", "a"], dtype=object)
    frame = Frame({"size": np.array([1.0, 2.0, 3.0]), "town": town})
    size, town = Sample.from_data(frame, [1, 2, 4]).x_columns
    assert (size.name, size.levels) == ("size", None)
    assert (town.name, town.levels) == ("town", ("a", "b"))


def test_groups_dates_and_labels():
    np.testing.assert_array_equal(read_groups(["b", "a", "b"], None, 3), [0, 1, 0])
    np.testing.assert_array_equal(
        read_groups(np.array([2.5, -1.0, 2.5, 0.0]), None, 4), [0, 1, 0, 2]
    )
    np.testing.assert_array_equal(
        as_days(np.array(["1970-01-02T12:00", "NaT"], "M8[s]")), [1.5, np.nan]
    )
    np.testing.assert_array_equal(read_y(["b", "a", "b"]).values[:, 0], [1.0, 0.0, 1.0])
    assert read_y(["b", "a", "b"]).labels
    assert not read_y([1, 2]).labels


def test_values_are_put_back_in_their_own_type():
    again = refill(np.array([1, 2]), np.array([[3.0], [4.0]]))
    assert (again.dtype.kind, again.tolist()) == ("i", [3, 4])


def test_the_median_distance_of_three_points():
    points = np.array([[0.0], [1.0], [3.0]])
    assert median_distance(points, np.random.default_rng(0)) == 2.0


def test_an_optional_package_that_is_there():
    assert require("json", "none", "Writing JSON").__name__ == "json"


def test_errors_of_users_code_are_model_errors():
    message = r"^std\(x\) failed: KeyError: 'sigma'. The line is in its own"
    with pytest.raises(ModelError, match=message), users_code("std(x)"):
        {}["sigma"]


def test_stages_begin_one_after_the_other():
    with stages("reading", "verdict") as begin:
        begin("reading")
        begin("verdict")


def test_spellings_of_columns():
    assert class_name_candidates(["p_cat", "p_car"]) == [("p_cat", "p_car"), ("cat", "car")]
    assert class_name_candidates(["p0", "p1"])[-1] == ("0", "1")


def test_a_file_is_written_whole(tmp_path):
    write_whole(tmp_path / "note.txt", "one")
    write_whole(tmp_path / "note.txt", "two")
    (entry,) = tmp_path.iterdir()
    assert (entry.name, entry.read_text()) == ("note.txt", "two")
