"""Each case's times of a class in their order, with the baselines, the threshold, and one's own place.

A view (warpgrade.feedback.v1) has `class_times` by case, where policy lets a student see them: how many there are, the
own place, and sorted times in microseconds without names; of a large class those at evenly spaced places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

from warpgrade_reports import format as fmt
from warpgrade_reports.chart import Scale, log_range, median
from warpgrade_reports.format import escape
from warpgrade_reports.model import CaseSpec, Run

LEAST = 3  # times; fewer are no ranking
_MOST = 101  # of a picture: more are not told apart
_WIDTH, _HEIGHT = 320, 206
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 312, 8, 164
_FAR = 3.0  # times the class's slowest or fastest: a line that far off is told in words
_AIR = 1.1  # of the axis beyond the outermost time, as a factor
_NARROW = 6.0  # an axis of a smaller factor may hold a single tick
DASHES = ("6 3", "2 2.5", "9 3 2 3", "1 4")
_INK, _QUIET, _GRID, _BLUE, _OWN = "#1b1d22", "#5b6270", "#d9dde3", "#0072b2", "#d55e00"
_FONT = 'font-family="Noto Sans, DejaVu Sans, sans-serif" font-size="12"'


@dataclass(frozen=True)
class Ranks:
    """One case: microseconds, fastest first; `times` are all or, of a large class, those at evenly spaced places."""

    label: str
    times: tuple[float, ...]
    baselines: tuple[tuple[str, float], ...] = ()
    threshold: float | None = None
    own: float | None = None
    place: int | None = None  # the own one, from 1; equal times share one
    count: int = 0  # of all times; 0: as many as `times`
    middle: float | None = None  # the median of all times; None: that of `times`

    @property
    def last(self) -> int:
        """The last place."""
        return max(self.count, len(self.times))

    @property
    def places(self) -> list[float]:
        """Where `times` stand, from 1 to the last place."""
        step = (self.last - 1) / max(1, len(self.times) - 1)
        return [1 + i * step for i in range(len(self.times))]

    @cached_property
    def near(self) -> list[tuple[int, str, float]]:
        """The baselines that stand in the picture, with their numbers; the others would press the class together."""
        low, high = self.times[0] / _FAR, self.times[-1] * _FAR
        return [(i, name, us) for i, (name, us) in enumerate(self.baselines) if low <= us <= high]

    @property
    def scale(self) -> Scale:
        """The axis of times: as wide as they are, or round where that would leave no room for ticks."""
        lines = [us for _, _, us in self.near] + [us for us in (self.threshold, self.own) if us]
        low, high = min([self.times[0], *lines]) / _AIR, max([self.times[-1], *lines]) * _AIR
        return Scale(*((low, high) if high / low > _NARROW else log_range([low, high])), logarithmic=True)


def ranks_of_run(run: Run) -> list[Ranks]:
    """The cases for speed of a class, in the run's order; without those that fewer than LEAST students solved."""
    found = []
    for spec in run.speed_cases:
        results = [s.by_case[spec.id] for s in run.students]
        timed = [r for r in results if r.accepted and r.timing]
        if len(timed) < LEAST:
            continue
        judged = [r for s in run.submissions if (r := s.by_case[spec.id]).accepted and r.timing]
        ratios: dict[str, list[float]] = {}
        for result in judged:
            for name, ratio in result.ratios.items():
                ratios.setdefault(name, []).append(ratio.median * result.timing.time_us.median if result.timing else 0)
        baselines = {name: median(values) for name, values in ratios.items()}
        score = next((r.score for r in results if r.score.threshold is not None), None)
        base = baselines.get(score.baseline) if score else None
        threshold = base / score.threshold if base and score and score.threshold else None
        graded = score.baseline if score else ""
        found.append(
            Ranks(
                _label(run, spec),
                _at_even_places(times := sorted(r.timing.time_us.median for r in timed if r.timing)),
                tuple(sorted(baselines.items(), key=lambda item: (item[0] != graded, item[0]))),
                threshold,
                count=len(times),
                middle=median(times),
            )
        )
    return found


