"""Groups, and slices that the user names beforehand."""

import json
import math

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom, norm, poisson

import condgof as cg
from condgof.check import Signal, bennett_bound, holm, straightened, strongest_signal
from condgof.check.kinds import LEGENDRE, LEGENDRE_THIRD_MOMENTS, Signals
from condgof.errors import InputError, NonFiniteError
from condgof.residuals import legendre

RNG = np.random.default_rng(1)
N = 330
X = RNG.uniform(0, 1, N)
CITY = RNG.permutation(np.repeat(["Oslo", "Rome", "Lima", "Bern"], [150, 150, 20, 10]))
Y = X + 1.0 * (CITY == "Rome") + RNG.standard_normal(N)
MODEL = (X, np.ones(N))
FRAME = pd.DataFrame({"x": X, "city": CITY})
FAST = {"rng": 0, "n_boot": 39}


@pytest.fixture(scope="module")
def found():
    return cg.check(MODEL, FRAME, Y, by="city", **FAST)


# What is said


def test_all_groups_the_worst_evidence_first(found):
    words = [one.words for one in found.groups]
    assert words[0] == "city = Rome"
    assert sorted(words) == [f"city = {name}" for name in ("Bern", "Lima", "Oslo", "Rome")]
    p = [one.pvalue for one in found.groups]
    assert p == sorted(p)
    assert p[0] < 1e-6
    assert min(p[1:]) > 0.05
    rome = found.groups[0]
    assert (rome.kind, rome.direction) == ("shift", "too low")
    np.testing.assert_array_equal(rome.rows, np.flatnonzero(CITY == "Rome"))
    np.testing.assert_array_equal(found.frame().query(rome.query).index, rome.rows)
    assert rome.findings[0].estimate == pytest.approx((Y - X)[CITY == "Rome"].mean())
    assert rome.share == pytest.approx(150 / N)
    for one in found.groups[1:]:
        assert one.message.startswith("no evidence: ")
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_named_slice_does_not_depend_on_the_search_nor_on_draws(found):
    """No draws, and so no floor; the other columns, n_boot and the seed do not matter."""
    again = cg.check(MODEL, X, Y, by=pd.Series(CITY, name="city"), rng=5, n_boot=19)
    assert [one.words for one in again.groups] == [one.words for one in found.groups]
    assert [one.pvalue for one in again.groups] == [one.pvalue for one in found.groups]
    assert [one.findings for one in again.groups] == [one.findings for one in found.groups]
    assert 0 < found.groups[0].pvalue_floor < 1e-290


def test_the_message_tells_of_groups():
    """Of one that the verdict cannot see, as its label is no column of x."""
    rng = np.random.default_rng(0)
    label = np.repeat(np.arange(100), 50)
    x = rng.standard_normal(5000)
    y = x + rng.standard_normal(5000) + 1.5 * (label == 77)
    found = cg.check((x, np.ones(5000)), x, y, by=label, rng=0, n_boot=99)
    assert found.groups[0].words == "group = 77"
    assert not found.rejected
    assert found.words.startswith(
        "No misfit found overall, but the model is wrong in 1 of 100 groups: group = 77"
        " (too low, the mean residual is +1."
    )
    one = cg.check((x, np.ones(5000)), x, y, slices=[label == 77], rng=0, n_boot=99)
    assert (
        "the model is wrong in the subgroup that you named: the 50 rows of a mask (too low,"
        " the mean residual is +1." in one.words
    )
    true = cg.check((x, np.ones(5000)), x, y, slices=[label == 5], rng=0, n_boot=99)
    assert true.words.startswith("No misfit found. ")


@pytest.mark.parametrize("count", [60, 1000])
def test_of_many_groups_the_one_that_is_5_standard_deviations_off_is_named(count):
    rng = np.random.default_rng([count, 1])
    label = np.repeat(np.arange(count), 5)
    x = rng.standard_normal(5 * count)
    y = x + rng.standard_normal(5 * count) + 5.0 * (label == 7)
    found = cg.check((x, np.ones(5 * count)), x, y, by=label, rng=0, n_boot=39)
    assert len(found.groups) == count
    assert [one.words for one in found.groups if one.pvalue <= 0.05] == ["group = 7"]
    first = found.groups[0]
    assert (first.kind, first.direction) == ("shift", "too low")
    assert first.findings[0].interval[0] > 1.0
    assert f"and {count - 12:,} more" in str(found)
    assert sum(f.telling for one in found.groups[1:] for f in one.findings) <= 2


