"""The adaptive test of families of features of x, and calibration by it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple, Unpack

import numpy as np

from condgof._typing import FloatArray, IntArray, TableLike
from condgof.engine import single_threaded_blas
from condgof.errors import InputError
from condgof.kernels import CovariateKernel, Gaussian, OnColumns, Radial, resolve_x
from condgof.laws import as_model, censored, law_of, named_predictions
from condgof.methods._families import families_of
from condgof.methods._options import (
    HowToTest,
    Options,
    needs_memory,
    prepare,
    read_options,
    spelled_out,
)
from condgof.methods._scores import prediction_name
from condgof.null import (
    BesideStatistics,
    Combination,
    Dependence,
    JointDraws,
    Null,
    NullDraws,
    Reference,
)
from condgof.residuals import TestFunctions
from condgof.result import GofResult
from condgof.sample import CONTENT_SEED, Sample, Seed, Use, XUnits, names_of
from condgof.stein import (
    Cell,
    FeatureMap,
    Features,
    Panel,
    Plan,
    PreparedRows,
    RowsInMemory,
    Units,
    categories,
    category_columns,
    cells,
    constant,
    in_units,
    marginals,
    pairs,
    scales,
    shapes,
    single_locations,
    triples,
    waves,
)

#: Bandwidths on x, in multiples of the median distance.
BANDWIDTHS_X = (1.0, 0.5, 0.25)
#: Landmarks in x: the share of the trace of the kernel at which to stop,
LANDMARK_PRECISION = 1e-3
#: the most of them,
MOST_LANDMARKS = 40
#: and the most where a user asks for a precision.
MOST_LANDMARKS_ASKED = 400
#: Single locations in x.
LOCATIONS = 40
#: The bandwidth on x at single locations, in multiples of the median distance,
LOCAL_BANDWIDTH = 0.5
#: and the least effective number of rows that must lie near one.
LEAST_NEAR = 3.0
#: Most categories of a column.
MOST_CATEGORIES = 40
#: Rows that a category needs.
LEAST_CATEGORY_ROWS = 5
#: Most pairs of columns.
MOST_PAIRS = 500
#: Columns of more numbers than this have no triples: 10 columns have 120 of them.
MOST_TRIPLE_COLUMNS = 10
#: Columns of more numbers than this have no fine waves, 28 features each.
MOST_WAVE_COLUMNS = 16
#: Columns of more numbers than this are not asked for the shape of y along them.
MOST_SHAPE_COLUMNS = 64
#: Rows that fine waves need: six in each half period.
LEAST_WAVE_ROWS = 200
#: A column of numbers with at most so many values has a cell for each of them.
MOST_CELL_VALUES = 8
#: Most cells of two columns, the largest ones.
MOST_CELLS = 600
#: Rows that a cell needs.
LEAST_CELL_ROWS = 8
#: Reference draws, by which statistics are scaled and ranked: more take more time, fewer
#: know less of the tails (docs/dev/adaptive.md).
REFERENCE_DRAWS = 299
#: Of more predictions than this, a location of `calibration` has no label.
MOST_LABELLED = 10


@spelled_out()
def adaptive(
    model: object,
    x: TableLike,
    y: TableLike | None = None,
    *,
    event: TableLike | None = None,
    entry: TableLike | None = None,
    standardize: str = "auto",
    scale_x: str = "ranks",
    weights: TableLike | None = None,
    **how: Unpack[HowToTest],
) -> GofResult:
    """Test a conditional density model at all scales at once: the recommended test.

    H0: p(y|x) is the true conditional density for almost all x. y is standardised by the
    model, given x. Then functions F of x meet functions ξ of y whose mean given x is 0
    under the model: each pair of a block of one and a block of the other has the statistic
    Σ_{i≠j} (F_i·F_j)(ξ_i·ξ_j). By family of x:

    - *x*: the product kernel at 1, ½ and ¼ of the median distance, less its constant part,
    - *columns*: each numeric column of x, and of what the model predicts, by itself,
    - *categories* and *spread by category*: each level of a category, or of a column of two
      values,
    - *category columns*: all levels of a category together,
    - *cells* and *spread by cell*: rows with one value in each of two categories, or
      columns of few values,
    - *pairs* and *triples*: products of two columns, and of three where there are at most
      10,
    - *waves*: cosines of the ranks of each numeric column, of 5 to 32 half periods, where
      there are at most 16 columns,
    - *shapes*: spread, skew and tails of y, overall and along each numeric column,
    - *locations*: 40 single rows of x, as in `fscd` with one location (J = 1),
    - *constant*: 1, which asks whether y is right on the whole; *level* asks it of its mean
      and spread.

    Of y these are the Stein functions at bandwidths 4, 2, 1 and ½, and, where normal scores
    z of the model's CDF are known, z itself, the surprise ``−log P(|Z| ≥ |z|)``, and
    Legendre polynomials of the PIT (shift, spread, skew, tails). For pairs of columns of y
    there are ``z_a·z_b`` and ``(|z_a| − c)(|z_b| − c)`` with ``c = E|Z|``: correlation and
    joint spread. A last family,
    *surprises*, asks whether the largest surprises are too large; with scores alone, of up
    to 4,096 rows, whether y lies farther out than they say, by ``s·f + f'`` of the tanh f
    of residuals of y on x. Counts and ordered classes have the same functions, of the
    randomised PIT and averaged over its randomisation, and their mean beside them. Other
    classes are compared by their labels, by whether they are among the most probable ones,
    and by their log-probability, each less its mean under the model.

    Each statistic is divided by the spread of reference draws, those of a family are
    combined by the log of the mean of exponentials, each family has a p-value among its
    reference draws, and

        statistic = log Σ_f w_f/p_f,

    their weighted harmonic mean; the draws go through the same combination. Reference draws
    (299, or `n_boot` if that is less) are drawn from the null by a hash of the data. So
    `rng` does not move the statistic, and the p-value varies with it as a share of `n_boot`
    draws does. Normal scores, and a discrete y, are drawn anew from the model: the level is
    exact in samples of any size. Of many rows, draws are from the Gaussian limit of the
    sums. Where only scores are known, or rows depend on each other, rows get random signs.

    Do not use it when parameters of the model were fitted on this same sample. Rows that
    depend on each other need ``dependence=`` or ``groups=`` (see `kcsd`). With a model that
    offers nothing but scores, modes of y that lie far apart are not compared by weight; the
    result says so.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model; a tuple (mean, std) will do.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample; x may be a source from `scan`, which brings its own y, or Dask arrays.
    event : array_like of shape (n,), optional
        Where y is a time and some of it is censored on the right: 1 where the event came at
        y, 0 where it had not come by y. Censoring must be independent of the time given x.
        Each function of y is replaced by its mean under the model given what is known (see
        docs/censoring.md); times drawn anew are censored by Kaplan and Meier's estimate
        from rows near in x, up to 4,096 rows.
    entry : array_like of shape (n,), optional
        Left truncation, with `event`: the time from which on each row was watched, below y.
    standardize : {"auto", "cdf", "marginals", "mean_std", "none"}
        What y is standardised by, given x: normal scores Φ⁻¹(F(y|x)) of the model's CDF
        (for d_y > 1 coordinate after coordinate), of its marginal CDFs, its location and
        scale (or covariance), or nothing. "auto" takes the first that the model offers. Of
        classes, "none" compares labels alone.
    scale_x : {"ranks", "std", "none"}
        How numeric columns of x are compared: by normal scores of their ranks, in standard
        deviations, or as they are.
    weights : array_like or Series of shape (n,), or str, optional
        Weights of rows, functions of x, as in `kcsd`: sums over rows are weighted. Whether
        the largest surprises are too large is asked of rows, whatever their weights.
    solver : {"auto", "exact", "lowrank"}
        Draws row by row ("exact"), or from the Gaussian limit or sums over blocks of rows
        ("lowrank"); "auto" goes by the work.
    null : {"auto", "model", "wild", "multinomial"}
        "auto" draws y anew from the model where it can ("model"), else gives rows signs
        ("wild"). "multinomial", the weights of the paper, rejects too often when n is
        small: 72 of 1,000 true models at 0.05 with n = 100.
    precision : float, optional
        Share of the kernel on x, at its narrowest bandwidth, that its functions may leave
        unseen (at most 400; 40 a bandwidth by default); ``details["precision"]`` is what
        was reached.
    n_boot, dependence, groups, missing, rng, engine, memory
        As in `kcsd`. With `dependence` or `groups`, draws of many rows come from sums over
        at most 512 parcels of them (stretches, whole groups).

    Returns
    -------
    GofResult
        Its kernels are those of the scale that carries most of the evidence. ``details``:
        ``families`` (the p-value of each), ``scales`` (bandwidths, statistic and p-value of
        each), ``strongest_scale``, ``strongest_column``, ``strongest_location`` (with
        p-values that are not corrected for the search), and ``standardized_by``.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 400)
    >>> y = x + (1 + (x > 1)) * rng.standard_normal(400)   # too noisy where x > 1
    >>> result = cg.adaptive(cg.models.Normal(mean=lambda x: x, std=1.0), x, y, rng=1)
    >>> result.reject(alpha=0.001), result.details["standardized_by"]
    (True, "normal scores of the model's CDF")
    >>> bool(result.details["strongest_location"]["x"][0] > 1)
    True
    """
    options, seed = read_options(adaptive, how)
    if options.null == "spectral":
        raise InputError("adaptive has no spectral null; use null='auto'.")
    model = censored_model(model, x, y, event, entry)
    units = Units(scale_x, standardize, predictions=True)
    rows = prepare(model, x, y, units, options, seed, weights).rows
    return run_adaptive(rows, options.for_rows(rows, x), seed).result


def censored_model(
    model: object,
    x: TableLike,
    y: TableLike | None,
    event: TableLike | None,
    entry: TableLike | None,
) -> Any:
    """Bind a model to censored times; return it as it is where there are none."""
    if event is None and entry is None:
        return model
    needs_memory("event=", x, y)
    return censored(as_model(model), event, entry, x, y)


class AdaptiveRun(NamedTuple):
    """The result of the adaptive test, and what it compared."""

    result: GofResult
    design: Design


def run_adaptive(
    rows: PreparedRows,
    options: Options,
    seed: Seed,
    beside: BesideStatistics | None = None,
) -> AdaptiveRun:
    """Run the adaptive test on rows that are ready, perhaps with one more family.

    `beside` are the statistics of that family.
    """
    design = make_design(rows.subsample, options.precision)

    # Work is spread over the engine's threads; BLAS's own would wait for each other.
    with single_threaded_blas():
        results = [
            _test(rows, design, null, options, seed, beside)
            for null in options.nulls(design.plan, rows)
        ]
    largest = max(results, key=lambda result: result.pvalue)
    return AdaptiveRun(result=largest, design=design)


def _test(
    rows: PreparedRows,
    design: Design,
    null: Null,
    options: Options,
    seed: Seed,
    beside: BesideStatistics | None,
) -> GofResult:
    """Draw all statistics under one null, and combine them."""
    plan = design.plan
    m = options.n_boot
    reference = Reference(min(REFERENCE_DRAWS, m), rows.subsample.content_seed())
    in_order = rows.subsample.in_content_order()
    is_whole = in_order.n == rows.n and null.dependence.independent
    if beside is None and is_whole and not isinstance(null, JointDraws):
        # Random numbers belong to rows. In an order that the rows' values decide, the order
        # in which these came has no part in the reference.
        drawn = null.draw(plan, rows, m, seed, options.engine)
        others = null.draw(plan, in_order, reference.count, reference.seed, options.engine)
        drawn = replace(drawn, reference=others.draws)
    else:
        drawn = null.draw(plan, rows, m, seed, options.engine, beside, reference)
    return combine_statistics(
        rows,
        design,
        drawn,
        label=null.label,
        solver=null.solver,
        dependence=null.dependence,
        seed=seed,
    )


def combine_statistics(
    rows: PreparedRows,
    design: Design,
    drawn: NullDraws,
    *,
    label: str,
    solver: str,
    dependence: Dependence,
    seed: Seed,
    left_out: Sequence[str] = (),
) -> GofResult:
    """Combine statistics and their draws in families, and put the result together.

    `label` is what the result calls the null; families that are `left_out` do not count.
    """
    plan = design.plan
    statistics = drawn.statistics / (rows.n - 1)
    families = families_of(plan, drawn)
    kept = [family for family in families if family.name not in left_out]
    combination = Combination.from_draws(drawn, kept)
    some = rows.subsample
    strongest = _Strongest(some, design, combination, statistics)
    on_x, on_y = plan.statistics[strongest.scale]
    remark = some.residuals.remark
    notes = (
        *some.notes(),
        *(() if remark is None else (remark,)),
        *dependence.notes,
    )
    details = {
        **strongest.details(),
        **rows.weight_details(),
        **dependence.details(),
        **drawn.details,
    }
    if notes:
        details["notes"] = notes
    return GofResult(
        statistic=combination.statistic,
        pvalue=combination.pvalue,
        method="adaptive",
        n=rows.n,
        null_distribution=combination.draws,
        null=label,
        kernel_x=narrowed(design.kernel_x, on_x.label).shown(some.d_x),
        kernel_y=plan.test_functions.kernel_of(on_y),
        solver=solver,
        seed=seed.value,
        details=details,
    )


@dataclass(frozen=True, eq=False)
class _Strongest:
    """What a result says of families, and of the strongest statistics among them."""

    rows: RowsInMemory
    design: Design
    combination: Combination
    statistics: FloatArray  #: Σ_{i≠j}/(n − 1) of each statistic of the plan, (K, …).

    @property
    def scales(self) -> IntArray:
        """The numbers of the statistics of the kernel on x with a kernel on y."""
        plan = self.design.plan
        numbers = [
            k for k in plan.numbers_of("x") if plan.statistics[k].test_functions.is_scale
        ]
        return np.array(numbers)

    @property
    def scale(self) -> int:
        """The number of the strongest of them."""
        return self._strongest(self.scales)

    def _strongest(self, numbers: IntArray) -> int:
        return int(numbers[np.argmax(self.combination.scaled[numbers, -1])])

    def details(self) -> dict[str, Any]:
        """Return families, scales, and the strongest scale, column and location."""
        plan = self.design.plan
        table = {k: self._scale_details(k) for k in self.scales}
        standardized_by = self.rows.residuals.standardized_by
        details: dict[str, Any] = {
            "standardized_by": standardized_by or "it is",
            **self.rows.details(),
            "families": self.combination.pvalues,
            "precision": self.design.residual,
            "scales": list(table.values()),
            "strongest_scale": table[self.scale],
        }
        columns = plan.numbers_of("columns", "categories")
        if len(columns):
            details["strongest_column"] = self._column_details(self._strongest(columns))
        locations = plan.numbers_of("locations")
        if len(locations):
            strongest = self._strongest(locations)
            details["strongest_location"] = self._location_details(strongest)
        return details

    def _scale_details(self, number: int) -> dict[str, Any]:
        """Return one scale as plain numbers; a kernel of a discrete y also has a name."""
        on_x, on_y = self.design.plan.statistics[number]
        factors = self.design.kernel_x.factors
        radial = [f.kernel.sigma for f in factors if isinstance(f.kernel, Radial)]
        details: dict[str, Any] = {
            "bandwidth_x": on_x.label * radial[0] if radial else None,
            "bandwidth_y": on_y.bandwidth,
        }
        if on_y.is_named:
            details["y"] = on_y.name
        details["statistic"] = float(self.statistics[number])
        details["pvalue"] = float(self.combination.each[number])
        return details

    def _column_details(self, number: int) -> dict[str, Any]:
        """Return the column of x, or of what is predicted, that a statistic is of."""
        on_x, on_y = self.design.plan.statistics[number]
        is_category = isinstance(on_x.label, tuple)
        column, value = on_x.label if is_category else (on_x.label, None)
        columns = self.rows.sample.x_columns
        details: dict[str, Any] = {
            "y": on_y.name,
            "pvalue": float(self.combination.each[number]),
        }
        d_x = len(columns)
        if column >= d_x:
            count = self.rows.x.shape[1] - d_x
            name = prediction_name(column - d_x, count, self.rows.d_y)
            return {"column": name, **details}
        if value is not None and columns[column].categorical:
            details["level"] = columns[column].text(value)
        return {"column": columns[column].name, **details}

    def _location_details(self, number: int) -> dict[str, Any]:
        """Return the point of x, in the user's units, that a statistic is of."""
        label = self.design.plan.statistics[number].features.label
        point = self.rows.to_user_units(self.design.locations[label])
        details: dict[str, Any] = {
            "x": point,
            "pvalue": float(self.combination.each[number]),
        }
        labels = self.rows.sample.labels(point[None])
        if labels:
            details["label"] = labels[0]
        return details


