"""Small functions that many rooms share: what they say of some numbers, dates and names."""

import numpy as np
import pytest

from condgof.cli._output import write_whole
from condgof.cli._roles import spellings
from condgof.engine import stages
from condgof.errors import ModelError, require, users_code
from condgof.kernels import median_distance
from condgof.result import number, pvalue_number, rounded, short, sized
from condgof.sample import Column, Frame, Sample, Seed, Use, XUnits, read_groups, read_y
from condgof.sample._values import as_days, refill


def test_numbers_are_written_as_people_do():
    shown = [pvalue_number(p) for p in (0.000999, 0.0312, 0.4567, 3e-7)]
    assert shown == ["0.001", "0.031", "0.46", "< 0.0001"]
    assert [pvalue_number(1 / 301, 1 / 301), pvalue_number(1e-5, 1e-5)] == [
        "≤ 0.004",
        "≤ 1e−5",
    ]
    numbers = [number(v) for v in (0.012345, 2149.7, -0.5, 3.2e-9, 12.0)]
    assert numbers == ["0.0123", "2,150", "−0.5", "3.2e−9", "12"]
    near = [rounded(v) for v in (0.294, -1.5, 0.0042, 1234.6, 3e12, 0.9964, 1e-7)]
    assert near == ["0.29", "-1.50", "0.0042", "1,235", "3e+12", "0.996", "0.00"]
    assert [short(v) for v in (0.1234, 0.01234, 12.345, 0.0)] == [
        "0.12",
        "0.012",
        "12.35",
        "0.00",
    ]
    assert sized(0.21, 0.1712, 0.25) == ("0.21", "0.17 to 0.25")
    assert sized(0.0147, 0.0058, 0.0236) == ("0.015", "0.006 to 0.024")
    assert sized(1.0036, 1.001, 1.006, 1.0) == ("1.0036", "1.0010 to 1.0060")


def test_values_of_a_column_are_written_as_people_do():
    day = Column("day", dates=True)
    assert (day.text(18322.0), day.text(18322.6042)) == ("2020-03-01", "2020-03-01 14:30")
    assert Column("town", ("Oslo", "Rome")).text(1.0) == "Rome"


def test_units_of_ranks_go_there_and_back():
    x = np.array([[1.0], [2.0], [1e9]])
    units = XUnits.of(x, [Column("x")], "ranks")
    np.testing.assert_array_equal(np.round(units.apply(x)[:, 0], 3), [-0.967, 0.0, 0.967])
    np.testing.assert_array_equal(units.apply(units.apply(x), back=True), x)


def test_a_stream_belongs_to_its_use():
    seed = Seed.of(7)
    assert seed.stream(Use.SPLIT).integers(100) == seed.stream(Use.SPLIT).integers(100)


def test_reading():
    sample = Sample.of([0.0, 1.0, 2.0, None], [1, 2, 4, 8], missing="drop")
    assert (sample.n, sample.d_x, sample.d_y) == (3, 1, 1)
    assert sample.notes() == ("1 of 4 rows was left out because a value is missing",)
    town = np.array(["a", "b", "a"], dtype=object)
    columns = Sample.of(
        Frame({"size": np.array([1.0, 2.0, 3.0]), "town": town}), [1, 2, 4]
    ).x_columns
    assert [(column.name, column.levels) for column in columns] == [
        ("size", None),
        ("town", ("a", "b")),
    ]
    np.testing.assert_array_equal(read_groups(["b", "a", "b"], None, 3), [0, 1, 0])
    np.testing.assert_array_equal(
        read_groups(np.array([2.5, -1.0, 2.5, 0.0]), None, 4), [0, 1, 0, 2]
    )
    np.testing.assert_array_equal(
        as_days(np.array(["1970-01-02T12:00", "NaT"], "M8[s]")), [1.5, np.nan]
    )
    np.testing.assert_array_equal(read_y(["b", "a", "b"]).values[:, 0], [1.0, 0.0, 1.0])
    assert (read_y(["b", "a", "b"]).labels, read_y([1, 2]).labels) == (True, False)
    again = refill(np.array([1, 2]), np.array([[3.0], [4.0]]))
    assert (again.dtype.kind, again.tolist()) == ("i", [3, 4])


def test_the_rest(tmp_path):
    assert median_distance(np.array([[0.0], [1.0], [3.0]]), np.random.default_rng(0)) == 2.0
    assert require("json", "none", "Writing JSON").__name__ == "json"
    with (
        pytest.raises(
            ModelError, match=r"^std\(x\) failed: KeyError: 'sigma'. The line is in its own"
        ),
        users_code("std(x)"),
    ):
        {}["sigma"]
    with stages("reading", "verdict") as begin:
        begin("reading")
        begin("verdict")
    assert spellings(["p_cat", "p_car"]) == [("p_cat", "p_car"), ("cat", "car")]
    assert spellings(["p0", "p1"])[-1] == ("0", "1")
    write_whole(tmp_path / "note.txt", "one")
    write_whole(tmp_path / "note.txt", "two")
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [
        ("note.txt", "two")
    ]
