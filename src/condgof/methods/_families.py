"""The families of statistics that the adaptive test combines: one table.

A family is all statistics of some features of x with some test functions of y, or some
additional statistics. The test, its details, reports and pages read this table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from condgof._typing import IntArray
from condgof.null import Family, NullDraws
from condgof.residuals import (
    CORRELATION,
    JOINT_SPREAD,
    MEAN,
    OUTLIERS,
    SURPRISE,
    AveragedTestFunctions,
    TestFunctionBlock,
    TestFunctions,
)
from condgof.stein import Plan

#: The statistics that a check adds: gains of 1, 3 and 6 steps in single columns together,
#: and the largest gain of a column that has a step at every bin (`condgof.check`, staged
#: gains).
STAGED_GAINS = (
    "gain of 1 step",
    "gain of 3 steps",
    "gain of 6 steps",
    "gain of a column",
)
#: Functions of y whose mean over all rows is the family "level", beside the shift.
LEVEL = ("z", MEAN, SURPRISE, CORRELATION, JOINT_SPREAD)
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
    #: Which features of x it takes, by the family of their blocks; "" for additional
    #: statistics, which are made of no features.
    features: str
    additional: tuple[str, ...] = ()  #: The names of its additional statistics.
    #: Which blocks of test functions of y it takes.
    takes: Callable[[TestFunctionBlock], bool] = lambda block: True
    #: The weight where y is discrete and has an order, if it is another one.
    weight_of_steps: float | None = None

    def weight_for(self, functions: TestFunctions) -> float:
        """Return the weight for the test functions of a kind of y."""
        if isinstance(functions, AveragedTestFunctions) and self.weight_of_steps:
            return self.weight_of_steps
        return self.weight

    def numbers(self, plan: Plan, drawn: NullDraws) -> IntArray:
        """Return the numbers of its statistics; none where a sample has no such."""
        if not self.features:
            names = [name for name in self.additional if name in drawn.additional]
            return np.array([drawn.additional[name] for name in names], dtype=np.int64)
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
        weight=0.26,
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
        weight=0.55,
        description="mean and spread of y overall",
        features="constant",
        takes=lambda block: block.name in (*LEVEL, SHIFT),
        weight_of_steps=0.16,
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
        weight=0.10,
        description="products of two columns of x",
        features="pairs",
    ),
    FamilySpec(
        name="triples",
        weight=0.04,
        description="products of three columns of x",
        features="triples",
    ),
    FamilySpec(
        name="waves",
        weight=0.20,
        description="fine waves along each numeric column of x",
        features="waves",
    ),
    FamilySpec(
        name="category columns",
        weight=0.20,
        description="all categories of a column of x together",
        features="category columns",
    ),
    FamilySpec(
        name="cells",
        weight=0.35,
        description="rows with one value in each of two columns of x",
        features="cells",
        takes=lambda block: block.name != SURPRISE,
    ),
    FamilySpec(
        name="spread by cell",
        weight=0.08,
        description="the spread of y in rows with one value in each of two columns of x",
        features="cells",
        takes=lambda block: block.name == SURPRISE,
    ),
    FamilySpec(
        name="shapes",
        weight=0.15,
        description="the shape of y along each numeric column of x",
        features="shapes",
    ),
    FamilySpec(
        name=OUTLIERS,
        weight=0.09,
        description="whether y lies farther out than predicted: the largest outliers",
        features="",
        additional=(OUTLIERS,),
        weight_of_steps=0.05,
    ),
    FamilySpec(
        name="staged gains",
        weight=0.30,
        description="what steps in single columns gain, taken off one after the other",
        features="",
        additional=STAGED_GAINS,
    ),
)


def families_of(plan: Plan, drawn: NullDraws) -> list[Family]:
    """Return the families of a sample, with the numbers of their statistics."""
    functions = plan.test_functions
    return [
        Family(spec.name, spec.weight_for(functions), spec.numbers(plan, drawn))
        for spec in FAMILIES
    ]
