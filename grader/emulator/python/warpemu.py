"""Runs CUDA programs without a GPU and names the lines of their mistakes.

    warpemu nvcc -o program program.cu      nvcc, with the flags that the emulator needs
    warpemu ./program [ARGUMENTS]           runs it
    warpemu python kernel.py                the same of a program in Python, with kernels of Triton or CUDA's libraries
    warpemu --checks all --sarif findings.sarif ./program

Exit code: 1 where mistakes were found, else the program's own (128 and the signal's number where one ended it).
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__version__ = "0.2.0"

LIBRARIES = Path(os.environ.get("WARPEMU_LIBRARIES") or Path(__file__).resolve().parent / "warpemu_libraries")
STARTER = Path(__file__).resolve().parent / "warpemu_triton.py"
# The PTX is read, lines are named (of kernels, and of the host's calls), the runtime is replaced.
FLAGS = ("-no-compress", "-lineinfo", "-Xcompiler", "-g1,-gdwarf-4", "-cudart", "shared")
ARCHITECTURE = ("-gencode", "arch=compute_80,code=[compute_80,sm_80]")  # the default device's
INSTALLED = "/usr/local/cuda"  # where NVIDIA's packages put the toolkit
FOUND, USAGE, OF_A_SIGNAL = 1, 2, 128
SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
Finding = dict[str, Any]  # grader/emulator/include/warpemu/warpemu.h has its fields


def own_major() -> int:
    """The version of CUDA whose runtime lies here."""
    names = [re.fullmatch(r"libcudart\.so\.(\d+)", file.name) for file in LIBRARIES.glob("libcudart.so.*")]
    majors = [int(name[1]) for name in names if name]
    if not majors:
        sys.exit(f"warpemu: no libcudart.so in {LIBRARIES}: install the wheel again")
    return majors[0]


# ---- nvcc


def find_nvcc() -> Path:
    """The compiler of PATH, of CUDA_HOME, where NVIDIA's packages put it, or of NVIDIA's wheels beside this one."""
    places = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), INSTALLED]
    others = (shutil.which("nvcc", path=str(Path(place) / "bin")) for place in places if place)
    found = shutil.which("nvcc") or next((other for other in others if other), None)
    if found:
        return Path(found)
    of_wheels = (Path(place, f"nvidia/cu{own_major()}/bin/nvcc") for place in sys.path)
    wheel = next((file for file in of_wheels if file.is_file()), None)
    if wheel is None:
        sys.exit(
            f"warpemu: no nvcc in PATH, CUDA_HOME or {INSTALLED}, nor in this Python: install the CUDA Toolkit, or "
            "`pip install 'warpemu[nvcc]'`, with the wheel's file name before [nvcc] if you have the file"
        )
    return wheel


@contextlib.contextmanager
def linked_by_name(compiler: Path) -> Iterator[list[str]]:
    """Options for the linker: NVIDIA's wheels have no lib64, and the runtime not under the name that it looks for."""
    if any(compiler.resolve().parents[1].glob("lib*/libcudart.so")) or "nvidia" not in compiler.parts:
        yield []
        return
    with tempfile.TemporaryDirectory(prefix="warpemu-") as folder:
        for library in LIBRARIES.glob("lib*.so.*"):
            (Path(folder) / library.name.partition(".so.")[0]).with_suffix(".so").symlink_to(library)
        yield ["-L", folder, "-L", str(compiler.parents[1] / "lib")]


def nvcc(words: list[str]) -> int:
    """Compiles with the emulator's flags before the user's own."""
    compiler = find_nvcc()
    told = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    version = re.search(r"release (\d+)\.(\d+)", told)
    if version and int(version[1]) != own_major():
        print(
            f"warpemu: {compiler} is CUDA {version[1]}.{version[2]}, and this warpemu runs programs of CUDA "
            f"{own_major()}: set CUDA_HOME to such a toolkit",
            file=sys.stderr,
        )
        return USAGE
    has_architecture = any(re.match(r"--?(arch|gencode|gpu-architecture|generate-code)\b", word) for word in words)
    with linked_by_name(compiler) as options:
        command = [compiler, *FLAGS, *options, *(() if has_architecture else ARCHITECTURE), *words]
        return subprocess.run(command, check=False).returncode  # noqa: S603


# ---- Running


def started(program: list[str]) -> list[str]:
    """The command that runs it: a program in Python by a starter that gives Triton the emulator."""
    if not re.fullmatch(r"python(3(\.\d+)?)?", Path(program[0]).name):
        return program
    flags = list(itertools.takewhile(lambda word: re.fullmatch("-[BEIOPRSbdiqsuv]+", word), program[1:]))
    rest = program[1 + len(flags) :]
    of_a_program = rest and (rest[0] in {"-m", "-c"} or not rest[0].startswith("-"))
    return [program[0], *flags, str(STARTER), *rest] if of_a_program else program


