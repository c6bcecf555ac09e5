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

sys.path.insert(0, str(Path(__file__).parents[1]))
from mdn import MDN, fit_mdn

#: Days around the hurricane, which are no ordinary days to train on.
BLACKOUT_START = "2012-10-29"
BLACKOUT_END = "2012-11-05"
#: Trips near Manhattan that are needed to train on, and to test on.
MIN_TRIPS = 1000
#: Ordinary trips in the hours of the unusual days that a comparison by hour needs.
MIN_MATCHED = 300
#: Options of the command line that are whole numbers, and their defaults.
SIZES = {
    "components": 20,
    "epochs": 30,
    "batch": 1000,
    "patience": 6,
    "rows": 12_000,
    "columns": 60,
    "candidates": 300,
    "seed": 0,
}


def read_options():
    """Read the command line; the sizes are those of the paper, where it says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--train", nargs="+", required=True, metavar="FILE", help="files or globs"
    )
    parser.add_argument(
        "--test",
        type=Path,
        required=True,
        metavar="FILE",
        help="held-out trips to test on",
    )
    parser.add_argument(
        "--more", type=Path, metavar="FILE", help="more ordinary trips to test on"
    )
    parser.add_argument(
        "--unusual",
        type=Path,
        metavar="FILE",
        help="trips of unusual days, set beside the held-out ones",
    )
    parser.add_argument("--out", type=Path, default=Path("paper-taxi"), metavar="FOLDER")
    for name, value in SIZES.items():
        parser.add_argument(
            f"--{name}", type=int, default=value, metavar="N", help=f"default {value}"
        )
    return parser.parse_args()


def main(options):
    """Run the experiment; without unusual days, the paper's part of it."""
    options.out.mkdir(parents=True, exist_ok=True)
    test = read_trips(options.test).near_manhattan()
    others = {
        path: read_trips(path).near_manhattan()
        for path in (options.more, options.unusual)
        if path is not None
    }
    train = read_training_trips(options.train, [test, *others.values()])
    for what, trips in (("train", train), ("test", test)):
        if len(trips) < MIN_TRIPS:
            raise InputError(
                f"Only {len(trips)} trips near Manhattan are left to {what} on; at least"
                f" {MIN_TRIPS:,} are needed. Are the files of New York's taxis?"
            )
    numbers = {"trips": {"train": len(train), "test": len(test)}}
    model = trained("model", train, options, numbers)
    held = test.draw(options.rows, options.seed)
    kernels = Kernels.from_medians(model, held, options.seed)
    numbers["kernels"] = asdict(kernels)
    name = test.span() or options.test.stem
    ordinary = Occasion.from_trips(name, model, held, kernels)
    grid = Grid.from_trips(held, options.columns)
    draw_the_papers(model, ordinary, grid, kernels, options, numbers)
    occasions = [ordinary, Occasion.from_trips(f"{name}, all", model, test, kernels)]
    for path, trips in others.items():
        drawn = trips.draw(options.rows, options.seed)
        label = trips.span() or path.stem
        if label in {occasion.name for occasion in occasions}:
            label += f" ({path.stem})"
        occasions.append(Occasion.from_trips(label, model, drawn, kernels))
    report("Against the model of all hours", model, occasions, kernels, numbers)
    if options.unusual is not None:
        draw_both("change", ordinary, occasions[-1], grid, kernels, options.out)
        usual = join(
            [test, *(trips for path, trips in others.items() if path == options.more)]
        )
        compare_hours(
            model, train, (usual, others[options.unusual]), kernels, options, numbers
        )
    (options.out / "taxi.json").write_text(json.dumps(numbers, indent=1) + "\n")
    print(f"Figures and numbers: {options.out}")


def read_training_trips(patterns, others):
    """Read all files of some patterns; leave out trips of other sets, and the blackout."""
    trips = []
    for pattern in patterns:
        trips += [read_trips(path) for path in sorted(glob(pattern)) or [pattern]]
    train = join(trips).near_manhattan()
    for other in others:
        train = train.without(other)
    return train.outside(BLACKOUT_START, BLACKOUT_END)


