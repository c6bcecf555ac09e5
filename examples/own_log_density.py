"""Your own log-density, up to a constant that may depend on x: nothing else is needed.

Speeds of cars y given the wetness of the road x. The model says p(y|x) ∝ exp(-|y - v(x)|³):
flatter at the top than a normal and with lighter tails. Nobody has to integrate it to 1.
"""

import os

import numpy as np

import condgof as cg

n = int(os.environ.get("CONDGOF_EXAMPLE_ROWS", 1500))
rng = np.random.default_rng(0)
x = rng.uniform(0, 1, n)


def log_prob(y, x):
    return -(np.abs(y - (6 - 2 * x)) ** 3)


def draw(centre):
    """Draw from exp(-|y - centre|³): |y - centre|³ has a Gamma(1/3) distribution."""
    return centre + rng.choice([-1, 1], n) * rng.gamma(1 / 3, 1.0, n) ** (1 / 3)


model = cg.from_log_prob(log_prob)  # called by name: (y, x) or (x, y)
samples = {
    "speeds as the model has them": draw(6 - 2 * x),
    "drivers who slow down only on very wet roads": draw(6 - 4 * np.maximum(x - 0.5, 0)),
}
for name, y in samples.items():
    result = cg.kcsd(model, x, y, rng=1)
    print(
        f"{name}: p-value {result.pvalue:.4f}",
        "(rejected)" if result.reject() else "(fits)",
    )

at = np.linspace(0, 1, 5)
print("where the last one fails (power criterion at x = 0, ¼, ½, ¾, 1):")
print(cg.power_criterion(model, x, y, at=at).round(2))
