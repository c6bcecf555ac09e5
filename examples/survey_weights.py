"""A survey with weights: where a model is wrong, and how many people that is.

    pip install condgof

Half of the interviews were in the country, where one person of ten lives. The model of
income is right in towns and too narrow in the country.
"""

import os

import numpy as np

import condgof as cg
from condgof.sample import effective_rows

rng = np.random.default_rng(1)
n = int(os.environ.get("CONDGOF_EXAMPLE_ROWS", 2000))

rural = rng.random(n) < 0.5
age = rng.uniform(20, 80, n)
people = np.where(rural, 1.0, 9.0)  # for how many people an interview stands
income = 0.02 * age + np.where(rural, 2.0, 1.0) * rng.standard_normal(n)

x = np.column_stack([age, rural])
model = 0.02 * age, np.ones(n)

for name, weights in (("interviews", None), ("people", people)):
    report = cg.check(model, x, income, weights=weights, tolerance="0.05 nats", rng=0)
    count = n if weights is None else effective_rows(weights)
    print(f"{name} ({count:,.0f} rows in effect): {report.words}")
    print(f"  {report.tolerance.words}")
    print(f"  {report.scores.scores[0].words}")

# A better model of the people need not be one of the interviews.
wide = 0.02 * age, np.full(n, 1.3)
for name, weights in (("interviews", None), ("people", people)):
    found = cg.compare(
        model, wide, x, income, names=("narrow", "wide"), weights=weights, rng=0
    )
    print(f"{name}: {found.verdict}")
