"""What a report shows, as it stands in the records. Nothing here is computed beyond picking and naming.

Units stand in names. None means that the record does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from warpgrade_reports.verdicts import UNDECIDED

STUDENT = "student"
ACCEPTED = "accepted"
EMULATOR = "emulator"


@dataclass(frozen=True)
class Interval:
    """A median with its 95 % interval."""

    median: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class CaseSpec:
    """One case of the lab; sizes are known once any submission was judged on it."""

    id: str
    dataset: str
    width: int
    kind: str
    dataset_kind: str = ""
    rows: int | None = None
    cols: int | None = None
    nnz: int | None = None
    max_row: float | None = None
    mean_row: float | None = None
    empty_rows: float | None = None

    @property
    def is_speed(self) -> bool:
        """Whether the case counts for speed."""
        return self.kind == "speed"


@dataclass(frozen=True)
class Timing:
    """What was measured on a GPU, microseconds unless named otherwise."""

    time_us: Interval
    bound_by: str
    event_median_us: float | None
    host_us: float | None
    """Of host code before its first kernel may start; unknown in records from before the executor."""
    synchronizes: bool
    """Host code waits for the device, so that its way is in the time."""
    plan_ms: float | None
    break_even_runs: float | None
    stopped_by: str
    samples: Mapping[str, Any]

    # Records that were made before the executor have event times in the place of the device's clock.

    @property
    def submission_us(self) -> Sequence[Any]:
        """The submission's time in each pair."""
        return self.samples.get("submission_us") or self.samples.get("submission_event_us") or ()

    @property
    def baselines_us(self) -> Mapping[str, Any]:
        """The baselines' times, by name."""
        return self.samples.get("baseline_us") or self.samples.get("baseline_event_us") or {}


@dataclass(frozen=True)
class Floor:
    """The time that moving the compulsory bytes once would take."""

    floor_us: float
    fraction: float | None
    compulsory_bytes: float | None
    peak_bytes_per_s: float | None


@dataclass(frozen=True)
class Diagnostic:
    """One mistake that the emulator's checks found."""

    kind: str
    place: str
    kernel: str
    block: str
    thread: str
    allocation: str
    count: int | None
    message: str
    advice: str

    @property
    def is_python(self) -> bool:
        """Whether Triton compiled the kernel: its blocks are programs, its threads are the compiler's."""
        return self.place.partition(":")[0].endswith(".py")


@dataclass(frozen=True)
class Mismatch:
    """One wrong cell; values are as the record writes them, so that `nan` stays a word."""

    place: tuple[int, ...]  # its indices in the array
    row_nnz: int | None
    want: str
    got: str
    output: str = ""  # the array, of a lab with several; empty: the run's


@dataclass(frozen=True)
class Kernel:
    """What ptxas said about one kernel."""

    name: str
    arch: str
    registers: int | None
    shared_bytes: int | None
    constant_bytes: int | None
    stack_bytes: int | None
    spill_store_bytes: int | None
    spill_load_bytes: int | None

    @property
    def spills(self) -> bool:
        """Whether registers overflowed into local memory."""
        return bool(self.spill_store_bytes or self.spill_load_bytes)


@dataclass(frozen=True)
class Compilation:
    """One compilation and the compiler's words."""

    status: str
    message: str
    seconds: float | None
    files: tuple[str, ...]
    flags: str
    warnings: int | None
    kernels: tuple[Kernel, ...]
    log: str


@dataclass(frozen=True)
class Limit:
    """The least time that the device allows for a case, and how near a submission came."""

    us: float
    bound_by: str  # "DRAM", "L2", "launch", or the unit that does the operations
    share: float | None  # the limit over the measured time
    bytes: float
    operations: float  # 0: none are counted
    unit: str


@dataclass(frozen=True)
class Limits:
    """The rates that limits were made from: bytes or operations a second, `launch_us`, `l2_bytes`."""

    device: str
    rates: Mapping[str, float]
    source: str  # "measured on this device", "data sheet"


@dataclass(frozen=True)
class CaseScore:
    """What a case is worth, from scores.json."""

    verdict: str
    points: float | None
    max_points: float | None
    threshold: float | None
    baseline: str
    ratio: Interval | None
    threshold_status: str
    note: str
    limit: Limit | None = None


