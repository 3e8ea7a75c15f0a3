"""The figure of `data plot`, from what `data stats --json` prints."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from warpgrade_reports import dataset_plot


def matrix(name: str, **changes: Any) -> dict[str, Any]:
    """Statistics of a small matrix."""
    degrees = {"histogram": [1, 5, 20, 4]}
    plain = {"name": name, "rows": 30, "cols": 30, "nnz": 90, "row_degrees": degrees, "column_degrees": degrees}
    return {**plain, "distances": [0.1, 0.2, 0.7], "reuse": {"histogram": [0.0, 0.3, 0.4]}, **changes}


def draw(monkeypatch: pytest.MonkeyPatch, text: str, output: Path) -> int:
    """Runs the command on the text."""
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    return dataset_plot.main(["--output", str(output)])


def test_one_to_four_matrices_are_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for count in (1, 4):
        lines = "\n".join(json.dumps(matrix(f"$m{i}")) for i in range(count))
        assert draw(monkeypatch, lines, tmp_path / "figure.png") == 0
        assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_a_file_is_read_like_standard_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = ["--output", str(tmp_path / "figure.png")]
    (tmp_path / "matrices.jsonl").write_text(json.dumps(matrix("m")), encoding="utf-8")
    assert dataset_plot.main([str(tmp_path / "matrices.jsonl"), *output]) == 0
    assert (tmp_path / "figure.png").exists()
    assert dataset_plot.main([str(tmp_path / "nowhere.jsonl"), *output]) == 1
    assert "nowhere.jsonl" in capsys.readouterr().err


def test_an_empty_matrix_is_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nothing: dict[str, list[Any]] = {"histogram": []}
    empty = matrix("none", row_degrees=nothing, column_degrees=nothing, distances=[], reuse=nothing)
    assert draw(monkeypatch, json.dumps(empty), tmp_path / "figure.png") == 0


@pytest.mark.parametrize("text", ["", "[]", "{}", "no json", "\n".join(["{}"] * 5)])
def test_other_input_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert draw(monkeypatch, text, tmp_path / "figure.png") == 1
    assert "data stats --json" in capsys.readouterr().err
    assert not (tmp_path / "figure.png").exists()


@pytest.mark.parametrize("ending", ["", ".foo", ".png.bak"])
def test_other_endings_are_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / f"figure{ending}"
    assert draw(monkeypatch, json.dumps(matrix("m")), output) == 1
    assert f"{output}: expected a name that ends in .png, .pdf, .svg" in capsys.readouterr().err


def test_a_failed_write_leaves_the_old_figure_and_nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    output = tmp_path / "figure.png"
    output.write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert draw(monkeypatch, json.dumps(matrix("m")), output) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["figure.png"]
    assert output.read_bytes() == b"old"


def test_long_rows_are_seen_beside_many_short_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One row of a million is a mark above the axis, not on it; buckets without rows are no marks."""
    degrees = {"histogram": [0, 999_999, 0, 1]}
    output = tmp_path / "figure.svg"
    assert draw(monkeypatch, json.dumps(matrix("m", row_degrees=degrees, column_degrees=degrees)), output) == 0
    assert "0.0001%" in output.read_text(encoding="utf-8")  # matplotlib's comments name the labels


@pytest.mark.parametrize(("bucket", "label"), [(0, "0"), (3, "7"), (9, "511"), (10, "1k"), (18, "256k"), (20, "1M")])
def test_lengths_are_labelled_in_binary_thousands(bucket: int, label: str) -> None:
    assert dataset_plot._power(bucket) == label


def test_a_folder_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "nowhere" / "figure.png"
    assert draw(monkeypatch, json.dumps(matrix("m")), output) == 1
    assert str(output) in capsys.readouterr().err
