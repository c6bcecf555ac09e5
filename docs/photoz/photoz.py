"""A mixture density network of galaxies' redshifts given their colours: does it fit, and where not?

python docs/photoz/photoz.py photoz_boss_dr10.parquet OUT
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from matplotlib.figure import Figure
from scipy.stats import kstest

import condgof as cg
from condgof.models import mdn

sys.path.insert(0, str(Path(__file__).parents[1] / "paper" / "taxi"))
from misfit import Effect, Kernels


def read(path):
    """Return four colours and the magnitude in i, and the redshift; one row for each galaxy."""
    table = pq.read_table(path)
    bands = np.column_stack([table[f"MAG_{band}"].to_numpy() for band in "UGRIZ"])
    x, z = np.column_stack([-np.diff(bands, axis=1), bands[:, 3]]), table["Z"].to_numpy()
    # Magnitudes fainter than 26 are no detections.
    keep = (bands < 26).all(axis=1)
    rows = np.unique(np.column_stack([x, z])[keep], axis=0)
    order = np.random.default_rng(0).permutation(len(rows))
    return rows[order, :-1], rows[order, -1]


def examine(model, x, z, train):
    """Test a model on held-out galaxies; return its normal scores and the criterion at each."""
    law = model(x)
    u = law.normal_scores(z)
    scaled = (x - train.mean(axis=0)) / train.std(axis=0)
    effect = Effect.of(scaled, u, Kernels(2.0, 1.0, 1.0))
    result = cg.adaptive(model, x, z, n_boot=500, rng=0)
    print(f"{model}: log-likelihood {law.log_prob(z).mean():.3f}, p {result.pvalue:.4f}")
    print(f"   D {effect.value:.5f} ({effect.low:.5f} to {effect.high:.5f}), u: mean {u.mean():+.3f}, "
          f"sd {u.std():.3f}, KS {kstest(u[:, 0], 'norm').statistic:.4f}")  # fmt: skip
    at, half = scaled[:1500], cg.Gaussian(0.5)
    return u[:, 0], cg.power_criterion(
        cg.from_scores(-u),
        scaled,
        u,
        at=at,
        kernel_x=half,
        kernel_y=cg.Gaussian(1.0),
        rng=0,
    )


def draw(model, x, z, train, criterion, path):
    """Draw the criterion over two colours, and the density at three galaxies with their likes."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    axes = figure.subplots(1, 3)
    axes[0].plot(x[:, 1], z, ",", color="0.3")
    axes[0].set(
        xlim=(0, 3.2),
        ylim=(0, 1),
        xlabel="colour g − r",
        ylabel="redshift",
        title="Held-out galaxies",
    )
    image = axes[1].scatter(x[:1500, 1], x[:1500, 2], c=criterion, s=5)
    axes[1].set(xlim=(0, 3.2), ylim=(-0.2, 2), xlabel="colour g − r", ylabel="colour r − i")
    figure.colorbar(image, ax=axes[1], label="power criterion (normal scores)")
    order, grid = np.argsort(criterion), np.linspace(0, 1, 400)
    for row, colour, name in (
        (order[0], "#0072B2", "lowest"),
        (order[-1], "#D55E00", "highest"),
    ):
        near = np.argsort((((x - x[row]) / train.std(axis=0)) ** 2).sum(axis=1))[:150]
        law = model(x[near])
        density = np.mean([np.exp(law.log_prob(np.full(150, at))) for at in grid], axis=1)
        axes[1].plot(*x[row, 1:3], "^", ms=10, color=colour, mec="white")
        axes[2].plot(grid, density, color=colour, label=f"{name} criterion")
        axes[2].hist(z[near], np.linspace(0, 1, 41), density=True, color=colour, alpha=0.3)
    axes[2].set(
        xlabel="redshift", ylabel="density", title="150 galaxies alike, and the model"
    )
    axes[2].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)


def main(path, out):
    """Fit on two thirds, test on the rest."""
    x, z = read(path)
    cut = 2 * len(x) // 3
    train, held, z_held = x[:cut], x[cut:], z[cut:]
    print(f"{cut} galaxies to train on, {len(held)} held out")
    Path(out).mkdir(parents=True, exist_ok=True)
    for components in (1, 10):
        saved = Path(out) / f"mdn_{components}.safetensors"
        if not saved.is_file():
            options = {"components": components, "epochs": 100, "patience": 15, "rng": 0}
            mdn.fit_mdn(train, z[:cut], **options).save(saved)
        model = mdn.MDN.load(saved)
        u, criterion = examine(model, held, z_held, train)
    modes = model.parts(held)
    several = (np.sort(modes.weights, axis=1)[:, -2] > 0.2).mean()
    print(f"two components above 0.2 in {several:.2f} of the held-out galaxies")
    mean = model(held).mean_std()[0][:, 0]
    for low, high in ((0, 0.3), (0.3, 0.5), (0.5, 0.6), (0.6, 0.7), (0.7, 1.0)):
        part = u[(mean >= low) & (mean < high)]
        moments = f"n {len(part)}, u mean {part.mean():+.3f}, sd {part.std():.3f}"
        print(f"   expected redshift {low} to {high}: {moments}")
    draw(model, held, z_held, train, criterion, Path(out) / "photoz.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
