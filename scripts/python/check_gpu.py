#!/usr/bin/env python3
"""Runs everything of this project that says something about a GPU, on this machine's GPU, part by part within a given
time, and prints one table. Exit code 0: every part that was to run holds; 1: one does not, or there was no time for it.

    scripts/check-gpu [PART ...] [--minutes 9] [--output runs/check-gpu] [--backend cuda]

    doctor      what this machine offers: sandbox, control groups, seccomp, driver, toolkit                      5 s
    honest      the staff's naive and optimized solutions of the five written labs, two public cases and one that is
                timed: accepted, by way of the executor, and one executor for all of a submission's cases        60 s
    order       a short case's time alone and behind all other cases of its lab: within 1 us                  20 s
    end         a kernel behind programmatic launches begins when the work has ended (what the clock relies on)  10 s
    left        what a program leaves in memory and on multiprocessors is gone in its next run, plan and case      20 s
    itself      scripts/measure self, two copies of each program: intervals hold 1                              150 s
    ladders     every ladder step of those labs, two public cases, not timed: accepted                           60 s
    direct      the same with --direct, for spmm                                                                 20 s
    declared    `labs verify` of every declared lab; a lab that is ready stays so, too                          480 s
    legacy      the corpus's programs in older interfaces, which are in `corpus` too                             60 s
    provenance  who wrote the outputs last, kernels or the host by copies, in 23 programs: as each is known to do   60 s
    trusted     who is believed where oracle, baseline and submission differ: a wrong one is the judge's fault    150 s
    attacks     scripts/check-attacks                                                                           380 s
    corpus      the whole corpus of submissions, each with its verdict                                          180 s
    programs    the emulator's test programs natively and through the executor, and how true its times are      200 s
    batch       scripts/measure batch: how busy the GPU is, and the judge's own work                            290 s
    nodes       what a cluster's task does before it judges, without Slurm: a node is measured within 30 s, the same GPU
                as a second node agrees, and one that differs from the others judges nothing                     90 s
    desk        a student's run on this machine's desk: first verdict of spmm's public cases and two timed ones     90 s
    profile     a student's counters from this machine's desk: ncu on five of the staff's programs          90 s
    classics    the optimized solutions of the declared labs beside the vendor's: their ratios, whatever they are  300 s
    devices     scripts/check-devices, where there are several GPUs                                              90 s

A part that has held stays so: the same command goes on with the others (--again runs them anew). OUTPUT/PART.log keeps
what a part printed, OUTPUT/table.md the table. Needs the built programs (make build, build/bin/executor's libraries
among them) and Python with PyYAML and pytest, from .venv or of the machine. `--backend emulator` runs those parts that
need no GPU, to try the script.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "reports"))
from warpgrade_reports.text import lines_of  # noqa: E402

WARPGRADE = ROOT / "build/bin/warpgrade"
Words = list[str | Path]
VENV = ROOT / ".venv/bin/python"
PYTHON = str(VENV if VENV.exists() else sys.executable)
LONGEST_TO_FIRST_VERDICT = 10.0  # seconds
LARGEST_ORDER_US = 1.0
FEWEST_DEVICES = 2
LONGEST_NODE_TEST = 30.0  # seconds
MOST_APART = 1.05  # one GPU's figures as two nodes: what node_tests.cpp allows between nodes that judge
ANOTHER_NODE = 1.25  # times as fast: no GPU's noise
TRY_AGAIN = 75  # a task's exit code: what is left is judged elsewhere
RUNS_A_WAY = 300  # of end_of_work.cu
LEAST_SECONDS = 20.0  # a part does not begin with less

# Public cases of each written lab, and one that is timed, on a GPU alone: it is too large for the emulator.
CASES = {
    "spmm": ("synth-ragged-k32,synth-hub-k32", "arxiv-k32"),
    "apsp": ("complete-100,one-way-90", "complete-timed-1000"),
    "histogram": ("uniform-small,one-bin-long", "uniform-233M"),
    "sampling": ("synth-hub-100x4,synth-ragged-allx25", "reddit.dgl-100x4"),
    "gcn": ("xw-517,aggregate-hub", "softmax-web"),
}


class PartError(Exception):
    """A part does not hold; the words say why."""


@dataclass(frozen=True)
class Here:
    """Where and on what the parts run."""

    output: Path
    backend: str
    deadline: float

    def left(self) -> float:
        """Seconds."""
        return self.deadline - time.monotonic()


def run(here: Here, log: Path, *command: str | Path, wanted: int = 0, **environment: str) -> str:
    """What the command printed, which is added to the log. PartError by its exit code, or when the time is over."""
    words = [str(word) for word in command]
    with log.open("a", encoding="utf-8") as file:
        file.write(f"$ {' '.join(words)}\n")
        file.flush()
        try:
            done = subprocess.run(
                words,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=max(1.0, here.left()),
                check=False,
                cwd=ROOT,
                env={**os.environ, **environment},
            )
        except subprocess.TimeoutExpired as over:
            output = over.stdout or b""
            file.write(output.decode("utf-8", "replace") if isinstance(output, bytes) else output)
            raise PartError(f"not done when the time was over: {words[0]}") from None
        file.write(done.stdout)
    if done.returncode != wanted:
        last = lines_of(done.stdout.strip())[-1:] or ["it printed nothing"]
        raise PartError(f"exit code {done.returncode}, not {wanted}: {last[0][:200]}")
    return done.stdout


def records_of(folder: Path) -> list[dict[str, Any]]:
    """The case records of a run."""
    return [json.loads(line) for line in lines_of((folder / "records.jsonl").read_text(encoding="utf-8"))]


def look_at(records: list[dict[str, Any]], isolation: str | None) -> str:
    """All accepted, and judged in the way that is wanted; the table's words."""
    wrong = [r for r in records if r["outcome"]["verdict"] != "accepted"]
    if wrong:
        first = wrong[0]
        where = f"{first['submission']['id']} {first['case']['id']}"
        raise PartError(
            f"{len(wrong)} of {len(records)} not accepted; {where}: {first['outcome'].get('message', '')[:160]}"
        )
    if isolation:
        other = [r for r in records if r.get("host_isolation") != isolation]
        if other:
            raise PartError(f"{len(other)} records do not say host_isolation: {isolation}")
    return f"{len(records)} cases accepted"


