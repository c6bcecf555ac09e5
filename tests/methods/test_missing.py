"""`missing=` in every test: as if rows were left out, or made a category, by hand."""

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest

import condgof as cg
from condgof.errors import (
    InputError,
    InputTypeError,
    NonFiniteError,
    ShapeError,
    UnsupportedModelError,
)

N = 90
RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(2, N))
Y = A + 0.3 * B + RNG.normal(size=N)
KIND = np.array(["air", "bus", "car"])[RNG.integers(3, size=N)]  # sorted before "missing"
DRAWS = A[:, None] + RNG.normal(size=(N, 40))
GROUPS = RNG.integers(1, 26, size=N)
GROUPS[[4, 20]] = 0  # a group that first appears in a row that is left out

#: Rows without a value of a, of kind, and of y.
NO_A = [4, 17]
NO_KIND = [17, 30]
NO_Y = [31, 55]
LOST = sorted({*NO_A, *NO_KIND, *NO_Y})
KEPT = np.setdiff1d(np.arange(N), LOST)
SAID = "5 of 90 rows were left out because a value is missing"


def without(values, rows, hole=np.nan):
    out = values.astype(float if isinstance(hole, float) else object)
    out[rows] = hole
    return out


FRAME = pd.DataFrame({"a": A, "b": B, "kind": KIND}, index=np.arange(N) + 100)
X = FRAME.assign(a=without(A, NO_A), kind=without(KIND, NO_KIND, None))
Y_LOST = pd.Series(without(Y, NO_Y), index=X.index, name="y")
X_KEPT = FRAME.iloc[KEPT]
Y_KEPT = Y_LOST.iloc[KEPT]
#: "level" by hand: numbers at the lower median of the others, and a column that says where.
MISSES = np.isin(np.arange(N), NO_A)
X_LEVELS = pd.DataFrame(
    {
        "a": np.where(MISSES, np.quantile(A[~MISSES], 0.5, method="lower"), A),
        "a missing": pd.Categorical(np.where(MISSES, "yes", "no"), ["no", "yes"]),
        "b": B,
        "kind": pd.Categorical(
            without(KIND, NO_KIND, "missing"), ["air", "bus", "car", "missing"]
        ),
    },
    index=X.index,
)
LEVELS_SAID = (
    (
        "missing values of 'a' (2 of 90 rows) are put at its median, and 'a missing' says"
        " where"
    ),
    "missing values of 'kind' (2 of 90 rows) are a level, 'missing'",
)
SHORT = {"rng": 3, "n_boot": 19}


def fit(x, y):
    """Regress on b, which is nowhere missing."""
    b = np.asarray(x["b"], dtype=float)
    slope, start = np.polyfit(b, np.asarray(y), 1)
    assert len(x) == len(y)
    return start + slope * b, np.full(len(b), np.std(y))


#: (models, x, y, options) → result; two models for those that compare.
TESTS = {
    "adaptive": lambda m, x, y, **k: cg.adaptive(m[0], x, y, **SHORT, **k),
    "kcsd": lambda m, x, y, **k: cg.kcsd(m[0], x, y, **SHORT, **k),
    "kcsd-lowrank": lambda m, x, y, **k: cg.kcsd(
        m[0], x, y, solver="lowrank", **SHORT, **k
    ),
    "fscd-optimize": lambda m, x, y, **k: cg.fscd(m[0], x, y, n_locations=1, **SHORT, **k),
    "fscd-random": lambda m, x, y, **k: cg.fscd(
        m[0], x, y, locations="random", **SHORT, **k
    ),
    "mmd": lambda m, x, y, **k: cg.mmd(m[0], x, y, **SHORT, **k),
    "zheng": lambda m, x, y, **k: cg.zheng(m[0], x, y, null="wild", **SHORT, **k),
    "compare": lambda m, x, y, **k: cg.compare(*m, x, y, rng=3, **k),
    "rank": lambda m, x, y, **k: cg.rank({"p": m[0], "q": m[1]}, x, y, **SHORT, **k),
    "calibration": lambda m, x, y, **k: cg.calibration(m[0], x, y, **SHORT, **k),
    "composite": lambda m, x, y, **k: cg.composite(
        fit, x, y, statistic="kcsd", n_boot=9, rng=3, engine=1, **k
    ),
    "composite-adaptive": lambda m, x, y, **k: (
        cg.composite(fit, x, y, n_boot=9, alpha=0.5, rng=3, engine=1, **k).result
    ),
    "composite-mmd": lambda m, x, y, **k: cg.composite(
        fit, x, y, statistic="mmd", n_boot=9, rng=3, engine=1, **k
    ),
    "check": lambda m, x, y, **k: cg.check(m[0], x, y, **SHORT, **k).result,
}
#: Those that take groups of rows.
GROUPED = (
    "adaptive",
    "kcsd",
    "kcsd-lowrank",
    "fscd-optimize",
    "fscd-random",
    "zheng",
    "check",
)


