"""adaptive(event=): level, power beside gofreg's statistic, what is refused."""

import numpy as np
import pytest

import condgof as cg
import oracle
from condgof.errors import (
    InputError,
    InputTypeError,
    ShapeError,
    SupportError,
    UnsupportedModelError,
)
from condgof.residuals import draw_censoring_times
from levels import assert_not_too_small

SHORT = {"rng": 0, "n_boot": 99}


def sample(n, share, seed, shape=1.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    scale = np.exp(0.5 * x[:, 0])
    times = scale * rng.weibull(shape, n)
    until = scale * rng.exponential((1 - share) / share, n) if share else np.full(n, np.inf)
    return (
        cg.models.Exponential(scale=scale),
        x,
        np.minimum(times, until),
        times <= until,
        scale,
    )


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_a_true_model_is_rejected_as_often_as_it_should(share):
    """`make calibrate` has censored times at n = 60 and 300."""
    pvalues = []
    for seed in range(15):
        model, x, y, event, _ = sample(60, share, seed)
        pvalues.append(cg.adaptive(model, x, y, event=event, n_boot=99, rng=seed).pvalue)
    assert_not_too_small(pvalues)


def test_it_finds_a_shape_that_the_statistic_of_gofreg_finds():
    own = other = 0
    for seed in range(10):
        model, x, y, event, scale = sample(150, 0.3, [9, seed], shape=1.3)
        own += cg.adaptive(model, x, y, event=event, n_boot=99, rng=seed).reject()
        p = oracle.kolmogorov_censored(
            lambda t, scale=scale: -np.expm1(-t / scale[:, None]),
            lambda rng, scale=scale: rng.exponential(scale),
            y,
            event.astype(int),
            np.random.default_rng(seed),
            draws=100,
        )
        other += p <= 0.05
    assert own >= other - 1
    assert own >= 5


def test_without_censoring_it_is_close_to_the_plain_test():
    apart = []
    for seed in range(4):
        model, x, y, event, _ = sample(120, 0.0, [3, seed], shape=1.3)
        with_event = cg.adaptive(model, x, y, event=event, rng=seed)
        plain = cg.adaptive(model, x, y, rng=seed)
        for name in ("constant", "level"):
            pair = with_event.details["families"][name], plain.details["families"][name]
            apart.append(abs(pair[0] - pair[1]))
    assert max(apart) < 0.08


def test_signs_and_groups_work_too():
    model, x, y, event, _ = sample(200, 0.4, 5)
    assert (
        cg.adaptive(model, x, y, event=event, null="wild", **SHORT).null == "wild bootstrap"
    )
    grouped = cg.adaptive(model, x, y, event=event, groups=np.arange(200) // 4, **SHORT)
    # The larger of two p-values: by signs of groups, and by resampling correlated rows.
    assert grouped.null in ("wild bootstrap by group", "model by group")
    assert cg.adaptive(model, x, y, event=event, **SHORT).null == "model"


def test_the_same_rng_gives_the_same_result_on_any_number_of_threads():
    model, x, y, event, _ = sample(300, 0.4, 6)
    options = {"event": event, "rng": 3, "n_boot": 199}
    found = {cg.adaptive(model, x, y, engine=k, **options).pvalue for k in (1, 2)}
    assert len(found) == 1


def test_a_few_thousand_rows_are_all_resampled():
    """Draws of 2,500 rows by default are much work, and no limit stands for them."""
    model, x, y, event, _ = sample(2500, 0.4, [5, 3])
    result = cg.check(model, x, y, event=event, rng=0).result
    assert result.null == "model"
    assert len(result.null_distribution) == 1000


@pytest.mark.parametrize(("n", "solver"), [(2500, "auto"), (200, "lowrank")])
def test_whatever_the_solver_resampling_is_of_single_rows(n, solver):
    model, x, y, event, _ = sample(n, 0.4, [5, 4])
    options = {"event": event, "rng": 0, "n_boot": 99}
    exact = cg.adaptive(model, x, y, solver="exact", **options)
    other = cg.adaptive(model, x, y, solver=solver, **options)
    assert other.solver == exact.solver == "exact"
    assert other.statistic == exact.statistic
    np.testing.assert_array_equal(other.null_distribution, exact.null_distribution)


def test_many_rows_get_signs():
    model, x, y, event, _ = sample(5000, 0.4, 7)
    assert cg.adaptive(model, x, y, event=event, rng=0, n_boot=200).null == "wild bootstrap"


def late_entries(seed):
    """Rows whose event came after their entry; (x, y, event, entry)."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(400, 1))
    entry = rng.exponential(0.7, 400)
    times = rng.exponential(size=400)
    until = entry + rng.exponential(1.0, 400)
    kept = times > entry
    y = np.minimum(times, until)
    return x[kept], y[kept], (times <= until)[kept], entry[kept]


def test_late_entry_is_taken_into_account():
    """At a level of 0.05, four of ten have a probability of 0.001."""
    law = cg.models.Exponential(scale=1.0)
    rejections = 0
    for seed in range(10):
        x, y, event, entry = late_entries(seed)
        result = cg.adaptive(law, x, y, event=event, entry=entry, rng=0, n_boot=99)
        rejections += result.pvalue <= 0.05
    assert rejections <= 3
    assert cg.adaptive(law, x, y, event=event, rng=0).pvalue < 0.01
    with pytest.raises(InputError, match="entry is not before y"):
        cg.adaptive(law, x, y, event=event, entry=y, rng=0)


def test_rows_of_missing_values_leave_their_events_out():
    model, x, y, event, _ = sample(100, 0.3, 9)
    x[5, 0] = np.nan
    kept = np.arange(100) != 5
    dropped = cg.adaptive(model, x, y, event=event, missing="drop", **SHORT)
    other = cg.adaptive(model.take(kept), x[kept], y[kept], event=event[kept], **SHORT)
    assert dropped.n == 99
    assert dropped.pvalue == other.pvalue


def test_times_of_censoring_are_drawn_by_kaplan_and_meier():
    """With one weight for all rows it is the usual estimate, given C > T."""
    rng = np.random.default_rng(0)
    n = 400
    times, until = rng.exponential(size=(2, n))
    observed = np.minimum(times, until)
    event = times <= until

    def draw(seed):
        return draw_censoring_times(
            times=observed,
            event=event,
            x=np.zeros((n, 1)),
            near=lambda a, b: np.ones((len(a), len(b))),
            rng=np.random.default_rng(seed),
        )

    drawn = np.concatenate([draw(seed) for seed in range(40)])
    at, lost = oracle.kaplan_meier(observed, 1 - event.astype(int))
    for level in (0.25, 0.5, 0.75):
        point = at[np.searchsorted(lost, level)]
        assert (drawn <= point + 1e-12).mean() == pytest.approx(level, abs=0.02)
    np.testing.assert_allclose(drawn[:n][~event], observed[~event], atol=1e-12)
    assert (drawn[:n][event] >= observed[event] - 1e-12).all()


@pytest.mark.parametrize(
    ("event", "error", "match"),
    [
        (
            [0, 1, 2] * 20,
            InputError,
            r"event must be 0 or 1 .* is 2 in 20 of 60 rows, the first in row 2",
        ),
        ([0] * 60, InputError, "without a single event"),
        ([1] * 59, ShapeError, "event has 59 rows, and y has 60"),
        (
            [1.0] * 59 + [np.nan],
            InputError,
            "event is missing in 1 of 60 rows, the first in row 59",
        ),
        (["yes"] * 60, InputTypeError, "event must be real numbers"),
        (np.ones((60, 2)), ShapeError, r"event must have shape \(n,\)"),
    ],
)
def test_bad_events_are_refused(event, error, match):
    model, x, y, _, _ = sample(60, 0.3, 1)
    with pytest.raises(error, match=match):
        cg.adaptive(model, x, y, event=event)


def test_what_else_is_refused():
    import pandas as pd

    model, x, y, event, _ = sample(60, 0.3, 1)
    for wrong in (0.0, -1.0):
        with pytest.raises(SupportError, match="1 of 60 rows, the first in row 3"):
            cg.adaptive(model, x, np.where(np.arange(60) == 3, wrong, y), event=event)
    with pytest.raises(UnsupportedModelError, match=r"event= needs P\(Y > y"):
        cg.adaptive(cg.models.Poisson(mean=y), x, np.rint(y), event=event)
    with pytest.raises(UnsupportedModelError, match=r"event= needs P\(Y > y"):
        cg.adaptive(cg.from_scores(-y), x, y, event=event)
    with pytest.raises(InputError, match="entry= goes with event="):
        cg.adaptive(model, x, y, entry=np.zeros(60))
    with pytest.raises(UnsupportedModelError, match="says this for d_y = 1 only"):
        cg.adaptive(
            cg.models.Exponential(scale=1.0), x, np.column_stack([y, y]), event=event
        )
    with pytest.raises(InputError, match="event has another index than x"):
        cg.adaptive(
            model, pd.DataFrame(x), y, event=pd.Series(event, index=np.arange(1, 61))
        )
    with pytest.raises(InputError, match="standardize='none' has no meaning"):
        cg.adaptive(model, x, y, event=event, standardize="none")


@pytest.mark.parametrize("test", [cg.kcsd, cg.fscd])
@pytest.mark.parametrize("solver", ["exact", "lowrank"])
def test_a_kernel_on_censored_times_is_refused_and_adaptive_named(test, solver):
    model, x, y, event, _ = sample(60, 0.3, 1)
    law = cg.models.censored(model, event)
    with pytest.raises(UnsupportedModelError, match=r"no score .* Use adaptive or check"):
        test(law, x, y, standardize="cdf", solver=solver, rng=0)


def test_a_law_with_a_survival_function_and_nothing_else_will_do():
    class Late(cg.Law):
        def __init__(self, scale):
            self.scale = scale

        @property
        def rows(self):
            return len(self.scale)

        def take(self, rows):
            return Late(self.scale[rows])

        def sf(self, y):
            return np.exp(-np.ravel(y) / self.scale)

    model, x, y, event, scale = sample(100, 0.3, 2)
    own = cg.adaptive(Late(scale), x, y, event=event, rng=0)
    assert own.details["families"]["constant"] == pytest.approx(
        cg.adaptive(model, x, y, event=event, rng=0).details["families"]["constant"],
        abs=0.05,
    )
