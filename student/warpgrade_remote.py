#!/usr/bin/env python3
"""Tests your lab on the course's GPU, from Windows, macOS or Linux: needs Python 3.9 or newer and ssh, nothing else.

    python3 warpgrade_remote.py test spmm --remote gpu.example.edu    sends the sources, shows verdicts and times
    python3 warpgrade_remote.py status                                your runs that wait or are judged
    python3 warpgrade_remote.py cancel                                ends your run, or the one whose number you give
    python3 warpgrade_remote.py last                                  shows your last run again
    python3 warpgrade_remote.py submit spmm                           packs the sources for handing in

On Windows `py` takes the place of `python3`. Without --remote, WARPGRADE_REMOTE names the host: gpu.example.edu, or
account@host:port. WARPGRADE_SSH names another ssh, with options. Type the same command again after a broken
connection: it goes on with the same run. Ctrl-C ends a run.
"""

# Only ASCII, and only what Python 3.9 knows: the file travels through consoles of every code page. The protocol that it
# speaks with the course's host is written down in grader/course/desk/protocol.md.
from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import io
import json
import os
import queue
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

if sys.version_info < (3, 9):  # noqa: UP036 - what an older Python says
    sys.exit("warpgrade_remote: needs Python 3.9 or newer; python.org has it")

Json = dict[str, Any]  # an object
WINDOWS = os.name == "nt"

VERSION = "0.2.0"
PROTOCOL, OLDEST_PROTOCOL = 1, 1  # the versions that this program speaks
MOST_LINE = 256 << 10  # bytes of a line from the desk
MOST_PAGE, MOST_PAGE_UNPACKED, MOST_PAGE_FILES = 16 << 20, 20 << 20, 1000
MOST_ARCHIVE = 4 << 20
LONGEST_HOST, LAST_PORT = 253, 65535
DEEPEST = 12  # objects in each other
HELLO_S, SILENCE_S, PAGE_S, LAST_WORDS_S, QUIET_S = 120, 60, 300, 3, 5  # how long this side waits
PAUSES_S = (0.3, 2, 5, 15)  # before a broken connection is made anew; it counts from the start after each news
LONGEST_MESSAGE = 110  # of the last line: the whole message stands above it
OK, USAGE, FAULT, NOT_ACCEPTED, INTERRUPTED = 0, 1, 2, 3, 130  # exit codes


class TroubleError(Exception):
    """What ends the command, in words for the student."""

    def __init__(self, words: str, code: int = USAGE) -> None:
        super().__init__(words)
        self.code = code


class NoDeskError(TroubleError):
    """Nobody answered at all."""


class BrokenError(Exception):
    """The connection says what no desk says."""


class EndedError(BrokenError):
    """The connection ended too early."""


# ---- Texts from outside


# What acts instead of being seen: controls, marks of direction, separators, halves of surrogates, noncharacters.
UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef"
    + "".join(chr(0x10000 * plane + 0xFFFE) + chr(0x10000 * plane + 0xFFFF) for plane in range(17))
    + "]"
)


def plain(value: Any) -> Any:  # noqa: ANN401
    """A value of JSON whose texts a terminal can show."""
    if isinstance(value, str):
        return UNFIT.sub("\ufffd", value.replace("\r\n", "\n"))
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def depth_of(value: object) -> int:
    """How deep lists and objects stand in each other."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)


def no_number(name: str) -> object:
    """JSON has no NaN and no Infinity."""
    raise ValueError(name)


def read_line(line: bytes) -> Json:
    """A line from the desk."""
    try:
        value = json.loads(line.decode("utf-8"), parse_constant=no_number)
        deep = depth_of(value) > DEEPEST
    except (ValueError, RecursionError):
        raise BrokenError("a line that is not a JSON object") from None
    if deep or not isinstance(value, dict):
        raise BrokenError("a line that is not a JSON object")
    made: Json = plain(value)
    return made


def text(value: object, key: str) -> str:
    """A field of an object; of another kind: as if absent."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def one_line(words: str, most: int = 300) -> str:
    """The words on one line of a bounded length."""
    words = words.replace("\n", " ").replace("\t", " ").rstrip()
    return words if len(words) <= most else words[: most - 3] + "..."


def number(value: object, key: str) -> float:
    """A number, 0 where there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else 0.0


def whole(value: object, key: str, absent: int = 0) -> int:
    """A whole number."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else absent


def objects(value: object, key: str) -> list[Json]:
    """The objects of a list."""
    found = value.get(key) if isinstance(value, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


# ---- The connection


class Address:
    """[account@]host[:port]; the account is `warpgrade` where none is given."""

    def __init__(self, words: str) -> None:
        found = re.fullmatch(r"(?:([\w.-]+)@)?([\w.-]+)(?::(\d{1,5}))?", words, re.ASCII)
        self.account = (found and found[1]) or "warpgrade"
        self.host = found[2] if found else ""
        self.port = int(found[3] or 0) if found else 0
        bad = not found or self.host.startswith("-") or self.account.startswith("-") or len(self.host) > LONGEST_HOST
        if bad or self.port > LAST_PORT or (found and found[3] and not self.port):
            raise TroubleError(
                f"--remote: expected a host such as gpu.example.edu, or account@host:port, got '{one_line(words, 100)}'"
            )

    @property
    def folder(self) -> Path:
        """Where what this host sent lies."""
        return Path("runs") / "remote" / self.host


def get_client(address: Address) -> str:
    """The command that fetches this program."""
    port = f"-p {address.port} " if address.port else ""
    return f"ssh {port}{address.account}@{address.host} get-client"


def ssh_program() -> list[str]:
    """The words that start ssh. A 32-bit Python on Windows finds the system's own under another name."""
    named = os.environ.get("WARPGRADE_SSH", "").strip()
    if named:
        return [named] if Path(named).is_file() else named.split()
    found = shutil.which("ssh")
    for folder in ("System32", "Sysnative"):
        own = Path(os.environ.get("SYSTEMROOT", "/nowhere"), folder, "OpenSSH", "ssh.exe")
        if not found and own.is_file():
            found = str(own)
    if not found:
        raise TroubleError(
            "ssh is not here: install OpenSSH's client (Windows: Settings, Apps, Optional features, OpenSSH Client)"
        )
    return [found]


def ssh_command(address: Address) -> list[str]:
    """A connection to the desk, which forwards nothing and runs no command."""
    options = [
        *("ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no", "RequestTTY=no"),
        *("ConnectTimeout=20", "ServerAliveInterval=15", "ServerAliveCountMax=4"),
    ]
    if not (sys.stdin and sys.stdin.isatty()):
        options.append("BatchMode=yes")
    command = [*ssh_program(), "-T", *(word for option in options for word in ("-o", option))]
    if address.port:
        command += ["-p", str(address.port)]
    return [*command, "-l", address.account, "--", address.host]


def start_ssh(command: list[str]) -> subprocess.Popen[bytes]:
    """Ctrl-C is for this program, which has last words for the desk, and not for ssh."""
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)  # ssh finds it ignored and leaves it alone
    try:
        return subprocess.Popen(  # noqa: S603 - the student's own ssh
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same on Windows
        )
    except OSError as error:
        raise TroubleError(f"{command[0]} cannot be started: {error.strerror}") from None
    finally:
        signal.signal(signal.SIGINT, old)


