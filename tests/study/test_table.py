"""Tables: exact intervals, and the same numbers in each form."""

import csv
import io
import itertools
import json

import pytest
from scipy.stats import binomtest

from condgof.result import share_interval
from condgof.study import Cell, Outcome, Row, Study, Topic, Trial


@pytest.mark.parametrize("trials", [1, 7, 300])
def test_intervals_are_those_of_scipy(trials):
    for successes in {0, 1, trials // 3, trials - 1, trials}:
        exact = binomtest(successes, trials).proportion_ci(method="exact")
        assert share_interval(successes, trials) == pytest.approx(
            (exact.low, exact.high), abs=1e-12
        )


def test_no_trials_say_nothing():
    assert share_interval(0, 0) == (0.0, 1.0)


def test_rows():
    row = Row.from_pvalues(Cell("qgm", 10, "kcsd"), [0.05, 0.01, 0.2, None], 0.05)
    assert (row.trials, row.rejections, row.failed, row.rate) == (3, 2, 1, 2 / 3)


@pytest.fixture
def study():
    outcomes = {}
    for n, method, trial in itertools.product((10, 20), ("kcsd", "a|b"), range(4)):
        at = Trial("p", n, method, trial)
        pvalue = None if trial == 3 and n == 20 else 0.02 * trial
        outcomes[at] = Outcome(at, pvalue, statistic=1.0, seconds=0.5)
    return Study(
        topics=(Topic("p", "A *problem*", h0=True),),
        sizes={"p": (10, 20)},
        methods=("kcsd", "a|b"),
        trials=4,
        alpha=0.05,
        seed=0,
        outcomes=outcomes,
    )


def test_all_forms_have_the_same_numbers(study):
    rows = study.table()
    read = list(csv.DictReader(io.StringIO(study.to_csv())))
    plain = json.loads(json.dumps(study.to_dict()))
    assert plain["problems"] == {"p": {"title": "A *problem*", "h0": True}}
    for row, line, entry in zip(rows, read, plain["table"], strict=True):
        assert (line["method"], int(line["n"])) == (row.method, row.n)
        assert int(line["rejections"]) == 3
        assert float(line["low"]) == pytest.approx(row.low, abs=1e-5)
        assert entry["high"] == pytest.approx(row.high, abs=1e-6)
        assert f"{row.rate:.3f} ({row.low:.3f} to {row.high:.3f}" in str(study)


def test_text_and_markdown_for_people(study):
    text = str(study)
    assert "p: A *problem* (H0)" in text
    assert "1 failed" in text
    assert max(map(len, text.splitlines())) < 100
    markdown = study.to_markdown().splitlines()
    assert markdown[0] == r"**A \*problem\* (H0)**"
    assert markdown[2] == "| test | n = 10 | n = 20 |"
    assert markdown[-1].startswith(r"| a\|b | 0.750 (")
    assert "Study(1 problems, 2 methods" in repr(study)
