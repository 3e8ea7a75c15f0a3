#!/usr/bin/env python3
"""How much the cases of all labs see: scripts/measure mutants FOLDER [--most N] [--time-limit S] [--keep] [LAB...]

Runs `warpgrade labs mutants LAB --json` of each lab (or of those named), at most N mutants of a lab (300), and keeps
each report as FOLDER/LAB.json. A report that is there is not made again; reasons are read anew. FOLDER/LAB.html shows
the survivors. FOLDER/mutants.md is the table: of the mutants that change an output in a case or in a random shape, how
many are refused. With --keep the labs' scores are kept beside them (reference/LAB/mutants.json). Ends with 1 where a
survivor has no reason in reference/LAB/survivors.yaml.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
WARPGRADE = ROOT / "build/bin/warpgrade"
HEAD = """# Mutants of all labs

`scripts/measure mutants FOLDER` made this table. A mutant is a solution of the staff's with one instruction changed,
judged in the lab's correctness cases on the emulator ([page](../../reference/README.md#how-much-the-cases-see)). The
share counts those that change a bit of an output in a case or in a random shape.

| lab | mutants | tried | refused | share | no reason | wrong in a shape | with a reason | no change | not reached |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""


def row_of(report: dict[str, Any]) -> str:
    """A lab's line."""
    survivors, explained = report["survivors"], report["explained"]
    changing = report["refused"] + len(survivors) + len(explained)
    share = f"{100 * report['refused'] / changing:.1f} %" if changing else "-"
    numbers = [report["listed"], report["tried"], report["refused"], share, len(survivors)]
    numbers += [sum(one["wrong"] for one in survivors), len(explained)]
    numbers += [len(report["unchanged"]), len(report["unreached"])]
    return f"| {report['lab']} | " + " | ".join(f"{number}" for number in numbers) + " |"


def report_of(lab: str, file: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Made, or read where it was made before."""
    command = [str(WARPGRADE), "labs", "mutants", lab, "--json"]
    if not file.exists():
        more = ["--seed", "1", "--most", str(options.most), "--time-limit", str(options.time_limit)]
        file.write_text(printed(lab, [*command, *more]), encoding="utf-8")
    command += ["--report", str(file), "--page", str(file.with_suffix(".html"))]
    report: dict[str, Any] = json.loads(printed(lab, command + ["--keep"] * options.keep))
    return report


def printed(lab: str, command: list[str]) -> str:
    """What the command prints; without it there is no table."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"mutants: {lab}: {done.stdout}")
    return done.stdout


def main() -> int:
    """Tries the labs one after the other: each uses all cores."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("labs", nargs="*", metavar="LAB")
    parser.add_argument("--most", type=int, default=300, help="mutants of a lab (default: 300)")
    parser.add_argument("--time-limit", type=float, default=1200, help="seconds of a lab (default: 1200)")
    parser.add_argument("--keep", action="store_true", help="keep each lab's score beside the lab")
    options = parser.parse_intermixed_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    rows, survivors = [], 0
    for lab in options.labs or sorted(file.parent.name for file in ROOT.glob("reference/*/lab.yaml")):
        report = report_of(lab, options.folder / f"{lab}.json", options)
        survivors += len(report["survivors"])
        rows.append(row_of(report))
        print(rows[-1], flush=True)
    (options.folder / "mutants.md").write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main())
