"""Text from outside: what is taken out of it is what Unicode's tables say, and JSON lines end at newlines alone."""

import json
import runpy
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from warpgrade_reports.text import is_plain_json, json_lines, lines_of, plain_json, plain_line, plain_text

ROOT = Path(__file__).resolve().parents[2]
BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}  # UAX #9, table 4, explicit formatting
MARKS = {"\u200e", "\u200f", "\u061c"}  # UAX #9, implicit directional marks


def unfit(letter: str) -> bool:
    code = ord(letter)
    return (
        unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"}
        or unicodedata.bidirectional(letter) in BIDI
        or letter in MARKS
        or code & 0xFFFE == 0xFFFE  # The Unicode Standard, section 23.7
        or 0xFDD0 <= code <= 0xFDEF
    )


def test_every_code_point_is_treated_as_unicodes_tables_say() -> None:
    for code in range(sys.maxunicode + 1):
        letter = chr(code)
        want = "\ufffd" if unfit(letter) and letter not in "\n\t" else letter
        assert plain_text(letter) == want, f"U+{code:04X}"


def test_the_program_for_laptops_treats_every_code_point_alike() -> None:
    program = runpy.run_path(str(ROOT / "student/warpgrade_remote.py"))
    every = {"all": [chr(code) for code in range(0x110000)], "two": ["x\r\ny\x1b", 1, None]}
    assert program["plain"](every) == plain_json(every)


def test_a_line_is_one_line() -> None:
    assert plain_line(" a\r\nb\u2028c\td ") == "a b\ufffdc d"


def test_what_a_json_line_holds_does_not_end_it() -> None:
    inside = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e"
    text = "".join(json.dumps({"n": n, "text": inside}, ensure_ascii=False) + "\n" for n in range(2)) + "\n"
    assert [(number, json.loads(line)["text"]) for number, line in json_lines(text)] == [(1, inside), (2, inside)]
    assert lines_of("a\u2028b\nc\n") == ["a\u2028b", "c"] and lines_of("") == []


def test_escapes_and_nested_texts_are_made_plain() -> None:
    line = r'{"a": ["x\u202ey", {"b": "\ud800"}], "n": 1}'
    assert not is_plain_json(line) and is_plain_json('{"a": "ü"}')
    assert plain_json(json.loads(line)) == {"a": ["x\ufffdy", {"b": "\ufffd"}], "n": 1}


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("product.py", "for line in text.splitlines():\n    pass\n", True),
        ("product.py", "cut = str.splitlines\n", True),
        ("product.py", '"""splitlines in words"""\n', False),
        ("page.html.j2", "{% for l in log.splitlines() %}\n", True),
        ("tests/test_x.py", "import json\nr = [json.loads(x) for x in f.read_text().splitlines()]\n", True),
        ("tests/test_x.py", "for x in t.splitlines():\n    y = json.loads(x)\n", True),
        ("tests/test_x.py", "last = out.splitlines()[-1]\n", False),
    ],
)
def test_the_lint_finds_readers_that_cut_json(tmp_path: Path, name: str, text: str, told: bool) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    done = subprocess.run([ROOT / "scripts/line-readers", file], capture_output=True, text=True, check=False)
    assert (done.returncode == 1) == told and (f"{name}:" in done.stderr) == told, done.stderr
