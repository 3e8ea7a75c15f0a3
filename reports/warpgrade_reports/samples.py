"""A record's text without its raw samples: they are nearly all of it, and few readers want them."""

from __future__ import annotations

from typing import Any

_KEY = '"samples":'


def without_samples(text: str) -> str | None:
    """The text with an empty object in the place of the one field `samples`; None where it is not one object."""
    key = text.find(_KEY)
    begin = key + len(_KEY)
    # Of two fields that end so, one is not the timing's; has_no_samples() says whose the only one was.
    if key < 0 or text[begin : begin + 1] != "{" or _KEY in text[begin:]:
        return None
    end = _end_of_object(text, begin)
    return f"{text[:begin]}{{}}{text[end:]}" if end else None


def _end_of_object(text: str, begin: int) -> int:
    """Behind the bracket that closes the one at `begin`; 0: none does, or texts in between make it doubtful."""
    depth, end = 0, begin
    while end == begin or depth > 0:
        close = text.find("}", end)
        if close < 0:
            return 0
        depth += text.count("{", end, close) - 1
        end = close + 1
    inside = text[begin:end]
    doubtful = "\\" in inside or any("{" in word or "}" in word for word in inside.split('"')[1::2])
    return 0 if doubtful else end


def has_no_samples(record: dict[str, Any]) -> bool:
    """Whether what was left out are the samples of the timing, and no other field of this name."""
    timing = record.get("timing")
    return isinstance(timing, dict) and timing.get("samples") == {}
