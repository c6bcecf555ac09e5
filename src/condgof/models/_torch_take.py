"""Rows of a torch distribution, which torch itself cannot take."""

from __future__ import annotations

from typing import Any

from condgof.errors import UnsupportedModelError
from condgof.models._families import family
from condgof.models._torch_state import torch_module

#: Which of several equivalent parameters to take.
PREFERRED = ("scale_tril", "logits", "covariance_matrix", "precision_matrix", "probs")


def take(dist: Any, rows: Any) -> Any:
    """Return the distribution of some rows: those of the first batch dimension.

    Parameters
    ----------
    dist : torch.distributions.Distribution
        Batch shape (n,) or (n, …), or () for one that is the same in every row.
    rows : slice or tensor of int
        Which.
    """
    if not tuple(dist.batch_shape):
        return dist
    name = family(dist)
    if name == "Independent":
        return type(dist)(take(dist.base_dist, rows), dist.reinterpreted_batch_ndims)
    if name == "MixtureSameFamily":
        parts = dist.mixture_distribution, dist.component_distribution
        return type(dist)(*(take(part, rows) for part in parts))
    if name == "TransformedDistribution":
        return _transformed(dist, rows)
    if name is None or type(dist).__name__ != name:
        raise UnsupportedModelError(
            f"Rows of {type(dist).__name__} cannot be taken. Pass the function that makes it, "
            "condgof.from_torch(f) with f(x) → distribution."
        )
    names = list(dist.arg_constraints)
    twice = [key for key in PREFERRED if key in names]
    names = [key for key in names if key not in PREFERRED] + twice[:1]
    return type(dist)(**{key: getattr(dist, key).detach()[rows] for key in names})


def _transformed(dist: Any, rows: Any) -> Any:
    td = torch_module().distributions
    if type(dist) is not td.TransformedDistribution:  # LogNormal and its kin, by their own parameters
        names = list(dist.arg_constraints)
        return type(dist)(**{key: getattr(dist, key).detach()[rows] for key in names})
    n, transforms = dist.batch_shape[0], []
    for transform in dist.transforms:
        if isinstance(transform, td.AffineTransform):
            ends = [_sized(part, n, rows) for part in (transform.loc, transform.scale)]
            transforms.append(td.AffineTransform(*ends, event_dim=transform.event_dim))
        elif any(getattr(value, "ndim", 0) for value in vars(transform).values()):
            raise UnsupportedModelError(
                f"Rows of a distribution with {type(transform).__name__} cannot be taken. Pass the "
                "function that makes it, condgof.from_torch(f) with f(x) → distribution."
            )
        else:
            transforms.append(transform)
    return td.TransformedDistribution(take(dist.base_dist, rows), transforms)


def _sized(part: Any, n: int, rows: Any) -> Any:
    if not getattr(part, "ndim", 0):
        return part
    if part.shape[0] != n:
        raise UnsupportedModelError(
            f"AffineTransform has a parameter of shape {tuple(part.shape)} for {n} rows. Pass "
            "condgof.from_torch(f) with f(x) → distribution."
        )
    return part.detach()[rows]
