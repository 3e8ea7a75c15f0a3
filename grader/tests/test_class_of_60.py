"""From eleven exports to every platform's gradebook: a class of sixty, judged, corrected, and right in every cell.

class_of_60.py makes the class by the platforms' own naming rules; the grades that come out are read by the models of
the platforms' importers in lms_import, each of which names its source. grader/course/batch/README.md shows this class.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import class_of_60 as sixty
import lms_import
import pytest
from class_of_60 import CASES, DEADLINE, LAB, Member
from conftest import warpgrade
from courseware import class_of
from lms_import import LmsPerson

CANVAS, BLACKBOARD = "Lab 1 (4711)", "Lab 1 [Total Pts: 100 Score] |4711"
OUTSIDERS = {f"outsider{i}": 10.0 + i for i in range(5)}  # of the LMS' course, in nothing of ours, with a grade
WHY = ("--reason", "the tutorial", "--author", "T. Ester", "--yes")


def say(*words: str | Path) -> str:
    """A command that succeeds; what it prints."""
    done: subprocess.CompletedProcess[str] = warpgrade(*words)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Course:
    """The class while it goes on."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.run, self.book = folder, folder / "runs/lab1", folder / "course.sqlite"
        self.members = sixty.the_class()
        self.exports = sixty.write(folder / "class")
        self.judged = ""

    def given(self, name: str) -> Path:
        return self.folder / "class" / name

    def take_in(self) -> None:
        """The first export, then the others: nothing is judged yet."""
        first, *others = self.exports
        options = ("--lab", LAB, "--backend", "emulator", "--cases", CASES, "--checks", "none", "--quiet")
        say("batch", self.run, "--submissions", first, "--roster", self.given("roster.csv"), "--deadline", DEADLINE,
            "--policy", self.given("policy.yaml"), *options, "--take-in")  # fmt: skip
        for export in others:
            say("batch", self.run, "--add", export, *WHY, "--take-in")

    def judge(self) -> None:
        self.judged = say("batch", self.run)

    def correct(self) -> None:
        """Five late ones, three replaced, two extensions, a dropped case, an override, appeals, a changed number."""
        say("collect", self.run, "--gradebook", self.book)
        say("batch", self.run, "--add", self.given("late.zip"), *WHY)
        for index in sixty.REPLACED:
            member = self.members[index]
            say("batch", self.run, "--replace", f"{member.id}={self.given('replacements') / member.id}", *WHY)
        for index in sixty.EXTENDED:
            say("batch", self.run, "--extend", f"{self.members[index].hand_in.email}=2026-03-20T23:59", *WHY)
        say("rescore", self.run, "--policy", self.given("policy-dropped.yaml"), "--yes")
        say("collect", self.run)
        say("grades", "override", self.members[sixty.OVERRIDDEN].id, "--lab", LAB, "--points", str(sixty.OVERRIDE),
            "--reason", "oral exam", "--author", "T. Ester", "--gradebook", self.book)  # fmt: skip
        say("batch", self.run, "--roster", self.given("roster-corrected.csv"), *WHY)
        self.appeals = self.folder / "runs/appeals"
        say("batch", self.appeals, "--lab", LAB, "--submissions", self.given("appeals"), "--policy",
            self.given("policy-dropped.yaml"), "--roster", self.given("roster-corrected.csv"), "--backend", "emulator",
            "--cases", CASES, "--checks", "none", "--quiet")  # fmt: skip
        say("collect", self.appeals, "--gradebook", self.book)

    def export(self, run: Path, column: str, *formats: str) -> Path:
        output = self.folder / "out" / f"{run.name}-{formats[0]}"
        say("export", run, "--format", ",".join(formats), "--column", column, "--output", output)
        return output

    def people(self) -> list[LmsPerson]:
        """The course as a platform knows it, with people who take no part in this lab."""
        known = [
            LmsPerson(m.final_id, str(m.hand_in.number), m.final_id, m.hand_in.login, m.final_id, m.hand_in.email,
                      f"{m.hand_in.last}, {m.hand_in.first}")
            for m in self.members
        ]  # fmt: skip
        return known + [
            LmsPerson(key, f"9{i}", key, key, key, f"{key}@example.edu", key) for i, key in enumerate(OUTSIDERS)
        ]


