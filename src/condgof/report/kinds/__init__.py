"""What the report draws for each kind of y: one file a kind, registered for its rows."""

from condgof.report.kinds import (
    _censored,
    _circular,
    _classes,
    _continuous,
    _counts,
    _moments,
    _scores,
    _several,
    _statements,
)
from condgof.report.kinds._censored import survival
from condgof.report.kinds._circular import angles
from condgof.report.kinds._classes import classes, reliability
from condgof.report.kinds._counts import rootogram
from condgof.report.kinds._statements import coverage

__all__ = ["FILES", "angles", "classes", "coverage", "reliability", "rootogram", "survival"]

#: One file for each kind of y; to import it is to register what it draws.
FILES = (
    _censored,
    _circular,
    _classes,
    _continuous,
    _counts,
    _moments,
    _scores,
    _several,
    _statements,
)