def trained(name, trips, options, numbers):
    """Train a model, or take the one that an earlier run left in the folder."""
    path = options.out / f"{name}.safetensors"
    if path.is_file():
        model = MDN.load(path)
        print(f"Took the {name} of an earlier run, {path}.")
    else:
        wall_start = time.perf_counter()
        cpu_start = time.process_time()
        model = fit_mdn(
            trips.pickup,
            trips.dropoff,
            components=options.components,
            epochs=options.epochs,
            batch_size=min(options.batch, max(50, len(trips) // 20)),
            patience=options.patience,
            rng=options.seed,
        )
        model.save(path)
        wall = time.perf_counter() - wall_start
        cpu = time.process_time() - cpu_start
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


def draw_the_papers(model, held, grid, kernels, options, numbers):
    """Draw maps of the criterion, two panels and a gallery; compare with plain counts."""
    out = options.out
    maps = [
        paper_map(held.trips, model, grid.points, kernels),
        normal_map(held, grid.points, kernels),
    ]
    titles = [
        "The paper's: degrees,\nmedian bandwidth",
        "Normal scores,\nbandwidth of 1 km",
    ]
    draw_maps(grid, maps, titles, held.trips.pickup).savefig(out / "maps.png", dpi=110)
    spots = find_spots(held, model, kernels, options.candidates, options.seed)
    if len(spots) < 2:
        raise InputError(
            "The trips to test on are too few to draw the drop-offs from nearby."
        )
    rows = np.linspace(0, len(spots) - 1, min(12, len(spots))).round().astype(int)
    chosen = [spots[i] for i in rows]
    draw_pair([spots[0], spots[-1]], model).savefig(out / "pair.png", dpi=110)
    draw_gallery(chosen, model).savefig(out / "gallery.png", dpi=90)
    draw_gallery(chosen).savefig(out / "gallery_residuals.png", dpi=90)
    misfit = [spot.misfit for spot in spots]
    at = np.array([spot.at for spot in spots])
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
        "paper": paper,
        "normal": normal,
        "gallery": gallery,
        "agreement_with_counts": agreement,
    }
    words = [
        "{0:.3f} to {2:.3f} (median {1:.3f})".format(*values) for values in (paper, normal)
    ]
    print(
        f"Criterion at {len(grid.points):,} pick-up points: {words[0]} in degrees, as in"
        f" the paper; {words[1]} on normal scores, locally.\nRank correlation with plain"
        f" counts at {len(spots)} places: {agreement['paper']:.2f} and"
        f" {agreement['normal']:.2f}.\n"
    )


def compare_hours(model, train, compared, kernels, options, numbers):
    """Compare with ordinary trips of the same hours of the week, by both models."""
    matched = match_hours(*compared, options.seed)
    if len(matched[0]) < MIN_MATCHED:
        print(
            "Too few ordinary trips began in the hours of the unusual days to compare them"
            " by hour."
        )
        return
    unusual = compared[1].span() or "unusual days"
    names = ("ordinary days, same hours", f"{unusual}, same hours")
    rows = np.isin(train.hour_of_week(), np.unique(matched[0].hour_of_week()))
    night = trained("model_of_these_hours", train.take(rows), options, numbers)
    for hours, one in (("all", model), ("these", night)):
        both = [
            Occasion.from_trips(name, one, trips, kernels)
            for name, trips in zip(names, matched, strict=True)
        ]
        report(f"The same hours, model of {hours} hours", one, both, kernels, numbers)
    grids = [Grid.from_trips(trips, options.columns, radius=0.5) for trips in matched]
    grid = replace(grids[0], inside=grids[0].inside & grids[1].inside)
    draw_both("change_same_hours", *both, grid, kernels, options.out)


def draw_both(name, before, after, grid, kernels, out):
    """Draw the criterion and the local effect of both occasions, and the shift."""
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


def report(title, model, occasions, kernels, numbers):
    """Print the occasions and the zones of each, and keep their numbers."""
    print(f"{title}\n")
    numbers[title] = {}
    for occasion in occasions:
        summary = {
            "n": len(occasion.trips),
            "pvalues": [occasion.degrees.pvalue, occasion.normal.pvalue],
            "null_deviations": occasion.deviations(),
            "effect": asdict(occasion.effect),
            "zones": occasion.zones(model, kernels),
        }
        numbers[title][occasion.name] = summary
        print_occasion(occasion.name, summary)
        for zone in summary["zones"]:
            print_zone(zone)
    print()


def print_occasion(name, summary):
    """Print the tests and the effect of one occasion."""
    in_degrees, on_scores = summary["pvalues"]
    degrees_sd, scores_sd = summary["null_deviations"]
    effect = summary["effect"]
    print(
        f"  {name}: n = {summary['n']:,}, p = {in_degrees:.4f} in degrees,"
        f" {on_scores:.4f} on normal scores; {degrees_sd:.0f} and {scores_sd:.0f} null"
        f" standard deviations; D = {effect['value']:.4f} ({effect['low']:.4f} to"
        f" {effect['high']:.4f})"
    )


def print_zone(zone):
    """Print the effect in one zone, the bias, and the share of drop-offs downtown."""
    effect = zone["effect"]
    east, north = zone["shift"]
    print(
        f"    {zone['name']:26} n = {zone['n']:6,}  D = {effect['value']:7.4f}"
        f" ({effect['low']:7.4f} to {effect['high']:7.4f})  shift east {east:+.2f}, north"
        f" {north:+.2f}  drop-offs south of 40.75: {zone['south']:.3f}, expected"
        f" {zone['expected']:.3f}"
    )


if __name__ == "__main__":
    try:
        main(read_options())
    except CondgofError as error:
        sys.exit(f"taxi.py: {error}")
