"""The top of a page: the verdict, what is wrong and where most, and three numbers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from condgof.check import (
    Check,
    Role,
    headline,
    is_weak,
    listed,
    loss_texts,
    message_parts,
    reading_notes,
    verdict_of,
)
from condgof.report._text import html, once_in, paragraph, sentence, shorten
from condgof.result import estimate_text, short

#: Drawings of the verdict's sign, by its colour: a cross, a triangle, a tick.
SIGNS = {
    Role.BAD: '<path d="M6 6L18 18M18 6L6 18"/>',
    Role.WEAK: '<path d="M12 4L21 20H3ZM12 10v4M12 17v.5"/>',
    Role.GOOD: '<path d="M5 12.5L10 18L19 7"/>',
}
#: A headline of more letters is set smaller.
LONG_HEADLINE = 90


def given(check: Check) -> str:
    """Say what is predicted from what: "wage | age, education, year, +3"."""
    y = listed([shorten(name, 60) for name in check.y_columns])
    names = [shorten(name, 60) for name in check.x_columns[:4]]
    more = len(check.x_columns) - len(names)
    if more:
        names.append(f"+{more:,}")
    return f"{y} | {', '.join(names)}" if names else y


def facts_of(check: Check) -> str:
    """Return rows, kind of y, date and version, for the line at the top."""
    checked = check.checked
    rows = f"{check.result.n:,} rows"
    if not checked.all_rows:
        rows += f", numbers of {checked.n:,} of them taken at random"
    version = check.details.get("versions", {}).get("condgof", "")
    return " · ".join(
        [rows, checked.label, f"{date.today()}", f"condgof {version}".strip()]
    )


class Number(NamedTuple):
    """One of the numbers below the headline."""

    key: str  #: The id of its explanation.
    text: str
    interval: str
    meaning: str  #: Shown when a reader points at it.


def three_numbers(check: Check) -> list[Number]:
    """Return how certain, how much, and whether it is enough."""
    numbers = [_certainty(check), _amount(check)]
    # Without a misfit, the headline is the minimum detectable effect.
    if check.rejected or check.tolerance is not None:
        numbers.append(_enough(check))
    return numbers


def _certainty(check: Check) -> Number:
    p = check.result.pvalue_words
    often = once_in(check.pvalue)
    if "≤" in p:
        often = often.replace("about", "at most")
    meaning = f"If {check.subject} were right, data this far off would come up {often}."
    return Number("why-p", p, "", meaning)


def _amount(check: Check) -> Number:
    """Return the avoidable loss; without effects the effect size."""
    if check.avoidable_loss is not None:
        loss = loss_texts(check.avoidable_loss)
        meaning = (
            "What correcting all effects would gain in log score, on rows that the"
            " corrections were not learned on, with its 95% interval. Unlike the p-value,"
            " it does not depend on the number of rows."
        )
        estimate = f"avoidable loss {loss.estimate}"
        return Number("why-loss", estimate, loss.interval, meaning)
    size = check.effect.interval
    text = f"effect size at most {short(size.high)}"
    interval = ""
    if size.low > 0:
        estimate, ends = estimate_text(size.estimate, size.low, size.high)
        text = f"effect size {estimate}"
        interval = f"[{ends.replace(' to ', ', ')}]"
    meaning = f"In {check.effect.unit}; 0 is a perfect fit. The misfit is"
    return Number("why-size", text, interval, f"{meaning} {check.effect.words}.")


def _enough(check: Check) -> Number:
    tolerance = check.tolerance
    if tolerance is None:
        size = check.power.size
        value = "not known" if size is None else f"{short(size)}"
        return Number("why-enough", f"minimum detectable {value}", "", check.power.words)
    allowed = f"the {tolerance.allowed:g} you allow"
    verdicts = {
        "worse than you allow": f"worse than {allowed}",
        "good enough": f"good enough: below {allowed}",
    }
    text = verdicts.get(tolerance.verdict, f"{tolerance.verdict} about {allowed}")
    return Number("why-enough", text, "", tolerance.words)


class Message(NamedTuple):
    """What a page begins with."""

    role: Role  #: The sign of the verdict.
    look: str  #: The colour of the message: "bad", "weak" or "good".
    verdict: str
    words: str
    place: str = ""
    numbers: Sequence[Number] = ()
    notes: Sequence[str] = ()

    def html(self) -> str:
        """Return the section at the top of a page."""
        look = "words long" if len(self.words) > LONG_HEADLINE else "words"
        items = "".join(_number_item(one) for one in self.numbers)
        notes = "".join(
            f"<li>{html(sentence(note.rstrip('.')))}</li>" for note in self.notes
        )
        return (
            f'<section class="message {self.look}" aria-labelledby="verdict"><h2'
            ' id="verdict"><svg viewBox="0 0 24 24" aria-hidden="true"'
            f' focusable="false">{SIGNS[self.role]}</svg>{html(self.verdict)}</h2>'
            f"{paragraph(self.words, look)}"
            f"{paragraph(self.place, 'place') if self.place else ''}"
            + (f'<ul class="numbers">{items}</ul>' if items else "")
            + (f'<ul class="notes" aria-label="Notes">{notes}</ul>' if notes else "")
            + "</section>"
        )


def message(check: Check, more_notes: Sequence[str] = ()) -> str:
    """Return the verdict, the headline, its worst place, three numbers and all notes."""
    headline_words, place = message_parts(check)
    return Message(
        role=verdict_of(check).role,
        look=message_look(check),
        verdict=headline(check),
        words=f"{headline_words}.",
        place=place,
        numbers=three_numbers(check),
        notes=notes_of(check, more_notes),
    ).html()


def notes_of(check: Check, more_notes: Sequence[str]) -> list[str]:
    """Return what changes how the page is read, each once."""
    return list(dict.fromkeys((*reading_notes(check), *more_notes)))


def _number_item(one: Number) -> str:
    interval = f" <span>{html(one.interval)}</span>" if one.interval else ""
    return (
        f'<li><button type="button" class="why" aria-describedby="{one.key}">'
        f"<b>{html(one.text)}</b>{interval}</button>"
        f'<span class="meaning" role="tooltip" id="{one.key}">{html(one.meaning)}</span>'
        "</li>"
    )


def message_look(check: Check) -> str:
    """Return the colour of the message: "bad", "weak" or "good".

    A misfit that is within the tolerance is not red.
    """
    if not check.rejected:
        return "good"
    allowed = check.tolerance is not None and check.tolerance.verdict == "good enough"
    return "weak" if allowed or is_weak(check) else "bad"
