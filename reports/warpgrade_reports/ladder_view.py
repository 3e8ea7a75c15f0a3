"""Draws the ladder's journey: what each step gained on average, two charts for each group of cases, and every
case's numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape

from warpgrade_reports import format as fmt
from warpgrade_reports import svg
from warpgrade_reports.chart import Scale, log_range
from warpgrade_reports.ladder import MOST_KERNELS, Climb, Stretch, before_and_first, fitting
from warpgrade_reports.model import Submission

_LEFT, _RIGHT, _TOP, _BOTTOM, _PANEL_WIDTH, _PANEL_HEIGHT = 62, 14, 24, 92, 470, 330
_STEP_LETTERS = 20

Values = Sequence[float | None]


def draw_climb(climb: Climb) -> str:
    """The section's contents as HTML."""
    figures = "".join(_figure(climb, stretch) for stretch in climb.charted)
    return f"{_step_table(climb)}{figures}{_case_table(climb)}"


def _step_table(climb: Climb) -> str:
    first = escape(climb.steps[0].title)
    heads = "".join(
        f'<th scope="col" class="n">{escape(s.group.title) + ": " if s.group.title else ""}over {first}</th>'
        '<th scope="col" class="n">over the step before</th>'
        for s in climb.stretches
    )
    gains = [(stretch.mean_gains, len(stretch.complete)) for stretch in climb.stretches]
    lines = []
    for index, step in enumerate(climb.steps):
        cells = []
        for values, cases in gains:
            value, before = values[index], values[index - 1] if index else None
            cells.append(f'<td class="n"><b>{fmt.ratio(value)}</b> <small>{fmt.plural(cases, "case")}</small></td>')
            cells.append(f'<td class="n">{fmt.ratio(value / before if value and before else None)}</td>')
        idea = f"<small>{escape(step.idea)}</small>" if step.idea else ""
        cells.insert(0, f'<th scope="row"><bdi>{_breakable(step.title)}</bdi>{idea}</th>{_kernel_cells(climb, step)}')
        lines.append(f"<tr>{''.join(cells)}</tr>")
    what = "warp instructions saved" if climb.counted else "speed-up"
    launched = _launched(climb)
    shared = "shared memory" if launched else "static shared memory"
    shapes = '<th scope="col" class="n">block</th><th scope="col" class="n">grid</th>' if launched else ""
    return (
        '<div class="scroll"><table class="plain steps"><caption>The steps and the cumulative ' + what + ", geometric "
        f"mean over the cases that every step has. {launched}</caption><thead><tr>"
        f'<th scope="col">step</th><th scope="col">kernels</th>{shapes}<th scope="col" class="n">{shared}</th>'
        f'<th scope="col" class="n">registers</th>{heads}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
    )


def _launched(climb: Climb) -> str:
    """Where blocks and grids are from."""
    if climb.counted:
        return "Block, grid and shared memory of the largest launch. "
    cases = ", ".join(map(escape, climb.launched))
    return f"Block, grid and shared memory as the emulator launches the same program in {cases}. " if cases else ""


def _kernel_cells(climb: Climb, step: Submission) -> str:
    """Name, block, grid, shared memory and registers, a line a kernel."""
    kernels = climb.kernels(step)
    shown, rest = kernels[:MOST_KERNELS], len(kernels) - MOST_KERNELS
    names = (
        "<br>".join(f'<code title="{escape(kernel.name)}">{escape(fitting(kernel.name))}</code>' for kernel in shown)
        or fmt.UNKNOWN
    )
    if rest > 0:
        names += f"<br><small>and {rest} more</small>"

    def column(values: Iterable[str]) -> str:
        return (
            '<td class="n">' + ("<br>".join(escape(value) or fmt.UNKNOWN for value in values) or fmt.UNKNOWN) + "</td>"
        )

    cells = [f"<td>{names}</td>"]
    if _launched(climb):
        cells += [column(kernel.block for kernel in shown), column(kernel.grid for kernel in shown)]
    cells += [column(fmt.kilobytes(kernel.shared_bytes) for kernel in shown)]
    cells += [column(fmt.count(kernel.registers) for kernel in shown)]
    return "".join(cells)


def _breakable(title: str) -> str:
    """A name as HTML that may end a line after each underscore."""
    return escape(title).replace("_", "_<wbr>")


def _case_table(climb: Climb) -> str:
    show = fmt.scaled if climb.counted else fmt.microseconds
    heads = "".join(f'<th scope="col" class="n">{_breakable(step.title)}</th>' for step in climb.steps)
    lines = []
    for path in climb.paths:
        cells = []
        for index, value in enumerate(path.values):
            before, first = before_and_first(path, index)
            gains = f"<small>{fmt.ratio(before)} · {fmt.ratio(first)}</small>" if index else ""
            cells.append(f'<td class="n">{show(value)}{gains}</td>')
        lines.append(f'<tr><th scope="row">{escape(path.spec.id)}</th>{"".join(cells)}</tr>')
    what = "Warp instructions" if climb.counted else "Time"
    return (
        f'<div class="scroll"><table class="plain cases"><caption>{what}, and below it the gain over the step before · '
        f"over {escape(climb.steps[0].title)}</caption>"
        f'<thead><tr><th scope="col">case</th>{heads}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
    )


def _figure(climb: Climb, stretch: Stretch) -> str:
    names = [step.title for step in climb.steps]
    what, show = ("Warp instructions", fmt.scaled) if climb.counted else ("Time", fmt.microseconds)
    means = stretch.mean_gains if len(stretch.complete) > 1 else None
    left = "".join(_panel(0, f"{what} a step", names, [path.values for path in stretch.paths], None, show))
    right = "".join(
        _panel(_PANEL_WIDTH + 20, "Cumulative gain", names, [path.gains for path in stretch.paths], means, fmt.ratio)
    )
    title = escape(stretch.group.named("The journey"))
    height = _TOP + _PANEL_HEIGHT + _BOTTOM
    return (
        f'<figure class="chart"><h3>{title}</h3>{_legend(stretch.group.labels, with_mean=means is not None)}'
        f'<div class="panel" tabindex="0"><svg viewBox="0 0 {svg.WIDTH} {height}" role="img" aria-label="{title}">'
        f"{left}{right}</svg></div></figure>"
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


def _legend(labels: Sequence[str], *, with_mean: bool) -> str:
    entries = [
        (f"l{i % svg.COLOURS}{' dashed' if i // svg.COLOURS % 2 else ''}", label) for i, label in enumerate(labels)
    ]
    if with_mean:
        entries.append(("mean", "geometric mean of the gains"))
    items = "".join(
        f'<li><svg viewBox="0 0 22 14" class="wide"><path class="line {css}" d="M0 7H22"/></svg>{escape(name)}</li>'
        for css, name in entries
    )
    return f'<ul class="legend">{items}</ul>'
