"""What the project's pages say of the tree: links, the walk through the code, the version."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def tracked(*patterns: str) -> list[Path]:
    """Files of the project by pathspec."""
    done = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in done.stdout.split("\0") if name]


def anchor(heading: str) -> str:
    """The name under which a page's heading is found, as Git hosts make it."""
    words = re.sub(r"[^\w\- ]", "", heading.strip().lower().replace("`", ""))
    return words.replace(" ", "-")


PAGES = [page for page in tracked("*.md") if "submissions" not in page.parts and page.parent.name != "report"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    # Two pages become the README of a package.
    folder = ROOT if page.name in {"handout.md", "package.md"} else page.parent
    broken = []
    for link in LINK.findall(text):
        if "://" in link or link.startswith("mailto:"):
            continue
        file, _, name = link.partition("#")
        target = (folder / file).resolve() if file else page
        if not target.exists():
            broken.append(link)
        elif name and target.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", FENCE.sub("", target.read_text(encoding="utf-8")), re.MULTILINE)
            if name not in map(anchor, headings):
                broken.append(link)
    assert not broken


def test_the_walk_follows_functions_that_are_there() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    walk = page.split("## Follow one submission", 1)[1].split("## ", 1)[0]
    stops = re.findall(r"^\d+\. ", walk, re.MULTILINE)
    assert len(stops) == 10
    named = re.findall(r"`([\w./]+\.(?:cpp|py))`,\s+`([\w:]+)`", walk)
    assert len(named) == 11  # the last stop has three, the first one none
    for file, function in named:
        text = (ROOT / file).read_text(encoding="utf-8")
        short = function.rsplit("::", 1)[-1]
        assert re.search(rf"\b{re.escape(short)}\(", text), f"{file}: no function {function}"


def test_the_citation_names_this_version() -> None:
    """What only the owner knows is marked, or is filled in."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    lists = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    assert f"VERSION {citation['version']} " in lists
    assert {"cff-version", "message", "title", "authors"} <= set(citation), "what the format wants"


def test_a_release_wants_its_changes_written_down(tmp_path: Path) -> None:
    """Before anything is built."""
    clone = tmp_path / "warpgrade"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone)], check=True)
    version = re.search(r"project\(warpgrade VERSION ([\d.]+)", (clone / "CMakeLists.txt").read_text(encoding="utf-8"))
    assert version is not None
    changes = clone / "CHANGELOG.md"
    text = changes.read_text(encoding="utf-8")
    assert f"\n## {version[1]}, " in text
    changes.write_text(
        re.sub(rf"^## {re.escape(version[1])}, .*$", "## none", text, flags=re.MULTILINE), encoding="utf-8"
    )
    refused = subprocess.run(["make", "release"], cwd=clone, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "the tree has changes: commit them first" in refused.stderr
    author = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    subprocess.run(["git", *author, "commit", "-qam", "no such version"], cwd=clone, check=True)
    refused = subprocess.run(["make", "release"], cwd=clone, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert f"CHANGELOG.md has no line '## {version[1]}, YEAR-MONTH-DAY'" in refused.stderr


def test_the_contributors_page_tells_the_size_of_the_trusted_core() -> None:
    """Within a twentieth: a part that grows by more is looked at, and its figure is written anew."""
    command = [sys.executable, str(ROOT / "scripts/python/trusted_core.py")]
    counted = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    counts = [int(line.split()[0].replace(",", "")) for line in counted.split("\n") if line]
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = page.split("## The trusted core")[1].split("##")[0]
    told = [int(found.replace(",", "")) for found in re.findall(r"\b(?:\d{1,2},)?\d{3}\b", section)]
    assert len(told) == len(counts) == 6
    assert sum(counts[:-1]) == counts[-1]
    for stands, is_so in zip(told, [counts[-1], *counts[:-1]], strict=True):
        assert abs(stands - is_so) < 0.05 * is_so, counted
