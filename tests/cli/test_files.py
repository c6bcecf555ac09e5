"""Files are written whole or not at all."""

import os
from pathlib import Path

import pytest

from condgof.cli._output import check_place, write_whole
from condgof.errors import InputError


def test_a_failure_keeps_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    write_whole(path, "old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_permissions_are_those_of_a_new_file_or_of_the_old_one(tmp_path):
    path, plain = tmp_path / "report.html", tmp_path / "plain"
    write_whole(path, "new")
    plain.write_text("")
    assert path.stat().st_mode == plain.stat().st_mode
    path.chmod(0o600)
    write_whole(path, "newer")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_what_is_no_file_is_written_to(tmp_path):
    write_whole(Path(os.devnull), "text")
    assert not Path(os.devnull).is_file()


def test_places(tmp_path):
    check_place(tmp_path / "new.html", "--report")
    with pytest.raises(InputError, match="there is no folder"):
        check_place(tmp_path / "none" / "new.html", "--report")
    with pytest.raises(InputError, match="is a folder"):
        check_place(tmp_path, "--report")
