"""Descriptors of the emulator's cuBLASLt against those of NVIDIA's own library, which makes them without a GPU."""

from __future__ import annotations

import ctypes as c
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLKIT = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
OURS = sorted((ROOT / os.environ.get("BUILD", "build") / "emulator").glob("libcublasLt.so.*"))
THEIRS = [TOOLKIT / "lib64" / ours.name for ours in OURS if (TOOLKIT / "lib64" / ours.name).exists()]
HEADER = TOOLKIT / "include/cublasLt.h"
INVALID = 7

pytestmark = pytest.mark.skipif(not THEIRS or not HEADER.exists(), reason="the toolkit has no cuBLASLt to compare with")

# A kind of descriptor: the enumerators of its attributes, what makes it behind the place of the pointer.
KINDS = {
    "MatrixLayout": ("CUBLASLT_MATRIX_LAYOUT_", (c.c_int(2), c.c_uint64(5), c.c_uint64(7), c.c_int64(9))),
    "MatmulDesc": ("CUBLASLT_MATMUL_DESC_", (c.c_int(68), c.c_int(0))),
    "MatmulPreference": ("CUBLASLT_MATMUL_PREF_", ()),
    "MatrixTransformDesc": ("CUBLASLT_MATRIX_TRANSFORM_DESC_", (c.c_int(0),)),
    "EmulationDesc": ("CUBLASLT_EMULATION_DESC_", ()),
}


def library(ours: bool) -> c.CDLL:
    return c.CDLL(str(OURS[0] if ours else THEIRS[0]))


def attributes(prefix: str) -> dict[str, int]:
    """Those that the toolkit's header declares."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    found: dict[str, int] = {}
    for name, value in re.findall(rf"^\s*({prefix}\w+)(?:\s*=\s*(\d+))?,", text, re.MULTILINE):
        found[name] = int(value) if value else len(found)
    return found


def answers(lib: c.CDLL, kind: str, number: int) -> list[object]:
    """What a new descriptor says of an attribute, asked and set with right and wrong sizes."""
    get, put = lib[f"cublasLt{kind}GetAttribute"], lib[f"cublasLt{kind}SetAttribute"]
    made = c.c_void_p()
    said: list[object] = [lib[f"cublasLt{kind}Create"](c.byref(made), *KINDS[kind][1])]
    size, written = c.c_size_t(99), c.c_size_t(99)
    said += [get(made, number, None, c.c_size_t(0), c.byref(size)), size.value]
    value = (c.c_ubyte * 16)()
    for asked in (size.value, size.value + 1, size.value - 1 or 3):
        said += [get(made, number, value, c.c_size_t(asked), c.byref(written)), bytes(value), written.value]
    said.append(get(made, number, value, size, None))
    said.append(get(made, number, None, size, c.byref(written)))
    said.append(get(made, number, None, c.c_size_t(0), None))
    new = (c.c_ubyte * 16)(1)
    for buffer, asked in ((None, size.value), (new, size.value + 1), (new, size.value - 1), (new, size.value)):
        said += [put(made, number, buffer, c.c_size_t(asked)), get(made, number, value, size, None), bytes(value)]
    said.append(put(None, number, new, size))
    return [*said, lib[f"cublasLt{kind}Destroy"](made)]


@pytest.mark.parametrize("kind", KINDS)
def test_descriptors_answer_like_nvidias(kind: str) -> None:
    ours, theirs = library(True), library(False)
    declared = attributes(KINDS[kind][0])
    if kind != "EmulationDesc":  # which older headers lack
        assert len(declared) >= 4
    for name, number in declared.items():
        assert answers(ours, kind, number) == answers(theirs, kind, number), name
    for unknown in (-1, 99):
        size = c.c_size_t()
        made = c.c_void_p()
        for lib in (ours, theirs):
            assert lib[f"cublasLt{kind}Create"](c.byref(made), *KINDS[kind][1]) == 0
            assert lib[f"cublasLt{kind}GetAttribute"](made, unknown, None, c.c_size_t(0), c.byref(size)) == INVALID
    for lib in (ours, theirs):
        assert lib[f"cublasLt{kind}Create"](None, *KINDS[kind][1]) == INVALID
        assert lib[f"cublasLt{kind}Destroy"](None) == 0


def test_handles_statuses_and_versions_are_like_nvidias() -> None:
    said = []
    for lib in (library(True), library(False)):
        for number in (lib.cublasLtGetVersion, lib.cublasLtGetCudartVersion):
            number.restype = c.c_size_t
        for text in (lib.cublasLtGetStatusName, lib.cublasLtGetStatusString):
            text.restype = c.c_char_p
        texts = [(lib.cublasLtGetStatusName(code), lib.cublasLtGetStatusString(code)) for code in range(20)]
        value = c.c_int()
        properties = [(lib.cublasLtGetProperty(kind, c.byref(value)), value.value) for kind in range(4)]
        nothing = (lib.cublasLtCreate(None), lib.cublasLtDestroy(None))
        said.append((lib.cublasLtGetVersion(), lib.cublasLtGetCudartVersion(), texts, properties, nothing))
    assert said[0] == said[1]


def test_configurations_of_an_algorithm_are_like_nvidias() -> None:
    said = []
    for lib in (library(True), library(False)):
        algorithm = (c.c_uint64 * 8)()
        sizes = []
        for number in attributes("CUBLASLT_ALGO_CONFIG_").values():
            written = c.c_size_t()
            get = lib.cublasLtMatmulAlgoConfigGetAttribute
            sizes.append((get(algorithm, number, None, c.c_size_t(0), c.byref(written)), written.value))
        said.append(sizes)
    assert said[0] == said[1] and len(said[0]) >= 9
