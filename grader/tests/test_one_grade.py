"""One source of a grade: what a person or the gradebook says is what every export and every later score says."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest
from conftest import Words, warpgrade
from courseware import good, policy_of, rows_of, take_in
from generated_class import GeneratedClass, Person, judge


@pytest.fixture
def course(tmp_path: Path) -> tuple[Path, Path, list[Person]]:
    """A run of eight students, collected into a gradebook."""
    made = GeneratedClass("folder", 7, size=8)
    export, roster = made.write(tmp_path)
    run, book = tmp_path / "run", tmp_path / "course.sqlite"
    assert take_in(run, export, roster, "--policy", policy_of(tmp_path)).returncode == 0
    judge(run, made.people)
    assert warpgrade("collect", run, "--gradebook", book).returncode == 0
    return run, book, made.people


def override(book: Path, student: str, points: str, *options: str) -> subprocess.CompletedProcess[str]:
    why: Words = ["--points", points, "--reason", "appeal", "--author", "A. Person", "--gradebook", book]
    return warpgrade("grades", "override", student, "--lab", "spmm", *why, *options)


def points_in_canvas(run: Path, student: str) -> str:
    return next(row[5] for row in rows_of(run / "export/canvas.csv") if row[2] == student)


def test_an_override_survives_rescore_and_every_later_export(
    course: tuple[Path, Path, list[Person]], tmp_path: Path
) -> None:
    run, book, people = course
    assert override(book, people[0].id, "61.5").returncode == 0
    stricter = tmp_path / "stricter.yaml"
    stricter.write_text(
        (tmp_path / "policy.yaml").read_text(encoding="utf-8").replace("correctness: 40", "correctness: 30"),
        encoding="utf-8",
    )
    done = warpgrade("rescore", run, "--policy", stricter, "--yes")  # no variable, no option
    assert done.returncode == 0, done.stderr
    assert points_in_canvas(run, people[0].id) == "61.5"
    page = (run / f"export/feedback/{people[1].id}/feedback.json").read_text(encoding="utf-8")
    view = json.loads(page)
    assert view["max_points"] == 90
    assert view["points"] == sum(view["parts"].values()) == 30, "the breakdown is the new policy's"
    autolab = json.loads((run / f"export/autolab/{people[1].id}.txt").read_text(encoding="utf-8"))
    assert autolab["scores"] == {"correctness": 30, "speed": 0}
    found = {grade["student"]: grade for grade in json.loads(
        warpgrade("grades", "--gradebook", book, "--format", "json").stdout)}  # fmt: skip
    assert found[people[1].id]["points"] == 30, "the gradebook follows"


def test_where_an_override_would_be_lost_the_command_refuses(
    course: tuple[Path, Path, list[Person]], tmp_path: Path
) -> None:
    run, book, people = course
    older = tmp_path / "older.sqlite"
    older.write_bytes(book.read_bytes())
    assert override(book, people[0].id, "61.5").returncode == 0
    assert warpgrade("export", run, "--format", "canvas").returncode == 0

    other = tmp_path / "other.sqlite"
    for verb, kept in (("collect", other), ("export", older)):
        done = warpgrade(verb, run, "--gradebook", kept)
        assert done.returncode == 1, done.stdout
        assert people[0].id in done.stderr and "would be lost" in done.stderr
    moved = tmp_path / "moved.sqlite"
    book.rename(moved)
    done = warpgrade("export", run, "--format", "canvas")
    assert done.returncode == 1 and "is not there: its overrides would be lost" in done.stderr, done.stderr
    done = warpgrade("export", run, "--format", "canvas", "--gradebook", older)
    assert done.returncode == 1 and "older copy" in done.stderr, done.stderr
    assert warpgrade("export", run, "--format", "canvas", "--gradebook", moved).returncode == 0
    assert points_in_canvas(run, people[0].id) == "61.5"
    done = warpgrade("export", run, "--format", "canvas", "--without-overrides")
    assert done.returncode == 0 and "computed points without overrides" in done.stdout
    assert points_in_canvas(run, people[0].id) == "100"


def test_the_gradebooks_variable_counts_for_collect_too(
    course: tuple[Path, Path, list[Person]], tmp_path: Path
) -> None:
    run, _, people = course
    (run / "gradebook.json").unlink()
    done = warpgrade("collect", run, env=os.environ | {"WARPGRADE_GRADEBOOK": str(tmp_path / "named.sqlite")})
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(tmp_path / "named.sqlite") as database:
        assert database.execute("SELECT count(*) FROM students").fetchone() == (len(people),)


def test_more_points_than_there_are_must_be_meant(course: tuple[Path, Path, list[Person]]) -> None:
    _, book, people = course
    done = override(book, people[0].id, "999")
    assert done.returncode == 1 and "worth 100 points" in done.stderr, done.stderr
    assert override(book, people[0].id, "105", "--above-maximum").returncode == 0


def test_scores_that_do_not_follow_from_the_records_are_not_exported(course: tuple[Path, Path, list[Person]]) -> None:
    run, _, _ = course
    scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    scores["submissions"][0]["points"] = 12
    (run / "scores.json").write_text(json.dumps(scores), encoding="utf-8")
    done = warpgrade("export", run, "--format", "canvas")
    assert done.returncode == 1 and "does not follow" in done.stderr
    assert warpgrade("collect", run).returncode == 0
    assert warpgrade("export", run, "--format", "canvas").returncode == 0


def test_a_copy_of_a_slow_baseline_is_told_what_is_missing(tmp_path: Path) -> None:
    """`gate: {correct, faster_than: ...}`: the points, and the words in every place where a student reads."""
    made = GeneratedClass("folder", 8, size=2)
    export, roster = made.write(tmp_path)
    run = tmp_path / "run"
    policy = policy_of(tmp_path, gate="{correct, faster_than: {cusparse_default: 1.2}}")
    assert take_in(run, export, roster, "--policy", policy).returncode == 0
    judge(run, made.people)  # the second one is slow: 0.2
    assert warpgrade("collect", run).returncode == 0
    assert warpgrade("export", run, "--no-pdf").returncode == 0
    slow = made.people[1].id
    assert json.loads((run / f"export/gradescope/{slow}.json").read_text(encoding="utf-8"))["score"] == 0
    for text in (f"gradescope/{slow}.json", f"feedback/{slow}/index.html", f"feedback/{slow}/feedback.md"):
        assert "from a speed-up of 1.2 over cusparse_default on; yours is 0.2" in (run / "export" / text).read_text(
            encoding="utf-8"
        ).replace("\\_", "_"), text


def test_an_unknown_baseline_in_the_policy_is_named(tmp_path: Path) -> None:
    good(tmp_path / "class/s1.tar.gz")
    done = take_in(
        tmp_path / "run", tmp_path / "class", None, "--policy", policy_of(tmp_path, gate="{faster_than: {naiv: 2}}")
    )
    assert done.returncode == 1
    assert "points.gate.faster_than.naiv: lab spmm has no baseline 'naiv'" in done.stderr
