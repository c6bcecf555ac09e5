"""How soon a change is noticed: `cg.monitor` beside ADWIN and PITMonitor on river's FriedmanDrift.

Gradient boosting with normal noise is fitted to rows before; the function changes 2,000
rows after. It takes packages that condgof does not: pip install river pitmon scikit-learn

    python benchmarks/drift.py [streams]    # prints the table of docs/monitoring.md: 100,
    four minutes
"""

import sys

import numpy as np
from pitmon import PITMonitor
from river.datasets.synth import FriedmanDrift
from river.drift import ADWIN
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingRegressor

import condgof as cg

#: Rows to fit to, to find the spread by, before the change, and after it.
FIT, SPREAD, BEFORE, AFTER = 5_600, 2_400, 2_000, 2_000
#: Rows that the change takes: the whole function at once, slowly, and in a part of x.
DRIFTS = {"gra": 0, "gsg": 500, "lea": 0}


def stream(kind, seed):
    """Return x, y, predicted means and their spread, of the rows that are watched."""
    start = FIT + SPREAD
    at = start + BEFORE
    places = (at, at + 5_000, at + 6_000) if kind == "lea" else (at, at + 5_000)
    data = FriedmanDrift(
        drift_type=kind, position=places, transition_window=DRIFTS[kind], seed=seed
    )
    table = np.array([[*x.values(), y] for x, y in data.take(at + AFTER)])
    x, y = table[:, :-1], table[:, -1]
    model = HistGradientBoostingRegressor(max_iter=150, random_state=0).fit(
        x[:FIT], y[:FIT]
    )
    spread = np.std(y[FIT:start] - model.predict(x[FIT:start]))
    return x[start:], y[start:], model.predict(x[start:]), spread


def first(noticed):
    """Return the number of rows until the first True, or inf."""
    return next((i for i, seen in enumerate(noticed, start=1) if seen), np.inf)


def adwin(values):
    detector = ADWIN()
    for value in values:
        detector.update(value)
        yield detector.drift_detected


def trial(kind, seed):
    x, y, mean, spread = stream(kind, seed)
    m = cg.monitor((mean, np.full(len(y), spread)), rng=seed).update(x, y)
    alarm, pits = m.state["evidence"]["alarm"], PITMonitor(alpha=0.05, rng=seed)
    return {
        "`m.changed` (run_length 100,000)": m.changes[0]["rows"] if m.changed else np.inf,
        "`m.alarm` (alpha 0.05)": alarm["rows"] if alarm else np.inf,
        "PITMonitor of PITs (alpha 0.05)": first(
            pits.update(float(u)).triggered for u in norm.cdf((y - mean) / spread)
        ),
        "ADWIN of squared residuals (delta 0.002)": first(adwin(np.square(y - mean))),
    }


def main():
    streams = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print(
        "| drift | detector | before it | found after it | median delay, rows"
        " |\n|---|---|---|---|---|"
    )
    for kind in DRIFTS:
        found = [trial(kind, seed) for seed in range(streams)]
        for name in found[0]:
            times = np.array([each[name] for each in found])
            late = times[(times > BEFORE) & np.isfinite(times)] - BEFORE
            delay = f"{np.median(late):.0f}" if len(late) else "–"
            early = (times <= BEFORE).sum()
            print(
                f"| {kind} | {name} | {early} | {len(late)} of {streams} | {delay} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
