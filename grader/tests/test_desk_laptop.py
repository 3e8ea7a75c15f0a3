"""One file for every laptop: `warpgrade_remote.py` against the real desk, most of it through a real sshd."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest
from conftest import ROOT, WARPGRADE
from desk_place import CLIENT, HIDDEN_CASE, NAIVE, OPEN_CASE, Desk, broken, client_module, desk_at, sshd, waits_for

pytestmark = [
    pytest.mark.skipif(sshd() is None, reason="no sshd on this machine"),
    pytest.mark.waits,
]

ALL_BYTES = bool(os.environ.get("WARPGRADE_EVERY_BYTE"))  # takes minutes: else frames' ends and a sample
SAMPLE = 12
RUNS = 5


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A desk that serves ada and bo, with two cases."""
    open_cases = f"{OPEN_CASE}, {HIDDEN_CASE}"
    with desk_at(tmp_path_factory.mktemp("desk"), open_cases=open_cases, last="last_remote_counts: true") as desk:
        desk.open_to("ada", "bo")
        desk.serve()
        yield desk


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program as a module, which waits for no second try."""
    module = client_module()
    monkeypatch.setattr(module, "PAUSES_S", (0, 0, 0, 0))
    return module


def said_by(running: subprocess.Popen[str], code: int = 0) -> str:
    """All that it printed, once it has ended."""
    said, trouble = running.communicate(timeout=300)
    assert running.returncode == code, said + trouble
    return said + re.sub("Warning: Permanently added .*\\n", "", trouble)  # ssh's, of a first connection


def ssh_words(desk: Desk, name: str, *words: str) -> list[str]:
    """The student's ssh with a command for the host."""
    user, _, where = desk.address.partition("@")
    host, _, port = where.partition(":")
    return [*desk.ssh(name), "-p", port, "-l", user, host, *words]


# ---- The commands


def test_the_desk_gives_the_program_to_whoever_has_a_key(desk: Desk) -> None:
    given = subprocess.run(ssh_words(desk, "ada", "get-client"), capture_output=True, timeout=60, check=True)
    assert given.stdout == CLIENT.read_bytes()
    assert given.stdout.isascii(), "it travels through consoles of every code page"
    assert any(line["what"] == "client" and line["student"] == "ada" for line in desk.log())
    refused = subprocess.run(ssh_words(desk, "ada", "get-client", "../x"), capture_output=True, timeout=60, check=False)
    assert json.loads(refused.stdout)["reason"] == "no_commands"


def test_five_commands_of_a_student(desk: Desk) -> None:
    place = desk.student("ada", NAIVE + "// five commands\n")
    said = said_by(desk.laptop("ada", "test", "spmm"))
    assert f"  ok              {OPEN_CASE}" in said
    assert "2 of 2 cases right; the page: runs/remote/127.0.0.1/spmm/" in said
    assert said.splitlines()[-1].startswith("all cases are right: spmm (2); hand it in: python3 ")
    (page,) = place.glob("runs/remote/127.0.0.1/spmm/*/index.html")
    assert OPEN_CASE in page.read_text(encoding="utf-8")
    assert not list(place.glob("runs/remote/127.0.0.1/spmm/pending.json"))
    assert "no run of yours waits" in said_by(desk.laptop("ada", "status"))
    assert "no run of yours waits" in said_by(desk.laptop("ada", "cancel"), 1)
    again = said_by(desk.laptop("ada", "last"))
    assert [line for line in said.splitlines() if "  ok " in line] == [
        line for line in again.splitlines() if "  ok " in line
    ]
    packed = said_by(desk.laptop("ada", "submit", "spmm"))
    assert "packed   spmm.cu" in packed
    assert "judged these sources: 2 of 2 cases right; the course takes your last run there as your hand-in" in packed
    (place / "student/spmm/spmm.cu").write_text(NAIVE + "// changed\n", encoding="utf-8")
    assert "no run has judged these sources" in said_by(desk.laptop("ada", "submit", "spmm"))
    assert (place / "spmm-submission.tar.gz").is_file()


