"""Taxi trips: where they began, where they ended, and when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from condgof._typing import FloatArray
from condgof.errors import InputError, require

#: "Near Manhattan": longitudes and latitudes of both ends.
WEST, EAST, SOUTH, NORTH = -74.03, -73.91, 40.69, 40.88
#: Names that the city's files have had over the years, in small letters and without spaces.
NAMES = {
    "time": ("pickup_datetime", "tpep_pickup_datetime", "trip_pickup_datetime"),
    "x1": ("pickup_longitude", "start_lon"),
    "x2": ("pickup_latitude", "start_lat"),
    "y1": ("dropoff_longitude", "end_lon"),
    "y2": ("dropoff_latitude", "end_lat"),
}
Times = NDArray[np.datetime64]


@dataclass(frozen=True, eq=False)
class Trips:
    """Taxi trips.

    Parameters
    ----------
    pickup, dropoff : ndarrays of shape (n, 2)
        Longitude and latitude of both ends, in degrees.
    time : ndarray of shape (n,)
        When they began, to the second; NaT where it is not known.
    """

    pickup: FloatArray
    dropoff: FloatArray
    time: Times

    def __len__(self) -> int:
        return len(self.pickup)

    def take(self, rows: Any) -> Trips:
        """Return some trips, by number or by a mask."""
        return Trips(self.pickup[rows], self.dropoff[rows], self.time[rows])

    def draw(self, n: int, seed: int) -> Trips:
        """Return n trips chosen at random (all of them, if there are no more)."""
        order = np.random.default_rng(seed).permutation(len(self))
        return self.take(np.sort(order[:n]))

    def near_manhattan(self) -> Trips:
        """Keep the trips with both ends near Manhattan, and not both at the same point."""
        keep = (self.pickup != self.dropoff).any(axis=1)
        for end in (self.pickup, self.dropoff):
            keep &= (end >= [WEST, SOUTH]).all(axis=1) & (end <= [EAST, NORTH]).all(axis=1)
        return self.take(keep)

    def without(self, other: Trips) -> Trips:
        """Drop the trips that `other` has, too: both ends are the same to six decimals."""
        theirs = set(_keys(other))
        return self.take(np.array([key not in theirs for key in _keys(self)], dtype=bool))

    def between(self, start: str, end: str, *, outside: bool = False) -> Trips:
        """Keep the trips that began from `start` until before `end` (or all the others)."""
        with np.errstate(invalid="ignore"):
            inside = (self.time >= np.datetime64(start)) & (self.time < np.datetime64(end))
        return self.take(~inside if outside else inside)

    def at_hours(self, hours: NDArray[np.int64]) -> Trips:
        """Keep the trips that began in some hours of the week (0 is Monday, midnight to one)."""
        return self.take(np.isin(self.hour_of_week(), hours))

    def hour_of_week(self) -> NDArray[np.int64]:
        """Return the hour of the week of each trip, (n,); −1 where it is not known."""
        known = ~np.isnat(self.time)
        hours = self.time[known].astype("datetime64[h]").astype(np.int64)
        values = np.full(len(self), -1, dtype=np.int64)
        values[known] = (hours + 3 * 24) % (7 * 24)  # the first day of 1970 was a Thursday
        return values

    def span(self) -> str | None:
        """Return when the trips began ("January 2015", "1 to 3 November 2012"), if it is known."""
        known = self.time[~np.isnat(self.time)]
        if not known.size:
            return None
        first, last = (day.astype("datetime64[D]").item() for day in (known.min(), known.max()))
        if (last - first).days < 25:  # otherwise months say it
            days = f"{first.day} to {last.day}" if first != last else f"{first.day}"
            if (first.year, first.month) == (last.year, last.month):
                return f"{days} {first:%B %Y}"
            return f"{first.day} {first:%B %Y} to {last.day} {last:%B %Y}"
        if (first.year, first.month) == (last.year, last.month):
            return f"{first:%B %Y}"
        start = f"{first:%B}" if first.year == last.year else f"{first:%B %Y}"
        return f"{start} to {last:%B %Y}"


def join(trips: Iterable[Trips]) -> Trips:
    """Return all trips of several."""
    several = list(trips)
    return Trips(
        np.concatenate([t.pickup for t in several]),
        np.concatenate([t.dropoff for t in several]),
        np.concatenate([t.time for t in several]),
    )


def read_trips(paths: str | Path | Iterable[str | Path]) -> Trips:
    """Read trips from files of the New York City Taxi and Limousine Commission.

    Parameters
    ----------
    paths : path or several
        Parquet or CSV files with coordinates; column names of any year will do, stray spaces included.

    Returns
    -------
    Trips
        All rows, as they are; see `Trips.near_manhattan`.
    """
    several = [paths] if isinstance(paths, (str, Path)) else list(paths)
    if not several:
        raise InputError("There is no file of trips. Pass at least one.")
    return join([_read(Path(path)) for path in several])


def _read(path: Path) -> Trips:
    require("pyarrow", "arrow", "Reading files of trips")
    is_csv = path.name.lower().removesuffix(".gz").endswith(".csv")
    names = _csv_names(path) if is_csv else _parquet_names(path)
    chosen = {key: _choose(names, key, path) for key in NAMES}
    wanted = [name for name in chosen.values() if name is not None]
    table = _csv_table(path, wanted) if is_csv else _parquet_table(path, wanted)
    columns = {key: None if name is None else table.column(name) for key, name in chosen.items()}
    if columns["time"] is None:
        time = np.full(table.num_rows, "NaT", dtype="datetime64[s]")
    else:
        pa = require("pyarrow", "arrow", "Reading files of trips")
        time = columns["time"].cast(pa.timestamp("s"), safe=False).to_numpy().astype("datetime64[s]")
    x1, x2, y1, y2 = (
        columns[key].to_numpy().astype(np.float64)  # type: ignore[union-attr]
        for key in ("x1", "x2", "y1", "y2")
    )
    return Trips(np.column_stack([x1, x2]), np.column_stack([y1, y2]), time)


def _choose(names: list[str], key: str, path: Path) -> str | None:
    known = {name.strip().lower(): name for name in names}
    for name in NAMES[key]:
        if name in known:
            return known[name]
    if key == "time":
        return None
    raise InputError(
        f"{path} has no column {NAMES[key][0]!r}. Trips need the coordinates of both ends, which the "
        f"city's files have until June 2016. Its columns: {', '.join(names)}."
    )


def _parquet_names(path: Path) -> list[str]:
    pq = require("pyarrow.parquet", "arrow", "Reading Parquet files")
    try:
        return list(pq.read_schema(path).names)
    except require("pyarrow", "arrow", "Reading Parquet files").ArrowInvalid as error:
        raise InputError(f"{path} is not a Parquet file ({error}).") from error


def _parquet_table(path: Path, names: list[str]) -> Any:
    return require("pyarrow.parquet", "arrow", "Reading Parquet files").read_table(path, columns=names)


def _csv_names(path: Path) -> list[str]:
    csv = require("pyarrow.csv", "arrow", "Reading CSV files")
    with csv.open_csv(path, parse_options=_lenient(csv)) as reader:
        return list(reader.schema.names)


def _csv_table(path: Path, names: list[str]) -> Any:
    csv = require("pyarrow.csv", "arrow", "Reading CSV files")
    options = csv.ConvertOptions(include_columns=names)
    return csv.read_csv(path, convert_options=options, parse_options=_lenient(csv))


def _lenient(csv: Any) -> Any:
    # Some of the old files have rows with a comma too many.
    return csv.ParseOptions(invalid_row_handler=lambda row: "skip")


def _keys(trips: Trips) -> list[bytes]:
    ends = np.column_stack([trips.pickup, trips.dropoff])
    whole = np.ascontiguousarray(np.round(ends * 1e6).astype(np.int64))
    data, width = whole.tobytes(), whole.shape[1] * 8
    return [data[i : i + width] for i in range(0, len(data), width)]
