"""Every page and every command that a message, a stub or a page names is there in an unpacked package and hand-out."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT, WARPGRADE, Words
from test_documents import FENCE, LINK, anchor, tracked

COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|R"\w*\((.*?)\)\w*"', re.DOTALL)
PAGE = re.compile(r"\b[\w-]+(?:/[\w-]+)*/[\w-]+\.md\b")
MAKE = re.compile(r"(?:^|[`(&|;:]|\n)\s*make ([a-z][a-z-]*)(?=[`\s)]|$)")  # in code
MAKE_IN_WORDS = re.compile(r"`make ([a-z][a-z-]*)|\bmake ([a-z][a-z-]*) [A-Z]+=|(?:[:;] make )(test|build|submit)\b")
WARPGRADE_COMMAND = re.compile(r"(?<![\w/-])(?:\./)?warpgrade ([a-z]+)\b")


def unpacked(tmp_path_factory: pytest.TempPathFactory, *options: str) -> Path:
    """What scripts/package makes of the programs that are built here, unpacked."""
    if not (ROOT / ".git").exists():
        pytest.skip("the package lists what git tracks, and this is no checkout")
    folder = tmp_path_factory.mktemp("package")
    command: Words = [ROOT / "scripts/package", *options, "--build", WARPGRADE.resolve().parents[1]]
    done = subprocess.run(
        [*command, "--output", folder / "a.tar.gz"], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with tarfile.open(folder / "a.tar.gz") as packed:
        packed.extractall(folder / "there", filter="data")
    (tree,) = (folder / "there").iterdir()
    return tree


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The staff's package."""
    return unpacked(tmp_path_factory)


@pytest.fixture(scope="module")
def handout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The students' hand-out."""
    return unpacked(tmp_path_factory, "--handout")


@pytest.fixture(scope="module", params=["package", "handout"])
def tree(request: pytest.FixtureRequest) -> Path:
    """Either of them."""
    folder: Path = request.getfixturevalue(request.param)
    return folder


def messages() -> Iterator[tuple[str, str]]:
    """What programs may say: the texts in their sources, with the file that has them."""
    sources = tracked(
        "grader/*.cpp", "grader/*.h", "reports/warpgrade_reports/*.py", "datasets/*.cpp", "scripts/bootstrap"
    )
    for source in sources:
        if "tests" in source.parts:
            continue
        lines = source.read_text(encoding="utf-8").splitlines()
        kept = [re.sub(r"^\s*//.*$|^#include.*$", "", line) for line in lines]
        text = "\n".join(kept)
        # Pieces of one message stand beside one another.
        pieces = re.sub(r'"\s*\n\s*"', "", text) if source.suffix in {".cpp", ".h"} else text
        for found in STRING.finditer(pieces):
            yield str(source.relative_to(ROOT)), (found[1] or found[0][1:-1]).replace("\\n", "\n")


def pages_of(tree: Path) -> list[Path]:
    """Pages of a package; libraries' licences are others', and scripts/ has the page of a hand-out to be made."""
    return [page for page in tree.rglob("*.md") if not {"scripts", "licences"} & set(page.relative_to(tree).parts)]


def code_of(page: Path) -> str:
    """What a page shows as typed; of a stub its comments."""
    text = page.read_text(encoding="utf-8")
    text = COMMENT.sub("", text)
    return "\n".join(found[0].strip("`") for found in CODE.finditer(text)) if page.suffix == ".md" else text


def texts_of(tree: Path) -> Iterator[tuple[str, str]]:
    """All that may tell a person what to type there."""
    yield from messages()
    for page in [*pages_of(tree), *(tree / "student").rglob("*.cu")]:
        yield str(page.relative_to(tree)), code_of(page)


def targets_of(tree: Path) -> set[str]:
    """What the Makefile of the package makes."""
    makefile = (tree / "Makefile").read_text(encoding="utf-8")
    return {word for line in re.findall(r"^([a-z][a-z -]*):", makefile, re.MULTILINE) for word in line.split()}


