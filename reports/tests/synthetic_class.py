"""Makes the run folder of a class as `warpgrade batch` leaves it: roster, teams, attempts, refusals, sources, events.

`python reports/tests/synthetic_class.py FOLDER [--students 200] [--seed 1]` writes one. Seeded; made-up figures.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from random import Random
from typing import Any

from synthetic import GRAPHS, SyntheticRun, canonical, digest, sealed

ROOT = Path(__file__).resolve().parents[2]
PEOPLE = (
    "Ada Lovelace",
    "林 美玲",
    "Žofia Çelik",
    "محمد الفارسي",
    "Мария Иванова",
    "שרה כהן",
    "प्रिया शर्मा",
    "สมชาย ใจดี",
    "김 민준",
    "Nguyễn Thị Ánh",
    "O'Brien, Siân",
    "=SUM(A1:A9)",
)
# What no student may ever see: a test looks for these words in everything that students are given.
CANARIES = ("CANARY-SEED", "CANARY-WANT", "CANARY-MESSAGE", "CANARY-OUTPUT", "CANARY-HASH")
HANDOUT = """#include <warpgrade/spmm.h>
// The stub of the hand-out: fill in the kernel.
struct SpmmPlan { int rows; };
cudaError_t spmm_plan(const CsrMatrix& a, int k, SpmmPlan** plan, cudaStream_t stream) {
  *plan = new SpmmPlan{a.rows};
  (void)k; (void)stream;
  return cudaSuccess;
}
void spmm_free(SpmmPlan* plan) { delete plan; }
"""


def expression(rng: Random, words: list[str], depth: int) -> str:
    """A made-up expression."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice([rng.choice(words), f"values[{rng.choice(words)}]", str(rng.randrange(99))])
    left, right = expression(rng, words, depth - 1), expression(rng, words, depth - 1)
    sign = rng.choice(["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "<", "==", "&&"])
    return rng.choice([f"{left} {sign} {right}", f"({left} {sign} {right})", f"__ldg({left} {sign} {right})"])


def kernel_source(rng: Random, words: list[str]) -> str:
    """A made-up kernel, different for each draw."""
    lines = ["__global__ void spmm_kernel(const int* offsets, const int* columns, const float* values, float* out) {"]
    for _ in range(40):
        a, b, c = rng.choice(words), expression(rng, words, 2), expression(rng, words, 2)
        lines.append(
            rng.choice(
                [
                    f"  float {a} = {b};",
                    f"  for (int {a} = {b}; {a} < {c}; ++{a}) {{ out[{a}] += {b}; }}",
                    f"  if ({b}) {{ {a} = {c}; }}",
                    f"  {a} = fmaf({b}, {c}, {a});",
                    f"  while ({a}-- > {b}) {{ {a} ^= {c}; }}",
                ]
            )
        )
    return "\n".join([*lines, "}", ""])


def renamed(source: str, words: list[str], rng: Random) -> str:
    """The same program with other names, spaces and comments: what a hasty copy looks like."""
    for word in words:
        source = source.replace(word, f"{word}_{rng.randrange(10, 99)}")
    return "// my own work\n" + source.replace("  ", "\t").replace(";", " ;")


def rounded(value: Any) -> Any:
    """Numbers of few digits: the grader and Python may end longer ones differently, which breaks checksums."""
    if isinstance(value, float):
        return float(round(value)) if abs(value) >= 50_000 else round(value * 1024) / 1024
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


class SyntheticClass(SyntheticRun):
    """A run of `warpgrade batch`: SyntheticRun with students, teams, sets of cases, real policy, sources, events."""

    def __init__(
        self, students: int = 12, seed: int = 1, graphs: list[str] | None = None, faults: float = 0.25, first: int = 0
    ) -> None:
        self.first = first  # the number of the first student, of a part of a larger class
        self.people_random = random.Random(seed + 1000)
        super().__init__("cuda", students, seed, "class", list(GRAPHS) if graphs is None else graphs, faults)
        self.sources = self._sources()
        self.class_list = self._class_list()

    def _cases(self, graphs: list[str]) -> list[dict[str, Any]]:
        cases = super()._cases(graphs)
        for index, case in enumerate(c for c in cases if c["kind"] == "correctness"):
            case["set"] = "public" if index == 0 else "hidden"
        for case in cases:
            case.setdefault("set", "stand-in")
        return cases

    def _submissions(self, students: int) -> list[dict[str, Any]]:
        found = super()._submissions(students)
        rng = self.people_random
        for index, submission in enumerate([s for s in found if s["role"] == "student"], start=self.first):
            student = f"s{index:04d}"
            submission.update(id=student, student=student, members=[student], attempt=rng.choice([1, 1, 1, 2, 3]))
            submission["title"] = PEOPLE[index] if index < len(PEOPLE) else f"Student {index:03d}"
            submission["submitted_at"] = f"2026-02-{rng.randrange(10, 28)}T{rng.randrange(24):02d}:05:00+01:00"
            submission["late_s"] = rng.choice([0, 0, 0, 0, 5400, 100_000])
            submission["hash"] = digest(student)
            if index % 10 == 9:
                submission.update(team=f"Team {index // 10}", members=[student, f"{student}b"])
        return found

    def _run(self) -> dict[str, Any]:
        run = super()._run()
        run["policy"] = (ROOT / "grader/policies/spmm.yaml").read_text(encoding="utf-8")
        run["cases"] = [{key: c[key] for key in ("id", "dataset", "k", "kind", "set")} for c in self.cases]
        run["terms"] = {"width": "K", "work": "nnz"}
        return run

    def _identity(self, submission: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
        record = super()._identity(submission, case)
        rng = self.random
        record["wall_s"] = round(rng.uniform(2, 9), 3)
        record["started_at"] = "2026-03-01T02:00:00Z"
        record["phases"] = {"open": 0.1, "runner_start": 0.4, "run": 0.3, "verify": 0.4}
        record["dataset_hash_secret"] = CANARIES[4]
        return record

    def _fail(self, record: dict[str, Any], fault: tuple[str, str, str]) -> None:
        super()._fail(record, fault)
        hidden = record["case"].get("set") != "public"
        outcome = record["outcome"]
        outcome["details"] = {"output": CANARIES[3] if hidden else "c[0] = 3"}
        if hidden:
            outcome["message"] += " " + CANARIES[2]
            record["pattern"] = CANARIES[2]
            record["mismatches"] = [{"row": 1, "col": 2, "row_nnz": 3, "want": CANARIES[1], "got": 0.5}]
            record["seed"] = CANARIES[0]

    def _sources(self) -> dict[str, str]:
        rng = self.people_random
        students = [s for s in self.submissions if s["role"] == "student"]
        sources = {}
        for submission in students:
            words = [f"{rng.choice(['row', 'col', 'sum', 'lane', 'tile', 'acc'])}{i}" for i in range(7)]
            sources[submission["id"]] = HANDOUT + kernel_source(rng, words)
            submission["_words"] = words
        if len(students) >= 6:  # one copy with other names, one shared by three
            first, second = students[1], students[4]
            sources[second["id"]] = renamed(sources[first["id"]], first["_words"], rng)
        for submission in students:
            del submission["_words"]
        return sources

    def _class_list(self) -> dict[str, Any]:
        students, attempts = [], []
        for submission in self.submissions:
            if submission["role"] != "student":
                continue
            for member in submission["members"]:
                name = submission["title"] if member == submission["student"] else submission["title"] + " II"
                students.append({"id": member, "name": name, "email": f"{member}@example.edu", "section": "A"})
            attempt = {
                key: submission[key] for key in ("student", "members", "attempt", "submitted_at", "late_s", "hash")
            }
            attempts.append(
                attempt
                | {
                    "status": "graded",
                    "submission": submission["id"],
                    "hash": submission["hash"][:32],  # of a run's submissions the record has it in full
                    "snapshot": f"snapshots/{submission['hash'][:32]}",
                }
            )
        students.append({"id": "s9999", "name": "Nobody Home", "email": "s9999@example.edu", "section": "B"})
        return {
            "schema": "warpgrade.class.v1",
            "run": self.run["run"],
            "created_at": "2026-03-01T00:00:00Z",
            "source": {"layout": "folder", "path": "hand-ins"},
            "attempts_policy": "last",
            "deadline": "2026-02-20T23:59:00+01:00",
            "students": students,
            "attempts": attempts,
        }

    def write(self, folder: Path) -> Path:
        for record in self.records:
            rest = record["wall_s"] - 1.2
            record["phases"] |= {"timed": rest} if rest > 1 else {"other": rest}
        self.records = [rounded(record) for record in self.records]
        folder = super().write(folder)
        for record in self.records:
            path = folder / "cases" / record["submission"]["id"] / f"{record['case']['id']}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(canonical(sealed(record)) + "\n", encoding="utf-8")
        (folder / "submissions.json").write_text(json.dumps(self.class_list, ensure_ascii=False), encoding="utf-8")
        (folder / "secret").mkdir()
        (folder / "secret/seed").write_text(CANARIES[0], encoding="utf-8")
        for submission in self.submissions:
            if submission["id"] in self.sources:
                snapshot = folder / "snapshots" / submission["hash"][:32]
                snapshot.mkdir(parents=True)
                (snapshot / "spmm.cu").write_text(self.sources[submission["id"]], encoding="utf-8")
        return folder


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--students", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    SyntheticClass(options.students, options.seed).write(options.folder)
