"""Makes run folders that follow grader/course/record/README.md. Seeded, made-up figures, to test and to look at.

`python reports/tests/synthetic.py FOLDER [--backend emulator] [--students 200] [--kind ladder]` writes one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
from pathlib import Path
from typing import Any

GRAPHS = {
    "arxiv": (169343, 1166243),
    "collab": (235868, 2358104),
    "citation": (2927963, 30561187),
    "ddi": (4267, 2135822),
    "protein": (132534, 79122504),
    "ppa": (576289, 42463862),
    "reddit.dgl": (232965, 114848857),
    "products": (2449029, 123718280),
    "youtube": (1138499, 5980886),
    "amazon_cogdl": (1569960, 264339468),
    "yelp": (716847, 13954819),
    "wikikg2": (2500604, 16109182),
    "am": (881680, 5668682),
}
SHAPES = {"synth-uniform": (1000, 16000), "synth-empty-rows": (1500, 700), "synth-hub": (1200, 9000)}
FAULTS = [
    ("wrong_answer", "mismatch", "c[17,4] want 0.5 got nan; rows longer than 32 are wrong"),
    ("runtime_error", "out_of_bounds", "spmm.cu:31: store of 4 bytes, 0 bytes past the end of c"),
    ("time_limit", "out_of_time", "spmm_run did not end within 30 s"),
    ("timing_rejected", "clocks_disagree", "events say 3.1 us, the judge's clock at least 41.0 us"),
    ("memory_limit", "device_memory", "asked for 21.0 GB, 16.4 GB are allowed"),
]
COMPILER_WORDS = """spmm.cu(41): error: identifier "blockIdy" is undefined
      int row = blockIdy.x;
                ^