@dataclass(frozen=True, eq=False)
class Design:
    """What the adaptive test compares."""

    plan: Plan
    kernel_x: CovariateKernel  #: k with the median bandwidth.
    locations: FloatArray  #: Single locations, in the kernel's units, (L, d).
    #: Share of the trace of k, at the narrowest bandwidth, that its landmarks leave.
    residual: float


def make_design(rows: RowsInMemory, precision: float | None = None) -> Design:
    """Choose everything by x alone; where only scores are known, landmarks in y by y.

    No seed of a user's, and no order of the rows, has a part in it: rows are put into an
    order that their values decide, and choices among them are made with a fixed seed.
    """
    rows = rows.in_content_order()
    seed = CONTENT_SEED
    kernel_x = resolve_x(Gaussian("median"), rows.x, rows.sample.x_columns, seed)
    # One BLAS thread: the last bits decide which landmarks are drawn, and must not depend
    # on the number of cores.
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        test_functions = rows.residuals.test_functions(seed)
        count = LOCATIONS if rows.residuals.tests_locations else 0
        locations = _choose_locations(rows, kernel_x, count, seed)
        kernel_features = scales(
            kernel_x,
            BANDWIDTHS_X,
            rows.x,
            seed.stream(Use.LANDMARKS),
            precision=precision or LANDMARK_PRECISION,
            cap=MOST_LANDMARKS if precision is None else MOST_LANDMARKS_ASKED,
        )
        others = _other_features(rows, kernel_x, locations, test_functions)
        features = Features((kernel_features, *others))
    plan = Plan(features, test_functions)
    return Design(
        plan=replace(plan, panels=_panels(plan)),
        kernel_x=kernel_x,
        locations=locations,
        residual=kernel_features.residual,
    )


