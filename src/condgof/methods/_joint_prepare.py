"""What every comparison of models does first: read them, hold the sample against all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from condgof.errors import SupportError
from condgof.methods._joint import Joint, named
from condgof.methods._joint_discrete import joint_of
from condgof.methods._joint_stream import (
    JointStream,
    joint_block,
    lay_out_all,
    refuted_by_rows,
    with_columns,
)
from condgof.methods._solve import Options
from condgof.methods._stream import SUBSAMPLE, check_source_call
from condgof.models import as_model, outside_support
from condgof.sample import Sample, Seed


def prepare_joint(
    models: Mapping[str, Any], x: Any, y: Any, scale_x: str, options: Options, seed: Seed
) -> Joint | JointStream:
    """Check and score a sample with several models, in memory or as a stream."""
    names, (ready, x, y) = tuple(models), read_models(models, x, y)
    if not check_source_call(x, y, options.solver):
        return joint_of(ready, names, _sample(ready, x, y), scale_x)
    if options.solver == "exact" or (options.solver == "auto" and x.n <= SUBSAMPLE):
        source = with_columns(ready, x)
        rows = np.arange(source.n)
        return joint_block(ready, names, source, source.block_range(0, source.n), rows, scale_x)
    return JointStream.of(ready, names, x, seed, options.engine, scale_x)


def read_models(models: Mapping[str, Any], x: Any, y: Any) -> tuple[list[Any], Any, Any]:
    """Make models of what a user has, and a source of Dask arrays."""
    laid, x, y = lay_out_all(list(models.values()), x, y)
    ready = []
    for name, model in zip(models, laid, strict=True):
        with named(name):
            ready.append(as_model(model))
    return ready, x, y


def _sample(models: list[Any], x: Any, y: Any) -> Sample:
    return Sample.of(x, y, discrete=any(model.discrete for model in models))


def refuted_models(models: Mapping[str, Any], x: Any, y: Any) -> dict[str, SupportError]:
    """Return the models that hold some observations to be impossible, each with the error."""
    ready, x, y = read_models(models, x, y)
    if y is None:
        found = refuted_by_rows(ready, x)
    else:
        sample = _sample(ready, x, y)
        found = [outside_support(model, sample) for model in ready]
    return {name: error for name, error in zip(models, found, strict=True) if error is not None}


def refuted_note(name: str, error: SupportError) -> str:
    """Say why a model is refuted."""
    return (
        f"{name} is refuted: y is outside its support, or on the boundary, so that it gives y no "
        f"probability, in {error.count} of {error.n} rows, the first in row {error.first_row} (counted "
        "from 0)"
    )
