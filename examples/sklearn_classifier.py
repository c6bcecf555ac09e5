"""Is a classifier calibrated? Naive Bayes counts correlated columns twice."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import condgof as cg


def data(n, rng):
    """Two classes, and three columns that say nearly the same."""
    signal = rng.normal(size=n)
    x = signal[:, None] + 0.3 * rng.normal(size=(n, 3))
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * signal)), "ill", "well")
    return x, y


def main():
    rng = np.random.default_rng(0)
    x, y = data(20_000, rng)
    new_x, new_y = data(1000, rng)  # never test on the rows that a model was fitted on
    for classifier in (GaussianNB(), LogisticRegression()):
        classifier.fit(x, y)
        print(type(classifier).__name__)
        print(cg.calibration(classifier, new_x, new_y, rng=1))
        print()


if __name__ == "__main__":
    main()
