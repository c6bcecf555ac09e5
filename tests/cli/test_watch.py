"""condgof watch: rows as they come, a state that loses nothing, and exit codes."""

import io
import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from condgof.cli import main

ROLES = ["--x", "x,town", "--y", "y", "--mean", "mu", "--std", "sd"]


def lines(n=900, wrong=600, seed=0):
    """Rows that go wrong in Rome, as text."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n).round(5)
    town = rng.choice(["Oslo", "Rome"], n)
    y = x + rng.normal(size=n) + 1.2 * ((np.arange(n) >= wrong) & (town == "Rome"))
    p = 1 / (1 + np.exp(-x))
    kind = np.where(rng.random(n) < p, "yes", "no")
    rows = []
    for i in range(n):
        predicted = f"{x[i]},1,{x[i] - 1.6:.5f},{x[i] + 1.6:.5f},{p[i]:.6f}"
        rows.append(f"{x[i]},{town[i]},{y[i]:.6f},{predicted},{kind[i]}\n")
    return rows


def stored(name):
    return json.loads(Path(name).read_text())["content"]


HEADER = "x,town,y,mu,sd,lo,hi,p,kind\n"


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(rows, name="log.csv", header=HEADER):
        (tmp_path / name).write_text(header + "".join(rows))
        return name

    return write


def test_an_alarm_says_since_when_where_and_how(log, capsys):
    assert main(["watch", log(lines()), *ROLES]) == 0
    text = capsys.readouterr().out
    assert "ALARM after" in text
    assert "along 'town'" in text
    assert "changed since about row" in text
    assert "town = Rome" in text


def test_a_true_model_has_one_line(log, capsys):
    assert (
        main(["watch", log(lines(400, 400)), *ROLES, "--fail-on-alarm", "--seed", "1"]) == 0
    )
    assert capsys.readouterr().out.startswith("400 rows, evidence ")


def test_the_report_has_the_alarm_and_no_rows(log, capsys):
    name = log(lines())
    assert main(["watch", name, *ROLES, "--report", "page.html", "--state", "s.json"]) == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "the model is wrong since about row" in capsys.readouterr().out
    assert "The model is wrong since about row" in page
    assert "message bad" in page
    assert "condgof watch log.csv" in page
    assert "Oslo" not in page
    Path("page.html").unlink()
    again = ["watch", name, *ROLES, "--report", "page.html", "--state", "s.json"]
    assert main(again) == 0
    assert "No report is written." in capsys.readouterr().out
    assert not Path("page.html").exists()


@pytest.mark.parametrize("target", ["log.csv", "s.json", "no/page.html"])
def test_a_report_never_replaces_what_is_read(log, target, capsys):
    name = log(lines(20, 20))
    options = ["--state", "s.json", "--report", target]
    assert main(["watch", name, *ROLES, *options]) == 2
    assert "--report" in capsys.readouterr().err
    assert Path(name).read_text().startswith(HEADER)


def test_cut_and_resumed_the_state_is_the_same(log, capsys, monkeypatch):
    rows = lines()
    assert main(["watch", log(rows), *ROLES, "--state", "whole.json"]) == 0
    for cut in (1, 2, 100, 650, 900):
        text = "".join(rows[:cut])
        log([text[:-1] if cut == 100 else text], "part.csv")  # a last line without its end
        assert main(["watch", "part.csv", *ROLES, "--state", "part.json"]) == 0
    whole, part = (stored(name) for name in ("whole.json", "part.json"))
    assert whole == part
    capsys.readouterr()
    assert (
        main(["watch", "part.csv", *ROLES, "--state", "part.json", "--fail-on-alarm"]) == 1
    )
    assert capsys.readouterr().out == "No new rows in part.csv.\n"


def test_standard_input_goes_on_after_a_state(log, capsys, monkeypatch):
    rows = lines()
    main(["watch", log(rows), *ROLES, "--state", "whole.json"])
    for part in (rows[:300], rows[300:]):
        text = io.TextIOWrapper(io.BytesIO((HEADER + "".join(part)).encode()))
        monkeypatch.setattr("sys.stdin", text)
        assert main(["watch", "-", *ROLES, "--state", "part.json"]) == 0
    whole, part = (stored(name)["monitor"] for name in ("whole.json", "part.json"))
    assert whole == part


def test_an_alarm_ends_it_with_exit_code_1(log, monkeypatch, capsys):
    monkeypatch.setattr("condgof.cli._watch.CHUNK", 1000)
    assert (
        main(["watch", log(lines()), *ROLES, "--fail-on-alarm", "--state", "s.json"]) == 1
    )
    assert stored("s.json")["monitor"]["rows"] < 900


@pytest.mark.parametrize(
    "roles",
    [
        ["--x", "town", "--y", "y", "--interval", "lo,hi", "--coverage", "0.89"],
        ["--x", "town", "--y", "kind", "--prob", "p", "--classes", "no,yes"],
        ["--x", "x,town", "--y", "y", "--family", "normal", "--param", "mean=mu,std=1"],
        ["--x", "x", "--y", "y", "--model", "mine_watched.py:model"],
        ["--x", "mu", "--y", "y", "--mean", "mu", "--std", "sd"],
    ],
    ids=["interval", "classes", "family", "model", "x is the prediction"],
)
def test_all_kinds_of_predictions(log, roles, tmp_path, capsys):
    (tmp_path / "mine_watched.py").write_text(
        "import condgof as cg\nmodel = cg.models.Normal(mean=lambda x: x['x'], std=1.0)\n"
    )
    rows = lines(300, 300)
    log(rows[:200])
    assert main(["watch", "log.csv", *roles, "--state", "s.json"]) == 0
    log(rows)
    assert main(["watch", "log.csv", *roles, "--state", "s.json"]) == 0
    assert "300 rows, evidence" in capsys.readouterr().out


def test_missing_values_and_quoted_lines(log, capsys):
    rows = lines(60, 60)
    rows[7] = rows[7].replace("Oslo", '"Os,lo"').replace("Rome", '"Ro,me"')
    rows[9] = ",".join(["", *rows[9].split(",")[1:]])
    assert main(["watch", log(rows), *ROLES]) == 2
    assert "--drop-nulls" in capsys.readouterr().err
    assert main(["watch", log(rows), *ROLES, "--drop-nulls"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("59 rows")
    assert "1 row with missing values left out" in text


def test_errors_name_rows_of_the_file(log, capsys, monkeypatch):
    rows = lines(300, 300)
    log(rows[:200])
    assert main(["watch", "log.csv", *ROLES, "--state", "s.json"]) == 0
    rows[204] = ",".join(["", *rows[204].split(",")[1:]])
    log(rows)
    assert main(["watch", "log.csv", *ROLES, "--state", "s.json"]) == 2
    assert (
        "log.csv, row 204 (counted from 0): log.csv, from row 204 on, has missing"
        in capsys.readouterr().err
    )
    assert stored("s.json")["monitor"]["rows"] == 204  # those before it are not lost


def test_rows_in_quotes_are_not_cut(log, monkeypatch, capsys):
    """A row is one row, wherever a block of bytes ends."""
    rows = [row.replace("Rome", '"Ro,me"') for row in lines(200, 200)]
    assert main(["watch", log(rows), *ROLES, "--state", "whole.json"]) == 0
    monkeypatch.setattr("condgof.cli._watch.CHUNK", 17)
    assert main(["watch", "log.csv", *ROLES, "--state", "cut.json"]) == 0
    whole = stored("whole.json")["monitor"]
    cut = stored("cut.json")["monitor"]
    assert whole["rows"] == cut["rows"] == 200
    assert whole == cut


def test_follow_waits_for_rows(log, tmp_path):
    rows = lines(200, 0)
    log(rows[:20])
    command = [
        sys.executable,
        *shlex.split("-m condgof watch log.csv"),
        *ROLES,
        "--follow",
        "--fail-on-alarm",
    ]
    run = subprocess.Popen(
        [*command, "--state", "s.json"], stdout=subprocess.PIPE, text=True
    )
    try:
        for _ in range(300):
            if (tmp_path / "s.json").exists() or run.poll() is not None:
                break
            time.sleep(0.1)
        assert run.poll() is None
        with open("log.csv", "a") as file:
            file.write("".join(rows[20:])[:-5])
        out, _ = run.communicate(timeout=60)
    finally:
        if run.poll() is None:
            run.send_signal(signal.SIGINT)
            run.wait()
    assert run.returncode == 1
    assert "ALARM" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["watch", "no.csv", *ROLES], "No such file"),
        (["watch", "log.csv", *ROLES[:-2]], "--std"),
        (["watch", "log.csv", *ROLES, "--alpha", "2"], "--alpha must be between"),
        (["watch", "log.csv", *ROLES, "--run-length", "0"], "--run-length must be above 1"),
        (["watch", "log.csv", *ROLES, "--state", "no/s.json"], "there is no folder"),
        (["watch", "log.csv", *ROLES, "--state", "log.csv"], "the same file"),
        (["watch", "log.csv", *ROLES, "--state", "odd.json"], "no state of condgof watch"),
        (
            ["watch", "log.csv", *ROLES, "--state", "old.json", "--alpha", "0.01"],
            "alpha=0.05",
        ),
        (
            ["watch", "log.csv", "--x", "town", *ROLES[2:], "--state", "old.json"],
            "and before",
        ),
        (["watch", "short.csv", *ROLES, "--state", "old.json"], "which now has fewer"),
        (["watch", "renamed.csv", *ROLES, "--state", "old.json"], "of other columns than"),
        (["watch", "empty.csv", *ROLES], "is empty"),
    ],
)
def test_errors_are_one_line_with_exit_code_2(log, words, message, capsys, tmp_path):
    rows = lines(60, 60)
    log(rows[:50])
    main(["watch", "log.csv", *ROLES, "--state", "old.json"])
    log(rows)
    log(rows[:10], "short.csv")
    log(rows, "renamed.csv", "x,town,y,mu,sd,lo,hi,q,kind\n")
    (tmp_path / "odd.json").write_text("[1]")
    (tmp_path / "empty.csv").write_text("")
    capsys.readouterr()
    assert main(words) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda row: row.replace("Oslo", '"Oslo').replace("Rome", '"Rome'), "as CSV"),
        (lambda row: row.replace(",", ";", 1), "8 columns, and the first line 9"),
        (lambda row: f"{row.strip()},9\n", "10 columns"),
        (
            lambda row: ",".join([*row.split(",")[:2], "many", *row.split(",")[3:]]),
            "'many'",
        ),
        (
            lambda row: ",".join([*row.split(",")[:4], "-1", *row.split(",")[5:]]),
            "positive",
        ),
        (lambda row: ",".join(["", *row.split(",")[1:]]), "missing values"),
    ],
)
@pytest.mark.parametrize("number", [0, 150])
def test_a_bad_row_spoils_itself_alone(spoil, reason, number, log, capsys):
    """0.2 lost all rows after a quote, without a word."""
    rows = lines(300, 300)
    assert main(["watch", log(rows[:number] + rows[number + 1 :]), *ROLES]) == 0
    without = capsys.readouterr().out
    rows[number] = spoil(rows[number])
    words = ["watch", log(rows), *ROLES, "--state", "s.json"]
    assert main(words) == 2
    message = capsys.readouterr().err
    assert f"row {number} (counted from 0)" in message
    assert reason in message
    assert main([*words, "--on-bad-row", "skip"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith(without.strip())
    assert f"1 bad rows skipped; the first now was row {number}" in printed.out
    assert f"row {number} (counted from 0), is skipped" in printed.err
    assert stored("s.json")["progress"]["read"] == 300
    assert stored("s.json")["monitor"]["rows"] == 299


def test_a_file_in_the_place_of_another(log, capsys):
    """A longer file with the same header was read from the old place on."""
    words = ["watch", "log.csv", *ROLES, "--state", "s.json"]
    log(lines(100, 100, seed=1))
    assert main(words) == 0
    log(lines(200, 200, seed=2))
    assert main(words) == 2
    assert "other rows of log.csv than those that are there now" in capsys.readouterr().err
    log(lines(100, 100, seed=1)[:50])
    assert main(words) == 2
    assert "which now has fewer" in capsys.readouterr().err
    log(lines(100, 100, seed=1) + lines(5, 5))
    assert main(words) == 0


@pytest.mark.parametrize("place", range(9))
def test_damaged_states_exit_2(place, log, capsys):
    words = ["watch", log(lines(60, 60)), *ROLES, "--state", "s.json"]
    assert main(words) == 0
    whole = Path("s.json").read_text()
    damages = [
        whole[: len(whole) // 2],
        "",
        "[]",
        "{}",
        whole.replace('"rows":60', '"rows":-1'),
        whole.replace('"watch_version":2', '"watch_version":1'),
        whole.replace('"offset":', '"offset":1'),
        whole.replace('"checksum":"', '"checksum":"0'),
        "\x00" * 100,
    ]
    assert damages[place] != whole
    Path("s.json").write_text(damages[place])
    capsys.readouterr()
    assert main(words) == 2
    assert "--state s.json" in capsys.readouterr().err


def test_time_is_linear(log, capsys):
    """Rows with quotes, of which 0.2 counted all quotes again for each line."""
    rows = [row.replace("Oslo", '"Oslo"') for row in lines(4000, 4000)]
    log(rows)
    begun = time.monotonic()
    assert main(["watch", "log.csv", *ROLES]) == 0
    once = time.monotonic() - begun
    log(rows * 4)
    begun = time.monotonic()
    assert main(["watch", "log.csv", *ROLES]) == 0
    assert time.monotonic() - begun < 12 * once + 1
    capsys.readouterr()


def test_a_last_line_that_is_being_written(log, capsys):
    rows = lines(50, 50)
    words = ["watch", "log.csv", *ROLES, "--state", "s.json"]
    log([*rows[:49], rows[49][:10]])
    assert main(words) == 0
    assert "is not complete" in capsys.readouterr().err
    log(rows)
    assert main(words) == 0
    assert stored("s.json")["monitor"]["rows"] == 50


def test_numbers_as_text_in_x(log, capsys):
    rows = [f"1{i % 9},5;{row.replace(',', ';')}" for i, row in enumerate(lines(50, 50))]
    log(rows, header=f"c;{HEADER.replace(',', ';')}")
    assert main(["watch", "log.csv", *ROLES, "--x", "c"]) == 2
    assert "'10,5' (a number with a decimal comma) in row 0" in capsys.readouterr().err


def test_two_commands_never_share_a_state(log, capsys):
    """Each would write its rows over those of the other."""
    words = ["watch", log(lines(40)), *ROLES, "--state", "state.json"]
    first = subprocess.Popen(
        [sys.executable, "-m", "condgof", *words, "--follow"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        deadline = time.monotonic() + 60
        while not Path("state.json").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        before = Path("state.json").read_bytes()
        assert main(words) == 2
        assert "state.json is in use by another process" in capsys.readouterr().err
        assert Path("state.json").read_bytes() == before
    finally:
        first.kill()
        first.communicate(timeout=60)
    assert main(words) == 0  # a killed process holds no lock
