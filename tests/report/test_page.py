"""The report: one file, whole and well formed, whatever is in the check."""

import base64
import functools
import hashlib
import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condgof.report
from made_checks import ENDING, HOSTILE, hard_checks, make_check, make_grouped
from read_page import TAGS, Page

CHECKS = hard_checks()
ALL = [*CHECKS, "groups", "hostile groups"]


@functools.cache
def write(name):
    if name == "groups":
        return make_grouped(6).to_html()
    if name == "hostile groups":
        return make_grouped(3, hostile=True).to_html(title=ENDING, command=HOSTILE, notes=[ENDING])
    return CHECKS[name].to_html(notes=["12 rows were dropped"])


@pytest.fixture(scope="module", params=ALL)
def text(request):
    return write(request.param)


def test_it_is_small_and_needs_nothing_else(text):
    assert len(text.encode()) < 600_000
    assert not re.search(r"(https?:)?//[a-z]", re.sub(r"<script.*?</script>", "", text, flags=re.S))
    page = Page(text)
    assert {tag for tag, _ in page.elements} <= TAGS
    for _, attributes in page.elements:
        assert not {"src", "style", "srcdoc", "action"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert attributes.get("href", "#").startswith("#")


def test_only_its_own_script_and_style_may_run(text):
    page = Page(text)
    policy = next(a["content"] for a in page.all("meta") if a.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    numbers, code = page.scripts
    for kind, body in (("script-src", code), ("style-src", page.styles[0])):
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert json.loads(numbers)["schema"] == condgof.locate.SCHEMA


def test_references_lead_somewhere_and_headings_go_down_by_one(text):
    page = Page(text)
    ids = set(page.ids)
    assert len(page.ids) == len(ids)
    for _, attributes in page.elements:
        for name in ("aria-labelledby", "aria-controls", "data-loc"):
            assert set((attributes.get(name) or "").split()) <= ids
        if attributes.get("href", "#") != "#":
            assert attributes["href"][1:] in ids
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    tags = [tag for tag, _ in page.elements]
    assert all(tags.count(tag) == 1 for tag in ("header", "main", "footer", "style"))


def test_every_picture_has_a_text_alternative(text):
    page = Page(text)
    for attributes in page.all("svg"):
        assert attributes.get("aria-hidden") == "true" or attributes["role"] in ("img", "group")
        if attributes.get("aria-hidden") != "true":
            assert len(attributes["aria-labelledby"].split()) == 2


def test_no_number_is_nan_in_a_picture(text):
    for attributes in Page(text).all("path"):
        assert not re.search("nan|inf|e", attributes["d"])


def test_the_same_check_gives_the_same_page():
    assert CHECKS["map"].to_html() == CHECKS["map"].to_html()


@pytest.mark.parametrize("name", CHECKS)
def test_it_says_what_the_check_found(name):
    check = CHECKS[name]
    page = Page(write(name))
    verdict = "Evidence against the model" if check.rejects else "No evidence against the model"
    assert verdict in page.text
    assert condgof.report.visible(check.words) in page.text
    assert check.detectable.words in page.text
    assert "rng=42" in page.text
    assert "12 rows were dropped" in page.text
    panels = page.all("section", "panel")
    assert len(panels) == len(check.locations)
    assert not any("hidden" in panel for panel in panels)  # without a script all are there
    maps = page.all("a", "mark")
    assert len(maps) % max(len(check.locations), 1) == 0
    assert sum("named" in a["class"].split() for a in maps) * len(check.locations) == len(maps) * sum(
        place.named for place in check.locations
    )


def test_bars_of_the_null_distribution_hold_all_draws():
    check = CHECKS["curve"]
    draws = check.result.null_distribution
    page = Page(write("curve"))
    desc = page.text
    assert f"{len(draws):,} values" in desc
    assert (
        f"{int((draws >= check.result.statistic).sum()):,} of the values are at least as large" in desc
    )


def test_hostile_names_are_shown_as_text():
    for name in ("hostile", "hostile groups"):
        text = write(name)
        page = Page(text)
        assert "img" not in {tag for tag, _ in page.elements}
        assert len(page.scripts) == 2
        assert HOSTILE in page.text
        assert "</script><script>alert" in page.text
        assert not {"\u202e", "\x1b"} & set(text)


def test_a_check_without_a_map_says_so():
    check = CHECKS["nowhere"]
    blank = replace(check.landscape, values=np.full(600, np.nan), grid=None, grid_values=None)
    page = Page(replace(check, landscape=blank).to_html())
    assert "too few rows" in page.text
    assert page.all("a", "mark") == []


def test_constant_columns_and_far_out_values_are_borne():
    check = make_check(("a", "b"), ("y",))
    points, grid = (np.array(v) for v in (check.landscape.points, check.landscape.grid))
    points[:, 1] = grid[:, 1] = 3.0
    scape = replace(
        check.landscape, points=points, grid=grid[::41], grid_values=check.landscape.grid_values[::41]
    )
    assert "Misfit over a" in Page(replace(check, landscape=scape).to_html()).text
    wild = np.array(check.landscape.residuals)
    wild[0] = 1e12
    page = Page(replace(check, landscape=replace(check.landscape, residuals=wild)).to_html())
    assert "All rows at once" in page.text


def test_many_groups_stay_below_two_megabytes():
    grouped = make_grouped(3)
    one = grouped.checks["group 0"]
    checks = {f"group {i}": one for i in range(1000)}
    text = replace(grouped, checks=checks).to_html()
    assert len(text.encode()) < 2_000_000
    page = Page(text)
    assert sum("group " in word for word in page.words) >= 1000
    assert "smallest p-values have pictures" in page.text
    assert len(json.loads(page.scripts[0])["groups"]) == 1000


def test_many_columns_stay_below_two_megabytes():
    names = tuple(f"y{i}" for i in range(12))
    check = make_check(tuple(f"c{i}" for i in range(300)), names, m=1500, locations=5, kind="samples")
    found = check.locations[0].findings * 40
    check = replace(check, locations=tuple(replace(p, findings=found) for p in check.locations))
    text = check.to_html()
    assert len(text.encode()) < 1_500_000
    assert "more left out" in Page(text).text


def test_no_group_at_all():
    grouped = replace(make_grouped(3), checks={}, words="No group could be checked.")
    assert "No group could be checked" in Page(grouped.to_html()).text


def colours(css):
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})\b", css))


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast_is_enough_to_read(theme):
    folder = Path(condgof.report.__file__).parent
    css = (folder / ("dark.css" if theme == "dark" else "page.css")).read_text()
    found = colours(css)
    pairs = [
        *((ink, back, 4.5) for ink in ("ink", "soft", "link", "model") for back in ("paper", "card")),
        ("bad", "bad-back", 4.5), ("good", "good-back", 4.5), ("ink", "bad-back", 4.5),
        ("ink", "good-back", 4.5), ("ink", "h1", 4.5), ("ink", "h2", 4.5), ("h4-ink", "h4", 4.5),
        ("data", "paper", 3.0), ("model", "bar", 1.5), ("focus", "paper", 3.0), ("bar", "paper", 1.5),
    ]  # fmt: skip
    for ink, back, least in pairs:
        high, low = sorted((luminance(found[ink]), luminance(found[back])), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= least, (ink, back)
