"""What students' runs leave on the desk's disk is bounded, and each run that was handed in counts."""

from __future__ import annotations

import contextlib
import io
import random
import sqlite3
import subprocess
import tarfile
from pathlib import Path

import pytest
from conftest import warpgrade
from desk_place import (
    HIDDEN_CASE,
    NAIVE,
    OPEN_CASE,
    Desk,
    Talk,
    ask_run,
    desk_at,
    judged_once,
    packed,
    refusal,
    sshd,
    waits_for,
)

pytestmark = pytest.mark.skipif(sshd() is None, reason="no sshd on this machine")

FLOOD, ALLOWED = 8, 5


def bytes_kept(desk: Desk) -> int:
    """Of all files that students' runs have on the desk's disk."""
    places = [desk.folder / "requests", desk.folder / "staged"]
    return sum(file.stat().st_size for place in places for file in place.rglob("*") if file.is_file())


def test_a_flood_of_runs_that_are_cancelled_at_once_counts_and_leaves_nothing(tmp_path: Path) -> None:
    """Eight runs of 3.3 MB over one connection of ssh: 26 MB stayed for 30 days, and counted for no quota."""
    noise = tarfile.TarInfo("spmm/notes.bin")
    noise.size = 3_300_000
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        source = tarfile.TarInfo("spmm/spmm.cu")
        source.size = len(NAIVE.encode())
        archive.addfile(source, io.BytesIO(NAIVE.encode()))
        archive.addfile(noise, io.BytesIO(random.Random(1).randbytes(noise.size)))
    packed_flood = out.getvalue()
    assert len(packed_flood) > noise.size
    with desk_at(tmp_path, per_hour=ALLOWED) as desk:
        desk.open_to("ada")
        user, _, where = desk.address.partition("@")
        host, _, port = where.partition(":")
        shared = ["-o", "ControlMaster=auto", "-o", f"ControlPath={tmp_path}/ctl", "-o", "ControlPersist=30"]
        command = [*desk.ssh("ada"), *shared, "-T", "-p", port, "-l", user, host]
        answers = []
        for number in range(FLOOD):
            talk = Talk(command)
            assert talk.hear()["tell"] == "hello"
            talk.send(ask_run(packed_flood, f"flood {number}"))
            heard = talk.hear()
            if heard["tell"] == "send":
                talk.send(packed_flood)
                assert talk.hear()["tell"] == "accepted"
                talk.send({"protocol": 1, "ask": "cancel"})
                heard = talk.rest()[-1]
            answers.append(heard.get("reason", heard.get("state")))
            talk.end()
        assert answers == ["cancelled"] * ALLOWED + ["over_hour"] * (FLOOD - ALLOWED), answers
        assert bytes_kept(desk) == 0
        subprocess.run([*command[:-1], "-O", "exit", host], check=True, capture_output=True)


def test_a_run_that_is_cancelled_while_it_is_judged_keeps_no_archive(tmp_path: Path) -> None:
    with desk_at(tmp_path, open_cases=f"{OPEN_CASE}, {HIDDEN_CASE}") as desk:
        archive = packed(f"{NAIVE}// cancelled\n")
        talk = desk.knock("ada")
        talk.send(ask_run(archive, "1"))
        talk.send(archive)
        desk.serve()
        while talk.hear().get("tell") != "case":
            pass
        talk.send({"protocol": 1, "ask": "cancel"})
        state = talk.rest()[-1]["state"]
        talk.end()
        assert state in {"cancelled", "judged"}  # the second case may have been quicker
        waits_for(lambda: any(line["what"] == "ended" for line in desk.log()))
        folder = desk.folder / "requests/1"
        waits_for(lambda: (state == "judged") == (folder / "run").exists())
        assert (state == "judged") == (folder / "submission.tar.gz").exists()


def test_a_student_who_uses_up_the_space_loses_the_oldest_files_and_a_full_desk_says_so(tmp_path: Path) -> None:
    with desk_at(tmp_path, waiting=10) as desk:
        config = desk.folder / "desk.yaml"
        config.write_text(config.read_text(encoding="utf-8") + "student_mib: 8\ndesk_mib: 16\n", encoding="utf-8")
        serving = desk.serve("--until-idle", "2")
        judged_once(desk, "ada", "1")
        judged_once(desk, "ada", "2")
        assert serving.wait(timeout=60) == 0
        with contextlib.closing(sqlite3.connect(desk.folder / "queue.sqlite")) as queue:
            kept = dict(queue.execute("SELECT id, kept FROM requests").fetchall())
            assert all(bytes_kept_of > 1000 for bytes_kept_of in kept.values()), "measured when they ended"
            queue.execute("UPDATE requests SET kept = ? WHERE id = 1", [(8 << 20) - 1])
            queue.commit()
        archive = packed(f"{NAIVE}// third\n")
        talk = desk.knock("ada")
        talk.send(ask_run(archive, "3"))
        talk.send(archive)
        assert [talk.hear()["tell"] for _ in range(3)] == ["hello", "send", "accepted"]
        talk.process.kill()
        talk.end()
        assert not (desk.folder / "requests/1").exists() and (desk.folder / "requests/2").exists()
        with contextlib.closing(sqlite3.connect(desk.folder / "queue.sqlite")) as queue:
            queue.execute("UPDATE requests SET kept = ? WHERE id = 2", [16 << 20])
            queue.commit()
        assert refusal(desk.knock("bo"), ask_run(archive, "full"), archive) == "desk_space"
        told = next(line for line in desk.log() if line.get("reason") == "desk_space")
        assert "the desk is full" in told["message"]
        assert not list((desk.folder / "staged").iterdir())


def test_a_desk_refuses_bounds_that_are_none(tmp_path: Path) -> None:
    with desk_at(tmp_path) as desk:
        config = desk.folder / "desk.yaml"
        config.write_text(config.read_text(encoding="utf-8") + "student_mib: 0\n", encoding="utf-8")
        done = warpgrade("desk", "serve", "--folder", desk.folder, "--until-idle", "1")
        assert done.returncode == 1
        assert "desk.yaml:6: student_mib: expected a whole number from 8 to 1048576, got '0'" in done.stderr
