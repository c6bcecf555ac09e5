"""What the report draws for each kind of residuals: registered for its class of rows."""

from condgof.report.kinds import (
    _censored,
    _circular,
    _classes,
    _counts,
    _moments,
    _normal_scores,
    _scores,
    _statements,
)
from condgof.report.kinds._censored import events, survival
from condgof.report.kinds._circular import angles
from condgof.report.kinds._classes import class_reliability, classes, reliability
from condgof.report.kinds._counts import rootogram
from condgof.report.kinds._statements import coverage

__all__ = [
    "FILES",
    "angles",
    "class_reliability",
    "classes",
    "coverage",
    "events",
    "reliability",
    "rootogram",
    "survival",
]

#: One file for each kind of residuals; to import a file is to register what it draws.
FILES = (
    _censored,
    _circular,
    _classes,
    _counts,
    _moments,
    _normal_scores,
    _scores,
    _statements,
)
