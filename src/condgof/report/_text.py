"""Text on its way out: escaped for page, picture and terminal; numbers; pieces of HTML."""

from __future__ import annotations

import html as _html
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from condgof.result import number

#: Characters that are invisible, or turn the direction of text: a name with them could
#: rearrange the line that it is in.
_HIDDEN = {
    0x061C,  # Arabic letter mark
    0x180E,  # Mongolian vowel separator
    0x200B,  # zero-width space
    0x200E,  # left-to-right mark
    0x200F,  # right-to-left mark
    0x2028,  # line separator
    0x2029,  # paragraph separator
    *range(0x202A, 0x202F),  # embeddings and overrides of the direction, and their end
    0x2060,  # word joiner
    *range(0x2066, 0x206A),  # isolates of the direction, and their end
    0xFEFF,  # byte order mark
    0xFFF9,  # anchor of an interlinear annotation
    0xFFFA,  # separator of an interlinear annotation
    0xFFFB,  # end of an interlinear annotation
}
#: Categories of Unicode that are written as escapes: control characters and surrogates.
_CONTROL_CATEGORIES = ("Cc", "Cs")


def visible(text: object) -> str:
    """Write as escapes control characters, and those that turn the direction of text."""

    def shown(character: str) -> str:
        code = ord(character)
        # Codes that end in FFFE or FFFF are no characters, and XML forbids some of them.
        is_no_character = code & 0xFFFE == 0xFFFE
        is_control = unicodedata.category(character) in _CONTROL_CATEGORIES
        if not is_control and not is_no_character and code not in _HIDDEN:
            return character
        return character.encode("unicode_escape", "surrogatepass").decode("ascii")

    return "".join(map(shown, str(text)))


def html(text: object) -> str:
    """Make text safe in HTML and SVG, between tags and in quoted attributes."""
    return _html.escape(visible(text), quote=True)


def script_json(value: object) -> str:
    """Write JSON that may stand in a script element: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def label(text: object) -> str:
    """Make text safe in matplotlib: no dollar is a formula, no underscore hides."""
    text = visible(text).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


#: Makes text safe in a terminal, which shows escape codes and line ends, and does not obey
#: them. Brackets stay, so that text for Rich needs `rich.markup.escape` as well.
terminal = visible


def shorten(text: object, length: int = 32) -> str:
    """Cut long text in the middle, which keeps how it begins and ends."""
    text = visible(text)
    if len(text) <= length:
        return text
    letters_of_head = length // 2
    letters_of_tail = length - letters_of_head - 1
    head = text[:letters_of_head]
    tail = text[len(text) - letters_of_tail :]
    return f"{head.rstrip()}…{tail.lstrip()}"


def sentence(words: str) -> str:
    """Begin with a capital letter, leave the rest as it is, and end with a full stop."""
    return f"{words[:1].upper()}{words[1:]}."


def once_in(value: float) -> str:
    """Write a probability as how often something happens."""
    if value >= 0.99:
        return "nearly always"
    if value >= 0.01:
        return f"about {number(100 * value, 2)} times in 100"
    times = 1 / value
    digits = len(str(int(times)))
    return f"about once in {number(round(times, 2 - digits), 3)}"


#: What a step between ticks may begin with.
STEP_DIGITS = (1.0, 2.0, 2.5, 5.0, 10.0)
#: Ticks may lie beyond the ends of an axis by this many steps, which is rounding error.
ROUNDING = 1e-9
#: Most decimals that `round` is asked for.
MOST_DECIMALS = 300


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return round numbers between low and high, about `count` of them."""
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    # The step that is nearest to the rough one as a ratio.
    step = power * min(STEP_DIGITS, key=lambda digit: abs(math.log(digit * power / rough)))
    first = math.ceil(low / step - ROUNDING)
    last = math.floor(high / step + ROUNDING)
    decimals = min(max(0, 2 - math.floor(math.log10(step))), MOST_DECIMALS)
    # Adding 0 turns −0 into 0.
    return [round(i * step, decimals) + 0.0 for i in range(first, last + 1)]


