"""Array types shared by every room."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
SingleArray: TypeAlias = NDArray[np.float32]
IntArray: TypeAlias = NDArray[np.int64]
AnyArray: TypeAlias = NDArray[Any]