def _at_even_places(times: Sequence[float]) -> tuple[float, ...]:
    """Of a large class the times at evenly spaced places, the first and the last among them."""
    if len(times) <= _MOST:
        return tuple(times)
    return tuple(times[i * (len(times) - 1) // (_MOST - 1)] for i in range(_MOST))


def _label(run: Run, spec: CaseSpec) -> str:
    several = sum(other.dataset == spec.dataset for other in run.speed_cases) > 1
    return f"{spec.dataset}, {run.width} = {spec.width:,}" if several and run.width else spec.id


def ranks_of_view(view: dict[str, Any]) -> list[Ranks]:
    """The cases of which the view says how the class did."""
    times = view.get("class_times") or {}
    found = []
    for case in view.get("cases", []):
        told = times.get(case.get("id")) or {}
        ordered = _times_of(tuple(told.get("us") or ()))
        if len(ordered) < LEAST:
            continue
        base, threshold = _positive(told.get("baseline_us")), _positive(case.get("threshold"))
        place = told.get("place")
        found.append(
            Ranks(
                case["id"],
                ordered,
                ((str(case.get("baseline", "baseline")), base),) if base else (),
                base / threshold if base and threshold else None,
                _positive(case.get("time_us")) if place else None,
                place,
                told.get("count", 0),
                _positive(told.get("median_us")),
            )
        )
    return found


@cache
def _times_of(values: tuple[object, ...]) -> tuple[float, ...]:
    """In order; each page of a class has the same ones."""
    return tuple(sorted(us for value in values if (us := _positive(value)) is not None))


def _positive(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) and value > 0 else None


def draw(every: Sequence[Ranks]) -> str:
    """A small picture a case under one legend; nothing of no case."""
    if not every:
        return ""
    names = list(dict.fromkeys(name for ranks in every for name, _ in ranks.baselines))
    drawn = {ranks.baselines[i][0] for ranks in every for i, _, _ in ranks.near}
    entries = [
        _entry(
            '<path class="rank" stroke="{0}" stroke-width="4" stroke-linecap="round" d="M4 10h0M11 7h0M18 5h0"/>',
            "a time of the class, fastest first",
        )
    ]
    if any(ranks.own for ranks in every):
        entries.append(_entry(f'<path class="own" fill="{_OWN}" d="{_diamond(11, 7)}"/>', "your time"))
    if any(ranks.threshold for ranks in every):
        entries.append(_entry(_line(1, 21, 7, "threshold", None), "the threshold's time"))
    entries += [
        _entry(_line(1, 21, 7, "reference", names.index(name)), name.replace("_", " "))
        for name in names
        if name in drawn
    ]
    figures = "".join(_figure(ranks, names) for ranks in every)
    return f'<div class="chart smalls"><ul class="legend">{"".join(entries)}</ul>{figures}</div>'


def _entry(drawing: str, label: str) -> str:
    drawing = drawing.replace("{0}", _BLUE)
    return f'<li><svg class="wide" viewBox="0 0 22 14" width="22">{drawing}</svg><bdi>{escape(label)}</bdi></li>'


def _figure(ranks: Ranks, names: Sequence[str]) -> str:
    """One case: the picture, and its figures in words below it."""
    words = [f"{ranks.last} times, median {fmt.microseconds(ranks.middle or median(ranks.times))}"]
    if ranks.own is not None:
        words.insert(0, f"yours {fmt.microseconds(ranks.own)}, place {ranks.place} of {ranks.last}")
    if ranks.threshold is not None:
        words.append(f"threshold {fmt.microseconds(ranks.threshold)}")
    words += [f"{name.replace('_', ' ')} {fmt.microseconds(us)}" for name, us in ranks.baselines]
    label, told = escape(ranks.label), escape("; ".join(words))
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="100%" role="img" '
        f'aria-label="{label}: {told}">{_picture(ranks, names)}</svg>'
        f"<figcaption><b>{label}</b>: {told}</figcaption></figure>"
    )


def _picture(ranks: Ranks, names: Sequence[str]) -> str:
    inside = ranks.own is not None and ranks.times[0] <= ranks.own <= ranks.times[-1]
    widens = None if inside else ranks.own
    drawn, frame = _class_picture(ranks.times, ranks.baselines, ranks.threshold, ranks.count, widens, tuple(names))
    if ranks.own is None or ranks.place is None:
        return drawn
    at = frame.x(min(ranks.last, ranks.place))
    return f'{drawn}<path class="own" fill="{_OWN}" d="{_diamond(at, frame.y(ranks.own))}"/>'


@dataclass(frozen=True)
class _Frame:
    """Where a time and a place stand in the picture."""

    scale: Scale
    last: int

    def y(self, us: float) -> float:
        return _BOTTOM - self.scale.position(us) * (_BOTTOM - _TOP)

    def x(self, place: float) -> float:
        return _LEFT + 6 + (place - 1) * (_RIGHT - _LEFT - 12) / max(1, self.last - 1)


@lru_cache(1024)
def _class_picture(
    times: tuple[float, ...],
    baselines: tuple[tuple[str, float], ...],
    threshold: float | None,
    count: int,
    own: float | None,
    names: tuple[str, ...],
) -> tuple[str, _Frame]:
    """All but the own mark: the same on each page of a class, where the own time does not widen the axis."""
    ranks = Ranks("", times, baselines, threshold, own, count=count)
    frame = _Frame(ranks.scale, ranks.last)
    x, y = frame.x, frame.y
    ticks = frame.scale.ticks()
    parts = []
    for tick in ticks[:: -(-len(ticks) // 5)]:
        at = f'y1="{y(tick):.1f}" y2="{y(tick):.1f}"'
        parts.append(f'<line class="grid" stroke="{_GRID}" x1="{_LEFT}" x2="{_RIGHT}" {at}/>')
        parts.append(_text(_LEFT - 5, y(tick) + 4, fmt.trimmed(fmt.microseconds(tick)), "end"))
    parts += [_line(_LEFT, _RIGHT, y(us), "reference", names.index(name)) for _, name, us in ranks.near]
    if ranks.threshold is not None:
        parts.append(_line(_LEFT, _RIGHT, y(ranks.threshold), "threshold", None))
    dots = "".join(f"M{x(place):.0f} {y(us):.1f}h0" for place, us in zip(ranks.places, ranks.times, strict=True))
    parts.append(
        f'<path class="rank" stroke="{_BLUE}" stroke-width="3.4" stroke-linecap="round" fill="none" d="{dots}"/>'
    )
    last = ranks.last
    parts += [
        _text(x(place), _BOTTOM + 17, str(place), "middle") for place in dict.fromkeys((1, (last + 1) // 2, last))
    ]
    parts.append(_text((_LEFT + _RIGHT) / 2, _BOTTOM + 36, "place in the class", "middle"))
    return "".join(parts), frame


def _text(x: float, y: float, text: str, anchor: str) -> str:
    css = "tick" if anchor == "middle" else "side"
    return f'<text {_FONT} class="{css}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{_QUIET}">{text}</text>'


def _line(left: float, right: float, y: float, css: str, number: int | None) -> str:
    """A line of the threshold, solid, or of a baseline, with dashes of its own."""
    look = f'stroke="{_INK}" stroke-width="2.2"' if number is None else f'stroke="{_QUIET}" stroke-width="1.4"'
    dashes = "" if number is None else f' style="stroke-dasharray:{DASHES[number % len(DASHES)]}"'
    return f'<line class="{css}" {look}{dashes} x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'


def _diamond(x: float, y: float) -> str:
    return f"M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6 -6z"
