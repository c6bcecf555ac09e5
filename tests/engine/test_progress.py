"""How far a computation is: shown on a terminal from two seconds on, and nowhere else."""

import io
import re
import sys
import threading

import numpy as np
import pytest

from condgof.check import check
from condgof.engine import stages, with_progress


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture
def on_screen(monkeypatch):
    """Have standard error be a terminal that is written to all the time."""
    monkeypatch.setattr("condgof.engine._progress.PATIENCE", 0.0)
    monkeypatch.setattr("condgof.engine._progress.EVERY", 0.001)
    monkeypatch.setenv("COLUMNS", "90")

    def begin():  # pytest sets its own after fixtures are made
        monkeypatch.setattr(sys, "stderr", Terminal())
        return sys.stderr

    return begin


def shows(screen, what):
    """Wait until a text is on the screen; return whether it came within two seconds."""
    for _ in range(2000):
        if what in screen.getvalue():
            return True
        threading.Event().wait(0.001)
    return False


def test_stages_are_shown_and_wiped(on_screen):
    screen = on_screen()
    with stages("reading", "slices", "verdict") as begin:
        begin("reading")
        assert shows(screen, "[------------]  reading (1 of 3)  0 s")
        # A function that is called within, and has stages of its own.
        with stages("slices", "verdict") as inner:
            inner("slices")
            assert shows(screen, "[####--------]  slices (2 of 3)")
            for i in with_progress(range(4), 4, "rows"):
                assert shows(screen, f"slices {25 * i}% (2 of 3)")
        begin("verdict")
        assert shows(screen, "[########----]  verdict (3 of 3)")
    assert re.search(r"\r {89}\r$", screen.getvalue())
    assert max(map(len, screen.getvalue().split("\r"))) == 89


def test_a_narrow_terminal(on_screen, monkeypatch):
    screen = on_screen()
    monkeypatch.setenv("COLUMNS", "30")
    with stages("reading", "slices", "verdict") as begin:
        begin("slices")
        assert shows(screen, "[####--------]  slices (2 of ")
    assert max(map(len, screen.getvalue().split("\r"))) == 29


def test_silence(on_screen, monkeypatch):
    screen = on_screen()

    def run():
        with stages("reading", show=main) as begin:
            begin("reading")
            assert list(with_progress(range(3), 3, "rows")) == [0, 1, 2]
            threading.Event().wait(0.02)

    main = False
    run()
    main = True
    other = threading.Thread(target=run)
    other.start()
    other.join()
    monkeypatch.setattr(screen, "isatty", lambda: False)
    run()
    assert screen.getvalue() == ""


def test_it_is_over_when_the_work_fails(on_screen):
    screen = on_screen()

    def fail():
        with stages("reading") as begin:
            begin("reading")
            assert shows(screen, "reading (1 of 1)")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    size = len(screen.getvalue())
    threading.Event().wait(0.02)
    assert len(screen.getvalue()) == size
    # The next work has a line of its own: within other stages it would be silent.
    with stages("verdict") as begin:
        begin("verdict")
        assert shows(screen, "verdict (1 of 1)")


def test_short_work_shows_nothing(on_screen, monkeypatch):
    screen = on_screen()
    monkeypatch.setattr("condgof.engine._progress.PATIENCE", 60.0)
    with stages("reading") as begin:
        begin("reading")
    assert screen.getvalue() == ""


def test_a_check_is_the_same_with_and_without(on_screen, monkeypatch):
    screen = on_screen()
    x, noise = np.random.default_rng(0).standard_normal((2, 80))
    shown = check((x, np.ones(80)), x, x + noise, rng=0)
    assert "verdict (2 of 6)" in screen.getvalue()
    monkeypatch.setattr(screen, "isatty", lambda: False)
    silent = check((x, np.ones(80)), x, x + noise, rng=0)
    assert silent.to_dict()["result"] == shown.to_dict()["result"]
