"""The report: one well-formed file that says what the check says, whatever is in it."""

import base64
import functools
import hashlib
import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import condgof as cg
import condgof.report
from condgof.check import (
    NUMBER_FORMATS,
    Tolerance,
    advice_texts,
    effect_range,
    finding_row,
    headline,
    loss_texts,
    message_parts,
    reading_notes,
)
from condgof.report import card, check_page
from read_page import TAGS, Page
from report.samples import EVIL, SEED, TOLERANCE, checks, continuous

ENDING = "</script><script>alert('2')</script>\"'"
TURNED = "a\u202eb\x1b[31m $c_d$"
CHECKS = checks()
BACKS = ("paper", "card")


@functools.cache
def write(name):
    if name.startswith("evil"):
        return check_page(CHECKS[name], title=ENDING, command=TURNED, notes=[ENDING, EVIL])
    return check_page(CHECKS[name], notes=["12 rows were dropped"])


@functools.cache
def read(text):
    """Return the elements of a page, which no test changes."""
    return Page(text)


@pytest.fixture(scope="module", params=CHECKS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def text(name):
    return write(name)


def test_it_is_small_and_needs_nothing_else(text):
    assert len(text.encode()) < 1_000_000
    assert not re.search(
        r"(https?:)?//[a-z]", re.sub(r"<script.*?</script>", "", text, flags=re.S)
    )
    page = read(text)
    assert {tag for tag, _ in page.elements} <= TAGS | {"small", "clippath"}
    for _, attributes in page.elements:
        assert not {"src", "style", "srcdoc", "action"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert attributes.get("href", "#").startswith("#")


def test_only_its_own_script_and_style_may_run(text):
    page = read(text)
    policy = next(a["content"] for a in page.all("meta") if a.get("http-equiv"))
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "img-src data:;" in policy  # of a chart that is turned into a PNG
    numbers, _, code = page.scripts
    for kind, body in (("script-src", code), ("style-src", page.styles[0])):
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert json.loads(numbers)["schema"] == 2


def test_references_lead_somewhere_and_headings_go_down_by_one(text):
    page = read(text)
    ids = set(page.ids)
    assert len(page.ids) == len(ids)
    for _, attributes in page.elements:
        for name in ("aria-labelledby", "aria-controls", "aria-describedby"):
            assert set((attributes.get(name) or "").split()) <= ids
        if attributes.get("href", "#") != "#":
            assert attributes["href"][1:] in ids
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    tags = [tag for tag, _ in page.elements]
    assert all(tags.count(tag) == 1 for tag in ("header", "main", "footer", "style"))


def test_every_picture_has_a_text_alternative_and_its_numbers(text):
    page = read(text)
    for attributes in page.all("svg"):
        if attributes.get("aria-hidden") != "true":
            assert attributes["role"] == "img"
            assert attributes["aria-label"]
            assert attributes["aria-describedby"]
    figures = len(page.all("figure"))
    narrow = len(page.all("svg", "narrower"))
    assert figures == len(page.all("details", "behind"))
    assert len(page.all("svg", "chart")) == figures + narrow
    assert narrow == len(page.all("svg", "wider"))


def test_no_number_is_nan_in_a_picture(text):
    for _, attributes in read(text).elements:
        for key in ("d", "x", "cx", "width", "points"):
            assert not re.search("nan|inf|e", attributes.get(key, ""), re.IGNORECASE), (
                attributes
            )


def test_the_order_is_that_of_what_a_reader_needs_next(name, text):
    check = CHECKS[name]
    page = read(text)
    order = ["message", "effects", "try", "overall", "groups", "subgroups"]
    order += ["columns", "rows"]
    found = [a.get("id") or a["class"].split()[0] for a in page.all("section")]
    assert found == [key for key in order if key in found]
    assert {"message", "overall"} <= set(found)
    assert ("subgroups" in found) == bool(check.slices)
    assert ("groups" in found) == bool(check.groups)
    assert ("effects" in found) == bool(check.effects)
    assert ("rows" in found) == bool(len(check.pictures.rows.listed))
    assert ("try" in found) == any(effect.advice for effect in check.effects)
    if not check.rejected:
        assert not {"effects", "subgroups", "try"} & set(found)


def row_texts(text, key):
    """Return the words of each cell of the first row of a table's body."""
    body = text[text.index(f'<tbody id="{key}"') :]
    row = body[: body.index("</tr>")]
    cells = re.findall(r"<t[hd][^>]*>.*?</t[hd]>", row)
    return [Page(cell).text.strip() for cell in cells]


def test_effects_are_listed_with_their_shares_and_gains(name, text):
    effects = CHECKS[name].effects
    assert ("What is wrong" in read(text).text) == bool(effects)
    total = sum(effect.gain for effect in effects)
    for i, effect in enumerate(effects, 1):
        number, title, share, first, last, gain, _ = row_texts(text, f"effect-{i}")
        assert (number, title) == (str(i), condgof.report.visible(effect.name))
        assert share == f"{100 * effect.gain / total:.0f}%"
        assert (first, last) == effect_range(effect)
        assert float(gain) == pytest.approx(
            effect.gain, abs=0.005 if effect.gain >= 0.095 else 0.0005
        )
    assert text.count('id="hero"') == bool(effects)
    drawn = re.findall(r'<figure[^>]*id="effect-(\d)-picture"', text)
    assert drawn == [str(i) for i in range(2, min(len(effects), 8) + 1)]


def test_it_says_the_message_and_three_numbers(name, text):
    check = CHECKS[name]
    page = read(text)
    words, place = message_parts(check)
    assert condgof.report.visible(f"{words}.") in page.text
    assert condgof.report.visible(place) in page.text
    assert headline(check) in page.text
    buttons = re.findall('<button[^>]*class="why".*?</button>', text)
    numbers = [Page(found).text for found in buttons]
    assert len(numbers) == 3
    assert numbers[0] == check.result.pvalue_words
    if check.avoidable_loss is not None:
        loss = loss_texts(check.avoidable_loss)
        assert numbers[1] == f"avoidable loss {loss.estimate} {loss.interval}"
    verdict = check.tolerance.verdict.split()[0]  # "worse", "good" or "undecided"
    assert numbers[2].startswith(verdict)
    assert f"the {TOLERANCE.removesuffix(' size')} you allow" in numbers[2]
    assert f"tolerance='{TOLERANCE}', rng={SEED}" in page.text


def test_notes_stand_under_the_headline(name, text):
    top = text[: text.index("</section>")]
    notes = Page(top[top.index("<section") :] + "</section>").text
    for note in (*reading_notes(CHECKS[name]), "12 rows were dropped"):
        if name.startswith("evil") and "dropped" in note:
            continue
        assert condgof.report.visible(note).lower().rstrip(".") in notes.lower()


def test_numbers_of_subgroups_are_those_of_the_terminal(name, text):
    check = CHECKS[name]
    page = read(text)
    several = len(check.y_columns) > 1
    findings = list(check.overall)
    for part in (*check.slices, *check.groups[:5]):
        assert f"{part.n:,}" in page.words
        findings += part.findings
    for finding in findings:
        if finding.kind in NUMBER_FORMATS:
            row = finding_row(finding, several=several)
            assert condgof.report.visible(" ".join(filter(None, row))) in page.text


def test_the_same_sentence_stands_once(name, text):
    check = CHECKS[name]
    page = Page(re.sub("<desc.*?</desc>", "", text))
    lower = page.text.lower()
    messages = {part.message for part in check.slices}
    for words in (*message_parts(check), check.tolerance.words, *messages):
        plain = condgof.report.visible(words).lower().rstrip(".")
        # "… wrong by age and year" is another sentence than "… wrong by age".
        whole = f"{re.escape(plain)}(?! and )"
        assert not plain or len(re.findall(whole, lower)) == 1, words
    if check.groups:  # of many groups, two may say the same
        return
    sentences = [words.strip() for words in page.words if len(words.strip()) > 60]
    long = [words for words in sentences if words.endswith(".")]
    assert len(long) == len(set(long))


def test_what_could_have_been_seen_is_not_said_twice():
    check = CHECKS["good"]
    check = replace(
        check,
        words=f"No misfit found. {check.power.words}",
        tolerance=None,
    )
    assert Page(check_page(check)).text.count(check.power.words) == 1


@pytest.mark.parametrize(
    ("verdict", "said", "looks"),
    [
        ("good enough", "good enough: below the 0.1 you allow", "weak"),
        ("undecided", "undecided about the 0.1 you allow", "bad"),
    ],
)
def test_verdicts_about_a_tolerance(verdict, said, looks):
    check = replace(
        CHECKS["continuous"], tolerance=Tolerance(0.1, verdict, 0.0, 0.2, "So it is.")
    )
    page = Page(check_page(check))
    assert said in page.text
    assert page.all("section", looks)


def test_all_cards_are_open_without_a_script():
    page = read(write("continuous"))
    check = CHECKS["continuous"]
    assert len(page.all("tr", "more")) == len(check.slices) + len(check.effects)
    assert not any("hidden" in attributes for _, attributes in page.elements)
    assert page.text.count("report.frame().query(") >= len(check.slices)


def test_one_axis_for_all_intervals_of_a_kind():
    text = write("continuous")
    check = CHECKS["continuous"]
    assert len(read(text).all("th", "axis")) == len({s.kind for s in check.slices})
    lines = re.findall(r'<td class="axis[^>]*>.*?<rect class="model" x="([\d.]+)%"', text)
    spread = {line for line in lines if lines.count(line) > 1}
    assert len(spread) <= 2


def test_hostile_names_are_shown_as_text():
    for name in ("evil", "evil classes"):
        text = write(name)
        page = read(text)
        assert "img" not in {tag for tag, _ in page.elements}
        assert len(page.scripts) == 3
        assert EVIL in page.text
        assert "</script><script>alert" in page.text
        assert not {"\u202e", "\x1b"} & set(text)


def test_the_title_is_the_users():
    page = check_page(CHECKS["continuous"], title="My model")
    assert page.count("<h1>My model</h1>") == 1
    assert "wage | age" in page


def test_the_same_check_gives_the_same_page():
    assert check_page(CHECKS["continuous"]) == check_page(CHECKS["continuous"])


def test_many_groups_stay_small_and_what_is_left_out_is_said():
    check = continuous(n=4000, seed=3, towns=1000)
    text = check_page(check)
    assert len(text.encode()) < 1_000_000
    page = read(text)
    assert "The 200 most certain are listed, all are in the picture" in page.text
    numbers = json.loads(page.scripts[0])
    assert len(numbers["groups"]) + numbers["groups_left_out"] == len(check.groups)


def test_many_columns_and_slices_stay_small():
    check = CHECKS["continuous"]
    checked = check.checked
    axes = tuple(
        replace(axis, name=f"{axis.name} {i}") for i, axis in enumerate(checked.axes * 30)
    )
    columns = tuple(
        replace(column, name=f"column {i}")
        for i, column in enumerate(checked.x_columns * 30)
    )
    table = replace(
        checked.table,
        axes=(*checked.axes, *axes),
        x_columns=columns,
        x=np.tile(checked.x, (1, 30)),
    )
    wide = replace(check, checked=replace(checked, table=table), slices=check.slices * 15)
    page = check_page(wide)
    assert len(page.encode()) < 1_000_000
    assert "more columns explain less and are not drawn" in page
    assert "The first 8 have pictures" in page


def test_a_group_without_evidence_is_not_called_wrong():
    check = CHECKS["few groups"]
    text = write("few groups")
    rows = re.findall(
        r'<span class="side \w+">([^<]*)</span>',
        text[text.index('id="groups"') : text.index('id="subgroups"')],
    )
    assert rows == [
        part.direction if part.pvalue <= 0.05 or part.findings[0].telling else "–"
        for part in check.groups
    ]
    assert "–" in rows
    words = Page(card(check)).text
    assert [part.message in words for part in check.groups] == [row != "–" for row in rows]


def advised(name):
    """Return the changes that the page advises, each with its gain."""
    text = write(name)
    if 'id="try"' not in text:
        return []
    body = text[text.index('<section id="try"') :]
    body = body[: body.index("</section>")]
    pairs = re.findall(r"<li><b>(.*?)</b> <span>\((.*?)\)</span></li>", body)
    return [(Page(words).text, Page(gain).text) for words, gain in pairs]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "continuous",
            [
                "let the spread depend on education",
                "a nonlinear term of age in the mean",
                "let the spread depend on age",
            ],
        ),
        ("good", []),
        (
            "several",
            [
                "multiply the predicted SD by 1.63",
                "let the columns of y be correlated",
                "let the spread depend on age",
            ],
        ),
        ("classes", ["a temperature of the logits that depends on confidence"]),
        ("counts", ["a negative binomial family"]),
        (
            "quantiles",
            [
                "let the 95% quantile depend on distance",
                "let the 5% quantile depend on distance",
            ],
        ),
        (
            "intervals",
            [
                "a width of the 90% intervals that depends on distance",
                "a width of the 50% intervals that depends on distance",
            ],
        ),
        ("censored", ["a term of age in the hazard"]),
        ("scores", ["multiply the predicted SD by 1.40"]),
    ],
)
def test_each_kind_of_y_has_its_advice(name, words):
    assert [advice for advice, _ in advised(name)] == words


