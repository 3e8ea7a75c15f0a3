"""Pictures of a class: shaded tables and ranked times hold the records' figures, and nothing where nothing is known."""

from __future__ import annotations

import copy
import itertools
import json
import re
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from conftest import Page, known
from synthetic_class import SyntheticClass
from test_feedback import case, view_of
from warpgrade_reports import class_heat, heat, ranks
from warpgrade_reports import format as fmt
from warpgrade_reports.analysis import mean_speedup, speedup
from warpgrade_reports.class_report import main
from warpgrade_reports.feedback import render_html
from warpgrade_reports.ladder import climbers
from warpgrade_reports.model import Run
from warpgrade_reports.reading import read_run
from warpgrade_reports.source import ReportInputError
from warpgrade_reports.text import lines_of
from warpgrade_reports.verdicts import style_of


@pytest.fixture(scope="module")
def class_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = SyntheticClass(students=24, seed=3, graphs=["arxiv", "ddi"], faults=0.6)
    folder = made.write(tmp_path_factory.mktemp("class") / "run")
    scores = (folder / "scores.json").read_text(encoding="utf-8")
    (folder / "scores.json").write_text(scores.replace('"threshold": 1.0', '"threshold": 1.25'), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def run(class_folder: Path) -> Run:
    return read_run(class_folder)


def test_each_cell_of_the_class_by_case_has_its_speed_up_or_its_verdicts_letter(run: Run) -> None:
    table, _ = class_heat.speed_heat(run)
    assert [above for above, _ in table.heads] == ["mean", "arxiv", "arxiv", "ddi", "ddi"]
    by_title = {s.title: s for s in run.students}
    assert {label for label, _ in table.rows} == set(by_title)
    grey = 0
    for label, cells in table.rows:
        for spec, cell in zip(run.speed_cases, cells[1:], strict=True):
            result = by_title[label].by_case[spec.id]
            ratio = speedup(result)
            grey += ratio is None
            assert cell.text == (fmt.brief(ratio.median) if ratio else style_of(result.verdict).letter)
            assert (cell.shade is None) == (ratio is None), "grey is what has no figure"
    assert grey > 0


def test_the_fastest_student_stands_first_and_who_has_no_time_last(run: Run) -> None:
    by_title = {s.title: mean_speedup(s, run.speed_cases).value for s in run.students}
    means = [by_title[label] for label, _ in class_heat.speed_heat(run)[0].rows]
    known = [mean for mean in means if mean is not None]
    assert known == sorted(known, reverse=True)
    assert means == known + [None] * (len(means) - len(known))


def test_shades_grow_with_the_ratio_and_an_equal_one_is_plain() -> None:
    shades = heat.shades_of([0.1, 0.5, 1.0, 2.0, 30.0] * 20)
    found = [shades.of(ratio) for ratio in (0.001, 0.1, 0.4, 1.0, 2.5, 30.0, 1e6)]
    assert found == sorted(found)
    assert (found[0], found[3], found[-1]) == (0, 4, 8)


def test_one_far_ratio_does_not_take_the_shades_of_all_others() -> None:
    shades = heat.shades_of([0.5, 1.0, 2.0] * 20 + [5000.0])
    assert shades.of(2.0) > 6


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0041, ".004"), (0.0812, "0.08"), (0.0962, "0.1"), (1.26, "1.3"), (9.96, "10"), (812.4, "812"), (4321.0, "4k")],
)
def test_a_brief_number_fits_into_a_narrow_cell(value: float, text: str) -> None:
    assert fmt.brief(value) == text


def test_ranked_times_are_the_records_times_and_their_threshold_is_the_baselines_over_it(run: Run) -> None:
    every = ranks.ranks_of_run(run)
    assert len(every) == 4
    for spec, found in zip(run.speed_cases, every, strict=True):
        timed = [r for s in run.students if (r := s.by_case[spec.id]).accepted]
        assert list(found.times) == sorted(known(r.timing).time_us.median for r in timed)
        assert found.baselines[0][0] == "cusparse_default", "the graded one stands first"
        assert found.threshold == pytest.approx(found.baselines[0][1] / known(timed[0].score.threshold))


