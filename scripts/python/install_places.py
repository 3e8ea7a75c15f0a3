"""Places that platforms give to a student, for scripts/prove-install: each is a bare root with that platform's user,
packages and rights, in which two commands lead to a first result.

What a place is like is told by: Colab, its runtime (Ubuntu 22.04, root in a container, no namespaces); GitHub,
the page of actions/runner-images for ubuntu-24.04 (user runner, g++, git, curl), less its namespaces; Gradescope, its
page "Autograder specifications" (root, /autograder, an Ubuntu 22.04); devcontainers, the image `cpp:debian-12` and its
user `vscode`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).resolve().parents[2]
LONGEST_S = 120  # of both commands, where everything is downloaded
LAB, CASE = "spmm", "synth-identity-k32"
# The newest for the place's Python.
JUPYTER = "ipykernel nbclient"


class Visit(Protocol):
    """What prove-install gives: a user in a root, whose steps are timed."""

    root: Path
    home: Path

    def give(self, source: Path, name: str) -> None:
        """Puts a file or folder into the user's home."""

    def step(self, name: str, script: str, expected: str = "") -> None:
        """Runs and times a step."""


@dataclass(frozen=True)
class Place:
    """A platform's machine."""

    name: str
    suite: str  # Debian's or Ubuntu's
    packages: tuple[str, ...]
    user: str
    number: int
    live: Callable[[Visit, Path], None]
    is_container: bool = True  # else a machine where a sysctl forbids namespaces


NOTEBOOK = """
import nbclient, nbformat
cells = ["%load_ext warpgrade", "%%cuda_lab spmm --cases {case}\\n" + open("written.cu").read()]
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
nbclient.NotebookClient(book, timeout=900, kernel_name="python3").execute()
for output in book["cells"][1]["outputs"]:
    print(output.get("text") or output["data"]["text/plain"])
"""


def be_on_colab(visit: Visit, handout: Path) -> None:
    """A notebook with the wheel, as root."""
    subprocess.run([sys.executable, ROOT / "scripts/wheel", handout, visit.home], check=True, capture_output=True)
    shutil.copy(ROOT / f"reference/{LAB}/naive/{LAB}.cu", visit.home / "written.cu")
    (visit.home / "notebook.py").write_text(NOTEBOOK.format(case=CASE), encoding="utf-8")
    # Newer Debians ask for the first word; pip before 22.1 knows the second neither as an option nor here.
    install = "PIP_BREAK_SYSTEM_PACKAGES=1 PIP_ROOT_USER_ACTION=ignore pip install -q"
    visit.step("place: what is there (Jupyter)", f"{install} {JUPYTER}")
    visit.step("command 1", f"{install} ./warpgrade_handout-*.whl")
    # Otherwise the first cell does it.
    tree = "$(python3 -c 'import warpgrade.labs; print(warpgrade.labs.package())')"
    visit.step("downloads", f"WARPGRADE_CACHE_FOLDER=~/.cache/warpgrade {tree}/scripts/bootstrap judge")
    said = "1 of 1 cases are right. Judged without a GPU, on the emulator."
    visit.step(
        "command 2, first result", "python3 notebook.py | tee result && grep -q 'no box is possible' result", said
    )


def be_on_github(visit: Visit, handout: Path) -> None:
    """The two steps of the workflow that are scripts, in a checkout of a student."""
    visit.give(handout, "package.tar.gz")
    visit.give(ROOT / f"reference/{LAB}/naive", f"work/student/{LAB}")
    text = (ROOT / "scripts/bridges/github/warpgrade.yml").read_text(encoding="utf-8")
    get = re.search(r"- name: Get Warpgrade\n +run: \|\n((?: {10}.*\n)+)", text)
    judge = re.search(r"- name: Judge\n.*?run: (\S+)\n", text, re.DOTALL)
    if not get or not judge:
        sys.exit("prove-install: warpgrade.yml has no steps 'Get Warpgrade' and 'Judge'")
    words = (
        "export PACKAGE_URL=file://$HOME/package.tar.gz "
        "PACKAGE_SHA256=$(sha256sum <~/package.tar.gz | cut -d ' ' -f 1) "
        f"RUNNER_TEMP=$HOME/temp GITHUB_STEP_SUMMARY=$HOME/summary.md LAB={LAB} FOLDER=student/{LAB} CASES={CASE} "
        "BACKEND=emulator ALLOW_UNSANDBOXED=1; mkdir -p ~/temp; cd ~/work\n"
    )
    visit.step("command 1", words + get[1])
    visit.step("downloads", "cd ~/warpgrade && scripts/bootstrap judge")
    visit.step("command 2, first result", words + judge[1] + " && cat ~/summary.md", f"| {CASE} |")


