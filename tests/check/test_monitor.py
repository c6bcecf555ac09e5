"""Monitoring: no wealth is won against a true law, and a state loses nothing."""

import json
from copy import deepcopy
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from scipy.stats import t as student

import condgof as cg
from condgof.check import Monitor
from condgof.errors import (
    CondgofError,
    InputError,
    InputTypeError,
    NonFiniteError,
    ShapeError,
    UnsupportedModelError,
)
from condgof.methods import (
    EXTREME_EVENTS,
    EXTREME_ROWS,
    MEAN_ROWS,
    MOST_EXTREME,
    ODDS,
    PIT_ENDS,
    SPREAD_ROWS,
    ExtremeBet,
    ExtremeRanks,
    NormalBet,
    ShapeBet,
    TiltBet,
    class_tilts,
    log_start_share,
    ordered_tilts,
)

LINE = cg.models.Normal(mean=lambda x: 2 * np.asarray(x).reshape(len(x), -1)[:, 0], std=1.0)


def rows(n, seed=0, d=2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x, 2 * x[:, 0] + rng.normal(size=n)


def plain(monitor):
    return json.dumps(monitor.state, allow_nan=False)


# Bets: on average nothing is won against the law


@pytest.mark.parametrize("before", [[], [0.3, -1.0, 2.5], [4.0] * 30])
@pytest.mark.parametrize("bet", [NormalBet(), ShapeBet()], ids=["normal", "shape"])
def test_the_next_row_wins_nothing_on_average(bet, before):
    past = bet.statistics(np.array(before)[:, None], None)[:, 0].sum(axis=0)
    now = bet.log_wealth(past)

    def won(z, kind):
        both = bet.log_wealth(past + bet.statistics(np.array([[z]]), None)[0, 0])
        return np.exp(both[kind] - now[kind]) * norm.pdf(z)

    cuts = [float(norm.ppf(end)) for end in PIT_ENDS]
    for kind in range(len(bet.kinds)):
        mean = quad(won, -30, 30, args=(kind,), points=cuts, limit=400)[0]
        assert mean == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_tilts_win_nothing_on_average(count):
    p = np.random.default_rng(count).dirichlet(np.ones(count), size=5)
    names = [str(k) for k in range(count)]
    for tilts in (lambda y: ordered_tilts(p, y), lambda y: class_tilts(p, y, names)):
        each = [tilts(np.full(5, k)) for k in range(count)]
        for kind in each[0]:
            mean = sum(p[:, [k]] * np.exp(each[k][kind]) for k in range(count))
            assert mean == pytest.approx(1.0, abs=1e-12)
            assert mean.shape == (5, len(ODDS))


def test_wealth_is_the_product_of_predictive_densities_row_by_row():
    z = np.random.default_rng(1).normal(0.4, 1.3, 25)
    shift = spread = 0.0
    for n, value in enumerate(z):
        sd = np.sqrt(1 + 1 / (n + MEAN_ROWS))
        shift += norm.logpdf(value, z[:n].sum() / (n + MEAN_ROWS), sd) - norm.logpdf(value)
        # An inverse gamma prior of the variance makes the predictive law Student's t.
        rows = n + SPREAD_ROWS
        scale = np.sqrt((SPREAD_ROWS + np.square(z[:n]).sum()) / rows)
        spread += student.logpdf(value, rows, 0, scale) - norm.logpdf(value)
    found = NormalBet().log_wealth(np.array([25, z.sum(), np.square(z).sum()]))
    assert found[:2] == pytest.approx([shift, spread], abs=1e-9)


@pytest.mark.parametrize("before", [3, 20, 31])
def test_all_bets_together_win_nothing_on_average(before):
    """Also with bins, several starts, and earlier rows for which the law was wrong."""
    x, y = rows(before + 1, 5)
    m = cg.monitor(LINE, rng=0).update(x[:-1], y[:-1] + (x[:-1, 1] > 0))
    now = m.evidence
    grid = np.linspace(-12, 12, 161)
    won = [deepcopy(m).update(x[-1], 2 * x[-1, 0] + z).evidence for z in grid]
    # What jumps at the ends of cells leaves the sum over the grid some 1e-3 off.
    assert np.sum(won * norm.pdf(grid)) * 0.15 == pytest.approx(now, rel=3e-3)


def test_all_bets_on_classes_together_win_nothing_on_average():
    model = cg.models.Model(
        lambda x: cg.probabilities(np.tile([0.2, 0.5, 0.3], (len(x), 1)))
    )
    x = np.arange(24.0) % 5
    y = np.arange(24) % 2
    m = cg.monitor(model, rng=0).update(x, y)
    won = [deepcopy(m).update(2.0, k).evidence for k in range(3)]
    assert np.dot(won, [0.2, 0.5, 0.3]) == pytest.approx(m.evidence, rel=1e-9)


def test_a_change_is_seen_where_there_is_none_no_sooner_than_the_run_length():
    seen = []
    for seed in range(15):
        m = cg.monitor(cg.models.Normal(mean=0.0, std=1.0), run_length=300, rng=seed)
        rng = np.random.default_rng(seed)
        while not m.changed and m.rows < 3000:
            m.update(np.zeros(150), 0.5 + 1.3 * rng.normal(size=150))
        seen.append(m.changes[0]["rows"] if m.changed else m.rows)
    assert np.mean(seen) > 300


def extreme_wealth(ranks, before):
    """Log wealth after each of some ranks, row by row, with one start at the first."""
    low = high = 0
    log_wealth = 0.0
    each = []
    for rows, rank in enumerate(ranks):
        number = before + rows + 1
        c_low = min((low + 1) / number, MOST_EXTREME)
        c_high = min((high + 1) / number, MOST_EXTREME)
        total = 2 * EXTREME_EVENTS + EXTREME_ROWS + rows
        bet_low = (EXTREME_EVENTS + low) / total
        bet_high = (EXTREME_EVENTS + high) / total
        if rank <= c_low:
            log_wealth += np.log(bet_low / c_low)
            low += 1
        elif rank >= 1 - c_high:
            log_wealth += np.log(bet_high / c_high)
            high += 1
        else:
            log_wealth += np.log((1 - bet_low - bet_high) / (1 - c_low - c_high))
        each.append(log_wealth)
    return each


def started(before):
    """Bets on extreme ranks, begun after some rows with all of their wealth."""
    process = ExtremeRanks(ExtremeBet(), np.log(np.full((1, 1, 2, 1), 0.5)), before)
    process.begin(before)
    process.offsets[:] = np.log(0.5)
    return process


def test_bets_on_extreme_ranks_are_products_row_by_row():
    rng = np.random.default_rng(3)
    ranks = rng.random(60)
    ranks[10::7] = 1 - rng.random(8) * 1e-4
    process = started(2000)
    wealth = [
        np.logaddexp.reduce(process.add_ranks(np.array([[rank]]), 2000 + i).ravel())
        for i, rank in enumerate(ranks)
    ]
    np.testing.assert_allclose(wealth, extreme_wealth(ranks, 2000), atol=1e-9)
    assert wealth[-1] > 5  # eight ranks beyond nearly all others


def test_extreme_ranks_win_nothing_on_average_over_all_orders():
    """Every rank of three rows after sixteen others, all of them equally likely."""
    numbers = np.arange(17, 20)
    total = 0.0
    for ranks in product(*map(range, numbers)):
        middles = (np.array(ranks) + 0.5) / numbers
        total += np.exp(started(16).add_ranks(middles[:, None], 16)).sum()
    assert total / np.prod(numbers) == pytest.approx(1.0, rel=1e-12)


def test_rows_far_out_are_a_change_also_if_they_are_few():
    """1.5% of the rows: bets on shift, spread and shape need three times as many rows."""
    delays = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=3000)
        far = (np.arange(3000) >= 1500) & (rng.random(3000) < 0.015)
        y[far] = rng.uniform(10, 30, far.sum())
        m = cg.monitor(cg.models.Normal(mean=0.0, std=1.0), rng=seed).update(
            np.zeros(3000), y
        )
        delays.append(m.changes[0]["rows"] - 1500 if m.changed else 1500)
    assert min(delays) > 0
    assert np.mean(delays) < 650


