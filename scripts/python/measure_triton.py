#!/usr/bin/env python3
"""Judges the staff's Triton solutions on this machine's GPU, and times the same kernels by Triton's own launcher.

    scripts/measure triton [--run runs/triton] [--labs vector_add,softmax] [--backend cuda] [--repetitions 30]

For each lab a class of reference/<lab>/triton/* is graded as any other. A table then has, for each speed case, the
median that the judge measured, and the median of Triton's launcher with tensors of torch on the same GPU: launches
queue up behind a kernel that waits, L2 is overwritten before each run, and the time of an empty run comes off. Both
sides take the first configuration of an autotuned kernel, and have the same version of Triton: that of the Python
that runs this script, which needs torch, NumPy and triton.

With --backend emulator only the verdicts are told.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import statistics
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/bin/warpgrade"
FLUSHED_BYTES, WAIT_CYCLES, WARM_UP = 256 << 20, 2_000_000, 5


def solutions(lab: str) -> list[Path]:
    """The folders of a lab's solutions in Triton."""
    return sorted(f.parent for f in (ROOT / "reference" / lab / "triton").glob(f"*/{lab}.py"))


def grade(lab: str, run: Path, backend: str) -> list[dict[str, Any]]:
    """Judge them as a class; their records."""
    import triton  # noqa: PLC0415

    environment = dict(os.environ)
    environment.setdefault("WARPGRADE_PYTHON", sys.executable)
    environment.setdefault("WARPGRADE_TRITON", str(Path(triton.__file__).parents[1]))
    command = [str(PROGRAM), "grade"]
    for folder in solutions(lab):
        command += ["--reference", str(folder)]
    command += ["--lab", lab, "--backend", backend, "--run", str(run), "--fresh"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout + done.stderr, file=sys.stderr)
    records = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(run.glob("**/*.json"))]
    return [r for r in records if isinstance(r, dict) and "outcome" in r and "case" in r]


