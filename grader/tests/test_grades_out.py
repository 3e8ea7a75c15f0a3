"""How grades go out: each student's current grade, empty cells where there is none, and what comes back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import lms_import
import pytest
from conftest import ROOT, Words, warpgrade
from courseware import class_of, policy_of, rows_of, take_in
from generated_class import GeneratedClass, Person, judge
from lms_import import LmsPerson
from test_exports import GRADESCOPE

sys.path.append(str(ROOT / "reports/tests"))
from synthetic_class import SyntheticClass

COLUMN = "Lab 1 (4711)"


def lms_people(people: list[Person]) -> list[LmsPerson]:
    return [LmsPerson(p.id, str(p.number), p.id, f"login-{p.id}", p.id, p.email, p.name) for p in people]


def made_at(run: Path, time: str) -> None:
    """The run as if it had been made then: the last one counts."""
    described = json.loads((run / "run.json").read_text(encoding="utf-8"))
    described["created_at"] = time
    (run / "run.json").write_text(json.dumps(described, ensure_ascii=False), encoding="utf-8")


class Course:
    """Twelve students with a first run; `of`, by kind of trouble."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.book = folder, folder / "course.sqlite"
        made = GeneratedClass("folder", 11, size=13)
        made.strangers.clear()
        kinds = ["slow", "slow", "absent", "wrong"] + ["fine"] * 8
        for person, kind in zip(made.people, kinds, strict=False):
            person.kind, person.team = kind, ""
        self.people = made.people[:12]
        for person in self.people:
            made._answer(person)
        made.people = self.people
        export, self.roster = made.write(folder)
        self.first = self.run("first", export, self.people, "2026-03-20T00:00:00Z")

    def run(self, name: str, export: Path, people: list[Person], time: str) -> Path:
        run = self.folder / name
        done = take_in(run, export, self.roster, "--policy", policy_of(self.folder))
        assert done.returncode == 0, done.stderr
        judge(run, people)
        made_at(run, time)
        done = warpgrade("collect", run, "--gradebook", self.book)
        assert done.returncode == 0, done.stderr
        return run

    def appeal(self) -> Path:
        """The first two are judged again, with the whole roster: now all is right and fast."""
        hand_ins = self.folder / "appeal-hand-ins"
        hand_ins.mkdir()
        source = next(
            path for path in self.folder.iterdir() if path.is_dir() and list(path.glob(f"*{self.people[0].id}*"))
        )
        for person in self.people[:2]:
            for path in source.glob(f"*{person.id}*"):
                (shutil.copytree if path.is_dir() else shutil.copy2)(path, hand_ins / path.name)
            person.kind = "fine"
        return self.run("appeal", hand_ins, self.people, "2026-04-20T00:00:00Z")

    def export(self, run: Path, *options: str | Path) -> subprocess.CompletedProcess[str]:
        return warpgrade("export", run, "--format", "canvas", "--column", COLUMN, *options)

    def canvas(self, run: Path, before: dict[str, float] | None = None) -> dict[str, float]:
        return lms_import.canvas(run / "export/canvas.csv", lms_people(self.people), COLUMN, before)


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return Course(tmp_path)


def test_an_appeals_run_with_the_whole_roster_exports_two_and_touches_nobody_else(course: Course) -> None:
    done = course.export(course.first)
    assert done.returncode == 0, done.stderr
    stood = course.canvas(course.first)
    assert len(stood) == 11, "who handed nothing in has no row, and no 0"
    assert course.people[2].id not in stood and course.people[2].id in done.stdout
    appeal = course.appeal()
    done = course.export(appeal)
    assert done.returncode == 0, done.stderr
    assert len(rows_of(appeal / "export/canvas.csv")) == 2 + 2
    both = {person.id: 100.0 for person in course.people[:2]}
    assert course.canvas(appeal, stood) == stood | both
    assert "left out, since their hand-in is in another run" in done.stdout


