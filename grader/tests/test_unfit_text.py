"""Characters that act instead of being seen, from students: they cost nobody else anything, and stand nowhere.

Which they are is held against Unicode's own tables (`unicodedata`, and Bidi_Control of Unicode's annex 9, the
characters of "Trojan Source", CVE-2021-42574). The class repeats what was found: one U+2028 in one student's output
left everybody without feedback, since str.splitlines ends lines there and JSON does not.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
import unicodedata
from io import BytesIO
from pathlib import Path

import pytest
from conftest import ROOT, records_of, warpgrade
from generated_class import sealed

CASE = "synth-identity-k32"
NAIVE = ROOT / "reference/spmm/naive"
REPLACEMENT = "\ufffd"
BIDI_CONTROL = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
# What shows right only if it is left alone: scripts from right to left, joined emoji, marks, a flag of tag characters.
ORDINARY = (
    "שלום عربي نمی\u200cخواهم 世界 é 👩\u200d👩\u200d👧 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
)
TITLE = r"=HYPERLINK('http://x/','p')\u202e\uFFFE\uFFFF<img src=x onerror=alert(1)>|**b**`c`\u2028\u2066\n\t"


def is_unfit(letter: str) -> bool:
    """By Unicode's tables: controls, separators of lines and paragraphs, Bidi_Control, noncharacters."""
    code = ord(letter)
    nonchar = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    return nonchar or letter in BIDI_CONTROL or unicodedata.category(letter) in {"Cc", "Zl", "Zp"}


def unfit_in(text: str) -> str:
    """What of a text must not be there."""
    return "".join(sorted({letter for letter in text if letter not in "\n\t" and is_unfit(letter)}))


def failing(words: str) -> str:
    """The naive solution that prints and then gives an error back."""
    source = (NAIVE / "spmm.cu").read_text(encoding="utf-8")
    said = f'#include <cstdio>\nstatic void say() {{ std::puts("{words}"); std::fflush(stdout); }}\n'
    return said + source.replace("return cudaGetLastError();", "return say(), cudaErrorUnknown;")


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A class of four, judged: its run, and what the terminal showed."""
    scratch = tmp_path_factory.mktemp("unfit")
    for name in ("alice", "bo", "carol", "nora"):
        shutil.copytree(NAIVE, scratch / "class" / name)
    (scratch / "class/bo/spmm.cu").write_text(failing(ORDINARY), encoding="utf-8")
    (scratch / "class/carol/spmm.cu").write_text(failing("a\u2028b\u202ec\u2066\ufffe"), encoding="utf-8")
    (scratch / "class/nora/submission.yaml").write_text(f'title: "{TITLE}"\n', encoding="utf-8")
    run = scratch / "run"
    done = warpgrade("grade", scratch / "class", "--run", run, "--backend", "emulator", "--cases", CASE)
    assert done.returncode == 0, done.stdout + done.stderr
    return run, done.stdout + done.stderr


def export(run: Path, *more: str, wish: str = "") -> subprocess.CompletedProcess[str]:
    """All that is made for students, courseware and staff."""
    options = ("--unfinished", "leave-empty", "--no-pdf", *more)
    return warpgrade("export", run, *options, env={**os.environ, "WARPGRADE_INJECT": wish})


def texts_below(folder: Path) -> dict[str, str]:
    """Every text file, with what JSON escapes in it written out."""
    suffixes = {".json", ".jsonl", ".html", ".md", ".csv", ".txt", ".xml"}
    files = [file for file in folder.rglob("*") if file.suffix in suffixes]
    return {
        str(file): re.sub(r"\\u([0-9a-f]{4})", lambda m: chr(int(m[1], 16)), file.read_text(encoding="utf-8"))
        for file in files
    }


def test_one_students_line_separator_costs_nobody_the_feedback(judged: tuple[Path, str]) -> None:
    run, _ = judged
    done = export(run, "--format", "feedback")
    assert done.returncode == 0, done.stderr
    pages = {p.parent.name: p.read_text(encoding="utf-8") for p in (run / "export/feedback").glob("*/index.html")}
    assert set(pages) == {"alice", "bo", "carol", "nora"}
    assert "accepted" in pages["alice"] and "could not be made" not in "".join(pages.values())
    printed = {name: json.loads((run / f"export/feedback/{name}/feedback.json").read_text())["cases"][0].get("output")
               for name in pages}  # fmt: skip
    assert printed["carol"] == f"a{REPLACEMENT}b{REPLACEMENT}c{REPLACEMENT}{REPLACEMENT}\n"
    assert printed["bo"] == ORDINARY + "\n", "text of any script is left alone"
    assert printed["alice"] is None


def test_a_title_shows_nothing_that_acts(judged: tuple[Path, str]) -> None:
    """Terminal, records, report, pages, tables and courseware's files."""
    run, said = judged
    done, report = export(run), warpgrade("report", run)
    status = warpgrade("attention", run)
    assert (done.returncode, report.returncode, status.returncode) == (0, 0, 0), done.stderr + report.stderr
    shown = {"terminal": said + done.stdout + report.stdout + status.stdout, **texts_below(run)}
    assert {name: unfit_in(text) for name, text in shown.items() if unfit_in(text)} == {}
    (nora,) = [r for r in records_of(run) if r["submission"]["id"] == "nora"]
    assert nora["submission"]["title"].startswith(f"=HYPERLINK('http://x/','p'){REPLACEMENT * 3}<img")
    assert "\n" not in nora["submission"]["title"]
    for file in (run / "export").glob("*.csv"):  # a formula is text for a spreadsheet
        assert not re.search(r'(^|[,;"])=HYPERLINK', file.read_text(encoding="utf-8-sig")), file


