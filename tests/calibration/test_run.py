"""The runner: resumed after a kill, one changed cell alone run again, and the page."""

from __future__ import annotations

import csv
import io
import json
import math
from functools import partial

import numpy as np
import pytest

from calibration import run, samples, sequential
from calibration.design import Data, Design, Procedure, level
from calibration.page import csv_text, page, stored_rows, write_page
from calibration.results import Result, path_of, read_result
from calibration.sequential import AT_MOST_05, FAILS, HOLDS, OPEN, confidence_interval
from calibration.table import KINDS_SECTION, SECTIONS, all_designs
from condgof.errors import InputError


def draw_number(power, rng):
    """A sample whose y is a p-value: uniform for the power 1."""
    return Data(None, None, rng.random() ** power)


def read_number(data, seed):
    return data.y


def read_half(data, seed):
    return {"half": 0.5 * data.y}


def refuse(data, seed):
    raise InputError("refused")


def crash(data, seed):
    raise ZeroDivisionError("crashed")


NUMBER = level("number", read_number)
HALF = Procedure(read_half, {"half": (AT_MOST_05,)})


def cell(name="uniform", power=1.0, procedures=(NUMBER, HALF), most=300):
    return Design(name, KINDS_SECTION, partial(draw_number, power), procedures, most=most)


def run_cells(designs, folder, most=10**6, minutes=math.inf):
    return run.run_designs(designs, folder=folder, processes=1, most=most, minutes=minutes)


def stored(design, folder):
    """What is stored but for the processor time, which is another one each time."""
    record = json.loads(path_of(design, folder).read_text())
    del record["seconds"]
    return record


def test_counts_are_those_of_a_loop(tmp_path):
    design = cell()
    run_cells([design], tmp_path)
    result = read_result(design, tmp_path)
    for key, alpha, factor in (("number @ 0.05", 0.05, 1.0), ("half @ 0.05", 0.05, 0.5)):
        count = result.counts[key]
        values = [design.rng(k).random() for k in range(count.samples)]
        assert count.rejected == sum(factor * value <= alpha for value in values)


def test_claims_stop_when_they_are_clear(tmp_path):
    design = cell("wrong", power=3.0)
    assert run_cells([design], tmp_path)  # it fails
    result = read_result(design, tmp_path)
    assert {one.verdict for one in result.counts.values()} == {FAILS}
    assert result.samples == max(one.samples for one in result.counts.values()) < 100


def test_goes_on_after_a_kill_with_the_same_result(tmp_path, monkeypatch, capsys):
    design = cell()
    run_cells([design], tmp_path / "whole")
    original = run.run_sample

    def killed(*arguments):
        if arguments[-1] == 47:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(run, "run_sample", killed)
    with pytest.raises(KeyboardInterrupt):
        run_cells([design], tmp_path / "killed")
    monkeypatch.setattr(run, "run_sample", original)
    assert read_result(design, tmp_path / "killed").samples == 40
    monkeypatch.setattr(run, "BATCH", 7)
    run_cells([design], tmp_path / "killed", most=100)
    run_cells([design], tmp_path / "killed")
    assert stored(design, tmp_path / "killed") == stored(design, tmp_path / "whole")


def test_a_changed_cell_alone_is_run_again(tmp_path, monkeypatch):
    first = cell("first")
    second = cell("second")
    run_cells([first, second], tmp_path)
    drawn = []
    original = run.run_sample

    def counted(design, procedures, number):
        drawn.append(design.name)
        return original(design, procedures, number)

    monkeypatch.setattr(run, "run_sample", counted)
    run_cells([first, second], tmp_path)
    assert drawn == []
    changed = cell("second", power=1.01)
    run_cells([first, changed], tmp_path)
    assert set(drawn) == {"second"}
    assert run.current_result(second, tmp_path) is None
    assert run.current_result(changed, tmp_path) is not None
    assert stored(changed, tmp_path)["definition"] != first.version


def test_another_version_of_the_library_runs_again(tmp_path, monkeypatch):
    design = cell(most=40)
    run_cells([design], tmp_path)
    monkeypatch.setattr(run, "code_version", lambda: "another")
    run_cells([design], tmp_path, most=20)
    assert stored(design, tmp_path)["code"] == "another"
    assert stored(design, tmp_path)["samples"] == 20


def test_the_budget_stops_before_the_next_batch(tmp_path, capsys):
    design = cell()
    run_cells([design], tmp_path, minutes=0.0)
    assert read_result(design, tmp_path) is None
    assert "time is over" in capsys.readouterr().out


