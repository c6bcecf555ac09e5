"""What a test gives back, and how p-values and numbers are written."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, check_number, require

#: Locations of a finite-set test that `print` shows at most.
MAX_LOCATIONS_SHOWN = 5

#: Smaller p-values are written as "< 0.0001". It is a little less than 0.0001, so that a
#: p-value of 1/10,000 with a rounding error is written as "0.0001".
SMALLEST_PVALUE_SHOWN = 9.99e-5

#: Logarithms to base 10 are moved up by this before they are rounded down, so that 0.001
#: or 0.1 with a rounding error keep their magnitude.
LOG_ROUNDING = 1e-9

#: A multiple of 10^k is rounded up unless it is this near to the one below.
MULTIPLE_ROUNDING = 1e-6

#: A p-value is at its floor if it is at most this much larger, relative to it.
FLOOR_ROUNDING = 1e-9


class Record:
    """A base class of frozen dataclasses whose arrays and mappings are read-only.

    Instances can be pickled, and turned into plain Python objects.
    """

    def __post_init__(self) -> None:
        for name, value in self.__dict__.items():
            _read_only(value)
            if isinstance(value, Mapping):
                object.__setattr__(self, name, MappingProxyType(dict(value)))

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        for name, value in state.items():
            if isinstance(value, Mapping):
                state[name] = dict(value)  # a read-only view of a mapping does not pickle
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON."""
        return {f.name: plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]


