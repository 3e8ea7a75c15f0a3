"""Hand-ins as plain repositories: a folder of clones, a list of addresses, the last commit before a deadline.

git is the real one, also behind ssh: a program of that name in front of the PATH starts what it is asked for on this
machine, as a server does (git-upload-pack, gitprotocol-pack(5)).
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import warpgrade
from courseware import class_of, policy_of, take_in

CU = '#error "nobody compiles this"\n'
DEADLINE = "2026-03-18T22:59:00Z"
EARLY, LATE = "2026-03-18T20:00:00+00:00", "2026-03-19T08:00:00+00:00"


def git(folder: Path, *words: str | Path, at: str = EARLY) -> str:
    environment = os.environ | {
        "GIT_COMMITTER_DATE": at, "GIT_AUTHOR_DATE": at, "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x@example.edu",
        "GIT_COMMITTER_NAME": "x", "GIT_COMMITTER_EMAIL": "x@example.edu",
    }  # fmt: skip
    done = subprocess.run(["git", *words], cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, text: str, at: str, **files: str) -> str:
    """Another state of the sources; its id."""
    if not (folder / ".git").exists():
        folder.mkdir(parents=True)
        git(folder, "init", "-q", "-b", "main")
    (folder / "spmm.cu").write_text(CU + text, encoding="utf-8")
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content, encoding="utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", text, at=at)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of repositories that ssh://git@host/<name> reaches."""
    programs = tmp_path / "programs"
    programs.mkdir()
    ssh = programs / "ssh"
    ssh.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/ssh.log\nfor word; do :; done\ncd {tmp_path}/server && '
        'GIT_ALLOW_PROTOCOL=file exec sh -c "$(echo "$word" | sed "s,\'/,\',")"\n',
        encoding="utf-8",
    )
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")  # of the server's side
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "safe.directory")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "*")
    return tmp_path / "server"


def listed(folder: Path, *lines: str) -> Path:
    file = folder / "repositories.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def read(folder: Path, source: Path, *options: str | Path, roster: str | None = None) -> dict[str, Any]:
    file = None
    if roster is not None:
        file = folder / "roster.csv"
        file.write_text(roster, encoding="utf-8")
    done = take_in(folder / "run", source, file, "--policy", policy_of(folder), *options)
    assert done.returncode == 0, done.stderr
    return class_of(folder / "run")


def text_of(folder: Path, attempt: dict[str, Any]) -> str:
    source = folder / "run" / str(attempt["snapshot"]) / "spmm.cu"
    return source.read_text(encoding="utf-8").removeprefix(CU)


def test_a_list_of_repositories_is_fetched_and_pushes_tell_the_time(tmp_path: Path, server: Path) -> None:
    """A commit's time is a claim; the platform's time of the push is none. Who cannot be fetched is refused."""
    commit(server / "ada", "ada", EARLY)
    commit(server / "bo", "bo", EARLY)
    source = listed(
        tmp_path,
        "student,url,pushed_at",
        "s1,ssh://git@git.example.edu/ada,2026-03-19T08:00:00Z",
        "s2,git@git.example.edu:bo,",
        "s3,ssh://git@git.example.edu/gone,",
        "s4,,",
    )
    roster = "id,name\ns1,Ada\ns2,Bo\ns3,Chen\ns4,Dita\n"
    taken = read(tmp_path, source, "--deadline", DEADLINE, roster=roster)
    assert taken["source"]["layout"] == "git"
    ada, bo, chen = (next(a for a in taken["attempts"] if a["student"] == who) for who in ("s1", "s2", "s3"))
    assert text_of(tmp_path, ada) == "ada" and ada["late_s"] > 0 and "time_is_claimed" not in ada
    assert text_of(tmp_path, bo) == "bo" and bo["late_s"] == 0 and bo["time_is_claimed"]
    assert chen["refusal"]["reason"] == "not_fetched" and "gone" in chen["refusal"]["message"]
    assert "BatchMode=yes" in (tmp_path / "ssh.log").read_text(encoding="utf-8"), "nobody is asked for a password"