def test_words_tell_a_model_that_is_wrong_from_one_that_has_changed():
    x, y = rows(400)
    always = cg.monitor(LINE, rng=0).update(x, y + 0.5)
    assert always.alarm
    assert not always.changed
    assert "no change was noticed" in always.words
    x, y = rows(2400)
    later = cg.monitor(LINE, rng=0).update(x, y + (np.arange(2400) >= 1500))
    assert later.alarm
    assert later.changed
    assert "no change" not in later.words


def test_tilt_wealth_is_the_average_of_its_tilts():
    sums = np.log([1.0, 2.0, 3.0, 6.0])
    assert np.exp(TiltBet(("shift",)).log_wealth(sums)) == pytest.approx(3.0)


def test_all_starts_together_get_no_more_than_there_is():
    total = sum(np.exp(log_start_share(k)) for k in range(200_000))
    assert 0.95 < total <= 1.0


# What is found


@pytest.mark.parametrize("d", [1, 5])
def test_a_shift_from_the_start_is_found(d):
    found = []
    for seed in range(9):
        x, y = rows(600, seed, d)
        m = cg.monitor(LINE, rng=seed).update(x, y + 0.3)
        found.append(m._evidence.alarm.rows if m.alarm else 600)
    assert np.median(found) < 150


def test_a_shift_where_a_column_is_large_is_found_and_named():
    x, y = rows(500, 3)
    m = cg.monitor(LINE, rng=0).update(x, y + 0.7 * (x[:, 1] > 0))
    assert m.alarm
    assert m.since == 0
    assert "along 'x2'" in m.words
    report = m.check(rng=0)
    assert report.rejected
    assert report.slices[0].conditions[0].column == "x2"


