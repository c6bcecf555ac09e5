"""Every kind of prediction in columns: in memory and streamed, right, wrong, impossible."""

import json
import os
import shlex
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

import condgof as cg
from condgof.cli import main
from json_document import SCHEMA, problems

BASE = ("--x", "income,age", "--y", "food")


@pytest.fixture
def kinds(columns):
    """Return columns of all kinds of prediction; those that begin with n are too narrow."""
    rng = np.random.default_rng(8)
    mu = columns["mu"]
    food = columns["food"]
    document = {
        "price": np.exp(food / 4),
        "m": mu / 4,
        "s": np.full(90, 0.25),
        "ns": np.full(90, 0.1),
        "half": np.full(90, 0.5),
        "u": norm.cdf(food - mu),
        "nu": norm.cdf(2.5 * (food - mu)),
        "visits": rng.poisson(np.exp(0.5 * columns["income"])),
        "expected": np.exp(0.5 * columns["income"]),
        "nexpected": 2.5 * np.exp(0.5 * columns["income"]),
    }
    # 10 before 9, so that the order of the table is not the natural one.
    for k in (10, *range(1, 10), *range(11, 31)):
        noise = rng.standard_normal(90)
        document |= {f"d_{k}": mu + noise, f"nd_{k}": mu + 0.4 * noise}
    for level in (5, 25, 50, 75, 95):
        z = norm.ppf(level / 100)
        document |= {f"q{level:02}": mu + z, f"nq{level:02}": mu + 0.4 * z}
    for share in (50, 90):
        z = norm.ppf(0.5 + share / 200)
        document |= {f"lo{share}": mu - z, f"hi{share}": mu + z}
        document |= {f"nlo{share}": mu - 0.4 * z, f"nhi{share}": mu + 0.4 * z}
    return document


QUANTILES = "{n}q05=0.05,{n}q25=0.25,{n}q50=0.5,{n}q75=0.75,{n}q95=0.95"
#: Options of each kind, with {n} for the wrong one.
KINDS = {
    "normal": (BASE, ("--family", "normal", "--param", "mean=mu,std={n}sd")),
    "lognormal": (
        (*BASE[:3], "price"),
        ("--family", "log-normal", "--param", "mu=m", "--param", "sigma={n}s"),
    ),
    "numbers": (BASE, ("--family", "student_t", "--param", "df=1e6,loc=mu,scale={number}")),
    "counts": (
        (*BASE[:3], "visits"),
        ("--family", "Poisson", "--param", "mean={n}expected"),
    ),
    "draws": (BASE, ("--draws", "{n}d_*")),
    "quantiles": (BASE, ("--quantiles", QUANTILES)),
    "interval": (BASE, ("--interval", "{n}lo90,{n}hi90", "--coverage", "0.9")),
    "intervals": (
        BASE,
        (
            "--interval",
            "{n}lo50,{n}hi50",
            "--interval",
            "{n}lo90,{n}hi90",
            "--coverage",
            "0.5,0.9",
        ),
    ),
    "pit": (BASE, ("--pit", "{n}u")),
}


def as_json(capsys, *words):
    assert main(["check", *words, "--json"]) == 0
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert problems(document, SCHEMA) == []
    return document


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_whole_and_streamed(kind, wrong, table, kinds, capsys, stream):
    name = table("t.parquet", **kinds, nsd=np.full(90, 0.4))
    roles, words = KINDS[kind]
    options = [word.format(n="n" * wrong, number=0.4 if wrong else 1) for word in words]
    whole = as_json(capsys, name, *roles, *options)
    stream()
    streamed = as_json(capsys, name, *roles, *options)
    assert (whole["data"]["streamed"], streamed["data"]["streamed"]) == (False, True)
    assert whole["rejected"] is streamed["rejected"] is wrong
    assert whole["result"]["pvalue"] == streamed["result"]["pvalue"]
    assert whole["verdict"] == streamed["verdict"]
    assert whole["overall"] == streamed["overall"]


