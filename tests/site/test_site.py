"""The site as it was built: `make docs` runs this after the build, `make test` does not."""

import importlib
import inspect
import re
import shutil
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from playwright.sync_api import sync_playwright
from sphinx.util.inventory import InventoryFile

import condgof as cg

ROOT = Path(__file__).parents[2]
SITE = ROOT / "site"
PAGES = sorted(
    str(path.relative_to(SITE))
    for path in SITE.rglob("*.html")
    if "_static" not in path.parts
)
#: Pages that are opened in a browser: those that people wrote, and one of each kind that is
#: generated.
OPENED = [p for p in PAGES if "/generated/" not in p and not p.startswith("genindex")]
OPENED += [
    f"reference/generated/condgof.{name}.html"
    for name in ("check", "Check-class", "models.Normal")
]
#: What makes a browser fetch something.
FETCHED = {
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("object", "data"),
}
FETCHED_LINKS = {
    "stylesheet",
    "icon",
    "shortcut icon",
    "preload",
    "modulepreload",
    "manifest",
}


class Page(HTMLParser):
    """What a page links to, what it fetches, and the anchors that it has."""

    def __init__(self, text):
        super().__init__()
        self.links = []
        self.fetched = []
        self.anchors = set()
        self.feed(text)
        self.fetched += re.findall(r"""url\(\s*["']?((?:https?:)?//[^)"']+)""", text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors |= {attrs.get("id"), attrs.get("name")}
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        self.fetched += [
            value for name, value in attrs.items() if value and (tag, name) in FETCHED
        ]
        if tag == "link" and attrs.get("rel") in FETCHED_LINKS:
            self.fetched.append(attrs["href"])


@cache
def read(path):
    return Page((SITE / path).read_text(encoding="utf-8"))


def elsewhere(target):
    return re.match(r"[a-z]+:|//", target) is not None


def test_there_are_pages_to_look_at():
    assert len(PAGES) > 100
    assert "index.html" in PAGES


@pytest.mark.parametrize("page", PAGES)
def test_links_and_anchors_lead_somewhere(page):
    lost = []
    for target in {*read(page).links, *read(page).fetched}:
        if elsewhere(target):
            continue
        path, anchor = map(unquote, urldefrag(target.split("?")[0]))
        found = (SITE / page).parent.joinpath(path).resolve() if path else SITE / page
        if not found.is_file():
            lost.append(target)
        elif anchor and found.suffix == ".html":
            there = read(str(found.relative_to(SITE.resolve())))
            lost += [target] * (anchor not in there.anchors)
    assert lost == []


@pytest.mark.parametrize("page", PAGES)
def test_nothing_is_fetched_from_the_network(page):
    assert [
        target
        for target in read(page).fetched
        if elsewhere(target) and "data:" not in target
    ] == []


def test_style_sheets_fetch_nothing_from_the_network():
    for path in SITE.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        assert (
            re.findall(r"""(?:url\(|@import)\s*["']?(?:https?:)?//[^)"';]+""", text) == []
        ), path


def public():
    """Yield what a user may import, as (name, object)."""
    for name in cg.__all__:
        if not inspect.ismodule(getattr(cg, name)):
            yield f"condgof.{name}", getattr(cg, name)
    for name in cg.fits.__all__:
        yield f"{cg.fits.__name__}.{name}", getattr(cg.fits, name)
    for name, thing in vars(cg.errors).items():
        if inspect.isclass(thing) and issubclass(thing, (cg.errors.CondgofError, Warning)):
            yield f"condgof.errors.{name}", thing
    for room in (cg.models, cg.study):
        things = ((name, getattr(room, name)) for name in room.__all__)
        yield from (
            (f"{room.__name__}.{name}", thing) for name, thing in things if callable(thing)
        )


def resolve(name):
    """Return the object of a name such as condgof.models.Normal, or None."""
    if name.startswith("condgof.fits."):
        name = f"{cg.fits.__name__}.{name.removeprefix('condgof.fits.')}"
    module, _, last = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), last, None)
    except ImportError:
        return None


def test_every_public_name_is_in_the_reference():
    inventory = InventoryFile.loads((SITE / "objects.inv").read_bytes(), uri="")
    listed = [
        name
        for kind in ("function", "class", "exception")
        for name in inventory.data[f"py:{kind}"]
    ]
    there = {id(resolve(name)) for name in listed}
    assert sorted(name for name, thing in public() if id(thing) not in there) == []


#: Kept in the repository for those who work on the code, and excluded in docs/conf.py.
NOT_ON_THE_SITE = {f"dev/{path.stem}.html" for path in (ROOT / "docs" / "dev").glob("*.md")}


def test_every_source_file_of_a_page_is_built():
    """A page outside all toctrees is a warning of the build; an excluded page is not."""
    written = {
        str(path.relative_to(ROOT / "docs").with_suffix(".html"))
        for path in (ROOT / "docs").rglob("*.md")
    }
    assert written - NOT_ON_THE_SITE <= set(PAGES)
    assert not NOT_ON_THE_SITE & set(PAGES)


@pytest.fixture(scope="module")
def browser():
    """Chromium without a network; a test of the site that cannot look at it fails."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=next(filter(None, map(shutil.which, names)))
        )
        yield chromium
        chromium.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_in_a_browser(browser, theme):
    """On a phone, without a network: no request, no error, nothing too wide."""
    context = browser.new_context(
        offline=True, viewport={"width": 390, "height": 844}, color_scheme=theme
    )
    tab = context.new_page()
    trouble = []
    tab.on("request", lambda r: trouble.append(r.url) if r.url.startswith("http") else None)
    tab.on("pageerror", lambda error: trouble.append(f"{tab.url}: {error}"))
    for page in OPENED:
        tab.goto((SITE / page).as_uri())
        wide = tab.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        trouble += [f"{page} is {wide} pixels too wide"] * (wide > 0)
    context.close()
    assert not trouble, "\n".join(trouble)


def test_search_finds_a_page(browser):
    tab = browser.new_context(offline=True).new_page()
    tab.goto((SITE / "search.html").as_uri() + "?q=quantiles")
    tab.wait_for_selector("#search-results li a")
    assert tab.locator("#search-results li a").count() >= 3
