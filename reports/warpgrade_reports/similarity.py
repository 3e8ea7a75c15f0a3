"""Pointers to submissions that share code, by winnowing: for a person to look at, never a verdict.

Schleimer, Wilkerson, Aiken: Winnowing: local algorithms for document fingerprinting, SIGMOD 2003. A program becomes
tokens in which names and numbers are one letter each, so renaming, comments and layout change nothing. Every run of
`GRAM` tokens is hashed; of every `WINDOW` hashes in a row the least is kept (the rightmost of equals). Two programs
that share `GRAM + WINDOW - 1` tokens in a row share a fingerprint for certain; shorter than `GRAM` is never seen. What
the hand-out has, and what a good part of the class has, is left out.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from warpgrade_reports.untrusted import files_below, read_plain

GRAM = 15
WINDOW = 10
MIN_SHARED = 8  # fingerprints; below that it is an idiom
MIN_SHARE = 0.3  # of the smaller program
COMMON_SHARE = 0.2  # of the class: code that so many have is everybody's
COMMON_LEAST = 4
_SUFFIXES = frozenset({".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc", ".c"})
_MAX_BYTES = 1 << 20
_NEAR_LINES = 12  # of one stretch

_TOKEN = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?(?:\*/|\Z)|\s+|\\\n)
      | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<number>\.?[0-9](?:[eEpP][+-]|[\w.'])*)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<sign><<<|>>>|<<=|>>=|->|\+\+|--|&&|\|\||[-+*/%&|^<>=!]=|<<|>>|::|.)""",
    re.VERBOSE | re.DOTALL,
)
_KEPT = frozenset(
    """if else for while do switch case break continue return goto struct class enum union template typename typedef
    using namespace const constexpr static inline extern auto void bool char short int long unsigned float double sizeof
    new delete this operator public private protected true false nullptr __global__ __device__ __host__ __shared__
    __restrict__ __launch_bounds__ __syncthreads __syncwarp __ldg __shfl_sync __shfl_down_sync __shfl_up_sync
    __shfl_xor_sync __ballot_sync atomicAdd atomicMin atomicMax atomicCAS threadIdx blockIdx blockDim gridDim warpSize
    float2 float4 int2 int4 double2 double4 cudaMalloc cudaFree cudaMemcpy cudaMemcpyAsync cudaMemsetAsync fmaf
    pragma unroll include define""".split()  # noqa: SIM905 - a list of literals would be a page long
)


class Token(NamedTuple):
    """A token as it is compared, and its line."""

    text: str
    line: int


def tokens(source: str) -> list[Token]:
    """The program without comments and layout; names become N, numbers 0, texts T."""
    found, line = [], 1
    for match in _TOKEN.finditer(source):
        kind, text = match.lastgroup, match[0]
        if kind == "word":
            found.append(Token(text if text in _KEPT else "N", line))
        elif kind == "number":
            found.append(Token("0", line))
        elif kind == "text":
            found.append(Token("T", line))
        elif kind == "sign":
            found.append(Token(text, line))
        line += text.count("\n")
    return found


def fingerprints(found: list[Token], gram: int = GRAM, window: int = WINDOW) -> dict[int, int]:
    """Winnowed hashes, each with the index of the token where its gram starts (the first, when it recurs)."""
    words = [token.text for token in found]
    hashes = [zlib.crc32(" ".join(words[i : i + gram]).encode()) for i in range(len(words) - gram + 1)]
    kept: dict[int, int] = {}
    last = -1
    for start in range(max(1, len(hashes) - window + 1)) if hashes else ():
        here = hashes[start : start + window]
        least = min(here)
        place = start + len(here) - 1 - here[::-1].index(least)
        if place != last:
            kept.setdefault(least, place)
            last = place
    return kept


@dataclass(frozen=True)
class Print:
    """A submission's fingerprints, each with file and line."""

    name: str
    places: Mapping[int, tuple[str, int]]


def print_of(name: str, folder: Path) -> Print:
    """The fingerprints of all sources in a folder; what is no source, a link or huge is left out."""
    places: dict[int, tuple[str, int]] = {}
    for file in sorted(files_below(folder)):
        content = read_plain(file, _MAX_BYTES) if file.suffix in _SUFFIXES else None
        if content is None:
            continue
        found, path = tokens(content.decode("utf-8", errors="replace")), str(file.relative_to(folder))
        for value, index in fingerprints(found).items():
            places.setdefault(value, (path, found[index].line))
    return Print(name, places)


@dataclass(frozen=True)
class Pointer:
    """Two submissions that share code."""

    first: str
    second: str
    shared: int
    first_share: float  # of the first one's own fingerprints
    second_share: float
    places: tuple[tuple[str, str], ...]  # where to look: the first's lines, the second's lines

    @property
    def share(self) -> float:
        """Of the smaller program."""
        return max(self.first_share, self.second_share)


def pointers(
    prints: Iterable[Print], handout: Iterable[Print] = (), together: Iterable[frozenset[str]] = ()
) -> list[Pointer]:
    """Pairs that share more than the class does, most first; `together` are names of one student or team."""
    given = {value for one in handout for value in one.places}
    prints = list(prints)
    holders: dict[int, list[int]] = defaultdict(list)
    for index, one in enumerate(prints):
        for value in one.places:
            if value not in given:
                holders[value].append(index)
    most = max(COMMON_LEAST, COMMON_SHARE * len(prints))
    shared: dict[tuple[int, int], list[int]] = defaultdict(list)
    own = [0] * len(prints)
    for value, indices in holders.items():
        if len(indices) > most:
            continue
        for i, index in enumerate(indices):
            own[index] += 1
            for other in indices[i + 1 :]:
                shared[index, other].append(value)
    same = {pair for group in together for pair in ((a, b) for a in group for b in group)}
    found = []
    for (a, b), values in shared.items():
        if len(values) < MIN_SHARED or len(values) < MIN_SHARE * min(own[a], own[b]):
            continue
        first, second = prints[a], prints[b]
        if (first.name, second.name) in same:
            continue
        places = _stretches(values, first, second)
        found.append(Pointer(first.name, second.name, len(values), len(values) / own[a], len(values) / own[b], places))
    return sorted(found, key=lambda p: (-p.share, -p.shared, p.first, p.second))


def _stretches(values: list[int], first: Print, second: Print) -> tuple[tuple[str, str], ...]:
    """The shared places as stretches of lines, the longest three: neighbours that are near in both programs."""
    places = sorted((first.places[value], second.places[value]) for value in values)
    groups: list[list[tuple[tuple[str, int], tuple[str, int]]]] = []
    for place in places:
        last = groups[-1][-1] if groups else None
        near = last and all(
            one[0] == other[0] and abs(one[1] - other[1]) <= _NEAR_LINES for one, other in zip(last, place, strict=True)
        )
        if near:
            groups[-1].append(place)
        else:
            groups.append([place])
    groups.sort(key=len, reverse=True)
    return tuple((_span([a for a, _ in group]), _span([b for _, b in group])) for group in groups[:3])


def _span(places: list[tuple[str, int]]) -> str:
    lines = [line for _, line in places]
    return f"{places[0][0]}:{min(lines)}–{max(lines)}"
