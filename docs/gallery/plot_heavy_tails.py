"""
Heavy tails
===========

Most rows are closer to the prediction than the model says, and a few are much
further away. Mean and standard deviation are right; a forecast of rare events
made from this model is not.
"""

import numpy as np
import pandas as pd
from scipy import stats

import condgof as cg

rng = np.random.default_rng(0)


def days(n):
    """Return the trend of a market, and the next day's return with t₃ noise."""
    trend = rng.standard_normal(n)
    returns = 0.1 * trend + 0.6 * rng.standard_t(3, n)
    return pd.DataFrame({"trend": trend}), returns


old_x, old_returns = days(5000)
x, returns = days(800)
spread = np.std(old_returns - 0.1 * old_x["trend"])
report = cg.check((0.1 * x["trend"], np.full(800, spread)), x, returns, rng=0)
print(report)

# %%
# The PIT has a hump in the middle. By itself it would say "too wide": the
# rows far out are too few to show as a bar.

report.plot("pit")

# %%
# Here they are, marked where they lie. The two pictures together are what
# heavy tails look like.

report.plot("fit", column="trend")

# %%
# **Usual causes.** Returns, claims, sensor faults, latencies; or a mixture:
# mostly small errors, now and then a large one. First look at the wild rows
# themselves: if they are errors in the data, mend the data.
#
# **Remedy.** A Student t in place of the normal, its degrees of freedom
# fitted, or a mixture with a wide component.

df, _, scale = stats.t.fit(old_returns - 0.1 * old_x["trend"], floc=0)
student = cg.models.StudentT(df=df, loc=0.1 * x["trend"], scale=scale)
fixed = cg.check(student, x, returns, rng=0)
print(f"{df:.1f} degrees of freedom: {fixed.result.pvalue_words}")
print(fixed.words)

# sphinx_gallery_start_ignore
assert report.rejected
assert not fixed.rejected
# sphinx_gallery_end_ignore
