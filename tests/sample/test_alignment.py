"""Whatever has labels is matched by them, or refused: nothing is taken by position."""

import numpy as np
import pandas as pd
import pytest

import condgof as cg
from condgof.errors import InputError, InputTypeError

N = 80
RNG = np.random.default_rng(0)
X = RNG.normal(size=N)
Y = X + RNG.normal(size=N)
ORDER = RNG.permutation(N)
LABELS = pd.Index([f"row {i}" for i in range(N)])
FRAME = pd.DataFrame({"x": X}, index=LABELS)


def series(values, order=slice(None)):
    return pd.Series(values, index=LABELS).iloc[order]


def pvalue(model, x, y, **options):
    return cg.adaptive(model, x, y, n_boot=39, rng=0, **options).pvalue


class TestPredictions:
    @pytest.mark.parametrize("x", [X, FRAME], ids=["array", "frame"])
    def test_another_order_than_that_of_x_or_y_is_refused(self, x):
        """0.2 took them by position where x is an array."""
        predictions = series(X, ORDER), series(np.ones(N), ORDER)
        with pytest.raises(InputError, match="different indices"):
            pvalue(predictions, x, series(Y))

    @pytest.mark.parametrize(
        "law",
        [
            lambda: cg.from_draws(pd.DataFrame(RNG.normal(size=(N, 9)), LABELS[ORDER])),
            lambda: cg.from_pit(series(np.full(N, 0.5), ORDER)),
            lambda: cg.from_intervals(series(X - 1, ORDER), series(X + 1, ORDER), 0.9),
            lambda: cg.models.Gamma(shape=series(np.ones(N), ORDER), scale=1.0),
        ],
        ids=["draws", "pit", "intervals", "gamma"],
    )
    def test_of_all_kinds(self, law):
        with pytest.raises(InputError, match="different indices"):
            pvalue(law(), X, series(np.abs(Y)))

    def test_the_same_order_is_fine(self):
        wanted = pvalue((X, np.ones(N)), X, Y)
        assert pvalue((series(X), 1.0), X, series(Y)) == wanted
        assert pvalue((series(X), 1.0), FRAME, Y) == wanted

    def test_a_single_row_has_no_label(self):
        wanted = pvalue((0.0, 1.0), X, Y)
        assert pvalue((pd.DataFrame({"m": [0.0]}), 1.0), FRAME, Y) == wanted


class TestRows:
    @pytest.mark.parametrize("x", [X, FRAME], ids=["array", "frame"])
    def test_events(self, x):
        times = series(RNG.exponential(size=N))
        event = (np.arange(N) % 3 > 0).astype(float)
        entry = np.asarray(times) * 0.1
        model = cg.models.Exponential(scale=1.0)
        wanted = pvalue(model, x, times, event=event, entry=entry)
        shuffled = {"event": series(event, ORDER), "entry": series(entry, ORDER)}
        assert pvalue(model, x, times, **shuffled) == wanted

    @pytest.mark.parametrize("x", [X, FRAME], ids=["array", "frame"])
    def test_groups_by_and_masks(self, x):
        codes = np.arange(N) % 8
        options = {"n_boot": 39, "rng": 0, "alpha": 0.1}
        model = X, np.ones(N)
        plain = cg.check(
            model, x, series(Y), groups=codes, by=codes % 2, slices=[X > 0], **options
        )
        labelled = cg.check(
            model,
            x,
            series(Y),
            groups=series(codes, ORDER),
            by=series(codes % 2, ORDER),
            slices=[series(X > 0, ORDER)],
            **options,
        )
        assert labelled.result.pvalue == plain.result.pvalue
        for one, other in zip(labelled.groups, plain.groups, strict=True):
            assert (one.rows == other.rows).all()

    def test_labels_that_do_not_match(self):
        other = pd.Series(np.ones(N), index=[f"other {i}" for i in range(N)])
        with pytest.raises(InputError, match="cannot be matched"):
            pvalue(cg.models.Exponential(scale=1.0), FRAME, np.abs(Y), event=other)


