"""`python -m warpgrade_reports.sweep RUN_DIR`: the heat map and the table of a parameter sweep.

Reads RUN_DIR/sweep.json (warpgrade.sweep.v1) and writes report/sweep.html, sweep.png, sweep.svg, sweep.md and
sweep.csv. A cell is a
variant's time (on the emulator: its warp instructions) over the best variant's on that case; 1 is the best.
Exit 0: done; 1: the input cannot be rendered.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure

from warpgrade_reports import heat
from warpgrade_reports.feedback import asset, environment, scrolling_tables
from warpgrade_reports.png import look, save_figure, short
from warpgrade_reports.source import ReportInputError

_BEST, _MIDDLE, _WORST = "#f4f9fd", "#7fb5dc", "#0b3d66"
_ABSENT = "#e3e4e8"
_COLOURS = LinearSegmentedColormap.from_list("sweep", [_BEST, _MIDDLE, _WORST])
_MOST = 4.0  # everything beyond is as dark
_DPI = 130
_ADVICE = "make it with `warpgrade sweep`"
_WHITE_ABOVE = 1.9  # numbers stand white on dark cells
_BEST_BELOW = 1.0005  # what is written as 1.00 at most is bold
_MOST_LABELS = 700  # cells that can carry a number each


@dataclass(frozen=True)
class Sweep:
    """Variants, cases, and each variant's value over the best on each case; None where it was not accepted."""

    measure: str
    choice: str | None
    variants: tuple[str, ...]
    cases: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]  # by variant, then case
    over_best: tuple[tuple[float | None, ...], ...]
    means: tuple[float | None, ...]  # geometric mean over the cases, by variant

    @property
    def what(self) -> str:
        """The measure in words."""
        return "time" if self.measure == "time_us" else "warp instructions"


def read_sweep(run: Path) -> Sweep:
    """Reads RUN_DIR/sweep.json. Raises ReportInputError naming the file and what is wrong."""
    file = run / "sweep.json"
    try:
        data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if data["schema"] != "warpgrade.sweep.v1":
            raise ReportInputError(str(file), f"schema {data['schema']}, expected warpgrade.sweep.v1", _ADVICE)
        columns = [case["values"] for case in data["by_case"]]
        numbers = range(len(data["variants"]))
        return Sweep(
            measure=data["measure"],
            choice=data.get("best_single_choice"),
            variants=tuple(variant["title"] for variant in data["variants"]),
            cases=tuple(case["id"] for case in data["by_case"]),
            values=tuple(tuple(column[v].get("value") for column in columns) for v in numbers),
            over_best=tuple(tuple(column[v].get("over_best") for column in columns) for v in numbers),
            means=tuple(variant.get("mean_over_best") for variant in data["variants"]),
        )
    except OSError as error:
        raise ReportInputError(str(file), str(error.strerror), _ADVICE) from error
    except (json.JSONDecodeError, KeyError, IndexError, TypeError) as error:
        raise ReportInputError(str(file), f"is not a sweep's summary ({error!r})", _ADVICE) from error


def save_heat_map(sweep: Sweep, file: Path) -> None:
    """Variants down, cases across, the geometric mean in a last column apart."""
    rows = [[*line, mean] for line, mean in zip(sweep.over_best, sweep.means, strict=True)]
    heads = [*sweep.cases, "geometric mean"]
    height, width = len(rows), len(heads)
    with mpl.rc_context(look()):
        figure = Figure(
            figsize=(max(6.4, 2.6 + 0.52 * width), max(3.0, 1.9 + 0.27 * height)), dpi=_DPI, layout="constrained"
        )
        axes = figure.add_subplot()
        grid = [[math.nan if value is None else min(value, _MOST) for value in row] for row in rows]
        image = axes.imshow(grid, cmap=_COLOURS, norm=LogNorm(1.0, _MOST), aspect="auto")
        for y, row in enumerate(rows):
            for x, value in enumerate(row):
                if value is None:
                    axes.add_patch(mpl.patches.Rectangle((x - 0.5, y - 0.5), 1, 1, color=_ABSENT))
                if height * width <= _MOST_LABELS:
                    text = "–" if value is None else f"{value:.2f}"
                    dark = value is not None and value > _WHITE_ABOVE
                    weight = "bold" if value is not None and value < _BEST_BELOW else "normal"
                    axes.text(
                        x,
                        y,
                        text,
                        ha="center",
                        va="center",
                        fontsize=7,
                        color="white" if dark else "black",
                        weight=weight,
                    )
        axes.axvline(width - 1.5, color="white", linewidth=4)
        axes.set_xticks(range(width), [short(head) for head in heads], rotation=40, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(height), [short(name, 60) for name in sweep.variants])
        for label, name in zip(axes.get_yticklabels(), sweep.variants, strict=True):
            label.set_fontweight("bold" if name == sweep.choice else "normal")
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        title = f"{sweep.what.capitalize()} of each variant, over the best one's on that case"
        figure.suptitle(title, x=0.01, ha="left", fontsize=10)
        bar = figure.colorbar(image, ax=axes, shrink=0.7, pad=0.015)
        bar.set_ticks([1, 1.5, 2, 3, _MOST], labels=["1", "1.5", "2", "3", f"≥ {_MOST:g}"])
        bar.minorticks_off()
        bar.outline.set_visible(False)  # type: ignore[operator]  # a Spine, which its stub takes for a function
        save_figure(figure, file, drawn=True)


