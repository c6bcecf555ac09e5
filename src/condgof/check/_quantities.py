"""The quantities that findings are about: one table for sentences, reports and pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

#: The unit of shifts, in words.
SD = "model standard deviations"
#: Labels of the numbers of all rows, which one outlier does not move.
MEDIAN = "median"
MIDDLE_HALF = "middle half"
#: The label of the upper tail of counts.
LARGEST = "largest"


class Signal(NamedTuple):
    """What a function of y, or a finding, is about."""

    kind: str  #: A key of `QUANTITIES`.
    column: str  #: The column of y.
    label: str = ""  #: The class, the interval or the quantile.


@dataclass(frozen=True)
class Quantity:
    """What a number of some rows says about a model."""

    subject: str  #: What is wrong, as a sentence.
    #: What the model is where the number is more than it predicts; {} is the label.
    more: str
    less: str  #: What it is where the number is less.
    name: str  #: What tables and axes call it; {} is the label.
    unit: str = ""  #: The unit of the number, as words on an axis.
    is_share: bool = False  #: Whether the number is a share of rows, between 0 and 1.
    is_ratio: bool = False  #: Whether the number is a ratio, of which 1 is right.
    #: Whether more than the model predicts means that it is too wide, underconfident or too
    #: high: pictures then have the colour of data that are less than predicted.
    more_is_less: bool = False


#: The unit of shares on an axis.
ROW_SHARE = "share of rows"

#: By `Finding.kind`; a file of `check.kinds` adds its own by `register_quantity`.
QUANTITIES: dict[str, Quantity] = {
    "shift": Quantity(
        "The centre is wrong",
        "too low",
        "too high",
        name="shift",
        unit="standard deviations",
    ),
    "spread": Quantity(
        "The spread is wrong",
        "too narrow",
        "too wide",
        name="spread",
        unit="times the model's",
        is_ratio=True,
    ),
    "coverage": Quantity(
        "The intervals are wrong",
        "too wide",
        "too narrow",
        name="inside the {} interval",
        unit=ROW_SHARE,
        is_share=True,
        more_is_less=True,
    ),
    "tails": Quantity(
        "The model's tails are wrong",
        "tails too light",
        "tails too heavy",
        name="beyond the {} interval",
        unit=ROW_SHARE,
        is_share=True,
    ),
    "skew": Quantity(
        "The shape is wrong",
        "more above than below",
        "more below than above",
        name="skew",
        unit="share above less share below",
    ),
    "correlation": Quantity(
        "The dependence between columns of y is wrong",
        "too little correlation",
        "too much correlation",
        name="correlation",
    ),
    "confidence": Quantity(
        "The confidence is wrong",
        "under-confident",
        "over-confident",
        name="right",
        unit=ROW_SHARE,
        is_share=True,
        more_is_less=True,
    ),
    "class": Quantity(
        "The class probabilities are wrong",
        "class {} too rarely",
        "class {} too often",
        name="share of {}",
        unit="of the rows",
        is_share=True,
    ),
    "zeros": Quantity(
        "The number of zeros is wrong",
        "too few zeros",
        "too many zeros",
        name="zeros",
        unit=ROW_SHARE,
        is_share=True,
    ),
    "quantile": Quantity(
        "The quantiles are wrong",
        "{} quantile too high",
        "{} quantile too low",
        name="not above the {} quantile",
        unit=ROW_SHARE,
        is_share=True,
        more_is_less=True,
    ),
    "events": Quantity(
        "The hazard is wrong",
        "hazard too low{}",
        "hazard too high{}",
        name="events, {}",
        unit="times what the model expects",
        is_ratio=True,
    ),
}


def register_quantity(kind: str, quantity: Quantity) -> None:
    """Add a quantity to the table, for the findings of one kind of y."""
    if kind in QUANTITIES:
        raise ValueError(f"there is a quantity {kind!r} already")
    QUANTITIES[kind] = quantity
