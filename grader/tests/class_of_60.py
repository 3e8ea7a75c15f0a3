"""A class of sixty whose hand-ins come in the forms of eleven exports, with the files that students really have.

`python grader/tests/class_of_60.py FOLDER` writes it for the tutorial (grader/course/batch/README.md): the exports, two
rosters, two policies and what happens later. The exports are named by the platforms' own rules (platform_exports.py);
the answer, each student's points, is computed here from the kinds of trouble and the policy's rules alone.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import zipfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import platform_exports as platforms
from platform_exports import Files, HandIn
from test_git_hand_ins import git

ROOT = Path(__file__).resolve().parents[2]
LAB, SOURCE = "vector_add", "vector_add.cu"
CASES = "one,odd,blocks"
DEADLINE = "2026-03-18T23:59"  # on the clocks of Berlin
IN_TIME = datetime(2026, 3, 18, 22, 58, 7, tzinfo=UTC)
POLICY = """\
schema: warpgrade.policy.v1
name: sixty
lab: vector_add
baseline: cublas
timezone: Europe/Berlin
kernel: required
points: {correctness: 100, speed: 0}
late: {grace_minutes: 10, percent_per_day: 10, cap_percent: 50, max_days: 7}
"""
RIGHT = (ROOT / "reference/vector_add/naive/vector_add.cu").read_text(encoding="utf-8")
# Whole blocks alone: the cases `one` and `odd` are wrong, `blocks` is right.
WRONG = RIGHT.replace("if (i < n)", "if (i < n / kThreads * kThreads)")
CPU_ONLY = """\
#include <vector>

#include "warpgrade/vector_add.h"

