"""What a bare machine does with a hand-out, a package and an image, and what README.md tells people to type."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import install_people
import install_places
import install_roots
import pytest
from conftest import ROOT, WARPGRADE, Words
from desk_place import sshd
from warpgrade_reports.text import lines_of

BUILD = WARPGRADE.resolve().parents[1]
pytestmark = pytest.mark.waits

# What programs say when they cannot reach the network.
NO_NETWORK = re.compile(
    r"Temporary failure|Could not resolve|Connection (refused|reset|timed out)|Network is unreachable|Max retries|"
    r"CERTIFICATE_VERIFY_FAILED|NewConnectionError|ReadTimeoutError|Unable to connect"
)


def skip_without_network(said: str) -> None:
    """Skips a test whose programs could not fetch what they need: that says nothing of ours."""
    if found := NO_NETWORK.search(said):
        pytest.skip(f"the network did not answer: {found[0]}")


def first_lines(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stdout + done.stderr)[-3000:]


# ---- What README.md says


def test_readme_tells_a_student_and_an_instructor_two_commands_each() -> None:
    student, instructor = install_people.readme_commands()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(student) == len(instructor) == 2
    assert all(f"\n{command}" in readme and "  #" not in command for command in [*student, *instructor])
    assert instructor[0].startswith("git clone <this repository> ")  # a proof puts its own in that place


@pytest.mark.parametrize(
    ("block", "reason"),
    [("", "no block of commands"), ("## Start\n\n```\none\n\nmake demo\n```\n", "not two commands for a student")],
)
def test_a_readme_without_two_commands_for_each_ends_the_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: str, reason: str
) -> None:
    (tmp_path / "README.md").write_text(f"# Warpgrade\n\n{block}", encoding="utf-8")
    monkeypatch.setattr(install_people, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match=reason):
        install_people.readme_commands()


@pytest.mark.parametrize("target", ["grade", "bench", "sweep", "profile"])
@pytest.mark.parametrize("makefile", ["Makefile", "scripts/package.mk"])
def test_a_make_variable_allows_what_the_refusal_names(makefile: str, target: str) -> None:
    if f"\n{target}:" not in (ROOT / makefile).read_text(encoding="utf-8"):
        return  # a hand-out's students test, sweep and profile
    for variables, allowed in (([], False), (["ALLOW_UNSANDBOXED=1"], True)):
        command = ["make", "--dry-run", "--file", makefile, target, *variables]
        printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        assert ("--allow-unsandboxed" in printed) == allowed, printed


@pytest.mark.parametrize("makefile", ["Makefile", "scripts/package.mk"])
@pytest.mark.parametrize("value", ["0", "no", "1 0"])
def test_only_one_word_allows_to_judge_without_a_sandbox(makefile: str, value: str) -> None:
    command = ["make", "--dry-run", "--file", makefile, "profile", f"ALLOW_UNSANDBOXED={value}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert f"ALLOW_UNSANDBOXED={value}: say 1, or leave it out" in done.stderr


# ---- The compiler's side


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("60", "the last toolkit that supports it is CUDA 12.9: install that one and set CUDA_HOME to it"),
        ("50", "the oldest that Warpgrade supports is 60 (Pascal)"),
        ("75-virtual;999", "a newer toolkit may support it: set CUDA_HOME to one"),
    ],
)
def test_an_architecture_that_the_toolkit_does_not_know_is_told(tmp_path: Path, asked: str, reason: str) -> None:
    known = (ROOT / ".cache/toolchain.env").read_text(encoding="utf-8")
    nvcc = re.findall(r"^NVCC=(.*)$", known, re.MULTILINE)[0]
    shown = subprocess.run([nvcc, "--list-gpu-arch"], capture_output=True, text=True, check=True).stdout
    capability = asked.split(";")[-1]
    if f"compute_{capability}\n" in shown:
        pytest.skip(f"this toolkit compiles for {capability}")
    command: Words = ["cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_CUDA_COMPILER={nvcc}"]
    done = subprocess.run(
        [*command, f"-DCMAKE_CUDA_ARCHITECTURES={asked}"], capture_output=True, text=True, check=False, timeout=120
    )
    said = re.sub(r"\s+", " ", done.stderr)
    assert done.returncode != 0
    assert f"ARCHITECTURES={capability}: CUDA " in said, said
    assert reason in said, said
    assert "CMAKE_CUDA_ARCHITECTURES" not in (tmp_path / "CMakeCache.txt").read_text(encoding="utf-8")


def test_a_package_has_kernels_for_the_gpus_that_courses_have(tmp_path: Path) -> None:
    """Held against what this nvcc says of itself, and against a toolkit of CUDA 12's list (its documentation, 12.9)."""
    text = (ROOT / "scripts/package").read_text(encoding="utf-8")
    function = text[text.index("architectures_of() {") : text.index("build_portable() {")]

    def chosen(nvcc: str) -> list[str]:
        command = ["bash", "-euc", f'{function}\narchitectures_of "$1"', "package", nvcc]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return said.split(";")

    nvcc = re.findall(r"^NVCC=(.*)$", (ROOT / ".cache/toolchain.env").read_text(encoding="utf-8"), re.MULTILINE)[0]
    shown = subprocess.run([nvcc, "--list-gpu-arch"], capture_output=True, text=True, check=True).stdout.split()
    ours = chosen(nvcc)
    assert {f"compute_{each.partition('-')[0]}" for each in ours} <= set(shown)
    published = (ROOT / "grader/course/profile/rates/data_sheets.txt").read_text(encoding="utf-8")
    for gpu in re.findall(r"^(\w+)\.dram_gb_per_s", published, re.MULTILINE):
        device = (ROOT / f"grader/emulator/devices/{gpu}.device").read_text(encoding="utf-8")
        capability = re.findall(r"^compute_capability = (.*)$", device, re.MULTILINE)[0].replace(".", "")
        assert f"{capability}-real" in ours or f"compute_{capability}" not in shown, gpu
    older = tmp_path / "nvcc"
    older.write_text("#!/bin/sh\nfor a in 50 60 70 75 80 86 87 89 90; do echo compute_$a; done\n", encoding="utf-8")
    older.chmod(0o755)
    codes = ["70-real", "75-real", "80-real", "86-real", "89-real", "90-real"]
    assert chosen(str(older)) == ["70-virtual", *codes, "90-virtual"], "a V100's too"


