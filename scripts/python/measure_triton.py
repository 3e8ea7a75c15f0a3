#!/usr/bin/env python3
"""Judges the staff's Triton solutions on this machine's GPU, and times the same kernels by Triton's own launcher.

    scripts/measure triton [--run runs/triton] [--labs vector_add,softmax] [--backend cuda] [--processes 5]

For each lab a class of reference/<lab>/triton/* is graded as any other. Then processes of Python with torch, one after
the other, launch the same solutions by Triton's own launcher, on torch's tensors. Both sides have the judge's clock
(grader/judge/measure/README.md): the device waits behind a gate while launches queue up, caches are overwritten, the
time of an empty run comes off. On this side the clock is build/executor/libwarpgrade_stopwatch.so.

A process keeps its own speed, and where arrays come to lie decides up to some per cent. So both sides have several
processes, each behind memory of random size, and small arrays lie at random places. As in
grader/judge/executor/tests/gpu/fidelity.sh a case fits where the medians of both sides' processes come within 2 % or
0.5 us of each other; runs that are bound by their launches (below 6 us each) are told and not compared. What plan()
tunes is tuned on both sides; of other autotuned kernels both take the first configuration. Both have the same version
of Triton: that of the Python that runs this script, which needs torch, NumPy and triton. spmm's matrices are the
judge's.

With --backend emulator only the verdicts are told. Exit code 1: a case was not accepted, or the times of a case
differ.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import importlib.util
import json
import math
import os
import random
import statistics
import subprocess
import sys
import types
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/bin/warpgrade"
CACHE = Path(os.environ.get("WARPGRADE_CACHE", ROOT / ".cache"))
WARM_UP = 3
FITS_RATIO, FITS_US = 0.02, 0.5
LAUNCH_US = 6  # a launch and the next, as in fidelity.cpp
SMALL, ROOM, STEP = 1 << 20, 64 << 20, 512  # bytes: arrays below SMALL lie at a multiple of STEP somewhere in ROOM
LABS = "vector_add,reduction,scan,sort,transpose,softmax,stencil,convolution,matmul,spmm"


@dataclass
class Case:
    """A speed case of a solution, as it was judged."""

    lab: str
    solution: str
    name: str
    values: dict[str, Any]
    judged_us: list[float]  # the medians of the judge's processes


def solutions(lab: str) -> list[Path]:
    """The folders of a lab's solutions in Triton."""
    return sorted(f.parent for f in (ROOT / "reference" / lab / "triton").glob(f"*/{lab}.py"))


def grade(lab: str, run: Path, backend: str, cases: str) -> list[dict[str, Any]]:
    """Judge them as a class; their records."""
    import triton  # noqa: PLC0415

    environment = dict(os.environ)
    environment.setdefault("WARPGRADE_PYTHON", sys.executable)
    environment.setdefault("WARPGRADE_TRITON", str(Path(triton.__file__).parents[1]))
    command = [str(PROGRAM), "grade"]
    for folder in solutions(lab):
        command += ["--reference", str(folder)]
    command += ["--lab", lab, "--backend", backend, "--run", str(run), "--fresh", "--quiet"]
    if cases:
        command += ["--cases", cases]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout + done.stderr, file=sys.stderr)
    file = run / "records.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").strip().split("\n")] if file.exists() else []


class Stopwatch:
    """The judge's clock of timed runs, in this process."""

    def __init__(self, stream: int) -> None:
        self.library = ctypes.CDLL(str(PROGRAM.parent.parent / "executor/libwarpgrade_stopwatch.so"))
        for name in ("open", "begin", "end"):
            getattr(self.library, f"stopwatch_{name}").restype = ctypes.c_double
        self.empty_us = self.library.stopwatch_open(ctypes.c_void_p(stream))
        if self.empty_us < 0:
            raise RuntimeError("there is no clock")

    def time_us(self, work: Callable[[], object]) -> float:
        """A run; once more where its start was not known in time."""
        for _ in range(8):
            if self.library.stopwatch_begin() < 0:
                break
            work()
            time = float(self.library.stopwatch_end())
            if time >= 0:
                return time
        raise RuntimeError("no run had a clock")


