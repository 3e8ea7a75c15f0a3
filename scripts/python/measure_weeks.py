#!/usr/bin/env python3
"""What the pages of a class take that handed in again each week: seconds, and what a page weighs.

    scripts/measure weeks [--students 200] [--weeks 4] [--output FOLDER]

Makes a synthetic class (29 cases a student and week) with other sources and times each week, scores the last week, and
makes all its pages: each student's and the class's of the last week, and everybody's way over all weeks. Prints seconds
on the wall and of processors, and the largest page. The class is synthetic; the commands are the ones that staff type.
--output keeps all.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "reports/tests"))
from measured_command import measured  # noqa: E402
from synthetic_class import SyntheticClass, digest  # noqa: E402


class SyntheticWeek(SyntheticClass):  # type: ignore[misc]  # tests of reports are not typed
    """A week of a class: the same students, other sources and other times."""

    def __init__(self, students: int, week: int) -> None:
        self.week = week
        super().__init__(students, week)

    def _submissions(self, students: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = super()._submissions(students)
        for submission in found:
            if submission["role"] == "student":
                submission["hash"] = digest(f"{submission['id']} in week {self.week}")
                submission["submitted_at"] = f"2026-0{self.week + 1}-10T12:05:00+01:00"
        return found

    def _run(self) -> dict[str, Any]:
        run: dict[str, Any] = super()._run()
        return run | {"run": f"week{self.week}"}


def main() -> None:
    """Prints a line a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--students", type=int, default=200)
    parser.add_argument("--weeks", type=int, default=4, choices=range(1, 9))
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.students < 1:
        parser.error(f"--students: expected 1 or more, got {options.students}")
    if options.output and options.output.exists() and any(options.output.iterdir()):
        parser.error(f"--output: {options.output} is not empty; name another folder")
    with tempfile.TemporaryDirectory() as scratch:
        place = options.output or Path(scratch)
        runs = [place / f"week{week + 1}" for week in range(options.weeks)]
        for week, run in enumerate(runs):
            SyntheticWeek(options.students, week + 1).write(run)
        commands: dict[str, list[str | Path]] = {
            "score": ["score", runs[-1]],
            "pages": ["export", runs[-1], "--format", "feedback", "class-report", "leaderboard"],
            "journey": ["journey", *runs, "--output", place / "ways"],
        }
        wall = 0.0
        for name, command in commands.items():
            told = measured(command)
            wall += told["wall_s"]
            print(
                f"{name:<8} {told['wall_s']:7.2f} s wall {told['cpu_s']:7.2f} s processor {told['memory_mb']:6.0f} MiB"
            )
        pages = list(place.rglob("*.html"))
        largest = max(pages, key=lambda page: page.stat().st_size)
        print(
            f"{options.students} students, {options.weeks} weeks: {len(pages)} pages in {wall:.1f} s "
            f"on {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; the largest has "
            f"{largest.stat().st_size / 1e6:.2f} MB: "
            f"{largest.name}"
        )


if __name__ == "__main__":
    main()
