"""Checks made by hand for the reports and pictures: the shapes that data come in, and the hard cases.

What is in them is made up but looks like the real thing; whether a check is right is tested elsewhere.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from condgof.locate import (
    Check,
    Detectable,
    Effect,
    Finding,
    GroupedChecks,
    Interval,
    Landscape,
    Location,
    Panel,
)
from condgof.result import GofResult

HOSTILE = "<img src=x onerror=alert(1)>"
ENDING = "</script><script>alert('2')</script>\"'"
TURNED = "a\u202eb\x1b[31m $c_d$"


def make_result(bad=True, n=1000, seed=0, categorical=False):
    rng = np.random.default_rng(seed)
    draws = np.log(rng.pareto(1.1, 1000) + 1)
    statistic = 6.2 if bad else 0.9
    scales = [
        {
            "bandwidth_x": None if categorical else bx,
            "bandwidth_y": by,
            "statistic": 1.0,
            "pvalue": float(rng.uniform(0.001, 0.06) if bad else rng.uniform(0.1, 1)),
        }
        for by in (4.0, 2.0, 1.0, 0.5)
        for bx in ((1.0,) if categorical else (1.38, 0.69, 0.345))
    ]
    if bad:
        scales[1]["pvalue"] = 1 / 1001
    return GofResult(
        statistic=statistic,
        pvalue=float((1 + (draws >= statistic).sum()) / 1001),
        method="adaptive",
        n=n,
        null_distribution=draws,
        null="wild bootstrap",
        solver="exact",
        seed=42,
        details={
            "standardized_by": "normal scores of the model's CDF",
            "scales": scales,
            "strongest_scale": scales[1],
            "scales_pvalue": 0.004 if bad else 0.4,
            "locations_pvalue": 0.001 if bad else 0.6,
        },
    )


def make_findings(names, bad=True):
    found = []
    for i, name in enumerate(names):
        found.append(
            Finding(
                "width",
                (name,),
                Interval(1.83, 1.52, 2.19),
                bad,
                f"{name}: the model is too narrow: the data spread 1.8 times as much (1.5 to 2.2)",
            )
        )
        found.append(
            Finding(
                "shift",
                (name,),
                Interval(-0.31 * (i + 1), -0.55, -0.08),
                bad and i == 0,
                f"{name}: the model is too high: the data are 0.31 model standard deviations lower "
                "(0.08 to 0.55)",
            )
        )
        found.append(
            Finding("skew", (name,), Interval(0.2, -0.3, 0.7), False, "skew about as the model says")
        )
    if len(names) > 1:
        found.append(
            Finding(
                "correlation",
                tuple(names[:2]),
                Interval(0.6, 0.4, 0.75),
                bad,
                f"{names[0]} and {names[1]} go together more than the model says",
            )
        )
    return tuple(found)


def make_panel(kind, names, rng, centre=800.0):
    m, d = 300, len(names)
    values = rng.standard_normal((m, d)) * 1.8 - 0.3
    if d > 1:
        values[:, 1] += 0.7 * values[:, 0]
    weights = np.exp(-0.5 * rng.standard_normal(m) ** 2)
    if kind == "residuals":
        return Panel(kind, tuple(f"residual of {name}" for name in names), values, weights)
    values = centre + 60 * values
    if kind == "samples":
        return Panel(
            kind, tuple(names), values, weights, samples=centre + 60 * rng.standard_normal((m, d))
        )
    z = np.linspace(-5, 5, 101)[:, None] * np.ones(d)
    return Panel(
        kind, tuple(names), values, weights, grid=centre + 60 * z,
        density=np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) / 60,
    )  # fmt: skip


def make_check(
    x_columns=("income",),
    y_columns=("food",),
    *,
    levels=None,
    bad=True,
    kind="density",
    locations=3,
    residuals=True,
    n=1000,
    m=600,
    seed=0,
):
    """Return a check with columns of x (those in `levels` categorical) and of y."""
    rng = np.random.default_rng(seed)
    levels = dict(levels or {})
    points = rng.gamma(4.0, 300.0, (m, len(x_columns)))
    if len(x_columns) > 1:
        points = rng.standard_normal((m, len(x_columns))) * 2 + 5
    for c, name in enumerate(x_columns):
        if name in levels:
            points[:, c] = rng.integers(0, len(levels[name]), m)
    scale = points.std(axis=0)
    peak = np.quantile(points, 0.75, axis=0)

    def height(at):
        far = (((at - peak) / scale)[:, :2] ** 2).sum(axis=1)
        return (0.5 if bad else 0.06) * np.exp(-far) - 0.02 + 0.02 * np.sin(at[:, 0] / scale[0] * 3)

    grid = grid_values = None
    if not levels and len(x_columns) <= 2:
        low, high = points.min(axis=0), points.max(axis=0)
        if len(x_columns) == 1:
            grid = np.linspace(low, high, 201)
        else:
            sides = np.meshgrid(
                *(np.linspace(a, b, 41) for a, b in zip(low, high, strict=True)), indexing="ij"
            )
            grid = np.column_stack([s.ravel() for s in sides])
        grid_values = height(grid)
        if len(x_columns) == 2:
            grid_values[(((grid - points.mean(axis=0)) / scale) ** 2).sum(axis=1) > 8] = np.nan
    z = rng.standard_normal((m, len(y_columns))) * (1 + 0.8 * bad * (points[:, :1] > peak[0]))
    places = []
    for i in range(locations):
        x = np.quantile(points, (0.75, 0.2, 0.95, 0.5, 0.05)[i], axis=0)
        for c, name in enumerate(x_columns):
            if name in levels:
                x[c] = min(i, len(levels[name]) - 1)
        label = {
            name: levels[name][int(v)] if name in levels else float(v)
            for name, v in zip(x_columns, x, strict=True)
        }
        reach = {
            name: (float(v - 0.3 * s), float(v + 0.3 * s))
            for name, v, s in zip(x_columns, x, scale, strict=True)
            if name not in levels
        }
        words = [f"{name} between {a:,.3g} and {b:,.3g}" for name, (a, b) in list(reach.items())[:2]]
        words += [f"{name} = {label[name]}" for name in levels if name in label]
        where = " and ".join(words)
        named = bad and i < 2
        findings = make_findings(y_columns, named)
        said = " and ".join(f.words for f in findings if f.named) or "nothing is clearly off"
        places.append(
            Location(
                x=x,
                label=label,
                where=where,
                reach=reach,
                pvalue=0.003 if named else 0.4,
                raw_pvalue=0.001 if named else 0.2,
                named=named,
                rows=120.3 / (i + 1),
                strength=0.4 - 0.1 * i,
                findings=findings,
                words=f"With {where}: {said}.",
                panel=make_panel(kind, y_columns, rng),
                levels={name: str(label[name]) for name in levels if name in label},
            )
        )
    size = Interval(0.21, 0.17, 0.25) if bad else Interval(0.0, 0.0, 0.06)
    result = make_result(bad, n, seed, categorical=set(levels) == set(x_columns))
    verdict = (
        f"The model does not fit (p = {result.pvalue:.2g}): the misfit is as large as a constant "
        "shift of 0.21 model "
        f"standard deviations, and is clearest with {places[0].where if places else 'nothing'}."
        if bad
        else f"No evidence against the model (p = {result.pvalue:.2g}). That does not make it correct."
    )
    return Check(
        result=result,
        effect=Effect(
            size, "model standard deviations", Interval(0.012, 0.009, 0.016),
            "as large as a constant shift of 0.21 model standard deviations (0.17 to 0.25)" if bad
            else "at most as large as a constant shift of 0.06 model standard deviations",
        ),
        locations=tuple(places),
        detectable=Detectable(
            0.12, 1.15, 0.8, 0.05,
            "With 1,000 rows this check finds a constant shift of 0.12 model standard deviations, or "
            "data that spread "
            "1.15 times as much as the model says, 80 times in 100.",
        ),
        landscape=Landscape(
            columns=tuple(x_columns), levels={k: tuple(v) for k, v in levels.items()}, points=points,
            values=height(points), grid=grid, grid_values=grid_values,
            residuals=z if residuals else None,
            residual_kind="normal scores of the model's CDF" if residuals else "",
        ),
        alpha=0.05,
        x_columns=tuple(x_columns),
        y_columns=tuple(y_columns),
        words=verdict,
        details={
            "rows_that_chose": 300, "rows_that_tested": 700, "correction": "Holm",
            "versions": {"condgof": "0.1.0", "Python": "3.11.7", "NumPy": "2.4.2", "SciPy": "1.17.0"},
            "notes": ("a constant column was left out: year",),
        },
    )  # fmt: skip


def hard_checks():
    """Return the cases that a report must bear, by name."""
    cities = ("Oslo", "Bergen", "Trondheim", "Stavanger")
    many = tuple(f"level number {i}" for i in range(40))
    return {
        "curve": make_check(n=235),
        "fits": make_check(bad=False),
        "map": make_check(("longitude", "latitude"), ("fare",), locations=5),
        "five": make_check(tuple("abcde"), ("y",), kind="residuals", locations=5, n=1_000_000, m=1500),
        "city": make_check(("city",), ("rent",), levels={"city": cities}, kind="samples"),
        "mixed": make_check(("age", "city"), ("rent",), levels={"city": cities}),
        "levels": make_check(
            ("city", "kind", "age"), ("rent",), levels={"city": many, "kind": ("a", "b")}
        ),
        "pair": make_check(("age", "height"), ("weight", "pressure"), kind="samples"),
        "scores": make_check(kind="residuals", residuals=False),
        "nowhere": make_check(locations=0, bad=False),
        "hostile": make_check(
            (HOSTILE, TURNED), (ENDING,), levels={TURNED: (ENDING, HOSTILE, "=1+1", "$x$")}
        ),
        "long": make_check(("a_very_long_name_" * 12, "b"), ("another name with many words " * 6,)),
    }


def make_grouped(count=3, hostile=False):
    """Return checks of several groups."""
    names = [f"group {i}" for i in range(count)]
    if hostile:
        names[:3] = [ENDING, HOSTILE, TURNED]
    checks = {}
    for i, name in enumerate(names):
        check = make_check(bad=i % 3 == 0, seed=i, m=300)
        checks[name] = replace(check, corrected_pvalue=min(1.0, check.result.pvalue * count), group=name)
    return GroupedChecks(
        "city", checks, {"tiny": "12 rows, and min_rows is 30"}, 0.05, f"Evidence in some of {count}.",
        {"correction": "Holm", "min_rows": 30, "seed": 7},
    )  # fmt: skip
