"""`condgof study` and `condgof paper`, as a user runs them."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from condgof.cli import main
from condgof.study import problem

MODULE = """
import condgof as cg
from condgof.study import Problem
line = cg.models.Normal(mean=lambda x: x[:, 0], std=1.0)
draw = lambda n, rng: rng.normal(size=(n, 1))
case = Problem("mine", "[red]Mine[/red] $5", line, line, draw, 1, 1, True)
def test(model, x, y, *, rng, engine):
    return cg.kcsd(model, x, y, n_boot=99, rng=rng, engine=engine)
def slow(model, x, y, **options):
    import time
    time.sleep(0.05)
    return test(model, x, y, **options)
def bad(model, x, y, *, rng, engine):
    raise ValueError("[bold]broken[/bold]")
def leaves(*_, **__):
    raise SystemExit(0)
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    name = f"user_{tmp_path.parent.name.replace('-', '_')}_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    yield name
    sys.modules.pop(name, None)


def run(*words):
    return main(["study", *words, "--workers", "1"])


def test_table_files_and_figure(here, capsys):
    words = shlex.split("--problem qgm,hgm --method kcsd,fscd-rand --n 30,50 --trials 4")
    assert run(*words, "--out", "new/folder") == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    text = Path("new/folder/table.txt").read_text()
    assert printed.out.startswith(text)
    assert "qgm: Quadratic Gaussian (H1)" in text
    assert json.loads(Path("new/folder/table.json").read_text())["trials"] == 4
    assert len(Path("new/folder/table.csv").read_text().splitlines()) == 1 + 8
    image = matplotlib.image.imread("new/folder/power.png")
    assert np.ptp(image[..., :3]) > 0.5
    assert run(*words, "--seed", "1", "--out", "new/folder") == 2
    assert "its seed was 0, and is 1 now" in capsys.readouterr().err


def test_users_own_problem_method_and_text(here, capsys):
    """What users write is no markup of Rich, and no formula of matplotlib."""
    words = shlex.split(f"--problem {here}:case --method {here}:test --n 20 --trials 3")
    assert run(*words) == 0
    printed = capsys.readouterr()
    assert "mine: [red]Mine[/red] $5 (H0)" in printed.out
    assert os.path.exists("study-output/power.png")


def test_a_fitted_model(here, capsys):
    np.savetxt(
        "x.csv",
        np.random.default_rng(0).normal(size=(50, 2)),
        delimiter=",",
        header="a,b",
        comments="",
    )
    words = [
        "--model",
        f"{here}:line",
        *shlex.split("--data x.csv --method kcsd --trials 5"),
    ]
    assert run(*words, "--x", "b", "--misfit", "shift=0, scale=3", "--n", "100") == 0
    rows = json.loads(Path("study-output/table.json").read_text())["table"]
    assert [row["problem"] for row in rows] == ["shift=0", "scale=3"]
    assert rows[1]["rate"] == 1.0
    Path("flat.csv").write_text("x\n" + "0\n" * 5)
    assert (
        run(*words[:2], "--data", "flat.csv", *words[4:], "--n", "10", "--out", "other")
        == 2
    )
    assert "trials failed" in capsys.readouterr().err  # a constant x


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--problem", "hmg", "--n", "10"],
            "There is no problem 'hmg'. Did you mean 'hgm'?",
        ),
        (["--problem", "[red]x", "--n", "10"], "There is no problem '[red]x'."),
        (["--n", "10"], "needs --problem"),
        (["--problem", "qgm", "--n", "ten"], "--n takes whole numbers"),
        (
            ["--problem", "qgm", "--n", "10", "--alpha", "2"],
            "alpha must be between 0 and 1",
        ),
        (
            ["--problem", "qgm", "--n", "10", "--alpha", "5e-4"],
            "Take --alpha 0.001 or larger",
        ),
        (["--problem", "no_such:a", "--n", "10"], "cannot be imported"),
        (["--problem", "qgm", "--n", "10", "--misfit", "shift=1"], "belong to --model"),
        (["--model", "a:b", "--n", "10"], "--model needs --data"),
        (["--model", "a:b", "--data", "none.csv", "--n", "10"], "No file matches"),
        (
            ["--model", "a:b", "--data", "x.csv", "--x", "c", "--n", "10"],
            "has no column 'c'. Its columns are 'a', 'b'",
        ),
        (
            ["--model", "a:b", "--data", "x.csv", "--n", "10"],
            "Column 'b' of x.csv has missing values in 1 of 2 rows, the first in row 1"
            " (counted from 0). Leave those rows out.",
        ),
        (
            [
                *shlex.split("--model a:b --data x.csv --x a --misfit shift --n 9"),
            ],
            "kind=size",
        ),
        (["--problem", "qgm", "--n", "10", "--scheduler", "tcp://x:1"], "not both"),
        (["--problem", "qgm"], "Missing option '--n'"),
        (["--problem", "qgm", "--n", "10", "--trials", "0"], "--trials"),
        (["--problem", "qgm", "--n", "10", "--wrong"], "--wrong"),
    ],
)
def test_bad_input_exits_2_with_a_message(here, capsys, words, message):
    with open("x.csv", "w") as file:
        file.write("a,b\n1,2\n3,\n")
    assert run("--method", "kcsd", *words) == 2
    printed = capsys.readouterr()
    assert message in " ".join(printed.err.replace("│", " ").split())
    assert "Traceback" not in printed.err
    assert printed.out == ""


