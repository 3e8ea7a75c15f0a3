"""Judges a lab's folder with the package's own programs, and reads what they write for programs: JSON alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from warpgrade.labs import LabError

RIGHT, NOT_RIGHT = 0, 3  # of warpgrade_bridge.py
LONGEST_END_S = 20


@dataclass(frozen=True)
class Remark:
    """A mistake at a line of a file, which is the same line of the cell."""

    file: str
    line: int
    words: str


@dataclass(frozen=True)
class Judged:
    """What the student may know of a run: the view, and mistakes that have a line."""

    view: dict[str, Any]
    remarks: list[Remark] = field(default_factory=list)


def environment() -> dict[str, str]:
    """For the package's programs: what a wheel's own command sets."""
    own = {"WARPGRADE_PYTHON_PACKAGE": sys.executable} if is_installed() else {}
    return {**os.environ, **own}


def is_installed() -> bool:
    """Whether this came by pip, so that nothing is written where it lies."""
    return "site-packages" in Path(__file__).parts or "dist-packages" in Path(__file__).parts


def run(command: list[str | Path], **more: str) -> subprocess.CompletedProcess[str]:
    """Runs a program with its children, in an environment with `more`; who stops the cell stops them all."""
    pipe = subprocess.PIPE
    with subprocess.Popen(  # noqa: S603 - the package's own programs
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        encoding="utf-8",
        errors="replace",
        env={**environment(), **more},
        start_new_session=True,
    ) as program:
        try:
            said, complained = program.communicate()
        except BaseException:
            os.killpg(program.pid, signal.SIGINT)
            try:
                program.communicate(timeout=LONGEST_END_S)
            except subprocess.TimeoutExpired:
                os.killpg(program.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, program.returncode, said, complained)


def last_words(text: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return lines[-1] if lines else "it said nothing"


def judge(home: Path, folder: Path, options: list[str], **more: str) -> Judged:
    """Judges the folder of a lab, here or (`--desk`) on the course's GPU."""
    with tempfile.TemporaryDirectory(prefix="warpgrade-cell-") as scratch:
        output = Path(scratch) / "results"
        command: list[str | Path] = [sys.executable, home / "scripts/bridges/warpgrade_bridge.py"]
        command += ["--lab", folder.name, "--submission", folder, "--output", output, "--formats", "gitlab"]
        # Where no box is possible one's own code is judged without; no_box_because() says why.
        done = run([*command, "--allow-unsandboxed", *options], **more)
        if done.returncode not in (RIGHT, NOT_RIGHT):
            raise LabError(last_words(done.stderr or done.stdout))
        view = json.loads((output / "view.json").read_text(encoding="utf-8"))
        entries = json.loads((output / "gitlab/submission.json").read_text(encoding="utf-8"))
    remarks = [
        Remark(Path(entry["location"]["path"]).name, entry["location"]["lines"]["begin"], entry["description"])
        for entry in entries
    ]
    return Judged(view, remarks)


def no_box_because(home: Path) -> str:
    """Why a program is judged without a box here; nothing where it has one."""
    programs = [home / "warpgrade", home / "build/bin/warpgrade"]
    program = os.environ.get("WARPGRADE") or next((file for file in programs if file.is_file()), None)
    if program is None:
        return ""
    try:
        said = json.loads(run([program, "doctor", "--json"]).stdout)
        if said["isolation"]["sandbox"] != "none":
            return ""
        found = {line["topic"]: line["found"] for line in said["findings"] if line["state"] != "ok"}
    except (ValueError, KeyError, TypeError):
        return ""
    topics = [topic for topic in ("container", "user namespaces", "sandbox") if topic in found]
    return next((str(found[topic]) for topic in topics), "bubblewrap does not work")
