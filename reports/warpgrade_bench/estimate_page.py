"""Estimates beside records: the parts of reports/published/estimate.md that scripts/validate-estimate writes."""

from __future__ import annotations

import csv
import json
import math
import re

from warpgrade_reports.text import lines_of

from warpgrade_bench import estimate_launches
from warpgrade_bench.estimate_model import (
    DRAWN,
    FINDINGS,
    LAUNCHES_COUNTED,
    PROBLEMS,
    PROBLEMS_COUNTED,
    PROBLEMS_TIMED,
    PUBLISHED,
    TABLE,
    Model,
    Run,
    coefficients_in_tree,
    is_held_out,
    load,
    order_right,
    read_counters,
    records,
    summary,
    within_interval,
)
from warpgrade_bench.pages import put_between

BUSY = 60.0  # per cent of what a part can do, from which on it binds


def measured_bounds() -> dict[tuple[str, str], tuple[set[str], str]]:
    """Of the optimized solutions: which bounds ncu's utilizations allow, and these utilizations."""
    found: dict[tuple[str, str], tuple[set[str], str]] = {}
    for name in ("counters.md", "counters-sampling-gcn.md"):
        for line in lines_of((PUBLISHED / "h200/benches" / name).read_text(encoding="utf-8")):
            cells = [c.strip() for c in line.strip("|").split("|")]
            if len(cells) != 13 or not cells[2].endswith(" ns"):  # noqa: PLR2004
                continue
            spmm = re.fullmatch(r"spmm_(.+)_(\d+)", cells[0])
            known = FINDINGS["counted"].get(cells[0], ("", "", "-"))
            lab, case, kernel = ("spmm", f"{spmm[1]}-k{spmm[2]}", "spmm_work_list") if spmm else known
            if kernel not in cells[1]:
                continue
            number = [float(re.sub(r"[^\d.]", "", c) or 0) for c in cells]
            used = {
                "dram": number[4],
                "l2": 100 * number[5] / (number[2] * 1e-9) / 9.4e12,
                "issue": max(number[8], number[10], number[11]),
                "l1": number[12],
            }
            found[lab, case] = allowed_bounds(used)
    return found


NEAR = 0.9  # of the largest: parts and bounds that are so near to it are named beside it


def near_largest(of: dict[str, float]) -> set[str]:
    """The same rule for what ncu measured and for what is told."""
    return {name for name, value in of.items() if value >= NEAR * max(of.values())}


def told_bounds(estimate: Run) -> set[str]:
    """The bound that binds most of the time, and those near to it."""
    bounds = estimate["bounds"]
    return {n for n, v in bounds.items() if v >= NEAR * max(bounds.values())} | {estimate["bound"]}


def allowed_bounds(used: dict[str, float]) -> tuple[set[str], str]:
    """Which parts, busy for so many per cent, may bind a launch; and these numbers as text."""
    most = max(used.values())
    allowed = near_largest(used) if most >= BUSY else {"latency", "tail"}
    if "l1" in allowed:
        allowed.add("shared")  # ncu's wavefronts are of both
    return allowed, ", ".join(f"{b} {u:.0f} %" for b, u in used.items())


def problem_bounds() -> list[tuple[str, str, str, str, bool]]:
    """The same of the programs with one performance problem each, a launch of each.

    No part that ncu counts is an atomic's turn.
    """
    if not PROBLEMS_COUNTED.exists() or not PROBLEMS.exists():
        return []
    with PROBLEMS_COUNTED.open(encoding="utf-8", newline="") as file:
        counted = {row["program"]: row for row in csv.DictReader(file)}
    runs = [{**json.loads(line), "kernels": []} for line in lines_of(PROBLEMS.read_text(encoding="utf-8"))]
    rows = []
    for run, told in zip(runs, Model(runs)(), strict=True):
        name = run["submission"]
        if name not in counted:
            continue
        allowed, why = allowed_bounds({part: float(counted[name][part]) for part in ("dram", "l2", "issue", "l1")})
        if name.endswith(tuple(FINDINGS["atomics"]["program_ends"])):
            allowed = {"atomics"}
        said = told_bounds(told)
        rows.append((name, " or ".join(sorted(allowed)), " or ".join(sorted(said)), why, bool(said & allowed)))
    return rows


