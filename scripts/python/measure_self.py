#!/usr/bin/env python3
"""Times copies of programs against themselves (A/A) on this machine's GPU: whether intervals of 95 % hold 1 as often
as they say, and how wide they are.

    scripts/measure self FOLDER [--copies 4] [--long-copies 4] [--process-pairs 5] [--speed-budget 1]

Eleven programs for the lab vector_add, of 1, 2 to 10, 96 and 900 launches and of 4 us to 100 ms; each copy is judged
as a submission of its own, in six cases, with executors of its own. Writes FOLDER/self.md: a line a class with its
coverage, the exact two-sided binomial test of it against 95 %, widths, what processes of one program differ by, and
how many pairs of processes the wanted width would take. FOLDER/self.jsonl has a line an interval. Exit code 1: the
coverage of a class is rejected at 1 %. `--read` makes the table of what is there, also of a run that was interrupted;
`--join FILE.jsonl ...` adds the intervals of other runs of the same card. Takes 8 minutes on an H100.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WARPGRADE = ROOT / "build/bin/warpgrade"
SIZES = (65536, 131072, 262144, 524288, 1048576, 2097152)
# (launches, passes over the data)
PROGRAMS = ((1, 1), (1, 8), (1, 100), (1, 1000), (2, 1), (5, 2), (10, 10), (96, 1), (96, 8), (900, 1))
LONG_SIZE = 1048576
LONG = (1, 60000)
# Student's t, 97.5 %: NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2; normal beyond the table.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
STUDENT_BEYOND = 2.1
# Lengths (us, up to) and the widths of intervals that are wanted there.
WANTED = ((7.5, 0.06), (50.0, 0.04), (500.0, 0.015), (math.inf, 0.01))
LEAST_P = 0.01
LAUNCH_CLASSES = ((1, "1"), (10, "2 to 10"), (96, "96"), (900, "900"))

SOURCE = """// A/A: %(launches)d launches, %(passes)d passes over the data.
#include "warpgrade/vector_add.h"

__global__ void add(const float* a, const float* b, int begin, int end, volatile float* c) {
  for (int pass = 0; pass < %(passes)d; ++pass)
    for (int i = begin + blockIdx.x * blockDim.x + threadIdx.x; i < end; i += gridDim.x * blockDim.x)
      c[i] = ((const volatile float*)a)[i] + ((const volatile float*)b)[i];
}

