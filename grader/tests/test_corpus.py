"""Every submission under submissions/<verdict>/<name> gets the verdict that its folder names.

An expected.yaml in the folder says more: `reason`, other `cases` than the usual ones, and where the backends rightly
differ
`emulator:` and `cuda:` with a verdict (or a list of verdicts) of their own.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import ROOT, WARPGRADE, chosen_parameters, declared_labs, records_of
from corpus import BACKEND, CORPUS, Example, grade_class, read_corpus

ALL = read_corpus()
EXAMPLES = [example for example in ALL if example.attack is None]  # attacks: test_attacks.py


@pytest.fixture(scope="session")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Judges those of the corpus whose tests were chosen (-k), a class for each lab and set of cases."""
    wanted = {given["example"].name for given in chosen_parameters(request, __file__) if "example" in given}
    examples = [example for example in EXAMPLES if example.name in wanted]
    runs: dict[str, Path] = {}
    for number, (lab, cases) in enumerate(sorted({(example.lab, example.cases) for example in examples})):
        scratch = tmp_path_factory.mktemp(f"corpus{number}")
        own = [example for example in examples if (example.lab, example.cases) == (lab, cases)]
        for example in own:
            example.lay_out(scratch / "class" / example.name)
        done = grade_class(WARPGRADE, scratch, lab, cases, BACKEND)
        assert done.returncode == 0, done.stdout + done.stderr
        runs |= {example.name: scratch / "run" for example in own}
    return runs


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_submission_gets_the_verdict_of_its_folder(example: Example, runs: dict[str, Path]) -> None:
    """The worst case's verdict, and the stated reason on a case that has it."""
    run = runs[example.name]
    records = [r for r in records_of(run) if r["submission"]["id"] == example.name]
    shown = [(r["case"]["id"], r["outcome"]["verdict"], r["outcome"].get("message", "")) for r in records]
    scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    verdict = next(s["verdict"] for s in scores["submissions"] if s["id"] == example.name)
    assert verdict in example.verdicts, shown
    if example.reason:
        reasons = {r["outcome"].get("reason") for r in records if r["outcome"]["verdict"] == verdict}
        assert example.reason in reasons, shown


@pytest.mark.skipif(BACKEND != "emulator", reason="the emulator alone looks for them")
@pytest.mark.parametrize(
    "example", [e for e in EXAMPLES if e.name.startswith("accepted-")], ids=lambda example: example.name
)
def test_accepted_submission_has_the_findings_that_are_known_of_it_and_no_others(
    example: Example, runs: dict[str, Path]
) -> None:
    """A leak or a harmless race is told, and right code is never blamed."""
    records = [r for r in records_of(runs[example.name]) if r["submission"]["id"] == example.name]
    findings = [finding for record in records for finding in record.get("diagnostics", [])]
    assert {finding["kind"] for finding in findings} == example.findings, findings


def test_every_verdict_of_the_corpus_has_examples() -> None:
    """An empty folder would be a promise that nothing keeps."""
    for folder in CORPUS.iterdir():
        assert not folder.is_dir() or any(folder.iterdir()), folder.relative_to(ROOT)


LEAST_WRONG = 8  # submissions of a lab that must not come through
CLASSIC = {
    "NaN compared by difference": ("writes_nan", "gcn_writes_nan"),
    "row sums alone compared": ("right_row_sums", "gcn_right_row_sums"),
    "infinity that overflows": ("apsp_infinity_overflows",),
    "nodes that no path reaches": ("apsp_no_path_is_minus_one",),
    "n that no tile divides": ("apsp_full_tiles_only", "last_tile", "gcn_whole_tiles_only"),
    "16 random bits modulo the degree": ("sampling_16_bits_modulo",),
    "the same draw in every row": ("sampling_same_draws_in_every_row",),
    "draws without replacement": ("sampling_without_replacement",),
    "always the first neighbour": ("sampling_first_neighbour",),
    "a generator reseeded by the thread alone": ("sampling_reseeded_by_thread",),
    "a last bin that is dropped": ("histogram_drops_the_last_bin",),
    "softmax without the maximum": ("gcn_softmax_without_maximum",),
}


DECLARED = declared_labs()
LABS = {path.stem for path in (ROOT / "grader/policies").glob("*.yaml")}


@pytest.mark.parametrize("lab", sorted(DECLARED))
def test_every_declared_lab_has_wrong_submissions_of_its_own(lab: str) -> None:
    """They are judged by `labs verify`, which also changes the oracle's own outputs and wants each change found."""
    assert len([folder for folder in (ROOT / "reference" / lab / "wrong").iterdir() if folder.is_dir()]) >= 2


@pytest.mark.parametrize("lab", sorted(LABS - DECLARED))
def test_every_lab_has_enough_wrong_submissions(lab: str) -> None:
    """Each folder is a mistake that this lab's judge is known to find."""
    wrong = [example.name for example in ALL if example.lab == lab and "accepted" not in example.verdicts]
    assert len(wrong) >= LEAST_WRONG, wrong


@pytest.mark.parametrize("mistake", CLASSIC)
def test_what_classic_checkers_let_through_is_in_the_corpus(mistake: str) -> None:
    """Left in `wrong_answer/` or `runtime_error/`, judged above."""
    names = {e.folder.name for e in ALL if e.folder is not None and not e.name.startswith("accepted-")}
    assert names.issuperset(CLASSIC[mistake]), mistake
