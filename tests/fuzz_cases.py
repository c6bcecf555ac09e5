"""Cases of the fuzz campaign: the same data, plain and in a form that users bring.

A case is a dictionary of choices, so that it can be written down: `fuzz_corpus.json` holds
those that once failed. The answer must be that of the plain copy, or one `CondgofError`.
"""

import io
import json
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st
from pyarrow import feather, parquet

import condgof as cg
from condgof.cli import main
from condgof.errors import CondgofError, CondgofWarning

CORPUS = Path(__file__).parent / "fuzz_corpus.json"
DRAWS = 39
REFUSED = "refused"
SAME = "same answer"


class WrongAnswerError(AssertionError):
    """The answer is not that of the plain copy."""


# ---- Containers: each takes an array (n,) and the labels of the rows.


def shuffled(values, labels):
    """A Series in another order, which only its index tells."""
    order = np.random.default_rng(1).permutation(len(values))
    return pd.Series(values, index=labels).iloc[order]


CONTAINERS = {
    "array": lambda values, labels: values,
    "list": lambda values, labels: values.tolist(),
    "tuple": lambda values, labels: tuple(values.tolist()),
    "column": lambda values, labels: values.reshape(-1, 1),
    "series": lambda values, labels: pd.Series(values, index=labels),
    "shuffled": shuffled,
    "foreign": lambda values, labels: pd.Series(values, [f"no {i}" for i in labels]),
    "numbered": lambda values, labels: pd.Series(values),
    "polars": lambda values, labels: pl.Series(values.tolist()),
    "pyarrow": lambda values, labels: pa.array(values.tolist()),
    "objects": lambda values, labels: values.astype(object),
    "masked": lambda values, labels: np.ma.array(values),
    "frame": lambda values, labels: pd.DataFrame({"v": values}, index=labels),
    "category": lambda values, labels: pd.Series(pd.Categorical(values), index=labels),
}
#: How the rows of the frame x are labelled.
LABELS = {
    "numbers": np.arange,
    "later": lambda n: np.arange(n) + 100,
    "mixed": lambda n: np.random.default_rng(2).permutation(n),
    "text": lambda n: np.array([f"row {i}" for i in range(n)]),
}


def frame_of(case, data, labels):
    """Return x in the form of a case; columns are those of `data`."""
    form = case["x"]
    frame = pd.DataFrame(data, index=labels)
    if form == "pandas":
        return frame
    if form == "categories":
        return frame.assign(town=frame["town"].astype("category"))
    if form == "ordered":
        return frame.assign(town=pd.Categorical(frame["town"], ["Oslo", "Rome"]))
    if form == "nullable":
        return frame.convert_dtypes()
    if form == "polars":
        return pl.DataFrame(data)
    if form == "pyarrow":
        return pa.table(data)
    if form == "arrow types":
        return frame.convert_dtypes(dtype_backend="pyarrow")
    raise AssertionError(form)


X_FORMS = [
    "pandas",
    "categories",
    "ordered",
    "nullable",
    "polars",
    "pyarrow",
    "arrow types",
]


# ---- Data and models.


def data_of(case):
    """Return x by column, of n rows."""
    rng = np.random.default_rng(case["seed"])
    n = case["n"]
    return {
        "age": rng.integers(18, 80, n),
        "income": rng.normal(size=n).round(3),
        "town": np.where(rng.random(n) < 0.5, "Oslo", "Rome"),
        "day": np.datetime64("2020-01-01") + rng.integers(0, 90, n).astype("m8[D]"),
        "old": rng.random(n) < 0.5,
    }


def model_of(case, data, put):
    """Return a model and its y.

    `put` puts predictions into the container of the case; None for the plain copy.
    """
    plain = put is None
    put = put or np.asarray
    rng = np.random.default_rng(case["seed"] + 1)
    income = data["income"]
    n = len(income)
    noise = rng.normal(size=n)
    kind = case["model"]
    if kind == "normal":
        return (put(income), put(np.full(n, 1.2))), income + noise
    if kind == "poisson":
        mean = np.exp(0.3 * income + 1.0)
        return cg.models.Poisson(mean=put(mean)), rng.poisson(mean)
    if kind == "intervals":
        ends = put(income - 1.6), put(income + 1.6)
        return cg.from_intervals(*ends, 0.9), income + noise
    if kind == "pit":
        return cg.from_pit(put(rng.random(n))), income + noise
    if kind == "times":
        return cg.models.Exponential(scale=put(np.exp(income))), rng.exponential(size=n)
    p = 1 / (1 + np.exp(-income))
    labels = {"classes": [0, 1], "named classes": ["no", "yes"]}[kind]
    y = np.array(labels)[(rng.random(n) < p).astype(int)]
    table = pd.DataFrame({labels[0]: 1 - p, labels[1]: p})
    if case["predictions"] == "frame":
        table = table[table.columns[::-1]]
        if plain:
            return cg.probabilities(table.to_numpy(), labels[::-1]), y
        return cg.probabilities(table.set_axis(put(p).index)), y
    return cg.probabilities(np.column_stack([1 - p, p]), labels), y


