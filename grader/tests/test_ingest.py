"""A class is taken in from an LMS's export: layouts, teams, attempts, lateness, and archives that mean no good."""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from conftest import records_of, warpgrade

SOURCE = '#error "the class of this test is about who handed in what"\n'
ROSTER = """\
Student ID,First Name,Last Name,Email,Canvas ID,Team,Deadline
s1,Ada,Lovelace,ada@example.edu,101,,
s2,Алан,Тьюринг,alan@example.edu,102,pair,
s3,Grace,Hopper,grace@example.edu,103,pair,
s4,陳,大文,chan@example.edu,104,,2026-03-20T23:59:00Z
s5,Nobody,Here,nobody@example.edu,105,,
"""


def take(
    tmp_path: Path, submissions: Path, *options: str, roster: str | None = ROSTER
) -> tuple[dict[str, Any], Path, subprocess.CompletedProcess[str]]:
    """Takes the class in and grades it on one case, which no source of it reaches; submissions.json and the run."""
    run = tmp_path / "run"
    arguments = ["--cases", "synth-identity-k32", "--backend", "emulator", "--quiet", *options]
    if roster is not None:
        (tmp_path / "roster.csv").write_text(roster, encoding="utf-8")
        arguments += ["--roster", str(tmp_path / "roster.csv")]
    done = warpgrade("batch", run, "--submissions", submissions, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads((run / "submissions.json").read_text(encoding="utf-8")), run, done


def attempts_of(taken: dict[str, Any], student: str) -> list[dict[str, Any]]:
    """The attempts that count for a student."""
    return [attempt for attempt in taken["attempts"] if student in attempt["members"]]


def tar(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    """A .tar.gz of these members, whatever they are."""
    with tarfile.open(path, "w:gz") as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    """A member of a kind."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def good(path: Path, folder: str = "spmm") -> Path:
    """An archive as `warpgrade submit` would make it."""
    return tar(path, (member(f"{folder}/spmm.cu"), SOURCE.encode()))


def zipped(name: str, content: bytes) -> bytes:
    """A zip of one file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, content)
    return out.getvalue()


def bomb(path: Path) -> Path:
    """Little to carry, much to unpack."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("spmm.cu", b"\0" * (8 << 20))
    return path


def test_unsafe_archives_are_refused_one_by_one(tmp_path: Path) -> None:
    """Each is refused with its reason, in that student's records; the others are taken, nothing lands outside."""
    hand_ins = tmp_path / "class"
    hand_ins.mkdir()
    good(hand_ins / "fine.tar.gz")
    source = (member("spmm.cu"), SOURCE.encode())
    tar(hand_ins / "up.tar.gz", source, (member("../../escaped.cu"), b"x"))
    tar(hand_ins / "windows_up.tar.gz", source, (member("..\\..\\escaped.cu"), b"x"))
    tar(hand_ins / "root.tar.gz", source, (member(f"{tmp_path}/escaped.cu"), b"x"))
    tar(hand_ins / "symlink.tar.gz", (member("x", tarfile.SYMTYPE, "/etc"), b""), (member("x/escaped.cu"), b"x"))
    tar(hand_ins / "hardlink.tar.gz", (member("x", tarfile.LNKTYPE, "/etc/passwd"), b""))
    tar(hand_ins / "device.tar.gz", (member("null", tarfile.CHRTYPE), b""))
    tar(hand_ins / "fifo.tar.gz", (member("pipe", tarfile.FIFOTYPE), b""))
    tar(hand_ins / "many.tar.gz", *((member(f"f{i}.cu"), b"") for i in range(1001)))
    tar(hand_ins / "large.tar.gz", (member("noise"), os.urandom((20 << 20) + 1)))
    tar(hand_ins / "twice.tar.gz", source, source)
    tar(hand_ins / "newline.tar.gz", (member("a\nb.cu"), b"x"))
    bomb(hand_ins / "bomb.zip")
    (hand_ins / "cut.tar.gz").write_bytes((hand_ins / "large.tar.gz").read_bytes()[:100000])
    (hand_ins / "text.zip").write_text("not an archive", encoding="utf-8")
    tar(hand_ins / "nested.tar.gz", (member("inner.zip"), zipped("a.zip", zipped("b.zip", zipped("c.zip", b"PK")))))
    tar(hand_ins / "several.tar.gz", (member("one.zip"), b"PK"), (member("two.zip"), b"PK"))
    taken, run, done = take(tmp_path, hand_ins, roster=None)

    reasons = {a["student"]: a.get("refusal", {}).get("reason") for a in taken["attempts"]}
    assert reasons == {
        "fine": None, "up": "path_traversal", "windows_up": "path_traversal", "root": "absolute_path",
        "symlink": "link", "hardlink": "link", "device": "device", "fifo": "device", "many": "too_many_files",
        "large": "too_large",
        "twice": "duplicate_entry", "newline": "bad_name", "bomb": "compression_ratio", "cut": "damaged",
        "text": "not_an_archive", "nested": "nested_archive", "several": "nested_archive",
    }  # fmt: skip
    assert not list(tmp_path.parent.rglob("escaped.cu"))
    assert not list((run / "snapshots").glob(".staged*"))
    for record in records_of(run):
        outcome, student = record["outcome"], record["submission"]["id"]
        assert outcome["verdict"] == "compile_error"
        if reasons[student]:
            assert outcome["reason"] == "bad_submission" and reasons[student] in outcome["message"], outcome
            assert f"refused {student}" in done.stdout
    scored = json.loads((run / "scores.json").read_text(encoding="utf-8"))["submissions"]
    assert {s["id"]: s["verdict"] for s in scored} == {
        student: "refused" if reason else "compile_error" for student, reason in reasons.items()
    }, "a hand-in that was not taken was never compiled"


def test_nothing_in_the_folder_is_passed_over_in_silence(tmp_path: Path) -> None:
    """An archive alone in a student's folder or archive is unpacked, another kind refused, a stray file named."""
    hand_ins = tmp_path / "class"
    (hand_ins / "packed").mkdir(parents=True)
    good(hand_ins / "packed/hw1.tar.gz")
    (hand_ins / "twice packed").mkdir()  # what `make submit` made, packed again, and again by the courseware
    good(tmp_path / "spmm-submission.tar.gz")
    inner = zipped("spmm-submission.tar.gz", (tmp_path / "spmm-submission.tar.gz").read_bytes())
    (hand_ins / "twice packed/hw1.zip").write_bytes(zipped("hand-in.zip", inner))
    (hand_ins / "inner rar.zip").write_bytes(zipped("hw.rar", b"Rar!"))
    (hand_ins / "Пётр.rar").write_bytes(b"Rar!\x1a\x07\x00")
    (hand_ins / "grades.xlsx").write_bytes(b"PK")
    taken, run, done = take(tmp_path, hand_ins, roster=None)
    assert {a["student"]: a.get("refusal", {}).get("reason") for a in taken["attempts"]} == {
        "packed": None, "twice packed": None, "Пётр": "unread_archive", "inner rar": "unread_archive",
    }  # fmt: skip
    for student in ("packed", "twice packed"):
        assert (run / attempts_of(taken, student)[0]["snapshot"] / "spmm.cu").exists()
    assert taken["left_aside"] == ["grades.xlsx"]
    assert "left out grades.xlsx" in done.stdout, done.stdout


def test_a_stray_file_does_not_hide_an_export(tmp_path: Path) -> None:
    """A Canvas export with a file of the instructor's own in it is still one."""
    canvas = tmp_path / "canvas"
    canvas.mkdir()
    for name in ("lovelaceada_101_9001_spmm.cu", "chan_104_9002_spmm.cu", "notes.txt"):
        (canvas / name).write_text(SOURCE, encoding="utf-8")
    taken, _, _ = take(tmp_path, canvas)
    assert taken["source"]["layout"] == "canvas" and taken["left_aside"] == ["notes.txt"]
    assert attempts_of(taken, "s1")[0]["status"] == "graded"


def test_a_refused_attempt_is_told_where_another_one_counts(tmp_path: Path) -> None:
    """The student hears why the last attempt was refused, and that the first one was graded."""
    hand_ins = tmp_path / "class"
    (hand_ins / "s1/attempt-1").mkdir(parents=True)
    (hand_ins / "s1/attempt-1/spmm.cu").write_text(SOURCE, encoding="utf-8")
    (hand_ins / "s1/attempt-2").mkdir()
    (hand_ins / "s1/attempt-2/spmm.cu").symlink_to("/etc/passwd")
    (hand_ins / "s3").mkdir()
    (hand_ins / "s3/spmm.cu").write_text(SOURCE, encoding="utf-8")
    taken, run, _ = take(tmp_path, hand_ins)
    assert [a["status"] for a in attempts_of(taken, "s1")] == ["graded", "refused"]
    assert warpgrade("export", run, "--no-pdf").returncode == 0
    said = "spmm.cu: a symbolic link"
    exported = run / "export"
    assert said in json.loads((exported / "gradescope/s1.json").read_text(encoding="utf-8"))["output"]
    assert said in (exported / "moodle.csv").read_text(encoding="utf-8")
    for name in ("index.html", "feedback.md"):
        text = (exported / "feedback/s1" / name).read_text(encoding="utf-8")
        assert said in text and "Attempt 2 was refused" in text, text
        assert said not in (exported / "feedback/s3" / name).read_text(encoding="utf-8")
    # Both handed in the same program: the class report found their sources.
    (page,) = (exported / "class-report").glob("*.html")
    assert "looked at: 2 submissions" in page.read_text(encoding="utf-8")


def test_people_are_meant_by_their_names_in_any_script(tmp_path: Path) -> None:
    """Nothing is left of 李小龍 in an id that is a file's name; a team is meant by each of its members."""
    hand_ins = tmp_path / "class"
    for student in ("李小龍", "s2", "s3"):
        (hand_ins / student).mkdir(parents=True)
        (hand_ins / student / "spmm.cu").write_text(f"{SOURCE}// {student}\n", encoding="utf-8")
    _, run, done = take(tmp_path, hand_ins, "--accept-unmatched")
    assert "team pair: s2, s3 handed in" in done.stdout and "--attempts best" in done.stdout, done.stdout
    for number, (who, moved) in enumerate([("李*", "______"), ("s2", "pair"), ("pair", "pair")], 1):
        again = warpgrade("regrade", run, "--only", who, "--quiet")
        assert again.returncode == 0, again.stderr
        found = [path.name for path in (run / f"superseded/{number}").iterdir() if path.is_dir()]
        assert len(found) == 1 and found[0].startswith(moved), found
    assert warpgrade("regrade", run, "--only", "nobody").returncode == 1
    nobody: dict[str, Any] = {"submissions": []}
    rows = (json.loads((run / "scores.json").read_text(encoding="utf-8")), nobody)
    for name, scores in zip(("before", "after"), rows, strict=True):
        shutil.copytree(run, tmp_path / name)
        (tmp_path / name / "scores.json").write_text(json.dumps(scores), encoding="utf-8")
    table = [line for line in warpgrade("diff", tmp_path / "before", tmp_path / "after").stdout.splitlines() if line]
    assert any("李小龍" in line for line in table), table
    wide = next(line for line in table if "李小龍" in line)
    assert wide.index("compile_error") == table[0].index("verdict") - 3, "letters of two columns"


def test_gradescope_groups_and_times(tmp_path: Path) -> None:
    """Group members share an attempt; lateness is counted from the class's deadline, or the student's own."""
    export = tmp_path / "assignment_1_export"
    metadata = []
    for number, (at, people) in enumerate(
        [
            ("2026-03-18 12:00:00.000000000 Z", [("Ada Lovelace", "s1", "ada@example.edu")]),
            ("2026-03-19 01:00:00.000000000 Z", [("Ada Lovelace", "s1", "ada@example.edu")]),
            ("2026-03-18 23:58:00 Z", [("Алан Тьюринг", "s2", ""), ("Grace Hopper", "", "grace@example.edu")]),
            ("\n    utc: 2026-03-20T23:00:00+00:00\n    zone: {name: UTC}", [("陳大文", "s4", "")]),
        ]
    ):
        submission = export / f"submission_{number}"
        submission.mkdir(parents=True)
        (submission / "spmm.cu").write_text(f"{SOURCE}// {number}\n", encoding="utf-8")
        metadata.append(f"submission_{number}:\n  :created_at: {at}\n  :submitters:\n")
        metadata += [f"  - :name: {name}\n    :sid: '{sid}'\n    :email: '{email}'\n" for name, sid, email in people]
    (export / "submission_metadata.yml").write_text("---\n" + "".join(metadata), encoding="utf-8")
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for file in sorted(export.rglob("*")):
            packed.write(file, file.relative_to(tmp_path))
    taken, run, _ = take(tmp_path, archive, "--deadline", "2026-03-18T23:59:00Z")
    assert taken["source"]["layout"] == "gradescope"
    ada = attempts_of(taken, "s1")
    assert [(a["attempt"], a["status"], a["late_s"]) for a in ada] == [(1, "superseded", 0), (2, "graded", 3660)]
    assert attempts_of(taken, "s2") == attempts_of(taken, "s3")
    assert attempts_of(taken, "s2")[0]["members"] == ["s2", "s3"]
    assert attempts_of(taken, "s4")[0]["late_s"] == 0, "the student has an extension"
    assert attempts_of(taken, "s5") == []
    description = json.loads((run / "run.json").read_text(encoding="utf-8"))
    assert {s["title"] for s in description["submissions"]} == {"Ada Lovelace", "pair", "陳 大文"} or len(
        description["submissions"]
    ) == 3

    # What was taken in stays as it is, and is looked at again before it is judged.
    snapshot = run / ada[1]["snapshot"] / "spmm.cu"
    assert stat.S_IMODE(snapshot.stat().st_mode) == 0o444
    snapshot.chmod(0o644)
    snapshot.write_text("changed", encoding="utf-8")
    again = warpgrade("resume", run)
    assert again.returncode == 1 and "has changed since the class was read in" in again.stderr, again.stderr


@pytest.mark.parametrize(("policy", "graded"), [("last", [2]), ("first", [1]), ("best", [1, 2])])
def test_canvas_and_autolab_files(tmp_path: Path, policy: str, graded: list[int]) -> None:
    """Loose files find their students, several of them one attempt; the chosen one is graded; Canvas's LATE is kept."""
    canvas, autolab = tmp_path / "canvas", tmp_path / "autolab"
    canvas.mkdir()
    autolab.mkdir()
    (canvas / "lovelaceada_101_9001_spmm.cu").write_text(SOURCE, encoding="utf-8")
    (canvas / "chan_LATE_104_9002_spmm-1.cu").write_text(SOURCE, encoding="utf-8")
    (canvas / "chan_LATE_104_9003_notes.h").write_text("// notes\n", encoding="utf-8")
    taken, run, _ = take(tmp_path, canvas)
    assert taken["source"]["layout"] == "canvas"
    late = attempts_of(taken, "s4")[0]
    assert late["late_marked"] and late["files"] == 2 and (run / late["snapshot"] / "spmm.cu").exists()
    assert attempts_of(taken, "s1")[0]["status"] == "graded"

    good(autolab / "ada@example.edu_1_handin.tar.gz")
    (autolab / "ada@example.edu_2_handin.cu").write_text(SOURCE + "//\n", encoding="utf-8")
    (tmp_path / "run").rename(tmp_path / "canvas-run")
    taken, _, _ = take(tmp_path, autolab, "--attempts", policy)
    assert taken["source"]["layout"] == "autolab"
    assert [a["attempt"] for a in attempts_of(taken, "s1") if a["status"] == "graded"] == graded


def test_bad_rosters_are_refused_with_their_line(tmp_path: Path) -> None:
    """Nothing is taken in before the roster is right."""
    hand_ins = tmp_path / "class"
    hand_ins.mkdir()
    good(hand_ins / "s1.tar.gz")
    for text, fragments in (
        ("name\nAda\n", ("roster.csv:1", "id")),
        ("id,name\ns1,Ada\ns1,Ada\n", ("roster.csv:3", "line 2")),
        ("id,name\ns1\n", ("roster.csv:2", "2 fields", "got 1")),
        ('id,name\ns1,"Ada\n', ("roster.csv:2", "never closed")),
        ('id,name\ns1,"Ada\nL."\ns2\n', ("roster.csv:4", "2 fields", "got 1")),
        ('id;name;"one, two, three"\ns1;Ada\n', ("roster.csv:2", "3 fields", "got 2")),
        ("id,deadline\ns1,tomorrow\n", ("roster.csv:2", "tomorrow")),
        ("", ("is empty",)),
        ("id,name\ns1,Zoë\n".encode("cp1252"), ("roster.csv:2", "not UTF-8", "iconv -f WINDOWS-1252")),
        ("id,name\ns1,陳\n".encode("utf-16"), ("roster.csv:1", "not UTF-8", "iconv -f UTF-16")),
    ):
        (tmp_path / "roster.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
        done = warpgrade("batch", tmp_path / "run", "--submissions", hand_ins, "--roster", tmp_path / "roster.csv")
        assert done.returncode == 1, done.stdout
        for fragment in fragments:
            assert fragment in done.stderr, (text, done.stderr)


def assert_time_is_accounted_for(run: Path) -> None:
    """Phases are the whole wall time; the overhead is what was no run, and its waiting part is told apart."""
    for file in run.glob("submissions/*/judging.json"):
        for session in json.loads(file.read_text(encoding="utf-8"))["sessions"]:
            phases = session["phases"]
            assert sum(phases.values()) == pytest.approx(session["wall_s"], abs=1e-3), session
            runs = sum(phases.get(phase, 0) for phase in ("plan", "run", "verify", "timed"))
            assert session["overhead_with_waiting_s"] == pytest.approx(session["wall_s"] - runs), session
            assert session["waited_s"] == phases.get("lease_wait", 0)
            assert session["overhead_s"] == pytest.approx(session["overhead_with_waiting_s"] - session["waited_s"])
    for file in run.glob("cases/*/*.json"):
        record = json.loads(file.read_text(encoding="utf-8"))
        assert sum(record.get("phases", {}).values()) <= record.get("wall_s", 0) + 1e-3, record["case"]


def test_lateness_costs_what_the_policy_says_and_can_be_rescored(tmp_path: Path) -> None:
    """Late rules are scoring alone: another policy shows what it changes, and writes only when told."""
    export = tmp_path / "class"
    (export / "submission_1").mkdir(parents=True)
    source = (Path(__file__).parents[2] / "reference/spmm/naive/spmm.cu").read_text(encoding="utf-8")
    (export / "submission_1/spmm.cu").write_text(source, encoding="utf-8")
    (export / "submission_metadata.yml").write_text(
        "submission_1:\n  :created_at: 2026-03-20 00:00:00 Z\n  :submitters:\n  - :sid: s1\n", encoding="utf-8"
    )
    _, run, _ = take(tmp_path, export, "--deadline", "2026-03-18T12:00:00Z")
    scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))["submissions"]
    assert [(s["points"], s["max_points"], s["measured_points"], s["counts"]) for s in scores] == [(40, 100, 40, True)]
    assert_time_is_accounted_for(run)

    # A later call may say less than the first; what it says otherwise is refused, not ignored.
    assert warpgrade("batch", run, "--jobs", "1", "--quiet").returncode == 0
    other = warpgrade("batch", run, "--cases", "synth-hub-k32", "--checks", "none")
    assert other.returncode == 1 and "begun with other cases, checks" in other.stderr, other.stderr

    policy = tmp_path / "late.yaml"
    base = (Path(__file__).parents[2] / "grader/policies/spmm.yaml").read_text(encoding="utf-8")
    policy.write_text(
        base + "\nlate: {grace_minutes: 10, percent_per_day: 10, cap_percent: 50, max_days: 7}\n", encoding="utf-8"
    )
    shown = warpgrade("rescore", run, "--policy", policy)
    assert shown.returncode == 0 and "32.00" in shown.stdout and "-8.00" in shown.stdout, shown.stdout
    assert json.loads((run / "scores.json").read_text(encoding="utf-8"))["submissions"] == scores
    feedback = run / "export/feedback/s1/feedback.md"
    assert "**40 of 100 points**" in feedback.read_text(encoding="utf-8")
    assert warpgrade("rescore", run, "--policy", policy, "--yes").returncode == 0
    assert "**32 of 100 points**" in feedback.read_text(encoding="utf-8")
    assert "Handed in 36 h 0 min after the deadline: 20 % is taken off, 8 of 40 points." in feedback.read_text("utf-8")
    after = json.loads((run / "scores.json").read_text(encoding="utf-8"))["submissions"][0]
    assert after["points"] == 32 and after["late"]["days"] == 2 and after["points_before_late"] == 40
    # Without a GPU the speed points are open, and the assignment is still worth all of them.
    canvas = (run / "export/canvas.csv").read_text(encoding="utf-8-sig").splitlines()
    assert canvas[1] == "    Points Possible,,,,,100"

    # Judged anew, the old record is kept, and the policy that holds now holds on.
    again = warpgrade("regrade", run, "--only", "s*", "--quiet")
    assert again.returncode == 0, again.stderr
    assert [path.name for path in (run / "superseded/1/s1").iterdir()] == ["synth-identity-k32.json"]
    assert json.loads((run / "scores.json").read_text(encoding="utf-8"))["submissions"][0]["points"] == 32
    assert "no verdict" in warpgrade("diff", run, run).stdout
