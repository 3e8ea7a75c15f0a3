"""Rewrites a CUDA or Python program so that it looks like other work, by the levels of Faidhi and Robinson.

J. A. W. Faidhi, S. K. Robinson: An empirical approach for detecting program similarity and plagiarism within a
university programming environment, Computers & Education 11, 1987. Each level does what the ones below do, and more:
1 comments and layout, 2 names, 3 declarations (their order and types), 4 the order of functions, 5 statements (steps,
braces, statements that do nothing), 6 the control of loops. The text need not compile: it is only compared.
"""

from __future__ import annotations

import random
import re
from random import Random

from warpgrade_reports.tokens import _CUDA_KEPT, _PYTHON_CALLED, _PYTHON_KEPT, _QUALIFIERS, _TYPES

LEVELS = (1, 2, 3, 4, 5, 6)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
_DECLARATION = re.compile(r"^\s*(?:const |constexpr |static )*[A-Za-z_]\w*(?:<[^;<>]*>)? \w+(?: = [^;]*)?;\s*$")
_LOOP = re.compile(r"for \(([^;(){}]*);([^;{}]*);([^;{}()]*)\)\s*\{")


def disguised(source: str, level: int, seed: int) -> str:
    """The program as a copyist of this level hands it in."""
    rng = random.Random(seed)
    lines = [line.strip() for line in _COMMENT.sub("", source).split("\n") if line.strip()]
    if level >= 3:
        lines = _with_other_declarations(lines, rng)
    text = "\n".join(lines)
    if level >= 6:
        text = _with_while(text)
    if level >= 5:
        text = _with_other_statements(text, rng)
    if level >= 4:
        text = _in_other_order(text, rng)
    return _renamed(text, rng, "//") if level >= 2 else _laid_out(text, rng, "//")


def disguised_python(source: str, level: int, seed: int) -> str:
    """The same for Python, to level 4: its blocks begin at the margin."""
    rng = random.Random(seed)
    text = re.sub(r"#[^\n]*", "", re.sub(r'"{3}.*?"{3}', "", source, flags=re.DOTALL))
    if level >= 4:
        blocks = re.split(r"\n(?=@|def |class )(?<!\n@)", text)
        rng.shuffle(blocks)
        text = "\n".join(blocks)
    text = "\n".join(line for line in text.split("\n") if line.strip())
    return _renamed(text, rng, "#") if level >= 2 else text.replace("\n", "\n# mine\n")


def _renamed(text: str, rng: Random, comment: str) -> str:
    kept = _CUDA_KEPT | _TYPES | _QUALIFIERS if comment == "//" else _PYTHON_KEPT | _PYTHON_CALLED | {"import", "from"}
    names: dict[str, str] = {}

    def other(match: re.Match[str]) -> str:
        word = match[0]
        return word if word in kept else names.setdefault(word, f"v{rng.randrange(10**6)}")

    return _laid_out(_WORD.sub(other, text), rng, comment)


def _laid_out(text: str, rng: Random, comment: str) -> str:
    return "\n".join(
        line + (f"  {comment} my own work {rng.randrange(99)}" if rng.random() < 0.2 else "")
        for line in text.split("\n")
    )


def _with_other_declarations(lines: list[str], rng: Random) -> list[str]:
    """Neighbouring declarations change places, and types change."""
    lines = list(lines)
    for at in range(len(lines) - 1):
        if _DECLARATION.match(lines[at]) and _DECLARATION.match(lines[at + 1]) and rng.random() < 0.5:
            lines[at], lines[at + 1] = lines[at + 1], lines[at]
    types = {"int": "long long", "unsigned": "size_t", "float": "double", "const": "", "auto": "int", "size_t": "int"}
    return [_WORD.sub(lambda m: types.get(m[0], m[0]), line) for line in lines]


def _with_other_statements(text: str, rng: Random) -> str:
    text = re.sub(r"\+\+(\w+)(?=[;)])", r"\1 += 1", text)
    text = re.sub(r"(\w+)\+\+(?=[;)])", r"\1 += 1", text)
    text = re.sub(r"(if \([^(){};]*\))\s*\{([^{};]*;)\s*\}", r"\1 \2", text)
    lines = []
    for line in text.split("\n"):
        lines.append(line)
        if line.endswith(";") and rng.random() < 0.08:
            lines.append("int unused = 0;")
    return "\n".join(lines)


def _with_while(text: str) -> str:
    """`for (a; b; c) {` becomes `a; while (b) {`, and c the last statement of the body."""
    while match := _LOOP.search(text):
        end = _end_of_block(text, match.end())
        if end is None:
            return text
        head = f"{match[1]}; while ({match[2]}) {{"
        text = text[: match.start()] + head + text[match.end() : end] + f"{match[3]};\n}}" + text[end + 1 :]
    return text


def _end_of_block(text: str, start: int) -> int | None:
    depth = 1
    for at in range(start, len(text)):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return at
    return None


def _in_other_order(text: str, rng: Random) -> str:
    """Blocks that end at a line of one closing brace change places, as far as the layout shows them."""
    blocks = re.split(r"(?<=\n\}\n)|(?<=\n\};\n)", text)
    rng.shuffle(blocks)
    return "\n".join(blocks)
