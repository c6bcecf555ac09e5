"""For people who work with scikit-learn: displays of a check, and a scorer.

Displays follow scikit-learn's: ``from_estimator`` and ``from_predictions`` check and draw,
and the result has ``figure_``, ``ax_`` and the report, ``report_``. matplotlib is imported
when something is drawn, and scikit-learn itself by the estimators alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from condgof._typing import TableLike
from condgof.check import Check, check
from condgof.errors import InputError
from condgof.laws import probabilities
from condgof.report import charts as c
from condgof.report import coverage_chart

__all__ = [
    "CoverageDisplay",
    "MisfitByFeatureDisplay",
    "ReliabilityDisplay",
    "avoidable_loss_scorer",
]

#: The allowance by which a check computes the avoidable loss also of a model that fits.
ANY_LOSS = "1 nats"


def __dir__() -> list[str]:
    return __all__


class CheckDisplay(ABC):
    """A picture of a check; a subclass says which one.

    Attributes
    ----------
    report_ : Check
        All numbers of the check.
    ax_, figure_
        Where it is drawn, once `plot` was called.
    """

    def __init__(self, report: Check) -> None:
        self.report_ = report
        self.ax_: Any = None
        self.figure_: Any = None

    @abstractmethod
    def _draw(self, ax: Any) -> Any:
        """Draw the picture, and return the Axes."""

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the picture on matplotlib Axes, new ones unless given."""
        self.ax_ = self._draw(ax)
        self.figure_ = self.ax_.figure
        return self


class MisfitByFeatureDisplay(CheckDisplay):
    """Residual quantiles along a column of X: where along it does the model not fit?

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import BayesianRidge
    >>> from condgof.sklearn import MisfitByFeatureDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (600, 2))
    >>> y = X[:, 0] + X[:, 1] ** 2 + rng.standard_normal(600)
    >>> fitted = BayesianRidge().fit(X[:300], y[:300])
    >>> display = MisfitByFeatureDisplay.from_estimator(fitted, X[300:], y[300:], feature=1)
    >>> display.ax_.get_xlabel(), display.report_.rejected
    ('x2', True)
    """

    def __init__(self, report: Check, feature: str) -> None:
        super().__init__(report)
        self.feature = feature

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: TableLike,
        y: TableLike,
        *,
        feature: int | str,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Check a fitted estimator on rows that it was not fitted on, and draw.

        Parameters
        ----------
        estimator : fitted estimator
            A classifier, or a regressor that predicts a distribution: see `as_model`.
        X, y : array_like or frame
            Rows that it was not fitted on.
        feature : int or str
            The column of X along which to draw, by number or name.
        ax : matplotlib.axes.Axes, optional
        **options
            Options of `check`.
        """
        report = check(estimator, X, y, **{"rng": 0, **options})
        return cls(report, feature_name(report, feature)).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: TableLike,
        y_pred: object,
        *,
        X: TableLike,
        feature: int | str,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Check predictions of rows: a tuple (mean, std), or any model of the same rows."""
        report = check(y_pred, X, y_true, **{"rng": 0, **options})
        return cls(report, feature_name(report, feature)).plot(ax=ax)

    def _draw(self, ax: Any) -> Any:
        return self.report_.plot("column", ax=ax, column=self.feature)


