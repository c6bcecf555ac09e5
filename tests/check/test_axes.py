"""What a condition says in words, what its query finds, and the rows it stands for are the
same.
"""

import re
import string

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condgof.check import (
    axes_of,
    axis_of,
    digits,
    frame_of,
    literal,
    quoted,
    unique_names,
)
from condgof.check.kinds import ContinuousRows, RowTable
from condgof.laws import Moments
from condgof.sample import Column, Sample
from seeds import examples

DAY = 86_400_000_000


def checked_rows_of(columns, x, predicted=None):
    """Rows 1, 4, 7, … of a table, with columns of x and at most one prediction."""
    x = np.asarray(x, dtype=float)
    n = len(x)
    predictions = [] if predicted is None else [(Column("predicted"), predicted)]
    moments = None
    if predicted is not None:
        moments = Moments(location=predicted[:, None], scale=np.ones((n, 1)))
    table = RowTable(
        rows=np.arange(n) * 3 + 1,
        x_columns=tuple(columns),
        x=x,
        y_columns=(Column("y"),),
        y=np.zeros((n, 1)),
        whole=n,
        axes=axes_of(columns, x, predictions),
    )
    return ContinuousRows(
        table=table, comparison={}, moments=moments, z=np.zeros((n, 1)), draws=0
    )


def axis(values, name="v", **kind):
    return axis_of(Column(name, **kind), np.asarray(values, dtype=float), name)


def said(axis, bins=20):
    cut = axis.cut(bins)
    return [axis.condition(cut, i, j) for i, j in cut.ranges]


def words(*arguments, **kind):
    return [condition.words for condition in said(axis(*arguments, **kind))]


LEVELS = st.lists(st.text(max_size=6), min_size=2, max_size=6, unique=True).map(tuple)
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e5, 1e5).map(lambda v: round(v, 2)),
    st.sampled_from(
        [0.1, 0.2, 0.1 + 0.2, 0.3, -0.0, 0.0, 5e-324, 1e-7, 2.0**53, 1e300, 1e5, 99999.5]
    ),
)
INTEGERS = st.one_of(
    st.integers(-(2**53) + 1, 2**53 - 1), st.integers(-3, 12), st.integers(1900, 2030)
)
#: From 1900 to 2250; half of them at midnight.
MOMENTS = st.one_of(
    st.integers(-25_000, 100_000).map(lambda d: d * DAY),
    st.integers(-25_000 * DAY, 100_000 * DAY),
)


@st.composite
def columns(draw, name="v"):
    """A column and its values."""
    n = draw(st.integers(4, 30))
    kind = draw(
        st.sampled_from(["numbers", "integers", "boolean", "dates", "levels", "ordered"])
    )
    if kind in ("levels", "ordered"):
        levels = draw(LEVELS)
        codes = st.integers(0, len(levels) - 1)
        column = Column(name, levels, ordered=kind == "ordered")
        return column, np.array(draw(st.lists(codes, min_size=n, max_size=n)), dtype=float)
    several = {
        "numbers": NUMBERS,
        "integers": INTEGERS,
        "boolean": st.sampled_from([0.0, 1.0]),
        "dates": MOMENTS.map(lambda ticks: ticks / DAY),
    }
    values = several[kind]
    if draw(st.booleans()):
        values = st.sampled_from(draw(st.lists(values, min_size=2, max_size=4)))
    found = np.array(draw(st.lists(values, min_size=n, max_size=n)), dtype=float)
    return Column(name, dates=kind == "dates", boolean=kind == "boolean"), found


def holds(condition, axis, values):
    """Tell in which rows the words are true, reading them as a person would."""
    text = condition.words
    if axis.levels is not None and axis.kind != "two":
        first, *last = re.fullmatch(r"v (?:=|from) (.*)", text, re.DOTALL)[1].split(" to ")
        names = [literal(level) for level in axis.levels] + list(axis.levels)
        places = [names.index(name) % len(axis.levels) for name in (first, *last)]
        return (places[0] <= values) & (values <= places[-1])
    if axis.kind == "dates":
        values = np.rint(values * DAY).astype(np.int64)

        def number(text):
            return np.datetime64(text.replace(" ", "T"), "us").astype(np.int64)

    else:
        flags = {"True": 1.0, "False": 0.0}

        def number(text):
            return flags[text] if text in flags else float(text.replace(",", ""))

    found = re.fullmatch(r"(?:(?P<low>\S.*) ≤ )?v(?: (?P<sign>[≤<≥=]) (?P<end>.*))?", text)
    true = np.ones(len(values), dtype=bool)
    if found["low"]:
        true &= number(found["low"]) <= values
    end = number(found["end"])
    sign = found["sign"]
    compare = {"≤": np.less_equal, "<": np.less, "≥": np.greater_equal, "=": np.equal}
    return true & compare[sign](values, end)


