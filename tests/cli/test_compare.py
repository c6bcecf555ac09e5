"""`condgof compare`: options, forms of output, exit codes."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import condgof as cg
from condgof.cli import main

A = ["--a-mean", "mu", "--a-std", "sd"]
B = ["--b-mean", "mu2", "--b-std", "sd2"]
BASE = ["--x", "income", "--y", "food"]


def run(*words):
    return main(["compare", *words])


def test_text(table, columns, capsys):
    assert run(table(), *BASE, *A, *B, "--a-name", "good", "--b-name", "bad") == 0
    shown = capsys.readouterr().out
    assert "t.csv: 90 rows" in shown
    assert "good predicts better than bad: log score " in shown
    assert "CRPS (lower is better)" in shown


def test_json_is_the_functions_own_result(table, columns, capsys):
    words = (*BASE, *A, *B, "--seed", "3", "--alpha", "0.01", "--json")
    assert run(table("t.parquet"), *words) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["rejected"] is True
    assert document["models"]["a"] == {"mean": ["mu"], "std": ["sd"]}
    expected = cg.compare(
        (columns["mu"], columns["sd"]),
        (columns["mu2"], columns["sd2"]),
        columns["income"],
        columns["food"],
        names=("a", "b"),
        alpha=0.01,
        rng=3,
    )
    assert document["comparison"]["pvalue"] == pytest.approx(expected.pvalue)
    assert document["comparison"]["difference"] == pytest.approx(expected.difference)
    assert document["verdict"] == expected.verdict
    assert "compare t.parquet" in document["command"]


def test_exit_codes_quiet_and_report(table, capsys):
    name = table()
    assert (
        run(name, *BASE, *A, *B, "--quiet", "--fail-on-reject", "--report", "out.html") == 1
    )
    assert capsys.readouterr().out.count("\n") == 1
    assert "predicts better" in Path("out.html").read_text()
    same = ["--b-mean", "mu", "--b-std", "sd"]
    assert run(name, *BASE, *A, *same, "-q", "--fail-on-reject") == 0
    assert (
        capsys.readouterr().out == "a and b predict alike: their log score is the same.\n"
    )
    assert run(name, *BASE, *A, *B, "--report", name) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*BASE, *A], "Name the columns with its predictions (--b-mean and --b-std, "),
        ([*BASE, *A, "--b-mean", "mu2"], "--b-mean without --b-std"),
        ([*BASE, *A, *B, "--b-score", "score"], "--b-mean and --b-std with --b-score"),
        ([*BASE, *A, "--b-mean", "mu22", "--b-std", "sd"], "Did you mean"),
        ([*BASE, *A, "--b-pit", "mu"], "No such option: --b-pit"),
        ([*BASE, *A, *B, "--alpha", "5"], "alpha must be between"),
        ([*BASE, *A, *B, "--measure", "rmse"], "measure must be"),
        ([*BASE, *A, *B, "--b-name", "a"], "different names"),
        ([*BASE, *A, "--b-mean", "town", "--b-std", "sd"], "Column 'town' of t.csv holds"),
    ],
)
def test_wrong_use_is_code_2(table, capsys, words, message):
    assert run(table(), *words) == 2
    error = capsys.readouterr().err
    assert message in " ".join(error.split())
    assert "Traceback" not in error


KINDS = {
    "draws": (["--b-draws", "d_*"], "crps"),
    "quantiles": (["--b-quantiles", "lo=0.1,hi=0.9"], "pinball"),
    "interval": (["--b-interval", "lo,hi", "--b-coverage", "0.8"], "winkler"),
    "family": (["--b-family", "laplace", "--b-param", "loc=mu2,scale=1"], "log"),
    "score": (["--b-score", "score"], "stein"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_of_predictions(kind, table, columns, capsys):
    rng = np.random.default_rng(0)
    more = {f"d_{k}": columns["mu"] + rng.normal(size=90) for k in range(5)}
    name = table(**more, lo=columns["mu"] - 1.3, hi=columns["mu"] + 1.3)
    words, measure = KINDS[kind]
    assert run(name, *BASE, *A, *words, "--json") == 0
    assert json.loads(capsys.readouterr().out)["comparison"]["measure"] == measure


def test_probabilities_and_groups(table, columns, capsys):
    rng = np.random.default_rng(0)
    label = np.where(rng.random(90) < 0.7, "yes", "no")
    name = table(
        label=label, p=np.full(90, 0.7), q=np.full(90, 0.2), unit=np.arange(90) // 3
    )
    words = shlex.split("--x income --y label --a-prob p --b-prob q --classes no,yes")
    assert run(name, *words, "--groups", "unit", "--json") == 0
    document = json.loads(capsys.readouterr().out)["comparison"]
    assert [score["key"] for score in document["measures"]] == ["log", "brier"]
    assert (document["better"], document["details"]["groups"]) == ("a", 30)


def test_rank(table, capsys):
    name = table()
    words = ["rank", name, *BASE, "--candidate", "good: mean=mu std=sd"]
    bad = [
        "--candidate",
        "bad: mean=mu2 std=sd2",
        "--candidate",
        "wide: family=normal param=mean=mu,std=9",
    ]
    assert main([*words, *bad, "--report", "rank.html"]) == 0
    assert "good is the best of 3 models by log score." in capsys.readouterr().out
    assert "good" in Path("rank.html").read_text()
    assert main([*words, *bad, "--json", "--fail-on-reject"]) == 1
    assert json.loads(capsys.readouterr().out)["ranking"]["best"] == ["good"]
    for wrong, message in (
        ("good mean=mu", "is not of this form. A model: its name, a colon"),
        ("x: colour=mu", "is not of this form. A model: its name, a colon"),
        ("x: mean=mu", "--candidate 'x': mean= without std="),
        ("good: mean=mu std=sd", "different names"),
    ):
        assert main([*words, "--candidate", wrong]) == 2
        assert message in " ".join(capsys.readouterr().err.split())
    assert main(words) == 2
    assert "two models or more" in capsys.readouterr().err


def test_rows_with_nulls(table, columns, capsys):
    mu2 = columns["mu2"].copy()
    mu2[4] = np.nan
    name = table(mu2=mu2)
    assert run(name, *BASE, *A, *B) == 2
    assert "--drop-nulls" in capsys.readouterr().err
    assert run(name, *BASE, *A, *B, "--drop-nulls") == 0
    assert "1 row (mu2 1) with missing values left out" in capsys.readouterr().out


MODULE = """
import numpy as np
import condgof as cg
flat = cg.models.Normal(mean=lambda x: np.zeros(len(x)), std=2.0)
right = cg.models.Normal(mean=lambda x: 2.0 * np.asarray(x)[:, 0], std=1.0)
bound = cg.from_scores(np.zeros(90))
positive = cg.models.Exponential(1.0)
def broken():
    return cg.from_score(lambda y, x: 1 / 0)
