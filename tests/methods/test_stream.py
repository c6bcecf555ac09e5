"""Streams: the same result for any files, formats and chunks; errors that say where."""

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import condgof as cg
from condgof.errors import (
    CondgofError,
    InputError,
    InputTypeError,
    NonFiniteError,
    ShapeError,
)
from levels import assert_not_too_small

N = 10_000


def make_table(n=N, wrong=0.0, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    mu = a - b
    sd = np.exp(0.3 * b)
    y = mu + wrong * a**2 + sd * rng.normal(size=n)
    return pa.table({"a": a, "b": b, "y": y, "mu": mu, "sd": sd, "s": (mu - y) / sd**2})


TABLE = make_table()
MODEL = cg.columns(mean="mu", std="sd")


def write(table, folder, files=1, form="parquet", rows=None):
    folder.mkdir()
    cuts = np.linspace(0, len(table), files + 1).astype(int)
    for i, (start, stop) in enumerate(itertools.pairwise(cuts)):
        part = table.slice(start, stop - start)
        path = folder / f"part-{i:03}.{form}"
        if form == "parquet":
            pq.write_table(part, path, row_group_size=rows)
        elif form == "csv":
            pyarrow.csv.write_csv(part, path)
        else:
            pyarrow.feather.write_feather(part, path, chunksize=rows)
    return folder / f"*.{form}"


@pytest.fixture(scope="module")
def one_file(tmp_path_factory):
    return write(TABLE, tmp_path_factory.mktemp("one") / "files")


def scan(path, **names):
    return cg.scan(path, **({"x": ["a", "b"], "y": "y"} | names))


@pytest.fixture(scope="module")
def reference(one_file):
    return cg.kcsd(MODEL, scan(one_file), rng=5, solver="lowrank")


@pytest.mark.parametrize(
    ("files", "form", "rows"),
    [
        (50, "parquet", None),
        (1, "parquet", 777),
        (3, "csv", None),
        (2, "feather", 1000),
        (7, "parquet", 10),
    ],
)
def test_any_files_formats_and_chunks(files, form, rows, tmp_path, reference):
    path = write(TABLE, tmp_path / "files", files, form, rows)
    result = cg.kcsd(MODEL, scan(path), rng=5, solver="lowrank")
    assert result.pvalue == reference.pvalue
    assert result.statistic == pytest.approx(reference.statistic, rel=1e-8)
    assert result.solver == "lowrank"


def test_float32_files(tmp_path):
    single = pa.table(
        {name: np.asarray(TABLE[name], dtype=np.float32) for name in TABLE.column_names}
    )
    results = [
        cg.kcsd(MODEL, scan(write(single, tmp_path / str(files), files)), rng=5)
        for files in (1, 9)
    ]
    assert results[0].pvalue == results[1].pvalue
    assert results[0].statistic == pytest.approx(results[1].statistic, rel=1e-8)


@pytest.mark.parametrize("engine", [1, 3])
def test_any_threads(engine, one_file, reference):
    result = cg.kcsd(MODEL, scan(one_file), rng=5, engine=engine)
    assert (result.pvalue, result.statistic) == (reference.pvalue, reference.statistic)


def test_ways_to_give_the_model_agree(one_file, reference):
    source = scan(one_file)
    mean, std, s = (np.asarray(TABLE[name]) for name in ("mu", "sd", "s"))
    functional = cg.models.Normal(
        mean=lambda x: x[:, 0] - x[:, 1], std=lambda x: np.exp(0.3 * x[:, 1])
    )
    for model in (cg.columns(score="s"), (mean, std), cg.from_scores(s), functional):
        result = cg.kcsd(model, source, rng=5, solver="lowrank")
        assert result.pvalue == reference.pvalue
        assert result.statistic == pytest.approx(reference.statistic, rel=1e-8)


def test_close_to_the_same_sample_in_memory(one_file, reference):
    """Signs belong to blocks of rows: p-values differ by the noise of 1,000 draws."""
    x = np.column_stack([TABLE["a"], TABLE["b"]])
    kernels = {"kernel_x": reference.kernel_x, "kernel_y": reference.kernel_y}
    s = np.asarray(TABLE["s"])
    y = np.asarray(TABLE["y"])
    exact = cg.kcsd(cg.from_scores(s), x, y, rng=5, solver="exact", **kernels)
    assert reference.statistic == pytest.approx(
        exact.statistic, abs=0.02 * exact.null_distribution.std()
    )
    assert abs(reference.pvalue - exact.pvalue) <= 4 * np.sqrt(2 * 0.25 / 1001)


def test_a_small_source_is_read_and_tested_exactly(tmp_path):
    table = make_table(400)
    source = scan(write(table, tmp_path / "files", 3))
    result = cg.kcsd(MODEL, source, rng=2)
    x = np.column_stack([table["a"], table["b"]])
    again = cg.kcsd(
        cg.from_scores(np.asarray(table["s"])), x, np.asarray(table["y"]), rng=2
    )
    assert (result.solver, result.n) == ("exact", 400)
    assert result.pvalue == again.pvalue
    assert result.statistic == pytest.approx(again.statistic, rel=1e-9)


def test_the_other_tests_and_maps(one_file, tmp_path):
    wrong = scan(write(make_table(wrong=0.3), tmp_path / "wrong", 4))
    for locations in ("optimize", "random", [[2.0, 0.0], [0.0, 0.0]]):
        result = cg.fscd(
            MODEL, wrong, locations=locations, rng=1, n_boot=300, solver="lowrank"
        )
        assert result.reject(0.01)
        assert result.n == (N - 2000 if locations == "optimize" else N)
    assert cg.ksd(cg.columns(score="s"), wrong, rng=1, n_boot=300, solver="lowrank").reject(
        0.01
    )
    assert not cg.ksd(
        cg.columns(score="s"), scan(one_file), rng=1, n_boot=300, solver="lowrank"
    ).reject(0.001)
    at = [[2.0, 0.0], [0.0, 0.0]]
    for function in (cg.witness, cg.power_criterion):
        streamed = function(MODEL, wrong, at=at, rng=1)
        again = function(
            MODEL,
            scan(write(make_table(wrong=0.3), tmp_path / function.__name__, 1)),
            at=at,
            rng=1,
        )
        np.testing.assert_allclose(streamed, again, rtol=1e-8)
        assert (streamed > 0).all()


def test_rows_left_out_count_for_nothing(one_file):
    """Optimised FSCD is FSCD at these locations on a stream without the training rows."""
    result = cg.fscd(MODEL, scan(one_file), rng=4, n_boot=200, solver="lowrank")
    from condgof.sample import Seed, Use

    train = Seed.of(4).stream(Use.SPLIT).choice(N, 2000, replace=False)
    test = np.setdiff1d(np.arange(N), train)
    x = np.column_stack([TABLE["a"], TABLE["b"]])[test]
    kernels = {"kernel_x": result.kernel_x, "kernel_y": result.kernel_y}
    s, y = (np.asarray(TABLE[name])[test] for name in ("s", "y"))
    exact = cg.fscd(
        cg.from_scores(s),
        x,
        y,
        locations=result.locations,
        solver="exact",
        n_boot=200,
        rng=0,
        **kernels,
    )
    sd = exact.null_distribution.std()
    assert result.statistic == pytest.approx(exact.statistic, abs=0.03 * sd)
    assert result.null_distribution.std() == pytest.approx(sd, rel=0.35)


@pytest.mark.filterwarnings(
    "ignore::condgof.errors.DependenceWarning"
)  # which is for rows sorted by y too
def test_sorted_files_keep_the_level(tmp_path):
    """The subsample is uniform over row numbers, never the head of a file."""
    pvalues = []
    for trial in range(8):
        table = make_table(6000, seed=trial).sort_by("y")
        source = scan(write(table, tmp_path / str(trial), 3))
        result = cg.kcsd(MODEL, source, rng=trial, n_boot=199, solver="lowrank")
        pvalues.append(result.pvalue)
    assert_not_too_small(pvalues)


class TestErrors:
    def test_a_null_names_file_column_and_row(self, tmp_path):
        values = TABLE["sd"].to_pylist()
        values[6_665] = None
        table = TABLE.set_column(TABLE.column_names.index("sd"), "sd", pa.array(values))
        source = scan(write(table, tmp_path / "files", 3))
        with pytest.raises(
            NonFiniteError, match=r"'sd' of .*part-001.parquet is null in row 3332"
        ) as caught:
            cg.kcsd(MODEL, source, rng=0)
        assert caught.value.first_row == 6_665

    @pytest.mark.parametrize(
        ("run", "error", "message"),
        [
            (lambda s: cg.kcsd(MODEL, s, np.ones(N)), InputError, "brings its own y"),
            (lambda s: cg.kcsd(MODEL, s, solver="exact"), InputError, "in memory"),
            (
                lambda s: cg.kcsd(cg.from_scores(np.ones(5)), s),
                ShapeError,
                "bound to 5 rows and the source has 10000",
            ),
            (lambda s: cg.kcsd(cg.columns(mean="mu", std="sdd"), s), CondgofError, "'sdd'"),
            (lambda s: cg.kcsd(MODEL, np.ones(9)), InputTypeError, "y is missing"),
            (
                lambda s: cg.kcsd(MODEL, np.arange(9.0), np.arange(9.0)),
                InputTypeError,
                "scan",
            ),
            (
                lambda s: cg.kcsd(cg.columns(mean="mu", std="a"), s),
                InputError,
                "std must be positive",
            ),
            (lambda s: cg.fssd(MODEL, s), InputTypeError, "source"),
        ],
    )
    def test_calls(self, run, error, message, one_file):
        with pytest.raises(error, match=message):
            run(scan(one_file))

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"mean": "m"},
            {"mean": ["a", "b"], "std": "s"},
            {"mean": "m", "std": "s", "score": "g"},
        ],
    )
    def test_columns(self, options):
        with pytest.raises(InputError, match="columns needs"):
            cg.columns(**options)
        with pytest.raises(InputTypeError, match="name of a column"):
            cg.columns(mean=3, std="sd")


def test_progress_only_on_a_terminal(one_file, capsys, monkeypatch):
    cg.kcsd(MODEL, scan(one_file), rng=0, n_boot=5, solver="lowrank")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    cg.kcsd(MODEL, scan(one_file), rng=0, n_boot=5, solver="lowrank")
    assert "condgof" in capsys.readouterr().err
