"""What every platform exports is read back to the right student, file and time; what is ambiguous is asked.

The exports are made by platform_exports.py, from the platforms' own naming rules.
"""

from __future__ import annotations

import random
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import platform_exports as made
import pytest
from conftest import warpgrade
from courseware import class_of, policy_of, take_in
from platform_exports import Files, HandIn

CU = b'#error "nobody compiles this"\n'
DEADLINE = "2026-03-18T23:59"  # on the clocks of Berlin, by the policy
IN_TIME, LATE = "2026-03-18T22:58", "2026-03-18T23:01"  # of UTC, in submissions.json


def student(first: str, last: str, number: int, **known: Any) -> HandIn:
    login = known.pop("login", first.lower())
    files = known.pop("files", {"spmm.cu": CU + f"// {number}\n".encode()})
    return HandIn(first, last, login, number, files, email=f"{login}@example.edu", **known)


def roster_of(folder: Path, people: list[HandIn], *extra: str) -> Path:
    """Students s<number>; `extra` are columns: canvas_id, moodle_id, lms_id, team."""
    lines = [",".join(["id", "Last Name", "First Name", "Username", "Email", *extra])]
    for one in people:
        known = {"canvas_id": one.number, "moodle_id": one.number, "lms_id": one.number, "team": one.group}
        cells = [f"s{one.number}", one.last, one.first, one.login, one.email, *(str(known[name]) for name in extra)]
        lines.append(",".join(f'"{cell}"' for cell in cells))
    file = folder / "roster.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def read(folder: Path, export: Path, roster: Path | None, *options: str | Path) -> dict[str, Any]:
    """Takes the class in; submissions.json."""
    done = take_in(folder / "run", export, roster, *options)
    assert done.returncode == 0, done.stderr
    return class_of(folder / "run")


def files_of(folder: Path, attempt: dict[str, Any]) -> Files:
    snapshot = folder / "run" / attempt["snapshot"]
    return {str(f.relative_to(snapshot)): f.read_bytes() for f in snapshot.rglob("*") if f.is_file()}


def handed_in(folder: Path, taken: dict[str, Any]) -> dict[str, Files]:
    """By student, the files of the only attempt."""
    students = [attempt["student"] for attempt in taken["attempts"]]
    assert len(students) == len(set(students)), students
    return {a["student"]: files_of(folder, a) if "snapshot" in a else {} for a in taken["attempts"]}


def attempt_of(taken: dict[str, Any], who: str) -> dict[str, Any]:
    (attempt,) = [a for a in taken["attempts"] if who in a["members"]]
    found: dict[str, Any] = attempt
    return found


# ---- Canvas


def test_all_files_of_a_canvas_user_are_one_attempt(tmp_path: Path) -> None:
    """The second number is an attachment's: a header and a PDF beside the source supersede nothing."""
    people = [
        student("Ada", "Lovelace", 101, files={"spmm.cu": CU, "tile.cuh": b"// tile\n", "report.pdf": b"%PDF"}),
        student("Mary_Ann", "O'Neil_2_x", 102, files={"my_spmm_v2.cu": CU, "16_tile.cuh": b"//\n"}, late=True),
        student("大文", "陳", 103, files={"spmm.cu": CU + b"//3\n"}),
        student("Bo", "Text", 104, files={}, text="typed"),
        student("Cy", "Link", 105, files={}, text="https://example.edu/cy"),
    ]
    taken = read(
        tmp_path, made.write(tmp_path / "export", made.canvas(people)), roster_of(tmp_path, people, "canvas_id")
    )
    assert taken["source"]["layout"] == "canvas" and "left_aside" not in taken
    expected = {f"s{one.number}": one.files for one in people[:3]}
    expected |= {
        "s104": {"text.html": b"<html>typed</html>"},
        "s105": {"link.html": b"<html>https://example.edu/cy</html>"},
    }
    assert handed_in(tmp_path, taken) == expected
    assert [a["student"] for a in taken["attempts"] if a.get("late_marked")] == ["s102"]


