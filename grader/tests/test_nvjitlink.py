"""The emulator's nvJitLink beside NVIDIA's own (of the toolkit, 13.0), which links without a GPU.

Both get the same options and inputs; codes, the sizes that there are and the logs are the same. What is linked is PTX
here, which the driver loads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Words

LIBRARIES = ROOT / os.environ.get("BUILD", "build") / "emulator"
TOOLKIT = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
OURS = sorted(LIBRARIES.glob("libnvJitLink.so.*"))
THEIRS = sorted((TOOLKIT / "lib64").glob("libnvJitLink.so.1[0-9]"))
HEAD = ".version 8.0\n.target sm_70\n.address_size 64\n"
CALLER = (
    HEAD + ".extern .func (.param .b32 r) next (.param .b32 a);\n"
    ".visible .entry k(.param .u64 p){ .reg .u64 %rd<3>; .reg .u32 %r<2>; ld.param.u64 %rd1,[p]; mov.u32 %r1,6;\n"
    "{.param .b32 a0; .param .b32 r0; st.param.b32 [a0],%r1; call (r0), next, (a0); ld.param.b32 %r1,[r0];}\n"
    "st.global.u32 [%rd1],%r1; ret; }\n"
)
CALLEE = (
    HEAD + ".visible .func (.param .b32 r) next (.param .b32 a){ .reg .u32 %r<3>; ld.param.u32 %r1,[a];\n"
    "add.u32 %r2,%r1,1; st.param.b32 [r],%r2; ret; }\n"
)
ARCH = "-arch=sm_80"
CUBIN, PTX, LTOIR, FATBIN, OBJECT, LIBRARY, ANY = 1, 2, 3, 4, 5, 6, 10

# Links what standard input says by the library that is named; prints each call's answer.
LINKS = """
import ctypes, json, sys
library = ctypes.CDLL(sys.argv[1])
case = json.load(sys.stdin)
said, handle, size = [], ctypes.c_void_p(), ctypes.c_size_t
def there(name):
    bytes_ = size(0)
    code = getattr(library, f"nvJitLinkGet{name}Size")(handle, ctypes.byref(bytes_))
    return [code, bytes_.value]
def text(name):
    code, bytes_ = there(name)
    buffer = ctypes.create_string_buffer(bytes_ + 1)
    if bytes_:
        code = getattr(library, f"nvJitLinkGet{name}")(handle, buffer)
    return [code, buffer.value.decode("latin-1")]
options = [each.encode() for each in case["options"]]
said.append(library.nvJitLinkCreate(ctypes.byref(handle), len(options), (ctypes.c_char_p * len(options))(*options)))
said.append(text("ErrorLog"))
if said[0] == 0:
    said += [there("LinkedCubin")[0], there("LinkedPtx")[0]]
    for kind, data in case["inputs"]:
        data = data.encode("latin-1")
        said.append(library.nvJitLinkAddData(handle, kind, data, size(len(data)), b"part"))
    said.append(library.nvJitLinkAddFile(handle, 2, b"/nowhere/part.ptx"))
    said += [library.nvJitLinkComplete(handle), there("LinkedCubin")[0], there("LinkedPtx")[0], text("ErrorLog")]
    said.append(library.nvJitLinkComplete(handle))
