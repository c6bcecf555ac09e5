"""What `compare_map` gives back: a signed map over x, and the places it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from condgof._typing import FloatArray
from condgof.check._record import Record


@dataclass(frozen=True)
class Place:
    """A place in x where one model is worse."""

    #: The place, by the user's names for columns.
    x: Mapping[str, float | str]
    #: The model that is worse there.
    worse: str
    #: Difference of the witnesses, positive where the first model is worse.
    difference: float
    #: The difference over its noise.
    ratio: float

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON."""
        return {**vars(self), "x": dict(self.x)}

    def __str__(self) -> str:
        at = ", ".join(f"{k} = {v if isinstance(v, str) else f'{v:.4g}'}" for k, v in self.x.items())
        return f"{at}: {self.worse} is worse ({abs(self.ratio):.1f} times the noise)"


@dataclass(frozen=True, eq=False, repr=False)
class DifferenceMap(Record):
    """A signed map over x of which of two models fits worse, from `compare_map`.

    Examples
    --------
    >>> at, value = np.array([[0.5]]), np.array([0.2])
    >>> place = Place({"age": 0.5}, "p", 0.2, 4.0)
    >>> found = DifferenceMap(("p", "q"), ("age",), at, value, value / 4, 4 * value, (place,), n=100)
    >>> print(found.worse("p")[0])
    age = 0.5: p is worse (4.0 times the noise)
    """

    #: What the models are called.
    names: tuple[str, str]
    #: The columns of x.
    columns: tuple[str, ...]
    #: Where, in the user's units (categorical columns by the position of their level), (m, d_x).
    points: FloatArray
    #: Difference of the witnesses, (1/d_y)(‖Ĝ_p(v)‖² − ‖Ĝ_q(v)‖²); positive where the first is worse,
    #: (m,).
    values: FloatArray
    #: Standard error of each value, for that place alone, (m,).
    noise: FloatArray
    #: The unbiased difference (pairs of different rows only) over its noise; 0 where there are no data,
    #: (m,).
    ratio: FloatArray
    #: Where each model is clearly worse, strongest first, at most three for each.
    places: tuple[Place, ...]
    #: Number of rows.
    n: int
    #: The kernels that were used.
    kernel_x: Any = None
    kernel_y: Any = None
    #: Which solver ran.
    solver: str | None = None
    #: Passing it as ``rng=`` gives this very map.
    seed: int | None = None
    #: Notes.
    details: Mapping[str, Any] = field(default_factory=dict)

    def worse(self, name: str) -> tuple[Place, ...]:
        """Return the places where a model is clearly worse, strongest first."""
        return tuple(place for place in self.places if place.worse == name)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, ready for JSON."""
        return {"method": "compare_map", **super().to_dict()}

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
