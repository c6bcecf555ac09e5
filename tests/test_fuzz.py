"""Odd data, odd options and models that misbehave: a right answer, or one `CondgofError`.

``CONDGOF_FUZZ=2000`` (`make fuzz`) tries so many of each; `make test` tries a few.
"""

import os
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
from condgof.errors import CondgofError, CondgofWarning

TIMES = int(os.environ.get("CONDGOF_FUZZ", "0"))
FUZZ = settings(
    max_examples=TIMES or 40,
    deadline=None,
    derandomize=not TIMES,
    suppress_health_check=list(HealthCheck),
)
TESTS = [cg.check, cg.adaptive, cg.kcsd, cg.calibration]
ROWS = st.sampled_from([0, 1, 2, 3, 4, 12, 40])

NUMBERS = st.sampled_from([
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
])  # fmt: skip
ENTRIES = [
    None, 1, 2.5, True, "a", "1,5", "", float("nan"), float("inf"), 10**400, -(10**30), Decimal("1.5"),
    date(2020, 1, 1), datetime(2020, 1, 1), pd.NaT, pd.NA, b"1", [1, 2], object(), "\ud800", 1 + 2j,
]  # fmt: skip
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
    """A Series; pandas itself fails to make one of 10**400, unless it is told the type."""
    return pd.Series(values, dtype=object) if values.dtype == object else pd.Series(values)


