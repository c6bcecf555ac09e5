"""All tables of `make rivals`, with what is published."""

from __future__ import annotations

from functools import cache, partial

from rivals import (
    conditional,
    ecmmd,
    kccsd,
    learned,
    library,
    models,
    practice,
    simulated,
    streams,
)
from rivals.design import Problem, Procedure, Table

ADAPTIVE = Procedure("condgof adaptive", library.adaptive, ours=True)
KCSD = Procedure("condgof kcsd", library.kcsd, ours=True)
CHECK = Procedure("condgof check", library.check, ours=True)
COMPOSITE = Procedure("condgof composite", models.composite, ours=True)
BOOSTED = Procedure("boosted trees", learned.boosted, adjusted=True)
C2ST = Procedure("C2ST, boosted", learned.c2st, adjusted=True)


@cache
def all_tables() -> tuple[Table, ...]:
    return (
        ecmmd_goodness(),
        ecmmd_regression(),
        ecmmd_binary(),
        kccsd_problems(),
        counts(),
        textbook(),
        survival(),
        posteriors(),
        coverage(),
        practitioner(),
        drifting(),
    )


def ecmmd_goodness() -> Table:
    published = {  # by n: KCSD, derandomised ECMMD of 20 and of 40 neighbours
        50: (0.136, 0.228, 0.196),
        100: (0.312, 0.468, 0.428),
        150: (0.622, 0.758, 0.774),
        200: (0.780, 0.882, 0.914),
        250: (0.918, 0.950, 0.974),
    }
    names = ("KCSD", "ECMMD, 20 neighbours", "ECMMD, 40 neighbours")
    problems = [
        Problem(
            f"n = {n}",
            partial(conditional.heteroscedastic, n=n, rho=10.0),
            at=n,
            published=dict(zip(names, powers, strict=True)),
        )
        for n, powers in published.items()
    ]
    right = [
        Problem(
            f"right model, n = {n}",
            partial(conditional.heteroscedastic, n=n, rho=0.0),
            is_null=True,
        )
        for n in (50, 250)
    ]
    return Table(
        name="ecmmd-goodness",
        title="ECMMD: conditional goodness of fit",
        source="arXiv 2407.16550",
        about="x ~ N(0, I₃), y ~ N(Σx, 1); the model's variance is "
        "1 + 10 exp(−‖x − 0.8·1‖² / (2·0.8²)).",
        problems=(*problems, *right),
        tests=(
            ADAPTIVE,
            KCSD,
            Procedure("condgof kcsd, residuals", library.kcsd_of_residuals, ours=True),
            Procedure("ECMMD, 20 neighbours", partial(ecmmd.ecmmd, k=20)),
            Procedure("ECMMD, 40 neighbours", partial(ecmmd.ecmmd, k=40)),
        ),
        samples=200,
        axis="rows",
        remark="Our ECMMD averages the kernel over 20 draws from the model before it "
        "studentises, with the variance derived in `benchmarks/rivals/ecmmd.py`; it "
        "rejects more often than the published one.",
    )


def ecmmd_regression() -> Table:
    published = {  # by s: SKCE, ECMMD of 4 neighbours
        0.2: (0.012, 0.904),
        0.4: (0.006, 0.998),
        0.6: (0.108, 1.0),
        0.8: (0.604, 1.0),
        1.0: (0.978, 1.0),
    }
    problems = [
        Problem(
            f"n = 50, s = {s:g}",
            partial(conditional.regression, n=50, s=s),
            at=s,
            published=dict(zip(("SKCE", "ECMMD, 4 neighbours"), powers, strict=True)),
        )
        for s, powers in published.items()
    ]
    larger = Problem(
        "n = 75, s = 0.2",
        partial(conditional.regression, n=75, s=0.2),
        published={"SKCE": 0.014, "ECMMD, 4 neighbours": 0.990},
    )
    return Table(
        name="ecmmd-regression",
        title="ECMMD: calibration of a regression",
        source="arXiv 2407.16550",
        about="x ~ U(−1, 1), y = s·sin(πx) + |1 + x|·N(0, 0.15²); the model is a line with "
        "one residual SD, fitted to 200 other rows.",
        problems=(*problems, larger),
        tests=(
            ADAPTIVE,
            CHECK,
            Procedure("ECMMD, 4 neighbours", partial(ecmmd.ecmmd, k=4), adjusted=True),
        ),
        samples=200,
        axis="s",
        remark="All of these models are wrong: the spread of y depends on x.",
    )


