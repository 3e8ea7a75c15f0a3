"""Checked access to JSON: a value of the wrong kind is an error that names the file and the place.

What a record leaves out stays None here, and so does a number that is not finite: neither is ever shown as zero.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpgrade_reports.text import is_plain_json, plain_json, plain_text

_EXACT = 1 << 53  # whole numbers below it are floats too
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)  # json.loads makes one each time


class ReportInputError(Exception):
    """The run folder cannot be rendered; the text says where, what was expected and what to do next."""

    def __init__(self, place: str, problem: str, next_step: str) -> None:
        super().__init__(f"{place}: {problem}; next: {next_step}")
        self._parts = (place, problem, next_step)

    def __reduce__(self) -> tuple[type[ReportInputError], tuple[str, str, str]]:
        """What another process needs to raise it again."""
        return type(self), self._parts


def kind_of(value: object) -> str:
    """The JSON name of a value's type, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    names: dict[type, str] = {str: "a text", list: "a list", dict: "an object"}
    return names.get(type(value), type(value).__name__)


def finite(value: object) -> float | None:
    """The value as a float, or None when it is no finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


@dataclass(slots=True)
class Node:
    """A JSON object whose texts are plain, and the place that it was read from: a class has a million of them."""

    value: dict[str, Any]
    within: str | Node  # the file, or the object that this one is in ...
    key: str  # ... and where in that
    next_step: str

    @property
    def place(self) -> str:
        """For a message."""
        return self.within if isinstance(self.within, str) else f"{self.within.place}, {self.key}"

    def error(self, problem: str) -> ReportInputError:
        """An error at this place."""
        return ReportInputError(self.place, problem, self.next_step)

    def _wrong(self, key: str, expected: str) -> ReportInputError:
        got = kind_of(self.value[key]) if key in self.value else "nothing"
        return self.error(f'expected {expected} in "{key}", got {got}')

    def text(self, key: str) -> str:
        """A text that must be there."""
        found = self.value.get(key)
        if not isinstance(found, str):
            raise self._wrong(key, "a text")
        return found

    def optional_text(self, key: str) -> str:
        """A text, empty when the record leaves it out."""
        return self.text(key) if self.value.get(key) is not None else ""

    def number(self, key: str) -> float | None:
        """A finite number, or None when it is absent or not finite."""
        found = self.value.get(key)
        if type(found) is float and math.isfinite(found):
            return found
        if found is None:
            return None
        if type(found) is int and -_EXACT < found < _EXACT:
            return float(found)
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise self._wrong(key, "a number")
        return finite(found)

    def required_number(self, key: str) -> float:
        """A finite number that must be there."""
        found = self.number(key)
        if found is None:
            raise self._wrong(key, "a finite number")
        return found

    def integer(self, key: str) -> int | None:
        """A whole number, or None."""
        found = self.number(key)
        return None if found is None else int(found)

    def required_integer(self, key: str) -> int:
        """A whole number that must be there."""
        return int(self.required_number(key))

    def flag(self, key: str) -> bool | None:
        """True, false, or None when absent."""
        found = self.value.get(key)
        if found is not None and not isinstance(found, bool):
            raise self._wrong(key, "true or false")
        return found

    def child(self, key: str) -> Node:
        """An object that must be there."""
        found = self.value.get(key)
        if not isinstance(found, dict):
            raise self._wrong(key, "an object")
        return Node(found, self, key, self.next_step)

    def optional_child(self, key: str) -> Node | None:
        """An object, or None when absent."""
        return self.child(key) if self.value.get(key) is not None else None

    def children(self, key: str, *, required: bool = False) -> Iterator[Node]:
        """The objects of a list; an absent list is an empty one unless it is required."""
        found = self.value.get(key)
        if found is None and not required:
            return
        if not isinstance(found, list):
            raise self._wrong(key, "a list")
        for index, item in enumerate(found):
            if not isinstance(item, dict):
                raise self.error(f'expected an object in "{key}"[{index}], got {kind_of(item)}')
            yield Node(item, self, f"{key}[{index}]", self.next_step)

    def require_schema(self, schema: str) -> None:
        """Refuses records of another format."""
        found = self.value.get("schema")
        if found != schema:
            raise self.error(f'expected schema "{schema}", got {json.dumps(found, ensure_ascii=False)}')


def parse_node(text: str | bytes, place: str, next_step: str) -> Node:
    """One JSON object with plain texts. NaN and infinities, which some writers emit, become null: not known."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", errors="replace")
    try:
        value = _DECODER.decode(text)
        value = value if is_plain_json(text) else plain_json(value)
    except (ValueError, RecursionError) as error:
        raise ReportInputError(place, f"expected one JSON object, got broken text ({error})", next_step) from error
    if not isinstance(value, dict):
        raise ReportInputError(place, f"expected one JSON object, got {kind_of(value)}", next_step)
    return Node(value, place, "", next_step)


def read_raw(path: Path, next_step: str) -> str:
    """A file's text as it is; bytes that are no UTF-8 are replaced, not fatal: compilers print what students wrote."""
    try:
        return path.read_bytes().decode("utf-8", errors="replace")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ReportInputError(str(path), f"expected a readable file, got: {reason}", next_step) from error


def raw_lines(path: Path, next_step: str) -> Iterator[tuple[int, bytes]]:
    """The lines of a file of JSON with their numbers, from 1, one in memory at a time; empty ones are left out.

    As bytes: of a record most is left out before it is read as text.
    """
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, line.rstrip(b"\n")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ReportInputError(str(path), f"expected a readable file, got: {reason}", next_step) from error


def read_text(path: Path, next_step: str) -> str:
    """A file's text for people to read."""
    return plain_text(read_raw(path, next_step))


def read_node(path: Path, next_step: str) -> Node:
    """A file that holds one JSON object."""
    return parse_node(read_raw(path, next_step), str(path), next_step)
