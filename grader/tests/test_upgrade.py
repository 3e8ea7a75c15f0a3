"""Records, gradebook and run folder of version 0.1 under the programs of today; who made them: upgrade/README.md."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from conftest import ROOT, warpgrade

KEPT = ROOT / "grader/tests/upgrade/from-0.1.tar.xz"
POINTS = {"bo.naive": 40, "dita.wrong_last_tile": 40, "hana.syntax_error": 0}
WITH_OVERRIDE = {**POINTS, "dita.wrong_last_tile": 30}


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """The folder that has the run and the gradebook."""
    with tarfile.open(KEPT) as kept:
        kept.extractall(tmp_path, filter="data")
    return tmp_path


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """A command that succeeds."""
    done = warpgrade(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def grades(course: Path) -> dict[str, float]:
    """Each student's points, as `grades` tells programs."""
    said = run("grades", "--gradebook", course / "course.sqlite", "--format", "csv").stdout
    return {row["student"]: float(row["points"]) for row in csv.DictReader(io.StringIO(said.removeprefix("\ufeff")))}


def test_the_runs_records_are_scored_as_they_were(course: Path) -> None:
    scores = course / "week1/scores.json"
    before = json.loads(scores.read_text(encoding="utf-8"))
    kept = (course / "week1/records.jsonl").read_bytes()
    run("score", course / "week1")
    after = json.loads(scores.read_text(encoding="utf-8"))
    for name in ("submissions", "points"):
        assert after.get(name) == before.get(name)
    assert {each["id"]: each["points"] for each in after["submissions"]} == POINTS
    assert (course / "week1/records.jsonl").read_bytes() == kept, "records are never written anew"


def test_the_gradebook_tells_its_grades_with_the_override(course: Path) -> None:
    assert grades(course) == WITH_OVERRIDE
    said = run("grades", "history", "dita.wrong_last_tile", "--gradebook", course / "course.sqlite").stdout
    assert "appeal 1" in said
    assert "A. Person" in said


def test_collecting_the_run_again_changes_no_byte_and_a_person_goes_on_there(course: Path) -> None:
    book = course / "course.sqlite"
    assert "nothing new" in run("collect", course / "week1", "--gradebook", book).stdout, (
        "it notes where the run lies now"
    )
    before = book.read_bytes()
    assert "nothing new" in run("collect", course / "week1", "--gradebook", book).stdout
    assert book.read_bytes() == before
    assert grades(course) == WITH_OVERRIDE
    override = ("grades", "override", "hana.syntax_error", "--lab", "spmm", "--points", "5", "--reason", "late note")
    run(*override, "--author", "A. Person", "--gradebook", book)
    assert grades(course) == {**WITH_OVERRIDE, "hana.syntax_error": 5}


def test_the_run_is_reported_and_exported(course: Path) -> None:
    book = course / "course.sqlite"
    run("collect", course / "week1", "--gradebook", book)
    run("report", course / "week1")
    page = (course / "week1/report/index.html").read_text(encoding="utf-8")
    assert "synth-identity" in page
    run("export", course / "week1", "--format", "view,github", "--output", course / "out")
    views = {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in (course / "out/view").glob("*.json")}
    assert {name: view["points"] for name, view in views.items()} == WITH_OVERRIDE
    assert "spmm.cu" in (course / "out/github/hana.syntax_error.txt").read_text(encoding="utf-8")


def test_a_run_of_older_programs_is_not_mixed_with_records_of_newer_ones(course: Path) -> None:
    """Going on with the run folder: nothing is judged into it, and the message says how to go on."""
    shutil.copytree(ROOT / "grader/tests/demo_class/bo.naive", course / "class/bo.naive")
    shutil.copytree(ROOT / "grader/tests/demo_class/dita.wrong_last_tile", course / "class/dita.wrong_last_tile")
    shutil.copytree(ROOT / "grader/tests/demo_class/hana.syntax_error", course / "class/hana.syntax_error")
    kept = (course / "week1/records.jsonl").read_bytes()
    words = ("grade", course / "class", "--lab", "spmm", "--cases", "synth-identity-k32", "--backend", "emulator")
    done = warpgrade(*words, "--run", course / "week1", "--allow-unsandboxed", "--quiet")
    assert done.returncode == 1
    assert "--fresh" in done.stderr
    assert (course / "week1/records.jsonl").read_bytes() == kept