def test_the_first_runs_export_has_the_appeals_points_and_says_where_they_are_from(course: Course) -> None:
    course.appeal()
    done = warpgrade("export", course.first, "--no-pdf", "--column", COLUMN)
    assert done.returncode == 0, done.stderr
    points = course.canvas(course.first)
    assert [points[person.id] for person in course.people[:2]] == [100, 100]
    ids = [person.id for person in course.people[:2]]
    assert f"graded in run appeal: {', '.join(ids)}" in done.stdout
    made_from = json.loads((course.first / "export/made-from.json").read_text(encoding="utf-8"))
    assert made_from["students"]["from_other_runs"] == dict.fromkeys(ids, "appeal")
    for text in (f"gradescope/{ids[0]}.json", f"feedback/{ids[0]}/feedback.md"):
        content = (course.first / "export" / text).read_text(encoding="utf-8")
        assert "100 of 100" in content.replace("**", ""), text
    assert "Graded in run appeal" in (course.first / f"export/gradescope/{ids[0]}.json").read_text(encoding="utf-8")


def test_where_the_appeals_folder_is_gone_the_points_stay(course: Course) -> None:
    course.appeal().rename(course.folder / "elsewhere")
    done = warpgrade("export", course.first, "--format", "canvas,gradescope,feedback,junit", "--column", COLUMN)
    assert done.returncode == 0, done.stderr
    assert course.canvas(course.first)[course.people[0].id] == 100
    assert "the points alone: the folder of run appeal is not where it was collected" in done.stdout
    result = json.loads((course.first / f"export/gradescope/{course.people[0].id}.json").read_text(encoding="utf-8"))
    jsonschema.validate(result, GRADESCOPE)
    assert result["score"] == 100


def test_zero_for_who_handed_nothing_in_must_be_meant_and_spares_who_did_in_another_run(course: Course) -> None:
    appeal = course.appeal()
    assert course.export(appeal, "--not-submitted", "zero").returncode == 0
    points = course.canvas(appeal)
    assert points == {course.people[0].id: 100, course.people[1].id: 100, course.people[2].id: 0}
    assert course.export(appeal, "--all-graded").returncode == 0
    assert len(course.canvas(appeal)) == 11


def test_unfinished_records_block_an_export_and_name_who_and_how_many(course: Course) -> None:
    """Half of the cases missing would make 90 of 90 what is truly 45."""
    submission = next(s for s in class_of(course.first)["attempts"] if s["student"] == course.people[5].id)[
        "submission"
    ]
    shutil.rmtree(course.first / "cases" / submission)
    assert warpgrade("collect", course.first).returncode == 0
    for formats in ("canvas", "gradescope", "junit"):
        done = warpgrade("export", course.first, "--format", formats)
        assert done.returncode == 1, done.stdout
        assert f"{course.people[5].id} (3 of 3 cases)" in done.stderr and "--unfinished leave-empty" in done.stderr
    done = course.export(course.first, "--unfinished", "leave-empty")
    assert done.returncode == 0, done.stderr
    assert course.people[5].id not in course.canvas(course.first)
    assert f"left empty, since cases are not judged yet: {course.people[5].id} (3 of 3 cases)" in done.stdout
    made_from = json.loads((course.first / "export/made-from.json").read_text(encoding="utf-8"))
    assert made_from["students"]["unfinished"] == [
        {"student": course.people[5].id, "undecided_cases": 3, "total_cases": 3}
    ]
    override: Words = ["--points", "50", "--reason", "agreed", "--author", "A", "--gradebook", course.book]
    assert warpgrade("grades", "override", course.people[5].id, "--lab", "spmm", *override).returncode == 0
    assert course.export(course.first).returncode == 0, "a person has decided"


# ---- every platform