def leaving(y, x):
    raise SystemExit(0)
leaves = cg.from_score(leaving)
def left():
    raise SystemExit(1)
"""


@pytest.fixture
def module(table):
    name = table()
    Path("mine.py").write_text(MODULE)
    return name


def test_imported_models_in_any_mixture(module, capsys):
    words = (*BASE, *A, "--b-model", "mine.py:flat", "--json")
    assert run(module, *words) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["comparison"]["better"] == "a"
    assert document["models"]["b"] == "mine.py:flat"
    assert run(module, *BASE, *A, "--b-model", "mine.py:right", "-q") == 0
    assert "predict alike" in capsys.readouterr().out
    assert (
        run(module, *BASE, "--a-model", "mine.py:bound", "--b-model", "mine.py:flat", "-q")
        == 0
    )


def test_a_density_of_zero(module, capsys):
    words = (*BASE, *A, "--b-model", "mine.py:positive")
    assert run(module, *words, "--fail-on-reject") == 1
    assert "rows: its log score is −∞; by CRPS it is worse." in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_model_that_fails_is_named(module, capsys):
    assert run(module, *BASE, *A, "--b-model", "mine.py:broken") == 2
    assert "mine.py:broken" in capsys.readouterr().err
    Path("other.py").write_text("from mine import flat\n")
    assert (
        run(module, *BASE, "--a-model", "other.py:flat", "--b-model", "mine.py:broken") == 2
    )
    assert "'mine.py:broken' failed (mine.py, line" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["leaves", "left"])
def test_a_model_cannot_end_the_program(name, module, capsys):
    words = (*BASE, *A, "--b-model", f"mine.py:{name}", "--fail-on-reject")
    assert run(module, *words) == 2
    assert (
        f"The model 'mine.py:{name}' tried to end the program (mine.py, line"
        in capsys.readouterr().err
    )


def test_models_that_are_bound_to_rows_stream(module, table, columns, capsys, stream):
    income = columns["income"].copy()
    income[5] = np.nan
    table("t.parquet", income=income)
    words = (*BASE, "--a-model", "mine.py:bound", *B, "--drop-nulls", "--json")
    assert run("t.parquet", *words) == 0
    whole = json.loads(capsys.readouterr().out)
    stream()
    assert run("t.parquet", *words) == 0
    streamed = json.loads(capsys.readouterr().out)
    assert streamed["data"] == {**whole["data"], "streamed": True}
    assert streamed["comparison"]["difference"] == pytest.approx(
        whole["comparison"]["difference"]
    )


CLASSIFIERS = """
import numpy as np
import condgof as cg
class Logistic:
    classes_ = np.array(["no", "yes"])
    def __init__(self, slope):
        self.slope = slope
    def fit(self, x, y):
        return self
    def predict_proba(self, x):
        p = 1 / (1 + np.exp(-self.slope * np.asarray(x)[:, 0]))
        return np.column_stack([1 - p, p])
