"""The charts of a run's page."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from warpgrade_reports import charts, class_stats, class_svg, roofline, roofline_svg, svg
from warpgrade_reports.chart import Chart
from warpgrade_reports.learnt import estimate_charts
from warpgrade_reports.model import Run

_DISTRIBUTED = 10  # students from whom on their points are drawn


def figures_of(run: Run, *, as_files: bool) -> dict[str, Any]:
    """The charts, drawn in the page; a mark for each of thousands of students is left to the files in plots/."""

    def drawn(chart: Chart) -> Markup:
        if as_files and not chart.empty:
            picture = '<figure class="chart"><img src="plots/{}.png" alt="{}" loading="lazy" width="100%"></figure>'
            return Markup(picture).format(chart.slug, chart.title)  # noqa: S704 - format() escapes both
        return Markup(svg.draw(chart))  # noqa: S704 - svg.py escapes every text

    timed = run.speed_measured
    return {
        "speed": [drawn(chart) for chart in charts.speedup_charts(run)] if timed else [],
        "throughput": drawn(charts.throughput_chart(run)) if timed else "",
        "rooflines": [Markup(_roofline(each, as_files=as_files)) for each in roofline.rooflines_of(run)],  # noqa: S704
        "floor": [drawn(chart) for chart in charts.floor_charts(run)] if timed else [],
        "estimates": [drawn(chart) for chart in estimate_charts(run)] if run.on_emulator else [],
        "counters": [drawn(chart) for chart in charts.counter_charts(run)] if run.on_emulator else [],
    }


def points_figure(run: Run) -> Markup:
    """How points are distributed, of a class that a table does not tell at a glance."""
    if len(run.students) < _DISTRIBUTED:
        return Markup()
    drawn = class_svg.histogram(class_stats.score_bins(run), "Distribution of points", "points", run.max_points)
    return Markup(f'<figure class="chart"><div class="panel" tabindex="0">{drawn}</div></figure>')  # noqa: S704 - numbers


def _roofline(each: roofline.Roofline, *, as_files: bool) -> str:
    """roofline_svg.py escapes every text; of a large class it has no dots, which stand in the file in plots/."""
    return roofline_svg.draw(roofline.without_crowd(each) if as_files else each)
