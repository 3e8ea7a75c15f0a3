"""A student's run on the course's GPU: a real sshd, real keys, the emulator in the GPU's place."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import tarfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from conftest import warpgrade
from desk_place import (
    HIDDEN_CASE,
    OPEN_CASE,
    Desk,
    ask_run,
    broken,
    desk_at,
    judged_once,
    packed,
    refusal,
    sshd,
    waits_for,
)

pytestmark = pytest.mark.skipif(sshd() is None, reason="no sshd on this machine")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A desk that serves ada and bo; one case is open and one hidden."""
    more = "visibility: {open: [public], hidden: verdict, hidden_names: numbered}"
    with desk_at(tmp_path_factory.mktemp("desk"), open_cases=OPEN_CASE, more=more) as desk:
        desk.open_to("ada", "bo")
        desk.serve()
        yield desk


def test_a_run_goes_to_the_desk_and_its_verdicts_and_page_come_back(desk: Desk) -> None:
    place = desk.student("ada")
    said, trouble = (running := desk.test("ada")).communicate(timeout=300)
    assert running.returncode == 0, said + trouble
    assert f"  ok              {OPEN_CASE}" in said
    assert "1 of 1 cases right; the page: runs/remote/127.0.0.1/spmm/" in said
    assert said.splitlines()[-1].startswith("all cases are right: spmm (1)")
    (page,) = place.glob("runs/remote/127.0.0.1/spmm/*/index.html")
    assert OPEN_CASE in page.read_text(encoding="utf-8")
    feedback = json.loads((page.parent / "feedback.json").read_text(encoding="utf-8"))
    assert feedback["person"]["id"] == "ada"
    assert not list(place.glob("runs/remote/127.0.0.1/spmm/pending.json"))


def test_a_mistake_is_told_as_by_a_local_run(desk: Desk) -> None:
    desk.student("bo", broken(1))
    said, trouble = (running := desk.test("bo")).communicate(timeout=300)
    assert running.returncode == 3, said + trouble
    assert "compile_error" in said
    assert "spmm.cu(2): error" in said
    assert str(desk.folder) not in said


def test_ctrl_c_leaves_the_queue_and_a_killed_client_is_taken_up_again(desk: Desk) -> None:
    """Nobody is served while the official batch is at work, so that runs wait."""
    desk.student("ada", broken(2))
    official = subprocess.Popen([*desk.command("first"), "--", "sleep", "600"], stdin=subprocess.DEVNULL)
    try:
        waits_for(lambda: any(line["what"] == "first" for line in desk.log()))
        running = desk.test("ada")
        waits_for(lambda: desk.status()["counts"]["queued"] == 1)
        assert "queued" in desk.remote("ada", "status").stdout
        running.send_signal(2)
        said, trouble = running.communicate(timeout=60)
        assert running.returncode == 130, said + trouble
        assert "has ended: you cancelled it" in said
        assert desk.status()["counts"]["queued"] == 0
        running = desk.test("ada")
        waits_for(lambda: desk.status()["counts"]["queued"] == 1)
        running.kill()
        running.communicate()
    finally:
        official.kill()
        official.wait()
    runs = len(desk.remote("ada", "history").stdout.splitlines())
    said, trouble = (running := desk.test("ada")).communicate(timeout=300)
    assert running.returncode == 3, said + trouble
    assert len(desk.remote("ada", "history").stdout.splitlines()) == runs, "the same run was taken up"