def ecmmd_binary() -> Table:
    published = {  # by s: SKCE, ECMMD of 15 neighbours
        0.1: (0.334, 0.194),
        0.2: (0.696, 0.600),
        0.3: (0.958, 0.936),
        0.4: (0.996, 0.998),
        0.5: (1.0, 1.0),
    }
    problems = [
        Problem(
            f"s = {s:g}",
            partial(conditional.binary, n=100, s=s),
            at=s,
            published=dict(zip(("SKCE", "ECMMD, 15 neighbours"), powers, strict=True)),
        )
        for s, powers in published.items()
    ]
    right = Problem(
        "right model, s = 0.3",
        partial(conditional.binary, n=100, s=0.3, power=0.0),
        is_null=True,
    )
    return Table(
        name="ecmmd-binary",
        title="ECMMD: calibration of two classes",
        source="arXiv 2407.16550",
        about="p ~ Beta(s, 1 − s), y ~ Bernoulli(p − p⁵), p is claimed; n = 100.",
        problems=(*problems, right),
        tests=(
            ADAPTIVE,
            Procedure("condgof calibration", library.calibration, ours=True),
            Procedure("ECMMD, 15 neighbours", partial(ecmmd.ecmmd, k=15, linear=True)),
            Procedure("SKCE, resampled", ecmmd.skce),
        ),
        samples=200,
        axis="s",
        remark="The published level of SKCE here is 0.07. Claims of nearly 0 or 1 make "
        "ties among the neighbours; our ECMMD breaks them at random.",
    )


def kccsd_problems() -> Table:
    rows = {
        "MGM": (conditional.shifted_means, (0.1, 0.2, 0.3)),
        "LGM": (conditional.sloped, (0.1, 0.2)),
        "HGM": (conditional.bumped, (1.0,)),
        "QGM": (conditional.curved, (1.0, 2.0)),
    }
    problems = [
        Problem(f"{name}, δ = {delta:g}", partial(draw, n=80, delta=delta))
        for name, (draw, deltas) in rows.items()
        for delta in deltas
    ]
    right = Problem(
        "right model", partial(conditional.shifted_means, n=80, delta=0.0), is_null=True
    )
    return Table(
        name="kccsd",
        title="KCCSD: four normal models, n = 80",
        source="arXiv 2510.14711",
        about="MGM: the mean is off by δ. LGM: the slopes of five columns are off by δ. "
        "HGM: the variance has a bump of 10δ. QGM: 0.1 δ x² is missing.",
        problems=(*problems, right),
        tests=(
            ADAPTIVE,
            Procedure("condgof calibration", library.calibration, ours=True),
            Procedure("KCCSD", kccsd.kccsd),
        ),
        samples=200,
        remark="KCCSD is written again from its formula, with median bandwidths. The "
        "slopes of our LGM are all off by the same factor.",
    )


def counts() -> Table:
    faults = {
        "zeros": "12% zeros too many",
        "dispersion": "overdispersed (size 4)",
        "slope": "a slope of 0.12 is missing",
        "rare": "rare counts, a step is missing",
    }
    problems = [
        Problem(title, partial(practice.counts, n=300, fault=fault))
        for fault, title in faults.items()
    ]
    right = Problem(
        "right model", partial(practice.counts, n=300, fault="none"), is_null=True
    )
    return Table(
        name="counts",
        title="Counts: residuals by simulation, as DHARMa's",
        source="the tests that DHARMa made usual, written again from their definition",
        about="x ~ N(0, I₃), the model is Poisson(exp(0.5 + 0.4 x₁)), n = 300.",
        problems=(*problems, right),
        tests=(
            ADAPTIVE,
            Procedure("simulated residuals, KS", simulated.uniformity),
            Procedure("simulated dispersion", simulated.dispersion),
            Procedure("simulated zeros", simulated.zeros),
            BOOSTED,
        ),
        samples=200,
        remark="A test of zeros alone, or of dispersion alone, is sharper against its own "
        "alternative and blind to the others; x enters boosted trees and condgof only.",
    )


