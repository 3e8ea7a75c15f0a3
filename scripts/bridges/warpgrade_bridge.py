#!/usr/bin/env python3
"""Judges one hand-in and writes what a platform reads: what all bridges of this folder share.

    warpgrade_bridge.py --lab spmm --submission FOLDER --output FOLDER --formats github,junit

With --desk the course's desk judges on its GPU, through warpgrade_remote.py. Where it does not, or without --desk, this
machine judges: on its GPU, or on the emulator. Either way there is one view of what the student may see (schema
warpgrade.feedback.v1), and `warpgrade export` makes every platform's file from it: OUTPUT/<format>/submission.*,
OUTPUT/junit.xml. OUTPUT/view.json is the view, OUTPUT/page the desk's page.

Exit code: 0, every case is right; 3, some are not; 2, a fault of judge or machine, after which there are no files and
no score; 1, the command or the hand-in cannot be read. Python 3.9 and its standard library are enough.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]  # of a package, a hand-out or a checkout
RIGHT, WRONG_COMMAND, FAULT, NOT_RIGHT = 0, 1, 2, 3
LONGEST_REASON = 300
BETWEEN_TRIES_S = 10
STUDENT = "submission"


class FaultError(Exception):
    """The judge or the machine failed; the student did nothing wrong."""


def program() -> str:
    """The program `warpgrade` of the tree that this file lies in; WARPGRADE names another."""
    named = os.environ.get("WARPGRADE")
    places = [ROOT / "warpgrade", ROOT / "build/bin/warpgrade"]
    found = named or next((str(place) for place in places if place.is_file()), None)
    if not found:
        raise FaultError(f"no program warpgrade in {ROOT}: unpack the package whole, or run make build")
    return found


def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:  # noqa: ANN401 - as subprocess has them
    """Runs a command and keeps what it said. What students wrote must not reach a log that takes commands."""
    return subprocess.run(  # noqa: S603 - our own programs
        command, capture_output=True, text=True, errors="replace", check=False, stdin=subprocess.DEVNULL, **options
    )


def last_line(text: str) -> str:
    """The last line that says something, at most a few hundred characters of it."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return lines[-1][:LONGEST_REASON] if lines else "it said nothing"


# ---- The hand-in


def sources_of(handed_in: Path, folder: Path) -> Path:
    """The sources in a folder of their own: of a folder, one archive or one file. Links stay behind: they lead out."""
    inside = (
        [path for path in handed_in.iterdir() if not path.name.startswith(".")] if handed_in.is_dir() else [handed_in]
    )
    if len(inside) == 1 and inside[0].is_file() and not inside[0].is_symlink():
        name = inside[0].name.lower()
        folder.mkdir(parents=True)
        if name.endswith((".tar.gz", ".tgz", ".tar")):
            unpacked = run(["tar", "-xf", str(inside[0].resolve()), "-C", str(folder), "--no-same-owner"])
            if unpacked.returncode != 0:
                raise ValueError(
                    f"{inside[0].name}: expected an archive as `submit` packs it: {last_line(unpacked.stderr)}"
                )
        elif name.endswith(".zip"):
            shutil.unpack_archive(str(inside[0]), str(folder), "zip")
        else:
            shutil.copy(inside[0], folder)
    else:
        shutil.copytree(handed_in, folder, symlinks=True)
    for path in list(folder.rglob("*")):
        if path.is_symlink():
            path.unlink()
    while len(entries := list(folder.iterdir())) == 1 and entries[0].is_dir():
        folder = entries[0]
    return folder


# ---- The course's desk


def ssh_of(options: argparse.Namespace, scratch: Path) -> dict[str, str]:
    """The environment in which warpgrade_remote.py uses the bridge's own key."""
    words = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20"]
    if options.desk_key:
        key = scratch / "key"
        key.touch(mode=0o600)  # ssh takes no key that others may read
        key.write_bytes(Path(options.desk_key).read_bytes())
        words += ["-i", str(key), "-o", "IdentitiesOnly=yes"]
    if options.desk_known_hosts:
        words += [
            "-o",
            f"UserKnownHostsFile={Path(options.desk_known_hosts).resolve()}",
            "-o",
            "StrictHostKeyChecking=yes",
        ]
    return {**os.environ, "WARPGRADE_SSH": os.environ.get("WARPGRADE_SSH", " ".join(words))}


