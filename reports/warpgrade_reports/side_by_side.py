"""A page a pair of similar programs: both beside each other with the matching lines marked, for the staff alone.

Where only an earlier year's fingerprints were kept, its side names files and lines and shows no source.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from warpgrade_reports.feedback import environment
from warpgrade_reports.similarity import GRAM, MAX_BYTES, Comparison, Place, Pointer, Print, grams, sources_of
from warpgrade_reports.text import lines_of, plain_text
from warpgrade_reports.tokens import Token
from warpgrade_reports.untrusted import read_plain

MOST_STRETCHES = 60
_COLOURS = 6
_MOST_LISTED = 10  # before the rest is folded
_LEAST_TOKENS = 20  # of a stretch that is marked
_MOST_TIMES = 8  # a run of tokens that recurs more often in one program says nothing of the place
_NEAR_LINES = 2  # stretches that are so near in both programs are one


class Stretch(NamedTuple):
    """Lines that match, of the first and of the second program."""

    first: Place
    second: Place


class Line(NamedTuple):
    """A line of a source; `stretch` from 1, 0: it matches nothing. `begins`: the stretch's first line."""

    number: int
    text: str
    stretch: int
    begins: bool


@dataclass(frozen=True)
class _Source:
    path: str
    found: list[Token]
    hashes: list[int]

    def place(self, start: int, length: int) -> Place:
        return Place(self.path, self.found[start].line, self.found[start + length - 1].line)


class _Run(NamedTuple):
    length: int  # in hashes
    first: int  # index of the source, and of its hash
    at: int
    second: int
    to: int


def stretches_of(pointer: Pointer, comparison: Comparison) -> list[Stretch]:
    """The matching lines, longest first: exact where both programs' sources are there, else as fingerprints tell."""
    if pointer.one.sources is None or pointer.other.sources is None:
        return [Stretch(*places) for places in pointer.places][:MOST_STRETCHES]
    sides = [_sources(program) for program in (pointer.one, pointer.other)]
    found = _joined(
        [
            Stretch(
                sides[0][run.first].place(run.at, run.length + GRAM - 1),
                sides[1][run.second].place(run.to, run.length + GRAM - 1),
            )
            for run in _tiles(sides[0], sides[1], comparison.ignored)
        ]
    )
    return sorted(found, key=lambda s: (s.first.line - s.first.last, s))[:MOST_STRETCHES]


def _sources(program: Print) -> list[_Source]:
    files = sorted({place.file for place in program.places.values()})
    folder = program.sources or Path()
    return [_Source(path, found, grams(found)) for path, found in sources_of(folder, [folder / file for file in files])]


def _tiles(first: Sequence[_Source], second: Sequence[_Source], ignored: frozenset[int]) -> list[_Run]:
    """Runs of equal hashes, longest first; no token of either program is in two of them."""
    where: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, source in enumerate(second):
        for index, value in enumerate(source.hashes):
            if value not in ignored:
                where[value].append((number, index))
    runs = []
    for number, source in enumerate(first):
        for at, value in enumerate(source.hashes):
            places = where.get(value, ())
            for other, to in places if len(places) <= _MOST_TIMES else ():
                mine, theirs = source.hashes, second[other].hashes
                if at == 0 or to == 0 or not _common(mine[at - 1 : at], theirs[to - 1 : to], ignored):
                    runs.append(_Run(_common(mine[at:], theirs[to:], ignored), number, at, other, to))
    return _apart(runs)


def _common(mine: Sequence[int], theirs: Sequence[int], ignored: frozenset[int]) -> int:
    """How many hashes two programs have in common from here on."""
    pairs = zip(mine, theirs, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1] and pair[0] not in ignored, pairs))


def _apart(runs: Sequence[_Run]) -> list[_Run]:
    taken: tuple[set[tuple[int, int]], set[tuple[int, int]]] = (set(), set())
    kept = []
    for run in sorted(runs, key=lambda run: (-run.length, *run[1:])):
        tokens = run.length + GRAM - 1
        first = {(run.first, run.at + i) for i in range(tokens)}
        second = {(run.second, run.to + i) for i in range(tokens)}
        if tokens >= _LEAST_TOKENS and not (taken[0] & first or taken[1] & second):
            taken[0].update(first)
            taken[1].update(second)
            kept.append(run)
    return kept


def _joined(found: Sequence[Stretch]) -> list[Stretch]:
    """Neighbours that are near in both programs as one."""
    joined: list[Stretch] = []
    for stretch in sorted(found):
        last = joined[-1] if joined else None
        if last and all(
            one.file == two.file and one.line <= two.line and two.line - one.last <= _NEAR_LINES
            for one, two in zip(last, stretch, strict=True)
        ):
            joined[-1] = Stretch(
                *(Place(one.file, one.line, max(one.last, two.last)) for one, two in zip(last, stretch, strict=True))
            )
        else:
            joined.append(stretch)
    return joined


def _lines(program: Print, places: Sequence[Place]) -> Iterator[tuple[str, list[Line]]]:
    """Each file with a fingerprint, and its lines; a line of several stretches is the longest one's."""
    for file in sorted({place.file for place in program.places.values()}):
        content = read_plain((program.sources or Path()) / file, MAX_BYTES)
        if content is None:
            continue
        owner: dict[int, int] = {}
        for number, place in enumerate(places, 1):
            if place.file == file:
                for line in range(place.line, place.last + 1):
                    owner.setdefault(line, number)
        lines = []
        begun = {0}
        for number, text in enumerate(lines_of(plain_text(content.decode("utf-8", errors="replace"))), 1):
            stretch = owner.get(number, 0)
            lines.append(Line(number, text, stretch, stretch not in begun))
            begun.add(stretch)
        yield plain_text(file), lines


def render_pair(pointer: Pointer, comparison: Comparison, titles: Mapping[str, str], *, style: str, back: str) -> str:
    """The page of a pair; `titles` by name of this class's submissions, `back`: the link to the list."""
    stretches = stretches_of(pointer, comparison)
    sides = []
    for program, share, places in (
        (pointer.one, pointer.first_share, [s.first for s in stretches]),
        (pointer.other, pointer.second_share, [s.second for s in stretches]),
    ):
        title = program.name if program.origin else titles.get(program.name, program.name)
        files = list(_lines(program, places)) if program.sources else []
        sides.append({"program": program, "title": plain_text(title), "share": share, "places": places, "files": files})
    return (
        environment(html=True)
        .get_template("side_by_side.html.j2")
        .render(
            sides=sides,
            stretches=stretches,
            shared=pointer.shared,
            colours=_COLOURS,
            most_listed=_MOST_LISTED,
            back=back,
            style=Markup(style),  # noqa: S704 - our own file
        )
    )
