"""`data fetch` against a real HTTP server: whole, cut, resumed, changed, lying."""

import gzip
import io
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import DataTool
from http_server import Site, serving

EDGES = 3000


def ogb_zip(edges: int = EDGES, claimed: int | None = None) -> bytes:
    """OGB's layout; incompressible enough to be cut at interesting places."""
    text = "".join(f"{(i * 7919) % 1000},{(i * 104729) % 997}\n" for i in range(edges))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in [
            ("edge.csv.gz", text),
            ("num-node-list.csv.gz", "1000\n"),
            ("num-edge-list.csv.gz", f"{claimed or edges}\n"),
        ]:
            archive.writestr(f"small/raw/{name}", gzip.compress(content.encode(), mtime=0))
    return out.getvalue()


@dataclass
class Fetching:
    tool: DataTool
    site: Site
    catalog: Path

    def catalogue(self, path: str = "small.zip", n: int = 1000, nnz: int = 2 * EDGES) -> None:
        self.catalog.write_text(
            f"datasets:\n  small:\n    kind: stand-in\n    n: {n}\n    nnz: {nnz}\n    skew: 0.5\n"
            f"    aliases: [tiny]\n"
            f"    original: {{url: '{self.site.url}/{path}', page: none, format: ogb, mirror: twice}}\n"
        )

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [self.tool.binary, "--catalog", self.catalog, "--cache", self.tool.cache, "data", *arguments]
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=120)

    def part(self) -> Path:
        return self.tool.cache / "downloads" / "small@original" / "small.zip.part"


@pytest.fixture
def fetching(tool: DataTool, tmp_path: Path) -> Iterator[Fetching]:
    with serving({"small.zip": ogb_zip()}) as site:
        fetching = Fetching(tool, site, tmp_path / "catalog.yaml")
        fetching.catalogue()
        if "no libcurl" in fetching.run("fetch", "small").stderr:
            pytest.skip("built without libcurl")
        fetching.run("cache", "--limit", "0")
        for left in tool.cache.rglob("*"):
            if left.is_file() or left.is_symlink():
                left.unlink()
        site.asked.clear()
        yield fetching


def test_a_published_graph_comes_whole_and_is_pinned(fetching: Fetching) -> None:
    done = fetching.run("fetch", "tiny")
    assert done.returncode == 0, done.stderr
    assert "1000 x 1000, 6000 entries" in done.stdout
    assert (fetching.tool.cache / "small@original.npz").exists()
    assert "sha256" in (fetching.tool.cache / "datasets.lock").read_text()
    assert not list((fetching.tool.cache / "downloads").rglob("*.zip")), "the download is kept only with --keep"
    again = fetching.run("fetch", "small")
    assert "already there" in again.stdout
    assert len(fetching.site.asked) == 1
    assert fetching.run("verify").returncode == 0


def test_a_cut_connection_goes_on_where_it_broke(fetching: Fetching) -> None:
    fetching.site.cut_after = [5000, 1000]
    done = fetching.run("fetch", "small")
    assert done.returncode == 0, done.stderr
    assert fetching.site.asked == [None, "bytes=5000-", "bytes=6000-"]


def test_a_killed_fetch_goes_on_in_the_next_call(fetching: Fetching) -> None:
    fetching.site.cut_after = [4000] + [0] * 4
    broken = fetching.run("fetch", "small")
    assert broken.returncode == 1
    assert "goes on from byte 4000" in broken.stderr
    assert fetching.part().stat().st_size == 4000
    fetching.site.asked.clear()
    done = fetching.run("fetch", "small")
    assert done.returncode == 0, done.stderr
    assert fetching.site.asked == ["bytes=4000-"]
    assert "went on from byte 4,000" in done.stdout


def test_of_two_jobs_that_want_one_graph_one_fetches_it(fetching: Fetching) -> None:
    command = [fetching.tool.binary, "--catalog", fetching.catalog, "--cache", fetching.tool.cache, "data", "fetch"]
    words = [str(word) for word in [*command, "small"]]
    jobs = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [job.communicate(timeout=120)[0] for job in jobs]
    assert all(job.returncode == 0 for job in jobs)
    assert fetching.site.asked == [None]
    assert sum("already there" in output for output in outputs) == 2


def test_a_file_that_changed_meanwhile_begins_anew(fetching: Fetching) -> None:
    fetching.site.cut_after = [4000] + [0] * 4
    fetching.run("fetch", "small")
    fetching.site.etag = '"v2"'
    fetching.site.files["small.zip"] = ogb_zip(EDGES) + b""
    done = fetching.run("fetch", "small")
    assert done.returncode == 0, done.stderr
    assert "6000 entries" in done.stdout


def test_a_server_without_ranges_sends_it_all_again(fetching: Fetching) -> None:
    fetching.site.cut_after = [4000]
    fetching.site.ranges = False
    done = fetching.run("fetch", "small")
    assert done.returncode == 0, done.stderr
    assert "6000 entries" in done.stdout