@st.composite
def tables(draw, n, most=3):
    """X or y of n rows in some form."""
    parts = [draw(columns(n)) for _ in range(draw(st.integers(1, most)))]
    form = draw(st.sampled_from(
        ["array", "one", "column", "list", "rows", "series", "frame", "twice", "category", "polars",
         "polars lazy", "deep", "nothing", "scalar", "none", "dict", "generator", "pandas types"]
    ))  # fmt: skip
    if form == "array":
        return np.column_stack([np.asarray(part, dtype=object) for part in parts])
    if form == "one":
        return parts[0]
    if form == "column":
        return np.asarray(parts[0]).reshape(n, 1)
    if form == "list":
        return list(parts[0])
    if form == "rows":
        return [list(row) for row in zip(*parts, strict=True)]
    if form == "series":
        return series(parts[0])
    if form == "twice":
        return pd.DataFrame(np.ones((n, 2)), columns=["a", "a"])
    if form == "category":
        return pd.DataFrame(
            {
                "c": pd.Categorical(
                    [str(v)[:5] for v in parts[0]], ordered=draw(st.booleans())
                )
            }
        )
    if form == "pandas types":
        kind = draw(
            st.sampled_from(
                ["Int64", "Float64", "boolean", "string", "Sparse[float]", "int64[pyarrow]"]
            )
        )
        return pd.DataFrame(
            {"a": pd.Series(np.arange(n) % 2).astype(kind), 5: np.arange(n)}
        )
    if form.startswith("polars"):
        frame = pl.DataFrame(
            {"a": np.arange(n) * 1.0, "b": ["u", "v"] * (n // 2) + ["u"] * (n % 2)}
        )
        return frame.lazy() if form == "polars lazy" else frame
    if form == "frame":
        names = draw(
            st.sampled_from(
                [["a", "b", "c"], [0, 1, 2], ["", " ", "\n"], [("a", 1), None, 1.5]]
            )
        )
        frame = pd.DataFrame({i: series(part) for i, part in enumerate(parts)})
        return frame.set_axis(names[: len(parts)], axis=1)
    return {
        "deep": np.zeros((n, 2, 2)), "nothing": np.zeros((n, 0)), "scalar": 1.0, "none": None,
        "dict": {"a": [1.0] * n}, "generator": (float(i) for i in range(n)),
    }[form]  # fmt: skip


def answer(test, model, x, y, **options):
    """Ask; whatever is not a result with a p-value must be one `CondgofError`."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CondgofWarning)
        # NumPy's own word on a list of masked entries, which then are NaN.
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
    x, y = data.draw(tables(n)), data.draw(tables(n, most=2))
    if data.draw(st.booleans()):
        x, y = (
            (x, np.arange(n) * 0.1) if data.draw(st.booleans()) else (np.arange(n) * 0.1, y)
        )
    model = (
        (np.zeros(n), np.ones(n))
        if classes
        else cg.probabilities(np.full((max(n, 1), 2), 0.5))
    )
    answer(test, model, x, y, n_boot=19, rng=0)


ODD = st.sampled_from([
    None, True, False, -1, 0, 1, 2.5, float("nan"), float("inf"), 10**400, "", "auto", "wild", b"1", [],
    [1], {}, (), np.array([1, 2]), np.float64(0.5), np.int64(7), np.bool_(True), object(), 1j, lambda: 1,
    int, "\ud800", Decimal("0.5"), pd.Series([1.0]), np.datetime64("NaT", "D"),
])  # fmt: skip
NAMES = {
    cg.check: ["alpha", "n_boot", "rng", "by", "tolerance", "slices", "groups", "dependence", "missing"],
    cg.adaptive: ["n_boot", "rng", "groups", "dependence", "missing", "engine", "scale_x", "null",
                  "precision"],
    cg.kcsd: ["n_boot", "rng", "kernel_x", "kernel_y", "solver", "null", "memory", "standardize",
              "engine", "scale_x", "precision", "groups", "dependence", "missing"],
    cg.calibration: ["n_boot", "rng", "missing", "engine"],
}  # fmt: skip


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


class Liar(cg.Law):
    """A law whose methods return, or raise, whatever they are told to."""

    def __init__(self, n, said):
        self.count, self.said = n, said

    @property
    def rows(self):
        return self.count

    def take(self, rows):
        return Liar(len(rows), self.said)

    def _say(self, name, y):
        value = self.said[name]
        if isinstance(value, Exception):
            raise type(value)(*value.args)
        return value(y) if callable(value) else value


def liar(names):
    """A class of laws that have these methods."""
    methods = {name: lambda self, y, _name=name: self._say(_name, y) for name in names}
    return type(
        "Liar",
        (Liar,),
        {**methods, "take": lambda self, rows: liar(names)(len(rows), self.said)},
    )


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


SAYS = st.sampled_from([
    lambda y: -np.asarray(y), lambda y: None, lambda y: 0.5, lambda y: "text", lambda y: b"12",
    lambda y: {}, lambda y: np.asarray(y)[:-1], lambda y: np.asarray(y) * np.nan,
    lambda y: np.asarray(y) * np.inf,
    lambda y: [None] * len(y), lambda y: np.zeros((len(y), 3)), lambda y: np.zeros((2, 2, 2)),
    lambda y: Torchlike(-np.asarray(y)), lambda y: (float(v) for v in np.ravel(y)),
    lambda y: np.full(np.shape(y), 1e300), lambda y: 1j * np.asarray(y),
    lambda y: np.full(np.shape(y), 0.5), lambda y: np.full(np.shape(y), -0.5),
    ValueError("no"), ZeroDivisionError("division"), KeyError("k"), RuntimeError("CUDA"),
    IndexError("i"), AttributeError("a"), NotImplementedError(), StopIteration(), MemoryError(),
    np.linalg.LinAlgError("singular"),
])  # fmt: skip


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.__name__)
@FUZZ
@given(data=st.data())
def test_models_that_misbehave(test, data):
    x = np.linspace(-1, 1, 30)
    y = np.random.default_rng(0).normal(size=30)
    asked = st.sampled_from(["score", "cdf", "log_prob", "normal_scores", "sample", "sf"])
    names = data.draw(st.lists(asked, min_size=1, max_size=3, unique=True))
    said = {name: data.draw(SAYS) for name in names}
    first = said[names[0]]

    def call(*arguments):
        if isinstance(first, Exception):
            raise type(first)(*first.args)
        return first(arguments[0])

    kind = data.draw(
        st.sampled_from(
            ["law", "model", "score", "log_prob", "mean", "scipy", "predict_proba"]
        )
    )
    model = {
        "law": lambda: liar(names)(30, said),
        "model": lambda: cg.models.Model(call),
        "score": lambda: cg.from_score(call),
        "log_prob": lambda: cg.from_log_prob(call),
        "mean": lambda: cg.models.Normal(mean=call, std=1.0),
        "scipy": lambda: cg.from_scipy(call),
        "predict_proba": lambda: type(
            "Classifier", (), {"predict_proba": staticmethod(call)}
        )(),
    }[kind]()
    y = (y > 0).astype(int) if kind == "predict_proba" else y
    answer(test, model, x, y, n_boot=19, rng=0)
