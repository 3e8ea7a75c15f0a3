"""A student whose program does not link is told which function is missing and what to do, in names of his own files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from conftest import ROOT, Words, records_of, warpgrade

CASE = "synth-ragged-k32"
NAIVE = (ROOT / "reference/spmm/naive/spmm.cu").read_text(encoding="utf-8")
RUN = NAIVE[NAIVE.index("cudaError_t spmm_run(") :]
RUN = RUN[: RUN.index("\n}\n") + 3]
SIGNATURE = "spmm_run(CsrMatrix const&, int, float const*, float*, SpmmPlan*, cudaStream_t)"
LEGACY = ROOT / "grader/tests/submissions/accepted/legacy_simple"


def changed(what: str, instead: str) -> Callable[[Path], None]:
    """The naive solution with one text replaced."""
    assert what in NAIVE

    def write(folder: Path) -> None:
        (folder / "spmm.cu").write_text(NAIVE.replace(what, instead), encoding="utf-8")

    return write


def twice(folder: Path) -> None:
    """A helper that two files define; of two files with the lab's functions test_hand_in_files.py speaks."""
    (folder / "helper.cu").write_text("int helper(int x) { return x; }\n", encoding="utf-8")
    (folder / "spmm.cu").write_text(NAIVE + "int helper(int y) { return y + 1; }\n", encoding="utf-8")


def kernel_twice(folder: Path) -> None:
    """Of a kernel nvcc makes two functions; the name is the kernel's."""
    (folder / "helper.cu").write_text("__global__ void helper(float* x) { *x = 1; }\n", encoding="utf-8")
    (folder / "spmm.cu").write_text(NAIVE + "__global__ void helper(float* x) { *x = 2; }\n", encoding="utf-8")


def legacy_without_run(folder: Path) -> None:
    """The class interface, with a method that is declared only."""
    for file in LEGACY.glob("spmm_opt.*"):
        text = file.read_text(encoding="utf-8")
        (folder / file.name).write_text(text.split("void SpMMOpt::run(")[0], encoding="utf-8")


MADE = "__device__ float made(float x);\n"
WRONG: dict[str, tuple[Callable[[Path], object], str, list[str]]] = {
    "no_run": (
        changed(RUN, ""),
        "missing_symbol",
        ["spmm_run is missing: none of your files defines it. Define it", "warpgrade/spmm.h", SIGNATURE],
    ),
    "other_parameters": (
        changed("int k, const float* b, float* c", "int k, float* b, float* c"),
        "missing_symbol",
        [
            "spmm_run is missing: spmm.cu defines it with other parameters",
            SIGNATURE.replace("float const*", "float*", 1),
            "copy the declaration from the header",
            SIGNATURE,
        ],
    ),
    "misspelt": (changed("spmm_run(", "spmm_Run("), "missing_symbol", ["spmm_run is missing", "spmm_Run", "rename"]),
    "in_a_namespace": (
        changed(RUN, f"namespace mine {{\n{RUN}}}\n"),
        "missing_symbol",
        ["spmm_run is missing", "spmm.cu defines mine::spmm_run", "move it out"],
    ),
    "nothing": (lambda folder: (folder / "spmm.cu").write_text(""), "missing_symbol", ["spmm_plan", "spmm_run", "are"]),
    "helper": (
        changed(RUN, "int helper(int);\n" + RUN.replace("{\n", "{\n  helper(k);\n", 1)),
        "missing_symbol",
        ["spmm.cu:", "uses helper(int)", "none of your files defines"],
    ),
    "kernel_twice": (
        kernel_twice,
        "defined_twice",
        ["helper(float*) is defined in helper.cu and spmm.cu", "keep one", "submission.yaml"],
    ),
    "twice": (twice, "defined_twice", ["defined in helper.cu and spmm.cu", "keep one", "submission.yaml"]),
    "device_function_elsewhere": (
        changed("namespace {\n", MADE + "__global__ void use(float* x) { *x = made(*x); }\nnamespace {\n"),
        "error",
        ["spmm.cu calls the device function made(float)", "same .cu file"],
    ),
    "against_the_header": (
        changed(RUN, 'extern "C" ' + RUN),
        "error",
        ["spmm.cu(", "linkage specification", "of warpgrade/spmm.h"],
    ),
    "legacy_without_run": (
        legacy_without_run,
        "missing_symbol",
        ["spmm_opt.cu uses SpMMOpt::run(float*, float*)", "none of your files defines", "Define it"],
    ),
}


WITHOUT_A_BOX = ("no_run", "twice", "against_the_header")  # paths are others there


def judge(scratch: Path, names: Iterable[str], *options: str, **environment: str) -> Path:
    """The run folder of a class of these."""
    for name in names:
        (scratch / "class" / name).mkdir(parents=True)
        WRONG[name][0](scratch / "class" / name)
    command: Words = ["grade", scratch / "class", "--lab", "spmm", "--cases", CASE, "--run", scratch / "run"]
    command += ["--backend", "emulator", "--no-speed", "--quiet", *options]
    done = warpgrade(*command, env={**os.environ, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return scratch / "run"


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them as a class."""
    return judge(tmp_path_factory.mktemp("messages"), WRONG)


@pytest.mark.parametrize("name", WRONG)
def test_message_names_the_function_and_what_to_do(name: str, judged: Path) -> None:
    """On the record's line, which is the first that a student reads."""
    record = next(record for record in records_of(judged) if record["submission"]["id"] == name)
    outcome = record["outcome"]
    _, reason, says = WRONG[name]
    assert outcome["verdict"] == "compile_error"
    assert outcome["reason"] == reason, outcome
    for words in says:
        assert words in outcome["message"], outcome


def assert_no_path_of_the_judge(folder: Path) -> None:
    """Neither in the message nor in the compiler's words, whatever checkout made the judge's objects."""
    message = json.loads((folder / "compile.json").read_text(encoding="utf-8"))["message"]
    shown = message + (folder / "compile.log").read_text(encoding="utf-8")
    for own in (
        "/run/warpgrade",
        str(ROOT),
        "grader/judge/runner",
        "_runner.cpp",
        "runner_main",
        "adaptor.cu",
        "warpgrade-compile",
    ):
        assert own not in shown, shown


@pytest.mark.parametrize("name", WRONG)
def test_no_path_of_the_judge_is_shown(name: str, judged: Path) -> None:
    """The student's files are called as he called them."""
    assert_no_path_of_the_judge(judged / "submissions" / name)


def test_no_path_of_the_judge_is_shown_without_a_box(tmp_path: Path) -> None:
    """There the compiler sees the judge's own folders."""
    run = judge(tmp_path, WITHOUT_A_BOX, "--allow-unsandboxed", WARPGRADE_BWRAP="/nowhere/bwrap")
    for name in WITHOUT_A_BOX:
        assert_no_path_of_the_judge(run / "submissions" / name)
