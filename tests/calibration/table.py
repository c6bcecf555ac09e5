"""All cells, the most important ones first: the order in which they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import condgof as cg
from calibration import adversarial, posteriors, samples, wrong
from calibration.design import MOST_SAMPLES, Data, Design, Procedure
from calibration.procedures import (
    ADAPTIVE,
    ADAPTIVE_LIMIT,
    ADAPTIVE_MOMENTS,
    ADAPTIVE_SIGNS,
    CALIBRATION,
    CHECK,
    FSCD,
    FSCD_OPTIMIZED,
    KCSD,
    KCSD_LIMIT,
    MMD,
    MONITOR,
    NAMED_GROUPS,
    RANK,
    REPAIR_RIGHT,
    REPAIR_WRONG,
    SAFE_COMPARE,
    ZHENG,
    ZHENG_SIGNS,
    compare,
    composite,
    crossfit_plain,
    crossfit_refits,
    effect_size,
    power,
    promised_power,
    second_effect,
)
from calibration.wrong import Wrong

KINDS_SECTION = "Right models of each kind of y, n = 300"
HARD_SECTION = "Right models that earlier versions rejected too often"
EFFECTS_SECTION = "Models that are wrong in one known effect: a second one named"
SIZES_SECTION = "Right models at other sizes and numbers of columns"
FUNCTIONS_SECTION = "Other functions, nulls and groups"
REPAIRS_SECTION = "Repairs, judged on new rows"
POWER_SECTION = "Power"

SECTIONS = (
    KINDS_SECTION,
    HARD_SECTION,
    EFFECTS_SECTION,
    SIZES_SECTION,
    FUNCTIONS_SECTION,
    REPAIRS_SECTION,
    POWER_SECTION,
)

BOTH = (CHECK, ADAPTIVE)
LARGE_MOST = 300  # samples of a cell with n = 3,000
# Samples of a cell of power, of which about this many decide.
POWER_MOST = 400
LARGEST_MISFIT = 0.3  # shift of the cells of effect sizes and tolerances

Draw = Callable[..., Data]


def right_model(
    kind: str,
    draw: Draw,
    procedures: tuple[Procedure, ...],
    *,
    n: int = 300,
    columns: int = 6,
    section: str = KINDS_SECTION,
    most: int = MOST_SAMPLES,
) -> Design:
    shown = "1 column" if columns == 1 else f"{columns} columns"
    return Design(
        name=f"{kind}, n = {n:,}, {shown}",
        section=section,
        draw=partial(draw, n, columns),
        procedures=procedures,
        most=most,
    )


def kinds_of_y() -> Iterator[Design]:
    """Every kind of y at n = 300, by `check` and `adaptive`, and tests that apply."""
    yield right_model(
        "normal", samples.normal, (*BOTH, KCSD, FSCD, ADAPTIVE_MOMENTS), columns=15
    )
    yield right_model("Poisson, mean 1", samples.counts, (*BOTH, KCSD, CALIBRATION))
    yield right_model("2 classes", samples.classes, (*BOTH, KCSD, CALIBRATION))
    yield right_model("10 classes", partial(samples.classes, count=10), BOTH)
    yield right_model("5 quantiles", samples.quantiles, BOTH)
    yield right_model("90% interval", samples.intervals, BOTH)
    yield right_model("censored times", samples.censored, BOTH)
    yield right_model("99 draws", samples.draws, BOTH)
    yield right_model("Stein scores only", samples.scores, (*BOTH, KCSD))
    yield right_model("2 columns of y", samples.several, BOTH)
    yield right_model("ordered classes", samples.ordered_classes, BOTH)
    yield right_model("Poisson, mean 0.05", partial(samples.counts, mean=0.05), BOTH)
    yield right_model("negative binomial", samples.negative_binomial, BOTH)
    yield right_model("binomial(5)", samples.binomial, BOTH)
    yield right_model("angles", samples.angles, (*BOTH, KCSD), columns=3)
    yield right_model("Student t", samples.student, BOTH)


def hard_case(
    name: str,
    draw: Callable[..., Data],
    *procedures: Procedure,
    most: int = MOST_SAMPLES,
    note: str = "",
) -> Design:
    return Design(
        name=name,
        section=HARD_SECTION,
        draw=draw,
        procedures=procedures,
        most=most,
        note=note,
    )


def adversarial_designs() -> Iterator[Design]:
    """Right models that version 0.2 rejected too often."""
    yield hard_case(
        "groups 1 × 100 + 24 × 4",
        partial(samples.grouped, "giant"),
        *BOTH,
    )
    yield hard_case("counts, AR(0.8), n = 300", partial(samples.ar_counts, 300), *BOTH)
    yield hard_case("binary, AR(0.8), n = 300", partial(samples.ar_binary, 300), *BOTH)
    yield hard_case(
        "19 quantiles, AR(0.8), n = 300", partial(samples.ar_quantiles, 300), *BOTH
    )
    yield hard_case("5 classes, AR(0.8), n = 300", partial(samples.ar_classes, 300), *BOTH)
    yield hard_case(
        "90% interval, AR(0.8), n = 300", partial(samples.ar_interval, 300), *BOTH
    )
    yield hard_case("hours of days, n = 720", partial(samples.hours_of_days, 720), ADAPTIVE)
    yield hard_case(
        "long memory (d = 0.4), n = 500",
        partial(samples.long_memory, 500),
        ADAPTIVE,
        note="No block length is right for long memory; the documentation says so.",
    )
    yield hard_case(
        "least squares, 2 columns, n = 25",
        partial(adversarial.lines, 25, 2),
        crossfit_refits(cg.fits.ols),
    )
    yield hard_case(
        "least squares, 10 columns, n = 40",
        partial(adversarial.lines, 40, 10),
        crossfit_refits(cg.fits.ols),
    )
    yield hard_case(
        "least squares, 6 columns, n = 100",
        partial(adversarial.lines, 100, 6),
        crossfit_plain(cg.fits.ols),
    )
    yield hard_case(
        "rivals, rare event (0.01), n = 100",
        partial(adversarial.rival_rare_events, 100),
        SAFE_COMPARE,
        RANK,
    )
    yield hard_case(
        "rivals, groups 1 × 100 + 24 × 4",
        partial(samples.grouped_rivals, "giant"),
        compare(),
    )
    yield hard_case(
        "misfit as large as allowed, groups 1 × 100 + 24 × 4",
        partial(samples.grouped, "giant", bias=LARGEST_MISFIT),
        effect_size(LARGEST_MISFIT),
    )
    yield hard_case(
        "by=, binary twins, n = 600",
        partial(adversarial.binary_twins, 600),
        NAMED_GROUPS,
    )
    yield hard_case(
        "by=, Laplace scores, n = 200",
        partial(adversarial.laplace_scores, 200),
        NAMED_GROUPS,
    )
    yield hard_case(
        "quantiles of counts, n = 300",
        partial(adversarial.poisson_quantiles, 300),
        *BOTH,
    )
    yield hard_case(
        "interval of large counts, n = 300",
        partial(adversarial.poisson_intervals, 300),
        *BOTH,
    )
    yield hard_case(
        "8 columns of y, n = 300", partial(samples.several, 300, 3, d_y=8), CHECK
    )
    yield hard_case("normal, n = 5", partial(samples.normal, 5, 3), CHECK)
    yield hard_case(
        "posterior draws after 50 rows, n = 200",
        partial(samples.posterior_draws, 200, 5),
        *BOTH,
    )
    yield hard_case(
        "draws with one noise vector, n = 200",
        partial(samples.common_noise, 200, 2),
        *BOTH,
    )
    yield hard_case(
        "scores of a positive y, n = 40",
        partial(adversarial.positive_scores, 40),
        ADAPTIVE,
        note="The test gives a SupportWarning: the support of y is not declared.",
    )
    yield hard_case(
        "density with a moving spike, n = 200",
        partial(adversarial.moving_spike, 200),
        ADAPTIVE,
    )
    yield hard_case(
        "ridge regression, 5 columns, n = 60",
        partial(adversarial.lines, 60, 5, slope=2.0),
        composite(adversarial.ridge),
    )
    yield hard_case(
        "censored times, groups 1 × 100 + 24 × 4",
        partial(samples.grouped_censored, "giant"),
        CHECK,
    )
    for name, draw in (
        ("independent rows, n = 300", partial(wrong.biased_or_spread, 300)),
        ("groups 25 × 12", partial(wrong.off_in_groups, "equal")),
        ("groups 1 × 100 + 24 × 4", partial(wrong.off_in_groups, "giant")),
        ("AR(0.5), blocks of 10, n = 300", partial(wrong.off_in_series, 300, 0.5, 10)),
        ("AR(0.7), blocks of 20, n = 400", partial(wrong.off_in_series, 400, 0.7, 20)),
    ):
        yield hard_case(
            f"promised power, {name}", draw, promised_power(draw), most=POWER_MOST
        )


def later_stages() -> Iterator[Design]:
    """One effect three times as large as one that is nearly always found."""
    for error in ("bias", "spread"):
        for shown, column, degrees in (
            ("everywhere", "", 1),
            ("by one of 6 categories", "letter", 5),
            ("by one of 30 categories", "kind", 29),
            ("trend", "other", 1),
        ):
            cause = Wrong(error, column, degrees)
            yield Design(
                name=f"{error} {shown}, n = 1,000",
                section=EFFECTS_SECTION,
                draw=partial(cause.draw, 1000),
                procedures=(second_effect(cause.is_cause),),
                most=LARGE_MOST,
            )


def other_sizes() -> Iterator[Design]:
    """The same kinds at n = 12, 60 and 3,000, with 3 to 60 columns."""
    at_60 = partial(right_model, section=SIZES_SECTION, n=60, columns=3)
    yield at_60("normal", samples.normal, (*BOTH, KCSD, FSCD))
    yield at_60("Poisson, mean 1", samples.counts, BOTH)
    yield at_60("2 classes", samples.classes, BOTH)
    yield at_60("censored times", samples.censored, BOTH)
    yield at_60("90% interval", samples.intervals, BOTH)
    yield at_60("99 draws", samples.draws, (*BOTH, MMD))
    yield at_60("Stein scores only", samples.scores, BOTH)
    at_12 = partial(right_model, section=SIZES_SECTION, n=12, columns=3)
    yield at_12("normal", samples.normal, (*BOTH, KCSD))
    yield at_12("Poisson, mean 1", samples.counts, (ADAPTIVE,))
    yield at_12("2 classes", samples.classes, (ADAPTIVE,))
    yield right_model("normal", samples.normal, BOTH, columns=60, section=SIZES_SECTION)
    large = partial(right_model, section=SIZES_SECTION, n=3000, most=LARGE_MOST)
    yield large("normal", samples.normal, (CHECK,), columns=60)
    yield large("2 classes", samples.classes, (CHECK,), columns=15)
    yield large("Poisson, mean 1", samples.counts, (CHECK,), columns=6)
    yield large("censored times", samples.censored, (CHECK,), columns=3)
    yield large("90% interval", samples.intervals, (CHECK,), columns=15)


def other(
    name: str,
    draw: Callable[..., Data],
    *procedures: Procedure,
    most: int = MOST_SAMPLES,
    note: str = "",
) -> Design:
    return Design(
        name=name,
        section=FUNCTIONS_SECTION,
        draw=draw,
        procedures=procedures,
        most=most,
        note=note,
    )


def other_functions() -> Iterator[Design]:
    yield other("groups 25 × 12", partial(samples.grouped, "equal"), *BOTH)
    yield other(
        "40 groups of log-normal sizes", partial(samples.grouped, "lognormal"), *BOTH
    )
    yield other("normal, AR(0.8), n = 300", partial(samples.ar_normal, 300), *BOTH, KCSD)
    yield other(
        "nulls, a line, n = 100",
        partial(wrong.biased_or_spread, 100),
        ADAPTIVE,
        ADAPTIVE_SIGNS,
        ADAPTIVE_LIMIT,
        KCSD,
        KCSD_LIMIT,
        FSCD_OPTIMIZED,
        ZHENG,
        ZHENG_SIGNS,
        note="Zheng's normal limit is too liberal at small α; the documentation says so.",
    )
    for design in ("log-normal", "survey"):
        for n, most in ((60, MOST_SAMPLES), (300, MOST_SAMPLES), (3000, LARGE_MOST)):
            yield other(
                f"{design} weights, normal, n = {n:,}",
                partial(samples.weighted, design, n),
                *BOTH,
                KCSD,
                NAMED_GROUPS,
                most=most,
            )
        yield other(
            f"{design} weights, 2 classes, n = 300",
            partial(samples.weighted_classes, design, 300),
            *BOTH,
            NAMED_GROUPS,
        )
    yield other("late entry, n = 300", partial(samples.late_entry, 300, 3), ADAPTIVE)
    yield other("PITs, n = 300", partial(samples.pits, 300, 6), ADAPTIVE)
    yield other(
        "by=, 12 groups, n = 300",
        partial(adversarial.normal_by_groups, 300),
        NAMED_GROUPS,
    )
    yield other("rivals, n = 100", partial(adversarial.rival_normals, 100), compare())
    yield other(
        "rivals, quantiles, n = 100", partial(adversarial.rival_quantiles, 100), compare()
    )
    yield other(
        "rivals, AR(0.6), n = 300", partial(adversarial.rival_series, 300), SAFE_COMPARE
    )
    yield other("6 rivals, n = 100", partial(adversarial.rivals_on_a_circle, 100), RANK)
    yield other(
        "fitted least squares, 3 columns, n = 100",
        partial(adversarial.lines, 100, 3),
        composite(cg.fits.ols),
    )
    yield other(
        "fitted weighted least squares, 3 columns, n = 100",
        partial(adversarial.weighted_lines, 100, 3),
        composite(cg.fits.ols),
        most=LARGE_MOST,
    )
    yield other(
        "fitted Poisson regression, 3 columns, n = 100",
        partial(adversarial.log_linear_counts, 100, 3),
        composite(adversarial.poisson_regression),
        most=LARGE_MOST,
    )
    for problem, model in (
        ("known", "line, σ known"),
        ("unknown", "line"),
        ("poisson", "Poisson counts in 4 groups"),
    ):
        for n, most in ((50, MOST_SAMPLES), (200, LARGE_MOST)):
            yield other(
                f"posterior in sample, {model}, n = {n}",
                partial(posteriors.in_sample, problem, n),
                ADAPTIVE,
                most=most,
            )
    yield other("stream, normal, 3,000 rows", partial(samples.normal, 3000, 3), MONITOR)
    yield other("stream, 2 classes, 3,000 rows", partial(samples.classes, 3000, 3), MONITOR)


def repairs() -> Iterator[Design]:
    for name, draw, procedure in (
        ("straight line for a curve", wrong.straight_line, REPAIR_WRONG),
        ("Poisson for a negative binomial", wrong.poisson_for_dispersed, REPAIR_WRONG),
        ("right curve", wrong.right_curve, REPAIR_RIGHT),
    ):
        yield Design(
            name=f"{name}, n = 500",
            section=REPAIRS_SECTION,
            draw=partial(draw, 500),
            procedures=(procedure,),
            most=POWER_MOST,
        )


def misfit(name: str, draw: Draw, n: int, least: float, *tests: str) -> Design:
    return Design(
        name=f"{name}, n = {n:,}",
        section=POWER_SECTION,
        draw=partial(draw, n),
        procedures=tuple(power(test, least) for test in tests),
        most=POWER_MOST,
    )


def misfits() -> Iterator[Design]:
    """Standard misfits, with the power that version 0.3 was asked for or had before."""
    yield misfit("12% zeros too many", wrong.too_many_zeros, 300, 0.7, "adaptive")
    yield misfit("overdispersion (size 4)", wrong.overdispersed, 300, 0.88, "adaptive")
    yield misfit("slope 0.25 missing", wrong.missing_slope, 300, 0.8, "check")
    yield misfit("logits doubled", wrong.overconfident_classes, 300, 0.9, "check")
    yield misfit("spread by 30 categories", wrong.spread_by_category, 600, 0.6, "check")
    yield misfit("tails of t(4)", wrong.heavy_tails, 500, 0.5, "check")


def all_designs() -> list[Design]:
    return [
        *kinds_of_y(),
        *adversarial_designs(),
        *later_stages(),
        *other_sizes(),
        *other_functions(),
        *repairs(),
        *misfits(),
    ]
