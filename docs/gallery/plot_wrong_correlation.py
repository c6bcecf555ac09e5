"""
Wrong correlation of two outputs
================================

Two columns of y, each predicted well by itself. That they go together is
missing from the model, so that events that need both (a storm *and* a high
tide) get a wrong probability.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import condgof as cg

rng = np.random.default_rng(0)


def days(n):
    """Return the season, and wind and tide, high and low together."""
    season = rng.uniform(-1, 1, n)
    noise = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], n)
    both = np.column_stack([2 * season, season]) + noise
    return pd.DataFrame({"season": season}), both


x, both = days(500)
y = pd.DataFrame(both, columns=["wind", "tide"])
mean = np.column_stack([2 * x["season"], x["season"]])
report = cg.check(cg.normal(mean=mean, std=1.0), x, y, rng=0)
print(report)

# %%
# Each output by itself is as it should be:

report.plot("pit", y=0)

# %%
# Their residuals together are not:

z = report.frame()[["z_wind", "z_tide"]]
fig, ax = plt.subplots(figsize=(4.5, 4.5), layout="constrained")
ax.plot(z["z_wind"], z["z_tide"], ".", color="#555555", ms=4)
ax.set(xlabel="residual of wind", ylabel="residual of tide", aspect="equal")

# %%
# **Usual causes.** One model for each output; a network with a diagonal
# covariance; intervals that were calibrated column by column.
#
# **Remedy.** A full covariance (estimated from residuals of other rows), a
# copula on top of the marginals, or one column given the others.

old_x, old_both = days(5000)
residual = old_both - np.column_stack([2 * old_x["season"], old_x["season"]])
fixed = cg.check(cg.normal(mean=mean, cov=np.cov(residual.T)), x, y, rng=0)
correlation = np.corrcoef(residual.T)[0, 1]
print(f"correlation {correlation:.2f}: {fixed.result.pvalue_words}")
print(fixed.words)

# sphinx_gallery_thumbnail_number = 2
# sphinx_gallery_start_ignore
assert report.rejected
assert not fixed.rejected
# sphinx_gallery_end_ignore
