"""`make rivals`: results are kept by cell, and the rivals' tests are what they say."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import condgof as cg
from rivals import design, ecmmd, kccsd, page, results, runner
from rivals.conditional import heteroscedastic
from rivals.design import Problem, Procedure, Sample, Table, cells_of


def uniform(sample: Sample, rng: np.random.Generator) -> float:
    return float(rng.random())


def mean_of_y(sample: Sample, rng: np.random.Generator) -> float:
    return float(np.mean(sample.y))


def small_table(samples: int = 30, rho: float = 10.0) -> Table:
    return Table(
        name="small",
        title="Small",
        source="here",
        about="A problem.",
        problems=(
            Problem("bump", partial(heteroscedastic, n=8, rho=rho), published={"u": 0.5}),
            Problem("right", partial(heteroscedastic, n=8, rho=0.0), is_null=True),
        ),
        tests=(
            Procedure("u", uniform, adjusted=True),
            Procedure("mean", mean_of_y, ours=True),
        ),
        samples=samples,
    )


def run(table: Table, folder, minutes: float = 1.0) -> None:
    runner.run_tables([table], folder=folder, processes=1, minutes=minutes, who="all")


def values(table: Table, folder) -> dict[str, list[float]]:
    kept = {cell.name: results.read_result(cell, folder) for cell in cells_of(table)}
    return {name: one.values for name, one in kept.items() if one is not None}


def test_a_run_that_was_stopped_ends_as_one_that_was_not(tmp_path):
    run(small_table(samples=20), tmp_path / "stopped")
    run(small_table(samples=50), tmp_path / "stopped")
    run(small_table(samples=50), tmp_path / "whole")
    assert values(small_table(), tmp_path / "stopped") == values(
        small_table(), tmp_path / "whole"
    )


def test_a_changed_problem_runs_alone(tmp_path, monkeypatch):
    run(small_table(), tmp_path)
    before = values(small_table(), tmp_path)
    changed = small_table(rho=0.5)
    ran = []
    monkeypatch.setattr(runner, "timed_value", lambda cell, k: ran.append(cell) or (0.5, 0))
    run(changed, tmp_path)
    assert {cell.problem.name for cell in ran} == {"bump"}
    after = values(changed, tmp_path)
    assert after["right | mean"] == before["right | mean"]


def test_cells_of_the_library_belong_to_its_version(tmp_path, monkeypatch):
    run(small_table(), tmp_path)
    monkeypatch.setattr(results, "code_version", lambda: "another")
    ran = []
    monkeypatch.setattr(runner, "timed_value", lambda cell, k: ran.append(cell) or (0.5, 0))
    run(small_table(), tmp_path)
    assert {cell.test.name for cell in ran} == {"mean"}


def test_definitions_follow_the_functions_that_are_called():
    source = design.source_of(partial(ecmmd.ecmmd, k=7))
    assert "def neighbours" in source
    assert "7" in source.splitlines()


def test_all_tests_see_the_same_samples():
    first, second = [c for c in cells_of(small_table()) if c.problem.name == "right"]
    a = first.problem.draw(first.rng(3, "sample"))
    b = second.problem.draw(second.rng(3, "sample"))
    np.testing.assert_array_equal(a.y, b.y)


def test_the_page_says_what_fails_first(tmp_path):
    table = small_table()
    for cell in cells_of(table):
        low = cell.test.name == "mean" and cell.problem.is_null
        wins = cell.test.name == "u" and not cell.problem.is_null and not cell.null
        value = 0.0 if low or wins else 0.5
        record = results.Result(cell.definition, results.version_of(cell), [value] * 30)
        results.write_result(cell, record, tmp_path)
    text = page.page([table], tmp_path, tmp_path / "pictures")
    fails, _, rest = text.partition("## How it was run")
    assert "Small, right: mean rejects 30 of 30." in fails
    assert "Small, bump: u 1.00, mean 0.00." in fails
    assert "| bump | 30 | 1.00 (at its level 1.00; published 0.5) | 0.00 |" in rest
    assert (tmp_path / "pictures" / "small.png").exists()


def test_ecmmd_is_its_sum_over_neighbours(rng):
    y, x = rng.normal(size=12), rng.normal(size=(12, 2))
    drawn = rng.normal(size=(1, 12))
    total = variance = 0.0
    distance = np.linalg.norm(x[:, None] - x[None], axis=2)
    near = [set(np.argsort(row)[1:4]) for row in distance]
    for i in range(12):
        for j in near[i]:
            h = (y[i] - drawn[0, i]) * (y[j] - drawn[0, j])
            total += h
            variance += h**2 * (1 + (i in near[j]))
    statistic = total / np.sqrt(variance)
    from scipy.stats import norm

    expected = 2 * norm.sf(abs(statistic))
    assert ecmmd.ecmmd_pvalue(y, drawn, x, k=3, linear=True) == pytest.approx(expected)


def test_kccsd_is_kcsd_with_a_kernel_on_models(rng):
    """Of one spread, the Fisher divergence is the squared distance of means / σ⁴."""
    x = rng.normal(size=(60, 1))
    law = cg.normal(mean=x[:, 0], std=np.full(60, 2.0))
    features = kccsd.score_features(x[:, 0], np.full(60, 2.0), rng.normal(size=50))
    distance = np.square(features[:, None] - features[None]).sum(axis=2)
    expected = np.square(x - x.T) / 2.0**4
    np.testing.assert_allclose(distance, expected, atol=1e-12)
    y = x[:, 0] + 2.0 * rng.normal(size=60)
    wrong = y + 3.0
    assert kccsd.kccsd(Sample(law, x, wrong), rng) <= 0.01
    assert kccsd.kccsd(Sample(law, x, y), rng) > 0.01
