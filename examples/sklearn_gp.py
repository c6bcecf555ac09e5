"""A Gaussian process of scikit-learn: does it predict the density of y, or only its mean?

    pip install 'condgof[sklearn]'

The noise of these data grows with x, and the Gaussian process believes that it is the same
everywhere.
"""

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import condgof as cg


def draw(n, rng, *, grows):
    x = rng.uniform(0.0, 4.0, (n, 1))
    noise = 0.1 + 0.15 * x[:, 0] if grows else 0.4
    return x, np.sin(2.0 * x[:, 0]) + noise * rng.standard_normal(n)


rng = np.random.default_rng(0)
for grows in (False, True):
    x, y = draw(1000, rng, grows=grows)
    process = GaussianProcessRegressor(1.0 * RBF(0.5) + WhiteKernel(0.1))
    fitted = make_pipeline(StandardScaler(), process).fit(x, y)

    # Test on rows that the model was not fitted on, and on fewer: a test on as many would
    # find the error of the estimates, which is there in every fitted model.
    x_test, y_test = draw(100, rng, grows=grows)
    result = cg.adaptive(fitted, x_test, y_test, rng=0)
    print(
        f"noise that {'grows' if grows else 'is the same'}: Gaussian process, p ="
        f" {result.pvalue:.3f}"
    )

# A regressor without error bars needs a residual scale; out-of-fold residuals give an
# honest one.
forest = RandomForestRegressor(100, min_samples_leaf=5, random_state=0)
model = cg.models.residual_scale_by_cv(forest, x, y, rng=0)
print(f"the same noise for a random forest (std {model.std[0]:.2f}):")
print(cg.adaptive(model, x_test, y_test, rng=0))
