"""Writes a report's folder whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from warpgrade_reports import charts, png
from warpgrade_reports.analysis import ranking
from warpgrade_reports.ladder import Climb, climb_of, markdown
from warpgrade_reports.learnt import estimate_charts
from warpgrade_reports.model import Run
from warpgrade_reports.page import Pages
from warpgrade_reports.publishing import publish, refuse_strangers
from warpgrade_reports.roofline import rooflines_of
from warpgrade_reports.roofline_png import save_roofline
from warpgrade_reports.source import ReportInputError
from warpgrade_reports.tables import csv_table, markdown_table
from warpgrade_reports.workers import in_processes

_MANY_PAGES = 50  # to start processes costs more than to write fewer


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
    pages = Pages(run, appeal=appeal)
    climb = climb_of(run, launches)
    tasks: list[Callable[[], str | None]] = [
        *_plots(folder / "plots", run, climb),  # first what takes longest
        lambda: _write(folder / "index.html", pages.index(launches)),
        lambda: _write(folder / "table.md", markdown_table(run)),
        lambda: _write(folder / "table.csv", csv_table(run)),
    ]
    if climb:
        tasks.append(lambda: _write(folder / "journey.md", markdown(climb)))
    tasks += [partial(_write_part, folder, pages, part) for part in range(len(pages.parts))]
    contained = troubles is not None
    tasks += [partial(_write_page, folder, pages, place, contained=contained) for place in range(pages.apart)]
    found = in_processes(lambda place: tasks[place](), len(tasks), apart=pages.apart >= _MANY_PAGES)
    if troubles is not None:
        troubles += filter(None, found)


def _plots(folder: Path, run: Run, climb: Climb | None) -> Iterator[Callable[[], None]]:
    """What writes each plot, or those that belong together."""
    folder.mkdir()
    order = [*(ranked.submission for ranked in ranking(run.students)), *run.staff]
    for part in range(png.parts_of_matrix(order)):
        yield partial(png.save_matrix, run, order, folder, part)
    for chart in charts.of_run(run):
        yield partial(png.save_chart, chart, folder)
    for chart in estimate_charts(run):
        yield partial(png.save_chart, chart, folder)
    for each in rooflines_of(run):
        yield partial(save_roofline, each, folder)
    if climb:
        yield partial(png.save_climb, climb, folder)


def _write_part(folder: Path, pages: Pages, part: int) -> None:
    name, text = pages.part(part)
    (folder / name).parent.mkdir(exist_ok=True)
    _write(folder / name, text)


def _write_page(folder: Path, pages: Pages, place: int, *, contained: bool) -> str:
    name, text, trouble = pages.submission(place, contained=contained)
    (folder / name).parent.mkdir(exist_ok=True)
    _write(folder / name, text)
    return trouble


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="replace", newline="\n")
