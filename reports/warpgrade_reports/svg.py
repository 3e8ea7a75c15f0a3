"""Draws charts as inline SVG. Colours come from the page's style sheet, so they follow light, dark and paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from warpgrade_reports import format as fmt
from warpgrade_reports import narrow
from warpgrade_reports.chart import Chart, Mark, Row, Scale, Style, median, scale_of
from warpgrade_reports.format import escape

WIDTH = 960
LABEL_WIDTH = 172
AXIS_HEIGHT = 40
MAX_HEIGHT = 1060  # an A4 page holds a panel of this height at the width of its text
COLOURS = 8  # s0 to s7 in the style sheet
_LABEL_LETTERS = 25
_MOST_NAMED = 60  # dots of a strip that carry a name each
_BAR, _GAP, _DOT_ROW, _STRIP_ROW = 9, 9, 18, 24
_LETTER = 5.9  # how wide a letter of a value is, on average
_MARGINS = {Style.BARS: 52, Style.DOTS: 16, Style.STRIP: 178}  # room behind the longest bar
_INTERVAL_MARGIN = 128  # the same where the interval is written out
_SHAPES = ("circle", "square", "diamond", "up", "down", "plus", "cross", "bar")


def draw(chart: Chart, *, folds: bool = False, heading: str = "h3") -> str:
    """The chart as one or more SVG panels under one legend; `folds`: a second drawing for narrow windows."""
    if chart.empty:
        return f'<p class="quiet">{escape(chart.title)}: nothing was measured.</p>'
    panels = [f'<div class="panel" tabindex="0">{_panel(chart.with_rows(rows))}</div>' for rows in _pages(chart)]
    if folds:
        panels = [f'<div class="wide">{"".join(panels)}</div>', f'<div class="narrow">{narrow.draw(chart)}</div>']
    first, *others = panels
    head = f'<div class="together"><{heading}>{escape(chart.title)}</{heading}>{_legend(chart)}{first}</div>'
    caption = f"<figcaption>{escape(chart.caption)}</figcaption>" if chart.caption else ""
    return f'<figure class="chart">{head}{"".join(others)}{caption}</figure>'


def _row_height(chart: Chart) -> int:
    if chart.style is Style.BARS:
        return _BAR * max(1, len(chart.series)) + _GAP
    return _STRIP_ROW if chart.style is Style.STRIP else _DOT_ROW


def _pages(chart: Chart) -> Iterator[Sequence[Row]]:
    """The rows in portions that fit on paper, as even as can be."""
    most = max(1, (MAX_HEIGHT - AXIS_HEIGHT) // _row_height(chart))
    portions = -(-len(chart.rows) // most)
    size = -(-len(chart.rows) // portions)
    for start in range(0, len(chart.rows), size):
        yield chart.rows[start : start + size]


@dataclass(frozen=True)
class _Axis:
    """The scale laid over the panel's width."""

    scale: Scale
    right: int

    def x(self, value: float) -> float:
        """Where a value stands."""
        return LABEL_WIDTH + self.scale.position(value) * (self.right - LABEL_WIDTH)


def _axis_of(chart: Chart) -> _Axis:
    alone = chart.style is Style.BARS and len(chart.series) == 1
    return _Axis(scale_of(chart), WIDTH - (_INTERVAL_MARGIN if alone else _MARGINS[chart.style]))


def _panel(chart: Chart) -> str:
    axis, step = _axis_of(chart), _row_height(chart)
    bottom = step * len(chart.rows) + 6
    parts = [f'<svg viewBox="0 0 {WIDTH} {bottom + AXIS_HEIGHT}" role="img" aria-label="{escape(chart.title)}">']
    parts.extend(_grid(chart, axis, bottom))
    for index, row in enumerate(chart.rows):
        parts.extend(_row(chart, axis, row, 4 + index * step, step))
    parts.append("</svg>")
    return "".join(parts)


def _grid(chart: Chart, axis: _Axis, bottom: int) -> Iterator[str]:
    for tick in axis.scale.ticks():
        x = axis.x(tick)
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{bottom}"/>'
        yield f'<text class="tick" x="{x:.1f}" y="{bottom + 14}">{escape(fmt.trimmed(chart.tick(tick)))}</text>'
    if chart.reference is not None:
        x = axis.x(chart.reference)
        yield f'<line class="reference" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{bottom}"/>'
    middle = (LABEL_WIDTH + axis.right) / 2
    yield f'<text class="axis" x="{middle:.0f}" y="{bottom + 32}">{escape(chart.axis)}</text>'


