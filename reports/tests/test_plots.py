"""Charts as data, and the PNG that are drawn from them."""

from __future__ import annotations

import re
import xml.etree.ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest
from conftest import known
from synthetic import SyntheticRun
from warpgrade_reports import charts, svg
from warpgrade_reports.__main__ import main
from warpgrade_reports.chart import Chart, Mark, Row, Style, scale_of
from warpgrade_reports.reading import read_run


def plots_of(folder: Path) -> dict[str, np.ndarray[Any, Any]]:
    assert main([str(folder)]) == 0
    return {path.stem: matplotlib.image.imread(path) for path in (folder / "report/plots").glob("*.png")}


def bars(values: list[float], **options: Any) -> Chart:
    rows = tuple(Row(f"row{i}", (Mark(0, value),)) for i, value in enumerate(values))
    return Chart("slug", "Title", "axis", rows, ("only",), **options)


def test_a_gpu_run_has_speed_plots_for_each_k(make_run: Callable[..., Any]) -> None:
    plots = plots_of(make_run(students=3))
    assert set(plots) == {"correctness", "speedup-k32", "speedup-k256", "throughput", "time-over-floor-k32",
                          "time-over-floor-k256"}  # fmt: skip
    for name, image in plots.items():
        assert image.std() > 0.02, f"{name} is blank"


def test_an_emulator_run_has_counter_plots(make_run: Callable[..., Any]) -> None:
    plots = plots_of(make_run(backend="emulator", students=3))
    assert {"correctness", "counters-warp-instructions", "counters-active-lanes"} <= set(plots)
    assert not [name for name in plots if name.startswith(("speedup", "throughput", "time"))]


def test_the_ladder_has_journey_plots(make_run: Callable[..., Any]) -> None:
    assert {"journey-k32", "journey-k256"} <= set(plots_of(make_run(students=0, kind="ladder")))


@pytest.mark.filterwarnings("error::UserWarning")
def test_names_that_look_like_formulas_or_other_scripts_are_drawn(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        run.submissions[0]["title"] = "$x^{2$ \\frac _a_"
        run.submissions[1]["title"] = "林 美玲\nsecond line"

    assert plots_of(make_run(change, students=3))


def test_a_class_of_many_is_drawn_no_wider_than_a_small_one(make_run: Callable[..., Any]) -> None:
    small, large = plots_of(make_run(students=3)), plots_of(make_run(students=30, name="large"))
    assert small["speedup-k32"].shape[1] == large["speedup-k32"].shape[1]


def test_every_measured_ratio_stands_in_its_chart(make_run: Callable[..., Any]) -> None:
    run = read_run(make_run(students=5))
    for chart in charts.speedup_charts(run):
        k = int(chart.slug.removeprefix("speedup-k"))
        drawn = sorted(mark.value for row in chart.rows for mark in row.marks)
        recorded = sorted(c.ratios["cusparse_default"].median for s in run.submissions for c in s.cases
                          if c.accepted and c.spec.width == k and c.ratios)  # fmt: skip
        assert drawn == pytest.approx(recorded)
        assert all(len(row.marks) + len(row.absent) == len(run.submissions) for row in chart.rows)


def test_a_crowd_with_many_references_says_how_many_have_no_mark(make_run: Callable[..., Any]) -> None:
    def change(run: SyntheticRun) -> None:
        for index, submission in enumerate(run.submissions[:4]):
            submission["role"] = "reference"
            submission["title"] = f"step {index}"

    run = read_run(make_run(change, students=9, kind="class"))
    extended = read_run(
        make_run(lambda run: [s.update(role="reference") for s in run.submissions], name="b", students=9)
    )
    assert "without a mark" not in charts.speedup_charts(run)[0].caption
    chart = charts.speedup_charts(extended)[0]
    assert "References without a mark of their own: 4." in chart.caption
    assert {"Ada Lovelace", "optimized"} <= set(chart.series), "the first and the last are there"


def test_a_bars_length_is_proportional_to_its_value() -> None:
    drawn = svg.draw(bars([1.0, 2.0, 0.5]))
    widths = [float(w) for w in re.findall(r'<rect class="s0" [^>]*width="([\d.]+)"', drawn)]
    assert widths[1] / widths[0] == pytest.approx(2.0, rel=0.01)
    assert widths[2] / widths[0] == pytest.approx(0.5, rel=0.01)


def test_a_panel_too_tall_for_paper_is_split_on_one_axis() -> None:
    drawn = svg.draw(bars([1.0] * 150 + [9.0]))
    heights = [int(h) for h in re.findall(r'<svg viewBox="0 0 960 (\d+)"', drawn)]
    assert len(heights) > 1
    assert max(heights) <= svg.MAX_HEIGHT
    axes = re.findall(r'<text class="tick"[^>]*>([^<]*)</text>', drawn)
    assert len(set(axes)) * len(heights) == len(axes), "each panel has the same ticks"


@pytest.mark.parametrize("style", list(Style))
def test_charts_are_well_formed_whatever_their_names(style: Style) -> None:
    rows = (Row('<&">', (Mark(0, 1.0, 0.9, 1.1, name="<b>"), Mark(1, 2.0)), threshold=1.5), Row("empty", note="<none>"))
    drawn = svg.draw(Chart("s", "<T> & 'x'", "<axis>", rows, ("<one>", '"two"'), style, tick=str))
    tree = xml.etree.ElementTree.fromstring(drawn)  # noqa: S314 - our own text
    said = " ".join(tree.itertext())
    for name in ('<&">', "<none>", "<axis>", "<one>", '"two"'):
        assert name in said


@pytest.mark.parametrize("values", [[0.0], [1e-9, 1e9], [5.0, 5.0], [0.97], [1e6]])
@pytest.mark.parametrize("logarithmic", [False, True])
def test_an_axis_holds_its_values_and_has_ticks(values: list[float], logarithmic: bool) -> None:
    chart = bars(values, style=Style.DOTS, logarithmic=logarithmic)
    scale = scale_of(chart)
    for value in values:
        if value > 0 or not logarithmic:
            assert scale.low <= value <= scale.high
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 12
    assert all(scale.low * 0.99 <= tick <= scale.high * 1.01 for tick in ticks)


def test_a_bars_value_stands_clear_of_the_lines_behind_it() -> None:
    def label_and_lines(value: float) -> tuple[float, float]:
        chart = bars([value, 2.0], reference=1.0)
        drawn = svg.draw(chart)
        line = float(known(re.search(r'<line class="reference" x1="([\d.]+)"', drawn))[1])
        return float(known(re.search(r'<text class="value" x="([\d.]+)"', drawn))[1]), line

    for value, beyond in ((0.98, True), (0.5, False)):
        label, line = label_and_lines(value)
        assert (label > line) == beyond
