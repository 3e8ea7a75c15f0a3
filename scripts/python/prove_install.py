#!/usr/bin/env python3
"""Proves that the package and the hand-out work on machines that have nothing of ours.

    scripts/prove-install --handout FILE --package FILE [--platform NAME]... [--tree BUILD] [--output PAGE.md]
    scripts/prove-install --handout FILE --student-only [--platform NAME]...
    scripts/prove-install --offline FILE [--toolkit FOLDER] [--platform NAME]...
    scripts/prove-install --clone [--platform NAME]...
    scripts/prove-install --remote --tree BUILD [--platform NAME]...
    scripts/prove-install --places --handout FILE [--place NAME]...
    scripts/prove-install --wheel FILE [--platform NAME]...

Makes a bare root of each platform (its base system, Python, make), with an ordinary user inside who has no sudo. A
student there unpacks the hand-out, tests the stub, writes it, tests and packs it; an instructor unpacks the package,
judges three submissions and renders the report. The student's first two commands are those of README.md, as they stand
there. With --offline a student has a hand-out that carries NumPy and bubblewrap (`scripts/package --handout --offline
3.11` for Debian 12), a toolkit and a C++ compiler, and no network at all. With --clone an instructor types README's
other two, in a root that has git as well: a clone of what this checkout has committed, and the demo's class from
nothing to its report. With --remote a student types the commands of student/remote.md in a root that has Python and
OpenSSH's client and nothing else; the build's desk judges, behind this machine's own sshd. With --places students live
where platforms put them (install_places.py): Colab, GitHub's runner, Gradescope, a devcontainer; two commands each,
without namespaces. With --wheel somebody has Python and the wheel `warpemu`, and runs its page's three examples. Prints
a table of what each step took. With --tree the instructor's run is repeated by that build's programs with the same
hidden seed, and the records must say the same.

Needs root (for debootstrap, mounts and a user of another number) and the network. A platform that is not asked for, or
of which no root can be made, is "not run" in the table. Exit code 1 where a step failed.

Archives for AArch64 (`make handout ARCH=aarch64`) are proven in an arm64 root, whose programs qemu runs: the kernel is
told of it (binfmt_misc) as long as the script runs. Steps take many times what they take on an ARM machine there.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import install_places
from install_people import (
    CASES,
    Result,
    Visit,
    be_instructor,
    be_instructor_with_clone,
    be_student,
    be_student_offline,
    be_student_with_laptop,
    be_with_emulator,
    records,
)
from install_roots import PLATFORMS, USUAL, Platform, Rights, StepError, enter, make_root, programs_of, unpack

ROOT = Path(__file__).resolve().parents[2]
# What differs between two runs that found the same: times, places, machines.
OF_ITS_OWN_RUN = {"calls", "checksum", "harness", "isolation", "phases", "recorded_at", "wall_s", "wall_ms", "threads"}


def differences(one: object, other: object, place: str = "") -> list[str]:
    """Where two runs' records differ, each place with both values; what is of a run of its own is not looked at."""
    if isinstance(one, dict) and isinstance(other, dict):
        pairs = [(name, one.get(name), other.get(name)) for name in sorted({*one, *other} - OF_ITS_OWN_RUN)]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = list(zip(range(len(one)), one, other, strict=True))
    else:
        return [] if one == other else [f"{place}: {str(one)[:80]} and {str(other)[:80]}"]
    return [line for name, first, second in pairs for line in differences(first, second, f"{place}.{name}")]


