"""Draws the ladder's journey: what each step gained on average, two charts for each K, and every case's numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape

from warpgrade_reports import format as fmt
from warpgrade_reports import svg
from warpgrade_reports.chart import Scale, log_range
from warpgrade_reports.journey import Journey, Path

_LEFT, _RIGHT, _TOP, _BOTTOM, _PANEL_WIDTH, _PANEL_HEIGHT = 62, 14, 24, 92, 470, 330
_STEP_LETTERS = 18

Values = Sequence[float | None]


def draw_journey(journey: Journey) -> str:
    """The section's contents as HTML."""
    figures = "".join(_figure(journey, k) for k in journey.charted_ks)
    return f"{_step_table(journey)}{figures}{_case_table(journey)}"


def _step_table(journey: Journey) -> str:
    heads = "".join(
        f'<th scope="col" class="n">K={k}: over {escape(journey.steps[0].title)}</th>'
        f'<th scope="col" class="n">K={k}: over the step before</th>'
        for k in journey.ks
    )
    gains = {k: journey.mean_gains(k) for k in journey.ks}
    lines = []
    for index, step in enumerate(journey.steps):
        cells = []
        for k in journey.ks:
            (value, cases), before = gains[k][index], gains[k][index - 1][0] if index else None
            cells.append(f'<td class="n"><b>{fmt.ratio(value)}</b> <small>{fmt.plural(cases, "case")}</small></td>')
            cells.append(f'<td class="n">{fmt.ratio(value / before if value and before else None)}</td>')
        lines.append(f'<tr><th scope="row"><bdi>{escape(step.title)}</bdi></th>{"".join(cells)}</tr>')
    what = "warp instructions saved" if journey.counted else "speed-up"
    return (
        '<table class="plain"><caption>Cumulative ' + what + ", geometric mean over the cases that every step has"
        f'</caption><thead><tr><th scope="col">step</th>{heads}</tr></thead><tbody>{"".join(lines)}</tbody></table>'
    )


def _case_table(journey: Journey) -> str:
    show = fmt.scaled if journey.counted else fmt.microseconds
    heads = "".join(f'<th scope="col" class="n">{escape(step.title)}</th>' for step in journey.steps)
    lines = []
    for path in journey.paths:
        cells = "".join(
            f'<td class="n">{show(value)}<small>{fmt.ratio(gain)}</small></td>'
            for value, gain in zip(path.values, path.gains, strict=True)
        )
        lines.append(f'<tr><th scope="row">{escape(path.spec.id)}</th>{cells}</tr>')
    what = "Warp instructions" if journey.counted else "Time"
    return (
        f'<table class="plain cases"><caption>{what}, and below it the gain over the first step that has one</caption>'
        f'<thead><tr><th scope="col">case</th>{heads}</tr></thead><tbody>{"".join(lines)}</tbody></table>'
    )


def _figure(journey: Journey, k: int) -> str:
    paths = [path for path in journey.paths if path.spec.k == k]
    names = [step.title for step in journey.steps]
    what, show = ("Warp instructions", fmt.scaled) if journey.counted else ("Time", fmt.microseconds)
    means = [gain for gain, _ in journey.mean_gains(k)]
    left = "".join(_panel(0, f"{what} a step", names, [path.values for path in paths], None, show))
    right = "".join(
        _panel(_PANEL_WIDTH + 20, "Cumulative gain", names, [path.gains for path in paths], means, fmt.ratio)
    )
    title = f"The journey, K = {k}"
    height = _TOP + _PANEL_HEIGHT + _BOTTOM
    return (
        f'<figure class="chart"><h4>{title}</h4>{_legend(paths)}'
        f'<svg viewBox="0 0 {svg.WIDTH} {height}" role="img" aria-label="{title}">{left}{right}</svg></figure>'
    )


def _panel(
    x0: int,
    title: str,
    names: Sequence[str],
    lines: Sequence[Values],
    bold: Values | None,
    show: Callable[[float | None], str],
) -> Iterator[str]:
    scale = Scale(*log_range(value for line in lines for value in line if value), logarithmic=True)
    left, right, bottom = x0 + _LEFT, x0 + _PANEL_WIDTH - _RIGHT, _TOP + _PANEL_HEIGHT
    columns = [left + (right - left) * (i + 0.5) / len(names) for i in range(len(names))]

    def y(value: float) -> float:
        return bottom - scale.position(value) * _PANEL_HEIGHT

    yield f'<text class="axis" x="{(left + right) / 2:.0f}" y="12">{escape(title)}</text>'
    for tick in scale.ticks():
        yield f'<line class="grid" x1="{left}" x2="{right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        label = escape(fmt.trimmed(show(tick)))
        yield f'<text class="tick" style="text-anchor:end" x="{left - 6}" y="{y(tick) + 4:.1f}">{label}</text>'
    for x, name in zip(columns, names, strict=True):
        label = name if len(name) <= _STEP_LETTERS else name[: _STEP_LETTERS - 1] + "…"
        yield (
            f'<text class="tick" style="text-anchor:end" transform="translate({x + 4:.1f} {bottom + 14}) rotate(-38)">'
            f"{escape(label)}</text>"
        )
    for index, line in enumerate(lines):
        yield from _line(f"l{index % svg.COLOURS}", index // svg.COLOURS, columns, [v and y(v) for v in line])
    if bold:
        yield from _line("mean", 0, columns, [v and y(v) for v in bold])


def _line(css: str, dashes: int, columns: Sequence[float], heights: Values) -> Iterator[str]:
    points = [(x, y) for x, y in zip(columns, heights, strict=True) if y is not None]
    if points:
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        yield f'<path class="line {css}{" dashed" if dashes % 2 else ""}" d="{path}"/>'


def _legend(paths: Sequence[Path]) -> str:
    entries = [
        (f"l{i % svg.COLOURS}{' dashed' if i // svg.COLOURS % 2 else ''}", path.spec.dataset)
        for i, path in enumerate(paths)
    ]
    entries.append(("mean", "geometric mean of the gains"))
    items = "".join(
        f'<li><svg viewBox="0 0 22 14" class="wide"><path class="line {css}" d="M0 7H22"/></svg>{escape(name)}</li>'
        for css, name in entries
    )
    return f'<ul class="legend">{items}</ul>'
