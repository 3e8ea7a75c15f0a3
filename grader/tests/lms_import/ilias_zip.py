"""ILIAS' multi-feedback, from class.ilExAssignment.php of github.com/ILIAS-eLearning/ILIAS.

By uploadMultiFeedbackFile and getMultiFeedbackFiles ILIAS takes files of feedback from an archive, but no marks.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from .people import ImportRefusedError, LmsPerson, one


def ilias_feedback(file: Path, people: list[LmsPerson]) -> dict[str, dict[str, str]]:
    """Files by key: a member's number is what stands behind a folder's last underscore."""
    files: dict[str, dict[str, str]] = {}
    with zipfile.ZipFile(file) as archive:
        names = [name.split("/") for name in archive.namelist()]
        if not any(parts[0].startswith("multi_feedback") for parts in names):
            raise ImportRefusedError("exc_no_feedback_dir_found_in_zip")
        for name, parts in zip(archive.namelist(), names, strict=True):
            person = one(people, lambda p: p.number, parts[1].rpartition("_")[2])
            if len(parts) == 3 and person is not None and not parts[2].startswith("."):
                files.setdefault(person.key, {})[parts[2]] = archive.read(name).decode()
    return files
