"""What every comparison of models does first: read them, hold the sample against all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from condgof.errors import SupportError
from condgof.laws import Law, ModelLike, as_model, law_of
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
from condgof.sample import Sample, Seed
from condgof.stein import outside_support


def prepare_joint(
    models: Mapping[str, Any],
    x: Any,
    y: Any,
    scale_x: str,
    options: Options,
    seed: Seed,
) -> Joint | JointStream:
    """Check and score a sample with several models, in memory or as a stream."""
    names, (ready, x, y) = tuple(models), read_models(models, x, y)
    if not check_source_call(x, y, options.solver, options.missing):
        laws, sample = _read(ready, names, x, y, options.missing)
        return joint_of(laws, names, sample, scale_x)
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


def _read(
    models: list[ModelLike], names: tuple[str, ...], x: Any, y: Any, missing: str
) -> tuple[list[Law], Sample]:
    """Check x and y, and call all models with x."""
    sample, laws = Sample.of(x, y, to_test=False, missing=missing).ready(discrete=True), []
    for name, model in zip(names, models, strict=True):
        with named(name):
            laws.append(law_of(model, sample))
    return laws, sample.ready(discrete=any(law.discrete for law in laws))


def refuted_models(
    models: Mapping[str, Any], x: Any, y: Any, missing: str = "refuse"
) -> dict[str, SupportError]:
    """Return the models that hold some observations to be impossible, each with the error."""
    ready, x, y = read_models(models, x, y)
    if y is None:
        found = refuted_by_rows(ready, x)
    else:
        laws, sample = _read(ready, tuple(models), x, y, missing)
        found = [outside_support(law, sample) for law in laws]
    return {name: error for name, error in zip(models, found, strict=True) if error is not None}


def refuted_note(name: str, error: SupportError) -> str:
    """Say why a model is refuted."""
    return (
        f"{name} is refuted: y is outside its support, or on the boundary, so that it gives y no "
        f"probability, in {error.count} of {error.n} rows, the first in row {error.first_row} (counted "
        "from 0)"
    )