def test_five_commands_on_a_model_of_windows(desk: Desk) -> None:
    """What is modelled says windows_model.py; sshd and ssh are real ones."""
    place = desk.student("ada", NAIVE.replace("\n", "\r\n") + "// five commands on Windows\r\n")
    (place / "labs/week 1").mkdir(parents=True)
    (place / "student/spmm").rename(place / "labs/week 1/spmm")
    folder = ("--folder", "labs\\week 1")

    def typed(*words: str, code: int = 0) -> str:
        running = desk.laptop("ada", *words, model=Path(__file__).parent / "windows_model.py")
        assert isinstance(running.stdout, io.TextIOWrapper)
        assert isinstance(running.stderr, io.TextIOWrapper)
        said = running.stdout.buffer.read() + running.stderr.buffer.read()
        assert running.wait() == code, said
        assert said.count(b"\n") == said.count(b"\r\n")
        assert b"\x1b" not in said
        return str(said.decode("cp1252"))

    said = typed("test", "spmm", *folder)
    assert f"  ok              {OPEN_CASE}" in said
    assert "hand it in: py " in said
    assert "no run of yours waits" in typed("status")
    assert "no run of yours waits" in typed("cancel", code=1)
    assert f"  ok              {OPEN_CASE}" in typed("last")
    packed = typed("submit", "spmm", *folder)
    assert "judged these sources: 2 of 2 cases right" in packed
    with tarfile.open(place / "spmm-submission.tar.gz") as tar:
        assert tar.getnames() == ["spmm/spmm.cu"]


def test_cancel_ctrl_c_and_a_killed_program(desk: Desk) -> None:
    """Nobody is served while the official batch is at work, so that runs wait."""
    desk.student("ada", broken(2))
    desk.student("bo", broken(2))
    official = subprocess.Popen([*desk.command("first"), "--", "sleep", "600"], stdin=subprocess.DEVNULL)
    try:
        waits_for(lambda: any(line["what"] == "first" for line in desk.log()))
        running = desk.laptop("ada", "test", "spmm")
        waits_for(lambda: desk.status()["counts"]["queued"] == 1)
        waits_for(lambda: "queued, place 1" in said_by(desk.laptop("ada", "status")))  # places are given each second
        running.send_signal(2)
        said = said_by(running, 130)
        assert "has ended: you cancelled it" in said
        assert said.splitlines()[-1].startswith("interrupted: ")
        assert desk.status()["counts"]["queued"] == 0
        running = desk.laptop("ada", "test", "spmm")
        waits_for(lambda: desk.status()["counts"]["queued"] == 1)
        running.kill()
        running.communicate()
        running = desk.laptop("bo", "test", "spmm")
        waits_for(lambda: desk.status()["counts"]["queued"] == 2)
        assert "has left the queue" in said_by(desk.laptop("bo", "cancel"))
        assert "you cancelled it" in said_by(running)
    finally:
        official.kill()
        official.wait()
    runs = len(said_by(desk.laptop("ada", "history")).splitlines())
    said = said_by(desk.laptop("ada", "test", "spmm"), 3)
    assert "spmm.cu(2): error" in said
    assert len(said_by(desk.laptop("ada", "history")).splitlines()) == runs, "the same run was taken up"


def test_sources_with_line_ends_of_windows_are_judged_and_their_lines_named(desk: Desk) -> None:
    place = desk.student("ada", broken(4).replace("\n", "\r\n"))
    assert "spmm.cu(2): error" in said_by(desk.laptop("ada", "test", "spmm"), 3)
    (place / "student/spmm/spmm.cu").write_bytes(b"\xef\xbb\xbf" + NAIVE.replace("\n", "\r\n").encode())
    (place / "student/spmm/spmm.cu").rename(place / "student/spmm/spmm - Copy.CU")
    said = said_by(desk.laptop("ada", "test", "spmm"))
    assert "note: spmm - Copy.CU is read as spmm.cu." in said
    assert "all cases are right: spmm (2)" in said


# ---- The words


def submission(name: str) -> str:
    (source,) = (ROOT / "grader/tests/submissions" / name).glob("*.cu")
    return source.read_text(encoding="utf-8")


