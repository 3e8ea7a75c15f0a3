"""`python -m warpgrade_reports.attention RUN_DIR --people FILE`: who in a class needs a person, for a terminal.

The same list as in the class report (`people.needs_of`). Exit 0: done; 1: the input cannot be read.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from warpgrade_reports.class_report import add_similar_options, find_similar
from warpgrade_reports.class_stats import doubts
from warpgrade_reports.people import Need, needs_of, read_people, text_of
from warpgrade_reports.reading import read_run
from warpgrade_reports.source import ReportInputError


def json_of(needs: Sequence[Need]) -> str:
    """The same for programs, whole."""
    reasons = [
        {"reason": need.anchor, "title": need.title, "advice": need.advice,
         "people": [{"name": item.name, "note": item.note} for item in need.items]}
        for need in needs
    ]  # fmt: skip
    return json.dumps({"schema": "warpgrade.attention.v1", "needs": reasons}, ensure_ascii=False, indent=1) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="warpgrade_reports.attention", description="Who needs a person.")
    parser.add_argument("run", type=Path, metavar="RUN_DIR")
    parser.add_argument(
        "--people", type=Path, required=True, metavar="FILE", help="as `warpgrade export` tells of them"
    )
    add_similar_options(parser)
    parser.add_argument("--json", action="store_true", help="for programs")
    options = parser.parse_args(arguments)
    try:
        run = read_run(options.run, samples=False, brief=True)
        people, _ = read_people(options.people)
        for row, person in enumerate(people):
            person["row"] = row
        similar = find_similar(options.run, run.lab, options.sources, options.against)
        needs = needs_of(people, doubts(run), similar.shown)
        sys.stdout.buffer.write((json_of(needs) if options.json else text_of(needs)).encode("utf-8", "replace"))
    except ReportInputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
