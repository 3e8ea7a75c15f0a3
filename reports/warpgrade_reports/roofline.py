"""What a device allows and where the class and the ladder stand below it: one roofline for each group of cases.

Of a lab whose cases are bound by a unit that computes, x is operations a compulsory byte and y operations a second. Of
every other lab x is the compulsory bytes and y the bytes a second: launch latency is a slope there, and L2 and DRAM are
plateaus. A case's own limit stands in its column; where cases share an x, their columns stand beside each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from warpgrade_reports import format as fmt
from warpgrade_reports.chart import Scale, log_range, median
from warpgrade_reports.grouping import Group, groups_of
from warpgrade_reports.ladder import climbers
from warpgrade_reports.model import CaseResult, Limit, Limits, Run

MEMORY = frozenset({"DRAM", "L2", "launch"})
_ROOM = 1.6  # of the axis beyond the outermost case, as a factor


@dataclass(frozen=True)
class Column:
    """One case: where it stands, its limit, and who came how near. Values are work a second."""

    label: str
    x: float
    limit: float
    bound_by: str
    us: float  # the limit as a time
    crowd: tuple[float, ...]
    steps: tuple[float | None, ...]  # the ladder's, in its order

    def share(self, value: float) -> float:
        """Of the limit."""
        return value / self.limit

    @property
    def best(self) -> float | None:
        """The class's best share."""
        return self.share(max(self.crowd)) if self.crowd else None

    @property
    def middle(self) -> float | None:
        """The class's median share."""
        return self.share(median(self.crowd)) if self.crowd else None

    @property
    def best_step(self) -> float | None:
        """The ladder's best share."""
        known = [value for value in self.steps if value is not None]
        return self.share(max(known)) if known else None


@dataclass(frozen=True)
class Roof:
    """What the device allows, as corners of a line."""

    label: str
    corners: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Roofline:
    """One picture."""

    slug: str
    title: str
    counts: bool  # operations; else bytes
    roofs: tuple[Roof, ...]
    columns: tuple[Column, ...]
    steps: tuple[str, ...]  # the ladder's names
    note: str

    @property
    def axes(self) -> tuple[str, str]:
        """What x and y are."""
        if self.counts:
            return "operations a compulsory byte", "operations a second"
        return "compulsory bytes of the case", "compulsory bytes a second"

    @property
    def x(self) -> Scale:
        """The axis of cases, as wide as the roofs."""
        ends = [x for roof in self.roofs for x, _ in roof.corners]
        return Scale(min(ends), max(ends), logarithmic=True)

    @property
    def y(self) -> Scale:
        """The axis of rates."""
        values = [v for c in self.columns for v in (*c.crowd, *(s for s in c.steps if s), c.limit)]
        values += [max(y for _, y in roof.corners) for roof in self.roofs]
        return Scale(*log_range(values), logarithmic=True)

    def show_x(self, value: float) -> str:
        """A tick of x."""
        return fmt.digits(value) if self.counts else fmt.scaled(value, "B")

    def show_y(self, value: float) -> str:
        """A tick of y."""
        return fmt.scaled(value, " op/s" if self.counts else "B/s")


def rooflines_of(run: Run) -> list[Roofline]:
    """The run's rooflines; none where scores.json has no limits."""
    if run.limits is None or not run.speed_measured:
        return []
    found = (_roofline(run, run.limits, group) for group in groups_of(run, run.speed_cases))
    return [roofline for roofline in found if roofline]


def without_crowd(roofline: Roofline) -> Roofline:
    """The same without the class: a mark for each of thousands makes a page slow."""
    return replace(roofline, columns=tuple(replace(column, crowd=()) for column in roofline.columns))