def test_a_case_that_two_students_solved_is_no_ranking(tmp_path: Path) -> None:
    folder = SyntheticClass(students=2, graphs=["ddi"], faults=0).write(tmp_path / "run")
    assert ranks.ranks_of_run(read_run(folder)) == []


def view_with_times(**more: str) -> dict[str, Any]:
    mine = case("arxiv", 32, time_us=30.0) | more
    told = {"count": 5, "us": [10, 20, 30, 40, 80], "baseline_us": 75}
    if mine["verdict"] == "accepted":
        told["place"] = 3
    return view_of([mine], class_times={"arxiv-32": told})


def test_a_students_page_shows_the_own_place_among_times_without_names() -> None:
    words = Page(render_html(view_with_times())).words()
    assert "Your place in the class" in words
    assert "yours 30.0 µs, place 3 of 5" in words
    assert "threshold 37.5 µs" in words, "the baseline's 75 µs over the threshold of 2"


def test_who_has_no_time_sees_the_class_and_no_place_of_its_own() -> None:
    view = view_with_times(verdict="wrong_answer")
    assert "5 times, median 30.0 µs" in Page(render_html(view)).words()
    assert "place 3" not in Page(render_html(view)).words()
    assert 'class="own"' not in render_html(view)


@pytest.mark.parametrize(
    "times", [None, {}, {"arxiv-32": {"us": [1, 2]}}, {"arxiv-32": {"us": ["x", None, -1, float("nan")]}}]
)
def test_a_view_without_the_classs_times_has_no_ranking(times: dict[str, Any] | None) -> None:
    assert "Your place" not in render_html(view_of([case("arxiv", 32, time_us=3.0)], class_times=times))


def test_the_times_of_a_large_class_stand_at_their_places() -> None:
    found = ranks.Ranks("a", tuple(float(us) for us in range(1, 202)), own=4.0, place=16, count=1001)
    assert found.places[:2] == [1, 6]
    assert found.places[-1] == 1001
    drawn = ranks.draw([found])
    assert "place 16 of 1001" in drawn
    assert ">1001<" in drawn, "the axis ends with the last place"


def test_a_large_class_is_drawn_by_a_hundred_times_and_told_by_all(tmp_path: Path) -> None:
    run = read_run(SyntheticClass(students=130, graphs=["ddi"], faults=0).write(tmp_path / "run"))
    for spec, found in zip(run.speed_cases, ranks.ranks_of_run(run), strict=True):
        times = sorted(known(r.timing).time_us.median for s in run.students if (r := s.by_case[spec.id]).accepted)
        assert found.count == len(times) > 101
        assert len(found.times) == 101
        assert (found.times[0], found.times[-1], found.middle) == (times[0], times[-1], median(times))
        assert set(found.times) <= set(times)
        assert list(found.times) == sorted(found.times)


def test_a_time_far_from_the_class_is_told_in_words_and_does_not_press_the_picture() -> None:
    found = ranks.Ranks("a", (10.0, 11.0, 12.0), (("near", 15.0), ("far", 900.0)))
    drawn = ranks.draw([found])
    assert found.scale.high < 100
    assert "far 900 µs" in drawn
    assert len(re.findall(r'class="reference"', drawn)) == 2, "near: in the legend and in the picture"


def test_dots_stand_higher_the_slower_they_are() -> None:
    drawn = ranks.draw([ranks.Ranks("a", (10.0, 20.0, 40.0, 80.0))])
    dots = [float(y) for y in re.findall(r"M\d+ ([\d.]+)h0", drawn.split("<figure>")[1])]
    assert len(dots) == 4
    assert dots == sorted(dots, reverse=True)
    steps = [before - after for before, after in itertools.pairwise(dots)]
    assert steps == pytest.approx([steps[0]] * 3, abs=0.3), "equal factors are equal steps"


