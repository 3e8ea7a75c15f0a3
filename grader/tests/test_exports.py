"""From a class's run folder to grades: collect, gradebook, exports, feedback; formats checked, nothing hidden leaks."""

from __future__ import annotations

import csv
import io
import json
import re
import resource
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import lms_import
import pytest
from conftest import ROOT, Words, warpgrade
from lms_import import LmsPerson

sys.path.append(str(ROOT / "reports/tests"))
from synthetic_class import CANARIES, PEOPLE, SyntheticClass

# https://gradescope-autograders.readthedocs.io/en/latest/specs/, "Output format"
_VISIBILITY = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
_FORMAT = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
GRADESCOPE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["score", "tests"],
    "properties": {
        "score": {"type": "number", "minimum": 0},
        "execution_time": {"type": "number"},
        "output": {"type": "string"},
        "output_format": _FORMAT,
        "test_output_format": _FORMAT,
        "test_name_format": _FORMAT,
        "visibility": _VISIBILITY,
        "stdout_visibility": _VISIBILITY,
        "extra_data": {"type": "object"},
        "tests": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["score", "max_score", "name"],
                "properties": {
                    "score": {"type": "number"},
                    "max_score": {"type": "number"},
                    "status": {"enum": ["passed", "failed"]},
                    "name": {"type": "string"},
                    "name_format": _FORMAT,
                    "number": {"type": "string"},
                    "output": {"type": "string"},
                    "output_format": _FORMAT,
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "visibility": _VISIBILITY,
                    "extra_data": {"type": "object"},
                },
            },
        },
        "leaderboard": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["name", "value"],
                "properties": {
                    "name": {"type": "string"},
                    "value": {"type": ["number", "string"]},
                    "order": {"enum": ["asc", "desc"]},
                },
            },
        },
    },
}

# Elements, attributes and children of junit-10.xsd, the schema of Jenkins' xUnit plug-in, as far as a report has them.
JUNIT: dict[str, tuple[set[str], set[str], set[str]]] = {  # name: required, allowed attributes, children
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors", "disabled"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests"},
        {
            "name",
            "tests",
            "failures",
            "errors",
            "group",
            "time",
            "skipped",
            "timestamp",
            "hostname",
            "id",
            "package",
            "file",
            "log",
            "url",
            "version",
        },
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, {"name", "value"}, set()),
    "testcase": (
        {"name"},
        {"name", "time", "classname", "group"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "skipped": (set(), {"type", "message"}, set()),
}


def exported(tmp_path: Path, made: SyntheticClass, *options: str | Path, book: bool = True) -> Path:
    """Collects and exports a run; returns the exports' folder."""
    folder = made.write(tmp_path / "run")
    gradebook: Words = ["--gradebook", tmp_path / "book.sqlite"] if book else []
    done = warpgrade("collect", folder, *gradebook)
    assert done.returncode == 0, done.stderr
    done = warpgrade("export", folder, *gradebook, "--unfinished", "leave-empty", *options)
    assert done.returncode == 0, done.stderr
    exports: Path = folder / "export"
    return exports


@pytest.fixture(scope="module")
def the_class(tmp_path_factory: pytest.TempPathFactory) -> tuple[SyntheticClass, Path]:
    """A class of fourteen with names in many scripts, exported in all formats but the PDF."""
    made = SyntheticClass(students=14, graphs=["arxiv", "ddi"], faults=0.6)
    made.submissions[1]["late_s"] = 100_000
    return made, exported(tmp_path_factory.mktemp("class"), made, "--no-pdf")


def rows_of(file: Path) -> list[list[str]]:
    """A CSV's rows; every file begins with the mark that spreadsheets know UTF-8 by."""
    text = file.read_bytes()
    assert text.startswith(b"\xef\xbb\xbf")
    return list(csv.reader(io.StringIO(text.decode("utf-8-sig"))))


def results(folder: Path) -> dict[str, dict[str, Any]]:
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (folder / "gradescope").iterdir()}


