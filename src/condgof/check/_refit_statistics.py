"""Statistics that `composite` computes of the sample and of each replicate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.check._record import Check
from condgof.check._refits import FirstFit
from condgof.errors import InputTypeError, UnsupportedModelError
from condgof.laws import ModelLike, law_of, read_signature
from condgof.methods import (
    STAGED_GAINS,
    Design,
    Options,
    adaptive,
    combine_statistics,
    fscd,
    kcsd,
    make_design,
    mmd,
    zheng,
)
from condgof.null import SINGLE_ROUNDING, Dependence, NullDraws, OwnDraws, pvalue, settle
from condgof.residuals import OUTLIERS, NormalScoreResiduals, excess, top_surprises
from condgof.result import GofResult
from condgof.sample import CONTENT_SEED, Sample, Seed
from condgof.stein import PIECE_ROWS, LawAndRows, Plan, RowsInMemory, Units, design_rows

#: The tests of the library whose statistics can be refitted.
TESTS: dict[str, Callable[..., GofResult]] = {
    test.__name__: test for test in (kcsd, adaptive, fscd, mmd, zheng)
}
#: What results call the null.
NULL = "parametric bootstrap"
#: Bytes that each worker may spend on keeping the features of x.
FEATURE_BYTES = 2**26


class RefitStatistic(ABC):
    """The same statistics of the sample and of each replicate, and what is made of them."""

    #: What results call it.
    name: str

    @abstractmethod
    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        """Return the statistics (K,) of responses y and the model fitted on them."""

    @abstractmethod
    def result(self, observed: FloatArray, draws: FloatArray) -> GofResult:
        """Return the result of the observed statistics (K,) and those of refits (K, m)."""

    def answer(
        self, result: GofResult, draws: FloatArray, alpha: float
    ) -> Check | GofResult:
        """Return what the user gets, given the result with all its details."""
        return result


def check_solver_options(options: Mapping[str, Any]) -> Options:
    """Check the options of the solver; "auto" is exact up to about 5,000 rows."""
    names = ("solver", "precision", "memory")
    asked = {name: options[name] for name in names if name in options}
    return Options(**asked).checked()


@dataclass(frozen=True, eq=False)
class SingleStatistic(RefitStatistic):
    """One number: a test of the library with a single draw, or a user's function."""

    name: str
    test: Callable[..., Any]
    sample: Sample
    #: Options of every call. An rng is the same number in all, and with it splits of rows
    #: and random locations.
    options: Mapping[str, Any]
    #: The result of the observed sample, without a null.
    template: GofResult

    @classmethod
    def from_function(
        cls, function: Any, options: Mapping[str, Any], first: FirstFit
    ) -> SingleStatistic:
        """Take a user's function (model, x, y) → number, perhaps with an rng."""
        signature = read_signature(function)
        if signature is not None and "rng" in signature.parameters:
            options = {**options, "rng": first.seed.value}
        name = getattr(function, "__name__", type(function).__name__).strip("<>")
        template = GofResult(0.0, 1.0, name, first.sample.n)
        return cls(name, function, first.sample, options, template)

    @classmethod
    def from_test(
        cls, name: str, options: Mapping[str, Any], first: FirstFit
    ) -> SingleStatistic:
        """Take a test of the library."""
        sample = first.sample
        result = TESTS[name](first.model, sample.x_given, sample.y_given, **options)
        # The null of a single draw is of no use.
        details = {key: value for key, value in result.details.items() if key != "null"}
        return cls(name, TESTS[name], sample, options, replace(result, details=details))

    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        answer = self.test(model, self.sample.x_given, y, **self.options)
        try:
            return np.array([float(getattr(answer, "statistic", answer))])
        except (TypeError, ValueError) as error:
            raise InputTypeError(
                f"The statistic {self.name} must return a number or a GofResult, got"
                f" {type(answer).__name__}."
            ) from error

    def result(self, observed: FloatArray, draws: FloatArray) -> GofResult:
        statistic = float(observed[0])
        null_distribution = np.array(draws[0])
        return replace(
            self.template,
            statistic=statistic,
            pvalue=pvalue(statistic, null_distribution),
            null_distribution=null_distribution,
        )


class PieceFeatures(NamedTuple):
    """Features F of a piece of rows, and their squared norms by block."""

    values: AnyArray
    sizes: AnyArray


