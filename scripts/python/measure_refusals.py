#!/usr/bin/env python3
"""How often programs that are wrong in a hidden place are refused: scripts/measure refusals [--seeds N] [LAB...]

Each program is judged in N runs, and each run has a hidden seed of its own: sums that skip an eighth, products in three
BF16 terms or in TF32 for large tiles, a softmax without the maximum, a stencil that is bound to 1,024 columns, shortest
paths with a step left out. On the emulator in small cases, with --backend cuda in those with timed sizes. `--folder F
--cases C LAB` judges the program of a folder in their place. Prints a table, and ends with 1 where a run accepted one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "grader/tests"))
from corpus import Example, example_of, grade_class, read_corpus, read_judged  # noqa: E402

WARPGRADE = ROOT / "build/bin/warpgrade"
CORPUS = ("wrong_answer-reduction_skips_an_eighth", "wrong_answer-matmul_bf16_in_three_products")
# Of labs that are data: the cases, on the emulator and on a GPU, that must refuse the folder below wrong/.
DECLARED: dict[str, dict[str, tuple[str, str]]] = {
    "softmax": {"no_maximum": ("far", "rows-of-1024"), "no_maximum_in_many_rows": ("many-rows", "rows-of-1024")},
    "stencil": {"rows_of_1024": ("longer-rows", "longer-rows")},
    "matmul": {"tf32_in_large_tiles": ("tall-tiles", "square-1024")},
}
ON_A_GPU = {"apsp": "complete-timed-1000,complete-timed-2500"}


def chosen_programs(backend: str) -> list[Example]:
    """Those of the corpus, and of the labs' folders wrong/."""
    programs = [
        example
        for example in read_corpus(backend)
        if example.name in CORPUS or (example.folder and "reference/apsp/wrong" in example.folder.as_posix())
    ]
    for lab, folders in DECLARED.items():
        for name, cases in folders.items():
            folder = ROOT / "reference" / lab / "wrong" / name
            expected = {"lab": lab, "verdict": "wrong_answer", "cases": cases[backend == "cuda"]}
            programs.append(example_of(f"{lab}-{name}", folder, expected, backend))
    return programs


def judge(programs: list[Example], lab: str, cases: str, backend: str) -> dict[str, str]:
    """Each program's verdict in one run."""
    with tempfile.TemporaryDirectory() as scratch:
        for program in programs:
            program.lay_out(Path(scratch) / "class" / program.name)
        done = grade_class(WARPGRADE, Path(scratch), lab, cases, backend)
        if done.returncode != 0:
            sys.exit(f"refusals: {done.stdout}{done.stderr}")
        return {name: judged.verdict for name, judged in read_judged(Path(scratch) / "run").items()}


def main() -> int:
    """Judges, and prints a row for each program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labs", nargs="*", metavar="LAB")
    parser.add_argument("--seeds", type=int, default=50, help="runs (default: 50)")
    parser.add_argument("--backend", choices=("emulator", "cuda"), default="emulator")
    parser.add_argument("--folder", type=Path, help="a program of your own")
    parser.add_argument("--cases", help="the cases that it is judged in")
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error("--seeds: expected at least 1")
    if options.folder:
        if not options.cases or len(options.labs) != 1:
            parser.error("--folder wants --cases and one LAB")
        expected = {"lab": options.labs[0], "verdict": "wrong_answer", "cases": options.cases}
        programs = [example_of(options.folder.name, options.folder.resolve(), expected, options.backend)]
    else:
        programs = [p for p in chosen_programs(options.backend) if not options.labs or p.lab in options.labs]
    if not programs:
        sys.exit(f"refusals: no program of {' '.join(options.labs)}; labs: apsp, matmul, reduction, softmax, stencil")
    refused = dict.fromkeys((program.name for program in programs), 0)
    classes: dict[tuple[str, str], list[Example]] = {}
    for program in programs:
        cases = ON_A_GPU.get(program.lab, program.cases) if options.backend == "cuda" else program.cases
        classes.setdefault((program.lab, cases), []).append(program)
    print("| program | cases | refused |\n|---|---|---|")
    for (lab, cases), members in classes.items():
        begin = time.monotonic()
        for _ in range(options.seeds):
            for name, verdict in judge(members, lab, cases, options.backend).items():
                refused[name] += verdict != "accepted"
        for member in members:
            print(
                f"| {member.name} | {cases.replace(',', ', ')} | {refused[member.name]} of {options.seeds} |",
                flush=True,
            )
        print(f"{lab}: {(time.monotonic() - begin) / options.seeds:.1f} s a run", file=sys.stderr)
    print(f"\nRuns: {options.seeds}, each with its own hidden seed; {options.backend}.")
    return int(min(refused.values()) < options.seeds)


if __name__ == "__main__":
    sys.exit(main())