def test_records_of_an_older_version_are_shown_clean_and_keep_their_checksums(
    judged: tuple[Path, str], tmp_path: Path
) -> None:
    """They hold what was let in then, and their checksum is of that."""
    run = tmp_path / "run"
    shutil.copytree(judged[0], run, ignore=shutil.ignore_patterns("export", "report"))
    file = run / f"cases/carol/{CASE}.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    record["outcome"]["details"]["output"] = "x\u2028y\u202ez"
    record["outcome"]["message"] += "\u2029\u2066"
    file.write_text(sealed(record), encoding="utf-8")
    description = json.loads((run / "run.json").read_text(encoding="utf-8"))
    for submission in description["submissions"]:
        submission["title"] += "\u202e"
    (run / "run.json").write_text(json.dumps(description, ensure_ascii=False), encoding="utf-8")
    report, done = warpgrade("report", run), export(run)
    assert (report.returncode, done.returncode) == (0, 0), report.stderr + done.stderr
    assert "\u2028" in (run / "records.jsonl").read_text(encoding="utf-8"), "as it was written"
    made = {**texts_below(run / "export"), **texts_below(run / "report")}
    assert {name: unfit_in(text) for name, text in made.items() if unfit_in(text)} == {}
    assert unfit_in(report.stdout + done.stdout) == ""
    view = json.loads((run / "export/feedback/carol/feedback.json").read_text(encoding="utf-8"))
    assert view["cases"][0]["output"] == "x\ufffdy\ufffdz"


@pytest.mark.parametrize("stage", ["view", "report", "page"])
def test_who_cannot_be_shown_costs_one_page(judged: tuple[Path, str], tmp_path: Path, stage: str) -> None:
    """The view of a student, the feedback, the page of the report: the others' are made, and the exit code is 2."""
    run = tmp_path / "run"
    shutil.copytree(judged[0], run, ignore=shutil.ignore_patterns("export", "report"))
    wish = f"stage:{stage},submission:carol,kind:exception"
    if stage == "page":
        done = warpgrade("report", run, env={**os.environ, "WARPGRADE_INJECT": wish})
        pages = {p.name: p.read_text(encoding="utf-8") for p in (run / "report/submissions").glob("*.html")}
    else:
        done = export(run, "--format", "feedback,canvas,gradescope", wish=wish)
        pages = {p.parent.name: p.read_text(encoding="utf-8") for p in (run / "export/feedback").glob("*/index.html")}
        assert len(list((run / "export/gradescope").glob("*.json"))) == 4, "grades do not depend on it"
    assert done.returncode == 2, done.stdout + done.stderr
    assert "carol" in done.stderr and f"injected at {stage}" in done.stderr, done.stderr
    broken = {name for name, page in pages.items() if "could not be made" in page}
    assert len(pages) == 4 and len(broken) == 1 and "carol" in next(iter(broken)), broken


def test_a_refused_archives_name_is_printed_clean(tmp_path: Path) -> None:
    (tmp_path / "hand-ins").mkdir()
    with tarfile.open(tmp_path / "hand-ins/s1.tar.gz", "w:gz") as archive:
        for name in ("spmm.cu", "../a\u202eb\u2066\u0085\x1b[2Jc"):
            member = tarfile.TarInfo(name)
            member.size = 1
            archive.addfile(member, BytesIO(b"x"))
    run = tmp_path / "run"
    done = warpgrade("batch", run, "--lab", "spmm", "--submissions", tmp_path / "hand-ins", "--cases", CASE,
                     "--backend", "emulator")  # fmt: skip
    assert f"../a{REPLACEMENT}b" in (run / "submissions.json").read_text(encoding="utf-8"), done.stdout + done.stderr
    shown = {"terminal": done.stdout + done.stderr, **texts_below(run)}
    assert {name: unfit_in(text) for name, text in shown.items() if unfit_in(text)} == {}


def test_a_roster_with_marks_of_direction_finds_its_students(tmp_path: Path) -> None:
    """Spreadsheets paste U+200E and U+202A to U+202C around names: the names are shown clean and match as before."""
    shutil.copytree(NAIVE, tmp_path / "hand-ins/s1")
    (tmp_path / "roster.csv").write_text("id,name\n\u200es1\u202c,\u202aAda\u202c Lovelace\n", encoding="utf-8")
    run = tmp_path / "run"
    done = warpgrade("batch", run, "--lab", "spmm", "--submissions", tmp_path / "hand-ins", "--roster",
                     tmp_path / "roster.csv", "--take-in")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    taken = json.loads((run / "submissions.json").read_text(encoding="utf-8"))
    assert [s.get("on_roster", True) for s in taken["students"]] == [True], taken["students"]
    assert unfit_in(json.dumps(taken, ensure_ascii=False) + done.stdout) == ""
