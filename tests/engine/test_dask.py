"""A Dask cluster: the p-value of the local run, errors as they are, workers that die."""

import os
import pickle
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import KilledWorker

import condgof as cg
from condgof.engine import ATTEMPTS, Cluster, SentTask, Threads, as_engine
from condgof.errors import InputTypeError, NonFiniteError, NumericalError, ShapeError
from condgof.null import multinomial_weights
from condgof.residuals import ScoreResiduals
from condgof.sample import Seed, Use
from condgof.stein import Piece

N = 18_000  # five pieces, the last one not full
AT = [[2.0, 0.0], [0.0, 0.0], [-1.0, 1.0]]


def make_table(n=N):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, n))
    mu = a - b
    sd = np.exp(0.3 * b)
    y = mu + 0.008 * a**2 + sd * rng.normal(size=n)
    return pa.table({"a": a, "b": b, "y": y, "mu": mu, "sd": sd, "s": (mu - y) / sd**2})


def arrays(n=N):
    table = make_table(n)
    x = np.column_stack([table["a"], table["b"]])
    y = np.asarray(table["y"])
    return cg.from_scores(np.asarray(table["s"])), x, y


def write(table, folder):
    folder.mkdir(exist_ok=True)
    half = len(table) // 2 + 17
    pq.write_table(table.slice(0, half), folder / "1.parquet", row_group_size=5000)
    pq.write_table(table.slice(half), folder / "2.parquet", row_group_size=7000)
    return cg.scan(folder / "*.parquet", x=["a", "b"], y="y")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write(make_table(), tmp_path_factory.mktemp("source"))


def assert_same(far, near):
    assert far.pvalue == near.pvalue
    assert far.statistic == pytest.approx(near.statistic, rel=1e-8)
    np.testing.assert_allclose(far.null_distribution, near.null_distribution, rtol=1e-8)
    assert (far.n, far.solver) == (near.n, near.solver)


@pytest.mark.parametrize("null", ["wild", "multinomial", "spectral"])
def test_arrays(client, null):
    options = {"null": null, "solver": "lowrank", "rng": 3, "n_boot": 200}
    near, far = (cg.kcsd(*arrays(), engine=engine, **options) for engine in (None, client))
    assert_same(far, near)
    assert 0.005 < near.pvalue < 1  # no p-value that any result would have


@pytest.mark.parametrize("null", ["wild", "multinomial"])
def test_the_exact_solver(client, null):
    options = {"null": null, "solver": "exact", "rng": 3, "n_boot": 200}
    near, far = (
        cg.kcsd(*arrays(2000), engine=engine, **options) for engine in (None, client)
    )
    assert_same(far, near)


@pytest.mark.parametrize("n", [1500, 1501])
def test_the_baselines(client, n):
    _, x, y = arrays(n)
    for test in (cg.mmd, lambda *a, **k: cg.zheng(*a, null="wild", **k)):
        near, far = (
            test(functional(), x, y, rng=3, n_boot=200, engine=engine)
            for engine in (None, client)
        )
        assert_same(far, near)


def functional():
    return cg.models.Normal(
        mean=lambda x: x[:, 0] - x[:, 1], std=lambda x: np.exp(0.3 * x[:, 1])
    )


@pytest.mark.parametrize(
    "model",
    [cg.columns(mean="mu", std="sd"), arrays()[0], functional()],
    ids=["columns", "bound", "functional"],
)
def test_a_source(client, source, model):
    near, far = (
        cg.kcsd(model, source, engine=engine, rng=5, n_boot=200)
        for engine in (None, client)
    )
    assert_same(far, near)


def test_fscd_on_a_source(client, source):
    options = {"locations": "random", "rng": 5, "n_boot": 100, "n_locations": 1}
    near, far = (
        cg.fscd(cg.columns(score="s"), source, engine=engine, **options)
        for engine in (None, client)
    )
    assert_same(far, near)


@pytest.mark.parametrize("function", [cg.witness, cg.power_criterion])
@pytest.mark.parametrize("solver", ["exact", "lowrank"])
def test_maps(client, function, solver):
    sample = arrays(3000 if solver == "exact" else N)
    near, far = (
        function(*sample, at=AT, engine=engine, solver=solver, rng=1)
        for engine in (None, client)
    )
    np.testing.assert_allclose(far, near, rtol=1e-8)


def test_map_on_a_source(client, source):
    model = cg.columns(mean="mu", std="sd")
    near, far = (
        cg.power_criterion(model, source, at=AT, engine=engine, rng=1)
        for engine in (None, client)
    )
    np.testing.assert_allclose(far, near, rtol=1e-8)


def test_values_come_in_order_and_few_are_out(client):
    started = []

    def items():
        for i in range(40):
            started.append(i)
            yield i

    def square(i):
        time.sleep(0.05 if i == 0 else 0.0)  # the first task ends last
        return i * i

    values = Cluster(client).map(square, items())
    assert next(values) == 0
    assert len(started) < 20
    assert list(values) == [i * i for i in range(1, 40)]


