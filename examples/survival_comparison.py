"""Two models of censored times: which predicts better, and does the better one fit?"""

import numpy as np
from lifelines import CoxPHFitter, WeibullAFTFitter
from lifelines.datasets import load_gbsg2

import condgof as cg

women = load_gbsg2()  # days until breast cancer came back, for 56% not yet
train, test = women[::2], women[1::2]
x, days, event = test[["age", "tsize", "pnodes", "horTh"]], test["time"], test["cens"]

poor = WeibullAFTFitter().fit(train, "time", "cens", formula="age + tsize")
formula = "tsize + np.log(pnodes) + horTh"
good = WeibullAFTFitter().fit(train, "time", "cens", formula=formula)
cox = CoxPHFitter().fit(train, "time", "cens", formula=formula)

models = {"poor": poor, "good": good, "cox": cox}
found = cg.rank(models, x, days, event=event, rng=0)
print(found)
assert found.names[-1] == "poor"

report = cg.check(good, x, days, event=event, rng=0)
print(report.words)
print(report.scores)
assert np.isfinite(report.scores.scores[0].mean)
