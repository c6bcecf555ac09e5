"""Class probabilities: labels, their ranks and log-probabilities under the law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from condgof._typing import AnyArray, IntArray
from condgof.laws import Law, class_names_of
from condgof.residuals._cell_scores import class_scores
from condgof.residuals._cells import CellResiduals
from condgof.residuals._residuals import DependenceValues
from condgof.residuals._steps import StepCdf, SteppedResiduals, mean_scale_of
from condgof.sample import Sample


@dataclass(frozen=True, eq=False)
class ClassResiduals(CellResiduals):
    """Classes by label, by rank among the most probable ones, and by log-probability."""

    class_names: tuple[str, ...] = ()

    @classmethod
    def from_law(cls, law: Law, sample: Sample) -> Self:
        return cls.from_cells(law, sample, full=True, class_names=class_names_of(law))

    @property
    def probabilities(self) -> AnyArray:
        """The probabilities of the classes, (n, K), as the law has them."""
        assert self.outcomes is not None
        return self.outcomes.probabilities

    @property
    def observed(self) -> IntArray:
        """The position of the observed class, (n,)."""
        assert self.outcomes is not None
        return self.outcomes.observed

    def dependence_values(self) -> DependenceValues:
        return class_scores(self.probabilities, self.observed)


@dataclass(frozen=True, eq=False)
class LabelResiduals(ClassResiduals):
    """Classes by label alone, e_y − p: what ``standardize="none"`` asks for."""

    @classmethod
    def from_law(cls, law: Law, sample: Sample) -> Self:
        return cls.from_cells(law, sample, full=False, class_names=class_names_of(law))


@dataclass(frozen=True, eq=False)
class OrderedResiduals(SteppedResiduals, ClassResiduals):
    """Three ordered classes or more, by their randomised PIT."""

    @classmethod
    def from_law(cls, law: Law, sample: Sample) -> Self:
        compared = ClassResiduals.from_law(law, sample)
        steps = StepCdf.from_probabilities(compared.probabilities, compared.observed)
        return cls(
            u=compared.u,
            values=compared.values,
            cells=compared.cells,
            outcomes=compared.outcomes,
            notes=compared.notes,
            class_names=compared.class_names,
            steps=steps,
            mean_scale=mean_scale_of(steps),
        )
