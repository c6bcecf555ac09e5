"""What was found wrong in versions 0.1 and 0.2, where no other test has it; numbers are of
the lists made then.
"""

import errno
import os
import re
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import condgof as cg
from condgof.cli import main
from condgof.errors import (
    DependenceWarning,
    FitWarning,
    InputError,
    InputTypeError,
    ModelError,
    NumericalError,
    ShapeError,
)

N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=N)
Y = X + RNG.normal(size=N)
MODEL = (X, np.ones(N))
ROLES = ["--x", "x", "--y", "y", "--mean", "m", "--std", "s"]


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame({"x": X, "y": Y, "m": X, "s": 1.0})
    frame.to_csv("good.csv", index=False)
    return frame


@pytest.mark.parametrize(
    ("n", "c"), [(30, 1e3), (30, 1e5), (300, 1e8), (30, 1e150), (30, 1e300)]
)
def test_1_a_model_that_is_far_too_sure_is_rejected(n, c):
    rng = np.random.default_rng(1)
    x = rng.normal(size=n)
    y = 2 * x + c * rng.normal(size=n)
    assert cg.adaptive((2 * x, np.ones(n)), x, y, n_boot=99, rng=0).pvalue == 0.01


@pytest.mark.parametrize("wild", [1e30, 1e150, 1e200, 1e308])
def test_1_one_wild_row_does_not_overflow(wild):
    """Squares of its surprise did, and the p-value was that of noise (0.85 at 1e200)."""
    y = np.where(np.arange(N) == 0, wild, Y)
    assert cg.adaptive(MODEL, X, y, n_boot=99, rng=0).pvalue == 0.01
    assert cg.calibration(MODEL, X, y, n_boot=99, rng=0).pvalue == 0.01


class Told(cg.Law):
    """A law whose CDF is what it is told."""

    def __init__(self, values):
        self.values = values

    @property
    def rows(self):
        return N

    def take(self, rows):
        return Told(self.values)

    def cdf(self, y):
        return self.values(y)


@pytest.mark.parametrize("test", [cg.adaptive, cg.check, cg.kcsd, cg.zheng])
def test_14_27_a_cdf_that_is_none(test):
    with pytest.raises(InputError, match="cdf"):
        test(Told(lambda y: np.full(len(y), 1.5)), X, Y, rng=0)
    with pytest.raises(ShapeError, match="cdf"):
        test(Told(lambda y: 0.5), X, Y, rng=0)


@pytest.mark.parametrize("test", [cg.adaptive, cg.check, cg.kcsd, cg.zheng])
def test_what_a_model_raises_is_one_error(test):
    def fail(y):
        return {}["scale"]

    with pytest.raises(ModelError, match=r"Told\.cdf failed: KeyError: 'scale'") as caught:
        test(Told(fail), X, Y, rng=0)
    assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    "make",
    [
        lambda f: cg.from_score(lambda y, x: f()),
        lambda f: cg.from_log_prob(lambda y, x: f()),
        lambda f: cg.models.Normal(mean=lambda x: f(), std=1.0),
        lambda f: cg.models.Model(lambda x: f()),
        lambda f: cg.from_scipy(lambda x: f()),
    ],
)
@pytest.mark.parametrize(
    "error", [StopIteration, ZeroDivisionError, MemoryError, AttributeError]
)
def test_what_a_function_raises_is_one_error(make, error):
    def fail():
        raise error("mine")

    with pytest.raises(ModelError, match=f"failed: {error.__name__}: mine"):
        cg.kcsd(make(fail), X, Y)


def test_24_many_columns_do_not_hang():
    """200 columns and 800 rows had not ended after 55 s; a quarter of the columns, here."""
    x = np.random.default_rng(0).normal(size=(400, 50))
    y = x[:, 0] + x[:, 1] + np.random.default_rng(1).normal(size=400)
    start = time.process_time()
    assert cg.check((x[:, 0], np.ones(400)), x, y, n_boot=99, rng=0).rejected
    assert time.process_time() - start < 30