def bound_rows(rows: list[Run]) -> list[tuple[str, str, str, str, bool]]:
    """Launches whose measured bound is known, beside the model's word."""
    known, told = measured_bounds(), []
    for r in rows:
        measured = known.get((r["lab"], r["case"]))
        if measured is None or r["submission"] != "optimized":
            continue
        said = told_bounds(r["estimate"])
        key = f"{r['lab']} {r['case']} {r['submission']}"
        told.append(
            (key, " or ".join(sorted(measured[0])), " or ".join(sorted(said)), measured[1], bool(said & measured[0]))
        )
    ours = ladder_bounds()
    names = {name for name, *_ in ours}  # counted twice: the later count stays
    return [row for row in told if row[0] not in names] + ours + problem_bounds()


def ladder_bounds() -> list[tuple[str, str, str, str, bool]]:
    """The same of the ladders' kernels: of each solution and case the one that takes most of the time."""
    runs = read_counters()
    if DRAWN.exists():
        runs += [json.loads(line) for line in lines_of(DRAWN.read_text(encoding="utf-8"))]
    chosen = estimate_launches.counted_launches(LAUNCHES_COUNTED, runs)
    rows = []
    for (row, run), told in zip(chosen, Model([run for _, run in chosen])(), strict=True):
        used = {part: float(row[part]) for part in ("dram", "l2", "issue", "l1")}
        used["issue"] = max(used["issue"], float(row["pipe"]))
        used["l1"] = max(used["l1"], float(row["lsu"]))  # the pipe before it
        allowed, why = allowed_bounds(used)
        if run["submission"] in FINDINGS["atomics"]["solutions"].get(run["lab"], ()):
            allowed = {"atomics"}
        said = told_bounds(told)
        name = f"{run['lab']} {run['case']} {run['submission']}"
        rows.append((name, " or ".join(sorted(allowed)), " or ".join(sorted(said)), why, bool(said & allowed)))
    return rows


def within_half(said: float, real: float) -> bool:
    """Whether a gain that is told is right within a factor of 1.5."""
    return abs(math.log(said / real)) <= math.log(1.5)


def gain_rows(rows: list[Run]) -> list[tuple[str, float, float, float, bool]]:
    """What is compared, the gain that is told, the real one, what the case's fastest solution gains, and whether
    it is the ladder's next step. The fastest one is told beside, and decides nothing.
    """
    by_key = {(r["lab"], r["case"], r["submission"]): r for r in rows}
    fastest: dict[tuple[str, str], float] = {}
    for r in rows:
        of = (r["lab"], r["case"])
        fastest[of] = min(r["measured_us"], fastest.get(of, math.inf))
    told = []
    for (lab, case, submission), run in by_key.items():
        for step in FINDINGS["step"]:
            before, after, problem = step["before"], step["after"], step["removes"]
            if (lab, submission) != (step["lab"], before) or case != step.get("case", case):
                continue
            if (lab, case, after) not in by_key:
                continue
            real = run["measured_us"] / by_key[lab, case, after]["measured_us"]
            said = run["estimate"]["us"] / run["estimate"]["without"][problem]
            next_step = not step.get("several", False)
            best = run["measured_us"] / fastest[lab, case]
            told.append((f"{lab} {case}: {before} without {problem}, beside {after}", said, real, best, next_step))
    return told


def bar(name: str, got: str, reached: bool | None) -> str:
    """A line of the table: the bar by its name in the findings, and whether it is reached."""
    word = "not measured" if reached is None else "reached" if reached else "**not reached**"
    told = FINDINGS["bar"][name]
    return f"| {told['what']} | {told['wanted']} | {got} | {word} |"