def test_without_a_key_the_student_is_told_what_to_ask_for(desk: Desk) -> None:
    desk.student("ada")
    (desk.root / "keys/eve").write_text((desk.root / "host").read_text(encoding="utf-8"), encoding="utf-8")
    (desk.root / "keys/eve").chmod(0o600)
    desk.student("eve")
    said, trouble = (running := desk.test("eve")).communicate(timeout=60)
    assert running.returncode == 1, said + trouble
    assert "does it have your public key?" in said
    assert "no fault of your code" not in said


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["-T", "HOST", "sh", "-c", "id"], "no_commands"),
        (["-T", "HOST", "warpgrade", "desk", "--student", "bo"], "no_commands"),
        (["-tt", "HOST"], None),
        (["-s", "HOST", "sftp"], None),
        (["-N", "-o", "ExitOnForwardFailure=yes", "-R", "0:127.0.0.1:22", "HOST"], None),
    ],
)
def test_a_key_gets_nothing_but_the_desk(desk: Desk, words: list[str], answer: str | None) -> None:
    user, _, where = desk.address.partition("@")
    host, _, port = where.partition(":")
    command = [*desk.ssh("ada"), "-p", port, "-l", user, *[host if word == "HOST" else word for word in words]]
    done = subprocess.run(command, input=b"", capture_output=True, timeout=60, check=False)
    if answer is None:
        assert done.returncode != 0
        assert b"uid=" not in done.stdout
    else:
        first = json.loads(done.stdout.split(b"\n")[0])
        assert answer in (first["tell"], first.get("reason"))
    if answer == "no_commands":
        assert any(line.get("reason") == answer and line["student"] == "ada" for line in desk.log())


def test_a_port_is_not_forwarded(desk: Desk) -> None:
    """The student's ssh listens, and the sshd opens nothing behind it."""
    user, _, where = desk.address.partition("@")
    host, _, port = where.partition(":")
    with socket.socket() as target, socket.socket() as chosen:
        target.bind(("127.0.0.1", 0))
        target.listen()
        target.settimeout(2)
        chosen.bind(("127.0.0.1", 0))
        local = chosen.getsockname()[1]
        chosen.close()
        forward = f"{local}:127.0.0.1:{target.getsockname()[1]}"
        command = [*desk.ssh("ada"), "-N", "-p", port, "-l", user, "-L", forward, host]
        tunnel = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            waits_for(lambda: listens(local))
            with pytest.raises(TimeoutError):
                target.accept()
        finally:
            tunnel.kill()
            tunnel.wait()


def listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1):
            return True
    except OSError:
        return False


def archive_of(*entries: tarfile.TarInfo) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for entry in entries:
            archive.addfile(entry, io.BytesIO(b"x" * entry.size))
    return out.getvalue()


def entry(name: str, size: int = 3, link: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    if link:
        made.type, made.linkname = tarfile.SYMTYPE, link
    else:
        made.size = size
    return made


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ((b"\x00\xff garbage \n",), "protocol"),
        ((b"x" * 5000,), "protocol"),
        ((b"[" * 4000 + b"\n",), "protocol"),
        ((b'{"protocol": 1, "a": ' + b"[" * 100 + b"]" * 100 + b"}\n",), "protocol"),
        (({"protocol": 2, "ask": "run"},), "protocol"),
        (({"protocol": 1, "ask": "shell"},), "protocol"),
        (({"protocol": 1, "ask": "run", "lab": {"a": 1}, "key": 7},), "protocol"),
        ((ask_run(b"", "a", bytes=1 << 40),), "too_large"),
        ((ask_run(b"", "b", bytes=-1),), "too_large"),
        ((ask_run(b"", "c", bytes=5, lab="../../etc"),), "no_such_lab"),
        ((ask_run(b"", "d", bytes=5, case="synth-hub-k32"),), "no_such_case"),
        ((ask_run(b"12345", "e", sha256="0" * 64), b"12345"), "damaged"),
        (({"protocol": 1, "ask": "follow", "run": 1},), "no_such_run"),
        (({"protocol": 1, "ask": "cancel", "run": 1},), "no_such_run"),
        (({"protocol": 1, "ask": "cancel", "run": 999999},), "no_such_run"),
    ],
)
def test_what_is_no_honest_question_is_refused_and_logged(desk: Desk, sent: tuple[object, ...], reason: str) -> None:
    """Run 1 is another student's."""
    before = len(desk.log())
    assert refusal(desk.knock("mallory"), *sent) == reason
    assert any(line.get("student") == "mallory" for line in desk.log()[before:])
    assert not (desk.folder / "staged").exists() or not list((desk.folder / "staged").iterdir())


HOSTILE_ARCHIVES = {
    "not_an_archive": b"not an archive",
    "path_traversal": archive_of(entry("../../outside.cu")),
    "absolute_path": archive_of(entry("/etc/passwd")),
    "link": archive_of(entry("spmm/spmm.cu", link="/etc/passwd")),
    "compression_ratio": archive_of(entry("spmm/spmm.cu", 30 << 20)),
    "no_submission": archive_of(entry("spmm/readme.txt")),
    "bad_name": packed(name="spmm/$(id).cu"),
}