class Connection:
    """A connection to a desk that has said hello. Two threads carry its bytes: Windows waits for no pipe otherwise."""

    def __init__(self, address: Address, idle: Callable[[], None] = lambda: None) -> None:
        self.idle = idle
        self.process = start_ssh(ssh_command(address))
        self.coming: queue.Queue[bytes] = queue.Queue(maxsize=64)
        self.going: queue.Queue[bytes] = queue.Queue()
        self.buffer = bytearray()
        for work in (self.carry_in, self.carry_out):
            threading.Thread(target=work, daemon=True).start()
        try:
            self.protocol = self.take_hello(address)
        except BaseException:
            self.close()
            raise

    def carry_in(self) -> None:
        """Bytes of the desk; an empty piece is the end."""
        assert self.process.stdout  # noqa: S101 - a pipe
        with self.process.stdout as stream, contextlib.suppress(OSError):
            for piece in iter(lambda: stream.read(65536), b""):
                self.coming.put(piece)
        self.coming.put(b"")

    def carry_out(self) -> None:
        """Bytes to the desk, until nothing more is to go. Whether they arrived, the desk's answer tells."""
        assert self.process.stdin  # noqa: S101 - a pipe
        with contextlib.suppress(OSError), self.process.stdin as stream:
            for piece in iter(self.going.get, b""):
                for at in range(0, len(piece), 4096):
                    stream.write(piece[at : at + 4096])

    def send(self, data: Json | bytes) -> None:
        """Sends a line, or bytes."""
        self.going.put(data if isinstance(data, bytes) else json.dumps(data).encode("ascii") + b"\n")

    def ask(self, **question: object) -> None:
        """Asks in the newest version of the protocol that both sides speak."""
        self.send({**question, "protocol": self.protocol})

    def fill(self, until: float) -> bool:
        """Takes what has come; False: nothing has, until then."""
        while True:
            self.idle()
            with contextlib.suppress(queue.Empty):
                piece = self.coming.get(timeout=0.1)  # a short wait, which Ctrl-C ends on Windows too
                if not piece:
                    raise EndedError("the other side has closed the connection")
                self.buffer += piece
                return True
            if time.monotonic() > until:
                return False

    def next(self, wait_s: float) -> Json:
        """The next line; an empty object where none has come."""
        until = time.monotonic() + wait_s
        while True:
            end = self.buffer.find(b"\n")
            if (end if end >= 0 else len(self.buffer)) > MOST_LINE:
                raise BrokenError(f"a line of more than {MOST_LINE} bytes")
            if end >= 0:
                return read_line(self.take(end + 1))
            if not self.fill(until):
                return {}

    def take(self, count: int) -> bytes:
        """Bytes that have come."""
        taken = bytes(self.buffer[:count])
        del self.buffer[:count]
        return taken

    def exactly(self, count: int) -> bytes:
        """Exactly so many bytes."""
        until = time.monotonic() + PAGE_S
        while len(self.buffer) < count:
            if not self.fill(until):
                raise BrokenError(f"only {len(self.buffer)} of {count} bytes came in time")
        return self.take(count)

    def take_hello(self, address: Address) -> int:
        """Whether a desk is there that speaks a version that this program speaks, too."""
        no_desk = f"{address.host} answers, but not as a desk; ask your instructor for the host's name"
        try:
            hello = self.next(HELLO_S)
        except EndedError:
            if self.buffer:
                raise
            raise nobody_at(address, self.close()) from None
        except BrokenError as broken:
            raise TroubleError(f"{no_desk} ({broken})") from None
        if not hello:
            raise TroubleError(f"{address.host} does not answer; try again, or tell your instructor")
        refuse_as_told(address, hello)
        if text(hello, "tell") != "hello":
            raise TroubleError(no_desk)
        newest = whole(hello, "protocol", 1)
        oldest = whole(hello, "oldest", newest)
        if newest < OLDEST_PROTOCOL or oldest > PROTOCOL:
            raise TroubleError(
                f"the desk at {address.host} speaks {versions(oldest, newest)} of the protocol, and this program "
                f"{versions(OLDEST_PROTOCOL, PROTOCOL)}; take the desk's own program: {get_client(address)}"
            )
        return min(newest, PROTOCOL)

    def answer(self, address: Address) -> Json:
        """The next line but signs of life."""
        while True:
            line = self.next(SILENCE_S)
            if not line:
                raise BrokenError("the desk does not answer")
            refuse_as_told(address, line)
            if text(line, "tell") != "alive":
                return line

    def close(self) -> int:
        """Ends ssh; its exit code."""
        self.going.put(b"")
        try:
            return self.process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def versions(oldest: int, newest: int) -> str:
    """Versions of the protocol in words."""
    return f"version {newest}" if oldest == newest else f"versions {oldest} to {newest}"