def test_groups_of_one_row_and_labels_of_all_kinds():
    by = np.append(np.arange(30), np.repeat([100, 200], 150))
    found = cg.check(MODEL, X, Y, by=by, **FAST)
    assert len(found.groups) == 32
    assert sum(one.n == 1 for one in found.groups) == 30
    assert "nan" not in str(found)
    json.dumps(found.to_dict(), allow_nan=False)
    for labels in (
        list(CITY),
        pd.Categorical(CITY),
        pl.Series("city", CITY),
        pd.Series(CITY, dtype="category"),
    ):
        other = cg.check(MODEL, X, Y, by=labels, **FAST)
        assert other.groups[0].words.endswith(" = Rome")
    cut = pd.cut(pd.Series(X, name="x"), [0, 0.5, 1])
    assert {one.words for one in cg.check(MODEL, X, Y, by=cut, **FAST).groups} == {
        "x = (0.0, 0.5]",
        "x = (0.5, 1.0]",
    }


def test_slices_of_all_spellings():
    """A query, a mask, a slice of another report, a predicted column."""
    first = cg.check(MODEL, FRAME, Y, **FAST).slices[0]
    mask = CITY == "Rome"
    specs = ["city == 'Rome'", mask, list(mask), pd.Series(mask), first]
    found = cg.check(MODEL, FRAME, Y, slices=specs, **FAST)
    assert len(found.groups) == 5
    assert first.words == "city = Rome"
    assert {one.n for one in found.groups} == {150}
    assert len({one.pvalue for one in found.groups}) == 1
    assert {one.words for one in found.groups} == {
        "city == 'Rome'",
        "the 150 rows of a mask",
        "city = Rome",
    }
    alone = cg.check(MODEL, FRAME, Y, slices=[mask], **FAST).groups[0]
    assert found.groups[0].pvalue == pytest.approx(5 * alone.pvalue)  # Holm's correction
    queries = ["0.2 <= x <= 0.4", "city in ['Oslo', 'Bern']"]
    both = cg.check(MODEL, FRAME, Y, by="city", slices=queries, **FAST)
    assert len(both.groups) == 6
    assert set(queries) <= {one.words for one in both.groups}
    for one in both.groups:
        np.testing.assert_array_equal(both.frame().query(one.query).index, one.rows)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 2))
    law = (x.sum(axis=1), np.ones(200))
    of = cg.check(
        law, x, x.sum(axis=1) + rng.standard_normal(200), slices=["predicted >= 1"], **FAST
    )
    np.testing.assert_array_equal(of.groups[0].rows, np.flatnonzero(x.sum(axis=1) >= 1))


def test_by_a_column_of_numbers_and_what_cannot_be_groups():
    frame = pd.DataFrame(
        {"x": X, "year": RNG.permutation(np.repeat([2002, 2010, 2001], 110))}
    )
    found = cg.check(MODEL, frame, pd.Series(Y, name="rent"), by="year", **FAST)
    assert sorted(one.words for one in found.groups) == [
        "year = 2001",
        "year = 2002",
        "year = 2010",
    ]
    assert found.groups[0].conditions[0].column == "year"
    with pytest.raises(InputError, match="too many for a group each"):
        cg.check(MODEL, FRAME, Y, by="x", **FAST)
    with pytest.raises(InputError, match="different in each"):
        cg.check(MODEL, X, Y, by=X, **FAST)
    with pytest.raises(NonFiniteError, match="by has missing values"):
        cg.check(MODEL, X, Y, by=np.where(X > 0.5, np.nan, 1.0), **FAST)