def test_only_what_canvas_renamed_gets_its_name_back(tmp_path: Path) -> None:
    """Canvas adds -1 to -7 to a name that the student's folder has; tile-16.cuh and scan-2.cuh are students' own."""
    files = {
        "spmm-2.cu": b'#include "util.cuh"\n#include "scan-2.cuh"\n',
        "util-3.cuh": b"//u\n",
        "scan-2.cuh": b"//s\n",
        "tile-16.cuh": b"//t\n",
        "kernel-1.cu": CU,
    }
    people = [student("Ada", "Lovelace", 101, files=files)]
    taken = read(tmp_path, made.write(tmp_path / "export", made.canvas(people)), roster_of(tmp_path, people))
    assert sorted(handed_in(tmp_path, taken)["s101"]) == [
        "kernel-1.cu",
        "scan-2.cuh",
        "spmm.cu",
        "tile-16.cuh",
        "util.cuh",
    ]


def test_canvas_groups_and_anonymous_hand_ins_find_their_students(tmp_path: Path) -> None:
    """A group has one member's number; an anonymous code is in the roster, or nobody's."""
    people = [student("Ada", "Lovelace", 101, group="Team_A"), student("Bo", "Ek", 102, group="Team_A")]
    groups = made.write(tmp_path / "groups", made.canvas(people[1:]))
    roster = roster_of(tmp_path, people, "canvas_id", "team")
    assert attempt_of(read(tmp_path, groups, roster), "s101")["members"] == ["s101", "s102"]

    (tmp_path / "run").rename(tmp_path / "groups-run")
    people[1].late = True
    export = made.write(tmp_path / "anonymous", made.canvas(people, anonymous={101: "aB3x9", 102: "77Kqz"}))
    roster.write_text("id,name,anonymous_id\ns101,Ada Lovelace,aB3x9\ns102,Bo Ek,77Kqz\n", encoding="utf-8")
    taken = read(tmp_path, export, roster)
    assert sorted(handed_in(tmp_path, taken)) == ["s101", "s102"]
    assert attempt_of(taken, "s102")["late_marked"]


def test_one_number_of_two_people_is_asked(tmp_path: Path) -> None:
    """Somebody renamed a file: nobody can tell whose it is."""
    for folder, names in {
        "canvas": ("lovelaceada_101_9001_spmm.cu", "ekbo_101_9002_spmm.cu"),
        "moodle": ("Ada Lovelace_101_assignsubmission_file_spmm.cu", "Bo Ek_101_assignsubmission_file_spmm.cu"),
        "brightspace": ("7-1 - Ada Lovelace - Mar 18, 2026 900 AM - a.cu", "7-1 - Bo Ek - Mar 18, 2026 900 AM - a.cu"),
    }.items():
        export = made.write(tmp_path / folder, dict.fromkeys(names, CU))
        done = take_in(tmp_path / "run", export, None)
        assert done.returncode == 1, folder
        for part in (*names, "two people", "--layout folder"):
            assert part in done.stderr, (part, done.stderr)
        assert not (tmp_path / "run").exists()


def test_a_canvas_name_that_ends_in_figures_is_told_by_the_roster(tmp_path: Path) -> None:
    """ada_12's file could be one of user 12, whose attachment is 101; Canvas itself would take it so."""
    people = [student("", "ada_12", 101), student("Bo", "Ek", 12, login="bo")]
    export = made.write(tmp_path / "export", {"ada_12_101_9001_spmm.cu": CU, "notes_7_8_9.txt": b"x"})
    taken = read(tmp_path, export, roster_of(tmp_path, people[:1], "canvas_id"), "--accept-unmatched")
    assert attempt_of(taken, "s101")["origin"] == "ada_12_101_9001_spmm.cu"
    done = take_in(tmp_path / "other", export, roster_of(tmp_path, people, "canvas_id"))
    assert done.returncode == 1 and "user 12 (ada)" in done.stderr and "user 101 (ada_12)" in done.stderr, done.stderr


# ---- Moodle