def be_on_gradescope(visit: Visit, handout: Path) -> None:
    """The archive's two scripts, with a hand-in; the archive is that of the bridge."""
    unpacked = visit.home / "unpacked"
    unpacked.mkdir()
    subprocess.run(["tar", "-xzf", handout, "--strip-components=1", "-C", unpacked], check=True)
    bridge = unpacked / "scripts/bridges/gradescope"  # of the package, which instructors have
    shutil.copytree(ROOT / "scripts/bridges/gradescope", bridge, dirs_exist_ok=True)
    settings = visit.home / "settings.env"
    settings.write_text(f"LAB={LAB}\nCASES={CASE}\nALLOW_UNSANDBOXED=1\n", encoding="utf-8")
    subprocess.run([bridge / "pack", visit.home / "autograder.zip", settings], check=True, capture_output=True)
    place = visit.root / "autograder"
    with zipfile.ZipFile(visit.home / "autograder.zip") as archive:
        for file in archive.infolist():  # as `unzip` does, with the files' modes
            Path(archive.extract(file, place / "source")).chmod(file.external_attr >> 16)
    shutil.copytree(ROOT / f"reference/{LAB}/naive", place / "submission")
    visit.step("command 1 (the image: all of it downloads)", "cd / && /autograder/source/setup.sh")
    judge = "cd / && cp autograder/source/run_autograder autograder/ && autograder/run_autograder"
    visit.step("command 2, first result", f"{judge} && cat autograder/results/results.json", "on the emulator")


def be_in_a_devcontainer(visit: Visit, handout: Path) -> None:
    """The container's own command, and the task."""
    container = (ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8")
    create = re.search(r'"onCreateCommand": "(.*)"', container)
    if not create:
        sys.exit("prove-install: devcontainer.json has no onCreateCommand")
    visit.give(handout, "handout.tar.gz")
    visit.step("place: the repository", "mkdir labs && tar -xzf handout.tar.gz --strip-components=1 -C labs && cd labs")
    visit.step("command 1 (the container: all of it downloads)", create[1])
    visit.give(ROOT / f"reference/{LAB}/naive", "written")
    visit.step(
        "command 2, first result",
        f"cp ~/written/*.cu student/{LAB}/ && make test LAB={LAB} CASE={CASE}",
        "all cases are right",
    )


ON_JAMMY = ("python3", "make", "python3-venv", "python3-pip", "g++")
ON_NOBLE = ("python3", "make", "python3-venv", "g++", "git", "curl")
ON_BOOKWORM = ("python3", "make", "g++", "git")
PLACES = (
    Place("Colab-like", "jammy", ON_JAMMY, "root", 0, be_on_colab),
    Place("GitHub-runner-like", "noble", ON_NOBLE, "runner", 1001, be_on_github, is_container=False),
    Place("Gradescope-like", "jammy", ON_JAMMY, "root", 0, be_on_gradescope),
    Place("devcontainer", "bookworm", ON_BOOKWORM, "vscode", 1000, be_in_a_devcontainer),
)


def commands_took(seconds: dict[str, float]) -> float:
    """What the commands took, without those that download alone."""
    return sum(time for name, time in seconds.items() if name.startswith("command") and "downloads" not in name)