def nobody_at(address: Address, code: int) -> NoDeskError:
    """What to do where no desk answers."""
    key = r"type %USERPROFILE%\.ssh\id_ed25519.pub" if WINDOWS else "cat ~/.ssh/id_ed25519.pub"
    return NoDeskError(
        f"no desk answered at {address.host} (account {address.account}; ssh ended with {code}; its message is above)."
        f"\nAsk your instructor: is {address.host} the host of the course's desk, is {address.account} its account, "
        f"and does it have your public key? The key is what `{key}` shows; `ssh-keygen -t ed25519` makes one"
    )


def refuse_as_told(address: Address, line: Json) -> None:
    """Ends the command where the desk says no. Commands of the hand-out's program are told as this one's."""
    if text(line, "tell") == "refused":
        words = one_line(f"{text(line, 'message')}; {text(line, 'next_step')}", 600)
        words = re.sub(r"\bwarpgrade (?:remote )?(?=(?:test|status|history|cancel)\b)", f"{own_command()} ", words)
        raise TroubleError(f"{address.host} refuses: {words}")


# ---- The sources


CODE_NAME = re.compile(r"\.(cu|cuh|cpp|cc|cxx|c|h|hpp|hxx|inl|inc|ipynb)(?![a-z0-9_])", re.IGNORECASE)
OTHER_NAMES = {"CMakeLists.txt", "Makefile", "makefile", "GNUmakefile", "submission.yaml"}
FOLDERS_OF_OTHERS = re.compile(
    r"\.|__|cmake-build-|googletest|(third_party|thirdparty|3rdparty|external|extern|googlemock|gtest|gmock|build"
    r"|CMakeFiles|_deps|node_modules|venv|env|x64|Debug|Release|site-packages)$"
)
MOST_ENTRIES = 2000


class Sources:
    """A lab's folder: what of it is sent, as the desk compiles it, byte for byte."""

    def __init__(self, folder: Path, lab: str) -> None:
        self.folder, self.lab = folder, lab
        self.files: dict[str, bytes] = {}
        self.left_out: list[str] = []
        seen = size = 0
        for at, folders, names in os.walk(folder):
            folders[:] = sorted(name for name in folders if not FOLDERS_OF_OTHERS.match(name))
            for name in sorted(names):
                seen += 1
                path = Path(at, name)
                inner = path.relative_to(folder).as_posix()
                if seen > MOST_ENTRIES:
                    raise TroubleError(f"{folder} has more than {MOST_ENTRIES} files; leave there the sources only")
                if name.startswith("."):
                    continue
                if not CODE_NAME.search(name) and name not in OTHER_NAMES:
                    self.left_out.append(inner)
                    continue
                if path.is_symlink() or not path.is_file():
                    raise TroubleError(f"{path} is a link or no plain file; put the file itself there")
                self.files[inner] = path.read_bytes()
                size += len(self.files[inner])
                if size > 4 * MOST_ARCHIVE:
                    raise TroubleError(
                        f"{folder} has more than {4 * MOST_ARCHIVE >> 20} MiB of sources; leave out others"
                    )
        if not self.files:
            raise TroubleError(f"{folder} has no source file (.cu, .cpp); put {lab}.cu there")

    @property
    def hash(self) -> str:
        """Over names and contents."""
        digest = hashlib.sha256()
        for name, content in sorted(self.files.items()):
            digest.update(f"{name}\0{len(content)}\0".encode("utf-8", "surrogatepass") + content)
        return digest.hexdigest()

    def archive(self) -> bytes:
        """The same sources give the same bytes: no owners, no times."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for name, content in sorted(self.files.items()):
                entry = tarfile.TarInfo(f"{self.lab}/{name}")
                entry.size, entry.mode = len(content), 0o644
                tar.addfile(entry, io.BytesIO(content))
        made = gzip.compress(packed.getvalue(), 9, mtime=0)
        if len(made) > MOST_ARCHIVE:
            raise TroubleError(
                f"{self.folder}: packed, it has {len(made)} bytes, and a desk takes at most {MOST_ARCHIVE} bytes; "
                "leave out files that are not sources"
            )
        return made

    def unwritten(self) -> list[str]:
        """Where the stub's own answer still stands."""
        places = []
        for name, content in self.files.items():
            for line, code in enumerate(content.split(b"\n"), start=1):
                if b"return cudaErrorNotSupported" in code.split(b"//")[0]:
                    places.append(f"{name}:{line}")
        return places


def lab_folder(lab: str, given: str) -> Path:
    """The folder that holds one folder for each lab is given, or one of the usual ones."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,60}", lab, re.ASCII):
        raise TroubleError(f"'{one_line(lab, 60)}' is no name of a lab")
    here = Path(__file__).resolve().parent
    places = [Path(given)] if given else [Path("student"), Path(), here, here / "student"]
    for place in places:
        if (place / lab).is_dir():
            return place / lab
    if not given and Path(f"{lab}.cu").is_file():
        return Path()
    looked = ", ".join(str(place / lab) for place in places)
    raise TroubleError(f"there is no folder {looked}; give --folder FOLDER, or take the stub from the hand-out")


def own_command() -> str:
    """How this program is started."""
    file = Path(__file__).resolve()
    with contextlib.suppress(ValueError):
        file = file.relative_to(Path.cwd())
    name = f'"{file}"' if " " in str(file) else str(file)
    return f"{'py' if WINDOWS else 'python3'} {name}"


def write_json(file: Path, value: Json) -> None:
    """Written in full or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    with fresh.open("w", encoding="utf-8") as out:
        json.dump(value, out, indent=1)
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(file)


