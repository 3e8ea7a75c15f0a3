"""A report without a GPU begins with what was learnt; its counter charts are folded."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Page, known
from synthetic import SyntheticRun
from warpgrade_reports.class_report import Similar, render_class_report
from warpgrade_reports.class_stats import mistakes
from warpgrade_reports.learnt import estimate_charts, learnt_of, slowness_of
from warpgrade_reports.model import Run
from warpgrade_reports.page import render_pages
from warpgrade_reports.reading import read_run
from warpgrade_reports.similarity import Comparison

FINDING = {"problem": "uncoalesced", "kernel": "k", "severity": 3.0, "message": "m", "advice": "Let neighbours load."}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    made = SyntheticRun(backend="emulator", students=9, faults=0.6)
    counted = [r for r in made.records if r["submission"]["role"] == "student" and "counters" in r]
    for record in counted[:12]:
        record["counters"]["findings"] = [FINDING, {**FINDING, "kernel": "another"}]
    wrong = next(r for r in counted if r["outcome"]["verdict"] != "accepted" and r["case"]["kind"] == "speed")
    wrong["estimate"] = {"over_naive": {"ratio": 9.0, "low": 8.0, "high": 10.0}}
    return read_run(made.write(tmp_path_factory.mktemp("learnt") / "run"))


def test_the_page_begins_with_what_was_learnt(run: Run) -> None:
    text = render_pages(run)["index.html"]
    sections = re.findall(r'<section id="(\w+)"', text)
    assert sections[:2] == ["learnt", "class"]
    words = Page(text).words().split("What was learnt")[2].split("References and baselines")[0]
    for kind in ("Mistakes by kind", "uncoalesced access", "Let neighbours load.", "Estimated speed-up over naive"):
        assert kind in words


def test_counter_charts_come_folded_and_their_table_does_not(run: Run) -> None:
    text = render_pages(run)["index.html"]
    counters = text[text.index('<section id="counters">') : text.index('<section id="cases">')]
    (folded,) = re.findall(r"<details><summary>The counters as charts</summary>(.*?)</details>", counters, re.DOTALL)
    assert counters.count("<figure") == folded.count("<figure") > 2
    assert "<table" in counters.replace(folded, "")


def test_a_problem_counts_each_student_once_whatever_kernels_and_cases_have_it(run: Run) -> None:
    (kind,) = slowness_of(run)
    with_it = {s.id for s in run.students for c in s.cases if c.counters and c.counters.get("findings")}
    assert kind.submissions == with_it
    assert len(with_it) > 1


def test_estimates_have_the_records_ratios_and_their_ends_and_only_of_correct_cases(run: Run) -> None:
    charts = estimate_charts(run)
    marks = [mark for chart in charts for row in chart.rows for mark in row.marks]
    estimated = [c.estimated for s in run.submissions for c in s.cases if c.estimated and c.accepted]
    assert sorted((m.value, m.low, m.high) for m in marks) == sorted((e.median, e.low, e.high) for e in estimated)
    assert all(known(mark.low) < mark.value < known(mark.high) for mark in marks)


def test_a_run_that_measured_times_learns_from_them_and_has_no_such_section(tmp_path: Path) -> None:
    folder = SyntheticRun(students=4, graphs=["ddi"]).write(tmp_path / "run")
    assert learnt_of(read_run(folder)) is None
    assert 'id="learnt"' not in render_pages(read_run(folder))["index.html"]


def test_the_staffs_page_of_such_a_run_tells_mistakes_before_anything_but_points(run: Run, tmp_path: Path) -> None:
    heads = re.findall(r'<h2 id="(\w+)"', render_class_report(run, tmp_path, Similar([], [], Comparison([])), ([], "")))
    assert heads[:4] == ["summary", "points", "mistakes", "estimates"]


def test_a_case_that_an_older_interface_need_not_handle_is_no_mistake(run: Run) -> None:
    first, *others = run.submissions
    cases = tuple(replace(case, verdict="not_run", reason="left_out") for case in first.cases)
    kinds = {m.verdict for m in mistakes(replace(run, submissions=(replace(first, cases=cases), *others)))}
    assert kinds
    assert "not_run" not in kinds
