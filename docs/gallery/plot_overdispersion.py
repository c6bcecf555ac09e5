"""
Over-dispersed counts
=====================

The mean is right, and counts vary more around it than a Poisson distribution
can: more zeros *and* more large counts.
"""

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf

import condgof as cg

rng = np.random.default_rng(0)


def claims(n):
    """Return experience and claims; drivers differ by more than experience."""
    frame = pd.DataFrame({"years": rng.uniform(0, 20, n)})
    own = rng.gamma(1 / 0.6, 0.6, n)  # of mean 1 and variance 0.6
    mean = np.exp(1.2 - 0.05 * frame["years"]) * own
    return frame.assign(claims=rng.poisson(mean))


old = claims(3000)
new = claims(400)
poisson = smf.poisson("claims ~ years", old).fit(disp=False)
report = cg.check(poisson, new[["years"]], new["claims"], rng=0)
print(report.words)

# %%
report.plot("rootogram")

# %%
# More zeros and more large counts than expected, and fewer in the middle:
# that is over-dispersion. Under zero inflation (:doc:`plot_zero_inflation`)
# it is the ones and twos, right beside the zeros, that are missing.
#
# **Usual causes.** Rows differ by something that is not in x (drivers, wards,
# sites); events that come in clusters.
#
# **Remedy.** The negative binomial, whose variance is :math:`\mu +
# \alpha\mu^2`. A quasi-Poisson model mends standard errors of coefficients,
# and says nothing of the distribution of counts.

negative_binomial = smf.negativebinomial("claims ~ years", old).fit(disp=False)
fixed = cg.check(negative_binomial, new[["years"]], new["claims"], rng=0)
dispersion = negative_binomial.params["alpha"]
print(f"alpha {dispersion:.2f}: {fixed.result.pvalue_words}")
print(fixed.words)

# sphinx_gallery_start_ignore
assert report.rejected
assert not fixed.rejected
# sphinx_gallery_end_ignore
