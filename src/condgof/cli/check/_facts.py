"""What was checked, for the terminal, the report and JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from condgof.cli.check._columns import Roles
from condgof.cli.check._load import Loaded
from condgof.cli.check._predictions import NONE
from condgof.cli.check._survey import Dropped


@dataclass(frozen=True)
class Facts:
    """What was checked.

    Parameters
    ----------
    data : str
        The table, as messages call it.
    roles : Roles
        What its columns are for.
    model : str, optional
        The address of the model; None where it is in columns.
    rows : int
        Rows that were tested.
    dropped : Dropped
        Rows that were not.
    streamed : bool
        Whether the table was too large to be read whole.
    """

    data: str
    roles: Roles
    model: str | None
    rows: int
    dropped: Dropped
    streamed: bool

    @classmethod
    def of(cls, data: str, roles: Roles, model: str | None, sample: Loaded) -> Facts:
        """Gather them."""
        return cls(data, roles, model, sample.rows, sample.dropped, sample.streamed)

    @property
    def model_words(self) -> str:
        """Where the model comes from."""
        return self.model if self.model is not None else self.roles.predictions[0].words

    def lines(self) -> dict[str, str]:
        """Return labels and text for the terminal."""
        rows = f"{self.rows:,} rows"
        if self.dropped.rows:
            rows += f"; {self.dropped.words} with missing values left out, not counted in row numbers"
        if self.streamed:
            rows += "; streamed"
        return {"data": f"{self.data}: {rows}", "model": self.model_words}

    def notes(self) -> list[str]:
        """Return what a reader of the report should know of the data."""
        notes = [f"data: {self.data}", f"model: {self.model_words}"]
        if self.dropped.rows:
            left = f"rows with missing values that were left out: {self.dropped.words}"
            notes.append(f"{left}; they are not counted in row numbers")
        if self.streamed:
            notes.append("the table was streamed, not read whole")
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Return them ready for JSON."""
        roles = self.roles
        return {
            "data": {
                "path": self.data,
                "rows": self.rows,
                "dropped_rows": self.dropped.rows,
                "dropped_by_column": dict(self.dropped.columns),
                "streamed": self.streamed,
            },
            "columns": {
                "x": list(roles.x),
                "y": list(roles.y),
                **NONE,
                **(roles.predictions[0].facts if roles.predictions else {}),
                "categorical": list(roles.categorical),
                "groups": roles.groups,
                "by": roles.by,
            },
            "model": self.model,
        }