def test_advice_is_that_of_effects_with_their_gains(name):
    check = CHECKS[name]
    found = advised(name)
    assert found == [(one.words, one.gain) for one in advice_texts(check)]
    known = {effect.advice.words for effect in check.effects if effect.advice}
    assert {condgof.report.visible(words) for words in known} >= {w for w, _ in found}
    assert bool(found) == bool(known)


def test_what_to_read_on_is_named_by_its_title():
    title = (
        (Path(__file__).parents[2] / "docs/mending.md")
        .read_text("utf-8")
        .splitlines()[0]
        .strip("# ")
    )
    assert f"“{title}” of condgof's documentation" in read(write("continuous")).text
    assert ".md" not in read(write("continuous")).text


def test_columns_of_tables_are_no_narrower_than_their_words():
    """With "anywhere" a name in a wide table would be set one letter a line."""
    style = read(write("continuous")).styles[0]
    assert "overflow-wrap: break-word" in re.search(r"\.wide \{(.*?)\}", style)[1]
    assert "white-space: normal" in re.search(r"\.wide thead th \{(.*?)\}", style)[1]


def test_cards_in_notebooks_stand_alone():
    for name in ("continuous", "groups", "evil", "good", "scores"):
        shown = card(CHECKS[name])
        page = Page(shown)
        assert condgof.report.visible(CHECKS[name].words) in page.text
        assert not {"img", "script", "style"} & {tag for tag, _ in page.elements}
        assert len(shown) < 20_000
    assert "adaptive" in Page(card(CHECKS["good"].result)).text


