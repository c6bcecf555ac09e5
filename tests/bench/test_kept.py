"""Results of `make bench`: kept by part, resumed, and the page that is made of them."""

from __future__ import annotations

import subprocess

import pytest

import kept
import run

CODE = "0123456789ab"
#: What a part prints in its process.
PRINTED = """
### Title

| what | measured | ratio | asked | |
|---|---|---|---|---|
| slow / fast | 2 s, 1 s | 2 | at least 3 | **not met** |
| its memory | 1 MB | 1 | at most 2 | met |
"""


def first():
    print("first")


def second():
    print("second")


@pytest.fixture
def parts(monkeypatch):
    """Two parts, of which the names of those that ran are recorded."""
    ran = []

    def printed_by(name):
        ran.append(name)
        return f'{PRINTED}{run.MEASUREMENTS}{{"task": [{{"seconds": 1.0}}]}}\n'

    monkeypatch.setattr(run, "PARTS", {"first": first, "second": second})
    monkeypatch.setattr(run, "printed_by", printed_by)
    monkeypatch.setattr(kept, "code_version", lambda: CODE)
    return ran


def keep_all(folder, *, again=False):
    return run.keep_parts(["first", "second"], folder, folder / "page.md", again=again)


def test_a_killed_run_goes_on_with_the_part_that_is_not_kept(parts, tmp_path, monkeypatch):
    whole = run.printed_by

    def killed(name):
        if name == "second":
            raise KeyboardInterrupt
        return whole(name)

    monkeypatch.setattr(run, "printed_by", killed)
    with pytest.raises(KeyboardInterrupt):
        keep_all(tmp_path)
    assert parts == ["first"]
    monkeypatch.setattr(run, "printed_by", whole)
    assert keep_all(tmp_path) == 0
    assert parts == ["first", "second"]
    assert kept.read_result("second", tmp_path).measurements == {"task": [{"seconds": 1.0}]}


def test_a_changed_part_alone_runs_again(parts, tmp_path, monkeypatch):
    keep_all(tmp_path)
    monkeypatch.setattr(kept, "definition_of", lambda part: part.__name__)
    keep_all(tmp_path)
    parts.clear()
    monkeypatch.setattr(
        kept, "definition_of", lambda part: "new" if part is second else part.__name__
    )
    keep_all(tmp_path)
    assert parts == ["second"]


def test_another_version_of_the_library_runs_all_parts_again(parts, tmp_path, monkeypatch):
    keep_all(tmp_path)
    monkeypatch.setattr(kept, "code_version", lambda: "another")
    keep_all(tmp_path)
    assert parts == ["first", "second"] * 2
    keep_all(tmp_path, again=True)
    assert parts == ["first", "second"] * 3


def test_a_part_that_fails_is_not_kept_and_others_run(parts, tmp_path, monkeypatch):
    whole = run.printed_by

    def failing(name):
        if name == "first":
            raise subprocess.CalledProcessError(1, "first")
        return whole(name)

    monkeypatch.setattr(run, "printed_by", failing)
    assert keep_all(tmp_path) == 1
    assert kept.read_result("first", tmp_path) is None
    assert kept.read_result("second", tmp_path).printed == PRINTED


def test_the_page_begins_with_what_is_not_met(parts, tmp_path):
    keep_all(tmp_path)
    text = kept.page(["first", "second", "third"], tmp_path)
    shortfall = text.split("## ")[1]
    assert "- slow / fast (`first`): 2, asked at least 3 (2 s, 1 s)." in shortfall
    assert "memory" not in shortfall
    assert "Not run since the last change of this page: third." in text
    assert f"`{CODE}` (2 parts)" in text
    assert text == (tmp_path / "page.md").read_text().replace(
        "- Compare", "- Not run since the last change of this page: third.\n- Compare"
    )


def test_every_part_has_a_version():
    versions = {kept.definition_of(part) for part in run.PARTS.values()}
    assert all(len(version) == kept.HASH_DIGITS for version in versions)
