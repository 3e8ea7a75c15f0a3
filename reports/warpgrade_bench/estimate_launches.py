"""What ncu counted of single launches of the ladders' kernels, for scripts/validate-estimate.

`take_over` makes reports/published/estimate/launches-h200-ncu.csv of what scripts/measure estimate left in a folder;
`counted_launches` reads it and finds the emulator's counters of the same launches.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from warpgrade_reports.text import lines_of

Run = dict[str, Any]
PERCENT = {
    "dram": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "l2": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1": "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
    "issue": "smsp__issue_active.avg.pct_of_peak_sustained_active",
}
PIPES = [f"sm__inst_executed_pipe_{p}.avg.pct_of_peak_sustained_active" for p in ("alu", "fma", "fp64", "xu")]
# Loads, stores and atomics of global and shared memory: the way to the first level, not arithmetic.
LSU = "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active"
COLUMNS = [
    "lab",
    "case",
    "submission",
    "kernel",
    "grid",
    "registers",
    "us",
    *PERCENT,
    "pipe",
    "lsu",
    "l2_bytes",
    "dram_bytes",
]
ABOUT = 1.25  # grids within this factor are called alike
SHORTEST_US = 10.0  # what is shorter is mostly start: ncu's percentages are of the whole time


def take_over(folder: Path, to: Path) -> None:
    """One row a launch that ncu counted; the two files of a case must name the same launches in the same order."""
    rows = []
    for path in sorted((folder / "launches").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            table = list(csv.DictReader(file))
        counted = [row for row in table if row["ID"]]
        order = [json.loads(line) for line in lines_of(path.with_suffix(".jsonl").read_text(encoding="utf-8"))]
        if len(counted) != len(order):
            raise SystemExit(f"{path}: {len(counted)} launches counted, {len(order)} told; measure this case again")
        if counted and table[0]["gpu__time_duration.sum"] != "ns":
            raise SystemExit(f"{path}: times in ns are expected, ncu wrote {table[0]['gpu__time_duration.sum']}")
        rows += [row_of(path, told, row) for told, row in zip(order, counted, strict=True)]
    with to.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)
    print(f"{len(rows)} launches: {to}")


def row_of(path: Path, told: Run, counted: dict[str, str]) -> list[str]:
    def number(name: str) -> float:
        return float(counted.get(name, "").replace(",", "") or 0)

    if counted["Grid Size"] != "({}, {}, {})".format(*told["grid"]):
        raise SystemExit(f"{path}: ncu counted a grid of {counted['Grid Size']} where {told['grid']} was launched")
    return [
        told["lab"],
        told["case"],
        told["submission"],
        counted["Kernel Name"],
        "x".join(str(n) for n in told["grid"]),
        counted["launch__registers_per_thread"],
        f"{number('gpu__time_duration.sum') / 1000:.6g}",
        *(f"{number(name):.4g}" for name in PERCENT.values()),
        f"{max(number(name) for name in PIPES):.4g}",
        f"{number(LSU):.4g}",
        f"{number('lts__t_bytes.sum'):.0f}",
        f"{number('dram__bytes.sum'):.0f}",
    ]


def identifier(kernel: str) -> str:
    """The kernel's own name, which ends in `_kernel` in all labs: `void <unnamed>::f_kernel<2>(int)` is `f_kernel`."""
    found = re.search(r"\w+_kernel\b", kernel)
    return found[0] if found else kernel


def group_of(row: dict[str, str], run: Run) -> Run | None:
    """The group of launches that the counted one belongs to: the same kernel, about as many blocks."""
    blocks = 1
    for side in row["grid"].split("x"):
        blocks *= int(side)
    group: Run
    for group in run["groups"]:
        each = group.get("blocks", 0) / group["launches"] if group.get("launches") else 0
        if identifier(group["kernel"]) == identifier(row["kernel"]) and 1 / ABOUT <= each / blocks <= ABOUT:
            return group
    return None


def counted_launches(path: Path, runs: Iterable[Run]) -> list[tuple[dict[str, str], Run]]:
    """Of each solution and case the kernel that takes most of the time by ncu, unless its launch is short.

    With each goes what the emulator counted of it, as a run of that kernel alone.
    """
    if not path.exists():
        return []
    by_key = {(r["lab"], r["case"], r["submission"]): r for r in runs}
    largest: dict[tuple[str, str, str], tuple[float, dict[str, str], Run]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            key = (row["lab"], row["case"], row["submission"])
            group = group_of(row, by_key[key]) if key in by_key else None
            if group is None:
                continue
            together = float(row["us"]) * group["launches"] / group["runs"]
            if key not in largest or together > largest[key][0]:
                largest[key] = (together, row, group)
    chosen = []
    for key in sorted(largest):
        _, row, group = largest[key]
        if float(row["us"]) >= SHORTEST_US:
            kernels = [{"name": group["kernel"], "registers": int(row["registers"])}]
            chosen.append((row, {**by_key[key], "groups": [group], "kernels": kernels}))
    return chosen
