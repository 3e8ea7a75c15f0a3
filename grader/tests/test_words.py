"""Messages in a reader's language: corpora of mistakes, the table against the sources, records without a language."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, WARPGRADE, records_of, warpgrade
from corpus import BACKEND
from words_page import KINDS, Entry, read_po

WORDS = ROOT / "grader/cli/words"
LANGUAGES = ("de", "zh_CN")
BUILD = WARPGRADE.resolve().parent.parent
TABLE = read_po(WORDS / "warpgrade.pot")

# Words that no German sentence has; in Chinese every word of two letters that is none of a program.
ENGLISH = re.compile(
    r"\b(the|is|are|were|and|of|to|with|which|it|its|not|that|does|use|each|read|reads|writes|wrong)\b"
)
# What is the same in each language: code in quotes, CUDA's own errors and the program's lines.
FIXED = re.compile(r"`[^`]*`|cudaError\w+: [a-z' -]+|\([A-Za-z]+ fault\)|\w+\([^()]*\)")
PLACES = re.compile(r"[\w.-]+\.\w+:\d+|`[^`]+`|\d+(?:[.,]\d+)*|cuda\w+")


def say(text: str, language: str, **variables: str) -> str:
    """The text as `warpgrade words` says it."""
    done = warpgrade("words", input=text, env=os.environ | {"WARPGRADE_LANG": language} | variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


def expect_translated(english: list[str], language: str) -> None:
    """No sentence of ours is left, and the places are the same."""
    lines = [line for text in english for line in text.splitlines() if line.strip()]
    said = say("\n".join(lines) + "\n", language).splitlines()
    assert len(said) == len(lines)
    for before, after in zip(lines, said, strict=True):
        assert not ENGLISH.findall(FIXED.sub("", after)), f"{before}\n{after}"
        assert sorted(PLACES.findall(before)) == sorted(PLACES.findall(after)), f"{before}\n{after}"


def texts_of(findings: list[dict[str, Any]]) -> list[str]:
    return [finding[key] for finding in findings for key in ("message", "advice") if finding.get(key)]


def run_on_emulator(program: Path, *arguments: str, findings: Path) -> str:
    """What a program prints on the emulator; its findings as JSON lines go to the file."""
    checks = {
        "LD_LIBRARY_PATH": str(BUILD / "emulator"),
        "WARPEMU_CHECKS": "all",
        "WARPEMU_LAUNCH_TIMEOUT_S": "1",
        "WARPEMU_THREADS": "2",
        "WARPEMU_FINDINGS": str(findings),
    }
    done = subprocess.run(
        [program, *arguments], env=os.environ | checks, capture_output=True, text=True, timeout=120, check=False
    )
    return "".join(line + "\n" for line in done.stderr.splitlines() if line.startswith(("emulator: ", "  ")))


@pytest.fixture(scope="session")
def told_of_corpus(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the emulator prints of each mistake of grader/tests/mistakes."""
    program = BUILD / "grader/tests/mistakes/mistakes"
    if not program.exists():
        pytest.skip("the mistakes are not built (make build-tests)")
    folder = tmp_path_factory.mktemp("corpus")
    names = [file.stem for file in sorted((ROOT / "grader/tests/mistakes").glob("*.cu"))]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda name: run_on_emulator(program, name, findings=folder / name), names))


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_mistake_of_the_corpus_is_told_in_the_language(told_of_corpus: list[str], language: str) -> None:
    assert len(told_of_corpus) >= 68 and all(told_of_corpus)
    expect_translated(told_of_corpus, language)


# Programs after bugs that people posted, where this tree lies beside them.
POSTED = sorted((ROOT / "../shared/mistakes").glob("*.cu"))


@pytest.mark.skipif(
    not POSTED or shutil.which("nvcc", path="/usr/local/cuda/bin") is None, reason="not on this machine"
)
def test_posted_mistakes_are_told_in_both_languages(tmp_path: Path) -> None:
    def told(file: Path) -> str:
        built = tmp_path / file.stem
        command = ["/usr/local/cuda/bin/nvcc", "-no-compress", "-lineinfo", "-cudart=shared", "-arch=sm_80", "-w"]
        subprocess.run([*command, "-Xcompiler=-g1", "-o", built, file], check=True, capture_output=True)
        return run_on_emulator(built, findings=tmp_path / f"{file.stem}.jsonl")

    with ThreadPoolExecutor(2) as pool:
        texts = list(pool.map(told, POSTED))
    assert all(texts), [file.name for file, text in zip(POSTED, texts, strict=True) if not text]
    for language in LANGUAGES:
        expect_translated(texts, language)


