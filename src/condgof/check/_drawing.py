"""Responses that are drawn from a fitted model, for replicates of `composite`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from condgof._typing import AnyArray, FloatArray
from condgof.laws import (
    Censored,
    Events,
    Law,
    ModelLike,
    class_names_of,
    drawn,
    times_at,
)
from condgof.residuals import censoring_times_near
from condgof.sample import Sample, Seed, Use
from condgof.stein import RowsInMemory, Units


class Response(NamedTuple):
    """Responses of all rows, observed or drawn."""

    #: As y has them, numbers (n, d_y) or labels (n,).
    y: AnyArray
    #: Which of them are events, of times with censoring.
    events: Events | None = None

    def arguments(self) -> dict[str, AnyArray]:
        """Return what a fit gets beside x and y."""
        return {} if self.events is None else self.events.arguments()

    def bind(self, model: ModelLike) -> ModelLike:
        """Return a model of these responses, which knows which of them are events."""
        return model if self.events is None else self.events.bind(model)


@dataclass(frozen=True, eq=False)
class Drawing:
    """Draws responses from a law: (seed, number of the draw) → responses."""

    law: Law
    sample: Sample

    def __call__(self, seed: Seed, number: int) -> Response:
        return Response(draw_response(self.law, self.sample, seed, number))


@dataclass(frozen=True, eq=False)
class CensoredDrawing(Drawing):
    """Draws times, which are censored where the rows of the sample would have been.

    A censored row is watched until the time that it has. How long a row with an event would
    have been watched is drawn once, by Kaplan and Meier's estimate of censoring times after
    that event, weighted for rows near in x. So the censoring is that of the sample, and all
    draws have the same.
    """

    #: How long each row is watched, (n,); infinite where nothing says when it would end.
    until: FloatArray
    #: The times of the sample, increasing, (m,): what is longer than the last is censored
    #: where the law says nothing beyond it.
    places: FloatArray

    @classmethod
    def from_sample(cls, law: Censored, sample: Sample, seed: Seed) -> CensoredDrawing:
        units = Units(scale_x="ranks", standardize="auto")
        rows = RowsInMemory.from_law(law, sample, units)
        times = sample.y_given.reshape(-1).astype(np.float64)
        start = np.zeros(len(times)) if law.entry is None else law.entry
        watched = censoring_times_near(
            times=times - start,
            event=law.event > 0,
            neighbours=rows.neighbours(seed),
        )
        # Of a censored row the very time, without the rounding of a difference.
        until = np.where(law.event > 0, start + watched, times)
        return cls(law=law, sample=sample, until=until, places=np.unique(times))

    def __call__(self, seed: Seed, number: int) -> Response:
        law = self.law
        assert isinstance(law, Censored)
        uniform = seed.stream(Use.REPLICATE, number, 0).random(law.n)
        at_entry = ndtr(law.entry_scores())
        levels = at_entry + uniform * (1.0 - at_entry)
        times = times_at(law.law, levels, self.places)
        if law.entry is not None:
            times = np.maximum(times, np.nextafter(law.entry, np.inf))
        event = np.isfinite(times) & (times <= self.until)
        observed = np.minimum(times, self.until)
        observed = np.where(np.isinf(observed), self.places[-1], observed)
        return Response(observed[:, None], Events(event.astype(np.float64), law.entry))


def drawing_from(law: Law, sample: Sample, seed: Seed) -> Drawing:
    """Return what draws responses of a sample from a law."""
    if isinstance(law, Censored):
        return CensoredDrawing.from_sample(law, sample, seed)
    return Drawing(law, sample)


def draw_response(law: Law, sample: Sample, seed: Seed, number: int) -> AnyArray:
    """Draw responses as y has them, numbers (n, d_y) or labels (n,)."""
    numbers = drawn(law, sample.d_y, seed.stream(Use.REPLICATE, number, 0))
    if sample.y_given.dtype.kind not in "OUS":
        return numbers
    # Models draw the positions of labels that are text.
    return np.array(class_names_of(law))[numbers.astype(np.int64)]
