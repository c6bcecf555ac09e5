"""The frame that queries are asked of, and slices and groups that users name."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from condgof.check._axes import axes_of
from condgof.check._looked import Looked, frame_of
from condgof.check._scan import read_by, read_named
from condgof.errors import (
    InputError,
    InputTypeError,
    MissingPackageError,
    NonFiniteError,
    ShapeError,
)
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
    return Looked(
        kind, rows, sample.x_columns, sample.x, axes, sample.y, sample.y_columns, **fields
    )


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
        frame = frame_of(
            looked_of(X[["age"]], "several", y, z=z, location=location, scale=scale)
        )
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
            X[["age"]],
            "classes",
            codes,
            said,
            probabilities=p,
            codes=codes,
            class_names=names,
        )
        frame = frame_of(looked)
        assert list(frame) == ["age", "y", "predicted", "confidence"]
        assert frame["y"].tolist() == [names[code] for code in codes]
        assert frame["predicted"].tolist() == [names[code] for code in p.argmax(axis=1)]
        again = frame_of(
            looked_of(
                X[["age"]],
                "classes",
                codes,
                probabilities=p,
                codes=codes,
                class_names=names,
            )
        )
        pd.testing.assert_frame_equal(again, frame)

    def test_counts_are_whole_and_have_no_pit(self):
        z = RNG.standard_normal((N, 1))
        frame = frame_of(looked_of(X[["age"]], "counts", np.arange(N) % 4, z=z))
        assert list(frame) == ["age", "y", "z"]
        assert frame["y"].dtype == np.int64

    def test_quantiles_and_intervals(self):
        codes = np.arange(N) % 3
        events = (Event("quantile", 0.05, 1), Event("quantile", 0.9, 2))
        frame = frame_of(looked_of(X[["age"]], "quantiles", codes=codes, events=events))
        assert list(frame) == ["age", "y", "below_q0.05", "below_q0.9"]
        assert (frame.query("`below_q0.05`").index == np.flatnonzero(codes == 0)).all()
        events = (Event("coverage", 0.9, 2),)
        frame = frame_of(looked_of(X[["age"]], "intervals", codes=codes, events=events))
        assert frame["covered_90"].tolist() == (codes < 2).tolist()

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
        assert len(read_named(np.arange(N) < 3, looked, N)[1]) == 3


@pytest.mark.parametrize(
    "frame", [X, pl.from_pandas(X.drop(columns="grade"))], ids=["pandas", "polars"]
)
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
        said, found = read_named(spec, looked, N)
        assert said.words == words
        assert said.query == (spec if query is None else query)
        np.testing.assert_array_equal(found, np.flatnonzero(rows))
        if said.query:
            np.testing.assert_array_equal(frame_of(looked).query(said.query).index, found)

    def test_predictions_can_be_asked_for(self):
        location = np.arange(N)[:, None] / 2
        looked = looked_of(
            predictions=[(Column("predicted"), location[:, 0])], location=location
        )
        assert read_named("1 <= predicted <= 2.5", looked, N)[1].tolist() == [2, 3, 4, 5]

    def test_masks_and_labels_are_of_the_users_rows(self):
        x = X[["age", "town"]].astype({"age": float})
        x.loc[[0, 5], "age"] = np.nan
        looked = looked_of(x, missing="drop")
        mask = np.arange(N) < 6
        assert (
            read_named(mask, looked, N)[1].tolist()
            == np.flatnonzero(mask[looked.rows]).tolist()
        )
        labels = np.where(mask, "b", "a")
        for condition, rows in read_by(labels, looked, N):
            assert (labels[looked.rows][rows] == condition.words[-1]).all()
        with pytest.raises(
            InputTypeError, match=r"bool values of shape \(10,\).*each of the 12 rows"
        ):
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
            ({"age": 31}, InputTypeError, "no slice. A slice is"),
            (None, InputTypeError, "None, which is no slice"),
            (3, InputTypeError, "no slice"),
            (np.arange(3), InputTypeError, r"int64 values of shape \(3,\)"),
            ([True, None] * 6, InputTypeError, "object values.*none missing"),
            ([True, False], InputTypeError, "12 rows"),
            ("age > 100", InputError, "No row is in the slice 'age > 100'"),
        ],
    )
    def test_what_is_wrong_is_said(self, spec, error, message):
        with pytest.raises(error, match=message):
            read_named(spec, looked_of(), N)


BY = [
    ("town", "town", X.town),
    ("member", "member", X.member.astype(str)),
    ("married", "married", X.married.astype(str)),
    ("grade", "grade", X.grade),
    ("age", "age", X.age.astype(str)),
    (X.town, "town", X.town),
    (X.town.to_numpy(), "group", X.town),
    (list(X.town), "group", X.town),
    (X.grade, "grade", X.grade),
    (X.married, "married", X.married.astype(str)),
    (np.array([9, 10.5] * 6), "group", ["9", "10.5"] * 6),
    (np.array([9, 10] * 6), "group", ["9", "10"] * 6),
    (["a", 1] * 6, "group", ["a", "1"] * 6),
    (pl.Series("place", list(X.town)), "place", X.town),
    (
        np.array(["2020-03-02", "2020-03-01"] * 6, "M8[D]"),
        "group",
        ["2020-03-02", "2020-03-01"] * 6,
    ),
]


def groups_of(by, looked):
    """The name, and each row's label."""
    labels, told = np.full(looked.n, "", dtype=object), read_by(by, looked, N)
    for condition, rows in told:
        name, labels[rows] = condition.words.split(" = ", 1)
        if condition.query:
            np.testing.assert_array_equal(
                frame_of(looked).query(condition.query).index, rows
            )
    assert len(told) == len(set(labels))
    return name, labels.tolist()


class TestBy:
    @pytest.mark.parametrize(("by", "name", "labels"), BY)
    def test_every_row_has_its_label(self, by, name, labels):
        assert groups_of(by, looked_of()) == (name, list(labels))

    def test_predictions_and_one_hot_columns(self):
        said = (Column("predicted"), np.arange(N) // 4 * 0.5)
        looked = looked_of(
            pd.get_dummies(X[["town"]]), predictions=[said], location=said[1][:, None]
        )
        assert groups_of("town", looked) == ("town", list(X.town))
        assert groups_of("predicted", looked)[1] == ["0"] * 4 + ["0.5"] * 4 + ["1"] * 4

    def test_ranges_of_pandas_cut(self):
        cut = pd.cut(X.age, [0, 32, 100, 200])
        assert groups_of(cut, looked_of()) == ("age", ["(0, 32]"] * 3 + ["(32, 100]"] * 9)

    def test_dates_have_a_group_each(self):
        assert groups_of("day", looked_of())[1][:2] == ["2020-03-01", "2020-03-02 12:00"]

    def test_many_values(self):
        looked = looked_of(pd.DataFrame({"v": np.arange(60) % 55}))
        with pytest.raises(
            InputError, match=r"integers with 55 values.*pandas.cut.*by=x\['v'\]"
        ):
            read_by("v", looked, 60)
        assert len(read_by(np.arange(60) % 55, looked, 60)) == 55

    @pytest.mark.parametrize(
        ("by", "error", "message"),
        [
            (
                "city",
                InputError,
                (
                    "by has 'city', which is no column that varies: those are age.*one"
                    " label for each row"
                ),
            ),
            ("same", InputError, "no column that varies"),
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