def read_json(file: Path) -> Json:
    """An empty object where there is none."""
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


# ---- The page


NAME_ON_EVERY_SYSTEM = re.compile(r"[A-Za-z0-9_+-][A-Za-z0-9_.+-]{0,120}")
DEVICE_OF_WINDOWS = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)


def is_safe(name: str) -> bool:
    """Whether a path of an archive stays below its folder, and is a file's on Windows as well."""
    parts = PurePosixPath(name).parts
    return bool(parts) and all(
        NAME_ON_EVERY_SYSTEM.fullmatch(part) and not part.endswith(".") and not DEVICE_OF_WINDOWS.fullmatch(part)
        for part in parts
    )


def unpack_page(packed: bytes, folder: Path) -> bool:
    """Unpacks the folder `feedback` of a page as a stranger's archive: plain files, within limits."""
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as stream:
        tar_bytes = stream.read(MOST_PAGE_UNPACKED + 1)
    if len(tar_bytes) > MOST_PAGE_UNPACKED:
        return False
    with tarfile.open(fileobj=io.BytesIO(tar_bytes), mode="r:") as tar:
        for count, entry in enumerate(tar):
            is_plain = (entry.isfile() or entry.isdir()) and not entry.issparse()  # sparse: bytes out of nothing
            if count >= MOST_PAGE_FILES or not is_plain or not is_safe(entry.name):
                return False
            inner = PurePosixPath(entry.name).parts[1:]
            stream_of = tar.extractfile(entry)
            if stream_of and inner:
                file = folder.joinpath(*inner)
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("xb") as out:
                    shutil.copyfileobj(stream_of, out)
    return (folder / "index.html").is_file()


# ---- What is told of cases: the words of `warpgrade test` (grader/cli/failure_text.cpp, mistakes.cpp)


def digits(value: object, count: int) -> str:
    """Fractions to so many digits, whole numbers in full; NaN and the like are words."""
    if isinstance(value, float):
        return f"{value:.{count}g}"
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def cell_text(cell: Json, output: str) -> str:
    """A wrong place of an output."""
    place = [digits(cell[key], 17) for key in ("row", "col") if key in cell]
    if isinstance(cell.get("index"), list):
        place = [digits(item, 17) for item in cell["index"]]
    want, got = cell.get("want"), cell.get("got")
    count = 17 if digits(want, 7) == digits(got, 7) else 7  # what differs is to be seen
    name = text(cell, "output") or output
    row = f"   (row of {digits(cell['row_nnz'], 17)} entries)" if "row_nnz" in cell else ""
    return f"    {name}[{','.join(place)}] want {digits(want, count)} got {digits(got, count)}{row}\n"


def place_of(finding: Json) -> str:
    """File and line of a finding."""
    line = finding.get("line")
    file = text(finding, "file").rpartition("/")[2]
    return f"{file}:{line}: " if file and isinstance(line, int) else ""


def failure_text(lab: str, case: Json, output: str, repeat: str) -> str:
    """What a person reads about a case that was not accepted."""
    said = f"{text(case, 'verdict')} {lab}/{case_name(case)}: {text(case, 'message')}\n"
    pattern = text(case, "pattern")
    if pattern and pattern not in said:
        said += f"    pattern: {pattern}\n"
    for finding in objects(case, "diagnostics")[:1]:  # what follows the first mistake is often its consequence
        message, advice = text(finding, "message"), text(finding, "advice")
        if message and message not in said:
            said += f"    {place_of(finding)}{message}\n"
        if advice:
            said += f"    advice: {advice}\n"
    said += "".join(cell_text(cell, output) for cell in objects(case, "mismatches")[:5])
    if text(case, "output"):
        said += f"    the program printed: {text(case, 'output')[:300]}\n"
    return f"{said}    again: {repeat}\n"


def findings_text(cases: list[Json]) -> str:
    """What the emulator found in accepted cases, each mistake once."""
    said = ""
    reported: set[tuple[str, str]] = set()
    for case in cases:
        for finding in objects(case, "diagnostics") if text(case, "verdict") == "accepted" else []:
            mistake = (text(finding, "kind"), place_of(finding))
            if mistake in reported:
                continue
            reported.add(mistake)
            said = said or "accepted, but something should be corrected:\n"
            said += f"    {place_of(finding)}{text(finding, 'message')} (case {case_name(case)})\n"
            if text(finding, "advice"):
                said += f"    advice: {text(finding, 'advice')}\n"
    return said


def case_name(case: Json) -> str:
    """The name of a case, as far as the course shows it."""
    return one_line(text(case, "id"), 80)


def signature(case: Json) -> str:
    """What a mistake has in common from case to case."""
    said = f"{text(case, 'verdict')}|{text(case, 'reason')}"
    for finding in objects(case, "diagnostics"):
        if "line" in finding and text(finding, "file"):
            return f"{said}|{text(finding, 'kind')}|{text(finding, 'file')}|{digits(finding['line'], 17)}"
    message = text(case, "message")
    if text(case, "verdict") == "wrong_answer":
        message = message[message.find("; ") :] if "; " in message else ""
    return f"{said}|{re.sub(r'[0-9.-]', '', message)}"


URGENCY = ["compile_error", "cheating", "runtime_error", "time_limit", "memory_limit", "wrong_answer"]


def sort_by_mistake(cases: list[Json]) -> list[tuple[Json, list[Json]]]:
    """Pairs of a mistake's first case and the other cases that show it; what to mend first comes first."""
    mistakes: dict[str, list[Json]] = {}
    for case in cases:
        if text(case, "verdict") in ("accepted", "not_implemented", "not_run"):
            continue
        mistakes.setdefault(signature(case), []).append(case)
    order = {verdict: place for place, verdict in enumerate(URGENCY)}
    groups = sorted(mistakes.values(), key=lambda group: order.get(text(group[0], "verdict"), len(URGENCY)))
    return [(group[0], group[1:]) for group in groups]


