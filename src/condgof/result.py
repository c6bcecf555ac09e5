"""What a test gives back: plain, frozen, picklable; and the wording of p-values and of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import check_number, require


class Record:
    """A frozen record: its arrays are read-only, its mappings too, and it pickles."""

    def __post_init__(self) -> None:
        for name, value in self.__dict__.items():
            _read_only(value)
            if isinstance(value, Mapping):
                object.__setattr__(self, name, MappingProxyType(dict(value)))

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.items()
        return {
            name: dict(value) if isinstance(value, Mapping) else value
            for name, value in state
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON."""
        return {f.name: plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]


class Shown:
    """How a result shows itself in a notebook: as a card, and its rows as a pandas frame."""

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
        How they were drawn, or the limit that stands in for them.
    kernel_x, kernel_y : Kernel, optional
        The kernels, with the bandwidths that were used.
    solver : str, optional
        Which solver ran.
    locations : ndarray of shape (J, d), optional
        The test locations of the finite-set tests, in the user's units; levels by their
        position.
    seed : int, optional
        Passing it as ``rng=`` gives this very result.
    details : mapping
        What is special to the method.

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
        """Whether the model is rejected at level `alpha`: the p-value is at most `alpha`."""
        return self.pvalue <= check_alpha(alpha)

    @property
    def pvalue_words(self) -> str:
        """The p-value in words; "p ≤ 0.001" where no draw was as large as the statistic."""
        return pvalue_words(self.pvalue, self.pvalue_floor)

    @property
    def pvalue_floor(self) -> float:
        """The smallest p-value that the draws can give; 0 where it does not come from draws."""
        return (
            0.0
            if self.null_distribution is None
            else 1.0 / (len(self.null_distribution) + 1)
        )

    def plot(self, ax: object = None) -> Any:
        """Draw the null distribution and the statistic (needs ``condgof[plot]``).

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw, and what is returned; a new figure unless given.

        Examples
        --------
        >>> result = GofResult(2.0, 0.01, "kcsd", 100, null_distribution=np.arange(100) / 50)
        >>> result.plot().get_title(loc="left")
        'kcsd, n = 100: p = 0.010'
        """
        from condgof.report import plot_result

        return plot_result(self, ax)

    def records(self) -> list[dict[str, Any]]:
        """Return one row: the test, its size, statistic and p-value, and the seed."""
        names = ("method", "n", "statistic", "pvalue", "null", "seed")
        return [{name: getattr(self, name) for name in names}]

    @property
    def verdict(self) -> str:
        """Whether there is evidence against the model at the 5% level, in words."""
        return f"{'' if self.reject() else 'no '}evidence against the model at the 5% level"

    def facts(self) -> list[tuple[str, str]]:
        """Return what `print` shows below the verdict: a name and a value each."""
        draws = 0 if self.null_distribution is None else len(self.null_distribution)
        limit = f" ({self.null} limit)" if self.null else ""
        how = f" ({draws:,} {self.null} draws)" if draws else limit
        details, pvalue = self.details, pvalue_number(self.pvalue, self.pvalue_floor)
        facts = [("p-value", f"{pvalue}{how}"), ("statistic", f"{self.statistic:.4g}")]
        facts += [("kernel x", str(self.kernel_x))] if self.kernel_x is not None else []
        facts += [("kernel y", str(self.kernel_y))] if self.kernel_y is not None else []
        told = (
            ("groups", "rows", "in {:,} groups"),
            ("block_length", "rows", "in order, blocks of {:,}"),
            ("standardized_by", "y seen as", "{}"),
            ("x_seen_as", "x seen as", "{}"),
        )
        facts += [
            (name, words.format(details[key]))
            for key, name, words in told
            if key in details
        ]
        if "strongest_location" in details:
            place = details["strongest_location"]
            facts.append(
                ("strongest", f"near x = {_point(place.get('label') or place['x'])}")
            )
        if self.locations is not None:
            points = [_point(v) for v in details.get("location_labels") or self.locations]
            facts.append(("locations", ", ".join(points[:5]) + ", ..." * (len(points) > 5)))
        if "fitted" in details:
            facts.append(("fitted", details["fitted"]))
        return [*facts, *(("note", str(note)) for note in details.get("notes", ()))]

    def __repr__(self) -> str:
        told = (
            f"method={self.method!r}, n={self.n}, statistic={self.statistic:.6g},"
            f" {self.pvalue_words}"
        )
        return f"GofResult({told})"

    def __str__(self) -> str:
        lines = [("verdict", self.verdict), *self.facts()]
        listed = "".join(f"\n  {name:10} {value}" for name, value in lines)
        return f"{self.method} test of goodness of fit, n = {self.n:,}{listed}"


