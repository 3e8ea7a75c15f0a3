"""The ten commands of grader/course/README.md, as they stand there, on a class as Moodle exports it, without a GPU."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import subprocess
import zipfile
from pathlib import Path

from conftest import ROOT, WARPGRADE, warpgrade
from generated_class import tarred

PEOPLE = {"s122": "Ada Lovelace", "s123": "林 美玲", "s124": "Siân O'Brien"}
# What the page cannot know: that there is no GPU here, and that this class is judged on one small case.
HERE = {"batch runs/week7 --lab": ["--backend", "emulator", "--cases", "synth-all-empty-k32"]}


def commands() -> list[str]:
    page = (ROOT / "grader/course/README.md").read_text(encoding="utf-8")
    block = re.search(r"```sh\n# 1\..*?```", page, re.DOTALL)
    assert block, "the tutorial's commands are not where this test looks for them"
    found = re.findall(r"^# (\d+)\. .*\n(.+)$", block[0], re.MULTILINE)
    assert [int(number) for number, _ in found] == list(range(1, 11))
    return [command for _, command in found]


def prepared(folder: Path) -> None:
    """The two files that the LMS gives, and the stricter policy of command 8."""
    with zipfile.ZipFile(folder / "export.zip", "w") as export:
        for number, (student, name) in enumerate(PEOPLE.items()):
            broken = tarred("spmm.cu", f"int {student} = ;\n".encode())  # which costs next to nothing to judge
            export.writestr(f"{name}_{4000 + number}_assignsubmission_file/spmm.tar.gz", broken)
    with (folder / "roster.csv").open("w", encoding="utf-8-sig", newline="") as file:  # Moodle's list of participants
        rows = csv.writer(file)
        rows.writerow(["First name", "Last name", "ID number", "Email address", "Groups"])
        for student, name in PEOPLE.items():
            first, last = name.split(" ", 1)
            rows.writerow([first, last, student, f"{student}@example.edu", ""])
    (folder / "grader").symlink_to(ROOT / "grader")
    policy = (ROOT / "grader/policies/spmm.yaml").read_text(encoding="utf-8")
    (folder / "stricter.yaml").write_text(policy.replace("correctness: 40", "correctness: 30"), encoding="utf-8")


def as_run_here(number: int, command: str) -> str:
    """The command without what a test cannot do (build, look on), and with what it must say of this machine."""
    command = command.replace("make build && ", "").replace(" --watch 5", "")
    for part, options in HERE.items():
        command = command.replace(part, f"{' '.join(part.split()[:2])} {' '.join(options)} --lab")
    # What `doctor` says of this machine is not this test's question.
    return command.split(" && ", maxsplit=1)[0] if number == 1 else command


def test_its_ten_commands_lead_from_an_export_to_grades(tmp_path: Path) -> None:
    prepared(tmp_path)
    environment = os.environ | {"PATH": f"{WARPGRADE.parent}:{os.environ['PATH']}"}
    said = {}
    for number, command in enumerate(commands(), 1):
        if number == 10:
            assert (tmp_path / shlex.split(command)[1]).exists(), "the page to be looked at"
            break
        done = subprocess.run(
            ["bash", "-c", as_run_here(number, command)], cwd=tmp_path, env=environment, capture_output=True, text=True,
            timeout=300, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, (number, command, done.stdout, done.stderr)
        said[number] = done.stdout
    assert all(name in said[3] for name in PEOPLE.values()), said[3]
    assert "nothing was written; add --yes" in said[8], said[8]
    with (tmp_path / "runs/week7/export/moodle.csv").open(encoding="utf-8-sig", newline="") as file:
        grades = {row["ID number"]: (row["Full name"], row["Lab 1 (4711)"]) for row in csv.DictReader(file)}
    assert grades == {"s122": ("Ada Lovelace", "0"), "s123": ("林 美玲", "77"), "s124": ("Siân O'Brien", "0")}
    status = json.loads(warpgrade("status", tmp_path / "runs/week7", "--json").stdout)
    assert status["done"] and status["cases"] == {"all": 3, "faults": 0, "recorded": 3}
