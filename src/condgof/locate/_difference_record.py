"""What `compare_map` gives back: a signed map over x, and the places it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from condgof._typing import FloatArray
from condgof.result import GofResult


@dataclass(frozen=True)
class Place:
    """A place in x where one model is worse.

    Parameters
    ----------
    x : mapping of str to float or str
        The place, by the user's names for columns.
    worse : str
        The model that is worse there.
    difference : float
        Difference of the witnesses, positive where the first model is worse.
    ratio : float
        The difference over its noise.
    """

    x: Mapping[str, float | str]
    worse: str
    difference: float
    ratio: float

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON."""
        return {**vars(self), "x": dict(self.x)}

    def __str__(self) -> str:
        at = ", ".join(f"{k} = {v if isinstance(v, str) else f'{v:.4g}'}" for k, v in self.x.items())
        return f"{at}: {self.worse} is worse ({abs(self.ratio):.1f} times the noise)"


@dataclass(frozen=True, eq=False, repr=False)
class DifferenceMap:
    """A signed map over x of which of two models fits worse, from `compare_map`.

    Parameters
    ----------
    names : pair of str
        What the models are called.
    columns : tuple of str
        The columns of x.
    points : ndarray of shape (m, d_x)
        Where, in the user's units (categorical columns by the position of their level).
    values : ndarray of shape (m,)
        Difference of the witnesses, (1/d_y)(‖Ĝ_p(v)‖² − ‖Ĝ_q(v)‖²); positive where the first is worse.
    noise : ndarray of shape (m,)
        Standard error of each value, for that place alone.
    ratio : ndarray of shape (m,)
        The unbiased difference (pairs of different rows only) over its noise; 0 where there are no data.
    places : tuple of Place
        Where each model is clearly worse, strongest first, at most three for each.
    n : int
        Number of rows.
    kernel_x, kernel_y : Kernel, optional
        The kernels that were used.
    solver : str, optional
        Which solver ran.
    seed : int, optional
        Passing it as ``rng=`` gives this very map.
    details : mapping
        Notes.

    Examples
    --------
    >>> at, value = np.array([[0.5]]), np.array([0.2])
    >>> place = Place({"age": 0.5}, "p", 0.2, 4.0)
    >>> found = DifferenceMap(("p", "q"), ("age",), at, value, value / 4, 4 * value, (place,), n=100)
    >>> print(found.worse("p")[0])
    age = 0.5: p is worse (4.0 times the noise)
    """

    names: tuple[str, str]
    columns: tuple[str, ...]
    points: FloatArray
    values: FloatArray
    noise: FloatArray
    ratio: FloatArray
    places: tuple[Place, ...]
    n: int
    kernel_x: Any = None
    kernel_y: Any = None
    solver: str | None = None
    seed: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in (self.points, self.values, self.noise, self.ratio):
            array.flags.writeable = False
        object.__setattr__(self, "details", MappingProxyType(dict(self.details)))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "details": dict(self.details)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def worse(self, name: str) -> tuple[Place, ...]:
        """Return the places where a model is clearly worse, strongest first."""
        return tuple(place for place in self.places if place.worse == name)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON."""
        lists = {name: getattr(self, name).tolist() for name in ("points", "values", "noise", "ratio")}
        plain = GofResult(
            0.0, 1.0, "compare_map", self.n, kernel_x=self.kernel_x, kernel_y=self.kernel_y,
            solver=self.solver, seed=self.seed, details=self.details,
        ).to_dict()  # fmt: skip
        kept = ("method", "n", "kernel_x", "kernel_y", "solver", "seed", "details")
        return {
            "names": list(self.names),
            "columns": list(self.columns),
            **lists,
            "places": [place.to_dict() for place in self.places],
            **{key: plain[key] for key in kept},
        }

    def __repr__(self) -> str:
        return f"DifferenceMap(names={self.names!r}, n={self.n}, m={len(self.points)})"

    def __str__(self) -> str:
        lines = [f"where {self.names[0]} and {self.names[1]} differ in fit, n = {self.n:,}"]
        for name in self.names:
            found = self.worse(name)
            lines += [f"  {place}" for place in found]
            if not found:
                lines.append(f"  nowhere is {name} clearly worse")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.details.get("notes", ()))])