@dataclass(frozen=True, eq=False)
class FeaturesOfX:
    """Features F of x (n, d_x), piece by piece; kept if they are small enough.

    They are multiplied by the weights of rows, (n,), where there are any.
    """

    plan: Plan
    x: FloatArray
    weights: FloatArray | None = None

    def piece(self, start: int) -> PieceFeatures:
        """Return the features of the `PIECE_ROWS` rows from `start` on."""
        return self._kept[start // PIECE_ROWS] if self._kept else self._make(start)

    def _make(self, start: int) -> PieceFeatures:
        rows = slice(start, start + PIECE_ROWS)
        values = self.plan.features.evaluate(self.x[rows])
        if self.weights is not None:
            values = values * self.weights[rows, None].astype(values.dtype)
        return PieceFeatures(values, self.plan.feature_squares(values))

    @cached_property
    def _kept(self) -> list[PieceFeatures]:
        n = len(self.x)
        if 8 * n * self.plan.features.width > FEATURE_BYTES:
            return []
        return [self._make(start) for start in range(0, n, PIECE_ROWS)]

    def __getstate__(self) -> dict[str, Any]:
        # Each worker makes the features again, which is faster than sending them.
        return {"plan": self.plan, "x": self.x, "weights": self.weights}


class SquaredSums(NamedTuple):
    """For each statistic, (K,) each, the sum over all pairs of rows and over i = j."""

    #: ‖Fᵀξ‖².
    whole: FloatArray
    #: Σ_i ‖F_i‖²‖ξ_i‖².
    diagonal: FloatArray


@np.errstate(over="ignore", invalid="ignore")  # `composite` refuses what is not finite
def squared_sums(features: FeaturesOfX, rows: RowsInMemory) -> SquaredSums:
    """Sum features F of x times functions ξ of y over rows, for each statistic."""
    plan = features.plan
    totals = [np.zeros((cut.x_width, cut.y_width)) for cut in plan.cuts]
    diagonal = np.zeros(len(plan.statistics))
    for piece in rows.pieces():
        values, sizes = features.piece(piece.start)
        xi = plan.evaluate(piece)
        diagonal += plan.diagonal(sizes, plan.value_squares(xi))
        for total, cut in zip(totals, plan.cuts, strict=True):
            total += values[:, cut.x].T @ xi[:, cut.y]
    return SquaredSums(plan.squares([total[None] for total in totals])[0], diagonal)


@dataclass(frozen=True, eq=False)
class AdaptiveStatistics(RefitStatistic):
    """All statistics that `adaptive` combines, without those of the predictions.

    Predictions of a refit depend on the responses, and not on x alone.
    """

    #: The observed sample under the model fitted on it; all others have its x and its kind
    #: of y.
    first: RowsInMemory
    design: Design
    features: FeaturesOfX
    #: How other samples are scored; x is in its units already.
    units: Units
    seed: Seed
    #: The sum of the absolute terms of each statistic, (K,), for rounding.
    sizes: FloatArray
    name = "adaptive"

    @classmethod
    def from_fit(cls, options: Mapping[str, Any], first: FirstFit) -> AdaptiveStatistics:
        """Choose the statistics by x, and by responses drawn from the fitted model.

        Landmarks in y and its unit are then the same for the data and all replicates.
        """
        check_solver_options(options)
        sample = first.sample
        seed = first.seed
        units = Units(options["scale_x"], options["standardize"])
        some = design_rows(sample)
        rows = RowsInMemory.from_law(law_of(first.model, sample), sample, units, some)
        response = first.drawing(CONTENT_SEED, 0)
        other = sample.with_y(response.y)
        other_law = law_of(response.bind(first.plain_model), other)
        other_rows = RowsInMemory.from_law(other_law, other, units, some)
        design = make_design(other_rows.subsample)
        features = FeaturesOfX(design.plan, rows.x, sample.weights)
        return cls(
            first=rows,
            design=design,
            features=features,
            units=replace(units, scale_x="none"),
            seed=seed,
            sizes=squared_sums(features, other_rows).diagonal,
        )

    def compare(self, model: ModelLike, y: AnyArray) -> LawAndRows:
        """Compare responses with their own model, which must treat y as the first does."""
        # x is that of the first sample in its units, which need not be found again.
        sample = replace(self.first.sample, x=self.first.x).with_y(y)
        law = law_of(model, sample)
        rows = RowsInMemory.from_law(law, sample, self.units)
        first = self.first.residuals
        same_kind = type(rows.residuals) is type(first)
        if not same_kind or rows.residuals.row_width != first.row_width:
            raise UnsupportedModelError(
                f"{model.name} sees y in another way than the model that was fitted first:"
                " it is standardised by something else, or has other classes."
            )
        return LawAndRows(law, rows)

    def values(self, model: ModelLike, y: AnyArray) -> FloatArray:
        return self.statistics(self.compare(model, y).rows)

    def statistics(self, rows: RowsInMemory) -> FloatArray:
        """Return Σ_{i≠j} of each statistic, and the excess of outliers where z is known."""
        whole, diagonal = squared_sums(self.features, rows)
        statistics = settle(whole - diagonal, whole + diagonal, SINGLE_ROUNDING)
        if not isinstance(rows.residuals, NormalScoreResiduals):
            return statistics
        z = rows.residuals.u.reshape(1, -1)
        return np.append(statistics, excess(top_surprises(z), z.size))

    def result(self, observed: FloatArray, draws: FloatArray) -> GofResult:
        return self._combine(observed, draws, gains=None)

    def _combine(
        self, observed: FloatArray, draws: FloatArray, gains: OwnDraws | None
    ) -> GofResult:
        """Combine as `adaptive` does, with refits for draws, and perhaps one more family.

        `gains` are the statistics of that family. The family `level`, whether y is right on
        the whole, is left out: refits set its mean and spread.
        """
        count = len(self.sizes)
        has_outliers = len(observed) > count
        refits = NullDraws(
            statistics=observed,
            draws=draws,
            # The excess of outliers has no terms to add up.
            sizes=np.append(self.sizes, 0.0)[: len(observed)],
            additional={OUTLIERS: count} if has_outliers else {},
        )
        if gains is not None:
            refits = refits.beside(STAGED_GAINS, gains.observed, gains.draws)
        return combine_statistics(
            self.first,
            self.design,
            refits,
            label=NULL,
            solver="exact",
            dependence=Dependence(),
            seed=self.seed,
            left_out=("level",),
        )