def doctor(here: Here, log: Path) -> str:
    text = run(here, log, WARPGRADE, "doctor")
    missing = [line.split("  ")[0] + line[8:25].rstrip() for line in lines_of(text) if line.startswith("missing")]
    return "all there" if not missing else "; ".join(missing)


def grade_staff(here: Here, log: Path, lab: str, run_folder: Path, *more: str | Path) -> list[dict[str, Any]]:
    """The staff's naive and optimized solution, judged anew."""
    shutil.rmtree(run_folder, ignore_errors=True)
    made = run_folder.with_suffix(".class")
    shutil.rmtree(made, ignore_errors=True)
    for name in ("naive", "optimized"):
        shutil.copytree(ROOT / "reference" / lab / name, made / name)
    public, timed = CASES[lab]
    cases = public if here.backend == "emulator" else f"{public},{timed}"
    arguments: Words = ["--lab", lab, "--run", run_folder, "--backend", here.backend, "--cases", cases]
    arguments += ["--speed-budget", "2", *more]
    if here.backend == "emulator":
        arguments += ["--no-speed"]
    run(here, log, WARPGRADE, "grade", made, *arguments)
    return records_of(run_folder)


def honest(here: Here, log: Path) -> str:
    said = []
    for lab in CASES:
        records = grade_staff(here, log, lab, here.output / f"honest-{lab}")
        said.append(f"{lab} {look_at(records, 'executor')}")
        turns = [r.get("executor_serves") for r in records if r["submission"]["id"] == "naive"]
        wanted = list(range(1, len(turns) + 1)) if here.backend == "cuda" else [1] * len(turns)
        if turns != wanted:
            raise PartError(f"{lab}: the executor's programs were {turns}, wanted {wanted}")
    return "; ".join(said)


