"""Pointers to programs that share code, by winnowing: for a person to look at, never a verdict.

Schleimer, Wilkerson, Aiken: Winnowing: local algorithms for document fingerprinting, SIGMOD 2003. A program becomes
tokens (`tokens.py`), so renaming, comments and layout change nothing. Every run of `GRAM` tokens is hashed; of every
`WINDOW` hashes in a row the least is kept (the rightmost of equals). Two programs that share `GRAM + WINDOW - 1` tokens
in a row share a fingerprint for certain; shorter than `GRAM` is never seen. What the hand-out and the staff's solutions
have, and what a good part of a class has, is left out.
"""

from __future__ import annotations

import math
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
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


class Places(Mapping[int, Place]):
    """A place a fingerprint, kept as numbers: a class has half a million, and they come from other processes.

    Where one is, is asked of few programs: those that a pair is shown of.
    """

    def __init__(self, files: Sequence[str] = (), kept: Mapping[int, tuple[int, int, int]] | None = None) -> None:
        self._files = files
        self._values = array("L", kept or ())
        self._numbers = array("L", chain.from_iterable((kept or {}).values()))

    @cached_property
    def _index(self) -> dict[int, int]:
        return {value: 3 * at for at, value in enumerate(self._values)}

    def __getitem__(self, value: int) -> Place:
        at = self._index[value]
        file, line, last = self._numbers[at : at + 3]
        return Place(self._files[file], line, last)

    def __iter__(self) -> Iterator[int]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def grams(found: list[Token], gram: int = GRAM) -> list[int]:
    """The hash of every run of `gram` tokens, in order."""
    codes = {text: zlib.crc32(text.encode()).to_bytes(4, "big") for text in {token.text for token in found}}
    words, size = b"".join([codes[token.text] for token in found]), 4 * gram
    return [zlib.crc32(words[i : i + size]) for i in range(0, 4 * len(found) - size + 1, 4)]


def winnowed(hashes: list[int], window: int = WINDOW) -> dict[int, int]:
    """The hashes that are kept, each with its index (the first, when it recurs)."""
    kept: dict[int, int] = {}
    place = last = -1
    least: float = math.inf  # hashes[place]
    first = min(window, len(hashes)) - 1
    for end, value in enumerate(hashes):
        if value <= least:
            place, least = end, value
        elif place <= end - window:
            latest = hashes[end : end - window : -1]
            least = min(latest)
            place = end - latest.index(least)
        if place != last and end >= first:
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
    paths: list[str] = []
    kept: dict[int, tuple[int, int, int]] = {}
    for path, found in sources_of(folder, files):
        for value, index in winnowed(grams(found)).items():
            last = found[min(index + GRAM, len(found)) - 1].line
            kept.setdefault(value, (len(paths), found[index].line, last))
        paths.append(path)
    return Print(name, Places(paths, kept), people, origin, folder)


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
            holders = Counter(chain.from_iterable(program.places for program in group))
            common.update(value for value, count in holders.items() if count > most)
        return self.given | common

    def pointers(self) -> list[Pointer]:
        """Pairs that share more than the class does, most first; at least one of a pair is of this class."""
        everybody = [*self.programs, *(program for group in self.earlier for program in group)]
        own = [set(program.places) - self.ignored for program in everybody]
        holders: dict[int, list[int]] = {}  # the programs that have it, later ones first
        found = []
        for a in reversed(range(len(everybody))):
            first = everybody[a]
            if a < len(self.programs):
                for b, shared in Counter(chain.from_iterable(holders.get(value, ()) for value in own[a])).items():
                    second = everybody[b]
                    if shared < max(MIN_SHARED, MIN_SHARE * min(len(own[a]), len(own[b]))):
                        continue
                    if first.people & second.people:
                        continue
                    places = _stretches(own[a] & own[b], first, second)
                    found.append(Pointer(first, second, shared, shared / len(own[a]), shared / len(own[b]), places))
            for value in own[a]:
                holders.setdefault(value, []).append(a)
        return sorted(found, key=lambda p: (-p.share, -p.shared, p.first, p.second))


def _stretches(values: Iterable[int], first: Print, second: Print) -> tuple[tuple[Place, Place], ...]:
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