def _choose_locations(
    rows: RowsInMemory, kernel_x: CovariateKernel, count: int, seed: Seed
) -> FloatArray:
    """Choose rows of x as single locations, by x alone: those that have other rows near.

    Rows that are equal in x are one location, (L, d).
    """
    chosen = seed.stream(Use.LOCATIONS).choice(rows.n, min(count, rows.n), replace=False)
    different = {rows.x[row, : rows.d_x].tobytes(): row for row in chosen}
    points = rows.x[list(different.values())]
    near = narrowed(kernel_x, LOCAL_BANDWIDTH)(rows.x, points)
    effective_rows = np.square(near.sum(axis=0)) / np.square(near).sum(axis=0)
    return np.asarray(points[effective_rows >= min(LEAST_NEAR, rows.n / 2)])


def _other_features(
    rows: RowsInMemory,
    kernel_x: CovariateKernel,
    locations: FloatArray,
    test_functions: TestFunctions,
) -> Iterator[FeatureMap]:
    """Yield the features of x beside its kernel, in the order that panels need."""
    columns = rows.sample.x_columns
    d_x = rows.d_x
    yield constant()
    predicted = range(d_x, rows.x.shape[1])
    numbers = [
        i
        for i, column in enumerate(columns)
        if not column.categorical and not column.constant
    ]
    numeric = [i for i in (*numbers, *predicted) if len(np.unique(rows.x[:, i])) > 2]
    normal = rows.x
    to_ranks: XUnits | None = None
    if all(knot is None for knot in rows.x_units.knots[:d_x]):
        # x is not in normal scores of ranks already.
        unchanged = XUnits(np.ones(len(predicted)), (None,) * len(predicted))
        to_ranks = XUnits.from_rows(rows.x[:, :d_x], columns, "ranks").joined(unchanged)
        normal = to_ranks.apply(rows.x)
    if numeric:
        yield in_units(marginals(numeric, normal), to_ranks)
    yield from _category_features(rows)
    if len(locations):
        yield single_locations(kernel_x, LOCAL_BANDWIDTH, locations)
    numeric_x = [i for i in numeric if i < d_x]
    if len(numeric_x) > 1:
        yield in_units(pairs(numeric_x, normal, MOST_PAIRS), to_ranks)
    different = _different_columns(numeric, d_x, normal)
    if _has_blocks(test_functions.blocks_for_details):
        if len(numeric_x) in range(3, MOST_TRIPLE_COLUMNS + 1):
            yield in_units(triples(numeric_x, normal), to_ranks)
        is_few = len(different) in range(1, MOST_WAVE_COLUMNS + 1)
        if is_few and rows.n >= LEAST_WAVE_ROWS:
            yield in_units(waves(different, normal), to_ranks)
        if rows.residuals.tests_locations:
            yield from _cell_features(rows)
    is_few = len(different) in range(1, MOST_SHAPE_COLUMNS + 1)
    if is_few and _has_blocks(test_functions.blocks_for_shapes):
        yield in_units(shapes(different, normal), to_ranks)


