"""
Missing curvature
=================

A straight line through a curve: too high in the middle, too low at both ends
(or the other way round). The least-squares line has a mean error of 0 and no
correlation with x, so that neither shows it.
"""

import numpy as np
import pandas as pd

import condgof as cg

rng = np.random.default_rng(0)


def people(n):
    """Return age, and the log of the wage, which rises and then falls."""
    age = rng.uniform(20, 65, n)
    wage = 3.2 - 0.0006 * (age - 48) ** 2 + 0.3 * rng.standard_normal(n)
    return pd.DataFrame({"age": age}), wage


def fitted(degree):
    """Fit a polynomial to training rows; return mean and std at new rows."""
    curve = np.polynomial.Polynomial.fit(old_x["age"], old_wage, degree)
    spread = np.std(old_wage - curve(old_x["age"]))
    return curve(x["age"]), np.full(len(x), spread)


old_x, old_wage = people(5000)
x, wage = people(600)
report = cg.check(fitted(degree=1), x, wage, rng=0)
print(report.words)

# %%
report.plot("fit", column="age")

# %%
# Residuals along age bend: that is the picture to look for.

report.plot("column", column="age")

# %%
# **Usual causes.** A linear model of something that saturates, peaks or grows
# exponentially; a link function that does not fit.
#
# **Remedy.** A square or a spline of that column, a transform of x or y, or a
# learner that bends by itself.

fixed = cg.check(fitted(degree=2), x, wage, rng=0)
print(fixed.result.pvalue_words)
print(fixed.words)

# sphinx_gallery_start_ignore
assert report.rejected
assert not fixed.rejected
# sphinx_gallery_end_ignore
