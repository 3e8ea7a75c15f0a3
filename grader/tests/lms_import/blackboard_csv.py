"""Blackboard's upload: "Uploading External Grade Center Items" in its help for instructors (Grade Center)."""

from __future__ import annotations

import re
from pathlib import Path

from .people import ImportRefusedError, LmsPerson, one, rows_of


def blackboard(file: Path, people: list[LmsPerson], column: str) -> dict[str, float]:
    """Points by key. The user name is the unique identifier; every cell of a .csv is quoted."""
    text = file.read_text(encoding="utf-8")
    if text.startswith("\ufeff") or any(not re.fullmatch(r'("[^"]*",?)+', line) for line in text.splitlines()):
        raise ImportRefusedError("a cell that is not quoted")
    if not re.fullmatch(r".+\|\s*_?\d+(_\d+)?", column):
        raise ImportRefusedError("a column without its number becomes a new one, of text")
    header, *rows = rows_of(text)
    points: dict[str, float] = {}
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        person = one(people, lambda p: p.login, cells["Username"])
        if person is None:
            raise ImportRefusedError(f"no user {cells['Username']}")
        points[person.key] = float(cells[column])
    return points