def of_x(x):
    return np.asarray(x["a"], dtype=float)


#: Models of all rows, or of any.
MODELS = {
    "tuple": ((A, np.ones(N)), (0.5 * A, np.full(N, 1.2))),
    "scores": (cg.from_scores(A - Y), cg.from_scores(0.5 * A - Y)),
    "draws": (cg.from_draws(DRAWS), cg.from_draws(0.5 * DRAWS)),
    "function": (cg.models.Normal(mean=of_x, std=1.0), cg.models.Normal(mean=0.0, std=2.0)),
}
#: What some of the tests cannot take.
CANNOT = {
    "scores": ("mmd", "zheng", "calibration"),
    "draws": ("calibration",),
}
#: All but composite, which is given a fit and no model.
FIXED = [test for test in TESTS if not test.startswith("composite")]
CASES = [(test, "tuple") for test in TESTS] + [
    (test, kind)
    for test in FIXED
    for kind in ("scores", "draws", "function")
    if test not in CANNOT.get(kind, ())
]


def some(models, rows):
    """Return the models of some rows, taken by hand."""
    return [
        (
            tuple(part[rows] for part in model)
            if isinstance(model, tuple)
            else model.take(rows)
        )
        for model in models
    ]


def numbers(result):
    """Return everything that a result says in numbers, but for how long it took."""
    found = result.to_dict()
    found["details"] = {
        k: v for k, v in found["details"].items() if not k.startswith("seconds")
    }
    found["details"].pop("notes", None)
    return found


def notes(result):
    return tuple(result.details.get("notes", ()))


def assert_same(result, by_hand, said):
    assert numbers(result) == numbers(by_hand)
    assert notes(result) == (*said, *notes(by_hand))


@pytest.mark.parametrize(("test", "kind"), CASES)
def test_drop_is_dropping_by_hand(test, kind):
    run = TESTS[test]
    models = MODELS[kind]
    result = run(models, X, Y_LOST, missing="drop")
    assert_same(result, run(some(models, KEPT), X_KEPT, Y_KEPT), (SAID,))
    assert result.n <= N - len(LOST)


@pytest.mark.parametrize("test", TESTS)
def test_nothing_is_missing(test):
    plain = TESTS[test](MODELS["tuple"], FRAME, Y)
    for missing in ("refuse", "drop", "level"):
        assert_same(TESTS[test](MODELS["tuple"], FRAME, Y, missing=missing), plain, ())


@pytest.mark.parametrize("test", TESTS)
def test_refused_by_default(test):
    whole = pd.Series(Y, index=X.index)
    for x, y, count, first in ((X[["a", "b"]], whole, 2, 4), (FRAME, Y_LOST, 2, 31)):
        with pytest.raises(
            NonFiniteError, match=rf"in {count} of 90 rows.* row {first}"
        ) as caught:
            TESTS[test](MODELS["tuple"], x, y)
        assert (caught.value.count, caught.value.first_row) == (count, first)
        assert "missing='drop'" in str(caught.value)
    with pytest.raises(
        InputError, match="missing must be one of 'refuse', 'drop', 'level', got 'omit'"
    ):
        TESTS[test](MODELS["tuple"], X, Y_LOST, missing="omit")


