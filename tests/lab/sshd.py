"""A real sshd on loopback: own port, own keys, own configuration, its own /run. Leaves nothing behind, and changes nothing of the system.

The login is the user that runs the tests; their home and PATH on the "host" are given by the test.
"""

from __future__ import annotations

import getpass
import os
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
ListenAddress 127.0.0.1
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
SetEnv HOME={home} {environment}
{more}
"""


@dataclass(frozen=True)
class Server:
    """A running sshd and what a client needs for it."""

    port: int
    pid: int
    user: str
    folder: Path
    home: Path

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


@contextmanager
def running_sshd(folder: Path, *more: str, environment: str = "", port: int = 0) -> Iterator[Server]:
    """Run an sshd with these further lines of configuration; ``environment`` holds NAME=VALUE for the sessions."""
    require_sshd()
    home = folder / "home"
    home.mkdir(parents=True)
    for name in ("host_key", "client_key"):
        make_key(folder / name)
    shutil.copy(folder / "client_key.pub", folder / "authorized_keys")
    port = port or free_port()
    config = folder / "sshd_config"
    config.write_text(CONFIG.format(port=port, folder=folder, home=home, environment=environment, more="\n".join(more)))
    with (folder / "sshd.log").open("wb") as log:
        server = subprocess.Popen([*_own_run(), SSHD, "-D", "-e", "-f", str(config)], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    try:
        _wait_for(port, server, folder / "sshd.log")
        told = Server(port, server.pid, getpass.getuser(), folder, home)
        told.know(f"[127.0.0.1]:{port} {told.host_key}")
        yield told
    finally:
        end_tree(server.pid)
        server.wait(5)


def make_key(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _own_run() -> list[str]:
    """Return what goes before sshd so that it finds /run/sshd without our making one in the system."""
    if os.geteuid() != 0 or Path("/run/sshd").is_dir():
        return []
    return ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /run && mkdir -m 755 /run/sshd && exec "$@"', "sh"]


def _wait_for(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    stop = time.monotonic() + 5
    while time.monotonic() < stop:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as line:
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


