"""A fleet on one machine: forty endpoints of a real sshd on loopback, each a machine of its own by its boot id, and some that are sick.

The boot ids are bound over the kernel's own in a mount namespace of each session, so nothing of the machine is changed.
"""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.lab.sshd import Place, Server, running_sshd

HEALTHY = 34
MOST_ADDRESSES = 14  # sshd has 16 sockets to listen on at most
ADDRESSES = tuple(f"127.10.0.{number}" for number in range(1, HEALTHY + 5))
NO_PYTHON, DIES, FLOODS, TWIN = ADDRESSES[HEALTHY:]
SILENT, REFUSING = "127.10.1.1", "127.10.1.2"
SICK_FILE = "sick"
SESSION = """#!/bin/sh
set -- $SSH_CONNECTION
boot={folder}/boots/$3
[ -e {folder}/sick ] && case $3 in
  {dies}) exec sh -c "$SSH_ORIGINAL_COMMAND | head -c 3000" ;;
  {floods}) exec yes driftwatch ;;
  {no_python}) exec unshare --mount sh -c 'for one in /usr/bin/python3 /usr/local/bin/python3; do [ -e $one ] && mount --bind /dev/null $one; done
    PATH=/nonexistent; eval "$SSH_ORIGINAL_COMMAND"' ;;
esac
[ -e {folder}/env/$3 ] && . {folder}/env/$3
exec unshare --mount sh -c "mount --bind $boot /proc/sys/kernel/random/boot_id; $SSH_ORIGINAL_COMMAND"
"""


@dataclass(frozen=True)
class Fleet:
    """The endpoints by name, and what makes them sick or different."""

    server: Server
    folder: Path

    def inventory(self, *addresses: str) -> str:
        """Return these endpoints as a list for ansible."""
        lines = [
            f"{self.name_of(address)} ansible_host={address} ansible_port={self.server.port} ansible_user={self.server.user}" for address in addresses]
        return "\n".join(["[fleet]", *lines]) + "\n"

    def name_of(self, address: str) -> str:
        """Return the name of an endpoint."""
        return f"gpu-{(*ADDRESSES, SILENT, REFUSING).index(address) + 1:02}"

    def set_variable(self, address: str, name: str, value: str) -> None:
        """Let the sessions of an endpoint have a variable."""
        (self.folder / "env" / address).write_text(f"export {name}={value}\n", encoding="utf-8")

    def fall_sick(self) -> None:
        """Let the sick endpoints be sick from now on."""
        (self.folder / SICK_FILE).touch()


@contextmanager
def running_fleet(folder: Path) -> Iterator[Fleet]:
    """Run the fleet."""
    for name in ("boots", "env"):
        (folder / name).mkdir(parents=True)
    for number, address in enumerate(ADDRESSES):
        shown = 0 if address == TWIN else number  # the twin is the first one by another address
        (folder / "boots" / address).write_text(f"{shown:08x}-0000-4000-8000-000000000000\n", encoding="utf-8")
    session = folder / "session"
    session.write_text(SESSION.format(folder=folder, dies=DIES, floods=FLOODS, no_python=NO_PYTHON), encoding="utf-8")
    session.chmod(0o755)
    with ExitStack() as stack:
        servers: list[Server] = []
        for first in range(0, len(ADDRESSES), MOST_ADDRESSES):
            place = Place(servers[0].port if servers else 0, ADDRESSES[first : first + MOST_ADDRESSES])
            servers.append(stack.enter_context(running_sshd(folder / f"sshd-{first}", f"ForceCommand {session}", place=place)))
        for other in servers[1:]:
            shutil.copy(servers[0].folder / "authorized_keys", other.folder / "authorized_keys")
        servers[0].know(*(line for one in servers for line in Path(one.known_hosts).read_text(encoding="utf-8").splitlines()))
        stack.enter_context(_never_answering(servers[0].port))
        yield Fleet(servers[0], folder)


@contextmanager
def _never_answering(port: int) -> Iterator[None]:
    """Listen on a port and never say a word."""
    with socket.create_server((SILENT, port), backlog=64):
        yield