def with_logins(course: Course) -> None:
    """The class as a roster with the platform's own names gives it."""
    file = course.first / "submissions.json"
    taken = class_of(course.first)
    for number, student in enumerate(taken["students"]):
        person = next(p for p in course.people if p.id == student["id"])
        taken["students"][number] |= {
            "login": f"login-{person.id}",
            "moodle_id": str(person.number),
            "lms_id": str(person.number),
        }
        taken["students"][number]["email"] = person.email
    file.write_text(json.dumps(taken, ensure_ascii=False), encoding="utf-8")
    assert warpgrade("collect", course.first).returncode == 0


def expected(course: Course) -> dict[str, Any]:
    return {p.id: pytest.approx(p.points, abs=0.01) for p in course.people if p.kind != "absent"}


def test_a_roster_without_user_names_puts_no_numbers_into_username(course: Course) -> None:
    done = warpgrade("export", course.first, "--format", "blackboard,sakai")
    assert done.returncode == 0, done.stderr
    assert not (course.first / "export/blackboard.csv").exists()
    assert "no blackboard.csv: the roster has nothing by which blackboard finds people" in done.stdout
    assert warpgrade("export", course.first, "--format", "blackboard", "--username", "id").returncode == 0
    assert {row[0] for row in rows_of(course.first / "export/blackboard.csv")[1:]} == expected(course).keys()


def test_sakai_prairielearn_and_ilias_take_what_is_theirs(course: Course) -> None:
    with_logins(course)
    formats = "sakai,prairielearn,prairielearn-csv,ilias"
    done = warpgrade("export", course.first, "--format", formats, "--column", "Lab 1")
    assert done.returncode == 0, done.stderr
    people, export = lms_people(course.people), course.first / "export"
    assert lms_import.sakai_gradebook(export / "sakai.csv", people, "Lab 1", 100) == expected(course)
    assert lms_import.prairielearn_scores(export / "prairielearn.csv", people, "Lab 1") == expected(course)
    for person in course.people:
        file = export / f"prairielearn/{person.id}.json"
        assert file.exists() == (person.kind != "absent")
        if file.exists():
            results = json.loads(file.read_text(encoding="utf-8"))
            score = lms_import.prairielearn_results(results, file.stat().st_size)
            assert 100 * score == pytest.approx(person.points, abs=0.01)
    feedback = lms_import.ilias_feedback(export / "ilias.zip", people)
    assert feedback.keys() == expected(course).keys()
    assert feedback[course.people[0].id]["feedback.txt"].startswith("40 of 100 points")


WORKSHEET = (
    '"Identifier","Full name","Email address","Status","Grade","Maximum grade","Grade can be changed",'
    '"Last modified (submission)","Last modified (grade)","Feedback comments"'
)  # mod/assign/feedback/offline/tests/fixtures/assignfeedback_offline_test_worksheet_1.csv of moodle/moodle


def test_moodles_worksheet_is_filled_in_place_and_its_upload_enters_the_grades(course: Course) -> None:
    with_logins(course)
    course.people[3].points = 0
    override: Words = ["--points", "0", "--reason", "x", "--author", "A", "--gradebook", course.book]
    assert warpgrade("grades", "override", course.people[3].id, "--lab", "spmm", *override).returncode == 0
    lines = [WORKSHEET]
    for person in course.people:
        lines.append(
            f'"Participant {person.number}","Say ""{person.id}""",{person.email},"Submitted for grading","","100.00",'
            '"Yes","Wednesday, 18 March 2026, 11:59 PM","-",'
        )
    lines.append(
        '"Participant 999999","A guest",g@example.edu,"No submission","12.50","100.00","Yes","-","-","by hand"'
    )
    sheet = course.folder / "Grades-lab 1.csv"
    sheet.write_bytes("\r\n".join([*lines, ""]).encode())
    done = warpgrade("export", course.first, "--format", "moodle", "--worksheet", sheet)
    assert done.returncode == 0, done.stderr
    filled = course.first / "export/Grades-lab 1.csv"
    people = lms_people(course.people)
    entered = lms_import.moodle_worksheet(filled, people, 100)
    wanted = {key: points for key, points in expected(course).items() if key != course.people[3].id}
    assert entered == wanted
    assert f"enters no 0: set it by hand for {course.people[3].id}" in done.stdout
    before, after = sheet.read_bytes().decode().split("\r\n"), filled.read_bytes().decode().split("\r\n")
    assert before[0] == after[0] and before[-2:] == after[-2:] and len(before) == len(after)
    assert after[1] == before[1].replace('"Submitted for grading",""', '"Submitted for grading","40"')
    assert after[3] == before[3], "the row of who has no grade"


