"""The report in a real browser, from disk, with the network off."""

import re
from functools import partial

import pytest

from condgof.report import card, check_page
from lazily import Lazily
from report.samples import EVIL, checks

ENDING = "</script><script>alert('2')</script>\"'"
CHECKS = checks()


def page_of(name):
    return check_page(CHECKS[name])


PAGES = Lazily({name: partial(page_of, name) for name in CHECKS})
BACK = "getComputedStyle(document.documentElement).backgroundColor"
LIGHT = "rgb(255, 255, 255)"
DARK = "rgb(20, 24, 27)"
PHONE = {"viewport": {"width": 390, "height": 844}}
#: A4 less its margins, in pixels.
PAPER = {"viewport": {"width": 703, "height": 1033}}


def shown(visited):
    """The ids of the cards that can be visited."""
    return visited.page.eval_on_selector_all(
        ".card", "all => all.filter(c => c.checkVisibility()).map(c => c.id)"
    )


def order(visited):
    """The slices as they are listed."""
    return visited.page.locator("#where .open").all_inner_texts()


def test_it_opens_without_complaint_and_says_the_message(visit):
    visited = visit(PAGES["good"])
    for name, check in CHECKS.items():
        visited.go(PAGES[name])
        assert visited.page.locator(".words").inner_text() == check.words
        assert (
            visited.page.evaluate(
                "JSON.parse(document.getElementById('numbers').textContent).schema"
            )
            == 2
        )
        assert shown(visited) == []


def test_a_click_on_a_row_opens_and_closes_its_card(visit):
    visited = visit(PAGES["continuous"])
    row = visited.page.locator("#where .slice")
    row.nth(1).click()
    assert shown(visited) == ["s2"]
    row.nth(0).locator("td").nth(1).click()
    assert shown(visited) == ["s1", "s2"]
    row.nth(1).locator(".open").click()
    assert shown(visited) == ["s1"]
    assert visited.page.locator("#s1 svg.chart").count() == 3


def test_the_keyboard_opens_cards(visit):
    visited = visit(PAGES["continuous"])
    keys = visited.page.keyboard
    focused = "document.activeElement.getAttribute('aria-controls')"
    for _ in range(30):
        keys.press("Tab")
        if visited.page.evaluate(focused):
            break
    assert visited.page.evaluate(focused) == "s1"
    assert "solid" in visited.page.evaluate(
        "getComputedStyle(document.activeElement).outlineStyle"
    )
    keys.press("Enter")
    assert shown(visited) == ["s1"]
    assert visited.page.evaluate("document.activeElement.ariaExpanded") == "true"
    keys.press("Space")
    assert shown(visited) == []


def test_the_order_can_be_chosen(visit):
    check = CHECKS["continuous"]
    visited = visit(PAGES["continuous"])
    assert order(visited) == [part.words for part in check.slices]
    worst = visited.page.get_by_role("button", name="worst", exact=True)
    worst.click()
    assert order(visited) == [part.words for part in check.slices_by("severity")]
    assert worst.get_attribute("aria-pressed") == "true"
    visited.page.locator("#where .open").first.click()
    first = check.slices.index(check.slices_by("severity")[0]) + 1
    assert shown(visited) == [f"s{first}"]  # its own card, wherever it went
    visited.page.get_by_role("button", name="most certain").click()
    assert order(visited) == [part.words for part in check.slices]


def test_many_groups_begin_with_the_most_certain(visit):
    visited = visit(PAGES["groups"])
    rows = visited.page.locator("#groups .slice:visible")
    assert rows.count() == 20
    visited.page.get_by_role("button", name="All 200 rows").click()
    assert rows.count() == 200


def test_the_query_can_be_copied(visit):
    visited = visit(PAGES["continuous"])
    visited.page.locator("#where .open").first.click()
    copy = visited.page.locator("#s1 .copy")
    copy.click()
    visited.page.wait_for_function(
        "document.querySelector('#s1 .copy').textContent !== 'Copy'"
    )
    assert str(visited.page.evaluate("String(getSelection())")).startswith(
        "report.frame().query("
    )


