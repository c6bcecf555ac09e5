"""`condgof check --model`: users' code, imported; nothing unpickled."""

import pickle
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from condgof.cli import main

MODULE = """
import numpy as np
import condgof as cg
print("noise from the module")
calls = []

def mean(x):
    calls.append(x)
    return 2.0 * np.asarray(x)[:, 0].astype(float)

line = cg.models.Normal(mean=mean, std=1.0)
by_name = cg.models.Normal(mean=lambda x: 2.0 * x["income"], std=1.0)
by_position = cg.models.Normal(mean=lambda x: 2.0 * x[:, 0], std=1.0)
flat = cg.from_score(lambda y, x: 2.0 * np.asarray(x)[:, 0] - y)
bound = cg.from_scores(np.zeros(90))
def make():
    return line
def density(y, x):
    return -0.5 * (y - 2 * x) ** 2
class Holder:
    inner = line
"""


@pytest.fixture
def here(table, tmp_path, monkeypatch, request):
    table()
    monkeypatch.setattr(sys, "path", sys.path[:])
    name = f"user_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    yield name
    sys.modules.pop(name, None)


def run(*words):
    return main(["check", "t.csv", "--y", "food", *words])


@pytest.mark.parametrize("attribute", ["line", "make", "Holder.inner", "by_name", "flat"])
def test_addresses(attribute, here, quick, capsys):
    assert run("--x", "income", "--model", f"{here}:{attribute}") == 0
    printed = capsys.readouterr()
    assert f"{here}:{attribute}" in printed.out
    assert "noise" not in printed.out
    assert "noise from the module" in printed.err
    (call,) = quick.calls
    scores = call["model"](call["x"]).score(np.asarray(call["y"]))
    assert np.shape(scores) in ((90,), (90, 1))


def test_a_file_elsewhere_and_its_neighbours(here, quick, tmp_path):
    folder = tmp_path / "deep" / "er"
    folder.mkdir(parents=True)
    (folder / "neighbour_of_mine.py").write_text("std = 1.0\n")
    (folder / "my_model.py").write_text(
        "import condgof as cg\nfrom neighbour_of_mine import std\n"
        "fitted = cg.models.Normal(mean=lambda x: 2.0 * x['income'], std=std)\n"
    )
    assert run("--x", "income", "--model", "deep/er/my_model.py:fitted") == 0
    assert run("--x", "income", "--model", f"{folder / 'my_model.py'}:fitted") == 0


def test_how_the_model_gets_x(here, quick):
    assert run("--x", "income,town", "--model", f"{here}:line") == 0
    model = quick.calls[0]["model"]
    x = quick.calls[0]["x"]
    model(x)
    frame = sys.modules[here].calls[-1]
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == ["income", "town"]
    assert frame["income"].dtype == float
    assert frame["town"][0] in ("Oslo", "Bergen")


def test_without_pandas(here, quick, monkeypatch, capsys):
    """A frame of our own, which NumPy makes an array of."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert run("--x", "income", "--model", f"{here}:line") == 0
    assert np.shape(quick.calls[0]["model"](quick.calls[0]["x"]).mean_std()[0]) == (90, 1)


def test_a_model_that_is_bound_to_rows(here, table, columns, quick, capsys):
    assert run("--x", "income", "--model", f"{here}:bound") == 0
    assert quick.calls[0]["model"].rows == 90
    food = columns["food"].tolist()
    food[4] = None
    table(food=food)
    assert run("--x", "income", "--model", f"{here}:bound", "--drop-nulls") == 0
    assert quick.calls[1]["model"].rows == 89
    table(**{name: values[:50] for name, values in columns.items()})
    assert run("--x", "income", "--model", f"{here}:bound") == 2
    assert "bound to 90 rows and the table has 50" in capsys.readouterr().err


def test_the_model_runs_for_real(here, capsys):
    assert run("--x", "income", "--x", "town", "--model", f"{here}:by_name", "--quiet") == 0
    assert capsys.readouterr().out.startswith("No misfit found (p = ")


BAD = {
    "no module": ("nowhere_at_all:model", "No module named 'nowhere_at_all'"),
    "no file": ("nowhere.py:model", "there is no file nowhere.py"),
    "no attribute": ("{here}:lien", "Did you mean 'line'"),
    "no address": ("line", "Write it as module:attr"),
    "bare function": ("{here}:density", "A bare function is ambiguous"),
    "class": ("{here}:Holder", "is a class"),
    "module": ("{here}:np", "Cannot make a model of module"),
    "exits": ("exits.py:model", "SystemExit: 0"),
    "syntax": ("syntax.py:model", "SyntaxError"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_imported(case, here, capsys):
    Path("exits.py").write_text("import sys\nsys.exit(0)\n")
    Path("syntax.py").write_text("model = (\n")
    address, message = BAD[case]
    assert run("--x", "income", "--model", address.format(here=here)) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_a_model_that_fails_is_the_users_matter(here, capsys):
    assert run("--x", "income", "--model", f"{here}:by_position") == 2
    error = capsys.readouterr().err
    assert f"The model '{here}:by_position' failed ({here}.py, line" in error


def test_pickles_are_not_opened(here, tmp_path, capsys):
    class Trap:
        def __reduce__(self):
            return (Path.write_text, (tmp_path / "sprung", "x"))

    for name in ("trap.pkl", "trap.py", "trap.parquet", "trap.csv", "trap.feather"):
        Path(name).write_bytes(pickle.dumps(Trap()))
        assert run("--x", "income", "--model", f"{name}:model") == 2
        if not name.endswith("py"):
            assert main(["check", name, "--x", "a", "--y", "b", "--score", "c"]) == 2
    assert not (tmp_path / "sprung").exists()
    capsys.readouterr()
