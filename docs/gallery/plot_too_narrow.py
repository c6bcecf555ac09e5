"""
Overconfident everywhere
========================

The mean is fine, and the residual SD is nearly three times the predicted SD,
everywhere: a forest whose standard deviation was taken from its own training
rows.
"""

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

import condgof as cg

rng = np.random.default_rng(0)


def rows(n):
    """Return three columns, and y, which depends on two of them."""
    x = pd.DataFrame(rng.uniform(-1, 1, (n, 3)), columns=["a", "b", "c"])
    return x, 2 * x["a"] + np.sin(3 * x["b"]) + 0.5 * rng.standard_normal(n)


old_x, old_y = rows(1500)
x, y = rows(500)
forest = RandomForestRegressor(100, oob_score=True, random_state=0)
forest.fit(old_x, old_y)
in_sample = np.std(old_y - forest.predict(old_x))
report = cg.check((forest.predict(x), np.full(500, in_sample)), x, y, rng=0)
print(report.words)

# %%
# A PIT with high ends and an empty middle: y falls far out again and again.

report.plot("pit")

# %%
# **Usual causes.** Residuals of training rows. A forest, a booster or a
# network follows their noise, and what is left is too small. Also draws of
# the mean without the noise of an observation
# (:doc:`plot_draws_without_noise`).
#
# **Remedy.** Take the spread from rows that were held out: out-of-bag
# predictions, cross-validation (:func:`condgof.crossfit`) or a validation
# set. Weak evidence is left, of no single effect.

out_of_bag = np.std(old_y - forest.oob_prediction_)
fixed = cg.check((forest.predict(x), np.full(500, out_of_bag)), x, y, rng=0)
print(f"in sample {in_sample:.2f}, out of bag {out_of_bag:.2f}")
print(fixed.result.pvalue_words)
print(fixed.words)
print(f"before: {report.effect.words}\nnow:    {fixed.effect.words}")

# sphinx_gallery_start_ignore
assert report.rejected
assert [effect.name for effect in report.effects] == ["spread overall"]
assert fixed.pvalue > 0.01
assert not fixed.effects
assert fixed.effect.interval.estimate < 0.25 * report.effect.interval.estimate
# sphinx_gallery_end_ignore
