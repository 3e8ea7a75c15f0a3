"""Draws rooflines as SVG that carries its own colours, and their figures as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import pairwise

from warpgrade_reports import format as fmt
from warpgrade_reports.chart import Scale
from warpgrade_reports.roofline import Column, Roofline

WIDTH, _HEIGHT = 960, 522
_LEFT, _RIGHT, _TOP, _BOTTOM = 92, 944, 34, 366
_ROWS = (_BOTTOM - _TOP) // 2  # of dots, which are almost five pixels wide
_MOST_APART = 76.0  # pixels between columns that have room
_LEAST_APART = 26.0
_NOTICED = 8.0
_LABEL_LETTERS = 22
_INK, _QUIET, _GRID, _BLUE, _PATH = "#1b1d22", "#5b6270", "#d9dde3", "#0072b2", "#d55e00"
_FONT = 'font-family="Noto Sans, DejaVu Sans, sans-serif" font-size="12"'


def draw(roofline: Roofline, heading: str = "h3") -> str:
    """The picture with its legend, and its figures in a table that opens."""
    wanted, (found, _) = wishes(roofline, _LEFT, _RIGHT), places(roofline, _LEFT, _RIGHT)
    moved = any(abs(a - b) > _NOTICED for a, b in zip(wanted, found, strict=True))
    note = escape(roofline.note + (" Columns that would meet stand beside each other." if moved else ""))
    title = escape(roofline.title)
    picture = "".join(_picture(roofline))
    panel = f'<svg viewBox="0 0 {WIDTH} {_HEIGHT}" width="100%" role="img" aria-label="{title}">{picture}</svg>'
    return (
        f'<figure class="chart"><div class="together"><{heading}>{title}</{heading}>{_legend(roofline)}'
        f'<div class="panel" tabindex="0">{panel}</div></div><figcaption>{note}</figcaption></figure>'
        f"<details><summary>{title}: figures</summary>{_table(roofline)}</details>"
    )


def wishes(roofline: Roofline, left: float, right: float) -> list[float]:
    """Where the axis has each column."""
    return [left + roofline.x.position(column.x) * (right - left) for column in roofline.columns]


def places(roofline: Roofline, left: float, right: float) -> tuple[list[float], float]:
    """Where the columns stand between `left` and `right`, in their order, and how wide each may be."""
    wanted = wishes(roofline, left, right)
    apart = min(_MOST_APART if len(set(wanted)) < len(wanted) else _LEAST_APART, (right - left) / len(wanted))
    found: list[float] = []
    for at in wanted:
        found.append(max(at, found[-1] + apart) if found else max(at, left + apart / 2))
    limit = right - apart / 2
    for i in reversed(range(len(found))):  # what was pushed over the edge pushes back
        found[i] = min(found[i], limit)
        limit = found[i] - apart
    middle = sum(a - b for a, b in zip(wanted, found, strict=True)) / len(found)
    if len(set(wanted)) == 1:
        found = [at + middle for at in found]
    gaps = [after - before for before, after in pairwise(found)]
    return found, min([*gaps, _MOST_APART]) * 0.86


def _picture(roofline: Roofline) -> Iterator[str]:
    x, y = roofline.x, roofline.y

    def at_y(value: float) -> float:
        return _BOTTOM - y.position(value) * (_BOTTOM - _TOP)

    def at_x(value: float) -> float:
        return _LEFT + x.position(value) * (_RIGHT - _LEFT)

    for tick in y.ticks():
        at = at_y(tick)
        yield f'<line class="grid" stroke="{_GRID}" x1="{_LEFT}" x2="{_RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
        yield _text(_LEFT - 6, at + 4, fmt.trimmed(roofline.show_y(tick)), "end", "side", _QUIET)
    for tick in x.ticks():
        at = at_x(tick)
        yield f'<line class="grid" stroke="{_GRID}" x1="{at:.1f}" x2="{at:.1f}" y1="{_BOTTOM}" y2="{_BOTTOM + 6}"/>'
        anchor, css = ("end", "side") if at > _RIGHT - 20 else ("middle", "tick")
        yield _text(at, _BOTTOM + 19, fmt.trimmed(roofline.show_x(tick)), anchor, css, _QUIET)
    for roof in roofline.roofs:
        line = "L".join(f"{at_x(a):.1f} {at_y(b):.1f}" for a, b in roof.corners)
        yield f'<path class="roof" fill="none" stroke="{_QUIET}" stroke-width="2" d="M{line}"/>'
        (x0, y0), (x1, y1) = roof.corners[0], roof.corners[-1]
        middle = (at_x(x0) + at_x(x1)) / 2 - (0 if y0 == y1 else 26)  # a slope's name stands left of it
        yield _text(max(_LEFT + 22, middle), (at_y(y0) + at_y(y1)) / 2 - 6, roof.label, "middle", "tick", _QUIET)
    found, wide = places(roofline, _LEFT, _RIGHT)
    for column, at in zip(roofline.columns, found, strict=True):
        yield from _column(roofline, column, at, wide, at_y)
    yield _text(_RIGHT, _HEIGHT - 6, roofline.axes[0], "end", "side", _QUIET)
    yield _text(4, 12, roofline.axes[1], "start", "side", _QUIET)


def dots_of(column: Column, scale: Scale, rows: int) -> list[tuple[float, float]]:
    """The class's dots, spread over the column: from -1 to 1, and the value.

    Of those that would lie on one another, in one of so many rows, there is one: a class of a thousand has many.
    """
    found: dict[tuple[int, int], float] = {}
    for i, value in enumerate(column.crowd):
        found.setdefault(((i * 7) % 13 - 6, round(scale.position(value) * rows)), value)
    return [(across / 8, value) for (across, _), value in found.items()]


def _column(
    roofline: Roofline, column: Column, at: float, wide: float, at_y: Callable[[float], float]
) -> Iterator[str]:
    top, half = at_y(column.limit), wide / 2
    yield f'<line class="rule" stroke="{_GRID}" x1="{at:.1f}" x2="{at:.1f}" y1="{top:.1f}" y2="{_BOTTOM}"/>'
    told = f"{column.label}: limit {fmt.microseconds(column.us)}, bound by {column.bound_by}"
    yield (
        f'<path class="limit" stroke="{_INK}" stroke-width="3" d="M{at - half:.1f} {top:.1f}h{wide:.1f}">'
        f"<title>{escape(told)}</title></path>"
    )
    dots = "".join(f"M{at + x * half:.0f} {at_y(value):.0f}h0" for x, value in dots_of(column, roofline.y, _ROWS))
    if dots:
        yield f'<path class="dots" stroke="{_BLUE}" stroke-opacity=".38" stroke-width="4.8" stroke-linecap="round" fill="none" d="{dots}"/>'  # noqa: E501
    yield from _path(column.steps, at, half, at_y)
    label = column.label if len(column.label) <= _LABEL_LETTERS else column.label[: _LABEL_LETTERS - 1] + "…"
    place = f"translate({at + 4:.1f} {_BOTTOM + 36}) rotate(-45)"
    yield f'<text {_FONT} class="label" fill="{_INK}" text-anchor="end" transform="{place}">{escape(label)}</text>'


def _path(steps: Sequence[float | None], at: float, half: float, at_y: Callable[[float], float]) -> Iterator[str]:
    """The ladder from left to right through the column; a step that has no time is left out."""
    last = max(1, len(steps) - 1)
    corners = [(at - half + 2 * half * i / last, at_y(value), i) for i, value in enumerate(steps) if value is not None]
    if not corners:
        return
    line = "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in corners)
    yield f'<path class="climb" fill="none" stroke="{_PATH}" stroke-width="1.6" d="M{line}"/>'
    squares = "".join(f"M{x - 2.6:.1f} {y - 2.6:.1f}h5.2v5.2h-5.2z" for x, y, _ in corners)
    yield f'<path class="climb on" fill="{_PATH}" d="{squares}"/>'


def _text(x: float, y: float, text: str, anchor: str, css: str, fill: str) -> str:
    return (
        f'<text {_FONT} class="{css}" x="{x:.1f}" y="{y:.1f}" fill="{fill}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )


def _legend(roofline: Roofline) -> str:
    entries = [
        _entry(f'<path class="limit" stroke="{_INK}" stroke-width="3" d="M2 7h18"/>', "the case's own limit"),
        _entry(f'<path class="roof" stroke="{_QUIET}" stroke-width="2" d="M2 7h18"/>', "what the device allows"),
    ]
    if any(column.crowd for column in roofline.columns):
        entries.append(_entry(f'<circle class="crowd" fill="{_BLUE}" cx="11" cy="7" r="3"/>', "a submission"))
    if any(step for column in roofline.columns for step in column.steps):
        mark = f'<path class="climb" fill="none" stroke="{_PATH}" stroke-width="1.6" d="M2 11L20 3"/>'
        mark += f'<path class="climb on" fill="{_PATH}" d="M8.4 4.4h5.2v5.2h-5.2z"/>'
        entries.append(_entry(mark, "the ladder, left to right: " + ", ".join(roofline.steps)))
    return f'<ul class="legend">{"".join(entries)}</ul>'


def _entry(drawing: str, label: str) -> str:
    return f'<li><svg class="wide" viewBox="0 0 22 14" width="22">{drawing}</svg><bdi>{escape(label)}</bdi></li>'


def _table(roofline: Roofline) -> str:
    heads = ("case", "limit", "bound by", "class's median", "class's best", "ladder's best")
    head = "".join(f'<th scope="col"{" class=n" if i in {1, 3, 4, 5} else ""}>{h}</th>' for i, h in enumerate(heads))
    rows = "".join(
        f"<tr><td>{escape(c.label)}</td><td class=n>{fmt.microseconds(c.us)}</td><td>{escape(c.bound_by)}</td>"
        + "".join(f"<td class=n>{fmt.percent(share)}</td>" for share in (c.middle, c.best, c.best_step))
        + "</tr>"
        for c in roofline.columns
    )
    return f'<table class="plain"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
