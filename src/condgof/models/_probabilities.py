"""Class probabilities, one row for each observation: what any classifier predicts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, NonFiniteError, ShapeError, UnsupportedModelError
from condgof.kernels import Block, Cells
from condgof.models._discrete import FULL, DiscreteModel, Residuals
from condgof.models._labels import Classes
from condgof.models._residuals import CellLaw, SomeRows, normalised, one_hot_less
from condgof.sample import as_numbers

#: Rows that are looked at together: what is made of them stays small beside the probabilities.
ROWS = 4096
#: How far from 1 the probabilities of a row may sum up, as single precision and rounding leave them.
TOLERANCE = 1e-3
#: How far below 0 rounding may leave a probability; it counts as 0 then.
ROUNDED = 1e-6
#: How many of the largest probabilities are looked at by rank.
RANKS = 16
#: A probability below this counts as this where its logarithm is taken.
LEAST = 1e-3


@dataclass(frozen=True, eq=False)
class Probabilities(DiscreteModel):
    """Probabilities of K classes, bound to rows; see `condgof.probabilities`.

    As numbers, y and draws are the labels themselves where those are numbers, else their positions.

    Parameters
    ----------
    values : ndarray of shape (n, K)
        The probabilities; the caller's own array.
    classes : Classes
        The classes, in the order of the columns.
    ordered : bool
        Whether that order means something.
    """

    values: AnyArray
    classes: Classes
    ordered: bool = False

    @property
    def rows(self) -> int | None:
        """Number of rows the model is bound to."""
        return len(self.values)

    @property
    def _name(self) -> str:
        """What messages call the model."""
        return "The model of class probabilities"

    def take(self, rows: IntArray) -> Probabilities:
        """Return the model of some rows."""
        return replace(self, values=self.values[rows])

    def can(self, ability: str) -> bool:
        """Whether the model has an ability: an order of the classes brings a CDF and moments."""
        if ability in ("mean_std", "location_scale"):
            return self._has_order
        if ability in ("cdf", "sf"):
            return self._has_order or self.classes.numeric
        return super().can(ability)

    @property
    def _has_order(self) -> bool:
        return self.ordered or len(self.classes.labels) == 2

    def numbers(self, y: AnyArray, x: Any) -> FloatArray:
        """Return y as numbers, (n,)."""
        return self.classes.values[self.classes.find(y)]

    def class_names(self, x: Any) -> tuple[str, ...]:
        """Return what y calls the classes."""
        return self.classes.names

    def cells(self, by: str) -> Cells:
        """Return the labels as cells; with them, ranks by probability and the log-probability of y."""
        count = self.values.shape[1]
        places = np.arange(float(count)) if self.ordered else None
        blocks = [Block("labels", 0, count, places)]
        if by == FULL:
            ranks = min(count - 1, RANKS)
            blocks += [
                Block("ranks", count, count + ranks),
                Block("surprise", count + ranks, count + ranks + 1),
            ]
            return Cells(tuple(blocks), "labels, their ranks and their log-probabilities in the model")
        return Cells(tuple(blocks), "labels")

    def residuals(self, y: AnyArray, x: Any, by: str) -> Residuals:
        """Return the classes as positions, and the residuals."""
        codes, make = self.classes.find(y), full if by == FULL else one_hot_less
        law = CellLaw(SomeRows(self.values), make, self.cells(by).width, codes)
        return Residuals(codes[:, None].astype(np.float64), law.of(codes), law)

    def remarks(self, y: AnyArray, x: Any) -> tuple[str, ...]:
        """Tell of observations that the model gives no probability."""
        codes = self.classes.find(y)
        impossible = int((self.values[np.arange(len(codes)), codes] <= 0).sum())
        if not impossible:
            return ()
        rows = "row" if impossible == 1 else "rows"
        return (
            f"the model gives the observed class probability 0 in {impossible} {rows}, which refutes it "
            "without any test unless that is rounding",
        )

    def log_prob(self, y: AnyArray, x: Any) -> FloatArray:
        """Return log p(y|x), (n,)."""
        codes = self.classes.find(y)
        with np.errstate(divide="ignore"):
            return np.concatenate(
                [
                    np.log(normalised(self.values[part])[np.arange(len(codes[part])), codes[part]])
                    for part in _parts(len(codes))
                ]
            )

    def cdf(self, y: AnyArray, x: Any) -> FloatArray:
        """Return P(Y ≤ y | x) of ordered classes, (n,); y may lie between them."""
        self._check("cdf")
        y = np.ravel(np.asarray(y)).astype(np.float64) if self._plain(y) else self.numbers(y, x)
        values = self.classes.values
        return np.concatenate(
            [
                np.minimum((normalised(self.values[part]) * (values <= y[part, None])).sum(axis=1), 1.0)
                for part in _parts(len(y))
            ]
        )

    def cdf_grid(self, values: AnyArray, x: Any, n: int | None = None) -> FloatArray:
        """Return P(Y ≤ v | x) for each row and each of m values, (n, m)."""
        self._check("cdf")
        at = np.ravel(values).astype(np.float64) if self._plain(values) else self.numbers(values, x)
        below = (self.classes.values[:, None] <= at).astype(np.float64)
        return np.concatenate(
            [normalised(self.values[part]) @ below for part in _parts(len(self.values))]
        )

    def _plain(self, y: AnyArray) -> bool:
        return np.asarray(y).dtype.kind in "biuf"

    def sample(self, x: Any, rng: np.random.Generator, n: int | None = None) -> FloatArray:
        """Draw one class for each row, as a number, (n, 1)."""
        uniform = rng.random(len(self.values))
        drawn = []
        for part in _parts(len(uniform)):
            sums = np.cumsum(normalised(self.values[part]), axis=1)
            sums[:, -1] = 1.0  # rounding must not leave a gap at the end
            drawn.append((uniform[part, None] >= sums).sum(axis=1))
        values: FloatArray = self.classes.values[np.concatenate(drawn)][:, None]
        return values

    def mean_std(self, x: Any, n: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of the classes as numbers, (n, 1) each."""
        self._check("mean_std")
        values = self.classes.values
        means, variances = [], []
        for part in _parts(len(self.values)):
            p = normalised(self.values[part])
            mean = p @ values
            means.append(mean)
            variances.append((p * np.square(values - mean[:, None])).sum(axis=1))
        return np.concatenate(means)[:, None], np.sqrt(np.concatenate(variances))[:, None]

    def support(self, x: Any, n: int, d_y: int) -> tuple[AnyArray, AnyArray]:
        """Return an open interval that holds all classes."""
        values = self.classes.values
        return np.array(values.min() - 1.0), np.array(values.max() + 1.0)

    def _check(self, what: str) -> None:
        if not self.can(what):
            raise UnsupportedModelError(
                f"Classes without an order have no {what}. Pass ordered=True to condgof.probabilities "
                "if the order of the classes means something."
            )