said += [library.nvJitLinkDestroy(ctypes.byref(handle)), bool(handle), library.nvJitLinkDestroy(ctypes.byref(handle))]
print(json.dumps(said))
"""
OPTIONS: list[list[str]] = [
    [], ["-arch=sm_80"], ["-arch=sm_90a"], ["-arch=sm_99"], ["-arch=sm_20"], ["-arch=foo"], ["-bogus"],
    ["-arch", "sm_80"], ["-bogus", ARCH], ["-arch=compute_80"], [ARCH, "-ptx"], [ARCH, "-lto"], [ARCH, "-lto", "-ptx"],
    ["-arch=compute_80", "-lto", "-ptx"], [ARCH, "-O3"], [ARCH, "-O1"], [ARCH, "-O"], [ARCH, "-g", "-lineinfo"],
    [ARCH, "-ftz=2"], [ARCH, "-ftz"], [ARCH, "-maxrregcount"], [ARCH, "--verbose"], [ARCH, "-g=1"], [ARCH, ""],
    [ARCH, "-maxrregcount=32", "-prec-div=0", "-prec-sqrt=1", "-fma=1", "-kernels-used=k", "-variables-used=v"],
    [ARCH, "-Xptxas=-v", "-split-compile=2", "-no-cache", "-optimize-unused-variables", "-jump-table-density=5"],
]  # fmt: skip
INPUTS: dict[str, tuple[list[str], list[tuple[int, str]]]] = {
    "nothing": ([ARCH], []),
    "one text": ([ARCH], [(PTX, CALLEE)]),
    "two texts": ([ARCH], [(PTX, CALLER), (PTX, CALLEE)]),
    "a text with a zero": ([ARCH], [(PTX, CALLEE + "\0")]),
    "any kind": ([ARCH], [(ANY, CALLEE)]),
    "no kind": ([ARCH], [(0, CALLEE)]),
    "a kind that there is not": ([ARCH], [(99, CALLEE)]),
    "a text as a fat binary": ([ARCH], [(FATBIN, CALLEE)]),
    "a text as LTO-IR": ([ARCH], [(LTOIR, CALLEE)]),
    "no bytes": ([ARCH], [(PTX, "")]),
    "other words": ([ARCH], [(PTX, "hello world")]),
    "other words as an object": ([ARCH], [(OBJECT, "hello world")]),
    "other words as a library": ([ARCH], [(LIBRARY, "hello world")]),
    "other words as anything": ([ARCH], [(ANY, "hello world")]),
    "a text for a newer GPU": (["-arch=sm_75"], [(PTX, CALLEE.replace("sm_70", "sm_80"))]),
    "a text without LTO-IR where that is linked": ([ARCH, "-lto"], [(PTX, CALLEE)]),
    "a text where PTX is wanted": ([ARCH, "-lto", "-ptx"], [(PTX, CALLEE)]),
}


def link(library: Path, options: list[str], inputs: list[tuple[int, str]]) -> list[Any]:
    """What each call answered."""
    done = subprocess.run(
        [sys.executable, "-c", LINKS, library],
        input=json.dumps({"options": options, "inputs": inputs}),
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    answers: list[Any] = json.loads(done.stdout)
    return answers


theirs_too = pytest.mark.skipif(not THEIRS, reason="the toolkit has no nvJitLink")


@theirs_too
@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_options_are_taken_and_refused_as_nvidia_s_does(options: list[str]) -> None:
    assert link(OURS[0], options, []) == link(THEIRS[0], options, [])


@theirs_too
@pytest.mark.parametrize("case", INPUTS)
def test_inputs_are_taken_and_refused_as_nvidia_s_does(case: str) -> None:
    assert link(OURS[0], *INPUTS[case]) == link(THEIRS[0], *INPUTS[case])


@theirs_too
def test_it_exports_what_nvidia_s_does() -> None:
    names = [
        {line.split()[-1].partition("@")[0] for line in listed.stdout.split("\n") if " T " in line}
        for listed in (
            subprocess.run(["nm", "-D", file], capture_output=True, text=True, check=True)
            for file in (OURS[0], THEIRS[0])
        )
    ]
    assert names[1] and names[1] <= names[0]


# Links by the first library and runs what came of it by the driver: 6 + 1.
RUNS = """
import ctypes, sys
nv, cu = ctypes.CDLL(sys.argv[1]), ctypes.CDLL("libcuda.so.1")
kind, texts = int(sys.argv[2]), [open(file, "rb").read() for file in sys.argv[4:]]
handle, bytes_ = ctypes.c_void_p(), ctypes.c_size_t()
options = [word.encode() for word in sys.argv[3].split()]
def check(code): assert code == 0, code
check(nv.nvJitLinkCreate(ctypes.byref(handle), len(options), (ctypes.c_char_p * len(options))(*options)))
for text in texts: check(nv.nvJitLinkAddData(handle, kind, text, ctypes.c_size_t(len(text)), b"part"))
check(nv.nvJitLinkComplete(handle))
check(nv.nvJitLinkGetLinkedCubinSize(handle, ctypes.byref(bytes_)))
image = ctypes.create_string_buffer(bytes_.value)
check(nv.nvJitLinkGetLinkedCubin(handle, image))
context, module, function, memory = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
check(cu.cuInit(0))
check(cu.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
check(cu.cuModuleLoadData(ctypes.byref(module), image))
check(cu.cuModuleGetFunction(ctypes.byref(function), module, b"k"))
check(cu.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4)))
check(cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, (ctypes.c_void_p * 1)(ctypes.addressof(memory)), None))
number = ctypes.c_int()
check(cu.cuMemcpyDtoH_v2(ctypes.byref(number), memory, ctypes.c_size_t(4)))
print(number.value)
"""


def run(kind: int, options: str, *files: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", RUNS, OURS[0], str(kind), options, *files],
        env={**os.environ, "LD_LIBRARY_PATH": str(LIBRARIES)},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_linked_texts_run(tmp_path: Path) -> None:
    files = [tmp_path / "caller.ptx", tmp_path / "callee.ptx"]
    for file, text in zip(files, (CALLER, CALLEE), strict=True):
        file.write_text(text, encoding="utf-8")
    done = run(PTX, ARCH, *files)
    assert (done.returncode, done.stdout) == (0, "7\n"), done.stderr


SOURCE = """
#ifdef CALLER
extern "C" __device__ int next(int);
extern "C" __global__ void k(int* p) { *p = next(6); }
#else
extern "C" __device__ int next(int a) { return a + 1; }
#endif
"""


@pytest.mark.parametrize(
    ("kind", "flags", "options", "ending"),
    [
        (FATBIN, ["-gencode", "arch=compute_80,code=[compute_80,sm_80]", "-no-compress", "-fatbin"], ARCH, "fatbin"),
        pytest.param(LTOIR, ["-arch=sm_80", "-dlto", "-ltoir"], f"{ARCH} -lto", "ltoir", marks=theirs_too),
    ],
)
def test_what_nvcc_makes_is_linked(kind: int, flags: list[str], options: str, ending: str, tmp_path: Path) -> None:
    """Fat binaries by their PTX, LTO-IR by the toolkit's own library."""
    (tmp_path / "part.cu").write_text(SOURCE, encoding="utf-8")
    files = [tmp_path / f"caller.{ending}", tmp_path / f"callee.{ending}"]
    for file, define in zip(files, ("-DCALLER", "-DCALLEE"), strict=True):
        command = [str(TOOLKIT / "bin/nvcc"), "-rdc=true", *flags, define, "-o", str(file), str(tmp_path / "part.cu")]
        subprocess.run(command, check=True, capture_output=True)
    done = run(kind, options, *files)
    assert (done.returncode, done.stdout) == (0, "7\n"), done.stderr


