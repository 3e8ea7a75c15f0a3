"""Counters of a GPU, without one: ncu is a model made from its manual and output (ncu_model).

The program runs in the real box with the emulator in the GPU's place, and the desk is real. scripts/check-gpu has the
real ncu.
"""

from __future__ import annotations

import json
import os
import platform
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, WARPGRADE, warpgrade
from desk_place import CLIENT, NAIVE, Desk, ask_run, desk_at, packed, waits_for

MODEL = ROOT / "grader/tests/ncu_model/target/linux-desktop-model-x64/ncu"
CASE = "synth-hub-k32"
WRONG = ROOT / "reference/spmm/wrong"
pytestmark = [
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the model lies where ncu for x86-64 lies"),
    pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="with a GPU scripts/check-gpu asks the real ncu"),
]


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPGRADE_NCU", str(MODEL))
    monkeypatch.setenv("A_SECRET_OF_THE_HOST", "correct-horse-battery")


def profile(submission: Path, *more: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return warpgrade("profile", submission, "--lab", "spmm", "--case", CASE, *more, **options)


def test_the_summary_has_the_hardwares_figures_beside_the_emulators(tmp_path: Path) -> None:
    done = profile(ROOT / "reference/spmm/naive", "--hardware", "--output", tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "spmm_naive_kernel: 1 launches on the GPU" in done.stdout
    summary = json.loads((tmp_path / "out/hardware.json").read_text(encoding="utf-8"))
    assert summary["schema"] == "warpgrade.hardware.v1"
    (kernel,) = summary["kernels"]
    figures = {figure["name"]: figure for figure in kernel["figures"]}
    # One launch by itself is one of several in a judged case: the model counts with the emulator, so they are the same.
    for name in ("load requests", "load sectors/req", "store sectors/req", "warp instr."):
        assert figures[name]["hardware"] == pytest.approx(figures[name]["emulator"], rel=1e-6), name
        assert figures[name]["hardware"] > 0


def test_a_declared_lab_and_a_plan_are_counted_too() -> None:
    done = profile(ROOT / "reference/spmm/optimized", "--hardware", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    names = [kernel["kernel"] for kernel in json.loads(done.stdout)["kernels"]]
    assert "spmm_count_items_kernel" in names, "of the plan"
    done = warpgrade(
        "profile", ROOT / "reference/reduction/naive", "--lab", "reduction", "--case", "warp", "--hardware"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "counters of the emulator are within" in done.stdout


def test_the_report_holds_the_source_and_nothing_of_the_host(tmp_path: Path) -> None:
    done = profile(ROOT / "reference/spmm/naive", "--hardware", "--output", tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not given out" not in done.stdout, done.stdout
    report = (tmp_path / "out/profile.ncu-rep").read_text(encoding="utf-8")
    told = json.loads(report.removeprefix("NVR\n"))
    assert told["sources"] == {"/run/warpgrade/source/spmm.cu": NAIVE}
    assert told["hostname"] == "runner"
    assert all("/run/warpgrade" in word for word in (told["folder"], *told["command"]))
    for secret in ("correct-horse-battery", str(ROOT), str(Path.home()) + "/"):
        assert secret not in report
    assert socket.gethostname() not in report


def test_a_report_that_tells_of_the_host_is_not_given_out(tmp_path: Path) -> None:
    """The student's own source holds what a box that failed would have left in the report."""
    folder = tmp_path / "telling"
    folder.mkdir()
    (folder / "spmm.cu").write_text(NAIVE + "// correct-horse-battery\n", encoding="utf-8")
    done = profile(folder, "--hardware", "--output", tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not given out: it holds the value of the variable A_SECRET_OF_THE_HOST" in done.stdout
    assert "correct-horse-battery" not in done.stdout
    assert not (tmp_path / "out/profile.ncu-rep").exists()
    assert (tmp_path / "out/hardware.json").exists(), "the figures tell nothing"


def test_a_program_that_is_wrong_is_not_run_on_the_gpu(tmp_path: Path) -> None:
    folder = tmp_path / "wrong"
    folder.mkdir()
    (folder / "spmm.cu").write_text(NAIVE.replace("sum +=", "sum -="), encoding="utf-8")
    assert "sum -=" in (folder / "spmm.cu").read_text(encoding="utf-8")
    done = profile(folder, "--hardware")
    assert done.returncode != 0
    assert "the emulator says wrong_answer" in done.stderr
    assert "correct it first" in done.stderr


def test_without_ncu_or_a_gpu_the_words_say_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPGRADE_NCU", "/nowhere/ncu")
    done = profile(ROOT / "reference/spmm/naive", "--hardware")
    assert done.returncode == 1
    assert "ncu (NVIDIA Nsight Compute) was not found" in done.stderr
    assert "Without --hardware the emulator counts" in done.stderr


# ---- The desk


def add_counters(desk: Desk, text: str = "counters: {runs_per_day: 2, seconds: 60}\n") -> None:
    file = desk.folder / "desk.yaml"
    file.write_text(file.read_text(encoding="utf-8") + text, encoding="utf-8")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with desk_at(tmp_path, open_cases="public") as desk:
        yield desk


def door(desk: Desk, student: str = "ada") -> Path:
    """In ssh's place: what sshd would start for this student."""
    script = desk.root / f"ssh-{student}"
    words = " ".join(
        f"'{word}'" for word in (str(WARPGRADE), "desk", "--folder", str(desk.folder), "--student", student)
    )
    script.write_text(f"#!/bin/sh\nexec {words}\n", encoding="utf-8")
    script.chmod(0o755)
    return script


def remotely(desk: Desk, program: str, place: Path, case: str = CASE) -> subprocess.CompletedProcess[str]:
    """`make profile REMOTE=`, or the program for laptops."""
    (place / "student/spmm").mkdir(parents=True, exist_ok=True)
    (place / "student/spmm/spmm.cu").write_text(NAIVE, encoding="utf-8")
    command = [sys.executable, str(CLIENT), "profile", "spmm", "--folder", "student"]
    if program == "hand-out":
        command = [str(WARPGRADE), "profile", "student/spmm", "--lab", "spmm"]
    environment = {**os.environ, "WARPGRADE_SSH": str(door(desk))}
    return subprocess.run(
        [*command, "--case", case, "--remote", "gpu.example.edu"],
        cwd=place, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("program", ["hand-out", "laptop"])
def test_a_student_gets_summary_and_report_from_the_desk(desk: Desk, tmp_path: Path, program: str) -> None:
    add_counters(desk)
    desk.serve()
    done = remotely(desk, program, tmp_path / "home")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "spmm_naive_kernel: 1 launches on the GPU" in done.stdout
    assert f"counted {CASE}; nothing of it is judged" in done.stdout
    (report,) = (tmp_path / "home").glob("runs/remote/gpu.example.edu/spmm/counters/*/profile.ncu-rep")
    assert "/run/warpgrade/source/spmm.cu" in report.read_text(encoding="utf-8")
    assert (report.parent / "index.html").read_text(encoding="utf-8").count("<pre>") == 1
    # `warpgrade journey` finds it by the program's hash.
    (kept,) = (desk.folder / "requests").glob("*/hardware.json")
    assert kept.read_bytes() == (report.parent / "hardware.json").read_bytes()
    assert len(json.loads(kept.read_text(encoding="utf-8"))["submission"]) == 64
    # Nothing is left that a leaderboard, a hand-in or points could come from.
    with sqlite3.connect(desk.folder / "queue.sqlite") as queue:
        assert queue.execute("SELECT kind, state, verdict FROM requests").fetchall() == [("profile", "judged", "")]
    assert not list((desk.folder / "requests").glob("*/run/records*"))
    assert not list((desk.folder / "requests").glob("*/view.json"))


def ask_profile(desk: Desk, key: str, student: str = "ada", **changes: Any) -> list[dict[str, Any]]:
    archive, talk = packed(), desk.knock(student)
    talk.send(ask_run(archive, key, ask="profile", **{"case": CASE, **changes}))
    talk.send(archive)
    heard = talk.rest()
    talk.end()
    return heard


def test_counters_have_a_quota_and_public_cases_alone(desk: Desk) -> None:
    add_counters(desk)
    desk.serve()
    assert ask_profile(desk, "1", case="synth-hub-variant-k32")[-1]["reason"] == "no_such_case", "hidden"
    assert ask_profile(desk, "1", case="")[-1]["reason"] == "no_such_case"
    assert ask_profile(desk, "1")[-1]["state"] == "judged"
    assert ask_profile(desk, "2")[-1]["state"] == "judged"
    assert ask_profile(desk, "3")[-1]["reason"] in ("over_hour", "over_day")
    assert ask_profile(desk, "3", student="bo")[-1]["state"] == "judged", "each student has an own number"


def endless_model(tmp_path: Path) -> Path:
    """A model of ncu whose program does not end."""
    waits = tmp_path / "model" / MODEL.relative_to(MODEL.parents[2])
    waits.parent.mkdir(parents=True)
    (tmp_path / "model/sections").mkdir()
    text = MODEL.read_text(encoding="utf-8")
    waits.write_text(
        text.replace("    unknown = [", "    import time; time.sleep(1000)\n    unknown = ["), encoding="utf-8"
    )
    waits.chmod(0o755)
    return waits


def test_a_program_that_does_not_end_is_ended_and_the_next_one_counts(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine is well, so the class goes on."""
    waits = endless_model(tmp_path)
    monkeypatch.setenv("WARPGRADE_NCU", str(waits))
    add_counters(desk, "counters: {seconds: 10}\n")
    desk.serve()
    end = ask_profile(desk, "1")[-1]
    assert end["state"] == "judged"
    assert "did not end in the time that a run with counters has" in end["message"]
    assert "runs with counters: on" in desk.run("status")
    waits.write_text(MODEL.read_text(encoding="utf-8"), encoding="utf-8")
    assert f"counted {CASE}" in ask_profile(desk, "2")[-1]["message"]


def test_a_gpu_that_does_not_answer_afterwards_ends_these_runs_and_no_others(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARPGRADE_NCU", str(endless_model(tmp_path)))
    monkeypatch.setenv("WARPGRADE_INJECT", "stage:counted_gpu,kind:exception")
    add_counters(desk, "counters: {seconds: 10}\n")
    desk.serve()
    end = ask_profile(desk, "1")[-1]
    assert end["state"] == "failed"
    assert "the GPU did not answer after your run; the desk counts no more" in end["message"]
    assert "runs with counters: ended: the GPU did not answer after a run" in desk.run("status")
    assert ask_profile(desk, "2", student="bo")[-1]["reason"] == "counters_ended"
    archive, talk = packed(), desk.knock("bo")
    talk.send(ask_run(archive, "3"))
    talk.send(archive)
    assert talk.rest()[-1]["state"] == "judged", "runs that are judged go on"
    talk.end()


@pytest.mark.parametrize("program", ["hand-out", "laptop"])
def test_a_desk_without_counters_says_so_and_the_emulator_counts(desk: Desk, tmp_path: Path, program: str) -> None:
    done = remotely(desk, program, tmp_path / "home")
    assert "this desk does not count on its GPU" in done.stdout + done.stderr
    if program == "hand-out":
        assert done.returncode == 0, done.stderr
        assert "load sectors/req" in done.stdout, "the emulator's profile"


def test_an_old_desk_does_not_know_the_question_and_the_emulator_counts(tmp_path: Path) -> None:
    """The answer is what a desk of version 0.2.0 gives."""
    hello = {"tell": "hello", "protocol": 1, "oldest": 1, "student": "ada", "course": "", "archive_bytes": 4194304}
    refused = {
        "tell": "refused", "reason": "protocol", "message": "the desk does not know this request",
        "next_step": "use `warpgrade remote`",
    }  # fmt: skip
    ssh = tmp_path / "ssh"
    ssh.write_text(
        f"#!/bin/sh\necho '{json.dumps(hello)}'\nread -r line\necho '{json.dumps(refused)}'\n", encoding="utf-8"
    )
    ssh.chmod(0o755)
    environment = {**os.environ, "WARPGRADE_SSH": str(ssh)}
    done = profile(ROOT / "reference/spmm/naive", "--remote", "old.example.edu", env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "old.example.edu gives no counters of its GPU (the desk does not know this request" in done.stderr
    assert "load sectors/req" in done.stdout


def test_the_class_is_ended_by_hand_told_and_begun_again(desk: Desk) -> None:
    add_counters(desk)
    assert "runs with counters: on, 2 a student and day" in desk.run("status")
    desk.run("counters", "--off", "--why", "the GPU is looked at")
    assert "runs with counters: ended: the GPU is looked at" in desk.run("status")
    assert "ended: the GPU is looked at" in desk.status()["counters"]
    assert ask_profile(desk, "1")[-1]["reason"] == "counters_ended"
    desk.run("counters")
    assert "runs with counters: on" in desk.run("status")
    assert [line["what"] for line in desk.log() if "by" in line] == ["counters", "counters"]


def test_a_restart_begins_the_class_again_and_a_host_without_ncu_says_so(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_counters(desk)
    desk.run("counters", "--off", "--why", "it hung")
    served = desk.serve("--until-idle", "0.5")
    assert served.wait(timeout=60) == 0
    assert "runs with counters: on" in desk.run("status")
    monkeypatch.setenv("WARPGRADE_NCU", "/nowhere/ncu")
    desk.serve()
    waits_for(lambda: "ncu (NVIDIA Nsight Compute) was not found" in desk.run("status"))
    assert ask_profile(desk, "1")[-1]["reason"] == "counters_ended"


def test_desk_yaml_names_what_is_wrong_with_counters(desk: Desk) -> None:
    add_counters(desk, "counters: {runs_per_day: none}\n")
    done = warpgrade("desk", "status", "--folder", desk.folder)
    assert done.returncode == 1
    assert "desk.yaml" in done.stderr
    assert "runs_per_day" in done.stderr
