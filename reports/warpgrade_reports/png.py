"""Draws the same charts as PNG with matplotlib, for slides and papers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.patches import Patch
from matplotlib.textpath import TextPath
from matplotlib.ticker import FixedLocator, NullLocator
from matplotlib.transforms import Affine2D

from warpgrade_reports import format as fmt
from warpgrade_reports.chart import Chart, Mark, Scale, Style, log_range, median, scale_of
from warpgrade_reports.ladder import Climb
from warpgrade_reports.model import ACCEPTED, Run, Submission
from warpgrade_reports.verdicts import STYLES, UNDECIDED, style_of

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#b0558f", "#c28b00", "#4aa3df", "#5c4d9b", "#6b7280")
_SHAPES = ("o", "s", "D", "^", "v", "P", "X", ((-0.45, -1.0), (0.45, -1.0), (0.45, 1.0), (-0.45, 1.0)))
_QUIET, _INK = "#5b6270", "#1b1d22"
_WIDTH = 9.6  # inches
_LABEL_LETTERS = 28
_DPI = 130
_MOST_ROWS = 200  # of submissions in one picture
_LEGEND_COLUMNS = 5
_FONTS = (
    "DejaVu Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "WenQuanYi Micro Hei",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
)
_LOOK = {
    "font.size": 9,
    "text.parse_math": False,  # a $ in a name is a $
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#b8bec7",
    "xtick.color": _QUIET,
    "ytick.color": _INK,
    "ytick.left": False,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "warpgrade_reports",
}


@cache
def look() -> dict[str, object]:
    """The settings of every plot; names of many scripts are drawn with what is installed of the fonts listed."""
    installed = {font.name for font in fontManager.ttflist}
    return {**_LOOK, "font.family": [name for name in _FONTS if name in installed]}


def short(text: str, letters: int = _LABEL_LETTERS) -> str:
    """A label on one line of bounded length."""
    text = " ".join(text.split())
    return text if len(text) <= letters else text[: letters - 1] + "…"


def note_beside(axes: Axes, y: float, text: str) -> None:
    """A small note right of the plot, at height `y` of its data."""
    axes.annotate(
        text,
        (1, y),
        xytext=(5, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="center",
        fontsize=6.5,
        color=_QUIET,
    )


def save_chart(chart: Chart, folder: Path) -> None:
    """Writes the chart as <slug>.png; a chart without any mark is left out."""
    if chart.empty:
        return
    with mpl.rc_context(look()):
        step = {Style.BARS: 0.105 * len(chart.series) + 0.12, Style.DOTS: 0.24, Style.STRIP: 0.36}[chart.style]
        step = max(step, 0.24)
        figure = Figure(figsize=(_WIDTH, max(2.0, step * len(chart.rows) + 1.25)), dpi=_DPI, layout="constrained")
        axes = figure.add_subplot()
        _frame(chart, axes)
        {Style.BARS: _bars, Style.DOTS: _dots, Style.STRIP: _strip}[chart.style](chart, axes)
        _thresholds(chart, axes)
        _legend(chart, axes)
        save_figure(figure, folder / f"{chart.slug}.png")


def save_figure(figure: Figure, path: Path, *, drawn: bool = False) -> None:
    """Writes a figure as PNG, and `drawn` as SVG beside it; the same figure gives the same bytes."""
    with warnings.catch_warnings():
        # A name in a script that no installed font has becomes boxes here; the page shows it with the browser's fonts.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        canvas: Any = FigureCanvasAgg(figure)  # its methods have no types
        # savefig() would draw everything once more for each file, to lay it out.
        if engine := figure.get_layout_engine():
            engine.execute(figure)
            figure.set_layout_engine("none")
        canvas.print_png(path, metadata={"Software": "warpgrade_reports"})
        if drawn:
            canvas = FigureCanvasSVG(figure)
            canvas.print_svg(path.with_suffix(".svg"), metadata={"Date": None})


def _frame(chart: Chart, axes: Axes) -> None:
    scale = scale_of(chart)
    axes.set_title(chart.title, loc="left", fontweight="bold", fontsize=10.5, pad=8 + 13 * _legend_lines(chart))
    axes.set_xlabel(chart.axis, color=_QUIET)
    if chart.logarithmic:
        axes.set_xscale("log")
    axes.set_xlim(scale.low, scale.high)
    ticks = scale.ticks()
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([fmt.trimmed(chart.tick(tick)) for tick in ticks])
    axes.set_ylim(len(chart.rows) - 0.45, -0.55)
    axes.set_yticks(range(len(chart.rows)), [short(row.label) for row in chart.rows])
    axes.grid(visible=True, axis="x", color="#e2e5ea", linewidth=0.7)
    axes.set_axisbelow(True)
    if chart.reference is not None:
        axes.axvline(chart.reference, color=_QUIET, linestyle=(0, (4, 3)), linewidth=0.9)


def _whisker(mark: Mark) -> list[list[float]] | None:
    if mark.low is None or mark.high is None:
        return None
    return [[max(0.0, mark.value - mark.low)], [max(0.0, mark.high - mark.value)]]


def _bars(chart: Chart, axes: Axes) -> None:
    height = 0.86 / max(1, len(chart.series))
    for index, row in enumerate(chart.rows):
        for mark in row.marks:
            y = index - 0.43 + (mark.series + 0.5) * height
            axes.barh(
                y,
                mark.value,
                height=0.88 * height,
                color=PALETTE[mark.series % len(PALETTE)],
                xerr=_whisker(mark),
                error_kw={"elinewidth": 0.7, "capsize": 1.6, "ecolor": _INK},
            )
        for series, why in row.absent if row.marks else ():
            axes.annotate(
                short(why),
                (0, index - 0.43 + (series + 0.5) * height),
                xytext=(3, 0),
                fontsize=5.4,
                textcoords="offset points",
                va="center",
                color=_QUIET,
                style="italic",
            )
        if not row.marks and row.note:
            axes.annotate(
                short(row.note),
                (0, index),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=7.5,
                color=_QUIET,
                style="italic",
            )


def _dots(chart: Chart, axes: Axes) -> None:
    for index, row in enumerate(chart.rows):
        for mark in row.marks:
            _dot(axes, mark, index)


def _dot(axes: Axes, mark: Mark, y: float) -> None:
    axes.errorbar(
        mark.value,
        y,
        xerr=_whisker(mark),
        marker=_SHAPES[mark.series % len(_SHAPES)],
        linestyle="",
        markersize=5.5,
        color=PALETTE[mark.series % len(PALETTE)],
        ecolor=_INK,
        elinewidth=0.7,
    )


def _strip(chart: Chart, axes: Axes) -> None:
    for index, row in enumerate(chart.rows):
        crowd = [mark.value for mark in row.marks if mark.series == 0]
        offsets = [index + ((i * 7) % 13 - 6) * 0.045 for i in range(len(crowd))]
        axes.scatter(crowd, offsets, s=11, color=PALETTE[0], alpha=0.38, linewidths=0)
        if crowd:
            axes.vlines(median(crowd), index - 0.36, index + 0.36, color=PALETTE[0], linewidth=2)
            note_beside(axes, index, f"median {chart.tick(median(crowd))}, n = {len(crowd)}")
        for mark in row.marks:
            if mark.series > 0:
                _dot(axes, mark, index)


def _thresholds(chart: Chart, axes: Axes) -> None:
    for index, row in enumerate(chart.rows):
        if row.threshold is not None:
            axes.vlines(row.threshold, index - 0.46, index + 0.46, color=_INK, linewidth=1.6, zorder=3)


def _legend_entries(chart: Chart) -> tuple[list[int], bool]:
    """The series that a legend names, and whether it names the threshold."""
    used = sorted({mark.series for row in chart.rows for mark in row.marks})
    return used if len(chart.series) > 1 else [], any(row.threshold is not None for row in chart.rows)


def _legend_lines(chart: Chart) -> int:
    series, threshold = _legend_entries(chart)
    return -(-(len(series) + threshold) // _LEGEND_COLUMNS)


def _legend(chart: Chart, axes: Axes) -> None:
    handles: list[Patch | Line2D] = []
    used, threshold = _legend_entries(chart)
    for series in used:
        colour, label = PALETTE[series % len(PALETTE)], short(chart.series[series])
        if chart.style is Style.BARS:
            handles.append(Patch(color=colour, label=label))
        else:
            shape = "o" if chart.style is Style.STRIP and series == 0 else _SHAPES[series % len(_SHAPES)]
            handles.append(
                Line2D([], [], color=colour, marker=MarkerStyle(shape), linestyle="", markersize=5.5, label=label)
            )
    if threshold:
        handles.append(
            Line2D([], [], color=_INK, marker="|", linestyle="", markersize=9, markeredgewidth=1.6, label="threshold")
        )
    if handles:
        axes.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(-0.01, 1.0),
            ncols=_LEGEND_COLUMNS,
            fontsize=7.5,
            handletextpad=0.4,
            columnspacing=1.2,
            borderaxespad=0.2,
        )


def parts_of_matrix(submissions: Sequence[Submission]) -> int:
    """How many files save_matrix makes of these rows: a picture of thousands is too large to draw and to look at."""
    return max(1, math.ceil(len(submissions) / _MOST_ROWS))


def save_matrix(run: Run, every: Sequence[Submission], folder: Path, part: int = 0) -> None:
    """Writes correctness.png: a row a submission, a column a case, a letter and a colour a verdict.

    Of a large class it has the first rows, and further parts, from 1, are correctness-2.png and so on.
    """
    submissions = every[part * _MOST_ROWS : (part + 1) * _MOST_ROWS]
    name = f"correctness-{part + 1}.png" if part else "correctness.png"
    cell = 0.21
    width = max(_WIDTH * 0.6, 2.4 + cell * len(run.cases))
    with mpl.rc_context(look()):
        figure = Figure(figsize=(width, 2.5 + cell * len(submissions)), dpi=_DPI, layout="constrained")
        axes = figure.add_subplot()
        _cells(axes, [[result.verdict for result in submission.cases] for submission in submissions])
        axes.set_yticks(range(len(submissions)), [short(s.title) for s in submissions], fontsize=7.5)
        axes.set_xticks(range(len(run.cases)), [short(c.id, 24) for c in run.cases], rotation=90, fontsize=7)
        axes.xaxis.tick_top()
        axes.tick_params(length=0, which="both")
        axes.spines[:].set_visible(False)
        _matrix_legend(figure, {result.verdict for s in submissions for result in s.cases})
        save_figure(figure, folder / name)


def _cells(axes: Axes, verdicts: Sequence[Sequence[str]]) -> None:
    """The cells as one image and the letters as one set of marks a verdict: thousands of artists would take minutes."""
    if not verdicts or not verdicts[0]:
        return
    # In bytes: matplotlib computes with eight times as much memory for each pixel of fractions.
    colours = np.array([[_bytes_of(_face(verdict)) for verdict in row] for row in verdicts], dtype=np.uint8)
    axes.imshow(colours, aspect="auto", interpolation="nearest")
    for edges, draw in ((range(len(colours) + 1), axes.axhline), (range(len(colours[0]) + 1), axes.axvline)):
        for edge in edges:
            draw(edge - 0.5, color="#ffffff", linewidth=1.2)
    places: dict[str, list[tuple[int, int]]] = {}
    for y, row in enumerate(verdicts):
        for x, verdict in enumerate(row):
            places.setdefault(verdict, []).append((x, y))
    for verdict, found in places.items():
        style = style_of(verdict)
        xs, ys = [x for x, _ in found], [y for _, y in found]
        if verdict in UNDECIDED:
            axes.scatter(xs, ys, marker="s", s=95, facecolors="none", edgecolors=style.colour, linestyles="dashed")
        ink = style.colour if verdict in {ACCEPTED, *UNDECIDED} else "#ffffff"
        marker, size = _letter(style.letter)
        axes.scatter(xs, ys, marker=marker, s=size, color=ink, linewidths=0)


def _bytes_of(colour: str) -> list[int]:
    return [round(255 * part) for part in to_rgb(colour)]


def _face(verdict: str) -> str:
    if verdict == ACCEPTED:
        return "#e6f4ec"
    return "#f1f4f8" if verdict in UNDECIDED else style_of(verdict).colour


@cache
def _letter(letter: str) -> tuple[MarkerStyle, float]:
    """A letter as a mark with its middle on the point, and the mark's size that makes all letters alike."""
    path = TextPath((0, 0), letter, size=1, prop=FontProperties(family="DejaVu Sans", weight="bold"))
    box = path.get_extents()
    middle = Affine2D().translate(-(box.x0 + box.x1) / 2, -(box.y0 + box.y1) / 2)
    largest = max(box.width, box.height)  # matplotlib scales every mark to one extent
    return MarkerStyle(middle.transform_path(path)), 110 * largest**2


