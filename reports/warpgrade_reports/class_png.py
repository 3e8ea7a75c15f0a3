"""The class report's plots as PNG and SVG with matplotlib: points, a violin a dataset, thresholds, speed-ups, ranks.

The page draws the same plots as SVG (class_svg.py): there they follow the page's width, its dark colours and its
filters, and no file lies beside it. These files are for slides and mail; a browser would be needed to make them of
the page's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from warpgrade_reports import format as fmt
from warpgrade_reports.chart import Scale, log_range
from warpgrade_reports.class_stats import CaseLine
from warpgrade_reports.class_svg import STATUSES
from warpgrade_reports.heat import NOTHING, SHADES, Heat
from warpgrade_reports.png import look, note_beside, save_figure, short
from warpgrade_reports.ranks import DASHES, Ranks

_BLUE, _INK, _QUIET, _GRID = "#0072b2", "#1b1d22", "#5b6270", "#e2e5ea"
_WIDTH, _DPI = 9.6, 130
_COLUMNS = 3  # of small pictures
_MOST_NUMBERED = 80  # rows of a table of shades that carry their numbers in a picture
_MIN_VIOLIN = 5  # fewer values have no shape; they are dots


def save_points(counts: Sequence[int], top: float, path: Path) -> None:
    """The distribution of points."""
    with mpl.rc_context(look()):
        figure = Figure(figsize=(_WIDTH, 3.2), dpi=_DPI, layout="constrained")
        axes = figure.add_subplot()
        step = top / len(counts)
        bars = axes.bar([(i + 0.5) * step for i in range(len(counts))], counts, width=0.92 * step, color=_BLUE)
        axes.bar_label(bars, [str(count) if count else "" for count in counts], fontsize=7, color=_QUIET)
        axes.set_xlim(0, top)
        axes.set_xlabel("points", color=_QUIET)
        axes.set_ylabel("students", color=_QUIET)
        axes.set_title("Distribution of points", loc="left", fontweight="bold", fontsize=10.5)
        save_figure(figure, path, drawn=True)


def save_violins(rows: Sequence[tuple[str, CaseLine]], axis: str, title: str, path: Path) -> None:
    """Speed-ups a labelled case as violins of their logarithms, with quartiles and threshold; few values are dots."""
    lines = [line for _, line in rows]
    values = [v for line in lines for v in (*line.values, *((line.threshold,) if line.threshold else ()))]
    scale = Scale(*log_range([*values, 1.0]), logarithmic=True)
    with mpl.rc_context(look()):
        figure = Figure(figsize=(_WIDTH, 1.3 + 0.42 * len(lines)), dpi=_DPI, layout="constrained")
        axes = figure.add_subplot()
        for index, line in enumerate(lines):
            _violin(axes, line, index)
        axes.axvline(0, color=_QUIET, linestyle=(0, (4, 3)), linewidth=0.9)
        axes.set_xlim(math.log10(scale.low), math.log10(scale.high))
        axes.xaxis.set_major_locator(FixedLocator([math.log10(tick) for tick in scale.ticks()]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticklabels([fmt.trimmed(fmt.ratio(tick)) for tick in scale.ticks()])
        axes.set_ylim(len(lines) - 0.4, -0.6)
        axes.set_yticks(range(len(lines)), [short(label) for label, _ in rows])
        axes.grid(visible=True, axis="x", color=_GRID, linewidth=0.7)
        axes.set_axisbelow(True)
        axes.set_xlabel(axis, color=_QUIET)
        axes.set_title(title, loc="left", y=1, fontweight="bold", fontsize=10.5, pad=20)
        marks = [
            Line2D([], [], color=_BLUE, marker="|", linestyle="", markersize=9, markeredgewidth=2.2, label="median"),
            Line2D([], [], color=_INK, linewidth=3, label="middle half"),
            Line2D([], [], color=_INK, marker="|", linestyle="", markersize=11, markeredgewidth=1.6, label="threshold"),
        ]
        axes.legend(handles=marks, loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=3, fontsize=7.5)
        save_figure(figure, path, drawn=True)


def _violin(axes: Axes, line: CaseLine, y: int) -> None:
    logarithms = np.log10([value for value in line.values if value > 0])
    if len(logarithms) >= _MIN_VIOLIN and np.ptp(logarithms) > 0:
        shapes = axes.violinplot([logarithms], [y], orientation="horizontal", widths=0.85, showextrema=False)
        for body in cast("list[Collection]", shapes["bodies"]):
            body.set(facecolor=_BLUE, alpha=0.3, edgecolor=_BLUE, linewidth=0.8)
        first, middle, third = np.quantile(logarithms, [0.25, 0.5, 0.75])
        axes.hlines(y, first, third, color=_INK, linewidth=3)
        axes.vlines(middle, y - 0.22, y + 0.22, color=_BLUE, linewidth=2.4, zorder=4)
    elif len(logarithms):
        axes.scatter(logarithms, [y] * len(logarithms), s=12, color=_BLUE, alpha=0.6, linewidths=0)
    if line.threshold:
        axes.vlines(math.log10(line.threshold), y - 0.42, y + 0.42, color=_INK, linewidth=1.6, zorder=3)
    note_beside(axes, y, f"n = {len(logarithms)}")


def save_pass_rates(lines: Sequence[CaseLine], path: Path) -> None:
    """How the class stands to each threshold."""
    with mpl.rc_context(look()):
        figure = Figure(figsize=(_WIDTH, 1.4 + 0.22 * len(lines)), dpi=_DPI, layout="constrained")
        axes = figure.add_subplot()
        left = [0.0] * len(lines)
        for status, label, colour in STATUSES:
            counts = [line.statuses[status] for line in lines]
            if any(counts):
                axes.barh(range(len(lines)), counts, left=left, height=0.72, color=colour, label=label)
                left = [a + b for a, b in zip(left, counts, strict=True)]
        axes.set_ylim(len(lines) - 0.4, -0.6)
        axes.set_yticks(range(len(lines)), [short(line.spec.id) for line in lines], fontsize=7.5)
        axes.set_xlabel("students", color=_QUIET)
        axes.set_title("Thresholds", loc="left", fontweight="bold", fontsize=10.5, pad=20)
        axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=6, fontsize=7.5)
        save_figure(figure, path, drawn=True)


def save_heat(table: Heat, title: str, path: Path) -> None:
    """A table of shaded cells; numbers stand in it while it is small enough to read them."""
    height, width = len(table.rows), len(table.heads)
    colours = np.array(
        [[to_rgb(NOTHING if cell.shade is None else SHADES[cell.shade]) for cell in cells] for _, cells in table.rows]
    )
    with mpl.rc_context(look()):
        across, down = max(5.0, 2.0 + 0.29 * width), 1.9 + 0.17 * height
        figure = Figure(figsize=(across, down), dpi=_DPI)
        figure.subplots_adjust(left=1.8 / across, right=1 - 0.1 / across, bottom=0.1 / down, top=1 - 1.75 / down)
        axes = figure.add_subplot()
        axes.imshow(colours, aspect="auto", interpolation="nearest")
        if height <= _MOST_NUMBERED:
            for y, (_, cells) in enumerate(table.rows):
                for x, cell in enumerate(cells):
                    weight = "bold" if cell.strong else "normal"
                    axes.text(x, y, cell.text, ha="center", va="center", fontsize=5.6, color=_INK, weight=weight)
        heads = [" ".join(filter(None, head)) for head in table.heads]
        axes.set_xticks(range(width), [short(head, 24) for head in heads], rotation=90, fontsize=7)
        axes.set_yticks(range(height), [short(label) for label, _ in table.rows], fontsize=6.5)
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        figure.suptitle(title, x=0.01, y=1 - 0.1 / down, va="top", ha="left", fontweight="bold", fontsize=10.5)
        save_figure(figure, path, drawn=True)


def save_ranks(every: Sequence[Ranks], path: Path) -> None:
    """Each case's times in their order, with baselines and threshold, three cases beside each other."""
    names = list(dict.fromkeys(name for ranks in every for name, _ in ranks.baselines))
    rows = -(-len(every) // _COLUMNS)
    with mpl.rc_context(look() | {"ytick.left": True}):
        down = 0.7 + 2.0 * rows
        # Margins by hand: to lay out dozens of axes takes seconds.
        figure = Figure(figsize=(_WIDTH, down), dpi=_DPI)
        figure.subplots_adjust(left=0.07, right=0.99, bottom=0.3 / down, top=1 - 0.6 / down, hspace=0.32, wspace=0.26)
        grid = figure.subplots(rows, _COLUMNS, squeeze=False).ravel()
        for axes in grid[len(every) :]:
            axes.set_visible(False)
        for axes, ranks in zip(grid, every, strict=False):
            _ranks(axes, ranks, names)
        marks = [
            Line2D([], [], color=_BLUE, marker="o", markersize=3, linestyle="", label="a time of the class"),
            Line2D([], [], color=_INK, linewidth=1.8, label="the threshold's time"),
            *(
                Line2D([], [], color=_QUIET, linewidth=1.2, linestyle=_dashes(i), label=name.replace("_", " "))
                for i, name in enumerate(names)
            ),
        ]
        figure.legend(handles=marks, loc="upper left", ncols=6, fontsize=7.5)
        save_figure(figure, path, drawn=True)


def _ranks(axes: Axes, ranks: Ranks, names: Sequence[str]) -> None:
    scale = ranks.scale
    axes.set_yscale("log")
    axes.set_ylim(scale.low, scale.high)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(FixedLocator(scale.ticks()))
    axes.set_yticklabels([fmt.trimmed(fmt.microseconds(tick)) for tick in scale.ticks()], fontsize=7)
    axes.tick_params(axis="x", labelsize=7)
    axes.grid(visible=True, axis="y", color=_GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    for _, name, us in ranks.near:
        axes.axhline(us, color=_QUIET, linewidth=1.2, linestyle=_dashes(names.index(name)))
    if ranks.threshold is not None:
        axes.axhline(ranks.threshold, color=_INK, linewidth=1.8)
    places = ranks.places
    axes.plot(places, ranks.times, marker="o", markersize=2.4, linestyle="", color=_BLUE)
    axes.set_title(short(ranks.label), loc="left", y=1, fontsize=8.5, fontweight="bold")


def _dashes(number: int) -> tuple[int, tuple[float, ...]]:
    return 0, tuple(map(float, DASHES[number % len(DASHES)].split()))
