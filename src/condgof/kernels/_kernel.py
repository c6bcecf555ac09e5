"""Kernels on rows of numbers and categories: radial profiles, products over columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from numbers import Real
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError, InputTypeError, NumericalError, check_number
from condgof.result import plain
from condgof.sample import Column, Seed, Use

#: |a|² + |b|² − 2a·b loses about eps·min(|a|, |b|)² of distances measured in bandwidths. Up
#: to this size the loss is below 1e-11 and the matrix product serves; beyond it differences
#: are taken.
PRODUCT_LIMIT = 1e4
#: Rows that the median heuristic takes at most.
MAX_ROWS = 1000
#: Differences of numbers that one call computes for distances: a tenth of a second.
MOST_AT_ONCE = 10**8
#: The smallest bandwidth, and one over the largest: its fourth power is a double.
SMALLEST_BANDWIDTH = 1e-70
Bandwidth: TypeAlias = float | Literal["median"]
#: φ, φ' and φ''.
Profile: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]


@np.errstate(over="ignore")  # an infinite distance is far apart, and the kernel 0
def sqdist(
    a: FloatArray, b: FloatArray, scale: float = 1.0, *, exact: bool = False
) -> FloatArray:
    """Return ‖a_i − b_j‖² / scale² for rows of `a` (n, d) and `b` (m, d): (n, m).

    It is never negative. `exact` takes differences wherever a product would round.
    """
    # Columns far from 0, such as seconds since 1970, would lose digits.
    centre = b[0] if len(b) else 0.0
    a = (a - centre) / scale
    b = (b - centre) / scale
    norms_a = np.einsum("ij,ij->i", a, a)
    norms_b = np.einsum("ij,ij->i", b, b)
    if exact or not product_is_exact(norms_a, norms_b):
        return direct_sqdist(a, b)
    # One matrix product gives |a|²·1 + 1·|b|² − 2a·b.
    left = np.ones((len(a), a.shape[1] + 2))
    left[:, 0] = norms_a
    left[:, 2:] = a
    right = np.ones((b.shape[1] + 2, len(b)))
    right[1] = norms_b
    right[2:] = -2.0 * b.T
    out: FloatArray = left @ right
    return np.maximum(out, 0.0, out=out)


def product_is_exact(norms_a: FloatArray, norms_b: FloatArray) -> bool:
    """Whether squared norms (n,) and (m,), in bandwidths, suit the matrix product."""
    if not len(norms_a) or not len(norms_b):
        return True
    # A large norm on one side alone does no harm: those pairs are far apart compared with
    # the rounding error.
    return bool(min(norms_a.max(), norms_b.max()) <= PRODUCT_LIMIT)


def direct_sqdist(a: FloatArray, b: FloatArray) -> FloatArray:
    """Squared distances by differences, column by column: slower, and exact everywhere."""
    out = np.zeros((len(a), len(b)))
    for column_a, column_b in zip(a.T, b.T, strict=True):
        difference = column_a[:, None] - column_b
        out += np.square(difference, out=difference)
    return out


def pair_distances(points: FloatArray) -> FloatArray:
    """Return the distances of rows i < j of `points` (n, d), as SciPy's pdist does.

    Many of them are computed row by row: Ctrl-C is heard between two calls alone.
    """
    from scipy.spatial.distance import cdist, pdist

    n, d = points.shape
    if n * n * d <= MOST_AT_ONCE:
        return np.asarray(pdist(points))
    rows = [cdist(points[[i]], points[i + 1 :])[0] for i in range(n - 1)]
    return np.concatenate(rows)


def median_distance(points: FloatArray, rng: np.random.Generator, what: str = "x") -> float:
    """Return the median distance between rows i < j of `points` (n, d).

    Of more than 1,000 rows, 1,000 are drawn. Where more than half of the pairs are equal,
    it is the median of the other pairs.
    """
    everything = points
    if len(points) > MAX_ROWS:
        points = points[np.sort(rng.choice(len(points), MAX_ROWS, replace=False))]
        if (points == points[0]).all():
            # Almost all rows are equal, and those that differ were not drawn.
            points = np.unique(everything, axis=0)[:MAX_ROWS]
    distances = pair_distances(points - np.median(points, axis=0))
    median = float(np.median(distances))
    if median == 0:
        positive = distances[distances > 0]
        if not len(positive):
            advice = "Pass a number as the bandwidth, or more varied data."
            raise InputError(
                f"All rows of {what} used for the median heuristic are equal. {advice}"
            )
        median = float(np.median(positive))
    if not np.isfinite(median):
        raise NumericalError(f"Distances between rows of {what} overflow. Rescale {what}.")
    return median


class Kernel:
    """A positive-definite kernel on rows of numbers.

    Kernels multiply (``a * b``) and can be put on some columns of x (``a.on("age",
    "income")``).
    """

    def __call__(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Evaluate the kernel between the rows of `a` (n, d) and of `b` (m, d): (n, m)."""
        raise NotImplementedError

    def __mul__(self, other: Kernel) -> Kernel:
        if not isinstance(other, Kernel):
            return NotImplemented
        return Product.from_kernels(self, other)

    def on(self, *columns: int | str) -> Kernel:
        """Return this kernel on some columns of x, by name or by number.

        Examples
        --------
        >>> from condgof.kernels import Gaussian, Matern12
        >>> Gaussian(2.0).on("lon", "lat") * Matern12(1.0).on("age")
        Gaussian(2).on('lon', 'lat') * Matern12(1).on('age')
        """
        if not isinstance(self, (Radial, Categorical)):
            got = f"got {self!r}. Write a.on(...) * b.on(...)"
            raise InputTypeError(f"Only a single kernel can be put on columns, {got}.")
        if not columns:
            raise InputError(f"{self!r}.on() needs at least one column, by name or number.")
        for column in columns:
            if isinstance(column, bool) or not isinstance(column, (int, np.integer, str)):
                raise InputTypeError(f"A column is a name or a number, got {column!r}.")
        if len(set(columns)) < len(columns):
            raise InputError(f"{self!r}.on{columns!r} names a column twice.")
        return OnColumns(self, tuple(c if isinstance(c, str) else int(c) for c in columns))

    def to_dict(self) -> dict[str, Any]:
        """Return the kernel as plain Python objects, ready for JSON."""
        options = {f.name: plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]
        return {"kernel": type(self).__name__, **options}


