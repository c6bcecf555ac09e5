"""Formulas as MathML, made by the build: browsers draw it without a script or a font."""

import re
import unicodedata

from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from sphinx.util import logging

logger = logging.getLogger(__name__)
#: Environments and commands by another name, which latex2mathml knows.
SPELLED = {
    "{aligned}": "{split}",
    "{gathered}": "{split}",
    r"\operatorname*": r"\operatorname",
}
#: What latex2mathml takes for a letter and browsers should space as an operator.
OPERATOR = re.compile(r"<mi>([~⟺⟹±∓⌊⌋⌈⌉⟨⟩⟂∼])</mi>")
#: Browsers know one variant, "normal"; other letters are characters of their own.
VARIANT = re.compile(r'<(m[in]) mathvariant="(?!normal)([a-z-]+)">(.)</m[in]>')
#: A prime is raised by its own shape: as a superscript it would be raised twice.
PRIME = re.compile(r"<msup>(<mi>[^<]+</mi>)<mi>([′″])</mi></msup>")
#: The name of a function, which wants room before what it is applied to, unless that is in
#: brackets.
FUNCTION = re.compile(r'<mi>([a-z]{2,})</mi>(?!<mo stretchy="false">\(|</m)')
#: Bars around something, which are no operators.
BAR = re.compile(r'<mo(?: stretchy="false")?>([|‖])</mo>')
#: A command that latex2mathml does not know is passed on as text, and so is a lost column
#: mark.
UNDRAWN = re.compile(r"\\[A-Za-z]+|<mi>&</mi>|<mo />")

#: A character by its number; "<", ">" and "&" stay as they are written in HTML.
REFERENCE = re.compile(r"&#x(?!0003C|0003E|00026)([0-9A-F]+);")


def letter(match):
    """Return a letter of a mathematical alphabet as the character that it is in Unicode."""
    tag, variant, plain = match.groups()
    name = (
        unicodedata.name(plain)
        .replace("LATIN ", "")
        .replace("GREEK ", "")
        .replace("LETTER ", "")
    )
    styles = (
        variant.upper(),
        variant.replace("-", " ").upper(),
    )  # DOUBLE-STRUCK, BOLD ITALIC
    for candidate in [
        f"{prefix}{style} {name}" for style in styles for prefix in ("MATHEMATICAL ", "")
    ]:
        try:
            return f"<{tag}>{unicodedata.lookup(candidate)}</{tag}>"
        except KeyError:
            continue
    return match.group()


def mathml(latex, node, *, display):
    """Return a formula as MathML, and warn of what cannot be drawn."""
    for ours, theirs in SPELLED.items():
        latex = latex.replace(ours, theirs)
    if "\\\\" in latex and "\\begin" not in latex:
        latex = rf"\begin{{split}}{latex}\end{{split}}"
    try:
        drawn = convert(latex, display="block" if display else "inline")
    except Exception as err:
        logger.warning("formula %r: %r", latex, err, location=node)
        return ""
    drawn = REFERENCE.sub(lambda m: chr(int(m[1], 16)), drawn)
    drawn = VARIANT.sub(letter, OPERATOR.sub(r"<mo>\1</mo>", drawn)).replace(
        "<mo>~</mo>", "<mo>∼</mo>"
    )
    drawn = PRIME.sub(r'<mrow>\1<mo lspace="0" rspace="0">\2</mo></mrow>', drawn)
    drawn = FUNCTION.sub(r'<mi>\1</mi><mspace width="0.167em" />', drawn)
    drawn = BAR.sub(r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', drawn)
    if undrawn := UNDRAWN.findall(drawn):
        logger.warning(
            "formula %r: cannot draw %s", latex, sorted(set(undrawn)), location=node
        )
    return drawn


def inline(self, node):
    """Write a formula in a line of text."""
    self.body.append(mathml(node.astext(), node, display=False))
    raise SkipNode  # or its LaTeX would follow


def block(self, node):
    """Write a formula of its own, with its number where it has a label."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    if node["number"]:
        self.body.append(f'<span class="eqno">({node["number"]})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(mathml(node.astext(), node, display=True) + "</div>\n")
    raise SkipNode


def setup(app):
    """Register the way of writing formulas."""
    app.add_html_math_renderer(
        "mathml", (inline, lambda *_: None), (block, lambda *_: None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