@pytest.mark.parametrize("test", FIXED)
@pytest.mark.parametrize("container", ["arrays", "polars", "lists"])
def test_containers(test, container):
    x = np.column_stack([X["a"], X["b"]])
    y = Y_LOST.to_numpy()
    lost = sorted({*NO_A, *NO_Y})
    kept = np.setdiff1d(np.arange(N), lost)
    by_hand = TESTS[test](some(MODELS["tuple"], kept), x[kept], y[kept])
    if container == "polars":
        x = pl.DataFrame(x, schema=["0", "1"])
        y = pl.Series("y", y)
        kept = kept.tolist()
        by_hand = TESTS[test](some(MODELS["tuple"], kept), x[kept], y[kept])
    elif container == "lists":
        y = [None if np.isnan(value) else value for value in y]
    result = TESTS[test](MODELS["tuple"], x, y, missing="drop")
    assert_same(result, by_hand, ("4 of 90 rows were left out because a value is missing",))


class TestGroups:
    @pytest.mark.parametrize("test", GROUPED)
    @pytest.mark.parametrize(
        ("kind", "groups"),
        [
            ("tuple", GROUPS),
            ("draws", GROUPS.tolist()),
            ("function", pd.Series(GROUPS, index=X.index)),
        ],
        ids=["array", "list", "series"],
    )
    def test_of_all_rows(self, test, kind, groups):
        run = TESTS[test]
        models = MODELS[kind]
        by_hand = run(some(models, KEPT), X_KEPT, Y_KEPT, groups=GROUPS[KEPT])
        assert_same(run(models, X, Y_LOST, missing="drop", groups=groups), by_hand, (SAID,))
        assert (
            by_hand.details["groups"] == len(np.unique(GROUPS[KEPT]))
            or test == "fscd-optimize"
        )

    @pytest.mark.parametrize("test", GROUPED)
    def test_named_by_a_column_of_x(self, test):
        run = TESTS[test]
        models = MODELS["tuple"]
        names = pd.Series([f"g{number}" for number in GROUPS], index=X.index)
        given = X.assign(g=names)
        kept = X_KEPT.assign(g=names.iloc[KEPT])
        by_hand = run(some(models, KEPT), kept, Y_KEPT, groups="g")
        assert_same(
            run(models, given, Y_LOST, missing="drop", groups="g"), by_hand, (SAID,)
        )
        given.iloc[LOST[0], given.columns.get_loc("g")] = None  # in a row that goes anyway
        assert_same(
            run(models, given, Y_LOST, missing="drop", groups="g"), by_hand, (SAID,)
        )

    @pytest.mark.parametrize("test", GROUPED)
    def test_level_keeps_all_rows(self, test):
        run = TESTS[test]
        models = MODELS["tuple"]
        result = run(models, X, Y, missing="level", groups=GROUPS)
        assert_same(result, run(models, X_LEVELS, Y, groups=GROUPS), LEVELS_SAID)

    @pytest.mark.parametrize("test", GROUPED)
    def test_a_group_that_is_missing_in_a_row_that_stays(self, test):
        groups = without(GROUPS.astype(float), [4, 5, 60])
        with pytest.raises(
            NonFiniteError, match=r"groups has missing .* in 2 of 90 rows.* row 5"
        ):
            TESTS[test](MODELS["tuple"], X, Y_LOST, missing="drop", groups=groups)

    @pytest.mark.parametrize("test", GROUPED)
    def test_groups_of_the_kept_rows_are_not_those_of_all(self, test):
        with pytest.raises(ShapeError, match=r"groups must have shape \(90,\)"):
            TESTS[test](MODELS["tuple"], X, Y_LOST, missing="drop", groups=GROUPS[KEPT])