def answer(members: list[Member]) -> dict[str, float]:
    """By id what has to stand in each gradebook; who has no grade is in none."""
    return {m.final_id: points for m in members if (points := m.points()) is not None}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The whole story, once."""
    made = Course(tmp_path_factory.mktemp("course"))
    made.take_in()
    made.judge()
    made.correct()
    return made


def right(found: dict[str, float], course: Course, others: bool = True) -> None:
    """Every grade is right, and nothing else is touched."""
    expected = answer(course.members) | (OUTSIDERS if others else {})
    assert {key: round(points, 2) for key, points in found.items()} == {k: round(v, 2) for k, v in expected.items()}


def test_canvas_gets_every_grade(course: Course) -> None:
    file = course.export(course.run, CANVAS, "canvas") / "canvas.csv"
    right(lms_import.canvas(file, course.people(), CANVAS, OUTSIDERS), course)


def test_moodle_gets_every_grade_by_each_column_that_finds_people(course: Course) -> None:
    file = course.export(course.run, "Lab 1", "moodle") / "moodle.csv"
    for column in ("ID number", "Email address", "Username"):
        entered = lms_import.moodle(file, course.people(), "Lab 1", column)
        right({key: points for key, (points, _) in entered.items() if points is not None}, course, others=False)


def test_moodles_worksheet_gets_every_grade_that_its_upload_takes(course: Course) -> None:
    rows = ["Identifier,Full name,Email address,Status,Grade,Maximum Grade,Last modified (grade),Feedback comments"]
    for person in course.people():
        rows.append(f'Participant {person.number},"{person.name}",{person.email},Submitted,,100,-,')
    worksheet = course.folder / "worksheet.csv"
    worksheet.write_text("\n".join(rows) + "\n", encoding="utf-8")
    output = course.folder / "out/worksheet"
    say("export", course.run, "--format", "moodle", "--column", "Lab 1", "--worksheet", worksheet, "--output", output)
    entered = lms_import.moodle_worksheet(output / "worksheet.csv", course.people(), 100, OUTSIDERS)
    expected = {key: points for key, points in answer(course.members).items() if points > 0}  # it takes no 0
    assert entered == pytest.approx(expected | OUTSIDERS)


def test_blackboard_brightspace_and_sakai_get_every_grade(course: Course) -> None:
    people = course.people()
    right(lms_import.blackboard(course.export(course.run, BLACKBOARD, "blackboard") / "blackboard.csv", people,
                                BLACKBOARD), course, others=False)  # fmt: skip
    output = course.export(course.run, "Lab 1", "brightspace", "sakai")
    right(lms_import.brightspace(output / "brightspace.csv", people, "Lab 1"), course, others=False)
    right(lms_import.sakai_gradebook(output / "sakai.csv", people, "Lab 1", 100, OUTSIDERS), course)


def test_autolab_prairielearn_gradescope_and_ilias_get_every_grade(course: Course) -> None:
    output = course.export(
        course.run, "vector_add", "autolab", "prairielearn", "prairielearn-csv", "gradescope", "ilias"
    )
    expected = answer(course.members)
    problems = {"correctness", "speed", "adjustment", LAB}
    found = {
        f.stem: sum(lms_import.autolab(f.read_text("utf-8"), problems).values()) for f in (output / "autolab").iterdir()
    }
    assert found == pytest.approx(expected, abs=0.02)
    found = {f.stem: 100 * lms_import.prairielearn_results(json.loads(f.read_text("utf-8")), f.stat().st_size)
             for f in (output / "prairielearn").iterdir()}  # fmt: skip
    assert found == pytest.approx(expected, abs=0.02)
    right(
        lms_import.prairielearn_scores(output / "prairielearn.csv", course.people(), "vector_add"), course, others=False
    )
    found = {f.stem: json.loads(f.read_text("utf-8"))["score"] for f in (output / "gradescope").iterdir()}
    assert found == pytest.approx(expected, abs=0.01)
    feedback = lms_import.ilias_feedback(output / "ilias.zip", course.people())
    graded = {m.final_id for m in course.members if m.points() is not None and not m.anonymous}
    assert set(feedback) == graded  # the roster has no ILIAS number of the anonymous two
    for member in course.members:
        if member.final_id in graded:
            (text,) = feedback[member.final_id].values()
            assert text.startswith(f"{member.points():g} of 100 points"), (member, text)


def test_the_run_of_appeals_exports_two_students(course: Course) -> None:
    output = course.export(course.appeals, CANVAS, "canvas")
    found = lms_import.canvas(output / "canvas.csv", course.people(), CANVAS, {"s1000": 12.0})
    assert found == {"s1000": 12.0} | {course.members[i].final_id: 100.0 for i in sixty.APPEALED}


def test_each_hand_in_was_judged_once_and_changes_are_in_the_history(course: Course) -> None:
    handed_in = sum(bool(m.hand_in.files) for m in course.members)
    assert f"{3 * handed_in} cases judged, 0 recorded before" in course.judged
    lines = class_of(course.run)["changes"]
    assert all(line["author"] == "T. Ester" and line["reason"] == "the tutorial" for line in lines)
    actions = [line["action"] for line in lines if "late.zip" not in line["text"]]
    assert actions.count("number") == 1 and actions.count("extension") == 2
    history = say("grades", "history", course.members[sixty.OVERRIDDEN].final_id, "--gradebook", course.book)
    assert "oral exam" in history and "number" in history


def test_the_list_of_who_needs_a_person_names_each_trouble(course: Course) -> None:
    needs = {need["reason"]: {person["name"] for person in need["people"]}
             for need in json.loads(say("attention", course.run, "--json"))["needs"]}  # fmt: skip

    def names(*kinds: str) -> set[str]:
        return {m.hand_in.name for m in course.members if m.kind in kinds and m.index not in sixty.REPLACED}

    assert needs["no-source"] == names("no_source")
    assert needs["absent"] == names("absent")
    assert needs["no-kernel"] == names("cpu_only")
    assert needs["claimed"] == {m.hand_in.name for m in course.members if m.platform == "git"}
    assert needs["late"] == {m.hand_in.name for m in course.members if m.kind == "late"} - {
        course.members[i].hand_in.name for i in sixty.EXTENDED
    }
    assert needs["by-hand"] == {course.members[sixty.OVERRIDDEN].hand_in.name}
    assert "Who needs a person" in (course.run / "export/class-report/index.html").read_text(encoding="utf-8")


def test_students_read_what_was_changed_in_their_files(course: Course) -> None:
    """Each oddity's student is told of it; who handed in plain files is told nothing."""
    said = {
        "copy": "vector_add (1).cu",
        "txt": "vector_add.cu.txt",
        "utf16": "UTF-16",
        "utf16_no_mark": "UTF-16",
        "notebook": "Lab_1.ipynb",
        "main": "main",
        "old": "vector_add.old.cu",
        "others_code": "third_party",
    }
    for member in course.members:
        page = course.run / f"export/feedback/{member.final_id}/feedback.md"
        if member.kind in said:
            assert said[member.kind] in page.read_text(encoding="utf-8"), member
    plain = (course.run / f"export/feedback/{course.members[1].final_id}/feedback.md").read_text(encoding="utf-8")
    assert "left out" not in plain and "read as" not in plain
