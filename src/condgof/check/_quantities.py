"""The quantities that findings are about: one table for sentences, reports and pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

#: The unit of shifts, in words.
SD = "model standard deviations"
#: The label of a shift of all rows, which is a median: no outlier moves it.
MEDIAN = "median"
#: The label of a spread of all rows, which is the width of the middle half.
MIDDLE_HALF = "middle half"
#: The unit of shares on an axis.
ROW_SHARE = "share of rows"
#: The label of the upper tail of counts.
LARGEST = "largest"


class Signal(NamedTuple):
    """What a signal of the search, or a finding, is about.

    Signals are functions of y; their values are in `condgof.check.kinds.Signals`.
    """

    kind: str  #: A key of `QUANTITIES`, or a kind of the search alone.
    column: str  #: The column of y.
    label: str = ""  #: The class, the interval or the quantile.


@dataclass(frozen=True)
class Quantity:
    """How a number of some rows is named, and what it means for the model."""

    subject: str  #: What is wrong, as a sentence: "The centre is wrong".
    #: How the model is wrong where the number is larger than it predicts, such as "too low"
    #: of a shift; {} stands for the label of the finding.
    if_larger: str
    #: The same where the number is smaller than it predicts.
    if_smaller: str
    name: str  #: What tables and axes call the number; {} stands for the label.
    unit: str = ""  #: The unit of the number, as words on an axis.
    is_share: bool = False  #: Whether the number is a share of rows, between 0 and 1.
    is_ratio: bool = False  #: Whether the number is a ratio, 1 under the model.
    #: Whether a number larger than predicted means that the *data* spread less, or lie
    #: lower, than predicted. Pictures have one colour for data above the prediction and one
    #: for data below: such a number gets the latter. An example is coverage: more rows
    #: inside an interval mean data that spread less.
    more_is_less: bool = False


#: By `Finding.kind`; a file of `check.kinds` adds its own by `register_quantity`.
QUANTITIES: dict[str, Quantity] = {
    "shift": Quantity(
        subject="The centre is wrong",
        if_larger="too low",
        if_smaller="too high",
        name="shift",
        unit="standard deviations",
    ),
    "spread": Quantity(
        subject="The spread is wrong",
        if_larger="too narrow",
        if_smaller="too wide",
        name="spread",
        unit="times the model's",
        is_ratio=True,
    ),
    "coverage": Quantity(
        subject="The intervals are wrong",
        if_larger="too wide",
        if_smaller="too narrow",
        name="inside the {} interval",
        unit=ROW_SHARE,
        is_share=True,
        more_is_less=True,
    ),
    "tails": Quantity(
        subject="The model's tails are wrong",
        if_larger="tails too light",
        if_smaller="tails too heavy",
        name="beyond the {} interval",
        unit=ROW_SHARE,
        is_share=True,
    ),
    "skew": Quantity(
        subject="The shape is wrong",
        if_larger="more above than below",
        if_smaller="more below than above",
        name="skew",
        unit="share above less share below",
    ),
    "correlation": Quantity(
        subject="The dependence between columns of y is wrong",
        if_larger="too little correlation",
        if_smaller="too much correlation",
        name="correlation",
    ),
    "confidence": Quantity(
        subject="The confidence is wrong",
        if_larger="under-confident",
        if_smaller="over-confident",
        name="right",
        unit=ROW_SHARE,
        is_share=True,
        more_is_less=True,
    ),
    "class": Quantity(
        subject="The class probabilities are wrong",
        if_larger="class {} too rarely",
        if_smaller="class {} too often",
        name="share of {}",
        unit="of the rows",
        is_share=True,
    ),
    "zeros": Quantity(
        subject="The number of zeros is wrong",
        if_larger="too few zeros",
        if_smaller="too many zeros",
        name="zeros",
        unit=ROW_SHARE,
        is_share=True,
    ),
    "quantile": Quantity(
        subject="The quantiles are wrong",
        if_larger="{} quantile too high",
        if_smaller="{} quantile too low",
        name="not above the {} quantile",
        unit=ROW_SHARE,
        is_share=True,
        more_is_less=True,
    ),
    "events": Quantity(
        subject="The hazard is wrong",
        if_larger="hazard too low{}",
        if_smaller="hazard too high{}",
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
