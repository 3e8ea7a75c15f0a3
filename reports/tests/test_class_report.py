"""The class report of a synthetic class: figures that agree with the records, nothing silently zero, a real PDF."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import warpgrade_reports
from conftest import Page, known
from synthetic import SyntheticRun
from synthetic_class import SyntheticClass
from warpgrade_reports.class_report import Similar, main, render_class_report
from warpgrade_reports.class_stats import box_of, case_lines, doubts, mistakes, score_bins, spending
from warpgrade_reports.reading import read_run
from warpgrade_reports.similarity import Comparison

NONE = Similar([], [], Comparison([]))


@pytest.fixture(scope="module")
def class_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = SyntheticClass(students=24, graphs=["arxiv", "ddi"]).write(tmp_path_factory.mktemp("class") / "run")
    events = [{"kind": "infrastructure", "event": "node_lost"}, {"kind": "progress", "event": "scored"}]
    (folder / "events.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events) + "half a li", encoding="utf-8")
    sessions = {"sessions": [{"gpu_s": 100.0}, {"gpu_s": 20.5}]}
    (folder / "submissions/s0000/judging.json").write_text(json.dumps(sessions))
    return folder


@pytest.fixture(scope="module")
def report(class_folder: Path) -> Path:
    assert main([str(class_folder)]) == 0
    return class_folder / "class-report"


@pytest.mark.parametrize("seed", range(4))
def test_boxes_have_numpys_quartiles(seed: int) -> None:
    values = np.random.default_rng(seed).lognormal(size=37 + seed).tolist()
    box = known(box_of(values))
    assert [box.first, box.median, box.third] == pytest.approx(np.quantile(values, [0.25, 0.5, 0.75]).tolist())
    assert box.count == len(values)
    assert len(box.beyond) + sum(box.low <= v <= box.high for v in values) == len(values)


def test_no_values_have_no_box_and_one_value_is_its_own() -> None:
    assert box_of([]) is None
    one = known(box_of([2.0]))
    assert (one.low, one.median, one.high) == (2.0, 2.0, 2.0)


def test_every_student_is_in_a_bin_and_in_each_cases_shares(class_folder: Path) -> None:
    run = read_run(class_folder)
    assert sum(score_bins(run)) == 24
    for line in case_lines(run):
        assert sum(line.statuses.values()) == 24
        assert len(line.values) == sum(line.statuses[s] for s in ("pass", "within_noise", "fail"))


def test_mistakes_count_students_once_and_leave_out_the_judges_faults(class_folder: Path) -> None:
    run = read_run(class_folder)
    found = mistakes(run)
    assert sum(m.cases for m in found) == sum(not c.accepted and not c.undecided for s in run.students for c in s.cases)
    assert all(len(m.students) <= m.cases for m in found)
    assert not {m.verdict for m in found} & {"judge_fault", "not_run", "accepted"}


def test_gpu_time_comes_from_judging_json_where_batch_wrote_it(class_folder: Path) -> None:
    run = read_run(class_folder)
    others = sum(c.wall_s or 0 for s in run.submissions if s.id != "s0000" for c in s.cases)
    spent = spending(run, class_folder)
    assert spent.gpu_s == pytest.approx(others + 120.5)
    assert spent.infrastructure == {"node_lost": 1}
    assert sum(spent.phases.values()) == pytest.approx(spent.judging_s, rel=0.01)


def test_the_page_names_the_copied_pair_and_says_that_it_is_no_verdict(report: Path) -> None:
    page = Page((report / "index.html").read_text(encoding="utf-8"))
    words = page.words()
    assert "Pointers, not verdicts" in words
    assert "林 美玲" in words.split("Similar code")[1]
    assert "node lost: 1" in words


def test_hostile_names_are_escaped(tmp_path: Path) -> None:
    run = SyntheticClass(students=3, graphs=["ddi"])
    run.submissions[0]["title"] = "<script>alert(1)</script>"
    run.records[0]["outcome"] |= {"verdict": "wrong_answer", "message": "<img src=x onerror=alert(2)>", "reason": "<b>"}
    folder = run.write(tmp_path / "run")
    assert main([str(folder), "--no-pdf"]) == 0
    text = (folder / "class-report/index.html").read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "<img src=x" not in text


@pytest.mark.parametrize(("line", "made"), [("\n", True), ("", False)])
def test_a_report_that_was_begun_early_is_made_only_for_who_goes_on(
    class_folder: Path, tmp_path: Path, line: str, made: bool
) -> None:
    """`warpgrade export` begins it before it has read the run, and may refuse the run then."""
    listed = tmp_path / "people.json"
    command: list[str | Path] = [sys.executable, "-m", "warpgrade_reports.class_report", class_folder]
    command += ["--output", tmp_path / "report", "--people", listed, "--half", "--no-pdf"]
    place = {"PYTHONPATH": str(Path(warpgrade_reports.__file__).parents[1])}
    with subprocess.Popen(command, stdin=subprocess.PIPE, env={**os.environ, **place}, text=True) as process:
        listed.write_text(json.dumps({"schema": "warpgrade.people.v1", "people": [], "made_from": "a test's"}))
        process.communicate(line, timeout=120)
    assert process.returncode == 0
    assert [path.name for path in tmp_path.iterdir() if path != listed] == ["report"] * made


def test_plots_are_pictures(report: Path) -> None:
    names = {"points", "speedup-k32", "speedup-k256", "thresholds", "class-by-case", "ranks", "ladder"}
    pictures = sorted((report / "plots").iterdir())
    assert {path.name for path in pictures} == {f"{name}.{kind}" for name in names for kind in ("png", "svg")}
    assert all(path.read_bytes().startswith((b"\x89PNG", b"<?xml")) for path in pictures)


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="no pdftotext here: apt-get install poppler-utils")
def test_the_pdf_holds_what_the_page_says(report: Path) -> None:
    command = ["pdftotext", "-layout", str(report / "class-report.pdf"), "-"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for heading in ("Points", "Speed-ups", "Thresholds", "Common mistakes", "Similar code", "Time spent"):
        assert heading in text
    assert "amazon" not in text
    assert "arxiv-k32" in text, "labels of the charts are text"


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="no pdftotext here: apt-get install poppler-utils")
def test_on_paper_the_class_by_case_begins_below_its_heading(tmp_path: Path) -> None:
    """A class of more than two pages of rows: its first ones stand where the heading does."""
    folder = SyntheticClass(students=140, graphs=["arxiv"]).write(tmp_path / "run")
    assert main([str(folder)]) == 0
    command = ["pdftotext", "-layout", str(folder / "class-report/class-report.pdf"), "-"]
    pages = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\f")
    (page,) = [page for page in pages if "The class by case" in page]
    assert page.split("The class by case")[1].count("Student ") > 30


def test_a_pdf_of_many_leaves_the_table_of_all_to_the_page(class_folder: Path) -> None:
    run = read_run(class_folder)
    people = [{"id": f"p{n}", "name": f"Person {n}", "points": 1.0, "verdict": "not_submitted"} for n in range(301)]
    page, on_paper = (
        render_class_report(run, class_folder, NONE, (people, ""), printed=printed) for printed in (False, True)
    )
    assert page.count('<tr id="student-') == 301
    assert "<summary>271 more</summary>" in page, "a long list is folded, and all are in it"
    assert '<tr id="student-' not in on_paper and "#student-" not in on_paper
    assert "The table of all 301 stands in index.html" in on_paper
    assert page.count("<li>") - on_paper.count("<li>") == 301 - 60
    assert "And 241 more, in index.html." in on_paper
    few = render_class_report(run, class_folder, NONE, (people[:300], ""), printed=True)
    assert few.count('<tr id="student-') == 300


def test_a_run_on_the_emulator_has_no_speed_and_says_so(tmp_path: Path) -> None:
    folder = SyntheticRun(backend="emulator", students=4).write(tmp_path / "run")
    assert main([str(folder), "--no-pdf"]) == 0
    words = Page((folder / "class-report/index.html").read_text(encoding="utf-8")).words()
    assert "Speed was not measured" in words
    assert "No sources are kept" in words
    assert {p.name for p in (folder / "class-report/plots").iterdir()} == {"points.png", "points.svg"}


def test_a_folder_of_other_things_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = SyntheticRun(students=2, graphs=["ddi"]).write(tmp_path / "run")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("mine")
    assert main([str(folder), "--output", str(tmp_path / "mine"), "--no-pdf"]) == 1
    assert "other files" in capsys.readouterr().err
    assert Path(tmp_path / "mine/thesis.txt").read_text() == "mine"


def test_without_students_there_is_nothing_to_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = SyntheticRun(students=0, kind="ladder", graphs=["ddi"]).write(tmp_path / "run")
    assert main([str(folder)]) == 1
    assert "expected a student's submission" in capsys.readouterr().err


def test_cases_at_which_the_judge_failed_are_listed_with_what_they_cost(class_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(class_folder, folder, ignore=shutil.ignore_patterns("class-report"))
    assert not any(d.costs for d in doubts(read_run(folder)))
    lines = (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()
    record = next(r for r in map(json.loads, lines) if r["outcome"]["verdict"] not in {"accepted", "judge_fault"})
    name, case = record["submission"]["id"], record["case"]["id"]
    record["judge_faults"] = ["the judge was killed by signal 11", "<again>"]
    record.pop("checksum", None)
    others = [line for line in lines if (r := json.loads(line))["submission"]["id"] != name or r["case"]["id"] != case]
    (folder / "records.jsonl").write_text("\n".join([*others, json.dumps(record)]) + "\n", encoding="utf-8")
    found = [d for d in doubts(read_run(folder)) if d.costs]
    assert [(d.submission.id, d.case) for d in found] == [(name, case)]
    assert main([str(folder), "--no-pdf"]) == 0
    page = (folder / "class-report/index.html").read_text(encoding="utf-8")
    assert "For a person to look at" in page and "&lt;again&gt;" in page