def ask_desk(options: argparse.Namespace, scratch: Path, output: Path) -> dict[str, Any]:
    """The view of the desk's run; FaultError where the desk did not judge."""
    labs = scratch / "labs"
    shutil.copytree(options.sources, labs / options.lab)
    client = options.client or str(ROOT / "student/warpgrade_remote.py")
    command = [sys.executable, client, "test", options.lab, "--folder", str(labs), "--remote", options.desk]
    until = time.monotonic() + options.desk_wait
    while True:
        left = max(1.0, until - time.monotonic())
        try:
            done = run(command, cwd=scratch, env=ssh_of(options, scratch), timeout=left)
        except subprocess.TimeoutExpired:
            raise FaultError(f"it took more than {options.desk_wait} s") from None
        finally:
            with contextlib.suppress(FileNotFoundError):
                (scratch / "key").unlink()
        # Other hand-ins come with the same key; the desk takes so many at a time.
        busy = done.returncode == WRONG_COMMAND and "refuses: your run " in done.stderr
        if not busy or time.monotonic() + BETWEEN_TRIES_S > until:
            break
        time.sleep(BETWEEN_TRIES_S)
    if done.returncode not in (RIGHT, NOT_RIGHT):
        raise FaultError(last_line(done.stderr if done.stderr.strip() else done.stdout))
    pages = sorted(scratch.glob("runs/remote/*/*/*/feedback.json"))
    if not pages:
        raise FaultError("it judged, and sent no page")
    shutil.copytree(pages[-1].parent, output / "page")
    view: dict[str, Any] = json.loads(pages[-1].read_text(encoding="utf-8"))
    where = "on the course's GPU" if view.get("backend") == "cuda" else "by the course's desk, without a GPU"
    view["judged_by"] = f"Judged {where} ({options.desk})."
    return view


# ---- This machine


def judge_here(options: argparse.Namespace, scratch: Path, why_here: str) -> dict[str, Any]:
    """The view of a run of this machine's; FaultError where the judge failed twice."""
    shutil.copytree(options.sources, scratch / "class" / STUDENT)
    command = [program(), "grade", str(scratch / "class"), "--lab", options.lab, "--cases", options.cases]
    command += ["--run", str(scratch / "run"), "--backend", options.backend, "--quiet"]
    command += ["--policy", options.policy] if options.policy else []
    command += ["--allow-unsandboxed"] if options.allow_unsandboxed else []
    done = run(command)
    if done.returncode == FAULT:  # the same command judges again what is open
        done = run(command)
    if done.returncode != RIGHT:
        raise FaultError(f"warpgrade grade: {last_line(done.stderr)}")
    done = run(
        [program(), "export", str(scratch / "run"), "--format", "view", "--student", STUDENT, "--output", str(scratch)]
    )
    if done.returncode != RIGHT:
        raise FaultError(f"warpgrade export: {last_line(done.stderr)}")
    view: dict[str, Any] = json.loads((scratch / f"view/{STUDENT}.json").read_text(encoding="utf-8"))
    where = (
        "Judged on this machine's GPU." if view.get("backend") == "cuda" else "Judged without a GPU, on the emulator."
    )
    if not view.get("speed_measured"):
        where += " Speed was not measured."
    view["judged_by"] = f"{where} The course's GPU did not judge it: {why_here}." if why_here else where
    return view


def judged(options: argparse.Namespace, scratch: Path, output: Path) -> dict[str, Any]:
    """The view, from the desk or from here."""
    why_here = ""
    if options.desk:
        try:
            return ask_desk(options, scratch, output)
        except FaultError as fault:
            why_here = str(fault).rstrip(".")
            print(f"warpgrade_bridge: {options.desk} did not judge: {why_here}", file=sys.stderr)
        finally:
            # From here on a student's program may run on this machine, perhaps in no box.
            if options.desk_key:
                with contextlib.suppress(FileNotFoundError):
                    Path(options.desk_key).unlink()
    return judge_here(options, scratch, why_here)


