"""How soon a change is noticed: `cg.monitor` beside ADWIN and PITMonitor.

Streams are river's FriedmanDrift, with the positions of PITMonitor's protocol (arXiv
2603.13156). Gradient boosting with normal noise of one spread is fitted to 10,000 rows; the
function changes after 2,500 rows that are watched. It takes packages that condgof does not:
pip install river pitmon scikit-learn

    python benchmarks/drift.py [streams]

prints the table of docs/monitoring.md; its 100 streams take four minutes.
"""

import sys
from typing import NamedTuple

import numpy as np
from river.datasets.synth import FriedmanDrift
from river.drift import ADWIN
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingRegressor

import condgof as cg

#: Rows that the model is fitted to.
FIT = 7_000
#: Rows that its residual spread is estimated from.
SPREAD = 3_000
#: Rows that are watched before the change.
BEFORE = 2_500
#: Rows that are watched after it.
AFTER = 2_500
#: Kind of drift → rows that the change takes: of the whole function at once ("gra"), of the
#: whole function slowly ("gsg"), of the function in a part of x at once ("lea").
DRIFTS = {"gra": 0, "gsg": 500, "lea": 0}
#: Rows after the change at which the part of x that "lea" changes is made larger.
LEA_PLACES = (0, 833, 1_666)


class Stream(NamedTuple):
    """The rows that are watched."""

    x: np.ndarray
    y: np.ndarray
    mean: np.ndarray  #: Predicted.
    spread: float  #: The predicted standard deviation of all rows.


def draw_stream(kind, seed):
    """Draw a stream, fit the model to its first rows, and predict the watched ones."""
    start = FIT + SPREAD
    at = start + BEFORE
    # Of the other drifts a second change, which nobody watches, has to be told to river.
    after = LEA_PLACES if kind == "lea" else (0, 2 * AFTER)
    places = tuple(at + place for place in after)
    data = FriedmanDrift(
        drift_type=kind, position=places, transition_window=DRIFTS[kind], seed=seed
    )
    table = np.array([[*x.values(), y] for x, y in data.take(at + AFTER)])
    x = table[:, :-1]
    y = table[:, -1]
    model = HistGradientBoostingRegressor(max_iter=150, random_state=0)
    model.fit(x[:FIT], y[:FIT])
    spread = np.std(y[FIT:start] - model.predict(x[FIT:start]))
    return Stream(x=x[start:], y=y[start:], mean=model.predict(x[start:]), spread=spread)


def rows_until_alarm(alarms):
    """Return the number of rows until the first True, or inf."""
    return next((row for row, alarm in enumerate(alarms, start=1) if alarm), np.inf)


def adwin_alarms(values):
    """Yield, for each value, whether ADWIN reports a change."""
    detector = ADWIN()
    for value in values:
        detector.update(value)
        yield detector.drift_detected


def trial(kind, seed):
    """Return the rows that each detector takes until it reports a change."""
    from pitmon import PITMonitor  # of its public repository; not on PyPI

    x, y, mean, spread = draw_stream(kind, seed)
    m = cg.monitor((mean, np.full(len(y), spread)), rng=seed).update(x, y)
    alarm = m.state["evidence"]["alarm"]
    pit_monitor = PITMonitor(alpha=0.05, rng=seed)
    pits = norm.cdf((y - mean) / spread)
    pit_alarms = (pit_monitor.update(float(u)).triggered for u in pits)
    return {
        "`m.changed` (run_length 100,000)": m.changes[0]["rows"] if m.changed else np.inf,
        "`m.alarm` (alpha 0.05)": alarm["rows"] if alarm else np.inf,
        "PITMonitor of PITs (alpha 0.05)": rows_until_alarm(pit_alarms),
        "ADWIN of squared residuals (delta 0.002)": rows_until_alarm(
            adwin_alarms(np.square(y - mean))
        ),
    }


def main():
    streams = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print(
        "| drift | detector | before it | found after it | mean delay, rows"
        " |\n|---|---|---|---|---|"
    )
    for kind in DRIFTS:
        trials = [trial(kind, seed) for seed in range(streams)]
        for name in trials[0]:
            times = np.array([rows[name] for rows in trials])
            late = times[(times > BEFORE) & np.isfinite(times)] - BEFORE
            delay = f"{np.mean(late):.0f}" if len(late) else "–"
            early = (times <= BEFORE).sum()
            print(
                f"| {kind} | {name} | {early} | {len(late)} of {streams} | {delay} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