def test_sakais_grades_csv_is_filled_in_place(course: Course) -> None:
    with_logins(course)
    head = (
        '\ufeff"Lab 1","SCORE_GRADE_TYPE"\n""\n"Display ID","ID","Last Name","First Name","grade","Submission date"\n'
    )
    rows = "".join(f'"{p.id}","login-{p.id}","Last","First","","{i}"\n' for i, p in enumerate(course.people))
    (course.folder / "grades.csv").write_text(head + rows, encoding="utf-8")
    done = warpgrade("export", course.first, "--format", "sakai", "--worksheet", course.folder / "grades.csv")
    assert done.returncode == 0, done.stderr
    filled = course.first / "export/grades.csv"
    assert lms_import.sakai_assignment(filled, lms_people(course.people)) == expected(course)
    assert filled.read_text(encoding="utf-8").startswith(head)


def test_a_file_that_is_no_worksheet_is_refused_with_its_columns(course: Course) -> None:
    (course.folder / "other.csv").write_text("Nummer,Bewertung\n1,2\n", encoding="utf-8")
    done = warpgrade("export", course.first, "--format", "moodle", "--worksheet", course.folder / "other.csv")
    assert done.returncode == 1 and "its columns are Bewertung, Nummer" in done.stderr


# ---- Gradescope's autograder of prepared results


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[SyntheticClass, Path]:
    """200 students' results, and the autograder's archive unpacked as Gradescope does."""
    folder = tmp_path_factory.mktemp("gradescope")
    made = SyntheticClass(students=200, graphs=["ddi"], faults=0.2)
    run = made.write(folder / "run")
    assert warpgrade("collect", run).returncode == 0
    done = warpgrade("export", run, "--format", "gradescope", "--unfinished", "leave-empty")
    assert done.returncode == 0, done.stderr
    command: Words = [ROOT / "scripts/bridges/gradescope/pack", "--results", run / "export", folder / "autograder.zip"]
    subprocess.run(command, check=True, capture_output=True)
    with zipfile.ZipFile(folder / "autograder.zip") as archive:
        assert {"setup.sh", "run_autograder", "students.json"} <= set(archive.namelist())
        assert archive.getinfo("run_autograder").external_attr >> 16 & 0o111
        archive.extractall(folder / "autograder/source")
    return made, folder / "autograder"