@settings(deadline=None, max_examples=examples(25))
@given(columns(), st.integers(2, 9))
def test_words_are_true_of_exactly_their_rows(given, bins):
    column, values = given
    one = axis_of(column, values, "v")
    if one is None:
        assert np.ptp(values) == 0
        return
    plain = all(" to " not in level and " and " not in level for level in one.levels or ())
    cut = one.cut(bins)
    assert set(cut.codes) == set(range(cut.count))
    for first, last in cut.ranges:
        inside = (first <= cut.codes) & (cut.codes <= last)
        assert 0 < inside.sum() < len(inside)
        if plain:
            condition = one.condition(cut, first, last)
            np.testing.assert_array_equal(
                holds(condition, one, values), inside, condition.words
            )


NAMES = st.one_of(
    st.text(max_size=8),
    st.text(string.ascii_letters + string.digits + string.punctuation + " ", max_size=10),
    st.sampled_from(
        [
            "class",
            "in",
            "True",
            "floor",
            "index",
            "inf",
            "a (b)",
            "a b_c",
            "a b c",
            "µg",
            "__a__",
        ]
    ),
)


@settings(deadline=None, max_examples=examples(40))
@given(st.data())
def test_queries_find_exactly_their_rows(data):
    names = data.draw(st.lists(NAMES, min_size=2, max_size=3, unique=True))
    drawn = [data.draw(columns(name)) for name in names]
    n = min(len(values) for _, values in drawn)
    checked = checked_rows_of(
        [column for column, _ in drawn], np.column_stack([v[:n] for _, v in drawn])
    )
    frame = frame_of(checked)
    both = []
    for one in checked.axes:
        cut = one.cut(data.draw(st.integers(2, 6)))
        if not len(cut.ranges):
            continue
        first, last = cut.ranges[data.draw(st.integers(0, len(cut.ranges) - 1))]
        condition = one.condition(cut, first, last)
        inside = (first <= cut.codes) & (cut.codes <= last)
        both.append((condition.query, inside))
        assert condition.column == one.name
    if len(both) > 1:
        both.append((f"{both[0][0]} and {both[1][0]}", both[0][1] & both[1][1]))
    for query, inside in both:
        for engine in ("python", "numexpr"):
            found = frame.query(query, engine=engine)
            assert list(found.index) == list(checked.rows[inside]), query


