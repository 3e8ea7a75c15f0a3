"""`python -m warpgrade_reports.class_report RUN_DIR --output DIR`: how a class did, for its teachers. HTML, PDF, PNG.

Reads a run's records and scores, the sources of its snapshots for pointers to similar code, and what batch wrote about
time and infrastructure. Exit 0: done; 1: the input cannot be rendered.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import re
import select
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from warpgrade_reports import class_heat, class_svg, heat, ranks, roofline, roofline_svg, svg
from warpgrade_reports import format as fmt
from warpgrade_reports.charts import graded_baseline
from warpgrade_reports.class_stats import (
    CaseLine,
    box_of,
    case_lines,
    doubts,
    mistakes,
    quantile,
    score_bins,
    spending,
    student_means,
    verdict_line,
)
from warpgrade_reports.earlier import compared, keep_fingerprints
from warpgrade_reports.feedback import environment, plain, scrolling_tables
from warpgrade_reports.grouping import groups_of
from warpgrade_reports.learnt import estimate_charts
from warpgrade_reports.model import Run
from warpgrade_reports.people import Person, link_of, needs_of, read_people, text_of
from warpgrade_reports.publishing import publish, refuse_strangers, sweep
from warpgrade_reports.reading import read_run
from warpgrade_reports.side_by_side import render_pair
from warpgrade_reports.similarity import Comparison, Pointer
from warpgrade_reports.source import ReportInputError

_TEMPLATES = Path(__file__).parent / "templates"
MOST_POINTERS = 40
MOST_NEEDS_PRINTED = 60  # people by reason in such a PDF
MOST_PRINTED = 300  # people in a PDF: WeasyPrint takes half a minute for a table of 1,000 rows that nobody can search
_SECONDS = ((3600.0, "h"), (60.0, "min"))


def duration(seconds: float | None) -> str:
    """A time in hours, minutes or seconds."""
    if seconds is None:
        return fmt.UNKNOWN
    for factor, unit in _SECONDS:
        if seconds >= factor:
            return f"{fmt.digits(seconds / factor)} {unit}"
    return f"{fmt.digits(seconds)} s"


@dataclass(frozen=True)
class Similar:
    """Pairs of this class, and pairs with earlier years' and given programs, most first."""

    within: Sequence[Pointer]
    earlier: Sequence[Pointer]
    comparison: Comparison

    @property
    def shown(self) -> list[Pointer]:
        """Those that have a line in the report and a page."""
        return [*self.within[:MOST_POINTERS], *self.earlier[:MOST_POINTERS]]


def find_similar(folder: Path, lab: str, sources: Path | None, against: Sequence[Path] = ()) -> Similar:
    """The pairs that share code beyond the hand-out's; raises ReportInputError where `against` is nothing of use."""
    comparison = compared(folder, lab, sources, against)
    found = comparison.pointers()
    return Similar([p for p in found if not p.other.origin], [p for p in found if p.other.origin], comparison)


def _summary(run: Run) -> dict[str, Any]:
    points = sorted(s.points for s in run.students)
    return {
        "students": len(points),
        "mean": sum(points) / len(points),
        "quartiles": [quantile(points, share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)],
        "all_correct": sum(s.correct_cases == s.total_cases for s in run.students),
        "undecided": sum(s.undecided_cases for s in run.students),
    }


def _speed_figures(run: Run, lines: Sequence[CaseLine]) -> list[dict[str, Any]]:
    by_case = {line.spec.id: line for line in lines}
    figures = []
    for group in groups_of(run, run.speed_cases):
        rows = [(label, by_case[spec.id]) for spec, label in zip(group.specs, group.labels, strict=True)]
        title = group.named(f"Speed-up over {graded_baseline(run)}")
        boxes = [(label, line.box, line.threshold) for label, line in rows]
        figures.append(
            {
                "title": title,
                "means": box_of(student_means(run, group.specs)),
                "svg": class_svg.boxes(boxes, "speed-up of correct submissions", title),
            }
        )
    return figures