def test_trials_that_fail(here, capsys):
    words = ["--problem", "qgm", "--n", "20", "--trials", "2"]
    assert run(*words, "--method", f"kcsd,{here}:bad") == 0
    error = capsys.readouterr().err
    assert "2 of 4 trials failed" in error
    assert "ValueError: [bold]broken[/bold]" in error
    assert "the same command tries them again" in error
    assert run(*words, "--method", f"{here}:bad", "--out", "other") == 2


@pytest.mark.parametrize("option", ["--method", "--problem", "--model"])
def test_code_that_would_end_the_program(option, here, capsys):
    Path("x.csv").write_text("\n".join(["x", *map(str, range(20))]))
    data = ["--data", "x.csv"] if option == "--model" else []
    problem = ["--problem", "qgm"] if option == "--method" else []
    words = [
        *problem,
        option,
        f"{here}:leaves",
        *data,
        *shlex.split("--n 20 --trials 2 --out other"),
    ]
    assert run(*words) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith("condgof: ")
    assert "SystemExit" in printed.err
    assert "Traceback" not in printed.err
    assert printed.out == ""


ODD = """
class Odd:
    def __getattr__(self, name):
        raise RuntimeError("no " + name)
odd = Odd()
"""


@pytest.mark.parametrize(
    "words", [["--problem", "odd.py:odd"], ["--model", "odd.py:odd", "--data", "x.csv"]]
)
def test_an_object_that_raises_is_the_users_matter(words, here, capsys):
    Path("odd.py").write_text(ODD)
    Path("x.csv").write_text("x\n" + "".join(f"{i}\n" for i in range(50)))
    assert run(*words, "--n", "20", "--trials", "1") == 2
    error = capsys.readouterr().err
    assert "RuntimeError: no " in error
    assert error.count("\n") == 1


def test_a_folder_and_an_address_that_make_no_sense(here, capsys):
    words = ("--problem", "qgm", "--n", "20", "--trials", "1")
    Path("deep").mkdir()
    Path("deep/study.json").write_text("[" * 100_000 + "]" * 100_000)
    assert run(*words, "--out", "deep") == 2
    assert "is not the study.json of a study" in capsys.readouterr().err
    assert main(["study", *words, "--scheduler", "garbage"]) == 2
    assert "--scheduler must be the address of a Dask scheduler" in capsys.readouterr().err


