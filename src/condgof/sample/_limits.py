"""The limits of what is computed, in one table.

Each is where a check takes about a minute on two cores, or where numbers are no longer
exact. Beyond it a call is refused at once, with the limit and what to do.
"""

from __future__ import annotations

from dataclasses import dataclass

from condgof.errors import InputError


@dataclass(frozen=True)
class Limit:
    """The most of something that is taken."""

    most: int
    #: What is counted, as in "x has 20,000 columns".
    what: str
    #: What to do about it.
    advice: str

    def check(self, count: int, subject: str) -> None:
        """Raise if there are more; `subject` is what has them, as in "x has".

        Examples
        --------
        >>> LIMITS.columns.check(20, "x has")
        """
        if count > self.most:
            raise InputError(
                f"{subject} {count:,} {self.what}, and at most {self.most:,} are taken."
                f" {self.advice}"
            )


@dataclass(frozen=True)
class Limits:
    """All limits."""

    #: Columns of x or y that are read.
    columns: Limit
    #: Columns of x, each of which `check` and `adaptive` search for misfits.
    searched_columns: Limit
    #: Columns of y.
    responses: Limit
    #: Classes of a discrete y in `check` and `adaptive`.
    classes: Limit
    #: Groups of ``by=``.
    groups: Limit
    #: Draws of a null distribution, ``n_boot=``.
    draws: Limit
    #: Locations of `fscd` and `fssd`.
    locations: Limit
    #: Trials of a binomial.
    trials: Limit


LIMITS = Limits(
    columns=Limit(
        most=10_000,
        what="columns",
        advice="Leave out columns, or pass a few components of them.",
    ),
    searched_columns=Limit(
        most=1_000,
        what="columns, of which each is searched for misfits",
        advice="Pass the columns that matter, or a few components; kcsd takes more.",
    ),
    responses=Limit(
        most=20,
        what="columns",
        advice="Check the columns of y in parts: most misfits are of one or two of them.",
    ),
    classes=Limit(
        most=1_000,
        what="classes",
        advice="Join rare classes: add their probabilities up.",
    ),
    groups=Limit(
        most=2_000,
        what="groups",
        advice="Pass coarser labels: each group is tested at 0.05 over their number.",
    ),
    draws=Limit(
        most=100_000,
        what="draws",
        advice="1,000 is a good choice; 19,999 serve for a level of 0.0001.",
    ),
    locations=Limit(
        most=10_000,
        what="locations",
        advice="Few locations have the most power: 5 is a good choice.",
    ),
    trials=Limit(
        most=10_000_000,
        what="trials",
        advice="Of so many trials the count is nearly normal: pass Normal(mean=, std=).",
    ),
)
