"""Nothing that comes with the data is taken for markup, code or a formula."""

import csv
import html as standard
import io
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from condgof.report import html, label, script_json, terminal, visible
from condgof.study import Outcome, Study, Topic, Trial, csv_cell

ANY = st.text(st.characters(exclude_categories=()), max_size=60)
NASTY = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "\"onmouseover='alert(1)'",
    "\x1b[2J\x1b]0;title\x07",
    "a\u202eb\u2066c",
    "\ud800 half a pair",
    "line\nbreak\ttab\r",
    "\x00\x9b31m",
    "\u2028\ufeff\u200b",
    "$\\frac{1}{$ _x_ $",
    "=cmd|' /C calc'!A0",
]


@pytest.mark.parametrize("text", NASTY)
def test_visible_text_has_no_control_or_turning_characters(text):
    shown = visible(text)
    assert all(unicodedata.category(c) not in ("Cc", "Cs", "Zl", "Zp") for c in shown)
    assert not {"\u202e", "\u2066", "\ufeff", "\u200b"} & set(shown)
    shown.encode("utf-8")
    assert terminal(text) == shown


def test_other_scripts_stay_as_they_are():
    for text in ("Straße", "価格", "سعر", "μ ± σ²", "👩‍🔬"):
        assert visible(text) == text


@given(ANY)
def test_html_can_be_read_back_and_holds_no_markup(text):
    safe = html(text)
    assert not set("<>\"'") & set(safe)
    assert standard.unescape(safe) == visible(text)


@given(
    st.recursive(
        ANY,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY, inner, max_size=3),
    )
)
def test_json_in_a_script_can_be_read_back_and_cannot_end_it(value):
    safe = script_json(value)
    assert not set("<>&\u2028\u2029") & set(safe)
    assert safe.isascii()
    assert json.loads(safe) == value


def test_json_has_no_nan():
    with pytest.raises(ValueError, match="JSON"):
        script_json(float("nan"))


@given(ANY)
def test_a_spreadsheet_runs_nothing(text):
    cell = csv_cell(text)
    assert not cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    assert cell in (text, f"'{text}")


@pytest.mark.parametrize("text", ["=1+1", "@x", "+1", "-1", "\t=1"])
def test_tables_of_studies_are_safe_too(text):
    at = Trial(text, 10, text, 0)
    topic = Topic(text, text, True)
    study = Study(
        (topic,), {text: (10,)}, (text,), 1, 0.05, 0, {at: Outcome(at, 0.2, 1.0, 0.1)}
    )
    lines = list(csv.reader(io.StringIO(study.to_csv())))
    assert lines[1][0] == f"'{text}"
    assert lines[1][2] == f"'{text}"


@given(ANY)
def test_labels_are_never_formulas(text):
    from matplotlib.cbook import is_math_text

    assert not is_math_text(label(text))
    assert not label(text).startswith("_")
