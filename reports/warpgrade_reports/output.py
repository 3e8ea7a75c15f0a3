"""Writes a report's folder whole or not at all."""

from __future__ import annotations

import tempfile
from pathlib import Path

from warpgrade_reports import charts, png
from warpgrade_reports.analysis import ranking
from warpgrade_reports.journey import journey_of, markdown
from warpgrade_reports.model import Run
from warpgrade_reports.page import render_pages
from warpgrade_reports.publishing import publish, refuse_strangers
from warpgrade_reports.source import ReportInputError
from warpgrade_reports.tables import csv_table, markdown_table


def write_report(
    run: Run, output: Path, *, appeal: bool = False, launches: Run | None = None, troubles: list[str] | None = None
) -> Path:
    """Builds the report beside `output` and moves it there; returns the page's path. `troubles`: see render_pages."""
    refuse_strangers(output)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{output.name}-", dir=output.parent) as scratch:
            staged = Path(scratch) / "report"
            staged.mkdir()
            _fill(staged, run, launches, appeal=appeal, troubles=troubles)
            publish(staged, output, Path(scratch) / "before")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ReportInputError(
            str(output), f"expected to write there, got: {reason}", "name another folder with --output"
        ) from error
    return output / "index.html"


def _fill(folder: Path, run: Run, launches: Run | None, *, appeal: bool, troubles: list[str] | None) -> None:
    for name, page in render_pages(run, appeal=appeal, launches=launches, troubles=troubles).items():
        (folder / name).parent.mkdir(exist_ok=True)
        _write(folder / name, page)
    _write(folder / "table.md", markdown_table(run))
    _write(folder / "table.csv", csv_table(run))
    plots = folder / "plots"
    plots.mkdir()
    png.save_matrix(run, [*(ranked.submission for ranked in ranking(run.students)), *run.staff], plots)
    for chart in charts.of_run(run):
        png.save_chart(chart, plots)
    journey = journey_of(run, launches)
    if journey:
        _write(folder / "journey.md", markdown(journey))
        png.save_journey(journey, plots)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="replace", newline="\n")