def _different_columns(numeric: Sequence[int], d_x: int, normal: FloatArray) -> list[int]:
    """Return columns of numbers without predictions that are monotone in a column of x.

    Columns of `normal` (n, d) are normal scores of ranks, of which the first d_x are those
    of x: such a prediction is equal to a column or to its negative, and so are its waves.
    """
    different = [column for column in numeric if column < d_x]
    of_x = [normal[:, column] for column in different]
    for column in numeric[len(different) :]:
        own = normal[:, column]
        if not any(np.allclose(own, one) or np.allclose(own, -one) for one in of_x):
            different.append(column)
    return different


def _has_blocks(blocks: slice) -> bool:
    """Return whether a range of numbers of blocks has any."""
    return bool(blocks.stop > blocks.start)


def _category_features(rows: RowsInMemory) -> Iterator[FeatureMap]:
    """Yield indicators of the categories of x, and of columns of two values."""
    columns: list[int] = []
    values: list[float] = []
    shares: list[float] = []
    for i in range(rows.x.shape[1]):
        column = rows.sample.x_columns[i] if i < rows.d_x else None
        if column is not None and column.constant:
            continue
        distinct, counts = np.unique(rows.x[:, i], return_counts=True)
        if len(distinct) == 2:  # either value tells the other
            distinct = distinct[1:]
            counts = counts[1:]
        elif column is None or not column.categorical:
            continue
        largest = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
        least = min(LEAST_CATEGORY_ROWS, rows.n / 4)
        for k in largest[counts[largest] >= least]:
            columns.append(i)
            values.append(float(distinct[k]))
            shares.append(float(counts[k]) / rows.n)
    if columns:
        yield categories(np.array(columns), np.array(values), np.array(shares))