cudaError_t vector_add_run(const float* a, const float* b, int n, float* c, cudaStream_t) {
  std::vector<float> x(n), y(n);
  cudaMemcpy(x.data(), a, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemcpy(y.data(), b, n * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i) x[i] += y[i];
  return cudaMemcpy(c, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
}
"""
MAIN = '\n#include <cstdio>\nint main(int argc, char** argv) { std::printf("%d %s\\n", argc, argv[0]); return 0; }\n'


def notebook(code: str) -> bytes:
    """As Colab saves it."""
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": ["!nvcc --version"]},
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "source": f"%%writefile {SOURCE}\n{code}".splitlines(True),
        },
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 0, "metadata": {}, "cells": cells}).encode()


def files_of(kind: str) -> Files:
    """What a student of this kind hands in."""
    right = RIGHT.encode()
    makefile = b"run: vector_add.cu\n\tnvcc -o run vector_add.cu\n"
    return {
        "plain": {SOURCE: right},
        "copy": {"vector_add (1).cu": right},
        "txt": {"vector_add.cu.txt": right},
        "utf16": {SOURCE: RIGHT.encode("utf-16")},
        "utf16_no_mark": {SOURCE: RIGHT.encode("utf-16-le")},
        "notebook": {"Lab_1.ipynb": notebook(RIGHT)},
        "main": {SOURCE: (RIGHT + MAIN).encode()},
        "old": {SOURCE: right, "vector_add.old.cu": WRONG.encode(), "Makefile": makefile},
        "others_code": {
            SOURCE: right,
            "third_party/googletest/src/gtest.cc": b'#error "not to be compiled"\n',
            "build/CMakeFiles/x.cu": b'#error "not to be compiled"\n',
        },
        "header": {
            SOURCE: right.replace(b"namespace {", b'#include "tile-16.cuh"\nnamespace {', 1),
            "tile-16.cuh": b"#pragma once\n",
            "report.pdf": b"%PDF-1.7",
        },
        "wrong": {SOURCE: WRONG.encode()},
        "cpu_only": {SOURCE: CPU_ONLY.encode()},
        "broken": {SOURCE: b"cudaError_t vector_add_run(\n"},
        "no_source": {"report.pdf": b"%PDF-1.7", "data.bin": b"\0\1"},
        "rar": {"hand-in.rar": b"Rar!\x1a\x07"},
        "absent": {},
        "late": {SOURCE: right},
    }[kind]


FINE = ("plain", "copy", "txt", "utf16", "utf16_no_mark", "notebook", "main", "old", "others_code", "header")
KINDS = [  # six a platform
    *("header", "plain", "copy", "wrong", "late", "no_source"),  # Canvas; the third and fourth are anonymous there
    *("txt", "utf16", "main", "cpu_only", "late", "plain"),  # Moodle; the third and fourth are blind there
    *("plain", "team", "wrong", "others_code", "late", "rar"),  # Gradescope; the first hands in for the second
    *("notebook", "old", "broken", "plain", "late", "absent"),  # Blackboard
    *("copy", "utf16_no_mark", "plain", "wrong", "late", "main"),  # Brightspace
    *("old", "plain", "txt", "cpu_only", "header", "plain"),  # Sakai
    *("others_code", "plain", "main", "wrong", "notebook", "utf16"),  # ILIAS
    *("plain", "others_code", "notebook", "broken", "copy", "txt"),  # Autolab
    *("plain", "notebook", "utf16", "wrong", "main", "absent"),  # PrairieLearn
    *("plain", "old", "others_code", "wrong", "main", "copy"),  # git
]
PLATFORMS = ("canvas", "moodle", "gradescope", "blackboard", "brightspace", "sakai", "ilias", "autolab",
             "prairielearn", "git")  # fmt: skip
FIRST = ("Ada", "Alan", "Grace", "Edsger", "Barbara", "Donald", "Frances", "Tony", "Mary", "Niklaus")
LAST = ("Lovelace", "Turing", "Hopper", "Dijkstra", "Liskov", "Knuth", "Allen", "Hoare", "Shaw", "Wirth")
EXTENDED = (4, 10)  # of those who hand in late
REPLACED = (17, 20, 45)  # refused, broken, broken: the staff takes another hand-in
APPEALED = (3, 14)  # wrong: right in the run of appeals
OVERRIDDEN = 27  # wrong: a person sets 61.5, and the student's number is corrected later
OVERRIDE = 61.5


@dataclass
class Member:
    """A student, by all names, and what comes out."""

    index: int
    kind: str
    hand_in: HandIn = field(init=False)

    def __post_init__(self) -> None:
        first, last = FIRST[self.index % 10], LAST[(self.index // 6 + self.index) % 10]
        files = {} if self.kind in {"absent", "late", "team"} else files_of(self.kind)
        login = f"{first.lower()}{self.index}"
        self.hand_in = HandIn(first, last, login, 1000 + self.index, files, f"{login}@example.edu", IN_TIME)

    @property
    def id(self) -> str:
        return f"s{self.hand_in.number}"

    @property
    def final_id(self) -> str:
        return f"s{self.hand_in.number + 8000}" if self.index == OVERRIDDEN else self.id

    @property
    def platform(self) -> str:
        return PLATFORMS[self.index // 6]

    @property
    def anonymous(self) -> str:
        return f"x{self.index}Kq" if self.index in {2, 3} else ""

    def points(self) -> float | None:
        """At the end, with the case `one` dropped; None: no grade."""
        if self.kind == "absent":
            return None
        if self.index == OVERRIDDEN:
            return OVERRIDE
        if self.kind in FINE or self.kind == "team" or self.index in (*REPLACED, *APPEALED):
            return 100.0
        if self.kind == "late":
            return 100.0 if self.index in EXTENDED else 80.0  # 25 hours: two days of 10 %
        return {"wrong": 50.0}.get(self.kind, 0.0)


def the_class() -> list[Member]:
    return [Member(index, kind) for index, kind in enumerate(KINDS)]


def zipped(files: Files) -> Files:
    """As one archive; what is one already stays."""
    if len(files) == 1 and next(iter(files)).endswith(".rar"):
        return files
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"lab1/{name}", content)
    return {"lab1.zip": out.getvalue()}


def packed(members: list[Member]) -> list[HandIn]:
    """Their hand-ins, those with folders in an archive."""
    found = [member.hand_in for member in members if member.hand_in.files]
    for one in found:
        if any("/" in name for name in one.files):
            one.files = zipped(one.files)
    return found


def gradescope(members: list[tuple[list[Member], Files, datetime]]) -> Files:
    """`submission_metadata.yml` as "Export Submissions" has it, with Ruby's symbols as keys."""
    files: Files = {}
    lines = ["---"]
    for number, (submitters, content, at) in enumerate(members, 7001):
        lines += [f"submission_{number}:", f"  :created_at: {at:%Y-%m-%d %H:%M:%S}.000000000 Z", "  :submitters:"]
        for one in submitters:
            lines += [f"  - :name: {one.hand_in.name}", f"    :sid: {one.id}", f"    :email: {one.hand_in.email}"]
        files |= {f"submission_{number}/{name}": data for name, data in content.items()}
    return files | {"submission_metadata.yml": ("\n".join(lines) + "\n").encode()}


def repositories(folder: Path, members: list[Member]) -> Path:
    """Clones, as `gh classroom clone` and what followed it leave them."""
    for member in members:
        clone = folder / f"lab1-{member.hand_in.login}"
        platforms.write(clone, member.hand_in.files)
        git(clone, "init", "-q", "-b", "main")
        git(clone, "add", "-A", "-f")
        git(clone, "commit", "-q", "-m", "hand in", at=IN_TIME.isoformat())
    return folder


def roster(file: Path, members: list[Member], final: bool = False) -> Path:
    rows = [["id", "Last Name", "First Name", "Username", "Email", "canvas_id", "moodle_id", "lms_id", "github"]]
    for member in members:
        one = member.hand_in
        number = str(one.number)
        rows.append([member.final_id if final else member.id, one.last, one.first, one.login, one.email, number, number,
                     member.anonymous or number, one.login])  # fmt: skip
    with file.open("w", encoding="utf-8", newline="") as table:
        csv.writer(table).writerows(rows)
    return file


def write(folder: Path) -> list[Path]:
    """Writes everything; the exports in the order in which they are taken in."""
    members = the_class()
    of = {name: [m for m in members if m.platform == name] for name in PLATFORMS}
    folder.mkdir(parents=True, exist_ok=True)
    roster(folder / "roster.csv", members)
    roster(folder / "roster-corrected.csv", members, final=True)
    (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
    (folder / "policy-dropped.yaml").write_text(POLICY + "drop: [one]\n", encoding="utf-8")
    canvas, moodle = packed(of["canvas"]), packed(of["moodle"])
    hidden = {one.number: member.anonymous for member in of["canvas"] if member.anonymous for one in [member.hand_in]}
    dates = platforms.BRIGHTSPACE_DATES
    languages = ("en", "fr", "de", "es", "pt", "nl")
    brightspace = [
        (one, dates[language][0]) for one, language in zip(packed(of["brightspace"]), languages, strict=False)
    ]
    scope = of["gradescope"]
    teamed = [([scope[0], scope[1]], scope[0].hand_in.files, IN_TIME)]
    teamed += [([m], zipped(m.hand_in.files), IN_TIME) for m in scope[2:] if m.hand_in.files]
    late = [([m], files_of("late"), datetime(2026, 3, 19, 23, 59, tzinfo=UTC)) for m in members if m.kind == "late"]
    for one in packed(of["autolab"]):
        one.files = zipped(one.files) if "lab1.zip" not in one.files else one.files
    exports: dict[str, Files] = {
        "canvas": platforms.canvas([one for one in canvas if one.number not in hidden]),
        "canvas-anonymous": platforms.canvas([one for one in canvas if one.number in hidden], hidden),
        "moodle": platforms.moodle([one for one in moodle if one.number not in {1008, 1009}]),
        "moodle-blind": platforms.moodle([one for one in moodle if one.number in {1008, 1009}], blind=True),
        "gradescope": gradescope(teamed),
        "blackboard": platforms.blackboard("Lab 1", packed(of["blackboard"])),
        "brightspace": platforms.brightspace(brightspace),
        "sakai": platforms.sakai("Lab 1", packed(of["sakai"])),
        "ilias": platforms.ilias("Lab 1", packed(of["ilias"])),
        "autolab": platforms.autolab("lab1.zip", [m.hand_in for m in of["autolab"]]),
        "prairielearn": platforms.prairielearn("lab1", "vector_add", packed(of["prairielearn"])),
    }
    found = [platforms.pack(folder / f"{name}.zip", files) for name, files in exports.items()]
    found.append(repositories(folder / "clones", of["git"]))
    platforms.pack(folder / "late.zip", gradescope(late))
    for index in REPLACED:
        platforms.write(folder / "replacements" / members[index].id, files_of("plain"))
    for index in APPEALED:
        platforms.write(folder / "appeals" / members[index].id, files_of("plain"))
    return found


if __name__ == "__main__":
    for export in write(Path(sys.argv[1])):
        print(export)