class Shown:
    """How a result shows itself: as a card in a notebook, its rows as a pandas frame."""

    def records(self) -> list[dict[str, Any]]:
        """Return the rows of `to_frame`, a dictionary each."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """Return the numbers as a pandas frame (needs ``condgof[frames]``).

        Examples
        --------
        >>> result = GofResult(statistic=2.0, pvalue=0.01, method="kcsd", n=100)
        >>> result.to_frame()[["method", "n", "pvalue"]].to_dict("records")
        [{'method': 'kcsd', 'n': 100, 'pvalue': 0.01}]
        """
        return require("pandas", "frames", "to_frame").DataFrame(self.records())

    def _repr_html_(self) -> str:
        from condgof.report import card

        return card(self)


class Fact(NamedTuple):
    """A line below the verdict of a result."""

    name: str  #: What it is, such as "p-value".
    value: str  #: The value as text.


@dataclass(frozen=True, eq=False, repr=False)
class GofResult(Shown, Record):
    """The result of a goodness-of-fit test.

    Its arrays are read-only, and it pickles. Fields that a method does not have are None.

    Parameters
    ----------
    statistic : float
        The test statistic; larger means a worse fit.
    pvalue : float
        (1 + number of null draws at least as large as the statistic) / (number of draws +
        1), or the tail of a limit (`zheng`); never 0.
    method : str
        Name of the test, such as ``"kcsd"``.
    n : int
        Number of rows that the statistic was computed from.
    null_distribution : ndarray of shape (n_boot,), optional
        Draws of the statistic under the null hypothesis.
    null : str, optional
        How the draws were made, or the limit that stands in for them.
    kernel_x, kernel_y : Kernel, optional
        The kernels, with the bandwidths that were used.
    solver : str, optional
        Which solver ran.
    locations : ndarray of shape (J, d), optional
        The test locations of the finite-set tests, in the user's units; categories by
        their position.
    seed : int, optional
        Passing it as ``rng=`` gives this very result.
    details : mapping
        What only this method reports.

    Examples
    --------
    >>> result = GofResult(statistic=2.0, pvalue=0.01, method="kcsd", n=100)
    >>> result.reject(), result.reject(alpha=0.001)
    (True, False)
    """

    statistic: float
    pvalue: float
    method: str
    n: int
    null_distribution: FloatArray | None = None
    null: str | None = None
    kernel_x: Any = None
    kernel_y: Any = None
    solver: str | None = None
    locations: FloatArray | None = None
    seed: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def reject(self, alpha: float = 0.05) -> bool:
        """Whether the model is rejected: the p-value is at most `alpha`.

        No draw was as large as the statistic, and the draws are too few for `alpha`: that
        is an error, since neither answer would be right.
        """
        alpha = check_alpha(alpha)
        if self._is_unresolved(alpha):
            draws = round(1.0 / self.pvalue_floor) - 1
            raise InputError(
                f"alpha = {alpha:g} cannot be decided: none of {draws} draws was as large"
                f" as the statistic: the p-value is at most {self.pvalue_floor:.2g}."
                f" Run the test again with n_boot={draws_needed(alpha)} or more."
            )
        return self.pvalue <= alpha

    def _is_unresolved(self, alpha: float) -> bool:
        """Whether the p-value is above alpha only because there are too few draws."""
        at_floor = self.pvalue <= self.pvalue_floor * (1.0 + FLOOR_ROUNDING)
        return at_floor and self.pvalue > alpha

    @property
    def pvalue_words(self) -> str:
        """The p-value as text; "p ≤ 0.001" where no draw was as large as the statistic."""
        return pvalue_words(self.pvalue, self.pvalue_floor)

    @property
    def pvalue_floor(self) -> float:
        """The smallest p-value that the draws can give; 0 where there are no draws."""
        if self.null_distribution is None:
            return 0.0
        return 1.0 / (len(self.null_distribution) + 1)

    def plot(self, ax: object = None) -> Any:
        """Draw the null distribution and the statistic (needs ``condgof[plot]``).

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw, and what is returned; a new figure unless given.

        Examples
        --------
        >>> draws = np.arange(100) / 50
        >>> result = GofResult(2.0, 0.01, "kcsd", 100, null_distribution=draws)
        >>> result.plot().get_title(loc="left")
        'kcsd, n = 100: p = 0.010'
        """
        from condgof.report import plot_result

        return plot_result(self, ax)

    def to_html(self, *, title: str | None = None, command: str | None = None) -> str:
        """Return the result as a page of one file, with the null distribution drawn.

        Parameters
        ----------
        title : str, optional
            The heading of the page; the name of the test unless given.
        command : str, optional
            The command that gives the result again.

        Examples
        --------
        >>> result = GofResult(statistic=2.0, pvalue=0.01, method="kcsd", n=100)
        >>> result.to_html()[:15]
        '<!doctype html>'
        """
        from condgof.report import result_page

        return result_page(self, title=title, command=command)

    def records(self) -> list[dict[str, Any]]:
        """Return one row: the test, its size, statistic and p-value, and the seed."""
        names = ("method", "n", "statistic", "pvalue", "null", "seed")
        return [{name: getattr(self, name) for name in names}]

    @property
    def verdict(self) -> str:
        """Whether there is evidence against the model at the 5% level, in words."""
        if self._is_unresolved(0.05):
            return "too few draws for a verdict at the 5% level"
        return f"{'' if self.reject() else 'no '}evidence against the model at the 5% level"

    def facts(self) -> list[Fact]:
        """Return what `print` shows below the verdict."""
        details = self.details
        pvalue = pvalue_number(self.pvalue, self.pvalue_floor)
        facts = [
            Fact("p-value", pvalue + self._null_words()),
            Fact("statistic", f"{self.statistic:.4g}"),
        ]
        if self.kernel_x is not None:
            facts.append(Fact("kernel x", str(self.kernel_x)))
        if self.kernel_y is not None:
            facts.append(Fact("kernel y", str(self.kernel_y)))
        if "groups" in details:
            facts.append(Fact("rows", f"in {details['groups']:,} groups"))
        if "block_length" in details:
            facts.append(Fact("rows", f"in order, blocks of {details['block_length']:,}"))
        if "standardized_by" in details:
            facts.append(Fact("y seen as", f"{details['standardized_by']}"))
        if "x_seen_as" in details:
            facts.append(Fact("x seen as", f"{details['x_seen_as']}"))
        if "strongest_location" in details:
            place = details["strongest_location"]
            point = _point(place.get("label") or place["x"])
            facts.append(Fact("strongest", f"near x = {point}"))
        if self.locations is not None:
            points = [_point(v) for v in details.get("location_labels") or self.locations]
            rest = ", ..." if len(points) > MAX_LOCATIONS_SHOWN else ""
            facts.append(Fact("locations", ", ".join(points[:MAX_LOCATIONS_SHOWN]) + rest))
        if "fitted" in details:
            facts.append(Fact("fitted", details["fitted"]))
        facts += [Fact("note", str(note)) for note in details.get("notes", ())]
        return facts

    def _null_words(self) -> str:
        """Say in brackets what the p-value comes from; "" where that is not known."""
        if self.null_distribution is not None and len(self.null_distribution):
            return f" ({len(self.null_distribution):,} {self.null} draws)"
        return f" ({self.null} limit)" if self.null else ""

    def __repr__(self) -> str:
        return (
            f"GofResult(method={self.method!r}, n={self.n},"
            f" statistic={self.statistic:.6g}, {self.pvalue_words})"
        )

    def __str__(self) -> str:
        lines = [f"{self.method} test of goodness of fit, n = {self.n:,}"]
        for name, value in [Fact("verdict", self.verdict), *self.facts()]:
            lines.append(f"  {name:10} {value}")
        return "\n".join(lines)


class IntervalEnds(NamedTuple):
    """The ends of confidence intervals, arrays of one shape."""

    low: FloatArray
    high: FloatArray


def share_interval(
    k: AnyArray | float, n: AnyArray | float, error: float = 0.05
) -> IntervalEnds:
    """Return Clopper and Pearson's exact interval of a probability.

    Parameters
    ----------
    k, n : int or ndarray of one shape
        Successes, and trials; of weighted rows, which count as so many, no integers.
    error : float
        The interval covers the probability with probability 1 − error at least.
    """
    from scipy.special import betaincinv

    k = np.asarray(k)
    n = np.asarray(n)
    low = betaincinv(np.where(k > 0, k, 1), n - k + 1, error / 2)
    high = betaincinv(k + 1, np.where(k < n, n - k, 1), 1 - error / 2)
    return IntervalEnds(low=np.where(k > 0, low, 0.0), high=np.where(k < n, high, 1.0))


def binomial_quantile(
    level: AnyArray | float, n: AnyArray | int, p: AnyArray | float
) -> FloatArray:
    """Return the least k with P(K ≤ k) ≥ level, K ~ Binomial(n, p); NaN where p is NaN.

    This is `scipy.stats.binom.ppf`, without half a second for importing `scipy.stats`.

    Parameters
    ----------
    level : float or ndarray
        Between 0 and 1, exclusive; the three have shapes that broadcast.
    n : int or ndarray
        Trials.
    p : float or ndarray
        Probability of a success, in [0, 1].
    """
    from scipy.special import betaincc

    n, p, level = np.broadcast_arrays(n, p, level)
    # Bisection, P(K ≤ below) < level ≤ P(K ≤ k), by P(K ≤ k) = 1 − I_p(k + 1, n − k).
    below = np.full(n.shape, -1)
    k = n
    while np.any(k - below > 1):
        middle = (below + k) // 2  # `below` itself where k is the quantile
        enough = betaincc(middle + 1, n - middle, p) >= level
        below = np.where(enough, below, middle)
        k = np.where(enough, np.maximum(middle, 0), k)
    return np.where(np.isnan(p), np.nan, k)


def check_alpha(alpha: object) -> float:
    """Check the level of a test, and return it."""
    return check_number(alpha, "alpha", "between 0 and 1", lambda value: 0 < value < 1)


def draws_needed(alpha: float) -> int:
    """Return the least number of draws with a p-value, 1/(draws + 1), of at most alpha."""
    draws = max(1, math.ceil(1.0 / alpha) - 1)
    # Rounding may put 1/(draws + 1) on either side of alpha.
    if draws > 1 and 1.0 / draws <= alpha:
        return draws - 1
    return draws if 1.0 / (draws + 1) <= alpha else draws + 1


def pvalue_words(value: float, floor: float = 0.0) -> str:
    """Write a p-value with its sign, as in "p = 0.03"; see `pvalue_number`."""
    shown = pvalue_number(value, floor)
    return f"p {shown}" if shown.startswith(("≤", "<")) else f"p = {shown}"


def pvalue_number(value: float, floor: float = 0.0) -> str:
    """Write a p-value as people do.

    `floor` is the smallest p-value that the draws can give. There the value is an upper
    bound, and is rounded up to one figure.
    """
    if not math.isfinite(value):
        return "–"
    if 0.0 < value <= floor * (1.0 + FLOOR_ROUNDING):
        return f"≤ {_rounded_up(value)}"
    if value < SMALLEST_PVALUE_SHOWN:
        return "< 0.0001"
    if value < 0.01:
        return _trimmed(f"{value:.4f}")
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def _rounded_up(pvalue: float) -> str:
    """Write a p-value rounded up to one figure, and at most 1."""
    step = 10.0 ** math.floor(math.log10(pvalue) + LOG_ROUNDING)
    bound = min(math.ceil(pvalue / step - MULTIPLE_ROUNDING) * step, 1.0)
    if bound < SMALLEST_PVALUE_SHOWN:
        return f"{bound:.0e}".replace("e-0", "e-").replace("-", "−")
    return _trimmed(pvalue_number(bound))


def number(value: float, digits: int = 3) -> str:
    """Write a number with some significant digits, thousands set apart."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    if value != 0 and not 1e-4 <= abs(value) < 1e9:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        text = f"{_trimmed(mantissa)}e{int(exponent)}"
    else:
        magnitude = math.floor(math.log10(abs(value))) if value else 0
        places = max(0, digits - 1 - magnitude)
        text = _trimmed(f"{value:,.{places}f}")
    return "0" if text in ("-0", "0") else text.replace("-", "−")


