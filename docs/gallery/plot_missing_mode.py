"""
Missing mode
============

At each x there are two likely values and nothing in between; the model has
one peak, where hardly any data lie. Mean and standard deviation are right.
"""

import numpy as np
import pandas as pd

import condgof as cg

rng = np.random.default_rng(0)


def trips(n):
    """Return distance and duration: half by the tunnel, half by the bridge."""
    km = rng.uniform(2, 10, n)
    bridge = rng.random(n) < 0.5
    minutes = 3 * km + 12 * bridge + 2 * rng.standard_normal(n)
    return pd.DataFrame({"km": km}), minutes


x, minutes = trips(600)
one_peak = (3 * x["km"] + 6, np.full(600, np.hypot(6, 2)))
report = cg.check(one_peak, x, minutes, rng=0)
print(report)

# %%
# The 50% interval holds far too few rows and the 90% interval too many: both
# the middle and the ends of the model are empty.
#
# Two ridges, with the model's median between them:

report.plot("fit", column="km")

# %%
# The PIT has two humps. A single normal model that is too wide has one in the
# middle.

report.plot("pit")

# %%
# **Usual causes.** Something that takes few values and is not in x: which
# route, which machine, which sex, which of two products. Or a problem that
# has two answers, such as the position of a joint given where the hand is.
#
# **Remedy.** Best, the missing column. Without it, a mixture: a mixture
# density network, a flow, a regression with latent classes.

mixture = cg.models.NormalMixture(
    weights=[0.5, 0.5],
    means=np.column_stack([3 * x["km"], 3 * x["km"] + 12]),
    stds=2.0,
)
fixed = cg.check(mixture, x, minutes, rng=0)
print(fixed.result.pvalue_words)
print(fixed.words)

# sphinx_gallery_thumbnail_number = 2
# sphinx_gallery_start_ignore
assert report.rejected
assert not fixed.rejected
# sphinx_gallery_end_ignore
