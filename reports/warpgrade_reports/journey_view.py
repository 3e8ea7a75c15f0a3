"""Draws the ladder's journey: a table of steps and two charts, time and cumulative gain."""

from __future__ import annotations

from markupsafe import Markup, escape

from warpgrade_reports import format as fmt
from warpgrade_reports.journey import Journey


class JourneyView:
    """The journey's section of the page."""

    def __init__(self, journey: Journey) -> None:
        self._journey = journey

    @property
    def figure(self) -> Markup:
        """The charts."""
        return Markup("")

    @property
    def table(self) -> Markup:
        """A column a step, a row a case: its value and the gain so far."""
        journey = self._journey
        show = fmt.scaled if journey.counted else fmt.microseconds
        heads = "".join(f'<th scope="col" class="n">{escape(step.title)}</th>' for step in journey.steps)
        lines = []
        for path in journey.paths:
            cells = "".join(f'<td class="n">{show(value)}<small>{fmt.ratio(gain)}</small></td>'
                            for value, gain in zip(path.values, path.gains, strict=True))
            lines.append(f'<tr><th scope="row">{escape(path.spec.id)}</th>{cells}</tr>')
        return Markup(f'<table class="plain cases"><thead><tr><th scope="col">case</th>{heads}</tr></thead>'  # noqa: S704
                      f"<tbody>{''.join(lines)}</tbody></table>")