@pytest.mark.parametrize("reason", HOSTILE_ARCHIVES)
def test_an_archive_goes_the_way_of_every_hand_in(desk: Desk, reason: str) -> None:
    archive, talk = HOSTILE_ARCHIVES[reason], desk.knock("mallory")
    assert refusal(talk, ask_run(archive, reason), archive) == reason
    assert any(line.get("reason") == reason and line["student"] == "mallory" for line in desk.log())


def test_slow_and_many_connections_hold_up_nobody_else(desk: Desk) -> None:
    idle = [desk.knock("mallory") for _ in range(6)]
    half = ask_run(b"x" * 1000, "slow")
    for talk in idle:
        assert talk.hear()["tell"] == "hello"
        talk.send(half)
        talk.send(b"x" * 10)
    seventh = desk.knock("mallory")
    assert seventh.hear()["reason"] == "too_many_connections"
    seventh.end()
    begun = time.monotonic()
    talk = desk.knock("bo")
    assert talk.hear()["tell"] == "hello"
    talk.send({"protocol": 1, "ask": "status"})
    assert talk.hear()["tell"] == "runs"
    assert time.monotonic() - begun < 20
    talk.end()
    for each in idle:
        each.end()


RUNS = 3


def processes_below(pid: int) -> list[int]:
    """The process and all that it started, as far as they are its children."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in task.read_text(encoding="utf-8").split():
                found += processes_below(int(child))
    return found


def test_wherever_a_process_is_killed_each_run_ends_once(tmp_path: Path) -> None:
    """Ten kills: of the supervisor, a worker, a judge or one of its processes, or of a student's connection."""
    # Drawn here: two processes that collect the tests must find the same names.
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    rng = random.Random(seed)
    with desk_at(tmp_path, waiting=10) as desk:
        serving = desk.serve()

        def kill_something(*others: int) -> None:
            nonlocal serving
            time.sleep(rng.uniform(0, 0.6))
            victim = rng.choice([*processes_below(serving.pid), *others])
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
            if victim == serving.pid:
                serving.wait(timeout=30)
                serving = desk.serve()

        for number in range(RUNS):
            student, archive = rng.choice(["ada", "bo", "cy"]), packed()
            talk = desk.knock(student)
            talk.send(ask_run(archive, f"{seed}-{number}"))
            talk.send(archive)
            kill_something(talk.process.pid)
            kill_something(talk.process.pid)
            talk.process.kill()
            talk.end()
            talk = desk.knock(student)  # the student comes again
            talk.send(ask_run(archive, f"{seed}-{number}"))
            assert talk.hear()["tell"] == "hello"
            if talk.hear()["tell"] == "send":
                talk.send(archive)
                assert talk.hear()["tell"] == "accepted"
            talk.process.kill()
            talk.end()
        for _ in range(10 - 2 * RUNS):
            kill_something()
        waits_for(lambda: desk.open_runs() == 0, 120)
        with contextlib.closing(sqlite3.connect(desk.folder / "queue.sqlite")) as queue:
            runs = queue.execute("SELECT id, state, message FROM requests").fetchall()
            told = queue.execute("SELECT request, key, count(*) FROM events GROUP BY request, key").fetchall()
        assert len(runs) == RUNS
        for run, state, message in runs:
            assert state in {"judged", "failed"}, (state, message)
            assert message
            keys = {key for request, key, _ in told if request == run}
            assert "end" in keys
            assert state == "failed" or f"case:{OPEN_CASE}" in keys
        assert all(count == 1 for _, _, count in told)
        ended = [line["run"] for line in desk.log() if line["what"] == "ended" and line["counted"]]
        assert len(ended) == len(set(ended))


