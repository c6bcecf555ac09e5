"""Classes, counts and dependent rows on the command line."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from condgof.cli import main
from json_document import SCHEMA, problems


@pytest.fixture
def classes(columns):
    """Columns of a table of class probabilities that are too sure."""
    rng = np.random.default_rng(1)
    z = columns["income"] - 2.0
    truth = 1 / (1 + np.exp(-0.5 * z))
    sure = 1 / (1 + np.exp(-8.0 * z))
    animal = np.where(rng.random(len(z)) < truth, "dog", "cat")
    return {
        "animal": animal,
        "p_cat": 1 - sure,
        "p_dog": sure,
        "code": (animal == "dog").astype(float),
        "visits": rng.poisson(np.exp(0.5 * z)).astype(float),
        "expected": np.exp(0.5 * z),
        "who": np.arange(len(z)) // 3,
    }


def run(capsys, *words, code=0):
    assert main(["check", *words]) == code
    return capsys.readouterr()


def as_json(capsys, *words):
    document = json.loads(run(capsys, *words, "--json").out)
    assert problems(document, SCHEMA) == []
    return document


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather"])
def test_probabilities_of_classes_by_their_columns(name, table, classes, capsys):
    table(name, **classes)
    words = (name, "--x", "income", "--y", "animal", "--prob", "p_cat", "--prob", "p_dog")
    document = as_json(capsys, *words)
    assert document["columns"]["prob"] == ["p_cat", "p_dog"]
    assert document["rejected"] is True
    assert "probability" in document["effect"]["unit"]
    assert document["power"]["size"] > 0
    findings = [
        *document["overall"],
        *(f for one in document["slices"] for f in one["findings"]),
    ]
    assert {f["kind"] for f in findings} <= {"class", "confidence", "wild"}
    assert {f["label"] for f in findings} <= {"cat", "dog", ""}
    assert document["effects"][0]["kind"] == "confidence"
    right = np.where(classes["p_dog"] > 0.5, "dog", "cat") == classes["animal"]
    (confidence,) = (f for f in document["overall"] if f["kind"] == "confidence")
    assert confidence["estimate"] == pytest.approx(right.mean())
    shown = run(capsys, *words, "--report", "r.html").out
    assert "  accuracy  " in shown
    assert document["words"].partition(":")[0] in Path("r.html").read_text(encoding="utf-8")


def test_classes_by_name_and_one_column_for_two(table, classes, capsys):
    table(**classes)
    both = as_json(
        capsys, "t.csv", "--x", "income", "--y", "animal", "--prob", "p_cat,p_dog"
    )
    one = as_json(
        capsys,
        *shlex.split("t.csv --x income --y animal --prob p_dog --classes cat,dog"),
    )
    coded = as_json(capsys, "t.csv", "--x", "income", "--y", "code", "--prob", "p_dog")
    assert one["result"]["pvalue"] == both["result"]["pvalue"] == coded["result"]["pvalue"]
    named = as_json(
        capsys,
        *shlex.split("t.csv --x income --y code --prob p_cat,p_dog --classes 0,1"),
    )
    assert named["result"]["pvalue"] == both["result"]["pvalue"]


def test_ordered_classes(table, classes, capsys):
    low = np.minimum(classes["p_cat"], 0.5)
    grade = np.random.default_rng(2).choice(["1", "2", "3"], 90)
    table(**classes, g1=low, g2=1 - low - 0.1, g3=np.full(90, 0.1), grade=grade)
    words = ("t.csv", "--x", "income", "--y", "grade", "--prob", "g1,g2,g3")
    plain = as_json(capsys, *words)
    ordered = as_json(capsys, *words, "--ordered")
    assert ordered["result"]["details"] != plain["result"]["details"]


def test_counts(table, classes, capsys):
    table(**classes)
    document = as_json(
        capsys, "t.csv", "--x", "income", "--y", "visits", "--count-mean", "expected"
    )
    assert document["rejected"] is False
    assert document["columns"]["count_mean"] == ["expected"]
    assert document["effect"]["unit"] == "predicted SDs"


def test_rows_that_depend_on_each_other(table, classes, capsys):
    table(**classes)
    words = ("t.csv", "--x", "income", "--y", "food", "--mean", "mu", "--std", "sd")
    document = as_json(capsys, *words, "--groups", "who")
    assert document["columns"]["groups"] == "who"
    assert document["result"]["details"]["groups"] == 30
    document = as_json(capsys, *words, "--dependence", "4")
    assert document["result"]["details"]["block_length"] == 4
    document = as_json(capsys, *words, "--dependence", "auto")
    assert document["result"]["details"]["block_length"] >= 1
    document = as_json(capsys, *words, "--groups", "who", "--by", "town")
    assert document["result"]["details"]["groups"] == 30
    assert {one["words"] for one in document["groups"]} == {"town = Bergen", "town = Oslo"}
    whole = as_json(capsys, *words[:2], "income,who", *words[3:], "--groups", "who")
    assert whole["columns"]["x"] == ["income", "who"]  # numbers stay numbers
    assert whole["result"]["details"]["groups"] == 30


def test_a_classifier_to_import(table, classes, capsys, tmp_path):
    table(**classes)
    (tmp_path / "mine_discrete.py").write_text(
        "import numpy as np\nclass Sure:\n    classes_ = np.array(['cat', 'dog'])\n    def"
        " fit(self, X, y): return self\n    def predict(self, X): return None\n    def"
        " predict_proba(self, X):\n        p = 1 / (1 + np.exp(-8.0 *"
        " (X['income'].to_numpy() - 2.0)))\n        return np.column_stack([1 - p,"
        " p])\nimport condgof as cg\nsure = Sure()\ncounts = cg.models.Poisson(mean=lambda"
        " x: np.exp(0.5 * (x['income'].to_numpy() - 2)))\n"
    )
    words = ("t.csv", "--x", "income", "--y", "animal")
    imported = as_json(capsys, *words, "--model", "mine_discrete.py:sure")
    columns = as_json(capsys, *words, "--prob", "p_cat,p_dog")
    assert imported["result"]["pvalue"] == columns["result"]["pvalue"]
    assert imported["slices"] == columns["slices"]
    counts = as_json(
        capsys,
        *shlex.split("t.csv --x income --y visits --model mine_discrete.py:counts"),
    )
    other = as_json(
        capsys, "t.csv", "--x", "income", "--y", "visits", "--count-mean", "expected"
    )
    assert counts["result"]["pvalue"] == other["result"]["pvalue"]


PROB = ("--x", "income", "--y", "animal", "--prob", "p_cat,p_dog")
ERRORS = {
    "sum": (
        {"p_cat": np.full(90, 0.9)},
        PROB,
        "columns 'p_cat', 'p_dog': --prob must hold probabilities",
    ),
    "negative": (
        {"p_cat": np.full(90, -0.5), "p_dog": np.full(90, 1.5)},
        PROB,
        "smallest entry -0.5",
    ),
    "one": (
        {"p_dog": np.full(90, 1.5)},
        (*PROB[:5], "p_dog", "--classes", "cat,dog"),
        "be negative",
    ),
    "labels": ({}, (*PROB[:3], "town", *PROB[4:]), "2 names as in 'town'"),
    "names": (
        {},
        (*PROB, "--classes", "a,b"),
        "holds 'cat', 'dog', and the classes of --classes are",
    ),
    "count": ({}, (*PROB, "--classes", "a,b,c"), "Give --classes: 2 names as in"),
    "numbers": (
        {},
        ("--x", "income", "--y", "code", *PROB[4:], "--classes", "0,x"),
        "--classes: 2 n",
    ),
    "lonely": (
        {},
        (*PROB[:4], "--count-mean", "expected", "--classes", "a,b"),
        "goes with --prob",
    ),
    "order": (
        {},
        ("--x", "income", "--y", "food", "--mean", "mu", "--std", "sd", "--ordered"),
        "--ordered goes with --prob",
    ),
    "ways": ({}, (*PROB, "--mean", "mu", "--std", "sd"), "the model comes one way"),
    "many": ({}, ("--x", "income", "--y", "code,visits", *PROB[4:]), "one column of y"),
    "text": ({}, (*PROB[:4], "--count-mean", "expected"), "Column 'animal' of t.csv holds"),
    "mean": (
        {"expected": np.zeros(90)},
        ("--x", "income", "--y", "visits", "--count-mean", "expected"),
        "mean must be positive, and is not in 90 of 90 rows",
    ),
    "broken": (
        {},
        ("--x", "income", "--y", "food", "--count-mean", "expected"),
        "not a whole number",
    ),
    "length": (
        {},
        (*PROB, "--dependence", "soon"),
        "dependence, a block length, must be an integer",
    ),
    "both": (
        {},
        (*PROB, "--dependence", "3", "--groups", "who"),
        "condgof: --dependence and --groups were both",
    ),
    "group": ({}, (*PROB, "--groups", "whom"), "Did you mean 'who'?"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case, table, classes, capsys):
    changes, words, message = ERRORS[case]
    table(**{**classes, **changes})
    printed = run(capsys, "t.csv", *words, code=2)
    assert message in printed.err
    assert "Traceback" not in printed.err
    assert printed.out == ""


def test_missing_probabilities_are_dropped_with_their_rows(table, classes, capsys):
    holes = classes["p_cat"].copy()
    holes[:5] = np.nan
    table(**{**classes, "p_cat": holes})
    document = as_json(capsys, "t.csv", *PROB, "--drop-nulls")
    assert document["data"]["dropped_rows"] == 5
    assert document["data"]["rows"] == 85


def test_large_tables_of_classes_are_read_whole(table, classes, capsys, stream):
    stream(1)
    table("t.parquet", **classes)
    printed = run(capsys, "t.parquet", "--x", "income", "--y", "code", "--prob", "p_dog")
    assert "predictions of classes cannot be streamed" in printed.err


@pytest.mark.parametrize("prefix", ["", "p", "prob ", "p_", "of pets: p."])
def test_names_of_classes_from_columns(prefix, table, classes, capsys):
    """Classes are called as their columns, or as these without a common prefix."""
    renamed = {f"{prefix}cat": classes["p_cat"], f"{prefix}dog": classes["p_dog"]}
    table("t.csv", animal=classes["animal"], **renamed)
    columns = ("--prob", f"{prefix}cat", "--prob", f"{prefix}dog")
    document = as_json(capsys, "t.csv", "--x", "income", "--y", "animal", *columns)
    labels = {finding["label"] for finding in document["overall"]}
    assert labels <= {"cat", "dog", ""}


def test_columns_that_do_not_name_the_classes(table, classes, capsys):
    renamed = {"first": classes["p_cat"], "second": classes["p_dog"]}
    table("t.csv", animal=classes["animal"], **renamed)
    words = ("t.csv", "--x", "income", "--y", "animal", "--prob", "first,second")
    message = run(capsys, *words, code=2).err
    assert "the classes of the columns of --prob are" in message
    assert "Give --classes: 2 names as in 'animal'" in message


def test_names_of_classes_with_commas_in_them(table, classes, capsys):
    season = np.where(classes["animal"] == "dog", "日本", "été, chaud")
    table("t.csv", **classes, season=season)
    words = shlex.split("t.csv --x income --y season --prob p_cat --prob p_dog -q")
    assert "Misfit (p " in run(capsys, *words, "--classes", '"été, chaud",日本').out
    assert (
        "are 'été', 'chaud', '日本'"
        in run(capsys, *words, "--classes", "été, chaud,日本", code=2).err
    )