def _row(chart: Chart, axis: _Axis, row: Row, top: int, step: int) -> Iterator[str]:
    middle = top + (step - _GAP) / 2 if chart.style is Style.BARS else top + step / 2 - 2
    label = row.label if len(row.label) <= _LABEL_LETTERS else row.label[: _LABEL_LETTERS - 1] + "…"
    full = f"<title>{escape(row.label)}</title>" if label != row.label else ""
    yield f'<text class="label" x="{LABEL_WIDTH - 8}" y="{middle + 4:.1f}">{escape(label)}{full}</text>'
    if chart.style is Style.STRIP:
        yield from _strip(chart, axis, row, middle)
    elif chart.style is Style.DOTS:
        yield f'<line class="rule" x1="{LABEL_WIDTH}" x2="{axis.right}" y1="{middle}" y2="{middle}"/>'
        for mark in row.marks:
            yield from _dot(chart, axis, row, mark, middle)
    else:
        yield from _bars(chart, axis, row, top)
    if row.threshold is not None:
        x = axis.x(row.threshold)
        yield (
            f'<line class="threshold" x1="{x:.1f}" x2="{x:.1f}" y1="{top - 2}" y2="{top + step - 5}">'
            f"<title>threshold {escape(chart.tick(row.threshold))}</title></line>"
        )
    if not row.marks and row.note:
        yield f'<text class="note" x="{LABEL_WIDTH + 6}" y="{middle + 4:.1f}">{escape(row.note)}</text>'


def _says(chart: Chart, row: Row, mark: Mark) -> str:
    who = mark.name or chart.series[mark.series]
    ends = ""
    if mark.low is not None and mark.high is not None:
        ends = f" [{fmt.digits(mark.low)}, {fmt.digits(mark.high)}]"
    return f"<title>{escape(f'{who}, {row.label}: {chart.tick(mark.value)}{ends}')}</title>"


def _colour(chart: Chart, mark: Mark) -> str:
    return f"t-{mark.status or 'none'}" if chart.by_status else f"s{mark.series % len(_SHAPES)}"


def _bars(chart: Chart, axis: _Axis, row: Row, top: int) -> Iterator[str]:
    zero = axis.x(0.0)
    for mark in row.marks:
        y = top + mark.series * _BAR
        x = axis.x(mark.value)
        yield (
            f'<rect class="{_colour(chart, mark)}" x="{zero:.1f}" y="{y}" width="{max(0.8, x - zero):.1f}" '
            f'height="{_BAR - 1.5}">{_says(chart, row, mark)}</rect>'
        )
        yield from _interval(axis, mark, y + _BAR / 2 - 0.75)
        yield _bar_label(chart, axis, row, mark, y)
    for series, why in row.absent if row.marks else ():
        yield f'<text class="absent" x="{zero + 4:.1f}" y="{top + series * _BAR + _BAR - 1.6:.1f}">{escape(why)}</text>'


def _bar_label(chart: Chart, axis: _Axis, row: Row, mark: Mark, y: float) -> str:
    """The value behind a bar, and behind a line that it would meet."""
    text = chart.tick(mark.value)
    if len(chart.series) == 1:
        text = f"{text} {fmt.bounds_of(mark.low, mark.high)}".rstrip()
    end = axis.x(max(mark.value, mark.high or mark.value))
    for line in sorted(value for value in (row.threshold, chart.reference) if value is not None):
        if 0 <= axis.x(line) - end < 8 + _LETTER * len(text):
            end = axis.x(line)
    return f'<text class="value" x="{end + 5:.1f}" y="{y + _BAR - 1.2:.1f}">{escape(text)}</text>'


def _interval(axis: _Axis, mark: Mark, y: float) -> Iterator[str]:
    if mark.low is None or mark.high is None:
        return
    low, high = axis.x(mark.low), axis.x(mark.high)
    caps = f"M{low:.1f} {y - 2.5:.1f}v5M{high:.1f} {y - 2.5:.1f}v5"
    yield f'<path class="interval" d="{caps}M{low:.1f} {y:.1f}H{high:.1f}"/>'


def _dot(chart: Chart, axis: _Axis, row: Row, mark: Mark, y: float) -> Iterator[str]:
    if mark.low is not None and mark.high is not None:
        low, high = axis.x(mark.low), axis.x(mark.high)
        yield f'<line class="interval" x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}"/>'
    shape = _shape(_SHAPES[mark.series % len(_SHAPES)], axis.x(mark.value), y)
    yield f'<path class="{_colour(chart, mark)}" d="{shape}">{_says(chart, row, mark)}</path>'


