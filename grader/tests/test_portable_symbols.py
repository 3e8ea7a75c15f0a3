"""The programs ask nothing of the C library that Debian 11's has not, so that `make package PORTABLE=1` can be built.

That build is too slow for each check. This looks at the ordinary build instead: whatever it takes from the C library
in a version newer than 2.31 must be there under an older version as well, or be what the portable build brings along.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

OLDEST = (2, 31)
BUILD = Path(os.environ.get("WARPGRADE", "build/bin/warpgrade")).resolve().parent.parent
# Part of libc_nonshared.a before 2.33; in scripts/cmake/portable/older_libc.cpp; the shared libgcc's own affair; used
# where the headers have it (grader/judge/executor/host_process.cpp).
BROUGHT = {
    *("stat", "fstat", "lstat", "fstatat", "mknod", "mknodat", "stat64", "fstat64", "lstat64", "fstatat64"),
    *("__libc_single_threaded", "arc4random", "_dl_find_object", "posix_spawn_file_actions_addclosefrom_np"),
}


def symbols(file: Path) -> list[tuple[str, tuple[int, ...], bool]]:
    """The file's versioned symbols of the C library: name, version, whether it is defined there."""
    text = subprocess.run(["readelf", "--dyn-syms", "-W", file], capture_output=True, text=True, check=True).stdout
    found = []
    for line in text.splitlines():
        if match := re.search(r"\s(\S+)\s+(\w+)@{1,2}GLIBC_([\d.]+)", line):
            version = tuple(int(part) for part in match[3].split("."))
            found.append((match[2], version, match[1] != "UND"))
    return found


def in_older_versions() -> set[str]:
    """What this machine's C library has under a version that Debian 11 knows."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    names = set()
    for library in ("libc.so.6", "libm.so.6"):
        path = re.search(rf"{re.escape(library)} \(libc6,(?:x86-64|AArch64)[^)]*\) => (\S+)", listed)
        if not path:
            pytest.skip(f"no {library} in ldconfig's list")
        names |= {name for name, version, defined in symbols(Path(path[1])) if defined and version <= OLDEST}
    return names


def too_new(file: Path, older: set[str]) -> set[str]:
    """What the file asks for that Debian 11's C library has not."""
    wanted = {name for name, version, defined in symbols(file) if not defined and version > OLDEST}
    return wanted - older - BROUGHT


def test_programs_can_be_built_for_debian_11() -> None:
    files = [BUILD / "bin/warpgrade", BUILD / "bin/warpgrade-judge", BUILD / "executor/warpgrade-executor"]
    files += [*BUILD.glob("emulator/lib*.so.*"), *BUILD.glob("executor/lib*.so.*")]
    older = in_older_versions()
    assert len(older) > 1000, "the C library's own symbols were not read"
    assert {str(file): names for file in files if (names := too_new(file, older))} == {}


def test_a_function_of_2022_is_found(tmp_path: Path) -> None:
    source = tmp_path / "new.c"
    source.write_text("int close_range(unsigned, unsigned, int);\nint main(void) { return close_range(9, 9, 0); }\n")
    subprocess.run(["cc", "-o", tmp_path / "new", source], check=True)
    assert too_new(tmp_path / "new", in_older_versions()) == {"close_range"}
