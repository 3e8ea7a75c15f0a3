"""Bare roots for scripts/prove-install: platforms, their systems, and who lives inside with which rights."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reports"))
from warpgrade_reports.text import lines_of

DEBIAN = "http://deb.debian.org/debian"
UBUNTU = "http://archive.ubuntu.com/ubuntu"
USER = 1000
USUAL = ("python3", "make")  # what a bare root has besides the system itself
LONGEST_STEP_S = 900


@dataclass(frozen=True)
class Platform:
    """A system of which a bare root can be made; without a suite: one that is named and not run."""

    name: str
    suite: str = ""
    mirror: str = ""
    machine: str = "x86_64"


PLATFORMS = (
    Platform("Debian 12", "bookworm", DEBIAN),
    Platform("Debian 13", "trixie", DEBIAN),
    Platform("Debian 11", "bullseye", DEBIAN),
    Platform("Ubuntu 22.04", "jammy", UBUNTU),
    Platform("Ubuntu 24.04", "noble", UBUNTU),
    Platform("Debian 12 on AArch64 (qemu)", "bookworm", DEBIAN, "aarch64"),
    Platform("Debian 13 on AArch64 (qemu)", "trixie", DEBIAN, "aarch64"),
    Platform("Fedora, Rocky, Arch"),
    Platform("macOS (in a Linux container)"),
)


DEBIAN_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}
BINFMT = Path("/proc/sys/fs/binfmt_misc")
# A 64-bit little-endian ELF program for AArch64: its first bytes, and which of them count.
AARCH64_MAGIC = r"\x7fELF\x02\x01\x01" + r"\x00" * 9 + r"\x02\x00\xb7\x00"
AARCH64_MASK = r"\xff" * 7 + r"\x00" + r"\xff" * 8 + r"\xfe\xff\xff\xff"


class StepError(Exception):
    """A step's command failed; the words are its last lines."""


# ---- Another processor


@contextlib.contextmanager
def programs_of(machine: str, qemu: Path) -> Iterator[None]:
    """While it lasts the kernel starts the processor's programs with qemu, in every root (F: opened once, here)."""
    name = f"warpgrade-{machine}"
    if machine == platform.machine() or any(BINFMT.glob("qemu-aarch64*")):
        yield
        return
    if not qemu.exists():
        sys.exit(f"prove-install: no {qemu}: scripts/cross-tools {qemu.parent.parent} {machine} gets it")
    if not (BINFMT / "register").exists():
        subprocess.run(["mount", "-t", "binfmt_misc", "none", BINFMT], check=True)
    if not (BINFMT / name).exists():
        (BINFMT / "register").write_text(
            f":{name}:M::{AARCH64_MAGIC}:{AARCH64_MASK}:{qemu.resolve()}:F", encoding="ascii"
        )
    try:
        yield
    finally:
        (BINFMT / name).write_text("-1", encoding="ascii")


# ---- Bare roots


def keyring_options(suite: Platform, folder: Path) -> list[str]:
    """What checks the archive's signatures: this machine's keys of Debian; Ubuntu's keys where they are installed."""
    if suite.mirror != UBUNTU:
        return []
    keys = Path("/usr/share/keyrings/ubuntu-archive-keyring.gpg")
    if keys.exists():
        return [f"--keyring={keys}"]
    print(
        f"prove-install: this machine has no keys of Ubuntu's archive: {folder.name} is used unchecked", file=sys.stderr
    )
    return ["--no-check-gpg"]


def make_root(suite: Platform, folder: Path, packages: tuple[str, ...] = USUAL) -> Path:
    """A packed bare root, made once: what the system itself needs, and these packages."""
    foreign = suite.machine != platform.machine()
    kind = "".join(f"-{package}" for package in packages if packages[: len(USUAL)] != USUAL or package not in USUAL)
    kind += f"-{suite.machine}" if foreign else ""
    packed = folder / f"{suite.suite}{kind}.tar"
    if packed.exists():
        return packed
    scratch = Path(tempfile.mkdtemp(prefix=f"{suite.suite}.", dir=folder))
    components = "main,universe" if suite.mirror == UBUNTU else "main"
    command = [
        "debootstrap",
        "--variant=minbase",
        f"--include={','.join(packages)}",
        f"--components={components}",
        *([f"--arch={DEBIAN_NAMES[suite.machine]}"] if foreign else []),
        *keyring_options(suite, packed),
        suite.suite,
        str(scratch / "root"),
        suite.mirror,
    ]
    if suite.mirror == UBUNTU and not Path("/usr/share/debootstrap/scripts", suite.suite).exists():
        command.append("jammy" if Path("/usr/share/debootstrap/scripts/jammy").exists() else "gutsy")
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise StepError("debootstrap: " + " | ".join(lines_of((done.stdout + done.stderr).strip())[-2:]))
        if suite.mirror == UBUNTU:  # as an installed Ubuntu has it
            text = "".join(f"deb {UBUNTU} {suite.suite}{part} main universe\n" for part in ("", "-updates"))
            (scratch / "root/etc/apt/sources.list").write_text(text, encoding="utf-8")
        subprocess.run(
            ["tar", "-C", scratch / "root", "-cf", f"{packed}.new", "--exclude=./var/cache/apt/archives/*.deb", "."],
            check=True,
        )
        Path(f"{packed}.new").rename(packed)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return packed


