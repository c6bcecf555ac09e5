"""A machine without an optional package: a feature names it, and what to install."""

import sys

import numpy as np
import pytest

import condgof as cg
from condgof.cli import main
from condgof.errors import MissingPackageError

N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=N)
Y = X + 3.0 * RNG.normal(size=N)
MODEL = (X, np.ones(N))


@pytest.fixture(scope="module")
def report():
    return cg.check(MODEL, X, Y, n_boot=39, alpha=0.1, rng=0)


@pytest.fixture(scope="module")
def comparison():
    return cg.compare(MODEL, (X, 3.0 * np.ones(N)), X, Y, rng=0)


class Line:
    """An estimator as scikit-learn's are."""

    def fit(self, x, y):
        return self

    def predict(self, x):
        return x


FEATURES = {
    "a frame of the rows": ("pandas", "frames", lambda r, c: r.frame()),
    "outliers": ("pandas", "frames", lambda r, c: r.outliers),
    "a frame of an effect": ("pandas", "frames", lambda r, c: r.effects[0].to_frame()),
    "a frame of scores": ("pandas", "frames", lambda r, c: r.scores.to_frame()),
    "a frame of a comparison": ("pandas", "frames", lambda r, c: c.to_frame()),
    "all pictures": ("matplotlib", "plot", lambda r, c: r.plot()),
    "a picture": ("matplotlib", "plot", lambda r, c: r.plot("fit")),
    "a picture of an effect": ("matplotlib", "plot", lambda r, c: r.effects[0].plot()),
    "a picture of a comparison": ("matplotlib", "plot", lambda r, c: c.plot()),
    "a picture near x": ("matplotlib", "plot", lambda r, c: r.at(0.0).plot()),
    "a table in a file": ("pyarrow", "arrow", lambda r, c: cg.scan("t.csv", x="x", y="y")),
    "torch": ("torch", "torch", lambda r, c: cg.from_torch(lambda x: x)),
    "jax": ("jax", "jax", lambda r, c: cg.from_jax(lambda x: x)),
    "torch's gradients": (
        "torch",
        "torch",
        lambda r, c: cg.from_log_prob(lambda y, x: -(y**2), backend="torch"),
    ),
    "a fit of scikit-learn": (
        "sklearn.base",
        "sklearn",
        lambda r, c: cg.fits.sklearn(Line()),
    ),
    "a residual scale": (
        "sklearn.base",
        "sklearn",
        lambda r, c: cg.models.residual_scale_by_cv(Line(), X, Y),
    ),
    "a fit of statsmodels": (
        "statsmodels.api",
        "statsmodels",
        lambda r, c: cg.fits.glm("poisson")(X, np.abs(Y)),
    ),
}


@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_names_its_package_and_what_to_install(
    name, report, comparison, monkeypatch
):
    package, extra, use = FEATURES[name]
    for module in [
        package,
        *(name for name in sys.modules if name.startswith(f"{package}.")),
    ]:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackageError) as caught:
        use(report, comparison)
    assert package.partition(".")[0] in str(caught.value)
    assert f"pip install 'condgof[{extra}]'" in str(caught.value)


def test_without_any_of_them_a_check_and_its_page_are_there(report, monkeypatch):
    for package in ("pandas", "polars", "pyarrow", "matplotlib", "tqdm", "typer", "rich"):
        monkeypatch.setitem(sys.modules, package, None)
    again = cg.check(MODEL, X, Y, n_boot=39, alpha=0.1, rng=0)
    assert str(again) == str(report)
    assert again.to_html().startswith("<!doctype html>")
    assert again.repair(rng=0).sentences
    assert again.at(0.0).to_dict()


@pytest.mark.parametrize("package", ["typer", "pyarrow"])
def test_the_command_line_says_it_too(package, monkeypatch, capsys, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,2\n")
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["check", str(path), "--x", "x", "--y", "y", "--pit", "x"]) == 2
    assert "pip install 'condgof[" in capsys.readouterr().err
