"""Several laws of the same y on the same ground, so that none is compared on its own.

A continuous y: the same coordinates. A discrete one: the same cells. Labels are their own cells. Counts
are cut into cells by the observed y alone, whatever the models: each count is one where their range is
small, else as many counts go into a cell as hold a sixty-fourth of the sample; what lies beyond the
observed counts goes into one more cell at either end, so that probabilities sum to 1 for every model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

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
    """A sample on the ground that K laws share."""

    #: y, or where it lies on the whole line, (n, d_y); a discrete one as numbers.
    u: FloatArray
    #: ∇_u log p(u|x) of each law, (n, d_y); of a discrete y its residuals e_y − p (n, cells), which may
    #: be made only when rows are taken.
    scores: tuple[Any, ...]
    #: Largest estimated error of scores that were differentiated numerically, for each law.
    errors: tuple[float | None, ...]
    #: How y was brought from a bounded support to the whole line.
    reparametrized: str | None = None
    #: Whether the supports of the laws differ.
    differ: bool = False
    #: What the residuals are of, where y is discrete.
    cells: Cells | None = None


def common_coordinates(laws: Sequence[Law], sample: Sample) -> Common:
    """Score a sample with several laws of a continuous y, on one line for all of them.

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
    found = [raw_scores(law, sample) for law in laws]
    if line is None:
        errors = tuple(largest(error) for _, error in found)
        return Common(sample.y, tuple(scores for scores, _ in found), errors)
    slope = line.slope(sample.y)
    return Common(
        checked(line.forward(sample.y), sample),
        tuple(checked(line.scores(sample.y, scores), sample) for scores, _ in found),
        tuple(None if error is None else largest(error * slope) for _, error in found),
        line.words(),
        differ,
    )


def common_cells(laws: Sequence[Law], sample: Sample) -> Common:
    """Hold a sample against several laws of a discrete y, over the same cells; see `check_same_y`.

    An observation that any of them gives no probability is a `SupportError`.
    """
    own = [with_probabilities(law) for law in laws]
    for law in own:
        error = outside_support(law, sample)
        if error is not None:
            raise error
    classes = [law for law in own if isinstance(law, Probabilities)]
    found = _labels(classes, sample) if len(classes) == len(own) else _counts(own, sample)
    numbers, codes, probabilities, cells = found
    made = tuple(CellOutcomes(SomeRows(p), one_hot_less, cells.width, codes) for p in probabilities)
    large = len(made) * len(codes) * cells.width > HELD
    scores = made if large else tuple(map(np.asarray, made))
    return Common(numbers.reshape(-1, 1), scores, (None,) * len(made), cells=cells)


def outside_support(law: Law, sample: Sample) -> SupportError | None:
    """Return the error that says which observations a law holds to be impossible, or None."""
    try:
        if not law.discrete:
            line_of(law, sample)
            return None
        own, y = with_probabilities(law), sample.y_given
        if isinstance(own, Probabilities):
            codes = own.classes.find(y)
            bad = np.flatnonzero(own.values[np.arange(len(codes)), codes] <= 0)
        else:
            numbers = own.numbers(y)
            bad = np.empty(0, dtype=np.int64)
            if own.can("log_prob"):
                bad = np.flatnonzero(np.asarray(own.log_prob(numbers)) == -np.inf)
    except SupportError as error:
        return error
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
    """Check that laws are of the same classes, in one order where that matters, or all of counts."""
    named = list(zip(names, laws, strict=True))
    classes = [(name, law) for name, law in named if isinstance(law, Probabilities)]
    counts = [(name, law) for name, law in named if not isinstance(law, Probabilities)]
    for name, law in classes[1:]:
        _check_classes(classes[0], (name, law))
    for name, law in classes:
        if counts and not law.classes.numeric:
            raise InputError(
                f"Model {name!r} is of the classes {', '.join(law.classes.names[:8])} and model "
                f"{counts[0][0]!r} ({counts[0][1].name}) is of counts: they are not of the same "
                "y. Compare models of counts with models of counts or of numbered classes."
            )


def _check_classes(one: tuple[str, Probabilities], other: tuple[str, Probabilities]) -> None:
    both = [law.classes.labels.tolist() for _, law in (one, other)]
    told = []
    for (name, _), own, others in zip((one, other), both, both[::-1], strict=True):
        alone = [repr(label) for label in own if label not in others]
        if alone:
            told.append(f"{', '.join(alone[:8])}{', ...' * (len(alone) > 8)} of model {name!r}")
    if told:
        raise InputError(
            f"Models {one[0]!r} and {other[0]!r} are of different classes: the other does not have "
            f"{' and '.join(told)}. Give both the same classes, with probability 0 where a model rules "
            "one out: condgof.probabilities(P, classes=[...])."
        )
    if one[1].ordered and other[1].ordered and both[0] != both[1]:
        raise InputError(
            f"Models {one[0]!r} and {other[0]!r} put the classes in different orders, "
            f"{', '.join(one[1].classes.names)} and {', '.join(other[1].classes.names)}, and both say "
            "that the order means something. Give both the same order, or none."
        )


#: y as numbers, the cells that were observed, what each law says of the cells, and what they are.
_Held: TypeAlias = tuple[FloatArray, IntArray, list[AnyArray], Cells]


def _labels(laws: Sequence[Probabilities], sample: Sample) -> _Held:
    """Return the labels as cells, in the order that the first law has."""
    first, values = laws[0].classes, []
    for law in laws:
        place = {label: k for k, label in enumerate(law.classes.labels.tolist())}
        order = [place[label] for label in first.labels.tolist()]
        same = order == list(range(len(order)))
        values.append(law.values if same else law.values[:, order])
    count, ordered = len(first.labels), all(law.ordered for law in laws)
    block = Block("labels", 0, count, np.arange(float(count)) if ordered else None)
    cells, codes = Cells((block,), "labels" + ", ordered" * ordered), first.find(sample.y_given)
    return first.values[codes], codes, values, cells


def _counts(laws: Sequence[Discrete], sample: Sample) -> _Held:
    """Return cells of counts, the same for all laws."""
    y = laws[0].numbers(sample.y_given)
    ends, middles = count_cells(y)
    at = (middles - y.mean()) / (float(y.std(ddof=1)) or 1.0)
    cells = Cells(
        (Block("counts", 0, len(at), at, distances=True),),
        f"mean and standard deviation of y, one map for all models, in {len(at)} cells",
    )
    found: list[AnyArray] = []
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
    return y, np.searchsorted(ends, y), found, cells


def count_cells(y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Cut counts into cells, by a sample of them (n,).

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