def test_gradescopes_results_follow_its_specification(the_class: tuple[SyntheticClass, Path]) -> None:
    found = results(the_class[1])
    assert len(found) == 14 + 1, "every student and both members of the team; not who handed nothing in"
    for result in found.values():
        jsonschema.validate(result, GRADESCOPE)
    assert all(len(result["tests"]) in {0, 7} for result in found.values())


def test_gradescopes_tests_add_up_to_the_computed_score(the_class: tuple[SyntheticClass, Path]) -> None:
    for result in results(the_class[1]).values():
        assert sum(test["score"] for test in result["tests"]) == pytest.approx(result["score"], abs=0.05)


def check_junit(element: ET.Element) -> None:
    required, allowed, children = JUNIT[element.tag]
    assert required <= element.attrib.keys() <= allowed, f"{element.tag}: {element.attrib}"
    for child in element:
        assert child.tag in children, f"{child.tag} in {element.tag}"
        check_junit(child)


def test_junit_follows_the_schema_and_its_counts_are_true(the_class: tuple[SyntheticClass, Path]) -> None:
    made, folder = the_class
    root = ET.parse(folder / "junit.xml").getroot()  # noqa: S314 - our own file
    check_junit(root)
    for suite in root:
        for tag in ("failure", "error", "skipped"):
            attribute = {"failure": "failures", "error": "errors", "skipped": "skipped"}[tag]
            assert int(suite.attrib[attribute]) == len(suite.findall(f"testcase/{tag}"))
        assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
    verdicts = {(r["submission"]["id"], r["case"]["id"]): r["outcome"]["verdict"] for r in made.records}
    for suite in root:
        for case in suite.findall("testcase"):
            verdict = verdicts[suite.attrib["name"].removesuffix("b"), case.attrib["name"]]
            assert (len(case) == 0) == (verdict == "accepted")