@pytest.mark.parametrize("asked", ["9o", "75-virtual;sm_90"])
def test_what_is_no_architecture_is_told_with_an_example(tmp_path: Path, asked: str) -> None:
    known = (ROOT / ".cache/toolchain.env").read_text(encoding="utf-8")
    nvcc = re.findall(r"^NVCC=(.*)$", known, re.MULTILINE)[0]
    command: Words = ["cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_CUDA_COMPILER={nvcc}"]
    done = subprocess.run(
        [*command, f"-DCMAKE_CUDA_ARCHITECTURES={asked}"], capture_output=True, text=True, check=False, timeout=120
    )
    said = re.sub(r"\s+", " ", done.stderr)
    assert done.returncode != 0
    assert f"ARCHITECTURES={asked.split(';')[-1]} is no compute capability." in said, said
    assert "for instance ARCHITECTURES=75-virtual,90" in said, said


# ---- Bare roots and images


def reason_against_roots() -> str:
    """Why no bare root can be made here; empty where one can."""
    if os.geteuid() != 0:
        return "bare roots take root's rights"
    if not shutil.which("debootstrap"):
        return "no debootstrap on this machine"
    if not (ROOT / ".git").exists():
        return "the hand-out lists what git tracks, and this is no checkout"
    return ""


@pytest.fixture(scope="module")
def bare_root() -> Path:
    """A bare Debian 12, packed; it is made once and stays in .cache."""
    if reason := reason_against_roots():
        pytest.skip(reason)
    folder = ROOT / ".cache/roots"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return Path(install_roots.make_root(install_roots.PLATFORMS[0], folder))
    except install_roots.StepError as error:
        pytest.skip(f"no bare Debian 12 can be made here: {error}")


def log_of(bare_root: Path) -> str:
    """What was typed in the roots, and what was answered."""
    log = bare_root.parent / f"bookworm-{platform.machine()}.log"
    return log.read_text(encoding="utf-8") if log.exists() else ""


