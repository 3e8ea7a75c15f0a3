#!/usr/bin/env python3
"""Prints a page of the project as an unpacked package has it.

    scripts/python/package_page.py PAGE TREE

Commands in code are spelled as they are typed at the top of the package TREE (`./warpgrade`). A link to what TREE does
not have becomes its text.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path, PurePosixPath

# A comment is a mark that programs look for: it stays.
CODE = re.compile(r"<!--.*?-->|^```.*?^```|`[^`]+`", re.MULTILINE | re.DOTALL)
# The program as a checkout names it, or by its name alone; after -u and -o stands the desk's account.
OURS = re.compile(r"(?<![\w./-])(?<!-[uo] )(?:build/bin/)?warpgrade(?= [a-z<-]| *$)", re.MULTILINE)
LINK = re.compile(r"!?\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def as_typed_here(code: re.Match[str]) -> str:
    """A piece of code with the package's program."""
    if code[0].startswith("<!--"):
        return code[0]
    return OURS.sub("./warpgrade", code[0].replace("$PWD/build/bin", "$PWD"))


def page_of(page: Path, tree: Path) -> str:
    """The page's text."""

    def link(found: re.Match[str]) -> str:
        words, target, _ = found.groups()
        there = "://" in target or (tree / PurePosixPath(page).parent / target).exists()
        return found[0] if there else words

    return LINK.sub(link, CODE.sub(as_typed_here, page.read_text(encoding="utf-8")))


if __name__ == "__main__":
    sys.stdout.write(page_of(Path(sys.argv[1]), Path(sys.argv[2])))