def order(here: Here, log: Path) -> str:
    """What an executor has judged before must not change a time (h200/benches/executor-queues.txt)."""
    case, medians = "many-1M", {}
    for name, chosen in (("alone", ["--cases", case]), ("behind", [])):
        folder = here.output / f"order-{name}"
        made = folder.with_suffix(".class")
        for old in (folder, made):
            shutil.rmtree(old, ignore_errors=True)
        shutil.copytree(ROOT / "reference/vector_add/optimized", made / "optimized")
        arguments: Words = ["--lab", "vector_add", "--run", folder, "--backend", here.backend, *chosen]
        run(here, log, WARPGRADE, "grade", made, *arguments, "--speed-budget", "0", "--baselines", "naive")
        timed = [r["timing"]["median_us"] for r in records_of(folder) if r["case"]["id"] == case and r.get("timing")]
        if len(timed) != 1:
            raise PartError(f"{case} was timed {len(timed)} times {name}, wanted once")
        medians[name] = timed[0]
    words = f"{case}: {medians['alone']:.2f} us alone, {medians['behind']:.2f} us behind the other cases"
    if abs(medians["alone"] - medians["behind"]) > LARGEST_ORDER_US:
        raise PartError(f"{words}; bar {LARGEST_ORDER_US} us")
    return words


def end(here: Here, log: Path) -> str:
    """executor/tests/gpu/end_of_work.cu, built for this device."""
    program = here.output / "end_of_work"
    source = ROOT / "grader/judge/executor/tests/gpu/end_of_work.cu"
    flags: Words = ["-std=c++17", "-O3", "-arch=native", "-rdc=true"]  # its kernels launch kernels
    run(here, log, os.environ.get("NVCC", "nvcc"), *flags, "-o", program, source)
    lines = run(here, log, program).strip().split("\n")
    return f"{lines[0]}: the stamp came early in none of {len(lines) - 1} ways, {RUNS_A_WAY} runs each"


def left(here: Here, log: Path) -> str:
    """The corpus's program that marks what it gets, on two public and one timed case: one executor for all."""
    folder = here.output / "left"
    made = folder.with_suffix(".class") / "marks"
    for old in (folder, made.parent):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(ROOT / "grader/tests/submissions/accepted/looks_for_what_it_left", made)
    shutil.copy(ROOT / "grader/tests/submissions/common/honest.cuh", made)
    cases = ",".join(CASES["spmm"])
    arguments: Words = ["--lab", "spmm", "--run", folder, "--backend", here.backend, "--cases", cases]
    run(here, log, WARPGRADE, "grade", made.parent, *arguments, "--speed-budget", "1")
    records = records_of(folder)
    words = look_at(records, "executor")
    return f"{words}, up to {max(record['executor_serves'] for record in records)} by one executor"


def itself(here: Here, log: Path) -> str:
    """Programs against themselves; the table is scripts/measuring/self's."""
    folder = here.output / "itself"
    shutil.rmtree(folder, ignore_errors=True)
    few = ["--copies", "2", "--long-copies", "0"]
    text = run(here, log, sys.executable, ROOT / "scripts/measuring/self", folder, *few)
    line = next(line for line in text.split("\n") if line.startswith("| all | ") and " of " in line)
    return "intervals that hold 1: " + line.split("|")[3].strip()


def ladders(here: Here, log: Path) -> str:
    """Every step of the five written labs, public cases, untimed. Those of declared labs are in `declared`."""
    said = []
    for lab in CASES:
        folder = here.output / f"ladder-{lab}"
        made = folder.with_suffix(".class")
        for old in (folder, made):
            shutil.rmtree(old, ignore_errors=True)
        shutil.copytree(ROOT / "reference" / lab / "steps", made)
        arguments: Words = ["--lab", lab, "--run", folder, "--backend", here.backend, "--cases", CASES[lab][0]]
        run(here, log, WARPGRADE, "grade", made, *arguments, "--no-speed")
        said.append(f"{lab} {look_at(records_of(folder), 'executor')}")
    return "; ".join(said)


def direct(here: Here, log: Path) -> str:
    policy = yaml.safe_load((ROOT / "grader/policies/spmm.yaml").read_text(encoding="utf-8"))
    policy["host_isolation"] = "any"
    mine = here.output / "direct.yaml"
    mine.write_text(yaml.safe_dump(policy), encoding="utf-8")
    records = grade_staff(here, log, "spmm", here.output / "direct-spmm", "--direct", "--policy", mine)
    return look_at(records, None)


