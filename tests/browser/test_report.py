"""The report in a real browser, from disk, with the network off."""

import re
from functools import partial

import pytest

from condgof.check import message_parts
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
    """The ids of the cards of subgroups that can be visited."""
    return visited.page.eval_on_selector_all(
        "#subgroups .card", "all => all.filter(c => c.checkVisibility()).map(c => c.id)"
    )


def order(visited):
    """The subgroups as they are listed."""
    return visited.page.locator("#subgroups .open").all_inner_texts()


def test_it_opens_without_complaint_and_says_the_message(visit):
    visited = visit(PAGES["good"])
    for name, check in CHECKS.items():
        visited.go(PAGES[name])
        words = visited.page.locator(".words").inner_text()
        assert words == f"{message_parts(check).headline}."
        assert (
            visited.page.evaluate(
                "JSON.parse(document.getElementById('numbers').textContent).schema"
            )
            == 2
        )
        assert shown(visited) == []


def test_a_click_on_a_row_opens_and_closes_its_card(visit):
    visited = visit(PAGES["continuous"])
    row = visited.page.locator("#subgroups .slice")
    row.nth(1).click()
    assert shown(visited) == ["subgroup-2-card"]
    row.nth(0).locator("td").nth(1).click()
    assert shown(visited) == ["subgroup-1-card", "subgroup-2-card"]
    row.nth(1).locator(".open").click()
    assert shown(visited) == ["subgroup-1-card"]
    assert visited.page.locator("#subgroup-1-card svg.chart").count() == 3


def test_the_keyboard_opens_cards_and_reads_charts(visit):
    visited = visit(PAGES["continuous"])
    keys = visited.page.keyboard
    visited.page.locator("#subgroups .open").first.focus()
    keys.press("Enter")
    assert shown(visited) == ["subgroup-1-card"]
    assert visited.page.evaluate("document.activeElement.ariaExpanded") == "true"
    keys.press("Space")
    assert shown(visited) == []
    visited.page.locator("#hero svg.chart:visible").focus()
    assert "solid" in visited.page.evaluate(
        "getComputedStyle(document.activeElement).outlineStyle"
    )
    keys.press("ArrowRight")
    first = CHECKS["continuous"].effects[0].cells[0]
    assert visited.page.locator(".tip").inner_text().startswith(first.words)
    keys.press("Escape")
    assert visited.page.locator(".tip").is_hidden()


def test_subgroups_are_sorted_by_any_column(visit):
    check = CHECKS["continuous"]
    visited = visit(PAGES["continuous"])
    assert order(visited) == [part.words for part in check.slices]
    rows = visited.page.locator("#subgroups th").nth(2)
    rows.get_by_role("button").click()
    by_rows = sorted(check.slices, key=lambda part: -part.n)
    assert order(visited) == [part.words for part in by_rows]
    assert rows.get_attribute("aria-sort") == "descending"
    visited.page.locator("#subgroups .open").first.click()
    number = check.slices.index(by_rows[0]) + 1
    assert shown(visited) == [f"subgroup-{number}-card"]  # its own, wherever it went


def test_a_point_and_a_bar_say_what_they_are(visit):
    visited = visit(PAGES["continuous"])
    picture = visited.page.locator("#all0 svg.chart:visible")
    picture.scroll_into_view_if_needed()
    point = visited.page.evaluate(
        """() => {
          const figure = document.getElementById('all0');
          const svgs = [...figure.querySelectorAll('svg.chart')];
          const svg = svgs.find(s => s.checkVisibility());
          const [l, r, f, t, x0, x1, y0, y1] = svg.dataset.frame.split(' ').map(Number);
          const [x, y, row] = JSON.parse(figure.dataset.points)[0];
          const box = svg.getBoundingClientRect();
          const scale = box.width / svg.viewBox.baseVal.width;
          return [box.left + scale * (l + (r - l) * (x - x0) / (x1 - x0)),
                  box.top + scale * (f - (f - t) * (y - y0) / (y1 - y0)), row];
        }"""
    )
    visited.page.mouse.move(point[0], point[1])
    words = visited.page.locator(".tip").inner_text()
    assert words.startswith("row ")
    assert "wage " in words
    assert "z " in words


def test_a_subgroup_is_highlighted_everywhere_and_has_a_permalink(visit):
    check = CHECKS["continuous"]
    visited = visit(PAGES["continuous"])
    visited.page.locator("#subgroups .slice").first.click()
    assert visited.page.url.endswith("#subgroup-1")
    assert check.slices[0].words in visited.page.locator(".lamp").inner_text()
    assert visited.page.locator("#all0 .lit circle").count() > 0
    assert visited.page.locator("#all1 .lit rect").count() > 0
    kept = visited.page.locator("#rows tbody tr:visible")
    numbers = [
        int(key.removeprefix("row-")) for key in kept.evaluate_all("r => r.map(e => e.id)")
    ]
    assert numbers
    assert set(numbers) <= set(check.slices[0].rows)
    visited.page.get_by_role("button", name="Clear").click()
    assert visited.page.locator(".lit circle").count() == 0


