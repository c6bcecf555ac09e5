"""
Interval that under-covers
==========================

A conformal 90% interval holds 90% of all rows, as promised. It promises
nothing of a part of x: here it holds nearly all rows at one end and three
quarters at the other.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

import condgof as cg

rng = np.random.default_rng(0)


def rows(n):
    """Return x, and y that scatters more where x is large."""
    x = rng.uniform(0, 3, n)
    y = np.sin(2 * x) + (0.1 + 0.3 * x) * rng.standard_normal(n)
    return pd.DataFrame({"x": x}), y


def conformal(errors):
    """Return the conformal 90% quantile of errors of held-out rows."""
    return np.sort(errors)[int(np.ceil((len(errors) + 1) * 0.9)) - 1]


x_fit, y_fit = rows(3000)
x_cal, y_cal = rows(2000)
x, y = rows(800)
forest = RandomForestRegressor(50, min_samples_leaf=30, random_state=0)
forest.fit(x_fit, y_fit)
centre = forest.predict(x)
error = np.abs(y_cal - forest.predict(x_cal))
width = conformal(error)
low = centre - width
high = centre + width
report = cg.check(cg.from_intervals(low, high, coverage=0.9), x, y, rng=0)
print(f"coverage of all rows: {np.mean(np.abs(y - centre) <= width):.3f}")
print(report.words)

# %%
# Data and intervals:

order = np.argsort(x["x"].to_numpy())
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.fill_between(x["x"].iloc[order], low[order], high[order], color="#cfe6e1")
ax.plot(x["x"], y, ".", color="#555555", ms=4)
ax.set(xlabel="x", ylabel="y")

# %%
# How many rows the interval holds, along x:

report.plot("column", column="x")

# %%
# **Usual causes.** Absolute residuals as the conformity score: one width for
# all rows. Or intervals with a width that varies, and a model that knows too
# little of where the noise is.
#
# **Remedy.** Divide the residuals by a scale that a second model learns
# (normalised or locally weighted conformal prediction), or conformalise
# quantiles (CQR). Either keeps the guarantee over all rows.

scale = RandomForestRegressor(50, min_samples_leaf=100, random_state=1)
scale.fit(x_fit, np.abs(y_fit - forest.predict(x_fit)))
width = scale.predict(x) * conformal(error / scale.predict(x_cal))
low = centre - width
high = centre + width
fixed = cg.check(cg.from_intervals(low, high, coverage=0.9), x, y, rng=0)
print(fixed.result.pvalue_words)
print(fixed.words)

# sphinx_gallery_thumbnail_number = 2
# sphinx_gallery_start_ignore
assert report.rejected
assert not fixed.rejected
# sphinx_gallery_end_ignore
