"""A course of 200: quick enough to wait for, small enough to mail, and its table is found in and scrolled well."""

from __future__ import annotations

import json
import os
import re
import tracemalloc
from pathlib import Path

import pytest
from browser import CHROMIUM, ask
from synthetic import GRAPHS, SyntheticRun
from synthetic_class import SyntheticClass
from warpgrade_reports import class_heat, class_report, page
from warpgrade_reports.__main__ import main
from warpgrade_reports.reading import read_run

SECONDS = 30.0
INDEX_BYTES = 1e6
TOTAL_BYTES = 16e6

PROBE = """
  const field = document.querySelector("input[type=search]");
  const rows = [...document.querySelectorAll("#class-table tbody tr")];
  const name = (row) => row.querySelector(".who").textContent.trim();
  field.value = name(rows[149]).toLowerCase(); field.dispatchEvent(new Event("input"));
  const head = document.querySelector("#class-table thead th");
  return {rows: rows.length, sought: name(rows[149]), shown: rows.filter((row) => !row.hidden).map(name),
          sticky: getComputedStyle(head).position, elements: document.querySelectorAll("*").length};
"""


@pytest.fixture(scope="module", params=["cuda", "emulator"])
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """The report of 200 students on 26 cases for speed, and how many seconds of processor time it took."""
    run = SyntheticRun(backend=request.param, students=200, graphs=list(GRAPHS))
    assert sum(case["kind"] == "speed" for case in run.cases) == 26
    folder = run.write(tmp_path_factory.mktemp(request.param) / "run")
    start = processor_seconds()  # a busy machine is not the report's fault
    assert main([str(folder)]) == 0
    return folder / "report", processor_seconds() - start


def processor_seconds() -> float:
    """Of this process and of those that it started and waited for."""
    return sum(os.times()[:4])


def test_two_hundred_submissions_on_26_speed_cases_take_less_than_half_a_minute(large: tuple[Path, float]) -> None:
    report, seconds = large
    assert seconds < SECONDS
    pages = list((report / "submissions").glob("*.html"))
    assert len(pages) == 202
    assert all(page.read_text(encoding="utf-8").count('<article class="submission"') == 1 for page in pages)


def test_of_200_students_the_index_is_below_a_megabyte(large: tuple[Path, float]) -> None:
    report, _ = large
    index = report / "index.html"
    assert index.stat().st_size < INDEX_BYTES
    links = set(re.findall(r'href="(submissions/[^"#]+)"', index.read_text(encoding="utf-8")))
    assert links == {f"submissions/{page.name}" for page in (report / "submissions").iterdir()}


def test_the_pages_of_200_students_are_small_enough_to_mail(large: tuple[Path, float]) -> None:
    report, _ = large
    assert sum(page.stat().st_size for page in report.rglob("*.html")) < TOTAL_BYTES


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")
def test_in_a_class_of_200_the_search_finds_a_student_and_the_head_stays(
    large: tuple[Path, float], tmp_path: Path
) -> None:
    report, _ = large
    (said,) = ask(tmp_path, [(report / "index.html", 1400)], PROBE)
    assert said["rows"] == 200
    assert said["sought"]
    assert said["shown"] == [said["sought"]]
    assert said["sticky"] == "sticky"
    assert said["elements"] < 20_000


NAMES = """
  const field = document.querySelector("input[data-names]");
  const names = JSON.parse(document.getElementById("names").textContent);
  field.value = names[70][0].toUpperCase(); field.dispatchEvent(new Event("input"));
  const links = [...document.querySelectorAll("#names-found a")];
  return {sought: names[70], found: links.map((link) => [link.textContent, link.getAttribute("href")])};
"""


@pytest.fixture(scope="module")
def by_name(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The reports of two classes that are too large for one table; the limits are lower here, the pages the same."""
    reports = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "_ONE_TABLE", 50)
        patch.setattr(page, "_OF_A_PART", 25)
        for students in (60, 120):
            run = SyntheticRun(students=students, graphs=["arxiv", "yelp"])
            folder = run.write(tmp_path_factory.mktemp("by-name") / "run")
            assert main([str(folder)]) == 0
            reports.append(folder / "report")
    return reports


def test_a_large_class_adds_its_names_to_the_index_and_nothing_else(by_name: list[Path]) -> None:
    small, large = ((report / "index.html").stat().st_size for report in by_name)
    assert (large - small) / 60 < 150  # bytes a student: 5,000 of them stay below a megabyte


def test_every_student_of_a_large_class_stands_on_one_page_by_name(by_name: list[Path]) -> None:
    report = by_name[1]
    rows = []
    for part in sorted((report / "class").glob("*.html"), key=lambda file: int(file.stem)):
        text = part.read_text(encoding="utf-8")
        assert text.count('<tr><th scope="row">') == text.count('<td class="who">') <= 25
        found = re.findall(r'<td class="who"><a href="([^"]+)"', text)
        assert all((part.parent / link).is_file() for link in found)
        rows += found
    assert len(rows) == len(set(rows)) == 120
    index = (report / "index.html").read_text(encoding="utf-8")
    assert all((report / link).is_file() for link in re.findall(r'(?:href|src)="((?:class|plots)/[^"]+)"', index))


def test_the_class_reports_page_of_a_thousand_is_below_a_megabyte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what each student more adds; the table of speed-ups, which a large class has not, is left out here too."""
    monkeypatch.setattr(class_heat, "MOST_ROWS", 10)
    sizes = []
    for students in (40, 100):
        run = SyntheticClass(students)
        people = [
            {**dict.fromkeys(("id", "name", "submission"), s["id"]), "points": 61.25, "max_points": 100.0}
            | {"verdict": "accepted", "on_roster": True, "page": f"../feedback/{s['id']}/index.html"}
            for s in run.submissions
        ]
        listed = tmp_path / f"{students}.json"
        listed.write_text(json.dumps({"schema": "warpgrade.people.v1", "people": people, "made_from": "a test's"}))
        folder = run.write(tmp_path / str(students))
        assert class_report.main([str(folder), "--people", str(listed), "--no-pdf"]) == 0
        sizes.append((folder / "class-report/index.html").stat().st_size)
    assert sizes[1] + (sizes[1] - sizes[0]) / 60 * 900 < INDEX_BYTES


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")
def test_the_search_of_a_large_class_finds_a_student(by_name: list[Path], tmp_path: Path) -> None:
    (said,) = ask(tmp_path, [(by_name[1] / "index.html", 400)], NAMES)
    assert said["found"] == [said["sought"]]


def test_a_report_without_samples_keeps_less_than_the_records_are_long(tmp_path: Path) -> None:
    folder = SyntheticRun(students=20, graphs=list(GRAPHS)).write(tmp_path / "run")
    tracemalloc.start()
    run = read_run(folder, samples=False)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(run.students) == 20
    assert most < (folder / "records.jsonl").stat().st_size