def test_a_change_is_found_with_its_row_and_checked_from_there():
    x, y = rows(2600, 1)
    y[2000:] += 0.6
    m = cg.monitor(LINE, rng=0).update(x, y)
    assert m.alarm
    assert m.changed
    assert abs(m.since - 2000) < 150
    assert 2000 < m.changes[0]["rows"] < 2200
    assert abs(m.changes[0]["since"] - 2000) < 150
    assert m.check(rng=0).result.n == 2600 - m.since


def test_what_was_always_wrong_has_not_changed():
    x, y = rows(3000, 2)
    m = cg.monitor(LINE, rng=0).update(x, y + 0.5)
    assert m.alarm
    assert not m.changed


def test_true_models_raise_few_alarms():
    alarms = sum(
        cg.monitor(LINE, rng=s).update(*rows(1000, 100 + s)).alarm for s in range(10)
    )
    assert alarms <= 2  # more have a probability of at most 0.012


def test_what_cannot_happen_is_an_alarm_at_once():
    m = cg.monitor(
        cg.models.Model(lambda x: cg.probabilities(np.tile([1.0, 0.0], (len(x), 1))))
    )
    assert not m.update([0.0, 1.0, 2.0], [0, 0, 0]).alarm
    assert m.update(0.5, 1).alarm
    assert m.evidence > 1e100


def test_changed_goes_on_after_a_change():
    x, y = rows(3000, 4)
    y[1000:2000] += 1.0
    m = cg.monitor(LINE, rng=0).update(x, y)
    assert [round(c["since"], -3) for c in m.changes] == [1000, 2000]


# All kinds of laws