def returned(root: Path, *users: dict[str, Any]) -> tuple[subprocess.CompletedProcess[str], dict[str, Any] | None]:
    metadata = {"id": 1, "users": list(users), "assignment": {"title": "Lab 1"}, "previous_submissions": []}
    (root / "submission_metadata.json").write_text(json.dumps(metadata), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(root / "source/run_autograder")],
        env=os.environ | {"AUTOGRADER_ROOT": str(root)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    file = root / "results/results.json"
    return done, json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def test_the_autograder_returns_each_of_200_students_their_results(prepared: tuple[SyntheticClass, Path]) -> None:
    made, root = prepared
    scores = {}
    for student in made.class_list["students"]:
        done, result = returned(root, {"email": student["email"].upper(), "id": 1, "name": student["name"]})
        if result is None:
            assert done.returncode == 1 and "no" in done.stdout, done
            continue
        jsonschema.validate(result, GRADESCOPE)
        scores[student["id"]] = result["score"]
    wanted = {}
    run_scores = json.loads((root.parent / "run/scores.json").read_text(encoding="utf-8"))["submissions"]
    for submission in run_scores:
        if submission["role"] == "student" and submission["undecided_cases"] == 0:
            for member in submission["members"]:
                wanted[member] = pytest.approx(submission["points"], abs=0.01)
    assert scores == wanted and len(wanted) > 150


def test_who_is_not_in_the_run_gets_no_score_and_a_sentence(prepared: tuple[SyntheticClass, Path]) -> None:
    _, root = prepared
    for user, said in (
        ({"email": "eve@example.edu", "id": 5, "name": "Eve"}, "eve@example.edu is not among the students"),
        ({"email": "s9999@example.edu", "id": 5}, "nothing of this student was judged"),
        ({"email": "eve@example.edu", "id": "s0001"}, "is not among the students"),
    ):
        done, result = returned(root, user)
        assert done.returncode == 1 and said in done.stdout and result is None, (user, done)


def test_an_archive_of_results_wants_an_export(tmp_path: Path) -> None:
    command: Words = [ROOT / "scripts/bridges/gradescope/pack", "--results", tmp_path, tmp_path / "a.zip"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 1 and "expected gradescope-students.json" in done.stderr
    assert not (tmp_path / "a.zip").exists()


# ---- totals, appeals, and what comes back


def total(course: Course, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    (course.folder / "course.yaml").write_text(text, encoding="utf-8")
    return warpgrade("grades", "total", "--gradebook", course.book, "--course", course.folder / "course.yaml", *options)


def test_totals_weigh_the_labs_and_an_empty_cell_is_what_the_course_says(course: Course) -> None:
    text = "schema: warpgrade.course.v1\nmissing: zero\nlabs:\n  spmm: {weight: 2}\n  later: {weight: 1}\n"
    done = total(course, text, "--format", "json")
    assert done.returncode == 0, done.stderr
    totals = {line["student"]: line["total"] for line in json.loads(done.stdout)}
    assert totals == {p.id: pytest.approx(p.points) for p in course.people}, "a lab of no run does not count yet"
    done = total(course, text.replace("zero", "left_out"), "--format", "json")
    assert {line["student"]: line["total"] for line in json.loads(done.stdout)}[course.people[2].id] is None
    done = total(course, text)
    assert "a lab without a grade counts 0" in done.stdout and "not counted: later" in done.stdout
    absent = next(line for line in done.stdout.splitlines() if line.startswith(course.people[2].id))
    assert "nothing" not in absent
    done = total(course, text.replace("missing: zero\n", ""))
    assert done.returncode == 1 and "missing: expected left_out or zero" in done.stderr
    done = total(course, text.replace("weight: 2", "wieght: 2"))
    assert done.returncode == 1 and "unknown key labs.spmm.wieght (did you mean weight?)" in done.stderr


def imported(course: Course, file: Path, format_name: str, *options: str) -> subprocess.CompletedProcess[str]:
    where: Words = ["--lab", "spmm", "--gradebook", course.book]
    return warpgrade("grades", "import", file, "--format", format_name, *where, *options)


@pytest.mark.parametrize("format_name", ["canvas", "moodle", "blackboard", "brightspace", "sakai", "prairielearn-csv"])
def test_what_was_exported_comes_back_the_same_and_a_change_is_told(course: Course, format_name: str) -> None:
    with_logins(course)
    assert warpgrade("export", course.first, "--format", format_name).returncode == 0
    file = course.first / f"export/{format_name.removesuffix('-csv')}.csv"
    done = imported(course, file, format_name)
    assert done.returncode == 0, done.stderr
    assert "the same grades as here, of 11 students" in done.stdout
    file.write_text(file.read_text(encoding="utf-8").replace("26.67", "31.5"), encoding="utf-8")
    done = imported(course, file, format_name, "--apply", "--reason", "seen in class", "--author", "A. Person")
    assert done.returncode == 0, done.stderr
    assert "1 overrides are entered" in done.stdout and "26.67" in done.stdout
    listed = json.loads(warpgrade("grades", "--gradebook", course.book, "--format", "json").stdout)
    changed = {line["student"]: line["points"] for line in listed if "override" in line}
    assert changed == {course.people[3].id: 31.5}
    assert imported(course, file, format_name).stdout.startswith(f"{file}: the same")


def test_a_row_of_nobody_twice_or_no_number_is_told_and_enters_nothing(course: Course) -> None:
    file = course.folder / "back.csv"
    a, b = course.people[0].id, course.people[1].id
    file.write_text(f"ID number,spmm\n{a},55\neve,10\n{a},56\n{b},ten\n{course.people[4].id},400\n", encoding="utf-8")
    done = imported(course, file, "moodle", "--apply", "--reason", "r", "--author", "A")
    assert done.returncode == 1
    for said in ("line 3: nobody of lab spmm is eve", f"line 4: {a} stands in line 2 already", "'ten' is no number",
                 "400 is not from 0 to 100", "nothing is entered"):  # fmt: skip
        assert said in done.stderr, (said, done.stderr)
    listed = json.loads(warpgrade("grades", "--gradebook", course.book, "--format", "json").stdout)
    assert not [line for line in listed if "override" in line]
    assert imported(course, file, "moodle", "--apply").returncode == 1, "without a reason and an author"


def test_appeals_are_listed_until_they_are_closed(course: Course) -> None:
    book: Words = ["--gradebook", course.book]
    student = course.people[0].id
    done = warpgrade("grades", "appeal", student, "--lab", "spmm", "--text", "case 2 is right", *book)
    assert done.returncode == 0, done.stderr
    assert "case 2 is right" in warpgrade("grades", "appeals", *book).stdout
    assert json.loads(warpgrade("grades", "appeals", "--format", "json", *book).stdout)[0]["student"] == student
    close: Words = ["--close", "it is not", "--author", "A. Person", *book]
    assert warpgrade("grades", "appeal", student, "--lab", "spmm", *close).returncode == 0
    assert warpgrade("grades", "appeals", *book).stdout == "no appeal is open\n"
    history = warpgrade("grades", "history", student, *book).stdout
    assert "appeal opened" in history and "appeal closed" in history and "it is not" in history
    assert warpgrade("grades", "appeal", student, "--lab", "spmm", *close).returncode == 1


# ---- without a GPU


def test_without_a_gpu_every_place_says_that_speed_was_not_measured(tmp_path: Path) -> None:
    """Perfect work has 40 of 100 on the emulator."""
    course = Course(tmp_path)
    described = json.loads((course.first / "run.json").read_text(encoding="utf-8"))
    described |= {"backend": "emulator", "speed_measured": False}
    (course.first / "run.json").write_text(json.dumps(described), encoding="utf-8")
    done = warpgrade("collect", course.first)
    assert done.returncode == 0, done.stderr
    person = course.people[6].id
    assert "60 of 100 points of lab spmm are open" in warpgrade("grades", "--gradebook", course.book).stdout.replace(
        "(lab spmm): 60 of 100 points are open", "60 of 100 points of lab spmm are open"
    )
    assert "60 of 100 points are open" in warpgrade("score", course.first).stdout
    done = warpgrade("export", course.first, "--no-pdf")
    assert done.returncode == 0, done.stderr
    assert "60 of 100 points are open" in done.stdout
    for file in (
        f"gradescope/{person}.json",
        "moodle.csv",
        f"feedback/{person}/feedback.md",
        f"feedback/{person}/index.html",
    ):
        text = (course.first / "export" / file).read_text(encoding="utf-8")
        assert "not measured" in text and "60 points" in text, file
