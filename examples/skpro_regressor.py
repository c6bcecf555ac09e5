"""Probabilistic regressors of skpro: which residual distribution do the data have?

    pip install 'condgof[skpro]'

The noise is Laplace's, which has heavier tails than the normal one, and its scale grows
with the dose.
"""

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from skpro.regression.residual import ResidualDouble

import condgof as cg


def draw(n, rng):
    x = pd.DataFrame({"age": rng.uniform(20.0, 70.0, n), "dose": rng.uniform(0.0, 1.0, n)})
    scale = 1.0 + x["dose"]
    y = 0.1 * x["age"] + 3.0 * x["dose"] + rng.laplace(0.0, scale)
    return x, y.to_frame("response")


rng = np.random.default_rng(0)
x, y = draw(3000, rng)
x_test, y_test = draw(500, rng)
regressors = {
    "Normal": ResidualDouble(LinearRegression(), LinearRegression(), dist="Normal"),
    "Laplace": ResidualDouble(LinearRegression(), LinearRegression(), dist="Laplace"),
}
for name, regressor in regressors.items():
    # x goes to the regressor as the frame that it is; rows are matched by position.
    result = cg.adaptive(regressor.fit(x, y), x_test, y_test, rng=0)
    print(f"{name} residuals\n{result}\n")
