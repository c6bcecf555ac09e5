"""The front door: does the model fit, and if not how, where and how much?

What it does is imported when it is first called.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from condgof._typing import TableLike
from condgof.methods import Options
from condgof.null import check_resolution
from condgof.result import check_alpha
from condgof.sample import RngLike, Seed
from condgof.stein import DEFAULT_MEMORY, Units

if TYPE_CHECKING:
    from condgof.check._record import Check


def check(
    model: object,
    x: TableLike,
    y: TableLike | None = None,
    *,
    event: TableLike | None = None,
    entry: TableLike | None = None,
    by: object = None,
    slices: Sequence[Any] = (),
    groups: TableLike | None = None,
    weights: TableLike | None = None,
    dependence: object = None,
    tolerance: str | float | None = None,
    alpha: float = 0.05,
    standardize: str = "auto",
    scale_x: str = "ranks",
    solver: str = "auto",
    n_boot: int = 1000,
    missing: str = "refuse",
    rng: RngLike = None,
    engine: object = None,
    memory: int = DEFAULT_MEMORY,
) -> Check:
    """Check a conditional density model: does it fit, and if not how, where and how much?

    - *Verdict*: the p-value of `adaptive`, with one more family of statistics: what steps
      in single columns gain in log score, taken off one after the other.
    - *Effects*: what the misfit consists of. An effect is a kind of error (bias, spread,
      skew, tails; of counts dispersion and zeros; the odds of a class; a quantile; the
      hazard) that depends on no column, on one, or on two columns of x or of what is
      predicted. It is worth what its correction gains in log score on rows that it was not
      learned on. The largest one is taken off, and the search goes on, while the same
      search on y drawn from the corrected law gains as much with probability at most
      `alpha`. What all of them gain together on held-out rows is `avoidable_loss`.
    - *Slices*: the places where effects are largest, with intervals that hold for all
      places that were searched at once. Effects and slices are named only if the verdict
      rejects.
    - *Overall*: the median, the middle half, how often predicted intervals hold y, how much
      lies far out; of classes, confidence against accuracy. Their intervals hold together
      95% of the time, and hold what is predicted unless the verdict rejects. One outlier
      does not move them, and is named.
    - *Effect size*: the uniform misfit, such as a bias in predictive SDs, that would be
      equally detectable. Unlike the p-value, it does not depend on the sample size.
      *Power*: the smallest one that is detected with probability 0.8.

    Do not use it when parameters of the model were fitted on this same sample (see
    `composite`). Rows that depend on each other need ``dependence=`` or ``groups=``.

    Parameters
    ----------
    model : law, model or anything `as_model` takes
        The model; a tuple (mean, std) will do.
    x, y : array_like or frame of shape (n,) or (n, d)
        The sample; x may be a source from `scan`, which brings its own y, or Dask arrays:
        of these all but the verdict comes from 20,000 rows that are drawn at random.
    event, entry : array_like of shape (n,), optional
        Censoring, as in `adaptive`. Subgroups then report observed and expected events, Σ
        Λ(y) − Λ(entry) with Λ = −log P(Y > y|x), and the effect size is the relative error
        of the hazard.
    by : str, list of str, array_like of shape (n,) or frame, optional
        A column of x or of predictions, several of them, or one label a row: each group is
        tested and described as a slice that was named beforehand. Of several columns,
        ``by=["region", "sex"]``, groups are the combinations that occur; at most 2,000. A
        column or frame of pandas is put in the order of x by its index. Groups and `slices`
        have the level `alpha` together (Holm's correction), beside that of the verdict, and
        the exact test of their kind of y; an interval excludes what is predicted exactly
        where there is evidence. Rows that depend on each other are ``groups=``.
    slices : sequence
        Slices that you name beforehand, tested like groups: each a query of the columns of
        x and of predictions in ``frame()``, such as ``"30 <= age <= 47"``, or a mask of n
        rows.
    weights : array_like or Series of shape (n,), or str, optional
        Weights of rows, which must be functions of x (survey weights, importance,
        exposures): not of y. A string names a column of x, or of the source. Sums, gains,
        estimates and scores are weighted, and intervals are those of the effective number
        of rows, (Σw)²/Σw². Outliers and values of y that come too often are counted in
        rows. Only ratios of weights matter; rows of weight 0 are left out. See
        docs/have/weights.md.
    tolerance : str, optional
        The largest misfit that you allow: ``"0.05 nats"`` of ``avoidable_loss``, or ``"0.1
        size"`` in the unit of ``effect``. ``report.tolerance`` then says "worse than you
        allow", "good enough" (each wrongly with probability at most alpha) or "undecided".
        A bare number is a size, as in version 0.2, with a warning.
    alpha : float
        The level of the verdict, of the slices and of the tolerance; at least 1/(n_boot +
        1), the smallest p-value.
    standardize, scale_x, solver, n_boot, dependence, groups, missing, rng, engine, memory
        As in `adaptive`.

    Returns
    -------
    Check
        ``print`` it, ``frame()`` and ``slices`` for pandas, ``to_html()`` for a colleague.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 4, 800)
    >>> y = x + np.where(x > 3, 2.0, 1.0) * rng.standard_normal(800)   # too noisy above 3
    >>> report = cg.check((x, np.ones(800)), x, y, rng=1)
    >>> [effect.name for effect in report.effects]
    ['spread by x']
    >>> first = report.slices[0]
    >>> low, high = report.frame().query(first.query)["z"].quantile([0.25, 0.75])
    >>> width = (high - low) / 1.349   # of the middle half; 1 if the model is right
    >>> first.kind, first.direction, bool(abs(width - first.findings[0].estimate) < 0.001)
    ('spread', 'too narrow', True)
    """
    from condgof.check._check import run_check

    alpha = check_alpha(alpha)
    options = Options(
        solver=solver,
        n_boot=n_boot,
        dependence=dependence,
        groups=groups,
        missing=missing,
        engine=engine,
        memory=memory,
    ).checked()
    check_resolution(alpha, options.n_boot)
    return run_check(
        model,
        x,
        y,
        event=event,
        entry=entry,
        by=by,
        slices=slices,
        weights=weights,
        tolerance=tolerance,
        alpha=alpha,
        units=Units(scale_x, standardize, predictions=True),
        options=options,
        seed=Seed.of(rng),
    )