def by_kind(kind, n, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    x = pd.DataFrame(
        {"a": a, "town": rng.choice(list("ABC"), n), "old": rng.random(n) < 0.3}
    )
    x["day"] = np.datetime64("2024-01-01") + rng.integers(0, 300, n).astype("m8[D]")
    p = 1 / (1 + np.exp(-a))
    y = a + rng.normal(size=n)
    x["mu"] = a
    x["low"] = a - 1.645
    x["high"] = a + 1.645
    if kind == "classes":
        model = cg.models.Model(
            lambda x: cg.probabilities(1 / (1 + np.exp(-x["a"])), ["no", "yes"])
        )
        return model, x, np.where(rng.random(n) < p, "yes", "no")
    if kind == "counts":
        return cg.models.Poisson(mean=lambda x: np.exp(x["a"])), x, rng.poisson(np.exp(a))
    if kind == "draws":
        draws = a[:, None] + rng.normal(size=(n, 19))
        return cg.from_draws(draws.round(1)), x, y.round(1)
    if kind == "intervals":
        return cg.columns(interval=["low", "high"], coverage=0.9), x, y
    if kind == "two":
        model = cg.models.Normal(
            mean=lambda x: np.column_stack([x["a"], -x["a"]]), std=np.ones((1, 2))
        )
        return model, x, np.column_stack([y, rng.normal(size=n) - a])
    return cg.columns(family="normal", param={"mean": "mu", "std": 1.0}), x, y


@pytest.mark.parametrize(
    "kind", ["normal", "classes", "counts", "draws", "intervals", "two"]
)
def test_batches_and_restarts_change_nothing(kind):
    n = 2600 if kind == "normal" else 400  # more than are kept
    model, x, y = by_kind(kind, n)
    whole = cg.monitor(model, rng=5).update(x, y)
    assert 0 < whole.evidence < 20
    again = cg.monitor(model, rng=5)
    for start, stop in zip([0, 1, 2, 40, 300, 301], [1, 2, 40, 300, 301, n], strict=True):
        again.update(x[start:stop].reset_index(drop=True), y[start:stop])
        again = cg.monitor(model, state=json.loads(plain(again)))
    assert plain(again) == plain(whole)
    # The counts have p = 0.02 by chance: few draws at 0.05 would decide by their seed.
    assert not again.check(rng=0, n_boot=199, alpha=0.005).rejected


@pytest.mark.parametrize("n", [600, 9000])
def test_the_state_is_small(n):
    model, x, y = by_kind("normal", n)
    assert len(plain(cg.monitor(model, rng=0).update(x, y))) < 500_000


def test_memory_is_bounded_with_many_columns_and_classes():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(800, 40))
    p = rng.dirichlet(np.ones(6), size=800)
    y = np.array([rng.choice(6, p=own) for own in p])
    assert len(plain(cg.monitor(cg.probabilities(p), rng=0).update(x, y))) < 1_000_000


def test_columns_of_x_are_looked_at_beside_many_predictions():
    x, noise = np.random.default_rng(0).normal(size=(2, 300, 8))
    model = cg.models.Normal(mean=lambda x: x, std=np.ones((1, 8)))
    m = cg.monitor(model, rng=0).update(x, x + noise)
    assert min(m._evidence.predicted, m._evidence.columns) >= 2
    assert len(plain(m)) < 1_000_000


def test_polars_and_single_rows():
    model = cg.models.Model(
        lambda x: cg.normal(mean=np.asarray(x["a"]), std=np.ones(len(x)))
    )
    x, y = np.random.default_rng(0).normal(size=(2, 40))
    whole = cg.monitor(model, rng=0).update(pl.DataFrame({"a": x}), y)
    single = cg.monitor(model, rng=0)
    for a, b in zip(x, y, strict=True):
        single.update(pl.DataFrame({"a": [a]}), b)
    assert plain(single) == plain(whole)
    again = cg.monitor(model, state=json.loads(plain(whole)))
    assert again.rows == 40