def declared(here: Here, log: Path) -> str:
    """One lab takes 50 to 100 s, all of them may take longer than there is time: each that is ready is kept."""
    labs = sorted(p.parent.name for p in ROOT.glob("reference/*/lab.yaml") if p.parent.name not in CASES)
    kept = here.output / f"declared-{here.backend}.json"
    ready: list[str] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else []
    for lab in labs:
        if lab in ready:
            continue
        try:
            text = run(here, log, WARPGRADE, "labs", "verify", lab, "--backend", here.backend)
        except PartError as failed:
            raise PartError(f"ready: {', '.join(ready) or 'none'}; {lab}: {failed}") from None
        if "ready for a class" not in text:
            raise PartError(f"{lab}: {lines_of(text.strip())[-1][:160]}")
        ready.append(lab)
        kept.write_text(json.dumps(ready), encoding="utf-8")
    kept.unlink()  # the next call of the part looks at all of them
    return f"{len(labs)} labs ready for a class: {', '.join(labs)}"


def pytest(here: Here, log: Path, *arguments: str) -> str:
    text = run(here, log, PYTHON, "-m", "pytest", "-q", *arguments, WARPGRADE_TEST_BACKEND=here.backend)
    return lines_of(text.strip())[-1]


def legacy(here: Here, log: Path) -> str:
    return pytest(here, log, "grader/tests/test_corpus.py", "-k", "legacy")


def provenance(here: Here, log: Path) -> str:
    return pytest(here, log, "grader/tests/test_who_wrote.py", "-k", "last_writer or kernels_are_counted or few_cells")


def trusted(here: Here, log: Path) -> str:
    return pytest(here, log, "grader/tests/test_trusted_baseline.py")


def corpus(here: Here, log: Path) -> str:
    return pytest(here, log, "grader/tests/test_corpus.py")


def attacks(here: Here, log: Path) -> str:
    folder = here.output / "attacks"
    run(here, log, PYTHON, "scripts/check-attacks", "--backend", here.backend, "--output", folder)
    return f"as expected: {folder}/table.md"


def programs(here: Here, log: Path) -> str:
    run(here, log, "bash", "grader/judge/executor/tests/gpu/fidelity.sh", OUT=str(here.output / "programs"))
    return f"within the bars: {here.output}/programs/fidelity.txt"


def batch(here: Here, log: Path) -> str:
    seconds = str(int(max(60, min(210, here.left() - 80))))
    folder = here.output / "batch"
    timed = ("--seconds", seconds, "--backend", here.backend)
    return lines_of(run(here, log, "scripts/measure", "batch", "--output", folder, *timed).strip())[-1]


def begin_nodes(here: Here, log: Path, folder: Path, tasks: list[str]) -> None:
    """A run with a task for each student, as `warpgrade batch` leaves it when Slurm has taken its round."""
    made = folder.with_suffix(".class")
    for old in (folder, made):
        shutil.rmtree(old, ignore_errors=True)
    for student in tasks:
        shutil.copytree(ROOT / "reference/vector_add/naive", made / student)
    site = here.output / "nodes.yaml"
    site.write_text(json.dumps({"node_test": "always"}), encoding="utf-8")
    arguments: Words = ["--lab", "vector_add", "--submissions", made, "--backend", here.backend, "--quiet"]
    arguments += ["--cases", "one,many-1M", "--speed-budget", "1", "--executor", "slurm", "--site", site]
    run(here, log, WARPGRADE, "batch", folder, *arguments, "--take-in")
    arrays = {"compile_arrays": [], "judge_arrays": [{"offset": 0, "count": len(tasks)}]}
    plan = {"compile": [], "judge": [[student] for student in tasks], **arrays}
    planned = {"schema": "warpgrade.round.v1", "round": 1, "chain_begin": 1, "plan": plan, "exclude": [], "admit": []}
    (folder / "rounds/1").mkdir(parents=True)
    (folder / "rounds/1/plan.json").write_text(json.dumps(planned), encoding="utf-8")


def tested_on(here: Here, log: Path, folder: Path, node: str, task: int, code: int = 0) -> dict[str, Any]:
    """What the task's node measured. The variables are those that slurmd gives (sbatch(1), OUTPUT ENVIRONMENT)."""
    own = {"SLURMD_NODENAME": node, "SLURM_ARRAY_TASK_ID": str(task)}
    run(here, log, WARPGRADE, "batch-task", "judge", folder, "1", "0", wanted=code, **own)
    found = [json.loads(path.read_text(encoding="utf-8")) for path in (folder / "nodes").glob(f"{node}*.json")]
    if len(found) != 1 or "problem" in found[0]:
        raise PartError(f"{node} was not tested: {found[0]['problem'] if found else 'there is no file'}")
    return dict(found[0])


