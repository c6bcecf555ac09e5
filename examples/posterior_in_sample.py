"""A hierarchical posterior, sampled by Gibbs, checked on the rows that it was fitted to."""

import arviz_base as az
import numpy as np

import condgof as cg

rng = np.random.default_rng(0)
schools, pupils = 12, 15
school = np.repeat(np.arange(schools), pupils)
hours = rng.uniform(0, 4, len(school))
level = rng.normal(0.0, 1.0, schools)


def gibbs(y, draws=3000, warm=500):
    """Sample y = level[school] + b·hours + ε, level ~ N(a, τ²), with flat priors."""
    levels, b, a, tau2, s2 = np.zeros(schools), 0.0, 0.0, 1.0, 1.0
    kept = {"mu": [], "sd": []}
    for step in range(warm + draws):
        rest = y - b * hours
        precision = pupils / s2 + 1 / tau2
        mean = (np.bincount(school, rest) / s2 + a / tau2) / precision
        levels = mean + rng.standard_normal(schools) / np.sqrt(precision)
        rest = y - levels[school]
        total = hours @ hours
        b = hours @ rest / total + np.sqrt(s2 / total) * rng.standard_normal()
        a = levels.mean() + np.sqrt(tau2 / schools) * rng.standard_normal()
        tau2 = np.sum((levels - a) ** 2) / rng.chisquare(schools - 1)
        mu = levels[school] + b * hours
        s2 = np.sum((y - mu) ** 2) / rng.chisquare(len(y))
        if step >= warm:
            kept["mu"].append(mu)
            kept["sd"].append(np.sqrt(s2))
    mu, sd = np.array(kept["mu"]), np.array(kept["sd"])[:, None]
    groups = {
        "posterior_predictive": mu + sd * rng.standard_normal(mu.shape),
        "log_likelihood": -0.5 * ((y - mu) / sd) ** 2 - np.log(sd),
    }
    groups = {name: {"mark": values[None]} for name, values in groups.items()}
    return az.from_dict({**groups, "observed_data": {"mark": y}})


x = np.column_stack([hours, school])
right = level[school] + 0.5 * hours + rng.standard_normal(len(school))
bent = right + 0.6 * (hours - 2.0) ** 2
for name, y in (("right", right), ("bent", bent)):
    report = cg.check(gibbs(y), x, y, rng=0)
    print(f"{name}: {report.words}")
    for note in report.notes:
        print("  note:", note)
    assert report.rejected == (name == "bent")
