"""Skips cannot hide: in continuous integration one that .ci/skips does not list fails the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, Words

SKIPS = 'import pytest\n\n\ndef test_one() -> None:\n    pytest.skip("{reason}")\n'
# As `ctest --output-junit` of CMake 3.25 writes a test of GoogleTest that was skipped.
RECORD = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="x" tests="1" failures="0" disabled="0" skipped="1">
	<testcase name="Box.Holds" classname="Box.Holds" time="0.1" status="notrun">
		<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
		<system-out>[ RUN      ] Box.Holds
/x/box_test.cpp:46: Skipped
{reason}

[  SKIPPED ] Box.Holds (0 ms)
</system-out>
	</testcase>
</testsuite>
"""


@pytest.mark.parametrize(
    ("reason", "ci", "code"),
    [("no sshd on this machine", True, 1), ("no sshd on this machine", False, 0), ("no AVX-512", True, 0)],
    ids=["not listed", "not listed, on a laptop", "listed"],
)
def test_a_skip_of_pytest_must_be_listed(tmp_path: Path, reason: str, ci: bool, code: int) -> None:
    (tmp_path / "test_skips.py").write_text(SKIPS.format(reason=reason), encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if key != "CI"} | ({"CI": "true"} if ci else {})
    words: Words = [sys.executable, "-m", "pytest", "-q", "-c", ROOT / "pyproject.toml", "--rootdir", tmp_path]
    done = subprocess.run(
        [*words, "-p", "no:cacheprovider", tmp_path], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert (".ci/skips does not list" in done.stdout) == (code == 1)


@pytest.mark.parametrize(("reason", "code"), [("bubblewrap is missing", 1), ("no AVX-512", 0)])
def test_a_skip_of_ctest_must_be_listed(tmp_path: Path, reason: str, code: int) -> None:
    record = tmp_path / "ctest.xml"
    record.write_text(RECORD.format(reason=reason), encoding="utf-8")
    words: Words = [sys.executable, ROOT / ".ci/listed_skips.py", record]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert ("Box.Holds: bubblewrap is missing" in done.stderr) == (code == 1)
