"""The functions of the library whose level or power is measured."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import condgof as cg
from calibration.design import Data, Procedure, PValues, level
from calibration.sequential import AT_MOST_05, LEVEL_01, LEVEL_05, at_least

DRAWS = 199  # of a null: p-values are multiples of 1/200, so that 0.05 and 0.01 are exact
REFITS = 99  # of `composite` and `crossfit`, where a draw is a fit

FAST: dict[str, Any] = {"engine": 1, "n_boot": DRAWS}


def from_event(happened: bool) -> float:
    """Return a p-value that counts as a rejection if something happened."""
    return 0.0 if happened else 1.0


def run_test(name: str, options: dict[str, Any], data: Data, seed: int) -> float:
    """Run a test that returns one p-value: `adaptive`, `kcsd`, `fscd`, `calibration`."""
    test = getattr(cg, name)
    settings = {**FAST, **data.options, **options}
    return test(data.model, data.x, data.y, rng=seed, **settings).pvalue


def plain_test(name: str, label: str = "", **options: Any) -> Procedure:
    return level(label or name, partial(run_test, name, options))


ADAPTIVE = plain_test("adaptive")
ADAPTIVE_SIGNS = plain_test("adaptive", "adaptive, random signs", null="wild")
ADAPTIVE_LIMIT = plain_test("adaptive", "adaptive, limit", null="multinomial")
ADAPTIVE_MOMENTS = plain_test("adaptive", "adaptive, moments", standardize="mean_std")
KCSD = plain_test("kcsd")
KCSD_LIMIT = plain_test("kcsd", "kcsd, limit", null="multinomial")
FSCD = plain_test("fscd", "fscd", locations="random")
FSCD_OPTIMIZED = plain_test("fscd", "fscd, optimised", locations="optimize")
ZHENG = plain_test("zheng", "zheng, normal limit")
ZHENG_SIGNS = plain_test("zheng", "zheng, random signs", null="wild")
MMD = plain_test("mmd")
CALIBRATION = plain_test("calibration")


# check


def checked(data: Data, seed: int, **options: Any) -> cg.Check:
    settings = {**FAST, **data.options, **options}
    return cg.check(data.model, data.x, data.y, rng=seed, **settings)


def run_check(data: Data, seed: int) -> PValues:
    """All that a report may say against a right model."""
    report = checked(data, seed)
    named = len(report.effects) + len(report.slices) > 0
    interval = any(one.telling for one in report.overall)
    outlier = len(report.outliers) > 0
    return {
        "check": report.pvalue,
        "check: effect or slice": from_event(named),
        "check: overall intervals": from_event(interval),
        "check: anything": from_event(report.rejected or named or interval or outlier),
    }


# Effects and slices are named of rejected models alone, and overall intervals are
# simultaneous ones: both may be rarer than α.
CHECK = Procedure(
    run_check,
    {
        "check": (LEVEL_05, LEVEL_01),
        "check: effect or slice": (AT_MOST_05,),
        "check: overall intervals": (AT_MOST_05,),
        "check: anything": (AT_MOST_05,),
    },
)


def run_named_groups(data: Data, seed: int) -> PValues:
    report = checked(data, seed, by=data.by)
    return {"check: any group of by=": min(one.pvalue for one in report.groups)}


# p-values of groups of few units have a floor, and Holm's correction is a bound.
NAMED_GROUPS = Procedure(run_named_groups, {"check: any group of by=": (AT_MOST_05,)})


def run_effect_size(truth: float, data: Data, seed: int) -> PValues:
    report = checked(data, seed, tolerance=truth)
    interval = report.effect.interval
    tolerance = report.tolerance
    return {
        "check: effect size misses": from_event(not interval.low <= truth <= interval.high),
        "check: tolerance": from_event(
            tolerance is not None and tolerance.verdict == "worse than you allow"
        ),
    }


def effect_size(truth: float) -> Procedure:
    """A misfit as large as is allowed: its interval, and "worse than you allow"."""
    return Procedure(
        partial(run_effect_size, truth),
        {
            "check: effect size misses": (AT_MOST_05,),
            "check: tolerance": (AT_MOST_05,),
        },
    )


# Effects of wrong models


def run_second_effect(is_cause: Callable[[Any], bool], data: Data, seed: int) -> PValues:
    effects = checked(data, seed).effects
    others = [one for one in effects if not is_cause(one)]
    return {
        "check: a second effect": from_event(0 < len(others) < len(effects)),
        "check: the cause first": from_event(bool(effects) and is_cause(effects[0])),
    }


CAUSE_FIRST = 0.9  # least share of samples in which the first effect is the cause


def second_effect(is_cause: Callable[[Any], bool]) -> Procedure:
    return Procedure(
        partial(run_second_effect, is_cause),
        {
            "check: a second effect": (AT_MOST_05,),
            "check: the cause first": (at_least(CAUSE_FIRST),),
        },
    )


# Repairs


HARM = 0.002  # loss in nats a row that counts as worse


def run_repair(data: Data, seed: int) -> PValues:
    report = checked(data, seed)
    repair = report.repair(rng=seed)
    gain = repair.gain(*data.new).estimate
    promised = repair.held_out
    return {
        "repair: better": from_event(gain > 0.0),
        "repair: worse": from_event(gain < -HARM),
        "repair: promises too much": from_event(
            promised is not None and promised.interval[0] > gain
        ),
    }


BETTER = 0.95  # least share of repairs of clear misfits that gain on new rows

REPAIR_WRONG = Procedure(
    run_repair,
    {
        "repair: better": (at_least(BETTER),),
        "repair: promises too much": (AT_MOST_05,),
    },
)
REPAIR_RIGHT = Procedure(run_repair, {"repair: worse": (AT_MOST_05,)})


# Power


def power(name: str, least: float) -> Procedure:
    """Ask that a test rejects a wrong model at 0.05 in at least so many samples."""
    run = run_verdict if name == "check" else partial(run_test, name, {})
    return level(f"{name}: power {least:g}", run, limits=(at_least(least),))


def run_verdict(data: Data, seed: int) -> float:
    return checked(data, seed).pvalue


BIAS_FOUND = "check: bias said to be found with power 0.8"
WIDE_FOUND = "check: spread that is too large, likewise"
NARROW_FOUND = "check: spread that is too small, likewise"


def run_promised_power(draw: Callable[..., Data], data: Data, seed: int) -> PValues:
    """Make the misfits that a check of a right sample says are found with power 0.8."""
    promised = checked(data, seed).power
    misfits = {
        BIAS_FOUND: {"size": promised.size},
        WIDE_FOUND: {"spread": promised.spread},
        NARROW_FOUND: {"spread": 1.0 / promised.spread},
    }
    pvalues = {}
    for number, (claim, misfit) in enumerate(misfits.items()):
        again = draw(np.random.default_rng([seed, number]), **misfit)
        pvalues[claim] = checked(again, seed).pvalue
    return pvalues


def promised_power(draw: Callable[..., Data]) -> Procedure:
    claims = (BIAS_FOUND, WIDE_FOUND, NARROW_FOUND)
    return Procedure(
        partial(run_promised_power, draw), {claim: (at_least(0.8),) for claim in claims}
    )


# Two and more models


def run_compare(measure: str, data: Data, seed: int) -> float:
    (rival,) = data.rivals.values()
    comparison = cg.compare(
        data.model,
        rival,
        data.x,
        data.y,
        measure=measure,
        rng=seed,
        engine=1,
        **data.options,
    )
    return comparison.pvalue


def compare(measure: str = "auto") -> Procedure:
    return level("compare", partial(run_compare, measure))


# Differences of scores are skewed or dependent there, and p-values err on the safe side.
SAFE_COMPARE = level("compare", partial(run_compare, "auto"), limits=(AT_MOST_05, LEVEL_01))


def run_rank(data: Data, seed: int) -> PValues:
    ranking = cg.rank(
        {"model": data.model, **data.rivals}, data.x, data.y, rng=seed, **FAST
    )
    return {"rank: any pair": min(pair.pvalue for pair in ranking.pairs)}


RANK = Procedure(run_rank, {"rank: any pair": (AT_MOST_05, LEVEL_01)})


# Fits


def run_composite(make_fit: Callable[[], Any], data: Data, seed: int) -> float:
    report = cg.composite(
        make_fit(),
        data.x,
        data.y,
        statistic="adaptive",
        n_boot=REFITS,
        rng=seed,
        engine=1,
        progress=False,
        **data.options,
    )
    return report.pvalue


def composite(make_fit: Callable[[], Any]) -> Procedure:
    return level("composite", partial(run_composite, make_fit))


def run_crossfit(make_fit: Callable[[], Any], refits: int, data: Data, seed: int) -> float:
    law = cg.crossfit(make_fit(), data.x, data.y, refits=refits, rng=seed)
    return cg.adaptive(law, data.x, data.y, rng=seed, **FAST).pvalue


def crossfit_refits(make_fit: Callable[[], Any]) -> Procedure:
    return level("crossfit with refits", partial(run_crossfit, make_fit, REFITS))


def crossfit_plain(make_fit: Callable[[], Any]) -> Procedure:
    """Without refits; the docstring of `crossfit` says that this is conservative."""
    return level(
        "crossfit", partial(run_crossfit, make_fit, 0), limits=(AT_MOST_05, LEVEL_01)
    )


# Streams


def run_monitor(data: Data, seed: int) -> PValues:
    watcher = cg.monitor(data.model, alpha=0.05, rng=seed).update(data.x, data.y)
    return {"monitor: alarm": from_event(watcher.state["evidence"]["alarm"] is not None)}


# By Ville's inequality the chance of an alarm at any time is at most α; in a stream that
# ends it is smaller.
MONITOR = Procedure(run_monitor, {"monitor: alarm": (AT_MOST_05,)})
