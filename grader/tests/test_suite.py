"""grader/emulator/tests/suite.py: a small suite of which each program ends in another way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "grader/emulator/tests/suite.py"

SUM = """
#include <cstdio>
__global__ void add(const float* x, float* sum) { atomicAdd(sum, x[threadIdx.x + OFFSET]); }
int main() {
  float x[32], *d, sum = 0;
  for (int i = 0; i < 32; ++i) x[i] = i / 3.0f;
  cudaMalloc(&d, 33 * sizeof(float));
  cudaMemcpy(d, x, sizeof x, cudaMemcpyHostToDevice);
  cudaMemset(d + 32, 0, sizeof sum);
  add<<<1, 32>>>(d, d + 32);
  cudaMemcpy(&sum, d + 32, sizeof sum, cudaMemcpyDeviceToHost);
  std::printf("time %d ms\\nsum %.7g\\n", TIME, sum);
}
"""
SPIN = """
__global__ void spin(volatile int* x) { while (*x == 0) {} }
int main() {
  int* d;
  cudaMalloc(&d, 4);
  cudaMemset(d, 0, 4);
  spin<<<1, 1>>>(d);
  cudaDeviceSynchronize();
}
"""
TRANSFORM = """
#include <cstdio>
extern "C" int cufftXtSetGPUs(int, int, int*);
int main() { int devices[2] = {}; std::printf("%d\\n", cufftXtSetGPUs(1, 2, devices)); }
"""
LIST = """
- {name: sum, flags: [-DOFFSET=0, -DTIME=7], tolerance: 1.0e-5, ignore: ["^time"]}
- {name: timed, sources: [sum.cu], flags: [-DOFFSET=0, -DTIME=7], tolerance: 1.0e-5, expected: sum.expected}
- {name: outside, sources: [sum.cu], flags: [-DOFFSET=2, -DTIME=7], expected: sum.expected}
- {name: spin, seconds: 2}
- {name: transform, flags: [-L., "-l:libcufft.so"]}
- {name: unbuilt, sources: [none.cu]}
- {name: unlike, build: "true", run: "exit 3"}
"""


def test_each_program_is_told_apart(tmp_path: Path) -> None:
    for name, text in {"sum.cu": SUM, "spin.cu": SPIN, "transform.cu": TRANSFORM, "list.yaml": LIST}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "sum.expected").write_text("time 3 ms\nsum 165.3334\n")  # 496 / 3, rounded otherwise
    (tmp_path / "libcufft.so").symlink_to(next((ROOT / "build/emulator").glob("libcufft.so.*")))
    command: list[str | Path] = [
        sys.executable,
        SUITE,
        tmp_path,
        tmp_path / "list.yaml",
        "--json",
        tmp_path / "ended.json",
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    ended = {entry["name"]: entry for entry in json.loads((tmp_path / "ended.json").read_text())}
    assert {name: entry["ended"] for name, entry in ended.items()} == {
        "sum": "right",
        "timed": "wrong",
        "outside": "fault",
        "spin": "slow",
        "transform": "missing",
        "unbuilt": "fails",
        "unlike": "fails",
    }, ran.stdout
    assert ended["timed"]["why"] == "word 2 is '7', on the GPU '3'"
    assert "out_of_bounds at sum.cu:3" in ended["outside"]["why"]
    assert "cufftXtSetGPUs (cuFFT)" in ended["transform"]["why"]
    assert ran.returncode == 1
    assert ran.stdout.splitlines()[-2].split() == ["programs", "right", "wrong", "missing", "fault", "slow", "fails"]
    assert ran.stdout.splitlines()[-1].split() == ["7", "1", "1", "1", "1", "1", "2"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- {name: sum, flag: [-O3]}\n", "sum: unknown keys flag"),
        ("name: [sum\n", "list.yaml: this is no YAML"),
        (None, "list.yaml: the list of programs cannot be read"),
    ],
)
def test_a_mistake_in_the_list_is_named(tmp_path: Path, text: str | None, words: str) -> None:
    if text is not None:
        (tmp_path / "list.yaml").write_text(text)
    command: list[str | Path] = [sys.executable, SUITE, tmp_path, tmp_path / "list.yaml"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr
