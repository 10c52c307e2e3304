"""A real sshd on loopback: own port, own keys, own configuration, its own /run. Leaves nothing behind, and changes nothing of the system.

The login is the user that runs the tests; their home and PATH on the "host" are given by the test.
"""

from __future__ import annotations

import getpass
import os
import shlex
import shutil
import signal
import socket
import subprocess
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
CONFIG = """\
{more}
{addresses}
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
UsePAM no
StrictModes no
UseDNS no
PrintMotd no
PrintLastLog no
PubkeyAuthentication yes
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
LogLevel ERROR
MaxStartups 200
SetEnv HOME={home} {environment}
"""


@dataclass(frozen=True)
class Server:
    """A running sshd and what a client needs for it."""

    port: int
    pid: int
    user: str
    folder: Path
    home: Path
    addresses: tuple[str, ...] = ("127.0.0.1",)

    @property
    def identity(self) -> str:
        return str(self.folder / "client_key")

    @property
    def known_hosts(self) -> str:
        return str(self.folder / "known_hosts")

    @property
    def host_key(self) -> str:
        """Return type and key as they stand in known_hosts."""
        return " ".join((self.folder / "host_key.pub").read_text().split()[:2])

    def know(self, *lines: str) -> None:
        (self.folder / "known_hosts").write_text("".join(f"{line}\n" for line in lines))


def require_sshd() -> None:
    """Skip the test where no sshd can run, saying why."""
    if not Path(SSHD).exists() or shutil.which("ssh-keygen") is None:
        pytest.skip("no sshd here: install openssh-server (it need not be started)")
    if os.geteuid() == 0 and not Path("/run/sshd").is_dir() and not _can_unshare():
        pytest.skip("sshd as root needs the folder /run/sshd, and a mount namespace for an own one is refused: mkdir /run/sshd")


def _can_unshare() -> bool:
    argv = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/run"]
    return shutil.which("unshare") is not None and subprocess.run(argv, capture_output=True, check=False).returncode == 0


@dataclass(frozen=True)
class Place:
    """Where an sshd listens, and the login shell that its users have ("": their own)."""

    port: int = 0
    addresses: tuple[str, ...] = ("127.0.0.1",)
    shell: str = ""


@contextmanager
def running_sshd(folder: Path, *more: str, environment: str = "", place: Place = Place()) -> Iterator[Server]:  # it is frozen
    """Run an sshd with these further lines of configuration; ``environment`` holds NAME=VALUE for the sessions."""
    require_sshd()
    home = folder / "home"
    home.mkdir(parents=True)
    for name in ("host_key", "client_key"):
        make_key(folder / name)
    shutil.copy(folder / "client_key.pub", folder / "authorized_keys")
    port = place.port or free_port()
    config = folder / "sshd_config"
    listen = "\n".join(f"ListenAddress {one}" for one in place.addresses)
    config.write_text(CONFIG.format(addresses=listen, port=port, folder=folder, home=home, environment=environment, more="\n".join(more)))
    with (folder / "sshd.log").open("wb") as log:
        argv = [*_own_system(folder, place.shell), SSHD, "-D", "-e", "-f", str(config)]
        server = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    try:
        _wait_for((place.addresses[0], port), server, folder / "sshd.log")
        told = Server(port, server.pid, getpass.getuser(), folder, home, place.addresses)
        told.know(*(f"[{one}]:{port} {told.host_key}" for one in place.addresses))
        yield told
    finally:
        end_tree(server.pid)
        server.wait(5)
        for pid in _strays(home):
            end_tree(pid)


def _strays(home: Path) -> list[int]:
    """Return what sessions of an sshd left running: sshd does not end them, but they have its HOME."""
    found, mark = [], b"HOME=" + os.fsencode(home)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


def make_key(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def why_no_shell() -> str:
    """Return why no login shell can be given to the users of a test's sshd, or ""."""
    return "" if os.geteuid() == 0 and _can_unshare() else "another login shell wants an own /etc/passwd: root and a mount namespace"


def _own_system(folder: Path, shell: str) -> list[str]:
    """Return what goes before sshd so that it finds /run/sshd, and the login shell in /etc/passwd, without our changing the system."""
    own_run = "mount -t tmpfs none /run && mkdir -m 755 /run/sshd" if os.geteuid() == 0 and not Path("/run/sshd").is_dir() else ""
    own_users = f"mount --bind {shlex.quote(str(_users(folder, shell)))} /etc/passwd" if shell else ""
    steps = [step for step in (own_run, own_users) if step]
    return ["unshare", "--mount", "sh", "-c", " && ".join([*steps, 'exec "$@"']), "sh"] if steps else []


def _users(folder: Path, shell: str) -> Path:
    """Return a copy of /etc/passwd in which we have this login shell."""
    lines = [line.split(":") for line in Path("/etc/passwd").read_text().splitlines()]
    made = folder / "passwd"
    made.write_text("".join(":".join([*line[:6], shell] if line[0] == getpass.getuser() else line) + "\n" for line in lines))
    return made


def _wait_for(where: tuple[str, int], server: subprocess.Popen[bytes], log: Path) -> None:
    stop = time.monotonic() + 5
    while time.monotonic() < stop:
        with suppress(OSError), socket.create_connection(where, timeout=1) as line:
            if line.recv(4) == b"SSH-":
                return
        if server.poll() is not None:
            break
        time.sleep(0.02)
    pytest.skip(f"sshd does not start here: {log.read_text(errors='replace')[-300:]}")


def below(pid: int) -> list[int]:
    """Return all living descendants of a process."""
    with suppress(OSError):
        children = [int(one) for task in Path(f"/proc/{pid}/task").iterdir() for one in (task / "children").read_text().split()]
        return [one for child in children for one in (child, *below(child))]
    return []


def is_alive(pid: int) -> bool:
    """Tell whether a process runs (a zombie does not)."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def is_gone(pid: int, within_s: float = 2.0) -> bool:
    stop = time.monotonic() + within_s
    while is_alive(pid) and time.monotonic() < stop:
        time.sleep(0.02)
    return not is_alive(pid)


def end_tree(pid: int) -> None:
    """Kill a process that a test started, with all below it."""
    for one in (pid, *below(pid)):
        with suppress(OSError):
            os.kill(one, signal.SIGKILL)