class TestWords:
    def test_integers_have_their_observed_ends(self):
        ages = np.repeat([18, 29, 30, 31, 47, 48, 70], 10)
        one = axis(ages, "age")
        cut = one.cut(3)
        assert (one.kind, cut.count) == ("integers", 3)
        found = [c.words for c in said(one, 3)]
        assert found == ["age ≤ 29", "age ≤ 47", "30 ≤ age ≤ 47", "age ≥ 30", "age ≥ 48"]
        assert said(one, 3)[2].query == "age >= 30 and age <= 47"

    def test_one_integer(self):
        children = axis([0, 0, 1, 1, 2, 2], "children")
        assert [c.words for c in said(children)][::2] == [
            "children = 0",
            "children = 1",
            "children = 2",
        ]

    def test_numbers_have_the_shortest_bounds(self):
        v = [31.04, 20.123456, 31.1234567, 40.0123456, 47.4999999, 47.51234567]
        assert words(v, "age")[:3] == ["age < 30", "age < 31.1", "age < 40"]
        one = axis(v, "age")
        cut = one.cut(3)
        assert one.condition(cut, 1, 1).words == "31.1 ≤ age < 44"
        assert one.condition(cut, 1, 1).query == "age >= 31.1 and age < 44"

    def test_thousands_have_commas_from_ten_thousand_on_and_years_have_none(self):
        assert words([1e4, 5e4, 2e6, 3e6])[0] == "v = 10,000"
        assert (
            said(axis([12345.678, 1e5 + 0.123456789, 1e6 + 0.123456789, 9.5]))[0].query
            == "v == 9.5"
        )
        assert words([1e4 + 1 / 3, 5e4 + 1 / 3, 2e6 + 1 / 3])[0] == "v < 30,000"
        assert words([1950, 1990, 2020], "year")[1] == "year ≤ 1990"

    def test_two_values_are_levels(self):
        married = axis([0, 1, 1, 0], "married")
        assert (married.kind, married.levels) == ("two", ("0", "1"))
        assert [(c.words, c.query) for c in said(married)] == [
            ("married = 0", "married == 0"),
            ("married = 1", "married == 1"),
        ]
        assert words([0, 1, 1], "member", boolean=True) == [
            "member = False",
            "member = True",
        ]
        # Of a standardised one no value is short: there is a number between them.
        assert words([-0.57735026918, 1.7320508075688, 1.7320508075688]) == [
            "v < 0.6",
            "v ≥ 0.6",
        ]

    def test_dates_are_dates(self):
        days = np.array(
            ["2020-02-20", "2020-03-01T14:00", "2020-05-31T23:00", "2020-06-01"], "M8[us]"
        )
        day = axis(days.astype(np.int64) / DAY, "day", dates=True)
        cut = day.cut(20)
        assert day.condition(cut, 1, 2).words == "2020-03-01 ≤ day < 2020-06-01"
        assert (
            day.condition(cut, 1, 2).query == 'day >= "2020-03-01" and day < "2020-06-01"'
        )
        assert day.condition(cut, 0, 0).words == "day = 2020-02-20"
        assert day.condition(cut, 2, 3).words == "day ≥ 2020-05-31"
        assert day.condition(cut, 0, 1).words == "day < 2020-05-31"
        zoned = axis(days.astype(np.int64) / DAY, "day", dates=True, utc=True)
        assert zoned.title == "day (UTC)"
        assert zoned.condition(cut, 1, 2).words == "2020-03-01 ≤ day (UTC) < 2020-06-01"
        assert zoned.condition(cut, 1, 2).query == day.condition(cut, 1, 2).query

    @pytest.mark.parametrize(
        ("moment", "text"),
        [("12:31", "12:31"), ("12:30:31", "12:30:31"), ("12:30:00.25", "12:30:00.250000")],
    )
    def test_moments_of_a_day_have_as_much_time_as_it_takes(self, moment, text):
        moments = [f"2020-03-01T{t}" for t in ("12:30", "12:30", moment, "23:00")]
        days = np.array(moments, "M8[us]").astype(np.int64) / DAY
        assert words(days, "day", dates=True)[-2] == f"day ≥ 2020-03-01 {text}"

    def test_ordered_levels_are_ranges(self):
        grade = axis([0, 1, 2, 3, 3], "grade", levels=tuple("ABCD"), ordered=True)
        found = {c.words: c.query for c in said(grade)}
        assert found["grade from B to D"] == 'grade in ["B", "C", "D"]'
        assert found["grade = B"] == 'grade == "B"'
        assert len(found) == 9

    def test_levels(self):
        one = axis([0, 1, 2, 1], "education", levels=("Advanced", "it's 5\" \\", "a\nb"))
        assert [(c.words, c.query) for c in said(one)] == [
            ("education = Advanced", 'education == "Advanced"'),
            ("education = it's 5\" \\", 'education == "it\'s 5\\" \\\\"'),
            ('education = "a\\nb"', 'education == "a\\nb"'),
        ]

    def test_values_as_people_write_them(self):
        assert [axis([1, 2, 4], "v").text(v) for v in (2020.0, 12345.0, -3.0)] == [
            "2020",
            "12,345",
            "-3",
        ]
        assert [axis([1, 2.5, 4]).text(v) for v in (0.123456, 2103.44, 3e-9)] == [
            "0.1235",
            "2103",
            "3e-09",
        ]
        assert axis([0, 5, 9], dates=True).text(18322.0) == "2020-03-01"
        assert axis([0, 1], levels=("a", "b")).text(1.0) == "b"