def nodes(here: Here, log: Path) -> str:
    """README.md of course/batch, Nodes: by the tasks that Slurm starts, on one GPU under three nodes' names."""
    folder = here.output / "nodes"
    begin_nodes(here, log, folder, ["ada", "bo", "cy"])
    tests = [tested_on(here, log, folder, node, task) for task, node in enumerate(("n1", "n2"))]
    figures = [test["bytes_per_s"]["middle"] for test in tests]
    seconds = max(test["seconds"] for test in tests)
    words = "; ".join(
        f"{test['node']}: {test['self']['middle']:.4f} ({test['self']['low']:.4f} to {test['self']['high']:.4f}) of "
        f"itself, {test['bytes_per_s']['middle'] / 1e9:.1f} GB/s, {test['tries']} tries, {test['seconds']:.1f} s"
        for test in tests
    )
    if not all(test["self"]["low"] <= 1 <= test["self"]["high"] for test in tests):
        raise PartError(f"a program is not as fast as itself: {words}")
    if here.backend == "cuda" and max(figures) > MOST_APART * min(figures):
        raise PartError(f"one GPU, two figures: {words}")
    if seconds > LONGEST_NODE_TEST:
        raise PartError(f"a node's test took more than {LONGEST_NODE_TEST:.0f} s: {words}")
    judged = {path.parent.name: json.loads(path.read_text("utf-8"))["node"] for path in folder.glob("cases/*/*.json")}
    if judged != {"ada": "n1", "bo": "n2"}:
        raise PartError(f"wanted ada judged on n1 and bo on n2, got {judged}")
    # Two other nodes in their place, both faster than any noise: the third task's node is left out.
    factor = ANOTHER_NODE if here.backend == "cuda" else 4 * ANOTHER_NODE
    for path in (folder / "nodes").iterdir():
        path.unlink()
    for node, test in zip(("n4", "n5"), tests, strict=True):
        faster = {key: test["bytes_per_s"][key] * factor for key in ("middle", "low", "high")}
        test.update(node=node, bytes_per_s={**test["bytes_per_s"], **faster})
        (folder / f"nodes/{node}.json").write_text(json.dumps(test), encoding="utf-8")
    tested_on(here, log, folder, "n3", 2, TRY_AGAIN)
    log_of_run = "".join(path.read_text(encoding="utf-8") for path in (folder / "events").glob("*.jsonl"))
    if '"node_left_out"' not in log_of_run or (folder / "cases/cy").exists():
        raise PartError("n3 differs from n4 and n5, and judged all the same")
    return words


def desk(here: Here, log: Path) -> str:
    output = here.output / "desk.json"
    cases = "public" if here.backend == "emulator" else "public,arxiv-k32,ddi-k256"
    program = [PYTHON, "grader/tests/bench_desk.py", "--cases", cases, "--backend", here.backend, "--runs", "3"]
    run(here, log, *program, "--output", output)
    first = [one["first_verdict_s"] for one in json.loads(output.read_text(encoding="utf-8"))["runs"]]
    if max(first) > LONGEST_TO_FIRST_VERDICT:
        raise PartError(f"first verdict after {max(first)} s")
    return f"first verdict after {min(first)} to {max(first)} s"


def profile(here: Here, log: Path) -> str:
    """Needs ncu, and counters for all users."""
    program = [PYTHON, "grader/tests/desk_counters.py", "--backend", here.backend]
    return lines_of(run(here, log, *program, "--output", here.output / "counters.json").strip())[-1]


