#!/usr/bin/env python3
"""What each command of a course takes for a class of thousands: seconds and memory, from records to the last page.

    scripts/measure thousands [--students 1000] [--seed 1] [--only NAME ...] [--output FILE] [--keep FOLDER]

Makes a synthetic class (26 cases for speed, 3 for correctness) and its hand-ins, then runs each command once. Prints
seconds on the wall, seconds of processors, and the largest process's memory. On a busy machine only the latter two say
something; the load is printed. --keep leaves the class in FOLDER, and takes it from there the next time.

`phone` opens what report and export wrote in a browser that is as large as a phone and four times as slow as this
machine (DevTools' Emulation.setCPUThrottlingRate), each page three times, and prints the slowest: when the first of it
was drawn and when all of it was there.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "report/index.html",
    "report/class/1.html",
    "export/feedback/index.html",
    "export/class-report/index.html",
    "export/leaderboard.html",
)
PART = 50  # students made at once: the generator holds all records of a part
sys.path.append(str(ROOT / "reports/tests"))
from browser import CHROMIUM  # noqa: E402
from devtools import Phone  # noqa: E402
from measured_command import measured  # noqa: E402
from synthetic_class import SyntheticClass  # noqa: E402


def read(file: Path) -> dict[str, Any]:
    """A file of JSON."""
    told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return told


def make_class(folder: Path, students: int, seed: int) -> None:
    """A run folder of so many students, part after part."""
    run: dict[str, Any] = {}
    people: dict[str, Any] = {}
    for number, first in enumerate(range(0, students, PART)):
        made = folder / "part"
        SyntheticClass(min(PART, students - first), seed + number, first=first).write(made)
        one, listed = read(made / "run.json"), read(made / "submissions.json")
        if not run:
            run, people = one, listed
        else:
            run["submissions"] += [s for s in one["submissions"] if s["role"] == "student"]
            people["students"] = people["students"][:-1] + listed["students"]
            people["attempts"] += listed["attempts"]
        for room in ("cases", "submissions", "snapshots", "secret"):
            for source in sorted((made / room).iterdir()):
                target = folder / room / source.name
                target.parent.mkdir(exist_ok=True)
                if not target.exists():
                    source.rename(target)
        shutil.rmtree(made)
    for name, value in (("run.json", run), ("submissions.json", people)):
        (folder / name).write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def make_hand_ins(run: Path, folder: Path) -> None:
    """The sources of the class as a folder a student."""
    for attempt in read(run / "submissions.json")["attempts"]:
        shutil.copytree(run / attempt["snapshot"], folder / attempt["student"])


def open_on_a_phone(run: Path, profile: Path) -> dict[str, dict[str, float]]:
    """The pages that are there, each opened three times: bytes, elements and the slowest times in milliseconds."""
    student = next((run / "export/feedback").glob("*/index.html"), run / "none")
    pages = [run / page for page in PAGES] + [student]
    found: dict[str, dict[str, float]] = {}
    phone = Phone(profile)
    for page in pages:
        if not page.exists():
            continue
        told = [phone.open(page) for _ in range(3)]
        name = str(page.relative_to(run))
        found[name] = most = {key: max(one[key] for one in told) for key in ("bytes", "elements", "drawn", "ready")}
        print(
            f"phone {name:<34} {most['bytes'] / 1000:5.0f} KB {most['elements']:6.0f} elements, first drawn after "
            f"{most['drawn']:5.0f} ms, all there after {most['ready']:5.0f} ms",
            flush=True,
        )
    phone.close()
    return found


def main() -> None:
    """Prints a line a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--students", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="of the commands, for instance score; or phone"
    )
    parser.add_argument("--output", type=Path, help="also write the figures as JSON")
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = options.keep or Path(scratch)
        run, hand_ins = place / "run", place / "hand-ins"
        if not hand_ins.exists():
            run.mkdir(parents=True)
            make_class(run, options.students, options.seed)
            make_hand_ins(run, hand_ins)
        commands: dict[str, list[str | Path]] = {
            "take-in": ["batch", Path(scratch) / "taken", "--lab", "spmm", "--submissions", hand_ins, "--take-in"],
            "score": ["score", run],
            "report": ["report", run],
            "collect": ["collect", run, "--gradebook", Path(scratch) / "book.sqlite"],
            "moodle": ["export", run, "--format", "moodle"],
            "feedback": ["export", run, "--format", "feedback"],
            "class-report": ["export", run, "--format", "class-report"],
            "export": ["export", run],
            "attention": ["attention", run],
        }
        found: dict[str, dict[str, float]] = {}
        for name, command in commands.items():
            if options.only and name not in options.only:
                continue
            found[name] = told = measured(command)
            print(
                f"{name:<13} {told['wall_s']:8.2f} s wall {told['cpu_s']:8.2f} s processor "
                f"{told['memory_mb']:7.0f} MiB",
                flush=True,
            )
        pages = {}
        if CHROMIUM and (not options.only or "phone" in options.only):
            pages = open_on_a_phone(run, Path(scratch) / "browser")
        count = sum(1 for _ in (run / "cases").glob("*/*.json"))
        load = os.getloadavg()[0]
        print(f"{options.students} students, {count} records, {os.cpu_count()} cores, load {load:.1f}")
        if options.output:
            figures = {"students": options.students, "records": count, "load": load, "commands": found, "phone": pages}
            options.output.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
