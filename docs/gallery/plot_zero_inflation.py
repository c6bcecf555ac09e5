"""
Zero inflation
==============

Counts with more zeros than a Poisson distribution of the same mean has, and
fewer ones and twos.
"""

import numpy as np
import pandas as pd
from statsmodels.discrete.count_model import ZeroInflatedPoisson
from statsmodels.discrete.discrete_model import Poisson
from statsmodels.tools import add_constant

import condgof as cg

rng = np.random.default_rng(0)


def visits(n):
    """Return age and visits to a doctor; a third of the people never go."""
    age = rng.uniform(-1, 1, n)  # in units of 30 years around 50
    goes = rng.random(n) < 0.67
    visits = np.where(goes, rng.poisson(np.exp(0.9 + 0.6 * age)), 0)
    return pd.DataFrame({"age": age}), visits


old_x, old_count = visits(3000)
x, count = visits(600)
poisson = Poisson(old_count, add_constant(old_x)).fit(disp=False)
mean = poisson.predict(add_constant(x))
report = cg.check(cg.models.Poisson(mean=mean), x, count, rng=0)
print(report)

# %%
# The rootogram: bars hang from what the model expects of each count (on the
# scale of square roots), and should end on the line.

report.plot("rootogram")

# %%
# **Usual causes.** Two kinds of rows: some that cannot have an event
# (non-smokers, empty traps, closed shops), and others that can and have none.
#
# **Remedy.** A zero-inflated or hurdle model, if needed with a regression of
# its own for the zeros. First see whether a column tells who cannot have an
# event: then that column belongs into x.

inflated = ZeroInflatedPoisson(old_count, add_constant(old_x))
fitted = inflated.fit(disp=False, maxiter=200).params
never = 1 / (1 + np.exp(-fitted["inflate_const"]))
mean = np.exp(fitted["const"] + fitted["age"] * x["age"])
model = cg.models.ZeroInflatedPoisson(mean=mean, inflation=never)
fixed = cg.check(model, x, count, rng=0)
print(f"extra zeros {never:.2f}: {fixed.result.pvalue_words}")
print(fixed.words)

# sphinx_gallery_start_ignore
assert report.rejected
assert not fixed.rejected
# sphinx_gallery_end_ignore