class WholeSampleDisplay(CheckDisplay):
    """A picture of all rows, along no column of X."""

    @classmethod
    def from_estimator(
        cls,
        estimator: object,
        X: TableLike,
        y: TableLike,
        *,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Check a fitted estimator on rows that it was not fitted on, and draw.

        Parameters are those of `MisfitByFeatureDisplay.from_estimator`, but for `feature`.
        """
        return cls(check(estimator, X, y, **{"rng": 0, **options})).plot(ax=ax)


class ReliabilityDisplay(WholeSampleDisplay):
    """How often the most probable class was right, by its predicted probability.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from condgof.sklearn import ReliabilityDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((600, 1))
    >>> y = (rng.random(600) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    >>> fitted = LogisticRegression().fit(X[:300], y[:300])
    >>> display = ReliabilityDisplay.from_estimator(fitted, X[300:], y[300:])
    >>> display.report_.rejected
    False
    """

    @classmethod
    def from_predictions(
        cls,
        y_true: TableLike,
        y_prob: Any,
        *,
        X: TableLike | None = None,
        classes: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Check probabilities (n,) of the second of two classes, or (n, K) of all.

        Without X, calibration given the probabilities is checked.
        """
        values = np.asarray(y_prob, dtype=np.float64)
        model = probabilities(values, classes=classes)
        report = check(model, values if X is None else X, y_true, **{"rng": 0, **options})
        return cls(report).plot(ax=ax)

    def _draw(self, ax: Any) -> Any:
        return self.report_.plot("reliability", ax=ax)


class CoverageDisplay(WholeSampleDisplay):
    """How often central intervals hold y, against how often they should.

    Examples
    --------
    >>> import numpy as np
    >>> from condgof.sklearn import CoverageDisplay
    >>> x, noise = np.random.default_rng(0).standard_normal((2, 300))
    >>> y_pred = (x, np.full(300, 0.5))
    >>> display = CoverageDisplay.from_predictions(x + noise, y_pred, X=x)
    >>> display.ax_.get_ylabel()
    'share of y inside'
    """

    @classmethod
    def from_predictions(
        cls,
        y_true: TableLike,
        y_pred: object,
        *,
        X: TableLike,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Check predictions of rows: (mean, std), draws, quantiles, intervals, …."""
        return cls(check(y_pred, X, y_true, **{"rng": 0, **options})).plot(ax=ax)

    def _draw(self, ax: Any) -> Any:
        return c.draw(coverage_chart(self.report_), ax)


def feature_name(report: Check, feature: int | str) -> str:
    """Return the name of a column of x, by number or name."""
    names = report.x_columns
    if isinstance(feature, str) and feature in names:
        return feature
    if not isinstance(feature, str) and -len(names) <= feature < len(names):
        return names[feature]
    raise InputError(
        f"feature={feature!r} is no column of X, which has {', '.join(names)}."
    )


def avoidable_loss_scorer(
    estimator: object, X: TableLike, y: TableLike, **options: Any
) -> float:
    """Score an estimator by what its effects would gain: −avoidable loss, nats a row.

    0 is best: nothing that the check looks for can be improved. It is a scorer for
    ``cross_val_score(estimator, X, y, scoring=avoidable_loss_scorer)`` and
    ``GridSearchCV``, of classifiers and of regressors that predict a distribution
    (`as_model`). It says how far a model is from calibrated, not how informative it is: use
    it beside a proper score, not in its place.

    Parameters
    ----------
    estimator : fitted estimator
    X, y : array_like or frame
        Rows that it was not fitted on, at least 100.
    **options
        Options of `check`.

    Returns
    -------
    float
        −``report.avoidable_loss.estimate``; the estimate, on held-out rows, may be a little
        below 0 for a right model.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import BayesianRidge
    >>> from sklearn.model_selection import cross_val_score
    >>> from condgof.sklearn import avoidable_loss_scorer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (800, 1))
    >>> y = X[:, 0] ** 2 + rng.standard_normal(800)
    >>> line = cross_val_score(BayesianRidge(), X, y, scoring=avoidable_loss_scorer, cv=2)
    >>> square = cross_val_score(
    ...     BayesianRidge(), X**2, y, scoring=avoidable_loss_scorer, cv=2
    ... )
    >>> bool(line.mean() < -0.1 < square.mean())
    True
    """
    report = check(estimator, X, y, tolerance=ANY_LOSS, **{"rng": 0, **options})
    loss = report.avoidable_loss
    if loss is None:
        raise InputError(
            f"{report.checked.n} rows are too few to estimate the avoidable loss. Score on"
            " more rows."
        )
    return -loss.estimate