def bars(rows: list[Run], low: float, high: float) -> list[str]:
    held = [r for r in rows if r["held_out"]]
    median, ninety = summary(held)
    right, all_pairs = order_right(rows, one_held_out=True)
    bounds, gains = bound_rows(rows), gain_rows(rows)
    good_bounds = sum(r[4] for r in bounds)
    near = [(within_half(said, real), next_step) for _, said, real, _, next_step in gains]
    following = [ok for ok, next_step in near if next_step]
    inside = within_interval(held, low, high)
    limits = {name: told["value"] for name, told in FINDINGS["bar"].items()}
    order = f"{right} of {all_pairs}, {100 * right / max(1, all_pairs):.1f} %"
    enough = len(bounds) >= FINDINGS["bar"]["bounds"]["fewest"]
    gained = f"{sum(following)} of {len(following)}"
    gained += f"; with those over several steps {sum(ok for ok, _ in near)} of {len(near)}"
    return [
        "| | bar | here | |",
        "|---|---|---|---|",
        bar("median", f"{median:.2f}", median <= limits["median"]),
        bar("ninety", f"{ninety:.2f}", ninety <= limits["ninety"]),
        bar("order", order, all_pairs > 0 and right >= limits["order"] * all_pairs),
        bar(
            "bounds",
            f"{good_bounds} of {len(bounds)}",
            good_bounds >= limits["bounds"] * len(bounds) if enough else None,
        ),
        bar("gains", gained, bool(following) and sum(following) >= limits["gains"] * len(following)),
        bar("interval", f"{100 * inside:.1f} %", inside >= limits["interval"]),
    ]


def unseen(told: list[Run], low: float, high: float) -> list[str]:
    """How well the model tells labs that it was not made with; lines of the page."""
    rows = [r for r in told if r["lab"] in FINDINGS["unseen"]["labs"]]
    if not rows:
        return []
    median, ninety = summary(rows)
    names = ", ".join(f"`{lab}`" for lab in sorted({r["lab"] for r in rows}))
    return [
        f"The model was finished before anything of {names} was counted:",
        f"on their {len(rows)} pairs the median factor is {median:.2f},",
        f"90 % lie within {ninety:.2f}, and the interval",
        f"holds {100 * within_interval(rows, low, high):.1f} % of the records.",
    ]


def other_device(gpu: str, low: float, high: float) -> list[str]:
    """How well the model tells a GPU of which nothing was fitted; lines of the page."""
    runs = load(gpu)
    if not runs:
        return []
    rows = [{**run, "estimate": told} for run, told in zip(runs, Model(runs, gpu)(), strict=True)]
    told = [r for r in rows if not r["estimate"]["refusal"]]
    median, ninety = summary(told)
    right, pairs = order_right(told, one_held_out=False)
    lines = [
        f"An {gpu.upper()}, a GPU of which nothing was fitted (records of `{gpu}/`, rates of",
        f"`grader/course/profile/rates/{gpu}.rates`): {len(told)} pairs, the median factor is {median:.2f},",
        f"90 % lie within {ninety:.2f}, the order of two solutions is right in {right} of {pairs} pairs,",
        f"and the interval holds {100 * within_interval(told, low, high):.1f} % of the records. By lab:",
        "",
        "| lab | pairs | median factor | 90 % within | in the interval |",
        "|---|---|---|---|---|",
    ]
    for lab in sorted({r["lab"] for r in told}):
        own = [r for r in told if r["lab"] == lab]
        median, ninety = summary(own)
        inside = 100 * within_interval(own, low, high)
        lines.append(f"| {lab} | {len(own)} | {median:.2f} | {ninety:.2f} | {inside:.0f} % |")
    return lines