@dataclass(frozen=True, repr=False)
class Radial(Kernel):
    """A kernel of the distance alone: k(a, b) = φ(t), t = ‖a − b‖² / bandwidth².

    A new kernel is a subclass with one method, `profile`.

    Parameters
    ----------
    bandwidth : float or "median"
        A positive number, or ``"median"`` for the median distance between rows.
    """

    bandwidth: Bandwidth = "median"

    #: Whether the profile is smooth enough at 0 for the Stein kernel on y.
    smooth: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.bandwidth, str) and self.bandwidth == "median":
            return
        what = f"{type(self).__name__}: the bandwidth"
        wanted = "a positive number or 'median'"
        if not isinstance(self.bandwidth, (str, Real)) or isinstance(self.bandwidth, bool):
            raise InputTypeError(
                f"{what} must be {wanted}, got {type(self.bandwidth).__name__}."
            )
        sigma = check_number(self.bandwidth, what, wanted, lambda v: 0 < v < math.inf)
        if not SMALLEST_BANDWIDTH <= sigma <= 1.0 / SMALLEST_BANDWIDTH:
            advice = "Rescale the data, so that distances are nearer to 1."
            raise InputError(f"{what} {sigma:.3g} is beyond double precision. {advice}")
        object.__setattr__(self, "bandwidth", sigma)

    def profile(self, t: FloatArray) -> Profile:
        """Return φ(t), φ'(t) and φ''(t) for t ≥ 0, of any shape, as new arrays."""
        raise NotImplementedError

    def value(self, t: FloatArray) -> FloatArray:
        """Return φ(t) alone."""
        return self.profile(t)[0]

    @property
    def sigma(self) -> float:
        """The bandwidth as a number."""
        if isinstance(self.bandwidth, str):
            why = "'median' is filled in from the data by a test"
            raise InputError(f"{self!r} has no bandwidth yet: {why}.")
        return self.bandwidth

    def with_bandwidth(self, bandwidth: float) -> Radial:
        """Return the same kernel with another bandwidth."""
        return replace(self, bandwidth=bandwidth)

    def __call__(self, a: FloatArray, b: FloatArray) -> FloatArray:
        return self.value(self.distances(a, b))

    def distances(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Return t = ‖a_i − b_j‖² / bandwidth² for all pairs of rows, (n, m)."""
        # A profile with a kink at 0 takes the root of t, and so of the rounding error of a
        # matrix product.
        return sqdist(a, b, self.sigma, exact=not self.smooth)

    def __repr__(self) -> str:
        median = isinstance(self.bandwidth, str)
        text = repr(self.bandwidth) if median else f"{self.bandwidth:.6g}"
        return f"{type(self).__name__}({text})"


@dataclass(frozen=True)
class Categorical(Kernel):
    """Kernel on categories: `similarity` to the power of the columns where two rows differ.

    Every category is as far from every other. The kernel is positive definite, and tells
    all categories apart, for any similarity below 1; with 0, rows of different categories
    are never compared.

    Parameters
    ----------
    similarity : float
        From 0 (included) to 1 (excluded).

    Examples
    --------
    >>> Categorical(0.5)(np.array([[0.0]]), np.array([[0.0], [1.0]]))
    array([[1. , 0.5]])
    """

    similarity: float = 0.5

    def __post_init__(self) -> None:
        wanted = "at least 0 and below 1"
        similarity = check_number(
            self.similarity, "Categorical: similarity", wanted, lambda v: 0 <= v < 1
        )
        object.__setattr__(self, "similarity", similarity)

    def __call__(self, a: FloatArray, b: FloatArray) -> FloatArray:
        out = np.ones((len(a), len(b)))
        for column_a, column_b in zip(a.T, b.T, strict=True):
            np.multiply(out, self.similarity, out=out, where=column_a[:, None] != column_b)
        return out

    def __repr__(self) -> str:
        return f"Categorical({self.similarity:.6g})"


@dataclass(frozen=True, repr=False)
class Gaussian(Radial):
    """Gaussian kernel, exp(−‖a − b‖² / 2σ²), σ the bandwidth. The paper's for x and y.

    Examples
    --------
    >>> Gaussian(1.0)(np.array([[0.0]]), np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.607]])
    """

    def profile(self, t: FloatArray) -> Profile:
        phi = self.value(t)
        return phi, -0.5 * phi, 0.25 * phi

    def value(self, t: FloatArray) -> FloatArray:
        return np.exp(-0.5 * t)


@dataclass(frozen=True, repr=False)
class IMQ(Radial):
    """Inverse multiquadric kernel, (1 + ‖a − b‖² / σ²)^(−1/2), σ the bandwidth.

    It is good on y of many columns.

    Examples
    --------
    >>> IMQ(1.0)(np.array([[0.0]]), np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.707]])
    """

    def profile(self, t: FloatArray) -> Profile:
        u = 1.0 / (1.0 + t)
        phi = np.sqrt(u)
        dphi = -0.5 * phi * u
        return phi, dphi, -1.5 * dphi * u


@dataclass(frozen=True, repr=False)
class Matern52(Radial):
    """Matérn kernel of smoothness 5/2, (1 + ρ + ρ²/3) exp(−ρ), ρ = √5 ‖a − b‖ / σ.

    σ is the bandwidth. The kernel is not analytic: on x, the paper's theorem for random
    locations does not cover it.

    Examples
    --------
    >>> Matern52(1.0)(np.array([[0.0]]), np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.524]])
    """

    def profile(self, t: FloatArray) -> Profile:
        rho = np.sqrt(5.0 * t)
        decay = np.exp(-rho)
        phi = (1.0 + rho + rho * rho / 3.0) * decay
        return phi, (-5.0 / 6.0) * (1.0 + rho) * decay, (25.0 / 12.0) * decay


@dataclass(frozen=True, repr=False)
class Matern12(Radial):
    """Matérn kernel of smoothness 1/2, exp(−‖a − b‖ / σ), for x only (and for y in `mmd`).

    Also known as the exponential or Laplacian kernel; σ is the bandwidth. It has a kink at
    0, where a Stein kernel on y needs two derivatives. It is not analytic: the paper's
    theorem for random locations does not cover it.

    Examples
    --------
    >>> Matern12(1.0)(np.array([[0.0]]), np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.368]])
    """

    smooth: ClassVar[bool] = False

    def profile(self, t: FloatArray) -> Profile:
        # Derivatives are infinite at the kink, and are cut off at a distance of 1e-12.
        root = np.sqrt(np.maximum(t, 1e-24))
        phi = np.exp(-np.sqrt(t))
        return phi, -0.5 * phi / root, 0.25 * phi * (1.0 + 1.0 / root) / (root * root)


@dataclass(frozen=True)
class OnColumns(Kernel):
    """A kernel on some columns of x; made by ``kernel.on(...)``."""

    kernel: Radial | Categorical
    #: Numbers or names; names are turned into numbers when the kernel meets the data.
    columns: tuple[int | str, ...]
    #: Names of the columns, once they are numbers.
    labels: tuple[str, ...] = ()

    def indices(self) -> list[int]:
        """Return the columns as numbers."""
        if any(isinstance(column, str) for column in self.columns):
            raise InputError(f"{self!r} names columns, which a test turns into numbers.")
        return [int(column) for column in self.columns]

    def __call__(self, a: FloatArray, b: FloatArray) -> FloatArray:
        columns = self.indices()
        return self.kernel(a[:, columns], b[:, columns])

    def __repr__(self) -> str:
        return f"{self.kernel!r}.on({', '.join(map(repr, self.labels or self.columns))})"

    def to_dict(self) -> dict[str, Any]:
        """Return the kernel as plain Python objects, ready for JSON."""
        return {**self.kernel.to_dict(), "columns": list(self.labels or self.columns)}


@dataclass(frozen=True)
class Product(Kernel):
    """A product of kernels, each on its own columns; made by ``a.on(...) * b.on(...)``."""

    factors: tuple[OnColumns, ...]

    @classmethod
    def from_kernels(cls, *kernels: Kernel) -> Product:
        """Multiply kernels on columns, and products of them."""
        for kernel in kernels:
            if not isinstance(kernel, (Product, OnColumns)):
                wanted = f"write {kernel!r}.on(...)"
                raise InputTypeError(f"A factor of a product needs its columns: {wanted}.")
        parts = (k.factors if isinstance(k, Product) else (k,) for k in kernels)
        return cls(tuple(chain.from_iterable(parts)))  # type: ignore[arg-type]

    def __call__(self, a: FloatArray, b: FloatArray) -> FloatArray:
        out = np.ones((len(a), len(b)))
        for factor in self.factors:
            out *= factor(a, b)
        return out

    def __repr__(self) -> str:
        return " * ".join(map(repr, self.factors))


@dataclass(frozen=True, repr=False)
class CovariateKernel(Product):
    """A kernel on x that is ready for a sample: bandwidths are numbers, columns indices.

    Without factors it is 1.
    """

    #: For each factor, whether its bandwidth came from the median heuristic.
    asked_for_median: tuple[bool, ...] = ()

    @property
    def compares_levels(self) -> bool:
        """Whether some factor compares categories, between which there are no points."""
        return any(isinstance(factor.kernel, Categorical) for factor in self.factors)

    def joined(self, x: FloatArray) -> tuple[FloatArray, tuple[OnColumns, ...]]:
        """Return the columns of x (n, d_x) of Gaussian factors, and the other factors.

        The columns, (n, d), are in bandwidths: one Gaussian kernel of bandwidth 1 serves
        for all of them.
        """
        columns = [np.empty((len(x), 0))]
        others = []
        moved = x - np.median(x, axis=0) if self.factors else x
        for factor in self.factors:
            if type(factor.kernel) is Gaussian:
                columns.append(moved[:, factor.indices()] / factor.kernel.sigma)
            else:
                others.append(factor)
        return np.concatenate(columns, axis=1), tuple(others)

    def shown(self, d_x: int) -> Kernel:
        """Return the simplest kernel that says the same, for results and their readers."""
        if len(self.factors) == 1:
            only = self.factors[0]
            return only.kernel if len(only.columns) == d_x else only
        return Product(self.factors)


def resolve_x(
    kernel: object, x: FloatArray, columns: Sequence[Column], seed: Seed
) -> CovariateKernel:
    """Make the kernel on x ready for a sample x (n, d_x), in the kernel's units."""
    if not isinstance(kernel, Kernel):
        wanted = "a kernel such as condgof.Gaussian('median')"
        raise InputTypeError(f"kernel_x must be {wanted}, got {kernel!r}.")
    if isinstance(kernel, (Radial, Categorical)):
        factors = _spread(kernel, columns)
    else:
        factors = [
            _locate(factor, columns) for factor in Product.from_kernels(kernel).factors
        ]
    ready: list[OnColumns] = []
    medians: list[bool] = []
    for number, factor in enumerate(factors):
        varying = [i for i in factor.indices() if not columns[i].constant]
        if not varying:
            continue
        inner: Any = factor.kernel
        medians.append(getattr(inner, "bandwidth", None) == "median")
        if medians[-1]:
            rng = seed.stream(Use.BANDWIDTH_X, number)
            inner = inner.with_bandwidth(median_distance(x[:, varying], rng, "x"))
        labels = tuple(columns[i].name for i in varying)
        ready.append(OnColumns(inner, tuple(varying), labels))
    if not ready:
        raise InputError(
            "kernel_x uses constant columns only. Put it on a column that varies."
        )
    return CovariateKernel(tuple(ready), tuple(medians))


