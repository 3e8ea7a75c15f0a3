"""Features of Triton's language on the emulator: the table of the page for students, row by row.

The programs are held against NumPy, and their meaning is Triton's documentation. What a device does not take is
Triton's own refusal, which names the reason.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from conftest import ROOT, warpgrade

PROGRAM = Path(__file__).parent / "triton/features.py"
PAGE = ROOT / "student/python.md"
PACKAGES = Path(os.environ.get("WARPGRADE_TRITON", ROOT / ".cache/triton"))
DEVICES = ("a100", "h200")

pytestmark = pytest.mark.skipif(
    not (PACKAGES / "triton/__init__.py").exists(), reason="Triton is not installed: scripts/bootstrap triton"
)


def features() -> dict[str, str]:
    """Names of functions, and the first lines of their documentation."""
    text = PROGRAM.read_text(encoding="utf-8")
    return dict(re.findall(r'@feature\ndef (\w+)\(\):\n    """(.*)"""', text))


def table() -> dict[str, dict[str, str]]:
    """What the page says of each on each device."""
    row = r"^\| (.+?) \| (runs|refused[^|]*?) \| (runs|refused[^|]*?) \|$"
    rows = re.findall(row, PAGE.read_text("utf-8"), re.MULTILINE)
    return {found[0]: dict(zip(DEVICES, found[1:], strict=True)) for found in rows}


def test_the_page_has_a_row_for_each_feature() -> None:
    """And none beside them."""
    assert set(table()) == set(features().values())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", features())
def test_a_feature_does_what_the_page_says(
    name: str, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs, right and blamed for nothing, or Triton's compiler refuses it."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    if name == "assertions":
        monkeypatch.setenv("TRITON_DEBUG", "1")
    done = warpgrade("python", "--checks", "all", "--device", device, PROGRAM, name, timeout=600)
    if table()[features()[name]][device] != "runs":
        assert re.search(r"CompilationError|requires NVIDIA SM90", done.stderr), done.stderr
        return
    assert done.stdout.split("\n")[-2] == "right", done.stderr
    told = re.findall(r"^emulator: (?!the program's PTX)(\w+) at features.py", done.stderr, re.MULTILINE)
    assert told == (["assert"] if name == "assertions" else []), done.stderr