def test_one_row_of_an_array():
    x, y = rows(20)
    whole = cg.monitor(LINE, rng=0).update(x, y)
    single = cg.monitor(LINE, rng=0)
    for own, value in zip(x, y, strict=True):
        single.update(own, value)
    assert plain(single) == plain(whole)
    assert cg.monitor(LINE).update(1.0, 2.0).rows == 1


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([1.0, np.nan], 1.0),
        ([1.0, 2.0], np.inf),
        ([1.0, 2.0, 3.0], 1.0),
        ([[1.0, 2.0]], 1.0),
        ([np.inf, 0.0], 1.0),
        (1.0, 1.0),
        ([-7.0, 0.0], 1.0),  # a deviation below 0
        ([-8.0, 0.0], 1.0),  # the model fails
        ([-9.0, 0.0], 1.0),  # a mean that is no number
    ],
)
def test_one_row_is_refused_as_a_batch_of_one_is(x, y):
    def mean(x):
        assert x[0, 0] != -8
        return np.where(x[:, 0] == -9, np.nan, x[:, 0])

    model = cg.models.Normal(mean=mean, std=lambda x: np.where(x[:, 0] == -7, -1.0, 1e-10))
    m = cg.monitor(model, rng=0).update([[0.0, 1.0], [1.0, 1.0]], [0.0, 1.0])
    before = plain(m)
    in_batches = cg.monitor(model, rng=0).update([[0.0, 1.0], [1.0, 1.0]], [0.0, 1.0])
    in_batches._zeros = None  # reads every row as a batch
    errors = []
    for one in (m, in_batches):
        with pytest.raises(CondgofError) as error:
            one.update(np.asarray(x), y)
        errors.append((type(error.value), str(error.value)))
    assert errors[0] == errors[1]
    assert plain(m) == before


def test_predictions_in_arrays_go_on_where_they_were():
    x, y = rows(100)
    model = (2 * x[:, 0], np.ones(100))
    m = cg.monitor(model, rng=0).update(x[:60], y[:60]).update(x[60:], y[60:])
    assert plain(m) == plain(cg.monitor(LINE, rng=0).update(x, y))
    with pytest.raises(ShapeError, match="bound to 100 rows"):
        m.update(x[:1], y[:1])


# Errors: one each, and a batch that is refused leaves no trace


@pytest.fixture
def begun():
    return cg.monitor(LINE, rng=0).update(*rows(50))


@pytest.mark.parametrize(
    ("x", "y", "kind", "words"),
    [
        (np.empty((0, 2)), [], ShapeError, "batch is empty"),
        (
            np.ones((3, 3)),
            [1, 2, 3],
            InputError,
            "x has the columns 'x1', 'x2', 'x3', and before",
        ),
        (
            pd.DataFrame({"a": [1.0], "b": [2.0]}),
            [1.0],
            InputError,
            "and before 'x1', 'x2'",
        ),
        (np.ones((2, 2)), np.ones((2, 2)), InputError, "y has the columns"),
        (
            np.ones((2, 2)),
            ["a", "b"],
            InputError,
            "y column 'y' holds text, and before numbers",
        ),
        (np.ones((2, 2)), [1.0, np.nan], NonFiniteError, "1 of 2 rows"),
        (np.full((2, 2), np.nan), [1.0, 2.0], NonFiniteError, "2 of 2 rows"),
        (np.ones((2, 2)), [1.0, 2.0, 3.0], ShapeError, "rows"),
    ],
)
def test_a_wrong_batch_is_refused_and_leaves_no_trace(begun, x, y, kind, words):
    before = plain(begun)
    with pytest.raises(kind, match=words):
        begun.update(x, y)
    assert plain(begun) == before


def test_text_for_a_model_of_numbers():
    with pytest.raises(InputTypeError, match="must be numeric"):
        cg.monitor(LINE).update([1.0, 2.0], ["a", "b"])


