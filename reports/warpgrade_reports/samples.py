"""A record's text without its raw samples: they are nearly all of it, and few readers want them."""

from __future__ import annotations

from typing import Any

_KEY = b'"samples":'


def without_samples(text: bytes) -> bytes | None:
    """The text with an empty object in the place of the one field `samples`; None where it is not one object."""
    key = text.find(_KEY)
    begin = key + len(_KEY)
    # Of two fields that end so, one is not the timing's; has_no_samples() says whose the only one was.
    if key < 0 or text[begin : begin + 1] != b"{" or text.find(_KEY, begin) >= 0:
        return None
    end = _end_of_object(text, begin)
    return b"%b{}%b" % (text[:begin], text[end:]) if end else None


def _end_of_object(text: bytes, begin: int) -> int:
    """Behind the bracket that closes the one at `begin`; 0: none does, or texts in between make it doubtful."""
    depth, end = 0, begin
    while end == begin or depth > 0:
        close = text.find(b"}", end)
        if close < 0:
            return 0
        depth += text.count(b"{", end, close) - 1
        end = close + 1
    inside = text[begin:end]
    doubtful = b"\\" in inside or any(b"{" in word or b"}" in word for word in inside.split(b'"')[1::2])
    return 0 if doubtful else end


def has_no_samples(record: dict[str, Any]) -> bool:
    """Whether what was left out are the samples of the timing, and no other field of this name."""
    timing = record.get("timing")
    return isinstance(timing, dict) and timing.get("samples") == {}
