"""The public picture of a study: rejection rates against sample size."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from condgof.errors import InputError, InputTypeError
from condgof.report._escape import label
from condgof.report._pen_pyplot import axes_for
from condgof.report._power import draw_rates, styles_of
from condgof.study import Row, Study

_TABLE = "study must be a Study, its to_dict() (what table.json holds), or rows of its table()"


def plot_power(study: Any, ax: Any = None, *, problem: str | None = None, alpha: float = 0.05) -> Any:
    """Draw the rejection rates of a study against the sample size (needs ``condgof[plot]``).

    One line a test, with exact 95% intervals and the level α; tests differ by colour, marker and dashes.

    Parameters
    ----------
    study : Study, mapping or sequence of rows
        From `condgof.study.run_study`; its ``to_dict()`` (what ``table.json`` holds); or rows of its
        ``table()``.
    ax : matplotlib.axes.Axes or sequence of them, optional
        Where to draw, one for each problem; new ones unless given.
    problem : str, optional
        Draw this problem only.
    alpha : float
        The level, where `study` is rows; a study knows its own.

    Returns
    -------
    matplotlib.axes.Axes or ndarray of them
        One Axes for one problem, else an array with one a problem.

    Examples
    --------
    >>> import condgof as cg
    >>> study = cg.study.run_study("lgm", "kcsd", [20, 40], trials=3, engine=1)
    >>> cg.plot_power(study).get_ylabel()
    'rejection rate'
    """
    rows, titles, level = _read(study, alpha)
    names = list(dict.fromkeys(row.problem for row in rows))
    if problem is not None:
        if problem not in names:
            raise InputError(f"The study has no problem {problem!r}; there are: {', '.join(names)}.")
        names = [problem]
    places = _places(ax, len(names))
    styles = styles_of(dict.fromkeys(row.method for row in rows))
    for name, place in zip(names, places, strict=True):
        _draw(
            place,
            [row for row in rows if row.problem == name],
            titles.get(name, (name, False)),
            level,
            styles,
        )
    places[0].legend(frameon=False, fontsize="small", handlelength=2.6)
    for extra in places[1:]:
        extra.set_ylabel("")
    return places[0] if len(names) == 1 else np.array(places, dtype=object)


def _draw(ax: Any, rows: Sequence[Row], topic: tuple[str, bool], alpha: float, styles: Any) -> None:
    title, h0 = topic
    draw_rates(ax, rows, alpha, styles)
    ax.set_title(textwrap.fill(label(title), 44), loc="left", fontsize="medium")
    if h0:  # rates near alpha need a scale of their own
        ax.set_ylim(0.0, min(1.0, max(4 * alpha, 1.25 * max(row.high for row in rows))))
    else:
        ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel("sample size n")
    ax.set_ylabel("rejection rate")


def _read(study: Any, alpha: float) -> tuple[list[Row], dict[str, tuple[str, bool]], float]:
    """Return rows, titles (with whether the model is true) and level of whatever holds them."""
    if isinstance(study, Study):
        titles = {topic.name: (topic.heading, topic.h0) for topic in study.topics}
        return _some(study.table()), titles, study.alpha
    if isinstance(study, Mapping):
        try:
            rows = [Row(**row) for row in study["table"]]
            known = {
                name: (f"{p['title']} ({'H0' if p['h0'] else 'H1'})", bool(p["h0"]))
                for name, p in study["problems"].items()
            }
            return _some(rows), known, float(study["alpha"])
        except (KeyError, TypeError) as error:
            raise InputTypeError(f"{_TABLE}; this mapping does not read as one: {error!r}.") from error
    if isinstance(study, Sequence) and all(isinstance(row, Row) for row in study):
        return _some(study), {}, alpha
    raise InputTypeError(f"{_TABLE}, got {type(study).__name__}.")


def _some(rows: Sequence[Row]) -> list[Row]:
    if not rows:
        raise InputError("There are no rows to draw: the table is empty.")
    return list(rows)


def _places(ax: Any, count: int) -> list[Any]:
    """Return one Axes a problem."""
    if ax is not None:
        given = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(given) < count:
            raise InputError(
                f"There are {count} problems and {len(given)} Axes. Give one for each, or name one "
                "with problem=."
            )
        return given[:count]
    if count == 1:
        return [axes_for(None)]
    columns = min(3, count)
    lines = -(-count // columns)
    first = axes_for(None, (4.0 * columns, 3.4 * lines))
    figure = first.figure
    first.remove()
    grid = list(figure.subplots(lines, columns, squeeze=False).flat)
    for spare in grid[count:]:
        spare.set_axis_off()
    return grid[:count]
