"""What a student sees of `make test` and `warpgrade check` when a stub does not compile or a name is mistyped."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, WARPGRADE, warpgrade

COMPLAINT = "apsp.cu(1): error"
PROGRESS = re.compile(r"  (\[\d+/\d+\]|\w+: compiling)")  # a line every few seconds where the machine is busy


@pytest.fixture
def student(tmp_path: Path) -> Path:
    """A student's folder: lab apsp does not compile, lab histogram is not written."""
    (tmp_path / "apsp").mkdir()
    (tmp_path / "apsp/apsp.cu").write_text("int f() { return 1 }\n", encoding="utf-8")
    shutil.copytree(ROOT / "student/histogram", tmp_path / "histogram")
    return tmp_path


def student_test(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs what `make test` runs."""
    done = warpgrade("test", "--backend=emulator", *arguments, timeout=600)
    done.stdout = "".join(line for line in done.stdout.splitlines(keepends=True) if not PROGRESS.match(line))
    return done


def test_all_labs_are_tested_and_what_does_not_compile_is_said_once(student: Path) -> None:
    done = student_test(f"--folder={student}")
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stdout.count(COMPLAINT) == 2, done.stdout  # of the lab, and in the last line
    assert done.stdout.count("complete-31") == 1
    assert "the same in 12 other cases: complete-31, " in done.stdout
    assert "histogram: 11 cases\n  not written yet: 11 cases" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("fix first (13 of 13 cases of apsp fail): compile_error: apsp.cu(1)")
    again = done.stdout.splitlines()[-1].split("again: ")[1]
    assert again.endswith(f" test apsp --folder {student}"), again
    # `warpgrade` is what it is called where it is installed.
    path = f"{Path(WARPGRADE).parent}:{os.environ['PATH']}"
    repeated = subprocess.run(
        shlex.split(again), cwd=ROOT, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )
    assert repeated.returncode == 3 and COMPLAINT in repeated.stdout, repeated.stdout + repeated.stderr


def test_a_case_that_one_lab_has_is_found_without_naming_the_lab(student: Path) -> None:
    done = student_test(f"--folder={student}", "--case=one-id")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "histogram: 1 case\n" in done.stdout
    assert "apsp:" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--case=one-idd",), "no case 'one-idd' in any lab"),
        (("apsp", "--case=one-id"), "no case 'one-id' in lab apsp"),
        (("apps",), "no lab is named 'apps'"),
        (("gcn",), "has no folder gcn"),
    ],
)
def test_nothing_to_test_is_an_error_that_says_what_was_not_found(
    student: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = student_test(f"--folder={student}", *arguments)
    assert done.returncode == 1, done.stdout
    assert words in done.stderr, done.stderr


def test_check_says_once_what_all_cases_share(student: Path) -> None:
    done = warpgrade("check", student / "apsp", "--lab", "apsp", "--backend", "emulator")
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stdout.count(COMPLAINT) == 1, done.stdout
    assert "compile_error complete-31: as above" in done.stdout


@pytest.mark.parametrize(("given", "wanted"), [((), ""), (("LAB=apsp",), ' test "$LAB" ')])
def test_make_test_takes_all_labs_unless_one_is_named(given: tuple[str, ...], wanted: str) -> None:
    clean = {name: value for name, value in os.environ.items() if name != "LAB"}
    recipe = subprocess.run(
        ["make", "--dry-run", "test", *given], cwd=ROOT, env=clean, capture_output=True, text=True, check=True
    ).stdout.splitlines()[-1]
    assert '"$LAB"' in recipe if wanted else '"$LAB"' not in recipe
    assert wanted in recipe


LAUNCH = """cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  cell_kernel<<<(a.rows * k + 255) / 256, 256, 0, stream>>>(a, k, b, c);
  return cudaGetLastError();
}"""
SPMM = """#include "warpgrade/spmm.h"
__global__ void cell_kernel(CsrMatrix a, int k, const float* b, float* c) {
  const int cell = blockIdx.x * blockDim.x + threadIdx.x;
  if (cell >= a.rows * k) return;
  const int row = cell / k;
  float sum = 0;
  for (int e = a.row_offsets[row]; e < a.row_offsets[row + 1]; ++e)
    sum += a.values[e] * b[OFFSET];
  c[cell] = sum;
}
cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}
void spmm_free(SpmmPlan*) {}
"""
OFFSET = "(size_t)a.columns[e] * k + cell % k"


def spmm_folder(folder: Path, source: str) -> Path:
    """A student's folder with this spmm.cu alone."""
    (folder / "spmm").mkdir()
    (folder / "spmm/spmm.cu").write_text(source, encoding="utf-8")
    return folder