def colours(css):
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})\b", css))


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [0, 1])
def test_contrast_is_enough_to_read(theme):
    folder = Path(condgof.report.__file__).parent
    found = {}
    for sheet in ("page.css", "charts.css"):
        found |= colours((folder / sheet).read_text().split("/* --- */")[theme])
    pairs = [("good", "paper", 4.5)]
    for back in BACKS:
        pairs += [(ink, back, 4.5) for ink in ("ink", "soft", "accent", "k-soft")]
        pairs += [(ink, back, 3.0) for ink in ("k-model", "k-high", "k-low", "k-even")]
    for ink, back, least in pairs:
        high, low = sorted((luminance(found[ink]), luminance(found[back])), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= least, (ink, back)


def test_35_a_report_lists_no_ids_and_no_long_numbers():
    """Ids, account numbers and exact amounts of the data are not in the page."""
    rng = np.random.default_rng(0)
    n = 400
    names = [f"person-{i // 2:04d}" for i in range(n)]  # all different, it would be refused
    account = rng.integers(10**6, 10**7, n)
    x = pd.DataFrame(
        {"name": names, "account": account, "a": rng.standard_normal(n).round(9)}
    )
    y = pd.Series(x["a"] + rng.standard_normal(n).round(9), name="amount")
    text = cg.check((x["a"], np.ones(n)), x, y, rng=0).to_html()
    assert "What this file holds of your data" in text
    assert "at most 12 levels of a column, of 5 rows or more each" in text
    assert not re.search(r"person-\d", text)
    assert not [v for v in account if f"{v:,}" in text or str(v) in text]
    assert not [v for v in y if f"{v:.9g}" in text]
    numbers = json.loads(read(text).scripts[0])
    digits = re.findall(r"\d+\.\d+", json.dumps(numbers["overall"], ensure_ascii=False))
    assert max(len(one.replace(".", "").lstrip("0")) for one in digits) <= 6


def with_index(kind):
    """A check of people with an index of their names, some of them outliers."""
    rng = np.random.default_rng(0)
    n = 300
    names = pd.Index([f"person-{i:04d}" for i in range(n)])
    x = pd.DataFrame({"a": rng.standard_normal(n)}, index=names)
    if kind == "classes":
        p = np.tile([1.0 - 1e-6, 1e-6], (n, 1))
        y = pd.Series(np.where(np.arange(n) < 7, "rare", "usual"), index=names)
        model = cg.probabilities(p, classes=["usual", "rare"])
        return cg.check(model, x, y, rng=0, n_boot=99)
    y = x["a"] + rng.standard_normal(n)
    y.iloc[:7] += 9.0
    return cg.check((x["a"], np.ones(n)), x, y, rng=0, n_boot=99)


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_a_page_says_whether_labels_of_rows_are_in_it(kind):
    check = with_index(kind)
    labels = set(check.overall[-1].row_labels)
    assert len(labels) == 5
    text = check.to_html()
    assert labels <= set(re.findall(r"person-\d{4}", text))
    assert "their labels in your index" in text
    without = check.to_html(row_labels=False)
    assert "person-" not in without
    assert "their labels in your index" not in without
    # Nothing else of the report is another.
    assert "person-" not in json.dumps(check.without_labels().to_dict())
    assert check.without_labels().pvalue == check.pvalue
    assert check.without_labels().frame().index[0] == "person-0000"


def test_a_page_without_rows_has_no_single_row():
    text = with_index("numbers").to_html(rows=False, row_labels=False)
    assert "data-points" not in text
    assert 'id="rows"' not in text
    assert json.loads(read(text).scripts[1])["rows"] == {}
    assert "The numbers of at most five outlying rows" in text


def test_without_an_index_a_page_has_numbers_of_rows():
    check = CHECKS["continuous"]
    text = check.to_html()
    assert "their numbers, y, what is predicted" in text
    assert "in your index" not in text
    assert check.without_labels().words == check.words


def test_rows_are_those_of_the_frame():
    """Each row of the table has the numbers of `frame()`, and rows stand by distance."""
    check = CHECKS["continuous"]
    frame = check.frame()
    shown = check.pictures.rows
    z = np.abs(frame["z"].to_numpy())
    assert shown.listed[:100].tolist() == np.argsort(-z, kind="stable")[:100].tolist()
    text = write("continuous")
    rows = re.findall(r'<tr id="row-(\d+)" data-sets="([\d ]*)">(.*?)</tr>', text)
    assert [int(number) for number, _, _ in rows] == shown.listed.tolist()
    marks = json.loads(read(text).scripts[1])
    assert set(map(int, marks["rows"])) == set(shown.points) | set(shown.listed)
    for number, sets, cells in rows[:20]:
        label, wage = (Page(cell).text for cell in re.findall("<t.*?</t[hd]>", cells)[:2])
        assert label.strip() == f"{int(number):,}"
        assert float(wage.replace(",", "").replace("−", "-")) == pytest.approx(
            frame["wage"][int(number)], rel=1e-3
        )
        for k, part in enumerate(check.pictures.highlights):
            if part.key.startswith("subgroup"):
                rows_of = check.slices[int(part.key.split("-")[1]) - 1].rows
                assert (int(number) in rows_of) == (str(k) in sets.split())


def test_highlights_are_shares_of_the_rows_of_each_bin():
    check = CHECKS["continuous"]
    pit = check.frame()["pit"].to_numpy()
    part = check.slices[0]
    lit = next(one for one in check.pictures.highlights if one.key == "subgroup-1")
    bars = len(check.curves()["pit"]["wage"]["rows"])
    inside = np.isin(check.checked.rows, part.rows)
    expected = [
        inside[np.minimum(np.floor(bars * pit), bars - 1) == k].mean() for k in range(bars)
    ]
    assert lit.shares["pit"] == pytest.approx(expected)
    assert lit.rows == part.n
