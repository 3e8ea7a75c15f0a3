"""How a lab's cases stand together in tables and charts: by width (K = 32), by dataset, or all in one.

SpMM has many datasets at two widths, APSP a few datasets at many sizes, histogram no width at all. A chart holds cases
that a reader compares; what differs between them is their label.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from warpgrade_reports.model import CaseSpec

_MOST_WIDTHS = 4  # more are no groups but points along an axis
_MOST_TOGETHER = 10  # lines that one chart can hold


class HasWidth(Protocol):
    """What says how the lab calls a case's k: a run."""

    @property
    def width(self) -> str:
        """The name, empty for a lab that knows no width."""


@dataclass(frozen=True)
class Group:
    """Cases of one chart or table column. An empty title: there is only this group."""

    title: str  # "K = 32"
    slug: str  # "k32", for file names
    specs: tuple[CaseSpec, ...]
    labels: tuple[str, ...]  # one a case: what tells it from the others of the group

    def named(self, text: str) -> str:
        """The text with the group's title behind it."""
        return f"{text}, {self.title}" if self.title else text

    @property
    def short(self) -> str:
        """The title without spaces around its sign."""
        return self.title.replace(" = ", "=")


def width_text(run: HasWidth, k: int) -> str:
    """`n = 1,000`; empty for a lab that knows no width."""
    return f"{run.width} = {k:,}" if run.width else ""


def groups_of(run: HasWidth, specs: Sequence[CaseSpec]) -> list[Group]:
    """The groups of these cases, in order; every case is in exactly one."""
    if not specs:
        return []
    widths = Counter(spec.width for spec in specs)
    datasets = Counter(spec.dataset for spec in specs)
    if len(widths) == 1:
        return [_group(width_text(run, specs[0].width), f"k{specs[0].width}", specs, [spec.dataset for spec in specs])]
    if len(widths) <= _MOST_WIDTHS and max(widths.values()) > 1 and len(datasets) >= len(widths):
        return [
            _group(width_text(run, k), f"k{k}", chosen, [spec.dataset for spec in chosen])
            for k in sorted(widths)
            if (chosen := [spec for spec in specs if spec.width == k])
        ]
    if len(specs) <= _MOST_TOGETHER:
        return [_group("", "all", specs, [_own_label(run, spec, datasets) for spec in specs])]
    return _by_dataset(run, specs, datasets)


def _by_dataset(run: HasWidth, specs: Sequence[CaseSpec], datasets: Counter[str]) -> list[Group]:
    """A group a dataset that has several cases; the rest together."""
    groups = []
    for dataset in (name for name, cases in datasets.items() if cases > 1):
        chosen = [spec for spec in specs if spec.dataset == dataset]
        groups.append(_group(dataset, re.sub(r"\W+", "-", dataset), chosen, _widths(run, chosen)))
    rest = [spec for spec in specs if datasets[spec.dataset] == 1]
    if rest:
        title = "other cases" if groups else ""
        groups.append(_group(title, "others", rest, [spec.id for spec in rest]))
    return groups


def _widths(run: HasWidth, specs: Sequence[CaseSpec]) -> list[str]:
    labels = [width_text(run, spec.width) for spec in specs]
    return labels if len(set(labels)) == len(labels) else [spec.id for spec in specs]


def _own_label(run: HasWidth, spec: CaseSpec, datasets: Counter[str]) -> str:
    width = width_text(run, spec.width)
    if len(datasets) == 1:
        return width or spec.id
    return f"{spec.dataset}, {width}" if width and datasets[spec.dataset] > 1 else spec.id


def _group(title: str, slug: str, specs: Sequence[CaseSpec], labels: Sequence[str]) -> Group:
    if len(set(labels)) < len(labels):
        labels = [spec.id for spec in specs]
    return Group(title, slug, tuple(specs), tuple(labels))
