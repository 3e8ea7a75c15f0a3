#!/usr/bin/env python3
"""Runs the differential suite's kernels as another toolkit's compiler translates them.

    python3 with_nvrtc.py LIBNVRTC INCLUDE BUILD [--option=-G]... [GROUP...]

LIBNVRTC is that toolkit's libnvrtc.so, INCLUDE its headers (cuda_fp16.h), BUILD a build folder of this tree with the
target warpemu_differential. NVRTC has the compiler and the optimizer of its toolkit's nvcc: its PTX takes the place of
nvcc's in each group's program, which then runs on the emulator against the values recorded on a GPU. Prints the PTX's
version and the comparison of each group; exit code 1 when one differs.
"""

from __future__ import annotations

import argparse
import ctypes
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PRELUDE = (
    "typedef unsigned long uint64_t;\ntypedef unsigned uint32_t;\ntypedef unsigned short uint16_t;\n"
    "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
)


class Nvrtc:
    """The compiler in a libnvrtc.so."""

    def __init__(self, library: str) -> None:
        self.library = ctypes.CDLL(library)

    def ptx_of(self, source: str, options: list[str]) -> str:
        """PTX of a source text. RuntimeError with the compiler's words when it refuses."""
        program = ctypes.c_void_p()
        self._check(
            self.library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None)
        )
        texts = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
        failed = self.library.nvrtcCompileProgram(program, len(options), texts)
        if failed:
            raise RuntimeError(self._text(program, "ProgramLog"))
        return self._text(program, "PTX")

    def _text(self, program: ctypes.c_void_p, what: str) -> str:
        size = ctypes.c_size_t()
        self._check(getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self._check(getattr(self.library, f"nvrtcGet{what}")(program, buffer))
        return buffer.value.decode()

    @staticmethod
    def _check(code: int) -> None:
        if code:
            raise RuntimeError(f"NVRTC returned {code}")


def first_match(pattern: str, text: str) -> re.Match[str]:
    """The pattern's first match, `^` at each line's begin. Raises RuntimeError where there is none."""
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"nothing matches {pattern}")
    return found


def kernels_of(source: Path) -> str:
    """The device code of a generated program: what stands between its includes and its table of cases."""
    text = source.read_text(encoding="utf-8")
    begin = text.index("using differential::Kind;") + len("using differential::Kind;")
    return PRELUDE + text[begin : first_match(r"^.*kCases\[\]", text).start()]


def build(source: Path, ptx: str, folder: Path) -> Path:
    """The program of a source by nvcc's steps, with `ptx` in place of what its compiler writes."""
    program = folder / source.stem
    command = ["nvcc", "-std=c++17", "-no-compress", "-gencode", "arch=compute_86,code=compute_86", "-cudart", "shared"]
    command += [f"-I{HERE}", "--keep-dir", str(folder), "--keep", "-o", str(program), str(source)]
    dry = subprocess.run([*command, "--dryrun"], capture_output=True, text=True, check=True).stderr
    setup = []
    for line in dry.splitlines():
        step = line.removeprefix("#$ ")
        if re.match(r"[A-Za-z_]+=", step):
            name, value = step.split("=", 1)
            setup.append(f"export {name}={value if value.startswith(chr(34)) else repr(value)}")
            continue
        if step.startswith("rm ") or not step.strip():
            continue
        packed = re.search(r"kind=ptx,[^\"]*file=([^\"]+)", step)
        if packed:
            (folder / packed.group(1)).write_text(ptx, encoding="utf-8")
        subprocess.run(["bash", "-c", "\n".join([*setup, step])], check=True, cwd=folder, capture_output=True)
    if first_match(r"\.version\s+\S+", ptx).group(0).encode() not in program.read_bytes():
        raise RuntimeError(f"{program} does not hold the PTX of NVRTC")
    return program


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nvrtc")
    parser.add_argument("include", type=Path)
    parser.add_argument("build", type=Path)
    parser.add_argument("groups", nargs="*")
    parser.add_argument("--option", action="append", default=[], help="for NVRTC")
    options = parser.parse_args()
    nvrtc = Nvrtc(options.nvrtc)
    sources = options.build.resolve() / "grader/emulator/tests/differential"
    groups = options.groups or [path.stem for path in sorted(sources.glob("*.cu"))]
    flags = ["-arch=compute_86", "-fmad=false", "-std=c++17", f"-I{options.include}", *options.option]
    failures = 0
    for group in groups:
        ptx = nvrtc.ptx_of(kernels_of(sources / f"{group}.cu"), flags)
        with tempfile.TemporaryDirectory() as scratch:
            program = build(sources / f"{group}.cu", ptx, Path(scratch))
            recording = HERE / "recordings" / f"{group}.gz"
            emulator = options.build.resolve() / "emulator"
            done = subprocess.run(
                [HERE / "run.sh", program, recording, emulator], capture_output=True, text=True, check=False
            )
        version = first_match(r"\.version\s+(\S+)", ptx).group(1)
        words = (done.stdout + done.stderr).strip().splitlines()
        print(f"{group}: PTX {version}, exit {done.returncode}: {words[-1] if words else ''}", flush=True)
        failures += done.returncode != 0
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
