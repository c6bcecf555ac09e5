"""Rows of x and y that belong together, rows that miss a value, samples to be tested."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from condgof.errors import CondgofError, InputError, NonFiniteError, ShapeError
from condgof.sample import Sample

N = 30
RNG = np.random.default_rng(0)
A = RNG.normal(size=N)
Y = RNG.normal(size=N)
KIND = ["u", "v", "w"] * 10
SIZES = [2, 9, 10, 11]


def holes(values, *rows, value=None):
    """Return a list of values, some rows of which have another value."""
    return [value if i in rows else entry for i, entry in enumerate(values)]


class TestIndex:
    X = pd.DataFrame({"a": A}, index=np.arange(N) + 100)

    @pytest.mark.parametrize(
        "y", [pd.Series(Y), pd.DataFrame({"y": Y})], ids=["series", "frame"]
    )
    def test_other_labels_are_refused(self, y):
        with pytest.raises(
            InputError, match=r"differ: row 0 .* is 100 in x and 0 in y"
        ) as caught:
            Sample.from_data(self.X, y)
        assert "y = y.loc[x.index], or pass y.to_numpy() if rows match by position" in str(
            caught.value
        )

    def test_the_first_row_that_differs_is_named(self):
        index = [*range(100, 107), 99, *range(108, 100 + N)]
        with pytest.raises(InputError, match=r"row 7 .* is 107 in x and 99 in y"):
            Sample.from_data(self.X, pd.Series(Y, index=index))

    def test_another_order_is_refused_and_alignment_mends_it(self):
        y = pd.Series(Y, index=self.X.index)
        mixed = y.iloc[::-1]
        with pytest.raises(InputError, match="indices of x and y differ: row 0"):
            Sample.from_data(self.X, mixed)
        np.testing.assert_array_equal(
            Sample.from_data(self.X, mixed.loc[self.X.index]).y[:, 0], Y
        )
        np.testing.assert_array_equal(
            Sample.from_data(self.X, mixed.to_numpy()).y[:, 0], Y[::-1]
        )

    @pytest.mark.parametrize(
        ("of_x", "of_y"),
        [
            (pd.RangeIndex(N), pd.Index(np.arange(N))),
            (np.arange(N) % 4, np.arange(N) % 4),
            ([*"ab"] * 15, [*"ab"] * 15),
            (pd.date_range("2020", periods=N), pd.date_range("2020", periods=N)),
        ],
        ids=["range", "duplicates", "text", "dates"],
    )
    def test_equal_indices_are_fine(self, of_x, of_y):
        sample = Sample.from_data(pd.Series(A, index=of_x), pd.Series(Y, index=of_y))
        np.testing.assert_array_equal(sample.y[:, 0], Y)

    def test_several_levels(self):
        index = pd.MultiIndex.from_product([range(15), list("ab")])
        x = pd.Series(A, index=index)
        assert Sample.from_data(x, pd.Series(Y, index=index)).n == N
        for other in (index[::-1], pd.RangeIndex(N)):
            with pytest.raises(InputError, match=r"row 0 .* is \(0, 'a'\) in x"):
                Sample.from_data(x, pd.Series(Y, index=other))

    def test_rows_are_counted_first(self):
        with pytest.raises(ShapeError, match="x has 30 rows and y has 29"):
            Sample.from_data(self.X, pd.Series(Y[1:]))


#: x and y, and the rows that miss a value in either.
INCOMPLETE = {
    "arrays": (
        np.c_[A, holes(A, 3, value=np.nan)],
        np.array(holes(Y, 5, value=np.nan)),
        {3, 5},
    ),
    "lists": (holes(A, 3), holes(Y, 5), {3, 5}),
    "masked": (np.ma.masked_where(np.arange(N) == 3, A), Y, {3}),
    "masked dates": (
        np.ma.masked_where(np.arange(N) == 3, np.arange(N).astype("M8[D]")),
        Y,
        {3},
    ),
    "datetime64": (np.array(holes(range(N), 3, value="NaT"), dtype="M8[D]"), Y, {3}),
    "pandas": (
        pd.DataFrame(
            {
                "a": A,
                "kind": holes(KIND, 0),
                "number": pd.array(holes(range(N), 1), dtype="Int64"),
                "truth": pd.array(holes([True, False] * 15, 2), dtype="boolean"),
                "day": holes(pd.date_range("2020", periods=N), 3, value=pd.NaT),
                "object": np.array(holes(range(N), 4, value=pd.NA), dtype=object),
                "level": pd.Categorical(holes(KIND, 6), ["w", "u", "v", "t"], ordered=True),
                "size": pd.Categorical(holes([10, 9, 2] * 10, 9), SIZES, ordered=True),
                "dates": holes([dt.date(2020, 1, 1 + i) for i in range(N)], 8),
            },
            index=np.arange(N) * 2,
        ),
        pd.Series(holes(Y, 7), index=np.arange(N) * 2),
        {0, 1, 2, 3, 4, 6, 7, 8, 9},
    ),
    "polars": (
        pl.DataFrame(
            {
                "a": holes(A, 0, value=float("nan")),
                "kind": holes(KIND, 1),
                "b": holes(A, 2),
            },
        ),
        pl.Series("y", holes(Y, 5)),
        {0, 1, 2, 5},
    ),
    "labels": (A, holes(KIND, 4, 9), {4, 9}),
    "labels with NaN": (A, holes(KIND, 4, value=float("nan")), {4}),
    "label series": (A, pd.Series(holes(KIND, 4), name="kind"), {4}),
    "classes": (
        A,
        pd.Series(holes([1, 2, 3] * 10, 4), dtype="Int64").astype("category"),
        {4},
    ),
    "a level that goes": (
        pd.DataFrame({"a": A, "kind": holes(["v"] * N, 3, value="u")}),
        holes(Y, 3),
        {3},
    ),
}


def rows_of(data, rows):
    """Return rows of a list, an array or a frame, taken by hand."""
    if isinstance(data, list):
        return [data[i] for i in rows]
    return data.iloc[rows] if hasattr(data, "iloc") else data[rows]


def assert_same(one, other):
    """Assert that two samples hold the same, and give models the same."""
    np.testing.assert_array_equal(one.x, other.x)
    np.testing.assert_array_equal(one.y, other.y)
    assert one.x_columns == other.x_columns
    assert one.y_columns == other.y_columns
    assert type(one.x_given) is type(other.x_given)
    np.testing.assert_array_equal(one.y_given, other.y_given)
    assert one.y_given.dtype == other.y_given.dtype
    if hasattr(one.x_given, "equals"):
        assert one.x_given.equals(other.x_given)
    else:
        np.testing.assert_array_equal(one.x_given, other.x_given)


@pytest.mark.parametrize(("x", "y", "lost"), INCOMPLETE.values(), ids=INCOMPLETE)
class TestDrop:
    def test_as_if_dropped_by_hand(self, x, y, lost):
        kept = [i for i in range(N) if i not in lost]
        sample = Sample.from_data(x, y, missing="drop")
        by_hand = Sample.from_data(rows_of(x, kept), rows_of(y, kept))
        assert_same(sample, by_hand)
        assert by_hand.kept is None
        assert (sample.kept.tolist(), sample.left_out) == (kept, len(lost))
        were = "was" if len(lost) == 1 else "were"
        note = f"{len(lost)} of 30 rows {were} left out because a value is missing"
        assert sample.notes() == (note, *by_hand.notes())

    def test_refused_by_default(self, x, y, lost):
        with pytest.raises(
            NonFiniteError, match=r"in \d+ of 30 rows, the first in row"
        ) as caught:
            Sample.from_data(x, y)
        assert caught.value.first_row in lost
        assert "missing='drop'" in str(caught.value)


class TestMissing:
    def test_nothing_is_missing(self):
        for missing in ("refuse", "drop", "level"):
            sample = Sample.from_data(A, Y, missing=missing)
            assert_same(sample, Sample.from_data(A, Y))
            assert (sample.kept, sample.left_out, sample.notes()) == (None, 0, ())

    def test_the_advice_names_what_there_is(self):
        with pytest.raises(
            NonFiniteError, match=r"x has NaN .* missing='drop', .* missing='level'"
        ):
            Sample.from_data(holes(A, 3), Y)
        for missing in ("refuse", "level"):
            with pytest.raises(
                NonFiniteError, match=r"y has NaN .* missing='drop'"
            ) as caught:
                Sample.from_data(A, holes(Y, 3, 9), missing=missing)
            assert (caught.value.count, caught.value.first_row) == (2, 3)
            assert "='level'" not in str(caught.value)

    @pytest.mark.parametrize("missing", ["ignore", None, True, ["drop"], np.ones(2)])
    def test_unknown_options(self, missing):
        for run in (
            lambda: Sample.from_data(A, Y, missing=missing),
            lambda: Sample.unconditional(Y, missing=missing),
        ):
            with pytest.raises(
                InputError, match="missing must be one of 'refuse', 'drop', 'level'"
            ):
                run()

    @pytest.mark.parametrize("missing", ["refuse", "drop", "level"])
    def test_infinite_is_not_missing(self, missing):
        bad = np.array(holes(holes(A, 2, value=np.nan), 7, value=-np.inf))
        message = r"infinite values .* An infinite value is not a missing one"
        for x in (bad, pd.DataFrame({"a": bad}), pl.DataFrame({"a": bad})):
            with pytest.raises(NonFiniteError, match=message) as caught:
                Sample.from_data(x, Y, missing=missing)
            assert (
                missing == "refuse" or caught.value.first_row == 7
            )  # as the caller counts
        with pytest.raises(NonFiniteError, match=message):
            Sample.from_data(A, bad, missing=missing)
        with pytest.raises(NonFiniteError, match=message):
            Sample.unconditional(bad, missing=missing)

    def test_too_few_rows_are_left(self):
        with pytest.raises(ShapeError, match="Each of the 30 rows has a missing value"):
            Sample.from_data(holes(A, *range(20)), holes(Y, *range(20, N)), missing="drop")
        few = holes(Y, *range(2, N))
        message = "at least 3 rows, got 2 after 28 with missing values were left out"
        with pytest.raises(ShapeError, match=message):
            Sample.from_data(A, few, missing="drop")
        with pytest.raises(ShapeError, match=message):
            Sample.unconditional(few, missing="drop")
        assert Sample.from_data(A, few, missing="drop", to_test=False).n == 2

    def test_unconditional(self):
        sample = Sample.unconditional(holes(Y, 3), missing="drop")
        assert_same(sample, Sample.unconditional(np.delete(Y, 3)))
        assert (sample.n, sample.d_x, sample.left_out) == (29, 0, 1)
        assert 3 not in sample.kept
        with pytest.raises(NonFiniteError, match="missing='drop'"):
            Sample.unconditional(holes(Y, 3), missing="level")

    def test_parts_know_their_rows(self):
        part = Sample.from_data(A, holes(Y, 0), missing="drop").take(np.array([0, 5]))
        assert part.kept.tolist() == [1, 6]
        assert part.notes() == ("1 of 30 rows was left out because a value is missing",)
        assert Sample.from_data(A, Y).take(np.array([4, 2])).kept.tolist() == [4, 2]


class TestLevel:
    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
    def test_text_and_numbers(self, frame):
        x = frame({"a": holes(range(N), 3, 4), "kind": holes(KIND, 0, 1)})
        sample = Sample.from_data(x, Y, missing="level")
        a, beside, kind = sample.x_columns
        assert (a.name, a.levels) == ("a", None)
        assert (beside.name, beside.levels) == ("a missing", ("no", "yes"))
        assert kind.levels == ("u", "v", "w", "missing")
        assert sample.x[:6, 0].tolist() == [0, 1, 2, 15, 15, 5]  # the lower of 15 and 16
        assert np.flatnonzero(sample.x[:, 1]).tolist() == [3, 4]
        assert sample.x[:4, 2].tolist() == [3, 3, 2, 0]
        assert (sample.n, sample.kept, sample.left_out) == (N, None, 0)
        assert sample.x_given.equals(x)
        assert sample.notes() == (
            (
                "missing values of 'a' (2 of 30 rows) are put at its median, and 'a"
                " missing' says where"
            ),
            "missing values of 'kind' (2 of 30 rows) are a level, 'missing'",
        )

    def test_names_that_are_taken(self):
        x = pd.DataFrame(
            {"a": holes(A, 3), "a missing": A, "kind": holes(["missing", "v", "w"] * 10, 1)}
        )
        sample = Sample.from_data(x, Y, missing="level")
        assert [c.name for c in sample.x_columns] == [
            "a",
            "a missing 2",
            "a missing",
            "kind",
        ]
        assert sample.x_columns[3].levels == ("missing", "v", "w", "missing 2")

    def test_arrays_and_dates(self):
        days = np.array(holes(range(N), 0, value="NaT"), dtype="M8[D]")
        sample = Sample.from_data(days, Y, missing="level")
        assert [c.name for c in sample.x_columns] == ["x", "x missing"]
        assert sample.x_columns[0].text(sample.x[0, 0]) == "1970-01-16"
        assert np.isnat(sample.x_given[0])

    def test_nothing_but_missing(self):
        x = pd.DataFrame(
            {"a": A, "none": [np.nan] * N, "text": pd.Series([None] * N, dtype="string")}
        )
        sample = Sample.from_data(x, Y, missing="level")
        assert [c.constant for c in sample.x_columns] == [False, True, True, True]
        assert sample.x_columns[3].levels == ("missing",)

    def test_missing_has_no_place_in_an_order(self):
        x = pd.Series(
            pd.Categorical(holes(["low", "high"] * 15, 2), ["low", "high"], ordered=True)
        )
        column = Sample.from_data(x, Y, missing="level").x_columns[0]
        assert (column.levels, column.ordered) == (("low", "high", "missing"), False)


def arrow_sizes(values):
    """Return numbers as an ordered dictionary of pyarrow."""
    codes = [None if value is None else SIZES.index(value) for value in values]
    return pa.chunked_array(
        [pa.DictionaryArray.from_arrays(codes, pa.array(SIZES), ordered=True)]
    )


class TestOrderedIntegers:
    """NumPy has floats for integers some of which are missing, 2.0 for the category 2."""

    VALUES = holes([10, 9, 2] * 10, 4)

    @pytest.fixture(
        params=[lambda v: pd.Series(pd.Categorical(v, SIZES, ordered=True)), arrow_sizes],
        ids=["pandas", "pyarrow"],
    )
    def column(self, request):
        return request.param

    def test_refused(self, column):
        with pytest.raises(
            NonFiniteError, match=r"missing values in 1 of 30 rows, the first in row 4"
        ):
            Sample.from_data(column(self.VALUES), Y)

    def test_dropped(self, column):
        sample = Sample.from_data(column(self.VALUES), Y, missing="drop")
        by_hand = Sample.from_data(
            column([v for v in self.VALUES if v is not None]), np.delete(Y, 4)
        )
        np.testing.assert_array_equal(sample.x, by_hand.x)
        assert sample.x_columns == by_hand.x_columns
        assert sample.x_columns[0].levels == ("2", "9", "10")
        assert sample.x_columns[0].ordered
        assert sample.x[:5, 0].tolist() == [2, 1, 0, 2, 0]

    def test_a_level(self, column):
        sample = Sample.from_data(column(self.VALUES), Y, missing="level")
        (only,) = sample.x_columns
        assert (only.levels, only.ordered) == (("2", "9", "10", "missing"), False)
        assert sample.x[:6, 0].tolist() == [2, 1, 0, 2, 3, 0]


class TestReady:
    def test_it_returns_the_sample(self):
        for sample in (
            Sample.from_data(A, Y, to_test=False),
            Sample.unconditional(Y, to_test=False),
        ):
            assert sample.ready() is sample

    @pytest.mark.parametrize(
        ("x", "y", "message"),
        [
            (A[:2], Y[:2], "at least 3 rows, got 2"),
            (np.ones(N), np.ones(N), "y is constant"),
            (np.ones(N), Y, "Every column of x is constant"),
            (A, np.ones(N), "y is constant"),
        ],
    )
    def test_the_checks_of_a_test(self, x, y, message):
        with pytest.raises(CondgofError, match=message):
            Sample.from_data(x, y)
        with pytest.raises(CondgofError, match=message):
            Sample.from_data(x, y, to_test=False).ready()

    def test_a_discrete_y_may_be_constant(self):
        assert Sample.from_data(A, np.ones(N), to_test=False).ready(discrete=True).n == N
        sample = Sample.unconditional(np.ones(N), to_test=False)
        assert sample.ready(discrete=True) is sample
        with pytest.raises(InputError, match="y is constant"):
            sample.ready()

    def test_a_part_is_judged_by_itself(self):
        sample = Sample.from_data(np.repeat([0.0, 1.0], 15), Y)
        with pytest.raises(InputError, match="Every column of x is constant"):
            sample.take(np.arange(15)).ready()