def speed_text(case: Json) -> str:
    """What was measured."""
    said = f"   {number(case, 'time_us'):.1f} us" if number(case, "time_us") > 0 else ""
    ratio = case.get("ratio")
    if number(ratio, "median") > 0:
        baseline = text(case, "baseline") or "the baseline"
        said += (
            f"{', ' if said else '   '}{number(ratio, 'median'):.2f}x {baseline} ({number(ratio, 'low'):.2f} to "
            f"{number(ratio, 'high'):.2f})"
        )
    if said and number(case, "threshold") > 0:
        said += f", {number(case, 'threshold'):.2f}x is wanted"
    return said


# ---- The screen


def takes_escape_codes() -> bool:
    """Whether a line can be written again: a terminal that knows ANSI's codes, which Windows must be asked for."""
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return False
    if not WINDOWS:
        return bool(os.environ.get("TERM"))
    try:
        import ctypes  # noqa: PLC0415 - Windows alone needs it

        kernel = ctypes.windll.kernel32  # type: ignore[attr-defined]
        output, mode = kernel.GetStdHandle(-11), ctypes.c_ulong()
        return bool(kernel.GetConsoleMode(output, ctypes.byref(mode)) and kernel.SetConsoleMode(output, mode.value | 4))
    except (ImportError, AttributeError, OSError):
        return False


class Screen:
    """Lines that stay, and a last one that tells where the run stands."""

    def __init__(self) -> None:
        self.terminal = takes_escape_codes()
        self.shown, self.last, self.at = False, "", time.monotonic()

    def print(self, words: str) -> None:
        """Writes words that stay."""
        sys.stdout.write(("\r\033[K" if self.shown else "") + words)
        sys.stdout.flush()
        self.shown, self.at = False, time.monotonic()

    def stand(self, words: str) -> None:
        """Where the run stands: one line that changes, or without a terminal a new one, not too often."""
        if self.terminal:
            if words != self.last or not self.shown:
                self.print(words[: max(shutil.get_terminal_size().columns - 1, 20)])
                self.shown, self.last = True, words
        elif words != self.last and time.monotonic() - self.at > QUIET_S:
            self.last = words
            self.print(words + "\n")

    def clear(self) -> None:
        """Takes the last line away."""
        if self.shown:
            self.print("")


# ---- A run


