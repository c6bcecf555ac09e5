"""The front door: does the model fit, and if not where, how and how badly?"""

from __future__ import annotations

from typing import Any

from condgof.engine import single_threaded_blas
from condgof.locate._inspect import Aims, inspect
from condgof.locate._record import Check
from condgof.methods._options import Options, prepare_with_model
from condgof.methods._rows import Units
from condgof.sample import RngLike, Seed
from condgof.stein import DEFAULT_MEMORY


def check(
    model: Any,
    x: Any,
    y: Any = None,
    *,
    alpha: float = 0.05,
    n_locations: int = 5,
    standardize: str = "auto",
    scale_x: str = "ranks",
    solver: str = "auto",
    n_boot: int = 1000,
    dependence: Any = None,
    groups: Any = None,
    missing: str = "refuse",
    rng: RngLike = None,
    engine: Any = None,
    memory: int = DEFAULT_MEMORY,
) -> Check:
    """Check a conditional density model: does it fit, and if not where, how and how badly?

    - The *verdict* is that of `adaptive` on all rows.
    - *Where*: one half of the rows chooses up to `n_locations` places in x, well apart, at which the
      power criterion of `fscd` with one location is largest; a place looks at all columns of x or at
      those that matter there. The other half tests them. Their p-values are corrected for looking at
      several by the maximum over joint draws (step-down), and a place is *named* if the verdict rejects
      and its corrected p-value is at most alpha. For a true model the probability that any place is
      named is at most alpha. Other places are where to look, and no evidence.
    - *How*: near each place, shift, width, skew, tails and (for d_y > 1) correlation of the model's
      residuals, weighted by nearness, each with a 95% interval, from the rows that tested the place;
      from scores alone, shift and width by E[s] = 0 and E[s(y − c)] = −1.
    - *How much*: the constant shift, in model standard deviations, that has the discrepancy of the
      data. It does not grow with n.
    - *What could have been seen*: the constant shift, and the ratio of spreads, that `adaptive` finds
      with probability 0.8 at this n and x; an approximation, good to about ±0.1 in that probability.

    Above 4,096 rows all but the verdict come from that many, drawn at random. With fewer than 60 rows
    no places are looked for.

    Of a discrete y (classes, counts): *how* is how often classes come, how often the most probable one
    is right, and shift, spread and zeros of counts; *how much*, of classes, the probability that is on
    the wrong class. Of quantiles: how often y exceeds them; of intervals: how often they cover y.

    Do not use it when parameters of the model were fitted on this same sample. Rows that depend on each
    other need ``dependence=`` or ``groups=``.

    See Also
    --------
    check_groups : the same within groups of rows.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 4, 800)
    >>> y = x + np.where(x > 3, 2.0, 1.0) * rng.standard_normal(800)   # too noisy above 3
    >>> report = cg.check((x, np.ones(800)), x, y, rng=1)
    >>> report.result.reject(), report.locations[0].named
    (True, True)
    >>> report.locations[0].findings[0].kind
    'width'
    """
    aims = Aims.of(alpha, n_locations)
    options = Options.of(
        solver=solver,
        null="auto",
        n_boot=n_boot,
        engine=engine,
        memory=memory,
        dependence=dependence,
        groups=groups,
        missing=missing,
    )
    seed = Seed.of(rng)
    units = Units(scale_x, standardize, predictions=True)
    # Work is spread over the engine's threads; BLAS's own would wait for each other beside them.
    with single_threaded_blas():
        own, scored = prepare_with_model(model, x, y, units, options, seed)
        return inspect(own, scored, aims, options.for_rows(scored, x), seed)