def _strip(chart: Chart, axis: _Axis, row: Row, y: float) -> Iterator[str]:
    """Series 0 is the class: translucent dots around their median; the others stand out one by one."""
    crowd = [mark for mark in row.marks if mark.series == 0]
    places = [(axis.x(mark.value), y + ((i * 7) % 13 - 6) * 1.1) for i, mark in enumerate(crowd)]  # spread evenly
    if len(crowd) > _MOST_NAMED:  # a page of hundreds of dots that say whose they are would be slow
        dots = "".join(f"M{x:.0f} {at:.0f}h0" for x, at in places)
        yield f'<path class="dots" d="{dots}"/>'
    else:
        for mark, (x, at) in zip(crowd, places, strict=True):
            yield f'<circle class="crowd" cx="{x:.1f}" cy="{at:.1f}" r="2.4">{_says(chart, row, mark)}</circle>'
    if crowd:
        x = axis.x(median([mark.value for mark in crowd]))
        yield f'<line class="median" x1="{x:.1f}" x2="{x:.1f}" y1="{y - 10:.1f}" y2="{y + 10:.1f}"/>'
        yield (
            f'<text class="value" x="{axis.right + 6}" y="{y + 4:.1f}">median '
            f"{escape(chart.tick(median([m.value for m in crowd])))}, n = {len(crowd)}</text>"
        )
    for mark in row.marks:
        if mark.series > 0:
            yield from _dot(chart, axis, row, mark, y)


def _shape(name: str, x: float, y: float) -> str:
    r = 4.2
    if name == "circle":
        return f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0z"
    outlines = {
        "square": ((-r, -r), (r, -r), (r, r), (-r, r)),
        "diamond": ((0, -r - 1), (r + 1, 0), (0, r + 1), (-r - 1, 0)),
        "up": ((0, -r - 1), (r + 1, r), (-r - 1, r)),
        "down": ((0, r + 1), (r + 1, -r), (-r - 1, -r)),
        "plus": (
            (-2, -5),
            (2, -5),
            (2, -2),
            (5, -2),
            (5, 2),
            (2, 2),
            (2, 5),
            (-2, 5),
            (-2, 2),
            (-5, 2),
            (-5, -2),
            (-2, -2),
        ),
        "cross": (
            (-5, -3),
            (-3, -5),
            (0, -2),
            (3, -5),
            (5, -3),
            (2, 0),
            (5, 3),
            (3, 5),
            (0, 2),
            (-3, 5),
            (-5, 3),
            (-2, 0),
        ),
        "bar": ((-2, -6), (2, -6), (2, 6), (-2, 6)),
    }
    return "M" + "L".join(f"{x + dx:.1f} {y + dy:.1f}" for dx, dy in outlines[name]) + "z"


def _legend(chart: Chart) -> str:
    entries = []
    if chart.by_status:
        statuses = {mark.status for row in chart.rows for mark in row.marks}
        words = (
            ("pass", "threshold reached"),
            ("within_noise", "within noise of the threshold"),
            ("fail", "missed"),
            ("", "no threshold"),
        )
        entries = [_entry(f"t-{status or 'none'}", "square", label) for status, label in words if status in statuses]
    elif chart.style is Style.STRIP:
        used = sorted({mark.series for row in chart.rows for mark in row.marks})
        entries = [
            _entry("crowd" if i == 0 else f"s{i % len(_SHAPES)}", _SHAPES[i % len(_SHAPES)], chart.series[i])
            for i in used
        ]
    elif len(chart.series) > 1:
        shapes = ["square"] * len(_SHAPES) if chart.style is Style.BARS else _SHAPES
        entries = [
            _entry(f"s{i % len(_SHAPES)}", shapes[i % len(_SHAPES)], name) for i, name in enumerate(chart.series)
        ]
    if any(row.threshold is not None for row in chart.rows):
        entries.append(
            '<li><svg viewBox="0 0 14 14"><line class="threshold" x1="7" x2="7" y1="0" y2="14"/></svg>threshold</li>'
        )
    return f'<ul class="legend">{"".join(entries)}</ul>' if entries else ""


def _entry(css: str, shape: str, label: str) -> str:
    return (
        f'<li><svg viewBox="0 0 14 14"><path class="{css}" d="{_shape(shape, 7, 7)}"/></svg>'
        f"<bdi>{escape(label)}</bdi></li>"
    )