class Run:
    """A run at the desk, and what was heard of it."""

    def __init__(self, address: Address, lab: str, screen: Screen) -> None:
        self.address, self.lab, self.screen = address, lab, screen
        self.source = f"{lab}.cu"
        self.place = address.folder / lab
        self.number = self.heard = self.total = 0
        self.accepted = self.connected = self.compiled = self.counts = False
        self.waiting, self.case, self.case_at = "asking the desk", "", 0.0
        self.cases: list[Json] = []
        self.unwritten = 0
        self.output, self.page, self.words, self.state = "output", "", "", ""
        self.counted = ""  # of a profile: the GPU's counters

    def standing(self) -> None:
        """Shows where the run stands."""
        if self.waiting:
            self.screen.stand(f"  {self.lab}: {self.waiting}")
        elif not self.compiled:
            self.screen.stand(f"  {self.lab}: compiling")
        else:
            at = f"  [{min(len(self.cases) + 1, self.total)}/{self.total}]"
            self.screen.stand(f"{at} {self.case}, {time.monotonic() - self.case_at:.0f} s" if self.case else at)

    def follow(self, ask: Json, archive: bytes = b"") -> None:
        """Hears the run to its end. A connection that breaks is made anew; the desk knows the run by its key."""
        tries, news = 0, self.heard
        while not self.state:
            try:
                self.talk(ask, archive)
            except (BrokenError, NoDeskError) as broken:
                if isinstance(broken, NoDeskError) and not self.connected:
                    raise
                self.connected = True  # something answered
                tries, news = (0 if self.heard > news else tries), self.heard
                if tries == len(PAUSES_S):
                    raise TroubleError(self.broke_often(broken), FAULT) from None
                self.waiting = "the connection broke; trying again"
                until = time.monotonic() + PAUSES_S[tries]
                tries += 1
                while time.monotonic() < until:
                    self.standing()
                    time.sleep(0.1)

    def broke_often(self, broken: Exception) -> str:
        """The words where no connection holds."""
        why = "the desk was not reached" if isinstance(broken, NoDeskError) else str(broken)
        goes_on = f"run {self.number} continues there; run the same command again to see its result"
        again = goes_on if self.accepted else "run the same command again"
        return f"the connection to {self.address.host} broke several times ({why}); {again}"

    def talk(self, ask: Json, archive: bytes) -> None:
        """One connection."""
        connection = Connection(self.address, self.standing)
        try:
            self.connected = True
            connection.ask(**ask)
            while not self.state:
                line = connection.answer(self.address)
                if text(line, "tell") == "send":
                    connection.send(archive)
                elif text(line, "tell") == "page":
                    self.take_page(connection, line)
                else:
                    self.hear(line)
        except KeyboardInterrupt:
            if ask["ask"] in ("run", "profile"):
                self.leave(connection)
            raise
        finally:
            connection.close()

    def hear(self, line: Json) -> None:
        """Takes over what a line says."""
        tell = text(line, "tell")
        if "number" in line:
            self.waiting = ""
            if whole(line, "number") <= self.heard and tell != "end":
                return  # told on an earlier connection
            self.heard = whole(line, "number")
        known = {"accepted": self.enter, "place": self.queue, "closed": self.nobody_judges, "compiled": self.begin}
        known.update({"case_started": self.start_case, "case": self.take_case, "end": self.end})
        known["profile"] = self.take_profile
        if tell in known:
            known[tell](line)

    def enter(self, line: Json) -> None:
        """The desk has the run."""
        self.accepted = True
        self.number, self.total = whole(line, "run"), max(0, whole(line, "cases"))
        self.waiting = "" if self.compiled else f"run {self.number} is in the queue"
        pending = read_json(self.place / "pending.json")
        if pending and whole(pending, "run") != self.number:
            write_json(self.place / "pending.json", {**pending, "run": self.number})

    def queue(self, line: Json) -> None:
        """The run waits for others."""
        self.waiting = f"run {self.number}: place {whole(line, 'place')} in the queue"
        if number(line, "wait_s") >= 1:
            self.waiting += f", about {number(line, 'wait_s'):.0f} s"

    def nobody_judges(self, _: Json) -> None:
        """The run waits for a worker."""
        self.waiting = (
            f"run {self.number} waits: no worker judges on {self.address.host} at the moment; Ctrl-C takes the run out "
            "of the queue"
        )

    def begin(self, line: Json) -> None:
        """The sources are compiled; what was read of them otherwise than they are is told."""
        self.compiled, self.total = True, max(0, whole(line, "cases"))
        self.output, self.counts = text(line, "output") or "output", line.get("counts") is True
        notes = line.get("notes")
        for note in notes if isinstance(notes, list) else []:
            self.screen.print(f"  note: {one_line(note)}\n" if isinstance(note, str) else "")

    def start_case(self, line: Json) -> None:
        """A case is in work."""
        self.case, self.case_at = one_line(text(line, "case"), 80), time.monotonic()

    def take_case(self, line: Json) -> None:
        """A case is judged; one without a verdict is not the student's to see."""
        self.case = ""
        if text(line.get("line"), "verdict"):
            self.cases.append(line["line"])
            self.show_case(line["line"], number(line, "seconds"))

    def take_profile(self, line: Json) -> None:
        """What the hardware counted."""
        self.counted = text(line, "text")
        self.screen.print(f"{self.counted}\n")

    def end(self, line: Json) -> None:
        """The last line of a run."""
        message = one_line(text(line, "message"))
        self.state = text(line, "state") or "judged"
        self.words = f"run {self.number} on {self.address.host}: {message}"
        if self.page:
            self.words += f"; the page: {self.page}"
        self.forget(message)

    def show_case(self, case: Json, seconds: float) -> None:
        """A line of a case; what is the same in every case is told once, in the end."""
        verdict = text(case, "verdict")
        if verdict == "not_implemented":
            self.unwritten += 1
        if verdict in ("not_implemented", "compile_error", "cheating"):
            return
        word = "ok" if verdict == "accepted" else verdict
        if verdict == "not_run" and text(case, "reason") == "left_out":
            word = "left out"
        self.screen.print(f"  {word:<16}{case_name(case):<28}{seconds:>7.2f} s{speed_text(case)}\n")

    def take_page(self, connection: Connection, line: Json) -> None:
        """The page replaces one of the same run; the verdicts stand without it."""
        count = whole(line, "bytes")
        if not 0 < count <= MOST_PAGE:
            raise BrokenError("the desk sent a page of an impossible size")
        packed = connection.exactly(count)
        if hashlib.sha256(packed).hexdigest() != text(line, "sha256"):
            raise BrokenError("the page did not arrive as it was sent")
        folder, fresh = self.place / str(self.number), self.place / f".{self.number}.{os.getpid()}"
        shutil.rmtree(fresh, ignore_errors=True)
        with contextlib.suppress(OSError, EOFError, tarfile.TarError, zlib.error, ValueError, RecursionError):
            if unpack_page(packed, fresh):
                shutil.rmtree(folder, ignore_errors=True)
                fresh.replace(folder)
                self.page = str(folder / "index.html")
        shutil.rmtree(fresh, ignore_errors=True)

    # ---- what this side keeps of a run: its key until it has ended, and how the last one ended

    def key_for(self, hash_of_sources: str, pattern: str) -> str:
        """The same sources and cases again take up the run that was not heard to its end; others are a new run."""
        pending = read_json(self.place / "pending.json")
        same = text(pending, "hash") == hash_of_sources and text(pending, "case") == pattern
        key = text(pending, "key")
        if not (same and re.fullmatch("[0-9a-f]{32}", key)):
            key = secrets.token_hex(16)
            write_json(self.place / "pending.json", {"key": key, "hash": hash_of_sources, "case": pattern})
        return key

    def forget(self, message: str) -> None:
        """The run has ended; its key is used up."""
        pending = read_json(self.place / "pending.json")
        if whole(pending, "run") != self.number:
            return
        if self.state == "judged":
            kept: Json = {key: pending.get(key) for key in ("hash", "case", "run")}
            write_json(self.place / "last.json", {**kept, "message": message, "counts": self.counts})
        with contextlib.suppress(OSError):
            (self.place / "pending.json").unlink()

    def leave(self, connection: Connection) -> None:
        """After Ctrl-C: the run leaves the queue; one that is being judged ends after its present case."""
        command = own_command()
        self.words = f"`{command} status` shows whether the run reached the desk"
        with contextlib.suppress(BrokenError, TroubleError, KeyboardInterrupt):
            connection.send({"ask": "cancel", "protocol": connection.protocol})
            if self.accepted:
                self.words = f"run {self.number} was told to end; `{command} status` shows whether it has"
            until = time.monotonic() + LAST_WORDS_S
            while time.monotonic() < until:
                line = connection.next(max(0.0, until - time.monotonic()))
                if text(line, "tell") == "accepted":
                    self.number = whole(line, "run")
                    self.words = f"run {self.number} was told to end; `{command} status` shows whether it has"
                elif text(line, "tell") == "send" and not self.accepted:
                    self.words = "the run did not reach the desk"
                    break
                elif text(line, "tell") == "end":
                    self.words = f"run {self.number} has ended: {one_line(text(line, 'message'))}"
                    break
        with contextlib.suppress(OSError):
            (self.place / "pending.json").unlink()


