"""
Wrong mean
==========

The data lie above the model everywhere, by about the same amount. The scatter
and its dependence on x are right.
"""

import numpy as np

import condgof as cg

rng = np.random.default_rng(0)


def days(n):
    """Return forecasts, and a thermometer that shows 0.6 degrees more."""
    forecast = rng.uniform(5.0, 15.0, n)
    return forecast, forecast + 0.6 + 1.5 * rng.standard_normal(n)


forecast, measured = days(400)
report = cg.check((forecast, np.full(400, 1.5)), forecast, measured, rng=0)
print(report)

# %%
# The points lie high in a band of the right width and slope:

report.plot("fit")

# %%
# The PIT :math:`F(y\mid x)` says how much of the model's distribution lies
# below each y. It should be uniform; here it rises from left to right,
# because most y lie in the upper half of what the model expects.

report.plot("pit")

# %%
# **Usual causes.** Units or a baseline changed after the model was trained
# (drift, a new instrument). A model of log y that is turned back by exp
# predicts the median, which is below the mean. A forest or a booster that was
# trained on other prices, another year, another site.
#
# **Remedy.** Learn the offset on other rows and add it; if the cause is
# drift, train again and put a :func:`monitor <condgof.monitor>` on the model.

old_forecast, old_measured = days(2000)
offset = np.mean(old_measured - old_forecast)
fixed = cg.check(
    (forecast + offset, np.full(400, 1.5)), forecast, measured, rng=0
)
print(f"offset {offset:.2f}: {fixed.result.pvalue_words}")
print(fixed.words)

# sphinx_gallery_thumbnail_number = 2
# sphinx_gallery_start_ignore
assert report.rejected
assert not fixed.rejected
# sphinx_gallery_end_ignore