class Native:
    """Triton's own launcher, with torch's tensors."""

    def __init__(self, repetitions: int) -> None:
        self.torch = importlib.import_module("torch")
        self.torch.cuda.init()
        self.stream = self.torch.cuda.Stream()
        self.torch.cuda.set_stream(self.stream)
        self.stopwatch = Stopwatch(self.stream.cuda_stream)
        self.is_planning = False
        self.launches = 0
        self.tune_in_plan_alone()
        self.count_launches()
        device = types.ModuleType("warpgrade")
        device.empty = lambda shape, dtype="float32": self.tensor(shape, dtype)  # type: ignore[attr-defined]
        device.zeros = lambda shape, dtype="float32": self.tensor(shape, dtype).zero_()  # type: ignore[attr-defined]
        sys.modules["warpgrade"] = device
        self.repetitions = repetitions
        self.chance = random.SystemRandom()
        pieces = range(self.chance.randrange(1, 13))
        self.held = [self.tensor(self.chance.randrange(1, 25) << 21, "uint8") for _ in pieces]
        self.room = self.tensor(ROOM, "uint8")
        self.places = self.chance.sample(range(0, ROOM - SMALL, SMALL), 32)

    def tune_in_plan_alone(self) -> None:
        """As the judge has it."""
        autotuner = importlib.import_module("triton.runtime.autotuner").Autotuner
        tune = autotuner.run

        def run(tuner: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            if not self.is_planning and not tuner.cache:
                tuner.configs = tuner.configs[:1]
            return tune(tuner, *args, **kwargs)

        autotuner.run = run

    def count_launches(self) -> None:
        """Of all of Triton's kernels."""
        function = importlib.import_module("triton.runtime.jit").JITFunction
        launch = function.run

        def run(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            self.launches += 1
            return launch(*args, **kwargs)

        function.run = run

    def tensor(self, shape: Any, dtype: str) -> Any:  # noqa: ANN401
        """Memory that holds garbage."""
        return self.torch.empty(shape, dtype=getattr(self.torch, dtype), device="cuda")

    def times_us(self, case: Case, call: dict[str, Any]) -> tuple[list[float], int]:
        """Of the solution's run(), each behind caches that hold nothing of it; and how many launches it makes."""
        folder = ROOT / "reference" / case.lab / "triton" / case.solution
        sys.path.insert(0, str(folder))
        sys.modules.pop(call["lab"], None)
        module = importlib.import_module(call["lab"])
        sys.path.pop(0)
        given = case.values | {each["name"]: 0.5 for each in call["scalars"]}
        given |= {name: self.array(name, array, case.values) for name, array in call["arrays"].items()}
        given |= {"stream": self.stream.cuda_stream, "plan": None}
        if hasattr(module, "plan"):
            self.is_planning = True
            given["plan"] = module.plan(*[self.argument(each, given) for each in call["functions"]["plan"]])
            self.is_planning = False
        arguments = [self.argument(each, given) for each in call["functions"]["run"]]
        for _ in range(WARM_UP):
            module.run(*arguments)
        self.launches = 0
        module.run(*arguments)
        told = self.launches
        self.torch.cuda.synchronize()
        times = [self.stopwatch.time_us(lambda: module.run(*arguments)) for _ in range(self.repetitions)]
        return times[1:], told  # as in the judge, the first does not count

    def argument(self, described: dict[str, Any], given: dict[str, Any]) -> Any:  # noqa: ANN401
        """An array, a number, or several of them under one name."""
        if described["kind"] != "structure":
            return given[described["name"]]
        return types.SimpleNamespace(**{each["name"]: given[each["name"]] for each in described["fields"]})

    def placed(self, shape: list[int], dtype: str) -> Any:  # noqa: ANN401
        """Memory of an array; a small one's lies at a random place, where Torch would put all of them into one row."""
        kind = getattr(self.torch, dtype)
        size = math.prod(shape) * kind.itemsize
        if size > SMALL - STEP:
            return self.tensor(shape, dtype)
        begin = self.chance.choice(self.places) + self.chance.randrange(0, SMALL - size, STEP)
        self.places.remove(begin // SMALL * SMALL)
        return self.room[begin : begin + size].view(kind).view(shape)

    def array(self, name: str, array: dict[str, Any], values: dict[str, Any]) -> Any:  # noqa: ANN401
        """An array as the case has it: random numbers, and a matrix's structure from the judge's file."""
        if name in ("row_offsets", "columns"):
            numpy = importlib.import_module("numpy")
            with numpy.load(CACHE / "datasets" / f"{values['dataset']}.npz") as file:
                whole = file["indptr" if name == "row_offsets" else "indices"]
            return self.torch.from_numpy(whole.astype("int32")).cuda()
        names = {"min": min, "max": max, "ceil_div": lambda a, b: -(-a // b), "log2": math.log2}
        shape = [int(eval(text.replace("/", "//"), dict(names), dict(values))) for text in array["shape"]]  # noqa: S307
        made = self.placed(shape, array["dtype"])
        if made.dtype.is_floating_point:
            return made.uniform_(-1, 1)
        signed = {4: self.torch.int32, 8: self.torch.int64}[made.element_size()]
        made.view(signed).random_(-(2**31), 2**31)
        return made


def time_natively(job: Path, repetitions: int) -> int:
    """In a process of its own: a line for each case of the job."""
    native = Native(repetitions)
    for each in json.loads(job.read_text(encoding="utf-8")):
        case = Case(**each["case"])
        told: dict[str, Any] = {"case": [case.lab, case.solution, case.name]}
        try:
            told["times_us"], told["launches"] = native.times_us(case, each["call"])
        except Exception as error:  # the table goes on
            told["error"] = repr(error)[:300]
        native.torch.cuda.empty_cache()
        print(json.dumps(told), flush=True)
    return 0


def call_of(lab: str) -> dict[str, Any]:
    """What the compiler made of lab.yaml: it lies in each program of its cache."""
    files = sorted((CACHE / "compiled").glob("*/runner/lab.json"), key=lambda f: f.stat().st_mtime, reverse=True)
    calls = (json.loads(file.read_text(encoding="utf-8")) for file in files)
    return next(dict(call) for call in calls if call["lab"] == lab)


def judged_cases(lab: str, records: list[dict[str, Any]]) -> list[Case]:
    """What was accepted with a time."""
    found = []
    for record in records:
        timing = record.get("timing") or {}
        times = timing.get("samples", {}).get("submission_us")
        if times:
            case = record["case"]
            values = case.get("parameters") or {
                **{key: case[key] for key in ("rows", "cols", "nnz", "dataset")},
                "k": case["width"],
            }
            processes = timing["samples"]["process"]
            medians = [
                statistics.median(time for time, process in zip(times, processes, strict=True) if process == each)
                for each in sorted(set(processes))
            ]
            found.append(Case(lab, record["submission"]["id"], case["id"], values, medians))
    return found


def compare(cases: list[Case], run: Path, processes: int, repetitions: int) -> int:
    """The table of both sides, and how many cases differ."""
    job = run / "native.json"
    run.mkdir(parents=True, exist_ok=True)
    job.write_text(json.dumps([{"case": asdict(c), "call": call_of(c.lab)} for c in cases]), encoding="utf-8")
    times: dict[tuple[str, ...], list[list[float]]] = {}
    launches: dict[tuple[str, ...], int] = {}
    environment = os.environ | {"TRITON_CACHE_DIR": str((run / "triton").resolve())}
    for _ in range(processes):
        command = [sys.executable, str(Path(__file__).resolve()), "--native", str(job)]
        command += ["--repetitions", str(repetitions)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(done.stderr[-2000:], file=sys.stderr)
        for line in filter(None, done.stdout.split("\n")):
            told = json.loads(line)
            if "error" in told:
                print(f"{told['case']}: {told['error']}", file=sys.stderr)
            else:
                times.setdefault(tuple(told["case"]), []).append(told["times_us"])
                launches[tuple(told["case"])] = told["launches"]
    (run / "native_times.json").write_text(json.dumps([[*k, v] for k, v in times.items()]), encoding="utf-8")
    differ = 0
    print("| lab | solution | case | judged, us | | Triton's launcher, us | | judged beside it | |")
    print("|---|---|---|---:|---|---:|---|---:|---|")
    for case in cases:
        rounds = times.get((case.lab, case.solution, case.name), [])
        if not rounds:
            differ += 1
            print(f"| {case.lab} | {case.solution} | {case.name} | {min(case.judged_us):.2f} | | | | | not compared |")
            continue
        medians = [statistics.median(each) for each in rounds]
        judged, own = statistics.median(case.judged_us), statistics.median(medians)
        number = launches[case.lab, case.solution, case.name]
        gap = max(min(case.judged_us) - max(medians), min(medians) - max(case.judged_us), 0)
        word = "" if abs(judged - own) <= max(FITS_RATIO * own, FITS_US) else "in common"
        if gap > max(FITS_RATIO * own, FITS_US):
            word = f"bound by {number} launches" if number > 1 and own < LAUNCH_US * number else "differs"
        differ += word == "differs"
        print(
            f"| {case.lab} | {case.solution} | {case.name} | {judged:.2f} | {min(case.judged_us):.2f} to "
            f"{max(case.judged_us):.2f} | {own:.2f} | {min(medians):.2f} to {max(medians):.2f} | "
            f"{100 * (judged / own - 1):+.1f} % | {word} |"
        )
    return differ


def main() -> int:
    """Judge, time and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, default=Path("runs/triton"))
    parser.add_argument("--labs", default=LABS)
    parser.add_argument("--cases", default="", help="as of `warpgrade grade`; all when left out")
    parser.add_argument("--backend", default="cuda", choices=["cuda", "emulator"])
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--repetitions", type=int, default=21)
    parser.add_argument("--native", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.native is not None:
        return time_natively(options.native, options.repetitions)
    if min(options.processes, options.repetitions - 1) < 1:
        parser.error("--processes is 1 or more, --repetitions 2 or more")
    chosen = options.labs.split(",")
    if unknown := [lab for lab in chosen if not solutions(lab)]:
        parser.error(f"no solutions in Triton: {', '.join(unknown)}; known: {LABS}")
    if importlib.util.find_spec("triton") is None:
        parser.error("this Python has no triton: run it with one that has (and torch, NumPy for a GPU)")
    status, cases = 0, []
    for lab in chosen:
        records = grade(lab, options.run / lab, options.backend, options.cases)
        wrong = [r for r in records if r["outcome"]["verdict"] != "accepted"]
        print(f"{lab}: {len(records) - len(wrong)} of {len(records)} cases accepted", flush=True)
        for record in wrong:
            words = record["outcome"].get("message", "")
            print(f"  {record['submission']['id']} {record['case']['id']}: {record['outcome']['verdict']}: {words}")
        status |= bool(wrong) or not records
        cases += judged_cases(lab, records)
    if options.backend == "cuda":
        torch, triton = importlib.import_module("torch"), importlib.import_module("triton")
        differ = compare(cases, options.run, options.processes, options.repetitions)
        print(f"{len(cases) - differ} of {len(cases)} cases do not differ. ", end="")
        print(f"Triton {triton.__version__} on both sides, torch {torch.__version__}; {torch.cuda.get_device_name()}")
        status |= differ > 0
    return status


if __name__ == "__main__":
    sys.exit(main())
