#!/usr/bin/env python3
"""Judges the corpus of attacks as one class beside honest copies, on this machine's GPU or on the emulator, and says
whether every attack got its verdict and nobody else's changed. Exit code 0: all as expected; 1: something is not.

    scripts/check-attacks [--backend cuda] [--output runs/attacks] [--only PART ...] [--cases CASES ...]
                          [--program build/bin/warpgrade]

For each lab and set of cases three classes are judged: three honest copies alone, the same copies among all attacks,
and once more alone (a baseline that is bound by its launches differs by some per cent from process to process).
OUTPUT/table.md gets a line for every attack (category, expected verdicts, what it got, reason, message), the honest
copies' verdicts and, on a GPU, their times in both classes; OUTPUT/<group>/ keeps both runs. What counts as wrong:

verdict    an attack's verdict is not among those that its expected.yaml allows, unless that names a `known_gap`
           (then the line says gap); or a gap whose verdict is right is told, so that the mark can go.
honest     a copy is not accepted, or was accepted alone and is not among the attacks.
fault      a judge_fault of anybody, gaps included.
times      a copy's median among the attacks is more than 10 % above its median alone; told, and wrong beyond 25 %.
gain       an attack is accepted with a median below that of every honest copy beside it by more than 1 % and
           by more than 1 µs. Of an attack that prepares the next run in every other one, the slower half of the runs is
           compared (`times: slower_half`). Work that shortens the run itself is no gain: where expected.yaml names an
           attack that does the same in every other run (`earned_like`), its quicker half counts as an honest copy, too.
           An attack that names twins (`compared_with`: the same work, without what the attack does) is compared with
           the quickest of them alone, case by case. A twin names itself and is compared with nobody.
baseline   a baseline's median in the attacks' class is outside of its medians beside honest copies alone, before and
           after, by more than 1 % and 1 µs.

Attacks that need a box (fork bombs, memory hogs) run only where `warpgrade doctor` tells of a whole cgroup; elsewhere
the table says that they were left out. Needs the project's Python (.venv/bin/python) and the built programs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "reports"))
from warpgrade_reports.text import lines_of  # noqa: E402

sys.path.insert(0, str(ROOT / "grader/tests"))
if TYPE_CHECKING:  # they read the backend when they are imported, in Check
    from corpus import Example, Judged

SLOWER_TOLD, SLOWER_WRONG = 1.10, 1.25
GAIN_RATIO, GAIN_US = 0.99, 1.0
BASELINE_RATIO, BASELINE_US = 0.01, 1.0
LEAST_SAMPLES = 15  # of a median that is compared


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=("cuda", "emulator"), default="cuda")
    parser.add_argument("--output", type=Path, default=ROOT / "runs/attacks")
    parser.add_argument("--only", nargs="*", default=[], help="parts of names; all when left out")
    parser.add_argument("--cases", nargs="*", default=[], help="these sets of cases alone; ^CASES: all but this")
    parser.add_argument("--program", type=Path, default=ROOT / "build/bin/warpgrade")
    return parser.parse_args()


def slower_half(samples: list[float]) -> list[float]:
    """The longer half of a submission's timed runs."""
    return sorted(samples)[len(samples) // 2 :]


def quicker_half(samples: list[float]) -> list[float]:
    """The shorter half of a submission's timed runs."""
    return sorted(samples)[: (len(samples) + 1) // 2]


def is_chosen(cases: str, chosen: list[str]) -> bool:
    """Whether a set of cases is among the chosen ones; `^CASES` leaves a set out."""
    left_out = [one[1:] for one in chosen if one.startswith("^")]
    named = [one for one in chosen if not one.startswith("^")]
    return cases not in left_out and (not named or cases in named)


Half = Callable[[list[float]], list[float]]


def medians(run: Path, halves: Mapping[str, Half] = MappingProxyType({})) -> dict[str, list[float]]:
    """Median times in µs of every timed case, by submission; of those in `halves`, medians of that half."""
    found: dict[str, list[float]] = {}
    for line in lines_of((run / "records.jsonl").read_text(encoding="utf-8")):
        record = json.loads(line)
        timing = record.get("timing") or {}
        who, median = record["submission"]["id"], timing.get("median_us")
        if median is not None:
            if who in halves:
                median = statistics.median(halves[who](timing["samples"]["submission_us"]))
            found.setdefault(who, []).append(median)
    return found


def baseline_medians(run: Path) -> dict[str, dict[str, float]]:
    """Median times in µs of every baseline, by submission beside which it was timed."""
    found: dict[str, dict[str, float]] = {}
    for line in lines_of((run / "records.jsonl").read_text(encoding="utf-8")):
        record = json.loads(line)
        samples = (record.get("timing") or {}).get("samples") or {}
        for name, times in (samples.get("baseline_us") or {}).items():
            if len(times) >= LEAST_SAMPLES:
                found.setdefault(record["submission"]["id"], {})[name] = statistics.median(times)
    return found


class Check:
    """What was judged so far, as lines of the table, and how much of it is wrong."""

    def __init__(self, options: argparse.Namespace) -> None:
        import corpus  # noqa: PLC0415
        import test_attacks  # noqa: PLC0415

        self.options, self.corpus, self.tests = options, corpus, test_attacks
        self.missing = corpus.box_of_this_machine(options.program)
        wanted = [a for a in corpus.read_corpus(options.backend) if a.attack is not None]
        self.attacks = [
            a
            for a in wanted
            if (not options.only or any(part in a.name for part in options.only)) and is_chosen(a.cases, options.cases)
        ]
        self.lines: list[str] = []
        self.times: list[str] = []
        self.wrong = 0

    def judge(self, folder: Path, lab: str, cases: str, attacks: list[Example]) -> Path | None:
        """Grades one class; None, and counted as wrong, where that failed."""
        shutil.rmtree(folder, ignore_errors=True)
        for name in self.tests.HONEST_NAMES if lab == "spmm" else self.tests.HONEST_NAMES[:1]:
            self.tests.lay_out_honest(lab, folder / "class" / name)
        for attack in attacks:
            attack.lay_out(folder / "class" / attack.name)
        try:
            done = self.corpus.grade_class(self.options.program, folder, lab, cases, self.options.backend, timeout=3000)
        except subprocess.TimeoutExpired:
            self.failed(folder, "no end within 3,000 s")
            return None
        (folder / "grade.log").write_text(done.stdout + done.stderr, encoding="utf-8")
        if done.returncode == 0:
            return folder / "run"
        self.failed(folder, f"exit code {done.returncode}")
        return None

    def failed(self, folder: Path, why: str) -> None:
        """A class that was not judged is wrong."""
        self.wrong += 1
        self.lines.append(f"| WRONG | the class {folder.name} | | | {why}; see {folder / 'grade.log'} | |")

    def group(self, number: int, lab: str, cases: str) -> None:
        """Both classes of one lab and set of cases."""
        chosen = [a for a in self.attacks if (a.lab, a.cases) == (lab, cases)]
        missing = {a.name: a.missing or (self.missing if a.needs else None) for a in chosen}
        run_now = [a for a in chosen if missing[a.name] is None]
        folder = self.options.output / f"{number}-{lab}"
        alone = self.judge(folder / "alone", lab, cases, [])
        among = self.judge(folder / "among", lab, cases, run_now)
        again = self.judge(folder / "again", lab, cases, []) if self.options.backend == "cuda" else alone
        for attack in chosen:
            if attack not in run_now:
                self.lines.append(f"| left out | {attack.name} | {attack.attack} | | {missing[attack.name]} | |")
        if alone is None or among is None or again is None:
            return
        results = self.corpus.read_judged(among)
        for attack in run_now:
            self.tell(attack, results[attack.name])
        self.honest(self.corpus.read_judged(alone), results)
        self.compare_times(cases, medians(alone), medians(among))
        self.gains(run_now, results, among)
        usual = [baseline_medians(alone), baseline_medians(again)]
        self.compare_baselines(cases, usual, baseline_medians(among))

    def tell(self, attack: Example, result: Judged) -> None:
        """One line: what it had to get and what it got."""
        right = result.verdict in attack.verdicts and (attack.reason is None or attack.reason in result.reasons)
        fault = result.verdict == "judge_fault"
        word = "right" if right else "gap" if attack.known_gap and not fault else "WRONG"
        if right and attack.known_gap:
            word = "right, gap closed"
        self.wrong += word == "WRONG"
        message = next((m for _, v, m in result.shown if v == result.verdict), "")
        message = message.replace("|", "/").replace("\n", " ")[:160]
        expected = ", ".join(attack.verdicts) + (f" ({attack.reason})" if attack.reason else "")
        reasons = ", ".join(sorted(r for r in result.reasons if r))
        self.lines.append(
            f"| {word} | {attack.name} | {attack.attack} | {expected} | {result.verdict} {reasons} | {message} |"
        )

    def honest(self, alone: dict[str, Judged], among: dict[str, Judged]) -> None:
        """The copies' verdicts in both classes."""
        for name in sorted(set(self.tests.HONEST_NAMES) & set(alone)):
            verdicts = alone[name].verdict, among[name].verdict
            word = "right" if verdicts == ("accepted", "accepted") else "WRONG"
            self.wrong += word == "WRONG"
            self.lines.append(f"| {word} | {name} | honest | accepted | alone {verdicts[0]}, among {verdicts[1]} | |")

    def compare_times(self, cases: str, alone: dict[str, list[float]], among: dict[str, list[float]]) -> None:
        """The copies' medians in both classes."""
        for name in sorted(set(self.tests.HONEST_NAMES) & set(alone) & set(among)):
            before, after = statistics.median(alone[name]), statistics.median(among[name])
            slower = after / before
            word = "WRONG" if slower > SLOWER_WRONG else "slower" if slower > SLOWER_TOLD else "right"
            self.wrong += word == "WRONG"
            self.times.append(f"| {word} | {name} | {cases} | {before:.2f} | {after:.2f} | {slower:.3f} |")

    def compare_baselines(
        self, cases: str, alone: list[dict[str, dict[str, float]]], among: dict[str, dict[str, float]]
    ) -> None:
        """An attack must not slow down what it is compared with."""
        usual = [times for run in alone for times in run.values()]
        for who, times in sorted(among.items()):
            for name, time in sorted(times.items()):
                known = [t[name] for t in usual if name in t]
                if not known:
                    continue
                nearest = min(max(time, min(known)), max(known))
                if abs(time - nearest) <= max(BASELINE_US, BASELINE_RATIO * nearest):
                    continue
                self.wrong += 1
                self.times.append(
                    f"| WRONG | {name} beside {who} | {cases} | {nearest:.2f} | {time:.2f} | {time / nearest:.3f} |"
                )

    def gains(self, attacks: list[Example], results: dict[str, Judged], run: Path) -> None:
        """An accepted attack may stand in the table only with a time that it has earned."""
        times = medians(run, {attack.name: slower_half for attack in attacks if attack.times == "slower_half"})
        earned = medians(run, {attack.earned_like: quicker_half for attack in attacks if attack.earned_like})
        copies = [statistics.median(times[name]) for name in self.tests.HONEST_NAMES if name in times]
        for attack in attacks:
            if attack.name not in times or results[attack.name].verdict != "accepted":
                continue
            if attack.compared_with:
                self.compare_with_twins(attack, times)
                continue
            if not copies:
                continue
            fastest, median = min(copies), statistics.median(times[attack.name])
            if attack.earned_like and attack.earned_like not in earned:
                self.tell_times("not compared", attack, fastest, median, f"judge {attack.earned_like} beside it")
                continue
            if attack.earned_like:
                fastest = min(fastest, statistics.median(earned[attack.earned_like]))
            self.tell_gain(attack, fastest, median)

    def compare_with_twins(self, attack: Example, times: dict[str, list[float]]) -> None:
        """Case by case: all have the same cases, in the same order. The quickest twin counts."""
        if attack.name in attack.compared_with:
            return
        own = times[attack.name]
        missing = [name for name in attack.compared_with if len(times.get(name, [])) != len(own)]
        if missing:
            self.tell_times("not compared", attack, 0, own[0], f"judge {', '.join(missing)} beside it")
            return
        quickest = [min(medians) for medians in zip(*(times[name] for name in attack.compared_with), strict=True)]
        for honest, median in zip(quickest, own, strict=True):
            self.tell_gain(attack, honest, median)

    def tell_gain(self, attack: Example, honest: float, median: float) -> None:
        """Wrong where the attack is quicker by more than noise."""
        faster = median < honest * GAIN_RATIO and median < honest - GAIN_US
        word = "right" if not faster else "gap" if attack.known_gap else "WRONG"
        self.wrong += word == "WRONG"
        self.tell_times(word, attack, honest, median, f"{median / honest:.3f}")

    def tell_times(self, word: str, attack: Example, honest: float, median: float, last: str) -> None:
        """A line of the second table."""
        self.times.append(f"| {word} | {attack.name} | {attack.cases} | {honest:.2f} | {median:.2f} | {last} |")

    def write(self) -> Path:
        """The table, whole or not at all."""
        words = [line.split("|")[1].strip() for line in self.lines]
        counts = ", ".join(f"{words.count(word)} {word}" for word in sorted(set(words)))
        text = [
            f"# Attacks on the judge, backend {self.options.backend}",
            "",
            f"{counts}; {self.wrong} wrong in all.",
            "",
        ]
        text += ["| | submission | category | expected | got | message |", "|---|---|---|---|---|---|", *self.lines, ""]
        if self.times:
            text += [
                "Honest copies, accepted attacks beside the fastest copy or their twin, baselines that changed; median "
                "time in µs:",
                "",
                "| | who | cases | copy alone (attack: fastest copy or twin) | among attacks | ratio |",
            ]
            text += ["|---|---|---|---|---|---|", *self.times, ""]
        table: Path = self.options.output / "table.md"
        table.parent.mkdir(parents=True, exist_ok=True)
        unfinished = table.with_suffix(".tmp")
        unfinished.write_text("\n".join(text), encoding="utf-8")
        unfinished.replace(table)
        return table


def main() -> int:
    """Judges all groups; the table is written after each, so that an interrupted run leaves what it has."""
    options = arguments()
    os.environ["WARPGRADE_TEST_BACKEND"] = options.backend
    if not options.program.exists():
        print(
            f"check-attacks: {options.program} is not there; run make build, or name it with --program", file=sys.stderr
        )
        return 2
    check = Check(options)
    if not check.attacks:
        print("check-attacks: no attack is left by --only and --cases", file=sys.stderr)
        return 2
    for number, (lab, cases) in enumerate(sorted({(a.lab, a.cases) for a in check.attacks})):
        print(f"{lab}: {cases}", flush=True)
        check.group(number, lab, cases)
        table = check.write()
    print(lines_of(table.read_text(encoding="utf-8"))[2])
    print(f"table: {table}")
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
