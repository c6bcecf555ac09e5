"""Which columns the options of `condgof check` mean."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from condgof.cli import main

NAMES = [
    "age",
    "feat_1",
    "feat_2",
    "a,b",
    "0",
    "#1",
    "x*",
    "Größe",
    "[/]",
    "y",
    "mu",
    "sd",
    "g",
]
NORMAL = {"x": ["age"], "y": ["y"], "mean": ["mu"], "std": ["sd"]}


@pytest.fixture
def odd_names(tmp_path, monkeypatch, quick):
    """Write a table whose columns have odd names, and go where it is."""
    monkeypatch.chdir(tmp_path)
    values = np.random.default_rng(0).uniform(1.0, 2.0, (20, len(NAMES)))
    parquet.write_table(pa.table(dict(zip(NAMES, values.T, strict=True))), "t.parquet")


def words(**options):
    """Return a command line: ``--mean=mu`` for ``mean=["mu"]``."""
    listed = {**NORMAL, **options}
    return [f"--{name}={value}" for name, values in listed.items() for value in values]


@pytest.fixture
def columns_of(odd_names, capsys):
    """Return the columns that a command line means, as JSON has them."""

    def run(**options):
        assert main(["check", "t.parquet", *words(**options), "--json"]) == 0
        return json.loads(capsys.readouterr().out)["columns"]

    return run


@pytest.fixture
def refusal(odd_names, capsys):
    """Return the message of a command line that is refused."""

    def run(data="t.parquet", **options):
        assert main(["check", data, *words(**options)]) == 2
        return capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("age", ["age"]),
        ("a,b", ["a,b"]),  # a column of that very name
        ("age,feat_1", ["age", "feat_1"]),
        (" age , feat_1 ,", ["age", "feat_1"]),
        ("feat_*", ["feat_1", "feat_2"]),
        ("feat_[2]", ["feat_2"]),
        ("feat_?,age", ["feat_1", "feat_2", "age"]),
        ("x*", ["x*"]),
        ("#0", ["age"]),
        ("2", ["feat_2"]),
        ("0", ["0"]),  # the name goes before the position
        ("#1", ["#1"]),
        ("#2", ["feat_2"]),
        ("#4,#0", ["0", "age"]),
        ("Größe", ["Größe"]),
        ("[/]", ["[/]"]),
    ],
)
def test_the_rule(word, expected, columns_of):
    assert columns_of(x=[word])["x"] == expected


def test_options_may_be_repeated(columns_of):
    assert columns_of(x=["age", "a,b", "#1"])["x"] == ["age", "a,b", "#1"]


def test_a_pattern_leaves_out_columns_with_another_role(columns_of, refusal):
    roles = columns_of(x=["*"], by=["g"])
    assert not {"y", "mu", "sd", "g"} & set(roles["x"])
    message = refusal(x=["feat_*"], mean=["feat_1"], std=["feat_2"])
    assert "every column that matches 'feat_*' has another role" in message


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("feat1", "has no column 'feat1'. Did you mean 'feat_1' or 'feat_2'"),
        ("AGE", "Did you mean 'age'"),
        ("zzz", "has no column 'zzz'. Its columns are 'age', 'feat_1'.* and 3 more"),
        ("zzz*", r"no column of t.parquet matches 'zzz\*'"),
        ("#13", "positions go from 0 to 12"),
        ("99", "positions go from 0 to 12"),
        ("-1", "has no column '-1'"),
        ("age,age", "names 'age' twice"),
        ("", "has no column ''"),
        (",", "--x names no column, got ','"),
    ],
)
def test_what_is_not_there(word, message, refusal):
    assert re.search(message, refusal(x=[word]))


def test_a_name_that_is_there_twice(refusal, tmp_path):
    (tmp_path / "twice.csv").write_text("a,b,a\n1,2,3\n")
    assert "2 columns named 'a'" in refusal("twice.csv", y=["b"], x=["a"], mean=["a"])


def test_a_table_with_another_separator(refusal, tmp_path):
    (tmp_path / "odd.csv").write_text("a;b,c\n1;2,3\n")
    assert "has no column" in refusal("odd.csv")


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (["loc=age, scale = 2"], {"loc": "age", "scale": 2.0}),
        (["loc=a,b", "scale=1"], {"loc": "a,b", "scale": 1.0}),
        (["loc=age", "scale=#1"], {"loc": "age", "scale": "#1"}),
    ],
)
def test_parameters(pairs, expected, columns_of):
    roles = columns_of(x=["g"], mean=[], std=[], family=["laplace"], param=pairs)
    assert roles["param"] == expected


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (["age=0.1,mu=0.5,"], {"age": 0.1, "mu": 0.5}),
        (["a,b=0.5"], {"a,b": 0.5}),
    ],
)
def test_quantiles(pairs, expected, columns_of):
    roles = columns_of(x=["g"], mean=[], std=[], quantiles=pairs)
    assert roles["quantiles"] == expected


@pytest.mark.parametrize("word", ["mu", "mu=", "=m", "mu=age,s", "", ","])
def test_what_is_no_pair(word, refusal):
    message = refusal(mean=[], std=[], family=["laplace"], param=[word])
    assert re.search(
        r"--param is used as in --param mu=m.*, and '.*' is no such p", message
    )


def test_roles(columns_of):
    roles = columns_of(x=["feat_*", "age"], by=["g"], categorical=["age"])
    assert roles["x"] == ["feat_1", "feat_2", "age"]
    assert roles["categorical"] == ["age"]
    assert roles["by"] == "g"
    assert (roles["y"], roles["mean"], roles["std"]) == (["y"], ["mu"], ["sd"])


def test_groups_may_be_by_several_columns(columns_of):
    assert columns_of(x=["age"], by=["feat_*"])["by"] == "feat_1,feat_2"


def test_x_may_be_the_prediction(columns_of):
    assert columns_of(x=["mu"])["x"] == ["mu"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"std": []}, "--mean without --std"),
        ({"mean": []}, "--std without --mean"),
        ({"mean": [], "std": []}, "There is no model"),
        ({"score": ["feat_1"]}, "--mean and --std with --score"),
        ({"model": ["mine:model"]}, "--mean and --std with --model"),
        ({"x": ["y"]}, "Column 'y' is in --y and in --x"),
        ({"y": ["y", "y"]}, "--y names 'y' twice"),
        ({"mean": ["y"]}, "Column 'y' is in --y and in --mean"),
        ({"std": ["mu"]}, "Column 'mu' is in --mean and in --std"),
        ({"by": ["y"]}, "Column 'y' is in --y and in --by"),
        ({"mean": ["mu", "feat_1"]}, "--mean names 2 columns and --y 1"),
        ({"y": ["y", "feat_1"]}, "--mean names 1 column and --y 2"),
        ({"categorical": ["feat_1"]}, "--categorical: --x has no column 'feat_1'"),
    ],
)
def test_roles_that_do_not_go_together(options, message, refusal):
    assert message in refusal(**options)
