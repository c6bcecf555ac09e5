"""Several laws of the same y on the same ground, so that none is compared on its own.

A continuous y: the same coordinates. A discrete one: the same cells. Labels are their own cells. Counts
are cut into cells by the observed y alone, whatever the models: each count is one where their range is
small, else as many counts go into a cell as hold a sixty-fourth of the sample; what lies beyond the
observed counts goes into one more cell at either end, so that probabilities sum to 1 for every model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, NumericalError, SupportError, UnsupportedModelError
from condgof.kernels import Block, Cells
from condgof.laws._classes import Probabilities
from condgof.laws._discrete import HELD, CellOutcomes, Discrete, SomeRows, one_hot_less
from condgof.laws._law import Law
from condgof.laws._line import Line
from condgof.laws._ratio import Ratios
from condgof.sample import Sample
from condgof.stein._coordinates import checked, largest, line_of, raw_scores

#: Cells of counts between the two outermost.
MOST_CELLS = 64


@dataclass(frozen=True, eq=False)
class Common:
    """A sample with the scores of several laws.

    Parameters
    ----------
    u : ndarray of shape (n, d_y)
        y, or where it lies on the whole line.
    scores : ndarray of shape (n, K, d_y)
        ∇_u log p(u|x) of each of K models.
    errors : tuple of (float or None)
        Largest estimated error of scores that were differentiated numerically, for each model.
    reparametrized : str, optional
        How y was brought from a bounded support to the whole line.
    differ : bool
        Whether the supports of the models differ.
    """

    u: FloatArray
    scores: FloatArray
    errors: tuple[float | None, ...]
    reparametrized: str | None = None
    differ: bool = False


def common_coordinates(laws: Sequence[Law], sample: Sample) -> Common:
    """Score a sample with several models, on one line for all of them.

    Where supports are bounded, y is brought to the line from their intersection: on it every model has
    the scores that it has (a density is known to a Stein test up to a constant). An observation outside
    any of the supports is a `SupportError`.
    """
    n, d_y = sample.n, sample.d_y
    low, high, differ = np.full((n, d_y), -np.inf), np.full((n, d_y), np.inf), False
    for number, law in enumerate(laws):
        own = line_of(law, sample) or Line(np.full((n, d_y), -np.inf), np.full((n, d_y), np.inf))
        differ |= number > 0 and not (np.array_equal(own.low, low) and np.array_equal(own.high, high))
        low, high = np.maximum(low, own.low), np.minimum(high, own.high)
    line = Line.of((low, high), n, d_y)
    u, words = sample.y, None
    if line is not None:
        u, words = checked(line.forward(u), sample), line.words()
    scores, errors = [], []
    for law in laws:
        values, error = raw_scores(law, sample)
        if line is not None:
            values = checked(line.scores(sample.y, values), sample)
            error = None if error is None else error * line.slope(sample.y)
        scores.append(values)
        errors.append(largest(error))
    return Common(u, np.stack(scores, axis=1), tuple(errors), words, differ)


def outside_support(law: Law, sample: Sample) -> SupportError | None:
    """Return the error that says which observations a law holds to be impossible, or None."""
    if law.discrete:
        return impossible(law, sample)
    try:
        line_of(law, sample)
    except SupportError as error:
        return error
    return None


@dataclass(frozen=True, eq=False)
class CommonCells:
    """A sample of a discrete y with what several models say of the same cells.

    Parameters
    ----------
    numbers : ndarray of shape (n,)
        y as numbers.
    codes : ndarray of int, shape (n,)
        The cells that were observed.
    probabilities : tuple of ndarrays of shape (n, C)
        What each model says of the cells.
    cells : Cells
        What they are.
    shift, scale : float
        The one map (y − shift)/scale to where the cells of counts lie; 0 and 1 for labels.
    """

    numbers: FloatArray
    codes: IntArray
    probabilities: tuple[AnyArray, ...]
    cells: Cells
    shift: float = 0.0
    scale: float = 1.0

    @property
    def each(self) -> list[FloatArray]:
        """The residuals e_y − p of each model, (n, C), which may be made only when rows are taken."""
        return [cast(FloatArray, part if self._large else np.asarray(part)) for part in self._parts]

    @property
    def residuals(self) -> FloatArray:
        """The residuals of all models side by side, (n, K·C)."""
        whole = SideBySide(self._parts)
        return cast(FloatArray, whole if self._large else np.asarray(whole))

    @property
    def _large(self) -> bool:
        return len(self._parts) * len(self.codes) * self.cells.width > HELD

    @property
    def _parts(self) -> tuple[CellOutcomes, ...]:
        width = self.cells.width
        return tuple(
            CellOutcomes(SomeRows(p), one_hot_less, width, self.codes) for p in self.probabilities
        )


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Residuals of several models that are made when an array of them is asked for."""

    parts: tuple[CellOutcomes, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the array that they would be."""
        return len(self), sum(part.shape[1] for part in self.parts)

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, rows: Any) -> SideBySide:
        return SideBySide(tuple(part[rows] for part in self.parts))

    def __array__(self, dtype: Any = None, copy: Any = None) -> FloatArray:
        made = np.concatenate([np.asarray(part) for part in self.parts], axis=1)
        return made if dtype is None else made.astype(dtype, copy=False)


def common_cells(laws: Sequence[Law], sample: Sample) -> CommonCells:
    """Return what several laws of a discrete y say of the same cells; see `check_same_y`.

    An observation that any of them gives no probability is a `SupportError`.
    """
    own = [with_probabilities(law) for law in laws]
    for law in own:
        error = impossible(law, sample)
        if error is not None:
            raise error
    classes = [law for law in own if isinstance(law, Probabilities)]
    return _labels(classes, sample) if len(classes) == len(own) else _counts(own, sample)


def impossible(law: Law, sample: Sample) -> SupportError | None:
    """Return the error that says which observations a law of a discrete y gives no probability."""
    own, y = with_probabilities(law), sample.y_given
    if isinstance(own, Probabilities):
        codes = own.classes.find(y)
        bad = np.flatnonzero(own.values[np.arange(len(codes)), codes] <= 0)
    else:
        try:
            numbers = own.numbers(y)
        except SupportError as error:
            return error
        if not own.can("log_prob"):
            return None
        bad = np.flatnonzero(np.asarray(own.log_prob(numbers)) == -np.inf)
    return SupportError(own.name, len(bad), sample.n, int(bad[0])) if len(bad) else None


def with_probabilities(law: Law) -> Discrete:
    """Return a law of a discrete y, if its probabilities of labels or counts are known."""
    assert isinstance(law, Discrete)
    if isinstance(law, Probabilities):
        return law
    if isinstance(law, Ratios):
        raise UnsupportedModelError(
            f"{law.name} is known through ratios of probabilities only, and models of a discrete y are "
            "compared by their probabilities. Pass a model that has them: a closed form such as "
            "condgof.models.Poisson, a distribution of SciPy, or condgof.probabilities(P, classes) with "
            "the probability of each count."
        )
    if law.class_names is not None or not law.can("cdf"):
        raise UnsupportedModelError(
            f"{law.name} has cells of its own, and no probabilities or scores in common with another "
            "model. Use check or adaptive on each model."
        )
    return law


def check_same_y(laws: Sequence[Discrete], names: Sequence[str]) -> None:
    """Check that models are of the same classes, or all of counts; names are for messages."""
    first, called = laws[0], names[0]
    for name, law in zip(names[1:], laws[1:], strict=True):
        if isinstance(first, Probabilities) and isinstance(law, Probabilities):
            _check_classes((first, law), (called, name))
    counted = next((k for k, m in enumerate(laws) if not isinstance(m, Probabilities)), None)
    for name, law in zip(names, laws, strict=True):
        if counted is not None and isinstance(law, Probabilities) and not law.classes.numeric:
            raise InputError(
                f"Model {name!r} is of the classes {', '.join(law.classes.names[:8])} and model "
                f"{names[counted]!r} ({laws[counted].name}) is of counts: they are not of the same "
                "y. Compare models of counts with models of counts or of numbered classes."
            )


def _check_classes(pair: tuple[Probabilities, Probabilities], names: tuple[str, str]) -> None:
    """Check that two classifiers have the same classes, in the same order where that matters."""
    known, other = (law.classes.labels.tolist() for law in pair)
    alone = [label for label in known if label not in other]
    new = [label for label in other if label not in known]
    if alone or new:
        told = [
            f"{', '.join(map(repr, labels[:8]))}{', ...' if len(labels) > 8 else ''} of model {name!r}"
            for labels, name in ((alone, names[0]), (new, names[1]))
            if labels
        ]
        raise InputError(
            f"Models {names[0]!r} and {names[1]!r} are of different classes: the other does not have "
            f"{' and '.join(told)}. Give both the same classes, with probability 0 where a model rules "
            "one out: condgof.probabilities(P, classes=[...])."
        )
    if pair[0].ordered and pair[1].ordered and known != other:
        raise InputError(
            f"Models {names[0]!r} and {names[1]!r} put the classes in different orders, "
            f"{', '.join(pair[0].classes.names)} and {', '.join(pair[1].classes.names)}, and both say "
            "that the order means something. Give both the same order, or none."
        )


def _labels(laws: Sequence[Probabilities], sample: Sample) -> CommonCells:
    """Return the labels as cells, in the order that the first model has."""
    first = laws[0].classes
    values = []
    for law in laws:
        place = {label: k for k, label in enumerate(law.classes.labels.tolist())}
        order = [place[label] for label in first.labels.tolist()]
        same = order == list(range(len(order)))
        values.append(law.values if same else law.values[:, order])
    count, ordered = len(first.labels), all(law.ordered for law in laws)
    block = Block("labels", 0, count, np.arange(float(count)) if ordered else None)
    cells = Cells((block,), "labels, ordered" if ordered else "labels")
    codes = first.find(sample.y_given)
    return CommonCells(first.values[codes], codes, tuple(values), cells)


def _counts(laws: Sequence[Discrete], sample: Sample) -> CommonCells:
    """Return cells of counts, the same for all models."""
    y = laws[0].numbers(sample.y_given)
    ends, middles = count_cells(y)
    shift, scale = float(y.mean()), float(y.std(ddof=1)) or 1.0
    count = len(middles)
    cells = Cells(
        (Block("counts", 0, count, (middles - shift) / scale, distances=True),),
        f"mean and standard deviation of y, one map for all models, in {count} cells",
    )
    found = []
    for law in laws:
        below = np.asarray(law.cdf_grid(ends), dtype=np.float64)
        bad = np.flatnonzero(~np.isfinite(below).all(axis=1))
        if len(bad):
            raise NumericalError(
                f"{law.name} has no finite CDF in {len(bad)} of {sample.n} rows, the first in row "
                f"{bad[0]} (counted from 0). Check the model there."
            )
        p = np.diff(np.clip(below, 0.0, 1.0), axis=1, prepend=0.0, append=1.0)
        found.append(np.maximum(p, 0.0, out=p))
    return CommonCells(y, np.searchsorted(ends, y), tuple(found), cells, shift, scale)


def count_cells(y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Cut counts into cells, by a sample of them (n,).

    Returns
    -------
    ends : ndarray of shape (C − 1,)
        The largest count of each cell but the last, which has no end.
    middles : ndarray of shape (C,)
        Where the cells lie: at their count, or at the mean of the observed ones.

    Examples
    --------
    >>> count_cells(np.array([3.0, 1.0, 2.0]))
    (array([0., 1., 2., 3.]), array([0., 1., 2., 3., 4.]))
    """
    low, high = y.min(), y.max()
    if high - low < MOST_CELLS:
        last = middles = np.arange(low, high + 1.0)
    else:
        shares = np.arange(1.0, MOST_CELLS + 1.0) / MOST_CELLS
        last = np.unique(np.quantile(y, shares, method="inverted_cdf"))
        code = np.searchsorted(last, y)
        middles = np.bincount(code, y) / np.bincount(code)
    ends = np.concatenate([[low - 1.0], last])
    return ends, np.concatenate([[low - 1.0], middles, [high + 1.0]])
