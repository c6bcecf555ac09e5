"""A mixture density network of galaxies' redshifts given their colours: does it fit?

python docs/photoz/photoz.py photoz_boss_dr10.parquet OUT
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from matplotlib.figure import Figure
from scipy.stats import kstest

import condgof as cg

sys.path.insert(0, str(Path(__file__).parents[1] / "paper"))
sys.path.insert(0, str(Path(__file__).parents[1] / "paper" / "taxi"))
from mdn import MDN, fit_mdn
from misfit import Effect, Kernels

#: A magnitude of this or more is no detection.
FAINTEST = 26
#: Galaxies at which the power criterion is evaluated and drawn.
CRITERION_ROWS = 1500
#: Galaxies nearest to one in x, whose redshifts are drawn beside the predicted density.
NEIGHBOURS = 150
#: Intervals of the expected redshift in which normal scores are summarised.
REDSHIFTS = ((0, 0.3), (0.3, 0.5), (0.5, 0.6), (0.6, 0.7), (0.7, 1.0))


def read(path):
    """Return four colours and the magnitude in i, (n, 5), and the redshift (n,)."""
    table = pq.read_table(path)
    bands = np.column_stack([table[f"MAG_{band}"].to_numpy() for band in "UGRIZ"])
    colours = -np.diff(bands, axis=1)
    galaxies = np.column_stack([colours, bands[:, 3], table["Z"].to_numpy()])
    detected = (bands < FAINTEST).all(axis=1)
    rows = np.unique(galaxies[detected], axis=0)
    order = np.random.default_rng(0).permutation(len(rows))
    return rows[order, :-1], rows[order, -1]


def examine(model, x, z, train):
    """Test a model on held-out galaxies; return normal scores (n,) and the criterion."""
    law = model(x)
    u = law.normal_scores(z)
    scaled = (x - train.mean(axis=0)) / train.std(axis=0)
    effect = Effect.from_rows(scaled, u, Kernels(x=2.0, y=1.0, u=1.0))
    result = cg.adaptive(model, x, z, n_boot=500, rng=0)
    print(f"{model}: log-likelihood {law.log_prob(z).mean():.3f}, p {result.pvalue:.4f}")
    print(
        f"   D {effect.value:.5f} ({effect.low:.5f} to {effect.high:.5f}),"
        f" u: mean {u.mean():+.3f}, sd {u.std():.3f},"
        f" KS {kstest(u[:, 0], 'norm').statistic:.4f}"
    )
    criterion = cg.power_criterion(
        cg.from_scores(-u),
        scaled,
        u,
        at=scaled[:CRITERION_ROWS],
        kernel_x=cg.Gaussian(0.5),
        kernel_y=cg.Gaussian(1.0),
        rng=0,
    )
    return u[:, 0], criterion


def draw(model, x, z, train, criterion, path):
    """Draw the criterion over two colours, and densities where it is lowest and highest."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    galaxies, places, densities = figure.subplots(1, 3)
    galaxies.plot(x[:, 1], z, ",", color="0.3")
    galaxies.set(
        xlim=(0, 3.2),
        ylim=(0, 1),
        xlabel="colour g − r",
        ylabel="redshift",
        title="Held-out galaxies",
    )
    some = x[:CRITERION_ROWS]
    image = places.scatter(some[:, 1], some[:, 2], c=criterion, s=5)
    places.set(xlim=(0, 3.2), ylim=(-0.2, 2), xlabel="colour g − r", ylabel="colour r − i")
    figure.colorbar(image, ax=places, label="power criterion (normal scores)")
    extremes = (
        (np.argmin(criterion), "#0072B2", "lowest"),
        (np.argmax(criterion), "#D55E00", "highest"),
    )
    for row, colour, name in extremes:
        places.plot(*x[row, 1:3], "^", ms=10, color=colour, mec="white")
        near = nearest(x, row, train.std(axis=0))
        redshifts = np.linspace(0, 1, 400)
        density = mean_density(model(x[near]), redshifts)
        densities.plot(redshifts, density, color=colour, label=f"{name} criterion")
        bins = np.linspace(0, 1, 41)
        densities.hist(z[near], bins, density=True, color=colour, alpha=0.3)
    densities.set(
        xlabel="redshift",
        ylabel="density",
        title=f"{NEIGHBOURS} galaxies alike, and the model",
    )
    densities.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)


def nearest(x, row, scale):
    """Return the rows of x that are nearest to one of them, in units of `scale`."""
    distances = (((x - x[row]) / scale) ** 2).sum(axis=1)
    return np.argsort(distances)[:NEIGHBOURS]


def mean_density(law, redshifts):
    """Return the mean predicted density over the rows of a law, at each redshift."""
    return [np.exp(law.log_prob(np.full(law.n, redshift))).mean() for redshift in redshifts]


def main(path, out):
    """Fit on two thirds, test on the rest."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    x, z = read(path)
    cut = 2 * len(x) // 3
    train, held = x[:cut], x[cut:]
    z_train, z_held = z[:cut], z[cut:]
    print(f"{len(train)} galaxies to train on, {len(held)} held out")
    for components in (1, 10):
        saved = out / f"mdn_{components}.safetensors"
        if not saved.is_file():
            model = fit_mdn(
                train, z_train, components=components, epochs=100, patience=15, rng=0
            )
            model.save(saved)
        model = MDN.load(saved)
        u, criterion = examine(model, held, z_held, train)
    second_weight = np.sort(model.parts(held).weights, axis=1)[:, -2]
    several = (second_weight > 0.2).mean()
    print(f"two components above 0.2 in {several:.2f} of the held-out galaxies")
    mean, _ = model(held).mean_std()
    for low, high in REDSHIFTS:
        part = u[(mean[:, 0] >= low) & (mean[:, 0] < high)]
        moments = f"n {len(part)}, u mean {part.mean():+.3f}, sd {part.std():.3f}"
        print(f"   expected redshift {low} to {high}: {moments}")
    draw(model, held, z_held, train, criterion, out / "photoz.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