MODELS = ["normal", "poisson", "intervals", "pit", "times", "classes", "named classes"]
TESTS = {"check": cg.check, "adaptive": cg.adaptive, "kcsd": cg.kcsd}
QUERIES = {
    "none": None,
    "age < 50": lambda data: data["age"] < 50,
    "town == 'Rome' and not old": lambda data: (data["town"] == "Rome") & ~data["old"],
    "30 <= age <= 60 or town in ['Oslo']": lambda data: (
        ((data["age"] >= 30) & (data["age"] <= 60)) | (data["town"] == "Oslo")
    ),
    "day >= '2020-02-01'": lambda data: data["day"] >= np.datetime64("2020-02-01"),
}
ROLES_OF_ROWS = ["none", *CONTAINERS]

CASES = st.fixed_dictionaries(
    {
        "kind": st.just("call"),
        "seed": st.integers(0, 9),
        "n": st.sampled_from([30, 45, 60]),
        "test": st.sampled_from(sorted(TESTS)),
        "model": st.sampled_from(MODELS),
        "x": st.sampled_from(X_FORMS),
        "labels": st.sampled_from(sorted(LABELS)),
        "y": st.sampled_from(sorted(CONTAINERS)),
        "predictions": st.sampled_from(sorted(CONTAINERS)),
        "event": st.sampled_from(ROLES_OF_ROWS),
        "by": st.sampled_from(ROLES_OF_ROWS),
        "groups": st.sampled_from(["none", "none", *CONTAINERS]),
        "slice": st.sampled_from(sorted(QUERIES)),
        "mask": st.sampled_from(["none", "array", "list", "series", "shuffled", "polars"]),
    }
)