def test_machine_code_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "part.cu").write_text(SOURCE, encoding="utf-8")
    command: Words = [
        TOOLKIT / "bin/nvcc",
        "-cubin",
        "-arch=sm_80",
        "-o",
        tmp_path / "part.cubin",
        tmp_path / "part.cu",
    ]
    subprocess.run(command, check=True, capture_output=True)
    done = run(CUBIN, ARCH, tmp_path / "part.cubin")
    assert "nvJitLink cannot link part, which is machine code" in done.stderr
    assert "nvcc -ptx -rdc=true" in done.stderr


# ---- libcuda beside NVIDIA's runtime

BESIDE = """
import ctypes, sys
runtime, cu = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL), ctypes.CDLL("libcuda.so.1")
context, memory = ctypes.c_void_p(), ctypes.c_uint64()
print(cu.cuInit(0), cu.cuCtxCreate_v2(ctypes.byref(context), 0, 0), end=" ")
print(cu.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64)))
print(runtime.cudaFree(None))
"""


@pytest.mark.skipif(not list(TOOLKIT.glob("lib64/libcudart.so.1[0-9]")), reason="the toolkit has no libcudart")
def test_the_driver_works_where_nvidia_s_runtime_was_loaded_first() -> None:
    """That runtime itself does not run on it: it asks for tables of functions that NVIDIA does not document."""
    (runtime,) = TOOLKIT.glob("lib64/libcudart.so.1[0-9]")
    done = subprocess.run(
        [sys.executable, "-c", BESIDE, str(runtime)],
        env={**os.environ, "LD_LIBRARY_PATH": str(LIBRARIES)},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    first, second = done.stdout.split("\n")[:2]
    assert first == "0 0 0", done.stderr
    assert second != "0"
    assert "Put the emulator's folder first in LD_LIBRARY_PATH" in done.stderr


def test_the_driver_and_the_emulator_s_own_runtime_are_one() -> None:
    """Whichever is loaded first: what one allocated the other frees."""
    program = """
import ctypes, sys
libraries = {name: ctypes.CDLL(name) for name in sys.argv[1:]}
runtime = next(library for name, library in libraries.items() if "cudart" in name)
memory = ctypes.c_void_p()
assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(64)) == 0
print(libraries["libcuda.so.1"].cuMemFree_v2(memory))
"""
    (runtime,) = (file.name for file in LIBRARIES.glob("libcudart.so.*"))
    for order in (["libcuda.so.1", runtime], [runtime, "libcuda.so.1"]):
        done = subprocess.run(
            [sys.executable, "-c", program, *order],
            env={**os.environ, "LD_LIBRARY_PATH": str(LIBRARIES)},
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.stdout == "0\n", done.stderr
