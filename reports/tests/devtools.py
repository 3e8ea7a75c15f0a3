"""A real browser as a phone: its window, its pixels, its touch, and a slower processor.

Asked by the DevTools protocol (https://chromedevtools.github.io/devtools-protocol) through the browser's own pipe: each
message is JSON, ended by a zero byte, written to its descriptor 3 and read from 4 (--remote-debugging-pipe).
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

from browser import CHROMIUM

PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 3, "mobile": True}
SLOWER = 4  # times, as DevTools' own choice for a mid-range phone
_PATIENCE_S = 120.0

# When the document was there, and when the first of it was drawn, in milliseconds; a frame may still be on its way.
_TIMES = """new Promise((tell) => { const look = () => {
  const page = performance.getEntriesByType("navigation")[0];
  const drawn = performance.getEntriesByName("first-contentful-paint")[0];
  if (page.loadEventEnd > 0 && drawn) tell({ready: page.domContentLoadedEventEnd, loaded: page.loadEventEnd,
    drawn: drawn.startTime, bytes: page.decodedBodySize, elements: document.querySelectorAll("*").length,
    content: document.documentElement.scrollWidth, window: document.documentElement.clientWidth});
  else setTimeout(look, 50); }; look(); })"""


class Phone:
    """One start of the browser; each page is opened anew."""

    def __init__(self, profile: Path, slower: int = SLOWER) -> None:
        self._number = 0
        self._left = b""
        commands, self._to = os.pipe()
        self._from, answers = os.pipe()
        browser = [CHROMIUM or "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
        browser += [f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{commands} 4>&{answers}', "bash", *browser],
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        target = self._ask("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self._ask("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._session: str = attached["sessionId"]
        for method, options in (
            ("Emulation.setDeviceMetricsOverride", PHONE),
            ("Emulation.setTouchEmulationEnabled", {"enabled": True}),
            ("Emulation.setCPUThrottlingRate", {"rate": slower}),
        ):
            self._ask(method, options, self._session)

    def open(self, page: Path) -> dict[str, float]:
        """Opens it; when it was ready, loaded and drawn (ms), its bytes, elements and widths."""
        self._ask("Page.navigate", {"url": page.resolve().as_uri()}, self._session)
        told: dict[str, float] = self.evaluate(_TIMES)
        return told

    def evaluate(self, expression: str) -> Any:
        """The value of the JavaScript in the page, as JSON; of a promise what it becomes."""
        options = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        answer = self._ask("Runtime.evaluate", options, self._session)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def type(self, text: str) -> None:
        """What the keyboard enters where the focus is."""
        self._ask("Input.insertText", {"text": text}, self._session)

    def close(self) -> None:
        """Ends the browser."""
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def _ask(self, method: str, options: dict[str, Any], session: str = "") -> dict[str, Any]:
        self._number += 1
        asked = {"id": self._number, "method": method, "params": options}
        if session:
            asked["sessionId"] = session
        os.write(self._to, json.dumps(asked).encode() + b"\0")
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            message = self._next()
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                result: dict[str, Any] = message["result"]
                return result
        raise RuntimeError(f"{method}: no answer in {_PATIENCE_S:.0f} s")

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            more = os.read(self._from, 1 << 16)
            if not more:
                raise RuntimeError("the browser has ended")
            self._left += more
        text, self._left = self._left.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        return message