def share_interval(
    k: AnyArray | int, n: AnyArray | int, error: float = 0.05
) -> tuple[FloatArray, FloatArray]:
    """Return Clopper and Pearson's exact interval of a probability, k of n seen."""
    from scipy.special import betaincinv

    k, n = np.asarray(k), np.asarray(n)
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, error / 2), 0.0)
    return low, np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1), 1 - error / 2), 1.0)


def check_alpha(alpha: object) -> float:
    """Check a level."""
    return check_number(alpha, "alpha", "between 0 and 1", lambda value: 0 < value < 1)


def pvalue_words(value: float, floor: float = 0.0) -> str:
    """Write a p-value in words; see `pvalue_number`."""
    shown = pvalue_number(value, floor)
    return f"p {shown}" if shown.startswith(("≤", "<")) else f"p = {shown}"


def pvalue_number(value: float, floor: float = 0.0) -> str:
    """Write a p-value as people do; the smallest that draws can give is an upper bound, rounded up."""
    if not math.isfinite(value):
        return "–"
    if 0.0 < value <= floor * (1.0 + 1e-9):
        step = 10.0 ** math.floor(math.log10(value) + 1e-9)
        bound = min(math.ceil(value / step - 1e-6) * step, 1.0)
        if bound < 9.99e-5:
            return f"≤ {bound:.0e}".replace("e-0", "e-").replace("-", "−")
        return f"≤ {_trimmed(pvalue_number(bound))}"
    if value < 9.99e-5:
        return "< 0.0001"
    digits = 4 if value < 0.01 else 3 if value < 0.1 else 2
    shown = f"{value:.{digits}f}"
    return _trimmed(shown) if value < 0.01 else shown


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
        places = 3 if size * 1000 >= 9.5 else 4
    elif 0.99 <= size < 1.0:
        places = next((p for p in (2, 3, 4) if round(size, p) != 1.0), 2)
    text = f"{value:.{places}f}"
    return text if float(text) else "0.00"


def decimals(value: float) -> int:
    """Return how many decimals show two figures of a number: 2, or more for a small one."""
    if value == 0 or not math.isfinite(value):
        return 2
    # 0.1 less a rounding error is 0.1.
    return min(max(2, 1 - math.floor(math.log10(abs(value)) + 1e-9)), 6)


def short(value: float) -> str:
    """Write two figures of a number, and at least two decimals."""
    return f"{value:.{decimals(value)}f}"


def sized(estimate: float, low: float, high: float, about: float = 0.0) -> tuple[str, str]:
    """Write an estimate and its interval with the digits that its distance from `about` asks for."""
    digits = decimals(estimate - about)
    return f"{estimate:.{digits}f}", f"{low + 0.0:.{digits}f} to {high + 0.0:.{digits}f}"


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _read_only(value: object) -> None:
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, Mapping):
        for item in value.values():
            _read_only(item)


def _point(v: FloatArray | Mapping[str, float | str]) -> str:
    """Write a point: a number, (1, 2), or by names (age=30, sex=f)."""
    if isinstance(v, Mapping):
        texts = ((name, x if isinstance(x, str) else f"{x:.4g}") for name, x in v.items())
        return f"({', '.join(f'{name}={text}' for name, text in texts)})"
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
