"""Ready-made fits, (x, y) → model, for tests of a family of models and for `crossfit`."""

from condgof.laws.fits._libraries import glm, sklearn
from condgof.laws.fits._linear import heteroscedastic, ols

__all__ = ["glm", "heteroscedastic", "ols", "sklearn"]
