"""Canvas' gradebook import: lib/gradebook_importer.rb of github.com/instructure/canvas-lms."""

from __future__ import annotations

import re
from pathlib import Path

from .people import ImportRefusedError, LmsPerson, one, rows_of


def canvas(
    file: Path, people: list[LmsPerson], column: str, before: dict[str, float] | None = None
) -> dict[str, float]:
    """Points by key, where `before` stood in Canvas. A person is found by ID, SIS User ID, SIS Login ID, the name."""
    rows = rows_of(file.read_text(encoding="utf-8-sig"))
    header = rows[0]
    if "Student" not in header[0] or "ID" not in header[1]:
        raise ImportRefusedError(f"header_row: {header}")
    if header[2:5] != ["SIS User ID", "SIS Login ID", "Section"]:
        raise ImportRefusedError(
            "the last column about the student must be Section, behind SIS User ID and SIS Login ID"
        )
    if not re.fullmatch(r".+ \(\d+\)", column):
        raise ImportRefusedError("without Canvas' own number in brackets a new assignment is made")
    place = header.index(column)
    points, seen = dict(before or {}), set()
    for row in rows[1:]:
        if "Points Possible" in row[0]:
            float(row[place])  # else the assignment's maximum would be lost
            continue
        person = (
            one(people, lambda p: p.number, row[1])
            or one(people, lambda p: p.sis_id, row[2])
            or one(people, lambda p: p.login, row[3])
            or one(people, lambda p: p.name, row[0])
        )
        if person is None:
            raise ImportRefusedError(f"a student whom Canvas does not know: {row}")
        if person.key in seen:
            raise ImportRefusedError(f"{person.key} stands there twice")
        seen.add(person.key)
        if row[place].strip() in {"", "-"}:  # no_change_to_value?: an empty cell takes a grade away
            points.pop(person.key, None)
        else:
            points[person.key] = float(row[place])
    return points