def test_streams_and_dask_have_the_same_groups(tmp_path):
    rng = np.random.default_rng(2)
    n = 2500
    x = rng.uniform(0, 1, n)
    city = rng.choice(["Oslo", "Rome", "Lima"], n)
    y = x + 0.3 * (city == "Rome") + rng.standard_normal(n)
    pd.DataFrame({"x": x, "y": y, "mu": x, "sd": 1.0}).to_parquet(tmp_path / "t.parquet")
    source = cg.scan(tmp_path / "t.parquet", x="x", y="y")
    streamed = cg.check(cg.columns(mean="mu", std="sd"), source, by=city, rng=0, n_boot=39)
    lazy = [da.from_array(part, chunks=800) for part in (x, np.ones(n), x, y)]
    dask = cg.check((lazy[0], lazy[1]), lazy[2], lazy[3], by=city, rng=0, n_boot=39)
    whole = cg.check((x, np.ones(n)), x, y, by=city, rng=0, n_boot=39)
    for other in (streamed, dask):
        assert [one.words for one in other.groups] == [one.words for one in whole.groups]
        np.testing.assert_allclose(
            [one.pvalue for one in other.groups],
            [one.pvalue for one in whole.groups],
            rtol=1e-6,
        )
    assert whole.groups[0].words == "group = Rome"


# P-values


def test_holm_against_its_definition():
    p = np.array([0.01, 0.04, 0.03, 0.005, 0.5])
    order = np.argsort(p)
    expected = np.empty(5)
    running = 0.0
    for k, which in enumerate(order):
        running = max(running, min(1.0, (5 - k) * p[which]))
        expected[which] = running
    np.testing.assert_allclose(holm(p), expected)
    np.testing.assert_allclose(holm(p), [0.04, 0.09, 0.09, 0.025, 0.5])
    assert holm(np.array([])).shape == (0,)
    assert holm(np.array([0.7, 0.9])).max() == 1.0


def of_pits(u):
    return Signals(
        about=tuple(Signal(kind, "y") for kind in LEGENDRE),
        values=legendre(u),
        variance=np.ones((len(u), 4)),
        redraw=None,
        third=LEGENDRE_THIRD_MOMENTS,
    )


def test_third_moments_are_those_of_the_polynomials():
    u = (np.arange(100_000) + 0.5) / 100_000
    third = LEGENDRE_THIRD_MOMENTS
    np.testing.assert_allclose((legendre(u) ** 3).mean(axis=0), third, atol=1e-4)
    np.testing.assert_allclose((legendre(u) ** 2).mean(axis=0), 1.0, atol=1e-4)
    z = np.linspace(-6, 6, 100)
    for n in (1, 3, 20):
        assert (np.diff(straightened(np.column_stack([z] * 4), third, n), axis=0) > 0).all()


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_p_values_of_a_few_rows_hold_their_level(n):
    """5,000 groups, by simulation; exact bounds at a tail of 1e-4."""
    rng = np.random.default_rng(n)
    trials = 5000
    p = np.array(
        [
            strongest_signal(of_pits(rng.random(n)), np.arange(n), None).pvalue
            for _ in range(trials)
        ]
    )
    for level in (0.2, 0.05, 0.01, 0.001):
        assert (p <= level).sum() <= binom.isf(1e-4, trials, level)
    if n == 20:
        assert (p <= 0.05).sum() >= binom.ppf(1e-4, trials, 0.025)  # and are not idle


def test_bennett_bounds_the_exact_tail():
    """Of what happened less its probability: a binomial law."""
    for n in (3, 20, 200):
        for p in (0.001, 0.05, 0.3, 0.5, 0.99):
            k = np.arange(n + 1)
            bound = np.exp(bennett_bound(k - n * p, np.full(n + 1, n * p * (1 - p))))
            exact = np.where(k >= n * p, binom.sf(k - 1, n, p), binom.cdf(k, n, p))
            assert (bound >= np.minimum(2 * exact, 1.0) - 1e-12).all()
    z = 4.0
    n = 10_000
    sums = np.array([z * math.sqrt(n / 4)])
    bound = math.exp(bennett_bound(sums, np.array([n / 4]))[0])
    assert bound < 15 * 2 * norm.sf(z)


@pytest.mark.parametrize("mean", [1e-3, 0.02, 0.5, 4.0])
def test_rare_counts_hold_their_level(mean):
    """Signals of counts are larger than 1 where a count is rare, and the bound knows how
    large.
    """
    at = np.arange(poisson.isf(1e-15, mean) + 2)
    p = poisson.pmf(at, mean)
    made = legendre(np.cumsum(p) - 0.5 * p)[:, :3]
    made[:, 2] = at == 0
    made -= p @ made
    variance = p @ made**2
    bound = np.abs(made).max(axis=0)
    about = tuple(Signal(kind, "y") for kind in ("shift", "spread", "zeros"))
    rng = np.random.default_rng(0)
    n = 5
    trials = 20_000
    counts = rng.poisson(mean, (trials, n))
    seen, which = np.unique(np.sort(counts, axis=1), axis=0, return_inverse=True)
    values = [
        strongest_signal(
            Signals(about, made[rows], np.tile(variance, (n, 1)), None, bound=bound),
            np.arange(n),
            None,
        )[0]
        for rows in seen
    ]
    found = np.array(values)[which.reshape(-1)]
    for level in (0.05, 0.01, 1e-3, 1e-4):
        assert (found <= level).sum() <= binom.isf(1e-4, trials, level)


