"""From an LMS's export back into it: a class with every kind of trouble comes out with the right ids, names and points.

What each import demands, and in which document it says so, stands in lms_import: what it would enter is compared
with the answer.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import subprocess
import unicodedata
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import lms_import
import pytest
from conftest import Words, warpgrade
from courseware import SOURCE, class_of, good, policy_of, rows_of, take_in
from generated_class import KINDS, GeneratedClass, Person, judge, tarred
from lms_import import LmsPerson
from test_exports import GRADESCOPE

COLUMN = "Lab 1 (4711)"  # as Canvas' own export calls it: by the number it finds the assignment
BLACKBOARD_COLUMN = "Lab 1 [Total Pts: 100 Score] |4711"


# ---- the class of 200


SAYS = {  # what a student reads of what happened
    "grace": "within the grace of 10 minutes: nothing is taken off",
    "late": "25 h 0 min after the deadline: 20 % is taken off, 20 of 100 points",
    "very_late": "100 % is taken off",
    "rar": "The hand-in was refused: ",
    "traversal": "The hand-in was refused: ",
    "refused_last": "Attempt 2 was refused",
    "wrong": "2 of 3 cases correct",
    "override": "set by the course's staff",
}


def people_of(made: GeneratedClass) -> list[LmsPerson]:
    """The class as its LMS knows it, strangers to the roster too."""
    known = [LmsPerson(p.id, str(p.number), p.id, f"login-{p.id}", p.id, p.email, p.name) for p in made.people]
    return known + [LmsPerson(p.id, str(p.number), email=p.email, name=p.name) for p in made.strangers]


def graded(made: GeneratedClass) -> list[Person]:
    """Who has a grade: not who handed nothing in, nor whose cases are not all judged."""
    return [person for person in made.people if person.kind not in {"absent", "judge_fault"}]


def check_points(made: GeneratedClass, found: dict[str, float], strangers: bool = False) -> None:
    """Everybody on the roster who has a grade, and nobody else unless the LMS itself knows them."""
    everyone = [*graded(made), *made.strangers] if strangers else graded(made)
    assert found.keys() == {person.id for person in everyone}
    for person in graded(made):
        assert found[person.id] == pytest.approx(person.points, abs=0.01), person


def check_tables(made: GeneratedClass, export: Path) -> None:
    """What the four imports of tables would enter, by every column that they may find people by."""
    people = people_of(made)
    canvas_rows = rows_of(export / "canvas.csv")
    assert canvas_rows[1] == ["    Points Possible", "", "", "", "", "100"]
    check_points(made, lms_import.canvas(export / "canvas.csv", people, COLUMN), strangers=made.layout == "canvas")
    names = {p.id: p.name for p in graded(made)}
    assert {row[2]: row[0].removeprefix("'") for row in canvas_rows[2:] if row[2]} == names
    if made.layout == "canvas":  # Canvas looks for its own number first
        assert {row[2]: (int(row[1]), row[3], row[4]) for row in canvas_rows[2:] if row[2]} == {
            p.id: (p.number, f"login-{p.id}", "Sec 1") for p in graded(made)
        }
    text = (export / "moodle.csv").read_text(encoding="utf-8-sig")
    moodle_rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["ID number"]: row["Full name"].removeprefix("'") for row in moodle_rows} == names
    assert all(row["Maximum"] == "100" for row in moodle_rows)
    maps = [title for title in ("ID number", "Email address", "Username") if title in moodle_rows[0]]
    assert maps[0] == "ID number" and ("Email address" in maps) == (made.layout not in {"canvas", "blackboard"})
    for title in maps:
        entered = lms_import.moodle(export / "moodle.csv", people, COLUMN, title)
        check_points(made, {key: points or 0 for key, (points, _) in entered.items()})
        for person in graded(made):
            said = entered[person.id][1]
            assert SAYS.get(person.kind, "points") in said, (person, said)
            assert ("after the deadline" in said) == (person.kind in {"grace", "late", "very_late"})
    if made.layout == "moodle":
        numbers = {row["ID number"]: row["Identifier"] for row in moodle_rows}
        assert numbers == {p.id: f"Participant {p.number}" for p in graded(made)}
    check_points(made, lms_import.brightspace(export / "brightspace.csv", people, COLUMN))
    if made.layout in {"canvas", "blackboard", "brightspace"}:
        check_points(made, lms_import.blackboard(export / "blackboard.csv", people, BLACKBOARD_COLUMN))
    else:
        assert not (export / "blackboard.csv").exists(), "numbers are no user names"


def check_each(made: GeneratedClass, export: Path) -> None:
    """Gradescope, Autolab and JUnit: a file or a suite a student, with points, verdict and what they were made from."""
    suites = {suite.attrib["name"]: suite for suite in ET.parse(export / "junit.xml").getroot()}  # noqa: S314 - ours
    state = json.loads((export / "made-from.json").read_text(encoding="utf-8"))
    assert state["gradebook"]["overrides"] == sum(person.kind == "override" for person in made.people)
    assert len(suites) == len(graded(made)) + len(made.strangers)
    for name, digest in state["files"].items():  # tables have no place to say it themselves
        assert hashlib.sha256((export / name).read_bytes()).hexdigest() == digest
    assert state["files"].keys() == {"canvas.csv", "moodle.csv", "brightspace.csv"}, "of the last export"
    unfinished = [item["student"] for item in state["students"]["unfinished"]]
    assert sorted(unfinished) == sorted(p.id for p in made.people if p.kind == "judge_fault")
    assert sorted(state["students"]["not_submitted"]) == sorted(p.id for p in made.people if p.kind == "absent")
    for missing in {person.id for person in made.people} - {person.id for person in graded(made)}:
        assert not (export / f"gradescope/{missing}.json").exists() and not (export / f"autolab/{missing}.txt").exists()
    for person in graded(made):
        result = json.loads((export / f"gradescope/{person.id}.json").read_text(encoding="utf-8"))
        jsonschema.validate(result, GRADESCOPE)
        assert result["score"] == pytest.approx(person.points, abs=0.01), person
        assert SAYS.get(person.kind, "points") in result["output"], (person, result["output"])
        failed = [test for test in result["tests"] if test.get("status") == "failed"]
        assert len(failed) == {"wrong_answer": 1, "compile_error": 3, "not_implemented": 3, "refused": 3}.get(
            person.verdict, 0
        ), (person, failed)
        assert result["extra_data"]["warpgrade"]["made_from"] == state["text"]
        line = (export / f"autolab/{person.id}.txt").read_text(encoding="utf-8")
        scores = lms_import.autolab(line, {"correctness", "speed", "adjustment", "spmm"})
        assert sum(scores.values()) == pytest.approx(person.points, abs=0.02), person
        assert json.loads(line)["made_from"] == state["text"]
        properties = {item.attrib["name"]: item.attrib["value"] for item in suites[person.id].iter("property")}
        assert float(properties["points"]) == pytest.approx(person.points, abs=0.01)
        assert properties["verdict"] == person.verdict, person
        assert properties["made_from"] == state["text"]


LAYOUTS = ("gradescope", "canvas", "moodle", "autolab", "folder", "blackboard", "brightspace")
# Classes of each layout; by hand more of them: WARPGRADE_TEST_CLASSES=30.
SEEDS = range(1, 1 + int(os.environ.get("WARPGRADE_TEST_CLASSES", "2")))


@pytest.mark.parametrize(
    ("layout", "seed"), [(layout, 100 * seed + i) for seed in SEEDS for i, layout in enumerate(LAYOUTS)]
)
def test_a_class_of_200_goes_in_and_comes_out_right(tmp_path: Path, layout: str, seed: int) -> None:
    made = GeneratedClass(layout, seed)
    kinds = {person.kind for person in [*made.people, *made.strangers]}
    assert len(kinds) >= 14, kinds
    assert layout != "gradescope" or kinds == set(KINDS)
    export, roster = made.write(tmp_path)
    run, book = tmp_path / "run", tmp_path / "course.sqlite"
    done = take_in(run, export, roster, "--policy", policy_of(tmp_path), "--deadline", "2026-03-18 23:59")
    assert done.returncode == 0, done.stderr
    assert "Wed 18 Mar 2026 23:59 CET" in done.stdout
    taken = class_of(run)
    assert taken["source"]["layout"] == layout
    handed_in = {member for attempt in taken["attempts"] for member in attempt["members"]}
    assert {p.id for p in made.people if p.kind == "absent"}.isdisjoint(handed_in)
    assert {p.id for p in made.people if p.verdict != "not_submitted"} <= handed_in
    assert len([s for s in taken["students"] if not s.get("on_roster", True)]) == len(made.strangers)
    for stranger in made.strangers:
        calls = (
            stranger.name,
            f"({stranger.email.upper()})",
            f"({stranger.email})",
            f"({stranger.id})",
            str(stranger.number),
        )
        assert any(call in done.stdout for call in calls), stranger

    judge(run, made.people)
    done = warpgrade("collect", run, "--gradebook", book)
    assert done.returncode == 0, done.stderr
    for person in made.people:
        if person.kind == "override":
            change: Words = ["--points", "61.5", "--reason", "appeal", "--author", "A. Person", "--gradebook", book]
            assert warpgrade("grades", "override", person.id, "--lab", "spmm", *change).returncode == 0
    empty: Words = ["--unfinished", "leave-empty"]
    done = warpgrade("export", run, "--format", "blackboard", "--column", BLACKBOARD_COLUMN, *empty)
    assert done.returncode == 0, done.stderr
    formats = "gradescope,autolab,canvas,moodle,brightspace,junit"
    done = warpgrade("export", run, "--format", formats, "--column", COLUMN, *empty)  # the run knows its gradebook
    assert done.returncode == 0, done.stderr
    assert "run run, policy spmm" in done.stdout and "course.sqlite at entry" in done.stdout
    check_tables(made, run / "export")
    check_each(made, run / "export")
    listed = json.loads(warpgrade("grades", "--gradebook", book, "--format", "json").stdout)
    for grade in listed:
        answers = {person.id: person for person in made.people}
        if grade["student"] in answers:
            person = answers[grade["student"]]
            assert grade["points"] == (None if person.kind == "absent" else pytest.approx(person.points, abs=0.01))
            assert grade["verdict"] == answers[grade["student"]].verdict
    assert sorted(g["student"] for g in listed if g["student"] in answers) == sorted(answers)


# ---- who is who


def test_a_roster_of_another_class_is_refused_with_names_of_both(tmp_path: Path) -> None:
    for number in range(6):
        good(tmp_path / f"moodle/Student Number {number}_88120{number}_assignsubmission_file_/spmm.tar.gz")
    roster = tmp_path / "roster.csv"
    roster.write_text("id,name\n" + "".join(f"s{i},Someone Else {i}\n" for i in range(14)), encoding="utf-8")
    done = take_in(tmp_path / "run", tmp_path / "moodle", roster)
    assert done.returncode == 1
    assert "0 of 14 students of the roster are found" in done.stderr
    assert "not on the roster: Student Number 0 (881200); Student Number 1 (881201); Student Number 2" in done.stderr
    assert "on the roster, not found:     Someone Else 0 (s0); Someone Else 1 (s1); Someone Else 2 (s2)" in done.stderr
    assert "--accept-unmatched" in done.stderr
    assert not (tmp_path / "run").exists(), "nothing half-made is left"
    assert take_in(tmp_path / "run", tmp_path / "moodle", roster, "--accept-unmatched").returncode == 0
    assert len(class_of(tmp_path / "run")["students"]) == 20


def test_fewer_hand_ins_than_half_the_roster_are_fine_when_all_are_known(tmp_path: Path) -> None:
    good(tmp_path / "class/s1.tar.gz")
    (tmp_path / "roster.csv").write_text("id\ns1\ns2\ns3\ns4\ns5\n", encoding="utf-8")
    assert take_in(tmp_path / "run", tmp_path / "class", tmp_path / "roster.csv").returncode == 0


def test_a_name_finds_its_student_however_it_is_encoded_and_ordered(tmp_path: Path) -> None:
    """Some systems write accents apart from their letters; an LMS turns names around; two of one name mean nobody."""
    people = {"a": "Zoë Ångström", "b": "Nguyễn Thị Ánh", "c": "Jan van der Berg", "d": "Li Wei", "e": "Li Wei"}
    names = ["ÅNGSTRÖM Zoë", "Thị Ánh Nguyễn", "van der Berg, Jan", "Li Wei"]
    for number, name in enumerate(names):
        written = unicodedata.normalize("NFD", name)
        good(tmp_path / f"moodle/{written}_{1000 + number}_assignsubmission_file_/spmm.tar.gz")
    roster = tmp_path / "roster.csv"
    roster.write_text("id,name\n" + "".join(f'{i},"{name}"\n' for i, name in people.items()), encoding="utf-8")
    assert take_in(tmp_path / "run", tmp_path / "moodle", roster).returncode == 0
    students = class_of(tmp_path / "run")["students"]
    assert {s["id"]: s.get("moodle_id") for s in students} == {
        "a": "1000", "b": "1001", "c": "1002", "d": None, "e": None, "1003": "1003",
    }  # fmt: skip


def test_an_lms_number_is_nobodys_id(tmp_path: Path) -> None:
    """Canvas' user 101 is not the student whose own id is 101."""
    (tmp_path / "canvas").mkdir()
    for name in ("lovelaceada_101_9001_work.tar.gz", "hoppergrace_102_9002_work.tar.gz"):
        good(tmp_path / "canvas" / name)
    (tmp_path / "roster.csv").write_text(
        "id,name,canvas_id\n101,Grace Hopper,102\n7,Ada Lovelace,101\n", encoding="utf-8"
    )
    assert take_in(tmp_path / "run", tmp_path / "canvas", tmp_path / "roster.csv").returncode == 0
    taken = class_of(tmp_path / "run")
    assert {a["origin"].split("_")[0]: a["student"] for a in taken["attempts"]} == {
        "lovelaceada": "7", "hoppergrace": "101",
    }  # fmt: skip


