"""Text on its way out: escaped for page, picture and terminal; numbers; pieces of HTML."""

from __future__ import annotations

import html as _html
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise

from condgof.result import number

#: Characters that turn the direction of text or hide: a name must not rearrange the line
#: that it is in.
_HIDDEN = {
    *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x061C, 0x200B, 0x200E, 0x200F,
    0x2028, 0x2029, 0x2060, 0x180E, 0xFEFF, 0xFFF9, 0xFFFA, 0xFFFB,
}  # fmt: skip


def visible(text: object) -> str:
    """Write as escapes control characters, and those that turn the direction of text."""

    def shown(character: str) -> str:
        code = ord(character)
        control = unicodedata.category(character) in ("Cc", "Cs") or code & 0xFFFE == 0xFFFE
        if not control and code not in _HIDDEN:
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


#: For a terminal: escape codes and line ends are shown, not obeyed. Rich's markup is not
#: its matter.
terminal = visible


def shorten(text: object, length: int = 32) -> str:
    """Cut long text in the middle, which keeps how it begins and ends."""
    text = visible(text)
    if len(text) <= length:
        return text
    head, tail = text[: length // 2], text[len(text) - (length - length // 2 - 1) :]
    return f"{head.rstrip()}…{tail.lstrip()}"


def sentence(words: str) -> str:
    """Begin with a capital letter, leave the rest as it is, and end with a full stop."""
    return f"{words[:1].upper()}{words[1:]}."


def once_in(value: float) -> str:
    """Say how often something of some probability happens."""
    if value >= 0.99:
        return "nearly always"
    if value >= 0.01:
        return f"about {number(100 * value, 2)} times in 100"
    times = 1 / value
    return f"about once in {number(round(times, 2 - len(str(int(times)))), 3)}"


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return round numbers between low and high, about `count` of them."""
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * min(
        (1.0, 2.0, 2.5, 5.0, 10.0), key=lambda m: abs(math.log(m * power / rough))
    )
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    places = max(0, 2 - math.floor(math.log10(step)))
    return [round(i * step, min(places, 300)) + 0.0 for i in range(first, last + 1)]


def tick_texts(at: list[float]) -> list[str]:
    """Write ticks, all with the same number of places, and as many as they need."""
    largest = max((abs(t) for t in at), default=0.0)
    if largest >= 1e12 or largest < 1e-3:
        return [number(t, 3) for t in at]
    units = ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e5, 1e3, "k"), (0.0, 1.0, ""))
    unit, suffix = next((unit, suffix) for least, unit, suffix in units if largest >= least)
    least = 1e-6 * min((abs(b - a) for a, b in pairwise(at)), default=largest) / unit
    scaled = [t / unit for t in at]
    enough = (p for p in range(12) if all(abs(round(t, p) - t) <= least for t in scaled))
    places = next(enough, 12)
    return [minus(f"{t:,.{places}f}{suffix}") if t else "0" for t in scaled]


def minus(text: str) -> str:
    """Write the hyphens before numbers as minus signs."""
    return re.sub(r"(?<![^\s(])-(?=[\d∞])", "−", text)


#: Tags of cells that head a row, and a column.
ROW, COLUMN = 'th scope="row"', 'th scope="col"'


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table that scrolls sideways; cells after the first are numbers."""

    def cells(values: Sequence[object], first: str, rest: str) -> str:
        numbers = "".join(
            f'<{rest} class="n">{html(value)}</{rest[:2]}>' for value in values[1:]
        )
        return f"<{first}>{html(values[0])}</{first[:2]}>{numbers}"

    body = "".join(f"<tr>{cells(row, ROW, 'td')}</tr>" for row in rows)
    return (
        f'<div class="wide"><table><caption>{html(caption)}</caption><thead><tr>'
        f"{cells(header, COLUMN, COLUMN)}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def paragraph(text: object, kind: str = "") -> str:
    return f'<p class="{kind}">{html(text)}</p>' if kind else f"<p>{html(text)}</p>"


def bullets(items: Iterable[object]) -> str:
    inside = "".join(f"<li>{html(item)}</li>" for item in items)
    return f"<ul>{inside}</ul>" if inside else ""
