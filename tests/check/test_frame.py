"""The frame of a check: its library, index, names and types; slices and groups of users."""

import os
import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

# The engine of modin that starts no processes; it must be chosen before modin is imported.
os.environ.setdefault("MODIN_ENGINE", "python")

import modin.pandas as mpd

import condgof as cg
from condgof.check import (
    axes_of,
    compare_rows,
    frame_of,
    numbered_frame,
    read_by,
    read_named,
)
from condgof.errors import (
    InputError,
    InputTypeError,
    MissingPackageError,
    NonFiniteError,
    ShapeError,
)
from condgof.laws import as_model, law_of
from condgof.sample import Column, Sample
from condgof.stein import RowsInMemory, Units

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
#: What the default model predicts: no function of any one column of X.
MEAN = np.array([3, 1, 2, 0, 5, 4, 7, 6, 9, 8, 11, 10]) / 4


def checked_of(x=X, y=None, model=None, missing="refuse", standardize="auto"):
    """Compare rows with their law as `check` does, without any test."""
    y = np.linspace(0.5, 3, len(x)) if y is None else y
    sample = Sample.from_data(x, y, missing=missing, to_test=False)
    rows = np.arange(sample.n) if sample.kept is None else sample.kept
    law = law_of(
        as_model((MEAN[rows], np.ones(sample.n)) if model is None else model), sample
    )
    units = Units(scale_x="ranks", standardize=standardize)
    compared = RowsInMemory.from_law(law, sample, units)
    return compare_rows(law, compared, numbers=rows, whole=sample.n)


def as_lists(frame):
    """The columns of a frame of any library."""
    if isinstance(frame, pa.Table):
        return frame.to_pydict()
    return {name: list(frame[name]) for name in frame.columns}


class TestFrame:
    def test_x_is_as_the_user_has_it(self):
        frame = frame_of(checked_of())
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
        y = np.linspace(0.5, 3, N)
        frame = frame_of(checked_of(y=y))
        assert list(frame.columns) == [*X, "y", "predicted", "predicted_sd", "pit", "z"]
        assert (frame["predicted"] == MEAN).all()
        np.testing.assert_allclose(frame["z"], y - MEAN, atol=1e-12)
        assert frame["pit"].between(0, 1).all()

    def test_several_columns_of_y(self):
        y = pd.DataFrame(RNG.standard_normal((N, 2)), columns=["a", "b"])
        model = cg.models.Normal(mean=np.zeros((N, 2)), std=np.ones((N, 2)))
        frame = frame_of(checked_of(X[["age"]], y, model))
        predicted = ["predicted_a", "predicted_b", "predicted_sd_a", "predicted_sd_b"]
        assert list(frame) == ["age", "a", "b", *predicted, "pit_a", "pit_b", "z_a", "z_b"]

    def test_counts_are_whole_and_have_no_pit(self):
        model = cg.models.Poisson(mean=np.full(N, 1.5))
        frame = frame_of(checked_of(X[["age"]], np.arange(N) % 4, model))
        assert list(frame) == ["age", "y", "predicted", "predicted_sd", "residual", "z"]
        assert frame["y"].dtype == np.int64

    def test_quantiles_and_intervals(self):
        y = np.arange(N) % 3 + 0.5
        ends = np.tile([1.0, 2.0], (N, 1))
        frame = frame_of(checked_of(X[["age"]], y, cg.from_quantiles(ends, [0.05, 0.9])))
        assert list(frame)[:2] == ["age", "y"]
        assert list(frame)[-2:] == ["below_q0.05", "below_q0.9"]
        assert (frame.query("`below_q0.05`").index == np.flatnonzero(y < 1)).all()
        model = cg.from_intervals(ends[:, 0], ends[:, 1], 0.9)
        frame = frame_of(checked_of(X[["age"]], y, model))
        assert frame["covered_90"].tolist() == ((y > 1) & (y < 2)).tolist()

    def test_without_pandas(self, monkeypatch):
        checked = checked_of(np.arange(N))
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(MissingPackageError, match=r"pip install 'condgof\[frames\]'"):
            frame_of(checked)
        assert len(read_named(np.arange(N) < 3, checked, N)[1]) == 3


#: What the columns of condgof are called where a user has columns of these names.
COLLIDING = {"z": 1.0, "pit": 2.0, "predicted": 3.0, "predicted_sd": 4.0}


