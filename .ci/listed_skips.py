"""A test that is skipped in continuous integration fails the run, unless .ci/skips lists why it may be.

As a plugin of pytest (pyproject.toml names it) it reads the reasons at the end; as a program,
`python .ci/listed_skips.py CTEST.xml`, those of `ctest --output-junit`. Without CI in the environment skips are what
they always are. Exit code 1: a skip is not listed.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

import pytest

LIST = Path(__file__).with_name("skips")


def listed() -> list[re.Pattern[str]]:
    """The patterns of reasons that may be: a line each, without comments."""
    lines = (line.strip() for line in LIST.read_text(encoding="utf-8").split("\n"))
    return [re.compile(line) for line in lines if line and not line.startswith("#")]


def unlisted(reasons: Iterable[str]) -> list[str]:
    """The reasons that no pattern is found in, each once."""
    patterns = listed()
    return sorted({reason for reason in reasons if not any(pattern.search(reason) for pattern in patterns)})


def told(reasons: list[str]) -> str:
    """What to do about them."""
    lines = "\n".join(f"  {reason}" for reason in reasons)
    return f"skipped, and .ci/skips does not list why (mend the machine, or add a line with its reason):\n{lines}"


def skipped_by_pytest(config: pytest.Config) -> list[str]:
    """What was skipped in this session: places and reasons. Of a worker nothing: its controller knows."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if "CI" not in os.environ or reporter is None:
        return []
    reports = reporter.stats.get("skipped", [])
    return [f"{report.nodeid}: {report.longrepr[2] if report.longrepr else ''}" for report in reports]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """The run fails."""
    if unlisted(skipped_by_pytest(session.config)) and session.exitstatus in (0, 5):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """And says why."""
    if found := unlisted(skipped_by_pytest(terminalreporter.config)):
        terminalreporter.write_line(f"FAILED: {told(found)}")


def skipped_by_ctest(file: Path) -> list[str]:
    """Of ctest's record: names, and what the test printed where it was skipped."""
    found = []
    for case in ElementTree.parse(file).getroot().iter("testcase"):  # noqa: S314 - our own ctest wrote it
        if (skipped := case.find("skipped")) is None:
            continue
        output = (case.findtext("system-out") or "").split("\n")
        said = [output[at + 1] for at, line in enumerate(output[:-1]) if re.search(r": (Skipped|skipped)$", line)]
        found.append(f"{case.get('name')}: {' '.join(said) or ' '.join(output) or skipped.get('message')}"[:300])
    return found


def main() -> int:
    """Reads a record of ctest's."""
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_file():  # noqa: PLR2004
        print("usage: listed_skips.py CTEST.xml, which `ctest --output-junit` wrote", file=sys.stderr)
        return 2
    if found := unlisted(skipped_by_ctest(Path(sys.argv[1]))):
        print(f"ctest: {told(found)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