def render_page(sweep: Sweep) -> str:
    """The page: the table of shades, and what was measured."""
    shades = heat.Shades(_MOST)
    rows = []
    for name, line, mean in zip(sweep.variants, sweep.over_best, sweep.means, strict=True):
        cells = (_cell(value, shades) for value in (mean, *line))
        rows.append((f"{name} (best)" if name == sweep.choice else name, tuple(cells)))
    heads = (("geometric mean", ""), *((case, "") for case in sweep.cases))
    told = [(shades.of(1 / ratio), f"{ratio:g}×") for ratio in (1, 1.5, 2, 3)]
    page = environment(html=True).get_template("sweep.html.j2")
    return scrolling_tables(
        page.render(
            sweep=sweep,
            values=[["–" if v is None else _number(v, sweep) for v in line] for line in sweep.values],
            legend=Markup(heat.legend([*told, (shades.of(1 / _MOST), f"{_MOST:g}× and more"), (None, "not measured")])),  # noqa: S704 - heat.py escapes every text
            table=Markup(heat.draw(heat.Heat("variant", heads, tuple(rows)))),  # noqa: S704 - the same
            style=asset("style.css"),
        )
    )


def _cell(over: float | None, shades: heat.Shades) -> heat.Cell:
    """The worse, the warmer."""
    if over is None or over <= 0:
        return heat.Cell("–")
    return heat.Cell(f"{over:.2f}", shades.of(1 / over), strong=over < _BEST_BELOW)


def markdown(sweep: Sweep) -> str:
    """The table: value and, in brackets, how far above the case's best."""
    lines = [
        f"# Sweep: {sweep.what} of each variant",
        "",
        f"Best single choice: **{sweep.choice or 'none is accepted on every case'}**. "
        "In brackets: over the case's best.",
        "",
        "| variant | " + " | ".join(sweep.cases) + " | geometric mean |",
        "|---|" + "---:|" * (len(sweep.cases) + 1),
    ]
    for name, values, overs, mean in zip(sweep.variants, sweep.values, sweep.over_best, sweep.means, strict=True):
        cells = [
            "–" if value is None or over is None else f"{_number(value, sweep)} ({over:.2f})"
            for value, over in zip(values, overs, strict=True)
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {'–' if mean is None else f'{mean:.3f}'} |")
    return "\n".join(lines) + "\n"


def _number(value: float, sweep: Sweep) -> str:
    return f"{value:,.1f} µs" if sweep.measure == "time_us" else f"{value:,.0f}"


def table_csv(sweep: Sweep) -> str:
    """One line a variant and case: variant, case, value, over_best."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["variant", "case", sweep.measure, "over_best"])
    for name, values, overs in zip(sweep.variants, sweep.values, sweep.over_best, strict=True):
        for case, value, over in zip(sweep.cases, values, overs, strict=True):
            writer.writerow([name, case, "" if value is None else value, "" if over is None else f"{over:.6f}"])
    return text.getvalue()


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="warpgrade_reports.sweep", description="Renders a parameter sweep.")
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="a run's folder with sweep.json")
    options = parser.parse_args(arguments)
    try:
        sweep = read_sweep(options.run)
    except ReportInputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    output = options.run / "report"
    output.mkdir(exist_ok=True)
    save_heat_map(sweep, output / "sweep.png")
    (output / "sweep.html").write_text(render_page(sweep), encoding="utf-8", errors="replace", newline="\n")
    (output / "sweep.md").write_text(markdown(sweep), encoding="utf-8")
    (output / "sweep.csv").write_text(table_csv(sweep), encoding="utf-8")
    print(f"heat map: {output / 'sweep.png'}")
    print(f"page: {output / 'sweep.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