def repeat_from_tree(command: list[str | Path], run: Path, scratch: Path) -> list[str]:
    """Gives the command that made a run to the tree's programs and the run's hidden seed; what came out differently."""
    probe, again = scratch / "probe" / run.name, scratch / "again" / run.name
    # A run of its own tells what the tree's programs call themselves; with that, they go on with the other's run.
    for folder in (probe, again):
        if folder is again:
            (again / "secret").mkdir(parents=True)
            shutil.copy(run / "secret/seed", again / "secret/seed")
            theirs = json.loads((run / "run.json").read_text(encoding="utf-8"))
            ours = json.loads((probe / "run.json").read_text(encoding="utf-8"))
            (again / "run.json").write_text(json.dumps({**theirs, "harness": ours["harness"]}), encoding="utf-8")
        done = subprocess.run([*command, "--run", folder], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return [f"the tree's own run: {done.stderr.strip()[-300:]}"]
    return differences(records(run), records(again))


# ---- The table


def prove(suite: Platform, options: argparse.Namespace) -> Result:
    """All steps on one platform."""
    result = Result(suite)
    if suite.name not in options.platform or not suite.suite or suite.machine != options.machine:
        result.problem = "not run"
        return result
    scratch = Path(tempfile.mkdtemp(prefix=f"{suite.suite}.run.", dir=options.roots))
    log = options.roots / f"{suite.suite}-{suite.machine}.log"
    log.unlink(missing_ok=True)
    try:
        for user, live, source, packages in options.people:  # each on a machine of their own
            root = scratch / user
            unpack(make_root(suite, options.roots, packages), root)
            offline = live is be_student_offline
            toolkit = str(options.toolkit.resolve()) if offline else ""
            visit = Visit(root, Rights(user, toolkit=toolkit, offline=offline), result, log)
            result.glibc = enter(root, visit.rights, "ldd --version | sed -n '1s/.* //p'", log).strip()
            live(visit, source)
        if options.tree and options.package:
            home = scratch / "instructor/home/instructor"
            command = [options.tree / "bin/warpgrade", "grade", home / "submissions", "--lab", "spmm", "--cases", CASES,
                       "--backend", "emulator", "--quiet"]  # fmt: skip
            different = repeat_from_tree(command, home / "hw1", scratch)
            result.same_as_tree = "same" if not different else "differ"
            if different:
                raise StepError("records differ from the tree's: " + "; ".join(different[:3]))
    except StepError as error:
        result.problem, result.failed = str(error), True
    finally:
        if options.keep:
            print(f"prove-install: kept {scratch}", file=sys.stderr)
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    return result


def prove_place(place: install_places.Place, options: argparse.Namespace) -> Result:
    """A platform's machine, and its two commands."""
    wanted = options.stand_in if place.suite == "jammy" and options.stand_in else place.suite
    suite = next(each for each in PLATFORMS if wanted in (each.suite, each.name) and each.machine == platform.machine())
    result = Result(Platform(f"{place.name} ({suite.name})", place.suite, suite.mirror))
    if place.name not in options.place:
        result.problem = "not run"
        return result
    scratch = Path(tempfile.mkdtemp(prefix=f"{place.suite}.run.", dir=options.roots))
    log = options.roots / f"{place.name}.log"
    log.unlink(missing_ok=True)
    try:
        root = scratch / "root"
        unpack(make_root(suite, options.roots, place.packages), root)
        visit = Visit(root, Rights(place.user, place.number, confined=True, container=place.is_container), result, log)
        result.glibc = enter(root, visit.rights, "ldd --version | sed -n '1s/.* //p'", log).strip()
        no_namespace = "if unshare --user true 2>/dev/null; then echo 'a namespace was made'; exit 1; fi"
        enter(root, visit.rights, no_namespace, log)
        place.live(visit, options.handout)
        took = install_places.commands_took(result.seconds)
        if took > install_places.LONGEST_S:
            raise StepError(f"the commands took {took:.0f} s without downloads, more than {install_places.LONGEST_S} s")
    except StepError as error:
        result.problem, result.failed = str(error), True
    except subprocess.CalledProcessError as error:  # what is made here before a user types anything
        result.problem, result.failed = f"{error}: {str(error.stderr)[-300:]}", True
    finally:
        if options.keep:
            print(f"prove-install: kept {scratch}", file=sys.stderr)
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    return result


def table(results: list[Result]) -> str:
    """A row a step, a column a platform."""
    steps = list(dict.fromkeys(step for result in results for step in result.seconds))
    ran = [result for result in results if result.seconds or result.failed]
    rows = [
        ["", *(result.platform.name for result in ran)],
        ["C library", *(f"glibc {result.glibc}" for result in ran)],
    ]
    for step in steps:
        rows.append([step, *(f"{result.seconds[step]:.1f} s" if step in result.seconds else "–" for result in ran)])
    rows.append(["records and those of a run from the tree", *(result.same_as_tree or "–" for result in ran)])
    rows.append(["result", *(f"FAILED: {result.problem}" if result.failed else "passed" for result in ran)])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    lines += ["", "Not run: " + ", ".join(result.platform.name for result in results if result not in ran) + "."]
    return "\n".join(lines)


def parse() -> argparse.Namespace:
    """The command line."""
    names = [suite.name for suite in PLATFORMS if suite.suite]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--handout", type=Path, help="scripts/package --handout made it")
    parser.add_argument("--package", type=Path, help="scripts/package made it")
    parser.add_argument("--platform", action="append", choices=names, help="default: all")
    parser.add_argument("--tree", type=Path, help="a build folder, whose programs repeat the instructor's run")
    parser.add_argument("--roots", type=Path, default=ROOT / ".cache/roots", help="where bare roots are kept, packed")
    parser.add_argument("--output", type=Path, help="the table goes there as well")
    parser.add_argument("--student-only", action="store_true", help="the student's part alone")
    parser.add_argument("--offline", type=Path, help="scripts/package --handout --offline PYTHONS made it")
    parser.add_argument("--toolkit", type=Path, default=Path("/usr/local/cuda"), help="this machine's; with --offline")
    parser.add_argument("--clone", action="store_true", help="an instructor with a clone; takes as long as make demo")
    parser.add_argument("--remote", action="store_true", help="a student with a laptop; --tree names the desk's build")
    parser.add_argument("--wheel", type=Path, help="scripts/wheel --emulator made it, of a portable package")
    parser.add_argument("--places", action="store_true", help="students where platforms put them")
    places = [place.name for place in install_places.PLACES]
    stand_in = "in the place of Ubuntu 22.04, for archives that need a newer C library than it has"
    parser.add_argument("--stand-in", choices=names, help=stand_in)
    parser.add_argument("--place", action="append", choices=places, help="default: all; with --places")
    parser.add_argument("--keep", action="store_true", help="leave the roots as they were used")
    options = parser.parse_args()
    options.platform = options.platform or names
    options.place = options.place or places
    for_arm = options.handout and options.handout.name.endswith("-linux-aarch64.tar.gz")
    options.machine = "aarch64" if for_arm else platform.machine()
    if os.geteuid() != 0:
        parser.error("needs root: it mounts, and becomes another user")
    for file in (options.handout, options.offline, options.package, options.wheel):
        if file and not file.is_file():
            parser.error(f"{file}: no such file")
    if options.places and not options.handout:
        parser.error("give --handout FILE")
    if options.handout and not (options.student_only or options.places or options.package):
        parser.error("give --package FILE, or --student-only")
    # Who lives there, what they do, with what, and which packages their system has.
    people = [
        ("student", be_student, options.handout, USUAL),
        ("offline", be_student_offline, options.offline, (*USUAL, "g++")),
        ("instructor", be_instructor, None if options.student_only else options.package, USUAL),
        ("clone", be_instructor_with_clone, ROOT if options.clone else None, (*USUAL, "git")),
        ("laptop", be_student_with_laptop, options.tree if options.remote else None, ("python3", "openssh-client")),
        ("emulator", be_with_emulator, options.wheel, ("python3", "python3-venv", "g++")),
    ]
    options.people = [person for person in people if person[2]]
    if not options.people:
        parser.error(
            "give --handout and --package, --offline FILE, --clone, --remote and --tree BUILD, or --wheel FILE"
        )
    options.roots = options.roots.resolve()
    options.roots.mkdir(parents=True, exist_ok=True)
    return options


def main() -> int:
    """Visits each platform."""
    options = parse()
    with programs_of(options.machine, ROOT / f".cache/cross-{options.machine}/bin/qemu-{options.machine}"):
        if options.places:
            results = [prove_place(place, options) for place in install_places.PLACES]
        else:
            results = [prove(suite, options) for suite in PLATFORMS]
    cores = len(os.sched_getaffinity(0))
    text = (
        f"{table(results)}\n\nMade by `scripts/prove-install` on {cores} cores ({platform.machine()}); each "
        "person without a GPU in a bare root (base system, Python, make; of a laptop: base system, Python, OpenSSH's "
        "client), as an ordinary user without sudo.\n"
    )
    print(text)
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    return 1 if any(result.failed for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
