"""Posteriors on the rows that they were fitted to, by leave-one-out predictions.

Row i is predicted by the posterior without it: draws of the posterior with weights
proportional to 1/p(y_i | θ_s), Pareto-smoothed (PSIS; Vehtari, Gelman and Gabry 2017).

**What rows have in common.** Let y = μ + σε with a normal prior of covariance K on μ. The
residuals y − E[μ | y] have the covariance σ²(I − S), S = K(K + σ²I)⁻¹ = Cov(μ | y)/σ², and
leaving row i out divides by 1 − S_ii: the leave-one-out normal scores are

    z_i = (y_i − E[μ_i | y]) / (σ √(1 − S_ii)),    Cov(z) = the correlation matrix of I − S.

Each is standard normal, and together they are not independent: in the directions that the
model fits they have next to no variance. A test that took them as independent would never
reject there. So whole vectors z are drawn with that covariance. Of a linear model with a
flat prior S is the hat matrix H. Where σ is estimated too, e = z √(1 − S_ii) is divided by
its own scale, as in studentised deleted residuals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import ndtr, ndtri, stdtr

from condgof._typing import AnyArray, FloatArray, IntArray
from condgof.errors import InputError, require
from condgof.laws._draws import Draws

#: Names of the groups of ArviZ.
LIKELIHOOD_GROUP = "log_likelihood"
OBSERVED_GROUP = "observed_data"
#: Pareto k above which importance weights are not reliable, however many draws there are
#: (Vehtari et al. 2024); of S draws it is 1 − 1/log10(S) where that is less.
WORST_PARETO_K = 0.7
#: Rows that a note names at most.
MOST_NAMED_ROWS = 10
#: Eigenvalues of correlations are taken for signal above the edge of those of pure noise,
#: (1 + √(n/S))², times this: the largest one of noise varies about the edge.
EDGE_MARGIN = 1.02
#: Rounds in which the variances of the scores are brought to 1 + S_ii.
ROUNDS = 3
#: The largest share of a direction that is taken as fitted: I − S must stay positive.
LARGEST_SHARE = 0.999
#: Draws below which importance weights have no tail to be smoothed.
FEWEST_DRAWS = 100
#: Draws for each row below which directions that the model fits may be missed.
FEWEST_DRAWS_PER_ROW = 4


@dataclass(frozen=True, eq=False)
class Smoother:
    """S = U diag(shares) Uᵀ of n rows, and whether the scale was estimated, too."""

    directions: FloatArray  #: U, orthonormal columns, (n, k).
    shares: FloatArray  #: From 0 to 1, (k,).
    #: How much of the scale comes from these rows, from 0 (known) to 1.
    scale_share: float
    #: How many independent draws the weights of each row are worth, (n,).
    draws: IntArray

    @classmethod
    def from_draws(
        cls, draws: AnyArray, *, effective: FloatArray, has_scale: bool
    ) -> Smoother:
        """Estimate S from predictive draws (n, m): μ moves together, noise does not.

        In units in which the noise has variance 1, the draws have the covariance I + S. Of
        m draws its eigenvalues are those of a spiked covariance: 1 + s is seen at
        (1 + s)(1 + γ/s), γ = n/m, if s > √γ, above the edge (1 + √γ)² of pure noise.
        """
        from scipy.stats import rankdata  # slow to import

        n, m = draws.shape
        z = ndtri((rankdata(draws, axis=1) - 0.5) / m)
        z = (z - z.mean(axis=1, keepdims=True)) / np.maximum(
            z.std(axis=1, keepdims=True), 1e-12
        )
        gamma = n / m
        edge = EDGE_MARGIN * (1.0 + np.sqrt(gamma)) ** 2
        variance: FloatArray = np.ones(n)
        directions: FloatArray = np.empty((n, 0))
        shares = np.empty(0)
        for _ in range(ROUNDS):
            scaled = z * np.sqrt(variance)[:, None] / np.sqrt(m)
            left, singular, _ = np.linalg.svd(scaled, full_matrices=False)
            seen = np.square(singular, dtype=np.float64)
            above = seen > edge
            directions = np.asarray(left[:, above], dtype=np.float64)
            shares = np.clip(unspiked(seen[above], gamma), 0.0, LARGEST_SHARE)
            variance = 1.0 + np.square(directions) @ shares
        scale_share = 0.0
        if has_scale:
            # The mean square of a draw varies by 2/n, and by as much again if the scale
            # is known from n rows only; of the part that the model fits, by 2 Σ s²/n².
            mean_squares = np.square(z).mean(axis=0)
            noise = (2.0 * n + 4.0 * shares.sum() + 2.0 * np.square(shares).sum()) / n**2
            excess = mean_squares.var(ddof=1) - noise
            scale_share = float(np.clip(excess * n / 2.0, 0.0, 1.0))
        return cls(
            directions, shares, scale_share, np.maximum(effective, 1.0).astype(np.int64)
        )

    @property
    def n(self) -> int:
        return len(self.directions)

    @property
    def leverage(self) -> FloatArray:
        """S_ii, (n,)."""
        return np.asarray(np.square(self.directions) @ self.shares)

    def scores(self, rng: np.random.Generator) -> FloatArray:
        """Draw leave-one-out normal scores of a sample from the model, (n,)."""
        noise = rng.standard_normal(self.n)
        shrink = 1.0 - np.sqrt(1.0 - self.shares)
        e = noise - self.directions @ (shrink * (self.directions.T @ noise))
        r = e / np.sqrt(1.0 - self.leverage)
        pit: FloatArray = ndtr(r)
        if self.scale_share > 0.0:
            df = max(self.n - float(self.shares.sum()) - 1.0, 1.0)
            others = (float(e @ e) - np.square(r)) / df
            squared = np.maximum(1.0 + self.scale_share * (others - 1.0), 1e-12)
            t = r / np.sqrt(squared)
            pit = np.asarray(stdtr(df / self.scale_share**2, t), dtype=np.float64)
        # PITs of y are shares of so many draws, which matters in the tails.
        below = rng.binomial(self.draws, pit)
        return np.asarray(
            ndtri((below + rng.uniform(1e-9, 1.0, self.n)) / (self.draws + 1))
        )


def unspiked(seen: FloatArray, gamma: float) -> FloatArray:
    """Return s of eigenvalues (1 + s)(1 + γ/s) that are above the edge of noise, (k,)."""
    # (1 + s)(s + γ) = seen·s is s² + (1 + γ − seen)s + γ = 0, whose larger root it is.
    half = 0.5 * (seen - 1.0 - gamma)
    return np.asarray(half + np.sqrt(np.maximum(np.square(half) - gamma, 0.0)))


@dataclass(frozen=True, eq=False)
class LooDraws(Draws):
    """Draws of each row by the posterior without that row; see `loo_draws`.

    `values` are the posterior's predictive draws, resampled in each row by the weights of
    leaving it out.
    """

    name = "The leave-one-out law of draws"

    smoother: Smoother | None = None
    #: The draws as they were, for other rows than those of the fit.
    plain: Draws | None = None
    observed: AnyArray | None = None  #: y of the fit, (n,), where it is known.
    notes: tuple[str, ...] = ()

    def take(self, rows: IntArray) -> Self:
        taken = super().take(rows)
        return replace(
            taken,
            plain=None if self.plain is None else self.plain.take(rows),
            observed=None if self.observed is None else self.observed[rows],
        )

    def facing(self, y: AnyArray) -> Draws:
        """Return the plain draws where y are not the observations of the fit."""
        if self.observed is None or self.plain is None:
            return self
        y = np.asarray(y, dtype=np.float64).reshape(-1)
        same = len(y) == len(self.observed) and np.allclose(y, self.observed)
        return self if same else self.plain

    def noted(self, *notes: str) -> Self:
        return replace(self, notes=(*self.notes, *notes)) if notes else self

    def replicate_scores(self, rng: np.random.Generator) -> FloatArray:
        """Draw normal scores of the rows of this law, (n,), all rows of the fit at once."""
        assert self.smoother is not None
        return self.smoother.scores(rng)[self.ids]


class Likelihood(NamedTuple):
    """What ArviZ data hold of the rows of a fit."""

    values: FloatArray  #: log p(y_i | θ_s), (n, m).
    observed: AnyArray | None  #: y, (n,).


def likelihood_of(obj: Any, shape: tuple[int, ...]) -> Likelihood | None:
    """Return the log-likelihood of ArviZ data whose draws have a shape (n, m), if any."""
    group = getattr(obj, LIKELIHOOD_GROUP, None)
    if group is None or not hasattr(group, "data_vars") or not len(group.data_vars):
        return None
    names = list(group.data_vars)
    if len(names) != 1 or len(shape) != 2:
        return None
    array = group[names[0]]
    of_draws = [dim for dim in ("chain", "draw") if dim in array.dims]
    of_y = [dim for dim in array.dims if dim not in of_draws]
    if len(of_y) != 1 or not of_draws:
        return None
    values = np.asarray(array.transpose(of_y[0], *of_draws).values, dtype=np.float64)
    values = values.reshape(len(values), -1)
    if values.shape != shape:
        return None
    observed = None
    data = getattr(obj, OBSERVED_GROUP, None)
    if data is not None and len(getattr(data, "data_vars", ())) == 1:
        (name,) = data.data_vars
        y = np.asarray(data[name].values).reshape(-1)
        observed = y.astype(np.float64) if len(y) == shape[0] else None
    return Likelihood(values, observed)


def loo_draws(draws: Draws, likelihood: Likelihood) -> LooDraws:
    """Make leave-one-out predictions of draws (n, m) and their log-likelihood."""
    if not np.isfinite(likelihood.values).all():
        raise InputError(
            f"The group {LIKELIHOOD_GROUP} has NaN or infinite values. Check the model"
            " there, or pass loo=False."
        )
    n, m = draws.values.shape
    if m < FEWEST_DRAWS:
        raise InputError(
            f"Leave-one-out predictions take {FEWEST_DRAWS} draws or more, got {m}. If rows"
            " were not those of the fit, pass loo=False."
        )
    stats = require("arviz_stats.base", "bayes", "A posterior in sample (loo)")
    log_weights, pareto_k = stats.array_stats.psislw(likelihood.values, axis=-1)
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    values = np.empty((n, m))
    grid = (np.arange(m) + 0.5) / m
    for i in range(n):
        # Systematic resampling: each draw comes m·w times, rounded up or down.
        chosen = np.searchsorted(np.cumsum(weights[i]), grid)
        values[i] = draws.values[i, np.minimum(chosen, m - 1)]
    whole = np.all(draws.values[: min(n, 50)] == np.round(draws.values[: min(n, 50)]))
    return LooDraws(
        values=values,
        seed=draws.seed,
        ids=draws.ids,
        smoother=Smoother.from_draws(
            draws.values,
            effective=1.0 / np.square(weights).sum(axis=1),
            has_scale=not whole,
        ),
        plain=draws,
        observed=likelihood.observed,
        notes=tuple(_notes(np.asarray(pareto_k), n, m)),
    )


def _notes(pareto_k: FloatArray, n: int, m: int) -> list[str]:
    """Say how rows were predicted, and of which that is not reliable."""
    notes = [
        "rows are predicted by the posterior without them (PSIS-LOO), and compared with"
        " samples that share the same fit"
    ]
    most = min(WORST_PARETO_K, 1.0 - 1.0 / np.log10(max(m, 11)))
    bad = np.flatnonzero(pareto_k > most)
    if len(bad):
        named = ", ".join(map(str, bad[:MOST_NAMED_ROWS]))
        more = f" and {len(bad) - MOST_NAMED_ROWS} more" * (len(bad) > MOST_NAMED_ROWS)
        notes.append(
            f"Pareto k is above {most:.2f} in {len(bad)} of {n} rows ({named}{more}): their"
            " leave-one-out predictions are not reliable; check on held-out rows, or refit"
            " without them"
        )
    if m < FEWEST_DRAWS_PER_ROW * n:
        notes.append(
            f"{m:,} draws of {n:,} rows are few to tell what the model has fitted: take"
            f" {FEWEST_DRAWS_PER_ROW * n:,} or more, or the test may reject too rarely"
        )
    return notes