def quietly(function, *arguments, **options):
    """Call with all warnings as errors but condgof's own."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CondgofWarning)
        return function(*arguments, **options)


def run_call(case):
    """Run a case and its plain copy."""
    data = data_of(case)
    labels = LABELS[case["labels"]](case["n"])
    x = frame_of(case, data, labels)
    has_labels = isinstance(x, pd.DataFrame)

    def put(values, role="predictions"):
        return CONTAINERS[case[role]](np.asarray(values), labels)

    plain_model, y = model_of(case, data, None)
    codes = np.arange(case["n"]) % 7
    flags = (np.arange(case["n"]) % 4 > 0).astype(int)
    options = {"n_boot": DRAWS, "rng": 0}
    plain = dict(options)
    try:
        model, _ = model_of(case, data, put)
        answers_y = put(y, "y")
        if case["model"] == "times" and case["event"] != "none" and case["test"] != "kcsd":
            options["event"] = put(flags, "event")
            plain["event"] = flags
        if case["groups"] != "none":
            options["groups"] = put(codes, "groups")
            plain["groups"] = codes
        if case["test"] == "check":
            options["alpha"] = plain["alpha"] = 0.1
            if case["by"] != "none":
                options["by"] = put(codes % 3, "by")
                plain["by"] = codes % 3
            rule = QUERIES[case["slice"]]
            if rule is not None:
                options["slices"] = [case["slice"]]
                plain["slices"] = [rule(data)]
            if case["mask"] != "none":
                mask = CONTAINERS[case["mask"]](data["income"] > 0, labels)
                options["slices"] = [*options.get("slices", []), mask]
                plain["slices"] = [*plain.get("slices", []), data["income"] > 0]
        answer = quietly(TESTS[case["test"]], model, x, answers_y, **options)
    except CondgofError:
        return REFUSED
    # Without labels of x there are those of y; without these, rows are in their order.
    foreign = {"shuffled", "foreign", "numbered"}
    roles = {"event": "event", "by": "by", "groups": "groups", "mask": "slices"}
    used = {case[role] for role, option in roles.items() if option in options}
    if case["model"] not in ("classes", "named classes") or case["predictions"] == "frame":
        used.add(case["predictions"])
    y_has_labels = case["y"] in ("series", "frame", "category")
    if not has_labels and (case["y"] in foreign or (used & foreign and not y_has_labels)):
        return "no labels to compare with"
    if "numbered" in used | {case["y"]} and case["labels"] == "mixed":
        return "matched by labels that are numbers"
    if "foreign" in used | {case["y"]}:
        raise WrongAnswerError("labels that are not those of x were taken")
    table = pd.DataFrame(data)
    if case["x"] == "ordered":
        table["town"] = pd.Categorical(table["town"], ["Oslo", "Rome"])
    wanted = quietly(TESTS[case["test"]], plain_model, table, y, **plain)
    compare(answer, wanted)
    return SAME


def compare(answer, wanted):
    """Raise unless two answers are the same numbers."""
    if hasattr(answer, "result"):
        groups = [
            [(len(one.rows), one.pvalue) for one in r.groups] for r in (answer, wanted)
        ]
        if groups[0] != groups[1]:
            raise WrongAnswerError(f"groups {groups[0]}, and of the plain copy {groups[1]}")
        answer, wanted = answer.result, wanted.result
    if answer.pvalue != wanted.pvalue or not np.isclose(
        answer.statistic, wanted.statistic, rtol=1e-9
    ):
        raise WrongAnswerError(
            f"p = {answer.pvalue} ({answer.statistic}), and of the plain copy"
            f" {wanted.pvalue} ({wanted.statistic})"
        )


# ---- The command line: a table in some form, against plain CSV.

FORMATS = ["csv", "tsv", "semicolon", "pipe", "stdin", "parquet", "feather", "folder"]
DECORATIONS = ["none", "bom", "spaces", "crlf", "quotes", "no last newline"]
SPOILS = [
    "none",
    "word in x",
    "word in y",
    "decimal comma",
    "thousands",
    "percent",
    "empty x",
    "unclosed quote",
    "short row",
    "negative sd",
]
COMMANDS = st.fixed_dictionaries(
    {
        "kind": st.just("command"),
        "seed": st.integers(0, 9),
        "n": st.sampled_from([12, 40]),
        "format": st.sampled_from(FORMATS),
        "decoration": st.sampled_from(DECORATIONS),
        "spoil": st.sampled_from(["none", *SPOILS]),
        "command": st.sampled_from(["check", "watch", "scan"]),
        "words": st.lists(
            st.sampled_from(
                [
                    "--drop-nulls",
                    "--by=town",
                    "--slice=income < 0.5",
                    "--slice=income.to_csv('written')",
                    "--groups=town",
                    "--dependence=3",
                    "--tolerance=0.1 nats",
                    "--tolerance=200",
                    "--alpha=0.1",
                    "--alpha=1e-9",
                    "--seed=3",
                    "--fail-on-reject",
                    "--categorical=town",
                    "--x=*",
                    "--mean=nothing",
                    "--decimal=,",
                    "--delimiter=;",
                    "--on-bad-row=skip",
                    "--fail-on-alarm",
                    "--quiet",
                    "--json",
                ]
            ),
            max_size=3,
            unique=True,
        ),
    }
)
ROLES = ["--x", "income,town", "--y", "y", "--mean", "mu", "--std", "sd"]
NAMES = ["income", "town", "y", "mu", "sd"]


def rows_of(case):
    """Return the rows of a table, each a list of texts, of which one may be spoiled."""
    rng = np.random.default_rng(case["seed"])
    rows = []
    for _ in range(case["n"]):
        income, noise = rng.normal(size=2).round(3)
        town = ["Oslo", "Rome"][rng.integers(2)]
        rows.append([f"{income}", town, f"{(income + noise).round(3)}", f"{income}", "1.1"])
    row = rows[case["n"] // 2]
    places = {
        "word in x": (0, "unknown"),
        "word in y": (2, "many"),
        "decimal comma": (0, "1,5"),
        "thousands": (2, "1,200"),
        "percent": (0, "5%"),
        "empty x": (0, ""),
        "unclosed quote": (1, '"Oslo'),
        "negative sd": (4, "-1"),
    }
    if case["spoil"] in places:
        place, text = places[case["spoil"]]
        row[place] = text
    if case["spoil"] == "short row":
        row.pop()
    return rows


def write_text(case, rows, delimiter):
    """Return a table as text, decorated."""
    names = list(NAMES)
    if case["decoration"] == "spaces":
        names = [f" {name} " for name in names]
    quoted = case["decoration"] == "quotes"

    def field(text):
        needs = delimiter in text and not text.startswith('"')
        return f'"{text}"' if (quoted and '"' not in text) or needs else text

    lines = [delimiter.join(map(field, row)) for row in [names, *rows]]
    end = "\r\n" if case["decoration"] == "crlf" else "\n"
    text = end.join(lines)
    if case["decoration"] != "no last newline":
        text += end
    return ("\ufeff" + text if case["decoration"] == "bom" else text).encode()


def run_main(words, text=None):
    """Run a command line; return its exit code, and what it printed."""
    out = io.StringIO()
    err = io.StringIO()
    stdin = io.TextIOWrapper(io.BytesIO(text or b""))
    with mock.patch.object(sys, "stdin", stdin), redirect_stdout(out), redirect_stderr(err):
        code = main(words)
    if code not in (0, 1, 2) or "Traceback" in err.getvalue():
        raise WrongAnswerError(f"exit code {code}: {err.getvalue()}")
    if code == 2 and not err.getvalue().strip():
        raise WrongAnswerError("exit code 2 without a message")
    return code, out.getvalue()


def run_command(case, folder):
    """Run a command on a table in some form, and on the same as plain CSV."""
    if case["command"] == "scan":
        return run_scan(case, folder)
    rows = rows_of(case)
    marks = {"semicolon": ";", "pipe": "|", "tsv": "\t"}
    text = write_text(case, rows, marks.get(case["format"], ","))
    ending = "tsv" if case["format"] == "tsv" else "csv"
    path = folder / f"table.{ending}"
    path.write_bytes(text)
    data = str(path)
    if case["format"] in ("parquet", "feather") and case["spoil"] == "none":
        columns = list(zip(*rows, strict=True))
        values = [columns[0], columns[1], *columns[2:]]
        typed = [v if i == 1 else list(map(float, v)) for i, v in enumerate(values)]
        table = pa.table({name: list(v) for name, v in zip(NAMES, typed, strict=True)})
        data = str(folder / f"table.{case['format']}")
        write = {"parquet": parquet.write_table, "feather": feather.write_feather}
        write[case["format"]](table, data)
    if case["format"] == "folder":
        data = str(folder)
    if case["format"] == "stdin" or case["command"] == "watch":
        data = "-" if case["format"] == "stdin" else str(path)
    words = [case["command"], data, *ROLES, *case["words"]]
    code, out = run_main(words, text)
    if (Path.cwd() / "written").exists() or (folder / "written").exists():
        raise WrongAnswerError("a query wrote a file")
    if code == 2:
        return REFUSED
    skips = case["command"] == "watch" and "--on-bad-row=skip" in case["words"]
    if case["spoil"] != "none" and not skips and "--drop-nulls" not in case["words"]:
        raise WrongAnswerError(f"a spoiled table was taken: {out}")
    plain = {**case, "decoration": "none", "spoil": "none"}
    kept = rows
    if case["spoil"] != "none":
        kept = [row for i, row in enumerate(rows) if i != case["n"] // 2]
    plain_path = folder / "plain.csv"
    plain_path.write_bytes(write_text(plain, kept, ","))
    marks_words = [
        word for word in case["words"] if not word.startswith(("--delim", "--decimal"))
    ]
    _, wanted = run_main([case["command"], str(plain_path), *ROLES, *marks_words])
    plain_path.unlink()
    if numbers_in(out) != numbers_in(wanted):
        raise WrongAnswerError(f"{out}\n, and of the plain table\n{wanted}")
    return SAME


def numbers_in(out):
    """Return what is to be the same: the p-value of JSON, or the words of the answer."""
    if out.startswith("{"):
        return json.loads(out)["result"]["pvalue"]
    lines = out.splitlines()
    if lines and lines[0].startswith("condgof ") and "" in lines:
        lines = lines[lines.index("") :]  # the header has the name of the file
    return [line for line in lines if "skipped" not in line and "left out" not in line]


def run_scan(case, folder):
    """Stream a table from a file in some form, and from Parquet."""
    rows = rows_of({**case, "spoil": "none"})
    columns = dict(zip(NAMES, zip(*rows, strict=True), strict=True))
    table = pa.table(
        {k: list(v) if k == "town" else list(map(float, v)) for k, v in columns.items()}
    )
    parquet.write_table(table, folder / "plain.parquet")
    marks = {"semicolon": ";", "pipe": "|", "tsv": "\t"}
    spoiled = rows_of(case)
    path = folder / ("t.tsv" if case["format"] == "tsv" else "t.csv")
    path.write_bytes(write_text(case, spoiled, marks.get(case["format"], ",")))
    roles = {"x": ["income", "town"], "y": "y"}
    model = cg.columns(mean="mu", std="sd")
    try:
        answer = quietly(cg.kcsd, model, cg.scan(path, **roles), n_boot=DRAWS, rng=0)
    except CondgofError:
        return REFUSED
    if case["spoil"] != "none":
        raise WrongAnswerError(f"a spoiled table was streamed: {answer.pvalue}")
    plain = cg.scan(folder / "plain.parquet", **roles)
    compare(answer, quietly(cg.kcsd, model, plain, n_boot=DRAWS, rng=0))
    return SAME


def run_case(case, folder):
    """Run any case, and return its outcome."""
    return run_call(case) if case["kind"] == "call" else run_command(case, folder)


def path_of(case):
    """Return what a report counts a case under."""
    if case["kind"] == "call":
        return f"{case['test']} · {case['model']} · x {case['x']}"
    return f"{case['command']} · {case['format']} · {case['spoil']}"


def corpus():
    """Return the cases that once failed."""
    return json.loads(CORPUS.read_text()) if CORPUS.exists() else []
