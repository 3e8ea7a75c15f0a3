"""`warpgrade data stats --json A B | python -m warpgrade_reports.dataset_plot --output FILE`: matrices side by side.

Four panels: how long rows and columns are (shares on a logarithmic axis: few rows are long, and those decide), how far
entries lie from the diagonal, and how far apart accesses to a row of B are. Reads one JSON object a line, from a file
where one is named. Exit 0: drawn; 1: the input cannot be.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Sequence
from itertools import accumulate
from math import floor, log10
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator, PercentFormatter

from warpgrade_reports.png import PALETTE, look, short
from warpgrade_reports.text import json_lines

_MARKERS = ("o", "s", "D", "^")
_MOST = len(_MARKERS)
_KINDS = ("png", "pdf", "svg")
_DPI = 130


def _power(bucket: float, _: object = None) -> str:
    """The upper end of a bucket, 2^b - 1; from a thousand on in binary thousands: 1k, 2k, ... 1M."""
    if bucket < 0 or bucket != int(bucket):
        return ""
    thousands, power = divmod(int(bucket), 10)
    return f"{2**power}{' kMGT'[thousands]}" if thousands else str(2**power - 1)


def _line(axes: Axes, number: int, values: Sequence[float]) -> None:
    # What no row has is a gap: a logarithm has no place for it.
    drawn = [value if value > 0 or axes.get_yscale() == "linear" else float("nan") for value in values]
    (line,) = axes.plot(range(len(drawn)), drawn, clip_on=False, zorder=3, color=PALETTE[number])
    line.set(marker=_MARKERS[number], markersize=4, linewidth=1.4)
    line.set_in_layout(False)  # marks on the frame stay whole, and one without data has no place


def _share(value: float, _: object = None) -> str:
    """A share of one on the logarithmic axis: 100%, 0.01%."""
    return f"{100 * value:.10f}".rstrip("0").rstrip(".") + "%"


def _decade_below(axes: Axes) -> float:
    """The power of ten below what is drawn, a tenth at most."""
    drawn = [float(value) for line in axes.get_lines() for value in np.asarray(line.get_ydata()) if value > 0]
    return 10.0 ** min(-1, floor(log10(min(drawn, default=1))))


def _shares(histogram: Sequence[float]) -> list[float]:
    whole = sum(histogram)
    return [value / whole if whole else 0.0 for value in histogram]


def _panels(matrix: dict[str, Any]) -> list[tuple[str, str, list[float]]]:
    return [
        ("Rows by length, share of all", "entries, up to", _shares(matrix["row_degrees"]["histogram"])),
        ("Columns by length, share of all", "entries, up to", _shares(matrix["column_degrees"]["histogram"])),
        ("Entries near the diagonal", "|column − row|, up to", list(accumulate(matrix["distances"]))),
        (
            "Accesses that a cache of so many rows of B serves",
            "rows of B, least recently used goes first, up to",
            list(accumulate(matrix["reuse"]["histogram"])),
        ),
    ]


def draw(matrices: Sequence[dict[str, Any]], kind: str) -> bytes:
    """The matrices' statistics (`data stats --json`), one colour and shape each; `kind` is png, pdf or svg."""
    with mpl.rc_context(look()):
        figure = Figure(figsize=(9.6, 6.4), dpi=_DPI, layout=ConstrainedLayoutEngine(w_pad=0.09, h_pad=0.09))
        FigureCanvasAgg(figure)
        grid = figure.subplots(2, 2)
        for axes in grid[0]:
            axes.set_yscale("log")
        for number, matrix in enumerate(matrices):
            for axes, (title, label, values) in zip(grid.flat, _panels(matrix), strict=True):
                _line(axes, number, values)
                axes.set_title(title, loc="left", fontsize=10)
                axes.set_xlabel(label)
        for axes in grid[0]:
            axes.set_ylim(_decade_below(axes), 1)
            axes.yaxis.set_major_formatter(FuncFormatter(_share))
            axes.yaxis.set_minor_locator(NullLocator())
        for axes in grid[1]:
            axes.set_ylim(0, 1)
            axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        for axes in grid.flat:
            axes.set_xlim(left=-0.4)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=9))
            axes.xaxis.set_major_formatter(FuncFormatter(_power))
            axes.grid(axis="y", color="#eceef2")
        names = [f"{short(m['name'])}: {m['rows']:,} × {m['cols']:,}, {m['nnz']:,} entries" for m in matrices]
        handles = list(grid.flat[0].get_lines())
        figure.legend(handles, names, loc="outside lower left", ncols=2, fontsize=8)
        drawn = io.BytesIO()
        figure.savefig(drawn, format=kind)
    return drawn.getvalue()


def _write(content: bytes, file: Path) -> None:
    """Whole or not at all."""
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="warpgrade_reports.dataset_plot", description=__doc__)
    parser.add_argument("input", type=Path, nargs="?", help="a line a matrix; default: standard input")
    parser.add_argument("--output", type=Path, required=True, help="the figure to write: .png, .pdf or .svg")
    options = parser.parse_args(arguments)
    name = options.input or "standard input"
    kind = options.output.suffix.removeprefix(".").lower()
    if kind not in _KINDS:
        print(f"error: {options.output}: expected a name that ends in .{', .'.join(_KINDS)}", file=sys.stderr)
        return 1
    try:
        text = options.input.read_text(encoding="utf-8") if options.input else sys.stdin.read()
    except (OSError, UnicodeDecodeError) as error:
        print(f"error: {name}: {error}", file=sys.stderr)
        return 1
    try:
        matrices = [json.loads(line) for _, line in json_lines(text)]
        if not 1 <= len(matrices) <= _MOST:
            raise ValueError(f"expected one to {_MOST} matrices, got {len(matrices)}")
        figure = draw(matrices, kind)
    except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        print(f"error: {name} is no output of `warpgrade data stats --json`: {error}", file=sys.stderr)
        return 1
    try:
        _write(figure, options.output)
    except OSError as error:
        print(f"error: {options.output}: {error.strerror}; name a file in a folder that exists", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
