"""Posterior predictive draws, as of PyMC, NumPyro or Stan: is the noise predicted?

    pip install condgof

A Bayesian linear regression has its posterior in closed form, so that this example needs no
sampler. With PyMC pass the result of ``pm.sample_posterior_predictive`` as it is:
``cg.check(idata, x, y)``.
"""

import numpy as np

import condgof as cg


def posterior_predictive(x, y, x_new, draws, rng):
    """Draw (rows, draws) from the posterior predictive of a line with flat priors."""
    X, new = (np.column_stack([np.ones(len(v)), v]) for v in (x, x_new))
    beta, _, _, _ = np.linalg.lstsq(X, y, rcond=None)
    left = len(y) - 2
    sigma = np.sqrt(np.sum((y - X @ beta) ** 2) / rng.chisquare(left, draws))
    root = np.linalg.cholesky(np.linalg.inv(X.T @ X))
    betas = beta[:, None] + sigma * (root @ rng.normal(size=(2, draws)))
    return new @ betas + sigma * rng.normal(size=(len(new), draws))


rng = np.random.default_rng(0)
worlds = {
    "a straight line": lambda x: 1 + 2 * x + rng.normal(size=len(x)),
    "noise that grows with x": lambda x: (
        1 + 2 * x + (0.4 + 0.6 * x) * rng.normal(size=len(x))
    ),
}
for name, world in worlds.items():
    x, x_new = rng.uniform(0, 2, 1500), rng.uniform(0, 2, 400)
    y, y_new = world(x), world(x_new)
    law = cg.from_draws(posterior_predictive(x, y, x_new, 200, rng))
    print(f"{name}:\n{cg.check(law, x_new, y_new, rng=1)}\n")
