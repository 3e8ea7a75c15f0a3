"""Looks at pages in a real browser, as wide as asked for, light and dark.

A headless Chromium has no window narrower than 500 pixels, so each page stands in a frame of the width that is asked
for: media queries, scrolling and axe-core see the frame. One start of the browser looks at all of them.
"""

from __future__ import annotations

import html
import importlib.util
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)

LOOK = """
  const darkness = matchMedia("(prefers-color-scheme: dark)").matches;
  let least = [1e9, ""], least_in_charts = [1e9, ""];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const holder = node.parentElement;
    if (!node.textContent.trim() || holder.closest("script, style, title, desc") || !holder.checkVisibility()) continue;
    let size = parseFloat(getComputedStyle(holder).fontSize);
    const drawing = holder.closest("svg");
    if (drawing && drawing.viewBox.baseVal && drawing.viewBox.baseVal.width)
      size *= drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width;
    const told = [size, node.textContent.trim().slice(0, 60)];
    if (size > 0 && size < least[0]) least = told;
    if (drawing && size > 0 && size < least_in_charts[0]) least_in_charts = told;
  }
  const content = document.documentElement.scrollWidth;
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
  // In the dark colours differ and nothing else.
  const asked = darkness ? {type: "rule", values: ["color-contrast"]} : {type: "tag", values: tags};
  const found = await axe.run(document, {runOnly: asked});
  return {
    dark: darkness, content, window: innerWidth, letters: least, chart_letters: least_in_charts,
    elements: document.querySelectorAll("*").length,
    headings: [...document.querySelectorAll("h1, h2, h3, h4")].map((head) => Number(head.tagName[1])),
    axe: found.violations.map((rule) =>
      `${rule.id} (${rule.nodes.length}): ${rule.nodes[0].html.slice(0, 160)} ${rule.nodes[0].failureSummary}`)};
"""


def browse(tmp_path: Path, *options: str) -> str:
    """Runs the browser; returns what it printed."""
    command = [CHROMIUM or "chromium", "--headless", "--no-sandbox", "--disable-gpu"]
    command += [f"--user-data-dir={tmp_path}/profile", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=500, check=True).stdout


@cache
def axe_source() -> str:
    """axe-core, of the package that scripts/python-packages.txt names."""
    found = importlib.util.find_spec("axe_core_python")
    if found is None or not found.submodule_search_locations:
        raise RuntimeError("no axe-core-python here: run scripts/bootstrap")
    return (Path(found.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8")


def ask(
    tmp_path: Path, pages: Sequence[tuple[Path, int]], probe: str, *, dark: bool = False, axe: bool = False
) -> list[Any]:
    """What the JavaScript function body `probe` returns in each page at its width, as JSON; it may await."""
    frames = []
    for number, (page, width) in enumerate(pages):
        script = f"<script>{axe_source()}</script>" if axe else ""
        script += (
            "<script>addEventListener('load', async () => { let told; try { told = await (async () => {"
            + probe
            + "})(); } catch (error) { told = {error: String(error)}; } "
            + f"parent.document.getElementById('told-{number}').textContent = JSON.stringify(told); }});</script>"
        )
        text = page.read_text(encoding="utf-8").replace("</body>", script + "</body>")
        frames.append(f'<pre id="told-{number}"></pre><iframe width="{width}" height="900" style="border:0" ')
        frames.append(f'srcdoc="{html.escape(text)}"></iframe>')
    wrapper = tmp_path / "frames.html"
    wrapper.write_text(f'<!DOCTYPE html><meta charset="utf-8"><body>{"".join(frames)}</body>', encoding="utf-8")
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    options = (scheme, "--window-size=1600,1000", "--virtual-time-budget=60000", "--dump-dom")
    dom = browse(tmp_path, *options, wrapper.as_uri())
    told = re.findall(r'<pre id="told-\d+">(.*?)</pre>', dom, re.DOTALL)
    assert len(told) == len(pages), dom[:300]
    return [json.loads(html.unescape(text)) for text in told]
