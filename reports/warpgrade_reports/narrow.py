"""Draws a chart of bars for a narrow window: the label and the value stand above their bar, letters are 13 pixels."""

from __future__ import annotations

from collections.abc import Iterator

from warpgrade_reports import format as fmt
from warpgrade_reports.chart import Chart, Row, Scale, scale_of
from warpgrade_reports.format import escape

WIDTH = 340
_LEFT, _RIGHT = 6, 334
_ROW, _BAR_TOP, _BAR = 40, 19, 12
_AXIS = 44
_LABEL_LETTERS = 22


def draw(chart: Chart) -> str:
    """The chart as one SVG, WIDTH units wide; of a chart of one series."""
    scale = scale_of(chart)
    bottom = _ROW * len(chart.rows) + 4
    parts = [f'<svg viewBox="0 0 {WIDTH} {bottom + _AXIS}" role="img" aria-label="{escape(chart.title)}">']
    parts.extend(_axis(chart, scale, bottom))
    for index, row in enumerate(chart.rows):
        parts.extend(_row(chart, scale, row, index * _ROW))
    return "".join([*parts, "</svg>"])


def _x(scale: Scale, value: float) -> float:
    return _LEFT + scale.position(value) * (_RIGHT - _LEFT)


def _axis(chart: Chart, scale: Scale, bottom: int) -> Iterator[str]:
    ticks = scale.ticks()
    step = -(-len(ticks) // 5)  # more would run into one another
    for tick in ticks[::step]:
        x = _x(scale, tick)
        anchor = "start" if x < _LEFT + 20 else "end" if x > _RIGHT - 20 else "middle"
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{bottom}"/>'
        yield (
            f'<text class="tick" style="text-anchor:{anchor}" x="{x:.1f}" y="{bottom + 15}">'
            f"{escape(fmt.trimmed(chart.tick(tick)))}</text>"
        )
    if chart.reference is not None:
        x = _x(scale, chart.reference)
        yield f'<line class="reference" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{bottom}"/>'
    yield f'<text class="axis" x="{WIDTH / 2}" y="{bottom + 36}">{escape(chart.axis)}</text>'


def _row(chart: Chart, scale: Scale, row: Row, top: int) -> Iterator[str]:
    label = row.label if len(row.label) <= _LABEL_LETTERS else row.label[: _LABEL_LETTERS - 1] + "…"
    yield f'<text x="{_LEFT}" y="{top + 14}">{escape(label)}<title>{escape(row.label)}</title></text>'
    zero, middle = _x(scale, 0.0), top + _BAR_TOP + _BAR / 2
    for mark in row.marks[:1]:
        x = _x(scale, mark.value)
        yield (
            f'<rect class="t-{mark.status or "none"}" x="{zero:.1f}" y="{top + _BAR_TOP}" '
            f'width="{max(0.8, x - zero):.1f}" height="{_BAR}"/>'
        )
        if mark.low is not None and mark.high is not None:
            low, high = _x(scale, mark.low), _x(scale, mark.high)
            caps = f"M{low:.1f} {middle - 3:.1f}v6M{high:.1f} {middle - 3:.1f}v6"
            yield f'<path class="interval" d="{caps}M{low:.1f} {middle:.1f}H{high:.1f}"/>'
        text = f"{chart.tick(mark.value)} {fmt.bounds_of(mark.low, mark.high)}".rstrip()
        yield f'<text class="value" style="text-anchor:end" x="{_RIGHT}" y="{top + 14}">{escape(text)}</text>'
    if not row.marks and row.note:
        yield f'<text class="note" style="text-anchor:end" x="{_RIGHT}" y="{top + 14}">{escape(row.note)}</text>'
    if row.threshold is not None:
        x = _x(scale, row.threshold)
        yield (
            f'<line class="threshold" x1="{x:.1f}" x2="{x:.1f}" y1="{top + _BAR_TOP - 3}" '
            f'y2="{top + _BAR_TOP + _BAR + 3}"><title>threshold {escape(chart.tick(row.threshold))}</title></line>'
        )
