#!/usr/bin/env python3
"""How long a student's public cases take with another build of the project, in turn with this one's.

    scripts/measure make-test OTHER [--turns 7] [--labs spmm,apsp,histogram,sampling,gcn]

OTHER is a checkout with programs in build/. Both judge reference/LAB/naive on the emulator, on the public cases that
both have, TURNS times in turn after one run that fills the caches. Prints for each lab the median and the least time of
both, in seconds, and the ratio. Times say something on an idle machine only: the load is printed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
Words = list[str | Path]


def public_cases(tree: Path, lab: str) -> set[str]:
    """The ids that `labs LAB` lists as public."""
    listed = subprocess.run([tree / "build/bin/warpgrade", "labs", lab], capture_output=True, text=True, check=True)
    rows = [line.split() for line in listed.stdout.strip().split("\n")]
    return {row[0] for row in rows if row[2:3] == ["public"]}


def seconds(tree: Path, lab: str, cases: str, scratch: Path) -> float:
    """Of one run from its start to its end."""
    shutil.rmtree(scratch, ignore_errors=True)
    arguments: Words = ["--lab", lab, "--cases", cases, "--backend", "emulator", "--no-speed", "--run", scratch]
    begin = time.monotonic()
    done = subprocess.run(
        [tree / "build/bin/warpgrade", "grade", f"reference/{lab}/naive", *arguments],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"measure make-test: {tree} fails on {lab}: {done.stderr}")
    return time.monotonic() - begin


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        prog="scripts/measure make-test", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", type=Path)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--labs", default="spmm,apsp,histogram,sampling,gcn")
    options = parser.parse_args()
    trees = [options.other.resolve(), ROOT]
    names = [
        subprocess.run(["git", "-C", tree, "describe", "--always"], capture_output=True, text=True, check=True).stdout
        for tree in trees
    ]
    print(f"other: {names[0].strip()}, this: {names[1].strip()}; {options.turns} turns, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        for lab in options.labs.split(","):
            cases = sorted(set.intersection(*(public_cases(tree, lab) for tree in trees)))
            times: list[list[float]] = [[], []]
            for turn in range(options.turns + 1):
                for which in (0, 1) if turn % 2 else (1, 0):
                    took = seconds(trees[which], lab, ",".join(cases), Path(folder, "run"))
                    if turn > 0:
                        times[which].append(took)
            other, this = (statistics.median(each) for each in times)
            print(
                f"{lab:<10} {len(cases):>3} cases  other {other:6.2f} (least {min(times[0]):.2f})  "
                f"this {this:6.2f} (least {min(times[1]):.2f})  this / other {this / other:.3f}",
                flush=True,
            )
    print(f"load at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