def test_without_matplotlib_the_study_ends_well(here, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run("--problem", "qgm", "--method", "kcsd", "--n", "20", "--trials", "2") == 0
    printed = capsys.readouterr()
    assert "no figure" in printed.err
    assert "pip install 'condgof[plot]'" in printed.err
    assert os.path.exists("study-output/table.txt")


def test_ctrl_c_and_going_on(here):
    words = [
        *shlex.split("study --problem qgm --method"),
        f"{here}:slow",
        *shlex.split("--n 20 --trials 30"),
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "condgof", *words, "--workers", "2", "--out", "out"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        time.sleep(0.01)
        path = Path("out/trials.jsonl")
        if path.exists() and path.read_text().count("\n") > 3:
            break
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert out == ""
    assert "run the same command again to go on" in error
    assert "Traceback" not in error
    assert main([*words, "--workers", "1", "--out", "out"]) == 0
    assert len(path.read_text().splitlines()) == 30, (
        "those that were there were not run again"
    )


def test_on_a_cluster(here, capsys):
    from distributed import Client, LocalCluster

    options = {"processes": False, "dashboard_address": ":0"}
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, **options) as cluster,
        Client(cluster),
    ):
        # In this process, whose modules its workers share: the address leads to the same
        # objects.
        words = ["--problem", "qgm", "--method", "kcsd", "--n", "20", "--trials", "4"]
        assert (
            main(["study", *words, "--scheduler", cluster.scheduler_address, "--out", "a"])
            == 0
        )
    assert run(*words, "--out", "b") == 0
    assert Path("a/table.csv").read_text() == Path("b/table.csv").read_text()
    capsys.readouterr()


def test_paper_power_runs_the_papers_cells(here, capsys, monkeypatch):
    called = {}

    def fake(problems, methods, n, **options):
        called.update(problems=problems, methods=methods, n=n, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr("condgof.cli._study.run_study", fake)
    assert main(["paper", "power", "--out", "p"]) == 130
    assert called["problems"] == ["lgm", "hgm", "hgm-far", "qgm"]
    assert called["n"]["lgm"] == (200, 300, 400, 500)
    assert called["n"]["hgm"] == called["n"]["hgm-far"] == (300, 700, 1100, 1500)
    assert called["n"]["qgm"] == (100, 400, 700, 1000)
    assert called["trials"] == 300
    assert len(called["methods"]) == 8
    assert set(called["methods"]) >= {
        "adaptive",
        "kcsd",
        "fscd-opt",
        "fscd-rand",
        "mmd",
        "zheng",
    }
    assert all(problem(name).name == name for name in called["problems"])
    assert main(["paper", "power", "--out", "p", "--trials", "7"]) == 130
    assert called["trials"] == 7


def test_paper_criterion(here, capsys):
    assert main(["paper", "criterion", "--out", "c", "--n", "300"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert [line.split()[0] for line in printed.out.splitlines()[:4]] == [
        "slope-1d",
        "qgm-1d",
        "hgm-1d",
        "qgm-1d-uniform",
    ]
    assert len(Path("c/criterion.csv").read_text().splitlines()) == 1 + 4 * 300
    image = matplotlib.image.imread("c/criterion.png")
    assert image.shape[1] > 1500


def test_x_of_a_model_may_hold_text_and_dates(here, capsys):
    """0.2 refused text, and advised an option that it lacked."""
    Path("town.py").write_text(
        "import numpy as np\nimport condgof as cg\n"
        "model = cg.models.Normal(mean=lambda x: np.where(x['town'] == 'Oslo', 0.0, 1.0),\n"
        "                         std=1.0)\n"
    )
    rows = [
        f"{town},{i},2020-01-{i % 28 + 1:02d}"
        for i in range(20)
        for town in ["Oslo", "Rome"]
    ]
    Path("x.csv").write_text("\n".join(["town,code,day", *rows]))
    words = shlex.split(
        "--model town.py:model --data x.csv --misfit shift=0,shift=3 --method"
    )
    assert run(*words, "kcsd", "--n", "20", "--trials", "2") == 0
    table = json.loads(Path("study-output/table.json").read_text())["table"]
    assert len(table) == 2
    Path("x.csv").write_text("town,code\nOslo,\nRome,1\n")
    assert run(*words, "kcsd", "--n", "20", "--trials", "2") == 2
    assert "has missing values" in capsys.readouterr().err
    Path("x.csv").write_text('town,code\nOslo,"1,5"\nRome,"2,5"\n')
    assert run(*words, "kcsd", "--n", "20", "--trials", "2") == 2
    assert "--categorical code" in capsys.readouterr().err
    assert run("--problem", "qgm", "--n", "20", "--categorical", "town") == 2
    assert "belong to --model" in capsys.readouterr().err
