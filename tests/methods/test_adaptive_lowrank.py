"""The adaptive test by low rank: against exact with the same draws, on streams, and from some rows."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import binom

import condgof as cg
from condgof.methods import _adaptive, _adaptive_solve
from condgof.study import problem


def statistics(result):
    return np.array([row["statistic"] for row in result.details["scales"]])


@pytest.mark.parametrize(
    ("name", "n", "p_apart", "apart"),
    [
        ("true-mixture", 1500, 0.0, 0.02),
        ("hgm", 700, 0.01, 0.3),  # d_x = 3: the narrowest scales need more than 500 landmarks
        ("true-pair", 1000, 0.05, 0.5),  # d_x + d_y = 4, even more so
    ],
)
def test_against_exact(name, n, p_apart, apart, monkeypatch):
    """The same signs. Statistics differ by a share of the spread of their draws, at the worst scale."""
    found = {}

    def solve(*args):
        parts = _adaptive_solve.solve_adaptive(*args)
        found[parts.solver] = parts
        return parts

    monkeypatch.setattr(_adaptive, "solve_adaptive", solve)
    case = problem(name)
    x, y = case.draw(n, np.random.default_rng(1))
    exact, low = (
        cg.adaptive(case.p, x, y, rng=3, n_boot=300, solver=solver) for solver in ("exact", "lowrank")
    )
    assert (exact.solver, low.solver) == ("exact", "lowrank")
    assert abs(low.pvalue - exact.pvalue) <= p_apart
    assert ("rank stopped at" in str(low)) == (apart > 0.02)
    assert low.details["rank"] <= 500
    one, other = found["exact"].scales, found["lowrank"].scales
    spread = one.draws.std(axis=1)
    assert (np.abs(other.statistics - one.statistics) <= apart * spread).all()
    # The widest scale of each is as good as exact, whatever the rank.
    assert abs(other.statistics[0] - one.statistics[0]) <= 1e-3 * spread[0]
    for a, b in zip(one.draws, other.draws, strict=True):
        assert np.corrcoef(a, b)[0, 1] > 1 - apart / 5
    # Locations do not depend on the solver at all.
    np.testing.assert_array_equal(found["exact"].local.statistics, found["lowrank"].local.statistics)
    assert low.details["locations_pvalue"] == exact.details["locations_pvalue"]


@pytest.mark.parametrize("rank", [2, 12])
def test_the_level_holds_at_any_rank(rank):
    case, trials, rejections = problem("true-hetero"), 80, 0
    for trial in range(trials):
        x, y = case.draw(100, np.random.default_rng([trial, 100]))
        result = cg.adaptive(case.p, x, y, rng=trial, rank=rank, n_boot=200, engine=1)
        rejections += result.reject(0.05)
    assert rejections <= binom.isf(1e-4, trials, 0.05)


class TestDrawsFromSomeRows:
    """Above NULL_ROWS rows, statistics come from all rows and draws from some of them."""

    def run(self, monkeypatch, rows, n=2000, seed=1, name="true-mixture", **options):
        monkeypatch.setattr(_adaptive_solve, "NULL_ROWS", rows)
        case = problem(name)
        x, y = case.draw(n, np.random.default_rng(seed))
        options = {"rng": 3, "n_boot": 200, "solver": "lowrank", "rank": 60, **options}
        return cg.adaptive(case.p, x, y, **options)

    def test_statistics_are_those_of_all_rows(self, monkeypatch):
        """All but the diagonal's sum, whose share comes from the null's rows: a tenth of a spread."""
        parts, make = [], _adaptive_solve._part
        monkeypatch.setattr(_adaptive_solve, "_part", lambda *a: parts.append(make(*a)) or parts[-1])
        some, whole = (self.run(monkeypatch, rows) for rows in (700, 5000))
        assert some.details["null_rows"] == 700
        assert "null_rows" not in whole.details
        for one, other in zip(parts[:2], parts[2:], strict=True):
            spread = other.draws.std(axis=1)
            assert (np.abs(one.statistics - other.statistics) <= 0.1 * spread).all()
        assert some.n == whole.n == 2000
        # Other rows and other signs: two p-values with the noise of 200 draws each.
        assert abs(some.pvalue - whole.pvalue) < 0.2

    def test_threads_and_engines_do_not_matter(self, monkeypatch):
        one, many = (self.run(monkeypatch, 700, engine=engine) for engine in (1, 3))
        assert one.to_dict() == many.to_dict()

    def test_the_level(self, monkeypatch):
        trials, found = 50, {0.05: 0, 0.5: 0}
        for trial in range(trials):
            p = self.run(monkeypatch, 150, 400, trial, rng=trial, rank=25, n_boot=99, engine=1).pvalue
            for alpha in found:
                found[alpha] += p <= alpha
        assert found[0.05] <= binom.isf(1e-4, trials, 0.05)
        assert binom.ppf(1e-4, trials, 0.5) <= found[0.5] <= binom.isf(1e-4, trials, 0.5)

    def test_a_wrong_model_is_found(self, monkeypatch):
        assert self.run(monkeypatch, 300, name="hgm", n=1500).reject(0.01)


N = 9_000
MODEL = cg.columns(mean="mu", std="sd")
OPTIONS = {"rng": 5, "n_boot": 150, "rank": 40, "solver": "lowrank"}


def make_table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    mu, sd = a - b, np.exp(0.3 * b)
    y = mu + sd * rng.normal(size=n)
    return pa.table({"a": a, "b": b, "y": y, "mu": mu, "sd": sd, "s": (mu - y) / sd**2})


def write(table, folder, files=1, rows=None):
    folder.mkdir()
    size = -(-len(table) // files)
    for i in range(files):
        pq.write_table(table.slice(i * size, size), folder / f"{i:03}.parquet", row_group_size=rows)
    return cg.scan(folder / "*.parquet", x=["a", "b"], y="y")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write(make_table(), tmp_path_factory.mktemp("adaptive") / "one")


class TestStreams:
    @pytest.fixture(autouse=True)
    def few_rows(self, monkeypatch):
        monkeypatch.setattr(_adaptive_solve, "NULL_ROWS", 3000)

    @pytest.fixture
    def reference(self, source):
        return cg.adaptive(MODEL, source, engine=1, **OPTIONS)

    def test_any_files_and_threads(self, tmp_path, reference):
        assert reference.details["null_rows"] == 3000
        assert reference.details["standardized_by"] == "normal scores of the model's CDF"
        assert 0.01 < reference.pvalue < 1
        for number, (files, rows, engine) in enumerate([(7, None, 1), (1, 777, 3), (3, 100, 2)]):
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
        assert scores.pvalue == again.pvalue
        assert scores.details["standardized_by"] == "it is"

    def test_close_to_arrays(self, reference):
        """Bandwidths, landmarks, locations and signs are of other rows: close, not equal."""
        table = make_table()
        x = np.column_stack([table["a"], table["b"]])
        model = tuple(np.asarray(table[name]) for name in ("mu", "sd"))
        near = cg.adaptive(model, x, np.asarray(table["y"]), **OPTIONS)
        assert abs(near.pvalue - reference.pvalue) < 0.25
        bandwidths = [
            [row["bandwidth_x"] for row in result.details["scales"]] for result in (near, reference)
        ]
        np.testing.assert_allclose(bandwidths[0], bandwidths[1], rtol=0.1)

    def test_equal_to_arrays_where_all_rows_fit(self, tmp_path, monkeypatch):
        monkeypatch.setattr(_adaptive_solve, "NULL_ROWS", 16_384)
        table = make_table(2500)
        source = write(table, tmp_path / "files", 4)
        streamed = cg.adaptive(MODEL, source, **OPTIONS)
        model = tuple(np.asarray(table[name]) for name in ("mu", "sd"))
        x = np.column_stack([table["a"], table["b"]])
        near = cg.adaptive(model, x, np.asarray(table["y"]), **OPTIONS)
        assert streamed.pvalue == near.pvalue
        assert streamed.statistic == pytest.approx(near.statistic, rel=1e-8)

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