@pytest.mark.parametrize("folders", [True, False])
def test_both_downloads_of_moodle_are_read(tmp_path: Path, folders: bool) -> None:
    """Names with '_', a group in front, text typed into the page alone and beside files."""
    people = [
        student("Ada", "Love_lace", 101, files={"my_spmm_file_2.cu": CU, "x_assignsubmission_file_y.cuh": b"//\n"}),
        student("大文", "陳", 102, text="a remark"),
        student("Bo", "Text", 103, files={}, text="typed"),
    ]
    export = made.write(tmp_path / "export", made.moodle(people, folders, chosen_group="Lab-A"))
    taken = read(tmp_path, export, roster_of(tmp_path, people))
    assert taken["source"]["layout"] == "moodle"
    assert handed_in(tmp_path, taken) == {
        "s101": people[0].files, "s102": people[1].files, "s103": {"onlinetext.html": b"typed"},
    }  # fmt: skip
    assert len(taken["left_aside"]) == 1 and "onlinetext" in taken["left_aside"][0]


def test_a_moodle_groups_number_is_no_participants(tmp_path: Path) -> None:
    """Where groups hand in, the number is the group's: here also that of a student of another group."""
    people = [student("Ada", "Lovelace", 101, group="Alpha"), student("Bo", "Ek", 102, group="Beta")]
    of_group = student("", "", 102, group="Alpha")
    export = made.write(tmp_path / "export", made.moodle([of_group]))
    taken = read(tmp_path, export, roster_of(tmp_path, people, "moodle_id", "team"))
    assert attempt_of(taken, "s101")["members"] == ["s101"]
    assert {s["id"]: s["moodle_id"] for s in taken["students"]} == {"s101": "101", "s102": "102"}


@pytest.mark.parametrize("language", made.MOODLE_DATES)
@pytest.mark.parametrize("blind", [False, True])
def test_moodles_worksheet_tells_who_is_late_in_six_languages(tmp_path: Path, language: str, blind: bool) -> None:
    """The download has no times; the grading worksheet, given as the roster, has them as people read them."""
    people = [student("Ada", "Lovelace", 101), student("Bo", "Ek", 102)]
    export = made.write(tmp_path / "export", made.moodle(people, blind=blind))
    rows = [(one.number, one.name, one.email, at) for one, at in zip(people, made.MOODLE_DATES[language], strict=True)]
    rows.append((103, "Chen Li", "chen@example.edu", "-"))
    roster = tmp_path / "worksheet.csv"
    roster.write_text(made.moodle_worksheet(language, rows, blind), encoding="utf-8")
    taken = read(tmp_path, export, roster, "--deadline", DEADLINE, "--policy", policy_of(tmp_path))
    assert {a["late_s"] for a in taken["attempts"]} == {0, 120}, taken["attempts"]
    times = {a["owners"][0]["moodle_id"]: a["submitted_at"][:16] for a in taken["attempts"]}
    assert times == {"101": IN_TIME, "102": LATE}
    assert not any("time_is_claimed" in a for a in taken["attempts"])


def test_a_worksheets_time_that_is_not_understood_is_refused_with_its_line(tmp_path: Path) -> None:
    export = made.write(tmp_path / "export", made.moodle([student("Ada", "Lovelace", 101)]))
    roster = tmp_path / "worksheet.csv"
    rows = [(101, "Ada Lovelace", "a@example.edu", "środa, 18 marca 2026, 23:58")]
    roster.write_text(made.moodle_worksheet("en", rows), encoding="utf-8")
    done = take_in(tmp_path / "run", export, roster)
    assert done.returncode == 1
    for part in ("worksheet.csv:2", "18 marca 2026", "English, French, German, Spanish, Portuguese or Dutch"):
        assert part in done.stderr, done.stderr


# ---- Blackboard, Brightspace


def test_blackboards_users_and_assignments_may_have_underscores(tmp_path: Path) -> None:
    """Its own text tells the user; without it the roster does."""
    people = [student("Ada", "Lovelace", 101, login="ada_l"), student("L", "Other", 102, login="l")]
    files = made.blackboard("Lab_1_attempt", people)
    taken = read(tmp_path, made.write(tmp_path / "export", files), roster_of(tmp_path, people))
    assert handed_in(tmp_path, taken) == {"s101": people[0].files, "s102": people[1].files}

    (tmp_path / "run").rename(tmp_path / "first-run")
    alone = {name: content for name, content in files.items() if not name.endswith(".txt") and "ada_l" in name}
    done = take_in(tmp_path / "run", made.write(tmp_path / "alone", alone), roster_of(tmp_path, people))
    assert done.returncode == 1, "l and ada_l both end the name"
    assert "s101" in done.stderr and "s102" in done.stderr and "lms_id" in done.stderr, done.stderr
    assert take_in(tmp_path / "run", tmp_path / "alone", roster_of(tmp_path, people[:1])).returncode == 0


