"""Winnowing: copies are found whatever they are renamed to; the hand-out and everybody's idioms are not.

Held against CUB, which NVIDIA wrote, disguised by the levels of Faidhi and Robinson (`disguise.py`).
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from disguise import LEVELS, disguised
from synthetic_class import HANDOUT, ROOT, kernel_source, renamed
from warpgrade_reports.similarity import GRAM, WINDOW, Comparison, Pointer, Print, all_grams, grams, print_of, winnowed
from warpgrade_reports.tokens import Token, tokens

WORDS = [f"name{i}" for i in range(8)]
TOOLKITS = ("/usr/local/cuda/include/cccl", "/usr/local/cuda/include")


def folder_of(tmp_path: Path, name: str, text: str, file: str = "spmm.cu") -> Path:
    folder = tmp_path / name
    folder.mkdir(exist_ok=True)
    (folder / file).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def draw() -> Callable[..., Any]:
    rng = random.Random(7)
    return lambda: kernel_source(rng, WORDS)


def winnowed_tokens(found: list[Token]) -> dict[int, int]:
    return winnowed(grams(found))


def programs(
    tmp_path: Path, sources: dict[str, str], people: frozenset[Any] | frozenset[str] = frozenset(), origin: str = ""
) -> list[Print]:
    return [print_of(name, folder_of(tmp_path, name, text), people, origin) for name, text in sources.items()]


def pairs(tmp_path: Path, sources: dict[str, str], **options: Any) -> list[Pointer]:
    return Comparison(programs(tmp_path, sources), **options).pointers()


def test_names_numbers_comments_and_layout_do_not_count() -> None:
    a = "int total = first + 3; // sum\n  for (;;) { total += 1; }"
    b = "int x=y+0x7f;\n/* other\nwords */ for(;;){\nx+=2.5f;}"
    assert [t.text for t in tokens(a)] == [t.text for t in tokens(b)]
    assert [t.text for t in tokens(a)] != [t.text for t in tokens(b.replace("+=", "-="))]


def test_tokens_know_their_lines() -> None:
    found = tokens('int a;\n/* two\nlines */ return b;\n"text\\"s" c')
    assert [(t.text, t.line) for t in found if t.text in {"return", "T"}] == [("return", 3), ("T", 4)]


@pytest.mark.parametrize(
    "one, other",
    [
        ("for (int i = 0; i < n; ++i) { s += a[i]; }", "size_t i = 0; while (i < n) s += a[i];"),
        ("i++; a[i]--;", "i += 1; a[i] -= 1;"),
        ("++i; y = -x;", "i += 1; y = -x;"),
        ("static const unsigned long long x = 1;", "int x = 1;"),
        ("#include <a>\n  #pragma unroll 4\nf(float* __restrict__ a);", "f(double *b);"),
        ("if (a) { b; } else { c; }", "if (a) b; else c;"),
    ],
)
def test_other_words_for_the_same_are_the_same(one: str, other: str) -> None:
    assert [t.text for t in tokens(one)] == [t.text for t in tokens(other)]


@pytest.mark.parametrize("text", ["for (auto x : xs) f(x);", "for (;;", "for", "++", "++a[i]", "++f(x)", "for (((("])
def test_what_is_no_such_loop_or_step_stays(text: str) -> None:
    assert [t.text for t in tokens(text)][:2] == [t.text for t in tokens(text.replace("auto ", "int "))][:2]
    assert len(tokens(text)) >= 1


def test_python_is_read_as_python() -> None:
    one = 'import triton\n@triton.jit\ndef f(x):\n    """Adds."""\n    y = tl.load(x + 1)  # c\n    return y // 2\n'
    other = "    from a import b\n@t.jit\ndef g(a):\n  z = L.load(a+7)\n  return z // 3"
    assert [t.text for t in tokens(one, "a.py")] == [t.text for t in tokens(other, "b.py")]
    assert [t.text for t in tokens(one, "a.py")] != [t.text for t in tokens(other.replace("load", "store"), "b.py")]
    assert [t.line for t in tokens(one, "a.py") if t.text == "return"] == [6]


@pytest.mark.parametrize("seed", range(5))
def test_a_shared_stretch_as_long_as_the_guarantee_shares_a_fingerprint(seed: int, draw: Callable[..., Any]) -> None:
    rng = random.Random(seed)
    mine, yours = tokens(draw()), tokens(draw())
    stretch = tokens(draw())[: GRAM + WINDOW - 1]
    at, to = rng.randrange(len(mine)), rng.randrange(len(yours))
    first = winnowed_tokens(mine[:at] + stretch + mine[at:])
    second = winnowed_tokens(yours[:to] + stretch + yours[to:])
    assert set(first) & set(second), f"seed {seed}"


def test_winnowing_keeps_what_the_papers_example_keeps() -> None:
    """Schleimer, Wilkerson, Aiken 2003, figure 2: windows of four hashes."""
    hashes = [77, 74, 42, 17, 98, 50, 17, 98, 8, 88, 67, 39, 77, 74, 42, 17, 98]
    assert winnowed(hashes, 4) == {17: 3, 8: 8, 39: 11}


@pytest.mark.parametrize("seed", range(20))
def test_of_each_window_the_least_hash_is_kept_and_the_rightmost_of_equals(seed: int) -> None:
    rng = random.Random(seed)
    hashes = [rng.randrange(12) for _ in range(rng.randrange(60))]
    windows = [range(start, min(start + WINDOW, len(hashes))) for start in range(max(1, len(hashes) - WINDOW + 1))]
    places = [min(window, key=lambda i: (hashes[i], -i)) for window in windows if hashes]
    first: dict[int, int] = {}
    for place in places:
        first.setdefault(hashes[place], place)
    assert winnowed(hashes) == first


def test_a_renamed_copy_among_thirty_is_the_one_pair(tmp_path: Path, draw: Callable[..., Any]) -> None:
    sources = {f"s{i}": HANDOUT + draw() for i in range(30)}
    sources["s17"] = renamed(sources["s3"], WORDS, random.Random(1))
    (only,) = pairs(tmp_path, sources)
    assert {only.first, only.second} == {"s3", "s17"}
    assert only.share == 1.0
    assert str(only.places[0][0]).startswith("spmm.cu:")


def test_the_handouts_code_is_no_pointer(tmp_path: Path, draw: Callable[..., Any]) -> None:
    shared = draw()
    sources = {"a": shared + draw(), "b": shared + draw()}
    assert pairs(tmp_path, sources)
    assert not pairs(tmp_path, sources, given=all_grams([folder_of(tmp_path, "given", shared)]))


def test_what_much_of_the_class_has_is_no_pointer(tmp_path: Path, draw: Callable[..., Any]) -> None:
    idiom = draw()
    assert not pairs(tmp_path, {f"s{i}": idiom + draw() for i in range(12)})


def test_attempts_of_one_student_are_not_compared(tmp_path: Path, draw: Callable[..., Any]) -> None:
    sources = dict.fromkeys(["a-1", "a-2"], draw())
    assert not Comparison(programs(tmp_path, sources, frozenset({"a"}))).pointers()
    assert Comparison(programs(tmp_path, sources)).pointers()


@pytest.mark.parametrize("text", ["", "int", '"unterminated', "/* unterminated", "\x00\xff�", "'''"])
def test_any_text_has_fingerprints_or_none(tmp_path: Path, text: str) -> None:
    assert print_of("x", folder_of(tmp_path, "x", text)).places == {}


def test_links_and_other_files_are_not_read(tmp_path: Path, draw: Callable[..., Any]) -> None:
    folder = folder_of(tmp_path, "x", draw(), file="notes.txt")
    (folder / "link.cu").symlink_to(folder / "notes.txt")
    (folder / "below").symlink_to(folder)
    os.mkfifo(folder / "pipe.cu")
    with (folder / "large.cu").open("wb") as sparse:
        sparse.truncate(1 << 40)
    assert print_of("x", folder).places == {}


CUB = next((place for place in map(Path, TOOLKITS) if (place / "cub/agent").is_dir()), None)


@pytest.fixture(scope="module")
def cub() -> dict[Path, Print]:
    """NVIDIA's CUB, of the toolkit: kernels and device functions that nobody of this project wrote."""
    if CUB is None:
        pytest.skip("no CUB here: scripts/bootstrap installs the CUDA toolkit")
    files = [file for file in sorted((CUB / "cub").rglob("*.cuh")) if "_CCCL_DEVICE" in file.read_text()]
    found = {file: print_of(str(file.relative_to(CUB)), file.parent, files=[file]) for file in files}
    return {file: program for file, program in found.items() if len(program.places) >= 40}


