"""A lab is a folder of data: a new one is declared, proved, graded and reported; only submissions are compiled."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from conftest import ROOT, WARPGRADE, records_of

# What a lab's folders lie in; all else of the project is shown to the programs as it is.
OWN = ("reference", "student", "grader")

LAB = """\
schema: warpgrade.lab.v1
name: dot
summary: the dot product of two vectors
parameters: {n: int}
arrays:
  x: {type: fp32, shape: [n], draw: {uniform: [0.5, 1.5]}}
  y: {type: fp32, shape: [n], draw: {normal: [3, 0.5]}}
  out: {type: fp32, shape: [1], role: output}
call: "cudaError_t dot_run(const float* x, const float* y, int n, float* out, cudaStream_t stream)"
truth: oracle.py
check: {bound: 64}
work: {bytes: 8*n, flop: 2*n}
terms: {width: n, work: flop}
cases:
  - {id: one, n: 1, why: one term}
  - {id: odd, n: 1000, why: a count that no block divides}
  - {id: million, n: 1000000, kind: speed}
"""

ORACLE = '''\
"""The dot product in fp64, and what its rounding errors grow with."""


def dot(x, y):
    products = x.astype("f8") * y.astype("f8")
    return products.sum().reshape(1), abs(products).sum().reshape(1)
'''

KERNEL = """\
#include "warpgrade/dot.h"

namespace {

__global__ void dot_kernel(const float* x, const float* y, int n, float* out) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 32) sum += x[i] * y[i];
  for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, k);
  if (threadIdx.x == 0) *out = sum;
}

}  // namespace

cudaError_t dot_run(const float* x, const float* y, int n, float* out, cudaStream_t stream) {
  dot_kernel<<<1, 32, 0, stream>>>(x, y, n, out);
  return cudaGetLastError();
}
"""
WRONG = KERNEL.replace("i < n", "i + 1 < n || n == 1 && i == 0")


class Project:
    """The project as its programs see it, with folders for labs that a test may write to."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for entry in ROOT.iterdir():
            if entry.name not in OWN:
                (root / entry.name).symlink_to(entry)
        for room in OWN:
            (root / room).mkdir()
            for entry in (ROOT / room).iterdir():
                (root / room / entry.name).symlink_to(entry)
        policies = root / "grader/policies"
        policies.unlink()
        shutil.copytree(ROOT / "grader/policies", policies)

    def warpgrade(self, *arguments: str | Path, code: int = 0) -> str:
        """What the program says, both on standard output and standard error."""
        environment = os.environ | {
            "WARPGRADE_HOME": str(self.root),
            "WARPGRADE_CACHE": os.environ.get("WARPGRADE_CACHE", str(ROOT / ".cache")),
        }
        done = subprocess.run(
            [WARPGRADE, *arguments], env=environment, capture_output=True, text=True, check=False, timeout=600
        )
        assert done.returncode == code, done.stdout[-4000:] + done.stderr[-4000:]
        return done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "project"
    root.mkdir()
    return Project(root)


def test_from_nothing_to_a_graded_class_in_two_minutes(project: Project, tmp_path: Path) -> None:
    begun = time.monotonic()
    project.warpgrade("labs", "new", "dot")
    lab = project.root / "reference/dot"
    (lab / "lab.yaml").write_text(LAB, encoding="utf-8")
    (lab / "oracle.py").write_text(ORACLE, encoding="utf-8")
    (lab / "naive/dot.cu").write_text(KERNEL, encoding="utf-8")
    (lab / "wrong/last_block_missing/dot.cu").write_text(WRONG, encoding="utf-8")
    project.warpgrade("labs", "pages", "dot")
    said = project.warpgrade("labs", "verify", "dot", "--backend", "emulator")
    assert "dot: ready for a class" in said
    assert "wrong-last_block_missing on the emulator: wrong_answer" in said
    assert "no false alarm in 200 runs" in said
    assert "inputs of which a sixteenth is not read (96 tried in 1 cases)" in said
    assert json.loads((lab / "check_power.json").read_text(encoding="utf-8"))["cases"][0]["seeds"] == 48

    hand_ins = tmp_path / "class"
    stub = (project.root / "student/dot/dot.cu").read_text(encoding="utf-8")
    for student, text in {"ada": KERNEL, "bob": WRONG, "cem": stub}.items():
        (hand_ins / student).mkdir(parents=True)
        (hand_ins / student / "dot.cu").write_text(text, encoding="utf-8")
    run = tmp_path / "run"
    project.warpgrade("grade", hand_ins, "--lab", "dot", "--backend", "emulator", "--run", run)
    scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    assert {s["id"]: s["verdict"] for s in scores["submissions"]} == {
        "ada": "accepted", "bob": "wrong_answer", "cem": "not_implemented",
    }  # fmt: skip
    assert time.monotonic() - begun < 120
    wrong = next(r for r in records_of(run) if r["outcome"]["verdict"] == "wrong_answer")
    assert "only the last cell" not in json.dumps(wrong)
    project.warpgrade("report", run)
    page = "".join(file.read_text(encoding="utf-8") for file in (run / "report").rglob("*.html"))
    assert "out[0]" in page
    assert not re.search(r"\bK ?=|\bnnz\b", page), "words of another lab's"


