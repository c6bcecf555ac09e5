"""Files are written whole or not at all."""

import os
import resource
from pathlib import Path

import pytest

from condgof.cli import main

ROLES = ["--x", "income", "--y", "food", "--mean", "mu", "--std", "sd"]


@pytest.fixture
def write_report(table, quick):
    """Write a report of a check that takes no time, and return the exit code."""
    table()

    def write(path):
        return main(["check", "t.csv", *ROLES, "--quiet", "--report", str(path)])

    return write


def is_report(path):
    return path.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_failure_keeps_what_was_there(write_report, tmp_path, monkeypatch, capsys):
    path = tmp_path / "report.html"
    path.write_text("old")
    before = sorted(tmp_path.iterdir())

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    assert write_report(path) == 2
    assert "disk full" in capsys.readouterr().err
    assert path.read_text() == "old"
    assert sorted(tmp_path.iterdir()) == before


def test_permissions_are_those_of_a_new_file_or_of_the_old_one(write_report, tmp_path):
    path = tmp_path / "report.html"
    plain = tmp_path / "plain"
    assert write_report(path) == 0
    plain.write_text("")
    assert path.stat().st_mode == plain.stat().st_mode
    path.chmod(0o600)
    assert write_report(path) == 0
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_a_link(write_report, tmp_path):
    target = tmp_path / "target"
    link = tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    assert write_report(link) == 0
    assert link.is_symlink()
    assert is_report(target)


def test_what_is_no_file_is_written_to(write_report):
    assert write_report(os.devnull) == 0
    assert not Path(os.devnull).is_file()


def test_places(write_report, tmp_path, capsys):
    assert write_report(tmp_path / "new.html") == 0
    assert write_report(tmp_path / "none" / "new.html") == 2
    assert "there is no folder" in capsys.readouterr().err
    assert write_report(tmp_path) == 2
    assert "is a folder" in capsys.readouterr().err


def test_a_disk_that_fills_up_keeps_what_was_there(write_report, tmp_path, capsys):
    """A file may have 2,000 bytes only, of which a part is written before it fails."""
    path = tmp_path / "report.html"
    path.write_text("old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
    try:
        assert write_report(path) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    printed = capsys.readouterr()
    assert "report.html" in printed.err
    assert printed.out  # the verdict, which was found before
    assert path.read_text() == "old"
    assert [one for one in tmp_path.iterdir() if one.name.startswith(".report")] == []
