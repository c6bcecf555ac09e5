"""Odd data, odd options and models that misbehave: a right answer, or one `CondgofError`.

``CONDGOF_FUZZ=2000`` tries 2,000 examples of each; `make test` tries 15. The cases of
`fuzz_cases`, which are compared with plain copies of their data, run for as long as
``make fuzz MINUTES=60`` says; here some of them, and all that once failed, run again.
"""

import warnings
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import condgof as cg
import fuzz_cases
import seeds
from condgof.errors import CondgofError, CondgofWarning

FUZZ = settings(
    max_examples=seeds.examples(15),
    deadline=None,
    derandomize=not seeds.ASKED,
    suppress_health_check=list(HealthCheck),
)
TESTS = [cg.check, cg.adaptive, cg.kcsd, cg.calibration]
ROWS = st.sampled_from([0, 1, 2, 3, 4, 12, 40])

NUMBERS = st.sampled_from(
    [
        lambda rng, n: rng.normal(size=n),
        lambda rng, n: np.zeros(n),
        lambda rng, n: rng.integers(0, 3, n),
        lambda rng, n: rng.normal(size=n) * 1e300,
        lambda rng, n: rng.normal(size=n) * 1e-300,
        lambda rng, n: 1e15 + rng.normal(size=n),
        lambda rng, n: rng.integers(0, 2, n).astype(bool),
        lambda rng, n: np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        lambda rng, n: np.where(rng.random(n) < 0.2, np.inf, rng.normal(size=n)),
        lambda rng, n: np.where(np.arange(n) == 0, 1e308, rng.normal(size=n)),
        lambda rng, n: rng.normal(size=n).astype(np.float32),
        lambda rng, n: rng.normal(size=n).astype(np.float16),
        lambda rng, n: rng.normal(size=n).astype(np.longdouble),
        lambda rng, n: rng.integers(0, 200, n).astype(np.uint8),
        lambda rng, n: rng.normal(size=n) + 0j,
        lambda rng, n: np.ma.masked_greater(rng.normal(size=n), 1.0),
        lambda rng, n: np.array(["a", "b", "ü"] * n)[:n],
        lambda rng, n: np.array([b"1", b"2"] * n)[:n],
        lambda rng, n: np.datetime64("2020-01-01") + np.arange(n).astype("m8[D]"),
        lambda rng, n: np.arange(n) * np.timedelta64(1, "D"),
    ]
)
ENTRIES = [
    None,
    1,
    2.5,
    True,
    "a",
    "1,5",
    "",
    float("nan"),
    float("inf"),
    10**400,
    -(10**30),
    Decimal("1.5"),
    date(2020, 1, 1),
    datetime(2020, 1, 1),
    pd.NaT,
    pd.NA,
    b"1",
    [1, 2],
    object(),
    "\ud800",
    1 + 2j,
]
OBJECTS = st.lists(st.sampled_from(range(len(ENTRIES))), min_size=1, max_size=3)


@st.composite
def columns(draw, n):
    """One column of n rows, as an array or a list of anything."""
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    if draw(st.integers(0, 4)):
        return draw(NUMBERS)(rng, n)
    some = [ENTRIES[i] for i in draw(OBJECTS)]
    values = np.empty(n, dtype=object)
    for i in range(n):
        values[i] = some[i % len(some)] if draw(st.booleans()) or i < 3 else 1.0
    return values


def series(values):
    """Return a Series; pandas fails to make one of 10**400, unless it knows the type."""
    return pd.Series(values, dtype=object) if values.dtype == object else pd.Series(values)


def as_array(draw, n, parts):
    return np.column_stack([np.asarray(part, dtype=object) for part in parts])


def as_one(draw, n, parts):
    return parts[0]


def as_column(draw, n, parts):
    return np.asarray(parts[0]).reshape(n, 1)


def as_list(draw, n, parts):
    return list(parts[0])


def as_rows(draw, n, parts):
    return [list(row) for row in zip(*parts, strict=True)]


def as_series(draw, n, parts):
    return series(parts[0])


def as_frame(draw, n, parts):
    several = [["a", "b", "c"], [0, 1, 2], ["", " ", "\n"], [("a", 1), None, 1.5]]
    names = draw(st.sampled_from(several))
    frame = pd.DataFrame({i: series(part) for i, part in enumerate(parts)})
    return frame.set_axis(names[: len(parts)], axis=1)


def as_names_twice(draw, n, parts):
    return pd.DataFrame(np.ones((n, 2)), columns=["a", "a"])


