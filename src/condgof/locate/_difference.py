"""Where in x one model fits worse than another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import single_threaded_blas
from condgof.kernels import CovariateKernel, Gaussian, Kernel, ResponseKernel
from condgof.locate._difference_record import DifferenceMap, Place
from condgof.methods import Joint, JointStream, check_names, joint_options, prepare_joint, solver_of
from condgof.sample import RngLike, Seed, Use
from condgof.stein import (
    DEFAULT_MEMORY,
    choose_shared,
    matmul,
    shared_spread,
    shared_sums,
    totals_of,
)

#: Places to look at when none are given, and how many of them are named in each direction.
PLACES, NAMED = 400, 3
#: A place is named when the difference is this many times its noise, and no nearer to one that is
#: named already than where k is this large.
CLEAR, NEAR = 2.0, 0.5
RANK, TOLERANCE = 300, 1e-5


def compare_map(
    model_p: Any,
    model_q: Any,
    x: Any,
    y: Any = None,
    *,
    at: Any = None,
    names: tuple[str, str] = ("p", "q"),
    kernel_x: Kernel = Gaussian("median"),
    kernel_y: Kernel = Gaussian("median"),
    scale_x: str = "std",
    solver: str = "auto",
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> DifferenceMap:
    """Show where in x one model fits worse than another.

    At v it is the difference of the two witnesses, (1/d_y)(‖Ĝ_p(v)‖² − ‖Ĝ_q(v)‖²), in the coordinates
    of `compare` (of a discrete y, over its cells, with d_y = 1): positive where p is worse, negative
    where q is. The noise of a place is twice the standard deviation of its row means over √n, for that
    place alone: the map shows where to look, and `compare` whether there is a difference at all.

    Parameters
    ----------
    model_p, model_q, x, y, names, kernel_x, kernel_y, scale_x, missing, rng, engine, memory
        As in `compare`.
    at : array_like of shape (m, d_x), or (m,) when d_x = 1, or frame, optional
        Where to look; at 400 rows of x, drawn with `rng`, unless given.
    solver : {"auto", "exact", "lowrank"}
        "lowrank" is linear in n; "auto" takes it above 5,000 rows.

    Returns
    -------
    DifferenceMap

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 1000)
    >>> y = rng.standard_normal(1000)
    >>> left = (np.where(x < 0, 0.6, 0.0), np.ones(1000))
    >>> right = (np.where(x > 0, 0.6, 0.0), np.ones(1000))
    >>> found = cg.compare_map(left, right, x, y, at=[-1.0, 1.0], names=("left", "right"), rng=0)
    >>> found.ratio[0] > 2, found.ratio[1] < -2
    (np.True_, np.True_)
    """
    options = joint_options(solver, None, None, engine, memory, missing)
    seed, called = Seed.of(rng), check_names(names, 2)
    models = dict(zip(called, (model_p, model_q), strict=True))
    joint = prepare_joint(models, x, y, scale_x, options, seed)
    rows = joint.subsample
    ready_x, ready_y = rows.kernels(kernel_x, kernel_y, seed)
    users = _points(rows, at, seed)
    points = users / rows.scales
    if isinstance(joint, Joint) and solver_of(options, joint.n) == "exact":
        chosen, found = "exact", _exact(joint, points, ready_x, ready_y, options)
    else:
        chosen, found = "lowrank", _lowrank(joint, points, ready_x, ready_y, options, seed)
    values, unbiased, noise = found
    ratio = np.divide(unbiased, noise, out=np.zeros(len(noise)), where=noise > 0)
    notes = rows.notes()
    return DifferenceMap(
        names=(called[0], called[1]),
        columns=tuple(column.name for column in rows.sample.x_columns),
        points=users,
        values=values,
        noise=noise,
        ratio=ratio,
        places=_places(rows, users, values, ratio, ready_x),
        n=joint.n,
        kernel_x=ready_x.shown(rows.sample.d_x),
        kernel_y=ready_y,
        solver=chosen,
        seed=seed.value,
        details={"notes": notes} if notes else {},
    )


def _points(rows: Joint, at: Any, seed: Seed) -> FloatArray:
    """Return the places to look at, in the user's units."""
    if at is not None:
        return rows.sample.locations(at)
    rng = seed.stream(Use.LOCATIONS)
    some = rng.choice(rows.n, min(rows.n, PLACES), replace=False)
    return np.array(rows.sample.x[np.sort(some)])


