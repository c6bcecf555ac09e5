"""Null distributions: bootstrap weights and the p-value."""

from __future__ import annotations

from condgof.errors import InputError, InputTypeError
from condgof.null._pvalue import pvalue
from condgof.null._weights import RowWeights, multinomial_weights, sign_weights
from condgof.sample import Seed

__all__ = ["RowWeights", "bootstrap_weights", "multinomial_weights", "pvalue", "sign_weights"]

_MAKERS = {"wild": sign_weights, "multinomial": multinomial_weights}


def bootstrap_weights(null: str, n: int, n_boot: int, seed: Seed) -> RowWeights:
    """Return the weights of the null that a user asked for by name."""
    if isinstance(n_boot, bool) or not hasattr(n_boot, "__index__"):
        raise InputTypeError(f"n_boot must be an integer, got {n_boot!r}.")
    if n_boot < 1:
        raise InputError(f"n_boot must be at least 1, got {n_boot}. 1,000 is a good choice.")
    if null not in _MAKERS:
        raise InputError(f"null must be one of {', '.join(map(repr, _MAKERS))}, got {null!r}.")
    return _MAKERS[null](n, int(n_boot), seed)
