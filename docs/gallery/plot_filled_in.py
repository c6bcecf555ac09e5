"""
A value that was filled in
==========================

The model was trained on complete rows. In use some incomes are missing, and
come as 0: the model takes them for very poor people, who they are not.
"""

import numpy as np
import pandas as pd

import condgof as cg

rng = np.random.default_rng(0)


def borrowers(n):
    """Return income, 0 in a tenth of the rows, and scores of borrowers."""
    income = rng.normal(50, 12, n)
    score = 300 + 4 * income + 80 * rng.standard_normal(n)
    shown = np.where(rng.random(n) < 0.1, 0.0, income).round(1)
    return pd.DataFrame({"income": shown}), score


x, score = borrowers(800)
report = cg.check((300 + 4 * x["income"], np.full(800, 80.0)), x, score, rng=0)
print(report.words)

# %%
# The rows at 0 are no part of the cloud:

report.plot("fit", column="income")

# %%
# **Usual causes.** 0, −1, 999, the mean or the median in place of a missing
# value; a date of 1970-01-01; incomes that are top-coded.
#
# **Remedy.** A column that says whether the value was missing, so that these
# rows have a mean and a spread of their own, learned on rows of their kind.
# To see them as a group in ``check``, pass missing values as they are, with
# ``missing="level"``.

old_x, old_score = borrowers(20000)
unknown = old_score[old_x["income"] == 0]
mean = np.where(x["income"] == 0, unknown.mean(), 300 + 4 * x["income"])
std = np.where(x["income"] == 0, unknown.std(), 80.0)
fixed = cg.check((mean, std), x, score, rng=0)
print(fixed.result.pvalue_words)
print(fixed.words)

# sphinx_gallery_start_ignore
assert report.rejected
filled_in = np.flatnonzero(x["income"] == 0)
named = report.slices[0].rows
assert np.isin(filled_in, named).all()
assert len(named) <= len(filled_in) + 2
assert not fixed.rejected
# sphinx_gallery_end_ignore