def _cell_features(rows: RowsInMemory) -> Iterator[FeatureMap]:
    """Yield indicators of cells of two columns, and whole columns of categories.

    Columns of cells are categories, and numbers of few values.
    """
    values: dict[int, FloatArray] = {}
    whole: dict[int, FloatArray] = {}
    for i, column in enumerate(rows.sample.x_columns):
        distinct, counts = np.unique(rows.x[:, i], return_counts=True)
        most = MOST_CATEGORIES if column.categorical else MOST_CELL_VALUES
        if column.constant or (len(distinct) > most and not column.categorical):
            continue
        largest = np.argsort(-counts, kind="stable")[:most]
        kept = distinct[largest[counts[largest] >= LEAST_CELL_ROWS]]
        if len(kept):
            values[i] = kept
        if len(kept) > 2 and column.categorical:
            whole[i] = kept
    if whole:
        yield category_columns(list(whole), list(whole.values()), rows.x)
    chosen = _largest_cells(rows.x, values)
    if chosen:
        yield cells(chosen, rows.x)


def _largest_cells(x: FloatArray, values: dict[int, FloatArray]) -> list[Cell]:
    """Return the cells of two columns that have most rows of x, in their order.

    `values` are those of each column that have cells. Cells that are as large as a category
    of one of the columns are left out: their rows are compared already.
    """
    found: list[Cell] = []
    sizes: list[int] = []
    is_value = {i: x[:, [i]] == own for i, own in values.items()}
    for a, b in combinations(values, 2):
        counts = is_value[a].T.astype(np.float64) @ is_value[b]
        of_a = is_value[a].sum(axis=0)
        of_b = is_value[b].sum(axis=0)
        for j, k in zip(*np.nonzero(counts >= LEAST_CELL_ROWS), strict=True):
            if counts[j, k] < min(of_a[j], of_b[k]):
                first = (a, float(values[a][j]))
                found.append(Cell(first=first, second=(b, float(values[b][k]))))
                sizes.append(int(counts[j, k]))
    largest = np.argsort(-np.array(sizes), kind="stable")[:MOST_CELLS]
    return [found[k] for k in np.sort(largest)]