def full(probabilities: FloatArray, codes: IntArray) -> FloatArray:
    """Return residuals of labels, of ranks and of the log-probability, side by side.

    Ranks: 1{y is among the t most probable classes} less what the model says of it, t = 1, 2, ….
    Log-probability: log p(y|x) less its mean under the model. All of them are functions of y whose form
    depends on x alone, less their mean given x.
    """
    n, count = probabilities.shape
    ranks, rows = min(count - 1, RANKS), np.arange(n)
    observed = probabilities[rows, codes]
    out = np.empty((n, count + ranks + 1))
    # The probabilities of the classes by rank; equal ones in the order of the classes.
    top = _most_probable(probabilities, ranks)
    held = np.take_along_axis(probabilities, top, axis=1)
    seen = np.cumsum(top == codes[:, None], axis=1)
    np.subtract(seen, np.cumsum(held, axis=1), out=out[:, count : count + ranks])
    logs = np.log(np.maximum(probabilities, LEAST))
    out[:, -1] = np.log(np.maximum(observed, LEAST)) - np.einsum("ij,ij->i", probabilities, logs)
    out[:, :count] = one_hot_less(probabilities, codes)
    return out


def _most_probable(probabilities: FloatArray, ranks: int) -> IntArray:
    """Return the columns of the `ranks` largest probabilities of each row, the largest first."""
    if probabilities.shape[1] <= 4 * RANKS:
        return np.argsort(-probabilities, axis=1, kind="stable")[:, :ranks]
    # Sorted by column first, so that ties among those found are in the order of the classes.
    some = np.sort(np.argpartition(-probabilities, ranks, axis=1)[:, :ranks], axis=1)
    held = np.take_along_axis(probabilities, some, axis=1)
    return np.take_along_axis(some, np.argsort(-held, axis=1, kind="stable"), axis=1)


