"""
Missing interaction
===================

The mean is wrong only where two columns meet. Along each column by itself
residuals average out to nothing, so that plots of residuals against one
column at a time show nothing at all.
"""

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

import condgof as cg

rng = np.random.default_rng(2)


def patients(n):
    """Return dose and age, and a response: the drug works best in the young."""
    dose = rng.uniform(0, 10, n)
    age = rng.uniform(20, 80, n)
    both = 0.012 * (dose - 5) * (age - 50)
    response = 0.5 * dose + 0.03 * age - both + rng.standard_normal(n)
    return pd.DataFrame({"dose": dose, "age": age}), response


def with_product(x):
    """Add the product of the columns."""
    return x.assign(both=x["dose"] * x["age"])


old_x, old_response = patients(20000)
x, response = patients(800)
additive = LinearRegression().fit(old_x, old_response)
spread = np.std(old_response - additive.predict(old_x))
model = (additive.predict(x), np.full(800, spread))
report = cg.check(model, x, response, rng=0)
print(report.words)

# %%
# A map of the mean residual over two columns. The corners are blue and orange
# in turn, so that along each column by itself they cancel.

report.plot("map", columns=("dose", "age"))

# %%
# **Usual causes.** An additive model (linear regression, most GAMs, boosting
# with stumps) of an effect that depends on another column: a drug and age,
# price and season, distance and time of day.
#
# **Remedy.** The product of the two columns, or trees of depth two and more.
# The words name the columns.

crossed = LinearRegression().fit(with_product(old_x), old_response)
spread = np.std(old_response - crossed.predict(with_product(old_x)))
model = (crossed.predict(with_product(x)), np.full(800, spread))
fixed = cg.check(model, x, response, rng=0)
print(fixed.result.pvalue_words)
print(fixed.words)

# sphinx_gallery_start_ignore
assert report.rejected
assert not fixed.rejected
# sphinx_gallery_end_ignore
