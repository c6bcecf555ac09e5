"""Calibration: the predictions themselves in place of x."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, UnsupportedModelError
from condgof.methods._adaptive import adaptive
from condgof.methods._kcsd import kcsd
from condgof.methods._stream import refuse_source
from condgof.models import AtRows, ConditionalModel, Probabilities, as_model
from condgof.result import GofResult
from condgof.sample import RngLike, Sample
from condgof.stein import DEFAULT_MEMORY

#: What may be run.
TESTS: dict[str, Callable[..., GofResult]] = {"adaptive": adaptive, "kcsd": kcsd}


def calibration(
    model: Any,
    x: Any,
    y: Any,
    *,
    test: str = "adaptive",
    solver: str = "auto",
    null: str = "wild",
    n_boot: int = 1000,
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> GofResult:
    """Test whether a model is calibrated: right on average wherever it predicts the same.

    H0: among all rows with the same prediction, y is distributed as predicted. For a classifier, the
    classes have the predicted probabilities among all x with those *probabilities*,

        P(y = c | P(x) = p) = p_c   for all classes c and almost all p,

    which is called *strong* or *canonical* calibration (calibration of the largest probability alone,
    what a reliability diagram shows, is less). For a continuous or a count model the prediction is mean
    and standard deviation: among all x with the same two, y has the predicted distribution. It is a test
    of the model with its predictions as covariates: `adaptive`, unless asked otherwise.

    A calibrated model may still be wrong: one that ignores x and predicts the shares of the classes is
    calibrated. `adaptive` on x itself tests for more, and needs more data where x has many columns. Do
    not use it on the data that the model was fitted (or recalibrated) on.

    Parameters
    ----------
    model : ConditionalModel or anything `as_model` takes
        The model: a classifier, `probabilities`, or a model with means and standard deviations.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample; x serves for the predictions only. It may be None where predictions are arrays.
    test : {"adaptive", "kcsd"}
        The test that is run.
    solver, null, n_boot, rng, engine, memory
        As in `kcsd`.

    Returns
    -------
    GofResult
        That of the test, with ``details["test"]`` and ``details["conditioned_on"]``, what takes the
        place of x; its ``strongest_location`` is a prediction.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(600, 5))
    >>> p = 1 / (1 + np.exp(-x.sum(axis=1)))
    >>> y = rng.random(600) < p
    >>> cg.calibration(cg.probabilities(p), x, y, rng=1).reject()
    False
    >>> sharp = 1 / (1 + np.exp(-2 * x.sum(axis=1)))
    >>> cg.calibration(cg.probabilities(sharp), x, y, rng=1).reject()
    True
    """
    if not isinstance(test, str) or test not in TESTS:
        raise InputError(f"test must be one of {', '.join(map(repr, TESTS))}, got {test!r}.")
    refuse_source("calibration", x, y)
    sample = Sample.unconditional(y, to_test=False) if x is None else Sample.of(x, y, to_test=False)
    own = as_model(model).probe(sample.y_given, sample.x_given)
    bound = AtRows.of(own, sample.x_given, sample.n)
    seen, names = predictions(bound, sample.n)
    result = TESTS[test](
        bound,
        seen,
        y,
        scale_x="none" if isinstance(bound.model, Probabilities) else "std",
        standardize="auto",
        solver=solver,
        null=null,
        n_boot=n_boot,
        rng=rng,
        engine=engine,
        memory=memory,
    )
    details = {**result.details, "test": test, "conditioned_on": names}
    if "strongest_location" in details and len(names) <= 10:
        place = details["strongest_location"]
        label = dict(zip(names, map(float, place["x"]), strict=True))
        details["strongest_location"] = {**place, "label": label}
    return replace(result, method="calibration", details=details)


def predictions(model: AtRows, n: int) -> tuple[AnyArray, tuple[str, ...]]:
    """Return what a model predicts, (n, d), and what to call the columns."""
    own = model.model
    if isinstance(own, Probabilities):
        names = tuple(f"P({name})" for name in own.classes.names)
        # Two classes: either probability tells the other.
        return (own.values[:, 1:], names[1:]) if len(names) == 2 else (own.values, names)
    return _mean_std(model, n)


def _mean_std(model: ConditionalModel, n: int) -> tuple[FloatArray, tuple[str, ...]]:
    if not (model.can("mean_std") or model.can("location_scale")):
        raise UnsupportedModelError(
            "calibration needs the model's mean and standard deviation (mean_std), and this one has "
            "neither them nor class probabilities. Use adaptive with the predictions of your choice "
            "as x."
        )
    location, scale = model.mean_std(None, n) if model.can("mean_std") else model.location_scale(None, n)
    if scale.ndim == 3:
        scale = np.sqrt(np.square(scale).sum(axis=2))
    columns = [f"{what}{'' if location.shape[1] == 1 else c + 1}" for what in ("mean", "std")
               for c in range(location.shape[1])]  # fmt: skip
    return np.concatenate([location, np.broadcast_to(scale, location.shape)], axis=1), tuple(columns)