cudaError_t vector_add_run(const float* a, const float* b, int n, float* c, cudaStream_t stream) {
  for (int k = 0; k < %(launches)d; ++k) {
    const int begin = (int)((long long)n * k / %(launches)d), end = (int)((long long)n * (k + 1) / %(launches)d);
    if (end == begin) continue;
    const int blocks = (end - begin + 255) / 256;
    add<<<blocks < 1056 ? blocks : 1056, 256, 0, stream>>>(a, b, begin, end, c);
  }
  return cudaGetLastError();
}
"""

POLICY = """schema: warpgrade.policy.v1
name: self
lab: vector_add
baseline: naive
points: {correctness: 100, speed: 0, gate: none}
limits: {compile_s: 120, run_s: {cuda: 30, emulator: 60}}
cases:
"""


@dataclass(frozen=True)
class Interval:
    """One case of one copy: the ratio to itself."""

    program: str
    copy: str
    launches: int
    us: float
    low: float
    high: float
    noise: float
    logs: tuple[float, ...]  # of the process pairs' ratios
    own: tuple[float, ...]  # medians of the submission's processes, us
    wall_s: float
    pairs: int

    @property
    def holds(self) -> bool:
        return self.low <= 1 <= self.high

    @property
    def width(self) -> float:
        return self.high - self.low


def prepare(folder: Path, programs: Sequence[tuple[int, int]], copies: int) -> Path:
    """A class: `copies` of each program. One comment more makes each a submission of its own."""
    made = folder / "class"
    shutil.rmtree(made, ignore_errors=True)
    for launches, passes in programs:
        for copy in range(copies):
            place = made / f"c{copy:02}-l{launches}-p{passes}"  # copy by copy: an interrupted run has some of each
            place.mkdir(parents=True)
            text = SOURCE % {"launches": launches, "passes": passes} + f"// copy {copy}\n"
            (place / "vector_add.cu").write_text(text, encoding="utf-8")
    return made


def grade(folder: Path, made: Path, sizes: Sequence[int], options: Sequence[str]) -> None:
    policy = folder / "policy.yaml"
    cases = [f"  - {{id: self-{n}, dataset: self, n: {n}, kind: speed, set: hidden}}\n" for n in sizes]
    policy.write_text(POLICY + "".join(cases), encoding="utf-8")
    names = ",".join(f"self-{n}" for n in sizes)
    words = [WARPGRADE, "grade", made, "--lab", "vector_add", "--policy", policy, "--run", folder / "run"]
    words += ["--cases", names, "--self", "--fresh", "--backend", "cuda", *options]
    subprocess.run([str(word) for word in words], check=True)


def medians_of(process: Sequence[int], values: Sequence[float]) -> list[float]:
    by_process: dict[int, list[float]] = {}
    for number, value in zip(process, values, strict=True):
        by_process.setdefault(number, []).append(value)
    return [statistics.median(times) for _, times in sorted(by_process.items())]


def read(folder: Path) -> list[Interval]:
    intervals = []
    for file in sorted((folder / "run/cases").glob("*/*.json")):  # there also while the run goes on
        record = json.loads(file.read_text(encoding="utf-8"))
        ratio = (record.get("ratios") or {}).get("self")
        if ratio is None:
            continue
        timing = record["timing"]
        samples = timing["samples"]
        own = medians_of(samples["process"], samples["submission_us"])
        other = medians_of(samples["process"], samples["baseline_us"]["self"])
        name = record["submission"]["id"]
        intervals.append(
            Interval(
                program=name.split("-", 1)[1] + " " + record["case"]["id"],
                copy=name,
                launches=timing["launches"],
                us=timing["median_us"],
                low=ratio["low"],
                high=ratio["high"],
                noise=ratio["noise"],
                logs=tuple(math.log(b / a) for a, b in zip(own, other, strict=True)),
                own=tuple(own),
                wall_s=record["wall_s"],
                pairs=timing["pairs"],
            )
        )
    return intervals


def binomial_p(held: int, of: int, chance: float = 0.95) -> float:
    """Two-sided exact test: the probability of results that are no likelier than this one."""
    mass = [math.comb(of, k) * chance**k * (1 - chance) ** (of - k) for k in range(of + 1)]
    return min(1.0, sum(p for p in mass if p <= mass[held] * (1 + 1e-9)))


def wanted_width(us: float) -> float:
    return next(width for most, width in WANTED if us <= most)


def student(freedom: int) -> float:
    return STUDENT[freedom - 1] if freedom <= len(STUDENT) else STUDENT_BEYOND


def pairs_needed(deviation: float, width: float) -> int:
    """Pairs of processes with which the interval is as narrow as wanted."""
    return next((n for n in range(2, 10000) if 2 * student(n - 1) * deviation / math.sqrt(n) <= width), 10000)


def pooled(intervals: Sequence[Interval], values: Callable[[Interval], Sequence[float]]) -> float:
    return math.sqrt(statistics.mean(statistics.variance(values(one)) for one in intervals if len(one.logs) > 1))


def line_of(name: str, intervals: Sequence[Interval]) -> tuple[str, float]:
    held, of = sum(one.holds for one in intervals), len(intervals)
    p = binomial_p(held, of)
    us = statistics.median(one.us for one in intervals)
    width = statistics.mean(one.width for one in intervals)
    deviation = pooled(intervals, lambda one: one.logs)
    wanted = wanted_width(us)
    cells = [
        name,
        f"{us:,.1f}",
        f"{held} of {of}",
        f"{p:.2f}",
        f"{100 * width:.2f}",
        f"{100 * wanted:g}",
        f"{100 * deviation:.2f}",
        str(pairs_needed(deviation, wanted)),
        f"{100 * statistics.mean(one.noise for one in intervals):.2f}",
        f"{statistics.mean(one.pairs for one in intervals):.0f}",
        f"{statistics.mean(one.wall_s for one in intervals):.2f}",
    ]
    return "| " + " | ".join(cells) + " |", p


def beside_each_other(intervals: Sequence[Interval]) -> list[Interval]:
    """Two copies of a program as if one were the other's baseline. The processes of two copies never share a start,
    as those of one copy's two sides do; but the copies run one after the other.
    """
    by_case: dict[str, list[Interval]] = {}
    for one in intervals:
        by_case.setdefault(one.program, []).append(one)
    made = []
    for copies in by_case.values():
        for one, other in zip(copies[::2], copies[1::2], strict=False):
            logs = tuple(math.log(b / a) for a, b in zip(one.own, other.own, strict=False))
            if len(logs) > 1:
                middle = statistics.mean(logs)
                half = student(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
                made.append(replace(one, logs=logs, low=math.exp(middle - half), high=math.exp(middle + half)))
    return made


def launch_class(launches: int) -> str:
    return next((name for most, name in LAUNCH_CLASSES if launches <= most), "more")


def table(intervals: Sequence[Interval]) -> tuple[str, float]:
    """The page, and the smallest p of the classes of launches and of lengths."""
    head = "us | hold 1 | p | width % | wanted % | deviation of a process pair % | process pairs needed |"
    head += " honest noise % | pairs | s a case"
    rule = "|---" * 11 + "|"
    lines, least = [], 1.0
    groups: list[tuple[str, Callable[[Interval], str]]] = [
        ("launches", lambda one: launch_class(one.launches)),
        ("length", lambda one: f"up to {next(most for most, _ in WANTED if one.us <= most):g} us"),
    ]
    for title, key in groups:
        lines += ["", f"| {title} | {head} |", rule]
        names = dict.fromkeys(key(one) for one in sorted(intervals, key=lambda one: (one.launches, one.us)))
        for name in names:
            line, p = line_of(name, [one for one in intervals if key(one) == name])
            lines.append(line)
            least = min(least, p)
    line, p = line_of("all", intervals)
    lines += ["", f"| all | {head} |", rule, line, "", f"| program and case | {head} |", rule]
    least = min(least, p)
    for name in dict.fromkeys(one.program for one in sorted(intervals, key=lambda one: (one.launches, one.us))):
        lines.append(line_of(name, [one for one in intervals if one.program == name])[0])
    if pairs := beside_each_other(intervals):
        lines += ["", f"| two copies, one after the other | {head} |", rule]
        for name in dict.fromkeys(launch_class(one.launches) for one in sorted(pairs, key=lambda one: one.launches)):
            lines.append(line_of(name, [one for one in pairs if launch_class(one.launches) == name])[0])
    return "\n".join(lines) + "\n", least


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--copies", type=int, default=4, help="of each program; 0: only the program of 100 ms")
    parser.add_argument("--long-copies", type=int, default=4, help="of the program of 100 ms; 0: leave it out")
    parser.add_argument("--process-pairs", type=int, default=5)
    parser.add_argument("--speed-budget", type=float, default=1.0)
    parser.add_argument("--read", action="store_true", help="make the table of what is there")
    parser.add_argument("--join", type=Path, nargs="+", default=[], help="other runs' self.jsonl")
    options = parser.parse_args()
    folder: Path = options.folder
    if not options.read:
        folder.mkdir(parents=True, exist_ok=True)
        common = ["--process-pairs", str(options.process_pairs)]
        short = [*common, "--speed-budget", str(options.speed_budget)]
        if options.copies:
            grade(folder, prepare(folder, PROGRAMS, options.copies), SIZES, short)
        if options.long_copies:
            (folder / "long").mkdir(exist_ok=True)
            made = prepare(folder / "long", [LONG], options.long_copies)
            few = [*common, "--speed-budget", "0", "--least-pairs", str(3 * options.process_pairs)]
            grade(folder / "long", made, (LONG_SIZE,), few)
    intervals = [one for place in (folder, folder / "long") if (place / "run").exists() for one in read(place)]
    for file in options.join:
        if not file.is_file():
            print(f"self: --join {file}: there is no such file: give the self.jsonl of another run", file=sys.stderr)
            return 2
        lines = [line for line in file.read_text(encoding="utf-8").split("\n") if line]
        intervals += [Interval(**json.loads(line)) for line in lines]
    if not intervals:
        why = f"{folder}/run/cases has no record of a timed case" if options.read else "look at the run's records"
        print(f"self: no program was timed against itself: {why}", file=sys.stderr)
        return 1
    with (folder / "self.jsonl").open("w", encoding="utf-8") as file:
        for one in intervals:
            file.write(json.dumps(one.__dict__) + "\n")
    text, least = table(intervals)
    (folder / "self.md").write_text(text, encoding="utf-8")
    print(text)
    if least < LEAST_P:
        print("self: the coverage of a class is rejected at 1 %", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