def add_user(root: Path, name: str, number: int) -> None:
    """An ordinary user with a home and nothing else; root is there."""
    if number == 0:
        return
    with (root / "etc/passwd").open("a", encoding="utf-8") as users:
        users.write(f"{name}:x:{number}:{number}:{name}:/home/{name}:/bin/bash\n")
    with (root / "etc/group").open("a", encoding="utf-8") as groups:
        groups.write(f"{name}:x:{number}:\n")
    home = root / "home" / name
    home.mkdir(parents=True)
    os.chown(home, number, number)


@dataclass(frozen=True)
class Rights:
    """Who lives in a root: an ordinary user who may make namespaces, or what a platform gives."""

    user: str
    number: int = USER
    confined: bool = False  # no namespace can be made
    container: bool = False  # as Docker shows one: /.dockerenv, no control groups, its usual capabilities
    toolkit: str = ""  # a CUDA toolkit of this machine's, which lies in /usr/local/cuda there
    offline: bool = False  # no network but the loopback interface, which is down

    @property
    def home(self) -> str:
        """Inside the root."""
        return f"/home/{self.user}" if self.number else "/root"


# Mounts are seen by this process and its children alone. The root is changed by pivot_root: after chroot a user could
# make no namespaces, as bubblewrap does and as an ordinary machine allows.
ENTER = r"""
set -e
root=$1; home=$2; shift 2
mount --rbind "$root" "$root"; cd "$root"
mount -t proc proc proc
mount --rbind /sys sys
mount -t tmpfs -o mode=755 tmpfs dev
for node in null zero full random urandom tty; do touch dev/$node; mount --bind /dev/$node dev/$node; done
mkdir -p dev/shm dev/pts; mount -t tmpfs -o mode=1777 tmpfs dev/shm
ln -s /proc/self/fd dev/fd; ln -s fd/0 dev/stdin; ln -s fd/1 dev/stdout; ln -s fd/2 dev/stderr
mount -t tmpfs -o mode=1777 tmpfs tmp
cat /etc/resolv.conf >etc/resolv.conf
if [ -n "$TOOLKIT" ]; then mkdir -p usr/local/cuda; mount --bind -o ro "$TOOLKIT" usr/local/cuda; fi
mkdir -p .old; PATH=$PATH:/usr/sbin:/sbin pivot_root . .old; umount -l /.old; rmdir /.old
cd "$home"
become=(setpriv --reuid="$USER_NUMBER" --regid="$USER_NUMBER" --clear-groups --inh-caps=-all --bounding-set=-all --)
if [ -n "$CONTAINER" ]; then touch /.dockerenv; mount -t tmpfs -o ro tmpfs /sys/fs/cgroup; fi
if [ "$USER_NUMBER" = 0 ]; then
  dropped=-sys_admin,-sys_module,-sys_ptrace,-sys_resource,-sys_boot,-sys_time,-net_admin
  become=(setpriv --inh-caps=-all --bounding-set=$dropped --)
fi
if [ -z "$CONFINED" ]; then exec "${become[@]}" "$@"; fi
# A user namespace with everybody's numbers, in which user.max_user_namespaces=0 holds: the machine keeps its own value.
mkfifo -m 666 /tmp/made /tmp/go
unshare --user bash -c 'echo >/tmp/made; read -r _ </tmp/go
  exec bash -c "echo 0 >/proc/sys/user/max_user_namespaces; exec \"\$@\"" x "$@"' x "${become[@]}" "$@" &
read -r _ </tmp/made
echo 0 0 65536 >/proc/$!/uid_map; echo 0 0 65536 >/proc/$!/gid_map
echo >/tmp/go
wait $!
"""


def enter(root: Path, rights: Rights, script: str, log: Path, longest_s: int = LONGEST_STEP_S) -> str:
    """Runs a script with these rights inside the root; what it printed. Raises StepError."""
    environment = {
        "HOME": rights.home,
        "USER": rights.user,
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "USER_NUMBER": str(rights.number),
        "CONFINED": "1" if rights.confined else "",
        "CONTAINER": "1" if rights.container else "",
        "TOOLKIT": rights.toolkit,
    }
    if (root / "etc/own-authorities.crt").exists():
        environment["PIP_CERT"] = "/etc/own-authorities.crt"
    command = [
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--ipc",
        "--uts",
        "--propagation",
        "private",
        *(["--net"] if rights.offline else []),
        "bash",
        "-c",
        ENTER,
        "enter",
        str(root),
        rights.home,
        "bash",
        "-euo",
        "pipefail",
        "-c",
        script,
    ]
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=longest_s,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise StepError(f"more than {longest_s} s") from None
    said = done.stdout + done.stderr
    with log.open("a", encoding="utf-8") as file:
        file.write(f"$ {script}\n{said}\n[{done.returncode}]\n")
    if done.returncode != 0:
        raise StepError(f"exit code {done.returncode}: " + " | ".join(lines_of(said.strip())[-3:]))
    return said


def unpack(packed: Path, root: Path) -> None:
    """A fresh root, with this machine's authorities."""
    root.mkdir()
    with tarfile.open(packed) as tar:
        tar.extractall(root, filter="fully_trusted")  # noqa: S202  (made here)
    carry_own_authorities(root)


def carry_own_authorities(root: Path) -> None:
    """Where this machine trusts an authority of its own, pip inside must, too: the network speaks for it."""
    bundle = Path("/etc/ssl/certs/ca-certificates.crt")
    if bundle.exists() and any(Path("/usr/local/share/ca-certificates").glob("*.crt")):
        shutil.copy(bundle, root / "etc/own-authorities.crt")
