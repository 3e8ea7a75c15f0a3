"""Tables from the lines that bench_spmm appends (schema warpgrade.bench.v1), as Markdown.

    PYTHONPATH=reports python3 -m warpgrade_bench.bench_tables TABLE BENCH.jsonl

TABLE  widths     each K against the next multiple of 32 and over others, per graph
       permuted   each graph against itself with its nodes renamed (NAME.permuted)
       beside     the last submission beside the others, per graph and K
       ahead      the last submission beside the fastest other, per graph and K

Times are medians in milliseconds. The last line is the summary. Wrong cells are an error (exit code 1), and so is a
file in which there is nothing to compare. The standard library alone: it runs where the GPU is.
"""

import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

from warpgrade_reports.text import lines_of

SUFFIX = ".permuted"
Medians = dict[tuple[str, int], dict[str, float]]


def read_medians(file: Path) -> Medians:
    """Median milliseconds of each submission, by graph and K; a case that is there twice counts as measured last."""
    medians: Medians = {}
    try:
        lines = lines_of(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as why:
        sys.exit(f"{file}: expected the lines that bench_spmm --json appends: {why}")
    for number, line in enumerate(lines, start=1):
        try:
            case = json.loads(line)
            wrong = [s["name"] for s in case["submissions"] if s["wrong_cells"]]
            times = {s["name"]: statistics.median(s["samples_ms"]) for s in case["submissions"]}
            key = (case["graph"], case["k"])
        except (ValueError, KeyError, TypeError) as why:
            sys.exit(f"{file}:{number}: expected a line of bench_spmm --json ({why!r}); remove it or measure again")
        if wrong:
            sys.exit(f"{file}:{number}: wrong cells on {key[0]}, K = {key[1]}: {', '.join(wrong)}")
        others = next(iter(medians.values()), times)
        if list(times) != list(others):
            sys.exit(f"{file}:{number}: expected {', '.join(others)} as in the lines before, got {', '.join(times)}")
        medians[key] = times
    return medians


def widths(medians: Medians) -> list[str]:
    """Of the last submission, a line for each K and a column for each graph: t(K) over t(next multiple of 32), and,
    where others were timed beside it, how many times as fast as the fastest of them it is at the same K.
    """
    graphs = sorted({graph for graph, _ in medians})
    *others, name = next(iter(medians.values()))
    ratios: dict[tuple[str, int], float] = {}
    ahead = {case: min(times[n] for n in others) / times[name] for case, times in medians.items() if others}
    for (graph, k), times in medians.items():
        rounded = medians.get((graph, (k + 31) // 32 * 32))
        if rounded is not None and k % 32:
            ratios[graph, k] = times[name] / rounded[name]
    if not ratios:
        sys.exit("no K beside its next multiple of 32: nothing to compare")

    def cell(case: tuple[str, int]) -> str:
        ratio = f"{ratios[case]:.2f}" if case in ratios else "–"
        return ratio + (f" ({ahead[case]:.2f}×)" if case in ahead else "")

    lines = ["| K | " + " | ".join(graphs) + " |", "|---" * (1 + len(graphs)) + "|"]
    lines += [
        f"| {k} | " + " | ".join(cell((graph, k)) for graph in graphs) + " |"
        for k in sorted({k for _, k in ratios.keys() | ahead.keys()})
    ]
    (graph, k), worst = max(ratios.items(), key=lambda item: item[1])
    mean = statistics.geometric_mean(ratios.values())
    summary = f"{len(ratios)} cases of {name}: t(K) / t(K rounded up to 32) at worst {worst:.2f} ({graph}, K = {k}), "
    summary += f"{mean:.2f} in the geometric mean"
    if ahead:
        (graph, k), least = min(ahead.items(), key=lambda item: item[1])
        summary += f"; over {' and '.join(others)} at the same K {statistics.geometric_mean(ahead.values()):.2f}×, "
        summary += f"at least {least:.2f}× ({graph}, K = {k})"
    return [*lines, "", summary + "; every K's result was right."]


def permuted(medians: Medians) -> list[str]:
    """Times on the graph and on the permuted one, and their ratio: what the others' ratios do not explain is ours."""
    names = list(next(iter(medians.values())))
    ours = names[-1]
    ratios: dict[str, list[float]] = {name: [] for name in names}
    lines = [
        "| graph | K | " + " | ".join(f"{n}, ms: as it is / permuted (ratio)" for n in names) + " |",
        "|---" * (2 + len(names)) + "|",
    ]
    apart = []
    for (graph, k), before in sorted(medians.items()):
        after = medians.get((graph + SUFFIX, k))
        if after is None:
            continue
        ratio = {n: after[n] / before[n] for n in names}
        cells = [f"{before[n]:.4g} / {after[n]:.4g} ({ratio[n]:.2f})" for n in names]
        lines.append(f"| {graph} | {k} | " + " | ".join(cells) + " |")
        for n in names:
            ratios[n].append(ratio[n])
        apart.append((ratio[ours] / max(ratio[n] for n in names if n != ours) if len(names) > 1 else 1.0, graph, k))
    if not apart:
        sys.exit(f"no graph beside NAME{SUFFIX}: nothing to compare")
    means = ", ".join(f"{n} {statistics.geometric_mean(r):.2f} (worst {max(r):.2f})" for n, r in ratios.items())
    worst, graph, k = max(apart)
    beside = f"{ours}'s ratio over the largest of the others at worst {worst:.2f} ({graph}, K = {k})"
    lines += ["", f"{len(apart)} cases, permuted / as it is: {means}; {beside}."]
    return lines


def beside(medians: Medians) -> list[str]:
    """Times of all, and how many times as fast as each of the others the last submission is."""
    *others, ours = next(iter(medians.values()))
    if not others:
        sys.exit("one submission: nothing to compare")
    heads = [f"{n}, ms" for n in (*others, ours)] + [f"over {n}" for n in others]
    lines = [
        f"| graph | K | {' | '.join(heads)} |",
        "|---" * (3 + 2 * len(others)) + "|",
    ]
    ratios: dict[str, list[float]] = {n: [] for n in others}
    for (graph, k), times in medians.items():
        for n in others:
            ratios[n].append(times[n] / times[ours])
        cells = [f"{times[n]:.4g}" for n in (*others, ours)] + [f"{ratios[n][-1]:.2f}×" for n in others]
        lines.append(f"| {graph} | {k} | {' | '.join(cells)} |")
    means = ", ".join(
        f"over {n} {statistics.geometric_mean(r):.2f}× ({min(r):.2f} at least)" for n, r in ratios.items()
    )
    return [*lines, "", f"{len(medians)} cases of {ours}: {means}."]


def ahead(medians: Medians) -> list[str]:
    """A line a graph; for each K the last submission's time, the fastest other's time and name, and their ratio."""
    if len(next(iter(medians.values()))) == 1:
        sys.exit("one submission: nothing to compare")
    graphs, every_k = list(dict.fromkeys(g for g, _ in medians)), sorted({k for _, k in medians})
    ratios: dict[int, list[float]] = {k: [] for k in every_k}
    behind = []

    def cell(graph: str, k: int) -> str:
        if (graph, k) not in medians:
            return "–"
        *others, (_, ours) = medians[graph, k].items()
        name, fastest = min(others, key=lambda other: other[1])
        ratio = fastest / ours
        ratios[k].append(ratio)
        if ratio < 1:
            behind.append(f"{graph} K = {k} ({ratio:.2f}×, {name})")
        return f"{ours:.4g}, {fastest:.4g} {name}: " + (f"**{ratio:.2f}×**" if ratio < 1 else f"{ratio:.2f}×")

    ours = list(next(iter(medians.values())))[-1]
    lines = [
        "| graph | " + " | ".join(f"K = {k}: {ours}, fastest other, ms" for k in every_k) + " |",
        "|---" * (1 + len(every_k)) + "|",
        *(f"| {graph} | " + " | ".join(cell(graph, k) for k in every_k) + " |" for graph in graphs),
    ]
    means = ", ".join(f"K = {k} {statistics.geometric_mean(r):.2f}× ({min(r):.2f} at least)" for k, r in ratios.items())
    all_ratios = [ratio for r in ratios.values() for ratio in r]
    mean = statistics.geometric_mean(all_ratios)
    summary = f"{len(all_ratios)} cases of {ours} over the fastest other: {mean:.2f}× in the geometric mean; {means}"
    return [*lines, "", f"{summary}; behind on {len(behind)}: {', '.join(behind) or 'none'}."]


TABLES: dict[str, Callable[[Medians], list[str]]] = {
    "widths": widths,
    "permuted": permuted,
    "beside": beside,
    "ahead": ahead,
}


def main() -> None:
    """Prints the table that is asked for."""
    try:
        table, file = TABLES[sys.argv[1]], Path(sys.argv[2])
    except (LookupError, ValueError):
        sys.exit(__doc__)
    medians = read_medians(file)
    if not medians:
        sys.exit(f"{file}: no cases")
    print("\n".join(table(medians)))


if __name__ == "__main__":
    main()