def run(options: argparse.Namespace) -> tuple[int, list[Finding]]:
    """Runs the program on the emulator; how it ended, and what was found."""
    with tempfile.TemporaryDirectory(prefix="warpemu-") as folder:
        file = Path(folder) / "findings.jsonl"
        words = {"WARPEMU_FINDINGS": str(file), "WARPEMU_CHECKS": options.checks}
        paths = [str(LIBRARIES), os.environ.get("LD_LIBRARY_PATH", "")]
        words["LD_LIBRARY_PATH"] = ":".join(path for path in paths if path)
        if options.device:
            words["WARPEMU_DEVICE"] = options.device
        try:
            code = subprocess.run(started(options.program), check=False, env={**os.environ, **words}).returncode  # noqa: S603
        except OSError as error:
            name = options.program[0]
            here = "" if "/" in name else f"; a program in this folder is ./{name}"
            sys.exit(f"warpemu: {name}: {error.strerror}{here}")
        except KeyboardInterrupt:
            code = -signal.SIGINT
        lines = file.read_text(encoding="utf-8", errors="replace").split("\n") if file.exists() else []
        # The last line has no end yet: on a full disk it is a part of a finding.
        return (code if code >= 0 else OF_A_SIGNAL - code), [json.loads(line) for line in lines[:-1]]


# ---- Reports


def uri_of(finding: Finding) -> str:
    """The source as seen from here, where it lies below; else its path, or its name."""
    path = Path(finding.get("path") or finding.get("file") or "")
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def place_of(finding: Finding) -> dict[str, Any]:
    """A line as SARIF has it."""
    region = {"startLine": finding["line"]}
    return {"physicalLocation": {"artifactLocation": {"uri": uri_of(finding)}, "region": region}}


def result_of(finding: Finding) -> dict[str, Any]:
    """One mistake as SARIF has it; of a race the other access as well."""
    text = finding.get("message", "") + ("\n" + finding["advice"] if finding.get("advice") else "")
    if finding.get("kernel"):
        text = f"{finding['kernel']}: {text}"
    result: dict[str, Any] = {"ruleId": finding["kind"], "level": "error", "message": {"text": text}}
    if finding.get("line"):
        result["locations"] = [place_of(finding)]
    if finding.get("other", {}).get("line"):
        result["relatedLocations"] = [{**place_of(finding["other"]), "message": {"text": "the other access"}}]
    return result


def sarif(findings: list[Finding]) -> dict[str, Any]:
    """SARIF 2.1.0, which editors and hosts of code read."""
    rules = [{"id": kind} for kind in sorted({finding["kind"] for finding in findings})]
    tool = {"driver": {"name": "warpemu", "version": __version__, "rules": rules}}
    return {
        "$schema": SARIF,
        "version": "2.1.0",
        "runs": [{"tool": tool, "results": [result_of(finding) for finding in findings]}],
    }


def write(name: str, value: object) -> None:
    """Into a file, or to standard output for `-`."""
    text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
    if name == "-":
        sys.stdout.write(text)
        return
    try:
        Path(name).write_text(text, encoding="utf-8")
    except OSError as error:
        print(
            f"warpemu: {name}: {error.strerror}; the findings are not there. Name a file that can be written",
            file=sys.stderr,
        )
        sys.exit(USAGE)


def main(words: list[str] | None = None) -> int:
    """Carries out the command; its exit code."""
    given = sys.argv[1:] if words is None else words
    if given and given[0] == "nvcc":
        return nvcc(given[1:])
    parser = argparse.ArgumentParser(
        prog="warpemu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"warpemu {__version__} (CUDA {own_major()})")
    checks = "memcheck (always), initcheck, racecheck, synccheck, leakcheck, all; with commas between them"
    parser.add_argument("--checks", default="memcheck", help=checks)
    parser.add_argument(
        "--device", default="", help="what the device claims to be: a100 (default), h200, t4, v100, ..."
    )
    parser.add_argument("--json", metavar="FILE", default="", help="the findings as a JSON list; - is standard output")
    parser.add_argument("--sarif", metavar="FILE", default="", help="the findings as SARIF 2.1.0")
    parser.add_argument("program", nargs=argparse.REMAINDER, help="the program and its arguments")
    options = parser.parse_args(given)
    if options.program[:1] == ["--"]:
        options.program = options.program[1:]
    if not options.program:
        parser.error("name a program: warpemu ./program")
    code, findings = run(options)
    for name, value in ((options.json, findings), (options.sarif, sarif(findings))):
        if name:
            write(name, value)
    return FOUND if findings else code


if __name__ == "__main__":
    sys.exit(main())