def textbook() -> Table:
    problems = (
        Problem(
            "line, SD exp(0.2 x₁), n = 200",
            partial(models.line_with_spread, n=200, growth=0.2),
        ),
        Problem(
            "line, 0.2 x₁² is missing, n = 200",
            partial(models.missing_square, n=200, square=0.2),
        ),
        Problem(
            "right line, n = 200",
            partial(models.missing_square, n=200, square=0.0),
            is_null=True,
        ),
        Problem(
            "logistic, 0.3 x₁² is missing, n = 400",
            partial(models.logistic_square, n=400, square=0.3),
        ),
        Problem(
            "Poisson, variance μ + 0.15 μ², n = 300",
            partial(models.overdispersed, n=300, alpha=0.15),
        ),
        Problem(
            "Poisson, 8% zeros of another kind, n = 300",
            partial(models.inflated, n=300, share=0.08),
        ),
        Problem(
            "right Poisson, n = 300",
            partial(models.overdispersed, n=300, alpha=0.0),
            is_null=True,
        ),
    )
    return Table(
        name="textbook",
        title="Fitted models: the textbook's test of each fault",
        source="textbooks",
        about="Three normal columns.",
        problems=problems,
        tests=(
            Procedure("condgof check, half held out", models.check_held_out, ours=True),
            COMPOSITE,
            Procedure("the textbook's test", models.textbook_test),
        ),
        samples=100,
        remark="The textbook's test is told which fault to look for (Breusch–Pagan for the "
        "spread, RESET for the square, Hosmer–Lemeshow, score tests of dispersion and of "
        "zeros) and sees a fit to all rows; so does `composite`. "
        "`check` sees a fit to half of the rows and tests it on the other half: the price "
        "of not knowing the fault, and of not needing the family.",
    )


def survival() -> Table:
    problems = (
        Problem(
            "Cox, the hazard ratio changes, n = 300",
            partial(models.changing_hazard, n=300, change=0.5),
        ),
        Problem(
            "right Cox model, n = 300",
            partial(models.changing_hazard, n=300, change=0.0),
            is_null=True,
        ),
    )
    return Table(
        name="survival",
        title="A Cox model: Schoenfeld residuals",
        source="textbooks",
        about="A treatment and an age; a third of the times are censored.",
        problems=problems,
        tests=(
            Procedure("condgof check, half held out", models.check_held_out, ours=True),
            Procedure("Schoenfeld, all rows", models.textbook_test),
        ),
        samples=60,
    )


def posteriors() -> Table:
    cases = {
        "mean off by 0.25 with the sign of x₁": (0.25, 1.0, 0.0),
        "SD 0.85 times the model's": (0.0, 0.85, 0.0),
        "correlation 0.3, the model has none": (0.0, 1.0, 0.3),
    }
    problems = [
        Problem(
            name,
            partial(practice.posterior, n=300, shift=shift, std=std, correlation=rho),
        )
        for name, (shift, std, rho) in cases.items()
    ]
    right = Problem(
        "right model",
        partial(practice.posterior, n=300, shift=0.0, std=1.0, correlation=0.0),
        is_null=True,
    )
    return Table(
        name="posteriors",
        title="Simulators: SBC, TARP and classifiers",
        source="their definitions",
        about="The model is N(Ax, I) of two columns of y given two of x, n = 300.",
        problems=(*problems, right),
        tests=(
            ADAPTIVE,
            Procedure("SBC, KS of ranks", simulated.sbc),
            Procedure("TARP, KS", simulated.tarp),
            C2ST,
        ),
        samples=200,
    )


