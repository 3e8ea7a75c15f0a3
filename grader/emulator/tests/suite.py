#!/usr/bin/env python3
"""Builds and runs a suite of CUDA programs on the emulator and prints how each ended.

    suite.py FOLDER LIST [--emulator build/emulator] [--only NAME]... [--seconds 60] [--json FILE]
    suite.py FOLDER LIST --record      (on a machine with a GPU: keeps what the programs print there)

LIST is a YAML file, a program an entry; only `name` must stand:

    - name: reduction            # of the program; NAME.cu is its source
      sources: [a.cu, b.cu]      # others
      flags: [-lcublas]          # for nvcc, beside -no-compress -lineinfo -cudart shared
      build: make -C reduction   # a shell command in FOLDER, in the place of nvcc
      run: ./reduction 1000      # a shell command in FOLDER; ./NAME otherwise
      expected: reduction.gpu    # what it printed on a GPU; NAME.expected otherwise
      exit: 0                    # the code with which it ended there
      tolerance: 1.0e-5          # relative, of numbers; 0 otherwise
      ignore: ["time.*"]         # lines that match are not compared
      device: h200               # WARPEMU_DEVICE
      seconds: 600               # in the place of --seconds

Each program is one of: right; wrong (it prints something else than on the GPU); missing (the emulator names a
library or an instruction that it lacks); fault (the emulator reports a mistake, or the program dies by a signal); slow
(it was stopped); fails (by itself: it does not build, has no record, or ends with another code).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[3]
CLASSES = ("right", "wrong", "missing", "fault", "slow", "fails")
BUILD_SECONDS = 600


@dataclass
class Program:
    name: str
    sources: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    build: str = ""
    run: str = ""
    expected: str = ""
    exit: int = 0
    tolerance: float = 0.0
    ignore: list[str] = field(default_factory=list)
    device: str = ""
    seconds: float = 0.0

    def build_command(self, nvcc: str) -> str:
        if self.build:
            return self.build
        sources = self.sources or [f"{self.name}.cu"]
        options = ["-no-compress", "-lineinfo", "-cudart", "shared", "-o", self.name]
        return shlex.join([nvcc, *options, *sources, *self.flags])


@dataclass
class Outcome:
    name: str
    ended: str  # one of CLASSES
    why: str = ""


@dataclass
class Ran:
    code: int
    output: str
    messages: str
    stopped: bool = False


def read_list(path: Path) -> list[Program]:
    try:
        entries: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        sys.exit(f"{path}: the list of programs cannot be read: {error.strerror}")
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        sys.exit(f"{path}: this is no YAML: {' '.join(str(error).split())}")
    if not isinstance(entries, list):
        sys.exit(f"{path}: a list of programs was expected")
    known = set(Program.__dataclass_fields__)
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict) or "name" not in entry:
            sys.exit(f"{path}: entry {number} has no name")
        if unknown := set(entry) - known:
            sys.exit(f"{path}: {entry['name']}: unknown keys {', '.join(sorted(unknown))}")
    return [Program(**entry) for entry in entries]


def run(command: str, folder: Path, seconds: float, environment: dict[str, str]) -> Ran:
    """In a process group of its own, which is ended as a whole."""
    # No limit of files: it would hold for the emulator's memory, too.
    limited = f"ulimit -c 0; {command}"
    with subprocess.Popen(
        ["/bin/bash", "-c", limited],
        cwd=folder,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, messages = process.communicate(timeout=seconds)
            return Ran(process.returncode, output, messages)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, messages = process.communicate()
            return Ran(process.returncode, output, messages, stopped=True)


def words_of(text: str, ignore: list[str]) -> list[str]:
    lines = [line for line in text.splitlines() if not any(re.search(pattern, line) for pattern in ignore)]
    return " ".join(lines).split()


def same_word(ours: str, theirs: str, tolerance: float) -> bool:
    if ours == theirs:
        return True
    try:
        return tolerance > 0 and math.isclose(float(ours), float(theirs), rel_tol=tolerance, abs_tol=tolerance)
    except ValueError:
        return False


def difference(ours: list[str], theirs: list[str], tolerance: float) -> str:
    for number, (mine, other) in enumerate(zip(ours, theirs, strict=False), 1):
        if not same_word(mine, other, tolerance):
            return f"word {number} is {mine!r}, on the GPU {other!r}"
    return "" if len(ours) == len(theirs) else f"{len(ours)} words, on the GPU {len(theirs)}"


def first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def message_of_emulator(messages: str, wanted: str) -> str:
    return next((line for line in messages.splitlines() if re.match(f"emulator: {wanted}", line)), "")


def early_end(program: Program, ran: Ran) -> tuple[str, str] | None:
    """How the program ended, where its output need not be looked at."""
    if missing := message_of_emulator(ran.messages, "unsupported"):
        return "missing", missing
    if ran.stopped:
        return "slow", ""
    if finding := message_of_emulator(ran.messages, r"\w+ at "):
        return "fault", finding
    if ran.code < 0 or ran.code > 128:  # a shell adds 128 to the number of the signal
        return "fault", f"signal {-ran.code if ran.code < 0 else ran.code - 128}"
    if ran.code != program.exit:
        return "fails", f"exit code {ran.code}: {first_line(ran.messages) or first_line(ran.output)}"
    return None


def classify(program: Program, ran: Ran, expected: str | None) -> Outcome:
    if ended := early_end(program, ran):
        return Outcome(program.name, *ended)
    if expected is None:
        return Outcome(program.name, "fails", "no record of a GPU's output")
    ours, theirs = (words_of(text, program.ignore) for text in (ran.output, expected))
    wrong = difference(ours, theirs, program.tolerance)
    return Outcome(program.name, "wrong" if wrong else "right", wrong)


class Suite:
    def __init__(self, folder: Path, nvcc: str, emulator: Path | None, seconds: float) -> None:
        self.folder, self.nvcc, self.emulator, self.seconds = folder, nvcc, emulator, seconds

    def record_of(self, program: Program) -> Path:
        return self.folder / (program.expected or f"{program.name}.expected")

    def build(self, program: Program) -> Ran:
        return run(program.build_command(self.nvcc), self.folder, BUILD_SECONDS, {})

    def execute(self, program: Program) -> Ran:
        environment = {}
        if self.emulator is not None:
            environment["LD_LIBRARY_PATH"] = str(self.emulator)
            if program.device:
                environment["WARPEMU_DEVICE"] = program.device
        command = program.run or shlex.quote(f"./{program.name}")
        return run(command, self.folder, program.seconds or self.seconds, environment)

    def outcome(self, program: Program) -> Outcome:
        built = self.build(program)
        if built.code != 0:
            return Outcome(program.name, "fails", f"does not build: {first_line(built.messages)}")
        record = self.record_of(program)
        expected = record.read_text(encoding="utf-8") if record.exists() else None
        return classify(program, self.execute(program), expected)

    def keep(self, program: Program) -> str:
        """Writes what the program prints on this machine's GPU."""
        built = self.build(program)
        if built.code != 0:
            return f"does not build: {first_line(built.messages)}"
        ran = self.execute(program)
        if ran.stopped or ran.code != program.exit:
            return f"not recorded: it {'was stopped' if ran.stopped else f'ended with {ran.code}'}"
        record = self.record_of(program)
        unfinished = record.with_name(record.name + ".new")
        unfinished.write_text(ran.output, encoding="utf-8")
        unfinished.replace(record)
        return "recorded"


