"""Whether a record still says what the judge wrote: SHA-256 of its canonical JSON without the field `checksum`."""

from __future__ import annotations

import enum
import hashlib
import json
import re
from typing import Any

_KEY = b'"checksum":"'
_FIELD = re.compile(rb'"checksum":"([0-9a-f]{64})",?')


class Seal(enum.Enum):
    """What a record's checksum says about it."""

    WHOLE = "whole"
    BROKEN = "broken"
    ABSENT = "absent"


def seal_of(line: bytes, record: dict[str, Any]) -> Seal:
    """The state of a record that was read from `line`.

    Lines are canonical already, so the field is cut out of the text: writing the numbers anew could
    spell them differently than the judge did. A line that someone formatted anew is made canonical here.
    """
    checksum = record.get("checksum")
    if checksum is None:
        return Seal.ABSENT
    if checksum == sealed_by(line):
        return Seal.WHOLE
    texts = json.loads(line.decode("utf-8", errors="replace"))  # not plain ones
    rest = {key: value for key, value in texts.items() if key != "checksum"}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return Seal.WHOLE if hashlib.sha256(canonical.encode()).hexdigest() == checksum else Seal.BROKEN


def sealed_by(line: bytes) -> str | None:
    """The checksum in a canonical line, if it is the rest's; None where it is not, or where it cannot be told so."""
    begin = line.find(_KEY)  # a quote within a text is escaped, so a text cannot look like the field
    field = _FIELD.match(line, begin) if begin >= 0 else None
    if field is None or line.find(_KEY, field.end()) >= 0:
        return None
    found = hashlib.sha256(line[:begin].lstrip())
    found.update(line[field.end() :].rstrip())
    checksum = field[1].decode()
    return checksum if found.hexdigest() == checksum else None
