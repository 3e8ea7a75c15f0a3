"""Draws rooflines as PNG and SVG with matplotlib, for slides and papers."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from warpgrade_reports import format as fmt
from warpgrade_reports.png import look, save_figure, short
from warpgrade_reports.roofline import Roofline
from warpgrade_reports.roofline_svg import dots_of, places

_INK, _QUIET, _GRID, _BLUE, _PATH = "#1b1d22", "#5b6270", "#e2e5ea", "#0072b2", "#d55e00"
_SIZE, _DPI = (9.6, 5.2), 130
_ROWS = 200  # of dots in the picture's height


def save_roofline(roofline: Roofline, folder: Path) -> None:
    """Writes <slug>.png and <slug>.svg; x is drawn as in the page, where columns that would meet are moved apart."""
    with mpl.rc_context(look() | {"ytick.left": True}):
        figure = Figure(figsize=_SIZE, dpi=_DPI, layout="constrained")
        axes = figure.add_subplot()
        scale = roofline.y
        axes.set_yscale("log")
        axes.set_ylim(scale.low, scale.high)
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_locator(FixedLocator(scale.ticks()))
        axes.set_yticklabels([fmt.trimmed(roofline.show_y(tick)) for tick in scale.ticks()])
        axes.set_xlim(0, 900)
        found, wide = places(roofline, 0, 900)
        axes.set_xticks(found, [short(column.label, 22) for column in roofline.columns], rotation=45, ha="right")
        axes.tick_params(axis="x", labelsize=7.5, colors=_INK)
        axes.grid(visible=True, axis="y", color=_GRID, linewidth=0.7)
        axes.set_axisbelow(True)
        for roof in roofline.roofs:
            xs, ys = [900 * roofline.x.position(x) for x, _ in roof.corners], [y for _, y in roof.corners]
            axes.plot(xs, ys, color=_QUIET, linewidth=1.4)
            middle = (sum(xs) / len(xs), (ys[0] * ys[-1]) ** 0.5)
            axes.annotate(roof.label, middle, xytext=(-4, 4), textcoords="offset points", ha="right", color=_QUIET)
        for column, at in zip(roofline.columns, found, strict=True):
            half = wide / 2
            axes.hlines(column.limit, at - half, at + half, color=_INK, linewidth=2.4)
            dots = dots_of(column, scale, _ROWS)
            xs, values = [at + x * half for x, _ in dots], [value for _, value in dots]
            axes.scatter(xs, values, s=11, color=_BLUE, alpha=0.38, linewidths=0)
            last = max(1, len(column.steps) - 1)
            path = [(at - half + wide * i / last, value) for i, value in enumerate(column.steps) if value is not None]
            axes.plot(
                [x for x, _ in path], [y for _, y in path], color=_PATH, marker="s", markersize=2.6, linewidth=1.1
            )
        axes.set_title(f"{roofline.title}: {roofline.axes[1]}", loc="left", fontweight="bold", fontsize=10.5)
        axes.set_xlabel(roofline.axes[0], color=_QUIET)
        marks = [
            Line2D([], [], color=_INK, linewidth=2.4, label="the case's own limit"),
            Line2D([], [], color=_QUIET, linewidth=1.4, label="what the device allows"),
            Line2D([], [], color=_BLUE, marker="o", linestyle="", markersize=4, label="a submission"),
            Line2D([], [], color=_PATH, marker="s", markersize=3, label="the ladder, left to right"),
        ]
        figure.legend(handles=marks, loc="outside lower left", fontsize=7.5, ncols=4)
        save_figure(figure, folder / f"{roofline.slug}.png", drawn=True)
