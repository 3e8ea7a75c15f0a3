"""A submission may use instructions that one architecture alone has, as NVIDIA's CUTLASS kernels for Hopper do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import warpgrade
from corpus import BACKEND

# __CUDA_ARCH_FEAT_SM90_ALL: "Architecture-Specific Features" in NVIDIA's CUDA C++ programming guide.
SOURCE = r"""
#include "warpgrade/vector_add.h"

__global__ void add_kernel(const float* x, const float* y, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  if (i < n) out[i] = x[i] + y[i];
#endif
}

cudaError_t vector_add_run(const float* x, const float* y, int n, float* out, cudaStream_t stream) {
  add_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, out, n);
  return cudaGetLastError();
}
"""


@pytest.mark.skipif(BACKEND != "emulator", reason="a GPU may be of another architecture")
def test_a_program_for_hopper_alone_is_compiled_and_accepted(tmp_path: Path) -> None:
    (tmp_path / "vector_add.cu").write_text(SOURCE, encoding="utf-8")
    words: list[str | Path] = ["check", tmp_path, "--lab", "vector_add", "--cases", "public", "--backend", "emulator"]
    done = warpgrade(*words, env={**os.environ, "WARPGRADE_EMULATOR_ARCH": "90"})
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("asked", ["9o", "37", "", "9000"])
def test_an_architecture_that_is_none_is_told_as_such(tmp_path: Path, asked: str) -> None:
    """Not as a mistake of our own sources, which nvcc would refuse for it."""
    (tmp_path / "vector_add.cu").write_text(SOURCE, encoding="utf-8")
    words: list[str | Path] = ["check", tmp_path, "--lab", "vector_add", "--backend", "emulator"]
    done = warpgrade(*words, env={**os.environ, "WARPGRADE_EMULATOR_ARCH": asked})
    assert done.returncode == 1, done.stdout + done.stderr
    assert "WARPGRADE_EMULATOR_ARCH: expected a compute capability of 7.5 or more without its dot" in done.stderr
    assert f"got '{asked}'" in done.stderr
