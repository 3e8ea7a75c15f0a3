"""Through the command: code compared with earlier years and kept fingerprints; the leaderboard as the policy has it."""

from __future__ import annotations

import json
import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from conftest import ROOT, warpgrade
from desk_place import ask_run, broken, desk_at, judged_once, packed

sys.path.append(str(ROOT / "reports/tests"))
from synthetic_class import SyntheticClass


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class of eight, collected."""
    made = SyntheticClass(students=8, graphs=["ddi"], faults=0)
    folder: Path = made.write(tmp_path_factory.mktemp("similar") / "run")
    done = warpgrade("collect", folder)
    assert done.returncode == 0, done.stderr
    return folder


def copy_of(run: Path, tmp_path: Path, board: str) -> Path:
    """The run under a policy with this leaderboard."""
    folder = tmp_path / "run"
    shutil.copytree(run, folder, ignore=shutil.ignore_patterns("export"))
    policy = (ROOT / "grader/policies/spmm.yaml").read_text(encoding="utf-8")
    assert "\n  leaderboard: shown " in policy
    policy = policy.replace("\n  leaderboard: shown ", f"\n  leaderboard: {board} ")
    (tmp_path / "policy.yaml").write_text(policy, encoding="utf-8")
    return folder


def test_fingerprints_are_kept_and_compared_in_a_later_year(run: Path, tmp_path: Path) -> None:
    kept = tmp_path / "2025.json"
    options = ("--format", "class-report", "--no-pdf", "--output")
    done = warpgrade("export", run, *options, tmp_path / "then", "--keep-fingerprints", kept)
    assert done.returncode == 0, done.stderr
    assert json.loads(kept.read_text(encoding="utf-8"))["names"] == "pseudonyms"
    done = warpgrade("export", run, *options, tmp_path / "now", "--against", kept, "--against", run)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "now/class-report/index.html").read_text(encoding="utf-8")
    assert page.count("(8 programs") == 2
    assert (tmp_path / "now/class-report/similar/1.html").exists()
    found = json.loads(warpgrade("attention", run, "--against", kept, "--json").stdout)["needs"]
    assert any("and student-" in who["note"] for need in found for who in need["people"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--format", "canvas", "--against", "."), "name class-report too"),
        (("--against", "no-such-folder"), "no-such-folder"),
        (("--format", "class-report", "--keep-fingerprints", "a", "--fingerprint-names", "full"), "pseudonyms"),
    ],
)
def test_options_that_would_do_nothing_are_told(options: tuple[str, ...], said: str, run: Path, tmp_path: Path) -> None:
    done = warpgrade("export", run, "--output", tmp_path / "out", *options, cwd=tmp_path)
    assert done.returncode == 1
    assert said in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_policys_leaderboard_has_cases_and_renews_itself(run: Path, tmp_path: Path) -> None:
    folder = copy_of(run, tmp_path, "{attempt: best, cases: shown, renew_seconds: 60}")
    done = warpgrade("export", folder, "--policy", tmp_path / "policy.yaml", "--format", "leaderboard")
    assert done.returncode == 0, done.stderr
    page = (folder / "export/leaderboard.html").read_text(encoding="utf-8")
    assert "Case by case" in page and 'content="60"' in page and "the best attempt is listed" in page
    assert page.count("<details>") == 2, "ddi's two widths"


def test_while_it_is_frozen_later_hand_ins_are_not_shown(run: Path, tmp_path: Path) -> None:
    """All came in February 2026: after a freeze that began in 2020, and before one that began yesterday."""
    yesterday, end = (f"{datetime.now(UTC) + timedelta(days=days):%Y-%m-%d}" for days in (-1, 1))
    for begin, shown in (("2020-01-01", 0), (yesterday, 8)):
        place = tmp_path / begin
        place.mkdir()
        folder = copy_of(run, place, f"{{frozen: {{from: {begin}, until: {end}}}}}")
        done = warpgrade("export", folder, "--policy", place / "policy.yaml", "--format", "leaderboard")
        assert done.returncode == 0, done.stderr
        page = folder / "export/leaderboard.html"
        rows = page.read_text(encoding="utf-8").count("<tr><td") if page.exists() else 0
        assert rows == shown
        assert not page.exists() or "Frozen." in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("deadline", "is_frozen", "shown"),
    [("+2d", False, 8), ("+12h", True, 8), ("-1d", False, 8), ("February", True, 0)],
    ids=["before", "between", "after", "all came during the freeze"],
)
def test_a_freeze_by_the_deadline_is_that_of_the_run(
    deadline: str, is_frozen: bool, shown: int, run: Path, tmp_path: Path
) -> None:
    """All came in February 2026; the freeze begins a day before the deadline and ends with it."""
    days = {"+2d": 2.0, "+12h": 0.5, "-1d": -1.0}
    at = datetime.now(UTC) + timedelta(days=days.get(deadline, 1.0))
    before = "24h" if deadline in days else "9000d"
    folder = copy_of(run, tmp_path, f"{{frozen: {{before_deadline: {before}}}}}")
    file = folder / "submissions.json"
    taken = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(taken | {"deadline": f"{at:%Y-%m-%dT%H:%M:%SZ}"}), encoding="utf-8")
    done = warpgrade("export", folder, "--policy", tmp_path / "policy.yaml", "--format", "leaderboard")
    assert done.returncode == 0, done.stderr
    page = folder / "export/leaderboard.html"
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    assert text.count("<tr><td") == shown
    assert ("Frozen." in text) is (is_frozen and shown > 0)


def test_a_desk_lists_each_students_best_run_also_when_its_files_are_gone(tmp_path: Path) -> None:
    more = "visibility: {leaderboard: {attempt: best}}"
    with desk_at(tmp_path, more=more) as desk:
        serving = desk.serve("--until-idle", "3")
        judged_once(desk, "ada", "1")
        archive, talk = packed(broken(2)), desk.knock("ada")
        talk.send(ask_run(archive, "2"))
        talk.send(archive)
        assert talk.rest()[-1]["state"] == "judged"
        talk.end()
        assert serving.wait(timeout=90) == 0
        board = (desk.folder / "leaderboard/spmm.html").read_text(encoding="utf-8")
        assert ">1/1<" in board.replace("\n", ""), board
        assert json.loads((desk.folder / "best-spmm.json").read_text(encoding="utf-8"))["seen"] == [1, 2]
