"""Checks inside tests: ``cg.testing.assert_fits`` for pytest."""

from __future__ import annotations

from typing import Any

from condgof._typing import TableLike
from condgof.check import WORSE, Check, check

__all__ = ["assert_fits"]


def __dir__() -> list[str]:
    return __all__


def assert_fits(
    model: object,
    x: TableLike,
    y: TableLike | None = None,
    *,
    tolerance: str | float | None = None,
    rng: int = 0,
    **options: Any,
) -> Check:
    """Raise `AssertionError`, with the report as its message, if a model does not fit.

    Without a `tolerance` it fails if the model is rejected at the level `alpha`, or if a
    group of ``by=`` or ``slices=`` is. With one it fails if the misfit is worse than that,
    with confidence 1 − alpha: a test that does not fail more often the more rows there are.

    Parameters
    ----------
    model, x, y
        As in `check`.
    tolerance : str, optional
        The largest misfit that you allow: ``"0.05 nats"`` of avoidable loss a row, or
        ``"0.1 size"`` of effect size.
    rng : int
        The seed, so that the test has the same answer every time.
    **options
        All other options of `check`.

    Returns
    -------
    Check
        The report, for more assertions.

    Examples
    --------
    >>> import numpy as np, condgof as cg
    >>> x, noise = np.random.default_rng(1).standard_normal((2, 300))
    >>> report = cg.testing.assert_fits((x, np.ones(300)), x, x + noise)
    >>> report.rejected
    False
    >>> try:
    ...     cg.testing.assert_fits((x, np.ones(300)), x, x + 3 * noise)
    ... except AssertionError as error:
    ...     print("MISFIT" in str(error))
    True
    """
    # pytest then shows the line of the test, and not this one.
    __tracebackhide__ = True
    report = check(model, x, y, tolerance=tolerance, rng=rng, **options)
    if report.tolerance is not None:
        fails = report.tolerance.verdict == WORSE
    else:
        fails = report.rejected or any(
            group.pvalue <= report.alpha for group in report.groups
        )
    if fails:
        raise AssertionError(str(report))
    return report
