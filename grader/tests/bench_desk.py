"""How long a student waits for the course's GPU: `python grader/tests/bench_desk.py [--cases NAMES] [--flood 200]`.

Starts a desk (behind a real sshd where there is one), hands in the staff's naive spmm several times, each time with
another comment so that it is compiled anew, and tells the seconds from the start of the student's command to the first
verdict and to the end. With --flood so many runs of 50 students come within a minute, and their waiting is compared
with what the work of the runs before them needed. A benchmark, not a test.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from desk_place import NAIVE, Desk, ask_run, desk_at, packed, sshd

STUDENTS = 50


def one_run(desk: Desk, number: int) -> dict[str, float]:
    """A student's command on a desk with nothing else to do."""
    text = f"{NAIVE}\n// run {number}\n"
    begun = time.monotonic()
    first, last = 0.0, ""
    if desk.port:
        desk.student("ada", text)
        running = desk.test("ada")
        assert running.stdout is not None
        for line in running.stdout:
            last = line.rstrip() or last
            if not first and line.startswith("  ok "):
                first = time.monotonic() - begun
        running.wait()
    else:
        archive, talk = packed(text), desk.knock("ada")
        talk.send(ask_run(archive, str(number)))
        talk.send(archive)
        for heard in iter(talk.hear, {}):
            last = json.dumps(heard)
            if not first and heard["tell"] == "case":
                first = time.monotonic() - begun
        talk.end()
    if not first:
        logged = [line for log in sorted(desk.folder.rglob("*.jsonl")) for line in log.read_text().splitlines()[-5:]]
        raise SystemExit("\n".join([f"no verdict came: {last}", *logged]))
    return {"first_verdict_s": round(first, 2), "all_s": round(time.monotonic() - begun, 2)}


def hand_in(desk: Desk, student: str, number: int, delay: float) -> None:
    """One of many: the connection ends when the run is queued."""
    time.sleep(delay)
    archive, talk = packed(f"{NAIVE}\n// run {number % 5}\n"), desk.knock(student)
    talk.send(ask_run(archive, f"flood {number}"))
    talk.send(archive)
    while talk.hear().get("tell") not in {"accepted", "refused", None}:
        pass
    talk.process.kill()
    talk.end()


def flood(desk: Desk, count: int) -> dict[str, Any]:
    """Runs of 50 students within a minute, and how they were served."""
    rng = random.Random(1)
    with ThreadPoolExecutor(STUDENTS) as pool:
        for number in range(count):
            pool.submit(hand_in, desk, f"s{number % STUDENTS}", number, rng.uniform(0, 60) / (count / STUDENTS))
    while desk.open_runs():
        time.sleep(1)
    with sqlite3.connect(desk.folder / "queue.sqlite") as queue:
        rows = queue.execute(
            "SELECT student, arrived, started, ended, state FROM requests WHERE student LIKE 's%' ORDER BY started"
        ).fetchall()
    waits = [started - arrived for _, arrived, started, _, _ in rows]
    free = rows[0][1]
    needed = []  # waiting of a desk that does nothing between runs
    for _, arrived, started, ended, _ in rows:
        begin = max(free, arrived)
        needed.append(begin - arrived)
        free = begin + (ended - started)
    served: dict[str, int] = {}
    spread = 0
    for student, _, started, _, _ in rows:
        served[student] = served.get(student, 0) + 1
        waiting = [other for other, arrived, begun, _, _ in rows if arrived < started < begun]
        spread = max([spread, *(served[student] - served.get(other, 0) for other in waiting)])
    p95 = statistics.quantiles(waits, n=20)[-1]
    return {
        "runs": len(rows),
        "judged": sum(state == "judged" for *_, state in rows),
        "p95_wait_s": round(p95, 1),
        "p95_needed_s": round(statistics.quantiles(needed, n=20)[-1], 1),
        "most_served_ahead_of_one_who_waits": spread,
    }


def main() -> None:
    """Prints the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="public", help="as a policy's remote.cases")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--flood", type=int, default=0)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as scratch,
        desk_at(
            Path(scratch), open_cases=options.cases, waiting=1000, per_hour=100000, backend=options.backend
        ) as desk,
    ):
        if sshd():
            desk.open_to("ada")
        desk.serve()
        one_run(desk, 0)  # warm: what the desk keeps is there
        found: dict[str, Any] = {"by_ssh": bool(desk.port), "load": os.getloadavg()[0]}
        found["runs"] = [one_run(desk, number + 1) for number in range(options.runs)]
        if options.flood:
            found["flood"] = flood(desk, options.flood)
    print(json.dumps(found, indent=1))
    if options.output:
        options.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
