"""A lab's folder in the student's work: a cell becomes the file that is judged and handed in."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

SUFFIXES = {"cuda_lab": ".cu", "triton_lab": ".py"}
COMMENT = {".cu": "//", ".py": "#"}
WRITTEN_BY = "Written by a notebook's cell: "


class LabError(Exception):
    """What a student can put right: told in one line, without a trace."""


def package() -> Path:
    """The folder of a hand-out, a package or a checkout that this file came with; WARPGRADE_HOME names another."""
    places = [Path(os.environ["WARPGRADE_HOME"])] if os.environ.get("WARPGRADE_HOME") else []
    for module in ("warpgrade_handout", "warpgrade_package"):  # the wheels
        spec = find_spec(module)
        places += [Path(spec.origin).parent / "tree"] if spec and spec.origin else []
    places += Path(__file__).resolve().parents[4:5]  # scripts/bridges/notebook/warpgrade
    for place in places:
        if (place / "scripts/bridges/warpgrade_bridge.py").is_file():
            return place
    raise LabError(
        f"no hand-out is installed for this Python ({sys.executable}): "
        "pip install its wheel, or set WARPGRADE_HOME to the folder that it was unpacked into"
    )


@dataclass(frozen=True)
class Cell:
    """A cell and the file that it becomes. The magic's own line is the file's first, so lines have the same numbers."""

    lab: str
    suffix: str
    text: str

    @property
    def name(self) -> str:
        """The file that the judge reads."""
        return f"{self.lab}{self.suffix}"

    @property
    def source(self) -> str:
        """What is written: the cell, with a remark in the line of the magic."""
        return f"{COMMENT[self.suffix]} {WRITTEN_BY}line 2 here is line 2 there.\n{self.text}"


def is_a_cells(file: Path) -> bool:
    """Whether the file was written by a cell, and so still stands in the notebook."""
    with file.open(encoding="utf-8", errors="replace") as lines:
        return WRITTEN_BY in lines.readline()


def write(cell: Cell, student: Path, stubs: Path) -> Path:
    """Makes the cell the lab's only written file; its folder. What no cell wrote is not overwritten."""
    stub = stubs / cell.lab
    if not (stub / f"{cell.lab}.cu").is_file():
        labs = ", ".join(sorted(path.stem for path in stubs.glob("*/*.cu") if path.stem == path.parent.name))
        raise LabError(f"there is no lab '{cell.lab}'; there is {labs}")
    if not (stub / cell.name).is_file():
        raise LabError(f"lab {cell.lab} is not written in Python: use %%cuda_lab {cell.lab}")
    folder = student / cell.lab
    if not folder.exists():
        shutil.copytree(stub, folder)
    for suffix in COMMENT:
        file, of_stub = folder / f"{cell.lab}{suffix}", stub / f"{cell.lab}{suffix}"
        if not file.exists():
            continue
        untouched = of_stub.is_file() and file.read_bytes() == of_stub.read_bytes()
        if not untouched and not is_a_cells(file):
            raise LabError(f"{file} holds work that no cell wrote: move it away, and run the cell again")
        if suffix != cell.suffix and not untouched:  # the judge takes one of the two
            shutil.copy(of_stub, file)
    (folder / cell.name).write_text(cell.source, encoding="utf-8", newline="\n")
    return folder
