"""`warpgrade policy`: mistakes are named, what samples get is shown, and the page of all keys is complete."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import ROOT, warpgrade

README = (ROOT / "grader/policies/README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("policy", sorted((ROOT / "grader/policies").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_labs_own_policy_is_sound(policy: Path) -> None:
    done = warpgrade("policy", "check", policy)
    assert done.returncode == 0, done.stderr
    assert "sound" in done.stdout


def test_the_pages_example_is_sound_and_its_samples_get_what_the_page_says(tmp_path: Path) -> None:
    example = re.search(r"## An example\n\n```yaml\n(.*?)```", README, re.DOTALL)
    assert example
    (tmp_path / "week7.yaml").write_text(example[1], encoding="utf-8")
    done = warpgrade("policy", "show", tmp_path / "week7.yaml", "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    points = {sample["sample"]: round(sample["points"], 6) for sample in shown["samples"]}
    assert shown["max_points"] == 100
    assert points["all correct, every threshold reached"] == 100
    assert points["all correct, at three quarters of every threshold"] == 70
    assert points["all correct, at half of every threshold"] == 40
    assert points["a copy of the gate's baseline: all correct, no faster"] == 0
    assert points["all reached, late by the whole grace"] == 100
    assert points["all reached, an hour beyond grace"] == 90
    assert points["all reached, three days late"] == 70
    assert points["a hand-in that was refused"] == 0
    assert "10 % is taken off" in warpgrade("policy", "show", tmp_path / "week7.yaml").stdout


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("points: {corectness: 40}", "week7.yaml:5: unknown key points.corectness (did you mean correctness?)"),
        ("visibilty: {}", "week7.yaml:5: unknown key visibilty (did you mean visibility?)"),
        ("within_noise: pas", "within_noise: expected fail or pass (did you mean pass?), got 'pas'"),
        ("late: {cap_percent: 500}", "late.cap_percent: expected a number from 0 to 100, got '500'"),
        ("secret_baselines: [naiv]", "lab spmm has no baseline 'naiv'"),
        ("visibility: {open: [publik]}", "week7.yaml:5: visibility.open[0]: lab spmm has no set 'publik' (did you"),
        ("remote: {cases: [synth-hup-k32]}", "remote.cases[0]: lab spmm has no case, dataset or set 'synth-hup-k32'"),
        ("measured_on: H10O", "measured_on: no GPU that this version knows is called 'H10O' (did you mean H100?)"),
        ("timezone: Mars/Olympus", "timezone: expected a name such as Europe/Berlin"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, wrong: str, said: str) -> None:
    head = "schema: warpgrade.policy.v1\nname: week7\nlab: spmm\nbaseline: cusparse_default\n"
    (tmp_path / "week7.yaml").write_text(head + wrong + "\n", encoding="utf-8")
    done = warpgrade("policy", "check", tmp_path / "week7.yaml")
    assert done.returncode == 1
    assert said in done.stderr, done.stderr


def test_every_key_that_the_program_knows_stands_on_the_page() -> None:
    """Asked of the program: an unknown key makes it name the known ones."""
    source = (ROOT / "grader/course/score/policy.cpp").read_text(encoding="utf-8")
    known = set()
    for listed in re.findall(r"\.only\(\s*\{(.*?)\}\)", source, re.DOTALL):
        known |= set(re.findall(r'"(\w+)"', listed))
    assert len(known) > 25
    missing = {key for key in known if not re.search(rf"`[^`]*\b{key}\b[^`]*`", README)}
    assert missing == set()


def test_help_of_every_command_ends_with_exit_codes_and_completion_knows_them() -> None:
    script = warpgrade("completion", "bash").stdout
    assert "complete -o filenames -F _warpgrade warpgrade" in script
    for command in ("batch", "export", "grades", "collect", "status", "policy", "rescore"):
        said = warpgrade(command, "--help").stdout
        assert "Exit codes: 0 done; 1 bad input" in said, command
        assert command in script
    assert "Examples:\n  warpgrade export" in warpgrade("export", "--help").stdout
    assert "--gradebook" in script
    assert warpgrade("--version").stdout.startswith("warpgrade ")


@pytest.mark.parametrize("limit", [(), ("--limit",)], ids=["speed-ups", "shares of the limit"])
def test_thresholds_of_another_lab_are_refused_by_the_labs_names(
    limit: tuple[str, ...], sets: Path, tmp_path: Path
) -> None:
    """The run is the published one of an H100; the policy is gcn's own, whose datasets are none of spmm's."""
    policy = tmp_path / "gcn.yaml"
    before = (ROOT / "grader/policies/gcn.yaml").read_text(encoding="utf-8")
    policy.write_text(before, encoding="utf-8")
    done = warpgrade("calibrate", sets / "h100/spmm", *limit, "--write", policy)
    assert done.returncode == 1
    assert "gcn.yaml:" in done.stderr
    assert "lab: it is a policy of lab gcn, and the run is of spmm" in done.stderr
    assert policy.read_text(encoding="utf-8") == before