def test_names_of_all_scripts_reach_canvas_and_moodle_and_formulas_do_not(
    the_class: tuple[SyntheticClass, Path],
) -> None:
    canvas, moodle = rows_of(the_class[1] / "canvas.csv"), rows_of(the_class[1] / "moodle.csv")
    assert canvas[0][:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert canvas[1][0] == "    Points Possible"
    assert canvas[1][-1] == "100"
    names = {row[0] for row in canvas[2:]}
    assert set(PEOPLE[:11]) <= names
    assert "'=SUM(A1:A9)" in names
    assert {row[moodle[0].index("Full name")] for row in moodle[1:]} == names
    assert all(len(row) == len(moodle[0]) for row in moodle)


def test_a_row_that_moodle_would_give_to_somebody_else_is_not_written(tmp_path: Path) -> None:
    """A row without its id means the person of the row above; a backslash at a cell's end takes the next row in."""
    made = SyntheticClass(students=6, graphs=["ddi"])
    students = made.class_list["students"]
    for student in students:
        student["email"] = f"{student['id']}@example.edu"
    del students[2]["email"]
    students[2]["moodle_id"] = without = students[2]["id"]  # Moodle's participant, which no import looks at
    students[0]["name"] = 'Ada "\\", Lovelace\\'
    students[1]["name"] = "Bo\\"
    folder = exported(tmp_path, made, "--format", "moodle,brightspace,blackboard", "--column", "Lab 1", book=False)
    names = {student["id"]: student["name"] for student in students}
    rows = rows_of(folder / "moodle.csv")
    ids = {row[rows[0].index("ID number")] for row in rows[1:]}
    assert ids == names.keys() - {without, "s9999"}, "who handed nothing in has no row"
    people = [LmsPerson(i, id_number=i, email=f"{i}@example.edu", name=name) for i, name in names.items()]
    for title in ("ID number", "Email address"):
        assert lms_import.moodle(folder / "moodle.csv", people, "Lab 1", title).keys() == ids
    made_from = warpgrade("export", tmp_path / "run", "--format", "moodle").stdout
    assert (
        "not in moodle.csv, since the roster has nothing for them by which moodle finds people: " + without in made_from
    )
    # Nobody can be found by anything: no file, not even that of an earlier export, and a word.
    for student in students:
        student.pop("email", None)
        student["moodle_id"] = student["id"]
    made.write(tmp_path / "other")
    assert warpgrade("collect", tmp_path / "other").returncode == 0
    (tmp_path / "other/export").mkdir()
    (tmp_path / "other/export/brightspace.csv").write_text("of an earlier export", encoding="utf-8")
    done = warpgrade("export", tmp_path / "other", "--format", "brightspace,blackboard")
    assert done.returncode == 0, done.stderr
    assert "no brightspace.csv: the roster has nothing by which brightspace finds people" in done.stdout
    assert "no blackboard.csv: the roster has nothing by which blackboard finds people" in done.stdout
    assert not list((tmp_path / "other/export").glob("*.csv")), "a number is no user name"


def test_autolabs_line_adds_up(the_class: tuple[SyntheticClass, Path]) -> None:
    folder = the_class[1]
    for name, result in results(folder).items():
        lines = (folder / "autolab" / f"{name}.txt").read_text(encoding="utf-8").strip().split("\n")
        scores = json.loads(lines[-1])["scores"]
        assert sum(scores.values()) == pytest.approx(result["score"], abs=0.02)


def test_nothing_hidden_reaches_a_student(the_class: tuple[SyntheticClass, Path]) -> None:
    """Words planted in every hidden place are in the records, and in nothing that students are given."""
    made, folder = the_class
    records = (folder.parent / "records.jsonl").read_text(encoding="utf-8")
    assert all(word in records for word in CANARIES)
    given = [p for p in folder.rglob("*") if p.is_file() and "class-report" not in p.parts]
    assert len(given) > 60
    commitment = made.run["seed_commitment"]
    for path in given:
        text = path.read_text(encoding="utf-8", errors="replace")
        for word in (*CANARIES, commitment, "dataset_hash", "seed"):
            assert word not in text, f"{word} in {path}"


def test_a_students_folder_names_nobody_else(the_class: tuple[SyntheticClass, Path]) -> None:
    made, folder = the_class
    titles = {s["id"]: s["title"] for s in made.submissions if s["role"] == "student" and "team" not in s}
    for student in titles:
        text = "".join(p.read_text(encoding="utf-8") for p in (folder / "feedback" / student).iterdir())
        for other, title in titles.items():
            assert other == student or title not in text


def test_open_cases_are_explained_and_hidden_ones_only_have_a_verdict(the_class: tuple[SyntheticClass, Path]) -> None:
    seen = set()
    for file in (the_class[1] / "feedback").glob("*/feedback.json"):
        view = json.loads(file.read_text(encoding="utf-8"))
        for case in view["cases"]:
            if case["open"]:
                seen |= case.keys()
            else:
                allowed = {"id", "dataset", "k", "kind", "verdict", "points", "max_points", "note", "open"}
                allowed |= {"threshold", "threshold_status", "baseline", "ratio", "time_us", "limit"}
                assert case.keys() <= allowed
                assert case.get("limit", {}).keys() <= {"share", "low", "high", "bound_by"}, "not how large it is"
    assert {"message", "mismatches", "diagnostics"} <= seen


def views(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text(encoding="utf-8")) for file in (folder / "feedback").glob("*/feedback.json")]


