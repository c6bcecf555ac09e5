"""A check as metrics, a tag and artifacts of an MLflow run (pip install mlflow-skinny)."""

import mlflow
from sklearn.datasets import make_friedman1
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import train_test_split

import condgof as cg

x, y = make_friedman1(n_samples=800, noise=1.0, random_state=0)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.5, random_state=0)


def metrics_of(report):
    """Numbers of a check, by names that sort together."""
    metrics = {"condgof.pvalue": report.pvalue}
    if report.avoidable_loss is not None:  # None where nothing is to be avoided
        metrics["condgof.avoidable_loss"] = report.avoidable_loss.estimate
    for score in report.scores.scores:
        metrics[f"condgof.{score.key}"] = score.mean
    return metrics


mlflow.set_experiment("friedman")
with mlflow.start_run():
    model = BayesianRidge().fit(x_train, y_train)
    report = cg.check(model, x_test, y_test, rng=0)
    mlflow.log_metrics(metrics_of(report))
    mlflow.set_tag("condgof.words", report.words)
    mlflow.log_dict(report.to_dict(), "condgof.json")
    # Without the labels of rows, in a file that others see.
    mlflow.log_text(report.to_html(row_labels=False), "condgof.html")

# Runs whose model was rejected, the worst first.
rejected = mlflow.search_runs(
    filter_string="metrics.`condgof.pvalue` < 0.05",
    order_by=["metrics.`condgof.avoidable_loss` DESC"],
)
print(rejected[["run_id", "metrics.condgof.avoidable_loss", "tags.condgof.words"]])