def _matrix_legend(figure: Figure, verdicts: Iterable[str]) -> None:
    order = list(STYLES)
    styles = sorted(map(style_of, set(verdicts)), key=lambda s: order.index(s.name) if s.name in order else len(order))
    handles = [Patch(facecolor=style.colour, label=f"{style.letter} {style.label}") for style in styles]
    figure.legend(handles=handles, loc="outside lower left", ncols=4, fontsize=7, handlelength=1)


def save_climb(climb: Climb, folder: Path) -> None:
    """Writes journey-<group>.png: the value of each step and the cumulative gain, a line a case."""
    show = fmt.scaled if climb.counted else fmt.microseconds
    what = "Warp instructions" if climb.counted else "Time"
    for stretch in climb.charted:
        with mpl.rc_context(look() | {"ytick.left": True}):
            figure = Figure(figsize=(_WIDTH * 1.1, 4.4), dpi=_DPI, layout="constrained")
            left, right = figure.subplots(1, 2)
            title = stretch.group.named(f"{what} a step")
            _step_axes(left, climb, title, [path.values for path in stretch.paths], show)
            _step_axes(right, climb, "Cumulative gain", [path.gains for path in stretch.paths], fmt.ratio)
            for index, (path, label) in enumerate(zip(stretch.paths, stretch.group.labels, strict=True)):
                style = {
                    "color": PALETTE[index % len(PALETTE)],
                    "marker": "o",
                    "markersize": 2.5,
                    "linewidth": 1.1,
                    "linestyle": "--" if index // len(PALETTE) % 2 else "-",
                    "label": short(label),
                }
                _line(left, path.values, style)
                _line(right, path.gains, style)
            if len(stretch.complete) > 1:
                _line(right, stretch.mean_gains, {"color": _INK, "linewidth": 2.4, "label": "geometric mean"})
            figure.legend(*right.get_legend_handles_labels(), loc="outside right center", fontsize=7)
            save_figure(figure, folder / f"journey-{stretch.group.slug}.png")


def _step_axes(
    axes: Axes,
    climb: Climb,
    title: str,
    lines: Sequence[Sequence[float | None]],
    show: Callable[[float | None], str],
) -> None:
    scale = Scale(*log_range(value for line in lines for value in line if value), logarithmic=True)
    names = [short(step.title, 20) for step in climb.steps]
    axes.set_title(title, loc="left", fontweight="bold", fontsize=10)
    axes.set_yscale("log")
    axes.set_ylim(scale.low, scale.high)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(FixedLocator(scale.ticks()))
    axes.set_yticklabels([fmt.trimmed(show(tick)) for tick in scale.ticks()], fontsize=7.5)
    axes.set_xticks(range(len(names)), names, rotation=35, ha="right", fontsize=7.5)
    axes.grid(visible=True, axis="y", color="#e2e5ea", linewidth=0.7)


def _line(axes: Axes, values: Sequence[float | None], style: dict[str, Any]) -> None:
    points = [(x, value) for x, value in enumerate(values) if value is not None and value > 0]
    if points:
        axes.plot([x for x, _ in points], [value for _, value in points], **style)
