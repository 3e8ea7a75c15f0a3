#!/usr/bin/env python3
"""How much of the machine others keep beside hostile submissions: measure isolation [--seconds S] [--turns N] [NAME...]

Two jobs, each alone and then beside `warpgrade grade` of a hostile submission of grader/tests/hostile_class.py (on the
emulator, again and again for S seconds), N times in turn, since the machine may have other work meanwhile:
  rounds  a process a core, counting rounds of arithmetic
  test    what `make test` does: the public cases of an honest solution, again and again
Prints the share of its speed that each job keeps, in all turns together, how long a grading took and the load.
Refuses where submissions can't be isolated fully: a fork bomb would stop the machine.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "grader/tests"))
from hostile_class import CASE, HOSTILE, POLICY, make_class  # noqa: E402

WARPGRADE = ROOT / "build/bin/warpgrade"
HONEST = (
    ROOT / "reference/histogram/naive",
    "--lab",
    "histogram",
    "--cases",
    "public",
    "--backend",
    "emulator",
    "--quiet",
)


def rounds_in(seconds: float) -> int:
    """Rounds of arithmetic that one process does in that time."""
    end, rounds, value = time.monotonic() + seconds, 0, 1
    while time.monotonic() < end:
        for _ in range(2000):
            value = (value * 48271) % 2147483647
        rounds += 1
    return rounds


def rounds_beside(seconds: float, beside: Callable[[], None]) -> float:
    """Rounds of a process a core; `beside` is called meanwhile."""
    cores = os.cpu_count() or 1
    # The job's processes first: one that is forked while another is started would keep that one's pipe open.
    with multiprocessing.Pool(cores) as pool:
        rounds = pool.map_async(rounds_in, [seconds] * cores)
        beside()
        return float(sum(rounds.get()))


def tests_beside(seconds: float, beside: Callable[[], None]) -> float:
    """Gradings a second of an honest solution's public cases; `beside` is called meanwhile."""
    begin, done = time.monotonic(), 0
    others = threading.Thread(target=beside)
    others.start()
    with tempfile.TemporaryDirectory() as scratch:
        while done == 0 or time.monotonic() < begin + seconds:
            run = Path(scratch) / f"run-{done}"
            subprocess.run([WARPGRADE, "grade", *HONEST, "--run", run], check=True, stdout=subprocess.DEVNULL)
            done += 1
        speed = done / (time.monotonic() - begin)
    others.join()
    return speed


JOBS = {"rounds": rounds_beside, "test": tests_beside}


def grade_until(end: float, folder: Path, policy: Path, scratch: Path) -> list[float]:
    """Grades the class again and again; seconds of each time."""
    times = []
    while time.monotonic() < end:
        begin = time.monotonic()
        run = scratch / f"run-{begin}"
        subprocess.run(
            [WARPGRADE, "grade", folder, *CASE, "--policy", policy, "--run", run, "--require-isolation"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        times.append(time.monotonic() - begin)
    return times


def measure(name: str, seconds: float, turns: int) -> None:
    """One hostile submission beside each job."""
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        policy = scratch / "policy.yaml"
        policy.write_text(POLICY, encoding="utf-8")
        folder = make_class(scratch / "class", [name])
        grade_until(time.monotonic() + 0.01, folder, policy, scratch)  # compiles it
        times: list[float] = []

        def hostile() -> None:
            times.extend(grade_until(time.monotonic() + seconds, folder, policy, scratch))

        kept = []
        for job, speed_of in JOBS.items():
            speeds = [(speed_of(seconds, lambda: None), speed_of(seconds, hostile)) for _ in range(turns)]
            alone, beside = (sum(speed) for speed in zip(*speeds, strict=True))
            kept.append(f"{job} {100 * beside / alone:3.0f} %")
    load = os.getloadavg()[0]
    print(
        f"{name:<20} keeps {', '.join(kept)}; {len(times)} gradings, the longest {max(times):.1f} s; load {load:.1f}",
        flush=True,
    )


def main() -> None:
    """See the top of this file."""
    parser = argparse.ArgumentParser(prog="scripts/measure isolation", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("names", nargs="*", default=list(HOSTILE), metavar="NAME")
    options = parser.parse_args()
    doctor = subprocess.run([WARPGRADE, "doctor"], stdout=subprocess.DEVNULL, check=False)
    if doctor.returncode != 0:
        sys.exit("measure isolation: this machine can't isolate a submission fully; `warpgrade doctor` says why")
    print(f"load at the beginning: {os.getloadavg()[0]:.1f}, on {os.cpu_count()} cores", flush=True)
    for name in options.names:
        measure(name, options.seconds, options.turns)


if __name__ == "__main__":
    main()
