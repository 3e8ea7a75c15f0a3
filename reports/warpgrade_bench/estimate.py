"""Estimates of time beside records of a GPU: fits the model, writes the table of reports/published/estimate.md.

    scripts/validate-estimate collect LAB:CASE...  count the case's recorded solutions that were not counted yet, on the
                                                   emulator (minutes); with --again also those that were
    scripts/validate-estimate fit                  fit on half of the solutions, write course/profile/coefficients.cpp
    scripts/validate-estimate problems [PROGRAM]   count course/profile/calibration/problems.cu, as nvcc built it
    scripts/validate-estimate launches FOLDER      take over what scripts/measure estimate counted of single launches
    scripts/validate-estimate table                compare with the records, write the page's tables

Counters lie in reports/published/estimate/counters.jsonl.xz, a line a solution and case; records in the archives of
reports/published/h200.
Needs build/bin/warpgrade; `fit` needs numpy. WARPGRADE names another program.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

from warpgrade_reports.text import lines_of

from warpgrade_bench import estimate_launches
from warpgrade_bench.estimate_model import (
    COUNTERS,
    FINDINGS,
    LAUNCHES_COUNTED,
    PROBLEMS,
    ROOT,
    Model,
    Run,
    coefficients_in_tree,
    count,
    is_held_out,
    keep_counters,
    load,
    pairs,
    quantile,
    read_counters,
    records,
    without_zeros,
)
from warpgrade_bench.estimate_page import problem_table, table


def fit() -> None:
    """Gauss-Newton on the logarithms of estimate over record, held to where they start by a weak spring."""
    import numpy as np  # noqa: PLC0415  (the other commands do without)

    runs = [r for r in load() if not is_held_out(r)]
    together = [sum((q["lab"], q["case"]) == (r["lab"], r["case"]) for q in runs) for r in runs]
    weights = np.array(together) ** -0.25  # cases with many solutions count less for each
    model, start = Model(runs), coefficients_in_tree()
    names = [n for n in start if n not in FINDINGS["fit"]["not_fitted"]]
    measured = np.array([r["measured_us"] for r in runs])
    spring = np.array([1.0 if n in FINDINGS["fit"]["stiff"] else 0.25 for n in names])

    def residuals(x: np.ndarray) -> np.ndarray:
        given = {n: start[n] * math.exp(v) for n, v in zip(names, x, strict=True)}
        told = np.array([o["us"] for o in model(given)])
        error = np.log(told / measured)
        robust = np.sign(error) * np.minimum(np.abs(error), np.sqrt(np.abs(error) * 0.6))
        return np.concatenate([robust * weights, spring * x])

    x, step = np.zeros(len(names)), 1e-2
    best, damping = residuals(x), 1e-2
    for turn in range(int(os.environ.get("TURNS", "25"))):
        jacobian = np.stack([(residuals(x + step * e) - best) / step for e in np.eye(len(names))], axis=1)
        for _ in range(6):
            move = np.linalg.solve(jacobian.T @ jacobian + damping * np.eye(len(names)), -jacobian.T @ best).clip(
                -0.5, 0.5
            )
            trial = residuals(x + move)
            if trial @ trial < best @ best:
                gain = best @ best - trial @ trial
                x, best, damping = x + move, trial, damping / 3
                break
            damping *= 4
        else:
            break
        print(f"turn {turn}: {best @ best:.4f}", file=sys.stderr, flush=True)
        if gain < 1e-4 * (best @ best):
            break
    fitted = {**start, **{n: round(start[n] * math.exp(v), 4) for n, v in zip(names, x, strict=True)}}
    for run, told in zip(runs, model(fitted), strict=True):
        run["estimate"] = told
    set_intervals(fitted, runs)
    if os.environ.get("KEEP"):
        print(json.dumps(fitted))
    else:
        write_coefficients(fitted)


WIDER = 1.1  # than what the fitted ones need: new kernels are told less well


def set_intervals(fitted: dict[str, float], runs: list[Run]) -> None:
    """So that nine of ten fitted records lie inside, and somewhat wider."""
    told = [r for r in runs if not r["estimate"]["refusal"]]
    ratios = [r["measured_us"] / r["estimate"]["us"] for r in told]
    fitted["interval_low"] = round(quantile(ratios, 0.05) / WIDER, 3)
    fitted["interval_high"] = round(quantile(ratios, 0.95) * WIDER, 3)
    between = [
        abs(math.log(a["measured_us"] / b["measured_us"] / (a["estimate"]["us"] / b["estimate"]["us"])))
        for a, b in pairs(told)
    ]
    width = math.exp(quantile(between, 0.9)) * WIDER
    fitted["ratio_low"], fitted["ratio_high"] = round(1 / width, 3), round(width, 3)


def write_coefficients(fitted: dict[str, float]) -> None:
    path = ROOT / "grader/course/profile/coefficients.cpp"
    text = path.read_text(encoding="utf-8")
    for name, value in fitted.items():
        text = re.sub(r'\{"' + name + r'", [-\d.e+]+\}', f'{{"{name}", {value:.4g}}}', text)
    path.write_text(text, encoding="utf-8")
    print(f"written: {path}; build warpgrade, then `scripts/validate-estimate table`")


def problem_counters(program: str) -> dict[str, list[Run]]:
    """What the emulator counts of calibration/problems.cu, built by nvcc: launch groups by program."""
    found: dict[str, list[Run]] = {}
    environment = {
        **os.environ,
        "WARPEMU_DEVICE": "h200",
        "WARPEMU_CHECKS": "levels",
        "WARPEMU_THREADS": "1",
        "LD_LIBRARY_PATH": str(ROOT / "build/emulator"),
    }
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=True)
    for line in lines_of(done.stdout):
        told = json.loads(line)
        if "program" in told:
            groups = found.setdefault(told["program"], [])
        elif "launch_group" in told:
            groups.append(without_zeros({**told, "in_run": 1}))
    return found


def problems(arguments: list[str]) -> None:
    """Counts them where a built program is given; compares with times where PROBLEMS_TIMED has them."""
    if arguments:
        text = [
            json.dumps({"lab": "problems", "case": "one-launch", "submission": name, "groups": groups})
            for name, groups in sorted(problem_counters(arguments[0]).items())
        ]
        PROBLEMS.write_text("\n".join(text) + "\n", encoding="utf-8")
    print("\n".join(problem_table()))


def collect(names: list[str]) -> None:
    """Counts what is missing of these cases; the runs counted already stay, unless `--again` is among the names."""
    again = "--again" in names
    names = [name for name in names if name != "--again"]
    known = records()
    COUNTERS.parent.mkdir(parents=True, exist_ok=True)
    have = {(run["lab"], run["case"], run["submission"]): run for run in read_counters()} if COUNTERS.exists() else {}
    for name in names:
        if not any(name == f"{lab}:{case}" for lab, case, *_ in known):
            raise SystemExit(f"collect: no published record is of '{name}'; name LAB:CASE, for instance spmm:arxiv-k32")
    for name in names:
        for key in sorted(key for key in known if name == f"{key[0]}:{key[1]}"):
            if key in have and not again:
                continue
            run = count(*key)
            if run is None:
                continue
            have[key] = run
            keep_counters(have[k] for k in sorted(have))
            print(*key, flush=True)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["fit"]:
        fit()
    elif arguments[:1] == ["table"]:
        table()
    elif arguments[:1] == ["launches"] and len(arguments) == 2:  # noqa: PLR2004
        estimate_launches.take_over(Path(arguments[1]), LAUNCHES_COUNTED)
    elif arguments[:1] == ["problems"]:
        problems(arguments[1:])
    elif arguments[:1] == ["collect"] and len(arguments) > 1:
        collect(arguments[1:])
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
