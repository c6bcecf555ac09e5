"""Fits that are sent to other processes, which import no more than they need."""

from __future__ import annotations

import condgof as cg


class FailsOnSome:
    """Fails where the mean of y is unusual, wherever it runs."""

    def __call__(self, x, y):
        if y.mean() > 1.45:
            raise RuntimeError(f"a mean of {y.mean():.6f}")
        return cg.fits.ols()(x, y)
