"""The report in a real browser, from disk, with the network off."""

import re

import pytest

from condgof.report import card
from condgof.report._page import check_page
from report.made import EVIL, made

ENDING = "</script><script>alert('2')</script>\"'"
CHECKS = made()
PAGES = {name: check_page(check) for name, check in CHECKS.items()}
BACK = "getComputedStyle(document.documentElement).backgroundColor"
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(20, 24, 27)"
PHONE = {"viewport": {"width": 390, "height": 844}}
#: A4 less its margins, in pixels.
PAPER = {"viewport": {"width": 703, "height": 1033}}


def shown(seen):
    """The ids of the cards that can be seen."""
    return seen.page.eval_on_selector_all(
        ".card", "all => all.filter(c => c.checkVisibility()).map(c => c.id)"
    )


def order(seen):
    """The slices as they are listed."""
    return seen.page.locator("#where .open").all_inner_texts()


def test_it_opens_without_complaint_and_says_the_message(visit):
    seen = visit(PAGES["good"])
    for name, check in CHECKS.items():
        seen.go(PAGES[name])
        assert seen.page.locator(".words").inner_text() == check.words
        assert (
            seen.page.evaluate(
                "JSON.parse(document.getElementById('numbers').textContent).schema"
            )
            == 2
        )
        assert shown(seen) == []


def test_a_click_on_a_row_opens_and_closes_its_card(visit):
    seen = visit(PAGES["continuous"])
    row = seen.page.locator("#where .slice")
    row.nth(1).click()
    assert shown(seen) == ["s2"]
    row.nth(0).locator("td").nth(1).click()
    assert shown(seen) == ["s1", "s2"]
    row.nth(1).locator(".open").click()
    assert shown(seen) == ["s1"]
    assert seen.page.locator("#s1 svg.chart").count() == 3


def test_the_keyboard_opens_cards(visit):
    seen = visit(PAGES["continuous"])
    keys, focused = (
        seen.page.keyboard,
        "document.activeElement.getAttribute('aria-controls')",
    )
    for _ in range(30):
        keys.press("Tab")
        if seen.page.evaluate(focused):
            break
    assert seen.page.evaluate(focused) == "s1"
    assert "solid" in seen.page.evaluate(
        "getComputedStyle(document.activeElement).outlineStyle"
    )
    keys.press("Enter")
    assert shown(seen) == ["s1"]
    assert seen.page.evaluate("document.activeElement.ariaExpanded") == "true"
    keys.press("Space")
    assert shown(seen) == []


def test_the_order_can_be_chosen(visit):
    check, seen = CHECKS["continuous"], visit(PAGES["continuous"])
    assert order(seen) == [part.words for part in check.slices]
    worst = seen.page.get_by_role("button", name="worst", exact=True)
    worst.click()
    assert order(seen) == [part.words for part in check.slices_by("severity")]
    assert worst.get_attribute("aria-pressed") == "true"
    seen.page.locator("#where .open").first.click()
    first = check.slices.index(check.slices_by("severity")[0]) + 1
    assert shown(seen) == [f"s{first}"]  # its own card, wherever it went
    seen.page.get_by_role("button", name="most certain").click()
    assert order(seen) == [part.words for part in check.slices]


def test_many_groups_begin_with_the_most_certain(visit):
    seen = visit(PAGES["groups"])
    rows = seen.page.locator("#groups .slice:visible")
    assert rows.count() == 20
    seen.page.get_by_role("button", name="All 200 rows").click()
    assert rows.count() == 200


def test_the_query_can_be_copied(visit):
    seen = visit(PAGES["continuous"])
    seen.page.locator("#where .open").first.click()
    copy = seen.page.locator("#s1 .copy")
    copy.click()
    seen.page.wait_for_function(
        "document.querySelector('#s1 .copy').textContent !== 'Copy'"
    )
    assert str(seen.page.evaluate("String(getSelection())")).startswith(
        "report.frame().query("
    )


