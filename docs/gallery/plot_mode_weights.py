"""
Wrong weights of modes
======================

Both modes are where they should be, and as wide as they should be; only how
often each comes is wrong. Tests that see a model through its score alone are
nearly blind to this: between far modes the score is the same whatever their
weights are.
"""

import numpy as np
import pandas as pd

import condgof as cg

rng = np.random.default_rng(1)


def trips(n):
    """Return hour and duration of trips: later more often by the bridge."""
    hour = rng.uniform(6, 22, n)
    bridge = rng.random(n) < (hour - 6) / 16
    minutes = 10 + 12 * bridge + 2 * rng.standard_normal(n)
    return pd.DataFrame({"hour": hour}), minutes


def mixture(share):
    """Return a model in which trips take the bridge with this probability."""
    share = np.broadcast_to(share, 600)
    weights = np.column_stack([1 - share, share])
    return cg.models.NormalMixture(weights, means=[10.0, 22.0], stds=2.0)


x, minutes = trips(600)
report = cg.check(mixture(0.5), x, minutes, rng=0)
print(report.words)

# %%
# Half of all trips take the bridge, as the model says; but few in the
# morning, and most in the evening.

report.plot("fit", column="hour")

# %%
report.plot("column", column="hour")

# %%
# The paper's test, ``kcsd``, sees the model only through its score
# :math:`\nabla_y \log p(y\mid x)`, and on the scale of y it hardly sees this.
# On normal scores, which ``check`` uses, the same statistic does
# (:doc:`/theory/normal_scores`). In 300 samples of a problem like this one
# (``condgof study --problem weights-x --n 200``) ``kcsd`` rejects
# 0.04 of the time, which is its level, and ``adaptive`` 0.96.

by_score = cg.kcsd(mixture(0.5), x, minutes, rng=0)
by_normal_score = cg.kcsd(mixture(0.5), x, minutes, standardize="cdf", rng=0)
print("by score:       ", by_score.pvalue_words)
print("by normal score:", by_normal_score.pvalue_words)

# %%
# **Usual causes.** Mixing weights that do not depend on x (a constant prior
# for the components); mixture networks whose gating saturated early; a share
# of customers, routes or species that changed since training.
#
# **Remedy.** Let the weights depend on the column that the words name.

fixed = cg.check(mixture((x["hour"] - 6) / 16), x, minutes, rng=0)
print(fixed.result.pvalue_words)
print(fixed.words)

# sphinx_gallery_thumbnail_number = 1
# sphinx_gallery_start_ignore
assert report.rejected
assert not fixed.rejected
assert not by_score.reject()
assert by_normal_score.reject()
# sphinx_gallery_end_ignore
