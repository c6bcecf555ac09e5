"""The taxi experiment: train on ordinary days, test on held-out trips and on unusual days."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np

from condgof.errors import InputError
from condgof.laws.mdn import MDN, fit_mdn
from condgof.report import draw_change, draw_gallery, draw_maps, draw_pair
from condgof.study import (
    Kernels,
    Occasion,
    PickupGrid,
    Trips,
    Zone,
    choose_kernels,
    examine_trips,
    examine_zones,
    find_spots,
    join,
    local_effects,
    local_means,
    match_hours,
    normal_map,
    null_deviations,
    paper_map,
    pickup_grid,
    read_trips,
)

#: Days around the hurricane, which are no ordinary days to train on.
BLACKOUT = ("2012-10-29", "2012-11-05")
Say = Callable[[str], None]


@dataclass(frozen=True)
class TaxiFiles:
    """Files of trips: to train on, to test on, more ordinary ones, of unusual days."""

    train: tuple[Path, ...]
    test: Path
    more: Path | None = None
    unusual: Path | None = None

    def check(self) -> None:
        """Raise where a file is not there."""
        for path in (*self.train, self.test, self.more, self.unusual):
            if path is not None and not path.is_file():
                raise InputError(f"There is no file {path}.")


@dataclass(frozen=True)
class TaxiPlan:
    """How large everything is; the defaults are those of the paper, where it says."""

    components: int = 20
    epochs: int = 30
    batch_size: int = 1000
    patience: int = 6
    test_rows: int = 12_000
    columns: int = 60
    candidates: int = 300
    seed: int = 0


def run_taxi(files: TaxiFiles, out_dir: Path, say: Say = print, plan: TaxiPlan = TaxiPlan()) -> None:
    """Run the experiment; without unusual days, the paper's part of it.

    Parameters
    ----------
    files : TaxiFiles
        Parquet or CSV files in the format of the city's Taxi and Limousine Commission.
    out_dir : Path
        Folder for figures, numbers and models; models that are there are not trained again.
    say : callable
        Gets each paragraph of text.
    plan : TaxiPlan
        How large everything is.
    """
    files.check()
    out = Path(out_dir)
    out.mkdir(parents=True, exist_ok=True)
    test = read_trips(files.test).near_manhattan()
    more = None if files.more is None else read_trips(files.more).near_manhattan()
    unusual = None if files.unusual is None else read_trips(files.unusual).near_manhattan()
    train = read_trips(files.train).near_manhattan()
    for other in (test, more, unusual):
        train = train if other is None else train.without(other)
    train = train.between(*BLACKOUT, outside=True)
    _check_sizes(train, test, plan)
    numbers: dict[str, Any] = {"trips": {"train": len(train), "test": len(test)}}
    model = _trained("model", train, out, plan, numbers, say)
    held = test.draw(plan.test_rows, plan.seed)
    kernels = choose_kernels(model, held, plan.seed)
    numbers["kernels"] = asdict(kernels)
    test_label = _label(test, files.test)
    ordinary = examine_trips(test_label, model, held, kernels)
    grid = pickup_grid(held, plan.columns)
    _paper_part(model, ordinary, grid, kernels, out, plan, numbers, say)
    occasions = [ordinary, examine_trips(f"{test_label}, all", model, test, kernels)]
    for trips, path in ((more, files.more), (unusual, files.unusual)):
        if trips is not None and path is not None:
            drawn = trips.draw(plan.test_rows, plan.seed)
            label = _label(trips, path)
            if label in {occasion.name for occasion in occasions}:
                label += f" ({path.stem})"
            occasions.append(examine_trips(label, model, drawn, kernels))
    _say_occasions("Against the model of all hours", model, occasions, kernels, numbers, say)
    if unusual is not None:
        _draw_change("change", ordinary, occasions[-1], grid, kernels, out)
        pool = test if more is None else join([test, more])
        _same_hours(model, train, (pool, unusual), kernels, out, plan, numbers, say)
    (out / "taxi.json").write_text(json.dumps(numbers, indent=1) + "\n")
    say(f"Figures and numbers: {out}")


def matching(patterns: Sequence[str]) -> tuple[Path, ...]:
    """Return the files that globs match; one that matches nothing stays, to be named as missing."""
    return tuple(Path(found) for pattern in patterns for found in sorted(glob(pattern)) or [pattern])


def _label(trips: Trips, path: Path) -> str:
    return trips.span() or path.stem


def _check_sizes(train: Trips, test: Trips, plan: TaxiPlan) -> None:
    for what, trips in (("train", train), ("test", test)):
        if len(trips) < 1000:
            raise InputError(
                f"Only {len(trips)} trips near Manhattan are left to {what} on; at least 1,000 are "
                "needed. Are the files of New York's taxis?"
            )


def _trained(
    name: str, trips: Trips, out: Path, plan: TaxiPlan, numbers: dict[str, Any], say: Say
) -> MDN:
    """Train a model, or take the one that an earlier run left in the folder."""
    path = out / f"{name}.safetensors"
    if path.is_file():
        model = MDN.load(path)
        say(f"Took the {name} of an earlier run, {path}.")
    else:
        wall, cpu = time.perf_counter(), time.process_time()
        model = fit_mdn(
            trips.pickup,
            trips.dropoff,
            components=plan.components,
            epochs=plan.epochs,
            batch_size=min(plan.batch_size, max(50, len(trips) // 20)),
            patience=plan.patience,
            rng=plan.seed,
        )
        model.save(path)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        say(f"Trained the {name} on {len(trips):,} trips in {wall:.0f} s ({cpu:.0f} s of processor).")
        numbers[f"{name}_training"] = {"wall": wall, "cpu": cpu, "trips": len(trips)}
    history = model.history
    say(
        f"  {len(history.train)} epochs, best {history.best_epoch}: negative log-likelihood "
        f"{history.train[history.best_epoch - 1]:.3f} in training, "
        f"{history.validation[history.best_epoch - 1]:.3f} on validation rows\n"
    )
    return model


def _paper_part(
    model: MDN,
    held: Occasion,
    grid: PickupGrid,
    kernels: Kernels,
    out: Path,
    plan: TaxiPlan,
    numbers: dict[str, Any],
    say: Say,
) -> None:
    """Draw the maps of the criterion, the two panels and the gallery."""
    from scipy.stats import spearmanr

    maps = [
        paper_map(held.trips, model, grid.points, kernels),
        normal_map(held, grid.points, kernels),
    ]
    titles = ["The paper's: degrees,\nmedian bandwidth", "Normal scores,\nbandwidth of 1 km"]
    draw_maps(grid, maps, titles, held.trips.pickup).savefig(out / "maps.png", dpi=110)
    spots = find_spots(held, model, kernels, candidates=plan.candidates, seed=plan.seed)
    if len(spots) < 2:
        raise InputError("The trips to test on are too few to draw the drop-offs from nearby.")
    rows = np.linspace(0, len(spots) - 1, min(12, len(spots))).round().astype(int)
    draw_pair([spots[0], spots[-1]], model).savefig(out / "pair.png", dpi=110)
    chosen = [spots[i] for i in rows]
    draw_gallery(chosen, model).savefig(out / "gallery.png", dpi=90)
    draw_gallery(chosen).savefig(out / "gallery_residuals.png", dpi=90)
    misfit = [spot.misfit for spot in spots]
    at = np.array([spot.at for spot in spots])
    agreement = {
        "normal": float(spearmanr([spot.criterion for spot in spots], misfit).statistic),
        "paper": float(spearmanr(paper_map(held.trips, model, at, kernels), misfit).statistic),
    }
    numbers["criterion"] = {
        "paper": _range(maps[0]),
        "normal": _range(maps[1]),
        "gallery": [
            {"at": spot.at.tolist(), "criterion": spot.criterion, "misfit": spot.misfit}
            for spot in chosen
        ],
        "agreement_with_counts": agreement,
    }
    say(
        f"Criterion at {len(grid.points):,} pick-up points: {_words(maps[0])} in degrees, as in the "
        f"paper; {_words(maps[1])} on normal scores, locally.\n"
        f"Rank correlation with plain counts at {len(spots)} places: {agreement['paper']:.2f} and "
        f"{agreement['normal']:.2f}.\n"
    )


def _same_hours(
    model: MDN,
    train: Trips,
    compared: tuple[Trips, Trips],
    kernels: Kernels,
    out: Path,
    plan: TaxiPlan,
    numbers: dict[str, Any],
    say: Say,
) -> None:
    """Compare with ordinary trips of the same hours of the week, by both models."""
    matched = match_hours(*compared, plan.seed)
    names = ("ordinary days, same hours", f"{compared[1].span() or 'unusual days'}, same hours")
    if len(matched[0]) < 300:
        say("Too few ordinary trips began in the hours of the unusual days to compare them by hour.")
        return
    pairs = list(zip(names, matched, strict=True))
    both = [examine_trips(name, model, trips, kernels) for name, trips in pairs]
    _say_occasions("The same hours, model of all hours", model, both, kernels, numbers, say)
    hours = np.unique(matched[0].hour_of_week())
    night = _trained("model_of_these_hours", train.at_hours(hours), out, plan, numbers, say)
    both = [examine_trips(name, night, trips, kernels) for name, trips in pairs]
    _say_occasions("The same hours, model of these hours", night, both, kernels, numbers, say)
    grids = [pickup_grid(trips, plan.columns, radius=0.5) for trips in matched]
    grid = replace(grids[0], inside=grids[0].inside & grids[1].inside)
    _draw_change("change_same_hours", both[0], both[1], grid, kernels, out)


def _draw_change(
    name: str, before: Occasion, after: Occasion, grid: PickupGrid, kernels: Kernels, out: Path
) -> None:
    """Draw the criterion and the local effect on both occasions, and which way drop-offs moved."""
    both = (before, after)
    shift = local_means(after, grid.points) - local_means(before, grid.points)
    titles = [f"{occasion.name}\nn = {len(occasion.trips):,}" for occasion in both]
    for what, function in (("power criterion", normal_map), ("local effect D", local_effects)):
        maps = [function(occasion, grid.points, kernels) for occasion in both]
        figure = draw_change(grid, maps, what, titles, shift)
        figure.savefig(out / f"{name}_{what.split()[1]}.png", dpi=100)


def _say_occasions(
    title: str,
    model: MDN,
    occasions: Sequence[Occasion],
    kernels: Kernels,
    numbers: dict[str, Any],
    say: Say,
) -> None:
    lines, found = [title, ""], {}
    for occasion in occasions:
        zones = examine_zones(occasion, model, kernels)
        deviations = [null_deviations(result) for result in (occasion.raw, occasion.normal)]
        effect = occasion.effect
        found[occasion.name] = {
            "n": len(occasion.trips),
            "pvalues": [occasion.raw.pvalue, occasion.normal.pvalue],
            "null_deviations": deviations,
            "effect": asdict(effect),
            "zones": [asdict(zone) for zone in zones],
        }
        lines.append(
            f"  {occasion.name}: n = {len(occasion.trips):,}, p = {occasion.raw.pvalue:.4f} in degrees, "
            f"{occasion.normal.pvalue:.4f} on normal scores; "
            f"{deviations[0]:.0f} and {deviations[1]:.0f} null standard deviations; "
            f"D = {effect.value:.4f} ({effect.low:.4f} to {effect.high:.4f})"
        )
        lines += [_zone_line(zone) for zone in zones]
    numbers[title] = found
    say("\n".join(lines) + "\n")


def _zone_line(zone: Zone) -> str:
    effect, (east, north) = zone.effect, zone.shift
    return (
        f"    {zone.name:26} n = {zone.n:6,}  D = {effect.value:7.4f} ({effect.low:7.4f} to "
        f"{effect.high:7.4f})  shift east {east:+.2f}, north {north:+.2f}  "
        f"drop-offs south of 40.75: {zone.south:.3f}, expected {zone.expected:.3f}"
    )


def _range(values: Any) -> list[float]:
    return [float(q) for q in np.quantile(values, [0.0, 0.5, 1.0])]


def _words(values: Any) -> str:
    low, middle, high = _range(values)
    return f"{low:.3f} to {high:.3f} (median {middle:.3f})"
