#!/usr/bin/env python3
"""Judges the same submissions again and again with 1, 2 and 4 workers of the emulator, and compares what is said.

    .venv/bin/python grader/tests/repeat_verdicts.py [--repetitions 50] [--workers 1,2,4] [--labs apsp,spmm]
        [--all | --fresh | --corpus]

Each is compiled once and judged on the same hidden values every time. What is compared: verdict, reason, message, and
the first finding's kind, place and message. (Its block may differ where a kernel reads the clock, as
missing_syncthreads does.) Exit code 1 when anything differs, with both records. test_no_flips.py runs it once in CI.
With --all every mistake of first_messages.yaml is judged, on its own case, in place of the few below.
With --fresh each repetition draws other hidden values instead: then verdict and words must be what the table says.
With --corpus the submissions of grader/tests/submissions are judged instead and their verdicts compared, case by case.
Left out are those that need a box of their own, those that end at a limit of time, and those whose expected.yaml
allows several verdicts because chance decides.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from corpus import Example, policy_for, read_corpus
from test_first_messages import MISTAKES, Mistake, examine

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WARPGRADE = Path(os.environ.get("WARPGRADE", ROOT / "build/bin/warpgrade"))

# Races within and between blocks, faults in many blocks at once, lost updates that are right by luck, and right ones.
FIXTURES: dict[str, dict[str, Any]] = {
    "apsp": {
        "case": "complete-100",
        "corpus": ["runtime_error/apsp_no_bounds_check", "runtime_error/apsp_one_row_too_many"],
        "mistakes": ["all rounds in one launch", "no barrier between the steps of a tile"],
    },
    "spmm": {
        "case": "synth-hub-k32",
        "corpus": ["runtime_error/out_of_bounds", "wrong_answer/missing_syncthreads", "accepted/legacy_row_split"],
        "mistakes": ["groups of a row add to C without atomics", "C is indexed in bytes"],
    },
    "histogram": {
        "case": "uniform-small",
        "corpus": ["wrong_answer/histogram_adds_without_atomics", "accepted/histogram_match_any"],
        "mistakes": ["blocks write their counts to one place", "a block's counts are not cleared"],
    },
}


def write_mistakes(mistakes: list[Mistake], folder: Path) -> None:
    """Rows of the table as submissions of a class."""
    for mistake in mistakes:
        (folder / mistake.folder).mkdir(parents=True)
        (folder / mistake.folder / mistake.file).write_text(mistake.source(), encoding="utf-8")
        for header in (ROOT / mistake.of).parent.glob("*.cuh"):
            shutil.copy(header, folder / mistake.folder)


def write_fixtures(lab: str, folder: Path) -> None:
    """The lab's fixtures as a class."""
    for name in FIXTURES[lab]["corpus"]:
        shutil.copytree(HERE / "submissions" / name, folder / name.replace("/", "-"))
    write_mistakes([m for m in MISTAKES if m.lab == lab and m.mistake in FIXTURES[lab]["mistakes"]], folder)


