"""Where the work runs. Only this room knows about threads."""

from condgof.engine._progress import with_progress
from condgof.engine._threads import Threads, as_engine, single_threaded_blas

__all__ = ["Threads", "as_engine", "single_threaded_blas", "with_progress"]
