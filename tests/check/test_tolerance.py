"""Is it enough? Three verdicts, their words, and what they must not say."""

from types import SimpleNamespace

import numpy as np
import pytest

import condgof as cg
from condgof.check import Effect, Interval, check_allowed, tolerance_of
from condgof.errors import InputError

FAST = {"engine": 1, "n_boot": 99}


def asked(low, high, allowed, effect_low=0.1):
    """The verdict of bounds that are given."""
    bench = SimpleNamespace(size=SimpleNamespace(bounds=lambda tail: (low, high)))
    interval = Interval(0.5 * (low + high), effect_low, high)
    return tolerance_of(
        bench, Effect(interval, "model standard deviations", ""), allowed, 0.05
    )


def test_three_verdicts_and_their_words():
    worse, enough, open_ = (
        asked(*ends, 0.1) for ends in ((0.24, 0.4), (0.01, 0.05), (0.05, 0.3))
    )
    assert (worse.verdict, enough.verdict, open_.verdict) == (
        "worse than you allow",
        "good enough",
        "undecided",
    )
    unit = "and you allow 0.10 (model standard deviations)."
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
    "allowed", [0, -1, float("nan"), float("inf"), "0.1", True, None, [0.1]]
)
def test_what_is_allowed_is_a_positive_number(allowed):
    with pytest.raises(InputError, match=r"tolerance must be a positive number.* got "):
        check_allowed(allowed)
    if allowed is not None:
        with pytest.raises(InputError, match="positive number"):
            cg.check(
                (np.zeros(50), np.ones(50)),
                np.arange(50.0),
                np.zeros(50),
                tolerance=allowed,
            )


def test_many_rows_with_a_small_shift_are_good_enough():
    n = 100_000
    x, y = np.random.default_rng(0).standard_normal((2, n))
    found = cg.check((np.zeros(n), np.ones(n)), x, y + 0.02, tolerance=0.1, rng=0, **FAST)
    assert found.rejected
    assert found.tolerance.verdict == "good enough"
    assert found.tolerance.high < 0.05


def test_a_large_shift_is_worse(rng):
    x, y = rng.standard_normal((2, 300))
    found = cg.check(
        (np.zeros(300), np.ones(300)), x, y + 0.5, tolerance=0.1, rng=0, **FAST
    )
    assert found.tolerance.verdict == "worse than you allow"
    assert found.tolerance.low >= found.effect.interval.low  # one-sided at the same level
    true = cg.check((np.zeros(300), np.ones(300)), x, y, tolerance=0.05, rng=0, **FAST)
    assert true.tolerance.verdict == "undecided"
    assert true.effect.interval.low == 0
