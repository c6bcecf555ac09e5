"""Split conformal intervals: 90% on average, and far from it where the noise is large.

    pip install 'condgof[sklearn]'

The two arrays may as well come from MAPIE: ``_, ends = mapie.predict_interval(x)``, then
``cg.from_intervals(ends[:, 0, 0], ends[:, 1, 0], coverage=0.9)``.
"""

import os

import numpy as np
from sklearn.ensemble import RandomForestRegressor

import condgof as cg

rng = np.random.default_rng(0)
n = int(os.environ.get("CONDGOF_EXAMPLE_ROWS", 1000))


def draw(n):
    x = rng.uniform(0, 3, n)
    return x[:, None], np.sin(2 * x) + (0.1 + 0.3 * x) * rng.normal(size=n)


def half_width(residuals, coverage):
    """Return the conformal quantile of absolute residuals of held-out rows."""
    rank = int(np.ceil((len(residuals) + 1) * coverage))
    return np.sort(np.abs(residuals))[rank - 1]


x, y = draw(4 * n)
x_cal, y_cal = draw(2 * n)
x_test, y_test = draw(n)
forest = RandomForestRegressor(100, min_samples_leaf=20, random_state=0).fit(x, y)
centre = forest.predict(x_test)
residuals = y_cal - forest.predict(x_cal)
constant = np.full(len(y_test), half_width(residuals, 0.9))

# The same with residuals divided by a scale that a second forest learns.
scale = RandomForestRegressor(100, min_samples_leaf=50, random_state=1).fit(
    x, np.abs(y - forest.predict(x))
)
adaptive = scale.predict(x_test) * half_width(residuals / scale.predict(x_cal), 0.9)

for name, half in {"constant width": constant, "width that follows x": adaptive}.items():
    covered = np.mean(np.abs(y_test - centre) <= half)
    law = cg.from_intervals(centre - half, centre + half, coverage=0.9)
    print(f"{name}: the 90% intervals hold {covered:.3f} of all rows")
    print(f"{cg.check(law, x_test, y_test, rng=1)}\n")
