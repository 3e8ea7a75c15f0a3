"""Puts the emulator's counters beside ncu's, kernel by kernel, and says where they are more than 5 % apart.

compare_ncu.py RECORDS BUILD_DIR: RECORDS as measure_ncu.sh wrote them on a GPU, BUILD_DIR as build_programs.sh made it.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4] / "reports"))
from warpgrade_reports.text import lines_of

TOLERANCE = 0.05
LIBRARY = Path("build/emulator")

Totals = dict[str, float]  # a kernel's figures over all launches of a run


@dataclass(frozen=True)
class Figure:
    """One quantity, as a sum over metrics on each side; a quotient when there is a divisor."""

    name: str
    ncu: tuple[str, ...]
    ours: tuple[str, ...]
    ncu_per: tuple[str, ...] = ()
    ours_per: tuple[str, ...] = ()

    def of(self, totals: Totals, ncu: bool) -> float | None:
        over, under = (self.ncu, self.ncu_per) if ncu else (self.ours, self.ours_per)
        if ncu and not any(name in totals for name in over):
            return None
        value = sum(totals.get(name, 0.0) for name in over)
        if not under:
            return value
        divisor = sum(totals.get(name, 0.0) for name in under)
        return value / divisor if divisor else None


def _l1(what: str, op: str) -> str:
    return f"l1tex__{what}_mem_{op}.sum"


def _figures() -> Iterator[Figure]:
    for word, op in (("load", "ld"), ("store", "st")):
        requests = (_l1("t_requests_pipe_lsu", f"global_op_{op}"),)
        sectors = (_l1("t_sectors_pipe_lsu", f"global_op_{op}"),)
        ours = f"global_{word}_"
        yield Figure(f"{word} requests", requests, (ours + "requests",))
        yield Figure(f"{word} sectors", sectors, (ours + "sectors",))
        yield Figure(f"{word} sectors / request", sectors, (ours + "sectors",), requests, (ours + "requests",))
    atomics = tuple(_l1("t_sectors_pipe_lsu", f"global_op_{op}") for op in ("atom", "red"))
    yield Figure("atomic sectors", atomics, ("global_atomic_sectors",))
    for word, op in (("load", "ld"), ("store", "st")):
        waves = (_l1("data_pipe_lsu_wavefronts", f"shared_op_{op}"),)
        yield Figure(
            f"shared {word} requests", (f"smsp__inst_executed_op_shared_{op}.sum",), (f"shared_{word}_requests",)
        )
        yield Figure(f"shared {word} passes", waves, (f"shared_{word}_passes",))
        conflicts = (_l1("data_bank_conflicts_pipe_lsu", f"shared_op_{op}"),)
        yield Figure(f"shared {word} conflicts", conflicts, (f"shared_{word}_conflicts",))
    conflicts = (_l1("data_bank_conflicts_pipe_lsu", "shared_op_atom"),)
    yield Figure("shared atomic conflicts", conflicts, ("shared_atomic_conflicts",))


FIGURES = tuple(_figures())


def base_name(kernel: str) -> str:
    """`spmm_kernel` of `(anonymous namespace)::spmm_kernel<4, 32>(int)`: how both sides call it."""
    kernel = re.sub(r"\(anonymous namespace\)::|<unnamed>::", "", kernel)
    return re.split(r"[<(]", kernel)[0].split("::")[-1].split(" ")[-1].strip()


def read_ncu(path: Path) -> dict[str, Totals]:
    """By kernel: each metric's sum over the launches."""
    totals: dict[str, Totals] = defaultdict(lambda: defaultdict(float))
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if not row.get("ID"):
                continue  # the line of units
            kernel = totals[base_name(row["Kernel Name"])]
            for name, text in row.items():
                if name.endswith((".sum", ".ratio")) and text:
                    kernel[name] += float(text.replace(",", ""))
    return totals


def run_on_emulator(command: str) -> dict[str, Totals]:
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(LIBRARY),
        "WARPEMU_CHECKS": "counters",
        "WARPEMU_DEVICE": "h200",
    }
    done = subprocess.run(command.split(), env=environment, capture_output=True, text=True, check=True)
    totals: dict[str, Totals] = defaultdict(lambda: defaultdict(float))
    for line in lines_of(done.stdout):
        counted = json.loads(line)
        if "line" in counted or "buffer" in counted:
            continue
        kernel = totals[base_name(counted["kernel"])]
        for name, value in counted.items():
            if isinstance(value, int | float):
                kernel[name] += value
        for word in ("load", "store", "atomic"):
            passes = counted.get(f"shared_{word}_passes", 0) - counted.get(f"shared_{word}_passes_ideal", 0)
            kernel[f"shared_{word}_conflicts"] += passes
    return totals


def apart(theirs: float, ours: float) -> float:
    return 0.0 if theirs == ours else abs(ours - theirs) / max(abs(theirs), 1e-12)


def compare(name: str, ncu: Mapping[str, Totals], ours: Mapping[str, Totals]) -> Iterator[tuple[bool, str]]:
    """A line a figure that either side saw, and whether it is within the tolerance."""
    for kernel in sorted(set(ncu) | set(ours)):
        if kernel not in ncu or kernel not in ours:
            yield (
                False,
                f"| {name} | {kernel} | {'only on the GPU' if kernel in ncu else 'only on the emulator'} | | | |",
            )
            continue
        for figure in FIGURES:
            theirs, mine = figure.of(ncu[kernel], ncu=True), figure.of(ours[kernel], ncu=False)
            if theirs is None or mine is None or theirs == mine == 0:
                continue
            difference = apart(theirs, mine)
            within = difference <= TOLERANCE
            shown = f"{theirs:.6g} | {mine:.6g} | {100 * difference:.1f} % | {'' if within else 'apart'}"
            yield within, f"| {name} | {kernel} | {figure.name} | {shown} |"


def main(arguments: Iterable[str]) -> int:
    records, build = (Path(a) for a in arguments)
    good = bad = 0
    print("| run | kernel | figure | ncu | emulator | apart | |")
    print("|---|---|---|---|---|---|---|")
    for line in lines_of((build / "runs.txt").read_text(encoding="utf-8")):
        name, command = line.split(" ", 1)
        record = records / f"{name}.csv"
        if not record.exists() or record.stat().st_size == 0:
            print(f"compare_ncu: no record {record}; run measure_ncu.sh on a GPU", file=sys.stderr)
            bad += 1
            continue
        for within, text in compare(name, read_ncu(record), run_on_emulator(command)):
            good, bad = good + within, bad + (not within)
            print(text)
    print(f"\n{good} figures within {100 * TOLERANCE:.0f} %, {bad} not", file=sys.stderr)
    return 0 if bad == 0 else 1


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(sys.argv[1:]))
