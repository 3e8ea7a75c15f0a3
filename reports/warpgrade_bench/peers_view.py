"""`python -m warpgrade_bench.peers_view [ROOT]`: the tables and the plot of warpgrade_bench.peers.

Prints Markdown. With --output FOLDER it also writes peers.md and peers.png there. Exit 0: done; 1: no records to
compare.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from warpgrade_reports import format as fmt
from warpgrade_reports.model import Interval
from warpgrade_reports.png import PALETTE, look, short
from warpgrade_reports.source import ReportInputError

from warpgrade_bench.peers import Comparison, Row, compare, geometric_mean
from warpgrade_bench.set_archives import unpacked

_LABS = {"spmm": "SpMM", "apsp": "APSP", "sampling": "Sampling", "histogram": "Histogram", "gcn": "GCN, fp64"}
_DPI = 130
_WIDTH = 9.6
_LEAST_FLOOR_MS = 0.001  # below, a launch takes longer than the work: no point in a plot


def _times(value: Interval | None) -> str:
    if value is None:
        return "–"
    return f"**{fmt.ratio(value.median)}** {fmt.bounds(value)}".strip()


def _ms(value: float | None) -> str:
    return "–" if value is None else fmt.digits(value, 4)


def _widths(rows: Sequence[Row]) -> list[int]:
    return sorted({row.width for row in rows})


def _spmm_table(rows: Sequence[Row]) -> list[str]:
    names = list(rows[0].over)
    head = ["", "ours, ms", *(f"over {name.replace('_', ' ')}" for name in names)]
    has_public = any(row.public for row in rows)
    if has_public:
        head += ["fastest public kernel", "over it"]
    head += ["of the floor", "plan, ms (allowed)"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in rows:
        cells = [row.case, _ms(row.ours_ms.median), *(_times(row.over.get(name)) for name in names)]
        if has_public:
            cells += [row.public.name if row.public else "–", _times(row.ahead)]
        cells += [fmt.percent(row.of_floor), f"{_ms(row.plan_ms)} ({_ms(row.plan_allowed_ms)})"]
        lines.append("| " + " | ".join(cells) + " |")
    means = [geometric_mean(row.over[name].median for row in rows if name in row.over) for name in names]
    cells = ["geometric mean", "", *(f"**{fmt.ratio(mean)}**" for mean in means)]
    if has_public:
        cells += ["", f"**{fmt.ratio(geometric_mean(row.ahead.median for row in rows if row.ahead))}**"]
    lines.append("| " + " | ".join([*cells, "", ""]) + " |")
    return lines


def _verdict(comparison: Comparison) -> list[str]:
    rows = [row for row in comparison.of("spmm") if row.ahead]
    if not rows:
        return []
    ahead = [row for row in rows if row.ahead and row.ahead.median > 1]
    behind = [row for row in rows if row.ahead and row.ahead.median < 1 / comparison.slack]
    late = [row for row in rows if row.plan_ms is not None and row.plan_ms > row.plan_allowed_ms]
    return [
        f"Ahead of the fastest public kernel on {len(ahead)} of {len(rows)} cases, "
        f"behind it by more than {fmt.percent(comparison.slack - 1)} on "
        + (", ".join(f"{row.case} K = {row.width}" for row in behind) or "none")
        + "; plans over their allowance: "
        + (", ".join(f"{row.case} K = {row.width}" for row in late) or "none")
        + f". Every case was repeated {min(row.repetitions for row in rows)} times or more, cold.",
        "",
    ]


def _lab_table(rows: Sequence[Row]) -> list[str]:
    names = list(dict.fromkeys(name for row in rows for name in row.over))
    has_public = any(row.public for row in rows)
    head = ["case", "ours, ms", "times timed", *(f"over {name.replace('_', ' ')}" for name in names)]
    if has_public:
        head += ["fastest public kernel, ms", "over it"]
    head += ["of the floor", "the floor counts"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for row in rows:
        cells = [
            row.case,
            _ms(row.ours_ms.median),
            str(row.repetitions),
            *(_times(row.over.get(name)) for name in names),
        ]
        if has_public:
            cells += [f"{row.public.name}, {_ms(row.public.time_ms)}" if row.public else "–", _times(row.ahead)]
        cells += [fmt.percent(row.of_floor), row.floor_what]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def markdown(comparison: Comparison) -> str:
    """All tables. Brackets hold 95 % intervals; ratios say how many times as fast ours is."""
    lines = [
        f"# The staff's solutions beside the fastest public kernels, {comparison.device}",
        "",
        "Ratios: how many times as fast ours is, with 95 % intervals of pairs measured in one run; against public",
        "kernels by way of what both are over the same vendor's default, or (APSP) by time. Records: "
        + ", ".join(f"`{name}`" for name in comparison.folders)
        + ".",
        "",
    ]
    spmm = comparison.of("spmm")
    for width in _widths(spmm):
        lines += [f"## SpMM, K = {width}", "", *_spmm_table([row for row in spmm if row.width == width]), ""]
    lines += _verdict(comparison)
    real = comparison.of("spmm", real=True)
    for width in _widths(real):
        chosen = [row for row in real if row.width == width]
        lines += [f"## SpMM on real graphs, K = {width}", "", *_spmm_table(chosen), ""]
    for lab, title in _LABS.items():
        rows = comparison.of(lab) + comparison.of(lab, real=True)
        if lab != "spmm" and rows:
            lines += [f"## {title}", "", *_lab_table(rows), ""]
    lines += ["## Where the public figures come from", ""]
    lines += [f"- {_LABS.get(lab, lab)}: {source}." for lab, source in comparison.sources.items() if lab in _LABS]
    if "ceilings" in comparison.sources:
        lines += [f"- The rates behind the floors: {comparison.sources['ceilings']}."]
    return "\n".join(lines) + "\n"


def _vendor_best_ms(row: Row) -> float | None:
    ratios = [ratio.median for name, ratio in row.over.items() if name != "naive"]
    return row.ours_ms.median * min(ratios) if ratios else None


def _public_ms(row: Row) -> float | None:
    return None if row.ahead is None else row.ours_ms.median * row.ahead.median


def _over_floor(row: Row, time_ms: float) -> float:
    return time_ms / (row.floor_ms or time_ms)


def _panel(axes: Axes, title: str, rows: Sequence[Row]) -> None:
    marks = (
        ("fastest public kernel", _public_ms, "D", PALETTE[1]),
        ("vendor's best", _vendor_best_ms, "s", PALETTE[7]),
        ("ours", lambda row: row.ours_ms.median, "o", PALETTE[0]),
    )
    for y, row in enumerate(rows):
        places = [_over_floor(row, value) for _, time, _, _ in marks if (value := time(row)) is not None]
        axes.plot([min(places), max(places)], [y, y], color="#d5d9e0", linewidth=2, zorder=1, solid_capstyle="round")
        for name, time, marker, colour in marks:
            value = time(row)
            if value is not None:
                label = name if y == 0 or name not in axes.get_legend_handles_labels()[1] else None
                axes.scatter(_over_floor(row, value), y, s=34, marker=marker, color=colour, zorder=3, label=label)
    axes.axvline(1.0, color="#1b1d22", linewidth=0.8)
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    ticks = [tick for tick in (0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 20, 50) if low <= tick <= high]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axes.set_yticks(range(len(rows)), [short(row.case, 30) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(axis="x", color="#eceef2", zorder=0)
    axes.set_title(title, loc="left", fontsize=10)


def save_plot(comparison: Comparison, file: Path) -> None:
    """Time over floor, a dot a kernel, a line a case, a panel for each K of SpMM and for each other lab."""
    plotted = [row for row in comparison.rows if row.floor_ms is not None and row.floor_ms >= _LEAST_FLOOR_MS]
    comparison = replace(comparison, rows=tuple(plotted))
    spmm = comparison.of("spmm")
    panels = [(f"SpMM, K = {k}", [row for row in spmm if row.width == k]) for k in _widths(spmm)]
    real = comparison.of("spmm", real=True)
    panels += [(f"SpMM on real graphs, K = {k}", [row for row in real if row.width == k]) for k in _widths(real)]
    for lab, title in _LABS.items():
        rows = comparison.of(lab) + comparison.of(lab, real=True)
        if lab != "spmm" and rows:
            panels.append((title, rows))
    heights = [len(rows) + 2.2 for _, rows in panels]
    with mpl.rc_context(look()):
        figure = Figure(figsize=(_WIDTH, 0.2 * sum(heights) + 1.0), dpi=_DPI, layout="constrained")
        FigureCanvasAgg(figure)
        all_axes = figure.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
        for axes, (title, rows) in zip(all_axes, panels, strict=True):
            _panel(axes, title, rows)
        handles: dict[str, Artist] = {}
        for axes in all_axes:
            for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(name, handle)
        figure.legend(handles.values(), handles.keys(), loc="outside upper right", ncols=3, fontsize=8)
        figure.suptitle(f"Time over the floor, {comparison.device}", x=0.01, ha="left", fontsize=11)
        figure.savefig(file)


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="warpgrade_bench.peers_view", description=__doc__)
    parser.add_argument("root", type=Path, nargs="?", default=Path("reports/published"), metavar="ROOT")
    parser.add_argument("--output", type=Path, help="also write peers.md and peers.png into this folder")
    options = parser.parse_args(arguments)
    try:
        with unpacked(options.root) as sets:
            comparison = compare(sets)
    except ReportInputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    text = markdown(comparison)
    sys.stdout.write(text)
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / "peers.md").write_text(text, encoding="utf-8")
        save_plot(comparison, options.output / "peers.png")
        print(f"written: {options.output / 'peers.md'}, {options.output / 'peers.png'}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
