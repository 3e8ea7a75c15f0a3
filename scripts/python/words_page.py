#!/usr/bin/env python3
"""Writes the table of grader/cli/words/README.md from warpgrade.pot beside it: finding, what is looked at, words, id.

python3 scripts/python/words_page.py [--check]
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

WORDS = Path(__file__).resolve().parents[2] / "grader/cli/words"
BEGIN, END = "<!-- words: begin -->", "<!-- words: end -->"
PARTS = "part"  # what stands inside of sentences alone

# In the order of the page; an id begins with one of these.
KINDS = {
    "out_of_bounds": "an access outside of every allocation",
    "misaligned": "an address that its width does not divide",
    "null_pointer": "an access through a null pointer",
    "use_after_free": "an access to freed memory",
    "read_only_write": "a write to an input",
    "foreign_stack": "a local variable of another thread",
    "other_device": "memory of another device",
    "launch_timeout": "a kernel that does not end",
    "trap": "a kernel that stops itself",
    "assert": "a failed assertion",
    "stack_overflow": "a full stack",
    "bad_call": "a call of no function",
    "unsupported": "what needs a GPU",
    "invalid_launch": "a launch that is refused",
    "barrier_deadlock": "threads that wait for ever",
    "barrier_count": "a barrier's number of threads",
    "divergent_barrier": "a barrier that a part of the block reaches",
    "early_exit": "threads that return before a barrier",
    "partial_warp": "an operation of a whole warp",
    "wrong_mask": "a mask without its caller",
    "undefined_shuffle": "a shuffle from an absent lane",
    "unawaited_product": "a product of a warp group that nobody awaited",
    "aliased_shared": "two dynamic shared arrays",
    "race": "shared_race and global_race",
    "unordered": "commands that nothing orders",
    "uninitialized_read": "memory that nobody has written",
    "device_memory_leak": "memory that is never freed",
    "invalid_free": "a pointer that cannot be freed",
    "invalid_copy": "a copy that is refused",
    "host_copy_overrun": "a copy beyond its allocation",
    "note": "notes of calls that succeeded",
    "finding": "around any finding",
    "emulator": "the emulator's own lines",
    "reason": "verdicts and their reasons",
    "answer": "wrong answers and what they have in common",
    "sampling": "samples that are not random",
    "compile": "what does not compile",
    "test": "the lines of `make test`",
    "isolation": "a machine without boxes",
}


@dataclass
class Entry:
    """A sentence of a PO file."""

    context: str = ""
    id: str = ""
    text: str = ""
    looked_at: str = ""
    line: int = 0
    flags: set[str] = field(default_factory=set)


def read_po(file: Path) -> list[Entry]:
    """Its sentences, without the header."""
    entries: list[Entry] = []
    names = {"msgctxt": "context", "msgid": "id", "msgstr": "text"}
    for block in file.read_text(encoding="utf-8").split("\n\n"):
        entry, part = Entry(), ""
        for line in block.split("\n"):
            if line.startswith("#. looked at: "):
                entry.looked_at = line.removeprefix("#. looked at: ")
            elif line.startswith("#,"):
                entry.flags = {flag.strip() for flag in line[2:].split(",")}
            elif line and not line.startswith("#"):
                word, _, text = line.partition(" ") if not line.startswith('"') else ("", "", line)
                part = names.get(word, part)
                setattr(entry, part, getattr(entry, part) + ast.literal_eval(text))
        if entry.id:
            entries.append(entry)
    return entries


def cell(text: str) -> str:
    """Text in a table of Markdown, code as it is."""
    return "`` " + text.replace("{{", "{").replace("}}", "}").replace("|", "\\|") + " ``" if text else ""


def table(entries: list[Entry]) -> str:
    """The sections of the page."""
    by_kind = {
        kind: list(group)
        for kind, group in groupby(
            sorted(entries, key=lambda e: e.context.split("/")[0]), lambda e: e.context.split("/")[0]
        )
    }
    unknown = by_kind.keys() - KINDS.keys() - {PARTS}
    if unknown:
        raise SystemExit(f"words_page.py: KINDS says nothing of {', '.join(sorted(unknown))}")
    text = ""
    for kind, what in KINDS.items():
        text += f"\n### `{kind}`: {what}\n\n| id | what is looked at | sentence |\n| -- | -- | -- |\n"
        for entry in by_kind.get(kind, []):
            name = entry.context.split("/", 1)[1]
            text += f"| `{name}` | {entry.looked_at.replace('|', chr(92) + '|')} | {cell(entry.id)} |\n"
    return text


def main() -> int:
    """Writes the page, or says that it is not what it would be."""
    page = WORDS / "README.md"
    before = page.read_text(encoding="utf-8")
    head, _, rest = before.partition(BEGIN)
    tail = rest.partition(END)[2]
    after = f"{head}{BEGIN}\n{table(read_po(WORDS / 'warpgrade.pot'))}\n{END}{tail}"
    if "--check" in sys.argv[1:]:
        if after != before:
            print(f"{page} is not what scripts/python/words_page.py makes of warpgrade.pot: run it")
        return int(after != before)
    page.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
