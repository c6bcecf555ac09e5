"""
Over-confident classifier
=========================

The most probable class is right less often than the classifier says: where it
says 0.95, it is right 7 times in 10. Accuracy and ranking (AUC) are fine, and
see nothing of it.
"""

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

import condgof as cg

rng = np.random.default_rng(0)
classes = ["cat", "dog", "owl"]
weights = rng.normal(size=(2, 3))


def pictures(n):
    """Return two features, the true logits and the class."""
    x = pd.DataFrame(rng.normal(size=(n, 2)), columns=["brightness", "size"])
    logits = 1.5 * x.to_numpy() @ weights
    up_to = softmax(logits, axis=1).cumsum(axis=1)
    label = (up_to < rng.random((n, 1))).sum(axis=1)
    return x, logits, label


x, logits, label = pictures(800)
animal = np.array(classes)[label]
network = 2.5 * logits  # of a network that was trained for too long
model = cg.probabilities(softmax(network, axis=1), classes)
report = cg.check(model, x, animal, rng=0)
print(report)

# %%
# The reliability diagram: how often the most probable class is right, against
# how sure the classifier is of it.

report.plot("reliability")

# %%
# **Usual causes.** Networks and boosting, trained on log-loss past the best
# validation round; naive Bayes with columns that say the same thing twice;
# labels that are noisier in use than in training.
#
# **Remedy.** One temperature: divide the logits by a number that is fitted on
# other rows. (Where ``check`` names a part of x, a temperature that depends
# on that column.) ``report.repair()`` does it from the outside.

_, old_logits, old_label = pictures(5000)


def log_loss(temperature):
    """Return the log loss of the network's logits at a temperature."""
    said = log_softmax(2.5 * old_logits / temperature, axis=1)
    return -said[np.arange(5000), old_label].mean()


temperature = minimize_scalar(log_loss, bounds=(0.5, 10), method="bounded").x
cooled = cg.probabilities(softmax(network / temperature, axis=1), classes)
fixed = cg.check(cooled, x, animal, rng=0)
print(f"temperature {temperature:.2f}: {fixed.result.pvalue_words}")
print(fixed.words)

# sphinx_gallery_start_ignore
assert report.rejected
assert not fixed.rejected
# sphinx_gallery_end_ignore
