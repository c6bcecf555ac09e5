"""The adaptive test by low rank: against exact draws, on streams, and from some rows."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import condgof as cg
from condgof.study import problem
from levels import assert_uniform


def statistics(result):
    return np.array([row["statistic"] for row in result.details["scales"]])


# The limit serves from 4,096 rows on; two columns of y near single locations need them all.
@pytest.mark.parametrize(
    ("name", "n", "seed", "n_boot"),
    [("true-mixture", 1500, 1, 999), ("hgm", 700, 1, 999), ("true-pair", 4096, 2, 299)],
)
def test_the_limit_against_redraws(name, n, seed, n_boot):
    """The diagonal is replaced by its mean: statistics move by √n, and spread by n."""
    case = problem(name)
    x, y = case.draw(n, np.random.default_rng(seed))
    exact, low = (
        cg.adaptive(case.p, x, y, rng=3, n_boot=n_boot, solver=solver)
        for solver in ("exact", "lowrank")
    )
    assert (exact.solver, low.solver) == ("exact", "lowrank")
    assert (exact.null, low.null) == ("model", "Gaussian limit")
    # Four standard deviations of the noise of twice n_boot draws, and what the limit is off
    # at this n.
    within = 4 * np.sqrt(2 * 0.25 / (n_boot + 1)) + 0.03
    assert abs(low.pvalue - exact.pvalue) <= within
    for family, p in exact.details["families"].items():
        assert low.details["families"][family] == pytest.approx(p, abs=within)


@pytest.mark.parametrize("scores", [False, True])
def test_the_level_of_many_rows(scores):
    """From the limit, and by signs of blocks."""
    case = problem("true-hetero")
    pvalues = []
    for trial in range(6):
        x, y = case.draw(4100, np.random.default_rng([trial, 100]))
        options = {"standardize": "none"} if scores else {}
        result = cg.adaptive(case.p, x, y, rng=trial, n_boot=99, engine=1, **options)
        assert result.null == ("wild bootstrap" if scores else "Gaussian limit")
        pvalues.append(result.pvalue)
    assert_uniform(pvalues, n_boot=99)


N = 9_000
MODEL = cg.columns(mean="mu", std="sd")
OPTIONS = {"rng": 5, "n_boot": 150}


def make_table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    mu = a - b
    sd = np.exp(0.3 * b)
    y = mu + sd * rng.normal(size=n)
    return pa.table({"a": a, "b": b, "y": y, "mu": mu, "sd": sd, "s": (mu - y) / sd**2})


def write(table, folder, files=1, rows=None):
    folder.mkdir()
    size = -(-len(table) // files)
    for i in range(files):
        pq.write_table(
            table.slice(i * size, size), folder / f"{i:03}.parquet", row_group_size=rows
        )
    return cg.scan(folder / "*.parquet", x=["a", "b"], y="y")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write(make_table(), tmp_path_factory.mktemp("adaptive") / "one")


class TestStreams:
    @pytest.fixture
    def reference(self, source):
        return cg.adaptive(MODEL, source, engine=1, **OPTIONS)

    def test_any_files_and_threads(self, tmp_path, reference):
        assert reference.null == "Gaussian limit"
        assert reference.details["standardized_by"] == "normal scores of the model's CDF"
        assert 0.01 < reference.pvalue < 1
        for number, (files, rows, engine) in enumerate(
            [(7, None, 1), (1, 777, 3), (3, 100, 2)]
        ):
            other = write(make_table(), tmp_path / str(number), files, rows)
            result = cg.adaptive(MODEL, other, engine=engine, **OPTIONS)
            assert result.pvalue == reference.pvalue
            assert result.statistic == pytest.approx(reference.statistic, rel=1e-8)
            np.testing.assert_allclose(statistics(result), statistics(reference), rtol=1e-8)

    def test_ways_to_give_the_model(self, source, reference):
        table = make_table()
        bound = tuple(np.asarray(table[name]) for name in ("mu", "sd"))
        functional = cg.models.Normal(
            mean=lambda x: x[:, 0] - x[:, 1], std=lambda x: np.exp(0.3 * x[:, 1])
        )
        for model in (bound, functional):
            result = cg.adaptive(model, source, **OPTIONS)
            assert result.pvalue == reference.pvalue
            assert result.statistic == pytest.approx(reference.statistic, rel=1e-8)
        scores = cg.adaptive(cg.columns(score="s"), source, **OPTIONS)
        again = cg.adaptive(MODEL, source, standardize="none", **OPTIONS)
        # Scores alone have no predictions, which are functions of x too.
        for family in ("x", "constant", "pairs"):
            assert scores.details["families"][family] == again.details["families"][family]
        assert scores.details["standardized_by"] == "it is"

    @pytest.mark.parametrize("options", [{}, {"standardize": "none"}])
    def test_close_to_arrays(self, source, options):
        """Units and landmarks come from some rows, which a stream chooses by numbers."""
        table = make_table()
        x = np.column_stack([table["a"], table["b"]])
        model = tuple(np.asarray(table[name]) for name in ("mu", "sd"))
        near = cg.adaptive(model, x, np.asarray(table["y"]), **OPTIONS, **options)
        streamed = cg.adaptive(MODEL, source, **OPTIONS, **options)
        assert (near.n, near.null) == (streamed.n, streamed.null)
        for one, other in zip(
            near.details["scales"], streamed.details["scales"], strict=True
        ):
            assert one["bandwidth_x"] == pytest.approx(other["bandwidth_x"], rel=0.05)
        # The constant depends on no choice: families of it differ by their draws.
        within = 4 * np.sqrt(2 * 0.25 / OPTIONS["n_boot"])
        for family in {"constant", "level"} & set(near.details["families"]):
            p = streamed.details["families"][family]
            assert near.details["families"][family] == pytest.approx(p, abs=within)

    def test_seeds_choose_no_rows_of_a_stream(self, source):
        options = {"n_boot": 5}
        one, other = (cg.adaptive(MODEL, source, rng=seed, **options) for seed in (1, 2))
        np.testing.assert_array_equal(statistics(one), statistics(other))

    def test_a_small_source_is_tested_exactly(self, tmp_path):
        table = make_table(300)
        result = cg.adaptive(MODEL, write(table, tmp_path / "files", 2), rng=1, n_boot=100)
        x = np.column_stack([table["a"], table["b"]])
        model = tuple(np.asarray(table[name]) for name in ("mu", "sd"))
        near = cg.adaptive(model, x, np.asarray(table["y"]), rng=1, n_boot=100)
        assert result.solver == "exact"
        assert (result.pvalue, result.statistic) == (near.pvalue, near.statistic)

    def test_names_of_columns_are_kept(self, source):
        from condgof.errors import InputError, UnsupportedModelError

        with pytest.raises(UnsupportedModelError, match="It can take: 'none'"):
            cg.adaptive(cg.columns(score="s"), source, standardize="cdf", **OPTIONS)
        with pytest.raises(InputError, match="brings its own y"):
            cg.adaptive(MODEL, source, np.ones(N))
