"""Text from users' data on its way to a terminal."""

from __future__ import annotations

import unicodedata


def terminal(text: object) -> str:
    r"""Make text safe to print: escape codes, line ends and the like are shown, not obeyed.

    Examples
    --------
    >>> print(terminal("x\x1b]0;title\x07"))
    x\x1b]0;title\x07
    """
    return "".join(
        character.encode("unicode_escape", "surrogatepass").decode("ascii")
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        else character
        for character in str(text)
    )