def again(lab: str, address_words: str, folder: str, case: str = "") -> str:
    """The command that judges a case again."""
    words = [own_command(), "test", lab]
    for option, value in (("--case", case), ("--folder", folder), ("--remote", address_words)):
        words += [option, f'"{value}"' if " " in value or "*" in value else value] if value else []
    return " ".join(words)


def tell_result(run: Run, repeat: Callable[[Json], str], submit: str) -> tuple[str, int]:
    """The mistakes, each once, and the last line; with the exit code."""
    if run.unwritten:
        run.screen.print(f"  not written yet: {run.unwritten} case{'' if run.unwritten == 1 else 's'}\n")
    mistakes = sort_by_mistake(run.cases)
    for case, others in mistakes:
        run.screen.print(failure_text(run.lab, case, run.output, repeat(case)))
        if others:
            names = ", ".join(map(case_name, others))
            run.screen.print(f"    the same in {len(others)} other case{'' if len(others) == 1 else 's'}: {names}\n")
    run.screen.print(findings_text(run.cases))
    faults = [case for case, _ in mistakes if text(case, "verdict") == "judge_fault"]
    if faults:
        return f"no fault of your code: {text(faults[0], 'message') or 'the judge failed'}", FAULT
    if mistakes:
        first, failed = mistakes[0][0], sum(1 + len(others) for _, others in mistakes)
        message = text(first, "message").partition("\n")[0]
        if len(message) > LONGEST_MESSAGE:
            cut = message.rfind(" ", 0, LONGEST_MESSAGE + 1)
            message = f"{message[: cut if cut >= 0 else LONGEST_MESSAGE]} ..."
        return (
            f"fix first ({failed} of {len(run.cases)} cases of {run.lab} fail): {text(first, 'verdict')}: {message} -- "
            f"again: {repeat(first)}",
            NOT_ACCEPTED,
        )
    right = sum(text(case, "verdict") == "accepted" for case in run.cases)
    if run.unwritten:
        start = f"right so far: {run.lab} ({right}); " if right else ""
        return f"{start}write next: {run.source}, then: {repeat({})}", OK
    return (f"all cases are right: {run.lab} ({right}); hand it in: {submit}" if right else "nothing was judged"), OK


# ---- The commands


def address_of(options: argparse.Namespace) -> Address:
    """The host that --remote or WARPGRADE_REMOTE names."""
    words = options.remote or os.environ.get("WARPGRADE_REMOTE", "")
    if not words:
        raise TroubleError(
            "no host is named: give --remote gpu.example.edu, or set WARPGRADE_REMOTE. Ask your instructor for the "
            "host of the course's desk, and give them your public key, which `ssh-keygen -t ed25519` makes"
        )
    return Address(words)


def follow_and_tell(run: Run, ask: Json, archive: bytes, options: argparse.Namespace) -> int:
    """A run from its first word to the last line."""
    run.screen.print(f"{run.lab} on {run.address.host}\n")
    trouble, code = "", OK
    try:
        run.follow(ask, archive)
    except KeyboardInterrupt:
        trouble, code = "interrupted: the results above are valid, the other cases were not run", INTERRUPTED
        if run.accepted and not run.words:
            run.words = f"run {run.number} goes on; `{own_command()} cancel {run.number}` ends it"
    except TroubleError as error:
        trouble = str(error) if error.code == USAGE else f"no fault of your code: {error}"
        code = error.code
    run.screen.clear()
    folder = getattr(options, "folder", "")

    def repeat(case: Json) -> str:
        whole_lab = text(case, "verdict") == "compile_error"
        return again(run.lab, options.remote, folder, "" if whole_lab else case_name(case))

    submit = f"{own_command()} submit {run.lab}" + (f" --folder {folder}" if folder else "")
    last_line, result = tell_result(run, repeat, submit)
    if run.state == "failed":
        trouble, code = f"no fault of your code: {run.words}", FAULT
    run.screen.print(f"{run.words}\n" if run.words else "")
    run.screen.print(f"{trouble or last_line}\n")
    return code or result


def start(options: argparse.Namespace, kind: str) -> tuple[Run, Json, bytes]:
    """A run of the sources, its question and their archive."""
    address = address_of(options)
    sources = Sources(lab_folder(options.lab, options.folder), options.lab)
    archive = sources.archive()
    run = Run(address, options.lab, Screen())
    run.source = str(sources.folder / run.source)
    run.place = run.place if kind == "run" else run.place / "counters"
    ask = {
        "ask": kind,
        "lab": options.lab,
        "case": options.case,
        "key": run.key_for(sources.hash, options.case),
        "bytes": len(archive),
        "sha256": hashlib.sha256(archive).hexdigest(),
    }
    return run, ask, archive


def test(options: argparse.Namespace) -> int:
    """Sends the sources and shows what the desk says of them."""
    return follow_and_tell(*start(options, "run"), options)


def profile(options: argparse.Namespace) -> int:
    """Sends the sources and shows what the course's GPU counts of one case; nothing is judged."""
    run, ask, archive = start(options, "profile")
    try:
        run.follow(ask, archive)
    except KeyboardInterrupt:
        run.screen.print(f"{run.words}\n" if run.words else "")
        raise
    run.screen.clear()
    run.screen.print(f"{run.words}\n")
    if run.state == "failed":
        return FAULT
    return OK if run.counted else NOT_ACCEPTED


def asked(address: Address, **question: object) -> Json:
    """The answer to one question."""
    try:
        connection = Connection(address)
        try:
            connection.ask(**question)
            return connection.answer(address)
        finally:
            connection.close()
    except BrokenError as broken:
        raise TroubleError(f"the connection broke ({broken}); run the same command again", FAULT) from None