class TestClasses:
    P = 1 / (1 + np.exp(-X))

    @pytest.mark.parametrize(
        ("names", "labels"),
        [
            ([1, 0], [0, 1]),
            (["1", "0"], [0, 1]),
            ([1.0, 0.0], [0, 1]),
            ([True, False], [0, 1]),
            (["p_1", "p_0"], [0, 1]),
            ([7, 5], [5, 7]),
            (["yes", "no"], ["no", "yes"]),
        ],
    )
    def test_columns_are_matched_by_name(self, names, labels):
        """0.2 took the first column as the class 0 whatever its name."""
        rng = np.random.default_rng(1)
        y = np.array(labels)[(rng.random(N) < self.P).astype(int)]
        table = pd.DataFrame(np.column_stack([self.P, 1 - self.P]), columns=names)
        wanted = cg.probabilities(np.column_stack([self.P, 1 - self.P]), labels[::-1])
        assert pvalue(cg.probabilities(table), X, y) == pvalue(wanted, X, y)
        ordered = cg.probabilities(np.column_stack([1 - self.P, self.P]), labels)
        named = cg.probabilities(table, labels)
        if not str(names[0]).startswith("p_"):
            assert pvalue(named, X, y) == pvalue(ordered, X, y)

    def test_names_and_classes_that_differ(self):
        table = pd.DataFrame({"cat": self.P, "dog": 1 - self.P})
        with pytest.raises(InputError, match="columns of P are 'cat', 'dog', and the cl"):
            cg.probabilities(table, ["cat", "cow"])

    def test_percentages(self):
        with pytest.raises(InputError, match="look like percentages: pass P / 100"):
            cg.probabilities(np.full((N, 2), 50.0))


class TestText:
    @pytest.mark.parametrize(
        ("write", "what"),
        [
            (lambda i: f"{i % 7},5", "a number with a decimal comma"),
            (lambda i: f"{i % 9 + 1},000", "a number with separators of thousands"),
            (lambda i: f"{i % 9 + 1} 000", "a number with separators of thousands"),
            (lambda i: f"2020-01-{i % 28 + 1:02d}", "a date"),
            (lambda i: f"{i % 28 + 1}.1.2020", "a date"),
            (lambda i: f"{i % 30}%", "a percentage"),
            (lambda i: f"${i % 30}", "an amount of money"),
            (lambda i: f"{i % 30} €", "an amount of money"),
            (lambda i: f"{i % 30}.5", "a number"),
            (lambda i: f"{i % 30}" if i != 5 else "unknown", "text among numbers"),
        ],
    )
    @pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
    def test_numbers_as_text_are_refused(self, write, what, library):
        texts = [write(i) for i in range(N)]
        frame = pytest.importorskip(library)
        make = frame.table if library == "pyarrow" else frame.DataFrame
        x = make({"x": X, "c": texts})
        row = 5 if what == "text among numbers" else 0
        with pytest.raises(InputTypeError) as caught:
            pvalue((X, 1.0), x, Y)
        assert f"{texts[row]!r} ({what}) in row {row} (counted from 0)" in str(caught.value)
        assert "astype('category')" in str(caught.value)

    @pytest.mark.parametrize(
        "texts",
        [
            ["Oslo", "Rome"],
            ["02139", "10115"],
            ["A1", "B2", "3"],
            ["18-24", "25-64", "65+"],
            ["1", "a"],
            ["first", "2nd"],
        ],
    )
    def test_words_and_codes_stay_categories(self, texts):
        column = [texts[i % len(texts)] for i in range(N)]
        x = pd.DataFrame({"x": X, "c": column})
        assert 0 < pvalue((X, 1.0), x, Y) <= 1

    def test_a_category_says_that_text_is_meant(self):
        column = pd.Categorical([str(i % 3) for i in range(N)])
        assert 0 < pvalue((X, 1.0), pd.DataFrame({"x": X, "c": column}), Y) <= 1

    @pytest.mark.parametrize("ordered", [False, True])
    def test_categories_that_are_the_same_as_text(self, ordered):
        """0.2 merged '1' and 1."""
        values = [["1", 1, "a"][i % 3] for i in range(N)]
        column = pd.Categorical(values, ["1", 1, "a"], ordered=ordered)
        with pytest.raises(InputError, match="as text"):
            pvalue((X, 1.0), pd.DataFrame({"x": X, "c": column}), Y)

    def test_identifiers_beyond_doubles(self):
        x = pd.DataFrame({"x": X, "id": 2**60 + np.arange(N)})
        with pytest.raises(InputError, match=r"'id' holds whole numbers.*identifier"):
            pvalue((X, 1.0), x, Y)

    def test_sparse_matrices(self):
        sparse = pytest.importorskip("scipy.sparse")
        with pytest.raises(InputTypeError, match=r"sparse matrix. Pass x\.toarray"):
            pvalue((X, 1.0), sparse.csr_matrix(X[:, None]), Y)