def test_25_a_dictionary_of_text(table):
    """What a dictionary stands for was written out as strings of at most 2 GB; now of any
    length.
    """
    from condgof.sample import Table

    text = pa.array(["u", "v"] * (N // 2)).dictionary_encode()
    pq.write_table(
        pa.table({**{name: table[name] for name in table}, "c": text}), "t.parquet"
    )
    assert pa.types.is_dictionary(Table.from_path("t.parquet").files[0].types["c"])
    assert main(["check", "t.parquet", "--x", "x,c", *ROLES[2:]]) == 0


def test_26_a_closed_client():
    class Client:
        status = "closed"
        scatter = submit = scheduler_info = None

    with pytest.raises(InputError, match="is closed"):
        cg.kcsd(MODEL, X, Y, engine=Client())


def test_27_headers_in_latin_1(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("größe,y\n1,2\n".encode("latin-1"))
    with pytest.raises(InputError, match="not text in UTF-8"):
        cg.scan(path, x="y", y="y")


def test_27_a_rate_beyond_all_integers():
    model = cg.models.Poisson(np.full(N, 1e300))
    y = np.random.default_rng(0).poisson(3, N)
    assert cg.adaptive(model, X, y, n_boot=99, rng=0).reject()
    with pytest.raises(NumericalError, match="cannot be drawn"):
        cg.mmd(model, X, y, rng=0)


@pytest.mark.parametrize(
    "test", [cg.kcsd, cg.adaptive, cg.check, cg.fscd, cg.mmd, cg.zheng, cg.calibration]
)
@pytest.mark.parametrize(
    "n_boot", [10**7, 10**30, True, np.True_, np.array([1, 2]), 2.5, "9"]
)
def test_28_41_numbers_of_draws(test, n_boot):
    with pytest.raises((InputError, InputTypeError), match="n_boot"):
        test(MODEL, X, Y, n_boot=n_boot)


class Odd:
    """Fails when it is asked what it can do."""

    def __getattr__(self, name):
        raise ZeroDivisionError("odd")


@pytest.mark.parametrize("what", ["model", "x", "y", "engine", "groups", "by"])
def test_32_an_object_that_cannot_be_asked(what):
    given = {"model": MODEL, "x": X, "y": Y, what: Odd()}
    test = cg.check if what == "by" else cg.kcsd
    with pytest.raises(
        InputTypeError, match=r"cannot be asked what it is: .*ZeroDivisionError: odd"
    ):
        test(**given)


def test_31_sigterm_takes_temporary_files_away(tmp_path):
    """`SIGTERM` while a table is streamed left the rows that were kept behind."""
    code = (
        "import sys, tempfile, time, condgof.cli as cli, condgof.study as study\n"
        "def wait():\n"
        f"    with tempfile.TemporaryDirectory(dir={str(tmp_path)!r}):\n"
        "        print('ready', flush=True); time.sleep(60)\n"
        "study.engel_study = wait\n"
        f"sys.argv = ['condgof', 'demo', '--out', {str(tmp_path)!r}]\n"
        "sys.exit(cli.main())"
    )
    run = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    run.send_signal(signal.SIGTERM)
    assert run.wait(30) == 143
    run.stdout.close()
    assert list(tmp_path.iterdir()) == []


def test_33_utf_16_and_pipes(table, capsys):
    with open("u.csv", "wb") as file:
        file.write(table.to_csv(index=False).encode("utf-16"))
    assert main(["check", "u.csv", *ROLES]) == 2
    assert "UTF-16: convert it to UTF-8" in capsys.readouterr().err
    os.mkfifo("pipe.csv")
    assert main(["check", "pipe.csv", *ROLES]) == 2
    assert "is a pipe or a device" in capsys.readouterr().err


def test_34_a_lock_that_fails_for_another_reason(tmp_path, monkeypatch):
    from condgof.study import InUseError, run_study

    def fail(number):
        def lock(descriptor, operation):
            raise OSError(number, os.strerror(number))

        return lock

    monkeypatch.setattr("fcntl.flock", fail(errno.ENOLCK))
    with pytest.raises(InputError, match=r"cannot be locked \(No locks available\)"):
        run_study("lgm", "kcsd", 20, trials=1, out=tmp_path, engine=1)
    monkeypatch.setattr("fcntl.flock", fail(errno.EAGAIN))
    with pytest.raises(InUseError, match="in use by another process"):
        run_study("lgm", "kcsd", 20, trials=1, out=tmp_path, engine=1)


def test_36_a_full_disk_names_the_file(table, capsys):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    assert main(["check", "good.csv", *ROLES, "--report", "/dev/full"]) == 2
    assert "/dev/full" in capsys.readouterr().err


def test_39_40_41_small_ones(table, capsys):
    with pytest.raises(
        InputError, match=r"LogNormal takes the parameters .*there is no 'mean'"
    ):
        cg.models.LogNormal(mean=1.0)
    with pytest.raises(InputError, match="groups that read the same, 1 and '1'"):
        cg.check(MODEL, X, Y, by=np.array([1, "1"] * (N // 2), dtype=object), rng=0)
    with pytest.raises(InputError, match="n_locations must be an integer, got True"):
        cg.fscd(MODEL, X, Y, n_locations=True)
    for odd in (
        np.array([b"1", b"2"] * (N // 2)),
        pd.DataFrame({"a": [b"1", b"2"] * (N // 2)}),
    ):
        with pytest.raises(InputTypeError):
            cg.check(MODEL, odd, Y)
    with pytest.raises(NumericalError, match="overflows or is 0 to rounding"):
        cg.kcsd(MODEL, X * 1e-200, Y, scale_x="std")
    with pytest.raises(InputError, match="predicts the same in all rows"):
        cg.calibration((np.zeros(N), np.ones(N)), X, Y)
    text = str(
        cg.check((X + 2, np.ones(N)), X, pd.Series(Y, name="price"), n_boot=99, rng=0)
    )
    assert "price" in text
    assert "p ≤ 0.01" in text
    assert main(["check", "good.csv", *ROLES]) == 0
    assert all(line == line.rstrip() for line in capsys.readouterr().out.splitlines())


# ---- Version 0.2: items of its list that have no test elsewhere; each fails there.


def quiet_check(*arguments, **options):
    """Check, and return the report with the messages of all warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = cg.check(*arguments, n_boot=39, alpha=0.1, rng=0, **options)
    return report, [(one.category, str(one.message)) for one in caught]


def test_w25_a_gaussian_process_knows_its_training_rows():
    module = pytest.importorskip("sklearn.gaussian_process")
    kernel = module.kernels.RBF() + module.kernels.WhiteKernel()
    model = module.GaussianProcessRegressor(kernel, normalize_y=True, optimizer=None)
    model.fit(X[:, None], Y)
    report, caught = quiet_check(model, X[:, None], Y)
    assert any("was fitted on" in text for kind, text in caught if kind is FitWarning)
    assert "was fitted on" in str(report)
    _, caught = quiet_check(model, X[:40, None], Y[:40])  # some of them
    assert any("was fitted on" in text for _, text in caught)
    new = RNG.normal(size=N)
    assert quiet_check(model, new[:, None], new)[1] == []


def test_w25_neighbours_know_their_training_rows():
    module = pytest.importorskip("sklearn.neighbors")
    labels = (X > 0).astype(int)
    model = module.KNeighborsClassifier(20, weights="uniform").fit(X[:, None], labels)
    _, caught = quiet_check(model, X[:, None], labels)
    assert any("the x that" in text for _, text in caught)
    assert quiet_check(model, RNG.normal(size=(N, 1)), labels)[1] == []


@pytest.mark.parametrize("within", ["alone", "pipeline", "search"])
def test_w25_a_fit_that_has_not_converged(within):
    linear = pytest.importorskip("sklearn.linear_model")
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    labels = (X + Y > 0).astype(int)
    x = np.column_stack([X, 1e3 * Y])
    fit = linear.LogisticRegression(max_iter=1)
    if within == "pipeline":
        fit = make_pipeline(fit)
    if within == "search":
        fit = GridSearchCV(fit, {"C": [1.0]}, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit.fit(x, labels)
    _, caught = quiet_check(fit, x[::-1] + 0.01, labels[::-1])
    assert any("max_iter=1 iterations" in text for _, text in caught)


@pytest.mark.parametrize("rows", [2, 12])
def test_w25_rows_of_a_category_that_depend_on_each_other(rows):
    """Groups that a column of x names, in an order that no lag tells; also of two rows."""
    rng = np.random.default_rng(3)
    n = 480
    county = rng.permutation(np.arange(n) % (n // rows))
    y = 2.0 * rng.normal(size=n // rows)[county] + 0.5 * rng.normal(size=n)
    x = pd.DataFrame({"x": rng.normal(size=n), "county": [f"c{i}" for i in county]})
    model = (np.zeros(n), np.full(n, 2.06))
    report, caught = quiet_check(model, x, y)
    assert [kind for kind, _ in caught] == [DependenceWarning]
    assert "groups='county'" in caught[0][1]
    assert "rows with the same county" in str(report)
    assert quiet_check(model, x, rng.permutation(y))[1] == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cg.check(model, x, y, n_boot=39, alpha=0.1, rng=0, groups="county")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cg.Monitor(MODEL, seed="a"), "seed must be a whole number"),
        (lambda: cg.Monitor(MODEL, seed=-1), "seed must be a whole number"),
        (lambda: cg.Monitor(MODEL, beside=3), "beside must be a list"),
        (lambda: cg.Monitor(MODEL, beside="ab"), "beside must be a list"),
    ],
)
def test_b33_monitor_checks_its_options(call, message):
    with pytest.raises((InputError, InputTypeError), match=message):
        call()


def test_b31_a_mask_with_missing_values_is_refused():
    mask = np.ma.array(X > 0, mask=X > 1)
    with pytest.raises(InputError, match="slices has a mask that is missing in"):
        cg.check(MODEL, X, Y, slices=[mask])


@pytest.mark.parametrize(
    ("values", "remedy"),
    [
        (["5%"] * 3, "str.rstrip"),
        (["12,000", "1,234"], r"replace\(',', ''\)"),
        (["$5.10", "$7.20"], "regex=True"),
        (["1.5", "2.5", "unknown"], "errors='coerce'"),
    ],
)
def test_b32_the_remedy_for_numbers_as_text_works(values, remedy):
    column = (values * N)[:N]
    with pytest.raises(InputTypeError, match=remedy) as caught:
        cg.check(MODEL, pd.DataFrame({"c": column}), Y)
    advice = re.search(r"such as (.*?)(,? or|;| \()", str(caught.value))
    numbers = eval(advice[1], {"x": {"c": pd.Series(column)}, "pandas": pd})
    assert numbers.dtype == np.float64


def test_b38_sparse_predictions_are_named():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(InputTypeError, match="P is a sparse matrix"):
        cg.probabilities(sparse.csr_matrix(np.full((N, 2), 0.5)))
    with pytest.raises(InputTypeError, match="mean is a sparse matrix"):
        cg.check((sparse.csr_matrix(X[:, None]), 1.0), X, Y)


def test_b34_distances_of_many_columns_hear_ctrl_c(monkeypatch):
    """In one call of SciPy, 500 rows of 10,000 columns were deaf for six seconds."""
    at_once = cg.kcsd(MODEL, X, Y, n_boot=19, rng=0)
    monkeypatch.setattr("condgof.kernels._kernel.MOST_AT_ONCE", 1)
    row_by_row = cg.kcsd(MODEL, X, Y, n_boot=19, rng=0)
    assert row_by_row.statistic == at_once.statistic
    assert row_by_row.kernel_x == at_once.kernel_x


def test_b33_axes_that_are_none():
    with pytest.raises(InputTypeError, match="ax must be Axes of matplotlib, got 'null'"):
        cg.kcsd(MODEL, X, Y, n_boot=19).plot("null")
