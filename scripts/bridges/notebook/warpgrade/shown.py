"""A judged cell as a notebook shows it: a table, a picture, and mistakes at lines of the cell; as HTML and as text."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpgrade.judging import Judged, Remark
from warpgrade.labs import Cell

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_MESSAGE = 300


def speed_up(case: dict[str, Any]) -> str:
    """What was measured of a case; nothing where speed was not."""
    ratio = case.get("ratio")
    text = f"{ratio['median']:.2f}× {case.get('baseline', '').replace('_', ' ')}" if ratio else ""
    if ratio and "low" in ratio and "high" in ratio:
        text += f" ({ratio['low']:.2f} to {ratio['high']:.2f})"
    if "time_us" in case:
        text += f"{', ' if text else ''}{case['time_us']:.1f} µs"
    return text


def message(case: dict[str, Any]) -> str:
    """What went wrong in a case, in one line."""
    text = str(case.get("message") or "").split("\n")[0] if case["verdict"] != "accepted" else ""
    return text if len(text) <= LONGEST_MESSAGE else text[:LONGEST_MESSAGE] + "…"


@dataclass(frozen=True)
class Shown:
    """IPython asks it for HTML or for text."""

    cell: Cell
    judged: Judged
    home: Path
    note: str = ""  # said once in a notebook

    @property
    def head(self) -> str:
        """How many cases are right, and who judged."""
        view = self.judged.view
        return (
            f"{self.cell.lab}: {view.get('correct_cases', 0)} of {view.get('total_cases', 0)} cases are right. "
            f"{view['judged_by']}"
        )

    def quoted(self, remark: Remark) -> str:
        """The line of the cell that a remark is about."""
        lines = self.cell.source.split("\n")
        own = remark.file == self.cell.name and 1 < remark.line <= len(lines)
        return lines[remark.line - 1].strip() if own else ""

    def place(self, remark: Remark) -> str:
        """Where a mistake is."""
        return f"line {remark.line}" if remark.file == self.cell.name else f"{remark.file}, line {remark.line}"

    def __repr__(self) -> str:
        """For a terminal."""
        width = max((len(case["id"]) for case in self.judged.view["cases"]), default=0)
        lines = [self.note] if self.note else []
        lines += [self.head]
        lines += [f"  {case['id']:<{width}}  {case['verdict']:<16} {speed_up(case) or message(case)}".rstrip()
                  for case in self.judged.view["cases"]]  # fmt: skip
        for remark in self.judged.remarks:
            lines += [f"{self.place(remark)}: {self.quoted(remark)}".rstrip(": "), f"  {remark.words}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """For a notebook. What a student's program says is escaped."""
        return f'<style>{self.style()}</style><div class="warpgrade">{"".join(self.parts())}</div>'

    def parts(self) -> Iterator[str]:
        """Note, head, mistakes, table, picture."""
        if self.note:
            yield f'<p class="notice">{escape(self.note)}</p>'
        yield f"<p><b>{escape(self.head)}</b></p>"
        for remark in self.judged.remarks:
            place = f"<b>{escape(self.place(remark))}</b> <code>{escape(self.quoted(remark))}</code>"
            yield f'<div class="failure"><p>{place}</p><p class="message">{escape(remark.words)}</p></div>'
        yield "<table><thead><tr><th>case</th><th>state</th><th>speed-up, time</th><th>message</th></tr></thead><tbody>"
        for case in self.judged.view["cases"]:
            verdict = str(case["verdict"])
            chip = f'<span class="chip v-{escape(verdict)}">{escape(verdict.replace("_", " "))}</span>'
            yield f"<tr><th>{escape(case['id'])}</th><td>{chip}</td><td>{escape(speed_up(case))}</td>"
            yield f"<td>{escape(message(case))}</td></tr>"
        yield "</tbody></table>"
        yield self.picture()

    def reports(self) -> Path:
        """The reports' own Python, which draws and has the style."""
        folder = self.home / "reports"
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
        return folder / "warpgrade_reports"

    def picture(self) -> str:
        """Speed-ups where they were measured, else each case's state."""
        self.reports()
        from warpgrade_reports import svg, view_charts  # noqa: PLC0415 - the package is found by now

        view = self.judged.view
        charts = view_charts.speed_charts(view) or [view_charts.states_chart(view)]
        return "".join(svg.draw(chart, heading="h4") for chart in charts)

    def style(self) -> str:
        """The pages' style, for this output alone."""
        style = (self.reports() / "templates/style.css").read_text(encoding="utf-8")
        own = style.replace(":root {", "& {").replace("\nbody {", "\n& {").replace("\n* {", "\n& * {")
        return f".warpgrade {{ {own}\n padding: 4px 8px; }}"
