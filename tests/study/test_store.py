"""The file of trials: torn lines, lines that make no sense."""

import pytest

import condgof as cg
from condgof.study import Outcome, Trial, from_line, misfit_of, run_study, to_line

# Names of more than one byte a letter: a tear may go through one.
NAME = "größe=½ 𝄞"


@pytest.fixture
def case():
    return misfit_of(cg.models.Normal(0.0, 1.0), [1.0, 2.0, 3.0], "shift", 0.5, name=NAME)


def echo(model, x, y, *, rng, engine):
    return cg.GofResult(
        statistic=float(y.sum()), pvalue=(rng % 100 + 1) / 101, method="echo", n=len(y)
    )


@pytest.fixture
def run(capsys):
    """Run a study, and return it with the lines that it prints of its folder."""

    def run_and_listen(case, out):
        study = run_study(case, echo, 5, trials=3, out=out, engine=1)
        lines = capsys.readouterr().err.splitlines()
        return study, [line for line in lines if "condgof: " in line]

    return run_and_listen


def test_a_torn_last_line_is_cut_off_and_done_again(tmp_path, case, run):
    """The file is cut at every byte of its last line, and padded as after a crash."""
    study, printed = run(case, tmp_path)
    assert printed == []
    path = tmp_path / "trials.jsonl"
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    assert len(lines) == 3
    first = len(lines[0]) + len(lines[1])
    for size in range(first, len(whole)):
        for padding in (b"", b"\0" * 7):
            path.write_bytes(whole[:size] + padding)
            again, printed = run(case, tmp_path)
            ends_well = not padding and size == first
            assert len(printed) == (0 if ends_well else 1), (size, padding)
            if printed:
                assert "the last line was torn" in printed[0]
            assert str(again) == str(study)
            assert strip(path.read_bytes()) == strip(whole)


def strip(data):
    """Drop the times, which differ from run to run."""
    return [line.rpartition(b', "seconds"')[0] for line in data.splitlines()]


#: The beginning of a line that could be read.
AT = b'{"problem": "a", "method": "m", '


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\0\0\0",
        b"\xff\xfe",
        b"[1]",
        b"nonsense",
        b"{}",
        b"3",
        b"[" * 5000,
        AT + b'"n": 5, "trial": 0, "pvalue": NaN, "statistic": 1, "seconds": 1}',
        AT + b'"n": 5, "trial": 0, "pvalue": 2, "statistic": 1, "seconds": 1}',
        AT + b'"n": 5, "trial": 0, "pvalue": 0.5, "statistic": 1}',
        AT + b'"n": "5", "trial": 0, "pvalue": 0.5, "statistic": 1, "seconds": 1}',
        AT + b'"n": 5, "trial": true, "pvalue": 0.5, "statistic": 1, "seconds": 1}',
    ],
)
def test_a_line_in_the_middle_that_makes_no_sense(tmp_path, case, line, run):
    study, _ = run(case, tmp_path)
    path = tmp_path / "trials.jsonl"
    lines = path.read_bytes().splitlines()
    lines[1] = line
    path.write_bytes(b"\n".join(lines) + b"\n")
    again, printed = run(case, tmp_path)
    assert len(printed) == 1
    assert "line 2 cannot be read" in printed[0]
    assert str(again) == str(study)
    assert len(path.read_bytes().splitlines()) == 4


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome(Trial("a\nb", 5, NAME, 3), 0.25, -1.5, 0.125),
        Outcome(Trial("a", 5, "b", 0), 1.0, None, 0.0),
        Outcome(Trial("a", 5, "b", 0), 0.5, 2.0, 0.0, note="Error: \ud800 \u2028 broken"),
    ],
)
def test_lines_are_read_as_they_were_written(outcome):
    line = to_line(outcome)
    assert line.count(b"\n") == 1
    back = from_line(line)
    assert back.at == outcome.at
    assert back.pvalue == outcome.pvalue
    assert back.statistic == outcome.statistic
    assert back.seconds == outcome.seconds
