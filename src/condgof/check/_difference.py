"""Where in x one model fits worse than another."""

from __future__ import annotations

from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.check._difference_record import DifferenceMap, Place
from condgof.engine import single_threaded_blas
from condgof.kernels import CovariateKernel, Gaussian, Kernel, Radial, ResponseKernel
from condgof.methods._compare import check_names, joint_options
from condgof.methods._contrast import added, seen, shared_evidence, sums_over
from condgof.methods._joint import Joint, prepare_joint
from condgof.methods._rows import Scored
from condgof.null import settle
from condgof.sample import RngLike, Seed, Use
from condgof.stein import (
    DEFAULT_MEMORY,
    Features,
    Given,
    Panel,
    Piece,
    Plan,
    check_overflow,
    matmul,
    reduce_over,
)

#: Places to look at when none are given, and how many of them are named in each direction.
PLACES, NAMED = 400, 3
#: A place is named when the difference is this many times its noise, and no nearer to one that is
#: named already than where k is this large.
CLEAR, NEAR = 2.0, 0.5


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
    precision: float | None = None,
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
    options = joint_options(solver, precision, engine, memory, missing)
    seed, called = Seed.of(rng), check_names(names, 2)
    models = dict(zip(called, (model_p, model_q), strict=True))
    joint = prepare_joint(models, x, y, scale_x, options, seed)
    rows = joint.some[0]
    ready_x, ready_y = rows.kernels(kernel_x, kernel_y, seed)
    users = _points(rows, at, seed)
    points = rows.from_user(users)
    exact = joint.source is None and options.chosen(joint.n) == "exact"
    if exact and isinstance(ready_y, Radial):
        found = _exact(joint, points, ready_x, ready_y, options)
    else:  # nothing of a discrete y is left out
        found = _lowrank(joint, points, ready_x, ready_y, options, seed)
    values, unbiased, noise = found / rows.sample.d_y
    ratio = np.divide(unbiased, noise, out=np.zeros(len(noise)), where=noise > 0)
    notes = rows.notes()
    return DifferenceMap(
        names=(called[0], called[1]),
        columns=tuple(column.name for column in rows.sample.x_columns),
        points=users,
        values=values,
        noise=noise,
        ratio=ratio,
        places=_places(rows, called, users, values, ratio, ready_x),
        n=joint.n,
        kernel_x=ready_x.shown(rows.sample.d_x),
        kernel_y=ready_y,
        solver="exact" if exact else "lowrank",
        seed=seed.value,
        details={"notes": notes} if notes else {},
    )


def _points(rows: Scored, at: Any, seed: Seed) -> FloatArray:
    """Return the places to look at, in the user's units."""
    if at is not None:
        return rows.sample.locations(at)
    some = seed.stream(Use.LOCATIONS).choice(rows.n, min(rows.n, PLACES), replace=False)
    return np.array(rows.sample.x[np.sort(some)])


def _exact(
    joint: Joint, points: FloatArray, kernel_x: CovariateKernel, kernel_y: Radial, options: Any
) -> FloatArray:
    """Return differences of the witnesses, the same without their diagonal, and their noise, (3, m)."""
    n = joint.n
    p, q = (one.operator(CovariateKernel(()), kernel_y) for one in joint.each)
    diagonal = p.diag() - q.diag()
    out, group = np.empty((3, len(points))), max(1, options.memory // (64 * n))
    for start in range(0, len(points), group):
        part = slice(start, start + group)
        f = kernel_x(joint.each[0].x, points[part])
        both = (matmul(h, f, engine=options.engine, memory=options.memory) for h in (p, q))
        sums = f * (next(both) - next(both))
        total = sums.sum(axis=0)
        out[0, part] = (total + diagonal @ np.square(f)) / n**2
        out[1, part] = total / (n * (n - 1))
        out[2, part] = 2.0 * sums.std(axis=0, ddof=1) / ((n - 1) * np.sqrt(n))
    return out


def _lowrank(
    joint: Joint,
    points: FloatArray,
    kernel_x: CovariateKernel,
    kernel_y: ResponseKernel,
    options: Any,
    seed: Seed,
) -> FloatArray:
    """Return the same, from functions of y that both models share."""
    n, rows, m = float(joint.n), joint.rows(), len(points)
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        evidence = shared_evidence(joint, kernel_y, options, seed)
    near = Given(lambda x: kernel_x(x, points), m, single=True)
    plan = Plan(Features((near,)), evidence, (Panel(slice(0, m), slice(0, 1)),))
    sums, own = sums_over(plan, rows, 2, options.engine)
    whole = np.square(sums).sum(axis=2)
    totals = settle(whole - own, whole + own)
    difference = totals[0] - totals[1]

    def task(piece: Piece) -> list[FloatArray]:
        f, each, squares = seen(plan, piece, 2)
        p, q = (xi @ s.T - squared * f for xi, s, squared in zip(each, sums, squares, strict=True))
        return [np.square(f * (p - q) - difference / n).sum(axis=0)]

    (spread,) = reduce_over(rows, options.engine, task, added)
    check_overflow(spread)
    noise = 2.0 * np.sqrt(spread / (n - 1)) / ((n - 1) * np.sqrt(n))
    return np.stack([(whole[0] - whole[1]) / n**2, difference / (n * (n - 1)), noise])


def _places(
    rows: Scored,
    names: tuple[str, ...],
    users: FloatArray,
    values: FloatArray,
    ratio: FloatArray,
    kernel: CovariateKernel,
) -> tuple[Place, ...]:
    """Name the places where a model is clearly worse: the strongest, apart from each other."""
    found: list[Place] = []
    points = rows.from_user(users)
    labels = rows.sample.labels(users)
    columns = [column.name for column in rows.sample.x_columns]
    one = float(kernel(points[:1], points[:1])[0, 0])
    for sign, name in zip((1.0, -1.0), names, strict=True):
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
