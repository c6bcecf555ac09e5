"""Generalised linear models, fitted by statsmodels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError, NumericalError, check_finite, require
from condgof.models._as_model import as_model
from condgof.models._base import ConditionalModel
from condgof.models._classifier import DiscreteFitted
from condgof.models._library import Fitted
from condgof.models._statsmodels_discrete import is_discrete
from condgof.models.fits._design import Design
from condgof.sample import as_numbers

#: Families by name, as statsmodels calls them, with their link.
FAMILIES = {
    "gaussian": ("Gaussian", "Identity"),
    "gamma": ("Gamma", "Log"),
    "inverse_gaussian": ("InverseGaussian", "Log"),
    "poisson": ("Poisson", "Log"),
    "binomial": ("Binomial", "Logit"),
}


@dataclass(frozen=True, eq=False)
class LinearGlm(Fitted):
    """A generalised linear model of x itself, whose constant and indicators are made from it.

    Parameters
    ----------
    design : Design
        How x enters.
    results : Results
        What statsmodels fitted on the design matrix.
    """

    design: Design
    results: Any

    def at(self, x: Any, n: int) -> ConditionalModel:
        """Return the model at the n rows of x."""
        return as_model(self.results).given(self.design.at(x))

    def __repr__(self) -> str:
        pairs = zip(self.design.names, np.asarray(self.results.params), strict=True)
        shown = ", ".join(f"{name}={value:.4g}" for name, value in pairs)
        family = type(self.results.model.family).__name__
        return f"LinearGlm({family}: {shown}; dispersion: {float(self.results.scale):.4g})"


class DiscreteGlm(DiscreteFitted, LinearGlm):
    """The same where y is discrete."""


@dataclass(frozen=True)
class Glm:
    """A generalised linear model; see `glm`."""

    family: Any
    intercept: bool = True

    def __call__(self, x: Any, y: Any) -> LinearGlm:
        """Fit."""
        sm = require("statsmodels.api", "statsmodels", "condgof.fits.glm")
        family = self.family
        if isinstance(family, str):
            name, link = FAMILIES[family]
            family = getattr(sm.families, name)(link=getattr(sm.families.links, link)())
        design, X = Design.of(x, intercept=self.intercept)
        targets = as_numbers(y, "y").astype(np.float64)
        if targets.ndim == 2 and targets.shape[1] == 1:
            targets = targets[:, 0]
        if targets.shape != (len(X),):
            raise InputError(f"A GLM is for one column of y, got shape {targets.shape}.")
        _check_targets(targets, type(family).__name__)
        try:
            results = sm.GLM(targets, X, family=family).fit()
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            raise NumericalError(
                f"statsmodels could not fit the GLM ({type(error).__name__}: {error}). Check that y can "
                f"come from the family {type(family).__name__}, and x for columns that are too large."
            ) from error
        if not results.converged:
            raise NumericalError("The GLM has not converged.")
        return (DiscreteGlm if is_discrete(results) else LinearGlm)(design, results)


def _check_targets(y: FloatArray, family: str) -> None:
    """Refuse a y that the family cannot have, before statsmodels divides by it."""
    check_finite(y, "y", "Drop or fill those rows first.")
    if family in ("Gamma", "InverseGaussian"):
        bad, must = np.flatnonzero(~(y > 0)), "be positive"
    elif family == "Binomial":
        bad, must = np.flatnonzero(~((y >= 0) & (y <= 1))), "lie between 0 and 1"
    elif family in ("Poisson", "NegativeBinomial"):
        bad, must = np.flatnonzero(~(y >= 0)), "not be negative"
    else:
        return
    if len(bad):
        raise InputError(
            f"y of a {family} GLM must {must}; it is wrong in {len(bad)} of {len(y)} rows, the first "
            f"{y[bad[0]]:.6g} in row {bad[0]} (counted from 0). Choose another family, or correct y."
        )


def glm(family: Any, *, intercept: bool = True) -> Glm:
    """Return the fit of a generalised linear model by statsmodels, for `composite`.

    Text and category columns of x enter as in `ols`.

    Parameters
    ----------
    family : str or statsmodels family
        "gaussian" (identity link), "gamma", "inverse_gaussian" or "poisson" (logarithmic link),
        "binomial" (y is 0 or 1; logistic link), or an object such as
        ``sm.families.NegativeBinomial(alpha=0.5)``.
    intercept : bool
        Whether to add a constant.

    Returns
    -------
    callable
        (x, y) → model.

    Examples
    --------
    >>> import condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 2, 500)
    >>> y = rng.gamma(3.0, np.exp(x) / 3.0)
    >>> model = cg.fits.glm("gamma")(x, y)
    >>> model.results.params.round(1)
    array([0., 1.])
    """
    if isinstance(family, str) and family not in FAMILIES:
        raise InputError(
            f"family must be one of {', '.join(map(repr, FAMILIES))} or a family of statsmodels, "
            f"got {family!r}."
        )
    if not isinstance(family, str) and not hasattr(family, "link"):
        raise InputError(
            "family must be a name such as 'gamma', or an object of a family of statsmodels, "
            f"got {family!r}."
        )
    return Glm(family, intercept)
