"""`python -m warpgrade_reports RUN_DIR`: renders a run.

Exit 0: done; 1: the input cannot be rendered; 2: the pages of somebody could not be made, the others' are.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

from warpgrade_reports.ladder import add_launches
from warpgrade_reports.output import write_report
from warpgrade_reports.overrides import LEFT_OUT, with_overrides
from warpgrade_reports.reading import read_run
from warpgrade_reports.source import ReportInputError


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="warpgrade_reports", description="Renders a run's records as a page, plots and tables."
    )
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="a run's folder")
    parser.add_argument("--output", type=Path, metavar="DIR", help="default: RUN_DIR/report")
    parser.add_argument(
        "--open-appeal-details",
        action="store_true",
        help="show each case's raw samples, clocks and checksums opened up",
    )
    add_launches(parser)
    points = parser.add_mutually_exclusive_group()
    points.add_argument("--overrides", type=Path, metavar="FILE", help="points that a person set, from the gradebook")
    points.add_argument("--without-overrides", action="store_true", help="say that points a person set are left out")
    options = parser.parse_args(arguments)
    output = options.output or options.run / "report"
    try:
        launches = options.launches and read_run(options.launches)
        run = read_run(options.run, samples=options.open_appeal_details)
        if options.overrides:
            run = with_overrides(run, options.overrides)
        elif options.without_overrides:
            run = dataclasses.replace(run, points_note=LEFT_OUT)
        troubles: list[str] = []
        page = write_report(run, output, appeal=options.open_appeal_details, launches=launches, troubles=troubles)
    except ReportInputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(page)
    if troubles:
        print(f"{page} is made without the pages that could not be made: {', '.join(troubles)}", file=sys.stderr)
    return 2 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
