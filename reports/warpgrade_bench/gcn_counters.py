"""The ladder of X·W as counters: a row of Markdown a step, counted by the emulator on 256 rows.

    PYTHONPATH=reports python3 -m warpgrade_bench.gcn_counters [--warpgrade build/bin/warpgrade] [--write]

Judges every step on the case `xw-256` and prints the table of README.md; --write puts it there. Instructions are PTX's:
the same on every machine, but spills, which ptxas makes later, are not among them. Exit code 0; 1 when a step is not
accepted or the judge cannot run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warpgrade_reports.text import lines_of

GCN = Path(__file__).resolve().parents[2] / "reference/gcn"
README = GCN / "README.md"
BEGIN, END = "<!-- counters: begin -->\n", "<!-- counters: end -->\n"
CASE = "xw-256"
COLUMNS = (
    "fp64",
    "global loads, stores",
    "shared loads, stores",
    "**fp64 : memory**",
    "all arithmetic : memory",
    "sectors a global load (least)",
    "X's sectors are read",
    "turns of the banks (least)",
)


class LadderError(Exception):
    """A step could not be counted; the text says why."""


def count(warpgrade: Path, folders: list[Path]) -> dict[str, dict[str, Any]]:
    """The counters of each folder's transform, by the folder's name."""
    references = [argument for folder in folders for argument in ("--reference", str(folder))]
    with tempfile.TemporaryDirectory(prefix="ladder-table-") as scratch:
        run = Path(scratch) / "run"
        command = [str(warpgrade), "grade", "--lab", "gcn", "--backend", "emulator", "--cases", CASE, *references]
        command += ["--checks", "memcheck,counters", "--no-speed", "--allow-unsandboxed", "--quiet", "--run", str(run)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            message = f"{warpgrade}: {error.strerror}; build it with `make build` or name it with --warpgrade"
            raise LadderError(message) from error
        if done.returncode != 0:
            raise LadderError(f"`{' '.join(command)}` ended with {done.returncode}:\n{done.stderr}")
        records = [json.loads(line) for line in lines_of((run / "records.jsonl").read_text(encoding="utf-8"))]
    return counters_of(records)


def counters_of(records: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The transform's counters on the case that is counted, by step."""
    counters = {}
    for record in records:
        if record["case"]["id"] != CASE:
            continue
        name = record["submission"]["id"].removeprefix("step-")
        if record["outcome"]["verdict"] != "accepted":
            raise LadderError(f"{name} is {record['outcome']['verdict']} on {CASE}; see `warpgrade check`")
        (counters[name],) = (k for k in record["counters"]["kernels"] if "transform" in k["kernel"])
    return counters


def sectors_of_load(counters: Mapping[str, Any]) -> str:
    """`16.5 (4.5)`: the sectors that a warp's load takes, and the fewest that hold what it asks for."""
    taken, least = counters["global_load_sectors"], counters["global_load_sectors_ideal"]
    requests = counters["global_load_requests"]
    return f"{taken / requests:.1f} ({least / requests:.1f})"


def table(counters: Mapping[str, Mapping[str, Any]]) -> str:
    """The Markdown table, a row a step."""
    lines = [f"| {' | '.join(('step', *COLUMNS))} |", "|---" * (1 + len(COLUMNS)) + "|"]
    for name, c in counters.items():
        warps = c["launches"] * 256 / 32  # of 32 rows: instructions are counted by warps
        fp64 = c["classes"]["fp64"]
        cells = (
            f"{fp64 / warps:.0f}",
            f"{c['global_requests'] / warps:.0f}",
            f"{c['shared_requests'] / warps:.0f}",
            f"**{fp64 / c['memory']:.2f}**",
            f"{c['arithmetic'] / c['memory']:.2f}",
            sectors_of_load(c),
            f"{c['global_load_sectors'] / c['distinct_sectors_read']:.1f} times",
            f"{c['shared_passes'] / warps:.0f} ({c['shared_passes_ideal'] / warps:.0f})",
        )
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def split_page(page: str) -> tuple[str, str, str]:
    """What stands before the table, the table, and what stands after it."""
    before, begin, rest = page.partition(BEGIN)
    old, end, after = rest.partition(END)
    if not begin or not end:
        raise LadderError(
            f"{README}: the lines {BEGIN.strip()} and {END.strip()}, which enclose the table, are missing"
        )
    return before + begin, old, end + after


def main() -> int:
    """The program."""
    parser = argparse.ArgumentParser(description="the ladder of X·W as counters of the emulator")
    parser.add_argument("--warpgrade", type=Path, default=GCN.parents[1] / "build/bin/warpgrade")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    options = parser.parse_args()
    try:
        folders = [GCN / "naive", *sorted(folder for folder in (GCN / "steps").iterdir() if folder.is_dir())]
        made = table(count(options.warpgrade, folders))
        if options.write:
            before, _, after = split_page(README.read_text(encoding="utf-8"))
            README.write_text(before + made + after, encoding="utf-8")
    except LadderError as error:
        print(f"gcn_counters: {error}", file=sys.stderr)
        return 1
    print(made, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