def test_a_large_stream(table, capsys, stream):
    rng = np.random.default_rng(3)
    n = 6000
    income = rng.uniform(0.0, 4.0, n)
    draws = {f"d_{k}": 2.0 * income + rng.standard_normal(n) for k in range(20)}
    columns = {"income": income, "food": 2.0 * income + rng.standard_normal(n), **draws}
    import pyarrow as pa
    from pyarrow import parquet

    table()
    parquet.write_table(pa.table(columns), "big.parquet")
    words = ("big.parquet", "--x", "income", "--y", "food", "--draws", "d_*")
    whole = as_json(capsys, *words)
    stream()
    streamed = as_json(capsys, *words)
    assert streamed["data"]["streamed"] is True
    assert whole["rejected"] is streamed["rejected"] is False
    assert streamed["result"]["pvalue"] == pytest.approx(whole["result"]["pvalue"], abs=0.1)


def test_what_json_and_the_law_have(table, kinds, quick, capsys):
    table(**kinds)
    main(["check", "t.csv", *BASE, "--draws", "d_*", "--json", "--seed", "4"])
    document = json.loads(capsys.readouterr().out)["columns"]
    assert document["draws"] == [name for name in kinds if name.startswith("d_")]
    assert (document["mean"], document["quantiles"], document["family"]) == ([], {}, None)
    law = quick.calls[0]["model"]
    assert law.seed == 4
    np.testing.assert_allclose(
        law.values[:, document["draws"].index("d_10")], kinds["d_10"]
    )
    main(["check", "t.csv", *BASE, "--draws", "d_3,d_1,d_2", "--json"])
    assert json.loads(capsys.readouterr().out)["columns"]["draws"] == ["d_3", "d_1", "d_2"]
    main(
        [
            "check",
            "t.csv",
            *BASE,
            *shlex.split("--quantiles q05=0.05 --quantiles q50=.5 --json"),
        ]
    )
    document = json.loads(capsys.readouterr().out)["columns"]
    assert document["quantiles"] == {"q05": 0.05, "q50": 0.5}
    np.testing.assert_allclose(quick.calls[2]["model"].levels, [0.05, 0.5])
    main(
        [
            "check",
            "t.csv",
            *BASE,
            *shlex.split("--family gamma --param shape=s,scale=2 --json"),
        ]
    )
    document = json.loads(capsys.readouterr().out)["columns"]
    assert (document["family"], document["param"]) == (
        "gamma",
        {"shape": "s", "scale": 2.0},
    )
    main(
        ["check", "t.csv", *BASE, "--interval", "lo90,hi90", "--coverage", "0.9", "--json"]
    )
    document = json.loads(capsys.readouterr().out)["columns"]
    assert (document["interval"], document["coverage"]) == (["lo90", "hi90"], [0.9])


def test_names_that_are_hard_to_tell(table, kinds, quick):
    """A column of that very name goes before a number, commas and signs of equality."""
    table(**kinds, **{"5": np.full(90, 3.0), "a,b": kinds["q05"], "c=d": kinds["q95"]})
    assert main(["check", "t.csv", *BASE, "--family", "student-t", "--param", "df=5"]) == 0
    assert quick.calls[0]["model"].df.values(90, (1,))[0, 0] == 3.0
    assert (
        main(
            ["check", "t.csv", *BASE, "--quantiles", "a,b=0.05", "--quantiles", "c=d=0.95"]
        )
        == 0
    )
    np.testing.assert_allclose(quick.calls[1]["model"].values[:, 0], kinds["q05"])
    position = "#" + str(list({**dict.fromkeys("0123456789"), **kinds}).index("u"))
    assert main(["check", "t.csv", *BASE, "--pit", position]) == 0
    table("f.parquet", y_obs=np.arange(90.0), y_1=np.zeros(90), y_2=np.ones(90))
    assert (
        main(["check", "f.parquet", "--x", "income", "--y", "y_obs", "--draws", "y_*"]) == 0
    )
    assert quick.calls[3]["model"].values.shape == (90, 2), "y is none of its draws"


def test_several_columns_of_y(table, kinds, columns, capsys):
    kinds["v"] = norm.cdf(columns["drink"] - columns["mu2"])
    words = (table(**kinds), "--x", "income", "--y", "food,drink", "--pit", "u,v")
    assert as_json(capsys, *words)["rejected"] is False


def test_every_family_is_named_as_its_class(table, capsys):
    words = ("--family", "nothing", "--param", "mean=mu")
    assert main(["check", table(), *BASE, *words]) == 2
    listed = capsys.readouterr().err.strip().rpartition("Those that there are: ")[2]
    names = listed.removesuffix(".").split(", ")
    assert {"normal", "student-t", "poisson"} <= set(names)
    classes = {name.lower() for name in dir(cg.models)}
    assert {name.replace("-", "") for name in names} <= classes


