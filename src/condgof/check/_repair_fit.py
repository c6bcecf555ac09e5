"""Learning a repair. In each row numbers η = B'φ(x) say how the law is changed, η = 0 not at all.

B maximises Σ ℓ(η; y) − ½ λ |B|², ℓ the gain in log score, in units in which η has information 1 at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.polynomial.legendre import legvander
from scipy.linalg import solve_triangular
from scipy.special import log_softmax, ndtr, ndtri

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.check._looked import Looked
from condgof.errors import InputError, UnsupportedModelError
from condgof.laws import _repaired as maps
from condgof.laws._counts import Counts
from condgof.laws._discrete import Probabilities, normalised
from condgof.laws._draws import Draws
from condgof.laws._known import Intervals, Quantiles
from condgof.laws._law import TINY, Law
from condgof.methods._scored import predictions
from condgof.sample import Column, Sample, read_table

#: Penalties of what depends on x, in rows; of the constant; and how much more the shape costs.
PENALTIES, CONSTANT, SHAPE = (5.0, 25.0, 125.0, 625.0), 1.0, 4.0
#: Steps of the optimiser, and where it stops: gains are told to three digits.
STEPS, FLAT = 40, 3e-5
#: Degrees of the log-density of the PIT that is common to all rows, its knots, its penalty in rows.
DEGREES, SHAPE_KNOTS, SHAPE_PENALTY = 6, 65, 10.0
#: Shares of the overall frequencies that are mixed with probabilities, where 0 was given to what came.
FLOORS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
#: Logits and numbers of a row beyond this are not meant; a probability below that counts as that; of
#: more draws so many quantiles are looked at while learning.
MOST, LEAST, MOST_DRAWS = 30.0, 1e-12, 63
#: What of several columns of y, and of laws that are known by less, can be done.
REFUSALS = {
    "censored": "a correction of times of which some are censored is not offered",
    "several": "y has several columns. Repair each by itself: check the law of one column of y, then "
    "report.repair()",
    "scores": "a model that is known by its scores alone has no CDF that could be corrected",
    "moments": "a model that is known by its mean and standard deviation alone has no CDF that could be "
    "corrected; say which distribution it means, such as condgof.normal(mean, std)",
    "counts": "counts that are known by ratios of probabilities have no CDF that could be corrected",
}
#: Waves along the ranks of a column that the check names, of any other, and values that ranks come from.
FINE, WAVES, KNOTS = 12, 5, 256
#: A category has a function for each of so many levels, the largest; a column in a pair so many; and
#: what a level counts for: two levels of equal size have the variance of a wave.
LEVELS, PAIRED, LEVEL = 40, 5, 2.0


class Learned(NamedTuple):
    """A repair: the numbers of a row are linear in functions of x, by coefficients (P, q)."""

    coefficients: FloatArray
    #: The density of the PIT that is common to all rows, at knots.
    shape: FloatArray | None = None
    #: Of classes: the share of overall frequencies that is mixed in, and these (K,).
    floor: tuple[float, FloatArray] | None = None

    def warp(self, features: FloatArray) -> maps.Warp:
        return maps.Warp(features @ self.coefficients[:, : maps.PARAMETERS], self.shape)


@lru_cache(maxsize=1)
def warp_units() -> FloatArray:
    """Return C with C'FC = 1, F the Fisher information of the map at the identity, (4, 4).

    C is upper triangular: skew comes with the shift, and tails with the spread, that keep them pure.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    bent = maps.bend(np.zeros((len(nodes), maps.PARAMETERS)), nodes)
    slopes = bent.by_slope - bent.w * bent.by_w
    fisher = (slopes * weights) @ slopes.T / weights.sum()
    return np.asarray(np.linalg.inv(np.linalg.cholesky(fisher)).T)


