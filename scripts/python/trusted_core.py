"""Counts the lines that a wrong verdict or a forged time can come from: what CONTRIBUTING calls the trusted core.

    .venv/bin/python scripts/python/trusted_core.py

A line counts if it holds more than a comment. Tests do not count. ARCHITECTURE.md says what each part is trusted with.
"""

from __future__ import annotations

from pathlib import Path

GRADER = Path(__file__).resolve().parents[2] / "grader"
PARTS = {
    "judge: verdicts, checks, inputs, intervals": (
        "judge/judging",
        "judge/measure",
        "judge/labs",
        "judge/declaration",
        "judge/protocol",
        "judge/judge_main.cpp",
    ),
    "executor: the GPU and the clock": ("judge/executor",),
    "boxes: compilation and run": ("judge/compile", "judge/sandbox"),
    "records: verdicts, reasons, fields": ("record",),
    "base: files, processes, hashes": ("base",),
}
# Linked to a submission, on its side of the boundary: nothing of them is believed.
UNTRUSTED = ("judge/executor/forwarding", "judge/executor/tests")


def lines_of_code(text: str) -> int:
    """Lines with more than a comment, of C++."""
    count, inside = 0, False
    for raw in text.split("\n"):
        line = raw.strip()
        if inside or line.startswith("/*"):
            inside = "*/" not in line
        elif line and not line.startswith("//"):
            count += 1
    return count


def count(places: tuple[str, ...]) -> int:
    """The lines of code below these places of grader/."""
    files: set[Path] = set()
    for place in places:
        found = GRADER / place
        files |= (
            {found} if found.is_file() else {f for f in found.rglob("*") if f.suffix in {".h", ".cpp", ".cu", ".cuh"}}
        )
    refused = tuple(GRADER / place for place in UNTRUSTED)
    return sum(
        lines_of_code(file.read_text(encoding="utf-8"))
        for file in files
        if not any(file.is_relative_to(place) for place in refused)
    )


def main() -> None:
    """A line a part, and their sum."""
    counts = {part: count(places) for part, places in PARTS.items()}
    for part, lines in counts.items():
        print(f"{lines:7,}  {part}")
    print(f"{sum(counts.values()):7,}  in all")


if __name__ == "__main__":
    main()
