"""Puts a made table between two marks of a page."""

from __future__ import annotations

from pathlib import Path

from warpgrade_reports.source import ReportInputError


def put_between(file: Path, text: str, begin: str, end: str) -> None:
    """Replaces what stands between two marks of a file; both stay."""
    before, first, rest = file.read_text(encoding="utf-8").partition(begin)
    _, second, after = rest.partition(end)
    if not first or not second:
        raise ReportInputError(str(file), f"expected the lines {begin} and {end}", "add them where the tables belong")
    file.write_text(f"{before}{begin}\n{text}{end}{after}", encoding="utf-8")