def test_a_right_program_ends_with_the_command_that_hands_it_in(tmp_path: Path) -> None:
    folder = spmm_folder(tmp_path, SPMM.replace("OFFSET", OFFSET) + LAUNCH)
    done = student_test(f"--folder={folder}", "--case=synth-*-k32")
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.startswith("all cases are right: spmm (12); hand it in: ")
    assert last.endswith(f" submit {folder / 'spmm'} --lab spmm"), last
    seconds = [float(line.split()[-2]) for line in done.stdout.splitlines() if line.startswith("  ok")]
    assert len(seconds) == 12
    assert sum(second > 0 for second in seconds) > 5, done.stdout
    assert "test_command.cpp" not in done.stdout


def test_an_offset_in_32_bits_is_found_on_the_emulator(tmp_path: Path) -> None:
    folder = spmm_folder(tmp_path, SPMM.replace("OFFSET", "a.columns[e] * k + cell % k") + LAUNCH)
    done = student_test(f"--folder={folder}", "--case=far-columns-k256")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "runtime_error" in done.stdout
    assert "spmm.cu:8" in done.stdout, done.stdout


def test_an_offset_in_64_bits_is_right_there(tmp_path: Path) -> None:
    folder = spmm_folder(tmp_path, SPMM.replace("OFFSET", OFFSET) + LAUNCH)
    done = student_test(f"--folder={folder}", "--case=far-columns-k256")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split()[:2] for line in done.stdout.splitlines() if line.startswith("  ")] == [
        ["ok", "far-columns-k256"]
    ]


def test_a_kernel_on_the_default_stream_is_noted_beside_accepted(tmp_path: Path) -> None:
    folder = spmm_folder(tmp_path, SPMM.replace("OFFSET", OFFSET) + LAUNCH.replace(", 0, stream>>>", ">>>"))
    done = student_test(f"--folder={folder}", "--case=synth-identity-k32")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "a kernel is launched on the default stream" in done.stdout
    assert "kernel<<<grid, block, shared_bytes, stream>>>" in done.stdout


def test_what_a_right_program_prints_is_shown(tmp_path: Path) -> None:
    naive = (ROOT / "reference/vector_add/naive/vector_add.cu").read_text(encoding="utf-8")
    printing = '  if (i == 0) printf("the first sum is of %d\\n", n);\n'
    source = "#include <cstdio>\n" + naive.replace("  if (i < n) c[i]", printing + "  if (i < n) c[i]")
    assert source.count("printf") == 1
    (tmp_path / "vector_add").mkdir()
    (tmp_path / "vector_add/vector_add.cu").write_text(source, encoding="utf-8")
    done = warpgrade("test", "vector_add", "--folder", tmp_path, "--backend", "emulator", "--case", "*e")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the program printed in " in done.stdout and "(and in 3 other cases):\nthe first sum is of " in done.stdout
    done = warpgrade("check", tmp_path / "vector_add", "--lab", "vector_add", "--backend", "emulator", "--cases", "odd")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok odd\n  the program printed in odd:\nthe first sum is of 1000\n" in done.stdout


def test_an_endless_loop_ends_the_labs_run_in_seconds(tmp_path: Path) -> None:
    loop = "for (volatile int forever = 1; forever;) sum += 1;\n  for ("
    folder = spmm_folder(tmp_path, SPMM.replace("OFFSET", OFFSET).replace("for (", loop, 1) + LAUNCH)
    done = student_test(f"--folder={folder}", "--case=synth-*-k32")
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stdout.count("time_limit") <= 4, done.stdout
    assert "stopped at the time limit of synth-uniform-k32: 11 more cases" in done.stdout
    assert "warp instructions" in done.stdout
    again = f" test spmm --case synth-uniform-k32 --folder {folder}"
    assert done.stdout.splitlines()[-1].endswith(again), done.stdout


def test_one_mistake_in_many_cases_is_told_once_with_their_names(tmp_path: Path) -> None:
    folder = spmm_folder(tmp_path, SPMM.replace("OFFSET", OFFSET).replace("sum = 0;", "sum = 1;") + LAUNCH)
    done = student_test(f"--folder={folder}", "--case=synth-[uri]*-k32")
    assert done.returncode == 3
    assert done.stdout.count("    again: ") == 1, done.stdout
    assert "the same in 3 other cases: synth-ragged-k32, synth-identity-k32, synth-ragged-variant-k32" in done.stdout


def test_another_cuda_than_the_builds_is_no_fault_of_the_submission(tmp_path: Path) -> None:
    folder = spmm_folder(tmp_path, SPMM.replace("OFFSET", OFFSET) + LAUNCH)
    (tmp_path / "emulator").mkdir()
    done = warpgrade(
        "test",
        "--backend=emulator",
        f"--folder={folder}",
        env={**os.environ, "WARPGRADE_EMULATOR": str(tmp_path / "emulator")},
        timeout=600,
    )
    assert done.returncode == 1
    assert "no fault of your code" in done.stdout, done.stdout
    assert "this build was made with another" in done.stdout


def test_submit_says_that_it_packs_the_stub(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "student/histogram", tmp_path / "histogram")
    archive = tmp_path / "histogram.tar.gz"
    done = warpgrade("submit", tmp_path / "histogram", "--lab", "histogram", "--output", archive)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning: this packs an unwritten stub: histogram.cu:" in done.stdout
