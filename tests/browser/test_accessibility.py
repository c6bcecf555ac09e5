"""Pages under axe-core, the checker of accessibility that browsers and audits use."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

import condgof as cg
from condgof.report import check_page
from lazily import Lazily
from report.samples import checks

axe_of_playwright = pytest.importorskip(
    "axe_playwright_python.sync_playwright",
    reason="no axe-core: axe-playwright-python is not installed",
)
AXE = axe_of_playwright.Axe()
CHECKS = checks()
KINDS = ("continuous", "counts", "classes", "censored", "quantiles")
N = 400


def sample():
    """Predicted means, and y around twice of them."""
    x, noise = np.random.default_rng(0).standard_normal((2, N))
    return x, 2 * x + noise


def comparison():
    """Of two models each of which is better in a subgroup with a long name."""
    x, y = sample()
    towns = np.where(x > 0, "a town with a very long name", "another town by the sea")
    table = pd.DataFrame({"where the household was registered": towns})
    first = np.where(x > 0, x, 2 * x)
    second = np.where(x > 0, 2 * x, 1.6 * x)
    return cg.compare((first, np.ones(N)), (second, np.ones(N)), table, y, rng=0)


def ranking():
    x, y = sample()
    models = {f"slope {slope}": (slope * x, np.ones(N)) for slope in (1, 2, 3)}
    return cg.rank(models, x, y, rng=0).to_html(command="condgof rank t.csv")


def fit_test():
    x, y = sample()
    return cg.adaptive((x, np.ones(N)), x, y, rng=0, n_boot=199).to_html()


def monitor():
    x, y = sample()
    return cg.monitor(cg.models.Normal(mean=lambda x: x, std=1.0), rng=0).update(x, y)


def check_of(kind):
    return check_page(CHECKS[kind])


PAGES = Lazily(
    {
        **{kind: partial(check_of, kind) for kind in KINDS},
        "comparison": lambda: comparison().to_html(),
        "ranking": ranking,
        "test": fit_test,
        "monitor": lambda: monitor().to_html(),
    }
)

#: Opens what is folded. Of things that are alike the first ones are enough: two cards of
#: effects and of subgroups, one table behind a picture, five rows of each table.
OPEN_ALL = """() => {
    for (const table of ['.effects', '#subgroups', '#groups'])
        for (const row of [...document.querySelectorAll(`${table} .open`)].slice(0, 2))
            row.click();
    for (const box of document.querySelectorAll('details:not(.behind)')) box.open = true;
    const behind = document.querySelector('.behind');
    if (behind) behind.open = true;
    for (const body of document.querySelectorAll('tbody'))
        for (const row of [...body.rows].slice(5)) row.remove();
}"""


#: Words that leave the picture that they are in.
OUT_OF_PICTURE = """() => [...document.querySelectorAll('svg.chart text')].filter(text => {
    const own = text.getBoundingClientRect();
    const all = text.ownerSVGElement.getBoundingClientRect();
    return own.width > 0 && (own.left < all.left - 2 || own.right > all.right + 2
        || own.top < all.top - 2 || own.bottom > all.bottom + 2);
}).map(text => text.textContent)"""


def findings(page, *rules):
    """Serious and critical findings of axe, of all rules or of these."""
    options = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = list(rules)
    violations = AXE.run(page, options=options).response["violations"]
    return [
        (one["id"], node["html"][:100])
        for one in violations
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("name", PAGES)
def test_pages_have_no_serious_findings_light_and_dark(visit, name):
    visited = visit(PAGES[name], color_scheme="light")
    visited.page.evaluate(OPEN_ALL)
    assert findings(visited.page) == []
    visited.page.emulate_media(color_scheme="dark")
    assert findings(visited.page, "color-contrast") == []


def test_the_comparison_has_long_names():
    assert any(len(part.words) > 40 for part in comparison().slices)


@pytest.mark.parametrize("name", [name for name in PAGES if name not in KINDS])
def test_pages_of_results_fit_a_phone(visit, name):
    visited = visit(PAGES[name], viewport={"width": 390, "height": 844})
    visited.page.evaluate(OPEN_ALL)
    assert visited.overflow() <= 0
    assert visited.page.evaluate(OUT_OF_PICTURE) == []


def test_axe_finds_what_is_wrong(visit):
    visited = visit(
        "<!doctype html><html lang=en><title>t</title><main><h1>t</h1><button></button>"
        "<p style='color:#aaa;background:#fff'>pale</p></main>"
    )
    found = {rule for rule, _ in findings(visited.page)}
    assert {"button-name", "color-contrast"} <= found
