"""The mistakes' page says of compute-sanitizer what its record on a GPU holds, and both know every mistake."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

MISTAKES = Path(__file__).resolve().parent / "mistakes"
sys.path.insert(0, str(MISTAKES))

from with_sanitizer import mark_of, verdict_of  # noqa: E402

RECORD = json.loads((MISTAKES / "sanitizer-h200.json").read_text(encoding="utf-8"))
PAGE = (MISTAKES / "README.md").read_text(encoding="utf-8")


def test_the_record_has_each_mistake_as_it_is_marked_today() -> None:
    marked = {file.stem: mark_of(file) for file in MISTAKES.glob("*.cu")}
    assert {name: (row["kind"], row["marked_line"]) for name, row in RECORD.items()} == marked


def test_the_table_is_the_records() -> None:
    table = {name: rest for name, *rest in re.findall(r"^\| `(\w+)` \| (\w+) \| (.+) \|$", PAGE, re.MULTILINE)}
    assert table == {name: [row["kind"], verdict_of(row["broken"])] for name, row in RECORD.items()}


def test_the_counts_are_the_records() -> None:
    found = sum(any(tool["found"] for tool in row["broken"].values()) for row in RECORD.values())
    text = " ".join(PAGE.split())
    assert f"The emulator finds {len(RECORD)} of {len(RECORD)} at the marked line, compute-sanitizer {found}:" in text
    assert not any(tool["found"] for row in RECORD.values() for tool in row["fixed"].values())
