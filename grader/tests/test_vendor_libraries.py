"""A vendor's library costs nothing until it is called; a call is a compile error with the call's line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, records_of, warpgrade

NAIVE = (ROOT / "reference/spmm/naive/spmm.cu").read_text(encoding="utf-8")
CASE = "synth-identity-k32"
CALL = "(cublasHandle_t* h) {\n  return cublasCreate(h);\n}\n"
# Before main, in the process of the submission: ends it where one of the emulator's libraries is loaded.
LOOKS = """
static const bool looked = [] {
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  if (maps == nullptr) std::abort();
  char line[512];
  while (std::fgets(line, sizeof line, maps) != nullptr)
    if (std::strstr(line, "libcusparse") != nullptr || std::strstr(line, "libcublas") != nullptr) std::abort();
  return std::fclose(maps) == 0;
}();
"""
LIBRARIES = "add_executable(x spmm.cu)\ntarget_link_libraries(x PRIVATE CUDA::cusparse)\n"

# By name: files beside the naive spmm.cu, what stands before and behind its text, and the place of the call.
CLASS: dict[str, tuple[dict[str, str], str, str, str]] = {
    "includes": ({}, "#include <cublas_v2.h>\n", "", ""),
    "links": ({"Makefile": "spmm: spmm.cu\n\tnvcc spmm.cu -lcublas -o spmm\n"}, "", "", ""),
    "links_by_cmake": ({"CMakeLists.txt": LIBRARIES}, "", "", ""),
    "thrust": ({}, "#include <thrust/sort.h>\n#include <cub/cub.cuh>\n",
               "void sorts(int* x) { thrust::sort(thrust::device, x, x + 2); }\n", ""),
    "looks": ({}, "#include <cstdio>\n#include <cstdlib>\n#include <cstring>\n", LOOKS, ""),
    "calls": ({}, "#include <cublas_v2.h>\n", "int used" + CALL, "spmm.cu:+2"),
    "wraps": ({"own/wrap.cuh": "#pragma once\n#include <cublas_v2.h>\n\nstatic inline int wrap" + CALL},
              '#include "own/wrap.cuh"\n', "int used(cublasHandle_t* h) { return wrap(h); }\n", "own/wrap.cuh:5"),
    "points": ({}, "#include <cublas_v2.h>\n", "auto* pointer() {\n\n  return &cublasCreate;\n}\n", "spmm.cu:+3"),
    "transforms": ({}, "#include <cufft.h>\n", "int used(int* h) {\n  return cufftPlan1d(h, 8, CUFFT_C2C, 1);\n}\n",
                   "spmm.cu:+2"),
    "loads": ({}, "#include <dlfcn.h>\n", 'void* used() { return dlopen("libcublas.so", RTLD_NOW); }\n', "spmm.cu:+1"),
    "loads_weakly": ({}, 'extern "C" __attribute__((weak)) void* dlopen(const char*, int) noexcept;\n',
                     "void* used() { return dlopen ? dlopen(0, 1) : nullptr; }\n", "spmm.cu:+1"),
    "hides_the_name": ({}, 'extern "C" void other();\nasm(".symver other,dlopen@GLIBC_2.2.5");\n',
                       "void used() { other(); }\n", "spmm.cu"),
}  # fmt: skip
CALLS = sorted(name for name, (*_, place) in CLASS.items() if place)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them as a class."""
    scratch = tmp_path_factory.mktemp("libraries")
    for name, (files, before, behind, _) in CLASS.items():
        for file, text in {**files, "spmm.cu": before + NAIVE + behind}.items():
            (scratch / "class" / name / file).parent.mkdir(parents=True, exist_ok=True)
            (scratch / "class" / name / file).write_text(text, encoding="utf-8")
    done = warpgrade("grade", scratch / "class", "--run", scratch / "run", "--backend", "emulator", "--cases", CASE)
    assert done.returncode == 0, done.stdout + done.stderr
    return scratch / "run"


