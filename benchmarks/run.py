"""Speed and memory as ratios in one run on one machine; write what it prints into RESULTS.md.

python benchmarks/run.py --only exact
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


#: The Python of version 0.1, which `make bench` installs beside this one.
OLD = str(HERE.parent / ".venv" / "bench01" / "bin" / "python")


def measure(task, python=sys.executable):
    """Run a task of `TASKS` in a process of its own: best times of five, and peak memory it added."""
    env = {
        name: value
        for name, value in os.environ.items()
        if python != OLD or name != "PYTHONPATH"
    }
    command = [python, __file__, "--task", task]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=env)
    return json.loads(out.stdout.splitlines()[-1])


def alternately(*tasks, rounds=3):
    """Measure tasks, or (task, python), in turn: the best times of each, and the most memory."""
    pairs = [task if isinstance(task, tuple) else (task, sys.executable) for task in tasks]
    runs = [[measure(*pair) for pair in pairs] for _ in range(rounds)]
    best = {"seconds": min, "processor": min, "megabytes": max, "peak": max}
    return [{key: pick(run[key] for run in one) for key, pick in best.items()}
            for one in zip(*runs, strict=True)]  # fmt: skip


CLAIMS = "| what | measured | ratio | asked | |\n|---|---|---|---|---|"


def claim(what, measured, value, least=None, most=None):
    """Print a line of a table of `CLAIMS`: a figure, what was asked of it, and whether that is met."""
    asked, met = "", True
    if least is not None:
        asked, met = f"at least {least:g}", value >= least
    elif most is not None:
        asked, met = f"at most {most:g}", value <= most
    said = "**not met**" if not met else "met" if asked else ""
    print(f"| {what} | {measured} | {value:.3g} | {asked} | {said} |", flush=True)


def sample(name, n, seed=0):
    import numpy as np

    from condgof.study import problem

    case = problem(name)
    x, y = case.draw(n, np.random.default_rng(seed))
    return case.p, x, y


def task_dense(n=5000, m=500):
    from textbook import dense_kcsd

    model, x, y = sample("qgm", n)
    s = model(x).score(y)
    return lambda: dense_kcsd(x, y, s, 1.2, 1.5, m, 0)


def task_exact(n=5000, m=500):
    import condgof as cg

    model, x, y = sample("qgm", n)
    kernels = {"kernel_x": cg.Gaussian(1.2), "kernel_y": cg.Gaussian(1.5)}
    return lambda: cg.kcsd(model, x, y, n_boot=m, rng=0, **kernels)


def median(a):
    """The median heuristic."""
    import numpy as np
    from scipy.spatial.distance import pdist

    return float(np.median(pdist(np.asarray(a).reshape(len(a), -1))))


def task_adam():
    """One start on the training part of hgm-far at n = 1500."""
    import numpy as np

    import condgof as cg
    from textbook import adam_fscd

    model, x, y = sample("hgm-far", 450)
    start, s = x[np.argsort(-x.sum(axis=1))[:5]], cg.scores(model, x, y)
    widths = median(x), median(y)
    return lambda: adam_fscd(x, y, s, start, *widths)


def task_lbfgs():
    """All three starts of `fscd`, and its test with hardly any draws; the table has a third of it."""
    import condgof as cg

    model, x, y = sample("hgm-far", 1500)
    return lambda: cg.fscd(model, x, y, n_boot=1, rng=0)


def task_map(m=2000, n=2000):
    import numpy as np

    import condgof as cg

    model, x, y = sample("hgm", n)
    at = np.random.default_rng(1).normal(size=(m, 3))
    return lambda: cg.power_criterion(model, x, y, at=at, rng=0)


def task_map_one_by_one():
    """One call a location."""
    import numpy as np

    import condgof as cg

    model, x, y = sample("hgm", 2000)
    at = np.random.default_rng(1).normal(size=(100, 3))
    return lambda: [cg.power_criterion(model, x, y, at=v[None], rng=0) for v in at]


def large(n, seed=0):
    """x and y in two dimensions, a true model, and its scores."""
    import numpy as np

    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    s = -rng.normal(size=(n, 2))
    return x, x @ np.array([[1.0, 1.0], [1.0, -1.0]]) - s, s


def task_lowrank(n=1_000_000):
    import condgof as cg

    x, y, s = large(n)
    return lambda: cg.kcsd(cg.from_scores(s), x, y, rng=0, n_boot=500)


def task_taxi_size():
    return task_lowrank(12_000)


def parquet(n):
    """Write the same problem as Parquet, a part at a time, and return the path."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(tempfile.gettempdir()) / f"condgof-bench-{n}.parquet"
    if not path.exists():
        names, part, writer = ["x1", "x2", "y1", "y2", "s1", "s2"], 250_000, None
        for seed, start in enumerate(range(0, n, part)):
            columns = np.column_stack(large(min(part, n - start), seed)).T
            table = pa.table(dict(zip(names, columns, strict=True)))
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
        writer.close()
    return path


