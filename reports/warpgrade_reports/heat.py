"""Tables whose cells are shaded by their number: a class by case, a sweep, how many stand between two steps.

The number stands in the cell, so a shade only helps the eye. Style sheet and PNG have the same nine shades: 4 is plain,
below it warm, above it blue.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from warpgrade_reports import format as fmt

SHADES = ("#f0a36b", "#f5bd93", "#f9d5b9", "#fcebdd", "#f4f6f8", "#dfeefa", "#bedcf3", "#97c5ea", "#6caadd")
NOTHING = "#d9dde3"  # the grey of a cell without a number
_PLAIN = 4
_WIDTH, _LEFT, _TOP, _ROW, _ON_PAPER = 960, 200, 112, 14, 64  # of a panel for paper; rows on a page
_FONT = 'font-family="Noto Sans, DejaVu Sans, sans-serif" font-size="11" fill="#1b1d22"'
_OUTER = 0.04  # of the values, at each end, lie beyond the outermost shades


@dataclass(frozen=True)
class Cell:
    """One cell: its text, its shade (none: grey), and whether it is bold."""

    text: str
    shade: int | None = None
    strong: bool = False


@dataclass(frozen=True)
class Heat:
    """Rows of shaded cells; a head is its upper and its lower line, and equal upper lines beside each other are one."""

    corner: str
    heads: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


@dataclass(frozen=True)
class Shades:
    """Shades of a ratio by its logarithm: `reach` (above 1) and its inverse are where the outermost begin."""

    reach: float

    def of(self, ratio: float) -> int:
        """The shade of a ratio above 0; of 1 it is the plain one."""
        place = _PLAIN + round((_PLAIN - 0.5) * math.log(ratio) / math.log(self.reach))
        return min(len(SHADES) - 1, max(0, place))

    def legend(self) -> list[tuple[int, str]]:
        """Some shades with the ratio in the middle of each, the ends with what lies beyond."""
        ends = {0: f"{fmt.brief(1 / self.reach)}× and less", len(SHADES) - 1: f"{fmt.brief(self.reach)}× and more"}
        inner = {shade: f"{fmt.brief(self.reach ** ((shade - _PLAIN) / (_PLAIN - 0.5)))}×" for shade in (2, 4, 6)}
        return sorted((ends | inner).items())


def shades_of(ratios: Iterable[float]) -> Shades:
    """Shades that tell these ratios apart; a few far ones do not take the others' shades."""
    sizes = sorted(abs(math.log(ratio)) for ratio in ratios if ratio > 0)
    most = sizes[min(len(sizes) - 1, int(len(sizes) * (1 - _OUTER)))] if sizes else 0.0
    return Shades(math.exp(max(most, math.log(1.25))))


def share_shade(share: float) -> int:
    """The shade of a share of 0..1: plain of none, the darkest blue from a half."""
    return _PLAIN + min(_PLAIN, math.ceil(2 * _PLAIN * share))


def draw(heat: Heat, *, caption: str = "") -> str:
    """The table as HTML."""
    lower = any(below for _, below in heat.heads)
    spans = _spans([above for above, _ in heat.heads])
    scope = "colgroup" if lower else "col"
    head = "".join(
        f'<th colspan="{span}" scope="{scope}" class="vertical"><span>{escape(text)}</span></th>'
        if span > 1
        else f'<th scope="{scope}" class="vertical"><span>{escape(text)}</span></th>'
        for text, span in spans
    )
    corner = f'<th scope="col" class="corner"{" rowspan=2" if lower else ""}>{escape(heat.corner)}</th>'
    head = f"<tr>{corner}{head}</tr>"
    if lower:
        head += "<tr>" + "".join(f'<th scope="col" class="k">{escape(text)}</th>' for _, text in heat.heads) + "</tr>"
    body = "\n".join(
        f'<tr><th scope="row"><bdi>{escape(label)}</bdi></th>{"".join(map(_cell, cells))}</tr>'
        for label, cells in heat.rows
    )
    told = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f'<table class="matrix heat">{told}<thead>{head}</thead><tbody>\n{body}\n</tbody></table>'


def _cell(cell: Cell) -> str:
    css = "none" if cell.shade is None else f"q{cell.shade}"
    text = escape(cell.text)
    return f"<td class={css}>{f'<b>{text}</b>' if cell.strong else text}</td>"


def _spans(texts: Sequence[str]) -> list[tuple[str, int]]:
    spans: list[tuple[str, int]] = []
    for text in texts:
        if spans and spans[-1][0] == text:
            spans[-1] = (text, spans[-1][1] + 1)
        else:
            spans.append((text, 1))
    return spans


def legend(entries: Sequence[tuple[int | None, str]]) -> str:
    """What shades mean, as HTML."""
    items = (
        f'<li><span class="swatch {"none" if shade is None else f"q{shade}"}"></span>{escape(text)}</li>'
        for shade, text in entries
    )
    return f'<ul class="legend">{"".join(items)}</ul>'


def panels(heat: Heat) -> str:
    """The shades alone as SVG that carries its colours, a page at a time: thousands of cells take a PDF long.

    Each is a block: as lines of one paragraph the first two would have to stand on one page.
    """
    portions = range(0, len(heat.rows), _ON_PAPER)
    return "".join(f"<div>{_panel(heat, heat.rows[start : start + _ON_PAPER])}</div>" for start in portions)


def _panel(heat: Heat, rows: Sequence[tuple[str, Sequence[Cell]]]) -> str:
    step = (_WIDTH - _LEFT) / len(heat.heads)
    boxes: dict[str, list[str]] = {}
    texts = []
    for x, head in enumerate(heat.heads):
        at = _LEFT + (x + 0.65) * step
        text = escape(" ".join(filter(None, head)))
        texts.append(f'<text {_FONT} transform="translate({at:.0f} {_TOP - 5}) rotate(-90)">{text}</text>')
    for y, (label, cells) in enumerate(rows):
        texts.append(f'<text {_FONT} x="0" y="{_TOP + y * _ROW + 11}">{escape(label[:28])}</text>')
        for x, cell in enumerate(cells):
            colour = NOTHING if cell.shade is None else SHADES[cell.shade]
            box = f"M{_LEFT + x * step:.1f} {_TOP + y * _ROW}h{step - 1:.1f}v{_ROW - 1}h{1 - step:.1f}z"
            boxes.setdefault(colour, []).append(box)
    paths = "".join(f'<path fill="{colour}" d="{"".join(found)}"/>' for colour, found in boxes.items())
    size = f"0 0 {_WIDTH} {_TOP + len(rows) * _ROW}"
    label = escape(heat.corner)
    return f'<svg viewBox="{size}" width="100%" role="img" aria-label="{label}">{paths}{"".join(texts)}</svg>'