def test_a_blackboard_roster_without_logins_makes_none_up(tmp_path: Path) -> None:
    """A student's number is no user name: the grades would be uploaded to nobody."""
    export = made.write(tmp_path / "export", made.blackboard("Lab 1", [student("Ada", "Lovelace", 101, login="s101")]))
    roster = tmp_path / "roster.csv"
    roster.write_text("Last Name,First Name,Student ID\nLovelace,Ada,s101\n", encoding="utf-8")
    (found,) = read(tmp_path, export, roster)["students"]
    assert found["id"] == "s101" and "login" not in found


@pytest.mark.parametrize("language", made.BRIGHTSPACE_DATES)
@pytest.mark.parametrize("loose", [False, True])
def test_brightspaces_dates_are_read_in_six_languages(tmp_path: Path, language: str, loose: bool) -> None:
    people = [student("Ada", "Lovelace", 101), student("Bo", "Ek", 102)]
    dated = list(zip(people, made.BRIGHTSPACE_DATES[language], strict=True))
    export = made.write(tmp_path / "export", made.brightspace(dated, loose))
    taken = read(tmp_path, export, roster_of(tmp_path, people), "--policy", policy_of(tmp_path))
    assert {a["student"]: a["submitted_at"][:16] for a in taken["attempts"]} == {"s101": IN_TIME, "s102": LATE}


# ---- Sakai, ILIAS


@pytest.mark.parametrize("older", [False, True])
def test_sakais_folders_are_read_with_their_times(tmp_path: Path, older: bool) -> None:
    """Feedback is not a hand-in; a text counts where nothing is attached; names lost their accents."""
    people = [
        student("Ada", "Lovelace", 101, files={"spmm.cu": CU, "report.pdf": b"%PDF"}),
        student("Jürgen", "Müller", 102, login="jm", at=datetime(2026, 3, 18, 23, 1, tzinfo=UTC)),
        student("Bo", "Text", 103, files={}, text="typed"),
    ]
    attachments = "Archivos adjuntos de la entrega" if older else "Submission attachment(s)"
    export = made.write(tmp_path / "export", made.sakai("Lab 1", people, older=older, attachments=attachments))
    taken = read(tmp_path, export, roster_of(tmp_path, people), "--deadline", DEADLINE, "--policy", policy_of(tmp_path))
    assert taken["source"]["layout"] == "sakai"
    expected = {"s101": people[0].files, "s102": people[1].files, "s103": {"submissionText.html": b"typed"}}
    assert handed_in(tmp_path, taken) == expected
    assert {a["student"]: a["late_s"] > 0 for a in taken["attempts"]} == {"s101": False, "s102": True, "s103": False}


def test_sakais_groups_anonymous_and_folderless_downloads_are_read(tmp_path: Path) -> None:
    people = [student("Ada", "Lovelace", 101), student("Bo", "Ek", 102)]
    roster = roster_of(tmp_path, people)
    group = student("", "", 7, group="Team 1", members=people)
    taken = read(tmp_path, made.write(tmp_path / "groups", made.sakai("Lab 1", [group])), roster)
    assert attempt_of(taken, "s101")["members"] == ["s101", "s102"]

    (tmp_path / "run").rename(tmp_path / "groups-run")
    export = made.write(tmp_path / "loose", made.sakai_without_folders("Lab 1", people))
    taken = read(tmp_path, export, roster)
    assert taken["source"]["layout"] == "sakai"
    assert handed_in(tmp_path, taken) == {"s101": people[0].files, "s102": people[1].files}

    (tmp_path / "run").rename(tmp_path / "loose-run")
    export = made.write(tmp_path / "anonymous", made.sakai("Lab 1", people, anonymous=True))
    roster.write_text("id,name,lms_id\ns101,Ada L,0e3c1b-101\ns102,Bo E,0e3c1b-102\n", encoding="utf-8")
    assert sorted(handed_in(tmp_path, read(tmp_path, export, roster))) == ["s101", "s102"]


