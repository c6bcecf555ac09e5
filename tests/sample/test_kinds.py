"""Kinds of columns: dates, levels with an order, and what is neither number nor level."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from condgof.errors import (
    CondgofError,
    InputError,
    InputTypeError,
    NonFiniteError,
    ShapeError,
)
from condgof.sample import Column, Sample

N = 24
A, Y = np.random.default_rng(0).normal(size=(2, N))
#: Every 25 hours from 2020-03-01 14:30 UTC, over the change to summer time.
MOMENTS = pd.date_range("2020-03-01 14:30", periods=N, freq="25h")
OSLO = MOMENTS.tz_localize("UTC").tz_convert("Europe/Oslo")
DAYS = 18322 + 14.5 / 24 + np.arange(N) * 25 / 24
PYTHON = [moment.to_pydatetime() for moment in MOMENTS]
FIRST = "2020-03-01 14:30"


def arrow(values, kind):
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.array(values, type=kind)))


class TestDates:
    @pytest.mark.parametrize(
        "x",
        [
            pd.Series(MOMENTS, name="day"),
            pd.DataFrame({"day": MOMENTS}),
            pd.DataFrame({"day": MOMENTS.astype("M8[s]")}),
            pd.DataFrame({"day": OSLO}),
            OSLO,
            arrow(PYTHON, pa.timestamp("us")).to_frame("day"),
            arrow(
                OSLO.to_pydatetime().tolist(), pa.timestamp("us", "Europe/Oslo")
            ).to_frame("day"),
            pd.DataFrame({"day": pd.Series(PYTHON, dtype=object)}),
            pd.DataFrame({"day": pd.Series(OSLO.to_pydatetime(), dtype=object)}),
            pl.DataFrame({"day": PYTHON}),
            pl.DataFrame({"day": PYTHON}).select(
                pl.col("day")
                .dt.replace_time_zone("UTC")
                .dt.convert_time_zone("Europe/Oslo")
            ),
            pl.Series("day", PYTHON).dt.cast_time_unit("ms"),
            MOMENTS.to_numpy(),
            MOMENTS.to_numpy()[:, None],
            MOMENTS.to_numpy().astype("M8[m]"),
            PYTHON,
            np.array(PYTHON, dtype=object),
            OSLO.to_pydatetime().tolist(),
        ],
        ids=[
            "series",
            "frame",
            "seconds",
            "zone",
            "index",
            "arrow",
            "arrow-zone",
            "object",
            "object-zone",
            "polars",
            "polars-zone",
            "polars-series",
            "array",
            "matrix",
            "minutes",
            "list",
            "object-array",
            "list-zone",
        ],
    )
    def test_days_since_1970_in_utc(self, x, request):
        sample = Sample.from_data(x, Y)
        np.testing.assert_allclose(sample.x[:, 0], DAYS, rtol=1e-15)
        assert sample.x_columns[0].dates
        assert not sample.x_columns[0].categorical
        zoned = any(name in request.node.callspec.id for name in ("zone", "index"))
        assert sample.x_columns[0].text(sample.x[0, 0]) == FIRST + " UTC" * zoned
        if not isinstance(x, list):
            assert type(sample.x_given) is type(x)

    @pytest.mark.parametrize(
        "make",
        [
            lambda days: pd.DataFrame({"day": days}),
            lambda days: arrow(days, pa.date32()).to_frame("day"),
            lambda days: pl.DataFrame({"day": days}),
            lambda days: np.array(days, dtype="M8[D]"),
            lambda days: days,
        ],
        ids=["object", "arrow", "polars", "array", "list"],
    )
    def test_days_without_a_time(self, make):
        days = [dt.date(1969, 12, 31) + dt.timedelta(i) for i in range(N)]
        np.testing.assert_array_equal(
            Sample.from_data(make(days), Y).x[:, 0], np.arange(N) - 1.0
        )
        sample = Sample.from_data(make([None, *days[1:]]), Y, missing="drop")
        assert sample.kept.tolist() == list(range(1, N))
        with pytest.raises(
            NonFiniteError, match="missing values in 1 of 24 rows, the first in row 0"
        ):
            Sample.from_data(make([None, *days[1:]]), Y)

    def test_locations_are_dates(self):
        x = pd.DataFrame({"day": MOMENTS, "a": A})
        sample = Sample.from_data(x, Y)
        np.testing.assert_allclose(sample.locations(x[:2])[:, 0], DAYS[:2])
        assert sample.labels(sample.x[:1]) == ({"day": FIRST, "a": A[0]},)
        with pytest.raises(InputTypeError, match="'day' must hold dates, as in x"):
            sample.locations(x[:2].assign(day=1.0))
        with pytest.raises(InputTypeError, match="'a' must hold numbers, as in x"):
            sample.locations(x[:2].assign(a=MOMENTS[:2]))
        only = Sample.from_data(MOMENTS.to_numpy(), Y)
        np.testing.assert_allclose(only.locations(MOMENTS.to_numpy()[:2])[:, 0], DAYS[:2])
        np.testing.assert_allclose(only.locations(DAYS[:2])[:, 0], DAYS[:2])
        with pytest.raises(NonFiniteError, match=r"at .*missing values in 1 of 1"):
            only.locations(np.array(["NaT"], dtype="M8[D]"))

    @pytest.mark.parametrize(
        "y",
        [
            pd.Series(MOMENTS),
            pd.Series(OSLO),
            pd.DataFrame({"y": OSLO}),
            OSLO,
            pl.Series(PYTHON),
            arrow(PYTHON, pa.timestamp("us", "UTC")),
            pd.Series(PYTHON, dtype=object),
            PYTHON,
            MOMENTS.to_numpy(),
            np.array(PYTHON, dtype=object),
            [day.date() for day in PYTHON],
        ],
    )
    def test_dates_in_y_are_refused(self, y):
        with pytest.raises(InputTypeError, match=r"y .*holds dates"):
            Sample.from_data(A, y)
        with pytest.raises(InputTypeError, match=r"y .*holds dates"):
            Sample.unconditional(y)

    @pytest.mark.parametrize(
        "column",
        [
            (MOMENTS - MOMENTS[0]),
            (arrow([dt.timedelta(i) for i in range(N)], pa.duration("s"))),
            (np.arange(N).astype("m8[h]")),
            (pd.Series([dt.timedelta(i) for i in range(N)], dtype=object)),
            (pl.Series([dt.timedelta(i) for i in range(N)])),
            (pd.Series(pd.timedelta_range("1h", periods=N), dtype=object)),
            (pd.period_range("2020-01", periods=N, freq="M")),
            (pd.Series([dt.time(i) for i in range(N)])),
            (pl.Series([dt.time(i) for i in range(N)])),
        ],
    )
    def test_what_else_there_is_of_time(self, column):
        for run in (
            lambda: Sample.from_data(column, Y),
            lambda: Sample.from_data(A, column),
        ):
            with pytest.raises(
                InputTypeError,
                match=r"neither numeric nor text nor dates|must be real numbers",
            ):
                run()

    def test_dates_among_other_things(self):
        for other in (1.0, "a"):
            x = pd.DataFrame({"a": pd.Series([other, *PYTHON[1:]], dtype=object)})
            with pytest.raises(InputTypeError, match="neither numeric nor text nor dates"):
                Sample.from_data(x, Y)


class TestText:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0.0, "1970-01-01"),
            (-1.0, "1969-12-31"),
            (DAYS[0], FIRST),
            (18322.0, "2020-03-01"),
            (18321.999999, "2020-03-01"),
            (-0.25, "1969-12-31 18:00"),
        ],
    )
    def test_dates(self, value, text):
        assert Column("a", dates=True).text(value) == text

    def test_levels(self):
        assert Column("a", ("u", "v")).text(np.float64(1.0)) == "v"


class TestLevels:
    ORDER = ("low", "mid", "top", "high")

    @pytest.mark.parametrize(
        "x",
        [
            pd.Series(pd.Categorical(["mid", "low", "high"] * 8, ORDER, ordered=True)),
            pl.Series(["mid", "low", "high"] * 8, dtype=pl.Enum(ORDER)),
        ],
        ids=["pandas", "polars"],
    )
    def test_an_order_of_their_own(self, x):
        sample = Sample.from_data(x, Y)
        column = sample.x_columns[0]
        assert (column.levels, column.ordered) == (("low", "mid", "high"), True)
        assert sample.x[:3, 0].tolist() == [1, 0, 2]
        assert sample.locations(x[:3].to_frame())[:, 0].tolist() == [1, 0, 2]

    def test_alphabetical_without(self):
        for x in (
            pd.Series(pd.Categorical(["b", "c", "a"] * 8, ["c", "a", "b"])),
            pl.Series(["b", "c", "a"] * 8, dtype=pl.Categorical),
        ):
            column = Sample.from_data(x, Y).x_columns[0]
            assert (column.levels, column.ordered) == (("a", "b", "c"), False)

    def test_numbers_as_ordered_levels(self):
        x = pd.Series(pd.Categorical([10, 9, 2] * 8, [2, 9, 10], ordered=True))
        assert Sample.from_data(x, Y).x_columns[0].levels == ("2", "9", "10")

    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
    def test_as_many_levels_as_rows(self, frame):
        names = [f"user-{i}" for i in range(N)]
        with pytest.raises(
            InputError, match=r"'id' holds text .* all 24 rows.* identifier.* Leave it out"
        ):
            Sample.from_data(frame({"a": A, "id": names}), Y)
        commas = [f"{v:.3f}".replace(".", ",") for v in A]
        with pytest.raises(
            InputTypeError, match=r"'b' .* '-?\d,\d{3}' .*decimal comma.*decimal=','"
        ):
            Sample.from_data(frame({"a": A, "b": commas}), Y)
        assert Sample.from_data(frame({"a": A, "id": [*names[1:], "user-1"]}), Y).n == N
        assert Sample.from_data(frame({"a": A, "id": names})[:20], Y[:20]).n == 20

    def test_as_many_levels_as_rows_that_have_one(self):
        x = pd.DataFrame({"a": A, "id": [None, *(f"user-{i}" for i in range(1, N))]})
        for missing in ("drop", "level"):
            with pytest.raises(InputError, match=r"all 23 rows.* identifier"):
                Sample.from_data(x, Y, missing=missing)

    def test_an_order_may_have_as_many(self):
        ranks = [f"{i:02}" for i in range(N)]
        assert (
            Sample.from_data(pd.Series(pd.Categorical(ranks, ranks, ordered=True)), Y).n
            == N
        )

    def test_locations_may_have_as_many(self):
        names = [f"{i:02}" for i in range(N)] * 2
        sample = Sample.from_data(pd.Series(names, name="a"), np.tile(Y, 2))
        assert sample.locations(pd.DataFrame({"a": names[:N]}))[:, 0].tolist() == list(
            range(N)
        )


class TestRefused:
    @pytest.mark.parametrize("lazy", ["x", "y"])
    def test_frames_that_are_not_there_yet(self, lazy):
        data = {"x": pl.DataFrame({"a": A}), "y": pl.DataFrame({"y": Y})}
        data[lazy] = data[lazy].lazy()
        with pytest.raises(
            InputTypeError, match=rf"{lazy} is a polars LazyFrame.* \.collect\(\) first"
        ):
            Sample.from_data(**data)

    @pytest.mark.parametrize(
        ("column", "message"),
        [
            pytest.param(
                pl.Series([*range(N)], dtype=pl.Int128),
                "Int128",
                marks=pytest.mark.skipif(
                    pl.__version__ < "2", reason="polars itself panics"
                ),
            ),
            (pd.Series([10**400, *range(N - 1)], dtype=object), "beyond 1e308"),
            (pd.Series([b"1.5"] * N), "neither numeric nor text"),
            (arrow([b"1.5"] * N, pa.binary()), "neither numeric nor text"),
            (pl.Series([b"1.5"] * N), "neither numeric nor text"),
            (np.array([b"1.5"] * N), "real numbers"),
            (np.array([b"1.5"] * N, dtype=object), "real numbers|neither numeric nor text"),
            ([b"1.5"] * N, "real numbers"),
            ([10**400] * N, "beyond 1e308"),
        ],
    )
    def test_what_is_no_number(self, column, message):
        for run in (
            lambda: Sample.from_data(column, Y),
            lambda: Sample.from_data(A, column),
        ):
            with pytest.raises(CondgofError, match=message):
                run()

    def test_two_columns_of_one_name(self):
        twice = pd.DataFrame(np.c_[A, Y, A, Y, A], columns=["a", "b", "a", "b", "c"])
        with pytest.raises(
            InputError, match="x has two columns of the same name: 'a', 'b'"
        ):
            Sample.from_data(twice, Y)
        with pytest.raises(
            InputError, match="y has two columns of the same name: 'a', 'b'"
        ):
            Sample.from_data(A, twice)

    def test_numbers_in_boxes_are_fine(self):
        boxes = [Decimal(i) / 2 for i in range(N)]
        for x in (
            pd.Series(boxes, dtype=object),
            pl.Series(boxes, dtype=pl.Decimal(10, 2)),
        ):
            np.testing.assert_array_equal(Sample.from_data(x, Y).x[:, 0], np.arange(N) / 2)
        assert (
            Sample.from_data(pl.DataFrame({"a": [True, None] * 12}), Y, missing="level").d_x
            == 2
        )

    def test_shapes_of_dates(self):
        with pytest.raises(ShapeError, match="x must have shape"):
            Sample.from_data(np.zeros((2, 3, 4), dtype="M8[D]"), Y)