class TestCuts:
    def test_bins_are_quantiles(self):
        values = np.random.default_rng(0).standard_normal(1000)
        cut = axis(values).cut(20)
        assert np.abs(np.bincount(cut.codes) - 50).max() <= 25
        assert max(len(c.words) for c in said(axis(values), 20)) <= len("-1.05 ≤ x < -0.85")
        assert len(cut.ranges) == 20 * 21 // 2 - 1

    def test_equal_values_stay_together(self):
        values = np.repeat([0.5, 1.5, 2.5, 3.5], [70, 10, 10, 10])
        assert np.bincount(axis(values).cut(4).codes).tolist() == [70, 10, 10, 10]
        assert np.bincount(axis(values).cut(3).codes).tolist() == [70, 30]

    def test_many_levels_offer_the_largest(self):
        codes = np.concatenate([np.arange(100), np.arange(30, 95), np.arange(30, 90)])
        town = axis(codes, "town", levels=tuple(f"t{i:02}" for i in range(100)))
        cut = town.cut(5)
        assert (cut.count, len(cut.ranges), cut.codes.max()) == (61, 60, 60)
        assert town.condition(cut, 0, 0).words == "town = t30"
        np.testing.assert_array_equal(cut.codes == 60, ~np.isin(codes, np.arange(30, 90)))

    def test_levels_without_rows_have_no_bin(self):
        town = axis([0, 3, 3, 0, 3], levels=tuple("abcd"))
        assert town.cut(5).count == 2
        assert [c.words for c in said(town)] == ["v = a", "v = d"]

    def test_a_million_rows(self):
        rng = np.random.default_rng(0)
        values = rng.standard_normal(1_000_000)
        cut = axis(values).cut(20)
        assert np.abs(np.bincount(cut.codes) / 50_000 - 1).max() <= 0.5


class TestAxes:
    def test_kinds(self):
        x = pd.DataFrame(
            {
                "age": [30, 40, 50, 60],
                "height": [1.5, 1.6, 1.75, 1.8],
                "married": [0, 1, 1, 0],
                "member": [True, False, False, True],
                "town": ["Oslo", "Rome", "Rome", "Bonn"],
                "grade": pd.Categorical(list("CABA"), list("CBA"), ordered=True),
                "day": pd.date_range("2020-03-01", periods=4),
                "same": [1, 1, 1, 1],
            }
        )
        sample = Sample.from_data(x, [1.0, 2.0, 3.0, 5.0])
        said = (Column("predicted"), np.array([1.0, 2.0, 2.0, 1.0]))
        axes = axes_of(sample.x_columns, sample.x, [said])
        assert [one.kind for one in axes] == [
            *(
                "integers",
                "numbers",
                "two",
                "two",
                "levels",
                "ordered",
                "dates",
                "integers",
            ),
        ]
        assert axes[3].levels == ("False", "True")
        assert axes[5].levels == ("C", "B", "A")
        assert [one.predicted for one in axes] == [False] * 7 + [True]

    def test_one_hot_columns_are_one_category(self):
        codes = np.array([0, 1, 2, 3, 3, 1])
        names = ["education_Advanced", "education_Some_college", "education_HS"]
        x = np.column_stack([[5, 6, 7, 8, 9, 9], *[codes == i for i in range(3)]])
        checked = checked_rows_of([Column("age"), *map(Column, names)], x)
        age, education = checked.axes
        assert (age.name, education.name, education.kind) == ("age", "education", "levels")
        assert education.levels == (
            *("Advanced", "Some_college", "HS", "none of Advanced, Some_college, HS"),
        )
        found = {c.words: c.query for c in said(education)}
        assert found["education = Advanced"] == "education_Advanced == 1"
        frame = frame_of(checked)
        assert list(frame.columns[:4]) == ["age", *names]
        for i, query in enumerate(found.values()):
            assert list(frame.query(query).index) == list(checked.rows[codes == i])

    @pytest.mark.parametrize(
        "form", ["town={}", "C(town)[T.{}]", "C(town)[{}]", "town.{}", "a_town_{}"]
    )
    def test_spellings_of_one_hot_columns(self, form):
        x = np.eye(4)[np.arange(12) % 4]
        columns = [Column(form.format(level), boolean=True) for level in "abcd"]
        checked = checked_rows_of(columns, x)
        (town,) = checked.axes
        assert town.levels == tuple("abcd")
        for i, condition in enumerate(said(town)):
            found = frame_of(checked).query(condition.query)
            assert list(found.index) == list(checked.rows[x[:, i] == 1])

    def test_columns_that_are_1_together_are_not(self):
        x = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 0]])
        assert len(checked_rows_of([Column(f"a_{i}") for i in range(3)], x).axes) == 3

    def test_two_categories_that_begin_alike(self):
        x = np.eye(3)[np.arange(9) % 3]
        both = np.column_stack([x, x[:, ::-1]])
        towns = [Column(f"home_town_{i}") for i in range(3)]
        lands = [Column(f"home_land_{i}") for i in range(3)]
        columns = [*towns, *lands]
        assert {one.name for one in checked_rows_of(columns, both).axes} == {
            "home_town",
            "home_land",
        }