def print_runs(options: argparse.Namespace) -> int:
    """Lists the runs that are open, or the last 50."""
    runs = objects(asked(address_of(options), ask=options.command), "runs")
    for run in runs:
        state = text(run, "state") + (f", place {whole(run, 'place')}" if whole(run, "place") > 0 else "")
        arrived = time.strftime("%Y-%m-%d %H:%M", time.localtime(min(max(number(run, "arrived"), 0), 4e9)))
        words = f"{one_line(text(run, 'lab'), 30):<12} {one_line(state, 30):<18} {one_line(text(run, 'message'), 200)}"
        print(f"run {whole(run, 'run'):<6} {arrived}  {words}")
    if not runs:
        print("no run of yours " + ("waits or is judged" if options.command == "status" else "is there"))
    return OK


def cancel(options: argparse.Namespace) -> int:
    """Ends a run; without a number the only one that is open."""
    address = address_of(options)
    run = options.run
    if not run:
        open_runs = [whole(each, "run") for each in objects(asked(address, ask="status"), "runs")]
        if len(open_runs) != 1:
            raise TroubleError(
                "no run of yours waits or is judged"
                if not open_runs
                else f"{len(open_runs)} runs are open; name one: {own_command()} cancel {open_runs[0]}"
            )
        run = open_runs[0]
    state = text(asked(address, ask="cancel", run=run), "state")
    ways = {"cancelled": "has left the queue", "running": "ends after its present case"}
    print(f"run {run} {ways.get(state, 'had ended before: ' + one_line(state, 20))}")
    return OK


def last(options: argparse.Namespace) -> int:
    """Shows the last run again, or the last one of a lab; follows it where it has not ended."""
    address = address_of(options)
    runs = objects(asked(address, ask="history"), "runs")
    runs = [run for run in runs if not options.lab or text(run, "lab") == options.lab]
    if not runs:
        raise TroubleError(f"no run of yours{' of lab ' + options.lab if options.lab else ''} is there")
    newest = max(runs, key=lambda run: whole(run, "run"))
    lab = text(newest, "lab")
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,60}", lab, re.ASCII):
        raise TroubleError(f"{address.host} answers, but not as a desk: '{one_line(lab, 60)}' is no name of a lab")
    run = Run(address, lab, Screen())
    run.number, run.accepted, run.waiting = whole(newest, "run"), True, "asking the desk"
    return follow_and_tell(run, {"ask": "follow", "run": run.number, "after": 0}, b"", options)


def submit(options: argparse.Namespace) -> int:
    """Packs the sources for handing in, and says whether these are the ones that the desk judged."""
    sources = Sources(lab_folder(options.lab, options.folder), options.lab)
    archive = sources.archive()
    file = Path(options.output or f"{options.lab}-submission.tar.gz")
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    fresh.write_bytes(archive)
    fresh.replace(file)
    for name in sources.files:
        print(f"packed   {name}")
    for name in sources.left_out:
        print(f"left out {name} (no source)")
    print(f"{file} ({len(archive)} bytes)")
    if sources.unwritten():
        print(
            f"warning: this packs an unwritten stub: {', '.join(sources.unwritten())} still returns "
            "cudaErrorNotSupported, which earns no points"
        )
    print(judged_before(sources, options))
    return OK


def judged_before(sources: Sources, options: argparse.Namespace) -> str:
    """What a desk said of these sources, the newest run first."""
    host = Address(options.remote).host if options.remote else "*"
    known = [
        (file.parent.parent.name, read_json(file))
        for file in Path("runs/remote").glob(f"{host}/{sources.lab}/last.json")
    ]
    for host, one in sorted(known, key=lambda pair: -whole(pair[1], "run")):
        if text(one, "hash") == sources.hash and not text(one, "case"):
            counts = "; the course takes your last run there as your hand-in" if one.get("counts") is True else ""
            return f"run {whole(one, 'run')} on {host} judged these sources: {one_line(text(one, 'message'))}{counts}"
    command = again(sources.lab, options.remote, options.folder)
    return f"no run has judged these sources to the end; this command tells whether they are right: {command}"


def parse(words: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog=own_command(), description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    versions_of = f"warpgrade_remote {VERSION}, protocol {versions(OLDEST_PROTOCOL, PROTOCOL)}"
    parser.add_argument("--version", action="version", version=versions_of)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, work: Callable[[argparse.Namespace], int], about: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=about, description=about)
        command.add_argument("--remote", default="", help="the desk's host; default: $WARPGRADE_REMOTE")
        command.set_defaults(work=work)
        return command

    for name, work, about in (
        ("test", test, "judges a lab on the course's GPU"),
        ("profile", profile, "counts one case on the course's GPU, with NVIDIA's ncu"),
        ("submit", submit, "packs a lab's sources for handing in"),
    ):
        command = add(name, work, about)
        command.add_argument("lab", help="the lab, such as spmm")
        command.add_argument("--folder", default="", help="the folder that holds one folder for each lab")
        if name == "test":
            command.add_argument("--case", default="", help="one case, a dataset's cases, or a pattern as 'synth-*'")
        elif name == "profile":
            command.add_argument("--case", required=True, help="a public case's name")
        else:
            command.add_argument("--output", default="", help="default: LAB-submission.tar.gz")
    add("status", print_runs, "runs that wait or are judged")
    add("history", print_runs, "the last 50 runs")
    add("cancel", cancel, "ends a run").add_argument("run", nargs="?", type=int, default=0, help="its number")
    add("last", last, "shows the last run again").add_argument(
        "lab", nargs="?", default="", help="the last one of this lab"
    )
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    """Carries out a command; its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a console of Windows may not have the character
    try:
        options = parse(words)
        return int(options.work(options))
    except TroubleError as trouble:
        print(f"warpgrade_remote: {trouble}", file=sys.stderr)
        return trouble.code
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"warpgrade_remote: {where}{error.strerror or error}", file=sys.stderr)
        return USAGE


if __name__ == "__main__":
    sys.exit(main())
