"""Several runs of one lab on one GPU model as one: a ladder may have been measured in parts.

A submission's result on a case is of its newest program that was timed there, and of the run that repeated it most.
Runs that repeated it about as often (within a factor of two) do not differ in that: of these it is the run's that
timed most submissions on the case, so that neighbours share a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from warpgrade_reports.model import CaseResult, CaseSpec, Run, Submission
from warpgrade_reports.source import ReportInputError


@dataclass(frozen=True)
class Sets:
    """The runs as one, and of which run each result is."""

    run: Run
    home: Mapping[tuple[str, str], Run]  # by submission and case; without an entry the result is of `run` itself

    def home_of(self, submission: Submission, case: str) -> Run:
        """The run whose result this is."""
        return self.home.get((submission.id, case), self.run)


def merged(runs: Sequence[Run]) -> Sets:
    """The runs as one; a result that is not timed or not accepted is left out where there are several."""
    if len(runs) == 1:
        return Sets(runs[0], {})
    if len({run.lab for run in runs}) != 1:
        raise ReportInputError(
            ", ".join(run.id for run in runs),
            f"expected runs of one lab, got {', '.join(sorted({run.lab for run in runs}))}",
            "name the sets of one lab",
        )
    specs = {spec.id: spec for spec in _in_order([spec for run in runs for spec in run.cases])}
    submissions = {submission.id: submission for run in reversed(runs) for submission in run.submissions}
    timed = {case: [_timed(run, case) for run in runs] for case in specs}
    home: dict[tuple[str, str], Run] = {}
    results: dict[str, list[CaseResult]] = {name: [] for name in submissions}
    for case, of_runs in timed.items():
        for name in submissions:
            chosen = _most_repeated(name, _of_newest_program(name, runs, of_runs))
            if chosen is not None:
                home[name, case] = runs[chosen]
                results[name].append(of_runs[chosen][name])
    parts = (
        replace(_as_most_timed(submission, home), cases=tuple(results[name]))
        for name, submission in submissions.items()
    )
    return Sets(replace(runs[0], cases=tuple(specs.values()), submissions=tuple(parts)), home)


def _as_most_timed(submission: Submission, home: Mapping[tuple[str, str], Run]) -> Submission:
    """The submission as the run has it that most of its results are of: its program may differ from run to run."""
    runs = [run for (name, _), run in home.items() if name == submission.id]
    most = max(runs, key=runs.count, default=None)
    return next((s for s in most.submissions if s.id == submission.id), submission) if most else submission


def _in_order(specs: Sequence[CaseSpec]) -> list[CaseSpec]:
    """By width within a dataset; datasets as they come."""
    datasets = list(dict.fromkeys(spec.dataset for spec in specs))
    return sorted(specs, key=lambda spec: (datasets.index(spec.dataset), spec.width))


def _timed(run: Run, case: str) -> dict[str, CaseResult]:
    """What the run timed on the case, by submission."""
    found = {submission.id: submission.by_case.get(case) for submission in run.submissions}
    return {name: result for name, result in found.items() if result and result.timing and result.accepted}


def _of_newest_program(
    name: str, runs: Sequence[Run], of_runs: Sequence[Mapping[str, CaseResult]]
) -> Sequence[Mapping[str, CaseResult]]:
    """Only what was timed of the submission as it was last: a solution may have been changed between two runs."""
    programs = [{s.id: s.hash for s in run.submissions}.get(name) for run in runs]
    newest = max((of_run[name].recorded_at for of_run in of_runs if name in of_run), default="")
    last = {
        program
        for program, of_run in zip(programs, of_runs, strict=True)
        if name in of_run and of_run[name].recorded_at == newest
    }
    return [of_run if program in last else {} for program, of_run in zip(programs, of_runs, strict=True)]


def _most_repeated(name: str, of_runs: Sequence[Mapping[str, CaseResult]]) -> int | None:
    """The index of the run to take a submission's result from; None where no run timed it."""
    repetitions = {i: of_run[name].repetitions or 1 for i, of_run in enumerate(of_runs) if name in of_run}
    if not repetitions:
        return None
    most = max(repetitions.values())
    often = [i for i, count in repetitions.items() if 2 * count > most]
    return max(often, key=lambda i: len(of_runs[i]))
