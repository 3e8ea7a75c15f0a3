"""The emulator's declarations of NCCL (nccl_api.h) are those of NVIDIA's nccl.h, where one is found."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OWN = ROOT / "grader/emulator/libraries/nccl/nccl_api.h"
TOOLKIT = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include"
# NCCL_HEADERS: the include folder of a wheel (nvidia-nccl-cu13), for instance.
HEADERS = Path(os.environ.get("NCCL_HEADERS", TOOLKIT)) / "nccl.h"

MAIN = """
#include <cstdio>
#include <cstddef>
#include <typeinfo>
template <class T> struct Shape;
template <class R, class... A> struct Shape<R(A...)> {
  static void print(const char* name) {
    std::printf("%s %s", name, typeid(R).name());
    const char* types[] = {typeid(A).name()..., ""};
    for (const char* type : types) std::printf(" %s", type);
    std::puts("");
  }
};
int main() {
"""


def described(header: Path, functions: list[str], values: list[str], folder: Path) -> str:
    lines = [f'Shape<decltype({name})>::print("{name}");' for name in functions]
    lines += [f'std::printf("{name} %lld\\n", static_cast<long long>({name}));' for name in values]
    lines += [
        'std::printf("%zu %zu\\n", sizeof(ncclUniqueId), sizeof(ncclRedOp_t));',
        'std::printf("%zu %zu\\n", offsetof(ncclConfig_t, magic), offsetof(ncclConfig_t, blocking));',
    ]
    source = folder / "describe.cpp"
    source.write_text(f'#include "{header}"\n' + MAIN + "\n".join(lines) + "\n}\n")
    program = folder / "describe"
    subprocess.run(["g++", "-std=c++17", "-isystem", TOOLKIT, "-o", program, source], check=True)
    shown = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return re.sub(r"\d+ncclConfig_\w+", "ncclConfig", shown)  # its name has the version


def test_functions_and_constants_are_those_of_nvidias_header(tmp_path: Path) -> None:
    if not HEADERS.exists():
        pytest.skip(f"no {HEADERS}: NCCL_HEADERS names a folder with nccl.h")
    text = OWN.read_text()
    functions = sorted(set(re.findall(r"\b(nccl\w+)\(", text)))
    values = re.findall(r"^  (nccl\w+) = ", text, re.MULTILINE)
    values += ["NCCL_UNIQUE_ID_BYTES", "NCCL_CONFIG_UNDEF_INT", "NCCL_SPLIT_NOCOLOR"]
    assert len(functions) > 30
    assert len(values) > 35
    ours = described(OWN, functions, values, tmp_path)
    assert ours == described(HEADERS, functions, values, tmp_path)