def test_the_pages_that_messages_name_are_there(tree: Path) -> None:
    named = {(page, file) for file, text in messages() for page in PAGE.findall(text) if (ROOT / page).exists()}
    assert {page for page, _ in named} >= {"grader/policies/README.md", "reference/README.md"}
    assert [f"{file} names {page}" for page, file in sorted(named) if not (tree / page).exists()] == []


def test_the_links_of_its_pages_lead_somewhere(tree: Path) -> None:
    assert len(pages_of(tree)) > 15
    broken = []
    for page in pages_of(tree):
        for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
            file, _, name = link.partition("#")
            if "://" in link or link.startswith("mailto:"):
                continue
            target = (page.parent / file).resolve() if file else page
            headings = target.read_text(encoding="utf-8") if target.suffix == ".md" and target.exists() else ""
            known = map(anchor, re.findall(r"^#+ (.*)$", FENCE.sub("", headings), re.MULTILINE))
            if not target.exists() or (name and target.suffix == ".md" and name not in known):
                broken.append(f"{page.relative_to(tree)}: {link}")
    assert broken == []


def test_the_make_targets_that_are_named_are_there(tree: Path) -> None:
    targets = targets_of(tree)
    assert {"test", "submit", "grade", "report"} <= targets
    named = {
        (target, file)
        for file, text in texts_of(tree)
        for target in (MAKE.findall(text) if file.endswith(".md") else map("".join, MAKE_IN_WORDS.findall(text)))
    }
    assert {target for target, _ in named} >= {"test", "submit", "contract", "cases", "build"}
    assert [f"{file}: make {target}" for target, file in sorted(named) if target not in targets] == []
    checkout = targets_of(ROOT)  # the same pages and messages
    assert [f"{file}: make {target}" for target, file in sorted(named) if target not in checkout] == []


def test_the_programs_that_are_named_are_there(tree: Path) -> None:
    assert os.access(tree / "warpgrade", os.X_OK)
    commands = set(re.findall(r"^ {2}([a-z]+) ", start(["./warpgrade", "--help"], tree), re.MULTILINE))
    assert {"grade", "report", "test"} <= commands
    wrong = []
    for page in [*pages_of(tree), *(tree / "student").rglob("*.cu")]:
        code = code_of(page)
        wrong += [f"{page.relative_to(tree)}: {word}" for word in re.findall(r"build/bin\S*", code)]
        bare = re.findall(r"(?:^|&& |-- |\| )warpgrade [a-z]+", code, re.MULTILINE)
        wrong += [f"{page.relative_to(tree)}: {words}" for words in bare]
    for file, text in texts_of(tree):
        told = CODE.findall(text) if not file.endswith((".md", ".cu")) else [text]
        for words in told:
            unknown = {word for word in WARPGRADE_COMMAND.findall(words) if word not in commands}
            wrong += [f"{file}: warpgrade {word}" for word in unknown - {"was", "with"}]
    assert wrong == []


