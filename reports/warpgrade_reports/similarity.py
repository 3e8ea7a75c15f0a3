"""Pointers to programs that share code, by winnowing: for a person to look at, never a verdict.

Schleimer, Wilkerson, Aiken: Winnowing: local algorithms for document fingerprinting, SIGMOD 2003. A program becomes
tokens (`tokens.py`), so renaming, comments and layout change nothing. Every run of `GRAM` tokens is hashed; of every
`WINDOW` hashes in a row the least is kept (the rightmost of equals). Two programs that share `GRAM + WINDOW - 1` tokens
in a row share a fingerprint for certain; shorter than `GRAM` is never seen. What the hand-out and the staff's solutions
have, and what a good part of a class has, is left out.
"""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from warpgrade_reports.text import plain_line
from warpgrade_reports.tokens import SUFFIXES, Token, tokens
from warpgrade_reports.untrusted import files_below, read_plain

GRAM = 15
WINDOW = 10
MIN_SHARED = 8  # fingerprints; below that it is an idiom
MIN_SHARE = 0.3  # of the smaller program
COMMON_SHARE = 0.2  # of a class: code that so many have is everybody's
COMMON_LEAST = 4
MAX_BYTES = 1 << 20
_NEAR_LINES = 12  # of one stretch


class Place(NamedTuple):
    """Lines of a file, from 1, the last one included."""

    file: str
    line: int
    last: int

    def __str__(self) -> str:
        """As people and pages read it."""
        return f"{plain_line(self.file)}:{self.line}–{self.last}"


def grams(found: list[Token], gram: int = GRAM) -> list[int]:
    """The hash of every run of `gram` tokens, in order."""
    codes = {text: zlib.crc32(text.encode()).to_bytes(4, "big") for text in {token.text for token in found}}
    words = b"".join(codes[token.text] for token in found)
    return [zlib.crc32(words[4 * i : 4 * (i + gram)]) for i in range(len(found) - gram + 1)]


def winnowed(hashes: list[int], window: int = WINDOW) -> dict[int, int]:
    """The hashes that are kept, each with its index (the first, when it recurs)."""
    kept: dict[int, int] = {}
    place = last = -1
    for end, value in enumerate(hashes):
        if place < 0 or value <= hashes[place]:
            place = end
        elif place <= end - window:
            latest = hashes[end : end - window : -1]
            place = end - latest.index(min(latest))
        if end >= min(window, len(hashes)) - 1 and place != last:
            kept.setdefault(hashes[place], place)
            last = place
    return kept


@dataclass(frozen=True)
class Print:
    """A program's fingerprints with their places."""

    name: str
    places: Mapping[int, Place]
    people: frozenset[str] = frozenset()  # whose it is: programs of one person are not compared
    origin: str = ""  # the earlier year or given folder that it is from; none: this class
    sources: Path | None = None  # the folder that the places' files are in; none: they were not kept


def sources_of(folder: Path, files: Iterable[Path] | None = None) -> Iterable[tuple[str, list[Token]]]:
    """Each source below the folder by its name there, as tokens; what is no source, a link or huge is left out."""
    for file in sorted(files_below(folder) if files is None else files):
        content = read_plain(file, MAX_BYTES) if file.suffix in SUFFIXES else None
        if content is not None:
            path = str(file.relative_to(folder))
            yield path, tokens(content.decode("utf-8", errors="replace"), path)


def print_of(
    name: str, folder: Path, people: frozenset[str] = frozenset(), origin: str = "", files: Sequence[Path] | None = None
) -> Print:
    """The fingerprints of all sources in a folder, or of these files of it."""
    places: dict[int, Place] = {}
    for path, found in sources_of(folder, files):
        for value, index in winnowed(grams(found)).items():
            last = found[min(index + GRAM, len(found)) - 1].line
            places.setdefault(value, Place(path, found[index].line, last))
    return Print(name, places, people, origin, folder)


def all_grams(folders: Iterable[Path]) -> frozenset[int]:
    """Of code that is given to all: every hash, so that no part of it is anybody's own."""
    return frozenset(value for folder in folders for _, found in sources_of(folder) for value in grams(found))


@dataclass(frozen=True)
class Pointer:
    """Two programs that share code; the first is of this class."""

    one: Print
    other: Print
    shared: int
    first_share: float  # of the first one's own fingerprints
    second_share: float
    places: tuple[tuple[Place, Place], ...]  # where to look: the first's lines, the second's lines; longest first

    @property
    def first(self) -> str:
        """The first one's name."""
        return self.one.name

    @property
    def second(self) -> str:
        """The second one's name."""
        return self.other.name

    @property
    def share(self) -> float:
        """Of the smaller program; of a whole public project the smaller one is the student's."""
        return max(self.first_share, self.second_share)


@dataclass(frozen=True)
class Comparison:
    """Programs of a class, what they are compared with, and what is nobody's own."""

    programs: Sequence[Print]
    given: frozenset[int] = frozenset()
    earlier: Sequence[Sequence[Print]] = ()  # a year or a folder each

    @cached_property
    def ignored(self) -> frozenset[int]:
        """What the hand-out has, and what much of the class or of one of the others has."""
        common: set[int] = set()
        for group in (self.programs, *self.earlier):
            most = max(COMMON_LEAST, COMMON_SHARE * len(group))
            holders = Counter(value for program in group for value in program.places)
            common.update(value for value, count in holders.items() if count > most)
        return self.given | common

    def pointers(self) -> list[Pointer]:
        """Pairs that share more than the class does, most first; at least one of a pair is of this class."""
        everybody = [*self.programs, *(program for group in self.earlier for program in group)]
        holders: dict[int, list[int]] = defaultdict(list)
        own = [0] * len(everybody)
        for index, program in enumerate(everybody):
            for value in program.places:
                if value not in self.ignored:
                    holders[value].append(index)
                    own[index] += 1
        shared: dict[tuple[int, int], list[int]] = defaultdict(list)
        for value, indices in holders.items():
            for i, index in enumerate(indices):
                if index >= len(self.programs):
                    break
                for other in indices[i + 1 :]:
                    shared[index, other].append(value)
        found = []
        for (a, b), values in shared.items():
            if len(values) < MIN_SHARED or len(values) < MIN_SHARE * min(own[a], own[b]):
                continue
            first, second = everybody[a], everybody[b]
            if first.people & second.people:
                continue
            places = _stretches(values, first, second)
            found.append(Pointer(first, second, len(values), len(values) / own[a], len(values) / own[b], places))
        return sorted(found, key=lambda p: (-p.share, -p.shared, p.first, p.second))


def _stretches(values: list[int], first: Print, second: Print) -> tuple[tuple[Place, Place], ...]:
    """The shared places as stretches of lines, the longest first: neighbours that are near in both programs."""
    places = sorted((first.places[value], second.places[value]) for value in values)
    groups: list[list[tuple[Place, Place]]] = []
    for place in places:
        last = groups[-1][-1] if groups else None
        near = last and all(
            one.file == other.file and abs(one.line - other.line) <= _NEAR_LINES
            for one, other in zip(last, place, strict=True)
        )
        if near:
            groups[-1].append(place)
        else:
            groups.append([place])
    groups.sort(key=len, reverse=True)
    return tuple((_span([a for a, _ in group]), _span([b for _, b in group])) for group in groups)


def _span(places: list[Place]) -> Place:
    return Place(places[0].file, min(place.line for place in places), max(place.last for place in places))
