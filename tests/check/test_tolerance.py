"""Is it enough? Three verdicts, their words, and what they must not say."""

from types import SimpleNamespace

import numpy as np
import pytest

import condgof as cg
from condgof.check import EffectSize, Interval, tolerance_of
from condgof.errors import InputError

FAST = {"engine": 1, "n_boot": 99}


def asked(low, high, allowed, effect_low=0.1):
    """The verdict of bounds that are given."""
    bench = SimpleNamespace(size=SimpleNamespace(bounds=lambda tail: (low, high)))
    interval = Interval(0.5 * (low + high), effect_low, high)
    return tolerance_of(bench, EffectSize(interval, "predicted SDs", ""), allowed, 0.05)


def test_three_verdicts_and_their_words():
    worse, enough, open_ = (
        asked(*ends, 0.1) for ends in ((0.24, 0.4), (0.01, 0.05), (0.05, 0.3))
    )
    assert (worse.verdict, enough.verdict, open_.verdict) == (
        "worse than you allow",
        "good enough",
        "undecided",
    )
    unit = "and you allow 0.10 (predicted SDs)."
    assert worse.words == f"The misfit is worse than you allow: at least 0.24, {unit}"
    assert enough.words == f"The model is good enough: its misfit is at most 0.050, {unit}"
    assert (
        open_.words
        == f"Undecided: the misfit is between 0.050 and 0.30, {unit} More rows would tell."
    )
    assert (worse.low, worse.high, worse.allowed) == (0.24, 0.4, 0.1)


def test_what_may_be_no_misfit_is_not_worse():
    found = asked(0.24, 0.4, 0.1, effect_low=0.0)
    assert (found.verdict, found.low) == ("undecided", 0.0)
    assert "the misfit is at most 0.40" in found.words


@pytest.mark.parametrize(
    "allowed",
    [0, -1, float("nan"), float("inf"), True, [0.1], "0.1", "0.1 sd", "-1 nats", "x size"],
)
def test_what_is_allowed_is_a_positive_number_with_a_unit(allowed):
    with pytest.raises(InputError, match=r"tolerance must be a positive number.* got "):
        cg.check(
            (np.zeros(50), np.ones(50)), np.arange(50.0), np.zeros(50), tolerance=allowed
        )


def test_a_bare_number_is_a_size_with_a_warning():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 200))
    model = (np.zeros(200), np.ones(200))
    with pytest.warns(FutureWarning, match=r"0\.1 size"):
        bare = cg.check(model, x, y, tolerance=0.1, rng=0, **FAST)
    written = cg.check(model, x, y, tolerance="0.1 size", rng=0, **FAST)
    assert bare.tolerance == written.tolerance
    assert written.tolerance.option == "0.1 size"


def test_tolerance_in_nats_is_on_the_avoidable_loss():
    rng = np.random.default_rng(1)
    x, noise = rng.standard_normal((2, 600))
    model = (np.zeros(600), np.ones(600))
    worse = cg.check(model, x, x + noise, tolerance="0.05 nats", rng=0, **FAST)
    assert worse.tolerance.verdict == "worse than you allow"
    assert worse.tolerance.low <= worse.avoidable_loss.estimate <= worse.tolerance.high
    enough = cg.check(model, x, noise, tolerance="0.05 nats", rng=0, **FAST)
    assert not enough.rejected
    assert enough.effects == ()
    assert (enough.tolerance.verdict, enough.tolerance.option) == (
        "good enough",
        "0.05 nats",
    )


def test_many_rows_with_a_small_shift_are_good_enough():
    n = 100_000
    x, y = np.random.default_rng(0).standard_normal((2, n))
    found = cg.check(
        (np.zeros(n), np.ones(n)), x, y + 0.02, tolerance="0.1 size", rng=0, **FAST
    )
    assert found.rejected
    assert found.tolerance.verdict == "good enough"
    assert found.tolerance.high < 0.05


def test_a_large_shift_is_worse(rng):
    x, y = rng.standard_normal((2, 300))
    found = cg.check(
        (np.zeros(300), np.ones(300)), x, y + 0.5, tolerance="0.1 size", rng=0, **FAST
    )
    assert found.tolerance.verdict == "worse than you allow"
    assert found.tolerance.low >= found.effect.interval.low  # one-sided at the same level
    true = cg.check(
        (np.zeros(300), np.ones(300)), x, y, tolerance="0.05 size", rng=0, **FAST
    )
    assert true.tolerance.verdict == "undecided"
    assert true.effect.interval.low == 0