def as_said(said: str) -> str:
    """Without what differs between two runs and two programs: numbers of runs, values, times, commands, progress."""
    said = re.sub(r"\brun \d+|/\d+/index", "run N", said)
    said = re.sub(r"(want|got) \S+", r"\1 VALUE", said)
    said = re.sub(r"\d+\.\d\d s", "T s", said)
    said = re.sub(r"(again|hand it in|then): .*", r"\1: COMMAND", said)
    said = re.sub(r"(fix first.{60}).*( -- again)", r"\1\2", said)  # its message is cut: by other values elsewhere
    return without_progress(said)


def without_progress(said: str) -> str:
    """Without the lines that are there only where a state lasted long enough to be seen."""
    return re.sub(r"  spmm: .*\n|  \[\d.*\n", "", said)


WORDS = ["right", "compile_error", "not_written", "wrong_answer/last_tile", "runtime_error/out_of_bounds"]


@pytest.mark.parametrize("kind", WORDS)
def test_both_programs_say_the_same_of_a_run(desk: Desk, kind: str) -> None:
    sources = {
        "right": NAIVE,
        "compile_error": broken(3),
        "not_written": (ROOT / "student/spmm/spmm.cu").read_text(encoding="utf-8"),
    }
    source = sources[kind] if kind in sources else submission(kind)
    for name in ("ada", "bo"):
        desk.student(name, source)
    code = 3 if kind not in {"right", "not_written"} else 0
    running = desk.test("ada")
    theirs = said_by(running, code)
    ours = said_by(desk.laptop("bo", "test", "spmm"), code)
    assert as_said(ours) == as_said(theirs)
    assert "run N on 127.0.0.1: " in as_said(ours)


