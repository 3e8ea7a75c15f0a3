"""Moves a finished folder into place: whole or not at all, over an earlier one of ours and over nothing else."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from warpgrade_reports.source import ReportInputError

_OURS = 'content="warpgrade_reports"'
_STALE_S = 3600


def refuse_strangers(output: Path) -> None:
    """Replaces an earlier report and nothing else: a folder of other things is never moved away."""
    if not output.exists():
        return
    page = output / "index.html"
    empty = output.is_dir() and not any(output.iterdir())
    ours = page.is_file() and _OURS in page.read_text(encoding="utf-8", errors="replace")[:2000]
    if not empty and not ours:
        raise ReportInputError(
            str(output),
            "expected no such folder, an empty one or an earlier report, got other files",
            "name another folder with --output",
        )


def sweep(folder: Path, prefix: str) -> None:
    """Removes what a process that was killed left half-made beside its output: scratch folders of an hour ago."""
    for scratch in folder.glob(f"{prefix}????????"):
        ours = scratch.is_dir() and {path.name for path in scratch.iterdir()} <= {"report", "feedback", "before"}
        if ours and time.time() - scratch.stat().st_mtime > _STALE_S:
            shutil.rmtree(scratch, ignore_errors=True)


def publish(staged: Path, output: Path, before: Path) -> None:
    """Moves the finished folder to its place, what stood there to `before` and away; puts it back when that fails."""
    if output.exists():
        output.rename(before)
    try:
        staged.rename(output)
    except OSError:
        if before.exists():
            before.rename(output)
        raise
    if before.exists():
        shutil.rmtree(before)
    os.utime(output)