def judge(lab: str, case: str, folder: Path, policy: Path, workers: int) -> list[dict[str, Any]]:
    """The records of folder/class, judged on the hidden values of folder/run; without that folder, on new ones."""
    run = folder / "run"
    command = [str(WARPGRADE), "grade", str(folder / "class"), "--lab", lab, "--run", str(run), "--backend", "emulator"]
    command += ["--cases", case, "--policy", str(policy), "--no-speed"]
    environment = {**os.environ, "WARPEMU_THREADS": str(workers)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise SystemExit(done.stdout + done.stderr)
    return [json.loads(line) for line in (run / "records.jsonl").read_text(encoding="utf-8").strip().split("\n")]


def forget_records(run: Path) -> None:
    """The run's hidden values are kept, its records are not."""
    shutil.rmtree(run / "cases", ignore_errors=True)
    for name in ("records.jsonl", "scores.json"):
        (run / name).unlink(missing_ok=True)


def what_is_said(records: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The words of each submission that must not change."""
    said: dict[str, dict[str, Any]] = {}
    for record in records:
        outcome, findings = record["outcome"], record.get("diagnostics", [])
        said[record["submission"]["id"]] = {
            **{key: outcome.get(key) for key in ("verdict", "reason", "message")},
            "finding": [findings[0].get(key) for key in ("kind", "file", "line", "message")] if findings else None,
        }
    return said


def differences_in_class(lab: str, case: str, folder: Path, repetitions: int, workers: list[int]) -> list[str]:
    """One text for each time that a submission of folder/class is told something else."""
    found: list[str] = []
    policy = policy_for(lab, folder)
    first: dict[str, dict[str, Any]] = {}
    for repetition in range(repetitions):
        for count in workers:
            forget_records(folder / "run")
            said = what_is_said(judge(lab, case, folder, policy, count))
            first = first or said
            for name, words in said.items():
                if words != first[name]:
                    where = f"{lab} {case} {name}, repetition {repetition}, {count} workers"
                    found.append(f"{where}:\n  {words}\nat first:\n  {first[name]}")
        done = f"{repetition + 1} of {repetitions} repetitions of {len(first)} submissions"
        print(f"{lab} {case}: {done}, {len(found)} differ", flush=True)
    return found


def differences(lab: str, repetitions: int, workers: list[int]) -> list[str]:
    """Of the lab's fixtures."""
    with tempfile.TemporaryDirectory(prefix="no-flips-") as scratch:
        write_fixtures(lab, Path(scratch) / "class")
        return differences_in_class(lab, FIXTURES[lab]["case"], Path(scratch), repetitions, workers)


def steady_examples(labs: list[str] | None) -> dict[tuple[str, str], list[Example]]:
    """The corpus without what chance or a clock decides, by lab and cases."""
    groups: dict[tuple[str, str], list[Example]] = {}
    for example in read_corpus("emulator"):
        steady = (
            example.needs is None
            and example.missing is None
            and len(example.verdicts) == 1
            and example.verdicts[0] != "time_limit"
        )
        if steady and (labs is None or example.lab in labs):
            groups.setdefault((example.lab, example.cases), []).append(example)
    return groups


def verdicts_by_case(records: list[dict[str, Any]]) -> dict[str, str]:
    """Of each submission and case."""
    return {f"{r['submission']['id']} {r['case']['id']}": r["outcome"]["verdict"] for r in records}


def over_corpus(labs: list[str] | None, repetitions: int, workers: list[int]) -> list[str]:
    """One text for each time that a fixture's case gets another verdict than at first."""
    found: list[str] = []
    for (lab, cases), examples in steady_examples(labs).items():
        with tempfile.TemporaryDirectory(prefix="no-flips-") as scratch:
            folder = Path(scratch)
            for example in examples:
                example.lay_out(folder / "class" / example.name)
            policy = policy_for(lab, folder)
            first: dict[str, str] = {}
            for repetition in range(repetitions):
                for count in workers:
                    forget_records(folder / "run")
                    verdicts = verdicts_by_case(judge(lab, cases, folder, policy, count))
                    first = first or verdicts
                    for what in sorted(set(first) | set(verdicts)):
                        if verdicts.get(what) != first.get(what):
                            told = f"{verdicts.get(what)}, at first {first.get(what)}"
                            found.append(f"{lab} {what}, repetition {repetition}, {count} workers: {told}")
                done = f"{repetition + 1} of {repetitions} repetitions of {len(examples)} submissions"
                print(f"{lab} {cases}: {done}, {len(found)} differ", flush=True)
    return found


def surprises_in_class(lab: str, case: str, folder: Path, repetitions: int, mistakes: list[Mistake]) -> list[str]:
    """One text for each time that a mistake is told in other words than the table's, new hidden values each time."""
    found: list[str] = []
    policy = policy_for(lab, folder)
    for repetition in range(repetitions):
        shutil.rmtree(folder / "run", ignore_errors=True)
        records = {record["submission"]["id"]: record for record in judge(lab, case, folder, policy, 2)}
        for mistake in mistakes:
            try:
                examine(mistake, records[mistake.folder])
            except AssertionError as wrong:
                found.append(f"{lab} {case} {mistake.folder}, repetition {repetition}:\n  {wrong}")
        print(f"{lab} {case}: {repetition + 1} of {repetitions} repetitions, {len(found)} surprises", flush=True)
    return found


def over_mistakes(lab: str, repetitions: int, workers: list[int], fresh: bool) -> list[str]:
    """Of all the lab's rows in the table, each on its own case."""
    found: list[str] = []
    for case in dict.fromkeys(mistake.case for mistake in MISTAKES if mistake.lab == lab):
        with tempfile.TemporaryDirectory(prefix="no-flips-") as scratch:
            mistakes = [m for m in MISTAKES if (m.lab, m.case) == (lab, case)]
            write_mistakes(mistakes, Path(scratch) / "class")
            if fresh:
                found += surprises_in_class(lab, case, Path(scratch), repetitions, mistakes)
            else:
                found += differences_in_class(lab, case, Path(scratch), repetitions, workers)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=50)
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--labs", help="default: all that have some")
    parser.add_argument("--all", action="store_true", help="every mistake of first_messages.yaml")
    parser.add_argument("--fresh", action="store_true", help="other hidden values every time; judges what --all does")
    parser.add_argument("--corpus", action="store_true", help="the submissions of the corpus")
    arguments = parser.parse_args()
    arguments.all |= arguments.fresh
    start, found = time.monotonic(), []
    if arguments.corpus:
        named = arguments.labs.split(",") if arguments.labs else None
        found += over_corpus(named, arguments.repetitions, [int(count) for count in arguments.workers.split(",")])
    labs = arguments.labs.split(",") if arguments.labs else list(FIXTURES)
    if arguments.corpus:
        labs = []
    elif arguments.all and not arguments.labs:
        labs = list(dict.fromkeys(mistake.lab for mistake in MISTAKES))
    for lab in labs:
        workers = [int(count) for count in arguments.workers.split(",")]
        if arguments.all:
            found += over_mistakes(lab, arguments.repetitions, workers, arguments.fresh)
        else:
            found += differences(lab, arguments.repetitions, workers)
    print("\n".join(found))
    print(f"{len(found)} differences in {time.monotonic() - start:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