class TestLevel:
    @pytest.mark.parametrize(
        ("test", "kind"),
        [case for case in CASES if case[0] != "calibration" and case[1] != "function"],
    )
    def test_as_made_by_hand(self, test, kind):
        run = TESTS[test]
        models = MODELS[kind]
        result = run(models, X, Y, missing="level")
        assert_same(result, run(models, X_LEVELS, Y), LEVELS_SAID)

    def test_calibration_looks_at_predictions_alone(self):
        result = TESTS["calibration"](MODELS["tuple"], X, Y, missing="level")
        assert_same(result, TESTS["calibration"](MODELS["tuple"], FRAME, Y), ())

    @pytest.mark.parametrize("test", TESTS)
    def test_y_has_no_level(self, test):
        with pytest.raises(
            NonFiniteError, match=r"y.* has NaN .* in 2 of 90 rows.* row 31"
        ):
            TESTS[test](MODELS["tuple"], X, Y_LOST, missing="level")

    @pytest.mark.parametrize("test", FIXED)
    def test_models_get_x_as_it_is(self, test):
        seen = []

        def mean(x):
            seen.append(x)
            return np.nan_to_num(of_x(x))

        models = (cg.models.Normal(mean=mean, std=1.0), MODELS["function"][1])
        result = TESTS[test](models, X, Y, missing="level")
        bound = ((np.where(MISSES, 0.0, A), np.ones(N)), (np.zeros(N), np.full(N, 2.0)))
        assert_same(result, TESTS[test](bound, X, Y, missing="level"), ())
        assert seen
        assert all(x.equals(X) for x in seen)


class TestModels:
    @pytest.mark.parametrize("test", FIXED)
    def test_predictions_may_be_missing_where_rows_go(self, test):
        run = TESTS[test]
        models = MODELS["tuple"]
        holes = [(without(mean, LOST), without(std, LOST[:2])) for mean, std in models]
        by_hand = run(some(models, KEPT), X_KEPT, Y_KEPT)
        assert_same(run(holes, X, Y_LOST, missing="drop"), by_hand, (SAID,))
        holes = [(without(mean, KEPT[5:]), std) for mean, std in models]
        with pytest.raises(
            NonFiniteError, match=r"(mean|samples) has NaN .* in \d+ of \d+ rows"
        ):
            run(holes, X, Y_LOST, missing="drop")

    @pytest.mark.parametrize("test", FIXED)
    @pytest.mark.parametrize("rows", [N - 1, N + 1, 7])
    def test_bound_to_other_rows(self, test, rows):
        models = [(np.zeros(rows), np.ones(rows))] * 2
        with pytest.raises(ShapeError, match=f"bound to {rows} rows and the sample has 85"):
            TESTS[test](models, X, Y_LOST, missing="drop")

    @pytest.mark.parametrize("test", FIXED)
    def test_bound_to_the_rows_that_are_kept(self, test):
        models = some(MODELS["tuple"], KEPT)
        by_hand = TESTS[test](models, X_KEPT, Y_KEPT)
        assert_same(TESTS[test](models, X, Y_LOST, missing="drop"), by_hand, (SAID,))

    @pytest.mark.parametrize(
        "test", ["adaptive", "kcsd", "compare", "rank", "calibration", "check"]
    )
    def test_classes(self, test):
        p, q = np.random.default_rng(1).dirichlet([2.0, 1.0, 1.0], size=(2, N))
        classes = ["air", "bus", "car"]
        y = pd.Series(without(KIND, NO_Y, None), index=X.index)
        models = [cg.probabilities(values, classes) for values in (p, q)]
        x = X[["a", "b"]]
        kept = np.setdiff1d(np.arange(N), [*NO_A, *NO_Y])
        by_hand = TESTS[test](
            [cg.probabilities(values[kept], classes) for values in (p, q)],
            x.iloc[kept],
            y.iloc[kept],
        )
        result = TESTS[test](models, x, y, missing="drop")
        assert_same(
            result, by_hand, ("4 of 90 rows were left out because a value is missing",)
        )

    def test_draws_of_several_columns(self):
        rng = np.random.default_rng(2)
        y = rng.normal(size=(N, 2))
        draws = rng.normal(size=(N, 30, 2))
        y[8, 1] = np.nan
        model = cg.from_draws(draws)
        kept = np.delete(np.arange(N), 8)
        for test in ("adaptive", "kcsd", "mmd"):
            result = TESTS[test]([model], FRAME, y, missing="drop")
            by_hand = TESTS[test]([model.take(kept)], FRAME.iloc[kept], y[kept])
            assert_same(
                result, by_hand, ("1 of 90 rows was left out because a value is missing",)
            )


