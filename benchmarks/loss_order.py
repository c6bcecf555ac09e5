"""Does the avoidable loss order two models as their log scores on new rows do?

Pairs of models of the same y given the same x, on simulated data and on data that come
inside statsmodels and scikit-learn. A third of the rows trains both models, a third is
checked, and the last third judges: the difference of log scores there, with its standard
error. A pair counts where that difference is more than two standard errors. Run as

    PYTHONPATH=src python benchmarks/loss_order.py
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import nbinom, norm, poisson

import condgof as cg

#: Standard errors by which two log scores have to differ before their order counts.
LEAST_DIFFERENCE = 2.0
#: An avoidable loss that no finite number bounds is asked for: the loss itself is wanted.
ANY_LOSS = "100 nats"


class Predictions(NamedTuple):
    """What a model predicts of some rows, as `check` takes it, and its log scores there."""

    model: Callable[[pd.DataFrame], object]
    log_score: Callable[[pd.DataFrame, np.ndarray], np.ndarray]


class Pair(NamedTuple):
    """Two models of the same y given the same x."""

    name: str
    x: pd.DataFrame
    y: np.ndarray
    #: From training rows (x, y) to both models.
    fit: Callable[[pd.DataFrame, np.ndarray], tuple[Predictions, Predictions]]


def design(x: pd.DataFrame, columns: list[str], squares: bool = False) -> np.ndarray:
    """Return a constant, some columns, and perhaps their squares, (n, k)."""
    values = x[columns].to_numpy(dtype=float)
    parts = [np.ones((len(x), 1)), values]
    if squares:
        parts.append(values**2)
    return np.hstack(parts)


def normal_model(
    x: pd.DataFrame,
    y: np.ndarray,
    columns: list[str],
    *,
    squares: bool = False,
    spread: bool = False,
) -> Predictions:
    """Fit least squares, with one SD or with a log SD that is linear in the columns."""
    matrix = design(x, columns, squares)
    slopes = np.linalg.lstsq(matrix, y, rcond=None)[0]
    residual = y - matrix @ slopes
    log_sd = np.zeros(matrix.shape[1])
    log_sd[0] = np.log(residual.std())
    if spread:
        # E[log|N(0, 1)|] = −0.635 is the mean of the log of a standardised residual.
        target = np.log(np.abs(residual) + 1e-3 * residual.std()) + 0.635
        log_sd = np.linalg.lstsq(matrix, target, rcond=None)[0]

    def predict(rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        at = design(rows, columns, squares)
        return at @ slopes, np.exp(at @ log_sd)

    def log_score(rows: pd.DataFrame, values: np.ndarray) -> np.ndarray:
        return norm.logpdf(values, *predict(rows))

    return Predictions(model=predict, log_score=log_score)


def count_model(
    x: pd.DataFrame, y: np.ndarray, columns: list[str], *, dispersed: bool
) -> Predictions:
    """Fit a Poisson regression, or a negative binomial with the same means."""
    import statsmodels.api as sm

    result = sm.GLM(y, design(x, columns), family=sm.families.Poisson()).fit()
    mean = result.fittedvalues
    excess = float(np.maximum(((y - mean) ** 2 - mean).sum() / (mean**2).sum(), 1e-3))

    def predict(rows: pd.DataFrame) -> np.ndarray:
        return np.asarray(result.predict(design(rows, columns)))

    if dispersed:
        return Predictions(
            model=lambda rows: cg.models.NegativeBinomial(
                mean=predict(rows), dispersion=np.full(len(rows), excess)
            ),
            log_score=lambda rows, values: nbinom.logpmf(
                values, 1 / excess, 1 / (1 + excess * predict(rows))
            ),
        )
    return Predictions(
        model=lambda rows: cg.models.Poisson(mean=predict(rows)),
        log_score=lambda rows, values: poisson.logpmf(values, predict(rows)),
    )


def class_model(x: pd.DataFrame, y: np.ndarray, columns: list[str]) -> Predictions:
    """Fit a logistic regression of two classes."""
    import statsmodels.api as sm

    result = sm.GLM(y, design(x, columns), family=sm.families.Binomial()).fit()

    def predict(rows: pd.DataFrame) -> np.ndarray:
        p = np.asarray(result.predict(design(rows, columns)))
        return np.clip(p, 1e-6, 1 - 1e-6)

    def log_score(rows: pd.DataFrame, values: np.ndarray) -> np.ndarray:
        p = predict(rows)
        return np.log(np.where(values == 1, p, 1 - p))

    return Predictions(
        model=lambda rows: cg.probabilities(predict(rows)), log_score=log_score
    )


def pairs() -> Iterator[Pair]:
    """Yield all pairs of models."""
    yield from simulated_pairs()
    yield from public_pairs()


def simulated_pairs() -> Iterator[Pair]:
    rng = np.random.default_rng(11)
    n = 3000
    x = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    a, b, c = (x[name].to_numpy() for name in "abc")
    linear = a + 0.5 * b + rng.normal(size=n)
    curved = a + 0.4 * b**2 + rng.normal(size=n)
    hetero = a + np.exp(0.4 * c) * rng.normal(size=n)
    both = a + 0.3 * b + np.exp(0.25 * c) * rng.normal(size=n)

    def missing_column(x: pd.DataFrame, y: np.ndarray) -> tuple[Predictions, Predictions]:
        return normal_model(x, y, ["a"]), normal_model(x, y, ["a", "b"])

    def missing_square(x: pd.DataFrame, y: np.ndarray) -> tuple[Predictions, Predictions]:
        return normal_model(x, y, ["a", "b"]), normal_model(x, y, ["a", "b"], squares=True)

    def missing_spread(x: pd.DataFrame, y: np.ndarray) -> tuple[Predictions, Predictions]:
        return normal_model(x, y, list("abc")), normal_model(x, y, list("abc"), spread=True)

    def mean_or_spread(x: pd.DataFrame, y: np.ndarray) -> tuple[Predictions, Predictions]:
        return normal_model(x, y, ["a", "b"]), normal_model(x, y, ["a", "c"], spread=True)

    yield Pair("a missing column", x, linear, missing_column)
    yield Pair("a missing square", x, curved, missing_square)
    yield Pair("a missing spread", x, hetero, missing_spread)
    yield Pair("mean or spread missing", x, both, mean_or_spread)
    mean = np.exp(0.8 + 0.4 * a)
    overdispersed = rng.poisson(mean * rng.gamma(2.0, 0.5, size=n))

    def dispersion(x: pd.DataFrame, y: np.ndarray) -> tuple[Predictions, Predictions]:
        poisson_model = count_model(x, y, ["a"], dispersed=False)
        return poisson_model, count_model(x, y, ["a"], dispersed=True)

    def slope_of_counts(x: pd.DataFrame, y: np.ndarray) -> tuple[Predictions, Predictions]:
        with_slope = count_model(x, y, ["a"], dispersed=True)
        return count_model(x, y, ["b"], dispersed=True), with_slope

    yield Pair("overdispersed counts", x, overdispersed, dispersion)
    yield Pair("a missing slope of counts", x, overdispersed, slope_of_counts)
    happened = (rng.random(n) < 1 / (1 + np.exp(-a - 0.6 * b))).astype(int)

    def missing_class_column(
        x: pd.DataFrame, y: np.ndarray
    ) -> tuple[Predictions, Predictions]:
        return class_model(x, y, ["a"]), class_model(x, y, ["a", "b"])

    yield Pair("a missing column of classes", x, happened, missing_class_column)
    yield from overconfident_pairs(x, linear, happened)


def overconfident_pairs(
    x: pd.DataFrame, y: np.ndarray, happened: np.ndarray
) -> Iterator[Pair]:
    """Yield models that are too sure, or off by a constant, beside the right ones."""

    def narrower(x: pd.DataFrame, y: np.ndarray) -> tuple[Predictions, Predictions]:
        right = normal_model(x, y, ["a", "b"])
        return altered(right, shift=0.0, factor=0.75), right

    def shifted(x: pd.DataFrame, y: np.ndarray) -> tuple[Predictions, Predictions]:
        right = normal_model(x, y, ["a", "b"])
        return altered(right, shift=0.3, factor=1.0), right

    def sharper(x: pd.DataFrame, y: np.ndarray) -> tuple[Predictions, Predictions]:
        right = class_model(x, y, ["a", "b"])
        return sharpened(x, y), right

    yield Pair("an SD that is too small", x, y, narrower)
    yield Pair("a mean that is too high", x, y, shifted)
    yield Pair("probabilities that are too sure", x, happened, sharper)


def altered(right: Predictions, *, shift: float, factor: float) -> Predictions:
    """Return a normal model with another mean and another SD."""

    def predict(rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        mean, sd = right.model(rows)
        return mean + shift, factor * sd

    return Predictions(
        model=predict,
        log_score=lambda rows, values: norm.logpdf(values, *predict(rows)),
    )


def sharpened(x: pd.DataFrame, y: np.ndarray) -> Predictions:
    """Return a logistic regression whose log odds are twice what they should be."""
    import statsmodels.api as sm

    columns = ["a", "b"]
    result = sm.GLM(y, design(x, columns), family=sm.families.Binomial()).fit()

    def predict(rows: pd.DataFrame) -> np.ndarray:
        p = np.asarray(result.predict(design(rows, columns)))
        return p**2 / (p**2 + (1 - p) ** 2)

    return Predictions(
        model=lambda rows: cg.probabilities(predict(rows)),
        log_score=lambda rows, values: np.log(
            np.where(values == 1, predict(rows), 1 - predict(rows))
        ),
    )


def public_pairs() -> Iterator[Pair]:
    import statsmodels.api as sm
    from sklearn.datasets import load_diabetes, load_wine

    bunch = load_diabetes(as_frame=True)
    x = bunch.data
    y = bunch.target.to_numpy(dtype=float)

    def few_or_all(columns: list[str]) -> Callable[..., tuple[Predictions, Predictions]]:
        def fit(x: pd.DataFrame, y: np.ndarray) -> tuple[Predictions, Predictions]:
            return normal_model(x, y, columns), normal_model(x, y, list(x.columns))

        return fit

    def with_spread(columns: list[str]) -> Callable[..., tuple[Predictions, Predictions]]:
        def fit(x: pd.DataFrame, y: np.ndarray) -> tuple[Predictions, Predictions]:
            plain = normal_model(x, y, columns)
            return plain, normal_model(x, y, columns, spread=True)

        return fit

    yield Pair("diabetes: age and sex, or all", x, y, few_or_all(["age", "sex"]))
    yield Pair("diabetes: bmi, or all", x, y, few_or_all(["bmi"]))
    wine = load_wine(as_frame=True)
    yield Pair(
        "wine: alcohol by hue, or by all",
        wine.data.drop(columns="alcohol"),
        wine.data["alcohol"].to_numpy(),
        few_or_all(["hue"]),
    )
    engel = sm.datasets.engel.load_pandas().data
    yield Pair(
        "engel: one SD, or by income",
        engel[["income"]] / 1000,
        engel["foodexp"].to_numpy(),
        with_spread(["income"]),
    )
    fair = sm.datasets.fair.load_pandas().data
    yield Pair(
        "fair: children, or all",
        fair.drop(columns="affairs"),
        (fair["affairs"] > 0).to_numpy(dtype=int),
        lambda x, y: (class_model(x, y, ["children"]), class_model(x, y, list(x.columns))),
    )
    yield Pair(
        "fair: rating of the marriage, or all",
        fair.drop(columns="affairs"),
        (fair["affairs"] > 0).to_numpy(dtype=int),
        lambda x, y: (
            class_model(x, y, ["rate_marriage"]),
            class_model(x, y, list(x.columns)),
        ),
    )
    randhie = sm.datasets.randhie.load_pandas().data.sample(6000, random_state=0)
    visits = randhie["mdvis"].to_numpy()
    randhie = randhie.drop(columns="mdvis").reset_index(drop=True)
    yield Pair(
        "randhie: Poisson, or negative binomial",
        randhie,
        visits,
        lambda x, y: (
            count_model(x, y, list(x.columns), dispersed=False),
            count_model(x, y, list(x.columns), dispersed=True),
        ),
    )
    yield Pair(
        "randhie: negative binomial of one column, or of all",
        randhie,
        visits,
        lambda x, y: (
            count_model(x, y, ["physlm"], dispersed=True),
            count_model(x, y, list(x.columns), dispersed=True),
        ),
    )
    anes = sm.datasets.anes96.load_pandas().data
    votes = anes["vote"].to_numpy(dtype=int)
    yield Pair(
        "anes96: vote by income, or by all",
        anes[["selfLR", "age", "educ", "income", "logpopul"]],
        votes,
        lambda x, y: (class_model(x, y, ["income"]), class_model(x, y, list(x.columns))),
    )
    yield Pair(
        "anes96: age by education, or by all",
        anes[["selfLR", "educ", "income", "logpopul", "vote"]],
        anes["age"].to_numpy(),
        few_or_all(["educ"]),
    )
    star = sm.datasets.star98.load_pandas().data
    share = star["NABOVE"] / (star["NABOVE"] + star["NBELOW"])
    columns = ["LOWINC", "PERASIAN", "PERBLACK", "PERHISP", "AVYRSEXP", "PTRATIO"]
    yield Pair(
        "star98: pupils per teacher, or all",
        star[columns],
        share.to_numpy(),
        few_or_all(["PTRATIO"]),
    )
    yield Pair(
        "star98: low income, or all",
        star[columns],
        share.to_numpy(),
        few_or_all(["LOWINC"]),
    )
    temperature = sm.datasets.elnino.load_pandas().data.melt(id_vars="YEAR")
    month = temperature["variable"].map(
        {name: k for k, name in enumerate(temperature.variable.unique())}
    )
    season = pd.DataFrame(
        {
            "year": temperature["YEAR"] - 1980.0,
            "sine": np.sin(month * np.pi / 6),
            "cosine": np.cos(month * np.pi / 6),
        }
    )
    yield Pair(
        "elnino: the year, or the season",
        season,
        temperature["value"].to_numpy(),
        few_or_all(["year"]),
    )


class Outcome(NamedTuple):
    """The avoidable losses of two models, and what their log scores on new rows say."""

    losses: tuple[float, float]
    difference: float  #: Log score of the second model less that of the first, a row.
    error: float  #: Its standard error.

    @property
    def counts(self) -> bool:
        return abs(self.difference) > LEAST_DIFFERENCE * self.error

    @property
    def agrees(self) -> bool:
        first, second = self.losses
        return (first > second) == (self.difference > 0)


def judge(pair: Pair) -> Outcome:
    """Fit two models, check them, and compare their log scores on other rows."""
    order = np.random.default_rng(7).permutation(len(pair.x))
    train, checked, new = np.array_split(order, 3)
    models = pair.fit(pair.x.iloc[train], pair.y[train])
    losses = []
    scores = []
    for one in models:
        x = pair.x.iloc[checked]
        report = cg.check(
            one.model(x), x, pair.y[checked], rng=0, tolerance=ANY_LOSS, engine=1
        )
        losses.append(report.avoidable_loss.estimate)
        scores.append(one.log_score(pair.x.iloc[new], pair.y[new]))
    difference = scores[1] - scores[0]
    return Outcome(
        losses=(losses[0], losses[1]),
        difference=float(difference.mean()),
        error=float(difference.std() / np.sqrt(len(difference))),
    )


def main() -> None:
    warnings.simplefilter("ignore")
    print("| pair | avoidable loss | second model's gain on new rows | counts | agrees |")
    print("|---|---|---|---|---|")
    outcomes = []
    for pair in pairs():
        one = judge(pair)
        outcomes.append(one)
        first, second = one.losses
        gain = f"{one.difference:+.3f} ± {one.error:.3f}"
        marks = f"{'yes' if one.counts else 'no'} | {'yes' if one.agrees else '**no**'}"
        print(f"| {pair.name} | {first:.3f}, {second:.3f} | {gain} | {marks} |", flush=True)
    counted = [one for one in outcomes if one.counts]
    agreed = sum(one.agrees for one in counted)
    print(f"\n{agreed} of {len(counted)} pairs whose log scores differ are ordered alike.")


if __name__ == "__main__":
    main()