def rounded(value: float) -> str:
    """Write a number with two decimals, and up to four near 0 and just below 1."""
    size = abs(value)
    if not math.isfinite(value) or size >= 1e9:
        return f"{value:.2g}".replace("inf", "∞")
    if size >= 100:
        return f"{value:,.0f}"
    places = 2
    if size < 0.01:
        places = 3 if size * 1000 >= 9.5 else 4  # 0.0095 and above round to 0.010
    elif 0.99 <= size < 1.0:
        # As many decimals as keep the number from being written as 1.
        places = next((p for p in (2, 3, 4) if round(size, p) != 1.0), 2)
    text = f"{value:.{places}f}"
    return text if float(text) else "0.00"


def decimals(value: float) -> int:
    """Return how many decimals show two figures of a number: from 2 to 6."""
    if value == 0 or not math.isfinite(value):
        return 2
    magnitude = math.floor(math.log10(abs(value)) + LOG_ROUNDING)
    return min(max(2, 1 - magnitude), 6)


def short(value: float) -> str:
    """Write a number so that two figures show, with 2 to 6 decimals; see `decimals`."""
    return f"{value:.{decimals(value)}f}"


class EstimateText(NamedTuple):
    """An estimate as text, and its interval, as in "0.17 to 0.25"."""

    estimate: str
    interval: str


