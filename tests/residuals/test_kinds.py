"""Every kind of y has every operation: a small example of each, walked over all of them.

A class of residuals without an example fails `test_every_kind_has_an_example`; one that
lacks an operation, here or in a later package, fails the test of that operation.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import condgof as cg
from condgof.check import size_of
from condgof.check.kinds import CheckedRows, RowTable, checked_rows, rows_class
from condgof.errors import UnsupportedModelError
from condgof.kernels import Gaussian
from condgof.laws import as_model, law_of
from condgof.methods import monitored_rows
from condgof.residuals import (
    CensoredResiduals,
    CircularResiduals,
    CircularScoreResiduals,
    ClassResiduals,
    ContinuousResiduals,
    CountCellResiduals,
    CountResiduals,
    FoldedRankResiduals,
    IntervalResiduals,
    JointScoreResiduals,
    LabelResiduals,
    MarginalResiduals,
    MomentResiduals,
    Neighbours,
    NormalScoreResiduals,
    OrderedResiduals,
    QuantileResiduals,
    RankResiduals,
    RatioResiduals,
    Residuals,
    ScoreResiduals,
    SeveralResiduals,
    StatementResiduals,
    few_stretches,
)
from condgof.sample import Column, Sample, Seed
from condgof.stein import RowsInMemory, Units
from own_laws import OfX, model_of
from seeds import examples

N = 150
SEED = Seed.of(0)
LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
#: What several kinds share. No law has residuals of just such a class, although nothing
#: in it is abstract.
SHARED = {NormalScoreResiduals, StatementResiduals}
#: Means are within this many standard errors: of about 200 columns of 20 kinds one is
#: beyond with a probability of 1e-3.
STANDARD_ERRORS = 5.5
#: Columns that vary less than this count as if they varied by it: the standard deviation
#: of an indicator whose probability is 0.02, of which 150 rows may well have none.
SMALLEST_SPREAD = 0.15


# Examples: x, y, and a model that is true of them


class Data(NamedTuple):
    """A sample and what a user passes beside it."""

    x: np.ndarray
    y: np.ndarray
    model: Any
    event: np.ndarray | None = None
    entry: np.ndarray | None = None


@dataclass(frozen=True)
class Example:
    """A kind of y: how to make a sample of it, and what it can do."""

    kind: type[Residuals]
    make: Callable[[np.random.Generator], Data]
    standardize: str = "auto"
    can_resample: bool = True
    can_resample_streams: bool = True
    has_kernel: bool = True  #: Whether a kernel on y can be applied to it.
    can_be_monitored: bool = True


def normal_line(rng):
    """x, and y = x + noise of the standard deviation 0.5 + 0.5x."""
    x = rng.uniform(0, 3, N)
    sd = 0.5 + 0.5 * x
    return x, x + sd * rng.standard_normal(N), sd


def continuous(rng):
    x, y, sd = normal_line(rng)
    return Data(x, y, cg.models.Normal(mean=x, std=sd))


def draws(rng):
    x, y, sd = normal_line(rng)
    return Data(x, y, cg.from_draws(x[:, None] + sd[:, None] * rng.normal(size=(N, 99))))


def pit(rng):
    x, y, sd = normal_line(rng)
    return Data(x, y, cg.from_pit(norm.cdf((y - x) / sd)))


def correlated(x, rng, count):
    """Draw two columns with correlation 0.6 and means x and 2x, (n, count, 2)."""
    a, b = rng.standard_normal((2, N, count))
    mean = x[:, None]
    return np.stack([mean + a, 2 * mean + 0.6 * a + 0.8 * b], axis=-1)


def several(rng):
    x = rng.uniform(0, 3, N)
    covariance = np.tile([[1.0, 0.6], [0.6, 1.0]], (N, 1, 1))
    model = cg.models.Normal(mean=np.column_stack([x, 2 * x]), cov=covariance)
    return Data(x, correlated(x, rng, 1)[:, 0], model)


def vector_draws(rng):
    x = rng.uniform(0, 3, N)
    return Data(x, correlated(x, rng, 1)[:, 0], cg.from_draws(correlated(x, rng, 39)))


def folded_draws(rng):
    """Draws of several columns by two fits, each with its own number of draws."""
    x = rng.uniform(0, 3, N)
    y = correlated(x, rng, 1)[:, 0]

    def fit(x, y):
        count = 20 + len(x) % 3

        def predict(x):
            some = np.random.default_rng(count)
            a, b = some.standard_normal((2, len(x), count))
            mean = np.reshape(x, (-1, 1))
            both = np.stack([mean + a, 2 * mean + 0.6 * a + 0.8 * b], axis=-1)
            return cg.from_draws(both)

        return cg.models.Model(predict)

    in_first = np.arange(N) < N // 2 + 1
    return Data(x, y, cg.crossfit(fit, x, y, folds=2, groups=in_first, rng=0))


class OnlyMoments(OfX):
    """A law with a score, mean and standard deviation, and no CDF."""

    def score(self, y):
        return self.x.reshape(-1, 1) - np.asarray(y).reshape(-1, 1)

    def mean_std(self):
        return self.x.reshape(-1, 1), np.ones((len(self.x), 1))


def moments(rng):
    x = rng.uniform(0, 3, N)
    return Data(x, x + rng.standard_normal(N), model_of(OnlyMoments))


def scores(rng):
    x, y, sd = normal_line(rng)
    return Data(x, y, cg.from_scores(((x - y) / sd**2)[:, None]))


def bounded(rng):
    x = rng.uniform(1, 3, N)
    return Data(x, rng.gamma(3.0, x), cg.models.Gamma(shape=3.0, scale=lambda x: x))


def class_probabilities(x, count):
    logits = 2.0 * x @ np.random.default_rng(3).standard_normal((2, count))
    values = np.exp(logits - logits.max(axis=1, keepdims=True))
    return values / values.sum(axis=1, keepdims=True)


def drawn_classes(rng, count, *, ordered=False):
    x = rng.standard_normal((N, 2))
    p = class_probabilities(x, count)
    y = (rng.random((N, 1)) >= np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
    return Data(x, y, cg.probabilities(p, ordered=ordered))


def classes(rng):
    return drawn_classes(rng, 3)


def two_classes(rng):
    return drawn_classes(rng, 2)


def ordered_classes(rng):
    return drawn_classes(rng, 4, ordered=True)


def poisson_mean(x):
    return 3.0 * np.exp(0.4 * x[:, 0])


def counts(rng):
    x = rng.standard_normal((N, 2))
    return Data(x, rng.poisson(poisson_mean(x)), cg.models.Poisson(mean=poisson_mean))


def ratios(rng):
    x = rng.standard_normal((N, 2))
    model = cg.from_ratio(lambda y, x: poisson_mean(x) / (y + 1))
    return Data(x, rng.poisson(poisson_mean(x)), model)


def large_ratios(rng):
    """Counts so large that their probabilities are not summed up."""
    x = rng.uniform(1, 2, N)
    return Data(x, rng.poisson(1e6 * x), cg.from_ratio(lambda y, x: 1e6 * x / (y + 1)))


def quantiles(rng):
    x, y, sd = normal_line(rng)
    predicted = x[:, None] + sd[:, None] * norm.ppf(LEVELS)
    return Data(x, y, cg.from_quantiles(predicted, LEVELS))


def intervals(rng):
    x, y, sd = normal_line(rng)
    half = norm.ppf(0.95) * sd
    return Data(x, y, cg.from_intervals(x - half, x + half, 0.9))


def nested_intervals(rng):
    x, y, sd = normal_line(rng)
    half = sd[:, None] * norm.ppf([0.75, 0.975])
    centre = x[:, None]
    return Data(x, y, cg.from_intervals(centre - half, centre + half, [0.5, 0.95]))


def censored(rng):
    x = rng.uniform(1, 3, N)
    times = rng.exponential(x)
    until = rng.exponential(4.0, N)
    return Data(
        x=x,
        y=np.minimum(times, until),
        model=cg.models.Exponential(scale=lambda x: x),
        event=times <= until,
    )


def truncated(rng):
    """The same, of rows that are observed only from some time on."""
    data = censored(rng)
    entry = rng.uniform(0, 1, N)
    return data._replace(y=data.y + entry, entry=entry)


def angles(rng):
    x = rng.uniform(0, 3, N)
    model = cg.models.VonMises(mean=100 * x, concentration=2.0, period=360)
    return Data(x, 100 * x + np.rad2deg(rng.vonmises(0, 2.0, N)), model)


def log_density_of_angles(rng):
    data = angles(rng)

    def log_density(y, x):
        return 2.0 * np.cos(np.deg2rad(np.ravel(y) - 100 * x))

    return data._replace(model=cg.from_log_prob(log_density, period=360))


def draws_of_angles(rng):
    data = angles(rng)
    noise = np.rad2deg(rng.vonmises(0, 2.0, (N, 39)))
    return data._replace(model=cg.from_draws(100 * data.x[:, None] + noise, period=360))


EXAMPLES = {
    "continuous": Example(ContinuousResiduals, continuous),
    "draws": Example(ContinuousResiduals, draws),
    "pit": Example(ContinuousResiduals, pit),
    "several columns": Example(SeveralResiduals, several),
    "marginals": Example(
        MarginalResiduals,
        several,
        standardize="marginals",
        can_resample=False,
        can_resample_streams=False,
    ),
    "one marginal": Example(
        MarginalResiduals,
        continuous,
        standardize="marginals",
        can_resample=False,
        can_resample_streams=False,
    ),
    "draws of several columns": Example(RankResiduals, vector_draws),
    "folds of draws": Example(
        FoldedRankResiduals,
        folded_draws,
        can_resample=False,
        can_resample_streams=False,
    ),
    "moments": Example(
        MomentResiduals,
        moments,
        can_resample=False,
        can_resample_streams=False,
        can_be_monitored=False,
    ),
    "moments of several columns": Example(
        MomentResiduals,
        several,
        standardize="mean_std",
        can_resample=False,
        can_resample_streams=False,
    ),
    "scores": Example(
        ScoreResiduals,
        scores,
        can_resample=False,
        can_resample_streams=False,
        can_be_monitored=False,
    ),
    "scores of a bounded y": Example(
        ScoreResiduals,
        bounded,
        standardize="none",
        can_resample=False,
        can_resample_streams=False,
    ),
    "classes": Example(ClassResiduals, classes),
    "two classes": Example(ClassResiduals, two_classes),
    "ordered classes": Example(OrderedResiduals, ordered_classes),
    "labels only": Example(LabelResiduals, classes, standardize="none"),
    "counts": Example(CountResiduals, counts),
    "counts in cells": Example(CountCellResiduals, counts, standardize="none"),
    "counts by ratios": Example(CountCellResiduals, ratios),
    "large counts by ratios": Example(
        RatioResiduals,
        large_ratios,
        can_resample=False,
        can_resample_streams=False,
        can_be_monitored=False,
    ),
    "quantiles": Example(QuantileResiduals, quantiles),
    "intervals": Example(IntervalResiduals, intervals),
    "nested intervals": Example(IntervalResiduals, nested_intervals),
    "censored": Example(
        CensoredResiduals,
        censored,
        can_resample_streams=False,
        has_kernel=False,
        can_be_monitored=False,
    ),
    "truncated": Example(
        CensoredResiduals,
        truncated,
        can_resample_streams=False,
        has_kernel=False,
        can_be_monitored=False,
    ),
    "angles": Example(
        CircularResiduals, angles, can_resample_streams=False, can_be_monitored=False
    ),
    "log-density of angles": Example(
        CircularResiduals,
        log_density_of_angles,
        can_resample_streams=False,
        can_be_monitored=False,
    ),
    "draws of angles": Example(
        CircularResiduals,
        draws_of_angles,
        can_resample_streams=False,
        can_be_monitored=False,
    ),
    "scores of angles": Example(
        CircularScoreResiduals,
        log_density_of_angles,
        standardize="none",
        can_resample=False,
        can_resample_streams=False,
        can_be_monitored=False,
    ),
}
#: Scores of several models come from several laws: only comparisons have them.
JOINT_SCORES = "joint scores"
KINDS = [*EXAMPLES, JOINT_SCORES]


class Prepared(NamedTuple):
    """An example, compared with its law."""

    data: Data
    law: Any
    rows: RowsInMemory


@cache
def prepared(name):
    example = EXAMPLES[name]
    data = example.make(np.random.default_rng(7))
    model = as_model(data.model)
    if data.event is not None:
        model = cg.models.censored(model, data.event, data.entry)
    sample = Sample.from_data(data.x, data.y)
    law = law_of(model, sample)
    units = Units(standardize=example.standardize)
    return Prepared(data, law, RowsInMemory.from_law(law, sample, units))


@cache
def joint_scores():
    rng = np.random.default_rng(7)
    u = rng.standard_normal((N, 2))
    return JointScoreResiduals(u=u, scores=np.hstack([-u, -u / 2]))


def residuals_of_kind(name):
    return joint_scores() if name == JOINT_SCORES else prepared(name).rows.residuals


def neighbours_of(name):
    residuals = residuals_of_kind(name)
    if name == JOINT_SCORES:
        return Neighbours(residuals.u, (Column("a"), Column("b")), SEED)
    return prepared(name).rows.neighbours(SEED)


def y_names_of(name):
    if name == JOINT_SCORES:
        return ["a", "b"]
    return [column.name for column in prepared(name).rows.sample.y_columns]


def test_functions_of(name):
    """Those of the adaptive test; of joint scores, those of a kernel, which serve all."""
    residuals = residuals_of_kind(name)
    if name == JOINT_SCORES:
        return kernel_functions(residuals)
    return residuals.test_functions(SEED)


test_functions_of.__test__ = False  # pytest takes it for a test by its name


def kernel_functions(residuals):
    kernel = residuals.ready_kernel(Gaussian(), SEED)
    rng = np.random.default_rng(0)
    return residuals.kernel_test_functions(
        kernel, rng, precision=1e-3, cap=40, single=False
    )


# All kinds are here


def all_subclasses(cls):
    for one in cls.__subclasses__():
        yield one
        yield from all_subclasses(one)


def concrete_kinds():
    """All classes of residuals in condgof of which there can be instances."""
    return {
        kind
        for kind in all_subclasses(Residuals)
        if kind.__module__.startswith("condgof.") and not inspect.isabstract(kind)
    }


def test_every_kind_has_an_example():
    examples = {example.kind for example in EXAMPLES.values()} | {JointScoreResiduals}
    assert concrete_kinds() - SHARED == examples


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_law_has_residuals_of_its_kind(name):
    assert type(prepared(name).rows.residuals) is EXAMPLES[name].kind


# Rows


def row_fields(residuals):
    """Return the arrays of residuals, which have a row for each row of the sample.

    What y could have been (`outcomes`) is compared by itself.
    """
    values = {field.name: getattr(residuals, field.name) for field in fields(residuals)}
    values.pop("outcomes", None)
    predicted = values.pop("predicted", None)  # of angles, arrays by row as well
    if predicted is not None:
        values |= vars(predicted)
    steps = values.pop("steps", None)  # of a CDF, arrays by row as well
    if steps is not None:
        values |= {key: getattr(steps, key) for key in ("lower", "upper", "edges")}
    return {key: value for key, value in values.items() if hasattr(value, "shape")}


def assert_same_outcomes(one, other):
    np.testing.assert_array_equal(one.probabilities, other.probabilities)
    np.testing.assert_array_equal(one.observed, other.observed)
    np.testing.assert_array_equal(
        np.asarray(one.residuals(one.observed)), np.asarray(other.residuals(other.observed))
    )


def assert_same(one, other):
    """Residuals are the same, field by field and bit by bit."""
    assert type(one) is type(other)
    for field in fields(one):
        a = getattr(one, field.name)
        b = getattr(other, field.name)
        if field.name == "outcomes" and a is not None:
            assert_same_outcomes(a, b)
        elif hasattr(a, "shape"):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
        elif field.name in ("predicted", "steps"):
            assert_same(a, b)
        elif field.name == "cells":
            assert a is b
        else:
            assert a == b


@pytest.mark.parametrize(
    "rows",
    [
        np.array([3, 0, 149, 3]),
        np.arange(N)[::-1],
        np.empty(0, dtype=int),
        slice(10, 60),
        slice(None, None, 7),
        slice(140, 10_000),
    ],
    ids=["numbers", "reversed", "none", "slice", "steps", "beyond the end"],
)
@pytest.mark.parametrize("name", KINDS)
def test_rows_that_are_taken_are_rows_of_the_whole(name, rows):
    residuals = residuals_of_kind(name)
    taken = residuals.take(rows)
    numbers = np.arange(N)[rows]
    assert type(taken) is type(residuals)
    assert taken.n == len(numbers)
    assert taken.row_width == residuals.row_width
    assert taken.cell_count == residuals.cell_count
    assert taken.details() == residuals.details()
    whole = row_fields(residuals)
    for key, values in row_fields(taken).items():
        np.testing.assert_array_equal(np.asarray(values), np.asarray(whole[key])[numbers])
    if getattr(residuals, "outcomes", None) is not None:
        outcomes = taken.outcomes
        np.testing.assert_array_equal(
            outcomes.probabilities, residuals.outcomes.probabilities[numbers]
        )
        np.testing.assert_array_equal(
            outcomes.observed, residuals.outcomes.observed[numbers]
        )


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=examples(6), deadline=None)
@given(data=st.data())
def test_rows_of_rows_are_rows(name, data):
    """residuals.take(a).take(b) is residuals.take(a[b])."""
    residuals = residuals_of_kind(name)
    first = st.lists(st.integers(0, N - 1), min_size=1, max_size=2 * N)
    a = np.array(data.draw(first))
    second = st.lists(st.integers(0, len(a) - 1), min_size=1, max_size=len(a))
    b = np.array(data.draw(second))
    assert_same(residuals.take(a).take(b), residuals.take(a[b]))


@pytest.mark.parametrize("name", KINDS)
def test_rows_are_counted_and_as_wide_as_their_fields(name):
    residuals = residuals_of_kind(name)
    assert residuals.n == N
    arrays = row_fields(residuals)
    assert all(values.shape[0] == N for values in arrays.values())
    arrays.pop("edges", None)  # as many as a sample of counts needs
    widths = [int(np.prod(values.shape[1:])) for values in arrays.values()]
    assert residuals.row_width == sum(widths)
    outcomes = getattr(residuals, "outcomes", None)
    count = 1 if outcomes is None else outcomes.probabilities.shape[1]
    assert residuals.cell_count == count


@pytest.mark.parametrize("name", KINDS)
def test_residuals_by_model_are_of_the_same_rows(name):
    by_model = residuals_of_kind(name).by_model()
    assert len(by_model) == (2 if name == JOINT_SCORES else 1)
    assert all(one.n == N for one in by_model)
    # Test functions that serve all models can be evaluated for each.
    test_functions = test_functions_of(name)
    for one in by_model:
        assert test_functions.evaluate(one).shape == (N, test_functions.width)


# What a reader is shown


@pytest.mark.parametrize("name", KINDS)
def test_columns_have_a_value_for_each_row(name):
    columns = residuals_of_kind(name).columns(y_names_of(name))
    for values in columns.values():
        assert np.asarray(values).shape == (N,)
    assert all(isinstance(key, str) for key in columns)


@pytest.mark.parametrize("name", KINDS)
def test_details_and_notes_are_words_and_numbers(name):
    residuals = residuals_of_kind(name)
    details = residuals.details()
    assert set(details) <= {"standardized_by", "reparametrized", "score_error"}
    assert all(isinstance(value, (str, float)) for value in details.values())
    assert isinstance(residuals.notes, tuple)
    assert residuals.remark is None or isinstance(residuals.remark, str)
    assert isinstance(residuals.tests_locations, bool)


# Dependence


def assert_mean_0(values):
    """Columns of values (rows, k) have mean 0, within their standard errors."""
    values = np.asarray(values, dtype=np.float64)
    # A cell into which no row fell has small residuals of one sign, which hardly vary.
    spread = np.maximum(values.std(axis=0), SMALLEST_SPREAD)
    assert np.abs(values.mean(axis=0) / spread).max() < STANDARD_ERRORS / len(values) ** 0.5


@pytest.mark.parametrize("name", EXAMPLES)
def test_numbers_that_tell_autocorrelation_have_mean_0(name):
    found = residuals_of_kind(name).dependence_values()
    assert found.values.shape[0] == N
    assert found.values.ndim == 2
    assert_mean_0(found.values)
    if found.sizes is not None and found.sizes.size:
        assert_mean_0(found.sizes)


@pytest.mark.parametrize("name", KINDS)
def test_stretches_are_consecutive_rows_of_these_numbers(name):
    residuals = residuals_of_kind(name)
    every = residuals.dependence_values()
    for rows in residuals.stretches(40):
        some = residuals.take(np.arange(N)[rows]).dependence_values()
        np.testing.assert_allclose(some.values, every.take(rows).values)


def test_few_stretches_do_not_overlap():
    assert few_stretches(100, 10) == [
        slice(0, 10),
        slice(30, 40),
        slice(60, 70),
        slice(90, 100),
    ]
    for n in (1, 3, 30, 100):
        rows = np.concatenate([np.arange(n)[cut] for cut in few_stretches(n, 40)])
        assert len(np.unique(rows)) == len(rows)


# Test functions


@pytest.mark.parametrize("name", KINDS)
def test_blocks_of_test_functions_have_no_gaps(name):
    test_functions = test_functions_of(name)
    start = 0
    for block in test_functions.blocks:
        assert block.columns.start == start
        assert block.size > 0
        start = block.columns.stop
        assert isinstance(test_functions.kernel_of(block).to_dict(), dict)
    assert test_functions.width == start
    count = len(test_functions.blocks)
    for some in (test_functions.blocks_for_columns, test_functions.blocks_for_pairs):
        assert 0 < len(range(count)[some]) <= count


@pytest.mark.parametrize("name", EXAMPLES)
def test_test_functions_of_a_true_model_have_mean_0(name):
    residuals = residuals_of_kind(name)
    test_functions = residuals.test_functions(SEED)
    values = test_functions.evaluate(residuals)
    assert values.shape == (N, test_functions.width)
    assert np.isfinite(values).all()
    assert_mean_0(values)
    covariance = test_functions.covariance
    assert covariance is None or covariance.shape == (values.shape[1],) * 2


@pytest.mark.parametrize("name", EXAMPLES)
def test_test_functions_see_each_row_by_itself(name):
    residuals = residuals_of_kind(name)
    test_functions = residuals.test_functions(SEED)
    rows = np.array([5, 140, 7, 7])
    np.testing.assert_allclose(
        test_functions.evaluate(residuals.take(rows)),
        test_functions.evaluate(residuals)[rows],
        rtol=1e-6,
        atol=1e-9,
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_additional_function_has_a_value_for_each_row(name):
    rows = prepared(name).rows
    test_functions = rows.residuals.test_functions(SEED)
    values = test_functions.additional_values(rows.x, rows.residuals)
    assert values is None or values.shape == (N,)


@pytest.mark.parametrize("name", KINDS)
def test_a_kernel_on_y_is_taken_or_refused(name):
    residuals = residuals_of_kind(name)
    if name != JOINT_SCORES and not EXAMPLES[name].has_kernel:
        with pytest.raises(UnsupportedModelError, match="censoring"):
            residuals.ready_kernel(Gaussian(), SEED)
        with pytest.raises(UnsupportedModelError, match="censoring"):
            residuals.kernel_test_functions(
                Gaussian(1.0),
                np.random.default_rng(0),
                precision=1e-3,
                cap=40,
                single=False,
            )
        return
    test_functions = kernel_functions(residuals)
    assert len(test_functions.blocks) == 1
    first = residuals.by_model()[0]
    assert test_functions.evaluate(first).shape == (N, test_functions.width)


# Resampling


@pytest.mark.parametrize("name", EXAMPLES)
def test_whether_y_can_be_resampled(name):
    example = EXAMPLES[name]
    residuals = residuals_of_kind(name)
    assert residuals.can_resample == example.can_resample
    assert residuals.can_resample_streams == example.can_resample_streams
    test_functions = residuals.test_functions(SEED)
    resampler = residuals.resampler(test_functions, neighbours_of(name))
    assert (resampler is not None) == example.can_resample
    if example.can_resample:
        assert test_functions.resampled


def test_joint_scores_cannot_be_resampled():
    residuals = joint_scores()
    assert not residuals.can_resample
    assert not residuals.can_resample_streams
    test_functions = test_functions_of(JOINT_SCORES)
    assert residuals.resampler(test_functions, neighbours_of(JOINT_SCORES)) is None


@pytest.mark.parametrize(
    "name", [name for name, example in EXAMPLES.items() if example.can_resample]
)
def test_resampled_test_functions_have_mean_0(name):
    m = 60
    residuals = residuals_of_kind(name)
    test_functions = residuals.test_functions(SEED)
    resampler = residuals.resampler(test_functions, neighbours_of(name))
    resampled = resampler.draw(np.random.default_rng(0), m)
    assert resampled.values.shape == (N, m, test_functions.width)
    assert resampled.additional.shape == (len(resampler.names), m)
    assert resampler.observed.shape == (len(resampler.names),)
    assert_mean_0(resampled.values.reshape(N * m, -1))


# Operations of later packages, which are registered for the class


@cache
def report_of(name):
    """Return the check of an example, with few draws: what it says is tested elsewhere."""
    data = prepared(name).data
    return cg.check(
        data.model,
        data.x,
        data.y,
        event=data.event,
        entry=data.entry,
        standardize=EXAMPLES[name].standardize,
        n_boot=19,
        rng=0,
        engine=1,
    )


def checked_rows_of(name):
    _, law, rows = prepared(name)
    sample = rows.sample
    table = RowTable(
        rows=np.arange(N),
        x_columns=sample.x_columns,
        x=sample.x,
        y_columns=sample.y_columns,
        y=sample.y,
        whole=N,
    )
    return checked_rows(rows.residuals, table, law)


@pytest.mark.parametrize("operation", [rows_class, size_of])
@pytest.mark.parametrize(
    "kind", sorted({example.kind for example in EXAMPLES.values()}, key=str)
)
def test_operations_of_a_check_are_registered(operation, kind):
    assert operation.dispatch(kind) is not operation.dispatch(Residuals)


@pytest.mark.parametrize("operation", [rows_class, size_of])
def test_a_kind_that_is_not_registered_is_refused(operation):
    arguments = (joint_scores(),) if operation is rows_class else (joint_scores(), None)
    with pytest.raises(NotImplementedError, match="JointScoreResiduals"):
        operation(*arguments)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_check_has_rows_of_the_kind(name):
    kind = rows_class(residuals_of_kind(name))
    assert issubclass(kind, CheckedRows)
    checked = checked_rows_of(name)
    assert type(checked) is kind
    assert type(checked) is type(report_of(name).checked)
    assert checked.n == N
    assert checked.label


@pytest.mark.parametrize("name", EXAMPLES)
def test_signals_have_a_value_and_draws_for_each_row(name):
    _, law, rows = prepared(name)
    signals = checked_rows_of(name).signals(law, rows, SEED)
    count = len(signals.about)
    assert count > 0
    assert signals.values.shape == (N, count)
    assert_mean_0(signals.values)
    assert signals.variance is None or signals.variance.shape == (N, count)
    some = np.array([4, 2, 90])
    taken = signals.take(some)
    np.testing.assert_array_equal(taken.values, signals.values[some])
    if signals.redraw is not None:
        drawn = signals.redraw(some)(np.random.default_rng(0), 5)
        assert drawn.shape == (3, 5, count)
        again = taken.redraw(np.arange(3))(np.random.default_rng(0), 5)
        np.testing.assert_array_equal(again, drawn)


@pytest.mark.parametrize("name", EXAMPLES)
def test_findings_hold_a_number_and_its_interval(name):
    report = report_of(name)
    assert report.overall
    for finding in report.overall:
        low, high = finding.interval
        assert low <= finding.estimate <= high
        assert finding.words


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_size_of_a_misfit_is_a_number(name):
    effect = report_of(name).effect
    size = effect.interval
    assert 0.0 <= size.low <= size.estimate <= size.high
    assert size.estimate < np.inf
    assert effect.unit


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_frame_has_the_columns_of_the_residuals(name):
    frame = report_of(name).frame()
    assert len(frame) == N
    columns = residuals_of_kind(name).columns(y_names_of(name))
    assert set(columns) <= set(frame.columns)
    for key, values in columns.items():
        np.testing.assert_allclose(
            frame[key].to_numpy(dtype=float), np.asarray(values, dtype=float)
        )


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_kind_is_monitored_or_refused(name):
    _, law, rows = prepared(name)
    numbers = np.arange(N)
    if not EXAMPLES[name].can_be_monitored:
        with pytest.raises(UnsupportedModelError, match="cannot be monitored"):
            monitored_rows(law, rows.sample, numbers, 0)
        return
    monitored = monitored_rows(law, rows.sample, numbers, 0)
    assert len(monitored.z) == len(monitored.tilts) == len(monitored.predicted) == N
