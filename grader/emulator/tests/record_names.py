#!/usr/bin/env python3
"""Records which functions libraries of NVIDIA's export: names/<soname>, for programs of machines that lack them.

    record_names.py LIBRARY...      (a file lib<name>.so.<major>, of a toolkit or unpacked from a wheel)

A name is written as one character, how many characters it shares with the name before it (a digit of base 62), and
the rest. C++ names are left out: programs call the C interfaces.
"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
NOT_OF_AN_API = {"Event", "Stream"}  # libnppc exports them
NAMES = Path(__file__).resolve().parents[1] / "libraries/left_out/names"


def shared_length(first: str, second: str) -> int:
    count = 0
    while count < min(len(first), len(second), len(DIGITS) - 1) and first[count] == second[count]:
        count += 1
    return count


def encode(names: list[str]) -> str:
    words = []
    before = ""
    for name in names:
        count = shared_length(before, name)
        words.append(DIGITS[count] + name[count:])
        before = name
    return textwrap.fill(" ".join(words), 110, break_long_words=False, break_on_hyphens=False) + "\n"


def decode(text: str) -> list[str]:
    names: list[str] = []
    for word in text.split():
        before = names[-1] if names else ""
        names.append(before[: DIGITS.index(word[0])] + word[1:])
    return names


def exported_functions(library: Path) -> list[str]:
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    found = re.findall(r" [TW] ((?:__nv)?[A-Za-z]\w+)", symbols)
    return sorted({name for name in found if not name.startswith("_Z") and name not in NOT_OF_AN_API})


def soname_of(library: Path) -> str:
    dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    found = re.search(r"soname: \[([^]]+)\]", dynamic)
    if found is None:
        sys.exit(f"{library}: it has no soname")
    return found[1]


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for argument in sys.argv[1:]:
        library = Path(argument)
        soname = soname_of(library)
        names = exported_functions(library)
        (NAMES / soname).write_text(encode(names), encoding="ascii")
        print(f"{soname}: {len(names)} functions")


if __name__ == "__main__":
    main()
