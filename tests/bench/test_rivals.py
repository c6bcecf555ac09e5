"""`make rivals`: results are kept by cell, and the rivals' tests are what they say."""

from __future__ import annotations

import csv
from functools import partial

import numpy as np
import pytest

import condgof as cg
from rivals import design, ecmmd, kccsd, page, results, runner, speed
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
    path = tmp_path / "measured" / "rivals.md"
    page.write_page([table], tmp_path, page=path)
    fails, _, rest = path.read_text().partition("## How it was run")
    assert "Small, right: mean rejects 30 of 30." in fails
    assert "Small, bump: u 1.00, mean 0.00." in fails
    assert "(../images/measured/small-light.svg)" in rest
    rows = list(csv.DictReader(path.with_suffix(".csv").read_text().splitlines()))
    bump = {row["test"]: row for row in rows if row["problem"] == "bump"}
    found = bump["u"]
    assert (found["samples"], found["rejected"], found["published"]) == (
        "30",
        "1.0000",
        "0.5",
    )
    assert found["rejected at its own level"] == "1.0000"
    assert bump["mean"]["rejected"] == "0.0000"
    for theme in ("light", "dark"):
        picture = tmp_path / "images" / "measured" / f"small-{theme}.svg"
        assert picture.read_text().startswith("<?xml")


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


RESULTS = f"""# Speed and memory

{speed.SHORTFALLS}

- adaptive, n = 300 (`versions`): 0.4, asked at least 0.5.

## Beside version 0.2

{speed.HEAD}
|---|---|---|---|---|---|---|
| kcsd | counts | 3,000 | 0.25, 0.5 | 0.500 | 82, 79 | 1.044 |
| check | counts | 3,000 | failed: no memory | | | |

`make bench ONLY=versions02`, 2026-11-19, 60 s, library `abc`.
"""


def test_speed_is_read_from_the_table_of_results(tmp_path):
    assert speed.read_timings(RESULTS) == [
        speed.Timing("kcsd", "counts", 3000, 0.25, 0.5, 0.5, 82.0, 79.0)
    ]
    results = tmp_path / "RESULTS.md"
    results.write_text(RESULTS)
    page_path = tmp_path / "measured" / "rivals.md"
    page_path.parent.mkdir()
    text = "\n".join(speed.page_lines(results, page_path))
    assert text.startswith("## Speed\n\n- adaptive, n = 300")
    assert "2026-11-19" in text
    assert "Ratios of time are 0.50 to 0.50" in text
    assert page_path.with_name("speed.csv").read_text().splitlines()[1].startswith("kcsd,")


def test_the_results_that_are_kept_have_the_table_of_speed():
    kinds = {one.kind for one in speed.read_timings(speed.RESULTS.read_text())}
    assert {"normal", "counts", "classes", "censored"} <= kinds