# ---- The table


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_words_for_each_sentence(language: str) -> None:
    entries = read_po(WORDS / f"{language}.po")
    assert [(entry.context, entry.id) for entry in entries] == [(entry.context, entry.id) for entry in TABLE]
    assert not [entry.id for entry in entries if not entry.text or "fuzzy" in entry.flags]
    done = warpgrade("words", "--check", WORDS / f"{language}.po")
    assert done.stdout.endswith(f": {len(TABLE)} sentences, 0 without words\n"), done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="gettext is not installed")
def test_msgfmt_takes_the_files(tmp_path: Path) -> None:
    for file in (*(WORDS / f"{language}.po" for language in LANGUAGES), WORDS / "warpgrade.pot"):
        subprocess.run(["msgfmt", "--check-format", "--check-domain", "-o", tmp_path / "words.mo", file], check=True)


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="gettext is not installed")
@pytest.mark.parametrize(
    ("entries", "line", "why"),
    [
        (b'msgid "{n} cases"\nmsgstr "{m} F"\n', 6, "the words have a place {m}"),
        (b'msgid "cases"\nmsgstr "F\xe4lle"\n', 7, "letters that are no UTF-8"),
        (b'msgid "cases"\nmsgstr "A"\n\nmsgid "cases"\nmsgstr "B"\n', 9, "has words at line 6 already"),
    ],
)
def test_what_msgfmt_refuses_is_refused(entries: bytes, line: int, why: str, tmp_path: Path) -> None:
    """GNU gettext's own reader of PO files is asked first."""
    wrong = tmp_path / "de.po"
    head = b'\nmsgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n#, python-brace-format\n'
    wrong.write_bytes(head + entries)
    by_gettext = subprocess.run(
        ["msgfmt", "--check-format", "-o", tmp_path / "words.mo", wrong],
        capture_output=True, check=False, text=True, errors="replace",
    )  # fmt: skip
    assert by_gettext.returncode == 1 and "de.po:" in by_gettext.stderr
    ours = warpgrade("words", "--check", wrong)
    assert ours.returncode == 1
    assert f"{wrong}:{line}: " in ours.stderr and why in ours.stderr


def test_ids_are_unique_and_begin_with_a_kind() -> None:
    assert len({entry.context for entry in TABLE}) == len({entry.id for entry in TABLE}) == len(TABLE)
    assert {entry.context.split("/")[0] for entry in TABLE} <= KINDS.keys() | {"part"}


def test_every_kind_of_finding_has_sentences() -> None:
    header = (ROOT / "grader/emulator/include/warpemu/findings.h").read_text(encoding="utf-8")
    kinds = re.findall(r"X\((\w+)\)", header)
    assert len(kinds) >= 31
    have = {entry.context.split("/")[0] for entry in TABLE}
    assert {"race" if kind.endswith("_race") else kind for kind in kinds} <= have


