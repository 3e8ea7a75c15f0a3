"""How fast the emulator is: warp instructions a second, and the slow-down against native code of the naive loop.

bench_emulator.py BUILD_DIR [--output FILE.json] [--beside-interpreter TURNS | --beside FOLDER | --scaling WORKERS,...]:
BUILD_DIR is where the project was built; programs are added to it.
Each program is timed with 1 and 2 workers, with bounds checks alone (they are always on), with counters and with every
check. Times are the best of three runs in one process, on the clock; what counters and checks cost is told in CPU time.

--beside-interpreter runs each program interpreted and compiled in turns, one worker, and prints the least CPU times.
WARPEMU_ISA=v3 in the environment: with AVX2 alone, both ways.

--beside FOLDER runs each program with the emulator of another build (its folder `emulator`) and with this one, in turns
(--turns, default 3), one worker, and prints the least CPU times.

--scaling 1,2,4,8,16 runs each program with so many workers, bounds checks alone, and prints how many times as fast each
is as the first of them, on the clock. Nothing else should run on the machine meanwhile.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "reports"))
from warpgrade_reports.text import lines_of

HERE = Path(__file__).resolve().parent
MODES = {"bounds": "memcheck", "counters": "counters", "all": "all"}
WORKERS = (1, 2)
LADDER_K = "256"
ARCH = "80"
SCALING_SIZE = 8  # times the usual inputs: with those, many workers would have less than a millisecond each


@dataclass(frozen=True)
class Timing:
    name: str
    mode: str
    workers: int
    ms: float  # on the clock
    cpu_ms: float
    native_ms: float
    warp_instructions: float  # of one run

    @property
    def slow_down(self) -> float:
        return self.ms / self.native_ms

    @property
    def per_second(self) -> float:
        return 1000 * self.warp_instructions / self.ms


def programs(build: Path) -> Iterator[list[str]]:
    """The commands: the SpMM ladder, a program a step, and the other labs' kernels."""
    for program in sorted(build.glob("spmm_*")):
        if program.is_file() and os.access(program, os.X_OK):
            yield [str(program), LADDER_K, program.name.replace("_", " ", 1)]
    for name in ("benchmark", "benchmark_products", "benchmark_arithmetic"):
        yield [str(build / name)]


def run(
    command: Sequence[str], library: Path, mode: str, workers: int, native: str | None = None, size: int = 1
) -> list[dict[str, float]]:
    environment = {
        **os.environ,
        **({} if native is None else {"WARPEMU_NATIVE": native}),
        "LD_LIBRARY_PATH": str(library),
        "WARPEMU_CHECKS": MODES[mode],
        "WARPEMU_THREADS": str(workers),
        "WARPEMU_ARCH": ARCH,
        "BENCH_SIZE": str(size),
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench_emulator: {' '.join(command)} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return [json.loads(line) for line in lines_of(done.stdout) if line.startswith("{")]


def measure(command: Sequence[str], library: Path) -> Iterator[Timing]:
    counted = {line["name"]: line["warp_instructions"] for line in run(command, library, "counters", 1)}
    for mode in MODES:
        for workers in WORKERS:
            for line in run(command, library, mode, workers):
                name = str(line["name"])
                times = (line["ms"], line["cpu_ms"], line["native_ms"])
                yield Timing(name, mode, workers, *times, counted[line["name"]])


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(math.log(v) for v in values) / len(values))


def table(timings: Sequence[Timing]) -> str:
    """A line a kernel: speed with bounds checks alone, then times of every mode."""
    by = {(t.name, t.mode, t.workers): t for t in timings}
    names = list(dict.fromkeys(t.name for t in timings))
    heads = [
        "kernel",
        "M warp instr./s, 1 / 2 workers",
        "slow-down, 1 / 2 workers",
        "with counters",
        "with every check",
    ]
    rows = [heads, ["---"] * len(heads)]
    for name in names:
        one, two = by[name, "bounds", 1], by[name, "bounds", 2]
        costs = [f"{by[name, mode, 1].cpu_ms / one.cpu_ms:.2f} x" for mode in ("counters", "all")]
        speed = f"{one.per_second / 1e6:.1f} / {two.per_second / 1e6:.1f}"
        rows.append([name, speed, f"{one.slow_down:.0f} / {two.slow_down:.0f}", *costs])
    means = [
        geometric_mean([by[n, mode, 1].cpu_ms / by[n, "bounds", 1].cpu_ms for n in names])
        for mode in ("counters", "all")
    ]
    slow = [geometric_mean([by[n, "bounds", w].slow_down for n in names]) for w in WORKERS]
    speeds = [geometric_mean([by[n, "bounds", w].per_second for n in names]) / 1e6 for w in WORKERS]
    mean = ["geometric mean", f"{speeds[0]:.1f} / {speeds[1]:.1f}", f"{slow[0]:.0f} / {slow[1]:.0f}"]
    rows.append([*mean, *(f"{m:.2f} x" for m in means)])
    return "\n".join(row(cells) for cells in rows)


def processor() -> str:
    lines = lines_of(Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} cores, {names[0] if names else 'unknown processor'}"


def kind_of(name: str) -> str:
    """What a timed line is about: its name's first word, for those that several programs have."""
    first = name.split(",")[0]
    return first if first in {"products", "arithmetic", "conversions"} else "courses' kernels and launches"


@dataclass(frozen=True)
class Way:
    """One of two ways to run a program: a name for the table, the emulator's folder, native code or not."""

    name: str
    library: Path
    native: str | None


