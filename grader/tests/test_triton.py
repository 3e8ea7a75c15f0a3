"""Submissions in Python with Triton, judged on the emulator: the staff's solutions, wrong ones, our launcher.

Triton itself compiles them, so what is right and what is said of a mistake is held against Triton. Where it is not
installed (`scripts/bootstrap triton`), the tests are skipped.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT, WARPGRADE, chosen_parameters

FOLDER = Path(__file__).parent / "triton"
HOST = ROOT / "grader/judge/runner/triton"
PACKAGES = Path(os.environ.get("WARPGRADE_TRITON", ROOT / ".cache/triton"))
LABS = sorted(f.parent.name for f in ROOT.glob("reference/*/triton"))
CASE = "odd"  # of each declared lab
CASES = {  # of the others, each with a trap
    "spmm": "synth-hub-k32,synth-all-empty-k32,synth-single-column-k32,synth-wide-k-k512,far-columns-k256",
    "histogram": "power-law-small,one-node,no-id,more-bins",
    "apsp": "complete-1,complete-161,one-way-90,far-176",
    "gcn": "xw-517,aggregate-hub,aggregate-isolated,softmax-extreme,pipeline-one-vertex,pipeline-mixed",
}
Records = dict[tuple[str, str], dict[str, Any]]  # by submission and case

pytestmark = pytest.mark.skipif(
    not (PACKAGES / "triton/__init__.py").exists(), reason="Triton is not installed: scripts/bootstrap triton"
)


@dataclass(frozen=True)
class Example:
    """A submission of the folder."""

    folder: Path

    @property
    def verdict(self) -> str:
        """What the folder promises."""
        return self.folder.parent.name

    @property
    def expected(self) -> dict[str, str]:
        """The lab, its case, and what the message or a finding says."""
        return {"case": CASE, **yaml.safe_load((self.folder / "expected.yaml").read_text(encoding="utf-8"))}


EXAMPLES = [Example(file.parent) for file in sorted(FOLDER.glob("*/*/expected.yaml"))]


def judged(folder: Path, solutions: dict[str, Path], lab: str, cases: str = CASE) -> Records:
    """The records of a class."""
    for name, solution in solutions.items():
        target = folder / "class" / name
        target.mkdir(parents=True)
        for file in solution.iterdir():
            if ".py" in file.suffixes or file.suffix == ".cu":  # .txt: what no tool of ours can read
                (target / file.name.removesuffix(".txt")).write_bytes(file.read_bytes())
    command: list[str | Path] = [WARPGRADE, "grade", folder / "class", "--lab", lab, "--cases", cases]
    command += ["--backend", "emulator", "--run", folder / "run"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    text = (folder / "run/records.jsonl").read_text(encoding="utf-8")
    records = [json.loads(line) for line in text.split("\n") if line]
    return {(record["submission"]["id"], record["case"]["id"]): record for record in records}


@pytest.fixture(scope="session")
def records(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Records:
    """Of the examples, and of the staff's solutions as LAB-NAME: a class for each lab and cases that were chosen."""
    chosen: dict[tuple[str, str], dict[str, Path]] = {}
    for given in chosen_parameters(request, __file__):
        if "example" in given:
            folder, expected = given["example"].folder, given["example"].expected
            chosen.setdefault((expected["lab"], expected["case"]), {})[folder.name] = folder
        if "lab" in given:
            lab = given["lab"]
            solutions = (ROOT / "reference" / lab / "triton").iterdir()
            of_lab = chosen.setdefault((lab, CASES.get(lab, CASE)), {})
            of_lab.update({f"{lab}-{f.name}": f for f in solutions})
    found: Records = {}
    for (lab, cases), solutions in chosen.items():
        found |= judged(tmp_path_factory.mktemp("triton"), solutions, lab, cases)
    return found


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.folder.name)
def test_a_submission_gets_its_verdict_and_is_told_its_mistake(example: Example, records: Records) -> None:
    """At the line of the student's file, in Triton's words, without a path of the judge's."""
    record = records[example.folder.name, example.expected["case"]]
    outcome = record["outcome"]
    assert outcome["verdict"] == example.verdict, outcome
    message = outcome.get("message", "")
    assert example.expected.get("says", "") in message
    finds = [finding["message"] for finding in record.get("diagnostics", [])]
    assert not example.expected.get("finds") or any(example.expected["finds"] in finding for finding in finds), finds
    assert "/run/" not in message
    assert str(ROOT) not in message


@pytest.mark.parametrize("lab", LABS)
def test_the_staffs_solutions_are_accepted_without_a_finding(lab: str, records: Records) -> None:
    """They are judged by the cases and the oracle of the solutions in CUDA."""
    names = [f.name for f in (ROOT / "reference" / lab / "triton").iterdir()]
    for name, case in itertools.product(names, CASES.get(lab, CASE).split(",")):
        record = records[f"{lab}-{name}", case]
        assert record["outcome"]["verdict"] == "accepted", record["outcome"]
        assert not record.get("diagnostics"), record["diagnostics"]
        assert record["outputs_by"]["last_writer"] == "kernel"


