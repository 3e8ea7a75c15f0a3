"""`python -m warpgrade_reports.work_log_page [--single] COUNTED --output PATH`: the way that students' work went.

COUNTED is what `warpgrade journey --json` prints, which calls this. With --single it is of one student, and PATH is an
HTML file; without, PATH is a folder for everybody's pages and a list. Exit 0: done; 1: the input cannot be rendered.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from warpgrade_reports import format as fmt
from warpgrade_reports import svg
from warpgrade_reports.chart import Chart, Mark, Row
from warpgrade_reports.feedback import environment, scrolling_tables
from warpgrade_reports.gpu_counters import figure_text
from warpgrade_reports.profile import problem_title
from warpgrade_reports.source import ReportInputError
from warpgrade_reports.work_log import MOST_LINES, Step, WorkLog, read_work_logs
from warpgrade_reports.work_log_changes import bound_text, changes, stands

_TEMPLATES = Path(__file__).parent / "templates"


def _kind_of(line: str) -> str:
    kinds = {"+": "plus", "-": "minus", "@": "hunk", " ": "same"}
    return kinds.get(line[:1], "file")


def _when(at: str) -> str:
    """The record's time to the minute, in UTC."""
    return f"{at[:10]} {at[11:16]} UTC" if at else "unknown"


def _chart(log: WorkLog) -> Markup | None:
    """How many times as fast as the first each version is."""
    known = [factor for factor in log.over_first if factor is not None]
    if len(known) < 2:  # noqa: PLR2004 - one dot is no way
        return None
    rows = tuple(
        Row(
            f"version {step.version.number}",
            () if factor is None else (Mark(0, factor),),
            note="nothing to compare with" if factor is None else "",
        )
        for step, factor in zip(log.steps, log.over_first, strict=True)
    )
    chart = Chart(
        slug="way",
        title="Times as fast as the first version",
        axis="times as fast (geometric mean of the gains so far)",
        rows=rows,
        series=(log.student,),
        reference=1.0,
        tick=fmt.ratio,
    )
    return Markup(svg.draw(chart, folds=True))  # noqa: S704 - our own SVG


def _told(step: Step) -> list[str]:
    """What is known of bounds and counters, beside the version before."""
    return changes(step.before, step.version) if step.before else stands(step.version)


def render(log: WorkLog) -> str:
    """The page of one student."""
    template = environment(html=True).get_template("work_log.html.j2")
    style = Markup((_TEMPLATES / "style.css").read_text(encoding="utf-8"))  # noqa: S704 - our own file
    return scrolling_tables(
        template.render(
            log=log,
            chart=_chart(log),
            style=style,
            most=MOST_LINES,
            kind_of=_kind_of,
            when=_when,
            told=_told,
            bound_text=bound_text,
            titled=lambda problems: sorted(map(problem_title, problems)),
            figure_text=figure_text,
        )
    )


def render_list(logs: Sequence[WorkLog], links: Sequence[str]) -> str:
    """Everybody in one table, for the staff."""
    template = environment(html=True).get_template("work_logs.html.j2")
    style = Markup((_TEMPLATES / "style.css").read_text(encoding="utf-8"))  # noqa: S704 - our own file
    script = Markup((_TEMPLATES / "sort.js").read_text(encoding="utf-8"))  # noqa: S704 - our own file
    return scrolling_tables(template.render(lines=list(zip(logs, links, strict=True)), style=style, script=script))


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="warpgrade_reports.work_log_page", description=__doc__)
    parser.add_argument("counted", type=Path, metavar="COUNTED", help="what `warpgrade journey --json` prints")
    parser.add_argument("--single", action="store_true", help="one student's page")
    parser.add_argument("--output", type=Path, required=True, metavar="PATH")
    options = parser.parse_args(arguments)
    try:
        logs = read_work_logs(options.counted)
        if options.single:
            options.output.parent.mkdir(parents=True, exist_ok=True)
            options.output.write_text(render(logs[0]), encoding="utf-8")
            print(options.output)
            return 0
        options.output.mkdir(parents=True, exist_ok=True)
        links = [f"{number}.html" for number, _ in enumerate(logs, 1)]
        for log, link in zip(logs, links, strict=True):
            (options.output / link).write_text(render(log), encoding="utf-8")
        (options.output / "index.html").write_text(render_list(logs, links), encoding="utf-8")
        print(options.output / "index.html")
    except ReportInputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}; next: name another place with --output", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