def _roofline(run: Run, limits: Limits, group: Group) -> Roofline | None:
    known = {
        spec.id: limit
        for spec in group.specs
        for limit in [_limit_of([s.by_case[spec.id] for s in run.submissions])]
        if limit
    }
    if not known:
        return None
    counts = all(limit.operations > 0 and limit.bytes > 0 for limit in known.values())
    counts = counts and any(limit.bound_by not in MEMORY for limit in known.values())
    steps = climbers(run)
    columns = []
    for spec, label in zip(group.specs, group.labels, strict=True):
        limit = known.get(spec.id)
        work = (limit.operations if counts else limit.bytes) if limit else 0
        if limit is None or work <= 0:
            continue
        crowd = (_rate(s.by_case[spec.id], work) for s in run.students)
        columns.append(
            Column(
                label,
                limit.operations / limit.bytes if counts else limit.bytes,
                1e6 * work / limit.us,
                limit.bound_by,
                limit.us,
                tuple(value for value in crowd if value is not None),
                tuple(_rate(s.by_case[spec.id], work) for s in steps),
            )
        )
    if not columns:
        return None
    columns.sort(key=lambda column: column.x)
    units = list(dict.fromkeys(limit.unit for limit in known.values() if limit.unit))
    wide = (columns[0].x / _ROOM, columns[-1].x * _ROOM)
    roofs = _computing(limits, units, wide, columns) if counts else _moving(limits, wide)
    names = tuple(s.title for s in steps)
    title = group.named("Roofline")
    note = f"Rates {limits.source}: {_rates(limits, units if counts else [])}." if limits.source else ""
    return Roofline(f"roofline-{group.slug}", title, counts, tuple(roofs), tuple(columns), names, note)


def _limit_of(results: Sequence[CaseResult]) -> Limit | None:
    return next((result.score.limit for result in results if result.score.limit), None)


def _rate(result: CaseResult, work: float) -> float | None:
    if not result.accepted or result.timing is None or result.timing.time_us.median <= 0:
        return None
    return 1e6 * work / result.timing.time_us.median


def _moving(limits: Limits, wide: tuple[float, float]) -> list[Roof]:
    """Launch latency, L2 and DRAM as one line, in pieces with a name each."""
    rates = limits.rates
    dram, cache, launch = (rates.get(key) for key in ("dram_bytes_per_s", "l2_bytes_per_s", "launch_us"))
    edge = rates.get("l2_bytes") or 0.0
    low, high = wide
    pieces = [("DRAM", dram, max(low, edge), high)]
    if cache and edge > low:
        pieces.insert(0, ("L2", cache, low, min(high, edge)))
    roofs = []
    for name, rate, start, end in pieces:
        if not rate or start >= end:
            continue
        knee = rate * launch / 1e6 if launch else start  # bytes that a launch's time moves
        if start < knee and launch:
            stop = min(knee, end)
            roofs.append(Roof("launch", ((start, 1e6 * start / launch), (stop, 1e6 * stop / launch))))
        if knee < end:
            roofs.append(Roof(name, ((max(start, knee), rate), (end, rate))))
    return roofs


def _key(unit: str) -> str:
    """The rate of a unit, as limit_reading.py names it."""
    return f"{unit.replace(' ', '_')}_per_s"


def _computing(
    limits: Limits, units: Sequence[str], wide: tuple[float, float], columns: Sequence[Column]
) -> list[Roof]:
    """Bandwidth as slopes, and the peak of each unit that a case counts on."""
    low, high = wide
    peaks = {unit: rate for unit in units if (rate := limits.rates.get(_key(unit)))}
    top = max(peaks.values(), default=0.0)
    bounds = {column.bound_by for column in columns}
    roofs = []
    for name, key in (("DRAM", "dram_bytes_per_s"), ("L2", "l2_bytes_per_s")):
        rate = limits.rates.get(key)
        if rate and (name == "DRAM" or name in bounds) and low * rate < top:
            end = min(high, top / rate)
            roofs.append(Roof(name, ((low, low * rate), (end, end * rate))))
    dram = limits.rates.get("dram_bytes_per_s")
    for unit, rate in peaks.items():
        start = max(low, rate / dram) if dram else low
        roofs.append(Roof(unit, ((min(start, high), rate), (high, rate))))
    return roofs


def _rates(limits: Limits, units: Sequence[str]) -> str:
    rates = limits.rates
    memory = (("DRAM", "dram_bytes_per_s"), ("L2", "l2_bytes_per_s"))
    words = [f"{name} {fmt.scaled(rates[key], 'B/s')}" for name, key in memory if key in rates]
    words += [f"{unit} {fmt.scaled(rates[_key(unit)], ' op/s')}" for unit in units if _key(unit) in rates]
    if "launch_us" in rates:
        words.append(f"launch {fmt.microseconds(rates['launch_us'])}")
    return ", ".join(words)
