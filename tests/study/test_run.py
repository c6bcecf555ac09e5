"""Studies: seeds by coordinates, going on, refusing, users' own problems and methods."""

import functools
import itertools
import json

import numpy as np
import pytest

import condgof as cg
from condgof.errors import InputError, InputTypeError, MissingPackageError, StudyError
from condgof.study import (
    InUseError,
    Problem,
    Trial,
    csv_cell,
    draw_trial,
    engel_study,
    run_study,
)

TABLES = ("table.txt", "table.csv", "table.json", "table.md")


def quick(model, x, y, *, rng, engine):
    """A test that costs nothing and shows its sample and its rng."""
    assert engine == 1
    share = np.random.default_rng(rng).random()
    return cg.GofResult(statistic=float(np.sum(y)), pvalue=share, method="quick", n=len(y))


def other(model, x, y, *, rng, engine):
    return quick(model, x, y, rng=rng, engine=engine)


def run(problems=("qgm", "lgm"), methods=(quick, other), n=(10, 20), trials=4, **options):
    return run_study(problems, methods, n, trials=trials, engine=1, **options)


def numbers(study):
    return {at: (o.pvalue, o.statistic) for at, o in study.outcomes.items()}


def test_all_methods_see_the_same_samples_and_have_their_own_rng():
    outcomes = run().outcomes
    for problem, n, trial in itertools.product(("qgm", "lgm"), (10, 20), range(4)):
        one = outcomes[Trial(problem, n, "quick", trial)]
        two = outcomes[Trial(problem, n, "other", trial)]
        assert one.statistic == two.statistic
        assert one.pvalue != two.pvalue
    statistics = {outcome.statistic for outcome in outcomes.values()}
    assert len(statistics) == len(outcomes) / 2


def test_a_cell_depends_on_its_own_coordinates_only():
    small = numbers(run("qgm", quick, 20, trials=2))
    large = numbers(run(trials=5, n=[20, 10, 15]))
    assert small.items() <= large.items()
    assert small.items().isdisjoint(numbers(run("qgm", quick, 20, trials=2, rng=1)).items())


def test_draw_trial_gives_the_sample_of_a_trial():
    study = run()
    _, _, y = draw_trial("lgm", 20, 3)
    assert study.outcomes[Trial("lgm", 20, "quick", 3)].statistic == float(np.sum(y))


def test_processes_give_what_one_process_gives(tmp_path):
    """With a lambda in the problem and in the methods: notebooks have them."""
    case = Problem(
        name="mine",
        title="Mine",
        p=cg.models.Normal(mean=lambda x: x[:, 0], std=1.0),
        r=cg.models.Normal(mean=lambda x: x[:, 0], std=1.1),
        draw_x=lambda n, rng: rng.standard_normal((n, 1)),
        d_x=1,
        d_y=1,
        h0=False,
    )
    methods = {
        "kcsd": "kcsd",
        "mine": lambda model, x, y, **k: cg.kcsd(model, x, y, n_boot=50, **k),
    }
    studies = [
        run_study([case, "hgm"], methods, 30, trials=3, engine=count) for count in (1, 2)
    ]
    assert numbers(studies[0]) == numbers(studies[1])


def test_pvalues_and_table():
    study = run("qgm", ["kcsd", "fscd-rand-1"], 25, trials=6, alpha=0.3)
    model, x, y = draw_trial("qgm", 25, 4)
    pvalues = study.pvalues("qgm", 25, "kcsd")
    assert pvalues.shape == (6,)
    for row in study.table():
        assert row.rejections == (study.pvalues("qgm", 25, row.method) <= 0.3).sum()
        assert row.rate == row.rejections / 6
    assert cg.kcsd(model, x, y, rng=0).statistic == pytest.approx(
        study.outcomes[Trial("qgm", 25, "kcsd", 4)].statistic
    )
    with pytest.raises(InputError, match="no cell"):
        study.pvalues("qgm", 26, "kcsd")


