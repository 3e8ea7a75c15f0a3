"""Where published sets lie, and what is made of them: ladders step by step, their plots, and tables on pages.

`python -m warpgrade_reports.published [ROOT]` writes all of it anew. ROOT is `reports/published`: a folder a GPU model,
in it a folder a lab with the lab's current set, sets of ladder steps below `steps/`, and the emulator's `launches/`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from warpgrade_reports import courses, ladder_table
from warpgrade_reports.ladder import climb_of
from warpgrade_reports.model import Run
from warpgrade_reports.publishing import put_between
from warpgrade_reports.reading import read_run
from warpgrade_reports.sets import merged
from warpgrade_reports.source import ReportInputError

PAGES_GPU = "h200"  # the GPU model of the ladders on the labs' pages
SETS = ("run.json", "steps/run.json", "steps/*/run.json")  # of one lab; launches/ and sweeps/ are no sets


def lab_sets(lab: Path) -> dict[str, Path]:
    """The sets of one lab on one GPU by their names, which are paths from ROOT: `h200/spmm/steps/01-03`."""
    found = sorted(file.parent for pattern in SETS for file in lab.glob(pattern))
    return {folder.relative_to(lab.parents[1]).as_posix(): folder for folder in found}


def lab_folders(root: Path) -> list[Path]:
    """Every lab's folder that holds a set, of all GPU models."""
    return [folder for folder in sorted(root.glob("*/*")) if folder.is_dir() and lab_sets(folder)]


def sets_below(root: Path) -> dict[str, Path]:
    """All published sets by their names."""
    return {name: folder for lab in lab_folders(root) for name, folder in lab_sets(lab).items()}


def read_sets(lab: Path) -> dict[str, Run]:
    """The lab's sets, read; raises ReportInputError for a record that cannot be shown faithfully."""
    return {name: read_run(folder) for name, folder in lab_sets(lab).items()}


def launches_of(lab: Path) -> Run | None:
    """The emulator's records of the same programs, for block and grid of their kernels; None without."""
    folder = lab / "launches"
    return read_run(folder) if (folder / "run.json").is_file() else None


def has_ladder(runs: dict[str, Run]) -> bool:
    """Whether the sets together tell a ladder with times."""
    journey = climb_of(merged(list(runs.values())).run)
    return journey is not None and not journey.counted


def _write_lab(lab: Path, pages: Path) -> Iterator[Path]:
    runs = read_sets(lab)
    if not has_ladder(runs):
        return
    ladder_table.save_plots(runs, lab)
    yield from sorted(lab.glob("journey-*.png"))
    page = lab / "journey.md"
    page.write_text(ladder_table.journey_page(runs, launches_of(lab)), encoding="utf-8", newline="\n")
    yield page
    readme = pages / lab.name / "README.md"
    if lab.parent.name == PAGES_GPU and readme.is_file() and ladder_table.BEGIN in readme.read_text(encoding="utf-8"):
        put_between(readme, ladder_table.markdown(runs), ladder_table.BEGIN, ladder_table.END)
        yield readme


def write(root: Path, pages: Path) -> Iterator[Path]:
    """Writes the ladders, tables and plots of all sets; yields each file that was written."""
    for lab in lab_folders(root):
        yield from _write_lab(lab, pages)
    runs = {name: read_run(folder) for name, folder in sets_below(root).items()}
    put_between(root / "README.md", courses.markdown(runs), courses.BEGIN, courses.END)
    yield root / "README.md"


def main(arguments: list[str] | None = None) -> int:
    """The command line; 1 with one line of explanation when something cannot be read."""
    parser = argparse.ArgumentParser(prog="warpgrade_reports.published", description="What is made of published sets.")
    parser.add_argument("root", nargs="?", type=Path, default=Path("reports/published"), metavar="ROOT")
    parser.add_argument("--pages", type=Path, default=Path("reference"), metavar="FOLDER", help="with the labs' pages")
    options = parser.parse_args(arguments)
    try:
        for file in write(options.root, options.pages):
            print(file)
    except (ReportInputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
