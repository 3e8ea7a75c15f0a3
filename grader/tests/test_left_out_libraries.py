"""Every library of NVIDIA's that the emulator leaves out is there, and each of its functions says so by name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ROOT / os.environ.get("BUILD", "build") / "emulator"
SPEC = spec_from_file_location("record_names", ROOT / "grader/emulator/tests/record_names.py")
assert SPEC and SPEC.loader
record_names = module_from_spec(SPEC)
SPEC.loader.exec_module(record_names)
RECORDED = sorted(record_names.NAMES.iterdir())
PARTLY_THERE = {
    "libcublasLt.so.13": "test_libraries.cpp",
    "libcufft.so.12": "test_cufft.py",
    "libcusparse.so.12": "test_cusparse.py",
    "libnccl.so.2": "test_nccl.cpp",
}  # and what tests the functions that it has

# Need no GPU, or are loaded by a library that the emulator stands for.
UNANSWERED = ("libnvrtc", "libnvvm", "libnvfatbin", "libcudnn_engines", "libcudnn_heuristic", "libOpenCL")

# Calls every function of a library by its name, whatever its parameters: a stub looks at none.
ASKS = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
for name in sys.argv[2:]:
    function = library[name]
    function.restype = ctypes.c_void_p
    for _ in range(2):
        function()
"""


def library_of(record: Path) -> Path:
    """With the soname of the toolkit's own library, where it has one of another version."""
    name = record.name[: record.name.index(".so")]
    found = sorted(LIBRARIES.glob(f"{name}.so*"))
    assert len(found) == 1, f"{LIBRARIES} has {found} for {record.name}"
    return found[0]


def own_functions(library: Path) -> set[str]:
    """Those that the emulator has: stubs are weak symbols."""
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    return set(re.findall(r" T (\w+)", symbols.stdout)) - {"left_out_call"}  # libnvblas exports all that it has


def ask(library: Path, names: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", ASKS, library, *names], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("record", RECORDED, ids=lambda record: record.name)
def test_each_function_is_refused_by_name_and_once(record: Path) -> None:
    library = library_of(record)
    recorded = record_names.decode(record.read_text())
    own = own_functions(library)
    assert own <= set(recorded), "functions that NVIDIA's library does not have"
    names = [name for name in recorded if name not in own]
    assert len(names) > 2 and len(set(names)) == len(names)
    assert not own or record.name in PARTLY_THERE, own
    if record.name.startswith("libnvblas"):  # its functions return nothing: a call ends the program
        asked = ask(library, names[:1])
        assert asked.returncode == 1
        names = names[:1]
    else:
        asked = ask(library, names)
        assert asked.returncode == 0, asked.stderr[-2000:]
    lines = asked.stderr.splitlines()
    if record.name.startswith(("libnvToolsExt", "libnvtx3interop")):  # marks for a profiler: nothing is left out
        assert lines == []
        return
    said = [line for line in lines if line.startswith("emulator: ")]
    for name, line in zip(names, said, strict=True):
        assert line.startswith(f"emulator: unsupported call of {name} ("), line
        assert line.endswith("): it needs a GPU")
    assert [line for line in lines if line not in said] == [lines[1]]  # what to do, once
    assert lines[1].startswith("  ") and lines[1].endswith(".")


def test_each_library_of_the_toolkit_is_answered() -> None:
    """By one with its soname, but for those that no program comes to."""
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "lib64"
    sonames = {record_names.soname_of(path) for path in toolkit.glob("*.so*") if path.resolve().is_file()}
    if not sonames:
        pytest.skip("the toolkit has no libraries")
    left = {name for name in sonames if not (LIBRARIES / name).exists()}
    assert not {name for name in left if not name.startswith(UNANSWERED)}, "NVIDIA's own would be loaded"


def test_records_are_complete() -> None:
    """Beside what this machine's toolkit has: the record knows each name, but for those of newer versions."""
    toolkit = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "lib64"
    compared = 0
    for record in RECORDED:
        own = toolkit / record.name
        if not own.exists():
            continue
        compared += 1
        assert record_names.exported_functions(own) == record_names.decode(record.read_text()), record.name
    if compared == 0:
        pytest.skip("the toolkit has none of the recorded libraries")


def test_the_record_of_names_can_be_read_back() -> None:
    names = ["a", "ab", "abc", "b", "nppiAbs_16s_AC4IR", "nppiAbs_16s_AC4IR_Ctx", "x" * 80 + "1", "x" * 80 + "2"]
    assert record_names.decode(record_names.encode(names)) == names
