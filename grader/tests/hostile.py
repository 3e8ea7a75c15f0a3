"""Hostile submissions that a repository cannot hold: links, FIFOs, thousands of files, bytes that are no text."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HONEST = '#include "honest.cuh"\n\nANSWERS_HONESTLY\nPLANS_NOTHING\n'


@dataclass(frozen=True)
class LaidOut:
    """A submission that a function lays out, and what is to come of it (as in an expected.yaml)."""

    attack: str
    gain: str
    fill: Callable[[Path], None]
    expected: dict[str, Any] = field(default_factory=dict)
    source: str = HONEST

    def lay_out(self, target: Path) -> None:
        """Makes the folder, with an honest source unless it has one of its own."""
        target.mkdir(parents=True)
        (target / "spmm.cu").write_text(f"// Gain: {self.gain}\n{self.source}", encoding="utf-8")
        self.fill(target)


def link_yaml_to_zero(folder: Path) -> None:
    """A submission.yaml that never ends."""
    (folder / "submission.yaml").symlink_to("/dev/zero")


def link_source(folder: Path) -> None:
    """The source is a link to a file of the machine."""
    (folder / "spmm.cu").unlink()
    (folder / "spmm.cu").symlink_to("/etc/hostname")


def link_header(folder: Path) -> None:
    """A header of the hand-in is a link to a file of the machine, whose lines the compiler would quote."""
    (folder / "secret.h").symlink_to("/etc/passwd")
    source = folder / "spmm.cu"
    source.write_text('#include "secret.h"\n' + source.read_text(encoding="utf-8"), encoding="utf-8")


def link_folder(folder: Path) -> None:
    """A folder of the hand-in is a link to the root."""
    (folder / "all").symlink_to("/")


def many_files(folder: Path) -> None:
    """Two thousand headers."""
    (folder / "d").mkdir()
    for number in range(2000):
        (folder / f"d/f{number}.h").write_text(f"// {number}\n", encoding="utf-8")


def deep_folders(folder: Path) -> None:
    """A header below 60 folders."""
    deep = folder.joinpath(*["d"] * 60)
    deep.mkdir(parents=True)
    (deep / "x.h").write_text("// here\n", encoding="utf-8")


def bytes_in_an_error(folder: Path) -> None:
    """The compiler repeats bytes that are no text."""
    (folder / "spmm.cu").write_bytes(
        b"// Gain: a message that cannot be written down.\n#error \xff\xfe\x80 \xc3\x28 not text\n"
    )


def bytes_in_output(folder: Path) -> None:
    """An honest program that prints bytes which are no text."""
    source = folder / "spmm.cu"
    printed = '#include <cstdio>\nstatic const int kPrinted = puts("\\377\\303\\050 \\033[31m");\n'
    source.write_text(source.read_text(encoding="utf-8") + printed, encoding="utf-8")


def zero_bytes(folder: Path) -> None:
    """A source of NUL bytes."""
    (folder / "spmm.cu").write_bytes(b"// Gain: a reader that stops at NUL.\n" + bytes(1 << 16))


def long_line(folder: Path) -> None:
    """An error in a line of half a million characters, which the compiler repeats."""
    line = "int x = 1" + " + 1" * (1 << 17) + " error;\n"
    (folder / "spmm.cu").write_text("// Gain: a message of megabytes.\n" + line, encoding="utf-8")


def deep_yaml(folder: Path) -> None:
    """A list in a list, 20,000 times."""
    (folder / "submission.yaml").write_text("title: " + "[" * 20_000 + "]" * 20_000 + "\n", encoding="utf-8")


def yaml_of_aliases(folder: Path) -> None:
    """Ten lines that name each other and mean ten thousand million titles."""
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for before, name in zip("abcdefghi", "bcdefghij", strict=True):
        lines.append(f"{name}: &{name} [" + ", ".join([f"*{before}"] * 10) + "]")
    (folder / "submission.yaml").write_text("\n".join([*lines, "title: *j"]) + "\n", encoding="utf-8")


def large_yaml(folder: Path) -> None:
    """A title of a megabyte."""
    (folder / "submission.yaml").write_text("title: " + "x" * (1 << 20) + "\n", encoding="utf-8")


def fifo_yaml(folder: Path) -> None:
    """A submission.yaml that nobody writes to: whoever opens it waits."""
    os.mkfifo(folder / "submission.yaml")


def fifo_header(folder: Path) -> None:
    """A header that nobody writes to."""
    os.mkfifo(folder / "waits.h")
    source = folder / "spmm.cu"
    source.write_text('#include "waits.h"\n' + source.read_text(encoding="utf-8"), encoding="utf-8")


def fifo_among_sources(folder: Path) -> None:
    """A FIFO named as a second source."""
    os.mkfifo(folder / "more.cu")


# Symbols of 30,000 characters, sorted in front of the one that matters: together beyond 64 MiB.
SYMBOL_FLOOD = (
    """#include <dlfcn.h>

