"""composite and crossfit of censored times: what is fitted, drawn and refused."""

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter, WeibullAFTFitter
from scipy.stats import kstest

import condgof as cg
from condgof.check._drawing import drawing_from
from condgof.errors import InputError, InputTypeError
from condgof.laws import SurvivalCurves, as_model, censored, law_of, times_at
from condgof.sample import Sample, Seed


def times(n=200, seed=0, slope=0.0):
    """Return x, y, event of exponential times; `fit` does not know the second column."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 2))
    life = rng.exponential(np.exp(0.5 * x[:, 0] + slope * x[:, 1]))
    until = rng.exponential(2.0, n)
    return x, np.minimum(life, until), (life <= until).astype(int)


def fit(x, y, event):
    """Exponential regression on the first column, by Newton's method."""
    design = np.column_stack([np.ones(len(x)), x[:, 0]])
    y = np.ravel(y)
    b = np.array([np.log(y.sum() / event.sum()), 0.0])
    for _ in range(10):
        expected = y * np.exp(-design @ b)
        b += np.linalg.solve(
            design.T @ (design * expected[:, None]), design.T @ (expected - event)
        )
    return cg.models.Exponential(scale=lambda x: np.exp(b[0] + b[1] * x[:, 0]))


def test_composite_knows_which_times_are_censored():
    x, y, event = times(150, slope=1.0)
    wrong = cg.composite(fit, x, y, event=event, n_boot=19, rng=0, engine=1)
    assert wrong.rejected
    assert wrong.effects[0].columns == ("x2",)
    assert wrong.result.details["failures"] == 0
    assert wrong.details["effective_parameters"] is None
    x, y, event = times(100, seed=1)
    options = {"statistic": "adaptive", "n_boot": 19, "rng": 0, "engine": 1}
    assert cg.composite(fit, x, y, event=event, **options).pvalue > 0.05


def test_crossfit_returns_a_law_that_knows_its_events():
    x, y, event = times(slope=1.0)
    law = cg.crossfit(fit, x, y, event=event, rng=0)
    assert law.is_censored
    np.testing.assert_array_equal(law.event, event)
    found = cg.adaptive(law, x, y, rng=0)
    assert found.reject()
    assert cg.adaptive(law, x, y, event=event, rng=0).pvalue == found.pvalue
    with pytest.raises(InputError, match="differ from those that crossfit was given"):
        cg.adaptive(law, x, y, event=1 - event, rng=0)


def test_events_of_a_series_are_put_in_the_order_of_x():
    x, y, event = times(60)
    labels = pd.Index([f"row {i}" for i in range(60)])
    frame = pd.DataFrame(x, columns=["a", "b"], index=labels)
    shuffled = pd.Series(event, index=labels).sample(frac=1.0, random_state=0)

    def fit_frame(x, y, event):
        inner = fit(np.asarray(x), np.asarray(y), event)
        return cg.models.Model(lambda x: inner(np.asarray(x)))

    law = cg.crossfit(fit_frame, frame, pd.Series(y, index=labels), event=shuffled, rng=0)
    np.testing.assert_array_equal(law.event, event)


def test_fits_of_libraries_get_their_events():
    x, y, event = times(120)
    frame = pd.DataFrame(x, columns=["a", "b"])
    weeks = pd.Series(np.ceil(10 * y), name="week")

    def cox(x, y, event):
        return CoxPHFitter().fit(x.assign(week=y, died=event), "week", "died")

    law = cg.crossfit(cox, frame, weeks, event=event, folds=3, rng=0)
    assert not cg.adaptive(law, frame, weeks, rng=0).reject()
    found = cg.composite(
        cox, frame, weeks, event=event, statistic="adaptive", n_boot=3, rng=0, engine=1
    )
    assert found.details["failures"] == 0


