"""The front door: verdict, how, where, how much; comparison, repair, composite, monitor.

`import condgof` loads the function `check` alone. All else (`condgof.check._names`) is
loaded together, when something of it is first asked for: tests such as `kcsd` need none of
it.
"""

import importlib
from typing import TYPE_CHECKING, Any

from condgof.check._front import check as check

if TYPE_CHECKING:
    from condgof.check._names import *  # noqa: F403


def __getattr__(name: str) -> Any:
    names = importlib.import_module("condgof.check._names")
    if name not in names.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(names, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*importlib.import_module("condgof.check._names").__all__, "check"]