def of(run: Path, name: str) -> tuple[dict[str, Any], str]:
    """The outcome of a submission, and its notes."""
    (record,) = [r for r in records_of(run) if r["submission"]["id"] == name]
    description = json.loads((run / "run.json").read_text(encoding="utf-8"))
    (submission,) = [s for s in description["submissions"] if s["id"] == name]
    return record["outcome"], " ".join(submission.get("notes", []))


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("includes", "spmm.cu:1 includes cublas_v2.h"),
        ("links", "Makefile links cublas"),
        ("links_by_cmake", "CMakeLists.txt links cusparse"),
        ("thrust", ""),
        ("looks", ""),
    ],
)
def test_a_library_that_is_not_called_costs_nothing_and_is_told(run: Path, name: str, note: str) -> None:
    outcome, notes = of(run, name)
    assert outcome["verdict"] == "accepted", outcome
    assert note in notes if note else notes == ""


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_a_compile_error_with_its_line(run: Path, name: str) -> None:
    _, before, _, place = CLASS[name]
    file, _, line = place.partition(":+")
    if line:
        place = f"{file}:{(before + NAIVE).count(chr(10)) + int(line)}"
    outcome, _ = of(run, name)
    assert (outcome["verdict"], outcome["reason"]) == ("compile_error", "forbidden_library"), outcome
    assert outcome["message"].startswith(f"{place} calls "), (place, outcome["message"])
    called = "dlopen" if "load" in name or "hides" in name else "cublasCreate_v2"
    assert ("cufftPlan1d" if name == "transforms" else called) in outcome["message"]


def test_the_student_reads_the_note_on_the_page(run: Path) -> None:
    done = warpgrade("export", run, "--format", "feedback", "--unfinished", "leave-empty")
    assert done.returncode == 0, done.stderr
    page = (run / "export/feedback/includes/index.html").read_text(encoding="utf-8")
    assert "spmm.cu:1 includes cublas_v2.h, a library that is not linked here. The line costs nothing" in page


def judge_baselines(
    tmp_path: Path, lab: str, folders: list[str], cases: list[str], *options: str
) -> list[dict[str, Any]]:
    """The vendor's solutions of a lab as references, on the emulator, by a policy that allows --direct."""
    policy = tmp_path / "policy.yaml"
    text = (ROOT / f"grader/policies/{lab}.yaml").read_text(encoding="utf-8")
    policy.write_text(text + "\nhost_isolation: any\n", encoding="utf-8")
    references = [word for folder in folders for word in ("--reference", ROOT / "reference" / lab / folder)]
    chosen = [word for case in cases for word in ("--cases", case)]
    done = warpgrade(
        "grade", "--lab", lab, *references, "--run", tmp_path / "run", "--backend", "emulator", "--policy", policy,
        *chosen, *options,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = [record["outcome"] for record in records_of(tmp_path / "run")]
    assert len(outcomes) == len(folders) * len(cases)
    return outcomes


VENDORS = [
    (
        "spmm",
        ["vendor/cusparse_default", "vendor/cusparse_best"],
        [CASE, "synth-empty-rows-k32", "synth-all-empty-k32", "synth-duplicates-k32"],
    ),
    ("gcn", ["vendor/cublas_cusparse"], ["aggregate-hub", "aggregate-no-entries", "pipeline-even"]),
]


@pytest.mark.parametrize(("lab", "folders", "cases"), VENDORS, ids=[lab for lab, *_ in VENDORS])
def test_a_vendors_baseline_is_judged_right_without_a_gpu(
    tmp_path: Path, lab: str, folders: list[str], cases: list[str]
) -> None:
    for outcome in judge_baselines(tmp_path, lab, folders, cases, "--direct"):
        assert outcome["verdict"] == "accepted", outcome


def test_a_vendors_baseline_needs_direct(tmp_path: Path) -> None:
    (outcome,) = judge_baselines(tmp_path, "spmm", ["vendor/cusparse_default"], [CASE])
    assert (outcome["verdict"], outcome["reason"]) == ("compile_error", "needs_direct")
    assert "calls cusparse is judged with --direct alone" in outcome["message"]