def _exact(
    joint: Joint,
    points: FloatArray,
    kernel_x: CovariateKernel,
    kernel_y: ResponseKernel,
    options: Any,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the differences of the witnesses, without their diagonal too, and their noise."""
    n, d_y = joint.n, joint.sample.d_y
    p, q = joint.operators(CovariateKernel(()), kernel_y)
    diagonal = p.diag() - q.diag()
    out = np.empty((3, len(points)))
    group = max(1, options.memory // (64 * n))
    for start in range(0, len(points), group):
        part = slice(start, start + group)
        f = kernel_x(joint.x, points[part])
        sums = matmul(p, f, engine=options.engine, memory=options.memory)
        sums -= matmul(q, f, engine=options.engine, memory=options.memory)
        sums *= f
        total = sums.sum(axis=0)
        out[0, part] = (total + diagonal @ np.square(f)) / (d_y * n**2)
        out[1, part] = total / (d_y * n * (n - 1))
        out[2, part] = 2.0 * sums.std(axis=0, ddof=1) / (d_y * (n - 1) * np.sqrt(n))
    return out[0], out[1], out[2]


def _lowrank(
    joint: Joint | JointStream,
    points: FloatArray,
    kernel_x: CovariateKernel,
    kernel_y: ResponseKernel,
    options: Any,
    seed: Seed,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same, from a factor of the kernel on y that both models share."""
    some, n = joint.subsample, float(joint.n)
    d_y, rng = some.sample.d_y, seed.stream(Use.LANDMARKS, 5)
    taken = np.sort(rng.choice(some.n, min(some.n, 4096), replace=False))
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        features = choose_shared(
            CovariateKernel(()),
            kernel_y,
            some.x[taken],
            some.y[taken],
            rng,
            tolerance=TOLERANCE,
            cap=RANK,
        )
    weigh: Callable[[FloatArray], FloatArray] = lambda x: kernel_x(x, points)  # noqa: E731
    rows, shape = joint.rows(), (2, features.coordinates, len(points))
    sums, own = shared_sums(features, rows, weigh, shape, options.engine)
    whole = np.square(sums).sum(axis=(1, 2))
    totals = totals_of(sums, own)
    difference = totals[0] - totals[1]
    spread = shared_spread(features, rows, weigh, sums, difference / n, options.engine)
    return (
        (whole[0] - whole[1]) / (d_y * n**2),
        difference / (d_y * n * (n - 1)),
        2.0 * np.sqrt(spread / (n - 1)) / (d_y * (n - 1) * np.sqrt(n)),
    )


def _places(
    rows: Joint, users: FloatArray, values: FloatArray, ratio: FloatArray, kernel: CovariateKernel
) -> tuple[Place, ...]:
    """Name the places where a model is clearly worse: the strongest, apart from each other."""
    found: list[Place] = []
    points = users / rows.scales
    labels = rows.sample.labels(users)
    columns = [column.name for column in rows.sample.x_columns]
    one = float(kernel(points[:1], points[:1])[0, 0])
    for sign, name in ((1.0, rows.names[0]), (-1.0, rows.names[1])):
        kept: list[int] = []
        for k in np.argsort(-sign * ratio, kind="stable"):
            if sign * ratio[k] < CLEAR or len(kept) == NAMED:
                break
            if kept and float(kernel(points[k : k + 1], points[kept]).max()) > NEAR * one:
                continue
            kept.append(int(k))
            at = labels[k] if labels else dict(zip(columns, map(float, users[k]), strict=True))
            found.append(Place(at, name, float(values[k]), float(ratio[k])))
    return tuple(found)