def test_a_view_has_the_classs_times_sorted_and_of_those_alone_who_count(tmp_path: Path) -> None:
    made = SyntheticClass(students=9, graphs=["arxiv", "ddi"], faults=0.4)
    beaten = made.submissions[0]
    beaten.update(student="s0001", members=["s0001"], attempt=1, counts=False)
    made.submissions[1]["attempt"] = 2
    folder = exported(tmp_path, made, "--format", "feedback", book=False)
    records = [r for r in made.records if r["submission"]["role"] == "student" and "timing" in r]
    found = views(folder)
    for case in (c["id"] for c in made.cases if c["kind"] == "speed"):
        timed = {r["submission"]["id"]: r["timing"]["median_us"] for r in records if r["case"]["id"] == case}
        counting = sorted(us for name, us in timed.items() if name != beaten["id"])
        told = [view["class_times"][case] for view in found if "class_times" in view]
        assert len(told) >= 8
        assert all(times["us"] == pytest.approx(counting, rel=1e-3) for times in told)
        assert all(times["count"] == len(counting) for times in told)
        assert sorted(times["place"] for times in told if "place" in times) == list(range(1, len(counting) + 1))
        own = {c["time_us"] for view in found for c in view["cases"] if c["id"] == case and "time_us" in c}
        assert own == set(counting)
    (twice,) = (view for view in found if "attempts" in view)
    assert twice["person"]["id"] == "s0001"
    assert [attempt["attempt"] for attempt in twice["attempts"]] == [1, 2]
    first = {r["case"]["id"]: r["timing"]["median_us"] for r in records if r["submission"]["id"] == beaten["id"]}
    assert twice["attempts"][0]["times_us"] == first


@pytest.mark.parametrize(
    ("text", "students"),
    [("  speed: hidden\n", 8), ("  leaderboard: hidden\n", 8), ("  hidden_names: numbered\n", 8), ("", 4)],
)
def test_a_view_without_leave_or_of_few_students_has_no_times_of_the_class(
    tmp_path: Path, text: str, students: int
) -> None:
    made = SyntheticClass(students=students, graphs=["arxiv"], faults=0)
    policy = policy_with(tmp_path, "  open: [public]\n" + text)
    for view in views(exported(tmp_path, made, "--policy", policy, "--format", "feedback", book=False)):
        assert "class_times" not in view
        hidden = [case for case in view["cases"] if not case["open"]]
        assert (not text) == any("time_us" in case for case in hidden)


def policy_with(tmp_path: Path, text: str) -> Path:
    policy = (ROOT / "grader/policies/spmm.yaml").read_text(encoding="utf-8")
    policy = re.sub(r"^visibility:.*?\n(?=\n)", "", policy, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "policy.yaml").write_text(policy + "\nvisibility:\n" + text, encoding="utf-8")
    return tmp_path / "policy.yaml"


@pytest.mark.parametrize("text", ["a\ufffeb", "a\uffffb", "\x1b[31mred", ']]> & <b> "quoted"', "\x85\U0001f642"])
def test_junit_is_read_by_a_parser_whatever_a_message_holds(tmp_path: Path, text: str) -> None:
    made = SyntheticClass(students=4, graphs=["ddi"], faults=0.9)
    told = [r for r in made.records if r["outcome"]["verdict"] not in ("accepted", "judge_fault")]
    assert told
    for record in told:
        record["outcome"]["message"] = text
    folder = exported(tmp_path, made, "--format", "junit", book=False)
    check_junit(ET.parse(folder / "junit.xml").getroot())  # noqa: S314 - our own file


def test_a_strict_policy_shows_counts_and_no_speed(tmp_path: Path) -> None:
    made = SyntheticClass(students=5, graphs=["arxiv", "ddi"], faults=0.6)
    policy = policy_with(tmp_path, "  open: [public]\n  hidden: count\n  speed: hidden\n  leaderboard: hidden\n")
    formats = "gradescope,autolab,junit,feedback,leaderboard"
    folder = exported(tmp_path, made, "--policy", policy, "--format", formats, book=False)
    assert not (folder / "leaderboard.html").exists()
    for result in results(folder).values():
        jsonschema.validate(result, GRADESCOPE)
        names = [test["name"] for test in result["tests"]]
        assert names in ([], ["synth-uniform-k32", "hidden cases"])
    page = (folder / "feedback/s0000/index.html").read_text(encoding="utf-8")
    assert "Hidden cases:" in page
    for path in [p for p in folder.rglob("*") if p.is_file()]:
        text = path.read_text(encoding="utf-8")
        assert "arxiv" not in text
        assert "speed-up" not in text.lower()
        assert "threshold" not in re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)


