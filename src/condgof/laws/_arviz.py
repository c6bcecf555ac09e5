"""Posterior predictive draws of ArviZ: InferenceData, DataTree, and arrays of xarray."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from condgof._typing import AnyArray
from condgof.errors import InputError, ShapeError
from condgof.laws._library import comes_from

if TYPE_CHECKING:
    from condgof.laws._law import Law

SUPPORTED = "ArviZ InferenceData or DataTree with a group posterior_predictive"
#: What ArviZ calls the dimensions that are not of y.
DRAWS = ("chain", "draw")
GROUP = "posterior_predictive"


def adapt(obj: Any) -> Law | None:
    """Make a law of posterior predictive draws, or return None for another object."""
    from condgof.laws._draws import from_draws

    found = predictive(obj)
    return None if found is None else from_draws(found)


def predictive(obj: Any) -> AnyArray | None:
    """Return the draws that an object of ArviZ or xarray holds, (n, m) or (n, m, d_y), or None.

    It has a group ``posterior_predictive`` of one variable, or is that group, or its variable. Chains
    are put together. Of the other dimensions the first is rows, a second one columns of y.
    """
    if not any(comes_from(obj, library) for library in ("arviz", "arviz_base", "xarray")):
        return None
    if hasattr(obj, "dims") and not hasattr(obj, "data_vars"):  # a DataArray
        return _draws(obj) if _over(obj) else None
    if hasattr(obj, GROUP):
        obj = getattr(obj, GROUP)
    elif not (hasattr(obj, "data_vars") and len(obj.data_vars)):  # no group of draws either
        groups: Any = getattr(obj, "children", None) or getattr(obj, "_groups", ())
        has = ", ".join(map(str, groups))
        raise InputError(
            f"This {type(obj).__name__} has no group {GROUP}{f' (it has {has})' if has else ''}. Draw y "
            "from the model at the rows that are tested, in PyMC with pm.sample_posterior_predictive("
            "idata, extend_inferencedata=True), or pass draws (n, m) to condgof.from_draws."
        )
    names = [str(name) for name in obj.data_vars]
    if len(names) != 1:
        raise InputError(
            f"The group {GROUP} has {len(names)} variables ({', '.join(names)}). Choose one: "
            f"condgof.from_draws(idata.{GROUP}[{names[0] if names else 'name'!r}])."
        )
    return _draws(obj[names[0]])


def _over(array: Any) -> list[str]:
    """Return the names of the dimensions of an array that are draws."""
    over = [dim for dim in DRAWS if dim in array.dims]
    stacked = "sample" in array.dims and all(dim in array.coords for dim in DRAWS)  # by az.extract
    return ["sample"] if stacked and not over else over


def _draws(array: Any) -> AnyArray:
    """Return the draws of a DataArray, whatever the order of its dimensions."""
    over = _over(array)
    rest = [dim for dim in array.dims if dim not in over]
    if not over or len(rest) not in (1, 2):
        raise ShapeError(
            "Posterior predictive draws have the dimensions chain, draw and one or two of y, and this "
            f"array has {', '.join(map(str, array.dims)) or 'none'}. Stack those of y into one of rows."
        )
    values = np.asarray(array.transpose(rest[0], *over, *rest[1:]).values)
    return values.reshape(len(values), -1, *values.shape[1 + len(over) :])