def test_busy_servers_are_asked_again_and_redirections_followed(fetching: Fetching) -> None:
    fetching.catalogue("moved/small.zip")
    fetching.site.status = [503]
    done = fetching.run("fetch", "small")
    assert done.returncode == 0, done.stderr
    assert fetching.site.status == [], "the busy answer was never given"
    assert "6000 entries" in done.stdout


def test_a_missing_file_is_an_error_at_once(fetching: Fetching) -> None:
    fetching.catalogue("gone.zip")
    done = fetching.run("fetch", "small")
    assert done.returncode == 1
    assert "404" in done.stderr
    assert "gone.zip" in done.stderr
    assert len(fetching.site.asked) == 1


def test_a_published_file_that_changes_is_refused_until_repinned(fetching: Fetching) -> None:
    assert fetching.run("fetch", "small").returncode == 0
    other = bytearray(ogb_zip())
    with zipfile.ZipFile(io.BytesIO(bytes(other))):
        pass
    fetching.site.files["small.zip"] = ogb_zip(EDGES) + b"\0" * 10  # a trailing comment's worth of bytes
    fetching.site.etag = '"v2"'
    refused = fetching.run("fetch", "small", "--again")
    assert refused.returncode == 1
    assert "pinned on" in refused.stderr
    assert "--repin" in refused.stderr
    assert fetching.run("fetch", "small", "--repin").returncode == 0


def test_verify_holds_what_is_cached_to_the_staffs_pins(fetching: Fetching, tmp_path: Path) -> None:
    staffs = fetching.catalog.parent / "datasets.lock"
    staffs.write_text("")  # beside the catalogue: it is the one that is kept
    assert fetching.run("fetch", "small").returncode == 0
    assert not (fetching.tool.cache / "datasets.lock").exists()
    assert fetching.run("verify").returncode == 0
    other = staffs.read_text().replace("content: ", "content: 00")
    staffs.write_text(other)
    assert fetching.run("verify").returncode == 1
    (tmp_path / "mine.lock").write_text("")
    assert fetching.run("verify", "--lock", tmp_path / "mine.lock").returncode == 0


def test_an_import_by_hand_is_pinned_and_held_to_its_pin(fetching: Fetching, tmp_path: Path) -> None:
    (tmp_path / "got.zip").write_bytes(ogb_zip())
    first = fetching.run("import", tmp_path / "got.zip", "--name", "small@original")
    assert first.returncode == 0, first.stderr
    assert "pinned in" in first.stdout
    assert "file:got.zip" in (fetching.tool.cache / "datasets.lock").read_text()
    assert fetching.run("import", tmp_path / "got.zip", "--name", "small@original").returncode == 0
    edges = "".join(f"{i % 1000},{(i * 31 + 1) % 1000}\n" for i in range(EDGES))
    (tmp_path / "other.csv").write_text(edges)
    other = ["import", tmp_path / "other.csv", "--name", "small@original", "--format", "edge-list"]
    other += ["--mirror", "twice", "--keep-duplicates"]
    before = (fetching.tool.cache / "small@original.npz").readlink()
    refused = fetching.run(*other)
    assert refused.returncode == 1
    assert "other.csv: expected the matrix" in refused.stderr
    assert "--repin" in refused.stderr
    assert (fetching.tool.cache / "small@original.npz").readlink() == before
    assert fetching.run(*other, "--repin").returncode == 0
    assert fetching.run("verify").returncode == 0


def test_counts_other_than_published_are_refused(fetching: Fetching) -> None:
    fetching.catalogue(nnz=6002)
    done = fetching.run("fetch", "small")
    assert done.returncode == 1
    assert "expected 1000 nodes and 6002 entries as published, got 1000 x 1000 and 6000" in done.stderr
    assert not (fetching.tool.cache / "small@original.npz").exists()
    assert not (fetching.tool.cache / "datasets.lock").exists()


def test_a_lying_count_in_the_archive_is_refused(fetching: Fetching) -> None:
    fetching.site.files["small.zip"] = ogb_zip(claimed=EDGES + 1)
    done = fetching.run("fetch", "small")
    assert done.returncode == 1
    assert "num-edge-list" in done.stderr


def test_graphs_that_a_person_must_get_say_how(fetching: Fetching) -> None:
    done = fetching.tool.run("fetch", "am")
    assert done.returncode == 1
    assert "dgl.data.AMDataset" in done.stderr
    assert "data import FILE --name am@original" in done.stderr


def test_a_stand_in_is_not_fetched_under_its_own_name(fetching: Fetching) -> None:
    for name in ("arxiv@v2", "arxiv@0.01"):
        done = fetching.tool.run("fetch", name)
        assert done.returncode == 1
        assert f"{name} is generated; `warpgrade data fetch arxiv` gets the published graph" in done.stderr
