"""A lab's ladder from all sets that measured parts of it: a table for its page, and the journey's plots.

`python -m warpgrade_bench.ladder_table RUN_DIR... [--into FILE] [--plots FOLDER] [--journey FILE]` prints
Markdown, or puts it between the marks in FILE: a row a solution, a column a case, and which set a figure is from.
`--journey` writes the steps one by one: idea, kernels, block and grid (with `--launches`), times and gains.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from warpgrade_reports import format as fmt
from warpgrade_reports import png
from warpgrade_reports.analysis import geometric_mean
from warpgrade_reports.grouping import Group
from warpgrade_reports.ladder import Climb, add_launches, climb_of
from warpgrade_reports.ladder import markdown as told
from warpgrade_reports.model import CaseResult, Run, Submission
from warpgrade_reports.reading import read_run
from warpgrade_reports.source import ReportInputError

from warpgrade_bench.pages import put_between
from warpgrade_bench.sets import Sets, merged

BEGIN, END = "<!-- ladder: begin -->", "<!-- ladder: end -->"
_DIGITS = 4
_NONE = {"self", "naive"}  # an A/A run, and what stands in the table as a solution


def markdown(runs: Mapping[str, Run]) -> str:
    """The ladder of these sets, a table for each group of cases; sets by their names."""
    sets = merged(list(runs.values()))
    climb = _climb(sets)
    names = {id(run): name for name, run in runs.items()}
    names[id(sets.run)] = next(iter(runs))
    parts = [_table(sets, climb, stretch.group, names) for stretch in climb.stretches]
    return "\n".join(parts)


def save_plots(runs: Mapping[str, Run], folder: Path) -> None:
    """journey-<group>.png of the sets together."""
    folder.mkdir(parents=True, exist_ok=True)
    png.save_climb(_climb(merged(list(runs.values()))), folder)


def journey(runs: Mapping[str, Run], launches: Run | None) -> str:
    """The ladder step by step: idea, kernels, and of each case the time and what it gained."""
    names = ", ".join(f"`{name}`" for name in runs)
    return f"Times from {names}.\n\n{told(_climb(merged(list(runs.values())), launches))}"


def _climb(sets: Sets, launches: Run | None = None) -> Climb:
    climb = climb_of(sets.run, launches)
    if climb is None or climb.counted:
        raise ReportInputError(sets.run.id, "expected a ladder with times, got none", "name sets with a lab's steps")
    return climb


def _table(sets: Sets, climb: Climb, group: Group, names: Mapping[int, str]) -> str:
    baselines = _baselines(climb, group)
    heads = [group.named("ms"), *group.labels, *(f"over {_spaced(name)}, geometric mean" for name in baselines), "set"]
    lines = ["| " + " | ".join(map(fmt.markdown, heads)) + " |", "|---|" + "---:|" * (len(heads) - 2) + "---|"]
    last = climb.steps[-1]
    for name in baselines:
        times = [_baseline_ms(last.by_case.get(spec.id), name) for spec in group.specs]
        cells = [_spaced(name), *map(_ms, times), *(["–"] * len(baselines)), _homes(sets, last, group, names)]
        lines.append("| " + " | ".join(cells) + " |")
    for step in climb.steps:
        results = [step.by_case.get(spec.id) for spec in group.specs]
        means = (_mean_over(results, name) for name in baselines)
        cells = [fmt.markdown(step.title), *(_ms(_time_ms(result)) for result in results), *map(fmt.ratio, means)]
        lines.append("| " + " | ".join([*cells, _homes(sets, step, group, names)]) + " |")
    return "\n".join(lines) + "\n"


def _baselines(climb: Climb, group: Group) -> list[str]:
    """What every solution was paired with on every case and is no solution of the ladder itself."""
    own = {step.id for step in climb.steps}
    common: list[str] | None = None
    for step in climb.steps:
        for spec in group.specs:
            ratios = step.by_case[spec.id].ratios if spec.id in step.by_case else {}
            common = list(ratios) if common is None else [name for name in common if name in ratios]
    return [name for name in common or [] if name not in own | _NONE]


def _time_ms(result: CaseResult | None) -> float | None:
    return result.timing.time_us.median / 1e3 if result and result.timing and result.accepted else None


def _baseline_ms(result: CaseResult | None, name: str) -> float | None:
    found = result.timing.baselines_us.get(name) if result and result.timing else None
    return median(found) / 1e3 if found else None


def _mean_over(results: Sequence[CaseResult | None], baseline: str) -> float | None:
    return geometric_mean(result.ratios[baseline].median for result in results if result)


def _homes(sets: Sets, step: Submission, group: Group, names: Mapping[int, str]) -> str:
    """The sets that a row is from; where there are several, each with its cases."""
    labels: dict[str, list[str]] = {}
    for spec, label in zip(group.specs, group.labels, strict=True):
        if _time_ms(step.by_case.get(spec.id)) is not None:
            labels.setdefault(names[id(sets.home_of(step, spec.id))], []).append(label)
    if len(labels) == 1:
        return f"`{next(iter(labels))}`"
    prefix = f"{sets.run.width} = "
    return "; ".join(
        f"`{name}`: {', '.join(label.removeprefix(prefix) for label in cases)}" for name, cases in labels.items()
    )


def _ms(value: float | None) -> str:
    return fmt.digits(value, _DIGITS)


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def main(arguments: list[str] | None = None) -> int:
    """The command line; 1 with one line of explanation when something cannot be read."""
    parser = argparse.ArgumentParser(prog="warpgrade_bench.ladder_table", description="A ladder from several sets.")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN_DIR", help="sets of one lab on one GPU model")
    parser.add_argument("--into", type=Path, metavar="FILE", help=f"write between {BEGIN} and {END} in FILE")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="also write the journey's plots there")
    parser.add_argument("--journey", type=Path, metavar="FILE", help="also write every step with its kernels and gains")
    add_launches(parser)
    options = parser.parse_args(arguments)
    try:
        runs = {folder.resolve().name: read_run(folder) for folder in options.runs}
        text = markdown(runs)
        if options.into is None:
            print(text, end="")
        else:
            put_between(options.into, text, BEGIN, END)
        if options.plots is not None:
            save_plots(runs, options.plots)
        if options.journey is not None:
            options.journey.parent.mkdir(parents=True, exist_ok=True)
            told_steps = journey(runs, options.launches and read_run(options.launches))
            page = f"# {next(iter(runs.values())).lab}: the ladder step by step\n\n{told_steps}"
            options.journey.write_text(page, encoding="utf-8", newline="\n")
    except (ReportInputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