def test_numbered_cases_have_no_name(tmp_path: Path) -> None:
    made = SyntheticClass(students=3, graphs=["arxiv", "ddi"])
    policy = policy_with(tmp_path, "  hidden_names: numbered\n")
    folder = exported(tmp_path, made, "--policy", policy, "--format", "gradescope,feedback,junit", book=False)
    for path in [p for p in folder.rglob("*") if p.is_file()]:
        text = path.read_text(encoding="utf-8")
        assert "arxiv" not in text
        assert "synth-hub" not in text
    assert "hidden 6" in (folder / "junit.xml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("  hidden: everything\n", "visibility.hidden: expected count or verdict, got 'everything'"),
        ("  open: public\n", "visibility.open: expected a list"),
        ("  colour: red\n", "unknown key visibility.colour; known are hidden,"),
    ],
)
def test_a_wrong_visibility_is_named_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    folder = SyntheticClass(students=2, graphs=["ddi"]).write(tmp_path / "run")
    assert warpgrade("collect", folder).returncode == 0
    done = warpgrade("export", folder, "--policy", policy_with(tmp_path, text))
    assert done.returncode == 1
    assert said in done.stderr
    assert not (folder / "export").exists()


def test_the_leaderboard_tells_nobodys_name_and_each_student_their_own(the_class: tuple[SyntheticClass, Path]) -> None:
    made, folder = the_class
    page = (folder / "leaderboard.html").read_text(encoding="utf-8")
    names = re.findall(r"<td>([a-z]+-[a-z]+-\d{3})</td>", page)
    assert len(names) == len(set(names)) == 14
    for submission in made.submissions:
        if submission["role"] == "student":
            assert submission["title"] not in page
            assert submission["id"] not in page
            view = json.loads((folder / "feedback" / submission["id"] / "feedback.json").read_text(encoding="utf-8"))
            assert view["pseudonym"] in names


def test_an_override_reaches_every_format_and_the_reason_stays(tmp_path: Path) -> None:
    folder = SyntheticClass(students=3, graphs=["ddi"]).write(tmp_path / "run")
    book = tmp_path / "book.sqlite"
    assert warpgrade("collect", folder, "--gradebook", book).returncode == 0
    change = ["--points", "61.5", "--reason", "illness-note-7", "--author", "A. Person"]
    assert warpgrade("grades", "override", "s0001", "--lab", "spmm", *change, "--gradebook", book).returncode == 0
    assert warpgrade("export", folder, "--gradebook", book, "--no-pdf").returncode == 0
    found = folder / "export"
    assert results(found)["s0001"]["score"] == 61.5
    assert sum(json.loads((found / "autolab/s0001.txt").read_text())["scores"].values()) == pytest.approx(61.5)
    assert [row[-1] for row in rows_of(found / "canvas.csv") if row[2] == "s0001"] == ["61.5"]
    assert "set by the staff" in (found / "feedback/s0001/feedback.md").read_text(encoding="utf-8")
    for path in [p for p in found.rglob("*") if p.is_file()]:
        assert b"illness-note-7" not in path.read_bytes(), path
    history = warpgrade("grades", "history", "s0001", "--gradebook", book).stdout
    assert "illness-note-7" in history
    assert "A. Person" in history


def test_one_student_alone_leaves_the_others_folders_as_they_are(tmp_path: Path) -> None:
    folder = exported(tmp_path, SyntheticClass(students=3, graphs=["ddi"]), "--format", "feedback", book=False)
    before = (folder / "feedback/s0000/index.html").stat().st_mtime_ns
    again = warpgrade("export", tmp_path / "run", "--format", "feedback", "--student", "s0001")
    assert again.returncode == 0, again.stderr
    assert (folder / "feedback/s0000/index.html").stat().st_mtime_ns == before
    nobody = warpgrade("export", tmp_path / "run", "--format", "feedback", "--student", "nobody")
    assert nobody.returncode == 1
    assert "no student 'nobody'" in nobody.stderr


