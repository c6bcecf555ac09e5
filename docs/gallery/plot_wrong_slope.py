"""
Wrong slope
===========

The model follows x too little: too low at one end, too high at the other,
right in between. Over all rows the mean is right, so that a check of the
residuals' mean sees nothing.
"""

import numpy as np
import pandas as pd

import condgof as cg

rng = np.random.default_rng(1)


def flats(n):
    """Return the size of flats, and their rent."""
    size = rng.uniform(20, 120, n)
    rent = 200 + 12 * size + 160 * rng.standard_normal(n)
    return pd.DataFrame({"size": size}), rent


x, rent = flats(500)
shrunk = 200 + 12 * 70 + 9 * (x["size"] - 70)  # a slope of 9 in place of 12
report = cg.check((shrunk, np.full(500, 180.0)), x, rent, rng=0)
print(report.words)

# %%
# The median of the model (the line) crosses the cloud:

report.plot("fit", column="size")

# %%
# Standardised residuals along x. Each box should lie between the dashed lines
# with its dot near 0; the colours mark those that are off by more than
# chance.

report.plot("column", column="size")

# %%
# **Usual causes.** Shrinkage (ridge, a strong prior, few boosting rounds,
# early stopping); noise in x at training time, which pulls slopes to 0; a
# regressor that cannot extrapolate, used beyond the x that it was trained on.
#
# **Remedy.** Regress y on the *prediction* on other rows: where that slope is
# not 1, either use it to stretch the prediction, or weaken the penalty and
# fit again. Here least squares without a penalty does it.

old_x, old_rent = flats(20000)
slope, intercept = np.polyfit(old_x["size"], old_rent, 1)
spread = np.std(old_rent - intercept - slope * old_x["size"])
fixed = cg.check(
    (intercept + slope * x["size"], np.full(500, spread)), x, rent, rng=0
)
print(f"slope {slope:.2f}: {fixed.result.pvalue_words}")
print(fixed.words)

# sphinx_gallery_start_ignore
assert report.rejected
assert not fixed.rejected
# sphinx_gallery_end_ignore
