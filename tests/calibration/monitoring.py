"""The claims about `monitor`: few alarms against true models, soon ones against wrong."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import condgof as cg
from checks import CheckClaim, at_most, true_sample

#: Rows of a stream from a true model.
ROWS = 10_000
#: The options of a monitor of true models.
ALPHA = 0.05
RUN_LENGTH = 100_000
#: Where the model goes wrong.
CHANGE = 2_000


def noticed(m: Any, after: int) -> dict[str, float]:
    """At which row there was an alarm and a change, and since when; inf if none."""
    alarm = m.state["evidence"]["alarm"]
    change = next((c for c in m.changes if c["rows"] > after), None)
    return {
        "alarm": alarm["rows"] if alarm else np.inf,
        "since": alarm["since"] if alarm else np.inf,
        "change": change["rows"] if change else np.inf,
        "changed_since": change["since"] if change else np.inf,
        "changes": float(len(m.changes)),
    }


# True models, 10,000 rows: whether there is ever an alarm


def level_trial(kind: str, columns: int, trial: int) -> dict[str, float]:
    rng = np.random.default_rng([trial, columns, *kind.encode()])
    model, x, y, _ = true_sample(kind, ROWS, columns, rng)
    m = cg.monitor(model, alpha=ALPHA, run_length=RUN_LENGTH, rng=trial)
    return noticed(m.update(x, y), 0) | {"evidence": m.evidence}


LEVEL_CELLS = {
    f"{kind}, {columns} columns": (partial(level_trial, kind, columns), 1000)
    for kind, columns in (
        ("continuous", 3), ("continuous", 15), ("classes", 3), ("counts", 3), ("draws", 3),
        ("intervals", 3),
    )
}  # fmt: skip


def show_level(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = [
        "| true model | samples | alarms | changes seen | rows a change |",
        "|---|---|---|---|---|",
    ]
    failures = []
    for name, trials in rows.items():
        alarms = sum(np.isfinite(t["alarm"]) for t in trials)
        changes = int(sum(t["changes"] for t in trials))
        apart = f"{len(trials) * ROWS / changes:,.0f}" if changes else "–"
        lines.append(f"| {name} | {len(trials)} | {alarms} | {changes} | {apart} |")
        if not at_most(alarms, len(trials), ALPHA):
            failures.append(f"monitor.level: {name}, {alarms} alarms")
        if not at_most(
            sum(t["changes"] > 0 for t in trials), len(trials), ROWS / RUN_LENGTH
        ):
            failures.append(f"monitor.level: {name}, {changes} changes")
    return "\n".join(lines), failures


# Wrong models: how soon


def wrong(kind: str, x: Any, z: Any) -> Any:
    """Normal scores of a model that is wrong."""
    return {
        "shift 0.3": z + 0.3,
        "shift 0.5 where x > 0": z + 0.5 * (x[:, 0] > 0),
        "spread 1.3": 1.3 * z,
        "spread 0.7": 0.7 * z,
        "slope 0.3": z + 0.3 * x[:, 0],
        "shift 0.5": z + 0.5,
    }[kind]


def delay_trial(kind: str, columns: int, change: int, trial: int) -> dict[str, float]:
    rng = np.random.default_rng([trial, columns, change, *kind.encode()])
    change += (
        trial % 64 if change else 0
    )  # no row of its own, beside those at which bets begin
    n = change + 2_000
    x = rng.normal(size=(n, columns))
    z = rng.normal(size=n)
    z = np.where(np.arange(n) < change, z, wrong(kind, x, z))
    m = cg.monitor((np.zeros(n), np.ones(n)), rng=trial).update(x, z)
    return {name: row - change for name, row in noticed(m, change).items()}


#: What is wrong, among so many columns, and the median row at which there must be an alarm.
SOON = {("shift 0.3", 1): 150, ("shift 0.3", 5): 150, ("shift 0.5 where x > 0", 1): 200,
        ("shift 0.5 where x > 0", 5): 200, ("spread 1.3", 3): None, ("spread 0.7", 3): None,
        ("slope 0.3", 3): None}  # fmt: skip
SOON_CELLS = {
    f"{kind}, {columns} columns": (partial(delay_trial, kind, columns, 0), 300)
    for kind, columns in SOON
}
LATE_CELLS = {
    f"{kind}, {columns} columns": (partial(delay_trial, kind, columns, CHANGE), 300)
    for kind, columns in (("shift 0.5", 3), ("shift 0.5 where x > 0", 3), ("spread 1.3", 3))
}


def quantiles(values: list[float]) -> str:
    found = np.quantile(values, [0.1, 0.5, 0.9], method="inverted_cdf")
    return ", ".join("–" if np.isinf(v) else f"{v:.0f}" for v in found)


def show_soon(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = [
        "| what is wrong | row of the alarm: 10%, median, 90% | asked |",
        "|---|---|---|",
    ]
    failures = []
    for (name, trials), most in zip(rows.items(), SOON.values(), strict=True):
        found = [t["alarm"] for t in trials]
        lines.append(f"| {name} | {quantiles(found)} | {f'below {most}' if most else ''} |")
        if most and not np.median(found) < most:
            failures.append(f"monitor.soon: {name}, median {np.median(found):.0f}")
    return "\n".join(lines), failures


def show_late(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = [
        (
            "| what goes wrong | alarm before | rows to the alarm: 10%, median, 90% | its"
            " `since` | rows to `changed` | its `since` |"
        ),
        "|---|---|---|---|---|---|",
    ]
    for name, trials in rows.items():
        later = [t for t in trials if t["alarm"] > 0]
        shown = [
            quantiles([t[key] for t in later])
            for key in ("alarm", "since", "change", "changed_since")
        ]
        lines.append(
            f"| {name} | {len(trials) - len(later)} of {len(trials)} |"
            f" {' | '.join(shown)} |"
        )
    return "\n".join(lines), []


# No change: after how many rows one is seen all the same

#: The run length that is asked for.
SHORT = 1_000
#: Rows after which no change is waited for.
LIMIT = 20_000


def run_length_trial(kind: str, trial: int) -> dict[str, float]:
    """Rows to the first change, and from there to the second; at most `LIMIT` each."""
    rng = np.random.default_rng([trial, *kind.encode()])
    m = cg.monitor(cg.models.Normal(mean=0.0, std=1.0), run_length=SHORT, rng=trial)
    while len(m.changes) < 2 and m.rows < 2 * LIMIT:
        z = rng.normal(size=500)
        m.update(
            np.zeros(500),
            {"right": z, "always wrong": 0.5 + 1.3 * z, "three values": z.round()}[kind],
        )
    seen = [0, *(change["rows"] for change in m.changes), 2 * LIMIT, 2 * LIMIT]
    return {"first": min(seen[1], LIMIT), "second": min(seen[2] - seen[1], LIMIT)}


RUN_CELLS = {
    kind: (partial(run_length_trial, kind), 300)
    for kind in ("right", "always wrong", "three values")
}


def show_run_length(rows: dict[str, list[dict[str, float]]]) -> tuple[str, list[str]]:
    lines = [
        "| model | streams | mean rows to the first | from it to the second |",
        "|---|---|---|---|",
    ]
    failures = []
    for name, trials in rows.items():
        shown = []
        for which in ("first", "second"):
            values = np.array([t[which] for t in trials])
            error = values.std() / np.sqrt(len(values))
            shown.append(f"{values.mean():,.0f} ± {error:,.0f}")
            if values.mean() + 3.5 * error < SHORT:
                failures.append(
                    f"monitor.run_length: {name}, {which}, {values.mean():.0f} rows"
                )
        lines.append(f"| {name} | {len(trials)} | {' | '.join(shown)} |")
    return "\n".join(lines), failures


MONITOR_CHECKS = {
    "monitor.level": CheckClaim(
        "monitor: alarms against true models, 10,000 rows",
        f"Streams with an alarm at any time (alpha = {ALPHA:g}); changes that were seen"
        f" where there is none (run_length = {RUN_LENGTH:,}), and how many rows there were"
        " for each.",
        LEVEL_CELLS,
        show_level,
    ),
    "monitor.soon": CheckClaim(
        "monitor: wrong from the start",
        "At which row there is an alarm, of 300 streams; z is N(0, 1) if the model is"
        " true.",
        SOON_CELLS,
        show_soon,
    ),
    "monitor.late": CheckClaim(
        f"monitor: wrong from row {CHANGE:,} on",
        "How many rows later it is noticed, of 300 streams, and since when it says,"
        f" counted from the row at which it went wrong ({CHANGE:,} to {CHANGE + 63:,}).",
        LATE_CELLS,
        show_late,
    ),
    "monitor.run_length": CheckClaim(
        "monitor: changes seen where there is none",
        f"Mean number of rows, with its standard error, at run_length = {SHORT:,}; more"
        f" than {LIMIT:,} count for that. The second is looked for in the rows after the"
        " first was seen.",
        RUN_CELLS,
        show_run_length,
    ),
}
