"""Where published sets lie, and what is made of them: ladders step by step, their plots, and tables on pages.

`python -m warpgrade_bench.published [ROOT]` writes all of it anew. ROOT is `reports/published`: a folder a GPU model,
in it an archive a lab (set_archives.py) with the lab's current set, sets of ladder steps below `steps/`, and the
emulator's `launches/`. `--unpack FOLDER` only unpacks them, `--pack FOLDER` packs what lies there in the same way.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from warpgrade_reports.ladder import climb_of
from warpgrade_reports.model import Run
from warpgrade_reports.reading import read_run
from warpgrade_reports.source import ReportInputError

from warpgrade_bench import courses, ladder_table
from warpgrade_bench.pages import put_between
from warpgrade_bench.set_archives import SUFFIX, pack, unpack, unpacked
from warpgrade_bench.sets import merged

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


def journeys(sets: Path, gpu: str) -> str:
    """The ladders of one GPU model step by step, a section a lab."""
    parts = [f"# {gpu.upper()}: the ladders step by step\n"]
    for lab in lab_folders(sets):
        if lab.parent.name == gpu and has_ladder(runs := read_sets(lab)):
            parts.append(f"## {lab.name}\n\n{ladder_table.journey(runs, launches_of(lab))}")
    return "\n".join(parts)


def plots_on(page: str, lab: Path) -> list[str]:
    """The groups of cases whose plot the lab's page shows."""
    return re.findall(rf"published/{lab.parent.name}/{lab.name}-([\w-]+)\.png\)", page)


def _save_plots(runs: dict[str, Run], groups: list[str], lab: Path, folder: Path) -> Iterator[Path]:
    """Those of these groups, in 256 colours."""
    with tempfile.TemporaryDirectory() as scratch:
        ladder_table.save_plots(runs, Path(scratch))
        for group in groups:
            picture = Path(scratch) / f"journey-{group}.png"
            if not picture.is_file():
                raise ReportInputError(lab.name, f'expected cases of a group "{group}", got none', "correct its page")
            few, stream = Image.open(picture).convert("RGB").quantize(256, dither=Image.Dither.NONE), io.BytesIO()
            few.save(stream, "PNG", optimize=True)
            file = folder / f"{lab.name}-{group}.png"
            file.write_bytes(stream.getvalue())
            yield file


def _write_lab(lab: Path, root: Path, readme: Path) -> Iterator[Path]:
    """The plots and the table of one lab that its page shows."""
    runs, text = read_sets(lab), readme.read_text(encoding="utf-8")
    if not has_ladder(runs):
        return
    yield from _save_plots(runs, plots_on(text, lab), lab, root / lab.parent.name)
    if ladder_table.BEGIN in text:
        put_between(readme, ladder_table.markdown(runs), ladder_table.BEGIN, ladder_table.END)
        yield readme


def write(root: Path, pages: Path) -> Iterator[Path]:
    """Writes the ladders, tables and plots of all sets; yields each file that was written."""
    with unpacked(root) as sets:
        for gpu in sorted({lab.parent.name for lab in lab_folders(sets)}):
            page = root / gpu / "journeys.md"
            page.write_text(journeys(sets, gpu), encoding="utf-8", newline="\n")
            yield page
        for lab in lab_folders(sets):
            readme = pages / lab.name / "README.md"
            if lab.parent.name == PAGES_GPU and readme.is_file():
                yield from _write_lab(lab, root, readme)
        runs = {name: read_run(folder) for name, folder in sets_below(sets).items()}
    put_between(root / "README.md", courses.markdown(runs), courses.BEGIN, courses.END)
    yield root / "README.md"


def _pack_all(folder: Path, root: Path) -> Iterator[Path]:
    for source in sorted(path for path in folder.glob("*/*") if path.is_dir()):
        file = root / source.parent.name / f"{source.name}{SUFFIX}"
        file.parent.mkdir(parents=True, exist_ok=True)
        if pack(source, file):
            yield file


def main(arguments: list[str] | None = None) -> int:
    """The command line; 1 with one line of explanation when something cannot be read."""
    parser = argparse.ArgumentParser(prog="warpgrade_bench.published", description="What is made of published sets.")
    parser.add_argument("root", nargs="?", type=Path, default=Path("reports/published"), metavar="ROOT")
    parser.add_argument("--pages", type=Path, default=Path("reference"), metavar="FOLDER", help="with the labs' pages")
    does = parser.add_mutually_exclusive_group()
    does.add_argument("--unpack", type=Path, metavar="FOLDER", help="unpack all sets there, and nothing else")
    does.add_argument("--pack", type=Path, metavar="FOLDER", help="pack FOLDER/<gpu>/<name>, and nothing else")
    options = parser.parse_args(arguments)
    try:
        if options.unpack is not None:
            unpack(options.root, options.unpack)
            return 0
        for file in _pack_all(options.pack, options.root) if options.pack else write(options.root, options.pages):
            print(file)
    except (ReportInputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