def test_ilias_folders_are_read_whatever_underscores_names_and_logins_have(tmp_path: Path) -> None:
    people = [
        student("Ada Mary", "King_Lovelace", 101, login="ada_king"),
        student("Jürgen", "Müller", 102, login="jm", late=True),
        student("Bo", "Ek", 103, login="bo", files={"spmm.cu": CU, "util.cuh": b"//\n"}),
    ]
    german = {"submissions": "Abgaben", "late": "Verspätete Abgabe"}
    export = made.write(tmp_path / "export", made.ilias("Blatt 1", people, **german))
    taken = read(tmp_path, export, roster_of(tmp_path, people))
    assert taken["source"]["layout"] == "ilias" and taken["left_aside"] == ["Blatt 1.xlsx"]
    assert handed_in(tmp_path, taken) == {f"s{one.number}": one.files for one in people}
    assert [a["student"] for a in taken["attempts"] if a.get("late_marked")] == ["s102"]


def test_an_ilias_folder_that_may_be_two_students_is_asked(tmp_path: Path) -> None:
    """Does the login begin at the second '_' or at the third one? Both students are there."""
    people = [student("X", "Y", 1, login="b_c"), student("P", "Q", 2, login="c")]
    export = made.write(tmp_path / "export", made.ilias("Lab", [student("A", "Z", 101, login="b_c"), *people]))
    done = take_in(tmp_path / "run", export, roster_of(tmp_path, people))
    assert done.returncode == 1 and "s1" in done.stderr and "s2" in done.stderr and "lms_id" in done.stderr
    people[0].number = 101  # its own number in the roster
    export = made.write(tmp_path / "numbered", made.ilias("Lab", [student("A", "Z", 101, login="b_c"), people[1]]))
    taken = read(tmp_path, export, roster_of(tmp_path, people, "lms_id"))
    assert sorted(handed_in(tmp_path, taken)) == ["s101", "s2"]


def test_an_ilias_team_hands_in_once(tmp_path: Path) -> None:
    people = [
        student("Ada", "Lovelace", 101, group="Team 12", files={"spmm.cu": CU}),
        student("Bo", "Ek", 102, group="Team 12", files={"util.cuh": b"//\n"}),
    ]
    taken = read(tmp_path, made.write(tmp_path / "export", made.ilias("Lab", people)), roster_of(tmp_path, people))
    (attempt,) = taken["attempts"]
    assert attempt["members"] == ["s101", "s102"] and sorted(files_of(tmp_path, attempt)) == ["spmm.cu", "util.cuh"]


# ---- Autolab, PrairieLearn


@pytest.mark.parametrize("handin", ["handin.cu", "my_handin.cu", "my_lab_handin.cu"])
def test_autolabs_address_is_found_wherever_the_hand_ins_name_puts_it(tmp_path: Path, handin: str) -> None:
    people = [student("Ada", "L", 101, login="ada_l"), student("Bo", "Ek", 102)]
    again = student("Ada", "L", 101, login="ada_l", version=2, files={"x": CU + b"//2\n"})
    export = made.write(tmp_path / "export", made.autolab(handin, [*people, again]))
    taken = read(tmp_path, export, roster_of(tmp_path, people))
    assert taken["source"]["layout"] == "autolab"
    assert sorted((a["student"], a["attempt"], a["status"]) for a in taken["attempts"]) == [
        ("s101", 1, "superseded"), ("s101", 2, "graded"), ("s102", 1, "graded"),
    ]  # fmt: skip


@pytest.mark.parametrize("manual", [False, True])
def test_prairielearns_files_are_read(tmp_path: Path, manual: bool) -> None:
    """Several files are one hand-in, later numbers are later attempts; questions may have '_' and '/'."""
    people = [
        student("Ada", "L", 101, login="ada_l", files={"spmm.cu": CU, "my_util_2.cuh": b"//\n"}),
        student("Bo", "Ek", 102),
        student("Ada", "L", 101, login="ada_l", version=2, files={"spmm.cu": CU + b"//2\n"}),
    ]
    question = "spmm_kernel" if manual else "labs/spmm_kernel"
    export = made.write(tmp_path / "export", made.prairielearn("Homework1", question, people, manual))
    layout = ["--layout", "prairielearn"] if manual else []
    taken = read(tmp_path, export, roster_of(tmp_path, people[:2]), *layout)
    assert taken["source"]["layout"] == "prairielearn"
    found = {(a["student"], a["attempt"]): sorted(files_of(tmp_path, a)) for a in taken["attempts"]}
    assert found == {("s101", 1): ["my_util_2.cuh", "spmm.cu"], ("s101", 2): ["spmm.cu"], ("s102", 1): ["spmm.cu"]}


