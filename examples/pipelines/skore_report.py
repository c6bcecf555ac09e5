"""A check of the predicted distribution, and a metric, in skore (pip install skore)."""

from typing import ClassVar

import skore
from sklearn.datasets import make_friedman1
from sklearn.linear_model import BayesianRidge

import condgof as cg
from condgof.sklearn import avoidable_loss_scorer


class PredictedDistribution:
    """A check of skore: does the predicted distribution fit the test rows?"""

    code = "CGF001"
    title = "Predicted distribution"
    report_types: ClassVar = ["estimator"]
    docs_url = None
    severity = "issue"
    slow = True

    def check_function(self, report):
        found = cg.check(report.estimator_, report.X_test, report.y_test, rng=0)
        return found.words if found.rejected else None


def avoidable_loss(estimator, X, y):
    return -avoidable_loss_scorer(estimator, X, y)


x, y = make_friedman1(n_samples=800, noise=1.0, random_state=0)
report = skore.evaluate(BayesianRidge(), x, y, splitter=0.5)
report.checks.add([PredictedDistribution()])
report.metrics.add(avoidable_loss, greater_is_better=False)

print(report.checks.summarize().frame(section="issue")[["code", "explanation"]])
print(report.metrics.summarize().frame())
