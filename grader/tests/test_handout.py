"""What students get works, and holds nothing that is to stay with the staff."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import install_people
import junitparser
import prove_install
import pytest
import yaml
from code_hosts import commands_in
from conftest import ROOT, WARPGRADE, Words
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from platform_box import GithubRunner

# Folders of a lab that hold its solutions, and folders that hold copies of them.
SOLUTIONS = [
    *(lab / kind for lab in sorted(ROOT.glob("reference/*")) for kind in ("naive", "optimized", "steps")),
    ROOT / "reference/matmul/optimized_3xtf32",
    ROOT / "grader/tests",
    ROOT / "grader/emulator/tests",
]
BOUNDS = r"__launch_bounds__\((?:[^()]|\([^()]*\))*\)"
KERNEL = re.compile(rf"__global__\s+(?:{BOUNDS}\s+)?void\s+(?:{BOUNDS}\s+)?(?!__launch_bounds__)(\w+)\s*\(")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hand-out of the programs that are built here."""
    if not (ROOT / ".git").exists():
        pytest.skip("the hand-out lists what git tracks, and this is no checkout")
    archive = tmp_path_factory.mktemp("archive") / "handout.tar.gz"
    command: Words = [ROOT / "scripts/package", "--handout", "--build", WARPGRADE.parents[1], "--output", archive]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return archive