def test_an_export_of_several_questions_is_asked_about(tmp_path: Path) -> None:
    files = made.prairielearn("Homework1", "spmm", [student("Ada", "L", 101)])
    files |= made.prairielearn("Homework1", "gcn", [student("Ada", "L", 101)])
    done = take_in(tmp_path / "run", made.write(tmp_path / "export", files), None)
    assert done.returncode == 1 and "gcn and spmm" in done.stderr, done.stderr


# ---- what is ambiguous


def test_an_export_that_fits_two_layouts_is_asked_about(tmp_path: Path) -> None:
    """One file: PrairieLearn's of a question, or Autolab's version 1 of a long name."""
    export = made.write(tmp_path / "export", {"ada@example.edu_1_spmm_1_1_88000_spmm.cu": CU})
    done = take_in(tmp_path / "run", export, None)
    assert done.returncode == 1
    assert "two layouts, autolab and prairielearn" in done.stderr and "--layout prairielearn" in done.stderr
    assert read(tmp_path, export, None, "--layout", "prairielearn")["source"]["layout"] == "prairielearn"


def test_a_name_that_two_students_have_is_a_listed_question(tmp_path: Path) -> None:
    people = [student("Li", "Wei", 1), student("Li", "Wei", 2, login="li2"), student("Ada", "L", 3)]
    export = made.write(tmp_path / "export", made.moodle([student("Li", "Wei", 77), people[2]]))
    done = take_in(tmp_path / "run", export, roster_of(tmp_path, people), "--accept-unmatched")
    assert done.returncode == 0, done.stderr
    (question,) = class_of(tmp_path / "run")["questions"]
    for part in ("Li Wei", "s1 and of s2", "moodle_id"):
        assert part in question, question
    assert f"not decided: {question}" in done.stdout
    assert {a["student"] for a in class_of(tmp_path / "run")["attempts"]} == {"77", "s3"}, "given to neither"


# ---- what was refused on the way


def zip_with(path: Path, files: Files, links: dict[str, str] | None = None) -> Path:
    made.pack(path, files)
    with zipfile.ZipFile(path, "a") as archive:
        for name, target in (links or {}).items():
            info = zipfile.ZipInfo(name)
            info.external_attr = 0o120777 << 16
            archive.writestr(info, target)
    return path


def test_a_refused_entry_belongs_to_whose_place_it_lies_in(tmp_path: Path) -> None:
    """alice/bob/<a long name> refuses alice alone; who has nothing else is refused, and not absent."""
    long = "x" * 220 + ".cu"
    files = {"alice/spmm.cu": CU, f"alice/bob/{long}": b"", "bob/spmm.cu": CU + b"//b\n"}
    archive = zip_with(tmp_path / "class.zip", files | {"chen/spmm.cu": CU + b"//c\n"}, {"dita/spmm.cu": "/etc/passwd"})
    taken = read(tmp_path, archive, None, "--layout", "folder")
    refused = {a["student"]: a.get("refusal", {}).get("reason") for a in taken["attempts"]}
    assert refused == {"alice": "bad_name", "bob": None, "chen": None, "dita": "link"}, refused


def test_refused_entries_find_their_student_in_every_layout(tmp_path: Path) -> None:
    """A file whose name is too long is the student's own doing, wherever the layout says whose it is."""
    long = "x" * 220 + ".cu"
    people = [student("Ada", "Lovelace", 101), student("Bo", "Ek", 102), student("Cy", "Li", 103, files={long: b""})]
    exports = {
        "canvas": made.canvas(people),
        "canvas-wrapped": {f"Downloads/export/{name}": content for name, content in made.canvas(people).items()},
        "moodle": made.moodle(people),
        "moodle-loose": made.moodle(people, folders=False),
        "blackboard": made.blackboard("Lab 1", people),
        "brightspace": made.brightspace([(one, "Mar 18, 2026 1158 PM") for one in people], loose=True),
        "sakai": made.sakai("Lab 1", people),
        "ilias": made.ilias("Lab 1", people),
        "prairielearn": made.prairielearn("HW1", "spmm", people),
    }
    roster = roster_of(tmp_path, people)
    for layout, files in exports.items():
        taken = read(tmp_path, made.pack(tmp_path / f"{layout}.zip", files), roster)
        reasons = {a["student"]: a.get("refusal", {}).get("reason") for a in taken["attempts"]}
        assert reasons == {"s101": None, "s102": None, "s103": "bad_name"}, (layout, reasons)
        (tmp_path / "run").rename(tmp_path / f"run-{layout}")