class TestNames:
    """Columns of condgof's own never hide or rename a user's."""

    def test_a_column_of_x_has_the_name(self):
        x = pd.DataFrame({name: RNG.standard_normal(N) for name in COLLIDING})
        y = np.linspace(0.5, 3, N)
        frame = frame_of(checked_of(x, y))
        ours = [f"condgof_{name}" for name in ("predicted", "predicted_sd", "pit", "z")]
        assert list(frame) == [*COLLIDING, "y", *ours]
        pd.testing.assert_frame_equal(frame[list(x)], x)
        np.testing.assert_allclose(frame["condgof_z"], y - MEAN, atol=1e-12)
        assert (frame["condgof_predicted"] == MEAN).all()

    @pytest.mark.parametrize("name", COLLIDING)
    def test_y_has_the_name(self, name):
        y = pd.Series(RNG.standard_normal(N), name=name)
        checked = checked_of(X[["age"]], y)
        frame = frame_of(checked)
        assert list(frame.columns[:2]) == ["age", name]
        assert (frame[name] == y).all()
        assert [c for c in frame if c.startswith("condgof_")] == [f"condgof_{name}"]
        assert len(frame.columns) == 6
        predicted = [axis.name for axis in checked.axes if axis.predicted]
        assert predicted == ["condgof_predicted" if name == "predicted" else "predicted"]

    def test_only_the_name_that_is_taken_changes(self):
        x = X[["age"]].assign(z=MEAN[::-1])
        names = list(frame_of(checked_of(x)))
        assert names == ["age", "z", "y", "predicted", "predicted_sd", "pit", "condgof_z"]

    def test_the_prefixed_name_may_be_taken_too(self):
        x = pd.DataFrame({"z": MEAN, "condgof_z": MEAN[::-1]})
        frame = frame_of(checked_of(x))
        assert list(frame)[-1] == "condgof_z_2"
        pd.testing.assert_frame_equal(frame[list(x)], x)

    def test_x_and_y_of_one_name(self):
        x = pd.DataFrame({"z": RNG.standard_normal(N)})
        y = pd.Series(RNG.standard_normal(N), name="z")
        frame = frame_of(checked_of(x, y))
        assert list(frame) == ["z", "z_2", "predicted", "predicted_sd", "pit", "condgof_z"]
        assert (frame["z"] == x["z"]).all()
        assert (frame["z_2"] == y).all()

    def test_columns_of_0_and_1_that_are_one_category(self):
        towns = pd.get_dummies(X.town, prefix="predicted")
        checked = checked_of(towns)
        frame = frame_of(checked)
        assert "predicted" not in frame
        assert (frame["condgof_predicted"] == MEAN).all()
        assert [axis.name for axis in checked.axes] == ["predicted", "condgof_predicted"]

    def test_classes(self):
        x = pd.DataFrame({"confidence": RNG.random(N), "probability_1": RNG.random(N)})
        frame = frame_of(checked_of(x, np.arange(N) % 2, cg.probabilities(RNG.random(N))))
        ours = ["condgof_probability_1", "predicted", "condgof_confidence"]
        assert list(frame) == ["confidence", "probability_1", "y", *ours]
        pd.testing.assert_frame_equal(frame[list(x)], x)

    def test_queries_use_the_same_names(self):
        x = pd.DataFrame({"predicted": RNG.standard_normal(N), "z": RNG.standard_normal(N)})
        checked = checked_of(x)
        wanted = np.flatnonzero(MEAN >= 1)
        assert (
            read_named("condgof_predicted >= 1", checked, N)[1].tolist() == wanted.tolist()
        )
        wanted = np.flatnonzero(x["predicted"] >= 0)
        assert read_named("predicted >= 0", checked, N)[1].tolist() == wanted.tolist()
        for axis in checked.axes:
            cut = axis.cut(4)
            found = frame_of(checked).query(axis.condition(cut, 1, 2).query).index
            inside = (cut.codes >= 1) & (cut.codes <= 2)
            assert found.tolist() == np.flatnonzero(inside).tolist()


def diamonds(rng):
    """Rows with columns of the names z and predicted, and a model that is wrong in some."""
    x = pd.DataFrame(rng.uniform(0, 4, (600, 3)), columns=["carat", "z", "predicted"])
    y = x["carat"] + np.where(x["z"] > 2.5, 3.0, 1.0) * rng.standard_normal(600)
    return x, y.rename("price"), (x["carat"].to_numpy(), np.ones(600))


