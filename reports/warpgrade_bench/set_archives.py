"""Published sets as archives: below ROOT lies `<gpu>/<name>.tar.xz`, which holds what a folder `<gpu>/<name>` had.

Whoever reads sets asks for `unpacked(ROOT)`. The same files make the same archive.
"""

from __future__ import annotations

import io
import lzma
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warpgrade_reports.source import ReportInputError

SUFFIX = ".tar.xz"


def archives(root: Path) -> list[Path]:
    """All of them, of every GPU model."""
    return sorted(root.glob(f"*/*{SUFFIX}"))


def unpack(root: Path, folder: Path) -> None:
    """Every archive below `root` as a folder below `folder`, under the name that pages give it."""
    for file in archives(root):
        target = folder / file.parent.name / file.name.removesuffix(SUFFIX)
        target.mkdir(parents=True, exist_ok=True)
        try:
            with tarfile.open(file, "r:xz") as archive:
                archive.extractall(target, filter="data")
        except (tarfile.ReadError, lzma.LZMAError, EOFError) as damaged:
            raise ReportInputError(
                str(file), f"expected an archive of a set ({damaged})", "take it from git anew, or pack it with --pack"
            ) from damaged


@contextmanager
def unpacked(root: Path) -> Iterator[Path]:
    """All sets of `root` as folders, for as long as they are needed; `root` itself where nothing is packed."""
    if not archives(root):
        yield root
        return
    with tempfile.TemporaryDirectory(prefix="warpgrade-sets-") as folder:
        unpack(root, Path(folder))
        yield Path(folder)


def pack(folder: Path, file: Path) -> bool:
    """Every file below `folder`; False where the archive holds just that, so that it stays as it is."""
    content = _tar_of(folder)
    if file.is_file() and lzma.decompress(file.read_bytes()) == content:
        return False
    part = file.with_name(file.name + ".part")
    part.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
    part.replace(file)
    return True


def _tar_of(folder: Path) -> bytes:
    """Without times, owners and modes."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            content = path.read_bytes()
            entry = tarfile.TarInfo(path.relative_to(folder).as_posix())
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()
