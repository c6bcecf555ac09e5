"""The mixture density network of the paper's appendix C: torch trains it, NumPy evaluates it."""

from condgof.laws.mdn._fit import fit_mdn, to_torch
from condgof.laws.mdn._model import MDN, History

__all__ = ["MDN", "History", "fit_mdn", "to_torch"]