def start(command: Words, folder: Path, code: int = 0, **variables: str) -> str:
    """What a command says, as someone without this project's variables starts it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("WARPGRADE", "CCACHE"))}
    environment["WARPGRADE_CACHE"] = str(ROOT / ".cache")  # what links with submissions is compiled there already
    environment["WARPGRADE_PYTHON"] = str(ROOT / ".venv/bin/python")
    done = subprocess.run(
        command, cwd=folder, env=environment | variables, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == code, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


def test_the_package_grades_reports_and_makes_a_handout(package: Path, tmp_path: Path) -> None:
    cases = ["CASES=synth-identity-k32", "BACKEND=emulator"]
    said = start(["make", "grade", "SUBMISSIONS=grader/tests/demo_class", "RUN=runs/hw1", *cases], package)
    assert "ada" in said
    assert "runs/hw1/report/index.html" in start(["make", "report"], package)
    assert (package / "runs/hw1/report/index.html").exists()
    start(["make", "handout", f"OUTPUT={tmp_path / 'students.tar.gz'}"], package)
    with tarfile.open(tmp_path / "students.tar.gz") as packed:
        packed.extractall(tmp_path / "students", filter="data")
    (made,) = (tmp_path / "students").iterdir()
    assert not list(made.rglob("optimized"))
    kept_by_verify = {"check_power.json", "survivors.yaml"}
    assert {file.name for file in package.rglob("*") if file.name in kept_by_verify} == kept_by_verify
    assert not [file for file in made.rglob("*") if file.name in kept_by_verify]
    assert not (made / "runs").exists()
    said = start(["make", "test", "LAB=spmm", "CASE=synth-identity-k32", "BACKEND=emulator"], made)
    assert "not written yet: 1 case" in said


def test_a_handout_of_the_package_is_the_checkouts(package: Path, handout: Path, tmp_path: Path) -> None:
    start(["scripts/package", "--handout", "--output", str(tmp_path / "a.tar.gz")], package)
    with tarfile.open(tmp_path / "a.tar.gz") as packed:
        names = {name.partition("/")[2] for name in packed.getnames() if "__pycache__" not in name}
    theirs = {str(path.relative_to(handout)) for path in handout.rglob("*") if "__pycache__" not in path.parts} | {""}
    assert names == theirs


def test_messages_spell_the_program_as_it_was_called(handout: Path, tmp_path: Path) -> None:
    said = start(["./warpgrade", "test", "spmm", "--case", "nothing"], handout, 1)
    assert "`./warpgrade labs spmm` lists them" in said
    assert "  ./warpgrade test spmm\n" in start(["./warpgrade", "test", "--help"], handout)
    path = f"{handout}:{os.environ['PATH']}"
    assert "`warpgrade labs spmm` lists them" in start(
        ["warpgrade", "test", "spmm", "--case", "nothing"], tmp_path, 1, PATH=path
    )
    checkout = start(["make", "--dry-run", "grade"], ROOT)
    assert 'WARPGRADE_COMMAND="$BUILD/bin/warpgrade" "$BUILD/bin/warpgrade" grade' in checkout


def test_a_student_reads_the_contract_and_the_cases_there(tree: Path) -> None:
    assert "cudaError_t convolution_run" in start(["make", "contract", "LAB=convolution"], tree)
    assert "synth-hub-k32" in start(["make", "cases", "LAB=spmm"], tree)


# A command on a page, in a message or in an example of --help, up to its end or a remark.
TYPED = re.compile(r"(?:^|&& |\| |-- )((?:\./|build/bin/)?warpgrade [a-z].*?)(?=$| && | \| | {2,}|\s#)", re.MULTILINE)
PARSED_BADLY = re.compile(r"(.*)`.* --help` shows what it takes|.* has no command .*")
# These wait for others, ask the network, or write into the package.
NOT_TRIED = re.compile(r" serve\b|--watch\b| data fetch\b| desk first\b| labs (?:new|pages)\b| note\b")


def typed_in(text: str) -> set[str]:
    """The commands of a text that has code alone."""
    return {found.strip() for found in TYPED.findall(text.replace("\\\n", " "))}


def refusal(command: str, tree: Path, place: Path) -> str:
    """Why a package's program does not take the words of a command; it never comes to judging."""
    plain = re.sub(r"\bN\b", "3", re.sub(r"[\[\]]|\.\.\.", "", command))
    words = shlex.split(re.sub(r"\{[^}]*\}", "x", plain))[1:]
    if len(words) < 2 or NOT_TRIED.search(command):
        return ""  # a command's name, which test_the_programs_that_are_named_are_there looks at
    environment = os.environ | {"WARPGRADE_EXECUTOR_DIRECTORY": "/nonexistent", "WARPGRADE_HOME": str(tree)}
    done = subprocess.run(
        [WARPGRADE.resolve(), *words],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    said = next((line for line in (done.stderr + done.stdout).splitlines() if PARSED_BADLY.match(line)), "")
    # In a sentence an option stands without the rest of its command; files and words in capitals are the reader's.
    return "" if re.search(r"(?:is|are) required|required \S+ missing|does not exist|: [A-Z]+ not in ", said) else said


def test_the_words_of_every_command_are_taken(tree: Path, tmp_path: Path) -> None:
    """Those of pages, stubs and messages, by the program itself."""
    named: dict[str, str] = {}
    for file, text in texts_of(tree):
        pieces = [text] if file.endswith((".md", ".cu")) else [code.strip("`") for code in CODE.findall(text)]
        for command in {command for piece in pieces for command in typed_in(piece)}:
            named.setdefault(command, file)
    assert len(named) > 80
    wrong = [(named[each], each, why) for each in sorted(named) if (why := refusal(each, tree, tmp_path))]
    assert wrong == []


def test_the_examples_of_help_are_whole_commands(handout: Path, tmp_path: Path) -> None:
    commands = re.findall(r"^ {2}([a-z]+) ", start(["./warpgrade", "--help"], handout), re.MULTILINE)
    examples = set()
    for command in commands:
        said = start(["./warpgrade", command, "--help"], handout)
        examples |= typed_in(
            re.sub(r"^ +", "", said.partition("Examples:\n")[2].partition("\n\n")[0], flags=re.MULTILINE)
        )
    assert len(examples) > 30
    wrong = []
    for example in sorted(examples):
        assert example.startswith("./warpgrade "), example
        if NOT_TRIED.search(example) or "completion" in example:
            continue
        words = [word for word in shlex.split(example)[1:] if not word.startswith(">")]
        environment = os.environ | {"WARPGRADE_EXECUTOR_DIRECTORY": "/nonexistent"}
        done = subprocess.run(
            [WARPGRADE.resolve(), *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        if PARSED_BADLY.search(done.stderr) and "does not exist" not in done.stderr:
            wrong.append((example, done.stderr.splitlines()[-1]))
    assert wrong == []


@pytest.fixture(params=["tree", "package", "handout"])
def place(request: pytest.FixtureRequest) -> tuple[Path, list[str]]:
    """Where people type, and the program there."""
    if request.param == "tree":
        return ROOT, [str(WARPGRADE.resolve())]
    return request.getfixturevalue(request.param), ["./warpgrade"]


def last_command(said: str, after: str) -> str:
    """The command that a line of a test ends with; the last such line."""
    return [line.rpartition(after)[2] for line in said.splitlines() if after in line][-1]


def test_the_commands_that_a_test_prints_do_what_they_say(place: tuple[Path, list[str]], tmp_path: Path) -> None:
    """A student's own folder, whose name a shell would take apart: wrong, then right, then handed in."""
    folder, program = place
    labs = tmp_path / "my labs"
    shutil.copytree(ROOT / "reference/vector_add/wrong/last_block_missing", labs / "vector_add")
    usual: Words = [*program, "test", "vector_add", "--folder", labs, "--case", "odd", "--backend", "emulator"]

    def typed(command: str, code: int) -> str:
        return start(["bash", "-c", command], folder, code)

    again = last_command(start(usual, folder, 3), "again: ")
    assert "fix first" in typed(again, 3)
    profile = f"{program[0]} profile '{labs}/vector_add' --lab vector_add --case odd"
    assert "wrong_answer" in typed(last_command(typed(profile, 3), "correct it first: "), 3)
    shutil.copyfile(ROOT / "reference/vector_add/naive/vector_add.cu", labs / "vector_add/vector_add.cu")
    submit = last_command(typed(again, 0), "hand it in: ")
    try:
        typed(submit, 0)
        assert (folder / "vector_add-submission.tar.gz").exists()
    finally:
        (folder / "vector_add-submission.tar.gz").unlink(missing_ok=True)


def test_a_page_keeps_the_mark_by_which_its_table_is_found(tmp_path: Path) -> None:
    """Else `labs pages` adds a second table there."""
    page = "student/convolution/README.md"
    mark = "<!-- cases: made from lab.yaml by `warpgrade labs pages` -->"
    assert mark in (ROOT / page).read_text(encoding="utf-8")
    done = subprocess.run(
        [ROOT / "scripts/python/package_page.py", page, tmp_path], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert mark in done.stdout
