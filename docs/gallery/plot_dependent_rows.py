"""
No misfit: rows that depend on each other
=========================================

Mean, spread and shape are right, and still the check rejects: errors last
from one hour to the next, and the test takes rows for independent. ``check``
warns where it shows.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import condgof as cg

rng = np.random.default_rng(3)
hours = 600
daily = np.sin(np.arange(hours) * 2 * np.pi / 24)
temperature = 15 + 8 * daily + rng.standard_normal(hours)
error = rng.standard_normal(hours)
for t in range(1, hours):
    error[t] = 0.85 * error[t - 1] + np.sqrt(1 - 0.85**2) * error[t]
x = pd.DataFrame({"temperature": temperature})
load = 50 - temperature + 3 * error
model = (50 - x["temperature"], np.full(hours, 3.0))

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    report = cg.check(model, x, load, rng=0)
print(report.result.pvalue_words)
print(report.words)
print("Warning:", caught[0].message)

# %%
# Residuals in the order of time wander; they should jump about.

fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.plot(report.frame()["z"].iloc[:200], lw=1)
ax.axhline(0, color="grey", lw=1)
ax.set(xlabel="hour", ylabel="standardised residual")

# %%
# **Usual causes.** Time series, repeated measurements of one patient,
# neighbours in space.
#
# **Remedy.** Say so: ``dependence=`` (a block length, or ``"auto"``) for rows
# in order of time, ``groups=`` for rows that come in groups. The statistic
# stays the same, and its null distribution is that of blocks.

fixed = cg.check(model, x, load, dependence=40, rng=0)
print(fixed.result.pvalue_words)
print(fixed.words)

# %%
# Or use what the errors tell: a model of the next hour given the last
# residual predicts better, and its errors are independent.

last = np.append(0, error[:-1])
mean = 50 - x["temperature"] + 2.55 * last
std = 3 * np.sqrt(1 - 0.85**2)
sharper = (mean, np.full(hours, std))
better = cg.check(sharper, x.assign(last_residual=last), load, rng=0)
print(better.result.pvalue_words)

# sphinx_gallery_start_ignore
assert report.rejected
assert not fixed.rejected
assert not better.rejected
# sphinx_gallery_end_ignore
