"""Winnowing: copies are found whatever they are renamed to; the hand-out and everybody's idioms are not."""

import os
import random

import pytest
from synthetic_class import HANDOUT, kernel_source, renamed
from warpgrade_reports.similarity import GRAM, WINDOW, fingerprints, pointers, print_of, tokens

WORDS = [f"name{i}" for i in range(8)]


def folder_of(tmp_path, name, text, file="spmm.cu"):
    folder = tmp_path / name
    folder.mkdir(exist_ok=True)
    (folder / file).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def draw():
    rng = random.Random(7)
    return lambda: kernel_source(rng, WORDS)


def pairs(tmp_path, sources, **options):
    prints = [print_of(name, folder_of(tmp_path, name, text)) for name, text in sources.items()]
    return pointers(prints, **options)


def test_names_numbers_comments_and_layout_do_not_count():
    a = "int total = first + 3; // sum\n  for (;;) { total += 1; }"
    b = "int x=y+0x7f;\n/* other\nwords */ for(;;){\nx+=2.5f;}"
    assert [t.text for t in tokens(a)] == [t.text for t in tokens(b)]
    assert [t.text for t in tokens(a)] != [t.text for t in tokens(b.replace("+=", "-="))]


def test_tokens_know_their_lines():
    found = tokens('int a;\n/* two\nlines */ float b;\n"text\\"s" c')
    assert [(t.text, t.line) for t in found if t.text in {"float", "T"}] == [("float", 3), ("T", 4)]


@pytest.mark.parametrize("seed", range(5))
def test_a_shared_stretch_as_long_as_the_guarantee_shares_a_fingerprint(seed, draw):
    rng = random.Random(seed)
    mine, yours = tokens(draw()), tokens(draw())
    stretch = tokens(draw())[: GRAM + WINDOW - 1]
    at, to = rng.randrange(len(mine)), rng.randrange(len(yours))
    first = fingerprints(mine[:at] + stretch + mine[at:])
    second = fingerprints(yours[:to] + stretch + yours[to:])
    assert set(first) & set(second), f"seed {seed}"


def test_a_renamed_copy_among_thirty_is_the_one_pair(tmp_path, draw):
    sources = {f"s{i}": HANDOUT + draw() for i in range(30)}
    sources["s17"] = renamed(sources["s3"], WORDS, random.Random(1))
    (only,) = pairs(tmp_path, sources)
    assert {only.first, only.second} == {"s3", "s17"}
    assert only.share == 1.0
    assert only.places[0][0].startswith("spmm.cu:")


def test_the_handouts_code_is_no_pointer(tmp_path, draw):
    shared = draw()
    sources = {"a": shared + draw(), "b": shared + draw()}
    assert pairs(tmp_path, sources)
    handout = [print_of("handout", folder_of(tmp_path, "given", shared))]
    assert not pairs(tmp_path, sources, handout=handout)


def test_what_much_of_the_class_has_is_no_pointer(tmp_path, draw):
    idiom = draw()
    assert not pairs(tmp_path, {f"s{i}": idiom + draw() for i in range(12)})


def test_attempts_of_one_student_are_not_compared(tmp_path, draw):
    text = draw()
    assert not pairs(tmp_path, {"a-1": text, "a-2": text}, together=[frozenset({"a-1", "a-2"})])


@pytest.mark.parametrize("text", ["", "int", '"unterminated', "/* unterminated", "\x00\xff�", "'''"])
def test_any_text_has_fingerprints_or_none(tmp_path, text):
    assert print_of("x", folder_of(tmp_path, "x", text)).places == {}


def test_links_and_other_files_are_not_read(tmp_path, draw):
    folder = folder_of(tmp_path, "x", draw(), file="notes.txt")
    (folder / "link.cu").symlink_to(folder / "notes.txt")
    (folder / "below").symlink_to(folder)
    os.mkfifo(folder / "pipe.cu")
    with (folder / "large.cu").open("wb") as sparse:
        sparse.truncate(1 << 40)
    assert print_of("x", folder).places == {}
