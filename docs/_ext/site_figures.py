"""Figures of the site, each drawn for light and for dark pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

#: Makes the names inside SVG files the same in every run.
SALT = "condgof"
#: Colours of lines and points that are told apart on light and on dark pages, by
#: colour-blind readers too (Okabe and Ito, the darkest and the lightest left out).
COLOURS = ("#0a8a7e", "#d55e00", "#3f8fd0", "#cc79a7", "#c98a00", "#8a7fd6", "#7a8a4f")


class Theme(NamedTuple):
    """The colours of a page."""

    name: str
    paper: str
    ink: str
    soft: str  # of axes, and of what is in the background
    band: str  # of what a right model does

    @property
    def style(self) -> dict[str, object]:
        """Parameters of matplotlib."""
        return {
            "axes.edgecolor": self.soft,
            "axes.facecolor": self.paper,
            "axes.labelcolor": self.ink,
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlelocation": "left",
            "axes.titlesize": 10.5,
            "figure.facecolor": self.paper,
            "font.size": 10,
            "legend.frameon": False,
            "legend.fontsize": 9,
            "savefig.facecolor": self.paper,
            "svg.hashsalt": SALT,
            "text.color": self.ink,
            "xtick.color": self.soft,
            "ytick.color": self.soft,
            "xtick.labelcolor": self.ink,
            "ytick.labelcolor": self.ink,
        }


THEMES = (
    Theme("light", paper="#ffffff", ink="#1b2126", soft="#6c7882", band="#dcebe8"),
    Theme("dark", paper="#14181e", ink="#e4e7ea", soft="#93a0aa", band="#1e3d3b"),
)
Draw = Callable[[Any, Theme], None]


def save_figure(draw: Draw, path: Path, size: tuple[float, float]) -> None:
    """Draw on a figure of `size`, in inches, and save it as path-light and path-dark.svg.

    `draw` gets the figure of matplotlib and the theme.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    path.parent.mkdir(parents=True, exist_ok=True)
    for theme in THEMES:
        with mpl.rc_context(theme.style):
            figure = Figure(figsize=size, layout="constrained")
            draw(figure, theme)
            file = path.with_name(f"{path.name}-{theme.name}.svg")
            figure.savefig(file, metadata={"Date": None, "Creator": None})


def picture_lines(address: str, alt: str) -> list[str]:
    """Return the Markdown of a figure: a page shows the one for its theme.

    `address` is the path of the figure from the page, as in `save_figure`.
    """
    return [
        *(f"![{alt}]({address}-{one.name}.svg){{.only-{one.name}}}" for one in THEMES),
        "",
    ]
