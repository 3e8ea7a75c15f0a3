"""How long a class takes from records to grades: `python grader/tests/bench_class.py [--students 200] [--output FILE]`.

Makes a synthetic class (26 cases for speed, 3 for correctness), then times each command on the wall and in processor
time: aggregate and score (collect), class page with PNG (report), everything for students and courseware (export, which
renders students' SVG, the class report with PNG and PDF, and all data formats). A benchmark, not a test: the wall clock
depends on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from conftest import ROOT, warpgrade

sys.path.append(str(ROOT / "reports/tests"))
from synthetic_class import SyntheticClass


def timed(*command: str | Path) -> dict[str, float]:
    """Seconds on the wall and of processors that a command and its children took."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = warpgrade(*command)
    wall = time.monotonic() - start
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall_s": round(wall, 2), "cpu_s": round(spent, 2)}


def main() -> None:
    """Prints a line a command and the sum."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--students", type=int, default=200)
    parser.add_argument("--output", type=Path, help="also write the figures as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = SyntheticClass(students=options.students).write(Path(scratch) / "run")
        book = Path(scratch) / "book.sqlite"
        found = {
            "collect": timed("collect", folder, "--gradebook", book),
            "collect again": timed("collect", folder, "--gradebook", book),
            "report": timed("report", folder),
            "export": timed("export", folder, "--gradebook", book),
        }
    once = [found[name] for name in ("collect", "report", "export")]
    found["all"] = {key: round(sum(figures[key] for figures in once), 2) for key in ("wall_s", "cpu_s")}
    for name, figures in found.items():
        print(f"{name:<14} {figures['wall_s']:7.2f} s wall  {figures['cpu_s']:7.2f} s processor")
    load = os.getloadavg()[0]
    print(f"{options.students} submissions, {os.cpu_count()} cores, load {load:.1f}")
    if options.output:
        told = {"students": options.students, "cores": os.cpu_count(), "load": load, "seconds": found}
        options.output.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
