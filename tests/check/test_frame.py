"""The frame that queries are asked of, and slices and groups that users name."""

from datetime import date
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from condgof.check._axes import axes_of
from condgof.check._looked import Looked, frame_of
from condgof.check._scan import read_by, read_named
from condgof.errors import InputError, InputTypeError, MissingPackageError, NonFiniteError, ShapeError
from condgof.laws._known import Event
from condgof.sample import Column, Sample

RNG = np.random.default_rng(0)
N = 12
X = pd.DataFrame(
    {
        "age": np.arange(30, 30 + N),
        "height": np.linspace(1.5, 2.1, N),
        "married": np.arange(N) % 2,
        "member": np.arange(N) % 3 == 0,
        "town": ["Oslo", "Rome", "Bonn", "it's"] * 3,
        "grade": pd.Categorical(list("CABA") * 3, list("CBA"), ordered=True),
        "day": pd.date_range("2020-03-01", periods=N, freq="36h"),
        "same": 1.0,
    }
)


def looked_of(x=X, kind="continuous", y=None, predictions=(), missing="refuse", **fields):
    y = np.linspace(0.5, 3, len(x)) if y is None else y
    sample = Sample.of(x, y, missing=missing, to_test=False)
    rows = np.arange(sample.n) if sample.kept is None else sample.kept
    axes = axes_of(sample.x_columns, sample.x, predictions)
    fields = {"whole": sample.n, **fields}
    return Looked(kind, rows, sample.x_columns, sample.x, axes, sample.y, sample.y_columns, **fields)