def test_numbers_of_a_slice_where_x_has_a_column_z():
    x, y, model = diamonds(np.random.default_rng(0))
    report = cg.check(model, x, y, rng=0, n_boot=199)
    first = report.slices[0]
    assert {condition.column for condition in first.conditions} == {"z"}
    rows = report.frame().query(first.query)
    assert rows.index.tolist() == first.rows.tolist()
    robust, plain = first.findings[:2]
    z = rows["condgof_z"]
    low, high = z.quantile([0.25, 0.75])
    assert (robust.quantity, plain.quantity) == ("middle half", "sd")
    assert robust.estimate == pytest.approx((high - low) / (2 * 0.6744897501960817))
    assert plain.estimate == pytest.approx(z.std())
    assert (rows["z"] == x["z"].iloc[first.rows]).all()


INDICES = {
    "text": pd.Index([f"patient {i}" for i in range(N)], name="who"),
    "numbers": pd.Index(range(100, 100 + 2 * N, 2)[::-1]),
    "dates": pd.date_range("2020", periods=N, tz="Europe/Oslo", name="when"),
    "several levels": pd.MultiIndex.from_product([range(6), list("ab")], names=["w", "b"]),
    "duplicates": pd.Index([0, 1, 1, 2] * 3),
    "named like a column": pd.Index(range(N), name="age")[::-1],
}


@pytest.fixture(params=INDICES.values(), ids=INDICES)
def index(request):
    return request.param


