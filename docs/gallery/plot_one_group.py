"""
One group wrong
===============

The model is right for eleven shops out of twelve. Over all rows hardly
anything shows: one row in twelve is off.
"""

import numpy as np
import pandas as pd

import condgof as cg

rng = np.random.default_rng(0)


def sales(n):
    """Return shop, temperature and sales; shop 7 sells 6 more than others."""
    shop = rng.integers(1, 13, n)
    temperature = rng.uniform(5, 30, n)
    sold = 40 + 1.5 * temperature + 6 * (shop == 7) + 6 * rng.standard_normal(n)
    names = [f"shop {i}" for i in shop]
    return pd.DataFrame({"shop": names, "temperature": temperature}), sold


x, sold = sales(1000)
model = (40 + 1.5 * x["temperature"], np.full(1000, 6.0))
report = cg.check(model, x, sold, rng=0)
print(report)

# %%
# Residuals by shop:

report.plot("column", column="shop")

# %%
# The search finds it among all slices of both columns, and its p-value is
# corrected for the search. If shops are the question that you had before you
# saw the data, ``by=`` tests each of them, corrected for their number alone:

by_shop = cg.check(model, x, sold, by="shop", rng=0)
for group in by_shop.groups[:3]:
    print(f"{group.words}: {group.findings[0].words}, p = {group.pvalue:.2g}")

# %%
# **Usual causes.** A group that was rare or absent in the training data; a
# category that was lumped into "other", or whose effect was shrunk to the
# mean; a change at one place (a new shop next door, another laboratory).
#
# **Remedy.** Give the group a term of its own, or partial pooling (a mixed
# model), with rows of that group in the training data. What is learned must
# come from other rows than those that are checked.

old_x, old_sold = sales(10000)
residual = old_sold - (40 + 1.5 * old_x["temperature"])
effect = residual.groupby(old_x["shop"]).mean()
with_effects = (model[0] + x["shop"].map(effect), model[1])
fixed = cg.check(with_effects, x, sold, by="shop", rng=0)
print(f"effect of shop 7: {effect['shop 7']:.1f}; {fixed.result.pvalue_words}")
print(fixed.words)

# sphinx_gallery_start_ignore
assert report.rejected
assert report.slices[0].words == "shop = shop 7"
assert not fixed.rejected
# sphinx_gallery_end_ignore
