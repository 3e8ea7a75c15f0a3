"""The magics `%%cuda_lab LAB` and `%%triton_lab LAB`: write the cell into the lab's file, judge it, show the result."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from IPython.display import display

from warpgrade import judging, labs
from warpgrade.labs import LabError
from warpgrade.shown import Shown

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

NO_BOX = (
    "Here no box is possible ({}). Your program runs as you do, and can read and change your files. "
    "That is for your own code alone: others' programs are refused here."
)


class Parser(argparse.ArgumentParser):
    """Of a magic's line: a mistake is told, and the kernel goes on."""

    def error(self, message: str) -> NoReturn:
        """Raises instead of ending the process."""
        raise LabError(f"{message}; {self.format_usage().strip()}")


def parse(magic: str, line: str) -> argparse.Namespace:
    """The words behind the magic's name."""
    parser = Parser(prog=f"%%{magic}", add_help=False)
    parser.add_argument("lab")
    parser.add_argument("--cases", default="public", help="ids, datasets or sets; * matches")
    parser.add_argument("--backend", default="auto", choices=("auto", "cuda", "emulator"))
    parser.add_argument("--remote", default="", metavar="HOST", help="the course's desk judges on its GPU")
    parser.add_argument("--folder", default="student", help="the folder of your work; default: student")
    return parser.parse_args(shlex.split(line))


class Labs:
    """The magics of one notebook."""

    def __init__(self) -> None:
        self.told_of_the_box = False

    def cuda_lab(self, line: str, cell: str) -> None:
        """`%%cuda_lab LAB [--cases ...] [--backend ...] [--remote HOST]`: judges this cell as LAB.cu."""
        self.show("cuda_lab", line, cell)

    def triton_lab(self, line: str, cell: str) -> None:
        """`%%triton_lab LAB [...]`: judges this cell as LAB.py, with kernels in Triton."""
        self.show("triton_lab", line, cell)

    def show(self, magic: str, line: str, cell: str) -> None:
        """Judges and displays; a mistake that the student can put right is one line."""
        try:
            display(self.judge(magic, line, cell))  # type: ignore[no-untyped-call]
        except LabError as error:
            print(f"%%{magic}: {error}")

    def judge(self, magic: str, line: str, text: str) -> Shown:
        """The judged cell."""
        options = parse(magic, line)
        home = labs.package()
        cell = labs.Cell(options.lab, labs.SUFFIXES[magic], text)
        folder = labs.write(cell, Path(options.folder), home / "student")
        words = ["--cases", options.cases, "--backend", options.backend]
        words += ["--desk", options.remote] if options.remote else []
        # A package gets Triton before it judges; once, about 1 GB.
        more = {"WARPGRADE_WITH_TRITON": "1"} if magic == "triton_lab" else {}
        judged = judging.judge(home, folder, words, **more)
        return Shown(cell, judged, home, self.note_of(home))

    def note_of(self, home: Path) -> str:
        """Said once: that there is no box."""
        if self.told_of_the_box:
            return ""
        self.told_of_the_box = True
        why = judging.no_box_because(home)
        return NO_BOX.format(why) if why else ""


def register(shell: InteractiveShell) -> None:
    """Makes the magics known."""
    magics = Labs()
    for magic in labs.SUFFIXES:
        shell.register_magic_function(getattr(magics, magic), "cell", magic)