def test_draws_are_censored_where_the_rows_would_have_been():
    x, y, event = times(1000)
    model = censored(cg.models.Exponential(scale=lambda x: np.exp(0.5 * x[:, 0])), event)
    sample = Sample.from_data(x, y)
    drawing = drawing_from(law_of(model, sample), sample, Seed.of(0))
    drawn = drawing(Seed.of(0), 1)
    # A censored row is watched as long as it was, and an event is not after its end.
    stays = event == 0
    assert np.all(drawn.y[stays, 0] <= y[stays])
    np.testing.assert_array_equal(
        drawn.y[stays, 0][drawn.events.event[stays] == 0],
        y[stays][drawn.events.event[stays] == 0],
    )
    # Λ(y) − d has mean 0 under the model, in replicates as in data.
    residual = drawn.events.event - drawn.y[:, 0] * np.exp(-0.5 * x[:, 0])
    assert abs(residual.mean()) < 4 * residual.std() / np.sqrt(1000)
    assert abs(drawn.events.event.mean() - event.mean()) < 0.06


def test_entries_condition_the_draws():
    n = 2000
    entry = np.linspace(0.0, 2.0, n)
    x = np.linspace(0.0, 1.0, n)[:, None]
    y = entry + np.random.default_rng(0).exponential(1.0, n)
    model = censored(cg.models.Exponential(scale=1.0), np.ones(n), entry)
    sample = Sample.from_data(x, y)
    drawn = drawing_from(law_of(model, sample), sample, Seed.of(0))(Seed.of(0), 1)
    assert drawn.events.event.all()
    assert kstest(drawn.y[:, 0] - entry, "expon").pvalue > 0.001


def test_curves_are_inverted_at_steps_and_between_places():
    """Constant hazards between places; exact where the hazard is constant."""

    def curves(x, t):
        return np.exp(-np.outer(x[:, 0], t))

    rate = np.array([0.5, 1.0, 2.0, 0.01])
    places = np.array([0.5, 1.0, 3.0])
    law = SurvivalCurves(curves, rate[:, None], 4, last=3.0)
    levels = 1.0 - np.exp(-rate * np.array([0.2, 0.7, 2.9, 3.1]))
    np.testing.assert_allclose(times_at(law, levels, places)[:3], [0.2, 0.7, 2.9])
    assert times_at(law, levels, places)[3] == np.inf
    steps = SurvivalCurves(curves, rate[:, None], 4, last=3.0, has_steps=True)
    assert times_at(steps, levels, places).tolist() == [0.5, 1.0, 3.0, np.inf]
    known = as_model(cg.models.Exponential(scale=1.0 / rate))(n=4)
    np.testing.assert_allclose(times_at(known, levels, places), [0.2, 0.7, 2.9, 3.1])


@pytest.mark.parametrize("method", [cg.composite, cg.crossfit])
def test_what_cannot_be_is_refused(method):
    x, y, event = times(40)
    with pytest.raises(InputTypeError, match=r"\(x, y, event\) → model.*takes event"):
        method(lambda x, y: None, x, y, event=event)
    with pytest.raises(InputTypeError, match=r"\(x, y, event, entry\) → model"):
        method(fit, x, y, event=event, entry=np.zeros(40))
    with pytest.raises(InputError, match="event must be 0 or 1"):
        method(fit, x, y, event=event + 1)
    with pytest.raises(InputError, match="entry= goes with event="):
        method(fit, x, y, entry=np.zeros(40))


def test_refits_and_kernels_of_censored_times_are_refused():
    x, y, event = times(40)
    with pytest.raises(InputError, match=r"Use composite\(fit, x, y, event=…\)"):
        cg.crossfit(fit, x, y, event=event, refits=99)
    with pytest.raises(InputError, match="kcsd cannot compare censored times"):
        cg.composite(fit, x, y, event=event, statistic="kcsd")


def test_a_law_of_draws_is_still_refused():
    x, y, event = times(40)
    with pytest.raises(cg.errors.UnsupportedModelError, match=r"event= needs P\(Y > y"):
        cg.adaptive(cg.from_draws(np.ones((40, 50))), x, y, event=event)


def test_a_weibull_of_lifelines_is_drawn_between_times():
    x, y, event = times(80)
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(y=y, event=event)
    model = censored(WeibullAFTFitter().fit(frame, "y", "event"), event)
    sample = Sample.from_data(frame[["a", "b"]], y)
    drawn = drawing_from(law_of(model, sample), sample, Seed.of(0))(Seed.of(0), 1)
    came = drawn.events.event > 0
    assert not np.isin(drawn.y[came, 0], y).any()
