"""Frames of pandas, polars, pyarrow and modin: read alike, and given back as they came."""

import datetime as dt
import os
import pickle
import subprocess
import sys
from decimal import Decimal

# The engine of modin that starts no processes; it must be chosen before modin is imported.
os.environ.setdefault("MODIN_ENGINE", "python")

import modin.pandas as mpd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import condgof as cg
from condgof.errors import InputError, InputTypeError, MissingPackageError
from condgof.sample import (
    CodedColumn,
    Column,
    Frame,
    FrameOrigin,
    Sample,
    read_groups,
    refill,
    take_rows,
)

N = 24
RNG = np.random.default_rng(0)
A, Y = RNG.normal(size=(2, N))
LEVELS = ["low", "mid", "top", "high"]
MOMENTS = [dt.datetime(2020, 3, 1, 14, 30) + dt.timedelta(hours=25 * i) for i in range(N)]
ROWS = np.array([5, 2, 19])


def with_gaps(values, *rows):
    """Return a list in which some rows are missing."""
    return [None if i in rows else value for i, value in enumerate(values)]


#: Columns as an Arrow array of each type, and whether some rows are missing.
COMPLETE = {
    "number": pa.array(A),
    "small": pa.array(A.astype(np.float32)),
    "whole": pa.array(range(N), pa.int64()),
    "truth": pa.array([True, False, False] * 8),
    "town": pa.array(["Rome", "Oslo", "Bonn"] * 8),
    "grade": pa.array(["mid", "low", "high"] * 8),
    "kind": pa.array(["w", "u", "v"] * 8).dictionary_encode(),
    "moment": pa.array(MOMENTS, pa.timestamp("us")),
    "zoned": pa.array(MOMENTS, pa.timestamp("us", "America/New_York")),
    "day": pa.array([moment.date() for moment in MOMENTS]),
    "price": pa.array([Decimal(i) / 4 for i in range(N)], pa.decimal128(10, 2)),
}
INCOMPLETE = {
    name: pa.array(with_gaps(values.to_pylist(), 3, 7), values.type)
    for name, values in COMPLETE.items()
}


def ordered_dictionary(values):
    """Return text as an ordered dictionary of pyarrow, with the order of `LEVELS`."""
    codes = [None if value is None else LEVELS.index(value) for value in values.to_pylist()]
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), LEVELS, ordered=True)


def in_pyarrow(columns):
    return pa.table(columns | {"grade": ordered_dictionary(columns["grade"])})


def in_pandas(columns):
    frame = pa.table(columns).to_pandas(integer_object_nulls=True)
    grade = pd.Categorical(columns["grade"].to_pylist(), LEVELS, ordered=True)
    return frame.assign(grade=grade, whole=frame["whole"].astype("Int64"))


def in_nullable_pandas(columns):
    frame = in_pandas(columns)
    kinds = {"number": "Float64", "truth": "boolean", "town": "string"}
    return frame.astype(kinds)


def in_polars(columns):
    return pl.from_arrow(pa.table(columns)).with_columns(
        pl.col("grade").cast(pl.Enum(LEVELS)), pl.col("kind").cast(pl.Categorical)
    )


def in_modin(columns):
    return mpd.DataFrame(in_pandas(columns))


FRAMES = {
    "pandas": in_pandas,
    "nullable pandas": in_nullable_pandas,
    "polars": in_polars,
    "pyarrow": in_pyarrow,
    "modin": in_modin,
}


@pytest.fixture(params=FRAMES)
def make_frame(request):
    return FRAMES[request.param]


def assert_same_sample(one, other):
    """Assert that all fields are the same, but for x in its own container."""
    np.testing.assert_array_equal(one.x, other.x)
    np.testing.assert_array_equal(one.y, other.y)
    np.testing.assert_array_equal(one.y_given, other.y_given)
    assert one.y_given.dtype == other.y_given.dtype
    assert one.x_columns == other.x_columns
    assert one.y_columns == other.y_columns
    np.testing.assert_array_equal(one.kept, other.kept)
    assert one.left_out == other.left_out
    assert one.remarks == other.remarks
    assert one.notes() == other.notes()


