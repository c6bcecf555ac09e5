"""Ready-made fits, (x, y) → model, for tests of a family of models."""

from condgof.models.fits._glm import glm
from condgof.models.fits._linear import heteroscedastic, ols
from condgof.models.fits._sklearn import sklearn

__all__ = ["glm", "heteroscedastic", "ols", "sklearn"]
