"""Importing condgof is light."""

import subprocess
import sys
from pathlib import Path

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
HEAVY = [
    "scipy.stats",
    "scipy.optimize",
    "condgof.study",
    "condgof.report",
    "condgof.check._names",
]


def test_no_optional_or_heavy_package_is_imported():
    code = "import sys, condgof; print('\\n'.join(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert set(run.stdout.split()) & {*OPTIONAL, *HEAVY} == set()


def test_a_missing_package_names_its_extra(monkeypatch):
    import pytest

    from condgof.errors import MissingPackageError
    from condgof.report import new_figure

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        MissingPackageError, match=r"pip install 'condgof\[plot\]'"
    ) as caught:
        new_figure((1, 1))
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


def test_the_names_of_the_package_are_its_public_ones():
    """Lazily loaded ones included, and no helper of the file."""
    import condgof

    assert dir(condgof) == sorted([*condgof.__all__, "__version__"])
    for name in dir(condgof):
        getattr(condgof, name)


def test_the_names_of_models_are_closed_forms_and_what_laws_of_ones_own_need():
    import condgof

    names = dir(condgof.models)
    assert names == sorted(condgof.models.__all__)
    assert 20 <= len(names) <= 27
    assert all(hasattr(condgof.models, name) for name in names)
    assert not [name for name in names if name.startswith("from_")]
    assert not set(names) & set(dir(condgof)) - {
        "Law",
        "Laplace",
    }  # a kernel is called so, too
    assert dir(condgof.fits) == ["glm", "heteroscedastic", "ols", "sklearn"]


def test_a_report_imports_no_experiment():
    code = (
        "import sys, numpy as np, condgof as cg; x = np.arange(60.0); report = cg.check((x,"
        " np.ones(60)), x, x, rng=0); report.to_html(); report._repr_html_();"
        " print(any(name.startswith('condgof.study') for name in sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout == "False\n"


def test_the_package_says_that_it_is_typed():
    """And `make check` type-checks a user's program, tests/typed_program.py."""
    import condgof

    assert (Path(condgof.__file__).parent / "py.typed").is_file()


def test_every_capability_of_the_first_version_is_tested_where_the_page_says():
    import re

    root = Path(__file__).parent.parent
    named = set(
        re.findall(
            r"tests/[\w/]+\.py", (root / "docs" / "dev" / "capabilities.md").read_text()
        )
    )
    assert len(named) > 60
    assert [name for name in sorted(named) if not (root / name).exists()] == []