def resolve_y(kernel: object, y: FloatArray, seed: Seed, *, stein: bool = True) -> Radial:
    """Make the kernel on y ready for a sample y (n, d_y): its bandwidth is a number.

    A kernel for a Stein kernel (`stein`) must be smooth.
    """
    if not isinstance(kernel, Radial):
        wanted = "a radial kernel such as condgof.Gaussian('median')"
        raise InputTypeError(f"kernel_y must be {wanted}, got {kernel!r}.")
    if stein and not kernel.smooth:
        why = "the Stein kernel needs two derivatives at distance 0"
        advice = "Use Gaussian, IMQ or Matern52 for kernel_y."
        raise InputError(f"{type(kernel).__name__} cannot serve on y: {why}. {advice}")
    if kernel.bandwidth == "median":
        return kernel.with_bandwidth(median_distance(y, seed.stream(Use.BANDWIDTH_Y), "y"))
    return kernel


def _spread(kernel: Radial | Categorical, columns: Sequence[Column]) -> list[OnColumns]:
    """Put a plain kernel on all numeric columns; categorical ones get `Categorical()`."""
    numeric = tuple(i for i, column in enumerate(columns) if not column.categorical)
    categorical = tuple(i for i, column in enumerate(columns) if column.categorical)
    if isinstance(kernel, Categorical):
        return [OnColumns(kernel, numeric + categorical)]
    both = [OnColumns(kernel, numeric), OnColumns(Categorical(), categorical)]
    return [factor for factor in both if factor.columns]


