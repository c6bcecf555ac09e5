"""Sums of skewed terms that are compared with sums of the same terms with random signs."""

from __future__ import annotations

import numpy as np

from condgof._typing import AnyArray


def without_skewness(z: AnyArray, a: AnyArray, *, longer_tail_only: bool) -> AnyArray:
    """Take the skewness off sums z that are divided by the root of their own squares.

    Such a sum of m terms of skewness γ has about the skewness −2γ/√m, which sums with
    random signs do not have. It is taken off by z + a + 2az² + 4a²z³/3 with a = γ/(6√m),
    which increases with z. With `longer_tail_only`, only sums in the tail that becomes
    longer are moved: so are the draws, so that a correction that is too large does not
    reject.

    Parameters
    ----------
    z : ndarray
        Sums of any shape.
    a : ndarray
        γ/(6√m) of each, in a shape that broadcasts with that of z.
    longer_tail_only : bool
        Whether the shorter tail stays as it is.
    """
    moved = z + a + 2.0 * a * z**2 + (4.0 / 3.0) * a**2 * z**3
    return np.where(a * z > 0.0, moved, z) if longer_tail_only else moved