def estimate_text(
    estimate: float, low: float, high: float, about: float = 0.0
) -> EstimateText:
    """Write an estimate and its interval so that two figures of estimate − about show.

    `about` is what the estimate is compared with: 1 for a ratio, 0 for a difference.
    """
    digits = decimals(estimate - about)
    # 0.0 is added because -0.0 would be written with its sign.
    return EstimateText(
        estimate=f"{estimate:.{digits}f}",
        interval=f"{low + 0.0:.{digits}f} to {high + 0.0:.{digits}f}",
    )


def _trimmed(text: str) -> str:
    """Drop zeros at the end of decimals."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def _read_only(value: object) -> None:
    """Make an array read-only, or all arrays of a mapping."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, Mapping):
        for item in value.values():
            _read_only(item)


def _point(v: FloatArray | Mapping[str, float | str]) -> str:
    """Write a point: a number, (1, 2), or by names (age=30, sex=f)."""
    if isinstance(v, Mapping):
        texts = []
        for name, value in v.items():
            text = value if isinstance(value, str) else f"{value:.4g}"
            texts.append(f"{name}={text}")
        return f"({', '.join(texts)})"
    numbers = ", ".join(f"{value:.4g}" for value in v)
    return numbers if len(v) == 1 else f"({numbers})"


def plain(value: object) -> Any:
    """Return a value as plain Python objects, ready for JSON."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no NaN or infinity
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
