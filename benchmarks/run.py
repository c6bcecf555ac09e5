"""Speed and memory as ratios in one run on one machine; write what it prints into RESULTS.md.

python benchmarks/run.py --only exact
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


def measure(task):
    """Run a task of `TASKS` in a process of its own: best time of five, and peak memory it added."""
    out = subprocess.run(
        [sys.executable, __file__, "--task", task], capture_output=True, text=True, check=True
    )
    return json.loads(out.stdout.splitlines()[-1])


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


def training():
    """The training part of hgm-far at n = 1500, as `fscd` would take it."""
    import numpy as np

    import condgof as cg
    from condgof.methods import Scored
    from condgof.sample import Sample, Seed

    model, x, y = sample("hgm-far", 450)
    scored = Scored.of(model, Sample.of(x, y))
    kernel_x, kernel_y = scored.kernels(cg.Gaussian(), cg.Gaussian(), Seed.of(0))
    start = x[np.argsort(-x.sum(axis=1))[:5]]
    return scored, kernel_x, kernel_y, start


def task_adam():
    from textbook import adam_fscd

    scored, kernel_x, kernel_y, start = training()
    sigma_x, sigma_y = kernel_x.factors[0].kernel.sigma, kernel_y.sigma
    return lambda: adam_fscd(scored.x, scored.sample.y, scored.scores, start, sigma_x, sigma_y)


def task_lbfgs():
    """All three starts as `fscd` runs them; the table shows the time for each start."""
    from condgof.engine import as_engine
    from condgof.methods._optimize import Training, optimize_locations

    scored, kernel_x, kernel_y, _ = training()
    part = Training(scored.x, scored.sample.y, scored.scores, kernel_x, kernel_y, (True,), True)
    return lambda: optimize_locations(part, 5, as_engine(None))


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
    return lambda: cg.composite(fit, x, y, statistic=statistic, n_boot=refits, rng=0, engine=1)


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
    net = torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.Tanh(), torch.nn.Linear(64, 100))

    def mixture(x, family):
        weights, means, spread = net(x).split([20, 40, 40], dim=1)
        part = family(means.reshape(-1, 20, 2), 0.1 + torch.exp(spread.reshape(-1, 20, 2)))
        return td.MixtureSameFamily(td.Categorical(logits=weights), td.Independent(part, 1))

    family = td.Laplace if whole == "autograd" else td.Normal
    model = cg.from_torch(lambda x: mixture(x, family))
    x, y = np.random.default_rng(0).normal(size=(2, n, 2))
    small = x[:100], y[:100]
    model(small[0]).score(small[1])  # what torch loads the first time is not the batch's
    return (lambda: cg.scores(model, x, y)) if whole == "sample" else (lambda: model(x).score(y))


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
    for test, n in (("kcsd", 5000), ("adaptive", 1500), ("kcsd", 50_000), ("adaptive", 100_000))
    for said in ("rows", "blocks", "groups")
}


TASKS = {
    **{name: lambda task=task: task_dependent(*task) for name, task in DEPENDENT.items()},
    **{
        name: lambda task=task, test=test, n=n: task(test, n)
        for name, (task, test, n) in COMPOSITE.items()
    },
    **{
        name: lambda task=task, test=test, n=n: task(test, n)
        for name, (task, test, n) in ADAPTIVE.items()
    },
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
    "stream-6": lambda: task_stream(10**6),
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
    "stream-6": 3,
    "lowrank": 3,
    "taxi-dense": 1,
}


def run_task(name):
    action = TASKS[name]()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = []
    for _ in range(REPEATS.get(name, 5)):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = min(times) / PARTS.get(name, 1)
    print(json.dumps({"seconds": seconds, "megabytes": (peak - before) / 1024, "peak": peak / 1024}))


def show(title, rows, baseline):
    print(f"\n### {title}\n")
    print("| what | seconds | peak memory added (MB) | times faster | share of its memory |")
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


def bench_exact():
    show(
        "KCSD, n = 5000, m = 500",
        {"dense": "textbook: dense float32, a product a draw", "exact": "condgof.kcsd, exact"},
        "dense",
    )


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
    from condgof.methods import Scored
    from condgof.methods._prepare import split
    from condgof.sample import Sample, Seed, Use
    from textbook import adam_fscd

    found = {"adam": 0, "condgof": 0}
    for trial in range(trials):
        model, x, y = sample("hgm-far", 1500, [trial, 1500])
        found["condgof"] += cg.fscd(model, x, y, rng=trial, n_boot=500).reject()
        seed = Seed.of(trial)
        scored = Scored.of(model, Sample.of(x, y))
        train, test = split(1500, 0.3, 2000, seed.stream(Use.SPLIT))
        part = scored.take(train)
        kernel_x, kernel_y = part.kernels(cg.Gaussian(), cg.Gaussian(), seed)
        start = part.x[np.random.default_rng(trial).choice(len(train), 5, replace=False)]
        v, sigma_x, sigma_y, _ = adam_fscd(
            part.x, part.sample.y, part.scores, start, kernel_x.factors[0].kernel.sigma, kernel_y.sigma
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

    dense, rows = (
        measure("dense"),
        {name: measure(name) for name in ("lowrank", "stream-5", "stream-6", "stream-7")},
    )
    labels = {
        "lowrank": "kcsd on 1e6 rows in memory",
        "stream-5": "kcsd on 1e5 rows of Parquet",
        "stream-6": "kcsd on 1e6 rows of Parquet",
        "stream-7": "kcsd on 1e7 rows of Parquet",
    }
    print("\n### Scale: d_x = d_y = 2\n")
    print("| what | seconds | peak memory (MB) | share of the dense time |\n|---|---|---|---|")
    print(f"| textbook, n = 5000, m = 500 | {dense['seconds']:.3g} | {dense['peak']:.0f} | 1 |")
    for name, row in rows.items():
        share = row["seconds"] / dense["seconds"]
        print(f"| {labels[name]} | {row['seconds']:.3g} | {row['peak']:.0f} | {share:.2f} |")
    slope = math.log10(rows["stream-7"]["seconds"] / rows["stream-5"]["seconds"]) / 2
    ratio = rows["stream-7"]["seconds"] / rows["lowrank"]["seconds"]
    print(f"\nSlope of log time against log n, 1e5 to 1e7: {slope:.2f}. ", end="")
    print(f"1e7 streamed takes {ratio:.1f} times as long as 1e6 in memory.")
    print(
        f"GEMM rate of the machine, and the share that the pass reaches: {gemm_share(rows)}", flush=True
    )


def gemm_share(rows):
    """The pass over 1e6 rows does n·r² multiplications and additions in its products, r = rank."""
    import numpy as np

    import condgof as cg

    a = np.random.default_rng(0).normal(size=(2000, 2000))
    a @ a
    start = time.perf_counter()
    for _ in range(5):
        a @ a
    rate = 5 * 2 * 2000**3 / (time.perf_counter() - start)
    x, y, s = large(200_000)
    found = cg.kcsd(cg.from_scores(s), x, y, rng=0, n_boot=10, solver="lowrank", null="spectral")
    rank = found.details["rank"]
    # A product of a tile with its own transpose is symmetric: half the work of a general one.
    reached = 1e6 * rank * (rank + 1) / rows["lowrank"]["seconds"]
    return f"{rate / 1e9:.0f} GF/s, {reached / rate:.2f} (rank {rank})."


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
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run(command, capture_output=True, check=True)
            wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            runs.append((wall, used))
        return [min(column) for column in zip(*runs, strict=True)]

    program = [sys.executable, "-m", "condgof", "check", str(path), *roles]
    rows = {
        "Python: cg.check on cg.scan": seconds([sys.executable, "-c", script]),
        "condgof check": seconds(program),
        "condgof check --report": seconds([*program, "--report", str(path.with_suffix(".html"))]),
    }
    base = next(iter(rows.values()))
    print(f"\n### condgof check beside cg.check, {n:,} rows of Parquet, mean and std columns\n")
    print(
        "| what | seconds | times cg.check | processor seconds | times cg.check |\n|---|---|---|---|---|"
    )
    for label, (wall, used) in rows.items():
        print(f"| {label} | {wall:.3g} | {wall / base[0]:.2f} | {used:.3g} | {used / base[1]:.2f} |")


def bench_dependence():
    """What signs of blocks and of groups cost beside signs of rows."""
    print("\n### Signs of rows, of blocks (of 10) and of groups (of 20): seconds, 1,000 draws\n")
    print("| test | n | rows | blocks | groups | blocks / rows | groups / rows |")
    print("|---|---|---|---|---|---|---|")
    for test, n in dict.fromkeys((test, n) for test, n, _ in DEPENDENT.values()):
        rows, blocks, groups = (
            measure(f"{test}-{said}-{n}")["seconds"] for said in ("rows", "blocks", "groups")
        )
        shown = f"{rows:.3g} | {blocks:.3g} | {groups:.3g} | {blocks / rows:.2f} | {groups / rows:.2f}"
        print(f"| {test} | {n:,} | {shown} |", flush=True)


def bench_compare():
    show(
        "compare: two models, d_x = d_y = 2",
        {
            "compare-dense": "textbook: two dense float32 matrices, n = 5000",
            "compare-5000": "condgof.compare, exact, n = 5000",
            "compare-100000": "condgof.compare, low rank, n = 1e5",
            "compare-1000000": "condgof.compare, low rank, n = 1e6",
        },
        "compare-dense",
    )


def bench_composite():
    """A replicate of `composite`: draw, refit a line, evaluate the statistic; one core."""
    print("\n### composite: milliseconds a replicate, a line fitted by least squares, one core\n")
    print("| statistic | n | loop of whole tests | composite | times faster |\n|---|---|---|---|---|")
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
            f"| {test} | {n:,} | {count:,} | {row['seconds']:.3g} | {8 * n * count / 2**20:.0f} "
            f"| {row['megabytes']:.0f} |",
            flush=True,
        )


def bench_torch_scores():
    """Memory of scoring 1e6 rows with a network: the arrays, one batch, and little else."""
    arrays = 3 * 16e6 / 2**20  # x, y and scores: two columns of doubles each
    print("\n### Scores of 1e6 rows from a torch mixture density network (20 components, d_y = 2)\n")
    print(f"x, y and the scores take {arrays:.0f} MB. Beyond x and y, which are there before:\n")
    print("| what | seconds | memory added (MB) | (it and x and y, less one batch) / arrays |")
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
        print(f"| one batch of 8,192 rows | {one['seconds']:.3g} | {one['megabytes']:.0f} | |")
        print(f"| {label} | {row['seconds']:.3g} | {row['megabytes']:.0f} | {share:.2f} |", flush=True)


def bench_import():
    def seconds(statement):
        code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
        runs = [
            subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            for _ in range(9)
        ]
        return min(float(run.stdout) for run in runs)

    base, ours = seconds("import numpy, scipy.linalg"), seconds("import condgof")
    print("\n### Import time\n")
    print("| what | seconds |\n|---|---|")
    print(f"| import numpy, scipy.linalg | {base:.3f} |")
    print(f"| import condgof | {ours:.3f} ({ours / base:.2f} times) |", flush=True)


BENCHES = {
    "exact": bench_exact,
    "optimize": bench_optimize,
    "map": bench_map,
    "taxi": bench_taxi_size,
    "scale": bench_scale,
    "torch-scores": bench_torch_scores,
    "import": bench_import,
    "adaptive": bench_adaptive,
    "check": bench_check,
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