class Native:
    """Triton's own launcher, with torch's tensors."""

    def __init__(self, repetitions: int) -> None:
        self.torch = importlib.import_module("torch")
        autotuner = importlib.import_module("triton.runtime.autotuner").Autotuner
        tune = autotuner.run

        def first(tuner: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            tuner.configs = tuner.configs[:1]
            return tune(tuner, *args, **kwargs)

        autotuner.run = first
        device = types.ModuleType("warpgrade")
        device.empty = lambda shape, dtype="float32": self.tensor(shape, dtype)  # type: ignore[attr-defined]
        device.zeros = lambda shape, dtype="float32": self.tensor(shape, dtype).zero_()  # type: ignore[attr-defined]
        sys.modules["warpgrade"] = device
        self.flushed = self.torch.empty(FLUSHED_BYTES, dtype=self.torch.int8, device="cuda")
        self.repetitions = repetitions
        self.empty_us = self.median_us(lambda: None)

    def tensor(self, shape: Any, dtype: str) -> Any:  # noqa: ANN401
        """Memory that holds garbage."""
        return self.torch.empty(shape, dtype=getattr(self.torch, dtype), device="cuda")

    def median_us(self, work: Callable[[], object]) -> float:
        """Of the device's time from before the work to behind it."""
        for _ in range(WARM_UP):
            work()
        times = []
        for _ in range(self.repetitions):
            begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
            self.flushed.zero_()
            self.torch.cuda._sleep(WAIT_CYCLES)
            begin.record()
            work()
            end.record()
            self.torch.cuda.synchronize()
            times.append(1e3 * float(begin.elapsed_time(end)))
        return statistics.median(times)

    def solution_us(self, folder: Path, call: dict[str, Any], parameters: dict[str, Any]) -> float:
        """The solution's run(), on random numbers."""
        sys.path.insert(0, str(folder))
        sys.modules.pop(call["lab"], None)
        module = importlib.import_module(call["lab"])
        sys.path.pop(0)
        arrays = {name: self.random(array, parameters) for name, array in call["arrays"].items()}
        values = parameters | {each["name"]: 0.5 for each in call["scalars"]}
        plan, functions = None, call["functions"]
        if hasattr(module, "plan"):
            plan = module.plan(*[{"stream": 0, **arrays, **values}[a["name"]] for a in functions["plan"]])
        given = [{"stream": 0, "plan": plan, **arrays, **values}[a["name"]] for a in functions["run"]]
        return self.median_us(lambda: module.run(*given)) - self.empty_us

    def random(self, array: dict[str, Any], parameters: dict[str, Any]) -> Any:  # noqa: ANN401
        """An array as the case has it."""
        names = {"min": min, "max": max, "ceil_div": lambda a, b: -(-a // b), "log2": math.log2}
        shape = [int(eval(text.replace("/", "//"), dict(names), dict(parameters))) for text in array["shape"]]  # noqa: S307
        made = self.tensor(shape, array["dtype"])
        if made.dtype.is_floating_point:
            return made.uniform_(-1, 1)
        signed = {4: self.torch.int32, 8: self.torch.int64}[made.element_size()]
        return made.view(signed).random_(0, 1000).view(made.dtype)


def call_of(lab: str) -> dict[str, Any]:
    """What the compiler made of lab.yaml: it lies in each program of its cache."""
    cache = Path(os.environ.get("WARPGRADE_CACHE", ROOT / ".cache")) / "compiled"
    files = sorted(cache.glob("*/runner/lab.json"), key=lambda file: file.stat().st_mtime, reverse=True)
    calls = (json.loads(file.read_text(encoding="utf-8")) for file in files)
    return next(dict(call) for call in calls if call["lab"] == lab)


def declared_labs() -> str:
    """Those whose inputs may be random numbers: a written lab's are graphs."""
    files = sorted(folder.parent / "lab.yaml" for folder in ROOT.glob("reference/*/triton"))
    return ",".join(file.parent.name for file in files if "\njudge: C++" not in file.read_text(encoding="utf-8"))


def main() -> int:
    """Judge, time and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, default=Path("runs/triton"))
    parser.add_argument("--labs", default=declared_labs())
    parser.add_argument("--backend", default="cuda", choices=["cuda", "emulator"])
    parser.add_argument("--repetitions", type=int, default=30)
    options = parser.parse_args()
    native = Native(options.repetitions) if options.backend == "cuda" else None
    status = 0
    for lab in options.labs.split(","):
        records = grade(lab, options.run / lab, options.backend)
        wrong = [r for r in records if r["outcome"]["verdict"] != "accepted"]
        print(f"{lab}: {len(records) - len(wrong)} of {len(records)} cases accepted", flush=True)
        for record in wrong:
            words = record["outcome"].get("message", "")
            print(f"  {record['submission']['id']} {record['case']['id']}: {record['outcome']['verdict']}: {words}")
        status |= bool(wrong) or not records
        for record in records:
            judged = (record.get("timing") or {}).get("median_us")
            if native is None or judged is None:
                continue
            name = record["submission"]["id"]
            folder = ROOT / "reference" / lab / "triton" / name
            try:
                own = native.solution_us(folder, call_of(lab), record["case"]["parameters"])
            except Exception as error:  # the table goes on
                print(f"  {name} {record['case']['id']}: judged {judged:.2f} us, Triton's launcher: {error!r}"[:300])
                continue
            print(
                f"  {name:10} {record['case']['id']:16} judged {judged:10.2f} us   Triton's launcher {own:10.2f} us   "
                f"{judged / own - 1:+.1%}",
                flush=True,
            )
    if native is not None:
        triton = importlib.import_module("triton")
        print(f"Triton {triton.__version__} on both sides, torch {native.torch.__version__}; ", end="")
        print(f"{native.torch.cuda.get_device_name()}; an empty run's {native.empty_us:.2f} us came off")
    return status


if __name__ == "__main__":
    sys.exit(main())