class TestIndex:
    def test_it_is_the_users(self, index):
        x = X.set_axis(index)
        frame = frame_of(checked_of(x))
        assert frame.index.equals(index)
        assert frame.index.names == index.names
        assert frame["town"].tolist() == X["town"].tolist()
        assert (frame["age"] == x["age"]).all()  # which pandas aligns by the index

    def test_rows_that_are_left_out_are_absent(self, index):
        x = X[["age", "town"]].astype({"age": float}).set_axis(index)
        x.iloc[[0, 5], 0] = np.nan
        checked = checked_of(x, missing="drop")
        frame = frame_of(checked)
        kept = [1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
        assert frame.index.equals(index[kept])
        assert frame["age"].tolist() == X["age"].iloc[kept].tolist()
        assert numbered_frame(checked).index.tolist() == kept

    def test_queries_find_the_same_rows(self, index):
        checked = checked_of(X.set_axis(index))
        asked = "age > 33 and town == 'Oslo' or predicted < 0.5"
        named = read_named(asked, checked, N)
        wanted = (X.age > 33) & (X.town == "Oslo") | (MEAN < 0.5)
        assert named.rows.tolist() == np.flatnonzero(wanted).tolist()
        assert frame_of(checked).query(named.query).index.equals(index[named.rows])

    def test_of_y_where_x_is_an_array(self, index):
        y = pd.Series(np.linspace(0.5, 3, N), index=index)
        assert frame_of(checked_of(MEAN[::-1].copy(), y)).index.equals(index)

    @pytest.mark.parametrize("x", [MEAN[::-1].copy(), MEAN[::-1].tolist()])
    def test_of_arrays_it_is_the_number_of_the_row(self, x):
        y = np.linspace(0.5, 3, N)
        y[3] = np.nan
        frame = frame_of(checked_of(x, y, missing="drop"))
        assert isinstance(frame, pd.DataFrame)
        assert frame.index.tolist() == [0, 1, 2, *range(4, N)]


PLAIN = X.drop(columns="grade")
LIBRARIES = {
    "pandas": lambda: PLAIN.copy(),
    "polars": lambda: pl.from_pandas(PLAIN),
    "pyarrow": lambda: pa.Table.from_pandas(PLAIN, preserve_index=False),
    "modin": lambda: mpd.DataFrame(PLAIN),
}


class TestLibraries:
    @pytest.mark.parametrize("library", LIBRARIES)
    def test_the_users_own_type(self, library):
        x = LIBRARIES[library]()
        frame = frame_of(checked_of(x))
        assert type(frame) is type(x)
        columns = as_lists(frame)
        assert list(columns) == [*PLAIN, "y", "predicted", "predicted_sd", "pit", "z"]
        for name in PLAIN:
            assert columns[name] == PLAIN[name].tolist(), name
        assert columns["predicted"] == MEAN.tolist()

    @pytest.mark.parametrize("library", LIBRARIES)
    def test_rows_that_are_left_out_are_absent(self, library):
        x = LIBRARIES[library]()
        y = np.linspace(0.5, 3, N)
        y[[0, 5]] = np.nan
        frame = frame_of(checked_of(x, y, missing="drop"))
        assert as_lists(frame)["age"] == [31, 32, 33, 34, *range(36, 42)]

    @pytest.mark.parametrize("library", LIBRARIES)
    def test_named_slices_and_groups(self, library):
        checked = checked_of(LIBRARIES[library]())
        named = read_named("age > 35 and predicted > 2", checked, N)
        wanted = np.flatnonzero((X.age > 35) & (MEAN > 2))
        assert named.rows.tolist() == wanted.tolist()
        frame = frame_of(checked)
        if library in ("polars", "pyarrow"):
            frame = frame.to_pandas()
        assert list(frame.query(named.query)["age"]) == X.age[wanted].tolist()
        assert groups_of("town", checked) == ("town", list(X.town))

    def test_an_index_of_modin(self):
        index = INDICES["text"]
        frame = frame_of(checked_of(mpd.DataFrame(PLAIN.set_axis(index))))
        assert frame.index.equals(index)

    @pytest.mark.parametrize("library", ["polars", "pyarrow"])
    def test_slices_of_a_check(self, library):
        table, y, model = diamonds(np.random.default_rng(0))
        x = pl.from_pandas(table) if library == "polars" else pa.Table.from_pandas(table)
        report = cg.check(model, x, y, rng=0, n_boot=199)
        first = report.slices[0]
        rows = report.frame().to_pandas().query(first.query)
        assert rows.index.tolist() == first.rows.tolist()
        assert report.frame()["z"].to_pandas().iloc[first.rows].equals(rows["z"])

    def test_reports_that_were_stored(self):
        for make in LIBRARIES.values():
            frame = frame_of(pickle.loads(pickle.dumps(checked_of(make()))))
            assert type(frame) is type(make())


def probabilities_of(count):
    return np.random.default_rng(1).dirichlet(np.ones(count), N)


class TestClasses:
    def test_names(self):
        p = probabilities_of(3)
        names = np.array(["red", "green", "blue"])
        codes = np.arange(N) % 3
        frame = frame_of(checked_of(X[["age"]], names[codes], cg.probabilities(p, names)))
        assert list(frame) == ["age", "y", "predicted", "confidence"]
        assert frame["y"].tolist() == names[codes].tolist()
        assert frame["predicted"].tolist() == names[p.argmax(axis=1)].tolist()
        assert (frame["confidence"] == p.max(axis=1)).all()

    @pytest.mark.parametrize(
        ("labels", "dtype"),
        [
            ([0, 1], "int64"),
            ([False, True], "bool"),
            ([-1, 1], "int64"),
            ([1.0, 2.0], "int64"),
            ([0.5, 1.5], "float64"),
            ([0, 1, 7], "int64"),
            (["0", "1"], "object"),
        ],
        ids=str,
    )
    @pytest.mark.parametrize("library", LIBRARIES)
    def test_labels_keep_their_type(self, labels, dtype, library):
        p = probabilities_of(len(labels))
        y = np.array(labels)[np.arange(N) % len(labels)]
        checked = checked_of(LIBRARIES[library](), y, cg.probabilities(p, labels))
        frame = frame_of(checked)
        columns = as_lists(frame)
        predicted = np.array(labels)[p.argmax(axis=1)]
        assert columns["y"] == y.tolist()
        assert columns["predicted"] == predicted.tolist()
        assert {type(label) for label in columns["y"]} <= {int, float, bool, str} | {
            np.int64,
            np.float64,
            np.bool_,
        }
        if library == "pandas":
            assert str(frame["y"].dtype) == str(frame["predicted"].dtype) == dtype

    def test_labels_that_are_numbers_stay_strings_in_findings(self):
        y = np.arange(N) % 2
        checked = checked_of(X[["age"]], y, cg.probabilities(probabilities_of(2)))
        assert checked.class_names == ("0", "1")
        assert "probability_1" in frame_of(checked)

    @pytest.mark.parametrize("labels", [[0, 1, 7], [0.5, 1.5, 2.5], ["a", "1", "b c"]])
    def test_queries_of_the_predicted_class(self, labels):
        p = probabilities_of(3)
        y = np.array(labels)[np.arange(N) % 3]
        checked = checked_of(X[["town"]], y, cg.probabilities(p, labels))
        assert groups_of("predicted", checked) == (
            "predicted",
            [str(labels[k]) for k in p.argmax(axis=1)],
        )

    def test_a_fitted_classifier(self):
        from sklearn.linear_model import LogisticRegression

        rng = np.random.default_rng(0)
        x = pd.DataFrame({"a": rng.standard_normal(80)}, index=range(200, 280))
        y = (rng.random(80) < 0.5).astype(int)
        for labels in (y, y.astype(bool), pd.Series(y, x.index, name="sick")):
            report = cg.check(
                LogisticRegression().fit(x, labels), x, labels, rng=0, n_boot=19
            )
            frame = report.frame()
            name = getattr(labels, "name", "y")
            assert frame[name].dtype == labels.dtype
            assert frame["predicted"].dtype == labels.dtype
            assert frame[name].tolist() == labels.tolist()
            assert frame.index.equals(x.index)


class TestSources:
    """Rows that were never a frame of the user's: pandas, and the number of the row."""

    @pytest.fixture(autouse=True)
    def few_rows(self, monkeypatch):
        monkeypatch.setattr(sys.modules[RowsInMemory.__module__], "SUBSAMPLE_ROWS", 100)
        monkeypatch.setattr(sys.modules["condgof.check._look"], "STREAMED_ROWS", 150)

    def model(self):
        return cg.models.Normal(mean=lambda x: np.asarray(x)[:, 0], std=1.0)

    def test_a_stream_of_files(self, tmp_path):
        rng = np.random.default_rng(0)
        table = pd.DataFrame({"z": rng.standard_normal(400), "b": rng.standard_normal(400)})
        table["y"] = table["z"] + rng.standard_normal(400)
        table.to_parquet(tmp_path / "rows.parquet")
        source = cg.scan(tmp_path / "rows.parquet", x=["z", "b"], y="y")
        report = cg.check(self.model(), source, solver="lowrank", rng=0, n_boot=19)
        frame = report.frame()
        assert isinstance(frame, pd.DataFrame)
        assert len(frame) == 150
        assert frame.index.tolist() == report.checked.rows.tolist()
        pd.testing.assert_frame_equal(frame[["z", "b", "y"]], table.loc[frame.index])
        np.testing.assert_allclose(frame["condgof_z"], frame["y"] - frame["z"], atol=1e-9)

    def test_dask_arrays(self):
        array = pytest.importorskip("dask.array")
        rng = np.random.default_rng(0)
        x = rng.standard_normal((400, 1))
        y = x[:, 0] + rng.standard_normal(400)
        lazy = [array.from_array(values, chunks=130) for values in (x, y)]
        report = cg.check(self.model(), *lazy, solver="lowrank", rng=0, n_boot=19)
        frame = report.frame()
        assert isinstance(frame, pd.DataFrame)
        assert (frame["y"] == y[frame.index]).all()


@pytest.mark.parametrize(
    "frame", [X, pl.from_pandas(X.drop(columns="grade"))], ids=["pandas", "polars"]
)
def test_booleans_are_known(frame):
    columns = {
        column.name: column for column in Sample.from_data(frame, np.arange(N)).x_columns
    }
    assert [name for name, column in columns.items() if column.boolean] == ["member"]


@pytest.mark.parametrize("values", [[True, False, None, True], [True, False, pd.NA, True]])
def test_booleans_that_miss_values_are_known(values):
    x = pd.DataFrame({"b": pd.Series(values, dtype=object), "v": range(4)})
    sample = Sample.from_data(x, [1.0, 2.0, 3.0, 4.0], missing="drop")
    assert [column.boolean for column in sample.x_columns] == [True, False]
    assert (
        Sample.from_data(np.array([[True], [False], [True]]), [1, 2, 3])
        .x_columns[0]
        .boolean
    )


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
        checked = checked_of()
        named = read_named(spec, checked, N)
        assert named.words == words
        assert named.query == (spec if query is None else query)
        np.testing.assert_array_equal(named.rows, np.flatnonzero(rows))
        if named.query:
            np.testing.assert_array_equal(
                frame_of(checked).query(named.query).index, named.rows
            )

    def test_predictions_can_be_asked_for(self):
        rows = read_named("1 <= predicted <= 2.5", checked_of(), N).rows
        assert rows.tolist() == np.flatnonzero((MEAN >= 1) & (MEAN <= 2.5)).tolist()

    def test_masks_and_labels_are_of_the_users_rows(self):
        x = X[["age", "town"]].astype({"age": float})
        x.loc[[0, 5], "age"] = np.nan
        checked = checked_of(x, missing="drop")
        mask = np.arange(N) < 6
        assert (
            read_named(mask, checked, N).rows.tolist()
            == np.flatnonzero(mask[checked.rows]).tolist()
        )
        labels = np.where(mask, "b", "a")
        for group in read_by(labels, checked, N):
            assert (labels[checked.rows][group.rows] == group.words[-1]).all()
        with pytest.raises(
            InputTypeError, match=r"bool values of shape \(10,\).*each of the 12 rows"
        ):
            read_named(mask[:10], checked, N)

    @pytest.mark.parametrize(
        ("spec", "error", "message"),
        [
            (
                "agee > 3",
                InputError,
                "no column 'agee'. Did you mean 'age'.*what is predicted, age",
            ),
            ("age >", InputError, "is expected at character 6, not the end"),
            ("age + 1", InputError, "is expected at character 5"),
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
            read_named(spec, checked_of(), N)


BY = [
    ("town", "town", X.town),
    ("member", "member", X.member.astype(str)),
    ("married", "married", X.married.astype(str)),
    ("grade", "grade", X.grade),
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


def groups_of(by, checked):
    """The name, and each row's label."""
    labels = np.full(checked.n, "", dtype=object)
    groups = read_by(by, checked, N)
    for group in groups:
        name, labels[group.rows] = group.words.split(" = ", 1)
        if group.query:
            np.testing.assert_array_equal(
                numbered_frame(checked).query(group.query).index, group.rows
            )
    assert len(groups) == len(set(labels))
    return name, labels.tolist()


class TestBy:
    @pytest.mark.parametrize(("by", "name", "labels"), BY)
    def test_every_row_has_its_label(self, by, name, labels):
        assert groups_of(by, checked_of()) == (name, list(labels))

    def test_predictions_and_one_hot_columns(self):
        model = (np.arange(N) // 4 * 0.5, np.ones(N))
        checked = checked_of(pd.get_dummies(X[["town"]]), model=model)
        assert groups_of("town", checked) == ("town", list(X.town))
        assert groups_of("predicted", checked)[1] == ["0"] * 4 + ["0.5"] * 4 + ["1"] * 4

    def test_ranges_of_pandas_cut(self):
        cut = pd.cut(X.age, [0, 32, 100, 200])
        assert groups_of(cut, checked_of()) == ("age", ["(0, 32]"] * 3 + ["(32, 100]"] * 9)

    def test_whole_numbers_have_a_group_each(self):
        x = X[["town"]].assign(age=X.age // 2)
        assert groups_of("age", checked_of(x)) == ("age", list(x.age.astype(str)))

    def test_dates_have_a_group_each(self):
        x = X[["town"]].assign(day=np.repeat(X.day.to_numpy()[:6], 2))
        labels = groups_of("day", checked_of(x))[1]
        assert labels[:3] == ["2020-03-01", "2020-03-01", "2020-03-02 12:00"]

    def test_many_values(self):
        x = pd.DataFrame({"v": np.arange(60) % 55, "w": np.arange(60) % 55 / 2})
        checked = checked_of(x, model=(np.zeros(60), np.ones(60)))
        with pytest.raises(
            InputError, match=r"by='w' .* with 55 values.*pandas.cut.*by=x\['w'\]"
        ):
            read_by("w", checked, 60)
        assert len(read_by("v", checked, 60)) == 55
        assert len(read_by(x["w"], checked, 60)) == 55

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
            ("age", InputError, "different in each of the 12 rows"),
            (np.zeros(5), ShapeError, r"by must have shape \(12,\)"),
            ([None, "a", "b"] * 4, NonFiniteError, "by has missing values in 4 of 12 rows"),
        ],
    )
    def test_what_is_wrong_is_said(self, by, error, message):
        with pytest.raises(error, match=message):
            read_by(by, checked_of(), N)


def test_columns_of_x_without_names():
    sample = Sample.from_data(RNG.standard_normal((N, 2)), np.arange(N))
    assert [axis.name for axis in axes_of(sample.x_columns, sample.x)] == ["x1", "x2"]
    assert axes_of((Column("x", constant=True),), np.ones((3, 1))) == ()