def test_missing_predictions(table, kinds, capsys, stream):
    for name in ("d_2", "d_7"):
        kinds[name] = kinds[name].copy()
    kinds["d_2"][[3, 60]] = kinds["d_7"][3] = np.nan
    name = table("t.parquet", **kinds)
    words = (name, *BASE, "--draws", "d_*")
    assert main(["check", *words]) == 2
    assert "missing values in 2 rows (d_2 2, d_7 1) of 90" in capsys.readouterr().err
    whole = as_json(capsys, *words, "--drop-nulls")
    stream()
    streamed = as_json(capsys, *words, "--drop-nulls")
    assert whole["data"]["rows"] == streamed["data"]["rows"] == 88
    assert whole["result"]["pvalue"] == streamed["result"]["pvalue"], (
        "ties are broken alike"
    )
    everything = {f"d_{k}": np.full(90, np.nan) for k in range(1, 31)}
    table("e.parquet", **{**kinds, **everything})
    assert main(["check", "e.parquet", *BASE, "--draws", "d_*"]) == 2
    assert "and 20 more) of 90" in capsys.readouterr().err


def test_groups_of_draws(table, kinds, capsys, stream):
    words = (table("t.parquet", **kinds), *BASE, "--draws", "nd_*", "--by", "town")
    whole = as_json(capsys, *words)
    stream()
    streamed = as_json(capsys, *words)
    assert {one["words"] for one in whole["groups"]} == {"town = Bergen", "town = Oslo"}
    assert max(one["pvalue"] for one in whole["groups"]) < 0.05
    assert whole["groups"] == streamed["groups"]


def test_an_interval_without_an_end(table, kinds, columns, capsys, stream):
    bounds = {"none": np.full(90, -np.inf), "top": columns["mu"] + norm.ppf(0.9)}
    words = (
        table("t.parquet", **bounds),
        *BASE,
        *shlex.split("--interval none,top --coverage 0.9"),
    )
    whole = as_json(capsys, *words)
    assert whole["rejected"] is False
    stream()
    streamed = as_json(capsys, *words)
    assert streamed["data"]["streamed"]
    assert streamed["result"]["pvalue"] == whole["result"]["pvalue"]


