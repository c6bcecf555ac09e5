"""Several models of a discrete y on one sample: labels, ordered categories and counts.

With residuals r_a = e_y − p_a(·|x) over cells that all models share, and a kernel on those
cells, L = ΨΨᵀ,

    H^a_ij = k(x_i, x_j)·⟨Ψᵀr_a,i, Ψᵀr_a,j⟩,

whose mean over y given x is 0 where p_a is the truth. Nothing but r_a depends on the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import CondgofError, SupportError, UnsupportedModelError
from condgof.kernels import CovariateKernel, ResponseKernel, resolve_cells, resolve_x
from condgof.laws import Law
from condgof.methods._joint import Affine, Joint, named
from condgof.sample import Sample, Seed
from condgof.stein import (
    Common,
    CommonCells,
    SteinOperator,
    check_same_y,
    common_cells,
    with_probabilities,
)


@dataclass(frozen=True, eq=False)
class DiscreteJoint(Joint):
    """A sample of a discrete y in memory with the residuals of K models in place of scores.

    Parameters
    ----------
    seen : CommonCells
        The cells that all models share, and what each says of them.
    """

    seen: CommonCells | None = None

    @classmethod
    def of(
        cls, laws: Sequence[Law], names: Sequence[str], sample: Sample, scale_x: str
    ) -> DiscreteJoint:
        """Hold a sample against the laws of all models."""
        scales = sample.scales(scale_x)
        seen = _cells(laws, names, sample)
        sample = sample.with_numbers(seen.numbers)
        affine = Affine(np.array([seen.shift]), np.array([[seen.scale]]))
        u = (sample.y - seen.shift) / seen.scale
        common = Common(u, np.empty((sample.n, len(laws), 0)), (None,) * len(laws))
        notes = tuple(
            f"{name}: {note}" for name, law in zip(names, laws, strict=True) for note in law.notes
        )
        return cls(
            sample, tuple(names), sample.x / scales, u, seen.residuals, scales, affine, common, notes,
            seen,
        )  # fmt: skip

    @property
    def _seen(self) -> CommonCells:
        assert self.seen is not None
        return self.seen

    @property
    def each(self) -> list[FloatArray]:
        """The residuals of each model, (n, cells)."""
        return self._seen.each

    def kernels(
        self, kernel_x: Any, kernel_y: Any, seed: Seed
    ) -> tuple[CovariateKernel, ResponseKernel]:
        """Make the kernels ready: one of each, for all models."""
        ready_y = resolve_cells(kernel_y, self._seen.cells)
        return resolve_x(kernel_x, self.x, self.sample.x_columns, seed), ready_y

    def operators(self, kernel_x: CovariateKernel, kernel_y: ResponseKernel) -> list[SteinOperator]:
        """Return the matrix of each model."""
        return [SteinOperator.of(self.x, self.y, r, kernel_x, kernel_y) for r in self.each]

    def coordinates(self) -> dict[str, Any]:
        """What a result says of how y was seen."""
        return {"standardized_by": self._seen.cells.words}


def joint_of(
    laws: Sequence[Law],
    names: Sequence[str],
    sample: Sample,
    scale_x: str,
    *,
    streamed: bool = False,
) -> Joint:
    """Hold a sample against several laws, all of a continuous or all of a discrete y."""
    kinds = {law.discrete: (name, law) for name, law in zip(names, laws, strict=True)}
    if len(kinds) == 2:
        told = (f"{name!r} ({law.name})" for name, law in (kinds[True], kinds[False]))
        raise UnsupportedModelError(
            "Model {} is of a discrete y and model {} of a continuous one, so that they have no "
            "probabilities in common to be compared by. Compare models of the same kind.".format(*told)
        )
    if True not in kinds:
        return Joint.of(laws, names, sample, scale_x)
    if streamed:
        raise UnsupportedModelError(
            f"{kinds[True][1].name} is a model of a discrete y, and compare, rank and compare_map take "
            "such models for rows in memory only, not for a source (scan, Dask, condgof compare on a "
            "large table). Read the rows, or some of them, and pass x and y as arrays or frames."
        )
    return DiscreteJoint.of(laws, names, sample, scale_x)


def _cells(laws: Sequence[Law], names: Sequence[str], sample: Sample) -> CommonCells:
    """Find the cells; an error says which of the models it is about."""
    own = []
    for name, law in zip(names, laws, strict=True):
        with named(name):
            own.append(with_probabilities(law))
    check_same_y(own, names)
    try:
        return common_cells(own, sample)
    except SupportError:
        raise
    except CondgofError:
        # Once more, one by one: an error among several models must say whose it is.
        for name, one in zip(names, own, strict=True):
            with named(name):
                common_cells([one], sample)
        raise
