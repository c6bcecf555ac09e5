"""
Spread that depends on x
========================

One standard deviation for all rows, where the data scatter little at one end
and much at the other. The 90% interval may still hold 90% of all rows: too
many at one end, too few at the other.
"""

import numpy as np
import pandas as pd

import condgof as cg

rng = np.random.default_rng(0)


def households(n):
    """Return income, and spending on food, which scatters among the rich."""
    income = rng.uniform(1, 6, n)
    food = 1 + 0.4 * income + 0.12 * income * rng.standard_normal(n)
    return pd.DataFrame({"income": income}), food


old_x, old_food = households(5000)
x, food = households(600)
line = np.polynomial.Polynomial.fit(old_x["income"], old_food, 1)
residual = old_food - line(old_x["income"])
std = np.full(600, np.std(residual))
report = cg.check((line(x["income"]), std), x, food, rng=0)
print(report.words)

# %%
report.plot("fit", column="income")

# %%
# The boxes hold the middle 80% of standardised residuals; they should all be
# as tall as the dashed lines are apart.

report.plot("column", column="income")

# %%
# **Usual causes.** A model that was trained for its mean (squared error) and
# given one standard deviation afterwards. The spread of amounts, prices,
# counts and waiting times nearly always grows with their mean.
#
# **Remedy.** Predict the spread too: here a second regression, of the
# logarithm of the squared residuals. Or model log y, or take a family whose
# spread grows with its mean (Gamma, lognormal).

logs = np.log(old_x["income"]), np.log(residual**2)
log_square = np.polynomial.Polynomial.fit(*logs, 1)
log_variance = log_square(np.log(x["income"])) + 1.27  # E log χ²₁ = −1.27
spread = np.exp(0.5 * log_variance)
fixed = cg.check((line(x["income"]), spread), x, food, rng=0)
print(fixed.result.pvalue_words)
print(fixed.words)

# sphinx_gallery_start_ignore
assert report.rejected
assert not fixed.rejected
# sphinx_gallery_end_ignore