PARAM = ("--family", "gamma", "--param")
ERRORS = {
    "family": (
        ("--family", "gama", "--param", "shape=s"),
        "There is no family 'gama'. Those that",
    ),
    "parameter": ((*PARAM, "shape=s,rat=s"), "Gamma takes the parameters shape=, [scale=]"),
    "lacking parameter": ((*PARAM, "scale=s"), "missing a required argument: 'shape'"),
    "one of two": ((*PARAM, "shape=s"), "needs exactly one of scale= and rate="),
    "no parameter": (PARAM[:2], "--family without --param"),
    "no family": ((*PARAM[2:], "shape=s"), "--param without --family"),
    "no pair": ((*PARAM, "s"), "(or a number, df=5), and 's' is no such pair"),
    "empty": ((*PARAM, ","), "and ',' is no such pair"),
    "parameter twice": ((*PARAM, "shape=s,shape=half"), "--param names 'shape' twice"),
    "column twice": (
        (*PARAM, "shape=s,scale=s"),
        "Column 's' is in --param shape and in --param scale",
    ),
    "parameter of y": (
        (*PARAM, "shape=s,scale=food"),
        "Column 'food' is in --y and in --param scale",
    ),
    "misspelt": (
        (*PARAM, "shape=s,scale=halv"),
        "--param scale: t.csv has no column 'halv'. Did you",
    ),
    "several": (
        (*PARAM, "shape=d_*"),
        "--param shape takes one column, and 'd_*' stands for 30",
    ),
    "negative number": (
        (*PARAM, "shape=s,scale=-2"),
        "scale must be positive, and is not in 90 of",
    ),
    "negative column": (
        (*PARAM, "shape=mu2,scale=1"),
        "shape must be positive, and is not in 90 of",
    ),
    "share": (
        (
            "--family",
            "zero_inflated_poisson",
            "--param",
            "mean=expected,inflation=nexpected",
        ),
        "inflation must lie between 0 and 1, and does not in 90 of 90 rows",
    ),
    "covariance": (
        ("--family", "normal", "--param", "mean=mu,cov=sd"),
        "Give std in place of cov",
    ),
    "counts": (
        ("--family", "poisson", "--param", "mean=expected"),
        "y is not a whole number",
    ),
    "support": ((*PARAM, "shape=s,scale=1,loc=3"), "support"),
    "pattern": (("--draws", "draw_*"), "--draws: no column of t.csv matches 'draw_*'. "),
    "near": (("--draws", "d_31"), "has no column 'd_31'. Did you mean 'd_"),
    "one draw": (("--draws", "d_1"), "one prediction for each row is no draw"),
    "no draw": (("--draws", ","), "--draws names no column, got ','"),
    "text": (("--draws", "d_1,d_2,town"), "Column 'town' of t.csv holds"),
    "draws of y": (("--draws", "d_1,food"), "Column 'food' is in --y and in --draws"),
    "level": (
        ("--quantiles", "q05=0.05,q95=1.5"),
        "--quantiles: '1.5' is no number between 0 and 1",
    ),
    "order": (
        ("--quantiles", "q95=0.95,q05=0.05"),
        "columns 'q95', 'q05': levels must increase, got",
    ),
    "no level": (
        ("--quantiles", "q05,q95=0.95"),
        "--quantiles is used as in --quantiles q05=0.05,",
    ),
    "percent": (
        ("--quantiles", "q05=5%"),
        "--quantiles: '5%' is no number between 0 and 1. Write",
    ),
    "quantile twice": (
        ("--quantiles", "q05=0.05,q05=0.1"),
        "--quantiles names 'q05' twice",
    ),
    "quantile": (("--quantiles", "q5=0.05"), "--quantiles: t.csv has no column 'q5'"),
    "coverage": (
        ("--interval", "lo90,hi90", "--coverage", "90"),
        "'90' is no number between 0 and 1",
    ),
    "no coverage": (("--interval", "lo90,hi90"), "--interval without --coverage"),
    "no interval": (("--pit", "u", "--coverage", "0.9"), "--coverage without --interval"),
    "one end": (
        ("--interval", "lo90", "--coverage", "0.9"),
        "needs a low and a high column for each coverage",
    ),
    "two intervals": (
        ("--interval", "lo50,hi50,lo90,hi90", "--coverage", "0.9"),
        "got 4 columns and 1 coverages.",
    ),
    "low and high": (
        ("--interval", "hi90,lo90", "--coverage", "0.9"),
        "low is above high in 90 of 90 rows, the first in row 0 (counted from 0). Exchange",
    ),
    "nested": (
        ("--interval", "lo90,hi90,lo50,hi50", "--coverage", "0.5,0.9"),
        "an interval of larger coverage does not hold the smaller one in 90 of 90 rows",
    ),
    "shrinking": (
        ("--interval", "lo50,hi50,lo90,hi90", "--coverage", "0.9,0.5"),
        "coverage must increase",
    ),
    "pit": (
        ("--pit", "mu"),
        "A PIT lies between 0 and 1, and --pit does not in 79 of 90 rows",
    ),
    "two pits": (("--pit", "u,nu"), "--pit names 2 columns and --y 1"),
    "two kinds": (
        ("--pit", "u", "--draws", "d_*"),
        "--draws with --pit: the model comes one way",
    ),
    "kind and model": (
        ("--pit", "u", "--model", "m.py:f"),
        "--pit with --model: the model comes",
    ),
    "no kind": (
        (),
        "There is no model. Name the columns with its predictions (--mean and --std, --d",
    ),
    "several y": (
        ("--draws", "d_*", "--y", "drink"),
        "--draws is of one column of y, and --y names 2",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case, table, kinds, capsys):
    words, message = ERRORS[case]
    assert main(["check", table(**kinds), *BASE, *words]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.startswith("condgof: ")
    assert printed.err.count("\n") == 1
    assert "Traceback" not in printed.err
    assert printed.out == ""


@pytest.mark.parametrize(
    "case", ["negative column", "share", "text", "low and high", "nested", "pit", "counts"]
)
def test_errors_of_a_stream(case, table, kinds, capsys, stream):
    words, message = ERRORS[case]
    stream()
    assert main(["check", table(**kinds), *BASE, *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message.split(" of t.csv holds")[0] in error


@pytest.mark.parametrize("streamed", [False, True])
def test_numbers_that_cannot_be(streamed, table, kinds, capsys, stream):
    if streamed:
        stream()
    kinds["d_4"] = np.where(np.arange(90) == 7, np.inf, kinds["d_4"])
    assert main(["check", table("t.parquet", **kinds), *BASE, "--draws", "d_*"]) == 2
    error = capsys.readouterr().err
    assert (
        "The draws have NaN or infinite values in 1 of 90 rows, the first in row 7" in error
    )


MODULE = """
import sys
import numpy as np
import condgof as cg

def quit(code):
    raise SystemExit(code)

def factory():
    sys.exit(0)

score = cg.from_score(lambda y, x: quit(0))
mean = cg.models.Normal(mean=lambda x: quit("done"), std=1.0)
flat = cg.from_score(lambda y, x: 2.0 * np.asarray(x)[:, 0] - y)
columns = cg.columns(mean="mu", std="sd")
offset = cg.models.Model(
    lambda x, more: cg.models.Normal(mean=2.0 * x["income"].to_numpy() + more, std=1.0),
    beside={"more": np.zeros(90)},
)
later = cg.models.Model(
    lambda x: cg.models.Normal(mean=lambda x: 2.0 * x["income"].to_numpy(), std=1.0)
)
"""


@pytest.mark.parametrize("name", ["factory", "score", "mean"])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_model_cannot_end_the_program(name, streamed, table, capsys, stream):
    data = table("t.parquet")
    Path("ends.py").write_text(MODULE)
    if streamed:
        stream()
    words = (*BASE, "--model", f"ends.py:{name}", "--json", "--fail-on-reject")
    assert main(["check", data, *words]) == 2
    printed = capsys.readouterr()
    assert (
        f"The model 'ends.py:{name}' tried to end the program (ends.py, line" in printed.err
    )
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_a_model_that_names_columns(table, capsys):
    data = table()
    Path("names.py").write_text(MODULE)
    assert main(["check", data, *BASE, "--model", "names.py:columns"]) == 2
    assert "names columns of a table, and --model takes a model" in capsys.readouterr().err


def test_a_stream_gives_y_as_a_vector(table, capsys, stream):
    data = table("t.parquet")
    Path("vector.py").write_text(MODULE)
    models = ("vector.py:flat", "vector.py:later")
    whole = [as_json(capsys, data, *BASE, "--model", each) for each in models]
    stream()
    streamed = [as_json(capsys, data, *BASE, "--model", each) for each in models]
    assert [each["data"]["streamed"] for each in streamed] == [True, True]
    assert [each["result"]["pvalue"] for each in streamed] == [
        each["result"]["pvalue"] for each in whole
    ]


def test_a_model_of_x_with_arrays_beside_it(table, columns, capsys, stream):
    income = columns["income"].copy()
    income[4] = np.nan
    data = table("t.parquet", income=income)
    Path("beside.py").write_text(MODULE)
    words = (data, *BASE, "--model", "beside.py:offset", "--drop-nulls")
    whole = as_json(capsys, *words)
    stream()
    streamed = as_json(capsys, *words)
    assert whole["data"]["rows"] == streamed["data"]["rows"] == 89
    assert whole["rejected"] is streamed["rejected"] is False


def test_the_report_is_no_input(table, quick, capsys):
    data = table()
    Path("kinds_model.py").write_text(MODULE)
    before = Path(data).read_bytes()
    Path("link.html").symlink_to(data)
    Path("code.html").symlink_to("kinds_model.py")
    os.link(data, "hard.html")
    normal = ("--mean", "mu", "--std", "sd")
    imported = ("--model", "kinds_model.py:flat")
    Path("parts").mkdir()
    table("parts/a.csv")
    for where, report, model in (
        (data, data, normal),
        (data, f"./{data}", normal),
        (data, "link.html", normal),
        (data, "hard.html", normal),
        ("parts", "parts/a.csv", normal),
        (data, "kinds_model.py", imported),
        (data, "code.html", imported),
        (data, "kinds_model.py", ("--model", "kinds_model:flat")),
    ):
        assert main(["check", where, *BASE, *model, "--report", report]) == 2
        assert "is the same file as" in capsys.readouterr().err
    assert quick.calls == []
    assert Path(data).read_bytes() == before
    assert Path("kinds_model.py").read_text() == MODULE
    assert main(["check", data, *BASE, *imported, "--report", "new.html"]) == 0