def test_sizes_by_problem():
    study = run(n={"lgm": [12], "qgm": (10, 14)})
    assert [(row.problem, row.n) for row in study.table()][::2] == [
        ("qgm", 10),
        ("qgm", 14),
        ("lgm", 12),
    ]
    with pytest.raises(InputError, match="no sizes for qgm"):
        run(n={"lgm": [12]})


def test_going_on_ends_with_the_same_tables(tmp_path, monkeypatch):
    run(trials=6, out=tmp_path / "whole")
    parts = tmp_path / "parts"
    run("qgm", quick, 10, trials=2, out=parts)
    stop = 15
    totals = []

    def stopped(results, total, what):
        totals.append(total)
        yield from itertools.islice(results, stop - 2)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("condgof.study._run.with_progress", stopped)
        with pytest.raises(KeyboardInterrupt):
            run(trials=6, out=parts)
    assert totals == [48 - 2]
    assert len((parts / "trials.jsonl").read_text().splitlines()) == stop
    run(trials=6, out=parts)
    assert len((parts / "trials.jsonl").read_text().splitlines()) == 48
    for name in TABLES:
        assert (parts / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    before = (parts / "trials.jsonl").read_bytes()
    again = run(trials=6, out=parts, alpha=0.5)
    assert (parts / "trials.jsonl").read_bytes() == before
    assert again.table()[0].rejections == (again.pvalues("qgm", 10, "quick") <= 0.5).sum()


def test_a_smaller_study_of_a_folder_is_a_smaller_table(tmp_path):
    large = run(trials=6, out=tmp_path)
    small = run("lgm", other, 20, trials=3, out=tmp_path)
    np.testing.assert_array_equal(
        small.pvalues("lgm", 20, "other"), large.pvalues("lgm", 20, "other")[:3]
    )


def test_what_a_trial_leaves_on_disk(tmp_path):
    run("qgm", "kcsd", 20, trials=1, out=tmp_path)
    row = json.loads((tmp_path / "trials.jsonl").read_text())
    assert (row["problem"], row["n"]) == ("qgm", 20)
    assert (row["method"], row["trial"]) == ("kcsd", 0)
    assert 0 < row["pvalue"] <= 1
    assert row["seconds"] > 0
    table = json.loads((tmp_path / "table.json").read_text())
    assert table["table"][0]["trials"] == 1


def shifted(name, by):
    line = cg.models.Normal(mean=lambda x: x[:, 0], std=1.0)
    moved = cg.models.Normal(mean=lambda x: x[:, 0] + by, std=1.0)
    return Problem(
        name=name,
        title=name,
        p=line,
        r=moved,
        draw_x=lambda n, rng: rng.standard_normal((n, 1)),
        d_x=1,
        d_y=1,
        h0=False,
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rng": 1}, "its seed was 0, and is 1 now"),
        (
            {"problems": [shifted("mine", 0.2)]},
            "its problem 'mine' was [0-9a-f]+, and is [0-9a-f]+ now",
        ),
        (
            {"methods": {"quick": functools.partial(quick, k=1)}},
            "its method 'quick' was .*quick, and is .*quick\\(k=1\\) now",
        ),
    ],
)
def test_options_that_would_change_results_are_refused(tmp_path, options, words):
    first = {
        "problems": [shifted("mine", 0.1)],
        "methods": {"quick": quick},
        "n": 10,
        "out": tmp_path,
    }
    run(**first)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(StudyError, match=words) as caught:
        run(**{**first, **options})
    assert "Go on with its own options, or use another folder" in str(caught.value)
    before.pop(".lock")
    assert before == {
        p.name: p.read_bytes() for p in tmp_path.iterdir() if p.name != ".lock"
    }
    run(**first, trials=5)


def test_another_version_is_refused(tmp_path, monkeypatch):
    run(out=tmp_path)
    monkeypatch.setattr(cg, "__version__", "99.0")
    with pytest.raises(
        StudyError, match=r"its version of condgof was 0.*, and is 99.0 now"
    ):
        run(out=tmp_path)