class TestReadAlike:
    @pytest.mark.parametrize("missing", ["refuse", "drop", "level"])
    def test_complete_rows(self, make_frame, missing):
        sample = Sample.from_data(make_frame(COMPLETE), Y, missing=missing)
        assert_same_sample(sample, Sample.from_data(in_pandas(COMPLETE), Y))

    @pytest.mark.parametrize("missing", ["drop", "level"])
    def test_incomplete_rows(self, make_frame, missing):
        sample = Sample.from_data(make_frame(INCOMPLETE), Y, missing=missing)
        wanted = Sample.from_data(in_pandas(INCOMPLETE), Y, missing=missing)
        assert_same_sample(sample, wanted)

    def test_what_the_columns_are(self, make_frame):
        sample = Sample.from_data(make_frame(COMPLETE), Y)
        columns = {column.name: column for column in sample.x_columns}
        assert columns["grade"] == Column("grade", ("low", "mid", "high"), ordered=True)
        assert columns["kind"] == Column("kind", ("u", "v", "w"))
        assert columns["town"] == Column("town", ("Bonn", "Oslo", "Rome"))
        assert columns["truth"] == Column("truth", boolean=True)
        assert columns["moment"] == Column("moment", dates=True)
        assert columns["zoned"] == Column("zoned", dates=True, utc=True)
        assert columns["day"] == Column("day", dates=True)
        for name in ("number", "small", "whole", "price"):
            assert columns[name] == Column(name)

    @pytest.mark.parametrize("name", COMPLETE)
    def test_one_column(self, make_frame, name):
        frame = make_frame(COMPLETE)
        sample = Sample.from_data(frame[name], Y)
        whole = Sample.from_data(frame, Y)
        position = list(COMPLETE).index(name)
        np.testing.assert_array_equal(sample.x[:, 0], whole.x[:, position])
        # A column of pyarrow does not know its name.
        known = "x" if isinstance(frame, pa.Table) else name
        assert sample.x_columns[0].name == known
        assert sample.x_columns[0].levels == whole.x_columns[position].levels

    @pytest.mark.parametrize("name", ["number", "whole", "truth", "town"])
    def test_y(self, make_frame, name):
        sample = Sample.from_data(A, make_frame(COMPLETE)[name])
        wanted = Sample.from_data(A, in_pandas(COMPLETE)[name])
        np.testing.assert_array_equal(sample.y, wanted.y)
        np.testing.assert_array_equal(sample.y_given, wanted.y_given)
        assert sample.y_given.shape == (N,)
        assert sample.y_columns[0].levels == wanted.y_columns[0].levels

    def test_dates_in_y_are_refused(self, make_frame):
        with pytest.raises(InputTypeError, match=r"y .*holds dates"):
            Sample.from_data(A, make_frame(COMPLETE)["zoned"])

    def test_p_values(self, make_frame):
        x = make_frame(COMPLETE)
        y = make_frame({**COMPLETE, "number": pa.array(Y)})["number"]
        wanted = cg.kcsd((A, np.ones(N)), in_pandas(COMPLETE), Y, rng=0, n_boot=50)
        result = cg.kcsd((A, np.ones(N)), x, y, rng=0, n_boot=50)
        assert result.pvalue == wanted.pvalue
        assert result.statistic == wanted.statistic

    def test_models_get_the_users_own_frame(self, make_frame):
        frame = make_frame(COMPLETE)
        sample = Sample.from_data(frame, Y)
        assert type(sample.x_given) is type(frame)
        assert type(sample.take(ROWS).x_given) is type(frame)
        model = cg.models.Normal(mean=lambda x: np.asarray(x["number"]), std=1.0)
        wanted = cg.kcsd((A, np.ones(N)), in_pandas(COMPLETE), Y, rng=0, n_boot=20)
        assert cg.kcsd(model, frame, Y, rng=0, n_boot=20).pvalue == wanted.pvalue

    def test_locations(self, make_frame):
        frame = make_frame(COMPLETE)
        sample = Sample.from_data(frame, Y)
        points = sample.locations(take_rows(frame, ROWS))
        np.testing.assert_array_equal(points, sample.x[ROWS])

    def test_groups_by_name(self, make_frame):
        frame = make_frame(COMPLETE)
        for name in ("town", "grade", "kind"):
            np.testing.assert_array_equal(read_groups(name, frame, N), np.arange(N) % 3)
        with pytest.raises(InputError, match="names a column that is not one of x"):
            read_groups("nowhere", frame, N)

    def test_missing_groups(self, make_frame):
        for name in ("town", "grade", "kind", "whole"):
            with pytest.raises(InputError, match="missing values in 2 of 24 rows"):
                read_groups(name, make_frame(INCOMPLETE), N)


