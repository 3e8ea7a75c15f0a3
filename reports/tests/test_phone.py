"""The pages of a class of 1,000 on a phone, as DevTools makes a browser one: small, no wider than it, and searched.

How soon they are there is measured by `scripts/measure thousands`: a busy machine would fail a test of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import CHROMIUM
from devtools import Phone
from synthetic_class import SyntheticClass
from test_feedback import case, view_of
from test_leaderboard import board
from warpgrade_reports import class_report, feedback, leaderboard
from warpgrade_reports.__main__ import main

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium")

STUDENTS, CASES = 1000, 26
MOST_BYTES, MOST_ELEMENTS = 1e6, 20_000
PAGES = ("report/index.html", "report/class/8.html", "feedback/index.html", "class-report/index.html", "board.html")

# What a finger's tap and the keyboard do, and what is then to be seen of the rows or links below.
TYPE = """(() => {
  const field = document.querySelector("input[type=search]");
  const box = field.getBoundingClientRect();
  field.focus();
  return {width: box.width, height: box.height};
})()"""
SHOWN = """(() => {
  const {names, table} = document.querySelector("input[type=search]").dataset;
  const found = document.getElementById(names ? `${names}-found` : table);
  const rows = names ? found.children : found.tBodies[0].rows;
  return [...rows].filter((row) => row.checkVisibility()).map((row) => row.textContent);
})()"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All pages of the class, below one folder."""
    place = tmp_path_factory.mktemp("thousand")
    run = SyntheticClass(STUDENTS, graphs=["arxiv"])
    people = [
        {"id": s["id"], "name": s["title"], "submission": s["id"], "points": 61.25, "max_points": 100.0}
        | {"verdict": "accepted", "on_roster": True, "page": f"../feedback/{s['id']}/index.html"}
        for s in run.submissions
        if s["role"] == "student"
    ]
    run.write(place)
    listed = place / "people.json"
    listed.write_text(json.dumps({"schema": "warpgrade.people.v1", "people": people, "made_from": "a test's"}))
    assert main([str(place)]) == 0
    assert class_report.main([str(place), "--people", str(listed), "--no-pdf"]) == 0
    views = [
        view_of(
            [case("arxiv", 32)], file=p["id"], person={"id": p["id"], "name": p["name"]}, submission={"id": p["id"]}
        )
        for p in people
    ]
    (place / "views.jsonl").write_text("".join(json.dumps(view) + "\n" for view in views))
    assert feedback.main([str(place / "views.jsonl"), "--output", str(place / "feedback")]) == 0
    listed_cases = board(STUDENTS)
    listed_cases["cases"] = [{**listed_cases["cases"][0], "id": f"case-{number}"} for number in range(CASES)]
    (place / "board.json").write_text(json.dumps(listed_cases))
    assert leaderboard.main([str(place / "board.json"), "--output", str(place / "board.html")]) == 0
    return place


@pytest.fixture(scope="module")
def phone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Phone]:
    opened = Phone(tmp_path_factory.mktemp("phone"))
    yield opened
    opened.close()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_a_thousand_is_small_and_as_wide_as_the_phone(folder: Path, phone: Phone, page: str) -> None:
    told = phone.open(folder / page)
    assert told["bytes"] == (folder / page).stat().st_size < MOST_BYTES, told
    assert told["elements"] < MOST_ELEMENTS, told
    assert told["content"] == told["window"] == 390, told


@pytest.mark.parametrize(
    ("page", "sought"), [*((page, "Student 731") for page in (PAGES[0], *PAGES[2:4])), (PAGES[4], "teal-otter-831")]
)
def test_a_student_of_a_thousand_is_found_by_typing_the_name(
    folder: Path, phone: Phone, page: str, sought: str
) -> None:
    phone.open(folder / page)
    field = phone.evaluate(TYPE)
    # 24 by 24 CSS pixels: WCAG 2.2, 2.5.8 target size (minimum).
    assert field["width"] >= 24 and field["height"] >= 24, field
    phone.type(sought.lower())
    shown = phone.evaluate(SHOWN)
    assert len(shown) == 1 and sought in shown[0], shown


def test_every_student_of_a_thousand_stands_behind_a_link_of_the_index(folder: Path) -> None:
    index = (folder / "report/index.html").read_text(encoding="utf-8")
    parts = sorted(set(re.findall(r'href="(class/\d+\.html)"', index)))
    text = "".join((folder / "report" / part).read_text(encoding="utf-8") for part in parts)
    assert text.count('<td class="who">') == STUDENTS
