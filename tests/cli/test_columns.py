"""Which columns the options of `condgof check` mean."""

import pytest

from condgof.cli._roles import find_roles, pairs, pick
from condgof.errors import InputError

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


def picked(*asked, without=frozenset()):
    return pick(asked, NAMES, "t.csv", "--x", without=without)


@pytest.mark.parametrize(
    ("asked", "expected"),
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
def test_the_rule(asked, expected):
    assert picked(asked) == tuple(expected)


def test_options_may_be_repeated():
    assert picked("age", "a,b", "#1") == ("age", "a,b", "#1")


def test_a_pattern_leaves_out_columns_with_another_role():
    assert "y" not in picked("*", without={"y", "mu", None})
    with pytest.raises(
        InputError, match=r"every column that matches 'feat_\*' has another role"
    ):
        picked("feat_*", without={"feat_1", "feat_2"})


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("feat1", "has no column 'feat1'. Did you mean 'feat_1' or 'feat_2'"),
        ("AGE", "Did you mean 'age'"),
        ("zzz", "has no column 'zzz'. Its columns are 'age', 'feat_1'.* and 3 more"),
        ("zzz*", r"no column of t.csv matches 'zzz\*'"),
        ("#13", "positions go from 0 to 12"),
        ("99", "positions go from 0 to 12"),
        ("-1", "has no column '-1'"),
        ("age,age", "names 'age' twice"),
        ("", "has no column ''"),
    ],
)
def test_what_is_not_there(asked, message):
    with pytest.raises(InputError, match=message):
        picked(asked)


def test_a_name_that_is_there_twice():
    with pytest.raises(InputError, match="2 columns named 'a'"):
        pick(["a"], ["a", "b", "a"], "t.csv", "--x")


def test_a_table_with_semicolons():
    with pytest.raises(InputError, match="separate the columns with commas"):
        pick(["a"], ["a;b"], "t.csv", "--x")


def test_nothing_at_all():
    with pytest.raises(InputError, match="--x names no column, got ','"):
        picked(",")


@pytest.mark.parametrize(
    ("option", "asked", "expected"),
    [
        ("param", ["mu=age, sigma = 2"], {"mu": "age", "sigma": 2.0}),
        ("param", ["mu=a,b"], {"mu": "a,b"}),
        ("param", ["mu=age", "sigma=#1"], {"mu": "age", "sigma": "#1"}),
        ("quantiles", ["age=0.1,y=0.5,"], {"age": 0.1, "y": 0.5}),
        ("quantiles", ["a,b=0.5"], {"a,b": 0.5}),
    ],
)
def test_pairs(option, asked, expected):
    assert pairs(option, asked, "t.csv", NAMES) == expected


@pytest.mark.parametrize("asked", ["mu", "mu=", "=m", "mu=age,s", "", ","])
def test_what_is_no_pair(asked):
    with pytest.raises(
        InputError, match=r"--param is used as in --param mu=m.*, and '.*' is no such p"
    ):
        pairs("param", [asked], "t.csv", NAMES)


def resolve(model=False, **asked):
    given = {"x": ["age"], "y": ["y"], "mean": ["mu"], "std": ["sd"], **asked}
    return find_roles({**given, "model": "mine:model" if model else None}, "t.csv", NAMES)


def test_roles():
    roles = resolve(x=["feat_*", "age"], by="g", categorical=["age"])
    assert roles.x == ("feat_1", "feat_2", "age")
    assert roles.categorical == ("age",)
    assert roles.all == ("feat_1", "feat_2", "age", "y", "mu", "sd", "g")
    assert roles.numbers == ("y", "mu", "sd")
    everything = resolve(x=["*"], by="g")
    assert not {"y", "mu", "sd", "g"} & set(everything.x)


def test_x_may_be_the_prediction():
    assert resolve(x=["mu"]).x == ("mu",)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"std": []}, "--mean without --std"),
        ({"mean": []}, "--std without --mean"),
        ({"mean": [], "std": []}, "There is no model"),
        ({"score": ["feat_1"]}, "--mean and --std with --score"),
        ({"model": True}, "--mean and --std with --model"),
        ({"x": ["y"]}, "Column 'y' is in --y and in --x"),
        ({"y": ["y", "y"]}, "--y names 'y' twice"),
        ({"mean": ["y"]}, "Column 'y' is in --y and in --mean"),
        ({"std": ["mu"]}, "Column 'mu' is in --mean and in --std"),
        ({"by": "y"}, "Column 'y' is in --y and in --by"),
        ({"by": "feat_*"}, "--by takes one column"),
        ({"mean": ["mu", "feat_1"]}, "--mean names 2 columns and --y 1"),
        ({"y": ["y", "feat_1"]}, "--mean names 1 column and --y 2"),
        ({"categorical": ["feat_1"]}, "--categorical: --x has no column 'feat_1'"),
    ],
)
def test_roles_that_do_not_go_together(asked, message):
    with pytest.raises(InputError, match=message):
        resolve(**asked)
