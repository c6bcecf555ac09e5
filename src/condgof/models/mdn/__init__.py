"""The mixture density network of the paper's appendix C: torch trains it, NumPy evaluates it."""

from condgof.models.mdn._fit import fit_mdn
from condgof.models.mdn._model import MDN, History
from condgof.models.mdn._torch import to_torch

__all__ = ["MDN", "History", "fit_mdn", "to_torch"]
