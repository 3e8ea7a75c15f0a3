"""Every page and every command that a message, a stub or a page names is there in an unpacked package and hand-out."""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT, WARPGRADE, Words
from test_documents import FENCE, LINK, anchor, tracked

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


def start(command: list[str], folder: Path, code: int = 0, **variables: str) -> str:
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
