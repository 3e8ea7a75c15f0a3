"""VS Code and Codespaces: the devcontainer, the task `test`, and its problem matchers on what the program says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import ROOT, warpgrade

NAIVE = (ROOT / "reference/vector_add/naive/vector_add.cu").read_text(encoding="utf-8")
# Types of the properties that are used, from schemas/devContainer.base.schema.json of github.com/devcontainers/spec
# (definitions devContainerCommon and imageContainer). No package of PyPI or Debian carries that schema.
WORDS = {"type": "string"}
DEVCONTAINER: dict[str, Any] = {
    "type": "object",
    "required": ["image"],
    "additionalProperties": False,
    "properties": {
        "name": WORDS,
        "image": WORDS,
        "features": {"type": "object", "additionalProperties": {"type": "object"}},
        "onCreateCommand": {"type": ["string", "array", "object"]},
        "customizations": {"type": "object"},
        "remoteEnv": {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
    },
}


def matchers() -> list[dict[str, Any]]:
    """The task's own."""
    tasks = json.loads((ROOT / ".vscode/tasks.json").read_text(encoding="utf-8"))
    (task,) = tasks["tasks"]
    assert [task["command"], *task["args"]] == ["make", "test", "LAB=${input:lab}"]
    assert [entry["id"] for entry in tasks["inputs"]] == ["lab"]
    found: list[dict[str, Any]] = task["problemMatcher"]
    return found


def problems(said: str) -> list[tuple[str, str, int, str]]:
    """Severity, file, line and message, as VS Code takes them: of each line, the first matcher that fits."""
    found = []
    for line in said.split("\n"):
        for matcher in matchers():
            pattern = matcher["pattern"]
            if fits := re.search(pattern["regexp"], line):
                file, number, message = (fits[pattern[part]] for part in ("file", "line", "message"))
                found.append((matcher["severity"], file, int(number), message))
                break
    return found


def test_the_devcontainer_has_the_published_properties_and_what_it_runs_is_there() -> None:
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    jsonschema.validate(container, DEVCONTAINER)
    program, *purposes = container["onCreateCommand"].split()
    assert (ROOT / program).is_file()
    text = (ROOT / program).read_text(encoding="utf-8")
    assert all(re.search(rf"^#   {re.escape(program)} {purpose} ", text, re.MULTILINE) for purpose in purposes)
    place = container["remoteEnv"]["PYTHONPATH"].replace("${containerWorkspaceFolder}", str(ROOT))
    assert Path(place, "warpgrade/__init__.py").is_file(), "%load_ext warpgrade"


@pytest.mark.parametrize(
    ("change", "severity", "line_of", "word"),
    [
        (("if (i < n)", "if (i <= n)"), "error", "i <= n", "just past the end"),
        (("  const int i", "  int x\n  const int i"), "error", "const int i", 'expected a ";"'),
        (("c[i] = a[i] + b[i];", "c[i] = a[i] + b[i] + shared[i];"), "error", "shared[i]", "undefined"),
    ],
)
def test_a_mistake_stands_at_its_line(
    tmp_path: Path, change: tuple[str, str], severity: str, line_of: str, word: str
) -> None:
    source = NAIVE.replace(*change)
    (tmp_path / "vector_add").mkdir()
    (tmp_path / "vector_add/vector_add.cu").write_text(source, encoding="utf-8")
    options = ("--case", "one", "--backend", "emulator", "--folder", tmp_path)
    said = warpgrade("test", "vector_add", *options).stdout
    ((level, file, line, message),) = problems(said)
    assert (level, file) == (severity, "vector_add.cu"), said
    assert line_of in source.split("\n")[line - 1]
    assert word in message


def test_what_is_right_and_should_be_corrected_is_a_warning(tmp_path: Path) -> None:
    folder = tmp_path / "vector_add"
    folder.mkdir()
    block = 'if (threadIdx.x == 0) { static volatile __shared__ int seen; if (seen == 7) printf("\\n"); }'
    source = NAIVE.replace("  if (i < n)", f"  {block}\n  if (i < n)").replace(
        "namespace {", "#include <cstdio>\nnamespace {", 1
    )
    (folder / "vector_add.cu").write_text(source, encoding="utf-8")
    said = warpgrade("test", "vector_add", "--case", "one", "--backend", "emulator", "--folder", tmp_path).stdout
    found = problems(said)
    assert [entry[:2] for entry in found] == [("warning", "vector_add.cu")], said
    assert "seen" in source.split("\n")[found[0][2] - 1]


def test_a_run_without_mistakes_has_no_problem(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "reference/vector_add/naive", tmp_path / "vector_add")
    said = warpgrade("test", "vector_add", "--case", "one", "--backend", "emulator", "--folder", tmp_path).stdout
    assert "all cases are right" in said
    assert problems(said) == []


def test_the_expressions_are_javascripts_as_well(tmp_path: Path) -> None:
    if not (node := shutil.which("node")):
        pytest.skip("no node on this machine: VS Code compiles the expressions by JavaScript")
    expressions = json.dumps([matcher["pattern"]["regexp"] for matcher in matchers()])
    script = tmp_path / "try.js"
    script.write_text(f"for (const text of {expressions}) new RegExp(text);", encoding="utf-8")
    subprocess.run([node, script], check=True)