@dataclass(frozen=True)
class Speeds:
    """What is shown of speeds beyond boxes: the class by case, below its limits, in order, and beside the ladder."""

    lines: Sequence[CaseLine]
    table: heat.Heat
    shades: heat.Shades
    ladder: heat.Heat | None
    ordered: Sequence[ranks.Ranks]
    rooflines: Sequence[roofline.Roofline]

    @property
    def listed(self) -> heat.Heat | None:
        """The class by case, while it is small enough to be looked at."""
        return self.table if len(self.table.rows) <= class_heat.MOST_ROWS else None


def speeds_of(run: Run, kept: Run | None) -> Speeds | None:
    """Once for the page, the PDF and the plots; none of a run without times."""
    if not run.speed_measured:
        return None
    table, shades = class_heat.speed_heat(run)
    ladder = class_heat.ladder_heat(run, kept)
    return Speeds(case_lines(run), table, shades, ladder, ranks.ranks_of_run(run), roofline.rooflines_of(run))


def _pictures(run: Run, speeds: Speeds | None) -> dict[str, Any]:
    if speeds is None:
        return {}
    return {
        "heat": speeds.listed,
        "shades": heat.legend([*speeds.shades.legend(), (None, class_heat.grey_of(run))]),
        "ranks": ranks.draw(speeds.ordered),
        "ladder": heat.draw(speeds.ladder) if speeds.ladder else "",
        "rooflines": [roofline_svg.draw(each) for each in speeds.rooflines],
    }


def render_class_report(
    run: Run,
    folder: Path,
    similar: Similar,
    people: tuple[list[Person], str],
    *,
    printed: bool = False,
    ladder: Run | None = None,
) -> str:
    """The page; its charts carry their own colours, so that a PDF can be made of it.

    `ladder`: a run that has the staff's steps, where the class's own has not.
    `printed`: as the PDF has it, without the table of all people where they are many.
    """
    return _page(_context(run, folder, similar, people, speeds_of(run, ladder)), printed=printed)


def _points(run: Run, *, narrow: bool) -> str:
    return class_svg.histogram(score_bins(run), "Distribution of points", "points", run.max_points, narrow=narrow)


