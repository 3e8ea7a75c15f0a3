"""Rooflines of published records of an H100 and an H200, under the rates of NVIDIA's data sheets."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import Page, known
from synthetic_class import SyntheticClass
from warpgrade_reports import roofline, roofline_png, roofline_svg
from warpgrade_reports.model import Run
from warpgrade_reports.page import render_pages
from warpgrade_reports.reading import read_run
from warpgrade_reports.text import lines_of

# Data sheets of the H100 SXM and the H200 SXM: HBM 3.35 and 4.8 TB/s, fp32 67 T operations a second.
SHEETS = {"h100": 3.35e12, "h200": 4.8e12}
RATES = {"l2_bytes_per_s": 8e12, "l2_bytes": 5e7, "launch_us": 2.0, "fp32_per_s": 6.7e13}


def limited(source: Path, folder: Path, operations: Callable[..., Any] | None = None, dram: float = 4.8e12) -> Run:
    """A copy of a run whose scores.json has limits; `operations` of a width k, on fp32."""
    shutil.copytree(source, folder)
    rates = {**RATES, "dram_bytes_per_s": dram}
    records = [json.loads(line) for line in lines_of((folder / "records.jsonl").read_text(encoding="utf-8"))]
    by_key = {(r["submission"]["id"], r["case"]["id"]): r for r in records if "timing" in r and "floor" in r}
    scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    for submission in scores["submissions"]:
        for line in submission["cases"]:
            record = by_key.get((submission["id"], line["id"]))
            if record is None:
                continue
            moved, counted = record["floor"]["compulsory_bytes"], operations(line["k"]) if operations else 0
            small = moved < rates["l2_bytes"]
            bounds = {"L2" if small else "DRAM": 1e6 * moved / rates["l2_bytes_per_s" if small else "dram_bytes_per_s"]}
            bounds |= {"launch": rates["launch_us"], "fp32": 1e6 * counted / rates["fp32_per_s"]}
            bound = max(bounds, key=lambda name: bounds[name])
            line["limit"] = {"us": bounds[bound], "bound_by": bound, "bytes": moved, "operations": counted}
            line["limit"] |= {"share": bounds[bound] / record["timing"]["median_us"], "unit": "fp32"}
    scores["limits"] = {"device": "NVIDIA", "rates": rates, "source": "of a data sheet"}
    (folder / "scores.json").write_text(json.dumps(scores), encoding="utf-8")
    return read_run(folder, samples=False)


@pytest.fixture
def published(sets: Path, tmp_path: Path) -> Callable[..., Any]:
    """A copy of a published run with limits."""

    def make(card: str, lab: str, **more: Callable[..., Any]) -> Run:
        return limited(sets / card / lab, tmp_path / f"{card}-{lab}", dram=SHEETS[card], **more)

    return make


@pytest.mark.parametrize("card", ["h100", "h200"])
def test_the_best_vector_add_stays_below_the_data_sheets_bandwidth_and_near_it(
    card: str, published: Callable[..., Any]
) -> None:
    (found,) = roofline.rooflines_of(published(card, "vector_add"))
    assert not found.counts
    large = found.columns[-1]
    assert large.bound_by == "DRAM"
    assert large.limit == pytest.approx(SHEETS[card])
    assert 0.8 < known(large.best_step) < 1.0


def test_of_matmul_x_is_operations_a_byte_and_the_ladder_climbs_from_naive_to_the_best(
    published: Callable[..., Any],
) -> None:
    (found,) = roofline.rooflines_of(published("h200", "matmul", operations=lambda k: 2.0 * k**3))
    assert found.counts
    assert found.steps == ("naive", "01_shared_tiles", "02_register_tiles", "03_vector_loads", "optimized")
    square = next(c for c in found.columns if "4,096" in c.label)
    assert square.x == pytest.approx(2 * 4096 / 12), "n³ fused operations over three matrices"
    assert list(square.steps) == sorted(known(step) for step in square.steps)
    assert square.bound_by == "fp32"
    assert known(square.best_step) < 1


def test_cases_of_one_size_stand_beside_each_other_in_their_order(published: Callable[..., Any]) -> None:
    (found,) = roofline.rooflines_of(published("h100", "histogram"))
    assert len({column.x for column in found.columns}) == 1
    places, wide = roofline_svg.places(found, 0, 900)
    assert wide > 20
    assert all(after - before >= wide for before, after in pairwise(places))
    assert places[0] > wide / 2 and places[-1] < 900 - wide / 2
    assert "stand beside each other" in roofline_svg.draw(found)


def test_small_cases_stand_under_the_launch_then_under_l2_then_under_dram(published: Callable[..., Any]) -> None:
    (found,) = roofline.rooflines_of(published("h100", "sampling"))
    assert [roof.label for roof in found.roofs] == ["launch", "L2", "DRAM"]
    (start, first), (knee, rate) = found.roofs[0].corners
    assert first == pytest.approx(1e6 * start / RATES["launch_us"])
    assert first < rate == pytest.approx(RATES["l2_bytes_per_s"])
    assert knee == pytest.approx(RATES["l2_bytes_per_s"] * RATES["launch_us"] / 1e6)
    assert found.columns[0].bound_by == "launch"


@pytest.mark.parametrize("lab", ["spmm", "apsp", "gcn", "scan", "reduction"])
def test_every_solution_stands_in_the_picture_once(lab: str, published: Callable[..., Any]) -> None:
    run = published("h100", lab)
    timed = sum(s.by_case[spec.id].timing is not None for s in run.submissions for spec in run.speed_cases)
    drawn = [value for each in roofline.rooflines_of(run) for column in each.columns for value in column.steps]
    assert sum(value is not None for value in drawn) == timed > 0


def test_without_limits_there_is_no_roofline(sets: Path) -> None:
    run = read_run(sets / "h100/scan")
    assert roofline.rooflines_of(run) == []
    assert "What the device allows" not in render_pages(run)["index.html"]


def test_a_class_is_dots_and_who_failed_is_no_dot(tmp_path: Path) -> None:
    made = SyntheticClass(students=9, graphs=["arxiv"], faults=0.6)
    late = next(r for r in made.records if r["submission"]["role"] == "student" and "timing" in r)
    late["outcome"] = {"verdict": "wrong_answer"}  # after it was timed
    run = limited(made.write(tmp_path / "class"), tmp_path / "run")
    (found,) = roofline.rooflines_of(run)
    right = sorted(sum(s.by_case[spec.id].accepted for s in run.students) for spec in run.speed_cases)
    assert sorted(len(column.crowd) for column in found.columns) == right
    assert max(right) < 9
    dots = re.findall(r'class="dots"[^>]* d="([^"]+)"', roofline_svg.draw(found))
    assert sorted(path.count("M") for path in dots) == right


def test_the_page_has_the_figures_of_the_picture_as_a_table(published: Callable[..., Any]) -> None:
    run = published("h200", "vector_add")
    (found,) = roofline.rooflines_of(run)
    words = Page(render_pages(run)["index.html"]).words()
    assert "What the device allows" in words
    assert "Rates of a data sheet: DRAM 4.80 TB/s" in words
    assert f"{100 * known(found.columns[-1].best_step):.1f} %" in words


def test_the_picture_is_a_file_as_well(published: Callable[..., Any], tmp_path: Path) -> None:
    (found,) = roofline.rooflines_of(published("h200", "transpose"))
    roofline_png.save_roofline(found, tmp_path)
    assert (tmp_path / f"{found.slug}.png").read_bytes().startswith(b"\x89PNG")
    assert "ragged-8191" in (tmp_path / f"{found.slug}.svg").read_text(encoding="utf-8")