def test_without_a_script_all_cards_are_there(visit):
    visited = visit(PAGES["continuous"], java_script_enabled=False)
    cards = visited.page.locator(".card:visible").count()
    assert cards == len(CHECKS["continuous"].slices)
    assert visited.page.locator(".sort:visible, .copy:visible").count() == 0


def test_paper_has_three_cards_is_light_and_takes_five_pages(visit):
    """Real checks: those with the pictures of several effects take up to five pages."""
    visited = visit(PAGES["good"], color_scheme="dark", **PAPER)
    for name in ("continuous", "classes", "counts", "good", "quantiles"):
        visited.page.emulate_media(media="screen")
        visited.go(PAGES[name])
        pages = len(
            re.findall(rb"/Type\s*/Page\b", visited.page.pdf(prefer_css_page_size=True))
        )
        assert pages <= 5, name
        visited.page.emulate_media(media="print")
        assert shown(visited) == [
            f"s{i + 1}" for i in range(min(len(CHECKS[name].slices), 3))
        ]
        assert visited.page.evaluate(BACK) == LIGHT
        assert visited.page.locator(".sort:visible, .behind:visible").count() == 0
        assert visited.overflow() <= 0


OUTSIDE = """() => [...document.querySelectorAll('main :is(svg, p, h2, li, .card, button)')]
    .filter(e => e.checkVisibility() && !e.closest('.wide'))
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
    .map(e => e.outerHTML.slice(0, 80))"""


def test_nothing_sticks_out_on_a_phone(visit):
    visited = visit(PAGES["good"], **PHONE)
    for name, text in PAGES.items():
        visited.go(text)
        for first in visited.page.locator(".open").all()[:3]:
            first.click()
        for scheme in ("light", "dark"):
            visited.page.emulate_media(color_scheme=scheme)
            assert visited.overflow() <= 0, (name, scheme)
            assert visited.page.evaluate(OUTSIDE) == [], (name, scheme)
        visited.page.evaluate(
            "document.querySelectorAll('details').forEach(d => d.open = true)"
        )
        assert visited.overflow() <= 0, name


def test_dark_follows_the_system(visit):
    for scheme, back in (("dark", DARK), ("light", LIGHT)):
        visited = visit(PAGES["continuous"], color_scheme=scheme)
        assert visited.page.evaluate(BACK) == back


@pytest.mark.parametrize("name", CHECKS)
def test_text_stays_within_its_picture(visit, name):
    """No tick or name leaves its drawing, in any form of any picture."""
    out = """() => [...document.querySelectorAll('svg.chart text')].filter(t => {
        const a = t.getBoundingClientRect(), b = t.ownerSVGElement.getBoundingClientRect();
        return b.width > 0 && a.width > 0 && (a.left < b.left - 2 || a.right > b.right + 2
            || a.top < b.top - 2 || a.bottom > b.bottom + 2);
    }).map(t => t.textContent)"""
    visited = visit(PAGES[name], java_script_enabled=True)
    visited.page.evaluate(
        "document.querySelectorAll('.more').forEach(row => row.hidden = false)"
    )
    visited.page.evaluate(
        "document.querySelectorAll('details').forEach(d => d.open = true)"
    )
    assert visited.page.evaluate(out) == []


def test_hostile_names_do_nothing(visit):
    for name in ("evil", "evil classes"):
        visited = visit(
            check_page(CHECKS[name], title=EVIL, command=ENDING, notes=[ENDING, EVIL])
        )
        assert visited.page.locator("img").count() == 0
        assert visited.page.locator("script").count() == 2
        assert visited.page.locator("[onerror]").count() == 0
        visited.page.locator(".open").first.click()
        assert EVIL in visited.page.locator("body").inner_text()


def test_a_card_in_a_notebook_is_safe(visit):
    cards = "".join(
        (card(CHECKS["evil"]), card(CHECKS["groups"]), card(CHECKS["evil"].result))
    )
    visited = visit(f"<!doctype html><meta charset=utf-8><title>notebook</title>{cards}")
    assert visited.page.locator("img, script, style").count() == 0
    assert CHECKS["evil"].words in visited.page.locator("body").inner_text()