@dataclass(frozen=True, slots=True)  # a class has tens of thousands
class CaseResult:
    """A submission on a case: the record, when there is one, and its score."""

    spec: CaseSpec
    score: CaseScore
    verdict: str
    reason: str = ""
    message: str = ""
    next_step: str = ""
    output: str = ""
    pattern: str = ""
    repetitions: int | None = None
    methods: tuple[str, ...] = ()
    cells_checked: int | None = None
    max_error_over_bound: float | None = None
    mismatches: tuple[Mismatch, ...] = ()
    timing: Timing | None = None
    plan_device_bytes: float | None = None  # device memory that the plan holds; not known with --direct
    ratios: Mapping[str, Interval] = field(default_factory=dict)
    floor: Floor | None = None
    throughput_nnz_per_s: float | None = None
    counters: Mapping[str, Any] | None = None
    estimated: Interval | None = None  # speed-up over naive, of the estimate
    estimate: str = ""  # of the time on a GPU, in the judge's sentences; never a measurement
    diagnostics: tuple[Diagnostic, ...] = ()
    device: Mapping[str, Any] = field(default_factory=dict)
    dataset_hash: str = ""
    seed_commitment: str = ""
    recorded_at: str = ""
    wall_s: float | None = None
    phases: Mapping[str, float] = field(default_factory=dict)  # seconds of wall_s
    checksum: str = ""
    judge_faults: tuple[str, ...] = ()  # what two judges met at this case because of the submission

    @property
    def accepted(self) -> bool:
        """Correct in every repetition."""
        return self.verdict == ACCEPTED

    @property
    def undecided(self) -> bool:
        """Not judged: neither right nor wrong."""
        return self.verdict in UNDECIDED and not self.left_out

    @property
    def left_out(self) -> bool:
        """Beyond what the submission's older interface was promised: none of its cases."""
        return self.verdict == "not_run" and self.reason == "left_out"


@dataclass(frozen=True)
class SetPoints:
    """A student's points that a person set."""

    student: str
    points: float
    reason: str


@dataclass(frozen=True)
class Submission:
    """One submission with its cases in the run's order."""

    id: str
    title: str
    role: str
    interface: str
    hash: str
    compilation: Compilation | None
    verdict: str
    points: float
    max_points: float
    correct_cases: int
    total_cases: int
    undecided_cases: int
    over_threshold: int
    threshold_cases: int
    speed_measured: bool
    cases: tuple[CaseResult, ...]
    language: str = "CUDA"
    idea: str = ""  # what a staff's solution does, in its own words
    counts: bool = True  # false: an attempt that another one of the same student beats
    set_points: tuple[SetPoints, ...] = ()  # of its students
    computed_points: float | None = None  # where a person set `points`
    student: str = ""  # whose attempts belong together
    attempt: int | None = None
    submitted_at: str = ""

    @property
    def is_student(self) -> bool:
        """References and baselines stand apart from the class."""
        return self.role == STUDENT

    @cached_property
    def by_case(self) -> dict[str, CaseResult]:
        """The cases by id."""
        return {result.spec.id: result for result in self.cases}


@dataclass(frozen=True)
class SkippedCase:
    """A case that this machine could not offer."""

    case: str
    why: str


@dataclass(frozen=True)
class Run:
    """A run folder, read."""

    id: str
    lab: str
    backend: str
    created_at: str
    sandbox: str
    harness_version: str
    harness_hash: str
    toolchain: Mapping[str, Any]
    device: Mapping[str, Any]
    policy_name: str
    policy_hash: str
    max_points: float
    speed_measured: bool
    cases: tuple[CaseSpec, ...]
    skipped: tuple[SkippedCase, ...]
    submissions: tuple[Submission, ...]
    unsealed_records: int  # records without a checksum
    width: str = ""  # what the lab calls a case's k; empty: it has none
    work: str = "work"  # what its throughput counts
    output: str = "output"  # the array that is checked
    thresholds_note: str = ""  # that the thresholds are another GPU model's
    threshold_nodes: str = ""  # whose times decided on thresholds, of a cluster: "n1 (24), n2 (12)"
    points_note: str = ""  # which points are a person's, or that these are left out
    limits: Limits | None = None
    ladder: str = ""  # the dataset whose cases the ladder's steps are about; empty: all

    @property
    def on_emulator(self) -> bool:
        """Counters instead of times."""
        return self.backend == EMULATOR

    @cached_property
    def names_languages(self) -> bool:
        """Whether tables say each submission's language: not where all are CUDA."""
        return any(s.language != "CUDA" for s in self.submissions)

    @cached_property
    def students(self) -> tuple[Submission, ...]:
        """The class: of each student or team the attempt that counts."""
        return tuple(s for s in self.submissions if s.is_student and s.counts)

    @cached_property
    def attempts(self) -> Mapping[str, Sequence[Submission]]:
        """All submissions of each student or team."""
        found: dict[str, list[Submission]] = {}
        for submission in self.submissions:
            if submission.is_student:
                found.setdefault(submission.student, []).append(submission)
        return found

    @cached_property
    def staff(self) -> tuple[Submission, ...]:
        """References and baselines."""
        return tuple(s for s in self.submissions if not s.is_student)

    @cached_property
    def speed_cases(self) -> tuple[CaseSpec, ...]:
        """The cases that count for speed."""
        return tuple(c for c in self.cases if c.is_speed)

    @cached_property
    def graded_baselines(self) -> tuple[str, ...]:
        """The baselines that thresholds speak of; a policy has one."""
        return tuple(sorted({c.score.baseline for s in self.submissions for c in s.cases if c.score.baseline}))