def as_category(draw, n, parts):
    names = [str(value)[:5] for value in parts[0]]
    return pd.DataFrame({"c": pd.Categorical(names, ordered=draw(st.booleans()))})


def as_polars(draw, n, parts):
    text = ["u", "v"] * (n // 2) + ["u"] * (n % 2)
    return pl.DataFrame({"a": np.arange(n) * 1.0, "b": text})


def as_polars_lazy(draw, n, parts):
    return as_polars(draw, n, parts).lazy()


def as_deep_array(draw, n, parts):
    return np.zeros((n, 2, 2))


def as_no_columns(draw, n, parts):
    return np.zeros((n, 0))


def as_scalar(draw, n, parts):
    return 1.0


def as_none(draw, n, parts):
    return None


def as_dict(draw, n, parts):
    return {"a": [1.0] * n}


def as_generator(draw, n, parts):
    return (float(i) for i in range(n))


def as_pandas_types(draw, n, parts):
    kinds = ["Int64", "Float64", "boolean", "string", "Sparse[float]", "int64[pyarrow]"]
    kind = draw(st.sampled_from(kinds))
    return pd.DataFrame({"a": pd.Series(np.arange(n) % 2).astype(kind), 5: np.arange(n)})


#: Forms in which users may have x and y, right ones and wrong ones.
FORMS = [
    as_array,
    as_one,
    as_column,
    as_list,
    as_rows,
    as_series,
    as_frame,
    as_names_twice,
    as_category,
    as_polars,
    as_polars_lazy,
    as_deep_array,
    as_no_columns,
    as_scalar,
    as_none,
    as_dict,
    as_generator,
    as_pandas_types,
]


@st.composite
def tables(draw, n, most=3):
    """X or y of n rows in some form."""
    parts = [draw(columns(n)) for _ in range(draw(st.integers(1, most)))]
    form = draw(st.sampled_from(FORMS))
    return form(draw, n, parts)


def answer(test, model, x, y, **options):
    """Run a test; what is not a result with a p-value must be one `CondgofError`."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CondgofWarning)
        # NumPy warns of a list of masked entries, which then are NaN.
        warnings.filterwarnings("ignore", "Warning: converting a masked element")
        try:
            result = test(model, x, y, **options)
        except CondgofError:
            return None
    result = getattr(result, "result", result)
    assert 0.0 < result.pvalue <= 1.0
    assert np.isfinite(result.statistic)
    assert str(result)
    return result


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.__name__)
@FUZZ
@given(data=st.data(), n=ROWS, classes=st.integers(0, 5))
def test_forms_of_x_and_y(test, data, n, classes):
    x = data.draw(tables(n))
    y = data.draw(tables(n, most=2))
    plain = np.arange(n) * 0.1
    # In half of the examples, one of the two is as it should be.
    if data.draw(st.booleans()):
        if data.draw(st.booleans()):
            y = plain
        else:
            x = plain
    model = (np.zeros(n), np.ones(n))
    if classes == 0:
        model = cg.probabilities(np.full((max(n, 1), 2), 0.5))
    answer(test, model, x, y, n_boot=19, rng=0)


ODD = st.sampled_from(
    [
        None,
        True,
        False,
        -1,
        0,
        1,
        2.5,
        float("nan"),
        float("inf"),
        10**400,
        "",
        "auto",
        "wild",
        b"1",
        [],
        [1],
        {},
        (),
        np.array([1, 2]),
        np.float64(0.5),
        np.int64(7),
        np.bool_(True),
        object(),
        1j,
        lambda: 1,
        int,
        "\ud800",
        Decimal("0.5"),
        pd.Series([1.0]),
        np.datetime64("NaT", "D"),
    ]
)
NAMES = {
    cg.check: [
        "alpha",
        "n_boot",
        "rng",
        "by",
        "tolerance",
        "slices",
        "groups",
        "dependence",
        "missing",
    ],
    cg.adaptive: [
        "n_boot",
        "rng",
        "groups",
        "dependence",
        "missing",
        "engine",
        "scale_x",
        "null",
        "precision",
    ],
    cg.kcsd: [
        "n_boot",
        "rng",
        "kernel_x",
        "kernel_y",
        "solver",
        "null",
        "memory",
        "standardize",
        "engine",
        "scale_x",
        "precision",
        "groups",
        "dependence",
        "missing",
    ],
    cg.calibration: ["n_boot", "rng", "missing", "engine"],
}


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.__name__)
@FUZZ
@given(data=st.data())
def test_options(test, data):
    x = np.linspace(-1, 1, 30)
    y = np.random.default_rng(0).normal(size=30)
    names = data.draw(
        st.lists(st.sampled_from(NAMES[test]), min_size=1, max_size=2, unique=True)
    )
    options = {"n_boot": 19, "rng": 0} | {name: data.draw(ODD) for name in names}
    answer(test, (np.zeros(30), np.ones(30)), x, y, **options)


class Misbehaving(cg.Law):
    """A law whose methods return, or raise, what `answers` has for them."""

    def __init__(self, n, answers):
        self.count = n
        self.answers = answers

    @property
    def rows(self):
        return self.count

    def take(self, rows):
        return type(self)(len(rows), self.answers)


def misbehaving_class(names):
    """Return a class of laws that have these methods."""

    def method(name):
        return lambda self, y: give(self.answers[name], y)

    return type("Misbehaving", (Misbehaving,), {name: method(name) for name in names})


def give(answer, y):
    """Raise an answer that is an exception, and return one that is a function of y."""
    if isinstance(answer, Exception):
        raise type(answer)(*answer.args)
    return answer(y)


class Torchlike:
    """A tensor that wants to be detached first."""

    def __init__(self, values):
        self.values = values

    def detach(self):
        return self

    def cpu(self):
        return self.values

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("call detach first")


ANSWERS = st.sampled_from(
    [
        lambda y: -np.asarray(y),
        lambda y: None,
        lambda y: 0.5,
        lambda y: "text",
        lambda y: b"12",
        lambda y: {},
        lambda y: np.asarray(y)[:-1],
        lambda y: np.asarray(y) * np.nan,
        lambda y: np.asarray(y) * np.inf,
        lambda y: [None] * len(y),
        lambda y: np.zeros((len(y), 3)),
        lambda y: np.zeros((2, 2, 2)),
        lambda y: Torchlike(-np.asarray(y)),
        lambda y: (float(v) for v in np.ravel(y)),
        lambda y: np.full(np.shape(y), 1e300),
        lambda y: 1j * np.asarray(y),
        lambda y: np.full(np.shape(y), 0.5),
        lambda y: np.full(np.shape(y), -0.5),
        ValueError("no"),
        ZeroDivisionError("division"),
        KeyError("k"),
        RuntimeError("CUDA"),
        IndexError("i"),
        AttributeError("a"),
        NotImplementedError(),
        StopIteration(),
        MemoryError(),
        np.linalg.LinAlgError("singular"),
    ]
)


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.__name__)
@FUZZ
@given(data=st.data())
def test_models_that_misbehave(test, data):
    x = np.linspace(-1, 1, 30)
    y = np.random.default_rng(0).normal(size=30)
    methods = st.sampled_from(["score", "cdf", "log_prob", "normal_scores", "sample", "sf"])
    names = data.draw(st.lists(methods, min_size=1, max_size=3, unique=True))
    answers = {name: data.draw(ANSWERS) for name in names}
    first = answers[names[0]]

    def call(*arguments):
        return give(first, arguments[0])

    class Classifier:
        predict_proba = staticmethod(call)

    models = [
        lambda: misbehaving_class(names)(30, answers),
        lambda: cg.models.Model(call),
        lambda: cg.from_score(call),
        lambda: cg.from_log_prob(call),
        lambda: cg.models.Normal(mean=call, std=1.0),
        lambda: cg.from_scipy(call),
        Classifier,
    ]
    make = data.draw(st.sampled_from(models))
    model = make()
    if make is Classifier:
        y = (y > 0).astype(int)
    answer(test, model, x, y, n_boot=19, rng=0)


@settings(FUZZ, max_examples=seeds.examples(8))
@given(case=fuzz_cases.CASES)
def test_answers_are_those_of_a_plain_copy(case):
    fuzz_cases.run_call(case)


@settings(FUZZ, max_examples=seeds.examples(8))
@given(case=fuzz_cases.COMMANDS)
def test_commands_answer_as_of_a_plain_table(case, tmp_path_factory):
    fuzz_cases.run_command(case, tmp_path_factory.mktemp("fuzz"))


@pytest.mark.parametrize("case", fuzz_cases.corpus(), ids=fuzz_cases.path_of)
def test_cases_that_once_failed(case, tmp_path):
    fuzz_cases.run_case(case, tmp_path)
