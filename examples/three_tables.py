"""Three public tables: what a check reports, and the same numbers by a line of pandas.

    pip install 'condgof[sklearn,statsmodels]'

One half of the rows trains, up to 3,000 others are checked. (Rows of "randhie" are years of
people, who have no number there, so that its p-values are somewhat too small; else
``groups="person"``.)
"""

import numpy as np
import statsmodels.formula.api as smf
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from statsmodels.datasets import fair, randhie

import condgof as cg

PLAIN = {  # each kind of number on some rows of report.frame()
    "class": lambda rows, f: (rows.affair == f.label).mean(),
    "confidence": lambda rows, f: (rows.affair == rows.predicted).mean(),
    "zeros": lambda rows, f: (rows.mdvis == 0).mean(),
    "shift": lambda rows, f: rows["residual" if "residual" in rows else "z"].mean(),
    "spread": lambda rows, f: middle_half(rows.z) if "residual" in rows else rows.z.std(),
    "skew": lambda rows, f: (rows.pit > 0.95).mean() - (rows.pit < 0.05).mean(),
    "tails": lambda rows, f: (abs(rows.z) > 2.5758).mean(),
    "coverage": (
        lambda rows, f: (abs(rows.z) <= {"50%": 0.67449, "90%": 1.64485}[f.label]).mean()
    ),
}


def middle_half(z):
    """The width of the middle half of z, over that of a normal law: for counts."""
    return np.ptp(z.quantile([0.25, 0.75])) / (2 * 0.6744897501960817)


def halves(table, y):
    order, half = np.random.default_rng(0).permutation(len(table)), len(table) // 2
    return (
        table.iloc[order[:half]],
        table.iloc[order[half:][:3000]],
        list(table.columns.drop(y)),
    )


def tell(name, report):
    print(f"\n{name}\n{report.words}")
    for part in report.slices:
        frame = report.frame()
        rows = frame.query(part.query)
        plain = [PLAIN[f.kind](rows, f) for f in part.findings]
        assert list(rows.index) == list(frame.index[part.rows])
        assert np.allclose(plain, [f.estimate for f in part.findings])
        print(f"- {part.words} ({part.n} rows): {part.message}")
        print(f"  pandas: {plain[0]:.4f} on the {len(rows)} rows of .query({part.query!r})")


a, b, x = halves(fair.load_pandas().data, "affairs")
fit = smf.logit(f"I(1 * (affairs > 0)) ~ {' + '.join(x)}", a).fit(disp=0)
law = cg.probabilities(fit.predict(b).to_numpy(), ["no", "yes"])
affair = b.affairs.gt(0).map({False: "no", True: "yes"}).rename("affair")
tell("fair: an affair? Logistic regression", cg.check(law, b[x], affair, rng=0))

a, b, x = halves(
    randhie.load_pandas().data, "mdvis"
)  # 10.57626 diseases: a number that was filled in?
fit = smf.negativebinomial(f"mdvis ~ {' + '.join(x)}", a).fit(disp=0, maxiter=200)
tell("randhie: visits to a doctor. Negative binomial", cg.check(fit, b[x], b.mdvis, rng=0))

a, b, x = halves(load_diabetes(as_frame=True, scaled=False).frame, "target")
forest = RandomForestRegressor(200, random_state=0, oob_score=True).fit(a[x], a.target)
for how, fitted in {
    "training": forest.predict(a[x]),
    "out-of-bag": forest.oob_prediction_,
}.items():
    law = (forest.predict(b[x]), np.full(len(b), np.std(a.target - fitted)))
    tell(
        f"diabetes: forest, one spread from {how} residuals",
        cg.check(law, b[x], b.target, rng=0),
    )
