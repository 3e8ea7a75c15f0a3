"""The room's command-line tool, built beside these tests (see CMakeLists.txt)."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

CATALOG = Path(__file__).resolve().parent.parent / "catalog.yaml"


@dataclass(frozen=True)
class DataTool:
    """Runs `datasets_tool data ...` with a cache of its own."""

    binary: Path
    cache: Path

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [self.binary, "--catalog", CATALOG, "--cache", self.cache, "data", *arguments]
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=120)

    def import_file(self, source: Path, output: Path) -> Path:
        done = self.run("import", source, "--output", output)
        assert done.returncode == 0, done.stderr
        return output


@pytest.fixture
def tool(tmp_path: Path) -> DataTool:
    """The tool that WARPGRADE_DATASETS_TOOL names; ctest sets it."""
    binary = os.environ.get("WARPGRADE_DATASETS_TOOL")
    if not binary:
        pytest.skip("WARPGRADE_DATASETS_TOOL does not name the built datasets_tool; run through ctest")
    return DataTool(Path(binary), tmp_path / "cache")