class Unit(NamedTuple):
    """A unit of the numbers at ticks."""

    least: float  #: Ticks have this unit if the largest of them is at least this.
    size: float
    suffix: str


#: Units of ticks, the largest first.
UNITS = (
    Unit(least=1e9, size=1e9, suffix="G"),
    Unit(least=1e6, size=1e6, suffix="M"),
    Unit(least=1e5, size=1e3, suffix="k"),
    Unit(least=0.0, size=1.0, suffix=""),
)
#: Ticks are written with powers of ten if the largest of them is not between these.
LEAST_PLAIN = 1e-3
MOST_PLAIN = 1e12
#: Ticks are written exactly, up to this share of the distance between them.
EXACT_TICK = 1e-6
#: Most decimals of a tick.
MOST_PLACES = 12


def tick_texts(at: list[float]) -> list[str]:
    """Write ticks, all with as many decimals as the one that needs most."""
    largest = max((abs(t) for t in at), default=0.0)
    if largest >= MOST_PLAIN or largest < LEAST_PLAIN:
        return [number(t, 3) for t in at]
    unit = next(unit for unit in UNITS if largest >= unit.least)
    step = min((abs(b - a) for a, b in pairwise(at)), default=largest)
    error = EXACT_TICK * step / unit.size
    scaled = [t / unit.size for t in at]
    places = 0
    while places < MOST_PLACES and not _are_exact(scaled, places, error):
        places += 1
    return [minus(f"{t:,.{places}f}{unit.suffix}") if t else "0" for t in scaled]


def _are_exact(values: list[float], places: int, error: float) -> bool:
    """Whether no value changes by more than `error` when it is rounded to `places`."""
    return all(abs(round(value, places) - value) <= error for value in values)


def minus(text: str) -> str:
    """Write the hyphens before numbers as minus signs."""
    return re.sub(r"(?<![^\s(])-(?=[\d∞])", "−", text)


#: The tag of the cell that heads a row.
ROW = 'th scope="row"'
#: The tag of the cells that head columns.
COLUMN = 'th scope="col"'


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table that scrolls sideways; cells after the first are numbers."""

    def cells(values: Sequence[object], first: str, rest: str) -> str:
        # The first two letters of a tag, "th" or "td", are what its end needs.
        numbers = "".join(
            f'<{rest} class="n">{html(value)}</{rest[:2]}>' for value in values[1:]
        )
        return f"<{first}>{html(values[0])}</{first[:2]}>{numbers}"

    body = "".join(f"<tr>{cells(row, ROW, 'td')}</tr>" for row in rows)
    return (
        '<div class="wide" tabindex="0" role="group"'
        f' aria-label="{html(caption)}"><table><caption>{html(caption)}</caption>'
        "<thead><tr>"
        f"{cells(header, COLUMN, COLUMN)}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def section(heading: str, key: str, *body: str) -> str:
    """Return a section with its heading, which links to itself; `key` is its id."""
    link = f'<a class="link" href="#{key}" aria-label="Link to {html(heading)}">#</a>'
    return (
        f'<section id="{key}" aria-labelledby="{key}-h"><h2 id="{key}-h">{html(heading)}'
        f"</h2>{link}{''.join(body)}</section>"
    )


def paragraph(text: object, kind: str = "") -> str:
    """Return a paragraph in HTML; `kind` is a class of page.css."""
    return f'<p class="{kind}">{html(text)}</p>' if kind else f"<p>{html(text)}</p>"


def bullets(items: Iterable[object]) -> str:
    """Return a list in HTML; "" without items."""
    inside = "".join(f"<li>{html(item)}</li>" for item in items)
    return f"<ul>{inside}</ul>" if inside else ""


def code(text: str) -> str:
    """Return lines of code with a button that copies them; line ends stay."""
    lines = "\n".join(map(html, text.splitlines()))
    button = '<button type="button" class="copy">Copy</button>'
    return f'<div class="code"><pre><code>{lines}</code></pre>{button}</div>'
