"""How far the times on a stand-in lie from those on its graph: bench.jsonl to comparison.json and comparison.md.

    python3 compare_times.py BENCH.jsonl FOLDER

A case is a line of bench.jsonl (schema warpgrade.bench.v1, see reference/spmm/tools/bench_spmm.cu); the stand-in of
NAME is NAME.standin. Times are medians in milliseconds; the ratio is stand-in / real, so 1 is perfect. What a lab
grades is a speed-up, so the ratio of speed-ups over cuSPARSE's default stands beside it. The standard library alone.
"""

import json
import math
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reports"))
from warpgrade_reports.text import lines_of

SUFFIX = ".standin"


def read_medians(file: Path) -> tuple[str, dict[tuple[str, int], dict[str, float]]]:
    """The device, and median milliseconds by (graph, k) and submission. Wrong results are an error."""
    device, medians = "", {}
    for number, line in enumerate(lines_of(file.read_text()), start=1):
        case = json.loads(line)
        device = case["device"]
        for submission in case["submissions"]:
            if submission["wrong_cells"]:
                sys.exit(f"{file}:{number}: {submission['name']} is wrong on {case['graph']}: nothing to compare")
        medians[case["graph"], case["k"]] = {s["name"]: statistics.median(s["samples_ms"]) for s in case["submissions"]}
    return device, medians


def compare(medians: dict[tuple[str, int], dict[str, float]]) -> list[dict[str, Any]]:
    """A row for each graph and K that has a stand-in."""
    rows = []
    for (graph, k), real in sorted(medians.items()):
        standin = medians.get((graph + SUFFIX, k))
        if standin is None:
            continue
        ratio = {name: standin[name] / real[name] for name in real}
        speedup = ratio["cusparse_default"] / ratio["optimized"]
        rows.append(
            {"graph": graph, "k": k, "real_ms": real, "standin_ms": standin, "ratio": ratio, "speedup_ratio": speedup}
        )
    return rows


def spread(ratios: list[float]) -> tuple[float, float]:
    """Geometric mean of how far ratios are from 1 (1.25 for 1.25 and for 0.8), and the farthest."""
    factors = [math.exp(abs(math.log(ratio))) for ratio in ratios]
    return statistics.geometric_mean(factors), max(factors)


def table(device: str, rows: list[dict[str, Any]]) -> str:
    """Markdown: real / stand-in in milliseconds, and the ratio."""
    names = list(rows[0]["ratio"])
    lines = [f"Real / stand-in, ms (stand-in over real), {device}", ""]
    lines += [
        "| graph | K | " + " | ".join(names) + " | speed-up over default |",
        "|---|---|" + "---|" * (len(names) + 1),
    ]
    for row in rows:
        cells = [f"{row['real_ms'][n]:.4g} / {row['standin_ms'][n]:.4g} ({row['ratio'][n]:.2f})" for n in names]
        lines.append(f"| {row['graph']} | {row['k']} | " + " | ".join(cells) + f" | {row['speedup_ratio']:.2f} |")
    summary = []
    for name in names:
        mean, worst = spread([row["ratio"][name] for row in rows])
        summary.append(f"{name}: factor {mean:.2f} in the geometric mean, {worst:.2f} at worst")
    mean, worst = spread([row["speedup_ratio"] for row in rows])
    summary.append(f"speed-up over default: factor {mean:.2f}, {worst:.2f} at worst")
    return "\n".join([*lines, "", "How far apart: " + "; ".join(summary) + ".", ""])


def main() -> None:
    """Writes both files and prints the table."""
    try:
        bench, folder = (Path(argument) for argument in sys.argv[1:])
    except ValueError:
        sys.exit(__doc__)
    device, medians = read_medians(bench)
    rows = compare(medians)
    if not rows:
        sys.exit(f"{bench}: no graph with a stand-in (NAME and NAME{SUFFIX})")
    text = table(device, rows)
    document = {"schema": "warpgrade.standins.v1", "device": device, "cases": rows}
    (folder / "comparison.json").write_text(json.dumps(document, indent=1) + "\n")
    (folder / "comparison.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
