"""Files as students have them are judged, and what was changed or left out is told; what is ambiguous is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from class_of_60 import CPU_ONLY
from conftest import ROOT, Words, records_of, warpgrade
from hand_in_folders import FOLDERS, notebook, write_folder

NAIVE = (ROOT / "reference/vector_add/naive/vector_add.cu").read_text(encoding="utf-8")
MAIN = '#include <cstdio>\nint main({}) {{ std::printf("mine"); return 0; }}\n'
# What lies in each student's folder, with words of the notes that he reads.
RIGHT: dict[str, tuple[dict[str, bytes], str]] = {
    "browser": ({"vector_add (1).cu": NAIVE.encode()}, "vector_add (1).cu is read as vector_add.cu."),
    "mailed": ({"vector_add.cu.txt": NAIVE.encode()}, "vector_add.cu.txt is read as"),
    "capitals": ({"VECTOR_ADD.CU": NAIVE.encode()}, "VECTOR_ADD.CU is read as VECTOR_ADD.cu."),
    "utf16": ({"vector_add.cu": NAIVE.encode("utf-16")}, "is UTF-16"),
    "utf16_be": ({"vector_add.cu": NAIVE.encode("utf-16-be")}, "is UTF-16"),
    "colab": (
        {"Untitled0 (1).ipynb": notebook("%%cu\nint main() { return 0; }\n", "%%cuda --name x.cu\n" + NAIVE).encode()},
        "(code cell 2)",
    ),
    "written": ({"lab.ipynb": notebook("%%writefile vector_add.cu\n" + NAIVE).encode()}, "(code cell 1)"),
    "own_main": ({"vector_add.cu": (NAIVE + MAIN.format("")).encode()}, "vector_add.cu has a main function"),
    "main_with_arguments": ({"vector_add.cu": (NAIVE + MAIN.format("int, char**")).encode()}, "has a main function"),
    "bench": (
        {"vector_add.cu": NAIVE.encode(), "bench.cu": b"#include <cublas_v2.h>\nint main() { return 1; }\n"},
        "bench.cu: left out",
    ),
    "same_twice": ({"vector_add.cu": NAIVE.encode(), "vector_add - Copy.cu": NAIVE.encode()}, "same content"),
    "named": (
        {"a.cu": NAIVE.encode(), "old.cu": (NAIVE + "// old\n").encode(), "Makefile": b"x: a.cu\n\tnvcc a.cu\n"},
        "Makefile names a.cu, which counts; left out: old.cu",
    ),
}
WRONG: dict[str, tuple[dict[str, bytes], list[str]]] = {
    "two": (
        {"vector_add.cu": NAIVE.encode(), "vector_add (1).cu": (NAIVE + "// new\n").encode()},
        ["vector_add (1).cu", "vector_add.cu", "both define", "submission.yaml", "sources: ["],
    ),
    "report_only": ({"report.pdf": b"%PDF", "notes.docx": b"PK"}, ["no source file", "notes.docx, report.pdf"]),
    "nothing": ({}, ["the folder is empty", "hand in vector_add.cu"]),
    "half": ({"vector_add.cu": NAIVE.encode("utf-16") + b"x"}, ["vector_add.cu looks like UTF-16", "save it as UTF-8"]),
}


def judge(scratch: Path, *options: str) -> Path:
    """A run of the class in the folder."""
    command: Words = ["grade", scratch / "class", "--run", scratch / "run", "--backend", "emulator", "--no-speed"]
    done = warpgrade(*command, "--quiet", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    return scratch / "run"


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them as a class."""
    scratch = tmp_path_factory.mktemp("files")
    for name, (files, _) in {**RIGHT, **WRONG}.items():
        (scratch / "class" / name).mkdir(parents=True)
        for file, content in files.items():
            (scratch / "class" / name / file).write_bytes(content)
    return judge(scratch, "--lab", "vector_add", "--cases", "odd")


def record_of(run: Path, name: str) -> dict[str, Any]:
    """The one record of a submission."""
    return next(record for record in records_of(run) if record["submission"]["id"] == name)


def notes_of(run: Path, name: str) -> str:
    """What the run says of a submission's files."""
    listed = json.loads((run / "run.json").read_text(encoding="utf-8"))["submissions"]
    return "\n".join(next(each for each in listed if each["id"] == name).get("notes", []))