"""
NAMES = (
    "Ada Lovelace",
    "Grace Hopper",
    "Kwame Nkrumah",
    "Žofia Çelik",
    "林 美玲",
    "Søren Ångström",
    "María-José Núñez",
    "Team 'Warp Speed'",
    "Oluwaseun Adébáyò",
    "a-very-long-name-that-nobody-would-type-but-somebody-did-anyway",
)


def canonical(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sealed(record: dict[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in record.items() if key != "checksum"}
    return {**rest, "checksum": hashlib.sha256(canonical(rest).encode()).hexdigest()}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class SyntheticRun:
    """A run folder's contents as plain JSON; change what a test needs, then write()."""

    def __init__(
        self,
        backend: str = "cuda",
        students: int = 6,
        seed: int = 1,
        kind: str = "class",
        graphs: list[str] | None = None,
        faults: float = 0.25,
    ) -> None:
        self.random = random.Random(seed)
        self.backend, self.kind, self.faults = backend, kind, faults
        self.cases = self._cases(list(GRAPHS)[: 13 if backend == "cuda" else 4] if graphs is None else graphs)
        self.submissions = self._submissions(students)
        self.run = self._run()
        self.compilations: dict[str, Any] = {}
        self.logs: dict[str, Any] = {}
        self.records: list[dict[str, Any]] = []
        for submission in self.submissions:
            self._judge(submission)

    def _cases(self, graphs: list[str]) -> list[dict[str, Any]]:
        shapes = [(name, size, 32, "correctness", "synthetic") for name, size in SHAPES.items()]
        real = [(name, GRAPHS[name], k, "speed", "stand-in") for name in graphs for k in (32, 256)]
        return [
            {
                "id": f"{name}-k{k}",
                "dataset": name,
                "k": k,
                "kind": kind,
                "dataset_kind": origin,
                "rows": rows,
                "cols": rows,
                "nnz": nnz,
                "dataset_hash": digest(name),
                "shape": {"max_row": 12 * nnz // rows + 3, "mean_row": nnz / rows, "empty_rows": rows // 50},
            }
            for name, (rows, nnz), k, kind, origin in shapes + real
        ]

    def _submissions(self, students: int) -> list[dict[str, Any]]:
        found = []
        if self.kind == "class":
            for i in range(students):
                title = NAMES[i] if i < len(NAMES) else f"student-{i:03d}"
                identity = "".join(c if c.isascii() and c.isalnum() else "_" for c in title)
                found.append((identity + ("-" + digest(title)[:6] if identity != title else ""), title, "student"))
        steps = ["01_warp_per_row", "02_staged_a", "03_column_groups", "04_row_split", "05_two_shapes"]
        found.append(("naive", "naive", "reference"))
        if self.kind == "ladder":
            found += [(f"step-{step}", step, "reference") for step in steps]
        found.append(("optimized", "optimized", "reference"))
        return [
            {"id": i, "title": t, "role": r, "hash": digest(i), "interface": "SpMMOpt" if n % 5 == 4 else "spmm.h"}
            for n, (i, t, r) in enumerate(found)
        ]

    def _run(self) -> dict[str, Any]:
        cuda = self.backend == "cuda"
        device = {
            "name": "NVIDIA H200",
            "uuid": "GPU-5f1c",
            "driver": "580.65.06",
            "sm_count": 132,
            "compute_capability": 90,
            "memory_bytes": 150_000_000_000,
            "l2_bytes": 62_914_560,
            "peak_bytes_per_s": 4.8e12,
        }
        return {
            "schema": "warpgrade.run.v1",
            "run": f"20260301-101500-{self.kind}",
            "lab": "spmm",
            "created_at": "2026-03-01T10:15:00Z",
            "backend": self.backend,
            "sandbox": "bubblewrap",
            "harness": {"version": "0.1.0", "hash": digest("harness")},
            "toolchain": {"nvcc": "13.0.48", "arch": "sm_90" if cuda else "sm_80"},
            "device": device if cuda else {"name": "libwarpemu"},
            "policy": "schema: warpgrade.policy.v1\n",
            "policy_name": "spmm",
            "seed_commitment": digest("seed"),
            "speed_measured": cuda,
            "skipped_cases": [],
            "cases": [{key: c[key] for key in ("id", "dataset", "k", "kind")} for c in self.cases],
            "submissions": self.submissions,
        }

    def _judge(self, submission: dict[str, Any]) -> None:
        rng, staff = self.random, submission["role"] != "student"
        compiles = staff or rng.random() > 0.3 * self.faults
        self._compile(submission, compiles, 0 if staff else rng.choice([0, 0, 0, 48, 212]))
        skill = {"naive": -2.5, "optimized": 0.45}.get(submission["id"], rng.gauss(0.0, 0.3))
        if submission["id"].startswith("step-"):
            skill = -0.6 + 0.18 * int(submission["id"][5:7])
        clean = staff or rng.random() > self.faults
        for case in self.cases:
            record = self._identity(submission, case)
            if not compiles:
                record["case"] = {key: case[key] for key in ("id", "dataset", "k", "kind")}
                record["outcome"] = {
                    "verdict": "compile_error",
                    "message": "spmm.cu:41: identifier is undefined",
                    "next_step": "compile it again: make test LAB=spmm",
                }
            elif not clean and rng.random() < 0.3:
                self._fail(record, rng.choice(FAULTS))
            else:
                self._accept(record, case, skill)
            if self.backend == "emulator" and compiles:
                record["counters"] = self._counters(case, skill)
            self.records.append(record)

    def _compile(self, submission: dict[str, Any], compiles: bool, spills: int) -> None:
        rng = self.random
        kernels = [
            {
                "name": f"spmm_{part}_kernel(int const*, int const*, float const*)",
                "arch": "sm_90",
                "registers": rng.randrange(24, 128),
                "shared_bytes": rng.choice([0, 4096, 16384]),
                "constant_bytes": 392,
                "stack_bytes": spills,
                "spill_store_bytes": spills,
                "spill_load_bytes": spills,
            }
            for part in ("long_rows", "short_rows")
        ]
        self.logs[submission["id"]] = "ptxas info    : 0 bytes gmem\n" if compiles else COMPILER_WORDS
        self.compilations[submission["id"]] = {
            "schema": "warpgrade.submission.v1",
            "run": self.run["run"],
            "submission": submission,
            "lab": "spmm",
            "status": "compiled" if compiles else "compile_error",
            "seconds": 3.4,
            "hash": submission["hash"],
            "files": ["spmm.cu", "spmm.h"],
            "flags": ["-O3", "-std=c++20"],
            "cached": False,
            "kernels": kernels if compiles else [],
            "warnings": rng.randrange(3),
            **({} if compiles else {"message": "spmm.cu:41: identifier is undefined"}),
        }

    def _identity(self, submission: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
        return {
            "schema": "warpgrade.case.v1",
            "run": self.run["run"],
            "submission": submission,
            "lab": "spmm",
            "case": case,
            "backend": self.backend,
            "sandbox": "bubblewrap",
            "harness": self.run["harness"],
            "seed_commitment": self.run["seed_commitment"],
            "device": self.run["device"],
            "kernels": self.compilations[submission["id"]]["kernels"],
            "toolchain": {**self.run["toolchain"], "flags": ["-O3"]},
            "recorded_at": "2026-03-01T10:20:00Z",
        }

    def _fail(self, record: dict[str, Any], fault: tuple[str, str, str]) -> None:
        verdict, reason, message = fault
        record["outcome"] = {
            "verdict": verdict,
            "reason": reason,
            "message": message,
            "details": {"repetition": 1},
            "next_step": f"repeat it: make test LAB=spmm CASE={record['case']['id']}",
        }
        record["verification"] = {
            "repetitions": 1,
            "methods": ["full"],
            "cells_checked": 544,
            "max_error_over_bound": 17.2,
        }
        record["wall_s"] = 1.5
        if verdict == "wrong_answer":
            record["mismatches"] = [
                {"row": 17 + i, "col": 4, "row_nnz": 40 + i, "want": 0.5 + i, "got": "nan" if i % 2 == 0 else 1.25}
                for i in range(6)
            ]
            record["pattern"] = "rows longer than 32 are wrong"
        if verdict == "runtime_error" and self.backend == "emulator":
            record["diagnostics"] = [
                {
                    "kind": "out_of_bounds",
                    "access": "store",
                    "file": "spmm.cu",
                    "path": "/box/spmm.cu",
                    "line": 31,
                    "kernel": "spmm_long_rows_kernel",
                    "block": [3, 0, 0],
                    "thread": [5, 0, 0],
                    "address": "0x7f0012",
                    "bytes": 4,
                    "allocation": {"name": "c", "bytes": 4096, "offset": 4096},
                    "count": 12,
                    "message": "store of 4 bytes, 0 bytes past the end of c",
                    "advice": "guard the last block: if (row < a.rows)",
                }
            ]

    def _accept(self, record: dict[str, Any], case: dict[str, Any], skill: float) -> None:
        record["outcome"] = {"verdict": "accepted"}
        record["verification"] = {
            "repetitions": 34,
            "methods": ["freivalds", "full"],
            "cells_checked": 9_100_000,
            "max_error_over_bound": 0.08,
        }
        record["plan"] = {"device_bytes": 8 * case["nnz"]}
        record["wall_s"] = 2.5
        if self.backend == "cuda" and case["kind"] == "speed":
            self._time(record, case, skill)
        if self.backend == "emulator" and case["kind"] == "speed":
            ratio = math.exp(skill + 2.5)  # over naive, whose skill is -2.5
            bounds = {"ratio": ratio, "low": 0.7 * ratio, "high": 1.4 * ratio}
            record["estimate"] = {"us": 900 / ratio, "over_naive": bounds, "text": "Estimate, not a measurement."}

    def _time(self, record: dict[str, Any], case: dict[str, Any], skill: float) -> None:
        rng = self.random
        rows, nnz, k = case["rows"], case["nnz"], case["k"]
        moved = 8 * nnz + 4 * (rows + 1) + 8 * k * rows
        floor_us = 1e6 * moved / 4.8e12
        baseline_us = floor_us * (3 + 40 * nnz / (nnz + 3e7)) * (1.6 if k == 32 else 1)
        speedup = math.exp(skill * (1.3 if k == 32 else 0.6) + rng.gauss(0.12, 0.15))
        median = max(baseline_us / speedup, 1.1 * floor_us)
        noise = rng.uniform(0.002, 0.02)
        pairs = rng.choice([31, 63, 127])

        def draw(centre: float) -> list[float]:
            return [round(rng.gauss(centre, noise * centre), 3) for _ in range(pairs)]

        clocks = {"sm_mhz": 1980, "memory_mhz": 3201, "temperature_c": 41, "throttle_reasons": 0}
        record["timing"] = {
            "median_us": median,
            "low_us": median * (1 - noise),
            "high_us": median * (1 + noise),
            "bound_by": "device",
            "event_median_us": median,
            "host_us": 4.9,
            "synchronizes": False,
            "plan_ms": 1.8,
            "break_even_runs": rng.randrange(2, 900),
            "looks": 1,
            "stopped_by": "narrow",
            "samples": {
                "submission_us": draw(median),
                "submission_event_us": draw(median),
                "submission_clock_us": draw(median + 14.2),
                "submission_host_us": draw(4.9),
                "baseline_us": {"cusparse_default": draw(baseline_us)},
                "clocks": {"start": clocks, "end": {**clocks, "temperature_c": 47}},
            },
        }
        ratio = baseline_us / median
        record["ratios"] = {
            name: {
                "median": ratio * f,
                "low": ratio * f * (1 - noise),
                "high": ratio * f * (1 + noise),
                "confidence": 0.95,
                "pairs": pairs,
            }
            for name, f in (("cusparse_default", 1), ("cusparse_best", 0.7), ("naive", 21.0))
        }
        record["throughput_nnz_per_s"] = 1e6 * nnz / median
        record["floor"] = {
            "compulsory_bytes": moved,
            "peak_bytes_per_s": 4.8e12,
            "floor_us": floor_us,
            "fraction": floor_us / median,
        }

    def _counters(self, case: dict[str, Any], skill: float) -> dict[str, float | list[dict[str, Any]]]:
        work = case["nnz"] * case["k"] / 8
        warp = int(work * math.exp(-skill) * self.random.uniform(0.9, 1.2))
        lanes = min(32.0, 21 + 8 * math.tanh(skill) + self.random.uniform(0, 3))
        kernel = {
            "kernel": "spmm_long_rows_kernel",
            "launches": 4,
            "blocks": 400,
            "warp_instructions": warp,
            "thread_instructions": int(warp * lanes),
            "active_lanes": round(lanes, 2),
            "global_requests": warp // 6,
            "global_sectors": int(warp / 6 * (9 - 4 * math.tanh(skill))),
            "global_sectors_ideal": warp // 6 * 4,
            "shared_requests": warp // 9 if skill > -1 else 0,
            "shared_passes": int(warp // 9 * self.random.uniform(1, 1.6)) if skill > -1 else 0,
            "atomics": self.random.choice([0, 0, warp // 90]),
            "arithmetic": warp // 2,
            "memory": warp // 4,
            "barriers": warp // 50,
            "divergent_branches": warp // 70,
            "wall_ms": 90.5,
            "block_imbalance": 1.7,
        }
        totals = {
            key: float(str(value))
            for key, value in kernel.items()
            if key not in {"kernel", "wall_ms", "block_imbalance", "active_lanes"}
        }
        return {**totals, "active_lanes": lanes, "kernels": [kernel]}

    def scores(self) -> dict[str, int | list[dict[str, Any]] | str]:
        """Points by the default policy: 40 for correct cases, 60 for speed, gated by correctness."""
        by_key = {(r["submission"]["id"], r["case"]["id"]): r for r in self.records}
        cuda = self.backend == "cuda"
        lines = []
        for submission in self.submissions:
            cases = [self._score_case(case, by_key.get((submission["id"], case["id"]))) for case in self.cases]
            judged = [c for c in cases if c["verdict"] not in {"judge_fault", "not_run"}]
            correct = [c for c in cases if c["verdict"] == "accepted"]
            with_threshold = [c for c in judged if "threshold" in c]
            over = [c for c in with_threshold if c["threshold_status"] in {"pass", "within_noise"}]
            for c in cases:
                c["max_points"] = 40 / len(judged) if c in judged else 0.0
                c["points"] = c["max_points"] if c["verdict"] == "accepted" else 0.0
                if c in with_threshold and cuda:
                    c["max_points"] += 60 / len(with_threshold)
                    c["points"] += 60 / len(with_threshold) if c in over and len(correct) == len(judged) else 0.0
            worst = next((c["verdict"] for c in cases if c["verdict"] != "accepted"), "accepted")
            lines.append(
                {
                    **submission,
                    "points": sum(c["points"] for c in cases),
                    "max_points": 100 if cuda else 40,
                    "verdict": worst,
                    "correct_cases": len(correct),
                    "total_cases": len(cases),
                    "undecided_cases": len(cases) - len(judged),
                    "over_threshold": len(over),
                    "threshold_cases": len(with_threshold),
                    "speed_measured": cuda,
                    "cases": cases,
                }
            )
        return {
            "schema": "warpgrade.scores.v1",
            "run": self.run["run"],
            "policy_name": "spmm",
            "policy_hash": digest("policy"),
            "max_points": 100 if cuda else 40,
            "submissions": lines,
        }

    def _score_case(self, case: dict[str, Any], record: dict[str, Any] | None) -> dict[str, Any]:
        line = {key: case[key] for key in ("id", "dataset", "k", "kind")} | {"baseline": "cusparse_default"}
        line["verdict"] = record["outcome"]["verdict"] if record else "not_run"
        if case["kind"] != "speed":
            return line
        line |= {"threshold": 1.0, "threshold_status": "not_measured"}
        ratio = record.get("ratios", {}).get("cusparse_default") if record else None
        if ratio and line["verdict"] == "accepted":
            line["ratio"] = {key: ratio[key] for key in ("median", "low", "high")}
            noise = ratio["low"] < 1.0 <= ratio["high"]
            line["threshold_status"] = "within_noise" if noise else "pass" if ratio["median"] >= 1 else "fail"
        return line

    def record(self, submission: str, case: str) -> dict[str, Any]:
        """The record of a submission on a case, to be changed by a test."""
        return next(r for r in self.records if r["submission"]["id"] == submission and r["case"]["id"] == case)

    def write(self, folder: Path) -> Path:
        folder = Path(folder)
        (folder / "submissions").mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps(self.run, ensure_ascii=False), encoding="utf-8")
        (folder / "scores.json").write_text(json.dumps(self.scores(), ensure_ascii=False), encoding="utf-8")
        lines = [canonical(sealed(record)) + "\n" for record in self.records]
        (folder / "records.jsonl").write_text("".join(lines), encoding="utf-8")
        for name, compilation in self.compilations.items():
            (folder / "submissions" / name).mkdir()
            (folder / "submissions" / name / "compile.json").write_text(json.dumps(compilation, ensure_ascii=False))
            (folder / "submissions" / name / "compile.log").write_text(self.logs[name])
        return folder


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--backend", default="cuda", choices=["cuda", "emulator"])
    parser.add_argument("--students", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", default="class", choices=["class", "ladder"])
    options = parser.parse_args()
    SyntheticRun(options.backend, options.students, options.seed, options.kind).write(options.folder)