def test_refusals_and_errors_are_counted(tmp_path):
    procedures = (
        Procedure(refuse, {"refuses": (AT_MOST_05,)}),
        Procedure(crash, {"crashes": (AT_MOST_05,)}),
    )
    design = cell("odd", procedures=procedures)
    assert run_cells([design], tmp_path)
    result = read_result(design, tmp_path)
    assert result.refused == {"refuses": result.samples}
    assert len(result.errors) >= run.MOST_ERRORS
    text = page([design], {"odd": result})
    assert "ZeroDivisionError" in text
    table = csv_rows(stored_rows([design], {"odd": result}).rows)
    assert table["odd", "refuses"]["samples at 0.05"] == "0"
    assert table["odd", "refuses"]["refused"] == str(result.refused["refuses"])
    assert table["odd", "refuses"]["verdict"] == "refused"


def test_the_page_begins_with_what_fails(tmp_path):
    designs = [
        cell("right", most=1000),
        cell("wrong", power=3.0),
        cell("few", most=20),
        cell("stopped"),
        cell("missing"),
    ]
    run_cells(designs[:3], tmp_path)
    run_cells(designs[3:4], tmp_path, most=20)
    results = {one.name: read_result(one, tmp_path) for one in designs}
    write_page(designs, results, tmp_path / "measured" / "levels.md")
    text = (tmp_path / "measured" / "levels.md").read_text()
    parts = text.split("## ")
    titles = [part.partition("\n")[0] for part in parts]
    assert titles[:3] == ["# Levels", "What fails", "What is open"]
    sections = dict(zip(titles, parts, strict=True))
    assert "- wrong: `number`" in sections["What fails"]
    assert "- right: `half`" in sections["What fails"]
    assert "number" not in sections["What fails"].split("- wrong")[0]
    assert "- few: `number`" in sections["What is open"]
    assert "1 cell was stopped" in sections["What is not done"]
    assert "1 cell was not run" in sections["What is not done"]
    assert read_result(designs[0], tmp_path).code in text
    assert text.count("(../images/measured/levels-") == 2


def test_the_table_and_the_figure_are_made_with_the_page(tmp_path):
    design = cell("wrong", power=3.0)
    run_cells([design], tmp_path)
    result = read_result(design, tmp_path)
    path = tmp_path / "measured" / "levels.md"
    write_page([design], {design.name: result}, path)
    table = csv_rows(stored_rows([design], {design.name: result}).rows)
    assert path.with_suffix(".csv").read_text().count("\n") == 1 + len(table)
    count = result.counts["half @ 0.05"]
    row = table["wrong", "half"]
    assert (row["rejected at 0.05"], row["samples at 0.05"], row["verdict"]) == (
        str(count.rejected),
        str(count.samples),
        "fails",
    )
    low, high = confidence_interval(count.rejected, count.samples)
    assert (row["low at 0.05"], row["high at 0.05"]) == (f"{low:.4f}", f"{high:.4f}")
    for theme in ("light", "dark"):
        picture = (tmp_path / "images" / "measured" / f"levels-{theme}.svg").read_text()
        assert picture.startswith("<?xml")


def csv_rows(rows):
    """The rows of the CSV file, by cell and function."""
    found = csv.DictReader(io.StringIO(csv_text(rows)))
    return {(row["cell"], row["function"]): row for row in found}


def test_results_survive_a_round_trip(tmp_path):
    design = cell(most=40)
    run_cells([design], tmp_path)
    result = read_result(design, tmp_path)
    assert Result.from_json(result.to_json()) == result
    assert {one.verdict for one in result.counts.values()} <= {HOLDS, OPEN}


# The table of cells


DESIGNS = all_designs()


def test_names_and_files_are_unique(tmp_path):
    assert len({path_of(one, tmp_path) for one in DESIGNS}) == len(DESIGNS)
    assert {one.section for one in DESIGNS} == set(SECTIONS)
    assert all(one.most <= 1000 for one in DESIGNS)


def test_claims_of_a_design_are_counted_apart():
    for design in DESIGNS:
        claims = [claim for one in design.procedures for claim in one.claims]
        assert len(claims) == len(set(claims))


def test_a_constant_changes_the_cells_that_use_it_alone(monkeypatch):
    before = {one.name: one.version for one in DESIGNS}
    monkeypatch.setattr(samples, "MODEL_DRAWS", 50)
    changed = {one.name for one in all_designs() if one.version != before[one.name]}
    assert changed == {
        name for name in before if "draws" in name and not name.startswith("Stein")
    }


def test_the_rule_is_part_of_every_definition(monkeypatch):
    before = cell().version
    monkeypatch.setattr(sequential, "PRIOR_SAMPLES", 50.0)
    assert cell().version != before


def test_samples_are_seeded_by_name_and_number():
    design = DESIGNS[0]
    first, again, other = (design.draw(design.rng(k)).y for k in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