@pytest.mark.parametrize("level", LEVELS)
def test_cubs_programs_are_found_at_each_of_faidhi_and_robinsons_levels(
    level: int, cub: dict[Path, Print], tmp_path: Path
) -> None:
    copies = []
    for number, (file, program) in enumerate(cub.items()):
        copy = tmp_path / f"{number}.cu"
        copy.write_text(disguised(file.read_text(), level, number), encoding="utf-8")
        copies.append(print_of(program.name, tmp_path, origin="2025", files=[copy]))
    found = Comparison(list(cub.values()), earlier=[copies]).pointers()
    missed = {program.name for program in cub.values()} - {p.first for p in found if p.second == p.first}
    assert missed == set() and len(cub) > 50
    assert min(p.share for p in found if p.second == p.first) > 0.4


def test_cubs_programs_share_little_with_those_of_another_author(cub: dict[Path, Print]) -> None:
    """All of the staff's programs beside all of CUB: 30 and more by 50 and more, each pair written apart."""
    staff = [print_of(f.parent.name, f.parent, files=[f]) for f in sorted((ROOT / "reference").rglob("*.cu"))]
    comparison = Comparison(list(cub.values()), earlier=[staff])
    assert len(staff) >= 30
    assert [(p.first, p.second) for p in comparison.pointers() if p.other in staff] == []
