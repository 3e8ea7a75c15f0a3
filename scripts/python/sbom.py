#!/usr/bin/env python3
"""Lists the parts of a package or a wheel: scripts/sbom ARCHIVE OUTPUT.cdx.json.

CycloneDX 1.6, by the packaged library cyclonedx-python-lib. Parts are what lies in the archive: programs and libraries
with their SHA-256, each library that is linked in (licences/, with its version), and carried wheels.
Exit code 1 where a linked library has no version.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

ELF = b"\x7fELF"
# The name that the licence has, and what carries it.
NVIDIA = "cuda-runtime"


def contents(archive: Path) -> Iterator[tuple[str, bytes]]:
    """The files by their path below the archive's own folder (of a wheel: below tree/)."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as wheel:
            for name in sorted(wheel.namelist()):
                yield (
                    re.sub(r"^[^/]+/tree/", "", name).replace("warpemu_libraries/licences/", "licences/"),
                    wheel.read(name),
                )
        return
    with tarfile.open(archive) as tar:
        for member in tar:
            data = tar.extractfile(member) if member.isfile() or member.issym() else None
            if data is not None:
                yield member.name.partition("/")[2], data.read()


def sha256(data: bytes) -> HashType:
    """The hash as CycloneDX writes it."""
    return HashType(alg=HashAlgorithm.SHA_256, content=hashlib.sha256(data).hexdigest())


def of_library(name: str, version: str) -> Component:
    """A library that is linked in, by its Debian source or NVIDIA's."""
    debian = None if name == NVIDIA else PackageURL("deb", "debian", name, version)
    return Component(name=name, version=version, type=ComponentType.LIBRARY, purl=debian, bom_ref=f"library/{name}")


def parts(files: dict[str, bytes]) -> Iterator[Component]:
    """Programs and libraries; what is linked in; wheels."""
    for path, data in files.items():
        if data.startswith(ELF):
            kind = ComponentType.APPLICATION if path.startswith("bin/") else ComponentType.LIBRARY
            yield Component(name=path, type=kind, hashes=[sha256(data)], bom_ref=f"file/{path}")
        elif found := re.search(r"scripts/pip/(\w+)-([^-]+)-.*\.whl$", path):
            wheel = PackageURL("pypi", None, found[1], found[2])
            name, version = found[1], found[2]
            yield Component(name=name, version=version, type=ComponentType.LIBRARY, purl=wheel, hashes=[sha256(data)],
                            bom_ref=f"wheel/{name}")  # fmt: skip
    versions = dict(line.split(" ", 1) for line in files["licences/VERSIONS"].decode().split("\n") if line)
    for path in sorted(path for path in files if path.startswith("licences/") and path != "licences/VERSIONS"):
        name = path.removeprefix("licences/")
        if not versions.get(name):
            sys.exit(f"sbom: licences/VERSIONS has no version of {name}: where does {path} come from?")
        yield of_library(name, versions[name])


def bill(archive: Path) -> Bom:
    """The archive's list."""
    found = re.match(r"([a-z_-]+?)[-_](\d[0-9.]*\d)-", archive.name)
    if not found:
        sys.exit(f"sbom: {archive.name}: expected an archive as scripts/package or scripts/wheel names it")
    files = dict(contents(archive))
    if "licences/VERSIONS" not in files:
        sys.exit(f"sbom: {archive} has no licences/VERSIONS: scripts/package writes it")
    bom = Bom()
    whole = [sha256(archive.read_bytes())]
    bom.metadata.component = Component(name=found[1], version=found[2], type=ComponentType.APPLICATION, hashes=whole,
                                       bom_ref="archive")  # fmt: skip
    bom.components.update(parts(files))
    bom.register_dependency(bom.metadata.component, bom.components)
    return bom


if __name__ == "__main__":
    if len(sys.argv) != 3:  # noqa: PLR2004
        sys.exit("usage: scripts/sbom ARCHIVE OUTPUT.cdx.json")
    Path(sys.argv[2]).write_text(
        JsonV1Dot6(bill(Path(sys.argv[1]))).output_as_string(indent=1) + "\n", encoding="utf-8"
    )