@pytest.fixture(scope="module")
def archives(bare_root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The package and the hand-out of the programs that are built here, for tests that have a root."""
    assert bare_root.exists()
    folder = tmp_path_factory.mktemp("archives")
    made = {}
    for name, options in (("package", []), ("handout", ["--handout"])):
        made[name] = folder / f"warpgrade-{name}.tar.gz"
        command: Words = [ROOT / "scripts/package", *options, "--build", BUILD, "--output", made[name]]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, first_lines(done)
    return made


@pytest.mark.parametrize(("number", "container"), [(0, True), (1001, False)])
def test_a_platforms_place_has_its_user_and_no_namespaces(
    bare_root: Path, tmp_path: Path, number: int, container: bool
) -> None:
    """What the kernel says inside, by util-linux' unshare; the machine's own limit stays as it is."""
    machine = Path("/proc/sys/user/max_user_namespaces").read_text(encoding="ascii")
    root = tmp_path / "root"
    root.mkdir()
    subprocess.run(["tar", "-C", root, "-xf", bare_root], check=True)
    rights = install_roots.Rights("runner" if number else "root", number, confined=True, container=container)
    install_roots.add_user(root, rights.user, number)
    looks = "unshare --user true 2>&1 || true; ls -d /.dockerenv ~ 2>&1 || true"
    tell = f"id -u; cat /proc/sys/user/max_user_namespaces; {looks}"
    said = install_roots.enter(root, rights, tell, tmp_path / "log").split("\n")
    assert said[:2] == [str(number), "0"]
    assert "unshare failed" in said[2]
    assert ("/.dockerenv" in said) is container
    assert rights.home in said
    if number:
        made = install_roots.enter(
            root, install_roots.Rights(rights.user, number), "unshare --user echo made", tmp_path / "log"
        )
        assert "made" in made, "an ordinary machine allows it"
    assert Path("/proc/sys/user/max_user_namespaces").read_text(encoding="ascii") == machine


def test_places_take_their_commands_from_what_platforms_are_given() -> None:
    """The scripts themselves are run by `scripts/prove-install --places`."""
    assert [place.name for place in install_places.PLACES] == [
        "Colab-like",
        "GitHub-runner-like",
        "Gradescope-like",
        "devcontainer",
    ]
    assert {place.suite for place in install_places.PLACES} <= {each.suite for each in install_roots.PLATFORMS}

    class Writes:
        """A visit that keeps what would be typed."""

        root = home = Path("/nowhere")

        def __init__(self) -> None:
            self.typed: dict[str, str] = {}

        def give(self, source: Path, name: str) -> None:
            assert source.exists(), name

        def step(self, name: str, script: str, expected: str = "") -> None:  # noqa: ARG002
            self.typed[name] = script

    on_github, in_container = Writes(), Writes()
    install_places.be_on_github(on_github, Path(__file__))
    assert "sha256sum --check --quiet" in on_github.typed["command 1"]
    assert "scripts/bridges/github/judge" in on_github.typed["command 2, first result"]
    install_places.be_in_a_devcontainer(in_container, Path(__file__))
    assert "scripts/bootstrap judge" in str(in_container.typed)
    assert install_places.commands_took({"command 1 (all of it downloads)": 90, "downloads": 5, "command 2": 7}) == 7


def test_a_student_and_an_instructor_need_nothing_but_a_bare_debian_12(
    archives: dict[str, Path], bare_root: Path
) -> None:
    command: Words = [ROOT / "scripts/prove-install", "--platform", "Debian 12", "--tree", BUILD]
    command += ["--handout", archives["handout"], "--package", archives["package"], "--roots", bare_root.parent]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    if done.returncode != 0:
        skip_without_network(done.stdout + done.stderr + log_of(bare_root))
    assert done.returncode == 0, first_lines(done)
    assert "| records and those of a run from the tree | same |" in done.stdout
    assert "| result | passed |" in done.stdout
    typed = log_of(bare_root)
    assert all(f"\n{command}\n" in typed for command in install_people.readme_commands()[0]), (
        "README.md's commands, as they stand"
    )


def test_a_room_without_a_network_needs_a_toolkit_and_a_compiler_alone(bare_root: Path, tmp_path: Path) -> None:
    """Debian 12's own Python, make and g++, a toolkit, no interface that is up: the hand-out carries the rest."""
    packed = tmp_path / "handout.tar.gz"
    command: Words = [ROOT / "scripts/package", "--handout", "--offline", "3.11", "--build", BUILD, "--output", packed]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if "no network?" in done.stderr or "no network, " in done.stderr:
        pytest.skip(done.stderr.strip()[-200:])
    assert done.returncode == 0, first_lines(done)
    settings = lines_of((ROOT / ".cache/toolchain.env").read_text(encoding="utf-8"))
    toolkit = next(line.partition("=")[2] for line in settings if line.startswith("CUDA_HOME="))
    command = [ROOT / "scripts/prove-install", "--platform", "Debian 12", "--roots", bare_root.parent]
    done = subprocess.run(
        [*command, "--offline", packed, "--toolkit", toolkit], capture_output=True, text=True, check=False, timeout=1800
    )
    if "FAILED: debootstrap:" in done.stdout:  # g++ comes from Debian's archive
        skip_without_network(done.stdout)
    assert done.returncode == 0, first_lines(done)
    assert "| result | passed |" in done.stdout


def test_a_laptop_needs_nothing_but_python_and_ssh(bare_root: Path) -> None:
    """The commands of student/remote.md in a bare Debian 12, against this machine's sshd and the desk of this build."""
    if sshd() is None:
        pytest.skip("no sshd on this machine")
    command: Words = [ROOT / "scripts/prove-install", "--platform", "Debian 12", "--tree", BUILD, "--remote"]
    done = subprocess.run(
        [*command, "--roots", bare_root.parent], capture_output=True, text=True, check=False, timeout=900
    )
    if done.returncode != 0:
        skip_without_network(done.stdout + done.stderr)
    assert done.returncode == 0, first_lines(done) + log_of(bare_root)[-3000:]
    assert "| laptop: `test`, `status`, `cancel` |" in done.stdout
    assert "| result | passed |" in done.stdout


@pytest.fixture
def buildah(tmp_path: Path) -> Iterator[list[str | Path]]:
    """The command's beginning: images lie in the test's own folder, in layers where they may be stacked, else whole."""
    if not shutil.which("buildah"):
        pytest.skip("no buildah on this machine")
    reason = ""
    for driver in ("overlay", "vfs"):
        places: Words = ["--root", tmp_path / driver, "--runroot", tmp_path / f"{driver}.running"]
        command: Words = ["buildah", *places, "--storage-driver", driver]
        try:
            container = said(command, "from", "scratch").strip()
            said(command, "add", container, ROOT / "README.md", "/")
        except AssertionError as error:
            reason = str(error)
            continue
        yield command
        said(command, "rm", "--all")
        shutil.rmtree(tmp_path / driver)
        return
    pytest.skip(f"buildah may not work here: {reason[-300:]}")


def bare_image(buildah: Words, bare_root: Path) -> None:
    """localhost/bare: the root, in place of a registry's debian:12-slim. pip trusts there whom this machine trusts."""
    (container,) = said(buildah, "from", "scratch").split()
    said(buildah, "add", container, bare_root, "/")
    if any(Path("/usr/local/share/ca-certificates").glob("*.crt")):
        said(buildah, "copy", container, "/etc/ssl/certs/ca-certificates.crt", "/etc/own-authorities.crt")
        said(buildah, "config", "--env", "PIP_CERT=/etc/own-authorities.crt", container)
    said(buildah, "commit", "--rm", container, "localhost/bare")


def said(buildah: Words, *arguments: str | Path, cwd: Path | None = None) -> str:
    """What a command of buildah's printed; it must succeed."""
    done = subprocess.run([*buildah, *arguments], capture_output=True, text=True, check=False, timeout=600, cwd=cwd)
    if done.returncode != 0:
        skip_without_network(done.stdout + done.stderr)
    assert done.returncode == 0, first_lines(done)
    return done.stdout


def test_the_students_image_is_built_and_tests_a_stub(
    archives: dict[str, Path], bare_root: Path, buildah: Words, tmp_path: Path
) -> None:
    bare_image(buildah, bare_root)
    context = tmp_path / "context"
    context.mkdir()
    shutil.copy(archives["handout"], context / "handout.tar.gz")
    build: Words = ["build", "--isolation", "chroot", "-t", "labs"]
    build += ["-f", ROOT / "scripts/containers/Containerfile.student"]
    build += ["--build-arg", "BASE=localhost/bare", "--build-arg", "HANDOUT=handout.tar.gz", "."]
    said(buildah, *build, cwd=context)
    (container,) = said(buildah, "from", "localhost/labs").split()
    printed = said(buildah, "run", "--isolation", "chroot", container, "--", "make", "test", "LAB=spmm")
    assert re.search(r"not written yet: \d+ cases", printed), printed
    assert "not fully isolated" in printed or "sandbox" not in printed, printed
