"""
Draws without the noise
=======================

Posterior draws of the *mean* in place of draws of *y*. They agree with each
other far better than y agrees with them.
"""

import numpy as np
import pandas as pd

import condgof as cg

rng = np.random.default_rng(0)
old_x = rng.uniform(-2, 2, 2000)
old_y = 1 + old_x + 0.8 * rng.standard_normal(2000)
new = rng.uniform(-2, 2, 300)
x = pd.DataFrame({"x": new})
y = 1 + new + 0.8 * rng.standard_normal(300)

# %%
# A Bayesian line with a flat prior; its posterior is known in closed form.

design = np.column_stack([np.ones(2000), old_x])
cov = np.linalg.inv(design.T @ design)
best = cov @ design.T @ old_y
squares = np.sum((old_y - design @ best) ** 2)
sigma2 = squares / rng.chisquare(1998, 500)  # 500 draws of the variance
noise = rng.multivariate_normal([0, 0], cov, 500)
lines = best + np.sqrt(sigma2)[:, None] * noise
of_the_mean = np.column_stack([np.ones(300), new]) @ lines.T  # (300, 500)
report = cg.check(cg.from_draws(of_the_mean), x, y, rng=0)
print(report.words)

# %%
# Nearly every y lies beyond all draws:

report.plot("pit")

# %%
# **Usual causes.** Draws of the regression line (``mu`` in PyMC), predictions
# of the members of an ensemble, or dropout at test time, taken for the
# distribution of y. They tell how sure one is of the mean.
#
# **Remedy.** Posterior *predictive* draws: to each draw of the parameters add
# the noise of an observation (in PyMC ``sample_posterior_predictive``, in
# Stan ``generated quantities``).

of_y = of_the_mean + np.sqrt(sigma2) * rng.standard_normal((300, 500))
fixed = cg.check(cg.from_draws(of_y), x, y, rng=0)
print(fixed.result.pvalue_words)
print(fixed.words)

# sphinx_gallery_start_ignore
assert report.rejected
assert not fixed.rejected
# sphinx_gallery_end_ignore
