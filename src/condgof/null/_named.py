"""The bootstraps by the names that users give them."""

from __future__ import annotations

import operator
from collections.abc import Collection
from typing import Any

from condgof.errors import InputError, InputTypeError
from condgof.null._weights import RowWeights, multinomial_weights, normal_weights, sign_weights
from condgof.sample import Seed

#: Names of the nulls that users may ask for, and what results call them.
NULLS = {
    "auto": "wild bootstrap",
    "model": "model",
    "wild": "wild bootstrap",
    "multinomial": "multinomial bootstrap",
    "spectral": "spectral",
}
#: What results call the limit that stands for redrawing many rows.
LIMIT = "Gaussian limit"
_MAKERS = {
    "auto": sign_weights,
    "wild": sign_weights,
    "multinomial": multinomial_weights,
    "spectral": normal_weights,
}
#: More draws than this are refused.
MOST_DRAWS = 1_000_000


def check_n_boot(n_boot: Any) -> int:
    """Check the number of draws that a user asked for."""
    try:
        number = operator.index(n_boot)
    except TypeError as error:
        raise InputTypeError(f"n_boot must be an integer, got {n_boot!r}.") from error
    if number < 1:
        raise InputError(f"n_boot must be at least 1, got {number}. 1,000 is a good choice.")
    if isinstance(n_boot, bool) or number > MOST_DRAWS:
        raise InputError(
            f"n_boot must be an integer of at most {MOST_DRAWS:,}, got {n_boot!r}; take 1,000."
        )
    return number


def check_null(null: Any, n_boot: Any, names: Collection[str] = NULLS) -> None:
    """Check the null distribution and the number of draws that a user asked for."""
    check_n_boot(n_boot)
    if not isinstance(null, str) or null not in names:
        raise InputError(f"null must be one of {', '.join(map(repr, names))}, got {null!r}.")


def bootstrap_weights(null: str, n: int, n_boot: int, seed: Seed, keep: int = 2**26) -> RowWeights:
    """Return the weights of a bootstrap asked for by name, kept if they fit into `keep` bytes."""
    check_null(null, n_boot)
    if null not in _MAKERS:
        raise InputError(f"null={null!r} has no weights; use {' or '.join(map(repr, _MAKERS))}.")
    return _MAKERS[null](n, int(n_boot), seed).keeping(keep)