def _parts(n: int) -> list[slice]:
    return [slice(start, min(start + ROWS, n)) for start in range(0, n, ROWS)]


def probabilities(P: Any, classes: Any = None, *, ordered: bool = False) -> Probabilities:
    """Model of a discrete y from predicted class probabilities.

    Every test compares them with labels: `adaptive`, `kcsd`, `fscd`, `witness`, `power_criterion`, and
    `calibration`. A fitted classifier needs none of this: it goes straight to the tests.

    Parameters
    ----------
    P : array_like of shape (n, K), or (n,) for two classes
        The probabilities of the classes in each row, or of the second of two classes. The array is used
        as it is and not copied: leave it alone while the model is in use.
    classes : list of K numbers or strings, optional
        What y calls the classes, in the order of the columns; 0, 1, …, K − 1 unless given. Labels of y
        are looked up among them.
    ordered : bool
        Whether the order of the classes means something (grades, stages): y is then compared by how far
        apart classes lie, too.

    Returns
    -------
    Probabilities
        Bound to the rows of P.

    Examples
    --------
    >>> import condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> p = 1 / (1 + np.exp(-x))                  # the truth
    >>> y = np.where(rng.random(500) < p, "yes", "no")
    >>> steep = 1 / (1 + np.exp(-3 * x))          # over-confident
    >>> cg.adaptive(cg.probabilities(p, ["no", "yes"]), x, y, rng=1).reject()
    False
    >>> cg.adaptive(cg.probabilities(steep, ["no", "yes"]), x, y, rng=1).reject()
    True
    """
    array = as_numbers(P, "P", advice="Pass an array (n, K) of class probabilities.")
    if array.ndim == 1:
        array = np.column_stack([1.0 - array, array])
    if array.ndim != 2 or array.shape[1] < 2 or not len(array):
        raise ShapeError(
            f"P must have shape (n, K) with K ≥ 2 columns, or (n,) for the second of two classes, got "
            f"{np.shape(P)}."
        )
    if _check(array) < 0:
        array = np.maximum(array, 0)
    view = array.view()
    view.flags.writeable = False
    return Probabilities(view, Classes.of(classes, array.shape[1]), bool(ordered))


def _check(P: AnyArray) -> float:
    """Check that rows are probabilities, some rows at a time, and return the smallest."""
    smallest = 1.0
    for part in _parts(len(P)):
        block = P[part]
        sums, least = block.sum(axis=1, dtype=np.float64), block.min(axis=1)
        bad = np.flatnonzero(~np.isfinite(sums))
        if len(bad):
            raise NonFiniteError(
                f"P has NaN or infinite values, the first in row {part.start + bad[0]} (counted from "
                "0). Check the model there.",
                count=len(bad),
                first_row=int(part.start + bad[0]),
            )
        bad = np.flatnonzero((least < -ROUNDED) | (np.abs(sums - 1.0) > TOLERANCE))
        if len(bad):
            row = int(bad[0])
            raise InputError(
                f"P must hold probabilities that sum to 1 in each row; row {part.start + row} (counted "
                f"from 0) has the sum {sums[row]:.6g} and the smallest entry {least[row]:.3g}. Pass "
                "probabilities, not scores or logits."
            )
        smallest = min(smallest, float(least.min()))
    return smallest


def bernoulli(p: FloatArray, classes: Any = None) -> Probabilities:
    """Model of two classes from the probability of the second one, (n,)."""
    return probabilities(np.clip(np.asarray(p, dtype=np.float64).reshape(-1), 0.0, 1.0), classes)