def test_scores_alone_cannot_be_monitored():
    with pytest.raises(UnsupportedModelError, match=r"cannot be monitored.*CDF"):
        cg.monitor(cg.from_scores(np.zeros(3))).update([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])


def test_columns_of_predictions_must_be_there():
    with pytest.raises(InputError, match="no column 'sd'"):
        cg.monitor(cg.columns(mean="mu", std="sd")).update(
            pd.DataFrame({"mu": [1.0]}), [1.0]
        )


def test_a_check_needs_rows():
    with pytest.raises(InputError, match="no rows to check"):
        cg.monitor(LINE).check()


def test_the_history_is_short_and_the_same_however_rows_are_cut():
    rng = np.random.default_rng(5)
    x, noise = rng.standard_normal((2, 9000))
    whole = cg.monitor(LINE, rng=3).update(x, x + noise)
    parts = cg.monitor(LINE, rng=3)
    for rows in np.split(np.arange(9000), [1, 40, 1000, 1001, 5000]):
        parts = cg.monitor(LINE, state=json.loads(plain(parts))) if parts.rows else parts
        parts.update(x[rows], x[rows] + noise[rows])
    assert parts.history == whole.history
    rows = [one.rows for one in whole.history]
    assert 100 <= len(rows) <= 200
    assert rows == sorted(set(rows))
    assert rows[0] == 1
    assert rows[-1] > 8500


def test_a_state_without_a_history_goes_on():
    rng = np.random.default_rng(5)
    x, noise = rng.standard_normal((2, 300))
    m = cg.monitor(LINE, rng=3).update(x[:200], x[:200] + noise[:200])
    state = json.loads(plain(m))
    del state["evidence"]["history"]
    again = cg.monitor(LINE, state=state)
    assert again.history == ()
    again.update(x[200:], x[200:] + noise[200:])
    m.update(x[200:], x[200:] + noise[200:])
    assert again.evidence == m.evidence
    assert again.history[-1] == m.history[-1]


def test_a_state_without_rows_goes_on():
    m = cg.monitor(LINE, rng=3, state=json.loads(plain(cg.monitor(LINE, rng=3))))
    assert plain(m.update(*rows(30))) == plain(cg.monitor(LINE, rng=3).update(*rows(30)))


@pytest.mark.parametrize(
    ("model", "options", "change", "words"),
    [
        (cg.models.Normal(mean=0.0, std=1.0), {}, {}, "says otherwise"),
        (
            cg.models.Model(lambda x: cg.normal(mean=x["a"], std=x["b"])),
            {},
            {},
            "cannot be asked",
        ),
        (cg.models.Poisson(mean=1.0), {}, {}, "another model"),
        (LINE, {"alpha": 0.01}, {}, "alpha=0.05"),
        (LINE, {"run_length": 10}, {}, "run_length=100000"),
        (LINE, {}, {"condgof_monitor": 0}, "of this version"),
        (LINE, {}, {"kept": {}}, "damaged"),
    ],
)
def test_a_state_of_something_else_is_refused(begun, model, options, change, words):
    with pytest.raises(InputError, match=words):
        cg.monitor(model, **options, state={**begun.state, **change})


@pytest.mark.parametrize(
    "options", [{"alpha": 0}, {"alpha": "a"}, {"alpha": True}, {"run_length": 1}]
)
def test_options_are_checked(options):
    wanted = {"alpha": "between 0 and 1", "run_length": "a number between 1 and inf"}
    ((name, value),) = options.items()
    with pytest.raises(InputError, match=f"^{name} must be {wanted[name]}, got {value!r}"):
        cg.monitor(LINE, **options)


def test_it_shows_itself():
    assert repr(Monitor(LINE)) == "Monitor(0 rows, evidence 1 (alarm at 20).)"


def test_words_say_which_rows_the_evidence_is_of():
    assert " from the first 97 (alarm" in cg.monitor(LINE, rng=0).update(*rows(100)).words
