"""Calibration: the predictions themselves in place of x."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Unpack

from condgof._typing import AnyArray
from condgof.errors import InputError, UnsupportedModelError, check_choice
from condgof.laws._as_model import as_model, law_of
from condgof.laws._discrete import Probabilities
from condgof.laws._draws import RowDraws
from condgof.laws._law import Law
from condgof.methods._adaptive import adaptive
from condgof.methods._kcsd import kcsd
from condgof.methods._options import HowToTest, read_options, spelled_out
from condgof.methods._scored import side_by_side
from condgof.methods._sources import refuse_source
from condgof.result import GofResult
from condgof.sample import Sample, names_of

#: What may be run.
TESTS: dict[str, Callable[..., GofResult]] = {"adaptive": adaptive, "kcsd": kcsd}


@spelled_out("solver", "null", "n_boot", "precision", "missing", "rng", "engine", "memory")
def calibration(
    model: Any,
    x: Any,
    y: Any,
    *,
    test: str = "adaptive",
    **how: Unpack[HowToTest],
) -> GofResult:
    """Test whether a model is calibrated: right on average wherever it predicts the same.

    H0: among all rows with the same prediction, y is distributed as predicted. For a classifier, the
    classes have the predicted probabilities among all x with those *probabilities*,

        P(y = c | P(x) = p) = p_c   for all classes c and almost all p,

    which is called *strong* or *canonical* calibration (a reliability diagram shows that of the largest
    probability alone). For a continuous or a count model the prediction is mean and standard deviation.
    It is a test of the model with its predictions as covariates.

    A calibrated model may still be wrong: one that ignores x and predicts the shares of the classes is
    calibrated. Do not use it on the data that the model was fitted (or recalibrated) on.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model: a classifier, `probabilities`, or a model with means and standard deviations.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample; x serves for the predictions only. It may be None where predictions are arrays.
    test : {"adaptive", "kcsd"}
        The test that is run.
    solver, null, n_boot, precision, missing, rng, engine, memory
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
    check_choice(test, "test", TESTS)
    refuse_source("calibration", x, y)
    read: Any = {"to_test": False, "missing": read_options(calibration, how)[0].missing}
    sample = Sample.unconditional(y, **read) if x is None else Sample.of(x, y, **read)
    law = law_of(as_model(model), sample)
    seen, names = _predicted(law)
    if (seen == seen[0]).all():
        raise InputError(
            f"The model predicts the same in all rows ({', '.join(names)}), so that there is nothing to "
            "compare y along. Use ksd for a model without x, or adaptive on x itself."
        )
    # Probabilities are comparable as they are.
    scale_x = "none" if isinstance(law, Probabilities) else "ranks"
    asked: Any = {**how, "missing": "refuse", "scale_x": scale_x, "standardize": "auto"}
    result = TESTS[test](law, seen, sample.y_given, **asked)
    details = {**result.details, "test": test, "conditioned_on": names}
    if sample.left_out:  # else there are remarks on columns of x, which nothing is compared by
        details["notes"] = (*sample.remarks, *details.get("notes", ()))
    place, column = details.get("strongest_location"), details.get("strongest_column")
    if place is not None and len(names) <= 10:
        label = dict(zip(names, map(float, place["x"]), strict=True))
        details["strongest_location"] = {**place, "label": label}
    if column is not None:
        # `adaptive` adds what the model predicts to its columns, here for the second time.
        own = dict(zip(names_of("x", len(names)), names, strict=True))
        details["strongest_column"] = {**column, "column": own.get(column["column"], column["column"])}
    return replace(result, method="calibration", details=details)


def _predicted(law: Law) -> tuple[AnyArray, tuple[str, ...]]:
    if isinstance(law, Probabilities):
        names = tuple(f"P({name})" for name in law.classes.names)
        # Two classes: either probability tells the other.
        return (law.values[:, 1:], names[1:]) if len(names) == 2 else (law.values, names)
    if isinstance(law, RowDraws):
        raise UnsupportedModelError(
            "calibration compares y among rows of the same prediction, and draws are not functions of x "
            "alone: where they happen to be high y is low among them, and a right model would be "
            "rejected. Use adaptive on x itself."
        )
    if not (law.can("mean_std") or law.can("location_scale")):
        raise UnsupportedModelError(
            "calibration needs the model's mean and standard deviation (mean_std), and this one has "
            "neither them nor class probabilities. Use adaptive with the predictions of your choice "
            "as x."
        )
    location, scale = law.mean_std() if law.can("mean_std") else law.location_scale()
    columns = [*names_of("mean", location.shape[1]), *names_of("std", location.shape[1])]
    return side_by_side(location, scale), tuple(columns)