# ---- The platform's files


def page_into_gradescope(output: Path, judged_by: str) -> None:
    """The desk's page, which is Markdown that escapes what students wrote, takes the place of the plain words."""
    page, results = output / "page/feedback.md", output / f"gradescope/{STUDENT}.json"
    if page.is_file() and results.is_file():
        value = json.loads(results.read_text(encoding="utf-8"))
        value["output"] = f"{judged_by}\n\n{page.read_text(encoding='utf-8')}"
        value["output_format"] = "md"
        results.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def write_files(options: argparse.Namespace, view: dict[str, Any], output: Path) -> None:
    """What `warpgrade export` makes of the view."""
    view["person"] = {**view.get("person", {}), "id": STUDENT}  # the desk knows the bridge's account alone
    (output / "view.json").write_text(json.dumps(view, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    command = [program(), "export", str(output / "view.json"), "--format", options.formats, "--output", str(output)]
    done = run([*command, "--source-root", options.source_root])
    if done.returncode != RIGHT:
        raise FaultError(f"warpgrade export: {last_line(done.stderr)}")
    page_into_gradescope(output, view["judged_by"])


def parse(words: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lab", required=True)
    parser.add_argument("--submission", required=True, type=Path, help="the sources: a folder, an archive, a file")
    parser.add_argument("--output", required=True, type=Path, help="a folder; what it holds is replaced")
    parser.add_argument("--formats", required=True, help="github, gitlab, gradescope, autolab, prairielearn, junit")
    parser.add_argument("--source-root", default="", help="where the repository has the sources (github, gitlab)")
    parser.add_argument("--cases", default="public", help="ids, datasets or sets of cases, where this machine judges")
    parser.add_argument("--policy", default="", help="a policy, where this machine judges; default: the lab's")
    parser.add_argument("--backend", default="auto", choices=("auto", "cuda", "emulator"))
    parser.add_argument("--allow-unsandboxed", action="store_true", help="go on where there can be no box")
    parser.add_argument("--desk", default="", help="the host of the course's desk, or account@host:port")
    parser.add_argument(
        "--desk-key", default="", help="a copy of the bridge's private key: it is removed after the desk"
    )
    parser.add_argument("--desk-known-hosts", default="", help="a file with the desk's public host key")
    parser.add_argument("--desk-wait", type=float, default=900, help="seconds after which this machine judges")
    parser.add_argument("--client", default="", help="another warpgrade_remote.py")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    """Carries out the command; its exit code."""
    options = parse(words)
    if not options.submission.exists():
        print(f"warpgrade_bridge: {options.submission}: expected the hand-in there", file=sys.stderr)
        return WRONG_COMMAND
    shutil.rmtree(options.output, ignore_errors=True)
    options.output.mkdir(parents=True)
    try:
        with tempfile.TemporaryDirectory(prefix="warpgrade-bridge-") as scratch:
            try:
                options.sources = sources_of(options.submission, Path(scratch) / "handed_in")
            except (OSError, ValueError, shutil.ReadError) as trouble:
                print(f"warpgrade_bridge: {trouble}", file=sys.stderr)
                return WRONG_COMMAND
            view = judged(options, Path(scratch), options.output)
        if view.get("undecided_cases", 0) > 0:
            raise FaultError(f"{view['undecided_cases']} cases were not judged")
        write_files(options, view, options.output)
    except (FaultError, OSError, ValueError) as fault:
        print(f"warpgrade_bridge: no fault of the hand-in: {fault}", file=sys.stderr)
        shutil.rmtree(options.output, ignore_errors=True)
        return FAULT
    right, total = view.get("correct_cases", 0), view.get("total_cases", 0)
    print(f"{options.lab}: {right} of {total} cases are right. {view['judged_by']}")
    return RIGHT if right == total and total else NOT_RIGHT


if __name__ == "__main__":
    sys.exit(main())