def task_stream(n):
    import condgof as cg

    source = cg.scan(parquet(n), x=["x1", "x2"], y=["y1", "y2"])
    return lambda: cg.kcsd(cg.columns(score=["s1", "s2"]), source, rng=0, solver="lowrank")


def task_one(test, n, name="hgm-far"):
    """One test with its defaults on one of the paper's problems."""
    import condgof as cg

    model, x, y = sample(name, n)
    return lambda: getattr(cg, test)(model, x, y, rng=0)


def task_million(test, n):
    """A true Gaussian model in two dimensions; the low-rank solver runs by itself."""
    import numpy as np

    import condgof as cg

    x, y, s = large(n)
    model = (y + s, np.ones(y.shape))
    return lambda: getattr(cg, test)(model, x, y, rng=0)


def regression(n):
    """A true model of one y given three columns: mean and standard deviation."""
    import numpy as np

    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    mean, std = np.sin(x[:, 0]) + 0.5 * x[:, 1], 0.5 + 0.3 * np.abs(x[:, 2])
    return (mean, std), x, mean + std * rng.normal(size=n)


def digits():
    """A true classifier of the size of a well-known table of handwritten digits."""
    import numpy as np

    import condgof as cg

    rng = np.random.default_rng(0)
    x = np.rint(16 * rng.random((900, 64)))
    P = np.exp(0.05 * (x - 8) @ rng.normal(size=(64, 10)))
    P /= P.sum(axis=1, keepdims=True)
    y = (rng.random((900, 1)) > P.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return cg.probabilities(P, classes=np.arange(10)), x, y


def task_version(test, n):
    """What both versions have, after a small sample that loads and warms what there is."""
    import condgof as cg

    run = getattr(cg, test)
    run(*regression(300), rng=0)
    given = regression(n)
    return lambda: run(*given, rng=0)


def task_digits():
    import condgof as cg

    cg.check(*regression(300), rng=0)
    given = digits()
    return lambda: cg.check(*given, rng=0)


VERSIONS = {
    f"{test}-of-{n}": (test, n)
    for test in ("adaptive", "check")
    for n in (300, 3000, 10_000, 30_000, 100_000, 1_000_000)
}


def two_models(n):
    """Scores of the truth in two dimensions, and of a model with a mean too high in the first column."""
    import numpy as np

    x, y, s = large(n)
    return s + np.array([0.2, 0.0]), s, x, y


def task_compare(n):
    import condgof as cg

    p, q, x, y = two_models(n)
    return lambda: cg.compare(cg.from_scores(p), cg.from_scores(q), x, y, rng=0)


def task_compare_dense(n):
    from textbook import dense_compare

    p, q, x, y = two_models(n)
    return lambda: dense_compare(x, y, p, q, 1.7, 2.4)


def task_composite(statistic, n, refits=20):
    """Refits of a line with the library's own loop."""
    import condgof as cg

    _, x, y = sample("qgm", n)
    fit = cg.fits.ols()
    return lambda: cg.composite(
        fit, x, y, statistic=statistic, n_boot=refits, rng=0, engine=1
    )


def task_composite_loop(statistic, n, refits=20):
    """The same as a user would write it: a whole test in each replicate, for its statistic."""
    import numpy as np

    import condgof as cg

    _, x, y = sample("qgm", n)
    fit, test = cg.fits.ols(), getattr(cg, statistic)

    def loop():
        model, rng = fit(x, y), np.random.default_rng(0)
        for _ in range(refits):
            drawn = model(x).sample(rng)
            test(fit(x, drawn), x, drawn, rng=0, engine=1)

    return loop


COMPOSITE = {
    f"composite-{statistic}{kind}-{n}": (task, statistic, n)
    for statistic in ("kcsd", "adaptive")
    for kind, task in (("-loop", task_composite_loop), ("", task_composite))
    for n in (100, 1000)
}


ADAPTIVE = {
    f"{test}-{n}": (task_one if n < 10_000 else task_million, test, n)
    for n in (300, 1500, 5000, 100_000, 1_000_000)
    for test in ("kcsd", "adaptive")
}


def task_discrete(test, n, count):
    """A true softmax classifier; its probabilities are there before."""
    import numpy as np

    import condgof as cg

    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=(n, 2)), rng.normal(size=(2, count))
    P, y = np.empty((n, count)), np.empty(n, dtype=np.int64)
    for start in range(0, n, 1000):
        rows = slice(start, start + 1000)
        np.exp(x[rows] @ weights, out=P[rows])
        P[rows] /= P[rows].sum(axis=1, keepdims=True)
        sums = np.cumsum(P[rows], axis=1)
        y[rows] = (rng.random((len(sums), 1)) * sums[:, -1:] > sums).sum(axis=1)
    model = cg.probabilities(P)
    return lambda: getattr(cg, test)(model, x, y, rng=0)