def _context(
    run: Run, folder: Path, similar: Similar, people: tuple[list[Person], str], speeds: Speeds | None
) -> dict[str, Any]:
    """What the page and the PDF show alike."""
    for row, person in enumerate(people[0]):
        person["row"] = row
    lines = speeds.lines if speeds else []
    return {
        "run": run,
        "summary": _summary(run),
        "verdicts": verdict_line(run),
        "points_svg": _points(run, narrow=False),
        "points_narrow_svg": _points(run, narrow=True),
        "baseline": graded_baseline(run),
        "pictures": _pictures(run, speeds),
        "estimates": [svg.draw(chart) for chart in estimate_charts(run)],
        "speed": _speed_figures(run, lines) if speeds else [],
        "rates_svg": class_svg.pass_rates(lines, "Thresholds") if lines else "",
        "mistakes": mistakes(run),
        "doubts": doubts(run),
        "needs": needs_of(people[0], doubts(run), similar.shown),
        "people": people[0],
        "has_journeys": any(person.get("journey") for person in people[0]),
        "link_of": link_of,
        "made_from": people[1],
        "script": Markup((_TEMPLATES / "sort.js").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        "similar": similar,
        "most_pointers": MOST_POINTERS,
        "titles": {s.id: s.title for s in run.submissions},
        "spent": spending(run, folder),
        "duration": duration,
        "plain": plain,
        "style": Markup((_TEMPLATES / "style.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        "safe": Markup,
    }


def _page(context: Mapping[str, Any], *, printed: bool) -> str:
    people, pictures = context["people"], context["pictures"]
    listed = [] if printed and len(people) > MOST_PRINTED else people
    if table := pictures.get("heat"):
        pictures = {**pictures, "heat": heat.panels(table) if printed else heat.draw(table)}
    shown = {
        **context,
        "pictures": pictures,
        "printed": printed,
        "listed": listed,
        "most": None if listed or not people else MOST_NEEDS_PRINTED,
        "page_of_pair": None if printed else page_of_pair,
    }
    page = scrolling_tables(environment(html=True).get_template("class_report.html.j2").render(**shown))
    return page if listed else re.sub(r'"#student-\d+"', '"#everybody"', page)


def save_pdf(page: str, path: Path) -> None:
    """The page on A4 by WeasyPrint; raises ReportInputError where it is not installed."""
    try:
        import weasyprint  # noqa: PLC0415 - heavy, and its system libraries may be absent
    except (ImportError, OSError) as error:
        raise ReportInputError(
            str(path),
            f"expected WeasyPrint and Pango for a PDF, got: {error}",
            "run scripts/bootstrap, or give --no-pdf",
        ) from error
    weasyprint.HTML(string=page).write_pdf(path, uncompressed_pdf=False)


def _save_plots(run: Run, folder: Path, speeds: Speeds | None) -> None:
    # matplotlib is slow to load, and only this process wants it
    from warpgrade_reports import class_png, roofline_png  # noqa: PLC0415

    folder.mkdir()
    class_png.save_points(score_bins(run), run.max_points, folder / "points.png")
    if speeds is None:
        return
    found = {line.spec.id: line for line in speeds.lines}
    title = f"Speed-up over {graded_baseline(run)}"
    for group in groups_of(run, run.speed_cases):
        rows = [(label, found[spec.id]) for spec, label in zip(group.specs, group.labels, strict=True)]
        path = folder / f"speedup-{group.slug}.png"
        class_png.save_violins(rows, "speed-up of correct submissions", group.named(title), path)
    class_png.save_pass_rates(speeds.lines, folder / "thresholds.png")
    if table := speeds.listed:
        told = f"{title}: blue above 1, orange below, grey not measured"
        class_png.save_heat(table, told, folder / "class-by-case.png")
    if speeds.ladder:
        class_png.save_heat(speeds.ladder, "Students between the ladder's steps", folder / "ladder.png")
    for each in speeds.rooflines:
        roofline_png.save_roofline(each, folder)
    if speeds.ordered:
        class_png.save_ranks(speeds.ordered, folder / "ranks.png")


def page_of_pair(number: int) -> str:
    """A pair's page, below the report's folder."""
    return f"similar/{number}.html"


def save_pairs(run: Run, similar: Similar, folder: Path) -> None:
    """Both programs of each pair that is shown beside each other, as similar/*.html below the folder."""
    titles = {s.id: s.title for s in run.submissions}
    style = (_TEMPLATES / "style.css").read_text(encoding="utf-8")
    for number, pointer in enumerate(similar.shown, 1):
        page = render_pair(pointer, similar.comparison, titles, style=style, back="../index.html#similar")
        place = folder / page_of_pair(number)
        place.parent.mkdir(exist_ok=True)
        place.write_text(page, encoding="utf-8", errors="replace", newline="\n")


def write_class_report(
    run: Run,
    folder: Path,
    output: Path,
    similar: Similar,
    listed: tuple[list[Person], str],
    *,
    pdf: bool = True,
    kept: Run | None = None,
) -> Path:
    """Writes index.html, similar/*.html, class-report.pdf and plots/*.png, whole or not at all.

    `kept`: a run of the staff's steps. Returns the page's path.
    """
    speeds = speeds_of(run, kept)
    context = _context(run, folder, similar, listed, speeds)
    attention = text_of(needs_of(listed[0], doubts(run), similar.shown))
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        sweep(output.parent, ".class-report-")
        with tempfile.TemporaryDirectory(prefix=".class-report-", dir=output.parent) as scratch:
            staged = Path(scratch) / "report"
            staged.mkdir()
            # The plots beside the pages: both take seconds and neither needs the other.
            plots = multiprocessing.Process(target=_save_plots, args=(run, staged / "plots", speeds))
            plots.start()
            try:
                (staged / "attention.txt").write_text(attention, encoding="utf-8", errors="replace", newline="\n")
                save_pairs(run, similar, staged)
                page = _page(context, printed=False)
                (staged / "index.html").write_text(page, encoding="utf-8", errors="replace", newline="\n")
                if pdf:
                    save_pdf(_page(context, printed=True), staged / "class-report.pdf")
            finally:
                plots.join()
            if plots.exitcode != 0:
                raise ReportInputError(str(output), "expected plots, got a failure of their process", "see above")
            publish(staged, output, Path(scratch) / "before")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ReportInputError(str(output), f"expected to write there, got: {reason}", "name another folder") from error
    return output / "index.html"


def add_similar_options(parser: argparse.ArgumentParser) -> None:
    """What programs are read and compared, of each command that looks for similar ones."""
    parser.add_argument("--sources", type=Path, metavar="DIR", help="a folder a submission; default: the snapshots")
    parser.add_argument(
        "--against",
        type=Path,
        action="append",
        default=[],
        metavar="PATH",
        help="an earlier year's run, a folder of programs or a file of kept fingerprints; may be repeated",
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="warpgrade_reports.class_report", description="How a class did, for teachers."
    )
    parser.add_argument("run", type=Path, metavar="RUN_DIR")
    parser.add_argument("--output", type=Path, metavar="DIR", help="default: RUN_DIR/class-report")
    add_similar_options(parser)
    parser.add_argument(
        "--keep-fingerprints", type=Path, metavar="FILE", help="writes this class's, for --against in a later year"
    )
    parser.add_argument(
        "--fingerprint-names",
        choices=("pseudonyms", "ids"),
        default="pseudonyms",
        help="what students are called there; default: pseudonyms",
    )
    parser.add_argument("--people", type=Path, metavar="FILE", help="the students, as `warpgrade export` tells of them")
    parser.add_argument(
        "--ladder", type=Path, metavar="RUN", help="a run of the staff's steps on the same model of GPU"
    )
    parser.add_argument(
        "--half", action="store_true", help="waits for a line before it reads --people, and ends if there is none"
    )
    parser.add_argument("--no-pdf", action="store_true", help="HTML and PNG alone")
    return parser


@dataclass
class _Caller:
    """Who gave --half, and says by a line that --people is there."""

    is_awaited: bool

    def is_gone(self, *, now: bool) -> bool:
        """Whether it went without that line; `now`: as far as is known."""
        if not self.is_awaited or (now and not select.select([sys.stdin], [], [], 0)[0]):
            return False
        self.is_awaited = False
        return not sys.stdin.readline()


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = _parser().parse_args(arguments)
    output = options.output or options.run / "class-report"
    caller = _Caller(options.half)
    try:
        refuse_strangers(output)
        run = read_run(options.run, samples=False, brief=True)
        if caller.is_gone(now=True):
            return 0
        if not run.students:
            raise ReportInputError(str(options.run), "expected a student's submission, got none", "grade a class")
        similar = find_similar(options.run, run.lab, options.sources, options.against)
        if options.keep_fingerprints:
            kept, names = options.keep_fingerprints, options.fingerprint_names
            keep_fingerprints(similar.comparison, options.run, kept, names=names)
        ladder = read_run(options.ladder, samples=False, brief=True) if options.ladder else None
        if caller.is_gone(now=False):
            return 0
        listed = read_people(options.people)
        write_class_report(run, options.run, output, similar, listed, pdf=not options.no_pdf, kept=ladder)
    except ReportInputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    gc.disable()  # one page and its PDF: what they are made of lives to the end, and cycles took a seventh of the time
    sys.exit(main())
