"""Queries as expressions of polars select the rows that they select of any frame."""

from datetime import date, datetime

import numpy as np
import polars as pl
import pytest

import condgof as cg
from condgof.errors import InputError
from condgof.sample import QueryError, polars_expression, select
from condgof.sample._frames import CodedColumn
from condgof.sample._values import read

SIZE = pl.Enum(["small", "medium", "large"])
FRAME = pl.DataFrame(
    {
        "age": [20, 35, 50, 65],
        "share of y": [0.5, 1.0, -2.5, 1e9],
        "town": ["Oslo", "Rome", "O'Hare", "2020-01-01"],
        "size": pl.Series(["small", "large", "medium", "small"], dtype=SIZE),
        "day": [date(2020, 1, 1), date(2020, 2, 1), date(2021, 3, 4), date(2022, 1, 1)],
        "at": [datetime(2020, 1, 1, 6), datetime(2020, 1, 1, 18)] * 2,
        "married": [True, False, True, False],
    }
)
QUERIES = (
    "age < 50",
    "30 <= age < 50 or town == 'Oslo'",
    "not (age == 20)",
    "`share of y` > 0.9 and age != 35",
    'town in ["Oslo", "O\'Hare"]',
    "town not in ['Oslo']",
    "town == '2020-01-01'",
    "size >= 'medium'",
    "size == 'small'",
    "day <= '2020-02-01'",
    "day >= '2020-01-15' and day <= '2021-12-31'",
    "at > '2020-01-01 12:00'",
    "married",
    "~married & age > 20",
    "married == True",
    "`share of y` in [1, 0.5]",
)


@pytest.mark.parametrize("query", QUERIES)
def test_an_expression_selects_the_rows_of_its_query(query):
    _, values, columns = read(FRAME, "x")
    coded = {
        column.name: CodedColumn(column, numbers)
        for column, numbers in zip(columns, values.T, strict=True)
    }
    expected = np.flatnonzero(select(query, coded, len(values)))
    found = FRAME.with_row_index("row").filter(polars_expression(query))["row"]
    assert 0 < len(expected) < 4
    assert found.to_list() == expected.tolist()


def test_a_missing_value_equals_nothing():
    frame = pl.DataFrame({"a": [1.0, None, float("nan"), 3.0], "t": ["u", None, "v", "w"]})
    pandas = frame.to_pandas()
    numbers = ("a > 0", "a != 1", "not (a > 2)", "a in [3]")
    for query in (*numbers, "t == 'u'", "t not in ['u']"):
        found = frame.filter(polars_expression(query))
        assert found.height == len(pandas.query(query)), query


def test_slices_of_a_polars_frame_are_filters():
    rng = np.random.default_rng(0)
    n = 400
    x = pl.DataFrame(
        {
            "dose": rng.uniform(-2, 2, n),
            "town": rng.choice(["Oslo", "Rome", "Graz"], n),
            "day": pl.date_range(date(2020, 1, 1), date(2021, 2, 3), eager=True)[:n],
        }
    )
    x = x.sample(fraction=1.0, shuffle=True, seed=0)
    late = (x["day"] > date(2020, 10, 1)).to_numpy()
    in_rome = (x["town"] == "Rome").to_numpy()
    bias = 2.0 * (in_rome & (x["dose"].to_numpy() > 0)) + 1.5 * late
    y = bias + rng.standard_normal(n)
    report = cg.check((np.zeros(n), np.ones(n)), x, y, rng=0, by="town")
    frame = report.frame().with_row_index("row")
    parts = [*report.slices, *report.groups]
    assert len(report.slices) >= 2
    for part in parts:
        assert frame.filter(part.polars)["row"].to_list() == part.rows.tolist()


def test_a_slice_of_a_mask_is_no_expression():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 60))
    report = cg.check((0.0 * x, 1.0 + 0 * x), x, y, rng=0, slices=[x > 0.5])
    named = next(part for part in report.groups if not part.query)
    with pytest.raises(InputError, match=r"named by a mask.*frame\[slice\.rows\]"):
        _ = named.polars


def test_what_is_no_query_is_no_expression():
    with pytest.raises(QueryError, match="is expected"):
        polars_expression("age <")