class TestRefused:
    def test_two_columns_of_one_name(self):
        table = pa.table([pa.array(A), pa.array(Y)], names=["a", "a"])
        frames = [table, table.to_pandas(), mpd.DataFrame(table.to_pandas())]
        for frame in frames:
            with pytest.raises(InputError, match="two columns of the same name: 'a'"):
                Sample.from_data(frame, Y)

    def test_frames_that_hold_no_rows_yet(self):
        dask_frames = pytest.importorskip("dask.dataframe")
        lazy = dask_frames.from_pandas(pd.DataFrame({"a": A}), npartitions=2)
        with pytest.raises(
            InputTypeError, match=r"x is a lazy DataFrame.* Compute it first"
        ):
            Sample.from_data(lazy, Y)
        with pytest.raises(
            InputTypeError, match=r"x is a polars LazyFrame.* \.collect\(\)"
        ):
            Sample.from_data(pl.LazyFrame({"a": A}), Y)

    def test_other_labels_of_modin(self):
        x = mpd.DataFrame({"a": A}, index=np.arange(N) + 100)
        with pytest.raises(InputError, match=r"row 0 .* is 100 in x and 0 in y"):
            Sample.from_data(x, pd.Series(Y))
        same = Sample.from_data(x, pd.Series(Y, index=np.arange(N) + 100))
        np.testing.assert_array_equal(same.y[:, 0], Y)


class TestContainers:
    def test_rows(self, make_frame):
        frame = make_frame(COMPLETE)
        some = take_rows(frame, ROWS)
        assert type(some) is type(frame)
        assert np.asarray(some["town"]).tolist() == ["Bonn", "Bonn", "Oslo"]
        column = take_rows(frame["whole"], ROWS)
        assert type(column) is type(frame["whole"])
        assert np.asarray(column).tolist() == ROWS.tolist()

    def test_new_values(self, make_frame):
        frame = make_frame(COMPLETE)
        column = refill(frame["whole"], np.arange(N)[:, None] * 2.0)
        assert type(column) is type(frame["whole"])
        assert np.asarray(column).tolist() == list(range(0, 2 * N, 2))
        texts = refill(frame["town"], np.array(["u", "v"] * 12, dtype=object)[:, None])
        assert np.asarray(texts).tolist() == ["u", "v"] * 12
        some = frame[["number", "small"]] if hasattr(frame, "iloc") else None
        if some is not None:
            again = refill(some, np.ones((N, 2)))
            assert type(again) is type(frame)
            assert (np.asarray(again) == 1).all()
            assert again.index.equals(frame.index)

    def test_new_values_of_a_table(self):
        for frame in (pl.DataFrame({"a": A, "b": Y}), pa.table({"a": A, "b": Y})):
            again = refill(frame, np.column_stack([Y, A]))
            assert type(again) is type(frame)
            np.testing.assert_array_equal(np.asarray(again["a"]), Y)

    def test_categories_of_pandas_stay(self):
        labels = pd.Series(pd.Categorical(["u", "v"] * 12, ["w", "v", "u"]), name="k")
        again = refill(labels, np.array(["v"] * N, dtype=object)[:, None])
        assert again.dtype == labels.dtype
        assert again.name == "k"


#: The columns of a frame as a sample has them.
CODED = {
    "number": CodedColumn(Column("number"), np.array([0.5, 1.5, -2.0])),
    "whole": CodedColumn(Column("whole"), np.array([3.0, 0.0, -7.0])),
    "truth": CodedColumn(Column("truth", boolean=True), np.array([1.0, 0.0, 1.0])),
    "town": CodedColumn(Column("town", ("Oslo", "Rome")), np.array([1.0, 0.0, 1.0])),
    "grade": CodedColumn(
        Column("grade", ("low", "mid", "high"), ordered=True), np.array([2.0, 0.0, 1.0])
    ),
    "moment": CodedColumn(Column("moment", dates=True), np.array([0.0, 0.5, 18322.25])),
}
BUILT = {
    "number": [0.5, 1.5, -2.0],
    "whole": [3, 0, -7],
    "truth": [True, False, True],
    "town": ["Rome", "Oslo", "Rome"],
    "grade": ["high", "low", "mid"],
    "moment": [
        dt.datetime(1970, 1, 1),
        dt.datetime(1970, 1, 1, 12),
        dt.datetime(2020, 3, 1, 6),
    ],
}