def test_a_folder_with_something_else_in_it(tmp_path):
    (tmp_path / "trials.jsonl").write_text("{}\n")
    with pytest.raises(StudyError, match=r"not the study.json"):
        run(out=tmp_path)
    (tmp_path / "study.json").write_text('{"format": 7}')
    with pytest.raises(StudyError, match="this version can read"):
        run(out=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        run(out=tmp_path / "file")


def test_one_process_at_a_time(tmp_path):
    refusals = []

    def second(model, x, y, *, rng, engine):
        if not refusals:
            with pytest.raises(
                InUseError, match=r"is in use by another process"
            ) as refused:
                run(out=tmp_path)
            refusals.append(refused)
        return quick(model, x, y, rng=rng, engine=engine)

    run(methods=second, out=tmp_path)
    assert len(refusals) == 1
    run(methods=second, out=tmp_path)


def test_trials_that_fail_are_counted_and_not_fatal(tmp_path):
    broken = {"on": True}

    def fragile(model, x, y, *, rng, engine):
        if broken["on"] and rng % 2:
            raise ZeroDivisionError("[red]no[/red] luck\nat all")
        return quick(model, x, y, rng=rng, engine=engine)

    options = {"problems": "qgm", "methods": {"fragile": fragile}, "n": 10, "trials": 20}
    study = run(**options, out=tmp_path)
    row = study.table()[0]
    assert 0 < row.failed < 20
    assert row.trials == 20 - row.failed
    assert np.isnan(study.pvalues("qgm", 10, "fragile")).sum() == row.failed
    assert study.failures()[0].error == "ZeroDivisionError: [red]no[/red] luck\nat all"
    assert f"{row.failed} failed" in str(study)
    broken["on"] = False
    before = (tmp_path / "trials.jsonl").read_bytes()
    # The trials that failed are tried again, and no others.
    again = run(**options, out=tmp_path)
    assert again.table()[0].failed == 0
    lines = (tmp_path / "trials.jsonl").read_bytes().removeprefix(before).splitlines()
    assert len(lines) == row.failed


def test_a_cell_that_always_fails():
    def never(model, x, y, *, rng, engine):
        return 3

    study = run("qgm", {"never": never}, 10)
    assert study.table()[0].rate is None
    assert "all 4 failed" in str(study)
    assert "must return a GofResult" in study.failures()[0].error


def test_a_missing_package_stops_the_study():
    def needy(model, x, y, *, rng, engine):
        raise MissingPackageError("pip install it")

    with pytest.raises(MissingPackageError):
        run("qgm", {"needy": needy}, 10)


def test_users_problems_and_methods_by_address(tmp_path, monkeypatch):
    (tmp_path / "my_problems.py").write_text(
        "import condgof as cg\n"
        "from condgof.study import Problem\n"
        "line = cg.models.Normal(mean=lambda x: x[:, 0], std=1.0)\n"
        "def easy():\n"
        "    wide = cg.models.Normal(mean=lambda x: x[:, 0], std=3.0)\n"
        "    draw = lambda n, rng: rng.standard_normal((n, 1))\n"
        "    return Problem('easy', 'Easy', line, wide, draw, 1, 1, False)\n"
        "true = Problem('true', 'True', line, line, easy().draw_x, 1, 1, True)\n"
        "def test(model, x, y, *, rng, engine):\n"
        "    return cg.kcsd(model, x, y, n_boot=99, rng=rng, engine=engine)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    options = {
        "problems": ["my_problems:easy", "my_problems:true"],
        "methods": ["my_problems:test"],
    }
    one, two = (run_study(**options, n=60, trials=4, engine=count) for count in (1, 2))
    assert numbers(one) == numbers(two)
    assert [(row.problem, row.method) for row in one.table()] == [
        ("easy", "my_problems:test"),
        ("true", "my_problems:test"),
    ]
    assert one.table()[0].rate == 1.0


@pytest.mark.parametrize(
    ("problems", "methods", "error", "words"),
    [
        ("hmg", quick, InputError, "Did you mean 'hgm'.*lgm, hgm"),
        ("qgm", "kscd", InputError, "Did you mean 'kcsd'.*adaptive, kcsd"),
        ([], quick, InputError, "No problem was given"),
        ("qgm", [], InputError, "No method was given"),
        (["qgm", "qgm"], quick, InputError, "Two problems are named 'qgm'"),
        ("qgm", [quick, quick], InputError, "there twice"),
        ("qgm", lambda: 0, InputTypeError, "without a name"),
        ("qgm", {"a": 3}, InputTypeError, "must be a name or callable"),
        ("no_such_module:a", quick, InputError, "cannot be imported: ModuleNotFoundError"),
        ("math:cosh2", quick, InputError, "math has no 'cosh2'. Did you mean 'cosh'"),
        (":a", quick, InputError, "not an address"),
        ("math:pi", quick, InputTypeError, "got float at 'math:pi'"),
        ("qgm", "math:pi", InputTypeError, "cannot be called"),
        (3, quick, InputTypeError, "got int"),
    ],
)
def test_what_cannot_be_studied(problems, methods, error, words):
    with pytest.raises(error, match=words):
        run(problems, methods)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"n": 0}, "n must be at least 1"),
        ({"n": []}, "No sample size"),
        ({"n": 10.5}, "n must be an integer"),
        ({"trials": 0}, "trials must be at least 1"),
        ({"rng": -1}, "rng must not be negative"),
        ({"alpha": 1.5}, "alpha must be between"),
        (
            {"methods": "kcsd", "alpha": 5e-4},
            "Method 'kcsd': alpha=0.0005 cannot be reached with n_boot=1000",
        ),
    ],
)
def test_bad_options(option, words):
    with pytest.raises((InputError, InputTypeError), match=words):
        run(**option)


