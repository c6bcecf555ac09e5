"""Forms of tables, closed streams, files that are written: the edges of `check`."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from condgof import __version__
from condgof.cli import main

PROGRAM = [sys.executable, "-m", "condgof"]
ROLES = ["--x", "x", "--y", "y", "--mean", "m", "--std", "s"]
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(40, 3)).round(3)


def write(path, delimiter=",", decimal=".", head="x,y,m,s", before="", end="\n"):
    """Write a table in some form of CSV."""
    lines = [head.replace(",", delimiter)]
    for x, y, m in ROWS:
        numbers = (f"{value}".replace(".", decimal) for value in (x, y, m, 1.5))
        lines.append(delimiter.join(numbers))
    Path(path).write_bytes((before + end.join(lines) + end).encode())
    return str(path)


def answer(capsys, path, *words):
    code = main(["check", path, *ROLES, "--quiet", *words])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return printed.out


@pytest.fixture
def plain(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    return answer(capsys, write("plain.csv"))


class TestForms:
    @pytest.mark.parametrize(
        ("name", "form", "words"),
        [
            ("t.csv", {"delimiter": ";"}, []),
            ("t.csv", {"delimiter": "\t"}, []),
            ("t.csv", {"delimiter": "|"}, []),
            ("t.tsv", {"delimiter": "\t"}, []),
            ("t.csv", {"delimiter": ";", "decimal": ","}, ["--decimal", ","]),
            ("t.csv", {"delimiter": "~"}, ["--delimiter", "~"]),
            ("t.csv", {"delimiter": "\t"}, ["--delimiter", "\\t"]),
            ("t.csv", {"head": " x , y,m ,s "}, []),
            ("t.csv", {"before": "\ufeff"}, []),
            ("t.csv", {"before": "\ufeff", "delimiter": ";", "end": "\r\n"}, []),
        ],
    )
    def test_the_answer_is_that_of_plain_csv(self, plain, capsys, name, form, words):
        assert answer(capsys, write(name, **form), *words) == plain

    def test_standard_input(self, plain, capsys):
        """And packages that take long to import, and that no check needs, are not."""
        done = subprocess.run(
            [sys.executable, "-X", "importtime", *PROGRAM[1:], "check", "-", *ROLES, "-q"],
            input=Path(write("t.csv", delimiter=";")).read_bytes(),
            capture_output=True,
            check=True,
        )
        assert done.stdout.decode() == plain
        imported = {
            line.rpartition("|")[2].strip() for line in done.stderr.decode().split("\n")
        }
        assert "condgof.cli" in imported
        assert imported & {"pandas", "scipy.stats", "matplotlib", "sklearn"} == set()

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--delimiter", ",,"], "--delimiter must be one character, got ',,'"),
            (["--decimal", ""], "--decimal must be one character"),
            (["--delimiter", ",", "--decimal", ","], "are both ','"),
        ],
    )
    def test_marks(self, plain, capsys, words, message):
        assert main(["check", "plain.csv", *ROLES, *words]) == 2
        assert message in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("value", "what"),
        [
            ("1,5", "a number with a decimal comma"),
            ("12,000", "a number with separators of thousands"),
            ("5%", "a percentage"),
            ("$5.20", "an amount of money"),
            ("01/02/2020", "a date"),
        ],
    )
    def test_numbers_as_text(self, plain, capsys, value, what):
        lines = Path("plain.csv").read_text().splitlines()
        odd = [f'"{value}",{line}' for line in lines[1:]]
        Path("odd.csv").write_text("\n".join([f"c,{lines[0]}", *odd]))
        words = ["check", "odd.csv", *ROLES, "--x", "c"]
        assert main(words) == 2
        message = capsys.readouterr().err
        assert f"'{value}' ({what}) in row 0" in message
        assert "--categorical c" in message
        assert ("--decimal ," in message) == (value == "1,5")

    def test_a_link_to_nothing(self, plain, capsys):
        os.symlink("nowhere.csv", "link.csv")
        assert main(["check", "link.csv", *ROLES]) == 2
        assert "link to a file that is not there" in capsys.readouterr().err


class TestDraws:
    def test_a_pattern_leaves_out_columns_with_another_role(self, plain, capsys):
        """Of a table with the columns displacement, d1, …, x is no draw of y."""
        rng = np.random.default_rng(1)
        names = ["displacement", "dose", "day", "y", *(f"d{i}" for i in range(20))]
        rows = rng.normal(size=(60, len(names)))
        rows[:, 2] = np.arange(60) % 3
        lines = [",".join(names), *(",".join(map(str, row)) for row in rows)]
        Path("d.csv").write_text("\n".join(lines))
        words = ["check", "d.csv", "--x", "displacement,dose", "--y", "y", "--by", "day"]
        outputs = []
        for draws in ("d*", ",".join(names[4:])):
            assert main([*words, "--draws", draws, "--json"]) == 0
            outputs.append(capsys.readouterr().out.partition('"result"')[2])
        assert outputs[0] == outputs[1]


class TestFiles:
    def test_two_outputs_of_one_name(self, plain, capsys):
        for second in ("out.csv", "./out.csv", str(Path("out.csv").absolute())):
            words = ["--report", "out.csv", "--repair", second]
            assert main(["check", "plain.csv", *ROLES, *words]) == 2
            assert "--report and --repair are the same file" in capsys.readouterr().err
        assert not Path("out.csv").exists()

    def test_a_check_is_printed_before_its_report_is_written(self, plain, capsys):
        words = ["check", "plain.csv", *ROLES, "--quiet", "--report", "/dev/full"]
        assert main(words) == 2
        printed = capsys.readouterr()
        assert printed.out == plain
        assert "No space left on device" in printed.err


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"condgof {__version__}\n"


class TestProcess:
    @pytest.mark.parametrize(
        ("redirection", "code", "out", "err"),
        [
            ("2>&-", 0, True, ""),
            ("<&-", 0, True, ""),
            (">&-", 2, False, "it is closed"),
            ("> /dev/full", 2, False, "No space left on device"),
            ("2>&- >&-", 2, False, ""),
        ],
    )
    def test_closed_streams(self, plain, redirection, code, out, err):
        command = " ".join([*PROGRAM, "check", "plain.csv", *ROLES, "--quiet"])
        done = subprocess.run(
            ["sh", "-c", f"{command} {redirection}"], capture_output=True, text=True
        )
        assert done.returncode == code
        assert bool(done.stdout) == out
        assert err in done.stderr
        assert "Traceback" not in done.stderr

    def test_closed_standard_input_as_table(self, plain):
        command = " ".join([*PROGRAM, "check", "-", *ROLES])
        done = subprocess.run(
            ["sh", "-c", f"{command} <&-"], capture_output=True, text=True
        )
        assert done.returncode == 2
        assert "Standard input is closed" in done.stderr

    def test_a_model_that_raises_what_is_no_error(self, plain):
        Path("odd.py").write_text(
            "import condgof\n"
            "class Odd(BaseException): pass\n"
            "def law(x):\n"
            "    raise Odd('no')\n"
            "model = condgof.models.Model(law)\n"
        )
        words = ["check", "plain.csv", "--x", "x", "--y", "y", "--model", "odd.py:model"]
        done = subprocess.run([*PROGRAM, *words], capture_output=True, text=True)
        assert done.returncode == 2
        assert "failed (odd.py, line 4): Odd: no." in done.stderr

    def test_ctrl_c_in_a_model(self, plain):
        Path("slow.py").write_text(
            "import condgof, time\n"
            "def law(x):\n"
            "    print('begun', flush=True)\n"
            "    time.sleep(60)\n"
            "model = condgof.models.Model(law)\n"
        )
        words = ["check", "plain.csv", "--x", "x", "--y", "y", "--model", "slow.py:model"]
        with subprocess.Popen([*PROGRAM, *words], stderr=subprocess.PIPE) as process:
            while b"begun" not in process.stderr.readline():
                pass
            begun = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=30) == 130
        assert time.monotonic() - begun < 10