def figures(rows: list[Run], told: list[Run], low: float, high: float) -> list[str]:
    """How many pairs, which bars are reached, and what the intervals hold."""
    held = [r for r in told if r["held_out"]]
    median, ninety = summary([r for r in told if not r["held_out"]])
    inside, refused = within_interval(held, low, high), sum(r["held_out"] for r in rows) - len(held)
    with_refused = 100 * inside * len(held) / (len(held) + refused)
    missed = [within_half(said, real) for _, said, real, _, next_step in gain_rows(told) if next_step].count(False)
    return [
        f"{len(records())} pairs of a solution and a case are recorded and {len(rows)} are here,",
        f"{len(held) + refused} of them held out; {len(rows) - len(told)} get no estimate.",
        f"On the fitted ones the median factor is {median:.2f}, 90 % lie within {ninety:.2f}.",
        "",
        *bars(told, low, high),
        "",
        *unseen(told, low, high),
        "",
        *other_device("h100", low, high),
        "",
        f"The interval is {low:.2f} to {high:.2f} times the estimate: what 90 % of the fitted records need,",
        f"and a tenth wider. With refusals counted as told wrongly it would hold {with_refused:.1f} % of",
        f"{len(held) + refused}. {missed} gains of the ladder's next step are told wrongly.",
    ]


def solution_table(rows: list[Run]) -> list[str]:
    """Every pair, with its largest bounds."""
    lines = [
        "| lab | case | solution | | record, µs | estimate, µs | factor | largest bounds, µs |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        e = r["estimate"]
        largest = sorted(e["bounds"].items(), key=lambda item: -item[1])[:3]
        shown = f"{e['us']:.1f} | {e['us'] / r['measured_us']:.2f}" if not e["refusal"] else f"none: {e['refusal']} | "
        side = "held out" if r["held_out"] else ""
        lines.append(
            f"| {r['lab']} | {r['case']} | {r['submission']} | {side} | {r['measured_us']:.1f} | "
            f"{shown} | {', '.join(f'{n} {v:.1f}' for n, v in largest)} |"
        )
    return lines


def gain_table(told: list[Run]) -> list[str]:
    """What removing a problem gains."""
    return [
        "| | said | real | fastest | | |",
        "|---|---|---|---|---|---|",
        *(
            f"| {name} | {said:.2f} | {real:.2f} | {best:.2f} | {'' if within_half(said, real) else 'missed'} | "
            f"{'' if next_step else 'several steps'} |"
            for name, said, real, best, next_step in gain_rows(told)
        ),
    ]


def bound_table(told: list[Run]) -> list[str]:
    """What binds."""
    return [
        "| launch | measured | told | |",
        "|---|---|---|---|",
        *(
            f"| {key} | {measured} ({why}) | {said} | {'' if ok else 'wrong'} |"
            for key, measured, said, why, ok in bound_rows(told)
        ),
    ]


def table() -> None:
    """Writes the page's parts anew, between their marks; what stands around them is a person's."""
    runs = load()
    rows = [
        {**run, "estimate": told, "held_out": is_held_out(run)} for run, told in zip(runs, Model(runs)(), strict=True)
    ]
    rows.sort(key=lambda r: (r["lab"], r["case"], r["submission"]))
    told = [r for r in rows if not r["estimate"]["refusal"]]
    known = coefficients_in_tree()
    low, high = known["interval_low"], known["interval_high"]
    parts = {
        "figures": figures(rows, told, low, high),
        "solutions": solution_table(rows),
        "gains": gain_table(told),
        "bounds": bound_table(told),
        "problems": problem_table(),
    }
    for name, lines in parts.items():
        text = "\n" + "\n".join(lines) + "\n\n"
        put_between(TABLE, text, f"<!-- {name}: begin -->", f"<!-- {name}: end -->")
    print("\n".join(bars(told, low, high)))


def problem_table() -> list[str]:
    if not PROBLEMS.exists():
        return []
    runs = [{**json.loads(line), "kernels": []} for line in lines_of(PROBLEMS.read_text(encoding="utf-8"))]
    timed = {}
    if PROBLEMS_TIMED.exists():
        lines = map(json.loads, lines_of(PROBLEMS_TIMED.read_text(encoding="utf-8")))
        timed = {line["program"]: line["us"] for line in lines}
    text = ["| program | estimate, µs | H200, µs | factor | bound |", "|---|---|---|---|---|"]
    for run, told in zip(runs, Model(runs)(), strict=True):
        us = timed.get(run["submission"])
        beside = f"{us:.1f} | {told['us'] / us:.2f}" if us else "not measured | "
        text.append(f"| {run['submission']} | {told['us']:.1f} | {beside} | {told['bound']} |")
    return text