def coverage() -> Table:
    problems = [
        Problem(
            f"SD exp({growth:g} x₁), n = 500",
            partial(practice.coverage_by_column, n=500, growth=growth),
        )
        for growth in (0.2, 0.3)
    ]
    right = Problem(
        "right model", partial(practice.coverage_by_column, n=500, growth=0.0), is_null=True
    )
    return Table(
        name="coverage",
        title="Coverage given x: the excess risk of a learner (ERT)",
        source="its definition, with boosted trees",
        about="Five normal columns; 90% of y lie in the 90% interval, not so given x₁.",
        problems=(*problems, right),
        tests=(
            Procedure("condgof check of the interval", library.check_interval, ours=True),
            Procedure("ERT, boosted trees", learned.excess_risk_of_coverage, adjusted=True),
        ),
        samples=100,
    )


def practitioner() -> Table:
    names = list(practice.families.REPORTED)
    shifts = {
        "0.6 sign(x₁x₂x₃), 20 columns, n = 2,000": (2000, 20, practice.triple_sign),
        "0.4 x₁x₂x₃, 20 columns, n = 1,000": (1000, 20, practice.triple_product),
        "0.3 sign(x₁x₂), 20 columns, n = 1,000": (1000, 20, practice.pair_sign),
    }
    digits = {
        "digits, odd ±0.25, n = 500": (500, 0.25, 0.0, 0.0),
        "digits, 8 is shifted by 0.6, n = 1,000": (1000, 0.0, 0.6, 0.0),
        "digits, SD 1.2 and 0.75 by parity, n = 500": (500, 0.0, 0.0, 1.2),
    }
    papers = {"HGM, n = 100": ("hgm", 100), "QGM, n = 200": ("qgm", 200)}
    problems = (
        *(Problem(name, partial(practice.misfit, name=name)) for name in names),
        *(
            Problem(name, partial(practice.shift, n=n, d=d, g=g))
            for name, (n, d, g) in shifts.items()
        ),
        *(
            Problem(
                name, partial(practice.digits, n=n, odd=odd, eight=eight, spread=spread)
            )
            for name, (n, odd, eight, spread) in digits.items()
        ),
        *(
            Problem(name, partial(practice.paper_problem, name=problem, n=n))
            for name, (problem, n) in papers.items()
        ),
    )
    return Table(
        name="practitioner",
        title="Parts of x: boosted trees on residuals, and a classifier",
        source="problems that a practitioner would try",
        about="z is N(0, 1) under the model; a shift g(x) keeps its variance.",
        problems=problems,
        tests=(CHECK, BOOSTED, C2ST),
        samples=60,
    )


def drifting() -> Table:
    published = {  # PITMonitor, ADWIN: share found, mean delay
        "gra": "PITMonitor 96.2% and 77 rows, ADWIN 99.1% and 27",
        "gsg": "PITMonitor 96.2% and 189 rows, ADWIN 99.1% and 27",
        "lea": "PITMonitor 96.2% and 1,919 rows, ADWIN 99.1% and 115",
    }
    problems = [
        Problem(kind, partial(streams.stream, kind=kind), remark=remark)
        for kind, remark in published.items()
    ]
    return Table(
        name="drift",
        title="Change in a stream: PITMonitor's protocol",
        source="arXiv 2603.13156",
        about="River's FriedmanDrift: the whole function at once (gra), slowly (gsg), or "
        "in a part of x that grows (lea); 2,500 rows before the change and 2,500 after.",
        problems=tuple(problems),
        tests=(
            Procedure("condgof monitor", streams.monitor, ours=True),
            Procedure("PITMonitor", streams.pit_monitor),
            Procedure("ADWIN of squared residuals", streams.adwin),
        ),
        samples=100,
        change_after=streams.drift.BEFORE,
        remark="The model is boosted trees with one residual SD here, and a network there. "
        "PITMonitor bounds the chance of ever raising a false alarm by 5%; ADWIN has no "
        "such bound, and `monitor` bounds the mean time between false alarms by 100,000 "
        "rows.",
    )
