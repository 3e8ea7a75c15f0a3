#!/usr/bin/env python3
"""No line of JSON is cut where JSON does not end it: names the calls of str.splitlines that may do so (make lint).

str.splitlines ends lines at U+2028, U+2029, U+0085, U+000B, U+000C and U+001C to U+001E as well, and JSON allows the
first three inside its strings (RFC 8259, section 7): what one student printed once cost a whole class its feedback.
warpgrade_reports/text.py has `json_lines` and `lines_of` for programs. Nothing of the product calls splitlines at all.
A test may, but not to read JSON: a loop, a comprehension or an expression that also calls `json.loads`.

    scripts/line-readers [FILE ...]      without files: all of the tree
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BODIES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.With, ast.Try, ast.If)


def calls(node: ast.AST, name: str) -> Iterator[ast.Attribute]:
    """The uses of an attribute of this name below a node, as `text.splitlines`, also where it is handed on."""
    return (part for part in ast.walk(node) if isinstance(part, ast.Attribute) and part.attr == name)


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Statements that are looked at as one: what holds other statements is not, but a loop is."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt) and not isinstance(node, BODIES):
            yield node
        else:
            yield from statements(node)


def faults(file: Path, *, is_test: bool) -> Iterator[int]:
    """The lines of a program that cut text at more than newlines where they must not."""
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    if not is_test:
        yield from (use.lineno for use in calls(tree, "splitlines"))
        return
    for statement in statements(tree):
        if any(calls(statement, "loads")):
            yield from (use.lineno for use in calls(statement, "splitlines"))


def found_in(file: Path) -> Iterator[int]:
    """The same for any file: templates call methods as well."""
    if file.suffix == ".j2":
        lines = file.read_text(encoding="utf-8").split("\n")
        yield from (number for number, line in enumerate(lines, start=1) if "splitlines" in line)
    elif file.suffix == ".py":
        yield from faults(file, is_test="tests" in file.parts)


def tracked() -> list[Path]:
    """The files of the tree without students' writing."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def main(given: list[str]) -> int:
    """Exit 1: there is such a call."""
    told = 0
    for file in [Path(name).resolve() for name in given] or tracked():
        for line in found_in(file):
            told += 1
            place = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
            print(
                f"{place}:{line}: str.splitlines ends lines of JSON too early: use json_lines or lines_of of"
                " warpgrade_reports.text, or split at a newline",
                file=sys.stderr,
            )
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
