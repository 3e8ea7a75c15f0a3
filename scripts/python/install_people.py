"""What people do in the roots of scripts/prove-install: students, instructors, and whoever has a wheel."""

from __future__ import annotations

import getpass
import json
import os
import platform
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from install_roots import LONGEST_STEP_S, USER, Platform, Rights, StepError, add_user, enter
from warpgrade_reports.text import lines_of

ROOT = Path(__file__).resolve().parents[2]
HOST = "gpu.example.edu"  # in student/remote.md
SECOND_LAB = "reduction"
LONGEST_EXAMPLES_S = 20
EXAMPLES = {  # of the page of warpemu, with what each says
    "vector_add": "100000 of 100000 sums are right",
    "out_of_bounds": "out_of_bounds at out_of_bounds.cu:6",
    "race": "shared_race at race.cu:9",
}
LONGEST_DEMO_S = 3600  # everything is compiled, perhaps beside other work
CASES = "synth-identity-k32,synth-hub-k32"
SUBMISSIONS = ("ada.row_per_warp", "dita.wrong_last_tile", "hana.syntax_error")
VERDICTS = {"accepted", "wrong_answer", "compile_error"}


@dataclass
class Result:
    """What a platform's steps took, in seconds, or why it was not run."""

    platform: Platform
    glibc: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    problem: str = ""
    failed: bool = False
    same_as_tree: str = ""


def readme_commands() -> tuple[list[str], list[str]]:
    """What README.md tells a student and an instructor to type first, without its remarks."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"^## Start\n+```\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE)
    if not block:
        sys.exit("prove-install: README.md has no block of commands below '## Start'")
    people = [lines_of(re.sub(r"\s+#.*$", "", part, flags=re.MULTILINE)) for part in block[1].split("\n\n")]
    if [len(commands) for commands in people] != [2, 2]:
        sys.exit(
            "prove-install: README.md's 'Start' has not two commands for a student and, after an empty line, two "
            "for an instructor"
        )
    return people[0], people[1]


# A shell of its own runs each step; its exit code is the step's.
GO_ON = 'if [ -f ~/.folder ]; then cd "$(cat ~/.folder)"; fi; trap "pwd >~/.folder" EXIT'


class Visit:
    """A user in a fresh root, whose steps are timed; each begins in the folder where the one before ended."""

    def __init__(self, root: Path, rights: Rights, result: Result, log: Path) -> None:
        self.root, self.rights, self.user, self.result, self.log = root, rights, rights.user, result, log
        self.home = root / rights.home[1:]
        add_user(root, rights.user, rights.number)

    def give(self, source: Path, name: str) -> None:
        """Puts a file or folder into the user's home."""
        target = self.home / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy(source, target)
        owned = self.home / Path(name).parts[0]
        subprocess.run(["chown", "-R", f"{self.rights.number}:{self.rights.number}", owned], check=True)

    def step(self, name: str, script: str, expected: str = "", longest_s: int = LONGEST_STEP_S) -> None:
        """Runs and times a step; what it prints must hold the expected words."""
        print(f"prove-install: {self.result.platform.name}: {name}", file=sys.stderr)
        begin = time.monotonic()
        try:
            said = enter(self.root, self.rights, f"{GO_ON}\n{script}", self.log, longest_s)
        except StepError as error:
            raise StepError(f"{name}: {error}") from None
        if expected not in said:
            raise StepError(f"{name}: expected '{expected}' in the output, got: {said.strip()[-300:]}")
        self.result.seconds[name] = time.monotonic() - begin


def records(run: Path) -> dict[str, dict[str, Any]]:
    """A run's records by submission and case."""
    lines = lines_of((run / "records.jsonl").read_text(encoding="utf-8"))
    return {f"{record['submission']['id']} {record['case']['id']}": record for record in map(json.loads, lines)}


def be_student(visit: Visit, handout: Path) -> None:
    """From the archive to a packed hand-in."""
    (unpack, test), _ = readme_commands()
    visit.give(handout, "warpgrade-handout-given.tar.gz")
    visit.give(ROOT / "reference/spmm/naive", "written")
    visit.step("student: unpack", unpack)
    visit.step(f"student: first `{test}`", test, "not written yet")
    visit.step("student: `make test LAB=spmm`", "make test LAB=spmm", "not written yet")
    written = "cp ~/written/*.cu student/spmm/ && make test LAB=spmm"
    visit.step("student: the same, written", written, "all cases are right")
    if visit.result.platform.machine != platform.machine():  # a lab of another kind: its oracle is NumPy's
        visit.give(ROOT / f"reference/{SECOND_LAB}/naive", "second")
        visit.step(
            f"student: `make test LAB={SECOND_LAB}`, written",
            f"cp ~/second/*.cu student/{SECOND_LAB}/ && make test LAB={SECOND_LAB}",
            "all cases are right",
        )
    visit.step("student: `make submit LAB=spmm`", "make submit LAB=spmm && test -f spmm-submission.tar.gz")


