"""`warpgrade data stats --json A B | python -m warpgrade_reports.dataset_plot --output FILE`: matrices side by side.

Four panels: how long rows and columns are, how far entries lie from the diagonal, and how far apart accesses to a row
of B are. Reads one JSON object a line, from a file where one is named. Exit 0: drawn; 1: the input cannot be.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from warpgrade_reports import format as fmt
from warpgrade_reports.png import PALETTE, look, short

_MARKERS = ("o", "s", "D", "^")
_MOST = len(_MARKERS)
_DPI = 130


def _power(bucket: float, _: object = None) -> str:
    """The upper end of a bucket: 0, then 2^(b-1) to 2^b - 1."""
    if bucket < 0 or bucket != int(bucket):
        return ""
    return "0" if bucket == 0 else fmt.scaled(2 ** int(bucket) - 1).replace(" ", "")


def _line(axes: Axes, number: int, values: Sequence[float]) -> None:
    axes.plot(range(len(values)), values, color=PALETTE[number], marker=_MARKERS[number], markersize=4, linewidth=1.4)


def _shares(histogram: Sequence[float]) -> list[float]:
    whole = sum(histogram)
    return [value / whole if whole else 0.0 for value in histogram]


def _panels(matrix: dict[str, Any]) -> list[tuple[str, str, list[float]]]:
    return [
        ("Rows by length", "entries, up to", _shares(matrix["row_degrees"]["histogram"])),
        ("Columns by length", "entries, up to", _shares(matrix["column_degrees"]["histogram"])),
        ("Entries near the diagonal", "|column − row|, at most", list(accumulate(matrix["distances"]))),
        (
            "Accesses that a cache of so many rows of B serves",
            "rows of B, LRU, at most",
            list(accumulate(matrix["reuse"]["histogram"])),
        ),
    ]


def save(matrices: Sequence[dict[str, Any]], file: Path) -> None:
    """Draws the matrices' statistics (`data stats --json`), one colour and shape each."""
    with mpl.rc_context(look()):
        figure = Figure(figsize=(9.6, 6.4), dpi=_DPI, layout="constrained")
        FigureCanvasAgg(figure)
        grid = figure.subplots(2, 2)
        for number, matrix in enumerate(matrices):
            for axes, (title, label, values) in zip(grid.flat, _panels(matrix), strict=True):
                _line(axes, number, values)
                axes.set_title(title, loc="left", fontsize=10)
                axes.set_xlabel(label)
        for axes in grid.flat:
            axes.set_ylim(bottom=0)
            axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=9))
            axes.xaxis.set_major_formatter(FuncFormatter(_power))
            axes.grid(axis="y", color="#eceef2")
        names = [f"{short(m['name'])}: {m['rows']:,} × {m['cols']:,}, {m['nnz']:,} entries" for m in matrices]
        handles = list(grid.flat[0].get_lines())
        figure.legend(handles, names, loc="outside lower left", ncols=2, fontsize=8)
        figure.savefig(file)


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="warpgrade_reports.dataset_plot", description=__doc__)
    parser.add_argument("input", type=Path, nargs="?", help="a line a matrix; default: standard input")
    parser.add_argument("--output", type=Path, required=True, help="the PNG to write")
    options = parser.parse_args(arguments)
    name = options.input or "standard input"
    try:
        text = options.input.read_text(encoding="utf-8") if options.input else sys.stdin.read()
    except (OSError, UnicodeDecodeError) as error:
        print(f"error: {name}: {error}", file=sys.stderr)
        return 1
    try:
        matrices = [json.loads(line) for line in text.splitlines() if line.strip()]
        if not 1 <= len(matrices) <= _MOST:
            raise ValueError(f"expected one to {_MOST} matrices, got {len(matrices)}")
        save(matrices, options.output)
    except (json.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        print(f"error: {name} is no output of `warpgrade data stats --json`: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {options.output}: {error.strerror}; name a file in a folder that exists", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
