"""`condgof paper taxi`; the experiment itself is tested in tests/study/test_taxi.py."""

from pathlib import Path

from condgof.cli import _taxi, main


def test_the_files_of_the_experiment(tmp_path, monkeypatch):
    """Globs, files that a shell expanded, and the others."""
    ran = []
    monkeypatch.setattr(_taxi, "run_taxi", lambda files, out, plan: ran.append((files, out, plan)))
    monkeypatch.chdir(tmp_path)
    for name in ("a1.csv", "a2.csv", "b.csv"):
        Path(name).touch()
    command = ["paper", "taxi", "--train", "a?.csv", "b.csv", "--test", "c.csv", "--unusual", "d.csv"]
    assert main([*command, "--out", "out", "--seed", "3"]) == 0
    ((files, out, plan),) = ran
    assert files.train == (Path("a1.csv"), Path("a2.csv"), Path("b.csv"))
    assert (files.test, files.more, files.unusual) == (Path("c.csv"), None, Path("d.csv"))
    assert (out, plan.seed, plan.components) == (Path("out"), 3, 20)


def test_missing_files_are_named(tmp_path, capsys):
    missing = str(tmp_path / "missing.parquet")
    assert main(["paper", "taxi", "--train", missing, "--test", missing]) == 2
    assert "There is no file" in capsys.readouterr().err


def test_the_data_must_be_given(capsys):
    assert main(["paper", "taxi"]) == 2
    assert "--train" in capsys.readouterr().err