def _panels(plan: Plan) -> tuple[Panel, ...]:
    """Say which blocks meet: kernel and constant all functions of y, the others few."""
    functions = plan.test_functions
    every = slice(0, len(functions.blocks))
    panels = [
        Panel(plan.features.family("x", "constant"), every),
        Panel(
            plan.features.family("columns", "categories", "locations"),
            functions.blocks_for_columns,
        ),
        Panel(plan.features.family("pairs"), functions.blocks_for_pairs),
        Panel(
            plan.features.family("triples", "waves", "category columns", "cells"),
            functions.blocks_for_details,
        ),
        Panel(plan.features.family("shapes"), functions.blocks_for_shapes),
    ]
    return tuple(one for one in panels if one.features.stop > one.features.start)


def narrowed(kernel: CovariateKernel, factor: float) -> CovariateKernel:
    """Return a kernel on x with the bandwidths of its Gaussian factors multiplied."""

    def change(part: OnColumns) -> OnColumns:
        if not isinstance(part.kernel, Gaussian):
            return part
        return replace(part, kernel=part.kernel.with_bandwidth(factor * part.kernel.sigma))

    return replace(kernel, factors=tuple(map(change, kernel.factors)))


@spelled_out("solver", "null", "n_boot", "precision", "missing", "rng", "engine", "memory")
def calibration(
    model: object,
    x: TableLike,
    y: TableLike,
    *,
    weights: TableLike | None = None,
    **how: Unpack[HowToTest],
) -> GofResult:
    """Test whether a model is calibrated: right on average wherever it predicts the same.

    H0: among all rows with the same prediction, y is distributed as predicted. For a
    classifier, the classes have the predicted probabilities among all x with those
    *probabilities*,

        P(y = c | P(x) = p) = p_c   for all classes c and almost all p,

    which is called *strong* or *canonical* calibration (a reliability diagram shows that of
    the largest probability alone). For a continuous or a count model the prediction is mean
    and standard deviation. It is `adaptive` with the predictions as covariates.

    A calibrated model may still be wrong: one that ignores x and predicts the shares of the
    classes is calibrated. Do not use it on the data that the model was fitted (or
    recalibrated) on.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model: a classifier, `probabilities`, or a model with means and standard
        deviations.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample; x serves for the predictions only. It may be None where predictions are
        arrays.
    weights : array_like or Series of shape (n,), or str, optional
        Weights of rows, functions of x, as in `kcsd`.
    solver, null, n_boot, precision, missing, rng, engine, memory
        As in `adaptive`.

    Returns
    -------
    GofResult
        That of `adaptive`, with ``details["conditioned_on"]``, what takes the place of x;
        its ``strongest_location`` is a prediction.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(600, 5))
    >>> p = 1 / (1 + np.exp(-x.sum(axis=1)))
    >>> y = rng.random(600) < p
    >>> cg.calibration(cg.probabilities(p), x, y, rng=1).reject()
    False
    >>> sharp = 1 / (1 + np.exp(-2 * x.sum(axis=1)))
    >>> cg.calibration(cg.probabilities(sharp), x, y, rng=1).reject()
    True
    """
    needs_memory("calibration", x, y)
    missing = read_options(calibration, how).options.missing
    if x is None:
        sample = Sample.unconditional(y, to_test=False, missing=missing, weights=weights)
    else:
        sample = Sample.from_data(x, y, to_test=False, missing=missing, weights=weights)
    law = law_of(as_model(model), sample)
    predicted, names, are_probabilities = named_predictions(law)
    if (predicted == predicted[0]).all():
        raise InputError(
            f"The model predicts the same in all rows ({', '.join(names)}), so that there"
            " is nothing to compare y along. Use ksd for a model without x, or adaptive on"
            " x itself."
        )
    asked: Any = {**how, "missing": "refuse"}
    result = adaptive(
        law,
        predicted,
        sample.y_given,
        scale_x="none" if are_probabilities else "ranks",
        weights=sample.weights,
        **asked,
    )
    details = {**result.details, "conditioned_on": names}
    if (
        sample.left_out
    ):  # else the remarks are on columns of x, which nothing is compared by
        notes = (*sample.remarks, *details.get("notes", ()))
        details["notes"] = tuple(dict.fromkeys(notes))  # weights are in both
    location = details.get("strongest_location")
    if location is not None and len(names) <= MOST_LABELLED:
        label = dict(zip(names, map(float, location["x"]), strict=True))
        details["strongest_location"] = {**location, "label": label}
    column = details.get("strongest_column")
    if column is not None:
        # `adaptive` adds what the model predicts to its columns, here for the second time.
        names_by_column = dict(zip(names_of("x", len(names)), names, strict=True))
        name = names_by_column.get(column["column"], column["column"])
        details["strongest_column"] = {**column, "column": name}
    return replace(result, method="calibration", details=details)
