"""What scripts/check-attacks says of times: a gain is what a run has not earned by work of its own."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from corpus import read_corpus

HONEST = "a-honest"
WINDOW, TWIN = "accepted-keeps", "accepted-leaves"


def words_of(run: Path, samples: dict[str, list[float]], attacks: list[SimpleNamespace]) -> dict[str, str]:
    """The first word of each attack's line, by name."""
    lines = [
        {
            "submission": {"id": who},
            "timing": {"median_us": sorted(all_of_it)[len(all_of_it) // 2], "samples": {"submission_us": all_of_it}},
        }
        for who, all_of_it in samples.items()
    ]
    run.mkdir()
    (run / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    kind = importlib.import_module("check_attacks").Check
    check = kind.__new__(kind)  # without the built programs and the corpus
    check.tests, check.times, check.wrong = SimpleNamespace(HONEST_NAMES=[HONEST]), [], 0
    results = {attack.name: SimpleNamespace(verdict="accepted") for attack in attacks}
    check.gains(attacks, results, run)
    words = {line.split("|")[2].strip(): line.split("|")[1].strip() for line in check.times}
    assert check.wrong == sum(word == "WRONG" for word in words.values())
    return words


def attack(name: str, times: str = "all", like: str | None = None, twins: tuple[str, ...] = ()) -> SimpleNamespace:
    return SimpleNamespace(
        name=name, times=times, earned_like=like, compared_with=twins, known_gap=None, cases="arxiv-k32"
    )


TWIN_TIMES = [304.0, 316.0] * 10  # a window in every other run


@pytest.mark.parametrize(("median", "word"), [(303.5, "right"), (299.0, "WRONG"), (314.0, "right")])
def test_a_window_earns_what_it_earns_its_twin_and_no_more(tmp_path: Path, median: float, word: str) -> None:
    samples = {HONEST: [314.0] * 20, WINDOW: [median] * 20, TWIN: TWIN_TIMES}
    words = words_of(tmp_path / "run", samples, [attack(WINDOW, like=TWIN), attack(TWIN, times="slower_half")])
    assert words == {WINDOW: word, TWIN: "right"}


def test_what_a_window_leaves_to_the_next_run_is_a_gain(tmp_path: Path) -> None:
    samples = {HONEST: [314.0] * 20, TWIN: [304.0, 308.0] * 10}
    assert words_of(tmp_path / "run", samples, [attack(TWIN, times="slower_half")]) == {TWIN: "WRONG"}


def test_without_its_twin_a_window_is_not_compared(tmp_path: Path) -> None:
    samples = {HONEST: [314.0] * 20, WINDOW: [299.0] * 20}
    assert words_of(tmp_path / "run", samples, [attack(WINDOW, like=TWIN)]) == {WINDOW: "not compared"}


@pytest.mark.parametrize(("median", "word"), [(118.9, "right"), (118.7, "WRONG"), (150.0, "right")])
def test_an_attack_is_compared_with_its_twin_alone(tmp_path: Path, median: float, word: str) -> None:
    """Both are twice as fast as the honest copies, whose kernel is another."""
    samples = {HONEST: [300.0] * 20, TWIN: [120.0] * 20, WINDOW: [median] * 20}
    words = words_of(tmp_path / "run", samples, [attack(WINDOW, twins=(TWIN,)), attack(TWIN, twins=(TWIN,))])
    assert words == {WINDOW: word}


def test_the_quickest_of_several_twins_counts(tmp_path: Path) -> None:
    samples = {HONEST: [300.0] * 20, TWIN: [120.0] * 20, "accepted-other": [118.0] * 20, WINDOW: [117.0] * 20}
    twins = [attack(name, twins=(name,)) for name in (TWIN, "accepted-other")]
    words = words_of(tmp_path / "run", samples, [attack(WINDOW, twins=(TWIN, "accepted-other")), *twins])
    assert words == {WINDOW: "right"}  # 2.5 % below the slower one


def test_without_its_twin_an_attack_is_not_compared(tmp_path: Path) -> None:
    samples = {HONEST: [300.0] * 20, WINDOW: [119.0] * 20}
    assert words_of(tmp_path / "run", samples, [attack(WINDOW, twins=(TWIN,))]) == {WINDOW: "not compared"}


def test_twins_of_the_corpus_are_attacks_of_the_same_class() -> None:
    """With the same cases on each backend: only then are their times in one run."""
    for backend in ("cuda", "emulator"):
        attacks = {example.name: example for example in read_corpus(backend) if example.attack}
        names = {name: attack.compared_with for name, attack in attacks.items() if attack.compared_with}
        assert len(names) >= 9
        for name, twins in names.items():
            for twin in twins:
                assert names[twin] == (twin,), f"{twin} names itself"
                assert (attacks[name].lab, attacks[name].cases) == (attacks[twin].lab, attacks[twin].cases), name