#: Test, rows and classes.
DISCRETE = {
    f"discrete-{test}-{n}-{count}": (test, n, count)
    for test, n, count in (
        ("kcsd", 1000, 10),
        ("adaptive", 1000, 10),
        ("kcsd", 25_000, 1000),
        ("kcsd", 100_000, 1000),
        ("adaptive", 25_000, 1000),
        ("adaptive", 100_000, 1000),
    )
}


def network_scores(n, whole):
    """Scores of n rows with a mixture density network: 20 components, two columns of y."""
    import numpy as np
    import torch
    from torch import distributions as td

    import condgof as cg

    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(2, 64), torch.nn.Tanh(), torch.nn.Linear(64, 100)
    )

    def mixture(x, family):
        weights, means, spread = net(x).split([20, 40, 40], dim=1)
        part = family(means.reshape(-1, 20, 2), 0.1 + torch.exp(spread.reshape(-1, 20, 2)))
        return td.MixtureSameFamily(td.Categorical(logits=weights), td.Independent(part, 1))

    family = td.Laplace if whole == "autograd" else td.Normal
    model = cg.from_torch(lambda x: mixture(x, family))
    x, y = np.random.default_rng(0).normal(size=(2, n, 2))
    small = x[:100], y[:100]
    model(small[0]).score(small[1])  # what torch loads the first time is not the batch's
    return (
        (lambda: cg.scores(model, x, y))
        if whole == "sample"
        else (lambda: model(x).score(y))
    )


def task_dependent(test, n, said):
    """The same test with signs a row, a block or a group."""
    import numpy as np

    import condgof as cg

    options = {
        "rows": {},
        "blocks": {"dependence": 10},
        "groups": {"groups": np.arange(n) // 20},
    }[said]
    if n < 10_000:
        model, x, y = sample("hgm-far", n)
    else:
        x, y, s = large(n)
        model = (y + s, np.ones(y.shape))
    return lambda: getattr(cg, test)(model, x, y, rng=0, **options)


DEPENDENT = {
    f"{test}-{said}-{n}": (test, n, said)
    for test, n in (
        ("kcsd", 5000),
        ("adaptive", 1500),
        ("kcsd", 50_000),
        ("adaptive", 100_000),
    )
    for said in ("rows", "blocks", "groups")
}


#: Rows, batches in which they come, and columns of x.
MONITOR = {
    "monitor-2": (1_000_000, 1_000, 2),
    "monitor-10": (1_000_000, 1_000, 10),
    "monitor-row-by-row": (10_000, 1, 2),
}


def task_monitor(n, batch, columns):
    """A true normal model, watched."""
    import numpy as np

    import condgof as cg

    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, columns))
    y = x[:, 0] + rng.normal(size=n)
    model = cg.models.Normal(mean=lambda x: x[:, 0], std=1.0)

    def run():
        m = cg.monitor(model, rng=0)
        for start in range(0, n, batch):
            m.update(x[start : start + batch], y[start : start + batch])
        print(f"state: {len(json.dumps(m.state)) / 1e6:.2f} MB", file=sys.stderr)

    return run


