"""What the emulator's check `levels` costs beside `counters`: CPU time of kernels alone, and of whole judged runs.

bench_levels.py BUILD_DIR [--turns 5] [--only WORD] [--runs]: BUILD_DIR is where the project was built; programs are
added to it, which takes nvcc. Each program is a lab's solution with inputs of its own
(grader/course/profile/calibration/solution_case.cu); SpMM's matrices are the course's datasets. Both checks run in
turns with one worker, and the medians of their CPU times are compared.
--runs: in their place `warpgrade grade` as `warpgrade profile` calls it, with inputs, oracle and all. `perf stat` takes
its CPU time, since not every process of a judge is awaited by its parent.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
CALIBRATION = ROOT / "grader/course/profile/calibration/solution_case.cu"
CHECKS = {"counters": "memcheck,counters", "levels": "memcheck,counters,levels"}
ARCH = "90"
DEVICE = "h200"
NVCC = [
    "nvcc", "-O3", "-gencode", f"arch=compute_{ARCH},code=[compute_{ARCH},sm_{ARCH}]", "-no-compress", "-cudart",
    "shared", "-diag-suppress", "177",
]  # fmt: skip


@dataclass(frozen=True)
class Program:
    lab: str
    folder: str  # of the solution, in reference/LAB
    case: str  # of solution_case.cu
    turns: int  # runs in one process, so that compiling the kernels counts little
    matrix: str = ""  # dataset of SpMM's matrix

    @property
    def library(self) -> str:
        return f"{self.lab}.{Path(self.folder).name}.so"

    @property
    def name(self) -> str:
        return f"{self.lab} {Path(self.folder).name} {self.matrix + '-k32' if self.matrix else self.case}"


SPMM = ("steps/01_warp_per_row", "steps/04_row_split", "optimized")
PROGRAMS = [
    *(Program("spmm", s, "drawn-k32", 3, m) for m in ("collab", "arxiv") for s in SPMM),
    Program("spmm", "naive", "drawn-k32", 1, "arxiv"),
    Program("gcn", "optimized", "xw-web", 1),
    Program("gcn", "steps/05_outer_product", "xw-web", 1),
    Program("gcn", "naive", "softmax-web", 1),
    Program("histogram", "naive", "uniform-8M", 1),
    Program("histogram", "steps/01_block_private", "uniform-8M", 2),
    Program("histogram", "optimized", "uniform-8M", 2),
    Program("histogram", "steps/01_block_private", "uniform-233M", 1),
    Program("transpose", "naive", "square-1024", 5),
    Program("transpose", "optimized", "square-1024", 8),
    Program("reduction", "steps/01_shared_memory", "many-1M", 5),
    Program("reduction", "optimized", "many-1M", 10),
]
RUNS = [
    ("spmm", "steps/04_row_split", "collab-k32"),
    ("spmm", "steps/01_warp_per_row", "collab-k32"),
    ("spmm", "optimized", "arxiv-k32"),
    ("transpose", "naive", "square-1024"),
    ("reduction", "optimized", "many-1M"),
]


def write_contract(lab: str, to: Path) -> None:
    """The contract of a declared lab, as its lab.yaml tells it; the judge makes the same with more words."""
    declared = yaml.safe_load((ROOT / "reference" / lab / "lab.yaml").read_text(encoding="utf-8"))
    call = declared["call"]
    plans = [word.rstrip("*") for word in call.replace("(", " ").split() if word.rstrip("*").endswith("Plan")]
    parameters = ", ".join(f"int {name}" for name in declared["parameters"])
    lines = ["#pragma once", "#include <cuda_runtime.h>", *(f"struct {plan};" for plan in plans), f"{call};"]
    for plan in plans:
        lines.append(f"cudaError_t {lab}_plan({parameters}, {plan}** plan, cudaStream_t stream);")
        lines.append(f"void {lab}_free({plan}* plan);")
    to.write_text("\n".join(lines) + "\n", encoding="utf-8")


def compile_with(arguments: list[str | Path], to: Path) -> None:
    if to.exists():
        return
    done = subprocess.run([*map(str, [*NVCC, *arguments]), "-o", str(to)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench_levels: nvcc could not make {to.name}:\n{done.stdout}{done.stderr}")


def build(programs: list[Program], to: Path) -> None:
    contracts = to / "contracts/warpgrade"
    contracts.mkdir(parents=True, exist_ok=True)
    includes: list[str | Path] = ["-I", contracts.parent, "-I", ROOT / "reference/include", "-I", ROOT / "reference"]
    shared = ["-std=c++20", "-shared", "-Xcompiler", "-fPIC", "-Xlinker", "-Bsymbolic"]
    jobs: dict[Path, list[str | Path]] = {to / "timed": ["-std=c++17", HERE / "levels/timed_solution.cpp", "-ldl"]}
    for p in programs:
        if not (ROOT / f"reference/include/warpgrade/{p.lab}.h").exists():
            write_contract(p.lab, contracts / f"{p.lab}.h")
        sources = sorted((ROOT / "reference" / p.lab / p.folder).glob("*.cu"))
        jobs[to / p.library] = [*shared, f"-DLAB_{p.lab.upper()}", *includes, CALIBRATION, *sources]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda job: compile_with(job[1], job[0]), jobs.items()))


def write_matrix(name: str, to: Path) -> None:
    """The structure of a dataset as 32-bit integers: rows, offsets, columns."""
    found = sorted((ROOT / ".cache/datasets").glob(f"{name}.*npz"))
    if not found:
        sys.exit(f"bench_levels: no dataset {name} in .cache/datasets; `warpgrade data info {name}` makes it")
    with np.load(found[0]) as data:
        np.concatenate([[len(data["indptr"]) - 1], data["indptr"], data["indices"]]).astype("<i4").tofile(to)


def cpu_ms_of_kernels(p: Program, checks: str, built: Path, library: Path) -> float:
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(library),
        "WARPEMU_DEVICE": DEVICE,
        "WARPEMU_CHECKS": checks,
        "WARPEMU_THREADS": "1",
        **({"MATRIX_FILE": str(built / f"{p.matrix}.bin")} if p.matrix else {}),
    }
    command = [built / "timed", built / p.library, p.case, str(p.turns)]
    done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench_levels: {p.name} failed: {done.stderr}")
    return float(json.loads(done.stdout)["cpu_ms"])


def cpu_ms_of_run(lab: str, folder: str, case: str, checks: str, warpgrade: Path) -> float:
    environment = {
        **os.environ,
        "WARPEMU_DEVICE": DEVICE,
        "WARPGRADE_EMULATOR_ARCH": ARCH,
        "WARPEMU_THREADS": "1",
    }
    with tempfile.TemporaryDirectory() as scratch:
        told = Path(scratch) / "perf.txt"
        command = [
            "perf",
            "stat",
            "-x",
            ",",
            "-e",
            "task-clock",
            "-o",
            told,
            warpgrade,
            "grade",
            ROOT / "reference" / lab / folder,
            "--lab",
            lab,
            "--cases",
            case,
            "--backend",
        ]
        command += ["emulator", "--no-speed", "--quiet", "--checks", checks, "--run", Path(scratch) / "run"]
        done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"bench_levels: {' '.join(map(str, command))} failed: {done.stdout}{done.stderr}")
        [line] = [text for text in told.read_text(encoding="utf-8").splitlines() if "task-clock" in text]
    return float(line.split(",")[0])


def compare(name: str, turns: int, cpu_ms: Callable[[str], float]) -> float:
    """Prints the medians and their ratio, which it returns. A first turn, which compiles and caches, is not taken."""
    cpu_ms(CHECKS["levels"])
    taken: dict[str, list[float]] = {mode: [] for mode in CHECKS}
    for _ in range(turns):
        for mode, checks in CHECKS.items():
            taken[mode].append(cpu_ms(checks))
    middle = {mode: statistics.median(times) for mode, times in taken.items()}
    ratio = middle["levels"] / middle["counters"]
    each = [b / a for a, b in zip(taken["counters"], taken["levels"], strict=True)]
    print(
        f"{name:44} counters {middle['counters']:9.1f}  with levels {middle['levels']:9.1f}  {ratio:5.2f} x"
        f"  ({min(each):.2f} to {max(each):.2f} in single turns)",
        flush=True,
    )
    return ratio


def summary(what: str, ratios: list[float]) -> str:
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return f"{what}: geometric mean {mean:.2f} x, most {max(ratios):.2f} x"


def head(turns: int) -> Iterator[str]:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    isa = os.environ.get("WARPEMU_ISA", "as the processor has it")
    yield f"counters beside counters and levels: {len(models)} cores, {models[0] if models else 'unknown processor'}"
    yield (
        f"instructions: {isa}; one worker; median CPU ms of {turns} turns, both in turns; load {os.getloadavg()[0]:.1f}"
    )


def time_kernels(folder: Path, library: Path, only: str, turns: int) -> None:
    programs = [p for p in PROGRAMS if only in p.name]
    if not programs:
        sys.exit(f"bench_levels: no program's name holds {only!r}; they are {', '.join(p.name for p in PROGRAMS)}")
    built = folder / "bench_levels"
    built.mkdir(exist_ok=True)
    for name in {p.matrix for p in programs if p.matrix}:
        write_matrix(name, built / f"{name}.bin")
    build(programs, built)
    ratios = [compare(p.name, turns, partial(cpu_ms_of_kernels, p, built=built, library=library)) for p in programs]
    print(summary("kernels alone", ratios))


def time_runs(warpgrade: Path, only: str, turns: int) -> None:
    if shutil.which("perf") is None:
        sys.exit("bench_levels: --runs needs perf, which is not here (package linux-perf or linux-tools)")
    runs = [r for r in RUNS if only in " ".join(r)]
    if not runs:
        sys.exit(f"bench_levels: no run's name holds {only!r}; they are {', '.join(map(' '.join, RUNS))}")
    ratios = [compare(" ".join(r), turns, partial(cpu_ms_of_run, *r, warpgrade=warpgrade)) for r in runs]
    print(summary("whole runs", ratios))


def main() -> None:
    parser = argparse.ArgumentParser(description="What the emulator's check levels costs beside counters.")
    parser.add_argument("build", type=Path)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", default="", metavar="WORD", help="programs whose names hold it")
    parser.add_argument("--runs", action="store_true", help="whole judged runs, not kernels alone")
    arguments = parser.parse_args()
    folder = arguments.build.resolve()
    library, warpgrade = folder / "emulator", folder / "bin/warpgrade"
    if not library.is_dir():
        sys.exit(f"bench_levels: no {library}; build the project first (make build)")
    print(*head(arguments.turns), sep="\n")
    if arguments.runs:
        time_runs(warpgrade, arguments.only, arguments.turns)
    else:
        time_kernels(folder, library, arguments.only, arguments.turns)
    print(f"load at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
