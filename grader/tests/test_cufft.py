"""The emulator's cuFFT against numpy's transforms, and against the answers of NVIDIA's own library to mistakes."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ROOT / os.environ.get("BUILD", "build") / "emulator"
TOOLKIT = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "lib64"

# Calls that need no device, by NVIDIA's library as well: it looks at these arguments before it looks for one. No
# plan exists. The last words of each: `size`, `value` and `plan` stand for pointers, `null` for none.
CALLS = """
cufftGetVersion value
cufftGetVersion null
cufftGetProperty 0 value
cufftGetProperty 1 value
cufftGetProperty 2 value
cufftGetProperty 7 value
cufftGetProperty 0 null
cufftCreate null
cufftDestroy 77
cufftDestroy 0
cufftDestroy -1
cufftSetStream 77 null
cufftSetAutoAllocation 77 0
cufftSetWorkArea 77 null
cufftGetSize 77 size
cufftExecC2C 77 null null -1
cufftExecC2C 77 null null 5
cufftExecD2Z 77 null null
cufftXtExec 77 null null -1
cufftPlan1d null 8 0x29 1
cufftMakePlan1d 77 8 0x29 1 null
cufftMakePlan1d 77 8 0x29 1 size
cufftMakePlan1d 77 -8 0x29 1 size
cufftMakePlan1d 77 8 3 1 size
cufftMakePlan1d 77 -8 3 -1 size
cufftMakePlan2d 77 8 0 0x6a size
cufftMakePlan2d 77 8 8 0x6a null
cufftMakePlan3d 77 8 8 -1 0x2c size
cufftMakePlan3d 77 8 8 8 0x2b size
cufftMakePlanMany 77 0 numbers null 1 0 null 1 0 0x29 1 size
cufftMakePlanMany 77 4 numbers null 1 0 null 1 0 0x29 1 size
cufftMakePlanMany 77 -1 numbers null 1 0 null 1 0 0x29 1 size
cufftMakePlanMany 77 1 null null 1 0 null 1 0 0x29 1 size
cufftMakePlanMany 77 1 numbers null 1 0 null 1 0 0x29 1 null
cufftMakePlanMany 77 1 numbers null 1 0 null 1 0 0x29 1 size
cufftMakePlanMany 77 1 numbers numbers 0 -8 numbers 1 8 0x29 2 size
cufftGetSize1d 77 8 0x29 1 size
cufftXtMakePlanMany 77 5 numbers null 1 0 4 null 1 0 4 1 size 4
cufftXtMakePlanMany 77 1 numbers null 1 0 4 null 1 0 4 1 null 4
cufftXtMakePlanMany 77 1 numbers null 1 0 2 null 1 0 6 1 size 6
cufftXtMakePlanMany 77 1 numbers null 1 0 0 null 1 0 0 1 size 0
cufftXtGetSizeMany 77 1 numbers null 1 0 4 null 1 0 5 1 size 4
"""
ASKS = """
import ctypes, sys
for path in sys.argv[1:]:
    library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
pointers = {name: (ctypes.c_longlong * 8)(*[8] * 8) for name in ("value", "size", "plan", "numbers")}
for line in sys.stdin:
    name, *words = line.split()
    pointers["value"][0] = -1
    arguments = [pointers.get(w) if w.isalpha() else int(w, 0) for w in words]
    print(line.strip(), "->", library[name](*arguments), ctypes.c_int(pointers["value"][0]).value)
"""


def library(name: str) -> Path:
    (path,) = LIBRARIES.glob(f"lib{name}.so.*")
    return path


@pytest.fixture(autouse=True)
def _is_built() -> None:
    symbols = subprocess.run(["nm", "-D", library("cufft")], capture_output=True, text=True, check=True).stdout
    if " T cufftPlan1d" not in symbols:
        pytest.skip("the emulator is built without kissfft")


@pytest.mark.parametrize("seed", [1, 2, random.randrange(10**9)], ids=["first", "second", "random"])
def test_random_transforms_are_those_of_numpy(seed: int) -> None:
    script = Path(__file__).parent / "cufft_against_numpy.py"
    done = subprocess.run(
        [sys.executable, script, LIBRARIES, "300", str(seed)], capture_output=True, text=True, timeout=300, check=False
    )
    print(done.stdout + done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"seed {seed}: 300 transforms are right")


def answers(*paths: Path) -> list[str]:
    ask: list[str | Path] = [sys.executable, "-c", ASKS, *paths]
    done = subprocess.run(ask, input=CALLS.strip(), capture_output=True, text=True, timeout=120, check=True)
    return [line for line in done.stdout.split("\n") if line]


def test_mistakes_have_the_codes_of_nvidias_library() -> None:
    theirs = TOOLKIT / library("cufft").name
    if not theirs.exists():
        pytest.skip(f"the toolkit has no {theirs.name}")
    ours = answers(library("cudart"), library("cufft"))
    assert len(ours) == len(CALLS.strip().split("\n"))
    assert ours == answers(theirs)
