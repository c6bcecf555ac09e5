"""Text and numbers as people read them."""

import numpy as np
import pytest

from condgof.check import Axis
from condgof.report import (
    charts,
    html,
    label,
    minus,
    once_in,
    script_json,
    shorten,
    terminal,
    tick_texts,
    ticks,
    visible,
)
from condgof.result import number, pvalue_words, rounded, share_interval


def test_text_on_its_way_out():
    assert visible("a\x1b[31m\nb\u202e") == r"a\x1b[31m\nb\u202e"
    assert terminal("x\x1b]0;title\x07") == r"x\x1b]0;title\x07"
    assert (
        html('<img src=x onerror="alert(1)">')
        == "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;"
    )
    assert script_json({"group": "</script>"}) == r'{"group":"\u003c/script\u003e"}'
    assert label("price ($)") == r"price (\$)"
    assert shorten("a very long name of a column", 16) == "a very l…column"


def test_numbers():
    values = {
        0.012345: "0.0123",
        2149.7: "2,150",
        -0.5: "−0.5",
        3.2e-9: "3.2e−9",
        12.0: "12",
    }
    assert {value: number(value) for value in values} == values
    sizes = {0.1: "0.10", -1.834: "-1.83", 0.0042: "0.0042", 0.0: "0.00", 1234.5: "1,234"}
    assert {value: rounded(value) for value in sizes} == sizes
    often = {0.000999: "once in 1,000", 0.35: "35 times in 100", 0.034: "3.4 times in 100"}
    assert {value: once_in(value).removeprefix("about ") for value in often} == often
    assert [pvalue_words(0.0312), pvalue_words(1 / 1001, 1 / 1001)] == [
        "p = 0.031",
        "p ≤ 0.001",
    ]
    assert share_interval(5, 100) == pytest.approx((0.0164, 0.1128), abs=5e-5)


def test_ticks():
    assert ticks(0.0, 10.3) == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert ticks(-0.21, 0.19, 4) == [-0.2, -0.1, 0.0, 0.1]
    assert tick_texts([0.0, 0.5, 1.0]) == ["0", "0.5", "1.0"]
    assert tick_texts([-1.5, -0.5, 0.5]) == [
        "−1.5",
        "−0.5",
        "0.5",
    ]  # what they need, not their step
    assert tick_texts([-0.25, 0.0, 0.25]) == ["−0.25", "0", "0.25"]
    assert tick_texts([1.0e5, 1.005e5]) == ["100.0k", "100.5k"]
    for low, high in (
        (-1.52, 0.13),
        (-0.31, 2.7),
        (-7e5, 4e5),
        (0.9981, 1.0004),
        (1e3, 1.0035e3),
    ):
        for step in (1, 2, 3):
            at = ticks(low, high, 3)[::step]
            read = [
                float(t.replace("−", "-").replace(",", "").rstrip("k"))
                for t in tick_texts(at)
            ]
            assert read == pytest.approx(
                [t / (1e3 if max(map(abs, at)) >= 1e5 else 1.0) for t in at]
            )
    assert (
        minus("a-1: -0.3 (-0.5 to -0.1), 2020-01-02")
        == "a-1: −0.3 (−0.5 to −0.1), 2020-01-02"
    )
    assert tick_texts([0.0, 2000.0]) + tick_texts([0.0, 2.5e6]) == [
        "0",
        "2,000",
        "0",
        "2.5M",
    ]
    assert charts.ends_of(np.array([2000.0, 2010.0]), 0.0) == (2000.0, 2010.0)
    assert charts.ends_of(np.array([2006.0, 2006.0])) == (2005.5, 2006.5)
    days = np.datetime64("2019-01-01").astype(float) + np.arange(1400)
    scale = charts.along(Axis("day", "dates", days, None, False, "day"))
    assert scale.texts == ("2019-07-16", "2020-11-30", "2022-04-18")
    assert all(scale.ends[0] < at < scale.ends[1] for at in scale.at)
