"""Least squares and a Gamma GLM of statsmodels, on Engel's food expenditures.

    pip install 'condgof[statsmodels]'

Spending on food grows with income, and so does its spread. Least squares with one spread
for all cannot say that; a Gamma model, whose standard deviation is a share of the mean,
can.
"""

import numpy as np
import statsmodels.api as sm
import statsmodels.formula.api as smf

import condgof as cg

frame = sm.datasets.engel.load_pandas().data
order = np.random.default_rng(0).permutation(len(frame))
train, test = frame.iloc[order[:120]], frame.iloc[order[120:]]

models = {
    "least squares": smf.ols("foodexp ~ income", train).fit(),
    "Gamma GLM": (
        smf.glm(
            "foodexp ~ np.log(income)",
            train,
            family=sm.families.Gamma(sm.families.links.Log()),
        ).fit()
    ),
}
for name, fitted in models.items():
    # The formula finds its columns in x; y is compared on the scale that suits the family.
    result = cg.adaptive(fitted, test[["income"]], test["foodexp"], rng=0)
    print(f"{name}\n{result}\n")
