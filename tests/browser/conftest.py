"""A real browser, without a network."""

from __future__ import annotations

import shutil

import pytest

#: What Debian and others call it.
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def browser():
    """Return Chromium, or skip, which `make test` reports and CI takes for a failure."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no browser: chromium is not installed")
    api = pytest.importorskip(
        "playwright.sync_api", reason="no browser: playwright is not installed"
    )
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path)
        yield chromium
        chromium.close()


class Visit:
    """A page that was opened from disk, and all that it did."""

    def __init__(self, browser, folder, **options):
        self.context = browser.new_context(offline=True, **options)
        self.folder = folder
        #: How many pages were opened.
        self.files = 0
        #: Messages of the console, errors and dialogs.
        self.trouble = []
        #: Addresses that the page asked for.
        self.requests = []
        self.page = self.context.new_page()
        self.page.set_default_timeout(60_000)  # a busy machine is no fault of the page
        self.page.on(
            "console",
            lambda message: self.trouble.append(f"{message.type}: {message.text}"),
        )
        self.page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        self.page.on("dialog", self._dismiss)
        self.page.on("request", lambda request: self.requests.append(request.url))

    def go(self, text):
        """Open another page."""
        path = self.folder / f"{id(self)}-{self.files}.html"
        path.write_text(text, encoding="utf-8")
        self.page.goto(path.as_uri())
        self.files += 1
        return self

    def _dismiss(self, dialog):
        self.trouble.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def shown(self):
        """The ids of the panels that can be seen."""
        return self.page.eval_on_selector_all(
            ".panel", "panels => panels.filter(p => p.checkVisibility()).map(p => p.id)"
        )

    def overflow(self):
        """How far the page is wider than the screen."""
        return self.page.evaluate(
            "document.documentElement.scrollWidth - window.innerWidth"
        )


@pytest.fixture
def visit(browser, tmp_path):
    """Open HTML text from disk; at the end nothing may have been fetched or shown."""
    visits = []

    def open_page(text, **options):
        options = {"viewport": {"width": 1200, "height": 800}, **options}
        visits.append(Visit(browser, tmp_path, **options))
        return visits[-1].go(text)

    yield open_page
    for each in visits:
        assert each.trouble == []
        assert all(url.startswith("file:") for url in each.requests)
        assert len(each.requests) == each.files
        each.context.close()
