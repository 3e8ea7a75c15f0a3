"""What a chart says, apart from how it is drawn: the page draws it as SVG (svg.py), the plots as PNG (png.py)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from warpgrade_reports import format as fmt

MAX_SERIES = 8  # as many as colours that stay apart; more submissions become a strip


class Style(Enum):
    """Bars start at zero; dots may stand on a logarithmic axis; a strip is a class of dots with its median."""

    BARS = "bars"
    DOTS = "dots"
    STRIP = "strip"


@dataclass(frozen=True)
class Mark:
    """One value of one series, perhaps with its interval and what the threshold says about it."""

    series: int
    value: float
    low: float | None = None
    high: float | None = None
    status: str = ""
    name: str = ""  # who, for a mark that stands for one of many


@dataclass(frozen=True)
class Row:
    """A dataset, a case or a submission: one line of the chart."""

    label: str
    marks: tuple[Mark, ...] = ()
    threshold: float | None = None
    note: str = ""  # why there is no mark at all
    absent: tuple[tuple[int, str], ...] = ()  # the series without a mark, each with the reason


@dataclass(frozen=True)
class Chart:
    """Rows of marks over one axis."""

    slug: str
    title: str
    axis: str
    rows: tuple[Row, ...]
    series: tuple[str, ...]
    style: Style = Style.BARS
    logarithmic: bool = False
    reference: float | None = None  # a line across all rows
    by_status: bool = False  # colour says how the threshold was met instead of whose mark it is
    tick: Callable[[float], str] = fmt.digits
    caption: str = ""
    limits: tuple[float, float] | None = None

    @property
    def empty(self) -> bool:
        """Whether no row has a mark."""
        return not any(row.marks for row in self.rows)

    def with_rows(self, rows: Sequence[Row]) -> Chart:
        """The same axis over fewer rows."""
        return replace(self, rows=tuple(rows), limits=self.limits or value_range(self))


@dataclass(frozen=True)
class Scale:
    """Maps values to 0..1 of the axis."""

    low: float
    high: float
    logarithmic: bool

    def position(self, value: float) -> float:
        """Where a value stands, clamped to the axis."""
        if self.logarithmic:
            value = max(value, self.low)
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, share))

    def ticks(self) -> list[float]:
        """Round values across the axis."""
        return _log_ticks(self.low, self.high) if self.logarithmic else _linear_ticks(self.low, self.high)


def _values(chart: Chart) -> Iterator[float]:
    for row in chart.rows:
        if row.threshold is not None:
            yield row.threshold
        for mark in row.marks:
            yield from (v for v in (mark.value, mark.low, mark.high) if v is not None)
    if chart.reference is not None:
        yield chart.reference


def value_range(chart: Chart) -> tuple[float, float]:
    """The axis's ends: from zero, or whole steps of a decade when logarithmic."""
    if chart.logarithmic:
        return log_range(_values(chart))
    values = list(_values(chart))
    return min([0.0, *values]), 1.04 * max([0.0, *values]) or 1.0


def log_range(values: Iterable[float]) -> tuple[float, float]:
    """The ends of a logarithmic axis that holds all positive values."""
    positive = [value for value in values if value > 0]
    return (_log_floor(min(positive)), _log_ceiling(max(positive))) if positive else (1.0, 10.0)


def scale_of(chart: Chart) -> Scale:
    """The chart's axis."""
    low, high = chart.limits or value_range(chart)
    return Scale(low, high, chart.logarithmic)


_STEPS = (1.0, 2.0, 5.0, 10.0)


def _log_floor(value: float) -> float:
    decade = 10.0 ** math.floor(math.log10(value))
    return max((step * decade for step in _STEPS if step * decade <= value * 0.98), default=decade / 2)


def _log_ceiling(value: float) -> float:
    decade = 10.0 ** math.floor(math.log10(value))
    return min((step * decade for step in (*_STEPS, 20.0) if step * decade >= value * 1.02), default=20 * decade)


def _log_ticks(low: float, high: float) -> list[float]:
    decades = math.log10(high / low)
    steps = (1.0, 2.0, 5.0) if decades <= 3 else (1.0,)  # noqa: PLR2004 - more labels would touch
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    stride = max(1, math.ceil((last - first) / 8))
    found = [step * 10.0**exponent for exponent in range(first, last + 1, stride) for step in steps]
    return [tick for tick in found if low * 0.999 <= tick <= high * 1.001]


def _linear_ticks(low: float, high: float) -> list[float]:
    rough = (high - low) / 6
    decade = 10.0 ** math.floor(math.log10(rough))
    step = next(s * decade for s in _STEPS if s * decade >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]


def median(values: Sequence[float]) -> float:
    """The middle value."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