def test_a_refuted_model_is_compared_on_the_rows_that_are_left():
    models = (cg.models.Exponential(1.0), cg.models.Normal(mean=of_x, std=1.0))
    for test in ("compare", "rank"):
        result = TESTS[test](models, X, Y_LOST, missing="drop")
        assert_same_but_notes(result, TESTS[test](models, X_KEPT, Y_KEPT))
        assert SAID in notes(result)


def assert_same_but_notes(result, by_hand):
    assert numbers(result) == numbers(by_hand)
    assert set(notes(result)) == {*notes(by_hand), SAID}


def test_all_that_check_says():
    how = {"groups": GROUPS, **SHORT}
    result = cg.check(MODELS["tuple"][0], X, Y_LOST, missing="drop", **how)
    how["groups"] = GROUPS[KEPT]
    by_hand = cg.check(some(MODELS["tuple"], KEPT)[0], X_KEPT, Y_KEPT, **how)
    found = result.to_dict()
    wanted = by_hand.to_dict()
    assert_same(result.result, by_hand.result, (SAID,))
    drawn = found["pictures"].pop("rows")
    drawn_by_hand = wanted["pictures"].pop("rows")
    for rows in ("points", "listed"):  # counted in the rows as they were passed
        assert drawn.pop(rows) == KEPT[drawn_by_hand.pop(rows)].tolist()
    assert drawn == drawn_by_hand
    for key in found.keys() - {"result", "details"}:
        assert found[key] == wanted[key], key
    assert SAID in result.notes
    level = cg.check(MODELS["tuple"][0], X, Y, missing="level", **SHORT)
    assert all(any(note in one for one in level.notes) for note in LEVELS_SAID)


def test_maps():
    models = MODELS["tuple"]
    p = some(MODELS["tuple"], KEPT)[0]
    at = X_KEPT.iloc[:6]
    for function in (cg.witness, cg.power_criterion):
        result = function(models[0], X, Y_LOST, at=at, rng=0, missing="drop")
        np.testing.assert_array_equal(result, function(p, X_KEPT, Y_KEPT, at=at, rng=0))


def test_calibration_without_x():
    for y, said in (
        (Y_LOST, ("2 of 90 rows were left out because a value is missing",)),
        (Y, ()),
    ):
        kept = np.flatnonzero(~np.isnan(y))
        result = TESTS["calibration"](MODELS["tuple"], None, y, missing="drop")
        by_hand = TESTS["calibration"](
            some(MODELS["tuple"], kept), None, np.asarray(y)[kept]
        )
        assert_same(result, by_hand, said)


def test_composite_with_a_statistic_of_ones_own():
    def spread(model, x, y):
        assert len(x) == len(y) == len(KEPT)
        mean, _ = model(x).mean_std()
        return float(np.abs(np.asarray(y) - mean[:, 0]).max())

    how = {"statistic": spread, "n_boot": 9, "rng": 3, "engine": 1}
    result = cg.composite(fit, X, Y_LOST, missing="drop", **how)
    assert_same(result, cg.composite(fit, X_KEPT, Y_KEPT, **how), (SAID,))


