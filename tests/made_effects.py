"""Effects made by hand, of all kinds, for tests of words and pictures."""

from dataclasses import replace

import numpy as np

from condgof.check import (
    AvoidableLoss,
    Condition,
    Effect,
    EffectCell,
    Finding,
    YFacts,
    advice_for,
)
from condgof.check.kinds import unit_of

#: What a cell's number is called by kind of effect: its `Finding.kind` and `quantity`.
QUANTITIES = {
    "bias": ("shift", "median"),
    "spread": ("spread", "middle half"),
    "skew": ("skew", "skew"),
    "tails": ("tails", "tails"),
    "dispersion": ("spread", "middle half"),
    "zeros": ("zeros", "zeros"),
    "class": ("class", "class"),
    "confidence": ("confidence", "confidence"),
    "quantile": ("quantile", "quantile"),
    "coverage": ("coverage", "coverage"),
    "hazard": ("events", "events"),
    "correlation": ("correlation", "correlation"),
    "concentration": ("concentration", "concentration"),
    "outliers": ("wild", "outliers"),
    "atom": ("atom", "atom"),
    "direction": ("direction", "direction"),
    "time": ("time", "time"),
    "angle": ("angle", "angle"),
}
#: What the model predicts, by kind of effect, unless a test says otherwise.
EXPECTED = {
    "bias": 0.0,
    "spread": 1.0,
    "skew": 0.0,
    "tails": 0.01,
    "dispersion": 1.0,
    "zeros": 0.13,
    "class": 0.2,
    "confidence": 0.97,
    "quantile": 0.05,
    "coverage": 0.9,
    "hazard": 1.0,
    "correlation": 0.0,
    "concentration": 0.9,
    "outliers": 0.0,
    "atom": 0.0,
    "direction": 0.0,
    "time": 0.0,
    "angle": 0.0,
}
#: The unit of a bias on a circle, by kind of effect.
UNITS = {"direction": unit_of(360), "time": unit_of(24), "angle": unit_of(7)}
#: The label of an effect, where its kind has one.
LABELS = {"class": "Yes", "quantile": "0.05", "coverage": "90%", "tails": "99%"}


def number_range(column, low, high):
    """The condition low ≤ column < high; None leaves an end open."""
    if low is None:
        words, short = f"{column} < {high:g}", f"< {high:g}"
    elif high is None:
        words, short = f"{column} ≥ {low:g}", f"≥ {low:g}"
    else:
        words, short = f"{low:g} ≤ {column} < {high:g}", f"{low:g} to {high:g}"
    return Condition(
        column=column,
        words=words,
        query=f"{column} >= {low}",
        short=short,
        low=-np.inf if low is None else float(low),
        high=np.inf if high is None else float(high),
    )


def category(column, value):
    """The condition that a column of categories has a value."""
    return Condition(column, f"{column} = {value}", f'{column} == "{value}"', str(value))


def cell(
    kind,
    estimate,
    *conditions,
    n=97,
    half_width=0.1,
    interval=None,
    expected=None,
    quantity=None,
    column="y",
    **numbers,
):
    finding_kind, usual = QUANTITIES[kind]
    if kind == "hazard":
        numbers = {"place": "y ≤ 4", **numbers}
    wanted = EXPECTED[kind] if expected is None else expected
    finding = Finding(
        kind=finding_kind,
        column=column,
        estimate=estimate,
        interval=interval or (estimate - half_width, estimate + half_width),
        expected=wanted,
        label=LABELS.get(kind, ""),
        quantity=quantity or usual,
        numbers={"unit": UNITS[kind], **numbers} if kind in UNITS else numbers,
    )
    return EffectCell(
        conditions=conditions,
        words=" and ".join(one.words for one in conditions) or "everywhere",
        query=" and ".join(one.query for one in conditions),
        rows=np.arange(n),
        finding=finding,
        beside=(),
        correction=estimate,
    )


def effect(
    kind,
    *cells,
    columns=None,
    trend=False,
    gain=0.21,
    share=0.48,
    pvalue=0.001,
    label=None,
    column="y",
    family="normal",
    facts=None,
):
    if columns is None:
        columns = tuple(one.column for one in cells[0].conditions)
    made = Effect(
        kind=kind,
        column=column,
        label=LABELS.get(kind, "") if label is None else label,
        columns=columns,
        trend=trend,
        gain=gain,
        share=share,
        pvalue=pvalue,
        pvalue_floor=0.001,
        cells=cells,
    )
    return replace(made, advice=advice_for(made, family, facts or YFacts()))


def bikes():
    """The bias of hourly counts of bikers by hour and kind of day."""
    hours = [(None, 6), (6, 8), (8, 12), (12, 20), (20, None)]
    biases = {"0": [-0.4, -2.23, -0.6, 0.9, 0.2], "1": [-0.3, 1.21, 0.4, -0.1, 0.1]}
    cells = [
        cell(
            "bias",
            value,
            number_range("hr", *hour),
            category("workingday", day),
            half_width=0.2,
            n=97 if hour == (6, 8) else 400,
        )
        for day, values in biases.items()
        for hour, value in zip(hours, values, strict=True)
    ]
    return effect("bias", *cells, family="negative binomial")


def incomes():
    """A spread that grows along income."""
    ends = [None, 20, 40, 60, 80, None]
    cells = [
        cell("spread", value, number_range("income", low, high), half_width=0.09, n=120)
        for value, low, high in zip(
            (0.37, 0.6, 0.9, 1.2, 1.61), ends[:-1], ends[1:], strict=True
        )
    ]
    return effect("spread", *cells, trend=True, gain=0.12, share=0.29)


def towns():
    """The probability of a class by a category."""
    shares = {
        "Rome": (0.0347, 0.0265, 0.002),
        "Oslo": (0.34, 0.2, 0.03),
        "Bern": (0.1, 0.11, 0.05),
    }
    cells = [
        cell("class", share, category("town", town), expected=expected, half_width=half)
        for town, (share, expected, half) in shares.items()
    ]
    return effect("class", *cells, gain=0.03, share=0.09)


def everywhere(kind="spread", estimate=0.58, **options):
    """An effect that is the same in all rows."""
    return effect(kind, cell(kind, estimate, n=3458, half_width=0.02, **options))


def loss(impossible=0):
    return AvoidableLoss(
        estimate=0.43,
        interval=(0.38, 0.48),
        unit="nats a row",
        rows=3458,
        impossible=impossible,
    )