right, wrong = Logistic(1.0), Logistic(-1.0)
counts = cg.models.Poisson(mean=1.0)
"""


def test_models_of_a_discrete_y(table, capsys, stream):
    table()
    Path("heads.py").write_text(CLASSIFIERS)
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    y = np.where(rng.random(200) < 1 / (1 + np.exp(-x)), "yes", "no")
    count = rng.poisson(1.0, 200)
    rows = [f"{a},{b},{c}" for a, b, c in zip(x, y, count, strict=True)]
    Path("labels.csv").write_text("\n".join(["x,y,count", *rows]))
    both = ("--a-model", "heads.py:right", "--b-model", "heads.py:wrong", "-q")
    assert run("labels.csv", "--x", "x", "--y", "y", *both) == 0
    assert "a predicts better than b" in capsys.readouterr().out
    stream(1000)
    alike = ("--a-model", "heads.py:counts", "--b-model", "heads.py:counts")
    assert run("labels.csv", "--x", "x", "--y", "count", *alike, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["data"]["streamed"] is True
    assert document["comparison"]["pvalue"] == 1.0


def test_large_tables_are_streamed(table, columns, capsys, stream):
    n = 5000
    rng = np.random.default_rng(0)
    income = rng.uniform(0, 4, n)
    import pyarrow as pa
    from pyarrow import parquet

    data = {
        "income": income,
        "food": 2 * income + rng.normal(size=n),
        "mu": 2.1 * income,
        "sd": np.ones(n),
    }
    data["score"] = 1.9 * income - data["food"]
    data["mu2"] = np.where(np.arange(n) == 7, np.nan, 1.0)
    table()
    parquet.write_table(pa.table(data), "big.parquet")
    words = (*BASE, *A, "--b-score", "score", "--json")
    assert run("big.parquet", *words) == 0
    whole = json.loads(capsys.readouterr().out)
    stream(1000)
    assert run("big.parquet", *words) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["data"]["streamed"] is True
    assert document["comparison"]["details"]["solver"] == "lowrank"
    assert whole["data"]["streamed"] is False
    assert document["comparison"]["difference"] == pytest.approx(
        whole["comparison"]["difference"], abs=0.5 * np.ptp(whole["comparison"]["interval"])
    )
    other = ("--b-mean", "mu2", "--b-std", "sd", "--drop-nulls", "--json")
    assert run("big.parquet", *BASE, *A, *other) == 0
    assert json.loads(capsys.readouterr().out)["data"]["dropped_rows"] == 1


def test_as_a_program(table):
    command = [
        sys.executable,
        "-m",
        "condgof",
        "compare",
        table(),
        *BASE,
        *A,
        *B,
        "--quiet",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "a predicts better than b" in done.stdout
