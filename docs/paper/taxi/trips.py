"""Taxi trips: where they began, where they ended, and when."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from condgof.errors import InputError

#: A trip is near Manhattan if both of its ends are within these longitudes and latitudes.
WEST = -74.03
EAST = -73.91
SOUTH = 40.69
NORTH = 40.88
#: A period of fewer days is given by its days, and a longer one by its months.
SHORT_PERIOD = 25
#: Names that the city's files have had over the years, in small letters and without spaces.
NAMES = {
    "time": ("pickup_datetime", "tpep_pickup_datetime", "trip_pickup_datetime"),
    "x1": ("pickup_longitude", "start_lon"),
    "x2": ("pickup_latitude", "start_lat"),
    "y1": ("dropoff_longitude", "end_lon"),
    "y2": ("dropoff_latitude", "end_lat"),
}


@dataclass(frozen=True, eq=False)
class Trips:
    """Longitude and latitude of both ends (n, 2), and the time of the start (n,) or NaT."""

    pickup: np.ndarray
    dropoff: np.ndarray
    time: np.ndarray

    def __len__(self):
        return len(self.pickup)

    def take(self, rows):
        """Return some trips, by number or by a mask."""
        return Trips(self.pickup[rows], self.dropoff[rows], self.time[rows])

    def draw(self, n, seed):
        """Return n trips chosen at random (all of them, if there are no more)."""
        return self.take(np.sort(np.random.default_rng(seed).permutation(len(self))[:n]))

    def near_manhattan(self):
        """Keep the trips with both ends near Manhattan, and not both at the same point."""
        keep = (self.pickup != self.dropoff).any(axis=1)
        for end in (self.pickup, self.dropoff):
            keep &= (end >= [WEST, SOUTH]).all(axis=1) & (end <= [EAST, NORTH]).all(axis=1)
        return self.take(keep)

    def without(self, other):
        """Drop the trips that `other` has, too: both ends are the same to six decimals."""
        return self.take(~np.isin(self._ends(), other._ends()))

    def outside(self, start, end):
        """Drop the trips that began from `start` until before `end`."""
        return self.take(
            ~((self.time >= np.datetime64(start)) & (self.time < np.datetime64(end)))
        )

    def hour_of_week(self):
        """Return the hour of the week, from 0 (Monday) to 167; −1 where it is unknown."""
        hours = self.time.astype("datetime64[h]").astype(np.int64)
        # The first day of 1970 was a Thursday.
        return np.where(np.isnat(self.time), -1, (hours + 3 * 24) % (7 * 24))

    def span(self):
        """Return when trips began, as "January 2015" or "1 to 3 November 2012", or None."""
        known = self.time[~np.isnat(self.time)]
        if not known.size:
            return None
        first = known.min().astype("datetime64[D]").item()
        last = known.max().astype("datetime64[D]").item()
        days = (last - first).days < SHORT_PERIOD
        start = f"{first.day} {first:%B %Y}" if days else f"{first:%B %Y}"
        end = f"{last.day} {last:%B %Y}" if days else f"{last:%B %Y}"
        if start == end:
            return end
        if days and (first.year, first.month) == (last.year, last.month):
            return f"{first.day} to {end}"
        return f"{start.removesuffix(f' {last.year}')} to {end}"

    def _ends(self):
        whole = np.round(np.column_stack([self.pickup, self.dropoff]) * 1e6).astype(
            np.int64
        )
        return np.ascontiguousarray(whole).view("V32")[:, 0]


def join(several):
    """Return all trips of several."""
    parts = [(t.pickup, t.dropoff, t.time) for t in several]
    return Trips(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def match_hours(first, second, seed=0):
    """Draw from two sets as many trips as possible, equally many in each hour of the week.

    Without this, trips of a night would be compared with those of all hours, and the
    difference would be that of night and day.
    """
    rng = np.random.default_rng(seed)
    hours = [trips.hour_of_week() for trips in (first, second)]
    chosen_first = []
    chosen_second = []
    for hour in range(7 * 24):
        in_first = rng.permutation(np.flatnonzero(hours[0] == hour))
        in_second = rng.permutation(np.flatnonzero(hours[1] == hour))
        count = min(len(in_first), len(in_second))
        chosen_first.append(in_first[:count])
        chosen_second.append(in_second[:count])
    return (
        first.take(np.sort(np.concatenate(chosen_first))),
        second.take(np.sort(np.concatenate(chosen_second))),
    )


def read_trips(path):
    """Read one Parquet or CSV file of the city's Taxi and Limousine Commission, as it is.

    Column names of any year will do, stray spaces included.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    if path.name.lower().removesuffix(".gz").endswith(".csv"):
        # Some of the old files have rows with a comma too many.
        lenient = csv.ParseOptions(invalid_row_handler=lambda row: "skip")
        table = csv.read_csv(path, parse_options=lenient)
    else:
        try:
            table = parquet.read_table(path)
        except pa.ArrowInvalid as error:
            raise InputError(f"{path} is not a Parquet file ({error}).") from error
    known = {
        name.strip().lower(): table.column(i) for i, name in enumerate(table.column_names)
    }
    found = {
        key: next((known[n] for n in names if n in known), None)
        for key, names in NAMES.items()
    }
    if found["time"] is None:
        found["time"] = pa.nulls(table.num_rows)
    for key, column in found.items():
        if column is None:
            raise InputError(
                f"{path} has no column {NAMES[key][0]!r}. Trips need the coordinates of"
                " both ends, which the city's files have until June 2016. Its columns:"
                f" {', '.join(table.column_names)}."
            )
    time = (
        found.pop("time").cast(pa.timestamp("s"), safe=False).to_numpy(zero_copy_only=False)
    )
    x1, x2, y1, y2 = (column.to_numpy().astype(float) for column in found.values())
    return Trips(
        np.column_stack([x1, x2]), np.column_stack([y1, y2]), time.astype("datetime64[s]")
    )
