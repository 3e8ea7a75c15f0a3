"""Looks at pages in a real browser, as wide as asked for, light and dark.

A headless Chromium has no window narrower than 500 pixels, so the page stands in a frame of the width that is asked
for: media queries, scrolling and axe-core see the frame.
"""

from __future__ import annotations

import html
import importlib.util
import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
_AA = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def browse(tmp_path: Path, *options: str) -> str:
    """Runs the browser; returns what it printed."""
    command = [CHROMIUM or "chromium", "--headless", "--no-sandbox", "--disable-gpu"]
    command += ["--allow-file-access-from-files", f"--user-data-dir={tmp_path}/profile", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, check=True).stdout


@cache
def axe_source() -> str:
    """axe-core, of the package that scripts/python-packages.txt names."""
    found = importlib.util.find_spec("axe_core_python")
    assert found is not None and found.origin is not None, "no axe-core-python here: run scripts/bootstrap"
    return (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")


def ask(tmp_path: Path, page: Path, probe: str, *, width: int, dark: bool = False, axe: bool = False) -> Any:
    """What the JavaScript function body `probe` returns in the page, as JSON; it may await."""
    script = f"<script>{axe_source()}</script>" if axe else ""
    script += (
        "<script>addEventListener('load', async () => { const told = await (async () => {"
        + probe
        + "})(); const out = parent.document.getElementById('told'); out.textContent = JSON.stringify(told); });</script>"
    )
    text = page.read_text(encoding="utf-8").replace("</body>", script + "</body>")
    frame = f'<iframe id="page" width="{width}" height="900" style="border:0" srcdoc="{html.escape(text)}"></iframe>'
    wrapper = tmp_path / f"frame-{page.parent.name}-{page.stem}-{width}.html"
    wrapper.write_text(
        f'<!DOCTYPE html><meta charset="utf-8"><body style="margin:0"><pre id="told"></pre>{frame}</body>',
        encoding="utf-8",
    )
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    dom = browse(tmp_path, scheme, "--window-size=1600,1000", "--virtual-time-budget=60000", "--dump-dom", wrapper.as_uri())
    told = re.search(r'<pre id="told">(.*?)</pre>', dom, re.DOTALL)
    assert told and told[1], f"the page said nothing: {dom[:300]}"
    return json.loads(html.unescape(told[1]))


def axe_findings(tmp_path: Path, page: Path, *, width: int, dark: bool) -> list[str]:
    """What axe-core finds of levels A and AA: a line a rule, with the first place."""
    probe = f"""
      const found = await axe.run(document, {{runOnly: {{type: "tag", values: {json.dumps([*_AA])}}}}});
      return [matchMedia("(prefers-color-scheme: dark)").matches, innerWidth, ...found.violations.map((rule) =>
        `${{rule.id}} (${{rule.nodes.length}}): ${{rule.nodes[0].html.slice(0, 200)}} ${{rule.nodes[0].any.map((a) => a.message)}}`)];
    """
    is_dark, inner, *findings = ask(tmp_path, page, probe, width=width, dark=dark, axe=True)
    assert is_dark == dark
    assert inner == width
    return findings


def widths(tmp_path: Path, page: Path, width: int) -> tuple[int, int]:
    """How wide the page's content is, and the window."""
    probe = "return [document.documentElement.scrollWidth, innerWidth];"
    content, window = ask(tmp_path, page, probe, width=width)
    return content, window


def smallest_letters(tmp_path: Path, page: Path, width: int) -> tuple[float, str]:
    """The size in pixels, as drawn, of the smallest letters that anybody is to read, and what they say."""
    probe = """
      let least = [1e9, ""];
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const holder = node.parentElement;
        if (!node.textContent.trim() || holder.closest("script, style, title, desc") || !holder.checkVisibility()) continue;
        let size = parseFloat(getComputedStyle(holder).fontSize);
        const drawing = holder.closest("svg");
        if (drawing && drawing.viewBox.baseVal && drawing.viewBox.baseVal.width)
          size *= drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width;
        if (size > 0 && size < least[0]) least = [size, node.textContent.trim().slice(0, 60)];
      }
      return least;
    """
    size, text = ask(tmp_path, page, probe, width=width)
    return size, text