def test_ids_that_are_no_file_names_stay_inside_the_folder(tmp_path: Path) -> None:
    made = SyntheticClass(students=2, graphs=["ddi"])
    made.submissions[0] |= {"student": "../../evil", "members": ["../../evil"]}
    made.class_list["students"][0]["id"] = "../../evil"
    made.class_list["attempts"][0] |= {"student": "../../evil", "members": ["../../evil"]}
    folder = exported(tmp_path, made, "--format", "feedback,gradescope", book=False)
    assert len(list((folder / "gradescope").glob("______evil-*.json"))) + len(
        list((folder / "gradescope").glob("*evil-*.json"))
    )
    assert not list(tmp_path.parent.glob("evil*"))
    assert len(list((folder / "feedback").glob("*evil-*/index.html"))) == 1


def test_an_unscored_run_is_refused_with_the_next_step(tmp_path: Path) -> None:
    folder = SyntheticClass(students=2, graphs=["ddi"]).write(tmp_path / "run")
    (folder / "scores.json").unlink()
    done = warpgrade("export", folder)
    assert done.returncode == 1
    assert "warpgrade collect" in done.stderr
    assert done.stderr.count("error: ") == 1, "the class report, which was begun already, says nothing beside"
    assert not (folder / "export").exists()


@pytest.mark.skipif(
    shutil.which("soffice") is None, reason="no LibreOffice here: apt-get install libreoffice-calc-nogui"
)
@pytest.mark.parametrize("name", ["canvas.csv", "moodle.csv"])
def test_libreoffice_opens_the_csv_with_every_name_intact(
    the_class: tuple[SyntheticClass, Path], tmp_path: Path, name: str
) -> None:
    """By way of .xlsx and its XML: what the spreadsheet's cells hold, not what went in.

    76 is UTF-8, which LibreOffice's window chooses by itself for a file with a byte-order mark; without a window it
    takes Windows-1252 unless it is told.
    """
    command = ["soffice", "--headless", f"-env:UserInstallation=file://{tmp_path}/profile", "--convert-to", "xlsx"]
    command += ["--infilter=CSV:44,34,76", "--outdir", str(tmp_path), str(the_class[1] / name)]
    subprocess.run(command, check=True, capture_output=True, timeout=180)
    shutil.unpack_archive(tmp_path / name.replace(".csv", ".xlsx"), tmp_path / "sheet", "zip")
    strings = ET.parse(tmp_path / "sheet/xl/sharedStrings.xml").getroot()  # noqa: S314 - LibreOffice's own file
    cells = {"".join(item.itertext()) for item in strings}
    assert set(PEOPLE[:11]) <= cells
    assert "'=SUM(A1:A9)" in cells or "=SUM(A1:A9)" in cells, "a text, not a formula"
    sheet = (tmp_path / "sheet/xl/worksheets/sheet1.xml").read_text(encoding="utf-8")
    assert "<f" not in re.sub(r"<(formatCode|family|fonts?)\b", "", sheet), "no formula"


def test_two_hundred_submissions_take_less_than_half_a_minute_of_two_cores(tmp_path: Path) -> None:
    """Processor time, so that a busy machine is not at fault; `scripts/measure thousands` has the clock on the wall."""
    folder = SyntheticClass(students=200).write(tmp_path / "run")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for command in (["collect", folder, "--gradebook", tmp_path / "book"], ["export", folder]):
        done = warpgrade(*command)
        assert done.returncode == 0, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert spent < 2 * 30
    assert len(list((folder / "export/feedback").glob("*/index.html"))) == 220
