"""The quantities that findings are about: one table for sentences, reports and pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

#: The unit of shifts, in words.
SD = "predicted SDs"
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

    subject: str  #: What is wrong, as a sentence: "The mean is wrong".
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
        subject="The mean is wrong",
        if_larger="too low",
        if_smaller="too high",
        name="bias",
        unit="predicted SDs",
    ),
    "spread": Quantity(
        subject="The spread is wrong",
        if_larger="too narrow",
        if_smaller="too wide",
        name="spread",
        unit="times the predicted spread",
        is_ratio=True,
    ),
    "coverage": Quantity(
        subject="The intervals are wrong",
        if_larger="too wide",
        if_smaller="too narrow",
        name="{} coverage",
        unit=ROW_SHARE,
        is_share=True,
        more_is_less=True,
    ),
    "tails": Quantity(
        subject="The tails are wrong",
        if_larger="tails too light",
        if_smaller="tails too heavy",
        name="outside {}",
        unit=ROW_SHARE,
        is_share=True,
    ),
    "skew": Quantity(
        subject="The skewness is wrong",
        if_larger="upper tail too light",
        if_smaller="lower tail too light",
        name="skew",
        unit="share above the 95% less below the 5% quantile",
    ),
    "correlation": Quantity(
        subject="The dependence between columns of y is wrong",
        if_larger="correlation too low",
        if_smaller="correlation too high",
        name="correlation",
    ),
    "confidence": Quantity(
        subject="The confidence is wrong",
        if_larger="underconfident",
        if_smaller="overconfident",
        name="accuracy",
        unit=ROW_SHARE,
        is_share=True,
        more_is_less=True,
    ),
    "class": Quantity(
        subject="The class probabilities are wrong",
        if_larger="P({}) too low",
        if_smaller="P({}) too high",
        name="share of {}",
        unit=ROW_SHARE,
        is_share=True,
    ),
    "zeros": Quantity(
        subject="The probability of 0 is wrong",
        if_larger="too few zeros",
        if_smaller="too many zeros",
        name="zeros",
        unit=ROW_SHARE,
        is_share=True,
    ),
    "atom": Quantity(
        subject="Single values of y come too often",
        if_larger="exactly {}",
        if_smaller="less often exactly {}",
        name="exactly {}",
        unit=ROW_SHARE,
        is_share=True,
    ),
    "quantile": Quantity(
        subject="The quantiles are wrong",
        if_larger="{} quantile too high",
        if_smaller="{} quantile too low",
        name="below the {} quantile",
        unit=ROW_SHARE,
        is_share=True,
        more_is_less=True,
    ),
    "events": Quantity(
        subject="The hazard is wrong",
        if_larger="hazard too low{}",
        if_smaller="hazard too high{}",
        name="events, {}",
        unit="observed over expected events",
        is_ratio=True,
    ),
}


def register_quantity(kind: str, quantity: Quantity) -> None:
    """Add a quantity to the table, for the findings of one kind of y."""
    if kind in QUANTITIES:
        raise ValueError(f"there is a quantity {kind!r} already")
    QUANTITIES[kind] = quantity
