"""Text from outside, made fit for pages, tables and terminals: as grader/base/text.h does, which says why and which.

Lines of JSON end at a newline and nowhere else. `str.splitlines` also ends them at U+2028, U+0085 and others, which
JSON allows in its strings (RFC 8259, section 7): nothing of the product calls it (scripts/line-readers).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, cast

T = TypeVar("T")

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_PLANES = 17
_SEEN = bytes(range(0x20, 0x7F)) + b"\t\n"
# Controls but newline and tab; the property Bidi_Control; the separators of lines and paragraphs; noncharacters; and
# halves of surrogates, which "\ud800" in JSON becomes.
_UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef"
    + "".join(f"{chr(0x10000 * plane + 0xFFFE)}{chr(0x10000 * plane + 0xFFFF)}" for plane in range(_PLANES))
    + "]"
)
_ESCAPED = re.compile(
    r"\\[bfru]"
)  # in JSON: of all that an escape can stand for, quote, slash, tab and newline are plain


def plain_text(text: str) -> str:
    """The text with what acts instead of being seen shown as U+FFFD; CR LF becomes LF."""
    return _UNFIT.sub(_REPLACEMENT, text.replace("\r\n", "\n"))


def plain_line(text: str) -> str:
    """The same on one line."""
    return " ".join(plain_text(text).split())


def plain_json(value: T) -> T:
    """A value of JSON with every text in it made plain; the names of fields stay."""
    plain: object = value
    if isinstance(value, str):
        plain = plain_text(value)
    elif isinstance(value, list):
        plain = [plain_json(item) for item in value]
    elif isinstance(value, dict):
        plain = {key: plain_json(item) for key, item in value.items()}
    return cast(T, plain)


def is_plain_json(text: str) -> bool:
    """Whether nothing in this text of JSON has to be made plain: quicker than to look at each value."""
    if "\\" in text and _ESCAPED.search(text):
        return False
    rest = text.encode("utf-8", "surrogatepass").translate(None, _SEEN)  # what is left is little, or nothing
    return not rest or _UNFIT.search(rest.decode("utf-8", "surrogatepass")) is None


def lines_of(text: str) -> list[str]:
    """The lines of a text as `str.splitlines` gives them, but ended by newlines alone."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def json_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of JSON in a text with their numbers, from 1; empty ones are left out."""
    return ((number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip())


def problem_of(finding: Mapping[str, Any]) -> str:
    """Which performance problem a finding of the counters is. Older records call it `disease`."""
    problem = finding.get("problem", finding.get("disease"))
    return problem if isinstance(problem, str) else ""
