"""A mixture density network on a folded problem: one x, several y.

Seen from the side, y goes up, turns back and goes up again, so that at x near 0.5 there are
three branches. A single Gaussian smears over them; a mixture follows. Both are tested on
new data. The network is that of the paper's experiments, docs/paper/mdn.py.

    pip install 'condgof[torch]'
    python examples/mdn_folded.py
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np

import condgof as cg

sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "paper"))
from mdn import MDN, fit_mdn


def draw(n, rng):
    """Draw from the S-curve x = y + 0.3 sin(2πy) + noise, turned round: y given x."""
    y = rng.uniform(0, 1, n)
    return y + 0.3 * np.sin(2 * np.pi * y) + 0.05 * rng.standard_normal(n), y


def main(n, epochs=60):
    """Fit two models, test both, and say where the worse one fails."""
    rng = np.random.default_rng(0)
    x, y = draw(n, rng)
    logit = np.log(y / (1 - y))  # y is between 0 and 1, and the model's y on the whole line
    new_x, new_y = draw(n // 2, rng)
    new_logit = np.log(new_y / (1 - new_y))

    for components in (1, 10):
        model = fit_mdn(x, logit, components=components, epochs=epochs, rng=0)
        result = cg.adaptive(model, new_x, new_logit, n_boot=200, rng=0)
        law = model(new_x)
        fit = law.log_prob(new_logit).mean()
        print(
            f"{components:2} components: log-likelihood {fit:6.3f}, p-value"
            f" {result.pvalue:.3f}"
        )
        at = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
        u = law.normal_scores(new_logit)  # standard normal, where the model is right
        criterion = cg.power_criterion(cg.from_scores(-u), new_x, u, at=at, rng=0)
        pairs = zip(at, criterion, strict=True)
        print("   criterion: " + ", ".join(f"{c:.3f} at x = {v}" for v, c in pairs))

    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/folded.safetensors")  # no pickle: numbers and a JSON header
        again = MDN.load(f"{folder}/folded.safetensors")
    weights, means, _ = again.parts(np.array([0.5]))
    branches = 1 / (1 + np.exp(-means[0, weights[0] > 0.1, 0]))
    print("branches at x = 0.5:", np.sort(branches).round(2))


if __name__ == "__main__":
    main(n=int(os.environ.get("CONDGOF_EXAMPLE_ROWS", "2000")))