TASKS = {
    **{name: lambda given=given: task_version(*given) for name, given in VERSIONS.items()},
    "digits": task_digits,
    **{name: lambda task=task: task_dependent(*task) for name, task in DEPENDENT.items()},
    **{
        name: lambda task=task, test=test, n=n: task(test, n)
        for name, (task, test, n) in COMPOSITE.items()
    },
    **{
        name: lambda task=task, test=test, n=n: task(test, n)
        for name, (task, test, n) in ADAPTIVE.items()
    },
    **{name: lambda given=given: task_monitor(*given) for name, given in MONITOR.items()},
    "compare-dense": lambda: task_compare_dense(5000),
    **{f"compare-{n}": lambda n=n: task_compare(n) for n in (5000, 100_000, 1_000_000)},
    **{name: lambda given=given: task_discrete(*given) for name, given in DISCRETE.items()},
    "torch-batch": lambda: network_scores(8192, "closed"),
    "torch-scores": lambda: network_scores(10**6, "closed"),
    "torch-autograd-batch": lambda: network_scores(8192, "autograd"),
    "torch-autograd": lambda: network_scores(10**6, "autograd"),
    "torch-sample": lambda: network_scores(10**6, "sample"),
    "lowrank": task_lowrank,
    "taxi-size": task_taxi_size,
    "taxi-dense": lambda: task_dense(12_000, 500),
    "stream-5": lambda: task_stream(10**5),
    "stream-7": lambda: task_stream(10**7),
    "dense": task_dense,
    "exact": task_exact,
    "adam": task_adam,
    "lbfgs": task_lbfgs,
    "map": task_map,
    "map-one-by-one": task_map_one_by_one,
}


#: How many of the thing that is compared a task does.
PARTS = {"lbfgs": 3, "map": 2000, "map-one-by-one": 100, **dict.fromkeys(COMPOSITE, 20)}


#: Tasks too long to be repeated five times.
REPEATS = {
    **{name: 1 if n > 3000 else 3 for name, (_, n) in VERSIONS.items()},
    "digits": 1,
    **dict.fromkeys(MONITOR, 1),
    "compare-dense": 2,
    "compare-1000000": 1,
    "compare-100000": 2,
    "composite-adaptive-loop-1000": 2,
    "adaptive-1000000": 2,
    **{name: 2 for name, (_, n, _) in DEPENDENT.items() if n > 10_000},
    "kcsd-1000000": 3,
    **{name: 1 for name, given in DISCRETE.items() if given[1] > 1000},
    "torch-scores": 1,
    "torch-autograd": 1,
    "torch-sample": 1,
    "stream-7": 2,
    "lowrank": 3,
    "taxi-dense": 1,
}


def run_task(name):
    action = TASKS[name]()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times, used = [], []
    for _ in range(REPEATS.get(name, 5)):
        start, begun = time.perf_counter(), time.process_time()
        action()
        times.append(time.perf_counter() - start)
        used.append(time.process_time() - begun)
    peak, parts = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, PARTS.get(name, 1)
    found = {"seconds": min(times) / parts, "processor": min(used) / parts}
    print(json.dumps({**found, "megabytes": (peak - before) / 1024, "peak": peak / 1024}))


def show(title, rows, baseline):
    print(f"\n### {title}\n")
    print(
        "| what | seconds | peak memory added (MB) | times faster | share of its memory |"
    )
    print("|---|---|---|---|---|")
    found = {name: measure(name) for name in rows}
    base = found[baseline]
    for name, row in found.items():
        faster = base["seconds"] / row["seconds"]
        share = row["megabytes"] / base["megabytes"] if base["megabytes"] else float("nan")
        print(
            f"| {rows[name]} | {row['seconds']:.3g} | {row['megabytes']:.0f} "
            f"| {faster:.1f} | {share:.2f} |",
            flush=True,
        )


def seconds_of(*rows):
    return ", ".join(f"{row['seconds']:.3g} s ({row['processor']:.3g})" for row in rows)