# Answers so many runs and then fails: those of both cases for one submission.
IMPATIENT = (
    ORACLE
    + """

answered = 0
right = dot


def dot(x, y):
    global answered
    answered += 1
    if answered > MOST:
        raise RuntimeError("asked too often")
    return right(x, y)
"""
)


def test_the_oracle_answers_for_the_first_submission_and_all_others_get_the_same_inputs(
    project: Project, tmp_path: Path
) -> None:
    project.warpgrade("labs", "new", "dot")
    lab = project.root / "reference/dot"
    (lab / "lab.yaml").write_text(LAB, encoding="utf-8")
    (lab / "naive/dot.cu").write_text(KERNEL, encoding="utf-8")
    project.warpgrade("labs", "pages", "dot")
    for student in ("ada", "bob", "cem", "dan"):
        (tmp_path / "class" / student).mkdir(parents=True)
        text = (WRONG if student == "cem" else KERNEL) + f"// {student}\n"
        (tmp_path / "class" / student / "dot.cu").write_text(text, encoding="utf-8")

    def judged(most: int) -> tuple[list[tuple[str, str]], int]:
        """Verdicts, and how often a judge had to be started anew because its oracle would not answer."""
        (lab / "oracle.py").write_text(IMPATIENT.replace("MOST", str(most)), encoding="utf-8")
        run = tmp_path / f"run-{most}"
        project.warpgrade(
            "grade", tmp_path / "class", "--lab", "dot", "--backend", "emulator", "--cases", "one,odd",
            "--jobs", "1", "--run", run,
        )  # fmt: skip
        events = (run / "events.jsonl").read_text(encoding="utf-8") if (run / "events.jsonl").exists() else ""
        verdicts = sorted((r["submission"]["id"], r["outcome"]["verdict"]) for r in records_of(run))
        return verdicts, events.count('"judge_died"')

    runs_of_a_submission = 2 * 3  # cases, and the least runs of each
    right = [(who, "accepted") for who in ("ada", "bob", "dan") for _ in range(2)]
    assert judged(runs_of_a_submission) == (sorted([*right, ("cem", "accepted"), ("cem", "wrong_answer")]), 0)
    assert judged(runs_of_a_submission - 1)[1] > 0