class TestGivenBack:
    def test_the_users_own_type(self, make_frame):
        frame = make_frame(COMPLETE)
        built = FrameOrigin.from_data(frame).build(CODED, rows=ROWS)
        assert type(built) is type(frame)
        for name, values in BUILT.items():
            column = built[name]
            held = column.to_pylist() if isinstance(built, pa.Table) else list(column)
            assert held == values, name

    def test_a_built_frame_reads_as_it_was(self, make_frame):
        origin = FrameOrigin.from_data(make_frame(COMPLETE))
        built = origin.build(CODED, rows=ROWS)
        sample = Sample.from_data(built, Y[:3], to_test=False)
        assert sample.x_columns == tuple(coded.column for coded in CODED.values())
        wanted = np.column_stack([coded.values for coded in CODED.values()])
        np.testing.assert_array_equal(sample.x, wanted)

    def test_types_of_columns(self):
        built = FrameOrigin.from_data(in_pandas(COMPLETE)).build(CODED, rows=ROWS)
        assert built["whole"].dtype == np.int64
        assert built["truth"].dtype == bool
        assert built["moment"].dtype == "M8[us]"
        assert built["grade"].cat.ordered
        built = FrameOrigin.from_data(in_polars(COMPLETE)).build(CODED, rows=ROWS)
        assert built.schema["grade"] == pl.Enum(["low", "mid", "high"])
        assert built.schema["moment"] == pl.Datetime("us")
        built = FrameOrigin.from_data(in_pyarrow(COMPLETE)).build(CODED, rows=ROWS)
        assert built.schema.field("grade").type.ordered

    @pytest.mark.parametrize("library", [pd, mpd], ids=["pandas", "modin"])
    @pytest.mark.parametrize(
        "index",
        [
            [f"patient {i}" for i in range(N)],
            pd.MultiIndex.from_product([range(12), list("ab")], names=["ward", "bed"]),
            pd.date_range("2020", periods=N, tz="Europe/Oslo", name="when"),
        ],
        ids=["text", "several levels", "dates"],
    )
    def test_labels_of_rows(self, library, index):
        frame = library.DataFrame({"a": A}, index=index)
        built = FrameOrigin.from_data(frame).build(CODED, rows=ROWS)
        assert built.index.equals(frame.index[ROWS])
        assert built.index.names == frame.index.names

    @pytest.mark.parametrize("data", [A, A.tolist(), None, Frame({"a": A}), object()])
    def test_without_a_frame_it_is_one_of_pandas(self, data):
        built = FrameOrigin.from_data(data).build(CODED, rows=ROWS)
        assert isinstance(built, pd.DataFrame)
        assert built.index.tolist() == ROWS.tolist()

    def test_without_pandas(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(MissingPackageError, match=r"condgof\[frames\]"):
            FrameOrigin().build(CODED, rows=ROWS)

    def test_a_sample_remembers_where_it_came_from(self, make_frame):
        sample = Sample.from_data(make_frame(INCOMPLETE), Y, missing="drop")
        part = sample.take(np.array([0, 5]))
        built = part.origin.build({"a": CodedColumn(Column("a"), part.y[:, 0])}, part.kept)
        assert type(built) is type(part.x_given)
        if hasattr(built, "index"):
            assert built.index.tolist() == part.kept.tolist()

    def test_y_serves_where_x_is_no_frame(self):
        y = pd.Series(Y, index=np.arange(N) + 100)
        labels = (np.arange(N) + 100).tolist()
        assert Sample.from_data(A, y).origin.labels.tolist() == labels
        assert Sample.unconditional(y).origin.labels.tolist() == labels
        assert Sample.from_data(pl.Series(A), y).origin.labels.tolist() == labels

    def test_it_pickles(self, make_frame):
        origin = pickle.loads(pickle.dumps(FrameOrigin.from_data(make_frame(COMPLETE))))
        assert len(origin.build(CODED, rows=ROWS)) == 3


def test_narwhals_is_imported_for_frames_alone_and_pyarrow_for_files():
    code = (
        "import sys, numpy as np, condgof as cg; x = np.arange(60.0);"
        " cg.kcsd((x, np.ones(60)), x, x + 1, rng=0);"
        " assert not {'narwhals', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
