"""What tests of a course share: a policy with late rules, taking a class in, and reading what was made."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path
from typing import Any

from conftest import ROOT, Words, warpgrade
from generated_class import LATE, tarred

SOURCE = b'#error "nobody compiles this"\n'


def policy_of(folder: Path, extra: str = "", gate: str = "correct") -> Path:
    """The lab's own policy with late rules, the course's zone and what else is given."""
    text = (ROOT / "grader/policies/spmm.yaml").read_text(encoding="utf-8").replace("gate: correct", f"gate: {gate}")
    late = ", ".join(f"{key}: {value}" for key, value in LATE.items())
    file = folder / "policy.yaml"
    file.write_text(f"{text}\nlate: {{{late}}}\ntimezone: Europe/Berlin\n{extra}", encoding="utf-8")
    return file


def take_in(run: Path, export: Path, roster: Path | None, *options: str | Path) -> subprocess.CompletedProcess[str]:
    """Takes the class in without judging."""
    arguments: Words = ["--submissions", export, "--backend", "emulator", "--cases", "synth-identity-k32", "--take-in"]
    if roster is not None:
        arguments += ["--roster", roster]
    return warpgrade("batch", run, *arguments, *options)


def rows_of(file: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(file.read_text(encoding="utf-8-sig"))))


def class_of(run: Path) -> dict[str, Any]:
    table: dict[str, Any] = json.loads((run / "submissions.json").read_text(encoding="utf-8"))
    return table


def good(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(tarred("spmm.cu", SOURCE))
    return path
