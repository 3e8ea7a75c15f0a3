"""`data list`, `data info` and `data import`, as a person runs them."""

import json
from pathlib import Path

from conftest import DataTool


def test_list_names_datasets_of_every_kind(tool: DataTool) -> None:
    done = tool.run("list")
    assert done.returncode == 0, done.stderr
    rows = {line[2:].split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    assert "real" in rows["cora"]
    assert "stand-in" in rows["arxiv"]
    assert "1,166,243" in rows["arxiv"]
    assert "synthetic" in rows["synth-hub"]
    assert "com-dblp" in rows
    everything = json.loads(tool.run("list", "--json").stdout)
    assert {"name": "arxiv", "n": 169343}.items() <= everything[
        [row["name"] for row in everything].index("arxiv")
    ].items()


def test_info_makes_a_dataset_and_describes_it(tool: DataTool) -> None:
    done = tool.run("info", "arxiv@0.01")
    assert done.returncode == 0, done.stderr
    assert "1693 x 1693, 11662 entries" in done.stdout
    assert "generator powerlaw-1" in done.stdout
    assert [path.name for path in tool.cache.glob("*.npz")] == ["arxiv@0.01.powerlaw-1.npz"]
    assert tool.run("info", "arxiv@0.01").stdout == done.stdout


def test_info_reads_a_file_as_well_as_a_name(tool: DataTool) -> None:
    by_name = tool.run("info", "synth-hub")
    by_file = tool.run("info", next(tool.cache.glob("synth-hub*.npz")))
    assert by_file.returncode == 0, by_file.stderr
    assert "longest 3500" in by_file.stdout
    assert by_file.stdout.split("hash")[1] == by_name.stdout.split("hash")[1]


def test_info_of_another_format_says_what_reads_it(tool: DataTool, tmp_path: Path) -> None:
    (tmp_path / "g.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n")
    done = tool.run("info", tmp_path / "g.mtx")
    assert done.returncode == 1
    assert "g.mtx: expected a dataset or an .npz file" in done.stderr
    assert "data import" in done.stderr


def test_an_unknown_name_exits_1_with_a_suggestion(tool: DataTool) -> None:
    done = tool.run("info", "arxvi")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: no dataset 'arxvi' (did you mean arxiv?)")


def test_import_puts_a_named_dataset_into_the_cache(tool: DataTool, tmp_path: Path) -> None:
    (tmp_path / "ring.txt").write_text("# a ring\n0 1\n1 2\n2 0\n")
    done = tool.run("import", tmp_path / "ring.txt", "--name", "my-ring")
    assert done.returncode == 0, done.stderr
    assert "3 x 3, 3 entries" in done.stdout
    assert (tool.cache / "my-ring.npz").exists()
    for command in ("info", "stats"):
        by_name = tool.run(command, "my-ring")
        assert by_name.returncode == 0, by_name.stderr
    assert "3 x 3, 3 entries" in tool.run("info", "my-ring").stdout


def test_a_name_like_none_gets_no_suggestion(tool: DataTool) -> None:
    done = tool.run("info", "nope")
    assert done.returncode == 1
    assert done.stderr == "error: no dataset 'nope'; `warpgrade data list` names them\n"


def test_info_says_where_facts_were_checked(tool: DataTool) -> None:
    shown = tool.run("info", "--catalogue", "citation@original").stdout
    assert "30,387,995 entries" in shown
    assert "counts: ogb.stanford.edu/docs/linkprop" in shown
    assert "unchecked licence, max_degree" in shown


def test_a_fit_of_what_has_none_prints_no_table(tool: DataTool) -> None:
    done = tool.run("fit", "synth-hub")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "stand-ins are square" in done.stderr


def test_a_failed_import_exits_1_and_leaves_nothing(tool: DataTool, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("0 1\n1 two\n")
    done = tool.run("import", tmp_path / "bad.txt", "--output", tmp_path / "out" / "bad.npz")
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {tmp_path}/bad.txt:2: expected an edge")
    assert not list((tmp_path / "out").glob("*")) if (tmp_path / "out").exists() else True


def test_a_damaged_cache_file_is_noticed(tool: DataTool) -> None:
    tool.run("info", "synth-hub")
    path = next(tool.cache.glob("synth-hub*.npz"))
    content = bytearray(path.read_bytes())
    content[len(content) // 4] ^= 1
    path.write_bytes(content)
    done = tool.run("info", path)
    assert done.returncode == 1
    assert "delete it" in done.stderr or "column" in done.stderr


def test_progress_and_escapes_stay_off_pipes(tool: DataTool) -> None:
    done = tool.run("info", "synth-uniform")
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