def test_a_permalink_opens_what_it_names(visit):
    visited = visit(PAGES["continuous"])
    visited.page.evaluate("location.hash = 'effect-2'")
    visited.page.wait_for_selector("#effect-2-card", state="visible")
    visited.page.evaluate("location.hash = 'glossary'")
    visited.page.wait_for_selector("#glossary dl", state="visible")


def test_rows_are_sorted_filtered_and_downloaded(visit):
    visited = visit(PAGES["continuous"])
    rows = visited.page.locator("#rows tbody tr:visible")
    count = rows.count()
    visited.page.get_by_label("Rows that contain").fill("Information")
    fewer = rows.count()
    assert 0 < fewer < count
    visited.page.locator("#rows thead").get_by_role("button", name="wage").first.click()
    wages = [
        float(text.replace(",", "").replace("−", "-"))
        for text in visited.page.locator(
            "#rows tbody tr:visible td:nth-child(2)"
        ).all_inner_texts()
    ]
    assert wages == sorted(wages)
    with visited.page.expect_download() as event:
        visited.page.get_by_role("button", name="Download CSV").click()
    lines = event.value.path().read_text("utf-8-sig").splitlines()
    assert len(lines) == fewer + 1
    assert lines[0].startswith("row,wage")


def test_charts_are_downloaded(visit):
    visited = visit(PAGES["continuous"])
    visited.page.get_by_role("button", name="Show numbers and data").click()
    tools = visited.page.locator("#hero .tools")
    starts = {"CSV": "\ufeffwhere", "SVG": "<svg", "PNG": "\x89PNG"}
    for name, start in starts.items():
        with visited.page.expect_download() as event:
            tools.get_by_role("button", name=name).click()
        content = event.value.path().read_bytes()
        text = content.decode("latin-1" if name == "PNG" else "utf-8")
        assert text.startswith(start), name


NAMELESS = """() => [...document.querySelectorAll(
      'button, select, input, a[href], svg[role], [tabindex]')]
    .filter(e => e.checkVisibility())
    .filter(e => !(e.getAttribute('aria-label') || e.textContent.trim()))
    .map(e => e.outerHTML.slice(0, 80))"""


def test_everything_that_can_be_used_has_a_name(visit):
    visited = visit(PAGES["continuous"])
    for name in ("continuous", "classes", "censored", "good"):
        visited.go(PAGES[name])
        assert visited.page.evaluate(NAMELESS) == [], name


@pytest.mark.parametrize("size", [(1280, 900), (390, 844)])
def test_the_first_effect_is_in_sight_without_scrolling(visit, size):
    width, height = size
    viewport = {"width": width, "height": height}
    visited = visit(PAGES["continuous"], viewport=viewport)
    for name in ("continuous", "classes", "counts", "censored", "quantiles"):
        visited.go(PAGES[name])
        box = visited.page.locator("#hero svg.chart:visible").bounding_box()
        assert box["y"] + 0.6 * box["height"] <= height, name


def test_many_groups_begin_with_the_most_certain(visit):
    visited = visit(PAGES["groups"])
    rows = visited.page.locator("#groups .slice:visible")
    assert rows.count() == 20
    visited.page.get_by_role("button", name="All 200 rows").click()
    assert rows.count() == 200


def test_the_query_can_be_copied(visit):
    visited = visit(PAGES["continuous"])
    visited.page.locator("#subgroups .open").first.click()
    copy = visited.page.locator("#subgroup-1-card .copy")
    copy.click()
    visited.page.wait_for_function(
        "document.querySelector('#subgroup-1-card .copy').textContent !== 'Copy'"
    )
    assert str(visited.page.evaluate("String(getSelection())")).startswith(
        "report.frame().query("
    )


def test_without_a_script_all_cards_are_there(visit):
    visited = visit(PAGES["continuous"], java_script_enabled=False)
    cards = visited.page.locator(".card:visible").count()
    check = CHECKS["continuous"]
    assert cards == len(check.slices) + len(check.effects)
    assert visited.page.locator(".tools:visible, .copy:visible").count() == 0


def test_paper_has_three_cards_is_light_and_takes_eight_pages(visit):
    """Real checks: those with the pictures of several effects take up to eight pages."""
    visited = visit(PAGES["good"], color_scheme="dark", **PAPER)
    for name in ("continuous", "classes", "counts", "good", "quantiles"):
        visited.page.emulate_media(media="screen")
        visited.go(PAGES[name])
        pages = len(
            re.findall(rb"/Type\s*/Page\b", visited.page.pdf(prefer_css_page_size=True))
        )
        assert pages <= 8, name
        visited.page.emulate_media(media="print")
        count = min(len(CHECKS[name].slices), 3)
        assert shown(visited) == [f"subgroup-{i + 1}-card" for i in range(count)]
        assert visited.page.evaluate(BACK) == LIGHT
        assert visited.page.locator(".tools:visible, .behind:visible").count() == 0
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
        assert visited.page.locator("script").count() == 3
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