def test_p_values_of_groups_through_the_front_door():
    """Counts, classes and scores alone, 200 groups of 5 to 9 rows each: hardly any p-value
    is small.
    """
    rng = np.random.default_rng(3)
    label = np.repeat(np.arange(200), rng.integers(5, 10, 200))
    n = len(label)
    x = rng.standard_normal(n)
    p = 1 / (1 + np.exp(-x))
    y = x + rng.standard_normal(n)
    kinds = {
        "classes": (cg.probabilities(p), (rng.random(n) < p).astype(int)),
        "counts": (cg.models.Poisson(mean=np.exp(x - 2)), rng.poisson(np.exp(x - 2))),
        "normal": ((x, np.ones(n)), y),
        "scores": (cg.from_scores((x - y)[:, None]), y),
    }
    for name, (model, own) in kinds.items():
        found = cg.check(model, x, own, by=label, rng=0, n_boot=19)
        assert min(one.pvalue for one in found.groups) > 0.01, name
        assert len({one.words for one in found.groups}) == 200


def test_groups_of_rows_with_one_class():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, 2))
    p = rng.dirichlet(np.ones(3), 400)
    letters = np.array(["a", "b", "c"])
    y = letters[(rng.random((400, 1)) >= np.cumsum(p, axis=1)).sum(axis=1).clip(0, 2)]
    by = np.where(y == "a", "only a", "others")
    found = cg.check(cg.probabilities(p, letters), x, y, by=by, **FAST)
    assert all(one.pvalue < 1e-6 for one in found.groups)
    only = next(one for one in found.groups if "only a" in one.words)
    own = next(f for f in only.findings if f.label == "a")
    assert (own.estimate, own.interval[1]) == (1.0, 1.0)
    assert only.direction == "P(a) too low"


def test_a_few_units_that_are_alike_name_nothing():
    """All signs of c units agree with probability 2^(1 − c), whatever their size.

    Any group was named in 300 of 300 samples of the scores of a Laplace distribution.
    """
    named = 0
    for seed in range(12):
        rng = np.random.default_rng([7, seed])
        e = rng.laplace(size=200)
        x = rng.standard_normal(200)
        found = cg.check(
            cg.from_scores(-np.sign(e)), x, x + e, by=np.repeat(np.arange(50), 4), **FAST
        )
        named += min(one.pvalue for one in found.groups) <= 0.05
    assert named <= 2
    same = np.ones((6, 1))
    signals = Signals((Signal("shift", "y"),), same, variance=None, redraw=None)
    assert strongest_signal(signals, np.arange(6), None).pvalue == pytest.approx(2.0**-5)


