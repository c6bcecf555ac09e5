"""Where in x one model fits worse than another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import single_threaded_blas
from condgof.kernels import CovariateKernel, Gaussian, Kernel, Radial
from condgof.methods import Joint, JointStream, check_names, joint_options, prepare_joint, solver_of
from condgof.result import GofResult
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


@dataclass(frozen=True)
class Place:
    """A place in x where one model is worse.

    Parameters
    ----------
    x : mapping of str to float or str
        The place, by the user's names for columns.
    worse : str
        The model that is worse there.
    difference : float
        Difference of the witnesses, positive where the first model is worse.
    ratio : float
        The difference over its noise.
    """

    x: Mapping[str, float | str]
    worse: str
    difference: float
    ratio: float

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON."""
        return {**vars(self), "x": dict(self.x)}

    def __str__(self) -> str:
        at = ", ".join(f"{k} = {v if isinstance(v, str) else f'{v:.4g}'}" for k, v in self.x.items())
        return f"{at}: {self.worse} is worse ({abs(self.ratio):.1f} times the noise)"


@dataclass(frozen=True, eq=False, repr=False)
class DifferenceMap:
    """A signed map over x of which of two models fits worse, from `compare_map`.

    Parameters
    ----------
    names : pair of str
        What the models are called.
    columns : tuple of str
        The columns of x.
    points : ndarray of shape (m, d_x)
        Where, in the user's units (categorical columns by the position of their level).
    values : ndarray of shape (m,)
        Difference of the witnesses, (1/d_y)(‖Ĝ_p(v)‖² − ‖Ĝ_q(v)‖²); positive where the first is worse.
    noise : ndarray of shape (m,)
        Standard error of each value, for that place alone.
    ratio : ndarray of shape (m,)
        The unbiased difference (pairs of different rows only) over its noise; 0 where there are no data.
    places : tuple of Place
        Where each model is clearly worse, strongest first, at most three for each.
    n : int
        Number of rows.
    kernel_x, kernel_y : Kernel, optional
        The kernels that were used.
    solver : str, optional
        Which solver ran.
    seed : int, optional
        Passing it as ``rng=`` gives this very map.
    details : mapping
        Notes.

    Examples
    --------
    >>> at, value = np.array([[0.5]]), np.array([0.2])
    >>> place = Place({"age": 0.5}, "p", 0.2, 4.0)
    >>> found = DifferenceMap(("p", "q"), ("age",), at, value, value / 4, 4 * value, (place,), n=100)
    >>> print(found.worse("p")[0])
    age = 0.5: p is worse (4.0 times the noise)
    """

    names: tuple[str, str]
    columns: tuple[str, ...]
    points: FloatArray
    values: FloatArray
    noise: FloatArray
    ratio: FloatArray
    places: tuple[Place, ...]
    n: int
    kernel_x: Any = None
    kernel_y: Any = None
    solver: str | None = None
    seed: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in (self.points, self.values, self.noise, self.ratio):
            array.flags.writeable = False
        object.__setattr__(self, "details", MappingProxyType(dict(self.details)))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "details": dict(self.details)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def worse(self, name: str) -> tuple[Place, ...]:
        """Return the places where a model is clearly worse, strongest first."""
        return tuple(place for place in self.places if place.worse == name)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON."""
        lists = {name: getattr(self, name).tolist() for name in ("points", "values", "noise", "ratio")}
        plain = GofResult(
            0.0, 1.0, "compare_map", self.n, kernel_x=self.kernel_x, kernel_y=self.kernel_y,
            solver=self.solver, seed=self.seed, details=self.details,
        ).to_dict()  # fmt: skip
        kept = ("method", "n", "kernel_x", "kernel_y", "solver", "seed", "details")
        return {
            "names": list(self.names),
            "columns": list(self.columns),
            **lists,
            "places": [place.to_dict() for place in self.places],
            **{key: plain[key] for key in kept},
        }

    def __repr__(self) -> str:
        return f"DifferenceMap(names={self.names!r}, n={self.n}, m={len(self.points)})"

    def __str__(self) -> str:
        lines = [f"where {self.names[0]} and {self.names[1]} differ in fit, n = {self.n:,}"]
        for name in self.names:
            found = self.worse(name)
            lines += [f"  {place}" for place in found]
            if not found:
                lines.append(f"  nowhere is {name} clearly worse")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.details.get("notes", ()))])


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
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> DifferenceMap:
    """Show where in x one model fits worse than another.

    At v it is the difference of the two witnesses, (1/d_y)(‖Ĝ_p(v)‖² − ‖Ĝ_q(v)‖²), in the coordinates
    of `compare`: positive where p is worse, negative where q is. The noise of a place is twice the
    standard deviation of its row means over √n, for that place alone: the map shows where to look, and
    `compare` whether there is a difference at all.

    Parameters
    ----------
    model_p, model_q, x, y, names, kernel_x, kernel_y, scale_x, rng, engine, memory
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
    options = joint_options(solver, None, None, engine, memory)
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
    joint: Joint, points: FloatArray, kernel_x: CovariateKernel, kernel_y: Radial, options: Any
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
    kernel_y: Radial,
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
    rows, shape = joint.rows(), (2, d_y, len(points))
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