def test_blackboards_brightspaces_and_github_classrooms_forms(tmp_path: Path) -> None:
    """Names and times as these three write them, on the course's clocks."""
    black, bright, git = tmp_path / "blackboard", tmp_path / "brightspace", tmp_path / "git"
    black.mkdir()
    good(black / "Lab 1_ada_attempt_2026-03-18-23-58-07_spmm.tar.gz")
    (black / "Lab 1_ada_attempt_2026-03-18-23-58-07.txt").write_text("Name: Ada Lovelace (ada)\n", encoding="utf-8")
    (black / "Lab 1_bo_attempt_2026-03-19-00-30-00.txt").write_text("Name: Bo (bo)\n", encoding="utf-8")
    good(black / "Lab 1_chen_attempt_2026-03-19-00-01-00_spmm.tar.gz")
    good(bright / "12345-67890 - Ada Lovelace - Mar 18, 2026 1158 PM/spmm.tar.gz")
    good(bright / "12346-67890 - 陳 大文 - Mar 19, 2026 12:01 AM/spmm.tar.gz")
    (bright / "index.html").write_text("<html></html>", encoding="utf-8")
    for account in ("ada-l", "chen-dw"):
        clone = git / f"lab-1-{account}"
        clone.mkdir(parents=True)
        (clone / "spmm.cu").write_bytes(SOURCE)
        date = "2026-03-18T23:58:00+01:00" if account == "ada-l" else "2026-03-19T00:01:00+01:00"
        who = ["-c", "user.name=x", "-c", "user.email=x@example.edu"]
        for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "work"]):
            environment = {"GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date, "PATH": "/usr/bin:/bin"}
            subprocess.run(["git", *command], cwd=clone, env=environment, check=True)
    (tmp_path / "roster.csv").write_text(
        "OrgDefinedId,Username,Last Name,First Name,github\n#1,ada,Lovelace,Ada,ada-l\n#2,chen,大文,陳,chen-dw\n",
        encoding="utf-8",
    )
    for export in (black, bright, git):
        run = tmp_path / f"run-{export.name}"
        deadline: Words = ["--deadline", "2026-03-18", "--policy", policy_of(tmp_path)]
        done = take_in(run, export, tmp_path / "roster.csv", *deadline)
        assert done.returncode == 0, done.stderr
        taken = class_of(run)
        assert taken["source"]["layout"] == export.name
        assert {a["student"]: a["late_s"] > 0 for a in taken["attempts"]} == {"1": False, "2": True}, taken
        assert all(a["files"] == 1 for a in taken["attempts"])


# Names as instructors' scripts in public repositories know them; Brightspace's help does not describe the form.
LOOSE = {
    "57006-96739 - Ada Lovelace - Mar 18, 2026 1158 PM - spmm.cu": ("1", "2026-03-18T22:58:00Z", "spmm.cu"),
    "57006-96739 - Ada Lovelace - Mar 18, 2026 1158 PM - my - notes.txt": (
        "1", "2026-03-18T22:58:00Z", "my - notes.txt"),
    "97885-96739 - H'ong van Pham - Mar 19, 2026 12:01\u202fAM - lab1.tar.gz": ("2", "2026-03-18T23:01:00Z", "spmm.cu"),
    "58278-96739 - Wes-ley Ng - 19 March 2026 14.05.tar.gz": ("3", "2026-03-19T13:05:00Z", "spmm.cu"),
    "58279-96739 - 陳 大文 - Mar 18, 2026 1200 PM - 1-2 - x - Mar 1, 2020 100 PM - a.tar.gz": (
        "4", "2026-03-18T11:00:00Z", "spmm.cu"),
    "6000-96739 - Group Alpha - Mar 18, 2026 900 AM - spmm.cu": ("5", "2026-03-18T08:00:00Z", "spmm.cu"),
}  # fmt: skip


def brightspace_roster(folder: Path) -> Path:
    people = [
        "1,Lovelace,Ada,",
        "2,van Pham,H'ong,",
        "3,Ng,Wes-ley,",
        "4,大文,陳,",
        "5,Lee,Kim,Group Alpha",
        "6,Roe,Jo,Group Alpha",
    ]
    file = folder / "roster.csv"
    file.write_text("OrgDefinedId,Last Name,First Name,team\n" + "\n".join(people) + "\n", encoding="utf-8")
    return file


def test_brightspaces_loose_files_find_their_students_and_times(tmp_path: Path) -> None:
    """One attempt a student and time; what a student called a file means nothing; a group's name means its members."""
    export = tmp_path / "brightspace"
    export.mkdir()
    (export / "index.html").write_text("<html></html>", encoding="utf-8")
    for name in LOOSE:
        file = export / name
        file.write_bytes(tarred("spmm.cu", SOURCE) if name.endswith(".gz") else SOURCE)
    run = tmp_path / "run"
    done = take_in(
        run, export, brightspace_roster(tmp_path), "--deadline", "2026-03-18", "--policy", policy_of(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    taken = class_of(run)
    assert taken["source"]["layout"] == "brightspace" and "left_aside" not in taken
    expected: dict[tuple[str, str], set[str]] = {}
    for student, at, file_name in LOOSE.values():
        expected.setdefault((student, at), set()).add(file_name)
    found = {(a["student"], a["submitted_at"]): a for a in taken["attempts"]}
    assert found.keys() == expected.keys()
    for key, attempt in found.items():
        files = {
            str(f.relative_to(run / attempt["snapshot"])) for f in (run / attempt["snapshot"]).rglob("*") if f.is_file()
        }
        assert files == expected[key], (key, files)
    assert found["5", "2026-03-18T08:00:00Z"]["members"] == ["5", "6"]


@pytest.mark.parametrize(
    "date", ["18-03-2026 1158 PM", "jui 18, 2026 1158", "Mar 18, 2026 1358 PM", "Mar 32, 2026 1158 PM", "Mar 18, 2026"]
)
def test_a_brightspace_date_that_is_not_understood_is_refused(tmp_path: Path, date: str) -> None:
    """A guess might make somebody late."""
    good(tmp_path / f"brightspace/1-96739 - Ada Lovelace - {date} - spmm.tar.gz")
    done = take_in(tmp_path / "run", tmp_path / "brightspace", None)
    assert done.returncode == 1, done.stdout
    assert "the date is not understood" in done.stderr and date in done.stderr, done.stderr
    assert not (tmp_path / "run").exists()


def test_two_of_one_name_in_brightspace_are_two_people(tmp_path: Path) -> None:
    """Their numbers tell them apart; which of them the roster's student is nobody can know."""
    for number in (1, 2):
        good(tmp_path / f"brightspace/{number}-96739 - Li Wei - Mar 18, 2026 1{number}00 AM - spmm.tar.gz")
    for hour in (1, 2):  # the same person twice
        good(tmp_path / f"brightspace/3-96739 - Ada Lovelace - Mar 18, 2026 {hour}00 AM - spmm.tar.gz")
    roster = tmp_path / "roster.csv"
    roster.write_text("id,name\na,Li Wei\nb,Ada Lovelace\n", encoding="utf-8")
    done = take_in(tmp_path / "run", tmp_path / "brightspace", roster)
    assert done.returncode == 0, done.stderr
    taken = class_of(tmp_path / "run")
    assert sorted((a["student"], a["attempt"]) for a in taken["attempts"]) == [
        ("Li Wei (1)", 1), ("Li Wei (2)", 1), ("b", 1), ("b", 2),
    ]  # fmt: skip
