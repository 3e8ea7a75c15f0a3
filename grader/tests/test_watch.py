"""`warpgrade batch RUN --watch FOLDER`: rolling hand-ins, killed and started again, on the emulator."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, WARPGRADE, records_of, warpgrade

NAIVE = ROOT / "reference/spmm/naive/spmm.cu"
HOW = ["--lab", "spmm", "--cases", "synth-all-empty-k32", "--backend", "emulator", "--settle", "0"]


def hand_in(place: Path, text: str) -> None:
    """Puts a hand-in into its place as a whole; what was there before it goes."""
    root = next(folder for folder in place.parents if folder.name == "hand-ins").parent
    aside = root / f"aside-{time.monotonic_ns()}"
    (aside / "new").mkdir(parents=True)
    (aside / "new/spmm.cu").write_text(text, encoding="utf-8")
    if place.exists():
        place.rename(aside / "old")
    (aside / "new").rename(place)


def broken(number: int) -> str:
    """A program that does not compile, which costs next to nothing to judge."""
    return f"#include <warpgrade/spmm.h>\nint attempt_{number} = ;\n"


def watch(run: Path, folder: Path, *more: str) -> subprocess.Popen[str]:
    command = [str(WARPGRADE), "batch", str(run), "--watch", str(folder), *HOW, *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def until(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def taken(run: Path) -> dict[str, Any]:
    table: dict[str, Any] = json.loads((run / "submissions.json").read_text(encoding="utf-8"))
    return table


def finished(watching: subprocess.Popen[str]) -> str:
    said, _ = watching.communicate(timeout=300)
    assert watching.returncode == 0, said
    return said


def verdicts_on_disk(run: Path) -> dict[str, tuple[int, bytes]]:
    """Every verdict that stands there, with its record's time: one that is judged again is written again.

    A submission at which the program died twice is set aside for one call, with a fault in a file of its own.
    """
    found = {}
    for file in sorted(run.glob("cases/*/*.json")):
        if file.name.endswith(".fault.json"):
            continue
        found[str(file.relative_to(run))] = (file.stat().st_mtime_ns, file.read_bytes())
    return found


def hand_in_and_kill(run: Path, folder: Path, rng: random.Random, rounds: int) -> dict[str, int]:
    """In each round somebody hands in beside a watch that is ended by SIGKILL; how many attempts each student made."""
    attempts: dict[str, int] = {}
    kept: dict[str, tuple[int, bytes]] = {}
    for number in range(rounds):
        watching = watch(run, folder)
        for _ in range(rng.choice([0, 1, 1, 2])):
            student = rng.choice(["ada", "bo", "chen"])
            attempts[student] = attempts.get(student, 0) + 1
            time.sleep(rng.uniform(0, 0.7))
            (folder / student).mkdir(exist_ok=True)
            text = broken(100 * number + len(attempts)) + f"// {student} {attempts[student]}\n"
            if len(attempts) == attempts[student] == 1:  # one that is judged, not only compiled
                text = NAIVE.read_text(encoding="utf-8") + f"// {student}\n"
            hand_in(folder / student / f"attempt-{attempts[student]}", text)
        time.sleep(rng.choice([0.3, 1, 2, 5]) * rng.random())
        watching.send_signal(signal.SIGKILL)
        watching.communicate(timeout=60)
        now = verdicts_on_disk(run)
        assert now.items() >= kept.items(), "what had a verdict was judged again, or is gone"
        kept = now
    finished(watch(run, folder, "--until", until(2)))
    assert verdicts_on_disk(run).items() >= kept.items(), "what had a verdict was judged again, or is gone"
    return attempts


# By hand many more: WARPGRADE_TEST_KILLS=50 (about ten seconds each).
@pytest.mark.parametrize("seed", range(1, 1 + int(os.environ.get("WARPGRADE_TEST_KILLS", "2"))))
def test_a_watch_that_is_killed_at_any_point_loses_nothing_and_repeats_nothing(tmp_path: Path, seed: int) -> None:
    """While hand-ins arrive the program is ended by SIGKILL, at moments that the seed chooses."""
    print(f"seed {seed}")
    folder, run = tmp_path / "hand-ins", tmp_path / "run"
    folder.mkdir()
    expected = hand_in_and_kill(run, folder, random.Random(seed), rounds=4)
    total = sum(expected.values())
    assert total > 0, "the seed's hand-ins are none: the test would say nothing"
    attempts = taken(run)["attempts"]
    assert sorted((a["student"], a["attempt"]) for a in attempts) == sorted(
        (student, n + 1) for student, count in expected.items() for n in range(count)
    )
    assert len({a["hash"] for a in attempts}) == len(verdicts_on_disk(run)) == total
    judged = [record["submission"]["id"] for record in records_of(run)]
    assert sorted(judged) == sorted(f"{a['student']}.attempt-{a['attempt']}" for a in attempts)
    assert len(list((run / "snapshots").iterdir())) == total, "nothing half-taken is left"
    for student, count in expected.items():
        view = json.loads((run / f"export/feedback/{student}/feedback.json").read_text(encoding="utf-8"))
        assert view["submission"]["attempt"] == count, "the last one counts"
    assert (run / "export/leaderboard.html").exists()
    assert (run / "export/class-report/index.html").exists(), "at its end a watch writes everything"


def wait_for(run: Path, count: int, watching: subprocess.Popen[str]) -> None:
    """Until so many attempts were taken in."""
    for _ in range(600):
        if (run / "submissions.json").exists() and len(taken(run)["attempts"]) == count:
            return
        assert watching.poll() is None, watching.communicate()[0]
        time.sleep(0.1)
    pytest.fail(f"{count} attempts were not taken in within a minute")


def test_a_days_limit_and_the_deadline_hold_and_the_student_is_told(tmp_path: Path) -> None:
    folder, run = tmp_path / "hand-ins", tmp_path / "run"
    folder.mkdir()
    hand_in(folder / "ada", broken(1))
    watching = watch(run, folder, "--attempts-per-day", "2", "--attempts", "first")
    for number in (2, 3):
        wait_for(run, number - 1, watching)
        hand_in(folder / "ada", broken(number))
    wait_for(run, 3, watching)
    hand_in(folder / "ada", broken(3))  # the same again, beyond the limit still
    watching.send_signal(signal.SIGINT)
    said, _ = watching.communicate(timeout=60)
    assert watching.returncode == 130, said
    end = until(1)
    time.sleep(2.1)
    hand_in(folder / "late", broken(4))
    said = finished(watch(run, folder, "--until", end))
    assert "the watch is over" in said
    told = {(a["attempt"], a["status"]) for a in taken(run)["attempts"]}
    assert told >= {(1, "graded"), (2, "graded"), (3, "refused")}
    assert {a["student"] for a in taken(run)["attempts"]} == {"ada"}, "what came behind the end is left alone"
    refused = [a for a in taken(run)["attempts"] if a["status"] == "refused"]
    assert {a["refusal"]["reason"] for a in refused} == {"over_limit"}
    page = (run / "export/feedback/ada/feedback.md").read_text(encoding="utf-8")
    assert "the limit is 2 attempts a day" in page
    assert "hand it in again on another day" in page
    view = json.loads((run / "export/feedback/ada/feedback.json").read_text(encoding="utf-8"))
    assert view["submission"]["attempt"] == 1, "--attempts first"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--submissions", "x"], "leave out --submissions"),
        (["--executor", "slurm"], "--watch judges on this machine"),
        (["--until", "soon"], "--until: expected a time"),
    ],
)
def test_what_cannot_be_watched_is_refused(tmp_path: Path, more: list[str], said: str) -> None:
    folder = tmp_path / "hand-ins"
    folder.mkdir()
    done = warpgrade("batch", tmp_path / "run", "--watch", folder, *HOW, *more, env=os.environ)
    assert done.returncode == 1
    assert said in done.stderr
    assert not (tmp_path / "run").exists()