def test_a_problem_that_cannot_be_drawn_from():
    case = Problem("bad", "Bad", None, None, lambda n, rng: 1 / 0, 1, 1, False)
    with pytest.raises(
        InputError, match="No sample can be drawn from the problem 'bad': ZeroDivision"
    ):
        run(case)


def test_observations_outside_the_support_refute_the_model(tmp_path):
    """The truth is normal, the model an exponential distribution: half of y is below 0."""
    wrong = Problem(
        name="outside",
        title="Outside the support",
        p=cg.models.Exponential(scale=1.0),
        r=cg.models.Normal(mean=0.0, std=1.0),
        draw_x=lambda n, rng: rng.standard_normal((n, 1)),
        d_x=1,
        d_y=1,
        h0=False,
    )
    few = functools.partial(cg.kcsd, n_boot=19)
    for _ in range(2):  # the second time from the folder
        study = run_study(
            [wrong], {"kcsd": cg.kcsd, "few": few}, 30, trials=3, engine=1, out=tmp_path
        )
        assert not study.failures()
        assert len(study.refuted()) == 6
        assert "outside the support" in study.refuted()[0].note
        assert study.pvalues("outside", 30, "kcsd").tolist() == [1 / 1001] * 3
        assert study.pvalues("outside", 30, "few").tolist() == [1 / 1001] * 3
        assert [row.rate for row in study.table()] == [1.0, 1.0]


def test_the_bundled_study():
    income, food, models = engel_study()
    assert (len(income), len(food)) == (117, 117)
    assert list(models) == ["constant spread", "growing spread"]


def test_a_spreadsheet_runs_no_formula():
    assert [csv_cell("=1+1"), csv_cell(-1.5)] == ["'=1+1", -1.5]


def test_rng_may_be_a_generator_and_the_seed_gives_the_study_again():
    first = run("qgm", quick, 20, trials=2, rng=np.random.default_rng(5))
    again = run("qgm", quick, 20, trials=2, rng=first.seed)
    assert numbers(first) == numbers(again)
    with pytest.raises(InputTypeError, match="rng must be an integer"):
        run("qgm", quick, 20, trials=2, rng="five")
