"""Quantile regression, linear and boosted: do the quantiles hold given x?

    pip install 'condgof[sklearn,statsmodels]'

Only what was predicted is tested: how often y exceeds each quantile, wherever x is.
"""

import os

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf
from sklearn.ensemble import HistGradientBoostingRegressor

import condgof as cg

levels = [0.1, 0.5, 0.9]
rng = np.random.default_rng(0)
rows = int(os.environ.get("CONDGOF_EXAMPLE_ROWS", 1000))


def draw(n):
    """Rents: they rise with size, and spread more in the centre."""
    size = rng.uniform(20, 120, n)
    centre = rng.random(n) < 0.3
    rent = 200 + 9 * size + (60 + 6 * size * centre) * rng.gumbel(size=n)
    return pd.DataFrame({"size": size, "centre": centre.astype(int)}), rent


x, y = draw(6 * rows)
x_test, y_test = draw(rows)

line = smf.quantreg("rent ~ size", x.assign(rent=y))
linear = np.column_stack([line.fit(q=q).predict(x_test) for q in levels])


def boost(level):
    """Predict a quantile of the test rows by gradient boosting."""
    trees = HistGradientBoostingRegressor(
        loss="quantile", quantile=level, max_iter=60, random_state=0
    )
    return trees.fit(x, y).predict(x_test)


boosted = np.column_stack([boost(level) for level in levels])
predictions = {"linear, size alone": linear, "boosted, size and centre": boosted}
for name, predicted in predictions.items():
    law = cg.from_quantiles(predicted, levels)
    print(f"{name}:\n{cg.check(law, x_test, y_test, rng=1)}\n")
