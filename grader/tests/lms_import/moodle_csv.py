"""Moodle's two imports, from github.com/moodle/moodle.

Grades, Import, CSV: grade/import/csv/classes/load_data.php, lib/csvlib.class.php. The assignment's grading worksheet:
mod/assign/feedback/offline/importgradeslib.php and locallib.php.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .people import ImportRefusedError, LmsPerson, one


def fgetcsv(text: str) -> list[list[str]]:
    """PHP's fgetcsv with its escape character: within quotes a backslash keeps the character behind it."""
    rows: list[list[str]] = [[]]
    cell, quoted, i = "", False, 0
    while i < len(text):
        c = text[i]
        if quoted:
            if c == "\\" and i + 1 < len(text):
                cell += c + text[i + 1]
                i += 1
            elif c == '"' and text[i + 1 : i + 2] == '"':
                cell += c
                i += 1
            elif c == '"':
                quoted = False
            else:
                cell += c
        elif c == '"' and not cell:
            quoted = True
        elif c in ",\n":
            rows[-1].append(cell)
            cell = ""
            if c == "\n":
                rows.append([])
        else:
            cell += c
        i += 1
    return [row for row in rows if row]


def moodle(file: Path, people: list[LmsPerson], column: str, map_from: str) -> dict[str, tuple[float | None, str]]:
    """Points and feedback by key; `map_from`: the column mapped to the user, as an instructor chooses it."""
    of: dict[str, Callable[[LmsPerson], str]] = {
        "ID number": lambda p: p.id_number, "Email address": lambda p: p.email, "Username": lambda p: p.login,
    }  # fmt: skip
    rows = fgetcsv(file.read_text(encoding="utf-8-sig"))
    if any(len(row) != len(rows[0]) for row in rows):
        raise ImportRefusedError("csvweirdcolumns")
    header = [cell.strip() for cell in rows[0]]
    if len(set(header)) != len(header) or "" in header:
        raise ImportRefusedError(f"columns that cannot be told apart: {header}")
    points: dict[str, tuple[float | None, str]] = {}
    student: LmsPerson | None = None  # kept from row to row: a blank cell means the person of the row above
    for row in rows[1:]:
        cells = dict(zip(header, (cell.strip() for cell in row), strict=True))
        key = cells[map_from]
        if key not in {"", "0"}:
            student = one(people, of[map_from], key)  # e-mail addresses with regard to case
            if student is None:
                raise ImportRefusedError(f"usermappingerror: {key}")
        if student is None:
            raise ImportRefusedError("usermappingerrorusernotfound")
        value = cells[column]
        grade = None if value in {"", "-"} else float(value)  # a point is understood in every language
        if grade is not None and grade > 100:
            raise ImportRefusedError("gradevaluetoobig")
        points[student.key] = (grade, cells["Feedback"])
    return points


def moodle_worksheet(
    file: Path, people: list[LmsPerson], most: float, before: dict[str, float] | None = None
) -> dict[str, float]:
    """Points by key after the upload of a grading worksheet, where `before` stood in the assignment."""
    rows = fgetcsv(file.read_text(encoding="utf-8-sig"))
    header = rows[0]
    if not {"Identifier", "Grade", "Last modified (grade)"} <= set(header):
        raise ImportRefusedError("invalidgradeimport")
    points = dict(before or {})
    for row in rows[1:]:
        cells = dict(zip(header, row, strict=True))
        person = one(people, lambda p: p.number, cells["Identifier"][len("Participant ") :])
        if person is None or cells["Grade"] == "":  # "Skip - grade has no value."
            continue
        grade = float(cells["Grade"])
        if grade == 0 or not 0 <= grade <= most:  # `$record->grade && ...`: a 0 is no grade; "Out of range."
            continue
        points[person.key] = grade
    return points
