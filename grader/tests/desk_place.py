"""A desk with a real sshd on the loopback, and students who come to it with real keys."""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from conftest import ROOT, WARPGRADE, warpgrade

CLIENT = ROOT / "student/warpgrade_remote.py"


def client_module() -> ModuleType:
    """The laptop program as a module of its own."""
    spec = spec_from_file_location("warpgrade_remote", CLIENT)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # nothing is written beside the labs' folders
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


NAIVE = (ROOT / "reference/spmm/naive/spmm.cu").read_text(encoding="utf-8")
OPEN_CASE, HIDDEN_CASE = "synth-all-empty-k32", "synth-hub-k32"
POLICY = """schema: warpgrade.policy.v1
name: desk-test
lab: spmm
baseline: cusparse_default
remote: {cases: [%s], runs_per_hour: %d, runs_per_day: 1000, waiting: %d, seconds: 300, %s}
%s
"""


def free_port() -> int:
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return int(any_port.getsockname()[1])


def sshd() -> str | None:
    return shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def broken(number: int) -> str:
    """A program that does not compile."""
    return f"#include <warpgrade/spmm.h>\nint attempt_{number} = ;\n"


def packed(text: str = NAIVE, name: str = "spmm/spmm.cu") -> bytes:
    """An archive as a student's program sends it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(text.encode())
        archive.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def ask_run(archive: bytes, key: str, **changes: Any) -> dict[str, Any]:
    """The line that announces a run."""
    question = {
        "protocol": 1,
        "ask": "run",
        "lab": "spmm",
        "case": "",
        "key": hashlib.sha256(key.encode()).hexdigest()[:32],
        "bytes": len(archive),
        "sha256": hashlib.sha256(archive).hexdigest(),
    }
    return {**question, **changes}


class Talk:
    """A raw connection: lines and bytes, whatever they are."""

    def __init__(self, command: list[str], **options: Any) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **options
        )
        self.input: IO[bytes] = self.process.stdin  # type: ignore[assignment]
        self.output: IO[bytes] = self.process.stdout  # type: ignore[assignment]

    def send(self, data: dict[str, Any] | bytes) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.input.write(data if isinstance(data, bytes) else json.dumps(data).encode() + b"\n")
            self.input.flush()

    def hear(self) -> dict[str, Any]:
        """The next line but signs of life; an empty object at the end."""
        while line := self.output.readline():
            heard: dict[str, Any] = json.loads(line)
            if heard.get("tell") == "page":
                self.output.read(heard["bytes"])
            if heard.get("tell") != "alive":
                return heard
        return {}

    def rest(self) -> list[dict[str, Any]]:
        return list(iter(self.hear, {}))

    def end(self) -> int:
        for stream in (self.input, self.output):
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        return self.process.wait(timeout=30)


@dataclass
class Desk:
    """One course's desk."""

    root: Path
    port: int = 0
    daemons: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.root / "desk"

    def make(
        self,
        *,
        open_cases: str = OPEN_CASE,
        waiting: int = 1,
        per_hour: int = 1000,
        last: str = "",
        more: str = "",
        backend: str = "emulator",
    ) -> None:
        done = warpgrade("desk", "init", self.folder, "--course", "GPU 2026")
        assert done.returncode == 0, done.stderr
        (self.folder / "policy.yaml").write_text(POLICY % (open_cases, per_hour, waiting, last, more), encoding="utf-8")
        text = (
            'schema: warpgrade.desk.v1\ncourse: "GPU 2026"\nlabs: {spmm: {policy: policy.yaml}}\n'
            f"backend: {backend}\nallow_unsandboxed: true\n"
        )
        (self.folder / "desk.yaml").write_text(text, encoding="utf-8")

    def command(self, *words: str) -> list[str]:
        return [str(WARPGRADE), "desk", words[0], "--folder", str(self.folder), *words[1:]]

    def run(self, *arguments: str | Path) -> str:
        """An administrator's command."""
        done = warpgrade("desk", arguments[0], "--folder", self.folder, *arguments[1:])
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = json.loads(self.run("status", "--json"))
        return status

    def open_runs(self) -> int:
        """Those that wait or are judged, at one moment."""
        counts = self.status()["counts"]
        return int(counts["queued"] + counts["running"])

    def log(self) -> list[dict[str, Any]]:
        """The desk's events so far."""
        file = self.folder / "log.jsonl"
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        return [json.loads(line) for line in text.split("\n") if line]

    def serve(self, *more: str) -> subprocess.Popen[str]:
        command = [str(WARPGRADE), "desk", "serve", "--folder", str(self.folder), *more]
        with (self.root / "serve.log").open("a", encoding="utf-8") as log:
            self.daemons.append(subprocess.Popen(command, stdout=log, stderr=log, text=True))
        return self.daemons[-1]

    def knock(self, student: str, **options: Any) -> Talk:
        """A connection without ssh: what sshd would start."""
        return Talk([str(WARPGRADE), "desk", "--folder", str(self.folder), "--student", student], **options)

    # ---- with sshd

    def open_to(self, *students: str) -> None:
        keys = self.root / "keys"
        keys.mkdir()
        for name in ("host", *students):
            place = self.root / name if name == "host" else keys / name
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place], check=True)
        (self.root / "roster.csv").write_text("id\n" + "\n".join(students) + "\n", encoding="utf-8")
        lines = self.run("keys", "--roster", self.root / "roster.csv", "--keys", keys)
        (self.root / "authorized_keys").write_text(lines, encoding="utf-8")
        (self.root / "authorized_keys").chmod(0o600)
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)
        self.port = free_port()
        settings = {
            "Port": self.port,
            "ListenAddress": "127.0.0.1",
            "HostKey": self.root / "host",
            "AuthorizedKeysFile": self.root / "authorized_keys",
            "PidFile": "none",
            "UsePAM": "no",
            "StrictModes": "no",
            "PasswordAuthentication": "no",
            "PermitRootLogin": "prohibit-password",
            "MaxStartups": "200",
        }
        text = "".join(f"{key} {value}\n" for key, value in settings.items())
        (self.root / "sshd_config").write_text(text, encoding="utf-8")
        with (self.root / "sshd.log").open("w", encoding="utf-8") as log:
            command = [str(sshd()), "-D", "-e", "-f", str(self.root / "sshd_config")]
            self.daemons.append(subprocess.Popen(command, stdout=log, stderr=log, text=True))
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.1)
        raise AssertionError((self.root / "sshd.log").read_text(encoding="utf-8"))

    def ssh(self, student: str) -> list[str]:
        """The student's ssh, up to the host's name."""
        settings = {
            "IdentityFile": self.root / "keys" / student,
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": self.root / "known_hosts",
            "StrictHostKeyChecking": "accept-new",
            "BatchMode": "yes",
        }
        config = self.root / f"ssh-{student}"
        config.write_text("".join(f"{key} {value}\n" for key, value in settings.items()), encoding="utf-8")
        return ["ssh", "-F", str(config)]

    @property
    def address(self) -> str:
        return f"{getpass.getuser()}@127.0.0.1:{self.port}"

    def student(self, name: str, text: str = NAIVE) -> Path:
        """A student's own place, with a lab of this one source."""
        place = self.root / "home" / name
        shutil.rmtree(place / "student/spmm", ignore_errors=True)
        (place / "student/spmm").mkdir(parents=True)
        (place / "student/spmm/spmm.cu").write_text(text, encoding="utf-8")
        return place

    def test(self, name: str, *more: str, ssh: Path | None = None) -> subprocess.Popen[str]:
        """`make test LAB=spmm REMOTE=...` of this student."""
        place = self.root / "home" / name
        command = [str(WARPGRADE), "test", "spmm", "--folder", "student", "--remote", self.address, *more]
        environment = {**os.environ, "WARPGRADE_SSH": str(ssh or " ".join(self.ssh(name)))}
        return subprocess.Popen(
            command, cwd=place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def laptop(
        self, name: str, *words: str, ssh: Path | None = None, model: Path | None = None
    ) -> subprocess.Popen[str]:
        """`warpgrade_remote.py`, which has nothing but Python's library; `model` runs it as another system does."""
        (self.root / "home" / name).mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-I", "-S", *([str(model)] if model else []), str(CLIENT), *words]
        if words[0] != "submit":
            command += ["--remote", self.address]
        environment = {**os.environ, "WARPGRADE_SSH": str(ssh or " ".join(self.ssh(name)))}
        return subprocess.Popen(
            command,
            cwd=self.root / "home" / name,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def remote(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "WARPGRADE_SSH": " ".join(self.ssh(name))}
        return warpgrade("remote", *words, "--remote", self.address, env=environment, timeout=60)

    def stop(self) -> None:
        for daemon in self.daemons:
            if daemon.poll() is None:
                daemon.send_signal(signal.SIGTERM)
        for daemon in self.daemons:
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(timeout=15)
            daemon.kill()


@contextlib.contextmanager
def desk_at(root: Path, **options: Any) -> Iterator[Desk]:
    """A desk that is stopped in the end."""
    desk = Desk(root)
    desk.make(**options)
    try:
        yield desk
    finally:
        desk.stop()


def waits_for(condition: object, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.1)


def refusal(talk: Talk, *sent: object) -> str:
    """What the desk says to these words; it must not take longer than its limits."""
    assert talk.hear().get("tell") == "hello"
    for data in sent:
        talk.send(data)  # type: ignore[arg-type]
    heard = talk.rest()
    talk.end()
    return next((line["reason"] for line in heard if line["tell"] == "refused"), str(heard))


def judged_once(desk: Desk, student: str, key: str, **changes: Any) -> None:
    """A run from the first word to the last."""
    archive, talk = packed(f"{NAIVE}// {student} {key}\n"), desk.knock(student)
    talk.send(ask_run(archive, key, **changes))
    talk.send(archive)
    assert talk.rest()[-1]["state"] == "judged"
    talk.end()
