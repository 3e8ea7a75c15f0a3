#!/usr/bin/env python3
"""Runs compute-sanitizer on each mistake of the corpus, on a machine with a GPU, and writes what it found as JSON.

    python3 grader/tests/mistakes/with_sanitizer.py OUTPUT.json [--jobs 8] [--missing-from RECORD.json]

With --missing-from only the programs that RECORD has no row of are run, and OUTPUT has RECORD's rows beside theirs.
Each program is built alone, as its file is and with -DFIXED. A tool "finds" a mistake when it reports something; "line"
says whether one of the lines it names is the marked one. Needs nvcc and compute-sanitizer; README.md here shows the
table beside what the emulator finds.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TOOLS = {
    "memcheck": ["--tool", "memcheck", "--leak-check", "full"],
    "racecheck": ["--tool", "racecheck"],
    "initcheck": ["--tool", "initcheck"],
    "synccheck": ["--tool", "synccheck"],
}


def mark_of(file: Path) -> tuple[str, int]:
    """The kind and the line of a file's `// MISTAKE: kind`."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if found := re.search(r"// MISTAKE: (\w+)", line):
            return found.group(1), number
    raise SystemExit(f"{file} marks no line with // MISTAKE: kind")


def build(file: Path, folder: Path, fixed: bool) -> Path:
    """The program, built for the GPU at hand."""
    program = folder / (file.stem + ("_fixed" if fixed else ""))
    command = ["nvcc", "-std=c++17", "-O3", "-lineinfo", "-Xcompiler", "-g1,-rdynamic", "-arch=native", "-w"]
    subprocess.run([*command, *(["-DFIXED"] if fixed else []), "-o", program, file], check=True)
    return program


def examine(program: Path, file: Path, tool: str, line: int, limit_s: float) -> dict[str, object]:
    """What one tool says of one program within a time."""
    command = ["compute-sanitizer", *TOOLS[tool], "--error-exitcode", "99", "--print-limit", "20", str(program)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return {"found": False, "timeout": True}
    text = done.stdout + done.stderr
    lines = sorted({int(number) for number in re.findall(rf"{re.escape(file.name)}:(\d+)", text)})
    counts = [int(number) for number in re.findall(r"(?:ERROR SUMMARY|RACECHECK SUMMARY): (\d+)", text)]
    first = next(
        (t.strip("= ") for t in text.splitlines() if re.search(r"Invalid|Error|error|Uninit|Leak|hazard|Barrier", t)),
        "",
    )
    return {"found": sum(counts) > 0, "line": line in lines, "lines": lines, "first": first[:160]}


def verdict_of(results: dict[str, dict[str, object]]) -> str:
    """Which tools found something, and whether at the marked line; `none` when no tool did."""
    found = [
        tool + ("" if result.get("line") else " (elsewhere)") for tool, result in results.items() if result["found"]
    ]
    hangs = any(result.get("timeout") for result in results.values())
    return ", ".join(found) or ("none (hangs)" if hangs else "none")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--limit-s", type=float, default=20, help="for one tool on one program; hanging ones reach it")
    parser.add_argument("--missing-from", type=Path, metavar="RECORD", help="a record whose rows are kept")
    options = parser.parse_args()
    known = json.loads(options.missing_from.read_text(encoding="utf-8")) if options.missing_from else {}
    files = [file for file in sorted(HERE.glob("*.cu")) if file.stem not in known]
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.jobs) as pool:
        folder = Path(scratch)
        programs = {(file, fixed): pool.submit(build, file, folder, fixed) for file in files for fixed in (False, True)}
        built = {key: job.result() for key, job in programs.items()}
        jobs = {
            (file, fixed, tool): pool.submit(examine, program, file, tool, mark_of(file)[1], options.limit_s)
            for (file, fixed), program in built.items()
            for tool in TOOLS
        }
        results = {key: job.result() for key, job in jobs.items()}
    table: dict[str, dict[str, Any]] = {
        file.stem: {
            "kind": mark_of(file)[0],
            "marked_line": mark_of(file)[1],
            "broken": {tool: results[file, False, tool] for tool in TOOLS},
            "fixed": {tool: results[file, True, tool] for tool in TOOLS},
        }
        for file in files
    }
    options.output.write_text(json.dumps(dict(sorted((known | table).items())), indent=1) + "\n", encoding="utf-8")
    for name, row in table.items():
        print(f"{name}: {verdict_of(row['broken'])}; mended: {verdict_of(row['fixed'])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
