"""What may be passed as x and y, and what is said when it may not."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import condgof as cg
from condgof.errors import (
    CondgofError,
    InputError,
    InputTypeError,
    NonFiniteError,
    ShapeError,
)
from condgof.sample import Sample, Seed, Use

N = 40
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
Y = X.sum(axis=1) + RNG.normal(size=N)
SCORES = X.sum(axis=1) - Y


def statistic(x, y, scores=SCORES, **options):
    return cg.kcsd(cg.from_scores(scores), x, y, n_boot=5, rng=0, **options).statistic


WANTED = statistic(X, Y)


class TestWhatJustWorks:
    @pytest.mark.parametrize(
        "change",
        [
            lambda a: a.tolist(),
            lambda a: np.asfortranarray(a),
            lambda a: np.repeat(a, 2, axis=0)[::2],
            lambda a: a.astype(np.longdouble),
            lambda a: pd.DataFrame(a) if a.ndim == 2 else pd.Series(a),
            lambda a: pl.DataFrame(a) if a.ndim == 2 else pl.Series(a),
            lambda a: pd.DataFrame(a).astype("Float64"),
            lambda a: np.ma.masked_array(a),
        ],
        ids=[
            "lists",
            "fortran",
            "strided",
            "longdouble",
            "pandas",
            "polars",
            "nullable",
            "unmasked",
        ],
    )
    def test_the_same_numbers_in_another_form(self, change):
        assert statistic(change(X), change(Y)) == pytest.approx(WANTED, rel=1e-12)

    def test_read_only_arrays_stay_as_they_are(self):
        x = X.copy()
        y = Y.copy()
        s = SCORES.copy()
        for array in (x, y, s):
            array.flags.writeable = False
        assert statistic(x, y, s) == WANTED

    def test_float32_and_integers(self):
        assert statistic(X.astype(np.float32), Y.astype(np.float32)) == pytest.approx(
            WANTED, rel=1e-4
        )
        whole_x = np.round(10 * X).astype(int)
        whole_y = np.round(10 * Y).astype(int)
        assert statistic(whole_x, whole_y) == pytest.approx(
            statistic(whole_x.astype(float), whole_y.astype(float))
        )
        assert np.isfinite(statistic(X > 0, Y))

    def test_one_column_as_a_vector_or_a_matrix(self):
        assert statistic(X[:, 0], Y) == statistic(X[:, :1], Y[:, None], SCORES[:, None])

    def test_nothing_of_the_callers_is_changed(self):
        frame = pd.DataFrame(X, columns=["a", "b"]).assign(c=list("xyzw") * 10)
        x_before = X.copy()
        y_before = Y.copy()
        scores_before = SCORES.copy()
        frame_before = frame.copy(deep=True)
        state = np.random.get_state()
        model = cg.normal(mean=X.sum(axis=1), std=np.ones(N))
        cg.kcsd(model, X, Y, rng=0)
        cg.fscd(cg.from_scores(SCORES), X, Y, rng=0)
        cg.kcsd(cg.from_scores(SCORES), frame, Y, rng=0)
        cg.power_criterion(cg.from_scores(SCORES), X, Y, at=X)
        np.testing.assert_array_equal(X, x_before)
        np.testing.assert_array_equal(Y, y_before)
        np.testing.assert_array_equal(SCORES, scores_before)
        pd.testing.assert_frame_equal(frame, frame_before)
        assert all(
            np.array_equal(a, b) for a, b in zip(state, np.random.get_state(), strict=True)
        )

    def test_a_later_change_of_the_callers_array_does_not_reach_a_sample(self):
        x = X.copy()
        sample = Sample.from_data(x, Y)
        x[:] = 0
        assert sample.x.any()

    def test_a_constant_column_is_left_out_and_noted(self):
        x = np.column_stack([X, np.full(N, 7.0)])
        result = cg.kcsd(cg.from_scores(SCORES), x, Y, n_boot=5, rng=0)
        assert result.statistic == pytest.approx(WANTED, rel=1e-12)
        assert "constant: 'x3'" in str(result)


class TestFrames:
    FRAME = pd.DataFrame({"a": X[:, 0], "kind": ["u", "v", "w", "u"] * 10})

    @pytest.mark.parametrize(
        "frame",
        [
            FRAME,
            FRAME.astype({"kind": "category"}),
            FRAME.astype({"kind": "string"}),
            FRAME.astype({"kind": object}),
            pl.DataFrame({"a": X[:, 0], "kind": ["u", "v", "w", "u"] * 10}),
            pl.DataFrame({"a": X[:, 0], "kind": ["u", "v", "w", "u"] * 10}).with_columns(
                pl.col("kind").cast(pl.Categorical)
            ),
        ],
        ids=["str", "category", "string", "object", "polars", "polars-categorical"],
    )
    def test_text_columns_get_the_categorical_kernel(self, frame):
        result = cg.kcsd(cg.from_scores(SCORES), frame, Y, n_boot=5, rng=0)
        assert "Categorical(0.5).on('kind')" in repr(result.kernel_x)
        codes = np.column_stack([X[:, 0], [0, 1, 2, 0] * 10])
        kernel = cg.Gaussian(result.kernel_x.factors[0].kernel.bandwidth).on(0)
        by_hand = cg.kcsd(
            cg.from_scores(SCORES),
            codes,
            Y,
            kernel_x=kernel * cg.Categorical().on(1),
            n_boot=5,
            rng=0,
        )
        assert result.statistic == pytest.approx(by_hand.statistic, rel=1e-12)

    def test_models_get_the_frame(self):
        model = cg.models.Normal(mean=lambda x: x["a"].to_numpy(), std=1.0)
        assert np.isfinite(cg.kcsd(model, self.FRAME, Y, n_boot=5, rng=0).statistic)
        result = cg.fscd(model, self.FRAME, Y, n_boot=5, rng=0, n_locations=2)
        rows = {(a, float("uvw".index(k))) for a, k in self.FRAME.itertuples(index=False)}
        assert all(tuple(v) in rows for v in result.locations)

    def test_a_shuffled_index_changes_nothing(self):
        order = np.random.default_rng(1).permutation(N)
        frame = pd.DataFrame(X, columns=["a", "b"], index=order)
        model = cg.models.Normal(mean=lambda x: x["a"] + x["b"], std=1.0)
        plain = cg.fscd(
            model, pd.DataFrame(X, columns=["a", "b"]), pd.Series(Y), rng=0, n_boot=50
        )
        mixed = cg.fscd(model, frame, pd.Series(Y, index=order), rng=0, n_boot=50)
        assert mixed.pvalue == plain.pvalue
        assert mixed.statistic == plain.statistic

    def test_locations_as_a_frame(self):
        at = pd.DataFrame({"kind": ["w", "u"], "a": [0.0, 1.0]})
        assert cg.witness(cg.from_scores(SCORES), self.FRAME, Y, at=at).shape == (2,)
        with pytest.raises(InputError, match="'q' is not a level of column 'kind'"):
            cg.witness(cg.from_scores(SCORES), self.FRAME, Y, at=at.assign(kind="q"))
        with pytest.raises(InputError, match="lacks the column 'a'"):
            cg.witness(cg.from_scores(SCORES), self.FRAME, Y, at=at[["kind"]])
        with pytest.raises(InputTypeError, match="Pass a frame with the columns"):
            cg.witness(cg.from_scores(SCORES), self.FRAME, Y, at=[[0.0, 1.0]])

    @pytest.mark.parametrize(
        ("column", "message"),
        [
            (["u", None] * 20, "missing values in 20 of 40 rows, the first in row 1"),
            (pd.timedelta_range("1h", periods=N), "neither numeric nor text"),
            (
                [1.0, np.nan] * 20,
                "NaN or infinite values in 20 of 40 rows, the first in row 1",
            ),
            ([1j] * N, "neither numeric nor text"),
            ([{"a": 1}] * N, "neither numeric nor text"),
            (
                pd.array([1, None] * 20, dtype="Int64"),
                "in 20 of 40 rows, the first in row 1",
            ),
        ],
    )
    def test_bad_columns(self, column, message):
        with pytest.raises(CondgofError, match=message):
            cg.kcsd(cg.from_scores(SCORES), self.FRAME.assign(bad=column), Y)

    @pytest.mark.parametrize("dtype", [object, "str", "string", "category"])
    def test_digits_that_are_text_stay_text(self, dtype):
        """A postal code is no number, whichever way the frame holds its strings."""
        frame = self.FRAME.assign(zip=pd.Series(["02139", "10027"] * 20, dtype=dtype))
        result = cg.kcsd(cg.from_scores(SCORES), frame, Y, n_boot=5, rng=0)
        assert "Categorical(0.5).on('kind', 'zip')" in repr(result.kernel_x)
        with pytest.raises(InputTypeError, match="y"):
            cg.kcsd(cg.from_scores(SCORES), X, pd.Series(["0.3", "0.4"] * 20, dtype=object))

    def test_polars_structs_are_refused(self):
        frame = pl.DataFrame({"a": X[:, 0], "s": [{"u": 1}] * N})
        with pytest.raises(ShapeError, match="holds arrays, not numbers"):
            cg.kcsd(cg.from_scores(SCORES), frame, Y)
        with pytest.raises(ShapeError, match="holds arrays, not numbers"):
            cg.kcsd(cg.from_scores(SCORES), pl.DataFrame({"a": X}), Y)

    def test_categorical_locations_are_named(self):
        result = cg.fscd(
            cg.from_scores(SCORES),
            self.FRAME,
            Y,
            locations="random",
            n_locations=2,
            n_boot=5,
            rng=0,
        )
        for label, point in zip(
            result.details["location_labels"], result.locations, strict=True
        ):
            assert label["a"] == point[0]
            assert label["kind"] == "uvw"[int(point[1])]
        assert "kind=" in str(result)

    def test_text_in_y(self):
        with pytest.raises(InputTypeError, match="y column 'kind' holds text"):
            cg.kcsd(cg.from_scores(SCORES), X, self.FRAME[["kind"]])

    def test_an_empty_frame(self):
        with pytest.raises(ShapeError, match=r"x is empty, got \(40, 0\)"):
            cg.kcsd(cg.from_scores(SCORES), pd.DataFrame(index=range(N)), Y)


def with_bad(a, *rows, value=np.nan):
    a = a.copy()
    a[list(rows)] = value
    return a


class TestBadInput:
    @pytest.mark.parametrize(
        ("x", "y", "error", "message"),
        [
            (X[:30], Y, ShapeError, "x has 30 rows and y has 40"),
            (X[:2], Y[:2], ShapeError, "at least 3 rows, got 2"),
            (X[:0], Y[:0], ShapeError, "empty"),
            ([], [], ShapeError, "empty"),
            (
                with_bad(X, 3, 7),
                Y,
                NonFiniteError,
                "x has NaN .* 2 of 40 rows, the first in row 3",
            ),
            (
                X,
                with_bad(Y, 9),
                NonFiniteError,
                "y has NaN .* 1 of 40 rows, the first in row 9",
            ),
            (X, with_bad(Y, 9, value=np.inf), NonFiniteError, "y has NaN or infinite"),
            (
                X.astype(object),
                Y,
                InputTypeError,
                "x must be real numbers, got an array of object",
            ),
            (X, Y.astype(complex), InputTypeError, "got an array of complex128 values"),
            (
                np.array(["a"] * N),
                Y,
                InputTypeError,
                "text columns of x are fine in a frame",
            ),
            (X, np.array(["2020-01-01"] * N, dtype="M8[D]"), InputTypeError, "datetime64"),
            (X, np.full(N, 3.0), InputError, "y is constant"),
            (np.ones((N, 2)), Y, InputError, "Every column of x is constant"),
            (np.ones(N), np.ones(N), InputError, "x is constant"),
            (
                X[:, :, None],
                Y,
                ShapeError,
                r"x must have shape \(n,\) or \(n, d\), got \(40, 2, 1\)",
            ),
            (X[:, :0], Y, ShapeError, r"x is empty, got \(40, 0\)"),
            (3.0, Y, ShapeError, "a single float"),
            (None, Y, InputTypeError, "x is missing"),
            ([[1, 2], [3]] * 20, Y, InputTypeError, "x cannot be read"),
            (np.ma.masked_array(X[:, 0], X[:, 0] > 0), Y, NonFiniteError, "x has NaN"),
        ],
    )
    def test_data(self, x, y, error, message):
        with pytest.raises(error, match=message) as caught:
            cg.kcsd(cg.models.Normal(mean=0.0, std=1.0), x, y)
        assert isinstance(caught.value, (ValueError, TypeError))

    def test_counts_are_on_the_error(self):
        with pytest.raises(NonFiniteError) as caught:
            cg.kcsd(cg.from_scores(SCORES), with_bad(X, 3, 7), Y)
        assert (caught.value.count, caught.value.first_row) == (2, 3)

    @pytest.mark.parametrize("shape", [(N, N), (1, N), (N, 2), (N + 1,), (N - 1, 1)])
    def test_arrays_of_scores(self, shape):
        with pytest.raises(ShapeError):
            cg.kcsd(cg.from_scores(np.zeros(shape)), X, Y)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_scores_that_are_not_finite(self, value):
        with pytest.raises(
            NonFiniteError, match=r"scores .* in 2 of 40 rows, the first in row 5"
        ):
            cg.kcsd(cg.from_scores(with_bad(SCORES, 5, 6, value=value)), X, Y)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"kernel_y": cg.Matern12(1.0)}, "Matern12 cannot serve on y"),
            ({"kernel_x": 1.0}, "kernel_x must be a kernel"),
            ({"kernel_y": "gaussian"}, "kernel_y must be a radial kernel"),
            ({"n_boot": 0}, "n_boot must be at least 1"),
            ({"n_boot": 2.5}, "n_boot must be an integer"),
            ({"solver": "magic"}, "solver must be one of"),
            ({"null": "magic"}, "null must be one of"),
            ({"scale_x": "magic"}, "scale_x must be"),
            ({"rng": "0"}, "rng must be"),
            ({"rng": -1}, "rng must not be negative"),
            ({"engine": 0}, "engine must be at least 1"),
            ({"memory": 10}, "memory must be at least"),
        ],
    )
    def test_options(self, options, message):
        with pytest.raises(CondgofError, match=message):
            cg.kcsd(cg.from_scores(SCORES), X, Y, **options)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"n_locations": 0}, "n_locations must be at least 1"),
            ({"n_locations": 1.5}, "n_locations must be an integer"),
            ({"train_fraction": 0.0}, "between 0 and 1"),
            ({"train_fraction": 1.0}, "between 0 and 1"),
            ({"train_fraction": -0.2}, "between 0 and 1"),
            ({"train_fraction": np.nan}, "between 0 and 1"),
            ({"train_fraction": "half"}, "between 0 and 1"),
            ({"train_fraction": 0.01}, "leaves 0 of 40 rows to train on"),
            ({"train_fraction": 0.99}, "and 0 to test on"),
            ({"locations": "best"}, "locations must be"),
            (
                {"locations": np.zeros((2, 3))},
                r"locations must have shape \(m, 2\), got \(2, 3\)",
            ),
            ({"locations": np.zeros(2)}, r"locations must have shape \(m, 2\), got \(2,\)"),
            ({"locations": np.zeros((0, 2))}, "holds no location"),
            ({"locations": [[np.nan, 0.0]]}, "locations has NaN"),
            ({"locations": [["a", "b"]]}, "locations must be real numbers"),
        ],
    )
    def test_options_of_fscd(self, options, message):
        with pytest.raises(CondgofError, match=message):
            cg.fscd(cg.from_scores(SCORES), X, Y, **options)

    @pytest.mark.parametrize(
        "options",
        [
            {"locations": "best"},
            {"locations": np.zeros((2, 3))},
            {"locations": [["a"]]},
            {"n_locations": 0},
        ],
    )
    def test_options_of_fssd(self, options):
        with pytest.raises(CondgofError, match="locations"):
            cg.fssd(cg.from_scores(SCORES), Y, **options)

    def test_options_are_by_keyword_only(self):
        with pytest.raises(TypeError):
            cg.kcsd(cg.from_scores(SCORES), X, Y, cg.Gaussian())

    @pytest.mark.parametrize("size", [1e160, 1e200])
    def test_scores_that_overflow(self, size):
        huge = SCORES * size
        for run in (
            lambda: cg.kcsd(cg.from_scores(huge), X, Y),
            lambda: cg.kcsd(cg.from_scores(huge), X, Y, solver="lowrank"),
            lambda: cg.fscd(cg.from_scores(huge), X, Y),
            lambda: cg.fssd(cg.from_scores(huge), Y),
            lambda: cg.witness(cg.from_scores(huge), X, Y, at=X[:2]),
            lambda: cg.power_criterion(cg.from_scores(huge), X, Y, at=X[:2]),
        ):
            with pytest.raises(InputError, match="overflow"), np.errstate(all="ignore"):
                run()

    def test_a_model_that_writes_into_x_does_not_change_the_callers(self):
        x = X.copy()

        def score(y, x):
            x *= 0
            return -y

        cg.kcsd(cg.from_score(score), x, Y, n_boot=2, rng=0)
        np.testing.assert_array_equal(x, X)

    def test_complex_locations(self):
        with pytest.raises(InputTypeError, match="complex"):
            cg.witness(cg.from_scores(SCORES), X, Y, at=X[:2] + 1j)

    def test_huge_values(self):
        with pytest.raises(InputError, match="overflow"):
            cg.kcsd(cg.from_scores(SCORES), X * 1e200, Y)


class TestSeed:
    def test_a_generator_is_advanced(self):
        rng = np.random.default_rng(0)
        first = cg.kcsd(cg.from_scores(SCORES), X, Y, rng=rng)
        second = cg.kcsd(cg.from_scores(SCORES), X, Y, rng=rng)
        assert first.seed != second.seed
        again = cg.kcsd(cg.from_scores(SCORES), X, Y, rng=np.random.default_rng(0))
        np.testing.assert_array_equal(first.null_distribution, again.null_distribution)

    def test_fresh_entropy_is_kept(self):
        fresh = cg.kcsd(cg.from_scores(SCORES), X, Y)
        again = cg.kcsd(cg.from_scores(SCORES), X, Y, rng=fresh.seed)
        np.testing.assert_array_equal(fresh.null_distribution, again.null_distribution)
        assert cg.kcsd(cg.from_scores(SCORES), X, Y).seed != fresh.seed

    def test_uses_have_streams_of_their_own(self):
        seed = Seed.of(3)
        assert seed.stream(Use.SPLIT).integers(2**60) != seed.stream(
            Use.BOOTSTRAP
        ).integers(2**60)
        assert seed.stream(Use.SPLIT, 1).integers(2**60) != seed.stream(Use.SPLIT).integers(
            2**60
        )


class TestWhatOnceBroke:
    """Each of these once gave a wrong result, or an error of another library."""

    def test_masked_scores_means_and_locations_are_missing(self):
        masked = np.ma.masked_where(np.arange(N) < 5, SCORES)
        for run in (
            lambda: cg.kcsd(cg.from_scores(masked), X, Y),
            lambda: cg.kcsd((masked, np.ones(N)), X, Y),
            lambda: cg.kcsd(cg.from_score(lambda y, x: masked), X, Y),
            lambda: cg.witness(
                cg.from_scores(SCORES), X, Y, at=np.ma.masked_greater(X[:3], -9)
            ),
        ):
            with pytest.raises(NonFiniteError):
                run()

    @pytest.mark.parametrize(
        "at", [[["1", "2"]], np.array([["2020-01-01"] * 2], dtype="M8[D]")]
    )
    def test_locations_are_read_like_x(self, at):
        for run in (
            lambda: cg.witness(cg.from_scores(SCORES), X, Y, at=at),
            lambda: cg.fssd(
                cg.from_scores(np.c_[SCORES, SCORES]), np.c_[Y, X[:, 0]], locations=at
            ),
        ):
            with pytest.raises(InputTypeError, match=r"real numbers|must hold numbers"):
                run()

    def test_a_series_is_a_frame_of_one_column(self):
        levels = pd.Series([1, 2] * 20, dtype="category")
        assert "Categorical" in repr(
            cg.kcsd(cg.from_scores(SCORES), levels, Y, n_boot=2).kernel_x
        )
        with pytest.raises(InputTypeError, match="must be numeric"):
            cg.kcsd(cg.from_scores(SCORES), X, levels)
        named = cg.kcsd(
            cg.from_scores(SCORES),
            pd.Series(X[:, 0], name="age").to_frame(),
            Y,
            kernel_x=cg.IMQ().on("age"),
        )
        assert (
            named.kernel_x
            == cg.kcsd(
                cg.from_scores(SCORES), pd.Series(X[:, 0], name="age"), Y, kernel_x=cg.IMQ()
            ).kernel_x
        )

    def test_missing_levels_of_any_type(self):
        values = np.array([1.0, np.nan] * 20, dtype=np.float32)
        frame = pd.DataFrame({"a": X[:, 0], "c": pd.Categorical(values)})
        with pytest.raises(NonFiniteError, match="missing values in 20 of 40 rows"):
            cg.kcsd(cg.from_scores(SCORES), frame, Y)

    def test_missing_booleans_are_counted(self):
        frame = pl.DataFrame({"a": X[:, 0], "b": [True, None] * 20})
        with pytest.raises(NonFiniteError, match="20 of 40"):
            cg.kcsd(cg.from_scores(SCORES), frame, Y)

    def test_frames_of_locations_by_name_or_position(self):
        frame = pd.DataFrame(X, columns=[0, 1])
        wanted = cg.witness(cg.from_scores(SCORES), X, Y, at=X[:3])
        np.testing.assert_allclose(
            cg.witness(cg.from_scores(SCORES), frame, Y, at=frame[:3]), wanted
        )
        np.testing.assert_allclose(
            cg.witness(cg.from_scores(SCORES), frame, Y, at=frame[:3][[1, 0]]), wanted
        )
        np.testing.assert_allclose(
            cg.witness(cg.from_scores(SCORES), X, Y, at=frame[:3]), wanted
        )
        twice = pd.DataFrame(X[:3], columns=["a", "a"])
        with pytest.raises(InputError, match="two columns of the same name"):
            cg.witness(
                cg.from_scores(SCORES), pd.DataFrame(X, columns=["a", "b"]), Y, at=twice
            )
        text = pd.DataFrame({"a": ["u"], "b": ["v"]})
        with pytest.raises(InputTypeError, match="must hold numbers"):
            cg.witness(
                cg.from_scores(SCORES), pd.DataFrame(X, columns=["a", "b"]), Y, at=text
            )

    def test_levels_held_as_numbers_get_locations_at_levels(self):
        x = np.c_[X[:, 0], np.arange(N) % 3]
        kernel = cg.Gaussian().on(0) * cg.Categorical(0.0).on(1)
        result = cg.fscd(
            cg.from_scores(SCORES + 5), x, Y, locations="random", kernel_x=kernel, rng=0
        )
        assert set(result.locations[:, 1]) <= {0.0, 1.0, 2.0}
        assert result.reject()

    def test_a_statistic_of_zero_up_to_rounding_is_no_evidence(self):
        """Locations so far apart in bandwidths that no two rows share one."""
        for seed in range(20):
            z = np.random.default_rng(seed).normal(size=(60, 3))
            result = cg.fssd(
                cg.from_scores(-z), z, locations=z[:3], kernel_y=cg.Gaussian(0.01), rng=0
            )
            assert result.statistic == 0.0
            assert result.pvalue == 1.0

    def test_offsets_lose_no_digits(self):
        """Seconds since 1970 with a bandwidth below a second."""
        rng = np.random.default_rng(0)
        x = rng.integers(0, 60 * 1024, N) / 1024.0
        kernel = {"kernel_x": cg.Gaussian(0.7)}
        for run in (
            lambda t: cg.witness(cg.from_scores(SCORES), t, Y, at=t[:4], **kernel),
            lambda t: cg.power_criterion(cg.from_scores(SCORES), t, Y, at=t[:4], **kernel),
            lambda t: (
                cg.fscd(
                    cg.from_scores(SCORES), t, Y, locations=t[:4], n_boot=1, **kernel
                ).statistic
            ),
            lambda t: cg.kcsd(cg.from_scores(SCORES), t, Y, n_boot=1, **kernel).statistic,
        ):
            np.testing.assert_allclose(run(x + 1.7e9), run(x), rtol=1e-10)

    def test_extreme_bandwidths_and_scales(self):
        for bandwidth in (1e-200, 1e155, 10**400):
            with pytest.raises(InputError, match="bandwidth"):
                cg.Gaussian(bandwidth)
        with pytest.raises(InputError, match=r"Rescale"):
            cg.fscd(cg.from_scores(SCORES), X, Y * 1e-160)
        with pytest.raises(InputError, match=r"Rescale"):
            cg.kcsd(
                cg.from_scores(SCORES),
                X * 1e160,
                Y,
                scale_x="std",
                kernel_x=cg.Gaussian(1.0),
            )
        laws = [cg.from_scores(SCORES * k) for k in (1e50, 1e100)]
        options = {"at": X[:3], "kernel_y": cg.Gaussian(1e3)}
        small, large = (cg.power_criterion(law, X, Y, **options) for law in laws)
        np.testing.assert_allclose(large, small, rtol=1e-9)

    def test_almost_constant_y_does_not_hang_on_the_seed(self):
        y = np.zeros(3000)
        y[1234] = 1.0
        x = np.random.default_rng(0).normal(size=3000)
        assert {
            cg.ksd(cg.from_scores(-y), y, rng=seed, n_boot=5).kernel_y.bandwidth
            for seed in range(5)
        } == {1.0}
        assert cg.kcsd(cg.from_scores(-y), x, y, rng=3, n_boot=5).pvalue > 0

    @pytest.mark.parametrize(
        "name", ["null", "n_boot", "solver", "scale_x", "precision", "engine"]
    )
    @pytest.mark.parametrize("value", [["wild"], np.array([5, 6]), np.ones(2), object()])
    def test_odd_options(self, name, value):
        with pytest.raises(CondgofError, match=name):
            cg.kcsd(cg.from_scores(SCORES), X, Y, **{name: value})

    def test_odd_kernels(self):
        for similarity in ("a", None, np.array([0.5])):
            with pytest.raises(InputError, match="similarity"):
                cg.Categorical(similarity)
        with pytest.raises(InputError, match="twice"):
            cg.Gaussian().on(0, 0)
        twice = pd.DataFrame(X, columns=["a", "a"])
        with pytest.raises(InputError, match="two columns of the same name"):
            cg.kcsd(cg.from_scores(SCORES), twice, Y, kernel_x=cg.Gaussian().on("a"))
        assert (
            cg.kcsd(
                cg.from_scores(SCORES),
                X,
                Y,
                kernel_x=cg.Gaussian().on(np.int64(1)),
                engine=np.int64(2),
            ).n
            == N
        )

    def test_what_models_return(self):
        class NeedsGrad:
            def __array__(self, *args, **kwargs):
                raise RuntimeError("call detach() first")

        for bad in ([[1.0, 2.0], [3.0]], NeedsGrad()):
            for model in (
                lambda b=bad: cg.from_score(lambda y, x: b),
                lambda b=bad: cg.from_log_prob(lambda y, x: b),
                lambda b=bad: cg.normal(mean=b, std=1.0),
            ):
                with pytest.raises(InputTypeError, match="cannot be read"):
                    cg.kcsd(model(), X, Y)
        with pytest.raises(InputTypeError, match="not some of each"):
            cg.as_model((lambda x: x, np.ones(N)))
        with pytest.raises(InputError, match="not symmetric"):
            cg.ksd(cg.models.Normal(mean=[[0.0, 0.0]], cov=[[1, 0.9], [0, 1]]), X)
        scores = SCORES.copy()
        model = cg.from_scores(scores)
        scores[:] = 0
        assert model(X).score(Y).any()
