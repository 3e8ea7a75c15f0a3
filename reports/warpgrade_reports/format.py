"""Numbers as people read them. What is not known is an em dash, never a zero."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from functools import lru_cache

from warpgrade_reports.model import Interval

UNKNOWN = "–"
_KB = 1024
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_MARKDOWN = re.compile(r"[\\|*`\[\]<>#]|(?<![^\W_])_|_(?![^\W_])")  # an underscore inside a word is harmless
_TIME_UNITS = ((1e6, "s"), (1e3, "ms"))  # in microseconds
_remembered = lru_cache(1 << 14)  # a page tells a number at several places, a class's pages tell the same ones


@_remembered
def digits(value: float | None, significant: int = 3) -> str:
    """A number with so many significant digits and no exponent in everyday ranges."""
    if value is None:
        return UNKNOWN
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 10**6 or size < 10**-4:
        return f"{value:.{significant - 1}e}"
    if size >= 10 ** (significant - 1):
        return f"{value:,.0f}"
    return f"{value:#.{significant}g}".rstrip(".")


def brief(value: float | None) -> str:
    """A number above 0 in at most four letters, for a narrow cell: .004, 0.08, 1.3, 12, 4k."""
    if value is None:
        return UNKNOWN
    if value < 0.0095:  # noqa: PLR2004
        return f"{value:.3f}"[1:]
    for limit, text in ((0.095, f"{value:.2f}"), (9.95, f"{value:.1f}"), (999.5, f"{value:.0f}")):
        if value < limit:
            return text
    return f"{value / 1000:.0f}k"


_ZEROS = re.compile(r"\.(\d*?)0+(?!\d)")


@_remembered
def trimmed(text: str) -> str:
    """A formatted number without idle zeros behind the point: for axes and for what is whole by nature."""
    return _ZEROS.sub(lambda match: f".{match[1]}" if match[1] else "", text, count=1)


def cell(array: str, place: Iterable[int | None]) -> str:
    """A cell of an array as programs write it, `c[3,0]`; an array of one number is its name."""
    known = [str(index) for index in place if index is not None]
    return f"{array}[{','.join(known)}]" if known else array


def count(value: float | None) -> str:
    """A whole number with thousands apart."""
    return UNKNOWN if value is None else f"{value:,.0f}"


def kilobytes(value: int | None) -> str:
    """Shared memory: 12.3 KB, or whole bytes below one."""
    if value is None:
        return UNKNOWN
    if value == 0:
        return "0"
    return f"{value} B" if value < _KB else f"{digits(value / _KB)} KB"


def scaled(value: float | None, unit: str = "") -> str:
    """A number with an SI prefix: 12.3 G."""
    if value is None:
        return UNKNOWN
    for factor, prefix in _PREFIXES:
        if abs(value) >= 0.9995 * factor:
            return f"{digits(value / factor)} {prefix}{unit}"
    text = f"{value:.0f}" if float(value).is_integer() else digits(value)
    return f"{text} {unit}" if unit else text


def points(value: float | None) -> str:
    """Points with one digit after the point."""
    return UNKNOWN if value is None else f"{value:.1f}"


def percent(fraction: float | None) -> str:
    """A share of one as a percentage."""
    return UNKNOWN if fraction is None else f"{100 * fraction:.1f} %"


def ratio(value: float | None) -> str:
    """A speed-up or another quotient: 1.23×."""
    return UNKNOWN if value is None else f"{digits(value)}×"


def microseconds(value: float | None) -> str:
    """A time in the unit that suits it."""
    if value is None:
        return UNKNOWN
    for factor, unit in _TIME_UNITS:
        if value >= factor:
            return f"{digits(value / factor)} {unit}"
    return f"{digits(value)} µs"


def bounds(interval: Interval | None) -> str:
    """An interval's two ends in brackets, empty when there are none."""
    return bounds_of(interval.low, interval.high) if interval else ""


def bounds_of(low: float | None, high: float | None) -> str:
    """Two ends in brackets, empty when either is not known."""
    return "" if low is None or high is None else f"[{digits(low)}, {digits(high)}]"


def plural(number: int, noun: str) -> str:
    """1 case, 2 cases."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


escape = _remembered(html.escape)  # of HTML


@_remembered
def markdown(text: str) -> str:
    """A text that Markdown shows as it is, on one line."""
    return _MARKDOWN.sub(r"\\\g<0>", " ".join(text.split()))
