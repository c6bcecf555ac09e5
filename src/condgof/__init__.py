"""Does a conditional density model p(y|x) fit the data, and if not, where?"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from condgof import errors, models
from condgof.check import check
from condgof.kernels import (
    IMQ,
    Categorical,
    Gaussian,
    Kernel,
    Matern12,
    Matern52,
    Ordinal,
    Radial,
)
from condgof.laws import (
    Law,
    as_model,
    columns,
    crossfit,
    fits,
    from_bins,
    from_draws,
    from_intervals,
    from_jax,
    from_log_prob,
    from_pit,
    from_quantiles,
    from_ratio,
    from_scipy,
    from_score,
    from_scores,
    from_statsmodels,
    from_torch,
    normal,
    probabilities,
)
from condgof.methods import (
    adaptive,
    calibration,
    fscd,
    fssd,
    kcsd,
    ksd,
    mmd,
    power_criterion,
    scores,
    witness,
    zheng,
)
from condgof.result import GofResult
from condgof.sample import Source, scan

if TYPE_CHECKING:
    from condgof import sklearn, study, testing
    from condgof.check import (
        Check,
        Comparison,
        Monitor,
        Ranking,
        Repair,
        Slice,
        compare,
        composite,
        monitor,
        rank,
    )
    from condgof.report import plot_power

__version__ = "0.2.0"

__all__ = [
    "IMQ",
    "Categorical",
    "Check",
    "Comparison",
    "Gaussian",
    "GofResult",
    "Kernel",
    "Law",
    "Matern12",
    "Matern52",
    "Monitor",
    "Ordinal",
    "Radial",
    "Ranking",
    "Repair",
    "Slice",
    "Source",
    "adaptive",
    "as_model",
    "calibration",
    "check",
    "columns",
    "compare",
    "composite",
    "crossfit",
    "errors",
    "fits",
    "from_bins",
    "from_draws",
    "from_intervals",
    "from_jax",
    "from_log_prob",
    "from_pit",
    "from_quantiles",
    "from_ratio",
    "from_scipy",
    "from_score",
    "from_scores",
    "from_statsmodels",
    "from_torch",
    "fscd",
    "fssd",
    "kcsd",
    "ksd",
    "mmd",
    "models",
    "monitor",
    "normal",
    "plot_power",
    "power_criterion",
    "probabilities",
    "rank",
    "scan",
    "scores",
    "sklearn",
    "study",
    "testing",
    "witness",
    "zheng",
]


#: Names of `condgof.check` that are loaded when they are first asked for. (The attribute
#: `check` of this module is the function.)
_OF_CHECK = (
    "Check",
    "Comparison",
    "Monitor",
    "Ranking",
    "Repair",
    "Slice",
    "compare",
    "composite",
    "monitor",
    "rank",
)


def __getattr__(name: str) -> Any:
    """Load the parts that most programs do not need when they are first asked for."""
    if name in ("sklearn", "study", "testing"):
        return importlib.import_module(f"condgof.{name}")
    if name in _OF_CHECK:
        return getattr(importlib.import_module("condgof.check"), name)
    if name == "plot_power":
        return importlib.import_module("condgof.report._studies").plot_power
    raise AttributeError(f"module 'condgof' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Name what is public, the parts that are not loaded yet included."""
    return sorted([*__all__, "__version__"])