class TestFrame:
    def test_x_is_as_the_user_has_it(self):
        frame = frame_of(looked_of())
        for name in ("age", "height", "married", "member", "grade"):
            assert (frame[name] == X[name]).all(), name
        assert (frame["day"] == X["day"]).all()
        assert frame["town"].tolist() == X["town"].tolist()
        assert [str(frame[name].dtype) for name in ("age", "height", "member", "day")] == [
            *("int64", "float64", "bool", "datetime64[us]"),
        ]
        assert frame["grade"].cat.ordered
        assert list(frame["grade"].cat.categories) == ["C", "B", "A"]

    def test_what_is_predicted_and_residuals(self):
        location, z = RNG.standard_normal((2, N, 1))
        said = [(Column("predicted"), location[:, 0]), (Column("predicted_sd"), np.ones(N))]
        looked = looked_of(predictions=said, location=location, scale=np.ones((N, 1)), z=z)
        frame = frame_of(looked)
        assert list(frame.columns) == [*X, "y", "predicted", "predicted_sd", "pit", "z"]
        assert (frame["predicted"] == location[:, 0]).all()
        assert (frame["z"] == z[:, 0]).all()
        assert frame["pit"].between(0, 1).all()

    def test_names_of_the_user_come_first(self):
        x = pd.DataFrame({"predicted": RNG.standard_normal(N), "z": RNG.standard_normal(N)})
        location, z = RNG.standard_normal((2, N, 1))
        said = [(Column("predicted"), location[:, 0])]
        y = pd.Series(RNG.standard_normal(N), name="z")
        frame = frame_of(looked_of(x, y=y, predictions=said, location=location, z=z))
        assert list(frame.columns) == ["predicted", "z", "z_2", "predicted_2", "pit", "z_3"]
        assert (frame["predicted"] == x["predicted"]).all()
        assert (frame["z_2"] == y).all()
        assert (frame["predicted_2"] == location[:, 0]).all()

    def test_several_columns_of_y(self):
        y = pd.DataFrame(RNG.standard_normal((N, 2)), columns=["a", "b"])
        z, location, scale = RNG.random((3, N, 2))
        frame = frame_of(looked_of(X[["age"]], "several", y, z=z, location=location, scale=scale))
        predicted = ["predicted_a", "predicted_b", "predicted_sd_a", "predicted_sd_b"]
        assert list(frame) == ["age", "a", "b", *predicted, "pit_a", "pit_b", "z_a", "z_b"]

    def test_classes(self):
        p = RNG.dirichlet([1, 1, 1], N)
        codes = np.arange(N) % 3
        names = ("red", "green", "blue")
        said = [
            (Column("predicted", names), p.argmax(axis=1) * 1.0),
            (Column("confidence"), p.max(axis=1)),
        ]
        looked = looked_of(
            X[["age"]], "classes", codes, said, probabilities=p, codes=codes, class_names=names
        )
        frame = frame_of(looked)
        assert list(frame) == ["age", "y", "predicted", "confidence"]
        assert frame["y"].tolist() == [names[code] for code in codes]
        assert frame["predicted"].tolist() == [names[code] for code in p.argmax(axis=1)]
        again = frame_of(
            looked_of(X[["age"]], "classes", codes, probabilities=p, codes=codes, class_names=names)
        )
        pd.testing.assert_frame_equal(again, frame)

    def test_counts_are_whole_and_have_no_pit(self):
        z = RNG.standard_normal((N, 1))
        frame = frame_of(looked_of(X[["age"]], "counts", np.arange(N) % 4, z=z))
        assert list(frame) == ["age", "y", "z"]
        assert frame["y"].dtype == np.int64

    def test_quantiles_and_intervals(self):
        codes = np.arange(N) % 3
        events = (Event("quantile", 0.05, 0.95, (1, 3)), Event("quantile", 0.9, 0.1, (2, 3)))
        frame = frame_of(looked_of(X[["age"]], "quantiles", codes=codes, events=events))
        assert list(frame) == ["age", "y", "below_q0.05", "below_q0.9"]
        assert (frame.query("`below_q0.05`").index == np.flatnonzero(codes == 0)).all()
        events = (Event("coverage", 0.9, 0.9, (1, 2)),)
        frame = frame_of(looked_of(X[["age"]], "intervals", codes=codes, events=events))
        assert frame["covered_90"].tolist() == (codes == 1).tolist()

    def test_the_index_is_the_number_of_the_row(self):
        x = X[["age", "town"]].astype({"age": float})
        x.loc[[0, 5], "age"] = np.nan
        frame = frame_of(looked_of(x, missing="drop"))
        assert frame.index.tolist() == [1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
        assert (frame["age"] == X["age"][frame.index]).all()

    def test_without_pandas(self, monkeypatch):
        looked = looked_of()
        monkeypatch.setitem(__import__("sys").modules, "pandas", None)
        with pytest.raises(MissingPackageError, match=r"pip install 'condgof\[frames\]'"):
            frame_of(looked)
        assert read_named({"age": (31, 33)}, looked)[2].sum() == 3


@pytest.mark.parametrize("frame", [X, pl.from_pandas(X.drop(columns="grade"))], ids=["pandas", "polars"])
def test_booleans_are_known(frame):
    columns = {column.name: column for column in Sample.of(frame, np.arange(N)).x_columns}
    assert [name for name, column in columns.items() if column.boolean] == ["member"]


@pytest.mark.parametrize("values", [[True, False, None, True], [True, False, pd.NA, True]])
def test_booleans_that_miss_values_are_known(values):
    x = pd.DataFrame({"b": pd.Series(values, dtype=object), "v": range(4)})
    sample = Sample.of(x, [1.0, 2.0, 3.0, 4.0], missing="drop")
    assert [column.boolean for column in sample.x_columns] == [True, False]
    assert Sample.of(np.array([[True], [False], [True]]), [1, 2, 3]).x_columns[0].boolean


NAMED = [
    ({"age": (31, 33)}, "31 ≤ age ≤ 33", "age >= 31 and age <= 33", X.age.between(31, 33)),
    ({"age": (None, 33)}, "age ≤ 33", "age <= 33", X.age <= 33),
    ({"age": (39, None)}, "age ≥ 39", "age >= 39", X.age >= 39),
    ({"age": 31}, "age = 31", "age == 31", X.age == 31),
    ({"age": [31, 35.0]}, "age = 31 or 35", "(age == 31 or age == 35)", X.age.isin([31, 35])),
    ({"married": 1}, "married = 1", "married == 1", X.married == 1),
    ({"married": np.int64(0)}, "married = 0", "married == 0", X.married == 0),
    ({"member": True}, "member = True", "member == True", X.member),
    ({"town": "it's"}, "town = it's", 'town == "it\'s"', X.town == "it's"),
    (
        {"town": ["Oslo", "Rome"], "age": (33, None)},
        "(town = Oslo or Rome) and age ≥ 33",
        '(town == "Oslo" or town == "Rome") and age >= 33',
        X.town.isin(["Oslo", "Rome"]) & (X.age >= 33),
    ),
    ({"grade": ("B", None)}, "grade from B to A", 'grade in ["B", "A"]', X.grade >= "B"),
    ({"grade": ("C", "B")}, "grade from C to B", 'grade in ["C", "B"]', X.grade <= "B"),
    (
        {"day": ("2020-03-02", date(2020, 3, 4))},
        "2020-03-02 ≤ day ≤ 2020-03-04",
        'day >= "2020-03-02" and day <= "2020-03-04"',
        X.day.between("2020-03-02", "2020-03-04"),
    ),
    (
        {"day": pd.Timestamp("2020-03-02 12:00", tz="UTC")},
        "day = 2020-03-02 12:00",
        'day >= "2020-03-02 12:00" and day <= "2020-03-02 12:00"',
        X.day == "2020-03-02 12:00",
    ),
    (
        "age > 35 and town == 'Oslo'",
        "age > 35 and town == 'Oslo'",
        None,
        (X.age > 35) & (X.town == "Oslo"),
    ),
    (SimpleNamespace(query="age > 35", words="old"), "old", "age > 35", X.age > 35),
    ((X.age > 35).to_numpy(), "the 6 rows of a mask", "", X.age > 35),
    (X.age > 35, "the 6 rows of a mask", "", X.age > 35),
    (list(X.age > 35), "the 6 rows of a mask", "", X.age > 35),
    ((X.age > 35).astype("boolean"), "the 6 rows of a mask", "", X.age > 35),
    (pl.Series(X.age > 35), "the 6 rows of a mask", "", X.age > 35),
]


class TestNamed:
    @pytest.mark.parametrize(("spec", "words", "query", "rows"), NAMED)
    def test_rows_words_and_query_agree(self, spec, words, query, rows):
        looked = looked_of()
        said, asked, mask = read_named(spec, looked)
        assert said == words
        assert asked == (spec if query is None else query)
        np.testing.assert_array_equal(mask, rows)
        if asked:
            np.testing.assert_array_equal(frame_of(looked).query(asked).index, np.flatnonzero(rows))

    def test_predictions_and_one_hot_columns(self):
        x = pd.get_dummies(X[["town"]])
        looked = looked_of(x, predictions=[(Column("predicted"), np.arange(N) / 2)])
        assert read_named({"town": "Rome"}, looked)[1] == "town_Rome == True"
        assert read_named({"town_Rome": True}, looked)[1] == "town_Rome == True"
        words, query, mask = read_named({"predicted": (1, 2.5)}, looked)
        assert (words, mask.sum()) == ("1 ≤ predicted ≤ 2.5", 4)
        assert len(frame_of(looked).query(query)) == 4

    def test_masks_and_labels_are_of_the_users_rows(self):
        x = X[["age", "town"]].astype({"age": float})
        x.loc[[0, 5], "age"] = np.nan
        looked = looked_of(x, missing="drop")
        mask = np.arange(N) < 6
        assert read_named(mask, looked, N)[2].tolist() == mask[looked.rows].tolist()
        labels = np.where(mask, "b", "a")
        _, codes, told = read_by(labels, looked, N)
        names = labels_of(told)
        assert [names[code] for code in codes] == labels[looked.rows].tolist()
        with pytest.raises(ShapeError, match=r"mask of shape \(10,\), and the data have 12 rows"):
            read_named(mask[:10], looked, N)

    @pytest.mark.parametrize(
        ("spec", "error", "message"),
        [
            (
                "agee > 3",
                InputError,
                "no query that pandas.*agee.*asked of x and what is predicted: age",
            ),
            ("age >", InputError, "no query"),
            ("age + 1", InputError, "no query"),
            ("", InputTypeError, "'', which is no slice. A slice is a query"),
            ({}, InputTypeError, "no slice. A slice is"),
            (None, InputTypeError, "None, which is no slice"),
            (3, InputTypeError, "no slice"),
            (np.arange(3), InputTypeError, "array of int64 values"),
            ([True, None] * 6, InputTypeError, "with missing values"),
            ([True, False], ShapeError, "12 rows"),
            ("age > 100", InputError, "No row is in the slice 'age > 100'"),
            ({"age": (40, 31)}, InputError, "No row is in the slice"),
            ({"grade": ("A", "C")}, InputError, "No row is in the slice"),
            ({"agee": 3}, InputError, "slices has 'agee', which is no column: those are age, height"),
            ({"same": 1}, InputError, "same in all rows"),
            ({"age": "old"}, InputTypeError, "'age' holds integers, got 'old'"),
            ({"age": None}, InputTypeError, "holds integers"),
            ({"age": np.nan}, InputTypeError, "holds integers"),
            ({"age": []}, InputError, "empty list"),
            ({"age": (1, 2, 3)}, InputError, "both ends"),
            ({"age": (None, None)}, InputError, "both ends"),
            ({"town": ("Oslo", "Rome")}, InputError, "list of levels"),
            ({"town": "Paris"}, InputError, "'Paris' is no level of 'town'. It has Bonn, Oslo"),
            ({"day": "someday"}, InputTypeError, "'day' holds dates"),
            ({"day": 3}, InputTypeError, "'day' holds dates"),
            ({"day": None}, InputTypeError, "'day' holds dates"),
        ],
    )
    def test_what_is_wrong_is_said(self, spec, error, message):
        with pytest.raises(error, match=message):
            read_named(spec, looked_of())


BY = [
    ("town", "town", ("Bonn", "Oslo", "Rome", "it's"), X.town),
    ("member", "member", ("False", "True"), X.member.astype(str)),
    ("married", "married", ("0", "1"), X.married.astype(str)),
    ("grade", "grade", ("C", "B", "A"), X.grade),
    ("age", "age", tuple(map(str, range(30, 42))), X.age.astype(str)),
    (X.town, "town", ("Bonn", "Oslo", "Rome", "it's"), X.town),
    (X.town.to_numpy(), "group", ("Bonn", "Oslo", "Rome", "it's"), X.town),
    (list(X.town), "group", ("Bonn", "Oslo", "Rome", "it's"), X.town),
    (X.grade, "grade", ("C", "B", "A"), X.grade),
    (X.married, "married", ("0", "1"), X.married.astype(str)),
    (np.array([9, 10.5] * 6), "group", ("9", "10.5"), ["9", "10.5"] * 6),
    (np.array([9, 10] * 6), "group", ("9", "10"), ["9", "10"] * 6),
    (["a", 1] * 6, "group", ("1", "a"), ["a", "1"] * 6),
    (pl.Series("place", list(X.town)), "place", ("Bonn", "Oslo", "Rome", "it's"), X.town),
    (np.array(["2020-03-02", "2020-03-01"] * 6, "M8[D]"), "group", ("2020-03-01", "2020-03-02"), None),
]


def labels_of(told):
    return tuple(words.split(" = ", 1)[1] for words, _ in told)


class TestBy:
    @pytest.mark.parametrize(("by", "name", "labels", "rows"), BY)
    def test_every_row_has_its_label(self, by, name, labels, rows):
        looked = looked_of()
        named, codes, told = read_by(by, looked, N)
        found, frame = labels_of(told), frame_of(looked)
        for i, (_, query) in enumerate(told):
            assert not query or (frame.query(query).index == np.flatnonzero(codes == i)).all()
        assert (named, found) == (name, labels)
        expected = ["2020-03-02", "2020-03-01"] * 6 if rows is None else list(rows)
        assert [found[code] for code in codes] == expected

    def test_ranges_of_pandas_cut(self):
        cut = pd.cut(X.age, [0, 32, 100, 200])
        name, codes, told = read_by(cut, looked_of(), N)
        labels = labels_of(told)
        assert (name, labels) == ("age", ("(0, 32]", "(32, 100]"))
        assert codes.tolist() == [0] * 3 + [1] * 9

    def test_dates_have_a_group_each(self):
        _, codes, told = read_by("day", looked_of(), N)
        labels = labels_of(told)
        assert labels[:2] == ("2020-03-01", "2020-03-02 12:00")
        assert codes.tolist() == list(range(N))

    def test_many_values(self):
        looked = looked_of(pd.DataFrame({"v": np.arange(60) % 55}))
        with pytest.raises(InputError, match=r"integers with 55 values.*pandas.cut.*by=x\['v'\]"):
            read_by("v", looked)
        assert len(read_by(np.arange(60) % 55, looked)[2]) == 55

    @pytest.mark.parametrize(
        ("by", "error", "message"),
        [
            (
                "city",
                InputError,
                "by has 'city', which is no column: those are age.*one label for each row",
            ),
            ("same", InputError, "same in all rows"),
            (np.zeros(N), InputError, "by is the same in all 12 rows"),
            (np.arange(N), InputError, "different in each of the 12 rows"),
            (np.zeros(5), ShapeError, r"by must have shape \(12,\)"),
            ([None, "a", "b"] * 4, NonFiniteError, "by has missing values in 4 of 12 rows"),
        ],
    )
    def test_what_is_wrong_is_said(self, by, error, message):
        with pytest.raises(error, match=message):
            read_by(by, looked_of(), N)


def test_columns_of_x_without_names():
    sample = Sample.of(RNG.standard_normal((N, 2)), np.arange(N))
    assert [axis.name for axis in axes_of(sample.x_columns, sample.x)] == ["x1", "x2"]
    assert axes_of((Column("x", constant=True),), np.ones((3, 1))) == ()
