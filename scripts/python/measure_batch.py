#!/usr/bin/env python3
"""Grades a class of at least 20 submissions on this machine's GPU through `warpgrade batch --executor local` and
says whether the two bars hold: the GPU busy for at least 80 % of the judging wall time, and the judge's own overhead
below 0.5 s a submission in the mean. Exit code 0: both hold; 1: one does not, or too little was judged to tell.

    scripts/measure batch [--lab spmm] [--output runs/measured-batch] [--jobs 1] [--cases ...] [--seconds 210]
                          [--backend cuda]

The class is lab spmm's ladder, the staff's solution and submissions of the corpus, some handed in twice. Of another
lab it is the staff's solutions, those that are wrong among them, as often as a class of 20 needs. What is measured:

busy       NVML's utilization (the share of time in which a kernel was running), sampled once a second by nvidia-smi
           between the first judging session's start and the last one's end.
overhead   a judging session from its start to its last verdict, less compiling and less the submission's plans and
           runs with their checks (phases plan, run, verify, timed). The bar is for the mean of all. A judge's first
           submission, for which it reads the datasets and baselines start and choose algorithms, is told apart.

With several judges on one GPU (--jobs) the overhead has two parts: waiting for a turn (lease_wait) and the judges' own
work; both are printed, the own work counts. Afterwards three submissions are judged again by one judge with the GPU to
itself, where nothing is waited for and the whole overhead counts; speed-ups of both are compared.

A case is timed for two seconds at most, or 31 pairs, which only slow kernels take longer for: less time on the GPU
than a course's runs get, so the bar of the busy GPU is harder to reach. A class that is not through after --seconds is
interrupted, and what was judged until then is measured; the second run has 75 s. So the whole ends within five minutes
once the programs are built. Needs python3 and nvidia-smi, nothing else.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
Told = dict[str, Any]
CASES = "ddi-k256,collab-k256,yelp-k256,reddit.dgl-k32,ppa-k32,am-k32"
FEW = ("optimized.first", "04_row_split.first", "05_two_shapes.first")
RUNS = ("plan", "run", "verify", "timed")
ALONE_SECONDS = 75.0
LEAST_SUBMISSIONS, LEAST_BUSY_PERCENT, MOST_OVERHEAD_S = 20, 80.0, 0.5


def sources(lab: str) -> dict[str, Path]:
    """Students' names and where their sources come from."""
    return sources_of_spmm() if lab == "spmm" else sources_of_staff(ROOT / "reference" / lab)


