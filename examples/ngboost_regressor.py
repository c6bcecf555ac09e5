"""NGBoost: a Normal and a LogNormal model of a positive, skewed y.

pip install 'condgof[ngboost]'
"""

import numpy as np
from ngboost import NGBRegressor
from ngboost.distns import LogNormal, Normal

import condgof as cg


def draw(n, rng):
    x = rng.uniform(-1.0, 1.0, (n, 2))
    return x, np.exp(1.0 + 0.5 * np.round(x[:, 0]) + 0.6 * rng.standard_normal(n))


rng = np.random.default_rng(0)
x, y = draw(1000, rng)
x_test, y_test = draw(200, rng)
for family in (Normal, LogNormal):
    fitted = NGBRegressor(
        Dist=family, n_estimators=60, learning_rate=0.05, verbose=False, random_state=0
    )
    fitted.fit(x, y)
    result = cg.adaptive(fitted, x_test, y_test, rng=0)
    print(f"{family.__name__}\n{result}\n")