def test_a_clone_made_before_the_deadline_is_in_time(tmp_path: Path, server: Path) -> None:
    """What was fetched before the deadline was in time, whatever the commit's clock says."""
    commit(server / "ada", "ada", "2038-01-01T00:00:00+00:00")
    source = listed(tmp_path, "ssh://git@git.example.edu/ada")
    (attempt,) = read(tmp_path, source, "--deadline", "2037-01-01T00:00:00Z")["attempts"]
    assert attempt["late_s"] == 0 and "time_is_claimed" not in attempt


def test_the_last_commit_before_each_deadline_is_judged(tmp_path: Path, server: Path) -> None:
    """Also where the student has an extension, or a commit is named, or nothing was there in time."""
    for name in ("ada", "bo", "chen"):
        first = commit(server / name, "early", EARLY)
        commit(server / name, "late", LATE)
    commit(server / "dita", "late", LATE)
    source = listed(
        tmp_path,
        "student,url,commit",
        *(f"{name},ssh://git@git.example.edu/{name}," for name in ("ada", "bo", "dita")),
        f"chen,ssh://git@git.example.edu/chen,{first}",
    )
    roster = "id,deadline\nada,\nbo,2026-03-20T00:00:00Z\nchen,\ndita,\n"
    taken = read(tmp_path, source, "--layout", "git-before", "--deadline", DEADLINE, roster=roster)
    texts = {a["student"]: text_of(tmp_path, a) for a in taken["attempts"] if "snapshot" in a}
    assert texts == {"ada": "early", "bo": "late", "chen": "early"}
    (refused,) = [a["refusal"] for a in taken["attempts"] if "refusal" in a]
    assert refused["reason"] == "no_commit" and "before the deadline" in refused["message"]

    (tmp_path / "run").rename(tmp_path / "list-run")  # the same of a folder of clones
    for name in ("ada", "bo"):
        git(tmp_path, "clone", "-q", server / name, tmp_path / f"clones/lab-1-{name}")
    taken = read(tmp_path, tmp_path / "clones", "--layout", "git-before", "--deadline", DEADLINE, roster=roster)
    assert {a["student"]: text_of(tmp_path, a) for a in taken["attempts"]} == {"ada": "early", "bo": "late"}
    done = take_in(tmp_path / "none", tmp_path / "clones", None, "--layout", "git-before")
    assert done.returncode == 1 and "--deadline" in done.stderr


def test_clones_that_came_later_have_claimed_times(tmp_path: Path) -> None:
    """A folder of clones: what is checked out, and what its author's clock says of it."""
    for name in ("ada", "bo"):
        commit(tmp_path / f"clones/lab-1-{name}", name, EARLY if name == "ada" else LATE)
    (tmp_path / "clones/readme.txt").write_text("of the teacher", encoding="utf-8")
    taken = read(tmp_path, tmp_path / "clones", "--deadline", DEADLINE, "--layout", "github")
    assert {a["student"]: (a["late_s"] > 0, a["time_is_claimed"]) for a in taken["attempts"]} == {
        "ada": (False, True), "bo": (True, True),
    }  # fmt: skip
    assert taken["left_aside"] == ["readme.txt"] and taken["source"]["layout"] == "git"

    (tmp_path / "run").rename(tmp_path / "late-run")
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    taken = read(tmp_path, tmp_path / "clones", "--deadline", soon)
    assert not any("time_is_claimed" in a for a in taken["attempts"]), "it lies here before the deadline"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("file:///etc", "not over 'file'"),
        ("ext::sh -c 'touch {0}/owned'", "not over 'ext'"),
        ("git://git.example.edu/ada", "not over 'git'"),
        ("http://git.example.edu/ada", "not over 'http'"),
        ("ssh://-oProxyCommand=touch%20{0}/owned/x", "expected an address"),
        ("-oProxyCommand=touch {0}/owned:x", "expected an address"),
        ("git@-oProxyCommand=x:ada", "expected an address"),
        ("https://ada:secret@git.example.edu/ada", "a password in the address"),
        ("{0}/server/ada", "expected an address"),
    ],
)
def test_other_addresses_are_refused_with_their_line(tmp_path: Path, server: Path, url: str, said: str) -> None:
    """Nothing is fetched, and nothing started."""
    commit(server / "ada", "ada", EARLY)
    source = listed(tmp_path, "student,url", "s1,ssh://git@git.example.edu/ada", f's2,"{url.format(tmp_path)}"')
    done = take_in(tmp_path / "run", source, None)
    assert done.returncode == 1 and f"{source}:3: " in done.stderr and said in done.stderr, done.stderr
    assert not (tmp_path / "owned").exists() and not (tmp_path / "ssh.log").exists()
    assert not (tmp_path / "run").exists()