def in_turns(commands: Sequence[Sequence[str]], before: Way, after: Way, turns: int) -> Iterator[str]:
    """Least CPU times in ms of both ways, in turns; one worker. Yields the lines of a mode when its turns are over."""
    isa = os.environ.get("WARPEMU_ISA", "as the processor has it")
    yield (
        f"{before.name} beside {after.name}: {processor()}; instructions: {isa}; {turns} turns, one worker; "
        f"load {os.getloadavg()[0]:.1f}"
    )
    for mode in MODES:
        least: dict[tuple[str, str], float] = {}
        native_loop: dict[str, float] = {}
        for _ in range(turns):
            for command in commands:
                for way in (before, after):
                    for line in run(command, way.library, mode, 1, way.native):
                        name = str(line["name"])
                        least[name, way.name] = min(least.get((name, way.name), math.inf), line["cpu_ms"])
                        native_loop[name] = min(native_loop.get(name, math.inf), line["native_ms"])
        ratios = {name: least[name, before.name] / least[name, after.name] for name in native_loop}
        kinds = {
            kind: [ratio for name, ratio in ratios.items() if kind_of(name) == kind] for kind in map(kind_of, ratios)
        }
        for name, ratio in ratios.items():
            yield (
                f"{mode:8} {name:38} {before.name} {least[name, before.name]:8.1f}  {after.name} "
                f"{least[name, after.name]:8.1f}  {ratio:5.2f} x  of a native loop "
                f"{least[name, after.name] / max(native_loop[name], 1e-3):6.1f}"
            )
        for kind, of_kind in kinds.items():
            yield f"{mode:8} {kind}: geometric mean {geometric_mean(of_kind):.2f} x, least {min(of_kind):.2f} x"
    yield f"load at the end {os.getloadavg()[0]:.1f}"


def row(cells: Sequence[str]) -> str:
    """A line of a table in Markdown."""
    return "| " + " | ".join(cells) + " |"


def scaling(commands: Sequence[Sequence[str]], library: Path, workers: Sequence[int]) -> Iterator[str]:
    """A line a kernel: ms on the clock with the first number of workers, then speed-ups over it with the others.

    Yields the lines of a program when it has run with every number of workers.
    """
    yield f"workers: {processor()}; inputs {SCALING_SIZE} times the usual; load {os.getloadavg()[0]:.1f}"
    yield row(["kernel", f"ms, {workers[0]}", *(f"speed-up, {n}" for n in workers[1:])])
    yield row(["---"] * (len(workers) + 1))
    ups: dict[int, list[float]] = {n: [] for n in workers[1:]}
    for command in commands:
        times = [
            {str(line["name"]): line["ms"] for line in run(command, library, "bounds", n, size=SCALING_SIZE)}
            for n in workers
        ]
        for name, first in times[0].items():
            own = {n: first / ms[name] for n, ms in zip(workers[1:], times[1:], strict=True)}
            for n, up in own.items():
                ups[n].append(up)
            yield row([name, f"{first:.1f}", *(f"{up:.2f} x" for up in own.values())])
    yield row(["geometric mean", "", *(f"{geometric_mean(values):.2f} x" for values in ups.values())])
    yield f"load at the end {os.getloadavg()[0]:.1f}"


def worker_counts(text: str) -> list[int]:
    """`1,2,4` as numbers: at least two, each positive, none twice."""
    try:
        counts = [int(word) for word in text.split(",")]
    except ValueError:
        counts = []
    if len(counts) < 2 or min(counts) < 1 or len(set(counts)) < len(counts):
        wanted = "at least two different whole numbers of workers, each 1 or more, such as 1,2,4,8,16"
        raise argparse.ArgumentTypeError(f"{text!r}: expected {wanted}")
    return counts


def print_at_once(lines: Iterator[str]) -> None:
    """Prints each line when it is measured: an interruption loses none of those before it."""
    for line in lines:
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmark of the emulator.")
    parser.add_argument("build", type=Path)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--beside-interpreter", type=int, metavar="TURNS")
    parser.add_argument("--beside", type=Path, metavar="FOLDER")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--scaling", type=worker_counts, metavar="WORKERS,...")
    arguments = parser.parse_args()
    if arguments.turns < 1:
        parser.error(f"--turns {arguments.turns}: expected 1 or more")
    library = arguments.build / "emulator"
    if not library.is_dir():
        sys.exit(f"bench_emulator: no {library}; build the project first (make build)")
    if arguments.beside and not list(arguments.beside.glob("libcudart.so*")):
        sys.exit(f"bench_emulator: {arguments.beside} has no libcudart.so: name the folder `emulator` of another build")
    built = arguments.build / "bench_emulator"
    subprocess.run([str(HERE / "hardware/build_programs.sh"), str(built)], env={**os.environ, "ARCH": ARCH}, check=True)
    if arguments.beside_interpreter:
        ways = (Way("interpreted", library, "0"), Way("compiled", library, "1"))
        print_at_once(in_turns(list(programs(built)), *ways, arguments.beside_interpreter))
        return
    if arguments.beside:
        ways = (Way("before", arguments.beside, None), Way("now", library, None))
        print_at_once(in_turns(list(programs(built)), *ways, arguments.turns))
        return
    if arguments.scaling:
        print_at_once(scaling(list(programs(built)), library, arguments.scaling))
        return
    timings = [t for command in programs(built) for t in measure(command, library)]
    print(table(timings))
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        found = [{**asdict(t), "slow_down": t.slow_down, "warp_instructions_per_s": t.per_second} for t in timings]
        arguments.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
