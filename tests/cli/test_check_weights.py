"""`--weights` of `check`, `compare` and `rank`: the same as `weights=` in Python."""

import json

import numpy as np
import pandas as pd
import pytest

import condgof as cg
from condgof.cli import main
from json_document import SCHEMA, problems

N = 120


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 1, N)
    y = np.where(x > 0.7, 2.0, 1.0) * rng.standard_normal(N)
    w = np.where(x > 0.7, 0.25, 1.0)
    w[:5] = 0.0
    return pd.DataFrame(
        {"x": x, "y": y, "mu": 0.0, "sd": 1.0, "wide": 1.3, "w": w, "negative": -w}
    )


@pytest.fixture
def table(frame, tmp_path):
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    return str(path)


def run(capsys, *words):
    code = main([*words, "--json", "--quiet"])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return json.loads(printed.out)


def test_check(capsys, table, frame):
    words = ["check", table, "--x", "*", "--y", "y", "--mean", "mu", "--std", "sd"]
    document = run(capsys, *words, "--weights", "w", "--seed", "1")
    assert problems(document, SCHEMA) == []
    # Patterns of --x leave the weights out.
    assert document["columns"]["x"] == ["x", "wide", "negative"]
    assert document["columns"]["weights"] == "w"
    model = (frame["mu"], frame["sd"])
    report = cg.check(
        model, frame[["x", "wide", "negative"]], frame["y"], weights=frame["w"], rng=1
    )
    details = document["result"]["details"]
    assert details["effective_rows"] == report.result.details["effective_rows"]
    assert document["result"]["pvalue"] == report.result.pvalue
    estimates = [one["estimate"] for one in document["overall"]]
    assert estimates == pytest.approx([one.estimate for one in report.overall])


def test_compare_and_rank(capsys, table, frame):
    rows = [table, "--x", "x", "--y", "y", "--weights", "w", "--seed", "1"]
    one = ["--a-mean", "mu", "--a-std", "sd"]
    other = ["--b-mean", "mu", "--b-std", "wide"]
    document = run(capsys, "compare", *rows, *one, *other)
    found = cg.compare(
        (frame["mu"], frame["sd"]),
        (frame["mu"], frame["wide"]),
        frame[["x"]],
        frame["y"],
        weights=frame["w"],
        rng=1,
    )
    assert document["comparison"]["pvalue"] == pytest.approx(found.pvalue)
    candidates = ["a: mean=mu std=sd", "b: mean=mu std=wide"]
    flags = [word for text in candidates for word in ("--candidate", text)]
    ranking = run(capsys, "rank", *rows, *flags)["ranking"]
    difference = ranking["pairs"][0]["difference"]
    assert difference == pytest.approx(abs(found.difference))


def test_what_is_no_weight_is_refused(capsys, table):
    words = ["check", table, "--x", "x", "--y", "y", "--mean", "mu", "--std", "sd"]
    assert main([*words, "--weights", "nothing"]) == 2
    assert "--weights" in capsys.readouterr().err
    assert main([*words, "--weights", "negative"]) == 2
    assert "negative, NaN or infinite" in capsys.readouterr().err
