"""Test locations: what a user asked for, and random ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError


def kind_of(locations: Any) -> str:
    """Return "optimize", "random" or "given"; other words are refused."""
    if not isinstance(locations, str):
        return "given"
    if locations not in ("optimize", "random"):
        raise InputError(f"locations must be 'optimize', 'random' or an array, got {locations!r}.")
    return locations


def gaussian_locations(points: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Draw locations (count, d) from a Gaussian fitted to the points (n, d) by maximum likelihood."""
    mean = points.mean(axis=0)
    centred = points - mean
    variances, axes = np.linalg.eigh(centred.T @ centred / len(points))
    # Clipped, because rounding may leave a variance of a degenerate direction below 0.
    root = axes * np.sqrt(np.maximum(variances, 0.0))
    values: FloatArray = mean + rng.standard_normal((count, points.shape[1])) @ root.T
    return values


def row_locations(points: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Draw locations among the points themselves, without replacement where there are enough."""
    return np.array(points[rng.choice(len(points), count, replace=count > len(points))])
