"""Types that all packages share."""

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
SingleArray: TypeAlias = NDArray[np.float32]
IntArray: TypeAlias = NDArray[np.int64]
AnyArray: TypeAlias = NDArray[Any]


class Frame(Protocol):
    """What frames of pandas, polars and pyarrow, Dask arrays and sources have in common."""

    def __len__(self) -> int: ...
    @property
    def shape(self) -> tuple[Any, ...]: ...


#: Rows as users bring them: arrays, nested lists, frames and their columns, Dask arrays, or
#: what `condgof.scan` returns.
TableLike: TypeAlias = ArrayLike | Frame
