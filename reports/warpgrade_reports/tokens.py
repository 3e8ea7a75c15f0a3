"""A program in CUDA C++ or Python as tokens in which only what it does counts: what similar code is found by.

Names, numbers and texts are one letter each; comments, layout, braces, types, qualifiers, includes and imports are left
out. `for (a; b; c)` reads like `a; while (b)`, and `i++`, `++i` and `i += 1` are the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import PurePath
from typing import NamedTuple

METHOD = 1  # counts up with every change of tokens, hashes or winnowing: fingerprints of another one do not fit

_CUDA_FILES = frozenset({".cu", ".cuh", ".h", ".hpp", ".hxx", ".cpp", ".cxx", ".cc", ".c"})
SUFFIXES = _CUDA_FILES | {".py"}

_CUDA_TOKEN = re.compile(
    r"""(?P<word>[A-Za-z_]\w*)
      | (?P<skip>(?:\s+|//[^\n]*|/\*.*?(?:\*/|\Z)|\#[ \t]*(?:include|pragma)\b[^\n]*|\\\n|[{}])+)
      | (?P<number>\.?[0-9](?:[eEpP][+-]|[\w.'])*)
      | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<sign><<<|>>>|<<=|>>=|->|\+\+|--|&&|\|\||[-+*/%&|^<>=!]=|<<|>>|::|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_PYTHON_TOKEN = re.compile(
    r"""(?P<skip>(?:\#[^\n]*|^[ \t]*(?:import|from)[ \t][^\n]*|[^\S\n]+|\n|\\\n
          |[rRbBfFuU]{0,2}(?:\"{3}.*?(?:\"{3}|\Z)|'{3}.*?(?:'{3}|\Z)))+)
      | (?P<text>[rRbBfFuU]{0,2}(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
      | (?P<number>\.?[0-9](?:[eE][+-]|[\w.])*)
      | (?P<word>[^\W\d]\w*)
      | (?P<sign>\*\*=|//=|<<=|>>=|->|:=|[-+*/%&|^<>=!@]=|\*\*|//|<<|>>|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_CUDA_KEPT = frozenset(
    """if else for while do switch case break continue return goto struct class enum union template typename typedef
    using namespace sizeof new delete this operator true false nullptr __global__ __device__ __host__ __shared__
    __launch_bounds__ __syncthreads __syncwarp __ldg __shfl_sync __shfl_down_sync __shfl_up_sync __shfl_xor_sync
    __ballot_sync atomicAdd atomicMin atomicMax atomicCAS threadIdx blockIdx blockDim gridDim warpSize cudaMalloc
    cudaFree cudaMemcpy cudaMemcpyAsync cudaMemsetAsync fmaf define""".split()  # noqa: SIM905 - a page of literals
)
_TYPES = frozenset(
    """auto void bool char short int long signed unsigned float double size_t ptrdiff_t int8_t int16_t int32_t int64_t
    uint8_t uint16_t uint32_t uint64_t float2 float3 float4 int2 int3 int4 uint2 uint4 double2 double4""".split()  # noqa: SIM905
)
_QUALIFIERS = frozenset(
    """const constexpr static inline extern volatile register public private protected explicit noexcept
    __restrict__ __restrict __forceinline__ __noinline__""".split()  # noqa: SIM905
)
_PYTHON_KEPT = frozenset(
    """and as assert break class continue def del elif else except for if in is lambda not or pass raise return try
    while with yield True False None range len""".split()  # noqa: SIM905
)
# Of a module's functions (`tl.load`) the name behind the dot stays: the module's own may be any.
_PYTHON_CALLED = frozenset(
    """jit autotune heuristics Config program_id num_programs arange load store make_block_ptr advance dot sum max min
    argmax argmin exp exp2 log log2 sqrt rsqrt abs where zeros full maximum minimum cdiv constexpr static_range trans
    expand_dims broadcast_to reshape join split cumsum associative_scan reduce sort atomic_add atomic_max atomic_min
    atomic_cas debug_barrier to empty empty_like zeros_like shape stride numel float32 float16 bfloat16 int32
    int64""".split()  # noqa: SIM905
)
_SHOWN = {"number": "0", "text": "T"}
_STEPS = {"++": "+=", "--": "-="}
_OPERAND_ENDS = frozenset({"N", "]"})
_OPERAND_GOES_ON = frozenset({"[", ".", "->", "(", "::"})
_LONGEST_HEAD = 400  # tokens of a loop's head: text that is no program has no end of it


class _Language(NamedTuple):
    pattern: re.Pattern[str]  # of one token, or of what is none; its group says which
    words: Mapping[str, str]  # those that are no name
    called: frozenset[str] = frozenset()  # names that stay behind a dot


_CUDA = _Language(
    _CUDA_TOKEN,
    {**{word: word for word in _CUDA_KEPT}, **dict.fromkeys(_TYPES, "int"), **dict.fromkeys(_QUALIFIERS, "")},
)
_PYTHON = _Language(_PYTHON_TOKEN, {word: word for word in _PYTHON_KEPT}, _PYTHON_CALLED)


@cache
def _whole(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """The pattern without groups: its findall() gives texts."""
    return re.compile(re.sub(r"\(\?P<\w+>", "(?:", pattern.pattern), pattern.flags)


class Token(NamedTuple):
    """A token as it is compared, and its line, from 1."""

    text: str
    line: int


def tokens(source: str, file: str = ".cu") -> list[Token]:
    """The program's tokens; names become N, numbers 0, texts T. The file's name says the language.

    Any text has some: nothing is refused.
    """
    if PurePath(file).suffix == ".py":
        return _read(source, _PYTHON)
    return _with_steps(_with_plain_loops(_read(source, _CUDA)))


class _Known(dict[str, tuple[str | None, int]]):
    """What is shown of a text and how many lines it ends, looked up once for each: a program repeats its own."""

    def __init__(self, pattern: re.Pattern[str], words: Mapping[str, str]) -> None:
        self._pattern, self._words = pattern, words

    def __missing__(self, text: str) -> tuple[str | None, int]:
        match = self._pattern.match(text)
        kind = (match and match.lastgroup) or "skip"
        shown = self._words.get(text, "N") if kind == "word" else _SHOWN.get(kind, text)
        self[text] = found = (None if kind == "skip" else shown, text.count("\n"))
        return found


def _read(source: str, language: _Language) -> list[Token]:
    found: list[Token] = []
    line, before = 1, ""
    known = _Known(language.pattern, language.words)
    called = language.called
    add, token = found.append, tuple.__new__  # as Token(...) calls it, by a detour that took a tenth of a class's time
    for text in _whole(language.pattern).findall(source):
        shown, ends = known[text]
        if shown is not None:
            if before == "." and text in called:
                shown = text
            # A type of several words, `unsigned long long`, is one.
            if shown and not (shown == before == "int"):
                add(token(Token, ("N" if shown == "int" else shown, line)))
            before = shown
        line += ends
    return found


def _with_plain_loops(found: list[Token]) -> list[Token]:
    """`for (a; b; c)` as `a; while (b)`; a loop over a range stays."""
    result: list[Token] = []
    at = 0
    for place in [place for place, token in enumerate(found) if token.text == "for"]:
        ends = _parts_of_loop(found, place) if place >= at else None
        if ends is None:
            continue
        first, second, close = ends
        line = found[place].line
        result += [*found[at:place], *found[place + 2 : first + 1], Token("while", line), Token("(", line)]
        result += [*found[first + 1 : second], found[close]]
        at = close + 1
    return result + found[at:]


def _parts_of_loop(found: list[Token], at: int) -> tuple[int, int, int] | None:
    """Where the two semicolons and the closing parenthesis of the `for` at this place stand."""
    depth = 0
    stops: list[int] = []
    for place in range(at + 1, min(len(found), at + _LONGEST_HEAD)):
        text = found[place].text
        depth += (text == "(") - (text == ")")
        if depth == 0:
            return (stops[0], stops[1], place) if len(stops) == 2 else None  # noqa: PLR2004 - a loop's head has two
        if text == ";" and depth == 1:
            stops.append(place)
    return None


def _with_steps(found: list[Token]) -> list[Token]:
    """`i++` and `++i` as `i += 1`."""
    result: list[Token] = []
    at = 0
    for place in [place for place, token in enumerate(found) if token.text in _STEPS]:
        token = found[place]
        result += found[at:place]
        at = place + 1
        step = [Token(_STEPS[token.text], token.line), Token("0", token.line)]
        if result and result[-1].text in _OPERAND_ENDS:
            result += step
        elif _is_whole_name(found, at):
            result += [found[at], *step]
            at += 1
        else:
            result.append(token)
    return result + found[at:]


def _is_whole_name(found: list[Token], at: int) -> bool:
    texts = [token.text for token in found[at : at + 2]]
    return texts[:1] == ["N"] and texts[-1] not in _OPERAND_GOES_ON
