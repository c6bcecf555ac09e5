"""A study that is killed, also in the middle of a write, and started again."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

# Without `if __name__ == "__main__"`, as people write scripts.
SCRIPT = """
import os, sys
from unittest import mock
import condgof as cg

def slow(model, x, y, *, rng, engine):
    import os, time
    open(f"pids/{os.getpid()}", "w").close()
    time.sleep(0.03)
    return cg.kcsd(model, x, y, n_boot=50, rng=rng, engine=engine)

written = 0
def torn(outcome):
    global written
    written += 1
    line = cg.study.to_line(outcome)
    if written == int(sys.argv[3]):
        with open(f"{sys.argv[1]}/trials.jsonl", "ab") as file:
            file.write(line[: len(line) // 2])
        os.kill(os.getpid(), 9)
    return line
mock.patch("condgof.study._run.to_line", torn).start()

cg.study.run_study(["qgm", "lgm"], {"slow": slow, "kcsd": "kcsd"}, [20, 30], trials=8,
                   out=sys.argv[1], engine=int(sys.argv[2]))
"""
TRIALS = 2 * 2 * 2 * 8


def start(folder, workers, torn_at=-1):
    command = [sys.executable, "script.py", folder, str(workers), str(torn_at)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def end(process, code):
    """Wait for the end, and return what was printed to standard error."""
    _, printed = process.communicate(timeout=60)
    assert process.returncode == code, printed
    return printed


def lines(folder):
    path = Path(folder, "trials.jsonl")
    return path.read_bytes().count(b"\n") if path.exists() else 0


def alive(pid):
    """Whether a process runs; one that nobody has waited for yet is dead all the same."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_killed_again_and_again_it_ends_with_the_same_tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("script.py").write_text(SCRIPT)
    Path("pids").mkdir()
    end(start("whole", 1), 0)
    end(start("killed", 1, torn_at=7), -signal.SIGKILL)
    assert lines("killed") == 6

    before = lines("killed")
    process = start("killed", 2)
    deadline = time.monotonic() + 60
    while lines("killed") < before + 9 and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert "the last line was torn" in end(process, -signal.SIGKILL)
    assert before < lines("killed") < TRIALS

    end(start("killed", 2), 0)
    for name in ("table.txt", "table.csv", "table.json", "table.md"):
        assert Path("killed", name).read_bytes() == Path("whole", name).read_bytes(), name
    assert lines("killed") == TRIALS  # nothing was done twice

    if os.path.isdir("/proc/self"):  # and no worker is left behind
        deadline = time.monotonic() + 10
        pids = [path.name for path in Path("pids").iterdir()]
        while any(map(alive, pids)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert [pid for pid in pids if alive(pid)] == []
