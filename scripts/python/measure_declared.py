#!/usr/bin/env python3
"""Judges the staff's naive and optimized solutions of the declared labs and of gcn in all their timed cases, and says
where the seconds go.

    scripts/measure declared FOLDER [--labs vector_add,softmax] [--class-of 40]

Writes FOLDER/declared.md: a line a case (seconds in all, of it the programs' own calls, the judge's own work, and who
answered the checked and the timed repetitions), a line a submission. `--class-of N` judges N submissions of
vector_add in public, hidden and timed cases instead, and tells the minutes that they take. Exit code 1: a case takes
more than 2 s, a submission more than 8 s beyond its compilation, or the judge's own work is above 0.6 s a case in the
mean; or something was not accepted. `--read` makes the table of what is there. FOLDER keeps the runs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
WARPGRADE = ROOT / "build/bin/warpgrade"
SOLUTIONS = ("naive", "optimized")
TIMED_SETS = {"gcn": "stand-in"}  # the others' timed cases are the set "timed"
MOST_CASE_S, MOST_SUBMISSION_S, MOST_OWN_S = 2.0, 8.0, 0.6
PROGRAMS = ("plan", "run")  # phases in which the submission's calls are waited for
TIMED_PROGRAMS = ("commands", "switch")


@dataclass(frozen=True)
class Case:
    """One timed case of one submission, in seconds."""

    lab: str
    submission: str
    case: str
    accepted: bool
    wall: float
    programs: float
    timed: float
    checks: float
    repetitions: int
    answered: str

    @property
    def own(self) -> float:
        """What is neither the submission's calls nor the baselines'."""
        return max(0.0, self.wall - self.programs)


def declared_labs() -> list[str]:
    """Labs that one file declares, and gcn."""
    files = (ROOT / "reference").glob("*/lab.yaml")
    names = [file.parent.name for file in files if "judge: C++" not in file.read_text(encoding="utf-8")]
    return [*sorted(names), "gcn"]


def grade(lab: str, submissions: Path, run: Path, cases: str, options: Sequence[str]) -> None:
    words = [WARPGRADE, "grade", submissions, "--lab", lab, "--run", run, "--fresh", *options]
    if cases:
        words += ["--cases", cases]
    code = subprocess.run([str(word) for word in words], check=False).returncode
    if code not in (0, 1):
        print(f"declared: {lab}: warpgrade grade ended with exit code {code}", file=sys.stderr)


def staffs_solutions(lab: str, folder: Path) -> Path:
    made = folder / "class" / lab
    shutil.rmtree(made, ignore_errors=True)
    for solution in SOLUTIONS:
        shutil.copytree(ROOT / "reference" / lab / solution, made / solution)
    return made


def answered(verification: dict[str, Any]) -> str:
    """Who answered the timed repetitions: oracle, baseline, asked again."""
    timed = verification.get("timed")
    if not timed:
        return "oracle"
    return ", ".join(f"{key} {value:.3g}" for key, value in timed.items() if isinstance(value, (int, float)))


def read(run: Path, lab: str) -> list[Case]:
    cases = []
    for file in sorted(run.glob("cases/*/*.json")):
        record = json.loads(file.read_text(encoding="utf-8"))
        phases, timing = record.get("phases", {}), record.get("timing") or {}
        within = timing.get("phases", {})
        programs = sum(phases.get(name, 0.0) for name in PROGRAMS) + sum(within.get(n, 0.0) for n in TIMED_PROGRAMS)
        verification = record.get("verification", {})
        cases.append(
            Case(
                lab=lab,
                submission=record["submission"]["id"],
                case=record["case"]["id"],
                accepted=record["outcome"]["verdict"] == "accepted",
                wall=record["wall_s"],
                programs=programs,
                timed=phases.get("timed", 0.0),
                checks=phases.get("verify", 0.0),
                repetitions=verification.get("repetitions", 0),
                answered=answered(verification),
            )
        )
    return cases


def case_line(one: Case) -> str:
    cells = [one.lab, one.submission, one.case, "yes" if one.accepted else "**no**"]
    cells += [f"{value:.2f}" for value in (one.wall, one.programs, one.own, one.timed, one.checks)]
    return "| " + " | ".join([*cells, str(one.repetitions), one.answered]) + " |"


def table(cases: Sequence[Case]) -> tuple[str, list[str]]:
    """The page, and what is beyond its bar."""
    head = "| lab | submission | case | accepted | s in all | programs | the judge's own | timed phase | checked runs"
    lines = [head + " | runs | timed repetitions answered by |", "|---" * 11 + "|", *map(case_line, cases)]
    lines += ["", "| lab | submission | timed cases | s |", "|---|---|---|---|"]
    problems = [f"{c.lab} {c.submission} {c.case}: not accepted" for c in cases if not c.accepted]
    problems += [f"{c.lab} {c.submission} {c.case}: {c.wall:.2f} s" for c in cases if c.wall > MOST_CASE_S]
    for lab, submission in dict.fromkeys((c.lab, c.submission) for c in cases):
        own = [c for c in cases if (c.lab, c.submission) == (lab, submission)]
        total = sum(c.wall for c in own)
        lines.append(f"| {lab} | {submission} | {len(own)} | {total:.2f} |")
        if total > MOST_SUBMISSION_S:
            problems.append(f"{lab} {submission}: {total:.2f} s in all")
    mean = statistics.mean(c.own for c in cases)
    lines += ["", f"The judge's own work: {mean:.2f} s a case in the mean, at most {max(c.own for c in cases):.2f} s."]
    if mean > MOST_OWN_S:
        problems.append(f"the judge's own work: {mean:.2f} s a case in the mean")
    return "\n".join(lines) + "\n", problems


def judge_class(folder: Path, count: int, options: Sequence[str]) -> int:
    """A class of `count` submissions of vector_add, all cases."""
    made = folder / "class-of" / "vector_add"
    shutil.rmtree(made, ignore_errors=True)
    for number in range(count):
        solution = made / f"student-{number:03}"
        shutil.copytree(ROOT / "reference/vector_add" / SOLUTIONS[number % len(SOLUTIONS)], solution)
        with (solution / "vector_add.cu").open("a", encoding="utf-8") as file:
            file.write(f"// hand-in {number}\n")
    start = time.monotonic()
    grade("vector_add", made, folder / "class-of/run", "", options)
    minutes = (time.monotonic() - start) / 60
    text = f"A class of {count} for vector_add, all cases, compilations included: {minutes:.1f} minutes.\n"
    (folder / "class.md").write_text(text, encoding="utf-8")
    print(text, end="")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--labs", default=",".join(declared_labs()), help="which; all when left out")
    parser.add_argument("--cases", default="", help="instead of the timed ones, as warpgrade grade takes them")
    parser.add_argument("--class-of", type=int, default=0, help="judge a class of so many for vector_add instead")
    parser.add_argument("--backend", choices=("cuda", "emulator"), default="cuda")
    parser.add_argument("--speed-budget", type=float, default=0.5)
    parser.add_argument("--read", action="store_true", help="make the table of what is there")
    options = parser.parse_args()
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    words = ["--backend", options.backend, "--speed-budget", str(options.speed_budget)]
    if options.class_of:
        return judge_class(folder, options.class_of, words)
    cases: list[Case] = []
    for lab in options.labs.split(","):
        run = folder / "runs" / lab
        if not options.read:
            grade(lab, staffs_solutions(lab, folder), run, options.cases or TIMED_SETS.get(lab, "timed"), words)
        cases += read(run, lab)
    if not cases:
        print(f"declared: {folder}/runs has no record of a case", file=sys.stderr)
        return 1
    text, problems = table(cases)
    (folder / "declared.md").write_text(text, encoding="utf-8")
    print(text)
    for problem in problems:
        print(f"declared: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
