"""The charts of one student's view (warpgrade.feedback.v1): for the feedback page, and for a notebook.

Python's standard library is enough, so that a notebook draws them with what is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from warpgrade_reports import format as fmt
from warpgrade_reports.chart import Chart, Mark, Row, Style
from warpgrade_reports.grouping import groups_of
from warpgrade_reports.model import CaseSpec
from warpgrade_reports.verdicts import style_of

View = dict[str, Any]


@dataclass(frozen=True)
class _Width:
    """How the view's lab calls a case's k."""

    width: str


def speed_charts(view: View) -> list[Chart]:
    """The student's speed-ups with intervals and thresholds, a chart a group of cases."""
    if not view.get("speed_measured"):
        return []
    speed = [case for case in view["cases"] if case.get("kind") == "speed" and "k" in case]
    by_id = {case["id"]: case for case in speed}
    specs = [CaseSpec(id=case["id"], dataset=case["dataset"], width=case["k"], kind="speed") for case in speed]
    baseline = next((case["baseline"] for case in speed if case.get("baseline")), "the baseline").replace("_", " ")
    charts = []
    for group in groups_of(_Width(view["terms"]["width"]), specs):
        rows = [_speed_row(label, by_id[spec.id]) for spec, label in zip(group.specs, group.labels, strict=True)]
        chart = Chart(
            f"speedup-{group.slug}",
            group.named("Speed-up"),
            f"speed-up over {baseline}, longer is faster",
            tuple(rows),
            (view["person"].get("name", ""),),
            reference=1.0,
            by_status=True,
            tick=fmt.ratio,
        )
        if not chart.empty:
            charts.append(chart)
    return charts


def _speed_row(label: str, case: dict[str, Any]) -> Row:
    ratio = case.get("ratio") if case["verdict"] == "accepted" else None
    status = case.get("threshold_status", "") if "threshold" in case else ""
    marks = (Mark(0, ratio["median"], ratio.get("low"), ratio.get("high"), status),) if ratio else ()
    note = "not measured" if case["verdict"] == "accepted" else style_of(case["verdict"]).label
    return Row(label, marks, case.get("threshold"), note)


def states_chart(view: View) -> Chart:
    """Each case's state: a column a state, right ones first."""
    found = sorted({case["verdict"] for case in view["cases"]}, key=lambda verdict: (verdict != "accepted", verdict))
    labels = [style_of(verdict).label for verdict in found]
    rows = [
        Row(case["id"], (Mark(found.index(case["verdict"]), float(found.index(case["verdict"]))),))
        for case in view["cases"]
    ]

    def tick(value: float) -> str:
        return labels[int(value)] if value.is_integer() and 0 <= value < len(labels) else ""

    return Chart(
        "states",
        "Cases",
        "state",
        tuple(rows),
        tuple(labels),
        style=Style.DOTS,
        tick=tick,
        limits=(-0.5, len(found) - 0.5),
    )
