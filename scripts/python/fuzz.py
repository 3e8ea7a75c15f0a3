#!/usr/bin/env python3
"""Fuzzes the code that reads hostile and foreign bytes, with sanitizers: grader/tests/fuzz/README.md.

    scripts/fuzz                   all targets, ten minutes in all: for a night
    scripts/fuzz ptx archive       these alone
    scripts/fuzz --minutes 60      longer
    scripts/fuzz --ci              one minute in all, always the same numbers: seeds and short mutations
    scripts/fuzz ptx --input FILE  runs one input again, with all that the sanitizers say

Builds into build-fuzz/ with clang. What was learned stays in build-fuzz/corpus for the next call; --ci does without it.
An input that fails is made small and lies in build-fuzz/found/. Exit code 1: something was found; 2: no build.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import datetime
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "grader/tests/fuzz"
# Files of this tree that are good inputs as they are.
OF_THE_TREE = {"lab_yaml": "reference/*/lab.yaml", "policy_yaml": "grader/policies/*.yaml"}
UNIT_SECONDS, MEMORY_MB, LARGEST_INPUT = 20, 1500, 16384
MINIMIZE_SECONDS = 20
# Little, so that a reader which recurses once for each byte or level of its input fails at a short input.
STACK_BYTES = 1 << 20


@dataclass
class Outcome:
    """How a target's run ended."""

    target: str
    executions: int = 0
    seconds: float = 0
    coverage: int = 0
    found: list[Path] = field(default_factory=list)
    log: str = ""


def toolkit() -> list[str]:
    """Where scripts/bootstrap found a CUDA toolkit: its headers are wanted, and the name of its runtime."""
    file = Path(os.environ.get("WARPGRADE_CACHE_FOLDER", ROOT / ".cache")) / "toolchain.env"
    home = re.search(r'^CUDA_HOME="?([^"\n]+)"?$', file.read_text(), re.MULTILINE) if file.exists() else None
    return [f"-DCUDAToolkit_ROOT={home[1]}"] if home else []