@dataclass(frozen=True, eq=False)
class Mapped:
    """Normal scores z of one continuous y, (n,); η is the map of `Warp`.

    As all kinds: `units` (q, q) lead from numbers of unit information to η; `costs` are how much more
    each number costs where it depends on x; `start` is where to begin.
    """

    z: FloatArray
    #: Whether a shape that is common to all rows is learned, too.
    shaped = True
    costs: ClassVar[FloatArray | float] = np.array([1.0, 1.0, SHAPE, SHAPE])
    BY_ROW: ClassVar[tuple[str, ...]] = ("z",)

    @classmethod
    def of(cls, law: Law, looked: Looked, sample: Sample) -> Self:
        return cls(np.asarray(looked.z)[:, 0])

    @property
    def units(self) -> FloatArray:
        return warp_units()

    @property
    def start(self) -> FloatArray | float:
        low, middle, high = np.quantile(self.z, (0.25, 0.5, 0.75))
        return np.array([middle, np.log(max(high - low, 1e-9) / 1.349), 0.0, 0.0])

    def at(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ℓ (n,), and its derivatives (n, q)."""
        bent = maps.bend(eta, self.z)
        value = 0.5 * (self.z**2 - bent.w**2) + bent.log_slope
        return value, (bent.by_slope - bent.w * bent.by_w).T

    def take(self, rows: AnyArray) -> Self:
        return replace(self, **{name: getattr(self, name)[rows] for name in self.BY_ROW})

    def learn(self, features: FloatArray, penalty: float) -> list[Learned]:
        """Learn from these rows; what comes first is simpler."""
        plain = Learned(fit(self, features, penalty))
        if not self.shaped:
            return [plain]
        return [plain, plain._replace(shape=fit_shape(maps.bend(plain.warp(features).eta, self.z).w))]

    def gains(self, learned: Learned, features: FloatArray) -> FloatArray:
        """Return by how much rows are predicted better, (n,)."""
        return learned.warp(features).log_ratio(self.z)

    @staticmethod
    def change(law: Law, learned: Learned, features: FloatArray) -> Law:
        return maps.Repaired(law, learned.warp(features))


@dataclass(frozen=True, eq=False)
class Knotted(Mapped):
    """Quantiles, intervals and draws: y among values (n, K) with known normal scores `places` (K,)."""

    y: FloatArray
    values: FloatArray
    places: FloatArray
    shaped = False
    BY_ROW = ("z", "y", "values")

    @classmethod
    def of(cls, law: Law, looked: Looked, sample: Sample) -> Self:
        y, (places, values) = sample.y[:, 0], _knots(law, MOST_DRAWS)
        return cls(maps.placed(values, places, y), y, values, places)

    def gains(self, learned: Learned, features: FloatArray) -> FloatArray:
        def loss(values: FloatArray) -> FloatArray:
            """Return the pinball loss, twice its mean over the levels, (n,)."""
            over = self.y[:, None] - values
            each = np.maximum(ndtr(self.places) * over, -ndtr(-self.places) * over)
            return np.asarray(2.0 * each.mean(axis=1))

        return loss(self.values) - loss(_moved(self.values, self.places, learned.warp(features)))

    @staticmethod
    def change(law: Law, learned: Learned, features: FloatArray) -> Law:
        places, values = _knots(law)
        moved = _moved(values, places, learned.warp(features))
        if isinstance(law, Draws):
            return replace(law, values=np.rint(moved) if (values == np.rint(values)).all() else moved)
        if isinstance(law, Quantiles):
            return replace(law, values=moved)
        assert isinstance(law, Intervals)
        half = len(law.coverage)
        return replace(law, low=moved[:, half - 1 :: -1], high=moved[:, half:])


def _knots(law: Law, most: int = 2**31) -> tuple[FloatArray, FloatArray]:
    """Return normal scores of levels (K,) and quantiles (n, K); of draws at `most`."""
    if isinstance(law, Draws):
        count, values = law.values.shape[1], np.sort(np.asarray(law.values, dtype=np.float64), axis=1)
        levels = (np.arange(min(count, most)) + 0.5) / min(count, most)
        values = values if count <= most else np.quantile(values, levels, axis=1, method="hazen").T
    elif isinstance(law, Quantiles):
        levels, values = law.levels, np.asarray(law.values, dtype=np.float64)
    else:
        assert isinstance(law, Intervals)
        tails = 0.5 * (1.0 - law.coverage)
        levels = np.concatenate([tails[::-1], 1.0 - tails])
        values = np.concatenate([law.low[:, ::-1], law.high], axis=1).astype(np.float64)
        if not np.isfinite(values).all():
            raise UnsupportedModelError(
                "An interval without an end cannot be repaired: what lies beyond it has no measure. "
                "Pass its finite end as a quantile, condgof.from_quantiles(end, level)."
            )
    return np.asarray(ndtri(levels)), values


def _moved(values: FloatArray, at: FloatArray, warp: maps.Warp) -> FloatArray:
    return maps.values_at(values, at, warp.inverse(np.broadcast_to(at, (len(values), len(at)))))


@dataclass(frozen=True, eq=False)
class Counted(Mapped):
    """Normal scores of the CDF of counts before and at y, and at 0, (n, 3); η also has the odds of 0."""

    shaped = False
    start = 0.0
    costs = np.array([1.0, 1.0, SHAPE, SHAPE, SHAPE])

    @classmethod
    def of(cls, law: Law, looked: Looked, sample: Sample) -> Self:
        assert isinstance(law, Counts)
        y = sample.y[:, :1]
        return cls(maps.count_scores(law, np.concatenate([y - 1.0, y, np.zeros_like(y)], axis=1)))

    @property
    def units(self) -> FloatArray:
        units = 2.0 * np.eye(maps.PARAMETERS + 1)
        units[:-1, :-1] = warp_units()
        return units

    def at(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        sides = [maps.bend(eta[:, :-1], np.clip(z, -maps.FARTHEST, maps.FARTHEST)) for z in self.z.T]
        w = np.where(np.isinf(self.z.T), self.z.T, [side.w for side in sides])
        density = np.exp(-0.5 * w**2) / np.sqrt(2.0 * np.pi)
        by = [d * side.by_w for d, side in zip(density, sides, strict=True)]
        none, odds = np.isneginf(self.z[:, 0]), np.clip(eta[:, -1], -MOST, MOST)
        inside = np.where(w[0] > 0, ndtr(-w[0]) - ndtr(-w[1]), ndtr(w[1]) - ndtr(w[0]))
        inside = np.maximum(inside, TINY)
        zero, more = ndtr(w[2]), np.expm1(odds)
        scale = 1.0 / (1.0 + zero * more)
        value = np.log(inside) + np.log(scale) + none * odds
        slopes = (by[1] - by[0]) / inside - scale * more * by[2]
        return value, np.column_stack([slopes.T, none - scale * zero * (1.0 + more)])

    def gains(self, learned: Learned, features: FloatArray) -> FloatArray:
        eta = features @ learned.coefficients
        return self.at(eta)[0] - self.at(np.zeros_like(eta))[0]

    @staticmethod
    def change(law: Law, learned: Learned, features: FloatArray) -> Law:
        assert isinstance(law, Counts)
        odds = features @ learned.coefficients[:, maps.PARAMETERS]
        return maps.RepairedCounts(law, learned.warp(features), odds)


@dataclass(frozen=True, eq=False)
class Classed:
    """Probabilities p (n, K) and classes (n,); η is the log of a factor, and a constant a class."""

    p: FloatArray
    codes: IntArray
    floor: tuple[float, FloatArray] | None = None
    start = 0.0
    costs = 1.0

    @classmethod
    def of(cls, law: Law, looked: Looked, sample: Sample) -> Classed:
        assert isinstance(law, Probabilities)
        return cls(normalised(law.values), np.asarray(looked.codes))

    @cached_property
    def logits(self) -> FloatArray:
        """Log-probabilities with the floor, (n, K)."""
        share, frequencies = self.floor or (0.0, 0.0)
        return np.log(np.maximum((1.0 - share) * self.p + share * frequencies, LEAST))

    @property
    def units(self) -> FloatArray:
        return np.diag([1.0, *np.full(self.p.shape[1], 2.0)])

    def changed(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the logarithms of the changed probabilities (n, K), and the factors (n, 1)."""
        steep = np.exp(np.clip(eta[:, :1], -5.0, 5.0))
        return np.asarray(log_softmax(steep * self.logits + eta[:, 1:], axis=1)), steep

    def at(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        (logs, steep), each = self.changed(eta), np.arange(len(eta))
        residual = -np.exp(logs)
        residual[each, self.codes] += 1.0
        by_heat = (residual * self.logits * steep).sum(axis=1)
        return logs[each, self.codes], np.column_stack([by_heat, residual])

    def take(self, rows: AnyArray) -> Classed:
        return Classed(self.p[rows], self.codes[rows])

    def learn(self, features: FloatArray, penalty: float) -> list[Learned]:
        given = self.p[np.arange(len(self.codes)), self.codes]
        floor = None
        if given.min() < LEAST:
            counts = np.bincount(self.codes, minlength=self.p.shape[1]) + 0.5
            shares: FloatArray = counts / counts.sum()
            mixed = [np.log((1.0 - f) * given + f * shares[self.codes]).mean() for f in FLOORS]
            floor = FLOORS[int(np.argmax(mixed))], shares
        return [Learned(fit(replace(self, floor=floor), features, penalty), floor=floor)]

    def gains(self, learned: Learned, features: FloatArray) -> FloatArray:
        before = self.logits[np.arange(len(self.codes)), self.codes]
        return replace(self, floor=learned.floor).at(features @ learned.coefficients)[0] - before

    @staticmethod
    def change(law: Law, learned: Learned, features: FloatArray) -> Law:
        assert isinstance(law, Probabilities)
        given = Classed(normalised(law.values), np.empty(0, dtype=np.int64), learned.floor)
        return replace(law, values=np.exp(given.changed(features @ learned.coefficients)[0]))


#: How a law can be repaired.
Kind = type[Mapped] | type[Classed]


def kind_of(law: Law, looked: Looked) -> Kind:
    """Return how a law can be repaired, or refuse and say why not."""
    if isinstance(law, (Draws, Quantiles, Intervals)):
        return Knotted
    if looked.kind == "continuous":
        return Mapped
    if looked.kind == "counts" and isinstance(law, Counts):
        return Counted
    if looked.kind == "classes" and isinstance(law, Probabilities):
        return Classed
    why = REFUSALS.get(looked.kind, f"{law.name} has nothing that could be corrected")
    raise UnsupportedModelError(f"This model cannot be repaired: {why}.")


def fit(given: Mapped | Classed, features: FloatArray, penalty: float) -> FloatArray:
    """Return the coefficients (P, q) of η on features (n, P), of which the first is 1."""
    from scipy.optimize import minimize  # takes long to import

    (n, count), units = features.shape, given.units
    q = len(units)
    cost, start = (np.broadcast_to(each, q) for each in (given.costs, given.start))
    costs = np.outer(np.full(count, penalty), cost) / n
    costs[0] = CONSTANT / n
    begin = np.linalg.solve(units, start)
    # In these coordinates the curvature is about 1 in all directions.
    gram = features.T @ features / n + np.diag(costs[:, 0])
    root = np.linalg.cholesky(gram + 1e-9 * np.eye(count))
    white = solve_triangular(root, features.T, lower=True).T

    def coefficients(flat: FloatArray) -> FloatArray:
        return np.asarray(solve_triangular(root.T, flat.reshape(count, q), lower=False))

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        b = coefficients(flat)
        with np.errstate(all="ignore"):
            value, slopes = given.at((white @ flat.reshape(count, q) + begin) @ units.T)
            total = -value.mean() + 0.5 * (costs * b**2).sum()
            back = -white.T @ (slopes @ units) / n
        back = back + solve_triangular(root, costs * b, lower=True)
        if not (np.isfinite(total) and np.isfinite(back).all()):
            return 1e30, np.zeros(count * q)
        return float(total), back.ravel()

    options: Any = {"maxiter": STEPS, "gtol": FLAT, "ftol": 1e-9}
    optimum = minimize(loss, np.zeros(count * q), jac=True, method="L-BFGS-B", options=options)
    whole = coefficients(optimum.x)
    whole[0] += begin
    return np.asarray(whole @ units.T)


def fit_shape(w: FloatArray) -> FloatArray:
    """Return a smooth density of Φ(w) at knots, (K,), from w (n,): exp of a polynomial."""
    knots = np.linspace(-1.0, 1.0, SHAPE_KNOTS)
    scale = np.sqrt(2.0 * np.arange(DEGREES + 1) + 1.0)
    both = (legvander(u, DEGREES)[:, 1:] * scale[1:] for u in (knots, 2.0 * ndtr(w) - 1.0))
    at_knots, at_rows = both
    mean = at_rows.mean(axis=0)
    weights = np.full(SHAPE_KNOTS, 1.0 / (SHAPE_KNOTS - 1))
    weights[[0, -1]] /= 2.0
    cost, c = SHAPE_PENALTY / len(w), np.zeros(DEGREES)
    for _ in range(30):
        density = np.exp(np.clip(at_knots @ c, -MOST, MOST)) * weights
        density /= density.sum()
        expected = density @ at_knots
        spread = (at_knots * density[:, None]).T @ at_knots - np.outer(expected, expected)
        step = np.linalg.solve(spread + cost * np.eye(DEGREES), mean - expected - cost * c)
        c = c + step / max(1.0, np.abs(step).max())
        if np.abs(step).max() < 1e-8:
            break
    return np.asarray(density / weights)


@dataclass(frozen=True, eq=False)
class Basis:
    """Functions of one column."""

    name: str
    #: Of numbers and dates: values that occur, and the share of rows below each (ties by half).
    knots: FloatArray
    ranks: FloatArray
    #: Of a category: the levels that have a function.
    levels: tuple[str, ...] | None = None
    #: Whether missing has one.
    missing: bool = False

    @classmethod
    def of(cls, name: str, values: FloatArray, levels: Sequence[str] | None) -> Basis | None:
        """Take what the values (n,) of a column tell; None if it is constant."""
        lost = np.isnan(values)
        known, counts = np.unique(values[~lost], return_counts=True)
        if len(known) + bool(lost.any()) < 2:
            return None
        if levels is not None:
            largest = known[np.argsort(-counts, kind="stable")[:LEVELS]].astype(np.int64)
            named = tuple(levels[i] for i in sorted(largest))
            return cls(name, known[:0], known[:0], named, bool(lost.any()))
        ranks = (np.cumsum(counts) - 0.5 * counts) / counts.sum()
        if len(known) > KNOTS:
            some = np.unique(np.searchsorted(ranks, np.linspace(0, 1, KNOTS)).clip(0, len(known) - 1))
            known, ranks = known[some], ranks[some]
        return cls(name, known, ranks, None, bool(lost.any()))

    def at(
        self, values: FloatArray, levels: Sequence[str] | None, most: int = LEVELS, waves: int = WAVES
    ) -> FloatArray:
        """Return the functions at values (n,), positions among `levels` for a category, (n, k)."""
        lost = np.isnan(values)
        if self.levels is not None:
            place = {level: i for i, level in enumerate(levels or ())}
            codes = np.array([place.get(level, -1) for level in self.levels[:most]])
            parts = LEVEL * (values[:, None] == codes)
        elif not len(self.knots):
            parts = np.empty((len(values), 0))
        else:
            u = np.interp(np.where(lost, self.knots[0], values), self.knots, self.ranks)
            k = np.arange(1, min(waves, len(self.knots) - 1) + 1)
            # A wave of twice the frequency counts half, so that what is smooth is learned first.
            parts = np.sqrt(2.0) * np.cos(np.pi * u[:, None] * k) / k
            parts[lost] = 0.0
        return np.column_stack([parts, LEVEL * lost]) if self.missing else parts


@dataclass(frozen=True, eq=False)
class RepairDesign:
    """The functions that a repair may take: of each column, of each prediction, of pairs of columns."""

    #: The names of the columns of x.
    columns: tuple[str, ...]
    #: Of the columns that vary, by their number, and of the predictions.
    bases: dict[int, Basis]
    predictions: tuple[Basis | None, ...]
    #: Columns that the check names, and pairs of them (numbers).
    named: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, x: Any, law: Law, conditions: Sequence[Sequence[str]]) -> RepairDesign:
        """Take what x, the predictions of a law and the columns of each slice tell."""
        table = read_table(x, "x", text=True)
        both = enumerate(zip(table.columns, table.values.T, strict=True))
        each = {i: Basis.of(c.name, values, c.levels) for i, (c, values) in both}
        bases = {i: basis for i, basis in each.items() if basis is not None}
        number = {basis.name: i for i, basis in bases.items()}
        sets = [[number[name] for name in names if name in number] for names in conditions]
        pairs = dict.fromkeys((min(s), max(s)) for s in sets if len(set(s)) == 2)
        told = enumerate(_predicted(law).T, 1)
        predictions = tuple(Basis.of(f"prediction {i}", p, None) for i, p in told)
        names, named = tuple(c.name for c in table.columns), sorted({i for s in sets for i in s})
        return cls(names, bases, predictions, tuple(named), tuple(pairs))

    def read(self, x: Any) -> tuple[FloatArray, tuple[Column, ...]]:
        """Read x at other rows, by the names of the columns where they are there, else by position."""
        table = read_table(x, "x", text=True)
        names, order = [column.name for column in table.columns], list(range(len(self.columns)))
        if all(name in names for name in self.columns):
            order = [names.index(name) for name in self.columns]
        elif len(names) != len(self.columns):
            raise InputError(
                f"The repair was learned on the columns {', '.join(self.columns)} of x, and x has "
                f"{', '.join(names)}. Pass x with the same columns."
            )
        columns = tuple(table.columns[i] for i in order)
        for i, basis in self.bases.items():
            if (basis.levels is None) != (columns[i].levels is None):
                was, now = ("numbers", "text") if basis.levels is None else ("text", "numbers")
                raise InputError(f"x column {basis.name!r} held {was}, and now holds {now}.")
        return table.values[:, order], columns

    def at(self, x: Any, law: Law, every: bool | None) -> FloatArray:
        """Return the functions at rows of x, (n, P): the constant; what the check names; or all."""
        parts = [np.ones((law.n, 1))]
        if every is None:
            return parts[0]
        (values, columns), predicted = self.read(x), _predicted(law)
        if self.predictions and predicted.shape[1] != len(self.predictions):
            raise InputError(
                f"The repair was learned on {len(self.predictions)} numbers that the model predicts of "
                f"a row, and this one predicts {predicted.shape[1]}. Pass predictions of the same kind."
            )
        for told, p in zip(self.predictions, predicted.T, strict=False):
            parts += [] if told is None else [told.at(p, None)]
        for i, basis in self.bases.items():
            if every or i in self.named:
                waves = FINE if i in self.named else WAVES
                parts.append(basis.at(values[:, i], columns[i].levels, waves=waves))
        for pair in self.pairs:
            a, b = (self.bases[i].at(values[:, i], columns[i].levels, PAIRED, PAIRED) for i in pair)
            parts.append((a[:, :, None] * b[:, None, :]).reshape(len(values), -1))
        return np.concatenate(parts, axis=1)


def _predicted(law: Law) -> FloatArray:
    values = predictions(law)
    return np.empty((law.n, 0)) if values is None else values