def bench_exact():
    dense, exact = alternately("dense", "exact")
    print(
        "\n### KCSD beside the textbook: dense float32, a product a draw; seconds (of"
        " processor)\n"
    )
    print(CLAIMS)
    ratio = dense["seconds"] / exact["seconds"]
    claim("exact, n = 5000, m = 500: dense / it", seconds_of(dense, exact), ratio, least=10)
    share = exact["megabytes"] / dense["megabytes"]
    claim(
        "its memory",
        f"{dense['megabytes']:.0f} MB, {exact['megabytes']:.0f} MB",
        share,
        most=0.25,
    )


def bench_versions():
    """Processor time beside version 0.1, the two in turn, and of `check` beside `adaptive`."""
    print(
        "\n### Beside version 0.1: processor seconds of both, three columns of x, (mean,"
        " std)\n"
    )
    print(CLAIMS)
    for n, least in (
        (300, 0.5),
        (3000, 3),
        (10_000, 6),
        (30_000, 6),
        (10**5, 4),
        (10**6, 4),
    ):
        name = f"adaptive-of-{n}"
        old, now = alternately((name, OLD), name, rounds=1 if n == 10**6 else 3)
        shown = f"{old['processor']:.3g}, {now['processor']:.3g}"
        ratio = old["processor"] / now["processor"]
        claim(f"adaptive, n = {n:,}: 0.1 / now", shown, ratio, least=least)
    for n in (3000, 10_000, 30_000, 10**5):
        check, test = alternately(f"check-of-{n}", f"adaptive-of-{n}")
        shown = f"{check['processor']:.3g}, {test['processor']:.3g}"
        ratio = check["processor"] / test["processor"]
        claim(f"check / adaptive, n = {n:,}", shown, ratio, most=1.5)
    old, now = alternately(("digits", OLD), "digits", rounds=1)
    claim(
        "check, 900 × 64, 10 classes: seconds", seconds_of(old, now), now["seconds"], most=5
    )


def bench_separable(n=4000, m=5000):
    """`solver="lowrank"` beside `solver="exact"` with the same seed."""
    import numpy as np

    import condgof as cg

    rng = np.random.default_rng(0)
    x, wide = rng.normal(size=(n, 10)), rng.normal(size=(n, 30))
    mean = np.column_stack([x[:, 0], x[:, 1] * x[:, 2], x.sum(axis=1)])
    samples = {name: (*sample(name, n), 0.005) for name in ("lgm", "hgm", "qgm")}
    samples["d_x = 10, d_y = 3"] = (
        (mean, np.ones((n, 3))),
        x,
        mean + rng.normal(size=(n, 3)),
        0.01,
    )
    samples["d_x = 30"] = (
        (wide[:, 0], np.ones(n)),
        wide,
        wide[:, 0] + rng.normal(size=n),
        None,
    )
    print(
        f"\n### The separable sum beside the exact one: kcsd, n = {n:,}, {m:,} draws, the"
        " same seed\n"
    )
    print(
        f"Differences: of statistics in null standard deviations, of p-values.\n\n{CLAIMS}"
    )
    for name, (model, x, y, most) in samples.items():
        options = {"n_boot": m, "rng": 0}
        exact, low = (
            cg.kcsd(model, x, y, solver=s, **options) for s in ("exact", "lowrank")
        )
        draws = exact.null_distribution, low.null_distribution
        apart = abs(low.statistic - exact.statistic) / draws[0].std()
        claim(
            f"{name}: statistic",
            f"{exact.statistic:.5g}, {low.statistic:.5g}",
            apart,
            most=most,
        )
        # Other draws of the same null have p-values that differ by chance: three standard
        # errors more.
        same = np.corrcoef(*draws)[0, 1] > 0.9
        p = exact.pvalue
        noise = 0.0 if same else 3 * np.sqrt(2 * p * (1 - p) / m)
        label = f"{name}: p-value, {'the same' if same else 'other'} draws"
        within = None if most is None else round(0.01 + noise, 4)
        claim(label, f"{p:.4f}, {low.pvalue:.4f}", abs(low.pvalue - p), most=within)
        said = {
            key: low.details[key]
            for key in ("precision", "landmarks", "notes")
            if key in low.details
        }
        print(f"| {name}: the result says | {said} | | | |", flush=True)


