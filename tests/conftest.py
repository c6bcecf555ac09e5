"""Shared fixtures and strategies."""

from __future__ import annotations

import gc
import os

# Two test processes on two cores: more threads in each would only wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

from seeds import examples
from xla import flags

os.environ.setdefault("XLA_FLAGS", flags())  # read when JAX is first used

settings.register_profile(
    "condgof", deadline=None, derandomize=True, max_examples=examples(15)
)
settings.load_profile("condgof")


@pytest.fixture
def rng():
    return np.random.default_rng(20201)


@pytest.fixture
def line():
    """A small sample of a line with unit noise, and its true scores."""
    generator = np.random.default_rng(3)
    x = generator.standard_normal((60, 2))
    y = x.sum(axis=1, keepdims=True) + generator.standard_normal((60, 1))
    return x, y, x.sum(axis=1, keepdims=True) - y


#: Tests of the same checks (`report.samples`), which are made once in each process that
#: needs them: these tests run first and side by side, so that one process has them all.
SHARE_CHECKS = (
    "tests/report/",
    "tests/browser/",
    "tests/cli/test_json.py",
    "tests/cli/test_show.py",
)


def pytest_collection_modifyitems(items):
    """Put tests that share checks first, in the order that they had."""
    items.sort(key=lambda item: not item.nodeid.startswith(SHARE_CHECKS))


def pytest_collection_finish():
    """Have the garbage collector skip what was imported, which lives until the end."""
    gc.collect()
    gc.freeze()


#: How the reason of a browser test that did not run begins.
NO_BROWSER = "no browser"


def pytest_terminal_summary(terminalreporter):
    """Say plainly that the report was not opened in a browser, if it was not."""
    skipped = terminalreporter.stats.get("skipped", [])
    missing = [r for r in skipped if NO_BROWSER in str(r.longrepr)]
    if missing:
        terminalreporter.section("browser tests did not run", yellow=True)
        terminalreporter.write_line(
            f"{len(missing)} tests need a browser (apt-get install chromium) and playwright"
        )


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    """In CI a skipped test is a failure: nothing may pass there by not running."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if (
        os.environ.get("CI")
        and reporter
        and reporter.stats.get("skipped")
        and exitstatus == 0
    ):
        reporter.write_line("skipped tests count as failures in CI", red=True)
        session.exitstatus = 1
