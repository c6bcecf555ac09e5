"""The taxi experiment: train on ordinary days, test on held-out trips and on unusual days.

python taxi.py --train 'trips/2014*.parquet' --test trips/2015-01.parquet --out OUT

Files are Parquet or CSV with coordinates, as the city published them until June 2016. A
network that an earlier run left in the folder is not trained again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, replace
from glob import glob
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

import condgof as cg
from condgof.errors import CondgofError, InputError
from figures import draw_change, draw_gallery, draw_maps, draw_pair
from misfit import (
    Grid,
    Kernels,
    Occasion,
    find_spots,
    local_effects,
    local_means,
    normal_map,
    paper_map,
)
from trips import join, match_hours, read_trips

#: Days around the hurricane, which are no ordinary days to train on.
BLACKOUT = ("2012-10-29", "2012-11-05")


def options():
    """Read the command line; the sizes are those of the paper, where it says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    path = {"type": Path, "metavar": "FILE"}
    parser.add_argument(
        "--train", nargs="+", required=True, metavar="FILE", help="files or globs"
    )
    parser.add_argument("--test", required=True, help="held-out trips to test on", **path)
    parser.add_argument("--more", help="more ordinary trips to test on", **path)
    parser.add_argument(
        "--unusual", help="trips of unusual days, set beside the held-out ones", **path
    )
    parser.add_argument("--out", type=Path, default=Path("paper-taxi"), metavar="FOLDER")
    sizes = {
        "components": 20, "epochs": 30, "batch": 1000, "patience": 6, "rows": 12_000, "columns": 60,
        "candidates": 300, "seed": 0,
    }  # fmt: skip
    for name, value in sizes.items():
        parser.add_argument(
            f"--{name}", type=int, default=value, metavar="N", help=f"default {value}"
        )
    return parser.parse_args()


def main(given):
    """Run the experiment; without unusual days, the paper's part of it."""
    given.out.mkdir(parents=True, exist_ok=True)
    test = read_trips(given.test).near_manhattan()
    others = {
        path: read_trips(path).near_manhattan()
        for path in (given.more, given.unusual)
        if path is not None
    }
    files = [
        found for pattern in given.train for found in sorted(glob(pattern)) or [pattern]
    ]
    train = join([read_trips(path) for path in files]).near_manhattan()
    for other in (test, *others.values()):
        train = train.without(other)
    train = train.outside(*BLACKOUT)
    for what, trips in (("train", train), ("test", test)):
        if len(trips) < 1000:
            raise InputError(
                f"Only {len(trips)} trips near Manhattan are left to {what} on; at least"
                " 1,000 are needed. Are the files of New York's taxis?"
            )
    numbers = {"trips": {"train": len(train), "test": len(test)}}
    model = trained("model", train, given, numbers)
    held = test.draw(given.rows, given.seed)
    kernels = Kernels.of(model, held, given.seed)
    numbers["kernels"] = asdict(kernels)
    name = test.span() or given.test.stem
    ordinary, grid = Occasion.of(name, model, held, kernels), Grid.of(held, given.columns)
    draw_the_papers(model, ordinary, grid, kernels, given, numbers)
    occasions = [ordinary, Occasion.of(f"{name}, all", model, test, kernels)]
    for path, trips in others.items():
        drawn, label = trips.draw(given.rows, given.seed), trips.span() or path.stem
        if label in {occasion.name for occasion in occasions}:
            label += f" ({path.stem})"
        occasions.append(Occasion.of(label, model, drawn, kernels))
    tell("Against the model of all hours", model, occasions, kernels, numbers)
    if given.unusual is not None:
        draw_both("change", ordinary, occasions[-1], grid, kernels, given.out)
        usual = join(
            [test, *(trips for path, trips in others.items() if path == given.more)]
        )
        compare_hours(model, train, (usual, others[given.unusual]), kernels, given, numbers)
    (given.out / "taxi.json").write_text(json.dumps(numbers, indent=1) + "\n")
    print(f"Figures and numbers: {given.out}")


