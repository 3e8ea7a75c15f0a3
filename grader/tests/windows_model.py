"""Runs a program as on Windows, as far as a POSIX system can: windows_model.py PROGRAM [WORD...].

Modules and functions that Windows' Python lacks are not there (docs.python.org says "Availability: Unix" of each).
Paths take backslashes. The console has code page 1252, writes CRLF, and takes no escape codes. What stays POSIX: how
processes start, pipes and files.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import signal
import subprocess
import sys

UNIX_MODULES = ("fcntl", "grp", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty")
UNIX_NAMES = {
    os: ("fork", "geteuid", "getgid", "getpgid", "getuid", "killpg", "mkfifo", "setpgid", "setsid", "uname", "wait"),
    signal: ("SIGALRM", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGTSTP", "SIGUSR1", "alarm", "pause", "setitimer"),
}


class BackslashPath(type(pathlib.Path())):  # type: ignore[misc]
    """A path of which both slashes part the names."""

    def __new__(cls, *parts: object) -> BackslashPath:
        """On older Pythons the parts are read here."""
        made: BackslashPath = super().__new__(cls, *(str(part).replace("\\", "/") for part in parts))
        return made

    def __init__(self, *parts: object) -> None:
        """On newer ones here."""
        if sys.version_info >= (3, 12):
            super().__init__(*(str(part).replace("\\", "/") for part in parts))


def main(program: str, words: list[str]) -> int:
    """The program's exit code."""
    for name in (*UNIX_MODULES, "ctypes"):
        sys.modules[name] = None  # type: ignore[assignment]
    for module, names in UNIX_NAMES.items():
        for name in names:
            delattr(module, name)
    subprocess.CREATE_NEW_PROCESS_GROUP = 0  # type: ignore[attr-defined]
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="cp1252", newline="\r\n")  # type: ignore[union-attr]
    spec = importlib.util.spec_from_file_location("program", program)
    assert spec
    assert spec.loader
    loaded = importlib.util.module_from_spec(spec)
    sys.modules["program"] = loaded
    spec.loader.exec_module(loaded)
    loaded.__dict__.update(WINDOWS=True, Path=BackslashPath)
    sys.argv = [program, *words]
    return int(loaded.main())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