class TestWithoutX:
    MODEL = cg.models.Normal(mean=0.0, std=1.5)
    SAID = ("2 of 90 rows were left out because a value is missing",)

    @pytest.mark.parametrize("test", [cg.ksd, cg.fssd])
    def test_drop(self, test):
        kept = np.delete(np.arange(N), NO_Y)
        y = Y_LOST.to_numpy()
        assert_same(
            test(self.MODEL, y, missing="drop", **SHORT),
            test(self.MODEL, y[kept], **SHORT),
            self.SAID,
        )
        scores = cg.from_scores(-Y)
        result = test(scores, y, missing="drop", groups=GROUPS, **SHORT)
        by_hand = test(scores.take(kept), y[kept], groups=GROUPS[kept], **SHORT)
        assert_same(result, by_hand, self.SAID)

    @pytest.mark.parametrize("test", [cg.ksd, cg.fssd])
    @pytest.mark.parametrize("missing", [{}, {"missing": "level"}])
    def test_refused(self, test, missing):
        with pytest.raises(
            NonFiniteError, match=r"y.* has NaN .* in 2 of 90 rows.* missing='drop'"
        ):
            test(self.MODEL, Y_LOST, **missing)


class TestSources:
    @pytest.fixture
    def source(self, tmp_path):
        table = pd.DataFrame(
            {"a": A, "b": B, "y": Y, "m": A, "k": 0.5 * A, "s": np.ones(N)}
        )
        table.to_csv(tmp_path / "rows.csv", index=False)
        return cg.scan(tmp_path / "rows.csv", x=["a", "b"], y="y")

    MODELS = (cg.columns(mean="m", std="s"), cg.columns(mean="k", std="s"))
    STREAM = (
        "adaptive",
        "kcsd",
        "kcsd-lowrank",
        "fscd-optimize",
        "compare",
        "rank",
        "check",
    )
    MEMORY = ("mmd", "zheng", "calibration", "composite")

    @pytest.mark.parametrize("missing", ["drop", "level"])
    @pytest.mark.parametrize("test", STREAM)
    def test_of_files(self, source, test, missing):
        message = (
            f"missing='{missing}' is for rows in memory: leave rows with missing values out"
        )
        with pytest.raises(InputError, match=message):
            TESTS[test](self.MODELS, source, None, missing=missing)
        assert TESTS[test](self.MODELS, source, None, missing="refuse").n <= N

    @pytest.mark.parametrize("test", STREAM)
    def test_of_dask_arrays(self, test):
        x, y, m, s = (
            da.from_array(values, chunks=40) for values in (A[:, None], Y, A, np.ones(N))
        )
        with pytest.raises(InputError, match="missing='drop' is for rows in memory"):
            TESTS[test](((m, s), (m, s)), x, y, missing="drop")

    @pytest.mark.parametrize("function", [cg.witness, cg.power_criterion])
    def test_maps(self, source, function):
        with pytest.raises(InputError, match="missing='drop' is for rows in memory"):
            function(self.MODELS[0], source, at=[[0.0, 0.0]], missing="drop")

    def test_without_x(self, source):
        for solver in ("auto", "exact", "lowrank"):
            with pytest.raises(InputError, match="missing='drop' is for rows in memory"):
                cg.ksd(
                    cg.models.Normal(mean=0.0, std=1.0),
                    source,
                    missing="drop",
                    solver=solver,
                )

    @pytest.mark.parametrize("test", MEMORY)
    def test_of_tests_in_memory(self, source, test):
        with pytest.raises(InputTypeError, match="in memory"):
            TESTS[test](self.MODELS, source, None, missing="drop")


def test_what_cannot_be_tested():
    """So that the list of what tests cannot take stays true."""
    for kind, tests in CANNOT.items():
        for test in tests:
            with pytest.raises(UnsupportedModelError):
                TESTS[test](MODELS[kind] * 2, FRAME, Y)
