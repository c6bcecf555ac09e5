"""
Skewed noise
============

Mean and standard deviation are right at every x, and yet the shape is not:
the data have a long tail on one side, and the normal distribution has the
same on both.
"""

import numpy as np
import pandas as pd

import condgof as cg

rng = np.random.default_rng(0)


def repairs(n):
    """Return the age of machines, and costs of repair, lognormal given age."""
    age = rng.uniform(0, 10, n)
    cost = np.exp(5 + 0.1 * age + 0.5 * rng.standard_normal(n))
    return pd.DataFrame({"age": age}), cost


x, cost = repairs(600)
location = 5 + 0.1 * x["age"]
sigma = 0.5
mean = np.exp(location + sigma**2 / 2)
report = cg.check((mean, mean * np.sqrt(np.exp(sigma**2) - 1)), x, cost, rng=0)
print(report.words)

# %%
# Most points lie below the middle of the band, and the few far out all lie
# above it.

report.plot("fit", column="age")

# %%
# The PIT: too much below the middle, too little above, and hardly anything at
# the lower end, where the normal distribution still expects rows.

report.plot("pit")

# %%
# **Usual causes.** A normal likelihood (squared error) for amounts, prices,
# durations, rainfall: whatever cannot be negative and is multiplied rather
# than added up.
#
# **Remedy.** Model log y, or take a family with that shape: lognormal, Gamma,
# a skew-normal. A normal model of log y is a lognormal model of y.

fixed = cg.check(cg.models.LogNormal(mu=location, sigma=sigma), x, cost, rng=0)
print(fixed.result.pvalue_words)
print(fixed.words)

# sphinx_gallery_start_ignore
assert report.rejected
assert not fixed.rejected
# sphinx_gallery_end_ignore