def test_a_second_run_of_ones_own_asks_no_oracle_unless_an_answer_is_damaged(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    for entry in (ROOT / ".cache").iterdir():
        if entry.name != "answers":
            (cache / entry.name).symlink_to(entry)
    monkeypatch.setenv("WARPGRADE_CACHE", str(cache))
    project.warpgrade("labs", "new", "dot")
    lab = project.root / "reference/dot"
    (lab / "lab.yaml").write_text(LAB, encoding="utf-8")
    # An oracle that cannot answer without a file which is no part of what answers follow from.
    (lab / "oracle.py").write_text(
        ORACLE.replace("    products", '    open(__file__.replace("oracle.py", "there.md")).close()\n    products'),
        encoding="utf-8",
    )
    (lab / "there.md").touch()
    (lab / "naive/dot.cu").write_text(KERNEL, encoding="utf-8")
    check = ("check", lab / "naive", "--lab", "dot", "--backend", "emulator")
    assert "2 of 2 cases accepted" in project.warpgrade(*check)
    (lab / "there.md").unlink()
    assert "2 of 2 cases accepted" in project.warpgrade(*check)
    kept = sorted((cache / "answers").glob("*.answer"))
    assert kept and (cache / "answers").stat().st_mode & 0o077 == 0
    for file in kept:
        file.write_bytes(file.read_bytes()[:-1] + b"\x55")
    assert "there.md" in project.warpgrade(*check, code=2)


def test_a_new_lab_replaces_nothing(project: Project) -> None:
    (project.root / "student/dot").mkdir()
    (project.root / "student/dot/README.md").write_text("mine", encoding="utf-8")
    assert "is there already" in project.warpgrade("labs", "new", "dot", code=1)
    assert not (project.root / "reference/dot").exists()
    assert "another name" in project.warpgrade("labs", "new", "scan", code=1)
    assert "lower-case letters" in project.warpgrade("labs", "new", "../x", code=1)


def test_a_mistake_in_a_lab_is_told_and_leaves_the_others_alone(project: Project) -> None:
    project.warpgrade("labs", "new", "dot")
    file = project.root / "reference/dot/lab.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("summary:", "sumary:"), encoding="utf-8")
    listed = project.warpgrade("labs")
    assert "scan" in listed
    assert re.search(r"^dot +cannot be used: ", listed, re.M)
    said = project.warpgrade("labs", "dot", code=1)
    assert f"{file}:4: unknown key sumary (did you mean summary?)" in said


@pytest.mark.parametrize(
    ("oracle", "words"),
    [
        ("def dot(in_):\n    return undefined_name\n", "NameError: name 'undefined_name' is not defined"),
        ("def dot(in_):\n    return in_[:-1]\n", "the oracle's out has the shape"),
        ("def dot(inn):\n    return inn\n", "dot asks for inn; there is in, n"),
        ("def dot(in_):\n    in_ *= 2\n    return in_\n", "oracle.py:2"),
        ("def dt(in_):\n    return in_\n", "oracle.py defines no function dot"),
        ("import os\ndef dot(in_):\n    os._exit(3)\n", "it has ended"),
        ("def dot(in_):\n    while True: pass\n", "no answer within"),
        ("import socket\ndef dot(in_):\n    socket.create_connection(('192.0.2.1', 80), 1)\n", "oracle.py:3"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_oracle_is_told_with_its_line(project: Project, oracle: str, words: str) -> None:
    project.warpgrade("labs", "new", "dot")
    folder = project.root / "reference/dot"
    (folder / "oracle.py").write_text(oracle, encoding="utf-8")
    file = folder / "lab.yaml"
    file.write_text(file.read_text(encoding="utf-8") + "limits: {oracle_s: 2}\n", encoding="utf-8")
    shutil.rmtree(folder / "naive")
    shutil.rmtree(folder / "wrong")
    said = project.warpgrade("labs", "verify", "dot", "--backend", "emulator", "--honest-runs", "0", code=3)
    assert "FAIL  the oracle answers every case" in said
    assert words in said


def test_a_check_that_lets_mistakes_pass_is_found_out(project: Project) -> None:
    project.warpgrade("labs", "new", "dot")
    folder = project.root / "reference/dot"
    file = folder / "lab.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("relative: 1.0e-6", "relative: 1.0e-2"), encoding="utf-8")
    shutil.rmtree(folder / "naive")
    shutil.rmtree(folder / "wrong")
    said = project.warpgrade("labs", "verify", "dot", "--backend", "emulator", "--honest-runs", "0", code=3)
    assert "FAIL  the check finds all scaled by 1 + 2^-10" in said
    assert "ok    the check finds one element flipped" in said


# y = A * (weights * x) for the pattern A of a graph: arrays of a dataset, of a file, an oracle in C++.
GATHER = """\
schema: warpgrade.lab.v1
name: gather
summary: sums over a graph's neighbours
parameters: {n: int, entries: int}
arrays:
  row_offsets: {type: int32, shape: [n + 1], draw: {csr: row_offsets}}
  columns: {type: int32, shape: [entries], draw: {csr: columns}}
  weights: {type: fp16, shape: [4], draw: {npy: weights.npy}}
  x: {type: fp32, shape: [n]}
  out: {type: fp32, shape: [n], role: output}
call: "cudaError_t gather_run(const int* row_offsets, const int* columns, const __half* weights,
  const float* x, int n, int entries, float* out, cudaStream_t stream)"
truth: oracle.cpp
second_truth: second.py
check: {bound: 8}
work: {bytes: 8*n}
cases:
  - {id: repeats, graph: synth-duplicates, n: ROWS, entries: ENTRIES}
"""
GATHER_ORACLE = """\
#include <cmath>

void gather(const int* row_offsets, const int* columns, const float* weights, const float* x, int n, int, double* out,
            double* out_magnitude) {
  for (int row = 0; row < n; ++row) {
    out[row] = out_magnitude[row] = 0;
    for (int e = row_offsets[row]; e < row_offsets[row + 1]; ++e) {
      const double term = double(weights[columns[e] % 4]) * x[columns[e]];
      out[row] += term;
      out_magnitude[row] += std::fabs(term);
    }
  }
}
"""
GATHER_SECOND = """\
import numpy as np


def gather(row_offsets, columns, weights, x):
    terms = weights.astype("f8")[columns % 4] * x[columns]
    rows = np.repeat(np.arange(x.size), np.diff(row_offsets))
    return np.bincount(rows, terms, x.size), np.bincount(rows, abs(terms), x.size)
"""
GATHER_KERNEL = """\
#include "warpgrade/gather.h"

__global__ void gather_kernel(const int* row_offsets, const int* columns, const __half* weights, const float* x, int n,
                              float* out) {
  const int row = blockIdx.x * 64 + threadIdx.x;
  if (row >= n) return;
  float sum = 0;
  for (int e = row_offsets[row]; e < row_offsets[row + 1]; ++e)
    sum += __half2float(weights[columns[e] % 4]) * x[columns[e]];
  out[row] = sum;
}

cudaError_t gather_run(const int* row_offsets, const int* columns, const __half* weights, const float* x, int n, int,
                       float* out, cudaStream_t stream) {
  gather_kernel<<<(n + 63) / 64, 64, 0, stream>>>(row_offsets, columns, weights, x, n, out);
  return cudaGetLastError();
}
"""


def npy(numbers: list[int]) -> bytes:
    """An array of fp16, given as its bits, as numpy.save writes it."""
    header = f"{{'descr': '<f2', 'fortran_order': False, 'shape': ({len(numbers)},), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00v\x00" + header.encode() + b"".join(bits.to_bytes(2, "little") for bits in numbers)


def test_arrays_come_from_a_graph_and_a_file_and_the_truth_from_cpp(project: Project) -> None:
    project.warpgrade("labs", "new", "gather")
    lab = project.root / "reference/gather"
    sizes = re.search(r"shape +(\d+) x \d+, (\d+) entries", project.warpgrade("data", "info", "synth-duplicates"))
    assert sizes is not None
    rows, entries = sizes.groups()
    lab.joinpath("lab.yaml").write_text(GATHER.replace("ROWS", rows).replace("ENTRIES", entries), encoding="utf-8")
    lab.joinpath("weights.npy").write_bytes(npy([0x3C00, 0xC000, 0x0001, 0x3555]))  # 1, -2, 2^-24, 0.333
    lab.joinpath("oracle.cpp").write_text(GATHER_ORACLE, encoding="utf-8")
    lab.joinpath("second.py").write_text(GATHER_SECOND, encoding="utf-8")
    lab.joinpath("naive/gather.cu").write_text(GATHER_KERNEL, encoding="utf-8")
    shutil.rmtree(lab / "wrong")
    project.warpgrade("labs", "pages", "gather")
    said = project.warpgrade("labs", "verify", "gather", "--backend", "emulator", "--honest-runs", "0")
    assert "second.py agrees with oracle.cpp" in said
    assert "naive on the emulator: accepted" in said
    file = lab / "lab.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace(f"n: {rows}", "n: 7"), encoding="utf-8")
    said = project.warpgrade("labs", "verify", "gather", "--backend", "emulator", "--honest-runs", "0", code=3)
    assert f"it has {rows} rows and {entries} entries" in said
    lab.joinpath("oracle.cpp").write_text("void gather(int) {}\n", encoding="utf-8")
    said = project.warpgrade("labs", "verify", "gather", "--backend", "emulator", "--honest-runs", "0", code=2)
    assert "oracle.cpp is to define\n  void gather(const int* row_offsets" in said
