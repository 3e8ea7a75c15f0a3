#!/usr/bin/env python3
"""Checks on a machine with several GPUs that `warpgrade` judges on all of them, one judge each, and that the choice
among them and the leases between runs hold. Exit code 0: all holds; 1: something does not; 2: fewer than two devices.

    scripts/check-devices [--runs runs/devices] [--cases arxiv-k32,ddi-k256] [--emulated 2]

What is checked, each printed as a line with PASS or FAIL:

all        a class of copies of the naive solution: every device has judged some of it, every verdict is accepted, and
           the wall time is below 0.8 of what one device alone takes (GPUs only)
--gpus     `--gpus 1` judges on the second device alone
visible    so does CUDA_VISIBLE_DEVICES=1, with host process, executor and baselines on it
lease      of two runs at once on the second device one waits for the other (`waited_s` of judging.json)
alike      the speed-ups of the two devices differ by less than 3 % (GPUs only)

`--emulated N` does the same on N emulated devices, without a GPU. Needs the built programs and python3.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "reports"))
from warpgrade_reports.text import lines_of  # noqa: E402

FEWEST, MOST_SHARE, MOST_DIFFERENCE, LEAST_WAIT_S = 2, 0.8, 0.03, 0.01


class Checks:
    """The runs and what was found; every check is a method."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.emulated = options.emulated > 0
        self.failed = False
        self.folder = options.runs
        self.environment = dict(os.environ)
        if self.emulated:
            self.environment |= {"WARPEMU_DEVICES": str(options.emulated), "WARPEMU_THREADS": "1"}

    def begin(self, name: str, *more: str, **environment: str) -> subprocess.Popen[bytes]:
        """Starts judging the class into a run of this name."""
        command = [
            ROOT / "build/bin/warpgrade",
            "grade",
            self.folder / "class",
            "--run",
            self.folder / name,
            "--lab",
            "spmm",
        ]
        command += ["--backend", "emulator" if self.emulated else "cuda", "--cases", self.options.cases, *more]
        command += ["--speed-budget", "2"]
        return subprocess.Popen(
            list(map(str, command)), env={**self.environment, **environment}, stdout=subprocess.DEVNULL
        )

    def judge(self, name: str, *more: str, **environment: str) -> float:
        """Judges the class; the seconds that took."""
        begun = time.monotonic()
        if self.begin(name, *more, **environment).wait() != 0:
            raise SystemExit(f"the run {name} failed; its messages are above")
        return time.monotonic() - begun

    def records(self, name: str) -> list[dict[str, Any]]:
        """Its case records."""
        lines = lines_of((self.folder / name / "records.jsonl").read_text(encoding="utf-8"))
        return [json.loads(line) for line in lines]

    def devices(self, name: str) -> list[str]:
        """The devices that it was judged on."""
        return sorted({record["device"]["uuid"] for record in self.records(name)})

    def waited(self, name: str) -> float:
        """The longest wait of a submission for another judge."""
        files = (self.folder / name / "submissions").glob("*/judging.json")
        sessions = [s for f in files for s in json.loads(f.read_text(encoding="utf-8"))["sessions"]]
        return max(float(session["waited_s"]) for session in sessions)

    def tell(self, name: str, holds: bool, figures: str) -> None:
        """One line."""
        self.failed |= not holds
        print(f"{'PASS' if holds else 'FAIL'}  {name:<8} {figures}", flush=True)

    def ratio(self, device: str) -> float:
        """The median speed-up over the policy's baseline on this device, over all records of the run `all`."""
        mine = [r for r in self.records("all") if r["device"]["uuid"] == device and "ratios" in r]
        return statistics.median(float(r["ratios"]["cusparse_default"]["median"]) for r in mine)

    def execute(self) -> int:
        """All checks; the exit code."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for number in range(6):
            shutil.copytree(ROOT / "reference/spmm/naive", self.folder / f"class/student-{number}")
        self.judge("warm", "--gpus", "0")  # compiles, reads datasets
        one = self.judge("one", "--gpus", "0")
        together = self.judge("all")
        used = self.devices("all")
        if len(used) < FEWEST:
            print("fewer than two devices of one model here, or the second one judged nothing")
            return 2
        accepted = all(r["outcome"]["verdict"] == "accepted" for r in self.records("all"))
        quick = self.emulated or together < MOST_SHARE * one
        self.tell("all", accepted and quick, f"{len(used)} devices, {together:.1f} s; one: {one:.1f} s")
        self.judge("second", "--gpus", "1")
        second = self.devices("second")
        self.tell("--gpus", len(second) == 1 and second != self.devices("one"), f"{second}")
        self.judge("visible", CUDA_VISIBLE_DEVICES="1")
        self.tell("visible", self.devices("visible") == second, f"{self.devices('visible')}")
        both = [self.begin(name, "--gpus", "1") for name in ("left", "right")]
        codes = [run.wait() for run in both]
        waits = [self.waited(name) for name in ("left", "right")]
        self.tell(
            "lease", codes == [0, 0] and max(waits) > LEAST_WAIT_S, f"exit codes {codes}, waited {max(waits):.2f} s"
        )
        if not self.emulated:
            ratios = [self.ratio(device) for device in used]
            apart = max(ratios) / min(ratios) - 1
            self.tell("alike", apart < MOST_DIFFERENCE, f"speed-ups {', '.join(f'{r:.3f}' for r in ratios)}")
        return 1 if self.failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=ROOT / "runs/devices")
    parser.add_argument("--cases", default=None)
    parser.add_argument("--emulated", type=int, default=0)
    chosen = parser.parse_args()
    chosen.cases = chosen.cases or ("synth-all-empty-k32,synth-hub-k32" if chosen.emulated else "arxiv-k32,ddi-k256")
    sys.exit(Checks(chosen).execute())