def be_student_offline(visit: Visit, handout: Path) -> None:
    """With a toolkit and without a network: the first tests, of a written lab and of one whose oracle is NumPy's."""
    (unpack, test), _ = readme_commands()
    visit.give(handout, "warpgrade-handout-given.tar.gz")
    visit.give(ROOT / "reference/spmm/naive", "written")
    visit.give(ROOT / "reference/vector_add/naive", "second")
    visit.step("no network: there is none", "if ip link show up 2>/dev/null | grep -q .; then exit 1; fi")
    visit.step("no network: unpack", unpack)
    visit.step(f"no network: first `{test}`", test, "not written yet")
    for lab, folder in (("spmm", "written"), ("vector_add", "second")):
        written = f"cp ~/{folder}/*.cu student/{lab}/ && make test LAB={lab}"
        visit.step(f"no network: `make test LAB={lab}`, written", written, "all cases are right")
    visit.step("no network: `profile --help`", "./warpgrade profile --help", "Examples:")
    visit.step(
        "no network: `profile`", "./warpgrade profile student/vector_add --lab vector_add --case odd", "Bound by"
    )
    visit.step("no network: `make submit`", "make submit LAB=spmm && test -f spmm-submission.tar.gz")


def be_instructor(visit: Visit, package: Path) -> None:
    """From the archive to a class report."""
    visit.give(package, "package.tar.gz")
    for name in SUBMISSIONS:
        visit.give(ROOT / "grader/tests/demo_class" / name, f"{name}")
    visit.step(
        "instructor: unpack",
        "tar xf package.tar.gz && rm package.tar.gz && mv warpgrade-* package\n"
        f"mkdir submissions && mv {' '.join(map(shlex.quote, SUBMISSIONS))} submissions/",
    )
    visit.step(
        "instructor: `grade`, three submissions",
        f"package/warpgrade grade submissions --lab spmm --cases {CASES} --run hw1",
        "6 cases judged",
    )
    verdicts = {record["outcome"]["verdict"] for record in records(visit.root / "home" / visit.user / "hw1").values()}
    if verdicts != VERDICTS:
        raise StepError(f"verdicts are {sorted(verdicts)} and not {sorted(VERDICTS)}")
    visit.step("instructor: `report`", "package/warpgrade report hw1 && test -s hw1/report/index.html")


def be_instructor_with_clone(visit: Visit, repository: Path) -> None:
    """From README's first command to the demo class's page and to a student's."""
    _, (clone, demo) = readme_commands()
    place = visit.root / "srv/warpgrade.git"
    subprocess.run(["git", "clone", "--quiet", "--bare", "--no-local", repository, place], check=True)
    subprocess.run(["chown", "-R", f"{USER}:{USER}", place], check=True)
    visit.step("clone: `git clone`", clone.replace("<this repository>", "/srv/warpgrade.git"))
    pages = "test -s runs/demo/report/index.html && ls runs/demo/report/submissions/submission-1-*.html"
    visit.step(f"clone: `{demo}`", f"{demo} && {pages}", longest_s=LONGEST_DEMO_S)
    visit.step(f"clone: `{demo}` again", demo, longest_s=LONGEST_DEMO_S)


def be_with_emulator(visit: Visit, wheel: Path) -> None:
    """The wheel `warpemu` alone, then NVIDIA's compiler from its wheels, then three programs."""
    visit.give(wheel, wheel.name)
    visit.give(ROOT / "grader/emulator/python/examples", "examples")
    visit.step("warpemu: `pip install`", f"python3 -m venv ~/own && ~/own/bin/pip install -q ./{wheel.name}")
    visit.step("downloads: NVIDIA's compiler", f"~/own/bin/pip install -q './{wheel.name}[nvcc]'")
    for name in EXAMPLES:
        visit.step(f"warpemu: `nvcc` of {name}", f"~/own/bin/warpemu nvcc -o {name} examples/{name}.cu")
    for name, told in EXAMPLES.items():
        found = 0 if told.endswith("right") else 1
        command = f"code=0; ~/own/bin/warpemu --checks all ./{name} 2>&1 || code=$?; test $code = {found}"
        visit.step(f"warpemu: `./{name}`", command, told)
    took = sum(seconds for name, seconds in visit.result.seconds.items() if name.startswith("warpemu: `"))
    if took > LONGEST_EXAMPLES_S:
        raise StepError(f"the programs took {took:.1f} s with their compilation, more than {LONGEST_EXAMPLES_S} s")


# ---- A desk here, for a laptop there


def remote_commands() -> dict[str, str]:
    """What student/remote.md tells a student on Linux to type, by the word behind the program's name."""
    text = (ROOT / "student/remote.md").read_text(encoding="utf-8")
    typed = [row.split("|")[-2].strip(" `") for row in lines_of(text) if row.startswith("|")]
    commands = {"get-client": next(command for command in typed if command.startswith("ssh "))}
    commands.update(
        {command.split()[2]: command for command in typed if command.startswith("python3 warpgrade_remote.py ")}
    )
    if missing := {"test", "status", "cancel", "last", "submit"} - set(commands):
        sys.exit(f"prove-install: student/remote.md has no command {', '.join(sorted(missing))} for macOS and Linux")
    return commands


