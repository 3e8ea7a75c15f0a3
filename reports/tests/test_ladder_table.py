"""A ladder measured in parts is told as one: which set a figure is from, and that ratios stay within a run."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import known
from test_analysis import set_times
from warpgrade_bench import courses, ladder_table, published
from warpgrade_bench.sets import Sets, merged
from warpgrade_reports import courses as reported
from warpgrade_reports.courses import lines_of
from warpgrade_reports.model import Run
from warpgrade_reports.page import render_pages
from warpgrade_reports.reading import read_run
from warpgrade_reports.source import ReportInputError

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "reports/published"


@pytest.fixture
def ladder(make_run: Callable[..., Any]) -> Callable[..., Any]:
    """A run whose case `arxiv-k32` takes the given times along the ladder."""

    def make(name: str, times: list[int]) -> Run:
        run = make_run(lambda r: set_times(r, "arxiv-k32", times), name=name, students=0, kind="ladder", faults=0)
        return read_run(run)

    return make


def only(run: Run, *submissions: str) -> Run:
    return replace(run, submissions=tuple(s for s in run.submissions if s.id in submissions))


def repeated(run: Run, times: int) -> Run:
    changed = (replace(s, cases=tuple(replace(c, repetitions=times) for c in s.cases)) for s in run.submissions)
    return replace(run, submissions=tuple(changed))


def time_of(sets: Sets, submission: str) -> float:
    (found,) = (s for s in sets.run.submissions if s.id == submission)
    return known(found.by_case["arxiv-k32"].timing).time_us.median


def test_a_result_is_the_run_s_that_repeated_it_most_else_the_fuller_run_s(ladder: Callable[..., Any]) -> None:
    full = ladder("full", [1000, 500, 250, 200, 125, 100, 50])
    again = only(ladder("again", [900, 450, 225, 180, 110, 90, 45]), "optimized", "step-02_staged_a")
    assert time_of(merged([again, full]), "optimized") == 50  # as often: the run with more beside it
    assert time_of(merged([repeated(again, 67), full]), "optimized") == 50  # less than twice
    assert time_of(merged([full, repeated(again, 68)]), "optimized") == 45
    assert time_of(merged([again, only(full, "naive")]), "step-02_staged_a") == 225
    assert merged([full]).run is full


def test_a_submission_is_the_program_that_most_of_its_results_are_of(ladder: Callable[..., Any]) -> None:
    def called(run: Run, name: str) -> Run:
        return replace(run, submissions=tuple(replace(s, hash=name) for s in run.submissions))

    full = called(ladder("full", [1000, 500, 250, 200, 125, 100, 50]), "older")
    again = called(repeated(only(ladder("again", [900, 450, 225, 180, 110, 90, 45]), "optimized"), 100), "newer")
    found = {s.id: s.hash for s in merged([full, again]).run.submissions}
    assert found["optimized"] == "newer"
    assert found["naive"] == "older"


def test_a_newer_program_s_result_stands_though_an_older_was_repeated_more(ladder: Callable[..., Any]) -> None:
    def measured(run: Run, program: str, moment: str) -> Run:
        parts = []
        for s in run.submissions:
            cases = tuple(replace(c, recorded_at=moment) for c in s.cases)
            parts.append(replace(s, hash=program if s.id == "optimized" else s.hash, cases=cases))
        return replace(run, submissions=tuple(parts))

    times = [900, 450, 225, 180, 110, 90, 45]
    older = measured(ladder("older", [1000, 500, 250, 200, 125, 100, 50]), "older", "2026-01-01T00:00:00Z")
    newer = measured(only(ladder("newer", times), "optimized", "naive"), "newer", "2026-02-01T00:00:00Z")
    for runs in ([repeated(older, 900), newer], [newer, repeated(older, 900)]):
        sets = merged(runs)
        assert time_of(sets, "optimized") == 45
        assert time_of(sets, "naive") == 1000  # the same program, timed more often
        assert {s.id: s.hash for s in sets.run.submissions}["optimized"] == "newer"


def test_a_speedup_is_over_the_naive_of_its_own_run(
    ladder: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    figures = tmp_path / "figures.toml"
    figures.write_text(
        '[[figure]]\nlab = "spmm"\nkind = "speedup"\nwhat = "w"\nbaseline = "naive"\ndataset = "arxiv"\nk = 32\n'
        'low = 11.0\nhigh = 11.0\ngpu = "g"\nsource = "s"\n',
        encoding="utf-8",
    )
    monkeypatch.setattr(reported, "FIGURES", figures)

    def stand_ins(run: Run) -> Run:
        cases = tuple(replace(spec, dataset_kind="stand-in") for spec in run.cases)
        return replace(run, cases=cases)

    slow = stand_ins(only(ladder("slow", [1000, 500, 250, 200, 125, 100, 50]), "naive", "step-02_staged_a"))
    fast = stand_ins(only(ladder("fast", [300, 150, 75, 60, 37, 30, 15]), "naive", "step-02_staged_a", "optimized"))
    text = courses.markdown({"slow": repeated(slow, 100), "fast": fast})
    assert "4.00×" in text  # step 2: 1000 over 250, both of the run that repeated it most
    assert "20.0×" in text  # optimized: 300 over 15, though that run's naive is not the one that is told
    assert lines_of(fast)[0].optimized == "20.0×"


def test_the_table_names_the_set_of_each_row(ladder: Callable[..., Any]) -> None:
    first = only(ladder("first", [1000, 500, 250, 200, 125, 100, 50]), "naive", "step-01_warp_per_row")
    second = only(ladder("second", [900, 450, 225, 180, 110, 90, 45]), "step-02_staged_a", "optimized")
    lines = ladder_table.markdown({"first": first, "second": second}).splitlines()
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in reversed(lines)}  # of K = 32
    assert rows["01_warp_per_row"].startswith("| 01_warp_per_row | 0.5000 |")
    assert rows["01_warp_per_row"].endswith("| `first` |")
    assert rows["optimized"].endswith("| `second` |")
    assert rows["cusparse default"].endswith("| `second` |")  # paired with the last row
    with pytest.raises(ReportInputError, match="one lab"):
        ladder_table.markdown({"first": first, "other": replace(second, lab="apsp")})
    with pytest.raises(ReportInputError, match="a ladder with times"):
        ladder_table.markdown({"second": only(second, "optimized")})


def test_a_row_of_several_sets_says_which_case_is_of_which(ladder: Callable[..., Any]) -> None:
    def without(run: Run, case: str) -> Run:
        return replace(
            run,
            submissions=tuple(
                replace(s, cases=tuple(c for c in s.cases if c.spec.id != case)) for s in run.submissions
            ),
        )

    first = without(ladder("first", [1000, 500, 250, 200, 125, 100, 50]), "ddi-k32")
    second = only(ladder("second", [900, 450, 225, 180, 110, 90, 45]), "optimized", "step-02_staged_a")
    text = ladder_table.markdown({"first": first, "second": second})
    assert "`first`: arxiv, collab; `second`: ddi |" in text


@pytest.mark.parametrize("lab", ["spmm", "apsp"])
def test_a_lab_s_page_holds_what_its_published_sets_say(lab: str, sets: Path) -> None:
    page = (ROOT / "reference" / lab / "README.md").read_text(encoding="utf-8")
    table = page.partition(f"{ladder_table.BEGIN}\n")[2].partition(ladder_table.END)[0]
    assert table == ladder_table.markdown(published.read_sets(sets / "h200" / lab))


@pytest.mark.parametrize("lab", ["spmm", "apsp", "sampling", "histogram", "gcn", "scan", "sort", "transpose"])
def test_a_lab_s_journey_holds_what_its_sets_and_the_emulator_s_launches_say(lab: str, sets: Path) -> None:
    ladder = sets / "h200" / lab
    pages = (PUBLISHED / "h200/journeys.md").read_text(encoding="utf-8")
    page = pages.partition(f"## {lab}\n\n")[2].partition("\n## ")[0]
    launches = published.launches_of(ladder)
    assert page.rstrip() == ladder_table.journey(published.read_sets(ladder), launches).rstrip()
    heads, *rows = [line for line in page.splitlines() if line.startswith("| ")]
    launched = ("block", "grid", "shared memory", "registers") if launches else ()
    assert all(word in heads for word in ("step", "idea", *launched))
    steps = {f"| {folder.name} " for folder in (ROOT / "reference" / lab / "steps").iterdir() if folder.is_dir()}
    assert steps <= {row.split("|")[0] + "|" + row.split("|")[1] for row in rows}


def test_the_published_page_holds_what_its_sets_say_beside_courses(sets: Path) -> None:
    page = (PUBLISHED / "README.md").read_text(encoding="utf-8")
    table = page.partition(f"{courses.BEGIN}\n")[2].partition(courses.END)[0]
    assert table == courses.markdown({name: read_run(folder) for name, folder in published.sets_below(sets).items()})


def test_a_lab_s_sets_are_its_own_and_its_steps_and_no_launches_or_sweeps(tmp_path: Path) -> None:
    for folder in ("", "steps", "steps/01-03", "launches", "sweeps/06"):
        (tmp_path / "h100/spmm" / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / "h100/spmm" / folder / "run.json").touch()
    (tmp_path / "h100/benches").mkdir()
    assert list(published.lab_sets(tmp_path / "h100/spmm")) == ["h100/spmm", "h100/spmm/steps", "h100/spmm/steps/01-03"]
    assert published.lab_folders(tmp_path) == [tmp_path / "h100/spmm"]


def test_a_ladder_s_page_speaks_of_no_class_and_keeps_wide_sizes_apart(sets: Path) -> None:
    page = render_pages(read_run(sets / "h200/gcn/steps"))["index.html"]
    assert "References without a mark of their own: 3." in page
    assert "the class's median" not in html.unescape(page)
    assert '<th scope="col" class="k vertical"><span>281903</span></th>' in page
    histogram = render_pages(read_run(sets / "h200/histogram/steps"))["index.html"]
    assert '<th scope="col" class="k"><span></span></th>' in histogram  # it has no width