def test_nothing_of_a_repository_is_run_or_rewritten(tmp_path: Path, server: Path) -> None:
    """Hooks, filters, file system monitors, submodules, attributes: the files are those of the commit."""
    owned = tmp_path / "owned"
    commit(
        server / "ada", "$Format:%H$\n", EARLY,
        __gitattributes="*.cu filter=evil export-subst ident\nhidden.cuh export-ignore\n", hidden__cuh="// here\n",
        __gitmodules=f'[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "touch {owned}"\n',
    )  # fmt: skip
    for setting, value in {"filter.evil.smudge": f"touch {owned}", "filter.evil.clean": f"touch {owned}",
                           "core.fsmonitor": f"touch {owned}", "core.sshCommand": f"touch {owned}",
                           "uploadpack.packObjectsHook": f"touch {owned}"}.items():  # fmt: skip
        git(server / "ada", "config", setting, value)
    for hook in ("post-checkout", "post-index-change", "pre-auto-gc", "reference-transaction"):
        (server / "ada/.git/hooks" / hook).write_text(f"#!/bin/sh\ntouch {owned}\n", encoding="utf-8")
        (server / "ada/.git/hooks" / hook).chmod(0o755)
    source = listed(tmp_path, "ssh://git@git.example.edu/ada")
    (attempt,) = read(tmp_path, source)["attempts"]
    assert text_of(tmp_path, attempt) == "$Format:%H$\n"
    assert (tmp_path / "run" / attempt["snapshot"] / "hidden.cuh").exists()

    (tmp_path / "run").rename(tmp_path / "list-run")
    taken = read(tmp_path, server, "--layout", "git-before", "--deadline", DEADLINE)
    assert text_of(tmp_path, taken["attempts"][0]) == "$Format:%H$\n"
    (tmp_path / "run").rename(tmp_path / "before-run")
    read(tmp_path, server, "--layout", "git")
    assert not owned.exists()


def test_a_link_in_a_repository_is_refused_like_any(tmp_path: Path, server: Path) -> None:
    commit(server / "ada", "ada", EARLY)
    (server / "ada/secret.cuh").symlink_to("/etc/passwd")
    commit(server / "ada", "with a link", EARLY)
    (attempt,) = read(tmp_path, listed(tmp_path, "ssh://git@git.example.edu/ada"))["attempts"]
    assert attempt["refusal"]["reason"] == "link"


def test_a_list_that_is_none_is_refused(tmp_path: Path) -> None:
    for lines, said in (
        (["student,score", "s1,3"], "columns student and url"),
        (["student,url"], "lists no repository"),
        (["student,url,pushed_at", "s1,https://x.edu/a,soon"], ":2: pushed_at"),
    ):
        done = warpgrade("batch", tmp_path / "run", "--submissions", listed(tmp_path, *lines), "--take-in")
        assert done.returncode == 1 and said in done.stderr, done.stderr
