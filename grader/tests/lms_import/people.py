"""What the models of imports share: people as an LMS knows them, and a refusal."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass


class ImportRefusedError(AssertionError):
    """The LMS takes nothing of this file."""


@dataclass(frozen=True)
class LmsPerson:
    """Somebody in the course, by all the names that an LMS has for people; "" where it has none."""

    key: str  # of the test
    number: str = ""  # Canvas' own, Moodle's participant, ILIAS' user
    sis_id: str = ""
    login: str = ""
    id_number: str = ""
    email: str = ""
    name: str = ""


def one(people: Iterable[LmsPerson], of: Callable[[LmsPerson], str], value: str) -> LmsPerson | None:
    """The person of a value; none where nobody has it."""
    found = [person for person in people if value and of(person) == value]
    assert len(found) < 2, f"{value} means several people"
    return found[0] if found else None


def rows_of(text: str) -> list[list[str]]:
    """The rows of a table."""
    return list(csv.reader(io.StringIO(text)))
