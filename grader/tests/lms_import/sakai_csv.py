"""Sakai, from github.com/sakaiproject/sakai.

The gradebook's import: gradebookng/.../business/util/ImportGradesHelper.java. The assignment's grades.csv in the
archive of "Upload All": AssignmentAction.uploadAll_parseZipFile; SpreadsheetExporter.java writes its three first lines.
"""

from __future__ import annotations

import re
from pathlib import Path

from .people import ImportRefusedError, LmsPerson, one, rows_of


def sakai_gradebook(
    file: Path, people: list[LmsPerson], item: str, most: float, before: dict[str, float] | None = None
) -> dict[str, float]:
    """Points by key. The first column is the user's id, the second the name; a blank cell changes nothing."""
    text = file.read_text(encoding="utf-8")
    if text.startswith("\ufeff"):
        raise ImportRefusedError("Java reads a mark of the encoding as a letter")
    header, *rows = rows_of(text)
    columns = {}
    for place, title in enumerate(header[2:], 2):
        match = re.fullmatch(r"([^\[]+)(\[(\d+([.,]\d\d?)?)\])?", title)
        if not title.strip() or match is None:
            raise ImportRefusedError(f"invalid heading {title!r}")
        if match[3] and float(match[3].replace(",", ".")) != most:
            raise ImportRefusedError(f"the item would be worth {match[3]} from now on")
        columns[match[1].strip()] = place
    points, seen = dict(before or {}), set()
    for row in rows:
        person = one(people, lambda p: p.login, row[0])
        if person is None:  # told as unidentified, passed over
            continue
        if person.key in seen:
            raise ImportRefusedError(f"duplicateStudents: {person.key}")
        seen.add(person.key)
        if row[columns[item]].strip():
            points[person.key] = float(row[columns[item]])
    return points


def sakai_assignment(file: Path, people: list[LmsPerson], before: dict[str, float] | None = None) -> dict[str, float]:
    """Points by key after the upload of grades.csv; an empty cell takes a grade away."""
    points = dict(before or {})
    for row in rows_of(file.read_text(encoding="utf-8-sig"))[3:]:
        if len(row) <= 4:
            continue
        person = one(people, lambda p: p.login, row[1])
        if person is None:
            continue
        if row[4].strip():
            points[person.key] = float(row[4])
        else:
            points.pop(person.key, None)
    return points
