"""Packs a folder into a zip archive: python -m warpgrade_reports.archive FOLDER OUTPUT.zip."""

from __future__ import annotations

import argparse
import zipfile
from pathlib import Path

EPOCH = (1980, 1, 1, 0, 0, 0)  # the same contents make the same archive


def pack(folder: Path, output: Path) -> None:
    """Every file below the folder, by its path there."""
    part = output.with_name(output.name + ".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            info = zipfile.ZipInfo(str(file.relative_to(folder)), EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, file.read_bytes())
    part.replace(output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    pack(options.folder, options.output)
