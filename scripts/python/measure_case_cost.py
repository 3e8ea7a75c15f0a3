#!/usr/bin/env python3
"""What a case costs with another build of the project and with this one, on this machine's GPU.

    scripts/measure case-cost OTHER FOLDER [--labs spmm,apsp] [--copies 3] [--cases CASES] [--minutes 2]

OTHER is a checkout with programs in build/. Each build judges a class of copies of reference/LAB/optimized, which
differ by a comment; the copy that is judged first starts the baselines and is left out. FOLDER/case-cost.md gets a
line a lab: the cases that both builds judged, the seconds of a copy (its records' wall_s, each case's mean over the
copies) and the ratio; and a line a case. A build that takes longer than MINUTES at a lab is stopped: what it judged
counts. `--read` makes the table of what is there. Exit code 1: a lab's ratio is above 1.4.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST = 1.4  # times the other build's seconds


def class_of(folder: Path, tree: Path, lab: str, copies: int) -> Path:
    """A folder of submissions: one program, with one comment more each time."""
    shutil.rmtree(folder, ignore_errors=True)
    for copy in range(copies):
        place = folder / f"copy-{copy}"
        shutil.copytree(tree / "reference" / lab / "optimized", place)
        source = place / f"{lab}.cu"
        source.write_text(source.read_text(encoding="utf-8") + f"// copy {copy}\n", encoding="utf-8")
    return folder


def judge(tree: Path, lab: str, folder: Path, options: argparse.Namespace) -> None:
    """All cases of the lab, or those that were asked for."""
    made = class_of(folder / "class", ROOT, lab, options.copies)
    words = [tree / "build/bin/warpgrade", "grade", made, "--lab", lab, "--fresh", "--backend", "cuda"]
    words += ["--run", folder / "run", "--quiet", *(["--cases", options.cases] if options.cases else [])]
    try:
        subprocess.run([str(word) for word in words], check=False, cwd=tree, timeout=60 * options.minutes)
    except subprocess.TimeoutExpired:
        print(f"case-cost: {tree.name} was stopped at {lab} after {options.minutes} minutes", file=sys.stderr)


def seconds(folder: Path) -> dict[str, float]:
    """By case, without the copy that was judged first."""
    records = [json.loads(file.read_text(encoding="utf-8")) for file in (folder / "run/cases").glob("copy-*/*.json")]
    first = min(records, key=lambda record: record["recorded_at"])["submission"]["id"] if records else ""
    found: dict[str, list[float]] = {}
    for record in records:
        if record["submission"]["id"] != first and record["outcome"]["verdict"] == "accepted":
            found.setdefault(record["case"]["id"], []).append(float(record["wall_s"]))
    return {case: statistics.mean(each) for case, each in found.items()}


def tables(folder: Path, labs: list[str]) -> tuple[list[str], bool]:
    """The page, and whether each lab's cost is within what is allowed."""
    whole = ["| lab | cases | other, s a submission | this, s | this / other |", "|---|---|---|---|---|"]
    single = ["| lab | case | other, s | this, s | this / other |", "|---|---|---|---|---|"]
    holds = True
    for lab in labs:
        other, this = (seconds(folder / lab / which) for which in ("other", "this"))
        cases = sorted(set(other) & set(this))
        if not cases:
            whole.append(f"| {lab} | none judged by both | | | |")
            holds = False
            continue
        before, now = (sum(times[case] for case in cases) for times in (other, this))
        holds = holds and now / before <= MOST
        whole.append(f"| {lab} | {len(cases)} | {before:.2f} | {now:.2f} | {now / before:.3f} |")
        single += [
            f"| {lab} | {case} | {other[case]:.3f} | {this[case]:.3f} | {this[case] / other[case]:.2f} |"
            for case in cases
        ]
    return [*whole, "", *single], holds


def main() -> None:
    """Judges and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--labs", default="spmm,apsp")
    parser.add_argument("--copies", type=int, default=3)
    parser.add_argument("--cases")
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--read", action="store_true")
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    labs = options.labs.split(",")
    needed = [ROOT / "reference" / lab / "optimized" / f"{lab}.cu" for lab in labs]
    if not options.read:
        needed += [tree / "build/bin/warpgrade" for tree in (ROOT, options.other.resolve())]
    for file in needed:
        if not file.is_file():
            what = "there is no such lab" if file.suffix == ".cu" else "build that checkout: make build"
            sys.exit(f"case-cost: {file} is not there: {what}")
    for lab in [] if options.read else labs:
        for which, tree in (("this", ROOT), ("other", options.other.resolve())):
            judge(tree, lab, options.folder / lab / which, options)
    lines, holds = tables(options.folder, labs)
    (options.folder / "case-cost.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