def test_the_page_is_what_the_table_makes() -> None:
    done = subprocess.run(
        ["python3", ROOT / "scripts/python/words_page.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


# Sources whose sentences students read; each literal of three words and more stands in the table.
SOURCES = (
    *(ROOT / "grader/emulator/src/check").glob("*.cpp"),
    *(ROOT / f"grader/emulator/src/simt/{name}.cpp" for name in (
        "barriers", "bulk_copy", "calls", "conditions", "copy_engine", "execute", "heap", "launch", "nested_launch",
        "partial_warp", "slow_access", "system", "tensor_copy", "textures")),
    *(ROOT / f"grader/emulator/src/{name}.cpp" for name in ("backend/command_order", "backend/emulated_memory",
        "backend/leaks", "backend/encode_tensor_map", "findings/python_words")),
    *(ROOT / f"grader/cudart/{name}" for name in ("refused_copy.cpp", "refused_launch.cpp", "register_limit.h",
        "runtime_launch.cpp", "not_implemented.cpp", "host_fault.cpp")),
    *(ROOT / f"grader/judge/judging/{name}.cpp" for name in ("cause_search", "diagnosis", "runner_process")),
    *(ROOT / f"grader/judge/labs/{name}.cpp" for name in ("spmm/pattern", "spmm/check", "spmm/spmm_judge",
        "apsp/apsp_judge", "declared/comparison", "gcn/gcn_judge", "histogram/histogram_judge",
        "sampling/sampling_judge")),
    *(ROOT / f"grader/cli/{name}.cpp" for name in ("failure_text", "student_report")),
)  # fmt: skip
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"((?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\]|\\.)\'', re.DOTALL)
# For staff, for the terminal, or of the machine.
NOT_FOR_STUDENTS = (
    "cases met a fault of the judge",
    "run the same command again to redo them",
    "cases made the judge fail twice and count as runtime errors",
    "a person should look at them warpgrade regrade judges them again",
    "unsupported call of cuTensorMapEncodeTiled",  # as of every function
    "no memory for the emulated device",
    "the runner of",
    "ended before it took a buffer, with exit code",
    "was ended by the system: the task or the machine",
    "has no memory left",
    "the executor of",
    "ended by itself:",
    "launches more grids than cudaLimitDevRuntimePendingLaunchCount: on a GPU a launch fails when so many wait at once",
    "emulator: note: a grid of",
    "want kernel names",
    "arguments of nested launches",
    "emulator: WARPEMU_FINDINGS",
    "gcn: agreed on",
    "other pattern's run",
    "make submit LAB=",
)


def literals(file: Path) -> list[tuple[int, str]]:
    """The texts in quotes, those in a row as one, each with its line."""
    source = file.read_text(encoding="utf-8")
    found: list[tuple[int, str]] = []
    end = -1
    for match in TOKEN.finditer(source):
        if match.group(1) is None:
            continue
        text = match.group(1).replace('\\"', '"').replace("\\n", "\n")
        if found and end >= 0 and not source[end : match.start()].strip():
            found[-1] = (found[-1][0], found[-1][1] + text)
        else:
            found.append((source.count("\n", 0, match.start()) + 1, text))
        end = match.end()
    return found


def bare(text: str) -> str:
    """Its words alone, places as a mark: what can be looked for across the cuts of a program's source."""
    text = re.sub(r"\{[^{}]*\}|%[.\d]*l*[usdf]|\b\d+\b", " \0 ", text.replace("{{", " ").replace("}}", " "))
    return " ".join(re.findall(r"[\w']+|\0", text))


def test_what_the_programs_say_stands_in_the_table() -> None:
    table = "\n".join(bare(entry.id) for entry in TABLE)
    missing = []
    for file in SOURCES:
        for line, text in literals(file):
            sentences = re.split(r"(?<=[.:;?!]) ", re.sub(r"`[^`]*$", "", text))
            for piece in "\0".join(map(bare, sentences)).split("\0"):
                # Sizes of arrays are part of their names there.
                words = re.sub(r"^bytes? | bytes?$", "", piece.strip()).strip()
                known = words in table or any(
                    bare(known) in words or words in bare(known) for known in NOT_FOR_STUDENTS
                )
                if len(words.split()) >= 3 and text.strip().count(" ") >= 2 and not known:
                    missing.append(f"{file.relative_to(ROOT)}:{line}: {text!r}")
    assert not missing, "grader/cli/words/warpgrade.pot lacks:\n" + "\n".join(missing)


def test_what_the_table_has_is_said_by_a_program() -> None:
    files = subprocess.run(
        ["git", "ls-files", "-z", "*.cpp", "*.h"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    sources = [
        ROOT / file for file in files if file.startswith(("grader/", "reference/sampling/")) and "/tests/" not in file
    ]
    said = "\n".join(bare(text) for file in sources for _, text in literals(file))

    def is_said(entry: Entry) -> bool:
        pieces = [re.sub(r"\b(bytes?|got|want)\b", "", piece).split() for piece in bare(entry.id).split("\0")]
        windows = [" ".join(words[i : i + 3]) for words in pieces for i in range(len(words) - 2)]
        return not windows or any(window in said for window in windows)

    assert not [entry.context for entry in TABLE if not is_said(entry)]


# ---- Who prints, and what stays as it is


@pytest.mark.skipif(BACKEND != "emulator", reason="a GPU finds no causes")
def test_records_are_the_same_whatever_the_language(tmp_path: Path) -> None:
    folder = tmp_path / "ada"
    shutil.copytree(ROOT / "reference/vector_add/naive", folder)
    source = folder / "vector_add.cu"
    text = source.read_text(encoding="utf-8")
    assert "if (i < n)" in text
    source.write_text(text.replace("if (i < n)", "if (i <= n)"), encoding="utf-8")
    kept = []
    for language in ("C", "de_DE.UTF-8", "zh_CN.UTF-8"):
        run = tmp_path / language
        environment = {name: value for name, value in os.environ.items() if name != "WARPGRADE_LANG"}
        done = warpgrade(
            "grade", folder, "--lab=vector_add", "--cases=public", f"--run={run}", "--backend=emulator",
            "--allow-unsandboxed", env=environment | {"LANG": language, "LC_ALL": language},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        kept.append(
            [
                {key: record.get(key) for key in ("outcome", "diagnostics", "mismatches", "pattern")}
                for record in records_of(run)
            ]
        )
    assert kept[0] == kept[1] == kept[2]
    assert any("just past the end" in str(record["diagnostics"]) for record in kept[0])


@pytest.fixture
def student(tmp_path: Path) -> Path:
    """A student's folder with a guard that is one too far."""
    shutil.copytree(ROOT / "reference/vector_add/naive", tmp_path / "vector_add")
    source = tmp_path / "vector_add/vector_add.cu"
    source.write_text(source.read_text(encoding="utf-8").replace("if (i < n)", "if (i <= n)"), encoding="utf-8")
    return tmp_path


def student_test(folder: Path, **variables: str) -> str:
    """What `warpgrade test` prints of one case, without lines that come with time."""
    environment = {name: value for name, value in os.environ.items() if name not in ("WARPGRADE_LANG", "LC_ALL")}
    done = warpgrade(
        "test", "vector_add", "--case=odd", "--backend=emulator", f"--folder={folder}", env=environment | variables
    )
    assert done.returncode == 3, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if not re.match(r"  (\[\d+/|\w+: )", line)]
    return "\n".join(re.sub(r" +\d+\.\d\d s$", "", line) for line in lines)


@pytest.mark.skipif(BACKEND != "emulator", reason="a GPU finds no causes")
def test_a_students_run_is_told_in_the_language_of_the_locale(student: Path) -> None:
    english = student_test(student, LANG="C.UTF-8")
    assert student_test(student, LANG="de_DE.UTF-8", LC_MESSAGES="C") == english
    assert student_test(student, LANG="fr_FR.UTF-8") == english  # there is none
    german = student_test(student, LANG="de_DE.UTF-8", TERM="dumb")
    assert "liest 4 Byte direkt hinter dem Ende von" in german and "    Rat: Den Index in dieser Zeile" in german
    assert german.splitlines()[-1].startswith(
        "zuerst beheben (1 von 1 Fällen von vector_add scheitern): runtime_error: "
    )
    assert "\033" not in german
    chinese = student_test(student, LANG="zh")
    assert "读取 4 字节" in chinese and chinese.splitlines()[-1].startswith(
        "请先修正（vector_add 的 1 个用例中有 1 个失败）"
    )
    for said in (german, chinese):
        left = FIXED.sub("", said).replace(str(student), "")
        assert not ENGLISH.findall(re.sub(r"warpgrade test .*|runtime_error", "", left)), said


@pytest.mark.skipif(BACKEND != "emulator", reason="a GPU finds no causes")
def test_a_course_has_its_own_words(student: Path, tmp_path: Path) -> None:
    own = tmp_path / "words"
    own.mkdir()
    (own / "de.po").write_text('msgid "advice:"\nmsgstr "Tipp aus der Übung:"\n', encoding="utf-8")
    (own / "en.po").write_text('msgid "advice:"\nmsgstr "hint:"\n', encoding="utf-8")
    german = student_test(student, LANG="de_DE.UTF-8", WARPGRADE_WORDS=str(own))
    assert "    Tipp aus der Übung: Den Index" in german and "zuerst beheben" in german
    english = student_test(student, LANG="en_GB.UTF-8", WARPGRADE_WORDS=str(own))
    assert "    hint: Check the index" in english and "fix first" in english


def test_a_courses_words_that_are_not_in_order_are_refused_before_anything_is_judged(
    student: Path, tmp_path: Path
) -> None:
    own = tmp_path / "words"
    own.mkdir()
    (own / "de.po").write_text('msgid "{n} cases"\nmsgstr "Fälle"\n', encoding="utf-8")
    done = warpgrade(
        "test",
        "vector_add",
        f"--folder={student}",
        env=os.environ | {"WARPGRADE_LANG": "de", "WARPGRADE_WORDS": str(own)},
    )
    assert done.returncode == 1
    assert f"{own}/de.po:1: the words lack the place {{n}}" in done.stderr
    done = warpgrade("words", input="", env=os.environ | {"WARPGRADE_LANG": "de", "WARPGRADE_WORDS": str(own / "none")})
    assert done.returncode == 1 and "expected a folder with files as de.po" in done.stderr


def test_what_has_no_words_stays_english() -> None:
    line = "spmm.cu:3: something nobody has translated; also: 3 more\n"
    assert say(line, "de") == "spmm.cu:3: something nobody has translated; außerdem: 3 weitere\n"
    assert say(line, "C") == line


def test_a_streams_name_of_several_words_is_one_name() -> None:
    line = "kernel `add` in own stream #1 writes c at a.cu:2, and nothing orders it before the end of the run\n"
    said = "Kernel `add` in dem eigenen Stream #1 schreibt c bei a.cu:2, und nichts ordnet es vor das Ende des Laufs\n"
    assert say(line, "de") == said