def test_an_instructor_drains_stops_and_allows_more(tmp_path: Path) -> None:
    with desk_at(tmp_path, per_hour=1) as desk:

        def hand_in(student: str, key: str) -> str:
            archive = packed(broken(7))
            talk = desk.knock(student)
            heard = talk.hear()
            if heard["tell"] == "hello":
                talk.send(ask_run(archive, key))
                talk.send(archive)
                heard = next(line for line in iter(talk.hear, {}) if line["tell"] != "send")
            talk.process.kill()
            talk.end()
            return str(heard.get("reason", heard["tell"]))

        assert hand_in("ada", "1") == "accepted"
        assert hand_in("ada", "2") == "one_at_a_time"
        assert hand_in("ada", "1") == "accepted", "the same run"
        desk.run("drain", "--why", "an exam")
        assert hand_in("bo", "1") == "drained"
        desk.run("reopen")
        desk.run("ban", "bo", "--why", "a talk first")
        assert hand_in("bo", "2") == "banned"
        desk.run("unban", "bo")
        assert hand_in("bo", "3") == "accepted"
        desk.run("quota", "cy", "--per-hour", "0")
        assert hand_in("cy", "1") == "over_hour"
        assert [line["what"] for line in desk.log() if "by" in line] == ["drain", "reopen", "ban", "unban", "quota"]


def test_hidden_cases_stay_hidden_and_practice_enters_no_grades(tmp_path: Path) -> None:
    """One case is open and one is numbered; of a lab whose policy says so the last run becomes a hand-in."""
    more = "visibility: {open: [], hidden: verdict, hidden_names: numbered}"
    with desk_at(tmp_path, more=more, last="last_remote_counts: true") as desk:
        archive = packed()
        talk = desk.knock("ada")
        talk.send(ask_run(archive, "1"))
        talk.send(archive)
        serving = desk.serve("--until-idle", "1")
        heard = talk.rest()
        talk.end()
        (case,) = [line["line"] for line in heard if line["tell"] == "case"]
        assert case["id"] == "hidden 1"
        assert case["verdict"] == "accepted"
        assert OPEN_CASE not in json.dumps(heard)
        assert "message" not in case
        refused = warpgrade("collect", desk.folder / "requests/1/run", "--gradebook", tmp_path / "grades.sqlite")
        assert refused.returncode == 1
        assert "practice" in refused.stderr
        assert serving.wait(timeout=60) == 0
        assert (desk.folder / "hand-ins/spmm/ada.tar.gz").read_bytes() == archive
        metrics = (desk.folder / "metrics.prom").read_text(encoding="utf-8")
        assert 'warpgrade_desk_runs{state="judged"} 1' in metrics
        assert 'warpgrade_desk_runs{state="queued"} 0' in metrics
        board = (desk.folder / "leaderboard/spmm.html").read_text(encoding="utf-8")
        assert "ada" not in board.split("<table", 1)[1].split("</table", 1)[0]


def test_a_leaderboard_counts_whole_runs_and_the_last_run_is_judged_officially(tmp_path: Path) -> None:
    """A student could choose the one case that goes well; and what counts goes from the desk into a watched class."""
    both = f"{OPEN_CASE}, {HIDDEN_CASE}"
    with desk_at(tmp_path, open_cases=both, last="last_remote_counts: true") as desk:
        serving = desk.serve("--until-idle", "3")
        judged_once(desk, "ada", "1", case=OPEN_CASE)
        judged_once(desk, "bo", "1")
        judged_once(desk, "bo", "2", case=OPEN_CASE)
        assert serving.wait(timeout=90) == 0
        board = (desk.folder / "leaderboard/spmm.html").read_text(encoding="utf-8")
        rows = board.split("<tbody", 1)[1].split("</tbody", 1)[0]
        assert rows.count("<tr") == 1, "bo's whole run alone"
        run = tmp_path / "official"
        end = (datetime.now(UTC) + timedelta(seconds=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
        judged = warpgrade(
            "batch",
            run,
            *("--watch", desk.folder / "hand-ins/spmm", "--until", end, "--lab", "spmm", "--cases", HIDDEN_CASE),
            *("--backend", "emulator", "--allow-unsandboxed"),
        )
        assert judged.returncode == 0, judged.stdout + judged.stderr
        records = [json.loads(file.read_text(encoding="utf-8")) for file in run.glob("cases/*/*.json")]
        assert {(r["submission"]["id"].split(".")[0], r["outcome"]["verdict"]) for r in records} == {
            ("ada", "accepted"),
            ("bo", "accepted"),
        }
