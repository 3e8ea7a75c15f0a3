"""What courses report beside what our records hold, a table a lab.

`python -m warpgrade_bench.courses RUN_DIR... [--into FILE]` prints Markdown, or puts it between the marks in FILE.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from warpgrade_reports import format as fmt
from warpgrade_reports.courses import HEADS, lines_of
from warpgrade_reports.model import Run
from warpgrade_reports.reading import read_run
from warpgrade_reports.source import ReportInputError

from warpgrade_bench.pages import put_between
from warpgrade_bench.sets import merged

BEGIN, END = "<!-- courses: begin -->", "<!-- courses: end -->"


def markdown(runs: Mapping[str, Run]) -> str:
    """A table for each lab that has figures, with the GPU that ours were measured on. Runs by their sets' names."""
    parts = []
    of_lab: dict[tuple[str, str], list[str]] = {}
    for name, run in runs.items():
        if lines_of(run):
            of_lab.setdefault((run.lab, run.device.get("name", "an unknown GPU")), []).append(name)
    for (lab, device), names in of_lab.items():
        sets = merged([runs[name] for name in names])
        lines = lines_of(sets.run, sets.home)
        parts += [f"**{lab}**, ours on {device} ({', '.join(f'`{name}`' for name in names)})", ""]
        parts += ["| " + " | ".join(HEADS) + " |", "|" + "---|" * len(HEADS)]
        parts += ["| " + " | ".join(map(fmt.markdown, line.cells)) + " |" for line in lines]
        parts.append("")
    return "\n".join(parts)


def main(arguments: list[str] | None = None) -> int:
    """The command line; 1 with one line of explanation when something cannot be read."""
    parser = argparse.ArgumentParser(prog="warpgrade_bench.courses", description="Course figures beside our records.")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN_DIR", help="a run on a GPU, or a folder of them")
    parser.add_argument("--into", type=Path, metavar="FILE", help=f"write between {BEGIN} and {END} in FILE")
    options = parser.parse_args(arguments)
    folders = [
        folder for given in options.runs for folder in ([given] if (given / "run.json").exists() else _runs_in(given))
    ]
    try:
        text = markdown({folder.resolve().name: read_run(folder) for folder in folders})
        if options.into is None:
            print(text, end="")
        else:
            put_between(options.into, text, BEGIN, END)
    except (ReportInputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _runs_in(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob("*/run.json"))


if __name__ == "__main__":
    sys.exit(main())
