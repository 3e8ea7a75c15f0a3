"""A class changes after it was taken in: hand-ins come late or corrected, deadlines and rosters change.

Only what a change touches is judged or scored again, and the change is told before it is done.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import warpgrade
from courseware import class_of, policy_of
from test_git_hand_ins import git

ROSTER = """\
id,name,email,team
s1,Ada Lovelace,ada@example.edu,
s2,Alan Turing,alan@example.edu,pair
s3,Grace Hopper,grace@example.edu,pair
s4,Edsger Dijkstra,edsger@example.edu,
"""
CASE = ("--backend", "emulator", "--cases", "synth-identity-k32", "--quiet")


def hand_in(folder: Path, word: str) -> Path:
    """A program that nobody compiles: what counts is who handed it in."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "spmm.cu").write_text(f'#error "{word}"\n', encoding="utf-8")
    return folder


def say(run: Path, *options: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """A later call on the run."""
    done = warpgrade("batch", run, *options)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def change(run: Path, *options: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """A change of the class, confirmed."""
    return say(run, *options, "--reason", "the test", "--author", "T. Ester", "--yes", code=code)


def counting(run: Path) -> dict[str, dict[str, Any]]:
    """By student's id the attempt that counts."""
    found: dict[str, dict[str, Any]] = {}
    for attempt in class_of(run)["attempts"]:
        if "submission" in attempt:
            found |= dict.fromkeys(attempt["members"], attempt)
    return found


def submissions_of(run: Path) -> dict[str, dict[str, Any]]:
    """By id, those of run.json."""
    table = json.loads((run / "run.json").read_text(encoding="utf-8"))
    return {submission["id"]: submission for submission in table["submissions"]}


def records(run: Path) -> dict[str, int]:
    """When each record was written, by its path."""
    return {str(file.relative_to(run)): file.stat().st_mtime_ns for file in sorted(run.glob("cases/*/*.json"))}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A class of three hand-ins, judged; s4 handed nothing in."""
    for student in ("s1", "s2"):
        hand_in(tmp_path / "class" / student, student)
    (tmp_path / "roster.csv").write_text(ROSTER, encoding="utf-8")
    policy = policy_of(tmp_path)
    say(
        tmp_path / "run",
        *("--submissions", tmp_path / "class", "--roster", tmp_path / "roster.csv", "--policy", policy, *CASE),
    )
    return tmp_path / "run"


def test_a_forgotten_hand_in_is_added_and_alone_judged(run: Path, tmp_path: Path) -> None:
    before = records(run)
    hand_in(tmp_path / "late" / "edsger@example.edu", "s4")
    done = change(run, "--add", tmp_path / "late")
    assert "Edsger Dijkstra (s4)" in done.stdout and "1 cases judged, 2 recorded before" in done.stdout
    assert counting(run)["s4"]["submission"] == "s4"
    after = records(run)
    assert {path: after[path] for path in before} == before
    assert set(after) - set(before) == {"cases/s4/synth-identity-k32.json"}


def test_a_corrected_hand_in_takes_the_place_of_the_one_before_and_its_time(run: Path, tmp_path: Path) -> None:
    fixed = hand_in(tmp_path / "fixed", "s1 corrected")
    done = change(run, "--replace", f"Ada Lovelace={fixed}")
    assert "in the place of attempt 1" in done.stdout and "1 cases judged, 1 recorded before" in done.stdout
    now = counting(run)["s1"]
    assert (now["submission"], now["attempt"], now["corrects"]) == ("s1.attempt-2", 2, 1)
    assert set(submissions_of(run)) == {"s1.attempt-2", "pair"}
    former = [attempt for attempt in class_of(run)["attempts"] if attempt.get("former_submission") == "s1"]
    assert len(former) == 1 and (run / "cases/s1/synth-identity-k32.json").is_file(), "what was judged is kept"


def test_a_change_without_yes_or_reason_changes_nothing_and_shows_what_it_would(run: Path, tmp_path: Path) -> None:
    before = (run / "submissions.json").read_bytes(), (run / "batch.json").read_bytes()
    hand_in(tmp_path / "late" / "s4", "s4")
    shown = say(run, "--add", tmp_path / "late", "--reason", "forgotten")
    assert "Edsger Dijkstra (s4)" in shown.stdout and "nothing was changed; add --yes" in shown.stdout
    refused = say(run, "--add", tmp_path / "late", "--yes", code=1)
    assert "needs a --reason" in refused.stderr
    assert ((run / "submissions.json").read_bytes(), (run / "batch.json").read_bytes()) == before


def test_an_extension_changes_lateness_and_judges_nothing(tmp_path: Path) -> None:
    export = tmp_path / "export"
    lines = ["---"]
    for number, student in ((1, "s1"), (2, "s4")):
        hand_in(export / f"submission_{number}", student)
        lines += [f"submission_{number}:", "  :created_at: 2026-03-19 12:00:00.0 Z", "  :submitters:"]
        lines += [f"  - :name: {student}", f"    :sid: {student}", "    :email: ''"]
    (export / "submission_metadata.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "roster.csv").write_text(ROSTER, encoding="utf-8")
    run, given = tmp_path / "run", ("--roster", tmp_path / "roster.csv", "--policy", policy_of(tmp_path))
    say(run, "--submissions", export, "--deadline", "2026-03-18T22:59:00Z", *given, *CASE)
    assert submissions_of(run)["s1"]["late_s"] == 46860
    done = change(run, "--extend", "ada@example.edu=2026-03-20 23:59")
    assert "0 cases judged, 2 recorded before" in done.stdout and "in time" in done.stdout
    assert (submissions_of(run)["s1"]["late_s"], submissions_of(run)["s4"]["late_s"]) == (0, 46860)
    scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))["submissions"]
    assert ["late" in one for one in scores] == [False, True]
    change(run, "--deadline", "2026-03-19 23:59")
    assert [one["late_s"] for one in submissions_of(run).values()] == [0, 0]
    change(run, "--extend", "s1=none")
    assert "extensions" not in class_of(run)


def test_a_corrected_number_keeps_what_was_judged(run: Path, tmp_path: Path) -> None:
    before = records(run)
    (tmp_path / "roster.csv").write_text(ROSTER.replace("s1,", "s77,"), encoding="utf-8")
    done = change(run, "--roster", tmp_path / "roster.csv")
    assert "number" in done.stdout and "0 cases judged, 2 recorded before" in done.stdout
    assert records(run) == before
    assert counting(run)["s77"]["submission"] == "s1"
    (person,) = (one for one in class_of(run)["students"] if one["id"] == "s77")
    assert person["former_ids"] == ["s1"]
    assert submissions_of(run)["s1"]["student"] == "s77"


def test_a_team_that_changes_is_scored_again_and_not_judged(run: Path, tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text(ROSTER.replace("grace@example.edu,pair", "grace@example.edu,"))
    done = change(run, "--roster", tmp_path / "roster.csv")
    assert "0 cases judged" in done.stdout
    assert "s3" not in counting(run) and counting(run)["s2"]["submission"] == "pair"


def test_the_same_command_tells_of_hand_ins_that_came_since(run: Path, tmp_path: Path) -> None:
    hand_in(tmp_path / "class" / "s4", "s4")
    hand_in(tmp_path / "class" / "s1", "s1 again")
    done = say(run, "--submissions", tmp_path / "class")
    assert "Ada Lovelace (s1), Edsger Dijkstra (s4)" in done.stdout and "--add" in done.stdout
    change(run, "--add", tmp_path / "class")
    assert {attempt["attempt"] for attempt in counting(run).values()} == {1, 2}
    assert "that this run does not have" not in say(run, "--submissions", tmp_path / "class").stdout


def test_options_are_remembered_from_the_taking_in(tmp_path: Path) -> None:
    hand_in(tmp_path / "class" / "s1", "s1")
    (tmp_path / "roster.csv").write_text(ROSTER, encoding="utf-8")
    run, policy = tmp_path / "run", policy_of(tmp_path)
    taken = say(
        run,
        *("--submissions", tmp_path / "class", "--roster", tmp_path / "roster.csv", "--policy", policy, *CASE),
        *("--deadline", "2026-03-18 23:59", "--attempts", "best", "--take-in"),
    )
    assert "spmm.cu" in taken.stdout and not records(run)
    assert "1 cases judged" in say(run).stdout
    table = class_of(run)
    assert (table["attempts_policy"], table["deadline"]) == ("best", "2026-03-18T22:59:00Z")


def test_every_change_is_in_the_history_with_who_when_and_why(run: Path, tmp_path: Path) -> None:
    hand_in(tmp_path / "late" / "s4", "s4")
    change(run, "--add", tmp_path / "late")
    change(run, "--extend", "s4=2026-03-20")
    lines = class_of(run)["changes"]
    assert [line["action"] for line in lines] == ["hand-in", "extension"]
    assert all(line["author"] == "T. Ester" and line["reason"] == "the test" and line["at"] for line in lines)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--replace", "nobody=."), "nobody called 'nobody'"),
        (("--replace", "s1"), "expected STUDENT=..."),
        (("--extend", "s1=tomorrow"), "expected a time"),
        (("--extend", "s9=2026-03-20"), "nobody called 's9'"),
        (("--attempts", "middle"), "expected last, first or best"),
        (("--add", "/nowhere"), "no such folder or archive"),
        (("--handed-in", "2026-03-18"), "give --replace STUDENT=FOLDER with it"),
    ],
)
def test_a_change_that_cannot_be_is_told_and_nothing_is_written(
    run: Path, options: tuple[str, ...], message: str
) -> None:
    before = (run / "submissions.json").read_bytes()
    done = change(run, *options, code=1)
    assert message in done.stderr
    assert (run / "submissions.json").read_bytes() == before


def test_a_replacement_that_is_refused_and_a_stranger_change_nothing(run: Path, tmp_path: Path) -> None:
    (tmp_path / "x.rar").write_bytes(b"Rar!")
    assert "is refused" in change(run, "--replace", f"s1={tmp_path / 'x.rar'}", code=1).stderr
    hand_in(tmp_path / "more" / "s99", "who?")
    assert "not on the roster: s99" in change(run, "--add", tmp_path / "more", code=1).stderr
    assert "s99" in change(run, "--add", tmp_path / "more", "--accept-unmatched").stdout


def test_an_interrupted_change_is_finished_by_the_next_call(run: Path, tmp_path: Path) -> None:
    """The class was written, and run.json not yet."""
    before = (run / "run.json").read_bytes()
    change(run, "--replace", f"s1={hand_in(tmp_path / 'fixed', 'corrected')}")
    (run / "run.json").write_bytes(before)
    say(run)
    assert "s1.attempt-2" in submissions_of(run)


def test_what_is_added_may_have_another_layout_and_a_repeated_command_is_quiet(run: Path, tmp_path: Path) -> None:
    hand_in(tmp_path / "more" / "Edsger Dijkstra_4711_assignsubmission_file", "s4")
    change(run, "--add", tmp_path / "more", "--layout", "moodle")
    assert counting(run)["s4"]["submission"] == "s4"
    again = say(run, "--submissions", tmp_path / "class", "--roster", tmp_path / "roster.csv", *CASE)
    assert "nothing changes" not in again.stdout and "0 cases judged" in again.stdout


def test_a_person_confirms_the_time_that_a_commit_claims(tmp_path: Path) -> None:
    for student in ("s1", "s4"):
        clone = hand_in(tmp_path / "clones" / f"lab-{student}", student)
        git(clone, "init", "-q", "-b", "main")
        git(clone, "add", "-A")
        git(clone, "commit", "-q", "-m", "x", at="2026-03-18T20:00:00+00:00")
    (tmp_path / "roster.csv").write_text(ROSTER, encoding="utf-8")
    run, given = tmp_path / "run", ("--roster", tmp_path / "roster.csv", "--policy", policy_of(tmp_path))
    say(run, "--submissions", tmp_path / "clones", "--deadline", "2026-03-18T23:59", *given, *CASE)
    assert all(one["time_is_claimed"] for one in submissions_of(run).values())
    done = change(run, "--confirm-time", "s4=2026-03-19 20:00")
    assert "(claimed)" in done.stdout and "0 cases judged" in done.stdout
    assert (submissions_of(run)["s4"]["late_s"], submissions_of(run)["s1"]["late_s"]) == (72060, 0)
    change(run, "--confirm-time", "all")
    assert not any("time_is_claimed" in one for one in submissions_of(run).values())
    assert "no hand-in whose time" in change(run, "--confirm-time", "all", code=1).stderr
