"""Importing condgof is light."""

import subprocess
import sys

OPTIONAL = [
    "torch",
    "jax",
    "matplotlib",
    "pandas",
    "polars",
    "dask",
    "pyarrow",
    "sklearn",
    "statsmodels",
    "skpro",
    "ngboost",
    "typer",
    "rich",
]
HEAVY = ["scipy.stats", "scipy.optimize", "condgof.study", "condgof.report"]


def test_no_optional_or_heavy_package_is_imported():
    code = "import sys, condgof; print('\\n'.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(run.stdout.split()) & {*OPTIONAL, *HEAVY} == set()


def test_a_missing_package_names_its_extra(monkeypatch):
    import pytest

    from condgof.errors import MissingPackageError
    from condgof.report import new_figure

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'condgof\[plot\]'") as caught:
        new_figure(1, 1, width=1, height=1)
    assert isinstance(caught.value, ImportError)


def test_the_version_is_that_of_the_package():
    from importlib.metadata import version

    import condgof

    assert condgof.__version__ == version("condgof")


def test_an_unknown_name_is_an_attribute_error():
    import pytest

    import condgof

    with pytest.raises(AttributeError, match="no attribute 'kscd'"):
        condgof.kscd  # noqa: B018