def sources_of_staff(lab: Path) -> dict[str, Path]:
    """The lab's solutions in turn."""
    places = [lab / "naive", *sorted(lab.glob("steps/*")), lab / "optimized", *sorted(lab.glob("wrong/*"))]
    folders = [folder for folder in places if (folder / f"{lab.name}.cu").exists()]
    if not folders:
        sys.exit(f"measure batch: {lab} has no solutions in CUDA; the labs are the folders of reference/")
    turns = -(-LEAST_SUBMISSIONS // len(folders))
    return {f"{folder.name}.{turn}": folder for turn in range(1, turns + 1) for folder in folders}


def sources_of_spmm() -> dict[str, Path]:
    """The ladder, the solution and a part of the corpus."""
    chosen: dict[str, Path] = {}
    ladder = [*sorted((ROOT / "reference/spmm/steps").iterdir()), ROOT / "reference/spmm/optimized"]
    for turn in ("first", "second"):
        chosen |= {f"{folder.name}.{turn}": folder for folder in ladder if folder.is_dir()}
    corpus = ROOT / "grader/tests/submissions"
    for verdict, count in (("accepted", 4), ("wrong_answer", 4), ("runtime_error", 2), ("compile_error", 1)):
        folders = [
            f
            for f in sorted((corpus / verdict).iterdir())
            if any((f / n).exists() for n in ("spmm.cu", "spmm_opt.cu")) and not attacks(f)
        ]
        chosen |= {folder.name: folder for folder in folders[:count]}
    return chosen


def attacks(folder: Path) -> bool:
    """Attacks on the judge share files that lie elsewhere; scripts/check-attacks judges them."""
    expected = folder / "expected.yaml"
    return expected.exists() and "\nattack:" in "\n" + expected.read_text(encoding="utf-8")


def make_class(lab: str, folder: Path) -> int:
    """Copies the sources; the number of submissions."""
    shutil.rmtree(folder, ignore_errors=True)
    chosen = sources(lab)
    for name, source in chosen.items():
        shutil.copytree(source, folder / name)
    return len(chosen)


class Utilization(threading.Thread):
    """Samples of the GPU's utilization in per cent, with their times."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.samples: list[tuple[float, float]] = []
        command = [
            "nvidia-smi",
            "--query-gpu=utilization.gpu",
            "--format=csv,noheader,nounits",
            "-i",
            "0",
            "-lms",
            "1000",  # each question is the driver's time too; the figure is a mean over most of a second
        ]
        try:
            self.process: subprocess.Popen[str] | None = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        except FileNotFoundError:
            self.process = None

    def run(self) -> None:
        """Reads until the sampler is ended."""
        if self.process is None or self.process.stdout is None:
            return
        for line in self.process.stdout:
            if line.strip().isdigit():
                self.samples.append((time.time(), float(line)))

    def end(self) -> None:
        """Ends the sampler."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait()


def batch(run: Path, submissions: Path, arguments: argparse.Namespace, jobs: int, seconds: float) -> None:
    """Grades the class; what it says goes to the screen."""
    command = [str(ROOT / arguments.build / "bin/warpgrade"), "batch", str(run), "--submissions", str(submissions)]
    command += [
        "--lab",
        arguments.lab,
        "--backend",
        arguments.backend,
        *(["--cases", arguments.cases] if arguments.cases else []),
        "--jobs",
        str(jobs),
        "--speed-budget",
        "2",
        "--fresh",
    ]
    command += ["--executor", "local", *(["--allow-unsandboxed"] if arguments.allow_unsandboxed else [])]
    process = subprocess.Popen(command)
    try:
        code = process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        print(f"measure batch: interrupted after {seconds:.0f} s; what was judged until then counts")
        process.send_signal(signal.SIGINT)
        process.wait()
        return
    if code not in (0, 2):
        sys.exit(f"measure batch: warpgrade batch ended with exit code {code}")


def sessions_of(run: Path) -> dict[str, list[Told]]:
    """Each submission's judging sessions."""
    files = sorted(run.glob("submissions/*/judging.json"))
    return {file.parent.name: json.loads(file.read_text(encoding="utf-8"))["sessions"] for file in files}


def records_of(run: Path) -> list[Told]:
    """The run's case records, also of a run that was interrupted."""
    files = [file for file in sorted(run.glob("cases/*/*.json")) if not file.name.endswith(".fault.json")]
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def window_of(sessions: dict[str, list[Told]]) -> tuple[float, float]:
    """When judging began and ended, in seconds since 1970."""
    spans = []
    for session in (s for list_ in sessions.values() for s in list_):
        begin = datetime.datetime.fromisoformat(session["started_at"].replace("Z", "+00:00")).timestamp()
        spans.append((begin, begin + session["wall_s"]))
    return min(begin for begin, _ in spans), max(end for _, end in spans)


def print_gaps(sessions: dict[str, list[Told]]) -> None:
    """What lies between a judging session's end and the next one's start, where a second or more is lost."""
    ordered = sorted((s["started_s"], s["wall_s"], name) for name, list_ in sessions.items() for s in list_)
    gaps = [(then[0] - (one[0] + one[1]), one[2], then[2]) for one, then in itertools.pairwise(ordered)]
    print(f"\nbetween sessions, all together: {sum(max(0.0, gap) for gap, *_ in gaps):.1f} s")
    for gap, before, after in gaps:
        if gap >= 1:
            print(f"  {gap:6.2f} s between {before} and {after}")


def own_work(session: Told) -> float:
    """Seconds of overhead without waiting for a turn on the GPU."""
    return float(session["overhead_s"])


def is_warm(session: Told) -> bool:
    """Whether the judge was up before."""
    return bool(session["phases"].get("judge_start", 0.0) == 0.0)


def with_waiting(session: Told) -> float:
    """Seconds of overhead, waiting included."""
    return float(session["wall_s"]) - float(sum(session["phases"].get(phase, 0.0) for phase in RUNS))


def spread(values: list[float]) -> str:
    """Mean, median and largest."""
    return (
        f"mean {statistics.mean(values):.2f} s, median {statistics.median(values):.2f} s, largest {max(values):.2f} s"
    )


def print_phases(title: str, split: list[dict[str, float]], kinds: dict[str, str] | None = None) -> None:
    """Seconds by phase: all together, and the mean."""
    total: dict[str, float] = {}
    for phases in split:
        for phase, spent in phases.items():
            total[phase] = total.get(phase, 0.0) + spent
    print(f"\n{title}")
    for phase, spent in sorted(total.items(), key=lambda item: -item[1]):
        kind = (kinds or {}).get(phase, "overhead") if kinds is not None else ""
        print(f"  {phase:<14} {spent:8.1f}  {spent / len(split):7.3f}  {kind}".rstrip())


def print_times(run: Path, sampler: Utilization) -> tuple[bool, bool]:
    """Where the time went; whether the GPU was busy enough, and the judges' own work small enough."""
    sessions = sessions_of(run)
    judged = [s for list_ in sessions.values() for s in list_ if s["cases"] > 0]
    if not judged:
        sys.exit("measure batch: nothing was judged")
    begin, end = window_of(sessions)
    submissions = sum(any(s["cases"] > 0 for s in list_) for list_ in sessions.values())
    kinds = dict.fromkeys(RUNS, "run") | {"lease_wait": "waiting"}
    cases = statistics.mean(s["cases"] for s in judged)
    print(f"\njudging took {end - begin:.1f} s for {submissions} submissions that compiled")
    print_phases("seconds by phase: all, and a submission's mean", [s["phases"] for s in judged], kinds)
    print_gaps(sessions)
    timed = [r["timing"]["phases"] for r in records_of(run) if "phases" in r.get("timing", {})]
    if timed:
        print_phases("within timed: all, and a case's mean", timed)
    timed_s = sum(s["phases"].get("timed", 0.0) for s in judged)
    print(f"\ntimed phases, of which there is one at a time: {100 * timed_s / (end - begin):.1f} % of the judging time")
    print(f"overhead of a submission ({cases:.1f} cases), judges' own work: {spread([own_work(s) for s in judged])}")
    if warm := [own_work(s) for s in judged if is_warm(s)]:
        print(f"  of those whose judge was up before:              {spread(warm)}")
    if first := [own_work(s) for s in judged if not is_warm(s)]:
        print(f"  of a judge's first:                              {spread(first)}")
    print(f"overhead with waiting for a turn on the GPU:       {spread([with_waiting(s) for s in judged])}")
    inside = [percent for at, percent in sampler.samples if begin + 1 <= at <= end]
    enough = submissions + not_compiled(run) >= LEAST_SUBMISSIONS
    if not enough:
        print(f"only {submissions} submissions were judged; wanted: at least {LEAST_SUBMISSIONS}")
    if inside:
        share = statistics.mean(inside)
        print(f"GPU busy for {share:.1f} % of the judging time ({len(inside)} samples)")
    else:
        share = 0.0
        print("GPU busy: not measured, nvidia-smi gave no samples")
    small = statistics.mean(map(own_work, judged)) < MOST_OVERHEAD_S
    return enough and share >= LEAST_BUSY_PERCENT, enough and small


def not_compiled(run: Path) -> int:
    """Submissions whose verdict is the compiler's: of the class, but never judged."""
    records = {r["submission"]["id"]: r["outcome"]["verdict"] for r in records_of(run)}
    return sum(verdict == "compile_error" for verdict in records.values())


def print_alone(alone: Path) -> bool:
    """The overhead with the GPU to oneself; whether submissions of a judge that is up hold the bar in the mean."""
    judged = [s for list_ in sessions_of(alone).values() for s in list_ if s["cases"] > 0]
    warm = [s for s in judged if is_warm(s)]
    first = [s for s in judged if s not in warm]
    print_phases("alone on the GPU, seconds by phase: all, and a submission's mean", [s["phases"] for s in judged])
    for name, sessions in (("a judge's first submission", first), ("later ones", warm)):
        if sessions:
            print(f"overhead alone, waiting included, {name}: {spread([with_waiting(s) for s in sessions])}")
    return bool(warm) and statistics.mean(map(with_waiting, warm)) < MOST_OVERHEAD_S


def print_ratios(shared: Path, alone: Path) -> None:
    """Speed-ups with the GPU shared beside those alone: none may be further apart than their intervals say."""
    of_shared = {(r["submission"]["hash"], r["case"]["id"]): r for r in records_of(shared) if "ratios" in r}
    print("\nspeed-ups over the lab's first baseline, GPU shared outside timing / alone")
    apart = 0
    for record in (r for r in records_of(alone) if "ratios" in r):
        other = of_shared.get((record["submission"]["hash"], record["case"]["id"]))
        if other is None:
            continue
        baseline = min(record["ratios"])
        a, b = other["ratios"][baseline], record["ratios"][baseline]
        touches = a["low"] <= b["high"] and b["low"] <= a["high"]
        apart += not touches
        name = f"{record['submission']['title']:<28} {record['case']['id']:<16}"
        print(f"  {name} {a['median']:.3f} / {b['median']:.3f}  {'' if touches else 'apart'}")
    print(f"{apart} pairs of intervals do not touch")


def main() -> None:
    """Makes the class, grades it, prints."""
    parser = argparse.ArgumentParser(
        prog="scripts/measure batch", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lab", default="spmm")
    parser.add_argument("--output", type=Path, default=ROOT / "runs/measured-batch")
    parser.add_argument("--build", default="build")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cases", help="default: of spmm six large graphs, of another lab all cases")
    parser.add_argument("--seconds", type=float, default=210, help="then the class is interrupted")
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--allow-unsandboxed", action="store_true")
    parser.add_argument(
        "--no-alone", action="store_true", help="leave out the second run of several judges; no PASS then"
    )
    arguments = parser.parse_args()
    arguments.cases = arguments.cases or (CASES if arguments.lab == "spmm" else "")
    arguments.output.mkdir(parents=True, exist_ok=True)
    submissions, run, alone = (arguments.output / name for name in ("class", "run", "alone"))
    print(f"measure batch: a class of {make_class(arguments.lab, submissions)}")
    sampler = Utilization()
    sampler.start()
    batch(run, submissions, arguments, arguments.jobs, arguments.seconds)
    sampler.end()
    busy, own_holds = print_times(run, sampler)
    alone_holds = arguments.jobs == 1
    if arguments.jobs > 1 and not arguments.no_alone:
        few = arguments.output / "few"
        shutil.rmtree(few, ignore_errors=True)
        for name in FEW if arguments.lab == "spmm" else sorted(sources(arguments.lab))[:3]:
            if (submissions / name).exists():
                shutil.copytree(submissions / name, few / name)
        batch(alone, few, arguments, 1, ALONE_SECONDS)
        alone_holds = print_alone(alone)
        print_ratios(run, alone)
    holds = own_holds and alone_holds and arguments.backend == "cuda"  # an emulator's figures are no answer
    print(f"\n{'PASS' if busy else 'FAIL'}  GPU busy for at least {LEAST_BUSY_PERCENT:.0f} % of the judging time")
    print(f"{'PASS' if holds else 'FAIL'}  judge's own overhead a submission below {MOST_OVERHEAD_S:.1f} s in the mean")
    sys.exit(0 if busy and holds else 1)


if __name__ == "__main__":
    main()