def _locate(factor: OnColumns, columns: Sequence[Column]) -> OnColumns:
    """Turn the columns of a factor, names or numbers, into indices from 0."""
    names = [column.name for column in columns]
    indices: list[int] = []
    for wanted in factor.columns:
        if isinstance(wanted, str):
            if names.count(wanted) > 1:
                raise InputError(
                    f"kernel_x: x has several columns named {wanted!r}. Use numbers."
                )
            if wanted not in names:
                raise InputError(
                    f"kernel_x: x has no column {wanted!r}; it has {', '.join(names)}."
                )
            index = names.index(wanted)
        else:
            if not -len(names) <= wanted < len(names):
                raise InputError(
                    f"kernel_x: x has {len(names)} columns, there is no {wanted}."
                )
            index = wanted % len(names)
        if columns[index].categorical and isinstance(factor.kernel, Radial):
            raise InputTypeError(
                f"kernel_x: column {names[index]!r} is categorical. Use"
                " Categorical().on(...)."
            )
        indices.append(index)
    return OnColumns(factor.kernel, tuple(indices))


@dataclass(frozen=True)
class FiniteLocations:
    """The kernel k_V(x, x') = (1/J) Σ_j k(x, v_j) k(x', v_j) of the finite-set tests."""

    kernel: CovariateKernel
    locations: FloatArray  #: V (J, d_x), in the coordinates of the kernel.

    def features(self, x: FloatArray) -> FloatArray:
        """Return F (n, J) with k_V(x_i, x_j) = F_i · F_j."""
        return np.asarray(self.kernel(x, self.locations) / np.sqrt(len(self.locations)))


@dataclass(frozen=True, eq=False)
class Gram:
    """The matrix k(z_i, z_j) of a sample, computed by blocks.

    It is symmetric, with a constant diagonal.
    """

    #: The sample, (n, d).
    points: FloatArray
    #: The columns of Gaussian factors, in bandwidths; see `CovariateKernel.joined`.
    joined: FloatArray
    #: The factors that are not Gaussian.
    others: tuple[OnColumns, ...]

    @classmethod
    def from_sample(cls, kernel: CovariateKernel, points: FloatArray) -> Gram:
        """Return the matrix of a kernel on a sample (n, d)."""
        joined, others = kernel.joined(points)
        return cls(points=points, joined=joined, others=others)

    @property
    def n(self) -> int:
        return len(self.points)

    def block(self, rows: slice, columns: slice) -> FloatArray:
        """Return some rows and columns of the matrix."""
        out = Gaussian(1.0)(self.joined[rows], self.joined[columns])
        for factor in self.others:
            out *= factor(self.points[rows], self.points[columns])
        return out
