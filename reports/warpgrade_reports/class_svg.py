"""The class report's charts as SVG that carries its own colours: a PDF's renderer gives it no style sheet.

In a browser the page's style sheet overrides the attributes, so the charts follow light and dark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape

from warpgrade_reports import format as fmt
from warpgrade_reports.chart import Scale, log_range
from warpgrade_reports.class_stats import Box, CaseLine

WIDTH = 960
_LEFT, _RIGHT = 172, 790
_INK, _QUIET, _GRID, _BLUE = "#1b1d22", "#5b6270", "#d9dde3", "#0072b2"
_FONT = 'font-family="Noto Sans, DejaVu Sans, sans-serif"'
STATUSES = (
    ("pass", "reached", "#1c7ed6"),
    ("within_noise", "within noise", "#b98900"),
    ("fail", "missed", "#d9480f"),
    ("incorrect", "not correct", "#8f3f97"),
    ("not_judged", "not judged", "#9aa3b0"),
    ("not_measured", "not measured", "#c9ced6"),
)


def _open(height: float, label: str, width: float = WIDTH) -> str:
    return f'<svg viewBox="0 0 {width} {height:.0f}" width="100%" role="img" aria-label="{escape(label)}">'


def _text(
    x: float, y: float, text: str, *, css: str = "", anchor: str = "start", size: float = 12, fill: str = _INK
) -> str:
    return (
        f'<text {_FONT} class="{css}" x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )


def histogram(counts: Sequence[int], title: str, axis: str, top: float, *, narrow: bool = False) -> str:
    """Bars of equal bins from 0 to `top`; `narrow`: for a phone."""
    height, base, floor = 240, 190.0, 14.0
    left, right, width, counted = (26, 322, 340, 12.0) if narrow else (_LEFT, _RIGHT + 120, WIDTH, 9.5)
    most = max([*counts, 1])
    step = (right - left) / len(counts)
    parts = [_open(height, title, width)]
    for tick in Scale(0, most, logarithmic=False).ticks():
        if tick != int(tick) or tick == 0:
            continue
        y = base - tick / most * (base - floor)
        parts.append(f'<line class="grid" stroke="{_GRID}" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(left - 8, y + 4, str(int(tick)), css="tick", anchor="end", size=12, fill=_QUIET))
    for index, count in enumerate(counts):
        tall = count / most * (base - floor)
        x = left + index * step
        parts.append(
            f'<rect class="s0" fill="{_BLUE}" x="{x + 1:.1f}" y="{base - tall:.1f}" width="{step - 2:.1f}" '
            f'height="{tall:.1f}"><title>{count}</title></rect>'
        )
        if count:
            parts.append(
                _text(
                    x + step / 2, base - tall - 4, str(count), css="value", anchor="middle", size=counted, fill=_QUIET
                )
            )
    for tick in range(0, len(counts) + 1, max(1, len(counts) // (5 if narrow else 10))):
        x = left + tick * step
        label = fmt.trimmed(fmt.digits(top * tick / len(counts)))
        parts.append(_text(x, base + 16, label, css="tick", anchor="middle", size=12, fill=_QUIET))
    parts.append(f'<line stroke="{_QUIET}" x1="{left}" x2="{right}" y1="{base}" y2="{base}"/>')
    parts.append(_text((left + right) / 2, base + 36, axis, css="axis", anchor="middle", size=12, fill=_QUIET))
    return "".join([*parts, "</svg>"])


def boxes(rows: Sequence[tuple[str, Box | None, float | None]], axis: str, title: str) -> str:
    """A box a row on a logarithmic axis, with the threshold where there is one."""
    step, top = 26, 8
    bottom = top + step * len(rows)
    values = [v for _, box, t in rows for v in ((box.low, box.high, *box.beyond) if box else ()) + ((t,) if t else ())]
    scale = Scale(*log_range([*values, 1.0]), logarithmic=True)
    parts = [_open(bottom + 44, title)]

    def x(value: float) -> float:
        return _LEFT + scale.position(value) * (_RIGHT - _LEFT)

    for tick in scale.ticks():
        parts.append(
            f'<line class="grid" stroke="{_GRID}" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="0" y2="{bottom}"/>'
        )
        label = fmt.trimmed(fmt.ratio(tick))
        parts.append(_text(x(tick), bottom + 14, label, css="tick", anchor="middle", size=12, fill=_QUIET))
    if scale.low <= 1 <= scale.high:
        parts.append(
            f'<line class="reference" stroke="{_QUIET}" stroke-dasharray="4 3" x1="{x(1):.1f}" x2="{x(1):.1f}" y1="0" '
            f'y2="{bottom}"/>'
        )
    for index, (label, box, threshold) in enumerate(rows):
        parts.extend(_box(label, box, threshold, top + index * step, step, x))
    parts.append(_text((_LEFT + _RIGHT) / 2, bottom + 34, axis, css="axis", anchor="middle", size=12, fill=_QUIET))
    return "".join([*parts, "</svg>"])


def _box(
    label: str, box: Box | None, threshold: float | None, top: float, step: float, x: Callable[[float], float]
) -> Iterator[str]:
    middle = top + step / 2 - 2
    yield _text(_LEFT - 8, middle + 4, label, css="label", anchor="end")
    if box is None:
        yield _text(_LEFT + 6, middle + 4, "not measured", css="note", size=12, fill=_QUIET)
        return
    yield f'<path class="interval" stroke="{_INK}" fill="none" d="M{x(box.low):.1f} {middle:.1f}H{x(box.high):.1f}"/>'
    wide = max(1.0, x(box.third) - x(box.first))
    yield (
        f'<rect class="box" fill="#cfe3f2" stroke="{_BLUE}" x="{x(box.first):.1f}" y="{middle - 7:.1f}" '
        f'width="{wide:.1f}" height="14"/>'
    )
    yield (
        f'<line class="median" stroke="{_BLUE}" stroke-width="2.6" x1="{x(box.median):.1f}" x2="{x(box.median):.1f}" '
        f'y1="{middle - 8:.1f}" y2="{middle + 8:.1f}"/>'
    )
    for value in box.beyond:
        yield f'<circle class="outlier" fill="none" stroke="{_BLUE}" cx="{x(value):.1f}" cy="{middle:.1f}" r="2.2"/>'
    if threshold is not None:
        yield (
            f'<line class="threshold" stroke="{_INK}" stroke-width="2.2" x1="{x(threshold):.1f}" '
            f'x2="{x(threshold):.1f}" y1="{top:.1f}" y2="{top + step - 4:.1f}">'
            f"<title>threshold {escape(fmt.ratio(threshold))}</title></line>"
        )
    yield _text(
        _RIGHT + 8, middle + 4, f"median {fmt.ratio(box.median)}, n = {box.count}", css="value", size=12, fill=_QUIET
    )


def pass_rates(lines: Sequence[CaseLine], title: str) -> str:
    """For each case how the class stands to its threshold, as one bar of shares."""
    step, top = 21, 28
    parts = [_open(top + step * len(lines) + 6, title)]
    place = float(_LEFT)
    for _, label, colour in STATUSES:
        parts.append(f'<rect fill="{colour}" x="{place:.0f}" y="4" width="11" height="11"/>')
        parts.append(_text(place + 15, 14, label, size=12))
        place += 34 + 6.6 * len(label)
    for index, line in enumerate(lines):
        y = top + index * step
        total = sum(line.statuses.values())
        parts.append(_text(_LEFT - 8, y + 12, line.spec.id, css="label", anchor="end"))
        x = float(_LEFT)
        for status, label, colour in STATUSES:
            count = line.statuses[status]
            wide = (_RIGHT - _LEFT) * count / total if total else 0
            if count:
                parts.append(
                    f'<rect fill="{colour}" x="{x:.1f}" y="{y}" width="{wide:.1f}" height="15">'
                    f"<title>{escape(label)}: {count}</title></rect>"
                )
            if wide > 22:  # noqa: PLR2004 - a number fits
                parts.append(
                    _text(x + wide / 2, y + 11.5, str(count), css="on", anchor="middle", size=12, fill="#ffffff")
                )
            x += wide
        reached = line.statuses["pass"] + line.statuses["within_noise"]
        share = f"{100 * reached / total:.0f} % reached" if total else ""
        parts.append(_text(_RIGHT + 8, y + 12, share, css="value", size=12, fill=_QUIET))
    return "".join([*parts, "</svg>"])
