"""The families of statistics that the adaptive test combines: one table.

A family is all statistics of some features of x with some test functions of y, or one
additional statistic. The test, its details, reports and pages read this table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from condgof._typing import IntArray
from condgof.null import Family, NullDraws
from condgof.residuals import CORRELATION, MEAN, OUTLIERS, SURPRISE, TestFunctionBlock
from condgof.stein import Plan

#: The name of the statistic that a check adds: the largest sum of all its subgroups.
SUBGROUPS = "slices"
#: Functions of y whose mean over all rows is the family "level", beside the shift.
LEVEL = ("z", MEAN, SURPRISE, CORRELATION)
#: The first Legendre polynomial of the PIT, which is in "level" and in "constant".
SHIFT = "shift"


@dataclass(frozen=True)
class FamilySpec:
    """One family of the adaptive test."""

    name: str
    #: How much it counts, in proportion to the others that a sample has. Chosen on other
    #: problems than those that are reported (docs/dev).
    weight: float
    description: str  #: What it asks, in words for a reader.
    #: Which features of x it takes, by the family of their blocks; "" for an additional
    #: statistic of this family's name, which is made of no features.
    features: str
    #: Which blocks of test functions of y it takes.
    takes: Callable[[TestFunctionBlock], bool] = lambda block: True

    def numbers(self, plan: Plan, drawn: NullDraws) -> IntArray:
        """Return the numbers of its statistics; none where a sample has no such."""
        if not self.features:
            additional = drawn.additional
            numbers = [additional[self.name]] if self.name in additional else []
            return np.array(numbers, dtype=np.int64)
        numbers = [
            k
            for k, one in enumerate(plan.statistics)
            if one.features.family == self.features and self.takes(one.test_functions)
        ]
        return np.array(numbers, dtype=np.int64)


#: Weights are scaled to sum to 1 over the families that a sample has.
FAMILIES = (
    FamilySpec(
        name="x",
        weight=0.07,
        description="all columns of x together, by a kernel at several bandwidths",
        features="x",
    ),
    FamilySpec(
        name="columns",
        weight=0.19,
        description="each numeric column of x, and of what is predicted, by itself",
        features="columns",
    ),
    FamilySpec(
        name="categories",
        weight=0.30,
        description="each category of x by itself",
        features="categories",
        takes=lambda block: block.name != SURPRISE,
    ),
    FamilySpec(
        name="spread by category",
        weight=0.12,
        description="the spread of y in each category of x",
        features="categories",
        takes=lambda block: block.name == SURPRISE,
    ),
    FamilySpec(
        name="level",
        weight=0.36,
        description="mean and spread of y overall",
        features="constant",
        takes=lambda block: block.name in (*LEVEL, SHIFT),
    ),
    FamilySpec(
        name="constant",
        weight=0.16,
        description="the distribution of y overall",
        features="constant",
        takes=lambda block: block.name not in LEVEL,
    ),
    FamilySpec(
        name="locations",
        weight=0.06,
        description="rows near single points of x",
        features="locations",
    ),
    FamilySpec(
        name="pairs",
        weight=0.07,
        description="products of two columns of x",
        features="pairs",
    ),
    FamilySpec(
        name=OUTLIERS,
        weight=0.09,
        description="whether y lies farther out than predicted: the largest outliers",
        features="",
    ),
    FamilySpec(
        name=SUBGROUPS,
        weight=0.12,
        description="the largest sum of all subgroups that a check searches",
        features="",
    ),
)


def families_of(plan: Plan, drawn: NullDraws) -> list[Family]:
    """Return the families of a sample, with the numbers of their statistics."""
    return [Family(spec.name, spec.weight, spec.numbers(plan, drawn)) for spec in FAMILIES]
