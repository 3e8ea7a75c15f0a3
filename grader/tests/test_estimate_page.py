"""The page of estimates beside records holds what the program estimates and the records say."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from conftest import WARPGRADE
from warpgrade_bench import estimate_model, estimate_page


def test_the_page_of_estimates_holds_what_the_model_and_the_records_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = estimate_model.TABLE.read_text(encoding="utf-8")
    page = Path(shutil.copy(estimate_model.TABLE, tmp_path))
    page.write_text(re.sub(r"(: begin -->\n).*?(<!-- \w+: end)", r"\1\2", told, flags=re.DOTALL), encoding="utf-8")
    assert len(page.read_text(encoding="utf-8")) < len(told) / 2
    monkeypatch.setattr(estimate_page, "TABLE", page)
    monkeypatch.setattr(estimate_model, "WARPGRADE", str(WARPGRADE.resolve()))
    estimate_page.table()
    assert page.read_text(encoding="utf-8") == told, "scripts/validate-estimate table"