def test_the_class_page_begins_with_the_points_and_has_the_pictures_as_files(class_folder: Path) -> None:
    assert main([str(class_folder), "--no-pdf"]) == 0
    report = class_folder / "class-report"
    text = (report / "index.html").read_text(encoding="utf-8")
    heads = re.findall(r'<h2 id="(\w+)"', text)
    assert heads[:2] == ["summary", "points"]
    assert {"heat", "ranks"} <= set(heads)
    for name in ("class-by-case", "ranks"):
        assert (report / f"plots/{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (report / f"plots/{name}.svg").read_text(encoding="utf-8")


def test_a_picture_of_more_students_than_anybody_reads_is_left_out(
    class_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_heat, "MOST_ROWS", 10)
    assert main([str(class_folder), "--no-pdf", "--output", str(tmp_path / "report")]) == 0
    assert {file.stem for file in (tmp_path / "report/plots").glob("*.png")} >= {"points", "ranks"}
    assert not (tmp_path / "report/plots/class-by-case.png").exists()


def published_class(sets: Path, tmp_path: Path, factors: list[float]) -> tuple[Run, Run]:
    """A class of which each student is the published naive GCN of an H100, so many times as fast."""
    source = sets / "h100/gcn"
    scores = json.loads((source / "scores.json").read_text(encoding="utf-8"))
    described = json.loads((source / "run.json").read_text(encoding="utf-8"))
    lines = [json.loads(line) for line in lines_of((source / "records.jsonl").read_text(encoding="utf-8"))]
    naive = next(s for s in scores["submissions"] if s["id"] == "naive")
    made = [{"id": f"s{i}", "title": f"Student {i}", "role": "student"} for i in range(len(factors))]
    records, scored = [], []
    for who, factor in zip(made, factors, strict=True):
        mine = copy.deepcopy(naive) | who
        for line in mine["cases"]:
            if "ratio" in line:
                line["ratio"] = {"median": line["ratio"]["median"] * factor}
        scored.append(mine)
        for record in copy.deepcopy([r for r in lines if r["submission"]["id"] == "naive"]):
            record["submission"] = who
            record.pop("checksum", None)
            records.append(json.dumps(record) + "\n")
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps(described | {"submissions": made}), encoding="utf-8")
    (folder / "scores.json").write_text(json.dumps(scores | {"submissions": scored}), encoding="utf-8")
    (folder / "records.jsonl").write_text("".join(records), encoding="utf-8")
    return read_run(folder), read_run(source)


def test_a_student_counts_at_the_fastest_step_that_it_reaches(sets: Path, tmp_path: Path) -> None:
    run, kept = published_class(sets, tmp_path, [0.5, 0.6, 1.0001, 1.2, 1000.0])
    table = known(class_heat.ladder_heat(run, kept))
    titles = [above for above, _ in table.heads]
    assert titles[0] == "slower than all" and titles[1] == "from naive" and titles[-2] == "from optimized"
    for case_id, cells in table.rows:
        texts = [cell.text for cell in cells]
        counted = [int(text) for text in texts if text != "·"]
        assert sum(counted) == 5, "everyone stands somewhere, once"
        assert texts[0] == "2", "half as fast as naive is slower than all"
        assert texts[-1] == "0"
        ratios = [s.by_case[case_id].ratios["cublas_cusparse"].median for s in climbers(kept)]
        last = max(range(len(ratios)), key=ratios.__getitem__)
        assert int(texts[1 + last]) >= 1, "a thousand times as fast as naive is beyond the fastest step"
        for i, ratio in enumerate(ratios):
            assert (texts[1 + i] == "·") == (i > 0 and ratio <= max(ratios[:i])), "a step that gains nothing has a dot"


def test_a_ladder_of_another_gpu_or_lab_is_refused(sets: Path, tmp_path: Path) -> None:
    run, _ = published_class(sets, tmp_path, [1.0])
    for other in ("h200/gcn", "h100/scan"):
        with pytest.raises(ReportInputError, match="expected a ladder of lab gcn on NVIDIA H100"):
            class_heat.ladder_heat(run, read_run(sets / other))


def test_a_class_without_a_ladder_has_no_such_table(sets: Path, tmp_path: Path) -> None:
    run, _ = published_class(sets, tmp_path, [1.0, 2.0])
    assert class_heat.ladder_heat(run, None) is None