def test_groups_stand_in_the_order_of_their_labels():
    """Of groups that fit perfectly: each has all quantiles, and so a p-value of 1."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=660)
    order = rng.permutation(660)
    numbers = np.tile(np.arange(1, 12), 60)[order]
    noise = np.repeat(norm.ppf((np.arange(60) + 0.5) / 60), 11)[order]
    sizes = pd.Categorical(
        np.array(["small", "middle", "large"])[numbers % 3], ["small", "middle", "large"]
    )
    for by, words in (
        (numbers, [f"group = {k}" for k in range(1, 12)]),
        (pd.Series(sizes, name="size"), ["size = small", "size = middle", "size = large"]),
    ):
        found = cg.check((x, np.ones(660)), x, x + noise, by=by, rng=0, n_boot=99)
        assert [group.words for group in found.groups] == words


# Several columns, labels with an index, masks


def table_of(n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "region": rng.choice(["north", "south"], n),
            "sex": rng.choice(["f", "m"], n),
            "site": rng.integers(0, 60, n),
        },
        index=rng.permutation([f"p{i}" for i in range(n)]),
    )
    y = frame["x"] + rng.normal(size=n)
    return frame, y + 1.5 * ((frame["region"] == "south") & (frame["sex"] == "m"))


def test_by_several_columns_makes_groups_of_their_combinations():
    frame, y = table_of()
    model = (frame["x"].to_numpy(), np.ones(len(frame)))
    found = cg.check(model, frame, y, by=["region", "sex"], **FAST)
    assert len(found.groups) == 4
    first = found.groups[0]
    assert first.words == "region = south and sex = m"
    assert [one.column for one in first.conditions] == ["region", "sex"]
    rows = found.frame().query(first.query)
    assert len(rows) == first.n
    assert (rows["region"] == "south").all()
    assert (rows["sex"] == "m").all()
    labels = frame[["region", "sex"]]
    for by in (labels, labels.sample(frac=1.0, random_state=1), pl.from_pandas(labels)):
        other = cg.check(model, frame, y, by=by, **FAST)
        assert [one.words for one in other.groups] == [one.words for one in found.groups]
        assert [one.pvalue for one in other.groups] == [one.pvalue for one in found.groups]
    assert any("a level of 0.05 of their own" in note for note in found.notes)
    with pytest.raises(InputError, match="no column that varies"):
        cg.check(model, frame, y, by=["region", "age"], **FAST)


def test_by_whole_numbers_of_any_number_of_values_up_to_a_limit():
    frame, y = table_of()
    model = (frame["x"].to_numpy(), np.ones(len(frame)))
    found = cg.check(model, frame, y, by="site", **FAST)
    assert len(found.groups) == 60
    many = pd.DataFrame({"x": np.arange(5000.0), "g": np.arange(5000) // 2})
    noise = np.random.default_rng(0).normal(size=5000)
    with pytest.raises(InputError, match="2,500 groups, and at most 2,000"):
        cg.check((np.zeros(5000), np.ones(5000)), many, noise, by="g", **FAST)


def test_labels_are_put_in_the_order_of_x_by_their_index():
    frame, y = table_of()
    model = (frame["x"].to_numpy(), np.ones(len(frame)))
    found = cg.check(model, frame, y, by=frame["region"], **FAST)
    mixed = frame["region"].sample(frac=1.0, random_state=2)
    again = cg.check(model, frame, y, by=mixed, **FAST)
    assert [one.pvalue for one in again.groups] == [one.pvalue for one in found.groups]
    for wrong in (
        frame["region"].reset_index(drop=True),
        frame["region"].set_axis(["same"] * len(frame)),
    ):
        with pytest.raises(InputError, match="by has another index than x"):
            cg.check(model, frame, y, by=wrong, **FAST)
        by_position = cg.check(model, frame, y, by=wrong.to_numpy(), **FAST)
        assert by_position.groups[0].pvalue == found.groups[0].pvalue
    grouped = cg.check(model, frame, y, groups=frame["site"], **FAST)
    shuffled = frame["site"].sample(frac=1.0, random_state=3)
    assert cg.check(model, frame, y, groups=shuffled, **FAST).pvalue == grouped.pvalue


def test_masked_labels_are_missing():
    frame, y = table_of()
    model = (frame["x"].to_numpy(), np.ones(len(frame)))
    labels = np.ma.array(np.arange(400) % 3, mask=np.arange(400) == 7)
    for option in ("by", "groups"):
        with pytest.raises(NonFiniteError, match=f"{option} has missing values in 1 of"):
            cg.check(model, frame, y, **{option: labels}, **FAST)


def test_a_share_has_enough_digits_to_show_what_is_certain():
    """0.0347 against 0.0265 read as 0.03 against 0.03."""
    rng = np.random.default_rng(0)
    p = np.full(40_000, 0.0265)
    y = (rng.random(40_000) < 0.0347).astype(int)
    model = cg.probabilities(p, ["No", "Yes"])
    mask = np.ones(40_000, dtype=bool)
    found = cg.check(
        model, rng.normal(size=40_000), np.array(["No", "Yes"])[y], slices=[mask], **FAST
    )
    words = found.groups[0].findings[0].words
    share = y.mean()
    assert words.startswith(f"{100 * share:.1f}% of rows are Yes (")
    assert words.endswith("; the model predicts 2.7%")
