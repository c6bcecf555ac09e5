"""An ensemble as a predictive distribution: members that differ, with their noise added.

    pip install 'condgof[sklearn]'

The spread of the members alone is what the ensemble does not know of the mean. Passed as
draws it says that there is no noise, and the test says so.
"""

import os

import numpy as np
from sklearn.ensemble import BaggingRegressor
from sklearn.tree import DecisionTreeRegressor

import condgof as cg

rng = np.random.default_rng(0)
n = int(os.environ.get("CONDGOF_EXAMPLE_ROWS", 600))


def draw(n):
    x = rng.uniform(-2, 2, (n, 2))
    return x, x[:, 0] ** 2 + x[:, 1] + 0.5 * rng.normal(size=n)


x, y = draw(10 * n)
x_test, y_test = draw(n)
tree = DecisionTreeRegressor(min_samples_leaf=10)
bag = BaggingRegressor(tree, 100, oob_score=True, random_state=0).fit(x, y)
members = np.column_stack([member.predict(x_test) for member in bag.estimators_])

# Out-of-bag residuals stand for the noise: they are of rows that the members were not
# fitted on.
noise = rng.choice(y - bag.oob_prediction_, size=members.shape)
centre = members.mean(axis=1, keepdims=True)
for name, draws in {"members alone": members, "with noise": centre + noise}.items():
    law = cg.from_draws(draws)
    inside = np.mean(
        (y_test >= law.quantile([0.05])[:, 0]) & (y_test <= law.quantile([0.95])[:, 0])
    )
    result = cg.adaptive(law, x_test, y_test, rng=1)
    verdict = "rejected" if result.reject() else "not rejected"
    print(
        f"{name}: 90% of the draws hold {inside:.2f} of the rows; {verdict}, p ="
        f" {result.pvalue:.3f}"
    )