@pytest.fixture(scope="module")
def handout(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hand-out, unpacked."""
    folder = tmp_path_factory.mktemp("handout")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    return unpacked


def text_files(folder: Path) -> dict[str, str]:
    """Every file under the folder that is text, by relative path."""
    return {
        str(path.relative_to(folder)): data.decode("utf-8", errors="replace")
        for path in folder.rglob("*")
        if path.is_file() and b"\0" not in (data := path.read_bytes())
    }


def hashes(folder: Path) -> dict[str, Path]:
    """The files under the folder by what they hold."""
    return {
        hashlib.sha256(path.read_bytes()).hexdigest(): path
        for path in folder.rglob("*")
        if path.is_file() and path.stat().st_size > 0
    }


def test_holds_a_stub_and_a_contract_for_every_lab(handout: Path) -> None:
    labs = sorted(path.stem for path in (ROOT / "student").glob("*/*.cu") if path.stem == path.parent.name)
    assert labs
    for lab in labs:
        assert list((handout / "student" / lab).glob("*.cu")), lab
        assert (handout / "student" / lab / "README.md").exists()
        assert (handout / "reference/include/warpgrade" / f"{lab}.h").exists()


def test_holds_no_file_of_a_solution(handout: Path) -> None:
    stubs = hashes(ROOT / "student")  # one stands in a test's class, too
    secret = {key: path for folder in SOLUTIONS for key, path in hashes(folder).items() if key not in stubs}
    assert len(secret) > 50
    for key, path in hashes(handout).items():
        assert key not in secret, f"{path} is {secret[key]}"


def test_names_no_kernel_of_a_solution(handout: Path) -> None:
    given = text_files(handout)
    public = {name for text in given.values() for name in KERNEL.findall(text)}
    kernels = {
        name
        for lab in sorted(ROOT.glob("reference/*"))
        for kind in ("optimized", "optimized_3xtf32", "steps")
        for source in (lab / kind).rglob("*.cu*")
        for name in KERNEL.findall(source.read_text(encoding="utf-8"))
    } - {name for name in public if name in naive_kernels()}
    assert kernels
    any_kernel = re.compile(rf"\b({'|'.join(sorted(kernels))})\b")
    for path, text in given.items():
        found = any_kernel.search(text)
        assert not found, f"{path} names {found[1]}"


def naive_kernels() -> set[str]:
    """Kernels of the naive baselines, which students get; a step may bear the same name."""
    return {
        name
        for source in ROOT.glob("reference/*/naive/*.cu")
        for name in KERNEL.findall(source.read_text(encoding="utf-8"))
    }


def test_policies_say_limits_and_nothing_of_points(handout: Path) -> None:
    policies = sorted((handout / "grader/policies").glob("*.yaml"))
    assert [path.name for path in policies] == sorted(path.name for path in (ROOT / "grader/policies").glob("*.yaml"))
    for path in policies:
        policy = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert set(policy) <= {"schema", "name", "lab", "baseline", "secret_baselines", "limits"}, path


def test_holds_no_run_seed_or_published_record(handout: Path) -> None:
    for path in text_files(handout):
        assert not re.search(r"(^|/)(runs|published|\.git|\.cache|\.venv|build)(/|$)|seed$", path), path


def start(command: list[str | Path], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command in the hand-out, as a student without this project's variables starts it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("WARPGRADE", "CCACHE"))}
    environment["WARPGRADE_CACHE"] = str(ROOT / ".cache")  # what links with submissions is compiled there already
    return subprocess.run(
        command, cwd=folder, env=environment | variables, capture_output=True, text=True, check=False, timeout=600
    )


def run(command: list[str | Path], folder: Path, **variables: str) -> str:
    """Standard output of a command that must succeed."""
    done = start(command, folder, **variables)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_is_tried_where_it_was_unpacked_and_where_it_was_moved_to(handout: Path, tmp_path: Path) -> None:
    said = run(["./warpgrade", "test", "spmm", "--case", "synth-identity-k32", "--backend", "emulator"], handout)
    assert "not written yet: 1 case" in said
    moved = handout.rename(tmp_path / "moved here")
    try:
        said = run(["make", "test", "LAB=spmm", "CASE=synth-identity-k32", "BACKEND=emulator"], moved)
        assert "not written yet: 1 case" in said
        packed = run(["make", "submit", "LAB=spmm"], moved)
        assert "this packs an unwritten stub" in packed
        assert (moved / "spmm-submission.tar.gz").exists()
    finally:
        moved.rename(handout)


def test_its_records_are_those_of_the_tree(handout: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "grader/tests/demo_class/ada.row_per_warp", tmp_path / "class/ada")
    shutil.copytree(ROOT / "grader/tests/demo_class/hana.syntax_error", tmp_path / "class/hana")
    arguments: Words = ["grade", "class", "--lab", "spmm", "--cases", "synth-identity-k32", "--backend", "emulator"]
    arguments += ["--policy", handout / "grader/policies/spmm.yaml", "--quiet"]
    run([handout / "bin/warpgrade", *arguments, "--run", "hw1"], tmp_path)
    command = ["env", "-C", tmp_path, f"WARPGRADE_CACHE={ROOT / '.cache'}", WARPGRADE, *arguments]
    assert prove_install.repeat_from_tree(command, tmp_path / "hw1", tmp_path) == []
    # The comparison can fail: another seed gives other values, so other errors.
    assert prove_install.differences(
        install_people.records(tmp_path / "hw1"), install_people.records(tmp_path / "probe/hw1")
    )


def test_a_toolkit_that_its_emulator_does_not_serve_is_passed_over(handout: Path, tmp_path: Path) -> None:
    """Else every program would end at its start: the library of that name is not there."""
    other = tmp_path / "cuda-12"
    (other / "bin").mkdir(parents=True)
    (other / "bin/nvcc").write_text(
        "#!/bin/sh\necho 'Cuda compilation tools, release 12.4, V12.4.131'\n", encoding="utf-8"
    )
    (other / "bin/nvcc").chmod(0o755)
    known = (ROOT / ".cache/toolchain.env").read_text(encoding="utf-8")
    nvcc = Path(re.findall(r"^NVCC=(.*)$", known, re.MULTILINE)[0])
    variables = {"CUDA_HOME": str(other), "PATH": f"{nvcc.parent}:{os.environ['PATH']}", "WARPGRADE_SKIP_PACKAGES": "1"}
    command: Words = [handout / "scripts/bootstrap", "judge"]
    done = start(command, handout, **variables, WARPGRADE_CACHE_FOLDER=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    assert f"{other}/bin/nvcc is not used: it is CUDA 12.4.131, and the emulator of this package" in done.stderr
    assert f"NVCC={nvcc}\n" in (tmp_path / "cache/toolchain.env").read_text(encoding="utf-8")


def test_a_submission_that_includes_curand_gets_its_headers_with_the_toolkit(handout: Path) -> None:
    stub = handout / "student/sampling/sampling.cu"
    text = stub.read_text(encoding="utf-8")
    command: Words = ["bash", "-x", "./warpgrade", "test", "sampling", "--backend", "emulator"]
    for first, asks in (("// curand is not needed\n", False), ("#include <curand_kernel.h>\n", True)):
        stub.write_text(first + text, encoding="utf-8")
        done = start(command, handout)
        assert "not written yet: " in done.stdout, done.stdout + done.stderr[-3000:]
        assert ("export WARPGRADE_WITH_CURAND=1" in done.stderr) == asks, done.stderr[-3000:]
    stub.write_text(text, encoding="utf-8")


def test_a_programs_files_are_those_beside_it_and_no_others(handout: Path) -> None:
    for program in [*(handout / "bin").iterdir(), handout / "executor/warpgrade-executor"]:
        assert str(ROOT).encode() + b"/grader" not in program.read_bytes(), f"{program} names this checkout"


@pytest.fixture(scope="module")
def wheel(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hand-out as a package of Python's."""
    folder = tmp_path_factory.mktemp("wheel")
    run([sys.executable, ROOT / "scripts/wheel", archive, folder], folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_a_wheel_installed_by_pip_gives_the_command(wheel: Path, handout: Path, tmp_path: Path) -> None:
    run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], tmp_path)
    pip: Words = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        tmp_path / "venv/bin/python",
        "install",
        "--no-deps",
        "--no-index",
    ]
    run([*pip, wheel], tmp_path)
    command = tmp_path / "venv/bin/warpgrade"
    installed = next((tmp_path / "venv/lib").glob("python*/site-packages/warpgrade_handout/tree"))
    assert hashes(installed).keys() >= hashes(handout / "bin").keys()
    before = {path for path in installed.rglob("*") if path.name != "__pycache__"}
    notebook = (
        "import warpgrade.labs, warpgrade.judging; print(warpgrade.labs.package(), warpgrade.judging.is_installed())"
    )
    assert run([tmp_path / "venv/bin/python", "-c", notebook], tmp_path).split() == [str(installed), "True"]
    # Without a student's folder here, a line says where stubs are; with one, it is judged.
    done = start([command, "test", "spmm"], tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"cp -r '{installed}/student' ." in done.stderr
    shutil.copytree(installed / "student", tmp_path / "student")
    said = run([command, "test", "spmm", "--case", "synth-identity-k32", "--backend", "emulator"], tmp_path)
    assert "not written yet: 1 case" in said
    assert "then: warpgrade test" in said
    assert {path for path in installed.rglob("*") if path.name != "__pycache__"} == before, "nothing is written there"


def test_a_wheel_names_the_c_library_that_its_programs_need(wheel: Path, handout: Path) -> None:
    newest = (2, 0)
    for program in [*(handout / "bin").iterdir(), *(handout / "emulator").iterdir(), *(handout / "executor").iterdir()]:
        shown = subprocess.run(["objdump", "-p", program], capture_output=True, text=True, check=True).stdout
        newest = max([newest, *((2, int(minor)) for minor in re.findall(r"GLIBC_2\.(\d+)", shown))])
    assert f"-manylinux_{newest[0]}_{newest[1]}_" in wheel.name


def test_its_list_of_parts_is_cyclonedx_and_has_what_lies_in_it(handout: Path, archive: Path, tmp_path: Path) -> None:
    """Held against CycloneDX's published schema (in cyclonedx-python-lib), sha256sum, and dpkg's own versions."""
    named = tmp_path / "warpgrade-handout-0.2.0-linux-x86_64.tar.gz"
    named.symlink_to(archive)
    run([sys.executable, ROOT / "scripts/sbom", named, tmp_path / "parts.cdx.json"], tmp_path)
    text = (tmp_path / "parts.cdx.json").read_text(encoding="utf-8")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    bill = json.loads(text)
    hashed = {part["name"]: part["hashes"][0]["content"] for part in bill["components"] if "hashes" in part}
    with tarfile.open(archive) as packed:  # the folder has what other tests installed as well
        held = [handout / member.name.partition("/")[2] for member in packed if member.isfile()]
    programs = [path for path in held if path.read_bytes()[:4] == b"\x7fELF"]
    assert programs
    for program in programs:
        said = subprocess.run(["sha256sum", program], capture_output=True, text=True, check=True).stdout
        assert hashed[str(program.relative_to(handout))] == said.split()[0]
    versions = {part["name"]: part["version"] for part in bill["components"] if "version" in part}
    asked = [name for name in versions if name.endswith("-dev")]
    assert {"libsqlite3-dev", "libyaml-cpp-dev"} <= set(asked)
    show = ["dpkg-query", "--show", "--showformat", "${Package} ${Version}\n", *asked]
    installed = subprocess.run(show, capture_output=True, text=True, check=False)
    if installed.returncode == 0:  # unpacked ones are not installed
        known = dict(line.split(" ", 1) for line in installed.stdout.split("\n") if line)
        assert {name: versions[name] for name in asked} == known
    assert versions["pip"]
    assert versions["cuda-runtime"]


def test_a_part_without_a_version_is_named(archive: Path, tmp_path: Path) -> None:
    named = tmp_path / "warpgrade-handout-0.2.0-linux-x86_64.tar.gz"
    with tarfile.open(archive) as packed, tarfile.open(named, "w:gz") as changed:
        for member in packed:
            data = packed.extractfile(member) if member.isfile() else None
            text = data.read() if data else b""
            if member.name.endswith("licences/VERSIONS"):
                text = re.sub(rb"libfmt-dev [^\n]*\n", b"", text)
                member.size = len(text)
            changed.addfile(member, io.BytesIO(text) if data else None)
    done = start([sys.executable, ROOT / "scripts/sbom", named, tmp_path / "parts.cdx.json"], tmp_path)
    assert done.returncode == 1
    assert "licences/VERSIONS has no version of libfmt-dev" in done.stderr


def test_every_file_that_says_the_version_says_the_same() -> None:
    found = re.search(r"^project\(warpgrade VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
    assert found
    version = found[1]
    for file, words in {
        "CITATION.cff": f"version: {version}\n",
        "pyproject.toml": f'version = "{version}"\n',
        "grader/emulator/python/warpemu.py": f'__version__ = "{version}"\n',
        "student/warpgrade_remote.py": f'VERSION = "{version}"\n',
        "CHANGELOG.md": f"## {version}, ",
        "scripts/bridges/github/warpgrade.yml": f"warpgrade-handout-{version}-linux",
        "scripts/bridges/gitlab/warpgrade.gitlab-ci.yml": f"warpgrade-handout-{version}-linux",
    }.items():
        assert words in (ROOT / file).read_text(encoding="utf-8"), file


def test_a_releases_papers_are_notes_and_checksums(tmp_path: Path) -> None:
    (tmp_path / "warpgrade_remote.py").write_text("x", encoding="utf-8")
    done = start([ROOT / "scripts/release-papers", tmp_path, "0.2.0"], tmp_path)
    assert done.returncode == 0, done.stderr
    notes = (tmp_path / "NOTES.md").read_text(encoding="utf-8")
    assert notes.startswith("## 0.2.0, ")
    assert "## 0.1.0" not in notes
    checked = subprocess.run(
        ["sha256sum", "--check", "SHA256SUMS"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert checked.stdout.count(": OK") == 2
    refused = start([ROOT / "scripts/release-papers", tmp_path, "9.9"], tmp_path)
    assert refused.returncode == 1
    assert "no section '## 9.9, ...'" in refused.stderr


def test_a_cache_that_may_be_written_is_used_below_a_folder_that_may_not(handout: Path, tmp_path: Path) -> None:
    """As bridges have it: the hand-out is its owner's, and .cache the runner's."""
    cache = handout / ".cache"
    cache.mkdir(exist_ok=True)
    walls: Words = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", handout, handout, "--setenv", "HOME", tmp_path]
    with_cache: Words = ["--bind", cache, cache]
    for binds, used in ((with_cache, cache), (Words(), tmp_path / ".cache/warpgrade")):
        command: Words = [*walls, *binds, "--unsetenv", "WARPGRADE_CACHE", handout / "warpgrade", "doctor", "--json"]
        said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout
        assert f"free for the cache ({used})" in said


def test_a_students_repository_is_judged_on_githubs_runner(archive: Path, tmp_path: Path) -> None:
    """The steps of the bridge's workflow: the hand-out is fetched once, remarks stand at the student's lines."""
    runner = GithubRunner(ROOT / "scripts/bridges/github/warpgrade.yml", tmp_path, archive)
    steps = runner.steps("judge")
    assert list(steps) == ["Get Warpgrade", "Judge"]
    shutil.copytree(ROOT / "grader/tests/demo_class/hana.syntax_error", tmp_path / "work/student/spmm")
    got = runner.run(steps["Get Warpgrade"], PACKAGE_SHA256="0" * 64)
    assert got.returncode != 0, "a package that was changed on its way"
    assert not (tmp_path / "home/warpgrade").exists()
    got = runner.run(steps["Get Warpgrade"])
    assert got.returncode == 0, got.stderr
    assert runner.run(steps["Get Warpgrade"], PACKAGE_URL="file:///nowhere").returncode == 0, "the cache has it"

    judged = runner.run(steps["Judge"], CASES="synth-identity-k32")
    assert judged.returncode == 3, judged.stdout + judged.stderr
    remarks = commands_in(judged.stdout)
    assert [remark.name for remark in remarks] == ["error"] * 3
    assert [remark.properties for remark in remarks] == [
        {"file": "student/spmm/spmm.cu", "line": line, "title": "compile error"} for line in ("5", "6", "7")
    ]
    summary = (tmp_path / "temp/summary.md").read_text(encoding="utf-8")
    assert "| synth-identity-k32 | **compile error** |" in summary
    assert 'spmm.cu(5): error: expected a ";"' in summary
    assert "points" not in summary, "the hand-out does not know them"
    junit = junitparser.JUnitXml.fromfile(str(tmp_path / "temp/warpgrade-results/junit.xml"))
    assert (junit.tests, junit.errors) == (1, 1)
    assert not (tmp_path / "home/warpgrade/.cache/venv").exists(), "no report's packages are fetched"


@pytest.mark.parametrize("pythons", [",", "3", "2.7", "3.11 3.12", "3.11,"])
def test_what_names_no_python_makes_no_handout(tmp_path: Path, pythons: str) -> None:
    packed = tmp_path / "handout.tar.gz"
    command: Words = [ROOT / "scripts/package", "--handout", "--offline", pythons, "--build", WARPGRADE.parents[1]]
    done = subprocess.run([*command, "--output", packed], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert f"expected Pythons such as 3.11,3.12, or all; got '{pythons}'" in done.stderr
    assert not packed.exists()


def test_a_declared_lab_is_judged_in_a_room_without_a_network(tmp_path: Path) -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    packed = tmp_path / "handout.tar.gz"
    command: Words = [
        ROOT / "scripts/package", "--handout", "--offline", version, "--build", WARPGRADE.parents[1], "--output", packed
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if "no network?" in done.stderr:
        pytest.skip(done.stderr.strip()[-200:])
    assert done.returncode == 0, done.stdout + done.stderr
    with tarfile.open(packed) as given:
        given.extractall(tmp_path, filter="data")
    (handout,) = tmp_path.glob("warpgrade-handout-*")
    shutil.copy(ROOT / "reference/vector_add/naive/vector_add.cu", handout / "student/vector_add")
    search = f"{Path(sys.base_prefix, 'bin')}:/usr/local/bin:/usr/bin:/bin"
    environment = {"PATH": search, "HOME": str(tmp_path)}
    if "CUDA_HOME" in os.environ:
        environment["CUDA_HOME"] = os.environ["CUDA_HOME"]
    test: Words = ["unshare", "--net", "--map-root-user", "./warpgrade", "test", "vector_add", "--case", "odd"]
    done = subprocess.run(
        test, cwd=handout, env=environment, capture_output=True, text=True, check=False, timeout=600
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all cases are right" in done.stdout