def print_table(outcomes: list[Outcome]) -> None:
    counts = Counter(outcome.ended for outcome in outcomes)
    print()
    print("".join(f"{name:>10}" for name in ("programs", *CLASSES)))
    print("".join(f"{count:>10}" for count in (len(outcomes), *(counts[name] for name in CLASSES))))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("list", type=Path)
    parser.add_argument("--emulator", type=Path, default=ROOT / os.environ.get("BUILD", "build") / "emulator")
    parser.add_argument("--nvcc", default=os.environ.get("NVCC", "nvcc"))
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--record", action="store_true")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    programs = [p for p in read_list(given.list) if not given.only or p.name in given.only]
    emulator = None if given.record else given.emulator.resolve()
    if not given.folder.is_dir():
        sys.exit(f"{given.folder}: the folder of the programs is not there")
    suite = Suite(given.folder.resolve(), given.nvcc, emulator, given.seconds)
    if given.record:
        for program in programs:
            print(f"{program.name}: {suite.keep(program)}", flush=True)
        return 0
    outcomes = []
    for program in programs:
        outcomes.append(suite.outcome(program))
        print(f"{outcomes[-1].ended:8} {program.name:28} {outcomes[-1].why}".rstrip(), flush=True)
    print_table(outcomes)
    if given.json:
        given.json.write_text(json.dumps([asdict(o) for o in outcomes], indent=1) + "\n", encoding="utf-8")
    return 0 if all(outcome.ended == "right" for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
