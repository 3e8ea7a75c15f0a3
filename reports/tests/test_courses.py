"""What courses report stands beside what the records hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from synthetic import SyntheticRun
from test_analysis import set_times
from warpgrade_bench.courses import BEGIN, END, main, markdown
from warpgrade_reports import courses
from warpgrade_reports.courses import lines_of
from warpgrade_reports.page import render_pages
from warpgrade_reports.reading import read_run


def ladder_with(make_run: Callable[..., Any], ratios: dict[tuple[str, str], float], **options: str) -> Path:
    def change(run: SyntheticRun) -> None:
        for record in run.records:
            record["case"]["dataset_kind"] = "stand-in"
            median = ratios.get((record["submission"]["id"], record["case"]["id"]), 1.0)
            record["ratios"] = {"cusparse_default": {"median": median, "low": median, "high": median}}

    folder: Path = make_run(change, students=0, kind="ladder", faults=0, **options)
    return folder


def test_a_speedup_is_the_best_steps_range_over_the_cases_of_its_width(make_run: Callable[..., Any]) -> None:
    ratios = {
        ("step-02_staged_a", "arxiv-k32"): 2.0,
        ("step-04_row_split", "arxiv-k32"): 1.5,
        ("step-05_two_shapes", "ddi-k32"): 3.5,
        ("optimized", "ddi-k32"): 5.0,
    }
    at_32, at_256 = lines_of(read_run(ladder_with(make_run, ratios)))
    assert "K = 32" in at_32.what
    assert at_32.theirs.startswith("1.41 to 2.95×")
    assert at_32.steps == "1.00 to 3.50× on 3 graphs"
    assert at_32.optimized == "1.00 to 5.00× on 3 graphs"
    assert at_256.optimized == "1.00× on 3 graphs"


def test_the_page_shows_them_and_the_emulators_page_does_not(make_run: Callable[..., Any]) -> None:
    assert "Beside what courses report" in render_pages(read_run(ladder_with(make_run, {})))["index.html"]
    emulated = read_run(make_run(backend="emulator", students=0, kind="ladder", name="emulated"))
    assert lines_of(emulated) == []
    assert "Beside what courses report" not in render_pages(emulated)["index.html"]


def test_they_are_put_between_the_marks_again_and_again(
    make_run: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ladder_with(make_run, {})
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    for _ in range(2):
        assert main([str(run), "--into", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{BEGIN}\n**spmm**")
    assert text.endswith(f"{END}\nafter\n")
    assert "old" not in text
    page.write_text("no marks", encoding="utf-8")
    assert main([str(run), "--into", str(page)]) == 1
    assert "expected the lines" in capsys.readouterr().err


def test_times_are_the_ladders_with_naive_in_front(
    make_run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(run: SyntheticRun) -> None:
        set_times(run, "arxiv-k32", [1000, 500, 250, 200, 125, 100, 50])

    figures = tmp_path / "figures.toml"
    figures.write_text(
        '[[figure]]\nlab = "spmm"\nkind = "times"\nwhat = "w"\ncase = "arxiv-k32"\n'
        'times_ms = [3.5, 2.07]\ngpu = "g"\nsource = "s"\n',
        encoding="utf-8",
    )
    monkeypatch.setattr(courses, "FIGURES", figures)
    (line,) = lines_of(read_run(make_run(change, students=0, kind="ladder", faults=0)))
    assert line.theirs == "3.5 → 2.07 ms, s"
    assert line.steps == "1.00 → 0.500 → 0.250 → 0.200 → 0.125 → 0.100 ms"
    assert line.optimized == "0.0500 ms"


def test_two_sets_of_a_lab_make_one_table_and_a_case_is_of_the_set_that_timed_most(
    make_run: Callable[..., Any],
) -> None:
    full = {("step-02_staged_a", "arxiv-k32"): 2.0, ("optimized", "arxiv-k32"): 4.0}
    partial = {("step-02_staged_a", "arxiv-k32"): 9.0, ("step-04_row_split", "ddi-k32"): 3.5}

    first = read_run(ladder_with(make_run, full, name="first"))
    second = read_run(ladder_with(make_run, partial, name="second"))
    kept = tuple(
        replace(s, cases=tuple(c for c in s.cases if (s.id, c.spec.id) in partial)) for s in second.submissions
    )
    text = markdown({"second": replace(second, submissions=kept), "first": first})
    assert text.count("**spmm**") == 1
    assert "(`second`, `first`)" in text
    assert "1.00 to 2.00× on 3 graphs" in text  # not 9.0, nor 3.5: the first set timed more on both
    lacking = tuple(s for s in first.submissions if s.id != "step-04_row_split")
    text = markdown({"second": replace(second, submissions=kept), "first": replace(first, submissions=lacking)})
    assert "1.00 to 3.50× on 3 graphs" in text  # which the first set lacks
