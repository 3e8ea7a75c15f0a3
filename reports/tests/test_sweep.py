"""The heat map, table and CSV of a parameter sweep."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from warpgrade_reports.sweep import main, read_sweep, render_page, table_csv


def summary(variants: int = 3) -> dict[str, Any]:
    """A sweep of one parameter over two cases; the last variant is wrong on the second one."""

    def value(v: int, scale: float) -> dict[str, Any]:
        return {"verdict": "accepted", "value": scale * (v + 1), "low": scale, "high": scale, "over_best": v + 1.0}

    wrong = {"verdict": "wrong_answer"}
    return {
        "schema": "warpgrade.sweep.v1",
        "run": "r",
        "lab": "spmm",
        "measure": "time_us",
        "variants": [
            {"title": f"TILE={v}", "accepted": 2, "cases": 2, "mean_over_best": v + 1.0, "worst_over_best": v + 1.0}
            for v in range(variants - 1)
        ]
        + [{"title": "TILE=wrong", "accepted": 1, "cases": 2}],
        "by_case": [
            {"id": "small", "best": "TILE=0", "as_good": [], "values": [value(v, 10.0) for v in range(variants)]},
            {
                "id": "large",
                "best": "TILE=0",
                "as_good": [],
                "values": [*(value(v, 99.5) for v in range(variants - 1)), wrong],
            },
        ],
        "best_single_choice": "TILE=0",
    }


def write(folder: Path, data: dict[str, Any]) -> Path:
    """A run's folder with that summary."""
    (folder / "sweep.json").write_text(json.dumps(data), encoding="utf-8")
    return folder


def test_writes_a_heat_map_a_table_and_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(write(tmp_path, summary()))]) == 0
    png = tmp_path / "report/sweep.png"
    assert png.read_bytes().startswith(b"\x89PNG")
    assert str(png) in capsys.readouterr().out
    text = (tmp_path / "report/sweep.md").read_text(encoding="utf-8")
    assert "Best single choice: **TILE=0**" in text
    assert "| TILE=1 | 20.0 µs (2.00) | 199.0 µs (2.00) | 2.000 |" in text
    assert "| TILE=wrong | 30.0 µs (3.00) | – | – |" in text


def test_csv_leaves_a_wrong_variants_value_empty(tmp_path: Path) -> None:
    lines = table_csv(read_sweep(write(tmp_path, summary()))).splitlines()
    assert lines[0] == "variant,case,time_us,over_best"
    assert lines[1] == "TILE=0,small,10.0,1.000000"
    assert lines[-1] == "TILE=wrong,large,,"


@pytest.mark.parametrize("text", ["", "{}", '{"schema": "warpgrade.case.v1"}', "[1]"])
def test_says_what_is_wrong_with_the_file(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sweep.json").write_text(text, encoding="utf-8")
    assert main([str(tmp_path)]) == 1
    assert "sweep.json" in capsys.readouterr().err


def test_says_how_to_make_a_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 1
    assert "warpgrade sweep" in capsys.readouterr().err


def test_the_page_has_each_ratio_and_each_value_and_a_dash_where_nothing_was_accepted(tmp_path: Path) -> None:
    assert main([str(write(tmp_path, summary()))]) == 0
    text = (tmp_path / "report/sweep.html").read_text(encoding="utf-8")
    assert "<td class=q4><b>1.00</b></td>" in text, "the best is bold on the plain shade"
    assert re.search(r"TILE=wrong</bdi></th><td class=none>–</td><td class=q[0-3]>3.00</td><td class=none>–</td>", text)
    assert "TILE=0 (best)" in text
    assert "199.0 µs" in text
    assert (tmp_path / "report/sweep.svg").read_text(encoding="utf-8").count("TILE=1") > 0


def test_a_variants_name_is_escaped_on_the_page(tmp_path: Path) -> None:
    data = summary()
    data["variants"][1]["title"] = "<script>alert(1)</script>"
    assert "<script>alert" not in render_page(read_sweep(write(tmp_path, data)))