def bench_optimize():
    show(
        "FSCD-opt, seconds a start, training part of n = 1500",
        {
            "adam": "Adam, 200 steps, autograd",
            "lbfgs": "condgof: L-BFGS-B, analytic gradient (a third of 3 starts)",
        },
        "adam",
    )


def bench_map():
    show(
        "Power criterion, seconds a location, n = 2000",
        {"map-one-by-one": "one call a location", "map": "2,000 locations in one call"},
        "map-one-by-one",
    )


def bench_power(trials=100):
    """Power on the held-out part: Adam from a random start against `fscd`, on the same samples."""
    import numpy as np

    import condgof as cg
    from textbook import adam_fscd

    found = {"adam": 0, "condgof": 0}
    for trial in range(trials):
        model, x, y = sample("hgm-far", 1500, [trial, 1500])
        found["condgof"] += cg.fscd(model, x, y, rng=trial, n_boot=500).reject()
        rows = np.random.default_rng(trial).permutation(1500)
        train, test, s = rows[:450], rows[450:], cg.scores(model, x, y)
        part = x[train], y[train], s[train]
        v, sigma_x, sigma_y, _ = adam_fscd(
            *part, x[train[:5]], median(x[train]), median(y[train])
        )
        found["adam"] += cg.fscd(
            model, x[test], y[test], locations=v, kernel_x=cg.Gaussian(sigma_x),
            kernel_y=cg.Gaussian(sigma_y), n_boot=500, rng=trial,
        ).reject()  # fmt: skip
    print(f"\n### Power of FSCD-opt on hgm-far, n = 1500, J = 5, {trials} samples\n")
    print("| optimiser | rejections |\n|---|---|")
    print(f"| Adam, 200 steps, one start at random rows | {found['adam']} |")
    print(f"| condgof, three starts | {found['condgof']} |", flush=True)


def bench_scale():
    """A million rows in memory, and up to ten million from Parquet."""
    import math

    dense, memory = alternately("dense", "lowrank")
    five, seven = measure("stream-5"), measure("stream-7")
    print("\n### Scale: kcsd, d_x = d_y = 2; seconds (of processor)\n")
    print(CLAIMS)
    share = memory["seconds"] / dense["seconds"]
    claim(
        "1e6 rows / textbook, n = 5000, m = 500",
        seconds_of(memory, dense),
        share,
        most=0.35,
    )
    ratio = seven["seconds"] / memory["seconds"]
    claim(
        "1e7 rows of Parquet / 1e6 in memory", seconds_of(seven, memory), ratio, most=10.5
    )
    claim("its memory: GB", f"{seven['peak']:.0f} MB", seven["peak"] / 1024, most=1)
    slope = math.log10(seven["seconds"] / five["seconds"]) / 2
    claim(
        "slope of log time, 1e5 to 1e7 rows of Parquet",
        seconds_of(five, seven),
        slope,
        most=1.1,
    )


def bench_taxi_size():
    show(
        "The paper's taxi size: n = 12,000, m = 500",
        {
            "taxi-dense": "textbook: dense float32, a product a draw",
            "taxi-size": "condgof.kcsd, default",
        },
        "taxi-dense",
    )


def bench_adaptive():
    """`adaptive` (12 scales, 80 locations) beside one `kcsd` at the same n and solver."""
    print("\n### adaptive beside kcsd, defaults, 1,000 draws\n")
    print("| n | kcsd, seconds | adaptive, seconds | times kcsd |\n|---|---|---|---|")
    for n in (300, 1500, 5000, 100_000, 1_000_000):
        one, many = measure(f"kcsd-{n}")["seconds"], measure(f"adaptive-{n}")["seconds"]
        print(f"| {n:,} | {one:.3g} | {many:.3g} | {many / one:.1f} |", flush=True)