class DeskHere:
    """A course's desk of a build's programs, behind an sshd on this machine's loopback."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self.program, self.folder = tree.resolve() / "bin/warpgrade", folder
        self.daemons: list[subprocess.Popen[bytes]] = []
        folder.mkdir()
        self.run("init", folder / "desk", "--course", "GPU programming")
        policy = (
            "schema: warpgrade.policy.v1\nname: proof\nlab: spmm\nbaseline: cusparse_default\n"
            f"remote: {{cases: [{CASES.replace(',', ', ')}]}}\n"
        )
        (folder / "desk/policy.yaml").write_text(policy, encoding="utf-8")
        with (folder / "desk/desk.yaml").open("a", encoding="utf-8") as settings:
            settings.write("labs: {spmm: {policy: policy.yaml}}\nbackend: emulator\nallow_unsandboxed: true\n")
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            self.port = chosen.getsockname()[1]

    def run(self, *words: str | Path) -> str:
        """A command of the instructor."""
        command = [self.program, "desk", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise StepError(f"desk {words[0]}: {done.stderr.strip()[-300:]}")
        return done.stdout

    def open_to(self, student: str, public_key: Path) -> None:
        """The host's sshd lets this student in, to the desk and nothing else."""
        (self.folder / "keys").mkdir()
        shutil.copy(public_key, self.folder / f"keys/{student}.pub")
        (self.folder / "roster.csv").write_text(f"id\n{student}\n", encoding="utf-8")
        options = (
            "--folder",
            self.folder / "desk",
            "--roster",
            self.folder / "roster.csv",
            "--keys",
            self.folder / "keys",
        )
        lines = self.run("keys", *options)
        (self.folder / "authorized_keys").write_text(lines, encoding="utf-8")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / "host"], check=True)
        settings = f"""Port {self.port}
ListenAddress 127.0.0.1
HostKey {self.folder}/host
AuthorizedKeysFile {self.folder}/authorized_keys
PidFile none
UsePAM no
StrictModes no
PermitRootLogin prohibit-password
"""
        (self.folder / "sshd_config").write_text(settings, encoding="utf-8")
        Path("/run/sshd").mkdir(exist_ok=True)
        self.start([shutil.which("sshd", path="/usr/sbin:/sbin"), "-D", "-e", "-f", self.folder / "sshd_config"])

    def serve(self) -> None:
        """A worker judges."""
        self.start([self.program, "desk", "serve", "--folder", self.folder / "desk"])

    def start(self, command: list[str | Path | None]) -> None:
        """A program that stays until the end."""
        if command[0] is None:
            raise StepError("this machine has no sshd: install openssh-server")
        with (self.folder / "daemons.log").open("a", encoding="utf-8") as log:
            self.daemons.append(subprocess.Popen([str(word) for word in command], stdout=log, stderr=log))

    def stop(self) -> None:
        """Ends what was started."""
        for daemon in self.daemons:
            daemon.terminate()
        for daemon in self.daemons:
            daemon.wait()


# Until the worker is there the run waits, and so it can be seen and ended.
END_A_RUN = """{test} >first.log 2>&1 & for i in $(seq 300); do {status} | grep -q queued && break; sleep 0.1; done
{status}; {cancel}; wait; cat first.log"""


def be_student_with_laptop(visit: Visit, tree: Path) -> None:
    """From nothing to a packed hand-in, with one file."""
    desk = DeskHere(tree, visit.root.parent / "course")
    try:
        visit.step("laptop: `ssh-keygen`", "ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519")
        home = visit.root / "home" / visit.user
        desk.open_to("ada", home / ".ssh/id_ed25519.pub")
        settings = f"Host {HOST}\nHostName 127.0.0.1\nPort {desk.port}\nStrictHostKeyChecking accept-new\n"
        (home / ".ssh/config").write_text(settings, encoding="utf-8")
        os.chown(home / ".ssh/config", USER, USER)
        # The account here is this user, and not the one that the page has.
        account = f"{getpass.getuser()}@{HOST}"
        typed = {
            word: command.replace(f"warpgrade@{HOST}", account).replace(f"--remote {HOST}", f"--remote {account}")
            for word, command in remote_commands().items()
        }
        with_host = {word: f"WARPGRADE_REMOTE={account} {command}" for word, command in typed.items()}
        visit.give(ROOT / "student/spmm", "spmm")
        visit.give(ROOT / "reference/spmm/naive", "written")
        visit.step(
            "laptop: `get-client`", f"{typed['get-client']} && python3 warpgrade_remote.py --version", "protocol"
        )
        ending = END_A_RUN.format(test=typed["test"], status=with_host["status"], cancel=with_host["cancel"])
        visit.step("laptop: `test`, `status`, `cancel`", ending, "you cancelled it")
        desk.serve()
        visit.step("laptop: `test`, the stub", typed["test"], "not written yet")
        visit.step("laptop: `test`, written", f"cp ~/written/*.cu spmm/ && {typed['test']}", "all cases are right")
        visit.step("laptop: `last`", with_host["last"], "2 of 2 cases right")
        visit.step("laptop: `submit`", typed["submit"], "judged these sources: 2 of 2 cases right")
    finally:
        desk.stop()