def build(folder: Path) -> Path:
    """The program with all targets."""
    if not (folder / "build.ninja").exists():
        compilers = ["-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++"]
        subprocess.run(
            ["cmake", "-S", HERE, "-B", folder, "-G", "Ninja", *compilers, *toolkit()],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    environment = {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"} | os.environ
    subprocess.run(["ninja", "-C", folder, "--quiet", "fuzz"], check=True, env=environment)
    return folder / "bin/fuzz"


def seed_folders(target: str, folder: Path) -> list[Path]:
    """Where libFuzzer finds good inputs: kept ones, and files of this tree."""
    folders = [HERE / "seeds" / target]
    if target in OF_THE_TREE:
        copies = folder / "of_the_tree" / target
        shutil.rmtree(copies, ignore_errors=True)
        copies.mkdir(parents=True)
        for number, file in enumerate(sorted(ROOT.glob(OF_THE_TREE[target]))):
            shutil.copy(file, copies / f"{number}-{file.parent.name}")
        folders.append(copies)
    return [f for f in folders if f.is_dir()]


class Fuzzer:
    """The built program, with its folders and limits."""

    def __init__(self, program: Path, folder: Path, scratch: Path, seed: int) -> None:
        self.program, self.folder, self.scratch, self.seed = program, folder, scratch, seed
        self.found = folder / "found"
        self.found.mkdir(parents=True, exist_ok=True)

    def command(self, target: str, *options: str | Path) -> list[str]:
        """One call of libFuzzer; the sanitizers' words are heard, the targets' own are not."""
        limits = [f"-timeout={UNIT_SECONDS}", f"-rss_limit_mb={MEMORY_MB}", f"-malloc_limit_mb={MEMORY_MB}"]
        return [str(self.program), f"--target={target}", *limits, "-close_fd_mask=2", *map(str, options)]

    def call(self, *command: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"WARPGRADE_FUZZ_SCRATCH": str(self.scratch)}
        return subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment, check=False)

    def run(self, target: str, seconds: float, learned: Path | None) -> Outcome:
        """Mutates for so long, or until something fails."""
        with tempfile.TemporaryDirectory(prefix=f"fuzz-{target}-", dir=self.scratch) as fresh:
            corpus = learned / target if learned else Path(fresh)
            corpus.mkdir(parents=True, exist_ok=True)
            before = set(self.found.iterdir())
            dictionary = HERE / "dictionaries" / f"{target}.dict"
            done = self.call(
                *self.command(
                    target,
                    f"-seed={self.seed}",
                    f"-max_total_time={max(1, round(seconds))}",
                    f"-max_len={LARGEST_INPUT}",
                    "-print_final_stats=1",
                    f"-artifact_prefix={self.found}/{target}-",
                    *([f"-dict={dictionary}"] if dictionary.exists() else []),
                    corpus,
                    *seed_folders(target, self.folder),
                )
            )
        outcome = Outcome(target, log=done.stdout + done.stderr, seconds=seconds)
        if match := re.search(r"number_of_executed_units: (\d+)", outcome.log):
            outcome.executions = int(match[1])
        outcome.coverage = max((int(n) for n in re.findall(r"cov: (\d+)", outcome.log)), default=0)
        outcome.found = sorted(p for p in set(self.found.iterdir()) - before if p.name.startswith(f"{target}-"))
        if done.returncode != 0 and not outcome.found:
            outcome.found = [Path("(no input was kept)")]
        return outcome

    def minimized(self, target: str, file: Path) -> Path:
        """The input made small, where it fails again; else the input."""
        small = file.with_name(f"{file.name}-small")
        self.call(
            *self.command(
                target,
                "-minimize_crash=1",
                f"-max_total_time={MINIMIZE_SECONDS}",
                f"-exact_artifact_path={small}",
                file,
            )
        )
        return small if small.exists() else file


def what_failed(log: str) -> str:
    """The lines of a log that say what failed, and where in this tree."""
    words = re.findall(
        r"^(?:fuzz: .*|.*runtime error: .*|.*ERROR: (?:AddressSanitizer|libFuzzer): .*|.*what\(\).*)", log, re.M
    )
    places = re.findall(rf"^ +#\d+ 0x\w+ in (.*{re.escape(str(ROOT))}/(?!grader/tests/fuzz|build)\S+)", log, re.M)
    return "\n".join(f"    {line[:300].replace(str(ROOT) + '/', '')}" for line in [*words[:3], *places[:4]])


def report(fuzzer: Fuzzer, outcome: Outcome) -> None:
    """One line a target; what was found, with what to do next."""
    rate = outcome.executions / max(outcome.seconds, 1)
    print(
        f"{outcome.target:14} {outcome.executions:>9} inputs {rate:>7.0f}/s  {outcome.coverage:>6} places reached",
        flush=True,
    )
    for file in outcome.found:
        small = fuzzer.minimized(outcome.target, file) if file.exists() else file
        print(f"  FOUND {small}")
        print(what_failed(outcome.log) or outcome.log[-2000:])
        print(f"  again: scripts/fuzz {outcome.target} --input {small}")
        print(f"  then, once it is mended: cp {small} grader/tests/fuzz/seeds/{outcome.target}/", flush=True)


def fuzz(fuzzer: Fuzzer, targets: list[str], seconds: float, learned: Path | None) -> int:
    """All targets, as many at once as there are cores. Returns how many failed."""
    at_once = max(1, len(os.sched_getaffinity(0)))
    share = seconds * at_once / len(targets)
    print(f"{len(targets)} targets, {share:.0f} s each, {at_once} at once, seed {fuzzer.seed}", flush=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        runs = [pool.submit(fuzzer.run, target, share, learned) for target in targets]
        for run in concurrent.futures.as_completed(runs):
            report(fuzzer, run.result())
            failed += bool(run.result().found)
    return failed


def main() -> int:
    """Reads the arguments; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="default: all; --list names them")
    parser.add_argument("--minutes", type=float, default=10.0, help="for all targets together (default 10)")
    parser.add_argument("--ci", action="store_true", help="one minute in all, from the kept seeds alone")
    parser.add_argument("--seed", type=int, help="default: the day, or 1 with --ci")
    parser.add_argument("--input", type=Path, help="run this one input")
    parser.add_argument("--list", action="store_true", help="the targets' names")
    parser.add_argument("--build", type=Path, default=ROOT / "build-fuzz")
    arguments = parser.parse_args()
    if shutil.which("clang++") is None:
        print("scripts/fuzz: no clang++: scripts/bootstrap installs it (libFuzzer is a part of clang)", file=sys.stderr)
        return 2
    try:
        program = build(arguments.build.resolve())
    except subprocess.CalledProcessError:
        print("scripts/fuzz: the build failed, see above", file=sys.stderr)
        return 2
    known = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    if arguments.list:
        print("\n".join(known))
        return 0
    for target in arguments.targets:
        if target not in known:
            parser.error(f"no target {target}; there is {', '.join(known)}")
    seed = arguments.seed or (1 if arguments.ci else int(datetime.date.today().strftime("%Y%m%d")))
    memory = Path("/dev/shm")  # noqa: S108 - files are written for each input, in a folder of its own
    resource.setrlimit(resource.RLIMIT_STACK, (STACK_BYTES, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    with tempfile.TemporaryDirectory(
        prefix="warpgrade-fuzz-", dir=memory if os.access(memory, os.W_OK) else None
    ) as scratch:
        fuzzer = Fuzzer(program, arguments.build.resolve(), Path(scratch), seed)
        if arguments.input:
            environment = os.environ | {"WARPGRADE_FUZZ_SCRATCH": scratch}
            command = [word for word in fuzzer.command(arguments.targets[0]) if not word.startswith("-close")]
            return 1 if subprocess.run([*command, arguments.input], env=environment, check=False).returncode else 0
        learned = None if arguments.ci else arguments.build.resolve() / "corpus"
        seconds = 60 if arguments.ci else arguments.minutes * 60
        failed = fuzz(fuzzer, arguments.targets or known, seconds, learned)
    print(f"{failed} targets failed" if failed else "nothing found")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