#include "honest.cuh"

asm(R"(
  .altmacro
  .macro flood number
    .globl aaa_\\number\\()"""
    + "a" * 30_000
    + """
    .set aaa_\\number\\()"""
    + "a" * 30_000
    + """, 1
  .endm
  .set at, 0
  .rept 2300
    flood %at
    .set at, at + 1
  .endr
  .noaltmacro
)");

void* found = dlopen("libcusparse.so", 1);

ANSWERS_HONESTLY
PLANS_NOTHING
"""
)

REFUSED = {"verdict": "compile_error", "cases": ["synth-ragged-k32"]}
HARMLESS = {"verdict": ["accepted", "compile_error"], "cases": ["synth-ragged-k32"]}


def nothing(_folder: Path) -> None:
    """The source is all of it."""


LAID_OUT = {
    "yaml_that_never_ends": LaidOut("denial", "a judge that reads without end.", link_yaml_to_zero, REFUSED),
    "source_is_a_link": LaidOut("reading", "a file of the machine, quoted by the compiler.", link_source, REFUSED),
    "header_is_a_link": LaidOut("reading", "a file of the machine, quoted by the compiler.", link_header, REFUSED),
    "folder_is_a_link": LaidOut("reading", "every file of the machine, copied as a source.", link_folder, HARMLESS),
    "two_thousand_files": LaidOut("denial", "a judge that copies and hashes for good.", many_files, REFUSED),
    "sixty_folders_deep": LaidOut("denial", "a path that is too long for whoever copies it.", deep_folders, HARMLESS),
    "output_that_is_no_text": LaidOut(
        "channel",
        "a record that cannot be written.",
        bytes_in_output,
        {"verdict": "accepted", "cases": ["synth-ragged-k32"]},
    ),
    "source_of_zero_bytes": LaidOut("denial", "a reader that stops at NUL.", zero_bytes, REFUSED),
    "error_in_a_long_line": LaidOut("denial", "a message of megabytes.", long_line, REFUSED),
    "yaml_20000_deep": LaidOut("denial", "a reader whose stack overflows.", deep_yaml, HARMLESS),
    "yaml_of_aliases": LaidOut("denial", "a reader that needs all memory.", yaml_of_aliases, HARMLESS),
    "yaml_of_a_megabyte": LaidOut(
        "denial",
        "a title that fills every table.",
        large_yaml,
        REFUSED,
    ),
    "symbol_flood": LaidOut(
        "channel",
        "a symbol check that reads so much and no more: dlopen comes behind 64 MiB of names.",
        nothing,
        {
            "verdict": "compile_error",
            "cases": ["synth-ragged-k32"],
        },
        SYMBOL_FLOOD,
    ),
}

# Each in a class of its own: where the judge does not withstand one of these, nobody in its class is judged.
ALONE = {
    "yaml_is_a_fifo": LaidOut("denial", "a judge that waits for a writer.", fifo_yaml, HARMLESS),
    "header_is_a_fifo": LaidOut("denial", "a compiler that waits for a writer.", fifo_header, REFUSED),
    "source_is_a_fifo": LaidOut("denial", "a judge that waits for a writer.", fifo_among_sources, HARMLESS),
    "error_that_is_no_text": LaidOut(
        "denial", "a result that cannot be written, which ends the class.", bytes_in_an_error, REFUSED
    ),
}
