"""The only way in which reports open what students handed in: plain files of bounded size, no links, nothing blocks.

The same rules as the judge's own (grader/base/untrusted.h).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

MAX_ENTRIES = 20_000
MAX_DEPTH = 32


def read_plain(file: Path, most_bytes: int) -> bytes | None:
    """The whole file, or None where it is no plain file, a link, longer than `most_bytes`, or cannot be read."""
    try:
        at = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(at, "rb") as opened:
        status = os.fstat(at)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most_bytes:
            return None
        content = opened.read(most_bytes + 1)
    return content if len(content) <= most_bytes else None


def files_below(folder: Path, most: int = MAX_ENTRIES) -> Iterator[Path]:
    """Names of files in the folder, sorted in each sub-folder.

    No link is entered, and neither depth nor count is without an end: after `most` entries it stops.
    """
    left = most
    for place, folders, files in os.walk(folder, followlinks=False):
        left -= len(folders) + len(files)
        if left < 0:
            return
        here = Path(place)
        folders.sort()
        if len(here.relative_to(folder).parts) >= MAX_DEPTH:
            folders.clear()
        yield from (here / name for name in sorted(files))