def trained(name, trips, given, numbers):
    """Train a model, or take the one that an earlier run left in the folder."""
    path = given.out / f"{name}.safetensors"
    if path.is_file():
        model = cg.models.mdn.MDN.load(path)
        print(f"Took the {name} of an earlier run, {path}.")
    else:
        wall, cpu = time.perf_counter(), time.process_time()
        model = cg.models.mdn.fit_mdn(
            trips.pickup,
            trips.dropoff,
            components=given.components,
            epochs=given.epochs,
            batch_size=min(given.batch, max(50, len(trips) // 20)),
            patience=given.patience,
            rng=given.seed,
        )
        model.save(path)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(
            f"Trained the {name} on {len(trips):,} trips in {wall:.0f} s ({cpu:.0f} s of"
            " processor)."
        )
        numbers[f"{name}_training"] = {"wall": wall, "cpu": cpu, "trips": len(trips)}
    history = model.history
    best = history.best_epoch - 1
    print(
        f"  {len(history.train)} epochs, best {best + 1}: negative log-likelihood"
        f" {history.train[best]:.3f} in training, {history.validation[best]:.3f} on"
        " validation rows\n"
    )
    return model


def draw_the_papers(model, held, grid, kernels, given, numbers):
    """Draw the maps of the criterion, the two panels and the gallery; hold them against plain counts."""
    out = given.out
    maps = [
        paper_map(held.trips, model, grid.points, kernels),
        normal_map(held, grid.points, kernels),
    ]
    titles = [
        "The paper's: degrees,\nmedian bandwidth",
        "Normal scores,\nbandwidth of 1 km",
    ]
    draw_maps(grid, maps, titles, held.trips.pickup).savefig(out / "maps.png", dpi=110)
    spots = find_spots(held, model, kernels, given.candidates, given.seed)
    if len(spots) < 2:
        raise InputError(
            "The trips to test on are too few to draw the drop-offs from nearby."
        )
    rows = np.linspace(0, len(spots) - 1, min(12, len(spots))).round().astype(int)
    chosen = [spots[i] for i in rows]
    draw_pair([spots[0], spots[-1]], model).savefig(out / "pair.png", dpi=110)
    draw_gallery(chosen, model).savefig(out / "gallery.png", dpi=90)
    draw_gallery(chosen).savefig(out / "gallery_residuals.png", dpi=90)
    misfit, at = [spot.misfit for spot in spots], np.array([spot.at for spot in spots])
    criteria = {
        "paper": paper_map(held.trips, model, at, kernels),
        "normal": [spot.criterion for spot in spots],
    }
    agreement = {
        name: float(spearmanr(values, misfit).statistic)
        for name, values in criteria.items()
    }
    paper, normal = (np.quantile(values, [0.0, 0.5, 1.0]).tolist() for values in maps)
    gallery = [
        {"at": spot.at.tolist(), "criterion": spot.criterion, "misfit": spot.misfit}
        for spot in chosen
    ]
    numbers["criterion"] = {
        "paper": paper, "normal": normal, "gallery": gallery, "agreement_with_counts": agreement,
    }  # fmt: skip
    words = [
        "{0:.3f} to {2:.3f} (median {1:.3f})".format(*values) for values in (paper, normal)
    ]
    print(
        f"Criterion at {len(grid.points):,} pick-up points: {words[0]} in degrees, as in"
        f" the paper; {words[1]} on normal scores, locally.\nRank correlation with plain"
        f" counts at {len(spots)} places: {agreement['paper']:.2f} and"
        f" {agreement['normal']:.2f}.\n"
    )


def compare_hours(model, train, compared, kernels, given, numbers):
    """Compare with ordinary trips of the same hours of the week, by both models."""
    matched = match_hours(*compared, given.seed)
    if len(matched[0]) < 300:
        print(
            "Too few ordinary trips began in the hours of the unusual days to compare them"
            " by hour."
        )
        return
    unusual = compared[1].span() or "unusual days"
    names = ("ordinary days, same hours", f"{unusual}, same hours")
    rows = np.isin(train.hour_of_week(), np.unique(matched[0].hour_of_week()))
    night = trained("model_of_these_hours", train.take(rows), given, numbers)
    for hours, one in (("all", model), ("these", night)):
        both = [
            Occasion.of(name, one, trips, kernels)
            for name, trips in zip(names, matched, strict=True)
        ]
        tell(f"The same hours, model of {hours} hours", one, both, kernels, numbers)
    grids = [Grid.of(trips, given.columns, radius=0.5) for trips in matched]
    grid = replace(grids[0], inside=grids[0].inside & grids[1].inside)
    draw_both("change_same_hours", *both, grid, kernels, given.out)


def draw_both(name, before, after, grid, kernels, out):
    """Draw the criterion and the local effect on both occasions, and which way drop-offs moved."""
    shift = local_means(after, grid.points) - local_means(before, grid.points)
    titles = [
        f"{occasion.name}\nn = {len(occasion.trips):,}" for occasion in (before, after)
    ]
    for what, function in (
        ("power criterion", normal_map),
        ("local effect D", local_effects),
    ):
        maps = [function(occasion, grid.points, kernels) for occasion in (before, after)]
        figure = draw_change(grid, maps, what, titles, shift)
        figure.savefig(out / f"{name}_{what.split()[1]}.png", dpi=100)


def tell(title, model, occasions, kernels, numbers):
    """Print the occasions, and the zones of each."""
    print(f"{title}\n")
    numbers[title] = {}
    for occasion in occasions:
        pvalues = [occasion.degrees.pvalue, occasion.normal.pvalue]
        numbers[title][occasion.name] = {
            "n": len(occasion.trips),
            "pvalues": pvalues,
            "null_deviations": occasion.deviations(),
            "effect": asdict(occasion.effect),
            "zones": occasion.zones(model, kernels),
        }
        found = numbers[title][occasion.name]
        print(
            f"  {occasion.name}: n = {found['n']:,}, p = {pvalues[0]:.4f} in degrees,"
            f" {pvalues[1]:.4f} on normal scores; {{:.0f}} and {{:.0f}} null standard"
            " deviations; ".format(*found["null_deviations"])
            + "D = {value:.4f} ({low:.4f} to {high:.4f})".format(**found["effect"])
        )
        for zone in found["zones"]:
            print(
                "    {name:26} n = {n:6,}  D = ".format(**zone)
                + "{value:7.4f} ({low:7.4f} to {high:7.4f})".format(**zone["effect"])
                + "  shift east {:+.2f}, north {:+.2f}".format(*zone["shift"])
                + "  drop-offs south of 40.75: {south:.3f}, expected {expected:.3f}".format(
                    **zone
                )
            )
    print()


if __name__ == "__main__":
    try:
        main(options())
    except CondgofError as error:
        sys.exit(f"taxi.py: {error}")