def predictions(n):
    """Write rows of x, y and a true model's mean and std as Parquet, and return the path."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(tempfile.gettempdir()) / f"condgof-predictions-{n}.parquet"
    if not path.exists():
        rng = np.random.default_rng(0)
        x = rng.normal(size=(n, 2))
        mean, std = x.sum(axis=1), 0.5 + 0.1 * np.abs(x[:, 0])
        y = mean + std * rng.normal(size=n)
        table = {"x1": x[:, 0], "x2": x[:, 1], "y": y, "mean": mean, "std": std}
        pq.write_table(pa.table(table), path, row_group_size=100_000)
    return path


def bench_check(n=1_000_000):
    """`condgof check` beside `cg.check` on the same Parquet file, each in a process of its own."""
    path = predictions(n)
    roles = ["--x", "x1,x2", "--y", "y", "--mean", "mean", "--std", "std"]
    script = (
        f"import condgof as cg; source = cg.scan({str(path)!r}, x=['x1', 'x2'], y='y'); "
        "print(cg.check(cg.columns(mean='mean', std='std'), source, rng=0).result.pvalue)"
    )

    def seconds(command):
        """Least time of two runs, and least processor time, which other jobs change less."""
        runs = []
        for _ in range(2):
            before, start = (
                resource.getrusage(resource.RUSAGE_CHILDREN),
                time.perf_counter(),
            )
            subprocess.run(command, capture_output=True, check=True)
            wall, after = (
                time.perf_counter() - start,
                resource.getrusage(resource.RUSAGE_CHILDREN),
            )
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            runs.append((wall, used))
        return [min(column) for column in zip(*runs, strict=True)]

    program = [sys.executable, "-m", "condgof", "check", str(path), *roles]
    rows = {
        "Python: cg.check on cg.scan": seconds([sys.executable, "-c", script]),
        "condgof check": seconds(program),
        "condgof check --report": seconds(
            [*program, "--report", str(path.with_suffix(".html"))]
        ),
    }
    base = next(iter(rows.values()))
    print(
        f"\n### condgof check beside cg.check, {n:,} rows of Parquet, mean and std"
        " columns\n"
    )
    print(
        "| what | seconds | times cg.check | processor seconds | times cg.check"
        " |\n|---|---|---|---|---|"
    )
    for label, (wall, used) in rows.items():
        print(
            f"| {label} | {wall:.3g} | {wall / base[0]:.2f} | {used:.3g} |"
            f" {used / base[1]:.2f} |"
        )


def bench_dependence():
    """What signs of blocks and of groups cost beside signs of rows."""
    print(
        "\n### Signs of rows, of blocks (of 10) and of groups (of 20): seconds, 1,000"
        " draws\n"
    )
    print("| test | n | rows | blocks | groups | blocks / rows | groups / rows |")
    print("|---|---|---|---|---|---|---|")
    for test, n in dict.fromkeys((test, n) for test, n, _ in DEPENDENT.values()):
        rows, blocks, groups = (
            measure(f"{test}-{said}-{n}")["seconds"]
            for said in ("rows", "blocks", "groups")
        )
        shown = (
            f"{rows:.3g} | {blocks:.3g} | {groups:.3g} | {blocks / rows:.2f} |"
            f" {groups / rows:.2f}"
        )
        print(f"| {test} | {n:,} | {shown} |", flush=True)


def bench_compare():
    show(
        "compare: two models, d_x = d_y = 2",
        {
            "compare-dense": "textbook: two dense float32 matrices, n = 5000",
            "compare-5000": "condgof.compare by Stein, exact, n = 5000",
            "compare-100000": "condgof.compare by Stein, low rank, n = 1e5",
            "compare-1000000": "condgof.compare by Stein, low rank, n = 1e6",
        },
        "compare-dense",
    )


def bench_composite():
    """A replicate of `composite`: draw, refit a line, evaluate the statistic; one core."""
    print(
        "\n### composite: milliseconds a replicate, a line fitted by least squares, one"
        " core\n"
    )
    print(
        "| statistic | n | loop of whole tests | composite | times faster"
        " |\n|---|---|---|---|---|"
    )
    for statistic in ("kcsd", "adaptive"):
        for n in (100, 1000):
            slow = measure(f"composite-{statistic}-loop-{n}")["seconds"]
            fast = measure(f"composite-{statistic}-{n}")["seconds"]
            row = f"{1e3 * slow:.3g} | {1e3 * fast:.3g} | {slow / fast:.1f}"
            print(f"| {statistic} | {n:,} | {row} |", flush=True)


def bench_discrete():
    """Classifiers: a thousand classes and 100,000 rows, whose probabilities take 800 MB."""
    print("\n### Classifiers, 1,000 draws\n")
    print("| test | n | classes | seconds | probabilities (MB) | memory added (MB) |")
    print("|---|---|---|---|---|---|")
    for name, (test, n, count) in DISCRETE.items():
        row = measure(name)
        print(
            f"| {test} | {n:,} | {count:,} | {row['seconds']:.3g} |"
            f" {8 * n * count / 2**20:.0f} | {row['megabytes']:.0f} |",
            flush=True,
        )


def bench_torch_scores():
    """Memory of scoring 1e6 rows with a network: the arrays, one batch, and little else."""
    arrays = 3 * 16e6 / 2**20  # x, y and scores: two columns of doubles each
    print(
        "\n### Scores of 1e6 rows from a torch mixture density network (20 components, d_y"
        " = 2)\n"
    )
    print(
        f"x, y and the scores take {arrays:.0f} MB. Beyond x and y, which are there"
        " before:\n"
    )
    print(
        "| what | seconds | memory added (MB) | (it and x and y, less one batch) / arrays |"
    )
    print("|---|---|---|---|")
    for whole, batch, label in (
        ("torch-scores", "torch-batch", "mixture of normals, closed form"),
        ("torch-autograd", "torch-autograd-batch", "mixture of Laplace, autograd"),
        ("torch-sample", "torch-batch", "the first, through condgof.scores"),
    ):
        # Memory is noisy by a few MB: the median of three runs.
        one, row = (sorted((measure(task) for _ in range(3)), key=lambda r: r["megabytes"])[1]
                    for task in (batch, whole))  # fmt: skip
        share = (row["megabytes"] - one["megabytes"] + arrays * 2 / 3) / arrays
        print(
            f"| one batch of 8,192 rows | {one['seconds']:.3g} | {one['megabytes']:.0f} | |"
        )
        print(
            f"| {label} | {row['seconds']:.3g} | {row['megabytes']:.0f} | {share:.2f} |",
            flush=True,
        )


def bench_monitor():
    """A monitor, one core; row by row from 1e4 rows, since each costs the same."""
    print("\n### monitor: a true model, one core\n")
    print(CLAIMS)
    for name, (n, batch, columns) in MONITOR.items():
        row = measure(name)
        seconds = row["processor"] * 1e6 / n
        measured = f"{seconds:.3g} s, {row['megabytes']:.0f} MB added"
        if batch == 1:
            claim(
                f"1e6 rows one by one, 100 times what {n:,} take",
                measured,
                seconds,
                most=60,
            )
        else:
            claim(
                f"1e6 rows in batches of {batch:,}, {columns} columns",
                measured,
                seconds,
                most=60,
            )


def bench_import():
    def seconds(statement):
        code = (
            f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter()"
            " - t)"
        )
        runs = [
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            )
            for _ in range(9)
        ]
        return min(float(run.stdout) for run in runs)

    base, ours = seconds("import numpy, scipy.linalg"), seconds("import condgof")
    print("\n### Import time\n")
    print("| what | seconds |\n|---|---|")
    print(f"| import numpy, scipy.linalg | {base:.3f} |")
    print(f"| import condgof | {ours:.3f} ({ours / base:.2f} times) |", flush=True)


BENCHES = {
    "versions": bench_versions,
    "separable": bench_separable,
    "exact": bench_exact,
    "optimize": bench_optimize,
    "map": bench_map,
    "taxi": bench_taxi_size,
    "scale": bench_scale,
    "torch-scores": bench_torch_scores,
    "import": bench_import,
    "adaptive": bench_adaptive,
    "check": bench_check,
    "monitor": bench_monitor,
    "dependence": bench_dependence,
    "compare": bench_compare,
    "discrete": bench_discrete,
    "power": bench_power,
    "composite": bench_composite,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help=f"one of {', '.join(BENCHES)}")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        run_task(options.task)
        return 0
    chosen = {name: bench for name, bench in BENCHES.items() if options.only in name}
    for bench in chosen.values():
        bench()
    return 0 if chosen else 2


if __name__ == "__main__":
    sys.exit(main())
