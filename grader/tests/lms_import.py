"""How each LMS reads a table of grades: small models of their imports, from their documentation and source.

Each takes the file as it was written and the course's people as the LMS knows them, and returns what would stand in the
LMS afterwards. A file that the LMS would refuse, or with which it would give points to somebody else, is an
`ImportRefusedError` or a wrong answer here.

Canvas       lib/gradebook_importer.rb of github.com/instructure/canvas-lms, and "How do I import grades in the
             Gradebook?" in its Instructor Guide
Moodle       https://docs.moodle.org/en/Grade_import, grade/import/csv/classes/load_data.php and lib/csvlib.class.php of
             github.com/moodle/moodle
Brightspace  https://community.d2l.com/brightspace/kb/articles/3538-importing-grades
Blackboard   "Uploading External Grade Center Items" in Blackboard's help for instructors (Grade Center)
Gradescope   https://gradescope-autograders.readthedocs.io/en/latest/specs/ (its schema is in test_exports.py)
Autolab      https://docs.autolabproject.com/lab/ (Guide for Lab Authors): the autograder's last line of output
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class ImportRefusedError(AssertionError):
    """The LMS takes nothing of this file."""


@dataclass(frozen=True)
class LmsPerson:
    """Somebody in the course, by all the names that an LMS has for people; "" where it has none."""

    key: str  # of the test
    number: str = ""  # Canvas' own
    sis_id: str = ""
    login: str = ""
    id_number: str = ""
    email: str = ""
    name: str = ""


def _one(people: Iterable[LmsPerson], of: Callable[[LmsPerson], str], value: str) -> LmsPerson | None:
    found = [person for person in people if value and of(person) == value]
    assert len(found) < 2, f"{value} means several people"
    return found[0] if found else None


def _rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def canvas(file: Path, people: list[LmsPerson], column: str) -> dict[str, float]:
    """Points by key. A person is looked for by ID, then SIS User ID, then SIS Login ID, then the name."""
    rows = _rows(file.read_text(encoding="utf-8-sig"))
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
    points: dict[str, float] = {}
    for row in rows[1:]:
        if "Points Possible" in row[0]:
            float(row[place])  # else the assignment's maximum would be lost
            continue
        person = (
            _one(people, lambda p: p.number, row[1])
            or _one(people, lambda p: p.sis_id, row[2])
            or _one(people, lambda p: p.login, row[3])
        )
        if person is None:
            raise ImportRefusedError(f"a student whom Canvas does not know: {row}")
        if person.key in points:
            raise ImportRefusedError(f"{person.key} stands there twice")
        points[person.key] = float(row[place])  # an empty cell would take the grade away; EX would excuse
    return points


def _fgetcsv(text: str) -> list[list[str]]:
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
    rows = _fgetcsv(file.read_text(encoding="utf-8-sig"))
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
            student = _one(people, of[map_from], key)  # e-mail addresses with regard to case
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


def blackboard(file: Path, people: list[LmsPerson], column: str) -> dict[str, float]:
    """Points by key. The user name is the unique identifier; every cell of a .csv is quoted."""
    text = file.read_text(encoding="utf-8")
    if text.startswith("\ufeff") or any(not re.fullmatch(r'("[^"]*",?)+', line) for line in text.splitlines()):
        raise ImportRefusedError("a cell that is not quoted")
    if not re.fullmatch(r".+\|\s*_?\d+(_\d+)?", column):
        raise ImportRefusedError("a column without its number becomes a new one, of text")
    header, *rows = _rows(text)
    points: dict[str, float] = {}
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        person = _one(people, lambda p: p.login, cells["Username"])
        if person is None:
            raise ImportRefusedError(f"no user {cells['Username']}")
        points[person.key] = float(cells[column])
    return points


def brightspace(file: Path, people: list[LmsPerson], item: str) -> dict[str, float]:
    """Points by key. Username or OrgDefinedId, or both, come first; '<item> Points Grade'; the line's end is marked."""
    header, *rows = _rows(file.read_text(encoding="utf-8"))
    if header[0] not in {"OrgDefinedId", "Username"} or header[-1] != "End-of-Line Indicator":
        raise ImportRefusedError(f"header: {header}")
    if set(header) - {"OrgDefinedId", "Username"} != {f"{item} Points Grade", "End-of-Line Indicator"}:
        raise ImportRefusedError("do not import other options, such as a name or an address")
    points: dict[str, float] = {}
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        found = {
            _one(people, of, cells[title])
            for title, of in (("OrgDefinedId", lambda p: p.id_number), ("Username", lambda p: p.login))
            if title in cells
        }
        (person,) = found
        if person is None:
            raise ImportRefusedError(f"nobody is {row}")
        if cells["End-of-Line Indicator"] != "#":
            raise ImportRefusedError("a line without its end")
        points[person.key] = float(cells[f"{item} Points Grade"])
    return points


def autolab(text: str, problems: set[str]) -> dict[str, float]:
    """The scores of the last line. Autolab takes what names one of the assessment's problems, and numbers alone."""
    result: dict[str, Any] = json.loads(text.rstrip("\n").splitlines()[-1])
    for problem, score in result["scores"].items():
        if problem not in problems or isinstance(score, bool) or not isinstance(score, int | float):
            raise ImportRefusedError(f"{problem}: {score!r}")
    if any(isinstance(value, str) for value in result.get("scoreboard", [])):
        raise ImportRefusedError("scoreboard: numbers are compared")
    return dict(result["scores"])