class TestErrors:
    def test_a_bad_row_that_a_worker_finds(self, client, tmp_path):
        table = make_table()
        drawn = Seed.of(0).stream(Use.LANDMARKS, 1).choice(N, 4096, replace=False)
        row = int(np.setdiff1d(np.arange(12_000, N), drawn)[0])
        values = table["sd"].to_pylist()
        values[row] = None
        table = table.set_column(table.column_names.index("sd"), "sd", pa.array(values))
        with pytest.raises(
            NonFiniteError, match=r"'sd' of .*2.parquet is null in row"
        ) as caught:
            cg.kcsd(
                cg.columns(mean="mu", std="sd"),
                write(table, tmp_path),
                rng=0,
                engine=client,
            )
        assert caught.value.first_row == row

    def test_errors_of_a_model_arrive(self, client, source):
        here = os.getpid()

        def score(y, x):
            if os.getpid() != here:
                raise KeyError("far away")
            return -y

        with pytest.raises(cg.errors.ModelError, match="KeyError: 'far away'"):
            cg.kcsd(cg.from_score(score), source, rng=0, engine=client)

    def test_scores_of_a_wrong_shape(self, client, source):
        here = os.getpid()
        model = cg.from_score(lambda y, x: -y if os.getpid() == here else -y[:-1])
        with pytest.raises(ShapeError, match="shape"):
            cg.kcsd(model, source, rng=0, engine=client)

    def test_overflow(self, client):
        model, x, y = arrays(500)
        with pytest.raises(NumericalError, match="overflow"):
            cg.kcsd(
                cg.from_scores(1e200 * model.score(y)),
                x,
                y,
                solver="exact",
                engine=client,
                rng=0,
            )

    def test_an_asynchronous_client(self):
        class Asynchronous:
            scatter = submit = scheduler_info = None
            asynchronous = True

        with pytest.raises(InputTypeError, match="asynchronous"):
            as_engine(Asynchronous())


def test_rows_are_sent_in_spans_that_dask_does_not_warn_about():
    residuals = ScoreResiduals(u=np.zeros((30_000, 1)), scores=np.zeros((30_000, 1)))
    wide = Piece(x=np.zeros((30_000, 40)), residuals=residuals)
    parts = [make() for make in wide.spans(64 * 4096).parts]
    assert [(part.start, part.stop) for part in parts] == [
        (0, 5 * 4096),
        (5 * 4096, 30_000),
    ]
    assert [make().start for make in wide.spans(4096).parts] == list(range(0, 30_000, 4096))
    assert len(pickle.dumps(parts[0])) < 10**7


def test_a_task_that_kills_every_worker_ends_in_an_error():
    class Future:
        status = "error"

        def result(self):
            raise KilledWorker("task", SimpleNamespace(address="nowhere"), 3)

        def cancel(self):
            pass

    class Stub:
        status = "running"
        submitted = 0

        def wait_for_workers(self, count):
            pass

        def scatter(self, task, **options):
            return task

        def submit(self, *args, **options):
            self.submitted += 1
            return Future()

        def nthreads(self):
            return {"worker": 1}

        def cancel(self, futures):
            self.cancelled = len(futures)

    stub = Stub()
    with pytest.raises(KilledWorker):
        list(Cluster(stub).map(abs, [1]))
    assert (stub.submitted, stub.cancelled) == (1 + ATTEMPTS, 1)


def test_engines(client):
    assert as_engine(client) == Cluster(client)
    assert as_engine(as_engine(client)) == Cluster(client)
    assert as_engine(client).remote
    assert isinstance(as_engine(client).local, Threads)


def test_weights_that_were_kept_are_not_sent():
    import cloudpickle

    weights = multinomial_weights(5000, 100, Seed.of(1)).keeping(2**26)
    sent = cloudpickle.dumps(weights)
    assert weights.kept is not None
    assert len(sent) < weights.kept.nbytes / 20
    again = pickle.loads(sent)
    assert again.kept is None
    np.testing.assert_array_equal(again.block(300, 700), weights.block(300, 700))


def kill_when_busy(folder, how_many, killed):
    """Kill workers that have left their mark, as soon as there are enough of them."""
    while not killed:
        marks = sorted({int(path.name.split("-")[0]) for path in folder.iterdir()})
        if len(marks) >= how_many and len(list(folder.iterdir())) >= 4:
            for pid in marks[:how_many]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
        time.sleep(0.01)


def test_workers_that_are_killed_cost_time_not_the_result(
    client, source, tmp_path, monkeypatch
):
    """With all of them gone the task that was sent is lost too, and is sent again."""
    client.wait_for_workers(2)
    resend = SentTask.resend
    calls = []

    def counted(self, waiting):
        calls.append(1)
        resend(self, waiting)

    monkeypatch.setattr(SentTask, "resend", counted)
    here = os.getpid()
    folder = str(tmp_path)
    pieces = -(-N // 4096)

    def score(y, x):
        if os.getpid() != here:
            open(f"{folder}/{os.getpid()}-{time.monotonic_ns()}", "w").close()
            time.sleep(0.2)
        mean = x[:, :1] - x[:, 1:]
        std = np.exp(0.3 * x[:, 1:])
        return (mean - y.reshape(-1, 1)) / std**2

    near = cg.kcsd(cg.from_score(score), source, rng=5, n_boot=200)
    killed = []
    killer = threading.Thread(target=kill_when_busy, args=(tmp_path, 2, killed))
    killer.start()
    try:
        far = cg.kcsd(cg.from_score(score), source, rng=5, n_boot=200, engine=client)
    finally:
        dead = list(killed)
        killed.append(0)  # ends the thread, also where it has killed nobody
        killer.join()
    assert_same(far, near)
    assert len(dead) == 2
    assert calls
    assert len(list(tmp_path.iterdir())) > pieces  # some pieces were computed twice


@pytest.mark.parametrize("test", [cg.kcsd, cg.adaptive])
def test_weights_travel_with_their_rows(client, source, test):
    weights = np.clip(np.linspace(-0.2, 2.0, N), 0.0, None)  # a tenth of the rows have 0
    near, far = (
        test(
            cg.columns(mean="mu", std="sd"),
            source,
            weights=weights,
            engine=engine,
            rng=5,
            n_boot=100,
        )
        for engine in (None, client)
    )
    assert_same(far, near)
    assert near.n == np.count_nonzero(weights)