@pytest.mark.parametrize(("name_of_lab", "case"), [("vector_add", "odd"), ("gcn", "xw-517")])
def test_a_stub_is_not_written_yet_and_counts_for_nothing_beside_a_solution_in_cuda(
    name_of_lab: str, case: str, tmp_path: Path
) -> None:
    """The hand-out has both stubs."""
    stub = ROOT / "student" / name_of_lab / f"{name_of_lab}.py"
    solution = ROOT / "reference" / name_of_lab / f"naive/{name_of_lab}.cu"
    for name, files in {"stub": [stub], "cuda": [stub, solution]}.items():
        (tmp_path / name).mkdir()
        for file in files:
            (tmp_path / name / file.name).write_bytes(file.read_bytes())
    records = judged(tmp_path, {"stub": tmp_path / "stub", "cuda": tmp_path / "cuda"}, name_of_lab, case)
    assert records["stub", case]["outcome"]["verdict"] == "not_implemented"
    assert records["cuda", case]["outcome"]["verdict"] == "accepted"


def test_an_operator_is_judged_while_others_are_not_written(tmp_path: Path) -> None:
    """Of gcn's four, beside the stub in CUDA that the hand-out has."""
    text = (ROOT / "reference/gcn/triton/naive/gcn.py").read_text(encoding="utf-8")
    for function in ("aggregate(graph, y, z, plan, stream)", "run(graph, x, w, o, plan, stream)"):
        text += f"\n\ndef {function}:\n    raise NotImplementedError\n"
    (tmp_path / "gcn.py").write_text(text, encoding="utf-8")
    (tmp_path / "gcn.cu").write_bytes((ROOT / "student/gcn/gcn.cu").read_bytes())
    records = judged(tmp_path / "judged", {"half": tmp_path}, "gcn", "xw-517,aggregate-even")
    assert records["half", "xw-517"]["outcome"]["verdict"] == "accepted"
    assert records["half", "aggregate-even"]["outcome"]["verdict"] == "not_implemented"


RULES = """
import json, sys
sys.path[:0] = [sys.argv[1], sys.argv[2]]
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend
from triton.runtime.jit import native_specialize_impl
from warpgrade import Tensor
from warpgrade._specialise import argument
from warpgrade._tensor import DTYPES

backend = make_backend(GPUTarget("cuda", 90, 32))
numbers = [0, 1, 2, -1, 15, 16, 48, -16, 2**31 - 1, 2**31, -2**31, -2**31 - 1, 2**40, 2**40 + 1, 2**63 - 1, 2**63]
values = [*numbers, True, False, None, 0.0, 1.0, 2.5]
values += [Tensor(address, (4,), dtype) for dtype in DTYPES.values() for address in (4096, 4104, 16)]
for value in values:
    for specialise in (True, False):
        for aligned in (True, False):
            kind, hint = native_specialize_impl(type(backend), value, False, specialise, aligned)
            ours = argument(value, specialise, aligned)
            theirs = (kind, "" if kind == "constexpr" else hint or "")
            assert (ours.type, "" if ours.type == "constexpr" else ours.hint) == theirs, (value, ours, kind, hint)
print("same")
"""


def test_arguments_mean_what_they_mean_to_tritons_own_launcher(tmp_path: Path) -> None:
    """Held against Triton's native_specialize_impl: types, ones, multiples of 16, addresses."""
    (tmp_path / "rules.py").write_text(RULES, encoding="utf-8")
    command: list[str | Path] = [sys.executable, "-S", tmp_path / "rules.py", PACKAGES, HOST]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "same", done.stdout + done.stderr


TIMER = """
import sys
sys.path.insert(0, sys.argv[1])
from warpgrade._runtime import Runtime

runtime = Runtime(sys.argv[2])
runtime.use_new_stream()
address = runtime.allocate(1 << 28)
few = runtime.time_of(lambda: runtime.clear(address, 4), 4)
many = runtime.time_of(lambda: runtime.clear(address, 1 << 28), 4)
print("longer" if many > few > 0 else (few, many))
"""


def test_a_launch_that_is_tuned_is_timed_between_two_events(tmp_path: Path) -> None:
    """On the CUDA runtime's emulator: filling 256 MiB takes longer than filling 4 bytes."""
    (tmp_path / "timer.py").write_text(TIMER, encoding="utf-8")
    library = next((WARPGRADE.parent.parent / "emulator").glob("libcudart.so.*"))
    command: list[str | Path] = [sys.executable, "-S", tmp_path / "timer.py", HOST, library]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "longer", done.stdout + done.stderr


def test_without_triton_the_message_says_how_to_get_it(tmp_path: Path) -> None:
    """Nobody is blamed for what is not installed."""
    solution = ROOT / "reference/vector_add/triton/naive"
    environment = os.environ | {"WARPGRADE_TRITON": str(tmp_path), "WARPGRADE_CACHE": str(tmp_path / "cache")}
    command: list[str | Path] = [WARPGRADE, "grade", solution, "--lab", "vector_add", "--cases", "odd"]
    command += ["--backend", "emulator", "--run", tmp_path / "run"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "scripts/bootstrap triton" in done.stdout + done.stderr