def test_without_a_script_all_cards_are_there(visit):
    seen = visit(PAGES["continuous"], java_script_enabled=False)
    assert seen.page.locator(".card:visible").count() == 4
    assert seen.page.locator(".sort:visible, .copy:visible").count() == 0


def test_paper_has_three_cards_is_light_and_takes_three_pages(visit):
    seen = visit(PAGES["good"], color_scheme="dark", **PAPER)
    for name in ("continuous", "classes", "counts", "good", "quantiles"):
        seen.page.emulate_media(media="screen")
        seen.go(PAGES[name])
        pages = len(
            re.findall(rb"/Type\s*/Page\b", seen.page.pdf(prefer_css_page_size=True))
        )
        assert pages <= 3, name
        seen.page.emulate_media(media="print")
        assert shown(seen) == [f"s{i + 1}" for i in range(min(len(CHECKS[name].slices), 3))]
        assert seen.page.evaluate(BACK) == LIGHT
        assert seen.page.locator(".sort:visible, .behind:visible").count() == 0
        assert seen.overflow() <= 0


OUTSIDE = """() => [...document.querySelectorAll('main :is(svg, p, h2, li, .card, button)')]
    .filter(e => e.checkVisibility() && !e.closest('.wide'))
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"""


def test_nothing_sticks_out_on_a_phone(visit):
    seen = visit(PAGES["good"], **PHONE)
    for name, text in PAGES.items():
        seen.go(text)
        for first in seen.page.locator(".open").all()[:3]:
            first.click()
        for scheme in ("light", "dark"):
            seen.page.emulate_media(color_scheme=scheme)
            assert seen.overflow() <= 0, (name, scheme)
            assert seen.page.evaluate(OUTSIDE) == [], (name, scheme)
        seen.page.evaluate(
            "document.querySelectorAll('details').forEach(d => d.open = true)"
        )
        assert seen.overflow() <= 0, name


def test_dark_follows_the_system(visit):
    for scheme, back in (("dark", DARK), ("light", LIGHT)):
        seen = visit(PAGES["continuous"], color_scheme=scheme)
        assert seen.page.evaluate(BACK) == back


@pytest.mark.parametrize("name", CHECKS)
def test_text_stays_within_its_picture(visit, name):
    """No tick or name leaves its drawing, in any form of any picture."""
    out = """() => [...document.querySelectorAll('svg.chart text')].filter(t => {
        const a = t.getBoundingClientRect(), b = t.ownerSVGElement.getBoundingClientRect();
        return b.width > 0 && a.width > 0 && (a.left < b.left - 2 || a.right > b.right + 2
            || a.top < b.top - 2 || a.bottom > b.bottom + 2);
    }).map(t => t.textContent)"""
    seen = visit(PAGES[name], java_script_enabled=True)
    seen.page.evaluate(
        "document.querySelectorAll('.more').forEach(row => row.hidden = false)"
    )
    seen.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert seen.page.evaluate(out) == []


def test_hostile_names_do_nothing(visit):
    for name in ("evil", "evil classes"):
        seen = visit(
            check_page(CHECKS[name], title=EVIL, command=ENDING, notes=[ENDING, EVIL])
        )
        assert seen.page.locator("img").count() == 0
        assert seen.page.locator("script").count() == 2
        assert seen.page.locator("[onerror]").count() == 0
        seen.page.locator(".open").first.click()
        assert EVIL in seen.page.locator("body").inner_text()


def test_a_card_in_a_notebook_is_safe(visit):
    cards = "".join(
        (card(CHECKS["evil"]), card(CHECKS["groups"]), card(CHECKS["evil"].result))
    )
    seen = visit(f"<!doctype html><meta charset=utf-8><title>notebook</title>{cards}")
    assert seen.page.locator("img, script, style").count() == 0
    assert CHECKS["evil"].words in seen.page.locator("body").inner_text()
