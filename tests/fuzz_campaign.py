"""``make fuzz MINUTES=60``: cases at random until the time is over, and a report by path.

Cases that fail are added to `fuzz_corpus.json`, which `make test` runs from then on.
"""

import argparse
import json
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from fuzz_cases import CASES, COMMANDS, CORPUS, corpus, path_of, run_case

#: Seconds of the processor after which a case counts as one that hangs.
TOO_LONG = 60.0
#: Seconds of the clock after which it hangs even if it only waits: other work on the
#: machine may slow a case down by less.
WAITS_TOO_LONG = 300.0
#: Cases between two looks at the clock.
AT_ONCE = 20
LOOSE = settings(
    max_examples=AT_ONCE,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


class Report:
    """Outcomes by path."""

    def __init__(self):
        self.outcomes = defaultdict(Counter)
        self.slowest = []
        self.found = []

    def run(self, case):
        begun = time.process_time()
        begun_by_clock = time.monotonic()
        try:
            with tempfile.TemporaryDirectory() as folder:
                outcome = run_case(case, Path(folder))
        except Exception as error:
            outcome = f"FAILED {type(error).__name__}"
            self.fail(case, traceback.format_exc(limit=-4))
        seconds = time.process_time() - begun
        waited = time.monotonic() - begun_by_clock
        if seconds > TOO_LONG or waited > WAITS_TOO_LONG:
            outcome = "TOO LONG"
            self.fail(case, f"{seconds:.0f} s of the processor, {waited:.0f} s in all")
        self.outcomes[path_of(case)][outcome] += 1
        self.slowest = sorted([*self.slowest, (seconds, path_of(case))], reverse=True)[:5]

    def fail(self, case, reason):
        self.found.append(case)
        print(f"{json.dumps(case)}\n{reason}\n", flush=True)

    def print(self):
        total = Counter()
        for path, outcomes in sorted(self.outcomes.items()):
            listed = ", ".join(
                f"{name} {count}" for name, count in sorted(outcomes.items())
            )
            print(f"{path}: {listed}")
            total += outcomes
        print("\nall:", ", ".join(f"{name} {count}" for name, count in total.items()))
        print("slowest:", "; ".join(f"{s:.1f} s {path}" for s, path in self.slowest))
        print(f"{len(self.found)} cases failed")


def run_strategy(strategy, number, report):
    """Run some cases of a strategy."""

    @seed(number)
    @LOOSE
    @given(strategy)
    def try_cases(case):
        report.run(case)

    try_cases()


def campaign():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    end = time.monotonic() + 60.0 * options.minutes
    report = Report()
    number = options.seed
    while time.monotonic() < end:
        run_strategy((CASES, COMMANDS)[number % 2], number, report)
        number += 1
    report.print()
    known = corpus()
    new = [case for case in report.found if case not in known]
    if new:
        CORPUS.write_text(json.dumps([*known, *new], indent=1) + "\n")
    return 1 if report.found else 0


if __name__ == "__main__":
    sys.exit(campaign())