# ---- any names


LETTERS = "abcdefgh0123456789_-äé陳ЖΩ '"
WORDS = ["tile", "spmm", "my_kernel", "LATE", "anon", "text", "file", "attempt", "1", "16", "2026-03-18", "link"]


def random_name(draw: random.Random, letters: str = LETTERS) -> str:
    while True:
        name = "".join(draw.choice(letters) for _ in range(draw.randint(2, 12))).strip(" '")
        if any(c.isalpha() for c in name) and not name.startswith((".", "-")):
            return name


def random_people(draw: random.Random, count: int, letters: str = LETTERS) -> list[HandIn]:
    """People of different names, each with a source and perhaps more, under any names."""
    people: dict[str, HandIn] = {}
    while len(people) < count:
        number = 1000 + 7 * len(people)
        files: Files = {}
        for ending in ["cu", *draw.sample(["cuh", "h", "pdf"], draw.randint(0, 3))]:
            stem = "_".join(draw.sample(WORDS, draw.randint(1, 3))) + draw.choice(["", "-16", "-1", "_v2"])
            files[f"{stem}.{ending}"] = f"// {number} {ending}\n".encode()
        login = "".join(c for c in random_name(draw, "abcdef0123_") if c != " ") + str(number)
        first, last = random_name(draw, letters), random_name(draw, letters)
        people.setdefault(f"{last}{first}".lower(), student(first, last, number, login=login, files=files))
    return list(people.values())


@pytest.mark.parametrize("layout", ["canvas", "moodle", "moodle-loose", "blackboard", "sakai", "ilias"])
def test_names_of_any_kind_are_read_back_to_the_right_student_and_file(tmp_path: Path, layout: str) -> None:
    """Forty people and their files, named at random and written by the platform's rules."""
    seed = random.randrange(1 << 30)
    print("seed", seed)
    draw = random.Random(seed)
    people = random_people(draw, 40)
    exports = {
        "canvas": lambda: made.canvas(people),
        "moodle": lambda: made.moodle(people),
        "moodle-loose": lambda: made.moodle(people, folders=False),
        "blackboard": lambda: made.blackboard(draw.choice(["Lab 1", "Lab_1_x", "a_b_2"]), people),
        "sakai": lambda: made.sakai("Lab 1", people),
        "ilias": lambda: made.ilias("Lab 1", people),
    }
    extra = {"canvas": ["canvas_id"], "moodle": ["moodle_id"], "moodle-loose": ["moodle_id"], "ilias": ["lms_id"]}
    roster = roster_of(tmp_path, people, *extra.get(layout, []))
    taken = read(tmp_path, made.write(tmp_path / "export", exports[layout]()), roster)
    assert taken["source"]["layout"] == layout.removesuffix("-loose")
    assert "left_aside" not in taken or layout == "ilias", taken["left_aside"]
    expected = {f"s{one.number}": one.files for one in people}
    if layout == "canvas":  # which may have renamed the lab's own source
        for files in expected.values():
            if "spmm-1.cu" in files and "spmm.cu" not in files:
                files["spmm.cu"] = files.pop("spmm-1.cu")
    found = handed_in(tmp_path, taken)
    assert found.keys() == expected.keys()
    for who, files in expected.items():
        assert sorted(found[who].values()) == sorted(files.values()), who
        if layout != "ilias":
            assert found[who] == files, who


def test_the_layouts_that_are_there_are_told(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    done = warpgrade("batch", tmp_path / "run", "--submissions", tmp_path / "x", "--layout", "blackbord")
    assert done.returncode == 1
    for layout in ("sakai", "ilias", "prairielearn", "git", "git-before"):
        assert layout in done.stderr, done.stderr
