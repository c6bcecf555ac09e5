"""Text that came with the data (names, levels, groups) on its way out: page, picture, table, terminal.

A column may be named anything: each way out has one function here, and everything goes through it.
"""

from __future__ import annotations

import html as _html
import json
import unicodedata
from typing import Any

__all__ = ["html", "label", "script_json", "shorten", "terminal", "visible"]

#: Characters that turn the direction of text or hide: a name must not rearrange the line that it is in.
_HIDDEN = {
    *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x061C, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029,
    0x2060, 0x180E, 0xFEFF, 0xFFF9, 0xFFFA, 0xFFFB,
}  # fmt: skip


def visible(text: object) -> str:
    r"""Write control characters and characters that turn the direction of text as escapes.

    Examples
    --------
    >>> print(visible("a\x1b[31m\nb\u202e"))
    a\x1b[31m\nb\u202e
    """
    return "".join(_shown(character) for character in str(text))


def _shown(character: str) -> str:
    code = ord(character)
    control = unicodedata.category(character) in ("Cc", "Cs") or code & 0xFFFE == 0xFFFE
    if not control and code not in _HIDDEN:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def html(text: object) -> str:
    """Make text safe in HTML and SVG, between tags and in quoted attributes.

    Examples
    --------
    >>> html('<img src=x onerror="alert(1)">')
    '&lt;img src=x onerror=&quot;alert(1)&quot;&gt;'
    """
    return _html.escape(visible(text), quote=True)


def script_json(value: Any) -> str:
    r"""Write JSON that may stand in a script element: nothing in it can end the element.

    Examples
    --------
    >>> script_json({"group": "</script>"})
    '{"group":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def label(text: object) -> str:
    r"""Make text safe in matplotlib: dollars are no formulas, and an underscore hides nothing.

    Examples
    --------
    >>> print(label("price ($)"))
    price (\$)
    """
    text = visible(text).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def terminal(text: object) -> str:
    r"""Make text safe to print: escape codes, line ends and the like are shown, not obeyed.

    Markup of libraries (Rich's square brackets) is not its matter.

    Examples
    --------
    >>> print(terminal("x\x1b]0;title\x07"))
    x\x1b]0;title\x07
    """
    return visible(text)


def shorten(text: object, length: int = 32) -> str:
    """Cut long text in the middle, which keeps how it begins and ends.

    Examples
    --------
    >>> shorten("a very long name of a column", 16)
    'a very l…column'
    """
    text = visible(text)
    if len(text) <= length:
        return text
    head = length // 2
    tail = length - head - 1
    return f"{text[:head].rstrip()}…{text[len(text) - tail :].lstrip()}"
