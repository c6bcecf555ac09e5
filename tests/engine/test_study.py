"""A study on a cluster gives the numbers of a study here."""

import pytest

import condgof as cg
from condgof.engine import as_workers
from condgof.study import run_study


def test_a_study_on_a_cluster(client, tmp_path):
    methods = {
        "kcsd": "kcsd",
        "mine": lambda model, x, y, **k: cg.kcsd(model, x, y, n_boot=50, **k),
    }
    studies = [
        run_study(
            ["qgm", "lgm"],
            methods,
            [20, 30],
            trials=3,
            engine=engine,
            out=tmp_path / str(i),
        )
        for i, engine in enumerate((1, client))
    ]
    here, there = (
        {at: (o.pvalue, o.statistic) for at, o in study.outcomes.items()}
        for study in studies
    )
    assert there == here
    tables = [(tmp_path / str(i) / "table.json").read_bytes() for i in (0, 1)]
    assert tables[0] == tables[1]


def test_values_come_as_they_are_ready_and_errors_are_raised(client):
    workers = as_workers(client)
    assert dict(workers.completed(lambda i: i * i, range(40))) == {
        i: i * i for i in range(40)
    }

    def fail(i):
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        list(workers.completed(fail, range(40)))