@pytest.mark.parametrize("name", RIGHT)
def test_it_is_accepted_and_told(name: str, judged: Path) -> None:
    """An ordinary file costs nobody a point."""
    assert record_of(judged, name)["outcome"]["verdict"] == "accepted", record_of(judged, name)["outcome"]
    assert RIGHT[name][1] in notes_of(judged, name), notes_of(judged, name)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_missing_or_ambiguous_is_asked(name: str, judged: Path) -> None:
    """In words that say which files there are and what to do; never to compile again."""
    outcome = record_of(judged, name)["outcome"]
    assert outcome["verdict"] == "compile_error" and outcome["reason"] == "bad_submission", outcome
    for words in WRONG[name][1]:
        assert words in outcome["message"], outcome
    assert "compile again" not in outcome["message"]


def test_a_students_feedback_tells_it(judged: Path, tmp_path: Path) -> None:
    """On the page and in the file for courseware, which are made from the same view."""
    done = warpgrade("export", judged, "--format", "feedback", "--format", "gradescope", "--output", tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    told = [
        path.read_text(encoding="utf-8") for path in tmp_path.rglob("*") if path.suffix in (".html", ".md", ".json")
    ]
    assert sum("vector_add (1).cu is read as vector_add.cu." in text for text in told) >= 3, done.stdout + done.stderr


def test_a_project_of_src_and_include_is_one_submission(tmp_path: Path) -> None:
    """`check` judged src/ and include/ as two students."""
    for folder in ("src", "include"):
        (tmp_path / "mine" / folder).mkdir(parents=True)
    (tmp_path / "mine/include/tile.cuh").write_text("constexpr int tile = 1;\n", encoding="utf-8")
    (tmp_path / "mine/src/vector_add.cu").write_text('#include "tile.cuh"\n' + NAIVE, encoding="utf-8")
    command: Words = ["check", tmp_path / "mine", "--lab", "vector_add", "--cases", "odd"]
    done = warpgrade(*command)
    assert done.returncode == 0 and "1 of 1 cases accepted" in done.stdout, done.stdout + done.stderr
    (tmp_path / "mine/alice").mkdir()
    (tmp_path / "mine/alice/vector_add.cu").write_text(NAIVE, encoding="utf-8")
    done = warpgrade(*command)
    assert done.returncode == 1
    for words in ("can be read in two ways", "alice/", "src/", "submission.yaml"):
        assert words in done.stderr, done.stderr


@pytest.fixture(scope="module")
def whole_folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The twenty-two folders as a class."""
    scratch = tmp_path_factory.mktemp("folders")
    for name in FOLDERS:
        write_folder(name, scratch / "class" / name)
    return judge(scratch, "--lab", "spmm", "--cases", "synth-ragged-k32")


def test_there_are_twenty_two() -> None:
    """As many as the issue found in public."""
    assert len(FOLDERS) == 22


@pytest.mark.parametrize("name", FOLDERS)
def test_a_whole_folder_of_the_older_interface_is_judged(name: str, whole_folders: Path) -> None:
    """With the program that its owner meant: the old versions have a wrong sign or do not compile."""
    record = record_of(whole_folders, name)
    assert record["outcome"]["verdict"] == "accepted", record["outcome"]
    assert record["submission"]["interface"] == "SpMMOpt"


def test_equal_programs_are_compiled_once(whole_folders: Path) -> None:
    """However much lies around them: the hash is that of what is compiled."""
    listed = json.loads((whole_folders / "run.json").read_text(encoding="utf-8"))["submissions"]
    hashes = {each["hash"] for each in listed}
    assert len(hashes) <= 8, sorted((each["hash"][:6], each["id"]) for each in listed)


def test_check_tells_what_was_changed_and_that_the_cpu_did_the_work(tmp_path: Path) -> None:
    (tmp_path / "vector_add (1).cu").write_text(CPU_ONLY, encoding="utf-8")
    done = warpgrade("check", tmp_path, "--lab", "vector_add", "--cases", "odd,warp", "--backend", "emulator")
    assert done.returncode == 0, done.stderr
    assert "note: vector_add (1).cu is read as vector_add.cu." in done.stdout
    assert "CPU only: " in done.stdout and "in 2 cases: " in done.stdout
