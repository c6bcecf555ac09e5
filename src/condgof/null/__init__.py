"""Null distributions: bootstrap weights, the spectral limit, and the p-value."""

from __future__ import annotations

import operator
from typing import Any

from condgof.errors import InputError, InputTypeError
from condgof.null._combine import Evidence, Family, combine
from condgof.null._pvalue import pvalue
from condgof.null._spectral import spectral_draws
from condgof.null._weights import RowWeights, multinomial_weights, sign_weights
from condgof.sample import Seed

__all__ = [
    "NULLS",
    "Evidence",
    "Family",
    "RowWeights",
    "bootstrap_weights",
    "check_null",
    "combine",
    "multinomial_weights",
    "pvalue",
    "sign_weights",
    "spectral_draws",
]

#: Names of the nulls, and what results call them.
NULLS = {"wild": "wild bootstrap", "multinomial": "multinomial bootstrap", "spectral": "spectral"}
_MAKERS = {"wild": sign_weights, "multinomial": multinomial_weights}


def check_null(null: Any, n_boot: Any) -> None:
    """Check the null distribution and the number of draws that a user asked for."""
    try:
        n_boot = operator.index(n_boot)
    except TypeError as error:
        raise InputTypeError(f"n_boot must be an integer, got {n_boot!r}.") from error
    if n_boot < 1:
        raise InputError(f"n_boot must be at least 1, got {n_boot}. 1,000 is a good choice.")
    if not isinstance(null, str) or null not in NULLS:
        raise InputError(f"null must be one of {', '.join(map(repr, NULLS))}, got {null!r}.")


def bootstrap_weights(null: str, n: int, n_boot: int, seed: Seed, keep: int = 2**26) -> RowWeights:
    """Return the weights of a bootstrap asked for by name, kept if they fit into `keep` bytes."""
    check_null(null, n_boot)
    if null not in _MAKERS:
        raise InputError(f"null={null!r} has no weights; use {' or '.join(map(repr, _MAKERS))}.")
    return _MAKERS[null](n, int(n_boot), seed).keeping(keep)