class FakeDesk:
    """In ssh's place: says hello, takes a question, and says the rest."""

    def __init__(self, root: Path, hello: dict[str, object], *rest: dict[str, object]) -> None:
        self.root = root
        (root / "hello").write_text(json.dumps(hello) + "\n", encoding="utf-8")
        (root / "rest").write_text("".join(json.dumps(line) + "\n" for line in rest), encoding="utf-8")
        (root / "ssh").write_text(
            f'#!/bin/sh\ncat {root}/hello\nread -r line && printf "%s\\n" "$line" >>{root}/asked\ncat {root}/rest\n',
            encoding="utf-8",
        )
        (root / "ssh").chmod(0o755)
        (root / "student/spmm").mkdir(parents=True)
        (root / "student/spmm/spmm.cu").write_text(NAIVE, encoding="utf-8")

    def start(self, program: str, *words: str) -> subprocess.Popen[bytes]:
        """The hand-out's program, or the one for laptops."""
        command = [sys.executable, str(CLIENT)] if program == "laptop" else [str(WARPGRADE)]
        return subprocess.Popen(
            [*command, *(words or ("test", "spmm", "--folder", "student")), "--remote", "gpu.example.edu"],
            cwd=self.root,
            env={**os.environ, "WARPGRADE_SSH": str(self.root / "ssh")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def told_by(self, program: str, *words: str) -> tuple[str, int]:
        """What it prints, and its exit code."""
        running = self.start(program, *words)
        said, trouble = running.communicate(timeout=60)
        return (said + trouble).decode(), running.returncode


HELLO = {"tell": "hello", "protocol": 1, "oldest": 1, "student": "ada", "course": "GPU", "archive_bytes": 4194304}
BOTH = pytest.mark.parametrize("program", ["laptop", "hand-out"])
CASES: list[dict[str, object]] = [
    {
        "id": "fast",
        "verdict": "accepted",
        "time_us": 12.34,
        "ratio": {"median": 1.421, "low": 1.4, "high": 1.4439},
        "baseline": "cusparse_default",
        "threshold": 1.5,
        "diagnostics": [{"kind": "leak", "file": "a/spmm.cu", "line": 7, "message": "8 bytes stay", "advice": "free"}],
    },
    {"id": "left", "verdict": "not_run", "reason": "left_out"},
    {"id": "w1", "verdict": "wrong_answer", "message": "d[0,1] want 1 got 2; only rows from 3",
     "pattern": "only rows from 3",
     "mismatches": [{"output": "d", "row": 0, "col": 1, "want": 0.1234567891, "got": 1e-10, "row_nnz": 12},
                    {"index": [1, 2, 3], "want": 1.00000001, "got": 1.00000002},
                    {"row": 4, "want": "nan", "got": 3}, {"row": 4, "want": None, "got": True}]},
    {"id": "w2", "verdict": "wrong_answer", "message": "d[5,1] want 1 got 2; only rows from 4"},
    {"id": "late", "verdict": "time_limit", "message": "took 10 s\nand more", "output": "hello \u00b5\u4e2d"},
    {"id": "hard", "verdict": "runtime_error", "message": "\u001b[31mred\u202e", "reason": "signal",
     "diagnostics": [{"kind": "race", "file": "spmm.cu", "line": 3, "message": "a race", "advice": "sync"}]},
]  # fmt: skip
SESSION: list[dict[str, object]] = [
    {"tell": "accepted", "run": 7, "cases": 6},
    {"tell": "a word of a later version", "number": 1},
    {"tell": "begun", "number": 2, "more": {}},
    {"tell": "compiled", "number": 3, "cases": 6, "device": "NVIDIA H200"},
    *({"tell": "case", "number": 4 + i, "line": case, "seconds": i / 7} for i, case in enumerate(CASES)),
    {"tell": "end", "number": 10, "state": "judged", "verdict": "wrong_answer", "message": "2 of 6 cases right"},
]


def test_both_programs_say_the_same_of_every_kind_of_line(tmp_path: Path) -> None:
    """Times, findings, cells of all shapes; text that would act on the terminal is shown."""
    fake = FakeDesk(tmp_path, HELLO, *SESSION)
    (ours, code), (theirs, their_code) = fake.told_by("laptop"), fake.told_by("hand-out")
    ours = ours.replace("    output[", "    c[")  # which only the hand-out's program knows without the desk
    assert as_said(ours) == as_said(theirs)
    assert re.findall("want.*", ours) == re.findall("want.*", theirs)
    assert (code, their_code) == (3, 3)
    assert "12.3 us, 1.42x cusparse_default (1.40 to 1.44), 1.50x is wanted" in ours
    assert "\u001b" not in ours + theirs
    assert "\u202e" not in ours + theirs


KNOWN = '{"tell": "accepted", "run": 7, "cases": 1}\n{"tell": "end", "number": 1, "message": "you cancelled it"}\n'


@BOTH
@pytest.mark.parametrize(
    ("answer", "words"),
    [(KNOWN, "run 7 has ended: you cancelled it"), ('{"tell": "send"}\n', "the run did not reach the desk")],
    ids=["known", "unknown"],
)
def test_ctrl_c_before_the_answer_ends_a_run_that_the_desk_knows(
    tmp_path: Path, program: str, answer: str, words: str
) -> None:
    """The run of a connection before, which broke before the program heard of it."""
    fake = FakeDesk(tmp_path, HELLO)
    (tmp_path / "rest").write_text(answer, encoding="utf-8")
    hears = f'read -r line && printf "%s\\n" "$line" >>{tmp_path}/asked\n'
    (tmp_path / "ssh").write_text(
        f"#!/bin/sh\ncat {tmp_path}/hello\n{hears}{hears}cat {tmp_path}/rest\n", encoding="utf-8"
    )
    running = fake.start(program)
    waits_for(lambda: (tmp_path / "asked").exists())
    running.send_signal(2)
    said, trouble = running.communicate(timeout=60)
    assert running.returncode == 130, said + trouble
    assert words in said.decode()
    asked = [json.loads(line)["ask"] for line in (tmp_path / "asked").read_text(encoding="utf-8").split("\n") if line]
    assert asked == ["run", "cancel"]


def test_a_page_that_was_damaged_is_not_kept(
    client: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The connection is made anew, and in the end the student is told."""
    page = {"tell": "page", "bytes": 4, "sha256": "0" * 64}
    fake = FakeDesk(tmp_path, HELLO, *SESSION[:-1], page, SESSION[-1])
    monkeypatch.setenv("WARPGRADE_SSH", str(fake.root / "ssh"))
    monkeypatch.chdir(tmp_path)
    rest = (tmp_path / "rest").read_text(encoding="utf-8")
    (tmp_path / "rest").write_text(rest.replace('{"tell": "end"', 'page{"tell": "end"'), encoding="utf-8")
    assert client.main(TEST) == 2
    told = "broke several times (the page did not arrive as it was sent); run 7 continues there"
    assert told in capsys.readouterr().out
    assert not list(tmp_path.glob("runs/remote/gpu.example.edu/spmm/7*"))
    assert len((tmp_path / "asked").read_text(encoding="utf-8").splitlines()) == 5


# ---- Versions


@BOTH
def test_an_old_desk_is_spoken_to_as_ever(tmp_path: Path, program: str) -> None:
    """It says nothing of `oldest`, `notes`, `output` and `counts`."""
    fake = FakeDesk(tmp_path, {key: value for key, value in HELLO.items() if key != "oldest"}, *SESSION)
    said, code = fake.told_by(program)
    assert code == 3
    assert "run 7 on gpu.example.edu: 2 of 6 cases right" in said


@BOTH
def test_a_desk_that_also_speaks_newer_versions_is_asked_in_ours(tmp_path: Path, program: str) -> None:
    fake = FakeDesk(tmp_path, {**HELLO, "protocol": 9, "more": [1]}, *SESSION)
    assert fake.told_by(program)[1] == 3
    assert json.loads((tmp_path / "asked").read_text(encoding="utf-8"))["protocol"] == 1


@BOTH
def test_a_desk_without_a_common_version_is_named_with_both_versions_and_the_cure(tmp_path: Path, program: str) -> None:
    fake = FakeDesk(tmp_path, {**HELLO, "protocol": 9, "oldest": 4}, *SESSION)
    for words in ((), ("status",) if program == "laptop" else ("remote", "status")):
        said, code = fake.told_by(program, *words)
        assert code == 1, said
        assert "speaks versions 4 to 9 of the protocol, and this program version 1" in said
        assert "ssh warpgrade@gpu.example.edu get-client" in said
        assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize(
    ("version", "named"), [(0, "version 0"), (7, "version 7"), (None, "names none"), ("1", "names none")]
)
def test_a_program_of_another_version_is_told_both_versions_and_the_cure(
    desk: Desk, version: object, named: str
) -> None:
    talk = desk.knock("ada")
    hello = talk.hear()
    assert (hello["protocol"], hello["oldest"]) == (1, 1)
    talk.send({"ask": "status", "protocol": version} if version is not None else {"ask": "status"})
    answer = talk.hear()
    talk.end()
    assert answer["reason"] == "protocol"
    assert "this desk speaks version 1 of the protocol, and your program" in answer["message"]
    assert named in answer["message"]
    assert "get-client" in answer["next_step"]


# ---- Broken connections


def cutting_ssh(root: Path, command: list[str]) -> Path:
    """In ssh's place: takes the next line of `plan` and carries so many bytes `out` of the desk or `in` to it."""
    words = " ".join(command)
    text = f"""#!/bin/bash
cut=$(head -n 1 {root}/plan)
sed -i 1d {root}/plan
exec 3<&0
case $cut in
  out*) exec dd bs=1 status=none count="${{cut#out }}" < <(exec {words} <&3 3<&-) ;;
  in*) exec {words} < <(exec dd bs=1 status=none count="${{cut#in }}" <&3) 3<&- ;;
  tee*) exec {words} < <(exec tee {root}/asked <&3) > >(exec tee {root}/answered) 3<&- ;;
esac
exec {words} <&3 3<&-
"""
    (root / "cutting-ssh").write_text(text, encoding="utf-8")
    (root / "cutting-ssh").chmod(0o755)
    (root / "plan").write_text("", encoding="utf-8")
    return root / "cutting-ssh"


def places(frames: list[int], end: int) -> list[int]:
    """Around each frame's end, and a sample; or every byte."""
    if ALL_BYTES:
        return list(range(end + 1))
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    chosen = {at + step for at in frames for step in (-1, 0, 1)} | {0, 1}
    return sorted(at for at in chosen | set(random.Random(seed).sample(range(end), SAMPLE)) if 0 <= at <= end)


def rows(desk: Desk, query: str) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(desk.folder / "queue.sqlite")) as queue:
        return list(queue.execute(query))


@pytest.fixture
def cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """A desk that ada reaches through a connection which breaks as planned."""
    with desk_at(tmp_path, per_hour=10**6) as desk:
        desk.run("quota", "ada", "--per-hour", "1000000", "--per-day", "1000000")
        desk.student("ada")
        door = [str(WARPGRADE), "desk", "--folder", str(desk.folder), "--student", "ada"]
        monkeypatch.setenv("WARPGRADE_SSH", str(cutting_ssh(tmp_path, door)))
        monkeypatch.chdir(tmp_path / "home/ada")
        yield desk


TEST = ["test", "spmm", "--remote", "gpu.example.edu"]


def test_an_answer_that_ends_after_any_byte_is_heard_to_its_end(
    cut_off: Desk, client: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """The desk tells a run that was judged from its beginning; each time the connection ends one byte later."""
    plan, place = cut_off.root / "plan", Path("runs/remote/gpu.example.edu/spmm")
    cut_off.serve()
    assert client.main(TEST) == 0
    said = without_progress(capsys.readouterr().out)
    ((key,),) = rows(cut_off, "SELECT key FROM requests")
    pending = {"key": key, "case": "", "hash": client.Sources(Path("student/spmm"), "spmm").hash, "run": 1}

    def take_up(cut: str) -> int:
        client.write_json(place / "pending.json", pending)
        plan.write_text(f"{cut}\n", encoding="utf-8")
        return int(client.main(TEST))

    assert take_up("tee") == 0
    answered = (cut_off.root / "answered").read_bytes()
    page = answered.index(b'"tell":"page"')
    begin = answered.index(b"\n", page) + 1
    behind = begin + int(re.findall(rb'"bytes":(\d+)', answered[:begin])[-1])
    frames = [at + 1 for at, byte in enumerate(answered) if byte == ord("\n") and not begin <= at < behind]
    inside = range(begin + 40, behind - 40)  # of the page, which is bytes like any other
    tried = [at for at in places([*frames, behind], len(answered)) if at not in inside or at % 97 == 0]
    capsys.readouterr()
    for at in tried:
        (place / "1/index.html").unlink()
        code = take_up(f"out {at}\nout 0" if at % 5 == 1 else f"out {at}")  # and the host is not reached for a moment
        told = capsys.readouterr()
        if at == 0:  # nothing says that this is a desk
            assert code == 1
            assert "no desk answered" in told.out
            assert client.main(TEST) == 0
            told = capsys.readouterr()
        else:
            assert code == 0, (at, told)
        assert without_progress(told.out) == said, at
        assert (place / "1/index.html").is_file(), at
        assert not (place / "pending.json").exists()
    print(f"{len(tried)} places of {len(answered)} bytes")
    assert rows(cut_off, "SELECT id, state FROM requests") == [(1, "judged")]
    assert rows(cut_off, "SELECT 1 FROM events GROUP BY request, key HAVING count(*) > 1") == []
    assert [line["run"] for line in cut_off.log() if line["what"] == "ended"] == [1]


def test_a_question_that_ends_after_any_byte_enters_its_run_once(
    cut_off: Desk, client: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time one byte later; the student ends the run as soon as the desk has it."""
    plan = cut_off.root / "plan"
    stand = client.Run.standing

    def interrupt(run: object) -> None:
        stand(run)
        if run.accepted and not run.words:  # type: ignore[attr-defined]
            raise KeyboardInterrupt

    monkeypatch.setattr(client.Run, "standing", interrupt)
    plan.write_text("tee\n", encoding="utf-8")
    assert client.main(TEST) == 130
    asked = (cut_off.root / "asked").read_bytes()
    line = asked.index(b"\n") + 1
    end = asked.rindex(b'{"ask"')
    assert line < end, "the question, the archive, and the last words"
    tried = places([line, end - 1], end - 1)  # behind the archive the run is there, and the last words are not heard
    for count, at in enumerate(tried, start=2):
        plan.write_text(f"in {at}\n", encoding="utf-8")
        code = client.main(TEST)
        told = capsys.readouterr().out
        assert code == 130, (at, told)
        assert f"run {count} has ended: you cancelled it" in told, at
        assert rows(cut_off, "SELECT count(*), count(DISTINCT key) FROM requests") == [(count, count)], at
    print(f"{len(tried)} places of {end} bytes")
    assert rows(cut_off, "SELECT DISTINCT state FROM requests") == [("cancelled",)]


def test_runs_on_connections_that_break_while_they_are_judged_are_judged_once(tmp_path: Path) -> None:
    """Through sshd, by either program: cuts and kills at random moments; the same command again shows the result."""
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    rng = random.Random(seed)
    with desk_at(tmp_path, waiting=10) as desk:
        desk.open_to("ada")
        desk.serve()
        cutting = cutting_ssh(tmp_path, [*desk.ssh("ada"), '"$@"'])
        for number in range(1, RUNS + 1):
            desk.student("ada", f"{NAIVE}// {seed} {number}\n")
            begin = rng.choice([partial(desk.test, "ada"), partial(desk.laptop, "ada", "test", "spmm")])
            way, most = rng.choice([("in", 1500), ("out", 1500), ("out", 60000)])
            (tmp_path / "plan").write_text(f"{way} {rng.randrange(most)}\n", encoding="utf-8")
            running = begin(ssh=cutting)
            if number % 2:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    running.wait(timeout=rng.uniform(0.1, 2))
                running.kill()
            running.communicate(timeout=300)
            (tmp_path / "plan").write_text("", encoding="utf-8")
            # Where the first came to its end, the same sources would be a new run; else it is told again.
            if running.returncode != 0:
                assert "1 of 1 cases right" in said_by(begin(ssh=cutting))
        assert [state for (state,) in rows(desk, "SELECT state FROM requests")] == ["judged"] * RUNS
        assert len(rows(desk, "SELECT DISTINCT hash FROM requests")) == RUNS
        assert rows(desk, "SELECT 1 FROM events GROUP BY request, key HAVING count(*) > 1") == []
        assert sorted(line["run"] for line in desk.log() if line["what"] == "ended") == list(range(1, RUNS + 1))


@BOTH
def test_a_refusal_does_not_use_up_the_key_of_a_run_that_the_desk_has(cut_off: Desk, program: str) -> None:
    """A program that was killed finds dead connections of its own, is refused, and comes again."""
    cut_off.student("ada", broken(9))
    cut_off.port = 22  # nobody asks there
    cutting = cut_off.root / "cutting-ssh"
    of_laptop = partial(cut_off.laptop, "ada", "test", "spmm", ssh=cutting)
    begin = of_laptop if program == "laptop" else partial(cut_off.test, "ada", ssh=cutting)
    running = begin()
    waits_for(lambda: cut_off.open_runs() == 1)
    running.kill()
    running.communicate()
    held = []
    while (talk := cut_off.knock("ada")).hear()["tell"] == "hello":
        held.append(talk)
    assert "open connections" in said_by(begin(), 1)
    for talk in held:
        talk.end()
    cut_off.serve("--until-idle", "1")
    assert "spmm.cu(2): error" in said_by(begin(), 3)
    assert rows(cut_off, "SELECT count(*) FROM requests") == [(1,)]


@BOTH
def test_a_host_that_is_gone_for_a_moment_does_not_end_the_command(cut_off: Desk, program: str) -> None:
    """The first connection breaks in the middle, the next one is not made at all."""
    cut_off.student("ada", broken(9))
    cut_off.port = 22
    cut_off.serve()
    (cut_off.root / "plan").write_text("out 150\nout 0\n", encoding="utf-8")
    cutting = cut_off.root / "cutting-ssh"
    running = (
        cut_off.laptop("ada", "test", "spmm", ssh=cutting) if program == "laptop" else cut_off.test("ada", ssh=cutting)
    )
    assert "spmm.cu(2): error" in said_by(running, 3)
    assert rows(cut_off, "SELECT count(*) FROM requests") == [(1,)]