AWKWARD = [
    *(
        "a b",
        "a (b)",
        "a - b",
        "a__b",
        "_a",
        "__a__",
        "floor",
        "sum",
        "class",
        "in",
        "True",
        "None",
    ),
    *(
        "x.1",
        "x.01",
        "1.e",
        "0",
        "007",
        "2nd floor",
        "µg",
        "x²",
        "ﬁ",
        "a'b",
        'a"b',
        "a#b",
        "a?",
        "a$",
    ),
    *(
        "50%",
        "a(",
        "a)",
        "a[0]",
        "é",
        "日 本",
        "a@b",
        "index",
        "T",
        "a:b",
        "a;b",
        "a=b",
        "a\\b",
        "a\nb",
    ),
    *(
        "",
        " ",
        "a\tb",
        "nan",
        "inf",
        "and",
        "°C",
        "€",
        "{a}",
        "a|b",
        "`",
        "a`b",
        "a b_c",
        "a b c",
        "M➋",
        "➋",
    ),
    *("¯", "नाम", "नाम दो", "①", "a\u0304"),
    *(
        "C(edu)[T.x]",
        "((a))",
        "BACKTICK_QUOTED_STRING_a_b",
        "Timestamp",
        "datetime",
        "list",
        "Inf",
    ),
]


class TestNames:
    @pytest.mark.parametrize("engine", ["python", "numexpr"])
    def test_every_name_can_be_asked_for(self, engine):
        names = unique_names(AWKWARD, ["predicted"])
        assert len(set(names)) == len(AWKWARD)
        frame = pd.DataFrame(np.eye(len(names)), columns=list(names))
        for i, name in enumerate(names):
            found = frame.query(
                f"{quoted(name)} >= 0.5 and {quoted(name)} < 2", engine=engine
            )
            assert list(found.index) == [i], name

    def test_names_change_only_where_they_must(self):
        kept = [
            "age",
            "income (USD)",
            "class",
            "50%",
            "2 b",
            "a-b",
            "x.01",
            "C(edu)[T.x]",
            "日 本",
            "a/b",
        ]
        assert list(unique_names(kept, ())) == kept
        assert unique_names(["floor", "a`b", "2nd"], ()) == ("floor_", "a_b", "column_2nd")

    def test_predictions_leave_the_users_names_alone(self):
        x = np.column_stack([np.arange(6) / 2, np.arange(6.0)])
        columns = [Column("predicted"), Column("floor")]
        checked = checked_rows_of(columns, x, predicted=np.arange(6.0)[::-1] / 4)
        assert [one.name for one in checked.axes] == [
            "predicted",
            "floor_",
            "condgof_predicted",
        ]
        assert [one.label for one in checked.axes] == [
            "predicted",
            "floor",
            "condgof_predicted",
        ]
        for one in checked.axes:
            cut = one.cut(3)
            found = frame_of(checked).query(one.condition(cut, 0, 1).query)
            assert list(found.index) == list(checked.rows[cut.codes <= 1])

    def test_numbers_keep_their_digits(self):
        assert [digits(v) for v in (-0.0, 1e15, 1e-5, 0.1 + 0.2, 1e22, 5e-324)] == [
            *("0", "1000000000000000", "0.00001", "0.30000000000000004", "1e+22", "5e-324"),
        ]


def test_names_and_texts_as_queries_have_them():
    names = unique_names(["age", "income (USD)", "a`b", "floor", "age"], ["predicted"])
    assert names == ("age", "income (USD)", "a_b", "floor_", "age_2")
    assert literal('5" \\ é') == '"5\\" \\\\ é"'
    assert literal("it's\n") == '"it\'s\\n"'