def classics(here: Here, log: Path) -> str:
    """No bar: the figures are for records."""
    said = []
    for lab in sorted(p.parent.name for p in ROOT.glob("reference/*/lab.yaml") if p.parent.name not in CASES):
        declared_cases = yaml.safe_load((ROOT / "reference" / lab / "lab.yaml").read_text(encoding="utf-8"))["cases"]
        timed = ",".join(case["id"] for case in declared_cases if case.get("kind") == "speed")
        folder = here.output / f"classics-{lab}"
        shutil.rmtree(folder, ignore_errors=True)
        solution = ROOT / "reference" / lab / "optimized"
        arguments: Words = ["--lab", lab, "--run", folder, "--backend", here.backend, "--cases", timed]
        run(here, log, WARPGRADE, "grade", solution, *arguments, "--speed-budget", "0.5", "--least-pairs", "15")
        for record in records_of(folder):
            ratios = {name: round(ratio["median"], 3) for name, ratio in (record.get("ratios") or {}).items()}
            said.append(f"{lab} {record['case']['id']} {ratios}")
    (here.output / "classics.txt").write_text("\n".join(said) + "\n", encoding="utf-8")
    return f"{len(said)} ratios in classics.txt"


def devices(here: Here, log: Path) -> str:
    return lines_of(run(here, log, PYTHON, "scripts/check-devices", "--runs", here.output / "devices").strip())[-1]


PARTS: dict[str, Callable[[Here, Path], str]] = {
    part.__name__: part
    for part in (
        doctor,
        honest,
        order,
        end,
        left,
        itself,
        ladders,
        direct,
        declared,
        legacy,
        provenance,
        trusted,
        attacks,
        corpus,
        programs,
        batch,
        nodes,
        desk,
        profile,
        classics,
        devices,
    )
}
NEEDS_GPU = {"order", "end", "left", "itself", "programs", "batch", "profile", "classics", "devices"}


def is_left_out(name: str, here: Here) -> str:
    """Why the part cannot run here; empty: it can."""
    if here.backend != "cuda":
        return "needs a GPU" if name in NEEDS_GPU else ""
    if name == "devices":
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
        if listed.count("GPU ") < FEWEST_DEVICES:
            return "there is one GPU"
    return ""


def write_table(path: Path, table: dict[str, dict[str, str]]) -> None:
    """The table as Markdown, in the order of the parts."""
    lines = ["| part | result | seconds | what |", "|---|---|---|---|"]
    for name in PARTS:
        if name in table:
            row = table[name]
            lines.append(f"| {name} | {row['result']} | {row['seconds']} | {row['what'].replace('|', '/')} |")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="default: all, in this order")
    parser.add_argument("--minutes", type=float, default=9.0, help="for all of them")
    parser.add_argument("--output", type=Path, default=ROOT / "runs/check-gpu")
    parser.add_argument("--backend", choices=("cuda", "emulator"), default="cuda")
    parser.add_argument("--again", action="store_true", help="also what has held before")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.parts if name not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]!r}: choose among {', '.join(PARTS)}")
    if not WARPGRADE.exists():
        parser.error(f"{WARPGRADE} is not there: run make build first")
    here = Here(arguments.output.resolve(), arguments.backend, time.monotonic() + 60 * arguments.minutes)
    here.output.mkdir(parents=True, exist_ok=True)
    state = here.output / f"state-{here.backend}.json"
    table: dict[str, dict[str, str]] = json.loads(state.read_text(encoding="utf-8")) if state.exists() else {}
    wanted = arguments.parts or list(PARTS)
    for name in wanted:
        if not arguments.again and table.get(name, {}).get("result") == "holds":
            print(f"{name:10} holds (from before)", flush=True)
            continue
        begin = time.monotonic()
        log = here.output / f"{name}.log"
        log.unlink(missing_ok=True)
        if arguments.again:
            (here.output / f"{name}-{here.backend}.json").unlink(missing_ok=True)
        if why := is_left_out(name, here):
            row = {"result": "not run", "what": why}
        elif here.left() < LEAST_SECONDS:
            row = {"result": "no time", "what": "the same command goes on"}
        else:
            try:
                row = {"result": "holds", "what": PARTS[name](here, log)}
            except PartError as failed:
                row = {"result": "FAILS", "what": f"{failed} ({log.name})"}
        row["seconds"] = f"{time.monotonic() - begin:.0f}"
        table[name] = row
        state.write_text(json.dumps(table, indent=1), encoding="utf-8")
        write_table(here.output / "table.md", table)
        print(f"{name:10} {row['result']:8} {row['seconds']:>4} s  {row['what']}", flush=True)
    return 0 if all(table[name]["result"] in ("holds", "not run") for name in wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
