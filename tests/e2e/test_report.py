"""The report in a real browser, from disk, with the network off."""

import numpy as np
import pytest

import condgof as cg
from made_checks import ENDING, HOSTILE, hard_checks, make_grouped

CHECKS = hard_checks()
PAGES = {name: check.to_html() for name, check in CHECKS.items()}
BACK = "getComputedStyle(document.documentElement).backgroundColor"
PHONE = {"viewport": {"width": 390, "height": 844}}


def test_a_real_check_opens_without_complaint(visit):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 4, 150)
    y = x + np.where(x > 2.5, 3.0, 1.0) * rng.standard_normal(150)
    check = cg.check((x, np.ones(150)), x, y, rng=0, engine=1)
    seen = visit(check.to_html(title="A real one"))
    assert seen.page.title().endswith("A real one")
    assert seen.page.locator("main h2").first.inner_text() == "Evidence against the model"
    assert seen.page.locator("#numbers").count() == 1
    assert seen.page.evaluate("JSON.parse(document.getElementById('numbers').textContent).schema") == 1


@pytest.mark.parametrize("name", ["curve", "map", "five", "city"])
def test_pointing_at_a_location_shows_its_panel(visit, name):
    seen = visit(PAGES[name])
    assert seen.shown() == ["c0-loc1"]
    mark = seen.page.locator(".maps svg").first.locator(".mark")
    assert mark.count() == len(CHECKS[name].locations)
    for i in (2, 3, 1):
        mark.nth(i - 1).hover()
        assert seen.shown() == [f"c0-loc{i}"]
        assert "on" in mark.nth(i - 1).get_attribute("class").split()


def test_clicking_and_tabs(visit):
    seen = visit(PAGES["map"])
    seen.page.locator(".mark").nth(1).click()
    assert seen.shown() == ["c0-loc2"]
    seen.page.mouse.move(2, 2)
    assert seen.shown() == ["c0-loc2"]
    seen.page.get_by_role("tab").nth(2).click()
    assert seen.shown() == ["c0-loc3"]
    assert seen.page.get_by_role("tab", selected=True).inner_text().startswith("3")


def test_the_keyboard_reaches_everything(visit):
    seen = visit(PAGES["five"])
    focused = "document.activeElement.dataset.loc || document.activeElement.id"
    keys = seen.page.keyboard
    for _ in range(20):
        keys.press("Tab")
        if seen.page.evaluate("document.activeElement.classList.contains('mark')"):
            break
    assert seen.page.evaluate(focused) == "c0-loc1"
    ring = "getComputedStyle(document.activeElement.querySelector('circle')).strokeWidth"
    assert seen.page.evaluate(ring) == "6px"  # where the focus is can be seen
    keys.press("Tab")
    assert seen.shown() == ["c0-loc2"]
    keys.press("ArrowRight")
    assert seen.shown() == ["c0-loc3"]
    assert seen.page.evaluate(focused) == "c0-loc3"
    keys.press("Home")
    keys.press("ArrowLeft")  # round the corner
    assert seen.shown() == ["c0-loc5"]
    keys.press("Enter")
    assert seen.page.evaluate("document.activeElement.className") == "panel"
    assert seen.page.evaluate("document.activeElement.id") == "c0-loc5"


def test_without_a_script_all_panels_are_there(visit):
    seen = visit(PAGES["curve"], java_script_enabled=False)
    assert seen.page.locator(".panel:visible").count() == 3
    seen.page.locator(".mark").nth(1).click()
    assert seen.page.url.endswith("#c0-loc2")


def test_on_paper_all_panels_are_there_and_all_is_light(visit):
    seen = visit(PAGES["curve"], color_scheme="dark")
    seen.page.emulate_media(media="print")
    assert len(seen.shown()) == 3
    assert (
        seen.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    assert not seen.page.locator(".theme").is_visible()


OUTSIDE = """() => [...document.querySelectorAll('main svg, main p, main h2, main h3, main .card')]
    .filter(e => e.checkVisibility() && !e.closest('.wide'))
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"""


def test_nothing_sticks_out_on_a_phone(visit):
    seen = visit(make_grouped(6, hostile=True).to_html(), **PHONE)
    for name, text in {"groups": None, **PAGES}.items():
        for scheme in ("light", "dark"):
            seen.page.emulate_media(color_scheme=scheme)
            if text is not None and scheme == "light":
                seen.go(text)
            assert seen.overflow() <= 0, (name, scheme)
            assert seen.page.evaluate(OUTSIDE) == [], (name, scheme)


def test_dark_follows_the_system_and_the_button(visit):
    for scheme, first, second in (("dark", "rgb(20, 24, 27)", "rgb(255, 255, 255)"),
                                  ("light", "rgb(255, 255, 255)", "rgb(20, 24, 27)")):  # fmt: skip
        seen = visit(PAGES["curve"], color_scheme=scheme)
        assert seen.page.evaluate(BACK) == first
        seen.page.get_by_role("button", name="Switch between light and dark").click()
        assert seen.page.evaluate(BACK) == second


def test_text_stays_within_its_picture(visit):
    """No tick or name leaves the drawing, in any form of the map."""
    out = """() => [...document.querySelectorAll('svg[role] text')].filter(t => {
        const a = t.getBoundingClientRect(), b = t.ownerSVGElement.getBoundingClientRect();
        return b.width > 0 && a.width > 0 && (a.left < b.left - 1 || a.right > b.right + 1
            || a.top < b.top - 1 || a.bottom > b.bottom + 1);
    }).map(t => t.textContent)"""
    seen = visit(PAGES["curve"])
    for name in ("curve", "map", "five", "mixed", "levels", "city", "pair"):
        seen.go(PAGES[name])
        assert seen.page.evaluate(out) == [], name


def test_hostile_names_do_nothing(visit):
    grouped = make_grouped(3, hostile=True)
    for text in (
        PAGES["hostile"],
        grouped.to_html(title=HOSTILE, command=ENDING, notes=[ENDING, HOSTILE]),
    ):
        seen = visit(text)
        assert seen.page.locator("img").count() == 0
        assert seen.page.locator("script").count() == 2
        assert seen.page.locator("[onerror]").count() == 0
        seen.page.locator(".mark").first.hover()
        assert HOSTILE in seen.page.locator("body").inner_text()


def test_a_page_of_groups_leads_to_each(visit):
    seen = visit(make_grouped(6).to_html())
    assert seen.page.locator(".mark:visible").count() == 0  # six groups are folded away
    seen.page.get_by_role("link", name="group 3").click()
    seen.page.locator("#g1 .mark, #g0 .mark").first.wait_for(state="visible")
    opened = seen.page.locator(".group > details[open]")
    assert opened.count() == 1
    opened.locator(".mark").nth(1).hover()
    assert len(seen.shown()) == 1


def test_a_card_in_a_notebook_is_safe(visit):
    check = CHECKS["hostile"]
    cards = "".join(
        (check._repr_html_(), check.result._repr_html_(), make_grouped(3, hostile=True)._repr_html_())
    )
    assert "<style" not in cards
    seen = visit(f"<!doctype html><meta charset=utf-8><title>notebook</title>{cards}")
    assert seen.page.locator("img, script").count() == 0
    assert HOSTILE in seen.page.locator("body").inner_text()
