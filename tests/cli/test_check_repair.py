"""`condgof check --repair` writes predictions as they are and repaired."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest

from condgof.cli import main

ARGUMENTS = ["check", "t.csv", "--x", "income,town", "--y", "food"]


@pytest.fixture
def narrow(columns, table):
    """The predictions are too narrow by half."""
    label = np.where(columns["income"] > 2, "b", "a")
    score = columns["mu"] - columns["food"]
    table(sd=np.full(90, 0.4), p=np.full(90, 0.2), label=label, score=score)


def test_repaired_predictions_are_written_beside_the_others(narrow, capsys):
    assert main([*ARGUMENTS, "--mean", "mu", "--std", "sd", "--repair", "out.csv"]) == 0
    out = capsys.readouterr().out
    written = pd.read_csv("out.csv")
    assert "Repair: out.csv, each row by what other rows taught" in out
    assert "On held-out rows (90 in 5 folds): log score better by" in out
    assert list(written.columns[:5]) == ["row", "income", "town", "food", "q0.05"]
    assert {"mean", "std"} <= set(written.columns)
    assert len(written) == 90
    was, now = (written[f"{p}q0.95"] - written[f"{p}q0.05"] for p in ("", "repaired_"))
    assert was.median() == pytest.approx(2 * 1.645 * 0.4, rel=1e-3)
    assert now.median() == pytest.approx(2 * 1.645, rel=0.25)
    inside = (written["food"] >= written["repaired_q0.05"]) & (
        written["food"] <= written["repaired_q0.95"]
    )
    assert inside.mean() > 0.8
    quantiles = ",".join(
        f"{name}={name[10:]}" for name in written.columns if name.startswith("repaired_q")
    )
    assert (
        main(["check", "out.csv", "--x", "income", "--y", "food", "--quantiles", quantiles])
        == 0
    )


def test_json_says_what_was_gained_and_parquet_is_written(narrow, capsys):
    arguments = [
        *ARGUMENTS,
        *shlex.split("--mean mu --std sd --repair out.parquet --json"),
    ]
    assert main(arguments) == 0
    repair = json.loads(capsys.readouterr().out)["repair"]
    assert repair["file"] == "out.parquet"
    assert repair["held_out"]["estimate"] > 0.3
    assert len(pd.read_parquet("out.parquet")) == 90


def test_classes_have_probabilities(narrow, capsys):
    arguments = shlex.split("check t.csv --x income,age --y label --prob p --classes a,b")
    assert main([*arguments, "--repair", "out.csv"]) == 0
    written = pd.read_csv("out.csv")
    assert (written["repaired_p_a"] + written["repaired_p_b"]).to_numpy() == pytest.approx(
        1.0
    )
    assert set(written["label"]) == {"a", "b"}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ["--mean", "mu", "--std", "sd", "--repair", "out.txt"],
            "ends in .parquet or .csv",
        ),
        (["--mean", "mu", "--std", "sd", "--repair", "t.csv"], "would be written over"),
        (["--mean", "mu", "--std", "sd", "--repair", "no/out.csv"], "there is no folder"),
        (
            ["--score", "score", "--repair", "out.csv"],
            "cannot be repaired (Scores, scores)",
        ),
    ],
)
def test_mistakes_are_answered(narrow, capsys, more, message):
    assert main([*ARGUMENTS, *more]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
