"""What a test gives back: plain, frozen, picklable."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError


@dataclass(frozen=True, eq=False, repr=False)
class GofResult:
    """The result of a goodness-of-fit test.

    Compared by identity; its arrays are read-only and it pickles. Fields that a method does not
    have are None.

    Parameters
    ----------
    statistic : float
        The test statistic; larger means a worse fit.
    pvalue : float
        (1 + number of null draws at least as large as the statistic) / (number of draws + 1), or
        the tail of a limit (`zheng`); never 0.
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
        The test locations of the finite-set tests, in the user's units (categorical columns by the
        position of their level).
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

    def __post_init__(self) -> None:
        self._freeze(dict(self.details))

    def _freeze(self, details: dict[str, Any]) -> None:
        for name in ("null_distribution", "locations"):
            _read_only(getattr(self, name))
        for value in details.values():
            _read_only(value)
        object.__setattr__(self, "details", MappingProxyType(details))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "details": dict(self.details)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze(state["details"])

    def reject(self, alpha: float = 0.05) -> bool:
        """Whether the model is rejected at level `alpha`: the p-value is at most `alpha`."""
        if not isinstance(alpha, (int, float, np.floating)) or not 0 < alpha < 1:
            raise InputError(f"alpha must be between 0 and 1, got {alpha!r}.")
        return self.pvalue <= alpha

    @property
    def pvalue_words(self) -> str:
        """The p-value in words; "p ≤ 0.001" where no draw was as large as the statistic."""
        return pvalue_words(self.pvalue, self.pvalue_floor)

    @property
    def pvalue_floor(self) -> float:
        """The smallest p-value that the draws can give; 0 where it does not come from draws."""
        return 0.0 if self.null_distribution is None else 1.0 / (len(self.null_distribution) + 1)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}

    def plot(self, ax: Any = None) -> Any:
        """Draw the null distribution and the statistic (needs ``condgof[plot]``).

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure unless given.

        Returns
        -------
        matplotlib.axes.Axes

        Examples
        --------
        >>> result = GofResult(2.0, 0.01, "kcsd", 100, null_distribution=np.arange(100) / 50)
        >>> result.plot().get_title(loc="left")
        'kcsd, n = 100: p = 0.010'
        """
        from condgof.report import plot_result

        return plot_result(self, ax)

    def _repr_html_(self) -> str:
        from condgof.report import result_card

        return result_card(self)

    def __repr__(self) -> str:
        return (
            f"GofResult(method={self.method!r}, n={self.n}, statistic={self.statistic:.6g}, "
            f"pvalue={self.pvalue:.4g})"
        )

    def __str__(self) -> str:
        draws = 0 if self.null_distribution is None else len(self.null_distribution)
        how = (
            f" ({draws:,} {self.null} draws)" if draws else f" ({self.null} limit)" if self.null else ""
        )
        verdict = (
            "evidence against the model at the 5% level"
            if self.reject()
            else "no evidence against the model at the 5% level"
        )
        lines = [
            f"{self.method} test of goodness of fit, n = {self.n:,}",
            f"  verdict    {verdict}",
            f"  p-value    {pvalue_number(self.pvalue, self.pvalue_floor)}{how}",
            f"  statistic  {self.statistic:.4g}",
        ]
        if self.kernel_x is not None:
            lines.append(f"  kernel x   {self.kernel_x}")
        if self.kernel_y is not None:
            lines.append(f"  kernel y   {self.kernel_y}")
        if "groups" in self.details:
            lines.append(f"  rows       in {self.details['groups']:,} groups")
        if "block_length" in self.details:
            lines.append(f"  rows       in order, blocks of {self.details['block_length']:,}")
        if "standardized_by" in self.details:
            lines.append(f"  y seen as  {self.details['standardized_by']}")
        if "x_seen_as" in self.details:
            lines.append(f"  x seen as  {self.details['x_seen_as']}")
        if "strongest_location" in self.details:
            place = self.details["strongest_location"]
            point = _named(place["label"]) if "label" in place else _point(place["x"])
            lines.append(f"  strongest  near x = {point}")
        if self.locations is not None:
            labels = self.details.get("location_labels")
            points = [_named(v) for v in labels] if labels else [_point(v) for v in self.locations]
            shown = ", ".join(points[:5])
            more = ", ..." if len(self.locations) > 5 else ""
            lines.append(f"  locations  {shown}{more}")
        if "fitted" in self.details:
            lines.append(f"  fitted     {self.details['fitted']}")
        lines += [f"  note       {note}" for note in self.details.get("notes", ())]
        return "\n".join(lines)


def pvalue_words(value: float, floor: float = 0.0) -> str:
    """Write a p-value in words; see `pvalue_number`.

    Examples
    --------
    >>> pvalue_words(0.0312), pvalue_words(1 / 1001, 1 / 1001)
    ('p = 0.031', 'p ≤ 0.001')
    """
    shown = pvalue_number(value, floor)
    return f"p {shown}" if shown.startswith("≤") else f"p = {shown}"


def pvalue_number(value: float, floor: float = 0.0) -> str:
    """Write a p-value as people do; the smallest that draws can give is an upper bound, rounded up.

    Examples
    --------
    >>> pvalue_number(0.000999), pvalue_number(0.0312), pvalue_number(0.4567), pvalue_number(3e-7)
    ('0.001', '0.031', '0.46', '3e−7')
    >>> pvalue_number(1 / 301, 1 / 301), pvalue_number(1e-5, 1e-5)
    ('≤ 0.004', '≤ 1e−5')
    """
    if not math.isfinite(value):
        return "–"
    if value <= floor * (1.0 + 1e-9):
        step = 10.0 ** math.floor(math.log10(value) + 1e-9)
        shown = pvalue_number(min(math.ceil(value / step - 1e-6) * step, 1.0))
        return f"≤ {shown.rstrip('0').rstrip('.') if '.' in shown else shown}"
    if value < 9.99e-5:
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa.removesuffix('.0')}e−{-int(exponent)}"
    digits = 4 if value < 0.01 else 3 if value < 0.1 else 2
    shown = f"{value:.{digits}f}"
    return shown.rstrip("0").rstrip(".") if value < 0.01 else shown


def _read_only(value: Any) -> None:
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, Mapping):
        for item in value.values():
            _read_only(item)


def _point(v: FloatArray) -> str:
    numbers = ", ".join(f"{value:.4g}" for value in v)
    return numbers if len(v) == 1 else f"({numbers})"


def _named(label: Mapping[str, float | str]) -> str:
    parts = (f"{name}={v}" if isinstance(v, str) else f"{name}={v:.4g}" for name, v in label.items())
    return f"({', '.join(parts)})"


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no NaN or infinity
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
